/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mtr's report: which columns it has its head says; a hop's cells are the numbers after its name, so
 * many of them as there are columns. A hop is a step.
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
		if (!silent || col[k] < 4) /* who never answered has no times */
			rows_fig(f, l, tok[k], &columns[col[k]].out, l->tok[tok[k]].num, d);
	return end;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	int col[COLS];
	size_t k, last, n = head(l, i, col, &k);

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

	return column(l, i) >= 0 && head(l, i, col, &end) >= 4;
}

const struct reader reader_mtr = {"mtr", "LSRDABWGJ", sniff, parse};
