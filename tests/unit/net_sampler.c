/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampler: intervals without gaps, cuts, a reader that is late; and paced flows by it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "net_pair.h"

static const struct flow_spec plain = {.transport = NET_TCP};

static struct net_tick *await_tick(struct net_sampler *s)
{
	struct net_tick *t = net_sampler_next(s);

	while (!t) {
		assert_int_equal(net_wait_readable(net_sampler_fd(s), later(), -1), 0);
		t = net_sampler_next(s);
	}
	return t;
}

static void makes_intervals_without_gaps(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2};
	const int64_t interval = 20 * NSEC_PER_MSEC;
	uint64_t bytes = 0;
	struct net_sampler *s;
	int64_t start, last = 0;
	struct pair p;

	(void)state;
	pair_open(&p, &cfg, &plain, 1, 3);
	pair_go(&p);
	assert_int_equal(net_sampler_new(p.tx, interval, &s, NULL), 0);
	start = clk_mono_ns();
	assert_int_equal(net_sampler_start(s, start, NULL), 0);
	for (int k = 1; k <= 10; k++) {
		struct net_tick *t = await_tick(s);
		uint64_t sum = 0;

		assert_int_equal(t->n, 3);
		assert_true(k == 1 ? t->t0 <= start : t->t0 == last);
		assert_true(t->t1 >= start + k * interval); /* never before the deadline */
		assert_false(t->cut);
		for (size_t i = 0; i < t->n; i++) {
			sum += t->s[i].bytes;
			assert_true(t->s[i].info_len > 0);
		}
		assert_true(sum >= bytes);
		assert_true(t->cpu.process_ns > 0);
		assert_true(t->cpu.worker_max_ns <= t->cpu.process_ns);
		bytes = sum;
		last = t->t1;
		net_tick_free(t);
	}
	assert_true(bytes > 0);
	net_sampler_free(s);
	pair_free(&p);
}

static void restarts_from_a_cut(void **state)
{
	struct net_engine_cfg cfg = {.workers = 1};
	const int64_t interval = 50 * NSEC_PER_MSEC;
	struct net_sampler *s;
	struct net_tick *t;
	int64_t cut;
	struct pair p;

	(void)state;
	pair_open(&p, &cfg, &plain, 1, 1);
	pair_go(&p);
	assert_int_equal(net_sampler_new(p.rx, interval, &s, NULL), 0);
	assert_int_equal(net_sampler_start(s, clk_mono_ns(), NULL), 0);
	net_tick_free(await_tick(s));
	cut = net_sampler_cut(s);
	do { /* a regular one may have come before it */
		t = await_tick(s);
		if (t->cut)
			break;
		net_tick_free(t);
	} while (1);
	assert_int_equal(t->t1, cut);
	net_tick_free(t);
	t = await_tick(s);
	assert_int_equal(t->t0, cut);
	assert_true(t->t1 >= cut + interval);
	net_tick_free(t);
	net_sampler_stop(s);
	net_sampler_free(s);
	pair_free(&p);
}

/* Nobody takes the ticks: the newest grows, none is lost, nothing blocks. */
static void merges_what_nobody_takes(void **state)
{
	struct net_engine_cfg cfg = {.workers = 1};
	int64_t last_cut = 0, last = 0;
	struct net_sampler *s;
	struct net_tick *t;
	struct pair p;
	size_t n = 0;

	(void)state;
	pair_open(&p, &cfg, &plain, 1, 2);
	assert_int_equal(net_engine_prepare(p.tx, NULL), 0);
	assert_int_equal(net_sampler_new(p.tx, 0, &s, NULL), 0);
	assert_int_equal(net_sampler_start(s, clk_mono_ns(), NULL), 0);
	assert_null(net_sampler_next(s));
	for (int i = 0; i < 100; i++)
		last_cut = net_sampler_cut(s);
	while ((t = net_sampler_next(s))) {
		assert_true(n == 0 || t->t0 == last);
		last = t->t1;
		n++;
		assert_int_equal(t->late, last == last_cut);
		net_tick_free(t);
	}
	assert_int_equal(last, last_cut);
	assert_in_range(n, 16, 99);
	net_sampler_cut(s); /* one is left in the ring */
	net_sampler_free(s);
	net_sampler_free(NULL);
	pair_free(&p);
}

/* ---- pacing ------------------------------------------------------------------- */

#define SECONDS 2

static bool kept_rates(const struct flow_spec *specs, size_t n, unsigned workers)
{
	bool kept = true;
	struct net_engine_cfg cfg = {.workers = workers};
	struct net_sampler *s;
	struct net_tick *t;
	struct pair p;

	pair_open(&p, &cfg, specs, n, n);
	assert_int_equal(net_engine_prepare(p.rx, NULL), 0);
	net_engine_go(p.rx);
	assert_int_equal(net_engine_prepare(p.tx, NULL), 0);
	assert_int_equal(net_sampler_new(p.tx, SECONDS * NSEC_PER_SEC, &s, NULL), 0);
	net_engine_go(p.tx);
	assert_int_equal(net_sampler_start(s, clk_mono_ns(), NULL), 0);
	t = await_tick(s);
	for (size_t i = 0; i < n; i++) {
		double bps = (double)t->s[i].bytes * 8e9 / (double)(t->t1 - t->t0);
		double off = bps / (double)specs[i].rate_bps - 1;

		assert_true(off <= 0.01);
		if (off < -0.01)
			print_message("%.4f of %llu bit/s\n", off + 1,
				      (unsigned long long)specs[i].rate_bps);
		kept &= off >= -0.01;
	}
	net_tick_free(t);
	net_sampler_free(s);
	pair_free(&p);
	return kept;
}

/* Other load on the machine may spoil a round, hence the best of a few. */
static void keeps_rates(const struct flow_spec *specs, size_t n, unsigned workers)
{
	bool kept = false;

	for (int round = 0; round < 3 && !kept; round++)
		kept = kept_rates(specs, n, workers);
	assert_true(kept);
}

static void paces_one_flow(void **state)
{
	static const struct flow_spec spec = {.rate_bps = 200000000};

	(void)state;
	keeps_rates(&spec, 1, 1);
}

static void paces_flows_of_one_worker(void **state)
{
	static const struct flow_spec specs[] = {
		{.rate_bps = 1000000},
		{.rate_bps = 10000000},
		{.rate_bps = 100000000},
		{.rate_bps = 50000000, .len = 10000},
		{.rate_bps = 80000000, .len = 5000, .burst = 4},
	};

	(void)state;
	keeps_rates(specs, ARRAY_LEN(specs), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_intervals_without_gaps),
		cmocka_unit_test(restarts_from_a_cut),
		cmocka_unit_test(merges_what_nobody_takes),
		cmocka_unit_test(paces_one_flow),
		cmocka_unit_test(paces_flows_of_one_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
