/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir try: runs the experiment that settles whether a change helped. The rooms do the work: try/
 * plans and runs, compare judges and prints; here they are joined, and what was changed is undone
 * before anything is said.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/try.h"

#define F(field) offsetof(struct try_opts, field)
/* clang-format off */
static const struct opt own_opts[] = {
	{.name = "pairs", .type = OPT_INT, .offset = F(pairs), .metavar = "N", .help = "pairs, or whole sets of more than two (default: 12)", .min = 1, .max = 10000},
	{.name = "quick", .type = OPT_FLAG, .offset = F(quick), .help = "6 pairs, the least with which a verdict is possible"},
	{.name = "runs", .type = OPT_STR, .offset = F(runs), .metavar = "auto", .help = "as many pairs as --precision needs, at most 200"},
	{.name = "precision", .type = OPT_FUNC, .offset = F(precision), .metavar = "PERCENT", .help = "with --runs auto: half the width of the interval at which it ends (default: 1%)", .func = compare_percent},
	{.name = "margin", .type = OPT_FUNC, .offset = F(judge.margin), .metavar = "PERCENT", .help = "a difference that does not matter (default: 2%)", .func = compare_percent},
	{.name = "noise-floor", .type = OPT_FUNC, .offset = F(judge.floor), .metavar = "PERCENT", .help = "what this testbed shows where nothing changed (default: the last weir calibrate)", .func = compare_percent},
	{.name = "ceiling", .type = OPT_RATE, .offset = F(judge.ceiling), .metavar = "RATE", .help = "the link's rate for payload, at which differences cannot show"},
	{.name = "fail-on", .type = OPT_ENUM, .offset = F(judge.fail_on), .help = "exit 3 when a metric is so", .fallback = "never", .choices = compare_fails},
	{.name = "require", .type = OPT_ENUM, .offset = F(judge.require), .help = "exit 3 unless the primary metric is shown to be so", .fallback = "nothing", .choices = compare_requires},
	{.name = "markdown", .type = OPT_FLAG, .offset = F(judge.markdown), .help = "the verdict as a table for an issue or a wiki"},
	{.name = "paste", .type = OPT_FLAG, .offset = F(judge.paste), .help = "the verdict in 72 columns of ASCII for a mail"},
	{.name = "command", .type = OPT_LIST, .offset = F(command), .flags = OPT_POSITIONAL | OPT_REST, .metavar = "COMMAND", .help = "the measurement, such as: tcp HOST -t 2"},
};
const struct opt try_factor_opts[] = {
	{.name = "vary", .type = OPT_LIST, .offset = F(vary), .metavar = "NAME=VALUE,VALUE", .help = "an option of the command (tcp.window), or a name of weir knobs (sysctl:NAME, iface:DEV.NAME …); twice for two of them"},
	{.name = "a", .type = OPT_STR, .offset = F(a), .metavar = "COMMAND", .help = "shell command that makes A"},
	{.name = "b", .type = OPT_STR, .offset = F(b), .metavar = "COMMAND", .help = "shell command that makes B"},
	{.name = "undo", .type = OPT_STR, .offset = F(undo), .metavar = "COMMAND", .help = "shell command at the end, also after a signal"},
	{.name = "on", .type = OPT_STR, .offset = F(on), .metavar = "NAME=ssh:USER@HOST", .help = "where --a, --b and --undo run"},
	{.name = "arms", .type = OPT_STR, .offset = F(arms), .metavar = "NAME,NAME", .help = "what A and B are called"},
};
const size_t try_n_factor_opts = ARRAY_LEN(try_factor_opts);
const struct opt try_hand_opts[] = {
	{.name = "by-hand", .type = OPT_FLAG, .offset = F(by_hand), .help = "a person boots or plugs the arms, for as many days as it takes"},
	{.name = "runs-per-boot", .type = OPT_INT, .offset = F(each), .metavar = "N", .help = "with --by-hand: so many runs of one boot are one value, their mean (default: 1)", .min = 1, .max = 1000},
	{.name = "changed", .type = OPT_FLAG, .offset = F(changed), .help = "with --resume: the arm is there, though the host looks the same"},
};
const size_t try_n_hand_opts = ARRAY_LEN(try_hand_opts);
const struct opt try_run_opts[] = {
	{.name = "settle", .type = OPT_TIME, .offset = F(settle_ns), .metavar = "TIME", .help = "wait after each switch", .max = 3600 * NSEC_PER_SEC},
	{.name = "warmup", .type = OPT_INT, .offset = F(warmup), .metavar = "N", .help = "runs that are thrown away first", .max = 100, .fallback = "1"},
	{.name = "max-time", .type = OPT_TIME, .offset = F(max_ns), .metavar = "TIME", .help = "begin no pair that would end later", .max = 30 * 86400 * NSEC_PER_SEC},
	{.name = "seed", .type = OPT_COUNT, .offset = F(seed), .metavar = "N", .help = "of the random order; 0 = a new one", .fallback = "0"},
	{.name = "resume", .type = OPT_STR, .offset = F(resume), .flags = OPT_OPTARG, .metavar = "ID", .help = "go on with what was cut short, or with that one; commands and kernel settings must be told again"},
	{.name = "primary", .type = OPT_STR, .offset = F(judge.primary), .metavar = "METRIC", .help = "the metric that counts, such as tcp.rtt_loaded:p50 (default: goodput)"},
	{.name = "metric", .type = OPT_LIST, .offset = F(judge.metrics), .metavar = "METRIC", .help = "judge this too (repeatable; default: the usual ones)"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(judge.json), .help = "the verdict as one JSON document"},
};
const size_t try_n_run_opts = ARRAY_LEN(try_run_opts);
/* clang-format on */

/* ---- run ---- */

static int open_arm(struct session *s, struct weir_err *e)
{
	const int64_t a_day = 24 * 3600 * NSEC_PER_SEC;
	struct try_arm_cfg cfg = {.design = &s->design,
				  .ssh = s->ssh,
				  .undo = s->o->undo,
				  .guard_ns = s->o->max_ns ? s->o->max_ns + a_day / 24 : a_day};

	s->journal_dir = cmd_journal_dir(NULL);
	cfg.journal_dir = s->journal_dir;
	return try_arm_open(&cfg, &s->arm, e);
}

int session_run(struct session *s, struct weir_err *e)
{
	struct try_watch watch = say_watch(s);
	struct weir_err undo = {0};
	size_t failed;
	int end = open_arm(s, e);

	if (end < 0)
		return end;
	end = try_loop(&s->x, s->arm, &watch, e);
	failed = s->x.failed + s->x.failed_before;
	say_end_line(s);
	if (try_arm_close(s->arm, &undo) < 0)
		fprintf(stderr, "weir try: not undone: %s\n", undo.msg);
	s->arm = NULL;
	if (end == TRY_STOPPED)
		fputs("Stopped; what follows is the verdict so far.\n", stderr);
	if (end == TRY_OUT_OF_TIME)
		fputs("--max-time is up.\n", stderr);
	if (end == TRY_FAILED)
		fprintf(stderr, "Given up, with too many failed runs; the last: %s\n", e->msg);
	if (failed)
		fprintf(stderr, "%zu run%s failed%s.\n", failed, failed == 1 ? "" : "s",
			end == TRY_FAILED ? "" : " and had to be repeated");
	return end;
}

/* ---- verdict ---- */

struct varied {
	struct opt_list list;
	char *names[12];
	char fact[64], of_iface[96];
};

static void add_name(struct varied *v, const char *name)
{
	v->names[v->list.n++] = (char *)(uintptr_t)name;
	v->names[v->list.n] = NULL;
}

/* Facts that are not called as the knob is. */
static const struct {
	const char *knob, *fact;
} told_as[] = {
	{"net.ipv4.tcp_congestion_control", "congestion_control"},
	{"iface.qdisc", "qdiscs"},
	{"iface.ring-", "rings"},
	{"iface.channels-", "channels"},
	{"iface.pause-", "pause"},
	{"iface.gso_max_size", "gso_max_bytes"},
	{"iface.gro_max_size", "gro_max_bytes"},
	{"iface.speed", "speed_bps"},
	{"service.state", "services"},
};

/* What the facts call it: rx-usecs is rx_usecs, a feature is one of the offloads. */
static void fact_of(const struct sys_ref *r, char *dst, size_t cap)
{
	const char *colon = strchr(r->arg, ':'), *dot = strrchr(r->knob->name, '.');

	for (size_t i = 0; i < ARRAY_LEN(told_as); i++)
		if (!strncmp(r->knob->name, told_as[i].knob, strlen(told_as[i].knob))) {
			snprintf(dst, cap, "%s", told_as[i].fact);
			return;
		}
	if (r->knob->part == SYS_BIT) {
		snprintf(dst, cap, "offloads.%.50s", colon ? colon + 1 : "");
		return;
	}
	snprintf(dst, cap, "%.60s", dot + 1);
	for (char *s = dst; *s; s++)
		if (*s == '-')
			*s = '_';
}

static void add_knob(struct varied *v, const struct sys_ref *r)
{
	fact_of(r, v->fact, sizeof(v->fact));
	add_name(v, v->fact);
	if (r->knob->via == SYS_VIA_QDISC)
		add_name(v, "qdisc");
	if (r->knob->scope != SYS_IFACE)
		return;
	snprintf(v->of_iface, sizeof(v->of_iface), "interfaces.%.*s.%s", (int)strcspn(r->arg, ":"),
		 r->arg, v->fact);
	add_name(v, v->of_iface);
}

static void varied_names(const struct try_factor *f, struct varied *v)
{
	static const char *const of_host[] = {"kernel", "boot", "arm"};
	const char *dot = strrchr(f->name, '.');

	*v = (struct varied){.list = {.n = 0}};
	for (size_t i = 0; i < ARRAY_LEN(of_host); i++)
		add_name(v, of_host[i]);
	add_name(v, f->name);
	if (dot)
		add_name(v, dot + 1);
	if (f->kind == TRY_KNOB)
		add_knob(v, &f->ref);
	if (f->kind == TRY_SHELL)
		add_name(v, "qdisc");
	v->list.v = v->names;
}

/* The runs of a level, whatever the other factor has. Borrowed runs. */
static int fill_side(struct session *s, size_t f, size_t level, struct compare_side *side)
{
	side->letter = (char)('A' + level);
	side->name = s->design.factors[f].levels[level];
	side->runs = calloc(try_slots(&s->x) + 1, sizeof(struct model_run *));
	if (!side->runs)
		return -ENOMEM;
	for (size_t i = 0; s->x.runs && i < try_slots(&s->x); i++) {
		if (s->x.runs[i] &&
		    try_level(&s->design, try_variant_at(&s->design, i), f) == level)
			side->runs[side->n++] = s->x.runs[i];
	}
	return 0;
}

static const struct model_run *any_run(const struct session *s)
{
	for (size_t i = 0; s->x.runs && i < try_slots(&s->x); i++) {
		if (s->x.runs[i])
			return s->x.runs[i];
	}
	return NULL;
}

/* What the record keeps: an array for each verdict, on borrowed texts but for the metric. */
struct verdicts {
	struct model_verdict *v;
	size_t n;
};

static const char **ids_of(const struct compare_set *set, const struct compare_row *r, size_t *n)
{
	const struct compare_side *a = &set->v[0], *b = &set->v[r->b];
	const char **ids = calloc(a->n + b->n + 1, sizeof(*ids));

	*n = 0;
	for (size_t i = 0; ids && i < a->n + b->n; i++)
		ids[(*n)++] = i < a->n ? a->runs[i]->id : b->runs[i - a->n]->id;
	return ids;
}

static const char **reasons_of(const struct model_judgement *j, size_t *n)
{
	const char **codes = calloc(REASON_NUM + 1, sizeof(*codes));

	*n = 0;
	for (int r = 0; codes && r < REASON_NUM; r++) {
		if (j->reasons & MODEL_R(r))
			codes[(*n)++] = model_reason((enum model_reason)r)->code;
	}
	return codes;
}

static void keep_verdict(struct verdicts *k, const struct compare_set *set,
			 const struct compare_row *r)
{
	struct model_verdict *v = reallocarray(k->v, k->n + 1, sizeof(*v));

	if (!v)
		return; /* the stored copy has one less */
	k->v = v;
	v = &v[k->n++];
	*v = (struct model_verdict){.method = TRY_METHOD,
				    .metric = r->metric ? strdup(r->metric) : NULL,
				    .outcome = r->j.outcome,
				    .effect = isfinite(r->j.effect) ? r->j.effect : (double)NAN,
				    .lo = r->j.lo,
				    .hi = r->j.hi};
	v->inputs = ids_of(set, r, &v->n_inputs);
	v->reasons = reasons_of(&r->j, &v->n_reasons);
}

static void verdicts_fini(struct verdicts *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free((char *)(uintptr_t)k->v[i].metric);
		free(k->v[i].inputs);
		free(k->v[i].reasons);
	}
	free(k->v);
}

/* Two factors are two tables under their names, or one array of two comparisons. */
static void put_head(const struct session *s, size_t f, struct buf *b)
{
	if (s->judge.json)
		buf_puts(b, f ? "," : "[");
	else
		buf_printf(b, "%s%s:\n", f ? "\n" : "", s->design.factors[f].name);
}

/* What a person says to have switched shows in some fact of a host, if it is the host's. */
static void say_alike(const struct session *s, const struct compare_set *set)
{
	struct compare_cfg all = {0};

	for (size_t i = 1; s->by_hand && i < set->n; i++) {
		char a[64], other[64];
		struct buf b = {0};

		safe_str(a, sizeof(a), set->v[0].name, strlen(set->v[0].name));
		safe_str(other, sizeof(other), set->v[i].name, strlen(set->v[i].name));
		compare_differences(&all, &set->v[0], &set->v[i], &b, NULL);
		if (!b.data || (strncmp(b.data, "near.", 5) != 0 && !strstr(b.data, "\nnear.") &&
				strncmp(b.data, "far.", 4) != 0 && !strstr(b.data, "\nfar.")))
			fprintf(stderr, "Note: no fact of the hosts tells %s from %s.\n", other, a);
		buf_fini(&b);
	}
}

/* One factor: its levels against the first. */
static int judge_factor(struct session *s, size_t f, struct verdicts *keep, struct weir_err *e)
{
	struct compare_cfg c = s->judge;
	size_t n = s->design.factors[f].n_levels;
	struct compare_side sides[TRY_LEVELS_MAX] = {0};
	struct compare_set set = {sides, n};
	struct compare_rows rows = {0};
	struct buf out = {0};
	struct varied varied;
	int rc = 0, code = CMD_OK;

	varied_names(&s->design.factors[f], &varied);
	c.varied = varied.list;
	c.sequential = s->automatic;
	if (s->store)
		cmd_floor_find(s->store, any_run(s), &c.floors);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = fill_side(s, f, i, &sides[i]);
	rc = rc < 0 ? err_set(e, WEIR_OS, ENOMEM, "out of memory")
		    : compare_judge(&c, &set, &rows, e);
	if (rc >= 0) {
		if (s->design.n_factors > 1)
			put_head(s, f, &out);
		(c.json ? compare_json : compare_print)(&c, &set, &rows, &out);
		if (c.json && s->design.n_factors > 1 && f + 1 == s->design.n_factors)
			buf_puts(&out, "]\n");
		code = compare_exit(&c, &rows);
		if (!cmd_flush(&out))
			rc = err_set(e, WEIR_OS, EIO, "the output was not written");
		say_alike(s, &set);
	}
	for (size_t i = 0; i < rows.n && rc >= 0; i++)
		keep_verdict(keep, &set, &rows.v[i]);
	compare_rows_fini(&rows);
	for (size_t i = 0; i < n; i++)
		free(sides[i].runs);
	buf_fini(&out);
	return rc < 0 ? rc : code;
}

static int judge_all(struct session *s, struct verdicts *keep, struct weir_err *e)
{
	int code = CMD_OK;

	for (size_t f = 0; f < s->design.n_factors; f++) {
		int rc = judge_factor(s, f, keep, e);

		if (rc < 0)
			return rc;
		code = rc > code ? rc : code;
	}
	return code;
}

/* An experiment that may go on stays open, and gets its verdict when it ends. */
static int finish(struct session *s, int end, struct weir_err *e)
{
	bool done = end == TRY_FINISHED || end == TRY_ENOUGH;
	struct verdicts keep = {0};
	struct weir_err why = {0};
	int rc;

	if (try_done(&s->x) == 0) {
		rc = end == TRY_FAILED ? -EIO
		     : end == TRY_OUT_OF_TIME
			     ? err_set(e, WEIR_LIMIT, ETIMEDOUT,
				       "no pair would end within --max-time")
			     : err_set(e, WEIR_OS, ECANCELED, "no run was finished");
		goto out;
	}
	rc = judge_all(s, &keep, e);
	if (record_close(s, keep.v, keep.n, done && rc >= 0, &why) < 0)
		fprintf(stderr, "weir try: the verdict was not stored: %s\n", why.msg);
	if (rc >= 0 && !done && s->store)
		fprintf(stderr, "%zu of %zu runs are there; to go on: weir try --resume=%s\n",
			try_done(&s->x), try_slots(&s->x), s->id + MODEL_ID_LEN - 8);
	if (rc == CMD_OK && (end == TRY_FAILED || end == TRY_STOPPED))
		rc = CMD_FAILED;
out:
	verdicts_fini(&keep);
	return rc;
}

/* "--resume ID" as two words: a word that is no measurement is the id. */
static void take_id_word(struct try_opts *o)
{
	if (o->resume && !o->resume[0] && o->command.n == 1) {
		free(o->resume);
		o->resume = o->command.v[0];
		o->command.v[0] = NULL;
		o->command.n = 0;
	}
}

static int check(const struct try_opts *o, struct weir_err *e)
{
	if (o->judge.json + o->judge.markdown + o->judge.paste > 1)
		return err_set(e, WEIR_USAGE, EINVAL, "--json, --markdown, --paste: one of them");
	if (o->quick + (o->runs != NULL) + (o->pairs != 0) > 1)
		return err_set(e, WEIR_USAGE, EINVAL, "--pairs, --quick, --runs: one of them");
	if (o->undo && !o->a)
		return err_set(e, WEIR_USAGE, EINVAL, "--undo is for the commands of --a and --b");
	return 0;
}

static int run(void *cfg)
{
	struct try_opts *o = cfg;
	struct session s = {.o = o};
	struct weir_err e = {0};
	int rc = check(o, &e);

	take_id_word(o);
	if (rc >= 0)
		rc = session_init(&s, o, &e);
	if (rc >= 0)
		say_plan(&s);
	if (rc >= 0 && s.by_hand) {
		rc = session_by_hand(&s, finish, &e);
	} else if (rc >= 0) {
		rc = session_run(&s, &e);
		if (rc >= 0)
			rc = finish(&s, rc, &e);
	}
	session_fini(&s);
	return rc < 0 ? cmd_fail("try", &e) : rc;
}

static const struct cmd_more try_more[] = {
	{"What varies", try_factor_opts, &try_n_factor_opts, 0},
	{"By hand", try_hand_opts, &try_n_hand_opts, 0},
	{"Running", try_run_opts, &try_n_run_opts, 0},
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(judge.db)},
	{0},
};

const struct cmd cmd_try = {
	.name = "try",
	.summary = "run the experiment that tells whether a change helped",
	.usage = "-- COMMAND…",
	.opts = own_opts,
	.n_opts = ARRAY_LEN(own_opts),
	.cfg_size = sizeof(struct try_opts),
	.more = try_more,
	.run = run,
};
