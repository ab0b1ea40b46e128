/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of /proc, /sys and /etc, of this machine or beneath a folder that holds a copy of them. A
 * copy is never left: links in it are resolved inside (openat2 RESOLVE_IN_ROOT).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/priv.h"

#define PATH_CAP 256

int host_root_open(const char *dir, struct host_root *r, struct weir_err *e)
{
	*r = (struct host_root){.fd = -1};
	if (!dir)
		return 0;
	r->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return r->fd < 0 ? err_os(e, errno, "opening %s", dir) : 0;
}

void host_root_close(struct host_root *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

static int open_at(const struct host_root *r, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd;

	if (r->fd < 0)
		fd = open(path, (int)how.flags);
	else
		fd = (int)syscall(SYS_openat2, r->fd, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS) /* before Linux 5.6 */
		fd = openat(r->fd, path + 1, (int)how.flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int PRINTF_LIKE(3, 0)
	open_path(const struct host_root *r, int flags, const char *fmt, va_list ap)
{
	char path[PATH_CAP];
	int n = vsnprintf(path, sizeof(path), fmt, ap);

	return n < 0 || (size_t)n >= sizeof(path) ? -ENAMETOOLONG : open_at(r, path, flags);
}

static ssize_t read_upto(int fd, char *dst, size_t cap)
{
	size_t n = 0;

	while (n < cap) {
		ssize_t k = read(fd, dst + n, cap - n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			break;
		n += (size_t)k;
	}
	return (ssize_t)n;
}

/* The first n bytes of what a text or a file says. */
static ssize_t PRINTF_LIKE(4, 0)
	read_path(const struct host_root *r, char *dst, size_t cap, const char *fmt, va_list ap)
{
	char path[PATH_CAP];
	const char *text;
	ssize_t n;
	int fd;

	if (r->texts) {
		vsnprintf(path, sizeof(path), fmt, ap);
		text = host_texts_get(r->texts, path);
		if (!text)
			return -ENOENT;
		n = (ssize_t)strnlen(text, cap);
		memcpy(dst, text, (size_t)n);
		return n;
	}
	fd = open_path(r, 0, fmt, ap);
	if (fd < 0)
		return fd;
	n = read_upto(fd, dst, cap);
	close(fd);
	return n;
}

ssize_t host_read(const struct host_root *r, char *dst, size_t cap, const char *fmt, ...)
{
	va_list ap;
	ssize_t n;

	dst[0] = '\0';
	va_start(ap, fmt);
	n = read_path(r, dst, cap - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return n;
	while (n && strchr(" \t\n", dst[n - 1])) /* which finds a NUL, too */
		n--;
	dst[n] = '\0';
	return n;
}

int host_read_i64(const struct host_root *r, int64_t *v, const char *fmt, ...)
{
	char text[32], *end;
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	n = read_path(r, text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return n < 0 ? (int)n : -ENODATA;
	text[n] = '\0';
	errno = 0;
	*v = strtoll(text, &end, 0);
	return errno || end == text || (*end && *end != '\n') ? -EINVAL : 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int PRINTF_LIKE(3, 0)
	list_texts(const struct host_root *r, char ***names, const char *fmt, va_list ap)
{
	char path[PATH_CAP];
	size_t n;

	vsnprintf(path, sizeof(path), fmt, ap);
	*names = calloc(HOST_LIST_MAX, sizeof(**names));
	if (!*names)
		return -ENOMEM;
	n = host_texts_list(r->texts, path, *names, HOST_LIST_MAX);
	qsort(*names, n, sizeof(**names), by_name);
	if (n)
		return (int)n;
	free(*names);
	*names = NULL;
	return -ENOENT; /* an empty folder has no files that could be told */
}

int host_list(const struct host_root *r, char ***names, const char *fmt, ...)
{
	struct dirent *d;
	size_t n = 0;
	va_list ap;
	DIR *dir;
	int fd;

	*names = NULL;
	va_start(ap, fmt);
	fd = r->texts ? list_texts(r, names, fmt, ap) : open_path(r, O_DIRECTORY, fmt, ap);
	va_end(ap);
	if (fd < 0 || r->texts)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	*names = calloc(HOST_LIST_MAX, sizeof(**names));
	while (*names && n < HOST_LIST_MAX && (d = readdir(dir))) {
		if (d->d_name[0] != '.' && ((*names)[n] = strdup(d->d_name)))
			n++;
	}
	closedir(dir);
	if (!*names)
		return -ENOMEM;
	qsort(*names, n, sizeof(**names), by_name);
	return (int)n;
}

void host_list_free(char **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

bool host_link_name(const struct host_root *r, char *dst, size_t cap, const char *fmt, ...)
{
	char path[PATH_CAP], target[PATH_CAP];
	const char *slash;
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (r->texts) {
		const char *text = host_texts_get(r->texts, path);

		n = text ? snprintf(target, sizeof(target), "%s", text) : 0;
		n = n < (ssize_t)sizeof(target) ? n : (ssize_t)sizeof(target) - 1;
	} else
		n = r->fd < 0 ? readlink(path, target, sizeof(target) - 1)
			      : readlinkat(r->fd, path + 1, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(dst, cap, "%s", slash ? slash + 1 : target);
	return dst[0];
}
