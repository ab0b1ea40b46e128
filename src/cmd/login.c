/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logins and secrets come from files, because a command line is everybody's to read. What was read
 * is wiped once it has become a key.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "sys/sys.h"

#define KEY_MAX    ((size_t)64 << 10)
#define USERS_MAX  ((size_t)16 << 20)
#define SECRET_MAX 256

/* Reserve before reading: a buffer that grows leaves copies behind. */
static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_fini(b);
}

static int read_whole(const char *option, const char *file, size_t max, struct buf *b,
		      struct weir_err *e)
{
	int rc = sys_read_file(file, max, b, e);

	if (rc >= 0 && (!b->len || strlen(b->data) != b->len))
		rc = err_set(e, WEIR_FORMAT, EINVAL, "%.160s: empty, or not text", file);
	return rc < 0 ? err_wrap(e, "--%s", option) : 0;
}

int cmd_read_secret(const char *file, char *dst, size_t cap, struct weir_err *e)
{
	struct buf b = {0};
	int rc = buf_reserve(&b, cap) ? sys_read_file(file, cap - 1, &b, e) : -ENOMEM;

	if (rc >= 0)
		snprintf(dst, cap, "%.*s", b.data ? (int)strcspn(b.data, "\r\n") : 0,
			 b.data ? b.data : "");
	wipe(&b);
	return rc < 0 ? rc : 0;
}

static int password_of(const struct cmd_login *c, char dst[SECRET_MAX], struct weir_err *e)
{
	const char *env = getenv("IPERF3_PASSWORD");
	int rc = 0;

	if (c->password_file) {
		rc = cmd_read_secret(c->password_file, dst, SECRET_MAX, e);
		if (rc < 0)
			err_wrap(e, "--password-file");
	} else if (env && strlen(env) >= SECRET_MAX) {
		rc = err_set(e, WEIR_USAGE, E2BIG, "IPERF3_PASSWORD: it has more than %d bytes",
			     SECRET_MAX - 1);
	} else if (env) {
		memcpy(dst, env, strlen(env) + 1);
	} else {
		err_set(e, WEIR_USAGE, EINVAL, "--username: no password");
		rc = err_hint(e, "--password-file FILE, or IPERF3_PASSWORD in the environment");
	}
	return rc;
}

int cmd_login_client(const struct cmd_login *c, struct proto_login **out, struct weir_err *e)
{
	struct proto_login_cfg cfg = {.pkcs1 = c->pkcs1, .key_name = c->key, .user = c->user};
	char password[SECRET_MAX] = "";
	struct buf key = {0};
	int rc;

	*out = NULL;
	if (!c->user && !c->key)
		return 0;
	if (!c->user || !c->key)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--username and --rsa-public-key-path belong together");
	rc = password_of(c, password, e);
	if (rc >= 0)
		rc = read_whole("rsa-public-key-path", c->key, KEY_MAX, &key, e);
	if (rc >= 0) {
		cfg.key = key.data;
		cfg.password = password;
		rc = proto_login_new(&cfg, out, e);
	}
	buf_fini(&key);
	explicit_bzero(password, sizeof(password));
	return rc;
}

int cmd_login_server(const char *key_file, const char *users_file, int64_t skew_ns, bool pkcs1,
		     struct proto_login **out, struct weir_err *e)
{
	struct proto_login_cfg cfg = {
		.pkcs1 = pkcs1, .key_name = key_file, .users_name = users_file, .skew_ns = skew_ns};
	struct buf key = {0}, users = {0};
	int rc;

	*out = NULL;
	if (!key_file && !users_file)
		return 0;
	if (!key_file || !users_file)
		return err_set(
			e, WEIR_USAGE, EINVAL,
			"--rsa-private-key-path and --authorized-users-path belong together");
	rc = buf_reserve(&key, KEY_MAX) ? 0 : err_os(e, ENOMEM, "private key");
	if (rc >= 0)
		rc = read_whole("rsa-private-key-path", key_file, KEY_MAX - 1, &key, e);
	if (rc >= 0)
		rc = read_whole("authorized-users-path", users_file, USERS_MAX, &users, e);
	if (rc >= 0) {
		cfg.key = key.data;
		cfg.users = users.data;
		rc = proto_login_new(&cfg, out, e);
	}
	wipe(&key);
	wipe(&users);
	return rc;
}
