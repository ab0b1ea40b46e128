/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that print as iperf3 does share: the test as far as seen, and its figures. */
#ifndef WEIR_FORMAT_IPERF3_H
#define WEIR_FORMAT_IPERF3_H

#include "format/priv.h"

/* One flow over one interval, or over the whole test. */
struct i3_fig {
	double start, end, bytes; /* s */
	double retrans, cwnd, snd_wnd, rtt, rttvar, pmtu, reorder;
	double packets, lost, jitter, ooo; /* UDP; packets of a receiver: lost ones too */
	bool unknown;                      /* UDP: what was lost */
	bool omitted;
};
struct i3_flow {
	int dir;
	bool sender; /* this end */
	int id;
	struct i3_fig now, all; /* this interval; the load so far, as seen in the intervals */
	double max_cwnd, max_wnd, min_rtt, max_rtt, sum_rtt;
	unsigned n_rtt;
	struct i3_fig sent, received;   /* at the end; both ends' */
	double told_packets, told_lost; /* of a receiver, told beside the run */
	bool told;
};

struct i3 {
	struct format_sink f;
	struct format_iperf3_opts o;
	struct format_iperf3_test t;
	struct i3_flow *flows;
	size_t n;
	bool greeted, opened, headed, begun;
	size_t rows;      /* intervals shown */
	double cpu[2][3]; /* near, far: total, user, system; per cent */
	char cc[2][32];   /* near, far */
	struct buf start, intervals, end, extra, error, server; /* JSON */
	bool server_json;
	char run_id[MODEL_ID_LEN + 1];
};

bool i3_text(const struct i3 *w);
/* Flows that this end sends (or not) come first in both lists of a report. */
size_t i3_of_dir(const struct i3 *w, int dir);
/* Summed over a direction's flows: jitter is the mean, times are the first flow's. which: 0 now,
 * 1 sent, 2 received. */
enum i3_which { I3_NOW, I3_SENT, I3_RECEIVED };
struct i3_fig i3_sum(const struct i3 *w, int dir, enum i3_which which);
const struct i3_fig *i3_fig(const struct i3_flow *f, enum i3_which which);
double i3_rate(const struct i3_fig *f); /* bit/s */
bool i3_knows(const struct i3 *w, const struct i3_flow *f, bool of_sender);

void i3_line(struct i3 *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "1.69 GBytes"; letter: of -f, or 0 for the one that fits. */
void i3_quantity(char *dst, size_t cap, double v, bool bits, char letter);

void i3_text_greeted(struct i3 *w);
void i3_text_opened(struct i3 *w);
void i3_text_interval(struct i3 *w);
void i3_text_report(struct i3 *w);

void i3_json_greeted(struct i3 *w);
void i3_json_opened(struct i3 *w);
void i3_json_interval(struct i3 *w);
void i3_json_report(struct i3 *w);
void i3_json_finish(struct i3 *w);
void i3_json_event(struct i3 *w, const char *name, const struct buf *data, bool text);
/* Compact JSON in the layout that iperf3 prints. */
void i3_json_pretty(struct buf *out, const char *json, size_t n);

#endif
