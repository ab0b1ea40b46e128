/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot grid: exact times, no drift, catch-up that is bounded and never back to back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/base.h"

#define START (5 * NSEC_PER_SEC)

static void slots_lie_on_the_grid(void **state)
{
	struct slot s;

	(void)state;
	slot_init(&s, START, 1000 * 8, 1000000, 100 * NSEC_PER_MSEC); /* 8 ms */
	assert_int_equal(slot_period_ns(&s), 8 * NSEC_PER_MSEC);
	for (int k = 0; k < 100; k++) {
		assert_int_equal(slot_due_ns(&s), START + k * 8 * NSEC_PER_MSEC);
		slot_take(&s, slot_due_ns(&s));
	}
	assert_int_equal(s.skipped, 0);
}

/* A period that is no whole number of ns: after a day still the exact time. */
static void nothing_adds_up(void **state)
{
	const uint64_t rate = 9999999999ULL, bits = 1448 * 8;
	const int64_t day = 86400 * NSEC_PER_SEC;
	struct slot s;
	uint64_t n;

	(void)state;
	slot_init(&s, START, bits, rate, NSEC_PER_SEC);
	n = slot_count(&s, START + day);
	assert_int_equal(n, (uint64_t)(86400 * (__extension__(unsigned __int128) rate) / bits) + 1);
	s.next = n - 1;
	s.last_ns = START;
	assert_in_range(slot_due_ns(&s), START + day - slot_period_ns(&s) - 1, START + day);
}

static void count_and_due_agree(void **state)
{
	static const uint64_t rates[] = {1000, 1048576, 99999999, 10000000000ULL, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		struct slot s;

		slot_init(&s, START, 12345, rates[i], NSEC_PER_SEC);
		assert_int_equal(slot_count(&s, START - 1), 0);
		for (s.next = 0; s.next < 1000; s.next++) {
			s.last_ns = START - 20000 * NSEC_PER_SEC; /* long ago: the grid only */
			assert_int_equal(slot_count(&s, slot_due_ns(&s)), s.next + 1);
			assert_int_equal(slot_count(&s, slot_due_ns(&s) - 1), s.next);
		}
	}
}

/* The further behind the closer together, but never as close as a burst. */
static void catches_up_without_a_burst(void **state)
{
	const int64_t period = 160 * NSEC_PER_USEC, stall = 100 * period;
	int64_t now = START, before, distance = 0;
	struct slot s;
	int n = 0;

	(void)state;
	slot_init(&s, START, 16000, 100000000, 100 * NSEC_PER_MSEC);
	assert_int_equal(slot_period_ns(&s), period);
	slot_take(&s, now);
	now += stall; /* 100 slots are due */
	assert_true(slot_due_ns(&s) < now);
	slot_take(&s, now);
	for (before = now; slot_due_ns(&s) > START + (int64_t)s.next * period; n++) {
		now = slot_due_ns(&s);
		assert_true(now - before >= distance && now - before > period / 4);
		distance = now - before;
		assert_true(slot_behind(&s));
		assert_true(slot_lag_ns(&s) > -period);
		slot_take(&s, now);
		before = now;
	}
	assert_false(slot_behind(&s));
	assert_true(slot_lag_ns(&s) < 0);
	assert_int_equal(distance, period * 3 / 4);
	assert_in_range(n, 185, 195); /* 68 periods at 11/16, 28 at 6/16, 4 at 1/4 */
	assert_int_equal(s.skipped, 0);
	assert_int_equal(slot_due_ns(&s), START + (int64_t)s.next * period); /* on the grid again */
}

static void old_slots_are_given_up(void **state)
{
	struct slot s;

	(void)state;
	slot_init(&s, START, 8000, 8000000, 100 * NSEC_PER_MSEC); /* 1 ms */
	slot_take(&s, START);
	slot_take(&s, START + NSEC_PER_SEC);
	/* Due 1,001 slots, taken 2; those of the last 100 ms are still to come. */
	assert_int_equal(slot_count(&s, START + NSEC_PER_SEC), 1001);
	assert_int_equal(s.next, 900);
	assert_int_equal(s.skipped, 898);
}

static void a_careless_caller_divides_by_nothing(void **state)
{
	struct slot s;

	(void)state;
	slot_init(&s, START, 0, 0, 0);
	assert_int_equal(slot_due_ns(&s), START);
	slot_take(&s, START);
	assert_int_equal(slot_due_ns(&s), START + NSEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_lie_on_the_grid),
		cmocka_unit_test(nothing_adds_up),
		cmocka_unit_test(count_and_due_agree),
		cmocka_unit_test(catches_up_without_a_burst),
		cmocka_unit_test(old_slots_are_given_up),
		cmocka_unit_test(a_careless_caller_divides_by_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
