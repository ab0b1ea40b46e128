/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is cut off: from the kernel's table of connections, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sys/priv.h"
#include "sys/sys.h"

#define HEAD  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
#define OTHER "   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
/* 192.0.2.7:22 with 198.51.100.9:50000, sent again 0 or 3 times */
#define CALM "   1: 070200C0:0016 096433C6:C350 01 00000000:00000000 02:000A0000 00000000     0\n"
#define MUTE "   1: 070200C0:0016 096433C6:C350 01 00000024:00000000 01:00000014 00000003     0\n"
#define MAPPED                                                                                  \
	"   1: 0000000000000000FFFF0000070200C0:0016 0000000000000000FFFF0000096433C6:C350 01 " \
	"00000024:00000000 01:00000014 00000003     0\n"
#define S NSEC_PER_SEC

static void test_who_is_cut_off(void **state)
{
	struct sys_contact c;

	(void)state;
	assert_true(sys_contact_init(&c, "198.51.100.9 50000 192.0.2.7 22"));
	assert_false(sys_contact_judge(&c, HEAD OTHER, HEAD, S, 10 * S)); /* not seen yet */
	assert_false(sys_contact_judge(&c, HEAD OTHER CALM, HEAD, 2 * S, 10 * S));
	assert_false(sys_contact_judge(&c, HEAD OTHER MUTE, HEAD, 3 * S, 10 * S));
	assert_false(sys_contact_judge(&c, HEAD OTHER CALM, HEAD, 12 * S, 10 * S)); /* again */
	assert_false(sys_contact_judge(&c, HEAD MUTE, HEAD, 13 * S, 10 * S));
	assert_false(sys_contact_judge(&c, HEAD MUTE, HEAD, 22 * S, 10 * S));
	assert_true(sys_contact_judge(&c, HEAD MUTE, HEAD, 23 * S, 10 * S));
	/* Given up by the kernel, it is as silent as before. */
	assert_true(sys_contact_judge(&c, HEAD OTHER, HEAD, 24 * S, 10 * S));
	/* Who closed it left by himself. */
	assert_true(sys_contact_init(&c, "198.51.100.9 50000 192.0.2.7 22"));
	assert_false(sys_contact_judge(&c, HEAD OTHER CALM, HEAD, S, 10 * S));
	assert_false(sys_contact_judge(&c, HEAD OTHER, HEAD, 2 * S, 10 * S));
	assert_false(sys_contact_judge(&c, HEAD OTHER, HEAD, 60 * S, 10 * S));
	/* sshd listens on all addresses: the same in the other table. */
	assert_true(sys_contact_init(&c, "198.51.100.9 50000 192.0.2.7 22"));
	assert_false(sys_contact_judge(&c, HEAD, HEAD MAPPED, S, 10 * S));
	assert_true(sys_contact_judge(&c, HEAD, HEAD MAPPED, 11 * S, 10 * S));
}

static void test_what_says_nothing(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "198.51.100.9",
					  "a 1 b 2",
					  "1 2 3 4",
					  "::g 1 :: 2",
					  "198.51.100.9 x 192.0.2.7 22"};
	struct sys_contact c;

	(void)state;
	assert_false(sys_contact_init(&c, NULL));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(sys_contact_init(&c, bad[i]));
	assert_true(sys_contact_init(&c, "fe80::1%eth0 50000 fe80::2%eth0 22"));
	assert_false(sys_contact_judge(&c, "", "", S, S));
	assert_false(sys_contact_judge(&c, "no table\n", "x\n:\n", 3 * S, S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_cut_off),
		cmocka_unit_test(test_what_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
