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

/* What one flow's two ends count: bytes of the period, or UDP's datagrams of the whole stream, since
 * the ends need not agree what the length of one is. */
struct told_pair {
	uint64_t sent, got;
	bool datagrams;
};

static uint64_t told_datagrams(const struct proto_flow_result *r, bool sender)
{
	int64_t n = sender ? r->packets : r->packets - r->lost;

	return n > 0 ? (uint64_t)n : 0;
}

static struct told_pair pair_of(const struct measure_totals *t, const struct measure_flow *f,
				size_t i, const struct proto_flow_result *r)
{
	struct told_pair p = {.datagrams = f->udp && r->udp && t->final};
	uint64_t here = t->to->s[i].bytes - t->from->s[i].bytes, there = r->bytes;

	if (p.datagrams) {
		const struct net_udp_sample *u = &t->final[i].udp;

		/* A duplicate came, and was not sent. */
		here = f->sender ? u->sent : u->received - u->duplicates - u->late;
		there = told_datagrams(r, !f->sender);
	}
	p.sent = f->sender ? here : there;
	p.got = f->sender ? there : here;
	return p;
}

void measure_note_told(struct model_run *run, struct sink *sink, const struct measure_totals *t,
		       const struct measure_flow *flows, size_t n,
		       const struct proto_result *theirs)
{
	for (size_t i = 0; i < n && i < theirs->n; i++) {
		struct told_pair p = pair_of(t, &flows[i], i, &theirs->flows[i]);
		bool omitted = t->omitted && !p.datagrams;

		if (p.got <= p.sent + (omitted ? p.sent / OMIT_SLACK : 0))
			continue;
		measure_event(run, sink, t->part, WARN_RECV_GT_SENT, MODEL_NO_TIME,
			      "flow %zu: %llu %s received of %llu sent%s", i,
			      (unsigned long long)p.got, p.datagrams ? "datagrams" : "bytes",
			      (unsigned long long)p.sent,
			      omitted ? ", as the ends count from different moments after a "
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
