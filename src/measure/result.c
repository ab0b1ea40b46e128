/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the readings at the two ends of a phase to the figures that people compare: totals a
 * direction and a flow, for the view that this end has; and the other end's as its protocol
 * told them. Both ends' figures stay apart, always.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/priv.h"

#define BITS 8.0
#define GB   1e9

#define TOLD_MIN_S 1e-6

int measure_value(struct model_run *run, uint32_t part, const char *metric, struct model_dims dims,
		  enum model_stat stat, enum model_prov prov, double v)
{
	struct model_summary s = {.part = part,
				  .metric = model_metric(metric),
				  .dims = dims,
				  .stat = stat,
				  .state = MODEL_KNOWN,
				  .prov = prov,
				  .value = v};

	if (!s.metric)
		return -EINVAL;
	s.resolution = s.metric->resolution;
	return model_add_summary(run, &s);
}

/* What one direction of this end moved, summed over its flows. */
struct total {
	size_t flows;
	uint64_t bytes, calls, retrans, segs, zc_done, zc_copied;
	double busy, rwnd, sndbuf;
	int64_t cwnd_max, window, mss;
	bool info;
	double sum, sum_sq; /* of the flows' bytes, for Jain's index */
};

static uint64_t grown(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

static void total_add(struct total *t, const struct net_flow_sample *a,
		      const struct net_flow_sample *b, const struct measure_flow *f)
{
	uint64_t bytes = grown(b->bytes, a->bytes);

	t->flows++;
	t->bytes += bytes;
	t->calls += grown(b->calls, a->calls);
	t->zc_done += grown(b->zc_done, a->zc_done);
	t->zc_copied += grown(b->zc_copied, a->zc_copied);
	t->sum += (double)bytes;
	t->sum_sq += (double)bytes * (double)bytes;
	t->window += (int64_t)(f->sender ? f->applied.sndbuf : f->applied.rcvbuf);
	if (!NET_HAS((size_t)b->info_len, data_segs_out))
		return;
	t->info = true;
	t->mss = b->info.snd_mss;
	t->retrans += grown(b->info.total_retrans, a->info.total_retrans);
	t->segs += grown(b->info.data_segs_out, a->info.data_segs_out);
	t->cwnd_max += (int64_t)b->info.snd_cwnd * b->info.snd_mss;
	t->busy += (double)grown(b->info.busy_time_us, a->info.busy_time_us) * 1e-6;
	t->rwnd += (double)grown(b->info.rwnd_limited_us, a->info.rwnd_limited_us) * 1e-6;
	t->sndbuf += (double)grown(b->info.sndbuf_limited_us, a->info.sndbuf_limited_us) * 1e-6;
}

struct model_dims measure_view_dims(int dir, bool sender, int end)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_DIR, dir);

	d = model_dims_with(d, DIM_VIEW, sender ? MODEL_SENDER : MODEL_RECEIVER);
	return model_dims_with(d, DIM_END, end);
}

static const char *rate_metric(bool sender)
{
	return sender ? "throughput.sent" : "goodput";
}

static double jain(const struct total *t)
{
	return t->sum_sq > 0 ? t->sum * t->sum / ((double)t->flows * t->sum_sq) : 0;
}

/* The rows of one direction's total: metric, value, and when it is known. */
static void add_direction(struct model_run *run, const struct measure_totals *mt, int dir,
			  bool sender, const struct total *t)
{
	struct model_dims d = measure_view_dims(dir, sender, MODEL_NEAR);
	const struct {
		const char *metric;
		double v;
		bool known;
	} rows[] = {
		{rate_metric(sender), (double)t->bytes * BITS / mt->seconds, mt->seconds > 0},
		{"bytes", (double)t->bytes, true},
		{"duration", mt->seconds, true},
		{"flows", (double)t->flows, true},
		{"jain", jain(t), t->flows > 1 && t->sum_sq > 0},
		{"app.calls", (double)t->calls, true},
		{"tcp.retransmits", (double)t->retrans, sender && t->info},
		{"tcp.segments", (double)t->segs, sender && t->info},
		{"tcp.retransmit_share", (double)t->retrans / (double)t->segs, sender && t->segs},
		{"tcp.busy_time", t->busy, sender && t->info},
		{"tcp.rwnd_limited", t->rwnd, sender && t->info},
		{"tcp.sndbuf_limited", t->sndbuf, sender && t->info},
		{"tcp.cwnd", (double)t->cwnd_max, sender && t->info},
		{"tcp.mss", (double)t->mss, sender && t->mss},
		{sender ? "window.snd" : "window.rcv", (double)t->window, t->window > 0},
		{"zc.completions", (double)t->zc_done, t->zc_done > 0},
		{"zc.copied", (double)t->zc_copied, t->zc_done > 0},
		{"zc.copied_share", (double)t->zc_copied / (double)t->zc_done, t->zc_done > 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int n = rows[i].known ? measure_value(run, mt->part, rows[i].metric, d, STAT_VALUE,
						      MODEL_MEASURED, rows[i].v)
				      : -1;

		/* Two of a million are not 0.000200 %. */
		if (n >= 0 && !strcmp(rows[i].metric, "tcp.retransmit_share"))
			run->sums[n].resolution = 1 / (double)t->segs;
	}
}

static void add_flow(struct model_run *run, const struct measure_totals *mt, size_t i,
		     const struct measure_flow *f)
{
	const struct net_flow_sample *a = &mt->from->s[i], *b = &mt->to->s[i];
	struct model_dims d = measure_view_dims(f->dir, f->sender, MODEL_NEAR);
	double bytes = (double)grown(b->bytes, a->bytes);

	d = model_dims_with(d, DIM_FLOW, (int64_t)i);
	measure_value(run, mt->part, "bytes", d, STAT_VALUE, MODEL_MEASURED, bytes);
	if (mt->seconds > 0)
		measure_value(run, mt->part, rate_metric(f->sender), d, STAT_VALUE, MODEL_MEASURED,
			      bytes * BITS / mt->seconds);
	if (f->sender && NET_HAS((size_t)b->info_len, total_retrans))
		measure_value(run, mt->part, "tcp.retransmits", d, STAT_VALUE, MODEL_MEASURED,
			      (double)grown(b->info.total_retrans, a->info.total_retrans));
}

static void add_cpu(struct model_run *run, const struct measure_totals *mt, double bytes)
{
	const struct net_cpu_sample *a = &mt->from->cpu, *b = &mt->to->cpu;
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	double seconds = (double)(b->process_ns - a->process_ns) * 1e-9;
	const struct {
		const char *metric;
		double v;
		bool known;
	} rows[] = {
		{"cpu.total", seconds / mt->seconds, mt->seconds > 0},
		{"cpu.user", (double)(b->user_ns - a->user_ns) * 1e-9 / mt->seconds,
		 mt->seconds > 0},
		{"cpu.system", (double)(b->system_ns - a->system_ns) * 1e-9 / mt->seconds,
		 mt->seconds > 0},
		{"cpu.thread_max",
		 (double)(b->worker_max_ns - a->worker_max_ns) * 1e-9 / mt->seconds,
		 mt->seconds > 0},
		{"cpu.seconds", seconds, true},
		{"cpu.per_gb", seconds * GB / bytes, bytes > 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].known)
			measure_value(run, mt->part, rows[i].metric, d, STAT_VALUE, MODEL_MEASURED,
				      rows[i].v);
	}
}

int measure_add_near(struct model_run *run, const struct measure_totals *mt,
		     const struct measure_flow *flows, size_t n)
{
	struct total t[2] = {0};
	bool sender[2] = {false, false};
	size_t per_dir[2] = {0, 0};

	for (size_t i = 0; i < n; i++) {
		total_add(&t[flows[i].dir], &mt->from->s[i], &mt->to->s[i], &flows[i]);
		sender[flows[i].dir] = flows[i].sender;
		per_dir[flows[i].dir]++;
	}
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		if (per_dir[dir])
			add_direction(run, mt, dir, sender[dir], &t[dir]);
	}
	for (size_t i = 0; i < n; i++) {
		if (per_dir[flows[i].dir] > 1)
			add_flow(run, mt, i, &flows[i]);
	}
	if (mt->final)
		measure_udp_near(run, mt, flows, n);
	add_cpu(run, mt, (double)t[0].bytes + (double)t[1].bytes);
	return 0;
}

/* 0 = unknown: nothing is measured in less than a microsecond. */
static double told_seconds(const struct proto_flow_result *r)
{
	return r->seconds >= TOLD_MIN_S ? r->seconds : 0;
}

static void told_direction(struct model_run *run, const struct measure_totals *mt, int dir,
			   const struct measure_flow *flows, size_t n, const struct proto_result *r)
{
	double bytes = 0, retrans = 0, seconds = 0;
	bool sender = false, retrans_known = true;
	size_t count = 0;
	struct model_dims d;

	for (size_t i = 0; i < n && i < r->n; i++) {
		if (flows[i].dir != dir)
			continue;
		sender = !flows[i].sender;
		bytes += (double)r->flows[i].bytes;
		retrans += (double)r->flows[i].retransmits;
		retrans_known &= r->flows[i].retransmits >= 0;
		if (told_seconds(&r->flows[i]) > seconds)
			seconds = r->flows[i].seconds;
		count++;
	}
	if (!count)
		return;
	d = measure_view_dims(dir, sender, MODEL_FAR);
	measure_value(run, mt->part, "bytes", d, STAT_VALUE, MODEL_TOLD, bytes);
	if (seconds > 0) {
		measure_value(run, mt->part, "duration", d, STAT_VALUE, MODEL_TOLD, seconds);
		measure_value(run, mt->part, rate_metric(sender), d, STAT_VALUE, MODEL_TOLD,
			      bytes * BITS / seconds);
	} else if (mt->seconds > 0) {
		/* A peer before 3.2 tells no time: ours is the best there is. */
		measure_value(run, mt->part, rate_metric(sender), d, STAT_VALUE, MODEL_DERIVED,
			      bytes * BITS / mt->seconds);
	}
	if (sender && retrans_known)
		measure_value(run, mt->part, "tcp.retransmits", d, STAT_VALUE, MODEL_TOLD, retrans);
}

static void told_flow(struct model_run *run, const struct measure_totals *mt, size_t i,
		      const struct measure_flow *f, const struct proto_flow_result *r)
{
	struct model_dims d = measure_view_dims(f->dir, !f->sender, MODEL_FAR);
	double seconds = told_seconds(r) > 0 ? r->seconds : mt->seconds;

	d = model_dims_with(d, DIM_FLOW, (int64_t)i);
	measure_value(run, mt->part, "bytes", d, STAT_VALUE, MODEL_TOLD, (double)r->bytes);
	if (seconds > 0)
		measure_value(run, mt->part, rate_metric(!f->sender), d, STAT_VALUE, MODEL_TOLD,
			      (double)r->bytes * BITS / seconds);
	if (!f->sender && r->retransmits >= 0)
		measure_value(run, mt->part, "tcp.retransmits", d, STAT_VALUE, MODEL_TOLD,
			      (double)r->retransmits);
}

/* From the told share of a core, the told period and the told bytes. */
static void told_cpu_per_gb(struct model_run *run, const struct measure_totals *mt, size_t n,
			    const struct proto_result *r)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR);
	double bytes = 0, seconds = mt->seconds;

	for (size_t i = 0; i < n && i < r->n; i++) {
		bytes += (double)r->flows[i].bytes;
		if (told_seconds(&r->flows[i]) > 0)
			seconds = r->flows[i].seconds;
	}
	if (r->cpu_total >= 0 && bytes > 0)
		measure_value(run, mt->part, "cpu.per_gb", d, STAT_VALUE, MODEL_DERIVED,
			      r->cpu_total * seconds * GB / bytes);
}

int measure_add_told(struct model_run *run, const struct measure_totals *mt,
		     const struct measure_flow *flows, size_t n, const struct proto_result *r)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_FAR);
	const struct {
		const char *metric;
		double v;
	} cpu[] = {{"cpu.total", r->cpu_total},
		   {"cpu.user", r->cpu_user},
		   {"cpu.system", r->cpu_system}};

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++)
		told_direction(run, mt, dir, flows, n, r);
	if (mt->final)
		measure_udp_told(run, mt, flows, n, r);
	told_cpu_per_gb(run, mt, n, r);
	for (size_t i = 0; n > 1 && i < n && i < r->n; i++)
		told_flow(run, mt, i, &flows[i], &r->flows[i]);
	for (size_t i = 0; i < ARRAY_LEN(cpu); i++) {
		if (cpu[i].v >= 0)
			measure_value(run, mt->part, cpu[i].metric, d, STAT_VALUE, MODEL_TOLD,
				      cpu[i].v);
	}
	return 0;
}

int measure_add_rtt(struct model_run *run, uint32_t part, const char *metric,
		    const struct model_dims *dims, struct hist *take_h)
{
	static const struct {
		enum model_stat stat;
		double q;
	} rows[] = {{STAT_P50, 0.5}, {STAT_P95, 0.95}, {STAT_P99, 0.99}};
	struct hist *h = take_h;

	if (!hist_count(h)) {
		hist_free(h);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		/* A quantile beyond the sample count would be the maximum in disguise. */
		if ((1 - rows[i].q) * (double)hist_count(h) < 1 && rows[i].stat != STAT_P50)
			continue;
		measure_value(run, part, metric, *dims, rows[i].stat, MODEL_MEASURED,
			      (double)hist_quantile(h, rows[i].q) * 1e-9);
	}
	measure_value(run, part, metric, *dims, STAT_MIN, MODEL_MEASURED,
		      (double)hist_min(h) * 1e-9);
	measure_value(run, part, metric, *dims, STAT_MAX, MODEL_MEASURED,
		      (double)hist_max(h) * 1e-9);
	return model_add_hist(run, part, model_metric(metric), dims, -9, h);
}

int measure_result(const struct measure_totals *mt, const struct measure_flow *flows, size_t n,
		   struct proto_result *out)
{
	const struct net_cpu_sample *a = &mt->from->cpu, *b = &mt->to->cpu;
	double ns = mt->seconds * 1e9;

	*out = (struct proto_result){.cpu_total = -1, .cpu_user = -1, .cpu_system = -1, .n = n};
	out->flows = calloc(n ? n : 1, sizeof(*out->flows));
	if (!out->flows)
		return -ENOMEM;
	if (ns > 0) {
		out->cpu_total = (double)(b->process_ns - a->process_ns) / ns;
		out->cpu_user = (double)(b->user_ns - a->user_ns) / ns;
		out->cpu_system = (double)(b->system_ns - a->system_ns) / ns;
	}
	for (size_t i = 0; i < n; i++) {
		const struct net_flow_sample *f = &mt->from->s[i], *t = &mt->to->s[i];
		bool info = flows[i].sender && NET_HAS((size_t)t->info_len, total_retrans);

		out->flows[i] = (struct proto_flow_result){
			.bytes = grown(t->bytes, f->bytes),
			.retransmits =
				info ? (int64_t)grown(t->info.total_retrans, f->info.total_retrans)
				     : -1,
			.seconds = mt->seconds,
			.calls = grown(t->calls, f->calls),
		};
		if (flows[i].udp)
			measure_udp_wire(mt, &flows[i], i, &out->flows[i]);
	}
	if (n)
		snprintf(out->cc, sizeof(out->cc), "%s", flows[0].applied.cc);
	return 0;
}
