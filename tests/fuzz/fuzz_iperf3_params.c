/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's parameters: whatever text is accepted is within every row's range, and a plan made of
 * it, written again, makes the same plan.
 */
#include <string.h>

#include "fuzz.h"
#include "proto/priv.h"

static void in_range(const struct iperf3_params *p)
{
	for (size_t i = 0; i < iperf3_n_param_fields; i++) {
		const struct proto_field *f = &iperf3_param_fields[i];
		const char *at = (const char *)p + f->offset;
		int64_t v;

		if (f->type == PF_INT) {
			memcpy(&v, at, sizeof(v));
			FUZZ_CHECK(v >= f->min && v <= f->max);
		}
		if (f->type == PF_STR || f->type == PF_NAME)
			FUZZ_CHECK(memchr(at, 0, f->size));
	}
}

static void again(const struct flow_plan *plan)
{
	struct iperf3_params p;
	struct flow_plan other = {0};
	struct buf b = {0}, second = {0};
	int code;

	FUZZ_CHECK(iperf3_params_put(plan, &b, NULL) == 0);
	FUZZ_CHECK(b.len <= IPERF3_PARAMS_MAX);
	FUZZ_CHECK(iperf3_params_get(b.data, b.len, &p, &code, NULL) == 0);
	FUZZ_CHECK(iperf3_params_plan(&p, &other, &code, NULL) == 0);
	FUZZ_CHECK(other.n == plan->n && other.duration_ns == plan->duration_ns);
	FUZZ_CHECK(other.bytes == plan->bytes && other.blocks == plan->blocks);
	FUZZ_CHECK(iperf3_params_put(&other, &second, NULL) == 0);
	FUZZ_CHECK(second.len == b.len && !memcmp(second.data, b.data, b.len));
	flow_plan_fini(&other);
	buf_fini(&b);
	buf_fini(&second);
}

static void extras(const char *text, size_t size)
{
	struct proto_extra x = {.server_affinity = -1};

	iperf3_extra_get_params(&x, text, size);
	FUZZ_CHECK(x.server_affinity >= -1 && x.server_affinity <= 1024);
	FUZZ_CHECK(memchr(x.extra_data, 0, sizeof(x.extra_data)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iperf3_params p;
	struct flow_plan plan = {0};
	struct weir_err e = {0};
	int code, ret = iperf3_params_get((const char *)data, size, &p, &code, &e);

	FUZZ_CHECK(ret == 0 || (e.msg[0] && code > 0));
	if (ret < 0)
		return 0;
	in_range(&p);
	extras((const char *)data, size);
	if (iperf3_params_plan(&p, &plan, &code, &e) == 0)
		again(&plan);
	else
		FUZZ_CHECK(e.msg[0] && code > 0);
	flow_plan_fini(&plan);
	return 0;
}
