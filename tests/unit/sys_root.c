/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a test machine has not: modules, services, a governor, a radio. A folder stands for /, with
 * small programs that do to its files what the real ones do to the kernel. All of it goes through
 * the same journal.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/priv.h"
#include "sys/sys.h"

static char root[64], dir[80];
static struct weir_err e;

#define CPU0 "/sys/devices/system/cpu/cpu0/"
static const struct {
	const char *path, *text;
	mode_t mode;
} tree[] = {
	{"/proc/cmdline", "root=/dev/sda mitigations=off quiet isolcpus=2,3 threadirqs\n", 0600},
	{"/proc/modules",
	 "iptable_filter 16384 0 - Live 0x0\n"
	 "slow_fs 100 0 - Live 0x0\n"
	 "busy 4096 2 a,b, Live 0x0\n"
	 "nic 4096 0 - Live 0x0\n"
	 "sit 4096 0 - Live 0x0\n"
	 "br_netfilter 4096 0 - Live 0x0\n"
	 "quiet 4096 0 - Live 0x0\n",
	 0600},
	{"/proc/sys/net/bridge/bridge-nf-call-iptables", "0\n", 0600},
	{"/proc/mounts", "/dev/sdb /mnt slow_fs rw 0 0\n", 0600},
	{"/proc/irq/24/smp_affinity_list", "0-1\n", 0600},
	{"/proc/sys/net/core/netdev_budget", "300\n", 0600},
	{"/sys/module/quiet/parameters/depth", "7\n", 0600},
	{"/sys/module/quiet/parameters/mode", "fast\n", 0600},
	{"/sys/module/nic/parameters/version", "3\n", 0400},
	{CPU0 "cpufreq/scaling_governor", "powersave\n", 0600},
	{CPU0 "power/pm_qos_resume_latency_us", "0\n", 0600},
	{CPU0 "cpuidle/state0/disable", "0\n", 0600},
	{CPU0 "cpuidle/state1/disable", "0\n", 0600},
	{"/sys/class/net/wlan0/ifindex", "3\n", 0600},
	{"/sys/class/net/wlan0/address", "02:00:00:00:00:03\n", 0600},
	{"/sys/class/net/wlan0/mtu", "1500\n", 0600},
	{"/sys/class/net/wlan0/phy80211/name", "phy0\n", 0600},
	{"/sys/class/net/wlan0/queues/rx-0/rps_cpus", "00000000\n", 0600},
	{"/etc/systemd/system/irqbalance.service", "", 0600},
	{"/run/systemd/system/x", "", 0600},
	{"/state/irqbalance", "active\n", 0600},
	{"/state/power_save", "on\n", 0600},
	{"/state/txpower", "2000\n", 0600},
	{"/usr/sbin/rmmod",
	 "#!/bin/sh\n"
	 "r=${0%/usr/sbin/*}\n"
	 "echo \"rmmod $*\" >>\"$r/state/log\"\n"
	 "sed -i \"/^$1 /d\" \"$r/proc/modules\"\n"
	 "mv \"$r/sys/module/$1\" \"$r/state/\"\n",
	 0700},
	{"/usr/sbin/modprobe",
	 "#!/bin/sh\n"
	 "r=${0%/usr/sbin/*}\n"
	 "echo \"modprobe $*\" >>\"$r/state/log\"\n"
	 "echo \"$1 4096 0 - Live 0x0\" >>\"$r/proc/modules\"\n"
	 "mv \"$r/state/$1\" \"$r/sys/module/\"\n",
	 0700},
	{"/usr/bin/systemctl",
	 "#!/bin/sh\n"
	 "r=${0%/usr/bin/*}\n"
	 "case $1 in\n"
	 "is-active) read -r s <\"$r/state/$3\"; [ \"$s\" = active ] ;;\n"
	 "start) echo active >\"$r/state/$2\" ;;\n"
	 "stop) echo inactive >\"$r/state/$2\" ;;\n"
	 "esac\n",
	 0700},
	{"/usr/sbin/iw",
	 "#!/bin/sh\n"
	 "r=${0%/usr/sbin/*}\n"
	 "case $3$4 in\n"
	 "getpower_save) echo \"Power save: $(cat \"$r/state/power_save\")\" ;;\n"
	 "setpower_save) echo \"$5\" >\"$r/state/power_save\" ;;\n"
	 "settxpower) echo \"$6\" >\"$r/state/txpower\" ;;\n"
	 "info) t=$(cat \"$r/state/txpower\")\n"
	 "	echo \"	txpower ${t%??}.${t#\"${t%??}\"} dBm\" ;;\n"
	 "esac\n",
	 0700},
};

static void make_folders(const char *path)
{
	char part[SYS_PATH_CAP];

	snprintf(part, sizeof(part), "%s", path);
	for (char *s = part + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(part, 0700);
		*s = '/';
	}
}

static int make_tree(void **state)
{
	char path[SYS_PATH_CAP];

	(void)state;
	snprintf(root, sizeof(root), "/tmp/weir-root-XXXXXX");
	if (!mkdtemp(root))
		return 1;
	snprintf(dir, sizeof(dir), "%s/journal", root);
	for (size_t i = 0; i < ARRAY_LEN(tree); i++) {
		snprintf(path, sizeof(path), "%s%s", root, tree[i].path);
		make_folders(path);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, tree[i].mode);
		size_t n = strlen(tree[i].text);
		if (fd < 0 || write(fd, tree[i].text, n) != (ssize_t)n)
			return 1;
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/sys/class/net/wlan0/device/driver/", root);
	make_folders(path);
	strcat(path, "module");
	return symlink("../../../../../module/nic", path);
}

static int remove_tree(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command); /* NOLINT: the name is ours */
}

static const struct sys_ref *ref_of(const char *text)
{
	static struct sys_ref r;

	r = (struct sys_ref){.root = root};
	if (sys_ref_parse(&r, text, strlen(text), &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return &r;
}

static void assert_value(const char *text, const char *want)
{
	char now[SYS_VALUE_CAP];

	if (sys_knob_get(ref_of(text), now, sizeof(now), &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	assert_string_equal(now, want);
}

static void assert_file(const char *path, const char *want)
{
	char file[SYS_PATH_CAP], text[512];

	snprintf(file, sizeof(file), "%s%s", root, path);
	assert_true(sys_read_attr(file, text, sizeof(text)) >= 0);
	assert_string_equal(text, want);
}

static const struct {
	const char *knob, *before, *value;
} rows[] = {
	{"cpu:0.governor", "powersave", "performance"},
	{"cpu:0.latency_us", "0", "n/a"},
	{"cpu:0.idle_disable:1", "0", "1"},
	{"irq:24.affinity", "0-1", "1"},
	{"sysctl:net.core.netdev_budget", "300", "600"},
	{"module:quiet.param:mode", "fast", "slow"},
	{"service:irqbalance.state", "running", "stopped"},
	{"iface:wlan0.mtu", "1500", "1400"},
	{"iface:wlan0.rps_cpus:0", "0", "3"},
	{"iface:wlan0.wifi_power_save", "on", "off"},
	{"iface:wlan0.wifi_txpower", "2000", "1550"},
	{"module:quiet.loaded", "yes depth=7 mode=slow", "no"},
};

static void test_all_of_them_come_back(void **state)
{
	struct sys_journal *j;
	struct sys_replay left;

	(void)state;
	assert_int_equal(sys_journal_open(dir, root, &j, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_value(rows[i].knob, rows[i].before);
		if (sys_journal_set(j, ref_of(rows[i].knob), rows[i].value, &e) < 0)
			fail_msg("%s: %s", rows[i].knob, e.msg);
		assert_value(rows[i].knob, rows[i].value);
	}
	assert_file("/state/power_save", "off");
	assert_file("/state/irqbalance", "inactive");
	if (sys_journal_undo(j, &left, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(left.restored, ARRAY_LEN(rows));
	for (size_t i = 0; i + 1 < ARRAY_LEN(rows); i++)
		assert_value(rows[i].knob, rows[i].before);
	/* The module came back with its parameters, then its parameter with its value. */
	assert_value("module:quiet.loaded", "yes depth=7 mode=fast");
	assert_file("/state/log", "rmmod quiet\nmodprobe quiet depth=7 mode=slow");
	sys_journal_close(j);
}

static void test_a_module_is_kept_where_something_holds_it(void **state)
{
	static const struct {
		const char *module, *why;
	} kept[] = {{"busy", "in use"},   {"iptable_filter", "tables"},
		    {"sit", "links"},     {"br_netfilter", "bridge-nf-call-iptables"},
		    {"slow_fs", "mount"}, {"nic", "interface"}};
	struct sys_journal *j;
	char text[64];

	(void)state;
	assert_int_equal(sys_journal_open(dir, root, &j, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		snprintf(text, sizeof(text), "module:%s.loaded", kept[i].module);
		assert_true(sys_journal_set(j, ref_of(text), "no", &e) < 0);
		assert_non_null(strstr(e.msg, kept[i].why));
	}
	sys_journal_close(j);
}

static void test_a_reboot_is_told_not_made(void **state)
{
	struct sys_journal *j;

	(void)state;
	assert_value("boot:mitigations", "off");
	assert_value("boot:isolcpus", "2,3");
	assert_value("boot:threadirqs", "on");
	assert_value("boot:nohz_full", "default");
	assert_int_equal(sys_journal_open(dir, root, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of("boot:mitigations"), "auto", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "reboot"));
	sys_journal_close(j);
}

/* A copy of a tree whose links lead to this machine's own files. */
static void test_nothing_outside_is_touched(void **state)
{
	char other[] = "/tmp/weir-other-XXXXXX", link[160], file[64], now[SYS_VALUE_CAP];

	(void)state;
	assert_non_null(mkdtemp(other));
	snprintf(file, sizeof(file), "%s/smp_affinity_list", other);
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	fputs("0-1\n", f);
	fclose(f);
	snprintf(link, sizeof(link), "%s/proc/irq/33", root);
	assert_int_equal(symlink(other, link), 0);
	assert_true(sys_knob_get(ref_of("irq:33.affinity"), now, sizeof(now), &e) < 0);
	assert_true(sys_knob_set(ref_of("irq:33.affinity"), "1", &e) < 0);
	assert_non_null(strstr(e.msg, "--root"));
	assert_int_equal(sys_read_attr(file, now, sizeof(now)), 3);
	assert_string_equal(now, "0-1");
	unlink(link);
	unlink(file);
	rmdir(other);
}

/* The owner died; another one puts it back, of services too. */
static void test_recovered_below_the_same_root(void **state)
{
	struct sys_replay left;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		struct sys_journal *j;
		if (sys_journal_open(dir, root, &j, NULL) < 0 ||
		    sys_journal_set(j, ref_of("service:irqbalance.state"), "stopped", NULL) < 0 ||
		    sys_journal_set(j, ref_of("iface:wlan0.wifi_power_save"), "off", NULL) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_value("service:irqbalance.state", "stopped");
	if (sys_journal_recover(dir, root, &left, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(left.restored, 2);
	assert_value("service:irqbalance.state", "running");
	assert_value("iface:wlan0.wifi_power_save", "on");
}

struct seen {
	char text[8192];
};

static int note(const struct sys_ref *r, void *arg)
{
	struct seen *s = arg;
	char text[SYS_REF_TEXT];
	size_t n = strlen(s->text);

	sys_ref_text(r, text);
	snprintf(s->text + n, sizeof(s->text) - n, "%s\n", text);
	return 0;
}

static void assert_listed(const char *pattern, const char *want)
{
	struct seen s = {""};

	assert_int_equal(sys_knob_list(root, pattern, note, &s, &e), 0);
	assert_string_equal(s.text, want);
}

static void test_a_parameter_may_be_read_only(void **state)
{
	struct sys_journal *j;

	(void)state;
	assert_true(sys_knob_writable(ref_of("module:quiet.param:mode")));
	assert_false(sys_knob_writable(ref_of("module:nic.param:version")));
	assert_value("module:nic.param:version", "3");
	assert_int_equal(sys_journal_open(dir, root, &j, &e), 0);
	assert_int_equal(sys_journal_set(j, ref_of("module:nic.param:version"), "4", &e), -EINVAL);
	assert_non_null(strstr(e.msg, "read-only"));
	sys_journal_close(j);
	assert_value("module:nic.param:version", "3");
}

/* Nobody writes to it: who opened it would wait for ever. */
static void test_a_pipe_is_no_file(void **state)
{
	char path[160], now[SYS_VALUE_CAP];

	(void)state;
	snprintf(path, sizeof(path), "%s/proc/irq/34", root);
	make_folders(path);
	mkdir(path, 0700);
	strcat(path, "/smp_affinity_list");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(sys_knob_get(ref_of("irq:34.affinity"), now, sizeof(now), &e) < 0);
	assert_non_null(strstr(e.msg, "a pipe"));
	assert_true(sys_knob_set(ref_of("irq:34.affinity"), "1", &e) < 0);
	assert_int_equal(sys_read_attr(path, now, sizeof(now)), 0);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static void test_what_is_listed(void **state)
{
	struct seen all = {""};

	(void)state;
	assert_listed("idle_disable", "cpu:0.idle_disable:0\ncpu:0.idle_disable:1\n");
	assert_listed("module:quiet*",
		      "module:quiet.param:depth\nmodule:quiet.param:mode\nmodule:quiet.loaded\n");
	assert_listed("irq:", "irq:24.affinity\n");
	assert_listed("iface:wlan0.rps*", "iface:wlan0.rps_cpus:0\niface:wlan0.rps_flow_cnt:0\n");
	assert_listed("net.core.netdev_budget", "sysctl:net.core.netdev_budget\n"
						"sysctl:net.core.netdev_budget_usecs\n");
	assert_listed("net.core.netdev_budge[t]", "sysctl:net.core.netdev_budget\n");
	assert_listed("no such thing", "");
	assert_int_equal(sys_knob_list(root, NULL, note, &all, &e), 0);
	assert_non_null(strstr(all.text, "iface:wlan0.wifi_txpower\n"));
	assert_non_null(strstr(all.text, "service:irqbalance.state\n"));
	assert_null(strstr(all.text, "module:"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_them_come_back),
		cmocka_unit_test(test_a_module_is_kept_where_something_holds_it),
		cmocka_unit_test(test_a_reboot_is_told_not_made),
		cmocka_unit_test(test_nothing_outside_is_touched),
		cmocka_unit_test(test_recovered_below_the_same_root),
		cmocka_unit_test(test_a_parameter_may_be_read_only),
		cmocka_unit_test(test_a_pipe_is_no_file),
		cmocka_unit_test(test_what_is_listed),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
