/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pre-shared key of the native protocol: HMAC-SHA256 (RFC 2104) over labelled parts, and a
 * comparison that takes the same time whatever differs. libcrypto's only place.
 */
#include <errno.h>
#include <string.h>

#include "config.h"
#include "proto/priv.h"

#ifdef HAVE_CRYPTO
#include <openssl/evp.h>
#include <openssl/hmac.h>

int proto_psk_mac(const char *psk, const struct proto_part *parts, size_t n_parts,
		  char hex[PROTO_MAC_HEX])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	struct buf b = {0};
	int ret = -ENOMEM;

	for (size_t i = 0; i < n_parts; i++) {
		buf_put(&b, parts[i].p, parts[i].n);
		buf_putc(&b, 0);
	}
	if (b.failed)
		goto out;
	if (!HMAC(EVP_sha256(), psk, (int)strlen(psk), (const unsigned char *)b.data, b.len, mac,
		  &len) ||
	    len * 2 != PROTO_MAC_HEX - 1)
		goto out;
	for (unsigned i = 0; i < len; i++) {
		hex[2 * i] = digits[mac[i] >> 4];
		hex[2 * i + 1] = digits[mac[i] & 15];
	}
	hex[PROTO_MAC_HEX - 1] = 0;
	ret = 0;
out:
	buf_fini(&b);
	return ret;
}
#else
int proto_psk_mac(const char *psk, const struct proto_part *parts, size_t n_parts,
		  char hex[PROTO_MAC_HEX])
{
	(void)psk;
	(void)parts;
	(void)n_parts;
	hex[0] = 0;
	return -ENOTSUP;
}
#endif

bool proto_psk_same(const char *a, const char *b, size_t n)
{
	volatile unsigned char diff = 0;

	for (size_t i = 0; i < n; i++)
		diff = diff | (unsigned char)(a[i] ^ b[i]);
	return diff == 0;
}
