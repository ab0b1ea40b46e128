/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place that knows libcrypto: digests, the keyed hash, RSA. What iperf3's login needs of
 * RSA is the raw operation alone, because a library that looks at the padding itself tells by its
 * time or its errors whether that was right (OpenSSL 3.0 rejects PKCS#1 v1.5 openly).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "proto/priv.h"

#ifdef HAVE_CRYPTO
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

struct proto_rsa {
	EVP_PKEY *key;
	size_t bytes;
};

static int digest(const EVP_MD *md, const struct proto_part *parts, size_t n_parts, uint8_t *out)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool ok = c && EVP_DigestInit_ex(c, md, NULL) == 1;

	for (size_t i = 0; ok && i < n_parts; i++)
		ok = EVP_DigestUpdate(c, parts[i].p, parts[i].n) == 1;
	ok = ok && EVP_DigestFinal_ex(c, out, NULL) == 1;
	EVP_MD_CTX_free(c);
	return ok ? 0 : -ENOMEM;
}

int proto_sha1(const struct proto_part *parts, size_t n_parts, uint8_t out[PROTO_SHA1])
{
	return digest(EVP_sha1(), parts, n_parts, out);
}

int proto_sha256(const struct proto_part *parts, size_t n_parts, uint8_t out[PROTO_SHA256])
{
	return digest(EVP_sha256(), parts, n_parts, out);
}

int proto_hmac(const void *key, size_t n_key, const void *p, size_t n, uint8_t out[PROTO_SHA256])
{
	unsigned len = 0;

	return HMAC(EVP_sha256(), key, (int)n_key, p, n, out, &len) && len == PROTO_SHA256
		       ? 0
		       : -ENOMEM;
}

int proto_psk_mac(const char *psk, const struct proto_part *parts, size_t n_parts,
		  char hex[PROTO_MAC_HEX])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t mac[PROTO_SHA256] = {0};
	struct buf b = {0};
	int ret = -ENOMEM;

	for (size_t i = 0; i < n_parts; i++) {
		buf_put(&b, parts[i].p, parts[i].n);
		buf_putc(&b, 0);
	}
	if (!b.failed)
		ret = proto_hmac(psk, strlen(psk), b.data, b.len, mac);
	for (unsigned i = 0; ret == 0 && i < sizeof(mac); i++) {
		hex[2 * i] = digits[mac[i] >> 4];
		hex[2 * i + 1] = digits[mac[i] & 15];
	}
	hex[PROTO_MAC_HEX - 1] = 0;
	buf_fini(&b);
	return ret;
}

/* ---- RSA ---- */

/* Nobody is asked for a passphrase: a server has no terminal. */
static int no_passphrase(char *dst, int cap, int writing, void *arg)
{
	(void)dst;
	(void)cap;
	(void)writing;
	(void)arg;
	return -1;
}

static EVP_PKEY *read_pem(const void *pem, size_t n, bool private)
{
	BIO *bio = BIO_new_mem_buf(pem, (int)n);
	EVP_PKEY *key = NULL;

	if (bio)
		key = private ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL)
			      : PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL);
	BIO_free(bio);
	return key;
}

static int rsa_usable(const EVP_PKEY *key, bool private, struct weir_err *e)
{
	const char *kind = private ? "private" : "public";
	int bits;

	if (!key) {
		err_set(e, WEIR_FORMAT, EINVAL, "not an RSA %s key in PEM form", kind);
		return err_hint(e,
				private ? "openssl genrsa -out private.pem 2048, without passphrase"
					: "openssl rsa -in private.pem -pubout -out public.pem");
	}
	if (EVP_PKEY_base_id(key) != EVP_PKEY_RSA)
		return err_set(e, WEIR_FORMAT, EINVAL, "a %s key, but not one of RSA", kind);
	bits = EVP_PKEY_bits(key);
	if (bits < 1024 || bits > 8 * PROTO_RSA_MAX || bits % 8)
		return err_set(e, WEIR_FORMAT, EINVAL, "a key of %d bits; 1024 to %d are taken",
			       bits, 8 * PROTO_RSA_MAX);
	return 0;
}

int proto_rsa_new(const void *pem, size_t n, bool private, struct proto_rsa **out,
		  struct weir_err *e)
{
	EVP_PKEY *key = read_pem(pem, n, private);
	int ret = rsa_usable(key, private, e);
	struct proto_rsa *k;

	if (ret < 0) {
		EVP_PKEY_free(key);
		return ret;
	}
	k = calloc(1, sizeof(*k));
	if (!k) {
		EVP_PKEY_free(key);
		return err_os(e, ENOMEM, "key");
	}
	*k = (struct proto_rsa){key, (size_t)EVP_PKEY_bits(key) / 8};
	*out = k;
	return 0;
}

void proto_rsa_free(struct proto_rsa *k)
{
	if (k)
		EVP_PKEY_free(k->key);
	free(k);
}

size_t proto_rsa_bytes(const struct proto_rsa *k)
{
	return k->bytes;
}

/* One operation on one block: out has the key's size. */
static int rsa_op(const struct proto_rsa *k, int padding, bool decrypt, const uint8_t *in, size_t n,
		  uint8_t *out)
{
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(k->key, NULL);
	size_t len = k->bytes;
	bool ok = c && (decrypt ? EVP_PKEY_decrypt_init(c) : EVP_PKEY_encrypt_init(c)) == 1 &&
		  EVP_PKEY_CTX_set_rsa_padding(c, padding) == 1 &&
		  (decrypt ? EVP_PKEY_decrypt(c, out, &len, in, n)
			   : EVP_PKEY_encrypt(c, out, &len, in, n)) == 1 &&
		  len == k->bytes;

	EVP_PKEY_CTX_free(c);
	return ok ? 0 : -EINVAL;
}

int proto_rsa_encrypt(const struct proto_rsa *k, bool pkcs1, const void *p, size_t n, uint8_t *out)
{
	return rsa_op(k, pkcs1 ? RSA_PKCS1_PADDING : RSA_PKCS1_OAEP_PADDING, false, p, n, out);
}

int proto_rsa_raw(const struct proto_rsa *k, const uint8_t *in, uint8_t *out)
{
	return rsa_op(k, RSA_NO_PADDING, true, in, k->bytes, out);
}

int proto_rsa_secret(const struct proto_rsa *k, uint8_t out[PROTO_SHA256])
{
	unsigned char *der = NULL;
	int n = i2d_PrivateKey(k->key, &der);
	struct proto_part part = {(const char *)der, n > 0 ? (size_t)n : 0};
	int ret = n > 0 ? proto_sha256(&part, 1, out) : -ENOMEM;

	OPENSSL_clear_free(der, part.n);
	return ret;
}

bool proto_has_crypto(void)
{
	return true;
}

#else /* built without it: every entry says so */

#define NOT_BUILT(...)                                       \
	do {                                                 \
		(void)sizeof((const void *[]){__VA_ARGS__}); \
		return -ENOTSUP;                             \
	} while (0)

int proto_sha1(const struct proto_part *parts, size_t n_parts, uint8_t out[PROTO_SHA1])
{
	(void)n_parts;
	NOT_BUILT(parts, out);
}

int proto_sha256(const struct proto_part *parts, size_t n_parts, uint8_t out[PROTO_SHA256])
{
	(void)n_parts;
	NOT_BUILT(parts, out);
}

int proto_hmac(const void *key, size_t n_key, const void *p, size_t n, uint8_t out[PROTO_SHA256])
{
	(void)n_key;
	(void)n;
	NOT_BUILT(key, p, out);
}

int proto_psk_mac(const char *psk, const struct proto_part *parts, size_t n_parts,
		  char hex[PROTO_MAC_HEX])
{
	(void)n_parts;
	hex[0] = 0;
	NOT_BUILT(psk, parts);
}

int proto_rsa_new(const void *pem, size_t n, bool private, struct proto_rsa **out,
		  struct weir_err *e)
{
	(void)pem;
	(void)n;
	(void)private;
	*out = NULL;
	err_set(e, WEIR_MISSING, ENOTSUP, "this weir was built without logins");
	return err_hint(e, "build it with libcrypto (-Dcrypto=enabled)");
}

void proto_rsa_free(struct proto_rsa *k)
{
	(void)k;
}

size_t proto_rsa_bytes(const struct proto_rsa *k)
{
	(void)k;
	return 0;
}

int proto_rsa_encrypt(const struct proto_rsa *k, bool pkcs1, const void *p, size_t n, uint8_t *out)
{
	(void)pkcs1;
	(void)n;
	NOT_BUILT(k, p, out);
}

int proto_rsa_raw(const struct proto_rsa *k, const uint8_t *in, uint8_t *out)
{
	NOT_BUILT(k, in, out);
}

int proto_rsa_secret(const struct proto_rsa *k, uint8_t out[PROTO_SHA256])
{
	NOT_BUILT(k, out);
}

bool proto_has_crypto(void)
{
	return false;
}
#endif

bool proto_psk_same(const char *a, const char *b, size_t n)
{
	volatile unsigned char diff = 0;

	for (size_t i = 0; i < n; i++)
		diff = diff | (unsigned char)(a[i] ^ b[i]);
	return diff == 0;
}
