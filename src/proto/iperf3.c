/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's control dialogue, both roles: single state bytes, two JSON messages behind a length,
 * and an error block that may come at any moment. The dialogue is read byte by byte, so that
 * bytes that arrive together never get lost between two states.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/priv.h"

enum state { /* the bytes on the wire */
	     ST_TEST_START = 0x01,
	     ST_TEST_RUNNING = 0x02,
	     ST_TEST_END = 0x04,
	     ST_PARAM_EXCHANGE = 0x09,
	     ST_CREATE_STREAMS = 0x0a,
	     ST_SERVER_TERMINATE = 0x0b,
	     ST_CLIENT_TERMINATE = 0x0c,
	     ST_EXCHANGE_RESULTS = 0x0d,
	     ST_DISPLAY_RESULTS = 0x0e,
	     ST_DONE = 0x10,
	     ST_SERVER_ERROR = 0xfe,
	     ST_ACCESS_DENIED = 0xff,
};

/* A server may die between the error's byte and its words: a short wait is enough. */
#define ERROR_BLOCK_NS NSEC_PER_SEC
#define CLOSE_NS       NSEC_PER_SEC

/* ---- both roles ------------------------------------------------------------------ */

static int put_bytes(struct proto_session *s, const void *p, size_t n, struct weir_err *e)
{
	int ret = net_write_full(s->ctl_fd, p, n, clk_mono_ns() + proto_idle_ns(s), -1);

	return ret < 0 ? proto_read_err(s, ret, "sending to it", e) : 0;
}

static int put_state(struct proto_session *s, enum state st, struct weir_err *e)
{
	uint8_t b = (uint8_t)st;

	return put_bytes(s, &b, 1, e);
}

static void put_be32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static int put_json(struct proto_session *s, struct buf *text, struct weir_err *e)
{
	struct buf b = {0};
	uint8_t len[4];
	int ret;

	put_be32(len, (uint32_t)text->len);
	buf_put(&b, len, sizeof(len));
	buf_put(&b, text->data, text->len);
	ret = b.failed ? err_os(e, ENOMEM, "message") : put_bytes(s, b.data, b.len, e);
	buf_fini(&b);
	return ret;
}

/* A block of 1 to max bytes; *text is the caller's to free. */
static int get_json(struct proto_session *s, size_t max, int64_t deadline, int stop_fd, char **text,
		    size_t *n, const char *what, struct weir_err *e)
{
	uint8_t len[4];
	struct rd rd = rd_init(len, sizeof(len));
	int ret = proto_read(s, len, sizeof(len), deadline, stop_fd);

	*text = NULL;
	if (ret < 0)
		return proto_read_err(s, ret, what, e);
	*n = rd_be32(&rd);
	if (*n < 1 || *n > max)
		return err_set(e, WEIR_PEER, EMSGSIZE,
			       "a message of %zu bytes (1 to %zu are taken) while %s", *n, max,
			       what);
	*text = malloc(*n);
	if (!*text)
		return err_os(e, ENOMEM, "message of %zu bytes", *n);
	ret = proto_read(s, *text, *n, deadline, stop_fd);
	if (ret < 0) {
		free(*text);
		*text = NULL;
		return proto_read_err(s, ret, what, e);
	}
	return 0;
}

/* After `fe`: number and errno, of which a 3.12 server leaves out the second. */
static int error_block(struct proto_session *s, struct weir_err *e)
{
	uint8_t word[4];
	struct rd rd = rd_init(word, sizeof(word));
	int64_t deadline = clk_mono_ns() + ERROR_BLOCK_NS;
	int32_t code, os;
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	if (proto_read(s, word, sizeof(word), deadline, -1) < 0)
		return err_set(e, WEIR_PEER, EREMOTEIO, "%s reported an error and closed", peer);
	code = (int32_t)rd_be32(&rd);
	rd = rd_init(word, sizeof(word));
	os = proto_read(s, word, sizeof(word), deadline, -1) < 0 ? 0 : (int32_t)rd_be32(&rd);
	if (s->extra) {
		s->extra->error_code = code;
		s->extra->error_errno = os;
	}
	if (os > 0 && os < 4096)
		return err_set(e, WEIR_PEER, EREMOTEIO, "%s: %s: %s (iperf3 error %d)", peer,
			       iperf3_error_text(code), strerror(os), (int)code);
	return err_set(e, WEIR_PEER, EREMOTEIO, "%s: %s (iperf3 error %d)", peer,
		       iperf3_error_text(code), (int)code);
}

static int busy_err(struct proto_session *s, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	err_set(e, WEIR_PEER, EBUSY, "%s is busy: it takes no further test now", peer);
	return err_hint(e, "iperf3 serves one test at a time, a weir server as many as its "
			   "limits allow: try again later");
}

/* A byte that ends the test whenever it comes; 0 when it is none of these. */
static int fatal_state(struct proto_session *s, uint8_t st, struct weir_err *e)
{
	char peer[160];

	switch (st) {
	case ST_SERVER_ERROR:
		return error_block(s, e);
	case ST_ACCESS_DENIED:
		return busy_err(s, e);
	case ST_SERVER_TERMINATE:
		put_state(s, ST_DONE, NULL);
		proto_peer_name(s, peer, sizeof(peer));
		return err_set(e, WEIR_PEER, ECONNABORTED, "%s was stopped", peer);
	default:
		return 0;
	}
}

/* Client: waits for one certain state. */
static int want_state(struct proto_session *s, enum state want, int64_t deadline, int stop_fd,
		      const char *what, struct weir_err *e)
{
	char peer[160];
	uint8_t st;
	int ret = proto_read(s, &st, 1, deadline, stop_fd);

	if (ret < 0)
		return proto_read_err(s, ret, what, e);
	if (st == want)
		return 0;
	ret = fatal_state(s, st, e);
	if (ret < 0)
		return ret;
	proto_peer_name(s, peer, sizeof(peer));
	return err_set(e, WEIR_PEER, EPROTO, "%s sent 0x%02x where iperf3 sends 0x%02x, while %s",
		       peer, st, (unsigned)want, what);
}

/* ---- client ------------------------------------------------------------------------ */

static int send_params(struct proto_session *s, struct weir_err *e)
{
	struct buf b = {0}, token = {0};
	int ret = 0;

	if (s->login)
		ret = iperf3_auth_token(s->login, clk_real_ns() / NSEC_PER_SEC, &token, e);
	if (ret == 0)
		ret = iperf3_params_put_token(s->plan, token.data, &b, e);
	if (ret == 0 && s->extra)
		iperf3_extra_put_params(s->extra, &b);
	if (ret == 0 && b.len > IPERF3_PARAMS_MAX)
		ret = err_set(e, WEIR_USAGE, EMSGSIZE, "the parameters are over %d bytes",
			      IPERF3_PARAMS_MAX);
	if (ret == 0)
		ret = put_json(s, &b, e);
	if (ret == 0)
		iperf3_extra_tell(s->extra, "send_parameters:", b.data, b.len);
	buf_fini(&token);
	buf_fini(&b);
	return ret;
}

static int iperf3_connect(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	int ret = want_state(s, ST_PARAM_EXCHANGE, deadline, s->stop_fd, "greeting it", e);

	memcpy(s->peer.tool, "iperf3", sizeof("iperf3"));
	proto_udp_lengths(s, s->plan);
	if (ret == 0)
		ret = send_params(s, e);
	if (ret == 0 && s->extra && s->extra->greeted)
		s->extra->greeted(s->extra->arg, s);
	if (ret == 0)
		ret = want_state(s, ST_CREATE_STREAMS, deadline, s->stop_fd,
				 "it looks at the parameters", e);
	if (ret == 0)
		ret = proto_fds_new(s, s->plan->n, e);
	for (size_t i = 0; ret == 0 && i < s->plan->n; i++)
		ret = s->plan->flows[i].transport == NET_UDP ? proto_udp_open(s, i, NULL, e)
							     : proto_data_open(s, i, "", 0, e);
	if (ret == 0 && s->extra && s->extra->opened)
		s->extra->opened(s->extra->arg, s);
	return ret;
}

static int client_start(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	int ret = want_state(s, ST_TEST_START, deadline, s->stop_fd, "starting the test", e);

	if (ret == 0)
		ret = want_state(s, ST_TEST_RUNNING, deadline, s->stop_fd, "starting the test", e);
	return ret;
}

static enum proto_event client_event(struct proto_session *s, uint8_t st, struct weir_err *e)
{
	if (fatal_state(s, st, e) == 0)
		return PROTO_EV_NONE;
	return st == ST_SERVER_TERMINATE ? PROTO_EV_TERMINATED : PROTO_EV_ERROR;
}

static int iperf3_end(struct proto_session *s, const struct proto_result *mine, struct weir_err *e)
{
	(void)mine;
	return s->role == PROTO_CLIENT ? put_state(s, ST_TEST_END, e) : 0;
}

static int send_results(struct proto_session *s, const struct proto_result *mine,
			struct weir_err *e)
{
	enum net_dir sender = s->role == PROTO_CLIENT ? NET_UP : NET_DOWN;
	struct buf b = {0};
	int ret = iperf3_results_put(s->plan, sender, mine, &b);

	if (ret == 0 && s->extra && s->role == PROTO_SERVER)
		iperf3_extra_put_results(s->extra, mine, &b);
	ret = ret < 0 ? err_os(e, -ret, "results") : put_json(s, &b, e);
	if (ret == 0)
		iperf3_extra_tell(s->extra, "send_results", b.data, b.len);
	buf_fini(&b);
	return ret;
}

static int get_results(struct proto_session *s, struct proto_result *theirs, int64_t deadline,
		       struct weir_err *e)
{
	size_t max = PROTO_RESULTS_BASE + s->plan->n * PROTO_RESULTS_PER_FLOW, n = 0;
	char *text;
	int ret = get_json(s, max, deadline, -1, &text, &n, "reading its results", e);

	if (ret == 0)
		ret = iperf3_results_get(text, n, s->plan->n, theirs, e);
	if (ret == 0)
		iperf3_extra_tell(s->extra, "get_results", text, n);
	if (ret == 0 && s->extra && s->role == PROTO_CLIENT)
		iperf3_extra_get_results(s->extra, text, n);
	free(text);
	return ret;
}

static int client_exchange(struct proto_session *s, const struct proto_result *mine,
			   struct proto_result *theirs, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	int ret = want_state(s, ST_EXCHANGE_RESULTS, deadline, -1, "ending the test", e);

	if (ret == 0)
		ret = send_results(s, mine, e);
	if (ret == 0)
		ret = get_results(s, theirs, deadline, e);
	if (ret < 0)
		return ret;
	/* The results are complete: what fails from here on takes nothing away. */
	if (want_state(s, ST_DISPLAY_RESULTS, deadline, -1, "closing", NULL) == 0)
		put_state(s, ST_DONE, NULL);
	return 0;
}

/* ---- server ------------------------------------------------------------------------- */

static void put_error(struct proto_session *s, int code, int os)
{
	uint8_t b[9] = {ST_SERVER_ERROR};

	put_be32(b + 1, (uint32_t)code);
	put_be32(b + 5, (uint32_t)os);
	s->error_told = true;
	if (s->extra)
		s->extra->error_code = code;
	put_bytes(s, b, sizeof(b), NULL);
}

static uint64_t total_window(const struct flow_plan *p)
{
	return p->flows[0].window * p->n;
}

/* What this server takes, beyond what iperf3 itself takes. 0, or iperf3's number. */
static int over_limits(const struct flow_plan *p, const struct proto_limits *lim,
		       struct weir_err *e)
{
	const struct flow_spec *f = &p->flows[0];
	size_t up = flow_plan_count(p, NET_UP), down = flow_plan_count(p, NET_DOWN);

	if (lim->flows && (up > lim->flows || down > lim->flows)) {
		err_set(e, WEIR_LIMIT, EDQUOT, "%zu streams, at most %zu are taken",
			up > down ? up : down, lim->flows);
		return IPERF3_E_STREAMS;
	}
	if (lim->duration_ns &&
	    (!p->duration_ns || p->omit_ns + p->duration_ns > lim->duration_ns)) {
		if (p->duration_ns)
			err_set(e, WEIR_LIMIT, EDQUOT, "%lld s, at most %lld s are taken",
				(long long)((p->omit_ns + p->duration_ns) / NSEC_PER_SEC),
				(long long)(lim->duration_ns / NSEC_PER_SEC));
		else
			err_set(e, WEIR_LIMIT, EDQUOT, "no end in time, at most %lld s are taken",
				(long long)(lim->duration_ns / NSEC_PER_SEC));
		return IPERF3_E_DURATION_LIMIT;
	}
	if (lim->rate_bps && f->rate_bps > lim->rate_bps / p->n) {
		err_set(e, WEIR_LIMIT, EDQUOT, "%llu bit/s a stream, at most %llu bit/s in all",
			(unsigned long long)f->rate_bps, (unsigned long long)lim->rate_bps);
		return IPERF3_E_RATE;
	}
	if (lim->no_udp && f->transport == NET_UDP) {
		err_set(e, WEIR_LIMIT, EOPNOTSUPP, "UDP is not served here");
		return IPERF3_E_PROTOCOL;
	}
	if (proto_udp_down_share(p, lim) && f->rate_bps > proto_udp_down_share(p, lim)) {
		err_set(e, WEIR_LIMIT, EDQUOT,
			"%llu bit/s a stream, at most %llu bit/s in all, headers included",
			(unsigned long long)f->rate_bps, (unsigned long long)lim->udp_down_bps);
		return IPERF3_E_RATE;
	}
	if (lim->window_total && total_window(p) > lim->window_total) {
		err_set(e, WEIR_LIMIT, EDQUOT, "windows of %llu bytes, at most %llu",
			(unsigned long long)total_window(p), (unsigned long long)lim->window_total);
		return IPERF3_E_BUFFER;
	}
	if (lim->no_high_dscp && f->tos >= 0xc0) {
		err_set(e, WEIR_LIMIT, EDQUOT, "DSCP CS6 and CS7 are not taken");
		return IPERF3_E_TOS;
	}
	return 0;
}

/* A sender here without a rate of its own keeps to the server's. */
static void pace_down(struct flow_plan *p, const struct proto_limits *lim)
{
	uint64_t share = lim->rate_bps ? lim->rate_bps / p->n : 0;
	uint64_t udp = proto_udp_down_share(p, lim);

	if (udp && (!share || udp < share))
		share = udp;
	for (size_t i = 0; share && i < p->n; i++)
		if (p->flows[i].dir == NET_DOWN && !p->flows[i].rate_bps)
			p->flows[i].rate_bps = share;
}

/* "weir 0.1.0" is this tool on iperf3's wire; anything else is the version itself. */
static void set_peer(struct proto_session *s, const char *version)
{
	bool weir = !strncmp(version, "weir ", 5);

	snprintf(s->peer.tool, sizeof(s->peer.tool), "%s", weir ? "weir" : "iperf3");
	version += weir ? 5 : 0;
	safe_str(s->peer.version, sizeof(s->peer.version), version, strlen(version));
}

static int read_request(struct proto_session *s, int *code, struct weir_err *e)
{
	struct iperf3_params params;
	char *text = NULL;
	size_t n = 0;
	int ret;

	*code = IPERF3_E_PARAMS;
	ret = get_json(s, IPERF3_PARAMS_MAX, proto_deadline(s), s->stop_fd, &text, &n,
		       "reading its parameters", e);
	if (ret == 0)
		ret = iperf3_params_get(text, n, &params, code, e);
	if (ret == 0)
		iperf3_extra_tell(s->extra, "get_parameters:", text, n);
	if (ret == 0 && s->extra)
		iperf3_extra_get_params(s->extra, text, n);
	free(text);
	if (ret < 0)
		return ret;
	set_peer(s, params.client_version);
	*code = IPERF3_E_AUTH;
	ret = s->login ? iperf3_auth_check(s->login, params.authtoken, e) : 0;
	if (ret < 0)
		return ret;
	s->plan = calloc(1, sizeof(*s->plan));
	if (!s->plan)
		return err_os(e, ENOMEM, "flow plan");
	return iperf3_params_plan(&params, s->plan, code, e);
}

static int iperf3_accept(struct proto_session *s, const struct proto_limits *lim,
			 struct weir_err *e)
{
	int code, ret = put_state(s, ST_PARAM_EXCHANGE, e);

	if (ret < 0)
		return ret;
	ret = read_request(s, &code, e);
	if (ret == 0) {
		proto_udp_lengths(s, s->plan);
		if (s->extra && s->extra->greeted)
			s->extra->greeted(s->extra->arg, s);
		code = over_limits(s->plan, lim, e);
		ret = code ? -EDQUOT : 0;
	}
	if (ret < 0) {
		put_error(s, code, 0);
		return ret;
	}
	pace_down(s->plan, lim);
	return ret;
}

static int iperf3_streams(struct proto_session *s, struct weir_err *e)
{
	int64_t deadline = proto_streams_deadline(s);
	int ret = proto_fds_new(s, s->plan->n, e);

	if (ret == 0)
		ret = proto_expect(s, NULL, e);
	if (ret == 0)
		ret = put_state(s, ST_CREATE_STREAMS, e);
	for (size_t i = 0; ret == 0 && i < s->plan->n; i++) {
		int fd = proto_data_take(s, deadline, e);

		s->fds[i] = fd < 0 ? -1 : fd;
		ret = fd < 0 ? fd : proto_apply(fd, &s->plan->flows[i], e);
	}
	s->expect_data(s->arg, 0);
	if (ret < 0)
		put_error(s, IPERF3_E_ACCEPT, -ret);
	else if (s->extra && s->extra->opened)
		s->extra->opened(s->extra->arg, s);
	return ret;
}

static int iperf3_start(struct proto_session *s, struct weir_err *e)
{
	static const uint8_t go[2] = {ST_TEST_START, ST_TEST_RUNNING};

	return s->role == PROTO_CLIENT ? client_start(s, e) : put_bytes(s, go, sizeof(go), e);
}

static enum proto_event server_event(struct proto_session *s, uint8_t st, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	switch (st) {
	case ST_TEST_END:
		return PROTO_EV_END;
	case ST_CLIENT_TERMINATE:
		err_set(e, WEIR_PEER, ECONNABORTED, "%s was stopped", peer);
		return PROTO_EV_TERMINATED;
	case ST_DONE:
		err_set(e, WEIR_PEER, EPIPE, "%s left before the end of the test", peer);
		return PROTO_EV_GONE;
	default:
		return PROTO_EV_NONE;
	}
}

static int iperf3_on_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	uint8_t st;
	ssize_t n = recv(s->ctl_fd, &st, 1, MSG_DONTWAIT);

	*ev = PROTO_EV_NONE;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		*ev = PROTO_EV_GONE;
		proto_read_err(s, n < 0 ? -errno : -EPIPE, "the test ran", e);
		return 0;
	}
	*ev = s->role == PROTO_CLIENT ? client_event(s, st, e) : server_event(s, st, e);
	return 0;
}

/* The client has said how many it sent: what is missing at the tail is lost, too. */
static int send_results_whole(struct proto_session *s, const struct proto_result *mine,
			      const struct proto_result *theirs, struct weir_err *e)
{
	struct proto_result r = *mine;
	int ret;

	r.flows = calloc(mine->n ? mine->n : 1, sizeof(*r.flows));
	if (!r.flows)
		return err_os(e, ENOMEM, "results");
	for (size_t i = 0; i < mine->n; i++) {
		struct proto_flow_result *f = &r.flows[i];
		int64_t sent = i < theirs->n ? theirs->flows[i].packets : 0;

		*f = mine->flows[i];
		if (!f->udp || s->plan->flows[i].dir == NET_DOWN || sent <= f->packets)
			continue;
		f->lost += sent - f->packets;
		f->packets = sent;
	}
	ret = send_results(s, &r, e);
	free(r.flows);
	return ret;
}

static int server_exchange(struct proto_session *s, const struct proto_result *mine,
			   struct proto_result *theirs, struct weir_err *e)
{
	int64_t deadline = proto_deadline(s);
	uint8_t st = 0;
	int ret = put_state(s, ST_EXCHANGE_RESULTS, e);

	if (ret == 0) {
		ret = get_results(s, theirs, deadline, e);
		if (ret < 0)
			put_error(s, IPERF3_E_RESULTS, 0);
	}
	if (ret == 0)
		ret = send_results_whole(s, mine, theirs, e);
	if (ret == 0)
		ret = put_state(s, ST_DISPLAY_RESULTS, e);
	/* The client takes its time to print; its farewell or its end is all that is awaited. */
	while (ret == 0 && st != ST_DONE && proto_read(s, &st, 1, deadline, -1) == 0)
		;
	return ret;
}

static int iperf3_exchange(struct proto_session *s, const struct proto_result *mine,
			   struct proto_result *theirs, struct weir_err *e)
{
	*theirs = (struct proto_result){0};
	return s->role == PROTO_CLIENT ? client_exchange(s, mine, theirs, e)
				       : server_exchange(s, mine, theirs, e);
}

/* ---- the row --------------------------------------------------------------------------- */

static void say_error(int fd, int code)
{
	uint8_t b[9] = {ST_SERVER_ERROR};

	put_be32(b + 1, (uint32_t)code);
	proto_say_bytes(fd, b, sizeof(b));
}

static void iperf3_say(struct proto_session *s, enum proto_say what)
{
	uint8_t b;

	if (s->role == PROTO_CLIENT) {
		b = ST_CLIENT_TERMINATE;
		proto_say_bytes(s->ctl_fd, &b, 1);
		return;
	}
	switch (what) {
	case PROTO_SAY_BUSY:
		b = ST_ACCESS_DENIED;
		proto_say_bytes(s->ctl_fd, &b, 1);
		break;
	case PROTO_SAY_STOPPED:
		b = ST_SERVER_TERMINATE;
		proto_say_bytes(s->ctl_fd, &b, 1);
		break;
	case PROTO_SAY_REFUSED:
		say_error(s->ctl_fd, IPERF3_E_AUTH);
		break;
	case PROTO_SAY_RATE:
		s->error_told = true;
		say_error(s->ctl_fd, IPERF3_E_RATE);
		break;
	case PROTO_SAY_FAILED:
		if (!s->error_told)
			say_error(s->ctl_fd, IPERF3_E_INIT);
		break;
	}
}

static void iperf3_close(struct proto_session *s)
{
	if (s->ctl_fd >= 0)
		net_close_gently(s->ctl_fd, CLOSE_NS);
	s->ctl_fd = -1;
}

/* 36 printable characters and a NUL: 3.0 put a host name and the time there. */
static enum proto_sniff iperf3_sniff(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n && i < PROTO_COOKIE_LEN - 1; i++)
		if (p[i] < 0x21 || p[i] > 0x7e)
			return PROTO_SNIFF_NO;
	if (n < PROTO_COOKIE_LEN)
		return PROTO_SNIFF_MORE;
	return p[PROTO_COOKIE_LEN - 1] ? PROTO_SNIFF_NO : PROTO_SNIFF_YES;
}

const struct proto proto_iperf3 = {
	.name = "iperf3",
	.what = "iperf3, 3.0 to 3.21",
	.port = PROTO_PORT,
	.pre_bytes = PROTO_COOKIE_LEN,
	.pre_deadline_ns = 10 * NSEC_PER_SEC,
	.udp = PROTO_UDP_VOUCHED,
	.sniff = iperf3_sniff,
	.connect = iperf3_connect,
	.accept = iperf3_accept,
	.streams = iperf3_streams,
	.start = iperf3_start,
	.on_control = iperf3_on_control,
	.end = iperf3_end,
	.exchange = iperf3_exchange,
	.say = iperf3_say,
	.close = iperf3_close,
};
