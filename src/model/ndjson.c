/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run that is still going must be readable: by a pipe, by the server's front, after a crash.
 * One object a line; what a line refers to has been announced before it. Parts and clocks that
 * changed are announced again under the same number; "end" repeats the head.
 */
#include "model/priv.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

struct writer {
	struct sink sink;
	struct buf *out;
	struct buf tmp;
	size_t done[LIST_NUM], n_tags;
	uint64_t *stamps[LIST_NUM]; /* of parts and clocks as last written */
	bool failed;
};

static struct jw open_line(struct writer *w, const char *type)
{
	struct jw jw = jw_init(w->out);
	jw_obj(&jw, NULL);
	jw_str(&jw, "type", type);
	return jw;
}

static void close_line(struct writer *w, struct jw *jw)
{
	jw_end_obj(jw);
	buf_putc(w->out, '\n');
}

static void write_item(struct writer *w, const struct model_run *r, enum model_list list, size_t i)
{
	struct jw jw = open_line(w, model_list_names[list].one);
	model_enc_item(&jw, r, list, i, true);
	close_line(w, &jw);
}

/* FNV-1a over the item's text. */
static uint64_t stamp_of(struct writer *w, const struct model_run *r, enum model_list list,
			 size_t i)
{
	struct jw jw = jw_init(&w->tmp);
	uint64_t h = 14695981039346656037ULL;
	buf_clear(&w->tmp);
	jw_obj(&jw, NULL);
	model_enc_item(&jw, r, list, i, true);
	for (size_t k = 0; k < w->tmp.len; k++)
		h = (h ^ (uint8_t)w->tmp.data[k]) * 1099511628211ULL;
	return h;
}

static bool has_stamps(enum model_list list)
{
	return list == LIST_PART || list == LIST_CLOCK;
}

static void write_new(struct writer *w, const struct model_run *r, enum model_list list)
{
	for (; w->done[list] < model_list_len(r, list); w->done[list]++) {
		size_t i = w->done[list];
		write_item(w, r, list, i);
		if (!has_stamps(list))
			continue;
		if (model_grow(&w->stamps[list], i, sizeof(uint64_t))) {
			w->failed = true;
			return;
		}
		w->stamps[list][i] = stamp_of(w, r, list, i);
	}
}

static void write_changed(struct writer *w, const struct model_run *r, enum model_list list)
{
	for (size_t i = 0; i < w->done[list]; i++) {
		uint64_t stamp = stamp_of(w, r, list, i);
		if (stamp == w->stamps[list][i])
			continue;
		write_item(w, r, list, i);
		w->stamps[list][i] = stamp;
	}
}

static void write_tags(struct writer *w, const struct model_run *r)
{
	for (; w->n_tags < r->n_tags; w->n_tags++) {
		struct jw jw = open_line(w, "tag");
		jw_str(&jw, "key", r->tags[w->n_tags].k);
		jw_str(&jw, "value", r->tags[w->n_tags].v);
		close_line(w, &jw);
	}
}

/* All that a tick may refer to. Few parts: it is cheap to see whether one has ended. */
static void announce(struct writer *w, const struct model_run *r)
{
	write_tags(w, r);
	write_changed(w, r, LIST_PART);
	for (int list = 0; list <= LIST_FRAME; list++)
		write_new(w, r, list);
}

static void ndjson_begin(struct sink *s, const struct model_run *r)
{
	struct writer *w = (struct writer *)s;
	struct model_run head = *r;
	struct jw jw = open_line(w, "run");
	head.outcome = OUTCOME_RUNNING; /* true until "end" says more */
	jw_i64(&jw, "schema", MODEL_SCHEMA);
	model_enc_head(&jw, &head);
	close_line(w, &jw);
	w->n_tags = r->n_tags;
	announce(w, r);
}

static void write_row(struct jw *jw, const struct model_frame *f, const struct model_row *row)
{
	jw_arr(jw, NULL);
	for (size_t i = 0; i < f->n_cols; i++) {
		bool has = row && (row->valid >> i & 1);
		model_enc_value(jw, &f->cols[i], has ? &row->v[i] : NULL);
	}
	jw_end_arr(jw);
}

static void ndjson_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct writer *w = (struct writer *)s;
	const struct model_axis *a = r->axes[t->axis];
	size_t at = 0;
	announce(w, r);
	struct jw jw = open_line(w, "tick");
	jw_u64(&jw, "axis", t->axis);
	jw_i64(&jw, "t0_ns", t->t0);
	jw_i64(&jw, "t1_ns", t->t1);
	jw_u64(&jw, "flags", t->flags);
	jw_arr(&jw, "rows");
	for (size_t i = 0; i < a->n_frames; i++) {
		bool has = at < t->n_rows && t->rows[at].frame == a->frames[i];
		write_row(&jw, r->frames[a->frames[i]], has ? &t->rows[at++] : NULL);
	}
	jw_end_arr(&jw);
	close_line(w, &jw);
}

/* Events keep the run's order: one of the run brings those before it. */
static void ndjson_event(struct sink *s, const struct model_run *r, const struct model_event *e)
{
	struct writer *w = (struct writer *)s;
	uintptr_t first = (uintptr_t)r->events, at = (uintptr_t)e;
	announce(w, r);
	if (at >= first && at < (uintptr_t)(r->events + r->n_events)) {
		size_t i = (at - first) / sizeof(*e);
		for (; w->done[LIST_EVENT] <= i; w->done[LIST_EVENT]++)
			write_item(w, r, LIST_EVENT, w->done[LIST_EVENT]);
		return;
	}
	struct jw jw = open_line(w, "event");
	model_enc_event(&jw, r, e);
	close_line(w, &jw);
}

static void ndjson_end(struct sink *s, const struct model_run *r)
{
	struct writer *w = (struct writer *)s;
	announce(w, r);
	write_changed(w, r, LIST_CLOCK);
	for (int list = LIST_EVENT; list < LIST_NUM; list++)
		write_new(w, r, list);
	struct jw jw = open_line(w, "end");
	model_enc_head(&jw, r);
	close_line(w, &jw);
}

static int ndjson_close(struct sink *s, struct weir_err *e)
{
	struct writer *w = (struct writer *)s;
	bool failed = w->failed || w->out->failed || w->tmp.failed;
	for (int list = 0; list < LIST_NUM; list++)
		free(w->stamps[list]);
	buf_fini(&w->tmp);
	free(w);
	return failed ? err_set(e, WEIR_LIMIT, ENOMEM, "writing NDJSON: out of memory") : 0;
}

struct sink *model_ndjson_sink(struct buf *b)
{
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->sink =
		(struct sink){ndjson_begin, ndjson_sample, ndjson_event, ndjson_end, ndjson_close};
	w->out = b;
	return &w->sink;
}

/* ---- reading ---- */

static const struct js_limits line_limits = {.max_bytes = 16 << 20, .max_depth = 64};

struct model_ndjson_reader {
	struct model_run *run;
	bool ended;
	size_t line;
	struct model_row *rows; /* scratch of one tick */
	union model_value *values;
};

struct model_ndjson_reader *model_ndjson_reader_new(void)
{
	return calloc(1, sizeof(struct model_ndjson_reader));
}

/* One frame's array into row and v; the number of columns, or negative. */
static int read_row(const struct model_dec *d, const struct model_frame *f, const struct js *a,
		    struct model_row *row, union model_value *v)
{
	if (js_type(a) != JS_ARR || js_len(a) != f->n_cols)
		return model_dec_bad(d, "rows", "has not one value a column");
	*row = (struct model_row){.frame = f->id, .v = v};
	for (size_t i = 0; i < f->n_cols; i++) {
		int has = model_dec_value(&f->cols[i], js_at(a, i), &v[i]);
		if (has < 0)
			return model_dec_bad(d, "rows", "has a value of the wrong type");
		row->valid |= (uint64_t)has << i;
	}
	return (int)f->n_cols;
}

static size_t total_cols(const struct model_run *r, const struct model_axis *a, size_t n_frames)
{
	size_t n = 0;
	for (size_t i = 0; i < n_frames; i++)
		n += r->frames[a->frames[i]]->n_cols;
	return n;
}

static int read_rows(struct model_ndjson_reader *rd, const struct model_dec *d,
		     const struct model_axis *a, const struct js *rows)
{
	size_t n = js_len(rows), at = 0;
	if (js_type(rows) != JS_ARR || n > a->n_frames)
		return model_dec_bad(d, "rows", "is no list of one row a frame");
	free(rd->rows);
	free(rd->values);
	rd->rows = calloc(n + 1, sizeof(*rd->rows));
	rd->values = calloc(total_cols(d->r, a, n) + 1, sizeof(*rd->values));
	if (!rd->rows || !rd->values)
		return model_dec_limit(d);
	for (size_t i = 0; i < n; i++) {
		int cols = read_row(d, d->r->frames[a->frames[i]], js_at(rows, i), &rd->rows[i],
				    rd->values + at);
		if (cols < 0)
			return cols;
		at += (size_t)cols;
	}
	return 0;
}

static int read_tick(struct model_ndjson_reader *rd, const struct model_dec *d, const struct js *o)
{
	int64_t axis, flags = 0;
	struct model_tick t = {0};
	const struct js *f = js_get(o, "flags"), *rows = js_get(o, "rows");
	if (!js_i64(js_get(o, "axis"), &axis) || axis < 0 || (uint64_t)axis >= d->r->n_axes)
		return model_dec_bad(d, "axis", "refers to nothing");
	if (!js_i64(js_get(o, "t0_ns"), &t.t0) || !js_i64(js_get(o, "t1_ns"), &t.t1))
		return model_dec_bad(d, "t0_ns", "or 't1_ns' is no time");
	if (f && (!js_i64(f, &flags) || flags < 0 || flags > UINT8_MAX))
		return model_dec_bad(d, "flags", "is out of range");
	int rc = read_rows(rd, d, d->r->axes[axis], rows);
	if (rc)
		return rc;
	t.axis = (uint32_t)axis;
	t.flags = (unsigned)flags;
	t.rows = rd->rows;
	t.n_rows = js_len(rows);
	rc = model_append(d->r, &t);
	if (rc == -EINVAL)
		return model_dec_bad(d, "t1_ns", "is before 't0_ns', or both are out of range");
	return 0; /* at the memory cap: the run has the event that says so */
}

static int read_tag(const struct model_dec *d, const struct js *o)
{
	return model_dec_tag(d, js_str(js_get(o, "key"), NULL), js_str(js_get(o, "value"), NULL));
}

static int read_run(struct model_ndjson_reader *rd, struct model_dec *d, const struct js *o)
{
	if (rd->run)
		return model_dec_bad(d, "type", "says 'run' a second time");
	int rc = model_dec_run(o, &d->r, d->e);
	rd->run = d->r;
	return rc ? rc : model_dec_head(d, o);
}

static int read_end(struct model_ndjson_reader *rd, const struct model_dec *d, const struct js *o)
{
	int rc = model_dec_head(d, o);
	rd->ended = !rc;
	return rc;
}

static int read_listed(const struct model_dec *d, const char *type, const struct js *o)
{
	for (int list = 0; list < LIST_NUM; list++) {
		if (!strcmp(type, model_list_names[list].one))
			return model_dec_item(d, list, o);
	}
	return 0; /* a newer version's line */
}

static int read_object(struct model_ndjson_reader *rd, struct model_dec *d, const struct js *o)
{
	const char *type = js_str(js_get(o, "type"), NULL);
	if (!type)
		return model_dec_bad(d, "type", "is missing");
	if (!strcmp(type, "run"))
		return read_run(rd, d, o);
	if (!d->r || rd->ended)
		return model_dec_bad(d, "type", d->r ? "comes after 'end'" : "comes before 'run'");
	if (d->r->priv->text_bytes > d->r->mem_cap)
		return model_dec_limit(d); /* a stream without end, of texts */
	if (!strcmp(type, "tick"))
		return read_tick(rd, d, o);
	if (!strcmp(type, "tag"))
		return read_tag(d, o);
	if (!strcmp(type, "end"))
		return read_end(rd, d, o);
	return read_listed(d, type, o);
}

static bool is_blank(const char *line, size_t n)
{
	while (n && strchr(" \t\r", line[n - 1]))
		n--;
	return n == 0;
}

int model_ndjson_line(struct model_ndjson_reader *rd, const char *line, size_t n,
		      struct weir_err *e)
{
	struct model_dec d = {.r = rd->run, .e = e, .what = "line", .at = ++rd->line};
	struct js_doc *doc = NULL;
	if (is_blank(line, n))
		return 0;
	int rc = js_parse(line, n, &line_limits, &doc, e);
	if (rc)
		err_wrap(e, "line %zu", rd->line);
	else
		rc = read_object(rd, &d, js_root(doc));
	js_free(doc);
	return rc;
}

struct model_run *model_ndjson_run(struct model_ndjson_reader *rd)
{
	return rd->run;
}

struct model_run *model_ndjson_take(struct model_ndjson_reader *rd)
{
	struct model_run *r = rd->run;
	rd->run = NULL;
	return r;
}

void model_ndjson_reader_free(struct model_ndjson_reader *rd)
{
	if (!rd)
		return;
	model_run_free(rd->run);
	free(rd->rows);
	free(rd->values);
	free(rd);
}
