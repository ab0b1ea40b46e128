/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Anonymous network namespaces. The problem: a named namespace outlives a crash. The idea: a
 * namespace that only a sleeping holder process is in, and a holder that the kernel kills with
 * its parent; nothing is left to clean up. Without CAP_SYS_ADMIN the holder makes a user
 * namespace first; as its owner we hold every capability over it from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/priv.h"
#include "sys/sys.h"

struct holder {
	int join_user_fd; /* a user namespace to join, or -1 */
	bool new_user;
	uid_t uid;
	gid_t gid;
	pid_t parent;
};

static int write_proc_self(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* The caller becomes root of the new user namespace; no other user exists in it. */
static int map_self(uid_t uid, gid_t gid)
{
	char u[40], g[40];

	snprintf(u, sizeof(u), "0 %u 1", (unsigned)uid);
	snprintf(g, sizeof(g), "0 %u 1", (unsigned)gid);
	if (write_proc_self("/proc/self/setgroups", "deny") < 0)
		return -1;
	return write_proc_self("/proc/self/uid_map", u) < 0 ||
			       write_proc_self("/proc/self/gid_map", g) < 0
		       ? -1
		       : 0;
}

static int holder_setup(const struct holder *h)
{
	if (h->join_user_fd >= 0 && setns(h->join_user_fd, CLONE_NEWUSER) < 0)
		return -1;
	if (h->new_user && (unshare(CLONE_NEWUSER) < 0 || map_self(h->uid, h->gid) < 0))
		return -1;
	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	prctl(PR_SET_DUMPABLE, 1); /* or our owner may not open /proc/PID/ns */
	return sys_die_with_parent(h->parent);
}

static _Noreturn void hold(const struct holder *h, int report_fd)
{
	sigset_t all;
	int error;

	setsid(); /* Ctrl-C is for the command, not for its namespaces */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "weir-netns");
	error = holder_setup(h) < 0 ? errno : 0;
	if (write(report_fd, &error, sizeof(error)) != (ssize_t)sizeof(error) || error)
		_exit(1);
	sys_only_keep(NULL, 0);
	for (;;)
		pause();
}

static int open_ns(pid_t pid, const char *kind)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int read_errno(int fd)
{
	int error;
	ssize_t n;

	do {
		n = read(fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : ECHILD;
}

static int start_holder(struct sys_ns *ns, const struct holder *h)
{
	int p[2], error;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	ns->holder = fork();
	if (ns->holder == 0)
		hold(h, p[1]);
	error = ns->holder < 0 ? errno : 0;
	close(p[1]);
	if (!error)
		error = read_errno(p[0]);
	close(p[0]);
	return -error;
}

static int refuse(int error, bool user, struct weir_err *e)
{
	err_set(e, WEIR_MISSING, error, "cannot make a network namespace: %s", strerror(error));
	if (user)
		return err_hint(e, "run as root, or allow user namespaces "
				   "(user.max_user_namespaces, "
				   "kernel.apparmor_restrict_unprivileged_userns=0)");
	return err_hint(e, "the kernel needs CONFIG_NET_NS");
}

int sys_ns_new(struct sys_ns *ns, const struct sys_ns *same_user_as, struct weir_err *e)
{
	struct holder h = {.join_user_fd = same_user_as ? same_user_as->user_fd : -1,
			   .uid = geteuid(),
			   .gid = getegid(),
			   .parent = getpid()};
	int ret;

	*ns = (struct sys_ns){.net_fd = -1, .user_fd = -1};
	h.new_user = h.join_user_fd < 0 && !sys_cap_have(CAP_SYS_ADMIN);
	bool user = h.new_user || h.join_user_fd >= 0;
	ret = start_holder(ns, &h);
	if (ret < 0) {
		refuse(-ret, user, e);
		goto fail;
	}
	ns->net_fd = open_ns(ns->holder, "net");
	if (user)
		ns->user_fd = open_ns(ns->holder, "user");
	if (ns->net_fd >= 0 && (!user || ns->user_fd >= 0))
		return 0;
	ret = err_os(e, errno, "opening the namespace");
fail:
	sys_ns_free(ns);
	return ret;
}

void sys_ns_free(struct sys_ns *ns)
{
	if (ns->holder > 0) {
		kill(ns->holder, SIGKILL);
		while (waitpid(ns->holder, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (ns->net_fd >= 0)
		close(ns->net_fd);
	if (ns->user_fd >= 0)
		close(ns->user_fd);
	*ns = (struct sys_ns){.net_fd = -1, .user_fd = -1};
}

int sys_ns_enter(const struct sys_ns *ns, struct weir_err *e)
{
	if (ns->user_fd >= 0 && setns(ns->user_fd, CLONE_NEWUSER) < 0)
		return err_os(e, errno, "entering the user namespace");
	if (setns(ns->net_fd, CLONE_NEWNET) < 0)
		return err_os(e, errno, "entering the network namespace");
	return 0;
}

bool sys_ns_available(struct weir_err *why)
{
	struct sys_ns ns;

	if (sys_ns_new(&ns, NULL, why) < 0)
		return false;
	sys_ns_free(&ns);
	return true;
}

int sys_sysctl_set_in(const struct sys_ns *ns, const char *name, const char *value,
		      struct weir_err *e)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int ret = sys_ns_enter(ns, NULL);
		_exit(-(ret < 0 ? ret : sys_sysctl_set(name, value, NULL)) & 0xff);
	}
	if (pid < 0)
		return err_os(e, errno, "setting %s in the namespace", name);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_os(e, WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD,
		      "setting %s in the namespace", name);
}

/* ---- a socket made inside a namespace ------------------------------------ */

/* Two children of ours may hold each other's descriptors open: keep only what is named. */
void sys_only_keep(const int *fds, unsigned n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++) {
		bool keep = null < 0;
		for (unsigned i = 0; i < n; i++)
			keep |= fds[i] == fd;
		if (!keep)
			dup2(null, fd);
	}
	unsigned from = 3;
	for (unsigned i = 0; i < n; i++) { /* fds ascend */
		if ((unsigned)fds[i] > from)
			close_range(from, (unsigned)fds[i] - 1, 0);
		if ((unsigned)fds[i] >= from)
			from = (unsigned)fds[i] + 1;
	}
	close_range(from, ~0U, 0);
}

union fd_ctl {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int via, int fd, int error)
{
	union fd_ctl ctl = {0};
	struct iovec iov = {.iov_base = &error, .iov_len = sizeof(error)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		m.msg_control = ctl.buf;
		m.msg_controllen = sizeof(ctl.buf);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(via, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int receive_fd(int via)
{
	union fd_ctl ctl = {0};
	int error = 0, fd;
	struct iovec iov = {.iov_base = &error, .iov_len = sizeof(error)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl.buf,
			   .msg_controllen = sizeof(ctl.buf)};
	ssize_t n;

	do {
		n = recvmsg(via, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	struct cmsghdr *c = n == (ssize_t)sizeof(error) ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return error ? -error : -ECHILD;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static _Noreturn void make_socket(const struct sys_ns *ns, int family, int type, int proto, int via)
{
	int ret = sys_ns_enter(ns, NULL);
	int fd = ret < 0 ? -1 : socket(family, type | SOCK_CLOEXEC, proto);

	send_fd(via, fd, fd < 0 ? errno : 0);
	_exit(0);
}

/*
 * A process, not a thread: only a single-threaded process may enter a user namespace. The
 * socket keeps the credentials of its maker, which the kernel checks beside the sender's.
 */
int sys_socket_in(const struct sys_ns *ns, int family, int type, int proto)
{
	int p[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		make_socket(ns, family, type, proto, p[1]);
	fd = pid < 0 ? -errno : 0;
	close(p[1]);
	if (pid > 0)
		fd = receive_fd(p[0]);
	close(p[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}
