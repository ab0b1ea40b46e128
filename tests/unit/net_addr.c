/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses: resolving, text, prefixes, and whom a server takes for a neighbour. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "net/net.h"

static struct net_addr addr(const char *text)
{
	struct net_addr a;

	assert_int_equal(net_resolve(text, 5201, AF_UNSPEC, &a, 1, NULL), 1);
	return a;
}

static void assert_text(const char *host, const char *plain, const char *with_port)
{
	struct net_addr a = addr(host);
	char text[128];

	net_addr_text(&a, text, sizeof(text));
	assert_string_equal(text, plain);
	net_addr_port_text(&a, text, sizeof(text));
	assert_string_equal(text, with_port);
	assert_int_equal(net_addr_port(&a), 5201);
}

static void resolves_and_prints(void **state)
{
	(void)state;
	assert_text("192.0.2.1", "192.0.2.1", "192.0.2.1:5201");
	assert_text("2001:db8::1", "2001:db8::1", "[2001:db8::1]:5201");
	assert_text("[2001:db8::1]", "2001:db8::1", "[2001:db8::1]:5201");
	assert_text("fe80::1%lo", "fe80::1%lo", "[fe80::1%lo]:5201");
}

static void cuts_text_to_its_room(void **state)
{
	struct net_addr a = addr("192.0.2.1");
	char text[4];

	(void)state;
	net_addr_text(&a, text, sizeof(text));
	assert_string_equal(text, "192");
}

static void says_what_cannot_be_found(void **state)
{
	struct weir_err e = {0};
	struct net_addr a;
	char longname[2000];

	(void)state;
	assert_int_equal(net_resolve("", 1, AF_UNSPEC, &a, 1, &e), -ENOENT);
	assert_int_equal(net_resolve("[]", 1, AF_UNSPEC, &a, 1, &e), -ENOENT);
	assert_true(net_resolve("192.0.2.1", 1, AF_INET6, &a, 1, &e) < 0);
	assert_non_null(strstr(e.msg, "over IPv6"));
	assert_true(net_resolve("a\x1b[31mb..", 1, AF_UNSPEC, &a, 1, &e) < 0);
	assert_null(strchr(e.msg, '\x1b'));
	memset(longname, 'a', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = 0;
	assert_int_equal(net_resolve(longname, 1, AF_UNSPEC, &a, 1, &e), -ENOENT);
}

static void unmaps(void **state)
{
	struct net_addr a = addr("::ffff:192.0.2.7"), b = addr("192.0.2.7"), c = addr("192.0.2.8");

	(void)state;
	assert_true(net_addr_same_host(&a, &b));
	assert_false(net_addr_same_host(&b, &c));
	net_addr_unmap(&a);
	assert_int_equal(a.sa.sa_family, AF_INET);
	assert_int_equal(a.len, sizeof(struct sockaddr_in));
	assert_int_equal(net_addr_port(&a), 5201);
	a = addr("2001:db8::1");
	net_addr_unmap(&a);
	assert_int_equal(a.sa.sa_family, AF_INET6);
	assert_false(net_addr_same_host(&a, &b));
}

/* The same link-local address on another link is another host's. */
static void link_local_hosts_have_a_link(void **state)
{
	struct net_addr a = addr("fe80::1"), b = addr("fe80::1");

	(void)state;
	a.in6.sin6_scope_id = b.in6.sin6_scope_id = 2;
	assert_true(net_addr_same_host(&a, &b));
	b.in6.sin6_scope_id = 3;
	assert_false(net_addr_same_host(&a, &b));
	a = b = addr("2001:db8::1");
	b.in6.sin6_scope_id = 3; /* elsewhere it means nothing */
	assert_true(net_addr_same_host(&a, &b));
}

static const struct {
	const char *prefix, *inside, *outside;
} prefixes[] = {
	{"192.0.2.0/24", "192.0.2.255", "192.0.3.0"},
	{"192.0.2.77/24", "192.0.2.1", "192.0.1.255"}, /* host bits are dropped */
	{"192.0.2.128/25", "192.0.2.129", "192.0.2.127"},
	{"10.0.0.0/9", "10.127.0.1", "10.128.0.1"},
	{"192.0.2.5", "192.0.2.5", "192.0.2.4"},
	{"192.0.2.0/24", "::ffff:192.0.2.1", "2001:db8::1"},
	{"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"},
	{"2001:db8::1", "2001:db8::1", "2001:db8::2"},
	{"::/0", "2001:db8::1", "192.0.2.1"},
	{"0.0.0.0/0", "203.0.113.1", "2001:db8::1"},
};

static void matches_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct net_addr in = addr(prefixes[i].inside), out = addr(prefixes[i].outside);
		struct net_prefix p;

		assert_int_equal(net_prefix_parse(prefixes[i].prefix, &p, NULL), 0);
		if (!net_prefix_match(&p, &in) || net_prefix_match(&p, &out))
			fail_msg("%s", prefixes[i].prefix);
	}
}

static void refuses_bad_prefixes(void **state)
{
	static const char *const bad[] = {"",
					  "/",
					  "1.2.3",
					  "192.0.2.0/33",
					  "::/129",
					  "192.0.2.0/",
					  "192.0.2.0/-1",
					  "192.0.2.0/+1",
					  "192.0.2.0/8x",
					  "host/8",
					  "1.2.3.4/ 8",
					  "1.2.3.4/99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct weir_err e = {0};
		struct net_prefix p;

		if (net_prefix_parse(bad[i], &p, &e) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
		assert_int_equal(e.domain, WEIR_USAGE);
		assert_true(e.hint[0] != 0);
	}
}

static void knows_private_addresses(void **state)
{
	static const char *const near[] = {
		"127.0.0.1",  "10.1.2.3", "172.31.255.255", "192.168.0.1", "169.254.1.1",
		"198.19.0.1", "::1",      "fdff::1",        "fe80::1%lo",  "::ffff:10.0.0.1"};
	static const char *const far[] = {"126.255.255.255", "11.0.0.0",      "172.32.0.0",
					  "192.167.0.1",     "100.64.0.1",    "198.20.0.1",
					  "203.0.113.1",     "::2",           "2001:db8::1",
					  "fec0::1",         "::ffff:8.8.8.8"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(near); i++) {
		struct net_addr a = addr(near[i]);

		if (!net_addr_is_private(&a))
			fail_msg("%s is private", near[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(far); i++) {
		struct net_addr a = addr(far[i]);

		if (net_addr_is_private(&a))
			fail_msg("%s is not private", far[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_local_hosts_have_a_link),
		cmocka_unit_test(resolves_and_prints),
		cmocka_unit_test(cuts_text_to_its_room),
		cmocka_unit_test(says_what_cannot_be_found),
		cmocka_unit_test(unmaps),
		cmocka_unit_test(matches_prefixes),
		cmocka_unit_test(refuses_bad_prefixes),
		cmocka_unit_test(knows_private_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
