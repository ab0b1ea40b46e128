/* SPDX-License-Identifier: BSD-2-Clause */
/* What is sent (digits or noise), and the IPv6 flow label that it carries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/priv.h"

#define LABEL         0x4d2e1
#define RECV_FLOWINFO 11 /* IPV6_FLOWINFO of linux/in6.h */
#define LARGE         ((3 << 20) + 5)

static void digits(void **state)
{
	(void)state;
	char p[25];

	net_payload_fill(p, sizeof(p), true);
	assert_memory_equal(p, "0123456789012345678901234", sizeof(p));
}

/* Not one value, and filled to the end beyond what repeats. */
static void noise(void **state)
{
	(void)state;
	unsigned char *p = calloc(1, LARGE);
	size_t seen[256] = {0};

	assert_non_null(p);
	net_payload_fill(p, LARGE, false);
	for (size_t i = LARGE - 65536; i < LARGE; i++)
		seen[p[i]]++;
	for (size_t i = 0; i < 256; i++)
		assert_true(seen[i] > 100 && seen[i] < 1000);
	free(p);
}

static int listener(struct net_addr *a)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -errno;
	*a = (struct net_addr){.len = sizeof(a->in6)};
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_addr = in6addr_loopback;
	if (bind(fd, &a->sa, a->len) || getsockname(fd, &a->sa, &a->len) ||
	    setsockopt(fd, IPPROTO_IPV6, RECV_FLOWINFO, &on, sizeof(on))) {
		close(fd);
		return -errno;
	}
	return fd;
}

static uint32_t label_of_next(int fd)
{
	char ctl[128] __attribute__((aligned(8))), byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint32_t info = 0;

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(recvmsg(fd, &m, 0), 1);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == RECV_FLOWINFO)
			memcpy(&info, CMSG_DATA(c), sizeof(info));
	}
	return ntohl(info) & 0xfffff;
}

static void label(void **state)
{
	(void)state;
	struct flow_spec spec = {.transport = NET_UDP, .len = 100, .flow_label = LABEL};
	struct weir_err e = {0};
	struct net_addr a;
	int in = listener(&a), out;

	if (in < 0)
		skip(); /* no IPv6 here */
	out = net_connect_udp(&a, NULL, &spec, &e);
	if (out < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(send(out, "x", 1, 0), 1);
	assert_int_equal(label_of_next(in), LABEL);
	close(out);
	close(in);
}

static void label_needs_ipv6(void **state)
{
	(void)state;
	struct flow_spec spec = {.transport = NET_UDP, .len = 100, .flow_label = LABEL};
	struct net_addr a = {.len = sizeof(a.in4)};
	struct weir_err e = {0};

	a.in4.sin_family = AF_INET;
	a.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.in4.sin_port = htons(9);
	assert_int_equal(net_connect_udp(&a, NULL, &spec, &e), -EAFNOSUPPORT);
	assert_int_equal(e.domain, WEIR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits),
		cmocka_unit_test(noise),
		cmocka_unit_test(label),
		cmocka_unit_test(label_needs_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
