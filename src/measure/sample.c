/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readings of the engine are cumulative structs; a run holds deltas and gauges in columns. This
 * file is the one table between the two: a row a column, with where it lies in the struct.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/priv.h"

enum col_view { VIEW_SENDER = 1, VIEW_RECEIVER = 2, VIEW_BOTH = 3 };
enum col_transport { OF_TCP = 1, OF_UDP = 2, OF_BOTH = 3 };
enum col_op {
	OP_DELTA, /* difference to the last reading */
	OP_LOSS,  /* UDP: lost of those that were sent since the last reading */
	OP_VALUE, /* as it stands */
	OP_MSS,   /* in segments: times the sending MSS */
};

struct column {
	const char *metric;
	uint8_t of;    /* enum col_transport */
	uint8_t views; /* enum col_view */
	uint8_t op;    /* enum col_op */
	uint8_t size;  /* bytes of the field */
	uint16_t off;  /* in struct net_flow_sample */
	int need;      /* length of TCP_INFO that has the field; 0 = not of TCP_INFO */
	double per;    /* units of the field in one base unit; division keeps decimals exact */
};

#define OFF(field)  offsetof(struct net_flow_sample, field)
#define SIZE(field) sizeof(((struct net_flow_sample *)0)->field)
#define OWN(name, of, views, op, field)                            \
	{                                                          \
		name, of, views, op, SIZE(field), OFF(field), 0, 1 \
	}
#define UDP(name, views, op, field, per)                                         \
	{                                                                        \
		name, OF_UDP, views, op, SIZE(udp.field), OFF(udp.field), 0, per \
	}
#define TCPI(name, op, field, per)                                                 \
	{                                                                          \
		name, OF_TCP, VIEW_SENDER, op, SIZE(info.field), OFF(info.field),  \
			(int)(OFF(info.field) - OFF(info) + SIZE(info.field)), per \
	}

static const struct column columns[] = {
	OWN("bytes", OF_BOTH, VIEW_BOTH, OP_DELTA, bytes),
	OWN("app.calls", OF_BOTH, VIEW_BOTH, OP_DELTA, calls),
	TCPI("tcp.retransmits", OP_DELTA, total_retrans, 1),
	TCPI("tcp.segments", OP_DELTA, data_segs_out, 1),
	TCPI("tcp.delivered_ce", OP_DELTA, delivered_ce, 1),
	TCPI("tcp.bytes_acked", OP_DELTA, bytes_acked, 1),
	TCPI("tcp.rtt", OP_VALUE, rtt_us, 1e6),
	TCPI("tcp.rttvar", OP_VALUE, rttvar_us, 1e6),
	TCPI("tcp.min_rtt", OP_VALUE, min_rtt_us, 1e6),
	TCPI("tcp.cwnd", OP_MSS, snd_cwnd, 1),
	TCPI("tcp.ssthresh", OP_MSS, snd_ssthresh, 1),
	TCPI("tcp.snd_wnd", OP_VALUE, snd_wnd, 1),
	TCPI("tcp.mss", OP_VALUE, snd_mss, 1),
	TCPI("tcp.pmtu", OP_VALUE, pmtu, 1),
	TCPI("tcp.delivery_rate", OP_VALUE, delivery_rate, 0.125),
	TCPI("tcp.pacing_rate", OP_VALUE, pacing_rate, 0.125),
	TCPI("tcp.busy_time", OP_DELTA, busy_time_us, 1e6),
	TCPI("tcp.rwnd_limited", OP_DELTA, rwnd_limited_us, 1e6),
	TCPI("tcp.sndbuf_limited", OP_DELTA, sndbuf_limited_us, 1e6),
	TCPI("tcp.reordering", OP_VALUE, reordering, 1),
	TCPI("tcp.reord_seen", OP_DELTA, reord_seen, 1),
	TCPI("tcp.lost", OP_VALUE, lost, 1),
	TCPI("tcp.notsent", OP_VALUE, notsent_bytes, 1),
	OWN("zc.copied", OF_TCP, VIEW_SENDER, OP_DELTA, zc_copied),
	UDP("udp.datagrams", VIEW_SENDER, OP_DELTA, sent, 1),
	UDP("udp.intended", VIEW_SENDER, OP_DELTA, intended, 1),
	UDP("udp.skipped", VIEW_SENDER, OP_DELTA, skipped, 1),
	UDP("udp.refused", VIEW_SENDER, OP_DELTA, refused, 1),
	UDP("udp.datagrams", VIEW_RECEIVER, OP_DELTA, received, 1),
	UDP("udp.lost", VIEW_RECEIVER, OP_DELTA, lost, 1),
	UDP("udp.loss", VIEW_RECEIVER, OP_LOSS, lost, 1),
	UDP("udp.reordered", VIEW_RECEIVER, OP_DELTA, reordered, 1),
	UDP("udp.duplicates", VIEW_RECEIVER, OP_DELTA, duplicates, 1),
	UDP("udp.late", VIEW_RECEIVER, OP_DELTA, late, 1),
	UDP("udp.foreign", VIEW_RECEIVER, OP_DELTA, foreign, 1),
	UDP("udp.jitter", VIEW_RECEIVER, OP_VALUE, jitter_ns, 1e9),
	UDP("udp.socket_drops", VIEW_RECEIVER, OP_DELTA, sock_drops, 1),
};

static const char *const cpu_columns[] = {"cpu.total", "cpu.user", "cpu.system", "cpu.thread_max"};

#define N_COLUMNS     ARRAY_LEN(columns)
#define N_CPU         ARRAY_LEN(cpu_columns)
#define SSTHRESH_NONE 0x7fffffff /* TCP has not left its first slow start */
#define PACING_NONE   UINT64_MAX

struct measure_recorder {
	struct model_run *run;
	const struct measure_flow *flows;
	size_t n;
	int64_t run_start_ns;
	int64_t axis;  /* of the present phase; -1 = none yet */
	int64_t frame; /* its first frame */
	bool omitted;
	struct net_tick *last;
	struct model_row *rows;    /* a row a flow, one for the processor, one for the host */
	union model_value *values; /* N_COLUMNS a row */
	const char *const *host_metrics;
	size_t n_host; /* 0 = the host is not looked at */
	measure_host_row host_row;
	void *host_arg;
};

static uint64_t field_u64(const struct net_flow_sample *s, const struct column *c)
{
	const char *p = (const char *)s + c->off;
	uint64_t v = 0;

	if (c->size == sizeof(uint8_t)) {
		v = *(const uint8_t *)p;
	} else if (c->size == sizeof(uint32_t)) {
		uint32_t w;

		memcpy(&w, p, sizeof(w));
		v = w;
	} else if (c->size == sizeof(uint64_t)) {
		memcpy(&v, p, sizeof(v));
	}
	return v;
}

static bool field_known(const struct net_flow_sample *s, const struct column *c, uint64_t raw)
{
	if (c->need > s->info_len)
		return false;
	if (c->op == OP_MSS && (raw == SSTHRESH_NONE || !s->info.snd_mss))
		return false;
	if (c->need && raw == PACING_NONE)
		return false;
	/* The kernel gives ~0 microseconds until it has a sample. */
	return !(c->off == OFF(info.min_rtt_us) && raw == UINT32_MAX);
}

/* A late one makes up for a loss of an interval before: the difference may be below zero. */
static void delta(const struct net_flow_sample *then, const struct column *c, uint64_t raw,
		  enum model_col_type type, union model_value *v)
{
	uint64_t old = then && c->need <= then->info_len ? field_u64(then, c) : 0;

	if (type == MODEL_I64)
		v->i = (int64_t)(raw - old);
	else if (type == MODEL_U64)
		v->u = raw >= old ? raw - old : 0;
	else
		v->f = raw >= old ? (double)(raw - old) / c->per : 0;
}

static bool loss(const struct net_flow_sample *now, const struct net_flow_sample *then,
		 union model_value *v)
{
	uint64_t sent = now->udp.highest - (then ? then->udp.highest : 0);
	double lost = (double)now->udp.lost - (double)(then ? then->udp.lost : 0);

	if (!sent)
		return false;
	v->f = lost > 0 ? lost / (double)sent : 0;
	return true;
}

static bool column_value(const struct column *c, const struct net_flow_sample *now,
			 const struct net_flow_sample *then, const struct model_metric *m,
			 union model_value *v)
{
	uint64_t raw = field_u64(now, c);

	if (!field_known(now, c, raw))
		return false;
	if (c->op == OP_LOSS)
		return loss(now, then, v);
	if (c->op == OP_DELTA) {
		delta(then, c, raw, m->type, v);
		return true;
	}
	if (c->op == OP_MSS)
		raw *= now->info.snd_mss;
	switch (m->type) {
	case MODEL_U64:
		v->u = raw;
		break;
	case MODEL_I64:
		v->i = raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
		break;
	case MODEL_F64:
		v->f = (double)raw / c->per;
		break;
	}
	return true;
}

int measure_recorder_new(struct model_run *run, const struct measure_flow *flows, size_t n,
			 int64_t run_start_ns, struct measure_recorder **out)
{
	struct measure_recorder *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return -ENOMEM;
	rec->run = run;
	rec->flows = flows;
	rec->n = n;
	rec->run_start_ns = run_start_ns;
	rec->axis = -1;
	rec->rows = calloc(n + 2, sizeof(*rec->rows));
	rec->values = calloc((n + 2) * N_COLUMNS, sizeof(*rec->values));
	if (!rec->rows || !rec->values) {
		measure_recorder_free(rec);
		return -ENOMEM;
	}
	*out = rec;
	return 0;
}

void measure_recorder_free(struct measure_recorder *rec)
{
	if (!rec)
		return;
	net_tick_free(rec->last);
	free(rec->rows);
	free(rec->values);
	free(rec);
}

const struct net_tick *measure_recorder_last(const struct measure_recorder *rec)
{
	return rec->last;
}

/* The columns of a flow of this view, in table order. */
static size_t view_columns(const struct measure_flow *f, const struct column *out[N_COLUMNS])
{
	size_t n = 0;

	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (columns[i].views & (f->sender ? VIEW_SENDER : VIEW_RECEIVER) &&
		    columns[i].of & (f->udp ? OF_UDP : OF_TCP))
			out[n++] = &columns[i];
	}
	return n;
}

static int add_flow_frame(struct measure_recorder *rec, uint32_t axis, size_t flow)
{
	const struct measure_flow *f = &rec->flows[flow];
	const struct column *cols[N_COLUMNS];
	const struct model_metric *metrics[N_COLUMNS];
	size_t n = view_columns(f, cols);
	struct model_dims d = DIMS_NONE;

	for (size_t i = 0; i < n; i++)
		metrics[i] = model_metric(cols[i]->metric);
	d = model_dims_with(d, DIM_FLOW, (int64_t)flow);
	d = model_dims_with(d, DIM_DIR, f->dir);
	d = model_dims_with(d, DIM_VIEW, f->sender ? MODEL_SENDER : MODEL_RECEIVER);
	d = model_dims_with(d, DIM_END, MODEL_NEAR);
	return model_add_frame(rec->run, axis, &d, metrics, n);
}

static int add_cpu_frame(struct measure_recorder *rec, uint32_t axis)
{
	const struct model_metric *metrics[N_CPU];
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);

	for (size_t i = 0; i < N_CPU; i++)
		metrics[i] = model_metric(cpu_columns[i]);
	return model_add_frame(rec->run, axis, &d, metrics, N_CPU);
}

void measure_recorder_host(struct measure_recorder *rec, const char *const *metrics, size_t n,
			   measure_host_row row, void *arg)
{
	_Static_assert(MEASURE_HOST_COLS <= N_COLUMNS, "a row has room");
	rec->host_metrics = metrics;
	rec->n_host = n <= MEASURE_HOST_COLS ? n : MEASURE_HOST_COLS;
	rec->host_row = row;
	rec->host_arg = arg;
}

static int add_host_frame(struct measure_recorder *rec, uint32_t axis)
{
	const struct model_metric *metrics[MEASURE_HOST_COLS];
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);

	for (size_t i = 0; i < rec->n_host; i++)
		metrics[i] = model_metric(rec->host_metrics[i]);
	return model_add_frame(rec->run, axis, &d, metrics, rec->n_host);
}

int measure_recorder_phase(struct measure_recorder *rec, uint32_t part, bool omitted)
{
	int axis = model_add_axis(rec->run, part, 0);
	int frame = 0;

	if (axis < 0)
		return axis;
	for (size_t i = 0; i < rec->n; i++) {
		frame = add_flow_frame(rec, (uint32_t)axis, i);
		if (frame < 0)
			return frame;
		if (i == 0)
			rec->frame = frame;
	}
	frame = add_cpu_frame(rec, (uint32_t)axis);
	if (frame < 0)
		return frame;
	if (rec->n == 0)
		rec->frame = frame;
	if (rec->n_host) {
		frame = add_host_frame(rec, (uint32_t)axis);
		if (frame < 0)
			return frame;
	}
	rec->axis = axis;
	rec->omitted = omitted;
	return 0;
}

static void fill_flow(struct measure_recorder *rec, const struct net_tick *t, size_t flow)
{
	const struct column *cols[N_COLUMNS];
	struct model_row *row = &rec->rows[flow];
	union model_value *v = &rec->values[flow * N_COLUMNS];
	size_t n = view_columns(&rec->flows[flow], cols);

	*row = (struct model_row){.frame = (uint32_t)rec->frame + (uint32_t)flow, .v = v};
	for (size_t i = 0; i < n; i++) {
		if (column_value(cols[i], &t->s[flow], rec->last ? &rec->last->s[flow] : NULL,
				 model_metric(cols[i]->metric), &v[i]))
			row->valid |= 1ULL << i;
	}
}

static void fill_cpu(struct measure_recorder *rec, const struct net_tick *t)
{
	const struct net_cpu_sample *a = rec->last ? &rec->last->cpu : NULL, *b = &t->cpu;
	struct model_row *row = &rec->rows[rec->n];
	union model_value *v = &rec->values[rec->n * N_COLUMNS];
	double dt = (double)(t->t1 - t->t0);

	*row = (struct model_row){.frame = (uint32_t)rec->frame + (uint32_t)rec->n, .v = v};
	if (!a || dt <= 0)
		return;
	v[0].f = (double)(b->process_ns - a->process_ns) / dt;
	v[1].f = (double)(b->user_ns - a->user_ns) / dt;
	v[2].f = (double)(b->system_ns - a->system_ns) / dt;
	v[3].f = (double)(b->worker_max_ns - a->worker_max_ns) / dt;
	row->valid = (1ULL << N_CPU) - 1;
}

static void fill_host(struct measure_recorder *rec)
{
	struct model_row *row = &rec->rows[rec->n + 1];

	*row = (struct model_row){.frame = (uint32_t)rec->frame + (uint32_t)rec->n + 1,
				  .v = &rec->values[(rec->n + 1) * N_COLUMNS]};
	rec->host_row(rec->host_arg, &rec->values[(rec->n + 1) * N_COLUMNS], &row->valid);
}

int measure_recorder_tick(struct measure_recorder *rec, struct net_tick *take_tick,
			  int64_t nominal_ns, struct sink *sink)
{
	struct net_tick *t = take_tick;
	struct model_tick mt = {.axis = (uint32_t)rec->axis,
				.t0 = t->t0 - rec->run_start_ns,
				.t1 = t->t1 - rec->run_start_ns,
				.rows = rec->rows,
				.n_rows = rec->n + 1 + (rec->n_host > 0)};
	int rc = 0;

	if (rec->axis >= 0 && t->t1 > t->t0) {
		for (size_t i = 0; i < rec->n; i++)
			fill_flow(rec, t, i);
		fill_cpu(rec, t);
		if (rec->n_host)
			fill_host(rec);
		mt.flags = (rec->omitted ? ROW_OMITTED : 0) | (t->late ? ROW_LATE : 0);
		if (nominal_ns > 0 && t->t1 - t->t0 < nominal_ns - nominal_ns / 20)
			mt.flags |= ROW_SHORT;
		rc = model_append(rec->run, &mt);
		if (sink && rc != -ENOMEM)
			sink->sample(sink, rec->run, &mt);
	}
	net_tick_free(rec->last);
	rec->last = t;
	return rc == -ENOSPC ? 0 : rc;
}
