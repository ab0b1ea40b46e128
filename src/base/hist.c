/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency needs its tail, and means of means are wrong. Log-linear counters: a value's
 * bucket is its power of two and its next HIST_K bits, so recording is a shift and an add,
 * and two histograms merge by addition.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 u128;

struct hist {
	u128 sum;
	uint64_t count, min, max;
	uint64_t bucket[HIST_BUCKETS];
};

static inline unsigned shift_of(uint64_t v)
{
	unsigned top = 63 - (unsigned)__builtin_clzll(v | 1);
	return top > HIST_K ? top - HIST_K : 0;
}

static inline uint32_t index_of(uint64_t v)
{
	unsigned shift = shift_of(v);
	return (shift << HIST_K) + (uint32_t)(v >> shift);
}

/* The lowest value of a bucket, and how many values it holds. */
static uint64_t lowest(uint32_t i, uint64_t *width)
{
	uint32_t shift = i < (2U << HIST_K) ? 0 : (i >> HIST_K) - 1;
	*width = 1ULL << shift;
	return (uint64_t)(i - (shift << HIST_K)) << shift;
}

struct hist *hist_new(void)
{
	struct hist *h = calloc(1, sizeof(*h));
	if (h)
		h->min = UINT64_MAX;
	return h;
}

void hist_free(struct hist *h)
{
	free(h);
}

void hist_record_n(struct hist *h, uint64_t v, uint64_t n)
{
	if (!n)
		return;
	if (v > INT64_MAX)
		v = INT64_MAX;
	h->bucket[index_of(v)] += n;
	h->count += n;
	h->sum += (u128)v * n;
	h->min = v < h->min ? v : h->min;
	h->max = v > h->max ? v : h->max;
}

void hist_record(struct hist *h, uint64_t v)
{
	if (v > INT64_MAX)
		v = INT64_MAX;
	h->bucket[index_of(v)]++;
	h->count++;
	h->sum += v;
	h->min = v < h->min ? v : h->min;
	h->max = v > h->max ? v : h->max;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	if (!from->count)
		return;
	for (uint32_t i = index_of(from->min); i <= index_of(from->max); i++)
		into->bucket[i] += from->bucket[i];
	into->count += from->count;
	into->sum += from->sum;
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
}

uint64_t hist_count(const struct hist *h)
{
	return h->count;
}

uint64_t hist_min(const struct hist *h)
{
	return h->count ? h->min : 0;
}

uint64_t hist_max(const struct hist *h)
{
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

void hist_sum(const struct hist *h, uint64_t *hi, uint64_t *lo)
{
	*hi = (uint64_t)(h->sum >> 64);
	*lo = (uint64_t)h->sum;
}

/* What the buckets rounded away; min and max may only move within their own buckets. */
void hist_set_exact(struct hist *h, uint64_t sum_hi, uint64_t sum_lo, uint64_t min, uint64_t max)
{
	h->sum = (u128)sum_hi << 64 | sum_lo;
	if (!h->count)
		return;
	if (min <= INT64_MAX && index_of(min) == index_of(h->min))
		h->min = min;
	if (max <= INT64_MAX && index_of(max) == index_of(h->max))
		h->max = max;
}

static uint64_t clamp(const struct hist *h, uint64_t v)
{
	v = v < h->min ? h->min : v;
	return v > h->max ? h->max : v;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	if (!h->count)
		return 0;
	if (!(q > 0))
		return h->min;
	if (q >= 1)
		return h->max;
	double rank = ceil(q * (double)h->count);
	uint64_t seen = 0, width, lo;
	for (uint32_t i = index_of(h->min); i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (h->bucket[i] && (double)seen >= rank) {
			lo = lowest(i, &width);
			return clamp(h, lo + width / 2);
		}
	}
	return h->max;
}

bool hist_next(const struct hist *h, uint32_t *it, uint64_t *lo, uint64_t *n)
{
	uint64_t width;
	while (*it < HIST_BUCKETS) {
		uint32_t i = (*it)++;
		if (!h->bucket[i])
			continue;
		*lo = lowest(i, &width);
		*n = h->bucket[i];
		return true;
	}
	return false;
}
