/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks and histograms as bytes: the same again, and nothing but errors from other bytes. */
#include "store_help.h"

static struct model_run *staged(void)
{
	struct model_run *r = live_run();
	const struct model_metric *cols[] = {model_metric("tcp.cwnd"), model_metric("cpu.total")};
	assert_int_equal(model_add_frame(r, 0, NULL, cols, 2), 1);
	for (int64_t i = 0; i < 20; i++) {
		union model_value v[2][2] = {
			{{.u = (uint64_t)i << 40}, {.f = 1.0 / (double)(i + 1)}},
			{{.i = INT64_MAX / 8 - i}, {.f = 0.25}}};
		struct model_row rows[2] = {{0, v[0], i % 3 ? 3 : 1}, {1, v[1], 3}};
		struct model_tick t = {0, -i, i, ROW_LATE, rows, i == 5 ? 1 : 2};
		assert_int_equal(model_append(r, &t), 0);
	}
	return r;
}

static struct model_run *empty_like(const struct model_run *r)
{
	struct model_run *e = live_run();
	const struct model_metric *cols[] = {r->frames[1]->cols[0].metric,
					     r->frames[1]->cols[1].metric};
	assert_int_equal(model_add_frame(e, 0, NULL, cols, 2), 1);
	return e;
}

static void chunk_round_trip(void **state)
{
	struct model_run *r = staged(), *back = empty_like(r);
	struct buf b = {0};
	(void)state;
	store_blob_put_chunk(&b, r, 0);
	assert_int_equal(store_blob_get_chunk(back, 0, b.data, b.len, NULL), 0);
	char *x = json_of(r), *y = json_of(back);
	assert_string_equal(x, y);
	free(x);
	free(y);
	buf_fini(&b);
	model_run_free(r);
	model_run_free(back);
}

static void chunk_cut_anywhere(void **state)
{
	struct model_run *r = staged();
	struct buf b = {0};
	(void)state;
	store_blob_put_chunk(&b, r, 0);
	for (size_t n = 0; n < b.len; n++) {
		struct model_run *back = empty_like(r);
		struct weir_err e = {0};
		char *exact = malloc(n ? n : 1);
		memcpy(exact, b.data, n);
		assert_int_equal(store_blob_get_chunk(back, 0, exact, n, &e), -EBADMSG);
		assert_int_equal(e.code, EBADMSG);
		free(exact);
		model_run_free(back);
	}
	buf_fini(&b);
	model_run_free(r);
}

static void chunk_for_another_axis(void **state)
{
	struct model_run *r = staged(), *other = live_run();
	struct buf b = {0};
	(void)state;
	store_blob_put_chunk(&b, r, 0);
	assert_int_equal(store_blob_get_chunk(other, 0, b.data, b.len, NULL), -EBADMSG);
	assert_int_equal(store_blob_get_chunk(other, 7, b.data, b.len, NULL), -EBADMSG);
	assert_int_equal(other->axes[0]->n, 0);
	buf_fini(&b);
	model_run_free(r);
	model_run_free(other);
}

static void cleared_stage_starts_again(void **state)
{
	struct model_run *r = staged(), *back = empty_like(r);
	struct buf a = {0}, b = {0};
	(void)state;
	store_blob_put_chunk(&a, r, 0);
	store_blob_clear_stage(r, 0);
	assert_int_equal(r->axes[0]->n, 0);
	assert_int_equal(store_blob_get_chunk(r, 0, a.data, a.len, NULL), 0);
	store_blob_put_chunk(&b, r, 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_fini(&a);
	buf_fini(&b);
	model_run_free(r);
	model_run_free(back);
}

static void hist_round_trip(void **state)
{
	struct hist *h = hist_new(), *back;
	struct buf a = {0}, b = {0};
	(void)state;
	for (uint64_t i = 1; i < 60; i++)
		hist_record_n(h, (1ULL << i) + i * i, i * 1000);
	hist_record(h, INT64_MAX);
	store_blob_put_hist(&a, h);
	back = store_blob_get_hist(a.data, a.len);
	assert_non_null(back);
	store_blob_put_hist(&b, back);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	assert_int_equal(hist_count(h), hist_count(back));
	assert_int_equal(hist_quantile(h, 0.99), hist_quantile(back, 0.99));
	assert_null(store_blob_get_hist(a.data, a.len - 1));
	assert_null(store_blob_get_hist("", 0));
	hist_free(h);
	hist_free(back);
	buf_fini(&a);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_round_trip),
		cmocka_unit_test(chunk_cut_anywhere),
		cmocka_unit_test(chunk_for_another_axis),
		cmocka_unit_test(cleared_stage_starts_again),
		cmocka_unit_test(hist_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
