/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's results for 1, 4 and 256 streams: all of them are there or it is an error, and what
 * was accepted is written and read back the same.
 */
#include <math.h>

#include "fuzz.h"
#include "proto/priv.h"

static void sound(const struct proto_result *r)
{
	FUZZ_CHECK(isfinite(r->cpu_total) && isfinite(r->cpu_user) && isfinite(r->cpu_system));
	for (size_t i = 0; i < r->n; i++) {
		FUZZ_CHECK(r->flows[i].bytes <= INT64_MAX && r->flows[i].retransmits >= -1);
		FUZZ_CHECK(isfinite(r->flows[i].seconds) && r->flows[i].seconds >= 0);
	}
}

static void again(const struct proto_result *r)
{
	struct flow_spec spec = {0};
	struct flow_plan plan;
	struct proto_result other;
	struct buf b = {0};

	FUZZ_CHECK(flow_plan_init(&plan, &spec, r->n, 0) == 0);
	FUZZ_CHECK(iperf3_results_put(&plan, NET_UP, r, &b) == 0);
	FUZZ_CHECK(iperf3_results_get(b.data, b.len, r->n, &other, NULL) == 0);
	for (size_t i = 0; i < r->n; i++) {
		FUZZ_CHECK(other.flows[i].bytes == r->flows[i].bytes);
		FUZZ_CHECK(other.flows[i].retransmits == r->flows[i].retransmits);
	}
	proto_result_fini(&other);
	flow_plan_fini(&plan);
	buf_fini(&b);
}

/* The other end's own report: text of any kind, or one JSON object. */
static void report(const char *text, size_t size)
{
	struct proto_extra x = {.get_server_output = true};
	struct js_doc *doc = NULL;

	iperf3_extra_get_results(&x, text, size);
	if (x.server_output_json)
		FUZZ_CHECK(js_parse(x.server_output.data, x.server_output.len, &js_limits_file,
				    &doc, NULL) == 0);
	js_free(doc);
	buf_fini(&x.server_output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t flows[] = {1, 4, 256};

	report((const char *)data, size);
	for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
		struct proto_result r;
		struct weir_err e = {0};

		if (iperf3_results_get((const char *)data, size, flows[i], &r, &e) < 0) {
			FUZZ_CHECK(!r.flows && e.msg[0]);
			continue;
		}
		FUZZ_CHECK(r.n == flows[i]);
		sound(&r);
		again(&r);
		proto_result_fini(&r);
	}
	return 0;
}
