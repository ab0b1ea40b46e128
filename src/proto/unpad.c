/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking the padding off what RSA gave (RFC 8017 sections 7.1.2 and 7.2.2) without telling anyone
 * whether it was right: no branch and no index depends on the bytes, and wrong padding yields
 * another message, made up from a secret and the ciphertext, instead of an error. Whoever asks
 * with a ciphertext of his own learns nothing (Bleichenbacher, Manger).
 */
#include <errno.h>
#include <string.h>

#include "proto/priv.h"

/* ---- masks: all ones or zero ---- */

typedef uint32_t mask;

static mask is_zero(uint32_t x)
{
	return (mask)0 - ((~x & (x - 1)) >> 31);
}

static mask is_equal(uint32_t a, uint32_t b)
{
	return is_zero(a ^ b);
}

/* a < b for values below 2^31. */
static mask is_less(uint32_t a, uint32_t b)
{
	return (mask)0 - ((a - b) >> 31);
}

static uint32_t choose(mask m, uint32_t yes, uint32_t no)
{
	return (m & yes) | (~m & no);
}

/* Keeps the compiler from seeing that a mask is one of two values. */
static mask opaque(mask m)
{
	__asm__("" : "+r"(m));
	return m;
}

/* Moves p[by..n) to p[0..), by powers of two: every byte is touched, whatever `by` is. */
static void shift_down(uint8_t *p, uint32_t n, uint32_t by)
{
	for (uint32_t step = 1; step < n; step <<= 1) {
		mask m = opaque(~is_zero(by & step));

		for (uint32_t i = 0; i < n; i++) {
			uint32_t from = i + step < n ? p[i + step] : 0;

			p[i] = (uint8_t)choose(m, from, p[i]);
		}
	}
}

/* ---- the two paddings: where the message begins, and whether all was well ---- */

static mask find_pkcs1(const uint8_t *em, uint32_t n, uint32_t *start)
{
	mask good = is_zero(em[0]) & is_equal(em[1], 2), found = 0;
	uint32_t at = 0;

	for (uint32_t i = 2; i < n; i++) {
		mask end = is_zero(em[i]) & ~found;

		at = choose(end, i, at);
		found |= end;
	}
	*start = at + 1;
	return good & found & ~is_less(at, 10); /* at least eight bytes of padding */
}

/* p ^= MGF1-SHA1(seed). */
static int mgf_xor(uint8_t *p, uint32_t n, const uint8_t *seed, uint32_t n_seed)
{
	uint8_t hash[PROTO_SHA1];

	for (uint32_t i = 0, block = 0; i < n; block++) {
		char count[4] = {(char)(block >> 24), (char)(block >> 16), (char)(block >> 8),
				 (char)block};
		struct proto_part parts[] = {{(const char *)seed, n_seed}, {count, sizeof(count)}};
		int ret = proto_sha1(parts, ARRAY_LEN(parts), hash);

		if (ret < 0)
			return ret;
		for (uint32_t k = 0; k < sizeof(hash) && i < n; k++, i++)
			p[i] ^= hash[k];
	}
	return 0;
}

static int find_oaep(uint8_t *em, uint32_t n, uint32_t *start, mask *good)
{
	uint8_t *seed = em + 1, *db = seed + PROTO_SHA1, label[PROTO_SHA1];
	uint32_t n_db = n - 1 - PROTO_SHA1, at = 0;
	mask found = 0, padding = ~(mask)0, same = ~(mask)0;
	int ret = proto_sha1(NULL, 0, label);

	if (ret == 0)
		ret = mgf_xor(seed, PROTO_SHA1, db, n_db);
	if (ret == 0)
		ret = mgf_xor(db, n_db, seed, PROTO_SHA1);
	for (uint32_t i = 0; i < PROTO_SHA1; i++)
		same &= is_equal(db[i], label[i]);
	for (uint32_t i = PROTO_SHA1; i < n_db; i++) {
		mask end = is_equal(db[i], 1) & ~found;

		padding &= found | end | is_zero(db[i]);
		at = choose(end, i, at);
		found |= end;
	}
	*start = 1 + PROTO_SHA1 + at + 1;
	*good = is_zero(em[0]) & same & found & padding;
	return ret;
}

/* ---- what stands in for a message that is none ---- */

static int stand_in(const uint8_t secret[PROTO_SHA256], const uint8_t *cipher, uint32_t n,
		    uint8_t *out)
{
	uint8_t key[PROTO_SHA256], block[PROTO_SHA256];
	int ret = proto_hmac(secret, PROTO_SHA256, cipher, n, key);

	for (uint32_t i = 0; ret == 0 && i < n; i += sizeof(block)) {
		ret = proto_hmac(key, sizeof(key), &i, sizeof(i), block);
		memcpy(out + i, block, n - i < sizeof(block) ? n - i : sizeof(block));
	}
	return ret;
}

int proto_unpad(bool pkcs1, const uint8_t secret[PROTO_SHA256], const uint8_t *cipher, uint8_t *em,
		size_t n, size_t *len)
{
	uint8_t other[PROTO_RSA_MAX] = {0};
	uint32_t start = 0, size = (uint32_t)n;
	mask good = 0;
	int ret;

	if (n < 64 || n > sizeof(other))
		return -EINVAL;
	ret = stand_in(secret, cipher, size, other);
	if (ret == 0 && pkcs1)
		good = find_pkcs1(em, size, &start);
	else if (ret == 0)
		ret = find_oaep(em, size, &start, &good);
	if (ret < 0)
		return ret;
	good = opaque(good);
	/* Length and bytes of the other message come from the same secret stream. */
	start = choose(good, start, 11 + other[size - 1] % 32U);
	for (uint32_t i = 0; i < size; i++)
		em[i] = (uint8_t)choose(good, em[i], other[i]);
	shift_down(em, size, start);
	*len = size - start;
	explicit_bzero(other, sizeof(other));
	return 0;
}
