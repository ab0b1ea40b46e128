/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lab share: the plan of a topology. */
#ifndef WEIR_LAB_PRIV_H
#define WEIR_LAB_PRIV_H

#include "lab/lab.h"

#define LAB_GATEWAY 254
struct lab_wire_end {
	size_t node;
	unsigned dev;     /* its eth<dev> */
	unsigned host;    /* last part of its address */
	unsigned gateway; /* last part of the way to everywhere else; 0 = none here */
	bool narrow;      /* rate and queue */
	bool is_long;     /* delay and loss */
};
struct lab_wire {
	unsigned net; /* 198.18.<net>.0/24, fd00:18:<net>::/64 */
	struct lab_wire_end end[2];
};
struct lab_plan {
	char name[LAB_NODES_MAX][12];
	bool router[LAB_NODES_MAX];
	size_t n, near, far;
	struct lab_wire wire[2 * LAB_HOSTS_MAX + 1];
	size_t n_wires;
};
void lab_plan_make(struct lab_plan *p, const struct lab_cfg *cfg);
int lab_shape(struct sys_nl *nl, const char *dev, const struct lab_cfg *cfg,
	      const struct lab_wire_end *end, struct weir_err *e);

/* What a command leaves behind (orphan.c). */
#define LAB_KNOWN_MAX (4 * LAB_NODES_MAX)
struct lab_orphans {
	pid_t known[LAB_KNOWN_MAX]; /* our children before the command */
	size_t n;
	bool too_many; /* then nobody is touched: it might be another's */
	int before;    /* whether orphans were ours already */
};
void lab_orphans_take(struct lab_orphans *o);                /* from now on they come to us */
void lab_orphans_reap(struct lab_orphans *o, pid_t command); /* those that have ended meanwhile */
void lab_orphans_end(struct lab_orphans *o);

#endif
