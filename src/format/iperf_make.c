/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of iperf become figures: sender and receiver apart, streams apart from their sum, a total only
 * where one was printed or where it follows from all intervals. What cannot be trusted is said.
 */
#include <stdlib.h>
#include <string.h>

#include "format/iperf.h"

enum { COL_GOODPUT, COL_SENT, COL_BYTES, COL_A, COL_B, COL_C, COL_D, COL_E };
static const char *const tcp_cols[] = {"goodput",         "throughput.sent", "bytes",
				       "tcp.retransmits", "tcp.cwnd",        "tcp.rtt"};
static const char *const udp_cols[] = {"goodput",       "throughput.sent", "bytes",
				       "udp.jitter",    "udp.lost",        "udp.loss",
				       "udp.datagrams", "udp.reordered"};

struct make {
	struct iperf_acc *a;
	struct format_found *f;
	size_t streams[2]; /* of each direction */
	size_t stars;      /* of them, the other way of a full-duplex test */
	bool sum[2];       /* a sum of each is printed */
	bool received;     /* a receiver got something */
	double sent;       /* bytes of the sender that says most */
};

/* ---- whose row it is ---- */

static int dir_of(const struct iperf_acc *a, const struct iperf_row *r)
{
	if (r->role)
		return (r->role == 'T') == (r->role_end == 'C') ? MODEL_UP : MODEL_DOWN;
	if (a->full_duplex || r->star) /* the star is the server's sending, whoever says it */
		return r->star ? MODEL_DOWN : MODEL_UP;
	if (a->reverse)
		return MODEL_DOWN;
	if (a->client)
		return MODEL_UP;
	return a->server ? MODEL_UP : -1;
}

/* A server that is asked to send has no receiver's row, or has retransmits. */
static bool server_sends(const struct iperf_acc *a)
{
	bool sends = false;

	for (size_t i = 0; i < a->n && a->server; i++) {
		const struct iperf_row *r = &a->row[i];

		if (r->said == SAID_RECEIVER || !isnan(r->jitter))
			if (!(r->said == SAID_SENDER))
				return false;
		sends = sends || (r->said == SAID_SENDER && r->bytes > 0) ||
			(r->said == SAID_NOTHING && !isnan(r->retr));
	}
	return sends;
}

static int view_of(const struct iperf_acc *a, const struct iperf_row *r, int dir)
{
	if (r->said != SAID_NOTHING)
		return r->said == SAID_SENDER ? MODEL_SENDER : MODEL_RECEIVER;
	if (!isnan(r->jitter) || !isnan(r->reordered))
		return MODEL_RECEIVER;
	if (r->role)
		return r->role == 'T' ? MODEL_SENDER : MODEL_RECEIVER;
	if (a->no_view)
		return -1;
	if (!isnan(r->writes) || !isnan(r->datagrams) || (!a->udp && !isnan(r->retr)))
		return MODEL_SENDER;
	if (a->client && dir >= 0)
		return dir == MODEL_UP ? MODEL_SENDER : MODEL_RECEIVER;
	if (a->server && dir >= 0)
		return dir == MODEL_UP ? MODEL_RECEIVER : MODEL_SENDER;
	return -1;
}

static int flow_number(const struct iperf_acc *a, int id)
{
	int n = 0;

	if (id < 0)
		return -1;
	for (size_t i = 0; i < a->n_flow; i++) {
		if (a->flow[i].id == id)
			return n;
		n += a->flow[i].id >= 0 && !a->flow[i].twin;
	}
	return n;
}

static size_t count_streams(const struct iperf_acc *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_flow; i++)
		n += a->flow[i].id >= 0 && !a->flow[i].star;
	return n;
}

/* ---- one row's figures ---- */

static void put(struct make *m, const char *metric, struct model_dims d, double v, double step)
{
	found_fig(m->f, metric, STAT_VALUE, d, v, step);
}

/*
 * A client that did not hear the receiver's result prints 0. So does one whose data got stuck, but then
 * no more was sent than buffers take.
 */
static bool unheard(const struct make *m, const struct iperf_row *r)
{
	return m->a->broken && !m->a->server && r->said == SAID_RECEIVER && r->bytes <= 0;
}

static bool was_broken(const struct make *m)
{
	bool zero = false;

	for (size_t i = 0; i < m->a->n; i++)
		zero = zero || (m->a->row[i].said == SAID_RECEIVER && m->a->row[i].bytes <= 0);
	return m->a->gen == 3 && !m->a->server && !m->a->udp && zero && !m->received &&
	       m->sent > 16777216;
}

static void put_rates(struct make *m, const struct iperf_row *r, struct model_dims d, int view)
{
	const char *rate = view == MODEL_SENDER ? "throughput.sent" : "goodput";

	if (r->said == SAID_SENDER && r->bytes <= 0 && (m->a->server || m->received)) {
		found_unknown(m->f, rate, d); /* a server that receives does not know */
		return;
	}
	put(m, "bytes", d, r->bytes, r->bytes_step);
	if (!isnan(r->bps))
		put(m, rate, d, r->bps, r->bps_step);
	else if (r->t1 > r->t0 && !isnan(r->bytes)) {
		put(m, rate, d, r->bytes * 8 / (r->t1 - r->t0), 0);
		found_prov(m->f, MODEL_DERIVED);
	}
	found_check_rate(m->f, r->bytes, r->bytes_step, r->t1 - r->t0, 2 * r->t_step, r->bps,
			 r->bps_step);
}

/* Not even the smallest segments could be that many. */
static bool bogus_retr(const struct iperf_row *r)
{
	return r->retr * 64 > r->bytes && r->retr > 1000;
}

static void put_tails(struct make *m, const struct iperf_row *r, struct model_dims d, int view)
{
	static const enum model_stat stats[] = {STAT_MEAN, STAT_MIN, STAT_MAX, STAT_STDDEV};
	bool udp = m->a->udp;

	for (size_t i = 0; i < ARRAY_LEN(stats); i++)
		found_ext(m->f, "ext.iperf.latency", UNIT_SECOND, stats[i], d, r->latency[i], 1e-6);
	if (!udp && !isnan(r->retr) && view != MODEL_RECEIVER) {
		if (bogus_retr(r)) {
			found_unknown(m->f, "tcp.retransmits", d);
			found_warn(m->f, WARN_UNAVAILABLE, "%.0f retransmits in %.3g bytes",
				   r->retr, r->bytes);
		} else
			put(m, "tcp.retransmits", d, r->retr, 1);
	}
	put(m, "tcp.cwnd", d, udp ? UNSET : r->cwnd, 0);
	put(m, "tcp.rtt", d, r->rtt, 1e-6);
	found_ext(m->f, "ext.iperf.writes", UNIT_NONE, STAT_VALUE, d, r->writes, 1);
	found_ext(m->f, "ext.iperf.pps", UNIT_PPS, STAT_VALUE, d, r->pps, 1);
	found_ext(m->f, "ext.iperf.netpwr", UNIT_NONE, STAT_VALUE, d, r->netpwr, 0);
	if (view == MODEL_SENDER && udp) {
		put(m, "udp.datagrams", d, isnan(r->total) ? r->retr : r->total, 1);
		return; /* a sender's row of iperf3 says no loss that means anything */
	}
	put(m, "udp.jitter", d, r->jitter, 1e-6);
	put(m, "udp.lost", d, r->lost, 1);
	if (!isnan(r->total)) {
		found_ext(m->f, "ext.udp.total", UNIT_NONE, STAT_VALUE, d, r->total, 1);
		put(m, "udp.loss", d, r->total > 0 ? r->lost / r->total : UNSET, 0);
		if (r->total > 0)
			found_prov(m->f, MODEL_DERIVED);
	}
}

/* The row is its direction's, not one stream's of several. */
static bool is_whole(const struct make *m, const struct iperf_row *r)
{
	int side = r->role == 'R';

	return r->id == IPERF_SUM ||
	       (m->stars <= 1 && ((!m->sum[side] && m->streams[side] <= 1) ||
				  (m->a->full_duplex && count_streams(m->a) == 1)));
}

/* iperf 2 adds up the two directions of a full-duplex test. */
static bool of_both(const struct make *m, const struct iperf_row *r)
{
	return r->id == IPERF_SUM && m->a->full_duplex;
}

static void put_summary(struct make *m, const struct iperf_row *r)
{
	int dir = dir_of(m->a, r), view = view_of(m->a, r, dir);
	struct model_dims d = found_dims(dir, view, is_whole(m, r) ? -1 : flow_number(m->a, r->id));

	if (of_both(m, r)) { /* is no direction's figure */
		found_ext(m->f, "ext.iperf.both", UNIT_BPS, STAT_VALUE, DIMS_NONE, r->bps,
			  r->bps_step);
		return;
	}
	if (unheard(m, r)) {
		found_unknown(m->f, "goodput", d);
		return;
	}
	put_rates(m, r, d, view);
	put_tails(m, r, d, view);
	found_mark(m->f, (uint64_t)(r->bytes > 0 ? r->bytes : 0) ^ (uint64_t)(r->t1 * 1e4));
}

/* ---- intervals ---- */

static void put_interval(struct make *m, const struct iperf_row *r, bool sum_too)
{
	int dir = dir_of(m->a, r), view = view_of(m->a, r, dir);
	struct found_row *o;

	if (r->t1 <= r->t0 || (r->cut && isnan(r->bytes) && isnan(r->bps)))
		return;
	if (of_both(m, r))
		return; /* is no direction's interval */
	o = found_row(m->f, r->t0, r->t1);
	if (!o)
		return;
	o->dir = dir;
	o->view = view;
	o->flow = r->id == IPERF_SUM || !sum_too ? -1 : flow_number(m->a, r->id);
	o->flags = r->omitted ? ROW_OMITTED : 0;
	o->v[view == MODEL_SENDER ? COL_SENT : COL_GOODPUT] =
		!isnan(r->bps) ? r->bps : r->bytes * 8 / (r->t1 - r->t0);
	o->v[COL_BYTES] = r->bytes;
	if (m->a->udp) {
		o->v[COL_A] = r->jitter;
		o->v[COL_B] = r->lost;
		o->v[COL_C] = r->total > 0 ? r->lost / r->total : UNSET;
		o->v[COL_D] = !isnan(r->total) ? r->total : r->retr;
		o->v[COL_E] = r->reordered;
	} else {
		o->v[COL_A] = bogus_retr(r) ? UNSET : r->retr;
		o->v[COL_B] = r->cwnd;
		o->v[COL_C] = r->rtt;
	}
}

/* Rows that carry the whole: the sum's where there is one, else those of the only stream. */
static bool is_total(const struct make *m, const struct iperf_row *r)
{
	return isnan(r->reordered) && !r->star && r->role != 'R' && !of_both(m, r) &&
	       (m->streams[0] > 1 ? r->id == IPERF_SUM : r->id != IPERF_SUM);
}

struct span {
	double bytes, seconds, some, retr, lost, total, first, last, step;
	double *rate;                       /* of the whole's intervals, as printed */
	size_t n, zero, run, longest, tail; /* tail: zeros at the end */
	bool odd;                           /* an interval of almost no length */
};

static bool counts(const struct make *m, const struct iperf_row *r)
{
	return is_total(m, r) && !r->summary && !r->omitted && r->said == SAID_NOTHING;
}

static void add_span(struct span *s, const struct iperf_row *r)
{
	double t = r->t1 - r->t0, rate = !isnan(r->bps) ? r->bps : r->bytes * 8 / t;

	if (!(t > 0) || t < 0.1) {
		s->odd = true;
		if (!(t > 0))
			return;
	}
	if (isnan(rate))
		return;
	s->first = s->seconds > 0 ? s->first : r->t0;
	s->last = r->t1;
	if (!r->cut) {
		/* Whichever was printed with more digits. */
		bool by_rate = isnan(r->bytes) || r->bps_step * r->bytes < r->bytes_step * r->bps;

		s->bytes += by_rate ? r->bps * t / 8 : r->bytes;
		s->seconds += t;
	}
	s->retr += r->retr;
	s->some += rate > 0 ? t : 0;
	s->lost += r->lost;
	s->total += r->total;
	if (t < 0.1)
		return;
	s->rate[s->n++] = rate;
	s->run = rate > 0 ? 0 : s->run + 1;
	s->zero += rate <= 0;
	s->longest = s->run > s->longest ? s->run : s->longest;
	s->tail = s->run;
}

static double figure(const struct format_found *f, const char *metric, int view)
{
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		if (!strcmp(g->metric, metric) && g->state == MODEL_KNOWN &&
		    !(g->dims.has >> DIM_FLOW & 1) &&
		    (view < 0 || ((g->dims.has >> DIM_VIEW & 1) && g->dims.v[DIM_VIEW] == view)))
			return g->value;
	}
	return UNSET;
}

/* No result was printed: what the intervals say, marked as such. */
static void derive(struct make *m, const struct span *s)
{
	const struct iperf_row *one = NULL;
	int dir, view;
	struct model_dims d;
	enum model_prov prov;

	for (size_t i = 0; i < m->a->n && !one; i++)
		one = counts(m, &m->a->row[i]) ? &m->a->row[i] : NULL;
	if (m->a->full_duplex && m->f->n_row && !m->f->n_fig) {
		m->f->partial = true;
		found_warn(m->f, WARN_TRUNCATED, "no result was printed");
	}
	if (!one || !(s->seconds > 0))
		return;
	dir = dir_of(m->a, one);
	view = view_of(m->a, one, dir);
	d = found_dims(dir, view, -1);
	m->f->partial = true;
	prov = s->first > 0 ? MODEL_PARTIAL : MODEL_DERIVED;
	put(m, view == MODEL_SENDER ? "throughput.sent" : "goodput", d, s->bytes * 8 / s->seconds,
	    0);
	found_prov(m->f, prov);
	put(m, "bytes", d, s->bytes, 0);
	found_prov(m->f, prov);
	put(m, "duration", DIMS_NONE, s->seconds, 0);
	found_prov(m->f, prov);
	if (!m->a->udp && !isnan(s->retr) && !bogus_retr(one)) {
		put(m, "tcp.retransmits", d, s->retr, 1);
		found_prov(m->f, prov);
	}
	if (s->total > 0) {
		put(m, "udp.lost", d, s->lost, 1);
		found_prov(m->f, prov);
		found_ext(m->f, "ext.udp.total", UNIT_NONE, STAT_VALUE, d, s->total, 1);
		found_prov(m->f, prov);
		put(m, "udp.loss", d, s->lost / s->total, 0);
		found_prov(m->f, prov);
	}
	if (bogus_retr(one))
		found_warn(m->f, WARN_UNAVAILABLE, "%.0f retransmits in %.3g bytes", one->retr,
			   one->bytes);
	if (!found_warned(m->f, WARN_TRUNCATED))
		found_warn(m->f, WARN_TRUNCATED,
			   "no result was printed; derived from %zu interval%s", s->n,
			   s->n == 1 ? "" : "s");
}

/* Debug output tells both ends' bytes exactly, in place of a result that was cut off. */
static void put_results(struct make *m)
{
	double seconds = figure(m->f, "duration", -1);
	int dir = m->a->reverse ? MODEL_DOWN : MODEL_UP;

	for (int k = 0; k < 2 && seconds > 0; k++) {
		int view = (k == 0) == (m->a->client && !m->a->reverse) ? MODEL_SENDER
									: MODEL_RECEIVER;
		const char *rate = view == MODEL_SENDER ? "throughput.sent" : "goodput";
		struct model_dims d = found_dims(dir, view, -1);

		if (!(m->a->result_bytes[k] > 0) || m->a->finals)
			continue;
		for (size_t i = 0; i < m->f->n_fig; i++) /* exact in the place of rounded */
			if (m->f->fig[i].dims.v[DIM_VIEW] == view &&
			    (!strcmp(m->f->fig[i].metric, "bytes") ||
			     !strcmp(m->f->fig[i].metric, rate)))
				m->f->fig[i--] = m->f->fig[--m->f->n_fig];
		put(m, "bytes", d, m->a->result_bytes[k], 1);
		put(m, rate, d, m->a->result_bytes[k] * 8 / seconds, 0);
		found_prov(m->f, MODEL_DERIVED);
	}
}

/* ---- what is said about it ---- */

static double mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : 0;
}

static void judge_series(struct make *m, const struct span *s)
{
	struct model_change c;
	double a, b;

	if (s->zero)
		found_warn(m->f, WARN_STALL, "%zu of %zu intervals, at most %zu in a row%s",
			   s->zero, s->n, s->longest,
			   s->tail == s->zero && s->zero < s->n
				   ? ", all at the end: as when a file ran out"
				   : "");
	if (s->odd)
		found_warn(m->f, WARN_STUB, "the last one");
	if (s->n < 8)
		return;
	c = model_pettitt(s->rate, s->n, 0.05);
	a = mean(s->rate, c.at);
	b = mean(s->rate + c.at, s->n - c.at);
	if (c.at >= 2 && s->n - c.at >= 2 && (c.found || c.p < 0.2) &&
	    fmax(a, b) > 1.25 * fmin(a, b))
		found_warn(m->f, WARN_NONSTATIONARY,
			   "%.3g Mbit/s in the first %zu intervals, then %.3g", a / 1e6, c.at,
			   b / 1e6);
}

static void judge_ends(struct make *m, double seconds)
{
	bool sent = !isnan(figure(m->f, "throughput.sent", MODEL_SENDER));
	bool got = !isnan(figure(m->f, "goodput", MODEL_RECEIVER));
	bool none = !isnan(figure(m->f, "goodput", -1)) && !got;

	if (sent && !got)
		found_warn(m->f, WARN_SENDER_ONLY, "what arrived is not in the report");
	if (none)
		found_warn(m->f, WARN_MISSING_SIDE, "whose figures these are is not said");
	if (m->a->broken) {
		m->f->partial = true;
		found_warn(m->f, WARN_INCOMPLETE, "it was interrupted or lost its peer");
	}
	if (seconds > 0 && seconds < 0.995)
		found_warn(m->f, WARN_SHORT_RUN, "%.3g s", seconds);
	if (!isnan(m->a->rate_told) && (m->a->rate_told > 0 || m->a->udp))
		found_warn(m->f, WARN_RATE_LIMITED, "-b %.4g Mbit/s", m->a->rate_told / 1e6);
	if (m->a->rate_told > 0)
		found_intended(m->f, m->a->rate_told * (m->a->streams > 1 ? m->a->streams : 1));
	if (m->a->cpu_local > 0.95 || m->a->cpu_remote > 0.95)
		found_warn(m->f, WARN_CPU_BOUND, "%.0f %% here, %.0f %% there",
			   m->a->cpu_local * 100, m->a->cpu_remote * 100);
	if (m->a->cut && !found_warned(m->f, WARN_TRUNCATED))
		found_warn(m->f, WARN_TRUNCATED, "the last row is not whole");
}

/* ---- all of it ---- */

/* The sum is what its rows add up to, where all of them are there. */
static void check_sum(struct make *m, const struct iperf_row *sum)
{
	double bytes = 0, step = sum->bytes_step, bps = 0;
	size_t n = 0;

	for (size_t i = 0; i < m->a->n; i++) {
		const struct iperf_row *r = &m->a->row[i];

		if (r->id < 0 || !r->summary || r->said != sum->said || r->role != sum->role ||
		    !isnan(r->reordered))
			continue;
		n++;
		bytes += r->bytes;
		step += r->bytes_step;
		bps += r->bps;
	}
	if (n < 2 || n != count_streams(m->a) || isnan(bytes) || isnan(sum->bytes) ||
	    m->a->n_conn > n)
		return;
	if (fabs(bytes - sum->bytes) > step * 1.01 && fabs(bps - sum->bps) > 0.02 * sum->bps)
		found_warn(m->f, WARN_MISMATCH, "the sum is %.4g bytes, its rows are %.4g",
			   sum->bytes, bytes);
}

/*
 * iperf 2 prints a server's report for each stream, but not their sum: where all are there and none
 * was cut, it is what they add up to.
 */
static void add_up(struct make *m)
{
	double bytes = 0, bps = 0, lost = 0, total = 0;
	struct model_dims d = DIMS_NONE;
	size_t n = 0;

	for (size_t i = 0; i < m->a->n; i++) {
		const struct iperf_row *r = &m->a->row[i];

		if (r->said != SAID_RECEIVER || r->id < 0 || !r->summary || r->cut)
			continue;
		d = found_dims(dir_of(m->a, r), MODEL_RECEIVER, -1);
		bytes += r->bytes;
		bps += r->bps;
		lost += r->lost;
		total += r->total;
		n++;
	}
	if (m->a->gen != 2 || n < 2 || n != count_streams(m->a) || n < m->a->n_conn ||
	    !isnan(figure(m->f, "goodput", MODEL_RECEIVER)))
		return;
	put(m, "bytes", d, bytes, 0);
	found_prov(m->f, MODEL_DERIVED);
	put(m, "goodput", d, bps, 0);
	found_prov(m->f, MODEL_DERIVED);
	put(m, "udp.lost", d, lost, 1);
	found_prov(m->f, MODEL_DERIVED);
	found_ext(m->f, "ext.udp.total", UNIT_NONE, STAT_VALUE, d, total, 1);
	found_prov(m->f, MODEL_DERIVED);
	put(m, "udp.loss", d, total > 0 ? lost / total : UNSET, 0);
	if (total > 0)
		found_prov(m->f, MODEL_DERIVED);
}

/* Several streams, but no sum: it was cut off. */
static void check_total(struct make *m)
{
	bool any[2] = {false, false}, sum[2] = {false, false}, whole = m->f->n_fig > 0;

	for (size_t i = 0; i < m->a->n; i++) {
		const struct iperf_row *r = &m->a->row[i];
		int k = r->role == 'R';

		if (r->summary && isnan(r->reordered)) {
			any[k] = any[k] || r->id >= 0;
			sum[k] = sum[k] || r->id == IPERF_SUM;
		}
	}
	for (int k = 0; k < 2; k++) {
		if (!any[k] || sum[k] || m->streams[k] < 2 || !whole)
			continue;
		found_unknown(m->f, "goodput",
			      found_dims(k              ? MODEL_DOWN
					 : m->a->client ? MODEL_UP
							: -1,
					 MODEL_RECEIVER, -1));
		m->f->partial = true;
		found_warn(m->f, WARN_TRUNCATED, "the sum of %zu streams is missing",
			   m->streams[k]);
	}
}

static void put_rest(struct make *m, double seconds)
{
	const struct iperf_acc *a = m->a;
	struct model_dims s = found_dims(a->client ? MODEL_UP : -1, MODEL_SENDER, -1);

	if (seconds > 0 && isnan(figure(m->f, "duration", -1))) {
		put(m, "duration", DIMS_NONE, seconds, 0);
		found_prov(m->f, MODEL_DERIVED);
	}
	if (a->sent_sum || (a->sent_n == count_streams(a) && a->sent_n >= a->n_conn))
		put(m, "udp.datagrams", s, a->sent, 1);
	if (count_streams(a) > 1 && !m->f->partial) {
		put(m, "flows", DIMS_NONE, (double)count_streams(a), 1);
		found_prov(m->f, MODEL_DERIVED);
	}
	found_ext(m->f, "ext.tcp.connect", UNIT_SECOND, STAT_VALUE, DIMS_NONE, a->connect_s, 1e-5);
	iperf_hist_put(a, m->f);
	found_ext(m->f, "ext.iperf.window", UNIT_BYTE, STAT_VALUE, DIMS_NONE, a->window, 0);
	put(m, "cpu.total", model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR), a->cpu_local, 1e-3);
	put(m, "cpu.total", model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR), a->cpu_remote, 1e-3);
	if (!isnan(a->window_asked))
		found_warn(m->f, WARN_WINDOW_SHORT, "%.0f KiB of %.0f", a->window / 1024,
			   a->window_asked / 1024);
	found_param(m->f, "role", "%s", a->client ? "client" : a->server ? "server" : "unknown");
}

/* What came out of order is told on a line after the interval's. */
static void put_reordered(struct make *m, const struct iperf_row *r)
{
	for (size_t k = m->f->n_row, n = 0; k-- > 0 && n < 8; n++)
		if (m->f->row[k].t0 == llround(r->t0 * 1e9) &&
		    m->f->row[k].t1 == llround(r->t1 * 1e9)) {
			m->f->row[k].v[COL_E] = r->reordered;
			return;
		}
	if (r->t0 <= 0 && m->f->n_fig)
		put(m, "udp.reordered",
		    found_dims(dir_of(m->a, r), MODEL_RECEIVER,
			       count_streams(m->a) > 1 ? flow_number(m->a, r->id) : -1),
		    r->reordered, 1);
}

/* Streams and ends do not all take as long as the longest: what took another time has its own. */
static void put_durations(struct make *m, double longest)
{
	for (size_t i = 0; i < m->a->n; i++) {
		const struct iperf_row *r = &m->a->row[i];
		int dir = dir_of(m->a, r);
		double t = r->t1 - r->t0;

		if (!r->summary || r->cut || r->id == IPERF_NONE || !isnan(r->reordered) ||
		    of_both(m, r) || unheard(m, r) || !(t > 0) || longest - t < r->t_step / 2)
			continue;
		put(m, "duration",
		    found_dims(dir, view_of(m->a, r, dir),
			       is_whole(m, r) ? -1 : flow_number(m->a, r->id)),
		    t, r->t_step);
	}
}

static void scan(struct make *m, struct span *s, double *seconds)
{
	for (size_t i = 0; i < m->a->n; i++) {
		const struct iperf_row *r = &m->a->row[i];
		bool lone = r->summary && r->said == SAID_NOTHING && r->cut;

		if (!isnan(r->reordered)) {
			put_reordered(m, r);
			continue;
		}
		if (r->summary && !lone) {
			put_summary(m, r);
			*seconds = fmax(*seconds, r->t1 - r->t0);
			if (r->id == IPERF_SUM)
				check_sum(m, r);
		} else {
			put_interval(m, r, count_streams(m->a) > 1);
		}
		if (counts(m, r))
			add_span(s, r);
	}
}

/* The first interval of a stream whose others were cut off is no result: other rows go on after it. */
static void unmark_lone(struct iperf_acc *a)
{
	double end = 0;
	bool later = false;

	for (size_t i = 0; i < a->n; i++) {
		end = fmax(end, a->row[i].t1);
		later = later || a->row[i].t0 > 0;
	}
	for (size_t i = 0; i < a->n_flow && later && a->gen == 2; i++)
		for (int k = 0; k < 3; k++) {
			struct iperf_side *s = &a->flow[i].side[k];

			if (s->n != 1 || !s->whole || a->row[s->last].t1 > 0.75 * end)
				continue;
			s->whole = a->row[s->last].summary = false;
			a->finals--;
		}
}

/* Only intervals count that are not the one row of iperf 2 over all of its cut run. */
static void unmark_first(struct iperf_acc *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->gen == 2 && a->row[i].summary && a->row[i].cut && isnan(a->row[i].bps))
			a->row[i].summary = false;
	unmark_lone(a);
}

/* iperf 2.1 sums up both directions too. */
static bool lone_sum(const struct iperf_acc *a)
{
	const struct iperf_row *sum = NULL, *one = NULL;
	size_t ids = 0;

	for (size_t i = 0; i < a->n_flow; i++)
		ids += a->flow[i].id >= 0;

	/* One stream and more than it in the sum: the others are not here. */
	for (size_t i = 0; i < a->n && a->gen == 2; i++) {
		const struct iperf_row *r = &a->row[i];

		if (r->id == IPERF_SUM && r->summary)
			sum = r;
		else if (r->summary && one && (one->id != r->id || one->star != r->star))
			return false;
		else if (r->summary)
			one = r;
	}
	if (sum && one && ids <= 1 && sum->bytes > 1.2 * one->bytes)
		return true;
	for (size_t i = 0; i < a->n; i++)
		if (a->row[i].id != IPERF_SUM || a->row[i].t_decimals != 4)
			return false;
	return a->gen == 2;
}

void iperf_make(struct iperf_acc *a, struct format_found *f)
{
	struct make m = {.a = a, .f = f};
	struct span s = {.rate = calloc(a->n + 1, sizeof(double))};
	double seconds = 0;

	if (!s.rate) {
		f->failed = true;
		return;
	}
	f->what = a->udp ? "udp" : "tcp";
	f->protocol = a->gen == 2 ? "iperf2" : "iperf3";
	memcpy(f->tool, a->gen == 2 ? "iperf" : "iperf3", a->gen == 2 ? 6 : 7);
	f->n_col = a->udp ? ARRAY_LEN(udp_cols) : ARRAY_LEN(tcp_cols);
	memcpy(f->col, a->udp ? udp_cols : tcp_cols, f->n_col * sizeof(*f->col));
	a->reverse = a->reverse || (server_sends(a) && a->gen == 3);
	unmark_first(a);
	for (size_t i = 0; i < a->n; i++) {
		if (a->row[i].id == IPERF_SUM && a->row[i].summary)
			m.sum[a->row[i].role == 'R'] = true;
		m.received = m.received || (a->row[i].said == SAID_RECEIVER && a->row[i].bytes > 0);
		if (a->row[i].said == SAID_SENDER)
			m.sent = fmax(m.sent, a->row[i].bytes);
	}
	for (size_t i = 0; i < a->n_flow; i++) {
		a->full_duplex = a->full_duplex || a->flow[i].star;
		m.stars += a->flow[i].star && a->flow[i].id >= 0;
		m.streams[a->flow[i].role == 'R'] += a->flow[i].id >= 0 && !a->flow[i].star;
	}
	a->broken = a->broken || was_broken(&m);
	if (lone_sum(a)) {
		found_warn(f, WARN_TRUNCATED,
			   "a sum without its streams may be of both directions");
		free(s.rate);
		return;
	}
	scan(&m, &s, &seconds);
	if (!a->finals || !f->n_fig)
		derive(&m, &s);
	put_results(&m);
	add_up(&m);
	check_total(&m);
	put_rest(&m, seconds);
	put_durations(&m, seconds);
	judge_series(&m, &s);
	if (!a->udp)
		found_check_line(f, figure(f, "throughput.sent", -1), figure(f, "goodput", -1));
	judge_ends(&m, seconds);
	for (size_t i = 0; i < a->n_conn; i++)
		found_mark(f, a->conn[i].lport * 65536ul + a->conn[i].rport);
	if (!a->n_conn && f->n_row < 3)
		f->mark = 0; /* too little to tell a second paste by */
	free(s.rate);
}
