/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control connection and the data connections, as every protocol here needs them. No wait is
 * without a bound: a peer may be silent for 10 s, and one exchange lasts 30 s at the longest.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/priv.h"

#define IDLE_NS       (10 * NSEC_PER_SEC)
#define PER_FLOW_NS   (250 * NSEC_PER_MSEC) /* clients may open them one after another */
#define TAKE_SLICE_NS (250 * NSEC_PER_MSEC)

int64_t proto_idle_ns(const struct proto_session *s)
{
	return s->timeout_ns > 0 ? s->timeout_ns : IDLE_NS;
}

int64_t proto_deadline(const struct proto_session *s)
{
	return clk_mono_ns() + 3 * proto_idle_ns(s);
}

int proto_read(struct proto_session *s, void *p, size_t n, int64_t deadline_ns, int stop_fd)
{
	char *at = p;

	while (n > 0) {
		int64_t idle = clk_mono_ns() + proto_idle_ns(s);
		ssize_t got;
		int ret = net_wait_readable(s->ctl_fd, idle < deadline_ns ? idle : deadline_ns,
					    stop_fd);

		if (ret < 0)
			return ret;
		got = recv(s->ctl_fd, at, n, MSG_DONTWAIT);
		if (got == 0)
			return -EPIPE;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

void proto_peer_name(const struct proto_session *s, char *dst, size_t cap)
{
	char host[128];

	if (s->host) {
		safe_str(host, sizeof(host), s->host, strlen(s->host));
		snprintf(dst, cap, "%s:%u", host, s->port);
	} else if (s->peer_addr.len) {
		net_addr_port_text(&s->peer_addr, dst, cap);
	} else {
		snprintf(dst, cap, "the peer");
	}
}

int proto_read_err(const struct proto_session *s, int err, const char *what, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	switch (err) {
	case -ETIMEDOUT:
		return err_set(e, WEIR_PEER, ETIMEDOUT, "%s: no answer while %s", peer, what);
	case -EPIPE:
	case -ECONNRESET:
		return err_set(e, WEIR_PEER, -err, "%s closed the control connection while %s",
			       peer, what);
	case -ECANCELED:
		return err_set(e, WEIR_PEER, ECANCELED, "stopped while %s", what);
	default:
		return err_os(e, -err, "%s: %s", peer, what);
	}
}

int64_t proto_streams_deadline(const struct proto_session *s)
{
	return proto_deadline(s) + (int64_t)s->plan->n * PER_FLOW_NS;
}

int proto_fds_new(struct proto_session *s, size_t n, struct weir_err *e)
{
	s->fds = calloc(n ? n : 1, sizeof(*s->fds));
	if (!s->fds)
		return err_os(e, ENOMEM, "data connections");
	for (size_t i = 0; i < n; i++)
		s->fds[i] = -1;
	s->n_fds = n;
	return 0;
}

int proto_cport(const struct proto_session *s, size_t i, struct net_sock_opts *o,
		struct weir_err *e)
{
	if (s->cport && s->cport + i > UINT16_MAX)
		return err_set(e, WEIR_USAGE, ERANGE, "local port %zu of flow %zu is over 65535",
			       s->cport + i, i + 1);
	o->bind_port = s->cport ? (uint16_t)(s->cport + i) : 0;
	return 0;
}

int proto_data_open(struct proto_session *s, size_t i, const void *tail, size_t n_tail,
		    struct weir_err *e)
{
	char first[PROTO_COOKIE_LEN + PROTO_TAIL_MAX];
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	const struct flow_spec *spec = &s->plan->flows[i];
	int64_t idle = proto_idle_ns(s);
	int fd, ret = proto_cport(s, i, &o, e);

	if (ret < 0)
		return ret;
	fd = net_connect_tcp(&s->peer_addr, &o, spec, idle, e);
	if (fd < 0) {
		err_wrap(e, "data connection %zu of %zu", i + 1, s->plan->n);
		return fd;
	}
	/* One write: a second small one would wait for the first to be acknowledged. */
	memcpy(first, s->cookie, PROTO_COOKIE_LEN);
	memcpy(first + PROTO_COOKIE_LEN, tail, n_tail);
	ret = net_write_full(fd, first, PROTO_COOKIE_LEN + n_tail, clk_mono_ns() + idle,
			     s->stop_fd);
	if (ret < 0) {
		close(fd);
		return err_os(e, -ret, "data connection %zu of %zu", i + 1, s->plan->n);
	}
	s->fds[i] = fd;
	return 0;
}

/* The client left, or this end was told to stop. */
static int take_check(const struct proto_session *s)
{
	struct pollfd p[2] = {{.fd = s->ctl_fd, .events = POLLRDHUP},
			      {.fd = s->stop_fd, .events = POLLIN}};

	if (poll(p, 2, 0) <= 0)
		return 0;
	if (p[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
		return -EPIPE;
	return p[1].revents ? -ECANCELED : 0;
}

int proto_data_take(struct proto_session *s, int64_t deadline_ns, struct weir_err *e)
{
	int fd;

	for (;;) {
		int64_t now = clk_mono_ns(), slice = now + TAKE_SLICE_NS;
		int ret = take_check(s);

		if (ret < 0)
			return proto_read_err(s, ret, "waiting for its data connections", e);
		proto_udp_answer(s);
		fd = s->take_data(s->arg, slice < deadline_ns ? slice : deadline_ns);
		if (fd >= 0)
			return fd;
		if (fd != -ETIMEDOUT && fd != -EAGAIN && fd != -EINTR)
			return proto_read_err(s, fd, "waiting for its data connections", e);
		if (now >= deadline_ns)
			return proto_read_err(s, -ETIMEDOUT, "waiting for its data connections", e);
	}
}

void proto_say_bytes(int fd, const void *p, size_t n)
{
	ssize_t sent = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	(void)sent; /* a farewell: whoever does not take it now is gone */
}
