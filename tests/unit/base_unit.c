/* SPDX-License-Identifier: BSD-2-Clause */
/* Quantities: exact parsing by each syntax, what is refused, and printing by digits. */
#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct row {
	const char *text;
	uint64_t value;
};

static void check(const struct row *rows, size_t n,
		  int (*parse)(const char *, uint64_t *, struct weir_err *))
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 77;
		struct weir_err e = {0};
		if (parse(rows[i].text, &v, &e))
			fail_msg("%s: %s", rows[i].text, e.msg);
		if (v != rows[i].value)
			fail_msg("%s gave %llu", rows[i].text, (unsigned long long)v);
	}
}
#define CHECK(rows, parse) check(rows, ARRAY_LEN(rows), parse)

static int parse_time(const char *s, uint64_t *v, struct weir_err *e)
{
	int64_t ns = 0;
	int rc = unit_parse_time(s, &ns, e);
	*v = (uint64_t)ns;
	return rc;
}

static void rates(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0", 0},
		{"200M", 200000000},
		{"1.5Gbit", 1500000000},
		{"900kbit/s", 900000},
		{"64KiB", 524288},
		{"1Mi", 1048576},
		{"10 Mbit/s", 10000000},
		{"1MB/s", 8000000},
		{"1.1G", 1100000000},
		{"0.1T", 100000000000},
		{"1e9", 1000000000},
		{"2.5e3 bps", 2500},
		{"941.07 Mbits/sec", 941070000},
		{"9223372036854775807", INT64_MAX},
		{"0.4", 0},
		{"0.5", 1},
	};
	CHECK(rows, unit_parse_rate);
}

static void sizes(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"1500", 1500},   {"64K", 65536},     {"64k", 65536},   {"64KB", 64000},
		{"64KiB", 65536}, {"2M", 2097152},    {"1MB", 1000000}, {"1.5G", 1610612736},
		{"7 bytes", 7},   {"1T", 1ULL << 40},
	};
	CHECK(rows, unit_parse_size);
}

static void times(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"10", 10000000000},     {"1.5s", 1500000000}, {"500ms", 500000000},
		{"2m", 120000000000},    {"100us", 100000},    {"1h", 3600000000000},
		{"3d", 259200000000000}, {"7ns", 7},           {"0.1", 100000000},
		{"1 ms", 1000000},       {"1\xc2\xb5s", 1000}, {"0.123456789", 123456789},
	};
	CHECK(rows, parse_time);
}

static void counts(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"10", 10}, {"5k", 5000}, {"1M", 1000000}, {"1.5k", 1500}, {"1e6", 1000000}};
	CHECK(rows, unit_parse_count);
}

static void refuses(void **state)
{
	(void)state;
	static const char *const bad[] = {"",   "x",    "-1",  "5x", "1.2.3", ".",   "1 ",
					  " 1", "0x10", "inf", "1e", "M",     "1kk", "1ki"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint64_t v = 77;
		struct weir_err e = {0};
		assert_int_equal(unit_parse_count(bad[i], &v, &e), -EINVAL);
		assert_int_equal(e.domain, WEIR_USAGE);
		assert_non_null(strstr(e.msg, "is not a count; use e.g. 10, 5k, 1M"));
		assert_int_equal(parse_time(bad[i], &v, NULL), -EINVAL);
		assert_int_equal(unit_parse_rate(bad[i], &v, NULL),
				 strcmp(bad[i], "1ki") ? -EINVAL : 0);
	}
	uint64_t v = 77;
	assert_int_equal(unit_parse_count("1.5", &v, NULL), -EINVAL);
	assert_int_equal(v, 77);
}

static void names_what_would_be_right(void **state)
{
	(void)state;
	int64_t ns;
	struct weir_err e;
	unit_parse_time("5x", &ns, &e);
	assert_string_equal(e.msg, "\"5x\" is not a time; use e.g. 10, 500ms, 2m");
	unit_parse_time("\x1b[31m", &ns, &e);
	assert_string_equal(e.msg, "\"\\x1b[31m\" is not a time; use e.g. 10, 500ms, 2m");
}

static void too_large_is_no_wrap(void **state)
{
	(void)state;
	static const char *const large[] = {
		"9223372036854775808", "99999999999999999999999", "9e18k", "1e999", "10000000T",
		"1e2000000000"};
	for (size_t i = 0; i < ARRAY_LEN(large); i++) {
		uint64_t v;
		assert_int_equal(unit_parse_rate(large[i], &v, NULL), -ERANGE);
		assert_int_equal(unit_parse_count(large[i], &v, NULL), -ERANGE);
	}
	uint64_t v = 1;
	assert_int_equal(unit_parse_rate("1e-2000000000", &v, NULL), 0);
	assert_int_equal(v, 0);
}

static void values_by_unit(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum unit u;
		double v;
	} rows[] = {
		{"900M", UNIT_BPS, 900e6},     {"5ms", UNIT_SECOND, 0.005},
		{"3%", UNIT_RATIO, 0.03},      {"0.03", UNIT_RATIO, 0.03},
		{"12.3kpps", UNIT_PPS, 12300}, {"64K", UNIT_BYTE, 65536},
		{"1.5", UNIT_NONE, 1.5},       {"-5ms", UNIT_SECOND, -0.005},
		{"0.3", UNIT_SECOND, 0.3},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double v = 0;
		assert_int_equal(unit_parse(rows[i].text, rows[i].u, &v, NULL), 0);
		assert_true(v == rows[i].v);
	}
	double v;
	assert_int_equal(unit_parse("3%", UNIT_BPS, &v, NULL), -EINVAL);
	assert_int_equal(unit_parse("1e400", UNIT_NONE, &v, NULL), -ERANGE);
}

static void formats(void **state)
{
	(void)state;
	static const struct {
		double v;
		enum unit u;
		int digits;
		const char *text;
	} rows[] = {
		{943e6, UNIT_BPS, 3, "943 Mbit/s"},
		{943e6, UNIT_BPS, 2, "0.94 Gbit/s"},
		{943e6, UNIT_BPS, 4, "943.0 Mbit/s"},
		{1.25e9, UNIT_BYTE, 3, "1.25 GB"},
		{0.00123, UNIT_SECOND, 3, "1.23 ms"},
		{0.045, UNIT_RATIO, 2, "4.5 %"},
		{12300, UNIT_PPS, 3, "12.3 kpps"},
		{999.7e6, UNIT_BPS, 3, "1.00 Gbit/s"},
		{0, UNIT_BPS, 3, "0 bit/s"},
		{0, UNIT_SECOND, 3, "0 s"},
		{5, UNIT_NONE, 3, "5"},
		{5, UNIT_BYTE, 3, "5 B"},
		{1, UNIT_SECOND, 3, "1.00 s"},
		{-0.0015, UNIT_SECOND, 2, "-1.5 ms"},
		{1e-10, UNIT_SECOND, 2, "0.10 ns"},
		{1234, UNIT_SECOND, 3, "1230 s"},
		{100e12, UNIT_BPS, 3, "100 Tbit/s"},
		{123456, UNIT_NONE, 0, "123 k"},
		{0.1, UNIT_SECOND, 3, "100 ms"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[64];
		unit_format(text, sizeof(text), rows[i].v, rows[i].u, rows[i].digits);
		assert_string_equal(text, rows[i].text);
	}
	char text[64];
	unit_format(text, sizeof(text), (double)INFINITY, UNIT_BPS, 3);
	assert_string_equal(text, "-");
	assert_string_equal(unit_format_split(text, sizeof(text), 943e6, UNIT_BPS, 3), "Mbit/s");
	assert_string_equal(text, "943");
}

/* No digit is printed that was not asked for: what is read back has been rounded to so many. */
static void never_more_digits_than_asked(void **state)
{
	(void)state;
	for (int digits = 1; digits <= 6; digits++)
		for (double v = 1.23456789e-9; v < 1e13; v *= 3.7) {
			char text[64], want[40];
			double back;
			unit_format(text, sizeof(text), v, UNIT_SECOND, digits);
			assert_int_equal(unit_parse(text, UNIT_SECOND, &back, NULL), 0);
			snprintf(want, sizeof(want), "%.*e", digits - 1, v);
			assert_true(fabs(back - atof(want)) <= 1e-9 * back);
		}
}

static void names_both_ways(void **state)
{
	(void)state;
	enum unit u;
	for (int i = UNIT_NONE; i <= UNIT_RATIO; i++) {
		assert_int_equal(unit_from_name(unit_name((enum unit)i), &u), 0);
		assert_int_equal(u, i);
	}
	assert_string_equal(unit_name(UNIT_BPS), "bit/s");
	assert_int_equal(unit_from_name("furlong", &u), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),
		cmocka_unit_test(sizes),
		cmocka_unit_test(times),
		cmocka_unit_test(counts),
		cmocka_unit_test(refuses),
		cmocka_unit_test(names_what_would_be_right),
		cmocka_unit_test(too_large_is_no_wrap),
		cmocka_unit_test(values_by_unit),
		cmocka_unit_test(formats),
		cmocka_unit_test(never_more_digits_than_asked),
		cmocka_unit_test(names_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
