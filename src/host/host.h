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
/* The same of another host: commands for a shell there, which prints so many texts, each ended by a
 * NUL; and the facts that are in them (texts.c). */
void host_facts_ask(struct buf *b);
size_t host_facts_answers(void);
int host_facts_answered(struct buf *b, const char *answer, size_t n, const char *iface,
			struct weir_err *e);
/* What a peer that is measured with is told: how the machine is set for the network, with the
 * interface towards it; not what runs on it (modules, services, packet filters) unless all. */
void host_facts_told(struct buf *b, const char *iface, bool all);
/* Speed of a real interface; 0 = not known, or a virtual one, whose speed is a word. */
int64_t host_iface_speed(const char *iface);
/* Whether the kernel accounts the time of hard interrupts: 1, 0, or -1 when it does not tell. */
int host_irq_time(void);
/* Rules of all packet filters of this network namespace; -1 = not known (CAP_NET_ADMIN). */
int64_t host_filter_rules(void);
/* The interface towards a peer, by the routing table; false when unknown. */
bool host_iface_to(const struct sockaddr *peer, char name[IF_NAMESIZE]);

/* ---- sampler (sample.c) ----------------------------------------------------- */

enum host_group {
	HOST_CPU,       /* time of a processor, ns: user, system, idle, softirq … */
	HOST_KERNEL,    /* intr, ctxt, processes */
	HOST_SOFTIRQ,   /* runs of a handler on a processor: NET_RX … */
	HOST_SOFTNET,   /* packets on a processor: processed, dropped, squeezed, rps */
	HOST_IRQ,       /* interrupts on a processor; of = who asked ("eth0-rx-0") */
	HOST_PRESSURE,  /* of cpu, io, memory: time in which some or full waited, ns */
	HOST_SNMP,      /* of Tcp, Udp, TcpExt …: counters of the network namespace */
	HOST_IFACE,     /* of an interface: rx_packets … */
	HOST_DRIVER,    /* of an interface: its driver's own (ethtool -S) */
	HOST_QDISC,     /* of "eth0 8001: tbf": drops, overlimits … */
	HOST_THREAD,    /* of a thread of this process: run, wait, ns */
	HOST_KSOFTIRQD, /* of a processor's thread for software interrupts: run, wait, ns */
	HOST_GROUPS
};
extern const char *const host_group_names[HOST_GROUPS];
#define HOST_KEY_OF   32
#define HOST_KEY_NAME 40
struct host_key {
	char of[HOST_KEY_OF], name[HOST_KEY_NAME]; /* foreign text */
	enum host_group group;
	int cpu;      /* -1 = of none */
	uint8_t bits; /* width at which it wraps; 0 = a gauge */
	uint8_t n_of, n_name;
};

/*
 * A set of counters that is read again and again: descriptors stay open, texts are parsed where
 * they were the last time. What is missing is left out. In the namespace of the thread that opens it.
 */
struct host_set;
#define HOST_BIT(group) (1U << (group))
#define HOST_ALL        (HOST_BIT(HOST_GROUPS) - 1)
struct host_set_cfg {
	unsigned groups;   /* HOST_BIT mask */
	const char *iface; /* only this one; NULL = all */
	/* Texts from elsewhere in place of files (then only groups of /proc): fills b with the
	 * text of each path in turn, after host_set_paths(), each ended by a NUL. */
	int (*fetch)(void *arg, struct buf *b, struct weir_err *e);
	void *arg;
};
int host_set_new(const struct host_set_cfg *cfg, struct host_set **out, struct weir_err *e);
void host_set_free(struct host_set *s);
/* The files that are read, NULL past the end. */
const char *host_set_path(const struct host_set *s, size_t i);
/* This process's threads from now on. */
void host_set_threads(struct host_set *s);

struct host_reading { /* values in key order; has: a byte each */
	int64_t t_ns; /* CLOCK_MONOTONIC */
	size_t n;
	uint64_t *v;
	uint8_t *has;
};
/* Reads all; keys may become more. *r is the caller's, zeroed before its first use. */
int host_set_read(struct host_set *s, struct host_reading *r, struct weir_err *e);
void host_reading_fini(struct host_reading *r);
size_t host_set_n(const struct host_set *s);
const struct host_key *host_set_key(const struct host_set *s, size_t i);
/* Growth of a counter from a to b (wraps made good), or a gauge's value; false where one of them is
 * not known or went back. */
bool host_delta(const struct host_set *s, size_t i, const struct host_reading *a,
		const struct host_reading *b, uint64_t *d);
/* As host_irq_time(), by a reading. */
int host_set_irq_time(const struct host_set *s, const struct host_reading *r);
int64_t host_set_cost_ns(const struct host_set *s); /* processor time that readings took */

/* The namespace's TCP connections at a moment, and what moved between two (tcp.c). */
struct host_tcps { /* zeroed before its first use; the caller frees v */
	struct sys_tcp *v;
	size_t n;
};
struct host_tcp {
	const struct sys_tcp *now;
	uint64_t sent, received, retrans, busy_us, rwnd_us, sndbuf_us; /* in between */
};
int host_tcps_read(struct sys_nl *diag, struct host_tcps *l, struct weir_err *e);
/* Those that moved most, at most cap; borrowed from `to`. */
size_t host_tcps_moved(const struct host_tcps *from, const struct host_tcps *to,
		       struct host_tcp *out, size_t cap);

/* What a period of it says, as summaries of end: cpu.core_max, softnet.dropped … (figures.c) */
struct host_period {
	const struct host_set *set;
	const struct host_reading *from, *to;
	int64_t speed_bps; /* of the interface; 0 = not known */
	int64_t nf_rules;  /* -1 = not known */
	int irq_time;      /* 1 accounted, 0 not, -1 not known */
};
typedef void (*host_figure_cb)(void *arg, const char *metric, enum model_state state, double v);
void host_figures_each(const struct host_period *p, host_figure_cb cb, void *arg);
/* The placement of an interface's interrupts: of a set of HOST_IRQ alone, which is dear to read. */
void host_irq_figures(struct model_run *run, uint32_t part, struct model_dims dims,
		      enum model_prov prov, const struct host_period *p, const char *iface);
void host_figures(struct model_run *run, uint32_t part, struct model_dims dims,
		  enum model_prov prov, const struct host_period *p);

/* One row: code, what it looks at, and its words. rules.c has the table. */
struct host_count;
struct host_rule {
	const char *code; /* "receiver-window", "sender-cpu" … */
	const char *what; /* one line of help */
	/* How sure 0..100 that this limited direction dir; text gets the evidence and what to try. */
	int (*judge)(const struct model_run *r, int dir, char *text, size_t cap);
	const struct host_count *count; /* or one figure that says it all */
	bool alone;                     /* may speak where there are counters and no load */
};
const struct host_rule *host_rule_at(size_t i);
/* Sets limited and limited_code of the run: the surest rule at or over 50, or none. */
void host_judge(struct model_run *r);
/* The same of a run that was read from other tools' reports, if there is enough in it. */
void host_judge_read(struct model_run *r);
/* All that rules say of it, the surest first, a line each, and what is not known of which end. */
void host_explain(const struct model_run *r, struct buf *b);

#endif
