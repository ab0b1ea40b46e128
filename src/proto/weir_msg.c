/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native control connection as messages: what may come at any time (lines of the run, pings,
 * errors) is dealt with on the way to the message that is waited for. With a pre-shared key,
 * each end proves it over its one decisive line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/weir.h"

struct weir_state *weir_state_of(const struct proto_session *s)
{
	return s->state;
}

/* ---- sending ------------------------------------------------------------------------ */

int weir_put(struct proto_session *s, struct buf *b, struct weir_err *e)
{
	int ret = b->failed ? -ENOMEM : weir_io_put(&weir_state_of(s)->io, b->data, b->len);

	buf_fini(b);
	return ret < 0 ? proto_read_err(s, ret, "sending to it", e) : 0;
}

int weir_put_name(struct proto_session *s, const char *m, struct weir_err *e)
{
	struct buf b = {0};

	buf_printf(&b, "{\"m\":\"%s\"}", m);
	return weir_put(s, &b, e);
}

int weir_flush(struct proto_session *s, struct weir_err *e)
{
	int ret = weir_io_flush(&weir_state_of(s)->io, clk_mono_ns() + proto_idle_ns(s));

	return ret < 0 ? proto_read_err(s, ret, "sending to it", e) : 0;
}

/* Tells the peer why; the error that it is about stays what it is. */
int weir_put_error(struct proto_session *s, int ret, const struct weir_err *e)
{
	const char *msg = e && e->msg[0] ? e->msg : "the test could not be started";
	struct buf b = {0};

	weir_state_of(s)->told = true;
	weir_error_put(weir_error_code(-ret), msg, e ? e->hint : "", &b);
	if (weir_put(s, &b, NULL) == 0)
		weir_flush(s, NULL);
	return ret;
}

/* ---- receiving ------------------------------------------------------------------------ */

void weir_msg_free(struct weir_msg *m)
{
	js_free(m->doc);
	*m = (struct weir_msg){0};
}

bool weir_msg_is(const struct weir_msg *m, const char *name)
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
	return weir_put(s, &b, NULL);
}

static void take_pong(struct weir_state *st, const struct js *root)
{
	struct weir_ping p;
	int64_t now = clk_mono_ns();

	if (weir_ping_get(root, &p) < 0 || p.id < 1 || p.id > st->ping_id ||
	    p.id <= st->ping_id - WEIR_PINGS || !st->sent_ns[p.id % WEIR_PINGS])
		return;
	st->rtt_ns[st->n_pongs++ % WEIR_PINGS] = now - st->sent_ns[p.id % WEIR_PINGS];
	st->sent_ns[p.id % WEIR_PINGS] = 0;
	st->pong_now_ns = p.now_ns;
	if (st->n_pongs - st->taken > WEIR_PINGS)
		st->taken = st->n_pongs - WEIR_PINGS;
}

static void pass_line(struct proto_session *s, const char *line, size_t n)
{
	struct weir_state *st = weir_state_of(s);

	if (n > WEIR_RUN_MAX - st->run_bytes) {
		s->lines_cut = true;
		return;
	}
	st->run_bytes += n;
	if (s->on_line)
		s->on_line(s->arg, line, n);
}

/* Takes what needs no answer from the front of what was read; the rest waits its turn. */
static void pass_ready(void *arg)
{
	static const char pong[] = "{\"m\":\"pong\"";
	struct proto_session *s = arg;
	struct weir_io *io = &weir_state_of(s)->io;
	size_t used = io->used, n;
	const char *line;

	while (weir_io_line(io, &line, &n) == 0) {
		enum weir_line_kind kind = weir_line_kind(line, n);

		if (kind == WEIR_LINE_RUN)
			pass_line(s, line, n);
		else if (n < sizeof(pong) || memcmp(line, pong, sizeof(pong) - 1) != 0)
			break;
		used = io->used;
	}
	io->used = io->seen = used;
}

int weir_state_new(struct proto_session *s, struct weir_err *e)
{
	struct weir_state *st = calloc(1, sizeof(*st));

	if (!st)
		return err_os(e, ENOMEM, "control connection");
	weir_io_init(&st->io, s->ctl_fd, s->role == PROTO_CLIENT);
	if (s->role == PROTO_CLIENT)
		st->io.meanwhile = pass_ready;
	st->io.arg = s;
	weir_nonce_new(st->near_nonce);
	s->state = st;
	return 0;
}

static int alien_err(const struct proto_session *s, const char *line, size_t n, struct weir_err *e)
{
	char peer[160], text[80];

	proto_peer_name(s, peer, sizeof(peer));
	safe_str(text, sizeof(text), line, n < 40 ? n : 40);
	return err_set(e, WEIR_PEER, EPROTO, "%s sent a line that is no message: \"%s\"", peer,
		       text);
}

static int parse_control(struct proto_session *s, struct weir_msg *m, struct weir_err *e)
{
	struct weir_state *st = weir_state_of(s);
	size_t max = PROTO_RESULTS_BASE + (s->plan ? s->plan->n : 0) * PROTO_RESULTS_PER_FLOW;
	int ret = weir_msg_parse(m->line, m->n, &m->doc, &m->name, e);

	if (ret < 0)
		return ret;
	m->root = js_root(m->doc);
	if (weir_msg_is(m, "ping")) {
		ret = answer_ping(s, m->root);
		weir_msg_free(m);
	} else if (weir_msg_is(m, "pong")) {
		take_pong(st, m->root);
		weir_msg_free(m);
	} else {
		st->control_bytes += m->n;
		if (st->control_bytes > max) {
			weir_msg_free(m);
			return err_set(e, WEIR_PEER, EMSGSIZE, "over %zu bytes of messages", max);
		}
	}
	return ret < 0 ? proto_read_err(s, ret, "answering its ping", e) : 0;
}

/* One line that was read. Messages that may come at any time are dealt with here. */
int weir_take(struct proto_session *s, struct weir_msg *m, struct weir_err *e)
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
int weir_peer_failed(const struct proto_session *s, const struct weir_msg *m, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	if (weir_msg_is(m, "error")) {
		weir_error_get(m->root, e);
		return err_wrap(e, "%s", peer);
	}
	if (weir_msg_is(m, "stopped"))
		return err_set(e, WEIR_PEER, ECONNABORTED, "%s was stopped", peer);
	return 0;
}

/* The next line, whatever it is; m->doc is NULL for one that needs nothing more. */
int weir_next(struct proto_session *s, int64_t deadline_ns, int stop_fd, struct weir_msg *m,
	      const char *what, struct weir_err *e)
{
	struct weir_err mine = {0};
	int64_t idle = clk_mono_ns() + proto_idle_ns(s);
	int ret;

	*m = (struct weir_msg){0};
	ret = weir_io_wait(&weir_state_of(s)->io, &m->line, &m->n,
			   idle < deadline_ns ? idle : deadline_ns, stop_fd);
	if (ret < 0)
		return proto_read_err(s, ret, what, e);
	ret = weir_take(s, m, &mine);
	if (ret == 0 && m->doc)
		ret = weir_peer_failed(s, m, &mine);
	if (ret < 0) {
		weir_msg_free(m);
		if (e)
			*e = mine;
	}
	return ret;
}

/* Reads on to the message of that name; unknown ones are skipped. */
int weir_want(struct proto_session *s, const char *name, int64_t deadline_ns, int stop_fd,
	      struct weir_msg *m, const char *what, struct weir_err *e)
{
	for (;;) {
		int ret = weir_next(s, deadline_ns, stop_fd, m, what, e);

		if (ret < 0 || weir_msg_is(m, name))
			return ret;
		weir_msg_free(m);
	}
}

/* ---- the pre-shared key ------------------------------------------------------------------ */

/* Proof of the key over who speaks, both nonces (the server's first) and the line itself. */
static int make_mac(const struct proto_session *s, enum proto_role speaker, const char *line,
		    size_t n, char hex[PROTO_MAC_HEX], struct weir_err *e)
{
	const struct weir_state *st = weir_state_of(s);
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
int weir_put_proven(struct proto_session *s, struct buf *line, struct weir_err *e)
{
	char hex[PROTO_MAC_HEX];
	struct buf auth = {0};
	int ret = 0;

	if (s->psk) {
		ret = make_mac(s, s->role, line->data, line->len, hex, e);
		buf_printf(&auth, "{\"m\":\"auth\",\"mac\":\"%s\"}", hex);
	}
	if (ret == 0)
		ret = weir_put(s, line, e);
	if (ret == 0 && s->psk)
		ret = weir_put(s, &auth, e);
	buf_fini(&auth);
	return ret;
}

/* The peer's proof for a line of its. */
int weir_check_proof(struct proto_session *s, const struct buf *line, int64_t deadline_ns,
		     struct weir_err *e)
{
	enum proto_role speaker = s->role == PROTO_SERVER ? PROTO_CLIENT : PROTO_SERVER;
	char hex[PROTO_MAC_HEX];
	const char *mac;
	struct weir_msg m = {0};
	size_t n = 0;
	bool same;
	int ret = make_mac(s, speaker, line->data, line->len, hex, e);

	if (ret == 0)
		ret = weir_want(s, "auth", deadline_ns, s->stop_fd, &m, "it proves its key", e);
	if (ret < 0)
		return ret;
	mac = js_str(js_get(m.root, "mac"), &n);
	same = mac && n == PROTO_MAC_HEX - 1 && proto_psk_same(mac, hex, n);
	weir_msg_free(&m);
	return same ? 0
		    : err_set(e, WEIR_PEER, EACCES,
			      "the %s's pre-shared key is not the same as the one here",
			      speaker == PROTO_CLIENT ? "client" : "server");
}
