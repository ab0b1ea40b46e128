/* SPDX-License-Identifier: BSD-2-Clause */
/* Child processes: status, output, environment, time limits, and that none outlives us. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/sys.h"

static int run(const char *script, unsigned flags, struct sys_child *c)
{
	char sh[] = "sh", dash_c[] = "-c";
	char *text = strdup(script);
	char *argv[] = {sh, dash_c, text, NULL};
	struct weir_err e = {0};
	int ret = sys_child_start(c, argv, flags, NULL, -1, -1, &e);

	free(text);
	return ret;
}

static void read_out(const struct sys_child *c, char *dst, size_t cap)
{
	size_t n = 0;
	ssize_t r;

	while (n + 1 < cap && (r = read(c->out, dst + n, cap - 1 - n)) > 0)
		n += (size_t)r;
	dst[n] = '\0';
}

static void test_status(void **state)
{
	struct sys_child c;

	(void)state;
	assert_int_equal(run("exit 7", 0, &c), 0);
	assert_int_equal(sys_child_wait(&c, -1), 7);
	assert_int_equal(c.pid, 0);
	assert_int_equal(sys_child_wait(&c, -1), -ECHILD);
	assert_int_equal(run("kill -9 $$", 0, &c), 0);
	assert_int_equal(sys_child_wait(&c, -1), 128 + SIGKILL);
}

static void test_output_and_environment(void **state)
{
	char sh[] = "sh", dash_c[] = "-c", text[] = "echo \"$A $B\"; cat";
	char *argv[] = {sh, dash_c, text, NULL};
	const char *env[] = {"A=new", "B=2", NULL};
	struct sys_child c;
	char out[64];

	(void)state;
	setenv("A", "old", 1);
	int ret = sys_child_start(&c, argv, SYS_CHILD_PIPE_OUT | SYS_CHILD_NULL_IN, env, -1, -1,
				  NULL);
	assert_int_equal(ret, 0);
	read_out(&c, out, sizeof(out));
	assert_string_equal(out, "new 2\n");
	assert_int_equal(sys_child_wait(&c, -1), 0);
	sys_child_stop(&c, 0);
	assert_int_equal(c.out, -1);
}

static void test_exec_error_is_told(void **state)
{
	char name[] = "/no-such-program-\x1b[1m";
	char *argv[] = {name, NULL};
	struct sys_child c;
	struct weir_err e = {0};

	(void)state;
	assert_int_equal(sys_child_start(&c, argv, 0, NULL, -1, -1, &e), -ENOENT);
	assert_int_equal(e.code, ENOENT);
	assert_non_null(strstr(e.msg, "no-such-program"));
	assert_null(strchr(e.msg, '\x1b'));
	assert_int_equal(c.pid, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing left to reap */
}

static void test_time_limit(void **state)
{
	struct sys_child c;

	(void)state;
	assert_int_equal(run("exec sleep 1000", 0, &c), 0);
	int64_t t0 = clk_mono_ns();
	assert_int_equal(sys_child_wait(&c, 20 * NSEC_PER_MSEC), -ETIMEDOUT);
	assert_true(clk_mono_ns() - t0 >= 20 * NSEC_PER_MSEC);
	pid_t pid = c.pid;
	sys_child_stop(&c, NSEC_PER_SEC);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void test_stop_kills_what_ignores_it(void **state)
{
	struct sys_child c;
	char ready[8];

	(void)state;
	assert_int_equal(run("trap '' TERM; echo ok; exec 1>&-; while :; do read x; done",
			     SYS_CHILD_PIPE_OUT, &c),
			 0);
	read_out(&c, ready, sizeof(ready));
	assert_string_equal(ready, "ok\n");
	pid_t pid = c.pid;
	sys_child_stop(&c, 10 * NSEC_PER_MSEC);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_cpu_time(void **state)
{
	struct sys_child c;

	(void)state;
	assert_int_equal(run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", 0, &c), 0);
	assert_int_equal(sys_child_wait(&c, -1), 0);
	assert_true(c.cpu_user_ns + c.cpu_sys_ns > 0);
}

/* Blocked signals and an ignored SIGPIPE are ours, not the child's. */
static void test_clean_signals(void **state)
{
	struct sys_child c;
	sigset_t set, old;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run("kill -TERM $$; exit 1", 0, &c), 0);
	assert_int_equal(sys_child_wait(&c, -1), 128 + SIGTERM);
	assert_int_equal(run("kill -PIPE $$; exit 1", 0, &c), 0);
	assert_int_equal(sys_child_wait(&c, -1), 128 + SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void test_dies_with_parent(void **state)
{
	int p[2];
	struct sys_child c;
	pid_t grandchild = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	pid_t parent = fork();
	if (parent == 0) {
		int ret = run("exec sleep 1000", SYS_CHILD_DIE_WITH_PARENT, &c);
		if (ret < 0 || write(p[1], &c.pid, sizeof(c.pid)) < 0)
			_exit(1);
		pause();
	}
	assert_int_equal(read(p[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	int fd = (int)syscall(SYS_pidfd_open, grandchild, 0);
	if (fd < 0) {
		kill(parent, SIGKILL);
		waitpid(parent, NULL, 0);
		skip(); /* no pidfd_open in this kernel */
	}
	struct pollfd end = {.fd = fd, .events = POLLIN};
	assert_int_equal(poll(&end, 1, 0), 0);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	assert_int_equal(poll(&end, 1, 5000), 1);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void test_new_session(void **state)
{
	struct sys_child c;

	(void)state;
	assert_int_equal(run("read x", SYS_CHILD_NEW_SESSION | SYS_CHILD_QUIET, &c), 0);
	assert_int_equal(getsid(c.pid), c.pid);
	sys_child_stop(&c, NSEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_output_and_environment),
		cmocka_unit_test(test_exec_error_is_told),
		cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_stop_kills_what_ignores_it),
		cmocka_unit_test(test_cpu_time),
		cmocka_unit_test(test_clean_signals),
		cmocka_unit_test(test_dies_with_parent),
		cmocka_unit_test(test_new_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
