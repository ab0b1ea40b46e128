/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native server: a request is read whole, proven, cut to the limits, and answered; then its
 * data connections say themselves which flow they are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/weir.h"

#define PROTO_VERSION 1
#define HELLO_LOOK_NS (50 * NSEC_PER_MSEC)

static int send_hello(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	struct weir_hello h = {.proto = PROTO_VERSION,
			       .auth = s->psk != NULL,
			       .udp = s->expect_udp && !lim->no_udp};
	struct buf b = {0};

	snprintf(h.version, sizeof(h.version), "%s", weir_version);
	memcpy(h.nonce, weir_state_of(s)->near_nonce, sizeof(h.nonce));
	weir_hello_put(&h, &b);
	return weir_put(s, &b, e);
}

static int read_request(struct proto_session *s, struct weir_err *e)
{
	struct weir_state *st = weir_state_of(s);
	int64_t deadline = proto_deadline(s);
	struct weir_request r;
	struct buf line = {0};
	struct weir_msg m = {0};
	int ret = weir_want(s, "request", deadline, s->stop_fd, &m, "reading its request", e);

	if (ret < 0)
		return ret;
	buf_put(&line, m.line, m.n);
	s->plan = calloc(1, sizeof(*s->plan));
	ret = s->plan && !line.failed ? weir_request_get(m.root, &r, s->plan, e)
				      : err_os(e, ENOMEM, "request");
	if (ret == 0) {
		memcpy(st->far_nonce, r.nonce, sizeof(r.nonce));
		snprintf(s->peer.tool, sizeof(s->peer.tool), "weir");
		safe_str(s->peer.version, sizeof(s->peer.version), r.version, strlen(r.version));
		weir_facts_get(m.root, s->facts, sizeof(s->facts));
	}
	weir_msg_free(&m);
	if (ret == 0 && s->psk)
		ret = weir_check_proof(s, &line, deadline, e);
	buf_fini(&line);
	return ret;
}

int weir_accept(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	struct weir_err mine = {0};
	int ret = weir_state_new(s, e);

	if (ret < 0)
		return ret;
	ret = send_hello(s, lim, &mine);
	if (ret == 0)
		ret = read_request(s, &mine);
	if (ret == 0)
		ret = weir_check_limits(s->plan, lim, &mine);
	if (ret == 0) {
		proto_udp_lengths(s, s->plan);
		weir_state_of(s)->ok = weir_agree(s->plan, lim);
		ret = weir_apply_ok(s, &weir_state_of(s)->ok, &mine);
	}
	if (ret < 0)
		weir_put_error(s, ret, &mine);
	if (ret < 0 && e)
		*e = mine;
	return ret;
}

/* The flow that a data connection is for follows its cookie. */
static int place_flow(struct proto_session *s, int fd, int64_t deadline, struct weir_err *e)
{
	int64_t idle = clk_mono_ns() + proto_idle_ns(s);
	uint8_t b[2];
	size_t i;
	int ret = net_read_full(fd, b, sizeof(b), idle < deadline ? idle : deadline, s->stop_fd);

	if (ret < 0)
		return proto_read_err(s, ret, "opening its flows", e);
	i = (size_t)b[0] << 8 | b[1];
	if (i >= s->n_fds || s->fds[i] >= 0)
		return err_set(e, WEIR_PEER, EPROTO, "a data connection for flow %zu of %zu%s", i,
			       s->n_fds, i < s->n_fds ? ", for the second time" : "");
	ret = net_tcp_apply(fd, &s->plan->flows[i], e);
	if (ret == 0)
		s->fds[i] = fd;
	return ret;
}

/* The client opens its UDP flows one after the other. */
static int place_udp(struct proto_session *s, size_t i, int fd, struct weir_err *e)
{
	int ret = proto_apply(fd, &s->plan->flows[i], e);

	if (ret == 0)
		s->fds[i] = fd;
	return ret;
}

static int take_flows(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_streams_deadline(s);
	bool udp = proto_has_udp(s->plan);

	for (size_t i = 0; i < s->plan->n; i++) {
		int fd = proto_data_take(s, deadline, e);
		int ret = fd < 0 ? fd
			  : udp  ? place_udp(s, i, fd, e)
				 : place_flow(s, fd, deadline, e);

		if (ret < 0) {
			if (fd >= 0)
				close(fd);
			return ret;
		}
	}
	return 0;
}

static int send_ok(struct proto_session *s, struct weir_err *e)
{
	struct buf b = {0};
	int ret;

	weir_ok_put(&weir_state_of(s)->ok, s->server_facts, &b);
	ret = weir_put_proven(s, &b, e);
	buf_fini(&b);
	return ret == 0 ? weir_flush(s, e) : ret;
}

int weir_streams(struct proto_session *s, struct weir_err *e)
{
	struct weir_err mine = {0};
	uint8_t token[PROTO_TOKEN_LEN];
	int ret = proto_fds_new(s, s->plan->n, &mine);

	if (ret == 0)
		ret = proto_expect(
			s, weir_token_bytes(weir_state_of(s)->ok.udp_token, token) ? NULL : token,
			&mine);
	if (ret == 0)
		ret = send_ok(s, &mine);
	if (ret == 0)
		ret = take_flows(s, &mine);
	s->expect_data(s->arg, 0);
	if (ret < 0)
		weir_put_error(s, ret, &mine);
	if (ret < 0 && e)
		*e = mine;
	return ret;
}

/* Until the client speaks, its last hello may still lack its answer. */
static void answer_hellos(struct proto_session *s)
{
	int64_t end = clk_mono_ns() + proto_idle_ns(s);
	int ret = -ETIMEDOUT;

	while (proto_has_udp(s->plan) && ret == -ETIMEDOUT && clk_mono_ns() < end) {
		proto_udp_answer(s);
		ret = net_wait_readable(s->ctl_fd, clk_mono_ns() + HELLO_LOOK_NS, s->stop_fd);
	}
}

int weir_server_start(struct proto_session *s, struct weir_err *e)
{
	struct weir_go go;
	struct weir_msg m = {0};
	int ret;

	answer_hellos(s);
	ret = weir_want(s, "go", proto_deadline(s), s->stop_fd, &m, "waiting for its start", e);

	if (ret < 0)
		return ret;
	if (weir_go_get(m.root, &go) == 0 && go.error_ns >= 0) {
		s->clock_known = true;
		s->clock_offset_ns = go.offset_ns;
		s->clock_error_ns = go.error_ns;
	}
	weir_msg_free(&m);
	ret = weir_put_name(s, "running", e);
	return ret == 0 ? weir_flush(s, e) : ret;
}
