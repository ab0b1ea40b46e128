/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's door with real sessions behind it: a burst that comes before the flow has a socket is
 * counted whole, and nothing that a stranger sends makes the server send more, or call anybody.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "serve_util.h"

static const struct serve_cfg local = {.facts = "{}"};

static struct sockaddr_in at(const struct server *s)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(s->port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int open_to(const struct server *s, int type)
{
	struct sockaddr_in a = at(s);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void start(struct server *s)
{
	struct serve_cfg cfg = local;
	char line[SERVE_LINE_MAX];
	int fd;

	cfg.only = proto_find("iperf2");
	server_start_body(s, &cfg, serve_child_body);
	fd = open_to(s, SOCK_STREAM); /* once that is served, UDP is, too */
	assert_int_equal(send(fd, "x", 1, 0), 1);
	close(fd);
	assert_non_null(strstr(server_line(s, line, sizeof(line)), "stream done"));
}

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* 2.1.8's words from 16 on, or 2.0.5's from 12 on. */
static void put_words(uint8_t *p, size_t at, const uint32_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put32(p + at + 4 * i, w[i]);
}

#define DGRAM 200

static void put_number(uint8_t p[DGRAM], bool newer, int64_t number)
{
	static const uint32_t old[] = {0, 1, 5001, 0, 1 << 20, 0xffffff9c};
	static const uint32_t wide[] = {0x48010098, 1, 5001, 0, 0, 0xffffff9c};

	memset(p, 0, DGRAM);
	put32(p, (uint32_t)number);
	put32(p + 4, (uint32_t)(number & 0xffff));
	if (newer)
		put32(p + 12, (uint32_t)((uint64_t)number >> 32));
	put_words(p, newer ? 16 : 12, newer ? wide : old, 6);
}

/* Sends the end until it is answered, so many times. */
static ssize_t asked(int fd, bool newer, int64_t number, uint8_t *got, size_t cap, int times)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t end[DGRAM];
	ssize_t n = -1;

	put_number(end, newer, -number);
	for (int i = 0; i < times && n < 0; i++) {
		assert_int_equal(send(fd, end, sizeof(end), 0), sizeof(end));
		if (poll(&p, 1, 250) == 1)
			n = recv(fd, got, cap, MSG_DONTWAIT);
	}
	return n;
}

static ssize_t answered(int fd, bool newer, int64_t number, uint8_t *got, size_t cap)
{
	return asked(fd, newer, number, got, cap, 40);
}

static void a_burst_is_counted_whole(void **state)
{
	char line[SERVE_LINE_MAX];
	struct iperf2_report r;
	struct server s;

	(void)state;
	start(&s);
	for (int newer = 0; newer < 2; newer++) {
		int fd = open_to(&s, SOCK_DGRAM);
		uint8_t p[DGRAM], got[2048];
		const int n = 100;
		ssize_t len;

		for (int i = newer; i < n + newer; i++) {
			put_number(p, newer, i);
			assert_int_equal(send(fd, p, sizeof(p), 0), sizeof(p));
		}
		len = answered(fd, newer, n + newer, got, sizeof(got));
		assert_in_range(len, 1, DGRAM); /* not more than the end's own length */
		assert_true(iperf2_report_get(got, (size_t)len, &r));
		assert_int_equal(r.lost, 0);
		assert_int_equal(r.reordered, 0);
		assert_int_equal(r.datagrams, n + newer);
		assert_int_equal(r.bytes, (n + newer) * DGRAM);
		close(fd);
		server_line(&s, line, sizeof(line));
		assert_non_null(strstr(line, "done"));
		assert_non_null(strstr(line, "(0 % lost)"));
	}
	assert_int_equal(server_stop(&s), 0);
}

/* Several begin at once: each one's datagrams are its own, none is lost on the way to its process. */
static void bursts_of_many_are_told_apart(void **state)
{
	enum { CLIENTS = 4, N = 40 };
	char line[SERVE_LINE_MAX];
	struct iperf2_report r;
	struct server s;
	int fds[CLIENTS];

	(void)state;
	start(&s);
	for (int k = 0; k < CLIENTS; k++)
		fds[k] = open_to(&s, SOCK_DGRAM);
	for (int i = 1; i <= N; i++) {
		for (int k = 0; k < CLIENTS; k++) {
			uint8_t p[DGRAM];

			put_number(p, true, i);
			if (i <= N - k) /* the rest of it is lost */
				assert_int_equal(send(fds[k], p, sizeof(p), 0), sizeof(p));
		}
	}
	for (int k = 0; k < CLIENTS; k++) { /* all at once: silence is an end, too */
		uint8_t end[DGRAM];

		put_number(end, true, -(N + 1));
		assert_int_equal(send(fds[k], end, sizeof(end), 0), sizeof(end));
	}
	for (int k = 0; k < CLIENTS; k++) {
		uint8_t got[2048];
		ssize_t len = answered(fds[k], true, N + 1, got, sizeof(got));

		assert_in_range(len, 1, DGRAM);
		assert_true(iperf2_report_get(got, (size_t)len, &r));
		assert_int_equal(r.lost, k);
		assert_int_equal(r.bytes, (N + 1 - k) * DGRAM);
		close(fds[k]);
		server_line(&s, line, sizeof(line));
		assert_non_null(strstr(line, "done"));
	}
	assert_int_equal(server_stop(&s), 0);
}

/* Of 2.1.8's: reverse, full duplex; of 2.0.5's: -d, -r; an end; too little. Nothing comes back. */
static void datagrams_start_nothing(void **state)
{
	static const struct {
		size_t at;
		uint32_t w[12];
		size_t len;
	} cases[] = {
		{16,
		 {0x4c010098, 1, 5001, 0, 0, 0xfff0bdc0, 0, 0, 0x04000000, 0x20001, 0x80003},
		 200},
		{16,
		 {0x4c010098, 1, 5001, 0, 0, 0xfff0bdc0, 0, 0, 0x08000000, 0x20001, 0x80003},
		 200},
		{12, {0x80000001, 1, 9, 0, 1 << 30, 0xfff0bdc0}, 200},
		{12, {0x80000000, 1, 9, 0, 1 << 30, 0xfff0bdc0}, 200},
		{0, {0xffffffff, 0, 0, 0xffffffff}, 200},
		{0, {0xffffffff}, 4},
		{0, {0}, 1},
	};
	struct server s;

	(void)state;
	start(&s);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd = open_to(&s, SOCK_DGRAM);
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint8_t b[200] = {0};

		put_words(b, cases[i].at, cases[i].w, 12);
		for (int k = 0; k < 3; k++)
			send(fd, b, cases[i].len, 0);
		assert_int_equal(poll(&p, 1, 100), 0);
		close(fd);
	}
	assert_int_equal(server_stop(&s), 0);
}

/* A connection that asks for one back gets none, and is served as one that did not ask. */
static void it_calls_nobody(void **state)
{
	uint8_t hello[24] = {0};
	const uint32_t one[] = {0x80000001, 1, 0, 0, 0, 0xffffff9c};
	char line[SERVE_LINE_MAX];
	struct pollfd p = {.events = POLLIN};
	struct server s;
	uint16_t port;
	int fd;

	(void)state;
	start(&s);
	p.fd = loopback_listener(&port);
	fd = open_to(&s, SOCK_STREAM);
	put_words(hello, 0, one, 6);
	put32(hello + 8, port);
	assert_int_equal(send(fd, hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(send(fd, "data", 4, 0), 4);
	close(fd);
	server_line(&s, line, sizeof(line));
	assert_non_null(strstr(line, "done"));
	assert_int_equal(poll(&p, 1, 0), 0);
	close(p.fd);
	assert_int_equal(server_stop(&s), 0);
}

/* What made 2.0.5 abort, and other first bytes, are data; a few bytes and an end are, too. */
static void any_first_bytes(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} cases[] = {
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		 "\xff"
		 "\xff\xff\xff",
		 24},
		{"0123456789012345678901234567890123456789", 40},
		{"WEIR/1;abcdefghijklmnopqrstuvwxyz23\0", 37},
		{"GET / HTTP/1.1\r\n\r\n", 18},
		{"\0", 1},
		{"\x40\x01\x00\x78\0\0", 6},
	};
	char line[SERVE_LINE_MAX];
	struct server s;

	(void)state;
	start(&s);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd = open_to(&s, SOCK_STREAM);

		assert_int_equal(send(fd, cases[i].p, cases[i].n, 0), cases[i].n);
		shutdown(fd, SHUT_WR);
		server_line(&s, line, sizeof(line));
		assert_non_null(strstr(line, "stream done"));
		close(fd);
	}
	assert_int_equal(server_stop(&s), 0);
}

/* ---- beside iperf3's port ---- */

static void start_beside(struct server *s, struct serve_cfg cfg)
{
	cfg.facts = "{}";
	cfg.others[0] = (struct serve_port){proto_find("iperf2"), 5001};
	cfg.n_others = 1;
	server_start_body(s, &cfg, serve_child_body);
}

static int other_from(const struct server *s, const char *source)
{
	struct server at_other = *s;

	at_other.port = s->other;
	return client_from(&at_other, source);
}

static void is_served(const struct server *s, unsigned cookie)
{
	int fd = client_cookie(s, cookie);

	assert_int_equal(get(fd), 0x09);
	close(fd);
}

/* Connections that send four bytes and nothing else: one address gets three of eight places, all
 * of them four, and iperf3's clients find room. */
static void silence_leaves_places(void **state)
{
	static const char *const from[] = {"127.0.0.1", "127.0.0.1", "127.0.0.1",
					   "127.0.0.1", "127.0.0.2", "127.0.0.3"};
	static const bool refused[] = {false, false, false, true, false, true};
	int fds[ARRAY_LEN(from)];
	char line[SERVE_LINE_MAX];
	struct server s;

	(void)state;
	start_beside(&s, (struct serve_cfg){.limits.tests = 8});
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		fds[i] = other_from(&s, from[i]);
		put(fds[i], "abcd", 4);
		if (refused[i])
			assert_eof(fds[i]);
		else /* it has its place before the next one comes */
			is_served(&s, (unsigned)i + 1);
	}
	while (!strstr(server_line(&s, line, sizeof(line)), "three quarters"))
		;
	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		close(fds[i]);
	assert_int_equal(server_stop(&s), 0);
}

static int flow_to(const struct server *s)
{
	struct server at_other = *s;

	at_other.port = s->other;
	return open_to(&at_other, SOCK_DGRAM);
}

/* A flow of two datagrams is no test that --one-off ends with, and keeps the place from nobody. */
static void a_stray_datagram_takes_no_place(void **state)
{
	uint8_t p[DGRAM], got[2048];
	char line[SERVE_LINE_MAX];
	struct server s;
	int fd, held;
	ssize_t len = -1;

	(void)state;
	start_beside(&s, (struct serve_cfg){.one_off = true, .exclusive = true});
	is_served(&s, 1);
	server_line(&s, line, sizeof(line));
	fd = flow_to(&s);
	/* None begins while the process of the test before is not quite gone. */
	for (int k = 0; k < 10 && len < 0; k++) {
		for (int i = 0; i < 2; i++) {
			put_number(p, false, i);
			assert_int_equal(send(fd, p, sizeof(p), 0), sizeof(p));
		}
		len = asked(fd, false, 2, got, sizeof(got), 4);
	}
	assert_in_range(len, 1, DGRAM);
	is_served(&s, 2); /* beside the flow, which waits for its end once more */
	held = client_cookie(&s, 3);
	close(held);
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

/* A scanner's few bytes are no test that --one-off ends with. */
static void a_scanner_ends_no_server(void **state)
{
	char line[SERVE_LINE_MAX];
	struct server s;
	int fd;

	(void)state;
	start_beside(&s, (struct serve_cfg){.one_off = true});
	fd = other_from(&s, "127.0.0.1");
	assert_int_equal(send(fd, "GET /", 5, 0), 5);
	close(fd);
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "stream"));
	is_served(&s, 1);
	assert_int_equal(server_stop(&s), 0);
}

/* What never ends is ended, also where every datagram is a new beginning. */
static void the_longest_test_holds_for_datagrams(void **state)
{
	char line[SERVE_LINE_MAX];
	struct server s;
	struct pollfd p = {.events = POLLIN};
	uint8_t d[DGRAM];
	int fd;

	(void)state;
	start_beside(&s, (struct serve_cfg){.limits.duration_ns = NSEC_PER_SEC});
	fd = flow_to(&s);
	p.fd = s.log;
	for (int i = 0; i < 3000 && poll(&p, 1, 10) == 0; i++) {
		put_number(d, false, i);
		send(fd, d, sizeof(d), 0);
	}
	assert_non_null(strstr(server_line(&s, line, sizeof(line)), "iperf2"));
	close(fd);
	assert_int_equal(server_stop(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_counted_whole),
		cmocka_unit_test(bursts_of_many_are_told_apart),
		cmocka_unit_test(datagrams_start_nothing),
		cmocka_unit_test(it_calls_nobody),
		cmocka_unit_test(any_first_bytes),
		cmocka_unit_test(silence_leaves_places),
		cmocka_unit_test(a_stray_datagram_takes_no_place),
		cmocka_unit_test(a_scanner_ends_no_server),
		cmocka_unit_test(the_longest_test_holds_for_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
