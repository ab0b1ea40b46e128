/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab: topologies in anonymous namespaces. The one maker of namespaces, for users, tests
 * and the demo.
 *
 * pair: near and far, joined by a veth; near 198.18.0.1/24 and fd00:18::1/64, far .2 and ::2.
 * router: near, router, far; near is 198.18.1.1, far 198.18.2.1, the router .254 of both.
 * dumbbell:N: left1..N and right1..N behind two routers, left and right, that one link joins;
 * left1 is near, right1 is far.
 */
#ifndef WEIR_LAB_H
#define WEIR_LAB_H

#include "base/base.h"
#include "sys/sys.h"

enum lab_topology { LAB_PAIR, LAB_ROUTER, LAB_DUMBBELL };
#define LAB_HOSTS_MAX 16 /* of one side */
#define LAB_NODES_MAX (2 * LAB_HOSTS_MAX + 2)

struct lab_cfg {
	enum lab_topology topology;
	unsigned hosts;    /* of each side of a dumbbell; 0 = 1 */
	uint64_t rate_bps; /* 0 = unshaped; else tbf both ways where the topology is narrow */
	int64_t mtu;       /* 0 = 1500 */
	int64_t delay_ns;  /* each way, by netem */
	uint32_t loss_ppm; /* each way, by netem */
	const char *queue; /* where it is narrow, in tc's words; NULL = 50 ms of bytes */
	const char
		*serve_argv0; /* the weir program to run as `serve` in the far hosts; NULL = none */
	char *const *serve_args; /* more arguments for it, NULL-terminated; may be NULL */
};
/* "pair", "router", "dumbbell:4" into cfg. */
int lab_topology_parse(const char *text, struct lab_cfg *cfg, struct weir_err *e);
struct lab_node {
	char name[12];
	struct sys_ns ns;
	struct sys_child server; /* pid 0 = none */
	char addr4[16], addr6[40];
};
struct lab {
	struct lab_node node[LAB_NODES_MAX];
	size_t n;
	const struct lab_node *near, *far; /* among them */
	int stop_fd; /* set it after the start, e.g. to a signalfd: readable ends lab_run's
			command by SIGTERM (SIGKILL 5 s later); -1 = none */
};
/* Builds it and waits until the servers answer on 5201 (at most 5 s). What the kernel lacks is
 * named (WEIR_MISSING). */
int lab_start(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e);
void lab_stop(struct lab *l);
/* Runs argv in the near host with WEIR_LAB_PEER (IPv4), WEIR_LAB_PEER6, WEIR_LAB_PEERS (the IPv4
 * addresses of all far hosts), WEIR_LAB_NEAR_PID, WEIR_LAB_FAR_PID and WEIR_LAB_PID_<NAME> (a
 * holder to nsenter -n -t). Its exit status, or a negative errno. */
int lab_run(struct lab *l, char *const argv[], struct weir_err *e);

/* ---- labs that run (record.c; security 20) -------------------------------- */

/*
 * A file with what there is, in a directory of the caller's own, locked by the lab's process: a lab
 * is known by that lock, never by a name or a number alone. NULL dir: as for the undo journal.
 */
int lab_record_open(const char *dir, const struct lab *l, const char *topology,
		    struct weir_err *e); /* a descriptor to keep open, and lab_record_close() */
void lab_record_close(const char *dir, int fd);
struct lab_seen {
	pid_t pid; /* of the lab, which is its name too */
	char topology[24];
	size_t n;
	struct lab_host {
		char name[12];
		pid_t holder;
	} host[LAB_NODES_MAX];
};
/* Each that runs; what is left of others is removed. A non-zero return stops and is returned. */
int lab_each(const char *dir, int (*cb)(const struct lab_seen *s, void *arg), void *arg,
	     struct weir_err *e);
/* Ends it as SIGTERM does, and waits for that. */
int lab_end(const char *dir, pid_t pid, struct weir_err *e);
/* Runs argv in one of its hosts; the exit status. */
int lab_enter(const struct lab_seen *s, const char *host, char *const argv[], struct weir_err *e);

#endif
