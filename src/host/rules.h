/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rules share: how they look at a run. */
#ifndef WEIR_HOST_RULES_H
#define WEIR_HOST_RULES_H

#include "host/host.h"

#define HOST_FULL_CORE 0.90  /* of its time */
#define HOST_LOSSY     0.001 /* share of segments sent again, of datagrams that never came */
#define HOST_PACED     0.97  /* of the rate that was asked for */

/* The two ends, and a host that was looked at in the middle or whose counters came alone. */
#define HOST_OBSERVED (MODEL_FAR + 1)
#define HOST_MOST     (HOST_OBSERVED + 1)

const struct model_summary *host_summary(const struct model_run *r, const char *metric,
					 enum model_stat stat, int dir, int view, int end);
bool host_value(const struct model_run *r, const char *metric, enum model_stat stat, int dir,
		int view, int end, double *v);
/* The end that sends (or receives) in a direction. */
int host_end_of(int dir, int view);
/* A figure of one host, which has no direction. */
bool host_of(const struct model_run *r, const char *metric, int who, double *v);
const char *host_name_of(int who);
bool host_seconds(const struct model_run *r, int dir, double *seconds);

/* What the receiver missed, and how much of that its own socket dropped. */
bool host_udp_lost(const struct model_run *r, int dir, double *lost, double *loss, double *drops);
/* Segments sent again, and as share of all; the share of a report that has none is an estimate. */
bool host_tcp_resent(const struct model_run *r, int dir, double *resent, double *share);

/* A figure of a host that says it all once it is large enough. The text is "HOST: before N after". */
struct host_count {
	const char *metric;
	unsigned who;      /* HOST_AT_… */
	double least;      /* from here on */
	double per_second; /* and more than so many a second; 0 = of no matter */
	bool share;        /* of 1, printed as % */
	bool queues;       /* only where the interface has several receive queues, or RPS */
	int sure;          /* 0 = as far as it explains a loss */
	const char *before, *after;
};
enum { HOST_AT_SENDER = 1, HOST_AT_RECEIVER = 2, HOST_AT_OBSERVED = 4, HOST_AT_ALL = 7 };
int host_judge_count(const struct host_count *c, const struct model_run *r, int dir, char *text,
		     size_t cap);

typedef int host_judge_fn(const struct model_run *r, int dir, char *text, size_t cap);
/* of the flows (rules_flow.c) */
host_judge_fn host_asked_rate, host_sender_cpu, host_receiver_cpu, host_receiver_window,
	host_send_buffer, host_application, host_udp_receiver, host_udp_path, host_udp_sender,
	host_network_loss, host_reordering, host_path, host_bufferbloat;
/* of the hosts (rules_host.c) */
host_judge_fn host_link_rate, host_netfilter, host_softirq_core, host_contention, host_middle,
	host_local_qdisc, host_one_queue, host_governor, host_wake_ups, host_gro_batch;

#endif
