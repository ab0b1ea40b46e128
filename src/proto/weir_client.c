/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native client: greeting, request, data connections, and how the two clocks stand.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/weir.h"

#define CLOCK_ROUNDS 8
#define CLOCK_NS     NSEC_PER_SEC /* no new round after this long */

static int read_hello(struct proto_session *s, int64_t deadline, struct weir_err *e)
{
	struct weir_hello h;
	struct weir_msg m = {0};
	char peer[160];
	int ret = weir_want(s, "hello", deadline, s->stop_fd, &m, "greeting it", e);

	if (ret < 0)
		return ret;
	ret = weir_hello_get(m.root, &h, e);
	weir_msg_free(&m);
	if (ret < 0)
		return ret;
	proto_peer_name(s, peer, sizeof(peer));
	memcpy(weir_state_of(s)->far_nonce, h.nonce, sizeof(h.nonce));
	snprintf(s->peer.tool, sizeof(s->peer.tool), "weir");
	safe_str(s->peer.version, sizeof(s->peer.version), h.version, strlen(h.version));
	for (size_t i = 0; i < s->plan->n; i++)
		if (s->plan->flows[i].transport == NET_UDP && !h.udp)
			return err_set(e, WEIR_PEER, EOPNOTSUPP, "%s: that weir (%s) has no UDP",
				       peer, s->peer.version);
	if (h.auth && !s->psk) {
		err_set(e, WEIR_PEER, EACCES, "%s wants a pre-shared key", peer);
		return err_hint(e, "give it with --psk-file or WEIR_PSK");
	}
	if (!h.auth && s->psk)
		return err_set(e, WEIR_PEER, EACCES, "%s has no pre-shared key", peer);
	return 0;
}

static int send_request(struct proto_session *s, struct weir_err *e)
{
	struct weir_request r = {0};
	struct buf b = {0};
	int ret;

	snprintf(r.version, sizeof(r.version), "%s", weir_version);
	memcpy(r.nonce, weir_state_of(s)->near_nonce, sizeof(r.nonce));
	ret = weir_request_put(&r, s->plan, s->server_facts, &b, e);
	if (ret == 0)
		ret = weir_put_proven(s, &b, e);
	buf_fini(&b);
	return ret;
}

static int read_ok(struct proto_session *s, int64_t deadline, struct weir_err *e)
{
	struct weir_ok ok;
	struct buf line = {0};
	struct weir_msg m = {0};
	int ret = weir_want(s, "ok", deadline, s->stop_fd, &m, "it looks at the request", e);

	if (ret < 0)
		return ret;
	buf_put(&line, m.line, m.n);
	weir_facts_get(m.root, s->facts, sizeof(s->facts));
	ret = weir_ok_get(m.root, &ok, e);
	weir_msg_free(&m);
	if (ret == 0 && line.failed)
		ret = err_os(e, ENOMEM, "answer");
	if (ret == 0 && s->psk)
		ret = weir_check_proof(s, &line, deadline, e);
	if (ret == 0)
		ret = weir_apply_ok(s, &ok, e);
	weir_state_of(s)->ok = ok;
	buf_fini(&line);
	return ret;
}

static int open_udp_flows(struct proto_session *s, struct weir_err *e)
{
	uint8_t token[PROTO_TOKEN_LEN];
	int ret = weir_token_bytes(weir_state_of(s)->ok.udp_token, token);

	if (ret < 0)
		return err_set(e, WEIR_PEER, EPROTO, "its answer has no token for UDP flows");
	for (size_t i = 0; ret == 0 && i < s->plan->n; i++)
		ret = proto_udp_open(s, i, token, e);
	return ret;
}

static int open_flows(struct proto_session *s, struct weir_err *e)
{
	int ret = proto_fds_new(s, s->plan->n, e);

	if (ret == 0 && proto_has_udp(s->plan))
		return open_udp_flows(s, e);
	for (size_t i = 0; ret == 0 && i < s->plan->n; i++) {
		uint8_t index[2] = {(uint8_t)(i >> 8), (uint8_t)i};

		ret = proto_data_open(s, i, index, sizeof(index), e);
	}
	return ret;
}

int weir_connect(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	int ret = weir_state_new(s, e);

	if (ret == 0)
		ret = read_hello(s, deadline, e);
	proto_udp_lengths(s, s->plan);
	if (ret == 0)
		ret = send_request(s, e);
	if (ret == 0)
		ret = read_ok(s, deadline, e);
	if (ret == 0)
		ret = open_flows(s, e);
	return ret;
}

int weir_ping(struct proto_session *s)
{
	struct weir_state *st = weir_state_of(s);
	struct weir_ping p = {.id = ++st->ping_id};
	struct buf b = {0};

	weir_ping_put("ping", &p, &b);
	st->sent_ns[p.id % WEIR_PINGS] = clk_mono_ns();
	return weir_put(s, &b, NULL);
}

int64_t weir_pong(struct proto_session *s)
{
	struct weir_state *st = weir_state_of(s);

	return st->taken < st->n_pongs ? st->rtt_ns[st->taken++ % WEIR_PINGS] : -EAGAIN;
}

/* One round trip; the quickest so far says best how the two clocks stand. */
static int clock_round(struct proto_session *s, int64_t deadline, struct weir_err *e)
{
	struct weir_state *st = weir_state_of(s);
	int64_t rtt;
	struct weir_msg m = {0};
	int ret = weir_ping(s);

	if (ret < 0)
		return proto_read_err(s, ret, "comparing clocks", e);
	while ((rtt = weir_pong(s)) < 0) {
		ret = weir_next(s, deadline, s->stop_fd, &m, "comparing clocks", e);
		weir_msg_free(&m);
		if (ret < 0)
			return ret;
	}
	if (s->clock_known && rtt / 2 >= s->clock_error_ns)
		return 0;
	s->clock_known = true;
	s->clock_error_ns = rtt / 2;
	/* Both clocks count from a boot: the difference of two such values fits. */
	if (__builtin_sub_overflow(clk_mono_ns() - rtt / 2, st->pong_now_ns, &s->clock_offset_ns))
		s->clock_known = false;
	return 0;
}

int weir_client_start(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s), until = clk_mono_ns() + CLOCK_NS;
	struct weir_go go = {.error_ns = -1};
	struct buf b = {0};
	struct weir_msg m = {0};
	int ret = 0;

	for (int i = 0; ret == 0 && i < CLOCK_ROUNDS && (i == 0 || clk_mono_ns() < until); i++)
		ret = clock_round(s, deadline, e);
	if (ret < 0)
		return ret;
	if (s->clock_known)
		go = (struct weir_go){-s->clock_offset_ns, s->clock_error_ns};
	weir_go_put(&go, &b);
	ret = weir_put(s, &b, e);
	if (ret == 0)
		ret = weir_want(s, "running", deadline, s->stop_fd, &m, "starting the test", e);
	if (ret == 0)
		weir_msg_free(&m);
	return ret;
}
