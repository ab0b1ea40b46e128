/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: names into socket addresses, text for people, and the prefixes that decide whom a
 * server serves. An IPv4-mapped address is always treated as the IPv4 address it stands for.
 */
#include "net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	int eai, code;
} resolve_codes[] = {
	{EAI_NONAME, ENOENT},           {EAI_AGAIN, EAGAIN},
	{EAI_MEMORY, ENOMEM},           {EAI_FAMILY, EAFNOSUPPORT},
	{EAI_ADDRFAMILY, EAFNOSUPPORT}, {EAI_NODATA, ENOENT},
};

static int resolve_failed(int rc, const char *host, int family, struct weir_err *e)
{
	char shown[SAFE_MAX + 1];
	int code = rc == EAI_SYSTEM ? errno : EINVAL;

	for (size_t i = 0; i < ARRAY_LEN(resolve_codes); i++)
		if (resolve_codes[i].eai == rc)
			code = resolve_codes[i].code;
	safe_str(shown, sizeof(shown), host, strlen(host));
	err_set(e, WEIR_OS, code, "cannot find the host \"%.120s\"%s: %s", shown,
		family == AF_INET    ? " over IPv4"
		: family == AF_INET6 ? " over IPv6"
				     : "",
		gai_strerror(rc));
	if (rc == EAI_AGAIN)
		err_hint(e, "the name server does not answer; try the address");
	return -code;
}

/* "[fd00::1]" without its brackets; false when too long. */
static bool host_plain(const char *host, char *dst, size_t cap)
{
	size_t n = strlen(host);

	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	}
	if (n == 0 || n >= cap)
		return false;
	memcpy(dst, host, n);
	dst[n] = 0;
	return true;
}

int net_resolve(const char *host, uint16_t port, int family, struct net_addr *out, int max,
		struct weir_err *e)
{
	struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM}, *list = NULL;
	char name[NI_MAXHOST], service[8];
	int rc, n = 0;

	if (!host_plain(host, name, sizeof(name)))
		return resolve_failed(EAI_NONAME, host, family, e);
	snprintf(service, sizeof(service), "%u", port);
	hints.ai_flags = AI_NUMERICSERV;
	rc = getaddrinfo(name, service, &hints, &list);
	if (rc)
		return resolve_failed(rc, host, family, e);
	for (struct addrinfo *a = list; a && n < max; a = a->ai_next) {
		if (a->ai_addrlen > sizeof(out[n].ss) ||
		    (a->ai_family != AF_INET && a->ai_family != AF_INET6))
			continue;
		out[n] = (struct net_addr){.len = a->ai_addrlen};
		memcpy(&out[n].ss, a->ai_addr, a->ai_addrlen);
		n++;
	}
	freeaddrinfo(list);
	return n ? n : resolve_failed(EAI_NONAME, host, family, e);
}

void net_addr_text(const struct net_addr *a, char *dst, size_t cap)
{
	char host[NI_MAXHOST];

	if (getnameinfo(&a->sa, a->len, host, sizeof(host), NULL, 0, NI_NUMERICHOST))
		snprintf(host, sizeof(host), "?");
	snprintf(dst, cap, "%s", host);
}

void net_addr_port_text(const struct net_addr *a, char *dst, size_t cap)
{
	char host[128];

	net_addr_text(a, host, sizeof(host));
	snprintf(dst, cap, a->sa.sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 net_addr_port(a));
}

uint16_t net_addr_port(const struct net_addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return ntohs(a->in4.sin_port);
	return a->sa.sa_family == AF_INET6 ? ntohs(a->in6.sin6_port) : 0;
}

void net_addr_unmap(struct net_addr *a)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};

	if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return;
	in4.sin_port = a->in6.sin6_port;
	memcpy(&in4.sin_addr, &a->in6.sin6_addr.s6_addr[12], 4);
	memset(&a->ss, 0, sizeof(a->ss));
	a->in4 = in4;
	a->len = sizeof(in4);
}

void net_sock_end(int fd, enum net_sock_which which, char *host, size_t cap, uint16_t *port)
{
	struct net_addr a = {.len = sizeof(a.ss)};
	int rc = which == NET_END_LOCAL ? getsockname(fd, &a.sa, &a.len)
					: getpeername(fd, &a.sa, &a.len);

	if (rc < 0)
		return;
	net_addr_unmap(&a);
	net_addr_text(&a, host, cap);
	*port = net_addr_port(&a);
}

/* The address bytes after unmapping: 4, 16, or 0 for another family. */
static int addr_bytes(const struct net_addr *a, uint8_t out[16])
{
	struct net_addr plain = *a;

	net_addr_unmap(&plain);
	if (plain.sa.sa_family == AF_INET) {
		memcpy(out, &plain.in4.sin_addr, 4);
		return 4;
	}
	if (plain.sa.sa_family != AF_INET6)
		return 0;
	memcpy(out, &plain.in6.sin6_addr, 16);
	return 16;
}

bool net_addr_same_host(const struct net_addr *a, const struct net_addr *b)
{
	uint8_t x[16], y[16];
	int n = addr_bytes(a, x);

	if (n == 0 || addr_bytes(b, y) != n || memcmp(x, y, (size_t)n))
		return false;
	return n == 4 || !IN6_IS_ADDR_LINKLOCAL(&a->in6.sin6_addr) ||
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}

static void mask_bits(uint8_t *p, int bytes, int len)
{
	for (int i = 0; i < bytes; i++) {
		int keep = len - 8 * i;

		if (keep <= 0)
			p[i] = 0;
		else if (keep < 8)
			p[i] &= (uint8_t)(0xff << (8 - keep));
	}
}

static int prefix_bad(const char *s, struct weir_err *e)
{
	char shown[SAFE_MAX + 1];

	safe_str(shown, sizeof(shown), s, strlen(s));
	err_set(e, WEIR_USAGE, EINVAL, "\"%.100s\" is not a prefix", shown);
	return err_hint(e, "for example 192.0.2.0/24, 2001:db8::/32 or one address");
}

int net_prefix_parse(const char *s, struct net_prefix *p, struct weir_err *e)
{
	char addr[INET6_ADDRSTRLEN + 1];
	const char *slash = strchr(s, '/');
	size_t n = slash ? (size_t)(slash - s) : strlen(s);
	int full;

	*p = (struct net_prefix){0};
	if (n == 0 || n >= sizeof(addr))
		return prefix_bad(s, e);
	memcpy(addr, s, n);
	addr[n] = 0;
	if (inet_pton(AF_INET, addr, p->addr) == 1)
		p->family = AF_INET;
	else if (inet_pton(AF_INET6, addr, p->addr) == 1)
		p->family = AF_INET6;
	else
		return prefix_bad(s, e);
	full = p->family == AF_INET ? 32 : 128;
	p->len = full;
	if (slash) {
		char *end;
		long len = strtol(slash + 1, &end, 10);

		if (slash[1] < '0' || slash[1] > '9' || *end || len > full)
			return prefix_bad(s, e);
		p->len = (int)len;
	}
	mask_bits(p->addr, full / 8, p->len);
	return 0;
}

bool net_prefix_match(const struct net_prefix *p, const struct net_addr *a)
{
	uint8_t bytes[16];
	int n = addr_bytes(a, bytes);

	if (n == 0 || n != (p->family == AF_INET ? 4 : 16))
		return false;
	mask_bits(bytes, n, p->len);
	return memcmp(bytes, p->addr, (size_t)n) == 0;
}

bool net_addr_is_private(const struct net_addr *a)
{
	static const struct net_prefix table[] = {
		{AF_INET, {127}, 8},          {AF_INET, {10}, 8},
		{AF_INET, {172, 16}, 12},     {AF_INET, {192, 168}, 16},
		{AF_INET, {169, 254}, 16},    {AF_INET, {198, 18}, 15},
		{AF_INET6, {[15] = 1}, 128},  {AF_INET6, {0xfc}, 7},
		{AF_INET6, {0xfe, 0x80}, 10},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (net_prefix_match(&table[i], a))
			return true;
	return false;
}
