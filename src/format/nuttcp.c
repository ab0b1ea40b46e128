/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nuttcp: rows "MB / sec = Mbps"; those with the processors' shares are results, the others intervals.
 * MB is 2^20 bytes, Mbps 10^6 bit/s.
 */
#include <string.h>

#include "format/reader.h"

static const char base[] = "# MB / # sec = # Mbps";
static const char window[] =
	"nuttcp-t|nuttcp-r : Warning : send|receive window size # < requested window size #";
static const char cpu[] = "# % TX # % RX";
enum { COL_GOODPUT, COL_RETR, COL_LOST, COL_TOTAL, COL_LOSS };
static const char *const cols[] = {"goodput", "tcp.retransmits", "udp.lost", "udp.datagrams",
				   "udp.loss"};

struct row {
	double mb, s, mbps, tx, rx, retr, rtt, lost, total;
	bool result;
};

static size_t loss(const struct lex *l, size_t i, struct row *r)
{
	double c[MATCH_CAPS];
	size_t e = match(l, i, "# / # ~ drop/pkt # ~ % loss", c);

	e = e ? e : match(l, i, "# / # drop/pkt # % loss", c);
	if (!e)
		return i;
	r->lost = c[0];
	r->total = c[1];
	return e;
}

/* The index after it, or 0. */
static size_t read_row(const struct lex *l, size_t i, struct row *r)
{
	double c[MATCH_CAPS];
	size_t e = match(l, i, base, c), k;

	*r = (struct row){.tx = UNSET, .rx = UNSET, .retr = UNSET, .rtt = UNSET, .lost = UNSET};
	r->total = UNSET;
	if (!e)
		return 0;
	r->mb = c[0];
	r->s = c[1];
	r->mbps = c[2];
	k = match(l, e, cpu, c);
	r->result = k > 0;
	if (k) {
		r->tx = c[0] / 100;
		r->rx = c[1] / 100;
		e = k;
	}
	k = match(l, e, "# retrans", c);
	if (k) {
		r->retr = c[0];
		e = k;
		k = match(l, e, "# KB-cwnd", c);
		e = k ? k : e;
	}
	k = match(l, e, "# msRTT", c);
	if (k) {
		r->rtt = c[0] / 1e3;
		e = k;
	}
	return loss(l, e, r);
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];

	return match(l, i, base, c) || match(l, i, window, c);
}

static void put_interval(struct format_found *f, const struct row *r, double *at)
{
	struct found_row *o = found_row(f, *at, *at + r->s);

	*at += r->s;
	if (!o)
		return;
	o->dir = MODEL_UP;
	o->view = MODEL_RECEIVER;
	o->v[COL_GOODPUT] = r->mbps * 1e6;
	o->v[COL_RETR] = r->retr;
	o->v[COL_LOST] = r->lost;
	o->v[COL_TOTAL] = r->total;
	o->v[COL_LOSS] = r->total > 0 ? r->lost / r->total : UNSET;
}

/* The text may begin inside the first number: then the others say more. */
static bool cut_front(const struct lex *l, size_t i, const struct row *r)
{
	return l->tok[i].off <= 1 && r->s > 0 && /* 1: ".3418 MB" */
	       fabs(r->mb * 8.388608 / r->s / r->mbps - 1) > 0.02 + 0.01 / r->s;
}

static void put_result(const struct lex *l, size_t i, struct format_found *f, const struct row *r)
{
	struct model_dims got = found_dims(MODEL_UP, MODEL_RECEIVER, -1);
	struct model_dims sent = found_dims(MODEL_UP, MODEL_SENDER, -1);
	const struct model_dims end[2] = {model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR),
					  model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR)};
	double mb = r->mb * 1048576;

	found_fig(f, "goodput", STAT_VALUE, got, r->mbps * 1e6, 100);
	if (cut_front(l, i, r)) {
		found_warn(f, WARN_TRUNCATED, "the text begins inside of the row");
	} else {
		found_fig(f, "bytes", STAT_VALUE, got, mb, 105);
		found_check_rate(f, mb, 105, r->s, 0.01, r->mbps * 1e6, 100);
	}
	/* A time that was asked for is whole seconds; else it is what so many bytes took. */
	if (r->s - floor(r->s) < 0.1)
		found_fig(f, "duration", STAT_VALUE, DIMS_NONE, r->s, 0.01);
	else
		found_ext(f, "ext.nuttcp.seconds", UNIT_SECOND, STAT_VALUE, DIMS_NONE, r->s, 0.01);
	found_fig(f, "cpu.total", STAT_VALUE, end[0], r->tx, 0.01);
	found_fig(f, "cpu.total", STAT_VALUE, end[1], r->rx, 0.01);
	found_fig(f, "tcp.retransmits", STAT_VALUE, sent, r->retr, 1);
	found_fig(f, "tcp.rtt_idle", STAT_VALUE, DIMS_NONE, r->rtt, 1e-5);
	if (!isnan(r->total)) {
		found_fig(f, "udp.lost", STAT_VALUE, got, r->lost, 1);
		found_ext(f, "ext.udp.total", UNIT_NONE, STAT_VALUE, got, r->total, 1);
		found_fig(f, "udp.loss", STAT_VALUE, got, r->lost / r->total, 0);
		found_prov(f, MODEL_DERIVED);
	}
	if (r->tx > 0.95 || r->rx > 0.95)
		found_warn(f, WARN_CPU_BOUND, "%.0f %% TX, %.0f %% RX", r->tx * 100, r->rx * 100);
	if (r->s < 1)
		found_warn(f, WARN_SHORT_RUN, "%.2f s", r->s);
	if (isnan(r->total))
		found_check_line(f, UNSET, r->mbps * 1e6);
	found_mark(f, (uint64_t)(r->mbps * 1e4) ^ (uint64_t)(r->mb * 1e4) << 24);
}

/* A result was cut off: what its intervals say. */
static void derive(struct format_found *f, size_t n)
{
	double bits = 0, s = 0;

	for (size_t i = 0; i < f->n_row; i++) {
		double t = (double)(f->row[i].t1 - f->row[i].t0) / 1e9;

		bits += f->row[i].v[COL_GOODPUT] * t;
		s += t;
	}
	if (!(s > 0))
		return;
	f->partial = true;
	found_fig(f, "goodput", STAT_VALUE, found_dims(MODEL_UP, MODEL_RECEIVER, -1), bits / s, 0);
	found_prov(f, MODEL_DERIVED);
	found_warn(f, WARN_TRUNCATED, "no result is in it; derived from %zu intervals", n);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct row r = {0};
	size_t e, n = 0;
	double at = 0, c[MATCH_CAPS];

	for (; (e = match(l, i, window, c)); i = e)
		found_warn(f, WARN_WINDOW_SHORT, "%.0f of %.0f bytes", c[0], c[1]);
	f->n_col = ARRAY_LEN(cols);
	memcpy(f->col, cols, sizeof(cols));
	while (!r.result && (e = read_row(l, i, &r))) {
		if (r.result)
			put_result(l, i, f, &r);
		else
			put_interval(f, &r, &at);
		f->what = isnan(r.total) ? "tcp" : "udp";
		n++;
		i = e;
	}
	if (!r.result)
		derive(f, n);
	f->protocol = "nuttcp";
	memcpy(f->tool, "nuttcp", 7);
	return i;
}

const struct reader reader_nuttcp = {"nuttcp", "n0123456789", sniff, parse};
