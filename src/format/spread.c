/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far repeated runs lie apart: median, range, standard deviation as a share of the mean. A
 * run without the figure is not a zero, and one that did not end as planned measured something
 * else; the count says how many are in it.
 */
#include "format/priv.h"

#include <stdlib.h>

static const struct spread_row {
	const char *metric; /* NULL = the kind's headline */
	enum model_stat stat;
	int view;
	const char *name;
} rows[] = {
	{NULL, STAT_VALUE, MODEL_RECEIVER, NULL},
	{"throughput.sent", STAT_VALUE, MODEL_SENDER, "sent"},
	{"tcp.retransmits", STAT_VALUE, MODEL_SENDER, "retransmits"},
	{"tcp.rtt_loaded", STAT_P50, FORMAT_ANY, "RTT under load"},
};

struct spread {
	const struct model_run *const *runs;
	size_t n_runs, n;
	double *v;
	const struct model_metric *metric;
};

static void gather(struct spread *s, const struct spread_row *row, const char *metric, int dir)
{
	struct format_key k = {metric, row->stat, dir, row->view, FORMAT_ANY, -1, true};
	s->n = 0;
	for (size_t i = 0; i < s->n_runs; i++) {
		struct format_fig f = format_fig(s->runs[i], &k);
		if (!format_known(&f) || s->runs[i]->outcome != OUTCOME_COMPLETE)
			continue;
		s->metric = f.metric;
		s->v[s->n++] = f.value;
	}
}

static void put_cell(struct format_grid *g, struct buf *cell)
{
	format_grid_cell(g, cell->data && cell->len ? cell->data : "");
	buf_clear(cell);
}

static void put_range(const struct spread *s, const struct model_stats *st, struct buf *cell,
		      bool unicode)
{
	format_value_put(cell, st->min, s->metric, 3, unicode);
	buf_puts(cell, " to ");
	format_value_put(cell, st->max, s->metric, 3, unicode);
}

static void put_deviation(const struct model_stats *st, struct buf *cell, bool unicode)
{
	static const struct model_metric share = {.name = "", .unit = UNIT_RATIO};
	bool equal = st->n >= 2 && st->min == st->max;
	if (st->n < 2 || (!equal && !(st->mean > 0)))
		buf_puts(cell, "unknown");
	else
		format_value_put(cell, equal ? 0 : st->stddev / st->mean, &share, 2, unicode);
}

static void put_row(struct format_grid *g, const struct spread *s, const char *name, int dir,
		    bool unicode)
{
	struct model_stats st = model_stats(s->v, s->n);
	struct buf cell = {0};
	buf_printf(&cell, "%s %s", name, format_dir_name(dir));
	format_grid_row(g, cell.data ? cell.data : "");
	buf_clear(&cell);
	format_value_put(&cell, st.median, s->metric, 3, unicode);
	put_cell(g, &cell);
	put_range(s, &st, &cell, unicode);
	put_cell(g, &cell);
	put_deviation(&st, &cell, unicode);
	put_cell(g, &cell);
	buf_printf(&cell, "%zu of %zu", s->n, s->n_runs);
	put_cell(g, &cell);
	buf_fini(&cell);
}

static void put_head(struct format_grid *g)
{
	static const char *const heads[] = {"", "median", "range", "s.d.", "runs"};
	format_grid_init(g, ARRAY_LEN(heads));
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		format_grid_cell(g, heads[i]);
}

void format_spread(const struct model_run *const *runs, size_t n, const struct format_opts *o,
		   struct buf *b)
{
	struct spread s = {.runs = runs, .n_runs = n};
	bool unicode = o && o->unicode;
	struct format_grid g;
	if (!n)
		return;
	s.v = calloc(n, sizeof(*s.v));
	if (!s.v) {
		b->failed = true;
		return;
	}
	put_head(&g);
	const char *headline = format_result_label(runs[0]);
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			const char *metric = rows[i].metric ? rows[i].metric : headline;
			if (!metric)
				continue;
			gather(&s, &rows[i], metric, dir);
			if (s.n)
				put_row(&g, &s, rows[i].name ? rows[i].name : metric, dir, unicode);
		}
	}
	if (format_grid_rows(&g) > 1)
		format_grid_text(&g, b, FORMAT_LABEL, o && o->width > 0 ? (size_t)o->width : 80);
	else
		buf_puts(b, "no run has a figure to compare\n");
	format_grid_fini(&g);
	free(s.v);
}
