/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mean of a run that stood still for a while, or that changed its level half-way, describes
 * neither of its halves. The samples tell: bytes in an interval, summed over the flows that were
 * read at one moment. The receiver's count stands where there is one, because a sender's buffer
 * hides a stall.
 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_NS  (100 * NSEC_PER_MSEC) /* shorter ones are empty by nature at a low rate */
#define INTERVAL_MAX 500                   /* the test for a change takes their square */

/* ---- which samples ---- */

struct source {
	uint32_t axis;
	int dir, view;
	const struct model_metric *bytes;
};

static int dim(const struct model_frame *f, enum model_dim_id id)
{
	return f->dims.has & 1U << id ? (int)f->dims.v[id] : -1;
}

static int column(const struct model_frame *f, const struct model_metric *m)
{
	for (size_t i = 0; i < f->n_cols; i++) {
		if (f->cols[i].metric == m)
			return (int)i;
	}
	return -1;
}

static bool is_counted(const struct model_frame *f, const struct source *s)
{
	return f->axis == s->axis && dim(f, DIM_DIR) == s->dir && dim(f, DIM_VIEW) == s->view &&
	       dim(f, DIM_FLOW) >= 0 && column(f, s->bytes) >= 0;
}

static bool find_source(const struct model_run *r, int dir, struct source *s)
{
	static const int views[] = {MODEL_RECEIVER, MODEL_SENDER};

	for (size_t v = 0; v < ARRAY_LEN(views); v++) {
		for (size_t i = 0; i < r->n_frames; i++) {
			const struct model_frame *f = r->frames[i];
			*s = (struct source){f->axis, dir < 0 ? dim(f, DIM_DIR) : dir, views[v],
					     model_metric("bytes")};
			if (s->dir >= 0 && is_counted(f, s))
				return true;
		}
	}
	return false;
}

/* ---- intervals of a length that means something ---- */

struct rates {
	double *v;
	size_t n, cap, stalled;
	int64_t least_ns, ns;
	double bytes;
};

static void add_tick(struct rates *x, int64_t ns, double bytes)
{
	x->ns += ns;
	x->bytes += bytes;
	if (x->ns < x->least_ns || x->n == x->cap)
		return;
	x->stalled += x->bytes == 0;
	x->v[x->n++] = x->bytes / (double)x->ns;
	x->ns = 0;
	x->bytes = 0;
}

static double bytes_of(const struct model_run *r, const struct model_tick *t,
		       const struct source *s, bool *known)
{
	double sum = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct model_frame *f = r->frames[t->rows[i].frame];
		int c = is_counted(f, s) ? column(f, s->bytes) : -1;
		if (c < 0 || !(t->rows[i].valid >> c & 1))
			continue;
		sum += (double)t->rows[i].v[c].u;
		*known = true;
	}
	return sum;
}

static void read_rates(const struct model_run *r, const struct source *s, struct rates *x)
{
	struct model_cursor *cur = model_cursor_new(r, s->axis);
	const struct model_tick *t;

	while (cur && model_cursor_next(cur, &t) > 0) {
		bool known = false;
		double bytes = bytes_of(r, t, s, &known);
		if (known && !(t->flags & (ROW_OMITTED | ROW_SHORT)))
			add_tick(x, t->t1 - t->t0, bytes);
	}
	model_cursor_free(cur);
}

struct model_steady model_steady(const struct model_run *r, int dir, double alpha)
{
	struct model_steady out = {0};
	struct rates x = {.least_ns = INTERVAL_NS};
	struct source s;

	if (!find_source(r, dir, &s))
		return out;
	x.cap = r->axes[s.axis]->n;
	x.v = calloc(x.cap + 1, sizeof(*x.v));
	if (!x.v)
		return out;
	if (r->axes[s.axis]->last_t1 / INTERVAL_MAX > x.least_ns)
		x.least_ns = r->axes[s.axis]->last_t1 / INTERVAL_MAX;
	read_rates(r, &s, &x);
	out = (struct model_steady){.intervals = x.n, .stalled = x.stalled};
	out.changed = model_pettitt(x.v, x.n, alpha).found;
	free(x.v);
	return out;
}
