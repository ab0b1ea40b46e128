/* SPDX-License-Identifier: BSD-2-Clause */
/* Namespaces and netlink, each test in namespaces of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sys/sys.h"

struct world {
	struct sys_ns a, b;
	struct sys_nl *nl_a, *nl_b;
	struct weir_err e;
};
static struct world w;

static int set_up(void **state)
{
	(void)state;
	w = (struct world){.a = {.net_fd = -1, .user_fd = -1}, .b = {.net_fd = -1, .user_fd = -1}};
	if (!sys_ns_available(&w.e)) {
		print_message("no namespaces: %s; %s\n", w.e.msg, w.e.hint);
		return 0;
	}
	return sys_ns_new(&w.a, NULL, &w.e) < 0 || sys_ns_new(&w.b, &w.a, &w.e) < 0 ||
	       sys_nl_open_in(&w.a, &w.nl_a, &w.e) < 0 || sys_nl_open_in(&w.b, &w.nl_b, &w.e) < 0;
}

static int tear_down(void **state)
{
	(void)state;
	sys_nl_close(w.nl_a);
	sys_nl_close(w.nl_b);
	if (w.a.holder)
		sys_ns_free(&w.a);
	if (w.b.holder)
		sys_ns_free(&w.b);
	return 0;
}

static void need_namespaces(void)
{
	if (!w.nl_a)
		skip();
}

static void make_veth(void)
{
	need_namespaces();
	assert_int_equal(sys_link_add_veth(w.nl_a, "eth0", "eth1", w.b.net_fd, &w.e), 0);
}

static int count_links(const struct sys_link *l, void *arg)
{
	*(int *)arg += 1;
	return strcmp(l->name, "eth0") == 0 ? 42 : 0;
}

static void test_new_namespace_has_only_lo(void **state)
{
	struct sys_link l;
	int n = 0;

	(void)state;
	need_namespaces();
	assert_int_equal(sys_links(w.nl_a, count_links, &n, &w.e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(sys_link_get(w.nl_a, "lo", &l, &w.e), 0);
	assert_int_equal(l.index, 1);
	assert_false(l.up);
	assert_int_equal(l.mtu, 65536);
}

static void test_veth(void **state)
{
	struct sys_link l;
	int n = 0;

	(void)state;
	make_veth();
	assert_int_equal(sys_link_get(w.nl_b, "eth1", &l, &w.e), 0);
	assert_string_equal(l.kind, "veth");
	assert_true(l.has_mac);
	assert_int_equal(l.mtu, 1500);
	assert_int_equal(sys_link_set_mtu(w.nl_b, "eth1", 9000, &w.e), 0);
	assert_int_equal(sys_link_get(w.nl_b, "eth1", &l, &w.e), 0);
	assert_int_equal(l.mtu, 9000);
	/* A callback's answer ends the walk and is returned; the socket stays usable. */
	assert_int_equal(sys_links(w.nl_a, count_links, &n, &w.e), 42);
	assert_int_equal(sys_link_get(w.nl_a, "eth0", &l, &w.e), 0);
	assert_true(l.gso_max_size >= 65536);
}

static void test_errors_are_told(void **state)
{
	struct sys_link l;

	(void)state;
	make_veth();
	assert_int_equal(sys_link_get(w.nl_a, "nope0", &l, &w.e), -ENODEV);
	assert_non_null(strstr(w.e.msg, "nope0"));
	assert_int_equal(sys_link_get(w.nl_a, "", &l, &w.e), -EINVAL);
	assert_int_equal(sys_link_get(w.nl_a, "a-name-that-is-too-long", &l, &w.e), -EINVAL);
	assert_int_equal(sys_link_add_veth(w.nl_a, "eth0", "eth9", w.b.net_fd, &w.e), -EEXIST);
	assert_int_equal(sys_link_set_mtu(w.nl_a, "eth0", 1, &w.e), -EINVAL);
	assert_true(w.e.hint[0] != '\0'); /* the kernel's own explanation */
}

static int find_addr(const struct sys_addr *a, void *arg)
{
	const struct sys_addr *want = arg;

	return a->index == want->index && a->family == want->family &&
	       a->prefix_len == want->prefix_len && !memcmp(a->addr, want->addr, 16);
}

static void test_addresses_and_routes(void **state)
{
	struct sys_addr want = {.family = AF_INET, .prefix_len = 24};
	struct sys_route r;
	uint8_t gateway[4], dst[4], own6[16];
	struct sys_link l;

	(void)state;
	make_veth();
	assert_int_equal(sys_link_get(w.nl_a, "eth0", &l, &w.e), 0);
	want.index = l.index;
	inet_pton(AF_INET, "198.18.0.1", want.addr);
	inet_pton(AF_INET, "198.18.0.2", gateway);
	inet_pton(AF_INET, "198.19.1.1", dst);
	inet_pton(AF_INET6, "fd00:18::1", own6);
	assert_int_equal(sys_addrs(w.nl_a, find_addr, &want, &w.e), 0);
	assert_int_equal(sys_addr_add(w.nl_a, "eth0", AF_INET, want.addr, 24, &w.e), 0);
	assert_int_equal(sys_addr_add(w.nl_a, "eth0", AF_INET, want.addr, 24, &w.e), -EEXIST);
	assert_int_equal(sys_addr_add(w.nl_a, "eth0", AF_INET, want.addr, 33, &w.e), -EINVAL);
	assert_int_equal(sys_addrs(w.nl_a, find_addr, &want, &w.e), 1);
	int ret = sys_addr_add(w.nl_a, "eth0", AF_INET6, own6, 64, &w.e);
	assert_true(ret == 0 || ret == -EOPNOTSUPP || ret == -EACCES);
	assert_int_equal(sys_link_set_up(w.nl_a, "eth0", &w.e), 0);
	assert_int_equal(sys_route_get(w.nl_a, AF_INET, dst, &r, &w.e), -ENETUNREACH);
	assert_int_equal(sys_route_add(w.nl_a, AF_INET, dst, 24, gateway, &w.e), -EINVAL);
	dst[3] = 0;
	assert_int_equal(sys_route_add(w.nl_a, AF_INET, dst, 24, gateway, &w.e), 0);
	assert_int_equal(sys_route_get(w.nl_a, AF_INET, dst, &r, &w.e), 0);
	assert_int_equal(r.oif, l.index);
	assert_true(r.has_gateway && r.has_src);
	assert_memory_equal(r.gateway, gateway, 4);
	assert_memory_equal(r.src, want.addr, 4);
	assert_int_equal(sys_route_get(w.nl_a, AF_INET, gateway, &r, &w.e), 0);
	assert_false(r.has_gateway);
}

static int find_tbf(const struct sys_qdisc *q, void *arg)
{
	if (strcmp(q->kind, "tbf"))
		return 0;
	*(struct sys_qdisc *)arg = *q;
	return 1;
}

static void test_token_bucket(void **state)
{
	struct sys_qdisc q = {0};
	struct sys_link l;

	(void)state;
	make_veth();
	int ret = sys_qdisc_add_tbf(w.nl_a, "eth0", 100000000, 16384, 200000, &w.e);
	if (ret == -EOPNOTSUPP) {
		print_message("%s\n", w.e.msg);
		skip();
	}
	assert_int_equal(ret, 0);
	assert_int_equal(sys_link_get(w.nl_a, "eth0", &l, &w.e), 0);
	assert_string_equal(l.qdisc, "tbf");
	assert_int_equal(sys_qdiscs(w.nl_a, l.index, find_tbf, &q, &w.e), 1);
	assert_int_equal(q.index, l.index);
	assert_int_equal(q.handle, 0x10000);
	assert_int_equal(q.packets, 0);
	assert_int_equal(sys_qdiscs(w.nl_a, 1, find_tbf, &q, &w.e), 0);
	/* Over 4 GB/s takes the 64-bit attribute. */
	assert_int_equal(sys_qdisc_add_tbf(w.nl_b, "eth1", 100000000000ULL, 1 << 20, 1 << 24, &w.e),
			 0);
}

static void await_running(struct sys_nl *nl, const char *name)
{
	int64_t until = clk_mono_ns() + 5 * NSEC_PER_SEC;
	struct sys_link l = {0};

	while (!l.running && clk_mono_ns() < until)
		assert_int_equal(sys_link_get(nl, name, &l, &w.e), 0);
	assert_true(l.running);
}

/* Ten broadcasts (no neighbour to find) from inside namespace a. */
static int send_ten(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	char payload[100] = "x";
	int on = 1, sent = 0;
	int fd = sys_ns_enter(&w.a, NULL) < 0 ? -1 : socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, "198.18.0.255", &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	for (int i = 0; i < 10; i++)
		sent += sendto(fd, payload, sizeof(payload), 0, (struct sockaddr *)&to,
			       sizeof(to)) == (ssize_t)sizeof(payload);
	return sent;
}

static void test_counters_move(void **state)
{
	struct sys_link tx, rx, tx_before, rx_before;
	uint8_t addr[4];
	int status;

	(void)state;
	make_veth();
	inet_pton(AF_INET, "198.18.0.1", addr);
	assert_int_equal(sys_addr_add(w.nl_a, "eth0", AF_INET, addr, 24, &w.e), 0);
	assert_int_equal(sys_link_set_up(w.nl_a, "eth0", &w.e), 0);
	assert_int_equal(sys_link_set_up(w.nl_b, "eth1", &w.e), 0);
	await_running(w.nl_a, "eth0");
	await_running(w.nl_b, "eth1");
	assert_int_equal(sys_link_get(w.nl_a, "eth0", &tx_before, &w.e), 0);
	assert_int_equal(sys_link_get(w.nl_b, "eth1", &rx_before, &w.e), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(send_ten());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 10);
	assert_int_equal(sys_link_get(w.nl_a, "eth0", &tx, &w.e), 0);
	assert_int_equal(sys_link_get(w.nl_b, "eth1", &rx, &w.e), 0);
	assert_true(tx.stats.tx_packets >= tx_before.stats.tx_packets + 10);
	assert_true(tx.stats.tx_bytes >= tx_before.stats.tx_bytes + 10 * 142);
	assert_true(rx.stats.rx_packets + rx.stats.rx_dropped >= rx_before.stats.rx_packets + 10);
}

static ino_t net_inode(pid_t pid)
{
	char path[64];
	struct stat st = {0};

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	stat(path, &st);
	return st.st_ino;
}

static void test_own_namespace_untouched(void **state)
{
	struct stat st;

	(void)state;
	need_namespaces();
	assert_true(net_inode(getpid()) != net_inode(w.a.holder));
	assert_true(net_inode(w.a.holder) != net_inode(w.b.holder));
	assert_int_equal(fstat(w.a.net_fd, &st), 0);
	assert_true(st.st_ino == net_inode(w.a.holder));
}

/* SIGKILL of the maker leaves no holder, so no namespace. */
static void test_holder_dies_with_maker(void **state)
{
	int p[2];
	pid_t holder = 0;

	(void)state;
	need_namespaces();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	pid_t maker = fork();
	if (maker == 0) {
		struct sys_ns ns;
		if (sys_ns_new(&ns, NULL, NULL) < 0 ||
		    write(p[1], &ns.holder, sizeof(ns.holder)) < 0)
			_exit(1);
		pause();
	}
	assert_int_equal(read(p[0], &holder, sizeof(holder)), sizeof(holder));
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, holder, 0), .events = POLLIN};
	assert_int_equal(poll(&end, 1, 0), end.fd >= 0 ? 0 : 1);
	/* What a terminal's Ctrl-C sends does not reach it. */
	kill(holder, SIGINT);
	kill(holder, SIGTERM);
	assert_int_equal(poll(&end, 1, 20), 0);
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
	assert_int_equal(poll(&end, 1, 5000), 1);
	close(end.fd);
	close(p[0]);
	close(p[1]);
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_new_namespace_has_only_lo),
		EACH(test_veth),
		EACH(test_errors_are_told),
		EACH(test_addresses_and_routes),
		EACH(test_token_bucket),
		EACH(test_counters_move),
		EACH(test_own_namespace_untouched),
		EACH(test_holder_dies_with_maker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
