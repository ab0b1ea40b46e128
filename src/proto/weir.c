/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native protocol, both roles: control messages and the lines of the server's run share one
 * connection, told apart by how a line begins. The whole plan travels, so that two weirs can
 * measure what no iperf3 parameter says. docs/protocol-weir.md is its description.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/priv.h"

#define PROTO_VERSION 1
#define CLOCK_ROUNDS  8
#define CLOCK_NS      NSEC_PER_SEC /* no new round after this long */
#define CLOSE_NS      NSEC_PER_SEC
#define RATE_MIN_BPS  1000 /* the least that a flow can be paced to */
#define PINGS         64   /* outstanding, and answers not yet taken */

struct weir_state {
	struct weir_io io;
	size_t control_bytes, run_bytes;
	bool told; /* this end has reported its error */
	struct weir_ok ok;
	char near_nonce[WEIR_NONCE_LEN + 1], far_nonce[WEIR_NONCE_LEN + 1];
	int64_t ping_id, sent_ns[PINGS];
	int64_t rtt_ns[PINGS], pong_now_ns;
	size_t n_pongs, taken;        /* answers ever; of these taken */
	struct proto_result far_sent; /* server: from the client's "sent" lines */
	uint64_t *far_bytes;
};

static struct weir_state *state_of(const struct proto_session *s)
{
	return s->state;
}

static int state_new(struct proto_session *s, struct weir_err *e)
{
	struct weir_state *st = calloc(1, sizeof(*st));

	if (!st)
		return err_os(e, ENOMEM, "control connection");
	weir_io_init(&st->io, s->ctl_fd);
	weir_nonce_new(st->near_nonce);
	s->state = st;
	return 0;
}

/* ---- sending ------------------------------------------------------------------------ */

static int put_msg(struct proto_session *s, struct buf *b, struct weir_err *e)
{
	int ret = b->failed ? -ENOMEM : weir_io_put(&state_of(s)->io, b->data, b->len);

	buf_fini(b);
	return ret < 0 ? proto_read_err(s, ret, "sending to it", e) : 0;
}

static int put_simple(struct proto_session *s, const char *m, struct weir_err *e)
{
	struct buf b = {0};

	buf_printf(&b, "{\"m\":\"%s\"}", m);
	return put_msg(s, &b, e);
}

static int flush(struct proto_session *s, struct weir_err *e)
{
	int ret = weir_io_flush(&state_of(s)->io, clk_mono_ns() + proto_idle_ns(s));

	return ret < 0 ? proto_read_err(s, ret, "sending to it", e) : 0;
}

/* Tells the peer why; the error that it is about stays what it is. */
static int put_error(struct proto_session *s, int ret, const struct weir_err *e)
{
	const char *msg = e && e->msg[0] ? e->msg : "the test could not be started";
	struct buf b = {0};

	state_of(s)->told = true;
	weir_error_put(weir_error_code(-ret), msg, e ? e->hint : "", &b);
	if (put_msg(s, &b, NULL) == 0)
		flush(s, NULL);
	return ret;
}

/* ---- receiving ------------------------------------------------------------------------ */

struct msg {
	struct js_doc *doc; /* NULL: dealt with already */
	const struct js *root;
	const char *name;
	const char *line; /* its bytes, until the next read */
	size_t n;
};

static void msg_free(struct msg *m)
{
	js_free(m->doc);
	*m = (struct msg){0};
}

static bool msg_is(const struct msg *m, const char *name)
{
	return m->doc && !strcmp(m->name, name);
}

static int answer_ping(struct proto_session *s, const struct js *root)
{
	struct weir_ping p;
	struct buf b = {0};

	if (weir_ping_get(root, &p) < 0)
		return -EPROTO;
	p.now_ns = clk_mono_ns();
	weir_ping_put("pong", &p, &b);
	return put_msg(s, &b, NULL);
}

static void take_pong(struct weir_state *st, const struct js *root)
{
	struct weir_ping p;
	int64_t now = clk_mono_ns();

	if (weir_ping_get(root, &p) < 0 || p.id < 1 || p.id > st->ping_id ||
	    p.id <= st->ping_id - PINGS || !st->sent_ns[p.id % PINGS])
		return;
	st->rtt_ns[st->n_pongs++ % PINGS] = now - st->sent_ns[p.id % PINGS];
	st->sent_ns[p.id % PINGS] = 0;
	st->pong_now_ns = p.now_ns;
	if (st->n_pongs - st->taken > PINGS)
		st->taken = st->n_pongs - PINGS;
}

static void pass_line(struct proto_session *s, const char *line, size_t n)
{
	struct weir_state *st = state_of(s);

	if (n > WEIR_RUN_MAX - st->run_bytes) {
		s->lines_cut = true;
		return;
	}
	st->run_bytes += n;
	if (s->on_line)
		s->on_line(s->arg, line, n);
}

static int alien_err(const struct proto_session *s, const char *line, size_t n, struct weir_err *e)
{
	char peer[160], text[80];

	proto_peer_name(s, peer, sizeof(peer));
	safe_str(text, sizeof(text), line, n < 40 ? n : 40);
	return err_set(e, WEIR_PEER, EPROTO, "%s sent a line that is no message: \"%s\"", peer,
		       text);
}

static int parse_control(struct proto_session *s, struct msg *m, struct weir_err *e)
{
	struct weir_state *st = state_of(s);
	size_t max = PROTO_RESULTS_BASE + (s->plan ? s->plan->n : 0) * PROTO_RESULTS_PER_FLOW;
	int ret = weir_msg_parse(m->line, m->n, &m->doc, &m->name, e);

	if (ret < 0)
		return ret;
	m->root = js_root(m->doc);
	if (msg_is(m, "ping")) {
		ret = answer_ping(s, m->root);
		msg_free(m);
	} else if (msg_is(m, "pong")) {
		take_pong(st, m->root);
		msg_free(m);
	} else {
		st->control_bytes += m->n;
		if (st->control_bytes > max) {
			msg_free(m);
			return err_set(e, WEIR_PEER, EMSGSIZE, "over %zu bytes of messages", max);
		}
	}
	return ret < 0 ? proto_read_err(s, ret, "answering its ping", e) : 0;
}

/* One line that was read. Messages that may come at any time are dealt with here. */
static int take_line(struct proto_session *s, struct msg *m, struct weir_err *e)
{
	switch (weir_line_kind(m->line, m->n)) {
	case WEIR_LINE_BLANK:
		return 0;
	case WEIR_LINE_RUN:
		pass_line(s, m->line, m->n);
		return 0;
	case WEIR_LINE_ALIEN:
		return alien_err(s, m->line, m->n, e);
	case WEIR_LINE_CONTROL:
		return parse_control(s, m, e);
	}
	return 0;
}

/* The peer's own report of an error, or that it was stopped; 0 when m is neither. */
static int peer_failed(const struct proto_session *s, const struct msg *m, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	if (msg_is(m, "error")) {
		weir_error_get(m->root, e);
		return err_wrap(e, "%s", peer);
	}
	if (msg_is(m, "stopped"))
		return err_set(e, WEIR_PEER, ECONNABORTED, "%s was stopped", peer);
	return 0;
}

/* The next line, whatever it is; m->doc is NULL for one that needs nothing more. */
static int next_line(struct proto_session *s, int64_t deadline_ns, int stop_fd, struct msg *m,
		     const char *what, struct weir_err *e)
{
	struct weir_err mine = {0};
	int64_t idle = clk_mono_ns() + proto_idle_ns(s);
	int ret;

	*m = (struct msg){0};
	ret = weir_io_wait(&state_of(s)->io, &m->line, &m->n,
			   idle < deadline_ns ? idle : deadline_ns, stop_fd);
	if (ret < 0)
		return proto_read_err(s, ret, what, e);
	ret = take_line(s, m, &mine);
	if (ret == 0 && m->doc) {
		ret = peer_failed(s, m, &mine);
		ret = mine.code ? -mine.code : ret;
	}
	if (ret < 0) {
		msg_free(m);
		if (e)
			*e = mine;
	}
	return ret;
}

/* Reads on to the message of that name; unknown ones are skipped. */
static int want_msg(struct proto_session *s, const char *name, int64_t deadline_ns, int stop_fd,
		    struct msg *m, const char *what, struct weir_err *e)
{
	for (;;) {
		int ret = next_line(s, deadline_ns, stop_fd, m, what, e);

		if (ret < 0 || msg_is(m, name))
			return ret;
		msg_free(m);
	}
}

/* ---- the pre-shared key ------------------------------------------------------------------ */

/* Proof of the key over who speaks, both nonces (the server's first) and the line itself. */
static int make_mac(const struct proto_session *s, enum proto_role speaker, const char *line,
		    size_t n, char hex[PROTO_MAC_HEX], struct weir_err *e)
{
	const struct weir_state *st = state_of(s);
	bool server = s->role == PROTO_SERVER;
	struct proto_part parts[] = {
		{speaker == PROTO_SERVER ? "weir/1 server" : "weir/1 client", 13},
		{server ? st->near_nonce : st->far_nonce, WEIR_NONCE_LEN},
		{server ? st->far_nonce : st->near_nonce, WEIR_NONCE_LEN},
		{line, n},
	};
	int ret = proto_psk_mac(s->psk, parts, ARRAY_LEN(parts), hex);

	if (ret == -ENOTSUP)
		return err_set(e, WEIR_MISSING, ENOTSUP,
			       "pre-shared keys need a build with libcrypto");
	return ret < 0 ? err_os(e, -ret, "pre-shared key") : 0;
}

/* The line, and with a key its proof on a line of its own. */
static int put_proven(struct proto_session *s, struct buf *line, struct weir_err *e)
{
	char hex[PROTO_MAC_HEX];
	struct buf auth = {0};
	int ret = 0;

	if (s->psk) {
		ret = make_mac(s, s->role, line->data, line->len, hex, e);
		buf_printf(&auth, "{\"m\":\"auth\",\"mac\":\"%s\"}", hex);
	}
	if (ret == 0)
		ret = put_msg(s, line, e);
	if (ret == 0 && s->psk)
		ret = put_msg(s, &auth, e);
	buf_fini(&auth);
	return ret;
}

/* The peer's proof for a line of its. */
static int check_proof(struct proto_session *s, const struct buf *line, int64_t deadline_ns,
		       struct weir_err *e)
{
	enum proto_role speaker = s->role == PROTO_SERVER ? PROTO_CLIENT : PROTO_SERVER;
	char hex[PROTO_MAC_HEX];
	const char *mac;
	struct msg m;
	size_t n = 0;
	bool same;
	int ret = make_mac(s, speaker, line->data, line->len, hex, e);

	if (ret == 0)
		ret = want_msg(s, "auth", deadline_ns, s->stop_fd, &m, "it proves its key", e);
	if (ret < 0)
		return ret;
	mac = js_str(js_get(m.root, "mac"), &n);
	same = mac && n == PROTO_MAC_HEX - 1 && proto_psk_same(mac, hex, n);
	msg_free(&m);
	return same ? 0
		    : err_set(e, WEIR_PEER, EACCES, "the pre-shared key of the %s is another one",
			      speaker == PROTO_CLIENT ? "client" : "server");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void keep_flows(struct flow_plan *p, size_t up, size_t down)
{
	size_t had = flow_plan_count(p, NET_UP);

	memmove(p->flows + up, p->flows + had, down * sizeof(*p->flows));
	p->n = up + down;
}

static bool wants_more(const struct flow_spec *f, uint64_t rate_bps)
{
	return rate_bps && (!f->rate_bps || f->rate_bps > rate_bps);
}

/* Both ends make the same of a request this way; `lowered` says what it was. */
static int apply_ok(struct proto_session *s, const struct weir_ok *ok, struct weir_err *e)
{
	struct flow_plan *p = s->plan;
	size_t up = flow_plan_count(p, NET_UP), down = flow_plan_count(p, NET_DOWN);
	struct buf b = {.max = sizeof(s->lowered)};
	bool paced = false;

	if (ok->up > up || ok->down > down || ok->duration_ns > p->duration_ns ||
	    ok->up + ok->down == 0 || (p->duration_ns && !ok->duration_ns))
		return err_set(e, WEIR_PEER, EPROTO, "more was agreed to than was asked for");
	if (ok->up + ok->down < up + down)
		buf_printf(&b, "%zu of %zu flows, ", (size_t)(ok->up + ok->down), up + down);
	if (ok->duration_ns < p->duration_ns)
		buf_printf(&b, "%.3g s of %.3g s, ", (double)ok->duration_ns * 1e-9,
			   (double)p->duration_ns * 1e-9);
	keep_flows(p, ok->up, ok->down);
	p->duration_ns = ok->duration_ns;
	for (size_t i = 0; i < p->n; i++) {
		if (!wants_more(&p->flows[i], ok->rate_bps))
			continue;
		p->flows[i].rate_bps = ok->rate_bps;
		paced = true;
	}
	if (paced)
		buf_printf(&b, "at most %llu bit/s a flow, ", (unsigned long long)ok->rate_bps);
	if (b.len > 2 && !b.failed)
		snprintf(s->lowered, sizeof(s->lowered), "%.*s", (int)(b.len - 2), b.data);
	buf_fini(&b);
	return 0;
}

/* What cannot be lowered is refused. */
static int check_limits(const struct flow_plan *p, const struct proto_limits *lim,
			struct weir_err *e)
{
	uint64_t windows = 0;

	for (size_t i = 0; i < p->n; i++) {
		windows += p->flows[i].window;
		if (p->flows[i].transport != NET_TCP)
			return err_set(e, WEIR_LIMIT, EOPNOTSUPP, "UDP is not served");
		if (lim->no_high_dscp && p->flows[i].tos >= 0xc0)
			return err_set(e, WEIR_LIMIT, EDQUOT,
				       "this server does not take DSCP CS6 and CS7");
	}
	if (lim->window_total && windows > lim->window_total)
		return err_set(e, WEIR_LIMIT, EDQUOT,
			       "windows of %llu bytes in all, this server takes %llu",
			       (unsigned long long)windows, (unsigned long long)lim->window_total);
	if (lim->duration_ns && !p->duration_ns)
		return err_set(e, WEIR_LIMIT, EDQUOT,
			       "this server takes no test without a duration (at most %lld s)",
			       (long long)(lim->duration_ns / NSEC_PER_SEC));
	if (lim->duration_ns && p->omit_ns >= lim->duration_ns)
		return err_set(e, WEIR_LIMIT, EDQUOT, "this server takes at most %lld s",
			       (long long)(lim->duration_ns / NSEC_PER_SEC));
	return 0;
}

static struct weir_ok agree(const struct flow_plan *p, const struct proto_limits *lim)
{
	struct weir_ok ok = {.up = flow_plan_count(p, NET_UP),
			     .down = flow_plan_count(p, NET_DOWN),
			     .duration_ns = p->duration_ns};

	if (lim->flows && ok.up > lim->flows)
		ok.up = lim->flows;
	if (lim->flows && ok.down > lim->flows)
		ok.down = lim->flows;
	if (lim->duration_ns && p->duration_ns > lim->duration_ns - p->omit_ns)
		ok.duration_ns = lim->duration_ns - p->omit_ns;
	if (lim->rate_bps)
		ok.rate_bps = lim->rate_bps / (ok.up + ok.down);
	if (lim->rate_bps && ok.rate_bps < RATE_MIN_BPS)
		ok.rate_bps = RATE_MIN_BPS;
	return ok;
}

/* ---- client ------------------------------------------------------------------------------------ */

static int read_hello(struct proto_session *s, int64_t deadline, struct weir_err *e)
{
	struct weir_hello h;
	struct msg m;
	int ret = want_msg(s, "hello", deadline, s->stop_fd, &m, "greeting it", e);

	if (ret < 0)
		return ret;
	ret = weir_hello_get(m.root, &h, e);
	msg_free(&m);
	if (ret < 0)
		return ret;
	memcpy(state_of(s)->far_nonce, h.nonce, sizeof(h.nonce));
	snprintf(s->peer.tool, sizeof(s->peer.tool), "weir");
	safe_str(s->peer.version, sizeof(s->peer.version), h.version, strlen(h.version));
	for (size_t i = 0; i < s->plan->n; i++)
		if (s->plan->flows[i].transport == NET_UDP && !h.udp)
			return err_set(e, WEIR_PEER, EOPNOTSUPP, "the far weir (%s) has no UDP",
				       s->peer.version);
	if (h.auth && !s->psk) {
		err_set(e, WEIR_PEER, EACCES, "the server wants a pre-shared key");
		return err_hint(e, "give the server's key");
	}
	if (!h.auth && s->psk)
		return err_set(e, WEIR_PEER, EACCES, "the server has no pre-shared key");
	return 0;
}

static int send_request(struct proto_session *s, struct weir_err *e)
{
	struct weir_request r = {0};
	struct buf b = {0};
	int ret;

	snprintf(r.version, sizeof(r.version), "%s", weir_version);
	memcpy(r.nonce, state_of(s)->near_nonce, sizeof(r.nonce));
	ret = weir_request_put(&r, s->plan, s->server_facts, &b, e);
	if (ret == 0)
		ret = put_proven(s, &b, e);
	buf_fini(&b);
	return ret;
}

static int read_ok(struct proto_session *s, int64_t deadline, struct weir_err *e)
{
	struct weir_ok ok;
	struct buf line = {0};
	struct msg m;
	int ret = want_msg(s, "ok", deadline, s->stop_fd, &m, "it looks at the request", e);

	if (ret < 0)
		return ret;
	buf_put(&line, m.line, m.n);
	weir_facts_get(m.root, s->facts, sizeof(s->facts));
	ret = weir_ok_get(m.root, &ok, e);
	msg_free(&m);
	if (ret == 0 && line.failed)
		ret = err_os(e, ENOMEM, "answer");
	if (ret == 0 && s->psk)
		ret = check_proof(s, &line, deadline, e);
	if (ret == 0)
		ret = apply_ok(s, &ok, e);
	buf_fini(&line);
	return ret;
}

static int open_flows(struct proto_session *s, struct weir_err *e)
{
	int ret = proto_fds_new(s, s->plan->n, e);

	for (size_t i = 0; ret == 0 && i < s->plan->n; i++) {
		uint8_t index[2] = {(uint8_t)(i >> 8), (uint8_t)i};

		ret = proto_data_open(s, i, index, sizeof(index), e);
	}
	return ret;
}

static int weir_connect(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	int ret = state_new(s, e);

	if (ret == 0)
		ret = read_hello(s, deadline, e);
	if (ret == 0)
		ret = send_request(s, e);
	if (ret == 0)
		ret = read_ok(s, deadline, e);
	if (ret == 0)
		ret = open_flows(s, e);
	return ret;
}

static int weir_ping(struct proto_session *s)
{
	struct weir_state *st = state_of(s);
	struct weir_ping p = {.id = ++st->ping_id};
	struct buf b = {0};

	weir_ping_put("ping", &p, &b);
	st->sent_ns[p.id % PINGS] = clk_mono_ns();
	return put_msg(s, &b, NULL);
}

static int64_t weir_pong(struct proto_session *s)
{
	struct weir_state *st = state_of(s);

	return st->taken < st->n_pongs ? st->rtt_ns[st->taken++ % PINGS] : -EAGAIN;
}

/* One round trip; the quickest so far says best how the two clocks stand. */
static int clock_round(struct proto_session *s, int64_t deadline, struct weir_err *e)
{
	struct weir_state *st = state_of(s);
	int64_t rtt;
	struct msg m;
	int ret = weir_ping(s);

	if (ret < 0)
		return proto_read_err(s, ret, "comparing clocks", e);
	while ((rtt = weir_pong(s)) < 0) {
		ret = next_line(s, deadline, s->stop_fd, &m, "comparing clocks", e);
		msg_free(&m);
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

static int client_start(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s), until = clk_mono_ns() + CLOCK_NS;
	struct weir_go go = {.error_ns = -1};
	struct buf b = {0};
	struct msg m;
	int ret = 0;

	for (int i = 0; ret == 0 && i < CLOCK_ROUNDS && (i == 0 || clk_mono_ns() < until); i++)
		ret = clock_round(s, deadline, e);
	if (ret < 0)
		return ret;
	if (s->clock_known)
		go = (struct weir_go){-s->clock_offset_ns, s->clock_error_ns};
	weir_go_put(&go, &b);
	ret = put_msg(s, &b, e);
	if (ret == 0)
		ret = want_msg(s, "running", deadline, s->stop_fd, &m, "starting the test", e);
	if (ret == 0)
		msg_free(&m);
	return ret;
}

/* ---- server ------------------------------------------------------------------------------------ */

static int send_hello(struct proto_session *s, struct weir_err *e)
{
	struct weir_hello h = {.proto = PROTO_VERSION, .auth = s->psk != NULL};
	struct buf b = {0};

	snprintf(h.version, sizeof(h.version), "%s", weir_version);
	memcpy(h.nonce, state_of(s)->near_nonce, sizeof(h.nonce));
	weir_hello_put(&h, &b);
	return put_msg(s, &b, e);
}

static int read_request(struct proto_session *s, struct weir_err *e)
{
	struct weir_state *st = state_of(s);
	int64_t deadline = proto_deadline(s);
	struct weir_request r;
	struct buf line = {0};
	struct msg m;
	int ret = want_msg(s, "request", deadline, s->stop_fd, &m, "reading its request", e);

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
	msg_free(&m);
	if (ret == 0 && s->psk)
		ret = check_proof(s, &line, deadline, e);
	buf_fini(&line);
	return ret;
}

static int weir_accept(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	struct weir_err mine = {0};
	int ret = state_new(s, e);

	if (ret < 0)
		return ret;
	ret = send_hello(s, &mine);
	if (ret == 0)
		ret = read_request(s, &mine);
	if (ret == 0)
		ret = check_limits(s->plan, lim, &mine);
	if (ret == 0) {
		state_of(s)->ok = agree(s->plan, lim);
		ret = apply_ok(s, &state_of(s)->ok, &mine);
	}
	if (ret < 0)
		put_error(s, ret, &mine);
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

static int take_flows(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_streams_deadline(s);

	for (size_t i = 0; i < s->plan->n; i++) {
		int fd = proto_data_take(s, deadline, e);
		int ret = fd < 0 ? fd : place_flow(s, fd, deadline, e);

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

	weir_ok_put(&state_of(s)->ok, s->server_facts, &b);
	ret = put_proven(s, &b, e);
	buf_fini(&b);
	return ret == 0 ? flush(s, e) : ret;
}

static int weir_streams(struct proto_session *s, struct weir_err *e)
{
	struct weir_err mine = {0};
	int ret = proto_fds_new(s, s->plan->n, &mine);

	if (ret == 0) {
		ret = s->expect_data(s->arg, s->plan->n);
		if (ret < 0)
			err_os(&mine, -ret, "expecting data connections");
	}
	if (ret == 0)
		ret = send_ok(s, &mine);
	if (ret == 0)
		ret = take_flows(s, &mine);
	s->expect_data(s->arg, 0);
	if (ret < 0)
		put_error(s, ret, &mine);
	if (ret < 0 && e)
		*e = mine;
	return ret;
}

static int server_start(struct proto_session *s, struct weir_err *e)
{
	struct weir_go go;
	struct msg m;
	int ret = want_msg(s, "go", proto_deadline(s), s->stop_fd, &m, "waiting for its start", e);

	if (ret < 0)
		return ret;
	if (weir_go_get(m.root, &go) == 0 && go.error_ns >= 0) {
		s->clock_known = true;
		s->clock_offset_ns = go.offset_ns;
		s->clock_error_ns = go.error_ns;
	}
	msg_free(&m);
	ret = put_simple(s, "running", e);
	return ret == 0 ? flush(s, e) : ret;
}

/* ---- while it runs --------------------------------------------------------------------------------- */

static int weir_start(struct proto_session *s, struct weir_err *e)
{
	return s->role == PROTO_CLIENT ? client_start(s, e) : server_start(s, e);
}

static void take_sent(struct proto_session *s, const struct js *root)
{
	struct weir_state *st = state_of(s);

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
}

static enum proto_event event_of(struct proto_session *s, const struct msg *m, struct weir_err *e)
{
	if (peer_failed(s, m, e) < 0)
		return msg_is(m, "error") ? PROTO_EV_ERROR : PROTO_EV_TERMINATED;
	if (s->role == PROTO_CLIENT)
		return PROTO_EV_NONE;
	if (msg_is(m, "sent"))
		take_sent(s, m->root);
	return msg_is(m, "end") ? PROTO_EV_END : PROTO_EV_NONE;
}

static int take_lines(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	while (*ev == PROTO_EV_NONE) {
		struct msg m = {0};
		int ret = weir_io_line(&state_of(s)->io, &m.line, &m.n);

		if (ret == 0)
			ret = take_line(s, &m, e);
		else if (ret != -EAGAIN)
			proto_read_err(s, ret, "the test ran", e);
		if (ret == 0 && m.doc)
			*ev = event_of(s, &m, e);
		msg_free(&m);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int weir_on_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	int got = weir_io_fill(&state_of(s)->io), ret;

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
	ret = weir_io_put(&state_of(s)->io, line, n);
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
		ret = put_msg(s, &b, e);
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
		ret = put_simple(s, "end", e);
	return ret == 0 ? flush(s, e) : ret;
}

static int send_results(struct proto_session *s, const struct proto_result *mine,
			struct weir_err *e)
{
	struct buf b = {0};
	int ret;

	weir_result_put(mine, &b);
	ret = put_msg(s, &b, e);
	if (ret == 0)
		ret = put_flows(s, "flows", mine, e);
	if (ret == 0)
		ret = put_simple(s, "done", e);
	return ret == 0 ? flush(s, e) : ret;
}

static int take_result(struct proto_result *r, const struct msg *m, bool *done, size_t *flows)
{
	int ret = 0;

	if (msg_is(m, "result"))
		ret = weir_result_get(m->root, r);
	if (msg_is(m, "flows")) {
		ret = weir_flows_get(m->root, r);
		*flows += js_len(js_get(m->root, "flows"));
	}
	*done = msg_is(m, "done");
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
		struct msg m;

		ret = next_line(s, deadline, -1, &m, "reading its results", e);
		if (ret == 0 && take_result(theirs, &m, &done, &flows) < 0)
			ret = err_set(e, WEIR_PEER, EPROTO, "its results are malformed");
		msg_free(&m);
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
	[PROTO_SAY_BUSY] = "{\"m\":\"error\",\"code\":\"busy\",\"msg\":\"the server runs as many "
			   "tests as it may\",\"hint\":\"try again later\"}\n",
	[PROTO_SAY_REFUSED] = "{\"m\":\"error\",\"code\":\"refused\",\"msg\":\"the server does "
			      "not serve this address\",\"hint\":\"its operator can allow it: weir "
			      "serve --allow PREFIX\"}\n",
	[PROTO_SAY_STOPPED] = "{\"m\":\"stopped\"}\n",
	[PROTO_SAY_FAILED] = "{\"m\":\"error\",\"code\":\"failed\",\"msg\":\"the test "
			     "failed\"}\n",
};

static void weir_say(struct proto_session *s, enum proto_say what)
{
	const char *line = farewells[what];
	struct weir_state *st = state_of(s);

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
	struct weir_state *st = state_of(s);

	if (st) {
		weir_io_fini(&st->io);
		free(st->far_sent.flows);
		free(st->far_bytes);
		free(st);
	}
	s->state = NULL;
	s->far_sent = NULL;
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
