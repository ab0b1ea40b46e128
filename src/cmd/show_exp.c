/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir show of an experiment or a calibration: its record measured nothing itself. What was asked
 * and planned, how far it has come, the verdicts with their reasons, and each run at its place in
 * the plan, so that a figure can be followed to the run that it comes from.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/floor.h"
#include "cmd/runs.h"
#include "cmd/show_exp.h"
#include "try/try.h"

#define LABEL 12

struct shown {
	const struct model_run *r; /* the record */
	struct js_doc *plan, *factors;
	struct cmd_runs runs;
	struct buf *b;
};

bool show_is_exp(const struct model_run *r)
{
	return !strcmp(r->kind, "experiment") || !strcmp(r->kind, "calibration");
}

static void put_text(struct buf *b, const char *s)
{
	safe_put(b, s ? s : "", s ? strlen(s) : 0);
}

static const char *tag_of(const struct model_run *r, const char *key)
{
	for (size_t i = 0; i < r->n_tags; i++) {
		if (!strcmp(r->tags[i].k, key))
			return r->tags[i].v;
	}
	return NULL;
}

static void label(const struct shown *x, const char *word)
{
	buf_printf(x->b, "%-*s", LABEL, word);
}

/* ---- what was asked ---- */

static int64_t planned(const struct shown *x, const char *key)
{
	int64_t v = 0;

	js_i64(js_get(js_root(x->plan), key), &v);
	return v;
}

static void put_factors(const struct shown *x)
{
	const struct js *list = js_root(x->factors);

	for (size_t i = 0; i < js_len(list); i++) {
		const struct js *f = js_at(list, i), *levels = js_get(f, "levels");

		label(x, i ? "" : "varied");
		put_text(x->b, js_str(js_get(f, "name"), NULL));
		for (size_t k = 0; k < js_len(levels); k++) {
			buf_puts(x->b, k ? " | " : ": ");
			put_text(x->b, js_str(js_at(levels, k), NULL));
		}
		buf_putc(x->b, '\n');
	}
}

static void put_command(const struct shown *x)
{
	const struct js *list = js_get(js_root(x->plan), "command");

	label(x, "command");
	buf_puts(x->b, "weir");
	for (size_t i = 0; i < js_len(list); i++) {
		buf_putc(x->b, ' ');
		put_text(x->b, js_str(js_at(list, i), NULL));
	}
	buf_putc(x->b, '\n');
}

static bool is_calibration(const struct shown *x)
{
	return !strcmp(x->r->kind, "calibration");
}

static size_t variants(const struct shown *x)
{
	const struct js *list = js_root(x->factors);
	size_t n = 1;

	for (size_t i = 0; i < js_len(list); i++)
		n *= js_len(js_get(js_at(list, i), "levels"));
	return is_calibration(x) ? 2 : n;
}

/* What a resumed experiment takes from the plan beside its length. */
static void put_rules(const struct shown *x)
{
	const struct js *plan = js_root(x->plan);
	double precision = 0;

	if (js_f64(js_get(plan, "precision"), &precision))
		buf_printf(x->b, ", until the interval is within %.3g %%", 100 * precision);
	if (planned(x, "settle_ns") > 0)
		buf_printf(x->b, ", settling for %.3g s",
			   (double)planned(x, "settle_ns") / NSEC_PER_SEC);
	if (x->r->exp.primary) {
		buf_puts(x->b, ", primary ");
		put_text(x->b, x->r->exp.primary);
	}
	if (x->r->exp.margin > 0)
		buf_printf(x->b, ", margin %.3g %%", 100 * x->r->exp.margin);
	if (js_str(js_get(plan, "undo"), NULL)) {
		buf_putc(x->b, '\n');
		label(x, "undo");
		put_text(x->b, js_str(js_get(plan, "undo"), NULL));
	}
}

static void put_plan(const struct shown *x)
{
	int64_t each = planned(x, "each"), blocks = planned(x, "blocks");
	size_t all = (size_t)blocks * variants(x) * (size_t)(each > 0 ? each : 1);
	const char *failed = tag_of(x->r, "failed");
	bool automatic = false, by_hand = false;

	js_bool(js_get(js_root(x->plan), "auto"), &automatic);
	js_bool(js_get(js_root(x->plan), "by_hand"), &by_hand);
	label(x, "plan");
	buf_printf(x->b, "%s%lld %s", automatic ? "at most " : "", (long long)blocks,
		   variants(x) == 2 ? "pairs" : "blocks");
	if (planned(x, "group"))
		buf_printf(x->b, " in A/A experiments of %lld", (long long)planned(x, "group"));
	if (by_hand)
		buf_printf(x->b, " by hand, %lld run%s a boot", (long long)each,
			   each == 1 ? "" : "s");
	buf_printf(x->b, ", seed %lld", (long long)x->r->exp.seed);
	put_rules(x);
	buf_putc(x->b, '\n');
	label(x, "state");
	if (x->r->outcome == OUTCOME_RUNNING)
		buf_puts(x->b, "running");
	else
		put_text(x->b, tag_of(x->r, "experiment"));
	buf_printf(x->b, ", %zu of %zu runs", x->runs.n, all);
	if (failed) {
		buf_puts(x->b, ", ");
		put_text(x->b, failed);
		buf_puts(x->b, " had to be repeated");
	}
	if (x->r->outcome == OUTCOME_PARTIAL)
		buf_printf(x->b, "; to go on: weir %s --resume=%s",
			   is_calibration(x) ? "calibrate" : "try", x->r->id + MODEL_ID_LEN - 8);
	buf_putc(x->b, '\n');
}

static void put_tags(const struct shown *x)
{
	static const char *const told[] = {"experiment", "failed"}; /* in the state */

	for (size_t i = 0, n = 0; i < x->r->n_tags; i++) {
		const struct model_kv *t = &x->r->tags[i];

		if (!strcmp(t->k, told[0]) || !strcmp(t->k, told[1]))
			continue;
		label(x, n++ ? "" : "tags");
		put_text(x->b, t->k);
		buf_putc(x->b, '=');
		put_text(x->b, t->v);
		buf_putc(x->b, '\n');
	}
}

/* ---- what came out ---- */

static const struct model_run *run_of(const struct shown *x, const char *id)
{
	for (size_t i = 0; id && i < x->runs.n; i++) {
		if (!strcmp(x->runs.v[i]->id, id))
			return x->runs.v[i];
	}
	return NULL;
}

/* The level of a factor in the name of a variant, "16K+64K". */
static bool level_of(const struct model_run *r, size_t factor, char *dst, size_t cap)
{
	const char *s = r ? r->exp.variant : NULL;

	for (size_t i = 0; s && i < factor; i++) {
		s = strchr(s, '+');
		s = s ? s + 1 : NULL;
	}
	if (s)
		snprintf(dst, cap, "%.*s", (int)strcspn(s, "+"), s);
	return s;
}

/* The inputs are all of one side, then all of the other: the levels of the factor that changes once
 * are what was compared. */
static bool sides_of(const struct shown *x, const struct model_verdict *v, char a[64], char b[64])
{
	for (size_t f = 0; f < js_len(js_root(x->factors)); f++) {
		size_t changes = 0;
		char was[64], is[64];

		for (size_t i = 0; i < v->n_inputs; i++) {
			if (!level_of(run_of(x, v->inputs[i]), f, is, sizeof(is)))
				return false;
			changes += i && strcmp(was, is) != 0;
			if (!i)
				snprintf(a, 64, "%s", is);
			memcpy(was, is, sizeof(was));
		}
		if (changes == 1) {
			memcpy(b, was, sizeof(was));
			return true;
		}
	}
	return false;
}

static const char *reason_text(const char *code)
{
	for (int i = 0; i < REASON_NUM; i++) {
		if (!strcmp(model_reason((enum model_reason)i)->code, code))
			return model_reason((enum model_reason)i)->text;
	}
	return NULL;
}

static void put_verdict(const struct shown *x, const struct model_verdict *v, bool with_reasons)
{
	struct model_judgement j = {.outcome = v->outcome,
				    .margin =
					    x->r->exp.margin > 0 ? x->r->exp.margin : MODEL_MARGIN};
	char a[64], b[64];

	put_text(x->b, v->metric ? v->metric : "goodput");
	buf_puts(x->b, ": ");
	model_judgement_word(&j, x->b);
	if (isfinite(v->effect))
		buf_printf(x->b, ", %+.2f %%", 100 * v->effect);
	if (isfinite(v->lo) && isfinite(v->hi))
		buf_printf(x->b, " (%+.2f to %+.2f)", 100 * v->lo, 100 * v->hi);
	if (sides_of(x, v, a, b)) {
		buf_puts(x->b, ", ");
		put_text(x->b, b);
		buf_puts(x->b, " against ");
		put_text(x->b, a);
	}
	buf_putc(x->b, '\n');
	for (size_t i = 0; i < v->n_reasons && with_reasons; i++) {
		const char *text = v->reasons[i] ? reason_text(v->reasons[i]) : NULL;

		buf_printf(x->b, "%*s- ", LABEL, "");
		put_text(x->b, text ? text : v->reasons[i]);
		buf_putc(x->b, '\n');
	}
}

/* The primary one's, which stands first: its reasons are of interest. */
static bool is_primary(const struct shown *x, const struct model_verdict *v)
{
	const char *first = x->r->verdicts[0].metric;

	return v->metric && first && !strcmp(v->metric, first);
}

static void put_verdicts(const struct shown *x)
{
	for (size_t i = 0; i < x->r->n_verdicts; i++) {
		const struct model_verdict *v = &x->r->verdicts[i];

		label(x, i ? "" : is_calibration(x) ? "noise floor" : "verdict");
		if (v->method && !strcmp(v->method, FLOOR_METHOD)) {
			put_text(x->b, v->metric);
			buf_printf(x->b, " %.2g %% (effects of up to %.2g %%)\n", 100 * v->effect,
				   100 * v->hi);
		} else {
			put_verdict(x, v, is_primary(x, v));
		}
	}
	if (!x->r->n_verdicts) {
		label(x, "verdict");
		buf_puts(x->b, "none yet\n");
	}
}

/* ---- the runs ---- */

static int by_position(const void *a, const void *b)
{
	const struct model_run *p = *(struct model_run *const *)a,
			       *q = *(struct model_run *const *)b;

	return (p->exp.position > q->exp.position) - (p->exp.position < q->exp.position);
}

static void put_run(const struct shown *x, const struct model_run *r)
{
	const struct model_summary *s =
		model_find_spec(r, x->r->exp.primary ? x->r->exp.primary : "goodput", NULL);
	char when[32] = "", value[48] = "unknown";
	double v;

	if (!s && !x->r->exp.primary)
		s = model_find_spec(r, "goodput:up", NULL);
	if (s && try_value(r, x->r->exp.primary, &v))
		unit_format(value, sizeof(value), v, s->metric->unit, 3);
	if (r->start_real_ns != MODEL_NO_TIME)
		clk_format_utc(when, sizeof(when), r->start_real_ns);
	buf_printf(x->b, "%*lld  %.19s  %.8s  %-14s ", LABEL - 2, (long long)r->exp.position + 1,
		   when, r->id + MODEL_ID_LEN - 8, value);
	put_text(x->b, r->exp.variant);
	buf_putc(x->b, '\n');
}

/* Those of this plan alone: another experiment's id may end in the same letters. */
static void keep_own(struct shown *x)
{
	size_t out = 0;

	for (size_t i = 0; i < x->runs.n; i++) {
		struct model_run *r = x->runs.v[i];

		if (r->exp.id && !strcmp(r->exp.id, x->r->id))
			x->runs.v[out++] = r;
		else
			model_run_free(r);
	}
	x->runs.n = out;
	if (out)
		qsort(x->runs.v, out, sizeof(struct model_run *), by_position);
}

static void put_head(const struct shown *x)
{
	char when[32] = "unknown";

	if (x->r->start_real_ns != MODEL_NO_TIME)
		clk_format_utc(when, sizeof(when), x->r->start_real_ns);
	buf_printf(x->b, "weir %s %s, begun %s", is_calibration(x) ? "calibrate" : "try",
		   x->r->id + MODEL_ID_LEN - 8, when);
	if (x->r->host[MODEL_FAR].name) {
		buf_puts(x->b, ", towards ");
		put_text(x->b, x->r->host[MODEL_FAR].name);
	}
	buf_putc(x->b, '\n');
}

static int parse(const char *text, struct js_doc **out, struct weir_err *e)
{
	return js_parse(text ? text : "null", text ? strlen(text) : 4, &js_limits_file, out, e);
}

int show_exp(struct store *s, const struct model_run *r, struct buf *b, struct weir_err *e)
{
	struct shown x = {.r = r, .b = b};
	int rc = parse(r->exp.plan, &x.plan, e);

	if (rc >= 0)
		rc = parse(r->exp.factors, &x.factors, e);
	if (rc >= 0)
		rc = cmd_runs_tagged(s, "try", r->id + MODEL_ID_LEN - 8, &x.runs, e);
	if (rc >= 0) {
		keep_own(&x);
		put_head(&x);
		put_factors(&x);
		put_command(&x);
		put_plan(&x);
		put_tags(&x);
		put_verdicts(&x);
		for (size_t i = 0; i < x.runs.n; i++) {
			if (!i)
				buf_printf(b, "%-*s  started              run       figure\n",
					   LABEL - 2, "place");
			put_run(&x, x.runs.v[i]);
		}
	}
	cmd_runs_fini(&x.runs);
	js_free(x.factors);
	js_free(x.plan);
	return rc;
}
