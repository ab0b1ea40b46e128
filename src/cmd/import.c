/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir import: reports out of files into the store. A file is a run, its reports are parts of it; the
 * run's id comes from the text, so that what is there already is not stored twice. Who and where
 * stays behind unless asked for.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/runs.h"
#include "format/format.h"
#include "host/host.h"

struct import_cfg {
	struct opt_list files, tags;
	char *split_on;
	bool keep_text;
	struct cmd_db_cfg db;
};

#define F(field) offsetof(struct import_cfg, field)
/* clang-format off */
static const struct opt import_opts[] = {
	{.name = "file", .type = OPT_LIST, .offset = F(files), .flags = OPT_POSITIONAL | OPT_REQUIRED | OPT_FILE, .metavar = "FILE", .help = "text with reports in it, or runs that weir wrote; - is standard input"},
	{.name = "tag", .type = OPT_LIST, .offset = F(tags), .metavar = "KEY=VALUE", .help = "mark the runs (repeatable)"},
	{.name = "split-on", .type = OPT_STR, .offset = F(split_on), .metavar = "REGEX", .help = "a new run begins at each line that matches (POSIX extended)"},
	{.name = "keep-text", .type = OPT_FLAG, .offset = F(keep_text), .help = "keep headings, names and addresses, which are replaced otherwise"},
};
/* clang-format on */

#define LINE_MAX_BYTES ((size_t)64 << 10)

/* ---- one run ---- */

struct making {
	const struct import_cfg *c;
	struct model_run *run;
	const uint8_t *hash;
	size_t reports;
};

static int add_report(void *arg, const struct format_found *f)
{
	struct making *m = arg;
	int rc;

	if (!m->run)
		m->run = format_found_head(f, m->hash);
	if (!m->run)
		return -ENOMEM;
	rc = format_found_join(f, m->run, m->c->keep_text);
	m->reports += rc > 0;
	return rc < 0 ? rc : 0;
}

static void describe(struct model_run *r, const char *path, const uint8_t *hash, size_t n)
{
	const char *slash = strrchr(path, '/');
	char hex[2 * SHA256_LEN + 1];

	for (size_t i = 0; i < SHA256_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	r->source.file = model_run_str(r, slash ? slash + 1 : path);
	r->source.sha256 = model_run_str(r, hex);
	r->source.span_from = 0;
	r->source.span_to = (int64_t)n;
	r->source.line = 1;
}

static int put(const struct import_cfg *c, struct store *s, struct model_run *r, size_t reports,
	       struct weir_err *e)
{
	struct weir_err ignored = {0};
	struct model_run *old;
	int rc = 0;

	for (size_t i = 0; i < c->tags.n && rc >= 0; i++) {
		char *k = strdup(c->tags.v[i]), *eq = k ? strchr(k, '=') : NULL;

		if (eq) {
			*eq = '\0';
			rc = model_add_tag(r, k, eq + 1);
		}
		free(k);
	}
	if (rc >= 0 && store_load(s, r->id, &old, &ignored) >= 0) {
		model_run_free(old);
		printf("%s  was there already\n", r->id);
		return 0;
	}
	rc = rc < 0 ? rc : store_put(s, r, e);
	if (rc >= 0 && reports)
		printf("%s  %zu report%s\n", r->id, reports, reports == 1 ? "" : "s");
	else if (rc >= 0)
		printf("%s\n", r->id);
	return rc;
}

static int import_text(const struct import_cfg *c, struct store *s, const char *path,
		       const char *text, size_t n, size_t *runs, struct weir_err *e)
{
	uint8_t hash[SHA256_LEN];
	struct making m = {.c = c, .hash = hash};
	struct format_reading r = {.found = add_report, .arg = &m};
	int rc;

	sha256(text, n, hash);
	rc = format_read_string(text, n, &r, NULL, e);
	if (rc >= 0 && m.run) {
		describe(m.run, path, hash, n);
		host_judge_read(m.run);
		if (!c->keep_text)
			model_anonymise(m.run);
		rc = put(c, s, m.run, m.reports, e);
		++*runs;
	}
	model_run_free(m.run);
	return rc;
}

/* ---- pieces ---- */

static bool starts_piece(const regex_t *re, const char *line, size_t n)
{
	char *copy = n < LINE_MAX_BYTES ? strndup(line, n) : NULL;
	bool yes = copy && regexec(re, copy, 0, NULL, 0) == 0;

	free(copy);
	return yes;
}

static int import_pieces(const struct import_cfg *c, struct store *s, const char *path,
			 const struct buf *b, size_t *runs, struct weir_err *e)
{
	size_t from = 0, at = 0;
	regex_t re;
	int rc = 0;

	if (!c->split_on)
		return import_text(c, s, path, b->data, b->len, runs, e);
	if (regcomp(&re, c->split_on, REG_EXTENDED | REG_NOSUB))
		return err_set(e, WEIR_USAGE, EINVAL, "--split-on: that is no regular expression");
	while (at < b->len && rc >= 0) {
		const char *nl = memchr(b->data + at, '\n', b->len - at);
		size_t end = nl ? (size_t)(nl - b->data) + 1 : b->len;

		if (at > from && starts_piece(&re, b->data + at, end - at - (nl != NULL))) {
			rc = import_text(c, s, path, b->data + from, at - from, runs, e);
			from = at;
		}
		at = end;
	}
	if (rc >= 0)
		rc = import_text(c, s, path, b->data + from, b->len - from, runs, e);
	regfree(&re);
	return rc;
}

/* ---- files ---- */

/* Runs that weir wrote keep their ids. */
static int import_own(const struct import_cfg *c, struct store *s, const char *path,
		      const struct buf *b, size_t *runs, struct weir_err *e)
{
	struct cmd_runs l = {0};
	int rc = cmd_runs_memory(path, b, &l, e);

	for (size_t i = 0; i < l.n && rc >= 0; i++)
		rc = put(c, s, l.v[i], 0, e);
	*runs += l.n;
	cmd_runs_fini(&l);
	return rc;
}

static int import_file(const struct import_cfg *c, struct store *s, const char *path,
		       struct weir_err *e)
{
	struct buf b = {0};
	size_t runs = 0;
	int rc = cmd_runs_text(path, &b, e);

	if (rc >= 0)
		rc = format_is_ours(b.data, b.len) ? import_own(c, s, path, &b, &runs, e)
						   : import_pieces(c, s, path, &b, &runs, e);
	if (rc >= 0 && !runs)
		rc = err_set(e, WEIR_FORMAT, ENOMSG, "%s: no report that a reader knows", path);
	buf_fini(&b);
	return rc;
}

static int open_store(const struct import_cfg *c, struct store **s, struct weir_err *e)
{
	char *path = cmd_db_path(&c->db);
	struct store_cfg cfg = {.path = path, .mode = STORE_WRITE, .headline = format_headline};
	int rc = path ? store_open(&cfg, s, e) : err_set(e, WEIR_OS, ENOMEM, "out of memory");

	free(path);
	return rc;
}

static int run(void *cfg)
{
	const struct import_cfg *c = cfg;
	struct store *s = NULL;
	struct weir_err e = {0};
	int rc = 0;

	for (size_t i = 0; i < c->tags.n && rc >= 0; i++)
		rc = cmd_tag_check(c->tags.v[i], &e);
	if (rc >= 0)
		rc = open_store(c, &s, &e);
	for (size_t i = 0; i < c->files.n && rc >= 0; i++)
		rc = import_file(c, s, c->files.v[i], &e);
	store_close(s);
	if (rc < 0)
		return cmd_fail("import", &e);
	return cmd_printed();
}

static const struct cmd_more import_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_import = {
	.name = "import",
	.summary = "store other tools' reports and runs of other machines",
	.usage = "FILE…",
	.opts = import_opts,
	.n_opts = ARRAY_LEN(import_opts),
	.cfg_size = sizeof(struct import_cfg),
	.more = import_more,
	.run = run,
};
