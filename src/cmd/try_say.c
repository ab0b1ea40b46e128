/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a person reads while an experiment runs: how long it will take before it starts, then a
 * line a run with the effect so far and the time left. All of it on standard error.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/try.h"

#define BLOCKS_MIN 3 /* an interval from fewer says nothing */

static void put_time(char *dst, size_t cap, int64_t ns)
{
	long long s = (long long)((ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);

	if (s < 120)
		snprintf(dst, cap, "%lld s", s);
	else if (s < 7200)
		snprintf(dst, cap, "%lld min", (s + 30) / 60);
	else
		snprintf(dst, cap, "%lld h %lld min", s / 3600, s % 3600 / 60);
}

static int64_t each_ns(const struct session *s)
{
	if (s->x.timed)
		return s->x.spent_ns / (int64_t)s->x.timed;
	return s->x.expect_ns;
}

/* ---- before ---- */

static void say_variants(const struct session *s)
{
	for (size_t v = 0; v < try_variants(&s->design); v++) {
		struct buf name = {0}, safe = {0};

		try_variant_name(&s->design, v, &name);
		safe_put(&safe, name.data ? name.data : "", name.len);
		fprintf(stderr, "%s%s", v ? " | " : "", safe.data ? safe.data : "");
		buf_fini(&name);
		buf_fini(&safe);
	}
}

static void say_undo(const struct session *s)
{
	for (size_t i = 0; i < s->design.n_factors; i++) {
		if (s->design.factors[i].kind == TRY_SHELL && !s->o->undo)
			fputs("What the commands change is not undone (--undo COMMAND).\n", stderr);
	}
}

static const char *units_name(const struct session *s)
{
	if (try_variants(&s->design) == 2)
		return s->design.blocks == 1 ? "pair" : "pairs";
	return s->design.blocks == 1 ? "block" : "blocks";
}

static void say_short(const struct session *s)
{
	if (s->time_ns && s->time_ns < NSEC_PER_SEC)
		fprintf(stderr,
			"Runs of %.2g s are too short for a verdict: a second at least (-t 2).\n",
			(double)s->time_ns / NSEC_PER_SEC);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

void say_plan(struct session *s)
{
	size_t all = try_slots(&s->x), left = all - try_done(&s->x);
	size_t warm = left && !s->by_hand ? s->x.warmup : 0;
	int64_t each = each_ns(s);
	char time[32];

	say_variants(s);
	fprintf(stderr, ": %s%zu %s, ", s->automatic ? "at most " : "", s->design.blocks,
		units_name(s));
	if (try_each(&s->design) > 1)
		fprintf(stderr, "%zu boots, ", all / try_each(&s->design));
	if (s->resumed)
		fprintf(stderr, "%zu of %zu run%s left", left, all, plural(all));
	else
		fprintf(stderr, "%zu run%s", all, plural(all));
	if (warm)
		fprintf(stderr, " and %zu to warm up", warm);
	if (each) {
		put_time(time, sizeof(time), each * (int64_t)(left + warm));
		fprintf(stderr, " x %.1f s = %s", (double)each / 1e9, time);
	}
	if (s->o->max_ns) {
		put_time(time, sizeof(time), s->o->max_ns);
		fprintf(stderr, ", at most %s", time);
	}
	fprintf(stderr, "\n");
	say_short(s);
	say_undo(s);
	if (s->store)
		fprintf(stderr,
			"Experiment %s; `weir %s --resume=%s` goes on if it is cut short.\n",
			s->id + MODEL_ID_LEN - 8, s->o->calibrate ? "calibrate" : "try",
			s->id + MODEL_ID_LEN - 8);
}

size_t session_next(const struct session *s)
{
	size_t i = 0;

	while (i < try_slots(&s->x) && s->x.runs && s->x.runs[i])
		i++;
	return i;
}

void say_next_arm(struct session *s)
{
	size_t i = session_next(s), each = try_each(&s->design);
	const char *resume = s->id + MODEL_ID_LEN - 8, *cmd = s->o->calibrate ? "calibrate" : "try";
	struct buf name = {0}, safe = {0};

	if (i == try_slots(&s->x))
		return;
	try_variant_name(&s->design, try_variant_at(&s->design, i), &name);
	safe_put(&safe, name.data ? name.data : "", name.len);
	if (i % each)
		printf("%zu more of %zu runs in this boot (%s): weir %s --resume=%s\n",
		       each - i % each, each, safe.data ? safe.data : "?", cmd, resume);
	else
		printf("%s %zu of %zu is the turn of: %s\n"
		       "Boot or plug it (also when it is there already), then: weir %s "
		       "--resume=%s\n",
		       each > 1 ? "Boot" : "Run", i / each + 1, try_slots(&s->x) / each,
		       safe.data ? safe.data : "?", cmd, resume);
	buf_fini(&name);
	buf_fini(&safe);
}

/* ---- during ---- */

static bool in_place(void)
{
	return cmd_terminal(STDERR_FILENO);
}

void say_end_line(struct session *s)
{
	if (s->dirty)
		fputs("\n", stderr);
	s->dirty = false;
}

static void before(void *arg, const struct try_exp *x, size_t slot)
{
	struct session *s = arg;
	struct buf name = {0};

	try_variant_name(x->design, try_variant_at(x->design, slot), &name);
	if (in_place() && !s->dirty)
		fprintf(stderr, "run %zu of %zu: %s …", slot + 1, try_slots(x),
			name.data ? name.data : "");
	s->dirty = in_place();
	buf_fini(&name);
}

static void put_value(const struct session *s, const struct model_run *r)
{
	const char *spec = s->judge.primary;
	const struct model_summary *m = model_find_spec(r, spec ? spec : "goodput", NULL);
	char text[48] = "unknown";
	double v;

	if (!m && !spec)
		m = model_find_spec(r, "goodput:up", NULL);
	if (m && try_value(r, spec, &v))
		unit_format(text, sizeof(text), v, m->metric->unit, 3);
	fprintf(stderr, "  %s", text);
}

/* Each factor's level of the run that is over (its last one, where that is the first: what the
 * others are compared with) against the first. */
static void put_effect(const struct session *s, size_t slot)
{
	struct model_judge_cfg cfg = {.sequential = true, .margin = s->judge.margin};
	size_t blocks = session_next(s) / try_block(&s->design);
	size_t variant = try_variant_at(&s->design, slot);

	for (size_t f = 0; blocks >= BLOCKS_MIN && !s->design.same && f < s->design.n_factors;
	     f++) {
		const struct try_factor *factor = &s->design.factors[f];
		size_t level = try_level(&s->design, variant, f);
		bool many = s->design.n_factors > 1 || factor->n_levels > 2;
		struct try_span span = {f, level ? level : factor->n_levels - 1, 0, blocks,
					s->judge.primary};
		struct model_judgement j;
		char name[40];

		if (try_effect(&s->x, &span, &cfg, &j) < 0 || isnan(j.lo))
			continue;
		safe_str(name, sizeof(name), factor->levels[span.b],
			 strlen(factor->levels[span.b]));
		fprintf(stderr, "  %s%s%sso far %+.3g %% (%+.3g to %+.3g)", f ? "and " : "",
			many ? name : "", many ? " " : "", 100 * j.effect, 100 * j.lo, 100 * j.hi);
	}
}

static void after(void *arg, const struct try_exp *x, size_t slot, const struct model_run *r,
		  const struct weir_err *why)
{
	struct session *s = arg;
	size_t left = try_slots(x) - try_done(x);
	struct buf name = {0};
	char time[32];

	try_variant_name(x->design, try_variant_at(x->design, slot), &name);
	fprintf(stderr, "%s%4zu of %zu  %s", in_place() ? "\r\033[K" : "", slot + 1, try_slots(x),
		name.data ? name.data : "");
	buf_fini(&name);
	s->dirty = in_place() && r;
	if (!r) {
		fprintf(stderr, "  failed: %s\n", why->msg);
		record_failure(s);
		return;
	}
	put_value(s, r);
	put_effect(s, slot);
	put_time(time, sizeof(time), each_ns(s) * (int64_t)left);
	if (left && !s->by_hand)
		fprintf(stderr, s->automatic ? "  at most %s left" : "  %s left", time);
	if (!s->dirty)
		fputs("\n", stderr);
}

/* The stated width, never the effect itself. */
static bool enough(void *arg, const struct try_exp *x, size_t blocks)
{
	struct session *s = arg;
	struct model_judge_cfg cfg = {.sequential = true};
	struct model_judgement j;
	const size_t least = 8;

	if (!s->automatic || blocks < least)
		return false;
	for (size_t f = 0; f < s->design.n_factors; f++) {
		for (size_t l = 1; l < s->design.factors[f].n_levels; l++) {
			struct try_span span = {f, l, 0, blocks, s->judge.primary};

			if (try_effect(x, &span, &cfg, &j) < 0 ||
			    !(model_t_half(&j.t, j.conf) <= log1p(s->precision)))
				return false;
		}
	}
	return true;
}

struct try_watch say_watch(struct session *s)
{
	return (struct try_watch){before, after, enough, s};
}
