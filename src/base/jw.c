/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON is written as a stream onto a buffer, never as a tree: a tick of a thousand flows
 * costs no allocation. The writer keeps one bit a level: is a comma due.
 */
#include "base/priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* One unit that is not plain ASCII; returns the bytes used. */
static size_t put_odd(struct buf *b, const char *s, size_t n)
{
	uint32_t cp;
	size_t len = safe_utf8(s, n, &cp);
	if (!len) {
		buf_puts(b, "\xef\xbf\xbd");
		return 1;
	}
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
		buf_printf(b, "\\u%04x", (unsigned)cp);
		return len;
	}
	if (cp < 0x80)
		buf_putc(b, '\\');
	buf_put(b, s, len);
	return len;
}

void jw_put_string(struct buf *b, const char *s, size_t n)
{
	buf_putc(b, '"');
	for (size_t i = 0; i < n && !b->failed;) {
		size_t run = i;
		while (run < n && plain((unsigned char)s[run]))
			run++;
		buf_put(b, s + i, run - i);
		i = run < n ? run + put_odd(b, s + run, n - run) : n;
	}
	buf_putc(b, '"');
}

void jw_put_f64(struct buf *b, double v)
{
	char tmp[40];
	if (!isfinite(v)) {
		buf_puts(b, "null");
		return;
	}
	if (fabs(v) < 9e15 && v == (double)(int64_t)v && !(v == 0 && signbit(v))) {
		buf_printf(b, "%" PRId64, (int64_t)v);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(tmp, sizeof(tmp), "%.*g", digits, v);
		if (strtod(tmp, NULL) == v)
			break;
	}
	buf_puts(b, v == 0 ? "-0.0" : tmp);
}

static void prefix(struct jw *w, const char *key)
{
	if (w->depth && w->more[w->depth])
		buf_putc(w->out, ',');
	w->more[w->depth] = true;
	if (!key)
		return;
	jw_put_string(w->out, key, strlen(key));
	buf_putc(w->out, ':');
}

static void open_level(struct jw *w, const char *key, char c)
{
	prefix(w, key);
	buf_putc(w->out, c);
	if (w->depth + 1 < JW_DEPTH)
		w->more[++w->depth] = false;
	else
		w->out->failed = true; /* too deep: the text is no use any more */
}

static void close_level(struct jw *w, char c)
{
	buf_putc(w->out, c);
	if (w->depth)
		w->depth--;
}

void jw_obj(struct jw *w, const char *key)
{
	open_level(w, key, '{');
}

void jw_end_obj(struct jw *w)
{
	close_level(w, '}');
}

void jw_arr(struct jw *w, const char *key)
{
	open_level(w, key, '[');
}

void jw_end_arr(struct jw *w)
{
	close_level(w, ']');
}

void jw_u64(struct jw *w, const char *key, uint64_t v)
{
	char tmp[20], *p = tmp + sizeof(tmp);
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	jw_raw(w, key, p, (size_t)(tmp + sizeof(tmp) - p));
}

void jw_i64(struct jw *w, const char *key, int64_t v)
{
	if (v >= 0) {
		jw_u64(w, key, (uint64_t)v);
		return;
	}
	prefix(w, key);
	buf_printf(w->out, "%" PRId64, v);
}

void jw_f64(struct jw *w, const char *key, double v)
{
	prefix(w, key);
	jw_put_f64(w->out, v);
}

void jw_bool(struct jw *w, const char *key, bool v)
{
	prefix(w, key);
	buf_puts(w->out, v ? "true" : "false");
}

void jw_null(struct jw *w, const char *key)
{
	prefix(w, key);
	buf_puts(w->out, "null");
}

void jw_str(struct jw *w, const char *key, const char *s)
{
	if (s)
		jw_strn(w, key, s, strlen(s));
	else
		jw_null(w, key);
}

void jw_strn(struct jw *w, const char *key, const char *s, size_t n)
{
	prefix(w, key);
	jw_put_string(w->out, s, n);
}

void jw_raw(struct jw *w, const char *key, const char *json, size_t n)
{
	prefix(w, key);
	buf_put(w->out, json, n);
}
