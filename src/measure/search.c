/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The highest rate that passes: doubled until something fails, then the bracket is halved on a
 * logarithmic scale until it is narrow, and what is found must pass again, and what failed above it
 * fail again, before either is believed. Pure: the caller runs the trials, this file only says which rate is next.
 */
#include <math.h>

#include "measure/priv.h"

#define STEP_UP     2.0
#define REFUTED_MAX 2 /* then chance is what decides there, and a failure is one */

void measure_search_init(struct measure_search *s, const struct measure_search_cfg *cfg)
{
	*s = (struct measure_search){.cfg = *cfg, .limit = MEASURE_TRIAL_PASS};
	s->rate = cfg->start < cfg->lo ? cfg->lo : cfg->start > cfg->hi ? cfg->hi : cfg->start;
}

static bool is_narrow(const struct measure_search *s)
{
	return s->fail > 0 && s->fail <= s->pass * (1 + s->cfg.resolution);
}

static double next_rate(const struct measure_search *s)
{
	if (s->pass <= 0) /* nothing passed yet: down, quickly */
		return s->rate / STEP_UP < s->cfg.lo ? s->cfg.lo : s->rate / STEP_UP;
	if (s->fail <= 0)
		return s->pass * STEP_UP > s->cfg.hi ? s->cfg.hi : s->pass * STEP_UP;
	return sqrt(s->pass * s->fail);
}

static void failed(struct measure_search *s, double rate, enum measure_trial t)
{
	bool lower = s->fail <= 0 || rate < s->fail;

	if (lower) {
		s->above = s->fail;
		s->above_at = s->fail_at;
		s->limit_at = s->limit;
		s->fail = rate;
		s->refused = 0;
	}
	if (rate <= s->fail) {
		s->refused++;
		s->fail_at = s->trials - 1;
		s->limit = t;
	}
	if (s->pass < rate)
		return;
	/* A rate that has passed before: chance had a hand in it. Only what passed below counts. */
	s->pass = s->before < rate ? s->before : 0;
	s->before = 0;
	s->confirmed = 0;
}

/* What has failed passes now: there, too, chance had a hand in it. Only what failed above counts. */
static void refuted(struct measure_search *s, double rate)
{
	bool known = s->above > rate;

	s->fail = known ? s->above : 0;
	s->fail_at = s->above_at;
	s->limit = known ? s->limit_at : MEASURE_TRIAL_PASS;
	s->above = 0;
	s->refused = 0;
	s->refuted++;
}

static void passed(struct measure_search *s, double rate)
{
	if (s->fail > 0 && rate >= s->fail)
		refuted(s, rate);
	if (s->pass > 0 && rate <= s->pass) {
		s->confirmed++;
		return;
	}
	s->before = s->pass;
	s->pass = rate;
	s->confirmed = 0;
}

/* Whether what failed has to fail again to be believed. */
static bool is_doubtful(const struct measure_search *s)
{
	return s->fail > 0 && s->refused < 2 && s->refuted < REFUTED_MAX;
}

/* It is settled what holds and what does not; it remains to try both again. */
static double again(const struct measure_search *s)
{
	if (s->pass <= 0)
		return s->fail;
	return s->confirmed < s->cfg.confirm || !is_doubtful(s) ? s->pass : s->fail;
}

bool measure_search_next(const struct measure_search *s, double *rate)
{
	*rate = s->rate;
	return !s->done;
}

void measure_search_told(struct measure_search *s, enum measure_trial t)
{
	bool settled, bottom;

	s->trials++;
	if (t == MEASURE_TRIAL_PASS)
		passed(s, s->rate);
	else
		failed(s, s->rate, t);
	settled = s->pass > 0 && (is_narrow(s) || s->pass >= s->cfg.hi);
	bottom = s->pass <= 0 && s->fail > 0 && s->fail <= s->cfg.lo;
	s->nothing = bottom && !is_doubtful(s);
	s->found = settled && s->confirmed >= s->cfg.confirm && !is_doubtful(s);
	s->done = s->found || s->nothing || s->trials >= s->cfg.max_trials;
	s->rate = settled || bottom ? again(s) : next_rate(s);
}
