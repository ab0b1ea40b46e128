/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's UDP flows have neither a control connection nor a hello: the first datagram of an
 * unknown sender is its beginning. The flow gets a socket of its own, connected to the sender; what
 * has come meanwhile is handed on to the test's process, because each datagram that is left
 * behind would be a loss that there was not. Nobody vouches for the sender: such flows may take half
 * of the places of their kind and never the only one, beside which one runs; nothing is ever sent to
 * one but the answer to its end.
 */
#include "serve/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATHER_MAX 2048 /* datagrams at a visit */
#define CHAINS     1024
#define HEAD_BYTES 160  /* of each, which is all that is looked at */
#define PORT_MIN   1024 /* below: other services, which would answer (security 2) */

struct item {
	struct net_dgram d;
	uint32_t n; /* its length */
	bool done;
	uint16_t next; /* of its chain, plus 1; 0 = none yet */
	uint8_t p[HEAD_BYTES];
};
struct gather {
	struct item *v;
	size_t n;
	struct proto_early *early;
	uint64_t seed;
	uint16_t last[CHAINS]; /* of each, plus 1: those of one sender are in one, as they came */
};

static size_t chain_of(const struct gather *g, const struct net_addr *from)
{
	const bool v6 = from->sa.sa_family == AF_INET6;
	const uint8_t *p = v6 ? from->in6.sin6_addr.s6_addr : (const uint8_t *)&from->in4.sin_addr;
	uint64_t x = g->seed ^ net_addr_port(from);

	for (size_t i = 0; i < (v6 ? 16 : 4); i++)
		x = (x ^ p[i]) * 0x9e3779b97f4a7c15ULL;
	return (x >> 32) % CHAINS;
}

static void add_to_chain(struct gather *g, size_t i)
{
	uint16_t *last = &g->last[chain_of(g, &g->v[i].d.from)];

	g->v[i].next = 0;
	if (*last)
		g->v[*last - 1].next = (uint16_t)(i + 1);
	*last = (uint16_t)(i + 1);
}

static void drain(struct gather *g, int fd, const struct net_addr *to)
{
	while (g->n < GATHER_MAX) {
		struct item *x = &g->v[g->n];
		ssize_t n = net_udp_recv(fd, x->p, sizeof(x->p), &x->d);

		if (n < 0)
			return;
		x->n = (uint32_t)n;
		x->done = false;
		if (to) /* the socket is bound to it */
			x->d.to = *to;
		add_to_chain(g, g->n++);
	}
}

static bool same_sender(const struct net_dgram *a, const struct net_dgram *b)
{
	return net_addr_same_host(&a->from, &b->from) &&
	       net_addr_port(&a->from) == net_addr_port(&b->from);
}

/* One of our own flows would be served by ourselves, for ever. */
static bool is_own_port(const struct serve_front *f, uint16_t port)
{
	for (size_t i = 0; i < f->n_doors; i++) {
		struct net_addr a = {.len = sizeof(a.ss)};

		if (f->doors[i].listener >= 0 &&
		    !getsockname(f->doors[i].listener, &a.sa, &a.len) && net_addr_port(&a) == port)
			return true;
	}
	return false;
}

/* Only a server for this protocol alone takes them, and answers none. */
static bool is_multicast(const struct net_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&a->in6.sin6_addr)
					   : IN_MULTICAST(ntohl(a->in4.sin_addr.s_addr));
}

/* What comes to a group comes to all sockets that are bound to it: the flow's own, and this one. */
static bool is_another_copy(const struct serve_front *f, const struct net_dgram *d)
{
	bool group = is_multicast(&d->to);
	struct net_addr from = d->from;

	net_addr_unmap(&from);
	for (size_t i = 0; group && i < f->tests.cap; i++) {
		const struct serve_test *t = &f->tests.v[i];

		if (t->pid && t->datagrams && net_addr_same_host(&t->peer, &from) &&
		    net_addr_port(&t->peer) == net_addr_port(&from))
			return true;
	}
	return false;
}

static bool is_beginning(struct serve_front *f, const struct proto *proto, const struct item *x)
{
	uint16_t port = net_addr_port(&x->d.from);
	struct iperf2_hello h;

	if (!x->d.to.len || port < PORT_MIN || is_own_port(f, port) ||
	    (x->d.group && !(f->cfg->only && is_multicast(&x->d.to))) ||
	    !iperf2_udp_read(x->p, x->n, &h) || is_another_copy(f, &x->d))
		return false;
	if (!h.reverse && !h.full_duplex && !h.dual)
		return true;
	serve_log_refusal(f, &x->d.from, proto,
			  "UDP towards a client is not sent on a datagram that anybody can forge");
	return false;
}

static const char *objection(struct serve_front *f, const struct proto *proto,
			     const struct net_addr *peer, char *dst, size_t cap)
{
	const char *why = serve_objection(f, peer, dst, cap);

	if (!why)
		why = serve_no_room(f, proto, serve_prefix_of(peer), dst, cap);
	if (!why && f->queued)
		why = "busy: clients wait for their turn";
	if (!why && serve_tests_of_datagrams(&f->tests) >= (serve_in_band_room(f) + 1) / 2)
		why = "busy: no more places for UDP flows that nobody vouches for";
	return why;
}

/* From x on, what its sender has sent so far. */
static size_t of_sender(struct gather *g, size_t first)
{
	size_t n = 0;

	for (size_t i = first + 1; i; i = g->v[i - 1].next) {
		struct item *x = &g->v[i - 1];

		if (x->done || !same_sender(&x->d, &g->v[first].d))
			continue;
		x->done = true;
		g->early[n++] = (struct proto_early){x->p, x->n, x->d.arrival_ns};
	}
	return n;
}

static void begin(struct serve_front *f, const struct proto *proto, int listener, struct gather *g,
		  size_t i)
{
	const struct net_dgram d = g->v[i].d;
	struct net_addr peer = d.from;
	struct serve_start s = {.proto = proto};
	const struct flow_spec spec = {.transport = NET_UDP}; /* a long queue from the beginning */
	char text[160];
	const char *why;

	net_addr_unmap(&peer);
	why = objection(f, proto, &peer, text, sizeof(text));
	if (why) {
		of_sender(g, i);
		serve_log_refusal(f, &peer, proto, why);
		return;
	}
	s.fd = net_pair_udp(&d.to, &d.from, &(struct net_sock_opts){0}, &spec, NULL);
	if (s.fd < 0) {
		of_sender(g, i);
		return;
	}
	drain(g, listener, NULL); /* while it was not connected yet */
	drain(g, s.fd, &d.to);
	s.peer = peer;
	s.prefix = serve_prefix_of(&peer);
	s.n_early = of_sender(g, i);
	s.early = g->early;
	if (serve_test_start(f, &s) < 0)
		serve_log_refusal(f, &peer, proto, "no process for it");
	close(s.fd);
}

void serve_datagram_event(struct serve_front *f, size_t door, size_t i)
{
	int fd = f->doors[door].udp[i];
	struct gather g = {.v = malloc(GATHER_MAX * sizeof(*g.v)),
			   .early = malloc(GATHER_MAX * sizeof(*g.early))};

	clk_random(&g.seed, sizeof(g.seed));
	if (g.v && g.early)
		drain(&g, fd, NULL);
	for (size_t k = 0; k < g.n && f->doors[door].udp[i] >= 0; k++) {
		if (g.v[k].done)
			continue;
		if (is_beginning(f, f->doors[door].proto, &g.v[k]))
			begin(f, f->doors[door].proto, fd, &g, k);
		else
			g.v[k].done = true;
	}
	free(g.v);
	free(g.early);
}
