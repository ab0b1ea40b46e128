/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/net/softnet_stat: rows of 8-digit hexadecimal numbers, 9 to 15 of them by the kernel's age.
 * Which processor a row is only a 13th column tells; else rows have just their place.
 */
#include "format/rows.h"

#define DIGITS       8
#define MOST         20
#define NEWEST       15 /* columns, Linux 6.12 */
#define NEVER        12 /* columns that no kernel prints */
#define ZEROS_FROM   3
#define ZEROS_TO     8
#define PACKETS_SURE 65536
#define NINE         9 /* columns of the oldest kernels */
#define LEAST        9

static const struct {
	size_t column;
	const char *metric;
} columns[] = {
	{0, "ext.softnet.processed"},    {1, "ext.softnet.dropped"},
	{2, "ext.softnet.time_squeeze"}, {8, "ext.softnet.cpu_collision"},
	{9, "ext.softnet.received_rps"}, {10, "ext.softnet.flow_limit"},
	{11, "ext.softnet.backlog"},
};

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The 8 digits at text offset `at`, which blanks follow. */
static bool eight(const struct lex *l, size_t at, double *v)
{
	*v = 0;
	for (size_t k = 0; k < DIGITS; k++) {
		int d = at + k < l->len ? hex(l->text[at + k]) : -1;

		if (d < 0)
			return false;
		*v = *v * 16 + d;
	}
	return at + DIGITS == l->len || (unsigned char)l->text[at + DIGITS] <= ' ';
}

static size_t blanks(const struct lex *l, size_t at)
{
	while (at < l->len && (l->text[at] == ' ' || l->text[at] == '\t'))
		at++;
	return at;
}

/* The numbers of a line from offset `at` on; *end = after the last. */
static size_t numbers(const struct lex *l, size_t at, double *v, size_t most, size_t *end)
{
	size_t n = 0;

	for (*end = at; n < most && eight(l, at, &v[n]); n++) {
		*end = at + DIGITS;
		at = blanks(l, *end);
	}
	return n;
}

/* A row, which may have been wrapped; the next lines that are the rest of it are shorter. */
static size_t row(const struct lex *l, size_t at, double *v, size_t *end)
{
	size_t first = numbers(l, at, v, MOST, end), n = first;

	while (n && first < LEAST && n < MOST && *end < l->len && l->text[*end] == '\n') {
		size_t next = blanks(l, *end + 1), stop, more;

		more = numbers(l, next, v + n, MOST - n, &stop);
		if (!more || more > first || (n >= LEAST && more == first) ||
		    eight(l, blanks(l, stop), &(double){0}))
			break;
		n += more;
		*end = stop;
	}
	return n;
}

/*
 * The text may begin within its first row. Five columns have held nothing for many years, and all rows
 * of a machine are equally long; one that stands alone is believed when its first number can only be
 * packets.
 */
static bool first_whole(const struct lex *l, const double *v, size_t n, size_t end)
{
	double next[MOST];
	size_t stop, more = end < l->len ? row(l, blanks(l, end + 1), next, &stop) : 0;

	for (size_t k = ZEROS_FROM; k < ZEROS_TO; k++)
		if (v[k] != 0)
			return false;
	if (more >= LEAST && more >= n)
		return more == n;
	return v[0] >= PACKETS_SURE && n != NEVER && (n > NINE || end + 1 < l->len);
}

static void put(struct format_found *f, const double *v, size_t n, size_t place)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_STEP, (int64_t)place);

	if (n >= 13)
		d = model_dims_with(DIMS_NONE, DIM_CPU, (int64_t)v[12]);
	for (size_t k = 0; k < ARRAY_LEN(columns); k++)
		if (columns[k].column < n)
			found_ext(f, columns[k].metric, UNIT_NONE, STAT_VALUE, d,
				  v[columns[k].column], 1);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t at = l->tok[i].off, end, n, place = 0, done = at, widest = 0;
	double v[MOST];

	f->what = "softnet";
	while ((n = row(l, at, v, &end)) >= LEAST) {
		if (place || i || first_whole(l, v, n, end))
			put(f, v, n, place);
		place++;
		widest = n > widest ? n : widest;
		done = end;
		if (end >= l->len || l->text[end] != '\n')
			break;
		at = blanks(l, end + 1);
	}
	if (widest > NEWEST)
		found_warn(f, WARN_VERSION, "rows of %zu columns", widest);
	if (n && n < LEAST) {
		f->partial = true;
		found_warn(f, WARN_TRUNCATED, "a row of %zu numbers", n);
		done = end;
	}
	while (i < l->n && l->tok[i].off < done)
		i++;
	return i;
}

static bool sniff(const struct lex *l, size_t i)
{
	double v[MOST];
	size_t end;

	return lex_line(l, i) && eight(l, l->tok[i].off, v) &&
	       row(l, l->tok[i].off, v, &end) >= LEAST;
}

const struct reader reader_softnet = {"softnet", "0123456789abcdef", sniff, parse};
