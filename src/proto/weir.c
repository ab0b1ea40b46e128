/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native protocol, both roles: control messages and the lines of the server's run share one
 * connection, told apart by how a line begins. The whole plan travels, so that two weirs can
 * measure what no iperf3 parameter says. docs/protocol-weir.md is its description.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/weir.h"

#define CLOSE_NS NSEC_PER_SEC

/* ---- while it runs --------------------------------------------------------------------------------- */

static int weir_start(struct proto_session *s, struct weir_err *e)
{
	return s->role == PROTO_CLIENT ? weir_client_start(s, e) : weir_server_start(s, e);
}

static void take_sent(struct proto_session *s, const struct js *root)
{
	struct weir_state *st = weir_state_of(s);

	if (!st->far_sent.flows)
		st->far_sent.flows = calloc(s->plan->n, sizeof(*st->far_sent.flows));
	if (!st->far_bytes)
		st->far_bytes = calloc(s->plan->n, sizeof(*st->far_bytes));
	if (!st->far_sent.flows || !st->far_bytes)
		return;
	st->far_sent.n = s->plan->n;
	if (weir_flows_get(root, &st->far_sent) < 0)
		return;
	for (size_t i = 0; i < s->plan->n; i++)
		if (s->plan->flows[i].dir == NET_UP)
			st->far_bytes[i] = st->far_sent.flows[i].bytes;
	s->far_sent = st->far_bytes;
	s->far_result = &st->far_sent;
}

static enum proto_event event_of(struct proto_session *s, const struct weir_msg *m,
				 struct weir_err *e)
{
	if (weir_peer_failed(s, m, e) < 0)
		return weir_msg_is(m, "error") ? PROTO_EV_ERROR : PROTO_EV_TERMINATED;
	if (s->role == PROTO_CLIENT)
		return PROTO_EV_NONE;
	if (weir_msg_is(m, "sent"))
		take_sent(s, m->root);
	return weir_msg_is(m, "end") ? PROTO_EV_END : PROTO_EV_NONE;
}

static int take_lines(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	while (*ev == PROTO_EV_NONE) {
		struct weir_msg m = {0};
		int ret = weir_io_line(&weir_state_of(s)->io, &m.line, &m.n);

		if (ret == 0)
			ret = weir_take(s, &m, e);
		else if (ret != -EAGAIN)
			proto_read_err(s, ret, "the test ran", e);
		if (ret == 0 && m.doc)
			*ev = event_of(s, &m, e);
		weir_msg_free(&m);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int weir_on_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	int got = weir_io_fill(&weir_state_of(s)->io), ret;

	*ev = PROTO_EV_NONE;
	/* What arrived before the end is still worth reading. */
	ret = take_lines(s, ev, e);
	if (ret == -EAGAIN && (got >= 0 || got == -EAGAIN))
		return 0;
	if (ret == -EAGAIN) {
		*ev = PROTO_EV_GONE;
		proto_read_err(s, got, "the test ran", e);
	} else if (ret < 0) {
		*ev = PROTO_EV_ERROR;
	}
	return 0;
}

static int weir_line(struct proto_session *s, const char *line, size_t n, struct weir_err *e)
{
	int ret;

	if (weir_line_kind(line, n) != WEIR_LINE_RUN)
		return err_set(e, WEIR_OS, EINVAL, "a line of a run begins {\"type\":");
	ret = weir_io_put(&weir_state_of(s)->io, line, n);
	return ret < 0 ? proto_read_err(s, ret, "sending the run to it", e) : 0;
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static int put_flows(struct proto_session *s, const char *name, const struct proto_result *r,
		     struct weir_err *e)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < r->n; i += WEIR_CHUNK) {
		struct buf b = {0};

		weir_flows_put(name, r, i, &b);
		ret = weir_put(s, &b, e);
	}
	return ret;
}

static int weir_end(struct proto_session *s, const struct proto_result *mine, struct weir_err *e)
{
	int ret;

	if (s->role == PROTO_SERVER)
		return 0;
	ret = put_flows(s, "sent", mine, e);
	if (ret == 0)
		ret = weir_put_name(s, "end", e);
	return ret == 0 ? weir_flush(s, e) : ret;
}

static int send_results(struct proto_session *s, const struct proto_result *mine,
			struct weir_err *e)
{
	struct buf b = {0};
	int ret;

	weir_result_put(mine, &b);
	ret = weir_put(s, &b, e);
	if (ret == 0)
		ret = put_flows(s, "flows", mine, e);
	if (ret == 0)
		ret = weir_put_name(s, "done", e);
	return ret == 0 ? weir_flush(s, e) : ret;
}

static int take_result(struct proto_result *r, const struct weir_msg *m, bool *done, size_t *flows)
{
	int ret = 0;

	if (weir_msg_is(m, "result"))
		ret = weir_result_get(m->root, r);
	if (weir_msg_is(m, "flows")) {
		ret = weir_flows_get(m->root, r);
		*flows += js_len(js_get(m->root, "flows"));
	}
	*done = weir_msg_is(m, "done");
	return ret;
}

static int read_results(struct proto_session *s, struct proto_result *theirs, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	size_t flows = 0;
	bool done = false;
	int ret = 0;

	*theirs = (struct proto_result){
		.cpu_total = -1, .cpu_user = -1, .cpu_system = -1, .n = s->plan->n};
	theirs->flows = calloc(theirs->n, sizeof(*theirs->flows));
	if (!theirs->flows)
		return err_os(e, ENOMEM, "results");
	while (ret == 0 && !done) {
		struct weir_msg m;

		ret = weir_next(s, deadline, -1, &m, "reading its results", e);
		if (ret == 0 && take_result(theirs, &m, &done, &flows) < 0)
			ret = err_set(e, WEIR_PEER, EPROTO, "its results are malformed");
		weir_msg_free(&m);
	}
	if (ret == 0 && flows < theirs->n)
		ret = err_set(e, WEIR_PEER, EPROTO, "results of %zu flows instead of %zu", flows,
			      theirs->n);
	if (ret < 0)
		proto_result_fini(theirs);
	return ret;
}

static int weir_exchange(struct proto_session *s, const struct proto_result *mine,
			 struct proto_result *theirs, struct weir_err *e)
{
	int ret;

	*theirs = (struct proto_result){0};
	if (s->role == PROTO_SERVER) {
		ret = read_results(s, theirs, e);
		return ret == 0 ? send_results(s, mine, e) : ret;
	}
	ret = send_results(s, mine, e);
	return ret == 0 ? read_results(s, theirs, e) : ret;
}

/* ---- the row ---------------------------------------------------------------------------------------------- */

static const char *const farewells[] = {
	[PROTO_SAY_BUSY] = "{\"m\":\"error\",\"code\":\"busy\",\"msg\":\"it is busy: as many tests "
			   "run as it may have\",\"hint\":\"try again later\"}\n",
	[PROTO_SAY_REFUSED] = "{\"m\":\"error\",\"code\":\"refused\",\"msg\":\"the server does "
			      "not serve this address\",\"hint\":\"its operator can allow it: weir "
			      "serve --allow PREFIX\"}\n",
	[PROTO_SAY_STOPPED] = "{\"m\":\"stopped\"}\n",
	[PROTO_SAY_FAILED] = "{\"m\":\"error\",\"code\":\"failed\",\"msg\":\"the test "
			     "failed\"}\n",
	[PROTO_SAY_RATE] = "{\"m\":\"error\",\"code\":\"limit\",\"msg\":\"the test moved "
			   "more than the server allows\"}\n",
};

static void weir_say(struct proto_session *s, enum proto_say what)
{
	const char *line = farewells[what];
	struct weir_state *st = weir_state_of(s);

	if (!st) {
		proto_say_bytes(s->ctl_fd, line, strlen(line));
		return;
	}
	if (st->told)
		return;
	st->told = true;
	/* Behind what is queued, or it would land inside another line. */
	if (weir_io_put(&st->io, line, strlen(line) - 1) == 0)
		weir_io_flush(&st->io, clk_mono_ns());
}

static void weir_close(struct proto_session *s)
{
	struct weir_state *st = weir_state_of(s);

	if (st) {
		weir_io_fini(&st->io);
		free(st->far_sent.flows);
		free(st->far_bytes);
		free(st);
	}
	s->state = NULL;
	s->far_sent = NULL;
	s->far_result = NULL;
	net_close_gently(s->ctl_fd, CLOSE_NS);
	s->ctl_fd = -1;
}

static enum proto_sniff weir_sniff(const uint8_t *p, size_t n)
{
	static const char mark[] = "WEIR/1;";
	size_t have = n < sizeof(mark) - 1 ? n : sizeof(mark) - 1;

	if (memcmp(p, mark, have) != 0)
		return PROTO_SNIFF_NO;
	if (n < PROTO_COOKIE_LEN)
		return PROTO_SNIFF_MORE;
	return p[PROTO_COOKIE_LEN - 1] ? PROTO_SNIFF_NO : PROTO_SNIFF_YES;
}

const struct proto proto_weir = {
	.name = "weir",
	.what = "weir's own: the whole plan, both ends' figures, host facts",
	.port = PROTO_PORT,
	.pre_bytes = PROTO_COOKIE_LEN,
	.pre_deadline_ns = 10 * NSEC_PER_SEC,
	.udp = PROTO_UDP_VOUCHED,
	.lines = true,
	.sniff = weir_sniff,
	.connect = weir_connect,
	.accept = weir_accept,
	.streams = weir_streams,
	.start = weir_start,
	.on_control = weir_on_control,
	.line = weir_line,
	.ping = weir_ping,
	.pong = weir_pong,
	.end = weir_end,
	.exchange = weir_exchange,
	.say = weir_say,
	.close = weir_close,
};
