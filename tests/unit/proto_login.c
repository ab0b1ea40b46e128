/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's login: what is read, what is refused, and that refusals are alike in words and in time.
 * Keys are made by openssl(1) in a folder of the test's own.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/priv.h"

static char *private_pem, *public_pem, *other_pem;

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 16384);

	assert_non_null(f);
	assert_true(fread(text, 1, 16383, f) > 100);
	fclose(f);
	return text;
}

static int make_keys(void **state)
{
	char dir[] = "/tmp/weir-login-XXXXXX", cmd[512], path[64];

	(void)state;
	if (!proto_has_crypto())
		return 0;
	assert_non_null(mkdtemp(dir));
	snprintf(cmd, sizeof(cmd),
		 "{ cd %s && openssl genrsa -out a.pem 2048 && "
		 "openssl rsa -in a.pem -pubout -out b.pem && "
		 "openssl genrsa 1024 | openssl rsa -pubout -out c.pem; } 2>/dev/null",
		 dir);
	if (system(cmd))
		return 0;
	snprintf(path, sizeof(path), "%s/a.pem", dir);
	private_pem = slurp(path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/b.pem", dir);
	public_pem = slurp(path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/c.pem", dir);
	other_pem = slurp(path);
	unlink(path);
	rmdir(dir);
	return 0;
}

static void need_keys(void)
{
	if (!private_pem) {
		print_message("skip: no libcrypto in this build, or no openssl(1)\n");
		skip();
	}
}

/* {mario}rossi and {luigi}verdi */
static const char users[] =
	"# who may measure\n"
	"\n"
	"mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\r\n"
	"luigi,0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF\n";

static int server_of(bool pkcs1, const char *text, int64_t skew_s, struct proto_login **l,
		     struct weir_err *e)
{
	struct proto_login_cfg c = {.pkcs1 = pkcs1,
				    .key = private_pem,
				    .key_name = "a.pem",
				    .users = text,
				    .users_name = "users",
				    .skew_ns = skew_s * NSEC_PER_SEC};

	return proto_login_new(&c, l, e);
}

static struct proto_login *server_new(bool pkcs1)
{
	struct proto_login *l = NULL;

	assert_int_equal(server_of(pkcs1, users, 10, &l, NULL), 0);
	return l;
}

/* The token of such a client, some seconds off; the caller frees. */
static char *token_of(const char *pem, bool pkcs1, const char *user, const char *password,
		      int64_t off_s)
{
	struct proto_login_cfg c = {.pkcs1 = pkcs1,
				    .key = pem,
				    .key_name = "b.pem",
				    .user = user,
				    .password = password};
	struct proto_login *l = NULL;
	struct buf b = {0};

	assert_int_equal(proto_login_new(&c, &l, NULL), 0);
	assert_int_equal(iperf3_auth_token(l, clk_real_ns() / NSEC_PER_SEC + off_s, &b, NULL), 0);
	proto_login_free(l);
	return buf_take(&b);
}

/* ---- base64 ---- */

static void base64_is_rfc_4648s(void **state)
{
	static const struct {
		const char *plain, *coded;
	} rows[] = {{"", ""},
		    {"f", "Zg=="},
		    {"fo", "Zm8="},
		    {"foo", "Zm9v"},
		    {"foob", "Zm9vYg=="},
		    {"fooba", "Zm9vYmE="},
		    {"foobar", "Zm9vYmFy"}};
	static const char *const bad[] = {
		"Z",      "Zg",   "Zg=",  "Zg==Zg==", "Zh==",        "Zm9=",
		"Zm9v\n", "====", "Z===", "Zm9*",     "Zm9vYmFyYmF6"};
	uint8_t out[6];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = {0};
		size_t n = strlen(rows[i].plain);

		proto_base64((const uint8_t *)rows[i].plain, n, &b);
		assert_string_equal(b.data ? b.data : "", rows[i].coded);
		assert_int_equal(proto_unbase64(rows[i].coded, out, sizeof(out)), n);
		assert_memory_equal(out, rows[i].plain, n);
		buf_fini(&b);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(proto_unbase64(bad[i], out, sizeof(out)), -EINVAL);
}

/* ---- padding ---- */

static const uint8_t secret[PROTO_SHA256] = "a secret";

/* What libcrypto pads is found; length and place do not matter. */
static void padding_of_every_length(void **state)
{
	struct proto_rsa *pub = NULL, *priv = NULL;
	uint8_t cipher[256], em[256], text[256];

	(void)state;
	need_keys();
	assert_int_equal(proto_rsa_new(public_pem, strlen(public_pem), false, &pub, NULL), 0);
	assert_int_equal(proto_rsa_new(private_pem, strlen(private_pem), true, &priv, NULL), 0);
	for (int pkcs1 = 0; pkcs1 < 2; pkcs1++) {
		size_t most = pkcs1 ? 256 - 11 : 256 - 42;

		for (size_t n = 0; n <= most; n += n < 4 || n + 8 > most ? 1 : 7) {
			size_t len = 0;

			memset(text, (int)(n & 1),
			       sizeof(text)); /* zeros and ones: both mark ends */
			assert_int_equal(proto_rsa_encrypt(pub, pkcs1, text, n, cipher), 0);
			assert_int_equal(proto_rsa_raw(priv, cipher, em), 0);
			assert_int_equal(proto_unpad(pkcs1, secret, cipher, em, 256, &len), 0);
			assert_int_equal(len, n);
			assert_memory_equal(em, text, n);
		}
		assert_int_equal(proto_rsa_encrypt(pub, pkcs1, text, most + 1, cipher), -EINVAL);
	}
	proto_rsa_free(pub);
	proto_rsa_free(priv);
}

static void pkcs1_block(uint8_t em[256])
{
	memset(em, 0xaa, 256);
	em[0] = 0;
	em[1] = 2;
	em[200] = 0;
}

/* Wrong padding is no error: another message, the same one for the same ciphertext. */
static void wrong_padding_is_another_message(void **state)
{
	uint8_t cipher[256], em[5][256];
	size_t len[5];

	(void)state;
	if (!proto_has_crypto())
		skip(); /* needs libcrypto */
	memset(cipher, 7, sizeof(cipher));
	for (int i = 0; i < 5; i++)
		pkcs1_block(em[i]);
	em[1][0] = 1;
	em[2][1] = 1;
	em[3][200] = 0xaa; /* no end */
	em[4][9] = 0;      /* seven bytes of padding */
	for (int i = 0; i < 5; i++)
		assert_int_equal(proto_unpad(true, secret, cipher, em[i], 256, &len[i]), 0);
	assert_int_equal(len[0], 55);
	assert_int_equal(em[0][0], 0xaa);
	for (int i = 2; i < 5; i++) {
		assert_int_equal(len[i], len[1]);
		assert_memory_equal(em[i], em[1], len[1]);
	}
	assert_in_range(len[1], 256 - 11 - 31, 256 - 11);
	pkcs1_block(em[1]);
	em[1][0] = 1;
	cipher[0] = 8;
	assert_int_equal(proto_unpad(true, secret, cipher, em[1], 256, &len[1]), 0);
	assert_true(len[1] != len[2] || memcmp(em[1], em[2], len[1]) != 0);
	assert_int_equal(proto_unpad(true, secret, cipher, em[1], 2000, &len[1]), -EINVAL);
}

/* Every single byte of an OAEP block matters. */
static void oaep_is_checked_everywhere(void **state)
{
	struct proto_rsa *pub = NULL, *priv = NULL;
	uint8_t cipher[256], em[256], spoilt[256];
	size_t len;

	(void)state;
	need_keys();
	assert_int_equal(proto_rsa_new(public_pem, strlen(public_pem), false, &pub, NULL), 0);
	assert_int_equal(proto_rsa_new(private_pem, strlen(private_pem), true, &priv, NULL), 0);
	assert_int_equal(proto_rsa_encrypt(pub, false, "hello", 5, cipher), 0);
	assert_int_equal(proto_rsa_raw(priv, cipher, em), 0);
	for (size_t i = 0; i < 256 - 5; i++) { /* the last five are the message */
		memcpy(spoilt, em, sizeof(em));
		spoilt[i] ^= 1;
		assert_int_equal(proto_unpad(false, secret, cipher, spoilt, 256, &len), 0);
		assert_true(len != 5 || memcmp(spoilt, "hello", 5) != 0);
	}
	proto_rsa_free(pub);
	proto_rsa_free(priv);
}

/* ---- files ---- */

static void keys_that_are_none(void **state)
{
	static const char garbage[] = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n";
	struct proto_login_cfg c = {
		.key = garbage, .key_name = "the-key", .user = "u", .password = "p"};
	struct proto_login *l = NULL;
	struct weir_err e = {0};

	(void)state;
	need_keys();
	assert_true(proto_login_new(&c, &l, &e) < 0);
	assert_non_null(strstr(e.msg, "the-key: not an RSA public key"));
	c.key = private_pem; /* a client has no use for it */
	assert_true(proto_login_new(&c, &l, &e) < 0);
	c.key = public_pem;
	c.password = "two words";
	assert_true(proto_login_new(&c, &l, &e) < 0);
	assert_null(strstr(e.msg, "two words"));
}

static void users_files_are_read_strictly(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "no user"},
		{"# only a comment\n", "no user"},
		{"a,b\n", "users: line 1"},
		{"# x\n\n,0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "line 3"},
		{"mario 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "line 1"},
		{"mario,0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeg",
		 "line 1"},
		{"mario,0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00",
		 "line 1"},
	};

	(void)state;
	need_keys();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct proto_login *l = NULL;
		struct weir_err e = {0};

		assert_true(server_of(false, rows[i].text, 10, &l, &e) < 0);
		assert_non_null(strstr(e.msg, rows[i].says));
		assert_null(l);
	}
}

/* ---- who is admitted ---- */

static void assert_refused(const struct proto_login *l, const char *token, const char *says)
{
	struct weir_err e = {0};

	assert_int_equal(iperf3_auth_check(l, token, &e), -EACCES);
	assert_non_null(strstr(e.msg, says));
}

static void one_padding(bool pkcs1)
{
	struct proto_login *l = server_new(pkcs1);
	char *t = token_of(public_pem, pkcs1, "mario", "rossi", 0), *bad;

	assert_int_equal(iperf3_auth_check(l, t, NULL), 0);
	assert_refused(l, t, "used before");
	t[strlen(t) / 2] = t[strlen(t) / 2] == 'A' ? 'B' : 'A';
	assert_refused(l, t, "no token");
	free(t);
	/* The other padding is never tried. */
	bad = token_of(public_pem, !pkcs1, "mario", "rossi", 0);
	assert_refused(l, bad, "no token");
	free(bad);
	bad = token_of(public_pem, pkcs1, "mario", "verdi", 0);
	assert_refused(l, bad, "unknown user or wrong password");
	free(bad);
	bad = token_of(public_pem, pkcs1, "maria", "rossi", 0);
	assert_refused(l, bad, "unknown user or wrong password");
	free(bad);
	proto_login_free(l);
}

static void tokens_of_both_paddings(void **state)
{
	(void)state;
	need_keys();
	one_padding(false);
	one_padding(true);
}

static void clocks_may_differ_a_little(void **state)
{
	static const struct {
		int64_t off;
		bool good;
	} rows[] = {{-8, true}, {8, true}, {-12, false}, {12, false}};
	struct proto_login *l;

	(void)state;
	need_keys();
	l = server_new(false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *t = token_of(public_pem, false, "mario", "rossi", rows[i].off);

		if (rows[i].good)
			assert_int_equal(iperf3_auth_check(l, t, NULL), 0);
		else
			assert_refused(l, t, "its clock differs");
		free(t);
	}
	proto_login_free(l);
}

static void no_token_is_no_login(void **state)
{
	char *other;
	struct proto_login *l;

	(void)state;
	need_keys();
	l = server_new(false);
	other = token_of(other_pem, false, "mario", "rossi", 0);
	assert_refused(l, "", "no token");
	assert_refused(l, "*", "no token");
	assert_refused(l, other, "no token");
	free(other);
	proto_login_free(l);
}

/* A test is a process: what one used, another knows; and one that dies in between harms nobody. */
static void children_know_of_each_other(void **state)
{
	struct proto_login *l;
	char *t;
	int status, admitted = 0;
	pid_t pid[4];

	(void)state;
	need_keys();
	l = server_new(false);
	t = token_of(public_pem, false, "mario", "rossi", 0);
	for (size_t i = 0; i < ARRAY_LEN(pid); i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			_exit(iperf3_auth_check(l, t, NULL) == 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(pid); i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		admitted += WEXITSTATUS(status);
	}
	assert_int_equal(admitted, 1);
	free(t);
	proto_login_free(l);
}

/* Twenty a second over all processes. */
static void the_key_is_used_seldom(void **state)
{
	enum { ALL = 60 };
	struct proto_login *l;
	int64_t from = clk_mono_ns();

	(void)state;
	need_keys();
	l = server_new(false);
	for (int i = 0; i < ALL; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(iperf3_auth_check(l, "", NULL) == -EACCES);
	}
	for (int i = 0; i < ALL; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(WEXITSTATUS(status), 1);
	}
	assert_true(clk_mono_ns() - from >= (ALL - 1) * NSEC_PER_SEC / 20);
	proto_login_free(l);
}

/* ---- time ---- */

struct series {
	double n, mean, m2;
};

static void add(struct series *s, double x)
{
	double d = x - s->mean;

	s->n++;
	s->mean += d / s->n;
	s->m2 += d * (x - s->mean);
}

static double welch(const struct series *a, const struct series *b)
{
	double v = a->m2 / (a->n - 1) / a->n + b->m2 / (b->n - 1) / b->n;

	return v > 0 ? (a->mean - b->mean) / sqrt(v) : 0;
}

enum { KINDS = 5 }; /* good, bad padding, bad user, bad password, bad time */
struct sample {
	int kind;
	double ns;
};

/* Turn by turn, so that what else the machine does falls on all kinds alike. */
static int take_samples(const struct proto_login *l, int rounds, int out)
{
	for (int i = 0; i < rounds * KINDS; i++) {
		struct sample s = {.kind = i % KINDS};
		char *t = token_of(public_pem, s.kind == 1, s.kind == 2 ? "peach" : "mario",
				   s.kind == 3 ? "verdi" : "rossi", s.kind == 4 ? 1000 : 0);
		int64_t from = clk_mono_ns();
		int r = iperf3_auth_check(l, t, NULL);

		s.ns = (double)(clk_mono_ns() - from);
		free(t);
		if (r != (s.kind ? -EACCES : 0) || write(out, &s, sizeof(s)) != sizeof(s))
			return 1;
	}
	return 0;
}

static void the_time_tells_nothing(void **state)
{
	enum { WORKERS = 4 };
	const char *all = getenv("WEIR_CHECK_ALL");
	int rounds = all && !strcmp(all, "1") ? 25 : 1, pipes[2], status;
	struct series s[KINDS] = {0};
	struct proto_login *l;
	struct sample got;

	(void)state;
	need_keys();
	l = server_new(false);
	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < WORKERS; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(take_samples(l, rounds, pipes[1]));
	}
	close(pipes[1]);
	while (read(pipes[0], &got, sizeof(got)) == sizeof(got))
		add(&s[got.kind], got.ns);
	close(pipes[0]);
	for (int i = 0; i < WORKERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < KINDS; i++) {
		assert_int_equal((int)s[i].n, WORKERS * rounds);
		assert_true(s[i].mean >= 0.19e9);
		for (int k = 0; k < i && rounds >= 25; k++) {
			print_message("|t| of kinds %d and %d: %.2f\n", i, k,
				      fabs(welch(&s[i], &s[k])));
			assert_true(fabs(welch(&s[i], &s[k])) < 4.5);
		}
	}
	proto_login_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_is_rfc_4648s),
		cmocka_unit_test(padding_of_every_length),
		cmocka_unit_test(wrong_padding_is_another_message),
		cmocka_unit_test(oaep_is_checked_everywhere),
		cmocka_unit_test(keys_that_are_none),
		cmocka_unit_test(users_files_are_read_strictly),
		cmocka_unit_test(tokens_of_both_paddings),
		cmocka_unit_test(clocks_may_differ_a_little),
		cmocka_unit_test(no_token_is_no_login),
		cmocka_unit_test(children_know_of_each_other),
		cmocka_unit_test(the_key_is_used_seldom),
		cmocka_unit_test(the_time_tells_nothing),
	};

	return cmocka_run_group_tests(tests, make_keys, NULL);
}
