/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors: return codes, prefixes, cutting, and that no control reaches a terminal. */
#include "base/base.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void sets_all_fields(void **state)
{
	(void)state;
	struct weir_err e = {.hint = "old"};
	assert_int_equal(err_set(&e, WEIR_PEER, EPROTO, "cookie of %d bytes", 36), -EPROTO);
	assert_int_equal(e.code, EPROTO);
	assert_int_equal(e.domain, WEIR_PEER);
	assert_string_equal(e.msg, "cookie of 36 bytes");
	assert_string_equal(e.hint, "");
	assert_int_equal(err_hint(&e, "use %d", 37), -EPROTO);
	assert_string_equal(e.hint, "use 37");
}

static void names_the_errno(void **state)
{
	(void)state;
	struct weir_err e;
	assert_int_equal(err_os(&e, ECONNREFUSED, "connecting to %s", "h"), -ECONNREFUSED);
	assert_string_equal(e.msg, "connecting to h: Connection refused");
	assert_int_equal(e.domain, WEIR_OS);
}

static void wraps_outermost_first(void **state)
{
	(void)state;
	struct weir_err e;
	err_set(&e, WEIR_LIMIT, EMSGSIZE, "too long");
	assert_int_equal(err_wrap(&e, "reading %s", "results"), -EMSGSIZE);
	assert_int_equal(err_wrap(&e, "h"), -EMSGSIZE);
	assert_string_equal(e.msg, "h: reading results: too long");
}

static void survives_without_a_struct(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, WEIR_OS, EIO, "x"), -EIO);
	assert_int_equal(err_os(NULL, ENOENT, "x"), -ENOENT);
	assert_true(err_wrap(NULL, "x") < 0);
	assert_true(err_hint(NULL, "x") < 0);
}

static void cuts_and_tidies(void **state)
{
	(void)state;
	struct weir_err e;
	char longer[400];
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&e, WEIR_OS, EIO, "%s", longer);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_wrap(&e, "%s", longer);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_set(&e, WEIR_OS, EIO, "a\nb\x1b[31m");
	assert_string_equal(e.msg, "a?b?[31m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_all_fields),
		cmocka_unit_test(names_the_errno),
		cmocka_unit_test(wraps_outermost_first),
		cmocka_unit_test(survives_without_a_struct),
		cmocka_unit_test(cuts_and_tidies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
