/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2 as a server: what stands in the first bytes of a connection, or in the first datagram of
 * an unknown sender, becomes the plan. Only a TCP connection proves where its peer is, so only there
 * is anything sent but the answer to a flow's end.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/iperf2_priv.h"

#define BURST_LEN       (128 << 10)
#define FIRST_NS        (4 * NSEC_PER_SEC) /* for a header that has begun */
#define TIME_DEFAULT_NS (10 * NSEC_PER_SEC)
#define FIN_SILENCE_NS  (500 * NSEC_PER_MSEC)
#define FIN_ANSWERS     16
#define FIN_LOOK_NS     (5 * NSEC_PER_MSEC)
#define HANGUP_NS       (2 * NSEC_PER_SEC)
#define WASTE           4096
#define PROOF_DATAGRAMS 10 /* that a flow was no stray datagram */
#define PROOF_SECONDS   0.1
#define PROOF_BYTES     (64U << 10) /* that a stream without a header was no scanner's */

static bool is_udp(int fd)
{
	int type = 0;
	socklen_t n = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) && type == SOCK_DGRAM;
}

/* What the connection begins with, left in it. A peer that is silent or ends has said all. */
static int peek_hello(struct proto_session *s, struct iperf2_hello *h, uint8_t p[IPERF2_FIRST_MAX])
{
	int64_t deadline = clk_mono_ns() + FIRST_NS;
	int want = 4, ret;

	for (;;) {
		ssize_t n;

		setsockopt(s->ctl_fd, SOL_SOCKET, SO_RCVLOWAT, &want, sizeof(want));
		ret = net_wait_readable(s->ctl_fd, deadline, s->stop_fd);
		n = recv(s->ctl_fd, p, IPERF2_FIRST_MAX, MSG_PEEK | MSG_DONTWAIT);
		if (ret == -ECANCELED || (n < 0 && errno != EAGAIN && errno != EINTR))
			return ret ? ret : -errno;
		if (n < 0)
			n = 0;
		size_t more = iperf2_tcp_read(p, (size_t)n, h);
		if (!more)
			return 0;
		if (ret < 0 || n < want) { /* silent, or at its end */
			*h = (struct iperf2_hello){0};
			return 0;
		}
		want = (int)n + (int)more;
	}
}

static bool key_fits(const struct proto_session *s, const struct iperf2_hello *h)
{
	const char *key = s->iperf2 ? s->iperf2->key : NULL;
	size_t n = key ? strlen(key) : 0;

	if (!key)
		return !h->key;
	return h->key && h->key_len == n && proto_psk_same(key, (const char *)h->key, n);
}

/* A sender here needs an end, and keeps to the server's rate. */
static void bound_down(struct flow_plan *p, const struct iperf2_hello *h,
		       const struct proto_limits *lim)
{
	struct flow_spec *f = &p->flows[p->n - 1];

	p->duration_ns = h->time_ns;
	p->bytes = h->time_ns ? 0 : h->bytes;
	if (!p->duration_ns && !p->bytes)
		p->duration_ns = TIME_DEFAULT_NS;
	if (lim->duration_ns && (!p->duration_ns || p->duration_ns > lim->duration_ns)) {
		p->duration_ns = lim->duration_ns;
		p->bytes = 0;
	}
	f->rate_bps = h->rate_bps;
	if (lim->rate_bps && (!f->rate_bps || f->rate_bps > lim->rate_bps))
		f->rate_bps = lim->rate_bps;
}

static int plan_of(struct proto_session *s, const struct flow_spec *spec, bool up, bool down,
		   struct weir_err *e)
{
	s->plan = calloc(1, sizeof(*s->plan));
	if (!s->plan || flow_plan_init(s->plan, spec, up, down))
		return err_os(e, ENOMEM, "flow plan");
	return 0;
}

static void name_peer(struct proto_session *s, const struct iperf2_hello *h)
{
	snprintf(s->peer.tool, sizeof(s->peer.tool), "%s", h->header ? "iperf" : "stream");
	iperf2_version(h->version_u, h->version_l, s->peer.version, sizeof(s->peer.version));
}

/* Read off, so that closing does not reset the connection. */
static void skip_bytes(struct proto_session *s, size_t n)
{
	uint8_t waste[IPERF2_FIRST_MAX];

	proto_read(s, waste, n < sizeof(waste) ? n : sizeof(waste), clk_mono_ns() + FIRST_NS,
		   s->stop_fd);
}

static int accept_tcp(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	uint8_t p[IPERF2_FIRST_MAX], ack[IPERF2_ACK];
	struct iperf2_hello h;
	const int one = 1;
	int ret = peek_hello(s, &h, p);

	setsockopt(s->ctl_fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	if (ret < 0)
		return proto_read_err(s, ret, "reading its first bytes", e);
	name_peer(s, &h);
	if (h.bounceback)
		return err_set(e, WEIR_LIMIT, EOPNOTSUPP, "bounce-back is not served");
	if (!key_fits(s, &h))
		return err_set(e, WEIR_PEER, EACCES, "its access key is not the one here");
	if (h.dual)
		snprintf(s->lowered, sizeof(s->lowered),
			 "a connection back (-%s) is not made: a server calls nobody",
			 h.now ? "d" : "r");
	ret = plan_of(
		s,
		&(struct flow_spec){
			.transport = NET_TCP,
			.note_last = true,
			.timed = h.trip_times ? NET_TIMED_BURSTS : NET_TIMED_NOTHING,
			.timed_skip = h.key_len ? IPERF2_HEADER + 22 + (uint32_t)h.key_len : 0,
			.digits = h.reverse || h.full_duplex,
			.tos = lim->no_high_dscp && h.tos >= 0xc0 ? 0 : h.tos},
		!h.reverse, h.reverse || h.full_duplex, e);
	if (ret < 0)
		return ret;
	if (h.reverse || h.full_duplex)
		bound_down(s->plan, &h, lim);
	else
		s->plan->duration_ns = lim->duration_ns;
	if (h.reverse)
		skip_bytes(s, IPERF2_HEADER + (h.key_len ? 2 + h.key_len : 0));
	else if (h.skip)
		skip_bytes(s, h.skip);
	if (h.peer_detect)
		proto_say_bytes(s->ctl_fd, ack, iperf2_ack_put(ack));
	return 0;
}

static int accept_udp(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	const struct proto_early *first = s->n_early ? &s->early[0] : NULL;
	struct iperf2_hello h;
	int ret;

	if (!first || !iperf2_udp_read(first->p, first->n, &h))
		return err_set(e, WEIR_PEER, EPROTO, "no datagram of iperf 2's");
	name_peer(s, &h);
	if (h.reverse || h.full_duplex || h.dual)
		return err_set(e, WEIR_LIMIT, EOPNOTSUPP,
			       "UDP towards a client is not sent on a datagram that anybody can "
			       "forge");
	ret = plan_of(s,
		      &(struct flow_spec){.transport = NET_UDP,
					  .len = first->n,
					  .rate_bps = h.rate_bps,
					  .counters_64bit = h.wide,
					  .timed = h.trip_times ? NET_TIMED_WAY : NET_TIMED_NOTHING,
					  .udp_form = NET_UDP_IPERF2,
					  .udp_from_zero = h.from_zero},
		      true, false, e);
	if (ret == 0)
		s->plan->duration_ns = lim->duration_ns;
	return ret;
}

int iperf2_server_accept(struct proto_session *s, const struct proto_limits *lim,
			 struct weir_err *e)
{
	return is_udp(s->ctl_fd) ? accept_udp(s, lim, e) : accept_tcp(s, lim, e);
}

/* A client that asked for trip times finds the same header in what we send, and bursts that tell
 * theirs. */
static int send_times(struct proto_session *s, struct weir_err *e)
{
	struct iperf2_hello h = {.newer = true,
				 .trip_times = true,
				 .threads = 1,
				 .port = s->port,
				 .time_ns = s->plan->duration_ns,
				 .start_real_ns = clk_real_ns()};
	struct flow_spec *f = &s->plan->flows[s->plan->n - 1];
	struct iperf2_state *st = s->state;
	size_t n;
	int ret;

	if (f->dir != NET_DOWN || f->timed != NET_TIMED_BURSTS)
		return 0;
	n = iperf2_tcp_put(&h, st->head);
	ret = net_write_full(st->fd[0], st->head, n, clk_mono_ns() + FIRST_NS, s->stop_fd);
	st->bursts = (struct net_bursts){.stamp = true, .head = st->head};
	f->bursts = &st->bursts;
	f->len = f->len ? f->len : BURST_LEN;
	f->timed = NET_TIMED_NOTHING;
	return ret < 0 ? proto_read_err(s, ret, "saying when it was sent", e) : 0;
}

int iperf2_server_streams(struct proto_session *s, struct weir_err *e)
{
	struct iperf2_state *st;
	int ret = proto_fds_new(s, s->plan->n, e);

	if (ret == 0)
		ret = iperf2_state_new(s, s->plan->n, e);
	if (ret < 0)
		return ret;
	st = s->state;
	st->newer = s->plan->flows[0].counters_64bit;
	st->len = s->plan->flows[0].len;
	st->fd[0] = dup(s->ctl_fd);
	if (s->plan->n > 1)
		s->fds[1] = dup(s->ctl_fd);
	s->fds[0] = s->ctl_fd;
	s->ctl_fd = -1;
	if (st->fd[0] < 0 || (s->plan->n > 1 && s->fds[1] < 0))
		return err_os(e, errno, "data connection");
	ret = proto_apply(s->fds[0], &s->plan->flows[0], e);
	if (ret == 0)
		ret = send_times(s, e);
	if (ret == 0)
		iperf2_tell_opened(s);
	return ret;
}

/* ---- the end ---- */

/* A client that still sends, or reads, when its server has closed would see a reset. */
static void await_hangup(const struct proto_session *s, int fd, int64_t deadline_ns)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLRDHUP},
			      {.fd = s->stop_fd, .events = POLLIN}};
	int64_t left;

	while ((left = deadline_ns - clk_mono_ns()) > 0 && !p[0].revents && !p[1].revents)
		poll(p, 2, (int)(left / NSEC_PER_MSEC) + 1);
}

/* The length of the end that came once more, 0 when none does. The engine has shut the socket for
 * reading, so it is always readable. */
static size_t end_again(const struct proto_session *s, int fd, int64_t deadline_ns)
{
	uint8_t p[WASTE];

	while (clk_mono_ns() < deadline_ns) {
		ssize_t n = recv(fd, p, sizeof(p), MSG_DONTWAIT);

		if (n >= 4 && p[0] & 0x80)
			return (size_t)n;
		if (n <= 0 && net_wait_readable(s->stop_fd, clk_mono_ns() + FIN_LOOK_NS, -1) == 0)
			return 0;
	}
	return 0;
}

/* One answer an end, none longer than it; the first, none longer than the flow's first datagram. */
/* What its owner timed. */
static void add_ways(const struct proto_session *s, struct iperf2_report *r)
{
	const struct iperf2_report *t = s->iperf2 && s->iperf2->cap ? s->iperf2->told : NULL;

	if (!t || !t->timed)
		return;
	r->timed = true;
	r->n = t->n;
	r->min = t->min;
	r->max = t->max;
	r->mean = t->mean;
	r->stdev = t->stdev;
	r->pps = r->seconds > 0 ? t->n / r->seconds : 0;
}

static void answer_ends(struct proto_session *s, const struct proto_result *mine)
{
	const struct iperf2_state *st = s->state;
	const struct proto_flow_result *f = &mine->flows[0];
	uint8_t out[IPERF2_REPORT_MAX];
	struct iperf2_report r = {.bytes = f->bytes,
				  .seconds = f->seconds,
				  .lost = (uint64_t)f->lost,
				  .reordered = (uint64_t)f->reordered,
				  .datagrams = (uint64_t)f->packets,
				  .jitter = f->jitter};
	size_t most = st->len;

	add_ways(s, &r);
	for (int k = 0; k < FIN_ANSWERS && most; k++) {
		size_t len = iperf2_report_put(&r, st->newer, r.datagrams, most, out);

		if (len)
			proto_say_bytes(st->fd[0], out, len);
		most = end_again(s, st->fd[0], clk_mono_ns() + FIN_SILENCE_NS);
		most = most < st->len ? most : st->len;
	}
}

static bool to_group(const struct net_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&a->in6.sin6_addr)
					   : IN_MULTICAST(ntohl(a->in4.sin_addr.s_addr));
}

/* Who fell silent is not asking; an answer could only be for somebody else. */
static void end_of_datagrams(struct proto_session *s, const struct proto_result *mine)
{
	const struct proto_flow_result *f = &mine->flows[0];

	s->proved = f->ended && f->packets >= PROOF_DATAGRAMS && f->seconds >= PROOF_SECONDS;
	if (f->ended && !to_group(&s->local_addr))
		answer_ends(s, mine);
}

static void end_of_stream(struct proto_session *s, const struct proto_result *mine)
{
	const struct iperf2_state *st = s->state;
	uint64_t bytes = 0;

	for (size_t i = 0; i < mine->n; i++)
		bytes += mine->flows[i].bytes;
	s->proved = bytes >= (strcmp(s->peer.tool, "stream") ? 1 : PROOF_BYTES);
	if (flow_plan_count(s->plan, NET_DOWN))
		await_hangup(s, st->fd[0], clk_mono_ns() + HANGUP_NS);
}

void iperf2_server_end(struct proto_session *s, const struct proto_result *mine)
{
	if (proto_has_udp(s->plan))
		end_of_datagrams(s, mine);
	else
		end_of_stream(s, mine);
}
