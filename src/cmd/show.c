/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir show: a stored run as it was printed when it was measured, by the same writer; or
 * several runs side by side.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/runs.h"
#include "cmd/show_exp.h"
#include "host/host.h"

struct show_cfg {
	struct opt_list runs;
	bool json, table, intervals, quiet, explain;
	struct cmd_db_cfg db;
};

#define F(field) offsetof(struct show_cfg, field)
/* clang-format off */
static const struct opt show_opts[] = {
	{.name = "run", .type = OPT_LIST, .offset = F(runs), .flags = OPT_POSITIONAL, .metavar = "RUN", .help = "last (the default), last-1, last:tcp, 4 or more characters of an id, or a file with runs or other tools' reports"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "the whole run as one JSON document"},
	{.name = "table", .type = OPT_FLAG, .offset = F(table), .help = "the runs side by side, a column each"},
	{.name = "intervals", .letter = 'i', .type = OPT_FLAG, .offset = F(intervals), .help = "a row for each interval as well"},
	{.name = "quiet", .letter = 'q', .type = OPT_FLAG, .offset = F(quiet), .help = "only the result"},
	{.name = "explain", .type = OPT_FLAG, .offset = F(explain), .help = "also all that speaks for what limited it, and what is not known"},
};
/* clang-format on */

static int load_stored(const struct show_cfg *c, struct store **s, const char *what,
		       struct cmd_runs *l, struct weir_err *e)
{
	struct model_run *r;
	int rc = *s ? 0 : cmd_db_open(&c->db, STORE_READ, s, e);

	if (rc >= 0 && !*s) {
		cmd_db_none(&c->db);
		return -ENODATA;
	}
	if (rc >= 0)
		rc = cmd_db_load(*s, what, &r, e);
	if (rc >= 0 && cmd_runs_add(l, r) < 0)
		rc = err_set(e, WEIR_OS, ENOMEM, "out of memory");
	return rc;
}

/* A stored run, or all that a file holds. */
static int load_all(const struct show_cfg *c, struct store **s, struct cmd_runs *l,
		    struct weir_err *e)
{
	int rc = c->runs.n ? 0 : load_stored(c, s, "last", l, e);

	for (size_t i = 0; i < c->runs.n && rc >= 0; i++) {
		const char *what = c->runs.v[i];

		rc = !strcmp(what, "-") || access(what, F_OK) == 0 ? cmd_runs_file(what, l, e)
								   : load_stored(c, s, what, l, e);
	}
	return rc;
}

static int print_one(const struct show_cfg *c, struct store *s, const struct model_run *r,
		     const struct format_opts *fo, struct buf *b, struct weir_err *e)
{
	if (!c->json && !c->quiet && show_is_exp(r))
		return show_exp(s, r, b, e);
	int rc = cmd_render(r, c->json ? "json" : "text", fo, b, e);

	if (rc >= 0 && c->explain && !c->json)
		host_explain(r, b);
	return rc;
}

static int print_each(const struct show_cfg *c, struct store *s, const struct cmd_runs *l,
		      struct format_opts *fo, struct buf *b, struct weir_err *e)
{
	int rc = 0;

	fo->intervals = c->intervals;
	fo->quiet = c->quiet;
	for (size_t i = 0; i < l->n && rc >= 0; i++) {
		if (i && !c->json && !c->quiet)
			buf_putc(b, '\n');
		/* A store's run without an end has a writer; without one it would be partial. */
		if (!c->json && l->v[i]->outcome == OUTCOME_RUNNING)
			l->v[i]->error = model_run_str(l->v[i], "it is still being measured");
		rc = print_one(c, s, l->v[i], fo, b, e);
		if (rc >= 0 && !cmd_flush(b))
			rc = err_set(e, WEIR_OS, EIO, "the output was not written");
	}
	return rc;
}

static int print_all(const struct show_cfg *c, struct store *s, const struct cmd_runs *l,
		     struct weir_err *e)
{
	struct format_opts fo = cmd_format_opts();
	struct buf b = {0};
	int rc = 0;

	if (c->table) {
		format_table((const struct model_run *const *)l->v, l->n, &fo, &b);
		rc = cmd_flush(&b) ? 0 : err_set(e, WEIR_OS, EIO, "the output was not written");
	} else {
		rc = print_each(c, s, l, &fo, &b, e);
	}
	buf_fini(&b);
	return rc;
}

static int run(void *cfg)
{
	const struct show_cfg *c = cfg;
	struct store *s = NULL;
	struct cmd_runs l = {0};
	struct weir_err e = {0};
	int rc = 0;

	if (c->table && c->json)
		rc = err_set(&e, WEIR_USAGE, EINVAL, "--table and --json: one of them");
	if (rc >= 0)
		rc = load_all(c, &s, &l, &e);
	if (rc >= 0)
		rc = print_all(c, s, &l, &e);
	cmd_runs_fini(&l);
	store_close(s);
	if (rc == -ENODATA)
		return CMD_FAILED; /* that was said */
	return rc < 0 ? cmd_fail("show", &e) : CMD_OK;
}

static const struct cmd_more show_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_show = {
	.name = "show",
	.summary = "show stored runs again",
	.usage = "[RUN…]",
	.opts = show_opts,
	.n_opts = ARRAY_LEN(show_opts),
	.cfg_size = sizeof(struct show_cfg),
	.more = show_more,
	.run = run,
};
