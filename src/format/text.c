/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report at a terminal: a line that says what is measured, rows while it runs, then the
 * receiver's goodput of each direction, both ends' views, what limited it, and what was wrong. The
 * same sink serves a live run, a stored one, and one that was cut off.
 */
#include "format/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_HEADS   8
#define INTERVAL    15 /* columns of "10.143-10.145 s" */
#define SPARK_MOST  24
#define SPARK_LINE  60 /* on a line of its own */
#define SPARK_LEAST 8

struct row_shape {                /* what the interval rows show; a change prints a new head line */
	unsigned heads;           /* bit i: head i has a column */
	bool dirs, flows, summed; /* columns for these; rows of several flows */
};
struct text {
	struct format_sink base;
	struct row_shape shape;
	bool head_due, rows, said_far;
};

static struct text *text_of(struct sink *s)
{
	return (struct text *)s;
}

static const char *paint(const struct text *t, const char *code)
{
	return t->base.o.colour ? code : "";
}
#define BOLD   "\033[1m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[0m"

static void line(const struct text *t, const char *label, const char *words)
{
	format_wrap(t->base.out, label, FORMAT_LABEL, words, (size_t)t->base.o.width);
}

/* ---- begin ---------------------------------------------------------------- */

static void put_made(const struct text *t, const struct model_run *r)
{
	struct buf b = {0};
	bool unicode = t->base.o.unicode;
	char when[32] = "unknown";
	if (r->start_real_ns != MODEL_NO_TIME)
		clk_format_utc(when, sizeof(when), r->start_real_ns);
	buf_puts(&b, when);
	buf_puts(&b, ", run ");
	format_foreign(&b, r->id, unicode);
	for (size_t i = 0; i < r->n_tags; i++) {
		buf_puts(&b, ", ");
		format_foreign(&b, r->tags[i].k, unicode);
		buf_putc(&b, '=');
		format_foreign(&b, r->tags[i].v, unicode);
	}
	line(t, "started", b.data ? b.data : "");
	buf_fini(&b);
}

static void text_begin(struct sink *s, const struct model_run *r)
{
	struct text *t = text_of(s);
	struct buf b = {0}, setting = {0};
	bool unicode = t->base.o.unicode;
	if (t->base.o.quiet)
		return;
	/* A line of its own, whole if it can be: it may say what the rest is worth. But for another's. */
	if (r->title && !r->source.file) {
		format_foreign(&b, r->title, unicode);
		format_wrap(t->base.out, "", 0, b.data ? b.data : "", (size_t)t->base.o.width);
		buf_clear(&b);
	}
	buf_puts(&b, "weir ");
	format_foreign(&b, r->kind, unicode);
	if (r->host[MODEL_FAR].name || r->request)
		buf_putc(&b, ' ');
	format_far_name(r, &b, unicode);
	format_setting(r, &setting, r->source.file, unicode);
	if (setting.len)
		buf_printf(&b, "  (%s)", setting.data);
	format_wrap(t->base.out, "", 0, b.data ? b.data : "", (size_t)t->base.o.width);
	t->said_far = r->host[MODEL_FAR].tool != NULL;
	if (!t->base.o.live_rows)
		put_made(t, r);
	buf_fini(&setting);
	buf_fini(&b);
}

/* ---- interval rows ---------------------------------------------------------- */

struct heads {
	const char *name[ROW_HEADS];
	const struct format_col *first[ROW_HEADS];
	size_t n;
};

static struct heads heads_of(const struct format_layout *l)
{
	struct heads h = {0};
	for (size_t i = 0; i < l->n_interval; i++) {
		if (h.n && !strcmp(h.name[h.n - 1], l->interval[i].head))
			continue;
		if (h.n == ROW_HEADS)
			break;
		h.name[h.n] = l->interval[i].head;
		h.first[h.n++] = &l->interval[i];
	}
	return h;
}

/* The column of a head that the group has; NULL if none. */
static const struct format_col *head_col(const struct model_run *r, const struct format_layout *l,
					 const char *head, const struct format_group *g)
{
	for (size_t i = 0; i < l->n_interval; i++) {
		const struct format_col *c = &l->interval[i];
		bool view_ok = c->view == FORMAT_ANY || c->view == g->view;
		if (!strcmp(c->head, head) && view_ok && format_group_has(r, g, c->metric))
			return c;
	}
	return NULL;
}

static struct row_shape shape_of(const struct text *t, const struct model_run *r)
{
	const struct format_layout *l = format_layout(r->kind);
	struct heads h = heads_of(l);
	struct row_shape shape = {.dirs = format_dirs(r) == 3 ||
					  format_json_true(r->request, "each-way")};
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct format_group g;
		int64_t first, n = format_flows(r, dir, &first);
		if (!format_group_pick(r, dir, FORMAT_ANY, &g))
			continue;
		for (size_t i = 0; i < h.n; i++)
			if (head_col(r, l, h.name[i], &g))
				shape.heads |= 1u << i;
		shape.summed |= n > 1;
	}
	for (const char *const *d = t->base.o.row_dims; d && *d; d++)
		shape.flows |= shape.summed && !strcmp(*d, "flow");
	return shape;
}

static void put_cell(struct buf *b, const char *text, int width)
{
	int n = (int)format_columns(text, strlen(text));
	buf_puts(b, "  ");
	buf_repeat(b, ' ', n < width ? (size_t)(width - n) : 0);
	buf_puts(b, text);
}

/* A gauge of several flows is their mean or, of bytes, their sum. */
static const char *how_summed(const struct text *t, bool gauge, const struct model_metric *m)
{
	if (!gauge || !t->shape.summed || t->shape.flows)
		return "";
	return m->unit == UNIT_BYTE ? "sum " : "mean ";
}

static void put_head(struct text *t, const struct model_run *r)
{
	struct buf *b = t->base.out;
	struct heads h = heads_of(format_layout(r->kind));
	buf_printf(b, "%-*s", INTERVAL, "interval");
	if (t->shape.dirs)
		buf_puts(b, " dir ");
	if (t->shape.flows)
		buf_puts(b, "  flow");
	for (size_t i = 0; i < h.n; i++) {
		const struct model_metric *m = model_metric(h.first[i]->metric);
		bool gauge = m && m->kind == MODEL_GAUGE;
		char head[32];
		if (!(t->shape.heads & 1u << i))
			continue;
		snprintf(head, sizeof(head), "%s%s", how_summed(t, gauge, m), h.name[i]);
		put_cell(b, head, h.first[i]->width);
	}
	buf_putc(b, '\n');
}

static void put_flags(struct buf *b, unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *word;
	} words[] = {{ROW_OMITTED, "omitted"}, {ROW_SHORT, "short"}, {ROW_LATE, "late"}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (flags & words[i].flag)
			buf_printf(b, "  %s", words[i].word);
}

static void put_row(struct text *t, const struct model_run *r, const struct model_tick *tick,
		    const struct format_group *g)
{
	const struct format_layout *l = format_layout(r->kind);
	struct heads h = heads_of(l);
	struct buf row = {0}, *b = &row, cell = {0};
	const struct model_axis *a = tick->axis < r->n_axes ? r->axes[tick->axis] : NULL;
	int64_t origin = a && a->part < r->n_parts ? r->parts[a->part].t0 : 0;
	format_interval(&cell, tick->t0, tick->t1, origin);
	buf_printf(b, "%-*s", INTERVAL, cell.data ? cell.data : "");
	if (t->shape.dirs)
		buf_printf(b, " %-4s", format_dir_name(g->dir));
	if (t->shape.flows && g->flow >= 0)
		buf_printf(b, "  %4lld", (long long)g->flow);
	else if (t->shape.flows)
		buf_puts(b, "   all");
	for (size_t i = 0; i < h.n; i++) {
		if (!(t->shape.heads & 1u << i))
			continue;
		const struct format_col *c = head_col(r, l, h.name[i], g);
		const struct model_metric *m = c ? model_metric(c->metric) : NULL;
		double v;
		buf_clear(&cell);
		if (m && format_tick_value(r, tick, g, c->metric, &v))
			format_value_put(&cell, v, m, c->digits, t->base.o.unicode);
		else if (m)
			buf_puts(&cell, "unknown");
		put_cell(b, cell.data && cell.len ? cell.data : "", h.first[i]->width);
	}
	put_flags(b, tick->flags);
	while (row.len && row.data[row.len - 1] == ' ') /* empty cells at the end */
		row.len--;
	buf_put(t->base.out, row.data ? row.data : "", row.len);
	buf_putc(t->base.out, '\n');
	buf_fini(&row);
	buf_fini(&cell);
}

static void put_rows(struct text *t, const struct model_run *r, const struct model_tick *tick,
		     const struct format_group *total)
{
	struct format_group g = *total;
	int64_t first, n = format_flows(r, total->dir, &first);
	for (int64_t i = 0; t->shape.flows && i < n; i++) {
		g.flow = first + i;
		put_row(t, r, tick, &g);
	}
	if (!t->shape.flows || n > 1)
		put_row(t, r, tick, total);
}

static void text_sample(struct sink *s, const struct model_run *r, const struct model_tick *tick)
{
	struct text *t = text_of(s);
	bool wanted = t->base.o.intervals || t->base.o.live_rows;
	if (t->base.o.quiet || !wanted)
		return;
	struct row_shape shape = shape_of(t, r);
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct format_group g;
		if (!format_group_pick(r, dir, FORMAT_ANY, &g) ||
		    !format_group_on_axis(r, &g, tick->axis))
			continue;
		bool same = t->rows && shape.heads == t->shape.heads &&
			    shape.dirs == t->shape.dirs && shape.flows == t->shape.flows &&
			    shape.summed == t->shape.summed;
		t->shape = shape;
		if (!same)
			put_head(t, r);
		t->rows = true;
		put_rows(t, r, tick, &g);
	}
}

/* ---- end ------------------------------------------------------------------------ */

/* Behind the result where there is room behind all of them, else on a line of its own. */
static void put_spark(struct text *t, const struct model_run *r, int dir, size_t used)
{
	struct buf *b = t->base.out, spark = {0};
	size_t width = (size_t)t->base.o.width;
	bool fits = used + 3 + SPARK_LEAST <= width;
	size_t most = fits ? SPARK_MOST : SPARK_LINE;
	size_t room = fits ? width - used - 3 : width > FORMAT_LABEL ? width - FORMAT_LABEL : 1;
	if (!t->base.o.quiet && (t->base.o.unicode || !t->rows) &&
	    format_run_spark(r, dir, &spark, room < most ? room : most, t->base.o.unicode)) {
		if (fits)
			buf_puts(b, "   ");
		else
			buf_printf(b, "\n%-*s", FORMAT_LABEL, "over time");
		buf_puts(b, spark.data ? spark.data : "");
	}
	buf_putc(b, '\n');
	buf_fini(&spark);
}

/* The line of a direction as far as it is written now; its width in columns. */
static size_t result_line(const struct text *t, const struct model_run *r, int dir, struct buf *b)
{
	struct buf value = {0}, words = {0};
	format_result(r, dir, &value, &words, t->base.o.unicode);
	const char *v = value.data ? value.data : "", *w = words.data ? words.data : "";
	size_t used = FORMAT_LABEL + format_columns(v, strlen(v));
	buf_printf(b, "%-*s", FORMAT_LABEL, format_result_label(r));
	if (dir >= 0) {
		buf_printf(b, "%-4s  ", format_dir_name(dir));
		used += 6;
	}
	buf_printf(b, "%s%s%s", paint(t, BOLD), v, paint(t, PLAIN));
	if (*w) {
		buf_printf(b, "  (%s)", w);
		used += format_columns(w, strlen(w)) + 4;
	}
	buf_fini(&value);
	buf_fini(&words);
	return used;
}

static void put_result(struct text *t, const struct model_run *r, int dir, size_t widest)
{
	result_line(t, r, dir, t->base.out);
	put_spark(t, r, dir, widest);
}

static void put_results(struct text *t, const struct model_run *r)
{
	unsigned dirs = format_dirs(r);
	struct buf scratch = {0};
	size_t widest = 0;
	if (!format_result_label(r))
		return;
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		size_t used = dirs & 1u << dir ? result_line(t, r, dir, &scratch) : 0;
		widest = used > widest ? used : widest;
	}
	buf_fini(&scratch);
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++)
		if (dirs & 1u << dir)
			put_result(t, r, dir, widest);
	if (!dirs && r->outcome != OUTCOME_FAILED)
		put_result(t, r, FORMAT_ANY, FORMAT_LABEL);
}

static void put_grid(struct text *t, struct format_grid *g, bool there)
{
	if (there)
		format_grid_text(g, t->base.out, FORMAT_LABEL, (size_t)t->base.o.width);
	format_grid_fini(g);
}

static void put_grids(struct text *t, const struct model_run *r)
{
	static const int order[] = {MODEL_UP, MODEL_DOWN, FORMAT_DIRLESS};
	unsigned dirs = format_dirs(r);
	bool unicode = t->base.o.unicode;
	struct format_grid g = {0};
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (order[i] >= 0 && !(dirs & 1u << order[i]))
			continue;
		put_grid(t, &g, format_report_grid(r, order[i], &g, unicode));
		if (order[i] >= 0)
			put_grid(t, &g, format_flow_grid(r, order[i], &g, unicode));
	}
	put_grid(t, &g, format_curve_grid(r, &g, unicode));
	if (!format_result_label(r))
		put_grid(t, &g, format_all_grid(r, &g, unicode));
}

static void put_event(void *arg, enum model_severity sev, const char *text)
{
	struct text *t = arg;
	bool loud = sev != MODEL_NOTE;
	buf_puts(t->base.out, loud ? paint(t, YELLOW) : "");
	line(t, format_severity(sev), text);
	if (loud)
		buf_puts(t->base.out, paint(t, PLAIN));
}

static void put_labelled(struct text *t, const char *label, const char *foreign)
{
	struct buf b = {0};
	format_foreign(&b, foreign, t->base.o.unicode);
	line(t, label, b.data ? b.data : "");
	buf_fini(&b);
}

static void put_far(struct text *t, const struct model_run *r)
{
	struct buf b = {0};
	format_tool(&r->host[MODEL_FAR], &b, t->base.o.unicode);
	line(t, "far end", b.data ? b.data : "");
	buf_fini(&b);
}

static void put_failure(struct text *t, const struct model_run *r)
{
	struct buf b = {0};
	enum model_severity sev;
	if (format_outcome(r, &sev, &b, t->base.o.unicode) && b.data)
		put_event(t, sev, b.data);
	buf_fini(&b);
}

/* What no reader of the figure may miss, however few words he wants. */
static void put_reserve(struct text *t, const struct model_run *r)
{
	for (size_t i = 0; i < r->n_events; i++) {
		if (r->events[i].code == WARN_LOAD_DEFAULT)
			put_event(t, MODEL_NOTE, model_warn(WARN_LOAD_DEFAULT)->text);
	}
}

static void text_end(struct sink *s, const struct model_run *r)
{
	struct text *t = text_of(s);
	if (t->base.o.quiet) {
		put_results(t, r);
		put_reserve(t, r);
		return;
	}
	if (t->rows)
		buf_putc(t->base.out, '\n');
	put_results(t, r);
	put_grids(t, r);
	if (r->limited)
		put_labelled(t, "limited by", r->limited);
	if (!t->said_far && r->host[MODEL_FAR].tool)
		put_far(t, r);
	put_failure(t, r);
	format_events(r, t->base.o.unicode, put_event, t);
}

struct sink *format_text(struct buf *out, const struct format_opts *o)
{
	struct format_sink *f = format_sink_new(sizeof(struct text), out, o);
	if (!f)
		return NULL;
	f->sink.begin = text_begin;
	f->sink.sample = text_sample;
	f->sink.end = text_end;
	return &f->sink;
}
