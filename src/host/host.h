/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host: facts of this machine and the rules that say what limited a run. Rules judge
 * metrics of a run, never live structs, so live, stored and imported runs are judged alike.
 */
#ifndef WEIR_HOST_H
#define WEIR_HOST_H

#include <net/if.h>
#include <sys/socket.h>

#include "base/base.h"
#include "model/model.h"
#include "sys/sys.h"

/* Facts as a JSON object: host, kernel, machine, boot (the kernel's id of it), cpu, cpus,
 * memory_bytes, virt, clocksource, congestion_control, and of the interface towards a peer (name NULL = none): iface, driver, mtu,
 * speed_bps, qdisc. Unknown facts are left out. At most 4 KiB. */
void host_facts(struct buf *b, const char *iface);
/*
 * All that can be read, as one object: the members above, then distribution, cmdline, processor,
 * mitigations, memory, interfaces (iface NULL = all but lo), sysctl (what is not the kernel's
 * default), modules, netfilter, services. What is not known is null. No counters, addresses or
 * names of files. root: a folder with a copy of a machine's /proc, /sys and /etc, or NULL.
 */
int host_facts_whole(struct buf *b, const char *root, const char *iface, struct weir_err *e);
/* Rules of all packet filters of this network namespace; -1 = not known (CAP_NET_ADMIN). */
int64_t host_filter_rules(void);
/* The interface towards a peer, by the routing table; false when unknown. */
bool host_iface_to(const struct sockaddr *peer, char name[IF_NAMESIZE]);

/* One row: code, what it looks at, and its words. rules.c has the table. */
struct host_rule {
	const char *code; /* "receiver-window", "sender-cpu" … */
	const char *what; /* one line of help */
	/* How sure 0..100 that this limited direction dir; text gets the evidence and what to try. */
	int (*judge)(const struct model_run *r, int dir, char *text, size_t cap);
};
const struct host_rule *host_rule_at(size_t i);
/* Sets limited and limited_code of the run: the surest rule at or over 50, or none. */
void host_judge(struct model_run *r);

#endif
