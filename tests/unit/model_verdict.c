/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rule: designs, gates, qualifiers, families, planning and wording, on small made data. What
 * real data deserve is model_ab.c, how often the rule errs is model_errs.c.
 */
#include "model_full.h"

#include <math.h>

#define RUNS 24

/* One sequence AB BA AB …: the pairs of a rule of order, with noise and a drift a run. */
struct exp {
	double a[RUNS], b[RUNS];
	int64_t at_a[RUNS], at_b[RUNS];
	size_t n;
	struct model_side side[2];
};

static void make(struct exp *e, size_t pairs, double effect, double sd, double drift)
{
	struct model_rng r;
	model_rng_seed(&r, 2, 1);
	e->n = pairs;
	for (size_t k = 0; k < pairs; k++) {
		int64_t first = (int64_t)(2 * k), swap = (int64_t)(k % 2);
		e->at_a[k] = first + swap;
		e->at_b[k] = first + 1 - swap;
		e->a[k] = 900e6 * exp(sd * model_rng_normal(&r) + drift * (double)e->at_a[k]);
		e->b[k] = 900e6 *
			  exp(effect + sd * model_rng_normal(&r) + drift * (double)e->at_b[k]);
	}
	e->side[0] = (struct model_side){.x = e->a, .n = pairs, .order = e->at_a};
	e->side[1] = (struct model_side){.x = e->b, .n = pairs, .order = e->at_b};
}

static struct model_judgement judge(const struct exp *e, const struct model_judge_cfg *cfg)
{
	struct model_judgement j;
	model_judge(cfg, &e->side[0], &e->side[1], &j);
	return j;
}

static bool has(const struct model_judgement *j, enum model_reason r)
{
	return j->reasons & MODEL_R(r);
}

/* ---- outcomes ---- */

static void test_outcomes(void **state)
{
	(void)state;
	static const struct {
		double effect, sd;
		enum model_better better;
		enum model_verdict_outcome want;
	} rows[] = {
		{0.10, 0.02, MODEL_HIGHER, VERDICT_BETTER},
		{0.10, 0.02, MODEL_LOWER, VERDICT_WORSE},
		{-0.10, 0.02, MODEL_HIGHER, VERDICT_WORSE},
		{-0.10, 0.02, MODEL_LOWER, VERDICT_BETTER},
		{0.008, 0.002, MODEL_HIGHER, VERDICT_NEGLIGIBLE},
		{0, 0.005, MODEL_HIGHER, VERDICT_EQUIVALENT},
		{0, 0.10, MODEL_HIGHER, VERDICT_INCONCLUSIVE},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct exp e;
		make(&e, 12, rows[i].effect, rows[i].sd, 0);
		struct model_judgement j =
			judge(&e, &(struct model_judge_cfg){.better = rows[i].better});
		assert_int_equal(j.outcome, rows[i].want);
		assert_int_equal(j.design, DESIGN_BLOCKED);
		assert_int_equal(j.units, 12);
		assert_true(j.lo < j.effect && j.effect < j.hi);
		assert_true(j.mde_lo < j.mde && j.mde < j.mde_hi);
		assert_int_equal(j.need > 0, rows[i].want == VERDICT_INCONCLUSIVE);
	}
}

/* A drift far larger than the effect leaves pairs alone, and forbids a verdict of heaps. */
static void test_drift(void **state)
{
	(void)state;
	struct exp e;
	make(&e, 12, 0.03, 0.003, 0.01);
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_BETTER);
	assert_false(has(&j, REASON_DRIFT));
	j = judge(&e, &(struct model_judge_cfg){.design = DESIGN_UNORDERED});
	assert_int_equal(j.outcome, VERDICT_NONE);
	assert_true(has(&j, REASON_DRIFT));
}

/* A B A B: a drift is a difference of each pair. Without one the pairs are as good as others. */
static void test_drift_of_pairs_that_lean(void **state)
{
	(void)state;
	static const double drifts[] = {0, 0.01};
	for (size_t i = 0; i < 2; i++) {
		struct exp e;
		make(&e, 12, 0.03, 0.003, drifts[i]);
		for (size_t k = 0; k < 12; k++) {
			int64_t was = e.at_b[k];
			e.at_a[k] = (int64_t)(2 * k);
			e.at_b[k] = (int64_t)(2 * k + 1);
			e.a[k] *= exp(drifts[i] * (double)(was == e.at_a[k] ? -1 : 0));
			e.b[k] *= exp(drifts[i] * (double)(e.at_b[k] - was));
		}
		struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
		assert_int_equal(j.outcome, i ? VERDICT_NONE : VERDICT_BETTER);
		assert_int_equal(has(&j, REASON_DRIFT), i);
	}
}

/* One after the other is an order too, but no block of it holds both sides. */
static void test_one_after_the_other(void **state)
{
	(void)state;
	struct exp e;
	make(&e, 8, 0.10, 0.01, 0);
	for (size_t k = 0; k < 8; k++) {
		e.at_a[k] = (int64_t)k;
		e.at_b[k] = (int64_t)k + 8;
	}
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_UNORDERED);
	assert_int_equal(j.outcome, VERDICT_SESSIONS);
}

static void test_designs(void **state)
{
	(void)state;
	struct exp e;
	int64_t own[8], other[8], shared[8];
	make(&e, 8, 0.10, 0.01, 0);
	for (int i = 0; i < 8; i++) {
		own[i] = i / 2;        /* four sessions of A … */
		other[i] = 10 + i / 2; /* … and four of B */
		shared[i] = i / 2;     /* or four that saw both */
	}
	e.side[0].order = e.side[1].order = NULL;
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_UNORDERED);
	assert_int_equal(j.outcome, VERDICT_SESSIONS);
	j = judge(&e, &(struct model_judge_cfg){.design = DESIGN_PAIRED});
	assert_int_equal(j.design, DESIGN_PAIRED);
	assert_int_equal(j.outcome, VERDICT_BETTER);
	e.side[0].session = own;
	e.side[1].session = other;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_SESSIONS);
	assert_int_equal(j.units, 4);
	assert_int_equal(j.outcome, VERDICT_BETTER);
	e.side[1].session = shared;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_BLOCKED);
	assert_int_equal(j.units, 4);
	assert_int_equal(j.outcome, VERDICT_BETTER); /* 6^4 relabellings suffice, 2^4 would not */
}

/* Eight boots of one arm each, two runs a boot: eight units, in the order of the boots when that
 * alternates; a run more in one boot changes nothing in kind. */
static void test_boots(void **state)
{
	(void)state;
	struct exp e;
	int64_t boot[2][RUNS];
	make(&e, 16, 0.10, 0.01, 0);
	for (int i = 0; i < 16; i++) {
		int64_t pair = i / 2, first = pair % 2;
		boot[0][i] = 4 * pair + first;
		boot[1][i] = 4 * pair + 1 - first;
		e.at_a[i] = 4 * pair + 2 * first + i % 2;
		e.at_b[i] = 4 * pair + 2 * (1 - first) + i % 2;
	}
	for (int s = 0; s < 2; s++)
		e.side[s].session = boot[s];
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_BLOCKED);
	assert_int_equal(j.units, 8);
	assert_true(j.perm.exact && j.perm.least == 1.0 / 128);
	assert_int_equal(j.outcome, VERDICT_BETTER);
	e.side[0].n = 15;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.units, 8);
	assert_int_equal(j.outcome, VERDICT_BETTER);
	/* Five boots a side are too few for pairs, and enough for two heaps. */
	e.side[0].n = e.side[1].n = 10;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_SESSIONS);
	assert_int_equal(j.units, 5);
	assert_int_equal(j.outcome, VERDICT_BETTER);
	/* One boot a side says nothing of other boots, whatever its runs do. */
	e.side[0].n = e.side[1].n = 2;
	for (int i = 0; i < 2; i++)
		boot[0][i] = 1, boot[1][i] = 2;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_UNORDERED);
	assert_true(has(&j, REASON_SESSIONS));
}

/* Five pairs can be flipped in 32 ways: no 5 % there, however clear the difference. */
static void test_few(void **state)
{
	(void)state;
	struct exp e;
	make(&e, 5, 0.5, 0.001, 0);
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_INCONCLUSIVE);
	assert_true(has(&j, REASON_FEW_BLOCKS));
	assert_true(isinf(j.mde));
	e.side[0].n = e.side[1].n = 1;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_INCONCLUSIVE);
	assert_true(has(&j, REASON_FEW_RUNS));
	assert_true(isnan(j.lo) && isnan(j.noise) && j.effect > 0.4);
	assert_true(j.explain > 0 && j.settle6 < j.settle12);
}

/* ABBA four times: the labels can lie in 6^4 ways, which is surprising enough, and an effect of the
 * detectable size is finite. All ways are counted. Python, with v = [[log(x), …], …] of the blocks, the
 * first half of each being A's, and I = itertools:
 * per = [[2 * sum(c) - sum(b) for c in I.combinations(b, 2)] for b in v]
 * seen = abs(sum(sum(b[2:]) - sum(b[:2]) for b in v))
 * sum(abs(sum(t)) >= seen * (1 - 1e-9) for t in I.product(*per)) = 260 */
static void test_blocks_of_several(void **state)
{
	(void)state;
	static const double a[] = {100, 103, 99, 104, 101, 98, 102, 97};
	static const double b[] = {101, 105, 104, 101, 99, 103, 104, 100};
	static const int64_t block[] = {0, 0, 1, 1, 2, 2, 3, 3};
	struct model_judgement j;
	struct model_side x = {.x = a, .n = 8, .block = block},
			  y = {.x = b, .n = 8, .block = block};
	model_judge(&(struct model_judge_cfg){0}, &x, &y, &j);
	assert_int_equal(j.units, 4);
	assert_true(j.perm.exact);
	assert_true(fabs(j.perm.least - 2.0 / 1296) < 1e-12);
	assert_true(fabs(j.perm.p - 260.0 / 1296) < 1e-9);
	assert_true(isfinite(j.mde) && j.mde > 0 && j.mde < 0.5);
	assert_int_equal(j.power.of, MODEL_PERM_OF_BLOCKS);
	/* t(.975, 3) + t(.80, 3), as R has them, times what simulation asks of four blocks */
	assert_true(fabs(log1p(j.mde) / (j.t.se * (3.182446 + 0.978472)) - 1.9) < 0.01);
	/* two blocks of four can lie in 36 ways: never under 5 % */
	x.n = y.n = 4;
	model_judge(&(struct model_judge_cfg){0}, &x, &y, &j);
	assert_true(isinf(j.mde));
}

/* With four boots a side and more the boots are permuted, below that their runs. */
static void test_sessions_power(void **state)
{
	(void)state;
	struct exp e;
	int64_t boot[2][RUNS];
	make(&e, 15, 0.10, 0.01, 0);
	for (int i = 0; i < 15; i++) {
		boot[0][i] = i / 3;
		boot[1][i] = 100 + i / 3;
	}
	for (int s = 0; s < 2; s++) {
		e.side[s].session = boot[s];
		e.side[s].order = NULL;
	}
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.power.of, MODEL_PERM_OF_SIDES);
	assert_int_equal(j.power.units, 5);
	e.side[0].n = e.side[1].n = 9;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.design, DESIGN_SESSIONS);
	assert_int_equal(j.power.of, MODEL_PERM_OF_RUNS);
	assert_int_equal(j.power.units, 3);
	assert_true(isfinite(j.mde));
}

/* A run without a partner is left out, and that is said. */
static void test_unblocked(void **state)
{
	(void)state;
	struct exp e;
	make(&e, 9, 0.10, 0.01, 0);
	e.side[1].n = 8;
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.units, 8);
	assert_true(has(&j, REASON_UNBLOCKED));
	assert_int_equal(j.outcome, VERDICT_BETTER);
}

/* ---- gates and qualifiers ---- */

static void test_gates(void **state)
{
	(void)state;
	struct exp e;
	struct model_judgement j;
	make(&e, 12, 0.1, 0.02, 0);
	e.a[3] = -1;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_NONE);
	assert_true(has(&j, REASON_NEGATIVE));
	e.a[3] = (double)NAN;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_NOT_A_NUMBER));
	make(&e, 12, 0.1, 0.02, 0);
	e.side[0].n = 0;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_MISSING_SIDE));
	make(&e, 12, 0.1, 0.02, 0);
	e.side[0].x = e.side[1].x;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_SAME_DATA));
	make(&e, 12, 0.1, 0.02, 0);
	e.side[0].seconds = 10;
	e.side[1].seconds = 30;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_DURATION));
	e.side[0].seconds = e.side[1].seconds = 0.5;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_SHORT));
	make(&e, 12, 0.1, 0.02, 0);
	e.side[1].stalled = 0.2;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_STALLED));
	j = judge(&e, &(struct model_judge_cfg){.found = MODEL_R(REASON_UNITS)});
	assert_true(j.outcome == VERDICT_NONE && has(&j, REASON_UNITS) && isnan(j.effect));
}

static void test_qualifiers(void **state)
{
	(void)state;
	struct exp e;
	struct model_judgement j;
	make(&e, 12, 0, 0.002, 0);
	e.side[0].changed = 1;
	e.side[1].stalled = 0.01;
	j = judge(&e, &(struct model_judge_cfg){.ceiling = 905e6});
	assert_int_equal(j.outcome, VERDICT_EQUIVALENT);
	assert_true(has(&j, REASON_LINE_RATE) && has(&j, REASON_CHANGE_POINT));
	assert_true(has(&j, REASON_SOME_STALLS));
	make(&e, 12, 0.1, 0.002, 0);
	j = judge(&e, &(struct model_judge_cfg){.ceiling = 1000e6});
	assert_int_equal(j.outcome, VERDICT_BETTER);
	assert_true(has(&j, REASON_BOUND_BY_LINE));
}

/* Runs that stood still are counted as runs, and told where the mean forbids a verdict. */
static void test_stalls(void **state)
{
	(void)state;
	struct exp e;
	struct buf b = {0};
	struct model_judgement j;
	make(&e, 12, 0, 0.002, 0);
	e.side[0].stalled = 0.03;
	e.side[0].stalled_runs = 9;
	e.side[1].stalled_runs = 2;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(has(&j, REASON_SOME_STALLS) && j.outcome == VERDICT_EQUIVALENT);
	assert_true(fabs(j.p_stalled - 0.0122781378) < 1e-9);
	e.side[0].stalled = 0.3;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_NONE);
	model_judgement_text(&j, "goodput", NULL, NULL, &b);
	assert_non_null(strstr(b.data,
			       " 9 of the 12 runs of A and 2 of the 12 of B stood still for a "
			       "while (Fisher's p = 0.012)."));
	buf_fini(&b);
}

/* Innocence must be shown: neither noise nor a floor above the margin passes for it. */
static void test_not_worse(void **state)
{
	(void)state;
	static const struct {
		double effect, sd, floor;
		enum model_better better;
		size_t n;
		bool want;
	} rows[] = {
		{0, 0.005, 0, MODEL_HIGHER, 12, true},
		{0.10, 0.02, 0, MODEL_HIGHER, 12, true},
		{0.10, 0.02, 0, MODEL_LOWER, 12, false},
		{-0.10, 0.02, 0, MODEL_LOWER, 12, true},
		{-0.03, 0.002, 0, MODEL_HIGHER, 12, false},
		{-0.01, 0.002, 0, MODEL_HIGHER, 12, true},
		{0, 0.10, 0, MODEL_HIGHER, 12, false},
		{0, 0.005, 0.03, MODEL_HIGHER, 12, false},
		{-0.01, 0.002, 0.019, MODEL_HIGHER, 12, false},
		{0, 0.005, 0, MODEL_HIGHER, 1, false},
		{0, 0.005, 0, MODEL_HIGHER, 3, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct exp e;
		make(&e, rows[i].n, rows[i].effect, rows[i].sd, 0);
		struct model_judgement j =
			judge(&e, &(struct model_judge_cfg){.better = rows[i].better,
							    .floor = rows[i].floor});
		if (model_not_worse(&j) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

/* What is printed as inconclusive never passes, though its worse end may be within the margin; what
 * is equivalent always does; runs of one session a side show nothing of the change. */
static void test_not_worse_follows_the_outcome(void **state)
{
	(void)state;
	size_t good_end = 0;
	for (int i = 0; i < 60; i++) {
		struct exp e;
		make(&e, 12, -0.05 + 0.002 * i, 0.03, 0);
		struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
		bool shown = j.outcome == VERDICT_BETTER || j.outcome == VERDICT_EQUIVALENT ||
			     j.outcome == VERDICT_NEGLIGIBLE;
		assert_int_equal(model_not_worse(&j), shown);
		if (shown) /* the worse end of the 90 % interval is within the margin */
			assert_true(j.t.d - model_t_half(&j.t, 0.90) > -log1p(0.02));
		good_end += j.outcome == VERDICT_INCONCLUSIVE && j.lo > -0.0196;
	}
	assert_true(good_end > 0);
	struct exp e;
	make(&e, 12, 0.10, 0.005, 0);
	e.side[0].order = e.side[1].order = NULL;
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.outcome == VERDICT_SESSIONS && !model_not_worse(&j));
}

/* Zero variance and zeros have defined outcomes. */
static void test_degenerate(void **state)
{
	(void)state;
	struct exp e;
	struct model_judgement j;
	make(&e, 12, 0, 0, 0);
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_EQUIVALENT);
	assert_true(has(&j, REASON_ZERO_VARIANCE));
	make(&e, 12, 0.1, 0, 0);
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_BETTER);
	/* 100 Mbit/s steps of a figure: the interval is not a point any more. */
	j = judge(&e, &(struct model_judge_cfg){.resolution = 100e6});
	assert_true(j.lo < j.effect - 0.005);
	make(&e, 12, 0, 0, 0);
	for (size_t i = 0; i < e.n; i++)
		e.a[i] = e.b[i] = 0;
	j = judge(&e, &(struct model_judge_cfg){.resolution = 1});
	assert_int_equal(j.outcome, VERDICT_EQUIVALENT);
	assert_false(has(&j, REASON_ZEROS) || has(&j, REASON_ALL_ZERO));
	make(&e, 12, 0, 0.1, 0);
	for (size_t i = 0; i < e.n; i++)
		e.b[i] = 0;
	j = judge(&e, &(struct model_judge_cfg){.better = MODEL_LOWER});
	assert_int_equal(j.outcome, VERDICT_BETTER);
	assert_true(has(&j, REASON_ZEROS));
	assert_true(j.b == 0);
}

/* All of one side is zero: what half of the least value makes of it is no ratio. */
/* Pairs without an order: as if A always went first. */
static void test_paired_drift(void **state)
{
	(void)state;
	const struct model_judge_cfg paired = {.design = DESIGN_PAIRED};
	struct exp e;
	make(&e, 12, 0.1, 0.01, 0);
	e.side[0].order = e.side[1].order = NULL;
	struct model_judgement j = judge(&e, &paired);
	assert_int_equal(j.outcome, VERDICT_BETTER);
	assert_false(has(&j, REASON_DRIFT));
	make(&e, 12, 0, 0.002, 0.03);
	e.side[0].order = e.side[1].order = NULL;
	j = judge(&e, &paired);
	assert_int_equal(j.outcome, VERDICT_NONE);
	assert_true(has(&j, REASON_DRIFT));
}

static void test_all_zero(void **state)
{
	(void)state;
	struct exp e;
	struct buf b = {0};
	make(&e, 12, 0, 0.1, 0);
	for (size_t i = 0; i < e.n; i++)
		e.b[i] = 0;
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){.better = MODEL_LOWER});
	assert_true(j.outcome == VERDICT_BETTER && j.effect == -1);
	assert_true(has(&j, REASON_ALL_ZERO) && isnan(j.lo) && isnan(j.robust) && isnan(j.mde));
	model_judgement_text(&j, "loss", NULL, NULL, &b);
	assert_non_null(strstr(b.data, "Better: loss of B is 100 % lower than of A (12 pairs; "
				       "permutation p = 0.00049)."));
	assert_non_null(strstr(b.data, "one side is zero in every run: there is no ratio"));
	/* the other way round, and with all else alike */
	struct model_side was = e.side[0];
	e.side[0] = e.side[1];
	e.side[1] = was;
	j = judge(&e, &(struct model_judge_cfg){.better = MODEL_LOWER});
	assert_true(j.outcome == VERDICT_WORSE && isinf(j.effect) && isnan(j.hi));
	buf_clear(&b);
	model_judgement_text(&j, "loss", NULL, NULL, &b);
	assert_true(strstr(b.data, "Worse: loss of B is above zero, and of A zero in every run "
				   "(12 pairs; permutation p = 0.00049).") == b.data);
	assert_null(strstr(b.data, "inf"));
	/* one loss in twelve runs is no difference, and none that the margin could hold */
	for (size_t i = 1; i < e.n; i++)
		e.a[i] = 0;
	j = judge(&e, &(struct model_judge_cfg){.better = MODEL_LOWER, .margin = 0.9});
	assert_true(j.outcome == VERDICT_INCONCLUSIVE && !model_not_worse(&j) && !j.need);
	buf_clear(&b);
	model_judgement_text(&j, "loss", NULL, NULL, &b);
	assert_true(!strstr(b.data, "nan") && !strstr(b.data, "inf "));
	buf_fini(&b);
}

/* Twelve times 9.4 and twelve times 9.5 are known to a tenth: each run to 0.1^2/12 at least, and the
 * difference of twelve pairs to sqrt(2/12) of its root. */
static void test_resolution(void **state)
{
	(void)state;
	struct exp e;
	make(&e, 12, 0, 0, 0);
	for (size_t i = 0; i < e.n; i++) {
		e.a[i] = 9.4;
		e.b[i] = 9.5;
	}
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){.resolution = 0.1});
	double run = 0.1 * sqrt((1 / 9.4 / 9.4 + 1 / 9.5 / 9.5) / 2 / 12);
	assert_true(fabs(j.t.se - run * sqrt(2.0 / 12)) < 1e-9);
	assert_true(fabs(j.noise - run) < 1e-9);
}

/* ---- floor, families, planning ---- */

static void test_floor(void **state)
{
	(void)state;
	const double aa[] = {0.01, -0.01, 0.01, -0.01};
	struct exp e;
	/* R: qt(.975, 4) * sqrt(mean(c(.01, -.01, .01, -.01)^2)) */
	assert_true(fabs(model_noise_floor(aa, 4) - 0.02776445105) < 1e-9);
	assert_true(isnan(model_noise_floor(aa, 0)));
	make(&e, 12, 0.02, 0.004, 0);
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	assert_int_equal(j.outcome, VERDICT_BETTER);
	j = judge(&e, &(struct model_judge_cfg){.floor = 0.05});
	assert_int_equal(j.outcome, VERDICT_INCONCLUSIVE);
	assert_true(has(&j, REASON_FLOOR) && has(&j, REASON_FLOOR_OVER_MARGIN));
	assert_true(j.mde > 0.05);
	make(&e, 12, 0, 0.004, 0);
	j = judge(&e, &(struct model_judge_cfg){.floor = 0.01});
	assert_int_equal(j.outcome, VERDICT_EQUIVALENT);
	double alone = j.p_eq;
	j = judge(&e, &(struct model_judge_cfg){0});
	assert_true(j.p_eq < alone); /* the floor's variance enters */
}

static void test_sequential(void **state)
{
	(void)state;
	struct exp e;
	make(&e, 12, 0.02, 0.02, 0);
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	struct model_judgement s = judge(&e, &(struct model_judge_cfg){.sequential = true});
	assert_true(s.conf == 0.965 && s.lo < j.lo && s.hi > j.hi);
}

/* Forty metrics of noise with one small p among them, and the same metric declared primary. */
static void test_family(void **state)
{
	(void)state;
	struct model_judgement j[3];
	struct exp e;
	make(&e, 12, 0.02, 0.02, 0);
	for (int i = 0; i < 3; i++)
		j[i] = judge(&e, &(struct model_judge_cfg){0});
	double p = j[0].p_t;
	assert_true(p < 0.05 && p > 0.05 / 40);
	assert_int_equal(j[0].outcome, VERDICT_BETTER);
	model_judge_family(j, 3, 0, 37);
	assert_int_equal(j[0].outcome, VERDICT_BETTER);
	assert_true(j[0].p_adj == p);
	assert_int_equal(j[1].outcome, VERDICT_INCONCLUSIVE);
	assert_true(has(&j[1], REASON_HOLM));
	assert_true(fabs(j[1].p_adj / (39 * p) - 1) < 1e-12 || j[1].p_adj == 1);
	assert_true(j[1].need > 0);
}

/* Shorter than the structure. */
static struct model_noise noisy(double sd, double floor)
{
	return (struct model_noise){.sd = sd, .floor = floor, .alpha = 0.05};
}

static double mde_of(size_t pairs, double sd)
{
	struct model_noise n = noisy(sd, 0);

	return model_mde_pairs(pairs, &n);
}

static void test_plan(void **state)
{
	(void)state;
	struct model_noise n = noisy(0.03, 0);
	assert_true(isinf(mde_of(5, 0.02)));
	assert_true(isfinite(mde_of(6, 0.02)));
	size_t k = model_pairs_to_detect(0.02, &n);
	assert_true(mde_of(k, 0.03) <= 0.02);
	assert_true(mde_of(k - 1, 0.03) > 0.02);
	/* 7.85 s_d^2 / d^2 of the normal approximation is 17.7; the t and its rule need more. */
	assert_in_range(k, 18, 22);
	assert_int_equal(model_pairs_to_detect(0, &n), 0);
	n.floor = 0.02;
	assert_int_equal(model_pairs_to_detect(0.02, &n), 0);
	for (k = 6; k < 40; k++)
		assert_true(mde_of(k + 1, 1) < mde_of(k, 1));
	/* Tests that share the 5 % see less: t(1 - 0.05/2/m), R: qt(1-.025/4, 11). */
	n = noisy(0.03, 0);
	double alone = model_mde_pairs(12, &n);
	n.tests = 4;
	double t = model_t_quantile(0.8, 11), share = model_t_quantile(1 - 0.025 / 4, 11);
	assert_true(fabs(share - 2.9808724) < 1e-5);
	assert_true(fabs(model_mde_pairs(12, &n) / alone -
			 (share + t) / (model_t_quantile(0.975, 11) + t)) < 1e-9);
}

/* The floor's variance is in the test of equivalence, and so it is in the plan. With 13 pairs
 * (R): (qt(.95,12)+qt(.9,12))*max(.03/sqrt(13), floor/qt(.975,12)) against .02 */
static void test_plan_with_a_floor(void **state)
{
	(void)state;
	struct model_noise n = noisy(0.03, 0);
	/* 8.56 s_d^2 / L^2 = 19.3 */
	size_t none = model_pairs_to_equal(0.02, &n);
	assert_in_range(none, 19, 23);
	n.floor = 0.005; /* below what so many pairs leave */
	assert_int_equal(model_pairs_to_equal(0.02, &n), none);
	n.floor = 0.0135;
	size_t with = model_pairs_to_equal(0.02, &n);
	assert_true(with >= none);
	n.floor = 0.0142; /* qt(.975,12)/(qt(.95,12)+qt(.9,12)) = 0.694 of the limit is the most */
	assert_int_equal(model_pairs_to_equal(0.02, &n), 0);
	n.floor_n = 200; /* better known: 0.674 */
	n.floor = 0.0134;
	assert_true(model_pairs_to_equal(0.02, &n) > 0);
	n.floor = 0.03;
	assert_int_equal(model_pairs_to_equal(0.02, &n), 0);
}

/* Where equivalence takes the floor's room, no count of pairs is promised. */
static void test_floor_leaves_no_room(void **state)
{
	(void)state;
	struct exp e;
	struct buf b = {0};
	make(&e, 12, 0.01, 0.08, 0);
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){.margin = 0.05});
	assert_true(j.outcome == VERDICT_INCONCLUSIVE && fabs(j.effect) < 0.05 && j.need > 0);
	j = judge(&e, &(struct model_judge_cfg){.margin = 0.05, .floor = 0.045});
	assert_true(j.outcome == VERDICT_INCONCLUSIVE);
	assert_int_equal(j.need, 0);
	model_judgement_text(&j, NULL, NULL, NULL, &b);
	assert_non_null(strstr(b.data, "show equivalence above a noise floor of 4.5 %."));
	buf_fini(&b);
}

/* ---- words ---- */

static void test_words(void **state)
{
	(void)state;
	struct exp e;
	struct buf b = {0};
	struct model_judgement j;
	make(&e, 12, 0.002, 0.08, 0);
	j = judge(&e, &(struct model_judge_cfg){0});
	model_judgement_text(&j, "goodput", "cubic", "bbr", &b);
	assert_int_equal(j.outcome, VERDICT_INCONCLUSIVE);
	assert_non_null(strstr(b.data, "Inconclusive: goodput of bbr is "));
	assert_non_null(strstr(b.data, " than of cubic (95 % interval "));
	assert_non_null(strstr(b.data, "12 pairs"));
	assert_non_null(strstr(b.data, "could have shown a difference of "));
	assert_non_null(strstr(b.data, "weir try --pairs "));
	assert_null(strstr(b.data, "o difference")); /* "no difference" is never said */
	buf_clear(&b);
	make(&e, 12, 0, 0.005, 0);
	j = judge(&e, &(struct model_judge_cfg){.margin = 0.015});
	model_judgement_text(&j, NULL, NULL, NULL, &b);
	assert_true(!strncmp(b.data, "Equivalent within ±1.5 %: B is ", 31));
	buf_clear(&b);
	j = judge(&e, &(struct model_judge_cfg){.found = MODEL_R(REASON_REQUEST)});
	model_judgement_text(&j, NULL, NULL, NULL, &b);
	assert_true(!strncmp(b.data, "No verdict: the sides did not measure the same", 46));
	buf_fini(&b);
}

static void test_json(void **state)
{
	(void)state;
	struct exp e;
	struct buf b = {0};
	struct jw w = jw_init(&b);
	struct js_doc *d;
	double effect;
	make(&e, 12, 0.1, 0.02, 0);
	struct model_judgement j = judge(&e, &(struct model_judge_cfg){0});
	jw_obj(&w, NULL);
	model_judgement_json(&j, &w);
	jw_end_obj(&w);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &d, NULL), 0);
	const struct js *o = js_root(d);
	assert_string_equal(js_str(js_get(o, "outcome"), NULL), "better");
	assert_true(js_f64(js_get(o, "effect"), &effect) && effect == j.effect);
	assert_int_equal(js_len(js_get(o, "interval")), 2);
	assert_int_equal(js_len(js_get(o, "reasons")), 0);
	assert_int_equal(js_type(js_get(o, "noise_floor")), JS_NULL);
	js_free(d);
	buf_fini(&b);
}

/* Every code is there, once, and its text is a clause. */
static void test_reasons(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_NUM; i++) {
		const struct model_reason_row *r = model_reason((enum model_reason)i);
		assert_non_null(r->code);
		assert_true(strlen(r->text) > 10 && r->text[strlen(r->text) - 1] != '.');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(r->code, model_reason((enum model_reason)k)->code);
	}
	assert_null(model_reason(REASON_NUM));
	assert_true(REASON_NUM < 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_drift_of_pairs_that_lean),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_designs),
		cmocka_unit_test(test_boots),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_unblocked),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_qualifiers),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_not_worse),
		cmocka_unit_test(test_not_worse_follows_the_outcome),
		cmocka_unit_test(test_degenerate),
		cmocka_unit_test(test_paired_drift),
		cmocka_unit_test(test_all_zero),
		cmocka_unit_test(test_resolution),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_sequential),
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_plan_with_a_floor),
		cmocka_unit_test(test_floor_leaves_no_room),
		cmocka_unit_test(test_blocks_of_several),
		cmocka_unit_test(test_sessions_power),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_reasons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
