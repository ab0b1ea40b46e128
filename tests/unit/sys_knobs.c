/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each row that a namespace, a veth or a tap has: set through the journal, read back, put back.
 * And what must be refused: a queue discipline with classes, a name that moved on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/priv.h"
#include "sys/sys.h"
#include "sys_kill.h"

static bool ready; /* false: no namespaces, or no /sys of our own */
static struct sys_nl *nl;
static struct weir_err e;
static char dir[64];
static int tap_fd = -1;

static bool own_sysfs(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
	       mount("sysfs", "/sys", "sysfs", 0, NULL) == 0;
}

static void make_tap(void)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "tap0");
	tap_fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (tap_fd >= 0 && ioctl(tap_fd, TUNSETIFF, &ifr) < 0) {
		close(tap_fd);
		tap_fd = -1;
	}
}

static bool queues; /* the veth has two of each kind */

static bool make_veth(void)
{
	static const char *const words[] = {
		"ip",   "link", "add",  "v0", "numtxqueues", "2", "numrxqueues", "2", "type",
		"veth", "peer", "name", "v1", "numtxqueues", "2", "numrxqueues", "2"};
	char *argv[ARRAY_LEN(words) + 1] = {NULL};
	struct sys_child c;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		argv[i] = (char *)(uintptr_t)words[i];
	if (sys_child_start(&c, argv, 0, NULL, -1, -1, &e) == 0)
		queues = sys_child_wait(&c, -1) == 0;
	sys_child_stop(&c, 0);
	return queues || sys_link_add_veth(nl, "v0", "v1", -1, &e) == 0;
}

static int enter_world(void **state)
{
	struct sys_ns ns;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/weir-knobs-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	if (sys_ns_new(&ns, NULL, &e) < 0 || sys_ns_enter(&ns, &e) < 0) {
		print_message("%s; %s\n", e.msg, e.hint);
		return 0;
	}
	sys_ns_free(&ns);
	if (!own_sysfs() || sys_nl_open(&nl, &e) < 0) {
		print_message("no /sys of our own\n");
		return 0;
	}
	make_tap();
	ready = make_veth() && sys_link_set_up(nl, "v0", &e) == 0 &&
		sys_link_set_up(nl, "v1", &e) == 0;
	return !ready;
}

static int leave_world(void **state)
{
	(void)state;
	sys_nl_close(nl);
	if (tap_fd >= 0)
		close(tap_fd);
	rmdir(dir);
	return 0;
}

/* The i-th value other than the present one that the row would take; false: no more. */
static bool other_value(const struct sys_knob *k, const char *now, int i, char dst[SYS_VALUE_CAP])
{
	static const char *const words[][3] = {
		[SYS_PAIR] = {"20001 50000"},
		[SYS_TRIPLE] = {"5000 150000 5000000"},
		[SYS_WORD] = {"reno", "cubic"},
		[SYS_MASK] = {"1", "0"},
		[SYS_TC] = {"tbf rate 10mbit burst 16kb limit 64kb"}};
	static const struct {
		int64_t times, more;
	} steps[] = {{2, 0}, {1, 1}, {1, -1}, {0, 1}, {0, 0}};
	int64_t v = 0;

	if (k->type == SYS_CHOICE) {
		const char *first = k->words, *second = strchr(first, ' ') + 1;
		size_t n = (size_t)(second - first) - 1;
		bool is_first = !strncmp(now, first, n) && strlen(now) == n;
		snprintf(dst, SYS_VALUE_CAP, "%.*s", (int)(is_first ? strlen(second) : n),
			 is_first ? second : first);
		return i == 0;
	}
	if (k->type != SYS_INT && k->type != SYS_ORWORD) {
		snprintf(dst, SYS_VALUE_CAP, "%s",
			 i < 2 && words[k->type][i] ? words[k->type][i] : "");
		return dst[0];
	}
	if (i >= (int)ARRAY_LEN(steps))
		return false;
	sys_parse_i64(now, &v);
	snprintf(dst, SYS_VALUE_CAP, "%lld", (long long)(v * steps[i].times + steps[i].more));
	return true;
}

struct walk {
	struct sys_journal *j;
	unsigned set, refused;
	char done[8192];
	bool all; /* every one that can be read can be set */
};

/* Rows that exist and cannot be had here: said to be so, and nothing changed. */
static bool may_refuse(const char *text)
{
	static const char *const known[] = {
		"threaded", /* a veth without GRO has no NAPI */
		"private:", /* none of the drivers here has flags that matter */
		"speed",     "duplex",     "autoneg", /* a veth's are fixed */
		"channels-",                          /* bounded by what it was made with */
		"xps_",      "tx_maxrate", "feature:",     "adaptive",
		"usecs",     "frames",     "gso_max_segs", "mtu",
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strstr(text, known[i]))
			return true;
	return false;
}

static int change_one(const struct sys_ref *r, void *arg)
{
	char before[SYS_VALUE_CAP], now[SYS_VALUE_CAP], want[SYS_VALUE_CAP], text[SYS_REF_TEXT];
	struct walk *w = arg;
	struct sys_replay left;

	sys_ref_text(r, text);
	if (r->knob->scope == SYS_HOST || r->knob->revert != SYS_RUNTIME ||
	    sys_knob_get(r, before, sizeof(before), &e) < 0)
		return 0;
	int ret = -EINVAL;
	for (int i = 0; ret < 0 && other_value(r->knob, before, i, want); i++)
		ret = strcmp(want, before) ? sys_journal_set(w->j, r, want, &e) : -EINVAL;
	if (ret < 0) {
		w->refused++;
		if (!may_refuse(text))
			print_message("%s: '%s' for '%s': %s; %s\n", text, want, before, e.msg,
				      e.hint);
		assert_true(may_refuse(text));
		assert_true(sys_knob_get(r, now, sizeof(now), &e) >= 0);
		assert_string_equal(now, before);
		return 0;
	}
	w->set++;
	size_t n = strlen(w->done);
	snprintf(w->done + n, sizeof(w->done) - n, "%s\n", text);
	assert_true(sys_knob_get(r, now, sizeof(now), &e) >= 0);
	assert_true(sys_knob_same(r->knob, want, now));
	if (sys_journal_undo(w->j, &left, &e) < 0)
		fail_msg("%s: %s; %s", text, e.msg, e.hint);
	assert_int_equal(left.changed_since + left.failed, 0);
	assert_true(sys_knob_get(r, now, sizeof(now), &e) >= 0);
	assert_true(sys_knob_same(r->knob, before, now));
	return 0;
}

static void test_every_row_comes_back(void **state)
{
	static const char *const must[] = {"sysctl:net.ipv4.tcp_congestion_control",
					   "sysctl:net.ipv4.tcp_rmem",
					   "sysctl:net.ipv4.tcp_sack",
					   "sysctl:net.ipv4.ip_local_port_range",
					   "sysctl:net.core.somaxconn",
					   "sysctl:net.ipv4.tcp_notsent_lowat",
					   "iface:v0.mtu",
					   "iface:v0.tx_queue_len",
					   "iface:v0.gro_flush_timeout",
					   "iface:v0.napi_defer_hard_irqs",
					   "iface:v0.rps_cpus:0",
					   "iface:v0.rps_flow_cnt:0",
					   "iface:v0.gso_max_size",
					   "iface:v0.gro_max_size",
					   "iface:v0.qdisc",
					   "iface:v0.feature:tx-tcp-segmentation",
					   "iface:v0.feature:rx-gro",
					   "iface:v0.feature:tx-generic-segmentation"};
	static const char *const must_tap[] = {"iface:tap0.rx-frames", "iface:tap0.speed",
					       "iface:tap0.mtu"};
	static const char *const must_two[] = {"iface:v0.xps_cpus:1", "iface:v0.xps_rxqs:0",
					       "iface:v0.channels-rx", "iface:v0.rps_cpus:1"};
	struct walk w = {0};

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &w.j, &e), 0);
	assert_int_equal(sys_knob_list(NULL, NULL, change_one, &w, &e), 0);
	sys_journal_close(w.j);
	print_message("%u set and put back, %u refused\n", w.set, w.refused);
	for (size_t i = 0; i < ARRAY_LEN(must); i++)
		if (!strstr(w.done, must[i]))
			fail_msg("%s was not set", must[i]);
	for (size_t i = 0; queues && i < ARRAY_LEN(must_two); i++)
		if (!strstr(w.done, must_two[i]))
			fail_msg("%s was not set", must_two[i]);
	for (size_t i = 0; tap_fd >= 0 && i < ARRAY_LEN(must_tap); i++)
		if (!strstr(w.done, must_tap[i]))
			fail_msg("%s was not set", must_tap[i]);
}

/* ---- by name, by holder --------------------------------------------------- */

static const struct sys_ref *ref_of(const char *root, const char *text)
{
	static struct sys_ref r;

	r = (struct sys_ref){.root = root};
	if (sys_ref_parse(&r, text, strlen(text), &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return &r;
}

static void assert_value(const char *root, const char *text, const char *want)
{
	char now[SYS_VALUE_CAP];

	if (sys_knob_get(ref_of(root, text), now, sizeof(now), &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	assert_string_equal(now, want);
}

static int ip(const char *const words[])
{
	char *argv[12] = {NULL};
	struct sys_child c;

	for (size_t i = 0; words[i] && i + 1 < ARRAY_LEN(argv); i++)
		argv[i] = (char *)(uintptr_t)words[i];
	if (sys_child_start(&c, argv, SYS_CHILD_QUIET, NULL, -1, -1, &e) < 0)
		return -1;
	int ret = sys_child_wait(&c, -1);
	sys_child_stop(&c, 0);
	return ret;
}

static void test_renamed_is_still_the_same(void **state)
{
	struct sys_journal *j;
	struct sys_replay left;

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.rps_cpus:0"), "1", &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.tx_queue_len"), "77", &e), 0);
	if (ip((const char *const[]){"ip", "link", "set", "v0", "name", "new.0", NULL}) != 0) {
		sys_journal_close(j);
		skip(); /* no ip, or the kernel wants it down first */
	}
	assert_int_equal(sys_journal_undo(j, &left, &e), 0);
	assert_int_equal(left.restored, 2);
	assert_value(NULL, "iface:new.0.rps_cpus:0", "0");
	assert_value(NULL, "iface:new.0.tx_queue_len", "1000");
	sys_journal_close(j);
	ip((const char *const[]){"ip", "link", "set", "new.0", "name", "v0", NULL});
}

/* Another queue of the same interface is another knob; the same one names its holder. */
static void test_the_second_hears_of_the_first(void **state)
{
	struct sys_journal *a, *b;
	char pid[32];

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &a, &e), 0);
	assert_int_equal(sys_journal_open(dir, NULL, &b, &e), 0);
	assert_int_equal(sys_journal_set(a, ref_of(NULL, "iface:v0.feature:rx-gro"), "on", &e), 0);
	assert_int_equal(sys_journal_set(b, ref_of(NULL, "iface:v0.gro"), "on", &e), -EBUSY);
	assert_int_equal(sys_journal_set(b, ref_of(NULL, "iface:v0.gro"), "off", &e), -EBUSY);
	snprintf(pid, sizeof(pid), "process %d,", (int)getpid());
	assert_non_null(strstr(e.msg, pid));
	assert_int_equal(sys_journal_set(b, ref_of(NULL, "iface:v0.tso"), "off", &e), 0);
	/* What is so already is held all the same. */
	assert_int_equal(sys_journal_set(b, ref_of(NULL, "iface:v0.tx_queue_len"), "1000", &e), 0);
	assert_int_equal(sys_journal_set(a, ref_of(NULL, "iface:v0.tx_queue_len"), "9", &e),
			 -EBUSY);
	sys_journal_close(a);
	sys_journal_close(b);
	assert_value(NULL, "iface:v0.gro", "off");
	assert_value(NULL, "iface:v0.tso", "on");
}

/* A veth has threads to poll it only while it merges packets: the order back must be the reverse. */
static void test_the_last_goes_back_first(void **state)
{
	struct sys_journal *j;
	struct sys_replay left;

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.gro"), "on", &e), 0);
	if (sys_journal_set(j, ref_of(NULL, "iface:v0.threaded"), "1", &e) == 0) {
		assert_value(NULL, "iface:v0.threaded", "1");
		assert_int_equal(sys_journal_undo(j, &left, &e), 0);
		assert_int_equal(left.restored, 2);
		assert_value(NULL, "iface:v0.threaded", "0");
	}
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.gro", "off");
}

/* What the kernel would take along and not give back. */
static void test_ipv6_is_not_lost(void **state)
{
	const uint8_t addr[16] = {0xfd, [15] = 1};

	(void)state;
	if (!ready || sys_addr_add(nl, "v1", AF_INET6, addr, 64, &e) < 0)
		skip();
	assert_int_equal(sys_knob_check(ref_of(NULL, "iface:v1.mtu"), "1279", &e), -EINVAL);
	assert_int_equal(sys_knob_check(ref_of(NULL, "iface:v1.mtu"), "1280", &e), 0);
	assert_int_equal(sys_knob_check(ref_of(NULL, "iface:none0.mtu"), "600", &e), 0);
}

static void test_what_stands_on_it_is_not_made_smaller(void **state)
{
	struct sys_journal *j;

	(void)state;
	if (!ready || ip((const char *const[]){"ip", "link", "add", "link", "v0", "name", "above",
					       "type", "macvlan", NULL}) != 0)
		skip(); /* no ip, no macvlan */
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.mtu"), "1400", &e), -EBUSY);
	assert_non_null(strstr(e.msg, "above"));
	assert_value(NULL, "iface:above.mtu", "1500");
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:above.mtu"), "1400", &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.mtu"), "1400", &e), 0);
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.mtu", "1500");
	assert_value(NULL, "iface:above.mtu", "1500");
	ip((const char *const[]){"ip", "link", "del", "above", NULL});
}

static void test_steering_of_queues_is_not_lost(void **state)
{
	struct sys_journal *j;

	(void)state;
	if (!ready || !queues)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.channels-rx"), "2", &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.rps_cpus:1"), "1", &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.channels-rx"), "1", &e), -EBUSY);
	assert_non_null(strstr(e.msg, "rps_cpus"));
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.rps_cpus:1", "0");
}

/* A wish that was there before a refused one stays: the feature comes back with what it needs. */
static void test_a_refused_feature_is_as_it_was(void **state)
{
	struct sys_journal *j;

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(
		sys_journal_set(j, ref_of(NULL, "iface:v0.feature:tx-scatter-gather"), "off", &e),
		0);
	assert_value(NULL, "iface:v0.tso", "off");
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.tso"), "on", &e), -EBUSY);
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.feature:tx-scatter-gather", "on");
	assert_value(NULL, "iface:v0.tso", "on");
}

/* A veth has no permanent address: another one does not make it another interface. */
static void test_another_address_is_the_same_interface(void **state)
{
	struct sys_journal *j;
	struct sys_replay left;

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.tx_queue_len"), "77", &e), 0);
	if (ip((const char *const[]){"ip", "link", "set", "v0", "address", "02:00:00:00:00:99",
				     NULL}) != 0) {
		sys_journal_close(j);
		skip(); /* no ip */
	}
	assert_int_equal(sys_journal_undo(j, &left, &e), 0);
	assert_int_equal(left.restored, 1);
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.tx_queue_len", "1000");
}

static void test_disciplines_with_options_are_left(void **state)
{
	struct sys_journal *j;

	(void)state;
	if (!ready ||
	    ip((const char *const[]){"sh", "-c",
				     "tc qdisc add dev v0 root tbf rate 10mbit burst 16kb "
				     "limit 64kb overhead 20 linklayer atm",
				     NULL}) != 0)
		skip(); /* no tc, no tbf */
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_true(sys_journal_set(j, ref_of(NULL, "iface:v0.qdisc"), "pfifo limit 7", &e) < 0);
	assert_non_null(strstr(e.msg, "options"));
	sys_journal_close(j);
	ip((const char *const[]){"tc", "qdisc", "del", "dev", "v0", "root", NULL});
}

static void refused_along(const char *knob, const char *value, const char *follower)
{
	struct sys_journal *j;

	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, knob), value, &e), -EBUSY);
	assert_non_null(strstr(e.msg, follower));
	sys_journal_close(j);
}

/* The kernel sets a second value with the first, and would leave it changed. */
static void test_what_follows_is_not_lost(void **state)
{
	struct sys_journal *j;
	char before[SYS_VALUE_CAP];
	const char *mtu6 = "net/ipv6/conf/v0/mtu";

	(void)state;
	if (!ready)
		skip();
	if (sys_sysctl_set(mtu6, "1400", NULL) == 0) {
		refused_along("iface:v0.mtu", "1450", mtu6);
		assert_int_equal(sys_sysctl_set(mtu6, "1500", &e), 0);
	}
	if (sys_knob_get(ref_of(NULL, "iface:v0.gso_ipv4_max_size"), before, sizeof(before), &e) <
	    0)
		skip(); /* a kernel that has one size */
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(
		sys_journal_set(j, ref_of(NULL, "iface:v0.gso_ipv4_max_size"), "30000", &e), 0);
	refused_along("iface:v0.gso_max_size", "40000", "gso_ipv4_max_size");
	sys_journal_close(j);
	/* As the hint says: the follower first, so that its own old value comes last. */
	assert_int_equal(sys_knob_set(ref_of(NULL, "iface:v0.gso_ipv4_max_size"), "30000", &e), 0);
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.gso_ipv4_max_size"), before, &e),
			 0);
	assert_int_equal(sys_journal_set(j, ref_of(NULL, "iface:v0.gso_max_size"), "40000", &e), 0);
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.gso_ipv4_max_size", "30000");
	assert_value(NULL, "iface:v0.gso_max_size", before);
	assert_int_equal(sys_knob_set(ref_of(NULL, "iface:v0.gso_ipv4_max_size"), before, &e), 0);
}

/* "default" alone would be whatever the kernel makes of it by then. */
static void test_a_default_is_of_a_kind(void **state)
{
	char text[SYS_VALUE_CAP];

	(void)state;
	assert_int_equal(sys_tc_canon("default  mq\tfq_codel ", text, &e), 0);
	assert_string_equal(text, "default mq fq_codel");
	assert_true(sys_tc_canon("default a b c", text, &e) < 0);
	assert_true(sys_tc_canon("default a;b", text, &e) < 0);
	assert_true(sys_tc_canon("defaults", text, &e) < 0);
	assert_int_equal(sys_tc_canon("pfifo limit 4294967295", text, &e), 0);
	assert_int_equal(sys_tc_canon("tbf rate 100gbit burst 1mb limit 4mb", text, &e), 0);
	assert_int_equal(sys_tc_canon("pfifo limit 4294967296", text, &e), -EINVAL);
	assert_int_equal(e.domain, WEIR_USAGE);
	assert_int_equal(sys_tc_canon("tbf rate 1mbit burst 1mb limit 9gb", text, &e), -EINVAL);
	assert_true(sys_tc_same("default", "default fq"));
	assert_true(sys_tc_same("default fq", "default"));
	assert_false(sys_tc_same("default fq", "default fq_codel"));
	assert_false(sys_tc_same("default", "pfifo limit 7"));
	assert_true(sys_tc_default_of("default mq fq", "fq"));
	assert_true(sys_tc_default_of("default noqueue", "fq"));
	assert_false(sys_tc_default_of("default mq pfifo_fast", "fq"));
	if (!ready)
		skip();
	/* Another kind than the kernel gives here is told. */
	assert_int_equal(sys_knob_set(ref_of(NULL, "iface:v0.qdisc"), "default none", &e), -EIO);
	assert_non_null(strstr(e.msg, "default noqueue"));
}

static void test_disciplines_with_classes_are_left(void **state)
{
	struct sys_journal *j;

	(void)state;
	if (!ready)
		skip();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	const struct sys_ref *qdisc = ref_of(NULL, "iface:v0.qdisc");
	assert_int_equal(sys_journal_set(j, qdisc, "pfifo limit 7", &e), 0);
	assert_value(NULL, "iface:v0.qdisc", "pfifo limit 7");
	assert_int_equal(sys_journal_set(j, qdisc, "netem delay 1ms", &e) < 0, 1);
	assert_value(NULL, "iface:v0.qdisc", "pfifo limit 7"); /* what it was before that */
	sys_journal_close(j);
	assert_value(NULL, "iface:v0.qdisc", "default noqueue");
	if (ip((const char *const[]){"tc", "qdisc", "add", "dev", "v0", "root", "handle",
				     "1:", "htb", NULL}) != 0)
		skip(); /* no tc, no htb */
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	assert_true(sys_journal_set(j, qdisc, "pfifo limit 7", &e) < 0);
	assert_non_null(strstr(e.msg, "htb"));
	sys_journal_close(j);
	ip((const char *const[]){"tc", "qdisc", "del", "dev", "v0", "root", NULL});
}

/* ---- SIGKILL at every system call, of each way to a value -------------------- */

static const struct {
	const char *knob, *value;
} killed[] = {
	{"iface:v0.qdisc", "tbf rate 10mbit burst 16kb limit 64kb"},
	{"iface:v0.tso", "off"},
	{"iface:v0.gso_max_size", "32768"},
	{"iface:v0.channels-rx", "2"},
	{"iface:v0.rps_cpus:0", "1"},
};
static size_t turn;

static void set_and_end(void)
{
	struct sys_journal *j;

	if (sys_journal_open(dir, NULL, &j, NULL) < 0 ||
	    sys_journal_set(j, ref_of(NULL, killed[turn].knob), killed[turn].value, NULL) < 0)
		_exit(1);
	sys_journal_close(j);
	_exit(0);
}

static void test_sigkill_at_each_system_call(void **state)
{
	char before[SYS_VALUE_CAP];
	struct sys_replay left;

	(void)state;
	if (!ready || !queues)
		skip();
	const char *all = getenv("WEIR_CHECK_ALL");
	for (turn = 0; turn < (all && *all == '1' ? ARRAY_LEN(killed) : 1); turn++) {
		const struct sys_ref *ref = ref_of(NULL, killed[turn].knob);
		bool ended = false;
		int n = 0;
		assert_true(sys_knob_get(ref, before, sizeof(before), &e) > 0);
		while (!ended) {
			ended = killed_at(set_and_end, n++);
			assert_int_equal(sys_journal_recover(dir, NULL, &left, &e), 0);
			assert_int_equal(left.changed_since + left.failed + left.busy, 0);
			assert_value(NULL, killed[turn].knob, before);
		}
		assert_true(n > 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_comes_back),
		cmocka_unit_test(test_renamed_is_still_the_same),
		cmocka_unit_test(test_the_second_hears_of_the_first),
		cmocka_unit_test(test_the_last_goes_back_first),
		cmocka_unit_test(test_ipv6_is_not_lost),
		cmocka_unit_test(test_what_stands_on_it_is_not_made_smaller),
		cmocka_unit_test(test_steering_of_queues_is_not_lost),
		cmocka_unit_test(test_a_refused_feature_is_as_it_was),
		cmocka_unit_test(test_another_address_is_the_same_interface),
		cmocka_unit_test(test_disciplines_with_options_are_left),
		cmocka_unit_test(test_what_follows_is_not_lost),
		cmocka_unit_test(test_a_default_is_of_a_kind),
		cmocka_unit_test(test_disciplines_with_classes_are_left),
		cmocka_unit_test(test_sigkill_at_each_system_call),
	};

	return cmocka_run_group_tests(tests, enter_world, leave_world);
}
