/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a session: results change hands, and of UDP what was still on its way is waited for,
 * since only the sender's last count tells what was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "measure/session.h"

#define DRAIN_NS     NSEC_PER_SEC
#define LAST_WORD_NS NSEC_PER_SEC
#define LEFT_MAX     1000 /* datagrams that nobody read */

/* Of a count that this end only receives, the period ends with the last byte: that it was the last
 * is known later. */
static int64_t period_end(const struct session *s)
{
	bool by_data = session_is_counted(s) || s->ps->proto->data_ends;
	int64_t end = 0;

	for (size_t i = 0; by_data && session_only_receives(s) && i < s->plan->n; i++) {
		if (s->last->s[i].last_ns > end)
			end = s->last->s[i].last_ns;
	}
	return end > s->base->t1 ? end : s->last->t1;
}

/* Data that came before this end was ready to count it is in the count. */
static int64_t period_begin(const struct session *s)
{
	int64_t began = s->ps->began_ns;

	return began && began < s->base->t1 ? began : s->base->t1;
}

static struct measure_totals totals(const struct session *s)
{
	const int64_t *drops = s->host_drops;

	return (struct measure_totals){
		.part = s->part_load,
		.from = s->base,
		.to = s->last,
		.final = s->final,
		.host_drops = drops[0] < 0 || drops[1] < drops[0] ? -1 : drops[1] - drops[0],
		.omitted = s->plan->omit_ns > 0,
		.seconds = (double)(period_end(s) - period_begin(s)) * 1e-9};
}

/* Announces the end, exchanges results. A failure costs the far end's figures, not ours. */
static int exchange(struct session *s, struct proto_result *theirs, struct weir_err *e)
{
	struct measure_totals t = totals(s);
	struct proto_result mine;
	int rc = measure_result(&t, s->flows, s->plan->n, &mine);

	if (rc < 0)
		return rc;
	if (!session_is_client(s) && !s->peer_ended && !s->ps->proto->data_ends)
		rc = -ECANCELED;
	if (rc >= 0 && session_is_client(s))
		rc = s->ps->proto->end(s->ps, &mine, e);
	/* iperf3 reads whole blocks: without an end of the stream it would wait for the rest of one.
	 * The server ends all streams, as iperf3's does: a client's ports (--cport) are free again. */
	if (!session_is_client(s) && s->ps->load_over)
		s->ps->load_over(s->ps->arg);
	if (!session_is_client(s))
		net_engine_finish(s->en);
	else if (!s->udp)
		net_engine_finish_senders(s->en);
	if (rc >= 0)
		rc = s->ps->proto->exchange(s->ps, &mine, theirs, e);
	proto_result_fini(&mine);
	return rc;
}

/* Bytes that a receiving flow can still expect, by its sender's own count. */
static uint64_t flow_wants(const struct session *s, size_t i, const struct proto_result *theirs)
{
	struct net_flow_sample f;

	/* It stood in the last datagram. */
	if (!s->flows[i].sender && s->plan->flows[i].udp_form == NET_UDP_IPERF2) {
		net_engine_sample(s->en, i, &f);
		return f.udp.fin * s->flows[i].len;
	}
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
	uint8_t b[NET_UDP_HELLO_MAX];
	ssize_t n = 0;

	for (int k = 0; s->ps->hello_again && k < LEFT_MAX && (n >= 0 || errno != EAGAIN); k++) {
		n = recv(net_engine_fd(s->en, i), b, sizeof(b), MSG_DONTWAIT | MSG_TRUNC);
		if (n > 0 && (size_t)n <= sizeof(b))
			s->ps->hello_again(s->ps->arg, net_engine_fd(s->en, i), b, (size_t)n);
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

/* A receiving flow's account is closed by its sender's count. While there is none, it stays open. */
static void close_account(struct session *s, size_t i, const struct proto_result *theirs, bool last)
{
	bool by_peer = i < theirs->n && theirs->flows[i].udp;
	struct net_flow_sample f;
	uint64_t sent;
	int rc;

	net_engine_sample(s->en, i, &f);
	if (s->flows[i].sender || (!f.udp.fin && !by_peer && !last))
		return;
	sent = f.udp.fin ? f.udp.fin : by_peer ? (uint64_t)theirs->flows[i].packets : f.udp.highest;
	rc = net_engine_udp_final(s->en, i, sent);
	if (rc == -ERANGE && !s->disproved.came)
		s->disproved = (struct session_disproved){i, sent, f.udp.highest};
}

/* Waits for what is on its way, stops, and reads what there was in all. */
static void settle(struct session *s, const struct proto_result *theirs, bool last)
{
	uint64_t *want = calloc(s->plan->n, sizeof(*want));
	struct net_flow_sample *final = calloc(s->plan->n, sizeof(*final));
	bool told = theirs->n > 0 || s->ps->proto->data_ends;

	for (size_t i = 0; want && i < s->plan->n; i++)
		want[i] = flow_wants(s, i, theirs);
	if (!s->final && !s->gone)
		net_engine_drain(s->en, told ? want : NULL, clk_mono_ns() + DRAIN_NS);
	if (!s->final) {
		net_engine_stop(s->en);
		s->host_drops[1] = net_udp_host_drops();
	}
	for (size_t i = 0; final && i < s->plan->n; i++) {
		close_account(s, i, theirs, last);
		net_engine_sample(s->en, i, &final[i]);
		keep_of_socket(s, i, &final[i].udp);
	}
	if (!session_is_client(s) && !s->final)
		free_ports(s);
	free(s->final);
	s->final = final;
	free(want);
}

/* What this end found by itself, whatever the transport. */
static void near(struct session *s, const struct measure_totals *t)
{
	if (!s->unmeasured) {
		measure_add_near(s->ms->run, t, s->flows, s->plan->n);
		session_host_figures(s);
	}
	session_note_rtts(s);
	if (!s->unmeasured)
		measure_note_stalls(s->ms->run, s->ms->sink, t);
	measure_note_overlap(s->ms->run, s->ms->sink, t->part, s->ms->overlap);
}

/* A count that this end knows better: either it is wrong, or what came beyond it is not of the flow. */
static void note_disproved(struct session *s)
{
	const struct session_disproved *d = &s->disproved;
	bool left_out;

	if (!d->came || !s->final)
		return;
	left_out = s->final[d->flow].udp.highest == d->sent;
	measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_PEER_FIGURE, MODEL_NO_TIME,
		      "flow %zu: its sender counts %llu datagrams, but number %llu came: %s",
		      d->flow, (unsigned long long)d->sent, (unsigned long long)d->came,
		      left_out ? "what is beyond was left out"
			       : "the loss is by what came, and may be wrong");
}

static void udp_near(struct session *s)
{
	struct measure_totals t = totals(s);

	near(s, &t);
	note_disproved(s);
	if (s->final && !s->unmeasured) {
		measure_udp_pacing(s->ms->run, &t, s->flows, s->plan->n, s->en);
		measure_udp_events(s->ms->run, s->ms->sink, &t, s->flows, s->plan->n, s->plan);
	}
	session_note_params(s, s->part_load, NULL);
}

/* The sender's count ends the account. A native server has it before the results; everybody else
 * with them. */
static int udp_exchange(struct session *s, struct proto_result *theirs, struct weir_err *e)
{
	struct proto_result early = {0};
	bool lines = s->ps->proto->lines && !session_is_client(s);
	int rc;

	if (s->ps->far_result)
		early = *s->ps->far_result;
	if (!session_is_client(s))
		settle(s, &early, lines);
	if (lines) {
		udp_near(s);
		if (s->ms->sink && !s->gone)
			s->ms->sink->end(s->ms->sink, s->ms->run);
	}
	rc = s->gone ? -EPIPE : exchange(s, theirs, e);
	if (!lines) {
		settle(s, theirs, true);
		udp_near(s);
	}
	return rc;
}

static int tcp_exchange(struct session *s, struct proto_result *theirs, struct weir_err *e)
{
	struct measure_totals t = totals(s);
	int rc;

	near(s, &t);
	measure_note_zerocopy(s->ms->run, s->ms->sink, &t);
	/* A server's sink is the wire: what this end found goes out before the results. */
	if (!session_is_client(s) && s->ms->sink && !s->gone)
		s->ms->sink->end(s->ms->sink, s->ms->run);
	rc = s->gone ? -EPIPE : exchange(s, theirs, e);
	/* A client that is told to stop must read that before its data connections break. */
	if (s->stopped && !session_is_client(s))
		net_wait_readable(s->ps->ctl_fd, clk_mono_ns() + LAST_WORD_NS, -1);
	net_engine_stop(s->en);
	return rc;
}

static void told(struct session *s, const struct proto_result *theirs)
{
	struct measure_totals t = totals(s);

	/* A native peer's own run says it all, and better; when it came. */
	const struct model_run *far = s->ms->far ? model_ndjson_run(s->ms->far) : NULL;

	if (s->unmeasured)
		return;
	if (!s->ps->proto->lines || !far || !far->n_sums)
		measure_add_told(s->ms->run, &t, s->flows, s->plan->n, theirs);
	measure_note_told(s->ms->run, s->ms->sink, &t, s->flows, s->plan->n, theirs);
	session_note_params(s, s->part_load, theirs->cc);
}

void session_finish(struct session *s)
{
	struct proto_result theirs = {0};
	struct weir_err e = {0};
	int rc = (s->udp ? udp_exchange : tcp_exchange)(s, &theirs, &e);

	if (!session_is_client(s)) /* for the log: the client knows by itself */
		session_note_lowered(s);
	if (s->ps->missing[0])
		measure_event(s->ms->run, s->ms->sink, s->part_load, WARN_MISSING_SIDE,
			      MODEL_NO_TIME, "%s", s->ps->missing);
	if (rc >= 0) {
		told(s, &theirs);
	} else if (!s->gone && !(s->stopped && !session_is_client(s))) {
		bool words = e.code == EPROTO || e.code == EMSGSIZE || e.code == ERANGE ||
			     e.code == EINVAL; /* there were some, and no results */

		measure_event(s->ms->run, s->ms->sink, s->part_load,
			      words ? WARN_MISSING_SIDE : WARN_PEER_GONE, MODEL_NO_TIME,
			      "no results from the peer: %s", e.msg);
	}
	if (rc < 0)
		s->gone = true;
	proto_result_fini(&theirs);
}
