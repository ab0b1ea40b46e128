/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's text, which people's eyes and programs' regular expressions know by heart: every blank
 * is where iperf3_table.h says.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/iperf3.h"
#include "format/iperf3_table.h"

#define QUANTITY 32

void i3_line(struct i3 *w, const char *fmt, ...)
{
	va_list ap;

	if (w->o.prefix)
		w->o.prefix(w->o.arg, w->f.out);
	va_start(ap, fmt);
	buf_vprintf(w->f.out, fmt, ap);
	va_end(ap);
}

void i3_quantity(char *dst, size_t cap, double v, bool bits, char letter)
{
	bool capital = letter >= 'A' && letter <= 'Z';
	double base;
	size_t i = 0, w = 0;

	if (capital) { /* a rate in bytes */
		v /= bits ? 8 : 1;
		bits = false;
		letter = (char)(letter - 'A' + 'a');
	}
	base = bits ? IPERF3_BITS_BASE : IPERF3_BYTES_BASE;
	while (i + 1 < ARRAY_LEN(iperf3_units) &&
	       (letter ? iperf3_units[i].letter != letter : fabs(v) >= base)) {
		v /= base;
		i++;
	}
	while (v >= iperf3_widths[w].below)
		w++;
	snprintf(dst, cap, "%4.*f %s", iperf3_widths[w].decimals, v,
		 bits ? iperf3_units[i].bits : iperf3_units[i].bytes);
}

/* ---- the start -------------------------------------------------------------------------- */

static void put_verbose(struct i3 *w)
{
	const struct format_iperf3_test *t = &w->t;

	i3_line(w, "      Cookie: %s\n", t->cookie ? t->cookie : "");
	if (!t->udp && t->mss)
		i3_line(w, "      TCP MSS: %lld\n", (long long)t->mss);
	else if (!t->udp)
		i3_line(w, "      TCP MSS: %lld (default)\n", (long long)t->mss_now);
	if (t->rate)
		i3_line(w, "      Target Bitrate: %llu\n", (unsigned long long)t->rate);
}

static void put_time(struct i3 *w)
{
	time_t s = (time_t)(w->t.real_ns / NSEC_PER_SEC);
	struct tm tm;
	char text[64];

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	i3_line(w, "Time: %s\n", text);
}

void i3_text_greeted(struct i3 *w)
{
	const struct format_iperf3_test *t = &w->t;

	if (w->o.verbose && !w->o.server) {
		i3_line(w, "Control connection MSS %lld\n", (long long)t->mss_now);
		if (t->udp && t->blksize == t->mss_now)
			i3_line(w, "Setting UDP block size to %lld\n", (long long)t->blksize);
	}
	if (w->o.verbose)
		put_time(w);
	if (w->o.server)
		i3_line(w, "Accepted connection from %s, port %u\n", t->host, t->port);
	else
		i3_line(w, "Connecting to host %s, port %u\n", t->host, t->port);
	if (!w->o.server && t->reverse)
		i3_line(w, "Reverse mode, remote host %s is sending\n", t->host);
	if (w->o.verbose)
		put_verbose(w);
}

static const char *end_of(const struct i3 *w, char *dst, size_t cap)
{
	const struct format_iperf3_test *t = &w->t;

	if (t->bytes)
		snprintf(dst, cap, "%llu bytes to send", (unsigned long long)t->bytes);
	else if (t->blocks)
		snprintf(dst, cap, "%llu blocks to send", (unsigned long long)t->blocks);
	else
		snprintf(dst, cap, "%lld second test", (long long)t->duration_s);
	return dst;
}

/* -d: of each stream. */
static void put_socket_words(struct i3 *w, bool sends)
{
	const struct format_iperf3_test *t = &w->t;
	unsigned long long window = t->window;

	buf_printf(w->f.out, "SNDBUF is %llu, expecting %llu\nRCVBUF is %llu, expecting %llu\n",
		   (unsigned long long)t->sndbuf, window, (unsigned long long)t->rcvbuf, window);
	if (t->rate && sends)
		buf_printf(w->f.out, "Setting application pacing to %llu\n",
			   (unsigned long long)t->rate / 8);
	if (t->cc[0])
		buf_printf(w->f.out, "Congestion algorithm is %s\n", t->cc);
}

void i3_text_opened(struct i3 *w)
{
	const struct format_iperf3_test *t = &w->t;
	char end[64];

	for (size_t i = 0; i < t->n; i++) {
		const struct format_iperf3_flow *f = &t->flows[i];

		if (w->o.debug)
			put_socket_words(w, w->flows[i].sender);
		i3_line(w, IPERF3_ID " local %s port %u connected to %s port %u\n", f->socket,
			f->local_host, f->local_port, f->remote_host, f->remote_port);
	}
	if (w->o.verbose)
		i3_line(w,
			"Starting Test: protocol: %s, %lld streams, %lld byte blocks, omitting "
			"%lld seconds, %s, tos %lld\n",
			t->udp ? "UDP" : "TCP", (long long)t->streams, (long long)t->blksize,
			(long long)t->omit_s, end_of(w, end, sizeof(end)), (long long)t->tos);
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct row {
	enum iperf3_row kind;
	enum iperf3_mark mark;
	int id, dir; /* id -1 = the sum */
	bool sender;
};

static void put_role(struct buf *b, const struct i3 *w, bool sender)
{
	if (w->t.bidir)
		buf_printf(b, IPERF3_ROLE, sender ? "TX" : "RX", w->o.server ? 'S' : 'C');
}

static void put_lost(struct buf *b, const struct i3_fig *f)
{
	double share = f->packets > 0 ? 100 * f->lost / f->packets : 0;

	if (f->unknown)
		buf_printf(b, "Unknown/%.0f", f->packets);
	else
		buf_printf(b, "%.0f/%.0f (%.2g%%)", f->lost, f->packets, share);
}

static void put_number(struct buf *b, const struct iperf3_col *c, double v)
{
	const struct iperf3_form *f = &iperf3_forms[c->field];

	buf_printf(b, "%*.*f%s", f->width, f->decimals, v, f->unit);
}

static void put_col(struct buf *b, const struct iperf3_col *c, const struct i3_fig *f,
		    enum iperf3_mark mark)
{
	char q[QUANTITY];

	buf_repeat(b, ' ', c->gap);
	switch ((enum iperf3_field)c->field) {
	case IPERF3_F_NONE:
		break;
	case IPERF3_F_RETR:
		put_number(b, c, f->retrans);
		break;
	case IPERF3_F_CWND:
		i3_quantity(q, sizeof(q), f->cwnd, false, 0);
		buf_puts(b, q);
		break;
	case IPERF3_F_COUNT:
		put_number(b, c, f->packets);
		break;
	case IPERF3_F_JITTER:
		put_number(b, c, f->jitter * 1e3);
		break;
	case IPERF3_F_LOST:
		put_lost(b, f);
		break;
	case IPERF3_F_MARK:
		buf_puts(b, iperf3_marks[mark]);
		break;
	}
}

static void put_row(struct i3 *w, const struct row *r, const struct i3_fig *f)
{
	char transfer[QUANTITY], rate[QUANTITY];
	struct buf b = {0};

	i3_quantity(transfer, sizeof(transfer), f->bytes, false, 0);
	i3_quantity(rate, sizeof(rate), i3_rate(f), true, w->o.unit);
	if (r->id < 0)
		buf_puts(&b, IPERF3_SUM);
	else
		buf_printf(&b, IPERF3_ID, r->id);
	put_role(&b, w, r->sender);
	buf_printf(&b, IPERF3_TIME IPERF3_TRANSFER IPERF3_BITRATE, f->start, f->end, transfer,
		   rate);
	for (size_t i = 0; i < IPERF3_COLS; i++)
		put_col(&b, &iperf3_rows[r->kind][i], f, r->mark);
	if (!b.failed)
		i3_line(w, "%s\n", b.data);
	buf_fini(&b);
}

static void put_head(struct i3 *w, enum iperf3_head h)
{
	i3_line(w, "%s" IPERF3_HEAD "%s\n", w->t.bidir ? IPERF3_HEAD_BIDIR : IPERF3_HEAD_ID,
		iperf3_heads[h]);
}

/* ---- intervals -------------------------------------------------------------------------------- */

static bool any_sender(const struct i3 *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->flows[i].sender)
			return true;
	}
	return false;
}

static enum iperf3_head interval_head(const struct i3 *w)
{
	if (w->t.udp)
		return w->t.bidir || !any_sender(w) ? IPERF3_HEAD_UDP : IPERF3_HEAD_UDP_SENDS;
	return any_sender(w) ? IPERF3_HEAD_TCP_SENDS : IPERF3_HEAD_RECEIVES;
}

static enum iperf3_row interval_row(const struct i3 *w, bool sender, bool sum)
{
	if (w->t.udp && sender)
		return w->t.bidir ? IPERF3_UDP_SENDS_BIDIR : IPERF3_UDP_SENDS;
	if (w->t.udp)
		return IPERF3_UDP_RECEIVES;
	if (sender)
		return sum ? IPERF3_TCP_SENDS_SUM : IPERF3_TCP_SENDS;
	return IPERF3_TCP_RECEIVES;
}

static void interval_rows(struct i3 *w, int dir)
{
	struct row r = {.id = -1, .dir = dir};
	struct i3_fig sum;

	for (size_t i = 0; i < w->n; i++) {
		const struct i3_flow *f = &w->flows[i];

		if (f->dir != dir)
			continue;
		r.id = f->id;
		r.sender = f->sender;
		r.mark = f->now.omitted ? IPERF3_OMITTED : IPERF3_PLAIN;
		r.kind = interval_row(w, f->sender, false);
		put_row(w, &r, &f->now);
	}
	if (i3_of_dir(w, dir) < 2)
		return;
	sum = i3_sum(w, dir, I3_NOW);
	r.id = -1;
	r.kind = interval_row(w, r.sender, true);
	put_row(w, &r, &sum);
}

/* -d: what the rows are made of. */
static void put_interval_words(struct i3 *w)
{
	double mss = (double)w->t.data_mss;

	for (size_t i = 0; i < w->n; i++) {
		const struct i3_fig *f = &w->flows[i].now;

		if (!w->t.udp && mss > 0)
			buf_printf(w->f.out, "tcpi_snd_cwnd %.0f tcpi_snd_mss %.0f tcpi_rtt %.0f\n",
				   f->cwnd / mss, mss, f->rtt * 1e6);
		buf_printf(w->f.out,
			   "interval_len %f bytes_transferred %.0f\ninterval forces keep\n",
			   f->end - f->start, f->bytes);
	}
}

void i3_text_interval(struct i3 *w)
{
	if (w->o.debug)
		put_interval_words(w);
	if (!w->headed)
		put_head(w, interval_head(w));
	else if (w->t.streams > 1)
		i3_line(w, IPERF3_RULE "\n");
	w->headed = true;
	interval_rows(w, MODEL_UP);
	interval_rows(w, MODEL_DOWN);
}

/* ---- the summary ---------------------------------------------------------------------------------- */

static enum iperf3_row summary_row(const struct i3 *w, bool of_sender, bool sum)
{
	if (w->t.udp)
		return IPERF3_UDP_ENDED;
	if (!of_sender)
		return IPERF3_TCP_RECEIVED;
	if (sum)
		return IPERF3_TCP_SENT_SUM;
	return w->o.v321 ? IPERF3_TCP_SENT_321 : IPERF3_TCP_SENT;
}

static void summary_pair(struct i3 *w, const struct i3_flow *f, const struct i3_fig *sum_sent,
			 const struct i3_fig *sum_received)
{
	struct row r = {.id = sum_sent ? -1 : f->id, .dir = f->dir, .sender = f->sender};

	for (int of_sender = 1; of_sender >= 0; of_sender--) {
		r.mark = of_sender ? IPERF3_SENDER : IPERF3_RECEIVER;
		r.kind = summary_row(w, of_sender, sum_sent != NULL);
		if (i3_knows(w, f, of_sender))
			put_row(w, &r,
				sum_sent ? (of_sender ? sum_sent : sum_received)
					 : i3_fig(f, of_sender ? I3_SENT : I3_RECEIVED));
		else if (w->o.verbose && sum_sent && !w->t.udp)
			i3_line(w, IPERF3_SUM " (%s statistics not available)\n",
				of_sender ? "sender" : "receiver");
		else if (w->o.verbose && !sum_sent)
			i3_line(w, IPERF3_ID " (%s statistics not available)\n", f->id,
				of_sender ? "sender" : "receiver");
	}
}

static void put_out_of_order(struct i3 *w, const struct i3_flow *f)
{
	struct buf role = {0};

	if (!w->t.udp || f->sender || f->received.ooo <= 0)
		return;
	put_role(&role, w, f->sender);
	i3_line(w, IPERF3_SUM "%s %4.1f-%4.1f sec  %.0f datagrams received out-of-order\n",
		role.data ? role.data : "", f->received.start, f->received.end, f->received.ooo);
	buf_fini(&role);
}

static void summary_rows(struct i3 *w, int dir)
{
	const struct i3_flow *any = NULL;

	for (size_t i = 0; i < w->n; i++) {
		if (w->flows[i].dir != dir)
			continue;
		any = &w->flows[i];
		summary_pair(w, any, NULL, NULL);
		put_out_of_order(w, any);
	}
	if (any && i3_of_dir(w, dir) > 1) {
		struct i3_fig sent = i3_sum(w, dir, I3_SENT), got = i3_sum(w, dir, I3_RECEIVED);

		summary_pair(w, any, &sent, &got);
	}
}

static void put_file_line(struct i3 *w)
{
	struct i3_fig sum = {0};
	char moved[QUANTITY], size[QUANTITY];
	bool sends = any_sender(w);
	double whole;

	if (!w->t.file)
		return;
	for (size_t i = 0; i < w->n; i++)
		sum.bytes += sends ? w->flows[i].sent.bytes : w->flows[i].received.bytes;
	/* A file that is made here is as large as what came. */
	whole = sends ? (double)w->t.file_size * (double)w->t.streams : sum.bytes;
	i3_quantity(moved, sizeof(moved), sum.bytes, false, 0);
	i3_quantity(size, sizeof(size), whole, false, 0);
	i3_line(w, "        %s %s / %s (%.0f%%) of %s\n", sends ? "Sent" : "Received", moved, size,
		whole > 0 ? 100 * sum.bytes / whole : 0.0, w->t.file);
}

static void put_cpu(struct i3 *w, bool sends)
{
	i3_line(w,
		"CPU Utilization: %s/%s %.1f%% (%.1f%%u/%.1f%%s), %s/%s %.1f%% "
		"(%.1f%%u/%.1f%%s)\n",
		"local", sends ? "sender" : "receiver", w->cpu[0][0], w->cpu[0][1], w->cpu[0][2],
		"remote", sends ? "receiver" : "sender", w->cpu[1][0], w->cpu[1][1], w->cpu[1][2]);
}

static void put_congestion(struct i3 *w, bool sends)
{
	const char *snd = w->cc[sends ? 0 : 1], *rcv = w->cc[sends ? 1 : 0];

	if (snd[0] && (sends || !w->o.server))
		i3_line(w, "snd_tcp_congestion %s\n", snd);
	if (rcv[0] && (!sends || !w->o.server))
		i3_line(w, "rcv_tcp_congestion %s\n", rcv);
}

/* With -V, after a direction's rows; the processors are told with what this end sends. */
static void summary_words(struct i3 *w, int dir)
{
	bool sends = (dir == MODEL_UP) == !w->o.server;

	if (!w->o.verbose || !i3_of_dir(w, dir))
		return;
	if (sends || (!w->o.server && !w->t.bidir))
		put_cpu(w, sends);
	if (sends && w->t.bidir)
		put_cpu(w, false);
	if (!w->t.udp)
		put_congestion(w, sends);
}

static enum iperf3_head summary_head(const struct i3 *w)
{
	if (w->t.udp)
		return IPERF3_HEAD_UDP;
	return w->o.server && !any_sender(w) ? IPERF3_HEAD_RECEIVES : IPERF3_HEAD_TCP_SUMMARY;
}

void i3_text_report(struct i3 *w)
{
	i3_line(w, IPERF3_RULE "\n");
	if (w->o.verbose)
		i3_line(w, "Test Complete. Summary Results:\n");
	put_head(w, summary_head(w));
	summary_rows(w, MODEL_UP);
	summary_words(w, MODEL_UP);
	summary_rows(w, MODEL_DOWN);
	summary_words(w, MODEL_DOWN);
	put_file_line(w);
}
