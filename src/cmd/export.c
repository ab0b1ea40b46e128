/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir export: stored runs for other programs and other people. What names hosts, addresses or
 * files can be replaced on the way; the stored run stays as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

struct export_cfg {
	struct opt_list runs;
	int format;
	bool anonymise;
	char *output;
	struct cmd_db_cfg db;
};

static const char *const forms[] = {"json", "ndjson", "csv", "text", "markdown", "paste", NULL};

#define F(field) offsetof(struct export_cfg, field)
/* clang-format off */
static const struct opt export_opts[] = {
	{.name = "run", .type = OPT_LIST, .offset = F(runs), .flags = OPT_POSITIONAL | OPT_REQUIRED, .metavar = "RUN", .help = "last, last-1, last:tcp, or 4 or more characters of an id (repeatable)"},
	{.name = "format", .letter = 'f', .type = OPT_ENUM, .offset = F(format), .metavar = "FORM", .help = "form of the output", .fallback = "json", .choices = forms},
	{.name = "anonymise", .type = OPT_FLAG, .offset = F(anonymise), .help = "replace host names, addresses, MACs and paths"},
	{.name = "output", .letter = 'o', .type = OPT_STR, .offset = F(output), .flags = OPT_FILE, .metavar = "FILE", .help = "write there instead of standard output"},
};
/* clang-format on */

static int render_one(const struct export_cfg *c, struct store *s, const char *what,
		      const struct format_opts *fo, struct buf *b, struct weir_err *e)
{
	struct model_run *r;
	int rc = cmd_db_load(s, what, &r, e);

	if (rc < 0)
		return rc;
	if (c->anonymise)
		model_anonymise(r);
	rc = cmd_render(r, forms[c->format], fo, b, e);
	model_run_free(r);
	return rc;
}

static int write_file(const char *path, const struct buf *b, struct weir_err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	size_t done = 0;
	int err = 0;

	if (fd < 0)
		return err_os(e, errno, "%s", path);
	while (done < b->len && !err) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			err = errno;
		done += n > 0 ? (size_t)n : 0;
	}
	if (close(fd) < 0 && !err)
		err = errno;
	return err ? err_os(e, err, "writing %s", path) : 0;
}

/* All of it is made before anything is written: a failure leaves no half of a file. */
static int export_runs(const struct export_cfg *c, struct store *s, struct weir_err *e)
{
	struct format_opts fo = {.unicode = cmd_unicode(), .intervals = true, .live_rows = true};
	bool to_file = c->output && strcmp(c->output, "-") != 0;
	struct buf b = {0};
	int rc = 0;

	for (size_t i = 0; i < c->runs.n && rc >= 0; i++)
		rc = render_one(c, s, c->runs.v[i], &fo, &b, e);
	if (rc >= 0 && to_file)
		rc = write_file(c->output, &b, e);
	else if (rc >= 0 && !cmd_flush(&b))
		rc = err_set(e, WEIR_OS, EIO, "the output was not written");
	buf_fini(&b);
	return rc;
}

static int run(void *cfg)
{
	const struct export_cfg *c = cfg;
	struct store *s = NULL;
	struct weir_err e = {0};
	int rc = cmd_db_open(&c->db, STORE_READ, &s, &e);

	if (rc >= 0 && !s) {
		cmd_db_none(&c->db);
		return CMD_FAILED;
	}
	if (rc >= 0)
		rc = export_runs(c, s, &e);
	store_close(s);
	return rc < 0 ? cmd_fail("export", &e) : CMD_OK;
}

static const struct cmd_more export_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_export = {
	.name = "export",
	.summary = "write stored runs as JSON, CSV or text",
	.usage = "RUN…",
	.opts = export_opts,
	.n_opts = ARRAY_LEN(export_opts),
	.cfg_size = sizeof(struct export_cfg),
	.more = export_more,
	.run = run,
};
