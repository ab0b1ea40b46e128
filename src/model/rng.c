/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A permutation test that is too large to enumerate is sampled, and the same runs must give the
 * same verdict tomorrow and elsewhere: a generator of our own, PCG32 (O'Neill 2014, XSH-RR).
 */
#include "model/model.h"

#include <math.h>

uint32_t model_rng_u32(struct model_rng *r)
{
	uint64_t old = r->state;
	uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27), rot = (uint32_t)(old >> 59);

	r->state = old * UINT64_C(6364136223846793005) + r->inc;
	return shifted >> rot | shifted << (-rot & 31);
}

void model_rng_seed(struct model_rng *r, uint64_t seed, uint64_t stream)
{
	*r = (struct model_rng){.inc = stream << 1 | 1};
	model_rng_u32(r);
	r->state += seed;
	model_rng_u32(r);
}

/* Lemire's multiplication, with the rejection that makes it exact. */
uint32_t model_rng_below(struct model_rng *r, uint32_t n)
{
	uint64_t m = (uint64_t)model_rng_u32(r) * n;
	uint32_t least = -n % n;

	while ((uint32_t)m < least)
		m = (uint64_t)model_rng_u32(r) * n;
	return (uint32_t)(m >> 32);
}

double model_rng_unit(struct model_rng *r)
{
	return (model_rng_u32(r) + 0.5) / 4294967296.0;
}

/* Box and Muller; the second value is not kept, so that there is no state beside the seed. */
double model_rng_normal(struct model_rng *r)
{
	double u = model_rng_unit(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * model_rng_unit(r));
}
