/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ttcp, both roles: a connection with nothing but data, or datagrams between short ones that are the
 * beginning and the end. Neither end says anything of what it counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/priv.h"

#define LEN_DEFAULT   8192
#define MARK_LEN      4
#define MARK_BEGIN    1 /* before the data */
#define MARK_END      1 /* the one that ttcp counts among its calls */
#define MARK_MORE     4 /* the end again: one may be lost */
#define MARK_AFTER_NS (50 * NSEC_PER_MSEC)

struct state {
	int fd; /* the data's once more: the engine closes its own */
	bool udp, sends;
};

static int state_new(struct proto_session *s, bool udp, bool sends, struct weir_err *e)
{
	struct state *st = calloc(1, sizeof(*st));

	if (!st)
		return err_os(e, ENOMEM, "data connection");
	*st = (struct state){.fd = -1, .udp = udp, .sends = sends};
	s->state = st;
	return 0;
}

static void ttcp_close(struct proto_session *s)
{
	struct state *st = s->state;

	if (st && st->fd >= 0)
		close(st->fd);
	free(st);
	s->state = NULL;
	if (s->ctl_fd >= 0)
		close(s->ctl_fd);
	s->ctl_fd = -1;
}

static int take_socket(struct proto_session *s, int fd, struct weir_err *e)
{
	struct state *st = s->state;
	int ret = proto_fds_new(s, 1, e);

	if (ret < 0) {
		close(fd);
		return ret;
	}
	s->fds[0] = fd;
	st->fd = dup(fd);
	return st->fd < 0 ? err_os(e, errno, "data connection") : 0;
}

/* ---- client ------------------------------------------------------------------------------- */

static int check_wishes(const struct proto_session *s, struct weir_err *e)
{
	const struct flow_plan *p = s->plan;

	if (p->n != 1 || p->flows[0].dir != NET_UP)
		return err_set(e, WEIR_USAGE, EOPNOTSUPP,
			       "ttcp has one flow, and who connects sends it");
	if (p->omit_ns > 0)
		return err_set(e, WEIR_USAGE, EOPNOTSUPP, "ttcp has no warm-up (--omit)");
	return 0;
}

static int ttcp_connect(struct proto_session *s, struct weir_err *e)
{
	struct flow_spec *f = &s->plan->flows[0];
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	bool udp = f->transport == NET_UDP;
	int fd, ret = check_wishes(s, e);

	memcpy(s->peer.tool, "ttcp", sizeof("ttcp"));
	if (ret == 0)
		ret = state_new(s, udp, true, e);
	if (ret == 0)
		ret = proto_cport(s, 0, &o, e);
	if (ret < 0)
		return ret;
	f->digits = true; /* to iperf 2 the first bits are flags: these mean nothing */
	if (udp) {
		f->len = f->len ? f->len : LEN_DEFAULT;
		f->udp_form = NET_UDP_BARE;
		fd = net_connect_udp(&s->peer_addr, &o, f, e);
	} else {
		fd = s->ctl_fd; /* how it was found out that somebody listens */
		s->ctl_fd = -1;
	}
	return fd < 0 ? fd : take_socket(s, fd, e);
}

static void put_mark(const struct state *st)
{
	static const char mark[MARK_LEN];

	proto_say_bytes(st->fd, mark, sizeof(mark));
}

static int ttcp_start(struct proto_session *s, struct weir_err *e)
{
	const struct state *st = s->state;

	(void)e;
	if (st->udp && st->sends)
		put_mark(st);
	return 0;
}

static struct nttcp_row row_of(const struct proto_session *s, const struct proto_result *mine)
{
	const struct state *st = s->state;
	const struct proto_flow_result *r = &mine->flows[0];
	uint32_t len = s->plan->flows[0].len;

	return (struct nttcp_row){
		.bytes = r->bytes,
		.calls = r->calls + (st->udp && st->sends ? MARK_BEGIN + MARK_END : 0),
		.len = len,
		.buffers = len ? r->bytes / len : 0,
		.real_s = r->seconds,
		.cpu_s = mine->cpu_total > 0 ? mine->cpu_total * r->seconds : 0,
		.user_s = mine->cpu_user > 0 ? mine->cpu_user * r->seconds : 0,
		.system_s = mine->cpu_system > 0 ? mine->cpu_system * r->seconds : 0,
	};
}

static int ttcp_exchange(struct proto_session *s, const struct proto_result *mine,
			 struct proto_result *theirs, struct weir_err *e)
{
	const struct state *st = s->state;

	(void)e;
	*theirs = (struct proto_result){.cpu_total = -1, .cpu_user = -1, .cpu_system = -1};
	if (s->nttcp)
		s->nttcp->mine = row_of(s, mine);
	for (int i = 0; st->udp && st->sends && i < MARK_END + MARK_MORE; i++) {
		clk_sleep_until(clk_mono_ns() + MARK_AFTER_NS);
		put_mark(st);
	}
	return 0;
}

/* ---- server ------------------------------------------------------------------------------ */

/* ctl_fd is the data's connection, or a socket that is connected to who sends the datagrams. */
static int ttcp_accept(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e)
{
	int type = SOCK_STREAM;
	socklen_t n = sizeof(type);
	struct flow_spec spec = {.note_last = true};
	int ret;

	getsockopt(s->ctl_fd, SOL_SOCKET, SO_TYPE, &type, &n);
	if (type == SOCK_DGRAM)
		spec = (struct flow_spec){
			.transport = NET_UDP, .len = NET_UDP_LEN_MAX, .udp_form = NET_UDP_BARE};
	memcpy(s->peer.tool, "ttcp", sizeof("ttcp"));
	ret = state_new(s, type == SOCK_DGRAM, false, e);
	if (ret < 0)
		return ret;
	s->plan = calloc(1, sizeof(*s->plan));
	if (!s->plan || flow_plan_init(s->plan, &spec, 1, 0))
		return err_os(e, ENOMEM, "flow plan");
	s->plan->duration_ns = lim->duration_ns;
	return 0;
}

static int ttcp_streams(struct proto_session *s, struct weir_err *e)
{
	int fd = s->ctl_fd, ret;

	s->ctl_fd = -1;
	ret = take_socket(s, fd, e);
	return ret < 0 ? ret : proto_apply(s->fds[0], &s->plan->flows[0], e);
}

static int ttcp_on_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	(void)s, (void)e;
	*ev = PROTO_EV_NONE; /* there is none */
	return 0;
}

static int ttcp_end(struct proto_session *s, const struct proto_result *mine, struct weir_err *e)
{
	(void)s, (void)mine, (void)e;
	return 0;
}

static void ttcp_say(struct proto_session *s, enum proto_say what)
{
	(void)s, (void)what; /* it has no words */
}

/* What has no first bytes of its own is nobody's: iperf 2's port counts such streams. */
static enum proto_sniff ttcp_sniff(const uint8_t *p, size_t n)
{
	(void)p, (void)n;
	return PROTO_SNIFF_NO;
}

const struct proto proto_ttcp = {
	.name = "ttcp",
	.what = "ttcp: data and nothing else",
	.port = 5001,
	.no_cookie = true,
	.in_band = true,
	.data_ends = true,
	.pre_bytes = 1,
	.pre_deadline_ns = 10 * NSEC_PER_SEC,
	.udp = PROTO_UDP_NEVER,
	.sniff = ttcp_sniff,
	.connect = ttcp_connect,
	.accept = ttcp_accept,
	.streams = ttcp_streams,
	.start = ttcp_start,
	.on_control = ttcp_on_control,
	.end = ttcp_end,
	.exchange = ttcp_exchange,
	.say = ttcp_say,
	.close = ttcp_close,
};
