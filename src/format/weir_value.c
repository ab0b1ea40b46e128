/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One value as weir prints it, with the step of its last digit: the number and the unit's own syntax
 * are those that base's units take.
 */
#include <stdio.h>

#include "format/weir_text.h"

size_t weir_stars(const struct lex *l, size_t i)
{
	while (lex_is(l, i, "*"))
		i++;
	return i;
}

size_t weir_bar(const struct lex *l, size_t i)
{
	return i + lex_is(l, i, "|");
}

static bool with_unit(const struct lex *l, size_t i, enum unit u, const char *sign,
		      struct weir_val *o)
{
	const struct lex_tok *a = &l->tok[i], *b = a + 1;
	char text[80];
	double one;

	if (i + 1 >= l->n || a->len > 40 || b->len > 16 || b->flags & LEX_CUT ||
	    (b->type != LEX_WORD && !lex_is(l, i + 1, "%")))
		return false;
	snprintf(text, sizeof(text), "1%.*s", (int)b->len, lex_text(l, i + 1));
	if (unit_parse(text, u, &one, NULL) < 0)
		return false;
	o->step = found_resolution(a, one);
	snprintf(text, sizeof(text), "%s%.*s%.*s", sign, (int)a->len, lex_text(l, i), (int)b->len,
		 lex_text(l, i + 1));
	if (unit_parse(text, u, &o->v, NULL) < 0)
		o->v = *sign ? -a->num * one : a->num * one;
	return true;
}

size_t weir_value(const struct lex *l, size_t i, enum unit u, struct weir_val *o)
{
	bool bound = false, minus;

	*o = (struct weir_val){.v = UNSET, .state = MODEL_UNKNOWN};
	i = weir_stars(l, i);
	if (lex_is(l, i, "unknown"))
		return weir_stars(l, i + 1);
	o->state = MODEL_NA;
	if (lex_is(l, i, "n/a"))
		return weir_stars(l, i + 1);
	o->state = MODEL_KNOWN;
	if ((lex_is(l, i, ">") || lex_is(l, i, "<")) && lex_is(l, i + 1, "=")) {
		bound = true;
		i += 2;
	} else if (lex_is(l, i, "\xe2\x89\xa5") || lex_is(l, i, "\xe2\x89\xa4")) {
		bound = true;
		i++;
	}
	minus = lex_is(l, i, "-");
	i += minus;
	if (!lex_num(l, i))
		return 0;
	if (with_unit(l, i, u, minus ? "-" : "", o)) {
		i++;
	} else if (u == UNIT_NONE) {
		o->v = minus ? -l->tok[i].num : l->tok[i].num;
		o->step = found_resolution(&l->tok[i], 1);
	} else {
		return 0;
	}
	o->v = bound ? UNSET : o->v;
	return weir_stars(l, i + 1);
}
