/* SPDX-License-Identifier: BSD-2-Clause */
/* NDJSON: a stored run and a live one, cut at every line, and lines that lie. */
#include "model_full.h"

#include <errno.h>
#include <stdlib.h>

static char *to_json(const struct model_run *r)
{
	struct buf b = {0};
	model_to_json(r, &b);
	assert_false(b.failed);
	return buf_take(&b);
}

static void same_runs(const struct model_run *a, const struct model_run *b)
{
	char *x = to_json(a), *y = to_json(b);
	assert_string_equal(x, y);
	free(x);
	free(y);
}

static struct buf replay(const struct model_run *r)
{
	struct buf b = {0};
	struct sink *s = model_ndjson_sink(&b);
	assert_int_equal(model_replay(r, s), 0);
	assert_int_equal(s->close(s, NULL), 0);
	assert_int_equal(b.data[b.len - 1], '\n');
	return b;
}

/* Feeds up to `lines` lines; how many there were. */
static size_t feed(struct model_ndjson_reader *rd, const struct buf *b, size_t lines)
{
	size_t n = 0;
	for (const char *p = b->data; *p && n < lines; n++) {
		const char *end = strchr(p, '\n');
		struct weir_err e = {0};
		if (model_ndjson_line(rd, p, (size_t)(end - p), &e))
			fail_msg("%s", e.msg);
		p = end + 1;
	}
	return n;
}

static void test_round_trip(void **state)
{
	(void)state;
	struct model_run *r = full_run();
	struct buf b = replay(r);
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	feed(rd, &b, SIZE_MAX);
	struct model_run *back = model_ndjson_take(rd);
	assert_null(model_ndjson_run(rd));
	same_runs(r, back);
	model_run_free(back);
	model_ndjson_reader_free(rd);
	buf_fini(&b);
	model_run_free(r);
}

static size_t count_lines(const struct buf *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* However much arrived: a run that can be written and read, and that says whether it is whole. */
static void test_cut_at_every_line(void **state)
{
	(void)state;
	struct model_run *r = full_run();
	struct buf b = replay(r);
	size_t lines = count_lines(&b);
	for (size_t cut = 1; cut <= lines; cut++) {
		struct model_ndjson_reader *rd = model_ndjson_reader_new();
		struct js_doc *doc = NULL;
		struct model_run *back = NULL;
		assert_int_equal(feed(rd, &b, cut), cut);
		char *json = to_json(model_ndjson_run(rd));
		assert_int_equal(js_parse(json, strlen(json), &js_limits_file, &doc, NULL), 0);
		assert_int_equal(model_from_json(js_root(doc), &back, NULL), 0);
		assert_int_equal(back->outcome, cut == lines ? OUTCOME_COMPLETE : OUTCOME_RUNNING);
		same_runs(back, model_ndjson_run(rd));
		model_run_free(back);
		js_free(doc);
		free(json);
		model_ndjson_reader_free(rd);
	}
	buf_fini(&b);
	model_run_free(r);
}

/* ---- a live run ---- */

struct live {
	struct model_run *r;
	struct sink *s;
	struct model_ndjson_reader *rd;
	struct buf b;
};

/* Reads what was written so far; it must make the same run but for what "end" brings. */
static void catch_up(struct live *l)
{
	feed(l->rd, &l->b, SIZE_MAX);
	buf_clear(&l->b);
}

static void live_tick(struct live *l, uint32_t axis, int64_t t, size_t n_rows)
{
	union model_value v[2] = {{.u = (uint64_t)t}, {.f = 0.001 * (double)t}};
	struct model_row rows[2] = {{0, v, 3}, {1, v, 2}};
	struct model_tick tick = {axis, t, t + 1, 0, rows, n_rows};
	assert_int_equal(model_append(l->r, &tick), 0);
	l->s->sample(l->s, l->r, &tick);
	catch_up(l);
}

static void live_event(struct live *l, int64_t t)
{
	int i = model_add_event(l->r, 0, WARN_STALL, NULL, t, "now");
	l->s->event(l->s, l->r, &l->r->events[i]);
	catch_up(l);
}

static void live_end(struct live *l)
{
	model_end_part(l->r, 1, 9, OUTCOME_COMPLETE);
	model_add_summary(l->r, &(struct model_summary){.part = 1,
							.metric = model_metric("goodput"),
							.stat = STAT_VALUE,
							.value = 5});
	l->r->outcome = OUTCOME_PARTIAL;
	l->r->error = "cut short";
	l->r->host[MODEL_FAR].tool = "iperf3";
	l->s->end(l->s, l->r);
	catch_up(l);
}

static void test_live(void **state)
{
	(void)state;
	struct live l = {.r = model_run_new("tcp", 5, full_rnd)};
	const struct model_metric *cols[] = {model_metric("bytes"), model_metric("tcp.rtt")};
	l.s = model_ndjson_sink(&l.b);
	l.rd = model_ndjson_reader_new();
	model_add_tag(l.r, "first", "1");
	model_add_clock(l.r, MODEL_NEAR, CLOCK_KIND_MONO);
	l.s->begin(l.s, l.r);
	model_add_part(l.r, PART_PHASE, MODEL_NO_PART, "omit", 0);
	model_add_axis(l.r, 0, 0);
	model_add_frame(l.r, 0, NULL, cols, 2);
	live_tick(&l, 0, 0, 1);
	same_runs(l.r, model_ndjson_run(l.rd));
	model_add_tag(l.r, "late", "2");
	cols[0] = model_run_metric(l.r, "ext.late", UNIT_BYTE, MODEL_U64);
	model_add_frame(l.r, 0, NULL, cols, 2);
	live_event(&l, 1);
	live_tick(&l, 0, 1, 2);
	same_runs(l.r, model_ndjson_run(l.rd));
	model_end_part(l.r, 0, 2, OUTCOME_COMPLETE);
	model_add_part(l.r, PART_PHASE, MODEL_NO_PART, "load", 2);
	model_add_event(l.r, 1, WARN_CAP, NULL, 2, "told nobody");
	model_add_clock_pair(l.r, 0, 1, 2);
	live_tick(&l, 0, 2, 1);
	assert_int_equal(model_ndjson_run(l.rd)->parts[0].t1, 2);
	live_event(&l, 3);
	live_end(&l);
	same_runs(l.r, model_ndjson_run(l.rd));
	assert_int_equal(l.s->close(l.s, NULL), 0);
	model_ndjson_reader_free(l.rd);
	buf_fini(&l.b);
	model_run_free(l.r);
}

static void test_full_buffer(void **state)
{
	(void)state;
	struct model_run *r = full_run();
	struct buf b = {.max = 1000};
	struct weir_err e = {0};
	struct sink *s = model_ndjson_sink(&b);
	assert_int_equal(model_replay(r, s), 0);
	assert_true(s->close(s, &e) < 0);
	assert_int_equal(e.domain, WEIR_LIMIT);
	buf_fini(&b);
	model_run_free(r);
}

/* ---- lines that lie ---- */

#define RUN                                                                               \
	"{\"type\":\"run\",\"schema\":1,\"id\":\"01a22d2d-310b-7abb-bf03-040506070809\"," \
	"\"kind\":\"tcp\"}"
#define TICK "{\"type\":\"tick\",\"axis\":0,\"t0_ns\":0,\"t1_ns\":1,"

static int line(struct model_ndjson_reader *rd, const char *text, struct weir_err *e)
{
	return model_ndjson_line(rd, text, strlen(text), e);
}

static void test_hostile(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"x",
		"[]",
		"{}",
		"{\"type\":5}",
		RUN,
		"{\"type\":\"part\",\"id\":7,\"t0_ns\":0}",
		"{\"type\":\"axis\",\"id\":0}",
		"{\"type\":\"frame\",\"axis\":5,\"metrics\":[]}",
		"{\"type\":\"frame\",\"axis\":0,\"metrics\":[\"\"]}",
		"{\"type\":\"frame\",\"axis\":0,\"metrics\":[5]}",
		"{\"type\":\"tag\",\"key\":\"a\"}",
		"{\"type\":\"tick\",\"axis\":1,\"t0_ns\":0,\"t1_ns\":1,\"rows\":[]}",
		"{\"type\":\"tick\",\"axis\":0,\"t0_ns\":2,\"t1_ns\":1,\"rows\":[]}",
		"{\"type\":\"tick\",\"axis\":0,\"t0_ns\":0,\"rows\":[]}",
		TICK "\"flags\":-1,\"rows\":[]}",
		TICK "\"rows\":{}}",
		TICK "\"rows\":[[1]]}",
		TICK "\"rows\":[[1,2,3]]}",
		TICK "\"rows\":[[1,2],[1,2]]}",
		TICK "\"rows\":[[-1,2]]}",
		TICK "\"rows\":[[1,\"2\"]]}",
		TICK "\"rows\":[null]}",
		"{\"type\":\"end\",\"outcome\":1}",
	};
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	struct weir_err e = {0};
	assert_int_equal(line(rd, "{\"type\":\"part\"}", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "before 'run'"));
	assert_int_equal(line(rd, RUN, NULL), 0);
	assert_int_equal(line(rd, "{\"type\":\"axis\"}", NULL), 0);
	assert_int_equal(line(rd,
			      "{\"type\":\"frame\",\"axis\":0,\"metrics\":[\"bytes\",\"tcp.rtt\"]}",
			      NULL),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = (struct weir_err){0};
		int rc = line(rd, bad[i], &e);
		if (rc >= 0 || e.code != -rc || !strstr(e.msg, "line "))
			fail_msg("%s: %d %s", bad[i], rc, e.msg);
	}
	assert_int_equal(model_ndjson_run(rd)->axes[0]->n, 0);
	assert_int_equal(line(rd, " \t\r", NULL), 0);
	assert_int_equal(line(rd, "", NULL), 0);
	assert_int_equal(line(rd, "{\"type\":\"novelty\"}", NULL), 0);
	assert_int_equal(line(rd, TICK "\"rows\":[[null,2]],\"x\":1}", NULL), 0);
	assert_int_equal(model_ndjson_run(rd)->frames[0]->n_rows, 1);
	assert_int_equal(line(rd, "{\"type\":\"end\"}", NULL), 0);
	assert_int_equal(line(rd, TICK "\"rows\":[]}", &e), -EINVAL);
	model_ndjson_reader_free(rd);
	model_ndjson_reader_free(NULL);
}

/* A stream without end stays within the cap, and the run says so. */
static void test_cap(void **state)
{
	(void)state;
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	assert_int_equal(line(rd, RUN, NULL), 0);
	assert_int_equal(line(rd, "{\"type\":\"axis\"}", NULL), 0);
	model_ndjson_run(rd)->mem_cap = 4000;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(line(rd, TICK "\"rows\":[]}", NULL), 0);
	assert_true(model_ndjson_run(rd)->axes[0]->n < 2000);
	assert_int_equal(model_ndjson_run(rd)->events[0].code, WARN_MEMORY_CAP);
	model_ndjson_reader_free(rd);
}

/* Nor may texts pile up: an announced part can be announced again for ever. */
static void test_text_cap(void **state)
{
	(void)state;
	struct model_ndjson_reader *rd = model_ndjson_reader_new();
	struct weir_err e = {0};
	int rc = line(rd, RUN, NULL), n = 0;
	model_ndjson_run(rd)->mem_cap = 10000;
	for (; !rc && n < 100000; n++)
		rc = line(rd, "{\"type\":\"part\",\"id\":0,\"t0_ns\":0,\"name\":\"abcdefgh\"}", &e);
	assert_int_equal(rc, -EMSGSIZE);
	assert_true(n > 100 && n < 1000);
	assert_int_equal(e.domain, WEIR_LIMIT);
	model_ndjson_reader_free(rd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_cut_at_every_line),
		cmocka_unit_test(test_live),       cmocka_unit_test(test_full_buffer),
		cmocka_unit_test(test_hostile),    cmocka_unit_test(test_cap),
		cmocka_unit_test(test_text_cap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
