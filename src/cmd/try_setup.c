/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From options to an experiment. Everything that can be wrong is found before the first run: each
 * variant's command line is parsed as the measurement itself would. A resumed experiment has to
 * be told again what would change the machine; what it finds in the store is only compared with
 * that.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/try.h"

#define PAIRS        12
#define PAIRS_QUICK  6
#define SETTLE_MAX   (3600 * NSEC_PER_SEC)
#define BLOCKS_MAX   1000000
#define EACH_MAX     1000
#define PAIRS_AUTO   200
#define PRECISION    0.01
#define MARGIN       0.02
#define SAME         1e-9 /* of two shares */
#define APART        1.2  /* runs that last longer are another measurement: no verdict */
#define RUN_EXTRA_NS (60 * NSEC_PER_SEC)
#define RUN_UNKNOWN  (3600 * NSEC_PER_SEC)
#define OVERHEAD_NS  (400 * NSEC_PER_MSEC)
#define GUARD_NS     (24 * 3600 * NSEC_PER_SEC)

static int no_memory(struct weir_err *e)
{
	return err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

/* ---- the measurement ---- */

static const struct measure *find_measure(const char *name)
{
	const struct cmd_row *r;

	for (size_t i = 0; (r = cmd_row_at(i)); i++) {
		if (r->measure && !strcmp(r->measure->name, name))
			return r->measure;
	}
	return NULL;
}

static int64_t time_of(const struct measure *m, const char *cfg, const char *name)
{
	for (size_t i = 0; i < m->n_opts; i++) {
		if (!strcmp(m->opts[i].name, name) && m->opts[i].type == OPT_TIME)
			return *(const int64_t *)(const void *)(cfg + m->opts[i].offset);
	}
	return 0;
}

static bool flag_of(const struct measure *m, const char *cfg, const char *name)
{
	for (size_t i = 0; i < m->n_opts; i++) {
		if (!strcmp(m->opts[i].name, name) && m->opts[i].type == OPT_FLAG)
			return *(const bool *)(cfg + m->opts[i].offset);
	}
	return false;
}

/* The command line is kept with the experiment: no secret may stand in it. */
static int check_secrets(const struct opt_set *sets, size_t n, struct weir_err *e)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sets[i].n; k++) {
			const struct opt *o = &sets[i].rows[k];

			if (!(o->flags & OPT_SECRET) ||
			    !*(char *const *)(void *)((char *)sets[i].cfg + o->offset))
				continue;
			err_set(e, WEIR_USAGE, EINVAL, "--%s: an experiment keeps its command",
				o->name);
			return err_hint(e, "give the secret in a file or in the environment");
		}
	}
	return 0;
}

static void set_times(struct session *s, const struct measure *m, const char *cfg)
{
	int64_t time = time_of(m, cfg, "time"), all = time + time_of(m, cfg, "omit");

	all *= flag_of(m, cfg, "each-way") ? 2 : 1;
	s->time_ns = s->time_ns && s->time_ns < time ? s->time_ns : time;
	s->longest_ns = time > s->longest_ns ? time : s->longest_ns;
	s->run_ns = all && all + OVERHEAD_NS > s->run_ns ? all + OVERHEAD_NS : s->run_ns;
	s->x.run_max_ns = s->run_ns ? 2 * s->run_ns + RUN_EXTRA_NS : RUN_UNKNOWN;
}

static int check_words(struct session *s, const struct measure *m, char **words, struct weir_err *e)
{
	struct opt_set sets[CMD_SETS_MAX];
	char *cfg = calloc(1, cmd_measure_cfg_size(m));
	int argc = 0, rc;
	size_t n;

	if (!cfg)
		return no_memory(e);
	while (words[argc])
		argc++;
	n = cmd_measure_sets(m, cfg, sets);
	rc = opt_defaults(sets, n, e);
	if (rc >= 0)
		rc = opt_parse(sets, n, argc, words, e);
	if (rc == -ECANCELED)
		rc = err_set(e, WEIR_USAGE, EINVAL, "--help is no measurement");
	if (rc >= 0)
		rc = check_secrets(sets, n, e);
	if (rc >= 0 && m->check)
		rc = m->check(cfg, e);
	if (rc >= 0)
		set_times(s, m, cfg);
	opt_fini(sets, n);
	free(cfg);
	return rc < 0 ? err_wrap(e, "%s", m->name) : 0;
}

static int check_command(struct session *s, struct weir_err *e)
{
	const struct measure *m = s->n_command ? find_measure(s->command[0]) : NULL;
	int rc = 0;

	if (!m) {
		err_set(e, WEIR_USAGE, EINVAL, "%s%.60s%s", s->n_command ? "\"" : "",
			s->n_command ? s->command[0] : "no command is given",
			s->n_command ? "\" is not a measurement" : "");
		return err_hint(e, "such as: weir %s … -- tcp HOST -t 2",
				s->o->calibrate ? "calibrate" : "try");
	}
	for (size_t v = 0; v < try_variants(&s->design) && rc >= 0; v++) {
		char **words = try_words(&s->design, v, s->command, s->n_command);

		rc = words ? check_words(s, m, words, e) : no_memory(e);
		try_words_free(words);
	}
	return rc;
}

/* ---- what is varied ---- */

static int set_arms(struct session *s, struct weir_err *e)
{
	const struct try_opts *o = s->o;
	const char *commands[2] = {o->a, o->b};
	bool shell = o->a || o->b;

	if (shell && !(o->a && o->b))
		return err_set(e, WEIR_USAGE, EINVAL, "--a and --b: both or none");
	if (o->arms && !shell && !o->by_hand)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--arms needs --by-hand, or --a and --b with their commands");
	if (o->by_hand && (shell || o->vary.n || (!o->arms && !o->calibrate)))
		return err_set(e, WEIR_USAGE, EINVAL, "--by-hand needs --arms NAME,NAME alone");
	if (o->each > 1 && !o->by_hand)
		return err_set(e, WEIR_USAGE, EINVAL, "--runs-per-boot is for --by-hand");
	if (!shell && !o->arms)
		return 0;
	if (s->design.n_factors == TRY_FACTORS_MAX)
		return err_set(e, WEIR_USAGE, E2BIG, "at most %d things vary", TRY_FACTORS_MAX);
	return try_factor_arms(&s->design.factors[s->design.n_factors++], o->arms,
			       shell ? commands : NULL, shell ? 2 : 0, e);
}

static int set_factors(struct session *s, struct weir_err *e)
{
	const struct try_opts *o = s->o;
	int rc = 0;

	if (o->vary.n && !o->command.n)
		return err_set(e, WEIR_USAGE, EINVAL, "the command is missing: … -- tcp HOST");
	if (o->vary.n > TRY_FACTORS_MAX)
		return err_set(e, WEIR_USAGE, E2BIG, "at most %d things vary", TRY_FACTORS_MAX);
	for (size_t i = 0; i < o->vary.n && rc >= 0; i++)
		rc = try_factor_parse(&s->design.factors[s->design.n_factors++], o->vary.v[i],
				      o->command.v[0], e);
	if (rc >= 0 && o->vary.n == 2 &&
	    !strcmp(s->design.factors[0].name, s->design.factors[1].name))
		rc = err_set(e, WEIR_USAGE, EEXIST, "--vary: %.60s is there twice",
			     s->design.factors[0].name);
	if (rc >= 0)
		rc = set_arms(s, e);
	s->by_hand = o->by_hand;
	return rc;
}

/* "box=ssh:root@192.0.2.1" or "ssh:root@192.0.2.1". */
static int set_host(struct session *s, struct weir_err *e)
{
	const char *on = s->o->on, *eq = on ? strchr(on, '=') : NULL;
	const char *target = eq ? eq + 1 : on;

	if (!on)
		return 0;
	if (!s->o->a)
		return err_set(e, WEIR_USAGE, EINVAL, "--on is for the commands of --a and --b");
	if (strncmp(target, "ssh:", 4) != 0 || !target[4] || target[4] == '-' ||
	    strpbrk(target + 4, " \t\n"))
		return err_set(e, WEIR_USAGE, EINVAL, "--on: \"%.60s\" is not NAME=ssh:USER@HOST",
			       on);
	s->ssh = strdup(target + 4);
	return s->ssh ? 0 : no_memory(e);
}

/* ---- how many ---- */

static int set_length(struct session *s, struct weir_err *e)
{
	const struct try_opts *o = s->o;
	char *end;

	s->design.blocks = (size_t)(o->quick ? PAIRS_QUICK : o->pairs ? o->pairs : PAIRS);
	s->design.each = o->each ? (size_t)o->each : 1;
	if (o->calibrate) {
		s->group = s->design.blocks;
		s->design.blocks *= (size_t)o->experiments;
		return 0;
	}
	if (!o->runs)
		return 0;
	s->automatic = !strcmp(o->runs, "auto");
	s->design.blocks = s->automatic ? PAIRS_AUTO : strtoul(o->runs, &end, 10);
	if (!s->automatic && (*end || !s->design.blocks || s->design.blocks > 10000))
		return err_set(e, WEIR_USAGE, EINVAL, "--runs: \"%.40s\" is not a number or auto",
			       o->runs);
	return 0;
}

/* What the verdict is judged by, but for what the record says itself: primary and margin. */
static void plan_judge(const struct session *s, struct jw *w)
{
	const struct compare_cfg *c = &s->judge;

	if (c->floor > 0)
		jw_f64(w, "noise_floor", c->floor);
	if (c->ceiling)
		jw_u64(w, "ceiling", c->ceiling);
	if (!c->metrics.n)
		return;
	jw_arr(w, "metrics");
	for (size_t i = 0; i < c->metrics.n; i++)
		jw_str(w, NULL, c->metrics.v[i]);
	jw_end_arr(w);
}

static void make_plan(struct session *s)
{
	struct jw w = jw_init(&s->plan);

	jw_obj(&w, NULL);
	jw_arr(&w, "command");
	for (size_t i = 0; i < s->n_command; i++)
		jw_str(&w, NULL, s->command[i]);
	jw_end_arr(&w);
	jw_u64(&w, "blocks", s->design.blocks);
	jw_u64(&w, "group", s->group);
	jw_u64(&w, "each", try_each(&s->design));
	jw_bool(&w, "by_hand", s->by_hand);
	jw_bool(&w, "auto", s->automatic);
	if (s->settle_ns)
		jw_i64(&w, "settle_ns", s->settle_ns);
	if (s->automatic)
		jw_f64(&w, "precision", s->precision);
	plan_judge(s, &w);
	if (s->o->on)
		jw_str(&w, "on", s->o->on);
	if (s->o->undo)
		jw_str(&w, "undo", s->o->undo);
	jw_end_obj(&w);
}

static uint64_t new_seed(const struct try_opts *o)
{
	uint64_t seed = o->seed;

	if (!seed)
		clk_random(&seed, sizeof(seed));
	return seed & INT64_MAX;
}

/* A name that is misspelt is not found out after hours of runs. */
static int check_metric(const char *spec, struct weir_err *e)
{
	static const uint8_t rnd[10];
	struct model_run *empty = model_run_new("", 0, rnd);
	struct weir_err mine = {0};
	char name[96];

	if (!empty)
		return no_memory(e);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, ":"), spec);
	model_find_spec(empty, spec, &mine);
	model_run_free(empty);
	if (model_metric(name) && mine.code != EINVAL)
		return 0;
	*e = mine;
	return -mine.code;
}

static int check_metrics(const struct session *s, struct weir_err *e)
{
	const struct compare_cfg *c = &s->judge;
	int rc = c->primary ? check_metric(c->primary, e) : 0;

	for (size_t i = 0; i < c->metrics.n && rc >= 0; i++)
		rc = check_metric(c->metrics.v[i], e);
	return rc;
}

static int check_lengths(const struct session *s, struct weir_err *e)
{
	if ((double)s->longest_ns <= APART * (double)s->time_ns)
		return 0;
	err_set(e, WEIR_USAGE, EINVAL, "runs of %.3g s and of %.3g s are not compared",
		(double)s->time_ns / NSEC_PER_SEC, (double)s->longest_ns / NSEC_PER_SEC);
	return err_hint(e, "all arms measure for the same time");
}

static int start_new(struct session *s, struct weir_err *e)
{
	int rc = set_factors(s, e);

	s->command = s->o->command.v;
	s->n_command = s->o->command.n;
	s->design.seed = new_seed(s->o);
	if (rc >= 0)
		rc = set_length(s, e);
	if (rc >= 0 && !s->design.n_factors && !s->o->calibrate) {
		err_set(e, WEIR_USAGE, EINVAL, "nothing varies");
		return err_hint(e, "--vary NAME=VALUE,VALUE, --a COMMAND --b COMMAND, or --arms");
	}
	if (rc >= 0)
		rc = check_metrics(s, e);
	if (rc >= 0)
		rc = check_command(s, e);
	if (rc >= 0)
		rc = check_lengths(s, e);
	if (rc >= 0) {
		make_plan(s);
		try_design_json(&s->design, &s->factors);
		rc = s->plan.failed || s->factors.failed ? no_memory(e) : 0;
	}
	return rc < 0 ? rc : record_open(s, e);
}

/* ---- resumed ---- */

static int bad_plan(struct weir_err *e)
{
	return err_set(e, WEIR_FORMAT, EBADMSG, "the stored experiment is not readable");
}

static int read_command(struct session *s, const struct js *list, struct weir_err *e)
{
	s->n_command = js_type(list) == JS_ARR ? js_len(list) : 0;
	s->command = calloc(s->n_command + 1, sizeof(char *));
	if (!s->command)
		return no_memory(e);
	for (size_t i = 0; i < s->n_command; i++) {
		const char *w = js_str(js_at(list, i), NULL);

		if (!w)
			return bad_plan(e);
		s->command[i] = (char *)(uintptr_t)w;
	}
	return 0;
}

/* Commands of another box must not run here, nor the other way round. */
static int check_place(const struct session *s, const char *stored, struct weir_err *e)
{
	const char *now = s->o->on;

	if ((!now && !stored) || (now && stored && !strcmp(now, stored)))
		return 0;
	if (!stored)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--on: the experiment's commands ran on this host");
	return err_set(e, WEIR_USAGE, EINVAL,
		       "the experiment's commands ran elsewhere: say --on %.80s", stored);
}

/* Nor is a command taken from a store to undo others: who left it out would leave a mess. */
static int check_undo(const struct session *s, const char *stored, struct weir_err *e)
{
	const char *now = s->o->undo;
	char safe[96];

	if (!stored || (now && !strcmp(now, stored)))
		return 0;
	safe_str(safe, sizeof(safe), stored, strlen(stored));
	return err_set(e, WEIR_USAGE, EINVAL,
		       "the experiment has a command that undoes: say --undo '%s'", safe);
}

/* How long it waits and how many pairs it makes is as it was planned; what is told may only say the
 * same. */
static int read_times(struct session *s, const struct js *v, struct weir_err *e)
{
	const struct try_opts *o = s->o;
	bool lasts = o->runs && !strcmp(o->runs, "auto");
	size_t told = o->quick ? PAIRS_QUICK : (size_t)o->pairs;
	int64_t settle = s->settle_ns;

	js_i64(js_get(v, "settle_ns"), &settle);
	if (o->runs && !lasts)
		told = strtoul(o->runs, NULL, 10);
	s->precision = PRECISION;
	js_f64(js_get(v, "precision"), &s->precision);
	if (settle < 0 || settle > SETTLE_MAX || !(s->precision > 0 && s->precision < 1))
		return bad_plan(e);
	if (s->settle_ns && settle != s->settle_ns)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment settles for %.3g s",
			       (double)settle / NSEC_PER_SEC);
	if (o->precision > 0 && fabs(o->precision - s->precision) > SAME)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment's precision is %.4g %%",
			       100 * s->precision);
	if (o->each && (size_t)o->each != s->design.each)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment has --runs-per-boot %zu",
			       s->design.each);
	if (lasts && !s->automatic)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment has %zu pairs",
			       s->design.blocks);
	if (!o->calibrate && told && (s->automatic || told != s->design.blocks))
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment has %s%zu pairs",
			       s->automatic ? "at most " : "", s->design.blocks);
	s->settle_ns = settle;
	return 0;
}

static int read_plan(struct session *s, const char *text, struct weir_err *e)
{
	int64_t blocks = 0, group = 0, each = 1;
	int rc = js_parse(text, strlen(text), &js_limits_file, &s->plan_doc, e);
	const struct js *v = rc < 0 ? NULL : js_root(s->plan_doc);

	if (rc < 0)
		return rc;
	js_i64(js_get(v, "blocks"), &blocks);
	js_i64(js_get(v, "group"), &group);
	js_i64(js_get(v, "each"), &each);
	js_bool(js_get(v, "by_hand"), &s->by_hand);
	js_bool(js_get(v, "auto"), &s->automatic);
	if (blocks < 1 || blocks > BLOCKS_MAX || group < 0 || each < 1 || each > EACH_MAX)
		return bad_plan(e);
	s->design.each = (size_t)each;
	s->design.blocks = (size_t)blocks;
	s->group = (size_t)group;
	rc = check_place(s, js_str(js_get(v, "on"), NULL), e);
	if (rc >= 0)
		rc = read_times(s, v, e);
	return rc < 0 ? rc : read_command(s, js_get(v, "command"), e);
}

/* The words after --, if any, are the same as then; what varies is told again or harmless. */
static int same_as_stored(struct session *s, const char *factors, struct weir_err *e)
{
	const struct opt_list *l = &s->o->command;
	bool told = s->o->vary.n || s->o->a || s->o->arms;
	bool same = !l->n || l->n == s->n_command;
	int rc = told ? set_factors(s, e) : try_design_read(&s->design, factors, e);

	for (size_t i = 0; same && i < l->n; i++)
		same = l->v && s->command && !strcmp(l->v[i], s->command[i]);
	if (rc < 0)
		return rc;
	try_design_json(&s->design, &s->factors);
	if (s->factors.failed)
		return no_memory(e);
	if (same && !strcmp(s->factors.data, factors))
		return 0;
	err_set(e, WEIR_USAGE, EINVAL, "the experiment that is resumed was another one");
	return err_hint(e, "say exactly what it was, or begin a new one without --resume");
}

/* A share that was planned takes the place of what is told, which may only say the same. */
static int same_share(double *told, double planned, const char *what, struct weir_err *e)
{
	if (*told > 0 && fabs(*told - planned) > SAME)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment's %s is another: %.4g %%",
			       what, 100 * planned);
	*told = planned;
	return 0;
}

static int same_metrics(struct session *s, const struct js *list, struct weir_err *e)
{
	struct opt_list *l = &s->judge.metrics;
	size_t n = js_type(list) == JS_ARR ? js_len(list) : 0;
	bool told = l->n, same = l->n == n;

	s->metrics = calloc(n + 1, sizeof(char *));
	if (!s->metrics)
		return no_memory(e);
	for (size_t i = 0; i < n; i++) {
		const char *word = js_str(js_at(list, i), NULL);

		if (!word)
			return bad_plan(e);
		same = same && !strcmp(l->v[i], word);
		s->metrics[i] = (char *)(uintptr_t)word;
	}
	if (told && !same)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment judges other metrics");
	l->v = s->metrics;
	l->n = n;
	return 0;
}

static int same_judge(struct session *s, const struct model_run *r, struct weir_err *e)
{
	const struct js *v = js_root(s->plan_doc);
	double floor = 0;
	int64_t ceiling = 0;
	int rc;

	js_f64(js_get(v, "noise_floor"), &floor);
	js_i64(js_get(v, "ceiling"), &ceiling);
	if (!(floor >= 0 && floor < 1) || ceiling < 0)
		return bad_plan(e);
	if (s->judge.ceiling && s->judge.ceiling != (uint64_t)ceiling)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment's ceiling is another");
	s->judge.ceiling = (uint64_t)ceiling;
	rc = same_share(&s->judge.floor, floor, "noise floor", e);
	if (rc >= 0 && r->exp.margin > 0)
		rc = same_share(&s->judge.margin, r->exp.margin, "margin", e);
	return rc < 0 ? rc : same_metrics(s, js_get(v, "metrics"), e);
}

/* What the verdict is judged by is part of what was planned. */
static int judge_as_before(struct session *s, const struct model_run *r, struct weir_err *e)
{
	int rc = same_judge(s, r, e);

	if (rc < 0)
		return rc;
	if (!r->exp.primary && !s->judge.primary)
		return 0;
	if (!r->exp.primary)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment declared no primary metric");
	if (s->judge.primary && strcmp(s->judge.primary, r->exp.primary) != 0)
		return err_set(e, WEIR_USAGE, EINVAL, "the primary metric was %.60s",
			       r->exp.primary);
	s->primary = strdup(r->exp.primary);
	s->judge.primary = s->primary;
	return s->primary ? 0 : no_memory(e);
}

static size_t failures_of(const struct model_run *r)
{
	for (size_t i = 0; i < r->n_tags; i++) {
		if (!strcmp(r->tags[i].k, TRY_FAILED_TAG))
			return strtoul(r->tags[i].v, NULL, 10);
	}
	return 0;
}

static int take_record(struct session *s, const struct model_run *r, struct weir_err *e)
{
	int rc;

	if (!r->exp.factors || !r->exp.plan)
		return bad_plan(e);
	if (s->o->seed && s->o->seed != (uint64_t)r->exp.seed)
		return err_set(e, WEIR_USAGE, EINVAL, "the experiment's seed is %lld",
			       (long long)r->exp.seed);
	s->resumed = true;
	s->design.seed = (uint64_t)r->exp.seed;
	buf_puts(&s->plan, r->exp.plan);
	rc = s->plan.failed ? no_memory(e) : read_plan(s, r->exp.plan, e);
	if (rc >= 0)
		rc = same_as_stored(s, r->exp.factors, e);
	if (rc >= 0)
		rc = check_undo(s, js_str(js_get(js_root(s->plan_doc), "undo"), NULL), e);
	s->design.same = s->o->calibrate;
	if (rc >= 0)
		rc = judge_as_before(s, r, e);
	s->x.failed_before = failures_of(r);
	return rc < 0 ? rc : check_command(s, e);
}

static int start_again(struct session *s, struct weir_err *e)
{
	struct model_run *r = NULL;
	int rc = record_find(s, s->o->resume, &r, e);

	if (rc >= 0)
		rc = take_record(s, r, e);
	model_run_free(r);
	if (rc >= 0)
		rc = record_claim(s, e);
	return rc < 0 ? rc : record_take_runs(s, e);
}

/* ---- all of it ---- */

/* The record has no figures of its own: what was asked stands in lists. */
static void put_headline(const struct model_run *r, struct buf *b)
{
	buf_puts(b, r->title ? r->title : "");
}

static int open_store(struct session *s, struct weir_err *e)
{
	struct store_cfg cfg = {.mode = STORE_WRITE, .headline = put_headline};
	int rc;

	if (!store_supported())
		return s->o->by_hand || s->o->resume
			       ? err_set(e, WEIR_MISSING, ENOTSUP, "built without SQLite")
			       : 0;
	s->db = cmd_db_path(&s->judge.db);
	cfg.path = s->db;
	rc = s->db ? store_open(&cfg, &s->store, e) : no_memory(e);
	if (rc >= 0 && store_read_only(s->store))
		rc = err_set(e, WEIR_DB, EROFS, "%s cannot be written", s->db);
	return rc < 0 ? err_wrap(e, "an experiment is kept in the store") : 0;
}

static void set_exp(struct session *s)
{
	const struct try_opts *o = s->o;

	s->x.design = &s->design;
	s->x.program = "/proc/self/exe";
	s->x.command = s->command;
	s->x.n_command = s->n_command;
	s->x.db = s->db;
	s->x.tags = s->tags;
	s->x.exp = (struct model_experiment){.id = s->id,
					     .factors = s->factors.data,
					     .plan = s->plan.data,
					     .primary = s->judge.primary,
					     .margin = s->judge.margin};
	s->x.settle_ns = s->settle_ns;
	s->x.expect_ns = s->run_ns ? s->run_ns + s->settle_ns : 0;
	s->x.warmup = (size_t)o->warmup;
	s->x.most = s->by_hand ? try_each(&s->design) - session_next(s) % try_each(&s->design) : 0;
	s->x.until_ns = o->max_ns ? clk_mono_ns() + o->max_ns : 0;
	buf_printf(&s->tag, "try=%s", s->id + MODEL_ID_LEN - 8);
	s->tags[0] = s->tag.data;
}

int session_init(struct session *s, const struct try_opts *o, struct weir_err *e)
{
	int rc;

	*s = (struct session){.o = o,
			      .judge = o->judge,
			      .settle_ns = o->settle_ns,
			      .precision = o->precision > 0 ? o->precision : PRECISION};
	if (!o->calibrate && !o->resume && !(s->judge.margin > 0))
		s->judge.margin = MARGIN;
	s->design.same = o->calibrate;
	s->x.stop_fd = cmd_stop_fd();
	rc = open_store(s, e);
	if (rc >= 0)
		rc = set_host(s, e);
	if (rc >= 0)
		rc = o->resume ? start_again(s, e) : start_new(s, e);
	if (rc >= 0)
		set_exp(s);
	return rc;
}

void session_fini(struct session *s)
{
	record_release(s);
	try_exp_fini(&s->x);
	try_design_fini(&s->design);
	store_close(s->store);
	if (s->plan_doc)
		free(s->command);
	js_free(s->plan_doc);
	free(s->db);
	free(s->ssh);
	free(s->journal_dir);
	free(s->primary);
	free(s->metrics);
	buf_fini(&s->factors);
	buf_fini(&s->plan);
	buf_fini(&s->tag);
	buf_fini(&s->boot);
}
