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
#define SLACK 1e-9

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
	uint64_t hits = 1;

	for (int s = 0; s < MODEL_PERM_SAMPLES; s++) {
		double sum = 0;
		uint32_t bits = 0;
		for (size_t i = 0; i < n; i++, bits >>= 1) {
			if (i % 32 == 0)
				bits = model_rng_u32(rng);
			sum += bits & 1 ? -d[i] : d[i];
		}
		hits += fabs(sum) >= seen;
	}
	return (struct model_perm){(double)hits / (MODEL_PERM_SAMPLES + 1), false,
				   1.0 / (MODEL_PERM_SAMPLES + 1)};
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
	uint64_t hits = 1;

	for (int round = 0; round < MODEL_PERM_SAMPLES; round++) {
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
	return (struct model_perm){(double)hits / (MODEL_PERM_SAMPLES + 1), false,
				   1.0 / (MODEL_PERM_SAMPLES + 1)};
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

/* Two mirrored arrangements are the least when the sides are of one size in every block. */
static double blocks_least(const uint8_t *side, const size_t *starts, size_t nb)
{
	double all = 1;
	bool even = true;

	for (size_t k = 0; k < nb; k++) {
		size_t n = starts[k + 1] - starts[k], ones = 0;
		for (size_t i = starts[k]; i < starts[k + 1]; i++)
			ones += side[i];
		even = even && n == 2 * ones;
		all *= (double)splits(n, ones < n - ones ? ones : n - ones);
	}
	return (even ? 2 : 1) / all;
}

struct model_perm model_perm_blocks(const double *x, const uint8_t *side, const size_t *starts,
				    size_t nb, struct model_rng *rng)
{
	size_t n = starts[nb];
	double seen = fabs(blocks_diff(x, side, starts, nb));
	uint8_t *label = malloc(n ? n : 1);
	uint64_t hits = 1;

	if (!label)
		return no_answer();
	memcpy(label, side, n);
	for (int s = 0; s < MODEL_PERM_SAMPLES; s++) {
		for (size_t k = 0; k < nb; k++)
			shuffle_labels(label + starts[k], starts[k + 1] - starts[k], rng);
		hits += fabs(blocks_diff(x, label, starts, nb)) >= seen * (1 - SLACK);
	}
	free(label);
	return (struct model_perm){(double)hits / (MODEL_PERM_SAMPLES + 1), false,
				   blocks_least(side, starts, nb)};
}
