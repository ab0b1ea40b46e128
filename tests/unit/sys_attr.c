/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes, sysctl names, knob values, counters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/priv.h"
#include "sys/sys.h"

static void test_read_attr(void **state)
{
	char text[8], path[] = "/tmp/weir-attr-XXXXXX";
	int fd = mkstemp(path);
	struct buf b = {0};
	int64_t v = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1234\n", 5), 5);
	assert_int_equal(sys_read_attr(path, text, sizeof(text)), 4);
	assert_string_equal(text, "1234");
	assert_int_equal(sys_read_attr(path, text, 5), -EFBIG);
	assert_int_equal(sys_read_i64(path, &v), 0);
	assert_int_equal(v, 1234);
	assert_int_equal(sys_read_file(path, 5, &b, NULL), 0);
	assert_int_equal(b.len, 5);
	assert_int_equal(sys_read_file(path, 4, &b, NULL), -EFBIG);
	buf_fini(&b);
	assert_int_equal(sys_write_attr(path, "-7", NULL), 0);
	assert_int_equal(pwrite(fd, "\n", 1, 2), 1);
	assert_int_equal(ftruncate(fd, 3), 0);
	assert_int_equal(sys_read_i64(path, &v), 0);
	assert_int_equal(v, -7);
	unlink(path);
	close(fd);
	assert_int_equal(sys_read_attr(path, text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(sys_read_i64(path, &v), -ENOENT);
}

static void test_numbers_are_whole(void **state)
{
	static const char *const bad[] = {
		"", " 1", "1 ", "1x", "0x10", "-", "+1", "1e3", "9223372036854775808"};
	int64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_true(sys_parse_i64(bad[i], &v) < 0);
	assert_int_equal(sys_parse_i64("-9223372036854775808", &v), 0);
	assert_true(v == INT64_MIN);
}

static void test_sysctl_names(void **state)
{
	static const char *const bad[] = {
		"",
		".",
		"net.",
		".net",
		"net..ipv4",
		"../proc/version",
		"net/../../version",
		"net/./core",
		"/net/core",
		"net/core/",
		"net.core/../x",
		"net.ipv4.tcp_rmem\n",
		"net.ipv4.tcp rmem",
	};
	char text[128], long_name[400];
	struct weir_err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(sys_sysctl_get(bad[i], text, sizeof(text)), -EINVAL);
		assert_true(sys_sysctl_set(bad[i], "1", &e) < 0);
		assert_int_equal(e.domain, WEIR_USAGE);
	}
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(sys_sysctl_get(long_name, text, sizeof(text)), -EINVAL);
	assert_true(sys_sysctl_get("net.ipv4.tcp_rmem", text, sizeof(text)) > 0);
	assert_true(sys_sysctl_get("net/ipv4/conf/lo/mc_forwarding", text, sizeof(text)) > 0);
	assert_int_equal(sys_sysctl_get("net.ipv4.nothing", text, sizeof(text)), -ENOENT);
	/* Reading others is fine, writing is not. */
	assert_true(sys_sysctl_get("kernel.osrelease", text, sizeof(text)) > 0);
	assert_int_equal(sys_sysctl_set("kernel.core_pattern", "core", &e), -EINVAL);
	assert_int_equal(sys_sysctl_set("network.x", "1", &e), -EINVAL);
}

static void test_knob_rows(void **state)
{
	char canon[SYS_VALUE_CAP];
	const struct sys_knob *k;
	size_t n = 0;

	(void)state;
	for (; (k = sys_knob_at(n)); n++) {
		assert_ptr_equal(sys_knob(k->name), k);
		assert_true(k->affects && k->affects[0]);
		assert_int_equal(k->scope == SYS_IFACE, strstr(k->path, "%s") != NULL);
		assert_int_equal(sys_knob_arg_ok(k, "eth0"), k->scope == SYS_IFACE);
		assert_int_equal(sys_knob_arg_ok(k, NULL), k->scope != SYS_IFACE);
		if (!strcmp(k->type, "str")) {
			assert_int_equal(sys_knob_canon(k, "fq_codel", canon), 0);
			assert_true(sys_knob_canon(k, "a b", canon) < 0);
			continue;
		}
		assert_true(k->min < k->max);
		assert_true(!strcmp(k->type, "int") || !strcmp(k->type, "triple"));
		assert_true(sys_knob_canon(k, "-1", canon) < 0);
		assert_true(sys_knob_canon(k, "99999999999", canon) < 0);
	}
	assert_true(n >= 12);
	assert_null(sys_knob("net.ipv4.nothing"));
}

static void test_canonical_values(void **state)
{
	const struct sys_knob *rmem = sys_knob("net.ipv4.tcp_rmem");
	char canon[SYS_VALUE_CAP];

	(void)state;
	assert_int_equal(sys_knob_canon(rmem, "4096\t0131072\t6291456", canon), 0);
	assert_string_equal(canon, "4096 131072 6291456");
	assert_int_equal(sys_knob_canon(rmem, "4096 4095 6291456", canon), -ERANGE);
	assert_int_equal(sys_knob_canon(rmem, "4096 8192", canon), -EINVAL);
	assert_int_equal(sys_knob_canon(sys_knob("net.ipv4.tcp_ecn"), "2", canon), 0);
}

/* Every row that this kernel and namespace have can be read and would be accepted again. */
static void test_present_values_pass_their_own_check(void **state)
{
	const struct sys_knob *k;
	char now[SYS_VALUE_CAP];
	struct weir_err e = {0};
	int read = 0;

	(void)state;
	for (size_t i = 0; (k = sys_knob_at(i)); i++) {
		if (k->scope == SYS_IFACE || sys_knob_get(k, NULL, now, sizeof(now), &e) < 0)
			continue;
		read++;
		if (sys_knob_check(k, NULL, now, &e) < 0)
			fail_msg("%s", e.msg);
	}
	assert_true(read >= 3);
}

static const char snmp[] = "Ip: Forwarding DefaultTTL\n"
			   "Ip: 1 64\n"
			   "Tcp: RtoAlgorithm MaxConn RetransSegs\n"
			   "Tcp: 1 -1 18\n"
			   "TcpExt: A\n"
			   "TcpExt:\n";

static void test_snmp(void **state)
{
	int64_t v = 0;

	(void)state;
	assert_int_equal(sys_snmp_parse(snmp, "Tcp", "RetransSegs", &v), 0);
	assert_int_equal(v, 18);
	assert_int_equal(sys_snmp_parse(snmp, "Tcp", "MaxConn", &v), 0);
	assert_int_equal(v, -1);
	assert_int_equal(sys_snmp_parse(snmp, "Tcp", "Retrans", &v), -ENOENT);
	assert_int_equal(sys_snmp_parse(snmp, "Tc", "RetransSegs", &v), -ENOENT);
	assert_int_equal(sys_snmp_parse(snmp, "Tcp", "Tcp:", &v), -ENOENT);
	assert_int_equal(sys_snmp_parse(snmp, "TcpExt", "A", &v), -EBADMSG);
	assert_int_equal(sys_snmp_parse("Tcp: A B\n", "Tcp", "B", &v), -EBADMSG);
	assert_int_equal(sys_snmp_parse("", "Tcp", "B", &v), -ENOENT);
	assert_int_equal(sys_snmp_get("Ip", "DefaultTTL", &v), 0);
	assert_true(v >= 1 && v <= 255);
	assert_int_equal(sys_snmp_get("Ip", "NoSuchCounter", &v), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_attr),
		cmocka_unit_test(test_numbers_are_whole),
		cmocka_unit_test(test_sysctl_names),
		cmocka_unit_test(test_knob_rows),
		cmocka_unit_test(test_canonical_values),
		cmocka_unit_test(test_present_values_pass_their_own_check),
		cmocka_unit_test(test_snmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
