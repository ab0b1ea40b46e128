/* SPDX-License-Identifier: BSD-2-Clause */
/* Dropping privileges, each test in a child of its own, read back from /proc. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/sys.h"

#define NOBODY 65534

static int in_child(int (*f)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(f());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* "CapEff:\t0000..." of /proc/self/status; all ones when it is not there. */
static uint64_t status_hex(const char *key)
{
	struct buf b = {0};
	uint64_t v = UINT64_MAX;
	const char *at = NULL;

	if (sys_read_file("/proc/self/status", 65536, &b, NULL) == 0 && b.data)
		at = strstr(b.data, key);
	if (at)
		v = strtoull(at + strlen(key), NULL, 16);
	buf_fini(&b);
	return v;
}

static bool all_gone(void)
{
	return status_hex("CapEff:\t") == 0 && status_hex("CapPrm:\t") == 0 &&
	       status_hex("CapInh:\t") == 0 && status_hex("CapAmb:\t") == 0 &&
	       status_hex("NoNewPrivs:\t") == 1;
}

static int drop_caps(void)
{
	uid_t uid = geteuid();
	bool had = sys_cap_have(CAP_SETPCAP);

	if (sys_cap_drop(NULL) < 0)
		return 1;
	if (!all_gone() || geteuid() != uid || sys_cap_have(CAP_NET_ADMIN))
		return 2;
	if (had && status_hex("CapBnd:\t"))
		return 3;
	return sys_cap_drop(NULL) == 0 ? 0 : 4; /* once more does no harm */
}

static void test_cap_drop(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_caps), 0);
}

/* Not even an exec as root brings them back. */
static int drop_and_exec(void)
{
	if (sys_cap_drop(NULL) < 0)
		return 1;
	execl("/bin/sh", "sh", "-c",
	      "while read -r k v; do [ \"$k\" = CapEff: ] && exec test \"$v\" = 0000000000000000; "
	      "done </proc/self/status; exit 9",
	      (char *)NULL);
	return 8;
}

static void test_cap_drop_lasts_over_exec(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_and_exec), 0);
}

static int become_nobody(void)
{
	bool had = sys_cap_have(CAP_SETPCAP);

	if (sys_priv_drop(NOBODY, NOBODY, NULL) < 0)
		return 1;
	if (!all_gone() || getuid() != NOBODY || geteuid() != NOBODY || getgid() != NOBODY)
		return 2;
	if (getgroups(0, NULL) != 0)
		return 3;
	if (had && status_hex("CapBnd:\t"))
		return 5;
	return setuid(0) < 0 && setgid(0) < 0 && seteuid(0) < 0 ? 0 : 4;
}

static void test_priv_drop(void **state)
{
	(void)state;
	if (!sys_cap_have(CAP_SETUID) || !sys_cap_have(CAP_SETGID))
		skip(); /* needs CAP_SETUID and CAP_SETGID */
	assert_int_equal(in_child(become_nobody), 0);
}

static int refuse_without_right(void)
{
	struct weir_err e = {0};

	if (sys_cap_drop(NULL) < 0)
		return 1;
	if (sys_priv_drop(12345, 12345, &e) >= 0 || e.code != EPERM)
		return 2;
	return 0;
}

static void test_priv_drop_never_half(void **state)
{
	struct weir_err e;

	(void)state;
	assert_int_equal(in_child(refuse_without_right), 0);
	assert_int_equal(sys_priv_drop(0, NOBODY, &e), -EINVAL);
	assert_int_equal(sys_priv_drop(NOBODY, 0, &e), -EINVAL);
}

static void test_user_lookup(void **state)
{
	uid_t uid = 1;
	gid_t gid = 1;
	struct weir_err e;

	(void)state;
	assert_int_equal(sys_user_lookup("root", &uid, &gid, &e), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(gid, 0);
	assert_int_equal(sys_user_lookup("no-such-user\x1b", &uid, &gid, &e), -ENOENT);
	assert_null(strchr(e.msg, '\x1b'));
}

static void test_cap_have_bounds(void **state)
{
	(void)state;
	assert_false(sys_cap_have(-1));
	assert_false(sys_cap_have(64));
	assert_false(sys_cap_have(63)); /* no such capability yet */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cap_drop),    cmocka_unit_test(test_cap_drop_lasts_over_exec),
		cmocka_unit_test(test_priv_drop),   cmocka_unit_test(test_priv_drop_never_half),
		cmocka_unit_test(test_user_lookup), cmocka_unit_test(test_cap_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
