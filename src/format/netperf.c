/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netperf: a banner with the test's name, a header of several lines, a row of numbers. Header and
 * banner are wrapped in mails, so the row is the first run of numbers after the banner. omni prints CSV
 * or KEY=value instead, whose names are one table.
 */
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

enum test { STREAM, UDP_STREAM, RR };
struct banner {
	enum test test;
	bool udp, down, omni;
	bool cpu;        /* the header has utilisation and service demand */
	double width;    /* of the "confidence", as ratio; NaN = none */
	double scale;    /* of the throughput, in bit/s */
	size_t row, end; /* the first number of the row; 0 = none */
};

/* ---- the banner ---- */

static bool sniff_banner(const struct lex *l, size_t i)
{
	if (!lex_is(l, i, "MIGRATED") && !lex_is(l, i, "TCP") && !lex_is(l, i, "UDP") &&
	    !lex_is(l, i, "SCTP") && !lex_is(l, i, "OMNI"))
		return false;
	for (size_t k = i + 1; k < l->n && k < i + 12; k++)
		if (lex_is(l, k, "TEST"))
			return lex_is(l, k + 1, "from") || (lex_is(l, k + 1, "to") && k == i + 2);
	return false;
}

static size_t read_banner(const struct lex *l, size_t i, struct banner *b)
{
	*b = (struct banner){.width = UNSET, .scale = 1e6};
	for (; !lex_is(l, i, "TEST"); i++) {
		b->udp = b->udp || lex_is(l, i, "UDP");
		b->omni = b->omni || lex_is(l, i, "OMNI");
		b->down = b->down || lex_is(l, i, "MAERTS");
		if (lex_starts(l, i, "REQUEST/RESPONSE") || lex_starts(l, i, "CONNECT/"))
			b->test = RR;
	}
	if (b->udp && b->test == STREAM)
		b->test = UDP_STREAM;
	return i + 2;
}

static bool numbers(const struct lex *l, size_t i, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!lex_num(l, i + k))
			return false;
	return true;
}

/* One that may be -1: was not measured. Tokens used, 0 = none. */
static size_t maybe_minus(const struct lex *l, size_t i)
{
	size_t minus = lex_is(l, i, "-") ? 1 : 0;

	return lex_num(l, i + minus) && (!minus || !l->tok[i + 1].flags) ? 1 + minus : 0;
}

/* The same for n in a row: which tokens they are; those with a minus are l->n. Index after them, or 0. */
static size_t measured(const struct lex *l, size_t i, size_t n, size_t *tok)
{
	for (size_t k = 0; k < n; k++) {
		size_t used = maybe_minus(l, i);

		if (!used)
			return 0;
		tok[k] = used == 2 ? l->n : i;
		i += used;
	}
	return i;
}

/* Finds the row; on the way what the header says of units. */
static void find_row(const struct lex *l, size_t i, struct banner *b)
{
	size_t from = i;

	for (; i < l->n && i < from + 250; i++) {
		double c[MATCH_CAPS];

		b->cpu = b->cpu || lex_is(l, i, "Service") || lex_is(l, i, "S.dem");
		if (match(l, i, "+ / - # % @ # % conf", c))
			b->width = c[0] / 100;
		if (match(l, i, "10 \\^ # bits/s|bits/sec", c))
			b->scale = c[0] < 13 ? pow(10, c[0]) : UNSET;
		else if (lex_is(l, i, "KBytes/sec") || lex_is(l, i, "KBytes/s"))
			b->scale = 1024 * 8;
		else if (lex_is(l, i, "MBytes/sec") || lex_is(l, i, "MBytes/s"))
			b->scale = 1048576 * 8;
		if (i > from && sniff_banner(l, i))
			return;
		if (numbers(l, i, 4) && !lex_is(l, i + 1, "^")) {
			b->row = i;
			return;
		}
	}
}

/* ---- the classic tables ---- */

static void put(struct format_found *f, const char *metric, const struct lex_tok *t, double scale,
		struct model_dims d)
{
	found_fig(f, metric, STAT_VALUE, d, t->num * scale, found_resolution(t, scale));
}

/* One end's utilisation and service demand; a token that is none was not measured. */
static void put_end(struct format_found *f, const struct lex *l, size_t cpu, size_t demand, int end)
{
	static const char *const names[2] = {"ext.netperf.demand_local",
					     "ext.netperf.demand_remote"};
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, end ? MODEL_FAR : MODEL_NEAR);

	if (cpu < l->n)
		put(f, "cpu.total", &l->tok[cpu], 0.01, d);
	else
		found_unknown(f, "cpu.total", d);
	if (demand < l->n)
		found_ext(f, names[end], UNIT_NONE, STAT_VALUE, DIMS_NONE, l->tok[demand].num,
			  1e-3);
	else
		found_unknown(f, names[end], DIMS_NONE);
	if (cpu < l->n && l->tok[cpu].num > 95)
		found_warn(f, WARN_CPU_BOUND, "%.0f %%", l->tok[cpu].num);
}

/* Utilisation and service demand of both ends: four numbers, if they are there. */
static size_t put_cpu(struct format_found *f, const struct lex *l, size_t i, const struct banner *b)
{
	size_t tok[4], e = measured(l, i, 4, tok);

	if (!e || (lex_line(l, i) && !b->cpu))
		return i;
	put_end(f, l, tok[0], tok[2], 0);
	put_end(f, l, tok[1], tok[3], 1);
	return e;
}

static size_t stream(const struct lex *l, struct banner *b, struct format_found *f)
{
	const struct lex_tok *t = &l->tok[b->row];
	int dir = b->down ? MODEL_DOWN : MODEL_UP;

	if (!numbers(l, b->row, 5))
		return 0;
	found_ext(f, "ext.netperf.receive_socket", UNIT_BYTE, STAT_VALUE, DIMS_NONE, t[0].num, 1);
	found_ext(f, "ext.netperf.send_socket", UNIT_BYTE, STAT_VALUE, DIMS_NONE, t[1].num, 1);
	found_ext(f, "ext.netperf.message", UNIT_BYTE, STAT_VALUE, DIMS_NONE, t[2].num, 1);
	put(f, "duration", &t[3], 1, DIMS_NONE);
	put(f, "goodput", &t[4], b->scale, found_dims(dir, MODEL_RECEIVER, -1));
	found_check_line(f, UNSET, t[4].num * b->scale);
	return put_cpu(f, l, b->row + 5, b);
}

/* The utilisation and service demand at the end of a row of one end. */
static size_t udp_cpu(struct format_found *f, const struct lex *l, size_t i, const struct banner *b,
		      int end)
{
	size_t tok[2], e = b->cpu ? measured(l, i, 2, tok) : 0;

	if (e)
		put_end(f, l, tok[0], tok[1], end);
	return e ? e : i;
}

static size_t udp_stream(const struct lex *l, struct banner *b, struct format_found *f)
{
	const struct lex_tok *t = &l->tok[b->row], *u;
	struct model_dims s = found_dims(MODEL_UP, MODEL_SENDER, -1);
	struct model_dims r = found_dims(MODEL_UP, MODEL_RECEIVER, -1);
	size_t e;

	if (!numbers(l, b->row, 6))
		return 0;
	put(f, "udp.size", &t[1], 1, s);
	put(f, "duration", &t[2], 1, DIMS_NONE);
	put(f, "udp.datagrams", &t[3], 1, s);
	put(f, "throughput.sent", &t[5], b->scale, s);
	e = udp_cpu(f, l, b->row + 6, b, 0);
	if (!numbers(l, e, 4)) {
		found_warn(f, WARN_SENDER_ONLY, "the receiver's row is missing");
		return e;
	}
	u = &l->tok[e];
	put(f, "udp.datagrams", &u[2], 1, r);
	put(f, "goodput", &u[3], b->scale, r);
	found_fig(f, "udp.lost", STAT_VALUE, r, t[3].num - u[2].num, 1);
	found_prov(f, MODEL_DERIVED);
	found_fig(f, "udp.loss", STAT_VALUE, r,
		  t[3].num > 0 ? (t[3].num - u[2].num) / t[3].num : UNSET, 0);
	found_prov(f, MODEL_DERIVED);
	return udp_cpu(f, l, e + 4, b, 1);
}

static size_t rr(const struct lex *l, struct banner *b, struct format_found *f)
{
	const struct lex_tok *t = &l->tok[b->row];
	size_t e = b->row + 6;

	if (!numbers(l, b->row, 6))
		return 0;
	found_ext(f, "ext.netperf.request", UNIT_BYTE, STAT_VALUE, DIMS_NONE, t[2].num, 1);
	found_ext(f, "ext.netperf.response", UNIT_BYTE, STAT_VALUE, DIMS_NONE, t[3].num, 1);
	put(f, "duration", &t[4], 1, DIMS_NONE);
	put(f, "rr.rate", &t[5], 1, DIMS_NONE);
	e = put_cpu(f, l, e, b);
	return numbers(l, e, 2) && lex_line(l, e) ? e + 2 : e; /* the remote end's buffers */
}

/* ---- omni's names ---- */

enum what { RATE, RATE_UNIT, NUMBER, STAT, RATIO };
static const struct name {
	const char *csv, *key; /* "50th Percentile Latency Microseconds", "P50_LATENCY" */
	enum what what;
	const char *metric;
	enum model_stat stat;
	double scale;
	int end; /* -1 = none */
} names[] = {
	{"Throughput", "THROUGHPUT", RATE, NULL, STAT_VALUE, 1, -1},
	{"Throughput Units", "THROUGHPUT_UNITS", RATE_UNIT, NULL, STAT_VALUE, 1, -1},
	{"Elapsed Time (sec)", "ELAPSED_TIME", NUMBER, "duration", STAT_VALUE, 1, -1},
	{"Minimum Latency Microseconds", "MIN_LATENCY", NUMBER, "rr.latency", STAT_MIN, 1e-6, -1},
	{"Maximum Latency Microseconds", "MAX_LATENCY", NUMBER, "rr.latency", STAT_MAX, 1e-6, -1},
	{"Mean Latency Microseconds", "MEAN_LATENCY", NUMBER, "rr.latency", STAT_MEAN, 1e-6, -1},
	{"50th Percentile Latency Microseconds", "P50_LATENCY", NUMBER, "rr.latency", STAT_P50,
	 1e-6, -1},
	{"90th Percentile Latency Microseconds", "P90_LATENCY", NUMBER, "rr.latency", STAT_P90,
	 1e-6, -1},
	{"95th Percentile Latency Microseconds", "P95_LATENCY", NUMBER, "rr.latency", STAT_P95,
	 1e-6, -1},
	{"99th Percentile Latency Microseconds", "P99_LATENCY", NUMBER, "rr.latency", STAT_P99,
	 1e-6, -1},
	{"Stddev Latency Microseconds", "STDDEV_LATENCY", NUMBER, "rr.latency", STAT_STDDEV, 1e-6,
	 -1},
	{"Local CPU Util %", "LOCAL_CPU_UTIL", NUMBER, "cpu.total", STAT_VALUE, 0.01, MODEL_NEAR},
	{"Remote CPU Util %", "REMOTE_CPU_UTIL", NUMBER, "cpu.total", STAT_VALUE, 0.01, MODEL_FAR},
	{"Local Transport Retransmissions", "LOCAL_TRANSPORT_RETRANS", NUMBER, "tcp.retransmits",
	 STAT_VALUE, 1, -1},
	{"Confidence Iterations Run", "CONFIDENCE_ITERATION", NUMBER, "ext.netperf.iterations",
	 STAT_VALUE, 1, -1},
	{"Throughput Confidence Width (%)", "THROUGHPUT_CONFID", NUMBER, "ext.netperf.confidence",
	 STAT_VALUE, 0.01, -1},
};

/* The text of tokens [a, b) with single blanks where the text has any. */
static void squeeze(const struct lex *l, size_t a, size_t b, char *dst, size_t cap)
{
	size_t n = 0;

	for (size_t i = a; i < b; i++) {
		if (i > a && l->tok[i].flags & LEX_SPACE && n + 1 < cap)
			dst[n++] = ' ';
		for (size_t k = 0; k < l->tok[i].len && n + 1 < cap; k++)
			dst[n++] = lex_text(l, i)[k];
	}
	dst[n] = '\0';
}

struct omni {
	double rate, scale;
	bool unit, transactions;
};

static void take_unit(const struct lex *l, size_t a, size_t b, struct omni *o)
{
	double c[MATCH_CAPS];

	o->unit = true;
	if (match(l, a, "10 \\^ # bits/s", c) && c[0] < 13) {
		o->scale = pow(10, c[0]);
	} else if (b > a) {
		double unit = match_rate_unit(lex_text(l, a), l->tok[a].len);

		o->transactions = lex_starts(l, a, "Trans/s");
		o->scale = isnan(unit) ? 1 : unit;
		o->unit = o->transactions || !isnan(unit);
	}
}

static void take(const struct lex *l, const struct name *n, size_t a, size_t b, struct omni *o,
		 struct format_found *f)
{
	bool minus = lex_is(l, a, "-");
	double v;

	if (n->what == RATE_UNIT) {
		take_unit(l, a, b, o);
		return;
	}
	if (!lex_num(l, a + minus) || b != a + 1 + minus)
		return;
	v = minus ? -l->tok[a + 1].num : l->tok[a].num;
	if (n->what == RATE) {
		o->rate = v;
		return;
	}
	if (v < 0) /* -1 = was not measured */
		return;
	found_fig(f, n->metric, n->stat,
		  n->end < 0 ? DIMS_NONE : model_dims_with(DIMS_NONE, DIM_END, n->end),
		  v * n->scale, found_resolution(&l->tok[a + minus], n->scale));
}

static void finish_omni(const struct banner *b, const struct omni *o, struct format_found *f)
{
	int dir = b->down ? MODEL_DOWN : MODEL_UP;

	if (!isnan(o->rate) && o->transactions)
		found_fig(f, "rr.rate", STAT_VALUE, DIMS_NONE, o->rate, 0.01);
	else if (!isnan(o->rate) && o->unit)
		found_fig(f, "goodput", STAT_VALUE, found_dims(dir, MODEL_RECEIVER, -1),
			  o->rate * o->scale, o->scale / 100);
	else if (!isnan(o->rate))
		found_warn(f, WARN_UNAVAILABLE, "a throughput without its unit");
}

/* ---- CSV ---- */

#define FIELDS 128
struct span {
	size_t a, b;
};

static size_t field(const struct lex *l, size_t a, size_t end)
{
	while (a < end && !lex_is(l, a, ","))
		a++;
	return a;
}

/* Where the values begin: the first number that a comma follows at once. */
static size_t csv_values(const struct lex *l, size_t i)
{
	bool comma = false;

	for (size_t k = i; k < l->n && k < i + 400; k++) {
		comma = comma || lex_is(l, k, ",");
		if (comma && lex_num(l, k) && lex_is(l, k + 1, ",") &&
		    !(l->tok[k + 1].flags & LEX_SPACE) && !lex_is(l, k - 1, ","))
			return k;
		if (k > i && sniff_banner(l, k))
			break;
	}
	return 0;
}

/* The count below the histogram of -j; the index after it, or i. */
static size_t histogram(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS];

	for (size_t k = i; k < l->n && k < i + 400 && !sniff_banner(l, k); k++) {
		size_t e = lex_is(l, k, "HIST_TOTAL") ? match(l, k, "HIST_TOTAL : #", c) : 0;

		if (!e)
			continue;
		found_ext(f, "ext.netperf.histogram", UNIT_NONE, STAT_COUNT, DIMS_NONE, c[0], 1);
		return e;
	}
	return i;
}

static size_t csv(const struct lex *l, size_t i, const struct banner *b, struct format_found *f)
{
	size_t values = csv_values(l, i), a, e, n = 0;
	struct span head[FIELDS];
	struct omni o = {.rate = UNSET, .scale = 1};

	while (values && !lex_is(l, i, "Throughput") && i < values)
		i++; /* what the banner has more */
	for (a = i; values && a < values && n < FIELDS; a = e + 1) {
		e = field(l, a, values);
		head[n++] = (struct span){a, e};
	}
	if (n < 2)
		return 0;
	for (size_t k = 0, v = values; k < n; k++) {
		char text[64];

		squeeze(l, head[k].a, head[k].b, text, sizeof(text));
		for (e = v; e < l->n && !lex_is(l, e, ",") && (e == v || !lex_line(l, e)); e++)
			;
		for (size_t m = 0; m < ARRAY_LEN(names); m++)
			if (!strcmp(names[m].csv, text))
				take(l, &names[m], v, e, &o, f);
		values = e;
		if (!lex_is(l, e, ","))
			break;
		v = e + 1;
	}
	finish_omni(b, &o, f);
	return histogram(l, values, f);
}

/* ---- KEY=value ---- */

static bool sniff_keys(const struct lex *l, size_t i)
{
	return lex_is(l, i + 1, "=") && !(l->tok[i + 1].flags & LEX_SPACE) &&
	       (lex_is(l, i, "THROUGHPUT") || lex_is(l, i, "ELAPSED_TIME") ||
		lex_is(l, i, "MIN_LATENCY") || lex_is(l, i, "MEAN_LATENCY") ||
		lex_is(l, i, "LOCAL_CPU_UTIL") || lex_is(l, i, "THROUGHPUT_UNITS"));
}

static size_t keys(const struct lex *l, size_t i, const struct banner *b, struct format_found *f)
{
	struct omni o = {.rate = UNSET, .scale = 1};
	bool rate = false;

	while (lex_is(l, i + 1, "=") && l->tok[i].type == LEX_WORD) {
		size_t e = i + 2;
		bool again = rate && lex_is(l, i, "THROUGHPUT");

		if (again)
			break;
		rate = rate || lex_is(l, i, "THROUGHPUT");
		while (e < l->n && e < i + 16 && !lex_line(l, e) && !lex_is(l, e + 1, "="))
			e++;
		for (size_t m = 0; m < ARRAY_LEN(names); m++)
			if (lex_is(l, i, names[m].key))
				take(l, &names[m], i + 2, e, &o, f);
		i = e;
	}
	finish_omni(b, &o, f);
	return i;
}

/* ---- all forms ---- */

static bool sniff(const struct lex *l, size_t i)
{
	return sniff_banner(l, i) || sniff_keys(l, i);
}

/* "16384 87380 16384 10.00 941.24 10^6bits/s" */
static size_t omni_row(const struct lex *l, struct banner *b, struct format_found *f)
{
	struct omni o = {.scale = 1};

	if (!numbers(l, b->row, 5))
		return 0;
	o.rate = l->tok[b->row + 4].num;
	take_unit(l, b->row + 5, b->row + 6, &o);
	put(f, "duration", &l->tok[b->row + 3], 1, DIMS_NONE);
	finish_omni(b, &o, f);
	return b->row + (o.scale > 1 ? 9 : 6);
}

static size_t after_banner(const struct lex *l, size_t i, struct banner *b, struct format_found *f)
{
	size_t e, k = i;

	while (k < l->n && k < i + 40 && !lex_is(l, k, "Throughput") && !sniff_keys(l, k))
		k++;
	if (sniff_keys(l, k))
		return keys(l, k, b, f);
	if (lex_is(l, k, "Throughput") && lex_is(l, k + 1, ",") && (e = csv(l, k, b, f)))
		return e;
	find_row(l, i, b);
	if (!isnan(b->width) && b->width > 0.2)
		found_warn(f, WARN_UNAVAILABLE, "a confidence of +/-%.1f %% says nothing",
			   b->width * 100);
	if (!b->row)
		return 0;
	if (b->omni)
		return omni_row(l, b, f);
	return b->test == RR           ? rr(l, b, f)
	       : b->test == UDP_STREAM ? udp_stream(l, b, f)
				       : stream(l, b, f);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct banner b = {.width = UNSET, .scale = 1e6};
	size_t e, from = i;

	if (sniff_banner(l, i)) {
		i = read_banner(l, i, &b);
		e = after_banner(l, i, &b, f);
	} else {
		e = keys(l, i, &b, f);
	}
	f->what = b.test == RR ? "netperf-rr" : b.udp ? "udp" : "tcp";
	f->protocol = "netperf";
	memcpy(f->tool, "netperf", 8);
	if (f->n_warn && !f->n_fig)
		found_warn(f, WARN_TRUNCATED, "the row is missing");
	return e > from ? e : i > from ? i : from + 1;
}

const struct reader reader_netperf = {"netperf", "MTUSOELD", sniff, parse};
