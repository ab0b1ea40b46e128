/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow plan: built, copied, counted, and refused with the field's name. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "net/net.h"

static const struct flow_spec plain = {.transport = NET_TCP};

static void builds_up_before_down(void **state)
{
	struct flow_plan p;

	(void)state;
	assert_int_equal(flow_plan_init(&p, &plain, 3, 2), 0);
	assert_int_equal(p.n, 5);
	assert_int_equal(flow_plan_count(&p, NET_UP), 3);
	assert_int_equal(flow_plan_count(&p, NET_DOWN), 2);
	assert_int_equal(p.flows[2].dir, NET_UP);
	assert_int_equal(p.flows[3].dir, NET_DOWN);
	assert_int_equal(flow_plan_check(&p, NULL), 0);
	flow_plan_fini(&p);
	assert_int_equal(p.n, 0);
}

static void bounds_the_number_of_flows(void **state)
{
	struct flow_plan p;

	(void)state;
	assert_int_equal(flow_plan_init(&p, &plain, FLOW_MAX, 1), -E2BIG);
	assert_int_equal(flow_plan_init(&p, &plain, SIZE_MAX, 2), -E2BIG);
	assert_int_equal(flow_plan_init(&p, &plain, 0, 0), 0);
	assert_int_equal(flow_plan_check(&p, NULL), -EINVAL);
	flow_plan_fini(&p);
}

static void copies_deeply(void **state)
{
	struct flow_plan p, q;

	(void)state;
	assert_int_equal(flow_plan_init(&p, &plain, 1, 1), 0);
	p.bytes = 77;
	strcpy(p.title, "first");
	assert_int_equal(flow_plan_copy(&q, &p), 0);
	p.flows[0].len = 9;
	assert_int_equal(q.n, 2);
	assert_int_equal(q.bytes, 77);
	assert_int_equal(q.flows[0].len, 0);
	assert_string_equal(q.title, "first");
	flow_plan_fini(&p);
	flow_plan_fini(&q);
}

struct wrong {
	const char *says; /* a word of the message */
	struct flow_spec spec;
	struct flow_plan plan; /* n and flows come from the spec */
};

static const struct wrong wrongs[] = {
	{"--bitrate: the rate of 1 bit/s is outside 1 kbit/s to 10 Tbit/s", {.rate_bps = 1}, {0}},
	{"rate", {.rate_bps = UINT64_MAX}, {0}},
	{"burst", {.burst = 4}, {0}},
	{"burst", {.burst = UINT32_MAX, .rate_bps = 1000000}, {0}},
	{"length", {.len = UINT32_MAX}, {0}},
	{"window", {.window = UINT64_MAX}, {0}},
	{"window", {.window = 1}, {0}},
	{"MSS", {.mss = 87}, {0}},
	{"--set-mss: the MSS of 32768 B is outside 88 B to 32767 B", {.mss = 32768}, {0}},
	{"pacing", {.fq_rate_bps = 1}, {0}},
	{"congestion", {.cc = "sixteen letters!"}, {0}},
	{"zero copy", {.transport = NET_UDP, .tx = NET_TX_ZEROCOPY}, {0}},
	{"omit", {0}, {.omit_ns = -1}},
	{"duration", {0}, {.duration_ns = INT64_MIN}},
	{"--time: the duration of 5 ns is outside 1 ms to 2592000 s", {0}, {.duration_ns = 5}},
	{"interval", {0}, {.interval_ns = 1000}},
	{"interval", {0}, {.interval_ns = INT64_MAX}},
	{"bytes", {0}, {.bytes = UINT64_MAX}},
	{"blocks", {0}, {.blocks = UINT64_MAX}},
	{"bytes and blocks", {0}, {.bytes = 1, .blocks = 1}},
};

static void names_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrongs); i++) {
		struct flow_spec spec = wrongs[i].spec;
		struct flow_plan p = wrongs[i].plan;
		struct weir_err e = {0};

		p.flows = &spec;
		p.n = 1;
		assert_true(flow_plan_check(&p, &e) < 0);
		assert_int_equal(e.domain, WEIR_USAGE);
		if (!strstr(e.msg, wrongs[i].says))
			fail_msg("row %zu: \"%s\" does not say %s", i, e.msg, wrongs[i].says);
	}
}

static void refuses_a_mixed_order(void **state)
{
	struct flow_plan p;

	(void)state;
	assert_int_equal(flow_plan_init(&p, &plain, 1, 1), 0);
	p.flows[0].dir = NET_DOWN;
	p.flows[1].dir = NET_UP;
	assert_int_equal(flow_plan_check(&p, NULL), -EINVAL);
	flow_plan_fini(&p);
}

static void refuses_an_endless_title(void **state)
{
	struct flow_plan p;

	(void)state;
	assert_int_equal(flow_plan_init(&p, &plain, 1, 0), 0);
	memset(p.title, 'x', sizeof(p.title));
	assert_int_equal(flow_plan_check(&p, NULL), -EINVAL);
	flow_plan_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builds_up_before_down),
		cmocka_unit_test(bounds_the_number_of_flows),
		cmocka_unit_test(copies_deeply),
		cmocka_unit_test(names_what_is_wrong),
		cmocka_unit_test(refuses_a_mixed_order),
		cmocka_unit_test(refuses_an_endless_title),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
