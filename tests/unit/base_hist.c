/* SPDX-License-Identifier: BSD-2-Clause */
/* The histogram's promise: exact below 256, 0.39 % above, exact sum, merge by addition. */
#include "base/base.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* xorshift: the same values in each run */
static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void empty(void **state)
{
	(void)state;
	struct hist *h = hist_new();
	uint32_t it = 0;
	uint64_t lo, n;
	assert_int_equal(hist_count(h), 0);
	assert_int_equal(hist_min(h), 0);
	assert_int_equal(hist_max(h), 0);
	assert_int_equal(hist_quantile(h, 0.5), 0);
	assert_true(hist_mean(h) == 0);
	assert_false(hist_next(h, &it, &lo, &n));
	hist_free(h);
	hist_free(NULL);
}

static void exact_below_256(void **state)
{
	(void)state;
	struct hist *h = hist_new();
	uint32_t it = 0;
	uint64_t lo, n;
	for (uint64_t v = 0; v < 256; v++)
		hist_record_n(h, v, v + 1);
	for (uint64_t v = 0; v < 256; v++) {
		assert_true(hist_next(h, &it, &lo, &n));
		assert_int_equal(lo, v);
		assert_int_equal(n, v + 1);
	}
	assert_false(hist_next(h, &it, &lo, &n));
	hist_free(h);
}

/* One value alone is clamped to itself; a pair around it shows the bucket's own error. */
static void error_is_bounded(void **state)
{
	(void)state;
	uint64_t x = 88172645463325252ULL;
	for (int i = 0; i < 2000; i++) {
		struct hist *h = hist_new();
		uint64_t v = next(&x) >> (1 + next(&x) % 62);
		hist_record(h, 0);
		hist_record(h, v);
		hist_record(h, INT64_MAX);
		double got = (double)hist_quantile(h, 0.5);
		assert_true(got >= (double)v * (1 - 0.0040) && got <= (double)v * 1.0040);
		hist_free(h);
	}
}

static void buckets_tile_the_range(void **state)
{
	(void)state;
	struct hist *h = hist_new();
	for (int bit = 0; bit < 63; bit++)
		for (int64_t d = -1; d <= 1; d++) {
			int64_t v = (int64_t)(1ULL << bit) + d;
			if (v >= 0)
				hist_record(h, (uint64_t)v);
		}
	uint32_t it = 0;
	uint64_t lo, n, last = 0, total = 0;
	while (hist_next(h, &it, &lo, &n)) {
		assert_true(total == 0 || lo > last);
		struct hist *one = hist_new();
		uint32_t jt = 0;
		uint64_t same, count;
		hist_record(one, lo); /* the lowest value falls into the same bucket */
		assert_true(hist_next(one, &jt, &same, &count));
		assert_int_equal(same, lo);
		assert_int_equal(jt, it);
		hist_free(one);
		last = lo;
		total += n;
	}
	assert_int_equal(total, hist_count(h));
	hist_free(h);
}

static void extremes(void **state)
{
	(void)state;
	struct hist *h = hist_new();
	uint64_t hi, lo;
	hist_record(h, UINT64_MAX); /* counts as the largest value */
	hist_record_n(h, INT64_MAX, 3);
	hist_record_n(h, 5, 0);
	assert_int_equal(hist_count(h), 4);
	assert_true(hist_max(h) == INT64_MAX && hist_min(h) == INT64_MAX);
	assert_true(hist_quantile(h, 0.5) == INT64_MAX);
	hist_sum(h, &hi, &lo);
	assert_true(hi == 1 && lo == UINT64_MAX - 3); /* 4 * (2^63 - 1) */
	hist_free(h);
}

static void quantiles(void **state)
{
	(void)state;
	struct hist *h = hist_new();
	for (uint64_t v = 1; v <= 100; v++)
		hist_record(h, v);
	assert_int_equal(hist_quantile(h, 0), 1);
	assert_int_equal(hist_quantile(h, 0.01), 1);
	assert_int_equal(hist_quantile(h, 0.5), 50);
	assert_int_equal(hist_quantile(h, 0.99), 99);
	assert_int_equal(hist_quantile(h, 1), 100);
	assert_int_equal(hist_quantile(h, -3), 1);
	assert_int_equal(hist_quantile(h, 7), 100);
	assert_true(hist_mean(h) == 50.5);
	hist_free(h);
}

static void merge_is_addition(void **state)
{
	(void)state;
	struct hist *a = hist_new(), *b = hist_new(), *both = hist_new();
	uint64_t x = 42;
	for (int i = 0; i < 5000; i++) {
		uint64_t v = next(&x) >> (next(&x) % 60 + 2);
		hist_record(i % 3 ? a : b, v);
		hist_record(both, v);
	}
	hist_merge(a, b);
	struct hist *none = hist_new();
	hist_merge(a, none);
	hist_free(none);
	uint32_t i = 0, j = 0;
	uint64_t lo, n, lo2, n2, hi, low, hi2, low2;
	while (hist_next(both, &i, &lo, &n)) {
		assert_true(hist_next(a, &j, &lo2, &n2));
		assert_true(lo == lo2 && n == n2);
	}
	assert_false(hist_next(a, &j, &lo2, &n2));
	hist_sum(a, &hi, &low);
	hist_sum(both, &hi2, &low2);
	assert_true(hi == hi2 && low == low2);
	assert_true(hist_min(a) == hist_min(both) && hist_max(a) == hist_max(both));
	hist_free(a);
	hist_free(b);
	hist_free(both);
}

/* What a file says about a histogram may sharpen it within its buckets, not contradict them. */
static void exact_values_are_restored(void **state)
{
	(void)state;
	struct hist *h = hist_new();
	hist_record(h, 1000);
	hist_record(h, 100000);
	hist_set_exact(h, 0, 101007, 1003, 100001);
	assert_int_equal(hist_min(h), 1003);
	assert_int_equal(hist_max(h), 100001);
	assert_true(hist_mean(h) == 50503.5);
	hist_set_exact(h, 0, 101007, 3, UINT64_MAX);
	assert_int_equal(hist_min(h), 1003);
	assert_int_equal(hist_max(h), 100001);
	hist_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(exact_below_256),
		cmocka_unit_test(error_is_bounded),
		cmocka_unit_test(buckets_tile_the_range),
		cmocka_unit_test(extremes),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(merge_is_addition),
		cmocka_unit_test(exact_values_are_restored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
