/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab: topologies in anonymous namespaces. The one maker of namespaces, for users, tests
 * and the demo.
 *
 * pair: two hosts joined by a veth; near 198.18.0.1/24 and fd00:18::1/64, far 198.18.0.2/24
 * and fd00:18::2/64.
 */
#ifndef WEIR_LAB_H
#define WEIR_LAB_H

#include "base/base.h"
#include "sys/sys.h"

struct lab_cfg {
	uint64_t rate_bps; /* 0 = unshaped; else tbf both ways */
	int64_t mtu;       /* 0 = 1500 */
	const char
		*serve_argv0; /* the weir program to run as `serve` in the far host; NULL = none */
	char *const *serve_args; /* more arguments for it, NULL-terminated; may be NULL */
};
struct lab {
	struct sys_ns near, far;
	struct sys_child server;
	char peer4[16], peer6[40];
	int stop_fd; /* set it after the start, e.g. to a signalfd: readable ends lab_run's
			command by SIGTERM (SIGKILL 5 s later); -1 = none */
};
/* Builds it and waits until the server answers on 5201 (at most 5 s). */
int lab_pair_start(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e);
void lab_stop(struct lab *l);
/* Runs argv in the near host with WEIR_LAB_PEER (IPv4), WEIR_LAB_PEER6, and
 * WEIR_LAB_FAR_PID / WEIR_LAB_NEAR_PID (a holder to nsenter -n -t). Its exit status, or a
 * negative errno. */
int lab_run(struct lab *l, char *const argv[], struct weir_err *e);

#endif
