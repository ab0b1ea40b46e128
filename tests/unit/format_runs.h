/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs made in code for the tests of the report forms, and the comparison with golden files. To
 * make the files anew: WEIR_GOLDEN=write build/tests/unit/test_format_forms
 */
#ifndef WEIR_TEST_FORMAT_RUNS_H
#define WEIR_TEST_FORMAT_RUNS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

#define START_NS  (1800000000LL * NSEC_PER_SEC)
#define FLOWS_MAX 4

static inline struct model_dims dims_of(int dir, int view, int end)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_DIR, dir);
	d = model_dims_with(d, DIM_VIEW, view);
	return model_dims_with(d, DIM_END, end);
}

static inline void put_sum(struct model_run *r, uint32_t part, const char *metric,
			   struct model_dims d, enum model_stat stat, enum model_prov prov,
			   double v)
{
	struct model_summary s = {.part = part,
				  .metric = model_metric(metric),
				  .dims = d,
				  .stat = stat,
				  .state = MODEL_KNOWN,
				  .prov = prov,
				  .value = v};
	assert_non_null(s.metric);
	assert_true(model_add_summary(r, &s) >= 0);
}

static inline struct model_run *new_run(const char *kind, const char *request)
{
	static const uint8_t rnd[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct model_run *r = model_run_new(kind, START_NS, rnd);
	assert_non_null(r);
	r->weir = "0.1.0";
	r->request = model_run_str(r, request);
	r->outcome = OUTCOME_COMPLETE;
	r->host[MODEL_NEAR].tool = "weir";
	r->host[MODEL_NEAR].version = "0.1.0";
	r->host[MODEL_NEAR].facts = "{\"kernel\":\"6.1.0-18-amd64\",\"cpus\":8}";
	assert_true(model_add_clock(r, MODEL_NEAR, CLOCK_KIND_MONO) >= 0);
	return r;
}

static inline void far_iperf3(struct model_run *r)
{
	r->protocol = "iperf3";
	r->host[MODEL_FAR].name = "198.18.0.2";
	r->host[MODEL_FAR].tool = "iperf3";
	r->host[MODEL_FAR].version = "3.12";
}

/* One direction's frames: sender's columns or the receiver's. */
struct lane {
	int dir, view, flows, first_flow;
	uint64_t rate_bytes; /* a flow and second */
};

static inline void add_lane(struct model_run *r, uint32_t axis, const struct lane *l)
{
	const struct model_metric *cols[] = {model_metric("bytes"), model_metric("tcp.retransmits"),
					     model_metric("tcp.rtt"), model_metric("tcp.cwnd")};
	for (int i = 0; i < l->flows; i++) {
		struct model_dims d = dims_of(l->dir, l->view, MODEL_NEAR);
		d = model_dims_with(d, DIM_FLOW, l->first_flow + i);
		assert_true(model_add_frame(r, axis, &d, cols, l->view == MODEL_SENDER ? 4 : 1) >=
			    0);
	}
}

static inline void tick(struct model_run *r, uint32_t axis, const struct lane *lanes, size_t n,
			int64_t t0, int64_t t1, unsigned flags, uint64_t step)
{
	struct model_row rows[2 * FLOWS_MAX];
	union model_value v[2 * FLOWS_MAX][4];
	size_t n_rows = 0;
	uint32_t frame = 0;
	while (r->frames[frame]->axis != axis)
		frame++;
	for (size_t k = 0; k < n; k++)
		for (int i = 0; i < lanes[k].flows; i++, n_rows++) {
			double part = (double)(t1 - t0) / 1e9;
			double dip = step % 4 == 3 ? 0.8 : 1;
			v[n_rows][0].u = (uint64_t)((double)lanes[k].rate_bytes * part * dip);
			v[n_rows][1].u = step % 4 == 3 ? 3 : 0;
			v[n_rows][2].f = 0.0003 + 0.0001 * (double)step;
			v[n_rows][3].i = 1200000 + 1000 * i;
			rows[n_rows] = (struct model_row){frame++, v[n_rows], 15};
			if (lanes[k].view != MODEL_SENDER)
				rows[n_rows].valid = 1;
		}
	struct model_tick t = {axis, t0, t1, flags, rows, n_rows};
	assert_int_equal(model_append(r, &t), 0);
}

/* Up, then down; the words of a congestion control differ by direction. */
static inline struct model_run *run_each_way(void)
{
	struct model_run *r =
		new_run("tcp", "{\"host\":\"198.18.0.2\",\"each-way\":true,\"title\":\"once\"}");
	static const char *const params[] = {
		"{\"congestion\":\"cubic\",\"congestion_far\":\"bbr\"}",
		"{\"congestion\":\"reno\",\"congestion_far\":\"vegas\"}"};
	const int64_t s = NSEC_PER_SEC;
	far_iperf3(r);
	r->title = "once";
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		int64_t t0 = dir == MODEL_UP ? 0 : 5 * s;
		int view = dir == MODEL_UP ? MODEL_SENDER : MODEL_RECEIVER;
		const struct lane lane = {dir, view, 1, 0, 1000000};
		struct model_dims far =
			dims_of(dir, MODEL_RECEIVER, dir == MODEL_UP ? MODEL_FAR : MODEL_NEAR);
		int part = model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", t0);
		int axis = model_add_axis(r, (uint32_t)part, 0);
		add_lane(r, (uint32_t)axis, &lane);
		for (int i = 0; i < 3; i++)
			tick(r, (uint32_t)axis, &lane, 1, t0 + i * s, t0 + (i + 1) * s, 0,
			     (uint64_t)i);
		r->parts[part].params = params[dir];
		model_end_part(r, (uint32_t)part, t0 + 3 * s, OUTCOME_COMPLETE);
		put_sum(r, (uint32_t)part, "goodput", far, STAT_VALUE, MODEL_MEASURED, 8e6);
		put_sum(r, (uint32_t)part, "bytes", far, STAT_VALUE, MODEL_MEASURED, 3e6);
	}
	return r;
}

/* One flow up for 10.2 s with a second of warm-up, against iperf3. */
static inline struct model_run *run_up(void)
{
	struct model_run *r = new_run("tcp", "{\"host\":\"198.18.0.2\",\"time\":10.2,\"omit\":1}");
	const struct lane lane = {MODEL_UP, MODEL_SENDER, 1, 0, 1173000000};
	struct model_dims near = dims_of(MODEL_UP, MODEL_SENDER, MODEL_NEAR);
	struct model_dims far = dims_of(MODEL_UP, MODEL_RECEIVER, MODEL_FAR);
	const int64_t s = NSEC_PER_SEC;
	far_iperf3(r);
	int omit = model_add_part(r, PART_PHASE, MODEL_NO_PART, "omit", s / 10);
	int omit_axis = model_add_axis(r, (uint32_t)omit, 0);
	add_lane(r, (uint32_t)omit_axis, &lane);
	tick(r, (uint32_t)omit_axis, &lane, 1, s / 10, s / 10 + s, ROW_OMITTED, 0);
	model_end_part(r, (uint32_t)omit, s / 10 + s, OUTCOME_COMPLETE);
	uint32_t part = (uint32_t)model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", s / 10 + s);
	uint32_t axis = (uint32_t)model_add_axis(r, part, 0);
	add_lane(r, axis, &lane);
	for (int i = 0; i < 10; i++)
		tick(r, axis, &lane, 1, s / 10 + (i + 1) * s, s / 10 + (i + 2) * s,
		     i == 4 ? ROW_LATE : 0, (uint64_t)i);
	tick(r, axis, &lane, 1, s / 10 + 11 * s, s / 10 + 11 * s + s / 5, ROW_SHORT, 10);
	model_end_part(r, part, s / 10 + 11 * s + s / 5, OUTCOME_COMPLETE);
	put_sum(r, part, "goodput", far, STAT_VALUE, MODEL_TOLD, 9.381e9);
	put_sum(r, part, "throughput.sent", near, STAT_VALUE, MODEL_MEASURED, 9.389e9);
	put_sum(r, part, "bytes", near, STAT_VALUE, MODEL_MEASURED, 11.97e9);
	put_sum(r, part, "bytes", far, STAT_VALUE, MODEL_TOLD, 11.96e9);
	put_sum(r, part, "duration", near, STAT_VALUE, MODEL_MEASURED, 10.2);
	put_sum(r, part, "duration", far, STAT_VALUE, MODEL_TOLD, 10.2004);
	put_sum(r, part, "tcp.retransmits", near, STAT_VALUE, MODEL_MEASURED, 12);
	put_sum(r, part, "tcp.segments", near, STAT_VALUE, MODEL_MEASURED, 8.1e6);
	put_sum(r, part, "tcp.retransmit_share", near, STAT_VALUE, MODEL_MEASURED, 12 / 8.1e6);
	put_sum(r, part, "tcp.rtt_idle", near, STAT_P50, MODEL_MEASURED, 0.00031);
	put_sum(r, part, "tcp.rtt_loaded", near, STAT_P50, MODEL_MEASURED, 0.0019);
	put_sum(r, part, "tcp.rtt_loaded", near, STAT_P95, MODEL_MEASURED, 0.0028);
	put_sum(r, part, "tcp.rtt_loaded", near, STAT_MAX, MODEL_MEASURED, 0.0032);
	put_sum(r, part, "tcp.mss", near, STAT_VALUE, MODEL_MEASURED, 1448);
	struct model_dims here = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	struct model_dims there = model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR);
	put_sum(r, part, "cpu.total", here, STAT_VALUE, MODEL_MEASURED, 0.63);
	put_sum(r, part, "cpu.total", there, STAT_VALUE, MODEL_TOLD, 0.88);
	put_sum(r, part, "cpu.per_gb", here, STAT_VALUE, MODEL_MEASURED, 0.54);
	r->limited = "the receiver's CPU: its busiest core was 99 % busy";
	r->limited_code = "receiver-cpu";
	for (int i = 0; i < 3; i++)
		model_add_event(r, part, WARN_LATE_SAMPLE, &DIMS_NONE, i * s, NULL);
	model_add_event(r, part, WARN_OVERLAP, &DIMS_NONE, MODEL_NO_TIME, "1 other test");
	assert_true(model_add_tag(r, "site", "lab") >= 0);
	return r;
}

/* Two flows each way at once, against weir. */
static inline struct model_run *run_bidir(void)
{
	struct model_run *r =
		new_run("tcp", "{\"host\":\"fd00::2\",\"bidir\":true,\"parallel\":2}");
	const struct lane lanes[] = {{MODEL_UP, MODEL_SENDER, 2, 0, 58000000},
				     {MODEL_DOWN, MODEL_RECEIVER, 2, 2, 55000000}};
	const int64_t s = NSEC_PER_SEC;
	r->host[MODEL_FAR].name = "fd00::2";
	r->host[MODEL_FAR].tool = "weir";
	r->host[MODEL_FAR].version = "0.1.0";
	r->host[MODEL_FAR].facts = "{\"kernel\":\"6.6.30\"}";
	uint32_t part = (uint32_t)model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0);
	uint32_t axis = (uint32_t)model_add_axis(r, part, 0);
	add_lane(r, axis, &lanes[0]);
	add_lane(r, axis, &lanes[1]);
	for (int i = 0; i < 4; i++)
		tick(r, axis, lanes, 2, i * s, (i + 1) * s, 0, (uint64_t)i);
	model_end_part(r, part, 4 * s, OUTCOME_COMPLETE);
	for (int dir = 0; dir < 2; dir++) {
		struct model_dims tx = dims_of(dir, MODEL_SENDER, dir);
		struct model_dims rx = dims_of(dir, MODEL_RECEIVER, !dir);
		enum model_prov tx_prov = dir ? MODEL_TOLD : MODEL_MEASURED;
		enum model_prov rx_prov = dir ? MODEL_MEASURED : MODEL_TOLD;
		put_sum(r, part, "throughput.sent", tx, STAT_VALUE, tx_prov, 928e6 - 48e6 * dir);
		put_sum(r, part, "goodput", rx, STAT_VALUE, rx_prov, 927e6 - 48e6 * dir);
		put_sum(r, part, "bytes", rx, STAT_VALUE, rx_prov, 463e6 - 24e6 * dir);
		put_sum(r, part, "duration", rx, STAT_VALUE, rx_prov, 4);
		put_sum(r, part, "tcp.retransmits", tx, STAT_VALUE, tx_prov, 6 + dir);
	}
	struct model_dims here = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	struct model_dims there = model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR);
	put_sum(r, part, "cpu.total", here, STAT_VALUE, MODEL_MEASURED, 0.31);
	put_sum(r, part, "cpu.total", there, STAT_VALUE, MODEL_TOLD, 0.33);
	return r;
}

/* Killed while it ran: samples, no summaries. */
static inline struct model_run *run_cut(int dir)
{
	struct model_run *r = new_run("tcp", "{\"host\":\"198.18.0.2\",\"reverse\":true}");
	const struct lane lane = {dir, dir == MODEL_UP ? MODEL_SENDER : MODEL_RECEIVER, 1, 0,
				  117600000};
	far_iperf3(r);
	r->outcome = OUTCOME_RUNNING;
	uint32_t part = (uint32_t)model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0);
	uint32_t axis = (uint32_t)model_add_axis(r, part, 0);
	add_lane(r, axis, &lane);
	for (int i = 0; i < 3; i++)
		tick(r, axis, &lane, 1, i * NSEC_PER_SEC, (i + 1) * NSEC_PER_SEC, 0, (uint64_t)i);
	model_add_event(r, part, WARN_INCOMPLETE, &DIMS_NONE, MODEL_NO_TIME, NULL);
	return r;
}

static inline struct model_run *run_failed(void)
{
	struct model_run *r = new_run("tcp", "{\"host\":\"198.18.0.9\"}");
	r->outcome = OUTCOME_FAILED;
	r->error = "198.18.0.9:5201 refused the connection";
	r->host[MODEL_FAR].name = "198.18.0.9";
	return r;
}

/* A kind that layout.c has no row for. */
static inline struct model_run *run_other(void)
{
	struct model_run *r = new_run("bench", NULL);
	uint32_t part = (uint32_t)model_add_part(r, PART_BENCHMARK, MODEL_NO_PART, "copy", 0);
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_SIZE, 4096);
	put_sum(r, part, "cpu.seconds", d, STAT_MEAN, MODEL_MEASURED, 0.00125);
	struct model_summary s = {
		.part = part,
		.metric = model_metric("cpu.core_max"),
		.dims = model_dims_with(d, DIM_IFACE, model_run_intern(r, "eth0")),
		.state = MODEL_UNKNOWN};
	assert_true(model_add_summary(r, &s) >= 0);
	return r;
}

#define HOSTILE "=1+2\x1b[31m|<b>\"'`\r\n\xe2\x80\xae\xff\x9b,_*[x](y)"

/* Every string that may come from elsewhere. */
static inline struct model_run *run_hostile(void)
{
	struct model_run *r = run_up();
	const char *h = model_run_str(r, HOSTILE);
	r->title = r->error = r->limited = r->protocol = h;
	r->outcome = OUTCOME_PARTIAL;
	r->source.file = r->source.tool = h;
	r->host[0] = r->host[1] = (struct model_host){"{\"kernel\":\"a\\u001bb\"}", h, h, h};
	r->request = "{\"a\\u001b\":\"\\u0007b\",\"c\":[\"\\u202e\"]}";
	r->parts[1].name = h;
	model_add_tag(r, h, h);
	model_add_event(r, 0, WARN_PEER_FIGURE, &DIMS_NONE, 0, h);
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_CLASS, model_run_intern(r, h));
	put_sum(r, 1, "bytes", d, STAT_VALUE, MODEL_TOLD, 1);
	return r;
}

/* All that a form writes of a run; the caller frees. */
static inline char *written(const struct model_run *r, const char *form,
			    const struct format_opts *o)
{
	struct buf b = {0};
	struct weir_err e = {0};
	struct sink *s = format_find(form)->writer(&b, o);
	assert_non_null(s);
	assert_int_equal(model_replay(r, s), 0);
	assert_int_equal(s->close(s, &e), 0);
	assert_false(b.failed);
	buf_puts(&b, "");
	return buf_take(&b);
}

static inline char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);
	assert_non_null(text);
	if (f) {
		size_t n = fread(text, 1, (1 << 20) - 1, f);
		text[n] = '\0';
		fclose(f);
	}
	return text;
}

static inline void golden(const char *name, const char *text)
{
	char path[512];
	const char *mode = getenv("WEIR_GOLDEN");
	snprintf(path, sizeof(path), "%s/format/%s", TEST_DATA, name);
	if (mode && !strcmp(mode, "write")) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		fclose(f);
	}
	char *want = read_file(path);
	assert_string_equal(text, want);
	free(want);
}

#endif
