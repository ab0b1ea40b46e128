/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client's way in. The first bytes of the test itself are the probe, because a bare connect
 * blocks an iperf3 3.12 server for good; what comes back tells the protocol, or names what is
 * there instead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/priv.h"

#define TIMEOUT_NS   (5 * NSEC_PER_SEC)
#define SHARE_MIN_NS (250 * NSEC_PER_MSEC)
#define MORE_NS      (200 * NSEC_PER_MSEC) /* for the rest of a first line */
#define PEEK_MAX     64

/* ---- connecting --------------------------------------------------------------------- */

int64_t proto_dial_timeout(const struct proto_session *s)
{
	return s->timeout_ns > 0 ? s->timeout_ns : TIMEOUT_NS;
}

/* Every address gets an equal share of the time that is left. */
static int connect_any(struct proto_session *s, const struct net_addr *a, int n,
		       const struct flow_spec *spec, struct weir_err *e)
{
	struct net_sock_opts o = s->sock ? *s->sock : (struct net_sock_opts){0};
	int64_t deadline = clk_mono_ns() + proto_dial_timeout(s);
	int fd = -EINVAL;

	o.bind_port = spec ? s->cport : 0; /* a local port is for data connections only */
	for (int i = 0; i < n; i++) {
		int64_t start = clk_mono_ns(), share = (deadline - start) / (n - i);

		if (e)
			*e = (struct weir_err){0};
		fd = net_connect_tcp(&a[i], &o, spec, share > SHARE_MIN_NS ? share : SHARE_MIN_NS,
				     e);
		if (fd >= 0) {
			s->connect_ns = clk_mono_ns() - start;
			s->peer_addr = a[i];
			return fd;
		}
	}
	return fd;
}

/* "name:5201", "[fd00::1]:5201": as elsewhere it is written. */
static bool has_port(const char *host)
{
	const char *colon = strrchr(host, ':');

	return colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
	       (strchr(host, ':') == colon || colon[-1] == ']');
}

int proto_addrs(const struct proto_session *s, struct net_addr addrs[PROTO_ADDRS_MAX],
		struct weir_err *e)
{
	int n = net_resolve(s->host, s->port, s->sock ? s->sock->family : AF_UNSPEC, addrs,
			    PROTO_ADDRS_MAX, e);

	if (n < 0)
		return has_port(s->host) ? err_hint(e, "the port goes apart: -p %.5s",
						    strrchr(s->host, ':') + 1)
					 : n;
	return n;
}

int proto_open_control(struct proto_session *s, const struct flow_spec *spec, struct weir_err *e)
{
	struct net_addr addrs[PROTO_ADDRS_MAX];
	int n = proto_addrs(s, addrs, e);

	if (n < 0)
		return n;
	s->ctl_fd = connect_any(s, addrs, n, spec, e);
	if (s->ctl_fd < 0)
		return s->ctl_fd;
	if (!spec)
		net_tcp_control_opts(s->ctl_fd);
	s->local_addr.len = sizeof(s->local_addr.ss);
	if (getsockname(s->ctl_fd, &s->local_addr.sa, &s->local_addr.len) < 0)
		s->local_addr.len = 0;
	return 0;
}

/* ---- who answers ---------------------------------------------------------------------- */

/* First bytes that belong to no protocol of ours. */
static const struct {
	const char *first;
	uint8_t n;
	const char *who;
} others[] = {
	{"HTTP/", 5, "a web server (HTTP)"}, {"<", 1, "a web server (HTTP)"},
	{"SSH-", 4, "an SSH server"},        {"\x15\x03", 2, "a TLS server (HTTPS or the like)"},
	{"220", 3, "a mail or FTP server"},  {"+OK", 3, "a POP3 server"},
	{"* OK", 4, "an IMAP server"},       {"-ERR", 4, "a Redis server"},
	{"RFB ", 4, "a VNC server"},         {"\xff\xfb", 2, "a telnet server"},
	{"\xff\xfd", 2, "a telnet server"},  {"WEIR/1;", 7, "an echo service"},
};

static const char *name_other(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (n >= others[i].n && !memcmp(p, others[i].first, others[i].n))
			return others[i].who;
	return NULL;
}

static const struct proto *name_ours(const uint8_t *p, size_t n)
{
	if (p[0] == '{')
		return &proto_weir;
	/* PARAM_EXCHANGE; busy; an error: all of iperf3's first words. */
	if ((p[0] == 0x09 || p[0] == 0xfe) || (p[0] == 0xff && n == 1))
		return &proto_iperf3;
	return NULL;
}

static int not_ours(const struct proto_session *s, const uint8_t *p, size_t n, struct weir_err *e)
{
	const char *who = name_other(p, n);
	char peer[160], text[100];

	proto_peer_name(s, peer, sizeof(peer));
	safe_str(text, sizeof(text), (const char *)p, n < 24 ? n : 24);
	if (who)
		err_set(e, WEIR_PEER, EPROTO, "%s is %s, not weir or iperf3", peer, who);
	else
		err_set(e, WEIR_PEER, EPROTO, "%s is neither weir nor iperf3: it answered \"%s\"",
			peer, text);
	return err_hint(e, "is the port right? weir serve and iperf3 -s use %d", PROTO_PORT);
}

/* It takes the greeting for a request: what it says to one that it does not understand. */
static bool is_nttcp(const uint8_t *p, size_t n)
{
	return n >= 9 && !memcmp(p, "dataport:", 9);
}

static int wants_request(const struct proto_session *s, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	return err_set(e, WEIR_PEER, ENOMSG, "%s is nttcp, not weir or iperf3", peer);
}

static int silent(const struct proto_session *s, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	err_set(e, WEIR_PEER, ETIMEDOUT,
		"%s takes the connection but says nothing for %.3g s: an iperf3 that another "
		"client blocks, an iperf 2, or some other service",
		peer, (double)proto_dial_timeout(s) * 1e-9);
	return err_hint(e, "restart an iperf3 server that hangs; --proto iperf2 sends to who says "
			   "nothing");
}

static int closed(const struct proto_session *s, int err, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	err_set(e, WEIR_PEER, -err, "%s takes the connection and closes it at once without a word",
		peer);
	return err_hint(e, "a server or a firewall that does not want this address?");
}

static int late(const struct proto_session *s, struct weir_err *e)
{
	char peer[160];

	proto_peer_name(s, peer, sizeof(peer));
	err_set(e, WEIR_PEER, EBUSY, "%s is an iperf3 server that answered too late", peer);
	return err_hint(e, "it was busy with another client: try again");
}

/* What is there to read, without taking it. 0 = the end. */
static int peek(struct proto_session *s, uint8_t *p, int64_t deadline_ns)
{
	ssize_t n;
	int ret = net_wait_readable(s->ctl_fd, deadline_ns, s->stop_fd);

	if (ret < 0)
		return ret;
	n = recv(s->ctl_fd, p, PEEK_MAX, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -ETIMEDOUT : -errno;
	return (int)n;
}

/* A foreign first line may arrive in pieces: its name needs a few bytes. */
static int peek_more(struct proto_session *s, uint8_t *p, int n)
{
	int64_t until = clk_mono_ns() + MORE_NS;

	while (n > 0 && n < 8 && !name_other(p, (size_t)n) && clk_mono_ns() < until) {
		int got;

		clk_sleep_until(clk_mono_ns() + 10 * NSEC_PER_MSEC);
		got = peek(s, p, until);
		if (got <= 0)
			break;
		n = got;
	}
	return n;
}

/*
 * Waits for the first bytes. A web server waits for the end of a line, which the cookie has not:
 * shortly before giving up, two line ends are sent. To iperf3 that would be a broken message, so an
 * answer of its after that is too late.
 */
static int first_bytes(struct proto_session *s, uint8_t *p, bool *nudged)
{
	int64_t timeout = proto_dial_timeout(s), start = clk_mono_ns();
	int n = peek(s, p, start + timeout * 4 / 5);

	*nudged = false;
	if (n != -ETIMEDOUT)
		return n;
	*nudged = true;
	proto_say_bytes(s->ctl_fd, "\r\n\r\n", 4);
	return peek(s, p, start + timeout);
}

static int identify(struct proto_session *s, struct weir_err *e)
{
	uint8_t p[PEEK_MAX];
	bool nudged;
	int n = first_bytes(s, p, &nudged);
	const struct proto *proto;

	if (n == -ETIMEDOUT)
		return silent(s, e);
	if (n == -ECANCELED)
		return proto_read_err(s, n, "waiting for its answer", e);
	if (n <= 0)
		return closed(s, n ? n : -ECONNRESET, e);
	if (!name_ours(p, (size_t)n) || p[0] == 0xff)
		n = peek_more(s, p, n);
	if (is_nttcp(p, (size_t)n))
		return wants_request(s, e);
	proto = name_ours(p, (size_t)n);
	if (!proto)
		return not_ours(s, p, (size_t)n, e);
	if (nudged && proto == &proto_iperf3 && p[0] == 0x09)
		return late(s, e);
	s->proto = proto;
	return 0;
}

/* Closed with its words unread it would see a reset. */
static void take_words(const struct proto_session *s)
{
	uint8_t waste[PEEK_MAX];

	(void)!recv(s->ctl_fd, waste, sizeof(waste), MSG_DONTWAIT);
}

static int check_forced(const struct proto_session *s, const char *force, struct weir_err *e)
{
	char peer[160];

	if (!force || !strcmp(force, s->proto->name))
		return 0;
	take_words(s);
	proto_peer_name(s, peer, sizeof(peer));
	return err_set(e, WEIR_PEER, EPROTONOSUPPORT, "%s speaks %s, not %s", peer, s->proto->name,
		       force);
}

/* Who gives a key wants to know whom he measures against; only weir's protocol proves that. */
static int check_psk(const struct proto_session *s, struct weir_err *e)
{
	char peer[160];
	uint8_t word = 0;

	if (!s->psk || s->proto == &proto_weir)
		return 0;
	/* That it is busy, or an error of its own, goes before: a weir server too says it so. */
	if (recv(s->ctl_fd, &word, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && word != 0x09)
		return 0;
	take_words(s);
	proto_peer_name(s, peer, sizeof(peer));
	err_set(e, WEIR_PEER, EACCES, "%s speaks iperf3, which cannot prove the pre-shared key",
		peer);
	return err_hint(e, "without --psk, --psk-file and WEIR_PSK it is measured without proof");
}

/* A weir server tells the protocols apart by the cookie: one without the mark gets iperf3's. */
static void make_cookie(struct proto_session *s, const char *force)
{
	proto_cookie_new(s->cookie);
	if (force && !strcmp(force, proto_iperf3.name))
		proto_cookie_random(s->cookie, PROTO_COOKIE_LEN - 1);
}

/* weir or iperf3, on one port, which the cookie tells apart. */
static int dial_cookie(struct proto_session *s, const char *force, struct weir_err *e)
{
	int ret;

	make_cookie(s, force);
	ret = proto_open_control(s, NULL, e);
	if (ret < 0)
		return ret;
	ret = net_write_full(s->ctl_fd, s->cookie, PROTO_COOKIE_LEN,
			     clk_mono_ns() + proto_dial_timeout(s), s->stop_fd);
	if (ret < 0)
		ret = ret == -ECANCELED || ret == -ETIMEDOUT
			      ? proto_read_err(s, ret, "sending to it", e)
			      : closed(s, ret, e);
	if (ret == 0)
		ret = identify(s, e);
	if (ret == 0)
		ret = check_forced(s, force, e);
	if (ret == 0)
		ret = check_psk(s, e);
	if (ret == 0)
		ret = s->proto->connect(s, e);
	return ret;
}

static int dial_any(struct proto_session *s, const char *force, bool given, struct weir_err *e)
{
	int ret = dial_cookie(s, force, e);

	return ret < 0 && !force && !s->psk ? proto_ask_others(s, ret, given, e) : ret;
}

int proto_dial(struct proto_session *s, const char *force, struct weir_err *e)
{
	const struct proto *p = force ? proto_find(force) : proto_own_port(s->port);
	bool given = s->port != 0;
	int ret;

	if (force && !p)
		return err_set(e, WEIR_USAGE, EINVAL, "no protocol \"%s\"", force);
	s->role = PROTO_CLIENT;
	s->proto = NULL;
	s->ctl_fd = -1;
	s->clock_known = false;
	s->missing[0] = s->found[0] = '\0';
	if (!given)
		s->port = p ? p->port : PROTO_PORT;
	if (p && p->no_cookie && s->psk)
		return err_set(e, WEIR_PEER, EACCES, "%s cannot prove the pre-shared key", p->name);
	if (p && p->no_cookie && !force)
		ret = proto_ask_own(s, p, e);
	else
		ret = p && p->no_cookie ? proto_dial_own(s, p, e) : dial_any(s, force, given, e);
	if (ret < 0)
		proto_session_fini(s);
	return ret;
}
