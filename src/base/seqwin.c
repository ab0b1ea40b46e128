/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loss from a highest number and a sum is wrong as soon as a datagram comes twice. Here each
 * number within a window has a bit: lost is what has none. Counter values become positions
 * (1, 2, …) by their distance to the highest one, so a wrap is no event.
 *
 * One wrong number far ahead would lose all that lie between, so a leap is held aside (RFC 3550,
 * A.1) until a second number near it comes, or several leaps in a row lead upwards, or the others
 * have caught up, or the sender's count tells.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MIN 64
#define WINDOW_MAX (1U << 30)
#define LEAP       64 /* one of less is believed at once: the window repairs what it breaks */
#define LEAP_GAPS  8  /* so is one of that many usual gaps, where most are lost */
#define LEAPS      4  /* upwards in a row are the way the numbers go */
#define HELD_MAX   16

struct held {
	uint64_t pos;
	uint64_t in_order; /* of the window, when it came */
	uint32_t bytes;
	bool fresh; /* nothing has gone on at the old place since */
};

struct seqwin {
	struct seq_counts c;
	uint64_t before_first; /* the number of position 0 */
	uint64_t top;          /* the highest position that came */
	uint64_t distinct;     /* positions that came */
	uint64_t mask;         /* window - 1 */
	uint64_t gap16;        /* from one to the next higher one, usually; times 16 */
	uint64_t in_order;     /* that came as the highest one but for those held aside */
	uint64_t overtaken;    /* of these, known to have come after a higher one after all */
	bool narrow;           /* 32 bits */
	unsigned n_held;
	struct held held[HELD_MAX]; /* in order of arrival */
	uint64_t bit[];
};

struct seqwin *seqwin_new(uint64_t first, unsigned bits, uint32_t window)
{
	uint32_t size = WINDOW_MIN;
	struct seqwin *w;

	while (size < window && size < WINDOW_MAX)
		size *= 2;
	w = calloc(1, sizeof(*w) + size / 8);
	if (!w)
		return NULL;
	w->before_first = first - 1;
	w->mask = size - 1;
	w->narrow = bits == 32;
	w->gap16 = 16;
	return w;
}

void seqwin_free(struct seqwin *w)
{
	free(w);
}

static bool test_and_set(struct seqwin *w, uint64_t pos)
{
	uint64_t *word = &w->bit[(pos & w->mask) / 64], one = 1ULL << (pos % 64);
	bool was = *word & one;

	*word |= one;
	return was;
}

/* Forgets the positions from `from` to `to`, which come into the window. */
static void clear(struct seqwin *w, uint64_t from, uint64_t to)
{
	if (to - from >= w->mask) {
		memset(w->bit, 0, (w->mask + 1) / 8);
		return;
	}
	for (uint64_t pos = from; pos <= to; pos++) {
		uint64_t *word = &w->bit[(pos & w->mask) / 64];

		if (pos % 64 == 0 && to - pos >= 63) {
			*word = 0;
			pos += 63;
		} else {
			*word &= ~(1ULL << (pos % 64));
		}
	}
}

static int64_t distance(const struct seqwin *w, uint64_t number)
{
	uint64_t d = number - (w->before_first + w->top);

	return w->narrow ? (int32_t)(uint32_t)d : (int64_t)d;
}

static enum seq_kind foreign(struct seqwin *w)
{
	w->c.foreign++;
	return SEQ_FOREIGN;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t leap(const struct seqwin *w)
{
	uint64_t usual = w->gap16 / 16 * LEAP_GAPS;

	return usual > LEAP ? usual : LEAP;
}

/* ---- those that are of the stream ---------------------------------------------- */

static void rise(struct seqwin *w, uint64_t pos)
{
	clear(w, w->top + 1, pos);
	w->top = pos;
	test_and_set(w, pos);
	w->distinct++;
}

static enum seq_kind below(struct seqwin *w, uint64_t pos)
{
	if (w->top - pos > w->mask) {
		w->c.late++;
		return SEQ_LATE;
	}
	if (test_and_set(w, pos)) {
		w->c.duplicates++;
		return SEQ_DUPLICATE;
	}
	w->distinct++;
	return SEQ_REORDERED;
}

static void received(struct seqwin *w, uint32_t bytes)
{
	w->c.received++;
	w->c.bytes += bytes;
	w->c.highest = w->top;
	w->c.lost = w->top - w->distinct;
}

/* It came when it came: what was taken to be in order since then had been overtaken by it. */
static void accept_held(struct seqwin *w, const struct held *h)
{
	uint64_t from = h->in_order > w->overtaken ? h->in_order : w->overtaken;

	w->c.reordered += w->in_order - from;
	w->overtaken = w->in_order;
	if (h->pos > w->top)
		rise(w, h->pos);
	else
		below(w, h->pos);
	received(w, h->bytes);
}

/* ---- those held aside ------------------------------------------------------------ */

typedef bool (*is_true)(const struct seqwin *w, const struct held *h, uint64_t pos);

static void accept_all(struct seqwin *w, is_true belongs, uint64_t pos)
{
	unsigned left = 0, n = w->n_held;
	struct held all[HELD_MAX];
	uint64_t highest = 0;

	memcpy(all, w->held, sizeof(all));
	for (unsigned i = 0; i < n; i++)
		if (!belongs(w, &all[i], pos))
			w->held[left++] = all[i];
	w->n_held = left;
	for (unsigned i = 0; i < n; i++) {
		if (!belongs(w, &all[i], pos))
			continue;
		accept_held(w, &all[i]);
		w->c.reordered += all[i].pos < highest;
		highest = all[i].pos > highest ? all[i].pos : highest;
	}
}

static bool is_near(const struct seqwin *w, const struct held *h, uint64_t pos)
{
	(void)w;
	return h->pos != pos && apart(h->pos, pos) <= LEAP;
}

static bool leads_to(const struct seqwin *w, const struct held *h, uint64_t pos)
{
	(void)w;
	return h->fresh && h->pos < pos;
}

static bool up_to(const struct seqwin *w, const struct held *h, uint64_t pos)
{
	(void)w;
	return h->pos <= pos;
}

static unsigned count(const struct seqwin *w, is_true belongs, uint64_t pos, uint64_t *least)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_held; i++) {
		if (!belongs(w, &w->held[i], pos))
			continue;
		n++;
		*least = w->held[i].pos < *least ? w->held[i].pos : *least;
	}
	return n;
}

/* The stream goes on at the old place. */
static void goes_on(struct seqwin *w)
{
	for (unsigned i = 0; i < w->n_held; i++)
		w->held[i].fresh = false;
	if (w->n_held)
		accept_all(w, up_to, w->top);
}

static enum seq_kind hold(struct seqwin *w, uint64_t pos, uint32_t bytes)
{
	if (w->n_held == HELD_MAX) {
		foreign(w);
		memmove(&w->held[0], &w->held[1], (HELD_MAX - 1) * sizeof(w->held[0]));
		w->n_held--;
	}
	w->held[w->n_held++] = (struct held){pos, w->in_order, bytes, true};
	return SEQ_HELD;
}

/* Whether others bear out a leap to `pos`; they are accepted then. */
static bool borne_out(struct seqwin *w, uint64_t pos)
{
	uint64_t least = pos;
	unsigned n;

	if (count(w, is_near, pos, &least)) {
		accept_all(w, is_near, pos);
		return true;
	}
	n = count(w, leads_to, pos, &least);
	if (n + 1 < LEAPS)
		return false;
	w->gap16 = (pos - least) / n * 16;
	accept_all(w, leads_to, pos);
	return true;
}

/* ---- one number -------------------------------------------------------------------- */

static enum seq_kind ahead(struct seqwin *w, uint64_t by, uint32_t bytes, uint64_t most)
{
	uint64_t pos = w->top + by;
	enum seq_kind kind = SEQ_NEW;

	if (most < w->top || by > most - w->top)
		return foreign(w);
	if (by <= leap(w))
		w->gap16 += by - w->gap16 / 16;
	else if (!borne_out(w, pos))
		return hold(w, pos, bytes);
	if (pos > w->top)
		rise(w, pos);
	else /* near one that is higher */
		kind = below(w, pos);
	w->c.reordered += kind == SEQ_REORDERED;
	received(w, bytes);
	goes_on(w);
	w->in_order += kind == SEQ_NEW;
	return kind;
}

static enum seq_kind behind(struct seqwin *w, uint64_t by, uint32_t bytes)
{
	enum seq_kind kind;

	if (by >= w->top)
		return foreign(w);
	kind = below(w, w->top - by);
	w->c.reordered += kind == SEQ_REORDERED;
	received(w, bytes);
	goes_on(w);
	return kind;
}

enum seq_kind seqwin_put(struct seqwin *w, uint64_t number, uint32_t bytes, uint64_t most)
{
	int64_t d = distance(w, number);

	return d > 0 ? ahead(w, (uint64_t)d, bytes, most) : behind(w, 0 - (uint64_t)d, bytes);
}

/* ---- the end ----------------------------------------------------------------------- */

static uint64_t above(const struct seqwin *w, uint64_t sent)
{
	uint64_t n = 0;

	for (uint64_t pos = sent + 1; pos <= w->top; pos++)
		n += w->bit[(pos & w->mask) / 64] >> (pos % 64) & 1;
	return n;
}

/* A few far apart were never sent. If most are there, it is the count that is wrong. */
static int disproved(struct seqwin *w, uint64_t sent)
{
	uint64_t n = w->top - sent > w->mask ? UINT64_MAX : above(w, sent);

	if (n > (w->top - sent) / 2)
		return -ERANGE;
	w->distinct -= n;
	w->c.received -= n;
	w->c.foreign += n;
	w->c.highest = w->top = sent;
	w->c.lost = sent - w->distinct;
	return -ERANGE;
}

int seqwin_final(struct seqwin *w, uint64_t sent)
{
	accept_all(w, up_to, sent);
	w->c.foreign += w->n_held;
	w->n_held = 0;
	if (sent < w->top)
		return disproved(w, sent);
	w->c.highest = sent;
	w->c.lost = sent - w->distinct;
	return 0;
}

const struct seq_counts *seqwin_counts(const struct seqwin *w)
{
	return &w->c;
}
