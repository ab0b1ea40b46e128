/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The document and the line form hold the same objects. Each item of a run is written by one
 * function here; codec.c puts them into arrays, ndjson.c onto lines.
 */
#include "model/priv.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

const struct model_list_name model_list_names[LIST_NUM] = {
	[LIST_METRIC] = {"metric", "metrics"},    [LIST_PART] = {"part", "parts"},
	[LIST_CLOCK] = {"clock", "clocks"},       [LIST_AXIS] = {"axis", "axes"},
	[LIST_FRAME] = {"frame", "frames"},       [LIST_EVENT] = {"event", "events"},
	[LIST_HIST] = {"hist", "hists"},          [LIST_SUMMARY] = {"summary", "summaries"},
	[LIST_VERDICT] = {"verdict", "verdicts"},
};

size_t model_list_len(const struct model_run *r, enum model_list list)
{
	const size_t len[LIST_NUM] = {
		[LIST_METRIC] = r->priv->ext_names.n,
		[LIST_PART] = r->n_parts,
		[LIST_CLOCK] = r->n_clocks,
		[LIST_AXIS] = r->n_axes,
		[LIST_FRAME] = r->n_frames,
		[LIST_EVENT] = r->n_events,
		[LIST_HIST] = r->n_hists,
		[LIST_SUMMARY] = r->n_sums,
		[LIST_VERDICT] = r->n_verdicts,
	};
	return len[list];
}

/* ---- pieces ---- */

/* A reference that leads nowhere is not written. */
static uint32_t within(uint32_t i, size_t n)
{
	return i < n ? i : MODEL_NO_PART;
}

static void enc_dims(struct jw *w, const struct model_run *r, const char *key,
		     const struct model_dims *d)
{
	if (!d->has)
		return;
	jw_obj(w, key);
	for (int id = 0; id < DIM_MAX; id++) {
		const struct model_dim *dim = model_dim(id);
		if (!(d->has >> id & 1))
			continue;
		if (dim->type == MODEL_DIM_ENUM)
			jw_str(w, dim->name, dim->values[d->v[id]]);
		else if (dim->type == MODEL_DIM_STR)
			jw_str(w, dim->name, model_run_interned(r, d->v[id]));
		else
			jw_i64(w, dim->name, d->v[id]);
	}
	jw_end_obj(w);
}

void model_enc_value(struct jw *w, const struct model_col *c, const union model_value *v)
{
	if (!v || !model_is_value(c, v))
		jw_null(w, NULL);
	else if (c->metric->type == MODEL_U64)
		jw_u64(w, NULL, v->u);
	else if (c->metric->type == MODEL_I64)
		jw_i64(w, NULL, v->i);
	else
		jw_f64(w, NULL, v->f + 0.0);
}

/* ---- items ---- */

static void enc_metric(struct jw *w, const struct model_run *r, size_t i)
{
	jw_str(w, "name", r->priv->ext[i]->name);
	model_enc_fields(w, &model_metric_fields, r->priv->ext[i]);
}

static void enc_part(struct jw *w, const struct model_run *r, size_t i)
{
	jw_u64(w, "id", i);
	model_enc_fields(w, &model_part_fields, &r->parts[i]);
}

static void enc_clock(struct jw *w, const struct model_run *r, size_t i)
{
	const struct model_clock *c = &r->clocks[i];
	jw_u64(w, "id", i);
	model_enc_fields(w, &model_clock_fields, c);
	if (c->offset_known) {
		jw_i64(w, "offset_ns", c->offset_ns);
		jw_i64(w, "offset_err_ns", c->offset_err_ns);
	}
	jw_arr(w, "pairs");
	for (size_t k = 0; k < c->n_pairs; k++) {
		jw_arr(w, NULL);
		jw_i64(w, NULL, c->pairs[k].t);
		jw_i64(w, NULL, c->pairs[k].real_ns);
		jw_end_arr(w);
	}
	jw_end_arr(w);
}

static void enc_axis_rows(struct jw *w, const struct model_axis *a)
{
	struct model_axis_read ar;
	int64_t t0, t1;
	unsigned flags;
	model_axis_read_init(&ar, a);
	jw_arr(w, "rows");
	while (model_axis_next(&ar, a, &t0, &t1, &flags)) {
		jw_arr(w, NULL);
		jw_i64(w, NULL, t0);
		jw_i64(w, NULL, t1);
		jw_u64(w, NULL, flags);
		jw_end_arr(w);
	}
	jw_end_arr(w);
}

static void enc_axis(struct jw *w, const struct model_run *r, size_t i, bool lines)
{
	struct model_axis a = *r->axes[i];
	a.part = within(a.part, r->n_parts);
	a.clock = within(a.clock, r->n_clocks);
	jw_u64(w, "id", i);
	model_enc_fields(w, &model_axis_fields, &a);
	if (!lines)
		enc_axis_rows(w, &a);
}

static void enc_column(struct jw *w, const struct model_frame *f, const struct model_col *c)
{
	struct model_col_read cr;
	union model_value v;
	model_col_read_init(&cr, c);
	jw_arr(w, c->metric->name);
	for (size_t row = 0; row < f->n_rows; row++)
		model_enc_value(w, c, model_col_next(&cr, c, row, &v) ? &v : NULL);
	jw_end_arr(w);
}

static void enc_frame(struct jw *w, const struct model_run *r, size_t i, bool lines)
{
	const struct model_frame *f = r->frames[i];
	jw_u64(w, "id", i);
	model_enc_fields(w, &model_frame_fields, f);
	enc_dims(w, r, "dims", &f->dims);
	if (lines) {
		jw_arr(w, "metrics");
		for (size_t k = 0; k < f->n_cols; k++)
			jw_str(w, NULL, f->cols[k].metric->name);
		jw_end_arr(w);
		return;
	}
	jw_obj(w, "columns");
	for (size_t k = 0; k < f->n_cols; k++)
		enc_column(w, f, &f->cols[k]);
	jw_end_obj(w);
}

static void enc_sum(struct jw *w, const struct hist *h)
{
	char tmp[40], *p = tmp + sizeof(tmp);
	uint64_t hi, lo;
	hist_sum(h, &hi, &lo);
	u128 v = (u128)hi << 64 | lo;
	do
		*--p = (char)('0' + (int)(v % 10));
	while (v /= 10);
	jw_strn(w, "sum", p, (size_t)(tmp + sizeof(tmp) - p));
}

static void enc_buckets(struct jw *w, const struct hist *h)
{
	uint32_t it = 0;
	uint64_t lo, n;
	jw_arr(w, "buckets");
	while (hist_next(h, &it, &lo, &n)) {
		jw_arr(w, NULL);
		jw_u64(w, NULL, lo);
		jw_u64(w, NULL, n);
		jw_end_arr(w);
	}
	jw_end_arr(w);
}

static void enc_hist(struct jw *w, const struct model_run *r, size_t i)
{
	struct model_hist h = r->hists[i];
	h.part = within(h.part, r->n_parts);
	jw_str(w, "metric", h.metric->name);
	model_enc_fields(w, &model_hist_fields, &h);
	enc_dims(w, r, "dims", &h.dims);
	jw_u64(w, "count", hist_count(h.h));
	enc_sum(w, h.h);
	jw_u64(w, "min", hist_min(h.h));
	jw_u64(w, "max", hist_max(h.h));
	enc_buckets(w, h.h);
}

static void enc_summary(struct jw *w, const struct model_run *r, size_t i)
{
	struct model_summary s = r->sums[i];
	s.part = within(s.part, r->n_parts);
	jw_str(w, "metric", s.metric->name);
	enc_dims(w, r, "dims", &s.dims);
	if (!isfinite(s.value) && s.state == MODEL_KNOWN)
		s.state = MODEL_UNKNOWN;
	if (s.state == MODEL_KNOWN)
		jw_f64(w, "value", s.value + 0.0);
	model_enc_fields(w, &model_summary_fields, &s);
}

void model_enc_event(struct jw *w, const struct model_run *r, const struct model_event *ev)
{
	struct model_event e = *ev;
	e.part = within(e.part, r->n_parts);
	jw_str(w, "code", model_warn(e.code)->code);
	enc_dims(w, r, "subject", &e.subject);
	model_enc_fields(w, &model_event_fields, &e);
}

static void enc_strings(struct jw *w, const char *key, const char **v, size_t n)
{
	jw_arr(w, key);
	for (size_t i = 0; i < n; i++)
		jw_str(w, NULL, v[i] ? v[i] : "");
	jw_end_arr(w);
}

static void enc_verdict(struct jw *w, const struct model_run *r, size_t i)
{
	const struct model_verdict *v = &r->verdicts[i];
	enc_strings(w, "inputs", v->inputs, v->n_inputs);
	model_enc_fields(w, &model_verdict_fields, v);
	enc_strings(w, "reasons", v->reasons, v->n_reasons);
}

void model_enc_item(struct jw *w, const struct model_run *r, enum model_list list, size_t i,
		    bool lines)
{
	switch (list) {
	case LIST_METRIC:
		enc_metric(w, r, i);
		break;
	case LIST_PART:
		enc_part(w, r, i);
		break;
	case LIST_CLOCK:
		enc_clock(w, r, i);
		break;
	case LIST_AXIS:
		enc_axis(w, r, i, lines);
		break;
	case LIST_FRAME:
		enc_frame(w, r, i, lines);
		break;
	case LIST_EVENT:
		model_enc_event(w, r, &r->events[i]);
		break;
	case LIST_HIST:
		enc_hist(w, r, i);
		break;
	case LIST_SUMMARY:
		enc_summary(w, r, i);
		break;
	case LIST_VERDICT:
		enc_verdict(w, r, i);
		break;
	case LIST_NUM:
		break;
	}
}

/* ---- the head ---- */

static void enc_object(struct jw *w, const char *key, const struct model_fields *f,
		       const void *from)
{
	jw_obj(w, key);
	model_enc_fields(w, f, from);
	jw_end_obj(w);
}

void model_enc_head(struct jw *w, const struct model_run *r)
{
	jw_str(w, "id", r->id);
	model_enc_fields(w, &model_head_fields, r);
	enc_object(w, "near", &model_host_fields, &r->host[MODEL_NEAR]);
	enc_object(w, "far", &model_host_fields, &r->host[MODEL_FAR]);
	if (r->source.file)
		enc_object(w, "source", &model_source_fields, &r->source);
	if (r->exp.id)
		enc_object(w, "experiment", &model_exp_fields, &r->exp);
	jw_obj(w, "tags");
	for (size_t i = 0; i < r->n_tags; i++)
		jw_str(w, r->tags[i].k, r->tags[i].v);
	jw_end_obj(w);
}
