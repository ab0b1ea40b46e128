/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A figure without its spread is an anecdote. Mean and deviation in one numerically stable
 * pass (Welford), and Student's t as the inverse of the incomplete beta function.
 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median_of(const double *x, size_t n)
{
	double *c = malloc(n * sizeof(*c));
	if (!c)
		return (double)NAN;
	memcpy(c, x, n * sizeof(*c));
	qsort(c, n, sizeof(*c), by_value);
	double m = n % 2 ? c[n / 2] : c[n / 2 - 1] + (c[n / 2] - c[n / 2 - 1]) / 2;
	free(c);
	return m;
}

struct model_stats model_stats(const double *x, size_t n)
{
	struct model_stats s = {.n = n};
	double m2 = 0;
	if (!n)
		return s;
	s.min = s.max = x[0];
	for (size_t i = 0; i < n; i++) {
		double d = x[i] - s.mean;
		s.mean += d / (double)(i + 1);
		m2 += d * (x[i] - s.mean);
		s.min = fmin(s.min, x[i]);
		s.max = fmax(s.max, x[i]);
	}
	s.stddev = n > 1 ? sqrt(m2 / (double)(n - 1)) : 0;
	s.median = median_of(x, n);
	return s;
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double f = d;
	for (int m = 1; m <= 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / (1 + even * d);
		c = 1 + even / c;
		f *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		f *= c * d;
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return f;
}

/* I_x(a, b), regularised. */
static double beta_inc(double x, double a, double b)
{
	int sign;
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	if (x > (a + 1) / (a + b + 2))
		return 1 - beta_inc(1 - x, b, a);
	double front = lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
		       a * log(x) + b * log1p(-x);
	return exp(front) * beta_fraction(x, a, b) / a;
}

/* P(T > t) for t >= 0. */
static double t_tail(double t, double df)
{
	return beta_inc(df / (df + t * t), df / 2, 0.5) / 2;
}

double model_t_quantile(double p, double df)
{
	double tail = p < 0.5 ? p : 1 - p;
	double lo = 0, hi = 1;
	if (!(tail > 0) || !(df >= 1))
		return (double)NAN;
	while (t_tail(hi, df) > tail && hi < 1e15)
		hi *= 2;
	for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
		double mid = lo + (hi - lo) / 2;
		if (t_tail(mid, df) > tail)
			lo = mid;
		else
			hi = mid;
	}
	double t = p == 0.5 ? 0 : lo + (hi - lo) / 2;
	return p < 0.5 ? -t : t;
}
