/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2 as a client: no control connection, no negotiation. A TCP flow's first bytes carry the
 * wishes and its end ends the test; of UDP every datagram carries them, a negative number is the
 * end, and the answer to it is the server's whole report.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/iperf2_priv.h"

#define UDP_LEN      1470
#define UDP_LEN_V6   1450
#define FIN_TRIES    10
#define FIN_REFUSALS 3
#define FIN_WAIT_NS  (250 * NSEC_PER_MSEC)
#define FIN_LEAD_NS  (20 * NSEC_PER_MSEC) /* the last datagrams may take another queue */
#define END_WAIT_NS  (5 * NSEC_PER_SEC)
#define WASTE        4096
#define BACK_NS      (10 * NSEC_PER_SEC)
#define UDP_ASK_NS   (100 * NSEC_PER_MSEC)
#define UDP_ASK_LEN  (16 + IPERF2_UDP_HEADER)

int iperf2_state_new(struct proto_session *s, size_t n, struct weir_err *e)
{
	struct iperf2_state *st = calloc(1, sizeof(*st));

	if (st)
		st->fd = calloc(n ? n : 1, sizeof(*st->fd));
	if (!st || !st->fd) {
		free(st);
		return err_os(e, ENOMEM, "data connections");
	}
	for (size_t i = 0; i < n; i++)
		st->fd[i] = -1;
	st->n = n;
	s->state = st;
	return 0;
}

static void iperf2_close(struct proto_session *s)
{
	struct iperf2_state *st = s->state;

	for (size_t i = 0; st && i < st->n; i++)
		if (st->fd[i] >= 0)
			close(st->fd[i]);
	for (size_t i = 0; st && s->plan && i < s->plan->n; i++)
		s->plan->flows[i].udp_head = NULL;
	if (st)
		free(st->fd);
	free(st);
	s->state = NULL;
	if (s->ctl_fd >= 0)
		close(s->ctl_fd);
	s->ctl_fd = -1;
}

void iperf2_tell_opened(struct proto_session *s)
{
	if (s->iperf2 && s->iperf2->opened)
		s->iperf2->opened(s->iperf2->arg, s);
}

/* ---- client ----------------------------------------------------------------------------- */

/* A datagram's first 16 bytes of 2.1, whose first 12 are 2.0.5's. */
static void iperf2_number(uint8_t *p, int64_t number, int64_t real_ns)
{
	uint32_t words[4] = {htonl((uint32_t)number), htonl((uint32_t)(real_ns / NSEC_PER_SEC)),
			     htonl((uint32_t)(real_ns % NSEC_PER_SEC / NSEC_PER_USEC)),
			     htonl((uint32_t)((uint64_t)number >> 32))};

	memcpy(p, words, sizeof(words));
}

static bool has_dir(const struct proto_session *s, enum net_dir dir)
{
	return flow_plan_count(s->plan, dir) > 0;
}

static struct iperf2_hello wishes(const struct proto_session *s, size_t streams)
{
	const struct flow_plan *p = s->plan;
	const struct flow_spec *f = &p->flows[0];
	bool up = has_dir(s, NET_UP), down = has_dir(s, NET_DOWN);
	const struct iperf2_hello *wish = s->iperf2 ? s->iperf2->wish : NULL;
	struct iperf2_hello h = wish ? *wish : (struct iperf2_hello){0};
	bool udp = f->transport == NET_UDP, back = s->iperf2 && s->iperf2->listen_fd;

	h.newer = !(s->iperf2 && s->iperf2->old) && (!udp || wish || down);
	h.reverse = !up;
	h.full_duplex = up && down && !back;
	h.threads = (uint32_t)streams;
	h.port = h.port ? h.port : s->port;
	h.len = udp ? 0 : f->len;
	h.window = udp && !h.newer ? (uint32_t)f->rate_bps : (uint32_t)f->window;
	h.time_ns = p->duration_ns;
	h.bytes = p->bytes ? p->bytes : f->bytes;
	h.rate_bps = f->rate_bps;
	h.tos = f->tos;
	h.no_end = udp && (h.full_duplex || (s->iperf2 && s->iperf2->no_end));
	if (h.trip_times && !h.starts_at)
		h.start_real_ns = clk_real_ns();
	if (s->iperf2 && s->iperf2->key) {
		h.key = (const uint8_t *)s->iperf2->key;
		h.key_len = strlen(s->iperf2->key);
	}
	return h;
}

static int open_one(struct proto_session *s, size_t i, struct weir_err *e)
{
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	const struct flow_spec *spec = &s->plan->flows[i];
	struct net_addr to = s->peer_addr;
	int ret = proto_cport(s, i, &o, e);

	if (ret < 0)
		return ret;
	if (s->iperf2 && s->iperf2->next_ports)
		to.in4.sin_port = htons((uint16_t)(s->port + i)); /* IPv6's is in the same place */
	if (spec->transport == NET_UDP)
		return net_connect_udp(&to, &o, spec, e);
	if (i == 0 && s->ctl_fd >= 0) { /* how it was found out that somebody listens */
		ret = s->ctl_fd;
		s->ctl_fd = -1;
		return ret;
	}
	return net_connect_tcp(&to, &o, spec, proto_idle_ns(s), e);
}

static int say_hello(struct proto_session *s, int fd, const struct iperf2_hello *h,
		     struct weir_err *e)
{
	struct iperf2_state *st = s->state;
	size_t n = iperf2_tcp_put(h, st->head);
	int ret;

	if (s->iperf2 && s->iperf2->plain)
		return 0;
	ret = net_write_full(fd, st->head, n, clk_mono_ns() + proto_idle_ns(s), s->stop_fd);
	return ret < 0 ? proto_read_err(s, ret, "saying what is wanted", e) : 0;
}

static int open_flow(struct proto_session *s, size_t i, const struct iperf2_hello *h,
		     struct weir_err *e)
{
	struct iperf2_state *st = s->state;
	int64_t began = clk_mono_ns();
	bool first = i == 0 && s->ctl_fd >= 0;
	int fd = open_one(s, i, e), ret = 0;

	if (s->iperf2 && i < s->iperf2->cap && s->iperf2->connect_ns)
		s->iperf2->connect_ns[i] = first ? s->connect_ns : clk_mono_ns() - began;
	if (fd < 0)
		return err_wrap(e, "data connection %zu", i + 1) < 0 ? fd : fd;
	s->fds[i] = fd;
	if (s->plan->flows[i].transport == NET_TCP)
		ret = say_hello(s, fd, h, e);
	st->fd[i] = dup(fd);
	return ret == 0 && st->fd[i] < 0 ? err_os(e, errno, "data connection %zu", i + 1) : ret;
}

static void udp_wishes(struct proto_session *s, const struct iperf2_hello *h)
{
	struct iperf2_state *st = s->state;

	if (h->newer)
		iperf2_udp_put(h, st->head);
	else
		iperf2_tcp_put(h, st->head);
	for (size_t i = 0; i < s->plan->n; i++) {
		struct flow_spec *f = &s->plan->flows[i];

		if (!f->len)
			f->len = s->peer_addr.sa.sa_family == AF_INET6 ? UDP_LEN_V6 : UDP_LEN;
		f->udp_form = NET_UDP_IPERF2;
		f->udp_from_zero = !h->newer;
		f->counters_64bit = h->newer;
		f->udp_head = st->head;
		f->udp_head_len = h->newer ? IPERF2_UDP_HEADER : IPERF2_HEADER_OLD;
	}
}

/* The server connects to where we said that we listen; nobody else may. */
static int await_back(struct proto_session *s, size_t i, struct weir_err *e)
{
	struct iperf2_state *st = s->state;
	int64_t deadline = clk_mono_ns() + BACK_NS;
	int fd = -1, ret = 0;

	while (fd < 0) {
		struct net_addr a = {.len = sizeof(a.ss)};

		ret = net_wait_readable(s->iperf2->listen_fd, deadline, s->stop_fd);
		if (ret < 0)
			return err_set(e, WEIR_PEER, ret == -ETIMEDOUT ? ETIMEDOUT : ECANCELED,
				       "the server did not connect back to port %u: it does not "
				       "do so, or cannot reach us; -R needs no way back",
				       s->iperf2->wish ? s->iperf2->wish->port : 0);
		fd = accept4(s->iperf2->listen_fd, &a.sa, &a.len, SOCK_CLOEXEC);
		net_addr_unmap(&a);
		if (fd >= 0 && !net_addr_same_host(&a, &s->peer_addr)) {
			close(fd);
			fd = -1;
		}
	}
	s->fds[i] = fd;
	st->fd[i] = dup(fd);
	return net_tcp_apply(fd, &s->plan->flows[i], e);
}

/* A server that is to send by UDP hears of it until it does. */
static int ask_for_udp(struct proto_session *s, struct weir_err *e)
{
	const struct flow_spec *f = &s->plan->flows[0];
	size_t n = f->len > UDP_ASK_LEN ? f->len : UDP_ASK_LEN;
	uint8_t *p = calloc(1, n);
	int64_t deadline = clk_mono_ns() + proto_idle_ns(s);
	int ret = p ? -ETIMEDOUT : -ENOMEM;

	while (ret == -ETIMEDOUT && clk_mono_ns() < deadline) {
		for (size_t i = 0; i < s->n_fds; i++) {
			iperf2_number(p, 1, clk_real_ns());
			memcpy(p + 16, f->udp_head, f->udp_head_len);
			send(s->fds[i], p, n, MSG_NOSIGNAL);
		}
		ret = net_wait_readable(s->fds[0], clk_mono_ns() + UDP_ASK_NS, s->stop_fd);
	}
	free(p);
	return ret < 0 ? proto_read_err(s, ret, "asking for data", e) : 0;
}

/* Both directions share a connection, or the server opens its own. */
static int open_down(struct proto_session *s, size_t streams, struct weir_err *e)
{
	bool back = s->iperf2 && s->iperf2->listen_fd;
	int ret = 0;

	for (size_t i = streams; back && ret == 0 && i < s->plan->n; i++)
		ret = await_back(s, i, e);
	if (back)
		return ret;
	for (size_t i = streams; i < s->plan->n; i++) {
		s->fds[i] = dup(s->fds[i - streams]);
		if (s->fds[i] < 0)
			return err_os(e, errno, "data connection %zu", i + 1);
	}
	return 0;
}

static int check_wishes(const struct proto_session *s, struct weir_err *e)
{
	bool udp = proto_has_udp(s->plan), old = s->iperf2 && s->iperf2->old;

	if (has_dir(s, NET_DOWN) && (old || (s->iperf2 && s->iperf2->plain)) &&
	    !(s->iperf2 && s->iperf2->listen_fd && !udp))
		return err_set(e, WEIR_USAGE, EOPNOTSUPP,
			       "iperf 2.0.5 has no reverse direction on a client's connection");
	if (s->plan->omit_ns > 0)
		return err_set(e, WEIR_USAGE, EOPNOTSUPP, "iperf 2 has no warm-up (--omit)");
	return 0;
}

static int iperf2_connect(struct proto_session *s, struct weir_err *e)
{
	size_t up = flow_plan_count(s->plan, NET_UP), streams = up ? up : s->plan->n;
	bool udp = proto_has_udp(s->plan);
	struct iperf2_hello h;
	int ret = check_wishes(s, e);

	snprintf(s->peer.tool, sizeof(s->peer.tool), "%s", "iperf");
	if (ret == 0)
		ret = proto_fds_new(s, s->plan->n, e);
	if (ret == 0)
		ret = iperf2_state_new(s, s->plan->n, e);
	if (ret < 0)
		return ret;
	h = wishes(s, streams);
	if (udp)
		udp_wishes(s, &h);
	if (s->iperf2 && s->iperf2->back_only)
		streams = 0;
	for (size_t i = 0; ret == 0 && i < streams; i++)
		ret = open_flow(s, i, &h, e);
	if (ret == 0)
		ret = open_down(s, streams, e);
	if (ret == 0)
		iperf2_tell_opened(s);
	if (ret == 0 && udp && !up)
		ret = ask_for_udp(s, e);
	return ret;
}

/* What a 2.1 server said when it had read the header; then its end, after all that was sent. */
static void await_end(struct proto_session *s, int fd, int64_t deadline_ns)
{
	uint8_t waste[WASTE];
	bool first = true;
	ssize_t n = 1;

	while (n > 0 && net_wait_readable(fd, deadline_ns, s->stop_fd) == 0) {
		n = recv(fd, waste, sizeof(waste), MSG_DONTWAIT);
		if (n > 0 && first && !s->peer.version[0])
			iperf2_ack_get(waste, (size_t)n, s->peer.version, sizeof(s->peer.version));
		first = false;
		n = n < 0 && (errno == EAGAIN || errno == EINTR) ? 1 : n;
	}
}

static void end_tcp(struct proto_session *s)
{
	struct iperf2_state *st = s->state;
	int64_t deadline = clk_mono_ns() + END_WAIT_NS;

	for (size_t i = 0; (!has_dir(s, NET_DOWN) || (s->iperf2 && s->iperf2->listen_fd)) &&
			   i < flow_plan_count(s->plan, NET_UP);
	     i++)
		if (st->fd[i] >= 0)
			await_end(s, st->fd[i], deadline);
}

/* ---- UDP: the end and its answer ---------------------------------------------------- */

/* 2.1's end is itself a datagram, and has a number of its own. */
static void put_end(const struct flow_spec *f, uint8_t *p, int64_t sent)
{
	uint32_t at = f->counters_64bit ? 16 : 12;
	uint8_t head[16];

	iperf2_number(head, -(sent + f->counters_64bit), clk_real_ns());
	memcpy(p, head, at);
	if (f->len >= at + f->udp_head_len)
		memcpy(p + at, f->udp_head, f->udp_head_len);
}

/* Which is in what it counted. */
static void without_end(const struct flow_spec *f, int64_t sent, struct iperf2_report *r)
{
	if (!f->counters_64bit || r->datagrams != (uint64_t)sent + 1)
		return;
	r->datagrams--;
	r->bytes -= r->bytes > f->len ? f->len : 0;
}

/* 1: reported; -ETIMEDOUT: not by then; -errno. */
static int await_report(struct proto_session *s, int fd, int64_t until_ns, struct iperf2_report *r)
{
	uint8_t p[IPERF2_REPORT_MAX];
	int ret;

	while ((ret = net_wait_readable(fd, until_ns, s->stop_fd)) == 0) {
		ssize_t n = recv(fd, p, sizeof(p), MSG_DONTWAIT);

		/* The flow has asked for the errors of its datagrams: one waits, too. */
		if (n < 0 && errno == EAGAIN && recv(fd, p, sizeof(p), MSG_ERRQUEUE) >= 0)
			return -ECONNREFUSED;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0 && iperf2_report_get(p, (size_t)n, r))
			return 1;
	}
	return ret;
}

static int end_flow(struct proto_session *s, size_t i, int64_t sent, struct iperf2_report *r)
{
	const struct iperf2_state *st = s->state;
	const struct flow_spec *f = &s->plan->flows[i];
	uint8_t *p = calloc(1, f->len);
	int ret = p ? -ETIMEDOUT : -ENOMEM, refusals = 0;

	if (p)
		put_end(f, p, sent);
	for (int k = 0; k < FIN_TRIES && refusals < FIN_REFUSALS &&
			(ret == -ETIMEDOUT || ret == -ECONNREFUSED);
	     k++) {
		ret = send(st->fd[i], p, f->len, MSG_NOSIGNAL) < 0
			      ? -errno
			      : await_report(s, st->fd[i], clk_mono_ns() + FIN_WAIT_NS, r);
		ret = ret == -EAGAIN ? -ETIMEDOUT : ret;
		refusals += ret == -ECONNREFUSED;
	}
	free(p);
	return ret;
}

static void take_report(const struct iperf2_report *r, struct proto_flow_result *f)
{
	const uint64_t most = INT64_MAX;

	*f = (struct proto_flow_result){
		.bytes = r->bytes,
		.retransmits = -1,
		.seconds = r->seconds,
		.udp = true,
		.packets = (int64_t)(r->datagrams < most ? r->datagrams : most),
		.lost = (int64_t)(r->lost < r->datagrams ? r->lost : r->datagrams),
		.omitted_packets = -1,
		.omitted_lost = -1,
		.reordered = (int64_t)(r->reordered < most ? r->reordered : most),
		.jitter = r->jitter,
	};
}

/* The end alone, once a flow; no answer is asked for. */
static int say_ends(struct proto_session *s, const struct proto_result *mine)
{
	const struct iperf2_state *st = s->state;

	for (size_t i = 0; i < flow_plan_count(s->plan, NET_UP) && i < mine->n; i++) {
		const struct flow_spec *f = &s->plan->flows[i];
		uint8_t *p = calloc(1, f->len);

		if (!p)
			return -ENOMEM;
		put_end(f, p, mine->flows[i].packets);
		send(st->fd[i], p, f->len, MSG_NOSIGNAL);
		free(p);
	}
	return 0;
}

static int end_udp(struct proto_session *s, const struct proto_result *mine,
		   struct proto_result *theirs, struct weir_err *e)
{
	struct iperf2_report r;
	int ret = 1;

	theirs->flows = calloc(mine->n ? mine->n : 1, sizeof(*theirs->flows));
	if (!theirs->flows)
		return err_os(e, ENOMEM, "results");
	clk_sleep_until(clk_mono_ns() + FIN_LEAD_NS);
	for (size_t i = 0; ret > 0 && i < mine->n; i++) {
		ret = end_flow(s, i, mine->flows[i].packets, &r);
		if (ret <= 0)
			break;
		without_end(&s->plan->flows[i], mine->flows[i].packets, &r);
		take_report(&r, &theirs->flows[i]);
		if (s->iperf2 && s->iperf2->told && i < s->iperf2->cap)
			s->iperf2->told[i] = r;
	}
	if (ret > 0) {
		theirs->n = mine->n;
		return 0;
	}
	free(theirs->flows);
	theirs->flows = NULL;
	snprintf(s->missing, sizeof(s->missing),
		 ret == -ECONNREFUSED ? "nobody listens there any more (ICMP port unreachable)"
				      : "the server's final report did not arrive in %d tries: the "
					"way back is blocked, or nobody listens",
		 FIN_TRIES);
	return 0;
}

static int iperf2_exchange(struct proto_session *s, const struct proto_result *mine,
			   struct proto_result *theirs, struct weir_err *e)
{
	*theirs = (struct proto_result){.cpu_total = -1, .cpu_user = -1, .cpu_system = -1};
	if (s->role == PROTO_SERVER)
		iperf2_server_end(s, mine);
	else if (proto_has_udp(s->plan) && !has_dir(s, NET_UP))
		return 0;
	else if (proto_has_udp(s->plan) &&
		 (has_dir(s, NET_DOWN) || (s->iperf2 && s->iperf2->no_end)))
		return say_ends(s, mine);
	else if (proto_has_udp(s->plan))
		return end_udp(s, mine, theirs, e);
	else
		end_tcp(s);
	return 0;
}

/* ---- the row -------------------------------------------------------------------------- */

static int iperf2_start(struct proto_session *s, struct weir_err *e)
{
	(void)s, (void)e;
	return 0;
}

static int iperf2_on_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	(void)s, (void)e;
	*ev = PROTO_EV_NONE; /* there is none */
	return 0;
}

static int iperf2_end(struct proto_session *s, const struct proto_result *mine, struct weir_err *e)
{
	(void)s, (void)mine, (void)e;
	return 0;
}

static void iperf2_say(struct proto_session *s, enum proto_say what)
{
	(void)s, (void)what; /* it has no words: the connection ends */
}

/* Behind its own port whatever comes is data. */
static enum proto_sniff iperf2_sniff(const uint8_t *p, size_t n)
{
	(void)p;
	return n >= 4 ? PROTO_SNIFF_YES : PROTO_SNIFF_MORE;
}

const struct proto proto_iperf2 = {
	.name = "iperf2",
	.what = "iperf 2.0.5 to 2.1, and plain streams of bytes",
	.port = 5001,
	.no_cookie = true,
	.in_band = true,
	.data_ends = true,
	.pre_bytes = 4,
	.pre_deadline_ns = 10 * NSEC_PER_SEC,
	.udp = PROTO_UDP_NEVER,
	.sniff = iperf2_sniff,
	.connect = iperf2_connect,
	.accept = iperf2_server_accept,
	.streams = iperf2_server_streams,
	.start = iperf2_start,
	.on_control = iperf2_on_control,
	.end = iperf2_end,
	.exchange = iperf2_exchange,
	.say = iperf2_say,
	.close = iperf2_close,
};
