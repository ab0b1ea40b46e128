/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's JSON: the same keys and types in the same places, in one document at the end or an event
 * a line. Pieces are kept compact and laid out when they are printed, so that what is printed is
 * one whole document whatever happened.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/iperf3.h"

#define MICRO 1e6

/* ---- layout ----------------------------------------------------------------------------- */

struct layout {
	struct buf *out;
	const char *p, *end;
	int depth;
};

static void skip_string(struct layout *l)
{
	const char *s = l->p++;

	while (l->p < l->end && *l->p != '"')
		l->p += *l->p == '\\' && l->p + 1 < l->end ? 2 : 1;
	if (l->p < l->end)
		l->p++;
	buf_put(l->out, s, (size_t)(l->p - s));
}

static void skip_plain(struct layout *l)
{
	const char *s = l->p;

	while (l->p < l->end && !strchr(",:]}[{\"", *l->p))
		l->p++;
	if (l->p == s)
		l->p++;
	buf_put(l->out, s, (size_t)(l->p - s));
}

static void new_line(struct layout *l)
{
	buf_putc(l->out, '\n');
	buf_repeat(l->out, '\t', (size_t)(l->depth > 0 ? l->depth : 0));
}

/* Members each have a line; elements follow each other on one. Both go one level in. */
void i3_json_pretty(struct buf *out, const char *json, size_t n)
{
	struct layout l = {.out = out, .p = json, .end = json + n};
	uint64_t arrays = 0; /* a bit a level: it is an array */

	while (l.p < l.end) {
		switch (*l.p) {
		case '{':
		case '[':
			buf_putc(out, *l.p);
			l.depth++;
			arrays = arrays << 1 | (*l.p == '[');
			if (*l.p++ == '{' && l.p < l.end && *l.p != '}')
				new_line(&l);
			break;
		case '}':
			l.depth--;
			arrays >>= 1;
			new_line(&l);
			buf_putc(out, *l.p++);
			break;
		case ']':
			l.depth--;
			arrays >>= 1;
			buf_putc(out, *l.p++);
			break;
		case ',':
			buf_putc(out, *l.p++);
			if (arrays & 1)
				buf_putc(out, ' ');
			else
				new_line(&l);
			break;
		case ':':
			buf_puts(out, ":\t");
			l.p++;
			break;
		case '"':
			skip_string(&l);
			break;
		default:
			skip_plain(&l);
			break;
		}
	}
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* A piece is the members of an object, without its braces. */
static struct jw members(struct buf *b)
{
	struct jw w = jw_init(b);

	w.depth = 1;
	w.more[1] = b->len > 0;
	return w;
}

static double micro(double s)
{
	return round(s * MICRO) / MICRO;
}

static void put_period(struct jw *j, const struct i3_fig *f)
{
	jw_f64(j, "start", micro(f->start));
	jw_f64(j, "end", micro(f->end));
	jw_f64(j, "seconds", f->end - f->start);
	jw_i64(j, "bytes", (int64_t)f->bytes);
	jw_f64(j, "bits_per_second", i3_rate(f));
}

static double lost_percent(const struct i3_fig *f)
{
	return f->packets > 0 ? 100 * f->lost / f->packets : 0;
}

static void put_lost(struct jw *j, const struct i3_fig *f)
{
	jw_f64(j, "jitter_ms", f->jitter * 1e3);
	if (f->unknown)
		jw_null(j, "lost_packets");
	else
		jw_i64(j, "lost_packets", (int64_t)f->lost);
	jw_i64(j, "packets", (int64_t)f->packets);
	if (f->unknown)
		jw_null(j, "lost_percent");
	else
		jw_f64(j, "lost_percent", lost_percent(f));
}

/* ---- start ------------------------------------------------------------------------------------ */

static void put_connected(struct i3 *w, struct jw *j)
{
	jw_arr(j, "connected");
	for (size_t i = 0; w->opened && i < w->t.n; i++) {
		const struct format_iperf3_flow *f = &w->t.flows[i];

		jw_obj(j, NULL);
		jw_i64(j, "socket", f->socket);
		jw_str(j, "local_host", f->local_host);
		jw_i64(j, "local_port", f->local_port);
		jw_str(j, "remote_host", f->remote_host);
		jw_i64(j, "remote_port", f->remote_port);
		jw_end_obj(j);
	}
	jw_end_arr(j);
	jw_str(j, "version", w->o.version);
	jw_str(j, "system_info", w->o.system_info);
}

static void put_greeting(struct i3 *w, struct jw *j)
{
	const struct format_iperf3_test *t = &w->t;
	time_t s = (time_t)(t->real_ns / NSEC_PER_SEC);
	struct tm tm;
	char text[64];

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	jw_obj(j, "timestamp");
	jw_str(j, "time", text);
	jw_i64(j, "timesecs", s);
	if (w->o.v321)
		jw_i64(j, "timemillisecs", t->real_ns / NSEC_PER_MSEC);
	jw_end_obj(j);
	jw_obj(j, w->o.server ? "accepted_connection" : "connecting_to");
	jw_str(j, "host", t->host);
	jw_i64(j, "port", t->port);
	jw_end_obj(j);
	jw_str(j, "cookie", t->cookie);
	if (!t->udp)
		jw_i64(j, t->mss ? "tcp_mss" : "tcp_mss_default", t->mss ? t->mss : t->mss_now);
	jw_u64(j, "target_bitrate", t->rate);
	if (w->o.v321)
		jw_u64(j, "fq_rate", t->fq_rate);
}

static void put_test_start(struct i3 *w, struct jw *j)
{
	const struct format_iperf3_test *t = &w->t;

	jw_u64(j, "sock_bufsize", t->window);
	jw_u64(j, "sndbuf_actual", t->sndbuf);
	jw_u64(j, "rcvbuf_actual", t->rcvbuf);
	jw_obj(j, "test_start");
	jw_str(j, "protocol", t->udp ? "UDP" : "TCP");
	jw_i64(j, "num_streams", t->streams);
	jw_i64(j, "blksize", t->blksize);
	jw_i64(j, "omit", t->omit_s);
	jw_i64(j, "duration", t->duration_s);
	jw_u64(j, "bytes", t->bytes);
	jw_u64(j, "blocks", t->blocks);
	jw_i64(j, "reverse", t->reverse);
	jw_i64(j, "tos", t->tos);
	jw_u64(j, "target_bitrate", t->rate);
	if (w->o.v321) {
		jw_i64(j, "bidir", t->bidir);
		jw_u64(j, "fqrate", t->fq_rate);
		jw_f64(j, "interval", t->interval_s);
		jw_i64(j, "gso", 0);
		jw_i64(j, "gro", 0);
	}
	jw_end_obj(j);
}

static void make_start(struct i3 *w)
{
	struct jw j;

	buf_clear(&w->start);
	j = members(&w->start);
	put_connected(w, &j);
	if (w->greeted)
		put_greeting(w, &j);
	if (w->opened)
		put_test_start(w, &j);
}

void i3_json_event(struct i3 *w, const char *name, const struct buf *data, bool text)
{
	struct jw j = jw_init(w->f.out);

	jw_obj(&j, NULL);
	jw_str(&j, "event", name);
	if (text)
		jw_str(&j, "data", data->data);
	else
		jw_raw(&j, "data", data->data ? data->data : "{}", data->data ? data->len : 2);
	jw_end_obj(&j);
	buf_putc(w->f.out, '\n');
}

/* The members as an object of their own. */
static void put_object(struct i3 *w, const char *name, const struct buf *piece)
{
	struct buf b = {0};

	buf_putc(&b, '{');
	buf_put(&b, piece->data, piece->len);
	buf_putc(&b, '}');
	i3_json_event(w, name, &b, false);
	buf_fini(&b);
}

void i3_json_greeted(struct i3 *w)
{
	make_start(w);
}

void i3_json_opened(struct i3 *w)
{
	make_start(w);
	if (w->o.mode == FORMAT_IPERF3_STREAM)
		put_object(w, "start", &w->start);
}

/* ---- intervals ------------------------------------------------------------------------------------ */

static void put_now(struct i3 *w, struct jw *j, const struct i3_fig *f, bool sender, bool sum)
{
	put_period(j, f);
	if (!w->t.udp && sender)
		jw_i64(j, "retransmits", (int64_t)f->retrans);
	if (!w->t.udp && sender && !sum) {
		jw_i64(j, "snd_cwnd", (int64_t)f->cwnd);
		jw_i64(j, "snd_wnd", (int64_t)f->snd_wnd);
		jw_i64(j, "rtt", llround(f->rtt * MICRO));
		jw_i64(j, "rttvar", llround(f->rttvar * MICRO));
		jw_i64(j, "pmtu", (int64_t)f->pmtu);
		if (w->o.v321)
			jw_i64(j, "reorder", (int64_t)f->reorder);
	}
	if (w->t.udp && sender)
		jw_i64(j, "packets", (int64_t)f->packets);
	else if (w->t.udp)
		put_lost(j, f);
	jw_bool(j, "omitted", f->omitted);
	jw_bool(j, "sender", sender);
}

static bool sends(const struct i3 *w, int dir)
{
	return (dir == MODEL_UP) == !w->o.server;
}

static void put_now_sum(struct i3 *w, struct jw *j, const char *key, int dir)
{
	struct i3_fig sum = i3_sum(w, dir, I3_NOW);

	jw_obj(j, key);
	put_now(w, j, &sum, sends(w, dir), true);
	jw_end_obj(j);
}

static void put_interval(struct i3 *w, struct jw *j)
{
	jw_obj(j, NULL);
	jw_arr(j, "streams");
	for (size_t i = 0; i < w->n; i++) {
		jw_obj(j, NULL);
		jw_i64(j, "socket", w->flows[i].id);
		put_now(w, j, &w->flows[i].now, w->flows[i].sender, false);
		jw_end_obj(j);
	}
	jw_end_arr(j);
	put_now_sum(w, j, "sum", w->t.reverse ? MODEL_DOWN : MODEL_UP);
	if (w->t.bidir)
		put_now_sum(w, j, "sum_bidir_reverse", MODEL_DOWN);
	jw_end_obj(j);
}

void i3_json_interval(struct i3 *w)
{
	bool stream = w->o.mode == FORMAT_IPERF3_STREAM;
	struct buf b = {0};
	struct jw j = jw_init(&b);

	put_interval(w, &j);
	if (stream)
		i3_json_event(w, "interval", &b, false);
	if (!stream || w->o.full) {
		if (w->intervals.len)
			buf_putc(&w->intervals, ',');
		buf_put(&w->intervals, b.data, b.len);
	}
	buf_fini(&b);
}

/* ---- end -------------------------------------------------------------------------------------------- */

static void put_tcp_stream(struct i3 *w, struct jw *j, const struct i3_flow *f)
{
	bool told = i3_knows(w, f, true);

	jw_obj(j, "sender");
	jw_i64(j, "socket", f->id);
	put_period(j, &f->sent);
	if (told) {
		jw_i64(j, "retransmits", (int64_t)f->sent.retrans);
		if (w->o.v321)
			jw_i64(j, "reorder", (int64_t)f->all.reorder);
		jw_i64(j, "max_snd_cwnd", (int64_t)f->max_cwnd);
		jw_i64(j, "max_snd_wnd", (int64_t)f->max_wnd);
		jw_i64(j, "max_rtt", llround(f->max_rtt * MICRO));
		jw_i64(j, "min_rtt", llround(f->min_rtt * MICRO));
		jw_i64(j, "mean_rtt", f->n_rtt ? llround(f->sum_rtt / f->n_rtt * MICRO) : 0);
	}
	jw_bool(j, "sender", f->sender);
	jw_end_obj(j);
	jw_obj(j, "receiver");
	jw_i64(j, "socket", f->id);
	put_period(j, &f->received);
	jw_bool(j, "sender", f->sender);
	jw_end_obj(j);
}

/* Bytes and time are the sender's, jitter and loss the receiver's. */
static struct i3_fig mixed(const struct i3_fig *sent, const struct i3_fig *received)
{
	struct i3_fig f = *received;

	f.start = sent->start;
	f.end = sent->end;
	f.bytes = sent->bytes;
	if (sent->packets > f.packets)
		f.packets = sent->packets;
	return f;
}

static void put_udp_stream(struct jw *j, const struct i3_flow *f)
{
	struct i3_fig fig = mixed(&f->sent, &f->received);

	jw_obj(j, "udp");
	jw_i64(j, "socket", f->id);
	put_period(j, &fig);
	put_lost(j, &fig);
	jw_i64(j, "out_of_order", (int64_t)f->received.ooo);
	jw_bool(j, "sender", f->sender);
	jw_end_obj(j);
}

static void put_file(struct i3 *w, struct jw *j, const struct i3_flow *f)
{
	double moved = f->sender ? f->sent.bytes : f->received.bytes;
	double size = w->t.file_size ? (double)w->t.file_size : moved;
	double share = size > 0 ? 100 * moved / size : 0;

	if (!w->t.file)
		return;
	jw_obj(j, "diskfile");
	jw_i64(j, "sent", (int64_t)f->sent.bytes);
	jw_i64(j, "received", (int64_t)f->received.bytes);
	jw_i64(j, "size", (int64_t)size);
	jw_i64(j, "percent_sent", f->sender ? llround(share) : 0);
	jw_i64(j, "percent_received", f->sender ? 0 : llround(share));
	jw_str(j, "filename", w->t.file);
	jw_end_obj(j);
}

static void put_streams(struct i3 *w, struct jw *j)
{
	jw_arr(j, "streams");
	for (size_t i = 0; i < w->n; i++) {
		jw_obj(j, NULL);
		if (w->t.udp)
			put_udp_stream(j, &w->flows[i]);
		else
			put_tcp_stream(w, j, &w->flows[i]);
		put_file(w, j, &w->flows[i]);
		jw_end_obj(j);
	}
	jw_end_arr(j);
}

static void put_tcp_sum(struct i3 *w, struct jw *j, const char *key, int dir, bool of_sender)
{
	struct i3_fig f = i3_sum(w, dir, of_sender ? I3_SENT : I3_RECEIVED);

	jw_obj(j, key);
	put_period(j, &f);
	if (of_sender && (!w->o.server || sends(w, dir)))
		jw_i64(j, "retransmits", (int64_t)f.retrans);
	jw_bool(j, "sender", sends(w, dir));
	jw_end_obj(j);
}

static void put_udp_sum(struct i3 *w, struct jw *j, const char *key, int dir, int of_sender)
{
	struct i3_fig sent = i3_sum(w, dir, I3_SENT), got = i3_sum(w, dir, I3_RECEIVED);
	struct i3_fig f = of_sender < 0 ? mixed(&sent, &got) : of_sender ? sent : got;

	if (of_sender > 0) {
		f.jitter = f.lost = 0;
		f.unknown = false;
	}
	jw_obj(j, key);
	put_period(j, &f);
	put_lost(j, &f);
	jw_bool(j, "sender", of_sender < 0 ? sends(w, dir) : of_sender > 0);
	jw_end_obj(j);
}

static void put_sums_of(struct i3 *w, struct jw *j, int dir, const char *suffix)
{
	static const struct {
		const char *key;
		int of_sender; /* -1 = both mixed: UDP's alone */
	} sums[] = {{"sum", -1}, {"sum_sent", 1}, {"sum_received", 0}};
	char key[64];

	for (size_t i = w->t.udp ? 0 : 1; i < ARRAY_LEN(sums); i++) {
		snprintf(key, sizeof(key), "%s%s", sums[i].key, suffix);
		if (w->t.udp)
			put_udp_sum(w, j, key, dir, sums[i].of_sender);
		else
			put_tcp_sum(w, j, key, dir, sums[i].of_sender);
	}
}

static void put_sums(struct i3 *w, struct jw *j)
{
	put_sums_of(w, j, w->t.reverse ? MODEL_DOWN : MODEL_UP, "");
	if (w->t.bidir)
		put_sums_of(w, j, MODEL_DOWN, "_bidir_reverse");
}

static void put_hosts(struct i3 *w, struct jw *j)
{
	static const char *const keys[2][3] = {{"host_total", "host_user", "host_system"},
					       {"remote_total", "remote_user", "remote_system"}};
	bool near_sends = w->n && (w->t.bidir || w->flows[0].sender);

	jw_obj(j, "cpu_utilization_percent");
	for (int end = 0; end < 2; end++) {
		for (int k = 0; k < 3; k++)
			jw_f64(j, keys[end][k], w->cpu[end][k]);
	}
	jw_end_obj(j);
	if (w->t.udp)
		return;
	if (w->cc[!near_sends][0])
		jw_str(j, "sender_tcp_congestion", w->cc[!near_sends]);
	if (w->cc[near_sends][0])
		jw_str(j, "receiver_tcp_congestion", w->cc[near_sends]);
}

void i3_json_report(struct i3 *w)
{
	struct jw j;

	buf_clear(&w->end);
	j = members(&w->end);
	put_streams(w, &j);
	put_sums(w, &j);
	put_hosts(w, &j);
}

/* ---- the document --------------------------------------------------------------------------------------- */

static void put_piece(struct buf *b, const char *key, const struct buf *piece, const char *around)
{
	buf_printf(b, "\"%s\":%c", key, around[0]);
	buf_put(b, piece->data, piece->len);
	buf_putc(b, around[1]);
}

static void put_text(struct jw *j, const char *key, const char *text)
{
	if (text && text[0])
		jw_str(j, key, text);
}

void format_iperf3_document(struct sink *s, struct buf *b)
{
	struct i3 *w = (struct i3 *)s;
	struct jw j;

	if (!w->start.len)
		make_start(w);
	buf_putc(b, '{');
	put_piece(b, "start", &w->start, "{}");
	buf_putc(b, ',');
	put_piece(b, "intervals", &w->intervals, "[]");
	buf_putc(b, ',');
	put_piece(b, "end", &w->end, "{}");
	j = members(b);
	put_text(&j, "title", w->o.title ? w->o.title : w->t.title);
	put_text(&j, "extra_data", w->o.extra_data ? w->o.extra_data : w->t.extra_data);
	if (w->server.len && w->server_json)
		jw_raw(&j, "server_output_json", w->server.data, w->server.len);
	else if (w->server.len)
		jw_str(&j, "server_output_text", w->server.data);
	if (w->error.len)
		jw_str(&j, "error", w->error.data);
	/* No key of this object is one of theirs: some readers look for names alone. */
	jw_obj(&j, "weir");
	jw_str(&j, "release", weir_version);
	if (w->run_id[0] && !w->o.server)
		jw_str(&j, "run", w->run_id);
	jw_end_obj(&j);
	buf_putc(b, '}');
}

static void finish_stream(struct i3 *w)
{
	if (w->error.len)
		i3_json_event(w, "error", &w->error, true);
	if (w->server.len)
		i3_json_event(w, w->server_json ? "server_output_json" : "server_output_text",
			      &w->server, !w->server_json);
	put_object(w, "end", &w->end);
}

void i3_json_finish(struct i3 *w)
{
	struct buf b = {0};

	if (w->o.mode == FORMAT_IPERF3_STREAM) {
		finish_stream(w);
		if (!w->o.full)
			return;
	}
	format_iperf3_document(&w->f.sink, &b);
	i3_json_pretty(w->f.out, b.data, b.len);
	buf_putc(w->f.out, '\n');
	buf_fini(&b);
}
