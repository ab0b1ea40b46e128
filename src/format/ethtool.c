/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ethtool -S: a driver's own counters by the driver's own names. A name is what stands between one
 * value and the last colon before the next; blanks and colons may be in it.
 */
#include <stdio.h>
#include <string.h>

#include "format/rows.h"

#define NAME_TOKENS 14
#define NAME_BYTES  64
#define SAME        64 /* how far back an equal name is looked for */

/* The text of tokens [a, b). */
static bool name(const struct lex *l, size_t a, size_t b, char *dst)
{
	const struct lex_tok *t = &l->tok[b - 1];
	size_t n = t->off + t->len - l->tok[a].off, k = 0;
	const char *s = lex_text(l, a);

	if (a >= b || n > NAME_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool blank = strchr(" \t\n:[]", s[i]) != NULL;

		if (!blank)
			dst[k++] = s[i];
		else if (k && dst[k - 1] != '_')
			dst[k++] = '_';
	}
	while (k && dst[k - 1] == '_')
		k--;
	dst[k] = '\0';
	return k > 0;
}

/* A counter from token i on: index after its value; *colon = the last colon. */
static size_t counter(const struct lex *l, size_t i, size_t *colon)
{
	for (size_t k = i; k < i + NAME_TOKENS && k + 1 < l->n; k++) {
		if (k > i && lex_line(l, k) && !lex_is(l, k, ":") && !lex_is(l, k - 1, ":") &&
		    !lex_line(l, i))
			return 0;
		if (lex_is(l, k, "NIC") || lex_is(l, k, "#") || lex_is(l, k, "$"))
			return 0; /* another paste */
		if (!lex_is(l, k, ":") || !lex_num(l, k + 1))
			continue;
		/* Values are whole numbers, and a name never begins with what follows them. */
		if (l->tok[k + 1].decimals || (k + 2 < l->n && !(l->tok[k + 2].flags & LEX_SPACE)))
			continue;
		*colon = k;
		return k + 2;
	}
	return 0;
}

static const char *unique(struct format_found *f, const char *text)
{
	const char *n = found_join(f, "ext.ethtool.", text, "");
	int same = 1;

	for (size_t i = f->n_fig > SAME ? f->n_fig - SAME : 0; i < f->n_fig; i++)
		same += !strcmp(f->fig[i].metric, n);
	return same == 1 ? n : found_name(f, "ext.ethtool.%s.%d", text, same);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t at = i + 3, end, colon;
	char text[NAME_BYTES + 1];

	f->what = "ethtool";
	while (at < l->n && (end = counter(l, at, &colon)) && name(l, at, colon, text)) {
		double v = l->tok[colon + 1].num;

		if (end >= l->n && l->text[l->len - 1] != '\n') {
			f->partial = true; /* its last digits may be missing */
			found_warn(f, WARN_TRUNCATED, "the text ends with a value");
			at = end;
			break;
		}
		found_ext(f, unique(f, text), UNIT_NONE, STAT_VALUE, DIMS_NONE, v, 1);
		at = end;
	}
	return at;
}

static bool sniff(const struct lex *l, size_t i)
{
	return match(l, i, "NIC statistics :", &(double){0});
}

const struct reader reader_ethtool = {"ethtool", "N", sniff, parse};
