/* SPDX-License-Identifier: BSD-2-Clause */
/* The growing buffer and the bounded reader: what one writes the other reads. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void appends(void **state)
{
	(void)state;
	struct buf b = {0};
	buf_puts(&b, "ab");
	buf_putc(&b, 'c');
	buf_put(&b, "\0d", 2);
	buf_repeat(&b, '-', 3);
	buf_printf(&b, "%d%s", 42, "x");
	assert_int_equal(b.len, 11);
	assert_memory_equal(b.data, "abc\0d---42x", 12);
	buf_drop(&b, 5);
	assert_string_equal(b.data, "---42x");
	buf_drop(&b, 100);
	assert_string_equal(b.data, "");
	assert_false(b.failed);
	buf_fini(&b);
	assert_null(b.data);
}

static void grows_past_any_start(void **state)
{
	(void)state;
	struct buf b = {0};
	for (int i = 0; i < 10000; i++)
		buf_printf(&b, "%04d", i);
	assert_int_equal(b.len, 40000);
	assert_memory_equal(b.data + 4 * 9999, "9999", 5);
	buf_fini(&b);
}

static void refuses_past_its_bound_and_remembers(void **state)
{
	(void)state;
	struct buf b = {.max = 10};
	buf_puts(&b, "0123456789");
	assert_false(b.failed);
	assert_false(buf_reserve(&b, 1));
	buf_clear(&b);
	buf_repeat(&b, 'x', 11);
	assert_true(b.failed);
	buf_puts(&b, "y");
	assert_int_equal(b.len, 0);
	buf_clear(&b);
	buf_puts(&b, "ok");
	buf_printf(&b, "%s", "far too long a text for this buffer");
	assert_true(b.failed);
	assert_int_equal(b.len, 2);
	assert_string_equal(b.data, "ok");
	assert_null(buf_take(&b));
	assert_null(b.data);
	assert_false(buf_reserve(&b, SIZE_MAX));
	buf_fini(&b);
}

/* A buffer that is exactly at its bound may not print through the sticky failure either. */
static void bound_counts_for_printf(void **state)
{
	(void)state;
	struct buf b = {.max = 4};
	buf_printf(&b, "%s", "four");
	assert_false(b.failed);
	buf_printf(&b, "%s", "");
	assert_false(b.failed);
	buf_printf(&b, "%s", "5");
	assert_int_equal(b.len, 4);
	assert_true(b.failed);
	buf_fini(&b);
}

static void take_hands_over(void **state)
{
	(void)state;
	struct buf b = {0};
	char *empty = buf_take(&b);
	assert_string_equal(empty, "");
	buf_puts(&b, "text");
	char *text = buf_take(&b);
	assert_string_equal(text, "text");
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	free(empty);
	free(text);
}

static void varints_round_trip(void **state)
{
	(void)state;
	static const uint64_t u[] = {0, 1, 127, 128, 16383, 16384, INT64_MAX, UINT64_MAX};
	static const int64_t s[] = {0, -1, 1, 63, -64, 64, INT64_MAX, INT64_MIN};
	struct buf b = {0};
	for (size_t i = 0; i < ARRAY_LEN(u); i++) {
		buf_uvarint(&b, u[i]);
		buf_svarint(&b, s[i]);
	}
	struct rd r = rd_init(b.data, b.len);
	for (size_t i = 0; i < ARRAY_LEN(u); i++) {
		assert_true(rd_uvarint(&r) == u[i]);
		assert_true(rd_svarint(&r) == s[i]);
	}
	assert_false(r.bad);
	assert_int_equal(rd_left(&r), 0);
	buf_fini(&b);
}

static void small_values_take_one_byte(void **state)
{
	(void)state;
	struct buf b = {0};
	buf_uvarint(&b, 127);
	buf_svarint(&b, -64);
	assert_int_equal(b.len, 2);
	buf_uvarint(&b, 300);
	assert_memory_equal(b.data + 2, "\xac\x02", 3);
	buf_fini(&b);
}

static void reads_big_endian(void **state)
{
	(void)state;
	static const uint8_t in[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct rd r = rd_init(in, sizeof(in));
	assert_int_equal(rd_u8(&r), 1);
	assert_int_equal(rd_be16(&r), 0x0203);
	assert_int_equal(rd_be32(&r), 0x04050607);
	assert_true(rd_be64(&r) == 0x08090a0b0c0d0e0fULL);
	assert_false(r.bad);
}

static void reads_doubles_little_endian(void **state)
{
	(void)state;
	static const uint8_t in[] = {0, 0, 0, 0, 0, 0, 0xf8, 0x3f};
	struct rd r = rd_init(in, sizeof(in));
	assert_true(rd_f64(&r) == 1.5);
}

static void short_read_is_sticky(void **state)
{
	(void)state;
	static const uint8_t in[] = {1, 2, 3};
	struct rd r = rd_init(in, sizeof(in));
	assert_int_equal(rd_be32(&r), 0);
	assert_true(r.bad);
	assert_int_equal(rd_u8(&r), 0); /* though three bytes are left */
	assert_null(rd_bytes(&r, 1));
	r = rd_init(in, sizeof(in));
	assert_ptr_equal(rd_bytes(&r, 3), in);
	assert_non_null(rd_bytes(&r, 0));
	assert_null(rd_bytes(&r, SIZE_MAX));
	assert_true(r.bad);
}

static void nothing_at_all(void **state)
{
	(void)state;
	struct rd r = rd_init(NULL, 0);
	assert_non_null(rd_bytes(&r, 0));
	assert_false(r.bad);
	assert_int_equal(rd_u8(&r), 0);
	assert_true(r.bad);
}

static void overlong_varints_are_bad(void **state)
{
	(void)state;
	static const char *const in[] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", /* 65 bits */
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"\x80\x80",
	};
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		struct rd r = rd_init(in[i], strlen(in[i]));
		assert_true(rd_uvarint(&r) == 0);
		assert_true(r.bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends),
		cmocka_unit_test(grows_past_any_start),
		cmocka_unit_test(refuses_past_its_bound_and_remembers),
		cmocka_unit_test(bound_counts_for_printf),
		cmocka_unit_test(take_hands_over),
		cmocka_unit_test(varints_round_trip),
		cmocka_unit_test(small_values_take_one_byte),
		cmocka_unit_test(reads_big_endian),
		cmocka_unit_test(reads_doubles_little_endian),
		cmocka_unit_test(short_read_is_sticky),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(overlong_varints_are_bad),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
