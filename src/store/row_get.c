/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows on their way back into a run. The file may be anybody's: each cell is checked against
 * its column's kind, words against their lists, indices against what the run has so far.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

#define METRIC_TEXT 160 /* bytes of a metric as text */

/* ---- cells ---- */

static const char *get_text(struct model_run *r, const struct val *v)
{
	if (v->type != VAL_TEXT || memchr(v->p, 0, v->n))
		return NULL;
	return model_run_strn(r, v->p, v->n);
}

static bool read_dims(struct model_run *r, const struct val *v, struct model_dims *d)
{
	struct js_doc *doc = NULL;
	const char *key;
	const struct js *val;
	void *it = NULL;
	bool ok = v->type == VAL_TEXT && !js_parse(v->p, v->n, &js_limits_file, &doc, NULL) &&
		  js_type(js_root(doc)) == JS_OBJ;

	while (ok && js_each(js_root(doc), &it, &key, &val)) {
		int id = model_dim_find(key);
		const struct model_dim *dim = id < 0 ? NULL : model_dim((enum model_dim_id)id);
		const char *s = js_str(val, NULL);
		int64_t x = -1;

		ok = dim && (dim->type == MODEL_DIM_INT ? js_i64(val, &x) : s != NULL);
		if (ok && dim->type == MODEL_DIM_ENUM)
			x = model_name_find(dim->values, s);
		else if (ok && dim->type == MODEL_DIM_STR)
			x = model_run_intern(r, s);
		ok = ok && (x >= 0 || dim->type == MODEL_DIM_INT);
		if (ok)
			*d = model_dims_with(*d, (enum model_dim_id)id, x);
	}
	js_free(doc);
	return ok;
}

/* A metric that a newer weir knows by its own name is kept as an extension here. */
static const struct model_metric *find_metric(struct model_run *r, char *text)
{
	char *type = strrchr(text, ':'), *unit_text, ext[METRIC_TEXT + 4];
	const struct model_metric *m;
	enum unit unit;
	int t;

	if (!type)
		return model_metric(text);
	*type++ = '\0';
	unit_text = strrchr(text, ':');
	t = model_name_find(model_col_names, type);
	if (!unit_text || t < 0)
		return NULL;
	*unit_text++ = '\0';
	if (unit_from_name(unit_text, &unit) < 0)
		return NULL;
	m = model_run_metric(r, text, unit, (enum model_col_type)t);
	if (!m) {
		snprintf(ext, sizeof(ext), "ext.%s", text);
		m = model_run_metric(r, ext, unit, (enum model_col_type)t);
	}
	return m;
}

static const struct model_metric *read_metric(struct model_run *r, const char *p, size_t n)
{
	char text[METRIC_TEXT];

	if (!p || n >= sizeof(text) || memchr(p, 0, n))
		return NULL;
	memcpy(text, p, n);
	text[n] = '\0';
	return find_metric(r, text);
}

static bool read_metrics(struct model_run *r, const struct val *v, struct model_frame *f)
{
	struct js_doc *doc = NULL;
	bool ok = v->type == VAL_TEXT && !js_parse(v->p, v->n, &js_limits_file, &doc, NULL) &&
		  js_type(js_root(doc)) == JS_ARR && js_len(js_root(doc)) <= MODEL_COLS_MAX;

	if (ok) {
		f->n_cols = js_len(js_root(doc));
		f->cols = calloc(f->n_cols + 1, sizeof(*f->cols));
		ok = f->cols != NULL;
	}
	for (size_t i = 0; ok && i < f->n_cols; i++) {
		size_t n = 0;
		const char *s = js_str(js_at(js_root(doc), i), &n);

		f->cols[i].metric = read_metric(r, s, n);
		ok = f->cols[i].metric != NULL;
	}
	js_free(doc);
	return ok;
}

static bool read_list(struct model_run *r, const struct val *v, const char ***list, size_t *n)
{
	struct js_doc *doc = NULL;
	bool ok = v->type == VAL_TEXT && !js_parse(v->p, v->n, &js_limits_file, &doc, NULL) &&
		  js_type(js_root(doc)) == JS_ARR;

	if (ok) {
		*n = js_len(js_root(doc));
		*list = calloc(*n + 1, sizeof(**list));
		ok = *list != NULL;
	}
	for (size_t i = 0; ok && i < *n; i++)
		(*list)[i] = model_run_str(r, js_str(js_at(js_root(doc), i), NULL));
	js_free(doc);
	return ok;
}

static bool is_json(const struct val *v)
{
	struct js_doc *doc = NULL;
	int rc = js_parse(v->p, v->n, &js_limits_file, &doc, NULL);

	js_free(doc);
	return rc == 0;
}

static bool read_warn(struct model_run *r, const struct val *v, enum model_warn_code *code)
{
	const char *s = get_text(r, v);
	int c = s ? model_warn_find(s) : -ENOENT;

	*code = c < 0 ? WARN_OTHER : (enum model_warn_code)c;
	return s != NULL;
}

static bool read_enum(struct model_run *r, const struct val *v, const char *const *names,
		      unsigned *out)
{
	const char *s = get_text(r, v);
	int i = s ? model_name_find(names, s) : -ENOENT;

	*out = i < 0 ? 0 : (unsigned)i;
	return i >= 0;
}

/* An index that must be below `limit`; none = the value of NULL, 0 = NULL is wrong. */
static bool read_index(const struct val *v, uint64_t limit, uint32_t none, uint32_t *out)
{
	*out = v->type == VAL_NULL ? none : (uint32_t)v->i;
	if (v->type == VAL_NULL)
		return none != 0;
	return v->type == VAL_INT && v->i >= 0 && (uint64_t)v->i < limit;
}

static bool read_real(const struct val *v, double *out)
{
	*out = v->type == VAL_REAL ? v->f : v->type == VAL_INT ? (double)v->i : (double)NAN;
	return v->type != VAL_TEXT && v->type != VAL_BLOB;
}

static bool read_text(struct model_run *r, const struct col *c, const struct val *v,
		      const char **out)
{
	*out = get_text(r, v);
	if (v->type == VAL_NULL)
		return true;
	return *out && (c->kind != COL_JSON || is_json(v));
}

static bool read_uuid(const struct val *v, char *out)
{
	if (v->type != VAL_TEXT || v->n != MODEL_ID_LEN)
		return false;
	memcpy(out, v->p, v->n);
	out[v->n] = '\0';
	return strspn(out, "0123456789abcdef-") == v->n;
}

static bool read_hist(const struct val *v, struct hist **h)
{
	*h = v->type == VAL_BLOB ? store_blob_get_hist(v->p, v->n) : NULL;
	return *h != NULL;
}

static bool read_int(const struct val *v, int64_t lo, int64_t hi, int64_t *out)
{
	*out = v->i;
	return v->type == VAL_INT && v->i >= lo && v->i <= hi;
}

#define TO(type) ((type *)to)

static bool read_made(struct model_run *r, const struct col *c, const struct val *v, void *obj)
{
	void *to = (char *)obj + c->off;

	switch (c->kind) {
	case COL_DIMS:
		return read_dims(r, v, TO(struct model_dims));
	case COL_METRIC:
		*TO(const struct model_metric *) =
			v->type == VAL_TEXT ? read_metric(r, v->p, v->n) : NULL;
		return *TO(const struct model_metric *) != NULL;
	case COL_METRICS:
		return read_metrics(r, v, obj);
	case COL_LIST:
		return read_list(r, v, TO(const char **), (size_t *)((char *)obj + c->more));
	case COL_HIST:
		return read_hist(v, TO(struct hist *));
	case COL_WARN:
		return read_warn(r, v, TO(enum model_warn_code));
	case COL_UUID:
		return read_uuid(v, to);
	case COL_BLOB:
		*TO(struct val) = *v;
		return v->type == VAL_BLOB;
	default:
		return false;
	}
}

static bool read_cell(struct model_run *r, const struct col *c, const struct val *v, void *obj)
{
	void *to = (char *)obj + c->off;
	int64_t i = 0;
	bool ok;

	switch (c->kind) {
	case COL_INT:
		return read_int(v, INT64_MIN, INT64_MAX, TO(int64_t));
	case COL_TIME:
		*TO(int64_t) = v->type == VAL_NULL ? MODEL_NO_TIME : v->i;
		return v->type == VAL_NULL || v->type == VAL_INT;
	case COL_INT32:
		ok = read_int(v, -400, 400, &i);
		*TO(int) = (int)i;
		return ok;
	case COL_BOOL:
		ok = read_int(v, 0, 1, &i);
		*TO(bool) = i;
		return ok;
	case COL_U32:
		return read_index(v, UINT32_MAX, 0, TO(uint32_t));
	case COL_PART:
		return read_index(v, r->n_parts, MODEL_NO_PART, TO(uint32_t));
	case COL_CLOCK:
		return read_index(v, r->n_clocks, 0, TO(uint32_t));
	case COL_AXIS:
		return read_index(v, r->n_axes, 0, TO(uint32_t));
	case COL_REAL:
		return read_real(v, TO(double));
	case COL_ENUM:
		return read_enum(r, v, c->names, TO(unsigned));
	case COL_TEXT:
	case COL_JSON:
		return read_text(r, c, v, TO(const char *));
	default:
		return read_made(r, c, v, obj);
	}
}

/* ---- a read row joins the run ---- */

static int add_tag(struct model_run *r, void *obj)
{
	const struct model_kv *kv = obj;

	return kv->k && kv->v ? model_add_tag(r, kv->k, kv->v) : -EBADMSG;
}

static int add_part(struct model_run *r, void *obj)
{
	const struct model_part *p = obj;
	int i = model_add_part(r, p->kind, p->parent, NULL, p->t0);

	if (i < 0)
		return i;
	model_end_part(r, (uint32_t)i, p->t1, p->outcome);
	r->parts[i].name = p->name;
	r->parts[i].params = p->params;
	return i;
}

static int add_clock(struct model_run *r, void *obj)
{
	struct model_clock *c = obj;
	int i = model_add_clock(r, c->end, c->kind);

	if (i < 0)
		return i;
	c->id = (uint32_t)i;
	r->clocks[i] = *c;
	return i;
}

static int add_pair(struct model_run *r, void *obj)
{
	const struct row_pair *p = obj;

	return model_add_clock_pair(r, p->clock, p->at.t, p->at.real_ns);
}

static int add_axis(struct model_run *r, void *obj)
{
	const struct model_axis *a = obj;

	return model_add_axis(r, a->part, a->clock);
}

static int add_frame(struct model_run *r, void *obj)
{
	const struct model_frame *f = obj;
	const struct model_metric *m[MODEL_COLS_MAX];

	for (size_t i = 0; i < f->n_cols; i++)
		m[i] = f->cols[i].metric;
	return model_add_frame(r, f->axis, &f->dims, m, f->n_cols);
}

static void fini_frame(void *obj)
{
	free(((struct model_frame *)obj)->cols);
}

static int add_hist(struct model_run *r, void *obj)
{
	struct model_hist *h = obj;
	struct hist *take_h = h->h;

	h->h = NULL;
	return model_add_hist(r, h->part, h->metric, &h->dims, h->exp10, take_h);
}

static void fini_hist(void *obj)
{
	hist_free(((struct model_hist *)obj)->h);
}

static int add_summary(struct model_run *r, void *obj)
{
	return model_add_summary(r, obj);
}

static int add_event(struct model_run *r, void *obj)
{
	const struct model_event *ev = obj;
	int i = model_add_event(r, ev->part, ev->code, &ev->subject, ev->t, ev->text);

	if (i >= 0)
		r->events[i].severity = ev->severity;
	return i == -ENOSPC ? 0 : i; /* more than anybody reads */
}

static int add_verdict(struct model_run *r, void *obj)
{
	return model_add_verdict(r, obj);
}

static void fini_verdict(void *obj)
{
	struct model_verdict *v = obj;

	free(v->inputs);
	free(v->reasons);
}

static int add_chunk(struct model_run *r, void *obj)
{
	const struct row_chunk *c = obj;
	int rc = store_blob_get_chunk(r, c->axis, c->data.p, c->data.n, NULL);

	return rc == -ENOSPC ? 0 : rc;
}

static const struct row_ops {
	int (*add)(struct model_run *r, void *obj);
	void (*fini)(void *obj);
} row_ops[TABLE_MAX] = {
	[TABLE_TAG] = {add_tag, NULL},        [TABLE_PART] = {add_part, NULL},
	[TABLE_CLOCK] = {add_clock, NULL},    [TABLE_PAIR] = {add_pair, NULL},
	[TABLE_AXIS] = {add_axis, NULL},      [TABLE_FRAME] = {add_frame, fini_frame},
	[TABLE_HIST] = {add_hist, fini_hist}, [TABLE_SUMMARY] = {add_summary, NULL},
	[TABLE_EVENT] = {add_event, NULL},    [TABLE_VERDICT] = {add_verdict, fini_verdict},
	[TABLE_CHUNK] = {add_chunk, NULL},
};

union any_row {
	struct model_kv tag;
	struct model_part part;
	struct model_clock clock;
	struct row_pair pair;
	struct model_axis axis;
	struct model_frame frame;
	struct model_hist hist;
	struct model_summary summary;
	struct model_event event;
	struct model_verdict verdict;
	struct row_chunk chunk;
};

int store_row_add(struct model_run *r, enum table_id t, const struct val *cells, size_t n,
		  struct weir_err *e)
{
	const struct row_table *tb = &store_row_tables[t];
	const struct row_ops *ops = &row_ops[t];
	union any_row any;
	void *obj = ops->add ? (void *)&any : (void *)r;
	size_t i = 0;
	int rc = -EBADMSG;

	memset(&any, 0, sizeof(any));
	while (i < tb->n && i < n && read_cell(r, &tb->cols[i], &cells[i], obj))
		i++;
	if (i == tb->n)
		rc = ops->add ? ops->add(r, obj) : 0;
	if (ops->fini)
		ops->fini(obj);
	if (rc == -EBADMSG)
		err_set(e, WEIR_DB, EBADMSG, "%s.%s is not what weir writes", tb->name,
			tb->cols[i < tb->n ? i : tb->n - 1].name);
	else if (rc < 0)
		err_set(e, WEIR_DB, -rc, "%s: out of memory", tb->name);
	return rc < 0 ? rc : 0;
}
