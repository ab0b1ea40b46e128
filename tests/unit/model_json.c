/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON document: every construct there and back, the bytes that others rely on (the golden
 * file, which tests/e2e/schema.bats holds against the schema), and documents that lie.
 * With --write it writes the golden files anew.
 */
#include "model_full.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int parse(const char *text, struct model_run **r, struct weir_err *e)
{
	struct js_doc *doc = NULL;
	int rc = js_parse(text, strlen(text), &js_limits_file, &doc, e);
	if (!rc)
		rc = model_from_json(js_root(doc), r, e);
	js_free(doc);
	return rc;
}

static char *to_json(const struct model_run *r)
{
	struct buf b = {0};
	model_to_json(r, &b);
	assert_false(b.failed);
	return buf_take(&b);
}

static void round_trip(struct model_run *r)
{
	char *first = to_json(r), *second;
	struct weir_err e = {0};
	struct model_run *back = NULL;
	if (parse(first, &back, &e))
		fail_msg("%s", e.msg);
	second = to_json(back);
	assert_string_equal(first, second);
	free(first);
	free(second);
	model_run_free(back);
	model_run_free(r);
}

static void test_round_trip(void **state)
{
	(void)state;
	round_trip(full_run());
	round_trip(model_run_new("bare-kind", MODEL_NO_TIME, full_rnd));
}

static char *read_golden(const char *name)
{
	char path[512];
	struct buf b = {0};
	snprintf(path, sizeof(path), "%s/model/%s", TEST_DATA, name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	for (int c; (c = getc(f)) != EOF;)
		buf_putc(&b, (char)c);
	fclose(f);
	return buf_take(&b);
}

static char *to_ndjson(const struct model_run *r)
{
	struct buf b = {0};
	struct sink *s = model_ndjson_sink(&b);
	assert_int_equal(model_replay(r, s), 0);
	assert_int_equal(s->close(s, NULL), 0);
	return buf_take(&b);
}

/* A change here is a change of what scripts read: additive, or a new schema number. */
static void test_golden(void **state)
{
	(void)state;
	struct model_run *r = full_run();
	char *json = to_json(r), *lines = to_ndjson(r);
	char *want_json = read_golden("run.json"), *want_lines = read_golden("run.ndjson");
	assert_string_equal(json, want_json);
	assert_string_equal(lines, want_lines);
	free(json);
	free(lines);
	free(want_json);
	free(want_lines);
	model_run_free(r);
}

/* What survives, looked at by value and not only by its text. */
static void test_values(void **state)
{
	(void)state;
	struct model_run *r = full_run(), *b = NULL;
	char *text = to_json(r);
	assert_int_equal(parse(text, &b, NULL), 0);
	free(text);
	assert_string_equal(b->id, r->id);
	assert_int_equal(b->start_real_ns, 1796054266123456789);
	assert_string_equal(b->host[MODEL_FAR].name, "198.18.0.2");
	assert_string_equal(b->limited_code, "rwnd");
	assert_int_equal(b->parts[1].parent, 0);
	assert_int_equal(b->parts[1].t1, MODEL_NO_TIME);
	assert_int_equal(b->clocks[1].offset_ns, -1500);
	assert_int_equal(b->clocks[0].n_pairs, 2);
	assert_int_equal(b->axes[1]->part, MODEL_NO_PART);
	assert_string_equal(b->frames[0]->cols[3].metric->name, "ext.rx_dropped");
	assert_int_equal(b->frames[0]->cols[3].metric->unit, UNIT_PPS);
	assert_int_equal(hist_count(b->hists[0].h), 5);
	assert_int_equal(hist_max(b->hists[0].h), INT64_MAX);
	assert_int_equal(b->sums[1].state, MODEL_UNKNOWN);
	assert_string_equal(model_run_interned(b, b->sums[1].dims.v[DIM_IFACE]), "eth0");
	assert_int_equal(b->events[1].t, MODEL_NO_TIME);
	assert_null(b->events[1].text);
	assert_int_equal(b->verdicts[0].outcome, VERDICT_INCONCLUSIVE);
	assert_string_equal(b->verdicts[0].inputs[1], "y");
	model_run_free(b);
	model_run_free(r);
}

#define HEAD                                                                              \
	"{\"schema\":1,\"type\":\"run\",\"id\":\"01a22d2d-310b-7abb-bf03-040506070809\"," \
	"\"kind\":\"tcp\""

/* A newer version's additions: passed over, or kept under a name that is well formed. */
static void test_newer(void **state)
{
	(void)state;
	struct model_run *r = NULL;
	struct weir_err e = {0};
	int rc = parse(HEAD
		       ",\"colour\":[1],\"summaries\":["
		       "{\"metric\":\"new.thing\",\"stat\":\"value\",\"value\":3,\"x\":1},"
		       "{\"metric\":\"goodput\",\"stat\":\"p42\",\"value\":3},"
		       "{\"metric\":\"goodput\",\"stat\":\"value\",\"value\":4,"
		       "\"dims\":{\"planet\":\"mars\"}}],"
		       "\"events\":[{\"code\":\"brand-new\\u001b\",\"text\":\"so \\u001b[2J\"}]}",
		       &r, &e);
	if (rc)
		fail_msg("%s", e.msg);
	assert_int_equal(r->n_sums, 1);
	assert_string_equal(r->sums[0].metric->name, "new.thing");
	assert_int_equal(r->events[0].code, WARN_OTHER);
	assert_string_equal(r->events[0].text, "brand-new\\x1b: so \\x1b[2J");
	assert_null(r->weir);
	model_run_free(r);
}

#define AXIS ",\"axes\":[{\"rows\":[[0,1,0],[1,2,0]]}]"

static void test_hostile(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"[]",
		"{}",
		"{\"schema\":1,\"type\":\"run\"}",
		"{\"schema\":2,\"type\":\"run\",\"id\":\"01a22d2d-310b-7abb-bf03-040506070809\","
		"\"kind\":\"tcp\"}",
		"{\"schema\":1,\"type\":\"run\",\"id\":\"01A22d2d-310b-7abb-bf03-040506070809\","
		"\"kind\":\"tcp\"}",
		"{\"schema\":1,\"type\":\"run\",\"id\":\"01a22d2d-310b-7abb-bf03-040506070809\","
		"\"kind\":\"\\u007f\"}",
		HEAD ",\"title\":5}",
		HEAD ",\"outcome\":\"splendid\"}",
		HEAD ",\"request\":\"text\"}",
		HEAD ",\"near\":[]}",
		HEAD ",\"tags\":{\"a\":1}}",
		HEAD ",\"tags\":[]}",
		HEAD ",\"parts\":{}}",
		HEAD ",\"parts\":[1]}",
		HEAD ",\"parts\":[{\"t0_ns\":0,\"parent\":0}]}",
		HEAD ",\"parts\":[{\"t0_ns\":0,\"id\":1}]}",
		HEAD ",\"parts\":[{\"t0_ns\":9223372036854775807}]}",
		HEAD ",\"parts\":[{\"t0_ns\":0,\"parent\":4294967295}]}",
		HEAD ",\"clocks\":[{\"pairs\":[[1]]}]}",
		HEAD ",\"clocks\":[{\"offset_ns\":-9223372036854775807}]}",
		HEAD ",\"axes\":[{\"clock\":0}]}",
		HEAD ",\"axes\":[{\"part\":-1}]}",
		HEAD ",\"axes\":[{\"rows\":[[2,1,0]]}]}",
		HEAD ",\"axes\":[{\"rows\":[[0,1,256]]}]}",
		HEAD ",\"axes\":[{\"rows\":[[-9223372036854775807,9223372036854775807,0]]}]}",
		HEAD ",\"axes\":[{\"rows\":[0]}]}",
		HEAD ",\"frames\":[{\"axis\":0,\"columns\":{}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":1,\"columns\":{}}]}",
		HEAD AXIS ",\"frames\":[{\"columns\":{}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"columns\":{\"bytes\":[1]}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"columns\":{\"bytes\":[1,-2]}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"columns\":{\"bytes\":[1,1.5]}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"columns\":{\"bytes\":[1,\"2\"]}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"columns\":{\"A B\":[1,2]}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"metrics\":[\"bytes\",\"bytes\"]}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"dims\":{\"planet\":1},\"columns\":{}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"dims\":{\"dir\":\"left\"},\"columns\":{}}]}",
		HEAD AXIS ",\"frames\":[{\"axis\":0,\"dims\":{\"flow\":\"x\"},\"columns\":{}}]}",
		HEAD ",\"metrics\":[{\"name\":\"ext.x\",\"unit\":\"furlong\"}]}",
		HEAD ",\"hists\":[{\"metric\":\"tcp.rtt\",\"buckets\":[[1,0]]}]}",
		HEAD
		",\"hists\":[{\"metric\":\"tcp.rtt\",\"buckets\":[[1,5]],\"min\":1,\"max\":1}]}",
		HEAD ",\"hists\":[{\"metric\":\"tcp.rtt\",\"buckets\":[[1,5]],\"min\":1,\"max\":1,"
		     "\"sum\":\"340282366920938463463374607431768211456\"}]}",
		HEAD ",\"hists\":[{\"metric\":\"tcp.rtt\",\"buckets\":[[1,9223372036854775807],"
		     "[2,9223372036854775807]],\"min\":1,\"max\":2,\"sum\":\"1\"}]}",
		HEAD ",\"hists\":[{\"metric\":\"tcp.rtt\",\"exp10\":1000,\"buckets\":[]}]}",
		HEAD ",\"summaries\":[{\"metric\":\"goodput\",\"stat\":\"value\"}]}",
		HEAD ",\"summaries\":[{\"metric\":\"goodput\",\"value\":1}]}",
		HEAD ",\"summaries\":[{\"metric\":\"goodput\",\"stat\":\"mean\",\"value\":\"1\"}]}",
		HEAD ",\"events\":[{}]}",
		HEAD ",\"events\":[{\"code\":\"stall\",\"part\":0}]}",
		HEAD ",\"verdicts\":[{\"inputs\":[1]}]}",
		HEAD ",\"verdicts\":[{\"reasons\":\"x\"}]}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct weir_err e = {0};
		struct model_run *r = NULL;
		int rc = parse(bad[i], &r, &e);
		if (rc >= 0 || r || e.code != -rc || !e.msg[0])
			fail_msg("%s: %d %s", bad[i], rc, e.msg);
	}
}

static void test_sum_of_128_bits(void **state)
{
	(void)state;
	struct model_run *r = NULL;
	uint64_t hi, lo;
	assert_int_equal(
		parse(HEAD
		      ",\"hists\":[{\"metric\":\"tcp.rtt\",\"buckets\":[[1,5]],\"min\":1,\"max\":1,"
		      "\"sum\":\"340282366920938463463374607431768211455\"}]}",
		      &r, NULL),
		0);
	hist_sum(r->hists[0].h, &hi, &lo);
	assert_int_equal(hi, UINT64_MAX);
	assert_int_equal(lo, UINT64_MAX);
	round_trip(r);
}

/* Many histograms in few bytes must not take the memory of the machine. */
static void test_hists_bounded(void **state)
{
	(void)state;
	struct buf b = {0};
	struct model_run *r = NULL;
	struct weir_err e = {0};
	buf_puts(&b, HEAD ",\"hists\":[{\"metric\":\"tcp.rtt\"}");
	for (int i = 0; i < 5000; i++)
		buf_puts(&b, ",{\"metric\":\"tcp.rtt\"}");
	buf_puts(&b, "]}");
	assert_int_equal(parse(b.data, &r, &e), -EMSGSIZE);
	assert_int_equal(e.domain, WEIR_LIMIT);
	buf_fini(&b);
}

static int write_file(const char *name, char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/model/%s", TEST_DATA, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		return 1;
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_golden),
		cmocka_unit_test(test_values),        cmocka_unit_test(test_newer),
		cmocka_unit_test(test_hostile),       cmocka_unit_test(test_sum_of_128_bits),
		cmocka_unit_test(test_hists_bounded),
	};
	if (argc == 2 && !strcmp(argv[1], "--write")) {
		struct model_run *r = full_run();
		int rc =
			write_file("run.json", to_json(r)) | write_file("run.ndjson", to_ndjson(r));
		model_run_free(r);
		return rc;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
