/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thousands of connections, each with a deadline, and no timer in the kernel: a binary heap whose
 * entries live in their owners and know their place, so that one is moved or taken out in
 * O(log n) and epoll_wait() is told of the first.
 */
#include "serve/priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

int serve_heap_init(struct serve_heap *h, size_t cap)
{
	*h = (struct serve_heap){.cap = cap};
	h->v = calloc(cap + 1, sizeof(struct serve_timer *));
	return h->v ? 0 : -ENOMEM;
}

void serve_heap_fini(struct serve_heap *h)
{
	free(h->v);
	*h = (struct serve_heap){0};
}

static void place(struct serve_heap *h, struct serve_timer *t, size_t pos)
{
	h->v[pos] = t;
	t->pos = pos;
}

static void sift(struct serve_heap *h, struct serve_timer *t)
{
	size_t i = t->pos;

	for (; i > 1 && h->v[i / 2]->at > t->at; i /= 2)
		place(h, h->v[i / 2], i);
	for (size_t child; (child = i * 2) <= h->n; i = child) {
		if (child < h->n && h->v[child + 1]->at < h->v[child]->at)
			child++;
		if (h->v[child]->at >= t->at)
			break;
		place(h, h->v[child], i);
	}
	place(h, t, i);
}

void serve_heap_set(struct serve_heap *h, struct serve_timer *t, int64_t at)
{
	t->at = at;
	if (!t->pos)
		t->pos = ++h->n;
	sift(h, t);
}

void serve_heap_del(struct serve_heap *h, struct serve_timer *t)
{
	struct serve_timer *last;

	if (!t->pos)
		return;
	last = h->v[h->n--];
	if (last != t) {
		last->pos = t->pos;
		sift(h, last);
	}
	t->pos = 0;
}

struct serve_timer *serve_heap_due(struct serve_heap *h, int64_t now)
{
	struct serve_timer *t = h->n ? h->v[1] : NULL;

	if (!t || t->at > now)
		return NULL;
	serve_heap_del(h, t);
	return t;
}

int serve_heap_wait_ms(const struct serve_heap *h, int64_t now)
{
	int64_t ms;

	if (!h->n)
		return -1;
	ms = (h->v[1]->at - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}
