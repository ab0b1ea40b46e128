/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * People write 1.5Gbit, 64KiB and 500ms. A quantity is a decimal mantissa, a prefix and a
 * unit; it is kept as an exact integer times a power of ten until the end, so that no
 * value is off by one because of binary fractions.
 */
#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

struct unit_word {
	const char *text;
	uint64_t mult;
};

/* How one kind of quantity is written. */
struct grammar {
	const char *what, *examples;
	const struct unit_word *words;
	size_t n;
	bool prefixes, binary; /* k M G T; also Ki Mi Gi Ti */
	bool bare_binary;      /* a prefix without a unit word is 1024-based */
	unsigned div;          /* of every word's multiplier: 100 for per cent */
};

static const struct unit_word rate_words[] = {
	{"", 1},        {"bit", 1},      {"bits", 1},      {"b", 1},         {"bps", 1},
	{"b/s", 1},     {"bit/s", 1},    {"bits/s", 1},    {"bit/sec", 1},   {"bits/sec", 1},
	{"B", 8},       {"Bps", 8},      {"B/s", 8},       {"byte", 8},      {"bytes", 8},
	{"byte/s", 8},  {"bytes/s", 8},  {"Byte", 8},      {"Bytes", 8},     {"Byte/s", 8},
	{"Bytes/s", 8}, {"Byte/sec", 8}, {"Bytes/sec", 8}, {"bytes/sec", 8},
};
static const struct unit_word size_words[] = {{"", 1},      {"B", 1},    {"byte", 1},
					      {"bytes", 1}, {"Byte", 1}, {"Bytes", 1}};
static const struct unit_word time_words[] = {
	{"", 1000000000},   {"s", 1000000000},    {"sec", 1000000000},  {"ms", 1000000},
	{"us", 1000},       {"\xc2\xb5s", 1000},  {"\xce\xbcs", 1000},  {"ns", 1},
	{"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
};
static const struct unit_word count_words[] = {{"", 1}};
static const struct unit_word pps_words[] = {
	{"", 1}, {"pps", 1}, {"p/s", 1}, {"packet/s", 1}, {"packets/s", 1}};
static const struct unit_word ratio_words[] = {{"", 100}, {"%", 1}};

#define WORDS(w) .words = (w), .n = ARRAY_LEN(w)
static const struct grammar rate_grammar = {.what = "a rate",
					    .examples = "200M, 1.5Gbit, 900kbit/s",
					    WORDS(rate_words),
					    .prefixes = true,
					    .binary = true,
					    .div = 1};
static const struct grammar size_grammar = {.what = "a size",
					    .examples = "1500, 64K, 2MiB, 10MB",
					    WORDS(size_words),
					    .prefixes = true,
					    .binary = true,
					    .bare_binary = true,
					    .div = 1};
static const struct grammar time_grammar = {
	.what = "a time", .examples = "10, 500ms, 2m", WORDS(time_words), .div = 1};
static const struct grammar count_grammar = {.what = "a count",
					     .examples = "10, 5k, 1M",
					     WORDS(count_words),
					     .prefixes = true,
					     .div = 1};
static const struct grammar pps_grammar = {.what = "a packet rate",
					   .examples = "1000, 12.3kpps, 1Mpps",
					   WORDS(pps_words),
					   .prefixes = true,
					   .div = 1};
static const struct grammar ratio_grammar = {
	.what = "a share", .examples = "3%, 0.03", WORDS(ratio_words), .div = 100};

/* value = number * 10^exp10 / div */
struct quantity {
	u128 number;
	int exp10;
	unsigned div;
	bool negative;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *scan_exponent(const char *s, int *exp10)
{
	if (*s != 'e' && *s != 'E')
		return s;
	bool negative = s[1] == '-';
	const char *p = s + 1 + (s[1] == '-' || s[1] == '+');
	if (!is_digit(*p))
		return s;
	int v = 0;
	for (; is_digit(*p); p++)
		v = v < 1000 ? v * 10 + (*p - '0') : v;
	*exp10 += negative ? -v : v;
	return p;
}

/* Digits, at most one point, an exponent. NULL when there is no number. */
static const char *scan_number(const char *s, struct quantity *q)
{
	const u128 full = 1000000000000000000; /* 19 digits are kept: all of int64 */
	bool point = false, any = false;
	for (; is_digit(*s) || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		any = true;
		if (q->number < full) {
			q->number = q->number * 10 + (unsigned)(*s - '0');
			q->exp10 -= point;
		} else if (!point && q->exp10 < 1000)
			q->exp10++;
	}
	return any ? scan_exponent(s, &q->exp10) : NULL;
}

static const struct unit_word *find_word(const struct grammar *g, const char *s)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(s, g->words[i].text))
			return &g->words[i];
	return NULL;
}

static uint64_t power(uint64_t base, int n)
{
	uint64_t v = 1;
	while (n-- > 0)
		v *= base;
	return v;
}

/* What follows the number: a prefix, perhaps binary, and a word of the grammar. */
static uint64_t scan_suffix(const struct grammar *g, const char *s)
{
	static const char letters[] = "kKmMgGtT";
	const struct unit_word *w = find_word(g, s);
	if (w)
		return w->mult;
	const char *at = g->prefixes && *s ? strchr(letters, *s) : NULL;
	if (!at)
		return 0;
	bool binary = g->binary && s[1] == 'i';
	s += binary ? 2 : 1;
	w = find_word(g, s);
	uint64_t base = binary || (g->bare_binary && !*s) ? 1024 : 1000;
	return w ? w->mult * power(base, (int)(at - letters) / 2 + 1) : 0;
}

static int complain(const struct grammar *g, const char *s, struct weir_err *e)
{
	char text[64];
	safe_str(text, sizeof(text), s, strlen(s));
	return err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is not %s; use e.g. %s", text, g->what,
		       g->examples);
}

static int parse(const struct grammar *g, const char *s, struct quantity *q, struct weir_err *e)
{
	*q = (struct quantity){.div = g->div};
	const char *p = scan_number(s, q);
	if (!p)
		return complain(g, s, e);
	if (*p == ' ' && p[1])
		p++;
	uint64_t mult = scan_suffix(g, p);
	if (!mult)
		return complain(g, s, e);
	q->number *= mult;
	return 0;
}

/* Rounds half up; false when it does not fit an int64 (our files and JSON hold no more). */
static bool to_integer(const struct quantity *q, uint64_t *out, bool *exact)
{
	u128 v = q->number, limit = INT64_MAX;
	int exp10 = q->exp10;
	*exact = true;
	for (; exp10 > 0 && v; exp10--) {
		if (v > limit)
			return false;
		v *= 10;
	}
	bool half = false;
	for (; exp10 < 0 && v; exp10++) {
		unsigned low = (unsigned)(v % 10);
		*exact = *exact && !low;
		half = low >= 5;
		v /= 10;
	}
	v += half && !exp10;
	*out = (uint64_t)v;
	return v <= limit;
}

static int parse_integer(const struct grammar *g, const char *s, uint64_t *out, bool *exact,
			 struct weir_err *e)
{
	struct quantity q;
	int rc = parse(g, s, &q, e);
	if (rc)
		return rc;
	if (to_integer(&q, out, exact))
		return 0;
	char text[64];
	safe_str(text, sizeof(text), s, strlen(s));
	return err_set(e, WEIR_USAGE, ERANGE, "\"%s\" is too large", text);
}

int unit_parse_rate(const char *s, uint64_t *bps, struct weir_err *e)
{
	bool exact;
	return parse_integer(&rate_grammar, s, bps, &exact, e);
}

int unit_parse_size(const char *s, uint64_t *bytes, struct weir_err *e)
{
	bool exact;
	return parse_integer(&size_grammar, s, bytes, &exact, e);
}

int unit_parse_time(const char *s, int64_t *ns, struct weir_err *e)
{
	bool exact;
	uint64_t v = 0;
	int rc = parse_integer(&time_grammar, s, &v, &exact, e);
	if (!rc)
		*ns = (int64_t)v;
	return rc;
}

int unit_parse_count(const char *s, uint64_t *n, struct weir_err *e)
{
	bool exact;
	uint64_t v = 0;
	int rc = parse_integer(&count_grammar, s, &v, &exact, e);
	if (!rc && !exact)
		rc = complain(&count_grammar, s, e);
	if (!rc)
		*n = v;
	return rc;
}

/* ---- one row a base unit: name, syntax, and how it is printed ------------- */

static const struct unit_row {
	const char *name;
	const struct grammar *grammar;
	double to_base;       /* of a parsed value: ns to s */
	double from_base;     /* for printing: ratio to per cent */
	int lowest;           /* power of 1000 of print[0] */
	const char *print[6]; /* by rising prefix */
	bool whole;           /* small integral values are printed without decimals */
} rows[] = {
	[UNIT_NONE] = {"", &count_grammar, 1, 1, 0, {"", "k", "M", "G", "T"}, true},
	[UNIT_SECOND] = {"s", &time_grammar, 1e9, 1, -3, {"ns", "us", "ms", "s"}, false},
	[UNIT_BPS] = {"bit/s",
		      &rate_grammar,
		      1,
		      1,
		      0,
		      {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"},
		      true},
	[UNIT_BYTE] = {"byte", &size_grammar, 1, 1, 0, {"B", "kB", "MB", "GB", "TB", "PB"}, true},
	[UNIT_PPS] = {"packet/s", &pps_grammar, 1, 1, 0, {"pps", "kpps", "Mpps", "Gpps"}, true},
	[UNIT_RATIO] = {"ratio", &ratio_grammar, 1, 100, 0, {"%"}, false},
};

int unit_parse(const char *s, enum unit u, double *value, struct weir_err *e)
{
	struct quantity q;
	bool negative = *s == '-';
	int rc = parse(rows[u].grammar, s + negative, &q, e);
	if (rc)
		return rc;
	/* One rounding: the integer and the power of ten are exact up to 10^22. */
	double v = (double)q.number, scale = pow(10, abs(q.exp10));
	double by = q.div * rows[u].to_base;
	v = q.exp10 < 0 ? v / (scale * by) : v * scale / by;
	if (!isfinite(v))
		return err_set(e, WEIR_USAGE, ERANGE, "the value is too large");
	*value = negative ? -v : v;
	return 0;
}

const char *unit_name(enum unit u)
{
	return rows[u].name;
}

int unit_from_name(const char *s, enum unit *u)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(s, rows[i].name)) {
			*u = (enum unit)i;
			return 0;
		}
	return -EINVAL;
}

/* v rounded to so many significant digits, and the power of ten of its first. */
static double round_to(double v, int digits, int *exp10)
{
	char tmp[40];
	snprintf(tmp, sizeof(tmp), "%.*e", digits - 1, v);
	*exp10 = v == 0 ? 0 : atoi(strchr(tmp, 'e') + 1);
	return strtod(tmp, NULL);
}

static int floor3(int exp10)
{
	return exp10 >= 0 ? exp10 / 3 : -((2 - exp10) / 3);
}

/* The prefix that needs no more digits than there are; its index into print[]. */
static int pick_prefix(const struct unit_row *row, int exp10, int digits)
{
	int p = floor3(exp10), top = 0;
	if (exp10 - 3 * p + 1 > digits)
		p++; /* 943 M with two digits is 0.94 G */
	while (top + 1 < (int)ARRAY_LEN(row->print) && row->print[top + 1])
		top++;
	p -= row->lowest;
	p = p < 0 ? 0 : p;
	return p > top ? top : p;
}

const char *unit_format_split(char *dst, size_t cap, double value, enum unit u, int digits)
{
	const struct unit_row *row = &rows[u];
	int exp10;
	if (!isfinite(value)) {
		snprintf(dst, cap, "-");
		return "";
	}
	if (digits <= 0)
		digits = 3;
	if (digits > 17)
		digits = 17;
	double v = round_to(value * row->from_base, digits, &exp10);
	int p = pick_prefix(row, exp10, digits);
	int power10 = 3 * (p + row->lowest);
	if (v == 0) {
		snprintf(dst, cap, "0");
		return row->print[-row->lowest];
	}
	int decimals = digits - 1 - (exp10 - power10);
	if (decimals < 0 || (row->whole && p == 0 && v == trunc(v)))
		decimals = 0;
	double scaled = power10 < 0 ? v * pow(10, -power10) : v / pow(10, power10);
	snprintf(dst, cap, "%.*f", decimals, scaled);
	return row->print[p];
}

void unit_format(char *dst, size_t cap, double value, enum unit u, int digits)
{
	char number[400];
	const char *text = unit_format_split(number, sizeof(number), value, u, digits);
	snprintf(dst, cap, "%s%s%s", number, *text ? " " : "", text);
}
