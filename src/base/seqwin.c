/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loss from a highest number and a sum is wrong as soon as a datagram comes twice. Here each
 * number within a window has a bit: lost is what has none. Counter values become positions
 * (1, 2, …) by their distance to the highest one, so a wrap is no event.
 */
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MIN 64
#define WINDOW_MAX (1U << 30)

struct seqwin {
	struct seq_counts c;
	uint64_t before_first; /* the number of position 0 */
	uint64_t top;          /* the highest position that came */
	uint64_t distinct;     /* positions that came */
	uint64_t mask;         /* window - 1 */
	bool narrow;           /* 32 bits */
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

static enum seq_kind ahead(struct seqwin *w, uint64_t by, uint64_t most)
{
	if (most < w->top || by > most - w->top)
		return foreign(w);
	clear(w, w->top + 1, w->top + by);
	w->top += by;
	test_and_set(w, w->top);
	w->distinct++;
	return SEQ_NEW;
}

static enum seq_kind behind(struct seqwin *w, uint64_t by)
{
	if (by >= w->top)
		return foreign(w);
	if (by > w->mask) {
		w->c.late++;
		return SEQ_LATE;
	}
	if (test_and_set(w, w->top - by)) {
		w->c.duplicates++;
		return SEQ_DUPLICATE;
	}
	w->c.reordered++;
	w->distinct++;
	return SEQ_REORDERED;
}

enum seq_kind seqwin_put(struct seqwin *w, uint64_t number, uint64_t most)
{
	int64_t d = distance(w, number);
	enum seq_kind kind = d > 0 ? ahead(w, (uint64_t)d, most) : behind(w, 0 - (uint64_t)d);

	if (kind == SEQ_FOREIGN)
		return kind;
	w->c.received++;
	w->c.highest = w->top;
	w->c.lost = w->top - w->distinct;
	return kind;
}

int seqwin_final(struct seqwin *w, uint64_t sent)
{
	if (sent < w->top)
		return -ERANGE;
	w->c.highest = sent;
	w->c.lost = sent - w->distinct;
	return 0;
}

const struct seq_counts *seqwin_counts(const struct seqwin *w)
{
	return &w->c;
}
