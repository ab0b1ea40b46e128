/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From sides to verdicts: which metrics both have, the value of each run, what is known of order,
 * sessions and durations, and the correction for having asked several questions.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"

/* What is looked at when nobody says what: the first that the runs have is the primary one. */
static const char *const usual[] = {
	"goodput",
	"goodput:up",
	"goodput:down",
	"throughput.sent",
	"tcp.rtt_loaded:p50",
	"tcp.rtt_loaded:p95",
	"tcp.retransmit_share",
	"cpu.per_gb:near",
	"cpu.per_gb:far",
};

static int no_memory(struct weir_err *e)
{
	return err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

/* ---- values of a side ---- */

struct column { /* of one metric and side */
	double *x;
	int64_t *order, *block;
	size_t n;
	double seconds, resolution;
	enum unit unit;
	enum model_better better;
	bool ordered, blocked;
};

static void column_fini(struct column *c)
{
	free(c->x);
	free(c->order);
	free(c->block);
}

static void take_run(struct column *c, const struct model_run *r, const char *metric)
{
	const struct model_summary *s = model_find_spec(r, metric, NULL);
	const struct model_summary *t = model_find_spec(r, "duration", NULL);

	if (!s)
		return;
	c->ordered = c->ordered && r->start_real_ns != MODEL_NO_TIME;
	c->blocked = c->blocked && r->exp.id != NULL;
	c->order[c->n] = r->start_real_ns;
	c->block[c->n] = r->exp.block;
	c->x[c->n++] = s->value;
	c->unit = s->metric->unit;
	c->better = s->metric->better;
	c->resolution = fmax(c->resolution, fmax(s->resolution, s->metric->resolution));
	c->seconds = t && t->value > 0 ? fmax(c->seconds, t->value) : c->seconds;
}

static int take_side(struct column *c, const struct compare_side *s, const char *metric,
		     struct weir_err *e)
{
	*c = (struct column){
		.ordered = metric || s->places, .blocked = metric != NULL, .better = MODEL_HIGHER};
	c->x = calloc(s->n + 1, sizeof(*c->x));
	c->order = calloc(s->n + 1, sizeof(*c->order));
	c->block = calloc(s->n + 1, sizeof(*c->block));
	if (!c->x || !c->order || !c->block)
		return no_memory(e);
	for (size_t i = 0; i < s->n; i++) {
		if (metric) {
			take_run(c, s->runs[i], metric);
			continue;
		}
		c->order[i] = s->places ? s->places[i] : 0;
		c->x[c->n++] = s->values[i];
	}
	return 0;
}

/* ---- one comparison ---- */

static enum model_better better_of(const struct compare_cfg *c, const struct column *col)
{
	if (c->better != BETTER_BY_METRIC)
		return c->better == BETTER_LOWER ? MODEL_LOWER : MODEL_HIGHER;
	return col->better == MODEL_LOWER ? MODEL_LOWER : MODEL_HIGHER;
}

/* One experiment that holds all runs: its blocks are the design. */
static bool one_experiment(const struct compare_side *a, const struct compare_side *b)
{
	const char *id = a->n && a->runs ? a->runs[0]->exp.id : NULL;

	for (size_t i = 0; id && i < a->n + b->n; i++) {
		const struct model_run *r = i < a->n ? a->runs[i] : b->runs[i - a->n];

		if (!r->exp.id || strcmp(r->exp.id, id) != 0)
			return false;
	}
	return id != NULL;
}

static bool shares_a_run(const struct compare_side *a, const struct compare_side *b)
{
	for (size_t i = 0; a->runs && i < a->n; i++) {
		for (size_t k = 0; b->runs && k < b->n; k++) {
			if (!strcmp(a->runs[i]->id, b->runs[k]->id))
				return true;
		}
	}
	return false;
}

static uint64_t found_of(const struct compare_cfg *c, const struct compare_side *a,
			 const struct compare_side *b, const struct column *col)
{
	struct buf ignored = {0};
	uint64_t found = 0;

	if (a->runs && b->runs)
		compare_differences(c, a, b, &ignored, &found);
	buf_fini(&ignored);
	if (shares_a_run(a, b))
		found |= MODEL_R(REASON_SAME_RUN);
	if (c->better == BETTER_BY_METRIC && (c->values || col->better == MODEL_NEITHER))
		found |= MODEL_R(REASON_BETTER_ASSUMED);
	return found;
}

static struct model_side side_of(const struct column *col, bool ordered, bool blocked)
{
	return (struct model_side){.x = col->x,
				   .n = col->n,
				   .order = ordered ? col->order : NULL,
				   .block = blocked ? col->block : NULL,
				   .seconds = col->seconds};
}

static int judge_pair(const struct compare_cfg *c, const struct compare_side *a,
		      const struct compare_side *b, struct compare_row *row, struct weir_err *e)
{
	struct column x = {0}, y = {0};
	int rc = take_side(&x, a, row->metric, e);

	if (rc >= 0)
		rc = take_side(&y, b, row->metric, e);
	if (rc >= 0) {
		const struct column *known = x.n ? &x : &y;
		bool ordered = x.ordered && y.ordered;
		bool blocked = x.blocked && y.blocked && one_experiment(a, b);
		struct model_side sa = side_of(&x, ordered, blocked);
		struct model_side sb = side_of(&y, ordered, blocked);
		struct model_judge_cfg cfg = {
			.better = better_of(c, known),
			.margin = c->margin,
			.floor = c->floor,
			.design = c->paired ? DESIGN_PAIRED : DESIGN_AUTO,
			.sequential = c->sequential,
			.ceiling = known->unit == UNIT_BPS || c->values ? (double)c->ceiling : 0,
			.resolution = fmax(x.resolution, y.resolution),
			.found = found_of(c, a, b, known),
			.seed = 1,
		};

		model_judge(&cfg, &sa, &sb, &row->j);
		row->unit = known->unit;
		row->xa = x.x;
		row->xb = y.x;
		row->na = x.n;
		row->nb = y.n;
		x.x = y.x = NULL;
	}
	column_fini(&x);
	column_fini(&y);
	return rc;
}

/* ---- which metrics ---- */

static bool all_have(const struct compare_set *s, const char *metric)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].n; k++) {
			if (!model_find_spec(s->v[i].runs[k], metric, NULL))
				return false;
		}
	}
	return true;
}

/* "goodput:up" says no more than "goodput" where there is only one direction. */
static bool is_said(const struct opt_list *l, const char *metric)
{
	size_t n = strcspn(metric, ":");

	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->v[i], metric) ||
		    (strlen(l->v[i]) == n && !strncmp(l->v[i], metric, n)))
			return true;
	}
	return false;
}

static int add_metric(struct opt_list *l, const char *metric, struct weir_err *e)
{
	char **v = reallocarray(l->v, l->n + 2, sizeof(char *));

	if (!v)
		return no_memory(e);
	l->v = v;
	v[l->n] = strdup(metric);
	v[l->n + 1] = NULL;
	return v[l->n++] ? 0 : no_memory(e);
}

static int check_metric(const struct compare_set *s, const char *metric, struct weir_err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].n; k++) {
			if (model_find_spec(s->v[i].runs[k], metric, e))
				return 0;
		}
	}
	return err_wrap(e, "no run has it");
}

/* The primary first. What is asked for is compared even where one side lacks it. */
static int choose_metrics(const struct compare_cfg *c, const struct compare_set *s,
			  struct opt_list *l, struct weir_err *e)
{
	int rc = 0;

	if (c->primary)
		rc = check_metric(s, c->primary, e);
	if (rc >= 0 && c->primary)
		rc = add_metric(l, c->primary, e);
	for (size_t i = 0; i < c->metrics.n && rc >= 0; i++) {
		rc = check_metric(s, c->metrics.v[i], e);
		if (rc >= 0 && !is_said(l, c->metrics.v[i]))
			rc = add_metric(l, c->metrics.v[i], e);
	}
	for (size_t i = 0; i < ARRAY_LEN(usual) && rc >= 0 && !c->metrics.n; i++) {
		if (!is_said(l, usual[i]) && all_have(s, usual[i]))
			rc = add_metric(l, usual[i], e);
	}
	if (rc >= 0 && !l->n)
		rc = err_set(e, WEIR_USAGE, ENOENT, "the runs have no metric in common");
	return rc < 0 ? err_hint(e, "--metric names one, such as goodput:down or tcp.rtt:p99") : 0;
}

/* ---- all of them ---- */

/* Rows of the primary metric share one correction, the others another. */
static int adjust(struct compare_rows *r, bool primary, struct weir_err *e)
{
	struct model_judgement *j = calloc(r->n + 1, sizeof(*j));
	size_t n = 0;

	if (!j)
		return no_memory(e);
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].primary == primary)
			j[n++] = r->v[i].j;
	}
	model_judge_family(j, n, -1, 0);
	n = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].primary == primary)
			r->v[i].j = j[n++];
	}
	free(j);
	return 0;
}

static int judge_metric(const struct compare_cfg *c, const struct compare_set *s,
			const char *metric, struct compare_rows *out, struct weir_err *e)
{
	bool primary = out->n == 0;
	int rc = 0;

	for (size_t b = 1; b < s->n && rc >= 0; b++) {
		struct compare_row *row = &out->v[out->n++];

		row->b = b;
		row->primary = primary;
		row->metric = metric ? strdup(metric) : NULL;
		rc = metric && !row->metric ? no_memory(e)
					    : judge_pair(c, &s->v[0], &s->v[b], row, e);
	}
	return rc;
}

int compare_judge(const struct compare_cfg *c, const struct compare_set *s,
		  struct compare_rows *out, struct weir_err *e)
{
	struct opt_list metrics = {0};
	int rc = c->values ? 0 : choose_metrics(c, s, &metrics, e);
	size_t n = c->values ? 1 : metrics.n;

	*out = (struct compare_rows){.v = calloc(n * s->n + 1, sizeof(*out->v))};
	if (rc >= 0 && !out->v)
		rc = no_memory(e);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = judge_metric(c, s, c->values ? NULL : metrics.v[i], out, e);
	for (int primary = 0; primary < 2 && rc >= 0; primary++)
		rc = adjust(out, primary, e);
	for (size_t i = 0; i < metrics.n; i++)
		free(metrics.v[i]);
	free(metrics.v);
	if (rc < 0)
		compare_rows_fini(out);
	return rc;
}

void compare_rows_fini(struct compare_rows *r)
{
	for (size_t i = 0; r->v && i < r->n; i++) {
		free(r->v[i].metric);
		free(r->v[i].xa);
		free(r->v[i].xb);
	}
	free(r->v);
	*r = (struct compare_rows){0};
}
