/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the readings at the ends of a load say was wrong with it, whichever role this end had.
 */
#include <stdatomic.h>

#include "measure/priv.h"

void measure_note_zerocopy(struct model_run *run, struct sink *sink, const struct measure_totals *t)
{
	uint64_t done = 0, copied = 0;

	for (size_t i = 0; i < t->to->n; i++) {
		done += t->to->s[i].zc_done;
		copied += t->to->s[i].zc_copied;
	}
	if (copied)
		measure_event(run, sink, t->part, WARN_ZC_COPIED, MODEL_NO_TIME,
			      "%.0f %% of %llu completions", 100.0 * (double)copied / (double)done,
			      (unsigned long long)done);
}

void measure_note_stalls(struct model_run *run, struct sink *sink, const struct measure_totals *t)
{
	size_t dead = 0;

	for (size_t i = 0; i < t->to->n; i++)
		dead += t->to->s[i].bytes == t->from->s[i].bytes;
	if (dead)
		measure_event(run, sink, t->part, WARN_STALL, MODEL_NO_TIME,
			      "%zu of %zu flows moved no byte", dead, t->to->n);
}

/* After a warm-up what was on its way is the receiver's alone: so much of it goes without saying. */
#define OMIT_SLACK 50

void measure_note_told(struct model_run *run, struct sink *sink, const struct measure_totals *t,
		       const struct measure_flow *flows, size_t n,
		       const struct proto_result *theirs)
{
	for (size_t i = 0; i < n && i < theirs->n; i++) {
		uint64_t here = t->to->s[i].bytes - t->from->s[i].bytes;
		uint64_t sent = flows[i].sender ? here : theirs->flows[i].bytes;
		uint64_t got = flows[i].sender ? theirs->flows[i].bytes : here;

		if (got <= sent + (t->omitted ? sent / OMIT_SLACK : 0))
			continue;
		measure_event(run, sink, t->part, WARN_RECV_GT_SENT, MODEL_NO_TIME,
			      "flow %zu: %llu received of %llu sent%s", i, (unsigned long long)got,
			      (unsigned long long)sent,
			      t->omitted ? ", as the ends count from different moments after a "
					   "warm-up"
					 : "");
		return;
	}
}

void measure_note_overlap(struct model_run *run, struct sink *sink, uint32_t part,
			  const _Atomic int *overlap)
{
	if (overlap && atomic_load(overlap))
		measure_event(run, sink, part, WARN_OVERLAP, MODEL_NO_TIME, NULL);
}
