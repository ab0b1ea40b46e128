/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines cannot be relied on, so reports are read as tokens: words, numbers, single signs, each with
 * its place and whether a line begins before it. Units keep together ("Mbits/sec"), addresses
 * too; "28K", "0.0-1.0" and "1/8506" come apart.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

enum { C_SPACE = 1, C_DIGIT = 2, C_ALPHA = 4, C_JOIN = 8, C_DROP = 16 };

static void learn(uint8_t kinds[256])
{
	memset(kinds, 0, 128);
	memset(&kinds[128], C_ALPHA, 128);
	memset(&kinds['0'], C_DIGIT, 10);
	memset(&kinds['a'], C_ALPHA, 26);
	memset(&kinds['A'], C_ALPHA, 26);
	kinds['_'] = C_ALPHA;
	kinds[' '] = kinds['\t'] = kinds['\n'] = kinds[0] = C_SPACE;
	kinds['/'] = kinds['-'] = kinds['.'] = C_JOIN;
	/* What marks text up but never is a figure's part: stress marks of people and of Markdown. */
	kinds['!'] = kinds['`'] = C_DROP;
}

static int kind(const struct lex *l, size_t i)
{
	return i < l->len ? l->kinds[(uint8_t)l->text[i]] : C_SPACE;
}

static double power10(int k)
{
	static const double p[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
				   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

	return k < 0 ? 1 : p[k < 22 ? k : 22];
}

static bool digit_at(const struct lex *l, size_t i)
{
	return i < l->len && (uint8_t)(l->text[i] - '0') < 10;
}

/* *v goes on with the digits at i, of which there are *n. */
static size_t digits(const struct lex *l, size_t i, double *v, int *n)
{
	size_t from = i;

	while (digit_at(l, i)) {
		size_t k = i, end = l->len - i > 15 ? i + 15 : l->len;
		uint64_t u = 0; /* so many are exact, and quicker than as doubles */

		for (; k < end && digit_at(l, k); k++)
			u = u * 10 + (uint64_t)(l->text[k] - '0');
		*v = *v * power10((int)(k - i)) + (double)u;
		i = k;
	}
	*n = (int)(i - from);
	return i;
}

/* v * 10^e; none and no end stay what they are, where the product would be no number. */
static double scaled(double v, double e)
{
	return v != 0 && isfinite(v) ? v * pow(10, e) : v;
}

/* The end of an exponent at i = 'e'; i when it is none. */
static size_t exponent(const struct lex *l, size_t i, double *v)
{
	size_t k = i + 1;
	bool minus = k < l->len && l->text[k] == '-';
	double e = 0;
	int n;

	k += k < l->len && (l->text[k] == '-' || l->text[k] == '+');
	if (kind(l, k) != C_DIGIT)
		return i;
	k = digits(l, k, &e, &n);
	if (kind(l, k) == C_ALPHA || n > 3)
		return i;
	*v = scaled(*v, minus ? -e : e);
	return k;
}

/* A number, or an address such as 10.0.0.1 or a version such as 3.0.11, which is a word. */
static size_t number(const struct lex *l, size_t i, struct lex_tok *t)
{
	double v = 0;
	int n, frac = 0;
	size_t k = digits(l, i, &v, &n), dots = 0;

	t->type = LEX_NUM;
	if (k < l->len && l->text[k] == '.' && kind(l, k + 1) == C_DIGIT)
		k = digits(l, k + 1, &v, &frac);
	t->num = frac > 22 ? scaled(v, -frac) : v / power10(frac);
	t->decimals = (uint8_t)(frac < 255 ? frac : 255);
	for (; k < l->len && l->text[k] == '.' && kind(l, k + 1) == C_DIGIT; dots++)
		k = digits(l, k + 1, &v, &n);
	if (dots)
		t->type = LEX_WORD;
	else if (k < l->len && (l->text[k] == 'e' || l->text[k] == 'E'))
		k = exponent(l, k, &t->num);
	return k;
}

static size_t word(const struct lex *l, size_t i)
{
	for (;;) {
		int c = kind(l, i);

		if (!(c & (C_ALPHA | C_DIGIT)) && !(c == C_JOIN && kind(l, i + 1) == C_ALPHA))
			return i;
		i++;
	}
}

static struct lex_tok *add(struct lex *l)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 1024;
		void *v = reallocarray(l->tok, cap, sizeof(*l->tok));

		if (!v)
			return NULL;
		l->tok = v;
		l->cap = cap;
	}
	return &l->tok[l->n++];
}

int lex_run(struct lex *l, const char *text, size_t n)
{
	uint8_t flags = LEX_LINE | LEX_SPACE;

	l->text = text;
	l->len = n;
	l->n = 0;
	learn(l->kinds);
	for (size_t i = 0, end; i < n; i = end) {
		int c = kind(l, i);
		struct lex_tok *t;

		end = i + 1;
		if (c & (C_SPACE | C_DROP)) {
			flags |= text[i] == '\n' ? LEX_LINE | LEX_SPACE
				 : c == C_SPACE  ? LEX_SPACE
						 : 0;
			continue;
		}
		t = add(l);
		if (!t)
			return -ENOMEM;
		*t = (struct lex_tok){.off = (uint32_t)i, .type = LEX_PUNCT, .flags = flags};
		if (c == C_DIGIT) {
			end = number(l, i, t);
		} else if (c == C_ALPHA) {
			end = word(l, i);
			t->type = LEX_WORD;
		}
		t->len = (uint32_t)(end - i);
		if (end == n || (end + 1 == n && text[end] == '.'))
			t->flags |= LEX_CUT;
		flags = 0;
	}
	return 0;
}

void lex_fini(struct lex *l)
{
	free(l->tok);
	*l = (struct lex){0};
}
