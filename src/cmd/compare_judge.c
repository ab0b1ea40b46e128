/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From sides to verdicts: which metrics both have, what of the runs' order and sessions is known of
 * both, the noise floor of each metric, and the correction for having asked several questions.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"

/* What is looked at when nobody says what. The order is fixed and documented, so that the first that
 * the runs have is declared beforehand, as the primary one. */
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

/* ---- one comparison ---- */

static enum model_better better_of(const struct compare_cfg *c, const struct compare_column *col)
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

/* The same run, or the same piece of the same file. */
static bool same_run(const struct model_run *a, const struct model_run *b)
{
	const struct model_source *p = &a->source, *q = &b->source;

	return !strcmp(a->id, b->id) ||
	       (p->file && q->file && strcmp(p->file, "-") != 0 && !strcmp(p->file, q->file) &&
		p->span_from == q->span_from && p->span_to == q->span_to);
}

static bool shares_a_run(const struct compare_side *a, const struct compare_side *b)
{
	for (size_t i = 0; a->runs && i < a->n; i++) {
		for (size_t k = 0; b->runs && k < b->n; k++) {
			if (same_run(a->runs[i], b->runs[k]))
				return true;
		}
	}
	return false;
}

static uint64_t found_of(const struct compare_cfg *c, const struct compare_side *a,
			 const struct compare_side *b, const struct compare_column *col)
{
	struct buf ignored = {0};
	uint64_t found = 0;

	if (a->runs && b->runs)
		compare_differences(c, a, b, &ignored, &found);
	buf_fini(&ignored);
	if (shares_a_run(a, b))
		found |= MODEL_R(REASON_SAME_RUN);
	if (strcmp(a->word, b->word) != 0)
		found |= MODEL_R(REASON_UNITS);
	if (c->better == BETTER_BY_METRIC && (c->values || col->better == MODEL_NEITHER) &&
	    col->better != MODEL_LOWER)
		found |= MODEL_R(REASON_BETTER_ASSUMED);
	return found;
}

struct known { /* of both sides */
	bool order, block, session;
};

static struct model_side side_of(const struct compare_column *col, const struct known *k)
{
	return (struct model_side){
		.x = col->x,
		.n = col->n,
		.order = k->order ? col->order : NULL,
		.block = k->block ? col->block : NULL,
		.session = k->session ? col->session : NULL,
		.seconds = col->seconds,
		.ceiling = col->ceiling,
		.stalled = col->intervals ? (double)col->dead / (double)col->intervals : 0,
		.stalled_runs = col->stalled_runs,
		.changed = col->changed,
	};
}

/* What the command line says is of the metric that counts; the others have what was calibrated. */
static struct cmd_floor floor_of(const struct compare_cfg *c, const struct compare_row *row)
{
	const struct cmd_floor *f = row->metric ? cmd_floor_of(&c->floors, row->metric) : NULL;

	if (c->floor > 0 && row->primary)
		return (struct cmd_floor){.ratio = c->floor, .sessions = c->floor_sessions};
	return f ? *f : (struct cmd_floor){0};
}

static void judge_columns(const struct compare_cfg *c, const struct compare_side *a,
			  const struct compare_side *b, struct compare_column *x,
			  struct compare_column *y, struct compare_row *row)
{
	const struct compare_column *one = x->n ? x : y;
	struct known k = {.order = x->ordered && y->ordered,
			  .block = x->blocked && y->blocked && one_experiment(a, b),
			  .session = x->sessions && y->sessions};
	struct model_side sa = side_of(x, &k), sb = side_of(y, &k);
	struct model_judge_cfg cfg = {
		.better = better_of(c, one),
		.margin = c->margin,
		.floor = row->floor.ratio,
		.floor_n = row->floor.n,
		.floor_sessions = row->floor.sessions,
		.design = c->paired ? DESIGN_PAIRED : DESIGN_AUTO,
		.sequential = c->sequential,
		.ceiling = one->unit == UNIT_BPS || c->values ? (double)c->ceiling : 0,
		.resolution = fmax(x->resolution, y->resolution),
		.found = found_of(c, a, b, one),
		.seed = 1,
	};

	if (x->mixed || y->mixed || (x->n && y->n && x->unit != y->unit))
		cfg.found |= MODEL_R(REASON_UNITS);
	model_judge(&cfg, &sa, &sb, &row->j);
	row->unit = one->unit;
	row->xa = x->x;
	row->xb = y->x;
	row->na = x->n;
	row->nb = y->n;
	row->lacking[0] = x->lacking;
	row->lacking[1] = y->lacking;
	x->x = y->x = NULL;
}

static int judge_pair(const struct compare_cfg *c, const struct compare_side *a,
		      const struct compare_side *b, struct compare_row *row, struct weir_err *e)
{
	struct compare_column x = {0}, y = {0};
	int rc = compare_column(&x, a, row->metric, a->n + b->n);

	if (rc >= 0)
		rc = compare_column(&y, b, row->metric, a->n + b->n);
	row->floor = floor_of(c, row);
	if (rc >= 0)
		judge_columns(c, a, b, &x, &y, row);
	compare_column_fini(&x);
	compare_column_fini(&y);
	return rc < 0 ? no_memory(e) : 0;
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

int compare_metrics(const struct compare_cfg *c, const struct compare_set *s, struct opt_list *l,
		    struct weir_err *e)
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

void compare_metrics_fini(struct opt_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct opt_list){0};
}

/* ---- all of them ---- */

/* Rows of the primary metric share one correction, the others another; where none was declared
 * beforehand all share one, since the one that looks best would be called so afterwards. */
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
	bool primary = out->n == 0 || out->undeclared;
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
	int rc = c->values ? 0 : compare_metrics(c, s, &metrics, e);
	size_t n = c->values ? 1 : metrics.n;

	*out = (struct compare_rows){.v = calloc(n * s->n + 1, sizeof(*out->v)),
				     .undeclared = !c->primary && c->metrics.n && n > 1};
	if (rc >= 0 && !out->v)
		rc = no_memory(e);
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = judge_metric(c, s, c->values ? NULL : metrics.v[i], out, e);
	for (int primary = 0; primary < 2 && rc >= 0; primary++)
		rc = adjust(out, primary, e);
	compare_metrics_fini(&metrics);
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
