/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is robust against a single odd run: ranks (Mann and Whitney 1947, Kendall 1938), the
 * median of all pairs (Hodges and Lehmann 1963), the flag for outliers (Iglewicz and Hoaglin
 * 1993), the table of two counts (Fisher 1922); and Holm's correction (1979), which works on the
 * ranks of p-values. Shown beside a verdict; none of it remakes one.
 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double clamp_p(double p)
{
	return p > 1 ? 1 : p;
}

/* ---- Mann-Whitney ---- */

#define MW_EXACT 20 /* a side */

/* P(U <= u) for sides of m and n without ties: the recursion over which side holds the largest. */
static double mw_below(size_t m, size_t n, size_t u)
{
	double ways[MW_EXACT * MW_EXACT + 1] = {1}, total = 0, below = 0;

	/* The generating function: the Gaussian binomial, a factor (1-q^(n+i))/(1-q^i) a time. */
	for (size_t i = 1; i <= m; i++) {
		for (size_t k = m * n; k >= n + i; k--)
			ways[k] -= ways[k - n - i];
		for (size_t k = i; k <= m * n; k++)
			ways[k] += ways[k - i];
	}
	for (size_t k = 0; k <= m * n; k++) {
		total += ways[k];
		below += k <= u ? ways[k] : 0;
	}
	return below / total;
}

struct ranked {
	double x;
	bool b;
};

static int by_x(const void *p, const void *q)
{
	double x = ((const struct ranked *)p)->x, y = ((const struct ranked *)q)->x;

	return (x > y) - (x < y);
}

/* U over the sorted values, a group of equal ones at a time; *ties: the sum of t^3 - t. */
static double mw_stat(const struct ranked *v, size_t n, double *ties)
{
	double below = 0, u = 0;

	*ties = 0;
	for (size_t i = 0, k; i < n; i = k) {
		double of[2] = {0};
		for (k = i; k < n && v[k].x == v[i].x; k++)
			of[v[k].b]++;
		double t = of[0] + of[1];
		u += of[1] * (below + of[0] / 2);
		below += of[0];
		*ties += t * t * t - t;
	}
	return u;
}

struct model_rank model_mann_whitney(const double *a, size_t na, const double *b, size_t nb)
{
	struct model_rank r = {.p = (double)NAN};
	struct ranked *v = na && nb ? calloc(na + nb, sizeof(*v)) : NULL;
	double m = (double)na, n = (double)nb, ties;

	if (!v)
		return r;
	for (size_t i = 0; i < na + nb; i++)
		v[i] = (struct ranked){i < na ? a[i] : b[i - na], i >= na};
	qsort(v, na + nb, sizeof(*v), by_x);
	r.stat = mw_stat(v, na + nb, &ties);
	free(v);
	double far = fmin(r.stat, m * n - r.stat);
	r.exact = ties == 0 && na <= MW_EXACT && nb <= MW_EXACT;
	if (r.exact) {
		r.p = clamp_p(2 * mw_below(na, nb, (size_t)far));
		return r;
	}
	double var = m * n / 12 * (m + n + 1 - ties / ((m + n) * (m + n - 1)));
	double z = var > 0 ? (m * n / 2 - far - 0.5) / sqrt(var) : 0;
	r.p = clamp_p(2 * model_norm_cdf(-fmax(z, 0)));
	return r;
}

/* ---- Kendall ---- */

#define KENDALL_EXACT 10

/* P(S >= s) of n values in random order: by the number of inversions. */
static double kendall_above(size_t n, int s)
{
	double ways[KENDALL_EXACT * (KENDALL_EXACT - 1) / 2 + 1] = {1}, total = 0, above = 0;
	size_t pairs = n * (n - 1) / 2;

	for (size_t i = 2; i <= n; i++) { /* times (1 - q^i) / (1 - q) */
		for (size_t k = pairs; k >= i; k--)
			ways[k] -= ways[k - i];
		for (size_t k = 1; k <= pairs; k++)
			ways[k] += ways[k - 1];
	}
	for (size_t k = 0; k <= pairs; k++) {
		total += ways[k];
		above += (int)pairs - 2 * (int)k >= s ? ways[k] : 0;
	}
	return above / total;
}

/* Sum of t^3 - t over groups of equal values. */
static double tie_term(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double same = 0;
		for (size_t j = 0; j < n; j++)
			same += x[j] == x[i];
		sum += same * same - 1; /* each of the group's t members adds t^2 - 1 */
	}
	return sum;
}

struct model_rank model_kendall(const double *x, size_t n)
{
	struct model_rank r = {.p = (double)NAN};
	double s = 0, m = (double)n;

	if (n < 2)
		return r;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++)
			s += (x[j] > x[i]) - (x[j] < x[i]);
	}
	double ties = tie_term(x, n), five = 0;
	r.stat = s / (m * (m - 1) / 2);
	r.exact = ties == 0 && n <= KENDALL_EXACT;
	if (r.exact) {
		r.p = clamp_p(2 * kendall_above(n, (int)fabs(s)));
		return r;
	}
	for (size_t i = 0; i < n && ties > 0; i++) { /* sum of t (t-1) (2t+5), over members */
		double t = 0;
		for (size_t j = 0; j < n; j++)
			t += x[j] == x[i];
		five += (t - 1) * (2 * t + 5);
	}
	double var = (m * (m - 1) * (2 * m + 5) - five) / 18;
	double z = var > 0 ? (fabs(s) - 1) / sqrt(var) : 0;
	r.p = clamp_p(2 * model_norm_cdf(-fmax(z, 0)));
	return r;
}

/* ---- medians ---- */

static int ascending(const void *p, const void *q)
{
	double x = *(const double *)p, y = *(const double *)q;

	return (x > y) - (x < y);
}

/* Doubles as integers of the same order, and back. */
static uint64_t key_of(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof(u));
	return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static double of_key(uint64_t u)
{
	double x;

	u = u >> 63 ? u & ~(UINT64_C(1) << 63) : ~u;
	memcpy(&x, &u, sizeof(x));
	return x;
}

/* How many of all b_j - a_i are at most v. Both are sorted: one walk. */
static uint64_t at_most(const double *a, size_t na, const double *b, size_t nb, double v)
{
	uint64_t n = 0;
	size_t j = 0;

	for (size_t i = 0; i < na; i++) {
		while (j < nb && b[j] - a[i] <= v)
			j++;
		n += j;
	}
	return n;
}

/* The k-th (0…) of all differences: which double is the first with more than k at most itself? */
static double difference_at(const double *a, size_t na, const double *b, size_t nb, uint64_t k)
{
	uint64_t lo = key_of(b[0] - a[na - 1]), hi = key_of(b[nb - 1] - a[0]);

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (at_most(a, na, b, nb, of_key(mid)) > k)
			hi = mid;
		else
			lo = mid + 1;
	}
	return of_key(lo);
}

/* Of all na * nb differences none is kept: sixty-four walks find the one in the middle. */
double model_hodges_lehmann(const double *a, size_t na, const double *b, size_t nb)
{
	double *v = na && nb ? calloc(na + nb, sizeof(*v)) : NULL, lower, upper;
	uint64_t n = (uint64_t)na * nb;

	if (!v)
		return (double)NAN;
	memcpy(v, a, na * sizeof(*v));
	memcpy(v + na, b, nb * sizeof(*v));
	qsort(v, na, sizeof(*v), ascending);
	qsort(v + na, nb, sizeof(*v), ascending);
	upper = difference_at(v, na, v + na, nb, n / 2);
	lower = n % 2 ? upper : difference_at(v, na, v + na, nb, n / 2 - 1);
	free(v);
	return lower + (upper - lower) / 2;
}

size_t model_outliers(const double *x, size_t n, bool *mark)
{
	double *dev = n ? malloc(n * sizeof(*dev)) : NULL;
	size_t found = 0;

	if (!dev)
		return 0;
	double median = model_stats(x, n).median;
	for (size_t i = 0; i < n; i++)
		dev[i] = fabs(x[i] - median);
	double mad = model_stats(dev, n).median;
	for (size_t i = 0; i < n; i++) {
		bool odd = mad > 0 && 0.6745 * dev[i] > 3.5 * mad;
		found += odd;
		if (mark)
			mark[i] = odd;
	}
	free(dev);
	return found;
}

/* ---- counts ---- */

/* ln of the chance of k in na where hits of na + nb are given. */
static double log_table(double k, double na, double nb, double hits)
{
	double miss = na + nb - hits;

	return lgamma(na + 1) + lgamma(nb + 1) + lgamma(hits + 1) + lgamma(miss + 1) -
	       lgamma(na + nb + 1) - lgamma(k + 1) - lgamma(na - k + 1) - lgamma(hits - k + 1) -
	       lgamma(miss - na + k + 1);
}

double model_fisher(size_t ka, size_t na, size_t kb, size_t nb)
{
	const double slack = 1e-7; /* tables that differ by rounding alone are as likely */
	size_t hits = ka + kb, least = hits > nb ? hits - nb : 0, most = hits < na ? hits : na;
	double p = 0;

	if (ka > na || kb > nb || !na || !nb)
		return (double)NAN;
	double seen = log_table((double)ka, (double)na, (double)nb, (double)hits);
	for (size_t k = least; k <= most; k++) {
		double one = log_table((double)k, (double)na, (double)nb, (double)hits);
		p += one <= seen + slack ? exp(one) : 0;
	}
	return clamp_p(p);
}

/* ---- several tests ---- */

/* Each in turn: the largest over those at most as large of p_(i) * (tests left). Quadratic, for
 * a few dozen metrics. */
static double holm_of(const double *p, size_t n, size_t more, double mine)
{
	size_t tests = more;
	double worst = 0;

	for (size_t i = 0; i < n; i++)
		tests += !isnan(p[i]);
	for (size_t i = 0; i < n; i++) {
		size_t smaller = 0;
		if (isnan(p[i]) || p[i] > mine)
			continue;
		for (size_t k = 0; k < n; k++)
			smaller += p[k] < p[i] || (k < i && p[k] == p[i]);
		worst = fmax(worst, p[i] * (double)(tests - smaller));
	}
	return clamp_p(worst);
}

void model_holm(double *p, size_t n, size_t more)
{
	double *out = n ? malloc(n * sizeof(*out)) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (out)
			out[i] = isnan(p[i]) ? p[i] : holm_of(p, n, more, p[i]);
		else /* Bonferroni needs no memory and is never less strict */
			p[i] = clamp_p(p[i] * (double)(n + more));
	}
	for (size_t i = 0; i < n && out; i++)
		p[i] = out[i];
	free(out);
}
