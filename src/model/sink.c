/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live output, files and the store want the same measurement, and a stored run must look like
 * a live one. A tee calls several sinks; a replay calls one as the measurement once did, its
 * ticks and events merged by time with a heap.
 */
#include "model/priv.h"

#include <stdlib.h>
#include <string.h>

/* ---- tee ---- */

struct tee {
	struct sink sink;
	size_t n;
	struct sink *to[];
};

static void tee_begin(struct sink *s, const struct model_run *r)
{
	struct tee *t = (struct tee *)s;
	for (size_t i = 0; i < t->n; i++) {
		if (t->to[i]->begin)
			t->to[i]->begin(t->to[i], r);
	}
}

static void tee_sample(struct sink *s, const struct model_run *r, const struct model_tick *tick)
{
	struct tee *t = (struct tee *)s;
	for (size_t i = 0; i < t->n; i++) {
		if (t->to[i]->sample)
			t->to[i]->sample(t->to[i], r, tick);
	}
}

static void tee_event(struct sink *s, const struct model_run *r, const struct model_event *e)
{
	struct tee *t = (struct tee *)s;
	for (size_t i = 0; i < t->n; i++) {
		if (t->to[i]->event)
			t->to[i]->event(t->to[i], r, e);
	}
}

static void tee_end(struct sink *s, const struct model_run *r)
{
	struct tee *t = (struct tee *)s;
	for (size_t i = 0; i < t->n; i++) {
		if (t->to[i]->end)
			t->to[i]->end(t->to[i], r);
	}
}

static int tee_close(struct sink *s, struct weir_err *e)
{
	struct tee *t = (struct tee *)s;
	int first = 0;
	for (size_t i = 0; i < t->n; i++) {
		int rc = t->to[i]->close ? t->to[i]->close(t->to[i], first ? NULL : e) : 0;
		if (!first)
			first = rc;
	}
	free(t);
	return first;
}

struct sink *sink_tee(struct sink **take_sinks, size_t n)
{
	struct tee *t = calloc(1, sizeof(*t) + n * sizeof(struct sink *));
	if (!t)
		return NULL;
	t->sink = (struct sink){tee_begin, tee_sample, tee_event, tee_end, tee_close};
	t->n = n;
	for (size_t i = 0; i < n; i++)
		t->to[i] = take_sinks[i];
	return &t->sink;
}

/* ---- replay ---- */

/* A source of what comes next at time t: an axis' cursor, or the sorted events (c = NULL). */
struct feed {
	int64_t t;
	size_t order; /* equal times: axes in order, then events */
	int64_t offset;
	struct model_cursor *c;
	const struct model_tick *tick;
};
struct replay {
	const struct model_run *r;
	struct sink *s;
	struct feed *heap;
	size_t n;
	const struct model_event **events; /* by time */
	size_t next_event;
};

static bool before(const struct feed *a, const struct feed *b)
{
	return a->t != b->t ? a->t < b->t : a->order < b->order;
}

static void sift_down(struct replay *p, size_t i)
{
	struct feed f = p->heap[i];
	for (size_t k; (k = 2 * i + 1) < p->n; i = k) {
		if (k + 1 < p->n && before(&p->heap[k + 1], &p->heap[k]))
			k++;
		if (!before(&p->heap[k], &f))
			break;
		p->heap[i] = p->heap[k];
	}
	p->heap[i] = f;
}

/* False when the feed has no more. */
static bool advance(struct replay *p, struct feed *f)
{
	if (!f->c) {
		if (p->next_event >= p->r->n_events)
			return false;
		int64_t t = p->events[p->next_event]->t;
		f->t = t == MODEL_NO_TIME ? INT64_MAX : t;
		return true;
	}
	if (model_cursor_next(f->c, &f->tick) != 1)
		return false;
	f->t = f->tick->t1 + f->offset;
	return true;
}

static void emit(struct replay *p, const struct feed *f)
{
	if (f->c && p->s->sample)
		p->s->sample(p->s, p->r, f->tick);
	if (f->c)
		return;
	const struct model_event *e = p->events[p->next_event++];
	if (p->s->event)
		p->s->event(p->s, p->r, e);
}

/* By time, those without one last, else in the run's order. */
static int by_time(const void *a, const void *b)
{
	const struct model_event *x = *(const struct model_event *const *)a;
	const struct model_event *y = *(const struct model_event *const *)b;
	uint64_t s = x->t == MODEL_NO_TIME ? UINT64_MAX : (uint64_t)x->t + (1ULL << 63);
	uint64_t t = y->t == MODEL_NO_TIME ? UINT64_MAX : (uint64_t)y->t + (1ULL << 63);
	return s != t ? (s > t) - (s < t) : (x > y) - (x < y);
}

static int sort_events(struct replay *p)
{
	p->events = malloc((p->r->n_events + 1) * sizeof(void *));
	if (!p->events)
		return -ENOMEM;
	for (size_t i = 0; i < p->r->n_events; i++)
		p->events[i] = &p->r->events[i];
	qsort(p->events, p->r->n_events, sizeof(void *), by_time);
	return 0;
}

static int64_t offset_of(const struct model_run *r, const struct model_axis *a)
{
	const struct model_clock *c = a->clock < r->n_clocks ? &r->clocks[a->clock] : NULL;
	return c && c->offset_known ? c->offset_ns : 0;
}

/* Takes c (NULL = the events) into the heap, or frees it when it has nothing. */
static void add_feed(struct replay *p, size_t order, int64_t offset, struct model_cursor *c)
{
	struct feed f = {.order = order, .offset = offset, .c = c};
	if (advance(p, &f))
		p->heap[p->n++] = f;
	else
		model_cursor_free(c);
}

static int open_feeds(struct replay *p)
{
	const struct model_run *r = p->r;
	p->heap = calloc(r->n_axes + 1, sizeof(*p->heap));
	if (!p->heap || sort_events(p))
		return -ENOMEM;
	for (size_t i = 0; i < r->n_axes; i++) {
		struct model_cursor *c = model_cursor_new(r, (uint32_t)i);
		if (!c)
			return -ENOMEM;
		add_feed(p, i, offset_of(r, r->axes[i]), c);
	}
	add_feed(p, r->n_axes, 0, NULL);
	for (size_t i = p->n / 2; i-- > 0;)
		sift_down(p, i);
	return 0;
}

static void run_feeds(struct replay *p)
{
	while (p->n) {
		emit(p, &p->heap[0]);
		if (!advance(p, &p->heap[0])) {
			model_cursor_free(p->heap[0].c);
			p->heap[0] = p->heap[--p->n];
		}
		if (p->n)
			sift_down(p, 0);
	}
}

int model_replay(const struct model_run *r, struct sink *s)
{
	struct replay p = {.r = r, .s = s};
	int rc = open_feeds(&p);
	if (rc)
		goto out;
	if (s->begin)
		s->begin(s, r);
	run_feeds(&p);
	if (s->end)
		s->end(s, r);
out:
	for (size_t i = 0; i < p.n; i++)
		model_cursor_free(p.heap[i].c);
	free(p.heap);
	free(p.events);
	return rc;
}
