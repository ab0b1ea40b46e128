/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ipgen: the two bar graphs of an RFC 2544 run, where the bar is no figure, and the JSON lines of its
 * log. What was written before the transmission began is none of the test.
 */
#include <string.h>

#include "format/rows.h"

#define BAR       96
#define SIZES_MAX 256

/* ---- the graphs ---- */

struct graph {
	const struct lex *l;
	struct format_found *f;
	double pps[SIZES_MAX], size[SIZES_MAX];
	size_t n;
};

static const char *const heads[] = {"rfc2544 tolerable error rate : # \\%",
				    "rfc2544 trial duration : # sec",
				    "rfc2544 pps resolution : # \\%"};
static const char *const params[] = {"tolerance", "trial_s", "resolution"};

static size_t param(const struct graph *g, size_t i)
{
	double c[MATCH_CAPS];

	if (!lex_is(g->l, i, "rfc2544"))
		return 0;
	for (size_t k = 0; k < ARRAY_LEN(heads); k++) {
		size_t end = match(g->l, i, heads[k], c);

		if (end) {
			found_param(g->f, params[k], "%g%s", c[0], k == 1 ? "" : " %");
			return end;
		}
	}
	return 0;
}

static size_t bar(const struct lex *l, size_t i)
{
	size_t k = i;

	while (k < i + BAR && lex_is(l, k, "#"))
		k++;
	return k;
}

static void rate(struct graph *g, double size, const double *c, const uint32_t *tok)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_SIZE, (int64_t)size);

	for (size_t k = 0; k < g->n; k++)
		if (g->size[k] == size) { /* the other graph tells it again */
			if (g->pps[k] != c[0])
				found_warn(g->f, WARN_MISMATCH, "%g and %g frames/s of %g bytes",
					   g->pps[k], c[0], size);
			return;
		}
	if (g->n == SIZES_MAX)
		return;
	g->size[g->n] = size;
	g->pps[g->n++] = c[0];
	found_fig(g->f, "rfc2544.pps", STAT_VALUE, d, c[0],
		  found_resolution(&g->l->tok[tok[0]], 1));
	found_ext(g->f, "ext.rfc2544.line_pps", UNIT_PPS, STAT_VALUE, d, c[1],
		  found_resolution(&g->l->tok[tok[1]], 1));
}

/* "64 |## 39.46Mbps, 77061/1488095pps" or "64 |## 77061/1488095pps, 5.18%" */
static size_t row(struct graph *g, size_t i)
{
	double c[MATCH_CAPS], size = g->l->tok[i].num;
	uint32_t tok[MATCH_CAPS];
	size_t at, end, first;
	struct model_dims d;

	if (!lex_num(g->l, i) || !lex_is(g->l, i + 1, "|") || size < 14 || size > 65536)
		return 0;
	d = model_dims_with(DIMS_NONE, DIM_SIZE, (int64_t)size);
	at = bar(g->l, i + 2);
	first = match(g->l, at, "#R ,", c);
	end = match_toks(g->l, first ? first : at, first ? "# / # pps" : "# / # pps , # \\%", c + 1,
			 tok);
	if (!end)
		return 0;
	rate(g, size, c + 1, tok);
	if (!first) {
		found_fig(g->f, "rfc2544.share", STAT_VALUE, d, c[3] / 100,
			  found_resolution(&g->l->tok[tok[2]], 0.01));
		return end;
	}
	found_fig(g->f, "rfc2544.bps", STAT_VALUE, d, c[0],
		  found_resolution(&g->l->tok[at], c[0] / g->l->tok[at].num));
	if (fabs(c[1] * size * 8 - c[0]) > 0.01 * c[0] + size * 8)
		found_warn(g->f, WARN_MISMATCH, "%g frames/s of %g bytes are not %g bit/s", c[1],
			   size, c[0]);
	return end;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct graph g = {.l = l, .f = f};
	size_t last = i, k = i;

	f->what = "rfc2544";
	while (k < l->n && k <= last + 160) {
		size_t end;

		if (g.n && lex_is(l, k, "rfc2544"))
			break; /* the next run */
		end = l->tok[k].type == LEX_NUM ? row(&g, k) : param(&g, k);
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	for (size_t n = 0; n < g.n; n++)
		found_mark(f, (uint64_t)(g.pps[n] * 65536 + g.size[n]));
	return last > i ? last : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];

	return match(l, i, "rfc2544 tolerable|trial|pps error|duration|resolution ( rate ) :", c) ||
	       match(l, i, "framesize | #", c);
}

const struct reader reader_ipgen = {"ipgen", "rf fr", sniff, parse};

/* ---- the log ---- */

#define PORTS 8
static const struct {
	const char *key, *metric;
	enum unit unit;
} keys[] = {
	{"TXpps", "ext.ipgen.tx_pps", UNIT_PPS},      {"RXpps", "ext.ipgen.rx_pps", UNIT_PPS},
	{"RXdropps", "ext.ipgen.drop_pps", UNIT_PPS}, {"TXbps", "ext.ipgen.tx_bps", UNIT_BPS},
	{"RXbps", "ext.ipgen.rx_bps", UNIT_BPS},
};

struct record {
	double time, v[PORTS][ARRAY_LEN(keys)];
	size_t ports;
	bool busy; /* something went over a port, or was to */
};

static size_t record(const struct lex *l, size_t i, struct record *r, bool *cut)
{
	struct json_scan s = json_scan(l, i);

	*r = (struct record){.time = UNSET};
	while (json_next(&s)) {
		if (s.what == JSON_OPEN && s.depth == 3)
			r->ports++;
		if (s.what != JSON_VALUE || !s.number || s.last)
			continue;
		if (s.depth == 1 && json_is(&s, &s.key, "time"))
			r->time = s.num;
		for (size_t k = 0; k < ARRAY_LEN(keys) && r->ports && r->ports <= PORTS; k++)
			if (s.depth == 3 && json_is(&s, &s.key, keys[k].key)) {
				r->v[r->ports - 1][k] = s.num;
				r->busy = r->busy || s.num > 0;
			}
	}
	*cut = s.cut;
	return s.i > i ? s.i : i + 1;
}

static bool json_sniff(const struct lex *l, size_t i)
{
	return lex_is(l, i, "{") && json_key_at(l, i + 1, "apiversion");
}

static size_t json_parse(const struct lex *l, size_t i, struct format_found *f)
{
	double sum[PORTS][ARRAY_LEN(keys)] = {{0}}, first = UNSET;
	size_t n = 0, ports = 0, at = i;

	f->what = "ipgen";
	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		f->col[f->n_col++] = keys[k].metric;
	while (at < l->n && json_sniff(l, at) && !f->partial) {
		struct record r;

		at = record(l, at, &r, &f->partial);
		if (f->partial || isnan(r.time) || (!r.busy && !n))
			continue;
		first = isnan(first) ? r.time - 1 : first;
		ports = r.ports < PORTS ? r.ports : PORTS;
		n++;
		for (size_t p = 0; p < ports; p++) {
			struct found_row *row = found_row(f, r.time - 1 - first, r.time - first);

			for (size_t k = 0; k < ARRAY_LEN(keys); k++)
				sum[p][k] += r.v[p][k];
			if (!row)
				return at;
			row->flow = (int)p;
			memcpy(row->v, r.v[p], sizeof(r.v[p]));
		}
	}
	for (size_t p = 0; p < ports && n; p++)
		for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
			found_ext(f, keys[k].metric, keys[k].unit, STAT_MEAN,
				  found_dims(-1, -1, (int64_t)p), sum[p][k] / (double)n, 0);
			found_prov(f, MODEL_DERIVED);
		}
	if (f->partial)
		found_warn(f, WARN_TRUNCATED, "the last line is cut off");
	return at;
}

const struct reader reader_ipgen_json = {"ipgen-json", "{", json_sniff, json_parse};
