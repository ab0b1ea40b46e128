/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nuttcp: rows "MB / sec = Mbps"; those with the processors' shares are results, the others intervals.
 * MB is 2^20 bytes, Mbps 10^6 bit/s. -v tells each end's result in lines of its own, the client's first.
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

/* "nuttcp-t:" begins a line of -v: 't' or 'r'; 0 = it is none. */
static char role(const struct lex *l, size_t i)
{
	if (!lex_is(l, i + 1, ":") || lex_is(l, i + 2, "Warning"))
		return 0;
	return lex_is(l, i, "nuttcp-t") ? 't' : lex_is(l, i, "nuttcp-r") ? 'r' : 0;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];

	return match(l, i, base, c) || match(l, i, window, c) || role(l, i);
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

/* ---- -v ---- */

struct verbose {
	const struct lex *l;
	struct format_found *f;
	char first, said; /* the client's role; that of this line */
	bool done[2];     /* the result of the sender, of the receiver is there */
	bool udp;
	double s, told;
	double last[2]; /* their rates */
};

static struct model_dims of(const struct verbose *v)
{
	return found_dims(v->first == 't' ? MODEL_UP : MODEL_DOWN,
			  v->said == 't' ? MODEL_SENDER : MODEL_RECEIVER, -1);
}

static void put_total(struct verbose *v, const double *c, const uint32_t *tok)
{
	struct model_dims d = of(v);
	const struct lex_tok *t = v->l->tok;
	double bps = c[4] * 1e6, bps_step = found_resolution(&t[tok[4]], 1e6);
	double mb_step = found_resolution(&t[tok[1]], 1048576);
	double s_step = found_resolution(&t[tok[2]], 1);
	bool sender = v->said == 't';

	found_fig(v->f, sender ? "throughput.sent" : "goodput", STAT_VALUE, d, bps, bps_step);
	found_fig(v->f, "bytes", STAT_VALUE, d, c[1] * 1048576, mb_step);
	found_check_rate(v->f, c[1] * 1048576, mb_step, c[2], s_step, bps, bps_step);
	found_mark(v->f, (uint64_t)(c[4] * 1e4) ^ (uint64_t)(c[1] * 1e4) << 24);
	v->last[!sender] = bps;
	v->done[!sender] = true;
	if (isnan(v->s) || sender)
		v->s = c[2];
}

static void put_lost(struct verbose *v, double lost, double total)
{
	struct model_dims d = of(v);

	v->udp = true;
	found_fig(v->f, "udp.lost", STAT_VALUE, d, lost, 1);
	found_ext(v->f, "ext.udp.total", UNIT_NONE, STAT_VALUE, d, total, 1);
	if (!(total > 0))
		return;
	found_fig(v->f, "udp.loss", STAT_VALUE, d, lost / total, 0);
	found_prov(v->f, MODEL_DERIVED);
}

static void put_times(struct verbose *v, const double *c)
{
	struct model_dims end =
		model_dims_with(DIMS_NONE, DIM_END, v->said == v->first ? MODEL_NEAR : MODEL_FAR);

	found_fig(v->f, "cpu.seconds", STAT_VALUE, end, c[1] + c[2], 0.1);
	found_prov(v->f, MODEL_DERIVED);
	found_fig(v->f, "cpu.total", STAT_VALUE, end, c[5] / 100, 0.01);
	if (c[5] >= 95)
		found_warn(v->f, WARN_CPU_BOUND, "%.0f %%", c[5]);
}

/* What is told of the connection before the result; the index after it, or 0. */
static size_t connection(struct verbose *v, size_t i)
{
	double c[MATCH_CAPS];
	size_t e = match(v->l, i, "%w : connect to", c);

	if (e) {
		for (size_t k = e; k < v->l->n && k < e + 24 && !role(v->l, k); k++) {
			size_t end = match(v->l, k, "mss = # ( , RTT = #T )", c);

			if (!end)
				continue;
			found_fig(v->f, "tcp.mss", STAT_VALUE, DIMS_NONE, c[0], 1);
			found_fig(v->f, "tcp.rtt_idle", STAT_VALUE, DIMS_NONE, c[1], 1e-6);
			return end;
		}
		return e;
	}
	e = match(v->l, i, "%w : rate limit = #R", c);
	if (e) {
		v->told = c[1];
		return e;
	}
	return match(v->l, i, "%w : buflen = # , nstream = # , port = # udp", c);
}

/* A line of -v at i; the index after what is known of it, or 0. */
static size_t verbose_line(struct verbose *v, size_t i)
{
	/* An "=" at a line's end is taken for a soft break. */
	static const char total[] = "%w : # MB in # real seconds = # KB/sec ( = ) # Mbps";
	double c[MATCH_CAPS];
	uint32_t tok[MATCH_CAPS];
	bool cut;
	size_t e = match_cut(v->l, i, total, c, &cut);

	if (e && !cut && !v->done[v->said == 'r']) {
		match_toks(v->l, i, total, c, tok);
		put_total(v, c, tok);
		return e;
	}
	if (e)
		return e;
	e = match(v->l, i, "%w : retrans|host-retrans = #", c);
	if (e) {
		found_fig(v->f, "tcp.retransmits", STAT_VALUE, of(v), c[1], 1);
		return e;
	}
	e = match(v->l, i, "%w : # / # drop/pkt # % data loss", c);
	if (e) {
		put_lost(v, c[1], c[2]);
		return e;
	}
	e = match(v->l, i, "%w : # I/O calls , msec/call = # , calls/sec = #", c);
	if (e) {
		found_fig(v->f, "app.calls", STAT_VALUE,
			  model_dims_with(DIMS_NONE, DIM_END,
					  v->said == v->first ? MODEL_NEAR : MODEL_FAR),
			  c[1], 1);
		return e;
	}
	e = match(v->l, i,
		  "%w : # user # sys # : # real # % ( # i + # d # maxrss # + # pf # + # csw )", c);
	if (e)
		put_times(v, c);
	return e ? e : connection(v, i);
}

static void verbose_end(struct verbose *v)
{
	struct format_found *f = v->f;

	f->what = v->udp ? "udp" : "tcp";
	if (v->s - floor(v->s) < 0.1)
		found_fig(f, "duration", STAT_VALUE, DIMS_NONE, v->s, 0.01);
	else if (v->done[0])
		found_ext(f, "ext.nuttcp.seconds", UNIT_SECOND, STAT_VALUE, DIMS_NONE, v->s, 0.01);
	if (v->s < 1)
		found_warn(f, WARN_SHORT_RUN, "%.2f s", v->s);
	if (!v->done[0] && !v->done[1] && f->n_fig) {
		f->partial = true;
		found_warn(f, WARN_TRUNCATED, "no result is in it");
	}
	if (v->done[0] && !v->done[1])
		found_warn(f, WARN_SENDER_ONLY, "what arrived is not in the report");
	if (v->told > 0) {
		found_warn(f, WARN_RATE_LIMITED, "%.4g Mbit/s", v->told / 1e6);
		found_intended(f, v->told);
	}
	if (!v->udp)
		found_check_line(f, v->last[0], v->last[1]);
	if (f->n_fig)
		found_param(f, "role", "%s", v->first == 't' ? "sender" : "receiver");
}

/* Both ends' lines, the client's first; a third block is another run. */
static size_t verbose(const struct lex *l, size_t i, struct format_found *f)
{
	struct verbose v = {.l = l,
			    .f = f,
			    .first = role(l, i),
			    .s = UNSET,
			    .told = UNSET,
			    .last = {UNSET, UNSET}};
	size_t known = i + 2;
	double c[MATCH_CAPS], at = 0;
	struct row r;

	for (size_t k = i, e; k < l->n && k < known + 48; k = e ? e : k + 1) {
		char said = role(l, k);

		e = 0;
		if (said && k > i && v.done[said == 'r'] &&
		    (lex_starts(l, k + 2, "v") || lex_is(l, k + 2, "buflen")))
			break;
		if (said) {
			v.said = said;
			v.udp = v.udp ||
				match(l, k, "%w : buflen = # , nstream = # , port = # udp", c);
			e = verbose_line(&v, k);
			known = e ? e : k + 2;
		} else if (lex_num(l, k) && (e = read_row(l, k, &r)) && !r.result) {
			put_interval(f, &r, &at);
			known = e;
		} else {
			e = 0;
		}
	}
	verbose_end(&v);
	return known;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct row r = {0};
	size_t e, n = 0;
	double at = 0, c[MATCH_CAPS];

	f->protocol = "nuttcp";
	memcpy(f->tool, "nuttcp", 7);
	for (; (e = match(l, i, window, c)); i = e)
		found_warn(f, WARN_WINDOW_SHORT, "%.0f of %.0f bytes", c[0], c[1]);
	f->n_col = ARRAY_LEN(cols);
	memcpy(f->col, cols, sizeof(cols));
	if (role(l, i))
		return verbose(l, i, f);
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
	return i;
}

const struct reader reader_nuttcp = {"nuttcp", "n0123456789", sniff, parse};
