/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bare numbers as people have them for ministat: one a line, or one field of each line; blank
 * lines and those that begin with # are none. What is no number is told with its line, because a
 * value that is left out silently changes the answer.
 */
#include "format/format.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX ((size_t)1 << 20)
#define NUMBER_MAX 64 /* characters of one */

struct values {
	double *v;
	size_t n, cap;
};

static bool is_separator(char c)
{
	return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r';
}

/* The field of a line: its length, 0 when there is none. */
static size_t field_of(const char *line, size_t n, int64_t column, const char **field)
{
	size_t at = 0, from = 0;

	for (int64_t i = 0; i < column; i++) {
		while (at < n && is_separator(line[at]))
			at++;
		from = at;
		while (at < n && !is_separator(line[at]))
			at++;
	}
	*field = line + from;
	return at - from;
}

static bool is_number(const char *field, size_t n, double *x)
{
	char text[NUMBER_MAX + 1], *end;

	if (!n || n > NUMBER_MAX || memchr(field, 0, n))
		return false;
	memcpy(text, field, n);
	text[n] = '\0';
	*x = strtod(text, &end);
	return !*end && isfinite(*x);
}

static int add(struct values *l, double x, struct weir_err *e)
{
	if (l->n == VALUES_MAX)
		return err_set(e, WEIR_LIMIT, EFBIG, "over a million values");
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		double *v = reallocarray(l->v, cap, sizeof(*v));

		if (!v)
			return err_set(e, WEIR_OS, ENOMEM, "out of memory");
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = x;
	return 0;
}

static int take_line(struct values *l, const char *line, size_t n, int64_t column, size_t number,
		     struct weir_err *e)
{
	char safe[NUMBER_MAX];
	const char *field;
	size_t len = field_of(line, n, 1, &field);
	double x;

	if (!len || *field == '#')
		return 0;
	len = field_of(line, n, column, &field);
	if (is_number(field, len, &x))
		return add(l, x, e);
	safe_str(safe, sizeof(safe), field, len);
	return err_set(e, WEIR_FORMAT, EINVAL, "line %zu: \"%s\" is not a number", number, safe);
}

int format_values(const char *text, size_t n, int64_t column, double **out, size_t *count,
		  struct weir_err *e)
{
	struct values l = {0};
	size_t number = 0;
	int rc = 0;

	for (size_t at = 0; at < n && rc >= 0;) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - text) - at : n - at;

		rc = take_line(&l, text + at, len, column, ++number, e);
		at += len + 1;
	}
	if (rc < 0) {
		free(l.v);
		l = (struct values){0};
	}
	*out = l.v;
	*count = l.n;
	return rc;
}
