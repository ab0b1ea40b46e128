/* SPDX-License-Identifier: BSD-2-Clause */
/* The run: its id, texts, metrics of its own, and looking a figure up. */
#include "model_full.h"

#include <errno.h>
#include <stdio.h>

static struct model_run *new_run(void)
{
	struct model_run *r = model_run_new("tcp", 1796054266123456789, full_rnd);
	assert_non_null(r);
	return r;
}

static void test_id(void **state)
{
	(void)state;
	struct model_run *r = new_run();
	/* 1796054266123 ms = 0x1a22d2d310b */
	assert_string_equal(r->id, "01a22d2d-310b-7abb-bf03-040506070809");
	assert_int_equal(r->outcome, OUTCOME_RUNNING);
	assert_string_equal(r->weir, weir_version);
	model_run_free(r);
	r = model_run_new("tcp", MODEL_NO_TIME, full_rnd);
	assert_memory_equal(r->id, "00000000-0000-7", 15);
	model_run_free(r);
	model_run_free(NULL);
}

static void test_texts(void **state)
{
	(void)state;
	struct model_run *r = new_run();
	char text[5000];
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 100; i++) {
		const char *s = model_run_str(r, text + sizeof(text) - 1 - i * 50);
		assert_int_equal(strlen(s), i * 50);
	}
	assert_null(model_run_str(r, NULL));
	assert_string_equal(model_run_strn(r, "abc", 2), "ab");
	int64_t a = model_run_intern(r, "eth0"), b = model_run_intern(r, "eth1");
	assert_true(a != b && model_run_intern(r, "eth0") == a);
	assert_string_equal(model_run_interned(r, b), "eth1");
	assert_null(model_run_interned(r, b + 1));
	assert_null(model_run_interned(r, -1));
	model_run_free(r);
}

static void test_ext_metrics(void **state)
{
	(void)state;
	struct model_run *r = new_run();
	const struct model_metric *m = model_run_metric(r, "ext.rx", UNIT_PPS, MODEL_U64);
	assert_string_equal(m->name, "ext.rx");
	assert_int_equal(m->unit, UNIT_PPS);
	assert_int_equal(m->type, MODEL_U64);
	for (int i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "ext.q%d", i);
		assert_non_null(model_run_metric(r, name, UNIT_NONE, MODEL_U64));
	}
	assert_ptr_equal(model_run_metric(r, "ext.rx", UNIT_NONE, MODEL_F64), m);
	assert_ptr_equal(model_run_metric(r, "goodput", UNIT_NONE, MODEL_U64),
			 model_metric("goodput"));
	assert_null(model_run_metric(r, "rx", UNIT_NONE, MODEL_U64));
	assert_null(model_run_metric(r, "ext.\xff", UNIT_NONE, MODEL_U64));
	assert_null(model_run_metric(r, "ext.a b", UNIT_NONE, MODEL_U64));
	model_run_free(r);
}

static void test_tags(void **state)
{
	(void)state;
	struct model_run *r = new_run();
	assert_int_equal(model_add_tag(r, "a", "1"), 0);
	assert_int_equal(model_add_tag(r, "b", "2"), 1);
	assert_int_equal(model_add_tag(r, "a", "3"), 0);
	assert_int_equal(r->n_tags, 2);
	assert_string_equal(r->tags[0].v, "3");
	model_run_free(r);
}

static void add(struct model_run *r, const char *metric, enum model_stat stat,
		struct model_dims dims, double value)
{
	struct model_summary s = {.part = MODEL_NO_PART,
				  .metric = model_metric(metric),
				  .dims = dims,
				  .stat = stat,
				  .value = value};
	assert_true(model_add_summary(r, &s) >= 0);
}

/* The figures of a bidirectional run with two flows. */
static struct model_run *figures(void)
{
	struct model_run *r = new_run();
	for (int64_t dir = 0; dir < 2; dir++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_DIR, dir);
		struct model_dims flow = model_dims_with(d, DIM_FLOW, 1);
		double base = dir ? 200 : 100;
		add(r, "goodput", STAT_VALUE, flow, base + 1);
		add(r, "goodput", STAT_VALUE, model_dims_with(d, DIM_VIEW, MODEL_SENDER), base + 2);
		add(r, "goodput", STAT_VALUE, model_dims_with(d, DIM_VIEW, MODEL_RECEIVER),
		    base + 3);
	}
	add(r, "tcp.rtt", STAT_P99, DIMS_NONE, 0.5);
	add(r, "tcp.rtt", STAT_MEAN, model_dims_with(DIMS_NONE, DIM_DIR, MODEL_UP), 0.2);
	add(r, "cpu.total", STAT_MEAN, model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR), 0.9);
	add(r, "cpu.total", STAT_MEAN, model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR), 0.8);
	add(r, "bytes", STAT_VALUE,
	    model_dims_with(DIMS_NONE, DIM_IFACE, model_run_intern(r, "eth0")), 7);
	add(r, "jain", STAT_VALUE, DIMS_NONE, 0);
	r->sums[r->n_sums - 1].state = MODEL_UNKNOWN;
	return r;
}

static void test_find(void **state)
{
	(void)state;
	struct model_run *r = figures();
	struct model_dims up = model_dims_with(DIMS_NONE, DIM_DIR, MODEL_UP);
	assert_true(model_find(r, "goodput", STAT_VALUE, &up, true)->value == 101);
	assert_true(model_find(r, "tcp.rtt", STAT_P99, NULL, true)->value == 0.5);
	assert_null(model_find(r, "tcp.rtt", STAT_P99, &up, true));
	assert_null(model_find(r, "jain", STAT_VALUE, NULL, true));
	assert_non_null(model_find(r, "jain", STAT_VALUE, NULL, false));
	model_run_free(r);
}

static void test_find_spec(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		double value;
	} good[] = {
		{"goodput:up", 103},
		{"goodput:down", 203},
		{"goodput:dir=down:sender", 202},
		{"goodput:up:flow=1", 101},
		{"tcp.rtt", 0.2},
		{"tcp.rtt:p99", 0.5},
		{"cpu.total", 0.8},
		{"cpu.total:far", 0.9},
		{"cpu.total:mean:end=near", 0.8},
		{"bytes:iface=eth0", 7},
		{"bytes", 7},
	};
	struct model_run *r = figures();
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct weir_err e = {0};
		const struct model_summary *s = model_find_spec(r, good[i].spec, &e);
		if (!s)
			fail_msg("%s: %s", good[i].spec, e.msg);
		if (s->value != good[i].value)
			fail_msg("%s gave %g", good[i].spec, s->value);
	}
	model_run_free(r);
}

static void test_find_spec_errors(void **state)
{
	(void)state;
	static const struct {
		const char *spec, *says;
	} bad[] = {
		{"", "no metric"},
		{":", "no metric"},
		{"speed", "no metric"},
		{"goodput", "both directions"},
		{"goodput:sideways", "'sideways' is neither"},
		{"goodput:flow=x", "'flow=x' is neither"},
		{"goodput:dir=left", "neither"},
		{"goodput:up:flow=9", "absent"},
		{"bytes:iface=eth9", "absent"},
		{"jain", "unknown"},
		{"tcp.rtt:\x1b[2J", "\\x1b"},
	};
	struct model_run *r = figures();
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct weir_err e = {0};
		assert_null(model_find_spec(r, bad[i].spec, &e));
		assert_int_equal(e.domain, WEIR_USAGE);
		if (!strstr(e.msg, bad[i].says))
			fail_msg("%s: %s", bad[i].spec, e.msg);
	}
	assert_null(model_find_spec(r, "speed", NULL));
	model_run_free(r);
}

/* A flood of notes leaves room for what matters, and all of it has an end. */
static void test_events_bounded(void **state)
{
	(void)state;
	struct model_run *r = new_run();
	for (size_t i = 0; i < MODEL_EVENTS_MAX; i++)
		model_add_event(r, MODEL_NO_PART, WARN_LATE_SAMPLE, NULL, MODEL_NO_TIME, NULL);
	assert_int_equal(r->n_events, MODEL_EVENTS_MAX / 2);
	assert_true(model_add_event(r, MODEL_NO_PART, WARN_PEER_GONE, NULL, 5, NULL) > 0);
	for (size_t i = 0; i < MODEL_EVENTS_MAX; i++)
		model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, MODEL_NO_TIME, NULL);
	assert_int_equal(r->n_events, MODEL_EVENTS_MAX);
	assert_int_equal(model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, 5, NULL), -ENOSPC);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_id),        cmocka_unit_test(test_events_bounded),
		cmocka_unit_test(test_texts),     cmocka_unit_test(test_ext_metrics),
		cmocka_unit_test(test_tags),      cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_spec), cmocka_unit_test(test_find_spec_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
