/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is compared with what. The whole run is the unit and its logarithm the scale, so that an
 * effect is a ratio. Where the order is known the difference is taken within blocks, which a
 * drift cannot reach; where sessions are known that saw one side each, the session is the unit; else
 * all that is left is two heaps of runs (Welch).
 */
#include "model/priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_LEAST 4 /* of a sequence that nobody planned */
#define PAIRS_ENOUGH 6 /* 2/2^5 is over 5 % */

struct one {      /* a run */
	double x; /* log */
	uint8_t side;
	int64_t order, block, session;
};
struct runs {
	struct one *v;
	size_t n;
	bool order, block, session; /* known for all */
};

/* ---- logs ---- */

/* Half of the smallest positive value, where a value is 0 (a loss, a count); else 0. */
static double shift_of(const struct model_side *a, const struct model_side *b)
{
	double least = (double)INFINITY;
	bool zero = false;

	for (size_t i = 0; i < a->n + b->n; i++) {
		double x = i < a->n ? a->x[i] : b->x[i - a->n];
		zero = zero || x == 0;
		least = x > 0 ? fmin(least, x) : least;
	}
	if (!zero)
		return 0;
	return isinf(least) ? 1 : least / 2;
}

/* Intervals of one run are one run: their mean. */
static size_t take_side(struct one *out, const struct model_side *s, uint8_t side, double shift)
{
	if (s->intervals) {
		*out = (struct one){.x = log(model_stats(s->x, s->n).mean + shift), .side = side};
		return 1;
	}
	for (size_t i = 0; i < s->n; i++) {
		out[i] = (struct one){.x = log(s->x[i] + shift),
				      .side = side,
				      .order = s->order ? s->order[i] : 0,
				      .block = s->block ? s->block[i] : 0,
				      .session = s->session ? s->session[i] : 0};
	}
	return s->n;
}

static int take_runs(struct runs *r, const struct model_side *a, const struct model_side *b,
		     double shift)
{
	r->v = calloc(a->n + b->n + 1, sizeof(*r->v));
	if (!r->v)
		return -ENOMEM;
	r->n = take_side(r->v, a, 0, shift);
	r->n += take_side(r->v + r->n, b, 1, shift);
	r->order = a->order && b->order;
	r->block = a->block && b->block;
	r->session = a->session && b->session;
	return 0;
}

/* ---- blocks ---- */

static int by_order(const void *a, const void *b)
{
	const struct one *p = a, *q = b;

	return (p->order > q->order) - (p->order < q->order);
}

static int by_block(const void *a, const void *b)
{
	const struct one *p = a, *q = b;

	if (p->block != q->block)
		return p->block < q->block ? -1 : 1;
	return p->side - q->side;
}

static int by_session(const void *a, const void *b)
{
	const struct one *p = a, *q = b;

	if (p->session != q->session)
		return p->session < q->session ? -1 : 1;
	return p->side - q->side;
}

/* One sequence over both sides has no place twice. */
static bool is_sequence(const struct runs *r)
{
	for (size_t i = 1; i < r->n; i++) {
		if (r->v[i].order == r->v[i - 1].order)
			return false;
	}
	return r->n > 1;
}

/* Cuts the sequence wherever both sides have had as many runs: ABBA gives AB and BA. The last
 * cut may leave runs of one side over; they are a block of their own, which has no difference. */
static size_t cut_blocks(struct runs *r)
{
	int64_t block = 0;
	int lead = 0;

	for (size_t i = 0; i < r->n; i++) {
		r->v[i].block = block;
		lead += r->v[i].side ? 1 : -1;
		block += lead == 0;
	}
	return (size_t)block;
}

/* Blocks from a sequence: true when it alternates, at least so often. */
static bool blocks_by_order(struct runs *r, size_t least)
{
	qsort(r->v, r->n, sizeof(*r->v), by_order);
	return is_sequence(r) && cut_blocks(r) >= least;
}

static bool session_has_both(const struct one *v, size_t n)
{
	return v[0].side == 0 && v[n - 1].side == 1;
}

static size_t session_length(const struct runs *r, size_t at)
{
	size_t n = 1;

	while (at + n < r->n && r->v[at + n].session == r->v[at].session)
		n++;
	return n;
}

/* Sessions that each saw both sides are blocks. */
static bool blocks_by_session(struct runs *r)
{
	size_t sessions = 0;

	qsort(r->v, r->n, sizeof(*r->v), by_session);
	for (size_t i = 0, n; i < r->n; i += n, sessions++) {
		n = session_length(r, i);
		if (!session_has_both(r->v + i, n))
			return false;
		for (size_t k = 0; k < n; k++)
			r->v[i + k].block = r->v[i].session;
	}
	return sessions >= 2;
}

/* ---- sessions as units ---- */

/* Each session saw one side, and each side had two at least. */
static bool sessions_of_one_side(struct runs *r)
{
	size_t per_side[2] = {0};

	qsort(r->v, r->n, sizeof(*r->v), by_session);
	for (size_t i = 0, n; i < r->n; i += n) {
		n = session_length(r, i);
		if (r->v[i].side != r->v[i + n - 1].side)
			return false;
		per_side[r->v[i].side]++;
	}
	return per_side[0] >= 2 && per_side[1] >= 2;
}

/* The mean of a session becomes its value; its place is that of its first run. */
static void collapse_sessions(struct runs *r)
{
	size_t out = 0;

	for (size_t i = 0, n; i < r->n; i += n) {
		struct one mean = r->v[i];
		n = session_length(r, i);
		for (size_t k = 1; k < n; k++) {
			const struct one *v = &r->v[i + k];
			mean.x += v->x;
			mean.order = v->order < mean.order ? v->order : mean.order;
		}
		mean.x /= (double)n;
		r->v[out++] = mean;
	}
	r->n = out;
}

/* Boots of one arm each: runs within one are no replication. In pairs where that was planned or
 * where there are enough for the permutation of pairs. */
static enum model_design arrange_sessions(struct runs *r, enum model_design want)
{
	collapse_sessions(r);
	if (want != DESIGN_UNORDERED && r->block)
		return DESIGN_BLOCKED;
	if (want != DESIGN_UNORDERED && r->order && blocks_by_order(r, PAIRS_ENOUGH))
		return DESIGN_BLOCKED;
	return DESIGN_SESSIONS;
}

static enum model_design arrange(struct runs *r, enum model_design want)
{
	if (want == DESIGN_PAIRED) {
		size_t k[2] = {0};
		for (size_t i = 0; i < r->n; i++)
			r->v[i].block = (int64_t)k[r->v[i].side]++;
		return DESIGN_PAIRED;
	}
	if (r->session && sessions_of_one_side(r))
		return arrange_sessions(r, want);
	if (want != DESIGN_UNORDERED && r->block)
		return DESIGN_BLOCKED;
	if (want != DESIGN_UNORDERED && r->order && blocks_by_order(r, BLOCKS_LEAST))
		return DESIGN_BLOCKED;
	if (r->session && blocks_by_session(r))
		return DESIGN_BLOCKED;
	return DESIGN_UNORDERED;
}

/* ---- the estimate ---- */

/* Moves blocks that have both sides to the front; starts[] gets their bounds. */
static size_t keep_blocks(struct runs *r, size_t *starts)
{
	size_t blocks = 0, out = 0;

	for (size_t i = 0, n; i < r->n; i += n) {
		for (n = 1; i + n < r->n && r->v[i + n].block == r->v[i].block;)
			n++;
		if (r->v[i].side == r->v[i + n - 1].side)
			continue;
		memmove(r->v + out, r->v + i, n * sizeof(*r->v));
		starts[blocks++] = out;
		out += n;
	}
	starts[blocks] = out;
	return blocks;
}

static double difference(const struct one *v, size_t n, double *weight)
{
	double sum[2] = {0}, count[2] = {0};

	for (size_t i = 0; i < n; i++) {
		sum[v[i].side] += v[i].x;
		count[v[i].side]++;
	}
	*weight += 1 / count[0] + 1 / count[1];
	return sum[1] / count[1] - sum[0] / count[0];
}

static void permute_blocks(struct model_effect *f, const struct runs *r, const size_t *starts,
			   struct model_rng *rng)
{
	double *x = calloc(r->n + 1, sizeof(*x));
	uint8_t *side = calloc(r->n + 1, 1);

	f->perm = (struct model_perm){.p = (double)NAN};
	f->perm_of = starts[f->nd] == 2 * f->nd ? MODEL_PERM_OF_PAIRS : MODEL_PERM_OF_BLOCKS;
	if (f->perm_of == MODEL_PERM_OF_PAIRS) {
		f->perm = model_perm_signs(f->d, f->nd, rng);
	} else if (x && side) {
		for (size_t i = 0; i < starts[f->nd]; i++) {
			x[i] = r->v[i].x;
			side[i] = r->v[i].side;
		}
		f->perm = model_perm_blocks(x, side, starts, f->nd, rng);
	}
	free(side);
	free(x);
}

static int by_blocks(struct model_effect *f, struct runs *r, struct model_rng *rng)
{
	size_t *starts = calloc(r->n + 1, sizeof(*starts)), all = r->n;
	double weight = 0;

	f->d = calloc(r->n + 1, sizeof(*f->d));
	if (!starts || !f->d) {
		free(starts);
		return -ENOMEM;
	}
	qsort(r->v, r->n, sizeof(*r->v), by_block);
	f->nd = keep_blocks(r, starts);
	f->left_out = all - starts[f->nd];
	for (size_t k = 0; k < f->nd; k++)
		f->d[k] = difference(r->v + starts[k], starts[k + 1] - starts[k], &weight);
	if (f->nd) {
		double blocks = (double)f->nd;
		f->t = model_one_sample(f->d, f->nd);
		f->per_unit = weight / blocks / blocks;
		f->noise = f->t.se * blocks / sqrt(weight);
		permute_blocks(f, r, starts, rng);
	}
	free(starts);
	return 0;
}

static double pooled(const struct model_effect *f)
{
	struct model_stats a = model_stats(f->a, f->na), b = model_stats(f->b, f->nb);
	double df = (double)(f->na + f->nb) - 2;

	if (!(df > 0))
		return (double)NAN;
	return sqrt(((double)(f->na - 1) * a.stddev * a.stddev +
		     (double)(f->nb - 1) * b.stddev * b.stddev) /
		    df);
}

static void by_heaps(struct model_effect *f, struct model_rng *rng)
{
	f->t = model_welch(f->a, f->na, f->b, f->nb);
	f->per_unit = 1 / (double)f->na + 1 / (double)f->nb;
	f->noise = f->t.df > 0 ? f->t.se / sqrt(f->per_unit) : pooled(f);
	f->perm = model_perm_two(f->a, f->na, f->b, f->nb, rng);
	f->perm_of = MODEL_PERM_OF_SIDES;
}

static int split_sides(struct model_effect *f, const struct runs *r)
{
	f->a = calloc(r->n + 1, sizeof(*f->a));
	f->b = calloc(r->n + 1, sizeof(*f->b));
	if (!f->a || !f->b)
		return -ENOMEM;
	f->na = f->nb = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].side)
			f->b[f->nb++] = r->v[i].x;
		else
			f->a[f->na++] = r->v[i].x;
	}
	return 0;
}

/* With two or three sessions a side their means cannot be permuted to 5 %: the runs are. */
static int permute_runs(struct model_effect *f, const struct model_side *a,
			const struct model_side *b, struct model_rng *rng)
{
	struct runs r = {0};
	struct model_effect all = {0};
	int rc = take_runs(&r, a, b, f->shift);

	if (rc >= 0)
		rc = split_sides(&all, &r);
	if (rc >= 0)
		f->perm = model_perm_two(all.a, all.na, all.b, all.nb, rng);
	f->perm_of = MODEL_PERM_OF_RUNS;
	free(all.a);
	free(all.b);
	free(r.v);
	return rc;
}

/* A printed figure is only known to its last digit: a spread cannot be less than that. Nothing at all
 * on both sides is not rounded. */
static void widen(struct model_effect *f, double resolution)
{
	double a = resolution / exp(model_stats(f->a, f->na).mean);
	double b = resolution / exp(model_stats(f->b, f->nb).mean);
	double run = sqrt((a * a + b * b) / 24), se = run * sqrt(f->per_unit);

	if (f->t.df > 0 && f->t.se < se && !(f->zero[0] && f->zero[1])) {
		f->t.se = se;
		f->noise = run;
	}
}

static bool all_zero(const struct model_side *s)
{
	size_t i = 0;

	while (i < s->n && s->x[i] == 0)
		i++;
	return s->n && i == s->n;
}

int model_effect_init(struct model_effect *f, const struct model_judge_cfg *cfg,
		      const struct model_side *a, const struct model_side *b)
{
	struct runs r = {0};
	struct model_rng rng;
	int rc;

	*f = (struct model_effect){
		.shift = shift_of(a, b), .zero = {all_zero(a), all_zero(b)}, .noise = (double)NAN};
	model_rng_seed(&rng, cfg->seed, 1);
	rc = take_runs(&r, a, b, f->shift);
	if (rc < 0)
		return rc;
	f->design = arrange(&r, a->intervals || b->intervals ? DESIGN_UNORDERED : cfg->design);
	f->one_session = f->design == DESIGN_UNORDERED && !cfg->floor_sessions;
	rc = split_sides(f, &r);
	if (rc >= 0 && (f->design == DESIGN_BLOCKED || f->design == DESIGN_PAIRED))
		rc = by_blocks(f, &r, &rng);
	else if (rc >= 0)
		by_heaps(f, &rng);
	if (rc >= 0 && f->design == DESIGN_SESSIONS && (f->na < 4 || f->nb < 4))
		rc = permute_runs(f, a, b, &rng);
	if (rc >= 0 && cfg->resolution > 0)
		widen(f, cfg->resolution);
	free(r.v);
	if (rc < 0)
		model_effect_fini(f);
	return rc;
}

void model_effect_fini(struct model_effect *f)
{
	free(f->a);
	free(f->b);
	free(f->d);
	f->a = f->b = f->d = NULL;
}
