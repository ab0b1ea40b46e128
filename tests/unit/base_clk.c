/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks run forward; dates are UTC, both ways. */
#include "base/base.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define S NSEC_PER_SEC

static void clocks_advance(void **state)
{
	(void)state;
	int64_t cpu = clk_process_cpu_ns(), own = clk_thread_cpu_ns();
	int64_t t0 = clk_mono_ns();
	assert_int_equal(clk_sleep_until(t0 + 2 * NSEC_PER_MSEC), 0);
	assert_true(clk_mono_ns() >= t0 + 2 * NSEC_PER_MSEC);
	assert_int_equal(clk_sleep_until(t0), 0); /* past: at once */
	assert_int_equal(clk_sleep_until(-1), 0);
	assert_true(clk_process_cpu_ns() >= cpu && clk_thread_cpu_ns() >= own);
	assert_true(clk_real_ns() > 1700000000 * S);
}

static void formats(void **state)
{
	(void)state;
	char text[21], small[5] = "zzzz";
	clk_format_utc(text, sizeof(text), 1796054266 * S + 999999999);
	assert_string_equal(text, "2026-11-30T15:57:46Z");
	clk_format_utc(text, sizeof(text), -1);
	assert_string_equal(text, "1969-12-31T23:59:59Z");
	clk_format_utc(small, sizeof(small), 0);
	assert_string_equal(small, "");
}

static void parses_dates(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"2026-11-30", 1795996800 * S},
		{"2026-11-30T15:57", 1796054220 * S},
		{"2026-11-30 15:57", 1796054220 * S},
		{"2026-11-30T15:57:46Z", 1796054266 * S},
		{"2026-11-30T16:57:46+01:00", 1796054266 * S},
		{"2026-11-30T10:27:46.25-05:30", 1796054266 * S + S / 4},
		{"2024-02-29", 1709164800 * S},
		{"2016-12-31T23:59:60Z", 1483228800 * S},
		{"1970-01-01", 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t ns = -1;
		assert_int_equal(clk_parse_when(rows[i].text, 0, &ns, NULL), 0);
		assert_int_equal(ns, rows[i].ns);
	}
}

static void parses_ages(void **state)
{
	(void)state;
	const int64_t now = 1796054266 * S;
	int64_t ns;
	assert_int_equal(clk_parse_when("2h", now, &ns, NULL), 0);
	assert_int_equal(ns, now - 7200 * S);
	assert_int_equal(clk_parse_when("3d", now, &ns, NULL), 0);
	assert_int_equal(ns, now - 3 * 86400 * S);
	assert_int_equal(clk_parse_when("today", now, &ns, NULL), 0);
	assert_int_equal(ns, 1795996800 * S);
	assert_int_equal(clk_parse_when("yesterday", now, &ns, NULL), 0);
	assert_int_equal(ns, 1795910400 * S);
}

static void refuses_what_is_no_date(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "10",
					  "2026",
					  "2026-13-01",
					  "2026-02-30",
					  "2025-02-29",
					  "2026-11-30T",
					  "2026-11-30T25:00",
					  "2026-11-30T15:57+1",
					  "2026-11-30x",
					  "9999-01-01",
					  "tomorrow",
					  "2026-11-30T15:57:46.Z",
					  "-2h",
					  "2026-1-1"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct weir_err e = {0};
		int64_t ns;
		assert_int_equal(clk_parse_when(bad[i], 0, &ns, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "2026-11-30"));
		assert_int_equal(e.domain, WEIR_USAGE);
	}
}

static void random_differs(void **state)
{
	(void)state;
	uint8_t a[32] = {0}, b[32] = {0};
	clk_random(a, sizeof(a));
	clk_random(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_advance),
		cmocka_unit_test(formats),
		cmocka_unit_test(parses_dates),
		cmocka_unit_test(parses_ages),
		cmocka_unit_test(refuses_what_is_no_date),
		cmocka_unit_test(random_differs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
