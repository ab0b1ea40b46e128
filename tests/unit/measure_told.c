/* SPDX-License-Identifier: BSD-2-Clause */
/* What a far end tells, told by one that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/priv.h"

static struct model_run *new_run(void)
{
	static const uint8_t rnd[10] = {0};
	struct model_run *r = model_run_new("tcp", 1, rnd);

	assert_non_null(r);
	assert_int_equal(model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0), 0);
	return r;
}

static void few_events_are_copied(void **state)
{
	static const size_t counts[] = {0, 1, 64, 65, 3000};
	struct proto_session ps = {0};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		struct model_run *near = new_run(), *far = new_run();
		size_t n = counts[k];

		for (size_t i = 0; i < n; i++)
			model_add_event(far, 0, WARN_STALL, NULL, MODEL_NO_TIME, "a lie");
		assert_int_equal(measure_merge_far(near, NULL, far, 0, &ps), 0);
		assert_int_equal(near->n_events, n <= 64 ? n : 65);
		for (size_t i = 0; i < near->n_events; i++)
			assert_int_equal(near->events[i].subject.v[DIM_END], MODEL_FAR);
		if (n == 3000)
			assert_string_equal(near->events[64].text, "and 2936 more of its events");
		model_run_free(near);
		model_run_free(far);
	}
}

/* A period that nobody can measure is unknown: this end's is taken. */
static void a_period_of_nothing_is_unknown(void **state)
{
	static const struct {
		double seconds, rate;
		enum model_prov prov;
	} cases[] = {
		{1e-300, 4000, MODEL_DERIVED},
		{9e-7, 4000, MODEL_DERIVED},
		{0.5, 16000, MODEL_TOLD},
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct model_run *run = new_run();
		struct measure_flow flows[2] = {{.dir = MODEL_UP, .sender = true},
						{.dir = MODEL_UP, .sender = true}};
		struct proto_flow_result told[2] = {{500, -1, .seconds = cases[k].seconds},
						    {500, -1, .seconds = cases[k].seconds}};
		struct proto_result r = {.cpu_total = 0.5, .flows = told, .n = 2};
		struct measure_totals t = {.part = 0, .seconds = 2};
		struct model_dims d = measure_view_dims(MODEL_UP, false, MODEL_FAR);
		const struct model_summary *s;

		assert_int_equal(measure_add_told(run, &t, flows, 2, &r), 0);
		s = model_find(run, "goodput", STAT_VALUE, &d, true);
		assert_non_null(s);
		assert_float_equal(s->value, cases[k].rate, 1e-6);
		assert_int_equal(s->prov, cases[k].prov);
		for (size_t i = 0; i < run->n_sums; i++)
			assert_true(run->sums[i].value < 1e9);
		model_run_free(run);
	}
}

/* What a socket dropped is told with its cause and what helps, which -w does not where it was cut. */
static void drops_name_cause_and_remedy(void **state)
{
	static const struct {
		uint64_t rcvbuf, wish;
		const char *says, *says_not;
	} cases[] = {
		{212992, 32 << 20,
		 "up: 30 of 40 lost; its buffer is 213 kB, all that net.core.rmem_max of that host "
		 "allows: sysctl net.core.rmem_max=33554432 there, or a lower rate",
		 "-w"},
		{4096, 4096, "up: 30 of 40 lost; a larger -w, or a lower rate", "rmem_max"},
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct model_run *run = new_run();
		struct flow_spec spec = {.transport = NET_UDP};
		struct flow_plan plan = {.flows = &spec, .n = 1};
		struct measure_flow flow = {
			.dir = MODEL_UP,
			.udp = true,
			.applied = {.rcvbuf = cases[k].rcvbuf, .rcvbuf_wish = cases[k].wish}};
		struct net_flow_sample final = {
			.udp = {.received = 60, .highest = 100, .lost = 40, .sock_drops = 30}};
		struct net_tick *none = calloc(1, sizeof(*none) + sizeof(final));
		struct measure_totals t = {
			.from = none, .to = none, .final = &final, .host_drops = 30, .seconds = 1};

		assert_non_null(none);
		none->n = 1;
		measure_udp_events(run, NULL, &t, &flow, 1, &plan);
		assert_int_equal(run->n_events, 1);
		assert_int_equal(run->events[0].code, WARN_SOCKET_DROPS);
		assert_non_null(strstr(run->events[0].text, cases[k].says));
		assert_null(strstr(run->events[0].text, cases[k].says_not));
		free(none);
		model_run_free(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_events_are_copied),
		cmocka_unit_test(a_period_of_nothing_is_unknown),
		cmocka_unit_test(drops_name_cause_and_remedy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
