/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON writer: commas, escapes, numbers that read back equal. */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void structure(void **state)
{
	(void)state;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	jw_obj(&w, NULL);
	jw_i64(&w, "a", -5);
	jw_arr(&w, "b");
	jw_u64(&w, NULL, UINT64_MAX);
	jw_obj(&w, NULL);
	jw_end_obj(&w);
	jw_arr(&w, NULL);
	jw_end_arr(&w);
	jw_bool(&w, NULL, true);
	jw_end_arr(&w);
	jw_null(&w, "c");
	jw_str(&w, "d", NULL);
	jw_str(&w, "e", "x");
	jw_strn(&w, "f", "a\0b", 3);
	jw_raw(&w, "g", "[1]", 3);
	jw_bool(&w, "h", false);
	jw_i64(&w, "i", INT64_MIN);
	jw_end_obj(&w);
	assert_string_equal(b.data, "{\"a\":-5,\"b\":[18446744073709551615,{},[],true],"
				    "\"c\":null,\"d\":null,\"e\":\"x\",\"f\":\"a\\u0000b\","
				    "\"g\":[1],\"h\":false,\"i\":-9223372036854775808}");
	buf_fini(&b);
}

static void strings(void **state)
{
	(void)state;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	jw_str(&w, NULL, "\"\\/\n\x01\x7f\xc2\x9b\xc3\xa9\xff\xe2\x82!");
	assert_string_equal(b.data, "\"\\\"\\\\/\\u000a\\u0001\\u007f\\u009b\xc3\xa9"
				    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!\"");
	buf_fini(&b);
}

static void keys_are_strings_too(void **state)
{
	(void)state;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	jw_obj(&w, NULL);
	jw_i64(&w, "a\"b", 1);
	jw_end_obj(&w);
	assert_string_equal(b.data, "{\"a\\\"b\":1}");
	buf_fini(&b);
}

static void number(double v, const char *want)
{
	struct buf b = {0};
	struct jw w = jw_init(&b);
	jw_f64(&w, NULL, v);
	assert_string_equal(b.data, want);
	buf_fini(&b);
}

static void shortest_numbers(void **state)
{
	(void)state;
	number(0, "0");
	number(-0.0, "-0.0");
	number(0.1, "0.1");
	number(1.5e9, "1500000000");
	number(1e300, "1e+300");
	number(0.1 + 0.2, "0.30000000000000004");
	number(-2.5e-7, "-2.5e-07");
	number((double)NAN, "null");
	number((double)-INFINITY, "null");
}

static void numbers_read_back_equal(void **state)
{
	(void)state;
	static const double v[] = {DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1.0 / 3, 9007199254740993.0,
				   1e15,    1e16,    123456.789,   M_PI,    -1e-300};
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct buf b = {0};
		struct jw w = jw_init(&b);
		jw_f64(&w, NULL, v[i]);
		assert_true(strtod(b.data, NULL) == v[i]);
		buf_fini(&b);
	}
}

static void lines_take_no_comma(void **state)
{
	(void)state;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	for (int i = 0; i < 2; i++) {
		jw_obj(&w, NULL);
		jw_end_obj(&w);
		buf_putc(&b, '\n');
	}
	assert_string_equal(b.data, "{}\n{}\n");
	buf_fini(&b);
}

static void too_deep_fails_the_buffer(void **state)
{
	(void)state;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	for (int i = 0; i < JW_DEPTH - 1; i++)
		jw_arr(&w, NULL);
	assert_false(b.failed);
	jw_arr(&w, NULL);
	assert_true(b.failed);
	for (int i = 0; i < 2 * JW_DEPTH; i++)
		jw_end_arr(&w);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structure),
		cmocka_unit_test(strings),
		cmocka_unit_test(keys_are_strings_too),
		cmocka_unit_test(shortest_numbers),
		cmocka_unit_test(numbers_read_back_equal),
		cmocka_unit_test(lines_take_no_comma),
		cmocka_unit_test(too_deep_fails_the_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
