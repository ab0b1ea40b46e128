/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One figure of a run. A summary is preferred; a run that was cut off has none, so totals
 * and rates of counters are then derived from its samples and marked so. What is declared
 * unknown stays unknown.
 */
#include "format/priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BIT(d) (1u << (d))

bool format_known(const struct format_fig *f)
{
	return f->metric && f->state == MODEL_KNOWN;
}

const char *format_dir_name(int dir)
{
	return dir == MODEL_UP ? "up" : dir == MODEL_DOWN ? "down" : "";
}

int format_view_end(int dir, int view)
{
	return (dir == MODEL_DOWN) == (view == MODEL_SENDER) ? MODEL_FAR : MODEL_NEAR;
}

bool format_incomplete(const struct model_run *r)
{
	return r->outcome == OUTCOME_RUNNING || r->outcome == OUTCOME_PARTIAL;
}

static unsigned dims_dir(const struct model_dims *d)
{
	if (!(d->has & BIT(DIM_DIR)) || d->v[DIM_DIR] < MODEL_UP || d->v[DIM_DIR] > MODEL_DOWN)
		return 0;
	return BIT(d->v[DIM_DIR]);
}

unsigned format_dirs(const struct model_run *r)
{
	unsigned dirs = 0;
	for (size_t i = 0; i < r->n_sums; i++)
		dirs |= dims_dir(&r->sums[i].dims);
	for (size_t i = 0; i < r->n_frames; i++)
		dirs |= dims_dir(&r->frames[i]->dims);
	return dirs;
}

unsigned format_part_dirs(const struct model_run *r, uint32_t part)
{
	unsigned dirs = 0;
	for (size_t i = 0; i < r->n_sums; i++)
		if (r->sums[i].part == part)
			dirs |= dims_dir(&r->sums[i].dims);
	for (size_t i = 0; i < r->n_frames; i++) {
		const struct model_frame *f = r->frames[i];
		if (f->axis < r->n_axes && r->axes[f->axis]->part == part)
			dirs |= dims_dir(&f->dims);
	}
	return dirs;
}

static void widen(const struct model_dims *d, int dir, int64_t *first, int64_t *last)
{
	int64_t v = d->v[DIM_FLOW];
	if (!(d->has & BIT(DIM_FLOW)) || dims_dir(d) != BIT(dir) || v < 0 || v > INT32_MAX)
		return;
	*first = v < *first ? v : *first;
	*last = v > *last ? v : *last;
}

int64_t format_flows(const struct model_run *r, int dir, int64_t *first)
{
	int64_t last = -1;
	*first = INT64_MAX;
	for (size_t i = 0; i < r->n_sums; i++)
		widen(&r->sums[i].dims, dir, first, &last);
	for (size_t i = 0; i < r->n_frames; i++)
		widen(&r->frames[i]->dims, dir, first, &last);
	return last < 0 ? 0 : last - *first + 1;
}

/* A wanted value against a dimension: 0 differs, 1 the set does not say, 2 equal or any. */
static int fits(const struct model_dims *d, enum model_dim_id id, int64_t want)
{
	if (want < 0)
		return 2;
	if (!(d->has & BIT(id)))
		return 1;
	return d->v[id] == want ? 2 : 0;
}

/* A figure of a host (its CPU) belongs to a direction when its part has only that one. */
static int part_dir(const struct model_run *r, uint32_t part)
{
	unsigned dirs = 0;
	for (size_t i = 0; i < r->n_sums; i++)
		if (r->sums[i].part == part)
			dirs |= dims_dir(&r->sums[i].dims);
	return dirs == BIT(MODEL_UP) ? MODEL_UP : dirs == BIT(MODEL_DOWN) ? MODEL_DOWN : -1;
}

static bool dir_fits(const struct model_run *r, const struct model_summary *s,
		     const struct format_key *k)
{
	if (s->dims.has & BIT(DIM_DIR))
		return k->dir != FORMAT_DIRLESS && fits(&s->dims, DIM_DIR, k->dir);
	if (k->dir == FORMAT_DIRLESS)
		return part_dir(r, s->part) < 0;
	return k->dir < 0 || !k->directed || part_dir(r, s->part) == k->dir;
}

/* How well a summary answers; 0 = not at all. Known counts more than measured here, that more
 * than how exactly the dimensions are named. */
static int score(const struct model_run *r, const struct model_summary *s,
		 const struct format_key *k)
{
	const struct model_dims *d = &s->dims;
	uint32_t other = d->has & ~(BIT(DIM_DIR) | BIT(DIM_VIEW) | BIT(DIM_END) | BIT(DIM_FLOW));
	bool flow_ok = k->flow < 0 ? !(d->has & BIT(DIM_FLOW))
				   : d->has & BIT(DIM_FLOW) && d->v[DIM_FLOW] == k->flow;
	int end = k->end;
	if (end < 0 && k->dir >= 0 && (k->view == MODEL_SENDER || k->view == MODEL_RECEIVER))
		end = format_view_end(k->dir, k->view);
	int view_fit = fits(d, DIM_VIEW, k->view), end_fit = fits(d, DIM_END, end);
	/* The other end may tell what this view is: the view alone decides where it is named. */
	if (view_fit == 2 && k->view >= 0 && k->end < 0 && !end_fit)
		end_fit = 1;
	if (other || !flow_ok || !dir_fits(r, s, k) || !view_fit || !end_fit)
		return 0;
	return 1 + (s->state == MODEL_KNOWN ? 64 : 0) + (s->prov == MODEL_MEASURED ? 16 : 0) +
	       view_fit + end_fit;
}

static bool omitted_part(const struct model_run *r, uint32_t part)
{
	return part < r->n_parts && r->parts[part].name && !strcmp(r->parts[part].name, "omit");
}

static const struct model_summary *best_summary(const struct model_run *r,
						const struct format_key *k)
{
	const struct model_summary *best = NULL;
	int most = 0;
	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *s = &r->sums[i];
		if (s->stat != k->stat || strcmp(s->metric->name, k->metric) != 0 ||
		    omitted_part(r, s->part))
			continue;
		int n = score(r, s, k);
		if (n > most) {
			most = n;
			best = s;
		}
	}
	return best;
}

static struct format_fig derived(const struct model_run *r, const struct format_key *k)
{
	struct format_fig f = {0};
	struct format_group g = {k->dir, k->view, k->end, k->flow};
	struct format_series s;
	const struct model_metric *m = model_metric(k->metric);
	if (!m || m->kind == MODEL_GAUGE || k->stat != STAT_VALUE || k->dir < 0 || k->view < 0 ||
	    !format_group_has(r, &g, k->metric) || format_series(r, &g, k->metric, &s) < 0)
		return f;
	bool rate = m->kind == MODEL_RATE;
	if (s.rows && (!rate || s.seconds > 0)) {
		f.metric = m;
		f.prov = format_incomplete(r) ? MODEL_PARTIAL : MODEL_DERIVED;
		f.value = rate ? s.sum / s.seconds : s.sum;
		f.ended = true;
	}
	format_series_fini(&s);
	return f;
}

struct format_fig format_fig(const struct model_run *r, const struct format_key *k)
{
	/* What a single value is when only statistics of it are there. */
	static const enum model_stat instead[] = {STAT_VALUE, STAT_MEAN, STAT_P50};
	const struct model_summary *s = best_summary(r, k);
	struct format_key alt = *k;
	for (size_t i = 1; !s && k->stat == STAT_VALUE && i < ARRAY_LEN(instead); i++) {
		alt.stat = instead[i];
		s = best_summary(r, &alt);
	}
	if (!s)
		return derived(r, k);
	bool ended = s->dims.has & (BIT(DIM_VIEW) | BIT(DIM_END));
	bool finite = isfinite(s->value);
	return (struct format_fig){.metric = s->metric,
				   .stat = s->stat,
				   .state = finite ? s->state : MODEL_UNKNOWN,
				   .bound = s->bound,
				   .prov = s->prov,
				   .ended = ended,
				   .value = s->value,
				   .resolution = s->resolution};
}

/* Digits of a value that is known in steps of `resolution`. */
static int known_digits(double v, double resolution, int digits)
{
	double steps = resolution > 0 ? fabs(v) / resolution : 0;
	if (!(steps > 0))
		return digits;
	/* A hair over: 310 us in steps of 1 us are 310 steps, not 309.99. */
	int known = steps < 10 ? 1 : (int)floor(log10(steps * (1 + 1e-9))) + 1;
	return known < digits ? known : digits;
}

/* Counts are exact while they are short; everything else has its significant digits. */
void format_value_put(struct buf *b, double v, const struct model_metric *m, int digits,
		      bool unicode)
{
	char text[64];
	bool whole = v == trunc(v);
	if (whole && m->unit == UNIT_NONE && fabs(v) < 100000)
		snprintf(text, sizeof(text), "%.0f", v + 0.0);
	else if (whole && m->unit == UNIT_BYTE && m->kind == MODEL_GAUGE &&
		 fabs(v) < (digits > 4 ? 100000 : 10000))
		snprintf(text, sizeof(text), "%.0f B", v + 0.0);
	else
		unit_format(text, sizeof(text), v, m->unit, known_digits(v, m->resolution, digits));
	format_words(b, text, unicode);
}

void format_fig_put(struct buf *b, const struct format_fig *f, int digits, bool unicode)
{
	static const char *const signs[] = {
		[MODEL_EQ] = "", [MODEL_GE] = "\xe2\x89\xa5 ", [MODEL_LE] = "\xe2\x89\xa4 "};
	if (!format_known(f)) {
		buf_puts(b, f->metric && f->state == MODEL_NA ? "n/a" : "unknown");
		return;
	}
	if ((unsigned)f->bound < ARRAY_LEN(signs))
		format_words(b, signs[f->bound], unicode);
	format_value_put(b, f->value, f->metric, known_digits(f->value, f->resolution, digits),
			 unicode);
}
