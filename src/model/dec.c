/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run may come from anybody's file or from the wire. Every index is checked against what
 * has been read so far, every list and value is bounded, and what a newer version added is
 * passed over unless that would change the meaning of what is kept.
 */
#include "model/priv.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

static const size_t list_max[LIST_NUM] = {
	[LIST_METRIC] = MODEL_EXT_MAX, [LIST_PART] = 65536,      [LIST_CLOCK] = 32,
	[LIST_AXIS] = 65536,           [LIST_FRAME] = 1000000,   [LIST_EVENT] = 100000,
	[LIST_HIST] = MODEL_HISTS_MAX, [LIST_SUMMARY] = 1000000, [LIST_VERDICT] = 1024,
};
#define STRINGS_MAX 4096   /* tags; strings of one verdict */
#define PAIRS_MAX   262144 /* of a clock: three days */

/* ---- pieces ---- */

static int dec_ref(const struct model_dec *d, const char *key, uint32_t i, size_t n)
{
	return i == MODEL_NO_PART || i < n ? 0 : model_dec_bad(d, key, "refers to nothing");
}

/* An item's own number must be the next one, or (update) that of an earlier one. */
static int dec_id(const struct model_dec *d, const struct js *o, size_t n, bool update, size_t *id)
{
	const struct js *v = js_get(o, "id");
	int64_t i = (int64_t)n;
	if (v && (!js_i64(v, &i) || i < 0 || (size_t)i > n || (!update && (size_t)i < n)))
		return model_dec_bad(d, "id", "is out of order");
	*id = (size_t)i;
	return 0;
}

static int dec_dim(const struct model_dec *d, enum model_dim_id id, const struct js *v,
		   int64_t *out)
{
	const struct model_dim *dim = model_dim(id);
	const char *s = js_str(v, NULL);
	if (dim->type == MODEL_DIM_INT)
		return js_i64(v, out) ? 0 : model_dec_bad(d, dim->name, "is no whole number");
	if (!s)
		return model_dec_bad(d, dim->name, "is no string");
	*out = dim->type == MODEL_DIM_STR ? model_run_intern(d->r, s)
					  : model_name_find(dim->values, s);
	return *out >= 0 ? 0 : model_dec_bad(d, dim->name, "is none of the known words");
}

/* 1 when there is a dimension that is not known here: it cannot be left out of the meaning. */
static int dec_dims(const struct model_dec *d, const struct js *o, const char *key,
		    struct model_dims *out)
{
	const struct js *v = js_get(o, key), *member;
	const char *name;
	void *it = NULL;
	int unknown = 0;
	if (v && js_type(v) != JS_OBJ)
		return model_dec_bad(d, key, "is no object");
	while (v && js_each(v, &it, &name, &member)) {
		int id = model_dim_find(name);
		if (id < 0) {
			unknown = 1;
			continue;
		}
		if (dec_dim(d, id, member, &out->v[id]))
			return -EINVAL;
		out->has |= 1U << id;
	}
	return unknown;
}

static const struct model_metric *metric_named(const struct model_dec *d, const char *name)
{
	struct model_metric m = {.name = name,
				 .kind = MODEL_GAUGE,
				 .better = MODEL_NEITHER,
				 .type = MODEL_F64,
				 .help = ""};
	return name && model_name_ok(name) ? model_metric_make(d->r, &m) : NULL;
}

static int dec_metric_ref(const struct model_dec *d, const struct js *o,
			  const struct model_metric **m)
{
	*m = metric_named(d, js_str(js_get(o, "metric"), NULL));
	return *m ? 0 : model_dec_bad(d, "metric", "is no metric's name");
}

static int cell_int(const struct model_col *c, const struct js *v, union model_value *out)
{
	int64_t i;
	if (!js_i64(v, &i) || (c->metric->type == MODEL_U64 && i < 0))
		return -EINVAL;
	if (c->metric->type == MODEL_U64)
		out->u = (uint64_t)i;
	else
		out->i = i;
	return 1;
}

int model_dec_value(const struct model_col *c, const struct js *v, union model_value *out)
{
	if (js_type(v) == JS_NULL)
		return 0;
	if (c->metric->type != MODEL_F64)
		return cell_int(c, v, out);
	return js_f64(v, &out->f) ? 1 : -EINVAL;
}

/* ---- items ---- */

static int dec_metric(const struct model_dec *d, const struct js *o)
{
	struct model_metric m = {
		.name = js_str(js_get(o, "name"), NULL), .better = MODEL_NEITHER, .help = ""};
	if (!m.name || !model_name_ok(m.name))
		return model_dec_bad(d, "name", "is no metric's name");
	int rc = model_dec_fields(d, o, &model_metric_fields, &m);
	if (rc)
		return rc;
	return model_metric_make(d->r, &m) ? 0 : model_dec_limit(d);
}

static int dec_part(const struct model_dec *d, const struct js *o)
{
	struct model_run *r = d->r;
	struct model_part p = {.parent = MODEL_NO_PART, .t1 = MODEL_NO_TIME};
	size_t id = 0;
	int rc = dec_id(d, o, r->n_parts, true, &id);
	if (!rc)
		rc = model_dec_fields(d, o, &model_part_fields, &p);
	if (!rc)
		rc = dec_ref(d, "parent", p.parent, id);
	if (!rc && p.t0 == MODEL_NO_TIME)
		rc = model_dec_bad(d, "t0_ns", "is missing");
	if (rc)
		return rc;
	p.id = (uint32_t)id;
	if (id == r->n_parts) {
		if (model_grow(&r->parts, r->n_parts, sizeof(p)))
			return model_dec_limit(d);
		r->n_parts++;
	}
	r->parts[id] = p;
	return 0;
}

static int pair_of(const struct js *v, int64_t *a, int64_t *b)
{
	return js_len(v) >= 2 && js_i64(js_at(v, 0), a) && js_i64(js_at(v, 1), b) ? 0 : -EINVAL;
}

static int dec_pairs(const struct model_dec *d, const struct js *o, uint32_t clock)
{
	const struct js *v = js_get(o, "pairs");
	d->r->clocks[clock].n_pairs = 0; /* an update brings all */
	if (js_len(v) > PAIRS_MAX)
		return model_dec_limit(d);
	for (size_t i = 0; i < js_len(v); i++) {
		int64_t t, real;
		if (pair_of(js_at(v, i), &t, &real))
			return model_dec_bad(d, "pairs", "holds something else than two numbers");
		if (model_add_clock_pair(d->r, clock, t, real) < 0)
			return model_dec_limit(d);
	}
	return 0;
}

static int dec_offset(const struct model_dec *d, const struct js *o, struct model_clock *c)
{
	const struct js *v = js_get(o, "offset_ns"), *err = js_get(o, "offset_err_ns");
	c->offset_known = v != NULL;
	if (v && (!js_i64(v, &c->offset_ns) || c->offset_ns < -MODEL_TIME_MAX ||
		  c->offset_ns > MODEL_TIME_MAX))
		return model_dec_bad(d, "offset_ns", "is no time");
	if (err && !js_i64(err, &c->offset_err_ns))
		return model_dec_bad(d, "offset_err_ns", "is no time");
	return 0;
}

static int dec_clock(const struct model_dec *d, const struct js *o)
{
	struct model_run *r = d->r;
	size_t id = 0;
	int rc = dec_id(d, o, r->n_clocks, true, &id);
	if (!rc && id == r->n_clocks && model_add_clock(r, MODEL_NEAR, CLOCK_KIND_MONO) < 0)
		rc = model_dec_limit(d);
	if (!rc)
		rc = model_dec_fields(d, o, &model_clock_fields, &r->clocks[id]);
	if (!rc)
		rc = dec_offset(d, o, &r->clocks[id]);
	if (!rc)
		rc = dec_pairs(d, o, (uint32_t)id);
	return rc;
}

static int dec_axis_row(const struct model_dec *d, struct model_axis *a, const struct js *v)
{
	int64_t t0, t1, flags = 0;
	if (pair_of(v, &t0, &t1) || (js_len(v) > 2 && !js_i64(js_at(v, 2), &flags)) || flags < 0 ||
	    flags > UINT8_MAX)
		return model_dec_bad(d, "rows", "holds something else than [t0, t1, flags]");
	int rc = model_axis_put(d->r, a, t0, t1, (unsigned)flags);
	if (rc == -EINVAL)
		return model_dec_bad(d, "rows", "holds an interval that ends before it begins");
	return rc ? model_dec_limit(d) : 0;
}

static int dec_axis(const struct model_dec *d, const struct js *o)
{
	struct model_run *r = d->r;
	struct model_axis a = {.part = MODEL_NO_PART, .clock = MODEL_NO_PART};
	const struct js *rows = js_get(o, "rows");
	size_t id = 0;
	int rc = dec_id(d, o, r->n_axes, false, &id);
	if (!rc)
		rc = model_dec_fields(d, o, &model_axis_fields, &a);
	if (!rc)
		rc = dec_ref(d, "part", a.part, r->n_parts);
	if (!rc)
		rc = dec_ref(d, "clock", a.clock, r->n_clocks);
	if (!rc && model_add_axis(r, a.part, a.clock) < 0)
		rc = model_dec_limit(d);
	for (size_t i = 0; !rc && i < js_len(rows); i++)
		rc = dec_axis_row(d, r->axes[id], js_at(rows, i));
	return rc;
}

/* ---- frames ---- */

struct columns {
	const struct model_metric *metric[MODEL_COLS_MAX];
	const struct js *values[MODEL_COLS_MAX]; /* of the document form */
	size_t n;
};

static int add_column(const struct model_dec *d, struct columns *c, const char *name,
		      const struct js *values)
{
	const struct model_metric *m = metric_named(d, name);
	if (!m || c->n == MODEL_COLS_MAX)
		return model_dec_bad(d, "columns", "has no metric's name, or too many");
	c->metric[c->n] = m;
	c->values[c->n++] = values;
	return 0;
}

static int dec_columns(const struct model_dec *d, const struct js *o, struct columns *c)
{
	const struct js *names = js_get(o, "metrics"), *cols = js_get(o, "columns"), *v;
	const char *name;
	void *it = NULL;
	int rc = 0;
	if (js_type(names) == JS_ARR) {
		for (size_t i = 0; i < js_len(names) && !rc; i++)
			rc = add_column(d, c, js_str(js_at(names, i), NULL), NULL);
		return rc;
	}
	if (js_type(cols) != JS_OBJ)
		return model_dec_bad(d, "columns", "is no object");
	while (!rc && js_each(cols, &it, &name, &v))
		rc = add_column(d, c, name, v);
	return rc;
}

static int dec_column(const struct model_dec *d, struct model_col *c, const struct js *values,
		      size_t rows)
{
	if (js_type(values) != JS_ARR || js_len(values) != rows)
		return model_dec_bad(d, c->metric->name, "has not one value a row of its axis");
	for (size_t i = 0; i < rows; i++) {
		union model_value v;
		int has = model_dec_value(c, js_at(values, i), &v);
		if (has < 0)
			return model_dec_bad(d, c->metric->name, "has a value of the wrong type");
		if (model_col_put(d->r, c, i, has ? &v : NULL))
			return model_dec_limit(d);
	}
	return 0;
}

/* Lines: the frame starts at the axis' next row. Document: it brings all of its rows. */
static int add_frame(const struct model_dec *d, const struct columns *c, uint32_t axis,
		     const struct model_dims *dims)
{
	struct model_run *r = d->r;
	bool lines = !c->n || !c->values[0];
	int id = lines ? model_add_frame(r, axis, dims, c->metric, c->n)
		       : model_frame_new(r, axis, dims, c->metric, c->n);
	int rc = 0;
	if (id == -EINVAL)
		return model_dec_bad(d, "columns", "has a metric twice");
	if (id < 0)
		return model_dec_limit(d);
	for (size_t i = 0; !lines && !rc && i < c->n; i++)
		rc = dec_column(d, &r->frames[id]->cols[i], c->values[i], r->axes[axis]->n);
	r->frames[id]->n_rows = r->axes[axis]->n;
	return rc;
}

static int dec_frame(const struct model_dec *d, const struct js *o)
{
	struct model_run *r = d->r;
	struct model_frame f = {.axis = MODEL_NO_PART};
	struct model_dims dims = DIMS_NONE;
	struct columns cols = {.n = 0};
	size_t id = 0;
	int rc = dec_id(d, o, r->n_frames, false, &id);
	if (!rc)
		rc = model_dec_fields(d, o, &model_frame_fields, &f);
	if (!rc && f.axis >= r->n_axes)
		rc = model_dec_bad(d, "axis", "refers to nothing");
	if (!rc && (rc = dec_dims(d, o, "dims", &dims)) > 0)
		rc = model_dec_bad(d, "dims", "has a dimension that is not known");
	if (!rc)
		rc = dec_columns(d, o, &cols);
	return rc ? rc : add_frame(d, &cols, f.axis, &dims);
}

/* ---- histograms ---- */

static int dec_u64(const struct js *v, uint64_t *out)
{
	int64_t i;
	if (!js_i64(v, &i) || i < 0)
		return -EINVAL;
	*out = (uint64_t)i;
	return 0;
}

/* 128 bits in decimal. */
static int dec_sum(const struct js *v, u128 *sum)
{
	size_t n = 0;
	const char *s = js_str(v, &n);
	*sum = 0;
	if (!s || !n || n > 39)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)(s[i] - '0');
		if (digit > 9 || *sum > (~(u128)0 - digit) / 10)
			return -EINVAL;
		*sum = *sum * 10 + digit;
	}
	return 0;
}

static int dec_buckets(const struct model_dec *d, const struct js *o, struct hist *h)
{
	const struct js *v = js_get(o, "buckets");
	uint64_t total = 0;
	for (size_t i = 0; i < js_len(v); i++) {
		int64_t lo, n;
		if (pair_of(js_at(v, i), &lo, &n) || lo < 0 || n < 1 ||
		    __builtin_add_overflow(total, (uint64_t)n, &total) || total > INT64_MAX)
			return model_dec_bad(d, "buckets",
					     "holds something else than [low, count]");
		hist_record_n(h, (uint64_t)lo, (uint64_t)n);
	}
	return 0;
}

static int dec_counts(const struct model_dec *d, const struct js *o, struct hist *h)
{
	uint64_t min = 0, max = 0;
	u128 sum = 0;
	int rc = dec_buckets(d, o, h);
	if (rc || !hist_count(h))
		return rc;
	if (dec_u64(js_get(o, "min"), &min) || dec_u64(js_get(o, "max"), &max) || min > max)
		return model_dec_bad(d, "min", "and 'max' are not known");
	if (dec_sum(js_get(o, "sum"), &sum))
		return model_dec_bad(d, "sum", "is no decimal number of up to 128 bits");
	hist_set_exact(h, (uint64_t)(sum >> 64), (uint64_t)sum, min, max);
	return 0;
}

static int dec_hist(const struct model_dec *d, const struct js *o)
{
	struct model_hist head = {.part = MODEL_NO_PART};
	int rc = dec_metric_ref(d, o, &head.metric);
	if (!rc)
		rc = model_dec_fields(d, o, &model_hist_fields, &head);
	if (!rc)
		rc = dec_ref(d, "part", head.part, d->r->n_parts);
	if (!rc)
		rc = dec_dims(d, o, "dims", &head.dims);
	if (rc)
		return rc < 0 ? rc : 0;
	struct hist *h = hist_new();
	if (!h)
		return model_dec_limit(d);
	rc = dec_counts(d, o, h);
	if (rc) {
		hist_free(h);
		return rc;
	}
	rc = model_add_hist(d->r, head.part, head.metric, &head.dims, head.exp10, h);
	return rc < 0 ? model_dec_limit(d) : 0;
}

/* ---- summaries, events, verdicts ---- */

/* A statistic that a newer version added is passed over. */
static bool foreign_stat(const struct js *o)
{
	const char *s = js_str(js_get(o, "stat"), NULL);
	return s && model_name_find(model_stat_names, s) < 0;
}

static int dec_summary(const struct model_dec *d, const struct js *o)
{
	struct model_summary s = {.part = MODEL_NO_PART, .state = MODEL_KNOWN};
	if (foreign_stat(o))
		return 0;
	int rc = dec_metric_ref(d, o, &s.metric);
	if (!rc)
		rc = model_dec_fields(d, o, &model_summary_fields, &s);
	if (!rc)
		rc = dec_ref(d, "part", s.part, d->r->n_parts);
	if (!rc)
		rc = dec_dims(d, o, "dims", &s.dims);
	if (!rc && s.state == MODEL_KNOWN && !js_f64(js_get(o, "value"), &s.value))
		rc = model_dec_bad(d, "value", "is no number");
	if (rc)
		return rc < 0 ? rc : 0;
	return model_add_summary(d->r, &s) < 0 ? model_dec_limit(d) : 0;
}

/* The text is shown as it is, so it is made safe here; a code unknown here goes before it. */
static int event_text(const struct model_dec *d, const char *code, struct model_event *e)
{
	struct buf b = {0};
	int known = model_warn_find(code);
	e->code = known < 0 ? WARN_OTHER : (enum model_warn_code)known;
	if (known < 0) {
		safe_put(&b, code, strlen(code));
		buf_puts(&b, e->text ? ": " : "");
	}
	if (e->text)
		safe_put(&b, e->text, strlen(e->text));
	e->text = e->text || b.len ? model_run_strn(d->r, b.data ? b.data : "", b.len) : NULL;
	bool failed = b.failed;
	buf_fini(&b);
	return failed ? model_dec_limit(d) : 0;
}

static int dec_event(const struct model_dec *d, const struct js *o)
{
	struct model_event e = {.part = MODEL_NO_PART, .severity = MODEL_WARN, .t = MODEL_NO_TIME};
	const char *code = js_str(js_get(o, "code"), NULL);
	if (!code)
		return model_dec_bad(d, "code", "is missing");
	int rc = model_dec_fields(d, o, &model_event_fields, &e);
	if (!rc)
		rc = dec_ref(d, "part", e.part, d->r->n_parts);
	if (!rc && dec_dims(d, o, "subject", &e.subject) < 0)
		rc = -EINVAL;
	if (!rc)
		rc = event_text(d, code, &e);
	if (rc)
		return rc;
	int i = model_add_event(d->r, e.part, e.code, &e.subject, e.t, e.text);
	if (i == -ENOSPC) /* more than anybody reads */
		return 0;
	if (i < 0)
		return model_dec_limit(d);
	d->r->events[i].severity = e.severity;
	return 0;
}

/* Borrowed strings of the document; *v is freed by the caller. */
static int dec_strings(const struct model_dec *d, const struct js *o, const char *key,
		       const char ***v, size_t *n)
{
	const struct js *a = js_get(o, key);
	*n = js_len(a);
	if (*n > STRINGS_MAX || (a && js_type(a) != JS_ARR))
		return model_dec_bad(d, key, "is no list, or too long");
	*v = calloc(*n + 1, sizeof(**v));
	if (!*v)
		return model_dec_limit(d);
	for (size_t i = 0; i < *n; i++) {
		(*v)[i] = js_str(js_at(a, i), NULL);
		if (!(*v)[i])
			return model_dec_bad(d, key, "holds something else than strings");
	}
	return 0;
}

static int dec_verdict(const struct model_dec *d, const struct js *o)
{
	struct model_verdict v = {.outcome = VERDICT_NONE};
	int rc = model_dec_fields(d, o, &model_verdict_fields, &v);
	if (!rc)
		rc = dec_strings(d, o, "inputs", &v.inputs, &v.n_inputs);
	if (!rc)
		rc = dec_strings(d, o, "reasons", &v.reasons, &v.n_reasons);
	if (!rc && model_add_verdict(d->r, &v) < 0)
		rc = model_dec_limit(d);
	free(v.inputs);
	free(v.reasons);
	return rc;
}

int model_dec_item(const struct model_dec *d, enum model_list list, const struct js *o)
{
	static int (*const dec[LIST_NUM])(const struct model_dec *, const struct js *) = {
		[LIST_METRIC] = dec_metric,   [LIST_PART] = dec_part,
		[LIST_CLOCK] = dec_clock,     [LIST_AXIS] = dec_axis,
		[LIST_FRAME] = dec_frame,     [LIST_EVENT] = dec_event,
		[LIST_HIST] = dec_hist,       [LIST_SUMMARY] = dec_summary,
		[LIST_VERDICT] = dec_verdict,
	};
	if (js_type(o) != JS_OBJ)
		return err_set(d->e, WEIR_FORMAT, EINVAL, "%s %zu is no object", d->what, d->at);
	if (model_list_len(d->r, list) >= list_max[list])
		return model_dec_limit(d);
	return dec[list](d, o);
}

/* ---- the head ---- */

static int dec_object(const struct model_dec *d, const struct js *o, const char *key,
		      const struct model_fields *f, void *to)
{
	const struct js *v = js_get(o, key);
	if (v && js_type(v) != JS_OBJ)
		return model_dec_bad(d, key, "is no object");
	return v ? model_dec_fields(d, v, f, to) : 0;
}

int model_dec_tag(const struct model_dec *d, const char *k, const char *v)
{
	if (!k || !v)
		return model_dec_bad(d, "tags", "holds something else than strings");
	if (d->r->n_tags >= STRINGS_MAX || model_add_tag(d->r, k, v) < 0)
		return model_dec_limit(d);
	return 0;
}

static int dec_tags(const struct model_dec *d, const struct js *o)
{
	const struct js *tags = js_get(o, "tags"), *v;
	const char *k;
	void *it = NULL;
	int rc = 0;
	if (tags && js_type(tags) != JS_OBJ)
		return model_dec_bad(d, "tags", "is no object");
	while (tags && !rc && js_each(tags, &it, &k, &v))
		rc = model_dec_tag(d, k, js_str(v, NULL));
	return rc;
}

int model_dec_head(const struct model_dec *d, const struct js *o)
{
	struct model_run *r = d->r;
	int rc = model_dec_fields(d, o, &model_head_fields, r);
	if (!rc)
		rc = dec_object(d, o, "near", &model_host_fields, &r->host[MODEL_NEAR]);
	if (!rc)
		rc = dec_object(d, o, "far", &model_host_fields, &r->host[MODEL_FAR]);
	if (!rc)
		rc = dec_object(d, o, "source", &model_source_fields, &r->source);
	if (!rc)
		rc = dec_object(d, o, "experiment", &model_exp_fields, &r->exp);
	return rc ? rc : dec_tags(d, o);
}

static bool is_id(const char *s, size_t n)
{
	if (!s || n != MODEL_ID_LEN)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? s[i] != '-' : !strchr("0123456789abcdef", s[i]))
			return false;
	}
	return true;
}

static bool is_kind(const char *s)
{
	size_t n = strlen(s);
	return n && n <= MODEL_NAME_MAX &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == n;
}

static int check_run(const struct js *o, const char *kind, struct weir_err *e)
{
	int64_t schema = 0;
	size_t n = 0;
	const char *id = js_str(js_get(o, "id"), &n), *type = js_str(js_get(o, "type"), NULL);
	if (!type || strcmp(type, "run") != 0 || !js_i64(js_get(o, "schema"), &schema))
		return err_set(e, WEIR_FORMAT, EINVAL, "this is no run of weir");
	if (schema != MODEL_SCHEMA)
		return err_set(e, WEIR_FORMAT, ENOTSUP,
			       "the run has schema %lld, this weir knows %d", (long long)schema,
			       MODEL_SCHEMA);
	if (!is_id(id, n) || !kind || !is_kind(kind))
		return err_set(e, WEIR_FORMAT, EINVAL, "the run has no id or kind");
	return 0;
}

int model_dec_run(const struct js *o, struct model_run **out, struct weir_err *e)
{
	static const uint8_t none[10];
	const char *kind = js_str(js_get(o, "kind"), NULL);
	int rc = check_run(o, kind, e);
	if (rc)
		return rc;
	struct model_run *r = model_run_new(kind, MODEL_NO_TIME, none);
	if (!r)
		return err_set(e, WEIR_OS, ENOMEM, "reading a run");
	memcpy(r->id, js_str(js_get(o, "id"), NULL), MODEL_ID_LEN);
	r->weir = NULL;
	*out = r;
	return 0;
}
