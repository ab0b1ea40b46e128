/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a run's mean describes it: which samples are looked at, stalls, a change of level. */
#include "model_full.h"

#define ROWS 400

struct shape {
	int64_t tick_ns;
	size_t rows;
	bool receiver; /* there are samples of both ends, else of the sender alone */
	size_t dead_from, dead_to, step_at;
	unsigned last_flags;
};

static void add_axis(struct model_run *r, uint32_t clock, int view, const struct shape *s)
{
	const struct model_metric *bytes[] = {model_metric("bytes")};
	int axis = model_add_axis(r, 0, clock), frame[2];

	for (int flow = 0; flow < 2; flow++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_FLOW, flow);
		d = model_dims_with(d, DIM_DIR, MODEL_UP);
		d = model_dims_with(d, DIM_VIEW, view);
		frame[flow] = model_add_frame(r, (uint32_t)axis, &d, bytes, 1);
	}
	for (size_t i = 0; i < s->rows; i++) {
		/* The sender's buffer takes bytes all the time. */
		bool dead = view == MODEL_RECEIVER && i >= s->dead_from && i < s->dead_to;
		uint64_t n = dead ? 0 : 1000 + (i * 7919) % 97 + (i >= s->step_at ? 400 : 0);
		union model_value v = {.u = n};
		struct model_row rows[2] = {{(uint32_t)frame[0], &v, 1},
					    {(uint32_t)frame[1], &v, 1}};
		struct model_tick t = {.axis = (uint32_t)axis,
				       .t0 = (int64_t)i * s->tick_ns,
				       .t1 = (int64_t)(i + 1) * s->tick_ns,
				       .flags = i + 1 == s->rows ? s->last_flags : 0,
				       .rows = rows,
				       .n_rows = 2};
		assert_int_equal(model_append(r, &t), 0);
	}
}

static struct model_steady steady(struct shape s, int dir)
{
	struct model_run *r = model_run_new("tcp", 0, full_rnd);
	struct model_steady out;

	model_add_clock(r, MODEL_NEAR, CLOCK_KIND_MONO);
	model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0);
	s.step_at = s.step_at ? s.step_at : SIZE_MAX;
	add_axis(r, 0, MODEL_SENDER, &s);
	if (s.receiver)
		add_axis(r, 0, MODEL_RECEIVER, &s);
	out = model_steady(r, dir, 0.05);
	model_run_free(r);
	return out;
}

static void the_receiver_counts(void **state)
{
	struct shape s = {.tick_ns = NSEC_PER_SEC, .rows = 20, .dead_from = 5, .dead_to = 8};
	struct model_steady got = steady(s, MODEL_UP);

	(void)state;
	assert_int_equal(got.intervals, 20);
	assert_int_equal(got.stalled, 0);
	s.receiver = true;
	got = steady(s, MODEL_UP);
	assert_int_equal(got.stalled, 3);
	assert_int_equal(steady(s, -1).stalled, 3);
	assert_int_equal(steady(s, MODEL_DOWN).intervals, 0);
	s.last_flags = ROW_SHORT;
	assert_int_equal(steady(s, MODEL_UP).intervals, 19);
	s.last_flags = ROW_OMITTED;
	assert_int_equal(steady(s, MODEL_UP).intervals, 19);
}

/* Ten milliseconds without a byte are no stall; a hundred are. */
static void short_intervals_are_joined(void **state)
{
	struct shape s = {.tick_ns = 10 * NSEC_PER_MSEC,
			  .rows = ROWS,
			  .receiver = true,
			  .dead_from = 100,
			  .dead_to = 109};
	struct model_steady got = steady(s, MODEL_UP);

	(void)state;
	assert_int_equal(got.intervals, ROWS / 10);
	assert_int_equal(got.stalled, 0);
	s.dead_to = 110;
	assert_int_equal(steady(s, MODEL_UP).stalled, 1);
}

static void a_step_is_found(void **state)
{
	struct shape s = {.tick_ns = NSEC_PER_SEC, .rows = 40, .receiver = true};

	(void)state;
	assert_false(steady(s, MODEL_UP).changed);
	s.step_at = 17;
	assert_true(steady(s, MODEL_UP).changed);
	s.rows = 4; /* too few to tell */
	s.step_at = 2;
	assert_false(steady(s, MODEL_UP).changed);
}

/* An hour at ten samples a second is looked at in five hundred pieces. */
static void long_runs_are_cut_coarser(void **state)
{
	struct shape s = {.tick_ns = 100 * NSEC_PER_MSEC, .rows = 36000, .receiver = true};
	struct model_steady got = steady(s, MODEL_UP);

	(void)state;
	assert_in_range(got.intervals, 400, 500);
	assert_false(got.changed);
}

static void no_samples_say_nothing(void **state)
{
	struct model_run *r = model_run_new("tcp", 0, full_rnd);
	struct model_steady got = model_steady(r, -1, 0.05);

	(void)state;
	assert_true(!got.intervals && !got.stalled && !got.changed);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_receiver_counts),
		cmocka_unit_test(short_intervals_are_joined),
		cmocka_unit_test(a_step_is_found),
		cmocka_unit_test(long_runs_are_cut_coarser),
		cmocka_unit_test(no_samples_say_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
