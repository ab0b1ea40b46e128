/* SPDX-License-Identifier: BSD-2-Clause */
/* One test's state, which session.c moves along, session_note.c tells of and session_end.c ends. */
#ifndef WEIR_MEASURE_SESSION_H
#define WEIR_MEASURE_SESSION_H

#include "measure/priv.h"

enum phase { PHASE_OMIT, PHASE_LOAD, PHASE_DONE };

struct session_disproved { /* a sender's count below what came; came 0 = none */
	size_t flow;
	uint64_t sent, came;
};

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
	int64_t host_drops[2];         /* UDP, of this host: at the load's begin, and then */
	struct session_host *host;     /* what else this host did; NULL = not known */
	struct hist *ctl_rtt, *tcp_rtt[2];
	enum phase phase;
	uint32_t part_omit, part_load;
	const char *load_name;
	int64_t interval_ns, go_ns, omit_end_ns, load_end_ns, probe_ns;
	size_t rtt_next; /* the flow whose turn it is */
	uint64_t moved;  /* bytes at moved_ns, when some were seen to move last */
	int64_t moved_ns;
	int64_t rate_ns; /* since when rate_moved grows, for a bound on the rate */
	uint64_t rate_moved;
	bool peer_ended, stopped, gone;
	bool unmeasured; /* cut short in the warm-up: there is no figure */
	struct session_disproved disproved;
	struct weir_err peer_err;
};

static inline bool session_is_client(const struct session *s)
{
	return s->ps->role == PROTO_CLIENT;
}

static inline int64_t session_time(const struct session *s, int64_t mono_ns)
{
	return mono_ns - s->ms->run_start_ns;
}

static inline bool session_only_receives(const struct session *s)
{
	return flow_plan_count(s->plan, session_is_client(s) ? NET_UP : NET_DOWN) == 0;
}

static inline bool session_is_counted(const struct session *s)
{
	return s->plan->bytes || s->plan->blocks;
}

/* ---- session_note.c: what was asked, what the kernel made of it, round trips ---------- */

void session_note_lowered(struct session *s);
/* What the kernel made of the wishes, once a direction. */
void session_note_applied(struct session *s);
/* What holds for the whole part and is no figure; cc_far NULL = not known yet. */
void session_note_params(struct session *s, uint32_t part, const char *cc_far);
void session_note_idle_rtt(struct session *s);
/* The buffers that the kernel let grow. */
void session_note_windows(struct session *s);
/* Ten times a second, and once more where that was never. */
void session_look_at_rtts(struct session *s);
void session_last_look(struct session *s);
/* The histograms into the run; they are gone then. */
void session_note_rtts(struct session *s);

/* ---- session_host.c: this host's counters at the load's two ends ---------------------- */

void session_host_open(struct session *s);
void session_host_from(struct session *s);
void session_host_to(struct session *s);
void session_host_figures(struct session *s); /* into the run */
void session_host_close(struct session *s);

/* ---- session_end.c -------------------------------------------------------------------- */

/* After the load: both ends' results, of UDP also what was still on its way. */
void session_finish(struct session *s);

#endif
