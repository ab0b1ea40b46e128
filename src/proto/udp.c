/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP has no accept(): a flow begins with a hello datagram and its answer. iperf3's hello is one
 * of a few numbers and says nothing of whose it is; the native one carries a token of its test.
 * When no answer comes, the control connection tells which way the silence lies.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "proto/priv.h"

#define CONTROL_FRESH_MS 3000 /* silence of a peer that is probed every second */
#define HEADERS          48   /* of IPv6 and UDP */
#define FRAGMENT_LEAST   1232 /* payload of the smallest MTU of IPv6 */
#define HELLO_AGAIN_NS   (250 * NSEC_PER_MSEC)

/* "9876" and 123456789 as little- and as big-endian hosts send them; up to 3.11 the number. */
static const struct {
	uint8_t hello[4], answer[PROTO_ANSWER_LEN];
} iperf3_hellos[] = {
	{{0x39, 0x38, 0x37, 0x36}, {0x36, 0x37, 0x38, 0x39}},
	{{0x36, 0x37, 0x38, 0x39}, {0x39, 0x38, 0x37, 0x36}},
	{{0x15, 0xcd, 0x5b, 0x07}, {0xb1, 0x68, 0xde, 0x3a}},
	{{0x07, 0x5b, 0xcd, 0x15}, {0x3a, 0xde, 0x68, 0xb1}},
};
static const uint8_t native_mark[4] = NET_UDP_HELLO_MARK, native_answer[PROTO_ANSWER_LEN] = "wudp";

#define NATIVE_LEN (sizeof(native_mark) + PROTO_TOKEN_LEN)

_Static_assert(NATIVE_LEN == NET_UDP_HELLO_MAX && NATIVE_LEN <= PROTO_HELLO_MAX, "as net knows it");

bool proto_hello_read(const uint8_t *p, size_t n, struct proto_hello *h)
{
	*h = (struct proto_hello){0};
	if (n == NATIVE_LEN && !memcmp(p, native_mark, sizeof(native_mark))) {
		memcpy(h->answer, native_answer, sizeof(h->answer));
		h->token = p + sizeof(native_mark);
		return true;
	}
	for (size_t i = 0; n == 4 && i < ARRAY_LEN(iperf3_hellos); i++) {
		if (memcmp(p, iperf3_hellos[i].hello, 4) != 0)
			continue;
		memcpy(h->answer, iperf3_hellos[i].answer, sizeof(h->answer));
		return true;
	}
	return false;
}

static bool is_answer(const uint8_t *p, size_t n, const uint8_t *token)
{
	if (n != PROTO_ANSWER_LEN)
		return false;
	if (token)
		return !memcmp(p, native_answer, n);
	for (size_t i = 0; i < ARRAY_LEN(iperf3_hellos); i++) {
		if (!memcmp(p, iperf3_hellos[i].answer, n))
			return true;
	}
	return false;
}

/* ---- the datagrams' size ---------------------------------------------------------- */

bool proto_has_udp(const struct flow_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->flows[i].transport == NET_UDP)
			return true;
	}
	return false;
}

/* Small datagrams are mostly headers; large ones are cut, and each piece has one. */
static uint64_t with_headers(uint32_t len)
{
	return len + HEADERS * (1ULL + len / FRAGMENT_LEAST);
}

uint64_t proto_udp_down_share(const struct flow_plan *p, const struct proto_limits *lim)
{
	uint64_t down = flow_plan_count(p, NET_DOWN), least = UINT64_MAX;

	if (!lim->udp_down_bps || !down || !proto_has_udp(p))
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		uint32_t len = p->flows[i].len ? p->flows[i].len : NET_UDP_LEN_MIN;
		uint64_t share = lim->udp_down_bps / down * len / with_headers(len);

		if (p->flows[i].dir == NET_DOWN && share < least)
			least = share;
	}
	return least ? least : 1;
}

/* What a datagram to the peer may have on the path as the kernel knows it: 0 = unknown. */
static uint32_t path_payload(const struct proto_session *s)
{
	struct net_addr peer = {.len = sizeof(peer.ss)};
	uint32_t payload;
	int fd;

	if (getpeername(s->ctl_fd, &peer.sa, &peer.len) < 0)
		return 0;
	fd = net_connect_udp(&peer, s->sock, NULL, NULL);
	if (fd < 0)
		return 0;
	payload = net_udp_path_payload(fd);
	close(fd);
	return payload;
}

/* As iperf3: what fits into one segment of the control connection; but no more than the path of a
 * datagram takes, which may be another. */
void proto_udp_lengths(const struct proto_session *s, struct flow_plan *p)
{
	uint32_t most = path_payload(s);
	int mss = 0;
	socklen_t n = sizeof(mss);

	if (getsockopt(s->ctl_fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &n) < 0 || mss < NET_UDP_LEN_MIN)
		mss = NET_UDP_LEN;
	if (mss > NET_UDP_LEN_MAX)
		mss = NET_UDP_LEN_MAX;
	if (most >= NET_UDP_LEN_MIN && (uint32_t)mss > most)
		mss = (int)most;
	for (size_t i = 0; i < p->n; i++) {
		if (p->flows[i].transport == NET_UDP && !p->flows[i].len)
			p->flows[i].len = (uint32_t)mss;
	}
}

/* ---- no answer -------------------------------------------------------------------- */

/* Does the host still acknowledge? The kernel's probes of the last seconds know. */
static bool control_alive(const struct proto_session *s)
{
	struct net_tcp_info info;
	int len = net_tcp_info_get(s->ctl_fd, &info);

	return len > 0 && NET_HAS((size_t)len, last_ack_recv) &&
	       info.last_ack_recv < CONTROL_FRESH_MS;
}

/* An iperf3 server that has all hellos says so on the control connection. */
static bool server_started(const struct proto_session *s)
{
	uint8_t st;

	return recv(s->ctl_fd, &st, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && st == 0x01;
}

static int no_answer(const struct proto_session *s, int err, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	if (err == -ECANCELED)
		return proto_read_err(s, err, "opening its UDP flows", e);
	if (err == -ECONNREFUSED) {
		err_set(e, WEIR_PEER, ECONNREFUSED,
			"%s answers by TCP, but its UDP port is closed (ICMP port unreachable)",
			peer);
		return err_hint(e, "a port forwarding or firewall for TCP alone?");
	}
	if (err == -EPIPE)
		return proto_read_err(s, err, "opening its UDP flows", e);
	if (err != -ETIMEDOUT)
		return err_os(e, -err, "%s: UDP flow", peer);
	if (server_started(s)) {
		err_set(e, WEIR_PEER, ETIMEDOUT,
			"UDP from %s does not arrive here: it has our hello, but its answer is "
			"dropped on the way",
			peer);
		return err_hint(e, "a firewall or NAT between the two hosts drops it");
	}
	if (!control_alive(s))
		return err_set(e, WEIR_PEER, EHOSTDOWN,
			       "%s is gone: neither UDP nor the control connection answers", peer);
	err_set(e, WEIR_PEER, ETIMEDOUT,
		"no answer by UDP from %s, though its control connection is alive: UDP is dropped "
		"on the way, one way or the other",
		peer);
	return err_hint(e, "does a firewall let UDP port %u through?", s->port);
}

/* ---- the client ------------------------------------------------------------------- */

/*
 * 1: answered. A datagram of the test's own size also says that the hello was taken; it stays in
 * the queue, because it counts. Anything else is nobody's.
 */
static int look(const struct proto_session *s, int fd, const struct flow_spec *spec,
		const uint8_t *token)
{
	uint8_t p[PROTO_HELLO_MAX];
	ssize_t n = recv(fd, p, sizeof(p), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (flow_plan_count(s->plan, NET_DOWN) && (size_t)n == spec->len)
		return 1;
	n = recv(fd, p, sizeof(p), MSG_DONTWAIT);
	return n > 0 && is_answer(p, (size_t)n, token);
}

/* Until `deadline_ns`: 1 answered, -ETIMEDOUT, -EPIPE (control closed), or -errno. */
static int await(const struct proto_session *s, int fd, const struct flow_spec *spec,
		 const uint8_t *token, int64_t deadline_ns)
{
	struct pollfd p[3] = {{.fd = fd, .events = POLLIN},
			      {.fd = s->ctl_fd, .events = POLLRDHUP},
			      {.fd = s->stop_fd, .events = POLLIN}};

	for (;;) {
		int64_t left = (deadline_ns - clk_mono_ns() + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
		int ret;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(p, ARRAY_LEN(p), left > 1000 ? 1000 : (int)left) < 0)
			continue;
		ret = p[0].revents ? look(s, fd, spec, token) : 0;
		if (ret)
			return ret;
		if (p[2].revents)
			return -ECANCELED;
		if (p[1].revents)
			return -EPIPE;
	}
}

static int say_hello(int fd, const uint8_t *token)
{
	uint8_t p[NATIVE_LEN];
	size_t n = 4;

	memcpy(p, token ? native_mark : iperf3_hellos[0].hello, 4);
	if (token) {
		memcpy(p + 4, token, PROTO_TOKEN_LEN);
		n = NATIVE_LEN;
	}
	return send(fd, p, n, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/*
 * iperf3 takes a second hello on the same socket for data, so there is only one. A weir answers as
 * often as it is asked.
 */
static int greet(const struct proto_session *s, int fd, const struct flow_spec *spec,
		 const uint8_t *token)
{
	int64_t end = clk_mono_ns() + proto_idle_ns(s);
	int ret;

	do {
		int64_t again = clk_mono_ns() + HELLO_AGAIN_NS;

		ret = say_hello(fd, token);
		if (ret == 0)
			ret = await(s, fd, spec, token, token && again < end ? again : end);
	} while (ret == -ETIMEDOUT && clk_mono_ns() < end);
	return ret;
}

int proto_udp_open(struct proto_session *s, size_t i, const uint8_t *token, struct weir_err *e)
{
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	const struct flow_spec *spec = &s->plan->flows[i];
	const int quick = 1;
	int fd, ret;

	ret = proto_cport(s, i, &o, e);
	if (ret < 0)
		return ret;
	fd = net_connect_udp(&s->peer_addr, &o, spec, e);
	if (fd < 0) {
		err_wrap(e, "UDP flow %zu of %zu", i + 1, s->plan->n);
		return fd;
	}
	/* So that its acknowledgements are fresh when the question comes up. */
	setsockopt(s->ctl_fd, IPPROTO_TCP, TCP_KEEPIDLE, &quick, sizeof(quick));
	setsockopt(s->ctl_fd, IPPROTO_TCP, TCP_KEEPINTVL, &quick, sizeof(quick));
	ret = greet(s, fd, spec, token);
	net_tcp_control_opts(s->ctl_fd);
	if (ret < 0) {
		no_answer(s, ret, e);
		close(fd);
		return ret;
	}
	s->fds[i] = fd;
	return 0;
}

/* ---- the server ------------------------------------------------------------------- */

int proto_expect(struct proto_session *s, const uint8_t *token, struct weir_err *e)
{
	int ret;

	if (!proto_has_udp(s->plan))
		ret = s->expect_data(s->arg, s->plan->n);
	else if (!s->expect_udp)
		return err_set(e, WEIR_LIMIT, EOPNOTSUPP, "UDP is not served here");
	else
		ret = s->expect_udp(s->arg, s->plan->n, token, proto_deadline(s));
	if (ret == -ETIMEDOUT)
		return err_set(
			e, WEIR_LIMIT, EBUSY,
			"other UDP tests of the same address were being set up all the time");
	return ret < 0 ? err_os(e, -ret, "expecting data connections") : 0;
}

int proto_apply(int fd, const struct flow_spec *spec, struct weir_err *e)
{
	return spec->transport == NET_UDP ? net_udp_apply(fd, spec, e) : net_tcp_apply(fd, spec, e);
}

/* An answer may be lost: the native client asks again, on the flow's own socket by now. */
void proto_udp_answer(const struct proto_session *s)
{
	for (size_t i = 0; i < s->n_fds; i++) {
		uint8_t p[PROTO_HELLO_MAX + 1];
		struct proto_hello h;
		ssize_t n =
			s->fds[i] < 0 ? -1 : recv(s->fds[i], p, sizeof(p), MSG_PEEK | MSG_DONTWAIT);

		if (n <= 0 || !proto_hello_read(p, (size_t)n, &h))
			continue;
		n = recv(s->fds[i], p, sizeof(p), MSG_DONTWAIT);
		if (h.token && n > 0)
			proto_say_bytes(s->fds[i], h.answer, sizeof(h.answer));
	}
}
