/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of a host that ssh reaches, for a host_set (observe.c). */
#ifndef WEIR_CMD_OBSERVE_H
#define WEIR_CMD_OBSERVE_H

#include "host/host.h"

struct observe;
int observe_new(const char *host, struct observe **out, struct weir_err *e);
/* Starts ssh with the set's paths. */
int observe_start(struct observe *o, const struct host_set *s, struct weir_err *e);
int observe_fetch(void *observe, struct buf *b, struct weir_err *e); /* of host_set_cfg */
/* What that host is, as a JSON object: host_facts_whole() of it. */
int observe_facts(struct observe *o, const char *iface, struct buf *facts, struct weir_err *e);
void observe_free(struct observe *o);

/* The same around the loads of a measurement: figures of the box in the middle (view "device"). */
struct observe_run;
int observe_run_new(const char *host, struct observe_run **out, struct weir_err *e);
void observe_run_around(void *observe_run, struct model_run *run, uint32_t part);
void observe_run_free(struct observe_run *r);

#endif
