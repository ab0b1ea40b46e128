/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of whole runs, from wherever a command is told to take them: a file with one or many, a
 * tag of the store. Each list owns its runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/runs.h"
#include "host/host.h"

#define FILE_MAX ((size_t)64 << 20)

static int no_memory(struct weir_err *e)
{
	return err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

int cmd_runs_add(struct cmd_runs *l, struct model_run *take)
{
	struct model_run **v = reallocarray(l->v, l->n + 1, sizeof(struct model_run *));

	if (!v) {
		model_run_free(take);
		return -ENOMEM;
	}
	l->v = v;
	v[l->n++] = take;
	return 0;
}

void cmd_runs_fini(struct cmd_runs *l)
{
	for (size_t i = 0; i < l->n; i++)
		model_run_free(l->v[i]);
	free(l->v);
	*l = (struct cmd_runs){0};
}

/* ---- files ---- */

int cmd_runs_text(const char *path, struct buf *b, struct weir_err *e)
{
	bool in = !strcmp(path, "-");
	int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 0;
	int rc = 0;

	if (fd < 0)
		return err_os(e, errno, "%s", path);
	b->max = FILE_MAX;
	while (buf_reserve(b, 65536)) {
		n = read(fd, b->data + b->len, 65536);
		if (n <= 0 && !(n < 0 && errno == EINTR))
			break;
		b->len += n > 0 ? (size_t)n : 0;
	}
	if (b->failed && b->len + 65536 > FILE_MAX)
		rc = err_set(e, WEIR_LIMIT, EFBIG, "%s is over 64 MiB", path);
	else if (b->failed)
		rc = no_memory(e);
	else if (n < 0)
		rc = err_os(e, errno, "reading %s", path);
	if (!in)
		close(fd);
	b->max = 0;
	buf_putc(b, '\0'); /* readers may look for the end of a text */
	b->len -= b->len > 0;
	return rc;
}

static int take_read(struct model_run *r, void *arg)
{
	host_judge_read(r);
	return cmd_runs_add(arg, r);
}

static int take_run(struct model_run *r, void *arg)
{
	return cmd_runs_add(arg, r);
}

int cmd_runs_memory(const char *path, const struct buf *b, struct cmd_runs *l, struct weir_err *e)
{
	struct format_take take = {format_is_ours(b->data, b->len) ? take_run : take_read, l};
	int rc = format_read_all(b->data, b->len, &take, e);

	if (rc == -ENOMEM && (!e || !e->msg[0]))
		no_memory(e);
	return rc < 0 ? err_wrap(e, "%s", path) : 0;
}

int cmd_runs_file(const char *path, struct cmd_runs *l, struct weir_err *e)
{
	struct buf b = {0};
	int rc = cmd_runs_text(path, &b, e);

	if (rc >= 0)
		rc = cmd_runs_memory(path, &b, l, e);
	buf_fini(&b);
	return rc < 0 ? rc : 0;
}

/* ---- the store ---- */

struct ids {
	char (*v)[MODEL_ID_LEN + 1];
	size_t n;
};

static int take_id(const struct store_entry *en, void *arg)
{
	struct ids *l = arg;
	void *v = reallocarray(l->v, l->n + 1, sizeof(*l->v));

	if (!v)
		return -ENOMEM;
	l->v = v;
	if (en->outcome == OUTCOME_COMPLETE)
		memcpy(l->v[l->n++], en->id, sizeof(en->id));
	return 0;
}

int cmd_runs_tagged(struct store *s, const char *key, const char *value, struct cmd_runs *l,
		    struct weir_err *e)
{
	struct model_kv tag = {key, value};
	struct store_filter f = {.tags = &tag,
				 .n_tags = 1,
				 .since_real_ns = MODEL_NO_TIME,
				 .until_real_ns = MODEL_NO_TIME};
	struct ids ids = {0};
	int rc = store_list(s, &f, take_id, &ids, e);

	if (rc == -ENOMEM)
		no_memory(e);
	for (size_t i = ids.n; i > 0 && rc >= 0; i--) {
		struct model_run *r;

		rc = store_load(s, ids.v[i - 1], &r, e);
		if (rc >= 0 && cmd_runs_add(l, r) < 0)
			rc = no_memory(e);
	}
	free(ids.v);
	return rc < 0 ? rc : 0;
}
