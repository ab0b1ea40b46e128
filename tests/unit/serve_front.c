/* SPDX-License-Identifier: BSD-2-Clause */
/* The front's states, seen from outside: who becomes a test, whose data goes where, who hears `ff`. */
#include <stdarg.h>
#include <stddef.h>

#include "serve_util.h"

#define LINE 512

static const struct serve_cfg plain = {.grace_ns = 5 * NSEC_PER_SEC};

static void end_test(int ctl)
{
	uint8_t b = 0x01; /* that it began may not have been read */
	int r;

	put(ctl, "Q", 1);
	while ((r = net_read_full(ctl, &b, 1, soon(10000), -1)) == 0)
		assert_int_equal(b, 0x01);
	assert_int_equal(r, -EPIPE);
	close(ctl);
}

static void a_test_runs_and_is_logged(void **state)
{
	struct server s;
	char line[LINE];
	int ctl, data[3];

	(void)state;
	server_start(&s, &plain);
	ctl = client_test(&s, 1, 3);
	for (int i = 0; i < 3; i++)
		data[i] = client_cookie(&s, 1);
	assert_int_equal(get(ctl), 0x01);
	for (int i = 0; i < 3; i++)
		assert_int_equal(get(data[i]), i);
	end_test(ctl);
	for (int i = 0; i < 3; i++)
		close(data[i]);
	assert_string_equal(server_line(&s, line, sizeof(line)), "finished overlap=0\n");
	assert_int_equal(server_stop(&s), 0);
}

static void roles_follow_accept_order(void **state)
{
	struct server s;
	char cookie[PROTO_COOKIE_LEN];
	int ctl, data[4];

	(void)state;
	server_start(&s, &plain);
	ctl = client_test(&s, 1, 4);
	cookie_of(cookie, 1);
	for (int i = 0; i < 4; i++)
		data[i] = client_from(&s, NULL);
	for (int i = 4; i--;)
		put(data[i], cookie, sizeof(cookie)); /* complete in the opposite order */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(get(data[i]), i);
		close(data[i]);
	}
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

static void a_cookie_comes_in_single_bytes(void **state)
{
	struct server s;
	char cookie[PROTO_COOKIE_LEN];
	int on = 1, fd;

	(void)state;
	server_start(&s, &plain);
	fd = client_from(&s, NULL);
	setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof(on));
	cookie_of(cookie, 7);
	for (size_t i = 0; i < sizeof(cookie); i++)
		put(fd, cookie + i, 1);
	assert_int_equal(get(fd), 0x09);
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

static void bytes_behind_the_cookie_are_the_childs(void **state)
{
	struct server s;
	char text[PROTO_COOKIE_LEN + 2];
	int fd;

	(void)state;
	server_start(&s, &plain);
	fd = client_from(&s, NULL);
	cookie_of(text, 7);
	text[PROTO_COOKIE_LEN] = 0; /* no streams */
	text[PROTO_COOKIE_LEN + 1] = 'Q';
	put(fd, text, sizeof(text));
	assert_int_equal(get(fd), 0x09);
	assert_eof(fd);
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

static void silence_ends_at_the_deadline(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	char cookie[PROTO_COOKIE_LEN];
	int64_t from;
	int fd;

	(void)state;
	cfg.limits.pending_ns = 300 * NSEC_PER_MSEC;
	server_start(&s, &cfg);
	from = clk_mono_ns();
	fd = client_from(&s, NULL);
	cookie_of(cookie, 7);
	put(fd, cookie, sizeof(cookie) - 1);
	assert_eof(fd);
	assert_in_range((uintmax_t)(clk_mono_ns() - from) / 1000000, 250, 3000);
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

/* With one test at once, what is no data connection of it can only be refused. */
static void a_wrong_cookie_takes_no_slot(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	int ctl, data;

	(void)state;
	cfg.limits.tests = 1;
	server_start(&s, &cfg);
	ctl = client_test(&s, 1, 1);
	assert_refused(client_cookie(&s, 2));
	data = client_cookie(&s, 1);
	assert_int_equal(get(data), 0);
	close(data);
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

static void too_many_data_connections(void **state)
{
	struct server s;
	int ctl, data;

	(void)state;
	server_start(&s, &plain);
	ctl = client_test(&s, 1, 1);
	data = client_cookie(&s, 1);
	assert_int_equal(get(data), 0);
	assert_refused(client_cookie(&s, 1));
	close(data);
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

static void data_before_streams_are_created(void **state)
{
	struct server s;
	uint8_t n = 1;
	int ctl, data;

	(void)state;
	server_start(&s, &plain);
	ctl = client_cookie(&s, 1);
	assert_int_equal(get(ctl), 0x09);
	assert_refused(client_cookie(&s, 1));
	put(ctl, &n, 1); /* and the test is none the worse */
	assert_int_equal(get(ctl), 0x0a);
	data = client_cookie(&s, 1);
	assert_int_equal(get(data), 0);
	close(data);
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

/* What is unread when a socket is closed makes a reset, and a reset destroys the `ff`. */
static void a_refusal_survives_unread_bytes(void **state)
{
	struct server s;
	char garbage[20000];
	int fd;

	(void)state;
	server_start(&s, &plain);
	memset(garbage, 0, sizeof(garbage));
	fd = client_from(&s, NULL);
	put(fd, garbage, sizeof(garbage));
	assert_refused(fd);
	fd = client_from(&s, NULL);
	put(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
	assert_refused(fd);
	assert_int_equal(server_stop(&s), 0);
}

static void a_dead_child_is_logged(void **state)
{
	struct server s;
	char line[LINE];
	int ctl;

	(void)state;
	server_start(&s, &plain);
	ctl = client_test(&s, 1, 0);
	put(ctl, "S", 1);
	server_line(&s, line, sizeof(line));
	assert_non_null(strstr(line, "127.0.0.1:"));
	assert_non_null(strstr(line, "iperf3 failed: its process died: signal 11"));
	close(ctl);
	ctl = client_test(&s, 1, 0);
	put(ctl, "B", 1); /* a line with an escape sequence is not printed */
	server_line(&s, line, sizeof(line));
	assert_non_null(strstr(line, "its process ended without a result"));
	assert_null(strchr(line, 0x1b));
	close(ctl);
	assert_int_equal(server_stop(&s), 0);
}

static void a_dead_childs_line_is_json(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	struct js_doc *doc;
	char line[LINE];
	int64_t port = 0;
	int ctl;

	(void)state;
	cfg.log_json = true;
	server_start(&s, &cfg);
	ctl = client_test(&s, 1, 0);
	put(ctl, "S", 1);
	server_line(&s, line, sizeof(line));
	assert_int_equal(js_parse(line, strlen(line), &js_limits_file, &doc, NULL), 0);
	assert_string_equal(js_str(js_get(js_root(doc), "peer"), NULL), "127.0.0.1");
	assert_string_equal(js_str(js_get(js_root(doc), "outcome"), NULL), "failed");
	assert_true(js_i64(js_get(js_root(doc), "port"), &port) && port > 0);
	js_free(doc);
	close(ctl);
	assert_int_equal(server_stop(&s), 0);
}

/* Which protocol took a native cookie is told by the line of its dead child. */
static void assert_native_cookie_is(bool public_mode, const char *protocol)
{
	struct serve_cfg cfg = plain;
	struct server s;
	char cookie[PROTO_COOKIE_LEN], line[LINE];
	int fd;

	cfg.public_mode = public_mode;
	server_start(&s, &cfg);
	fd = client_from(&s, NULL);
	proto_cookie_new(cookie);
	put(fd, cookie, sizeof(cookie));
	assert_int_equal(get(fd), 0x09);
	put(fd, "\0S", 2);
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), protocol));
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

static void the_public_is_served_as_iperf3(void **state)
{
	(void)state;
	assert_native_cookie_is(false, " weir failed");
	assert_native_cookie_is(true, " iperf3 failed");
}

static void tests_that_ran_together_know_it(void **state)
{
	struct server s;
	char line[LINE];
	int ctl[3], data[3];

	(void)state;
	server_start(&s, &plain);
	for (unsigned i = 0; i < 2; i++) {
		ctl[i] = client_test(&s, i + 1, 1);
		data[i] = client_cookie(&s, i + 1);
		assert_int_equal(get(data[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		end_test(ctl[i]);
		close(data[i]);
		assert_string_equal(server_line(&s, line, sizeof(line)), "finished overlap=1\n");
	}
	ctl[2] = client_test(&s, 3, 1);
	data[2] = client_cookie(&s, 3);
	assert_int_equal(get(data[2]), 0);
	end_test(ctl[2]);
	close(data[2]);
	assert_string_equal(server_line(&s, line, sizeof(line)), "finished overlap=0\n");
	assert_int_equal(server_stop(&s), 0);
}

static void limits_are_kept(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	char line[LINE];
	int ctl[2];

	(void)state;
	cfg.limits.tests = 3;
	cfg.limits.per_prefix = 2;
	server_start(&s, &cfg);
	ctl[0] = client_test(&s, 1, 0);
	ctl[1] = client_test(&s, 2, 0);
	assert_refused(client_cookie(&s, 3));
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "2 tests at once of one net"));
	end_test(ctl[0]);
	assert_string_equal(server_line(&s, line, sizeof(line)), "finished overlap=0\n");
	ctl[0] = client_test(&s, 3, 0);
	end_test(ctl[0]);
	end_test(ctl[1]);
	assert_int_equal(server_stop(&s), 0);
}

static void one_off_ends_after_a_real_test(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	int ctl, data, fd;

	(void)state;
	cfg.one_off = true;
	server_start(&s, &cfg);
	fd = client_from(&s, NULL);
	put(fd, "SSH-2.0-x\r\n", 11);
	assert_refused(fd);
	end_test(client_test(&s, 1, 0)); /* admitted, but nothing ran */
	ctl = client_test(&s, 2, 1);
	data = client_cookie(&s, 2);
	assert_int_equal(get(data), 0);
	end_test(ctl);
	close(data);
	assert_int_equal(server_status(&s), 0);
}

static void a_stop_waits_for_tests(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	char line[LINE];
	int ctl, data;

	(void)state;
	cfg.grace_ns = 60 * NSEC_PER_SEC;
	server_start(&s, &cfg);
	ctl = client_test(&s, 1, 1);
	assert_int_equal(write(s.stop, "x", 1), 1);
	assert_stopping(client_cookie(&s, 2)); /* nothing new, but what was promised */
	data = client_cookie(&s, 1);
	assert_int_equal(get(data), 0);
	end_test(ctl);
	close(data);
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "refused"));
	assert_string_equal(server_line(&s, line, sizeof(line)), "finished overlap=0\n");
	assert_int_equal(server_status(&s), 0);
}

static void a_stop_has_a_bound(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	char line[LINE];
	int64_t from;
	int ctl;

	(void)state;
	cfg.grace_ns = 100 * NSEC_PER_MSEC;
	server_start(&s, &cfg);
	ctl = client_test(&s, 1, 0);
	from = clk_mono_ns();
	assert_int_equal(write(s.stop, "x", 1), 1);
	assert_string_equal(server_line(&s, line, sizeof(line)), "stopped overlap=0\n");
	assert_int_equal(server_status(&s), 0);
	assert_in_range((uintmax_t)(clk_mono_ns() - from) / 1000000, 100, 3000);
	assert_eof(ctl);
	close(ctl);
}

static void a_lost_descriptor_limit_pauses_only(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	struct rlimit old, low;
	int fds[64], ctl = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = (struct rlimit){40, old.rlim_max};
	cfg.limits.pending_ns = 500 * NSEC_PER_MSEC;
	server_start(&s, &cfg);
	assert_int_equal(prlimit(s.pid, RLIMIT_NOFILE, &low, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = client_from(&s, NULL);
	/* The silent ones pass away, and the next is served. */
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		uint8_t b;
		int r = net_read_full(fds[i], &b, 1, soon(10000), -1);

		assert_true(r == -EPIPE || (r == 0 && b == 0xff) || r == -ECONNRESET);
		close(fds[i]);
	}
	ctl = client_test(&s, 1, 0);
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

/* A flood from one address: the newcomer from another has its place, whoever is older. */
static void a_flood_pays_for_itself(void **state)
{
	struct serve_cfg cfg = plain;
	struct server s;
	char cookie[PROTO_COOKIE_LEN];
	int flood[64], other;

	(void)state;
	cfg.limits.pending = 16;
	server_start(&s, &cfg);
	other = client_from(&s, "127.0.0.2");
	for (size_t i = 0; i < ARRAY_LEN(flood); i++)
		flood[i] = client_from(&s, "127.0.0.3");
	/* The oldest of the flood were put out, by the flood. */
	for (size_t i = 0; i < ARRAY_LEN(flood) - 15; i++)
		assert_eof(flood[i]);
	cookie_of(cookie, 1);
	put(other, cookie, sizeof(cookie));
	assert_int_equal(get(other), 0x09);
	for (size_t i = 0; i < ARRAY_LEN(flood); i++)
		close(flood[i]);
	close(other);
	assert_int_equal(server_stop(&s), 0);
}

static void many_data_connections_fill_the_channel(void **state)
{
	enum { N = 250 };
	struct server s;
	uint8_t n = N;
	int ctl, data[N];

	(void)state;
	server_start(&s, &plain);
	ctl = client_cookie(&s, 1);
	assert_int_equal(get(ctl), 0x09);
	put(ctl, &n, 1);
	assert_int_equal(get(ctl), 0x0a);
	for (int i = 0; i < N; i++)
		data[i] = client_cookie(&s, 1);
	assert_int_equal(get(ctl), 0x01);
	for (int i = 0; i < N; i++) {
		assert_int_equal(get(data[i]), i);
		close(data[i]);
	}
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_test_runs_and_is_logged),
		cmocka_unit_test(roles_follow_accept_order),
		cmocka_unit_test(a_cookie_comes_in_single_bytes),
		cmocka_unit_test(bytes_behind_the_cookie_are_the_childs),
		cmocka_unit_test(silence_ends_at_the_deadline),
		cmocka_unit_test(a_wrong_cookie_takes_no_slot),
		cmocka_unit_test(too_many_data_connections),
		cmocka_unit_test(data_before_streams_are_created),
		cmocka_unit_test(a_refusal_survives_unread_bytes),
		cmocka_unit_test(a_dead_child_is_logged),
		cmocka_unit_test(a_dead_childs_line_is_json),
		cmocka_unit_test(the_public_is_served_as_iperf3),
		cmocka_unit_test(tests_that_ran_together_know_it),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(one_off_ends_after_a_real_test),
		cmocka_unit_test(a_stop_waits_for_tests),
		cmocka_unit_test(a_stop_has_a_bound),
		cmocka_unit_test(a_lost_descriptor_limit_pauses_only),
		cmocka_unit_test(a_flood_pays_for_itself),
		cmocka_unit_test(many_data_connections_fill_the_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
