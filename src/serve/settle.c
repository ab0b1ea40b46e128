/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test runs in a process of its own so that whatever its peer does to it, nothing else is within
 * reach: no listener, no other test's sockets, no standard output, and no life without the front.
 */
#include "serve/priv.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROMPT_NICE (-10)
#define PROMPT_NS   100000

/* Only where nobody chose another policy. */
static void schedule(int nice, uint64_t slice_ns)
{
	struct sched_attr a = {.size = sizeof(a), .sched_nice = nice, .sched_runtime = slice_ns};

	if (syscall(SYS_sched_getscheduler, 0) == SCHED_NORMAL)
		syscall(SYS_sched_setattr, 0, &a, 0);
}

/*
 * Tests keep every processor busy, and a newcomer would wait for a round of all of them. The
 * front, and a child until its test is admitted, are served first: by a short slice (Linux 6.12;
 * without effect before), and by niceness where there is the privilege. Both do little and wait
 * much.
 */
int serve_prompt(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	schedule(nice, PROMPT_NS);
	schedule(PROMPT_NICE, PROMPT_NS);
	return nice;
}

void serve_usual(int nice)
{
	schedule(nice, 0);
}

/* A terminal's or a service manager's signals go to the whole group, but only the front ends
 * tests, after their grace. */
static void settle_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	sigset_t none;

	for (int s = 1; s <= SIGSYS; s++)
		signal(s, SIG_DFL);
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all gaps between the descriptors that stay. */
static int close_others(const int *keep, size_t n)
{
	int sorted[8], from = STDERR_FILENO + 1;

	if (n > ARRAY_LEN(sorted))
		return -EINVAL;
	memcpy(sorted, keep, n * sizeof(*keep));
	qsort(sorted, n, sizeof(*sorted), by_number);
	for (size_t i = 0; i < n; i++) {
		if (sorted[i] > from && syscall(SYS_close_range, from, sorted[i] - 1, 0))
			return -errno;
		from = sorted[i] + 1;
	}
	return syscall(SYS_close_range, from, ~0U, 0) ? -errno : 0;
}

int serve_child_settle(pid_t parent, int null_fd, const int *keep, size_t n)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return -ESRCH;
	settle_signals();
	if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
		return -errno;
	return close_others(keep, n);
}
