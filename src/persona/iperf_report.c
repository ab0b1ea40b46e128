/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `weir iperf` prints of a test, at both roles: connected lines, rows as the intervals come, and
 * rows of the whole. Bytes, losses and jitter are the run's; what no metric has (reads by size,
 * latencies, frames) is taken from the engine's own readings.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <net/if.h>

#include "host/host.h"
#include "persona/iperf.h"

bool i2_without(const struct i2_cfg *c, char what)
{
	return c->exclude && (strchr(c->exclude, what) || strchr(c->exclude, what + 'a' - 'A'));
}

bool i2_enhanced(const struct i2_cfg *c)
{
	return c->enhanced || c->iso || c->bb;
}

void i2_flow(struct format_iperf2_flow *f, int fd, int id)
{
	struct net_tcp_info info;
	int len = net_tcp_info_get(fd, &info);

	*f = (struct format_iperf2_flow){.id = id, .sock = fd};
	net_sock_end(fd, NET_END_LOCAL, f->local_host, sizeof(f->local_host), &f->local_port);
	net_sock_end(fd, NET_END_PEER, f->remote_host, sizeof(f->remote_host), &f->remote_port);
	if (len <= 0 || !NET_HAS((size_t)len, rtt_us))
		return;
	f->mss = info.snd_mss;
	f->cwnd = info.snd_cwnd;
	f->rtt_us = info.rtt_us;
}

/* ---- a connection ---------------------------------------------------------------------- */

static const char *mode_of(const struct i2_report *r, char *dst, size_t cap)
{
	bool down = r->n > r->up && !r->c->dual && !r->c->trade;

	snprintf(dst, cap, "%s%s%s%s%s%s",
		 !down   ? ""
		 : r->up ? " (full-duplex)"
			 : " (reverse)",
		 r->iperf2.no_end && r->udp ? " (no-udp-fin)" : "", r->c->iso ? " (isoch)" : "",
		 r->c->txstart && !r->server ? " (epoch-start)" : "",
		 r->trip ? " (trip-times)" : "", r->c->quickack && !r->o.enhanced ? " (qack)" : "");
	return dst;
}

static void add_details(struct i2_report *r, const struct proto_session *s, size_t i)
{
	struct format_iperf2_flow *f = &r->flow[i];

	f->when = (double)clk_real_ns() * 1e-9;
	f->tos = s->plan->flows[i].tos;
	f->quick_ack = r->c->quickack;
	if (i < I2_FLOWS && !r->server && !r->udp)
		f->connect_ms = (double)r->connect_ns[i] * 1e-6;
	if (r->server && s->peer.version[0])
		snprintf(f->peer, sizeof(f->peer), "%.31s", s->peer.version);
}

static void name_flow(struct i2_report *r, size_t i)
{
	struct format_iperf2_flow *f = &r->flow[i];

	if (!r->c->key || !*r->c->key)
		return;
	snprintf(r->label[i], sizeof(r->label[i]), "%s%s(%d)", f->star ? "*" : "", r->c->key,
		 f->id);
	f->label = r->label[i];
}

/* Of one that the server made iperf says less. */
static void put_connected(struct i2_report *r, const struct format_iperf2_flow *f, bool accepted)
{
	struct format_iperf2_flow shown = *f;
	char mode[160];

	shown.star = false;
	if (accepted)
		shown.mss = 0;
	format_iperf2_connected(&r->out, &r->o, &shown, mode_of(r, mode, sizeof(mode)));
}

void i2_device(struct format_iperf2_flow *f, int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	char name[IF_NAMESIZE];

	if (getpeername(fd, (struct sockaddr *)&ss, &len) == 0 &&
	    host_iface_to((const struct sockaddr *)&ss, name))
		snprintf(f->dev, sizeof(f->dev), "%%%s", name);
}

/* A client that did, at its server. */
static bool asked_for_times(const struct i2_report *r, const struct flow_spec *f)
{
	return r->server && (f->timed == NET_TIMED_BURSTS || f->bursts ||
			     (f->timed == NET_TIMED_WAY && !r->c->enhanced && !r->c->hist));
}

void i2_opened(void *arg, struct proto_session *s)
{
	struct i2_report *r = arg;
	bool own = r->c->dual || r->c->trade; /* each way has a connection */
	size_t streams;

	r->n = s->plan->n < I2_FLOWS ? s->plan->n : I2_FLOWS;
	r->up = flow_plan_count(s->plan, NET_UP);
	r->udp = s->plan->flows[0].transport == NET_UDP;
	for (size_t i = 0; i < r->n; i++)
		r->trip = r->trip || asked_for_times(r, &s->plan->flows[i]);
	streams = own ? r->n : r->up ? r->up : r->n;
	for (size_t i = 0; i < r->n; i++) {
		struct format_iperf2_flow *f = &r->flow[i];

		i2_flow(f, s->fds[i], r->first_id + (int)(i % streams));
		/* The direction that is not the usual one of this end. */
		f->star = i >= r->up && (!r->server || r->up) && !own;
		add_details(r, s, i);
		if (r->o.enhanced)
			i2_device(f, s->fds[i]);
		name_flow(r, i);
		if (i < streams && !r->c->sum_only && !i2_without(r->c, 'C'))
			put_connected(r, f, own && i >= r->up);
		if (i < streams && r->c->print_mss && !r->udp && !r->o.csv)
			buf_printf(&r->out, "[%3d] MSS size %u bytes\n", f->id, f->mss);
	}
	r->flush(r);
}

void i2_connect_times(struct buf *b, const int64_t *ns, size_t n, size_t failed)
{
	double min = 0, max = 0, sum = 0, squares = 0, mean;

	for (size_t i = 0; i < n; i++) {
		double ms = (double)ns[i] * 1e-6;

		min = !i || ms < min ? ms : min;
		max = ms > max ? ms : max;
		sum += ms;
		squares += ms * ms;
	}
	mean = n ? sum / (double)n : 0;
	buf_printf(b,
		   "[ CT] final connect times (min/avg/max/stdev) = %.3f/%.3f/%.3f/%.3f ms "
		   "(tot/err) = %zu/%zu\n",
		   min, mean, max,
		   n > 1 ? sqrt(fmax(0, squares - sum * mean) / (double)(n - 1)) : 0, n + failed,
		   failed);
}

/* ---- rows -------------------------------------------------------------------------------- */

static bool sends(const struct i2_report *r, size_t i)
{
	return (i < r->up) != r->server;
}

void i2_put_header(struct i2_report *r, enum format_iperf2_form form)
{
	if (r->header == (int)form || (r->header >= 0 && r->o.v205))
		return;
	if (r->c->sum_only && !r->o.csv && !i2_enhanced(r->c))
		buf_puts(&r->out, "[SUM-cnt] Interval       Transfer     Bandwidth\n");
	else
		format_iperf2_header(&r->out, &r->o, form);
	r->header = (int)form;
}

static enum format_iperf2_form form_of(const struct i2_report *r, size_t i)
{
	bool e = i2_enhanced(r->c);

	if (r->o.csv || !r->ticked)
		return IPERF2_PLAIN;
	if (r->udp && sends(r, i))
		return r->c->iso && !r->server ? IPERF2_FRAMES : e ? IPERF2_SENDS : IPERF2_PLAIN;
	if (r->udp)
		return e || r->trip ? IPERF2_LATENCY : IPERF2_PLAIN;
	if (sends(r, i))
		return r->c->write_times         ? IPERF2_WRITE_TIMES
		       : r->c->iso && !r->server ? IPERF2_FRAMES_TCP
		       : e                       ? IPERF2_WRITES
						 : IPERF2_PLAIN;
	return r->trip ? IPERF2_BURSTS : e ? IPERF2_READS : IPERF2_PLAIN;
}

static void spread_of(const struct net_spread *now, const struct net_spread *from, bool whole,
		      struct format_iperf2_spread *out)
{
	double n = (double)(now->n - from->n), sum = now->sum - from->sum, var;

	*out = (struct format_iperf2_spread){.n = n};
	if (n < 1)
		return;
	out->mean = sum / n;
	var = n > 1 ? (now->squares - from->squares - sum * out->mean) / (n - 1) : 0;
	out->stdev = var > 0 ? sqrt(var) : 0;
	out->min = whole ? now->min : now->lately_min;
	out->max = whole ? now->max : now->lately_max;
}

/* What the engine counted from a tick to the next, or in all. */
static void add_reading(const struct i2_report *r, size_t i, bool whole,
			struct format_iperf2_row *row)
{
	static const struct net_flow_sample none;
	const struct net_flow_sample *now = &r->now[i], *was = whole ? &none : &r->before[i];
	double seconds = row->t1 - row->t0;

	row->form = form_of(r, i);
	if (!r->ticked || row->form == IPERF2_PLAIN)
		return;
	row->calls = (double)(now->calls - was->calls);
	row->retr = now->info.total_retrans - was->info.total_retrans;
	row->cwnd = (double)now->info.snd_cwnd * now->info.snd_mss;
	row->rtt_us = now->info.rtt_us;
	row->rttvar_us = now->info.rttvar_us;
	for (size_t k = 0; k < IPERF2_DIST; k++)
		row->dist[k] = (double)(now->reads[k] - was->reads[k]);
	spread_of(&now->spread, &was->spread, whole, &row->latency);
	row->burst_size = row->latency.n > 0 ? floor(row->bytes / row->latency.n) : 0;
	row->frames = (double)(now->frames - was->frames);
	row->missed = (double)(now->missed - was->missed);
	row->slips = (double)(now->slips - was->slips);
	row->errors = r->udp ? (double)(now->udp.refused - was->udp.refused) : 0;
	if (!r->udp)
		return;
	row->got = sends(r, i) ? (double)(now->udp.sent - was->udp.sent)
			       : (double)(now->udp.received - was->udp.received);
	row->pps = seconds > 0 ? row->got / seconds : 0;
	if (sends(r, i)) /* offloads send several a call: what iperf calls a write is a datagram */
		row->calls = row->got;
}

static void add(struct format_iperf2_row *sum, const struct format_iperf2_row *r)
{
	if (sum->t1 <= 0) {
		*sum = *r;
		return;
	}
	if (sum->form != r->form)
		sum->form = IPERF2_PLAIN;
	sum->bytes += r->bytes;
	sum->lost += r->lost;
	sum->total += r->total;
	sum->reordered += r->reordered;
	sum->calls += r->calls;
	sum->errors += r->errors;
	sum->retr += r->retr;
	sum->pps += r->pps;
	for (size_t k = 0; k < IPERF2_DIST; k++)
		sum->dist[k] += r->dist[k];
	sum->t0 = r->t0 < sum->t0 ? r->t0 : sum->t0;
	sum->t1 = r->t1 > sum->t1 ? r->t1 : sum->t1;
}

/* The one whose histogram is printed. */
static size_t timed_flow(const struct i2_report *r)
{
	return r->server || r->c->write_times ? 0 : r->up;
}

static void put_histogram(struct i2_report *r, size_t flow, const struct format_iperf2_row *row,
			  bool whole)
{
	struct format_iperf2_hist h = {.n = r->c->hist_bins,
				       .bin_ns = r->c->hist_bin_ns,
				       .lower = r->c->hist_lower,
				       .upper = r->c->hist_upper};
	uint64_t *bin;

	if (!r->hist[0] || flow != timed_flow(r) || r->o.csv || row->latency.n < 1)
		return;
	bin = calloc(h.n + 1, sizeof(*bin));
	if (!bin)
		return;
	for (size_t i = 0; i <= h.n; i++)
		bin[i] = r->hist[0][i] - (whole ? 0 : r->hist[1][i]);
	h.bin = bin;
	h.above = bin[h.n];
	format_iperf2_pdf(&r->out, &r->flow[flow], row,
			  r->udp              ? "T8"
			  : r->c->write_times ? "W8"
					      : "F8",
			  whole, &h);
	free(bin);
}

static void put_sum(struct i2_report *r, struct format_iperf2_row *sum)
{
	struct format_iperf2_flow f = {0};
	bool both = r->up && r->n > r->up;
	char label[32] = "";

	f.label = label;
	if (both && i2_enhanced(r->c) && r->n == 2 && !r->c->dual) {
		snprintf(label, sizeof(label), "FD%d", r->flow[0].id);
		sum->form = IPERF2_PLAIN;
		sum->datagrams = false;
		r->header = -1;
		i2_put_header(r, IPERF2_PLAIN);
		r->header = -1;
	} else if (r->c->sum_only) {
		snprintf(label, sizeof(label), "SUM-%zu", r->n);
		i2_put_header(r, sum->form);
	}
	format_iperf2_row(&r->out, &r->o, *label ? &f : NULL, sum);
}

/* -d, -r: iperf sums nothing up then. */
static bool own_ways(const struct i2_report *r)
{
	return r->c->dual || r->c->trade;
}

void i2_rows(struct i2_report *r, const struct model_run *run, const struct model_tick *t)
{
	struct format_iperf2_row row, sum = {0};
	double sent = 0;

	for (size_t i = 0; i < r->n; i++) {
		int dir = i < r->up ? MODEL_UP : MODEL_DOWN;
		int64_t flow = -1;
		bool got;

		if ((i < r->up ? r->up : r->n - r->up) > 1)
			flow = (int64_t)i;
		got = t ? format_iperf2_tick(run, t, dir, sends(r, i), flow, &row)
			: format_iperf2_total(run, dir, sends(r, i), flow, &row);
		if (!got)
			continue;
		row.when = r->real0 + row.t1;
		add_reading(r, i, !t, &row);
		add(&sum, &row);
		if (r->c->sum_only || i2_without(r->c, 'D'))
			continue;
		i2_put_header(r, row.form == IPERF2_PLAIN && row.datagrams ? IPERF2_DATAGRAMS
									   : row.form);
		format_iperf2_row(&r->out, &r->o, &r->flow[i], &row);
		put_histogram(r, i, &row, !t);
		if (!t && r->udp && sends(r, i) && !r->o.csv) {
			format_iperf2_id(&r->out, &r->flow[i]);
			buf_printf(&r->out, " Sent %.0f datagrams\n", row.total);
			sent += row.total;
		}
	}
	if (r->n > 1 && sum.t1 > 0 && !(own_ways(r) && !r->server))
		put_sum(r, &sum);
	if (r->up > 1 && !r->server && sent > 0 && !r->o.v205)
		buf_printf(&r->out, "[SUM-%zu] Sent %.0f datagrams\n", r->n, sent);
	r->flush(r);
}

/* ---- as they come --------------------------------------------------------------------------- */

static struct i2_report *of_sink(struct sink *s)
{
	return (struct i2_report *)(void *)((char *)s - offsetof(struct i2_report, sink));
}

static void on_begin(struct sink *s, const struct model_run *run)
{
	of_sink(s)->real0 = (double)run->start_real_ns * 1e-9;
}

static void on_sample(struct sink *s, const struct model_run *run, const struct model_tick *t)
{
	struct i2_report *r = of_sink(s);

	/* The rest of the last interval is in the whole. */
	if (r->c->interval_ns && t->t1 - t->t0 >= r->c->interval_ns * 9 / 10)
		i2_rows(r, run, t);
}

static void on_event(struct sink *s, const struct model_run *run, const struct model_event *ev)
{
	(void)s, (void)run, (void)ev;
}

static void on_end(struct sink *s, const struct model_run *run)
{
	(void)s, (void)run;
}

static int on_close(struct sink *s, struct weir_err *e)
{
	(void)s, (void)e;
	return 0;
}

static void keep_histogram(struct i2_report *r, const struct net_flow_sample *s)
{
	size_t n = r->c->hist_bins + 1UL;

	if (!s->hist)
		return;
	for (int k = 0; k < 2; k++)
		if (!r->hist[k])
			r->hist[k] = calloc(n, sizeof(uint64_t));
	for (size_t i = 0; r->hist[0] && r->hist[1] && i < n; i++) {
		r->hist[1][i] = r->hist[0][i];
		r->hist[0][i] = atomic_load_explicit(&s->hist[i], memory_order_relaxed);
	}
}

/* A server tells its client of them. */
static void note_ways(struct i2_report *r)
{
	static const struct net_spread none;
	struct format_iperf2_spread s;

	spread_of(&r->now[0].spread, &none, true, &s);
	r->told[0] = (struct iperf2_report){.timed = s.n > 0,
					    .n = s.n,
					    .min = s.min,
					    .max = s.max,
					    .mean = s.mean,
					    .stdev = s.stdev};
}

static void on_tick(void *arg, const struct net_tick *t)
{
	struct i2_report *r = arg;
	struct net_flow_sample *old = r->before;

	r->before = r->now;
	r->now = old;
	for (size_t i = 0; i < t->n && i < I2_FLOWS; i++) {
		r->now[i] = t->s[i];
		if (t->s[i].hist && i == timed_flow(r))
			keep_histogram(r, &t->s[i]);
		r->now[i].hist = NULL; /* the engine's, which ends before we do */
	}
	r->ticked = true;
	if (r->server && r->udp && r->n == 1)
		note_ways(r);
}

/* ---- its life --------------------------------------------------------------------------------- */

struct i2_report *i2_report_new(const struct i2_cfg *c, bool server)
{
	struct i2_report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->c = c;
	r->o = i2_format(c, server);
	r->server = server;
	r->header = -1;
	r->trip = c->trip;
	r->now = calloc(I2_FLOWS, sizeof(*r->now));
	r->before = calloc(I2_FLOWS, sizeof(*r->before));
	r->sink = (struct sink){on_begin, on_sample, on_event, on_end, on_close};
	r->iperf2 = (struct proto_iperf2){.old = c->v205,
					  .plain = c->compat,
					  .key = c->key && *c->key ? c->key : NULL,
					  .next_ports = c->incr_dstport,
					  .connect_ns = r->connect_ns,
					  .told = r->told,
					  .cap = I2_FLOWS,
					  .opened = i2_opened,
					  .arg = r};
	if (r->now && r->before)
		return r;
	i2_report_free(r);
	return NULL;
}

void i2_report_free(struct i2_report *r)
{
	buf_fini(&r->out);
	free(r->now);
	free(r->before);
	free(r->hist[0]);
	free(r->hist[1]);
	free(r);
}

void i2_report_hooks(struct i2_report *r, struct measure_hooks *h)
{
	h->iperf2 = &r->iperf2;
	h->tick = on_tick;
	h->arg = r;
}
