/* SPDX-License-Identifier: BSD-2-Clause */
/* The table, the cookies, and telling the protocols apart by the first bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "proto/priv.h"

static const struct proto *sniffed(const void *p, size_t n, bool *more)
{
	*more = false;
	for (size_t i = 0; proto_at(i); i++) {
		enum proto_sniff r =
			proto_at(i)->no_cookie ? PROTO_SNIFF_NO : proto_at(i)->sniff(p, n);

		*more |= r == PROTO_SNIFF_MORE;
		if (r == PROTO_SNIFF_YES)
			return proto_at(i);
	}
	return NULL;
}

static void table_in_order(void **state)
{
	(void)state;
	assert_string_equal(proto_at(0)->name, "weir");
	assert_string_equal(proto_at(1)->name, "iperf3");
	assert_string_equal(proto_at(2)->name, "iperf2");
	assert_string_equal(proto_at(3)->name, "nttcp");
	assert_string_equal(proto_at(4)->name, "ttcp");
	assert_null(proto_at(5));
	assert_ptr_equal(proto_find("iperf3"), proto_at(1));
	assert_null(proto_find("iperf"));
}

static void every_row_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; proto_at(i); i++) {
		const struct proto *p = proto_at(i);

		assert_true(p->pre_bytes > 0 && p->pre_bytes <= 512);
		assert_true(p->pre_deadline_ns > 0);
		assert_true(p->connect && p->accept && p->streams && p->start && p->on_control);
		assert_true(p->end && p->exchange && p->say && p->close && p->sniff);
		assert_int_equal(p->lines, p->line != NULL);
		assert_int_equal(p->ping != NULL, p->pong != NULL);
	}
}

static void cookies(void **state)
{
	char a[PROTO_COOKIE_LEN], b[PROTO_COOKIE_LEN];

	(void)state;
	proto_cookie_new(a);
	proto_cookie_new(b);
	assert_int_equal(strlen(a), PROTO_COOKIE_LEN - 1);
	assert_true(proto_cookie_is_native(a));
	assert_string_not_equal(a, b);
	assert_int_equal(strspn(a + 7, "abcdefghijklmnopqrstuvwxyz234567"), 29);
	proto_cookie_random(b, PROTO_COOKIE_LEN - 1);
	assert_false(proto_cookie_is_native(b));
}

static void sniffing(void **state)
{
	static const char seen[] = "ni2arai5hmyppvylhae6d3iqsipkf22wyzqg"; /* iperf3 3.21 */
	static const char old[] = "somehost.1417000000.123456.0000000012"; /* iperf3 3.0 */
	char native[PROTO_COOKIE_LEN];
	bool more;

	(void)state;
	proto_cookie_new(native);
	assert_ptr_equal(sniffed(native, sizeof(native), &more), proto_find("weir"));
	assert_ptr_equal(sniffed(seen, PROTO_COOKIE_LEN, &more), proto_find("iperf3"));
	char cut[PROTO_COOKIE_LEN] = {0};
	memcpy(cut, old, PROTO_COOKIE_LEN - 1);
	assert_ptr_equal(sniffed(cut, sizeof(cut), &more), proto_find("iperf3"));
	for (size_t n = 0; n < PROTO_COOKIE_LEN; n++) {
		assert_null(sniffed(native, n, &more));
		assert_true(more);
	}
	assert_null(sniffed("GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n", 38, &more));
	assert_false(more);
	assert_null(sniffed("\x16\x03\x01\x02\x00", 5, &more));
	assert_false(more);
	memset(cut, 'a', sizeof(cut)); /* no NUL at the end */
	assert_null(sniffed(cut, sizeof(cut), &more));
	assert_false(more);
}

static void psk_vector(void **state)
{
	static const struct proto_part parts[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
	char a[PROTO_MAC_HEX], b[PROTO_MAC_HEX];
	int ret = proto_psk_mac("Jefe", parts, 2, a);

	(void)state;
	if (ret == -ENOTSUP) {
		print_message("skipped: built without libcrypto\n");
		skip();
	}
	assert_int_equal(ret, 0);
	/* HMAC-SHA256 of the two texts, a NUL after each, made with Python's hmac. */
	assert_string_equal(a, "dff43d1e2c173af3de1ee88f25b5f683"
			       "1d00ae79baebef57907d05afb177f136");
	assert_int_equal(proto_psk_mac("Jefe", parts, 1, b), 0);
	assert_false(proto_psk_same(a, b, PROTO_MAC_HEX - 1));
	assert_true(proto_psk_same(a, a, PROTO_MAC_HEX - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_in_order), cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(cookies),        cmocka_unit_test(sniffing),
		cmocka_unit_test(psk_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
