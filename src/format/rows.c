/* SPDX-License-Identifier: BSD-2-Clause */
/* Most reports are phrases with numbers: a table says which number is which figure. */
#include <stdlib.h>
#include <string.h>

#include "format/rows.h"

void rows_fig(struct format_found *f, const struct lex *l, size_t i, const struct rows_out *o,
	      double value, struct model_dims dims)
{
	double scale = o->scale > 0 ? o->scale : 1, step = scale;

	if (!o->metric || !isfinite(value))
		return;
	if (lex_num(l, i) && l->tok[i].num > 0)
		step *= fabs(value) / l->tok[i].num; /* its unit */
	if (o->dir)
		dims = model_dims_with(dims, DIM_DIR, o->dir - 1);
	found_ext(f, o->metric, o->unit, o->stat, dims, value * scale,
		  lex_num(l, i) ? found_resolution(&l->tok[i], step) : 0);
}

size_t rows_match(const struct lex *l, size_t i, const struct rows_pat *p, size_t n,
		  struct format_found *f, struct model_dims dims)
{
	double cap[MATCH_CAPS] MATCH_OUT;
	uint32_t tok[MATCH_CAPS] MATCH_OUT;

	for (size_t k = 0; k < n; k++) {
		size_t end;

		if (!match_may(l, i, p[k].pattern))
			continue;
		end = match_toks(l, i, p[k].pattern, cap, tok);
		if (!end)
			continue;
		for (size_t c = 0; c < ARRAY_LEN(p[k].out); c++)
			if (p[k].out[c].metric)
				rows_fig(f, l, tok[c], &p[k].out[c], cap[c], dims);
		return end;
	}
	return 0;
}

size_t rows_all(const struct lex *l, size_t i, const struct rows_pat *p, size_t n,
		struct format_found *f, struct model_dims dims, size_t gap,
		bool (*stop)(const struct lex *l, size_t i))
{
	size_t last = i;

	while (i < l->n && i <= last + gap && !(stop && stop(l, i))) {
		size_t end = rows_match(l, i, p, n, f, dims);

		i = end ? end : i + 1;
		last = end ? end : last;
	}
	return last;
}

bool rows_json_is(const struct json_scan *s, const char *parent, const char *key)
{
	if (!json_is(s, &s->key, key))
		return false;
	return !parent || (s->depth && json_is(s, &s->level[s->depth - 1], parent));
}

bool rows_json(const struct json_scan *s, const struct rows_json *t, size_t n,
	       struct format_found *f, struct model_dims dims)
{
	if (s->what != JSON_VALUE || !s->number || s->last)
		return false;
	for (size_t i = 0; i < n; i++)
		if (rows_json_is(s, t[i].parent, t[i].key)) {
			rows_fig(f, s->l, s->to - 1, &t[i].out, s->num, dims);
			return true;
		}
	return false;
}

/* The parts stand without blanks: NUM WORD "m0s" is a minute and 0 seconds. */
size_t rows_duration(const struct lex *l, size_t i, double *seconds)
{
	const struct lex_tok *t = &l->tok[i];
	const char *s, *end;
	double v;

	if (!lex_num(l, i) || i + 1 >= l->n || t[1].type != LEX_WORD || t[1].flags)
		return 0;
	s = lex_text(l, i + 1);
	end = s + t[1].len;
	v = t->num;
	*seconds = 0;
	while (s < end) {
		const char *unit = s;
		double u;

		while (s < end && (*s < '0' || *s > '9'))
			s++;
		u = match_time_unit(unit, (size_t)(s - unit));
		if (isnan(u) && s - unit == 1 && *unit == 'd')
			u = 86400;
		if (isnan(u))
			return 0;
		*seconds += v * u;
		if (s == end)
			return 2;
		for (v = 0; s < end && *s >= '0' && *s <= '9'; s++)
			v = v * 10 + (*s - '0');
		if (s < end && *s == '.' && s + 1 < end && s[1] >= '0' && s[1] <= '9') {
			double k = 0.1;

			for (s++; s < end && *s >= '0' && *s <= '9'; s++, k /= 10)
				v += k * (*s - '0');
		}
		if (s == end) /* "1m" and then 2.5 s is another token */
			return 0;
	}
	return 0;
}

double rows_value(const struct format_found *f, const char *metric, enum model_stat stat)
{
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		if (*g->metric == *metric && g->stat == stat && g->state == MODEL_KNOWN &&
		    !strcmp(g->metric, metric))
			return g->value;
	}
	return UNSET;
}

char *rows_text(const struct lex *l, size_t i, char *dst, size_t cap)
{
	size_t n = i < l->n ? l->tok[i].len : 0;

	n = n < cap ? n : cap - 1;
	memcpy(dst, i < l->n ? lex_text(l, i) : "", n);
	dst[n] = '\0';
	return dst;
}
