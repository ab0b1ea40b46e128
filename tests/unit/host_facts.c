/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts of a machine that is a folder, so that what this one does not have (a governor, modules,
 * OpenWrt's services, several queues) is read as well; and the parsers on what no kernel writes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/priv.h"

#define CPU "sys/devices/system/cpu/"
#define NET "sys/class/net/"

static const char *const router[][2] = {
	{"proc/sys/kernel/hostname", "gate\n"},
	{"proc/sys/kernel/osrelease", "6.6.73\n"},
	{"proc/sys/kernel/version", "#0 SMP Mon Feb 3 2025\n"},
	{"proc/cmdline", "root=/dev/sda1 secret=abc isolcpus=1-3 mitigations=off threadirqs\n"},
	{"proc/cpuinfo", "processor\t: 0\nmodel name\t: ARMv8 Processor rev 4\n\n"},
	{"proc/meminfo", "MemTotal:         512000 kB\nHugePages_Total:       7\n"},
	{"proc/stat", "cpu  100 0 100 60000 0 0 50 3000 0 0\nintr 123456789 0 0\n"},
	{"proc/modules", "nf_conntrack 180224 1 - Live 0x0\nath10k_pci 57344 0 - Live 0x0\n"},
	{"proc/interrupts", "           CPU0       CPU1\n"
			    " 31:     123456          0  GICv3  41 Level     eth1-rx-0\n"
			    " 32:          0       9999  GICv3  42 Level     eth1-rx-1\n"
			    " 33:          0          1  GICv3  43 Level     eth10-rx-0\n"
			    "LOC:        555        666  Local timer interrupts\n"},
	{"proc/irq/31/effective_affinity_list", "0\n"},
	{"proc/irq/32/smp_affinity_list", "0-3\n"},
	{"proc/irq/33/smp_affinity_list", "2\n"},
	{"proc/sys/net/core/rmem_max", "212992\n"},
	{"proc/sys/net/core/netdev_budget", "600\n"},
	{"proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t6291456\n"},
	{"proc/sys/net/netfilter/nf_conntrack_max", "15360\n"},
	{"etc/os-release", "NAME=\"OpenWrt\"\nPRETTY_NAME=\"OpenWrt 24.10.0\"\n"},
	{"etc/openwrt_release", "DISTRIB_ID='OpenWrt'\n"},
	{"etc/rc.d/S19dnsmasq", "x"},
	{"etc/rc.d/S95done", "x"},
	{"etc/rc.d/K10gpio", "x"},
	{CPU "online", "0-3\n"},
	{CPU "cpu0/cpufreq/scaling_driver", "cpufreq-dt\n"},
	{CPU "cpu0/cpufreq/scaling_governor", "ondemand\n"},
	{CPU "cpu1/cpufreq/scaling_governor", "performance\n"},
	{CPU "cpu0/cpuidle/state0/name", "WFI\n"},
	{CPU "cpu0/cpuidle/state1/name", "retention\n"},
	{CPU "cpu0/cpuidle/state1/disable", "1\n"},
	{CPU "cpu0/cache/index0/level", "1\n"},
	{CPU "cpu0/cache/index0/type", "Data\n"},
	{CPU "cpu0/cache/index0/size", "32K\n"},
	{CPU "vulnerabilities/meltdown", "Not affected\n"},
	{CPU "vulnerabilities/spectre_v2", "Vulnerable\n"},
	{"sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
	{NET "eth1/mtu", "1508\n"},
	{NET "eth1/speed", "1000\n"},
	{NET "eth1/queues/rx-0/rps_cpus", "f\n"},
	{NET "eth1/queues/rx-1/rps_cpus", "f\n"},
	{NET "eth1/queues/tx-0/xps_cpus", "0\n"},
	{NET "lo/mtu", "65536\n"},
};

/* A desk with systemd, of which only this is there. */
static const char *const desk[][2] = {
	{"sys/fs/cgroup/system.slice/cron.service/cgroup.procs", "77\n"},
	{"sys/fs/cgroup/system.slice/getty@tty1.service/cgroup.procs", "78\n"},
	{"sys/fs/cgroup/system.slice/getty@tty2.service/cgroup.procs", "79\n"},
	{"sys/fs/cgroup/system.slice/done.service/cgroup.procs", ""},
	{"sys/fs/cgroup/system.slice/dbus.socket/cgroup.procs", "80\n"},
};

static void make_folders(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
}

static int make_files(const char *dir, const char *const files[][2], size_t n)
{
	char path[256];

	for (size_t i = 0; i < n; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		make_folders(path);
		f = fopen(path, "w");
		if (!f || fputs(files[i][1], f) < 0 || fclose(f) != 0)
			return -1;
	}
	return 0;
}

static int make_desk(void **state)
{
	static char dir[] = "/tmp/weir-facts-XXXXXX";

	*state = dir;
	return mkdtemp(dir) ? make_files(dir, desk, ARRAY_LEN(desk)) : -1;
}

static int make_root(void **state)
{
	static char dir[] = "/tmp/weir-facts-XXXXXX";
	char path[256];

	if (!mkdtemp(dir) || make_files(dir, router, ARRAY_LEN(router)) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/proc/sys/net/core/optmem_max", dir);
	*state = dir;
	return symlink("/etc/hostname", path); /* leads out: to be resolved inside, so to nothing */
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r '%s'", (const char *)*state);
	return system(command);
}

static const struct js *at(const struct js *v, const char *path)
{
	char name[64];

	while (*path) {
		size_t n = strcspn(path, "/");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		v = js_get(v, name);
		path += n + (path[n] == '/');
	}
	return v;
}

static void a_router(void **state)
{
	static const char *const texts[][2] = {
		{"host", "gate"},
		{"kernel", "6.6.73"},
		{"distribution", "OpenWrt 24.10.0"},
		{"cmdline/isolcpus", "1-3"},
		{"processor/model", "ARMv8 Processor rev 4"},
		{"processor/governor", "mixed"},
		{"processor/idle_states", "WFI retention(off)"},
		{"processor/irq_time", "not accounted (CONFIG_IRQ_TIME_ACCOUNTING)"},
		{"processor/steal_since_boot", "4.7 %"},
		{"mitigations/spectre_v2", "Vulnerable"},
		{"memory/transparent_huge_pages", "madvise"},
		{"interfaces/eth1/rps_cpus", "f"},
		{"interfaces/eth1/irqs/31", "0"},
		{"interfaces/eth1/irqs/32", "0-3"},
		{"sysctl/net.core.netdev_budget", "600"},
		{"sysctl/net.ipv4.tcp_rmem", "4096 87380 6291456"},
	};
	static const struct {
		const char *path;
		int64_t v;
	} numbers[] = {
		{"cmdline/others", 2},
		{"processor/caches/L1d_bytes", 32768},
		{"memory/total_bytes", 512000 * 1024LL},
		{"memory/huge_pages", 7},
		{"interfaces/eth1/mtu", 1508},
		{"interfaces/eth1/speed_bps", 1000000000},
		{"interfaces/eth1/rx_queues", 2},
		{"interfaces/eth1/tx_queues", 1},
		{"netfilter/conntrack_max", 15360},
	};
	static const char *const yes[] = {"cmdline/threadirqs", "modules/nf_conntrack",
					  "modules/ath10k_pci", "services/dnsmasq",
					  "services/done"};
	static const char *const unknown[] = {"processor/boost", "netfilter/nft_rules",
					      "clocksources", "processor/microcode",
					      "memory/swap_bytes"};
	static const char *const absent[] = {"cmdline/secret",
					     "cmdline/root",
					     "mitigations/meltdown",
					     "interfaces/lo",
					     "interfaces/eth1/irqs/33",
					     "sysctl/net.core.rmem_max",
					     "sysctl/net.core.optmem_max",
					     "services/gpio"};
	struct buf b = {0};
	struct js_doc *d;
	int64_t n;
	bool flag;

	assert_int_equal(host_facts_whole(&b, *state, NULL, NULL), 0);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &d, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *text = js_str(at(js_root(d), texts[i][0]), NULL);

		assert_non_null(text);
		assert_string_equal(text, texts[i][1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		assert_true(js_i64(at(js_root(d), numbers[i].path), &n));
		assert_int_equal(n, numbers[i].v);
	}
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		assert_true(js_bool(at(js_root(d), yes[i]), &flag) && flag);
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		assert_int_equal(js_type(at(js_root(d), unknown[i])), JS_NULL);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		assert_null(at(js_root(d), absent[i]));
	js_free(d);
	buf_fini(&b);
}

static void a_desk(void **state)
{
	struct buf b = {0};
	struct js_doc *d;
	const struct js *services;

	assert_int_equal(host_facts_whole(&b, *state, NULL, NULL), 0);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &d, NULL), 0);
	services = js_get(js_root(d), "services");
	assert_int_equal(js_len(services), 2);
	assert_non_null(js_get(services, "cron"));
	assert_non_null(js_get(services, "getty"));
	assert_int_equal(js_type(js_get(js_root(d), "modules")), JS_NULL);
	js_free(d);
	buf_fini(&b);
}

static void this_machine(void **state)
{
	struct buf b = {0};
	struct js_doc *d;
	int64_t mtu;

	(void)state;
	assert_int_equal(host_facts_whole(&b, NULL, "lo", NULL), 0);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &d, NULL), 0);
	assert_string_equal(js_str(js_get(js_root(d), "iface"), NULL), "lo");
	assert_true(js_i64(at(js_root(d), "interfaces/lo/mtu"), &mtu) && mtu >= 1280);
	assert_int_equal(js_len(js_get(js_root(d), "interfaces")), 1);
	assert_non_null(js_str(at(js_root(d), "sysctl/net.ipv4.tcp_rmem"), NULL));
	js_free(d);
	buf_fini(&b);
}

static void no_folder(void **state)
{
	struct weir_err e = {0};
	struct buf b = {0};

	(void)state;
	assert_int_equal(host_facts_whole(&b, "/nonexistent", NULL, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/nonexistent"));
	buf_fini(&b);
}

static void parsers(void **state)
{
	static const char *const words[] = {"eth1", "virtio0", NULL};
	char word[16];
	int irqs[4];
	double share;

	(void)state;
	assert_int_equal(host_irqs_of("", words, irqs, 4), 0);
	assert_int_equal(host_irqs_of(" 7: 1 eth1\n 8: 1 xeth1\n9: virtio0-input.0\n10 eth1\n"
				      "x: eth1\n11: eth12\n12: eth1-tx",
				      words, irqs, 4),
			 3);
	assert_true(irqs[0] == 7 && irqs[1] == 9 && irqs[2] == 12);
	assert_false(host_chosen("always", word, sizeof(word)));
	assert_false(host_chosen("[]", word, sizeof(word)));
	assert_false(host_chosen("[always", word, sizeof(word)));
	assert_int_equal(host_cache_bytes("8M"), 8 << 20);
	assert_int_equal(host_cache_bytes("12x"), 0);
	assert_int_equal(host_cache_bytes(""), 0);
	assert_int_equal(host_irq_accounted("cpu 1 2 3 4 5 6 7\nintr 5"), 1);
	assert_int_equal(host_irq_accounted("cpu 1 2 3 4 5 0 7\nintr 5"), -1);
	assert_int_equal(host_irq_accounted("cpu 1 2"), -1);
	assert_false(host_steal_share("cpu 1", &share));
}

/* As a shell elsewhere answers: lines of all small files, then the large ones, each ended by a NUL. */
static void answered(void **state)
{
	static const char text[] =
		"/proc/sys/kernel/hostname:gate\n/proc/sys/kernel/osrelease:5.4.0\n"
		"/proc/sys/net/ipv4/tcp_sack:0\n/sys/class/net/eth1/mtu:1500\n"
		"/sys/class/net/eth1/speed:1000\n/sys/class/net/eth1/queues/rx-0/rps_cpus:3\n"
		"/sys/class/net/eth1/queues/rx-1/rps_cpus:3\n/sys/class/net/lo/mtu:65536\n"
		"/sys/class/net/eth1/device/driver:../../bus/pci/drivers/igb\nno path:1\n/nothing\n"
		"/sys/fs/cgroup/system.slice/cron.service/cgroup.procs:77\n/etc/../x:1\n"
		"\0model name\t: Box\n\0MemTotal: 1024 kB\n\0\0nf_tables 1 0 - Live 0\n\0";
	struct buf b = {0}, ask = {0};
	struct js_doc *d;
	const struct js *eth;
	int64_t n = 0;

	(void)state;
	host_facts_ask(&ask);
	assert_non_null(strstr(ask.data, "/proc/sys/net/ipv4/*"));
	buf_fini(&ask);
	assert_int_equal(host_facts_answered(&b, text, sizeof(text), NULL, NULL), 0);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &d, NULL), 0);
	assert_string_equal(js_str(js_get(js_root(d), "host"), NULL), "gate");
	assert_string_equal(js_str(js_get(js_root(d), "kernel"), NULL), "5.4.0");
	assert_string_equal(js_str(js_get(js_get(js_root(d), "sysctl"), "net.ipv4.tcp_sack"), NULL),
			    "0");
	assert_string_equal(js_str(js_get(js_get(js_root(d), "processor"), "model"), NULL), "Box");
	assert_non_null(js_get(js_get(js_root(d), "modules"), "nf_tables"));
	assert_non_null(js_get(js_get(js_root(d), "services"), "cron"));
	assert_int_equal(js_type(js_get(js_root(d), "mitigations")), JS_NULL);
	eth = js_get(js_get(js_root(d), "interfaces"), "eth1");
	assert_true(js_i64(js_get(eth, "rx_queues"), &n) && n == 2);
	assert_true(js_i64(js_get(eth, "speed_bps"), &n) && n == 1000000000);
	assert_string_equal(js_str(js_get(eth, "driver"), NULL), "igb");
	assert_string_equal(js_str(js_get(eth, "rps_cpus"), NULL), "3");
	assert_null(js_get(js_get(js_root(d), "interfaces"), "lo"));
	js_free(d);
	buf_clear(&b);
	assert_int_equal(host_facts_answered(&b, "", 0, NULL, NULL), 0);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answered),
		cmocka_unit_test_setup_teardown(a_router, make_root, remove_root),
		cmocka_unit_test_setup_teardown(a_desk, make_desk, remove_root),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(no_folder),
		cmocka_unit_test(parsers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
