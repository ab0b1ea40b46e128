/* SPDX-License-Identifier: BSD-2-Clause */
/* Gzipped text comes out as it was, plain text passes, and a bomb is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "format/format.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

struct text {
	const char *p;
	size_t n;
};

/* Seven bytes at a time. */
static int64_t pull(void *arg, char *dst, size_t cap)
{
	struct text *t = arg;
	size_t n = t->n < 7 ? t->n : 7;

	n = n < cap ? n : cap;
	memcpy(dst, t->p, n);
	t->p += n;
	t->n -= n;
	return (int64_t)n;
}

static int64_t all(const char *p, size_t n, char *dst, size_t cap)
{
	struct text t = {p, n};
	struct format_gunzip *g = format_gunzip_new(pull, &t);
	int64_t got, sum = 0;

	assert_non_null(g);
	while ((got = format_gunzip_pull(g, dst + sum, cap - (size_t)sum)) > 0)
		sum += got;
	format_gunzip_free(g);
	return got < 0 ? got : sum;
}

static void plain_text(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(all("plain, longer than one pull", 27, out, sizeof(out)), 27);
	assert_memory_equal(out, "plain, longer than one pull", 27);
	assert_int_equal(all("x", 1, out, sizeof(out)), 1);
	assert_int_equal(all("", 0, out, sizeof(out)), 0);
}

#ifdef HAVE_ZLIB
static size_t pack(const char *s, size_t n, char *dst, size_t cap)
{
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)s;
	z.avail_in = (unsigned)n;
	z.next_out = (unsigned char *)dst;
	z.avail_out = (unsigned)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return cap - z.avail_out;
}

static void packed_text(void **state)
{
	static const char text[] = "{\"version\": 4, \"metadata\": {}}";
	char in[256], out[256];
	size_t n = pack(text, sizeof(text), in, sizeof(in));

	(void)state;
	assert_int_equal(all(in, n, out, sizeof(out)), sizeof(text));
	assert_string_equal(out, text);
	in[n / 2] ^= 0x55;
	assert_true(all(in, n, out, sizeof(out)) != (int64_t)sizeof(text) ||
		    memcmp(out, text, sizeof(text)) != 0);
}

static void a_bomb(void **state)
{
	size_t n = 8u << 20;
	char *zeros = calloc(1, n), *in = malloc(n), *out = malloc(n);

	(void)state;
	assert_true(zeros && in && out);
	assert_int_equal(all(in, pack(zeros, n, in, n), out, n), -EFBIG);
	free(zeros);
	free(in);
	free(out);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text),
#ifdef HAVE_ZLIB
		cmocka_unit_test(packed_text),
		cmocka_unit_test(a_bomb),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
