/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop with a measurement that is a shell script: runs in the plan's order, failures repeated
 * and counted, bounded in time and number, stopped by a descriptor, resumed without a run lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "try/try.h"

struct bench {
	char dir[64], program[96], log[96];
	struct try_design d;
	struct try_exp x;
	struct try_arm *arm;
	struct weir_err e;
	size_t begun, ended, failed;
	size_t enough_at;
	int stop[2];
	size_t stop_at;
};

static void write_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

/* A run with a goodput, as weir tcp --json prints it. */
static void write_run(const char *dir, const char *name, double bps, enum model_outcome outcome)
{
	static const uint8_t rnd[10];
	struct model_run *r = model_run_new("tcp", 1700000000 * NSEC_PER_SEC, rnd);
	struct model_summary s = {.part = MODEL_NO_PART,
				  .metric = model_metric("goodput"),
				  .state = MODEL_KNOWN,
				  .value = bps};
	struct buf b = {0};

	s.dims = model_dims_with(s.dims, DIM_DIR, MODEL_UP);
	s.dims = model_dims_with(s.dims, DIM_VIEW, MODEL_RECEIVER);
	r->outcome = outcome;
	assert_true(model_add_summary(r, &s) >= 0);
	model_to_json(r, &b);
	write_file(dir, name, b.data, 0600);
	buf_fini(&b);
	model_run_free(r);
}

/* $1… are weir's arguments; the arm's name is the last tag. */
static void start(struct bench *t, const char *script, size_t blocks)
{
	static char tcp[] = "tcp", host[] = "host", *command[] = {tcp, host};
	char text[1024];

	*t = (struct bench){
		.dir = "/tmp/weir-try-XXXXXX", .enough_at = SIZE_MAX, .stop_at = SIZE_MAX};
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->program, sizeof(t->program), "%s/weir", t->dir);
	snprintf(t->log, sizeof(t->log), "%s/log", t->dir);
	snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\necho \"$@\" >>log\n%s\n", t->dir, script);
	write_file(t->dir, "weir", text, 0700);
	write_run(t->dir, "1M", 1e9, OUTCOME_COMPLETE);
	write_run(t->dir, "2M", 2e9, OUTCOME_COMPLETE);
	write_run(t->dir, "partial", 2e9, OUTCOME_PARTIAL);
	assert_int_equal(pipe2(t->stop, O_CLOEXEC | O_NONBLOCK), 0);
	t->d = (struct try_design){.seed = 3, .blocks = blocks, .n_factors = 1};
	assert_int_equal(try_factor_parse(&t->d.factors[0], "window=1M,2M", "tcp", &t->e), 0);
	t->x = (struct try_exp){.design = &t->d,
				.program = t->program,
				.command = command,
				.n_command = 2,
				.exp = {.id = "x"},
				.run_max_ns = 10 * NSEC_PER_SEC,
				.stop_fd = t->stop[0]};
	assert_int_equal(try_arm_open(&(struct try_arm_cfg){.design = &t->d}, &t->arm, &t->e), 0);
}

static void finish(struct bench *t)
{
	static const char *const files[] = {"weir", "log", "1M", "2M", "partial", "once", "side"};
	char path[160];

	assert_int_equal(try_arm_close(t->arm, &t->e), 0);
	try_exp_fini(&t->x);
	try_design_fini(&t->d);
	close(t->stop[0]);
	close(t->stop[1]);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", t->dir, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(t->dir), 0);
}

#define GOOD "for a; do case $a in --window=*) cat \"${a#*=}\";; esac; done"

static void before(void *arg, const struct try_exp *x, size_t slot)
{
	struct bench *t = arg;

	(void)x;
	t->begun++;
	if (slot == t->stop_at)
		assert_int_equal(write(t->stop[1], "x", 1), 1);
}

static void after(void *arg, const struct try_exp *x, size_t slot, const struct model_run *r,
		  const struct weir_err *why)
{
	struct bench *t = arg;

	(void)x;
	(void)slot;
	t->ended++;
	if (!r) {
		t->failed++;
		assert_true(why->msg[0]);
	}
}

static bool enough(void *arg, const struct try_exp *x, size_t blocks)
{
	struct bench *t = arg;

	(void)x;
	return blocks >= t->enough_at;
}

static int loop(struct bench *t)
{
	struct try_watch w = {before, after, enough, t};

	return try_loop(&t->x, t->arm, &w, &t->e);
}

static size_t lines_of(const char *path, const char *word)
{
	FILE *f = fopen(path, "r");
	char line[2048];
	size_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, word) != NULL;
	if (f)
		fclose(f);
	return n;
}

static void all_places_are_filled(void **state)
{
	struct model_judge_cfg cfg = {0};
	struct model_judgement j;
	struct bench t;
	double v;

	(void)state;
	start(&t, GOOD, 6);
	t.x.warmup = 1;
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_int_equal(try_done(&t.x), 12);
	for (size_t i = 0; i < 12; i++) {
		assert_true(try_value(t.x.runs[i], NULL, &v));
		assert_true(v == (try_variant_at(&t.d, i) ? 2e9 : 1e9));
	}
	assert_int_equal(lines_of(t.log, "--experiment"), 12);
	assert_int_equal(lines_of(t.log, "tcp"), 13);
	assert_int_equal(lines_of(t.log, "arm=1M"), 6);
	assert_int_equal(try_effect(&t.x, &(struct try_span){.b = 1, .to = 6}, &cfg, &j), 0);
	assert_true(fabs(j.effect - 1) < 1e-9);
	assert_int_equal(j.units, 6);
	finish(&t);
}

static void a_failure_is_repeated(void **state)
{
	struct bench t;

	(void)state;
	start(&t, "[ -e once ] || { : >once; exit 1; }\n" GOOD, 2);
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_int_equal(try_done(&t.x), 4);
	assert_int_equal(t.x.failed, 1);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.begun, 5);
	finish(&t);
}

static void failures_are_bounded(void **state)
{
	static const char *const scripts[] = {
		"exit 1", "echo '{'", "cat partial", "kill -9 $$", "exit 0",
	};
	struct bench t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		start(&t, scripts[i], 6);
		assert_int_equal(loop(&t), TRY_FAILED);
		assert_int_equal(t.begun, TRY_REPEATS_MAX);
		assert_int_equal(try_done(&t.x), 0);
		finish(&t);
	}
}

static void a_refusal_ends_it(void **state)
{
	struct bench t;

	(void)state;
	start(&t, "exit 2", 6);
	assert_true(loop(&t) < 0);
	assert_int_equal(t.e.domain, WEIR_USAGE);
	assert_int_equal(t.begun, 1);
	finish(&t);
	start(&t, "exit 77", 6);
	assert_true(loop(&t) < 0);
	assert_int_equal(t.e.domain, WEIR_MISSING);
	finish(&t);
}

static void a_failed_assertion_is_a_run(void **state)
{
	struct bench t;

	(void)state;
	start(&t, GOOD "\nexit 3", 1);
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_int_equal(try_done(&t.x), 2);
	finish(&t);
}

static void it_can_be_stopped_and_goes_on(void **state)
{
	struct bench t;
	char byte;

	(void)state;
	start(&t, GOOD, 4);
	t.stop_at = 3;
	assert_int_equal(loop(&t), TRY_STOPPED);
	assert_int_equal(try_done(&t.x), 3);
	assert_int_equal(read(t.stop[0], &byte, 1), 1);
	t.stop_at = SIZE_MAX;
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_int_equal(try_done(&t.x), 8);
	/* The run that was stopped had begun, and may have come as far as its line. */
	assert_in_range(lines_of(t.log, "--experiment"), 8, 9);
	finish(&t);
}

static void a_run_that_hangs_is_ended(void **state)
{
	struct bench t;

	(void)state;
	start(&t, "exec sleep 60", 1);
	t.x.run_max_ns = 50 * NSEC_PER_MSEC;
	assert_int_equal(loop(&t), TRY_FAILED);
	assert_non_null(strstr(t.e.msg, "too long"));
	finish(&t);
}

static void it_ends_between_blocks(void **state)
{
	struct bench t;

	(void)state;
	start(&t, GOOD, 6);
	t.enough_at = 2;
	assert_int_equal(loop(&t), TRY_ENOUGH);
	assert_int_equal(try_done(&t.x), 4);
	finish(&t);
	start(&t, GOOD, 6);
	t.x.until_ns = clk_mono_ns() - 1;
	assert_int_equal(loop(&t), TRY_OUT_OF_TIME);
	assert_int_equal(try_done(&t.x), 0);
	finish(&t);
	/* nothing was run yet: what a run is expected to take counts, with the warm-up before it */
	for (int i = 0; i < 3; i++) {
		start(&t, GOOD, 6);
		t.x.until_ns = clk_mono_ns() + 1000 * NSEC_PER_SEC;
		t.x.expect_ns = (i == 1 ? 300 : 600) * NSEC_PER_SEC;
		t.x.warmup = i == 1 ? 2 : 0;
		if (i == 2) { /* one half of the pair is there, the other would end in time */
			t.x.most = 1;
			t.x.expect_ns = 400 * NSEC_PER_SEC;
			assert_int_equal(loop(&t), TRY_PAUSED);
			t.x.timed = 0;
			t.x.expect_ns = 2000 * NSEC_PER_SEC;
		}
		assert_int_equal(loop(&t), TRY_OUT_OF_TIME);
		assert_int_equal(try_done(&t.x), i == 2 ? 1 : 0);
		assert_int_equal(lines_of(t.log, "tcp"), i == 2 ? 1 : 0);
		finish(&t);
	}
	/* the warm-up tells what to expect */
	start(&t, GOOD, 1);
	t.x.until_ns = clk_mono_ns() + 1000 * NSEC_PER_SEC;
	t.x.expect_ns = 200 * NSEC_PER_SEC;
	t.x.warmup = 1;
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_true(t.x.expect_ns < 200 * NSEC_PER_SEC);
	finish(&t);
	start(&t, GOOD, 6);
	t.x.most = 1;
	assert_int_equal(loop(&t), TRY_PAUSED);
	assert_int_equal(loop(&t), TRY_PAUSED);
	assert_int_equal(try_done(&t.x), 2);
	finish(&t);
}

/* From a store: only whole runs of this plan, each place once. */
static void runs_are_taken_once(void **state)
{
	static const uint8_t rnd[10];
	struct model_run *r[2];
	struct bench t;

	(void)state;
	start(&t, GOOD, 2);
	for (int i = 0; i < 2; i++) {
		r[i] = model_run_new("tcp", 0, rnd);
		r[i]->outcome = OUTCOME_COMPLETE;
		r[i]->exp.position = 1;
		r[i]->exp.seed = 3;
	}
	r[0]->exp.seed = 4;
	assert_false(try_take(&t.x, r[0]));
	r[0]->exp.seed = 3;
	r[0]->exp.position = 4;
	assert_false(try_take(&t.x, r[0]));
	r[0]->exp.position = -1;
	assert_false(try_take(&t.x, r[0]));
	r[0]->exp.position = 1;
	r[0]->outcome = OUTCOME_PARTIAL;
	assert_false(try_take(&t.x, r[0]));
	assert_true(try_take(&t.x, r[1]));
	r[0]->outcome = OUTCOME_COMPLETE;
	assert_false(try_take(&t.x, r[0]));
	model_run_free(r[0]);
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_int_equal(lines_of(t.log, "--experiment"), 3);
	finish(&t);
}

/* ---- commands ---- */

static void commands_switch_before_each_run(void **state)
{
	char a[128], b[128], undo[128], side[96];
	const char *commands[] = {a, b};
	struct bench t;

	(void)state;
	start(&t, "cat 1M", 3);
	snprintf(side, sizeof(side), "%s/side", t.dir);
	snprintf(a, sizeof(a), "echo a >>%s", side);
	snprintf(b, sizeof(b), "echo b >>%s", side);
	snprintf(undo, sizeof(undo), "echo undone >>%s", side);
	try_design_fini(&t.d);
	assert_int_equal(try_factor_arms(&t.d.factors[0], NULL, commands, 2, &t.e), 0);
	t.d.n_factors = 1;
	assert_int_equal(try_arm_close(t.arm, &t.e), 0);
	assert_int_equal(
		try_arm_open(&(struct try_arm_cfg){.design = &t.d, .undo = undo}, &t.arm, &t.e), 0);
	assert_int_equal(loop(&t), TRY_FINISHED);
	assert_int_equal(lines_of(side, "a"), 3);
	assert_int_equal(lines_of(side, "b"), 3);
	assert_int_equal(lines_of(side, "undone"), 0);
	assert_int_equal(try_arm_close(t.arm, &t.e), 0);
	t.arm = NULL;
	assert_int_equal(lines_of(side, "undone"), 1);
	finish(&t);
}

static void a_command_that_fails_is_a_failure(void **state)
{
	static const char *const commands[] = {"exit 5", "exit 6"};
	struct bench t;

	(void)state;
	start(&t, "cat 1M", 3);
	try_design_fini(&t.d);
	assert_int_equal(try_factor_arms(&t.d.factors[0], NULL, commands, 2, &t.e), 0);
	t.d.n_factors = 1;
	assert_int_equal(loop(&t), TRY_FAILED);
	assert_non_null(strstr(t.e.msg, "switching: exit status"));
	assert_int_equal(lines_of(t.log, "tcp"), 0);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_places_are_filled),
		cmocka_unit_test(a_failure_is_repeated),
		cmocka_unit_test(failures_are_bounded),
		cmocka_unit_test(a_refusal_ends_it),
		cmocka_unit_test(a_failed_assertion_is_a_run),
		cmocka_unit_test(it_can_be_stopped_and_goes_on),
		cmocka_unit_test(a_run_that_hangs_is_ended),
		cmocka_unit_test(it_ends_between_blocks),
		cmocka_unit_test(runs_are_taken_once),
		cmocka_unit_test(commands_switch_before_each_run),
		cmocka_unit_test(a_command_that_fails_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
