/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What iperf3 prints, made from a run. This file gathers: a tick becomes a figure a flow, the
 * summaries become each end's figure of the whole; the texts and the JSON beside it only print.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/iperf3.h"

#define SHORT_SHARE 10 /* an empty last interval shorter than a tenth is left out */

bool i3_text(const struct i3 *w)
{
	return w->o.mode == FORMAT_IPERF3_TEXT;
}

size_t i3_of_dir(const struct i3 *w, int dir)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += w->flows[i].dir == dir;
	return n;
}

const struct i3_fig *i3_fig(const struct i3_flow *f, enum i3_which which)
{
	return which == I3_NOW ? &f->now : which == I3_SENT ? &f->sent : &f->received;
}

double i3_rate(const struct i3_fig *f)
{
	return f->end > f->start ? f->bytes * 8 / (f->end - f->start) : 0;
}

struct i3_fig i3_sum(const struct i3 *w, int dir, enum i3_which which)
{
	struct i3_fig sum = {0};
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct i3_fig *f = i3_fig(&w->flows[i], which);

		if (w->flows[i].dir != dir)
			continue;
		if (!n++) {
			sum.start = f->start;
			sum.end = f->end;
			sum.omitted = f->omitted;
		}
		sum.bytes += f->bytes;
		sum.retrans += f->retrans;
		sum.packets += f->packets;
		sum.lost += f->lost;
		sum.jitter += f->jitter;
		sum.ooo += f->ooo;
		sum.unknown |= f->unknown;
	}
	sum.jitter = n ? sum.jitter / (double)n : 0;
	return sum;
}

/* A server prints before it can know its client's side; what it knows goes into the JSON. */
bool i3_knows(const struct i3 *w, const struct i3_flow *f, bool of_sender)
{
	return !w->o.server || f->sender == of_sender;
}

/* ---- intervals ------------------------------------------------------------------------ */

/* Columns by their name's place here. */
static const struct source {
	const char *metric;
	size_t offset; /* of a double in struct i3_fig */
} sources[] = {
	{"bytes", offsetof(struct i3_fig, bytes)},
	{"tcp.retransmits", offsetof(struct i3_fig, retrans)},
	{"tcp.cwnd", offsetof(struct i3_fig, cwnd)},
	{"tcp.snd_wnd", offsetof(struct i3_fig, snd_wnd)},
	{"tcp.rtt", offsetof(struct i3_fig, rtt)},
	{"tcp.rttvar", offsetof(struct i3_fig, rttvar)},
	{"tcp.pmtu", offsetof(struct i3_fig, pmtu)},
	{"tcp.reord_seen", offsetof(struct i3_fig, reorder)},
	{"udp.datagrams", offsetof(struct i3_fig, packets)},
	{"udp.lost", offsetof(struct i3_fig, lost)},
	{"udp.jitter", offsetof(struct i3_fig, jitter)},
	{"udp.reordered", offsetof(struct i3_fig, ooo)},
};

static double as_double(const struct model_metric *m, union model_value v)
{
	return m->type == MODEL_U64 ? (double)v.u : m->type == MODEL_I64 ? (double)v.i : v.f;
}

static double frame_value(const struct model_frame *f, const struct model_row *row,
			  const char *metric)
{
	for (size_t i = 0; i < f->n_cols; i++) {
		if (row->valid >> i & 1 && !strcmp(f->cols[i].metric->name, metric))
			return as_double(f->cols[i].metric, row->v[i]);
	}
	return 0;
}

static void read_frame(const struct model_frame *f, const struct model_row *row, struct i3_fig *out)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		double v = frame_value(f, row, sources[i].metric);

		memcpy((char *)out + sources[i].offset, &v, sizeof(v));
	}
}

/* A receiver's total counts the lost, and no datagram twice. */
static void count_lost_in(const struct model_frame *f, const struct model_row *row,
			  struct i3_fig *fig)
{
	fig->packets +=
		fig->lost - frame_value(f, row, "udp.duplicates") - frame_value(f, row, "udp.late");
}

static void add_to_all(struct i3_flow *f)
{
	struct i3_fig *a = &f->all;
	const struct i3_fig *n = &f->now;

	a->end = n->end;
	a->bytes += n->bytes;
	a->retrans += n->retrans;
	a->packets += n->packets;
	a->lost += n->lost;
	a->ooo += n->ooo;
	a->reorder += n->reorder;
	a->jitter = n->jitter;
	f->max_cwnd = fmax(f->max_cwnd, n->cwnd);
	f->max_wnd = fmax(f->max_wnd, n->snd_wnd);
	if (n->rtt <= 0)
		return;
	f->max_rtt = fmax(f->max_rtt, n->rtt);
	f->min_rtt = f->n_rtt++ ? fmin(f->min_rtt, n->rtt) : n->rtt;
	f->sum_rtt += n->rtt;
}

static void read_tick(struct i3 *w, const struct model_run *r, const struct model_tick *t,
		      const struct model_part *part)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct model_frame *fr = r->frames[t->rows[i].frame];
		struct i3_flow *f;

		if (!(fr->dims.has & 1U << DIM_FLOW) || fr->dims.v[DIM_FLOW] < 0 ||
		    (size_t)fr->dims.v[DIM_FLOW] >= w->n || fr->dims.v[DIM_END] != MODEL_NEAR)
			continue;
		f = &w->flows[fr->dims.v[DIM_FLOW]];
		f->now = (struct i3_fig){.start = (double)(t->t0 - part->t0) * 1e-9,
					 .end = (double)(t->t1 - part->t0) * 1e-9,
					 .omitted = t->flags & ROW_OMITTED};
		read_frame(fr, &t->rows[i], &f->now);
		if (w->t.udp && !f->sender)
			count_lost_in(fr, &t->rows[i], &f->now);
		if (!f->now.omitted)
			add_to_all(f);
	}
}

static bool is_empty_rest(const struct i3 *w)
{
	double bytes = 0, len = 0;

	for (size_t i = 0; i < w->n; i++) {
		bytes += w->flows[i].now.bytes;
		len = w->flows[i].now.end - w->flows[i].now.start;
	}
	return w->rows && bytes <= 0 && len < w->t.interval_s / SHORT_SHARE;
}

static void on_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct i3 *w = (struct i3 *)s;
	const struct model_axis *a = r->axes[t->axis];

	if (!w->opened || r->clocks[a->clock].end != MODEL_NEAR)
		return;
	read_tick(w, r, t, &r->parts[a->part]);
	if (is_empty_rest(w))
		return;
	if (i3_text(w))
		i3_text_interval(w);
	else
		i3_json_interval(w);
	w->rows++;
}

/* ---- the whole ---------------------------------------------------------------------------- */

struct where { /* of a figure among the summaries */
	const struct model_run *r;
	uint32_t part;
	size_t flow;
	int dir, view, end;
	bool alone; /* its direction has one flow: the direction's figures are its own */
};

static bool fits(const struct where *w, const struct model_summary *s, bool of_flow)
{
	const struct model_dims *d = &s->dims;
	bool flow = d->has & 1U << DIM_FLOW;

	return s->part == w->part && s->state == MODEL_KNOWN && s->stat == STAT_VALUE &&
	       flow == of_flow && (!flow || d->v[DIM_FLOW] == (int64_t)w->flow) &&
	       d->has & 1U << DIM_DIR && d->v[DIM_DIR] == w->dir && d->has & 1U << DIM_VIEW &&
	       d->v[DIM_VIEW] == w->view && d->has & 1U << DIM_END && d->v[DIM_END] == w->end;
}

static bool find(const struct where *w, const char *metric, bool of_flow, double *v)
{
	for (size_t i = 0; i < w->r->n_sums; i++) {
		const struct model_summary *s = &w->r->sums[i];

		if (strcmp(s->metric->name, metric) != 0 || !fits(w, s, of_flow))
			continue;
		*v = s->value;
		return true;
	}
	return false;
}

/* Of the flow; where its direction has no other, the direction's. */
static bool flow_value(const struct where *w, const char *metric, double *v)
{
	return find(w, metric, true, v) || (w->alone && find(w, metric, false, v));
}

static uint32_t load_part(const struct model_run *r)
{
	return r->n_parts ? (uint32_t)r->n_parts - 1 : 0;
}

/* Of this end the samples know as much until the summaries are there. */
static void read_near(struct i3 *w, const struct where *at, struct i3_flow *f, struct i3_fig *out)
{
	double v;

	*out = f->all;
	out->start = 0;
	if (flow_value(at, "bytes", &v))
		out->bytes = v;
	if (find(at, "duration", false, &v))
		out->end = v;
	if (flow_value(at, "tcp.retransmits", &v))
		out->retrans = v;
	if (f->told && !f->sender) {
		out->packets = f->told_packets;
		out->lost = f->told_lost;
	}
	if (!w->t.udp || !flow_value(at, "udp.datagrams", &v))
		return;
	out->packets = v;
	if (f->sender)
		return;
	if (flow_value(at, "udp.lost", &out->lost))
		out->packets += out->lost;
	if (flow_value(at, "udp.duplicates", &v))
		out->packets -= v;
	if (flow_value(at, "udp.late", &v))
		out->packets -= v;
	flow_value(at, "udp.jitter", &out->jitter);
	flow_value(at, "udp.reordered", &out->ooo);
}

static bool read_far(const struct i3 *w, const struct where *at, const struct i3_flow *f,
		     double near_end, struct i3_fig *out)
{
	double v;

	*out = (struct i3_fig){.end = near_end, .unknown = w->t.udp && f->sender};
	if (find(at, "duration", false, &v))
		out->end = v;
	if (flow_value(at, "tcp.retransmits", &v))
		out->retrans = v;
	if (flow_value(at, "udp.datagrams", &v))
		out->packets = v;
	if (flow_value(at, "udp.lost", &v)) {
		out->lost = v;
		out->packets += v;
		out->unknown = false;
	}
	flow_value(at, "udp.jitter", &out->jitter);
	return flow_value(at, "bytes", &out->bytes);
}

/* What the receiver never heard of it cannot miss; the sender's count can. */
static void count_tail(struct i3_flow *f)
{
	struct i3_fig *got = &f->received;

	if (got->unknown) {
		got->packets = f->sent.packets;
	} else if (got->packets < f->sent.packets) {
		got->lost += f->sent.packets - got->packets;
		got->packets = f->sent.packets;
	}
}

static void read_flow(struct i3 *w, const struct model_run *r, size_t i)
{
	struct i3_flow *f = &w->flows[i];
	struct where at = {.r = r,
			   .part = load_part(r),
			   .flow = i,
			   .dir = f->dir,
			   .view = f->sender ? MODEL_SENDER : MODEL_RECEIVER,
			   .end = MODEL_NEAR,
			   .alone = i3_of_dir(w, f->dir) == 1};
	struct i3_fig *near = f->sender ? &f->sent : &f->received;
	struct i3_fig *far = f->sender ? &f->received : &f->sent;
	bool told;

	read_near(w, &at, f, near);
	at.end = MODEL_FAR;
	at.view = f->sender ? MODEL_RECEIVER : MODEL_SENDER;
	told = read_far(w, &at, f, near->end, far);
	if (w->t.udp && told)
		count_tail(f);
}

static void read_cpu(struct i3 *w, const struct model_run *r, int end)
{
	static const char *const names[3] = {"cpu.total", "cpu.user", "cpu.system"};

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, end);
		const struct model_summary *s = model_find(r, names[k], STAT_VALUE, &d, true);

		w->cpu[end][k] = s ? s->value * 100 : 0;
	}
}

static void read_congestion(struct i3 *w, const struct model_run *r)
{
	static const char *const keys[2] = {"congestion", "congestion_far"};
	const char *params = r->n_parts ? r->parts[load_part(r)].params : NULL;
	struct js_doc *doc = NULL;

	if (!params || js_parse(params, strlen(params), &js_limits_params, &doc, NULL) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *s = js_str(js_get(js_root(doc), keys[i]), NULL);

		safe_str(w->cc[i], sizeof(w->cc[i]), s ? s : "", s ? strlen(s) : 0);
	}
	js_free(doc);
}

static void read_report(struct i3 *w, const struct model_run *r)
{
	for (size_t i = 0; i < w->n; i++)
		read_flow(w, r, i);
	read_cpu(w, r, MODEL_NEAR);
	read_cpu(w, r, MODEL_FAR);
	read_congestion(w, r);
}

/* ---- the sink and what is told beside it ------------------------------------------------------ */

static int on_close(struct sink *s, struct weir_err *e)
{
	struct i3 *w = (struct i3 *)s;
	struct buf *const bufs[] = {&w->start, &w->intervals, &w->end,
				    &w->extra, &w->error,     &w->server};
	bool failed = w->f.out->failed;

	for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
		buf_fini(bufs[i]);
	free(w->flows);
	free(w);
	return failed ? err_set(e, WEIR_LIMIT, ENOMEM, "the report does not fit in memory") : 0;
}

struct sink *format_iperf3_new(struct buf *out, const struct format_iperf3_opts *o)
{
	struct i3 *w = (struct i3 *)format_sink_new(sizeof(struct i3), out, NULL);

	if (!w)
		return NULL;
	w->o = *o;
	w->f.sink.sample = on_sample;
	w->f.sink.close = on_close;
	return &w->f.sink;
}

void format_iperf3_greeted(struct sink *s, const struct format_iperf3_test *t)
{
	struct i3 *w = (struct i3 *)s;

	w->t = *t;
	w->greeted = true;
	if (i3_text(w))
		i3_text_greeted(w);
	else
		i3_json_greeted(w);
}

void format_iperf3_opened(struct sink *s, const struct format_iperf3_test *t)
{
	struct i3 *w = (struct i3 *)s;
	size_t up = t->reverse ? 0 : (size_t)t->streams;

	w->t = *t;
	w->flows = calloc(t->n ? t->n : 1, sizeof(*w->flows));
	if (!w->flows)
		return;
	w->n = t->n;
	for (size_t i = 0; i < t->n; i++) {
		w->flows[i].id = t->flows[i].socket;
		w->flows[i].dir = i < up ? MODEL_UP : MODEL_DOWN;
		w->flows[i].sender = (i < up) == !w->o.server;
	}
	w->opened = true;
	if (i3_text(w))
		i3_text_opened(w);
	else
		i3_json_opened(w);
	w->t.flows = NULL;
}

void format_iperf3_counts(struct sink *s, size_t flow, double packets, double lost)
{
	struct i3 *w = (struct i3 *)s;

	if (flow >= w->n)
		return;
	w->flows[flow].told = true;
	w->flows[flow].told_packets = packets;
	w->flows[flow].told_lost = lost;
}

void format_iperf3_report(struct sink *s, const struct model_run *r)
{
	struct i3 *w = (struct i3 *)s;

	if (!w->opened)
		return;
	memcpy(w->run_id, r->id, sizeof(w->run_id));
	read_report(w, r);
	if (i3_text(w))
		i3_text_report(w);
	else
		i3_json_report(w);
}

/* Another machine's words go to a terminal: line by line, without what would move its cursor. */
static void put_foreign(struct buf *b, const char *text, size_t n)
{
	while (n) {
		size_t len = 0;

		while (len < n && text[len] != '\n' && text[len] != '\t')
			len++;
		safe_put(b, text, len);
		if (len < n)
			buf_putc(b, text[len++]);
		text += len;
		n -= len;
	}
}

void format_iperf3_message(struct sink *s, const char *what, const char *json, size_t n)
{
	struct i3 *w = (struct i3 *)s;
	struct buf b = {0};

	if (!i3_text(w) || !w->o.debug)
		return;
	i3_json_pretty(&b, json, n);
	buf_printf(w->f.out, "%s\n", what);
	put_foreign(w->f.out, b.data, b.len);
	buf_putc(w->f.out, '\n');
	buf_fini(&b);
}

void format_iperf3_server_output(struct sink *s, const char *text, size_t n, bool json)
{
	struct i3 *w = (struct i3 *)s;

	if (!n)
		return;
	w->server_json = json;
	if (i3_text(w)) {
		i3_line(w, json ? "\nServer JSON output:\n" : "\nServer output:\n");
		if (json)
			i3_json_pretty(w->f.out, text, n);
		else
			put_foreign(w->f.out, text, n);
		buf_putc(w->f.out, '\n');
	} else {
		buf_clear(&w->server);
		buf_put(&w->server, text, n);
	}
}

void format_iperf3_error(struct sink *s, const char *text)
{
	struct i3 *w = (struct i3 *)s;

	if (!i3_text(w) && !w->error.len)
		buf_puts(&w->error, text);
}

void format_iperf3_finish(struct sink *s, bool done)
{
	struct i3 *w = (struct i3 *)s;

	if (!i3_text(w)) {
		i3_json_finish(w);
	} else if (done) {
		i3_line(w, "\n");
		i3_line(w, "iperf Done.\n");
	}
}
