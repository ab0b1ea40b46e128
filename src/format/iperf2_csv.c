/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2 -y C: rows of 9 fields, 14 with a UDP receiver's figures, more in later versions, which also
 * tell begin and end of the interval apart. No header says which end wrote them: the port that
 * is the lower one is the server's.
 */
#include <stdlib.h>
#include <string.h>

#include "format/iperf.h"

#define FIELDS 40
struct csv_row {
	double v[FIELDS]; /* NaN where it is no number */
	size_t n, end;
	double t0, t1;
	size_t at; /* of the bytes */
};

bool iperf_csv_sniff(const struct lex *l, size_t i)
{
	return lex_num(l, i) && l->tok[i].len >= 14 && lex_is(l, i + 1, ",") &&
	       !(l->tok[i + 1].flags & LEX_SPACE) && l->tok[i].num > 1.9e13 && l->tok[i].num < 3e13;
}

/* A field's number when it is nothing else. */
static double value(const struct lex *l, size_t a, size_t b)
{
	if (b == a + 1 && lex_num(l, a))
		return l->tok[a].num;
	return b == a + 2 && lex_is(l, a, "-") && lex_num(l, a + 1) ? -l->tok[a + 1].num : UNSET;
}

static bool read_row(const struct lex *l, size_t i, struct csv_row *r)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t a = i, k = i, mid = 0;

	r->n = 0;
	for (; k <= l->n && r->n < FIELDS; k++) {
		bool stop = k == l->n || (k > i && l->tok[k].flags & LEX_SPACE);

		if (!stop && !lex_is(l, k, ","))
			continue;
		if (r->n == 6)
			mid = a;
		r->v[r->n++] = value(l, a, k);
		a = k + 1;
		if (stop)
			break;
	}
	r->end = k < l->n ? k : l->n;
	if (r->n < 9)
		return false;
	r->at = 7;
	if (match(l, mid, "# - #", c)) {
		r->t0 = c[0];
		r->t1 = c[1];
	} else {
		r->t0 = r->v[6];
		r->t1 = r->v[7];
		r->at = 8;
	}
	return r->n > r->at + 1 && r->t1 >= r->t0 && r->t1 < 1e8 && !isnan(r->v[r->at]) &&
	       !isnan(r->v[r->at + 1]) && !isnan(r->v[5]);
}

static void take(const struct csv_row *c, struct iperf_row *r)
{
	bool up = !(c->v[2] < c->v[4]) || !(c->v[2] > 0);

	*r = (struct iperf_row){.retr = UNSET, .cwnd = UNSET, .rtt = UNSET, .t_step = 0.1};
	r->jitter = r->lost = r->total = r->datagrams = r->writes = UNSET;
	r->netpwr = r->reordered = r->pps = UNSET;
	r->latency[0] = r->latency[1] = r->latency[2] = r->latency[3] = UNSET;
	r->id = c->v[5] < 0 ? IPERF_SUM : (int)fmin(c->v[5], 1e6);
	r->t0 = c->t0;
	r->t1 = c->t1;
	r->t_decimals = 1;
	r->bytes = c->v[c->at];
	r->bytes_step = 1;
	r->bps = c->v[c->at + 1];
	r->bps_step = 1;
	if (c->n == 14 && c->v[11] > 0) {
		r->jitter = c->v[9] / 1e3;
		r->lost = c->v[10];
		r->total = c->v[11];
		r->reordered = UNSET;
		r->said = SAID_RECEIVER;
	} else {
		r->star = !up && r->id != IPERF_SUM;
	}
}

/* Both ends' rows of one connection have the same two ports. */
static double pair(const struct csv_row *c)
{
	return fmin(c->v[2], c->v[4]) * 65536 + fmax(c->v[2], c->v[4]);
}

size_t iperf_csv(const struct lex *l, size_t i, struct format_found *f)
{
	struct iperf_acc *a = malloc(sizeof(*a));
	struct csv_row c;
	struct iperf_row r;
	double first = -1, time = 0;
	size_t from = i;
	bool streams = false;

	if (!a) {
		f->failed = true;
		return i + 1;
	}
	iperf_acc_init(a, 2);
	a->client = a->no_view = true;
	while (iperf_csv_sniff(l, i) && read_row(l, i, &c)) {
		take(&c, &r);
		if (a->n && r.id != IPERF_SUM && pair(&c) != first && a->finals &&
		    fabs(c.v[0] - time) > 0.5)
			break;
		if (a->n && iperf_again(a, &r))
			break;
		if (!a->n)
			first = pair(&c);
		time = c.v[0];
		if (r.said == SAID_RECEIVER)
			a->udp = true;
		iperf_add_row(a, &r);
		if (a->n_conn < IPERF_CONNS)
			a->conn[a->n_conn++] =
				(struct iperf_conn){r.id, (unsigned)c.v[2], (unsigned)c.v[4]};
		i = c.end;
	}
	for (size_t k = 0; k < a->n && a->udp; k++)
		if (a->row[k].said == SAID_NOTHING)
			a->row[k].said = SAID_SENDER;
	/* A sum alone may be of both directions. */
	for (size_t k = 0; k < a->n; k++)
		streams = streams || a->row[k].id != IPERF_SUM;
	if (streams)
		iperf_make(a, f);
	free(a->row);
	free(a);
	return i > from ? i : from + 1;
}
