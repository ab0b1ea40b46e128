/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's JSON in all its states: whole, several after each other, as a stream of events, without
 * head or tail, edited by hand. The members of each object are collected; when it closes, its key and
 * the section it is in say what it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

/* ---- what an object may hold ---- */

enum member {
	M_START,
	M_END,
	M_SECONDS,
	M_BYTES,
	M_BPS,
	M_RETR,
	M_CWND,
	M_MAX_CWND,
	M_RTT,
	M_RTTVAR,
	M_MIN_RTT,
	M_MEAN_RTT,
	M_MAX_RTT,
	M_PMTU,
	M_JITTER,
	M_LOST,
	M_PACKETS,
	M_OUT_OF_ORDER,
	M_OMITTED,
	M_SENDER,
	M_SOCKET,
	M_NUM
};
static const char *const members[M_NUM] = {
	"start",    "end",          "seconds",   "bytes",        "bits_per_second", "retransmits",
	"snd_cwnd", "max_snd_cwnd", "rtt",       "rttvar",       "min_rtt",         "mean_rtt",
	"max_rtt",  "pmtu",         "jitter_ms", "lost_packets", "packets",         "out_of_order",
	"omitted",  "sender",       "socket",
};
struct object {
	double v[M_NUM];
	bool any;
};

enum section { IN_NOTHING, IN_START, IN_INTERVALS, IN_END };
#define SOCKETS 256
struct doc {
	struct format_found *f;
	struct json_scan s;
	struct object o[JSON_LEVELS + 1]; /* of each depth */
	enum section section;
	bool stream, over; /* json-stream; its end event came */
	bool udp, client, server, reverse, bidir, has_start, has_sums, error;
	bool ours; /* something only iperf3 prints was there */
	double socket[SOCKETS];
	size_t sockets;
	struct object last_end; /* "sum" of UDP */
	double cpu[2], bytes, seconds, retr, lost, total;
	double took[2][2];        /* of each direction, of each end: seconds; 0 = not told */
	double intended, streams; /* -b of each */
	size_t n, zero;
};

enum { COL_GOODPUT, COL_SENT, COL_BYTES, COL_A, COL_B, COL_C, COL_D, COL_E };
static const char *const tcp_cols[] = {"goodput",         "throughput.sent", "bytes",
				       "tcp.retransmits", "tcp.cwnd",        "tcp.rtt",
				       "tcp.rttvar",      "tcp.pmtu"};
static const char *const udp_cols[] = {"goodput",       "throughput.sent", "bytes",
				       "udp.jitter",    "udp.lost",        "udp.loss",
				       "udp.datagrams", "udp.reordered"};

static void clear(struct object *o)
{
	for (size_t i = 0; i < M_NUM; i++)
		o->v[i] = UNSET;
	o->any = false;
}

static int flow(struct doc *d, double socket)
{
	for (size_t i = 0; i < d->sockets; i++)
		if (fabs(d->socket[i] - socket) < 0.5)
			return (int)i;
	if (isnan(socket) || d->sockets == SOCKETS)
		return -1;
	d->socket[d->sockets] = socket;
	return (int)d->sockets++;
}

/* ---- figures ---- */

static double rate_of(const struct object *o, bool cut)
{
	double t = o->v[M_SECONDS] > 0 ? o->v[M_SECONDS] : o->v[M_END] - o->v[M_START];

	/* A number that ends with the text may have lost digits. */
	if ((cut || isnan(o->v[M_BPS])) && t > 0 && !isnan(o->v[M_BYTES]))
		return o->v[M_BYTES] * 8 / t;
	return o->v[M_BPS];
}

static void put(struct doc *d, const char *metric, enum model_stat stat, struct model_dims dims,
		double v, double step)
{
	found_fig(d->f, metric, stat, dims, v, step);
}

static void put_end(struct doc *d, const struct object *o, int dir, int view, int fl)
{
	struct model_dims k = found_dims(dir, view, fl);
	double seconds = o->v[M_SECONDS] > 0 ? o->v[M_SECONDS] : o->v[M_END] - o->v[M_START];

	if (view == MODEL_SENDER && d->server && !d->reverse && o->v[M_BYTES] <= 0) {
		found_unknown(d->f, "throughput.sent", k);
		return;
	}
	put(d, view == MODEL_SENDER ? "throughput.sent" : "goodput", STAT_VALUE, k,
	    rate_of(o, d->s.cut), 0);
	if (d->s.cut || isnan(o->v[M_BPS]))
		found_prov(d->f, MODEL_DERIVED);
	put(d, "bytes", STAT_VALUE, k, o->v[M_BYTES], 1);
	/* Some versions divide by the end, some by "seconds". */
	if (!(fabs(o->v[M_BYTES] * 8 / (o->v[M_END] - o->v[M_START]) / o->v[M_BPS] - 1) < 1e-3))
		found_check_rate(d->f, o->v[M_BYTES], 1, seconds, seconds * 1e-3, o->v[M_BPS],
				 o->v[M_BPS] * 1e-4);
	if (view == MODEL_SENDER) {
		if (o->v[M_RETR] < 0)
			found_unknown(d->f, "tcp.retransmits", k);
		else
			put(d, "tcp.retransmits", STAT_VALUE, k, o->v[M_RETR], 1);
		put(d, "tcp.cwnd", STAT_MAX, k, o->v[M_MAX_CWND], 1);
		put(d, "tcp.rtt", STAT_MIN, k, o->v[M_MIN_RTT] / 1e6, 1e-6);
		put(d, "tcp.rtt", STAT_MEAN, k, o->v[M_MEAN_RTT] / 1e6, 1e-6);
		put(d, "tcp.rtt", STAT_MAX, k, o->v[M_MAX_RTT] / 1e6, 1e-6);
	}
	if (fl < 0 || !(d->seconds > 0))
		d->seconds = seconds > 0 ? seconds : d->seconds;
	if (fl < 0 && seconds > 0)
		d->took[dir == MODEL_DOWN][view == MODEL_RECEIVER] = seconds;
	if (seconds > 0 && seconds < 0.995 && fl < 0)
		found_warn(d->f, WARN_SHORT_RUN, "%.3g s", seconds);
	found_mark(d->f, (uint64_t)(o->v[M_BYTES] > 0 ? o->v[M_BYTES] : 0));
}

static void put_loss(struct doc *d, const struct object *o, int dir, int fl)
{
	struct model_dims k = found_dims(dir, MODEL_RECEIVER, fl);

	if (isnan(o->v[M_JITTER]))
		return;
	put(d, "udp.jitter", STAT_VALUE, k, o->v[M_JITTER] / 1e3, 0);
	put(d, "udp.lost", STAT_VALUE, k, o->v[M_LOST], 1);
	put(d, "udp.reordered", STAT_VALUE, k, o->v[M_OUT_OF_ORDER], 1);
	found_ext(d->f, "ext.udp.total", UNIT_NONE, STAT_VALUE, k, o->v[M_PACKETS], 1);
	if (o->v[M_PACKETS] > 0) {
		put(d, "udp.loss", STAT_VALUE, k, o->v[M_LOST] / o->v[M_PACKETS], 0);
		found_prov(d->f, MODEL_DERIVED);
	}
}

static bool known_jitter(struct doc *d, struct object *o)
{
	if (o->v[M_JITTER] / 1e3 <= o->v[M_SECONDS] || isnan(o->v[M_JITTER]))
		return true;
	if (!found_warned(d->f, WARN_UNAVAILABLE))
		found_warn(d->f, WARN_UNAVAILABLE, "a jitter of %.3g ms in %.3g s", o->v[M_JITTER],
			   o->v[M_SECONDS]);
	o->v[M_JITTER] = UNSET;
	return false;
}

/* ---- intervals ---- */

/* The view of one interval: the streams say since 3.7 who they are; else what is counted tells. */
static int interval_view(const struct doc *d, const struct object *o, bool back)
{
	bool sends = o->v[M_SENDER] > 0;

	if (isnan(o->v[M_SENDER])) {
		if (!isnan(o->v[M_RETR]) || !isnan(o->v[M_CWND]))
			return MODEL_SENDER;
		if (!isnan(o->v[M_JITTER]))
			return MODEL_RECEIVER;
		if (!d->client && !d->server)
			return !isnan(o->v[M_PACKETS]) ? MODEL_SENDER : -1;
		sends = (d->client != d->reverse) != back;
	}
	return sends ? MODEL_SENDER : MODEL_RECEIVER;
}

static void put_interval(struct doc *d, struct object *o, int fl, bool back)
{
	int view = interval_view(d, o, back);
	double rate = rate_of(o, d->s.cut && d->s.last);
	double t1 = o->v[M_END] > 0 ? o->v[M_END] : o->v[M_START] + o->v[M_SECONDS];
	struct found_row *r;

	if (view < 0 && d->s.cut && d->f->n_row)
		view = d->f->row[d->f->n_row - 1].view; /* what tells it was cut off */
	if (isnan(o->v[M_START]) || !(t1 > o->v[M_START]) || t1 > 1e8 || isnan(rate))
		return;
	d->udp = d->udp || !isnan(o->v[M_PACKETS]); /* a piece without its head */
	known_jitter(d, o);
	r = found_row(d->f, o->v[M_START], t1);
	if (!r)
		return;
	if (d->client || d->server)
		r->dir = (view == MODEL_SENDER) == d->client ? MODEL_UP : MODEL_DOWN;
	r->view = view;
	r->flow = fl;
	r->flags = o->v[M_OMITTED] > 0 ? ROW_OMITTED : 0;
	r->v[view == MODEL_SENDER ? COL_SENT : COL_GOODPUT] = rate;
	r->v[COL_BYTES] = o->v[M_BYTES];
	if (d->udp) {
		r->v[COL_A] = o->v[M_JITTER] / 1e3;
		r->v[COL_B] = o->v[M_LOST];
		r->v[COL_C] = o->v[M_PACKETS] > 0 ? o->v[M_LOST] / o->v[M_PACKETS] : UNSET;
		r->v[COL_D] = o->v[M_PACKETS];
		r->v[COL_E] = o->v[M_OUT_OF_ORDER];
	} else {
		r->v[COL_A] = o->v[M_RETR] < 0 ? UNSET : o->v[M_RETR];
		r->v[COL_B] = o->v[M_CWND] > 0 ? o->v[M_CWND] : UNSET;
		r->v[COL_C] = o->v[M_RTT] / 1e6;
		r->v[COL_D] = o->v[M_RTTVAR] / 1e6;
		r->v[COL_E] = o->v[M_PMTU] > 0 ? o->v[M_PMTU] : UNSET;
	}
}

/* ---- objects ---- */

static bool named(const struct doc *d, const struct json_key *k, const char *name)
{
	return json_is(&d->s, k, name);
}

/* Is there such a key around? */
static bool inside(const struct doc *d, const char *name)
{
	for (size_t i = 0; i < d->s.depth; i++)
		if (named(d, &d->s.level[i], name))
			return true;
	return false;
}

static int up(const struct doc *d)
{
	return d->reverse ? MODEL_DOWN : d->has_start || d->client || d->server ? MODEL_UP : -1;
}

static int other(int dir)
{
	return dir < 0 ? -1 : !dir;
}

static void end_object(struct doc *d, const struct json_key *k, struct object *o)
{
	bool back = k->to > k->from && lex_starts(d->s.l, k->from, "sum") &&
		    d->s.l->tok[k->from].len > 12; /* sum_sent_bidir_reverse */
	int dir = back ? other(up(d)) : up(d);

	if (named(d, k, "sender") || named(d, k, "receiver")) {
		bool down = d->bidir && o->v[M_SENDER] <= 0;

		put_end(d, o, down ? other(dir) : dir,
			named(d, k, "sender") ? MODEL_SENDER : MODEL_RECEIVER,
			flow(d, o->v[M_SOCKET]));
	} else if (lex_starts(d->s.l, k->from, "sum_sent") && k->to > k->from) {
		d->has_sums = true;
		put_end(d, o, dir, MODEL_SENDER, -1);
	} else if (lex_starts(d->s.l, k->from, "sum_received") && k->to > k->from) {
		d->has_sums = true;
		put_end(d, o, dir, MODEL_RECEIVER, -1);
		known_jitter(d, o);
		put_loss(d, o, dir, -1);
	} else if (named(d, k, "sum")) {
		d->last_end = *o;
	} else if (named(d, k, "udp")) {
		d->udp = true;
	}
}

static void close_object(struct doc *d, const struct json_key *k, struct object *o)
{
	bool streams = d->s.depth && named(d, &d->s.level[d->s.depth - 1], "streams");

	if (!o->any)
		return;
	if (d->section == IN_END && !inside(d, "intervals")) {
		end_object(d, k, o);
		return;
	}
	if (named(d, k, "sum") || named(d, k, "sum_bidir_reverse"))
		put_interval(d, o, -1, !named(d, k, "sum"));
	else if (streams || (isnan(o->v[M_SOCKET]) == 0 && !isnan(o->v[M_BPS])))
		put_interval(d, o, flow(d, o->v[M_SOCKET]), false);
}

/* ---- values ---- */

static void text_of(const struct doc *d, char *dst, size_t cap)
{
	json_text(&d->s, d->s.from, d->s.to, dst, cap);
}

static void start_value(struct doc *d)
{
	const struct json_scan *s = &d->s;
	char text[32];

	if (named(d, &s->key, "version")) {
		text_of(d, text, sizeof(text));
		d->ours = d->ours || !strncmp(text, "iperf", 5);
		snprintf(d->f->version, sizeof(d->f->version), "%s",
			 strncmp(text, "iperf ", 6) ? text : text + 6);
		if (!strncmp(text, "iperf ", 6) && text[6] != '3')
			found_warn(d->f, WARN_VERSION, "%s", text);
	} else if (named(d, &s->key, "protocol")) {
		text_of(d, text, sizeof(text));
		d->udp = !strcmp(text, "UDP");
	} else if (named(d, &s->key, "reverse")) {
		d->reverse = s->num > 0;
	} else if (named(d, &s->key, "bidir")) {
		d->bidir = s->num > 0;
	} else if (named(d, &s->key, "timesecs")) {
		d->f->start_s = s->num;
	} else if (named(d, &s->key, "local_port") || named(d, &s->key, "remote_port")) {
		found_mark(d->f, (uint64_t)(s->num > 0 ? s->num : 0));
	} else if (named(d, &s->key, "num_streams") && s->num > 1) {
		put(d, "flows", STAT_VALUE, DIMS_NONE, s->num, 1);
		d->streams = s->num;
	} else if (named(d, &s->key, "target_bitrate") && s->num > 0 &&
		   !found_warned(d->f, WARN_RATE_LIMITED)) {
		found_warn(d->f, WARN_RATE_LIMITED, "%.4g Mbit/s", s->num / 1e6);
		d->intended = s->num;
	}
}

static void event_value(struct doc *d)
{
	char text[32];

	text_of(d, text, sizeof(text));
	d->stream = d->ours = true;
	d->section = !strcmp(text, "start")      ? IN_START
		     : !strcmp(text, "interval") ? IN_INTERVALS
		     : !strcmp(text, "end")      ? IN_END
						 : IN_NOTHING;
	d->error = !strcmp(text, "error");
	d->over = d->over || d->section == IN_END;
}

static void take_error(struct doc *d)
{
	char text[200];

	text_of(d, text, sizeof(text));
	d->f->partial = true;
	found_warn(d->f, WARN_INCOMPLETE, "%s", text);
}

static void take_value(struct doc *d)
{
	const struct json_scan *s = &d->s;
	struct object *o = &d->o[s->depth];

	if (named(d, &s->key, "event") && s->string) {
		event_value(d);
		return;
	}
	if (named(d, &s->key, "error") || (d->error && named(d, &s->key, "data"))) {
		take_error(d);
		return;
	}
	if (named(d, &s->key, "host_total") || named(d, &s->key, "remote_total")) {
		d->cpu[named(d, &s->key, "remote_total")] = s->num / 100;
		d->ours = true;
		return;
	}
	if (named(d, &s->key, "sender_tcp_congestion") && s->string) {
		char text[32];

		text_of(d, text, sizeof(text));
		found_param(d->f, "congestion", "%s", text);
		return;
	}
	for (size_t i = 0; i < M_NUM; i++) {
		if (isnan(s->num) || !named(d, &s->key, members[i]))
			continue;
		o->v[i] = s->num; /* of a key that is there twice the last one */
		o->any = true;
		d->ours = d->ours || i == M_BPS;
		return;
	}
	if (d->section != IN_INTERVALS)
		start_value(d);
}

static void take_open(struct doc *d)
{
	const struct json_key *k = &d->s.key;

	clear(&d->o[d->s.depth]);
	if (named(d, k, "connecting_to"))
		d->client = true;
	else if (named(d, k, "accepted_connection"))
		d->server = true;
	else if (named(d, k, "start") && d->s.depth <= 2)
		d->section = IN_START;
	else if (named(d, k, "intervals"))
		d->section = IN_INTERVALS;
	else if (named(d, k, "end") && k->to > k->from)
		d->section = IN_END;
	d->has_start = d->has_start || named(d, k, "test_start");
	if (named(d, k, "udp"))
		d->udp = true;
}

/* ---- the whole ---- */

/* UDP before 3.2: one sum with the sender's rate and the receiver's losses. */
static void old_udp(struct doc *d)
{
	struct object *o = &d->last_end;

	if (isnan(o->v[M_BPS]) || d->has_sums)
		return;
	put_end(d, o, up(d), MODEL_SENDER, -1);
	known_jitter(d, o);
	put_loss(d, o, up(d), -1);
}

static bool has(const struct format_found *f, const char *metric)
{
	for (size_t i = 0; i < f->n_fig; i++)
		if (!strcmp(f->fig[i].metric, metric) && !(f->fig[i].dims.has >> DIM_FLOW & 1))
			return true;
	return false;
}

/* Rows of the whole: the sums, or those of the only stream. */
static bool whole(const struct doc *d, const struct found_row *r, bool sums)
{
	return sums ? r->flow < 0 : d->sockets <= 1;
}

static void sum_up(struct doc *d)
{
	struct format_found *f = d->f;
	double bits = 0, seconds = 0, retr = 0, first = 0, last = 0;
	bool sums = false;
	const struct found_row *one = NULL;

	for (size_t i = 0; i < f->n_row; i++)
		sums = sums || f->row[i].flow < 0;
	for (size_t i = 0; i < f->n_row; i++) {
		const struct found_row *r = &f->row[i];
		double t = (double)(r->t1 - r->t0) / 1e9;
		double rate = isnan(r->v[COL_SENT]) ? r->v[COL_GOODPUT] : r->v[COL_SENT];

		if (r->flags & ROW_OMITTED || (!whole(d, r, sums) && !(r->t1 > last * 1e9)))
			continue;
		if (one && (one->view != r->view || r->t0 < llround(last * 1e9) - 1000))
			continue; /* the other direction, or a stream of the same time */
		first = one ? first : (double)r->t0 / 1e9;
		one = r;
		bits += rate * t;
		seconds += t;
		retr += d->udp ? 0 : r->v[COL_A];
		last = (double)r->t1 / 1e9;
		d->n++;
		d->zero += rate <= 0;
	}
	if (d->zero)
		found_warn(f, WARN_STALL, "%zu of %zu intervals", d->zero, d->n);
	if (!one || !(seconds > 0) || has(f, "goodput") || has(f, "throughput.sent") ||
	    (d->sockets > 1 && !sums))
		return;
	put(d, one->view == MODEL_SENDER ? "throughput.sent" : "goodput", STAT_VALUE,
	    found_dims(one->dir, one->view, -1), bits / seconds, 0);
	found_prov(f, first > 0 ? MODEL_PARTIAL : MODEL_DERIVED);
	put(d, "tcp.retransmits", STAT_VALUE, found_dims(one->dir, one->view, -1),
	    one->view == MODEL_SENDER && !d->udp ? retr : UNSET, 1);
	d->seconds = seconds;
	f->partial = true;
	if (!found_warned(f, WARN_TRUNCATED))
		found_warn(f, WARN_TRUNCATED, "no result is in it; derived from %zu interval%s",
			   d->n, d->n == 1 ? "" : "s");
}

/* The only stream is the whole: what is told twice is kept once, the rest is the whole's. */
static void merge_stream(struct doc *d)
{
	const uint32_t flow_bit = 1u << DIM_FLOW;
	struct format_found *f = d->f;
	size_t n = 0;

	for (size_t i = 0; i < f->n_fig; i++) {
		struct found_fig g = f->fig[i];
		bool twice = false;

		for (size_t k = 0; g.dims.has & flow_bit && k < f->n_fig && !twice; k++) {
			const struct found_fig *o = &f->fig[k];
			struct model_dims with =
				model_dims_with(o->dims, DIM_FLOW, g.dims.v[DIM_FLOW]);

			twice = !(o->dims.has & flow_bit) && o->stat == g.stat &&
				!strcmp(o->metric, g.metric) && model_dims_equal(&with, &g.dims);
		}
		g.dims.has &= ~flow_bit;
		if (!twice)
			f->fig[n++] = g;
	}
	f->n_fig = n;
}

static void put_cpu(struct doc *d)
{
	for (int k = 0; k < 2; k++) {
		struct model_dims e =
			model_dims_with(DIMS_NONE, DIM_END, k ? MODEL_FAR : MODEL_NEAR);

		if (d->cpu[k] > 0)
			put(d, "cpu.total", STAT_VALUE, e, d->cpu[k], 1e-6);
		else if (!isnan(d->cpu[k]))
			found_unknown(d->f, "cpu.total", e);
	}
	if (d->cpu[0] > 0.95 || d->cpu[1] > 0.95)
		found_warn(d->f, WARN_CPU_BOUND, "%.0f %% here, %.0f %% there", d->cpu[0] * 100,
			   fmax(d->cpu[1], 0) * 100);
}

/*
 * A run that broke off exchanged no results: the 0 of the other end's receiver says nothing. Where the
 * error is not in the text, more was sent than buffers take.
 */
static void unheard(struct doc *d)
{
	struct format_found *f = d->f;
	bool any = false, broken = f->partial || found_warned(f, WARN_INCOMPLETE);

	for (size_t i = 0; i < f->n_fig && !d->udp; i++)
		broken = broken ||
			 (!strcmp(f->fig[i].metric, "bytes") &&
			  f->fig[i].dims.v[DIM_VIEW] == MODEL_SENDER && f->fig[i].value > 16777216);
	for (size_t i = 0; i < f->n_fig && broken; i++) {
		struct found_fig *g = &f->fig[i];
		bool far = g->dims.has >> DIM_VIEW & 1 && g->dims.v[DIM_VIEW] == MODEL_RECEIVER &&
			   g->dims.has >> DIM_DIR & 1 && g->dims.v[DIM_DIR] == MODEL_UP;

		if (!far || d->server || g->value != 0 || g->state != MODEL_KNOWN ||
		    (strcmp(g->metric, "goodput") != 0 && strcmp(g->metric, "bytes") != 0))
			continue;
		g->state = MODEL_UNKNOWN;
		any = true;
	}
	if (any && !found_warned(f, WARN_SENDER_ONLY))
		found_warn(f, WARN_SENDER_ONLY, "what arrived is not in the report");
}

/* The ends do not stop at the same time: what took another time has its own. */
static void put_durations(struct doc *d)
{
	for (int k = 0; k < 4; k++) {
		double t = d->took[k / 2][k % 2];
		int dir = k / 2 ? MODEL_DOWN : up(d) < 0 ? -1 : MODEL_UP;

		if (t > 0 && fabs(t - d->seconds) > 5e-7)
			put(d, "duration", STAT_VALUE,
			    found_dims(dir, k % 2 ? MODEL_RECEIVER : MODEL_SENDER, -1), t, 0);
	}
}

static void finish(struct doc *d)
{
	struct format_found *f = d->f;

	f->what = d->udp ? "udp" : "tcp";
	f->protocol = "iperf3";
	memcpy(f->tool, "iperf3", 7);
	f->n_col = FOUND_COLS;
	memcpy(f->col, d->udp ? udp_cols : tcp_cols, sizeof(f->col));
	old_udp(d);
	if (d->sockets <= 1 && d->has_sums)
		merge_stream(d);
	if (d->s.cut && d->ours) {
		f->partial = true;
		found_warn(f, WARN_TRUNCATED, "the document is not whole");
	}
	sum_up(d);
	if (d->seconds > 0)
		put(d, "duration", STAT_VALUE, DIMS_NONE, d->seconds, 0);
	if (d->n && f->partial) /* of the intervals that are there */
		found_prov(f, MODEL_DERIVED);
	put_durations(d);
	put_cpu(d);
	found_intended(f, d->intended * (d->streams > 1 ? d->streams : 1));
	if (has(f, "throughput.sent") && !has(f, "goodput"))
		found_warn(f, WARN_SENDER_ONLY, "what arrived is not in the report");
	found_param(f, "role", "%s", d->client ? "client" : d->server ? "server" : "unknown");
}

/* What was open when the text ended. */
static void close_cut(struct doc *d)
{
	while (d->s.depth) {
		struct object o = d->o[d->s.depth];
		struct json_key k = d->s.level[--d->s.depth];

		if (!k.array)
			close_object(d, &k, &o);
	}
}

static size_t document(struct doc *d, size_t i)
{
	d->s = json_scan(d->s.l, i);
	for (size_t k = 0; k <= JSON_LEVELS; k++)
		clear(&d->o[k]);
	while (json_next(&d->s)) {
		struct object o;

		if (inside(d, "server_output_json"))
			continue; /* the other end's own document */
		switch (d->s.what) {
		case JSON_OPEN:
			take_open(d);
			break;
		case JSON_CLOSE:
			o = d->o[d->s.depth + 1];
			clear(&d->o[d->s.depth + 1]);
			close_object(d, &d->s.key, &o);
			break;
		case JSON_VALUE:
			take_value(d);
			break;
		}
	}
	if (d->s.cut)
		close_cut(d);
	return d->s.i;
}

/* "iperf3: error - …" that went to the same place as the document. */
static size_t error_line(struct doc *d, size_t i)
{
	const struct lex *l = d->s.l;
	double c[MATCH_CAPS];
	size_t e = match(l, i, "iperf3 : error|interrupt -", c), k = e;

	if (!e)
		return i;
	while (k < l->n && k - e < 40 && (k == e || !lex_line(l, k)))
		k++;
	d->s.from = (uint32_t)e;
	d->s.to = (uint32_t)k;
	take_error(d);
	return k;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct doc *d = calloc(1, sizeof(*d));
	size_t from = i;

	if (!d) {
		f->failed = true;
		return i + 1;
	}
	d->f = f;
	d->s.l = l;
	d->cpu[0] = d->cpu[1] = UNSET;
	clear(&d->last_end);
	i = document(d, i);
	while (d->stream && !d->over && json_key_at(l, i + 1, "event") && lex_is(l, i, "{")) {
		if (lex_is(l, i + 6, "start"))
			break;
		i = document(d, i);
	}
	i = error_line(d, i);
	finish(d);
	unheard(d);
	if (!d->ours) { /* somebody else's JSON */
		f->n_fig = f->n_row = 0;
		for (size_t k = 0; k < f->n_warn; k++)
			free(f->warn[k].text);
		f->n_warn = 0;
	}
	free(d);
	return i > from ? i : from + 1;
}

/* A key that iperf3 has, and near it something that nobody else has. */
static bool sniff(const struct lex *l, size_t i)
{
	static const char *const keys[] = {
		"start", "intervals", "end",          "streams",
		"sum",   "sum_sent",  "sum_received", "event",
		"bytes", "socket",    "remote_total", "cpu_utilization_percent"};
	static const char *const sure[] = {"bits_per_second", "tcp_mss_default", "remote_total",
					   "sender_tcp_congestion", "num_streams"};
	size_t k = i + lex_is(l, i, "{"), end;

	/* Inside of a document that nobody wanted no other one begins. */
	if (i && l->tok[i - 1].len == 1 && strchr(k > i ? ":[," : ":[,{", *lex_text(l, i - 1)))
		return false;
	for (size_t n = 0;; n++) {
		if (n == ARRAY_LEN(keys))
			return false;
		if (json_key_at(l, k, keys[n]))
			break;
	}
	if (json_key_at(l, k, "event") &&
	    (lex_is(l, k + 5, "start") || lex_is(l, k + 5, "interval") || lex_is(l, k + 5, "end") ||
	     lex_is(l, k + 5, "error")))
		return true;
	end = k + 400 < l->n ? k + 400 : l->n;
	for (; k < end; k++) {
		if (lex_is(l, k, "iperf") && lex_is(l, k - 1, "\""))
			return true;
		for (size_t n = 0; lex_is(l, k, "\"") && n < ARRAY_LEN(sure); n++)
			if (json_key_at(l, k, sure[n]))
				return true;
	}
	return false;
}

const struct reader reader_iperf3_json = {"iperf3-json", "{\"", sniff, parse};
