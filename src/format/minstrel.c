/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * minstrel's rate table in all its layouts (kernels 3.x to 6.x) and as CSV. A row is told by its mode
 * and its name; which columns follow, by how many numbers there are.
 */
#include <string.h>

#include "format/rows.h"

#define GAP      40
#define RATE_LEN 40

enum column { AIRTIME, MAX_TP, TP, PROB, THIS_PROB, RETRY, LAST_OK, LAST_ALL, OK, ALL, N_COLUMNS };
static const struct {
	const char *name;
	enum unit unit;
	double scale;
} columns[N_COLUMNS] = {
	{".airtime", UNIT_SECOND, 1e-6},  {".max_tp", UNIT_BPS, 1e6},
	{".tp", UNIT_BPS, 1e6},           {".prob", UNIT_RATIO, 0.01},
	{".this_prob", UNIT_RATIO, 0.01}, {".retry", UNIT_NONE, 1},
	{".last_success", UNIT_NONE, 1},  {".last_attempts", UNIT_NONE, 1},
	{".success", UNIT_NONE, 1},       {".attempts", UNIT_NONE, 1},
};

#define X N_COLUMNS /* of no use */
static const struct layout {
	const char *pattern;
	uint8_t col[16];
	size_t n;
} layouts[] =
	{
		/* 4.3 and later, with sd(prob) and the last probability */
		{"# # # # # # # # # # # #",
		 {X, AIRTIME, MAX_TP, TP, PROB, X, THIS_PROB, RETRY, LAST_OK, LAST_ALL, OK, ALL},
		 12},
		/* for a while without the last probability */
		{"# # # # # # # # # # #",
		 {X, AIRTIME, MAX_TP, TP, PROB, X, RETRY, LAST_OK, LAST_ALL, OK, ALL},
		 11},
		/* 5.x */
		{"# # # # # # # # # #",
		 {X, AIRTIME, MAX_TP, TP, PROB, RETRY, LAST_OK, LAST_ALL, OK, ALL},
		 10},
		/* 3.19 to 4.2 */
		{"# # # # # \\( # \\) # \\( # \\)",
		 {TP, PROB, THIS_PROB, RETRY, LAST_OK, LAST_ALL, OK, ALL},
		 8},
		/* before, and before that with a column of retries */
		{"# # # # \\( # \\) # #", {TP, PROB, THIS_PROB, LAST_OK, LAST_ALL, OK, ALL}, 7},
		{"# # # # # \\( # \\) # #",
		 {TP, PROB, THIS_PROB, RETRY, LAST_OK, LAST_ALL, OK, ALL},
		 8},
},
  csv_layouts[] = {
	  {", # , # , # , # , # , # , # , # , # , # , # ,",
	   {X, AIRTIME, MAX_TP, TP, PROB, X, THIS_PROB, RETRY, LAST_OK, LAST_ALL, OK},
	   11},
	  {", # , # , # , # , # , # , # , # , # , # ,",
	   {X, AIRTIME, MAX_TP, TP, PROB, X, RETRY, LAST_OK, LAST_ALL, OK},
	   10},
	  {", # , # , # , # , # , # , # , # , # ,",
	   {X, AIRTIME, MAX_TP, TP, PROB, RETRY, LAST_OK, LAST_ALL, OK},
	   9},
};

struct minstrel {
	const struct lex *l;
	struct format_found *f;
	double ok, all, ideal;
	bool legacy;      /* rows have no mode */
	bool best_unused; /* a rate in use has no attempt */
	size_t rows;
};

/* ---- the head of a row: mode, guard, streams, flags, name ---- */

struct rate {
	char name[RATE_LEN];  /* as part of a metric's name */
	char shown[RATE_LEN]; /* MCS4, 6.0M */
	char flags[12];
};

static bool is_mode(const struct lex *l, size_t i)
{
	static const char *const modes[] = {"CCK",   "OFDM",  "HT20",   "HT40", "VHT20",
					    "VHT40", "VHT80", "VHT160", "HE20", "HE40"};
	const char *s = i < l->n ? lex_text(l, i) : "";
	size_t n = i < l->n ? l->tok[i].len : 0;

	for (size_t k = 0; k < ARRAY_LEN(modes); k++) {
		size_t len = strlen(modes[k]);

		if (*s == *modes[k] && n >= len && !memcmp(s, modes[k], len) &&
		    (n == len || s[len] == '/'))
			return true;
	}
	return false;
}

static void append(char *dst, const char *s, size_t n)
{
	size_t k = strlen(dst);

	for (size_t i = 0; i < n && k + 2 < RATE_LEN; i++)
		dst[k++] = s[i] == '/'                  ? '_'
			   : s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 32)
							: s[i];
	dst[k] = '\0';
}

/* How many flags a word is or begins with; before "MCS" they may be glued to it. */
static size_t flags(const struct lex *l, size_t i)
{
	const char *s = i < l->n && l->tok[i].type == LEX_WORD ? lex_text(l, i) : "";
	size_t n = *s ? l->tok[i].len : 0, k = 0;

	while (k < n && strchr("ABCDPSTt", s[k]))
		k++;
	return k == n || (n - k >= 4 && !memcmp(s + k, "MCS", 3)) ? k : 0;
}

static void mark(struct rate *r, const char *s, size_t n)
{
	size_t k = strlen(r->flags);

	for (size_t i = 0; i < n && k + 1 < sizeof(r->flags); i++)
		r->flags[k++] = s[i];
	r->flags[k] = '\0';
}

static void show(struct rate *r, const char *s, size_t n)
{
	n = n < 16 ? n : 16;
	memcpy(r->shown, s, n);
	r->shown[n] = '\0';
}

/* "MCS4", "MCS4/1", "6.0M": index after it. */
static size_t rate_name(const struct lex *l, size_t i, size_t skip, struct rate *r)
{
	const char *s = i < l->n ? lex_text(l, i) + skip : "";
	size_t n = i < l->n ? l->tok[i].len - skip : 0, end = i + 1;

	if (n >= 4 && !memcmp(s, "MCS", 3)) {
		if (lex_is(l, i + 1, "/") && lex_num(l, i + 2) && !l->tok[i + 2].flags) {
			end = i + 3;
			n = (size_t)(lex_text(l, i + 2) + l->tok[i + 2].len - s);
		}
	} else if (lex_num(l, i) && lex_is(l, i + 1, "M") && !l->tok[i + 1].flags) {
		end = i + 2;
		n = l->tok[i].len + 1;
	} else {
		return 0;
	}
	append(r->name, s, n);
	show(r, s, n);
	return end;
}

static size_t head(const struct lex *l, size_t i, struct rate *r)
{
	size_t k = i + 1, n;

	*r = (struct rate){{0}, {0}, {0}};
	if (!is_mode(l, i))
		return 0;
	append(r->name, lex_text(l, i), l->tok[i].len);
	if (lex_is(l, k, "LGI") || lex_is(l, k, "SGI") || lex_is(l, k, "LP") ||
	    lex_is(l, k, "SP")) {
		append(r->name, "_", 1);
		append(r->name, lex_text(l, k), l->tok[k].len);
		k++;
	}
	append(r->name, "_", 1);
	if (lex_num(l, k) && !l->tok[k].decimals && l->tok[k].num < 9 && !lex_is(l, k + 1, "M"))
		k++; /* streams, which the name has too */
	while ((n = flags(l, k)) > 0) {
		mark(r, lex_text(l, k), n);
		if (n < l->tok[k].len)
			return rate_name(l, k, n, r);
		k++;
	}
	return rate_name(l, k, 0, r);
}

/* Before HT a rate is flags and its Mbit/s. */
static size_t legacy_head(const struct lex *l, size_t i, struct rate *r)
{
	static const struct {
		double mbps;
		const char *name;
	} rates[] = {{1, "1"},   {2, "2"},   {5.5, "5.5"}, {6, "6"},   {9, "9"},   {11, "11"},
		     {12, "12"}, {18, "18"}, {24, "24"},   {36, "36"}, {48, "48"}, {54, "54"}};
	size_t k = i, n;

	*r = (struct rate){{0}, {0}, {0}};
	if (!lex_line(l, i))
		return 0;
	while ((n = flags(l, k)) > 0 && n == l->tok[k].len) {
		mark(r, lex_text(l, k), n);
		k++;
	}
	for (size_t c = 0; lex_num(l, k) && c < ARRAY_LEN(rates); c++)
		if (l->tok[k].num == rates[c].mbps) {
			append(r->name, "legacy_", 7);
			append(r->name, rates[c].name, strlen(rates[c].name));
			show(r, rates[c].name, strlen(rates[c].name));
			return k + 1;
		}
	return 0;
}

/* ---- a row ---- */

static void put(struct minstrel *m, const struct rate *r, const double *v)
{
	for (size_t k = 0; k < N_COLUMNS; k++) {
		/* What was never tried has no estimate. */
		if (isnan(v[k]) || (v[ALL] == 0 && (k == TP || k == PROB || k == THIS_PROB)))
			continue;
		found_ext(m->f, found_join(m->f, "ext.rc.", r->name, columns[k].name),
			  columns[k].unit, STAT_VALUE, DIMS_NONE, v[k] * columns[k].scale, 0);
	}
	m->ok += v[OK];
	m->all += v[ALL];
	m->rows++;
	for (const char *p = r->flags; *p; p++) {
		char key[2] = {*p, '\0'};

		if (*p == 'S')
			continue;
		found_param(m->f, key, "%s", r->shown);
		m->best_unused = m->best_unused || (v[ALL] == 0 && *p != 'D');
	}
}

static bool sane(const double *v)
{
	return v[OK] <= v[ALL] && v[PROB] <= 100 && (isnan(v[LAST_OK]) || v[LAST_OK] <= 255);
}

/* Counts of retries have no decimals: a row that is cut off looks like another layout's. */
static bool retries_fit(const struct lex *l, size_t at, const struct layout *y)
{
	for (size_t n = 0; n < y->n; n++)
		if (y->col[n] == RETRY)
			return l->tok[at + n].decimals == 0;
	return true;
}

static size_t row(struct minstrel *m, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT, v[N_COLUMNS];
	struct rate r MATCH_OUT;
	size_t at = m->legacy ? legacy_head(m->l, i, &r) : head(m->l, i, &r), end;
	bool cut = false;

	for (size_t k = 0; at && k < ARRAY_LEN(layouts); k++) {
		bool over = false;

		end = match_cut(m->l, at, layouts[k].pattern, c, &over);
		cut = cut || over;
		if (!end || lex_num(m->l, end) || !retries_fit(m->l, at, &layouts[k]))
			continue;
		for (size_t n = 0; n < N_COLUMNS; n++)
			v[n] = UNSET;
		for (size_t n = 0; n < layouts[k].n; n++)
			if (layouts[k].col[n] != X)
				v[layouts[k].col[n]] = c[n];
		if (!sane(v))
			continue;
		put(m, &r, v);
		return end;
	}
	if (at && cut) {
		m->f->partial = true;
		found_warn(m->f, WARN_TRUNCATED, "the row of %s is cut off", r.shown);
		return m->l->n;
	}
	return 0;
}

/* ---- what follows the table ---- */

static size_t foot(struct minstrel *m, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t end = match(m->l, i, "Total packet count : ( : ) ideal # lookaround #", c);

	if (end) {
		m->ideal = c[0];
		found_ext(m->f, "ext.rc.ideal", UNIT_NONE, STAT_VALUE, DIMS_NONE, c[0], 1);
		found_ext(m->f, "ext.rc.lookaround", UNIT_NONE, STAT_VALUE, DIMS_NONE, c[1], 1);
		return end;
	}
	end = match(m->l, i, "Average \\# of aggregated frames per A-MPDU : #", c);
	end = end ? end : match(m->l, i, "Average A-MPDU length : #", c);
	if (end)
		found_ext(m->f, "ext.rc.ampdu", UNIT_NONE, STAT_VALUE, DIMS_NONE, c[0],
			  found_resolution(&m->l->tok[end - 1], 1));
	return end;
}

static void finish(struct minstrel *m)
{
	if (!m->rows)
		return;
	found_ext(m->f, "ext.rc.success", UNIT_NONE, STAT_SUM, DIMS_NONE, m->ok, 1);
	found_prov(m->f, m->f->partial ? MODEL_PARTIAL : MODEL_DERIVED);
	found_ext(m->f, "ext.rc.attempts", UNIT_NONE, STAT_SUM, DIMS_NONE, m->all, 1);
	found_prov(m->f, m->f->partial ? MODEL_PARTIAL : MODEL_DERIVED);
	if (m->best_unused && m->ideal > 0)
		found_warn(m->f, WARN_UNAVAILABLE,
			   "rates in use have no attempts in %g frames: the counters are wrong",
			   m->ideal);
}

static bool legacy_table(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;

	return lex_line(l, i) && (match(l, i, "rate throughput ewma prob this prob", c) ||
				  match(l, i, "rate tpt eprob", c) ||
				  match(l, i, "rate [ name idx airtime max_tp ]", c));
}

static bool table_head(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;

	return match(l, i, "best ____________rate__________", c) ||
	       match(l, i, "mode guard \\# rate [ name idx airtime", c) ||
	       match(l, i, "type rate throughput ewma prob", c) ||
	       match(l, i, "type rate tpt eprob", c) || legacy_table(l, i);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct minstrel m = {.l = l, .f = f, .ideal = UNSET};
	size_t k = i, last = i;

	f->what = "minstrel";
	while (k < l->n && k <= last + GAP) {
		size_t end;

		if (k > i && m.rows && table_head(l, k))
			break;
		m.legacy = m.legacy || legacy_table(l, k);
		end = row(&m, k);
		end = end ? end : foot(&m, k);
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	finish(&m);
	return last > i ? last : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;
	struct rate r MATCH_OUT;
	size_t at = head(l, i, &r);

	return table_head(l, i) || (at && match(l, at, "# # #", c));
}

const struct reader reader_rc_stats = {"rc_stats", "be mo ra ty CC OF HT VH HE", sniff, parse};

/* ---- CSV ---- */

/* "HT20,LGI,1,ABCDP,MCS0 ": index after the name. */
static size_t csv_head(const struct lex *l, size_t i, struct rate *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t k = i + 1, n;

	*r = (struct rate){{0}, {0}, {0}};
	if (!is_mode(l, i) || !lex_is(l, k++, ","))
		return 0;
	append(r->name, lex_text(l, i), l->tok[i].len);
	if (k < l->n && l->tok[k].type == LEX_WORD) {
		append(r->name, "_", 1);
		append(r->name, lex_text(l, k), l->tok[k].len);
		k++;
	}
	append(r->name, "_", 1);
	if (!match(l, k, ", # ,", c))
		return 0;
	for (k += 3; (n = flags(l, k)) > 0 && n == l->tok[k].len; k++)
		mark(r, lex_text(l, k), n);
	return lex_is(l, k, ",") ? rate_name(l, k + 1, 0, r) : 0;
}

/* What is behind a row's head. */
static size_t csv_row(struct minstrel *m, size_t at, const struct rate *r)
{
	double c[MATCH_CAPS] MATCH_OUT, v[N_COLUMNS], rest[MATCH_CAPS] MATCH_OUT;

	for (size_t k = 0; at && k < ARRAY_LEN(csv_layouts); k++) {
		size_t end = match(m->l, at, csv_layouts[k].pattern, c);

		end = end ? match(m->l, end, "# , # , # , #", rest) : 0;
		if (!end || !lex_line(m->l, end))
			continue;
		for (size_t n = 0; n < N_COLUMNS; n++)
			v[n] = UNSET;
		for (size_t n = 0; n < csv_layouts[k].n; n++)
			if (csv_layouts[k].col[n] != X)
				v[csv_layouts[k].col[n]] = c[n];
		v[ALL] = rest[0];
		put(m, r, v);
		if (m->rows == 1) { /* every row says it again */
			m->ideal = rest[1];
			found_ext(m->f, "ext.rc.ideal", UNIT_NONE, STAT_VALUE, DIMS_NONE, rest[1],
				  1);
			found_ext(m->f, "ext.rc.lookaround", UNIT_NONE, STAT_VALUE, DIMS_NONE,
				  rest[2], 1);
			found_ext(m->f, "ext.rc.ampdu", UNIT_NONE, STAT_VALUE, DIMS_NONE, rest[3],
				  0.1);
		}
		return end;
	}
	return 0;
}

static size_t csv_parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct minstrel m = {.l = l, .f = f, .ideal = UNSET};
	struct rate first MATCH_OUT, r;
	size_t k = i, at = csv_head(l, i, &first), end;

	f->what = "minstrel";
	r = first;
	while (k < l->n && (end = csv_row(&m, at, &r)) > 0) {
		k = end;
		at = csv_head(l, k, &r);
		if (at && !strcmp(r.name, first.name))
			break; /* the table of the next moment */
	}
	finish(&m);
	return k > i ? k : i + 1;
}

static bool csv_sniff(const struct lex *l, size_t i)
{
	struct rate r MATCH_OUT;

	return csv_head(l, i, &r) > 0;
}

const struct reader reader_rc_stats_csv = {"rc_stats_csv", "CC OF HT VH HE", csv_sniff, csv_parse};
