/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples: what goes in comes out, in little memory, and never more than the cap. */
#include "model_full.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

#define ROWS 300
#define COLS 6

static uint64_t seed = 88172645463325252ULL;
static uint64_t rnd(void) /* xorshift64 */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static double any_f64(void)
{
	switch (rnd() % 6) {
	case 0:
		return (double)(int64_t)rnd() / 1e3;
	case 1:
		return (double)(rnd() % 100000) / 1e6;
	case 2:
		return (double)(rnd() % 1000000) / 1e9;
	case 3:
		return -(double)(rnd() % 1000);
	case 4:
		return ldexp(1.0 / 3, (int)(rnd() % 600) - 300);
	default:
		return 0;
	}
}

static const struct model_metric *mixed(struct model_run *r, int i)
{
	static const char *const names[COLS] = {"bytes",   "tcp.cwnd", "tcp.rtt",
						"goodput", "ext.a",    "ext.b"};
	static const enum model_col_type types[COLS] = {MODEL_U64, MODEL_I64, MODEL_F64,
							MODEL_F64, MODEL_U64, MODEL_I64};
	return model_run_metric(r, names[i], UNIT_NONE, types[i]);
}

static void fill(const struct model_frame *f, union model_value *v)
{
	for (size_t i = 0; i < f->n_cols; i++) {
		if (f->cols[i].metric->type == MODEL_U64)
			v[i].u = rnd() >> (1 + rnd() % 63);
		else if (f->cols[i].metric->type == MODEL_I64)
			v[i].i = (int64_t)(rnd() << rnd() % 64);
		else
			v[i].f = any_f64();
	}
}

static void same_row(const struct model_frame *f, const union model_value *a, uint64_t valid,
		     const struct model_row *b)
{
	assert_int_equal(b->valid, valid);
	for (size_t i = 0; i < f->n_cols; i++) {
		if (!(valid >> i & 1))
			continue;
		if (f->cols[i].metric->type == MODEL_F64)
			assert_true(a[i].f == b->v[i].f);
		else
			assert_int_equal(a[i].u, b->v[i].u);
	}
}

static void test_round_trip(void **state)
{
	(void)state;
	struct model_run *r = model_run_new("t", 0, full_rnd);
	const struct model_metric *cols[COLS];
	static union model_value v[ROWS][2][COLS];
	static uint64_t valid[ROWS][2];
	for (int i = 0; i < COLS; i++)
		cols[i] = mixed(r, i);
	assert_int_equal(model_add_axis(r, MODEL_NO_PART, 0), 0);
	model_add_frame(r, 0, NULL, cols, COLS);
	model_add_frame(r, 0, NULL, cols, COLS - 2);
	for (int64_t t = 0; t < ROWS; t++) {
		for (size_t k = 0; k < 2; k++) {
			fill(r->frames[k], v[t][k]);
			valid[t][k] = t < 20 ? (k ? 0xf : 0x3f) : rnd() & (k ? 0xf : 0x3f);
		}
		struct model_row rows[2] = {{0, v[t][0], valid[t][0]}, {1, v[t][1], valid[t][1]}};
		struct model_tick tick = {0, t * 100 - 7, t * 100 + 90, t & 7, rows, 2};
		assert_int_equal(model_append(r, &tick), 0);
	}
	struct model_cursor *c = model_cursor_new(r, 0);
	const struct model_tick *tick;
	for (int64_t t = 0; t < ROWS; t++) {
		assert_int_equal(model_cursor_next(c, &tick), 1);
		assert_int_equal(tick->t0, t * 100 - 7);
		assert_int_equal(tick->t1, t * 100 + 90);
		assert_int_equal(tick->flags, t & 7);
		assert_int_equal(tick->n_rows, 2);
		for (size_t k = 0; k < 2; k++)
			same_row(r->frames[k], v[t][k], valid[t][k], &tick->rows[k]);
	}
	assert_int_equal(model_cursor_next(c, &tick), 0);
	model_cursor_free(c);
	assert_null(model_cursor_new(r, 1));
	model_run_free(r);
}

static void test_no_values(void **state)
{
	(void)state;
	struct model_run *r = model_run_new("t", 0, full_rnd);
	const struct model_metric *cols[] = {model_metric("bytes"), model_metric("tcp.rtt"),
					     model_metric("goodput")};
	model_add_axis(r, MODEL_NO_PART, 0);
	model_add_frame(r, 0, NULL, cols, 3);
	union model_value v[] = {{.u = UINT64_MAX}, {.f = (double)NAN}, {.f = (double)-INFINITY}};
	struct model_row row = {0, v, 7};
	struct model_tick tick = {0, 0, 1, 0, &row, 1};
	const struct model_tick *out;
	assert_int_equal(model_append(r, &tick), 0);
	v[0].u = INT64_MAX;
	v[1].f = v[2].f = -0.0;
	assert_int_equal(model_append(r, &tick), 0);
	struct model_cursor *c = model_cursor_new(r, 0);
	assert_int_equal(model_cursor_next(c, &out), 1);
	assert_int_equal(out->rows[0].valid, 0);
	assert_int_equal(model_cursor_next(c, &out), 1);
	assert_int_equal(out->rows[0].valid, 7);
	assert_int_equal(out->rows[0].v[0].u, INT64_MAX);
	assert_false(signbit(out->rows[0].v[1].f));
	model_cursor_free(c);
	model_run_free(r);
}

static void test_late_frame(void **state)
{
	(void)state;
	struct model_run *r = full_run();
	struct model_cursor *c = model_cursor_new(r, 0);
	const struct model_tick *t;
	assert_int_equal(r->axes[0]->n_frames, 3);
	assert_int_equal(model_cursor_next(c, &t), 1);
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(t->rows[2].valid, 0);
	assert_int_equal(model_cursor_next(c, &t), 1);
	assert_int_equal(t->rows[2].valid, 1);
	assert_true(t->rows[2].v[0].f == 0.25);
	assert_int_equal(t->rows[0].valid, 0xb);
	model_cursor_free(c);
	model_run_free(r);
}

static void test_refused(void **state)
{
	(void)state;
	struct model_run *r = full_run();
	const struct model_metric *twice[] = {model_metric("bytes"), model_metric("bytes")};
	struct model_tick t = {.axis = 9, .t1 = 1};
	size_t n = r->axes[0]->n;
	assert_int_equal(model_add_frame(r, 0, NULL, twice, 2), -EINVAL);
	assert_int_equal(model_append(r, &t), -EINVAL);
	t = (struct model_tick){.axis = 0, .t0 = 5, .t1 = 4};
	assert_int_equal(model_append(r, &t), -EINVAL);
	t = (struct model_tick){.axis = 0, .t0 = INT64_MIN, .t1 = 4};
	assert_int_equal(model_append(r, &t), -EINVAL);
	struct model_row row = {.frame = 77};
	t = (struct model_tick){.axis = 0, .t0 = 0, .t1 = 4, .rows = &row, .n_rows = 1};
	assert_int_equal(model_append(r, &t), -EINVAL);
	assert_int_equal(r->axes[0]->n, n);
	assert_int_equal(r->frames[0]->n_rows, n);
	model_run_free(r);
}

/* At the cap a tick is there whole or not at all, and the run says so once. */
static void test_cap(void **state)
{
	(void)state;
	struct model_run *r = model_run_new("t", 0, full_rnd);
	const struct model_metric *cols[] = {model_metric("bytes"), model_metric("tcp.rtt")};
	int64_t ok = 0;
	r->mem_cap = 4096;
	model_add_axis(r, MODEL_NO_PART, 0);
	model_add_frame(r, 0, NULL, cols, 2);
	model_add_frame(r, 0, NULL, cols, 2);
	for (int64_t t = 0; t < 1000; t++) {
		union model_value v[] = {{.u = 1000000}, {.f = 1.0 / 3}};
		struct model_row rows[] = {{0, v, 3}, {1, v, 3}};
		struct model_tick tick = {0, t, t + 1, 0, rows, 2};
		int rc = model_append(r, &tick);
		assert_true(rc == 0 || rc == -ENOSPC);
		ok += rc == 0;
	}
	assert_true(ok > 50 && ok < 1000);
	assert_int_equal(r->axes[0]->n, ok);
	assert_int_equal(r->frames[0]->n_rows, ok);
	assert_int_equal(r->frames[1]->n_rows, ok);
	assert_true(r->mem_bytes <= r->mem_cap);
	assert_int_equal(r->n_events, 1);
	assert_int_equal(r->events[0].code, WARN_MEMORY_CAP);
	model_run_free(r);
}

/* ---- 1,000 flows, 20 columns, 60 seconds ---- */

#define FLOWS   1000
#define SECONDS 60
#define BUDGET  ((size_t)12000000)

static const char *const tcp_cols[] = {"bytes",
				       "tcp.retransmits",
				       "tcp.segments",
				       "tcp.delivered",
				       "tcp.bytes_acked",
				       "tcp.cwnd",
				       "tcp.snd_wnd",
				       "tcp.notsent",
				       "tcp.reordering",
				       "tcp.ssthresh",
				       "tcp.rtt",
				       "tcp.rttvar",
				       "tcp.min_rtt",
				       "tcp.busy_time",
				       "tcp.rwnd_limited",
				       "tcp.sndbuf_limited",
				       "tcp.delivery_rate",
				       "tcp.pacing_rate",
				       "goodput",
				       "tcp.retransmit_share"};

static double like_f64(size_t col, double bytes)
{
	if (col < 13) /* times in whole microseconds */
		return (double)(200 + rnd() % 5000) / 1e6;
	if (col < 16) /* parts of a second in whole microseconds */
		return (double)(rnd() % 1000000) / 1e6;
	if (col < 18) /* the kernel's rates are whole bytes a second */
		return (double)(8 * (rnd() % 12500000));
	return col == 18 ? bytes * 8 / 1.0003 : (double)(rnd() % 1000) / 1e5;
}

static void like_tcp(union model_value *v)
{
	uint64_t bytes = 1000000 + rnd() % 250000;
	const uint64_t counters[] = {bytes, rnd() % 20, bytes / 1448, bytes / 1448, bytes};
	const int64_t gauges[] = {(int64_t)(10 + rnd() % 90) * 1448,
				  (int64_t)(1 + rnd() % 64) * 65536, (int64_t)(rnd() % 1000000),
				  3 + (int64_t)(rnd() % 3), (int64_t)(10 + rnd() % 90) * 1448};
	for (size_t i = 0; i < 5; i++) {
		v[i].u = counters[i];
		v[5 + i].i = gauges[i];
	}
	for (size_t i = 10; i < 20; i++)
		v[i].f = like_f64(i, (double)bytes);
}

static size_t heap(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

static void one_second(struct model_run *r, struct model_row *rows, int64_t t)
{
	static union model_value v[FLOWS][20];
	for (uint32_t i = 0; i < FLOWS; i++) {
		like_tcp(v[i]);
		rows[i] = (struct model_row){i, v[i], 0xfffff};
	}
	struct model_tick tick = {0, t * NSEC_PER_SEC, (t + 1) * NSEC_PER_SEC, 0, rows, FLOWS};
	assert_int_equal(model_append(r, &tick), 0);
}

static void test_memory(void **state)
{
	(void)state;
	static struct model_row rows[FLOWS];
	const struct model_metric *cols[20];
	size_t before = heap();
	struct model_run *r = model_run_new("tcp", 0, full_rnd);
	for (size_t i = 0; i < 20; i++)
		cols[i] = model_metric(tcp_cols[i]);
	model_add_axis(r, MODEL_NO_PART, 0);
	for (int64_t i = 0; i < FLOWS; i++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_FLOW, i);
		assert_true(model_add_frame(r, 0, &d, cols, 20) >= 0);
	}
	for (int64_t t = 0; t < SECONDS; t++)
		one_second(r, rows, t);
	size_t grown = heap() - before; /* 0 under a sanitizer, which has its own heap */
	print_message("1.2 million values: %zu bytes counted, %zu of heap\n", r->mem_bytes, grown);
	assert_true(r->mem_bytes <= BUDGET);
	assert_true(r->mem_bytes > 2000000);
	assert_true(grown <= BUDGET);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_no_values),
		cmocka_unit_test(test_late_frame), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cap),        cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
