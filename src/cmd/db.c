/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the user's runs are, and what the commands on stored runs have in common: one place to
 * look, one way to say that nothing is there, one way from a stored run to a report.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/ui.h"

/* clang-format off */
const struct opt cmd_db_opts[] = {
	{.name = "db", .type = OPT_STR, .offset = offsetof(struct cmd_db_cfg, db), .flags = OPT_FILE, .metavar = "FILE", .help = "the database of runs (WEIR_DB; default: runs.db in the user's state folder)"},
};
/* clang-format on */
const size_t cmd_db_n_opts = ARRAY_LEN(cmd_db_opts);

static const char *home(void)
{
	const char *h = getenv("HOME");
	const struct passwd *pw;

	if (h && h[0])
		return h;
	pw = getpwuid(geteuid());
	return pw && pw->pw_dir ? pw->pw_dir : "";
}

/* A file's name and nothing else: to SQLite ":memory:" and "file:…" are more than that. */
static void put_file(struct buf *b, const char *name)
{
	buf_printf(b, "%s%s", name[0] == ':' || !strncmp(name, "file:", 5) ? "./" : "", name);
}

char *cmd_db_path(const struct cmd_db_cfg *c)
{
	const char *env = getenv("WEIR_DB"), *state = getenv("XDG_STATE_HOME");
	struct buf b = {0};

	if (c && c->db && c->db[0])
		put_file(&b, c->db);
	else if (env && env[0])
		put_file(&b, env);
	else if (state && state[0] == '/') /* the specification ignores relative ones */
		buf_printf(&b, "%s/weir/runs.db", state);
	else
		buf_printf(&b, "%s/.local/state/weir/runs.db", home());
	return buf_take(&b);
}

int cmd_db_open(const struct cmd_db_cfg *c, enum store_mode mode, struct store **out,
		struct weir_err *e)
{
	char *path = cmd_db_path(c);
	struct store_cfg cfg = {.path = path, .mode = mode, .headline = format_headline};
	int rc = 0;

	*out = NULL;
	if (!path)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	if (!store_supported() || access(path, F_OK) == 0 || errno != ENOENT)
		rc = store_open(&cfg, out, e);
	free(path);
	return rc;
}

void cmd_db_none(const struct cmd_db_cfg *c)
{
	char *path = cmd_db_path(c);

	fprintf(stderr, "no runs stored yet (%s)\n", path ? path : "?");
	free(path);
}

int cmd_db_load(struct store *s, const char *what, struct model_run **out, struct weir_err *e)
{
	char id[MODEL_ID_LEN + 1];
	int rc = store_resolve(s, what, id, e);

	*out = NULL;
	return rc < 0 ? rc : store_load(s, id, out, e);
}

int cmd_render(const struct model_run *r, const char *form, const struct format_opts *o,
	       struct buf *b, struct weir_err *e)
{
	const struct format *f = format_find(form);
	struct sink *s = f && f->writer ? f->writer(b, o) : NULL;
	int rc, closed;

	if (!s)
		return err_set(e, WEIR_OS, ENOMEM, "no writer for %s", form);
	rc = model_replay(r, s);
	closed = s->close(s, e);
	if (b->failed)
		return err_set(e, WEIR_LIMIT, ENOMEM, "the report is too large");
	if (closed < 0)
		return closed;
	return rc < 0 ? err_os(e, -rc, "reading the run") : 0;
}

struct format_opts cmd_format_opts(void)
{
	return (struct format_opts){.colour = cmd_colour(STDOUT_FILENO),
				    .unicode = cmd_unicode(),
				    .width = ui_columns(STDOUT_FILENO)};
}
