/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir compare: did the change help? Runs that exist, in sides, get a verdict with its reasons;
 * a script gets an exit code. The rule is model/verdict.c's, its words are wording.c's.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"

static const char *const betters[] = {"auto", "higher", "lower", NULL};
const char *const compare_fails[] = {"never", "worse", "different", NULL};
const char *const compare_requires[] = {"nothing", "not-worse", "better", "equivalent", NULL};

/* "2%", "0.5": per cent either way. */
int compare_percent(void *field, const char *arg, struct weir_err *e)
{
	char *end, safe[64];
	double v = strtod(arg, &end);

	while (*end == ' ')
		end++;
	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(v > 0 && v < 100)) {
		safe_str(safe, sizeof(safe), arg, strlen(arg));
		err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is no share in per cent", safe);
		return err_hint(e, "such as 2%%");
	}
	*(double *)field = v / 100;
	return 0;
}

#define F(field) offsetof(struct compare_cfg, field)
/* clang-format off */
static const struct opt compare_opts[] = {
	{.name = "side", .type = OPT_LIST, .offset = F(sides), .flags = OPT_POSITIONAL | OPT_REQUIRED | OPT_FILE, .metavar = "SIDE", .help = "runs joined by commas, tag:KEY=VALUE, a result file, - for standard input"},
	{.name = "values", .type = OPT_FLAG, .offset = F(values), .help = "sides are files of bare numbers, one a line"},
	{.name = "column", .type = OPT_INT, .offset = F(column), .metavar = "N", .help = "with --values: the field of a line", .min = 1, .max = 1000, .fallback = "1"},
	{.name = "better", .type = OPT_ENUM, .offset = F(better), .help = "which direction is better; auto knows it of metrics", .fallback = "auto", .choices = betters},
	{.name = "paired", .type = OPT_FLAG, .offset = F(paired), .help = "the first run of A was made with the first of B, and so on"},
	{.name = "split", .type = OPT_FLAG, .offset = F(split), .help = "one SIDE, a text with two configurations: A and B are found in it by their headings"},
	{.name = "order", .type = OPT_STR, .offset = F(order), .metavar = "ABBA…", .help = "the order in which the runs were made"},
	{.name = "metric", .type = OPT_LIST, .offset = F(metrics), .metavar = "METRIC", .help = "compare this, such as goodput:down or tcp.rtt:p99 (repeatable)"},
	{.name = "primary", .type = OPT_STR, .offset = F(primary), .metavar = "METRIC", .help = "the metric that counts (default: goodput); the others are corrected for their number"},
	{.name = "margin", .type = OPT_FUNC, .offset = F(margin), .metavar = "PERCENT", .help = "a difference that does not matter", .func = compare_percent, .fallback = "2%"},
	{.name = "noise-floor", .type = OPT_FUNC, .offset = F(floor), .metavar = "PERCENT", .help = "what this testbed shows where nothing changed", .func = compare_percent},
	{.name = "across-sessions", .type = OPT_FLAG, .offset = F(floor_sessions), .help = "with --noise-floor: it was taken between sessions (boots, reconnects)"},
	{.name = "ceiling", .type = OPT_RATE, .offset = F(ceiling), .metavar = "RATE", .help = "the link's rate for payload, at which differences cannot show (default: by the interface's speed, where the runs know it)"},
	{.name = "varied", .type = OPT_LIST, .offset = F(varied), .metavar = "NAME", .help = "what was changed on purpose, such as kernel or request.congestion (repeatable)"},
	{.name = "baseline", .type = OPT_STR, .offset = F(baseline), .metavar = "SIDE", .help = "this is A; all the others are compared with it"},
	{.name = "fail-on", .type = OPT_ENUM, .offset = F(fail_on), .help = "exit 3 when a metric is so", .fallback = "never", .choices = compare_fails},
	{.name = "require", .type = OPT_ENUM, .offset = F(require), .help = "exit 3 unless the primary metric is shown to be so", .fallback = "nothing", .choices = compare_requires},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document"},
	{.name = "markdown", .type = OPT_FLAG, .offset = F(markdown), .help = "a table for an issue or a wiki"},
	{.name = "paste", .type = OPT_FLAG, .offset = F(paste), .help = "72 columns of ASCII for a mail"},
};
/* clang-format on */

/* ---- exit code ---- */

static bool fails_on(const struct compare_cfg *c, const struct model_judgement *j)
{
	if (c->fail_on == FAIL_WORSE)
		return j->outcome == VERDICT_WORSE;
	return c->fail_on == FAIL_DIFFERENT &&
	       (j->outcome == VERDICT_WORSE || j->outcome == VERDICT_BETTER);
}

static bool meets(const struct compare_cfg *c, const struct model_judgement *j)
{
	switch (c->require) {
	case REQUIRE_NOT_WORSE:
		return model_not_worse(j);
	case REQUIRE_BETTER:
		return j->outcome == VERDICT_BETTER;
	case REQUIRE_EQUIVALENT:
		return j->outcome == VERDICT_EQUIVALENT || j->outcome == VERDICT_NEGLIGIBLE;
	default:
		return true;
	}
}

int compare_exit(const struct compare_cfg *c, const struct compare_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct compare_row *r = &rows->v[i];

		if (fails_on(c, &r->j) || (r->primary && !meets(c, &r->j)))
			return CMD_VERDICT;
	}
	return CMD_OK;
}

/* ---- the command ---- */

static int check(const struct compare_cfg *c, struct weir_err *e)
{
	if (c->json + c->markdown + c->paste > 1)
		return err_set(e, WEIR_USAGE, EINVAL, "--json, --markdown, --paste: one of them");
	if (c->values && (c->primary || c->metrics.n))
		return err_set(e, WEIR_USAGE, EINVAL, "bare values have no metrics to choose from");
	if (c->floor_sessions && !(c->floor > 0))
		return err_set(e, WEIR_USAGE, EINVAL, "--across-sessions is for --noise-floor");
	return 0;
}

/* What `weir calibrate` found; a store that cannot be read has none. */
static void find_floors(struct compare_cfg *c, const struct compare_set *s)
{
	struct store *st = NULL;

	if (!s->v[0].runs || !s->v[0].n || cmd_db_open(&c->db, STORE_READ, &st, NULL) < 0 || !st)
		return;
	cmd_floor_find(st, s->v[0].runs[0], &c->floors);
	store_close(st);
}

static int run(void *cfg)
{
	struct compare_cfg *c = cfg;
	struct compare_set sides = {0};
	struct compare_rows rows = {0};
	struct weir_err e = {0};
	struct buf b = {0};
	int rc = check(c, &e), code = CMD_OK;

	if (rc >= 0 && c->split) {
		rc = compare_split(c, &b, &code, &e);
		if (rc >= 0 && !cmd_flush(&b))
			rc = err_set(&e, WEIR_OS, EIO, "the output was not written");
		buf_fini(&b);
		return rc < 0 ? cmd_fail("compare", &e) : code;
	}
	if (rc >= 0)
		rc = compare_load(c, &sides, &e);
	if (rc >= 0) {
		find_floors(c, &sides);
		rc = compare_judge(c, &sides, &rows, &e);
	}
	if (rc >= 0) {
		(c->json ? compare_json : compare_print)(c, &sides, &rows, &b);
		code = compare_exit(c, &rows);
		if (!cmd_flush(&b))
			rc = err_set(&e, WEIR_OS, EIO, "the output was not written");
	}
	buf_fini(&b);
	compare_rows_fini(&rows);
	compare_set_fini(&sides);
	return rc < 0 ? cmd_fail("compare", &e) : code;
}

static const struct cmd_more compare_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_compare = {
	.name = "compare",
	.summary = "judge whether one set of runs differs from another",
	.usage = "A B [C…]",
	.opts = compare_opts,
	.n_opts = ARRAY_LEN(compare_opts),
	.cfg_size = sizeof(struct compare_cfg),
	.more = compare_more,
	.run = run,
};
