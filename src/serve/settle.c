/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test runs in a process of its own so that whatever its peer does to it, nothing else is within
 * reach: no listener, no other test's sockets, no standard output, and no life without the front.
 */
#include "serve/priv.h"

#include <errno.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROMPT_NS 100000

/*
 * Tests may keep every processor busy. A request for a short slice (Linux 6.12; without effect
 * before) brings the front, and a child until its test is set up, to their turn early.
 */
void serve_prompt(bool on)
{
	struct sched_attr a = {.size = sizeof(a), .sched_runtime = on ? PROMPT_NS : 0};
	struct sched_attr now = {0};

	if (syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0))
		return;
	a.sched_policy = now.sched_policy;
	a.sched_nice = now.sched_nice;
	if (!now.sched_policy)
		syscall(SYS_sched_setattr, 0, &a, 0);
}

/* A terminal's or a service manager's signals go to the whole group, but only the front ends
 * tests, after their grace. */
static void settle_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
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
