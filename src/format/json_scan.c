/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON in mails is quoted, wrapped, cut and edited by hand. This scanner goes over tokens, which have
 * lost the quote marks already, and never asks that a document be whole: it tells every value that it
 * meets with the keys around it.
 */
#include <string.h>

#include "format/reader.h"

#define STRING_MAX 4096 /* tokens of a string */
#define JUNK_MAX   6    /* tokens that are no JSON, in a row */

struct json_scan json_scan(const struct lex *l, size_t i)
{
	return (struct json_scan){.l = l, .i = i, .fragment = !lex_is(l, i, "{")};
}

bool json_is(const struct json_scan *s, const struct json_key *k, const char *name)
{
	return k->to == k->from + 1 && lex_is(s->l, k->from, name);
}

void json_text(const struct json_scan *s, uint32_t from, uint32_t to, char *dst, size_t cap)
{
	const struct lex_tok *t = s->l->tok;
	size_t n = 0;

	if (from < to && to <= s->l->n)
		n = t[to - 1].off + t[to - 1].len - t[from].off;
	n = n < cap ? n : cap - 1;
	if (n)
		memcpy(dst, s->l->text + t[from].off, n);
	dst[n] = '\0';
}

bool json_key_at(const struct lex *l, size_t i, const char *name)
{
	return lex_is(l, i, "\"") && lex_is(l, i + 1, name) && lex_is(l, i + 2, "\"") &&
	       lex_is(l, i + 3, ":");
}

/* Tokens of the string whose quote is at i; false when it has no end. */
static bool string(const struct lex *l, size_t i, uint32_t *from, uint32_t *to)
{
	size_t k = i + 1;

	for (; k < l->n && k - i < STRING_MAX; k++) {
		if (lex_is(l, k, "\\"))
			k++; /* what is escaped */
		else if (lex_is(l, k, "\""))
			break;
	}
	*from = (uint32_t)(i + 1);
	*to = (uint32_t)(k < l->n ? k : l->n);
	return k < l->n && lex_is(l, k, "\"");
}

static void value(struct json_scan *s, size_t from, size_t to, double num)
{
	s->what = JSON_VALUE;
	s->from = (uint32_t)from;
	s->to = (uint32_t)to;
	s->num = num;
	s->string = false;
	s->number = !isnan(num);
	s->last = to >= s->l->n;
	s->i = to;
}

/* A number, also "-nan" and "5.924e 06"; false when there is none. */
static bool number(struct json_scan *s, size_t i)
{
	const struct lex *l = s->l;
	bool minus = lex_is(l, i, "-");
	size_t k = i + minus;
	double v;

	if (minus && (lex_is(l, k, "nan") || lex_is(l, k, "inf"))) {
		value(s, i, k + 1, UNSET);
		return true;
	}
	if (!lex_num(l, k))
		return false;
	v = minus ? -l->tok[k].num : l->tok[k].num;
	if (lex_is(l, k + 1, "e") && !(l->tok[k + 1].flags & LEX_SPACE) && lex_num(l, k + 2) &&
	    l->tok[k + 2].num < 300) {
		v *= pow(10, l->tok[k + 2].num);
		k += 2;
	}
	value(s, i, k + 1, v);
	return true;
}

static bool word(struct json_scan *s, size_t i)
{
	static const char *const words[] = {"false", "true", "null", "nan", "NaN", "inf"};

	for (size_t k = 0; k < ARRAY_LEN(words); k++)
		if (lex_is(s->l, i, words[k])) {
			value(s, i, i + 1, k < 2 ? (double)k : UNSET);
			s->number = false;
			return true;
		}
	return false;
}

static bool open_level(struct json_scan *s, bool array, struct json_key key)
{
	if (s->depth == JSON_LEVELS) {
		s->cut = true;
		return false;
	}
	key.array = array;
	s->level[s->depth++] = key;
	s->key = key;
	s->what = JSON_OPEN;
	s->i++;
	return true;
}

/* A bracket that was never opened closes what was before the text's begin. */
static bool close_level(struct json_scan *s)
{
	if (!s->depth && !s->fragment)
		return false;
	s->key = s->depth ? s->level[--s->depth] : (struct json_key){0};
	s->what = JSON_CLOSE;
	s->i++;
	return true;
}

/* The next token that is not a comma or a remark; l->n at the end. */
static size_t skip(const struct lex *l, size_t i)
{
	for (;;) {
		if (lex_is(l, i, ",")) {
			i++;
		} else if (lex_is(l, i, "#")) {
			for (i++; i < l->n && !lex_line(l, i); i++)
				;
		} else {
			return i;
		}
	}
}

static bool bracket(const struct lex *l, size_t i, const char *two)
{
	return i < l->n && l->tok[i].len == 1 && strchr(two, *lex_text(l, i));
}

/* After a whole document nothing belongs to it; after a fragment's piece what looks like more. */
static bool over(const struct json_scan *s, size_t i)
{
	if (s->depth || !s->begun)
		return false;
	return !s->fragment || !(bracket(s->l, i, "}]") || lex_is(s->l, i, "\""));
}

/* A key at i, if one is there: its tokens, and where its value begins. */
static bool key(const struct lex *l, size_t i, struct json_key *k, size_t *next)
{
	if (!lex_is(l, i, "\"") || !string(l, i, &k->from, &k->to) || !lex_is(l, k->to + 1, ":"))
		return false;
	*next = k->to + 2;
	return true;
}

bool json_next(struct json_scan *s)
{
	const struct lex *l = s->l;
	size_t i = skip(l, s->i), junk = 0;
	struct json_key k = {0};

	if (over(s, i))
		return false;
	s->begun = true;
	for (; i < l->n; i++) {
		if (key(l, i, &k, &i) && i >= l->n)
			break;
		s->i = i;
		if (bracket(l, i, "{["))
			return open_level(s, *lex_text(l, i) == '[', k);
		if (bracket(l, i, "}]"))
			return close_level(s);
		s->key = k;
		if (lex_is(l, i, "\"")) {
			uint32_t from, to;
			bool whole = string(l, i, &from, &to);

			if (!whole && to < l->n)
				break;
			value(s, i, to + whole, UNSET);
			s->from = from;
			s->to = to;
			s->string = true;
			return true;
		}
		if (number(s, i) || word(s, i))
			return true;
		if (++junk > JUNK_MAX || lex_is(l, i, ".") || !s->depth)
			break;
		k = (struct json_key){0};
	}
	s->cut = s->depth > 0 || s->fragment;
	s->i = i < l->n ? i : l->n;
	return false;
}

size_t json_ended(const struct json_scan *s, size_t from, struct format_found *f)
{
	f->partial = s->cut;
	if (s->cut)
		found_warn(f, WARN_TRUNCATED, "the JSON ends within");
	return s->i > from ? s->i : from + 1;
}
