/* SPDX-License-Identifier: BSD-2-Clause */
/* Headline, table of runs, spread, sparkline, wrapping, intervals. */
#include "format_runs.h"

#include <math.h>

#include "format/priv.h"

static char *headline(const struct model_run *r)
{
	struct buf b = {0};
	format_headline(r, &b);
	buf_puts(&b, "");
	return buf_take(&b);
}

static void headlines(void **state)
{
	(void)state;
	static const struct {
		struct model_run *(*make)(void);
		const char *want;
	} cases[] = {
		{run_up, "9.38 Gbit/s up, 12 retransmits, RTT 310 us to 3.20 ms, 1 warning"},
		{run_bidir, "927 Mbit/s up, 6 retransmits; 879 Mbit/s down, 7 retransmits"},
		{run_failed, "failed: 198.18.0.9:5201 refused the connection"},
		{run_other, "cpu.seconds 1.25 ms"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct model_run *r = cases[i].make();
		char *got = headline(r);
		assert_string_equal(got, cases[i].want);
		free(got);
		model_run_free(r);
	}
}

static void collect(void *arg, enum model_severity sev, const char *text)
{
	(void)sev;
	buf_puts(arg, text);
	buf_putc(arg, '\n');
}

/* The same event at both ends is two. */
static void events_say_whose(void **state)
{
	(void)state;
	struct model_dims far = model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR);
	struct model_run *r = run_other();
	struct buf b = {0};
	r->n_events = 0;
	model_add_event(r, MODEL_NO_PART, WARN_STALL, &far, MODEL_NO_TIME, "2 of 3 flows");
	model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, MODEL_NO_TIME, "2 of 3 flows");
	model_add_event(r, MODEL_NO_PART, WARN_STALL, &far, MODEL_NO_TIME, "2 of 3 flows");
	format_events(r, false, collect, &b);
	assert_string_equal(b.data, "far end: intervals without a byte: 2 of 3 flows (2 times)\n"
				    "intervals without a byte: 2 of 3 flows\n");
	buf_fini(&b);
	model_run_free(r);
}

static void a_cut_run_has_a_headline(void **state)
{
	(void)state;
	struct model_run *down = run_cut(MODEL_DOWN), *up = run_cut(MODEL_UP);
	char *text = headline(down);
	assert_string_equal(text, "941 Mbit/s down, incomplete, 1 warning");
	free(text);
	text = headline(up);
	assert_string_equal(text, "941 Mbit/s up (sent), 0 retransmits, incomplete, 1 warning");
	free(text);
	model_run_free(down);
	model_run_free(up);
}

static void table_of_runs(void **state)
{
	(void)state;
	struct model_run *r[] = {run_up(), run_bidir(), run_cut(MODEL_DOWN), run_failed()};
	const struct model_run *const runs[] = {r[0], r[1], r[2], r[3]};
	struct format_opts o = {.width = 80};
	struct buf b = {0};
	format_table(runs, ARRAY_LEN(runs), &o, &b);
	golden("table.txt", b.data);
	buf_fini(&b);
	for (size_t i = 0; i < ARRAY_LEN(r); i++)
		model_run_free(r[i]);
}

static void spread_of_repeats(void **state)
{
	(void)state;
	struct model_run *r[4];
	const struct model_run *runs[4];
	static const double values[] = {940e6, 900e6, 950e6, 0};
	for (size_t i = 0; i < 4; i++) {
		runs[i] = r[i] = new_run("tcp", NULL);
		uint32_t part =
			(uint32_t)model_add_part(r[i], PART_PHASE, MODEL_NO_PART, "load", 0);
		if (values[i] > 0)
			put_sum(r[i], part, "goodput", dims_of(MODEL_UP, MODEL_RECEIVER, MODEL_FAR),
				STAT_VALUE, MODEL_TOLD, values[i]);
	}
	struct buf b = {0};
	format_spread(runs, 4, NULL, &b);
	golden("spread.txt", b.data);
	assert_non_null(strstr(b.data, "3 of 4"));
	buf_clear(&b);
	format_spread(runs + 3, 1, NULL, &b);
	assert_string_equal(b.data, "no run has a figure to compare\n");
	buf_fini(&b);
	for (size_t i = 0; i < 4; i++)
		model_run_free(r[i]);
}

/* Values and the outcome of each repeat; what the line says. */
static void only_complete_runs_count(void **state)
{
	(void)state;
	static const struct {
		double v[3];
		enum model_outcome last;
		const char *want;
	} cases[] = {
		{{0, 0, 0}, OUTCOME_COMPLETE, "   0 %    3 of 3"},
		{{5, 5, 5}, OUTCOME_PARTIAL, "   0 %    2 of 3"},
		{{0, 4, 9}, OUTCOME_FAILED, "2 of 3"},
	};
	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		const struct model_run *runs[3];
		struct model_run *r[3];
		struct buf b = {0};
		for (size_t i = 0; i < 3; i++) {
			runs[i] = r[i] = new_run("tcp", NULL);
			uint32_t part = (uint32_t)model_add_part(r[i], PART_PHASE, MODEL_NO_PART,
								 "load", 0);
			put_sum(r[i], part, "tcp.retransmits",
				dims_of(MODEL_UP, MODEL_SENDER, MODEL_NEAR), STAT_VALUE,
				MODEL_MEASURED, cases[c].v[i]);
		}
		r[2]->outcome = cases[c].last;
		format_spread(runs, 3, NULL, &b);
		if (!strstr(b.data, cases[c].want))
			fail_msg("case %zu: %s", c, b.data);
		buf_fini(&b);
		for (size_t i = 0; i < 3; i++)
			model_run_free(r[i]);
	}
}

static void sparklines(void **state)
{
	(void)state;
	static const double v[] = {0, 50, 100, (double)NAN, 25};
	struct buf b = {0};
	format_spark(&b, v, 5, 10, true);
	assert_string_equal(b.data, "\xe2\x96\x81\xe2\x96\x85\xe2\x96\x88 \xe2\x96\x83");
	buf_clear(&b);
	format_spark(&b, v, 5, 10, false);
	assert_string_equal(b.data, "_=# ,");
	buf_clear(&b);
	double many[1000];
	for (size_t i = 0; i < 1000; i++)
		many[i] = i < 500 ? 1 : 2;
	format_spark(&b, many, 1000, 4, false);
	assert_string_equal(b.data, "==##");
	buf_clear(&b);
	format_spark(&b, v, 1, 10, false); /* nothing but zero */
	assert_string_equal(b.data, "_");
	buf_fini(&b);
}

static void wraps_at_words(void **state)
{
	(void)state;
	struct buf b = {0};
	format_wrap(&b, "note", 6, "one two three four", 16);
	assert_string_equal(b.data, "note  one two\n      three four\n");
	buf_clear(&b);
	format_wrap(&b, "note", 6, "a-word-longer-than-the-line", 16);
	assert_string_equal(b.data, "note  a-word-lon\n      ger-than-t\n      he-line\n");
	buf_clear(&b);
	format_wrap(&b, "a-long-label", 6, "text", 16);
	assert_string_equal(b.data, "a-long-label text\n");
	buf_clear(&b);
	format_wrap(&b, "x", 6, "", 16);
	assert_string_equal(b.data, "x\n");
	buf_fini(&b);
}

static void intervals(void **state)
{
	(void)state;
	static const struct {
		int64_t t0_ms, t1_ms, origin_ms;
		const char *want;
	} cases[] = {
		{0, 1000, 0, "0-1 s"},
		{1100, 2100, 100, "1-2 s"},
		{9999, 10004, 0, "9.999-10.004 s"},
		{0, 100, 0, "0.0-0.1 s"},
		{10000, 10200, 0, "10.0-10.2 s"},
		{2003, 3001, 0, "2-3 s"},
		{500, 750, 0, "0.50-0.75 s"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = {0};
		format_interval(&b, cases[i].t0_ms * NSEC_PER_MSEC, cases[i].t1_ms * NSEC_PER_MSEC,
				cases[i].origin_ms * NSEC_PER_MSEC);
		assert_string_equal(b.data, cases[i].want);
		buf_fini(&b);
	}
}

static void figure(const struct format_fig *f, const char *want)
{
	struct buf b = {0};
	format_fig_put(&b, f, 3, false);
	assert_string_equal(b.data, want);
	buf_fini(&b);
}

static void digits_as_far_as_known(void **state)
{
	(void)state;
	struct format_fig f = {.metric = model_metric("goodput"), .value = 9.41e9};
	figure(&f, "9.41 Gbit/s");
	f.resolution = 1e8;
	figure(&f, "9.4 Gbit/s");
	f.bound = MODEL_GE;
	f.resolution = 1e9;
	figure(&f, ">= 9 Gbit/s");
	f.state = MODEL_UNKNOWN;
	figure(&f, "unknown");
	f.state = MODEL_NA;
	figure(&f, "n/a");
	f = (struct format_fig){.metric = model_metric("tcp.retransmits"), .value = 12345};
	figure(&f, "12345");
	f.metric = NULL;
	figure(&f, "unknown");
	f = (struct format_fig){.metric = model_metric("tcp.rtt"), .value = 57e-6};
	figure(&f, "57 us"); /* the kernel tells whole microseconds */
	f.value = 310e-6;
	figure(&f, "310 us");
}

/* A flow without a value leaves the sum unknown; it is not a zero. */
static void sums_need_every_flow(void **state)
{
	(void)state;
	struct model_run *r = run_bidir();
	struct format_group g;
	assert_true(format_group_pick(r, MODEL_UP, FORMAT_ANY, &g));
	assert_int_equal(g.view, MODEL_SENDER);
	union model_value v[4][4] = {{{.u = 1000}}, {{.u = 500}}, {{.u = 7}}, {{.u = 7}}};
	struct model_row rows[4];
	for (uint32_t i = 0; i < 4; i++)
		rows[i] = (struct model_row){i, v[i], 1};
	struct model_tick t = {0, 0, NSEC_PER_SEC / 2, 0, rows, 4};
	double x = 0;
	assert_true(format_tick_value(r, &t, &g, "throughput.sent", &x));
	assert_true(x == 1500 * 8 * 2); /* the other direction is not in it */
	assert_false(format_tick_value(r, &t, &g, "goodput", &x));
	rows[1].valid = 0;
	assert_false(format_tick_value(r, &t, &g, "throughput.sent", &x));
	model_run_free(r);
}

/* Each direction one after the other: a host's CPU belongs to the direction of its part. */
static void cpu_of_a_part_with_one_direction(void **state)
{
	(void)state;
	struct model_run *r = new_run("tcp", NULL);
	struct model_dims here = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	for (int dir = 0; dir < 2; dir++) {
		uint32_t part = (uint32_t)model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", dir);
		put_sum(r, part, "goodput", dims_of(dir, MODEL_RECEIVER, !dir), STAT_VALUE,
			MODEL_MEASURED, 1e9);
		put_sum(r, part, "cpu.total", here, STAT_VALUE, MODEL_MEASURED, 0.25 + dir);
	}
	for (int dir = 0; dir < 2; dir++) {
		struct format_key k = {.metric = "cpu.total",
				       .dir = dir,
				       .view = FORMAT_ANY,
				       .end = MODEL_NEAR,
				       .flow = -1,
				       .directed = true};
		struct format_fig f = format_fig(r, &k);
		assert_true(format_known(&f));
		assert_true(f.value == 0.25 + dir);
	}
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headlines),
		cmocka_unit_test(events_say_whose),
		cmocka_unit_test(a_cut_run_has_a_headline),
		cmocka_unit_test(table_of_runs),
		cmocka_unit_test(spread_of_repeats),
		cmocka_unit_test(only_complete_runs_count),
		cmocka_unit_test(sparklines),
		cmocka_unit_test(wraps_at_words),
		cmocka_unit_test(intervals),
		cmocka_unit_test(digits_as_far_as_known),
		cmocka_unit_test(sums_need_every_flow),
		cmocka_unit_test(cpu_of_a_part_with_one_direction),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
