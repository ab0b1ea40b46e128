/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session tells of itself beside the samples: what was asked and what the kernel made of it,
 * and round trips, which are looked at ten times a second.
 */
#include <string.h>

#include "measure/session.h"

#define RTT_FLOWS 64

void session_note_lowered(struct session *s)
{
	if (s->ps->lowered[0])
		measure_event(s->ms->run, session_is_client(s) ? s->ms->sink : NULL, s->part_load,
			      WARN_CAP, MODEL_NO_TIME, "%s", s->ps->lowered);
}

/* What the kernel made of the wishes, once a direction: events, and the load part's params. */
void session_note_applied(struct session *s)
{
	const struct flow_spec *spec = &s->plan->flows[0];
	const struct net_applied *a = &s->flows[0].applied;

	if (a->cc_refused && flow_plan_count(s->plan, session_is_client(s) ? NET_UP : NET_DOWN))
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_CC_FALLBACK,
			      MODEL_NO_TIME, "asked for %s, in use: %s", spec->cc, a->cc);
	if (a->window_short)
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_WINDOW_SHORT,
			      MODEL_NO_TIME,
			      "asked for %llu bytes, the kernel gave %llu to send and %llu to "
			      "receive (net.core.wmem_max, rmem_max)",
			      (unsigned long long)spec->window, (unsigned long long)a->sndbuf,
			      (unsigned long long)a->rcvbuf);
	for (size_t i = 0; i < s->plan->n; i++) {
		if (!s->flows[i].sender && s->plan->flows[i].rx_trunc) {
			measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_RX_TRUNC,
				      MODEL_NO_TIME, NULL);
			break;
		}
	}
}

static void tcp_params(const struct session *s, struct jw *w, const char *cc_far)
{
	jw_str(w, "congestion", s->flows[0].applied.cc);
	if (cc_far && cc_far[0])
		jw_str(w, "congestion_far", cc_far);
	jw_u64(w, "mss", s->flows[0].applied.mss);
}

/* The same of a native far end, whose own run has come. */
static void far_words(const struct session *s, struct jw *w)
{
	static const char *const words[][2] = {{"offload", "offload_far"},
					       {"jitter_clock", "jitter_clock_far"}};
	const struct model_run *far = s->ms->far ? model_ndjson_run(s->ms->far) : NULL;
	const char *params = far && far->n_parts ? far->parts[far->n_parts - 1].params : NULL;
	struct js_doc *doc = NULL;

	if (!params || js_parse(params, strlen(params), &js_limits_params, &doc, NULL) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *word = js_str(js_get(js_root(doc), words[i][0]), NULL);

		if (word && strlen(word) < 64)
			jw_str(w, words[i][1], word);
	}
	js_free(doc);
}

/* How datagrams pass the kernel, which offloads were used, and what tells the time of arrival. */
static void udp_params(const struct session *s, struct jw *w)
{
	bool gso = false, gro = false, kernel = false, receives = false;

	for (size_t i = 0; s->final && i < s->plan->n; i++) {
		gso |= s->final[i].udp.gso;
		gro |= s->final[i].udp.gro;
		kernel |= s->final[i].udp.kernel_time;
		receives |= !s->flows[i].sender;
	}
	jw_u64(w, "len", s->plan->flows[0].len);
	jw_u64(w, "rate_bps", s->plan->flows[0].rate_bps);
	if (!s->final)
		return;
	jw_str(w, "offload",
	       gso && gro ? "UDP_SEGMENT, UDP_GRO"
	       : gso      ? "UDP_SEGMENT"
	       : gro      ? "UDP_GRO"
			  : "none");
	if (receives)
		jw_str(w, "jitter_clock", kernel ? "SO_TIMESTAMPNS" : "CLOCK_MONOTONIC");
	far_words(s, w);
}

void session_note_params(struct session *s, uint32_t part, const char *cc_far)
{
	struct buf b = {0};
	struct jw w = jw_init(&b);

	jw_obj(&w, NULL);
	if (s->udp)
		udp_params(s, &w);
	else
		tcp_params(s, &w, cc_far);
	jw_u64(&w, "sndbuf", s->flows[0].applied.sndbuf);
	jw_u64(&w, "rcvbuf", s->flows[0].applied.rcvbuf);
	jw_u64(&w, "workers", net_engine_workers(s->en));
	jw_end_obj(&w);
	if (!b.failed)
		s->ms->run->parts[part].params = model_run_str(s->ms->run, b.data);
	buf_fini(&b);
}

/* The control connection carries no load yet: its own estimate is the idle round trip. */
void session_note_idle_rtt(struct session *s)
{
	struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	struct net_tcp_info info;
	int len = net_tcp_info_get(s->ps->ctl_fd, &info);
	uint32_t us = 0;

	if (len > 0 && NET_HAS((size_t)len, min_rtt_us) && info.min_rtt_us != UINT32_MAX)
		us = info.min_rtt_us;
	else if (len > 0 && NET_HAS((size_t)len, rtt_us))
		us = info.rtt_us;
	if (us)
		measure_value(s->ms->run, s->part_load, "tcp.rtt_idle", d, STAT_VALUE,
			      MODEL_MEASURED, (double)us * 1e-6);
}

static void record_rtt(struct session *s, size_t i, const struct net_flow_sample *f)
{
	struct hist *h = s->tcp_rtt[s->flows[i].dir];

	if (h && s->flows[i].sender && NET_HAS((size_t)f->info_len, rtt_us) && f->info.rtt_us)
		hist_record(h, f->info.rtt_us * 1000ULL);
}

/* Of some flows in turn: a look at thousands of them would be a load of its own. */
void session_look_at_rtts(struct session *s)
{
	size_t n = s->plan->n < RTT_FLOWS ? s->plan->n : RTT_FLOWS;
	struct net_flow_sample f;

	for (size_t k = 0; k < n; k++) {
		size_t i = s->rtt_next++ % s->plan->n;

		if (!s->flows[i].sender)
			continue;
		net_engine_sample(s->en, i, &f);
		record_rtt(s, i, &f);
	}
}

/* Over before the first look at its round trips: the last reading is all there is. */
void session_last_look(struct session *s)
{
	bool none[2] = {true, true};

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++)
		none[dir] = s->tcp_rtt[dir] && !hist_count(s->tcp_rtt[dir]);
	for (size_t i = 0; s->last && i < s->plan->n; i++) {
		if (none[s->flows[i].dir])
			record_rtt(s, i, &s->last->s[i]);
	}
}

/* The kernel let them grow: what they became is what mattered. */
void session_note_windows(struct session *s)
{
	for (size_t i = 0; i < s->plan->n; i++) {
		struct net_applied now;

		if (s->plan->flows[i].window)
			continue;
		net_tcp_applied(net_engine_fd(s->en, i), &s->plan->flows[i], &now);
		s->flows[i].applied.sndbuf = now.sndbuf;
		s->flows[i].applied.rcvbuf = now.rcvbuf;
	}
}

void session_note_rtts(struct session *s)
{
	struct model_dims near = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct model_dims d = model_dims_with(near, DIM_DIR, dir);

		if (s->tcp_rtt[dir])
			measure_add_rtt(s->ms->run, s->part_load, "tcp.rtt_loaded", &d,
					s->tcp_rtt[dir]);
		s->tcp_rtt[dir] = NULL;
	}
	if (s->ctl_rtt)
		measure_add_rtt(s->ms->run, s->part_load, "ctl.rtt", &near, s->ctl_rtt);
	s->ctl_rtt = NULL;
}
