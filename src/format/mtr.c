/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mtr's report: which columns it has its head says; a hop's cells are the numbers after its name, so
 * many of them as there are columns. A hop is a step. CSV, JSON and WinMTR's table have the same columns.
 */
#include <string.h>

#include "format/rows.h"

#define COLS 16
#define NAME 24 /* tokens of a hop's name */
#define GAP  40

static const struct {
	const char *head;
	struct rows_out out;
} columns[] = {
	{"Loss", {"probe.loss", UNIT_NONE, 0.01, STAT_VALUE, 0}},
	{"Snt", {"probe.sent", UNIT_NONE, 1, STAT_VALUE, 0}},
	{"Rcv", {"probe.received", UNIT_NONE, 1, STAT_VALUE, 0}},
	{"Drop", {NULL, UNIT_NONE, 1, STAT_VALUE, 0}},
	{"Last", {"ext.mtr.last", UNIT_SECOND, 1e-3, STAT_VALUE, 0}},
	{"Avg", {"probe.rtt", UNIT_NONE, 1e-3, STAT_MEAN, 0}},
	{"Best", {"probe.rtt", UNIT_NONE, 1e-3, STAT_MIN, 0}},
	{"Wrst", {"probe.rtt", UNIT_NONE, 1e-3, STAT_MAX, 0}},
	{"StDev", {"probe.rtt", UNIT_NONE, 1e-3, STAT_STDDEV, 0}},
	{"Gmean", {"ext.mtr.gmean", UNIT_SECOND, 1e-3, STAT_VALUE, 0}},
	{"Jttr", {"ext.mtr.jitter", UNIT_SECOND, 1e-3, STAT_VALUE, 0}},
	{"Javg", {"ext.mtr.jitter", UNIT_SECOND, 1e-3, STAT_MEAN, 0}},
	{"Jmax", {"ext.mtr.jitter", UNIT_SECOND, 1e-3, STAT_MAX, 0}},
	{"Jint", {"ext.mtr.jitter_interarrival", UNIT_SECOND, 1e-3, STAT_VALUE, 0}},
};

enum { COL_LOSS, COL_TIMES = 4 }; /* from COL_TIMES on: who never answered has none */

static int column(const struct lex *l, size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(columns); k++)
		if (lex_is(l, i, columns[k].head))
			return (int)k;
	return -1;
}

/* The head's columns from token i on; how many. */
static size_t head(const struct lex *l, size_t i, int *col, size_t *end)
{
	size_t n = 0;
	int k;

	while (n < COLS && (k = column(l, i)) >= 0) {
		col[n++] = k;
		i += 1 + lex_is(l, i + 1, "%");
	}
	*end = i;
	return n;
}

/* n numbers in a row, each maybe with a per cent sign; index after them or 0. */
static size_t cells(const struct lex *l, size_t i, size_t n, size_t *tok)
{
	for (size_t k = 0; k < n; k++) {
		if (!lex_num(l, i) || !(l->tok[i].flags & LEX_SPACE))
			return 0;
		tok[k] = i++;
		i += lex_is(l, i, "%");
	}
	return i;
}

/* "3.|-- host" of a report, "3. host" of the screen: where the host begins, or 0. */
static size_t is_hop(const struct lex *l, size_t i)
{
	if (!lex_num(l, i) || l->tok[i].decimals || !lex_is(l, i + 1, ".") || l->tok[i + 1].flags)
		return 0;
	if (lex_is(l, i + 2, "|") && lex_is(l, i + 3, "-"))
		return i + 5;
	return i + 2 < l->n && l->tok[i + 2].flags & LEX_SPACE && !lex_line(l, i + 2) ? i + 2 : 0;
}

static size_t hop(const struct lex *l, size_t i, const int *col, size_t n, struct format_found *f)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_STEP, (int64_t)l->tok[i].num);
	size_t tok[COLS], end = 0, name = is_hop(l, i);
	bool silent = false;

	for (size_t k = name; k < name + NAME && k < l->n && !end && !is_hop(l, k); k++) {
		silent = silent || lex_is(l, k, "?");
		end = cells(l, k, n, tok);
		if (end && lex_num(l, end) && !is_hop(l, end))
			return 0; /* more columns than the head has */
	}
	if (!end || (end >= l->n && !l->tok[end - 1].decimals && !lex_is(l, end - 1, "%")))
		return 0;
	for (size_t k = 0; k < n; k++)
		if (!silent || col[k] < COL_TIMES)
			rows_fig(f, l, tok[k], &columns[col[k]].out, l->tok[tok[k]].num, d);
	return end;
}

/* ---- CSV: a head of its own, the separator is a comma or a semicolon ---- */

static bool separator(const struct lex *l, size_t i)
{
	return lex_is(l, i, ",") || lex_is(l, i, ";");
}

/* "MTR.0.95," or "MTR,": a row begins. */
static bool row_begins(const struct lex *l, size_t i)
{
	if (!lex_starts(l, i, "MTR") || !(l->tok[i].flags & LEX_SPACE))
		return false;
	return separator(l, i + 1) || (lex_is(l, i + 1, ".") && separator(l, i + 3));
}

/* The field's end: a separator, the next row or, in a row, its line's end. */
static size_t field(const struct lex *l, size_t i, bool row)
{
	size_t k = i;

	while (k < l->n && k < i + 64 && !separator(l, k) &&
	       (k == i || !((row && lex_line(l, k)) || row_begins(l, k))))
		k++;
	return k;
}

#define FIELDS  32
#define NOTHING (-1)
enum { FIELD_HOP = -2 };

static bool csv_head(const struct lex *l, size_t i)
{
	return lex_is(l, i, "Mtr_Version") && separator(l, i + 1);
}

/* What each field is; how many. */
static size_t csv_columns(const struct lex *l, size_t i, int *col, size_t *end)
{
	size_t n = 0, e = i;

	for (; n < FIELDS; i = e + 1) {
		e = i;
		if (i >= l->n || row_begins(l, i))
			break;
		e = field(l, i, false);
		col[n++] = lex_is(l, i, "Hop") && e == i + 1 ? FIELD_HOP
			   : e > i                           ? column(l, i)
							     : NOTHING;
		if (!separator(l, e))
			break;
	}
	*end = e;
	return n;
}

/* One hop's row. The index after it, or 0. */
static size_t csv_row(const struct lex *l, size_t i, const int *col, size_t n,
		      struct format_found *f)
{
	struct model_dims d = DIMS_NONE;
	bool silent = false, step = false;
	size_t k = 0, e = i;

	for (; k < n; i = e + 1) {
		bool one;

		e = field(l, i, true);
		one = e == i + 1 && lex_num(l, i);
		if (one && col[k] == FIELD_HOP) {
			d = model_dims_with(d, DIM_STEP, (int64_t)l->tok[i].num);
			step = true;
		}
		silent = silent || (one && col[k] == COL_LOSS && l->tok[i].num >= 100);
		if (one && step && col[k] >= 0 && (!silent || col[k] < COL_TIMES))
			rows_fig(f, l, i, &columns[col[k]].out, l->tok[i].num, d);
		k++;
		if (!separator(l, e))
			break;
	}
	return step ? e : 0;
}

static size_t csv(const struct lex *l, size_t i, struct format_found *f)
{
	int col[FIELDS];
	size_t last, n = csv_columns(l, i, col, &last);

	f->what = "mtr";
	while (row_begins(l, last)) {
		size_t end = csv_row(l, last, col, n, f);

		if (lex_is(l, last + 1, ".") && !f->version[0])
			rows_text(l, last + 2, f->version, sizeof(f->version));
		if (!end)
			break;
		last = end;
	}
	return last;
}

/* ---- WinMTR: "HOST - LOSS | SENT | RECEIVED | BEST | MEAN | WORST | LAST |" ---- */

static const struct rows_pat windows[] = {
	{"- # \\| # \\| # \\| # \\| # \\| # \\| # \\|",
	 {{"probe.loss", UNIT_NONE, 0.01, STAT_VALUE, 0},
	  {"probe.sent", UNIT_NONE, 1, STAT_VALUE, 0},
	  {"probe.received", UNIT_NONE, 1, STAT_VALUE, 0},
	  {"probe.rtt", UNIT_NONE, 1e-3, STAT_MIN, 0},
	  {"probe.rtt", UNIT_NONE, 1e-3, STAT_MEAN, 0},
	  {"probe.rtt", UNIT_NONE, 1e-3, STAT_MAX, 0},
	  {"ext.mtr.last", UNIT_SECOND, 1e-3, STAT_VALUE, 0}}},
	{"- # \\| # \\| 0 \\| 0 \\| 0 \\| 0 \\| 0 \\|",
	 {{"probe.loss", UNIT_NONE, 0.01, STAT_VALUE, 0},
	  {"probe.sent", UNIT_NONE, 1, STAT_VALUE, 0}}},
};

static bool windows_head(const struct lex *l, size_t i)
{
	return match(l, i, "WinMTR statistics", NULL);
}

static size_t windows_table(const struct lex *l, size_t i, struct format_found *f)
{
	size_t last = i + 2;
	int64_t step = 0;

	f->what = "mtr";
	memcpy(f->tool, "WinMTR", 7);
	for (size_t k = last;
	     k < l->n && k <= last + 2 * GAP + 200 * !step && !windows_head(l, k);) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_STEP, step + 1);
		size_t end = 0;

		for (size_t p = ARRAY_LEN(windows); lex_is(l, k, "-") && p-- > 0 && !end;)
			end = rows_match(l, k, &windows[p], 1, f, d);
		if (end && lex_is(l, k + 5, "0"))
			found_fig(f, "probe.received", STAT_VALUE, d, 0, 1);
		step += end > 0;
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	return last;
}

/* ---- the report ---- */

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	int col[COLS];
	size_t k, last, n;

	if (csv_head(l, i))
		return csv(l, i, f);
	if (windows_head(l, i))
		return windows_table(l, i, f);
	n = head(l, i, col, &k);
	last = k;
	f->what = "mtr";
	while (k < l->n && k <= last + GAP && column(l, k) < 0) {
		size_t end = is_hop(l, k) ? hop(l, k, col, n, f) : 0;

		last = end ? end : last;
		k = end ? end : k + 1;
	}
	return last;
}

static bool sniff(const struct lex *l, size_t i)
{
	int col[COLS];
	size_t end;

	if (csv_head(l, i) || windows_head(l, i))
		return true;
	return column(l, i) >= 0 && head(l, i, col, &end) >= 4;
}

const struct reader reader_mtr = {"mtr", "LSRDABWGJM", sniff, parse};

/* ---- JSON: older ones have some numbers as strings ---- */

static bool json_loss(const struct json_scan *s)
{
	const struct json_key *k = &s->key;

	return k->to == k->from + 2 && lex_is(s->l, k->from, "Loss") &&
	       lex_is(s->l, k->from + 1, "%");
}

/* The value just told as number: its token, or l->n. */
static size_t json_number(const struct json_scan *s)
{
	bool whole = s->what == JSON_VALUE && !s->last && s->to == s->from + 1;

	return whole && lex_num(s->l, s->from) ? s->from : s->l->n;
}

static size_t json_parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct json_scan s = json_scan(l, i);
	struct model_dims d = DIMS_NONE;
	bool silent = false;

	f->what = "mtr";
	while (json_next(&s)) {
		size_t t = json_number(&s);

		if (t >= l->n || s.depth < 2 || !json_is(&s, &s.level[s.depth - 2], "hubs"))
			continue;
		if (json_is(&s, &s.key, "count")) {
			d = model_dims_with(DIMS_NONE, DIM_STEP, (int64_t)l->tok[t].num);
			silent = false;
			continue;
		}
		for (int k = 0; k < (int)ARRAY_LEN(columns); k++) {
			if (!json_is(&s, &s.key, columns[k].head) &&
			    !(k == COL_LOSS && json_loss(&s)))
				continue;
			silent = silent || (k == COL_LOSS && l->tok[t].num >= 100);
			if (d.has && (!silent || k < COL_TIMES))
				rows_fig(f, l, t, &columns[k].out, l->tok[t].num, d);
		}
	}
	return json_ended(&s, i, f);
}

static bool json_sniff(const struct lex *l, size_t i)
{
	return (json_key_at(l, i + 1, "report") && lex_is(l, i + 5, "{") &&
		json_key_at(l, i + 6, "mtr"));
}

const struct reader reader_mtr_json = {"mtr-json", "{", json_sniff, json_parse};
