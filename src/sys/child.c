/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Child processes. The problem: a child must start with a clean slate (signals, descriptors,
 * namespaces), a failed exec must be told as an errno, and no child may outlive us unseen.
 * The idea: everything that allocates is prepared before the fork; the child makes system
 * calls only and reports {step, errno} through a close-on-exec pipe whose silence is success.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/priv.h"
#include "sys/sys.h"

extern char **environ;

enum step { STEP_NETNS, STEP_STDIO, STEP_PARENT, STEP_EXEC };
static const char *const step_text[] = {
	[STEP_NETNS] = "entering the namespace",
	[STEP_STDIO] = "redirecting standard streams",
	[STEP_PARENT] = "the parent is gone",
	[STEP_EXEC] = "cannot run",
};

struct start {
	char *const *argv;
	char **env;
	unsigned flags;
	int netns_fd, userns_fd, out_fd, report_fd;
	pid_t parent;
};
struct report {
	int step, error;
};

static _Noreturn void fail(const struct start *s, enum step step)
{
	struct report r = {.step = step, .error = errno};

	if (write(s->report_fd, &r, sizeof(r)) < 0) {
		/* The parent is gone; there is nobody left to tell. */
	}
	_exit(127);
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static int redirect(const struct start *s)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -1;
	if (s->flags & SYS_CHILD_NULL_IN && dup2(null, STDIN_FILENO) < 0)
		return -1;
	if (s->flags & SYS_CHILD_QUIET &&
	    (dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0))
		return -1;
	if (s->out_fd >= 0 && dup2(s->out_fd, STDOUT_FILENO) < 0)
		return -1;
	return 0;
}

/* /sys/class/net shows the namespace that mounted it: give the child its own. */
static void mount_own_sysfs(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return;
	if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return; /* the command still runs, with the outer view of /sys */
}

static _Noreturn void run(const struct start *s)
{
	if (s->flags & SYS_CHILD_NEW_SESSION)
		setsid();
	if (s->userns_fd >= 0 && setns(s->userns_fd, CLONE_NEWUSER) < 0)
		fail(s, STEP_NETNS);
	if (s->netns_fd >= 0 && setns(s->netns_fd, CLONE_NEWNET) < 0)
		fail(s, STEP_NETNS);
	if (s->flags & SYS_CHILD_OWN_SYSFS)
		mount_own_sysfs();
	/* After setns: a change of credentials clears the signal. */
	if (s->flags & SYS_CHILD_DIE_WITH_PARENT && sys_die_with_parent(s->parent) < 0)
		fail(s, STEP_PARENT);
	if (redirect(s) < 0)
		fail(s, STEP_STDIO);
	reset_signals();
	execvpe(s->argv[0], s->argv, s->env);
	fail(s, STEP_EXEC);
}

int sys_die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (getppid() == parent)
		return 0;
	errno = ESRCH;
	return -1;
}

/* Our environment without the names that extra sets again, and extra behind it. */
static char **join_env(const char *const *extra)
{
	size_t n = 0, m = 0, k = 0;

	while (environ[n])
		n++;
	while (extra && extra[m])
		m++;
	char **env = calloc(n + m + 1, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bool replaced = false;

		for (size_t x = 0; x < m && !replaced; x++)
			replaced = !strncmp(environ[i], extra[x], strcspn(extra[x], "=") + 1);
		if (!replaced)
			env[k++] = environ[i];
	}
	for (size_t x = 0; x < m; x++)
		env[k++] = (char *)(uintptr_t)extra[x];
	return env;
}

static int read_report(int fd, const char *name, struct weir_err *e)
{
	struct report r;
	ssize_t n;

	do {
		n = read(fd, &r, sizeof(r));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(r))
		return 0;
	char safe[SAFE_MAX + 1];
	safe_str(safe, sizeof(safe), name, strlen(name));
	return err_os(e, r.error, "%s %s", step_text[r.step], safe);
}

int sys_child_start(struct sys_child *c, char *const argv[], unsigned flags,
		    const char *const *extra_env, int netns_fd, int userns_fd, struct weir_err *e)
{
	int out[2] = {-1, -1}, rep[2] = {-1, -1}, ret;
	struct start s = {.argv = argv,
			  .flags = flags,
			  .netns_fd = netns_fd,
			  .userns_fd = userns_fd,
			  .parent = getpid(),
			  .out_fd = -1};

	*c = (struct sys_child){.pidfd = -1, .out = -1};
	s.env = join_env(extra_env);
	if (!s.env)
		return err_os(e, ENOMEM, "starting %s", argv[0]);
	if (pipe2(rep, O_CLOEXEC) < 0 ||
	    (flags & SYS_CHILD_PIPE_OUT && pipe2(out, O_CLOEXEC) < 0)) {
		ret = err_os(e, errno, "starting %s", argv[0]);
		goto out;
	}
	s.out_fd = out[1];
	s.report_fd = rep[1];
	c->pid = fork();
	if (c->pid < 0) {
		ret = err_os(e, errno, "starting %s", argv[0]);
		c->pid = 0;
		goto out;
	}
	if (c->pid == 0)
		run(&s);
	close(rep[1]);
	rep[1] = -1;
	ret = read_report(rep[0], argv[0], e);
	if (ret < 0) {
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
		goto out;
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	c->out = out[0];
	out[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (out[i] >= 0)
			close(out[i]);
		if (rep[i] >= 0)
			close(rep[i]);
	}
	free(s.env);
	return ret;
}

static int64_t tv_ns(struct timeval tv)
{
	return (int64_t)tv.tv_sec * NSEC_PER_SEC + (int64_t)tv.tv_usec * NSEC_PER_USEC;
}

/* Reaps if it has ended: 1 with *status, 0 still running, -errno. */
static int try_reap(struct sys_child *c, int *status)
{
	struct rusage ru;
	int st;
	pid_t pid = wait4(c->pid, &st, WNOHANG, &ru);

	if (pid == 0)
		return 0;
	if (pid < 0)
		return -errno;
	*status = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	c->cpu_user_ns = tv_ns(ru.ru_utime);
	c->cpu_sys_ns = tv_ns(ru.ru_stime);
	c->pid = 0;
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
	return 1;
}

/* Until the child may have ended, but no longer than left_ns (< 0: no limit). */
static void await(const struct sys_child *c, int64_t left_ns)
{
	const int64_t blind_ns = 5 * NSEC_PER_MSEC; /* without a pidfd: look again */
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
	int64_t ns = c->pidfd >= 0 || (left_ns >= 0 && left_ns < blind_ns) ? left_ns : blind_ns;
	struct timespec ts = {.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};

	ppoll(&p, c->pidfd >= 0, ns < 0 ? NULL : &ts, NULL);
}

int sys_child_wait(struct sys_child *c, int64_t timeout_ns)
{
	int64_t until = timeout_ns < 0 ? 0 : clk_mono_ns() + timeout_ns;
	int status = 0;

	if (c->pid <= 0)
		return -ECHILD;
	for (;;) {
		int ret = try_reap(c, &status);
		if (ret)
			return ret < 0 ? ret : status;
		int64_t left = timeout_ns < 0 ? -1 : until - clk_mono_ns();
		if (timeout_ns >= 0 && left <= 0)
			return -ETIMEDOUT;
		await(c, left);
	}
}

void sys_child_stop(struct sys_child *c, int64_t grace_ns)
{
	if (c->pid > 0) {
		kill(c->pid, SIGTERM);
		if (sys_child_wait(c, grace_ns) == -ETIMEDOUT) {
			kill(c->pid, SIGKILL);
			sys_child_wait(c, -1);
		}
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->out >= 0)
		close(c->out);
	c->pidfd = c->out = -1;
}
