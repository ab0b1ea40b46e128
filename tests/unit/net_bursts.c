/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts: their number and size at both ends, what is timed, ends of single flows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "net_pair.h"

static const uint8_t head[NET_BURST_HEAD] = {0x40, 1, 0, 0xa0, [40] = 0};

/* To the end of what the specification says, with a worker. */
static void run_whole(struct pair *p, const struct flow_spec *spec)
{
	const struct net_engine_cfg cfg = {.workers = 1};

	pair_open(p, &cfg, spec, 1, 1);
	pair_go(p);
	pair_await_done(p->tx);
	pair_finish(p);
}

/* Each burst is timed once at its receiver, however it was cut. */
static void bursts_are_told_apart(void **state)
{
	static const uint32_t lens[] = {100, 1448, 131072};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		const struct net_bursts b = {.stamp = true, .head = head, .mean = 5000};
		const struct flow_spec spec = {.len = lens[i],
					       .bytes = 50 * 5000,
					       .bursts = &b,
					       .timed = NET_TIMED_BURSTS,
					       .hist_bin_ns = 1000,
					       .hist_bins = 10};
		struct net_flow_sample s;
		uint64_t n = 0;
		struct pair p;

		run_whole(&p, &spec);
		assert_int_equal(pair_bytes(p.tx), 50 * 5000);
		assert_int_equal(pair_bytes(p.rx), 50 * 5000);
		net_engine_sample(p.tx, 0, &s);
		assert_int_equal(s.frames, 50);
		net_engine_sample(p.rx, 0, &s);
		assert_int_equal(s.spread.n, 50);
		assert_true(s.spread.min <= s.spread.sum / 50 && s.spread.sum / 50 <= s.spread.max);
		for (size_t k = 0; k <= 10; k++)
			n += s.hist[k];
		assert_int_equal(n, 50);
		n = 0;
		for (size_t k = 0; k < NET_READS; k++)
			n += s.reads[k];
		assert_int_equal(n, s.calls);
		pair_free(&p);
	}
}

/* What is no burst is data all the same. */
static void other_bytes_are_only_counted(void **state)
{
	const struct flow_spec spec = {.len = 1000, .bytes = 100000, .timed = NET_TIMED_BURSTS};
	struct net_flow_sample s;
	struct pair p;

	(void)state;
	run_whole(&p, &spec);
	net_engine_sample(p.rx, 0, &s);
	assert_int_equal(s.bytes, 100000);
	assert_int_equal(s.spread.n, 0);
	pair_free(&p);
}

/* Each flow sends its own share, to the byte, whoever its worker is. */
static void each_flow_ends_by_itself(void **state)
{
	const struct flow_spec spec = {.bytes = 1234567};

	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		const struct net_engine_cfg cfg = {.workers = workers};
		struct net_flow_sample s;
		struct pair p;

		pair_open(&p, &cfg, &spec, 1, 3);
		pair_go(&p);
		pair_await_done(p.tx);
		pair_finish(&p);
		for (size_t i = 0; i < 3; i++) {
			net_engine_sample(p.rx, i, &s);
			assert_int_equal(s.bytes, 1234567);
		}
		pair_free(&p);
	}
}

/* Sizes are drawn around their mean; the last burst ends where the flow does. */
static void sizes_have_their_mean(void **state)
{
	const struct net_bursts b = {.mean = 2000, .stdev = 500};
	const struct flow_spec spec = {.len = 100000, .bytes = 2000 * 2000, .bursts = &b};
	struct net_flow_sample s;
	struct pair p;

	(void)state;
	run_whole(&p, &spec);
	net_engine_sample(p.tx, 0, &s);
	/* Of 2000 draws: the standard error is 11 bytes. */
	assert_true(fabs(2000.0 * 2000 / (double)s.frames - 2000) < 100);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts_are_told_apart),
		cmocka_unit_test(other_bytes_are_only_counted),
		cmocka_unit_test(each_flow_ends_by_itself),
		cmocka_unit_test(sizes_have_their_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
