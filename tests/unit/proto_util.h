/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client role and a server role in one program, joined by a relay that can stop or cut the
 * control connection after any byte. The data path is a few bytes on real loopback
 * connections.
 */
#ifndef TEST_PROTO_UTIL_H
#define TEST_PROTO_UTIL_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/proto.h"

enum cut { CUT_NONE, CUT_CLOSE, CUT_STALL };

struct duo {
	const struct proto *proto;
	struct flow_plan plan; /* the client's */
	struct proto_limits limits;
	const char *client_psk, *server_psk;
	const char *client_facts, *server_facts;
	int64_t timeout_ns;
	size_t lines;          /* native: lines of a run that the server sends */
	size_t pings;          /* native: pings that the client sends while it runs */
	bool deaf;             /* UDP: the server's front answers no hello */
	unsigned lose_answers; /* UDP: the first answers that get lost */
	/* the relay */
	enum cut cut;
	int cut_dir; /* 0 = client to server, 1 = back */
	size_t cut_at;
	/* what happened */
	int client_ret, server_ret; /* 0 = through to the end */
	struct weir_err client_err, server_err;
	struct proto_result client_got, server_got;
	struct proto_session client, server;
	struct buf client_lines;
	size_t rtts;
	uint64_t told_sent;
	size_t passed[2];
	bool server_saw_end;
	enum proto_event client_event;
	/* inside */
	int listen_fd, ctl[2][2]; /* ctl[end][0] = the role's, [1] = the relay's */
	int udp_fd;               /* -1 = none */
	uint8_t token[PROTO_TOKEN_LEN];
	bool has_token;
};

static inline int duo_listen(struct net_addr *a)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*a = (struct net_addr){.len = sizeof(a->in4)};
	a->in4.sin_family = AF_INET;
	a->in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &a->sa, a->len), 0);
	assert_int_equal(listen(fd, 600), 0);
	assert_int_equal(getsockname(fd, &a->sa, &a->len), 0);
	return fd;
}

/* The front's part for UDP: the next hello gets a socket of its own and its answer. */
static inline int duo_take_udp(struct duo *d, int64_t deadline_ns)
{
	uint8_t p[PROTO_HELLO_MAX + 1];
	struct proto_hello h;
	struct net_dgram from;
	ssize_t n;
	int fd, ret = net_wait_readable(d->udp_fd, deadline_ns, -1);

	if (ret < 0)
		return ret;
	n = net_udp_recv(d->udp_fd, p, sizeof(p), &from);
	if (d->deaf || n < 0 || !proto_hello_read(p, (size_t)n, &h) ||
	    d->has_token != (h.token != NULL) ||
	    (h.token && memcmp(h.token, d->token, PROTO_TOKEN_LEN) != 0))
		return -ETIMEDOUT;
	fd = net_pair_udp(&from.to, &from.from, NULL, NULL, NULL);
	if (fd >= 0 && !d->lose_answers)
		assert_int_equal(send(fd, h.answer, sizeof(h.answer), 0), sizeof(h.answer));
	else
		d->lose_answers--;
	return fd;
}

/* The front's part: the next connection whose cookie is the test's. */
static inline int duo_take(void *arg, int64_t deadline_ns)
{
	struct duo *d = arg;
	char cookie[PROTO_COOKIE_LEN];
	int fd, ret;

	if (d->udp_fd >= 0)
		return duo_take_udp(d, deadline_ns);
	ret = net_wait_readable(d->listen_fd, deadline_ns, -1);
	if (ret < 0)
		return ret;
	fd = accept(d->listen_fd, NULL, NULL);
	if (fd < 0)
		return -errno;
	ret = net_read_full(fd, cookie, sizeof(cookie), deadline_ns, -1);
	if (ret == 0 && memcmp(cookie, d->server.cookie, sizeof(cookie)) != 0)
		ret = -EPROTO;
	if (ret < 0)
		close(fd);
	return ret < 0 ? ret : fd;
}

static inline int duo_expect(void *arg, size_t n)
{
	(void)arg;
	(void)n;
	return 0;
}

static inline int duo_expect_udp(void *arg, size_t n, const uint8_t *token, int64_t deadline_ns)
{
	struct duo *d = arg;

	(void)n;
	(void)deadline_ns;
	d->has_token = token != NULL;
	if (token)
		memcpy(d->token, token, PROTO_TOKEN_LEN);
	return 0;
}

static inline void duo_line(void *arg, const char *line, size_t n)
{
	struct duo *d = arg;

	buf_put(&d->client_lines, line, n);
	buf_putc(&d->client_lines, '\n');
}

/* Bytes 1000, 1001, …; retransmits 0, 1, …: told apart at the other end. */
static inline struct proto_result duo_result(size_t n, uint64_t base)
{
	struct proto_result r = {
		.cpu_total = 0.5, .cpu_user = 0.25, .cpu_system = 0.125, .cc = "cubic", .n = n};

	r.flows = calloc(n ? n : 1, sizeof(*r.flows));
	for (size_t i = 0; i < n; i++)
		r.flows[i] = (struct proto_flow_result){
			.bytes = base + i, .retransmits = (int64_t)i, .seconds = 1.5};
	return r;
}

static inline void *duo_relay(void *arg)
{
	struct duo *d = arg;
	int fds[2] = {d->ctl[0][1], d->ctl[1][1]};
	struct pollfd p[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
	int open = 2;

	while (open && poll(p, 2, -1) > 0) {
		for (int i = 0; i < 2; i++) {
			char b[4096];
			size_t max = sizeof(b);
			ssize_t n;

			if (p[i].fd < 0 || !p[i].revents)
				continue;
			n = read(p[i].fd, b, max);
			if (n <= 0) {
				shutdown(fds[!i], SHUT_WR);
				p[i].fd = -1;
				open--;
				continue;
			}
			if (d->cut != CUT_NONE && i == d->cut_dir &&
			    d->passed[i] + (size_t)n > d->cut_at)
				n = (ssize_t)(d->cut_at - d->passed[i]);
			if (n > 0 && send(fds[!i], b, (size_t)n, MSG_NOSIGNAL) != n)
				p[i].fd = p[i].fd; /* the other end is gone: go on to its EOF */
			d->passed[i] += (size_t)n;
			if (d->cut == CUT_CLOSE && i == d->cut_dir && d->passed[i] == d->cut_at) {
				shutdown(fds[0], SHUT_RDWR);
				shutdown(fds[1], SHUT_RDWR);
				open = 0;
				break;
			}
		}
	}
	return NULL;
}

/* Control events until one that ends the test, or the deadline. */
static inline int duo_wait_event(struct duo *d, struct proto_session *s, enum proto_event *ev,
				 int64_t deadline_ns, struct weir_err *e)
{
	*ev = PROTO_EV_NONE;
	while (*ev == PROTO_EV_NONE) {
		int ret = net_wait_readable(s->ctl_fd, deadline_ns, -1);

		if (ret == 0)
			ret = s->proto->on_control(s, ev, e);
		if (ret < 0)
			return err_set(e, WEIR_PEER, -ret, "no event");
		while (s->role == PROTO_CLIENT && s->proto->pong && s->proto->pong(s) >= 0)
			if (++d->rtts >= d->pings)
				return 0;
	}
	return 0;
}

static inline int duo_serve(struct duo *d, struct proto_session *s, struct weir_err *e)
{
	struct proto_result mine = {0};
	enum proto_event ev;
	int ret = s->proto->accept(s, &d->limits, e);

	if (ret == 0)
		ret = s->proto->streams(s, e);
	if (ret == 0)
		ret = s->proto->start(s, e);
	for (size_t i = 0; ret == 0 && i < d->lines; i++) {
		char line[64];

		snprintf(line, sizeof(line), "{\"type\":\"tick\",\"k\":%zu}", i);
		ret = s->proto->line(s, line, strlen(line), e);
	}
	if (ret == 0)
		ret = duo_wait_event(d, s, &ev, clk_mono_ns() + 3 * d->timeout_ns, e);
	if (ret == 0) {
		d->server_saw_end = ev == PROTO_EV_END;
		if (ev != PROTO_EV_END)
			return -EPIPE;
		if (s->far_sent)
			d->told_sent = s->far_sent[0];
		mine = duo_result(s->plan->n, 5000);
		ret = s->proto->exchange(s, &mine, &d->server_got, e);
		proto_result_fini(&mine);
	}
	return ret;
}

static inline void *duo_server(void *arg)
{
	struct duo *d = arg;
	struct proto_session *s = &d->server;

	d->server_ret = duo_serve(d, s, &d->server_err);
	if (d->server_ret < 0)
		s->proto->say(s, PROTO_SAY_FAILED);
	s->proto->close(s);
	return NULL;
}

static inline int duo_drive(struct duo *d, struct proto_session *s, struct weir_err *e)
{
	struct proto_result mine;
	int ret = s->proto->connect(s, e);

	if (ret == 0)
		ret = s->proto->start(s, e);
	for (size_t i = 0; ret == 0 && i < d->pings; i++)
		s->proto->ping(s);
	if (ret == 0 && d->pings)
		ret = duo_wait_event(d, s, &d->client_event, clk_mono_ns() + 3 * d->timeout_ns, e);
	if (ret < 0)
		return ret;
	mine = duo_result(s->plan->n, 1000);
	ret = s->proto->end(s, &mine, e);
	if (ret == 0)
		ret = s->proto->exchange(s, &mine, &d->client_got, e);
	proto_result_fini(&mine);
	return ret;
}

static inline void duo_session(struct duo *d, struct proto_session *s, enum proto_role role)
{
	*s = (struct proto_session){.proto = d->proto,
				    .role = role,
				    .ctl_fd = d->ctl[role][0],
				    .stop_fd = -1,
				    .psk = role == PROTO_CLIENT ? d->client_psk : d->server_psk,
				    .server_facts = role == PROTO_CLIENT ? d->client_facts
									 : d->server_facts,
				    .timeout_ns = d->timeout_ns,
				    .take_data = duo_take,
				    .expect_data = duo_expect,
				    .expect_udp = d->udp_fd < 0 ? NULL : duo_expect_udp,
				    .on_line = role == PROTO_CLIENT ? duo_line : NULL,
				    .arg = d};
}

/* A port that TCP has free may be another program's by UDP. */
static inline void duo_listen_udp(struct duo *d, struct net_addr *addr)
{
	const struct net_sock_opts o = {.bind_host = "127.0.0.1"};

	d->udp_fd = net_listen_udp(&o, net_addr_port(addr), NULL);
	for (int i = 0; i < 20 && d->udp_fd < 0; i++) {
		close(d->listen_fd);
		d->listen_fd = duo_listen(addr);
		d->udp_fd = net_listen_udp(&o, net_addr_port(addr), NULL);
	}
	assert_true(d->udp_fd >= 0);
}

/* One whole conversation; d->plan is the caller's and may be changed by it. */
static inline void duo_run(struct duo *d)
{
	pthread_t relay, server;
	struct net_addr addr;

	d->listen_fd = duo_listen(&addr);
	if (d->plan.flows[0].transport == NET_UDP)
		duo_listen_udp(d, &addr);
	for (int i = 0; i < 2; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, d->ctl[i]), 0);
	duo_session(d, &d->client, PROTO_CLIENT);
	duo_session(d, &d->server, PROTO_SERVER);
	d->client.plan = &d->plan;
	d->client.peer_addr = addr;
	proto_cookie_new(d->client.cookie);
	memcpy(d->server.cookie, d->client.cookie, PROTO_COOKIE_LEN);
	assert_int_equal(pthread_create(&relay, NULL, duo_relay, d), 0);
	assert_int_equal(pthread_create(&server, NULL, duo_server, d), 0);
	d->client_ret = duo_drive(d, &d->client, &d->client_err);
	d->client.proto->close(&d->client);
	pthread_join(server, NULL);
	pthread_join(relay, NULL);
	close(d->listen_fd);
	if (d->udp_fd >= 0)
		close(d->udp_fd);
	close(d->ctl[0][1]);
	close(d->ctl[1][1]);
}

static inline void duo_fini(struct duo *d)
{
	proto_session_fini(&d->client);
	proto_session_fini(&d->server);
	proto_result_fini(&d->client_got);
	proto_result_fini(&d->server_got);
	buf_fini(&d->client_lines);
	flow_plan_fini(&d->plan);
}

static inline void duo_init(struct duo *d, const char *proto, size_t up, size_t down)
{
	struct flow_spec spec = {.len = 131072};

	*d = (struct duo){.proto = proto_find(proto), .timeout_ns = 2 * NSEC_PER_SEC, .udp_fd = -1};
	assert_non_null(d->proto);
	assert_int_equal(flow_plan_init(&d->plan, &spec, up, down), 0);
	d->plan.duration_ns = 3 * NSEC_PER_SEC;
	d->plan.interval_ns = NSEC_PER_SEC;
}

/*
 * The same conversation cut after every byte of one direction: neither end may crash, hang or
 * believe in results that it has not got.
 */
static inline void duo_cut_everywhere(const char *proto, int dir, void (*more)(struct duo *d))
{
	size_t total = 1;

	for (size_t at = 0; at <= total; at++) {
		struct duo d;
		int64_t start = clk_mono_ns();

		duo_init(&d, proto, 1, 1);
		if (more)
			more(&d);
		if (at > 0)
			d.cut = CUT_CLOSE;
		d.cut_dir = dir;
		d.cut_at = at - 1;
		duo_run(&d);
		if (at == 0) {
			total = d.passed[dir];
			assert_int_equal(d.client_ret, 0);
			assert_int_equal(d.server_ret, 0);
		} else if (at < total) {
			assert_true(d.client_ret < 0 || d.client_got.n == 2);
			assert_true(d.server_ret < 0 || d.server_got.n == 2);
			assert_true(d.client_ret == 0 || d.client_err.msg[0]);
			assert_true(d.server_ret == 0 || d.server_err.msg[0]);
		}
		assert_true(clk_mono_ns() - start < 5 * NSEC_PER_SEC);
		duo_fini(&d);
	}
	assert_true(total > 100);
}

static inline void duo_stall_at(const char *proto, int dir, size_t step,
				void (*more)(struct duo *d))
{
	for (size_t at = 0;; at += step) {
		struct duo d;
		int64_t start = clk_mono_ns();
		bool whole;

		duo_init(&d, proto, 1, 1);
		if (more)
			more(&d);
		d.timeout_ns = 20 * NSEC_PER_MSEC;
		d.cut = CUT_STALL;
		d.cut_dir = dir;
		d.cut_at = at;
		duo_run(&d);
		whole = d.passed[dir] < at || (!d.client_ret && !d.server_ret);
		assert_true(clk_mono_ns() - start < 5 * NSEC_PER_SEC);
		duo_fini(&d);
		if (whole)
			break;
	}
}

#endif
