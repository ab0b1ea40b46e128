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

/* ---- rows ------------------------------------------------------------------------------ */

static void put_id(struct buf *b, const struct format_iperf2_flow *f)
{
	if (!f)
		buf_puts(b, "[SUM]");
	else if (f->star)
		buf_printf(b, "[ *%d]", f->id);
	else
		buf_printf(b, "[%3d]", f->id);
}

static void put_interval(struct buf *b, const struct format_iperf2_row *r, bool v205)
{
	if (v205)
		buf_printf(b, " %4.1f-%4.1f sec", r->t0, r->t1);
	else
		buf_printf(b, " %.4f-%.4f sec", r->t0, r->t1);
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

static void put_text_row(struct buf *b, const struct format_iperf2_opts *o,
			 const struct format_iperf2_flow *f, const struct format_iperf2_row *r)
{
	char bytes[48], rate[48];

	quantity(bytes, sizeof(bytes), r->bytes, false, o);
	quantity(rate, sizeof(rate), rate_of(r), true, o);
	put_id(b, f);
	put_interval(b, r, o->v205);
	buf_printf(b, "  %ss  %ss/sec", bytes, rate);
	if (r->datagrams)
		put_datagrams(b, r, !f, o->v205);
	buf_putc(b, '\n');
	if (!r->datagrams || r->reordered <= 0)
		return;
	put_id(b, f);
	put_interval(b, r, o->v205);
	buf_printf(b, "  %.0f datagrams received out-of-order\n", r->reordered);
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
	buf_printf(b, "%s,", text);
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

void format_iperf2_header(struct buf *b, const struct format_iperf2_opts *o, bool datagrams)
{
	if (!o->csv)
		buf_printf(b, "%s\n", datagrams ? IPERF2_HEADER_UDP : IPERF2_HEADER_TCP);
}

void format_iperf2_connected(struct buf *b, const struct format_iperf2_opts *o,
			     const struct format_iperf2_flow *f, const char *mode)
{
	if (o->csv)
		return;
	buf_printf(b, "[%3d] local %s port %u connected with %s port %u%s", f->id, f->local_host,
		   f->local_port, f->remote_host, f->remote_port, mode);
	if (!o->v205 && f->mss)
		buf_printf(b, " (icwnd/mss/irtt=%u/%u/%u)", f->cwnd, f->mss, f->rtt_us);
	buf_putc(b, '\n');
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
