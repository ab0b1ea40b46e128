/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The experiment: a place in the plan after the other, each until it has a whole run. A failed run
 * is repeated and counted; a place that keeps failing ends the experiment with what there is. It
 * ends at its length, at its time, or when the watcher has enough, who is asked between whole
 * blocks only.
 */
#include <errno.h>
#include <stdlib.h>

#include "try/priv.h"

size_t try_slots(const struct try_exp *x)
{
	return x->design->blocks * try_block(x->design);
}

size_t try_done(const struct try_exp *x)
{
	size_t n = 0;

	for (size_t i = 0; x->runs && i < try_slots(x); i++)
		n += x->runs[i] != NULL;
	return n;
}

bool try_is_whole(const struct model_run *r)
{
	if (r->outcome != OUTCOME_COMPLETE)
		return false;
	for (size_t i = 0; i < r->n_events; i++) {
		enum model_warn_code c = r->events[i].code;

		if (c == WARN_INTERRUPTED || c == WARN_PEER_GONE || c == WARN_PEER_TERMINATED ||
		    c == WARN_INCOMPLETE)
			return false;
	}
	return true;
}

static bool have_slots(struct try_exp *x)
{
	if (!x->runs)
		x->runs = calloc(try_slots(x), sizeof(struct model_run *));
	return x->runs;
}

bool try_take(struct try_exp *x, struct model_run *take)
{
	int64_t at = take->exp.position;

	if (!have_slots(x) || !try_is_whole(take) || at < 0 || (uint64_t)at >= try_slots(x) ||
	    x->runs[at] || (uint64_t)take->exp.seed != x->design->seed)
		return false;
	x->runs[at] = take;
	return true;
}

void try_exp_fini(struct try_exp *x)
{
	for (size_t i = 0; x->runs && i < try_slots(x); i++)
		model_run_free(x->runs[i]);
	free(x->runs);
	x->runs = NULL;
}

/* ---- one place ---- */

static int switch_and_run(struct try_exp *x, struct try_arm *arm, size_t slot, size_t variant,
			  struct model_run **r, struct weir_err *e)
{
	int rc = try_arm_set(arm, variant, e);

	*r = NULL;
	if (rc < 0) {
		/* A refused value stays refused; a command may do better next time. */
		err_wrap(e, "switching");
		return e && e->domain == WEIR_MISSING ? rc : -EAGAIN;
	}
	rc = x->settle_ns ? try_sleep(x, x->settle_ns) : 0;
	return rc < 0 ? rc : try_run(x, slot, variant, r, e);
}

static int fill_slot(struct try_exp *x, struct try_arm *arm, const struct try_watch *w, size_t slot,
		     struct weir_err *e)
{
	int rc = -EAGAIN;

	for (int tries = 0; rc == -EAGAIN; tries++) {
		int64_t t0 = clk_mono_ns();
		struct model_run *r;

		if (tries >= TRY_REPEATS_MAX || x->failed >= TRY_FAILED_MAX)
			return TRY_FAILED;
		w->before(w->arg, x, slot);
		rc = switch_and_run(x, arm, slot, try_variant_at(x->design, slot), &r, e);
		if (rc >= 0) {
			x->runs[slot] = r;
			x->spent_ns += clk_mono_ns() - t0;
			x->timed++;
		}
		x->failed += rc == -EAGAIN;
		if (rc != -ECANCELED)
			w->after(w->arg, x, slot, r, e);
	}
	return rc;
}

/* Thrown away: caches, neighbours' tables and clocks are warm then. One that fails is no loss. They
 * tell how long a run takes. */
static int warm_up(struct try_exp *x, struct try_arm *arm, struct weir_err *e)
{
	int rc = 0;

	for (size_t i = 0; i < x->warmup && rc >= 0; i++) {
		int64_t t0 = clk_mono_ns();
		struct model_run *r;

		rc = switch_and_run(x, arm, SIZE_MAX, i % try_variants(x->design), &r, e);
		if (rc >= 0)
			x->expect_ns = clk_mono_ns() - t0;
		model_run_free(r);
		rc = rc == -EAGAIN ? 0 : rc;
	}
	return rc;
}

/* Would what is left of a place's block, and `more` runs before it, end after the time that there
 * is? Nobody knows before the first run how long one takes: then it is what was expected. */
static bool too_late(const struct try_exp *x, size_t slot, size_t more)
{
	size_t n = try_block(x->design), left = n - slot % n;
	int64_t each = x->timed ? x->spent_ns / (int64_t)x->timed : x->expect_ns;

	if (x->most && left > x->most)
		left = x->most;
	return x->until_ns && clk_mono_ns() + each * (int64_t)(left + more) > x->until_ns;
}

static size_t first_empty(const struct try_exp *x)
{
	size_t i = 0;

	while (i < try_slots(x) && x->runs[i])
		i++;
	return i;
}

int try_loop(struct try_exp *x, struct try_arm *arm, const struct try_watch *w, struct weir_err *e)
{
	size_t n = try_block(x->design), made = 0, first;
	int rc = 0;

	if (!have_slots(x))
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	first = first_empty(x);
	if (first < try_slots(x) && too_late(x, first, x->warmup))
		return TRY_OUT_OF_TIME;
	rc = first < try_slots(x) ? warm_up(x, arm, e) : 0;
	for (size_t i = 0; i < try_slots(x) && rc == 0; i++) {
		if (i && i % n == 0 && w->enough && w->enough(w->arg, x, i / n))
			return TRY_ENOUGH;
		if (x->runs[i])
			continue;
		if ((i == first || i % n == 0) && too_late(x, i, 0))
			return TRY_OUT_OF_TIME;
		if (x->most && made++ == x->most)
			return TRY_PAUSED;
		rc = fill_slot(x, arm, w, i, e);
	}
	return rc == -ECANCELED ? TRY_STOPPED : rc;
}
