/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure: one file per measurement; a request becomes a run. The session that client and
 * server share drives protocol, engine and sampler, and fills the model.
 */
#ifndef WEIR_MEASURE_H
#define WEIR_MEASURE_H

#include "base/base.h"
#include "model/model.h"
#include "net/net.h"
#include "proto/proto.h"

/* ---- a measurement: one row in cmd/main.c ------------------------------------- */

/* For a caller that speaks as another tool; anything may be 0 or NULL. */
struct measure_hooks {
	void *arg;
	struct proto_extra *extra;
	const struct proto_iperf2 *iperf2;
	struct proto_nttcp *nttcp;
	/* The last word over the plan, before it is sent, or after it was taken. */
	void (*plan)(void *arg, struct flow_plan *p);
	struct sink *sink; /* server: also gets the run as it grows; borrowed; its end() may come
			     * before all is known */
	/* Around each load: before its first byte (part MODEL_NO_PART), and after its last. */
	void (*around)(void *arg, struct model_run *run, uint32_t part);
	/* Each reading of the engine, also the first, before the sink's sample of it. For what
	 * no metric has. */
	void (*tick)(void *arg, const struct net_tick *t);
	int64_t idle_ns;     /* this end receives and nothing came for so long: it is over */
	uint64_t most_bps;   /* server: over, when more moves than that, on average over … */
	int64_t most_ns;     /* … this time */
	bool idle, too_much; /* set: that was why it ended */
};

struct measure_ctx {
	struct sink *sink; /* borrowed */
	int stop_fd;       /* readable: end properly and report; -1 = none */
	const struct model_kv *tags;
	size_t n_tags;
	const struct model_experiment *exp; /* what the run is a part of, or NULL */
	const char *psk;                    /* pre-shared key for native peers, or NULL */
	const struct proto_login *login;    /* for iperf3 servers that ask for one, or NULL */
	struct measure_hooks *hooks;        /* or NULL */
	struct model_run *run;              /* set by run(); the caller frees */
};
struct measure {
	const char *name;
	const char *summary;    /* one line for help */
	const char *positional; /* "HOST" */
	const struct opt *opts;
	size_t n_opts, cfg_size;
	/* Whole request checked before anything is opened. */
	int (*check)(const void *cfg, struct weir_err *e);
	/* 0: the run is complete or partial and in ctx->run; negative errno: failed, e is filled,
	 * ctx->run may hold what there was. */
	int (*run)(struct measure_ctx *ctx, const void *cfg, struct weir_err *e);
};
extern const struct measure measure_tcp, measure_udp;

/* ---- iperf 2's bounce-back (bounce.c) ------------------------------------------ */

struct measure_bounces { /* of an interval, or of all; s since the begin */
	double t0, t1;
	uint64_t bytes;                    /* both ways */
	struct net_spread rtt;             /* without `lately` */
	struct net_spread to, from, apart; /* by both clocks, and how they differ */
	struct net_tcp_info info;
	int info_len;
};
struct measure_bounce {
	const char *host, *bind;
	uint16_t port;
	int family;
	uint32_t len;                                /* bytes of a message, at least 64 */
	uint64_t burst;                              /* messages a period */
	int64_t period_ns, duration_ns, interval_ns; /* 0 = one after the other; 0 = no intervals */
	int64_t hold_us;                             /* asked of the server */
	uint64_t window;
	uint8_t tos;
	bool quick_ack, clocks; /* clocks: both ends' agree */
	void (*opened)(void *arg, int fd, int64_t connect_ns);
	void (*interval)(void *arg, const struct measure_bounces *m, bool whole);
	void (*bounced)(void *arg, int64_t took_ns); /* each; any of the three may be NULL */
	void *arg;
};
/* A run of kind "rr" in ctx->run. */
int measure_bounce_run(struct measure_ctx *ctx, const struct measure_bounce *b, struct weir_err *e);

/* ---- the session -------------------------------------------------------------- */

struct measure_session {
	struct proto_session *proto; /* dialled or accepted; borrowed */
	struct model_run *run;       /* borrowed; parts, frames and summaries are added */
	struct sink *sink;           /* borrowed; may be NULL */
	int stop_fd;
	int64_t run_start_ns; /* CLOCK_MONOTONIC zero of the run's times */
	unsigned workers;     /* 0 = by itself */
	bool pin;
	/* Server: non-zero once another test ran at the same time; NULL = not known. */
	const _Atomic int *overlap;
	int64_t idle_ns; /* server: a test that moves nothing for so long is over; 0 = never */
	struct measure_hooks *hooks;     /* or NULL */
	bool trial;                      /* the load's part is a trial of a search, not a phase */
	struct model_ndjson_reader *far; /* client: the far end's own run, borrowed; may be NULL */
	bool begun; /* the sink has begun: set here, or by the caller after an earlier session */
};
/*
 * Runs one test to its end: engine, sampler, control events, results, summaries of both ends.
 * `name` is the load part's name. The sink begins with the first phase, when the flows are known. A
 * client's caller ends it; a server's sink is the wire, ended here before the results are exchanged. 0 also when it was cut short (events say why); a negative
 * errno when there is no result.
 */
int measure_session_run(struct measure_session *ms, const char *name, struct weir_err *e);

/* Server side of one admitted control connection: makes a run, accepts the plan, runs it, streams
 * lines to a native peer, and gives the finished run (for the log line). */
/* What a native peer is told of this host: the session's server_facts, or read for each test, as it
 * may have been set otherwise since the last one. */
enum measure_facts { MEASURE_FACTS_GIVEN, MEASURE_FACTS_SET, MEASURE_FACTS_ALL };
struct measure_serve {
	struct proto_session *proto;
	enum measure_facts facts;
	const struct proto_limits *limits;
	unsigned workers;
	bool pin;
	int stop_fd;
	/* Non-zero while or once another test ran at the same time; NULL = not known. */
	const _Atomic int *overlap;
	int64_t idle_ns;             /* a test that moves nothing for so long is over; 0 = 120 s */
	struct measure_hooks *hooks; /* or NULL */
};
int measure_serve_run(struct measure_serve *m, struct model_run **out, struct weir_err *e);

#endif
