/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve: one unprivileged single-threaded front (listeners, sniffing, cookie table, admission,
 * deadlines; no JSON, no cryptography) and one forked child per admitted test that runs the same
 * session as the client. A hostile peer or a fault touches one test.
 */
#ifndef WEIR_SERVE_H
#define WEIR_SERVE_H

#include "base/base.h"
#include "net/net.h"
#include "proto/proto.h"

struct serve_limits {
	size_t tests;      /* at once; 0 = the default (64) */
	size_t per_prefix; /* tests at once per /32 or /64; 0 = none */
	size_t flows;      /* per test and direction; 0 = the default (1024; iperf3 clients 128) */
	int64_t duration_ns;   /* 0 = none */
	size_t pending;        /* connections without a complete cookie; default 2048 */
	int64_t pending_ns;    /* default 10 s */
	uint64_t memory_bytes; /* budget for windows x streams over all tests; default 1 GiB */
	uint64_t rate_bps;     /* of a test; 0 = none */
	size_t queue;          /* exclusive: clients that wait; default 16 */
	int64_t queue_ns;      /* exclusive: how long at most; default 10 min */
};
/*
 * Another tool's report of each test. It is made in the test's process, which has no standard output
 * of its own, and comes to the front's in pieces. `stream`: 0 output, 1 errors.
 */
struct measure_serve;
struct model_run;
typedef void serve_put(void *put_arg, int stream, const char *text, size_t n);
struct serve_words {
	void *arg;
	/* In the test's process, before and after. A thing of the caller's own between the two is
	 * what begin returns; m's hooks may be set. */
	void *(*begin)(void *arg, struct measure_serve *m, serve_put *put, void *put_arg);
	void (*end)(void *thing, const struct model_run *run, int rc, const struct weir_err *e);
	/* In the front. n 0: that test has ended, its slot is free. Control characters but ends of
	 * lines and tabs are gone. */
	void (*text)(void *arg, size_t slot, int stream, const char *text, size_t n);
};
/* A protocol that has a port of its own beside the main one. */
struct serve_port {
	const struct proto *proto;
	uint16_t port;
};
#define SERVE_OTHERS_MAX 3
struct serve_cfg {
	struct serve_port others[SERVE_OTHERS_MAX];
	size_t n_others;
	const struct proto
		*only; /* the main port is this protocol's alone; NULL = told by cookie */
	const struct proto_iperf2 *iperf2; /* or NULL */
	const char *bind_host;             /* NULL = all */
	const char *bind_dev;              /* of the listener, or NULL */
	int family;
	uint16_t port;
	const struct net_prefix *allow; /* beside on-link and private peers */
	size_t n_allow;
	const struct net_prefix *deny; /* never served, whatever else holds */
	size_t n_deny;
	bool public_mode;
	bool one_off;   /* exit after one test that ran */
	bool one_any;   /* with it: or that failed, unless at its login */
	bool exclusive; /* one test at a time; others wait for their turn, in order of arrival */
	bool log_json;
	struct serve_limits limits;
	const char *user; /* to become after the listener is there; NULL = weir, nobody when root */
	const char *psk;  /* pre-shared key of native clients, or NULL */
	const struct proto_login *login; /* asked of iperf3 clients, or NULL; native clients without
					  * a key are then served as iperf3's */
	int64_t grace_ns;  /* SIGTERM: running tests may finish for this long (default 5 s) */
	int listen_fd;     /* already listening (socket activation), else -1 */
	const char *facts; /* JSON object of this host */
	int facts_told;    /* enum measure_facts: or read for each native test */
	int stop_fd;       /* readable: stop */
	int status_fd;     /* serve_status_listen()'s, borrowed; 0 = none */
	/* One complete log line (no newline), already safe. */
	void (*log)(void *arg, const char *line);
	const struct serve_words *words; /* or NULL */
	/* What is not served, once, when it starts; NULL = a log line. */
	void (*warn)(void *arg, const char *text);
	/* After the listener is up and privileges are gone. */
	void (*ready)(void *arg, const char *where);
	void *arg;
};
/* Serves until stop_fd, or one test with one_off. 0, or the first fatal error. */
int serve_run(const struct serve_cfg *cfg, struct weir_err *e);

/*
 * Who is being served: a socket for its owner alone in a folder of its owner alone (made when
 * it is missing), which answers every connection with one JSON object and closes it.
 */
int serve_status_listen(const char *dir, struct weir_err *e); /* a descriptor from 3 on */
void serve_status_unlink(const char *dir);
/* Calls back with the answer of each server of the folder; how many there were, or -errno. */
int serve_status_ask(const char *dir, void (*each)(void *arg, const char *json, size_t n),
		     void *arg, struct weir_err *e);

#endif
