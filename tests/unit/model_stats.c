/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics against figures known from tables. */
#include "model_full.h"

#include <math.h>

static void near_to(double got, double want, double err)
{
	if (!(fabs(got - want) <= err))
		fail_msg("%.12g is not %.12g", got, want);
}

static void test_stats(void **state)
{
	(void)state;
	const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct model_stats s = model_stats(x, 8);
	assert_int_equal(s.n, 8);
	near_to(s.mean, 5, 1e-12);
	near_to(s.stddev, sqrt(32.0 / 7), 1e-12);
	near_to(s.median, 4.5, 1e-12);
	near_to(s.min, 2, 0);
	near_to(s.max, 9, 0);
	s = model_stats(x, 1);
	near_to(s.stddev, 0, 0);
	near_to(s.median, 2, 0);
	s = model_stats(x, 0);
	assert_int_equal(s.n, 0);
	near_to(s.mean, 0, 0);
}

/* Large and close together: the naive sum of squares would lose it all. */
static void test_stable(void **state)
{
	(void)state;
	const double x[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
	near_to(model_stats(x, 4).stddev, sqrt(30), 1e-9);
}

static void test_t(void **state)
{
	(void)state;
	near_to(model_t_quantile(0.975, 1), tan(M_PI * 0.475), 1e-8);
	near_to(model_t_quantile(0.975, 2), 0.95 / sqrt(0.025 * 0.975 * 2), 1e-8);
	near_to(model_t_quantile(0.975, 9), 2.2621571628540993, 1e-8);
	near_to(model_t_quantile(0.95, 30), 1.6972608943617378, 1e-8);
	near_to(model_t_quantile(0.995, 4), 4.604094871415897, 1e-8);
	near_to(model_t_quantile(0.975, 1e6), 1.959966, 1e-5);
	near_to(model_t_quantile(0.5, 7), 0, 0);
	near_to(model_t_quantile(0.025, 9), -2.2621571628540993, 1e-8);
	assert_true(isnan(model_t_quantile(0, 5)));
	assert_true(isnan(model_t_quantile(1, 5)));
	assert_true(isnan(model_t_quantile(0.9, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_t),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
