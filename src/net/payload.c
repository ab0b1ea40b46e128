/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is sent says nothing: random bytes, so that nothing on the path compresses it, or, for who
 * wants to see them in a capture, the ten digits over and over.
 */
#include "net/priv.h"

#include <string.h>

#define RANDOM_MAX (1 << 20)

void net_payload_fill(void *p, size_t n, bool digits)
{
	size_t filled = n < RANDOM_MAX ? n : RANDOM_MAX;
	char *c = p;

	if (digits) {
		for (size_t i = 0; i < n; i++)
			c[i] = (char)('0' + i % 10);
		return;
	}
	clk_random(c, filled);
	for (size_t more; filled < n; filled += more) {
		more = n - filled < RANDOM_MAX ? n - filled : RANDOM_MAX;
		memcpy(c + filled, c, more);
	}
}
