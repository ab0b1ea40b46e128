/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A search for a rate is many trials; together they are a curve of what was offered and what came
 * of it. One line a trial and direction, from the lowest rate to the highest.
 */
#include "format/priv.h"

#include <stdlib.h>
#include <string.h>

#define BIT(d) (1u << (d))

/* A trial's own figure, whoever told it; rather measured than told. */
static const struct model_summary *find(const struct model_run *r, uint32_t part,
					const char *metric, int dir, int view)
{
	const struct model_summary *best = NULL;
	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *s = &r->sums[i];
		const struct model_dims *d = &s->dims;
		bool dir_ok = dir < 0 || (d->has & BIT(DIM_DIR) && d->v[DIM_DIR] == dir);
		bool view_ok = view < 0 || (d->has & BIT(DIM_VIEW) && d->v[DIM_VIEW] == view);
		if (s->part != part || strcmp(s->metric->name, metric) != 0 || !dir_ok ||
		    !view_ok || s->stat != STAT_VALUE || s->state != MODEL_KNOWN ||
		    !(d->has & BIT(DIM_STEP)) || d->has & BIT(DIM_FLOW))
			continue;
		if (!best || s->prov == MODEL_MEASURED)
			best = s;
	}
	return best;
}

static const struct format_flow_col cols[] = {
	{"throughput.sent", "sent", MODEL_SENDER},
	{"goodput", "received", MODEL_RECEIVER},
	{"udp.loss", "lost", MODEL_RECEIVER},
	{"udp.jitter", "jitter", MODEL_RECEIVER},
};

const struct format_flow_col *format_curve_col(size_t i)
{
	return i < ARRAY_LEN(cols) ? &cols[i] : NULL;
}

struct trial {
	uint32_t part;
	double offered;
};

static int by_rate(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;
	if (x->offered < y->offered || x->offered > y->offered)
		return x->offered < y->offered ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

static size_t trials_of(const struct model_run *r, struct trial *out)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct model_summary *s =
			r->parts[i].kind == PART_TRIAL
				? find(r, (uint32_t)i, "rate.offered", FORMAT_ANY, FORMAT_ANY)
				: NULL;
		if (s)
			out[n++] = (struct trial){(uint32_t)i, s->value};
	}
	qsort(out, n, sizeof(*out), by_rate);
	return n;
}

static void put_trial(const struct model_run *r, const struct trial *t, int dir, bool both,
		      struct format_grid *g, bool unicode)
{
	struct buf b = {0};
	format_value_put(&b, t->offered, model_metric("rate.offered"), 3, unicode);
	if (both)
		buf_printf(&b, " %s", format_dir_name(dir));
	format_grid_row(g, b.data ? b.data : "");
	for (size_t i = 0; i < ARRAY_LEN(cols); i++) {
		const struct model_summary *s = find(r, t->part, cols[i].metric, dir, cols[i].view);
		buf_clear(&b);
		if (s)
			format_value_put(&b, s->value, s->metric, 3, unicode);
		format_grid_cell(g, s && b.data ? b.data : "unknown");
	}
	buf_fini(&b);
}

bool format_curve_grid(const struct model_run *r, struct format_grid *g, bool unicode)
{
	struct trial *trials = calloc(r->n_parts ? r->n_parts : 1, sizeof(*trials));
	size_t n = trials ? trials_of(r, trials) : 0;
	unsigned dirs = format_dirs(r);
	format_grid_init(g, 1 + ARRAY_LEN(cols));
	if (n) {
		format_grid_row(g, "offered");
		for (size_t i = 0; i < ARRAY_LEN(cols); i++)
			format_grid_cell(g, cols[i].head);
	}
	for (size_t i = 0; i < n; i++) {
		for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++)
			if (dirs & BIT(dir))
				put_trial(r, &trials[i], dir, dirs == 3, g, unicode);
	}
	free(trials);
	return n > 0;
}
