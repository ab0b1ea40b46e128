/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One row of iperf 2 or iperf3: stream, interval, bytes, rate, and a tail that differs by version,
 * protocol and role. The tail is told by its shape alone, since headers are lost and lines are glued.
 */
#include <string.h>

#include "format/iperf.h"
#include "format/iperf2_table.h"
#include "format/iperf3_table.h"

/* "[ 3]", "[ *1]", "[SUM]", "[SUM-2]": the index after it. */
static size_t bracketed(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t k = i + 1;

	if (!lex_is(l, i, "["))
		return 0;
	r->star = lex_is(l, k, "*");
	k += r->star;
	if (lex_num(l, k) && l->tok[k].num < 1e6 && lex_is(l, k + 1, "]")) {
		r->id = (int)l->tok[k].num;
		return k + 2;
	}
	r->star = false;
	if (lex_starts(l, k, "FD") && l->tok[k].len > 2 && lex_is(l, k + 1, "]")) {
		r->id = IPERF_BOTH;
		return k + 2;
	}
	r->id = lex_is(l, k, "SUM") ? IPERF_SUM : IPERF_NONE;
	return match(l, i, "[ SUM ( - # ) ]", c);
}

/* 0 also where there is none: clones print no stream. */
static size_t read_id(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e;

	r->id = IPERF_NONE;
	e = bracketed(l, i, r);
	if (e && match(l, e, IPERF3_READS_ROLE, c)) {
		r->role = *lex_text(l, e + 1);
		r->role_end = lex_text(l, e + 1)[3];
		e += 3;
	}
	return e;
}

/* The number before a unit that was cut off at the text's end: "2.78 MByt". */
static bool cut_unit(const struct lex *l, size_t i)
{
	return i + 2 >= l->n && l->tok[i].type == LEX_NUM;
}

static size_t read_amounts(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e = match(l, i, "# %B", c);

	if (e) {
		r->bytes = c[0] * c[1];
		r->bytes_step = found_resolution(&l->tok[i], c[1]);
		i = e;
	}
	e = match(l, i, "# %R", c);
	if (e) {
		r->bps = c[0] * c[1];
		r->bps_step = found_resolution(&l->tok[i], c[1]);
		return e;
	}
	r->cut = i >= l->n || cut_unit(l, i);
	if (!r->cut)
		return 0;
	if (!lex_num(l, i)) /* digits may be missing */
		return l->n;
	/* "MByt" can only be bytes of mega. */
	if (isnan(r->bytes) && i + 1 < l->n && l->tok[i + 1].len >= 2 &&
	    lex_text(l, i + 1)[1] == 'B') {
		char unit[8] = {*lex_text(l, i + 1), 'B', 0};

		r->bytes = l->tok[i].num * match_bytes_unit(unit, 2);
		r->bytes_step = found_resolution(&l->tok[i], match_bytes_unit(unit, 2));
	}
	return l->n;
}

static void put_field(struct iperf_row *r, int field, const double *c)
{
	switch (field) {
	case IPERF3_F_RETR:
	case IPERF3_F_COUNT: /* which of both it is the header says */
		r->retr = c[0];
		break;
	case IPERF3_F_CWND:
		r->cwnd = c[0] > 0 ? c[0] * c[1] : UNSET;
		break;
	case IPERF3_F_JITTER:
		r->jitter = c[0] / 1e3;
		break;
	case IPERF3_F_LOST:
		r->lost = c[0];
		r->total = c[1];
		break;
	default:
		break;
	}
}

/* All columns of such a row but its mark, or nothing. */
static size_t columns(const struct lex *l, size_t i, enum iperf3_row kind, struct iperf_row *r)
{
	const struct iperf3_col *col = iperf3_rows[kind];
	double c[IPERF3_COLS][MATCH_CAPS] MATCH_OUT;
	size_t n = 0;

	for (; n < IPERF3_COLS && iperf3_forms[col[n].field].pattern; n++) {
		i = match(l, i, iperf3_forms[col[n].field].pattern, c[n]);
		if (!i)
			return 0;
	}
	while (n--)
		put_field(r, col[n].field, c[n]);
	return i;
}

static size_t udp_tail(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e = columns(l, i, IPERF3_UDP_RECEIVES, r), k;

	if (!e)
		return 0;
	k = match(l, e, "\\( -# % \\)", c);
	if (!k)
		k = match(l, e, "\\( (-) %w % \\)", c); /* nan */
	if (!k && lex_is(l, e, "(") && e + 4 > l->n)
		k = l->n;
	e = k ? k : e;
	k = match(l, e, IPERF2_READS_LATENCY, c); /* latency of iperf 2 -e */
	if (k) {
		for (size_t n = 0; n < ARRAY_LEN(r->latency); n++)
			r->latency[n] = c[n] / 1e3;
		r->pps = c[4];
		e = k;
		k = match(l, e, "-# / -# ( \\( # \\) ) ( pkts )", c);
		e = k && !lex_line(l, e) ? k : e;
		if (!isnan(r->pps) && lex_num(l, e) && !lex_line(l, e) && !lex_is(l, e + 1, "-"))
			r->netpwr = l->tok[e++].num;
	}
	return e;
}

/* Does the text end behind token i, and within its line? */
static bool ends_at(const struct lex *l, size_t i)
{
	const struct lex_tok *t = &l->tok[i];
	size_t end = t->off + t->len;

	return i + 1 == l->n && !memchr(l->text + end, '\n', l->len - end);
}

/* iperf 2 -e: "5350/0 89 pps", "112505/0 0 -1K/1346(12) us 182579.69" */
static size_t enhanced_tail(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e = match(l, i, IPERF2_READS_CALLS, c), k;

	if (!e)
		return 0;
	r->writes = c[0];
	if ((k = match(l, e, IPERF2_READS_PPS, c))) {
		r->pps = c[0];
		return k;
	}
	k = match(l, e, "-#", c);
	if (!k || (lex_line(l, e) && !match(l, k, "-# K", c)))
		return e;
	if (ends_at(l, k - 1) || (k < l->n && ends_at(l, k) && l->tok[k].type == LEX_WORD))
		return e; /* "89 p": what it counts is cut off */
	match(l, e, "-#", c);
	r->retr = c[0];
	e = k;
	k = match(l, e, "-# K ( / # ( \\( # \\) ) ( us ) )", c);
	if (k) {
		r->cwnd = c[0] > 0 ? c[0] * 1024 : UNSET;
		r->rtt = c[1] / 1e6;
		e = k;
	}
	if (k && lex_num(l, e) && !lex_line(l, e)) {
		r->netpwr = l->tok[e].num;
		e++;
	}
	return e;
}

/* A number on a new line belongs to the row only when what follows says so. */
static bool belongs(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;

	return !lex_line(l, i) || lex_is(l, i + 1, "sender") || lex_is(l, i + 1, "receiver") ||
	       match(l, i + 1, "# %B", c) || (lex_is(l, i + 1, "[") && lex_line(l, i + 1)) ||
	       lex_is(l, i + 1, "(");
}

/* iperf3: retransmits and window, or datagrams; which of them the header says. */
static size_t plain_tail(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e;

	if (!lex_num(l, i) || l->tok[i].decimals || !belongs(l, i) || lex_is(l, i + 1, "-") ||
	    lex_is(l, i + 1, ":") || lex_is(l, i + 1, "/") || lex_is(l, i + 1, "="))
		return 0;
	/* Bytes with a rate behind them are the next row's. */
	e = match(l, i + 1, "# %B # %R", c) ? 0 : columns(l, i, IPERF3_TCP_SENDS, r);
	return e ? e : columns(l, i, IPERF3_UDP_SENDS, r);
}

static size_t said(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;

	if (lex_is(l, i, iperf3_marks[IPERF3_SENDER]) ||
	    lex_is(l, i, iperf3_marks[IPERF3_RECEIVER])) {
		r->said = lex_is(l, i, iperf3_marks[IPERF3_SENDER]) ? SAID_SENDER : SAID_RECEIVER;
		return i + 1;
	}
	if (match(l, i, "\\( omitted \\)", c)) {
		r->omitted = true;
		return i + 3;
	}
	return i;
}

static size_t read_tail(const struct lex *l, size_t i, struct iperf_row *r)
{
	size_t e = udp_tail(l, i, r);

	if (!e)
		e = enhanced_tail(l, i, r);
	if (!e)
		e = plain_tail(l, i, r);
	return said(l, e ? e : i, r);
}

size_t iperf_row_read(const struct lex *l, size_t i, struct iperf_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e;

	/* Whatever is none is so after a look at one or two tokens. */
	if (lex_is(l, i, "[") ? !lex_num(l, i + 1) && !lex_is(l, i + 1, "*") &&
					!lex_is(l, i + 1, "SUM") && !lex_starts(l, i + 1, "FD")
			      : !lex_num(l, i) || !lex_is(l, i + 1, "-"))
		return 0;
	if (lex_num(l, i + 1) && lex_is(l, i + 2, "]") && !lex_num(l, i + 3) &&
	    !lex_starts(l, i + 3, "["))
		return 0;
	if (lex_is(l, i + 3, "[") && lex_num(l, i + 4))
		return 0; /* one stream's number after another */
	*r = (struct iperf_row){
		.bytes = UNSET, .bps = UNSET, .retr = UNSET, .cwnd = UNSET, .rtt = UNSET};
	r->jitter = r->lost = r->total = r->datagrams = r->writes = r->netpwr = UNSET;
	r->reordered = r->pps = UNSET;
	r->latency[0] = r->latency[1] = r->latency[2] = r->latency[3] = UNSET;
	e = read_id(l, i, r);
	/* The text may begin inside the number, or behind what says whose row it is. */
	if (!e && (!lex_num(l, i) || !i || lex_is(l, i - 1, "]")))
		return 0;
	i = e ? e : i;
	if (!match(l, i, IPERF3_READS_TIME, c) || c[1] < c[0] || c[1] > 1e8)
		return 0;
	r->t0 = c[0];
	r->t1 = c[1];
	r->t_decimals = l->tok[i].decimals;
	r->t_step = found_resolution(&l->tok[i + 2], 1);
	i += 4;
	if (lex_is(l, i + 1, "datagrams") && (e = match(l, i, IPERF2_READS_ORDER, c)) &&
	    lex_starts(l, e, "out-of-order")) {
		r->reordered = c[0];
		return e + 1;
	}
	e = read_amounts(l, i, r);
	return e && !r->cut ? read_tail(l, e, r) : e;
}
