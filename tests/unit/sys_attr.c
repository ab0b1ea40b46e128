/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes, sysctl names, knob values, counters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

static const char *arg_for(const struct sys_knob *k, char arg[SYS_ARG_CAP])
{
	static const struct {
		const char *class, *of;
	} of[] = {{"iface.", "eth0"},
		  {"cpu.", "0"},
		  {"irq.", "24"},
		  {"module.", "nf_conntrack"},
		  {"service.", "irqbalance"}};
	static const char *const part[] = {
		[SYS_WHOLE] = "",      [SYS_RX_QUEUE] = ":0", [SYS_TX_QUEUE] = ":12",
		[SYS_BIT] = ":rx-gro", [SYS_STATE] = ":1",    [SYS_PARAM] = ":hashsize"};

	arg[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		if (!strncmp(k->name, of[i].class, strlen(of[i].class)))
			snprintf(arg, SYS_ARG_CAP, "%s%s", of[i].of, part[k->part]);
	return arg;
}

/* Each row has what a table of knobs has to tell, and its name is read back as the same row. */
static void test_knob_rows(void **state)
{
	const struct sys_knob *k;
	size_t n = 0;

	(void)state;
	for (; (k = sys_knob_at(n)); n++) {
		struct sys_ref r = {.knob = k}, back = {0};
		char text[SYS_REF_TEXT], range[120];
		struct weir_err e = {0};

		assert_ptr_equal(sys_knob(k->name), k);
		assert_true(k->affects && k->affects[0]);
		assert_true(sys_knob_needs(k)[0]);
		arg_for(k, r.arg);
		assert_true(sys_knob_arg_ok(k, r.arg));
		assert_false(sys_knob_arg_ok(k, "../x"));
		assert_false(sys_knob_arg_ok(k, "eth0:../x"));
		assert_int_equal(sys_knob_arg_ok(k, NULL), !r.arg[0]);
		sys_ref_text(&r, text);
		if (sys_ref_parse(&back, text, strlen(text), &e) < 0)
			fail_msg("%s: %s", text, e.msg);
		assert_ptr_equal(back.knob, k);
		assert_string_equal(back.arg, r.arg);
		sys_knob_range(k, range, sizeof(range));
		assert_true(range[0] && strlen(range) < sizeof(range) - 1);
		if (k->type == SYS_INT || k->type == SYS_PAIR || k->type == SYS_TRIPLE)
			assert_true(k->min < k->max);
		assert_int_equal(k->type == SYS_CHOICE, k->words && k->type != SYS_ORWORD);
	}
	assert_true(n >= 150);
	assert_null(sys_knob("net.ipv4.nothing"));
}

static void test_names(void **state)
{
	static const struct {
		const char *text, *knob, *arg;
	} good[] = {
		{"net.ipv4.tcp_rmem", "net.ipv4.tcp_rmem", ""},
		{"sysctl:net.ipv4.tcp_rmem", "net.ipv4.tcp_rmem", ""},
		{"iface:eth0.5.mtu", "iface.mtu", "eth0.5"},
		{"iface:eth0.tso", "iface.feature", "eth0:tx-tcp-segmentation"},
		{"iface:eth0.feature:rx-gro", "iface.feature", "eth0:rx-gro"},
		{"iface:eth0.rps_cpus:3", "iface.rps_cpus", "eth0:3"},
		{"cpu:1.idle_disable:2", "cpu.idle_disable", "1:2"},
		{"host:boost", "host.boost", ""},
		{"boot:intel_idle.max_cstate", "boot.intel_idle.max_cstate", ""},
		{"module:nf_conntrack.param:hashsize", "module.param", "nf_conntrack:hashsize"},
	};
	static const char *const bad[] = {
		"",
		":",
		"mtu",
		"iface:mtu",
		"iface:.mtu",
		"iface:lo.mtu",
		"iface:../x.mtu",
		"iface:eth0.mtu:1",
		"iface:eth0.rps_cpus",
		"iface:eth0.rps_cpus:01",
		"iface:eth0.rps_cpus:../1",
		"iface:a_name_that_is_too_long.mtu",
		"sysctl:iface.mtu",
		"sysctl:net.ipv4.ip_forward",
		"net.ipv4.ip_forward",
		"kernel.core_pattern",
		"cpu:-1.governor",
		"cpu:0/../../x.governor",
		"service:sshd.state",
		"module:../x.loaded",
		"module:-r.loaded",
		"host:boost:1",
		"module:x.param:../y",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct sys_ref r = {0};
		struct weir_err e = {0};
		if (sys_ref_parse(&r, good[i].text, strlen(good[i].text), &e) < 0)
			fail_msg("%s: %s", good[i].text, e.msg);
		assert_string_equal(r.knob->name, good[i].knob);
		assert_string_equal(r.arg, good[i].arg);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct sys_ref r = {0};
		struct weir_err e = {0};
		if (sys_ref_parse(&r, bad[i], strlen(bad[i]), &e) >= 0)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(e.domain, WEIR_USAGE);
	}
}

/* NULL: no value of that knob. */
static void assert_canon(const char *knob, const char *value, const char *want)
{
	char canon[SYS_VALUE_CAP];
	int ret = sys_knob_canon(sys_knob(knob), value, canon);

	if (want && ret < 0)
		fail_msg("%s: '%s' was refused", knob, value);
	if (want)
		assert_string_equal(canon, want);
	else if (ret >= 0)
		fail_msg("%s: '%s' was taken", knob, value);
	if (want) { /* the canonical form is its own */
		char again[SYS_VALUE_CAP];
		assert_int_equal(sys_knob_canon(sys_knob(knob), canon, again), 0);
		assert_string_equal(again, canon);
	}
}

static void test_canonical_values(void **state)
{
	static const struct {
		const char *knob, *value, *want;
	} t[] = {
		{"net.ipv4.tcp_rmem", "4096\t0131072\t6291456", "4096 131072 6291456"},
		{"net.ipv4.tcp_rmem", "4096 4095 6291456", NULL},
		{"net.ipv4.tcp_rmem", "4096 8192", NULL},
		{"net.ipv4.ip_local_port_range", "32768\t60999", "32768 60999"},
		{"net.ipv4.ip_local_port_range", "1", NULL},
		{"net.ipv4.tcp_ecn", "2", "2"},
		{"net.ipv4.tcp_ecn", "6", NULL},
		{"net.ipv4.tcp_ecn", "-1", NULL},
		{"net.ipv4.tcp_ecn", "99999999999999999999", NULL},
		{"net.ipv4.tcp_congestion_control", "bbr2-x_y", "bbr2-x_y"},
		{"net.ipv4.tcp_congestion_control", "a b", NULL},
		{"iface.adaptive-rx", "on", "on"},
		{"iface.adaptive-rx", "of", NULL},
		{"iface.adaptive-rx", "off on", NULL},
		{"iface.adaptive-rx", "", NULL},
		{"iface.rps_cpus", "00000000,0000000F", "f"},
		{"iface.rps_cpus", "1,00000000", "1,00000000"},
		{"iface.rps_cpus", "0", "0"},
		{"iface.rps_cpus", "", NULL},
		{"iface.rps_cpus", ",1", NULL},
		{"iface.rps_cpus", "1,", NULL},
		{"iface.rps_cpus", "123456789", NULL},
		{"iface.rps_cpus", "0x3", NULL},
		{"irq.affinity", "3,1,2,0", "0-3"},
		{"irq.affinity", "0-1,1-4,9", "0-4,9"},
		{"irq.affinity", "4-2", NULL},
		{"irq.affinity", "0-", NULL},
		{"irq.affinity", "0,,1", NULL},
		{"irq.affinity", "1024", NULL},
		{"cpu.latency_us", "n/a", "n/a"},
		{"cpu.latency_us", "20", "20"},
		{"cpu.latency_us", "n", NULL},
		{"module.param", "Y", "Y"},
		{"module.param", "1,2", "1,2"},
		{"module.param", "a;b", NULL},
		{"module.loaded", "no", "no"},
		{"module.loaded", "yes a=1 b_c=x,y", "yes a=1 b_c=x,y"},
		{"module.loaded", "yes a=1 ", NULL},
		{"module.loaded", "yes -r", NULL},
		{"module.loaded", "yes a=$(x)", NULL},
		{"iface.qdisc", "default", "default"},
		{"iface.qdisc", "pfifo  limit 0100", "pfifo limit 100"},
		{"iface.qdisc", "tbf limit 64k burst 16kb rate 1500kbit",
		 "tbf rate 1500kbit burst 16kb limit 64kb"},
		{"iface.qdisc", "tbf rate 10mbit limit 1b", NULL},
		{"iface.qdisc", "tbf rate 10mbit rate 10mbit burst 1b limit 1b", NULL},
		{"iface.qdisc", "fq_codel target 5000 interval 0.1s ecn 1",
		 "fq_codel target 5ms interval 100ms ecn 1"},
		{"iface.qdisc", "fq_codel ecn 2", NULL},
		{"iface.qdisc", "netem delay 10ms loss 0.5%", "netem delay 10ms loss 0.5%"},
		{"iface.qdisc", "netem loss 101%", NULL},
		{"iface.qdisc", "netem delay -1ms", NULL},
		{"iface.qdisc", "htb default 1", NULL},
		{"iface.qdisc", "pfifo limit", NULL},
		{"iface.qdisc", "pfifo", NULL},
		{"iface.qdisc", "", NULL},
		{"iface.qdisc", "pfifo limit 1; reboot", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_canon(t[i].knob, t[i].value, t[i].want);
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
		struct sys_ref r = {.knob = k};
		if (k->revert != SYS_RUNTIME || sys_knob_get(&r, now, sizeof(now), &e) < 0)
			continue;
		read++;
		if (sys_knob_check(&r, now, &e) < 0)
			fail_msg("%s", e.msg);
	}
	assert_true(read >= 30);
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
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_canonical_values),
		cmocka_unit_test(test_present_values_pass_their_own_check),
		cmocka_unit_test(test_snmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
