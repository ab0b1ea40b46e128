/* SPDX-License-Identifier: BSD-2-Clause */
/* weir rm: runs that are named, or all that are old enough. Names are looked up before any goes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"

struct rm_cfg {
	struct opt_list runs;
	char *older;
	bool tagged;
	struct cmd_db_cfg db;
};

#define F(field) offsetof(struct rm_cfg, field)
/* clang-format off */
static const struct opt rm_opts[] = {
	{.name = "run", .type = OPT_LIST, .offset = F(runs), .flags = OPT_POSITIONAL, .metavar = "RUN", .help = "last, last-1, last:tcp, or 4 or more characters of an id (repeatable)"},
	{.name = "older", .type = OPT_STR, .offset = F(older), .metavar = "WHEN", .help = "all untagged runs from before then, such as 30d or 2026-11-30"},
	{.name = "tagged", .type = OPT_FLAG, .offset = F(tagged), .help = "with --older: the tagged ones as well"},
};
/* clang-format on */

static int check(const struct rm_cfg *c, int64_t *before, struct weir_err *e)
{
	if (!c->older == !c->runs.n) {
		err_set(e, WEIR_USAGE, EINVAL, "either runs or --older says what goes");
		return err_hint(e, "e.g. weir rm last, or weir rm --older 30d");
	}
	if (c->tagged && !c->older)
		return err_set(e, WEIR_USAGE, EINVAL, "--tagged goes with --older");
	if (c->older && clk_parse_when(c->older, clk_real_ns(), before, e) < 0)
		return err_wrap(e, "--older");
	return 0;
}

/* One run may be named twice. */
static bool among(char (*ids)[MODEL_ID_LEN + 1], size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(ids[i], id))
			return true;
	}
	return false;
}

static int remove_named(const struct rm_cfg *c, struct store *s, struct weir_err *e)
{
	char(*ids)[MODEL_ID_LEN + 1] = calloc(c->runs.n, sizeof(*ids));
	size_t n = 0;
	int rc = 0;

	if (!ids)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (size_t i = 0; i < c->runs.n && rc >= 0; i++) {
		rc = store_resolve(s, c->runs.v[i], ids[n], e);
		n += rc >= 0 && !among(ids, n, ids[n]);
	}
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = store_remove(s, ids[i], e);
	free(ids);
	return rc < 0 ? rc : (int)n;
}

static int run(void *cfg)
{
	const struct rm_cfg *c = cfg;
	struct store *s = NULL;
	struct weir_err e = {0};
	int64_t before = 0;
	int rc = check(c, &before, &e);

	if (rc >= 0)
		rc = cmd_db_open(&c->db, STORE_WRITE, &s, &e);
	if (rc >= 0 && !s) {
		cmd_db_none(&c->db);
		return c->older ? CMD_OK : CMD_FAILED;
	}
	if (rc >= 0)
		rc = c->older ? store_remove_older(s, before, c->tagged, &e)
			      : remove_named(c, s, &e);
	if (rc >= 0)
		printf("%d run%s removed\n", rc, rc == 1 ? "" : "s");
	store_close(s);
	return rc < 0 ? cmd_fail("rm", &e) : cmd_printed();
}

static const struct cmd_more rm_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_rm = {
	.name = "rm",
	.summary = "remove stored runs",
	.usage = "RUN… | --older WHEN",
	.opts = rm_opts,
	.n_opts = ARRAY_LEN(rm_opts),
	.cfg_size = sizeof(struct rm_cfg),
	.more = rm_more,
	.run = run,
};
