/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second opinion that assumes nothing but the order of the runs: how often would a mere
 * relabelling have shown a difference as large? All relabellings where they can be counted, else
 * a seeded sample with the observed one among them (Phipson and Smyth 2010).
 */
#include "model/priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums that differ by rounding alone are equal. */
#define SLACK         1e-9
#define SAMPLED_RUNS  UINT64_C(100000000) /* in all samples together */
#define SAMPLES_LEAST 1000

/* A sample of a large number of runs costs as much: fewer of them do there, where the t-test and the
 * permutation agree anyway. */
static uint64_t samples_of(size_t n)
{
	uint64_t most = SAMPLED_RUNS / (n ? n : 1);

	if (most > MODEL_PERM_SAMPLES)
		return MODEL_PERM_SAMPLES;
	return most < SAMPLES_LEAST ? SAMPLES_LEAST : most;
}

static struct model_perm sampled(uint64_t hits, uint64_t samples)
{
	return (struct model_perm){(double)hits / ((double)samples + 1), false,
				   1 / ((double)samples + 1)};
}

static struct model_perm no_answer(void)
{
	return (struct model_perm){.p = (double)NAN, .least = (double)NAN};
}

/* ---- sign flips of block differences ---- */

/* Gray code: each arrangement differs from the last in one sign. Half of them suffice: the
 * mirrored ones have the same size. */
static struct model_perm signs_exact(const double *d, size_t n, double seen)
{
	uint64_t all = UINT64_C(1) << (n - 1), hits = 1, flipped = 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += d[i];
	for (uint64_t i = 1; i < all; i++) {
		int bit = __builtin_ctzll(i);
		flipped ^= UINT64_C(1) << bit;
		sum += flipped >> bit & 1 ? -2 * d[bit] : 2 * d[bit];
		hits += fabs(sum) >= seen;
	}
	return (struct model_perm){(double)hits / (double)all, true, 1 / (double)all};
}

static struct model_perm signs_sampled(const double *d, size_t n, double seen,
				       struct model_rng *rng)
{
	uint64_t hits = 1, samples = samples_of(n);

	for (uint64_t s = 0; s < samples; s++) {
		double sum = 0;
		uint32_t bits = 0;
		for (size_t i = 0; i < n; i++, bits >>= 1) {
			if (i % 32 == 0)
				bits = model_rng_u32(rng);
			sum += bits & 1 ? -d[i] : d[i];
		}
		hits += fabs(sum) >= seen;
	}
	return sampled(hits, samples);
}

struct model_perm model_perm_signs(const double *d, size_t n, struct model_rng *rng)
{
	double sum = 0, scale = 0;

	if (!n)
		return no_answer();
	for (size_t i = 0; i < n; i++) {
		sum += d[i];
		scale += fabs(d[i]);
	}
	double seen = fabs(sum) - SLACK * scale;
	if (n <= 17) /* 2^17 arrangements, half of them walked */
		return signs_exact(d, n, seen);
	return signs_sampled(d, n, seen, rng);
}

/* ---- splits of two sides ---- */

/* C(n, k), or more than the limit as soon as that is sure. */
static uint64_t splits(size_t n, size_t k)
{
	double c = 1;

	for (size_t i = 1; i <= k; i++) {
		c = c * (double)(n - k + i) / (double)i;
		if (c > 1e12)
			return UINT64_MAX;
	}
	return (uint64_t)(c + 0.5);
}

struct split { /* all values, centred; which k of them are side A */
	double *x;
	size_t n, k;
	double seen; /* of the sum over A, which alone decides when the values are centred */
};

static struct model_perm splits_exact(const struct split *s, uint64_t all, size_t *pick)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < s->k; i++)
		pick[i] = i;
	for (;;) {
		double sum = 0;
		for (size_t i = 0; i < s->k; i++)
			sum += s->x[pick[i]];
		hits += fabs(sum) >= s->seen;
		size_t i = s->k;
		while (i > 0 && pick[i - 1] == s->n - s->k + i - 1)
			i--;
		if (!i)
			break;
		pick[i - 1]++;
		for (; i < s->k; i++)
			pick[i] = pick[i - 1] + 1;
	}
	return (struct model_perm){(double)hits / (double)all, true,
				   (s->n == 2 * s->k ? 2.0 : 1.0) / (double)all};
}

static struct model_perm splits_sampled(const struct split *s, struct model_rng *rng)
{
	uint64_t hits = 1, samples = samples_of(s->k);

	for (uint64_t round = 0; round < samples; round++) {
		double sum = 0;
		for (size_t i = 0; i < s->k; i++) { /* the first k of a shuffle */
			size_t j = i + model_rng_below(rng, (uint32_t)(s->n - i));
			double x = s->x[j];
			s->x[j] = s->x[i];
			s->x[i] = x;
			sum += x;
		}
		hits += fabs(sum) >= s->seen;
	}
	return sampled(hits, samples);
}

/* The smaller side first: fewer values to add. */
static void split_init(struct split *s, const double *a, size_t na, const double *b, size_t nb)
{
	double mean, sum = 0, scale = 0;

	memcpy(s->x, na <= nb ? a : b, (na <= nb ? na : nb) * sizeof(*s->x));
	memcpy(s->x + s->k, na <= nb ? b : a, (na <= nb ? nb : na) * sizeof(*s->x));
	mean = model_stats(s->x, s->n).mean;
	for (size_t i = 0; i < s->n; i++) {
		s->x[i] -= mean;
		scale += fabs(s->x[i]);
		sum += i < s->k ? s->x[i] : 0;
	}
	s->seen = fabs(sum) - SLACK * scale;
}

struct model_perm model_perm_two(const double *a, size_t na, const double *b, size_t nb,
				 struct model_rng *rng)
{
	struct split s = {.n = na + nb, .k = na < nb ? na : nb};
	struct model_perm out = no_answer();
	size_t *pick;

	if (!na || !nb || s.n > UINT32_MAX)
		return out;
	s.x = malloc(s.n * sizeof(*s.x));
	pick = malloc(s.k * sizeof(*pick));
	if (s.x && pick) {
		uint64_t all = splits(s.n, s.k);
		split_init(&s, a, na, b, nb);
		out = all <= MODEL_PERM_EXACT ? splits_exact(&s, all, pick)
					      : splits_sampled(&s, rng);
	}
	free(pick);
	free(s.x);
	return out;
}

/* ---- blocks of several runs a side ---- */

/* The difference of means of one block. */
static double block_diff(const double *x, const uint8_t *side, size_t n)
{
	double sum[2] = {0};
	size_t count[2] = {0};

	for (size_t i = 0; i < n; i++) {
		sum[side[i]] += x[i];
		count[side[i]]++;
	}
	return sum[1] / (double)count[1] - sum[0] / (double)count[0];
}

static double blocks_diff(const double *x, const uint8_t *side, const size_t *starts, size_t nb)
{
	double sum = 0;

	for (size_t k = 0; k < nb; k++)
		sum += block_diff(x + starts[k], side + starts[k], starts[k + 1] - starts[k]);
	return sum;
}

static void shuffle_labels(uint8_t *side, size_t n, struct model_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = model_rng_below(rng, (uint32_t)i);
		uint8_t s = side[j];
		side[j] = side[i - 1];
		side[i - 1] = s;
	}
}

/* How the labels of one block can lie, and whether its sides are of one size. */
static uint64_t block_ways(const uint8_t *side, size_t n, bool *even)
{
	size_t ones = 0;

	for (size_t i = 0; i < n; i++)
		ones += side[i];
	*even = *even && n == 2 * ones;
	return splits(n, ones < n - ones ? ones : n - ones);
}

/* All arrangements, or more than any limit as soon as that is sure. Two mirrored ones are the least
 * when the sides are of one size in every block. */
static double blocks_ways(const uint8_t *side, const size_t *starts, size_t nb, double *least)
{
	double all = 1;
	bool even = true;

	for (size_t k = 0; k < nb; k++)
		all *= (double)block_ways(side + starts[k], starts[k + 1] - starts[k], &even);
	*least = (even ? 2 : 1) / all;
	return all;
}

/* The differences of one block under all its labellings; returns how many. */
static size_t block_diffs(const double *x, const uint8_t *side, size_t n, uint8_t *label,
			  double *out)
{
	size_t ones = 0, ways = 0;

	for (size_t i = 0; i < n; i++)
		ones += side[i];
	for (size_t i = 0; i < n; i++) /* in descending order: the last of all labellings */
		label[i] = i < ones;
	for (;;) {
		out[ways++] = block_diff(x, label, n);
		/* the next one: move the last 1 that has a 0 after it, and what follows it up to it */
		size_t tail = 0, i = n;
		while (i > 0 && label[i - 1])
			label[--i] = 0, tail++;
		while (i > 0 && !label[i - 1])
			i--;
		if (!i)
			return ways;
		label[i - 1] = 0;
		for (size_t k = 0; k <= tail; k++)
			label[i + k] = 1;
	}
}

struct odometer { /* of one block: its differences, and which is on */
	const double *d;
	size_t n, at;
	double before; /* the sum over the blocks before it */
};

static uint64_t count_blocks(struct odometer *o, size_t nb, double seen)
{
	uint64_t hits = 0;
	size_t k = 0;

	for (;;) {
		for (; k + 1 < nb; k++)
			o[k + 1].before = o[k].before + o[k].d[o[k].at];
		for (size_t i = 0; i < o[k].n; i++)
			hits += fabs(o[k].before + o[k].d[i]) >= seen;
		do {
			if (!k--)
				return hits;
		} while (++o[k].at == o[k].n && !(o[k].at = 0));
	}
}

static struct model_perm blocks_exact(const double *x, const uint8_t *side, const size_t *starts,
				      size_t nb, double all)
{
	double seen = fabs(blocks_diff(x, side, starts, nb)), *d;
	struct odometer *o = calloc(nb, sizeof(*o));
	uint8_t *label = malloc(starts[nb]);
	struct model_perm out = no_answer();
	size_t n = 0;
	bool even = true;

	for (size_t k = 0; k < nb; k++)
		n += block_ways(side + starts[k], starts[k + 1] - starts[k], &even);
	d = malloc(n * sizeof(*d));
	if (o && label && d) {
		n = 0;
		for (size_t k = 0; k < nb; k++) {
			o[k].d = d + n;
			o[k].n = block_diffs(x + starts[k], side + starts[k],
					     starts[k + 1] - starts[k], label, d + n);
			n += o[k].n;
		}
		out.p = (double)count_blocks(o, nb, seen * (1 - SLACK)) / all;
		out.exact = true;
	}
	free(d);
	free(label);
	free(o);
	return out;
}

static struct model_perm blocks_sampled(const double *x, const uint8_t *side, const size_t *starts,
					size_t nb, struct model_rng *rng)
{
	size_t n = starts[nb];
	double seen = fabs(blocks_diff(x, side, starts, nb));
	uint8_t *label = malloc(n);
	uint64_t hits = 1, samples = samples_of(n);

	if (!label)
		return no_answer();
	memcpy(label, side, n);
	for (uint64_t s = 0; s < samples; s++) {
		for (size_t k = 0; k < nb; k++)
			shuffle_labels(label + starts[k], starts[k + 1] - starts[k], rng);
		hits += fabs(blocks_diff(x, label, starts, nb)) >= seen * (1 - SLACK);
	}
	free(label);
	return sampled(hits, samples);
}

struct model_perm model_perm_blocks(const double *x, const uint8_t *side, const size_t *starts,
				    size_t nb, struct model_rng *rng)
{
	double least, all = blocks_ways(side, starts, nb, &least);
	struct model_perm out = all <= MODEL_PERM_EXACT ? blocks_exact(x, side, starts, nb, all)
							: blocks_sampled(x, side, starts, nb, rng);

	out.least = least;
	return out;
}
