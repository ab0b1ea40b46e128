/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The experiment in the store: its runs are runs like any other, under one tag; beside them one
 * record stands for the whole, with what was planned, and in the end its verdicts. It is a run
 * that measured nothing, so that list, show, tag and rm know it already.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/runs.h"
#include "cmd/try.h"

static const char *kind_of(const struct session *s)
{
	return s->o->calibrate ? "calibration" : "experiment";
}

static void put_title(const struct session *s, struct buf *b)
{
	for (size_t i = 0; i < s->design.n_factors; i++) {
		const struct try_factor *f = &s->design.factors[i];

		buf_printf(b, "%s%s=", i ? " " : "", f->name);
		for (size_t k = 0; k < f->n_levels; k++)
			buf_printf(b, "%s%s", k ? "," : "", f->levels[k]);
	}
	buf_puts(b, s->design.n_factors ? " --" : "--");
	for (size_t i = 0; i < s->n_command; i++)
		buf_printf(b, " %s", s->command[i]);
}

/* "better: goodput +3.8 %; " before what was asked, so that lists tell it. */
static void put_outcome(const struct model_verdict *v, struct buf *b)
{
	if (!strcmp(v->method, TRY_METHOD) && isnan(v->effect))
		buf_printf(b, "%s: %s; ", model_verdict_names[v->outcome],
			   v->metric ? v->metric : "");
	else if (!strcmp(v->method, TRY_METHOD))
		buf_printf(b, "%s: %s %+.1f %%; ", model_verdict_names[v->outcome],
			   v->metric ? v->metric : "", 100 * v->effect);
	else
		buf_printf(b, "noise floor %.2g %%; ", 100 * v->effect);
}

static void put_hosts(const struct session *s, struct model_run *r)
{
	const struct model_run *first = NULL;

	for (size_t i = 0; s->x.runs && i < try_slots(&s->x) && !first; i++)
		first = s->x.runs[i];
	for (int end = 0; first && end < 2; end++)
		r->host[end].name = model_run_str(r, first->host[end].name);
	r->protocol = first ? model_run_str(r, first->protocol) : NULL;
}

static int put_tags(const struct session *s, struct model_run *r, bool done)
{
	size_t failed = s->x.failed + s->x.failed_before;
	char text[24];
	int rc = model_add_tag(r, TRY_TAG, done ? "finished" : "open");

	snprintf(text, sizeof(text), "%zu", failed);
	if (rc >= 0 && failed)
		rc = model_add_tag(r, TRY_FAILED_TAG, text);
	snprintf(text, sizeof(text), "%zu", s->effects);
	if (rc >= 0 && s->effects)
		rc = model_add_tag(r, FLOOR_EFFECTS, text);
	if (rc >= 0 && s->effects)
		rc = model_add_tag(r, FLOOR_SESSIONS, s->across ? "yes" : "no");
	return rc;
}

/* When it began, and the tags that a person gave it. */
static int keep_old(const struct session *s, struct model_run *r)
{
	struct model_run *old;
	int rc = 0;

	if (!s->store || store_load(s->store, s->id, &old, NULL) < 0)
		return 0;
	r->start_real_ns = old->start_real_ns;
	for (size_t i = 0; i < old->n_tags && rc >= 0; i++)
		rc = model_add_tag(r, old->tags[i].k, old->tags[i].v);
	model_run_free(old);
	return rc;
}

static int fill_record(struct session *s, struct model_run *r, const struct model_verdict *v,
		       bool done)
{
	struct buf title = {0};
	bool failed;

	if (v)
		put_outcome(v, &title);
	put_title(s, &title);
	put_hosts(s, r);
	r->title = model_run_str(r, title.data);
	r->outcome = done ? OUTCOME_COMPLETE : OUTCOME_PARTIAL;
	r->exp = (struct model_experiment){.id = model_run_str(r, s->id),
					   .factors = model_run_str(r, s->factors.data),
					   .plan = model_run_str(r, s->plan.data),
					   .primary = model_run_str(r, s->judge.primary),
					   .seed = (int64_t)s->design.seed,
					   .block = -1,
					   .position = -1,
					   .margin = s->judge.margin};
	failed = title.failed || keep_old(s, r) < 0 || put_tags(s, r, done) < 0;
	buf_fini(&title);
	return failed ? -ENOMEM : 0;
}

static struct model_run *make_record(struct session *s, const struct model_verdict *v, bool done)
{
	uint8_t rnd[10];
	struct model_run *r;

	clk_random(rnd, sizeof(rnd));
	r = model_run_new(kind_of(s), clk_real_ns(), rnd);
	if (!r)
		return NULL;
	if (s->id[0])
		memcpy(r->id, s->id, sizeof(r->id));
	else
		memcpy(s->id, r->id, sizeof(s->id));
	if (fill_record(s, r, v, done) < 0) {
		model_run_free(r);
		return NULL;
	}
	return r;
}

int record_open(struct session *s, struct weir_err *e)
{
	struct model_run *r = make_record(s, NULL, false);
	int rc = r ? 0 : err_set(e, WEIR_OS, ENOMEM, "out of memory");

	if (rc >= 0 && s->store)
		rc = store_put(s->store, r, e);
	model_run_free(r);
	return rc < 0 ? rc : record_claim(s, e);
}

int record_close(struct session *s, const struct model_verdict *v, size_t n, bool done,
		 struct weir_err *e)
{
	struct model_run *r = make_record(s, n ? v : NULL, done);
	int rc = r ? 0 : err_set(e, WEIR_OS, ENOMEM, "out of memory");

	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = model_add_verdict(r, &v[i]);
	if (rc >= 0 && s->store)
		rc = store_replace(s->store, r, e);
	s->claimed = s->claimed && rc < 0;
	model_run_free(r);
	return rc < 0 ? rc : 0;
}

/* ---- one at a time ---- */

int record_claim(struct session *s, struct weir_err *e)
{
	int rc = s->store ? store_claim(s->store, s->id, e) : 0;

	s->claimed = rc >= 0 && s->store;
	if (rc == -EBUSY) {
		err_wrap(e, "%s %s is being run", kind_of(s), s->id + MODEL_ID_LEN - 8);
		err_hint(e, "wait for it or end it; --resume goes on with what is missing then");
	}
	return rc;
}

void record_release(struct session *s)
{
	if (s->claimed)
		store_release(s->store, s->id, NULL);
	s->claimed = false;
}

void record_failure(struct session *s)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", s->x.failed + s->x.failed_before);
	if (s->store)
		store_tag(s->store, s->id, TRY_FAILED_TAG, text, NULL);
}

/* ---- found again ---- */

static int take_first(const struct store_entry *en, void *arg)
{
	memcpy(arg, en->id, sizeof(en->id));
	return 1;
}

static int find_open(struct session *s, char id[MODEL_ID_LEN + 1], struct weir_err *e)
{
	struct model_kv tag = {TRY_TAG, "open"};
	struct store_filter f = {.kind = kind_of(s),
				 .tags = &tag,
				 .n_tags = 1,
				 .since_real_ns = MODEL_NO_TIME,
				 .until_real_ns = MODEL_NO_TIME,
				 .limit = 1};
	int rc;

	id[0] = '\0';
	rc = store_list(s->store, &f, take_first, id, e);
	if (rc >= 0 && !id[0])
		rc = err_set(e, WEIR_DB, ENOENT, "no %s is open", kind_of(s));
	return rc;
}

int record_find(struct session *s, const char *what, struct model_run **out, struct weir_err *e)
{
	int rc = what[0] ? store_resolve(s->store, what, s->id, e) : find_open(s, s->id, e);

	if (rc >= 0)
		rc = store_load(s->store, s->id, out, e);
	if (rc >= 0 && strcmp((*out)->kind, kind_of(s)) != 0) {
		err_set(e, WEIR_USAGE, EINVAL, "%.8s is a run of %s, not the record of %s",
			s->id + MODEL_ID_LEN - 8, (*out)->kind,
			s->o->calibrate ? "a calibration" : "an experiment");
		model_run_free(*out);
		*out = NULL;
		return -EINVAL;
	}
	return rc;
}

/* Runs that are none of the plan's are left alone. */
int record_take_runs(struct session *s, struct weir_err *e)
{
	struct cmd_runs l = {0};
	int rc = cmd_runs_tagged(s->store, "try", s->id + MODEL_ID_LEN - 8, &l, e);

	s->x.design = &s->design;
	for (size_t i = 0; i < l.n && rc >= 0; i++) {
		struct model_run *r = l.v[i];

		if (r->exp.id && !strcmp(r->exp.id, s->id) && try_take(&s->x, r))
			l.v[i] = NULL;
	}
	cmd_runs_fini(&l);
	return rc < 0 ? rc : 0;
}
