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

#include "measure/session.h"

#define SERVER_GRACE_NS    (40 * NSEC_PER_SEC) /* iperf3's own margin over the agreed time */
#define DATA_GRACE_NS      NSEC_PER_SEC /* where nothing was agreed: the last data comes later */
#define DRAIN_NS           NSEC_PER_SEC
#define DRAIN_IDLE_NS      (100 * NSEC_PER_MSEC)
#define DRAIN_LOOK_NS      NSEC_PER_MSEC
#define PROBE_NS           (100 * NSEC_PER_MSEC)
#define SERVER_INTERVAL_NS NSEC_PER_SEC /* for clients that do not say theirs */
#define DRY_NS             NSEC_PER_SEC /* the rest of a count will not come */

/* ---- opening -------------------------------------------------------------------- */

static int add_flows(struct session *s, struct weir_err *e)
{
	for (size_t i = 0; i < s->plan->n; i++) {
		const struct flow_spec *spec = &s->plan->flows[i];
		struct measure_flow *f = &s->flows[i];
		int fd = s->ps->fds[i];

		f->dir = spec->dir == NET_UP ? MODEL_UP : MODEL_DOWN;
		f->sender = (spec->dir == NET_UP) == session_is_client(s);
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

static void around(struct session *s, uint32_t part)
{
	const struct measure_hooks *h = s->ms->hooks;

	if (h && h->around)
		h->around(h->arg, s->ms->run, part);
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
	rc = measure_recorder_new(s->ms->run, s->flows, s->plan->n, s->ms->run_start_ns, &s->rec);
	if (rc >= 0)
		session_host_open(s);
	around(s, MODEL_NO_PART);
	return rc;
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

static void take_ticks(struct session *s)
{
	struct net_tick *t;

	const struct measure_hooks *h = s->ms->hooks;

	while ((t = net_sampler_next(s->sm))) {
		if (h && h->tick)
			h->tick(h->arg, t);
		if (t->late)
			measure_event(s->ms->run, s->ms->sink,
				      s->phase == PHASE_OMIT ? s->part_omit : s->part_load,
				      WARN_LATE_SAMPLE, session_time(s, t->t1), NULL);
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
				  session_time(s, now));

	if (part < 0)
		return part;
	s->phase = phase;
	*(omit ? &s->part_omit : &s->part_load) = (uint32_t)part;
	session_note_params(s, (uint32_t)part, NULL);
	part = measure_recorder_phase(s->rec, (uint32_t)part, omit);
	if (part >= 0 && s->ms->sink && !s->ms->begun)
		s->ms->sink->begin(s->ms->sink, s->ms->run);
	s->ms->begun = true;
	return part;
}

/* A server's, over the time of the plan. Nobody else ends what only this end sends on. */
static int64_t grace_ns(const struct session *s)
{
	if (!s->ps->proto->data_ends)
		return SERVER_GRACE_NS;
	return flow_plan_count(s->plan, NET_DOWN) ? 0 : DATA_GRACE_NS;
}

static int begin_load(struct session *s, int64_t now)
{
	int rc = begin_phase(s, PHASE_LOAD, now);

	if (rc < 0)
		return rc;
	session_note_idle_rtt(s);
	session_host_from(s);
	if (s->udp)
		s->host_drops[0] = net_udp_host_drops();
	session_note_applied(s);
	if (session_is_client(s))
		session_note_lowered(s);
	if (s->plan->duration_ns)
		s->load_end_ns = now + s->plan->duration_ns;
	else
		s->load_end_ns = INT64_MAX;
	if (s->plan->duration_ns)
		net_sampler_until(s->sm, s->load_end_ns);
	if (!session_is_client(s) && s->load_end_ns != INT64_MAX)
		s->load_end_ns += grace_ns(s);
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
	for (size_t i = 0; i < s->ps->n_early; i++)
		net_engine_udp_preload(s->en, 0, s->ps->early[i].p, s->ps->early[i].n,
				       s->ps->early[i].arrival_ns);
	net_engine_go(s->en);
	s->probe_ns = s->go_ns + PROBE_NS;
	s->omit_end_ns = s->go_ns + s->plan->omit_ns;
	s->moved_ns = s->rate_ns = s->go_ns;
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
		      session_time(s, clk_mono_ns()), NULL);
	if (!session_is_client(s))
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
			      session_time(s, clk_mono_ns()), NULL);
		break;
	case PROTO_EV_ERROR:
	case PROTO_EV_GONE:
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_PEER_GONE,
			      session_time(s, clk_mono_ns()), "%s", s->peer_err.msg);
		break;
	}
	s->gone = true;
}

/* A receiver's worker tells of hellos; a sender's socket is read by nobody else. */
static uint32_t hello_on(struct session *s, size_t i, uint8_t hello[NET_UDP_HELLO_MAX])
{
	struct net_flow_sample f;

	if (s->flows[i].sender) {
		ssize_t n = recv(net_engine_fd(s->en, i), hello, NET_UDP_HELLO_MAX,
				 MSG_DONTWAIT | MSG_TRUNC);

		return n > 0 && n <= NET_UDP_HELLO_MAX ? (uint32_t)n : 0;
	}
	net_engine_sample(s->en, i, &f);
	memcpy(hello, f.udp.hello, NET_UDP_HELLO_MAX);
	if (f.udp.hellos == s->flows[i].hellos)
		return 0;
	s->flows[i].hellos = f.udp.hellos;
	return f.udp.hello_len;
}

/* A client that vanished may be back with a new test on the same ports. */
static void look_for_hellos(struct session *s)
{
	uint8_t hello[NET_UDP_HELLO_MAX];
	uint32_t n;

	for (size_t i = 0; s->udp && s->ps->hello_again && i < s->plan->n; i++) {
		n = hello_on(s, i, hello);
		if (n)
			s->ps->hello_again(s->ps->arg, net_engine_fd(s->en, i), hello, n);
	}
}

/* Round trips, ten times a second: of the control connection and of the flows that send. */
static void probe(struct session *s, int64_t now)
{
	if (now < s->probe_ns)
		return;
	s->probe_ns = now + PROBE_NS;
	if (s->plan->probe != FLOW_PROBE_NONE && s->ps->proto->ping && session_is_client(s))
		s->ps->proto->ping(s->ps);
	look_for_hellos(s);
	if (s->phase == PHASE_LOAD)
		session_look_at_rtts(s);
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

static void gone_for(struct session *s, int64_t now, enum proto_say say, const char *unit, double n)
{
	measure_event(s->ms->run, s->ms->sink, s->phase == PHASE_OMIT ? s->part_omit : s->part_load,
		      WARN_PEER_GONE, session_time(s, now), "%s %.4g %s",
		      say == PROTO_SAY_RATE ? "more than" : "no data for", n, unit);
	s->ps->proto->say(s->ps, say);
	s->gone = true;
}

/* A caller's own bounds. */
static bool is_out_of_bounds(struct session *s, int64_t now, int64_t idle)
{
	struct measure_hooks *h = s->ms->hooks;
	enum net_dir in = session_is_client(s) ? NET_DOWN : NET_UP;

	if (!h)
		return false;
	if (h->idle_ns && idle >= h->idle_ns && flow_plan_count(s->plan, in)) {
		h->idle = true;
		gone_for(s, now, PROTO_SAY_FAILED, "s", (double)idle * 1e-9);
		return true;
	}
	if (!h->most_bps || now - s->rate_ns < h->most_ns)
		return false;
	if ((double)(s->moved - s->rate_moved) * 8e9 >
	    (double)h->most_bps * (double)(now - s->rate_ns)) {
		h->too_much = true;
		gone_for(s, now, PROTO_SAY_RATE, "bit/s", (double)h->most_bps);
		return true;
	}
	s->rate_ns = now;
	s->rate_moved = s->moved;
	return false;
}

/* A server that moves nothing is held by nobody; a far end that counts from another moment on may
 * have sent its last byte before this end has got as many. */
static bool is_over(struct session *s, int64_t now)
{
	int64_t idle = idle_ns(s, now);

	if (is_out_of_bounds(s, now, idle))
		return true;
	if (session_is_client(s))
		return s->phase == PHASE_LOAD && s->plan->omit_ns > 0 && session_is_counted(s) &&
		       session_only_receives(s) && idle >= DRY_NS;
	if (!s->ms->idle_ns || idle < s->ms->idle_ns)
		return false;
	gone_for(s, now, PROTO_SAY_FAILED, "s", (double)idle * 1e-9);
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
	if (session_is_client(s) || flow_plan_count(s->plan, NET_UP))
		net_engine_limit(s->en);
	model_end_part(s->ms->run, s->part_omit, session_time(s, t), OUTCOME_COMPLETE);
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
			/* A server's flows may end before the client says so; where nothing else
			 * is said, that was it. */
			s->peer_ended |= s->ps->proto->data_ends;
			if (session_is_client(s))
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

	if (session_is_client(s) || !s->peer_ended || !session_is_counted(s))
		return;
	if (s->plan->omit_ns > 0 && !session_only_receives(s))
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

/* Cut short in the warm-up: there was no load, and there is no figure. */
static int end_unmeasured(struct session *s)
{
	int64_t t;

	net_engine_stop_senders(s->en);
	t = cut(s, &s->base);
	s->last = s->base ? tick_copy(s->base) : NULL;
	s->unmeasured = true;
	s->part_load = s->part_omit;
	s->phase = PHASE_DONE;
	model_end_part(s->ms->run, s->part_omit, session_time(s, t), OUTCOME_PARTIAL);
	return s->last ? 0 : -ENOMEM;
}

static int end_load(struct session *s)
{
	int64_t t;

	if (s->phase == PHASE_OMIT)
		return end_unmeasured(s);
	session_host_to(s);
	net_engine_stop_senders(s->en);
	drain_counted(s);
	t = cut(s, &s->last);
	s->phase = PHASE_DONE;
	session_last_look(s);
	session_note_windows(s);
	model_end_part(s->ms->run, s->part_load, session_time(s, t),
		       s->gone || s->stopped ? OUTCOME_PARTIAL : OUTCOME_COMPLETE);
	around(s, s->part_load);
	return s->base && s->last ? 0 : -ENOMEM;
}

/* ---- the whole of it ----------------------------------------------------------------- */

static void session_fini(struct session *s)
{
	if (s->sm)
		net_sampler_stop(s->sm);
	net_sampler_free(s->sm);
	measure_recorder_free(s->rec);
	net_engine_free(s->en);
	session_host_close(s);
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
		session_finish(&s);
		ms->run->outcome = s.gone || s.stopped ? OUTCOME_PARTIAL : OUTCOME_COMPLETE;
	} else if (e && !e->code) {
		err_set(e, WEIR_OS, -rc, "the test could not be run: %s", strerror(-rc));
	}
	session_fini(&s);
	return rc;
}
