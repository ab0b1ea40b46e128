/* SPDX-License-Identifier: BSD-2-Clause */
/* vmstat: the head says the columns; the first row is the mean since boot and is left out. */
#include <string.h>

#include "format/cpu.h"

#define COLS 20

static const struct {
	const char *word, *metric;
	enum unit unit;
	double scale;
} columns[] = {
	{"r", "ext.vmstat.runnable", UNIT_NONE, 1},  {"in", "ext.vmstat.interrupts", UNIT_NONE, 1},
	{"cs", "ext.vmstat.switches", UNIT_NONE, 1}, {"us", "ext.cpu.user", UNIT_RATIO, 0.01},
	{"sy", "ext.cpu.system", UNIT_RATIO, 0.01},  {"id", "ext.cpu.idle", UNIT_RATIO, 0.01},
	{"wa", "ext.cpu.iowait", UNIT_RATIO, 0.01},  {"st", "ext.cpu.steal", UNIT_RATIO, 0.01},
};
static const char *const others[] = {"b",     "swpd", "free", "buff", "inact", "active",
				     "cache", "si",   "so",   "bi",   "bo",    "gu"};

static bool known(const struct lex *l, size_t i, int *col)
{
	*col = -1;
	for (size_t k = 0; k < ARRAY_LEN(columns); k++)
		if (lex_is(l, i, columns[k].word)) {
			*col = (int)k;
			return true;
		}
	for (size_t k = 0; k < ARRAY_LEN(others); k++)
		if (lex_is(l, i, others[k]))
			return true;
	return false;
}

static size_t head(const struct lex *l, size_t i, int *col, size_t *n)
{
	if (!lex_is(l, i, "r") || !lex_is(l, i + 1, "b") || !lex_is(l, i + 2, "swpd"))
		return 0;
	for (*n = 0; *n < COLS && known(l, i, &col[*n]); ++*n)
		i++;
	return *n >= 12 ? i : 0;
}

static bool is_row(const struct lex *l, size_t i, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!lex_num(l, i + k) || l->tok[i + k].decimals)
			return false;
	return i + n < l->n || l->text[l->len - 1] == '\n';
}

static void means(struct format_found *f, const double *sum, size_t rows)
{
	for (size_t k = 0; k < ARRAY_LEN(columns) && rows; k++) {
		found_ext(f, columns[k].metric, columns[k].unit, STAT_VALUE, DIMS_NONE,
			  sum[k] / (double)rows * columns[k].scale, 0);
		found_prov(f, MODEL_DERIVED);
	}
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	double sum[ARRAY_LEN(columns)] = {0}, boot[ARRAY_LEN(columns)] = {0};
	int col[COLS];
	size_t n, rows = 0, k = head(l, i, col, &n), last = k;

	f->what = "vmstat";
	while (k < l->n && k <= last + 40) {
		size_t again, more = head(l, k, col, &again);

		if (more && again == n) { /* told again each page */
			k = last = more;
			continue;
		}
		if (!is_row(l, k, n)) {
			k++;
			continue;
		}
		for (size_t c = 0; c < n; c++)
			if (col[c] >= 0)
				(rows ? sum : boot)[col[c]] += l->tok[k + c].num;
		rows++;
		k = last = k + n;
	}
	if (rows == 1)
		found_warn(f, WARN_UNAVAILABLE, "the mean since boot, not of a test");
	means(f, rows > 1 ? sum : boot, rows > 1 ? rows - 1 : rows);
	return last;
}

static bool sniff(const struct lex *l, size_t i)
{
	int col[COLS];
	size_t n;

	return head(l, i, col, &n);
}

const struct reader reader_vmstat = {"vmstat", "r", sniff, parse};
