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
void observe_free(struct observe *o);

#endif
