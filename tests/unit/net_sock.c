/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets: deadlines, stop descriptors, what the errors say, and which options really hold. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/net.h"

static int64_t soon(void)
{
	return clk_mono_ns() + 30 * NSEC_PER_MSEC;
}
static int64_t later(void)
{
	return clk_mono_ns() + 20 * NSEC_PER_SEC;
}

static int listener_at(struct net_addr *at, int backlog)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	int fd = net_listen_tcp(&o, 0, backlog, NULL);

	assert_true(fd >= 0);
	at->len = sizeof(at->ss);
	assert_int_equal(getsockname(fd, &at->sa, &at->len), 0);
	return fd;
}

static void tcp_pair(int pair[2], const struct flow_spec *spec)
{
	struct net_addr at;
	int listener = listener_at(&at, 8);

	pair[0] = net_connect_tcp(&at, NULL, spec, NSEC_PER_SEC, NULL);
	assert_true(pair[0] >= 0);
	assert_int_equal(net_wait_readable(listener, later(), -1), 0);
	pair[1] = accept(listener, NULL, NULL);
	assert_true(pair[1] >= 0);
	close(listener);
}

static void close_pair(const int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

/* ---- whole reads and writes ------------------------------------------------ */

static void reads_and_writes_all(void **state)
{
	char out[100000], in[100000];
	int pair[2];

	(void)state;
	tcp_pair(pair, NULL);
	memset(out, 'w', sizeof(out));
	assert_int_equal(net_write_full(pair[0], out, sizeof(out), later(), -1), 0);
	assert_int_equal(net_read_full(pair[1], in, sizeof(in), later(), -1), 0);
	assert_memory_equal(in, out, sizeof(in));
	close_pair(pair);
}

static void ends_at_its_deadline(void **state)
{
	size_t size = 64 << 20; /* more than any socket takes */
	char *big = calloc(1, size), in[10];
	int pair[2];

	(void)state;
	assert_non_null(big);
	tcp_pair(pair, NULL);
	assert_int_equal(net_write_full(pair[1], "12345", 5, later(), -1), 0);
	assert_int_equal(net_read_full(pair[0], in, sizeof(in), soon(), -1), -ETIMEDOUT);
	assert_int_equal(net_wait_readable(pair[0], soon(), -1), -ETIMEDOUT);
	assert_int_equal(net_wait_readable(pair[0], 0, -1), -ETIMEDOUT);
	assert_int_equal(net_write_full(pair[0], big, size, soon(), -1), -ETIMEDOUT);
	close_pair(pair);
	free(big);
}

static void ends_when_told_to_stop(void **state)
{
	int pair[2], stop = eventfd(1, 0);
	char in[10];

	(void)state;
	tcp_pair(pair, NULL);
	assert_int_equal(net_read_full(pair[0], in, sizeof(in), later(), stop), -ECANCELED);
	assert_int_equal(net_wait_readable(pair[0], later(), stop), -ECANCELED);
	close_pair(pair);
	close(stop);
}

static void says_when_the_peer_has_gone(void **state)
{
	int pair[2];
	char in[10];

	(void)state;
	tcp_pair(pair, NULL);
	close(pair[1]);
	assert_int_equal(net_read_full(pair[0], in, sizeof(in), later(), -1), -EPIPE);
	close(pair[0]);
}

/* Bytes that nobody read would turn close() into a reset that eats what was sent. */
static void closes_without_a_reset(void **state)
{
	int pair[2];
	char in[4];

	(void)state;
	tcp_pair(pair, NULL);
	assert_int_equal(net_write_full(pair[1], "unread", 6, later(), -1), 0);
	assert_int_equal(net_write_full(pair[0], "last", 4, later(), -1), 0);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	net_close_gently(pair[0], NSEC_PER_SEC);
	assert_int_equal(net_read_full(pair[1], in, 4, later(), -1), 0);
	assert_memory_equal(in, "last", 4);
	assert_int_equal(net_read_full(pair[1], in, 1, later(), -1), -EPIPE);
	close(pair[1]);
	net_close_gently(-1, 0);
}

static void drains_no_longer_than_asked(void **state)
{
	int64_t start = clk_mono_ns();
	int pair[2];

	(void)state;
	tcp_pair(pair, NULL);
	net_close_gently(pair[0], 30 * NSEC_PER_MSEC); /* the peer never closes */
	assert_in_range(clk_mono_ns() - start, 30 * NSEC_PER_MSEC, 10 * NSEC_PER_SEC);
	close(pair[1]);
}

/* ---- connecting and listening ------------------------------------------------ */

static void says_who_refuses(void **state)
{
	struct weir_err e = {0};
	struct net_addr at;
	char text[64];

	(void)state;
	close(listener_at(&at, 1));
	net_addr_port_text(&at, text, sizeof(text));
	assert_int_equal(net_connect_tcp(&at, NULL, NULL, NSEC_PER_SEC, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.msg, text));
	assert_non_null(strstr(e.msg, "refuses"));
	assert_true(e.hint[0] != 0);
}

/* A full backlog drops SYNs as a firewall does. */
static void says_who_does_not_answer(void **state)
{
	struct weir_err e = {0};
	int fds[8], n = 0, rc = 0;
	struct net_addr at;
	int listener = listener_at(&at, 0);

	(void)state;
	while (n < 8 && rc >= 0) {
		rc = net_connect_tcp(&at, NULL, NULL, 100 * NSEC_PER_MSEC, &e);
		if (rc >= 0)
			fds[n++] = rc;
	}
	assert_int_equal(rc, -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "no answer from 127.0.0.1:"));
	assert_non_null(strstr(e.hint, "firewall"));
	while (n)
		close(fds[--n]);
	close(listener);
}

static void says_what_cannot_be_bound(void **state)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	struct weir_err e = {0};
	struct net_addr at;
	int listener = listener_at(&at, 1);

	(void)state;
	assert_int_equal(net_listen_tcp(&o, net_addr_port(&at), 1, &e), -EADDRINUSE);
	assert_true(e.hint[0] != 0);
	o.bind_host = "203.0.113.9";
	assert_int_equal(net_connect_tcp(&at, &o, NULL, NSEC_PER_SEC, &e), -EADDRNOTAVAIL);
	assert_non_null(strstr(e.msg, "203.0.113.9"));
	o = (struct net_sock_opts){.bind_dev = "no-such-dev0"};
	assert_true(net_connect_tcp(&at, &o, NULL, NSEC_PER_SEC, &e) < 0);
	assert_non_null(strstr(e.msg, "no-such-dev0"));
	o.bind_dev = "a name that is too long for a device";
	assert_int_equal(net_connect_tcp(&at, &o, NULL, NSEC_PER_SEC, &e), -ENODEV);
	close(listener);
}

static void binds_the_local_end(void **state)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.2", .bind_dev = "lo"};
	struct net_addr at, local = {.len = sizeof(local.ss)};
	int listener = listener_at(&at, 1), fd;
	char text[64];

	(void)state;
	fd = net_connect_tcp(&at, &o, NULL, NSEC_PER_SEC, NULL);
	if (fd == -EPERM) {
		close(listener);
		skip(); /* SO_BINDTODEVICE needs CAP_NET_RAW on old kernels */
	}
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, &local.sa, &local.len), 0);
	net_addr_text(&local, text, sizeof(text));
	assert_string_equal(text, "127.0.0.2");
	close(fd);
	close(listener);
}

static void listens_on_both_families(void **state)
{
	struct net_addr at = {.len = sizeof(at.ss)};
	int fd = net_listen_tcp(NULL, 0, 4, NULL), conn;
	char host[] = "127.0.0.1";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, &at.sa, &at.len), 0);
	assert_int_equal(net_resolve(host, net_addr_port(&at), AF_INET, &at, 1, NULL), 1);
	conn = net_connect_tcp(&at, NULL, NULL, NSEC_PER_SEC, NULL);
	assert_true(conn >= 0);
	close(conn);
	close(fd);
}

/* ---- options ------------------------------------------------------------------- */

static int int_option(int fd, int level, int name)
{
	int v = -1;
	socklen_t len = sizeof(v);

	assert_int_equal(getsockopt(fd, level, name, &v, &len), 0);
	return v;
}

static void applies_options_before_connecting(void **state)
{
	struct flow_spec spec = {.window = 16384, .mss = 1000, .tos = 0x28, .nodelay = true};
	struct net_applied got;
	int pair[2];

	(void)state;
	tcp_pair(pair, &spec);
	net_tcp_applied(pair[0], &spec, &got);
	assert_in_range(got.sndbuf, 16384, 65536);
	assert_in_range(got.rcvbuf, 16384, 65536);
	assert_false(got.window_short);
	assert_in_range(got.mss, 500, 1000);
	assert_false(got.cc_refused);
	assert_true(got.cc[0] != 0);
	assert_int_equal(int_option(pair[0], IPPROTO_IP, IP_TOS), 0x28);
	assert_int_equal(int_option(pair[0], IPPROTO_TCP, TCP_NODELAY), 1);
	assert_in_range(int_option(pair[1], IPPROTO_TCP, TCP_MAXSEG), 500, 1000);
	close_pair(pair);
}

static void tells_what_the_kernel_cut(void **state)
{
	struct flow_spec spec = {.window = 1 << 30, .cc = "nonesuch"};
	struct net_applied got;
	int pair[2];

	(void)state;
	tcp_pair(pair, &spec);
	net_tcp_applied(pair[0], &spec, &got);
	assert_true(got.window_short);
	assert_true(got.cc_refused);
	assert_string_not_equal(got.cc, "nonesuch");
	close_pair(pair);
}

static void takes_a_listed_congestion_control(void **state)
{
	struct flow_spec spec = {.cc = "reno"};
	struct net_applied got;
	int pair[2];

	(void)state;
	assert_false(net_cc_available(""));
	assert_false(net_cc_available("ren"));
	assert_false(net_cc_available("../reno"));
	if (!net_cc_available("reno"))
		skip(); /* a kernel without reno */
	tcp_pair(pair, &spec);
	net_tcp_applied(pair[0], &spec, &got);
	assert_string_equal(got.cc, "reno");
	assert_false(got.cc_refused);
	close_pair(pair);
}

static void refuses_an_impossible_mss(void **state)
{
	struct flow_spec spec = {.mss = 5};
	struct weir_err e = {0};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(net_tcp_apply(fd, &spec, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "MSS"));
	close(fd);
}

static void keeps_watch_on_control_connections(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	net_tcp_control_opts(fd);
	assert_int_equal(int_option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(int_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(int_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 5);
	assert_int_equal(int_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 2);
	assert_int_equal(int_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
	assert_int_equal(int_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 10000);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_all),
		cmocka_unit_test(ends_at_its_deadline),
		cmocka_unit_test(ends_when_told_to_stop),
		cmocka_unit_test(says_when_the_peer_has_gone),
		cmocka_unit_test(closes_without_a_reset),
		cmocka_unit_test(drains_no_longer_than_asked),
		cmocka_unit_test(says_who_refuses),
		cmocka_unit_test(says_who_does_not_answer),
		cmocka_unit_test(says_what_cannot_be_bound),
		cmocka_unit_test(binds_the_local_end),
		cmocka_unit_test(listens_on_both_families),
		cmocka_unit_test(applies_options_before_connecting),
		cmocka_unit_test(tells_what_the_kernel_cut),
		cmocka_unit_test(takes_a_listed_congestion_control),
		cmocka_unit_test(refuses_an_impossible_mss),
		cmocka_unit_test(keeps_watch_on_control_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
