/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kind of run shows, as rows: the headline's metric, the columns of interval rows, and
 * the lines of the table of both ends' views. Columns that follow each other under one head
 * share one line; `phrase` says how each reads there.
 */
#include "format/priv.h"

#include <string.h>

#define ANY_VIEW (-1)

static const struct format_col tcp_interval[] = {
	{"goodput", STAT_VALUE, "rate", 12, 3, MODEL_RECEIVER, NULL},
	{"throughput.sent", STAT_VALUE, "rate", 12, 3, MODEL_SENDER, NULL},
	{"tcp.retransmits", STAT_VALUE, "retr", 6, 3, MODEL_SENDER, NULL},
	{"tcp.rtt", STAT_VALUE, "rtt", 9, 3, ANY_VIEW, NULL},
	{"tcp.cwnd", STAT_VALUE, "cwnd", 9, 3, MODEL_SENDER, NULL},
};

/* A line that names both views expects both: the other end's missing figure is "unknown". */
static const struct format_col tcp_table[] = {
	{"bytes", STAT_VALUE, "bytes", 0, 3, MODEL_SENDER, NULL},
	{"bytes", STAT_VALUE, "bytes", 0, 3, MODEL_RECEIVER, NULL},
	{"throughput.sent", STAT_VALUE, "rate", 0, 3, MODEL_SENDER, NULL},
	{"goodput", STAT_VALUE, "rate", 0, 3, MODEL_RECEIVER, NULL},
	{"tcp.retransmits", STAT_VALUE, "retransmits", 0, 3, MODEL_SENDER, NULL},
	{"tcp.segments", STAT_VALUE, "retransmits", 0, 3, MODEL_SENDER, "of $ segments"},
	{"tcp.retransmit_share", STAT_VALUE, "retransmits", 0, 3, MODEL_SENDER, "($)"},
	{"tcp.rtt_idle", STAT_VALUE, "RTT idle", 0, 3, ANY_VIEW, NULL},
	{"tcp.rtt_loaded", STAT_P50, "RTT loaded", 0, 3, ANY_VIEW, "$ median,"},
	{"tcp.rtt_loaded", STAT_P95, "RTT loaded", 0, 3, ANY_VIEW, "$ p95,"},
	{"tcp.rtt_loaded", STAT_MAX, "RTT loaded", 0, 3, ANY_VIEW, "$ max,"},
	{"ctl.rtt", STAT_P50, "RTT control", 0, 3, ANY_VIEW, "$ median,"},
	{"ctl.rtt", STAT_P95, "RTT control", 0, 3, ANY_VIEW, "$ p95,"},
	{"ctl.rtt", STAT_MAX, "RTT control", 0, 3, ANY_VIEW, "$ max,"},
	{"tcp.mss", STAT_VALUE, "MSS", 0, 5, ANY_VIEW, NULL},
	{"cpu.total", STAT_VALUE, "CPU", 0, 3, MODEL_SENDER, "$ of a core"},
	{"cpu.total", STAT_VALUE, "CPU", 0, 3, MODEL_RECEIVER, "$ of a core"},
	{"cpu.per_gb", STAT_VALUE, "CPU per GB", 0, 3, MODEL_SENDER, NULL},
	{"cpu.per_gb", STAT_VALUE, "CPU per GB", 0, 3, MODEL_RECEIVER, NULL},
	{"zc.copied_share", STAT_VALUE, "zero-copy", 0, 3, MODEL_SENDER, "$ copied after all"},
	{"jain", STAT_VALUE, "fairness", 0, 3, ANY_VIEW, "$ (Jain's index)"},
};

static const struct format_col udp_interval[] = {
	{"goodput", STAT_VALUE, "rate", 12, 3, MODEL_RECEIVER, NULL},
	{"throughput.sent", STAT_VALUE, "rate", 12, 3, MODEL_SENDER, NULL},
	{"udp.datagrams", STAT_VALUE, "datagrams", 9, 5, ANY_VIEW, NULL},
	{"udp.lost", STAT_VALUE, "lost", 7, 4, MODEL_RECEIVER, NULL},
	{"udp.loss", STAT_VALUE, "share", 8, 3, MODEL_RECEIVER, NULL},
	{"udp.jitter", STAT_VALUE, "jitter", 9, 3, MODEL_RECEIVER, NULL},
};

static const struct format_col udp_table[] = {
	{"bytes", STAT_VALUE, "bytes", 0, 3, MODEL_SENDER, NULL},
	{"bytes", STAT_VALUE, "bytes", 0, 3, MODEL_RECEIVER, NULL},
	{"load.intended", STAT_VALUE, "intended", 0, 3, MODEL_SENDER, NULL},
	{"throughput.sent", STAT_VALUE, "rate", 0, 3, MODEL_SENDER, NULL},
	{"goodput", STAT_VALUE, "rate", 0, 3, MODEL_RECEIVER, NULL},
	{"udp.datagrams", STAT_VALUE, "datagrams", 0, 6, MODEL_SENDER, NULL},
	{"udp.datagrams", STAT_VALUE, "datagrams", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.size", STAT_VALUE, "size", 0, 5, MODEL_SENDER, NULL},
	{"udp.lost", STAT_VALUE, "lost", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.loss", STAT_VALUE, "lost", 0, 3, MODEL_RECEIVER, "($)"},
	{"udp.socket_drops", STAT_VALUE, "at a socket", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.host_drops", STAT_VALUE, "at all sockets", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.reordered", STAT_VALUE, "reordered", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.duplicates", STAT_VALUE, "duplicates", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.late", STAT_VALUE, "late", 0, 6, MODEL_RECEIVER, NULL},
	{"udp.jitter", STAT_VALUE, "jitter", 0, 3, MODEL_RECEIVER, NULL},
	{"udp.gap_error", STAT_P50, "gap error", 0, 3, MODEL_SENDER, "$ median,"},
	{"udp.gap_error", STAT_P99, "gap error", 0, 3, MODEL_SENDER, "$ p99,"},
	{"udp.gap_error", STAT_MAX, "gap error", 0, 3, MODEL_SENDER, "$ max,"},
	{"udp.burst_max", STAT_VALUE, "burst", 0, 3, MODEL_SENDER, "at most $"},
	{"udp.skipped", STAT_VALUE, "given up", 0, 6, MODEL_SENDER, NULL},
	{"tcp.rtt_idle", STAT_VALUE, "RTT idle", 0, 3, ANY_VIEW, NULL},
	{"ctl.rtt", STAT_P50, "RTT control", 0, 3, ANY_VIEW, "$ median,"},
	{"ctl.rtt", STAT_P95, "RTT control", 0, 3, ANY_VIEW, "$ p95,"},
	{"ctl.rtt", STAT_MAX, "RTT control", 0, 3, ANY_VIEW, "$ max,"},
	{"cpu.total", STAT_VALUE, "CPU", 0, 3, MODEL_SENDER, "$ of a core"},
	{"cpu.total", STAT_VALUE, "CPU", 0, 3, MODEL_RECEIVER, "$ of a core"},
	{"jain", STAT_VALUE, "fairness", 0, 3, ANY_VIEW, "$ (Jain's index)"},
};

static const struct format_col find_table[] = {
	{"rate.failed", STAT_VALUE, "failed at", 0, 3, MODEL_RECEIVER, NULL},
};

static const char *const tcp_spark[] = {"goodput", "throughput.sent", NULL};

static const struct format_layout layouts[] = {
	{"tcp", "goodput", tcp_interval, ARRAY_LEN(tcp_interval), tcp_table, ARRAY_LEN(tcp_table),
	 tcp_spark},
	{"udp", "goodput", udp_interval, ARRAY_LEN(udp_interval), udp_table, ARRAY_LEN(udp_table),
	 tcp_spark},
	{"find-rate", "rate.found", udp_interval, ARRAY_LEN(udp_interval), find_table,
	 ARRAY_LEN(find_table), tcp_spark},
};

/* Any other kind: no headline of its own; the writers list every summary. */
static const struct format_layout generic = {NULL, NULL, tcp_interval, ARRAY_LEN(tcp_interval),
					     NULL, 0,    tcp_spark};

const struct format_layout *format_layout(const char *kind)
{
	for (size_t i = 0; kind && i < ARRAY_LEN(layouts); i++)
		if (!strcmp(layouts[i].kind, kind))
			return &layouts[i];
	return &generic;
}
