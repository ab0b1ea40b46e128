/* SPDX-License-Identifier: BSD-2-Clause */
/* Without SQLite every function says so, and nothing else happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "store/store.h"

static void says_so(void **state)
{
	struct store_cfg cfg = {.path = "/nonexistent/runs.db", .mode = STORE_WRITE};
	struct weir_err e = {0};
	struct store *s;
	struct model_run *r;
	(void)state;
	assert_false(store_supported());
	assert_int_equal(store_open(&cfg, &s, &e), -ENOTSUP);
	assert_null(s);
	assert_int_equal(e.domain, WEIR_MISSING);
	assert_non_null(strstr(e.msg, "without SQLite"));
	assert_null(store_sink(NULL));
	assert_int_equal(store_load(NULL, "x", &r, &e), -ENOTSUP);
	assert_null(r);
	store_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(says_so)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
