/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The undo journal, in a namespace of its own: every change comes back, by the owner, by the
 * guardian, by a later start, after SIGKILL at each system call; and nothing planted is used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sched.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/priv.h"
#include "sys/sys.h"
#include "sys_kill.h"

#define TTL  "net.ipv4.ip_default_ttl"
#define RMEM "net.ipv4.tcp_rmem"
#define HOUR (3600 * NSEC_PER_SEC)

static char dir[64];
static char boot[SYS_BOOT_CAP];
static uint64_t cookie;
static bool ready; /* false: no namespaces here */
static struct weir_err e;

static const struct sys_ref *OF(const char *knob, const char *arg)
{
	static struct sys_ref r;

	r = (struct sys_ref){.knob = sys_knob(knob)};
	snprintf(r.arg, sizeof(r.arg), "%s", arg ? arg : "");
	return &r;
}
#define REF(knob) OF(knob, NULL)

/* ---- the world ------------------------------------------------------------- */

static int enter_world(void **state)
{
	struct sys_ns ns;
	socklen_t len = sizeof(cookie);

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* a guardian whose weir died becomes ours */
	if (sys_ns_new(&ns, NULL, &e) < 0 || sys_ns_enter(&ns, &e) < 0) {
		print_message("%s; %s\n", e.msg, e.hint);
		return 0;
	}
	sys_ns_free(&ns); /* we are in it now */
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	ready = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0;
	close(fd);
	return sys_read_attr("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) < 0;
}

static void set_knob(const char *name, const char *value)
{
	assert_int_equal(sys_sysctl_set(name, value, &e), 0);
}

static void assert_knob(const char *name, const char *want)
{
	char now[SYS_VALUE_CAP];

	assert_true(sys_knob_get(REF(name), now, sizeof(now), &e) > 0);
	assert_string_equal(now, want);
}

static int set_up(void **state)
{
	(void)state;
	/* Memory where there is some: the journal syncs at each step. */
	snprintf(dir, sizeof(dir), "%s/weir-journal-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	e = (struct weir_err){0};
	if (!ready)
		return 0;
	return !mkdtemp(dir) || sys_sysctl_set(TTL, "64", &e) < 0 ||
	       sys_sysctl_set(RMEM, "4096 131072 6291456", &e) < 0;
}

static int walk_dir(bool remove)
{
	DIR *d = opendir(dir);
	int n = 0;

	if (!d)
		return 0;
	for (struct dirent *ent; (ent = readdir(d));) {
		if (ent->d_name[0] == '.')
			continue;
		n++;
		if (remove)
			unlinkat(dirfd(d), ent->d_name, 0);
	}
	closedir(d);
	return n;
}

static int tear_down(void **state)
{
	(void)state;
	walk_dir(true);
	rmdir(dir);
	return 0;
}

static void need_world(void)
{
	if (!ready)
		skip();
}

static struct sys_journal *open_journal(void)
{
	struct sys_journal *j = NULL;

	need_world();
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), 0);
	return j;
}

static void change(struct sys_journal *j, const char *knob, const char *value)
{
	int ret = sys_journal_set(j, REF(knob), value, &e);

	if (ret < 0)
		fail_msg("%s; %s", e.msg, e.hint);
}

static void assert_replay(const struct sys_replay *r, unsigned restored, unsigned changed,
			  unsigned void_boot, unsigned failed, unsigned busy)
{
	assert_int_equal(r->restored, restored);
	assert_int_equal(r->changed_since, changed);
	assert_int_equal(r->void_boot, void_boot);
	assert_int_equal(r->failed, failed);
	assert_int_equal(r->busy, busy);
}

/* ---- owner ----------------------------------------------------------------- */

static void test_undo_in_reverse(void **state)
{
	struct sys_journal *j = open_journal();
	struct sys_replay r;

	(void)state;
	change(j, TTL, "99");
	change(j, RMEM, "4096 \t 200000 300000");
	change(j, TTL, "7");
	assert_knob(TTL, "7");
	assert_knob(RMEM, "4096 200000 300000");
	assert_int_equal(sys_journal_undo(j, &r, &e), 0);
	assert_replay(&r, 3, 0, 0, 0, 0);
	assert_knob(TTL, "64");
	assert_knob(RMEM, "4096 131072 6291456");
	change(j, TTL, "98"); /* a journal can be used again */
	sys_journal_close(j);
	assert_knob(TTL, "64");
	assert_int_equal(walk_dir(false), 0);
}

static void test_file_is_private(void **state)
{
	struct sys_journal *j = open_journal();
	DIR *d = opendir(dir);
	struct stat st;
	int seen = 0;

	(void)state;
	change(j, TTL, "99");
	for (struct dirent *ent; (ent = readdir(d));) {
		if (!sys_jdir_is_journal(ent->d_name))
			continue;
		seen++;
		assert_int_equal(fstatat(dirfd(d), ent->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
		assert_int_equal(st.st_nlink, 1);
		assert_true(st.st_size > 0);
	}
	assert_int_equal(seen, 1);
	closedir(d);
	sys_journal_close(j);
}

static void test_wrong_values_change_nothing(void **state)
{
	static const struct {
		const char *knob, *arg, *value;
	} bad[] = {
		{TTL, NULL, "0"},
		{TTL, NULL, "256"},
		{TTL, NULL, "x"},
		{TTL, NULL, ""},
		{TTL, NULL, "0x20"},
		{TTL, NULL, "9 9"},
		{TTL, NULL, "9\n8"},
		{TTL, "eth0", "9"},
		{RMEM, NULL, "1 2"},
		{RMEM, NULL, "3 2 1"},
		{RMEM, NULL, "1 2 3 4"},
		{RMEM, NULL, "1 2 99999999999999999999"},
		{"net.ipv4.tcp_congestion_control", NULL, "no_such_cc"},
		{"net.ipv4.tcp_congestion_control", NULL, "../x"},
		{"iface.mtu", NULL, "1500"},
		{"iface.mtu", "../../x", "1500"},
		{"iface.mtu", "lo", "1500"},
		{"iface.mtu", "..", "1500"},
	};
	struct sys_journal *j = open_journal();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = (struct weir_err){0};
		int ret = sys_journal_set(j, OF(bad[i].knob, bad[i].arg), bad[i].value, &e);
		assert_true(ret < 0);
		assert_int_equal(e.domain, WEIR_USAGE);
	}
	assert_knob(TTL, "64");
	assert_knob(RMEM, "4096 131072 6291456");
	sys_journal_close(j);
	assert_int_equal(walk_dir(false), 0);
}

static void test_value_set_since_is_left(void **state)
{
	struct sys_journal *j = open_journal();
	struct sys_replay r;

	(void)state;
	change(j, TTL, "99");
	change(j, RMEM, "4096 200000 300000");
	set_knob(TTL, "50");
	assert_int_equal(sys_journal_undo(j, &r, &e), 0);
	assert_replay(&r, 1, 1, 0, 0, 0);
	assert_knob(TTL, "50");
	assert_knob(RMEM, "4096 131072 6291456");
	sys_journal_close(j);
}

static void test_two_owners_of_one_knob(void **state)
{
	struct sys_journal *a = open_journal(), *b = open_journal();

	(void)state;
	change(a, TTL, "99");
	assert_int_equal(sys_journal_set(b, REF(TTL), "98", &e), -EBUSY);
	assert_knob(TTL, "99");
	change(b, RMEM, "4096 200000 300000"); /* another knob is free */
	sys_journal_close(a);
	change(b, TTL, "98");
	sys_journal_close(b);
	assert_knob(TTL, "64");
	assert_knob(RMEM, "4096 131072 6291456");
}

static void test_full_journal_refuses(void **state)
{
	struct sys_journal *j = open_journal();
	struct sys_replay r;
	char value[8];
	int ret = 0, n = 0;

	(void)state;
	while (ret == 0 && n <= SYS_JOURNAL_MAX_N) {
		snprintf(value, sizeof(value), "%d", 100 + n % 2);
		ret = sys_journal_set(j, REF(TTL), value, &e);
		n += ret == 0;
	}
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(n, SYS_JOURNAL_MAX_N);
	assert_int_equal(sys_journal_undo(j, &r, &e), 0);
	assert_knob(TTL, "64");
	change(j, TTL, "99"); /* undone, it has room again */
	sys_journal_close(j);
	assert_knob(TTL, "64");
}

/* ---- death ------------------------------------------------------------------ */

/* A weir that changes two knobs, says so and waits. guard_ns 0 = without a guardian. */
static pid_t start_owner(int64_t guard_ns, int *said)
{
	int p[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sys_journal *j;
		if (sys_journal_open(dir, NULL, &j, NULL) < 0 ||
		    (guard_ns && sys_journal_guard(j, guard_ns, NULL, NULL) < 0) ||
		    sys_journal_set(j, REF(TTL), "99", NULL) < 0 ||
		    sys_journal_set(j, REF(RMEM), "4096 200000 300000", NULL) < 0)
			_exit(1);
		if (write(p[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(p[1]);
	*said = p[0];
	char c;
	assert_int_equal(read(p[0], &c, 1), 1);
	assert_knob(TTL, "99");
	return pid;
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void test_guardian_restores_after_sigkill(void **state)
{
	int said;

	(void)state;
	need_world();
	pid_t pid = start_owner(HOUR, &said);
	kill(pid, SIGKILL);
	reap_all(); /* owner, then guardian: orphans come to us */
	close(said);
	assert_knob(TTL, "64");
	assert_knob(RMEM, "4096 131072 6291456");
	assert_int_equal(walk_dir(false), 0);
}

static void test_recover_after_sigkill(void **state)
{
	struct sys_replay r;
	int said;

	(void)state;
	need_world();
	pid_t pid = start_owner(0, &said);
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
	assert_replay(&r, 0, 0, 0, 0, 2); /* it lives */
	assert_knob(TTL, "99");
	kill(pid, SIGKILL);
	reap_all();
	close(said);
	assert_knob(TTL, "99");
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
	assert_replay(&r, 2, 0, 0, 0, 0);
	assert_knob(TTL, "64");
	assert_knob(RMEM, "4096 131072 6291456");
	assert_int_equal(walk_dir(false), 0);
}

static void test_guardian_keeps_the_time_limit(void **state)
{
	struct sys_journal *j = open_journal();
	siginfo_t si;

	(void)state;
	assert_int_equal(sys_journal_guard(j, 30 * NSEC_PER_MSEC, NULL, &e), 0);
	change(j, TTL, "99");
	assert_int_equal(waitid(P_ALL, 0, &si, WEXITED | WNOWAIT), 0);
	assert_knob(TTL, "64");
	assert_int_equal(sys_journal_set(j, REF(TTL), "98", &e), -ETIMEDOUT);
	assert_knob(TTL, "64");
	sys_journal_close(j);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(walk_dir(false), 0);
}

static void test_guardian_is_dismissed(void **state)
{
	struct sys_journal *j = open_journal();

	(void)state;
	assert_int_equal(sys_journal_guard(j, HOUR, NULL, &e), 0);
	assert_int_equal(sys_journal_guard(j, HOUR, NULL, &e), 0); /* in place of the first */
	change(j, TTL, "99");
	sys_journal_close(j);
	assert_knob(TTL, "64");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static pid_t only_child(void)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return sys_read_attr(path, text, sizeof(text)) > 0 ? (pid_t)atoi(text) : 0;
}

static void test_stopped_guardian_holds_nobody_up(void **state)
{
	struct sys_journal *j = open_journal();
	siginfo_t si;

	(void)state;
	assert_int_equal(sys_journal_guard(j, HOUR, NULL, &e), 0);
	change(j, TTL, "99");
	pid_t guard = only_child();
	assert_true(guard > 0);
	assert_int_equal(kill(guard, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)guard, &si, WSTOPPED | WNOWAIT), 0);
	sys_journal_close(j);
	assert_knob(TTL, "64");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Both killed: what is left is found by the next start. */
static void test_guardian_killed_too(void **state)
{
	struct sys_replay r;
	int p[2];
	pid_t guard = 0;

	(void)state;
	need_world();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sys_journal *j;
		siginfo_t si;
		if (sys_journal_open(dir, NULL, &j, NULL) < 0 ||
		    sys_journal_guard(j, HOUR, NULL, NULL) < 0 ||
		    sys_journal_set(j, REF(TTL), "99", NULL) < 0)
			_exit(1);
		/* Its pid is the next after ours in a quiet moment only: ask the kernel. */
		guard = only_child();
		if (guard > 0)
			kill(guard, SIGKILL);
		waitid(P_ALL, 0, &si, WEXITED | WNOWAIT);
		if (write(p[1], &guard, sizeof(guard)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(read(p[0], &guard, sizeof(guard)), sizeof(guard));
	reap_all();
	close(p[0]);
	close(p[1]);
	assert_true(guard > 0);
	assert_knob(TTL, "99");
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
	assert_replay(&r, 1, 0, 0, 0, 0);
	assert_knob(TTL, "64");
}

/* ---- SIGKILL at every system call -------------------------------------------- */

static void do_set(void)
{
	struct sys_journal *j;

	if (sys_journal_open(dir, NULL, &j, NULL) < 0)
		_exit(1);
	if (sys_journal_set(j, REF(TTL), "99", NULL) < 0 ||
	    sys_journal_set(j, REF(TTL), "98", NULL) < 0)
		_exit(1);
	sys_journal_close(j);
	_exit(0);
}

static void do_recover(void)
{
	struct sys_replay r;

	_exit(sys_journal_recover(dir, NULL, &r, NULL) < 0);
}

static void assert_recovers(void)
{
	struct sys_replay r;

	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
	assert_int_equal(r.changed_since + r.failed + r.busy + r.void_boot, 0);
	assert_knob(TTL, "64");
	assert_int_equal(walk_dir(false), 0);
}

static void test_sigkill_at_each_system_call(void **state)
{
	int n = 0;

	(void)state;
	need_world();
	while (!killed_at(do_set, n++))
		assert_recovers();
	assert_recovers();
	assert_true(n > 50); /* it really was followed */
}

static void test_sigkill_while_recovering(void **state)
{
	int n = 0, said;
	bool ended = false;

	(void)state;
	need_world();
	while (!ended) {
		pid_t pid = start_owner(0, &said);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(said);
		ended = killed_at(do_recover, n++);
		assert_recovers();
		assert_knob(RMEM, "4096 131072 6291456");
	}
	assert_true(n > 20);
}

/* ---- planted ------------------------------------------------------------------ */

static char planted[128];

static void plant(const char *text, mode_t mode)
{
	snprintf(planted, sizeof(planted), "%s/journal-planted", dir);
	int fd = open(planted, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static const char *line_for(const char *boot_id, uint64_t netns, const char *knob, const char *arg,
			    const char *old, const char *now)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 "%sset\t1\t%s\t%" PRIu64 "\t%s\t%s\t0\t000000000000\t\t%s\t%s\n", sys_doc_header,
		 boot_id, netns, knob, arg, old, now);
	return text;
}

/* The value is what the planted entry claims to have set; it must not be touched. */
static void assert_refused(void)
{
	struct sys_replay r;

	assert_true(sys_journal_recover(dir, NULL, &r, &e) < 0);
	assert_replay(&r, 0, 0, 0, 1, 0);
	assert_true(e.msg[0] != '\0');
	assert_knob(TTL, "64");
	assert_int_equal(access(planted, F_OK), 0); /* it stays for a person to look at */
}

static void test_planted_good_file_is_used(void **state)
{
	struct sys_replay r;

	(void)state;
	need_world();
	plant(line_for(boot, cookie, TTL, "", "33", "64"), 0600);
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
	assert_replay(&r, 1, 0, 0, 0, 0); /* so that the refusals below mean something */
	assert_knob(TTL, "33");
}

static void test_planted_mode_and_links(void **state)
{
	char other[128];

	(void)state;
	need_world();
	const char *good = line_for(boot, cookie, TTL, "", "33", "64");
	plant(good, 0644);
	assert_refused();
	plant(good, 0600);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(link(planted, other), 0);
	assert_refused();
	assert_int_equal(unlink(planted), 0);
	assert_int_equal(symlink("other", planted), 0);
	assert_refused();
	assert_int_equal(unlink(planted), 0);
	assert_int_equal(mkfifo(planted, 0600), 0);
	assert_refused();
}

static void test_planted_by_another_user(void **state)
{
	(void)state;
	need_world();
	plant(line_for(boot, cookie, TTL, "", "33", "64"), 0600);
	if (chown(planted, 65534, 65534) < 0)
		skip(); /* needs CAP_CHOWN over two users */
	assert_refused();
}

static void test_planted_values(void **state)
{
	static const struct {
		const char *knob, *arg, *old, *now;
	} bad[] = {
		{TTL, "", "0", "64"},
		{TTL, "", "064", "64"},
		{TTL, "", "33\\x0a1", "64"},
		{TTL, "", "33", "64 "},
		{TTL, "", "33", ""},
		{TTL, "x", "33", "64"},
		{TTL, "", "33\textra", "64"},
		{TTL, "", "\\x00", "64"},
		{TTL, "", "33\\X41", "64"},
		{"net.ipv4.ip_forward", "", "1", "0"},
		{"kernel.core_pattern", "", "|/bin/sh", "core"},
		{"../../etc/passwd", "", "33", "64"},
		{"iface.mtu", "../../../etc", "1500", "1400"},
	};

	(void)state;
	need_world();
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		plant(line_for(boot, cookie, bad[i].knob, bad[i].arg, bad[i].old, bad[i].now),
		      0600);
		assert_refused();
	}
	plant("weir-journal 2\nset\t1\n", 0600);
	assert_refused();
	/* Which file, and what to do about it. */
	assert_non_null(strstr(e.msg, planted));
	assert_non_null(strstr(e.msg, "1 line that weir did not write"));
	assert_non_null(strstr(e.hint, "remove the file"));
}

static void test_another_boot_is_void(void **state)
{
	struct sys_replay r;

	(void)state;
	need_world();
	plant(line_for("01234567-89ab-cdef-0123-456789abcdef", cookie, TTL, "", "33", "64"), 0600);
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
	assert_replay(&r, 0, 0, 1, 0, 0);
	assert_knob(TTL, "64");
	assert_int_equal(walk_dir(false), 0); /* said once */
}

static void test_failed_entry_stays_others_go_on(void **state)
{
	struct sys_replay r;
	char text[1024];

	(void)state;
	need_world();
	set_knob(RMEM, "4096 200000 300000");
	/* The first is of another namespace: nobody here can put it back. */
	int n = snprintf(text, sizeof(text), "%s", line_for(boot, cookie + 1, TTL, "", "33", "64"));
	snprintf(text + n, sizeof(text) - (size_t)n,
		 "set\t2\t%s\t%" PRIu64 "\t" RMEM "\t\t0\t000000000000\t\t"
		 "4096\\x20131072\\x206291456\t4096\\x20200000\\x20300000\n",
		 boot, cookie);
	plant(text, 0600);
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), -EXDEV);
	assert_non_null(strstr(e.msg, planted));
	assert_non_null(strstr(e.hint, "remove the file"));
	assert_replay(&r, 1, 0, 0, 1, 0);
	assert_knob(TTL, "64");
	assert_knob(RMEM, "4096 131072 6291456");
	assert_refused(); /* the second time only the first is left */
}

/* A write that a crash has cut never names a change that was made. */
static void test_cut_line_is_no_entry(void **state)
{
	const char *good = line_for(boot, cookie, TTL, "", "33", "64");
	size_t len = strlen(good);
	struct sys_replay r;
	char text[512];

	(void)state;
	need_world();
	for (size_t cut = 0; cut < len; cut++) {
		memcpy(text, good, cut);
		text[cut] = '\0';
		plant(text, 0600);
		assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), 0);
		assert_replay(&r, 0, 0, 0, 0, 0);
		assert_knob(TTL, "64");
		assert_int_equal(walk_dir(false), 0);
	}
}

static void test_directory_must_be_ours(void **state)
{
	struct sys_journal *j;
	struct sys_replay r;
	char path[96];

	(void)state;
	need_world();
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(sys_journal_open(dir, NULL, &j, &e), -EPERM);
	assert_int_equal(sys_journal_recover(dir, NULL, &r, &e), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(dir, path), 0);
	assert_true(sys_journal_open(path, NULL, &j, &e) < 0);
	assert_true(sys_journal_recover(path, NULL, &r, &e) < 0);
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(sys_journal_recover(path, NULL, &r, &e), 0); /* nobody was ever here */
	assert_int_equal(access(path, F_OK), -1);
	if (chown(dir, 65534, 65534) == 0) {
		assert_int_equal(sys_journal_open(dir, NULL, &j, &e), -EPERM);
		assert_int_equal(chown(dir, geteuid(), getegid()), 0);
	}
}

/* ---- interfaces, hosts -------------------------------------------------------- */

static bool mount_sysfs(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
	       mount("sysfs", "/sys", "sysfs", 0, NULL) == 0;
}

static int mtu_of(struct sys_nl *nl, const char *name)
{
	struct sys_link l;

	return sys_link_get(nl, name, &l, &e) < 0 ? -1 : l.mtu;
}

/* In a child, because it changes what /sys shows. 0 = as it should be. */
static int iface_story(void)
{
	struct sys_journal *j;
	struct sys_replay r;
	struct sys_nl *nl;

	if (sys_nl_open(&nl, &e) < 0 || sys_link_add_veth(nl, "weir0", "weir1", -1, &e) < 0)
		return 1;
	if (sys_journal_open(dir, NULL, &j, &e) < 0)
		return 2;
	if (sys_journal_set(j, OF("iface.mtu", "weir0"), "1400", &e) >= 0)
		return 3; /* /sys is not this namespace's yet */
	if (!mount_sysfs())
		return 77;
	if (sys_journal_set(j, OF("iface.mtu", "weir0"), "1400", &e) < 0 ||
	    mtu_of(nl, "weir0") != 1400)
		return 4;
	if (sys_journal_set(j, OF("iface.mtu", "weir1"), "1300", &e) < 0)
		return 5;
	if (sys_journal_undo(j, &r, &e) < 0 || r.restored != 2 || mtu_of(nl, "weir0") != 1500)
		return 6;
	/* Another interface under the old name is not touched. */
	if (sys_journal_set(j, OF("iface.mtu", "weir0"), "1400", &e) < 0)
		return 7;
	struct sys_child c;
	char ip[] = "ip", link_word[] = "link", del[] = "del", name[] = "weir0";
	char *argv[] = {ip, link_word, del, name, NULL};
	if (sys_child_start(&c, argv, 0, NULL, -1, -1, &e) < 0)
		return 77;
	if (sys_child_wait(&c, -1) || sys_link_add_veth(nl, "weir0", "weir1", -1, &e) < 0 ||
	    sys_link_set_mtu(nl, "weir0", 1400, &e) < 0)
		return 8;
	if (sys_journal_undo(j, &r, &e) < 0 || r.changed_since != 1 || mtu_of(nl, "weir0") != 1400)
		return 9;
	sys_journal_close(j);
	sys_nl_close(nl);
	return 0;
}

static void test_interfaces_by_identity(void **state)
{
	int status;

	(void)state;
	need_world();
	pid_t pid = fork();
	if (pid == 0) {
		int ret = iface_story();
		if (ret)
			fprintf(stderr, "step %d: %s; %s\n", ret, e.msg, e.hint);
		_exit(ret);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* sysfs cannot be mounted, or there is no ip command */
	assert_int_equal(status, 0);
}

static void test_container_may_not_touch_the_host(void **state)
{
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0)
			_exit(77);
		int ret = sys_knob_set(REF("net.core.netdev_budget"), "300", &e);
		_exit(ret == -EPERM && e.domain == WEIR_MISSING ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no user namespaces here */
	assert_int_equal(status, 0);
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_undo_in_reverse),
		EACH(test_file_is_private),
		EACH(test_wrong_values_change_nothing),
		EACH(test_value_set_since_is_left),
		EACH(test_two_owners_of_one_knob),
		EACH(test_full_journal_refuses),
		EACH(test_guardian_restores_after_sigkill),
		EACH(test_recover_after_sigkill),
		EACH(test_guardian_keeps_the_time_limit),
		EACH(test_guardian_is_dismissed),
		EACH(test_stopped_guardian_holds_nobody_up),
		EACH(test_guardian_killed_too),
		EACH(test_sigkill_at_each_system_call),
		EACH(test_sigkill_while_recovering),
		EACH(test_planted_good_file_is_used),
		EACH(test_planted_mode_and_links),
		EACH(test_planted_by_another_user),
		EACH(test_planted_values),
		EACH(test_another_boot_is_void),
		EACH(test_failed_entry_stays_others_go_on),
		EACH(test_cut_line_is_no_entry),
		EACH(test_directory_must_be_ours),
		EACH(test_interfaces_by_identity),
		EACH(test_container_may_not_touch_the_host),
	};

	return cmocka_run_group_tests(tests, enter_world, NULL);
}
