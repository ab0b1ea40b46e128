/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report's rows are told in small patterns over tokens instead of regular expressions: they cannot
 * backtrack beyond an optional group, so a match costs at most its own length.
 */
#include <string.h>

#include "format/reader.h"

struct m {
	const struct lex *l;
	double *cap;
	size_t n_cap;
	bool cut; /* the text ended inside */
};

/* ---- units ---- */

static double prefix(char c)
{
	switch (c) {
	case 'K':
	case 'k':
		return 1;
	case 'M':
	case 'm':
		return 2;
	case 'G':
	case 'g':
		return 3;
	case 'T':
	case 't':
		return 4;
	case 'P':
		return 5;
	default:
		return 0;
	}
}

static bool one_of(const char *s, size_t n, const char *const *v)
{
	for (; *v; v++)
		if (strlen(*v) == n && !memcmp(*v, s, n))
			return true;
	return false;
}

static double power(double base, double k)
{
	double v = 1;

	for (; k > 0; k--)
		v *= base;
	return v;
}

double match_bytes_unit(const char *s, size_t n)
{
	static const char *const bytes[] = {"Bytes", "Byte", "bytes", "byte", "B", NULL};
	double k = n > 1 ? prefix(*s) : 0;
	size_t skip = k > 0;

	if (skip && n > 2 && s[1] == 'i')
		skip = 2;
	return one_of(s + skip, n - skip, bytes) ? power(1024, k) : UNSET;
}

double match_rate_unit(const char *s, size_t n)
{
	static const char *const bits[] = {"bits/sec", "bit/s", "bits/s", "bit/sec",
					   "bps",      "b/s",   NULL};
	static const char *const bytes[] = {"Bytes/sec", "Byte/s", "Bytes/s", "Byte/sec",
					    "B/s",       "B/sec",  NULL};
	double k = n > 3 || (n && (*s & 0x20) == 0) ? prefix(*s) : 0;
	size_t skip = k > 0;

	if (one_of(s + skip, n - skip, bits))
		return power(1000, k);
	if (one_of(s + skip, n - skip, bytes))
		return power(1024, k) * 8;
	return NAN;
}

/* ---- elements ---- */

/* The length of an element; groups are found by their brackets. */
static size_t element(const char *p)
{
	return strcspn(p, " ");
}

static const char *after(const char *p)
{
	p += element(p);
	return p + strspn(p, " ");
}

/* The bracket that closes the group whose inside begins at p. */
static const char *group_end(const char *p, size_t *caps)
{
	int depth = 1;

	for (*caps = 0; *p; p = after(p)) {
		if (*p == '(' && element(p) == 1)
			depth++;
		else if (*p == ')' && element(p) == 1 && --depth == 0)
			return p;
		else if (*p == '#' || (*p == '%' && element(p) == 2 && p[1] != 't') ||
			 (p[0] == '-' && p[1] == '#'))
			++*caps;
	}
	return p;
}

static void capture(struct m *m, double v)
{
	if (m->n_cap < MATCH_CAPS)
		m->cap[m->n_cap++] = v;
}

static bool literal(const struct m *m, size_t i, const char *p, size_t n)
{
	const struct lex_tok *t = &m->l->tok[i];
	const char *s = lex_text(m->l, i);

	if (n == 2 && *p == '\\')
		return t->len == 1 && *s == p[1];
	while (n) {
		const char *bar = memchr(p, '|', n);
		size_t k = bar && n > 1 ? (size_t)(bar - p) : n;

		if (t->len == k && !memcmp(s, p, k))
			return true;
		n -= k + (k < n);
		p += k + 1;
	}
	return false;
}

static bool unit(struct m *m, size_t i, char what)
{
	const struct lex_tok *t = &m->l->tok[i];
	const char *s = lex_text(m->l, i);
	double v = what == 'B' ? match_bytes_unit(s, t->len) : match_rate_unit(s, t->len);

	capture(m, v);
	return t->type == LEX_WORD && !isnan(v);
}

/* One element other than a group: tokens used, or -1. */
static int one(struct m *m, size_t i, const char *p, size_t n)
{
	const struct lex_tok *t = &m->l->tok[i];
	bool minus = n == 2 && p[0] == '-' && p[1] == '#';

	if (i >= m->l->n) {
		m->cut = true;
		return -1;
	}
	if (minus && t->len == 1 && *lex_text(m->l, i) == '-') {
		if (!lex_num(m->l, i + 1))
			return -1;
		capture(m, -t[1].num);
		return 2;
	}
	if (minus || (n == 1 && *p == '#')) {
		capture(m, t->num);
		return t->type == LEX_NUM ? 1 : -1;
	}
	if (n == 2 && *p == '%' && p[1] == 't')
		return 1;
	if (n == 2 && *p == '%' && p[1] == 'w') {
		capture(m, (double)i);
		return t->type == LEX_WORD ? 1 : -1;
	}
	if (n == 2 && *p == '%')
		return unit(m, i, p[1]) ? 1 : -1;
	return literal(m, i, p, n) ? 1 : -1;
}

static size_t run(struct m *m, size_t i, const char *p, const char *end)
{
	while (p < end) {
		size_t n = element(p), caps, mark = m->n_cap, k;
		int used;

		if (*p == '(' && n == 1) {
			const char *inside = after(p), *close = group_end(inside, &caps);

			k = run(m, i, inside, close);
			if (!k) {
				m->n_cap = mark;
				for (size_t c = 0; c < caps; c++)
					capture(m, NAN);
			}
			i = k ? k : i;
			p = *close ? after(close) : close;
			continue;
		}
		if (*p == '^' && n == 1) {
			if (!lex_line(m->l, i))
				return 0;
		} else {
			used = one(m, i, p, n);
			if (used < 0)
				return 0;
			i += (size_t)used;
		}
		p = after(p);
	}
	return i;
}

size_t match_cut(const struct lex *l, size_t at, const char *pattern, double *cap, bool *cut)
{
	struct m m = {.l = l, .cap = cap};
	size_t end = run(&m, at, pattern, pattern + strlen(pattern));

	if (cut)
		*cut = m.cut;
	return end;
}

size_t match(const struct lex *l, size_t at, const char *pattern, double *cap)
{
	return match_cut(l, at, pattern, cap, NULL);
}
