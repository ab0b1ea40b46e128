/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's lines, as 2.0.5 and as 2.1 print them: the same columns, other digits. Bytes go by 1024,
 * bits by 1000, and both are labelled as if they did not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/iperf2_table.h"
#include "format/priv.h"

/* ---- quantities ------------------------------------------------------------------------ */

static void quantity(char *dst, size_t cap, double v, bool bits, const struct format_iperf2_opts *o)
{
	bool capital = o->unit >= 'A' && o->unit <= 'Z' && o->unit;
	char letter = capital ? (char)(o->unit - 'A' + 'a') : o->unit;
	size_t i = 0, w = o->v205 ? 1 : 0;
	double base;

	if (bits && capital) {
		v /= 8;
		bits = false;
	}
	/* A small letter is of rates: bytes then go in the unit of that letter, too. */
	base = bits ? IPERF2_BITS_BASE : IPERF2_BYTES_BASE;
	letter = letter == 'a' ? 0 : letter;
	while (i + 1 < ARRAY_LEN(iperf2_units) &&
	       (letter ? iperf2_units[i].letter != letter : fabs(v) >= base)) {
		v /= base;
		i++;
	}
	while (v >= iperf2_widths[w].below)
		w++;
	snprintf(dst, cap, "%4.*f %s%s", iperf2_widths[w].decimals, v, iperf2_units[i].prefix,
		 bits ? "bit" : "Byte");
}

void format_iperf2_size(struct buf *b, double bytes, const struct format_iperf2_opts *o)
{
	struct format_iperf2_opts any = *o;
	char text[48];

	any.unit = 0;
	quantity(text, sizeof(text), bytes, false, &any);
	buf_puts(b, text);
}

void format_iperf2_bits(struct buf *b, double bits, const struct format_iperf2_opts *o)
{
	char text[48];

	quantity(text, sizeof(text), bits, true, o);
	buf_puts(b, text);
}

/* ---- rows ------------------------------------------------------------------------------ */

void format_iperf2_id(struct buf *b, const struct format_iperf2_flow *f)
{
	if (!f || f->label)
		buf_printf(b, "[%s]", f ? f->label : "SUM");
	else if (f->star)
		buf_printf(b, "[ *%d]", f->id);
	else
		buf_printf(b, "[%3d]", f->id);
}

static void put_interval(struct buf *b, const struct format_iperf2_row *r, bool v205)
{
	if (v205)
		buf_printf(b, IPERF2_PUT_TIME_205, r->t0, r->t1);
	else
		buf_printf(b, IPERF2_PUT_TIME, r->t0, r->t1);
}

static double rate_of(const struct format_iperf2_row *r)
{
	return r->t1 > r->t0 ? r->bytes * 8 / (r->t1 - r->t0) : 0;
}

static double percent(const struct format_iperf2_row *r)
{
	return r->total > 0 ? 100 * r->lost / r->total : 0;
}

static void put_datagrams(struct buf *b, const struct format_iperf2_row *r, bool sum, bool v205)
{
	if (sum && !v205)
		buf_puts(b, "   ");
	else
		buf_printf(b, "  %6.3f ms ", r->jitter_s * 1e3);
	buf_printf(b, v205 ? "%4.0f/%5.0f (%.2g%%)" : "%.0f/%.0f (%.2g%%)", r->lost, r->total,
		   percent(r));
}

/* What arrives a second for each second it is on its way, scaled as iperf does. */
static void put_power(struct buf *b, const struct format_iperf2_row *r, double delay_s)
{
	double v = delay_s > 0 ? rate_of(r) / 8 / delay_s * 1e-6 : (double)NAN;

	if (isnan(v))
		buf_puts(b, "NAN");
	else
		buf_printf(b, v < 100 ? "%.2f" : "%.0f", v);
}

static void put_latency(struct buf *b, const struct format_iperf2_spread *s)
{
	buf_printf(b, IPERF2_PUT_LATENCY, s->mean * 1e3, s->min * 1e3, s->max * 1e3,
		   s->stdev * 1e3);
}

static void put_reads(struct buf *b, const struct format_iperf2_row *r)
{
	buf_printf(b, "  %.0f", r->calls);
	for (size_t i = 0; i < IPERF2_DIST; i++)
		buf_printf(b, "%c%.0f", i ? ':' : '=', r->dist[i]);
}

static void put_writes(struct buf *b, const struct format_iperf2_row *r, bool sum)
{
	bool frames = r->form == IPERF2_FRAMES_TCP, times = r->form == IPERF2_WRITE_TIMES;

	buf_printf(b, IPERF2_PUT_CALLS IPERF2_PUT_RETR, r->calls, r->errors,
		   sum      ? IPERF2_RETR_SUM
		   : frames ? IPERF2_RETR_ISO
			    : IPERF2_RETR,
		   r->retr);
	if (sum)
		return;
	buf_printf(b, IPERF2_PUT_CWND, floor(r->cwnd / 1024), r->rtt_us);
	if (!frames && !times)
		buf_printf(b, IPERF2_PUT_RTTVAR, r->rttvar_us);
	buf_puts(b, " us  ");
	if (frames)
		buf_printf(b, "%9.0f/%.0f/%.0f        ", r->frames, r->missed, r->slips);
	put_power(b, r, r->rtt_us * 1e-6);
	if (!times)
		return;
	buf_putc(b, ' ');
	put_latency(b, &r->latency);
	buf_printf(b, " (%.0f)", r->latency.n);
}

static void put_bursts(struct buf *b, const struct format_iperf2_opts *o,
		       const struct format_iperf2_row *r)
{
	buf_putc(b, ' ');
	put_latency(b, &r->latency);
	buf_printf(b, " (%.0f/%.0f) ", r->latency.n, r->burst_size);
	format_iperf2_size(b, rate_of(r) / 8 * r->latency.mean, o);
	buf_putc(b, ' ');
	put_power(b, r, r->latency.mean);
	put_reads(b, r);
}

static void put_bounces(struct buf *b, const struct format_iperf2_row *r)
{
	const struct format_iperf2_spread *s = &r->latency;
	double rps = s->mean > 0 ? 1 / s->mean : 0;

	buf_printf(b, "    %.0f=%.3f/%.3f/%.3f/%.3f ms %4.0f %4.0fK/%.0f us    ", s->n,
		   s->mean * 1e3, s->min * 1e3, s->max * 1e3, s->stdev * 1e3, r->retr,
		   floor(r->cwnd / 1024), r->rtt_us);
	buf_printf(b, rps < 1 ? "%.1f rps" : "%.0f rps", rps);
}

static void put_datagrams_late(struct buf *b, const struct format_iperf2_opts *o,
			       const struct format_iperf2_row *r, bool sum)
{
	if (sum) { /* as if the lost were what was written, as 2.1.8 has it */
		buf_printf(b, IPERF2_PUT_CALLS IPERF2_PUT_PPS, r->lost, r->total, r->pps);
		return;
	}
	put_datagrams(b, r, false, o->v205);
	put_latency(b, &r->latency);
	buf_printf(b, IPERF2_PUT_PROGRESS " ", r->pps, r->got, r->pps * r->latency.mean);
	put_power(b, r, r->latency.mean);
}

static void put_tail(struct buf *b, const struct format_iperf2_opts *o,
		     const struct format_iperf2_flow *f, const struct format_iperf2_row *r)
{
	switch (r->form) {
	case IPERF2_WRITES:
	case IPERF2_WRITE_TIMES:
	case IPERF2_FRAMES_TCP:
		put_writes(b, r, !f);
		break;
	case IPERF2_READS:
		put_reads(b, r);
		break;
	case IPERF2_BURSTS:
		put_bursts(b, o, r);
		break;
	case IPERF2_FRAMES:
	case IPERF2_SENDS:
		buf_printf(b, IPERF2_PUT_CALLS IPERF2_PUT_PPS, r->calls, r->errors, r->pps);
		if (r->form == IPERF2_FRAMES)
			buf_printf(b, "  %3.0f/%.0f/%.0f", r->frames, r->missed, r->slips);
		break;
	case IPERF2_LATENCY:
		put_datagrams_late(b, o, r, !f);
		break;
	case IPERF2_BOUNCES:
		put_bounces(b, r);
		break;
	default:
		if (r->datagrams)
			put_datagrams(b, r, !f, o->v205);
		break;
	}
}

static void put_text_row(struct buf *b, const struct format_iperf2_opts *o,
			 const struct format_iperf2_flow *f, const struct format_iperf2_row *r)
{
	char bytes[48], rate[48];

	quantity(bytes, sizeof(bytes), r->bytes, false, o);
	quantity(rate, sizeof(rate), rate_of(r), true, o);
	format_iperf2_id(b, f);
	put_interval(b, r, o->v205);
	buf_printf(b, "  %ss  %ss/sec", bytes, rate);
	put_tail(b, o, f, r);
	buf_putc(b, '\n');
	if (!r->datagrams || r->reordered <= 0)
		return;
	format_iperf2_id(b, f);
	put_interval(b, r, o->v205);
	buf_printf(b, IPERF2_PUT_ORDER "\n", r->reordered);
}

/* 2.0.5 names its own end first, 2.1 the client. Of a sum there are no addresses. */
static void put_csv_row(struct buf *b, const struct format_iperf2_opts *o,
			const struct format_iperf2_flow *f, const struct format_iperf2_row *r)
{
	bool swap = f && (o->v205 ? r->told : o->server);
	time_t when = (time_t)r->when;
	struct tm tm;
	char text[32];

	localtime_r(&when, &tm);
	strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm);
	buf_puts(b, text);
	if (o->enhanced)
		buf_printf(b, ".%03d", (int)((r->when - floor(r->when)) * 1e3));
	buf_putc(b, ',');
	if (!f)
		buf_puts(b, "0.0.0.0,0,0.0.0.0,0,-1");
	else
		buf_printf(b, "%s,%u,%s,%u,%d", swap ? f->remote_host : f->local_host,
			   swap ? f->remote_port : f->local_port,
			   swap ? f->local_host : f->remote_host,
			   swap ? f->local_port : f->remote_port, f->id);
	buf_printf(b, ",%.1f-%.1f,%.0f,%.0f", r->t0, r->t1, r->bytes, floor(rate_of(r)));
	if (r->datagrams)
		buf_printf(b, ",%.3f,%.0f,%.0f,%.3f,%.0f", r->jitter_s * 1e3, r->lost, r->total,
			   percent(r), r->reordered > 0 ? r->reordered : 0);
	buf_putc(b, '\n');
}

void format_iperf2_row(struct buf *b, const struct format_iperf2_opts *o,
		       const struct format_iperf2_flow *f, const struct format_iperf2_row *r)
{
	(o->csv ? put_csv_row : put_text_row)(b, o, f, r);
}

void format_iperf2_header(struct buf *b, const struct format_iperf2_opts *o,
			  enum format_iperf2_form form)
{
	if (!o->csv)
		buf_printf(b, "%s\n", iperf2_headers[form]);
}

/* "*.*.*.4", of IPv4 alone, as iperf does. */
static const char *shown(const char *host, bool hide, char *dst, size_t cap)
{
	const char *dot = strrchr(host, '.');

	if (!hide || !dot)
		return host;
	snprintf(dst, cap, "*.*.*%s", dot);
	return dst;
}

static void put_details(struct buf *b, const struct format_iperf2_flow *f)
{
	if (f->sock)
		buf_printf(b, " (sock=%d)", f->sock);
	if (f->quick_ack)
		buf_puts(b, " (qack)");
	if (f->tos)
		buf_printf(b, " (tos rx=0x%x)", f->tos);
	if (f->peer[0])
		buf_printf(b, " (peer %s)", f->peer);
}

static void put_when(struct buf *b, double when)
{
	time_t t = (time_t)when;
	struct tm tm;
	char text[64];

	localtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S (%Z)", &tm);
	buf_printf(b, " on %s", text);
}

void format_iperf2_connected(struct buf *b, const struct format_iperf2_opts *o,
			     const struct format_iperf2_flow *f, const char *mode)
{
	char here[64], there[64];

	if (o->csv)
		return;
	format_iperf2_id(b, f);
	buf_printf(b, " local %s%s port %u connected with %s port %u%s",
		   shown(f->local_host, o->hide, here, sizeof(here)), o->enhanced ? f->dev : "",
		   f->local_port, shown(f->remote_host, o->hide, there, sizeof(there)),
		   f->remote_port, mode);
	if (o->enhanced)
		put_details(b, f);
	if (!o->v205 && f->mss)
		buf_printf(b, " (icwnd/mss/irtt=%u/%u/%u)", f->cwnd, f->mss, f->rtt_us);
	if (o->enhanced && f->connect_ms > 0)
		buf_printf(b, " (ct=%.2f ms)", f->connect_ms);
	if (o->enhanced && f->when > 0)
		put_when(b, f->when);
	buf_putc(b, '\n');
}

/* ---- histograms ------------------------------------------------------------------------ */

/* The bin that the share is in, counted from 1. */
static size_t bin_of(const struct format_iperf2_hist *h, double n, double percent)
{
	double want = n * percent / 100, sum = 0;

	for (size_t i = 0; i < h->n; i++) {
		sum += (double)h->bin[i];
		if (sum >= want && sum > 0)
			return i + 1;
	}
	return h->n;
}

void format_iperf2_pdf(struct buf *b, const struct format_iperf2_flow *f,
		       const struct format_iperf2_row *r, const char *name, bool last,
		       const struct format_iperf2_hist *h)
{
	double n = (double)h->above;
	const char *comma = "";

	for (size_t i = 0; i < h->n; i++)
		n += (double)h->bin[i];
	format_iperf2_id(b, f);
	put_interval(b, r, false);
	buf_printf(b, " %s%s-PDF: bin(w=%lldus):cnt(%.0f)=", name, last ? "(f)" : "",
		   (long long)(h->bin_ns / NSEC_PER_USEC), n);
	for (size_t i = 0; i < h->n; i++) {
		if (!h->bin[i])
			continue;
		buf_printf(b, "%s%zu:%llu", comma, i + 1, (unsigned long long)h->bin[i]);
		comma = ",";
	}
	buf_printf(b, " (%.2f/%.2f/99.7%%=%zu/%zu/%zu,Outliers=%llu,obl/obu=0/%llu)\n", h->lower,
		   h->upper, bin_of(h, n, h->lower), bin_of(h, n, h->upper), bin_of(h, n, 99.7),
		   (unsigned long long)h->above, (unsigned long long)h->above);
}

/* ---- from a run --------------------------------------------------------------------- */

static double tick_value(const struct model_run *run, const struct model_tick *t,
			 const struct format_group *g, const char *metric)
{
	double v;

	return format_tick_value(run, t, g, metric, &v) ? v : 0;
}

bool format_iperf2_tick(const struct model_run *run, const struct model_tick *t, int dir,
			bool sender, int64_t flow, struct format_iperf2_row *r)
{
	const struct format_group g = {.dir = dir,
				       .view = sender ? MODEL_SENDER : MODEL_RECEIVER,
				       .end = FORMAT_ANY,
				       .flow = flow};
	int64_t begin;
	double bytes;

	*r = (struct format_iperf2_row){0};
	if (!format_tick_value(run, t, &g, "bytes", &bytes))
		return false;
	r->bytes = bytes;
	/* From the load's own beginning. */
	begin = run->n_parts ? run->parts[run->n_parts - 1].t0 : 0;
	r->t0 = (double)(t->t0 - begin) * 1e-9;
	r->t1 = (double)(t->t1 - begin) * 1e-9;
	if (sender || !run->kind || strcmp(run->kind, "udp") != 0)
		return true;
	r->datagrams = true;
	r->lost = tick_value(run, t, &g, "udp.lost");
	r->total = r->lost + tick_value(run, t, &g, "udp.datagrams");
	r->jitter_s = tick_value(run, t, &g, "udp.jitter");
	r->reordered = tick_value(run, t, &g, "udp.reordered");
	return true;
}

static double total(const struct model_run *run, const char *metric, int dir, bool sender,
		    int64_t flow)
{
	struct model_dims d = model_dims_with(model_dims_with(DIMS_NONE, DIM_DIR, dir), DIM_VIEW,
					      sender ? MODEL_SENDER : MODEL_RECEIVER);
	const struct model_summary *s;

	if (flow >= 0)
		d = model_dims_with(d, DIM_FLOW, flow);
	s = model_find(run, metric, STAT_VALUE, &d, true);
	return s && s->state == MODEL_KNOWN ? s->value : (double)NAN;
}

static double or_zero(double v)
{
	return isnan(v) ? 0 : v;
}

bool format_iperf2_total(const struct model_run *run, int dir, bool sender, int64_t flow,
			 struct format_iperf2_row *r)
{
	double seconds = total(run, "duration", dir, sender, -1);

	*r = (struct format_iperf2_row){.bytes = total(run, "bytes", dir, sender, flow)};
	if (isnan(r->bytes))
		return false;
	if (isnan(seconds)) {
		const struct model_summary *s = model_find(run, "duration", STAT_VALUE, NULL, true);

		seconds = s ? s->value : 0;
	}
	r->t1 = seconds;
	if (!run->kind || strcmp(run->kind, "udp") != 0)
		return true;
	r->total = or_zero(total(run, "udp.datagrams", dir, sender, flow));
	if (sender)
		return true;
	r->datagrams = true;
	r->lost = or_zero(total(run, "udp.lost", dir, false, flow));
	r->total += r->lost;
	r->jitter_s = or_zero(total(run, "udp.jitter", dir, false, flow));
	r->reordered = or_zero(total(run, "udp.reordered", dir, false, flow));
	return true;
}
