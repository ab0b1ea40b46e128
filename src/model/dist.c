/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A verdict needs the tails of three distributions. Student's t and F are the regularised
 * incomplete beta function in other clothes; quantiles are found by safeguarded Newton steps on
 * the distribution function itself, so that the two can never disagree.
 */
#include "model/model.h"

#include <math.h>

/* ---- incomplete beta ---- */

/* The continued fraction (DLMF 8.17.22), by Lentz's method. */
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

/* log B(a, b), without the cancellation of three large lgamma values (DLMF 5.11.1: the
 * corrections of Stirling's series suffice from 15 on). */
static double log_beta(double a, double b)
{
	int sign;
	double big = fmax(a, b), small = fmin(a, b);

	if (big < 1000)
		return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
	double ratio = small / big, sum = big + small;
	double step = -(big - 0.5) * log1p(ratio) - small * log(sum) + small;
	double fix = 1 / (12 * big) - 1 / (12 * sum) - 1 / (360 * big * big * big) +
		     1 / (360 * sum * sum * sum);
	return lgamma_r(small, &sign) + step + fix;
}

/* I_x(a, b), regularised; y = 1 - x is given too, for x near 1. */
static double beta_inc(double x, double y, double a, double b)
{
	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	if (x > (a + 1) / (a + b + 2))
		return 1 - beta_inc(y, x, b, a);
	double front = a * log(x) + b * log(y) - log_beta(a, b);
	return exp(front) * beta_fraction(x, a, b) / a;
}

/* ---- normal ---- */

double model_norm_cdf(double z)
{
	return erfc(-z * M_SQRT1_2) / 2;
}

static double norm_pdf(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* Newton on the smaller tail, from its asymptote; a tail is convex, so it never overshoots far. */
double model_norm_quantile(double p)
{
	double tail = p < 0.5 ? p : 1 - p;

	if (!(tail > 0))
		return (double)NAN;
	double z = sqrt(-2 * log(2 * tail));
	for (int i = 0; i < 50; i++) {
		double step = (model_norm_cdf(-z) - tail) / norm_pdf(z);
		z += step;
		if (fabs(step) < 1e-15 * (1 + fabs(z)))
			break;
	}
	return p < 0.5 ? -z : z;
}

/* ---- Student's t ---- */

/* P(T > t) for t >= 0. */
static double t_tail(double t, double df)
{
	double sum = df + t * t;

	return beta_inc(df / sum, t * t / sum, df / 2, 0.5) / 2;
}

double model_t_cdf(double t, double df)
{
	if (!(df > 0) || isnan(t))
		return (double)NAN;
	if (isinf(t))
		return t > 0 ? 1 : 0;
	return t < 0 ? t_tail(-t, df) : 1 - t_tail(t, df);
}

static double t_pdf(double t, double df)
{
	return exp(-(df + 1) / 2 * log1p(t * t / df) - log_beta(df / 2, 0.5)) / sqrt(df);
}

double model_t_quantile(double p, double df)
{
	double tail = p < 0.5 ? p : 1 - p, lo = 0, hi = 1;

	if (!(tail > 0) || !(df >= 1))
		return (double)NAN;
	if (p == 0.5)
		return 0;
	while (t_tail(hi, df) > tail && hi < 1e15)
		hi *= 2;
	double t = hi / 2;
	for (int i = 0; i < 200 && hi - lo > 1e-14 * hi; i++) {
		double over = t_tail(t, df) - tail;
		*(over > 0 ? &lo : &hi) = t;
		double next = t + over / t_pdf(t, df);
		if (!(next > lo && next < hi))
			next = lo + (hi - lo) / 2;
		if (fabs(next - t) < 1e-14 * t)
			break;
		t = next;
	}
	return p < 0.5 ? -t : t;
}

/* ---- F ---- */

double model_f_cdf(double f, double df1, double df2)
{
	if (!(df1 > 0) || !(df2 > 0) || isnan(f))
		return (double)NAN;
	if (f <= 0 || isinf(f))
		return f <= 0 ? 0 : 1;
	double sum = df1 * f + df2;
	return beta_inc(df1 * f / sum, df2 / sum, df1 / 2, df2 / 2);
}

/* Bisection on a logarithmic scale: F spans many decades with few degrees of freedom. */
double model_f_quantile(double p, double df1, double df2)
{
	double lo = -100, hi = 100;

	if (!(p > 0 && p < 1) || !(df1 > 0) || !(df2 > 0))
		return (double)NAN;
	while (hi - lo > 1e-13) {
		double mid = lo + (hi - lo) / 2;
		if (mid == lo || mid == hi)
			break;
		*(model_f_cdf(exp(mid), df1, df2) < p ? &lo : &hi) = mid;
	}
	return exp(lo + (hi - lo) / 2);
}
