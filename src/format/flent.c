/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flent: the table of its summary, and its data file (versions 1 to 4) whose series are summed up
 * here in the same figures.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/rows.h"

#define NEWEST      4 /* version of the data file */
#define NAME_TOKENS 10
#define NAME_BYTES  48
#define SERIES_MAX  256

/* "TCP download sum" as a part of a metric's name. */
static void slug(const char *s, size_t n, char dst[NAME_BYTES])
{
	size_t k = 0;

	for (size_t i = 0; i < n && k + 1 < NAME_BYTES; i++) {
		if (isalnum((unsigned char)s[i]))
			dst[k++] = (char)tolower((unsigned char)s[i]);
		else if (k && dst[k - 1] != '_')
			dst[k++] = '_';
	}
	while (k && dst[k - 1] == '_')
		k--;
	dst[k] = '\0';
}

static void unit_of(const char *s, size_t n, enum unit *unit, double *scale)
{
	double t = match_time_unit(s, n), r = match_rate_unit(s, n);

	*unit = !isnan(t) ? UNIT_SECOND : !isnan(r) ? UNIT_BPS : UNIT_NONE;
	*scale = !isnan(t) ? t : !isnan(r) ? r : 1;
}

/* ---- the summary ---- */

static const struct {
	const char *head;
	enum model_stat stat;
} columns[] = {{"avg", STAT_MEAN}, {"mean", STAT_MEAN}, {"median", STAT_P50},
	       {"min", STAT_MIN},  {"max", STAT_MAX},   {"99th \\%", STAT_P99}};
#define COLS 6

/* Index after the head; its columns. */
static size_t head(const struct lex *l, size_t i, enum model_stat *stat, size_t *n)
{
	double c[MATCH_CAPS];

	for (*n = 0; *n < COLS;) {
		size_t end = 0;

		for (size_t k = 0; k < ARRAY_LEN(columns) && !end; k++) {
			end = match(l, i, columns[k].head, c);
			stat[*n] = columns[k].stat;
		}
		if (!end) {
			end = match(l, i, "# th \\%", c);
			stat[*n] = STAT_P99;
			if (!end || c[0] != 99)
				break;
		}
		++*n;
		i = end;
	}
	return *n >= 2 ? match(l, i, "\\# data pts", c) : 0;
}

struct summary {
	const struct lex *l;
	struct format_found *f;
	enum model_stat stat[COLS];
	size_t n;
};

/* Half of all values are the median or more, so the mean is at least half of it. */
static void judge(struct format_found *f, const char *name, const double *v,
		  const struct summary *s)
{
	double mean = UNSET, median = UNSET;

	for (size_t k = 0; k < s->n; k++) {
		mean = s->stat[k] == STAT_MEAN ? v[k] : mean;
		median = s->stat[k] == STAT_P50 ? v[k] : median;
	}
	if (mean < median / 2 * 0.99)
		found_warn(f, WARN_MISMATCH, "%s: a mean of %g is impossible with a median of %g",
			   name, mean, median);
}

/* The cells after the colon at token i. */
static size_t row(const struct summary *s, size_t from, size_t i)
{
	const struct lex *l = s->l;
	size_t at = i + 1, tok[COLS];
	double v[COLS], scale;
	enum unit unit;
	char name[NAME_BYTES];
	const char *metric;

	for (size_t k = 0; k < s->n; k++) {
		bool none = lex_is(l, at, "N/A");

		tok[k] = at;
		v[k] = none ? UNSET : lex_num(l, at) ? l->tok[at].num : UNSET;
		if (!none && !lex_num(l, at))
			return 0;
		at++;
	}
	if (at < l->n && l->tok[at].type == LEX_WORD)
		unit_of(lex_text(l, at), l->tok[at].len, &unit, &scale), at++;
	else
		unit_of("", 0, &unit, &scale);
	if (!lex_num(l, at) || l->tok[at].decimals)
		return 0;
	slug(lex_text(l, from), l->tok[i].off - l->tok[from].off, name);
	metric = found_join(s->f, "ext.flent.", name, "");
	for (size_t k = 0; k < s->n; k++)
		if (!isnan(v[k]))
			found_ext(s->f, metric, unit, s->stat[k], DIMS_NONE, v[k] * scale,
				  found_resolution(&l->tok[tok[k]], scale));
	found_ext(s->f, found_join(s->f, "ext.flent.", name, ".points"), UNIT_NONE, STAT_VALUE,
		  DIMS_NONE, l->tok[at].num, 1);
	judge(s->f, name, v, s);
	return at + 1;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct summary s = {.l = l, .f = f};
	size_t at = head(l, i, s.stat, &s.n), end = at;

	f->what = "flent";
	while (end) {
		end = 0;
		/* "TCP download::1 : 11.6": the colon before the cells is the last one. */
		for (size_t k = at + 1; k < at + NAME_TOKENS && k < l->n && !end; k++)
			end = lex_is(l, k, ":") ? row(&s, at, k) : 0;
		at = end ? end : at;
	}
	return at;
}

static bool sniff(const struct lex *l, size_t i)
{
	enum model_stat stat[COLS];
	size_t n;

	return head(l, i, stat, &n);
}

const struct reader reader_flent = {"flent", "av me", sniff, parse};

/* ---- the data file ---- */

struct series {
	char name[NAME_BYTES], unit[16];
	double *v;
	size_t n, cap, null;
	bool whole; /* its end was seen */
};
struct data {
	struct format_found *f;
	struct series *s;
	size_t n;
};

static struct series *series(struct data *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->s[i].name, name))
			return &d->s[i];
	if (d->n == SERIES_MAX)
		return NULL;
	snprintf(d->s[d->n].name, NAME_BYTES, "%s", name);
	return &d->s[d->n++];
}

static void key_slug(const struct json_scan *s, const struct json_key *k, char dst[NAME_BYTES])
{
	char text[128];

	json_text(s, k->from, k->to, text, sizeof(text));
	slug(text, strlen(text), dst);
}

static void add(struct data *d, struct series *s, const struct json_scan *j)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 256;
		double *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v) {
			d->f->failed = true;
			return;
		}
		s->v = v;
		s->cap = cap;
	}
	if (j->number)
		s->v[s->n++] = j->num;
	else
		s->null++;
}

static void value(struct data *d, const struct json_scan *j)
{
	char name[NAME_BYTES];
	struct series *s;

	if (j->depth == 3 && json_is(j, &j->level[1], "results") && j->level[2].array) {
		key_slug(j, &j->level[2], name);
		s = j->last ? NULL : series(d, name);
		if (s)
			add(d, s, j);
		return;
	}
	if (j->string && j->depth == 4 && json_is(j, &j->level[2], "SERIES_META") &&
	    json_is(j, &j->key, "UNITS")) {
		key_slug(j, &j->level[3], name);
		s = series(d, name);
		if (s)
			json_text(j, j->from, j->to, s->unit, sizeof(s->unit));
		return;
	}
	if (j->depth == 2 && json_is(j, &j->level[1], "metadata")) {
		if (j->string && json_is(j, &j->key, "FLENT_VERSION"))
			json_text(j, j->from, j->to, d->f->version, sizeof(d->f->version));
		if (j->string && json_is(j, &j->key, "NAME")) {
			json_text(j, j->from, j->to, name, sizeof(name));
			found_param(d->f, "test", "%s", name);
		}
		if (j->number && json_is(j, &j->key, "LENGTH"))
			found_fig(d->f, "duration", STAT_VALUE, DIMS_NONE, j->num, 1);
	}
}

static void whole(struct data *d, const struct json_scan *j)
{
	char name[NAME_BYTES];
	struct series *s;

	if (!json_is(j, &j->level[1], "results"))
		return;
	key_slug(j, &j->key, name);
	s = series(d, name);
	if (s)
		s->whole = true;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A series without a unit in the metadata has that of its kind. */
static const char *unit_text(const struct series *s)
{
	if (s->unit[0])
		return s->unit;
	return !strncmp(s->name, "ping", 4) ? "ms" : !strncmp(s->name, "tcp", 3) ? "Mbits/s" : "";
}

static void sum_up(struct data *d, struct series *s)
{
	static const enum model_stat stat[] = {STAT_MEAN, STAT_P50, STAT_MIN, STAT_MAX};
	const char *m = found_name(d->f, "ext.flent.%s", s->name);
	double sum = 0, scale;
	enum unit unit;
	double v[4];

	if (!s->n || !s->whole)
		return;
	qsort(s->v, s->n, sizeof(*s->v), ascending);
	for (size_t i = 0; i < s->n; i++)
		sum += s->v[i];
	unit_of(unit_text(s), strlen(unit_text(s)), &unit, &scale);
	v[0] = sum / (double)s->n;
	v[1] = (s->v[(s->n - 1) / 2] + s->v[s->n / 2]) / 2;
	v[2] = s->v[0];
	v[3] = s->v[s->n - 1];
	for (size_t k = 0; k < ARRAY_LEN(v); k++) {
		found_ext(d->f, m, unit, stat[k], DIMS_NONE, v[k] * scale, 0);
		found_prov(d->f, MODEL_DERIVED);
	}
	found_ext(d->f, found_name(d->f, "ext.flent.%s.points", s->name), UNIT_NONE, STAT_VALUE,
		  DIMS_NONE, (double)(s->n + s->null), 1);
	found_ext(d->f, found_name(d->f, "ext.flent.%s.null", s->name), UNIT_NONE, STAT_VALUE,
		  DIMS_NONE, (double)s->null, 1);
}

static size_t json_parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct json_scan j = json_scan(l, i);
	struct data d = {.f = f, .s = calloc(SERIES_MAX, sizeof(*d.s))};
	double version[MATCH_CAPS];

	f->what = "flent";
	f->failed = !d.s;
	while (d.s && json_next(&j))
		if (j.what == JSON_VALUE)
			value(&d, &j);
		else if (j.what == JSON_CLOSE && j.depth == 2)
			whole(&d, &j);
	for (size_t k = 0; k < d.n; k++) {
		sum_up(&d, &d.s[k]);
		free(d.s[k].v);
	}
	free(d.s);
	if (match(l, i, "{ \" version \" : #", version) && version[0] > NEWEST)
		found_warn(f, WARN_VERSION, "version %g of the data file", version[0]);
	return json_ended(&j, i, f);
}

static bool json_sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];
	size_t at = match(l, i, "{ ( \" version \" : # , )", c);

	return at && ((json_key_at(l, at, "metadata") && lex_is(l, at + 4, "{")) ||
		      (json_key_at(l, at, "x_values") && lex_is(l, at + 4, "[")) ||
		      (json_key_at(l, at, "results") && lex_is(l, at + 4, "{") && at > i + 1) ||
		      (json_key_at(l, at, "raw_values") && lex_is(l, at + 4, "{")));
}

const struct reader reader_flent_json = {"flent-data", "{", json_sniff, json_parse};
