/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Golden values of the distributions and tests. Each comes from the command in its comment;
 * S is scipy.stats 1.10.1, np is numpy.
 */
#include "model_full.h"

#include <math.h>
#include <stdlib.h>

static void near_to(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("%.15g is not %.15g", got, want);
}

/* ---- distributions ---- */

static void test_normal(void **state)
{
	(void)state;
	near_to(model_norm_quantile(0.975), 1.959963984540054, 1e-12);  /* S.norm.ppf(.975) */
	near_to(model_norm_quantile(0.8), 0.8416212335729143, 1e-12);   /* S.norm.ppf(.8) */
	near_to(model_norm_quantile(1e-10), -6.361340902404056, 1e-12); /* S.norm.ppf(1e-10) */
	near_to(model_norm_cdf(-1.5), 0.06680720126885807, 1e-12);      /* S.norm.cdf(-1.5) */
	near_to(model_norm_cdf(3), 0.9986501019683699, 1e-12);          /* S.norm.cdf(3) */
	assert_true(fabs(model_norm_quantile(0.5)) < 1e-12);
	assert_true(isnan(model_norm_quantile(0)));
	assert_true(isnan(model_norm_quantile(1)));
}

static void test_t(void **state)
{
	(void)state;
	near_to(model_t_quantile(0.975, 1.5), 6.016663107990447, 1e-9);  /* S.t.ppf(.975, 1.5) */
	near_to(model_t_quantile(0.975, 11), 2.200985160082949, 1e-9);   /* S.t.ppf(.975, 11) */
	near_to(model_t_quantile(0.8, 11), 0.8755299780738797, 1e-9);    /* S.t.ppf(.8, 11) */
	near_to(model_t_quantile(0.9999, 3.7), 14.78039643360768, 1e-9); /* S.t.ppf(.9999, 3.7) */
	near_to(model_t_quantile(0.975, 1e6), 1.9599663568141066, 1e-9); /* S.t.ppf(.975, 1e6) */
	near_to(model_t_cdf(2, 5), 0.9490302605850709, 1e-12);           /* S.t.cdf(2, 5) */
	near_to(model_t_cdf(-2.5, 7.3), 0.019825117332800207, 1e-11);    /* S.t.cdf(-2.5, 7.3) */
	near_to(model_t_cdf(-40, 3), 1.719034039457927e-05, 1e-11);      /* S.t.cdf(-40, 3) */
}

/* The quantile is the inverse of the distribution, over many shapes. */
static void test_inverse(void **state)
{
	(void)state;
	for (double df = 1; df < 1e7; df *= 3.7) {
		for (double p = 1e-6; p < 0.999; p = p * 2.3 + 1e-4) {
			near_to(model_t_cdf(model_t_quantile(p, df), df), p, 1e-9);
			near_to(model_f_cdf(model_f_quantile(p, df, 7.5), df, 7.5), p, 1e-8);
		}
	}
}

static void test_f(void **state)
{
	(void)state;
	near_to(model_f_quantile(0.95, 3, 10), 3.7082648190468435, 1e-9); /* S.f.ppf(.95, 3, 10) */
	near_to(model_f_quantile(0.05, 11, 1e8), 0.4158920890545592,
		1e-7); /* S.f.ppf(.05, 11, 1e8) */
	near_to(model_f_quantile(0.95, 11, 1e8), 1.7886489659881564,
		1e-7); /* S.f.ppf(.95, 11, 1e8) */
	near_to(model_f_quantile(0.99, 1, 4.5), 18.257024875252963,
		1e-9);                                               /* S.f.ppf(.99, 1, 4.5) */
	near_to(model_f_cdf(2.5, 3, 10), 0.8809604373417219, 1e-11); /* S.f.cdf(2.5, 3, 10) */
	assert_true(model_f_cdf(0, 3, 3) == 0);
	assert_true(isnan(model_f_quantile(1, 3, 3)));
}

/* ---- two sides ---- */

static void logs(double *out, const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = log(x[i]);
}

/* a = np.log([726451,724090,733759,732577,725609]); b = np.log([748831,747406,753094,742979,744608])
 * S.ttest_ind(b, a, equal_var=False): statistic 7.183633949304591, pvalue 0.0001020994449876495 */
static void test_welch(void **state)
{
	(void)state;
	double a[5], b[5];
	logs(a, (const double[]){726451, 724090, 733759, 732577, 725609}, 5);
	logs(b, (const double[]){748831, 747406, 753094, 742979, 744608}, 5);
	struct model_t t = model_welch(a, 5, b, 5);
	near_to(t.d, 0.02559809732760243, 1e-10);
	near_to(t.d / t.se, 7.183633949304591, 1e-9);
	near_to(t.df, 7.8668654392168245, 1e-9);
	near_to(model_t_p(&t), 0.0001020994449876495, 1e-9);
}

static const double v4_off[] = {870601, 848829, 874254.5, 881892, 880010};
static const double v4_on[] = {882314, 882125, 870194.5, 870917, 862766};

/* D, se, df as Welch's, L = np.log(1.02):
 * max(1-S.t.cdf((D+L)/se, df), S.t.cdf((D-L)/se, df)) = 0.03894914381338154 */
static void test_tost(void **state)
{
	(void)state;
	double a[5], b[5];
	logs(a, v4_off, 5);
	logs(b, v4_on, 5);
	struct model_t t = model_welch(a, 5, b, 5);
	near_to(model_tost_p(&t, log(1.02)), 0.03894914381338154, 1e-9);
	struct model_t exact = {0, 0, 4};
	assert_true(model_tost_p(&exact, 0.01) == 0);
	assert_true(model_t_p(&exact) == 1);
	exact.d = 0.02;
	assert_true(model_tost_p(&exact, 0.01) == 1);
	assert_true(model_t_p(&exact) == 0);
}

static const double native[] = {21401.1338, 22135.0164, 21707.4017,
				21973.6805, 22483.9767, 22145.0598};
static const double container[] = {22608.563, 22381.159, 22559.3286, 22706.4008, 22895.9575};

/* S.permutation_test((b, a), lambda x, y: x.mean() - y.mean(), n_resamples=np.inf).pvalue of the
 * two above: 0.7380952380952381. Of native and container scipy doubles the smaller tail (4/462);
 * counted by size it is 3/462, as in R: coin::oneway_test(distribution = "exact"). */
static void test_permutation(void **state)
{
	(void)state;
	double a[6], b[5];
	struct model_rng rng;
	model_rng_seed(&rng, 1, 1);
	logs(a, v4_off, 5);
	logs(b, v4_on, 5);
	struct model_perm p = model_perm_two(a, 5, b, 5, &rng);
	near_to(p.p, 0.7380952380952381, 1e-12);
	near_to(p.least, 2.0 / 252, 1e-12);
	assert_true(p.exact);
	logs(a, native, 6);
	logs(b, container, 5);
	near_to(model_perm_two(a, 6, b, 5, &rng).p, 3.0 / 462, 1e-12);
	near_to(model_perm_two(b, 5, a, 6, &rng).p, 3.0 / 462, 1e-12);
}

/* S.permutation_test((d,), np.mean, permutation_type='samples', n_resamples=np.inf).pvalue =
 * 0.09375 */
static void test_signs(void **state)
{
	(void)state;
	const double d[] = {1.2, -.3, .8, 2.1, .05, 1.4}, same[] = {1, 1, 1, 1, 1, 1};
	struct model_rng rng;
	model_rng_seed(&rng, 1, 1);
	struct model_perm p = model_perm_signs(d, 6, &rng);
	near_to(p.p, 0.09375, 1e-12);
	near_to(p.least, 2.0 / 64, 1e-12);
	near_to(model_perm_signs(same, 6, &rng).p, 2.0 / 64, 1e-12);
	assert_true(isnan(model_perm_signs(d, 0, &rng).p));
}

/* Sampling agrees with counting, and with itself. */
static void test_sampled(void **state)
{
	(void)state;
	double d[18];
	struct model_rng rng, again;
	for (size_t i = 0; i < 17; i++)
		d[i] = sin((double)i) + 0.35;
	model_rng_seed(&rng, 1, 1);
	struct model_perm exact = model_perm_signs(d, 17, &rng);
	assert_true(exact.exact);
	d[17] = 0; /* a nought can be flipped either way: the same p, too many to count */
	again = rng;
	struct model_perm p = model_perm_signs(d, 18, &rng);
	assert_false(p.exact);
	assert_true(fabs(p.p - exact.p) < 4 * sqrt(exact.p * (1 - exact.p) / MODEL_PERM_SAMPLES));
	assert_true(p.p == model_perm_signs(d, 18, &again).p);
}

/* S.mannwhitneyu(container, native, method='exact'): U 29, p 0.008658008658008658.
 * S.mannwhitneyu([2,4,6,8,9,9,10], [1,2,2,3,5,7], method='asymptotic'): U 35, p 0.05214252978823391 */
static void test_mann_whitney(void **state)
{
	(void)state;
	struct model_rank r = model_mann_whitney(native, 6, container, 5);
	assert_true(r.exact && r.stat == 29);
	near_to(r.p, 0.008658008658008658, 1e-12);
	r = model_mann_whitney((const double[]){1, 2, 2, 3, 5, 7}, 6,
			       (const double[]){2, 4, 6, 8, 9, 9, 10}, 7);
	assert_true(!r.exact && r.stat == 35);
	near_to(r.p, 0.05214252978823391, 1e-9);
}

/* ---- order and series ---- */

/* S.kendalltau(range(5), [...], method='exact').pvalue = 0.016666666666666666
 * S.kendalltau(range(8), [3,1,4,8,5,9,2,6], method='exact'): 0.3571428571428571, 0.27509920634920637
 * with ties and continuity: 2*S.norm.cdf(-(49-1)/np.sqrt((14*13*33-36)/18)) */
static void test_kendall(void **state)
{
	(void)state;
	struct model_rank r =
		model_kendall((const double[]){965962, 961042, 951906, 948272, 946426.5}, 5);
	near_to(r.stat, -1, 1e-12);
	near_to(r.p, 1.0 / 60, 1e-12);
	r = model_kendall((const double[]){3, 1, 4, 8, 5, 9, 2, 6}, 8);
	near_to(r.stat, 0.3571428571428571, 1e-12);
	near_to(r.p, 0.27509920634920637, 1e-12);
	r = model_kendall((const double[]){5, 3, 5, 7, 1, 2, 8, 6, 9, 4, 7, 10, 12, 11}, 14);
	assert_false(r.exact);
	near_to(r.p, 0.008397241609921866, 1e-9);
}

/* U = [sum(np.sign(x[i]-x[j]) for i in range(t+1) for j in range(t+1, n)) for t in range(n-1)]
 * K = max(map(abs, U)) = 36 after 6; 2*np.exp(-6*K*K/(n**3+n*n)) = 0.03140780113025614 */
static void test_pettitt(void **state)
{
	(void)state;
	const double loss[] = {31, 32, 30, 31, 31, 12, 4.1, 3.7, 3.4, 3.1, 3.0, 2.9};
	struct model_change c = model_pettitt(loss, 12, 0.05);
	near_to(c.k, 36, 1e-12);
	near_to(c.p, 0.03140780113025614, 1e-12);
	assert_int_equal(c.at, 6);
	assert_false(model_pettitt(loss, 1, 0.05).found);
}

/* A step in noise is found; a sawtooth, whose neighbours hang together, is not. */
static void test_change_point(void **state)
{
	(void)state;
	double step[60], saw[60];
	struct model_rng rng;
	model_rng_seed(&rng, 5, 1);
	for (int i = 0; i < 60; i++) {
		step[i] = (i < 25 ? 940 : 610) + 10 * model_rng_normal(&rng);
		saw[i] = 600 + 15 * ((i + 10) % 20) + 3 * model_rng_normal(&rng);
	}
	struct model_change c = model_pettitt(step, 60, 0.05 / 24);
	assert_true(c.found);
	assert_int_equal(c.at, 25);
	assert_false(model_pettitt(saw, 60, 0.05 / 24).found);
}

/* d = x - x.mean(); (d[:-1]*d[1:]).sum()/(d*d).sum() */
static void test_autocorr(void **state)
{
	(void)state;
	const double x[] = {1, 2, 3, 2, 1, 2, 3, 4, 3, 2}, flat[] = {3, 3, 3};
	double rho = 0.3345679012345679;
	near_to(model_autocorr(x, 10), rho, 1e-9);
	near_to(model_n_effective(x, 10), 10 * (1 - rho) / (1 + rho), 1e-9);
	near_to(model_n_effective(flat, 3), 3, 1e-12);
}

/* ---- several, and odd ones ---- */

/* R: p.adjust(c(.01, .04, .03, .005, .5), "holm") = 0.04 0.09 0.09 0.025 0.5 */
static void test_holm(void **state)
{
	(void)state;
	double p[] = {.01, .04, .03, .005, .5}, one[] = {.0059, (double)NAN};
	const double want[] = {.04, .09, .09, .025, .5};
	model_holm(p, 5, 0);
	for (int i = 0; i < 5; i++)
		near_to(p[i], want[i], 1e-12);
	model_holm(one, 2, 39);
	near_to(one[0], .0059 * 40, 1e-12);
	assert_true(isnan(one[1]));
}

/* R: fisher.test(matrix(c(9, 3, 2, 10), 2))$p.value; by hand, with h = ka + kb and
 * c = lambda k: comb(na, k) * comb(nb, h - k):
 * sum(c(k) for k in range(max(0, h-nb), min(na, h)+1) if c(k) <= c(ka)) / comb(na+nb, h) */
static void test_fisher(void **state)
{
	(void)state;
	near_to(model_fisher(9, 12, 2, 12), 0.012278137799742322, 1e-11);
	near_to(model_fisher(3, 4, 1, 4), 0.4857142857142857, 1e-11);
	near_to(model_fisher(8, 10, 1, 6), 0.03496503496503497, 1e-11);
	near_to(model_fisher(0, 5, 5, 5), 0.007936507936507936, 1e-11);
	near_to(model_fisher(1, 24, 0, 24), 1, 1e-11);
	assert_true(isnan(model_fisher(2, 1, 0, 1)) && isnan(model_fisher(0, 0, 0, 1)));
}

/* np.median([y-x for x in a for y in b]) */
static void test_robust(void **state)
{
	(void)state;
	const double a[] = {1, 2.5, 4, 7}, b[] = {3, 3.5, 8};
	const double odd[] = {11947549, 11937143, 12401105, 11881892, 11960693};
	bool mark[5];
	near_to(model_hodges_lehmann(a, 4, b, 3), 1.0, 1e-12);
	assert_int_equal(model_outliers(odd, 5, mark), 1);
	assert_true(mark[2]);
	assert_int_equal(model_outliers(a, 4, NULL), 0);
}

static int up(const void *p, const void *q)
{
	double x = *(const double *)p, y = *(const double *)q;
	return (x > y) - (x < y);
}

/* The median of the differences is the one that listing them all gives, with ties and signs. */
static void test_hodges_lehmann(void **state)
{
	(void)state;
	double a[40], b[31], d[40 * 31];
	struct model_rng r;
	model_rng_seed(&r, 9, 1);
	for (int round = 0; round < 200; round++) {
		size_t na = 1 + model_rng_below(&r, 40), nb = 1 + model_rng_below(&r, 31), n = 0;
		uint32_t steps = round % 2 ? 5 : 1U << 30; /* with many ties, and with none */
		for (size_t i = 0; i < na; i++)
			a[i] = (double)model_rng_below(&r, steps) / 7 - 1;
		for (size_t i = 0; i < nb; i++)
			b[i] = (double)model_rng_below(&r, steps) / 7 - 1;
		for (size_t i = 0; i < na * nb; i++)
			d[n++] = b[i % nb] - a[i / nb];
		qsort(d, n, sizeof(*d), up);
		double want = n % 2 ? d[n / 2] : d[n / 2 - 1] + (d[n / 2] - d[n / 2 - 1]) / 2;
		assert_true(model_hodges_lehmann(a, na, b, nb) == want);
	}
}

/* The first numbers of pcg32-demo.c (seed 42, stream 54), as published with the generator. */
static void test_rng(void **state)
{
	(void)state;
	const uint32_t want[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b};
	struct model_rng r;
	double sum = 0, squares = 0;
	model_rng_seed(&r, 42, 54);
	for (int i = 0; i < 5; i++)
		assert_int_equal(model_rng_u32(&r), want[i]);
	for (int i = 0; i < 20000; i++) {
		double z = model_rng_normal(&r);
		assert_true(model_rng_below(&r, 7) < 7);
		sum += z;
		squares += z * z;
	}
	assert_true(fabs(sum / 20000) < 4 / sqrt(20000));
	assert_true(fabs(squares / 20000 - 1) < 4 * sqrt(2.0 / 20000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_normal),
		cmocka_unit_test(test_t),
		cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_f),
		cmocka_unit_test(test_welch),
		cmocka_unit_test(test_tost),
		cmocka_unit_test(test_permutation),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_mann_whitney),
		cmocka_unit_test(test_kendall),
		cmocka_unit_test(test_pettitt),
		cmocka_unit_test(test_change_point),
		cmocka_unit_test(test_autocorr),
		cmocka_unit_test(test_holm),
		cmocka_unit_test(test_robust),
		cmocka_unit_test(test_rng),
		cmocka_unit_test(test_fisher),
		cmocka_unit_test(test_hodges_lehmann),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
