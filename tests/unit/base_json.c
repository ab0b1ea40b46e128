/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading JSON: what peers send is repaired, what is too much is refused, in linear time. */
#include "base/base.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct js_limits lenient = {.max_bytes = 1 << 20, .max_depth = 16, .lenient = true};

static struct js_doc *parse(const char *text, const struct js_limits *lim)
{
	struct js_doc *d;
	struct weir_err e = {0};
	if (js_parse(text, strlen(text), lim, &d, &e))
		fail_msg("%s: %s", text, e.msg);
	return d;
}

/* What a text becomes, as compact JSON. */
static void becomes(const char *text, const struct js_limits *lim, const char *want)
{
	struct js_doc *d = parse(text, lim);
	struct buf b = {0};
	js_dump(js_root(d), &b);
	assert_string_equal(b.data, want);
	buf_fini(&b);
	js_free(d);
}

static void refused(const char *text, const struct js_limits *lim, int code, const char *message)
{
	struct js_doc *d;
	struct weir_err e = {0};
	assert_int_equal(js_parse(text, strlen(text), lim, &d, &e), -code);
	assert_null(d);
	if (!strstr(e.msg, message))
		fail_msg("\"%s\" does not say \"%s\"", e.msg, message);
}

static void reads_by_type(void **state)
{
	(void)state;
	struct js_doc *d = parse("{\"i\":-7,\"r\":2.5,\"w\":3.0,\"s\":\"\\u00e9\",\"b\":true,"
				 "\"n\":null,\"a\":[1,2,3],\"o\":{}}",
				 &js_limits_file);
	const struct js *o = js_root(d);
	int64_t i;
	double f;
	bool flag;
	size_t n;
	assert_true(js_i64(js_get(o, "i"), &i) && i == -7);
	assert_true(js_f64(js_get(o, "i"), &f) && f == -7);
	assert_false(js_i64(js_get(o, "r"), &i));
	assert_true(js_i64(js_get(o, "w"), &i) && i == 3);
	assert_true(js_f64(js_get(o, "r"), &f) && f == 2.5);
	assert_string_equal(js_str(js_get(o, "s"), &n), "\xc3\xa9");
	assert_int_equal(n, 2);
	assert_true(js_bool(js_get(o, "b"), &flag) && flag);
	assert_false(js_bool(js_get(o, "i"), &flag));
	assert_null(js_str(js_get(o, "i"), &n));
	assert_int_equal(js_type(js_get(o, "n")), JS_NULL);
	assert_int_equal(js_type(js_get(o, "a")), JS_ARR);
	assert_int_equal(js_type(js_get(o, "o")), JS_OBJ);
	assert_int_equal(js_len(js_get(o, "a")), 3);
	assert_int_equal(js_len(o), 8);
	assert_true(js_i64(js_at(js_get(o, "a"), 2), &i) && i == 3);
	assert_null(js_at(js_get(o, "a"), 3));
	js_free(d);
}

static void absent_is_harmless(void **state)
{
	(void)state;
	int64_t i = 5;
	void *it = NULL;
	const char *key;
	const struct js *v;
	struct js_doc *d = parse("[1]", &js_limits_file);
	assert_null(js_get(js_root(d), "x"));
	assert_null(js_get(NULL, "x"));
	assert_null(js_geti(NULL, "x"));
	assert_int_equal(js_type(NULL), JS_NONE);
	assert_int_equal(js_len(NULL), 0);
	assert_null(js_at(NULL, 0));
	assert_false(js_i64(NULL, &i));
	assert_false(js_each(NULL, &it, &key, &v));
	assert_false(js_each(js_root(d), &it, &key, &v));
	assert_null(js_root(NULL));
	js_free(d);
	js_free(NULL);
	assert_int_equal(i, 5);
}

static void walks_objects(void **state)
{
	(void)state;
	struct js_doc *d = parse("{\"one\":1,\"Two\":2,\"three\":3}", &js_limits_file);
	void *it = NULL;
	const char *key;
	const struct js *v;
	int64_t i, sum = 0;
	while (js_each(js_root(d), &it, &key, &v))
		sum += js_i64(v, &i) ? i : 100;
	assert_int_equal(sum, 6);
	assert_null(js_get(js_root(d), "two"));
	assert_true(js_i64(js_geti(js_root(d), "tWO"), &i) && i == 2);
	js_free(d);
}

static void geti_prefers_the_exact_key(void **state)
{
	(void)state;
	struct js_doc *d = parse("{\"TIME\":1,\"time\":2}", &js_limits_file);
	int64_t i;
	assert_true(js_i64(js_geti(js_root(d), "time"), &i) && i == 2);
	js_free(d);
}

static void repairs_numbers(void **state)
{
	(void)state;
	becomes("{\"a\":18446744073709551615}", &lenient, "{\"a\":-1}");
	becomes("[18446744073709551614,-9223372036854775809,9223372036854775807]", &lenient,
		"[1.8446744073709552e+19,-9.223372036854776e+18,9223372036854775807]");
	becomes("[1e999,-1e999,1e308,1e-999]", &lenient, "[null,null,1e+308,0]");
	becomes("[NaN,nan,-nan,Infinity,-Infinity,inf,INF]", &lenient,
		"[null,null,null,null,null,null,null]");
	becomes("[\"nan\",\"1e999\",true,false,null]", &lenient,
		"[\"nan\",\"1e999\",true,false,null]");
}

static void refuses_such_numbers_in_files(void **state)
{
	(void)state;
	refused("[18446744073709551615]", &js_limits_file, EINVAL, "byte 1: a number out of range");
	refused("[1e999]", &js_limits_file, EINVAL, "a number out of range");
	refused("[1,-nan]", &js_limits_file, EINVAL, "byte 3: a value that is not a number");
	refused("Infinity", &js_limits_file, EINVAL, "not a number");
	becomes("[9223372036854775807,-9223372036854775808,1.5e300]", &js_limits_file,
		"[9223372036854775807,-9223372036854775808,1.5e+300]");
}

static void repairs_strings(void **state)
{
	(void)state;
	becomes("\"a\\u0000b\"", &lenient,
		"\"a\xef\xbf\xbd"
		"b\"");
	becomes("{\"k\\u0000\":1}", &lenient, "{\"k\xef\xbf\xbd\":1}");
	becomes("\"\xff\xc3\xa9\xe2\x82\"", &lenient,
		"\"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\"");
	becomes("\"\\ud800x\\udc00\\ud83d\\ude00\"", &lenient,
		"\"\xef\xbf\xbdx\xef\xbf\xbd\xf0\x9f\x98\x80\"");
	becomes("\"a\nb\tc\"", &lenient, "\"a\\u000ab\\u0009c\"");
	becomes("\"\\\\u0000\\\"nan\"", &lenient, "\"\\\\u0000\\\"nan\"");
}

static void refuses_such_strings_in_files(void **state)
{
	(void)state;
	refused("[\"\\u0000\"]", &js_limits_file, EINVAL, "byte 2: \\u0000 in a string");
	refused("[\"\xff\"]", &js_limits_file, EINVAL, "byte 2: not UTF-8");
	refused("[\"\\ud800\"]", &js_limits_file, EINVAL, "surrogate");
	refused("[\"\n\"]", &js_limits_file, EINVAL, "control character");
	becomes("\"\\ud83d\\ude00\"", &js_limits_file, "\"\xf0\x9f\x98\x80\"");
}

static void bounds_depth_and_size(void **state)
{
	(void)state;
	char text[20000];
	memset(text, '[', 16);
	memset(text + 16, ']', 16);
	text[32] = '\0';
	struct js_doc *d = parse(text, &lenient);
	js_free(d);
	memset(text, '[', 17);
	memset(text + 17, ']', 17);
	text[34] = '\0';
	refused(text, &lenient, EMSGSIZE, "byte 16: nested too deeply");
	memset(text, '[', sizeof(text) - 1); /* refused long before its end */
	text[sizeof(text) - 1] = '\0';
	refused(text, &lenient, EMSGSIZE, "nested too deeply");
	memset(text, ' ', sizeof(text) - 1);
	refused(text, &js_limits_params, EMSGSIZE, "at most 8192");
}

static void names_place_of_a_syntax_error(void **state)
{
	(void)state;
	refused("{\n\"a\":1,\n}", &js_limits_file, EINVAL, "JSON, line 3:");
	refused("", &js_limits_file, EINVAL, "JSON");
	refused("{} {}", &js_limits_file, EINVAL, "JSON");
	refused("[1,2", &lenient, EINVAL, "JSON");
	refused("\"abc", &lenient, EINVAL, "JSON");
	refused("[\x1b]", &lenient, EINVAL, "JSON");
	refused("truex", &lenient, EINVAL, "JSON");
}

static void every_cut_is_an_error(void **state)
{
	(void)state;
	static const char text[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\\ud83d\\ude00\",true,null,{}]}";
	struct js_doc *d;
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_true(js_parse(text, n, &lenient, &d, NULL) < 0);
	assert_int_equal(js_parse(text, sizeof(text) - 1, &lenient, &d, NULL), 0);
	js_free(d);
}

static void many_containers_are_refused(void **state)
{
	(void)state;
	struct buf b = {0};
	buf_putc(&b, '[');
	for (int i = 0; i < 1000001; i++)
		buf_puts(&b, "{},");
	buf_puts(&b, "0]");
	refused(b.data, &js_limits_file, EMSGSIZE, "too many arrays and objects");
	buf_fini(&b);
}

static int64_t cost(const char *unit, size_t bytes)
{
	struct js_limits lim = {.max_bytes = bytes + 100, .max_depth = 4, .lenient = true};
	struct buf b = {0};
	struct js_doc *d;
	int64_t best = INT64_MAX;
	buf_puts(&b, "[\"");
	while (b.len < bytes)
		buf_puts(&b, unit);
	buf_puts(&b, "\"]");
	for (int i = 0; i < 3; i++) {
		int64_t t0 = clk_thread_cpu_ns();
		assert_int_equal(js_parse(b.data, b.len, &lim, &d, NULL), 0);
		int64_t t = clk_thread_cpu_ns() - t0;
		best = t < best ? t : best;
		js_free(d);
	}
	buf_fini(&b);
	return best;
}

/* Quadratic work would take 16 times as long for 4 times as much; the bound leaves room for
 * a busy machine. */
static void repairs_take_linear_time(void **state)
{
	(void)state;
	static const char *const units[] = {
		"\xff", "\\u0000", "\\ud800", "\",1e999,\"", "\",18446744073709551615,\"", "\n"};
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		assert_true(cost(units[i], 1 << 18) < 10 * cost(units[i], 1 << 16));
}

static void dump_escapes(void **state)
{
	(void)state;
	becomes("{\"a\\\"\":[0.1,1e20,\"\\u009b\",{\"b\":[]}]}", &js_limits_file,
		"{\"a\\\"\":[0.1,1e+20,\"\\u009b\",{\"b\":[]}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_by_type),
		cmocka_unit_test(absent_is_harmless),
		cmocka_unit_test(walks_objects),
		cmocka_unit_test(geti_prefers_the_exact_key),
		cmocka_unit_test(repairs_numbers),
		cmocka_unit_test(refuses_such_numbers_in_files),
		cmocka_unit_test(repairs_strings),
		cmocka_unit_test(refuses_such_strings_in_files),
		cmocka_unit_test(bounds_depth_and_size),
		cmocka_unit_test(names_place_of_a_syntax_error),
		cmocka_unit_test(every_cut_is_an_error),
		cmocka_unit_test(many_containers_are_refused),
		cmocka_unit_test(repairs_take_linear_time),
		cmocka_unit_test(dump_escapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
