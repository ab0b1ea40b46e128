/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir's own CSV read back: a record begins with what kind of row it is, its fields are those of the
 * writer's head line, and it may go on behind a line's end that a mail put into it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/csv_table.h"
#include "format/reader.h"

#define FIELDS_MAX (CSV_COLS + 8)
#define RECORD_MAX 4096
#define FIELD_MAX  64

struct record {
	size_t n, end; /* fields; where it ends in the text */
	struct field {
		const char *s;
		size_t n;
	} field[FIELDS_MAX];
};

/* Fields up to a line's end behind which the next record begins, or none is open any more. */
static bool split(const struct lex *l, size_t at, struct record *r)
{
	size_t end = l->len - at > RECORD_MAX ? at + RECORD_MAX : l->len;
	bool quoted = false;

	r->n = 0;
	for (size_t i = at, from = at;; i++) {
		char c = i < end ? l->text[i] : '\n';

		if (c == '"')
			quoted = !quoted;
		if (i < end && (quoted || (c != ',' && c != '\n')))
			continue;
		if (c == '\n' && i < l->len && r->n + 1 < CSV_COLS && i < end)
			continue;
		if (r->n < FIELDS_MAX)
			r->field[r->n++] = (struct field){l->text + from, i - from};
		from = i + 1;
		r->end = i;
		if (c == '\n')
			break;
	}
	return r->n >= CSV_COLS && r->end < l->len;
}

/* A field without the blanks and line's ends around it; "" when it is too long to be one of ours. */
static const char *text_of(const struct record *r, enum csv_col col, char dst[FIELD_MAX])
{
	const struct field *f = &r->field[col];
	size_t a = 0, n = f->n;

	while (a < n && strchr(" \t\n\"", f->s[a]))
		a++;
	while (n > a && strchr(" \t\n\"", f->s[n - 1]))
		n--;
	n -= a;
	if (n >= FIELD_MAX)
		n = 0;
	memcpy(dst, f->s + a, n);
	dst[n] = '\0';
	return dst;
}

static bool number_of(const struct record *r, enum csv_col col, double *v)
{
	char text[FIELD_MAX], *end;

	text_of(r, col, text);
	if (!*text || text[strspn(text, "+-.0123456789eE")])
		return false;
	*v = strtod(text, &end);
	return !*end && isfinite(*v) && fabs(*v) < 1e300;
}

/* False: a dimension that a report cannot hold (names), or no such value. */
static bool dims_of(const struct record *r, struct model_dims *d)
{
	char text[FIELD_MAX];

	*d = DIMS_NONE;
	for (int id = 0; id < DIM_MAX; id++) {
		const struct model_dim *dim = model_dim((enum model_dim_id)id);
		double v = 0;

		if (!*text_of(r, (enum csv_col)(CSV_DIMS + id), text))
			continue;
		if (dim->type == MODEL_DIM_ENUM) {
			int k = 0;

			while (dim->values[k] && strcmp(dim->values[k], text) != 0)
				k++;
			if (!dim->values[k])
				return false;
			v = k;
		} else if (dim->type == MODEL_DIM_STR ||
			   !number_of(r, (enum csv_col)(CSV_DIMS + id), &v) || v < 0 || v > 1e9) {
			return false;
		}
		*d = model_dims_with(*d, (enum model_dim_id)id, (int64_t)v);
	}
	return true;
}

static int stat_of(const char *text)
{
	for (int s = 0; s < STAT_NUM; s++)
		if (!strcmp(model_stat_name((enum model_stat)s), text))
			return s;
	return -1;
}

/* A metric of ours by its own name, another by one that lives as long as the report. */
static const char *metric_of(const struct record *r, struct format_found *f, enum unit *unit)
{
	char name[FIELD_MAX], text[FIELD_MAX];
	const struct model_metric *m = model_metric(text_of(r, CSV_METRIC, name));

	if (m) {
		*unit = m->unit;
		return m->name;
	}
	if (strncmp(name, "ext.", 4) != 0 || unit_from_name(text_of(r, CSV_UNIT, text), unit) < 0)
		return NULL;
	return found_name(f, "%s", name);
}

static void put_summary(const struct record *r, struct format_found *f)
{
	char text[FIELD_MAX], mark[FIELD_MAX];
	struct model_dims d;
	enum unit unit = UNIT_NONE;
	double v;
	int stat = stat_of(text_of(r, CSV_STAT, text));
	const char *metric;

	if (stat < 0 || !dims_of(r, &d) || !strcmp(text_of(r, CSV_PART_NAME, text), "omit"))
		return;
	metric = metric_of(r, f, &unit);
	text_of(r, CSV_MARK, mark);
	if (!metric)
		return;
	if (!number_of(r, CSV_VALUE, &v)) {
		if (!strcmp(mark, CSV_UNKNOWN) && stat == STAT_VALUE)
			found_unknown(f, metric, d);
		return;
	}
	found_ext(f, metric, unit, (enum model_stat)stat, d, v, 0);
	for (size_t i = 0; i < ARRAY_LEN(csv_provs); i++)
		if (*csv_provs[i] && !strcmp(mark, csv_provs[i]))
			found_prov(f, (enum model_prov)i);
}

/* The column of a metric; those of the kind's rows are there from the beginning. */
static size_t column(struct format_found *f, const char *metric)
{
	size_t i = 0;

	while (i < f->n_col && strcmp(f->col[i], metric) != 0)
		i++;
	if (i == f->n_col && i < FOUND_COLS)
		f->col[f->n_col++] = metric;
	return i;
}

static unsigned flags_of(const char *mark)
{
	return (strstr(mark, "short") ? ROW_SHORT : 0u) |
	       (strstr(mark, "omitted") ? ROW_OMITTED : 0u) |
	       (strstr(mark, "late") ? ROW_LATE : 0u);
}

static int dim_or_none(const struct model_dims *d, enum model_dim_id id)
{
	return d->has >> id & 1 ? (int)d->v[id] : -1;
}

static void put_sample(const struct record *r, struct format_found *f)
{
	char text[FIELD_MAX];
	const struct model_metric *m = model_metric(text_of(r, CSV_METRIC, text));
	struct found_row *row = f->n_row ? &f->row[f->n_row - 1] : NULL;
	struct model_dims d;
	double t0, t1, v;
	size_t col;
	int flow, dir, view;

	if (!m || !dims_of(r, &d) || !number_of(r, CSV_T0, &t0) || !number_of(r, CSV_T1, &t1) ||
	    !(t1 >= t0) || fabs(t0) > 1e9 || fabs(t1) > 1e9 || !number_of(r, CSV_VALUE, &v))
		return;
	col = column(f, m->name);
	flow = dim_or_none(&d, DIM_FLOW);
	dir = dim_or_none(&d, DIM_DIR);
	view = dim_or_none(&d, DIM_VIEW);
	if (col == FOUND_COLS)
		return;
	if (!row || row->t0 != llround(t0 * 1e9) || row->t1 != llround(t1 * 1e9) ||
	    row->flow != flow || row->dir != dir || row->view != view || !isnan(row->v[col]))
		row = found_row(f, t0, t1);
	if (!row)
		return;
	row->flow = flow;
	row->dir = dir;
	row->view = view;
	row->flags = flags_of(text_of(r, CSV_MARK, text));
	row->v[col] = v;
}

static void put_event(const struct record *r, struct format_found *f)
{
	char text[FIELD_MAX];
	int code = model_warn_find(text_of(r, CSV_METRIC, text));

	if (code >= 0)
		found_warn(f, (enum model_warn_code)code, "as the report says");
	f->partial = f->partial || code == WARN_INCOMPLETE;
}

static const struct {
	const char *name;
	void (*put)(const struct record *r, struct format_found *f);
} rows[] = {{CSV_SAMPLE, put_sample}, {CSV_SUMMARY, put_summary}, {CSV_EVENT, put_event}};

static size_t row_of(const struct lex *l, size_t i)
{
	size_t k = 0;

	while (k < ARRAY_LEN(rows) && !lex_is(l, i, rows[k].name))
		k++;
	return lex_line(l, i) && lex_is(l, i + 1, ",") ? k : ARRAY_LEN(rows);
}

static bool is_head(const struct lex *l, size_t i)
{
	return lex_is(l, i, csv_first[0]) && lex_is(l, i + 1, ",") &&
	       lex_is(l, i + 2, csv_first[1]) && lex_is(l, i + 3, ",") &&
	       lex_is(l, i + 4, csv_first[2]);
}

static size_t head_end(const struct lex *l, size_t i)
{
	size_t end = i + 3 * (size_t)CSV_COLS;

	while (i < l->n && i < end && !lex_is(l, i, csv_last[ARRAY_LEN(csv_last) - 1]))
		i++;
	return i < l->n ? i + 1 : l->n;
}

/* The kind's own columns first: of many more, a report has room for only some. */
static void begin(const struct record *r, struct format_found *f)
{
	char kind[FIELD_MAX];
	const struct format_layout *y = format_layout(text_of(r, CSV_KIND, kind));

	f->what = y->kind ? y->kind : f->kind;
	for (size_t i = 0; i < y->n_interval; i++)
		column(f, y->interval[i].metric);
	column(f, "bytes");
}

static bool same_run(const struct record *r, const char *run)
{
	char text[FIELD_MAX];

	return !strcmp(text_of(r, CSV_RUN, text), run);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	char run[FIELD_MAX] = "";
	struct record r;
	size_t last = i + 1, k;

	snprintf(f->tool, sizeof(f->tool), "weir");
	if (is_head(l, i))
		i = last = head_end(l, i);
	for (; i < l->n; last = i) {
		k = row_of(l, i);
		if (k == ARRAY_LEN(rows) || !split(l, l->tok[i].off, &r) ||
		    (*run && !same_run(&r, run)))
			break;
		if (!*run) {
			text_of(&r, CSV_RUN, run);
			begin(&r, f);
		}
		rows[k].put(&r, f);
		while (i < l->n && l->tok[i].off < r.end)
			i++;
	}
	if (!f->n_row)
		f->n_col = 0;
	return last;
}

static bool sniff(const struct lex *l, size_t i)
{
	struct record r;
	char text[FIELD_MAX];

	if (is_head(l, i))
		return true;
	return row_of(l, i) < ARRAY_LEN(rows) && split(l, l->tok[i].off, &r) &&
	       strlen(text_of(&r, CSV_RUN, text)) == 36;
}

const struct reader reader_weir_csv = {"weir-csv", "ro sa su ev", sniff, parse};
