/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of many flows become one number a tick. Only flows of one axis are summed, for
 * only these were read at one moment; a direction or a view is never added to another.
 */
#include "format/priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BIT(d) (1u << (d))

/* Rates that follow from a counter, and whose view they are. */
static const struct rate_rule {
	const char *rate, *counter;
	int view;
	double scale;
} rate_rules[] = {
	{"goodput", "bytes", MODEL_RECEIVER, 8},
	{"throughput.sent", "bytes", MODEL_SENDER, 8},
};

static bool dim_fits(const struct model_dims *d, enum model_dim_id id, int64_t want)
{
	return want < 0 || (d->has & BIT(id) && d->v[id] == want);
}

static bool in_group(const struct model_dims *d, const struct format_group *g)
{
	/* The end is often left out where the view tells it. */
	bool end_ok = g->end < 0 || !(d->has & BIT(DIM_END)) || d->v[DIM_END] == g->end;
	return dim_fits(d, DIM_DIR, g->dir) && dim_fits(d, DIM_VIEW, g->view) && end_ok &&
	       dim_fits(d, DIM_FLOW, g->flow);
}

/* A metric looked up once, for a thousand frames: table metrics are told by their address. */
struct source {
	const char *name;
	const struct model_metric *metric; /* NULL = not of the table */
	const struct rate_rule *rule;      /* NULL = does not follow from a counter */
	const struct model_metric *counter;
};

static struct source source_of(const char *metric)
{
	struct source s = {.name = metric, .metric = model_metric(metric)};
	for (size_t i = 0; i < ARRAY_LEN(rate_rules); i++)
		if (!strcmp(rate_rules[i].rate, metric)) {
			s.rule = &rate_rules[i];
			s.counter = model_metric(s.rule->counter);
		}
	return s;
}

static int column(const struct model_frame *f, const struct model_metric *m, const char *name)
{
	for (size_t i = 0; i < f->n_cols; i++)
		if (m ? f->cols[i].metric == m : !strcmp(f->cols[i].metric->name, name))
			return (int)i;
	return -1;
}

/* -1 = the frame's view cannot tell the metric; *rule = how it follows from the column. */
static int source_column(const struct model_frame *f, const struct source *s,
			 const struct rate_rule **rule)
{
	int i = column(f, s->metric, s->name);
	*rule = NULL;
	if (i >= 0 || !s->rule || !dim_fits(&f->dims, DIM_VIEW, s->rule->view))
		return i;
	*rule = s->rule;
	return column(f, s->counter, s->rule->counter);
}

static int pick_score(const struct model_dims *d, int dir, int want_view)
{
	if (!(d->has & BIT(DIM_VIEW)) || !dim_fits(d, DIM_DIR, dir))
		return 0;
	bool far = d->has & BIT(DIM_END) && d->v[DIM_END] != MODEL_NEAR;
	return 1 + (far ? 0 : 2) + (dim_fits(d, DIM_VIEW, want_view) ? 4 : 0);
}

bool format_group_pick(const struct model_run *r, int dir, int want_view, struct format_group *g)
{
	int most = 0;
	for (size_t i = 0; i < r->n_frames; i++) {
		const struct model_dims *d = &r->frames[i]->dims;
		int score = pick_score(d, dir, want_view);
		if (score <= most)
			continue;
		most = score;
		*g = (struct format_group){dir, (int)d->v[DIM_VIEW], FORMAT_ANY, -1};
		if (d->has & BIT(DIM_END))
			g->end = (int)d->v[DIM_END];
	}
	return most > 0;
}

bool format_group_on_axis(const struct model_run *r, const struct format_group *g, uint32_t axis)
{
	for (size_t i = 0; i < r->n_frames; i++)
		if (r->frames[i]->axis == axis && in_group(&r->frames[i]->dims, g))
			return true;
	return false;
}

bool format_group_has(const struct model_run *r, const struct format_group *g, const char *metric)
{
	const struct source src = source_of(metric);
	const struct rate_rule *rule;
	for (size_t i = 0; i < r->n_frames; i++)
		if (in_group(&r->frames[i]->dims, g) &&
		    source_column(r->frames[i], &src, &rule) >= 0)
			return true;
	return false;
}

static double as_double(const struct model_col *c, union model_value v)
{
	switch (c->metric->type) {
	case MODEL_U64:
		return (double)v.u;
	case MODEL_I64:
		return (double)v.i;
	default:
		return v.f;
	}
}

struct sum { /* frames of flows and frames of no flow are two accounts of the same */
	double total[2];
	size_t n[2], missing[2];
	const struct model_metric *metric;
};

static void add_row(const struct model_run *r, const struct model_row *row, double seconds,
		    const struct format_group *g, const struct source *src, struct sum *s)
{
	const struct rate_rule *rule;
	if (row->frame >= r->n_frames || !in_group(&r->frames[row->frame]->dims, g))
		return;
	const struct model_frame *f = r->frames[row->frame];
	int i = source_column(f, src, &rule);
	if (i < 0)
		return;
	bool flow = f->dims.has & BIT(DIM_FLOW);
	bool known = i < 64 && row->valid >> i & 1 && (!rule || seconds > 0);
	double v = known ? as_double(&f->cols[i], row->v[i]) : (double)NAN;
	if (!isfinite(v)) {
		s->missing[flow]++;
		return;
	}
	s->total[flow] += rule ? v * rule->scale / seconds : v;
	s->n[flow]++;
	if (!s->metric)
		s->metric = rule ? src->metric : f->cols[i].metric;
}

/* A sum with a flow missing is not the total; a mean of those that are known is a mean. */
bool format_tick_value(const struct model_run *r, const struct model_tick *t,
		       const struct format_group *g, const char *metric, double *v)
{
	const struct source src = source_of(metric);
	struct sum s = {0};
	double seconds = (double)(t->t1 - t->t0) / 1e9;
	for (size_t i = 0; i < t->n_rows; i++)
		add_row(r, &t->rows[i], seconds, g, &src, &s);
	bool flow = s.n[1] > 0;
	if (!s.n[flow] || !s.metric)
		return false;
	bool summed = s.metric->kind != MODEL_GAUGE || s.metric->unit == UNIT_BYTE;
	if (summed && s.missing[flow])
		return false;
	*v = summed ? s.total[flow] : s.total[flow] / (double)s.n[flow];
	return true;
}

static int push(struct format_series *s, double v)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		double *p = realloc(s->v, cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->v = p;
		s->cap = cap;
	}
	s->v[s->n++] = v;
	return 0;
}

static int add_tick(const struct model_run *r, const struct model_tick *t,
		    const struct format_group *g, const char *metric, struct format_series *s)
{
	const struct model_metric *m = model_metric(metric);
	double v, seconds = (double)(t->t1 - t->t0) / 1e9;
	if (t->flags & ROW_OMITTED)
		return 0;
	bool known = format_tick_value(r, t, g, metric, &v);
	if (known) {
		s->sum += m && m->kind == MODEL_RATE ? v * seconds : v;
		s->seconds += seconds;
		s->rows++;
	}
	return t->flags & ROW_SHORT ? 0 : push(s, known ? v : (double)NAN);
}

int format_series(const struct model_run *r, const struct format_group *g, const char *metric,
		  struct format_series *out)
{
	int rc = 0;
	*out = (struct format_series){0};
	for (uint32_t axis = 0; axis < r->n_axes && rc >= 0; axis++) {
		const struct model_tick *t;
		if (!format_group_on_axis(r, g, axis))
			continue;
		struct model_cursor *c = model_cursor_new(r, axis);
		rc = c ? 0 : -ENOMEM;
		while (rc >= 0 && c && model_cursor_next(c, &t) == 1)
			rc = add_tick(r, t, g, metric, out);
		model_cursor_free(c);
	}
	if (rc < 0)
		format_series_fini(out);
	return rc;
}

void format_series_fini(struct format_series *s)
{
	free(s->v);
	*s = (struct format_series){0};
}
