/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests: a run that has every construct of the model. */
#ifndef WEIR_TEST_MODEL_FULL_H
#define WEIR_TEST_MODEL_FULL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/model.h"

static const uint8_t full_rnd[10] = {0x1a, 0xbb, 0xff, 3, 4, 5, 6, 7, 8, 9};

static inline void full_head(struct model_run *r)
{
	r->weir = "0.0.0";
	r->title = "TCP, 2 flows \xc2\xb7 \"quoted\"";
	r->outcome = OUTCOME_COMPLETE;
	r->request =
		"{\"host\":\"lab.example.org\",\n \"time\":10,\"rate\":1.5,\"list\":[1,null,true]}";
	r->protocol = "weir";
	r->error = "none really";
	r->limited = "the receiver's window";
	r->limited_code = "rwnd";
	r->host[MODEL_NEAR] = (struct model_host){"{\"kernel\":\"6.1.0-13\",\"hostname\":\"pc\"}",
						  "pc", "weir", "0.0.0"};
	r->host[MODEL_FAR] = (struct model_host){NULL, "198.18.0.2", "iperf3", "3.12"};
	r->source = (struct model_source){"/srv/user/mail.txt", "ab12", "iperf3", "3.12", 0, 99, 7};
	r->exp = (struct model_experiment){.id = "e1",
					   .factors = "cc",
					   .plan = "ABBA",
					   .primary = "goodput",
					   .variant = "a",
					   .seed = -5,
					   .block = 2,
					   .position = 3,
					   .margin = 0.02};
	model_add_tag(r, "link", "dsl");
	model_add_tag(r, "room", "a=b");
}

static inline void full_lists(struct model_run *r)
{
	struct model_dims down = model_dims_with(DIMS_NONE, DIM_DIR, MODEL_DOWN);
	struct model_dims iface = model_dims_with(down, DIM_IFACE, model_run_intern(r, "eth0"));
	const char *inputs[] = {"x", "y"}, *reasons[] = {"few-runs"};
	struct hist *h = hist_new();
	hist_record_n(h, 5, 3);
	hist_record(h, 1234567);
	hist_record(h, INT64_MAX);
	model_add_hist(r, 1, model_metric("tcp.rtt"), &down, -9, h);
	model_add_hist(r, MODEL_NO_PART, model_metric("tcp.rtt"), NULL, -9, hist_new());
	model_add_summary(r, &(struct model_summary){.part = 1,
						     .metric = model_metric("goodput"),
						     .dims = down,
						     .stat = STAT_MEAN,
						     .value = 943123456.78,
						     .resolution = 1e6,
						     .prov = MODEL_TOLD});
	model_add_summary(r, &(struct model_summary){.part = MODEL_NO_PART,
						     .metric = model_metric("tcp.rtt"),
						     .dims = iface,
						     .stat = STAT_P99,
						     .state = MODEL_UNKNOWN,
						     .bound = MODEL_GE});
	model_add_event(r, 1, WARN_LATE_SAMPLE, &down, 1500000000, "12 % late");
	model_add_event(r, MODEL_NO_PART, WARN_CC_FALLBACK, NULL, MODEL_NO_TIME, NULL);
	model_add_verdict(r, &(struct model_verdict){.inputs = inputs,
						     .n_inputs = 2,
						     .method = "paired-1",
						     .metric = "goodput",
						     .advice = "run more",
						     .outcome = VERDICT_INCONCLUSIVE,
						     .effect = 0.01,
						     .lo = -0.02,
						     .hi = 0.04,
						     .reasons = reasons,
						     .n_reasons = 1});
}

/* Two frames on axis 0 with a gap each, a third that comes after the first row. */
static inline void full_samples(struct model_run *r)
{
	const struct model_metric *cols[] = {
		model_metric("bytes"), model_metric("tcp.cwnd"), model_metric("tcp.rtt"),
		model_run_metric(r, "ext.rx_dropped", UNIT_PPS, MODEL_U64)};
	for (int64_t flow = 0; flow < 2; flow++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_DIR, MODEL_UP);
		d = model_dims_with(d, DIM_FLOW, flow);
		model_add_frame(r, 0, &d, cols, 4);
	}
	for (int64_t t = 0; t < 3; t++) {
		union model_value v[3][4] = {
			{{.u = 125000000}, {.i = 14480 + t}, {.f = 0.000123}, {.u = 0}},
			{{.u = (uint64_t)t}, {.i = -5 * t}, {.f = 1.0 / 3}, {.u = 1}},
			{{.f = 0.25 * (double)t}}};
		if (t == 1)
			model_add_frame(r, 0, NULL,
					(const struct model_metric *[]){model_metric("cpu.total")},
					1);
		struct model_row rows[3] = {
			{0, v[0], t == 1 ? 0xb : 0xf}, {1, v[1], 0xe}, {2, v[2], 1}};
		struct model_tick tick = {0,
					  t * NSEC_PER_SEC,
					  (t + 1) * NSEC_PER_SEC - (t == 2),
					  t == 2 ? ROW_SHORT : 0,
					  rows,
					  t ? 3 : 2};
		assert_int_equal(model_append(r, &tick), 0);
	}
}

static inline struct model_run *full_run(void)
{
	struct model_run *r = model_run_new("tcp", 1796054266123456789, full_rnd);
	assert_non_null(r);
	full_head(r);
	model_add_part(r, PART_PHASE, MODEL_NO_PART, "omit", 0);
	model_end_part(r, 0, NSEC_PER_SEC, OUTCOME_COMPLETE);
	model_add_part(r, PART_TRIAL, 0, "load", NSEC_PER_SEC);
	r->parts[1].params = "{\"size\":64}";
	model_add_clock(r, MODEL_NEAR, CLOCK_KIND_MONO);
	model_add_clock(r, MODEL_FAR, CLOCK_KIND_RAW);
	model_add_clock_pair(r, 0, 0, 1796054266123456789);
	model_add_clock_pair(r, 0, NSEC_PER_SEC, 1796054267123456789);
	r->clocks[1].offset_known = true;
	r->clocks[1].offset_ns = -1500;
	r->clocks[1].offset_err_ns = 20;
	r->clocks[1].method = "ping-pong, best of 8";
	model_add_axis(r, 1, 0);
	full_samples(r);
	model_add_axis(r, MODEL_NO_PART, 1);
	full_lists(r);
	return r;
}

#endif
