/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A figure without its spread is an anecdote. Mean and deviation in one numerically stable
 * pass (Welford), and on top of them the estimates that verdicts rest on: a difference with its
 * standard error and degrees of freedom (Welch 1947), its p-value, its interval and the two
 * one-sided tests of equivalence (Schuirmann 1987).
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

/* ---- an estimate with its error ---- */

struct model_t model_one_sample(const double *d, size_t n)
{
	struct model_stats s = model_stats(d, n);

	if (n < 2)
		return (struct model_t){.d = s.mean, .se = (double)NAN};
	return (struct model_t){s.mean, s.stddev / sqrt((double)n), (double)(n - 1)};
}

struct model_t model_welch(const double *a, size_t na, const double *b, size_t nb)
{
	struct model_stats sa = model_stats(a, na), sb = model_stats(b, nb);
	struct model_t t = {.d = sb.mean - sa.mean, .se = (double)NAN};

	if (na < 2 || nb < 2)
		return t;
	double va = sa.stddev * sa.stddev / (double)na, vb = sb.stddev * sb.stddev / (double)nb;
	t.se = sqrt(va + vb);
	t.df = t.se > 0 ? (va + vb) * (va + vb) /
				  (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1))
			: (double)(na + nb - 2);
	return t;
}

double model_t_p(const struct model_t *t)
{
	if (!(t->df > 0))
		return (double)NAN;
	if (t->se == 0)
		return t->d == 0 ? 1 : 0;
	return 2 * model_t_cdf(-fabs(t->d) / t->se, t->df);
}

double model_tost_p(const struct model_t *t, double limit)
{
	if (!(t->df > 0))
		return (double)NAN;
	if (t->se == 0)
		return fabs(t->d) < limit ? 0 : 1;
	/* The side that is nearer to its limit has the larger p. */
	return model_t_cdf((fabs(t->d) - limit) / t->se, t->df);
}

double model_t_half(const struct model_t *t, double conf)
{
	if (!(t->df > 0))
		return (double)NAN;
	return model_t_quantile((1 + conf) / 2, t->df) * t->se;
}
