/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP sockets: whose answer it is, who can take a port, what a new socket swallows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>

#include "net/priv.h"
#include "net_udp.h"

static uint16_t port_of(int fd)
{
	struct net_addr a = {.len = sizeof(a.ss)};

	assert_int_equal(getsockname(fd, &a.sa, &a.len), 0);
	return net_addr_port(&a);
}

static int client_to(const char *host, uint16_t port, const struct flow_spec *spec)
{
	struct net_addr to;
	int fd;

	assert_int_equal(net_resolve(host, port, AF_UNSPEC, &to, 1, NULL), 1);
	fd = net_connect_udp(&to, NULL, spec, NULL);
	assert_true(fd >= 0);
	return fd;
}

/* A socket that is connected takes nothing from another address than the one it asked. */
static void answers_come_from_where_they_were_asked(const char *host, int family)
{
	struct net_sock_opts o = {.family = family};
	int listener = net_listen_udp(&o, 0, NULL), client, data;
	struct net_dgram d;
	char buf[16], text[64];

	if (listener < 0 && family == AF_INET6)
		skip(); /* no IPv6 here */
	assert_true(listener >= 0);
	client = client_to(host, port_of(listener), NULL);
	assert_int_equal(net_udp_recv(listener, buf, sizeof(buf), &d), -EAGAIN);
	assert_int_equal(send(client, "9876", 4, 0), 4);
	assert_int_equal(net_wait_readable(listener, later(), -1), 0);
	assert_int_equal(net_udp_recv(listener, buf, 2, &d), 4); /* the whole length */
	net_addr_text(&d.to, text, sizeof(text));
	assert_string_equal(text, host);
	assert_int_equal(net_addr_port(&d.to), port_of(listener));
	assert_int_equal(net_udp_reply(listener, &d, "6789", 4), 4);
	assert_int_equal(net_wait_readable(client, later(), -1), 0);
	assert_int_equal(recv(client, buf, sizeof(buf), 0), 4);
	assert_memory_equal(buf, "6789", 4);

	data = net_pair_udp(&d.to, &d.from, NULL, NULL, NULL);
	assert_true(data >= 0);
	assert_int_equal(send(client, "data!", 5, 0), 5);
	assert_int_equal(net_wait_readable(data, later(), -1), 0);
	assert_int_equal(net_udp_recv(data, buf, sizeof(buf), &d), 5);
	assert_int_equal(d.to.len, 0);
	assert_true(net_addr_port(&d.from) == port_of(client));
	assert_int_equal(net_udp_recv(listener, buf, sizeof(buf), &d), -EAGAIN);
	close(data);
	close(client);
	close(listener);
}

static void a_host_with_several_addresses(void **state)
{
	(void)state;
	answers_come_from_where_they_were_asked("127.0.0.1", AF_INET);
	answers_come_from_where_they_were_asked("127.0.0.2", AF_UNSPEC);
}

static void ipv6_too(void **state)
{
	(void)state;
	answers_come_from_where_they_were_asked("::1", AF_INET6);
}

/* Whether the port of a listener is free for another once that is closed: others run beside us. */
static bool one_port_for_one(void)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1"};
	int listener = net_listen_udp(&o, 0, NULL), thief = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	struct net_addr at = {.len = sizeof(at.ss)};
	struct weir_err e = {0};
	bool was_free;

	assert_true(listener >= 0);
	assert_int_equal(getsockname(listener, &at.sa, &at.len), 0);
	assert_int_equal(setsockopt(thief, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(thief, &at.sa, at.len), -1);
	assert_int_equal(errno, EADDRINUSE);
	close(listener);
	was_free = bind(thief, &at.sa, at.len) == 0;
	assert_int_equal(net_listen_udp(&o, net_addr_port(&at), &e), -EADDRINUSE);
	close(thief);
	return was_free;
}

static void reuseaddr_takes_no_port_of_ours(void **state)
{
	int tries = 10;

	(void)state;
	while (!one_port_for_one())
		assert_int_not_equal(--tries, 0);
}

/* A data port of nttcp: two tests on one would take each other's bytes. */
static void alone_means_alone(void **state)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .alone = true};
	int one = net_listen_udp(&o, 0, NULL);
	struct net_addr at = {.len = sizeof(at.ss)};
	struct weir_err e = {0};

	(void)state;
	assert_true(one >= 0);
	assert_int_equal(getsockname(one, &at.sa, &at.len), 0);
	assert_int_equal(net_listen_udp(&o, net_addr_port(&at), &e), -EADDRINUSE);
	o.alone = false;
	assert_int_equal(net_listen_udp(&o, net_addr_port(&at), &e), -EADDRINUSE);
	close(one);
}

/* ---- what a new socket swallows ---------------------------------------------------- */

enum { CROWD = 200 };

static void *crowd_main(void *arg)
{
	const int *fds = arg;

	for (int i = 0; i < CROWD; i++)
		if (send(fds[i], "9876", 4, 0) != 4)
			return arg;
	return NULL;
}

static int take_all(int fd, bool seen[CROWD], const int *fds)
{
	struct net_dgram d;
	char buf[8];
	int n = 0;

	while (net_udp_recv(fd, buf, sizeof(buf), &d) == 4) {
		for (int i = 0; i < CROWD; i++) {
			if (port_of(fds[i]) != net_addr_port(&d.from))
				continue;
			assert_false(seen[i]);
			seen[i] = true;
			n++;
		}
	}
	return n;
}

/* Every hello is at the listener, or, where the kernel could not arrange that, at one of the sockets
 * that were made meanwhile: once. */
static void all_hellos_reach_the_listener(bool everywhere)
{
	struct net_sock_opts o = {.bind_host = everywhere ? NULL : "127.0.0.1"};
	struct net_sock_opts pair = {.everywhere = everywhere};
	int listener = net_listen_udp(&o, 0, NULL), fds[CROWD], data[50], n = 0;
	bool seen[CROWD] = {false};
	struct net_addr at = {.len = sizeof(at.ss)};
	pthread_t crowd;
	void *failed;

	assert_int_equal(getsockname(listener, &at.sa, &at.len), 0);
	at.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < CROWD; i++)
		fds[i] = client_to("127.0.0.1", port_of(listener), NULL);
	assert_int_equal(pthread_create(&crowd, NULL, crowd_main, fds), 0);
	for (int i = 0; i < 50; i++) {
		struct net_addr peer = at;

		peer.in4.sin_port = htons((uint16_t)(1000 + i)); /* none of the crowd */
		data[i] = net_pair_udp(&at, &peer, &pair, NULL, NULL);
		assert_true(data[i] >= 0);
	}
	assert_int_equal(pthread_join(crowd, &failed), 0);
	assert_null(failed);
	n = take_all(listener, seen, fds);
	for (int i = 0; i < 50; i++) {
		n += take_all(data[i], seen, fds);
		close(data[i]);
	}
	assert_int_equal(n, CROWD);
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
	close(listener);
}

static void nobody_s_hello_is_lost(void **state)
{
	(void)state;
	all_hellos_reach_the_listener(false);
	all_hellos_reach_the_listener(true);
}

/* A flow of an earlier server still has the port, and is the first of it. */
static void an_earlier_flow_is_not_the_listener(void **state)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1"};
	int old = net_listen_udp(&o, 0, NULL), again, fd, data;
	uint16_t port = port_of(old);
	struct net_addr at = {.len = sizeof(at.ss)}, peer;
	char hello[8];

	(void)state;
	assert_int_equal(getsockname(old, &at.sa, &at.len), 0);
	peer = at;
	peer.in4.sin_port = htons(1000);
	data = net_pair_udp(&at, &peer, NULL, NULL, NULL);
	assert_true(data >= 0);
	close(old);
	again = net_listen_udp(&o, port, NULL);
	assert_true(again >= 0);
	fd = client_to("127.0.0.1", port, NULL);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(send(fd, "9876", 4, 0), 4);
		assert_int_equal(net_wait_readable(again, later(), -1), 0);
		assert_int_equal(recv(again, hello, sizeof(hello), 0), 4);
	}
	close(fd);
	close(data);
	close(again);
}

/* The route to the peer would choose another address than the peer has spoken to. */
static void answers_come_from_where_the_hello_went(void **state)
{
	struct net_sock_opts o = {.everywhere = true};
	int listener = net_listen_udp(&o, 0, NULL);
	int fd = client_to("127.0.0.5", port_of(listener), NULL), data;
	struct net_addr at = {.len = sizeof(at.ss)};
	struct net_dgram d;
	char hello[8];

	(void)state;
	assert_int_equal(send(fd, "9876", 4, 0), 4);
	assert_int_equal(net_wait_readable(listener, later(), -1), 0);
	assert_int_equal(net_udp_recv(listener, hello, sizeof(hello), &d), 4);
	data = net_pair_udp(&d.to, &d.from, &o, NULL, NULL);
	assert_true(data >= 0);
	assert_int_equal(getsockname(data, &at.sa, &at.len), 0);
	assert_int_equal(at.in4.sin_addr.s_addr, inet_addr("127.0.0.5"));
	assert_int_equal(send(data, "6789", 4, 0), 4);
	assert_int_equal(recv(fd, hello, sizeof(hello), 0), 4);
	close(fd);
	close(data);
	close(listener);
}

/* ---- options ------------------------------------------------------------------------- */

static void options_are_set_and_told(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP,
				 .window = 8192,
				 .tos = 0x28,
				 .dont_fragment = true,
				 .fq_rate_bps = 8000000};
	struct net_sock_opts o = {.bind_host = "127.0.0.1"};
	int listener = net_listen_udp(&o, 0, NULL);
	int fd = client_to("127.0.0.1", port_of(listener), &spec), tos = 0, mtu = 0;
	socklen_t len = sizeof(int);
	struct net_applied got;
	char big[3] = "";

	(void)state;
	assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_TOS, &tos, &len), 0);
	assert_int_equal(tos, 0x28);
	assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &mtu, &len), 0);
	assert_int_equal(mtu, IP_PMTUDISC_DO);
	net_udp_applied(fd, &spec, &got);
	assert_false(got.window_short);
	assert_in_range(got.rcvbuf, 8192, 1 << 20);
	spec.window = 1 << 30;
	net_udp_applied(fd, &spec, &got);
	assert_true(got.window_short);
	assert_in_range(net_udp_path_payload(fd), 1000, 65535);
	assert_int_equal(net_udp_path_payload(listener), 0); /* no path yet */
	assert_int_equal(send(fd, big, sizeof(big), 0), sizeof(big));
	close(fd);
	close(listener);
}

/* What a receiver cannot hold while it has no processor is lost: by itself much, and what -w asks
 * for, where privileges allow it. */
static void buffers_are_as_large_as_they_may_be(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP}, wish = spec;
	struct net_sock_opts o = {.bind_host = "127.0.0.1"};
	int listener = net_listen_udp(&o, 0, NULL), plain = socket(AF_INET, SOCK_DGRAM, 0), fds[2];
	int most = 32 << 20, large = 48 << 20;
	struct net_applied got[2], usual;

	(void)state;
	wish.window = (uint64_t)large;
	fds[0] = client_to("127.0.0.1", port_of(listener), &spec);
	fds[1] = client_to("127.0.0.1", port_of(listener), &wish);
	assert_int_equal(setsockopt(plain, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most)), 0);
	net_udp_applied(plain, &spec, &usual);
	net_udp_applied(fds[0], &spec, &got[0]);
	net_udp_applied(fds[1], &wish, &got[1]);
	assert_true(got[0].rcvbuf >= usual.rcvbuf);
	assert_int_equal(got[0].rcvbuf_wish, most); /* what a loss is told beside */
	assert_int_equal(got[1].rcvbuf_wish, large);
	if (!setsockopt(plain, SOL_SOCKET, SO_RCVBUFFORCE, &most, sizeof(most))) {
		assert_int_equal(got[0].rcvbuf, most);
		assert_int_equal(got[1].rcvbuf, large);
		assert_int_equal(got[1].sndbuf, large);
		assert_false(got[1].window_short);
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	close(plain);
	close(listener);
}

static void gathers_no_more_than_the_buffer_holds(void **state)
{
	static const struct {
		uint64_t rcvbuf, cost;
		int64_t since_ns, ns;
		bool kernel_time;
	} rows[] = {
		{8 << 20, 100000, 200000, 0, false},    /* they come seldom */
		{8 << 20, 0, 10000, 0, false},          /* nothing came */
		{8 << 20, 50000, 50000, 100000, false}, /* 1 GB/s: an eighth lasts a ms */
		{8 << 20, 400000, 50000, 81072, false}, /* 131 us less the timer's slack */
		{416 << 10, 50000, 50000, 0, false},    /* 53 us, too little to sleep at all */
		{416 << 10, 20000, 50000, 83120, false},
		{8 << 20, 3664, 579000, 1000000, true}, /* 20 Mbit/s */
		{8 << 20, 3664, 579000, 0, false},
		{8 << 20, 3664, 2000000, 0, true},
		{416 << 10, 366400, 1200000, 124393, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_udp u = {.rcvbuf = rows[i].rcvbuf,
				    .gathered_cost = rows[i].cost,
				    .kernel_time = rows[i].kernel_time};

		assert_int_equal(net_udp_gather_ns(&u, rows[i].since_ns), rows[i].ns);
	}
}

static void says_what_is_wrong(void **state)
{
	struct net_sock_opts o = {.bind_host = "198.18.77.77"}, dev = {.bind_dev = "nonesuch0"};
	struct weir_err e = {0};
	struct net_addr to;

	(void)state;
	assert_int_equal(net_resolve("127.0.0.1", 9, AF_INET, &to, 1, NULL), 1);
	assert_int_equal(net_listen_udp(&o, 0, &e), -EADDRNOTAVAIL);
	assert_non_null(strstr(e.msg, "198.18.77.77"));
	assert_int_equal(net_connect_udp(&to, &o, NULL, &e), -EADDRNOTAVAIL);
	assert_true(net_connect_udp(&to, &dev, NULL, &e) < 0);
	assert_non_null(strstr(e.msg, "nonesuch0"));
}

/* One that came to a broadcast address is told apart: it must not be answered. */
static void a_group_is_told(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	const int one = 1;
	int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), to;
	struct net_dgram d;
	char b[8];

	(void)state;
	to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(to, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)), 0);
	assert_int_equal(setsockopt(from, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one)), 0);
	assert_int_equal(bind(to, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(to, (struct sockaddr *)&a, &len), 0);
	for (int group = 0; group < 2; group++) {
		a.sin_addr.s_addr = htonl(group ? 0x7fffffff : INADDR_LOOPBACK);
		assert_int_equal(sendto(from, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)), 1);
		assert_int_equal(net_wait_readable(to, later(), -1), 0);
		assert_int_equal(net_udp_recv(to, b, sizeof(b), &d), 1);
		assert_int_equal(d.group, group);
	}
	close(from);
	close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_is_told),
		cmocka_unit_test(a_host_with_several_addresses),
		cmocka_unit_test(ipv6_too),
		cmocka_unit_test(reuseaddr_takes_no_port_of_ours),
		cmocka_unit_test(alone_means_alone),
		cmocka_unit_test(nobody_s_hello_is_lost),
		cmocka_unit_test(answers_come_from_where_the_hello_went),
		cmocka_unit_test(an_earlier_flow_is_not_the_listener),
		cmocka_unit_test(options_are_set_and_told),
		cmocka_unit_test(buffers_are_as_large_as_they_may_be),
		cmocka_unit_test(gathers_no_more_than_the_buffer_holds),
		cmocka_unit_test(says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
