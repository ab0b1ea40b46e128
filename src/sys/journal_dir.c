/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to the journal's directory and files. The problem: what is in there is acted upon with
 * privileges. The idea: nothing is believed that another user could have put there: the
 * directory and each file are opened without following links and their owner, mode and link
 * count are read from the descriptor. A living owner is known by a lock on its file that the
 * kernel drops with it (an open file description lock: no process ids, no reuse).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/priv.h"

#define PREFIX     "journal-"
#define RANDOM_LEN 8

static int foreign(const char *what, const struct stat *st, struct weir_err *e)
{
	err_set(e, WEIR_OS, EPERM, "%.160s is not yours alone", what);
	return err_hint(e, "owner %u, mode %04o, %u links", (unsigned)st->st_uid,
			(unsigned)st->st_mode & 07777, (unsigned)st->st_nlink);
}

static int not_yours(struct weir_err *e, const char *doing, const char *dir)
{
	int error = errno;

	if (error != EACCES && error != EPERM)
		return err_os(e, error, "%s %.160s", doing, dir);
	err_set(e, WEIR_MISSING, error, "%s %.160s: %s", doing, dir, strerror(error));
	return err_hint(e, "the undo journal is kept there; root, or XDG_RUNTIME_DIR with a folder "
			   "of your own");
}

int sys_own_dir(const char *dir, bool make, struct weir_err *e)
{
	struct stat st;

	if (!dir)
		dir = SYS_OWN_DIR;
	if (make && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return not_yours(e, "making", dir);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return not_yours(e, "opening", dir);
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700)
		return fd;
	close(fd);
	return foreign(dir, &st, e);
}

int sys_jdir_lock(int dir, struct weir_err *e)
{
	/* Opened anew: the guardian shares our descriptor, and must be kept out all the same. */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_os(e, errno, "opening the journal's directory");
	while (flock(fd, LOCK_EX) < 0) {
		if (errno == EINTR)
			continue;
		int error = errno;
		close(fd);
		return err_os(e, error, "locking the journal's directory");
	}
	return fd;
}

bool sys_jdir_is_journal(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

int sys_jfile_open(int dir, const char *name, struct weir_err *e)
{
	struct stat st;
	int fd = openat(dir, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char safe[SAFE_MAX + 1];

	safe_str(safe, sizeof(safe), name, strlen(name));
	if (fd < 0)
		return err_os(e, errno, "opening %.160s", safe);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & 07777) == 0600 && st.st_nlink == 1)
		return fd;
	close(fd);
	return foreign(safe, &st, e);
}

int sys_jfile_create(int dir, char name[40], struct weir_err *e)
{
	uint8_t r[RANDOM_LEN];
	int n = snprintf(name, 40, PREFIX);

	clk_random(r, sizeof(r));
	for (size_t i = 0; i < sizeof(r); i++)
		n += snprintf(name + n, 40 - (size_t)n, "%02x", r[i]);
	int fd = openat(dir, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (fd < 0)
		return err_os(e, errno, "making a journal");
	/* Against an odd umask. */
	if (fchmod(fd, 0600) == 0 && fsync(dir) == 0 && sys_jfile_own(fd))
		return fd;
	int error = errno;
	unlinkat(dir, name, 0);
	close(fd);
	return err_os(e, error, "making a journal");
}

bool sys_jfile_own(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

static int read_whole(int fd, struct buf *b)
{
	char chunk[4096];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return b->failed ? -ENOMEM : 0;
		buf_put(b, chunk, (size_t)n);
		at += n;
		if (at > SYS_JOURNAL_MAX)
			return -EFBIG;
	}
}

int sys_jfile_load(int fd, struct sys_doc *d, struct weir_err *e)
{
	struct buf b = {0};
	int ret = read_whole(fd, &b);

	*d = (struct sys_doc){0};
	if (ret == 0)
		ret = sys_doc_parse(b.data ? b.data : "", b.len, d);
	buf_fini(&b);
	return ret < 0 ? err_os(e, -ret, "reading a journal") : 0;
}

int sys_jfile_append(int fd, const struct buf *b, struct weir_err *e)
{
	off_t before = lseek(fd, 0, SEEK_END);
	int ret = b->failed || before < 0 ? -ENOMEM : sys_write_all(fd, b->data, b->len);

	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	if (ret == 0)
		return 0;
	if (before >= 0 && ftruncate(fd, before) < 0) {
		/* A line without its end is left, which every reader ignores. */
	}
	return err_os(e, -ret, "writing the journal");
}
