/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often the whole rule errs, at the default design (12 coin-tossed pairs) and the quick one
 * (6): false alarms, where *negligible* is one too; how often the interval covers; power at the
 * detectable effect and at twice it. Seeded, so it either passes always or never; 400 experiments
 * a row here, 4,000 with WEIR_CHECK_ALL=1. Bounds are the promised ones with 2.6 standard errors
 * of the count.
 */
#include "model_full.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAIRS       12
#define CALIBRATION 12 /* A/A experiments behind a noise floor */

enum trouble {
	QUIET,
	LINEAR,   /* half a noise a run: twelve over the experiment */
	WARM_UP,  /* ten noises at first, gone after a few runs */
	AR,       /* AR(0.9): a machine that has moods */
	STALLS,   /* one run in twenty loses a third */
	PAUSES,   /* one run in twenty loses a twentieth */
	SESSIONS, /* each arm of an experiment has an offset: the switch itself does something */
};
struct world {
	const char *name;
	enum trouble trouble;
	double sd; /* of a run's log */
	size_t pairs;
};
static const struct world worlds[] = {
	{"0.5 %", QUIET, 0.005, PAIRS},        {"2 %", QUIET, 0.02, PAIRS},
	{"5 %", QUIET, 0.05, PAIRS},           {"20 %", QUIET, 0.2, PAIRS},
	{"linear drift", LINEAR, 0.02, PAIRS}, {"warm-up drift", WARM_UP, 0.02, PAIRS},
	{"AR(0.9)", AR, 0.02, PAIRS},          {"stalls", STALLS, 0.02, PAIRS},
	{"pauses", PAUSES, 0.02, PAIRS},       {"sessions", SESSIONS, 0.01, PAIRS},
	{"2 %, quick", QUIET, 0.02, 6},        {"20 %, quick", QUIET, 0.2, 6},
	{"drift, quick", LINEAR, 0.02, 6},     {"sessions, quick", SESSIONS, 0.01, 6},
};

static double noise_of(const struct world *w, struct model_rng *r, size_t place, double *mood)
{
	double z = model_rng_normal(r), at = (double)place;

	switch (w->trouble) {
	case LINEAR:
		return w->sd * (z + 0.5 * at);
	case WARM_UP:
		return w->sd * (z - 10 * exp(-at / 3));
	case AR:
		*mood = place ? 0.9 * *mood + sqrt(1 - 0.81) * z : z;
		return w->sd * *mood;
	case STALLS:
		return w->sd * z + (model_rng_below(r, 20) == 0 ? log(2.0 / 3) : 0);
	case PAUSES:
		return w->sd * z + (model_rng_below(r, 20) == 0 ? log(0.95) : 0);
	default:
		return w->sd * z;
	}
}

/* One experiment with a true effect; *truth is what its interval should cover. */
static struct model_judgement run_one(const struct world *w, struct model_rng *r, double effect,
				      double floor, double *truth)
{
	double x[2][PAIRS], mood = 0, offset[2] = {0};
	int64_t at[2][PAIRS];
	struct model_judgement j;

	for (int i = 0; i < 2 && w->trouble == SESSIONS; i++)
		offset[i] = 0.015 * model_rng_normal(r);
	*truth = effect + offset[1] - offset[0];
	for (size_t place = 0; place < 2 * w->pairs; place += 2) {
		uint32_t first = model_rng_below(r, 2);
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t side = first ^ k;
			at[side][place / 2] = (int64_t)(place + k);
			x[side][place / 2] = 1e9 * exp(noise_of(w, r, place + k, &mood) +
						       offset[side] + (side ? effect : 0));
		}
	}
	model_judge(&(struct model_judge_cfg){.floor = floor, .seed = 1},
		    &(struct model_side){.x = x[0], .n = w->pairs, .order = at[0]},
		    &(struct model_side){.x = x[1], .n = w->pairs, .order = at[1]}, &j);
	return j;
}

/* Sessions: the floor that `weir calibrate` would have found. */
static double calibrate(const struct world *w, struct model_rng *r)
{
	double aa[CALIBRATION], truth;

	if (w->trouble != SESSIONS)
		return 0;
	for (int i = 0; i < CALIBRATION; i++)
		aa[i] = run_one(w, r, 0, 0, &truth).t.d;
	return expm1(model_noise_floor(aa, CALIBRATION));
}

static bool is_different(const struct model_judgement *j)
{
	return j->outcome == VERDICT_BETTER || j->outcome == VERDICT_WORSE ||
	       j->outcome == VERDICT_NEGLIGIBLE;
}

static int experiments(void)
{
	const char *all = getenv("WEIR_CHECK_ALL");

	return all && *all == '1' ? 4000 : 400;
}

static double errors(double p, int n)
{
	return 2.6 * sqrt(p * (1 - p) / n);
}

/* ---- false alarms and coverage ---- */

/*
 * Student's interval covers in 98.4 % here, and not in 95 +- 1.4 % as it does with pauses of a twentieth
 * (half a second in ten), which are like noise. It errs on the safe side, and it is left so on purpose:
 * - Noise is 2 %, and a stalled run is 20 of these away. One or two such runs in an experiment make s_d
 *   what it is, and nearly all of D: |D|/SE of one far pair among K is about 1, whatever its size, so
 *   that t cannot reach its quantile. No quantile mends this: it is narrower only if the far runs are
 *   left out or bent (trimmed, winsorised, ranks), and a verdict is not made by deleting runs; the
 *   robust estimate is shown beside it.
 * - The interval that would cover in 95 % is that of the sign flips (all shifts that they do not
 *   refuse): flips are exact in any world of coin-tossed pairs, which is counted here. But then the
 *   interval would leave out 0 where the t-test, whose p is the only one that Holm can adjust with few
 *   pairs, says nothing, and 6 pairs would have 96.9 %, the least that 2/64 allows. The rule needs both
 *   witnesses, and prints the interval of the t-test.
 * - It costs power, which the printed detectable effect contains (SE is as wide), and no false alarm
 *   (1.5 %). Runs in which over 5 % of the intervals have no byte get no verdict at all.
 */
static void check_stalls(const struct world *w, double cover, double flips, int n)
{
	if (!(cover > 0.95 && cover < 0.995))
		fail_msg("%s: the interval covers in %.2f %%", w->name, 100 * cover);
	if (getenv("WEIR_ERRS_PRINT"))
		print_message("%-16s sign flips alone refuse %.2f %%\n", w->name, 100 * flips);
	if (fabs(flips - 0.05) > 0.014 + errors(0.05, n))
		fail_msg("%s: sign flips refuse %.2f %%", w->name, 100 * flips);
}

static void check_world(const struct world *w, struct model_rng *r, int n)
{
	int alarms = 0, covered = 0, flips = 0;

	for (int i = 0; i < n; i++) {
		double truth, floor = calibrate(w, r);
		struct model_judgement j = run_one(w, r, 0, floor, &truth);
		alarms += is_different(&j);
		covered += log1p(j.lo) <= truth && truth <= log1p(j.hi);
		flips += j.perm.p < 0.05;
	}
	double alarm = (double)alarms / n, cover = (double)covered / n;
	if (getenv("WEIR_ERRS_PRINT"))
		print_message("%-16s alarms %5.2f %%, covers %6.2f %%\n", w->name, 100 * alarm,
			      100 * cover);
	if (alarm > 0.05 + errors(0.05, n))
		fail_msg("%s: %.2f %% false alarms", w->name, 100 * alarm);
	if (w->trouble == STALLS)
		check_stalls(w, cover, (double)flips / n, n);
	else if (fabs(cover - 0.95) > 0.014 + errors(0.95, n))
		fail_msg("%s: the interval covers in %.2f %%", w->name, 100 * cover);
}

static void test_alarms(void **state)
{
	(void)state;
	struct model_rng r;
	model_rng_seed(&r, 20, 1);
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++)
		check_world(&worlds[i], &r, experiments());
}

/* ---- power ---- */

static double power(const struct world *w, struct model_rng *r, double effect, double floor, int n)
{
	int hits = 0;
	double truth;

	for (int i = 0; i < n; i++) {
		struct model_judgement j = run_one(w, r, effect, floor, &truth);
		hits += is_different(&j);
	}
	return (double)hits / n;
}

/* What is printed is an estimate: the mean power over what pilots of this world print. */
static double power_printed(const struct world *w, struct model_rng *r, double times, double floor,
			    int n)
{
	int hits = 0;
	double truth;

	for (int i = 0; i < n; i++) {
		double effect = times * log1p(run_one(w, r, 0, floor, &truth).mde);
		struct model_judgement j = run_one(w, r, effect, floor, &truth);
		hits += is_different(&j);
	}
	return (double)hits / n;
}

static void test_power(void **state)
{
	(void)state;
	static const struct {
		struct world w;
		double floor;
	} rows[] = {
		{{"0.5 %", QUIET, 0.005, PAIRS}, 0},
		{{"20 %", QUIET, 0.2, PAIRS}, 0},
		{{"2 %, quick", QUIET, 0.02, 6}, 0},
		{{"2 %, floor", QUIET, 0.02, PAIRS}, 0.03},
	};
	int n = experiments();
	struct model_rng r;
	model_rng_seed(&r, 21, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct world *w = &rows[i].w;
		double floor = rows[i].floor;
		struct model_noise noise = {
			.sd = M_SQRT2 * w->sd, .floor = log1p(floor), .alpha = 0.05};
		double mde = model_mde_pairs(w->pairs, &noise);
		double one = power(w, &r, mde, floor, n), two = power(w, &r, 2 * mde, floor, n);
		double printed = power_printed(w, &r, 1, floor, n);
		double printed2 = power_printed(w, &r, 2, floor, n);
		if (getenv("WEIR_ERRS_PRINT"))
			print_message("%-16s power %.3f, at twice %.3f; as printed %.3f, %.3f\n",
				      w->name, one, two, printed, printed2);
		assert_true(one >= 0.75 - errors(0.75, n));
		assert_true(two >= 0.98 - errors(0.98, n));
		assert_true(printed >= 0.75 - errors(0.75, n));
		assert_true(printed2 >= 0.98 - errors(0.98, n));
	}
}

/* ---- within the margin ---- */

/* Pairs with a true effect, and a session's effect on top of it. */
static struct model_judgement run_pairs(struct model_rng *r, size_t pairs, double sd, double effect,
					double floor)
{
	double x[2][64];
	int64_t block[64];
	struct model_judgement j;

	assert_true(pairs <= 64);
	for (size_t i = 0; i < pairs; i++) {
		block[i] = (int64_t)i;
		x[0][i] = exp(sd * model_rng_normal(r));
		x[1][i] = exp(sd * model_rng_normal(r) + effect);
	}
	model_judge(&(struct model_judge_cfg){.floor = floor, .floor_n = CALIBRATION, .seed = 1},
		    &(struct model_side){.x = x[0], .n = pairs, .block = block},
		    &(struct model_side){.x = x[1], .n = pairs, .block = block}, &j);
	return j;
}

/* What is worse by the whole margin passes for equivalent, and for not worse, in 5 % at most. */
static void test_margin(void **state)
{
	(void)state;
	static const double noises[] = {0.002, 0.01, 0.03};
	int n = experiments();
	struct model_rng r;
	model_rng_seed(&r, 27, 1);
	for (size_t i = 0; i < ARRAY_LEN(noises); i++) {
		int equal = 0, passed = 0;
		for (int k = 0; k < n; k++) {
			struct model_judgement j =
				run_pairs(&r, PAIRS, noises[i], -log1p(MODEL_MARGIN), 0);
			equal += j.outcome == VERDICT_EQUIVALENT || j.outcome == VERDICT_NEGLIGIBLE;
			passed += model_not_worse(&j);
		}
		if (getenv("WEIR_ERRS_PRINT"))
			print_message("worse by the margin, noise %.1f %%: %.2f %% equivalent, "
				      "%.2f %% not worse\n",
				      100 * noises[i], 100.0 * equal / n, 100.0 * passed / n);
		assert_true((double)equal / n <= 0.05 + errors(0.05, n));
		assert_true((double)passed / n <= 0.05 + errors(0.05, n));
	}
}

/* The pairs that the plan says show equivalence do so in four of five tries where there is no
 * effect; with a floor, where sessions give effects of its root mean square. */
static void test_planned_equivalence(void **state)
{
	(void)state;
	static const double floors[] = {0, 0.008, 0.013};
	int n = experiments();
	struct model_rng r;
	model_rng_seed(&r, 28, 1);
	for (size_t i = 0; i < ARRAY_LEN(floors); i++) {
		struct model_noise noise = {.sd = M_SQRT2 * 0.01,
					    .floor = log1p(floors[i]),
					    .floor_n = CALIBRATION,
					    .alpha = 0.05};
		size_t pairs = model_pairs_to_equal(log1p(MODEL_MARGIN), &noise);
		double se = noise.sd / sqrt((double)pairs);
		double rms = noise.floor / model_t_quantile(0.975, CALIBRATION);
		double session = rms > se ? sqrt(rms * rms - se * se) : 0;
		int equal = 0;
		assert_true(pairs >= 6 && pairs <= 64);
		for (int k = 0; k < n; k++) {
			double offset = session * model_rng_normal(&r);
			struct model_judgement j = run_pairs(&r, pairs, 0.01, offset, floors[i]);
			equal += j.outcome == VERDICT_EQUIVALENT || j.outcome == VERDICT_NEGLIGIBLE;
		}
		if (getenv("WEIR_ERRS_PRINT"))
			print_message("floor %.1f %%: %zu pairs, %.1f %% equivalent\n",
				      100 * floors[i], pairs, 100.0 * equal / n);
		assert_true((double)equal / n >= 0.75 - errors(0.75, n));
	}
}

/* ---- few units ---- */

/* Few blocks of four runs, and few boots of one side each: their spread is hardly known, and what
 * is printed as detectable says so. */
struct few {
	const char *name;
	size_t units, each; /* blocks of `each` and `each`, or boots a side of `each` runs */
	bool boots;
};

static struct model_judgement run_few(const struct few *w, struct model_rng *r, double effect)
{
	double x[2][32];
	int64_t at[2][32];
	struct model_side side[2];
	struct model_judgement j;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < w->units * w->each; i++) {
			double z = 0.02 * model_rng_normal(r);
			x[s][i] = w->boots && i % w->each ? log(x[s][i - i % w->each]) : z;
			x[s][i] = exp(w->boots ? x[s][i] : x[s][i] + s * effect);
			at[s][i] = (int64_t)(i / w->each) + (w->boots ? 100 * s : 0);
		}
		for (size_t i = 0; w->boots && i < w->units * w->each; i++)
			x[s][i] *= exp(0.01 * model_rng_normal(r) + s * effect);
		side[s] = (struct model_side){.x = x[s],
					      .n = w->units * w->each,
					      .block = w->boots ? NULL : at[s],
					      .session = w->boots ? at[s] : NULL};
	}
	model_judge(&(struct model_judge_cfg){.seed = 1}, &side[0], &side[1], &j);
	assert_int_equal(j.units, w->units);
	assert_int_equal(j.design, w->boots ? DESIGN_SESSIONS : DESIGN_BLOCKED);
	return j;
}

static void test_few_units(void **state)
{
	(void)state;
	static const struct few rows[] = {
		{"3 blocks of ABBA", 3, 2, false}, {"4 blocks of ABBA", 4, 2, false},
		{"5 blocks of ABBA", 5, 2, false}, {"6 blocks of ABBA", 6, 2, false},
		{"3 boots a side", 3, 3, true},    {"5 boots a side", 5, 3, true},
	};
	int n = experiments();
	struct model_rng r;
	model_rng_seed(&r, 26, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct few *w = &rows[i];
		int alarms = 0, covered = 0, one = 0, two = 0;
		for (int k = 0; k < n; k++) {
			struct model_judgement j = run_few(w, &r, 0), hit;
			double mde = log1p(j.mde);
			alarms += is_different(&j);
			covered += j.lo <= 0 && 0 <= j.hi;
			hit = run_few(w, &r, mde);
			one += is_different(&hit);
			hit = run_few(w, &r, 2 * mde);
			two += is_different(&hit);
		}
		if (getenv("WEIR_ERRS_PRINT"))
			print_message("%-16s alarms %.2f %%, covers %.2f %%, power %.3f, %.3f\n",
				      w->name, 100.0 * alarms / n, 100.0 * covered / n,
				      (double)one / n, (double)two / n);
		assert_true((double)alarms / n <= 0.05 + errors(0.05, n));
		/* Welch's degrees of freedom of a few boots make the interval too wide. */
		assert_true((double)covered / n >= 0.95 - 0.014 - errors(0.95, n));
		assert_true(w->boots || (double)covered / n <= 0.95 + 0.014 + errors(0.95, n));
		assert_true((double)one / n >= 0.75 - errors(0.75, n));
		assert_true((double)two / n >= 0.98 - errors(0.98, n));
	}
}

/* Two heaps of runs, where sessions are no concern: the Welch form keeps its promises too. */
static void test_heaps(void **state)
{
	(void)state;
	int n = experiments(), alarms = 0, hits = 0, covered = 0;
	struct model_rng r;
	model_rng_seed(&r, 22, 1);
	double mde = model_mde_two(8, 8, &(struct model_noise){.sd = 0.05, .alpha = 0.05});
	for (int i = 0; i < n; i++) {
		double x[3][8];
		struct model_judgement j;
		for (int k = 0; k < 24; k++)
			x[k / 8][k % 8] = exp(0.05 * model_rng_normal(&r) + (k >= 16 ? mde : 0));
		struct model_side a = {.x = x[0], .n = 8}, b = {.x = x[1], .n = 8};
		struct model_side c = {.x = x[2], .n = 8};
		model_judge(&(struct model_judge_cfg){.floor_sessions = true}, &a, &b, &j);
		alarms += is_different(&j);
		covered += j.lo <= 0 && 0 <= j.hi;
		model_judge(&(struct model_judge_cfg){.floor_sessions = true}, &a, &c, &j);
		hits += is_different(&j);
	}
	assert_true((double)alarms / n <= 0.05 + errors(0.05, n));
	assert_true(fabs((double)covered / n - 0.95) <= 0.014 + errors(0.95, n));
	assert_true((double)hits / n >= 0.75 - errors(0.75, n));
}

/* Boots that differ by more than their runs do, three runs each, one arm a boot. In pairs or in two
 * heaps of boots, the boot is the unit: what changes from boot to boot is noise then, and covered. */
static void test_boots(void **state)
{
	(void)state;
	enum { BOOTS = 8, EACH = 3, N = BOOTS * EACH };
	int n = experiments();
	struct model_rng r;
	model_rng_seed(&r, 23, 1);
	for (int paired = 0; paired < 2; paired++) {
		int alarms = 0, covered = 0;
		for (int i = 0; i < n; i++) {
			double x[2][N];
			int64_t block[2][N], boot[2][N];
			struct model_side side[2];
			struct model_judgement j;
			for (int k = 0; k < 2 * N; k++) {
				int s = k / N, at = k % N / EACH;
				double *v = &x[s][k % N];
				*v = k % EACH ? v[-1] : 0.015 * model_rng_normal(&r);
				block[s][k % N] = at;
				boot[s][k % N] = 2 * at + s;
			}
			for (int k = 0; k < 2 * N; k++)
				x[k / N][k % N] =
					exp(x[k / N][k % N] + 0.005 * model_rng_normal(&r));
			for (int s = 0; s < 2; s++)
				side[s] = (struct model_side){.x = x[s],
							      .n = N,
							      .block = paired ? block[s] : NULL,
							      .session = boot[s]};
			model_judge(&(struct model_judge_cfg){.seed = 1}, &side[0], &side[1], &j);
			assert_int_equal(j.design, paired ? DESIGN_BLOCKED : DESIGN_SESSIONS);
			assert_int_equal(j.units, BOOTS);
			alarms += is_different(&j);
			covered += j.lo <= 0 && 0 <= j.hi;
		}
		if (getenv("WEIR_ERRS_PRINT"))
			print_message("boots, %s: alarms %.2f %%, covers %.2f %%\n",
				      paired ? "paired" : "in two heaps", 100.0 * alarms / n,
				      100.0 * covered / n);
		assert_true((double)alarms / n <= 0.05 + errors(0.05, n));
		assert_true(fabs((double)covered / n - 0.95) <= 0.014 + errors(0.95, n));
	}
}

/* One session a side, six runs each, and sessions of identical code that differ by three times the
 * runs' noise: as they stand they "differ between these sessions" nearly always. A floor from twelve
 * A/A effects between sessions (weir calibrate --by-hand --pairs 1) makes that 5 %. */
static void test_one_session_a_side(void **state)
{
	(void)state;
	enum { N = 6 };
	int n = experiments(), alarms = 0, sessions = 0;
	struct model_rng r;
	model_rng_seed(&r, 25, 1);
	for (int i = 0; i < n; i++) {
		double aa[CALIBRATION], x[2][N];
		struct model_judgement j;
		for (int k = 0; k < CALIBRATION; k++)
			aa[k] = M_SQRT2 *
				(0.015 * model_rng_normal(&r) + 0.005 * model_rng_normal(&r));
		for (int s = 0; s < 2; s++) {
			double offset = 0.015 * model_rng_normal(&r);
			for (int k = 0; k < N; k++)
				x[s][k] = exp(offset + 0.005 * model_rng_normal(&r));
		}
		struct model_side a = {.x = x[0], .n = N}, b = {.x = x[1], .n = N};
		model_judge(&(struct model_judge_cfg){0}, &a, &b, &j);
		assert_false(is_different(&j));
		sessions += j.outcome == VERDICT_SESSIONS;
		model_judge(&(struct model_judge_cfg){.floor = expm1(
							      model_noise_floor(aa, CALIBRATION)),
						      .floor_n = CALIBRATION,
						      .floor_sessions = true},
			    &a, &b, &j);
		alarms += is_different(&j);
	}
	if (getenv("WEIR_ERRS_PRINT"))
		print_message("one session a side: %.1f %% differ, %.2f %% with a floor\n",
			      100.0 * sessions / n, 100.0 * alarms / n);
	assert_true(sessions > n / 2);
	assert_true((double)alarms / n <= 0.05 + errors(0.05, n));
}

/* ---- real runs ---- */

#define BANK_MAX 256

static size_t read_bank(double *x)
{
	char line[128];
	size_t n = 0;
	FILE *f = fopen(TEST_DATA "/verdict/bank.txt", "r");

	assert_non_null(f);
	while (n < BANK_MAX && fgets(line, sizeof(line), f)) {
		if (line[0] != '#')
			x[n++] = strtod(line, NULL);
	}
	fclose(f);
	return n;
}

/*
 * A/A experiments on runs that a busy machine really made, one after the other, in their order:
 * script/record-bank. Their noise is no textbook's (a factor of four between quiet and busy
 * minutes); at most 5 % may be called different. Of 400,000 such experiments 4.8 % were, so that a
 * thousand of them are over 50 in about four tries of ten, whatever the rule is worth: the seed
 * would decide. With WEIR_CHECK_ALL=1 20,000 are counted instead, against 5 % with 2.6 standard errors
 * of the count (5.4 %): a rule of 4.8 % passes with any seed, one of 5.8 % with none. The first thousand
 * of them are within 50 as well, with the seed that came next in this file.
 */
static void test_bank(void **state)
{
	(void)state;
	const int n = 5 * experiments();
	double bank[BANK_MAX], x[2][PAIRS];
	int64_t at[2][PAIRS];
	size_t runs = read_bank(bank);
	struct model_rng r;
	int alarms = 0, thousand = 0;
	assert_true(runs >= 4 * PAIRS);
	model_rng_seed(&r, 24, 1);
	for (int i = 0; i < n; i++) {
		size_t from = model_rng_below(&r, (uint32_t)(runs - 2 * PAIRS + 1));
		struct model_judgement j;
		for (size_t k = 0; k < 2 * PAIRS; k += 2) {
			uint32_t first = model_rng_below(&r, 2);
			for (uint32_t m = 0; m < 2; m++) {
				x[first ^ m][k / 2] = bank[from + k + m];
				at[first ^ m][k / 2] = (int64_t)(k + m);
			}
		}
		model_judge(&(struct model_judge_cfg){.seed = 1},
			    &(struct model_side){.x = x[0], .n = PAIRS, .order = at[0]},
			    &(struct model_side){.x = x[1], .n = PAIRS, .order = at[1]}, &j);
		assert_int_equal(j.design, DESIGN_BLOCKED);
		alarms += is_different(&j);
		thousand = i < 1000 ? alarms : thousand;
	}
	if (getenv("WEIR_ERRS_PRINT"))
		print_message("%zu real runs: %d of 1000 experiments, %.1f %% of %d\n", runs,
			      thousand, 100.0 * alarms / n, n);
	assert_true(thousand <= 50);
	assert_true(alarms <= n * (0.05 + errors(0.05, n)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alarms),    cmocka_unit_test(test_power),
		cmocka_unit_test(test_margin),    cmocka_unit_test(test_planned_equivalence),
		cmocka_unit_test(test_few_units), cmocka_unit_test(test_heaps),
		cmocka_unit_test(test_boots),     cmocka_unit_test(test_one_session_a_side),
		cmocka_unit_test(test_bank),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
