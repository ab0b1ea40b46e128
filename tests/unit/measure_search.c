/* SPDX-License-Identifier: BSD-2-Clause */
/* The search for a rate against responders that are known exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/priv.h"

static const struct measure_search_cfg cfg = {
	.lo = 1e5, .hi = 1e11, .start = 1e7, .resolution = 0.02, .confirm = 2, .max_trials = 60};

struct responder {
	double capacity, sender; /* 0 = no bound */
	unsigned lies[4];        /* trials, counted from 1, whose answer is turned round */
};

static enum measure_trial truth(const struct responder *r, double rate)
{
	if (r->capacity > 0 && rate > r->capacity)
		return MEASURE_TRIAL_PATH;
	return r->sender > 0 && rate > r->sender ? MEASURE_TRIAL_SENDER : MEASURE_TRIAL_PASS;
}

static enum measure_trial respond(const struct responder *r, unsigned trial, double rate)
{
	enum measure_trial t = truth(r, rate);

	for (size_t i = 0; i < 4; i++) {
		if (r->lies[i] == trial)
			return t == MEASURE_TRIAL_PASS ? MEASURE_TRIAL_PATH : MEASURE_TRIAL_PASS;
	}
	return t;
}

static struct measure_search search(const struct measure_search_cfg *c, const struct responder *r)
{
	struct measure_search s;
	double rate;

	measure_search_init(&s, c);
	while (measure_search_next(&s, &rate)) {
		assert_true(rate >= c->lo && rate <= c->hi);
		measure_search_told(&s, respond(r, s.trials + 1, rate));
		assert_true(s.trials <= c->max_trials);
	}
	return s;
}

static void finds_what_is_there(void **state)
{
	static const double capacities[] = {1e5, 1.5e5, 9.9e6, 1e7, 1.01e7, 1e8, 9.43e8, 4.2e10};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(capacities); i++) {
		struct responder r = {.capacity = capacities[i]};
		struct measure_search s = search(&cfg, &r);

		assert_true(s.found);
		assert_true(s.pass <= r.capacity);
		assert_true(s.pass * (1 + cfg.resolution) >= s.fail);
		assert_true(s.fail > r.capacity);
		assert_int_equal(s.limit, MEASURE_TRIAL_PATH);
		assert_true(s.confirmed >= 2);
		assert_true(s.refused >= 2);
		assert_true(s.trials <= 27);
	}
}

static void says_what_gave_out(void **state)
{
	struct responder r = {.capacity = 5e9, .sender = 2e9};
	struct measure_search s = search(&cfg, &r);

	(void)state;
	assert_true(s.found);
	assert_int_equal(s.limit, MEASURE_TRIAL_SENDER);
	assert_true(s.pass <= 2e9 && s.pass > 1.9e9);
}

/* Nothing fails: the ceiling is the answer, and a bound, not a figure. */
static void reaches_the_ceiling(void **state)
{
	struct measure_search_cfg c = cfg;
	struct responder r = {0};
	struct measure_search s;

	(void)state;
	c.hi = 3e8;
	s = search(&c, &r);
	assert_true(s.found);
	assert_true(s.pass >= 3e8 && s.pass <= 3e8);
	assert_true(s.fail <= 0);
	assert_int_equal(s.limit, MEASURE_TRIAL_PASS);
}

static void nothing_passes(void **state)
{
	struct responder r = {.capacity = 1};
	struct measure_search s = search(&cfg, &r);

	(void)state;
	assert_true(s.nothing && s.done && !s.found);
	assert_true(s.trials <= 10);
}

/* A pass by chance does not survive its confirmation. */
static void a_lucky_pass_is_not_believed(void **state)
{
	(void)state;
	for (unsigned lie = 1; lie <= 20; lie++) {
		struct responder r = {.capacity = 1e8, .lies = {lie}};
		struct measure_search s = search(&cfg, &r);

		assert_true(s.done);
		if (!s.found)
			continue;
		assert_true(s.pass <= 1e8);
	}
}

/* One trial disturbed by chance costs trials, not accuracy: what failed by chance does not again. */
static void an_unlucky_failure_is_not_believed(void **state)
{
	(void)state;
	for (unsigned lie = 1; lie <= 20; lie++) {
		struct responder r = {.capacity = 1e8, .lies = {lie}};
		struct measure_search s = search(&cfg, &r);

		if (!s.found || truth(&r, 1e7) != MEASURE_TRIAL_PASS)
			continue;
		assert_true(s.pass <= 1e8 && s.pass > 0.97e8);
		assert_true(s.fail > 1e8);
		assert_true(s.trials <= 40);
	}
}

/* Of the failures only the one that the result stands on is tried again. */
static void a_failure_by_chance_at_the_bottom(void **state)
{
	struct measure_search_cfg c = cfg;
	struct responder r = {.capacity = 1e8, .lies = {1}};
	struct measure_search s;

	(void)state;
	c.start = c.lo;
	s = search(&c, &r);
	assert_true(s.found && !s.nothing);
	assert_true(s.pass > 0.97e8);
}

static void trials_are_bounded(void **state)
{
	struct measure_search_cfg c = cfg;
	struct responder r = {.capacity = 1e8};
	struct measure_search s;

	(void)state;
	c.max_trials = 7;
	s = search(&c, &r);
	assert_int_equal(s.trials, 7);
	assert_true(s.done && !s.found);
	assert_true(s.pass > 0 && s.pass <= 1e8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_there),
		cmocka_unit_test(says_what_gave_out),
		cmocka_unit_test(reaches_the_ceiling),
		cmocka_unit_test(nothing_passes),
		cmocka_unit_test(a_lucky_pass_is_not_believed),
		cmocka_unit_test(an_unlucky_failure_is_not_believed),
		cmocka_unit_test(a_failure_by_chance_at_the_bottom),
		cmocka_unit_test(trials_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
