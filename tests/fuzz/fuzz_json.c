/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON from peers and files: every limit set, a walk over all that was read, and what is
 * written back must be accepted by the strict reader and come out the same.
 */
#include "base/base.h"
#include "fuzz.h"

#include <string.h>

static void walk(const struct js *v, int depth)
{
	int64_t i;
	double d;
	bool flag;
	size_t n;
	void *it = NULL;
	const char *key;
	const struct js *member;
	FUZZ_CHECK(depth <= 64 && js_type(v) != JS_NONE);
	if (js_i64(v, &i) || js_type(v) == JS_REAL)
		FUZZ_CHECK(js_f64(v, &d));
	js_bool(v, &flag);
	const char *s = js_str(v, &n);
	FUZZ_CHECK(!s || (strlen(s) == n && safe_is_utf8(s, n)));
	for (size_t k = 0; js_type(v) == JS_ARR && k < js_len(v); k++)
		walk(js_at(v, k), depth + 1);
	while (js_each(v, &it, &key, &member)) {
		FUZZ_CHECK(js_get(v, key) == member && js_geti(v, key));
		walk(member, depth + 1);
	}
}

static void again(const char *text, size_t n)
{
	struct js_limits lim = js_limits_file;
	struct js_doc *d;
	struct buf b = {0};
	FUZZ_CHECK(!js_parse(text, n, &lim, &d, NULL));
	js_dump(js_root(d), &b);
	FUZZ_CHECK(b.len == n && !memcmp(b.data, text, n));
	js_free(d);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct js_limits big = {.max_bytes = 1 << 20, .max_depth = 32, .lenient = true};
	const struct js_limits *limits[] = {&js_limits_file, &js_limits_params, &big};
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct weir_err e = {0};
		struct js_doc *d;
		if (js_parse((const char *)data, size, limits[i], &d, &e)) {
			FUZZ_CHECK(!d && e.code && e.msg[0]);
			continue;
		}
		struct buf b = {0};
		walk(js_root(d), 0);
		js_dump(js_root(d), &b);
		again(b.data, b.len);
		js_free(d);
		buf_fini(&b);
	}
	return 0;
}
