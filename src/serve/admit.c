/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A measurement server is a traffic source that strangers can start. By default it serves who is
 * near: private addresses and what the kernel holds to be on-link; everybody else must be
 * named. The on-link prefixes are asked for only when they decide, and seldom.
 */
#include "serve/priv.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#define ONLINK_AGE_NS (5 * NSEC_PER_SEC)

uint64_t serve_prefix_of(const struct net_addr *a)
{
	uint64_t v = 0;

	if (a->sa.sa_family == AF_INET)
		return 0xffff00000000U | ntohl(a->in4.sin_addr.s_addr);
	for (int i = 0; i < 8; i++)
		v = v << 8 | a->in6.sin6_addr.s6_addr[i];
	return v;
}

static bool any_match(const struct net_prefix *p, size_t n, const struct net_addr *a)
{
	for (size_t i = 0; i < n; i++) {
		if (net_prefix_match(&p[i], a))
			return true;
	}
	return false;
}

static int mask_len(const uint8_t *m, size_t n)
{
	int len = 0;

	for (size_t i = 0; i < n; i++)
		len += __builtin_popcount(m[i]);
	return len;
}

/* An interface without a mask tells nothing of its neighbours. */
static bool prefix_from(const struct ifaddrs *i, struct net_prefix *p)
{
	*p = (struct net_prefix){0};
	if (!i->ifa_addr || !i->ifa_netmask)
		return false;
	p->family = i->ifa_addr->sa_family;
	if (p->family == AF_INET) {
		const struct sockaddr_in *a = (const void *)i->ifa_addr;
		const struct sockaddr_in *m = (const void *)i->ifa_netmask;

		memcpy(p->addr, &a->sin_addr, 4);
		p->len = mask_len((const uint8_t *)&m->sin_addr, 4);
	} else if (p->family == AF_INET6) {
		const struct sockaddr_in6 *a = (const void *)i->ifa_addr;
		const struct sockaddr_in6 *m = (const void *)i->ifa_netmask;

		memcpy(p->addr, &a->sin6_addr, 16);
		p->len = mask_len(m->sin6_addr.s6_addr, 16);
	}
	return p->len > 0;
}

static void read_onlink(struct serve_admit *a)
{
	struct ifaddrs *list = NULL;

	a->n_onlink = 0;
	if (getifaddrs(&list))
		return;
	for (struct ifaddrs *i = list; i && a->n_onlink < SERVE_ONLINK_MAX; i = i->ifa_next)
		a->n_onlink += prefix_from(i, &a->onlink[a->n_onlink]);
	freeifaddrs(list);
}

bool serve_admit_denies(const struct serve_admit *a, const struct net_addr *peer)
{
	return any_match(a->deny, a->n_deny, peer);
}

bool serve_admit_peer(struct serve_admit *a, const struct net_addr *peer, int64_t now_ns)
{
	if (serve_admit_denies(a, peer))
		return false;
	if (a->everyone || net_addr_is_private(peer) || any_match(a->allow, a->n_allow, peer))
		return true;
	if (!a->read_ns || now_ns - a->read_ns > ONLINK_AGE_NS) {
		read_onlink(a);
		a->read_ns = now_ns;
	}
	return any_match(a->onlink, a->n_onlink, peer);
}

bool serve_proto_is_public(const struct proto *p)
{
	static const char *const names[] = {"iperf3"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcmp(names[i], p->name))
			return true;
	}
	return false;
}

bool serve_rate_ok(struct serve_rate *r, int64_t now_ns, int64_t period_ns, uint64_t *missed)
{
	if (now_ns < r->next_ns) {
		r->missed++;
		return false;
	}
	*missed = r->missed;
	*r = (struct serve_rate){.next_ns = now_ns + period_ns};
	return true;
}

#define DEFAULT(field, value) ((field) = (field) ? (field) : (value))

void serve_limits_fill(struct serve_limits *l, bool public_mode, bool one_off)
{
	if (public_mode) {
		DEFAULT(l->tests, 16);
		DEFAULT(l->per_prefix, 4);
		DEFAULT(l->flows, 32);
		DEFAULT(l->duration_ns, 60 * NSEC_PER_SEC);
	}
	DEFAULT(l->tests, 64);
	DEFAULT(l->flows, 1024);
	DEFAULT(l->pending, 2048);
	DEFAULT(l->pending_ns, 10 * NSEC_PER_SEC);
	DEFAULT(l->memory_bytes, (uint64_t)1 << 30);
	DEFAULT(l->queue, 16);
	DEFAULT(l->queue_ns, 600 * NSEC_PER_SEC);
	if (one_off)
		l->tests = 1;
}
