/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers and files lie about lengths. Every read goes through take(), which never passes
 * the end and remembers that it was asked to; callers check `bad` once.
 */
#include "base/base.h"

#include <string.h>

static const uint8_t *take(struct rd *r, size_t n)
{
	if (r->bad || rd_left(r) < n) {
		r->bad = true;
		return NULL;
	}
	const uint8_t *p = r->p;
	r->p = n ? p + n : p; /* p may be NULL when there is nothing at all */
	return p;
}

static uint64_t be(struct rd *r, size_t n)
{
	const uint8_t *p = take(r, n);
	uint64_t v = 0;
	for (size_t i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

uint8_t rd_u8(struct rd *r)
{
	return (uint8_t)be(r, 1);
}

uint16_t rd_be16(struct rd *r)
{
	return (uint16_t)be(r, 2);
}

uint32_t rd_be32(struct rd *r)
{
	return (uint32_t)be(r, 4);
}

uint64_t rd_be64(struct rd *r)
{
	return be(r, 8);
}

uint64_t rd_uvarint(struct rd *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t c = rd_u8(r);
		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return r->bad ? 0 : v;
	}
	r->bad = true; /* more than 64 bits */
	return 0;
}

int64_t rd_svarint(struct rd *r)
{
	uint64_t u = rd_uvarint(r);
	return (int64_t)(u >> 1 ^ (u & 1 ? UINT64_MAX : 0));
}

double rd_f64(struct rd *r)
{
	const uint8_t *p = take(r, 8);
	uint64_t u = 0;
	for (int i = 7; p && i >= 0; i--)
		u = u << 8 | p[i];
	double d;
	memcpy(&d, &u, sizeof(d));
	return d;
}

const void *rd_bytes(struct rd *r, size_t n)
{
	static const uint8_t nothing;
	const uint8_t *p = take(r, n);
	return p || r->bad ? p : &nothing; /* no bytes of an empty input is not a short read */
}
