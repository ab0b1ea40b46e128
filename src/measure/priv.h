/* SPDX-License-Identifier: BSD-2-Clause */
/* measure's private pieces: columns of samples, results of a session, the far end's run. */
#ifndef WEIR_MEASURE_PRIV_H
#define WEIR_MEASURE_PRIV_H

#include "measure/measure.h"

/* One direction of one flow at this end. */
struct measure_flow {
	int dir; /* MODEL_UP, MODEL_DOWN */
	bool sender;
	struct net_applied applied;
};

/* Writes a phase's ticks into the run: one axis, a frame a flow, a frame for the processor. */
struct measure_recorder;
int measure_recorder_new(struct model_run *run, const struct measure_flow *flows, size_t n,
			 int64_t run_start_ns, struct measure_recorder **out);
void measure_recorder_free(struct measure_recorder *rec);
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
/* This end's result for the wire. */
int measure_result(const struct measure_totals *t, const struct measure_flow *flows, size_t n,
		   struct proto_result *out);
int measure_value(struct model_run *run, uint32_t part, const char *metric, struct model_dims dims,
		  enum model_stat stat, enum model_prov prov, double v);

/* Copies frames, summaries and events of the far end's own run, flipped to its view. */
int measure_merge_far(struct model_run *run, const struct model_run *far, uint32_t part,
		      const struct proto_session *ps);

void measure_event(struct model_run *run, struct sink *sink, uint32_t part,
		   enum model_warn_code code, int64_t t, const char *fmt, ...) PRINTF_LIKE(6, 7);

/* A run of this kind with id, start, tags, and facts of this host (JSON; NULL = looked up now). */
struct model_run *measure_run_new(const char *kind, const char *facts, const struct model_kv *tags,
				  size_t n_tags);

/* Copies; NULL = none. */
void measure_set_experiment(struct model_run *run, const struct model_experiment *exp);

#endif
