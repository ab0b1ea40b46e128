/* SPDX-License-Identifier: BSD-2-Clause */
/* One test at a time: who waits, in which order, for how long; who is denied; what --status says. */
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "serve_util.h"

#define LINE 512

static const struct serve_cfg exclusive = {.exclusive = true, .grace_ns = NSEC_PER_SEC};

/* Nothing was said to it, and it is not closed either. */
static void assert_silent(int fd)
{
	uint8_t b;

	assert_int_equal(recv(fd, &b, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* ---- asking ---- */

struct answer {
	char json[65536];
	size_t n;
};

static void on_answer(void *arg, const char *json, size_t n)
{
	struct answer *a = arg;

	assert_true(n < sizeof(a->json));
	memcpy(a->json, json, n);
	a->json[n] = '\0';
	a->n++;
}

static int64_t told(const char *json, const char *key)
{
	struct js_doc *doc = NULL;
	int64_t v = -1;

	assert_int_equal(js_parse(json, strlen(json), &js_limits_file, &doc, NULL), 0);
	assert_true(js_i64(js_get(js_root(doc), key), &v));
	js_free(doc);
	return v;
}

static int64_t asked(const char *dir, const char *key)
{
	struct answer a = {0};

	assert_int_equal(serve_status_ask(dir, on_answer, &a, NULL), 1);
	return told(a.json, key);
}

static void until_waiting(const char *dir, int64_t n)
{
	int64_t end = soon(10000);

	while (asked(dir, "waiting_now") != n) {
		assert_true(clk_mono_ns() < end);
		poll(NULL, 0, 5);
	}
}

/* A server that can be asked; its folder is the test's. */
static void start_asked(struct server *s, struct serve_cfg cfg, char dir[32])
{
	strcpy(dir, "/tmp/weir-turns-XXXXXX");
	assert_non_null(mkdtemp(dir));
	cfg.status_fd = serve_status_listen(dir, NULL);
	assert_true(cfg.status_fd > 2);
	server_start(s, &cfg);
	close(cfg.status_fd);
}

static void end_asked(struct server *s, const char *dir)
{
	assert_int_equal(server_stop(s), 0);
	serve_status_unlink(dir);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- turns ---- */

static void others_wait_in_order(void **state)
{
	struct server s;
	char dir[32], line[LINE];
	int ctl[4];

	(void)state;
	start_asked(&s, exclusive, dir);
	ctl[0] = client_test(&s, 1, 0);
	for (unsigned i = 1; i < 4; i++) {
		ctl[i] = client_cookie(&s, i + 1);
		until_waiting(dir, i);
	}
	for (int i = 0; i < 4; i++) {
		if (i) {
			uint8_t none = 0;

			assert_int_equal(get(ctl[i]), 0x09);
			put(ctl[i], &none, 1);
		}
		for (int k = i + 1; k < 4; k++)
			assert_silent(ctl[k]);
		put(ctl[i], "Q", 1);
		assert_string_equal(server_line(&s, line, sizeof(line)), "finished overlap=0\n");
		close(ctl[i]);
	}
	end_asked(&s, dir);
}

static void data_connections_do_not_wait(void **state)
{
	struct server s;
	char dir[32];
	int ctl, data, next;

	(void)state;
	start_asked(&s, exclusive, dir);
	ctl = client_test(&s, 1, 1);
	next = client_cookie(&s, 2);
	until_waiting(dir, 1);
	data = client_cookie(&s, 1);
	assert_int_equal(get(data), 0);
	assert_int_equal(get(ctl), 0x01);
	assert_int_equal(asked(dir, "tests_now"), 1);
	put(ctl, "Q", 1);
	assert_int_equal(get(next), 0x09);
	close(ctl);
	close(data);
	close(next);
	end_asked(&s, dir);
}

static void who_leaves_makes_room(void **state)
{
	struct serve_cfg cfg = exclusive;
	struct server s;
	char dir[32], line[LINE];
	int ctl, gone, third;

	(void)state;
	cfg.limits.queue = 1;
	start_asked(&s, cfg, dir);
	ctl = client_test(&s, 1, 0);
	gone = client_cookie(&s, 2);
	until_waiting(dir, 1);
	assert_refused(client_cookie(&s, 3));
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "1 clients wait already"));
	close(gone);
	until_waiting(dir, 0);
	third = client_cookie(&s, 4);
	until_waiting(dir, 1);
	put(ctl, "Q", 1);
	assert_int_equal(get(third), 0x09);
	close(ctl);
	close(third);
	end_asked(&s, dir);
}

static void waiting_has_a_bound(void **state)
{
	struct serve_cfg cfg = exclusive;
	struct server s;
	char dir[32], line[LINE];
	int64_t from;
	int ctl, fd;

	(void)state;
	cfg.limits.queue_ns = 300 * NSEC_PER_MSEC;
	start_asked(&s, cfg, dir);
	ctl = client_test(&s, 1, 0);
	from = clk_mono_ns();
	fd = client_cookie(&s, 2);
	assert_refused(fd);
	assert_true(clk_mono_ns() - from >= 290 * NSEC_PER_MSEC);
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "turn did not come in time"));
	close(ctl);
	end_asked(&s, dir);
}

static void a_stop_sends_them_away(void **state)
{
	struct server s;
	char dir[32];
	int ctl, fd;

	(void)state;
	start_asked(&s, exclusive, dir);
	ctl = client_test(&s, 1, 0);
	fd = client_cookie(&s, 2);
	until_waiting(dir, 1);
	assert_int_equal(write(s.stop, "x", 1), 1);
	assert_stopping(fd);
	put(ctl, "Q", 1);
	close(ctl);
	assert_int_equal(server_status(&s), 0);
	serve_status_unlink(dir);
	rmdir(dir);
}

static void one_network_cannot_take_the_queue(void **state)
{
	struct serve_cfg cfg = exclusive;
	struct server s;
	char dir[32], cookie[PROTO_COOKIE_LEN];
	int ctl, waits, other;

	(void)state;
	cfg.limits.per_prefix = 1;
	start_asked(&s, cfg, dir);
	ctl = client_test(&s, 1, 0);
	waits = client_cookie(&s, 2);
	until_waiting(dir, 1);
	assert_refused(client_cookie(&s, 3));
	other = client_from(&s, "127.0.0.2");
	cookie_of(cookie, 4);
	put(other, cookie, sizeof(cookie));
	until_waiting(dir, 2);
	close(waits);
	close(other);
	close(ctl);
	end_asked(&s, dir);
}

/* ---- who is never served ---- */

static void denied_comes_before_allowed(void **state)
{
	struct net_prefix deny, allow;
	struct serve_cfg cfg = {.grace_ns = NSEC_PER_SEC, .public_mode = true};
	struct server s;
	char cookie[PROTO_COOKIE_LEN], line[LINE];
	int fd;

	(void)state;
	assert_int_equal(net_prefix_parse("127.0.0.2/32", &deny, NULL), 0);
	assert_int_equal(net_prefix_parse("127.0.0.0/8", &allow, NULL), 0);
	cfg.deny = &deny;
	cfg.allow = &allow;
	cfg.n_deny = cfg.n_allow = 1;
	server_start(&s, &cfg);
	fd = client_from(&s, "127.0.0.2");
	cookie_of(cookie, 1);
	put(fd, cookie, sizeof(cookie));
	assert_denied(fd);
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "denied (--deny)"));
	fd = client_from(&s, "127.0.0.3");
	put(fd, cookie, sizeof(cookie));
	assert_int_equal(get(fd), 0x09);
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

/* ---- the socket ---- */

static void the_socket_is_its_owners(void **state)
{
	struct server s;
	char dir[32], path[96];
	struct stat st;
	int ctl;

	(void)state;
	start_asked(&s, (struct serve_cfg){.grace_ns = NSEC_PER_SEC}, dir);
	snprintf(path, sizeof(path), "%s/serve-%d.sock", dir, getpid());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(asked(dir, "tests_now"), 0);
	ctl = client_test(&s, 1, 2);
	assert_int_equal(asked(dir, "tests_now"), 1);
	assert_int_equal(asked(dir, "tests_at_once"), 64);
	close(ctl);
	end_asked(&s, dir);
}

/* The socket of a server that is no more. */
static int left_behind(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int r, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a));
	close(fd);
	return r;
}

static void folders_of_others_are_refused(void **state)
{
	char dir[] = "/tmp/weir-turns-XXXXXX", link[64];
	struct answer a = {0};
	struct weir_err e = {0};
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(serve_status_listen(dir, &e), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
	snprintf(link, sizeof(link), "%s-link", dir);
	assert_int_equal(symlink(dir, link), 0);
	assert_int_equal(serve_status_listen(link, &e), -EPERM);
	assert_int_equal(unlink(link), 0);
	/* What a dead server left is taken away. */
	fd = serve_status_listen(dir, &e);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(serve_status_ask(dir, on_answer, &a, &e), 0);
	snprintf(link, sizeof(link), "%s/serve-1.sock", dir);
	fd = serve_status_listen(dir, &e);
	assert_true(fd >= 0);
	close(fd);
	serve_status_unlink(dir);
	assert_int_equal(left_behind(link), 0);
	fd = serve_status_listen(dir, &e); /* and the next server takes it away too */
	assert_true(fd >= 0);
	assert_int_equal(access(link, F_OK), -1);
	close(fd);
	serve_status_unlink(dir);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(serve_status_ask(dir, on_answer, &a, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_wait_in_order),
		cmocka_unit_test(data_connections_do_not_wait),
		cmocka_unit_test(who_leaves_makes_room),
		cmocka_unit_test(waiting_has_a_bound),
		cmocka_unit_test(a_stop_sends_them_away),
		cmocka_unit_test(one_network_cannot_take_the_queue),
		cmocka_unit_test(denied_comes_before_allowed),
		cmocka_unit_test(the_socket_is_its_owners),
		cmocka_unit_test(folders_of_others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
