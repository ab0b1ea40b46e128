/* SPDX-License-Identifier: BSD-2-Clause */
/* Sinks: a tee calls all in order, a replay merges by time on clock 0. */
#include "model_full.h"

#include <errno.h>
#include <stdlib.h>

/* Writes down what it is called with. */
struct log {
	struct sink sink;
	struct buf *out;
	char name;
	int close_rc;
};

static void log_begin(struct sink *s, const struct model_run *r)
{
	struct log *l = (struct log *)s;
	buf_printf(l->out, "%cb%s ", l->name, r->kind);
}

static void log_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct log *l = (struct log *)s;
	assert_true(t->axis < r->n_axes);
	buf_printf(l->out, "%cs%u@%d ", l->name, t->axis, (int)t->t1);
}

static void log_event(struct sink *s, const struct model_run *r, const struct model_event *e)
{
	struct log *l = (struct log *)s;
	buf_printf(l->out, "%ce%d ", l->name, (int)(e - r->events));
}

static void log_end(struct sink *s, const struct model_run *r)
{
	struct log *l = (struct log *)s;
	(void)r;
	buf_printf(l->out, "%c. ", l->name);
}

static int log_close(struct sink *s, struct weir_err *e)
{
	struct log *l = (struct log *)s;
	int rc = l->close_rc;
	buf_printf(l->out, "%cx ", l->name);
	free(l);
	return rc ? err_set(e, WEIR_OS, -rc, "sink %d", -rc) : 0;
}

static struct sink *new_log(struct buf *out, char name, int close_rc)
{
	struct log *l = calloc(1, sizeof(*l));
	*l = (struct log){
		{log_begin, log_sample, log_event, log_end, log_close}, out, name, close_rc};
	return &l->sink;
}

static void tick(struct model_run *r, uint32_t axis, int64_t t0, int64_t t1)
{
	struct model_tick t = {.axis = axis, .t0 = t0, .t1 = t1};
	assert_int_equal(model_append(r, &t), 0);
}

static struct model_run *two_axes(void)
{
	struct model_run *r = model_run_new("k", 0, full_rnd);
	model_add_clock(r, MODEL_NEAR, CLOCK_KIND_MONO);
	model_add_clock(r, MODEL_FAR, CLOCK_KIND_MONO);
	r->clocks[1].offset_known = true;
	r->clocks[1].offset_ns = -100;
	model_add_axis(r, MODEL_NO_PART, 0);
	model_add_axis(r, MODEL_NO_PART, 1);
	model_add_axis(r, MODEL_NO_PART, 0); /* stays empty */
	tick(r, 0, 0, 10);
	tick(r, 0, 10, 20);
	tick(r, 0, 20, 30);
	tick(r, 1, 100, 115); /* 15 on clock 0 */
	tick(r, 1, 115, 130); /* 30 */
	model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, MODEL_NO_TIME, NULL);
	model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, 20, NULL);
	model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, 3, NULL);
	model_add_event(r, MODEL_NO_PART, WARN_STALL, NULL, 20, NULL);
	return r;
}

static void test_replay(void **state)
{
	(void)state;
	struct model_run *r = two_axes();
	struct buf b = {0};
	struct sink *s = new_log(&b, 'a', 0);
	assert_int_equal(model_replay(r, s), 0);
	assert_int_equal(s->close(s, NULL), 0);
	assert_string_equal(b.data,
			    "abk ae2 as0@10 as1@115 as0@20 ae1 ae3 as0@30 as1@130 ae0 a. ax ");
	buf_fini(&b);
	model_run_free(r);
}

static void test_many_axes(void **state)
{
	(void)state;
	struct model_run *r = model_run_new("k", 0, full_rnd);
	struct buf b = {0};
	for (uint32_t i = 0; i < 9; i++)
		model_add_axis(r, MODEL_NO_PART, 0);
	for (int64_t t = 0; t < 4; t++) {
		for (uint32_t i = 0; i < 9; i++)
			tick(r, i, t * 9, t * 9 + 9 - i);
	}
	struct sink *s = new_log(&b, 'a', 0);
	assert_int_equal(model_replay(r, s), 0);
	s->close(s, NULL);
	int last = 0, n = 0;
	for (const char *p = b.data; (p = strchr(p, '@')); n++) {
		int t = (int)strtol(++p, NULL, 10);
		assert_true(t > last);
		last = t;
	}
	assert_int_equal(n, 36);
	buf_fini(&b);
	model_run_free(r);
}

static void test_tee(void **state)
{
	(void)state;
	struct model_run *r = model_run_new("k", 0, full_rnd);
	struct buf b = {0};
	struct weir_err e = {0};
	model_add_axis(r, MODEL_NO_PART, 0);
	tick(r, 0, 0, 1);
	struct sink *two[] = {new_log(&b, 'a', -ENOSPC), new_log(&b, 'b', -EIO)};
	struct sink *partial = new_log(&b, 'c', 0);
	partial->begin = NULL;
	partial->sample = NULL;
	partial->end = NULL;
	struct sink *all[] = {sink_tee(two, 2), partial};
	struct sink *s = sink_tee(all, 2);
	assert_int_equal(model_replay(r, s), 0);
	assert_int_equal(s->close(s, &e), -ENOSPC);
	assert_int_equal(e.code, ENOSPC);
	assert_string_equal(b.data, "abk bbk as0@1 bs0@1 a. b. ax bx cx ");
	buf_fini(&b);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_many_axes),
		cmocka_unit_test(test_tee),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
