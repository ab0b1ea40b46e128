/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Did the change help? One rule: gates first (what cannot be compared gets no verdict), then
 * three witnesses who must agree that there is a difference (the interval, the permutation, the
 * noise floor), then equivalence within a margin; what is neither is inconclusive, with what the
 * runs could have shown. Absence of evidence is never made into evidence of absence.
 */
#include "model/priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MIN     4
#define AT_LINE      0.015
#define APART        1.2
#define STALLED      0.05
#define DRIFT_SAID   0.05 /* a note */
#define DRIFT_GATE   0.01 /* no verdict: a veto must not hit one clean experiment in twenty */
#define TREND_MOST   2000 /* values in a row that are compared, each with each */
#define LEANS        0.5  /* of the pairs, more often first than second */
#define CONF         0.95
#define CONF_SEQUENT 0.965

/* ---- gates ---- */

static uint64_t bad_values(const struct model_side *s)
{
	uint64_t found = s->n ? 0 : MODEL_R(REASON_MISSING_SIDE);

	for (size_t i = 0; i < s->n; i++) {
		if (!isfinite(s->x[i]))
			found |= MODEL_R(REASON_NOT_A_NUMBER);
		else if (s->x[i] < 0)
			found |= MODEL_R(REASON_NEGATIVE);
	}
	return found;
}

/* The same values in the same order, where they differ among themselves. */
static bool same_data(const struct model_side *a, const struct model_side *b)
{
	bool vary = false;

	if (a->n != b->n || a->n < 3)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->x[i] != b->x[i])
			return false;
		vary = vary || a->x[i] != a->x[0];
	}
	return vary;
}

static uint64_t bad_times(const struct model_side *a, const struct model_side *b)
{
	double x = a->seconds, y = b->seconds;

	if ((x > 0 && x < 1) || (y > 0 && y < 1))
		return MODEL_R(REASON_SHORT);
	if (x > 0 && y > 0 && fmax(x, y) > APART * fmin(x, y))
		return MODEL_R(REASON_DURATION);
	return 0;
}

static uint64_t bad_stalls(const struct model_side *a, const struct model_side *b)
{
	double share = fmax(a->stalled, b->stalled);

	if (share > STALLED)
		return MODEL_R(REASON_STALLED);
	return share > 0 ? MODEL_R(REASON_SOME_STALLS) : 0;
}

/* By runs, not intervals: stalls come in heaps. */
static void set_stalls(struct model_judgement *j, const struct model_side *a,
		       const struct model_side *b)
{
	j->stalled[0] = a->stalled_runs;
	j->stalled[1] = b->stalled_runs;
	j->p_stalled = a->stalled_runs + b->stalled_runs
			       ? model_fisher(a->stalled_runs, a->n, b->stalled_runs, b->n)
			       : (double)NAN;
}

/* ---- drift of runs whose order does not balance it ---- */

struct trend {
	double s, var;
};

/* Kendall's S over the pairs of one side, in time. */
static void add_trend(struct trend *t, const struct model_side *s)
{
	double n = (double)s->n;

	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->n; j++) {
			if (s->order[i] < s->order[j])
				t->s += (s->x[j] > s->x[i]) - (s->x[j] < s->x[i]);
		}
	}
	t->var += n * (n - 1) * (2 * n + 5) / 18;
}

static double trend_p(const struct trend *t)
{
	double z = t->var > 0 ? (fabs(t->s) - 1) / sqrt(t->var) : 0;

	return 2 * model_norm_cdf(-fmax(z, 0));
}

static uint64_t drift(const struct model_side *a, const struct model_side *b)
{
	struct trend one = {0}, both = {0};
	uint64_t found = 0;

	for (int k = 0; k < 2; k++) {
		const struct model_side *s = k ? b : a;
		if (!s->order || s->n < RUNS_MIN || s->intervals)
			continue;
		one = (struct trend){0};
		add_trend(&one, s);
		add_trend(&both, s);
		found |= trend_p(&one) < DRIFT_SAID ? MODEL_R(REASON_SOME_DRIFT) : 0;
	}
	if (trend_p(&both) < DRIFT_GATE)
		return MODEL_R(REASON_DRIFT);
	return trend_p(&both) < DRIFT_SAID ? MODEL_R(REASON_SOME_DRIFT) : found;
}

static int by_place(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t *sorted_places(const struct model_side *s)
{
	int64_t *v = calloc(s->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < s->n; i++)
		v[i] = s->order[i];
	if (v)
		qsort(v, s->n, sizeof(*v), by_place);
	return v;
}

/* Pairs in which one side goes first almost always, such as A B A B: a drift is a difference of
 * each of them. Where either goes first about as often it cancels. */
static bool leans(const struct model_side *a, const struct model_side *b)
{
	int64_t *x, *y, later = 0;
	size_t n = a->n;

	if (!a->order || !b->order || a->n != b->n)
		return false;
	x = sorted_places(a);
	y = sorted_places(b);
	for (size_t i = 0; x && y && i < n; i++)
		later += (y[i] > x[i]) - (y[i] < x[i]);
	free(x);
	free(y);
	return !x || !y || fabs((double)later) > LEANS * (double)n;
}

/* Pairs of which nobody said who went first: their means, of neighbours when there are very many,
 * tell whether all of them move. */
static uint64_t pairs_drift(const struct model_side *a, const struct model_side *b)
{
	size_t each = a->n / TREND_MOST + 1, n = a->n / each;
	double *mean = calloc(n + 1, sizeof(*mean)), p;

	if (!mean)
		return MODEL_R(REASON_MEMORY);
	for (size_t i = 0; i < n * each; i++)
		mean[i / each] += (a->x[i] / 2 + b->x[i] / 2) / (double)each;
	p = model_kendall(mean, n).p;
	free(mean);
	return p < DRIFT_GATE   ? MODEL_R(REASON_DRIFT)
	       : p < DRIFT_SAID ? MODEL_R(REASON_SOME_DRIFT)
				: 0;
}

/* ---- qualifiers ---- */

static bool at_line(const struct model_judge_cfg *cfg, const struct model_side *s)
{
	double ceiling = cfg->ceiling > 0 ? cfg->ceiling : s->ceiling;

	return ceiling > 0 && model_stats(s->x, s->n).median > ceiling * (1 - AT_LINE);
}

static uint64_t line_rate(const struct model_judge_cfg *cfg, const struct model_side *a,
			  const struct model_side *b)
{
	bool x = at_line(cfg, a), y = at_line(cfg, b);

	if (cfg->better != MODEL_HIGHER)
		return 0;
	if (x && y)
		return MODEL_R(REASON_LINE_RATE);
	return x || y ? MODEL_R(REASON_BOUND_BY_LINE) : 0;
}

static bool constant(const double *x, size_t n)
{
	return n >= 2 && model_stats(x, n).stddev == 0;
}

static uint64_t of_the_effect(struct model_judgement *j, const struct model_effect *f)
{
	uint64_t found = 0;

	if (f->d)
		j->outliers = model_outliers(f->d, f->nd, NULL);
	else
		j->outliers = model_outliers(f->a, f->na, NULL) + model_outliers(f->b, f->nb, NULL);
	found |= j->outliers ? MODEL_R(REASON_OUTLIER) : 0;
	found |= f->shift > 0 && !(f->zero[0] && f->zero[1]) ? MODEL_R(REASON_ZEROS) : 0;
	found |= f->left_out ? MODEL_R(REASON_UNBLOCKED) : 0;
	found |= f->one_session ? MODEL_R(REASON_SESSIONS) : 0;
	if (constant(f->a, f->na) || constant(f->b, f->nb))
		found |= MODEL_R(REASON_ZERO_VARIANCE);
	if (f->perm.least >= model_alpha(j))
		found |= MODEL_R(REASON_FEW_BLOCKS);
	return found;
}

/* ---- figures ---- */

double model_alpha(const struct model_judgement *j)
{
	return 1 - j->conf;
}

/* Back from the logs; where all were 0 rounding leaves a crumb. */
static double mean_of(const double *logs, size_t n, double shift)
{
	double m = exp(model_stats(logs, n).mean) - shift;

	return fabs(m) < 1e-9 * shift ? 0 : m;
}

static void set_effect(struct model_judgement *j, const struct model_effect *f)
{
	double half = model_t_half(&f->t, j->conf);

	j->design = f->design;
	j->t = f->t;
	j->noise = f->noise;
	j->perm = f->perm;
	j->units = f->d ? f->nd : f->na < f->nb ? f->na : f->nb;
	j->a = mean_of(f->a, f->na, f->shift);
	j->b = mean_of(f->b, f->nb, f->shift);
	j->effect = expm1(f->t.d);
	j->lo = expm1(f->t.d - half);
	j->hi = expm1(f->t.d + half);
	j->robust = expm1(f->d ? model_stats(f->d, f->nd).median
			       : model_hodges_lehmann(f->a, f->na, f->b, f->nb));
	j->p_mw = model_mann_whitney(f->a, f->na, f->b, f->nb).p;
	j->p_t = j->p_adj = model_t_p(&f->t);
}

/* From nought to something there is no ratio, and back it is all: what the shift made of it is no
 * figure. The witnesses of a difference are good, since half of the least is far enough from 0. */
static void no_ratio(struct model_judgement *j, bool from_nothing)
{
	const double none = (double)NAN;

	j->reasons |= MODEL_R(REASON_ALL_ZERO);
	j->effect = from_nothing ? (double)INFINITY : -1;
	j->lo = j->hi = j->robust = j->noise = j->explain = j->settle6 = j->settle12 = none;
	j->mde = j->mde_lo = j->mde_hi = j->p_eq = none;
	j->power.se = none;
}

/* The s.d. is an estimate: its 90 % interval by chi-square makes a range of the effect. */
void model_set_power(struct model_judgement *j)
{
	const double many = 1e8; /* F with so many degrees of freedom is chi-square / df */
	struct model_power p = j->power;
	double mde;

	p.tests = j->tests;
	mde = model_mde(&p);
	j->mde = j->mde_lo = j->mde_hi = expm1(mde);
	if (!isfinite(mde))
		return;
	p.se = j->power.se / sqrt(model_f_quantile(0.95, p.df, many));
	j->mde_lo = expm1(model_mde(&p));
	p.se = j->power.se / sqrt(model_f_quantile(0.05, p.df, many));
	j->mde_hi = expm1(model_mde(&p));
}

static void set_power(struct model_judgement *j, const struct model_effect *f)
{
	j->power = (struct model_power){.of = f->perm_of,
					.units = j->units,
					.se = f->t.se,
					.df = f->t.df,
					.least_p = f->perm.least,
					.floor = log1p(j->floor),
					.alpha = model_alpha(j)};
	model_set_power(j);
}

/* The noise at which chance alone gives such an effect once in twenty times. */
static void set_explain(struct model_judgement *j, const struct model_effect *f)
{
	double df = f->t.df > 0 ? f->t.df : (double)(f->na + f->nb) - 2;
	double q = df >= 1 ? model_t_quantile(0.975, df) : model_norm_quantile(0.975);
	double d = fabs(f->t.d);

	j->explain = d / (q * sqrt(f->per_unit));
	const struct model_noise unit = {.sd = M_SQRT2, .alpha = 1 - CONF};

	j->settle6 = d / model_mde_pairs(6, &unit);
	j->settle12 = d / model_mde_pairs(12, &unit);
}

/* ---- the rule ---- */

static bool differs(struct model_judgement *j)
{
	double alpha = model_alpha(j);
	bool few = j->reasons & MODEL_R(REASON_FEW_BLOCKS);

	if (!(j->p_t < alpha))
		return false;
	if (!(j->p_adj < alpha))
		j->reasons |= MODEL_R(REASON_HOLM);
	if (!few && !(j->perm.p < alpha))
		j->reasons |= MODEL_R(REASON_PERMUTATION);
	if (!(fabs(j->t.d) > log1p(j->floor)))
		j->reasons |= MODEL_R(REASON_FLOOR);
	return !few && !(j->reasons & (MODEL_R(REASON_HOLM) | MODEL_R(REASON_PERMUTATION) |
				       MODEL_R(REASON_FLOOR)));
}

static enum model_verdict_outcome direction(const struct model_judgement *j)
{
	return (j->t.d > 0) == (j->better != MODEL_LOWER) ? VERDICT_BETTER : VERDICT_WORSE;
}

/* An effect above the margin is to be detected; below it, the runs must be able to tell either
 * way: an effect of the size of the margin, or none. */
static size_t pairs_needed(const struct model_judgement *j)
{
	struct model_noise n = {.sd = M_SQRT2 * j->noise,
				.floor = log1p(j->floor),
				.floor_n = j->floor_n,
				.alpha = model_alpha(j),
				.tests = j->tests};
	double d = fabs(j->t.d), limit = log1p(j->margin);

	if (j->outcome != VERDICT_INCONCLUSIVE || isnan(j->noise))
		return 0;
	if (d > limit)
		return model_pairs_to_detect(d, &n);
	size_t detect = model_pairs_to_detect(limit, &n);
	size_t equal = model_pairs_to_equal(limit, &n);
	return detect && equal ? (detect > equal ? detect : equal) : 0;
}

/* From the figures alone, so that it can be asked again after Holm. */
void model_decide(struct model_judgement *j)
{
	bool equal = j->p_eq < model_alpha(j) && j->floor <= j->margin;

	j->reasons &= ~(MODEL_R(REASON_HOLM) | MODEL_R(REASON_PERMUTATION) | MODEL_R(REASON_FLOOR));
	if (j->reasons & MODEL_REASON_GATES)
		j->outcome = VERDICT_NONE;
	else if (j->reasons & (MODEL_R(REASON_FEW_RUNS) | MODEL_R(REASON_INTERVALS)))
		j->outcome = VERDICT_INCONCLUSIVE;
	else if (!differs(j))
		j->outcome = equal ? VERDICT_EQUIVALENT : VERDICT_INCONCLUSIVE;
	else if (j->reasons & MODEL_R(REASON_SESSIONS))
		j->outcome = VERDICT_SESSIONS;
	else
		j->outcome = equal ? VERDICT_NEGLIGIBLE : direction(j);
	j->need = pairs_needed(j);
}

static void judge_effect(const struct model_judge_cfg *cfg, const struct model_side *a,
			 const struct model_side *b, struct model_judgement *j)
{
	struct model_effect f;

	if (model_effect_init(&f, cfg, a, b) < 0) {
		j->reasons |= MODEL_R(REASON_MEMORY);
		return;
	}
	if (f.d && !f.nd) {
		j->reasons |= MODEL_R(REASON_MISSING_SIDE);
		model_effect_fini(&f);
		return;
	}
	set_effect(j, &f);
	j->reasons |= of_the_effect(j, &f);
	if (f.design == DESIGN_UNORDERED || leans(a, b))
		j->reasons |= drift(a, b);
	else if (f.design == DESIGN_PAIRED && !a->order)
		j->reasons |= pairs_drift(a, b);
	j->eq = model_with_floor(&f.t, log1p(j->floor), j->floor_n);
	j->p_eq = model_tost_p(&j->eq, log1p(j->margin));
	set_power(j, &f);
	set_explain(j, &f);
	if (f.zero[0] != f.zero[1])
		no_ratio(j, f.zero[0]);
	if (isnan(f.perm.p))
		j->reasons |= MODEL_R(REASON_MEMORY);
	model_decide(j);
	model_effect_fini(&f);
}

static void start(const struct model_judge_cfg *cfg, const struct model_side *a,
		  const struct model_side *b, struct model_judgement *j)
{
	const double none = (double)NAN;

	*j = (struct model_judgement){
		.outcome = VERDICT_NONE,
		.better = cfg->better,
		.n_a = a->intervals && a->n ? 1 : a->n,
		.n_b = b->intervals && b->n ? 1 : b->n,
		.margin = cfg->margin > 0 ? cfg->margin : MODEL_MARGIN,
		.floor = cfg->floor > 0 ? cfg->floor : 0,
		.floor_n = cfg->floor_n,
		.tests = 1,
		.conf = cfg->sequential ? CONF_SEQUENT : CONF,
		.reasons = cfg->found,
	};
	j->a = j->b = j->effect = j->lo = j->hi = j->noise = j->p_t = j->p_adj = none;
	j->p_eq = j->p_mw = j->robust = j->mde = j->mde_lo = j->mde_hi = none;
	j->explain = j->settle6 = j->settle12 = j->p_stalled = none;
	j->perm = (struct model_perm){.p = none, .least = none};
}

void model_judge(const struct model_judge_cfg *cfg, const struct model_side *a,
		 const struct model_side *b, struct model_judgement *out)
{
	start(cfg, a, b, out);
	out->reasons |= bad_values(a) | bad_values(b);
	set_stalls(out, a, b);
	if (out->reasons & MODEL_REASON_GATES)
		return;
	if (same_data(a, b))
		out->reasons |= MODEL_R(REASON_SAME_DATA);
	out->reasons |= bad_times(a, b) | bad_stalls(a, b) | line_rate(cfg, a, b);
	if (a->changed || b->changed)
		out->reasons |= MODEL_R(REASON_CHANGE_POINT);
	if (a->intervals || b->intervals)
		out->reasons |= MODEL_R(REASON_INTERVALS);
	else if (out->n_a < RUNS_MIN || out->n_b < RUNS_MIN)
		out->reasons |= MODEL_R(REASON_FEW_RUNS);
	if (out->floor > out->margin)
		out->reasons |= MODEL_R(REASON_FLOOR_OVER_MARGIN);
	judge_effect(cfg, a, b, out);
}

/* Better: the interval leaves out nought on the good side. Equivalent or negligible: both ends of
 * the interval of equivalence are within the margin, and a floor above it forbids them. */
bool model_not_worse(const struct model_judgement *j)
{
	return j->outcome == VERDICT_BETTER || j->outcome == VERDICT_EQUIVALENT ||
	       j->outcome == VERDICT_NEGLIGIBLE;
}
