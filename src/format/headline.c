/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run in one line, for lists and repeats: "943 Mbit/s up, 12 retransmits, RTT 0.4 to 3.1 ms".
 * Directions are told apart, never added.
 */
#include "format/priv.h"

#include <string.h>

static struct format_fig fig_of(const struct model_run *r, const char *metric, enum model_stat stat,
				int dir, int view)
{
	struct format_key k = {metric, stat, dir, view, FORMAT_ANY, -1, dir >= 0};
	return format_fig(r, &k);
}

static void put_dir(const struct model_run *r, const char *metric, int dir, struct buf *b)
{
	struct format_fig f = fig_of(r, metric, STAT_VALUE, dir, MODEL_RECEIVER);
	struct format_fig sent = fig_of(r, "throughput.sent", STAT_VALUE, dir, MODEL_SENDER);
	struct format_fig retr = fig_of(r, "tcp.retransmits", STAT_VALUE, dir, MODEL_SENDER);
	struct format_fig loss = fig_of(r, "udp.loss", STAT_VALUE, dir, MODEL_RECEIVER);
	bool only_sent = !format_known(&f) && format_known(&sent);
	format_fig_put(b, only_sent ? &sent : &f, 3, false);
	buf_printf(b, " %s%s", format_dir_name(dir), only_sent ? " (sent)" : "");
	if (format_known(&loss)) {
		buf_puts(b, ", ");
		format_fig_put(b, &loss, 3, false);
		buf_puts(b, " lost");
	}
	if (!format_known(&retr))
		return;
	buf_puts(b, ", ");
	format_fig_put(b, &retr, 3, false);
	buf_printf(b, " retransmit%s", retr.value == 1 ? "" : "s");
}

/* The lowest and highest that any direction saw. */
static void put_rtt(const struct model_run *r, struct buf *b)
{
	struct format_fig lo = fig_of(r, "tcp.rtt_idle", STAT_MIN, FORMAT_ANY, FORMAT_ANY);
	struct format_fig hi = fig_of(r, "tcp.rtt_loaded", STAT_MAX, FORMAT_ANY, FORMAT_ANY);
	if (!format_known(&lo))
		lo = fig_of(r, "tcp.rtt_idle", STAT_VALUE, FORMAT_ANY, FORMAT_ANY);
	if (!format_known(&lo))
		lo = fig_of(r, "tcp.rtt_loaded", STAT_MIN, FORMAT_ANY, FORMAT_ANY);
	if (!format_known(&lo) && !format_known(&hi))
		return;
	buf_puts(b, ", RTT ");
	format_fig_put(b, format_known(&lo) ? &lo : &hi, 3, false);
	if (!format_known(&lo) || !format_known(&hi) || hi.value <= lo.value)
		return;
	buf_puts(b, " to ");
	format_fig_put(b, &hi, 3, false);
}

static void put_first(const struct model_run *r, struct buf *b)
{
	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *s = &r->sums[i];
		if (s->state != MODEL_KNOWN)
			continue;
		format_foreign(b, s->metric->name, false);
		buf_putc(b, ' ');
		format_value_put(b, s->value, s->metric, 3, false);
		return;
	}
	buf_puts(b, "no figures");
}

static void put_warnings(const struct model_run *r, struct buf *b)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_events; i++)
		n += r->events[i].severity != MODEL_NOTE;
	if (format_incomplete(r))
		buf_puts(b, ", incomplete");
	if (n)
		buf_printf(b, ", %zu warning%s", n, n == 1 ? "" : "s");
}

void format_headline(const struct model_run *r, struct buf *b)
{
	const char *metric = format_result_label(r);
	unsigned dirs = format_dirs(r);
	size_t start = b->len;
	if (r->outcome == OUTCOME_FAILED && !dirs) {
		enum model_severity sev;
		format_outcome(r, &sev, b, false);
		return;
	}
	for (int dir = MODEL_UP; metric && dir <= MODEL_DOWN; dir++) {
		if (!(dirs & 1u << dir))
			continue;
		if (b->len > start)
			buf_puts(b, "; ");
		put_dir(r, metric, dir, b);
	}
	if (metric && !dirs)
		buf_puts(b, "unknown");
	else if (!metric)
		put_first(r, b);
	put_rtt(r, b);
	put_warnings(r, b);
}
