/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What these runs could have seen, and how many it takes to see more. "Not significant" means
 * nothing without it. The textbook sum of two quantiles is the power of the t-test alone; the
 * rule that is applied also asks the permutation test, which with few blocks is much stricter,
 * and the noise floor. So the sum is stretched by what simulation of the whole rule gave.
 */
#include "model/priv.h"

#include <math.h>

#define POWER     0.8
#define PAIRS_MIN 6 /* 2/2^5 is over 5 % */
#define SIDE_MIN  4

/*
 * By number of pairs from PAIRS_MIN on, and by runs a side from SIDE_MIN on; 1 beyond. Simulated:
 * 75 % power at the effect, 98 % at twice it, also where the s.d. is an estimate from as many runs
 * (tests/unit/model_errs.c checks it).
 */
static const double stretch_pairs[] = {1.51, 1.20, 1.13, 1.09, 1.07, 1.06, 1.04, 1.02, 1.01};
static const double stretch_two[] = {1.39, 1.14, 1.09, 1.04, 1.03};

static double stretch(size_t pairs, size_t least_side)
{
	size_t i = pairs ? pairs - PAIRS_MIN : least_side - SIDE_MIN;

	if (pairs)
		return i < ARRAY_LEN(stretch_pairs) ? stretch_pairs[i] : 1;
	return i < ARRAY_LEN(stretch_two) ? stretch_two[i] : 1;
}

double model_mde(double se, double df, size_t pairs, size_t least_side, double floor, double alpha)
{
	if (!(df > 0) || !(se >= 0))
		return (double)NAN;
	if (pairs ? pairs < PAIRS_MIN : least_side < SIDE_MIN)
		return (double)INFINITY;
	if (!(df >= 1))
		df = 1;
	double t = model_t_quantile(1 - alpha / 2, df) + model_t_quantile(POWER, df);
	double seen = t * se * stretch(pairs, least_side);
	return floor > 0 ? fmax(seen, floor + model_norm_quantile(POWER) * se) : seen;
}

double model_mde_pairs(size_t pairs, double sd, double floor, double alpha)
{
	return pairs < 2 ? (double)INFINITY
			 : model_mde(sd / sqrt((double)pairs), (double)pairs - 1, pairs, 0, floor,
				     alpha);
}

double model_mde_two(size_t na, size_t nb, double sd, double floor, double alpha)
{
	if (na < 2 || nb < 2)
		return (double)INFINITY;
	double se = sd * sqrt(1 / (double)na + 1 / (double)nb);
	return model_mde(se, (double)(na + nb - 2), 0, na < nb ? na : nb, floor, alpha);
}

double model_noise_floor(const double *aa, size_t n)
{
	double sum = 0;

	if (!n)
		return (double)NAN;
	for (size_t i = 0; i < n; i++)
		sum += aa[i] * aa[i];
	return model_t_quantile(0.975, (double)n) * sqrt(sum / (double)n);
}

/* ---- how many ---- */

/* The first count of pairs that satisfies a condition that stays satisfied; 0 = none. */
struct wanted {
	double effect, sd, floor, alpha;
	bool (*enough)(const struct wanted *w, size_t pairs);
};

static size_t first(const struct wanted *w)
{
	size_t lo = PAIRS_MIN, hi = MODEL_PAIRS_MAX;

	if (!(w->effect > 0) || !(w->sd >= 0) || !w->enough(w, hi))
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
	return model_mde_pairs(pairs, w->sd, w->floor, w->alpha) <= w->effect;
}

/* 80 % power of the two one-sided tests when there is no effect: both ends have half the rest. */
static bool equals(const struct wanted *w, size_t pairs)
{
	double df = (double)pairs - 1;
	double t = model_t_quantile(0.95, df) + model_t_quantile((1 + POWER) / 2, df);

	return t * w->sd / sqrt((double)pairs) <= w->effect;
}

size_t model_pairs_to_detect(double effect, double sd, double floor, double alpha)
{
	return first(&(struct wanted){fabs(effect), sd, floor, alpha, detects});
}

size_t model_pairs_to_equal(double limit, double sd)
{
	return first(&(struct wanted){limit, sd, 0, 0.05, equals});
}
