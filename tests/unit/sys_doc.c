/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal's text: what is written is read back; anything else is counted, not used. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sys/priv.h"
#include "sys/sys.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

static struct sys_entry entry(uint32_t seq)
{
	struct sys_entry t = {.seq = seq,
			      .boot = BOOT,
			      .netns = UINT64_MAX,
			      .knob = sys_knob("iface.mtu"),
			      .arg = "weird\\0",
			      .iface = {.index = 7,
					.perm_mac = {0, 1, 0xab, 0xcd, 0xef, 0xff},
					.driver = "vir tio\t\xff"},
			      .old = "1500",
			      .now = "9000"};

	return t;
}

static void test_round_trip(void **state)
{
	struct sys_entry want = entry(1), second = entry(5);
	struct buf b = {0};
	struct sys_doc d;

	(void)state;
	second.knob = sys_knob("net.ipv4.tcp_rmem");
	second.arg[0] = '\0';
	strcpy(second.old, "1 2 3");
	strcpy(second.now, "4 5 6");
	buf_puts(&b, sys_doc_header);
	sys_doc_put_entry(&b, &want);
	sys_doc_put_entry(&b, &second);
	sys_doc_put_end(&b, 1);
	assert_int_equal(sys_doc_parse(b.data, b.len, &d), 0);
	assert_int_equal(d.bad, 0);
	assert_int_equal(d.n, 2);
	assert_int_equal(d.whole_len, b.len);
	assert_int_equal(sys_doc_open(&d), 1);
	assert_true(d.v[0].ended);
	assert_int_equal(d.v[0].iface.index, 7);
	assert_true(d.v[0].netns == UINT64_MAX);
	assert_string_equal(d.v[0].arg, want.arg);
	assert_string_equal(d.v[0].iface.driver, want.iface.driver);
	assert_memory_equal(d.v[0].iface.perm_mac, want.iface.perm_mac, 6);
	assert_string_equal(d.v[1].old, "1 2 3");
	assert_ptr_equal(d.v[1].knob, second.knob);
	sys_doc_fini(&d);
	buf_fini(&b);
}

/* Cut anywhere: the entries before the cut, no bad line, and never half an entry. */
static void test_every_cut(void **state)
{
	struct sys_entry a = entry(1), c = entry(2);
	struct buf b = {0};
	struct sys_doc d;

	(void)state;
	buf_puts(&b, sys_doc_header);
	sys_doc_put_entry(&b, &a);
	size_t first = b.len;
	sys_doc_put_entry(&b, &c);
	for (size_t n = 0; n < b.len; n++) {
		assert_int_equal(sys_doc_parse(b.data, n, &d), 0);
		assert_int_equal(d.bad, 0);
		assert_int_equal(d.n, n >= first);
		assert_true(d.whole_len <= n);
		sys_doc_fini(&d);
	}
	buf_fini(&b);
}

/* Any one byte changed: an entry that is left still has legal values. */
static void test_every_flip(void **state)
{
	struct sys_entry a = entry(1);
	char canon[SYS_VALUE_CAP];
	struct buf b = {0};
	struct sys_doc d;
	size_t refused = 0;

	(void)state;
	buf_puts(&b, sys_doc_header);
	sys_doc_put_entry(&b, &a);
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 0x10;
		assert_int_equal(sys_doc_parse(b.data, b.len, &d), 0);
		refused += d.bad > 0;
		for (size_t k = 0; k < d.n; k++) {
			assert_int_equal(sys_knob_canon(d.v[k].knob, d.v[k].old, canon), 0);
			assert_true(sys_knob_arg_ok(d.v[k].knob, d.v[k].arg));
		}
		sys_doc_fini(&d);
		b.data[i] ^= 0x10;
	}
	assert_true(refused > b.len / 2);
	buf_fini(&b);
}

static void test_order_and_numbers(void **state)
{
	struct sys_entry a = entry(2), c = entry(2);
	struct buf b = {0};
	struct sys_doc d;

	(void)state;
	buf_puts(&b, sys_doc_header);
	sys_doc_put_end(&b, 1); /* of nothing */
	sys_doc_put_entry(&b, &a);
	sys_doc_put_entry(&b, &c); /* the same number again */
	sys_doc_put_end(&b, 3);
	buf_puts(&b, "end\t2\tx\nend\t02x\nend\nset\n\nnonsense\t1\n");
	assert_int_equal(sys_doc_parse(b.data, b.len, &d), 0);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.bad, 9);
	assert_int_equal(sys_doc_open(&d), 1);
	sys_doc_fini(&d);
	buf_fini(&b);
}

static void test_bounds(void **state)
{
	struct buf b = {0};
	struct sys_doc d;

	(void)state;
	buf_puts(&b, sys_doc_header);
	for (uint32_t i = 1; i <= SYS_JOURNAL_MAX_N + 1; i++) {
		struct sys_entry t = entry(i);
		sys_doc_put_entry(&b, &t);
	}
	assert_int_equal(sys_doc_parse(b.data, b.len, &d), 0);
	assert_int_equal(d.n, SYS_JOURNAL_MAX_N);
	assert_int_equal(d.bad, 1);
	sys_doc_fini(&d);
	buf_repeat(&b, '\n', SYS_JOURNAL_MAX);
	assert_int_equal(sys_doc_parse(b.data, b.len, &d), -EFBIG);
	sys_doc_fini(&d);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_every_flip),        cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_order_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
