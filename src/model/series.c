/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside one run the intervals lean on each other, and a run may change its state half-way. How
 * many independent intervals there really are, and whether the run is two runs: a change point
 * counts only against the autocorrelation within its own segments, because a step makes the
 * whole series look correlated and a sawtooth makes every split look like a step.
 */
#include "model/model.h"

#include <math.h>

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

struct model_change model_pettitt(const double *x, size_t n, double alpha)
{
	struct model_change c = {.p = 1};
	double u = 0, m = (double)n;

	for (size_t t = 0; t + 1 < n; t++) {
		for (size_t j = 0; j < n; j++)
			u += (x[t] > x[j]) - (x[t] < x[j]);
		if (fabs(u) > c.k) {
			c.k = fabs(u);
			c.at = t + 1;
		}
	}
	if (!c.at)
		return c;
	c.p = pettitt_p(c.k, m);
	/* With correlated values K grows by the root of n / n_eff against independent ones. */
	double share = effective(m, autocorr_within(x, c.at, n)) / m;
	c.found = pettitt_p(c.k * sqrt(share), m) < alpha;
	return c;
}
