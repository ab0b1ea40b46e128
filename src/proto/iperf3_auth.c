/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's login: name, password and time in one RSA block, base64 in the parameters. The server's
 * answer must not say what was wrong, neither in its bytes nor by its time: good and bad tokens of
 * every kind take the same steps, and all are answered on the same grid of time. Tests run in
 * processes of their own, so what they must know of each other (the turn for the next RSA
 * operation, the tokens that were used) is in one shared mapping.
 */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "proto/priv.h"

#define PER_SECOND 20 /* RSA operations of all tests together */
#define TURN_NS    (NSEC_PER_SEC / PER_SECOND)
#define QUEUE_NS   (5 * NSEC_PER_SEC)    /* who would wait longer is refused */
#define ANSWER_NS  (250 * NSEC_PER_MSEC) /* every answer comes a multiple of this after its turn */
#define LOCK_NS    NSEC_PER_SEC
#define SKEW_MAX_S 3600
#define USERS_MAX  100000
#define TEXT_MAX   256 /* of a name or a password */

/* Names are kept as digests too: all are compared in the same time. */
struct user {
	uint8_t name[PROTO_SHA256], hash[PROTO_SHA256];
};
struct used {
	uint8_t token[PROTO_SHA256];
	int64_t until_s;
};
struct shared {
	pthread_mutex_t lock;
	int64_t next_ns; /* the next turn */
	size_t n;
	struct used used[];
};
struct proto_login {
	struct proto_rsa *key;
	bool pkcs1;
	/* client */
	char *user, *password;
	/* server */
	uint8_t secret[PROTO_SHA256];
	struct user *users;
	size_t n_users, shared_bytes;
	int64_t skew_s;
	struct shared *shared;
};

/* ---- base64 ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void proto_base64(const uint8_t *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0U);

		buf_putc(out, letters[v >> 18]);
		buf_putc(out, letters[v >> 12 & 63]);
		buf_putc(out, left > 1 ? letters[v >> 6 & 63] : '=');
		buf_putc(out, left > 2 ? letters[v & 63] : '=');
	}
}

static int letter_value(char c)
{
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

ssize_t proto_unbase64(const char *s, uint8_t *out, size_t cap)
{
	size_t n = strlen(s), pad = 0, len = 0;

	while (pad < 2 && n > pad && s[n - 1 - pad] == '=')
		pad++;
	if (n % 4 || n / 4 * 3 > cap + pad)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 4) {
		uint32_t v = 0, bytes = i + 4 == n ? 3 - (uint32_t)pad : 3;

		for (uint32_t k = 0; k < 4; k++) {
			int x = k <= bytes ? letter_value(s[i + k]) : 0;

			if (x < 0)
				return -EINVAL;
			v = v << 6 | (uint32_t)x;
		}
		if (v & ((1U << (3 - bytes) * 8) - 1))
			return -EINVAL;
		for (uint32_t k = 0; k < bytes; k++)
			out[len++] = (uint8_t)(v >> (16 - 8 * k));
	}
	return (ssize_t)len;
}

/* ---- making one ---- */

static int hash_user(const char *name, struct user *u)
{
	struct proto_part part = {name, strlen(name)};

	return proto_sha256(&part, 1, u->name);
}

/* "{name}password" */
static int hash_password(const char *name, const char *password, struct user *u)
{
	struct proto_part parts[] = {
		{"{", 1}, {name, strlen(name)}, {"}", 1}, {password, strlen(password)}};
	int ret = hash_user(name, u);

	return ret < 0 ? ret : proto_sha256(parts, ARRAY_LEN(parts), u->hash);
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool read_hash(const char *s, size_t n, uint8_t hash[PROTO_SHA256])
{
	if (n != (size_t)2 * PROTO_SHA256)
		return false;
	for (size_t i = 0; i < PROTO_SHA256; i++) {
		int high = hex_value(s[2 * i]), low = hex_value(s[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		hash[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* "name,hash" */
static int read_user(struct proto_login *l, const char *line, size_t n, struct weir_err *e)
{
	const char *comma = memchr(line, ',', n);
	size_t n_name = comma ? (size_t)(comma - line) : 0;
	struct user *u = &l->users[l->n_users];
	char name[TEXT_MAX];

	if (!n_name || n_name >= sizeof(name) || !read_hash(comma + 1, n - n_name - 1, u->hash))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "not a name, a comma and 64 hexadecimal digits");
	memcpy(name, line, n_name);
	name[n_name] = '\0';
	l->n_users++;
	return hash_user(name, u);
}

static int read_users(struct proto_login *l, const char *text, struct weir_err *e)
{
	size_t lines = 1, number = 0;
	int ret = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	l->users = calloc(lines, sizeof(*l->users));
	if (!l->users || lines > USERS_MAX)
		return err_set(e, WEIR_LIMIT, EFBIG, "more than %d lines", USERS_MAX);
	for (const char *p = text; ret == 0 && *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t n = strcspn(p, "\n");

		number++;
		while (n && isspace((unsigned char)p[n - 1]))
			n--;
		if (!n || *p == '#')
			continue;
		ret = read_user(l, p, n, e);
		if (ret < 0)
			err_wrap(e, "line %zu", number);
	}
	if (ret == 0 && !l->n_users)
		return err_set(e, WEIR_USAGE, EINVAL, "no user is in it");
	return ret;
}

static int make_shared(struct proto_login *l, struct weir_err *e)
{
	size_t n = (size_t)PER_SECOND * (2 * (size_t)l->skew_s + 2);
	pthread_mutexattr_t a;
	void *p;

	l->shared_bytes = sizeof(*l->shared) + n * sizeof(l->shared->used[0]);
	p = mmap(NULL, l->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_os(e, errno, "memory for used logins");
	l->shared = p;
	l->shared->n = n;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&l->shared->lock, &a);
	pthread_mutexattr_destroy(&a);
	return 0;
}

static int make_server(struct proto_login *l, const struct proto_login_cfg *c, struct weir_err *e)
{
	int ret = proto_rsa_secret(l->key, l->secret);

	if (ret < 0)
		return err_os(e, -ret, "private key");
	l->skew_s = (c->skew_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC;
	if (l->skew_s < 0 || l->skew_s > SKEW_MAX_S)
		return err_set(e, WEIR_USAGE, ERANGE, "a clock skew of %lld s; 0 to %d s are taken",
			       (long long)l->skew_s, SKEW_MAX_S);
	ret = read_users(l, c->users, e);
	if (ret < 0)
		return err_wrap(e, "%s", c->users_name);
	return make_shared(l, e);
}

static bool one_word(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++) {
		if (isspace((unsigned char)s[i]))
			return false;
	}
	return n > 0 && n < TEXT_MAX;
}

static int make_client(struct proto_login *l, const struct proto_login_cfg *c, struct weir_err *e)
{
	if (!one_word(c->user) || !one_word(c->password))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "name and password of a login have 1 to %d characters and no spaces",
			       TEXT_MAX - 1);
	l->user = strdup(c->user);
	l->password = strdup(c->password);
	return l->user && l->password ? 0 : err_os(e, ENOMEM, "login");
}

int proto_login_new(const struct proto_login_cfg *c, struct proto_login **out, struct weir_err *e)
{
	bool server = c->users;
	struct proto_login *l = calloc(1, sizeof(*l));
	int ret;

	if (!l)
		return err_os(e, ENOMEM, "login");
	l->pkcs1 = c->pkcs1;
	ret = proto_rsa_new(c->key, strlen(c->key), server, &l->key, e);
	if (ret < 0)
		err_wrap(e, "%s", c->key_name);
	else
		ret = server ? make_server(l, c, e) : make_client(l, c, e);
	if (ret < 0) {
		proto_login_free(l);
		return ret;
	}
	*out = l;
	return 0;
}

static void free_secret(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

void proto_login_free(struct proto_login *l)
{
	if (!l)
		return;
	proto_rsa_free(l->key);
	free_secret(l->password);
	free(l->user);
	free(l->users);
	if (l->shared)
		munmap(l->shared, l->shared_bytes);
	explicit_bzero(l, sizeof(*l));
	free(l);
}

/* ---- the client's token ---- */

int iperf3_auth_token(const struct proto_login *l, int64_t now_s, struct buf *out,
		      struct weir_err *e)
{
	uint8_t block[PROTO_RSA_MAX];
	struct buf text = {0};
	int ret = -ENOMEM;

	buf_printf(&text, "user: %s\npwd:  %s\nts:   %lld", l->user, l->password, (long long)now_s);
	if (!text.failed)
		ret = proto_rsa_encrypt(l->key, l->pkcs1, text.data, text.len, block);
	if (ret == 0)
		proto_base64(block, proto_rsa_bytes(l->key), out);
	else
		err_set(e, WEIR_USAGE, EMSGSIZE,
			"name and password do not fit into one block of the key's %zu bytes",
			proto_rsa_bytes(l->key));
	if (text.data)
		explicit_bzero(text.data, text.len);
	buf_fini(&text);
	return ret;
}

/* ---- the server's judgement ---- */

static int lock(struct shared *s)
{
	int64_t until = clk_real_ns() + LOCK_NS;
	struct timespec ts = {until / NSEC_PER_SEC, until % NSEC_PER_SEC};
	int r = pthread_mutex_timedlock(&s->lock, &ts);

	if (r == EOWNERDEAD) /* a test that died: what is in there is whole at any time */
		r = pthread_mutex_consistent(&s->lock);
	return -r;
}

/* When this test may use the key; -EBUSY: too many are before it. */
static int64_t take_turn(struct shared *s)
{
	int64_t now = clk_mono_ns(), turn = -EBUSY;

	if (lock(s) < 0)
		return turn;
	if (s->next_ns - now < QUEUE_NS) {
		turn = s->next_ns > now ? s->next_ns : now;
		s->next_ns = turn + TURN_NS;
	}
	pthread_mutex_unlock(&s->lock);
	return turn;
}

/* True the first time. Only tokens of users come here: the rate bounds how many live at once. */
static bool first_use(struct shared *s, const uint8_t token[PROTO_SHA256], int64_t now_s,
		      int64_t until_s)
{
	struct used *room = NULL;
	bool first = true;

	if (lock(s) < 0)
		return false;
	for (size_t i = 0; first && i < s->n; i++) {
		struct used *u = &s->used[i];

		if (!memcmp(u->token, token, sizeof(u->token)))
			first = false;
		else if (u->until_s < now_s)
			room = u;
	}
	if (first && room) {
		memcpy(room->token, token, sizeof(room->token));
		room->until_s = until_s;
	}
	pthread_mutex_unlock(&s->lock);
	return first && room;
}

struct token {
	char user[TEXT_MAX], password[TEXT_MAX], time[24];
};

/* The next word; false when it is longer than any of ours. */
static bool next_word(struct rd *r, char *dst, size_t cap)
{
	size_t n = 0, len = 0;

	while (rd_left(r) && isspace(*r->p))
		r->p++;
	for (; rd_left(r) && !isspace(*r->p); r->p++, len++) {
		if (n + 1 < cap)
			dst[n++] = (char)*r->p;
	}
	dst[n] = '\0';
	return n == len;
}

/* "user: NAME", "pwd: PASSWORD", "ts: SECONDS" */
static bool read_token(const uint8_t *p, size_t n, struct token *t)
{
	struct rd r = rd_init(p, n);
	char user[8], pwd[8], ts[8];
	bool fits = true;

	fits &= next_word(&r, user, sizeof(user));
	fits &= next_word(&r, t->user, sizeof(t->user));
	fits &= next_word(&r, pwd, sizeof(pwd));
	fits &= next_word(&r, t->password, sizeof(t->password));
	fits &= next_word(&r, ts, sizeof(ts));
	fits &= next_word(&r, t->time, sizeof(t->time));
	fits &= !strcmp(user, "user:");
	fits &= !strcmp(pwd, "pwd:");
	fits &= !strcmp(ts, "ts:");
	return fits;
}

/* Both are compared whatever the first says: the time tells nothing. */
static bool same_user(const struct user *a, const struct user *b)
{
	int name = proto_psk_same((const char *)a->name, (const char *)b->name, sizeof(b->name));
	int hash = proto_psk_same((const char *)a->hash, (const char *)b->hash, sizeof(b->hash));

	return name & hash;
}

static bool known_user(const struct proto_login *l, const struct token *t)
{
	struct user u;
	bool known = false;

	if (hash_password(t->user, t->password, &u) < 0)
		return false;
	for (size_t i = 0; i < l->n_users; i++)
		known |= same_user(&l->users[i], &u);
	return known;
}

enum verdict { ADMITTED, TOO_MANY, UNREADABLE, UNKNOWN_USER, WRONG_TIME, USED_BEFORE };
/* For the operator's log; the peer gets one number for all. */
static const char *const verdicts[] = {
	[TOO_MANY] = "too many logins at once",
	[UNREADABLE] = "no token, or not made with this key and padding",
	[UNKNOWN_USER] = "unknown user or wrong password",
	[WRONG_TIME] = "its clock differs too much (--time-skew-threshold)",
	[USED_BEFORE] = "its token was used before",
};

static enum verdict weigh(const struct proto_login *l, bool whole, const uint8_t *cipher,
			  const struct token *t, bool readable, int64_t now_s)
{
	struct proto_part part = {(const char *)cipher, proto_rsa_bytes(l->key)};
	int64_t ts = strtoll(t->time, NULL, 10);
	bool in_time = ts >= now_s - l->skew_s && ts <= now_s + l->skew_s;
	bool known = known_user(l, t);
	uint8_t id[PROTO_SHA256];

	if (proto_sha256(&part, 1, id) < 0 || !(whole & readable))
		return UNREADABLE;
	if (!known)
		return UNKNOWN_USER;
	if (!in_time)
		return WRONG_TIME;
	return first_use(l->shared, id, now_s, ts + l->skew_s) ? ADMITTED : USED_BEFORE;
}

static enum verdict judge(const struct proto_login *l, const char *text)
{
	uint8_t cipher[PROTO_RSA_MAX + 4] = {0}, em[PROTO_RSA_MAX] = {0};
	size_t size = proto_rsa_bytes(l->key), len = 0;
	struct token t;
	enum verdict v;
	bool whole = proto_unbase64(text, cipher, sizeof(cipher)) == (ssize_t)size, readable;

	/* Without a block of the right size the steps are made with another one. */
	if (!whole) {
		memset(cipher, 0x5a, sizeof(cipher));
		cipher[0] = 0;
	}
	if (proto_rsa_raw(l->key, cipher, em) < 0 ||
	    proto_unpad(l->pkcs1, l->secret, cipher, em, size, &len) < 0)
		whole = false;
	readable = read_token(em, len, &t);
	v = weigh(l, whole, cipher, &t, readable, clk_real_ns() / NSEC_PER_SEC);
	explicit_bzero(em, sizeof(em));
	explicit_bzero(&t, sizeof(t));
	return v;
}

static void sleep_until(int64_t when_ns)
{
	while (clk_sleep_until(when_ns) == -EINTR)
		;
}

int iperf3_auth_check(const struct proto_login *l, const char *token, struct weir_err *e)
{
	int64_t turn = take_turn(l->shared), answer;
	enum verdict v = TOO_MANY;

	if (turn >= 0) {
		sleep_until(turn);
		v = judge(l, token);
	}
	answer = turn >= 0 ? turn : clk_mono_ns();
	while (answer <= clk_mono_ns() || answer == turn)
		answer += ANSWER_NS;
	sleep_until(answer);
	if (v == ADMITTED)
		return 0;
	return err_set(e, WEIR_PEER, EACCES, "login refused: %s", verdicts[v]);
}
