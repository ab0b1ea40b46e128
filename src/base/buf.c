/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text and records are built in memory before anything is written. A growing buffer
 * with an upper bound and a sticky failure: callers append freely and check once.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_fini(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
	b->failed = false;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

static size_t max_of(const struct buf *b)
{
	return b->max ? b->max : BUF_MAX_DEFAULT;
}

/* Doubles, but never past the bound: the capacity is what later calls look at. */
static bool grow(struct buf *b, size_t need, size_t most)
{
	size_t cap = b->cap ? b->cap : 128;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	cap = cap < most ? cap : most;
	char *p = realloc(b->data, cap);
	if (!p)
		return false;
	if (!b->data)
		p[0] = '\0';
	b->data = p;
	b->cap = cap;
	return true;
}

bool buf_reserve(struct buf *b, size_t more)
{
	if (b->failed)
		return false;
	if (more < b->cap - b->len)
		return true;
	size_t max = max_of(b);
	if (more > max || b->len > max - more || !grow(b, b->len + more + 1, max + 1))
		b->failed = true;
	return !b->failed;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (!n || !buf_reserve(b, n))
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	if (!buf_reserve(b, 1))
		return;
	b->data[b->len++] = c;
	b->data[b->len] = '\0';
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	size_t room = b->cap - b->len;
	int n = b->failed ? -1 : vsnprintf(b->data ? b->data + b->len : NULL, room, fmt, ap);
	if (n < 0)
		b->failed = true;
	else if ((size_t)n < room)
		b->len += (size_t)n;
	else if (buf_reserve(b, (size_t)n))
		b->len += (size_t)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
	va_end(again);
	if (b->data)
		b->data[b->len] = '\0'; /* a refused growth left half a text */
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_repeat(struct buf *b, char c, size_t n)
{
	if (!n || !buf_reserve(b, n))
		return;
	memset(b->data + b->len, c, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_drop(struct buf *b, size_t n)
{
	if (!b->data)
		return;
	if (n > b->len)
		n = b->len;
	b->len -= n;
	memmove(b->data, b->data + n, b->len + 1);
}

char *buf_take(struct buf *b)
{
	bool ok = buf_reserve(b, 1); /* so that an empty buffer is "" and not NULL */
	char *p = b->data;
	if (!ok) {
		free(p);
		p = NULL;
	}
	*b = (struct buf){.max = b->max};
	return p;
}

void buf_uvarint(struct buf *b, uint64_t v)
{
	if (!buf_reserve(b, 10))
		return;
	char *p = b->data + b->len;
	for (; v >= 0x80; v >>= 7)
		*p++ = (char)(v | 0x80);
	*p++ = (char)v;
	*p = '\0';
	b->len = (size_t)(p - b->data);
}

void buf_svarint(struct buf *b, int64_t v)
{
	buf_uvarint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}
