/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nttcp, both roles: a line that is the far end's command line, a data port as the receiver has
 * found one, the data, and a line with what the far end counted. Whoever sends the data connects to
 * the other's address, and to nobody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/priv.h"

#define PORT_FIRST   5038
#define PORT_END     20000
#define PORT_TRIES   256
#define LINE_MAX_LEN 1023
#define ACCEPT_NS    (10 * NSEC_PER_SEC)
#define SILENCE_NS   (10 * NSEC_PER_SEC)
#define SAID_MAX     (16 << 10)
#define LEN_TCP      131072
#define LEN_UDP      1472
#define COUNT_MAX    999999999ULL
#define MARK_LEN     4
#define MARK_TIMES   3
#define MARK_WAIT_NS (250 * NSEC_PER_MSEC)
/* What a row of weir's own asking has: enough digits to compute with. */
#define EXACT_FORMAT "%20b%20.6rt%20.6ct%20c"

struct state {
	int ctl, fd; /* the control connection: the session does not wait for it; the data's */
	struct nttcp_request q;
	uint16_t port;
	bool udp;
	struct proto_flow_result count; /* UDP: how many the request announced */
	struct proto_result counts;
};

static int state_new(struct proto_session *s, struct weir_err *e)
{
	struct state *st = calloc(1, sizeof(*st));

	if (!st)
		return err_os(e, ENOMEM, "control connection");
	st->ctl = s->ctl_fd;
	st->fd = -1;
	s->ctl_fd = -1;
	s->state = st;
	return 0;
}

static void nttcp_close(struct proto_session *s)
{
	struct state *st = s->state;

	if (st && st->fd >= 0)
		close(st->fd);
	if (st && st->ctl >= 0)
		net_close_gently(st->ctl, NSEC_PER_SEC);
	free(st);
	s->state = NULL;
	s->far_result = NULL;
}

static int put_text(struct proto_session *s, const char *text, size_t n, struct weir_err *e)
{
	const struct state *st = s->state;
	int ret = net_write_full(st->ctl, text, n, clk_mono_ns() + proto_idle_ns(s), -1);

	return ret < 0 ? proto_read_err(s, ret, "talking to it", e) : 0;
}

static void put_buf(struct proto_session *s, struct buf *b)
{
	if (!b->failed && b->len)
		put_text(s, b->data, b->len, NULL);
	buf_fini(b);
}

/* A client's patience is its user's, at most nttcp's own. */
static int64_t patience_ns(const struct proto_session *s, int64_t most)
{
	return s->role == PROTO_CLIENT && proto_idle_ns(s) < most ? proto_idle_ns(s) : most;
}

/* A line without its end; byte by byte, because what follows may be the next one's. */
static ssize_t get_line(struct proto_session *s, char *dst, size_t cap, struct weir_err *e)
{
	const struct state *st = s->state;
	int64_t deadline = clk_mono_ns() + patience_ns(s, SILENCE_NS);

	for (size_t n = 0; n < cap; n++) {
		int ret = net_read_full(st->ctl, dst + n, 1, deadline, s->stop_fd);

		if (ret < 0)
			return proto_read_err(s, ret, "talking to it", e);
		if (dst[n] == '\n') {
			dst[n] = '\0';
			return (ssize_t)n;
		}
	}
	return err_set(e, WEIR_PEER, EMSGSIZE, "a line of over %zu bytes", cap);
}

/* ---- the data port ---------------------------------------------------------------------- */

/* The first free one, as every nttcp looks for it. */
static int open_port(struct proto_session *s, bool udp, struct weir_err *e)
{
	struct state *st = s->state;
	struct net_sock_opts o = {.family = s->peer_addr.sa.sa_family, .alone = true};
	int fd = -EADDRINUSE;

	for (int i = 0; i < PORT_TRIES && PORT_FIRST + i < PORT_END && fd < 0; i++) {
		st->port = (uint16_t)(PORT_FIRST + i);
		fd = udp ? net_listen_udp(&o, st->port, NULL)
			 : net_listen_tcp(&o, st->port, 4, NULL);
	}
	if (fd < 0)
		return err_set(e, WEIR_OS, EADDRINUSE, "no data port from %d on is free",
			       PORT_FIRST);
	return fd;
}

static bool is_peer(const struct proto_session *s, struct net_addr *a)
{
	net_addr_unmap(a);
	return net_addr_same_host(a, &s->peer_addr);
}

/* The control peer's connection; others are closed. */
static int take_tcp(struct proto_session *s, int listener, struct weir_err *e)
{
	int64_t deadline = clk_mono_ns() + patience_ns(s, ACCEPT_NS);

	for (;;) {
		struct net_addr a = {.len = sizeof(a.ss)};
		int ret = net_wait_readable(listener, deadline, s->stop_fd), fd;

		if (ret < 0)
			return proto_read_err(s, ret, "waiting for its data connection", e);
		fd = accept4(listener, &a.sa, &a.len, SOCK_CLOEXEC);
		if (fd >= 0 && is_peer(s, &a)) {
			s->began_ns = clk_mono_ns();
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
}

/* The first datagram of the control peer's says who sends; it stays in the queue. */
static int take_udp(struct proto_session *s, int fd, struct weir_err *e)
{
	int64_t deadline = clk_mono_ns() + patience_ns(s, ACCEPT_NS);

	for (;;) {
		struct net_addr a = {.len = sizeof(a.ss)};
		char p[MARK_LEN];
		int ret = net_wait_readable(fd, deadline, s->stop_fd);

		if (ret < 0)
			return proto_read_err(s, ret, "waiting for its first datagram", e);
		if (recvfrom(fd, p, sizeof(p), MSG_PEEK | MSG_DONTWAIT, &a.sa, &a.len) < 0)
			continue;
		struct net_addr plain = a;
		if (is_peer(s, &plain)) {
			s->began_ns = clk_mono_ns();
			return connect(fd, &a.sa, a.len) ? err_os(e, errno, "data port") : fd;
		}
		(void)!recv(fd, p, sizeof(p), MSG_DONTWAIT);
	}
}

static int receive_on(struct proto_session *s, bool udp, struct weir_err *e)
{
	struct state *st = s->state;
	struct buf b = {0};
	int fd = open_port(s, udp, e), data;

	buf_printf(&b, "dataport: %d\n", fd < 0 ? -1 : st->port);
	put_buf(s, &b);
	if (fd < 0)
		return fd;
	data = udp ? take_udp(s, fd, e) : take_tcp(s, fd, e);
	if (data != fd)
		close(fd);
	return data;
}

/* Lines until the one that names a port of nttcp's; the others are words for whoever looks. */
static int send_to(struct proto_session *s, bool udp, struct weir_err *e)
{
	const struct flow_spec *spec = &s->plan->flows[0];
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	struct net_addr to = s->peer_addr;
	char line[LINE_MAX_LEN + 1];
	int port = 0;

	for (int i = 0; i < 16; i++) {
		ssize_t n = get_line(s, line, sizeof(line), e);

		if (n < 0)
			return (int)n;
		if (s->nttcp && s->nttcp->greeting.len < SAID_MAX)
			buf_printf(&s->nttcp->greeting, "%s\n", line);
		if (sscanf(line, "dataport: %d", &port) == 1)
			break;
	}
	if (port < PORT_FIRST || port >= PORT_END)
		return err_set(e, WEIR_PEER, EPROTO, "it has no data port (%d)", port);
	if (to.sa.sa_family == AF_INET6)
		to.in6.sin6_port = htons((uint16_t)port);
	else
		to.in4.sin_port = htons((uint16_t)port);
	return udp ? net_connect_udp(&to, &o, spec, e)
		   : net_connect_tcp(&to, &o, spec, proto_idle_ns(s), e);
}

static int open_data(struct proto_session *s, bool receives, struct weir_err *e)
{
	struct state *st = s->state;
	int ret = proto_fds_new(s, 1, e);

	if (ret < 0)
		return ret;
	ret = receives ? receive_on(s, st->udp, e) : send_to(s, st->udp, e);
	if (ret < 0)
		return ret;
	s->fds[0] = ret;
	st->fd = dup(ret);
	return st->fd < 0 ? err_os(e, errno, "data connection") : 0;
}

/* ---- client ------------------------------------------------------------------------------- */

static int check_wishes(const struct proto_session *s, struct weir_err *e)
{
	const struct flow_plan *p = s->plan;

	if (p->n != 1)
		return err_set(e, WEIR_USAGE, EOPNOTSUPP, "nttcp has one flow in one direction");
	if (p->omit_ns > 0)
		return err_set(e, WEIR_USAGE, EOPNOTSUPP, "nttcp has no warm-up (--omit)");
	if (p->flows[0].dir == NET_DOWN && !p->bytes && !p->blocks) {
		err_set(e, WEIR_USAGE, EOPNOTSUPP, "nttcp's far end sends a count, not for a time");
		return err_hint(e, "--bytes or --blocks");
	}
	return 0;
}

static uint64_t count_of(const struct flow_plan *p, uint32_t len)
{
	uint64_t n = p->blocks ? p->blocks : p->bytes ? (p->bytes + len - 1) / len : COUNT_MAX;

	return n < COUNT_MAX ? n : COUNT_MAX;
}

static void put_request(const struct proto_session *s, struct buf *b)
{
	const struct flow_spec *f = &s->plan->flows[0];
	const struct proto_nttcp *o = s->nttcp;
	bool down = f->dir == NET_DOWN;

	buf_printf(b, "nttcp@-%c%s@-l%u@-n%llu", down ? 't' : 'r', down && f->nodelay ? "@-D" : "",
		   f->len, (unsigned long long)count_of(s->plan, f->len));
	buf_puts(b, f->transport == NET_UDP ? "@-u" : "");
	buf_puts(b, o && o->verbose ? "@-v" : "");
	buf_printf(b, "@-f@%s", o && o->format ? o->format : EXACT_FORMAT);
	if (o && o->gap_ns)
		buf_printf(b, "@-g%lld", (long long)(o->gap_ns / NSEC_PER_USEC));
	buf_printf(b, "@-N%u%s\n", o && o->number ? o->number : 1,
		   o && o->remote_opts ? o->remote_opts : "");
}

static int nttcp_connect(struct proto_session *s, struct weir_err *e)
{
	struct flow_spec *f = &s->plan->flows[0];
	struct buf b = {0};
	struct state *st;
	int ret = check_wishes(s, e);

	memcpy(s->peer.tool, "nttcp", sizeof("nttcp"));
	if (ret == 0)
		ret = state_new(s, e);
	if (ret < 0)
		return ret;
	st = s->state;
	st->udp = f->transport == NET_UDP;
	f->len = f->len ? f->len : st->udp ? LEN_UDP : LEN_TCP;
	f->udp_form = st->udp ? NET_UDP_BARE : f->udp_form;
	f->note_last = true;
	put_request(s, &b);
	if (b.failed || b.len > LINE_MAX_LEN)
		ret = err_set(e, WEIR_USAGE, E2BIG, "the request is over %d bytes", LINE_MAX_LEN);
	else
		ret = put_text(s, b.data, b.len, e);
	buf_fini(&b);
	return ret < 0 ? ret : open_data(s, f->dir == NET_DOWN, e);
}

static void put_mark(int fd)
{
	static const char mark[MARK_LEN];

	proto_say_bytes(fd, mark, sizeof(mark));
}

/* Until the blank line, the end, or 10 s of silence. */
static void hear_out(struct proto_session *s, struct buf *said)
{
	const struct state *st = s->state;
	char p[512];
	ssize_t n = 1;

	while (n > 0 && said->len < SAID_MAX &&
	       net_wait_readable(st->ctl, clk_mono_ns() + SILENCE_NS, s->stop_fd) == 0) {
		n = recv(st->ctl, p, sizeof(p), MSG_DONTWAIT);
		if (n > 0)
			buf_put(said, p, (size_t)n);
		if (said->len > 9 && !memcmp(said->data + said->len - 9, "exiting\n\n", 9))
			return;
	}
}

/* The far end's row, in the format that was asked for here, or in nttcp's usual one. */
static bool read_row(const char *text, bool exact, struct nttcp_row *r)
{
	const char *at = text;
	unsigned end;
	double v[8];
	int used, n = 0;

	*r = (struct nttcp_row){0};
	for (; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		const char *p = at;

		if (*p < '1' || *p > '9' || sscanf(p, "%1u%n", &end, &used) != 1)
			continue;
		for (n = 0, p += used; n < 8 && sscanf(p, " %32lf%n", &v[n], &used) == 1; n++)
			p += used;
		if (n == (exact ? 4 : 8))
			break;
	}
	if (!at || !(v[0] >= 0 && v[0] < 1e18) || !(v[1] >= 0) || !(v[2] >= 0))
		return false;
	*r = (struct nttcp_row){.bytes = (uint64_t)v[0], .real_s = v[1], .cpu_s = v[2]};
	r->calls =
		v[exact ? 3 : 5] >= 0 && v[exact ? 3 : 5] < 1e18 ? (uint64_t)v[exact ? 3 : 5] : 0;
	return true;
}

static int take_result(const struct nttcp_row *r, struct proto_result *theirs, struct weir_err *e)
{
	struct proto_flow_result *out = calloc(1, sizeof(*out));

	if (!out)
		return err_os(e, ENOMEM, "results");
	*out = (struct proto_flow_result){
		.bytes = r->bytes, .retransmits = -1, .seconds = r->real_s, .calls = r->calls};
	theirs->cpu_total = r->real_s > 0 ? r->cpu_s / r->real_s : -1;
	theirs->flows = out;
	theirs->n = 1;
	return 0;
}

/* ---- this end's row ---------------------------------------------------------------------- */

static struct nttcp_row row_of(const struct proto_session *s, const struct proto_result *mine)
{
	const struct flow_spec *f = &s->plan->flows[0];
	const struct proto_flow_result *r = &mine->flows[0];
	const struct state *st = s->state;
	bool sends = (f->dir == NET_UP) == (s->role == PROTO_CLIENT);
	struct nttcp_row row = {.bytes = r->bytes,
				.calls = r->calls,
				.len = f->len,
				.buffers = f->len ? r->bytes / f->len : 0,
				.real_s = r->seconds,
				.cpu_s = mine->cpu_total > 0 ? mine->cpu_total * r->seconds : 0};

	if (st->udp && sends)
		row.calls += MARK_TIMES; /* the beginning and the ends, as it counts them */
	return row;
}

static int client_exchange(struct proto_session *s, const struct proto_result *mine,
			   struct proto_result *theirs, struct weir_err *e)
{
	const struct state *st = s->state;
	bool exact = !s->nttcp || !s->nttcp->format;
	struct buf own = {.max = SAID_MAX + 1024}, *said = s->nttcp ? &s->nttcp->said : &own;
	struct nttcp_row row;
	int ret = 0;

	if (s->nttcp)
		s->nttcp->mine = row_of(s, mine);
	for (int i = 0; st->udp && s->plan->flows[0].dir == NET_UP && i < MARK_TIMES; i++) {
		put_mark(st->fd);
		if (net_wait_readable(st->ctl, clk_mono_ns() + MARK_WAIT_NS, s->stop_fd) == 0)
			break;
	}
	hear_out(s, said);
	if (!said->failed && said->len && read_row(said->data, exact, &row))
		ret = take_result(&row, theirs, e);
	else
		snprintf(s->missing, sizeof(s->missing), "%s",
			 exact ? "nttcp's row of figures did not come"
			       : "nttcp's row has a format of its own");
	buf_fini(&own);
	return ret;
}

/* ---- server --------------------------------------------------------------------------- */

static int plan_of(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	const struct state *st = s->state;
	const struct nttcp_request *q = &st->q;
	struct flow_spec spec = {.transport = q->udp ? NET_UDP : NET_TCP,
				 .len = q->len,
				 .nodelay = q->nodelay && !q->receives,
				 .window = q->udp ? 0 : q->window,
				 .note_last = true,
				 .udp_form = q->udp ? NET_UDP_BARE : NET_UDP_IPERF3};

	if (q->udp && (q->len < NET_UDP_LEN_MIN || q->len > NET_UDP_LEN_MAX))
		return err_set(e, WEIR_PEER, ERANGE, "datagrams of %u bytes", q->len);
	if (lim->window_total && spec.window > lim->window_total)
		spec.window = lim->window_total;
	if (!q->receives && q->gap_ns)
		spec.rate_bps = q->len * 8ULL * NSEC_PER_SEC / (uint64_t)q->gap_ns;
	if (!q->receives && lim->rate_bps && (!spec.rate_bps || spec.rate_bps > lim->rate_bps))
		spec.rate_bps = lim->rate_bps;
	s->plan = calloc(1, sizeof(*s->plan));
	if (!s->plan || flow_plan_init(s->plan, &spec, q->receives, !q->receives))
		return err_os(e, ENOMEM, "flow plan");
	s->plan->blocks = q->receives ? 0 : q->n;
	s->plan->duration_ns = lim->duration_ns;
	return q->receives || q->n ? 0 : err_set(e, WEIR_PEER, ERANGE, "nttcp's -n: 0");
}

/* What a verbose one says of itself; a line's number is its own. */
static void say_greeting(struct proto_session *s, const char *line)
{
	const struct state *st = s->state;
	char peer[64];
	struct buf b = {0};

	if (!st->q.verbose)
		return;
	net_addr_text(&s->peer_addr, peer, sizeof(peer));
	buf_printf(&b, "nttcp-%u: Pid=%d, InetPeer= %s\n", st->q.number, (int)getpid(), peer);
	buf_printf(&b, "nttcp-%u: Optionline=\"%s\"\n", st->q.number, line);
	put_buf(s, &b);
}

/* -R: nothing is sent, the port is a word of the dialogue alone. */
static int answer_pid_rate(struct proto_session *s, struct weir_err *e)
{
	const struct state *st = s->state;
	struct buf b = {0};

	if (st->q.receives)
		buf_printf(&b, "dataport: %d\n", PORT_FIRST);
	buf_printf(&b, "nttcp-%u: ", st->q.number);
	nttcp_pid_rate(&b, st->q.pid_calls);
	put_buf(s, &b);
	return err_set(e, WEIR_LIMIT, ECANCELED, "nttcp's -R was answered; it is no test");
}

static int nttcp_accept(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	char line[LINE_MAX_LEN + 1], shown[LINE_MAX_LEN + 1];
	struct state *st;
	ssize_t n;
	int ret = state_new(s, e);

	if (ret < 0)
		return ret;
	st = s->state;
	memcpy(s->peer.tool, "nttcp", sizeof("nttcp"));
	n = get_line(s, line, sizeof(line), e);
	if (n < 0)
		return (int)n;
	safe_str(shown, sizeof(shown), line, (size_t)n);
	ret = nttcp_request_read(line, (size_t)n, &st->q, e);
	if (ret == 0 && st->q.pid_calls)
		return answer_pid_rate(s, e);
	if (ret == 0)
		ret = plan_of(s, lim, e);
	if (ret < 0) {
		put_text(s, "dataport: -1\n", 13, NULL);
		return ret;
	}
	st->udp = st->q.udp;
	if (st->udp && st->q.receives && st->q.n < COUNT_MAX) {
		st->count = (struct proto_flow_result){.udp = true, .packets = (int64_t)st->q.n};
		st->counts = (struct proto_result){.flows = &st->count, .n = 1};
		s->far_result = &st->counts;
	}
	say_greeting(s, shown);
	return 0;
}

static int window_of(int fd, int name)
{
	int v = 0;
	socklen_t n = sizeof(v);

	return getsockopt(fd, SOL_SOCKET, name, &v, &n) ? 0 : v;
}

static void say_ready(struct proto_session *s)
{
	const struct state *st = s->state;
	const struct nttcp_request *q = &st->q;
	struct net_addr a = {.len = sizeof(a.ss)};
	char peer[64];
	struct buf b = {0};

	if (!q->verbose)
		return;
	net_addr_text(&s->peer_addr, peer, sizeof(peer));
	if (q->receives && !q->udp)
		buf_printf(&b, "nttcp-%u: accept from %s\n", q->number, peer);
	buf_printf(&b, "nttcp-%u: send window size = %d\n", q->number,
		   window_of(s->fds[0], SO_SNDBUF));
	buf_printf(&b, "nttcp-%u: receive window size = %d\n", q->number,
		   window_of(s->fds[0], SO_RCVBUF));
	if (q->receives ? getsockname(s->fds[0], &a.sa, &a.len)
			: getpeername(s->fds[0], &a.sa, &a.len))
		a.len = 0;
	buf_printf(&b, "nttcp-%u: buflen=%u, bufcnt=%llu, dataport=%u/%s\n\n", q->number, q->len,
		   (unsigned long long)q->n, a.len ? net_addr_port(&a) : 0, q->udp ? "udp" : "tcp");
	put_buf(s, &b);
}

static int nttcp_streams(struct proto_session *s, struct weir_err *e)
{
	const struct state *st = s->state;
	int ret = open_data(s, st->q.receives, e);

	if (ret == 0)
		ret = proto_apply(s->fds[0], &s->plan->flows[0], e);
	if (ret == 0)
		say_ready(s);
	return ret;
}

static void say_result(struct proto_session *s, const struct proto_result *mine)
{
	const struct state *st = s->state;
	const struct nttcp_request *q = &st->q;
	const struct nttcp_row row = row_of(s, mine);
	struct buf b = {0};

	for (int i = 0; st->udp && !q->receives && i < MARK_TIMES - 1; i++)
		put_mark(st->fd);
	if (q->verbose)
		buf_printf(&b, "nttcp-%u: %s %llu bytes\n", q->number,
			   q->receives ? "received" : "transmitted", (unsigned long long)row.bytes);
	buf_printf(&b, "%u", q->number);
	nttcp_row_put(&b, q->format, &row);
	buf_putc(&b, '\n');
	if (q->verbose)
		buf_printf(&b, "nttcp-%u: exiting\n\n", q->number);
	put_buf(s, &b);
}

static int nttcp_exchange(struct proto_session *s, const struct proto_result *mine,
			  struct proto_result *theirs, struct weir_err *e)
{
	*theirs = (struct proto_result){.cpu_total = -1, .cpu_user = -1, .cpu_system = -1};
	if (s->role == PROTO_CLIENT)
		return client_exchange(s, mine, theirs, e);
	say_result(s, mine);
	return 0;
}

/* ---- the row ---------------------------------------------------------------------------- */

/* A server must hear that its peer has gone, but not what he already says of the end: only a full
 * buffer, an end or an error wakes the session. */
static void watch_control(struct proto_session *s, const struct state *st)
{
	int most = 1 << 16;

	setsockopt(st->ctl, SOL_SOCKET, SO_RCVLOWAT, &most, sizeof(most));
	s->ctl_fd = fcntl(st->ctl, F_DUPFD_CLOEXEC, 0);
}

static int nttcp_start(struct proto_session *s, struct weir_err *e)
{
	const struct state *st = s->state;

	(void)e;
	if (s->role == PROTO_SERVER)
		watch_control(s, st);
	if (st->udp && (s->plan->flows[0].dir == NET_UP) == (s->role == PROTO_CLIENT))
		put_mark(st->fd);
	return 0;
}

static int nttcp_on_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	char c;
	ssize_t n = recv(s->ctl_fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	(void)e;
	*ev = n < 0 && (errno == EAGAIN || errno == EINTR) ? PROTO_EV_NONE : PROTO_EV_GONE;
	return 0;
}

static int nttcp_end(struct proto_session *s, const struct proto_result *mine, struct weir_err *e)
{
	(void)s, (void)mine, (void)e;
	return 0;
}

static void nttcp_say(struct proto_session *s, enum proto_say what)
{
	(void)s, (void)what; /* the end of the connection must do */
}

static enum proto_sniff nttcp_sniff(const uint8_t *p, size_t n)
{
	if (!n)
		return PROTO_SNIFF_MORE;
	return p[0] > ' ' && p[0] < 0x7f ? PROTO_SNIFF_YES : PROTO_SNIFF_NO;
}

const struct proto proto_nttcp = {
	.name = "nttcp",
	.what = "nttcp 1.47",
	.port = 5037,
	.no_cookie = true,
	.data_ends = true,
	.pre_bytes = 1,
	.pre_deadline_ns = 10 * NSEC_PER_SEC,
	.udp = PROTO_UDP_VOUCHED,
	.sniff = nttcp_sniff,
	.connect = nttcp_connect,
	.accept = nttcp_accept,
	.streams = nttcp_streams,
	.start = nttcp_start,
	.on_control = nttcp_on_control,
	.end = nttcp_end,
	.exchange = nttcp_exchange,
	.say = nttcp_say,
	.close = nttcp_close,
};
