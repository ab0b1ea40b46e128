/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf3's parameters and results: recorded bytes of 3.12 and 3.21, round trips, odd values. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/priv.h"

static char *load(const char *name, size_t *n)
{
	char path[512];
	char *text = calloc(1, 65536);
	FILE *f;

	snprintf(path, sizeof(path), "%s/proto/iperf3/%s", TEST_DATA, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_non_null(text);
	*n = fread(text, 1, 65535, f);
	fclose(f);
	assert_true(*n > 0);
	return text;
}

static void parse_file(const char *name, struct iperf3_params *p)
{
	struct weir_err e = {0};
	size_t n;
	char *text = load(name, &n);
	int code;

	assert_int_equal(iperf3_params_get(text, n, p, &code, &e), 0);
	free(text);
}

static void recorded_parameters(void **state)
{
	struct iperf3_params p;
	struct flow_plan plan;
	int code;

	(void)state;
	parse_file("3.12-tcp.params.json", &p);
	assert_true(p.tcp && !p.udp && !p.reverse);
	assert_int_equal(p.time, 1);
	assert_int_equal(p.bandwidth, 100000000);
	assert_string_equal(p.client_version, "3.12");
	parse_file("3.21-allopts.params.json", &p);
	assert_int_equal(p.mss, 1400);
	assert_int_equal(p.burst, 10);
	assert_int_equal(p.tos, 8);
	assert_string_equal(p.title, "ttl");
	assert_true(p.nodelay && p.zerocopy && p.skip_rx_copy && p.get_server_output);
	assert_int_equal(iperf3_params_plan(&p, &plan, &code, NULL), 0);
	assert_int_equal(plan.n, 2);
	assert_int_equal(plan.flows[1].dir, NET_UP);
	assert_int_equal(plan.flows[1].window, 262144);
	assert_int_equal(plan.flows[1].fq_rate_bps, 200000000);
	assert_int_equal(plan.flows[1].tx, NET_TX_SENDFILE);
	assert_true(plan.flows[1].rx_trunc);
	flow_plan_fini(&plan);
	parse_file("3.21-bidir-P2.params.json", &p);
	assert_int_equal(iperf3_params_plan(&p, &plan, &code, NULL), 0);
	assert_int_equal(flow_plan_count(&plan, NET_UP), 2);
	assert_int_equal(flow_plan_count(&plan, NET_DOWN), 2);
	flow_plan_fini(&plan);
	parse_file("3.21-reverse.params.json", &p);
	assert_int_equal(iperf3_params_plan(&p, &plan, &code, NULL), 0);
	assert_int_equal(flow_plan_count(&plan, NET_DOWN), 1);
	assert_int_equal(plan.n, 1);
	flow_plan_fini(&plan);
	parse_file("3.21-udp.params.json", &p);
	assert_int_equal(iperf3_params_plan(&p, &plan, &code, NULL), 0);
	assert_int_equal(plan.flows[0].transport, NET_UDP);
	assert_int_equal(plan.flows[0].rate_bps, p.bandwidth);
	assert_int_equal(plan.flows[0].len, p.len);
	flow_plan_fini(&plan);
}

/* What a 3.12 server must get: the same members, and of the types that do not crash it. */
static void written_parameters(void **state)
{
	struct flow_spec spec = {.len = 131072,
				 .rate_bps = 100000000,
				 .mss = 1400,
				 .nodelay = true,
				 .cc = "cubic",
				 .tx = NET_TX_ZEROCOPY,
				 .rx_trunc = true};
	struct flow_plan plan;
	struct weir_err e = {0};
	struct buf b = {0};
	char want[512];

	(void)state;
	assert_int_equal(flow_plan_init(&plan, &spec, 2, 2), 0);
	plan.duration_ns = 1500 * NSEC_PER_MSEC;
	plan.bytes = 3000000000;
	snprintf(plan.title, sizeof(plan.title), "a \"title\"");
	assert_int_equal(iperf3_params_put(&plan, &b, &e), 0);
	snprintf(want, sizeof(want),
		 "{\"tcp\":true,\"omit\":0,\"time\":2,\"num\":3000000000,\"blockcount\":0,"
		 "\"MSS\":1400,\"nodelay\":true,\"parallel\":2,\"bidirectional\":true,"
		 "\"len\":131072,\"bandwidth\":100000000,\"pacing_timer\":1000,"
		 "\"title\":\"a \\\"title\\\"\",\"congestion\":\"cubic\",\"zerocopy\":1,"
		 "\"skip_rx_copy\":1,\"client_version\":\"weir %s\"}",
		 weir_version);
	assert_string_equal(b.data, want);
	buf_fini(&b);
	flow_plan_fini(&plan);
}

static void stream_numbers(void **state)
{
	(void)state;
	assert_int_equal(iperf3_stream_id(0), 1);
	assert_int_equal(iperf3_stream_id(1), 3);
	assert_int_equal(iperf3_stream_id(2), 4);
	assert_int_equal(iperf3_stream_id(255), 257);
}

static void recorded_results(void **state)
{
	static const struct {
		const char *file, *cc;
		size_t flows;
		uint64_t bytes;
		int64_t retransmits;
	} cases[] = {
		{"3.12-tcp.client.json", "bbr", 1, 12582912, 0},
		{"3.12-tcp.server.json", "bbr", 1, 12582912, -1},
		{"3.21-tcp.server.json", "bbr", 1, 12582912, -1},
		{"3.21-bidir-P2.client.json", "bbr", 4, 6291456, 2},
		{"3.21-bidir-P2.server.json", "bbr", 4, 6291456, -1},
		{"3.21-allopts.server.json", "cubic", 2, 13107200, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proto_result r;
		struct weir_err e = {0};
		size_t n;
		char *text = load(cases[i].file, &n);

		assert_int_equal(iperf3_results_get(text, n, cases[i].flows, &r, &e), 0);
		assert_int_equal(r.n, cases[i].flows);
		assert_int_equal(r.flows[0].bytes, cases[i].bytes);
		assert_int_equal(r.flows[r.n - 1].bytes, cases[i].bytes);
		assert_int_equal(r.flows[0].retransmits, cases[i].retransmits);
		assert_true(r.flows[0].seconds > 0.9 && r.flows[0].seconds < 1.1);
		assert_true(r.cpu_total > 0 && r.cpu_total < 0.03);
		assert_string_equal(r.cc, cases[i].cc);
		proto_result_fini(&r);
		free(text);
	}
}

static int results(const char *text, size_t flows, struct proto_result *r, struct weir_err *e)
{
	*e = (struct weir_err){0};
	return iperf3_results_get(text, strlen(text), flows, r, e);
}

static void odd_results(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{\"streams\":5}",
		"{\"streams\":[]}",
		"{\"streams\":[{\"id\":2,\"bytes\":1}]}",
		"{\"streams\":[{\"id\":1}]}",
		"{\"streams\":[{\"bytes\":1}]}",
		"{\"streams\":[{\"id\":\"1\",\"bytes\":1}]}",
		"{\"streams\":[{\"id\":1,\"bytes\":\"1\"}]}",
		"{\"streams\":[{\"id\":1,\"bytes\":18446744073709551615}]}",
		"{\"streams\":[{\"id\":-1,\"bytes\":1}]}",
		"{\"streams\":[1]}",
		"[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]",
		"null",
		"{\"streams\":[{\"id\":1,\"bytes\":1}",
	};
	struct proto_result r;
	struct weir_err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_true(results(wrong[i], 1, &r, &e) < 0);
		assert_null(r.flows);
		assert_true(e.msg[0]);
	}
	/* Members that nothing depends on may be absent, of a wrong type, or nonsense. */
	assert_int_equal(results("{\"cpu_util_total\":\"x\",\"cpu_util_user\":1e999,"
				 "\"congestion_used\":7,\"STREAMS\":[{\"ID\":1,\"Bytes\":77,"
				 "\"retransmits\":NaN,\"end_time\":\"2\"},{\"id\":9,\"bytes\":1}]}",
				 1, &r, &e),
			 0);
	assert_int_equal(r.flows[0].bytes, 77);
	assert_int_equal(r.flows[0].retransmits, -1);
	assert_true(r.cpu_total < 0 && r.cpu_user < 0);
	assert_string_equal(r.cc, "");
	proto_result_fini(&r);
}

/* A peer's text cannot reach a terminal as it is. */
static void foreign_text_is_tamed(void **state)
{
	struct iperf3_params p;
	struct flow_plan plan;
	struct proto_result r;
	struct weir_err e;
	const char *text = "{\"title\":\"a\\u001b[31mb\",\"tcp\":true}";
	int code;

	(void)state;
	assert_int_equal(iperf3_params_get(text, strlen(text), &p, &code, &e), 0);
	assert_int_equal(iperf3_params_plan(&p, &plan, &code, &e), 0);
	assert_null(strchr(plan.title, 0x1b));
	assert_non_null(strstr(plan.title, "[31mb"));
	flow_plan_fini(&plan);
	assert_int_equal(results("{\"congestion_used\":\"\\u001b]0;x\","
				 "\"streams\":[{\"id\":1,\"bytes\":1}]}",
				 1, &r, &e),
			 0);
	assert_null(strchr(r.cc, 0x1b));
	proto_result_fini(&r);
}

/* The rows themselves: every range is one, every key is there once. */
static void rows_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < iperf3_n_param_fields; i++) {
		const struct proto_field *f = &iperf3_param_fields[i];

		assert_true(f->min <= f->max);
		assert_non_null(f->since);
		assert_true(f->code > 0);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(f->key, iperf3_param_fields[k].key);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_parameters), cmocka_unit_test(written_parameters),
		cmocka_unit_test(stream_numbers),      cmocka_unit_test(recorded_results),
		cmocka_unit_test(odd_results),         cmocka_unit_test(foreign_text_is_tamed),
		cmocka_unit_test(rows_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
