/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir's own reports for people read back: text, paste and Markdown say the same with the names and
 * phrases of layout.c, so their rows are found by that table, whatever stands between the cells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/priv.h"
#include "format/reader.h"
#include "format/weir_text.h"

#define GAP   160 /* tokens of names and requests between what is known */
#define WORDS 60  /* of what is in brackets behind a result */
#define LINE  200 /* bytes of one */
#define HEADS 8

enum section { NOTHING, INTERVALS, VIEWS, FLOWS, FIGURES, TRIALS };
struct ctx {
	const struct lex *l;
	struct format_found *f;
	const char *kind; /* or NULL */
	unsigned dirs;    /* that results were told of */
	enum section section;
	int dir;   /* of the table; -1 = none said */
	bool ends; /* its columns are hosts */
	bool told[2];
	size_t right;                     /* where its second column begins; 0 = not known */
	const struct format_layout *rows; /* of the intervals */
	const char *head[HEADS];
	const struct format_flow_col *flow[FORMAT_FLOW_COLS];
	size_t n_head;
	bool flows;
	int step;
};

/* ---- figures ---- */

static enum unit unit_of(const char *metric)
{
	const struct model_metric *m = model_metric(metric);

	return m ? m->unit : UNIT_NONE;
}

/* The result of a direction is in the table again. */
static void put(struct ctx *c, const char *metric, enum model_stat stat, struct model_dims d,
		const struct weir_val *v, enum model_prov prov)
{
	struct format_found *f = c->f;

	for (size_t i = 0; i < f->n_fig; i++)
		if (f->fig[i].stat == stat && !strcmp(f->fig[i].metric, metric) &&
		    model_dims_equal(&f->fig[i].dims, &d))
			return;
	if (v->state == MODEL_UNKNOWN && stat == STAT_VALUE)
		found_unknown(f, metric, d);
	if (v->state != MODEL_KNOWN || isnan(v->v))
		return;
	found_fig(f, metric, stat, d, v->v, v->step);
	if (prov != MODEL_MEASURED)
		found_prov(f, prov);
}

static int dir_at(const struct lex *l, size_t i)
{
	return lex_is(l, i, "up") ? MODEL_UP : lex_is(l, i, "down") ? MODEL_DOWN : -1;
}

/* ---- the table of both views ---- */

/* "of $ segments": index after it, or 0. The last of a list has no comma. */
static size_t phrase(const struct lex *l, size_t i, const struct format_col *col,
		     struct weir_val *v)
{
	const char *p = col->phrase ? col->phrase : "$";

	while (*p) {
		size_t n = strcspn(p, " $,()'");

		if (*p == ' ') {
			p++;
			continue;
		}
		n = n ? n : 1;
		if (*p == '$') {
			i = weir_value(l, i, unit_of(col->metric), v);
			if (!i || v->state != MODEL_KNOWN)
				return 0;
		} else if (i < l->n && l->tok[i].len == n && !memcmp(lex_text(l, i), p, n)) {
			i++;
		} else if (*p != ',') {
			return 0;
		}
		p += n;
	}
	return i;
}

static struct model_dims dims_of(const struct ctx *c, const struct format_col *col, int cell)
{
	if (c->ends)
		return model_dims_with(DIMS_NONE, DIM_END, cell);
	/* What is of both ends stands at the left, too. */
	return found_dims(c->dir, col->view < 0 && cell == 0 ? -1 : cell, -1);
}

/* Both views' columns are one in a table of hosts. */
static bool repeated(const struct format_col *cols, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (!strcmp(cols[i].metric, cols[k].metric) && cols[i].stat == cols[k].stat)
			return true;
	return false;
}

/* A cell is what of the row's columns it has, or "unknown". Index after it; i when it is empty. */
static size_t cell(struct ctx *c, size_t i, const struct format_col *cols, size_t n, int which)
{
	const struct format_col *only = NULL;
	size_t may = 0, from = i, e;
	struct weir_val v;

	for (size_t k = 0; k < n; k++) {
		enum model_prov prov = c->told[which] ? MODEL_TOLD : MODEL_MEASURED;

		if (c->ends ? repeated(cols, k) : cols[k].view >= 0 && cols[k].view != which)
			continue;
		only = &cols[k];
		may++;
		e = phrase(c->l, i, only, &v);
		if (!e)
			continue;
		if (lex_is(c->l, e, "(") && lex_is(c->l, e + 1, "told")) {
			prov = MODEL_TOLD;
			e += 3;
		}
		put(c, only->metric, only->stat, dims_of(c, only, which), &v, prov);
		i = e < c->l->n ? e : c->l->n;
	}
	e = may && i == from ? weir_value(c->l, i, UNIT_NONE, &v) : 0;
	if (!e || v.state == MODEL_KNOWN)
		return i;
	if (may == 1)
		put(c, only->metric, only->stat, dims_of(c, only, which), &v, MODEL_MEASURED);
	return e;
}

/* Index after a name of several words, or 0. */
static size_t named(const struct lex *l, size_t i, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, " ");

		if (i >= l->n || l->tok[i].len != n || memcmp(lex_text(l, i), name, n) != 0)
			return 0;
		i++;
		name += n + (name[n] == ' ');
	}
	return i;
}

static const struct format_layout *layout(const struct ctx *c, size_t i)
{
	static const char *const kinds[] = {"tcp", "udp", "find-rate"};

	if (!i && c->kind)
		return format_layout(c->kind);
	return i <= ARRAY_LEN(kinds) ? format_layout(kinds[i ? i - 1 : 0]) : NULL;
}

/* The columns of the longest row name at i. */
static size_t row_at(const struct ctx *c, size_t i, const struct format_col **cols, size_t *n)
{
	const struct format_layout *y;
	size_t best = 0, e, m;

	for (size_t k = 0; !best && (y = layout(c, k)); k++)
		for (size_t j = 0; j < y->n_table; j += m) {
			m = 1;
			while (j + m < y->n_table &&
			       !strcmp(y->table[j].head, y->table[j + m].head))
				m++;
			e = named(c->l, i, y->table[j].head);
			if (e <= best)
				continue;
			best = e;
			*cols = &y->table[j];
			*n = m;
		}
	return best;
}

/* Bytes before it in its line. */
static size_t column(const struct lex *l, size_t i)
{
	size_t off = l->tok[i].off, n = 0;

	while (n < LINE && n < off && l->text[off - n - 1] != '\n')
		n++;
	return n;
}

static size_t view_row(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const struct format_col *cols = NULL;
	size_t n = 0, e = row_at(c, i, &cols, &n), at, from;

	if (!e)
		return 0;
	from = at = weir_bar(l, e);
	if (at > e) { /* Markdown */
		at = lex_is(l, at, "|") ? at : cell(c, at, cols, n, 0);
		at = lex_is(l, at, "|") ? cell(c, at + 1, cols, n, 1) : at;
		return weir_bar(l, at);
	}
	if (!c->right || !lex_line(l, i) || lex_line(l, at) || column(l, at) < c->right)
		at = cell(c, at, cols, n, 0);
	at = cell(c, at, cols, n, 1);
	return at > from ? at : 0;
}

static size_t as_told(const struct lex *l, size_t i, bool *told)
{
	*told = lex_is(l, i, ",") && lex_is(l, i + 1, "as") && lex_is(l, i + 2, "told");
	return *told ? i + 3 : i;
}

static bool three_blanks(const struct lex *l, size_t i)
{
	size_t off = l->tok[i].off;

	return off >= 3 && !memcmp(l->text + off - 3, "   ", 3);
}

/* "up   sender   receiver, as told", "this end   far end" */
static size_t view_head(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	bool ends = lex_is(l, i, "this") && lex_is(l, i + 1, "end"), told[2];
	size_t e, second, before = i;

	if (!ends && !lex_is(l, i, "sender"))
		return 0;
	second = e = weir_bar(l, as_told(l, i + 1 + ends, &told[0]));
	if (ends ? !(lex_is(l, e, "far") && lex_is(l, e + 1, "end")) : !lex_is(l, e, "receiver"))
		return 0;
	e = weir_bar(l, as_told(l, e + 1 + ends, &told[1]));
	while (before && lex_is(l, before - 1, "|"))
		before--;
	c->section = VIEWS;
	c->ends = ends;
	c->told[0] = told[0];
	c->told[1] = told[1];
	c->dir = before ? dir_at(l, before - 1) : -1;
	if (c->dir < 0 && !ends)
		c->dir = c->dirs == 1 ? MODEL_UP : c->dirs == 2 ? MODEL_DOWN : -1;
	c->right = !lex_line(l, second) && three_blanks(l, second) ? column(l, second) : 0;
	return e;
}

/* ---- results ---- */

static bool possessive(const struct lex *l, size_t i, const char *who)
{
	return lex_is(l, i, who) && lex_is(l, i + 1, "'") && lex_is(l, i + 2, "s");
}

static const char *result_name(const struct lex *l, size_t i)
{
	static const char *const kinds[] = {"tcp", "find-rate"};

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		if (lex_is(l, i, format_layout(kinds[k])->headline))
			return format_layout(kinds[k])->headline;
	return NULL;
}

/* What the brackets behind it say of a result. */
static size_t result_words(struct ctx *c, size_t i, int dir, enum model_prov *prov)
{
	static const struct {
		const char *word;
		enum unit unit;
		enum model_prov prov;
	} says[] = {{"told", 0, MODEL_TOLD}, {"its", 0, MODEL_DERIVED}, {"far", 0, MODEL_PARTIAL}};
	const struct lex *l = c->l;
	struct weir_val x;
	size_t last = i + WORDS, e;
	int view = lex_is(l, i, "only") ? MODEL_SENDER : MODEL_RECEIVER;
	if (possessive(l, i, "sender"))
		*prov = MODEL_SENDER_ONLY;
	for (; i < l->n && i < last && !lex_is(l, i, ")"); i++) {
		for (size_t k = 0; k < ARRAY_LEN(says); k++)
			if (lex_is(l, i, says[k].word))
				*prov = says[k].prov;
		if (lex_is(l, i, ":") && (e = weir_value(l, i + 1, UNIT_BPS, &x)))
			put(c, "throughput.sent", STAT_VALUE, found_dims(dir, view, -1), &x,
			    MODEL_MEASURED);
		if (!lex_is(l, i, ","))
			continue;
		if (weir_value(l, i + 1, UNIT_SECOND, &x) && x.state == MODEL_KNOWN)
			put(c, "duration", STAT_VALUE, found_dims(dir, view, -1), &x, *prov);
		else if (weir_value(l, i + 1, UNIT_BYTE, &x) && x.state == MODEL_KNOWN)
			put(c, "bytes", STAT_VALUE, found_dims(dir, view, -1), &x, *prov);
	}
	return i + lex_is(l, i, ")");
}

static size_t result(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const char *name = result_name(l, i);
	int dir = name ? dir_at(l, i + 1) : -1;
	enum model_prov prov = MODEL_MEASURED;
	struct weir_val v;
	size_t e = dir >= 0 ? weir_value(l, i + 2, unit_of(name), &v) : 0;

	if (!e)
		return 0;
	if (lex_is(l, e, "("))
		e = result_words(c, e + 1, dir, &prov);
	put(c, name, STAT_VALUE, found_dims(dir, MODEL_RECEIVER, -1), &v, prov);
	c->dirs |= 1u << dir;
	return e;
}

static bool result_again(const struct ctx *c, size_t i)
{
	int dir = result_name(c->l, i) ? dir_at(c->l, i + 1) : -1;

	return dir >= 0 && c->dirs >> dir & 1;
}

/* ---- intervals ---- */

static const char *head_in(const struct format_layout *y, const struct lex *l, size_t i)
{
	for (size_t k = 0; k < y->n_interval; k++)
		if (lex_is(l, i, y->interval[k].head))
			return y->interval[k].head;
	return NULL;
}

static size_t heads_of(struct ctx *c, size_t i, const struct format_layout *y)
{
	const struct lex *l = c->l;
	const char *head;

	c->n_head = 0;
	c->flows = false;
	for (; c->n_head < HEADS; i++) {
		head = head_in(y, l, i);
		if (head)
			c->head[c->n_head++] = head;
		else if (lex_is(l, i, "flow"))
			c->flows = true;
		else if (!lex_is(l, i, "dir") && !lex_is(l, i, "mean") && !lex_is(l, i, "sum"))
			break;
	}
	return i;
}

static size_t interval_head(struct ctx *c, size_t i)
{
	const struct format_layout *y, *best = NULL;
	size_t e = 0, end;

	if (!lex_is(c->l, i, "interval"))
		return 0;
	for (size_t k = 0; (y = layout(c, k)); k++) {
		end = heads_of(c, i + 1, y);
		if (c->n_head && end > e) {
			e = end;
			best = y;
		}
	}
	if (!best || (c->rows && c->rows->interval != best->interval))
		return 0;
	heads_of(c, i + 1, best);
	c->rows = best;
	c->section = INTERVALS;
	for (size_t k = 0; k < best->n_interval && k < FOUND_COLS; k++)
		c->f->col[k] = best->interval[k].metric;
	c->f->n_col = best->n_interval < FOUND_COLS ? best->n_interval : FOUND_COLS;
	return e;
}

/* A column of one view tells whose the row is; without one it is the view that has none. */
static int view_of(const struct ctx *c, const bool had[HEADS])
{
	int other = -1;

	for (size_t h = 0; h < c->n_head || other < 0; h++) {
		for (size_t k = 0; k < c->rows->n_interval; k++) {
			const struct format_col *col = &c->rows->interval[k];
			bool is = h < c->n_head && !strcmp(col->head, c->head[h]);

			if (col->view < 0 || !strcmp(col->head, "rate"))
				continue;
			if (is && had[h])
				return col->view;
			other = !col->view;
		}
		if (h >= c->n_head)
			break;
	}
	return other;
}

static void put_cell(struct ctx *c, struct found_row *row, const char *head,
		     const struct weir_val *v)
{
	for (size_t k = 0; k < c->f->n_col; k++) {
		const struct format_col *col = &c->rows->interval[k];

		if (!strcmp(col->head, head) && (col->view < 0 || col->view == row->view))
			row->v[k] = v->v;
	}
}

static size_t row_flags(const struct lex *l, size_t i, unsigned *flags)
{
	static const struct {
		const char *word;
		unsigned flag;
	} words[] = {{"omitted", ROW_OMITTED}, {"short", ROW_SHORT}, {"late", ROW_LATE}};

	for (size_t k = 0; k < ARRAY_LEN(words); k++)
		if (lex_is(l, i, words[k].word)) {
			*flags |= words[k].flag;
			i++;
		}
	return i;
}

static const char span[] = "# - # s";

static enum unit head_unit(const struct ctx *c, const char *head)
{
	for (size_t k = 0; k < c->rows->n_interval; k++)
		if (!strcmp(c->rows->interval[k].head, head))
			return unit_of(c->rows->interval[k].metric);
	return UNIT_NONE;
}

static size_t interval_row(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	double t[MATCH_CAPS], none[MATCH_CAPS];
	struct weir_val v[HEADS], x;
	bool had[HEADS] = {false};
	struct found_row *row;
	size_t e = match(l, i, span, t), next, any = 0;
	int dir, flow = -1;

	if (!e || !(t[1] >= t[0]) || t[1] > 1e9)
		return 0;
	dir = dir_at(l, e);
	e += dir >= 0;
	if (c->flows && lex_is(l, e, "all")) {
		e++;
	} else if (c->flows && lex_num(l, e) && l->tok[e].num < 1e6) {
		flow = (int)l->tok[e].num;
		e++;
	}
	for (size_t h = 0; h < c->n_head && !match(l, e, span, none); h++) {
		next = weir_value(l, e, head_unit(c, c->head[h]), &x);
		if (!next)
			continue;
		v[h] = x;
		had[h] = true;
		any++;
		e = next;
	}
	row = any ? found_row(c->f, t[0], t[1]) : NULL;
	if (!row)
		return 0;
	row->dir = dir;
	row->flow = flow;
	row->view = view_of(c, had);
	for (size_t h = 0; h < c->n_head; h++)
		if (had[h])
			put_cell(c, row, c->head[h], &v[h]);
	return row_flags(l, e, &row->flags);
}

/* Without a column of directions all rows are of the only one. */
static void rows_dir(const struct ctx *c)
{
	for (size_t i = 0; i < c->f->n_row; i++)
		if (c->f->row[i].dir < 0 && (c->dirs == 1 || c->dirs == 2))
			c->f->row[i].dir = c->dirs == 1 ? MODEL_UP : MODEL_DOWN;
}

/* ---- flows, figures of any kind, trials ---- */

static size_t flow_head(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const struct format_flow_col *col;
	size_t e = i + 1, n = 0;
	int dir = dir_at(l, e);

	if (!lex_is(l, i, "flow"))
		return 0;
	e += dir >= 0;
	for (size_t k = 0; (col = format_flow_col(k)); k++)
		if (lex_is(l, e, col->head)) {
			c->flow[n++] = col;
			e++;
		}
	if (!n)
		return 0;
	c->section = FLOWS;
	c->n_head = n;
	c->dir = dir >= 0 ? dir : c->dirs == 1 ? MODEL_UP : c->dirs == 2 ? MODEL_DOWN : -1;
	return e;
}

static size_t flow_row(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	struct weir_val v[FORMAT_FLOW_COLS];
	size_t e = i + 1;

	if (!lex_num(l, i) || l->tok[i].num > 1e6 || l->tok[i].decimals)
		return 0;
	for (size_t k = 0; k < c->n_head && e; k++)
		e = weir_value(l, e, unit_of(c->flow[k]->metric), &v[k]);
	for (size_t k = 0; k < c->n_head && e; k++)
		put(c, c->flow[k]->metric, STAT_VALUE,
		    found_dims(c->dir, c->flow[k]->view, (int64_t)l->tok[i].num), &v[k],
		    MODEL_MEASURED);
	return e;
}

/* What has no blank inside, without Markdown's escapes: index after it. */
static size_t word(const struct lex *l, size_t i, char dst[64])
{
	size_t n = 0, from = i;

	for (; i < l->n && (i == from || !(l->tok[i].flags & LEX_SPACE)); i++) {
		if (lex_is(l, i, "\\"))
			continue;
		if (lex_is(l, i, "|") || n + l->tok[i].len > 63)
			break;
		memcpy(dst + n, lex_text(l, i), l->tok[i].len);
		n += l->tok[i].len;
	}
	dst[n] = '\0';
	return i;
}

/* "size=4096", "up", "mean": false = none of these. *names: of a thing whose name is not kept. */
static bool dim_word(const char *text, struct model_dims *d, enum model_stat *stat, bool *names)
{
	const char *eq = strchr(text, '=');

	for (int s = STAT_MEAN; s < STAT_NUM; s++)
		if (!strcmp(model_stat_name((enum model_stat)s), text)) {
			*stat = (enum model_stat)s;
			return true;
		}
	for (int id = 0; id < DIM_MAX; id++) {
		const struct model_dim *dim = model_dim((enum model_dim_id)id);

		for (int k = 0; dim->type == MODEL_DIM_ENUM && dim->values[k]; k++)
			if (!strcmp(dim->values[k], text)) {
				*d = model_dims_with(*d, (enum model_dim_id)id, k);
				return true;
			}
		if (!eq || strlen(dim->name) != (size_t)(eq - text) ||
		    strncmp(dim->name, text, (size_t)(eq - text)) != 0)
			continue;
		*names = *names || dim->type == MODEL_DIM_STR;
		*d = model_dims_with(*d, (enum model_dim_id)id, strtoll(eq + 1, NULL, 10));
		return true;
	}
	return false;
}

static size_t figure_row(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const struct model_metric *m;
	struct model_dims d = DIMS_NONE;
	enum model_stat stat = STAT_VALUE;
	enum model_prov prov = MODEL_MEASURED;
	bool names = false;
	struct weir_val v;
	char text[64];
	size_t e = word(l, i, text), next;

	m = model_metric(text);
	while (m && (next = word(l, e, text)) > e && dim_word(text, &d, &stat, &names))
		e = next;
	e = m ? weir_value(l, weir_bar(l, e), m->unit, &v) : 0;
	if (!e)
		return 0;
	if (lex_is(l, e, "(") && lex_is(l, e + 1, "told") && lex_is(l, e + 2, ")")) {
		prov = MODEL_TOLD;
		e += 3;
	}
	if (!names)
		put(c, m->name, stat, d, &v, prov);
	return weir_bar(l, e);
}

static size_t trial_head(struct ctx *c, size_t i)
{
	const struct format_flow_col *col;
	size_t e = i + 1;

	if (!lex_is(c->l, i, "offered"))
		return 0;
	for (size_t k = 0; (col = format_curve_col(k)); k++) {
		e = weir_bar(c->l, e);
		if (!lex_is(c->l, e++, col->head))
			return 0;
	}
	c->section = TRIALS;
	return weir_bar(c->l, e);
}

static size_t trial_row(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const struct format_flow_col *col;
	struct weir_val v;
	size_t e = weir_value(l, i, UNIT_BPS, &v);
	int dir = e ? dir_at(l, e) : -1;

	if (!e)
		return 0;
	put(c, "rate.offered", STAT_VALUE, model_dims_with(DIMS_NONE, DIM_STEP, c->step), &v,
	    MODEL_MEASURED);
	e = weir_bar(l, e + (dir >= 0));
	if (dir < 0)
		dir = c->dirs == 1 ? MODEL_UP : c->dirs == 2 ? MODEL_DOWN : -1;
	for (size_t k = 0; (col = format_curve_col(k)); k++) {
		size_t next = weir_value(l, e, unit_of(col->metric), &v);

		if (!next)
			break;
		put(c, col->metric, STAT_VALUE,
		    model_dims_with(found_dims(dir, col->view, -1), DIM_STEP, c->step), &v,
		    MODEL_MEASURED);
		e = weir_bar(l, next);
	}
	c->step++;
	return e;
}

/* ---- the rest ---- */

/* The text from a token on, each white space one blank, without Markdown's escapes. */
static void squeeze(const struct lex *l, size_t i, char *dst, size_t cap)
{
	size_t at = l->tok[i].off, end = l->len - at > LINE ? at + LINE : l->len, n = 0;

	for (; at < end && n + 1 < cap; at++) {
		bool blank = strchr(" \t\n", l->text[at]);

		if (l->text[at] == '\\' || (blank && n && dst[n - 1] == ' '))
			continue;
		dst[n++] = blank ? ' ' : l->text[at];
	}
	dst[n] = '\0';
}

/* The index after a text that stands at i, wherever its lines end. */
static size_t behind(const struct lex *l, size_t i, const char *text)
{
	size_t want = 0;

	for (; *text; text++)
		want += *text != ' ';
	for (size_t had = 0; i < l->n && had < want; i++)
		had += l->tok[i].len;
	return i;
}

static size_t event(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const struct model_warn *w;
	char text[LINE + 1];
	size_t e = i + 1, best = 0;
	int code = -1;

	if (!lex_is(l, i, "warning") && !lex_is(l, i, "note") && !lex_is(l, i, "error"))
		return 0;
	e += lex_is(l, e, ":");
	c->section = NOTHING;
	if (e >= l->n)
		return e;
	squeeze(l, e, text, sizeof(text));
	c->f->partial = c->f->partial || !strncmp(text, "incomplete", 10);
	for (int k = 0; (w = model_warn((enum model_warn_code)k)); k++) {
		size_t n = strlen(w->text);

		if (n > best && !strncmp(text, w->text, n)) {
			best = n;
			code = k;
		}
	}
	if (code < 0)
		return e + 1;
	found_warn(c->f, (enum model_warn_code)code, "as the report says");
	return behind(l, e, model_warn((enum model_warn_code)code)->text);
}

static size_t started(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	struct tm tm = {0};
	char text[24], *end;

	if (c->f->start_s > 0 || !lex_num(l, i) || l->tok[i].len != 4 || !lex_is(l, i + 1, "-"))
		return 0;
	squeeze(l, i, text, sizeof(text));
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!end)
		return 0;
	c->f->start_s = (double)timegm(&tm);
	return i + 1;
}

static const char *const labels[] = {"limited by", "far end", "asked for", "over time", "run"};

static size_t label(struct ctx *c, size_t i)
{
	char text[64];
	size_t e = 0;

	if (!lex_line(c->l, i) && !(i && lex_is(c->l, i - 1, "-")))
		return 0;
	for (size_t k = 0; !e && k < ARRAY_LEN(labels); k++)
		e = named(c->l, i, labels[k]);
	if (e && c->section == VIEWS)
		c->section = NOTHING;
	if (e && lex_is(c->l, i, "run"))
		e = word(c->l, e + lex_is(c->l, e, ":"), text);
	return e;
}

static size_t figure_head(struct ctx *c, size_t i)
{
	if (!lex_is(c->l, i, "figure") || !lex_is(c->l, weir_bar(c->l, i + 1), "value"))
		return 0;
	c->section = FIGURES;
	return weir_bar(c->l, weir_bar(c->l, i + 1) + 1);
}

static size_t known(struct ctx *c, size_t i)
{
	static size_t (*const rows[])(struct ctx *, size_t) = {
		[INTERVALS] = interval_row, [VIEWS] = view_row,   [FLOWS] = flow_row,
		[FIGURES] = figure_row,     [TRIALS] = trial_row,
	};
	static size_t (*const others[])(struct ctx *, size_t) = {
		result,      view_head, interval_head, flow_head, trial_head,
		figure_head, event,     started,       label};
	size_t e = c->section != NOTHING ? rows[c->section](c, i) : 0;

	for (size_t k = 0; !e && k < ARRAY_LEN(others); k++)
		e = others[k](c, i);
	return e;
}

static bool is_head(const struct lex *l, size_t i)
{
	bool begins = lex_line(l, i) || (i > 1 && lex_is(l, i - 1, "*") && lex_is(l, i - 2, "*"));

	return begins && lex_is(l, i, "weir") && i + 1 < l->n && l->tok[i + 1].type != LEX_PUNCT;
}

static bool is_result(const struct lex *l, size_t i)
{
	struct weir_val v;
	size_t e;

	if ((!lex_line(l, i) && !(i && lex_is(l, i - 1, "-"))) || !result_name(l, i) ||
	    dir_at(l, i + 1) < 0)
		return false;
	e = weir_value(l, i + 2, unit_of(result_name(l, i)), &v);
	return e && lex_is(l, e, "(") &&
	       (possessive(l, e + 1, "receiver") || possessive(l, e + 1, "sender") ||
		(lex_is(l, e + 1, "only") && lex_is(l, e + 2, "the")));
}

/* "weir tcp HOST", "weir 0.1.0: tcp to HOST" */
static size_t head(struct ctx *c, size_t i)
{
	const struct lex *l = c->l;
	const struct format_layout *y;
	const struct lex_tok *t;
	char text[64];
	size_t k = i + 1;

	if (!is_head(l, i))
		return i;
	if (lex_is(l, k + 1, ":")) {
		t = &l->tok[k];
		snprintf(c->f->version, sizeof(c->f->version), "%.*s", (int)t->len, lex_text(l, k));
		k += 2;
	}
	if (k >= l->n)
		return l->n;
	t = &l->tok[k];
	snprintf(text, sizeof(text), "%.*s", (int)t->len, lex_text(l, k));
	y = format_layout(text);
	if (y->kind)
		c->f->what = c->kind = y->kind;
	return k + 1;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct ctx c = {.l = l, .f = f, .dir = -1};
	size_t last, e;

	snprintf(f->tool, sizeof(f->tool), "weir");
	last = i = head(&c, i);
	while (i < l->n && i < last + GAP && !is_head(l, i) && !result_again(&c, i)) {
		e = known(&c, i);
		if (e)
			last = e < l->n ? e : l->n;
		i = e ? last : i + 1;
	}
	rows_dir(&c);
	return last;
}

static bool sniff(const struct lex *l, size_t i)
{
	struct ctx c = {.l = l};
	const struct format_layout *tcp = layout(&c, 1), *udp = layout(&c, 2);

	/* The names of a mail's hosts may be longer than what is stepped over. */
	if (lex_is(l, i, "interval") && lex_line(l, i))
		return heads_of(&c, i + 1, tcp) > i + 1 || heads_of(&c, i + 1, udp) > i + 1;
	return is_head(l, i) || is_result(l, i);
}

const struct reader reader_weir = {"weir", "we go ra in", sniff, parse};
