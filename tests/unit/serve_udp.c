/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP on the front's one port: only hellos that a test waits for are answered, each flow's socket is
 * its own, and tests behind one address are let in one after the other.
 */
#include <stdarg.h>
#include <stddef.h>

#include "serve_util.h"

#define LINE 512

static const struct serve_cfg plain = {.grace_ns = 5 * NSEC_PER_SEC};

/* A client's UDP socket, connected to the server. */
static int udp_from(const struct server *s, const char *source, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(s->port)};
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static bool comes(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* The stand-in writes a flow's place on its socket; it may overtake the answer. */
static void assert_answer_and_place(int fd, const char *want, int place)
{
	bool answered = false, placed = false;

	while (!answered || !placed) {
		char got[8];
		ssize_t n;

		assert_true(comes(fd, 10000));
		n = recv(fd, got, sizeof(got), 0);
		if (n == 4) {
			assert_memory_equal(got, want, 4);
			answered = true;
		} else {
			assert_int_equal(n, 1);
			assert_int_equal(got[0], place);
			placed = true;
		}
	}
}

static void hello(int fd, const char *p, size_t n)
{
	assert_int_equal(send(fd, p, n, 0), n);
}

/* A test that has asked for n UDP flows; not yet told to go on. */
static int client_asks(const struct server *s, const char *source, unsigned cookie, uint8_t kind,
		       uint8_t n)
{
	char text[PROTO_COOKIE_LEN];
	uint8_t want[2] = {kind, n};
	int fd = client_from(s, source);

	cookie_of(text, cookie);
	put(fd, text, sizeof(text));
	assert_int_equal(get(fd), 0x09);
	put(fd, want, sizeof(want));
	return fd;
}

static int client_udp(const struct server *s, const char *source, unsigned cookie, uint8_t kind,
		      uint8_t n)
{
	int fd = client_asks(s, source, cookie, kind, n);

	assert_int_equal(get(fd), 0x0a);
	return fd;
}

static void end_test(int ctl)
{
	uint8_t b;

	put(ctl, "Q", 1);
	while (net_read_full(ctl, &b, 1, soon(10000), -1) == 0)
		;
	close(ctl);
}

static void each_form_gets_its_answer(void **state)
{
	static const char *const pairs[][2] = {{"9876", "6789"},
					       {"6789", "9876"},
					       {"\x15\xcd\x5b\x07", "\xb1\x68\xde\x3a"},
					       {"\x07\x5b\xcd\x15", "\x3a\xde\x68\xb1"}};
	struct server s;
	int ctl, fd[4];

	(void)state;
	server_start(&s, &plain);
	ctl = client_udp(&s, "127.0.0.1", 1, STAND_IN_UDP, 4);
	for (int i = 0; i < 4; i++) {
		fd[i] = udp_from(&s, "127.0.0.1", 0);
		hello(fd[i], pairs[i][0], 4);
		assert_answer_and_place(fd[i], pairs[i][1], i);
	}
	assert_int_equal(get(ctl), 0x01);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	end_test(ctl);
	assert_int_equal(server_stop(&s), 0);
}

/* The answer to what nobody may ask: nothing, whatever state the server is in. */
static void assert_silent(const struct server *s, const char *source, const void *p, size_t n)
{
	int fd = udp_from(s, source, 0);

	hello(fd, p, n);
	assert_false(comes(fd, 30));
	close(fd);
}

static void nothing_else_is_answered(void **state)
{
	static const char native[] = "WUDPaaaaaaaaaaaaaaaa";
	struct server s;
	char data[1448] = {0};
	int ctl, fd;

	(void)state;
	server_start(&s, &plain);
	end_test(client_test(&s, 9, 0)); /* it is up */
	assert_silent(&s, "127.0.0.1", "9876", 4);
	ctl = client_udp(&s, "127.0.0.1", 1, STAND_IN_UDP, 1);
	assert_silent(&s, "127.0.0.2", "9876", 4);  /* not its address */
	assert_silent(&s, "127.0.0.1", native, 20); /* not its form */
	for (size_t n = 0; n < sizeof(data); n = n < 8 ? n + 1 : n * 3)
		assert_silent(&s, "127.0.0.1", data, n);
	assert_silent(&s, "127.0.0.1", "XXXX", 4);
	assert_silent(&s, "127.0.0.1", "98765", 5);
	fd = udp_from(&s, "127.0.0.1", 0);
	hello(fd, "9876", 4);
	assert_answer_and_place(fd, "6789", 0);
	assert_silent(&s, "127.0.0.1", "9876", 4); /* no slot is left */
	hello(fd, "9876", 4);
	assert_false(comes(fd, 30)); /* its own once more: harmless */
	close(fd);
	end_test(ctl);
	assert_silent(&s, "127.0.0.1", "9876", 4);
	assert_int_equal(server_stop(&s), 0);
}

/* Bytes out never exceed bytes in, over mutations of every first datagram. */
static void the_reflection_meter(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} seeds[] = {{"9876", 4}, {"\x15\xcd\x5b\x07", 4}, {"WUDPaaaaaaaaaaaaaaaa", 20}};
	size_t in = 0, out = 0;
	struct server s;
	int ctl, fd;
	char b[64];
	ssize_t n;

	(void)state;
	server_start(&s, &plain);
	ctl = client_udp(&s, "127.0.0.1", 1, STAND_IN_UDP, 200);
	fd = udp_from(&s, "127.0.0.3", 0); /* a stranger with every datagram there is */
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		for (size_t bit = 0; bit < seeds[i].n * 8 + 1; bit++) {
			memcpy(b, seeds[i].p, seeds[i].n);
			if (bit)
				b[(bit - 1) / 8] ^= (char)(1 << (bit - 1) % 8);
			for (size_t cut = 0; cut <= seeds[i].n; cut++)
				in += (size_t)send(fd, b, cut, 0);
		}
	}
	while (comes(fd, 50)) {
		n = recv(fd, b, sizeof(b), 0);
		out += n > 0 ? (size_t)n : 0;
	}
	assert_true(in > 1000);
	assert_int_equal(out, 0);
	close(fd);
	close(ctl);
	assert_int_equal(server_stop(&s), 0);
}

static void behind_one_address_one_after_the_other(void **state)
{
	struct server s;
	int first, second, fd[2];

	(void)state;
	server_start(&s, &plain);
	first = client_udp(&s, "127.0.0.1", 1, STAND_IN_UDP, 1);
	second = client_asks(&s, "127.0.0.1", 2, STAND_IN_UDP, 1);
	assert_false(comes(second, 300)); /* it waits */
	fd[0] = udp_from(&s, "127.0.0.1", 0);
	hello(fd[0], "9876", 4);
	assert_answer_and_place(fd[0], "6789", 0);
	assert_int_equal(get(second), 0x0a);
	fd[1] = udp_from(&s, "127.0.0.1", 0);
	hello(fd[1], "9876", 4);
	assert_answer_and_place(fd[1], "6789", 0);
	assert_int_equal(get(first), 0x01);
	assert_int_equal(get(second), 0x01);
	close(fd[0]);
	close(fd[1]);
	end_test(first);
	end_test(second);
	assert_int_equal(server_stop(&s), 0);
}

/* Who opens its turn and says nothing loses it after 5 s; who dies, at once. */
static void a_silent_holder_is_put_out(void **state)
{
	struct server s;
	int64_t from;
	char line[LINE];
	int first, second, third, fd;

	(void)state;
	server_start(&s, &plain);
	first = client_udp(&s, "127.0.0.1", 1, STAND_IN_UDP, 1);
	from = clk_mono_ns();
	second = client_asks(&s, "127.0.0.1", 2, STAND_IN_UDP, 1);
	third = client_asks(&s, "127.0.0.1", 3, STAND_IN_UDP, 1);
	assert_int_equal(get(second), 0x0a);
	assert_in_range((uintmax_t)(clk_mono_ns() - from) / 1000000, 3000, 9000);
	assert_string_equal(server_line(&s, line, sizeof(line)), "no streams overlap=1\n");
	assert_false(comes(third, 200));
	close(second);
	assert_int_equal(get(third), 0x0a);
	fd = udp_from(&s, "127.0.0.1", 0);
	hello(fd, "9876", 4);
	assert_answer_and_place(fd, "6789", 0);
	close(fd);
	close(first);
	end_test(third);
	assert_int_equal(server_stop(&s), 0);
}

static void other_addresses_do_not_wait(void **state)
{
	struct server s;
	int ctl[3], fd[3];

	(void)state;
	server_start(&s, &plain);
	for (int i = 0; i < 3; i++) {
		char source[] = "127.0.0.1";

		source[8] = (char)('1' + i);
		ctl[i] = client_udp(&s, source, (unsigned)i + 1, STAND_IN_UDP, 1);
		fd[i] = udp_from(&s, source, 0);
	}
	/* The sockets that are made meanwhile take in the others' hellos: none may get lost. */
	for (int i = 0; i < 3; i++)
		hello(fd[i], "9876", 4);
	for (int i = 0; i < 3; i++) {
		assert_answer_and_place(fd[i], "6789", 0);
		close(fd[i]);
		end_test(ctl[i]);
	}
	assert_int_equal(server_stop(&s), 0);
}

/* A token needs no turn, and no other test's flow takes it. */
static void tokens_tell_tests_apart(void **state)
{
	struct server s;
	char p[2][20];
	int ctl[2], fd[4];

	(void)state;
	server_start(&s, &plain);
	for (unsigned i = 0; i < 2; i++) {
		char cookie[PROTO_COOKIE_LEN];

		cookie_of(cookie, i + 1);
		memcpy(p[i], "WUDP", 4);
		memcpy(p[i] + 4, cookie, PROTO_TOKEN_LEN);
		ctl[i] = client_udp(&s, "127.0.0.1", i + 1, STAND_IN_TOKEN, 2);
	}
	assert_silent(&s, "127.0.0.1", "9876", 4);
	assert_silent(&s, "127.0.0.1", "WUDPaaaaaaaaaaaaaaaa", 20);
	assert_silent(&s, "127.0.0.2", p[0], 20); /* a token from elsewhere */
	for (int i = 0; i < 4; i++) {
		fd[i] = udp_from(&s, "127.0.0.1", 0);
		hello(fd[i], p[i % 2], 20);
		assert_answer_and_place(fd[i], "wudp", i / 2);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get(ctl[i]), 0x01);
		end_test(ctl[i]);
	}
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	assert_int_equal(server_stop(&s), 0);
}

/* Many at once, from many addresses: each hello gets its answer, though a socket being made swallows
 * those that come at the wrong moment. */
static void swallowed_hellos_are_handed_back(void **state)
{
	enum { TESTS = 24, FLOWS = 4 };
	struct server s;
	int ctl[TESTS], fd[TESTS * FLOWS];

	(void)state;
	server_start(&s, &plain);
	for (int i = 0; i < TESTS; i++) {
		char source[20];

		snprintf(source, sizeof(source), "127.0.1.%d", i + 1);
		ctl[i] = client_udp(&s, source, (unsigned)i + 1, STAND_IN_UDP, FLOWS);
		for (int k = 0; k < FLOWS; k++)
			fd[i * FLOWS + k] = udp_from(&s, source, 0);
	}
	for (int k = 0; k < FLOWS; k++) {
		for (int i = 0; i < TESTS; i++)
			hello(fd[i * FLOWS + k], "9876", 4);
	}
	for (int i = 0; i < TESTS; i++)
		assert_int_equal(get(ctl[i]), 0x01);
	for (int i = 0; i < TESTS * FLOWS; i++) {
		bool answered = false;

		while (!answered) {
			char got[8];

			assert_true(comes(fd[i], 10000));
			answered = recv(fd[i], got, sizeof(got), 0) == 4;
		}
		close(fd[i]);
	}
	for (int i = 0; i < TESTS; i++)
		end_test(ctl[i]);
	assert_int_equal(server_stop(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_gets_its_answer),
		cmocka_unit_test(nothing_else_is_answered),
		cmocka_unit_test(the_reflection_meter),
		cmocka_unit_test(behind_one_address_one_after_the_other),
		cmocka_unit_test(a_silent_holder_is_put_out),
		cmocka_unit_test(other_addresses_do_not_wait),
		cmocka_unit_test(tokens_tell_tests_apart),
		cmocka_unit_test(swallowed_hellos_are_handed_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
