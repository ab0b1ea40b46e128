/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bare numbers as people have them for ministat: one a line, or one field of each line; blank
 * lines and those that begin with # are none. What is no number, or may be read in two ways, is
 * told with its line, because a value that is left out or misread silently changes the answer.
 */
#include "format/format.h"

#include "format/reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX ((size_t)1 << 20)
#define NUMBER_MAX 64 /* characters of one */

struct values {
	struct format_numbers out;
	size_t cap, line;
	int64_t column;
	struct weir_err *e;
};
struct field {
	const char *s;
	size_t n;
};

/* ---- fields ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == ';' || c == '\r';
}

/* A comma between digits parts fields only where all commas do. */
static bool parts(const struct field *line, size_t at, bool all)
{
	if (line->s[at] != ',')
		return is_blank(line->s[at]);
	return all || !at || at + 1 == line->n || !is_digit(line->s[at - 1]) ||
	       !is_digit(line->s[at + 1]);
}

/* Columns are asked for, and nothing else parts them. */
static bool commas_part(const struct field *line, int64_t column)
{
	size_t at = 0, end = line->n;

	while (end && is_blank(line->s[end - 1]))
		end--;
	while (at < end && is_blank(line->s[at]))
		at++;
	while (at < end && !is_blank(line->s[at]))
		at++;
	return column > 1 && at == end;
}

/* The field of a line; its length is 0 when there is none. */
static struct field field_at(const struct field *line, int64_t column, bool all)
{
	size_t at = 0, from = 0;

	for (int64_t i = 0; i < column; i++) {
		while (at < line->n && parts(line, at, all))
			at++;
		from = at;
		while (at < line->n && !parts(line, at, all))
			at++;
	}
	return (struct field){line->s + from, at - from};
}

/* ---- numbers ---- */

/* What the last digit is worth: "9.50" 0.01, "931" 1, "1.2e3" 100. */
static double step_of(const char *text)
{
	const char *point = strchr(text, '.'), *e = strpbrk(text, "eE");
	size_t end = e ? (size_t)(e - text) : strlen(text);
	double decimals = point ? (double)(text + end - point - 1) : 0;

	return pow(10, (e ? strtod(e + 1, NULL) : 0) - decimals);
}

static bool is_number(const struct field *f, double *x, double *step)
{
	char text[NUMBER_MAX + 1], *end;

	if (!f->n || f->n > NUMBER_MAX || memchr(f->s, 0, f->n))
		return false;
	memcpy(text, f->s, f->n);
	text[f->n] = '\0';
	if (text[strspn(text, "+-.0123456789eE")])
		return false; /* nan, 0x10 */
	*x = strtod(text, &end);
	*step = step_of(text);
	return !*end && isfinite(*x);
}

static int add(struct values *l, double x)
{
	struct format_numbers *o = &l->out;

	if (o->n == VALUES_MAX)
		return err_set(l->e, WEIR_LIMIT, EFBIG, "over a million values");
	if (o->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		double *v = reallocarray(o->v, cap, sizeof(*v));

		if (!v)
			return err_set(l->e, WEIR_OS, ENOMEM, "out of memory");
		o->v = v;
		l->cap = cap;
	}
	o->v[o->n++] = x;
	return 0;
}

/* ---- units ---- */

struct measure {
	enum unit unit;
	double scale;
	char word[sizeof(((struct format_numbers *)0)->word)];
};

/* A word that is a rate of something is a unit, of whatever; any other is another column, and so is a
 * single letter: A and B are the names of sides. */
static struct measure measure_of(const struct field *f)
{
	const struct {
		enum unit unit;
		double scale;
	} known[] = {
		{UNIT_BPS, match_rate_unit(f->s, f->n)},
		{UNIT_BYTE, match_bytes_unit(f->s, f->n)},
		{UNIT_SECOND, match_time_unit(f->s, f->n)},
		{UNIT_RATIO, f->n == 1 && *f->s == '%' ? 0.01 : (double)NAN},
		{UNIT_PPS, f->n == 3 && !memcmp(f->s, "pps", 3) ? 1 : (double)NAN},
	};
	struct measure m = {.scale = 1};

	if (f->n == 1 && *f->s != 's' && *f->s != '%')
		return m;
	for (size_t i = 0; f->n && i < ARRAY_LEN(known); i++) {
		if (!isnan(known[i].scale))
			return (struct measure){.unit = known[i].unit, .scale = known[i].scale};
	}
	if (f->n > 2 && f->n < sizeof(m.word) &&
	    (!memcmp(f->s + f->n - 2, "/s", 2) ||
	     (f->n > 4 && !memcmp(f->s + f->n - 4, "/sec", 4))))
		safe_str(m.word, sizeof(m.word), f->s, f->n);
	return m;
}

static int check_unit(struct values *l, const struct measure *m)
{
	struct format_numbers *o = &l->out;

	if (!o->n) {
		o->unit = m->unit;
		memcpy(o->word, m->word, sizeof(o->word));
	}
	if (o->unit == m->unit && !strcmp(o->word, m->word))
		return 0;
	return err_set(l->e, WEIR_FORMAT, EINVAL, "line %zu: another unit than in the lines before",
		       l->line);
}

/* ---- lines ---- */

static int refuse(struct values *l, const struct field *f)
{
	char safe[NUMBER_MAX];
	bool comma = f->n && memchr(f->s, ',', f->n);
	int rc;

	safe_str(safe, sizeof(safe), f->s, f->n);
	rc = err_set(l->e, WEIR_FORMAT, EINVAL, "line %zu: \"%s\" is not a number%s", l->line, safe,
		     comma ? " without doubt: its comma may be a decimal point, or group digits"
			   : "");
	return comma ? err_hint(l->e, "write 1000 and 9.5; blanks or semicolons part columns") : rc;
}

static int take_line(struct values *l, const struct field *line)
{
	bool all = commas_part(line, l->column);
	struct field f = field_at(line, 1, true), next;
	double x, step;
	int rc;

	if (!f.n || *f.s == '#')
		return 0;
	f = field_at(line, l->column, all);
	if (!is_number(&f, &x, &step))
		return refuse(l, &f);
	next = field_at(line, l->column + 1, all);
	struct measure m = measure_of(&next);
	rc = check_unit(l, &m);
	if (rc < 0)
		return rc;
	step *= m.scale;
	if (!l->out.n || step < l->out.step)
		l->out.step = step;
	return add(l, x * m.scale);
}

int format_values(const char *text, size_t n, int64_t column, struct format_numbers *out,
		  struct weir_err *e)
{
	struct values l = {.column = column, .e = e};
	int rc = 0;

	for (size_t at = 0; at < n && rc >= 0;) {
		const char *end = memchr(text + at, '\n', n - at);
		struct field line = {text + at, end ? (size_t)(end - text) - at : n - at};

		l.line++;
		rc = take_line(&l, &line);
		at += line.n + 1;
	}
	if (rc < 0) {
		free(l.out.v);
		l.out = (struct format_numbers){0};
	}
	*out = l.out;
	return rc;
}
