/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which labs run. The problem: to end a lab by a number that is in a file, or to enter a namespace by
 * it, may meet a stranger who has that number now. The idea: a file in a directory of one's own,
 * locked by the lab's process as long as it lives; the kernel says who holds the lock, and drops it
 * with its holder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/lab.h"

#define PREFIX     "lab-"
#define RECORD_MAX 4096
#define END_MS     15000

static void record_name(pid_t pid, char dst[32])
{
	snprintf(dst, 32, PREFIX "%d", (int)pid);
}

/* ---- others' --------------------------------------------------------------- */

/* Who holds the lock; 0 = nobody. */
static pid_t holder_of(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK ? l.l_pid : 0;
}

static int open_record(int d, const char *name)
{
	struct stat st;
	int fd = openat(d, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & 07777) == 0600 && st.st_nlink == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void read_line(const char *line, struct lab_seen *s)
{
	struct lab_host h = {0};
	int pid;

	if (sscanf(line, "topology %23[a-z0-9:]", s->topology) == 1 || s->n == LAB_NODES_MAX)
		return;
	if (sscanf(line, "host %11[a-z0-9] %d", h.name, &pid) == 2 && pid > 1) {
		h.holder = pid;
		s->host[s->n++] = h;
	}
}

static bool read_record(int fd, struct lab_seen *s)
{
	char text[RECORD_MAX], *save = NULL;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	*s = (struct lab_seen){.pid = holder_of(fd)};
	if (n <= 0 || !s->pid)
		return false;
	text[n] = '\0';
	if (strncmp(text, "weir-lab 1\n", 11) != 0)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		read_line(line, s);
	return s->n > 0;
}

/* A record that its lab has just made may be empty yet, and not be locked: it is left. */
static void remove_stale(int d, const char *name, int fd)
{
	struct stat st;

	if (!holder_of(fd) && fstat(fd, &st) == 0 && st.st_size > 0)
		unlinkat(d, name, 0);
}

static int see(int d, const char *name, int (*cb)(const struct lab_seen *, void *), void *arg)
{
	struct lab_seen s;
	int fd = open_record(d, name), ret = 0;

	if (fd < 0)
		return 0;
	bool good = read_record(fd, &s);
	if (!good)
		remove_stale(d, name, fd);
	close(fd); /* no lock of ours is on it */
	if (good)
		ret = cb(&s, arg);
	return ret;
}

int lab_each(const char *dir, int (*cb)(const struct lab_seen *s, void *arg), void *arg,
	     struct weir_err *e)
{
	int d = sys_own_dir(dir, false, e), ret = 0;
	DIR *list = d < 0 ? NULL : fdopendir(d);

	if (d == -ENOENT)
		return 0; /* there was never one */
	if (!list) {
		if (d >= 0)
			close(d);
		return d < 0 ? d : err_os(e, errno, "listing labs");
	}
	for (struct dirent *ent; ret == 0 && (ent = readdir(list));)
		if (!strncmp(ent->d_name, PREFIX, strlen(PREFIX)))
			ret = see(d, ent->d_name, cb, arg);
	closedir(list);
	return ret;
}

/* ---- the lab's own -------------------------------------------------------- */

static int pass_by(const struct lab_seen *s, void *arg)
{
	(void)s;
	(void)arg;
	return 0;
}

static int write_record(int fd, const struct lab *l, const char *topology)
{
	struct buf b = {0};

	buf_printf(&b, "weir-lab 1\ntopology %s\n", topology);
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b, "host %s %d\n", l->node[i].name, (int)l->node[i].ns.holder);
	bool ok = !b.failed && write(fd, b.data, b.len) == (ssize_t)b.len;
	buf_fini(&b);
	return ok ? 0 : -EIO;
}

int lab_record_open(const char *dir, const struct lab *l, const char *topology, struct weir_err *e)
{
	struct flock own = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[32];
	int d = sys_own_dir(dir, true, e), fd;

	if (d < 0)
		return d;
	lab_each(dir, pass_by, NULL, NULL); /* those that were killed left theirs */
	record_name(getpid(), name);
	unlinkat(d, name, 0); /* of an earlier process with our number */
	fd = openat(d, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* Not an open file description's lock: it names its holder, and children do not share it. */
	int ret = fd < 0 || fcntl(fd, F_SETLK, &own) < 0 ? -errno : write_record(fd, l, topology);
	if (ret < 0) {
		if (fd >= 0)
			close(fd);
		unlinkat(d, name, 0);
	}
	close(d);
	return ret < 0 ? err_os(e, -ret, "noting the lab") : fd;
}

void lab_record_close(const char *dir, int fd)
{
	char name[32];
	int d = fd < 0 ? -1 : sys_own_dir(dir, false, NULL);

	if (fd < 0)
		return;
	record_name(getpid(), name);
	if (d >= 0) {
		unlinkat(d, name, 0);
		close(d);
	}
	close(fd);
}

/* ---- entering, ending ------------------------------------------------------ */

struct search {
	pid_t pid;
	struct lab_seen found;
};

static int match(const struct lab_seen *s, void *arg)
{
	struct search *q = arg;

	if (s->pid != q->pid)
		return 0;
	q->found = *s;
	return 1;
}

int lab_end(const char *dir, pid_t pid, struct weir_err *e)
{
	struct search q = {.pid = pid};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	/* First the process, then the lock: it is held by that very process. */
	int ret = lab_each(dir, match, &q, e);
	if (ret >= 0 && (ret == 0 || fd < 0))
		ret = err_set(e, WEIR_USAGE, ESRCH, "no lab %d runs", (int)pid);
	else if (ret > 0)
		ret = syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) < 0
			      ? err_os(e, errno, "ending lab %d", (int)pid)
			      : 0;
	if (ret == 0 && poll(&p, 1, END_MS) != 1)
		ret = err_set(e, WEIR_OS, ETIMEDOUT, "lab %d does not end", (int)pid);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* A holder is its lab's child: another process that has its number is not. */
static bool is_child_of(pid_t child, pid_t parent)
{
	char path[64], text[512], *after;
	int ppid = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
	if (sys_read_attr(path, text, sizeof(text)) <= 0)
		return false;
	after = strrchr(text, ')');
	return after && sscanf(after, ") %*c %d", &ppid) == 1 && ppid == parent;
}

static int open_ns(pid_t pid, const char *kind)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* -1 when it is the one we are in already. */
static int other_user_ns(pid_t pid)
{
	struct stat own, its;
	int fd = open_ns(pid, "user");

	if (fd >= 0 && fstat(fd, &its) == 0 && stat("/proc/self/ns/user", &own) == 0 &&
	    own.st_ino == its.st_ino) {
		close(fd);
		return -1;
	}
	return fd;
}

static int run_in(pid_t holder, char *const argv[], struct weir_err *e)
{
	int net = open_ns(holder, "net"), user = other_user_ns(holder);
	struct sys_child c;
	int ret =
		net < 0 ? err_os(e, errno, "opening the host")
			: sys_child_start(&c, argv, SYS_CHILD_DIE_WITH_PARENT | SYS_CHILD_OWN_SYSFS,
					  NULL, net, user, e);
	if (net >= 0)
		close(net);
	if (user >= 0)
		close(user);
	if (ret < 0)
		return ret;
	ret = sys_child_wait(&c, -1);
	sys_child_stop(&c, 0);
	return ret;
}

int lab_enter(const struct lab_seen *s, const char *host, char *const argv[], struct weir_err *e)
{
	char names[160] = "";

	for (size_t i = 0; i < s->n; i++) {
		size_t n = strlen(names);
		if (!strcmp(s->host[i].name, host))
			return is_child_of(s->host[i].holder, s->pid)
				       ? run_in(s->host[i].holder, argv, e)
				       : err_set(e, WEIR_OS, ESRCH, "the host %s is gone", host);
		snprintf(names + n, sizeof(names) - n, " %s", s->host[i].name);
	}
	err_set(e, WEIR_USAGE, ENOENT, "lab %d has no host %.20s", (int)s->pid, host);
	return err_hint(e, "it has%s", names);
}
