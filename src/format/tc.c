/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tc -s qdisc and class, as text and as JSON. A qdisc is a report, a class another. What the root counts its children count
 * again, so theirs have other names and nobody can add them up.
 */
#include <string.h>

#include "format/rows.h"

#define GAP      24 /* tokens of an unknown line */
#define TINS     8
#define HEAD_MAX 96 /* tokens of the line that names the qdisc */

static const struct rows_pat lines[] = {
	{"Sent # bytes # pkt \\( dropped # , overlimits # requeues # \\)",
	 {{"bytes", UNIT_BYTE, 1, 0, 0},
	  {"packets", 0, 1, 0, 0},
	  {"dropped", 0, 1, 0, 0},
	  {"overlimits", 0, 1, 0, 0},
	  {"requeues", 0, 1, 0, 0}}},
	{"maxpacket #", {{"maxpacket", UNIT_BYTE, 1, 0, 0}}},
	{"drop_overlimit #", {{"drop_overlimit", 0, 1, 0, 0}}},
	{"drop_overmemory #", {{"drop_overmemory", 0, 1, 0, 0}}},
	{"new_flow_count #", {{"new_flow_count", 0, 1, 0, 0}}},
	{"ecn_mark #", {{"ecn_mark", 0, 1, 0, 0}}},
	{"ce_mark #", {{"ce_mark", 0, 1, 0, 0}}},
	{"memory_used #", {{"memory_used", UNIT_BYTE, 1, 0, 0}}},
	{"new_flows_len #", {ROWS_NONE}},
	{"old_flows_len #", {ROWS_NONE}},
	{"direct_packets_stat #", {ROWS_NONE}},
	{"backlog # %w # p requeues #", {ROWS_NONE}},
	{"memory used : # %w of # %w", {ROWS_NONE}},
	{"capacity estimate : # %w", {ROWS_NONE}},
	{"min/max network layer size : # / #", {ROWS_NONE}},
	{"min/max overhead-adjusted size : # / #", {ROWS_NONE}},
	{"average network hdr offset : #", {ROWS_NONE}},
	{"count # lastcount # ldelay", {ROWS_NONE}},
	{"rate # %w # pps backlog # %w # p requeues #", {ROWS_NONE}},
	{"lended : # borrowed : # giants : #",
	 {{"lended", 0, 1, 0, 0}, {"borrowed", 0, 1, 0, 0}, {"giants", 0, 1, 0, 0}}},
	{"tokens : -# ctokens : -#", {ROWS_NONE}},
	{"flows # \\( inactive # throttled # \\)", {ROWS_NONE}},
};

struct qdisc {
	const struct lex *l;
	struct format_found *f;
	bool child, cake;
	double packets, dropped, tin_packets, tin_drops;
};

/* The standard names of cake's tins; their columns in the table are in this order. */
static const struct {
	const char *pattern, *name;
} tins[] = {{"Best Effort", "best_effort"},
	    {"Bulk", "bulk"},
	    {"Video", "video"},
	    {"Voice", "voice"},
	    {"Tin 0", "tin0"},
	    {"Tin 1", "tin1"},
	    {"Tin 2", "tin2"},
	    {"Tin 3", "tin3"},
	    {"Tin 4", "tin4"},
	    {"Tin 5", "tin5"},
	    {"Tin 6", "tin6"},
	    {"Tin 7", "tin7"}};

static const struct {
	const char *row;
	enum unit unit;
} rows[] = {
	{"thresh", UNIT_BPS},      {"target", UNIT_SECOND},   {"interval", UNIT_SECOND},
	{"pk_delay", UNIT_SECOND}, {"av_delay", UNIT_SECOND}, {"sp_delay", UNIT_SECOND},
	{"backlog", UNIT_BYTE},    {"pkts", UNIT_NONE},       {"bytes", UNIT_BYTE},
	{"way_inds", UNIT_NONE},   {"way_miss", UNIT_NONE},   {"way_cols", UNIT_NONE},
	{"drops", UNIT_NONE},      {"marks", UNIT_NONE},      {"ack_drop", UNIT_NONE},
	{"sp_flows", UNIT_NONE},   {"bk_flows", UNIT_NONE},   {"un_flows", UNIT_NONE},
	{"max_len", UNIT_BYTE},    {"quantum", UNIT_BYTE},
};

/* ---- a qdisc's own figures ---- */

static void put(struct qdisc *q, const char *name, enum unit unit, double v)
{
	if (q->child)
		found_ext(q->f, found_join(q->f, "ext.tc.child.", name, ""), unit, STAT_VALUE,
			  DIMS_NONE, v, 1);
	else
		found_ext(q->f, found_join(q->f, "ext.tc.", name, ""), unit, STAT_VALUE, DIMS_NONE,
			  v, 1);
	if (!strcmp(name, "packets"))
		q->packets = v;
	if (!strcmp(name, "dropped"))
		q->dropped = v;
}

/* tc's sizes: 124352b, 12Kb, 4Mb; its rates: 809Kbit. NaN = no such unit. */
static double size_unit(const struct lex *l, size_t i)
{
	char s[16];
	static const struct {
		const char *name;
		double v;
	} u[] = {{"b", 1},      {"Kb", 1024},    {"Mb", 1048576}, {"Gb", 1073741824},
		 {"bit", 1},    {"Kbit", 1e3},   {"Mbit", 1e6},   {"Gbit", 1e9},
		 {"kbit", 1e3}, {"Kibit", 1024}, {"p", 1}};

	rows_text(l, i, s, sizeof(s));
	for (size_t k = 0; k < ARRAY_LEN(u); k++)
		if (!strcmp(u[k].name, s))
			return u[k].v;
	return match_time_unit(s, strlen(s));
}

static size_t line(struct qdisc *q, size_t i)
{
	double c[MATCH_CAPS];
	size_t end;

	for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
		end = match(q->l, i, lines[k].pattern, c);
		if (!end)
			continue;
		for (size_t n = 0; n < ARRAY_LEN(lines[k].out) && lines[k].out[n].metric; n++)
			put(q, lines[k].out[n].metric, lines[k].out[n].unit, c[n]);
		if (lex_is(q->l, i, "backlog") && !isnan(size_unit(q->l, (size_t)c[1]))) {
			put(q, "backlog", UNIT_BYTE, c[0] * size_unit(q->l, (size_t)c[1]));
			put(q, "backlog_packets", UNIT_NONE, c[2]);
		}
		if (lex_is(q->l, i, "memory") && !isnan(size_unit(q->l, (size_t)c[1])))
			put(q, "memory_used", UNIT_BYTE, c[0] * size_unit(q->l, (size_t)c[1]));
		return end;
	}
	return 0;
}

/* ---- cake's table of tins ---- */

static int tin_name(const struct lex *l, size_t *i)
{
	for (size_t k = 0; k < ARRAY_LEN(tins); k++) {
		size_t end = match(l, *i, tins[k].pattern, &(double){0});

		if (end) {
			*i = end;
			return (int)k;
		}
	}
	if (lex_is(l, *i, "Tin") && lex_num(l, *i + 1) && l->tok[*i + 1].num < 8) {
		int k = 4 + (int)l->tok[*i + 1].num;

		*i += 2;
		return k;
	}
	return -1;
}

/* One row of n cells at token i. */
static size_t tin_row(struct qdisc *q, size_t i, const int *tin, size_t n, size_t k)
{
	double v[TINS];
	size_t at = i + 1;

	for (size_t c = 0; c < n; c++) {
		double u = 1;

		if (!lex_num(q->l, at)) {
			q->f->partial = true;
			found_warn(q->f, WARN_TRUNCATED, "row %s has %zu of %zu cells", rows[k].row,
				   c, n);
			return 0;
		}
		v[c] = q->l->tok[at].num;
		if (at + 1 < q->l->n && q->l->tok[at + 1].type == LEX_WORD &&
		    !(q->l->tok[at + 1].flags & LEX_SPACE)) {
			u = size_unit(q->l, ++at);
			if (isnan(u) || q->l->tok[at].flags & LEX_CUT)
				return 0;
		}
		v[c] *= u;
		at++;
	}
	for (size_t c = 0; c < n; c++) {
		found_ext(q->f,
			  found_name(q->f, "ext.tc.tin.%s.%s", tins[tin[c]].name, rows[k].row),
			  rows[k].unit, STAT_VALUE, DIMS_NONE, v[c], 0);
		q->tin_packets += strcmp(rows[k].row, "pkts") ? 0 : v[c];
		q->tin_drops += strcmp(rows[k].row, "drops") ? 0 : v[c];
	}
	q->cake = q->cake || !strcmp(rows[k].row, "drops");
	return at;
}

static size_t tin_table(struct qdisc *q, size_t i)
{
	int tin[TINS];
	size_t n = 0, at = i, last, cut = q->f->n_warn;

	while (n < TINS && (tin[n] = tin_name(q->l, &at)) >= 0)
		n++;
	if (!n)
		return 0;
	last = at;
	while (at < q->l->n && q->f->n_warn == cut) {
		size_t k = 0, end;

		while (k < ARRAY_LEN(rows) && !lex_is(q->l, at, rows[k].row))
			k++;
		end = k < ARRAY_LEN(rows) ? tin_row(q, at, tin, n, k) : 0;
		if (!end)
			break;
		at = last = end;
	}
	return last;
}

/* ---- the report ---- */

/* What was dropped as share of what came; cake tells thinned acknowledgements apart. */
static void loss(struct qdisc *q)
{
	double n = q->cake ? q->tin_packets : q->packets + q->dropped;
	double lost = q->cake ? q->tin_drops : q->dropped;

	if (!(n > 0) || isnan(lost))
		return;
	found_ext(q->f, q->child ? "ext.tc.child.loss" : "ext.tc.loss", UNIT_RATIO, STAT_VALUE,
		  DIMS_NONE, lost / n, 0);
	found_prov(q->f, MODEL_DERIVED);
}

/* "qdisc htb 1:" or "class htb 1:10": is it a class? */
static bool is_class(const struct lex *l, size_t i)
{
	return lex_is(l, i, "class") && lex_line(l, i) && i + 3 < l->n &&
	       l->tok[i + 1].type == LEX_WORD && (lex_is(l, i + 3, ":") || lex_is(l, i + 2, ":"));
}

static bool begins(const struct lex *l, size_t i)
{
	return lex_is(l, i, "qdisc") || is_class(l, i);
}

static size_t head(struct qdisc *q, size_t i)
{
	char kind[24];
	bool root = false, class = lex_is(q->l, i, "class");
	size_t k = i + 2;

	q->child = class; /* its qdisc counts the same */
	found_param(q->f, class ? "class" : "qdisc", "%s",
		    rows_text(q->l, i + 1, kind, sizeof(kind)));
	for (; k < q->l->n && k < i + HEAD_MAX; k++) {
		if (lex_is(q->l, k, "Sent") || begins(q->l, k))
			break;
		root = root || (!class && lex_is(q->l, k, "root"));
		if (lex_is(q->l, k, "parent"))
			q->child = true;
	}
	q->child = q->child && !root;
	found_param(q->f, "level", "%s", q->child ? "child" : "root");
	return k;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct qdisc q = {.l = l, .f = f, .packets = UNSET, .dropped = UNSET};
	size_t k = head(&q, i), last = i + 2;

	f->what = "tc";
	while (k < l->n && k <= last + (last == i + 2 ? HEAD_MAX : GAP) && !begins(l, k)) {
		size_t end = line(&q, k);

		end = end ? end : tin_table(&q, k);
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	loss(&q);
	if (k >= l->n && lex_is(l, last, "backlog")) {
		f->partial = true;
		found_warn(f, WARN_TRUNCATED, "the text ends within a line");
	}
	return last;
}

static bool sniff(const struct lex *l, size_t i)
{
	return is_class(l, i) ||
	       (lex_is(l, i, "qdisc") && i + 3 < l->n && l->tok[i + 1].type == LEX_WORD &&
		(lex_is(l, i + 3, ":") || lex_is(l, i + 2, ":") || lex_is(l, i + 4, ":")));
}

const struct reader reader_tc = {"tc", "q cl", sniff, parse};

/* ---- JSON ---- */

static const struct {
	const char *key, *name;
	enum unit unit;
} keys[] = {
	{"bytes", "bytes", UNIT_BYTE},
	{"packets", "packets", UNIT_NONE},
	{"drops", "dropped", UNIT_NONE},
	{"overlimits", "overlimits", UNIT_NONE},
	{"requeues", "requeues", UNIT_NONE},
	{"backlog", "backlog", UNIT_BYTE},
	{"qlen", "backlog_packets", UNIT_NONE},
	{"maxpacket", "maxpacket", UNIT_BYTE},
	{"drop_overlimit", "drop_overlimit", UNIT_NONE},
	{"drop_overmemory", "drop_overmemory", UNIT_NONE},
	{"new_flow_count", "new_flow_count", UNIT_NONE},
	{"ecn_mark", "ecn_mark", UNIT_NONE},
	{"ce_mark", "ce_mark", UNIT_NONE},
	{"memory_used", "memory_used", UNIT_BYTE},
};
/* cake's keys of a tin, and what its text calls them; delays are microseconds. */
static const struct {
	const char *key, *row;
	enum unit unit;
	double scale;
} tin_keys[] = {
	{"threshold_rate", "thresh", UNIT_BPS, 8},
	{"target_us", "target", UNIT_SECOND, 1e-6},
	{"interval_us", "interval", UNIT_SECOND, 1e-6},
	{"peak_delay_us", "pk_delay", UNIT_SECOND, 1e-6},
	{"avg_delay_us", "av_delay", UNIT_SECOND, 1e-6},
	{"base_delay_us", "sp_delay", UNIT_SECOND, 1e-6},
	{"sent_packets", "pkts", UNIT_NONE, 1},
	{"sent_bytes", "bytes", UNIT_BYTE, 1},
	{"drops", "drops", UNIT_NONE, 1},
	{"ecn_mark", "marks", UNIT_NONE, 1},
	{"ack_drops", "ack_drop", UNIT_NONE, 1},
	{"backlog_bytes", "backlog", UNIT_BYTE, 1},
};

static void json_tin(struct qdisc *q, const struct json_scan *s, int tin)
{
	for (size_t k = 0; k < ARRAY_LEN(tin_keys) && tin >= 0; k++) {
		if (!json_is(s, &s->key, tin_keys[k].key))
			continue;
		found_ext(q->f, found_name(q->f, "ext.tc.tin.tin%d.%s", tin, tin_keys[k].row),
			  tin_keys[k].unit, STAT_VALUE, DIMS_NONE, s->num * tin_keys[k].scale, 0);
		q->tin_packets += strcmp(tin_keys[k].row, "pkts") ? 0 : s->num;
		q->tin_drops += strcmp(tin_keys[k].row, "drops") ? 0 : s->num;
		q->cake = true;
	}
}

static size_t json_parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct json_scan s = json_scan(l, i), look = s;
	struct qdisc q = {.l = l, .f = f, .packets = UNSET, .dropped = UNSET};
	char kind[24];
	int tin = -1;

	f->what = "tc";
	while (json_next(&look))
		if (look.depth == 1 && look.what == JSON_VALUE &&
		    json_is(&look, &look.key, "parent"))
			q.child = true;
	while (json_next(&s)) {
		if (s.what == JSON_OPEN && s.depth == 3)
			tin++;
		if (s.what != JSON_VALUE || s.last)
			continue;
		if (s.string && s.depth == 1 && json_is(&s, &s.key, "kind")) {
			json_text(&s, s.from, s.to, kind, sizeof(kind));
			found_param(f, "qdisc", "%s", kind);
		}
		if (s.number && s.depth == 3)
			json_tin(&q, &s, tin);
		for (size_t k = 0; s.number && s.depth == 1 && k < ARRAY_LEN(keys); k++)
			if (json_is(&s, &s.key, keys[k].key))
				put(&q, keys[k].name, keys[k].unit, s.num);
	}
	found_param(f, "level", "%s", q.child ? "child" : "root");
	loss(&q);
	return json_ended(&s, i, f);
}

static bool json_sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];

	return json_key_at(l, i + 1, "kind") && match(l, i + 5, "\" %w \" , \" handle \" :", c);
}

const struct reader reader_tc_json = {"tc-json", "{", json_sniff, json_parse};
