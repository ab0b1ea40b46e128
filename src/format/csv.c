/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One value a line ("tidy"), so that one header serves every kind of run: samples as they come,
 * then summaries and events. `row` tells them apart; a dimension is a column and empty where it
 * does not apply; numbers are in base units and full precision; unknown is empty.
 */
#include "format/csv_table.h"
#include "format/priv.h"

#include <stdlib.h>
#include <string.h>

struct csv_row {
	const struct model_run *run;
	const char *row; /* "sample", "summary", "event" */
	uint32_t part;
	int64_t t0, t1;
	const struct model_dims *dims;
	const char *metric, *stat, *unit;
	double value;
	bool known;
	const char *mark;
};

static void put_number(struct buf *b, double v)
{
	struct jw w = jw_init(b);
	jw_f64(&w, NULL, v);
}

static void put_time(struct buf *b, int64_t t)
{
	buf_putc(b, ',');
	if (t != MODEL_NO_TIME)
		put_number(b, (double)t / 1e9);
}

static void put_field(struct buf *b, const char *s)
{
	buf_putc(b, ',');
	safe_csv(b, s ? s : "");
}

static void put_part(struct buf *b, const struct model_run *r, uint32_t part)
{
	buf_putc(b, ',');
	if (part < r->n_parts)
		buf_printf(b, "%u", part);
	put_field(b, part < r->n_parts ? r->parts[part].name : NULL);
}

static void put_dims(struct buf *b, const struct model_run *r, const struct model_dims *d)
{
	struct buf cell = {0};
	for (int id = 0; id < DIM_MAX; id++) {
		buf_clear(&cell);
		if (d->has & (1u << id))
			format_dim_put(&cell, r, d, id);
		put_field(b, cell.data && cell.len ? cell.data : "");
	}
	buf_fini(&cell);
}

static void put_row(struct buf *b, const struct csv_row *c)
{
	buf_puts(b, c->row);
	put_field(b, c->run->id);
	put_field(b, c->run->kind);
	put_part(b, c->run, c->part);
	put_time(b, c->t0);
	put_time(b, c->t1);
	put_dims(b, c->run, c->dims);
	put_field(b, c->metric);
	put_field(b, c->stat);
	buf_putc(b, ',');
	if (c->known)
		put_number(b, c->value);
	put_field(b, c->unit);
	put_field(b, c->mark);
	buf_putc(b, '\n');
}

static void csv_begin(struct sink *s, const struct model_run *r)
{
	struct buf *b = ((struct format_sink *)s)->out;
	(void)r;
	if (((struct format_sink *)s)->o.goes_on)
		return;
	for (size_t i = 0; i < ARRAY_LEN(csv_first); i++)
		buf_printf(b, "%s%s", i ? "," : "", csv_first[i]);
	for (int id = 0; id < DIM_MAX; id++)
		buf_printf(b, ",%s", model_dim(id)->name);
	for (size_t i = 0; i < ARRAY_LEN(csv_last); i++)
		buf_printf(b, ",%s", csv_last[i]);
	buf_putc(b, '\n');
}

static const char *flag_words(unsigned flags)
{
	static const char *const words[] = {
		"",     "short",      "omitted",      "omitted short",
		"late", "short late", "omitted late", "omitted short late"};
	return words[flags & (ROW_SHORT | ROW_OMITTED | ROW_LATE)];
}

static double cell_value(const struct model_col *c, union model_value v)
{
	return c->metric->type == MODEL_U64   ? (double)v.u
	       : c->metric->type == MODEL_I64 ? (double)v.i
					      : v.f;
}

/* The rate that follows from a frame's bytes, so that nobody has to divide. */
static void put_rate(struct buf *b, const struct model_run *r, const struct model_tick *t,
		     const struct model_row *row, struct csv_row *c)
{
	static const char *const rates[] = {"goodput", "throughput.sent"};
	const struct model_tick one = {t->axis, t->t0, t->t1, t->flags, row, 1};
	const struct format_group any = {FORMAT_ANY, FORMAT_ANY, FORMAT_ANY, -1};
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		if (!format_tick_value(r, &one, &any, rates[i], &c->value))
			continue;
		c->metric = rates[i];
		c->stat = "value";
		c->unit = unit_name(UNIT_BPS);
		c->known = true;
		put_row(b, c);
	}
}

static void csv_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct buf *b = ((struct format_sink *)s)->out;
	const struct model_axis *a = t->axis < r->n_axes ? r->axes[t->axis] : NULL;
	struct csv_row c = {.run = r,
			    .row = CSV_SAMPLE,
			    .part = a ? a->part : MODEL_NO_PART,
			    .t0 = t->t0,
			    .t1 = t->t1,
			    .mark = flag_words(t->flags)};
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct model_row *row = &t->rows[i];
		const struct model_frame *f =
			row->frame < r->n_frames ? r->frames[row->frame] : NULL;
		for (size_t k = 0; f && k < f->n_cols && k < 64; k++) {
			const struct model_metric *m = f->cols[k].metric;
			c.dims = &f->dims;
			c.metric = m->name;
			c.stat = m->kind == MODEL_COUNTER ? "delta" : "value";
			c.unit = unit_name(m->unit);
			c.known = row->valid >> k & 1;
			c.value = c.known ? cell_value(&f->cols[k], row->v[k]) : 0;
			put_row(b, &c);
		}
		if (f)
			put_rate(b, r, t, row, &c);
	}
}

static const char *summary_mark(const struct model_summary *s)
{
	if (s->state != MODEL_KNOWN)
		return s->state == MODEL_NA ? CSV_NA : CSV_UNKNOWN;
	return (unsigned)s->prov < ARRAY_LEN(csv_provs) ? csv_provs[s->prov] : "";
}

static void put_summaries(struct buf *b, const struct model_run *r)
{
	const struct model_part none = {.t0 = MODEL_NO_TIME, .t1 = MODEL_NO_TIME};

	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *s = &r->sums[i];
		const struct model_part *p = s->part < r->n_parts ? &r->parts[s->part] : &none;
		struct csv_row c = {r,
				    CSV_SUMMARY,
				    s->part,
				    p->t0,
				    p->t1,
				    &s->dims,
				    s->metric->name,
				    model_stat_name(s->stat),
				    unit_name(s->metric->unit),
				    s->value,
				    s->state == MODEL_KNOWN,
				    summary_mark(s)};
		put_row(b, &c);
	}
}

static void put_events(struct buf *b, const struct model_run *r)
{
	for (size_t i = 0; i < r->n_events; i++) {
		const struct model_event *e = &r->events[i];
		const struct model_warn *w = model_warn(e->code);
		struct csv_row c = {.run = r,
				    .row = CSV_EVENT,
				    .part = e->part,
				    .t0 = e->t,
				    .t1 = e->t,
				    .dims = &e->subject,
				    .metric = w ? w->code : "",
				    .stat = format_severity(e->severity),
				    .mark = e->text ? e->text
					    : w     ? w->text
						    : ""};
		put_row(b, &c);
	}
}

static void csv_end(struct sink *s, const struct model_run *r)
{
	struct buf *b = ((struct format_sink *)s)->out;
	put_summaries(b, r);
	put_events(b, r);
}

struct sink *format_csv(struct buf *out, const struct format_opts *o)
{
	struct format_sink *f = format_sink_new(0, out, o);
	if (!f)
		return NULL;
	f->sink.begin = csv_begin;
	f->sink.sample = csv_sample;
	f->sink.end = csv_end;
	return &f->sink;
}
