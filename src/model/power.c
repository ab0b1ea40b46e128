/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What these runs could have seen, and how many it takes to see more. "Not significant" means
 * nothing without it. The textbook sum of two quantiles is the power of the t-test alone; the
 * rule that is applied also asks the permutation test, which with few pairs is much stricter,
 * and the noise floor, and the s.d. in it is itself an estimate. So the sum is stretched by what
 * simulation of the whole rule gave.
 */
#include "model/priv.h"

#include <math.h>

#define POWER     0.8
#define PAIRS_MIN 6 /* 2/2^5 is over 5 % */
#define SIDE_MIN  4
#define FLOOR_N   12

/*
 * By what is permuted, from the least number of units on; 1 beyond. Simulated: 75 % power at the
 * effect, 98 % at twice it, also where the s.d. is an estimate from as many units
 * (tests/unit/model_errs.c checks it). Two blocks know their spread so badly that only an enormous
 * effect is sure to be found.
 */
static const double of_pairs[] = {1.51, 1.20, 1.13, 1.09, 1.07, 1.06, 1.04, 1.02, 1.01};
static const double of_sides[] = {1.39, 1.14, 1.09, 1.04, 1.03};
static const double of_blocks[] = {16, 3, 1.9, 1.5, 1.25, 1.12, 1.08, 1.05, 1.04, 1.03};
static const double of_sessions[] = {5, 1.6};
static const struct stretch {
	const double *v;
	size_t n, least;
} stretches[] = {
	[MODEL_PERM_OF_PAIRS] = {of_pairs, ARRAY_LEN(of_pairs), PAIRS_MIN},
	[MODEL_PERM_OF_BLOCKS] = {of_blocks, ARRAY_LEN(of_blocks), 2},
	[MODEL_PERM_OF_SIDES] = {of_sides, ARRAY_LEN(of_sides), SIDE_MIN},
	[MODEL_PERM_OF_RUNS] = {of_sessions, ARRAY_LEN(of_sessions), 2},
};

double model_mde(const struct model_power *p)
{
	const struct stretch *s = &stretches[p->of];
	double df = fmax(p->df, 1), tests = p->tests ? (double)p->tests : 1;

	if (!(p->df > 0) || !(p->se >= 0))
		return (double)NAN;
	if (p->units < s->least || p->least_p >= p->alpha)
		return (double)INFINITY;
	double t = model_t_quantile(1 - p->alpha / tests / 2, df) + model_t_quantile(POWER, df);
	double seen = t * p->se * (p->units - s->least < s->n ? s->v[p->units - s->least] : 1);
	return p->floor > 0 ? fmax(seen, p->floor + model_norm_quantile(POWER) * p->se) : seen;
}

double model_mde_pairs(size_t pairs, const struct model_noise *noise)
{
	return pairs < 2 ? (double)INFINITY
			 : model_mde(&(struct model_power){.of = MODEL_PERM_OF_PAIRS,
							   .units = pairs,
							   .se = noise->sd / sqrt((double)pairs),
							   .df = (double)pairs - 1,
							   .floor = noise->floor,
							   .alpha = noise->alpha,
							   .tests = noise->tests});
}

double model_mde_two(size_t na, size_t nb, const struct model_noise *noise)
{
	if (na < 2 || nb < 2)
		return (double)INFINITY;
	return model_mde(
		&(struct model_power){.of = MODEL_PERM_OF_SIDES,
				      .units = na < nb ? na : nb,
				      .se = noise->sd * sqrt(1 / (double)na + 1 / (double)nb),
				      .df = (double)(na + nb - 2),
				      .floor = noise->floor,
				      .alpha = noise->alpha,
				      .tests = noise->tests});
}

/* ---- the noise floor ---- */

double model_noise_floor(const double *aa, size_t n)
{
	double sum = 0;

	if (!n)
		return (double)NAN;
	for (size_t i = 0; i < n; i++)
		sum += aa[i] * aa[i];
	return model_t_quantile(0.975, (double)n) * sqrt(sum / (double)n);
}

/* The variance that A/A runs of this design showed enters the test of equivalence too. */
struct model_t model_with_floor(const struct model_t *t, double floor, size_t n)
{
	struct model_t with = *t;
	double df = n ? (double)n : FLOOR_N, rms = floor / model_t_quantile(0.975, df);

	if (floor > 0 && rms > t->se) {
		with.se = rms;
		with.df = fmin(df, t->df);
	}
	return with;
}

/* ---- how many ---- */

/* The first count of pairs that satisfies a condition that stays satisfied; 0 = none. */
struct wanted {
	double effect;
	const struct model_noise *noise;
	bool (*enough)(const struct wanted *w, size_t pairs);
};

static size_t first(const struct wanted *w)
{
	size_t lo = PAIRS_MIN, hi = MODEL_PAIRS_MAX;

	if (!(w->effect > 0) || !(w->noise->sd >= 0) || !w->enough(w, hi))
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (w->enough(w, mid))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool detects(const struct wanted *w, size_t pairs)
{
	return model_mde_pairs(pairs, w->noise) <= w->effect;
}

/* 80 % power of the two one-sided tests when there is no effect: both ends have half the rest. */
static bool equals(const struct wanted *w, size_t pairs)
{
	const struct model_noise *n = w->noise;
	struct model_t t = {.se = n->sd / sqrt((double)pairs), .df = (double)pairs - 1};

	t = model_with_floor(&t, n->floor, n->floor_n);
	double q = model_t_quantile(1 - n->alpha, t.df) + model_t_quantile((1 + POWER) / 2, t.df);
	return n->floor <= w->effect && q * t.se <= w->effect;
}

size_t model_pairs_to_detect(double effect, const struct model_noise *noise)
{
	return first(&(struct wanted){fabs(effect), noise, detects});
}

size_t model_pairs_to_equal(double limit, const struct model_noise *noise)
{
	return first(&(struct wanted){limit, noise, equals});
}
