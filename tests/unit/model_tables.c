/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables: every row is complete, named once and found again. */
#include "model_full.h"

#include <errno.h>

static void test_metrics(void **state)
{
	(void)state;
	size_t n = 0;
	for (const struct model_metric *m; (m = model_metric_at(n)); n++) {
		assert_ptr_equal(model_metric(m->name), m); /* so no name comes twice */
		assert_true(strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_.") ==
			    strlen(m->name));
		assert_true(strncmp(m->name, "ext.", 4) != 0);
		assert_true(m->help && m->help[0]);
	}
	assert_true(n > 40);
	assert_null(model_metric("no.such"));
	assert_int_equal(model_metric("goodput")->unit, UNIT_BPS);
	assert_int_equal(model_metric("tcp.rtt")->better, MODEL_LOWER);
}

static void test_dims(void **state)
{
	(void)state;
	for (int i = 0; i < DIM_MAX; i++) {
		assert_int_equal(model_dim_find(model_dim(i)->name), i);
		assert_int_equal(model_dim(i)->type == MODEL_DIM_ENUM,
				 model_dim(i)->values != NULL);
	}
	assert_int_equal(model_dim_find("colour"), -ENOENT);
	assert_null(model_dim(DIM_MAX));
	assert_string_equal(model_dim(DIM_DIR)->values[MODEL_DOWN], "down");
	assert_string_equal(model_dim(DIM_VIEW)->values[MODEL_RECEIVER], "receiver");
	assert_string_equal(model_dim(DIM_END)->values[MODEL_FAR], "far");
}

/* A word after a colon in a specification must mean one thing. */
static void test_words_are_distinct(void **state)
{
	(void)state;
	for (int i = 0; i < DIM_MAX; i++) {
		const char *const *v = model_dim(i)->values;
		for (; v && *v; v++) {
			assert_int_equal(model_name_find(model_stat_names, *v), -ENOENT);
			for (int k = 0; k < i; k++)
				assert_true(!model_dim(k)->values ||
					    model_name_find(model_dim(k)->values, *v) < 0);
		}
	}
}

static void test_dim_sets(void **state)
{
	(void)state;
	struct model_dims a = model_dims_with(DIMS_NONE, DIM_DIR, MODEL_UP), b = a;
	b = model_dims_with(b, DIM_FLOW, 3);
	assert_true(model_dims_match(&b, &a));
	assert_false(model_dims_match(&a, &b));
	assert_false(model_dims_equal(&a, &b));
	a = model_dims_with(a, DIM_FLOW, 4);
	assert_false(model_dims_equal(&a, &b));
	a = model_dims_with(a, DIM_FLOW, 3);
	assert_true(model_dims_equal(&a, &b));
	assert_true(model_dims_match(&a, &DIMS_NONE));
}

static void test_warnings(void **state)
{
	(void)state;
	for (int i = 0; i < WARN_MAX; i++) {
		assert_int_equal(model_warn_find(model_warn(i)->code), i);
		assert_true(model_warn(i)->text[0]);
	}
	assert_null(model_warn(WARN_MAX));
	assert_int_equal(model_warn_find(""), -ENOENT);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(model_stat_name(STAT_P999), "p999");
	assert_string_equal(model_stat_name(STAT_COUNT), "count");
	assert_null(model_stat_name(STAT_NUM));
	assert_string_equal(model_prov_names[MODEL_SENDER_ONLY], "sender-only");
	assert_string_equal(model_outcome_names[OUTCOME_RUNNING], "running");
	assert_string_equal(model_part_kind_names[PART_REPORT], "report");
	assert_string_equal(model_clock_kind_names[CLOCK_KIND_VIRTUAL], "virtual");
	assert_string_equal(model_verdict_names[VERDICT_NONE], "none");
	assert_string_equal(model_col_names[MODEL_F64], "f64");
	assert_int_equal(model_name_find(model_bound_names, "le"), MODEL_LE);
	assert_int_equal(model_name_find(model_bound_names, "lt"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_dims),
		cmocka_unit_test(test_words_are_distinct),
		cmocka_unit_test(test_dim_sets),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
