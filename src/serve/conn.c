/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first bytes of a connection decide what it is: a data connection of a test that waits for
 * it, a new test, or nothing that is served. Exactly the bytes that tell are read, because what
 * follows belongs to the child. Who is refused hears `ff`, iperf3's own word for it, and is
 * listened to for another second: unread bytes would make a reset that destroys it.
 */
#include "serve/priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define DRAIN_NS   NSEC_PER_SEC
#define RETRY_NS   NSEC_PER_MSEC
#define DRAIN_SIZE (256 << 10)

static size_t index_of(const struct serve_front *f, const struct serve_conn *c)
{
	return (size_t)(c - f->pool.conns);
}

static void leave_queue(struct serve_front *f, struct serve_conn *c)
{
	if (c->state != SERVE_CONN_QUEUED)
		return;
	c->state = SERVE_CONN_READY;
	f->queued--;
}

/* Deleted from epoll by hand: a child may hold the same open file. */
void serve_conn_close(struct serve_front *f, struct serve_conn *c)
{
	leave_queue(f, c);
	serve_heap_del(&f->heap, &c->timer);
	epoll_ctl(f->ep, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	serve_pool_del(&f->pool, c);
}

/* A protocol that has no cookie is let in by its first bytes, which stay in the socket. */
static void wake_at(int fd, const struct proto *own)
{
	int n = (int)own->pre_bytes;

	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof(n));
}

void serve_conn_take(struct serve_front *f, int take_fd, const struct net_addr *peer,
		     const struct proto *own)
{
	uint64_t prefix = serve_prefix_of(peer);
	struct serve_conn *c = serve_pool_add(&f->pool, prefix);

	if (!c) {
		serve_conn_close(f, serve_pool_victim(&f->pool));
		c = serve_pool_add(&f->pool, prefix);
	}
	c->fd = take_fd;
	c->peer = *peer;
	c->own = own;
	if (own)
		wake_at(take_fd, own);
	c->seq = ++f->seq;
	c->state = SERVE_CONN_READ;
	c->timer.kind = SERVE_T_CONN;
	c->deadline_ns = clk_mono_ns() + f->lim.pending_ns;
	serve_heap_set(&f->heap, &c->timer, c->deadline_ns);
	if (serve_watch(f, c->fd, EPOLLIN, SERVE_S_CONN, index_of(f, c)) < 0)
		serve_conn_close(f, c);
}

static void watch_for(struct serve_front *f, struct serve_conn *c, uint32_t events)
{
	struct epoll_event ev = {.events = events,
				 .data.u64 = (uint64_t)SERVE_S_CONN << 32 | index_of(f, c)};

	epoll_ctl(f->ep, EPOLL_CTL_MOD, c->fd, &ev);
}

static enum proto_sniff sniff(const struct serve_front *f, const struct serve_conn *c,
			      const struct proto *p)
{
	bool iperf3_only = f->cfg->public_mode || (f->cfg->login && !f->cfg->psk);

	if (p->no_cookie || p->pre_bytes < PROTO_COOKIE_LEN || p->pre_bytes > SERVE_PRE_MAX ||
	    (iperf3_only && !serve_proto_is_public(p)))
		return PROTO_SNIFF_NO;
	return p->sniff(c->buf, c->have);
}

/* Bytes still to be read before anything can be said; 0: *p has all of its, or nothing fits. */
static size_t missing(const struct serve_front *f, const struct serve_conn *c,
		      const struct proto **p)
{
	const struct proto *at;
	size_t least = 0;

	*p = c->own;
	if (c->own)
		return 0;
	for (size_t i = 0; (at = proto_at(i)); i++) {
		enum proto_sniff s = sniff(f, c, at);
		size_t left = at->pre_bytes > c->have ? at->pre_bytes - c->have : 0;

		if (s == PROTO_SNIFF_YES && !left) {
			*p = at;
			return 0;
		}
		if (s != PROTO_SNIFF_NO && left && (!least || left < least))
			least = left;
	}
	return least;
}

/* In the words of its protocol; what is unread of a connection that is closed would reset it. */
static void refuse(struct serve_front *f, struct serve_conn *c, enum proto_say what)
{
	struct proto_session s = {.role = PROTO_SERVER, .ctl_fd = c->fd};

	if (missing(f, c, &s.proto) || !s.proto)
		s.proto = proto_find("iperf3");
	leave_queue(f, c);
	if (c->state == SERVE_CONN_READY)
		watch_for(f, c, EPOLLIN);
	c->state = SERVE_CONN_DRAIN;
	s.proto->say(&s, what);
	if (shutdown(c->fd, SHUT_WR) < 0)
		serve_conn_close(f, c);
	else
		serve_heap_set(&f->heap, &c->timer, clk_mono_ns() + DRAIN_NS);
}

/* Kept until a child has made room; not looked at meanwhile. */
static void hold(struct serve_front *f, struct serve_conn *c)
{
	leave_queue(f, c);
	if (c->state != SERVE_CONN_READY)
		watch_for(f, c, 0);
	c->state = SERVE_CONN_READY;
	serve_heap_set(&f->heap, &c->timer, clk_mono_ns() + RETRY_NS);
}

static void give(struct serve_front *f, struct serve_conn *c, struct serve_test *t)
{
	int r = serve_test_give(f, t, c->seq, c->fd);

	if (r == -EAGAIN)
		hold(f, c);
	else if (r < 0)
		refuse(f, c, PROTO_SAY_BUSY);
	else
		serve_conn_close(f, c);
}

const char *serve_objection(struct serve_front *f, const struct net_addr *peer, char *dst,
			    size_t cap)
{
	char addr[64];

	if (f->stage != SERVE_RUNS)
		return "the server is about to stop";
	if (serve_admit_denies(&f->admit, peer))
		return "denied (--deny)";
	if (!serve_admit_peer(&f->admit, peer, clk_mono_ns())) {
		net_addr_text(peer, addr, sizeof(addr));
		snprintf(dst, cap,
			 "neither a private nor an on-link address; --allow %s/%d would serve it",
			 addr, peer->sa.sa_family == AF_INET ? 32 : 128);
		return dst;
	}
	return NULL;
}

size_t serve_in_band_room(const struct serve_front *f)
{
	return f->cfg->only ? f->lim.tests : (f->lim.tests + 1) / 2;
}

/* Four bytes take such a place: other protocols keep half of all, other addresses a quarter of the rest. */
static const char *no_room_in_band(const struct serve_front *f, uint64_t prefix)
{
	size_t most = serve_in_band_room(f);

	if (serve_tests_in_band(&f->tests, NULL) >= most)
		return "busy: half of all places (--tests) is the most for protocols without a "
		       "control connection";
	if (serve_tests_in_band(&f->tests, &prefix) >= most - most / 4)
		return "busy: one address has three quarters of the places for such protocols";
	return NULL;
}

const char *serve_no_room(struct serve_front *f, const struct proto *proto, uint64_t prefix,
			  char *dst, size_t cap)
{
	size_t taken = serve_tests_taken(&f->tests);

	if (taken >= f->lim.tests) {
		snprintf(dst, cap, "busy: %zu tests at once (--tests)", taken);
		return dst;
	}
	if (f->lim.per_prefix && serve_tests_of_prefix(&f->tests, prefix) >= f->lim.per_prefix) {
		snprintf(dst, cap, "busy: %zu tests at once of one network (--per-network)",
			 f->lim.per_prefix);
		return dst;
	}
	return proto->in_band && !f->cfg->only && f->lim.tests > 1 ? no_room_in_band(f, prefix)
								   : NULL;
}

/* ---- turns: with --exclusive who comes while a test runs waits, in order of arrival ---- */

static struct serve_conn *first_waiting(const struct serve_front *f)
{
	struct serve_conn *first = NULL;

	for (size_t i = 0; f->queued && i < f->pool.cap; i++) {
		struct serve_conn *c = &f->pool.conns[i];

		if (c->state == SERVE_CONN_QUEUED && (!first || c->seq < first->seq))
			first = c;
	}
	return first;
}

static size_t waiting_of(const struct serve_group *g)
{
	size_t n = 0;

	for (const struct serve_conn *c = g->oldest; c; c = c->newer)
		n += c->state == SERVE_CONN_QUEUED;
	return n;
}

static bool must_wait(const struct serve_front *f, const struct serve_conn *c)
{
	const struct serve_conn *first = first_waiting(f);

	return f->cfg->exclusive &&
	       (serve_tests_taken(&f->tests) >= f->lim.tests || (first && first != c));
}

/* A client that leaves or dies meanwhile is noticed: by its end, or by the keepalive. */
static const char *wait_turn(struct serve_front *f, struct serve_conn *c, char *dst, size_t cap)
{
	if (c->state == SERVE_CONN_QUEUED)
		return NULL;
	if (f->queued >= f->lim.queue) {
		snprintf(dst, cap, "busy: %zu clients wait already (--queue)", f->queued);
		return dst;
	}
	if (f->lim.per_prefix && waiting_of(c->group) >= f->lim.per_prefix) {
		snprintf(dst, cap, "busy: %zu clients of one network wait already (--per-network)",
			 f->lim.per_prefix);
		return dst;
	}
	net_tcp_control_opts(c->fd);
	watch_for(f, c, EPOLLRDHUP);
	c->state = SERVE_CONN_QUEUED;
	c->deadline_ns = clk_mono_ns() + f->lim.queue_ns;
	serve_heap_set(&f->heap, &c->timer, c->deadline_ns);
	f->queued++;
	return NULL;
}

static void admit(struct serve_front *f, struct serve_conn *c, const struct proto *p)
{
	char text[160];
	const char *why = serve_objection(f, &c->peer, text, sizeof(text));
	enum proto_say what = f->stage != SERVE_RUNS ? PROTO_SAY_STOPPED
			      : why                  ? PROTO_SAY_REFUSED
						     : PROTO_SAY_BUSY;
	int r;

	if (!why && must_wait(f, c)) {
		why = wait_turn(f, c, text, sizeof(text));
		if (!why)
			return;
	} else if (!why) {
		why = serve_no_room(f, p, c->group->prefix, text, sizeof(text));
		/* Who comes back at once must not be refused for the sake of a process at its end. */
		if (why && serve_tests_ending(&f->tests)) {
			hold(f, c);
			return;
		}
	}
	if (!why) {
		r = serve_test_start(f, &(struct serve_start){.proto = p,
							      .fd = c->fd,
							      .peer = c->peer,
							      .prefix = c->group->prefix,
							      .cookie = c->own ? NULL : c->buf});
		if (!r) {
			serve_conn_close(f, c);
			return;
		}
		snprintf(text, sizeof(text), "no process for it: %s", strerror(-r));
		why = text;
	}
	serve_log_refusal(f, &c->peer, p, why);
	refuse(f, c, what);
}

static void complete(struct serve_front *f, struct serve_conn *c, const struct proto *p)
{
	struct serve_test *t = c->own ? NULL : serve_tests_find(&f->tests, c->buf);

	if (t)
		give(f, c, t);
	else
		admit(f, c, p);
}

static void read_more(struct serve_front *f, struct serve_conn *c)
{
	const struct proto *p;
	size_t want;

	while ((want = missing(f, c, &p))) {
		ssize_t n = recv(c->fd, c->buf + c->have, want, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			serve_conn_close(f, c);
			return;
		}
		c->have += (size_t)n;
	}
	if (p)
		complete(f, c, p);
	else
		refuse(f, c, PROTO_SAY_BUSY);
}

static void look_at_own(struct serve_front *f, struct serve_conn *c)
{
	ssize_t n = recv(c->fd, c->buf, c->own->pre_bytes, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		serve_conn_close(f, c);
	else /* fewer than it waits for: its end is behind them */
		complete(f, c, c->own);
}

/* MSG_TRUNC: thrown away in the kernel. */
static void drain(struct serve_front *f, struct serve_conn *c)
{
	ssize_t n = recv(c->fd, NULL, DRAIN_SIZE, MSG_DONTWAIT | MSG_TRUNC);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		serve_conn_close(f, c);
}

void serve_conn_event(struct serve_front *f, struct serve_conn *c)
{
	switch (c->state) {
	case SERVE_CONN_READ:
		if (c->own)
			look_at_own(f, c);
		else
			read_more(f, c);
		return;
	case SERVE_CONN_DRAIN:
		drain(f, c);
		return;
	case SERVE_CONN_READY: /* only the end is told: it is dead */
	case SERVE_CONN_QUEUED:
		serve_conn_close(f, c);
		return;
	case SERVE_CONN_FREE: /* an event of what was here before */
		return;
	}
}

void serve_conn_expired(struct serve_front *f, struct serve_conn *c)
{
	const struct proto *p;

	if (c->state == SERVE_CONN_QUEUED) {
		serve_log_refusal(f, &c->peer, NULL,
				  "its turn did not come in time (--queue-time)");
		refuse(f, c, PROTO_SAY_BUSY);
	} else if (c->state == SERVE_CONN_READY && clk_mono_ns() < c->deadline_ns &&
		   !missing(f, c, &p) && p) {
		complete(f, c, p);
	} else {
		serve_conn_close(f, c);
	}
}

void serve_queue_step(struct serve_front *f)
{
	const struct proto *p;
	struct serve_conn *c;

	while (f->stage == SERVE_RUNS && serve_tests_taken(&f->tests) < f->lim.tests &&
	       (c = first_waiting(f))) {
		size_t before = f->queued;

		if (!missing(f, c, &p) && p)
			complete(f, c, p);
		if (f->queued == before)
			return;
	}
}

void serve_queue_refuse(struct serve_front *f, const char *why)
{
	struct serve_conn *c;

	while ((c = first_waiting(f))) {
		serve_log_refusal(f, &c->peer, NULL, why);
		refuse(f, c, PROTO_SAY_STOPPED);
	}
}
