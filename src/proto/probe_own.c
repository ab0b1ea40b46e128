/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocols without weir's and iperf3's greeting. Each is asked in its own first words, on the port
 * that was given or on the one that is its own, and is believed when it has answered in its own way.
 * iperf 2's UDP says nothing before a test's end: a test of one datagram is the question.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/priv.h"

#define ASK_NS      NSEC_PER_SEC
#define UDP_LEN     256 /* an answer is no longer than the question */
#define UDP_HEAD    12
#define UDP_TRIES   4
#define UDP_WAIT_NS (250 * NSEC_PER_MSEC)
#define UDP_LEAD_NS (20 * NSEC_PER_MSEC)  /* the end may overtake the datagram before it */
#define SETTLE_NS   (600 * NSEC_PER_MSEC) /* 2.1.8 is deaf for so long after an end of a test */

/* Who has a port of its own, in the order of asking. */
static const struct proto *const own_ports[] = {&proto_iperf2, &proto_nttcp};

static bool wants_udp(const struct proto_session *s)
{
	return s->plan && proto_has_udp(s->plan);
}

static bool by_datagrams(const struct proto_session *s, const struct proto *p)
{
	return p->in_band && wants_udp(s);
}

static int64_t ask_ns(const struct proto_session *s)
{
	return proto_dial_timeout(s) < ASK_NS ? proto_dial_timeout(s) : ASK_NS;
}

const struct proto *proto_own_port(uint16_t port)
{
	for (size_t i = 0; i < ARRAY_LEN(own_ports); i++)
		if (own_ports[i]->port == port)
			return own_ports[i];
	return NULL;
}

int proto_dial_own(struct proto_session *s, const struct proto *p, struct weir_err *e)
{
	struct net_addr addrs[PROTO_ADDRS_MAX];
	int ret;

	s->proto = p;
	if (by_datagrams(s, p) || (p->in_band && s->iperf2 && s->iperf2->back_only)) {
		ret = proto_addrs(s, addrs, e);
		s->peer_addr = ret > 0 ? addrs[0] : s->peer_addr;
	} else {
		ret = proto_open_control(s, p->in_band ? &s->plan->flows[0] : NULL, e);
	}
	if (ret >= 0)
		ret = p->connect(s, e);
	return ret < 0 ? ret : 0;
}

/* ---- iperf 2 -------------------------------------------------------------------------- */

/* A header of its kind is answered by those since 2.0.14. */
static bool is_iperf2(struct proto_session *s)
{
	const struct iperf2_hello h = {.newer = true, .threads = 1, .port = s->port, .bytes = 1};
	uint8_t p[IPERF2_FIRST_MAX];
	char version[32];
	size_t n = iperf2_tcp_put(&h, p);
	bool yes = false;

	if (proto_open_control(s, NULL, NULL) < 0)
		return false;
	if (net_write_full(s->ctl_fd, p, n, clk_mono_ns() + ask_ns(s), s->stop_fd) == 0 &&
	    net_wait_readable(s->ctl_fd, clk_mono_ns() + ask_ns(s), s->stop_fd) == 0) {
		ssize_t got = recv(s->ctl_fd, p, sizeof(p), MSG_DONTWAIT);

		yes = got > 0 && iperf2_ack_get(p, (size_t)got, version, sizeof(version));
	}
	proto_session_fini(s);
	return yes;
}

static void stamp(uint8_t *p, uint32_t number)
{
	int64_t now = clk_real_ns();
	uint32_t words[3] = {htonl(number), htonl((uint32_t)(now / NSEC_PER_SEC)),
			     htonl((uint32_t)(now % NSEC_PER_SEC / NSEC_PER_USEC))};

	memcpy(p, words, sizeof(words));
}

/* 0: a report has come. */
static int hear_report(int fd, int64_t until_ns, int stop_fd)
{
	uint8_t p[IPERF2_REPORT_MAX];
	struct iperf2_report r;
	int ret;

	while ((ret = net_wait_readable(fd, until_ns, stop_fd)) == 0) {
		ssize_t n = recv(fd, p, sizeof(p), MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0 && iperf2_report_get(p, (size_t)n, &r))
			return 0;
	}
	return ret;
}

/* One datagram and its end, four times at most. */
static int ask_datagrams(const struct proto_session *s, int fd)
{
	const struct iperf2_hello h = {.threads = 1, .port = s->port, .bytes = UDP_LEN};
	uint8_t p[UDP_LEN + IPERF2_FIRST_MAX] = {0};
	int ret = -ETIMEDOUT;

	iperf2_tcp_put(&h, p + UDP_HEAD);
	stamp(p, 0);
	if (send(fd, p, UDP_LEN, MSG_NOSIGNAL) < 0)
		return -errno;
	clk_sleep_until(clk_mono_ns() + UDP_LEAD_NS);
	for (int i = 0; i < UDP_TRIES && ret == -ETIMEDOUT; i++) {
		stamp(p, UINT32_MAX); /* -1: there was one */
		ret = send(fd, p, UDP_LEN, MSG_NOSIGNAL) < 0
			      ? -errno
			      : hear_report(fd, clk_mono_ns() + UDP_WAIT_NS, s->stop_fd);
	}
	return ret;
}

/* 0, the address that answers, or why none: refused, or not by then. */
static int ask_udp(struct proto_session *s, struct net_addr *who)
{
	struct net_addr addrs[PROTO_ADDRS_MAX];
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	int n = proto_addrs(s, addrs, NULL), ret = n < 0 ? n : -ECONNREFUSED;

	o.bind_port = 0;
	for (int i = 0; i < n && ret != 0 && ret != -ECANCELED; i++) {
		int fd = net_connect_udp(&addrs[i], &o, NULL, NULL), got = fd;

		if (fd >= 0) {
			got = ask_datagrams(s, fd);
			close(fd);
		}
		*who = addrs[i];
		ret = got == -ECONNREFUSED && i ? ret : got;
	}
	return ret;
}

static int dial_udp(struct proto_session *s, const struct proto *p, const struct net_addr *who,
		    struct weir_err *e)
{
	s->proto = p;
	s->peer_addr = *who;
	net_wait_readable(s->stop_fd, clk_mono_ns() + SETTLE_NS, -1);
	return p->connect(s, e);
}

/* ---- asking ------------------------------------------------------------------------- */

/* -ECONNREFUSED, -ETIMEDOUT: p does not answer, nothing was tested; e is as it was. */
static int ask(struct proto_session *s, const struct proto *p, struct weir_err *e)
{
	int64_t timeout = s->timeout_ns;
	struct weir_err why = {0};
	struct net_addr who;
	int ret;

	proto_session_fini(s);
	if (by_datagrams(s, p) || (p->in_band && s->iperf2 && s->iperf2->back_only)) {
		ret = ask_udp(s, &who);
		return ret < 0 ? ret : dial_udp(s, p, &who, e);
	}
	if (!p->in_band)
		s->timeout_ns = ask_ns(s);
	ret = proto_dial_own(s, p, &why);
	s->timeout_ns = timeout;
	if (ret < 0 && ret != -ECONNREFUSED && ret != -ETIMEDOUT && e)
		*e = why;
	return ret;
}

int proto_ask_own(struct proto_session *s, const struct proto *p, struct weir_err *e)
{
	char peer[160];
	int ret;

	if (!by_datagrams(s, p))
		return proto_dial_own(s, p, e);
	ret = ask(s, p, e);
	if (ret != -ECONNREFUSED && ret != -ETIMEDOUT)
		return ret;
	proto_peer_name(s, peer, sizeof(peer));
	err_set(e, WEIR_PEER, -ret, "%s: no %s answers by UDP (%s); nothing was tested", peer,
		p->name, ret == -ECONNREFUSED ? "refused" : "no report of a datagram within 1 s");
	return err_hint(e, "--proto %s sends all the same", p->name);
}

static const char *outcome(int ret)
{
	return ret == -ECONNREFUSED ? "refused" : "no answer";
}

/* Nobody listens where weir and iperf3 do. */
static int ask_ports(struct proto_session *s, struct weir_err *e)
{
	int rets[ARRAY_LEN(own_ports)];

	for (size_t i = 0; i < ARRAY_LEN(own_ports); i++) {
		const struct proto *p = own_ports[i];

		s->port = p->port;
		rets[i] = ask(s, p, e);
		if (rets[i] == 0)
			snprintf(s->found, sizeof(s->found),
				 "%s answers on port %u, nobody on %d (weir, iperf3)", p->name,
				 p->port, PROTO_PORT);
		if (rets[i] != -ECONNREFUSED && rets[i] != -ETIMEDOUT)
			return rets[i];
	}
	s->port = PROTO_PORT; /* where it may be tried again */
	err_hint(e, "nor do the others on their ports: iperf 2 (%s %d: %s), nttcp (TCP %d: %s)",
		 wants_udp(s) ? "UDP" : "TCP", own_ports[0]->port, outcome(rets[0]),
		 own_ports[1]->port, outcome(rets[1]));
	return -ECONNREFUSED;
}

/* The port was given, and weir's greeting is not understood there. */
static int ask_there(struct proto_session *s, int ret, struct weir_err *e)
{
	const struct proto *found = NULL;
	bool listens = ret != -ECONNREFUSED, udp = wants_udp(s);
	int got;

	if (listens && ret != -ENOMSG && !udp) {
		proto_session_fini(s);
		found = is_iperf2(s) ? &proto_iperf2 : NULL;
	}
	if (found)
		got = proto_dial_own(s, found, e);
	else if (listens && (got = ask(s, &proto_nttcp, NULL)) == 0)
		found = &proto_nttcp;
	else if (udp && (got = ask(s, &proto_iperf2, NULL)) == 0)
		found = &proto_iperf2;
	else
		return ret;
	snprintf(s->found, sizeof(s->found), "%s answers there, not weir or iperf3", found->name);
	return got;
}

int proto_ask_others(struct proto_session *s, int ret, bool given, struct weir_err *e)
{
	if (ret == -ECONNREFUSED && !given)
		return ask_ports(s, e);
	if (ret == -ECONNREFUSED ? !wants_udp(s)
				 : s->proto || s->ctl_fd < 0 ||
					   (ret != -ETIMEDOUT && ret != -ECONNRESET &&
					    ret != -EPIPE && ret != -ENOMSG))
		return ret;
	return ask_there(s, ret, e);
}
