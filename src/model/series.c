/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside one run the intervals lean on each other, and a run may change its state half-way. How
 * many independent intervals there really are, and whether the run is two runs: a change point
 * counts only against the autocorrelation within its own segments, because a step makes the
 * whole series look correlated and a sawtooth makes every split look like a step.
 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double model_autocorr(const double *x, size_t n)
{
	double mean = model_stats(x, n).mean, num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		double d = x[i] - mean;
		den += d * d;
		num += i + 1 < n ? d * (x[i + 1] - mean) : 0;
	}
	return den > 0 ? num / den : 0;
}

static double effective(double n, double rho)
{
	return rho > 0 ? fmax(1, n * (1 - rho) / (1 + rho)) : n;
}

double model_n_effective(const double *x, size_t n)
{
	return effective((double)n, model_autocorr(x, n));
}

/* Pooled over the two segments, each around its own mean; with the bias of short series taken
 * out (about -(1 + 4 rho) / n, Kendall 1954). */
static double autocorr_within(const double *x, size_t at, size_t n)
{
	double rho = ((double)at * model_autocorr(x, at) +
		      (double)(n - at) * model_autocorr(x + at, n - at)) /
		     (double)n;

	return fmin(0.99, (rho * (double)n + 2) / ((double)n - 8 > 1 ? (double)n - 8 : 1));
}

static double pettitt_p(double k, double n)
{
	return fmin(1, 2 * exp(-6 * k * k / (n * n * n + n * n)));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How many of n ascending values are below v, or not above it. */
static size_t below(const double *asc, size_t n, double v, bool with)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (asc[mid] < v || (with && asc[mid] <= v))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* How many values v is over, less those it is under. asc: the same sorted, or NULL. */
static double standing(const double *x, const double *asc, size_t n, double v)
{
	double u = 0;

	if (asc)
		return (double)below(asc, n, v, false) - (double)(n - below(asc, n, v, true));
	for (size_t j = 0; j < n; j++)
		u += (v > x[j]) - (v < x[j]);
	return u;
}

struct model_change model_pettitt(const double *x, size_t n, double alpha)
{
	struct model_change c = {.p = 1};
	double u = 0, m = (double)n, *asc = n > 64 ? malloc(n * sizeof(*asc)) : NULL;

	if (asc) {
		memcpy(asc, x, n * sizeof(*asc));
		qsort(asc, n, sizeof(*asc), by_value);
	}
	for (size_t t = 0; t + 1 < n; t++) {
		u += standing(x, asc, n, x[t]);
		if (fabs(u) > c.k) {
			c.k = fabs(u);
			c.at = t + 1;
		}
	}
	free(asc);
	if (!c.at)
		return c;
	c.p = pettitt_p(c.k, m);
	/* With correlated values K grows by the root of n / n_eff against independent ones. */
	double share = effective(m, autocorr_within(x, c.at, n)) / m;
	c.found = pettitt_p(c.k * sqrt(share), m) < alpha;
	return c;
}
