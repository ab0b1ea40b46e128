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
	uint32_t *tok; /* of each capture; or NULL */
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
		if (**v == *s && strlen(*v) == n && !memcmp(*v, s, n))
			return true;
	return false;
}

static double power(double base, double k)
{
	double v = 1;

	for (int i = (int)k; i > 0; i--)
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
	return UNSET;
}

double match_time_unit(const char *s, size_t n)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{"s", 1},
		{"sec", 1},
		{"secs", 1},
		{"seconds", 1},
		{"ms", 1e-3},
		{"msec", 1e-3},
		{"us", 1e-6},
		{"usec", 1e-6},
		{"\xc2\xb5s", 1e-6},
		{"\xce\xbcs", 1e-6},
		{"microseconds", 1e-6},
		{"ns", 1e-9},
		{"nsec", 1e-9},
		{"min", 60},
		{"m", 60},
		{"h", 3600},
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (*units[i].name == *s && strlen(units[i].name) == n &&
		    !memcmp(units[i].name, s, n))
			return units[i].seconds;
	return UNSET;
}

/* ---- elements ---- */

/* The length of an element; groups are found by their brackets. */
static size_t element(const char *p)
{
	size_t n = 0;

	while (p[n] && p[n] != ' ')
		n++;
	return n;
}

static const char *after(const char *p)
{
	p += element(p);
	return *p ? p + 1 : p;
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

static void capture_at(struct m *m, size_t i, double v)
{
	if (m->n_cap >= MATCH_CAPS)
		return;
	if (m->tok)
		m->tok[m->n_cap] = (uint32_t)i;
	m->cap[m->n_cap++] = v;
}

static void capture(struct m *m, double v)
{
	capture_at(m, 0, v);
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

static double unit_of(const struct m *m, size_t i, char what)
{
	const char *s = i < m->l->n && m->l->tok[i].type == LEX_WORD ? lex_text(m->l, i) : "";
	size_t n = *s ? m->l->tok[i].len : 0;

	if (n == 1 && *s == 'm' && m->l->tok[i].flags & LEX_CUT)
		return UNSET; /* of "ms" or of "min" */
	return what == 'B'   ? match_bytes_unit(s, n)
	       : what == 'R' ? match_rate_unit(s, n)
			     : match_time_unit(s, n);
}

static bool unit(struct m *m, size_t i, char what)
{
	double v = unit_of(m, i, what);

	capture_at(m, i, v);
	return !isnan(v);
}

size_t lex_decimal(const struct lex *l, size_t i, double *v)
{
	const struct lex_tok *t = &l->tok[i];

	*v = lex_num(l, i) ? t->num : UNSET;
	if (isnan(*v))
		return 0;
	if (t->decimals || !lex_is(l, i + 1, ",") || t[1].flags || !lex_num(l, i + 2) ||
	    t[2].flags || t[2].decimals)
		return 1;
	*v += t[2].num * pow(10, -(double)t[2].len);
	return 3;
}

/* #, is a number with a decimal comma or point; #T #R #B a number with its unit. */
static int number(struct m *m, size_t i, char what)
{
	double v = m->l->tok[i].num, u;
	size_t used = 1;

	m->cut = m->cut || m->l->tok[i].flags & LEX_CUT;
	if (!lex_num(m->l, i))
		return -1;
	if (what == ',') {
		used = lex_decimal(m->l, i, &v);
	} else if (what) {
		u = unit_of(m, i + 1, what);
		m->cut = m->cut || i + 1 >= m->l->n;
		if (isnan(u))
			return -1;
		v *= u;
		used = 2;
	}
	capture_at(m, i, v);
	return (int)used;
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
		capture_at(m, i + 1, -t[1].num);
		return 2;
	}
	if (minus || (*p == '#' && n < 3))
		return number(m, i, minus ? '\0' : n == 2 ? p[1] : '\0');
	if (n == 2 && *p == '%' && p[1] == 't')
		return 1;
	if (n == 2 && *p == '%' && p[1] == 'w') {
		capture_at(m, i, (double)i);
		return t->type == LEX_WORD ? 1 : -1;
	}
	if (n == 2 && *p == '%')
		return unit(m, i, p[1]) ? 1 : -1;
	return literal(m, i, p, n) ? 1 : -1;
}

/* Elements of their plain kinds, as most are: a word (or sign) and a number. The pattern behind what
 * fitted; NULL = it does not fit; p itself = another kind. */
static const char *plain(struct m *m, size_t i, const char *p)
{
	const struct lex_tok *t = &m->l->tok[i];
	const char *s = m->l->text + t->off;
	size_t k = 0;

	if (*p == '#' && (p[1] == ' ' || !p[1])) {
		m->cut = m->cut || t->flags & LEX_CUT;
		if (t->type != LEX_NUM || t->flags & LEX_CUT)
			return NULL;
		capture_at(m, i, t->num);
		return p + 1 + (p[1] == ' ');
	}
	if (*p == '#' || *p == '%' || *p == '^' || *p == '\\' || (*p == '-' && p[1] == '#'))
		return p;
	while (k < t->len && p[k] == s[k])
		k++;
	if (k == t->len && (p[k] == ' ' || !p[k]))
		return p + k + (p[k] == ' ');
	while (p[k] && p[k] != ' ' && p[k] != '|')
		k++;
	return p[k] == '|' ? p : NULL;
}

static size_t run(struct m *m, size_t i, const char *p, const char *end)
{
	while (*p && p != end) {
		size_t n, caps, mark = m->n_cap, k;
		int used;

		if (i < m->l->n && (*p != '(' || (p[1] && p[1] != ' '))) {
			const char *next = plain(m, i, p);

			if (!next)
				return 0;
			if (next != p) {
				p = next;
				i++;
				continue;
			}
		}
		n = element(p);

		if (*p == '(' && n == 1) {
			const char *inside = after(p), *close = group_end(inside, &caps);

			k = run(m, i, inside, close);
			if (!k) {
				m->n_cap = mark;
				for (size_t c = 0; c < caps; c++)
					capture(m, UNSET);
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
	size_t end = match_may(l, at, pattern) ? run(&m, at, pattern, NULL) : 0;

	if (cut)
		*cut = m.cut;
	return end;
}

size_t match_run(const struct lex *l, size_t at, const char *pattern, double *cap, uint32_t *tok)
{
	struct m m = {.l = l, .cap = cap, .tok = tok};

	return run(&m, at, pattern, NULL);
}

size_t match_toks(const struct lex *l, size_t at, const char *pattern, double *cap, uint32_t *tok)
{
	return match_may(l, at, pattern) ? match_run(l, at, pattern, cap, tok) : 0;
}
