/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign text: what may pass, what becomes \xNN, where it is cut, and the encoders. */
#include "base/base.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void check(const char *in, size_t n, const char *want)
{
	char out[SAFE_MAX + 1];
	size_t len = safe_str(out, sizeof(out), in, n);
	assert_string_equal(out, want);
	assert_int_equal(len, strlen(want));
}
#define CHECK(in, want) check(in, sizeof(in) - 1, want)

static void passes_good_text(void **state)
{
	(void)state;
	CHECK("", "");
	CHECK("plain ~ text", "plain ~ text");
	CHECK("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void escapes_controls(void **state)
{
	(void)state;
	CHECK("a\0b", "a\\x00b");
	CHECK("\x1b[2J\r\n\t\x7f", "\\x1b[2J\\x0d\\x0a\\x09\\x7f");
	CHECK("\xc2\x9b"
	      "31m",
	      "\\xc2\\x9b"
	      "31m"); /* C1: CSI */
	CHECK("a\xe2\x80\xae"
	      "b",
	      "a\\xe2\\x80\\xae"
	      "b");                                                 /* right-to-left override */
	CHECK("\xe2\x81\xa6\xd8\x9c", "\\xe2\\x81\\xa6\\xd8\\x9c"); /* isolate, Arabic mark */
}

static void escapes_malformed_utf8(void **state)
{
	(void)state;
	CHECK("\xff", "\\xff");
	CHECK("\xc3", "\\xc3");                            /* cut short */
	CHECK("\xc0\xaf", "\\xc0\\xaf");                   /* overlong */
	CHECK("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
	CHECK("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* past U+10FFFF */
	CHECK("\xe2\x82"
	      "a",
	      "\\xe2\\x82"
	      "a");
	assert_true(safe_is_utf8("\xe2\x82\xac", 3));
	assert_false(safe_is_utf8("\xe2\x82\xac", 2));
	assert_false(safe_is_utf8("\xe0\x80\x80", 3));
}

static void cuts_at_the_bound(void **state)
{
	(void)state;
	char in[1000], out[2000];
	memset(in, 'a', sizeof(in));
	assert_int_equal(safe_str(out, sizeof(out), in, SAFE_MAX), SAFE_MAX);
	assert_int_equal(out[SAFE_MAX - 1], 'a');
	assert_int_equal(safe_str(out, sizeof(out), in, SAFE_MAX + 1), SAFE_MAX);
	assert_string_equal(out + SAFE_MAX - 3, "...");
	memset(in, 0x01, sizeof(in));
	size_t len = safe_str(out, sizeof(out), in, sizeof(in));
	assert_true(len <= SAFE_MAX && len > SAFE_MAX - 4);
	assert_string_equal(out + len - 7, "\\x01...");
}

static void cuts_between_characters(void **state)
{
	(void)state;
	char out[8];
	assert_int_equal(safe_str(out, sizeof(out), "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8), 7);
	assert_string_equal(out, "\xc3\xa9\xc3\xa9...");
	for (size_t cap = 0; cap < sizeof(out); cap++) {
		memset(out, 'z', sizeof(out));
		size_t len = safe_str(out, cap, "\x1b\x1b\x1b", 3);
		assert_true(cap == 0 || (len < cap && out[len] == '\0'));
		assert_int_equal(out[cap], 'z');
	}
}

typedef void encoder(struct buf *b, const char *src);

static void encoded(encoder *f, const char *in, const char *want)
{
	struct buf b = {0};
	f(&b, in);
	assert_string_equal(b.data ? b.data : "", want);
	buf_fini(&b);
}

static void csv(void **state)
{
	(void)state;
	encoded(safe_csv, "plain", "plain");
	encoded(safe_csv, "a,b", "\"a,b\"");
	encoded(safe_csv, "say \"hi\"", "\"say \"\"hi\"\"\"");
	encoded(safe_csv, "=1+1", "'=1+1");
	encoded(safe_csv, "@x,y", "\"'@x,y\"");
	encoded(safe_csv, "-5", "'-5");
	encoded(safe_csv, "a\nb", "a\\x0ab");
}

static void filename(void **state)
{
	(void)state;
	encoded(safe_filename, "run-1_a.json", "run-1_a.json");
	encoded(safe_filename, "../../etc/passwd", "_._.._etc_passwd");
	encoded(safe_filename, ".hidden", "_hidden");
	encoded(safe_filename, "", "_");
	encoded(safe_filename, "a b\xc3\xa9", "a_b__");
}

static void markdown(void **state)
{
	(void)state;
	encoded(safe_markdown, "a|b`c", "a\\|b\\`c");
	encoded(safe_markdown, "<b>&*_", "&lt;b&gt;&amp;\\*\\_");
	encoded(safe_markdown, "[x](y)", "\\[x\\](y)");
	encoded(safe_markdown, "\x1b", "\\\\x1b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_good_text),
		cmocka_unit_test(escapes_controls),
		cmocka_unit_test(escapes_malformed_utf8),
		cmocka_unit_test(cuts_at_the_bound),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(csv),
		cmocka_unit_test(filename),
		cmocka_unit_test(markdown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
