/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoder and decoder must never disagree. Each object's plain members are one table, walked
 * in both directions; what is not plain (samples, dimensions) is in enc.c and dec.c.
 */
#include "model/priv.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS(name, ...)                                              \
	static const struct model_field name##_rows[] = {__VA_ARGS__}; \
	const struct model_fields model_##name##_fields = {name##_rows, ARRAY_LEN(name##_rows)}
#define F(type, s, key, member)                                                    \
	{                                                                          \
		key, FIELD_##type, offsetof(struct model_##s, member), NULL, false \
	}
#define E(s, key, member, names)                                                  \
	{                                                                         \
		key, FIELD_ENUM, offsetof(struct model_##s, member), names, false \
	}

static const char *const end_names[] = {"near", "far", NULL};

/* clang-format off */
FIELDS(head,
	F(STR, run, "kind", kind),
	F(STR, run, "weir", weir),
	F(STR, run, "title", title),
	F(TIME, run, "start_real_ns", start_real_ns),
	E(run, "outcome", outcome, model_outcome_names),
	F(JSON, run, "request", request),
	F(STR, run, "protocol", protocol),
	F(STR, run, "error", error),
	F(STR, run, "limited_by", limited),
	F(STR, run, "limited_code", limited_code));
FIELDS(host,
	F(STR, host, "name", name),
	F(STR, host, "tool", tool),
	F(STR, host, "version", version),
	F(JSON, host, "facts", facts));
FIELDS(source,
	F(STR, source, "file", file),
	F(STR, source, "sha256", sha256),
	F(STR, source, "tool", tool),
	F(STR, source, "version", version),
	F(COUNT, source, "span_from", span_from),
	F(COUNT, source, "span_to", span_to),
	F(COUNT, source, "line", line));
FIELDS(exp,
	F(STR, experiment, "id", id),
	F(STR, experiment, "factors", factors),
	F(STR, experiment, "plan", plan),
	F(STR, experiment, "primary", primary),
	F(STR, experiment, "variant", variant),
	F(I64, experiment, "seed", seed),
	F(I64, experiment, "block", block),
	F(I64, experiment, "position", position),
	F(F64, experiment, "margin", margin));
FIELDS(metric,
	F(UNIT, metric, "unit", unit),
	E(metric, "kind", kind, model_kind_names),
	E(metric, "better", better, model_better_names),
	E(metric, "column", type, model_col_names));
FIELDS(part,
	F(INDEX, part, "parent", parent),
	E(part, "kind", kind, model_part_kind_names),
	F(STR, part, "name", name),
	F(JSON, part, "params", params),
	F(TIME, part, "t0_ns", t0),
	F(TIME, part, "t1_ns", t1),
	E(part, "outcome", outcome, model_outcome_names));
FIELDS(clock,
	E(clock, "end", end, end_names),
	E(clock, "kind", kind, model_clock_kind_names),
	F(STR, clock, "method", method));
FIELDS(axis,
	F(INDEX, axis, "part", part),
	F(INDEX, axis, "clock", clock));
FIELDS(frame,
	{"axis", FIELD_INDEX, offsetof(struct model_frame, axis), NULL, true});
FIELDS(hist,
	F(INDEX, hist, "part", part),
	F(INT, hist, "exp10", exp10));
FIELDS(summary,
	F(INDEX, summary, "part", part),
	{"stat", FIELD_ENUM, offsetof(struct model_summary, stat), model_stat_names, true},
	E(summary, "state", state, model_state_names),
	E(summary, "bound", bound, model_bound_names),
	F(STEP, summary, "resolution", resolution),
	E(summary, "provenance", prov, model_prov_names));
FIELDS(event,
	F(INDEX, event, "part", part),
	E(event, "severity", severity, model_severity_names),
	F(TIME, event, "t_ns", t),
	F(STR, event, "text", text));
FIELDS(verdict,
	F(STR, verdict, "method", method),
	F(STR, verdict, "metric", metric),
	F(STR, verdict, "advice", advice),
	E(verdict, "outcome", outcome, model_verdict_names),
	F(F64, verdict, "effect", effect),
	F(F64, verdict, "lo", lo),
	F(F64, verdict, "hi", hi));
/* clang-format on */

/* ---- writing ---- */

/* In the one form that reading it gives again: no line ends, and never a broken document. */
void model_enc_raw(struct jw *w, const char *key, const char *json)
{
	struct js_doc *doc = NULL;
	struct buf b = {0};
	if (js_parse(json, strlen(json), &js_limits_file, &doc, NULL))
		return;
	js_dump(js_root(doc), &b);
	js_free(doc);
	if (!b.failed)
		jw_raw(w, key, b.data, b.len);
	buf_fini(&b);
}

static void enc_enum(struct jw *w, const struct model_field *f, const void *p)
{
	int v;
	memcpy(&v, p, sizeof(v));
	jw_str(w, f->key, f->names[v]);
}

static void enc_i64(struct jw *w, const struct model_field *f, int64_t v)
{
	bool absent =
		(f->type == FIELD_TIME && v == MODEL_NO_TIME) || (f->type == FIELD_COUNT && v < 0);
	if (!absent)
		jw_i64(w, f->key, v);
}

static void enc_field(struct jw *w, const struct model_field *f, const void *p)
{
	const char *s = NULL;
	if (f->type == FIELD_STR || f->type == FIELD_JSON)
		memcpy(&s, p, sizeof(s));
	switch (f->type) {
	case FIELD_STR:
		if (s)
			jw_str(w, f->key, s);
		break;
	case FIELD_JSON:
		if (s)
			model_enc_raw(w, f->key, s);
		break;
	case FIELD_ENUM:
		enc_enum(w, f, p);
		break;
	case FIELD_UNIT:
		jw_str(w, f->key, unit_name(*(const enum unit *)p));
		break;
	case FIELD_INDEX:
		if (*(const uint32_t *)p != MODEL_NO_PART)
			jw_u64(w, f->key, *(const uint32_t *)p);
		break;
	case FIELD_TIME:
	case FIELD_COUNT:
	case FIELD_I64:
		enc_i64(w, f, *(const int64_t *)p);
		break;
	case FIELD_INT:
		jw_i64(w, f->key, *(const int *)p);
		break;
	case FIELD_STEP:
	case FIELD_F64:
		if (f->type == FIELD_F64 || *(const double *)p != 0)
			jw_f64(w, f->key, *(const double *)p + 0.0);
		break;
	}
}

void model_enc_fields(struct jw *w, const struct model_fields *f, const void *from)
{
	for (size_t i = 0; i < f->n; i++)
		enc_field(w, &f->v[i], (const char *)from + f->v[i].offset);
}

/* ---- reading ---- */

int model_dec_bad(const struct model_dec *d, const char *key, const char *why)
{
	return err_set(d->e, WEIR_FORMAT, EINVAL, "%s %zu: '%s' %s", d->what, d->at, key, why);
}

int model_dec_limit(const struct model_dec *d)
{
	return err_set(d->e, WEIR_LIMIT, EMSGSIZE, "%s %zu: the run is too large", d->what, d->at);
}

static int dec_str(const struct model_dec *d, const struct model_field *f, const struct js *v,
		   void *to)
{
	size_t n;
	const char *s = js_str(v, &n);
	if (!s)
		return model_dec_bad(d, f->key, "is no string");
	s = model_run_strn(d->r, s, n);
	if (!s)
		return model_dec_limit(d);
	memcpy(to, &s, sizeof(s));
	return 0;
}

static int dec_json(const struct model_dec *d, const struct model_field *f, const struct js *v,
		    void *to)
{
	struct buf b = {0};
	if (js_type(v) != JS_OBJ)
		return model_dec_bad(d, f->key, "is no object");
	js_dump(v, &b);
	const char *s = b.failed ? NULL : model_run_strn(d->r, b.data, b.len);
	buf_fini(&b);
	if (!s)
		return model_dec_limit(d);
	memcpy(to, &s, sizeof(s));
	return 0;
}

static int dec_enum(const struct model_dec *d, const struct model_field *f, const struct js *v,
		    void *to)
{
	const char *s = js_str(v, NULL);
	int i = s ? model_name_find(f->names, s) : -ENOENT;
	if (i < 0)
		return model_dec_bad(d, f->key, "is none of the known words");
	memcpy(to, &i, sizeof(i));
	return 0;
}

static int dec_unit(const struct model_dec *d, const struct model_field *f, const struct js *v,
		    void *to)
{
	const char *s = js_str(v, NULL);
	return s && !unit_from_name(s, to) ? 0 : model_dec_bad(d, f->key, "is no unit");
}

static bool in_range(enum model_field_type type, int64_t i)
{
	switch (type) {
	case FIELD_INDEX:
		return i >= 0 && i < MODEL_NO_PART;
	case FIELD_TIME:
		return i >= -MODEL_TIME_MAX && i <= MODEL_TIME_MAX;
	case FIELD_COUNT:
		return i >= 0;
	case FIELD_INT:
		return i >= -99 && i <= 99;
	default:
		return true;
	}
}

static int dec_int(const struct model_dec *d, const struct model_field *f, const struct js *v,
		   void *to)
{
	int64_t i;
	if (!js_i64(v, &i) || !in_range(f->type, i))
		return model_dec_bad(d, f->key, "is no whole number in range");
	if (f->type == FIELD_INDEX)
		*(uint32_t *)to = (uint32_t)i;
	else if (f->type == FIELD_INT)
		*(int *)to = (int)i;
	else
		*(int64_t *)to = i;
	return 0;
}

static int dec_field(const struct model_dec *d, const struct model_field *f, const struct js *v,
		     void *to)
{
	switch (f->type) {
	case FIELD_STR:
		return dec_str(d, f, v, to);
	case FIELD_JSON:
		return dec_json(d, f, v, to);
	case FIELD_ENUM:
		return dec_enum(d, f, v, to);
	case FIELD_UNIT:
		return dec_unit(d, f, v, to);
	case FIELD_F64:
	case FIELD_STEP:
		return js_f64(v, to) ? 0 : model_dec_bad(d, f->key, "is no number");
	default:
		return dec_int(d, f, v, to);
	}
}

int model_dec_fields(const struct model_dec *d, const struct js *o, const struct model_fields *f,
		     void *to)
{
	int rc = 0;
	for (size_t i = 0; i < f->n && !rc; i++) {
		const struct model_field *field = &f->v[i];
		const struct js *v = js_get(o, field->key);
		if (js_type(v) != JS_NONE && js_type(v) != JS_NULL)
			rc = dec_field(d, field, v, (char *)to + field->offset);
		else if (field->required)
			rc = model_dec_bad(d, field->key, "is missing");
	}
	return rc;
}
