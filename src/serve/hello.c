/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many tests take UDP on one port, and a datagram says little of whose it is. So only a hello from
 * the address of a control connection whose test waits for it gets a socket of its own, paired with
 * its sender; everything else falls silent. iperf3's hello names no test: behind one address, one
 * test after the other is let in. What a new socket takes in between bind and connect, where the
 * kernel does not keep it for the first one, are other clients' hellos, which never come again; they
 * are taken out and dispatched as if they had come here.
 */
#include "serve/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_NS   (5 * NSEC_PER_SEC) /* for one test's hellos, while others wait */
#define LOOK_NS   (100 * NSEC_PER_MSEC)
#define VISIT_MAX 256 /* datagrams at a visit, then the others have their turn */
#define BACK_MAX  1024

/* ---- sockets ---------------------------------------------------------------------- */

static bool takes_both(const struct net_addr *a, int fd)
{
	int only = 1;
	socklen_t n = sizeof(only);

	return a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr) &&
	       !getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &n) && !only;
}

size_t serve_udp_open(int listener, int fds[SERVE_UDP_MAX], struct weir_err *e)
{
	struct net_addr a = {.len = sizeof(a.ss)};
	struct net_sock_opts o = {0};
	char host[80];
	size_t n = 0;
	int fd;

	if (getsockname(listener, &a.sa, &a.len) || a.sa.sa_family == AF_UNIX) {
		err_set(e, WEIR_OS, ENOTSOCK, "the listener has no port");
		return 0;
	}
	net_addr_text(&a, host, sizeof(host));
	o.family = a.sa.sa_family;
	o.bind_host = host;
	fd = net_listen_udp(&o, net_addr_port(&a), e);
	if (fd >= 0)
		fds[n++] = fd;
	if (takes_both(&a, listener)) {
		o = (struct net_sock_opts){.family = AF_INET};
		fd = net_listen_udp(&o, net_addr_port(&a), e);
		if (fd >= 0)
			fds[n++] = fd;
	}
	return n;
}

bool serve_udp_is_served(const struct serve_front *f)
{
	return f->doors[0].udp[0] >= 0;
}

/* ---- turns ------------------------------------------------------------------------ */

static bool same_ends(const struct serve_test *a, const struct serve_test *b)
{
	return net_addr_same_host(&a->peer, &b->peer) && net_addr_same_host(&a->local, &b->local);
}

/* The test that holds t up, or NULL. */
static struct serve_test *holder(const struct serve_front *f, const struct serve_test *t)
{
	for (size_t i = 0; i < f->tests.cap; i++) {
		struct serve_test *o = &f->tests.v[i];

		if (o != t && o->pid && o->udp == SERVE_UDP_OPEN && !o->has_token &&
		    !t->has_token && same_ends(o, t))
			return o;
	}
	return NULL;
}

static void say_turn(const struct serve_test *t, bool yes)
{
	struct serve_msg m = {.type = SERVE_MSG_TURN, .a = yes};

	serve_chan_send(t->chan, &m, -1);
}

static struct serve_test *longest_waiting(const struct serve_front *f, uint64_t after)
{
	struct serve_test *best = NULL;

	for (size_t i = 0; i < f->tests.cap; i++) {
		struct serve_test *t = &f->tests.v[i];

		if (t->pid && t->udp == SERVE_UDP_WAITS && t->turn > after &&
		    (!best || t->turn < best->turn))
			best = t;
	}
	return best;
}

static void next_turns(struct serve_front *f)
{
	int64_t now = clk_mono_ns();
	struct serve_test *t;
	bool waits = false;

	for (uint64_t after = 0; (t = longest_waiting(f, after)); after = t->turn) {
		if (holder(f, t)) {
			waits = true;
			continue;
		}
		t->udp = SERVE_UDP_OPEN;
		t->udp_until = now + TURN_NS;
		say_turn(t, true);
	}
	if (waits)
		serve_heap_set(&f->heap, &f->udp_timer, now + LOOK_NS);
}

void serve_udp_expect(struct serve_front *f, struct serve_test *t, const struct serve_msg *m)
{
	if (!serve_udp_is_served(f) || t->local.len == 0) {
		say_turn(t, false);
		return;
	}
	t->has_token = m->len == PROTO_TOKEN_LEN;
	if (t->has_token)
		memcpy(t->token, m->text, PROTO_TOKEN_LEN);
	t->udp = SERVE_UDP_WAITS;
	t->turn = ++f->seq;
	next_turns(f);
}

void serve_udp_done(struct serve_front *f, struct serve_test *t)
{
	bool open = t->udp == SERVE_UDP_OPEN;

	t->udp = SERVE_UDP_NONE;
	if (open)
		next_turns(f);
}

/* Who has had its time while others wait is out. */
void serve_udp_expired(struct serve_front *f)
{
	int64_t now = clk_mono_ns();
	struct serve_test *t, *first;

	for (uint64_t after = 0; (t = longest_waiting(f, after)); after = t->turn) {
		first = holder(f, t);
		if (!first || now < first->udp_until)
			continue;
		first->udp = SERVE_UDP_NONE;
		first->expect = first->given;
		say_turn(first, false);
	}
	next_turns(f);
}

/* ---- hellos ----------------------------------------------------------------------- */

/* Hellos that another socket took in, still to be dispatched. */
struct back {
	struct item {
		struct net_dgram d;
		uint8_t p[PROTO_HELLO_MAX];
		size_t n;
	} * v;
	size_t n, cap;
};

static void back_put(struct back *b, const struct net_dgram *d, const uint8_t *p, size_t n)
{
	if (b->n == b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 16;
		struct item *v = cap > BACK_MAX ? NULL : realloc(b->v, cap * sizeof(*v));

		if (!v)
			return;
		b->v = v;
		b->cap = cap;
	}
	b->v[b->n] = (struct item){.d = *d, .n = n};
	memcpy(b->v[b->n++].p, p, n);
}

/* The same time whatever differs. */
static bool same_token(const uint8_t *a, const uint8_t *b)
{
	unsigned diff = 0;

	for (size_t i = 0; i < PROTO_TOKEN_LEN; i++)
		diff |= a[i] ^ b[i];
	return !diff;
}

static struct serve_test *expecting(const struct serve_front *f, const struct net_dgram *d,
				    const struct proto_hello *h)
{
	for (size_t i = 0; d->to.len && i < f->tests.cap; i++) {
		struct serve_test *t = &f->tests.v[i];

		if (t->pid && t->chan >= 0 && t->udp == SERVE_UDP_OPEN && t->given < t->expect &&
		    t->has_token == (h->token != NULL) && net_addr_same_host(&t->peer, &d->from) &&
		    net_addr_same_host(&t->local, &d->to) &&
		    (!h->token || same_token(t->token, h->token)))
			return t;
	}
	return NULL;
}

static bool same_sender(const struct net_addr *a, const struct net_addr *b)
{
	return net_addr_same_host(a, b) && net_addr_port(a) == net_addr_port(b);
}

/* What came in between bind and connect. The peer's own can only be its hello once more: it sends
 * nothing else before it is answered. */
static void drain_pair(int fd, const struct net_dgram *pair, struct back *b)
{
	uint8_t p[PROTO_HELLO_MAX + 1];
	struct proto_hello h;
	struct net_dgram d;
	ssize_t n = 0;

	/* Its peer may send on and on. */
	for (int k = 0; k < BACK_MAX && n != -EAGAIN; k++) {
		n = net_udp_recv(fd, p, sizeof(p), &d);
		if (n > 0 && (size_t)n < sizeof(p) && !same_sender(&d.from, &pair->from) &&
		    proto_hello_read(p, (size_t)n, &h)) {
			d.to = pair->to; /* the socket is bound to it */
			back_put(b, &d, p, (size_t)n);
		} else if (n < 0 && n != -EAGAIN) {
			return;
		}
	}
}

/* Both families' sockets are alike. */
static bool is_everywhere(const struct serve_front *f)
{
	struct net_addr a = {.len = sizeof(a.ss)};

	if (f->doors[0].udp[0] < 0 || getsockname(f->doors[0].udp[0], &a.sa, &a.len))
		return false;
	return a.sa.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&a.in6.sin6_addr)
					  : a.in4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static void take_hello(struct serve_front *f, const struct net_dgram *d, const uint8_t *p, size_t n,
		       struct back *b)
{
	struct proto_hello h;
	struct serve_test *t = proto_hello_read(p, n, &h) ? expecting(f, d, &h) : NULL;
	int fd;

	if (!t)
		return;
	fd = net_pair_udp(&d->to, &d->from, &(struct net_sock_opts){.everywhere = is_everywhere(f)},
			  NULL, NULL);
	if (fd < 0)
		return;
	drain_pair(fd, d, b);
	if (serve_test_give(f, t, ++f->seq, fd) == 0)
		send(fd, h.answer, sizeof(h.answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void take_back(struct serve_front *f, struct back *b)
{
	while (b->n) {
		struct item x = b->v[--b->n];

		take_hello(f, &x.d, x.p, x.n, b);
	}
	free(b->v);
}

bool serve_udp_again(struct serve_front *f, struct serve_test *t, const struct serve_msg *m)
{
	struct net_dgram d = {0};
	struct serve_again a;
	struct proto_hello h;

	if (m->len != sizeof(a) || t->again)
		return false;
	memcpy(&a, m->text, sizeof(a));
	/* It is the child that says so: only what is of its own test is believed. */
	if (a.n > sizeof(a.hello) || !proto_hello_read(a.hello, a.n, &h) ||
	    !net_addr_same_host(&a.from, &t->peer) || !net_addr_same_host(&a.to, &t->local))
		return false;
	d.from = a.from;
	d.to = a.to;
	if (!expecting(f, &d, &h))
		return false;
	t->again = malloc(sizeof(a));
	if (t->again)
		*t->again = a;
	return true;
}

void serve_udp_retry(struct serve_front *f, struct serve_again *take_again)
{
	struct back b = {0};

	if (take_again) {
		struct net_dgram d = {.from = take_again->from, .to = take_again->to};

		back_put(&b, &d, take_again->hello, take_again->n);
	}
	take_back(f, &b);
	free(take_again);
}

void serve_udp_event(struct serve_front *f, size_t i)
{
	uint8_t p[PROTO_HELLO_MAX + 1];
	struct back b = {0};
	struct net_dgram d;
	ssize_t n;

	for (int k = 0; k < VISIT_MAX && f->doors[0].udp[i] >= 0; k++) {
		n = net_udp_recv(f->doors[0].udp[i], p, sizeof(p), &d);
		if (n < 0)
			break;
		if ((size_t)n < sizeof(p))
			take_hello(f, &d, p, (size_t)n, &b);
	}
	take_back(f, &b);
}
