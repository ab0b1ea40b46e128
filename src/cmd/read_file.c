/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of a file, for whichever command was given one instead of a stored run. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

static int64_t pull_fd(void *arg, char *dst, size_t cap)
{
	const int *fd = arg;
	ssize_t n;

	do
		n = read(*fd, dst, cap);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

struct call {
	struct format_gunzip *text;
	int (*found)(void *arg, const struct format_found *f);
	int (*skipped)(void *arg, const struct format_skip *s);
	void *arg;
};

static int64_t pull(void *arg, char *dst, size_t cap)
{
	return format_gunzip_pull(((struct call *)arg)->text, dst, cap);
}

static int found(void *arg, const struct format_found *f)
{
	const struct call *c = arg;

	return c->found ? c->found(c->arg, f) : 0;
}

static int skipped(void *arg, const struct format_skip *s)
{
	const struct call *c = arg;

	return c->skipped ? c->skipped(c->arg, s) : 0;
}

int cmd_read_file(const char *path, int (*on_found)(void *arg, const struct format_found *f),
		  int (*on_skipped)(void *arg, const struct format_skip *s), void *arg,
		  struct format_read_sum *sum, struct weir_err *e)
{
	bool in = !strcmp(path, "-");
	int fd = STDIN_FILENO;
	struct call c = {format_gunzip_new(pull_fd, &fd), on_found, on_skipped, arg};
	struct format_reading r = {pull, found, skipped, &c};
	struct weir_err inner = {0};
	int rc;

	if (!c.text)
		return err_os(e, ENOMEM, "%s", path);
	if (!in)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		rc = err_os(e, errno, "%s", path);
		format_gunzip_free(c.text);
		return rc;
	}
	rc = format_read_text(&r, sum, &inner);
	format_gunzip_free(c.text);
	if (!in)
		close(fd);
	if (rc < 0)
		return err_os(e, -rc, "reading %s", path);
	return 0;
}

void cmd_json_reports(struct jw *w, const char *file)
{
	jw_obj(w, NULL);
	jw_i64(w, "schema", MODEL_SCHEMA);
	if (file)
		jw_str(w, "file", file);
	jw_arr(w, "reports");
}
