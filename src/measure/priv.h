/* SPDX-License-Identifier: BSD-2-Clause */
/* measure's private pieces: columns of samples, results of a session, the far end's run. */
#ifndef WEIR_MEASURE_PRIV_H
#define WEIR_MEASURE_PRIV_H

#include "measure/measure.h"

/* One direction of one flow at this end. */
struct measure_flow {
	int dir; /* MODEL_UP, MODEL_DOWN */
	bool sender, udp;
	uint32_t len;    /* UDP: bytes a datagram */
	uint32_t hellos; /* seen on its socket */
	struct net_applied applied;
};

/* Writes a phase's ticks into the run: one axis, a frame a flow, a frame for the processor. */
struct measure_recorder;
int measure_recorder_new(struct model_run *run, const struct measure_flow *flows, size_t n,
			 int64_t run_start_ns, struct measure_recorder **out);
void measure_recorder_free(struct measure_recorder *rec);
/* What this host did since the last tick, in every tick from now on: row gives its values in the order
 * of metrics (at most MEASURE_HOST_COLS) and which are known. Before the first phase. */
#define MEASURE_HOST_COLS 16
typedef void (*measure_host_row)(void *arg, union model_value *v, uint64_t *valid);
void measure_recorder_host(struct measure_recorder *rec, const char *const *metrics, size_t n,
			   measure_host_row row, void *arg);
/* A new axis for the part; the next tick's deltas are taken from the last one. */
int measure_recorder_phase(struct measure_recorder *rec, uint32_t part, bool omitted);
/* Appends the tick and passes it to the sink. The recorder keeps `take_tick` as the new base. */
int measure_recorder_tick(struct measure_recorder *rec, struct net_tick *take_tick,
			  int64_t nominal_ns, struct sink *sink);
/* The last reading (borrowed), or NULL. */
const struct net_tick *measure_recorder_last(const struct measure_recorder *rec);

/* What a finished load phase of this end amounts to. */
struct measure_totals {
	uint32_t part;
	const struct net_tick *from, *to; /* readings at the phase's two ends */
	/* UDP: a reading a flow after the last datagram; what was on its way at `to` is not lost. */
	const struct net_flow_sample *final;
	int64_t host_drops; /* UDP: at all sockets of this host; -1 = not known */
	bool omitted;       /* a warm-up came before */
	double seconds;
};
/* Summaries of this end's view: a row a direction, a row a flow, the processor. */
int measure_add_near(struct model_run *run, const struct measure_totals *t,
		     const struct measure_flow *flows, size_t n);
/* The same of the other end, as its protocol told; `flows` are this end's. */
int measure_add_told(struct model_run *run, const struct measure_totals *t,
		     const struct measure_flow *flows, size_t n, const struct proto_result *r);
/* Histogram of round trips into summaries and the run; takes h. */
int measure_add_rtt(struct model_run *run, uint32_t part, const char *metric,
		    const struct model_dims *dims, struct hist *take_h);
/* Events (notes.c): zero-copy sends that were copied, flows that moved nothing, other tests at the
 * same time, more received at one end than the other sent. */
void measure_note_zerocopy(struct model_run *run, struct sink *sink,
			   const struct measure_totals *t);
void measure_note_stalls(struct model_run *run, struct sink *sink, const struct measure_totals *t);
void measure_note_overlap(struct model_run *run, struct sink *sink, uint32_t part,
			  const _Atomic int *overlap);
void measure_note_told(struct model_run *run, struct sink *sink, const struct measure_totals *t,
		       const struct measure_flow *flows, size_t n,
		       const struct proto_result *theirs);
/* This end's result for the wire. */
int measure_result(const struct measure_totals *t, const struct measure_flow *flows, size_t n,
		   struct proto_result *out);
int measure_value(struct model_run *run, uint32_t part, const char *metric, struct model_dims dims,
		  enum model_stat stat, enum model_prov prov, double v);

/* Copies frames, summaries and events of the far end's own run, flipped to its view. */
int measure_merge_far(struct model_run *run, struct sink *sink, const struct model_run *far,
		      uint32_t part, const struct proto_session *ps);

/* UDP (udp_result.c): this end's view of its flows, what went wrong, and the other end's view. */
void measure_udp_near(struct model_run *run, const struct measure_totals *t,
		      const struct measure_flow *flows, size_t n);
void measure_udp_told(struct model_run *run, const struct measure_totals *t,
		      const struct measure_flow *flows, size_t n, const struct proto_result *r);
void measure_udp_wire(const struct measure_totals *t, const struct measure_flow *f, size_t i,
		      struct proto_flow_result *out);
void measure_udp_pacing(struct model_run *run, const struct measure_totals *t,
			const struct measure_flow *flows, size_t n, const struct net_engine *en);
void measure_udp_events(struct model_run *run, struct sink *sink, const struct measure_totals *t,
			const struct measure_flow *flows, size_t n, const struct flow_plan *plan);
struct model_dims measure_view_dims(int dir, bool sender, int end);

void measure_event(struct model_run *run, struct sink *sink, uint32_t part,
		   enum model_warn_code code, int64_t t, const char *fmt, ...) PRINTF_LIKE(6, 7);

/* A run of this kind with id, start, tags, and facts of this host (JSON; NULL = looked up now). */
struct model_run *measure_run_new(const char *kind, const char *facts, const struct model_kv *tags,
				  size_t n_tags);
/* The facts of this host again, with those of the interface towards a connection's peer. */
void measure_note_link(struct model_run *run, int fd);

/* ---- what measurements with iperf3's letters share (args.c, client.c) ---- */

struct measure_rate { /* "RATE" or "RATE/BLOCKS" */
	uint64_t bps; /* 0 = unlimited */
	uint32_t burst;
	bool given;
};
int measure_parse_rate(void *field, const char *arg, struct weir_err *e);
void measure_rate_json(struct jw *w, const char *key, const void *field);
/* Into an int64_t: the traffic class byte, by itself or from a code point. */
int measure_parse_tos(void *field, const char *arg, struct weir_err *e);
int measure_parse_dscp(void *field, const char *arg, struct weir_err *e);
void measure_tos_json(struct jw *w, const char *key, const void *field);
/* n flows take ports from there on. */

struct measure_client {
	const char *host, *proto, *bind, *bind_dev;
	int family;
	int64_t port, cport, workers, timeout_ns;
	bool pin, trial;
};
/* One session as a part of ctx->run, called name. */
int measure_client_run(struct measure_ctx *ctx, const struct measure_client *c,
		       struct flow_plan *plan, const char *name, int64_t start_ns,
		       struct weir_err *e);
void measure_note_request(struct model_run *run, const struct opt_set *set);
/* An event where a sender stayed under want bit/s (0 = none asked), or the test under a second. */
void measure_note_rate(struct measure_ctx *ctx, double want);
void measure_note_short(struct measure_ctx *ctx);

/* ---- searching for a rate (search.c) ---- */

enum measure_trial { /* what a trial says, and where it gave out */
		     MEASURE_TRIAL_PASS,
		     MEASURE_TRIAL_PATH,     /* loss on the way */
		     MEASURE_TRIAL_QUEUE,    /* none yet, but less came than was sent */
		     MEASURE_TRIAL_RECEIVER, /* loss at the receiver's socket */
		     MEASURE_TRIAL_SENDER,   /* the rate was not reached */
};

struct measure_search_cfg {
	double lo, hi, start;
	double resolution;   /* width of the bracket, relative */
	unsigned confirm;    /* times that the result must pass again; what failed above it, once */
	unsigned max_trials; /* then the search ends without confirmation */
};
struct measure_search {
	struct measure_search_cfg cfg;
	double rate;         /* the next trial's */
	double pass, before; /* the highest that passed, and the one before; 0 = none */
	double fail, above;  /* the lowest that failed, and the one before; 0 = none */
	unsigned confirmed, trials;
	unsigned refused, refuted;   /* times that fail failed; that one passed after all */
	unsigned fail_at, above_at;  /* trials, counted from 0, in which these failed last */
	enum measure_trial limit;    /* what the lowest failure was; PASS = nothing failed */
	enum measure_trial limit_at; /* of above */
	bool done;
	bool found;   /* pass holds: confirmed, with a failure close above it or at cfg.hi */
	bool nothing; /* even cfg.lo failed */
};
void measure_search_init(struct measure_search *s, const struct measure_search_cfg *cfg);
/* False: it is over. */
bool measure_search_next(const struct measure_search *s, double *rate);
void measure_search_told(struct measure_search *s, enum measure_trial t);

/* Copies; NULL = none. */
void measure_set_experiment(struct model_run *run, const struct model_experiment *exp);

#endif
