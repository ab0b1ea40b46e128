/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir calibrate: what this testbed shows where nothing changed. Whole A/A experiments one after
 * the other, both sides one configuration, the switch thrown all the same; what effects come out
 * is the least that can be believed of any other experiment here.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/try.h"

#define EXPERIMENTS_MIN 12

#define F(field) offsetof(struct try_opts, field)
/* clang-format off */
static const struct opt own_opts[] = {
	{.name = "experiments", .type = OPT_INT, .offset = F(experiments), .metavar = "N", .help = "A/A experiments; the floor is worth little with fewer than 12", .min = 2, .max = 1000, .fallback = "12"},
	{.name = "pairs", .type = OPT_INT, .offset = F(pairs), .metavar = "N", .help = "pairs of each experiment", .min = 1, .max = 1000, .fallback = "6"},
	{.name = "command", .type = OPT_LIST, .offset = F(command), .flags = OPT_POSITIONAL | OPT_REST, .metavar = "COMMAND", .help = "the measurement, such as: tcp HOST -t 2"},
};
/* clang-format on */

struct floor { /* of a metric */
	const char *metric;
	size_t n; /* A/A effects */
	double ratio, largest;
};
struct floors {
	struct opt_list metrics;
	struct floor *v;
	size_t n;
};

/* ---- effects ---- */

/* The logs of the effects of whole A/A experiments; those without the metric have none. */
static int find_effects(const struct session *s, size_t whole, struct floor *f, double *effects)
{
	struct model_judge_cfg cfg = {0};

	for (size_t i = 0; i < whole; i++) {
		struct try_span span = {0, 1, i * s->group, (i + 1) * s->group, f->metric};
		struct model_judgement j;
		int rc = try_effect(&s->x, &span, &cfg, &j);

		if (rc < 0)
			return rc;
		if (isnan(j.t.d) || isnan(j.effect))
			continue;
		effects[f->n++] = j.t.d;
		f->largest = fmax(f->largest, fabs(j.effect));
	}
	f->ratio = f->n ? expm1(model_noise_floor(effects, f->n)) : 0;
	return 0;
}

/* The runs of one experiment: is there a session that both sides had? */
static bool shares_a_session(const struct session *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		for (size_t k = from; k < to; k++) {
			int64_t a, b;

			if (try_variant_at(&s->design, i) == try_variant_at(&s->design, k))
				continue;
			if (!compare_session(s->x.runs[i], &a) ||
			    !compare_session(s->x.runs[k], &b) || a == b)
				return true;
		}
	}
	return false;
}

static bool across_sessions(const struct session *s, size_t whole)
{
	size_t n = s->group * try_block(&s->design);

	for (size_t i = 0; i < whole; i++) {
		if (shares_a_session(s, i * n, (i + 1) * n))
			return false;
	}
	return whole > 0;
}

/* ---- floors ---- */

static int choose_metrics(const struct session *s, struct opt_list *l, struct weir_err *e)
{
	struct compare_side side = {.runs = s->x.runs, .n = session_next(s)};
	struct compare_set set = {&side, 1};

	return compare_metrics(&s->judge, &set, l, e);
}

static int too_few(size_t n, struct weir_err *e)
{
	return err_set(e, WEIR_LIMIT, ENODATA,
		       "two whole experiments with the metric at least, not %zu", n);
}

/* The primary metric's first. A metric with fewer than two effects has no floor. */
static int find_floors(struct session *s, struct floors *l, struct weir_err *e)
{
	size_t whole = session_next(s) / try_block(&s->design) / s->group;
	double *effects = calloc(whole + 1, sizeof(*effects));
	int rc = whole < 2 ? too_few(whole, e) : choose_metrics(s, &l->metrics, e);

	l->v = calloc(l->metrics.n + 1, sizeof(*l->v));
	if (!effects || !l->v) {
		free(effects);
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < l->metrics.n && rc >= 0; i++) {
		struct floor *f = &l->v[l->n];

		*f = (struct floor){.metric = l->metrics.v[i]};
		rc = find_effects(s, whole, f, effects);
		if (rc < 0)
			rc = err_os(e, -rc, "judging");
		else if (f->n >= 2)
			l->n++;
		else if (!i)
			rc = too_few(f->n, e);
	}
	if (rc >= 0) {
		s->effects = l->v[0].n;
		s->across = across_sessions(s, whole);
	}
	free(effects);
	return rc < 0 ? rc : 0;
}

static void floors_fini(struct floors *l)
{
	compare_metrics_fini(&l->metrics);
	free(l->v);
}

/* ---- told ---- */

static void put_json(const struct session *s, const struct floors *l, struct buf *b)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	jw_i64(&w, "schema", MODEL_SCHEMA);
	jw_str(&w, "type", "calibration");
	jw_str(&w, "metric", l->v[0].metric);
	jw_f64(&w, "noise_floor", l->v[0].ratio);
	jw_u64(&w, "experiments", l->v[0].n);
	jw_u64(&w, "pairs", s->group);
	jw_f64(&w, "largest", l->v[0].largest);
	jw_bool(&w, "across_sessions", s->across);
	jw_arr(&w, "floors");
	for (size_t i = 0; i < l->n; i++) {
		jw_obj(&w, NULL);
		jw_str(&w, "metric", l->v[i].metric);
		jw_f64(&w, "noise_floor", l->v[i].ratio);
		jw_u64(&w, "experiments", l->v[i].n);
		jw_f64(&w, "largest", l->v[i].largest);
		jw_end_obj(&w);
	}
	jw_end_arr(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

static void put_text(const struct session *s, const struct floors *l, struct buf *b)
{
	const struct floor *f = &l->v[0];

	buf_printf(b,
		   "Noise floor of %s: %.2g %%. Nothing changed, and %zu experiments of "
		   "%zu pairs showed\neffects of up to %.2g %%; a smaller difference than "
		   "the floor is not believed here.\n",
		   f->metric, 100 * f->ratio, f->n, s->group, 100 * f->largest);
	for (size_t i = 1; i < l->n; i++)
		buf_printf(b, "%s%s %.2g %%%s", i == 1 ? "Also: " : ", ", l->v[i].metric,
			   100 * l->v[i].ratio, i + 1 == l->n ? ".\n" : "");
	buf_puts(b,
		 s->across ? "Both sides of each effect are from other sessions (boots).\n" : "");
	if (f->n < EXPERIMENTS_MIN)
		buf_printf(b, "With fewer than %d experiments it is a rough figure.\n",
			   EXPERIMENTS_MIN);
}

static bool print_floors(const struct session *s, const struct floors *l)
{
	struct buf b = {0};
	bool ok;

	(s->judge.json ? put_json : put_text)(s, l, &b);
	ok = cmd_flush(&b);
	buf_fini(&b);
	return ok;
}

static int keep_floors(struct session *s, const struct floors *l, bool done, struct weir_err *e)
{
	struct model_verdict *v = calloc(l->n + 1, sizeof(*v));
	int rc;

	if (!v)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (size_t i = 0; i < l->n; i++)
		v[i] = (struct model_verdict){.method = FLOOR_METHOD,
					      .metric = l->v[i].metric,
					      .outcome = VERDICT_NONE,
					      .effect = l->v[i].ratio,
					      .lo = 0,
					      .hi = l->v[i].largest};
	rc = record_close(s, v, l->n, done, e);
	free(v);
	return rc;
}

static int finish(struct session *s, int end, struct weir_err *e)
{
	bool done = end == TRY_FINISHED, written = true;
	struct floors l = {0};
	int rc = find_floors(s, &l, e);

	if (rc >= 0) {
		written = print_floors(s, &l);
		rc = keep_floors(s, &l, done, e);
	}
	floors_fini(&l);
	return rc < 0 ? rc : done && written ? CMD_OK : CMD_FAILED;
}

static int run(void *cfg)
{
	struct try_opts *o = cfg;
	struct session s = {.o = o};
	struct weir_err e = {0};
	int rc;

	o->calibrate = true;
	rc = session_init(&s, o, &e);
	if (rc >= 0) {
		say_plan(&s);
		rc = s.by_hand ? session_by_hand(&s, finish, &e) : session_run(&s, &e);
	}
	if (rc >= 0 && !s.by_hand)
		rc = finish(&s, rc, &e);
	session_fini(&s);
	return rc < 0 ? cmd_fail("calibrate", &e) : rc;
}

static const struct cmd_more calibrate_more[] = {
	{"What is switched", try_factor_opts, &try_n_factor_opts, 0},
	{"By hand", try_hand_opts, &try_n_hand_opts, 0},
	{"Running", try_run_opts, &try_n_run_opts, 0},
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(judge.db)},
	{0},
};

const struct cmd cmd_calibrate = {
	.name = "calibrate",
	.summary = "find what this testbed shows where nothing changed",
	.usage = "-- COMMAND…",
	.opts = own_opts,
	.n_opts = ARRAY_LEN(own_opts),
	.cfg_size = sizeof(struct try_opts),
	.more = calibrate_more,
	.run = run,
};
