/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender that compares its average with a target bursts after every stall. On a grid of
 * absolute times each slot has its own due time; being late moves the following slots together:
 * by a quarter of their distance, by more the further behind, but never to a burst.
 */
#include "base/base.h"

__extension__ typedef unsigned __int128 u128;

static int64_t slot_time(const struct slot *s, uint64_t k)
{
	u128 ns = (u128)k * s->bits * NSEC_PER_SEC;

	return s->start_ns + (int64_t)((ns + s->rate_bps - 1) / s->rate_bps);
}

void slot_init(struct slot *s, int64_t start_ns, uint64_t bits, uint64_t rate_bps,
	       int64_t catch_up_ns)
{
	*s = (struct slot){
		.start_ns = start_ns,
		.catch_up_ns = catch_up_ns,
		.bits = bits ? bits : 1,
		.rate_bps = rate_bps ? rate_bps : 1,
	};
}

int64_t slot_period_ns(const struct slot *s)
{
	return (int64_t)(((u128)s->bits * NSEC_PER_SEC + s->rate_bps / 2) / s->rate_bps);
}

/* How close to the one before a slot may be, in sixteenths of their distance. */
static int64_t closeness(int64_t lag_ns, int64_t period_ns)
{
	/* The second is the one that mostly repairs a stall: its gaps are still near what was asked. */
	return lag_ns < 4 * period_ns ? 12 : lag_ns < 32 * period_ns ? 10 : 5;
}

int64_t slot_lag_ns(const struct slot *s)
{
	return s->last_ns - slot_time(s, s->next);
}

/* Not sooner than this after the one before. */
static int64_t spaced(const struct slot *s)
{
	int64_t period = slot_period_ns(s);

	if (!s->next)
		return s->start_ns;
	return s->last_ns + period * closeness(slot_lag_ns(s), period) / 16;
}

int64_t slot_due_ns(const struct slot *s)
{
	int64_t due = slot_time(s, s->next), soonest = spaced(s);

	return soonest > due ? soonest : due;
}

bool slot_behind(const struct slot *s)
{
	return spaced(s) > slot_time(s, s->next);
}

uint64_t slot_count(const struct slot *s, int64_t now_ns)
{
	if (now_ns < s->start_ns)
		return 0;
	return (uint64_t)((u128)(uint64_t)(now_ns - s->start_ns) * s->rate_bps /
			  ((u128)s->bits * NSEC_PER_SEC)) +
	       1;
}

void slot_take(struct slot *s, int64_t now_ns)
{
	uint64_t oldest = slot_count(s, now_ns - s->catch_up_ns - 1);

	s->last_ns = now_ns;
	s->next++;
	if (oldest > s->next) {
		s->skipped += oldest - s->next;
		s->next = oldest;
	}
}
