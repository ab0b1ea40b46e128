/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distribution of a sender's gaps in a few kilobytes, so that each of a thousand flows has
 * its own: the same log-linear buckets as base's histogram, fewer and narrower.
 */
#include "net/priv.h"

#include <errno.h>

#define SUB (1U << NET_GAPS_K)

static uint32_t index_of(uint64_t v)
{
	unsigned top = 63 - (unsigned)__builtin_clzll(v | SUB), shift = top - NET_GAPS_K;

	return (shift << NET_GAPS_K) + (uint32_t)(v >> shift);
}

static uint64_t middle_of(uint32_t i)
{
	uint32_t shift = i < 2 * SUB ? 0 : i / SUB - 1;
	uint64_t lowest = (uint64_t)(i - shift * SUB) << shift;

	return lowest + (1ULL << shift) / 2;
}

void net_gaps_add(struct net_gaps *g, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 : ns > NET_GAPS_MAX ? NET_GAPS_MAX : (uint64_t)ns;

	g->bucket[index_of(v)]++;
	g->min = g->n == 0 || v < g->min ? v : g->min;
	g->max = v > g->max ? v : g->max;
	g->sum += v;
	g->n++;
}

/* The least and the greatest as themselves, the others as the middle of their bucket. */
static void bucket_into(const struct net_gaps *g, uint32_t i, struct hist *h)
{
	uint64_t n = g->bucket[i], middle = middle_of(i);

	if (n && i == index_of(g->min)) {
		hist_record(h, g->min);
		n--;
	}
	if (n && i == index_of(g->max)) {
		hist_record(h, g->max);
		n--;
	}
	middle = middle < g->min ? g->min : middle > g->max ? g->max : middle;
	hist_record_n(h, middle, n);
}

int net_gaps_into(const struct net_gaps *g, struct hist *h)
{
	struct hist *one;

	if (g->n == 0)
		return 0;
	one = hist_new();
	if (!one)
		return -ENOMEM;
	for (uint32_t i = 0; i < NET_GAPS_BUCKETS; i++)
		bucket_into(g, i, one);
	hist_set_exact(one, 0, g->sum, g->min, g->max);
	hist_merge(h, one);
	hist_free(one);
	return 0;
}
