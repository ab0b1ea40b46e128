/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One test from open sockets to results, the same for client and server: the engine moves the
 * data, the sampler reads it, the protocol says when to begin and end, and this file's one loop
 * waits for whichever speaks next. It is the only place that knows all of them.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "measure/priv.h"

#define SERVER_GRACE_NS    (40 * NSEC_PER_SEC) /* iperf3's own margin over the agreed time */
#define DRAIN_NS           NSEC_PER_SEC
#define LAST_WORD_NS       NSEC_PER_SEC
#define DRAIN_IDLE_NS      (100 * NSEC_PER_MSEC)
#define DRAIN_LOOK_NS      NSEC_PER_MSEC
#define PROBE_NS           (100 * NSEC_PER_MSEC)
#define RTT_FLOWS          64
#define SERVER_INTERVAL_NS NSEC_PER_SEC /* for clients that do not say theirs */
#define DRY_NS             NSEC_PER_SEC /* the rest of a count will not come */

#define LEFT_MAX 1000 /* datagrams that nobody read */

enum phase { PHASE_OMIT, PHASE_LOAD, PHASE_DONE };

struct session {
	struct measure_session *ms;
	struct proto_session *ps;
	const struct flow_plan *plan;
	struct measure_flow *flows;
	struct net_engine *en;
	struct net_sampler *sm;
	struct measure_recorder *rec;
	struct net_tick *base, *last; /* readings at the load's two ends; copies */
	bool udp;
	struct net_flow_sample *final; /* UDP: after the last datagram */
	struct hist *ctl_rtt, *tcp_rtt[2];
	enum phase phase;
	uint32_t part_omit, part_load;
	const char *load_name;
	int64_t interval_ns, go_ns, omit_end_ns, load_end_ns, probe_ns;
	size_t rtt_next; /* the flow whose turn it is */
	uint64_t moved;  /* bytes at moved_ns, when some were seen to move last */
	int64_t moved_ns;
	bool peer_ended, stopped, gone;
	struct weir_err peer_err;
};

static bool is_client(const struct session *s)
{
	return s->ps->role == PROTO_CLIENT;
}

static int64_t run_time(const struct session *s, int64_t mono_ns)
{
	return mono_ns - s->ms->run_start_ns;
}

/* ---- opening -------------------------------------------------------------------- */

static int add_flows(struct session *s, struct weir_err *e)
{
	for (size_t i = 0; i < s->plan->n; i++) {
		const struct flow_spec *spec = &s->plan->flows[i];
		struct measure_flow *f = &s->flows[i];
		int fd = s->ps->fds[i];

		f->dir = spec->dir == NET_UP ? MODEL_UP : MODEL_DOWN;
		f->sender = (spec->dir == NET_UP) == is_client(s);
		f->udp = spec->transport == NET_UDP;
		f->len = spec->len;
		if (f->udp)
			net_udp_applied(fd, spec, &f->applied);
		else
			net_tcp_applied(fd, spec, &f->applied);
		s->ps->fds[i] = -1;
		int rc = net_engine_add(s->en, fd, spec, f->sender, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int open_engine(struct session *s, struct weir_err *e)
{
	struct net_engine_cfg cfg = {.workers = s->ms->workers, .pin = s->ms->pin};
	int rc;

	/* The end that sends keeps the count exact; a client that only receives ends by it. */
	cfg.limit_bytes = s->plan->bytes;
	cfg.limit_blocks = s->plan->blocks;
	cfg.limit_later = s->plan->omit_ns > 0;
	rc = net_engine_new(&cfg, &s->en, e);
	if (rc < 0)
		return rc;
	rc = add_flows(s, e);
	if (rc < 0)
		return rc;
	rc = net_engine_prepare(s->en, e);
	if (rc < 0)
		return rc;
	rc = net_sampler_new(s->en, s->interval_ns, &s->sm, e);
	if (rc < 0)
		return rc;
	return measure_recorder_new(s->ms->run, s->flows, s->plan->n, s->ms->run_start_ns, &s->rec);
}

static void note_lowered(struct session *s)
{
	if (s->ps->lowered[0])
		measure_event(s->ms->run, is_client(s) ? s->ms->sink : NULL, s->part_load, WARN_CAP,
			      MODEL_NO_TIME, "%s", s->ps->lowered);
}

/* What the kernel made of the wishes, once a direction: events, and the load part's params. */
static void note_applied(struct session *s)
{
	const struct flow_spec *spec = &s->plan->flows[0];
	const struct net_applied *a = &s->flows[0].applied;

	if (a->cc_refused)
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

/* How datagrams pass the kernel: which offloads this end used. */
static void udp_params(const struct session *s, struct jw *w)
{
	bool gso = false, gro = false;

	for (size_t i = 0; s->final && i < s->plan->n; i++) {
		gso |= s->final[i].udp.gso;
		gro |= s->final[i].udp.gro;
	}
	jw_u64(w, "len", s->plan->flows[0].len);
	jw_u64(w, "rate_bps", s->plan->flows[0].rate_bps);
	if (s->final)
		jw_str(w, "offload",
		       gso && gro ? "UDP_SEGMENT, UDP_GRO"
		       : gso      ? "UDP_SEGMENT"
		       : gro      ? "UDP_GRO"
				  : "none");
}

/* What holds for the whole part and is no figure; cc_far NULL = not known yet. */
static void part_params(struct session *s, uint32_t part, const char *cc_far)
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
static void note_idle_rtt(struct session *s)
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

/* ---- samples -------------------------------------------------------------------- */

static struct net_tick *tick_copy(const struct net_tick *t)
{
	size_t size = sizeof(*t) + t->n * sizeof(t->s[0]);
	struct net_tick *c = malloc(size);

	if (c)
		memcpy(c, t, size);
	return c;
}

static void record_rtt(struct session *s, size_t i, const struct net_flow_sample *f)
{
	struct hist *h = s->tcp_rtt[s->flows[i].dir];

	if (h && s->flows[i].sender && NET_HAS((size_t)f->info_len, rtt_us) && f->info.rtt_us)
		hist_record(h, f->info.rtt_us * 1000ULL);
}

/* Of some flows in turn: a look at thousands of them would be a load of its own. */
static void look_at_rtts(struct session *s)
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

static void take_ticks(struct session *s)
{
	struct net_tick *t;

	while ((t = net_sampler_next(s->sm))) {
		if (t->late)
			measure_event(s->ms->run, s->ms->sink,
				      s->phase == PHASE_OMIT ? s->part_omit : s->part_load,
				      WARN_LATE_SAMPLE, run_time(s, t->t1), NULL);
		measure_recorder_tick(s->rec, t, s->interval_ns, s->ms->sink);
	}
}

/* Ends the present phase with a reading; a copy of it goes to *keep. Returns its time. */
static int64_t cut(struct session *s, struct net_tick **keep)
{
	int64_t t = net_sampler_cut(s->sm);

	take_ticks(s);
	if (keep && measure_recorder_last(s->rec)) {
		free(*keep);
		*keep = tick_copy(measure_recorder_last(s->rec));
	}
	return t;
}

static int begin_phase(struct session *s, enum phase phase, int64_t now)
{
	bool omit = phase == PHASE_OMIT;
	enum model_part_kind kind = s->ms->trial && !omit ? PART_TRIAL : PART_PHASE;
	int part = model_add_part(s->ms->run, kind, MODEL_NO_PART, omit ? "omit" : s->load_name,
				  run_time(s, now));

	if (part < 0)
		return part;
	s->phase = phase;
	*(omit ? &s->part_omit : &s->part_load) = (uint32_t)part;
	part_params(s, (uint32_t)part, NULL);
	part = measure_recorder_phase(s->rec, (uint32_t)part, omit);
	if (part >= 0 && s->ms->sink && !s->ms->begun)
		s->ms->sink->begin(s->ms->sink, s->ms->run);
	s->ms->begun = true;
	return part;
}

static int begin_load(struct session *s, int64_t now)
{
	int rc = begin_phase(s, PHASE_LOAD, now);

	if (rc < 0)
		return rc;
	note_idle_rtt(s);
	note_applied(s);
	if (is_client(s))
		note_lowered(s);
	if (s->plan->duration_ns)
		s->load_end_ns = now + s->plan->duration_ns;
	else
		s->load_end_ns = INT64_MAX;
	if (s->plan->duration_ns)
		net_sampler_until(s->sm, s->load_end_ns);
	if (!is_client(s) && s->load_end_ns != INT64_MAX)
		s->load_end_ns += SERVER_GRACE_NS;
	return 0;
}

static int go(struct session *s, struct weir_err *e)
{
	int rc;

	s->go_ns = clk_mono_ns();
	rc = net_sampler_start(s->sm, s->go_ns, e);
	if (rc < 0)
		return rc;
	s->go_ns = cut(s, &s->base);
	net_engine_go(s->en);
	s->probe_ns = s->go_ns + PROBE_NS;
	s->omit_end_ns = s->go_ns + s->plan->omit_ns;
	s->moved_ns = s->go_ns;
	if (s->plan->omit_ns <= 0)
		return begin_load(s, s->go_ns);
	net_sampler_until(s->sm, s->omit_end_ns);
	return begin_phase(s, PHASE_OMIT, s->go_ns);
}

/* ---- the loop ------------------------------------------------------------------- */

static void on_stop(struct session *s)
{
	s->stopped = true;
	s->ps->stop_fd = -1; /* seen: what follows is bounded by deadlines */
	measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_INTERRUPTED,
		      run_time(s, clk_mono_ns()), NULL);
	if (!is_client(s))
		s->ps->proto->say(s->ps, PROTO_SAY_STOPPED);
}

static void on_control(struct session *s)
{
	enum proto_event ev = PROTO_EV_NONE;
	int rc = s->ps->proto->on_control(s->ps, &ev, &s->peer_err);
	int64_t rtt;

	if (rc < 0 && ev == PROTO_EV_NONE)
		ev = PROTO_EV_GONE;
	if (s->ps->proto->pong && (rtt = s->ps->proto->pong(s->ps)) > 0 && s->phase == PHASE_LOAD &&
	    s->ctl_rtt)
		hist_record(s->ctl_rtt, (uint64_t)rtt);
	switch (ev) {
	case PROTO_EV_NONE:
		return;
	case PROTO_EV_END:
		s->peer_ended = true;
		return;
	case PROTO_EV_TERMINATED:
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_PEER_TERMINATED,
			      run_time(s, clk_mono_ns()), NULL);
		break;
	case PROTO_EV_ERROR:
	case PROTO_EV_GONE:
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_PEER_GONE,
			      run_time(s, clk_mono_ns()), "%s", s->peer_err.msg);
		break;
	}
	s->gone = true;
}

/* A receiver's worker tells of hellos; a sender's socket is read by nobody else. */
static bool hello_on(struct session *s, size_t i, uint8_t hello[4])
{
	struct net_flow_sample f;

	if (s->flows[i].sender)
		return recv(net_engine_fd(s->en, i), hello, 4, MSG_DONTWAIT | MSG_TRUNC) == 4;
	net_engine_sample(s->en, i, &f);
	memcpy(hello, f.udp.hello, 4);
	if (f.udp.hellos == s->flows[i].hellos)
		return false;
	s->flows[i].hellos = f.udp.hellos;
	return true;
}

/* A client that vanished may be back with a new test on the same ports. */
static void look_for_hellos(struct session *s)
{
	uint8_t hello[4];

	for (size_t i = 0; s->udp && s->ps->hello_again && i < s->plan->n; i++) {
		if (hello_on(s, i, hello))
			s->ps->hello_again(s->ps->arg, net_engine_fd(s->en, i), hello, 4);
	}
}

/* Round trips, ten times a second: of the control connection and of the flows that send. */
static void probe(struct session *s, int64_t now)
{
	if (now < s->probe_ns)
		return;
	s->probe_ns = now + PROBE_NS;
	if (s->plan->probe != FLOW_PROBE_NONE && s->ps->proto->ping && is_client(s))
		s->ps->proto->ping(s->ps);
	look_for_hellos(s);
	if (s->phase == PHASE_LOAD)
		look_at_rtts(s);
}

static int64_t idle_ns(struct session *s, int64_t now)
{
	uint64_t moved = net_engine_bytes(s->en);

	if (moved != s->moved) {
		s->moved = moved;
		s->moved_ns = now;
	}
	return now - s->moved_ns;
}

static bool only_receives(const struct session *s)
{
	return flow_plan_count(s->plan, is_client(s) ? NET_UP : NET_DOWN) == 0;
}

static bool is_counted(const struct session *s)
{
	return s->plan->bytes || s->plan->blocks;
}

/* A server that moves nothing is held by nobody; a far end that counts from another moment on may
 * have sent its last byte before this end has got as many. */
static bool is_over(struct session *s, int64_t now)
{
	int64_t idle = idle_ns(s, now);

	if (is_client(s))
		return s->phase == PHASE_LOAD && s->plan->omit_ns > 0 && is_counted(s) &&
		       only_receives(s) && idle >= DRY_NS;
	if (!s->ms->idle_ns || idle < s->ms->idle_ns)
		return false;
	measure_event(s->ms->run, s->ms->sink, s->phase == PHASE_OMIT ? s->part_omit : s->part_load,
		      WARN_PEER_GONE, run_time(s, now), "no data for %.3g s", (double)idle * 1e-9);
	s->ps->proto->say(s->ps, PROTO_SAY_FAILED);
	s->gone = true;
	return true;
}

static int poll_timeout_ms(const struct session *s, int64_t now)
{
	int64_t until = s->phase == PHASE_OMIT ? s->omit_end_ns : s->load_end_ns;

	if (s->probe_ns < until)
		until = s->probe_ns;
	if (until == INT64_MAX)
		return 1000;
	if (until <= now)
		return 0;
	until = (until - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return until > 1000 ? 1000 : (int)until;
}

static int end_omit(struct session *s)
{
	int64_t t = cut(s, &s->base);

	/* Of a client that only receives, the count is its own: a server that counted too would start
	 * at another moment, and could end short of it. */
	if (is_client(s) || flow_plan_count(s->plan, NET_UP))
		net_engine_limit(s->en);
	model_end_part(s->ms->run, s->part_omit, run_time(s, t), OUTCOME_COMPLETE);
	return begin_load(s, t);
}

static int run_loop(struct session *s)
{
	struct pollfd p[] = {
		{.fd = s->ps->ctl_fd, .events = POLLIN},
		{.fd = net_sampler_fd(s->sm), .events = POLLIN},
		{.fd = net_engine_done_fd(s->en), .events = POLLIN},
		{.fd = s->ms->stop_fd, .events = POLLIN},
	};
	int rc = 0;

	while (rc >= 0 && !s->peer_ended && !s->gone && !s->stopped) {
		int64_t now = clk_mono_ns();

		if (s->phase == PHASE_OMIT && now >= s->omit_end_ns)
			rc = end_omit(s);
		if ((s->phase == PHASE_LOAD && now >= s->load_end_ns) || is_over(s, now))
			break;
		probe(s, now);
		if (poll(p, ARRAY_LEN(p), poll_timeout_ms(s, clk_mono_ns())) < 0)
			continue;
		if (p[1].revents)
			take_ticks(s);
		if (p[0].revents)
			on_control(s);
		if (p[3].revents)
			on_stop(s);
		if (p[2].revents) {
			/* A server's flows may end before the client says so. */
			if (is_client(s))
				break;
			p[2].fd = -1;
		}
	}
	return rc;
}

/* ---- ending --------------------------------------------------------------------- */

static uint64_t received(const struct session *s)
{
	struct net_flow_sample f;
	uint64_t sum = 0;

	for (size_t i = 0; i < s->plan->n; i++) {
		if (s->flows[i].sender)
			continue;
		net_engine_sample(s->en, i, &f);
		sum += f.bytes;
	}
	return sum;
}

/* What a client that counts will have sent in all. After a warm-up nobody can tell how much that
 * was: whatever comes. */
static uint64_t counted(const struct session *s)
{
	uint64_t sum = 0;

	if (s->plan->omit_ns > 0)
		return UINT64_MAX;
	for (size_t i = 0; s->ps->far_sent && i < s->plan->n; i++)
		sum += s->flows[i].sender ? 0 : s->ps->far_sent[i];
	return sum              ? sum
	       : s->plan->bytes ? s->plan->bytes
				: s->plan->blocks * s->plan->flows[0].len;
}

/* Data of a counted test may still be on its way when the end is announced. Once nothing comes
 * any more it is lost: waiting on would only make the rate wrong. */
static void drain_counted(struct session *s)
{
	int64_t now = clk_mono_ns(), end = now + DRAIN_NS, idle_end = now + DRAIN_IDLE_NS;
	uint64_t want = counted(s), got = received(s), was;

	if (is_client(s) || !s->peer_ended || !is_counted(s))
		return;
	if (s->plan->omit_ns > 0 && !only_receives(s))
		return;
	while (got < want && now < end && now < idle_end) {
		int64_t look_end = now + DRAIN_LOOK_NS;

		net_engine_drain(s->en, NULL, look_end);
		was = got;
		got = received(s);
		now = clk_mono_ns();
		if (got > was)
			idle_end = now + DRAIN_IDLE_NS;
		else if (now < look_end) /* every stream has ended */
			break;
	}
}

/* Over before the first look at its round trips: the last reading is all there is. */
static void last_look(struct session *s)
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
static void note_windows(struct session *s)
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

static int end_load(struct session *s)
{
	int64_t t;

	if (s->phase == PHASE_OMIT) { /* cut short before the load began */
		int rc = end_omit(s);

		if (rc < 0)
			return rc;
	}
	net_engine_stop_senders(s->en);
	drain_counted(s);
	t = cut(s, &s->last);
	s->phase = PHASE_DONE;
	last_look(s);
	note_windows(s);
	model_end_part(s->ms->run, s->part_load, run_time(s, t),
		       s->gone || s->stopped ? OUTCOME_PARTIAL : OUTCOME_COMPLETE);
	return s->base && s->last ? 0 : -ENOMEM;
}

/* Of a count that this end only receives, the period ends with the last byte: that it was the last
 * is known later. */
static int64_t period_end(const struct session *s)
{
	int64_t end = 0;

	for (size_t i = 0; is_counted(s) && only_receives(s) && i < s->plan->n; i++) {
		if (s->last->s[i].last_ns > end)
			end = s->last->s[i].last_ns;
	}
	return end > s->base->t1 ? end : s->last->t1;
}

static struct measure_totals totals(const struct session *s)
{
	return (struct measure_totals){.part = s->part_load,
				       .from = s->base,
				       .to = s->last,
				       .final = s->final,
				       .omitted = s->plan->omit_ns > 0,
				       .seconds = (double)(period_end(s) - s->base->t1) * 1e-9};
}

static void note_rtts(struct session *s)
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

/* Announces the end, exchanges results. A failure costs the far end's figures, not ours. */
static int exchange(struct session *s, struct proto_result *theirs, struct weir_err *e)
{
	struct measure_totals t = totals(s);
	struct proto_result mine;
	int rc = measure_result(&t, s->flows, s->plan->n, &mine);

	if (rc < 0)
		return rc;
	if (!is_client(s) && !s->peer_ended)
		rc = -ECANCELED;
	if (rc >= 0 && is_client(s))
		rc = s->ps->proto->end(s->ps, &mine, e);
	/* iperf3 reads whole blocks: without an end of the stream it would wait for the rest of one. */
	if (!s->udp)
		net_engine_finish_senders(s->en);
	if (rc >= 0)
		rc = s->ps->proto->exchange(s->ps, &mine, theirs, e);
	proto_result_fini(&mine);
	return rc;
}

/* ---- the end of UDP flows ----------------------------------------------------------- */

/* Bytes that a receiving flow can still expect, by its sender's own count. */
static uint64_t flow_wants(const struct session *s, size_t i, const struct proto_result *theirs)
{
	if (s->flows[i].sender || i >= theirs->n || !theirs->flows[i].udp)
		return 0;
	return (uint64_t)theirs->flows[i].packets * s->flows[i].len;
}

/* What the kernel tells of a socket is known only while it is open. */
static void keep_of_socket(const struct session *s, size_t i, struct net_udp_sample *u)
{
	if (!s->final)
		return;
	u->sock_drops = s->final[i].udp.sock_drops;
	u->path_payload = s->final[i].udp.path_payload;
}

/* A hello that came at the very end is not the worker's any more. */
static void take_last_hellos(struct session *s, size_t i)
{
	uint8_t b[4];
	ssize_t n = 0;

	for (int k = 0; s->ps->hello_again && k < LEFT_MAX && (n >= 0 || errno != EAGAIN); k++) {
		n = recv(net_engine_fd(s->en, i), b, sizeof(b), MSG_DONTWAIT | MSG_TRUNC);
		if (n == sizeof(b))
			s->ps->hello_again(s->ps->arg, net_engine_fd(s->en, i), b, sizeof(b));
	}
}

/* A server's ports are free before its client can know that the test is over: the next test may come
 * from the same one. */
static void free_ports(struct session *s)
{
	net_sampler_stop(s->sm);
	for (size_t i = 0; i < s->plan->n; i++)
		take_last_hellos(s, i);
	net_engine_close(s->en);
}

/* Waits for what is on its way, stops, and reads what there was in all. */
static void settle(struct session *s, const struct proto_result *theirs)
{
	uint64_t *want = calloc(s->plan->n, sizeof(*want));
	struct net_flow_sample *final = calloc(s->plan->n, sizeof(*final));
	bool told = theirs->n > 0;

	for (size_t i = 0; want && i < s->plan->n; i++)
		want[i] = flow_wants(s, i, theirs);
	if (!s->final && !s->gone)
		net_engine_drain(s->en, told ? want : NULL, clk_mono_ns() + DRAIN_NS);
	if (!s->final)
		net_engine_stop(s->en);
	for (size_t i = 0; final && i < s->plan->n; i++) {
		if (!s->flows[i].sender && i < theirs->n && theirs->flows[i].udp)
			net_engine_udp_final(s->en, i, (uint64_t)theirs->flows[i].packets);
		net_engine_sample(s->en, i, &final[i]);
		keep_of_socket(s, i, &final[i].udp);
	}
	if (!is_client(s) && !s->final)
		free_ports(s);
	free(s->final);
	s->final = final;
	free(want);
}

static void udp_near(struct session *s)
{
	struct measure_totals t = totals(s);

	measure_add_near(s->ms->run, &t, s->flows, s->plan->n);
	if (s->final) {
		measure_udp_pacing(s->ms->run, &t, s->flows, s->plan->n, s->en);
		measure_udp_events(s->ms->run, s->ms->sink, &t, s->flows, s->plan->n, s->plan);
	}
	note_rtts(s);
	measure_note_stalls(s->ms->run, s->ms->sink, &t);
	measure_note_overlap(s->ms->run, s->ms->sink, t.part, s->ms->overlap);
	part_params(s, s->part_load, NULL);
}

/* The sender's count ends the account. A native server has it before the results; everybody else
 * with them. */
static int udp_exchange(struct session *s, struct proto_result *theirs, struct weir_err *e)
{
	struct proto_result early = {0};
	bool lines = s->ps->proto->lines && !is_client(s);
	int rc;

	if (s->ps->far_result)
		early = *s->ps->far_result;
	if (!is_client(s))
		settle(s, &early);
	if (lines) {
		udp_near(s);
		if (s->ms->sink && !s->gone)
			s->ms->sink->end(s->ms->sink, s->ms->run);
	}
	rc = s->gone ? -EPIPE : exchange(s, theirs, e);
	if (!lines) {
		settle(s, theirs);
		udp_near(s);
	}
	return rc;
}

/* ---- the end ------------------------------------------------------------------------ */

static int tcp_exchange(struct session *s, struct proto_result *theirs, struct weir_err *e)
{
	struct measure_totals t = totals(s);
	int rc;

	measure_add_near(s->ms->run, &t, s->flows, s->plan->n);
	note_rtts(s);
	measure_note_zerocopy(s->ms->run, s->ms->sink, &t);
	measure_note_stalls(s->ms->run, s->ms->sink, &t);
	measure_note_overlap(s->ms->run, s->ms->sink, t.part, s->ms->overlap);
	/* A server's sink is the wire: what this end found goes out before the results. */
	if (!is_client(s) && s->ms->sink && !s->gone)
		s->ms->sink->end(s->ms->sink, s->ms->run);
	rc = s->gone ? -EPIPE : exchange(s, theirs, e);
	/* A client that is told to stop must read that before its data connections break. */
	if (s->stopped && !is_client(s))
		net_wait_readable(s->ps->ctl_fd, clk_mono_ns() + LAST_WORD_NS, -1);
	net_engine_stop(s->en);
	return rc;
}

static void told(struct session *s, const struct proto_result *theirs)
{
	struct measure_totals t = totals(s);

	/* A native peer's own run says it all, and better; when it came. */
	const struct model_run *far = s->ms->far ? model_ndjson_run(s->ms->far) : NULL;

	if (!s->ps->proto->lines || !far || !far->n_sums)
		measure_add_told(s->ms->run, &t, s->flows, s->plan->n, theirs);
	measure_note_told(s->ms->run, s->ms->sink, &t, s->flows, s->plan->n, theirs);
	part_params(s, s->part_load, theirs->cc);
}

static void finish(struct session *s)
{
	struct proto_result theirs = {0};
	struct weir_err e = {0};
	int rc = (s->udp ? udp_exchange : tcp_exchange)(s, &theirs, &e);

	if (!is_client(s)) /* for the log: the client knows by itself */
		note_lowered(s);
	if (rc >= 0) {
		told(s, &theirs);
	} else if (!s->gone && !(s->stopped && !is_client(s))) {
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_PEER_GONE, MODEL_NO_TIME,
			      "no results from the peer: %s", e.msg);
	}
	if (rc < 0)
		s->gone = true;
	proto_result_fini(&theirs);
}

static void session_fini(struct session *s)
{
	if (s->sm)
		net_sampler_stop(s->sm);
	net_sampler_free(s->sm);
	measure_recorder_free(s->rec);
	net_engine_free(s->en);
	hist_free(s->ctl_rtt);
	hist_free(s->tcp_rtt[0]);
	hist_free(s->tcp_rtt[1]);
	free(s->base);
	free(s->last);
	free(s->final);
	free(s->flows);
}

static int session_init(struct session *s, struct measure_session *ms, const char *name)
{
	const struct flow_plan *plan = ms->proto->plan;

	*s = (struct session){.ms = ms, .ps = ms->proto, .plan = plan, .load_name = name};
	s->part_omit = s->part_load = MODEL_NO_PART;
	s->udp = plan->n && plan->flows[0].transport == NET_UDP;
	s->interval_ns = plan->interval_ns;
	if (!s->interval_ns && ms->proto->role == PROTO_SERVER)
		s->interval_ns = SERVER_INTERVAL_NS;
	s->flows = calloc(plan->n ? plan->n : 1, sizeof(*s->flows));
	s->ctl_rtt = hist_new();
	s->tcp_rtt[0] = hist_new();
	s->tcp_rtt[1] = hist_new();
	return s->flows && s->ctl_rtt && s->tcp_rtt[0] && s->tcp_rtt[1] ? 0 : -ENOMEM;
}

int measure_session_run(struct measure_session *ms, const char *name, struct weir_err *e)
{
	struct session s;
	int rc = session_init(&s, ms, name);

	if (rc >= 0)
		rc = open_engine(&s, e);
	if (rc >= 0)
		rc = ms->proto->proto->start(ms->proto, e);
	if (rc >= 0)
		rc = go(&s, e);
	if (rc >= 0)
		rc = run_loop(&s);
	if (rc >= 0)
		rc = end_load(&s);
	if (rc >= 0) {
		finish(&s);
		ms->run->outcome = s.gone || s.stopped ? OUTCOME_PARTIAL : OUTCOME_COMPLETE;
	} else if (e && !e->code) {
		err_set(e, WEIR_OS, -rc, "the test could not be run: %s", strerror(-rc));
	}
	session_fini(&s);
	return rc;
}
