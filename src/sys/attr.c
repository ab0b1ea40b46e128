/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text attributes of procfs and sysfs. The problem: names of sysctls come from command lines
 * and journals, and a path built from them must not lead anywhere else. The idea: a name is
 * checked component by component and the kernel resolves it beneath /proc/sys, following no
 * link (security 19).
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/priv.h"
#include "sys/sys.h"

#define SYSCTL_NAME_MAX 200

static ssize_t read_all(int fd, char *dst, size_t cap)
{
	size_t n = 0;

	while (n < cap) {
		ssize_t r = read(fd, dst + n, cap - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			return (ssize_t)n;
		n += (size_t)r;
	}
	return -EFBIG;
}

static ssize_t read_text(int fd, char *dst, size_t cap)
{
	ssize_t n = read_all(fd, dst, cap);

	if (n > 0 && dst[n - 1] == '\n')
		n--;
	if (cap)
		dst[n < 0 ? 0 : n] = '\0';
	return n;
}

/* One write call: procfs and sysfs take a value whole or not at all. */
static int write_text(int fd, const char *value)
{
	size_t n = strlen(value);
	ssize_t w;

	do {
		w = write(fd, value, n);
	} while (w < 0 && errno == EINTR);
	if (w < 0)
		return -errno;
	return (size_t)w == n ? 0 : -EIO;
}

ssize_t sys_read_attr(const char *path, char *dst, size_t cap)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not hold us */
	ssize_t n;

	if (cap)
		dst[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read_text(fd, dst, cap);
	close(fd);
	return n;
}

int sys_parse_i64(const char *s, int64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)*s) && *s != '-')
		return -EINVAL;
	errno = 0;
	long long x = strtoll(s, &end, 10);
	if (errno)
		return -errno;
	if (end == s || *end)
		return -EINVAL;
	*v = x;
	return 0;
}

int sys_read_i64(const char *path, int64_t *v)
{
	char text[32];
	ssize_t n = sys_read_attr(path, text, sizeof(text));

	return n < 0 ? (int)n : sys_parse_i64(text, v);
}

int sys_write_attr(const char *path, const char *value, struct weir_err *e)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	int ret = fd < 0 ? -errno : write_text(fd, value);

	if (fd >= 0)
		close(fd);
	return ret < 0 ? err_os(e, -ret, "writing %s", path) : 0;
}

int sys_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t w = write(fd, at, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return w < 0 ? -errno : -EIO;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

int sys_read_file(const char *path, size_t max, struct buf *b, struct weir_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[4096];
	size_t total = 0;
	ssize_t n;

	if (fd < 0)
		return err_os(e, errno, "opening %s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		total += n > 0 ? (size_t)n : 0;
		if (n < 0 || total > max)
			break;
		buf_put(b, chunk, (size_t)n);
	}
	int error = n < 0 ? errno : total > max ? EFBIG : b->failed ? ENOMEM : 0;
	close(fd);
	explicit_bzero(chunk, sizeof(chunk)); /* it may have been a key */
	return error ? err_os(e, error, "reading %s", path) : 0;
}

/* ---- sysctl -------------------------------------------------------------- */

static bool good_component(const char *s, size_t n)
{
	if (n == 0 || s[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_-.:@", s[i]))
			return false;
	return true;
}

/*
 * "net.ipv4.tcp_rmem" or "net/ipv4/conf/eth0.5/mtu": the first separator decides, so that names
 * with dots in them can be said.
 */
static int sysctl_path(const char *name, char dst[SYSCTL_NAME_MAX])
{
	size_t n = strlen(name), start = 0;
	const char *first = strpbrk(name, "./");
	const char sep = first ? first[0] : (char)'.';

	if (n == 0 || n >= SYSCTL_NAME_MAX)
		return -EINVAL;
	for (size_t i = 0; i <= n; i++) {
		bool end = i == n || name[i] == sep;
		if (end && !good_component(name + start, i - start))
			return -EINVAL;
		if (end)
			start = i + 1;
		dst[i] = name[i];
		if (i < n && end)
			dst[i] = '/';
	}
	return 0;
}

static int open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					  RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	/* Before Linux 5.6 the check of the components and this flag must do. */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(dir, path, flags | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int open_sysctl(const char *name, int flags)
{
	char path[SYSCTL_NAME_MAX];
	int ret = sysctl_path(name, path);

	if (ret < 0)
		return ret;
	int dir = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	ret = open_beneath(dir, path, flags);
	close(dir);
	return ret;
}

ssize_t sys_sysctl_get(const char *name, char *dst, size_t cap)
{
	int fd = open_sysctl(name, O_RDONLY);

	if (cap)
		dst[0] = '\0';
	if (fd < 0)
		return fd;
	ssize_t n = read_text(fd, dst, cap);
	close(fd);
	return n;
}

int sys_sysctl_set(const char *name, const char *value, struct weir_err *e)
{
	char safe[SAFE_MAX + 1];

	safe_str(safe, sizeof(safe), name, strlen(name));
	if (strncmp(name, "net.", 4) && strncmp(name, "net/", 4))
		return err_set(e, WEIR_USAGE, EINVAL, "'%s' is not a network sysctl", safe);
	int fd = open_sysctl(name, O_WRONLY);
	if (fd == -EINVAL)
		return err_set(e, WEIR_USAGE, EINVAL, "'%s' is not a sysctl name", safe);
	int ret = fd < 0 ? fd : write_text(fd, value);
	if (fd >= 0)
		close(fd);
	return ret < 0 ? err_os(e, -ret, "setting %s", safe) : 0;
}
