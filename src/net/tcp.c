/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP sockets: listening, connecting, and the options of a flow. What can only be set before
 * the handshake (MSS, window scale) is set before it; what the kernel then really does is read
 * back, because it cuts windows and refuses congestion controls silently.
 */
#include "net/priv.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/sys.h"

int net_sock_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

int net_sock_get(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) ? 0 : value;
}

static int sock_family(int fd)
{
	return net_sock_get(fd, SOL_SOCKET, SO_DOMAIN);
}

/* ---- binding and listening --------------------------------------------- */

int net_bind_dev(int fd, const char *dev, struct weir_err *e)
{
	char shown[IFNAMSIZ * 4 + 1];

	if (!dev)
		return 0;
	safe_str(shown, sizeof(shown), dev, strlen(dev));
	if (strlen(dev) >= IFNAMSIZ)
		return err_set(e, WEIR_USAGE, ENODEV, "no interface \"%s\"", shown);
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strlen(dev) + 1))
		return err_os(e, errno, "cannot bind to the interface \"%s\"", shown);
	return 0;
}

int net_bind_addr(int fd, const struct net_addr *a, struct weir_err *e)
{
	char text[128];
	int code;

	if (bind(fd, &a->sa, a->len) == 0)
		return 0;
	code = errno;
	net_addr_port_text(a, text, sizeof(text));
	err_os(e, code, "cannot bind to %s", text);
	if (code == EADDRINUSE)
		err_hint(e, "another program has this port: stop it or take another port");
	else if (code == EADDRNOTAVAIL)
		err_hint(e, "the address is not on this machine (see \"ip address\")");
	else if (code == EACCES)
		err_hint(e, "ports below 1024 need CAP_NET_BIND_SERVICE");
	return -code;
}

struct net_addr net_any_addr(int family, uint16_t port)
{
	struct net_addr a = {0};

	if (family == AF_INET6) {
		a.len = sizeof(a.in6);
		a.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	} else {
		a.len = sizeof(a.in4);
		a.in4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	}
	return a;
}

static int listen_on(const struct net_sock_opts *o, struct net_addr a, bool dual, int backlog,
		     struct weir_err *e)
{
	int fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return err_os(e, errno, "cannot make a socket");
	net_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (a.sa.sa_family == AF_INET6)
		net_sock_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, !dual);
	rc = net_bind_dev(fd, o ? o->bind_dev : NULL, e);
	if (rc == 0)
		rc = net_bind_addr(fd, &a, e);
	if (rc == 0 && listen(fd, backlog)) {
		rc = err_os(e, errno, "cannot listen on port %u", net_addr_port(&a));
		if (rc == -EADDRINUSE)
			err_hint(e, "another program has this port: stop it or take another port");
	}
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int net_listen_tcp(const struct net_sock_opts *o, uint16_t port, int backlog, struct weir_err *e)
{
	int family = o ? o->family : AF_UNSPEC;
	struct net_addr a;
	int rc;

	if (o && o->bind_host) {
		rc = net_resolve(o->bind_host, port, family, &a, 1, e);
		return rc < 0 ? rc : listen_on(o, a, false, backlog, e);
	}
	if (family != AF_UNSPEC)
		return listen_on(o, net_any_addr(family, port), false, backlog, e);
	rc = listen_on(o, net_any_addr(AF_INET6, port), true, backlog, e);
	if (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL) /* no IPv6 here */
		rc = listen_on(o, net_any_addr(AF_INET, port), false, backlog, e);
	return rc;
}

/* ---- connecting ---------------------------------------------------------- */

static const struct {
	int code;
	const char *text, *hint;
} connect_words[] = {
	{ECONNREFUSED, "%s refuses the connection: nothing listens there",
	 "is the server running, and on this port?"},
	{ETIMEDOUT, "no answer from %s", "a firewall that drops? a wrong address?"},
	{ENETUNREACH, "no route to %s", "see \"ip route get\""},
	{EHOSTUNREACH, "%s cannot be reached: no such host on the network",
	 "is it up, and is the address right?"},
	{ECONNRESET, "%s resets the connection", "a firewall or a server that is shutting down?"},
	{EACCES, "a local rule forbids connecting to %s", "see \"nft list ruleset\""},
	{EINVAL, "a route of this host throws away what is for %s", "see \"ip route get\""},
	{EPERM, "a local rule forbids connecting to %s", "see \"nft list ruleset\""},
	{EADDRNOTAVAIL, "no local address or port is free to connect to %s", ""},
};

static int connect_failed(int code, const struct net_addr *to, struct weir_err *e)
{
	char peer[128], msg[200];

	net_addr_port_text(to, peer, sizeof(peer));
	for (size_t i = 0; i < ARRAY_LEN(connect_words); i++) {
		const char *mark = strstr(connect_words[i].text, "%s");

		if (connect_words[i].code != code)
			continue;
		snprintf(msg, sizeof(msg), "%.*s%s%s", (int)(mark - connect_words[i].text),
			 connect_words[i].text, peer, mark + 2);
		err_set(e, WEIR_OS, code, "%s", msg);
		return err_hint(e, "%s", connect_words[i].hint);
	}
	return err_os(e, code, "cannot connect to %s", peer);
}

int net_bind_local(int fd, const struct net_sock_opts *o, int family, struct weir_err *e)
{
	struct net_addr a = net_any_addr(family, o->bind_port);
	int rc = net_bind_dev(fd, o->bind_dev, e);

	if (rc || (!o->bind_host && !o->bind_port))
		return rc;
	if (o->bind_host) {
		rc = net_resolve(o->bind_host, o->bind_port, family, &a, 1, e);
		if (rc < 0)
			return rc;
	}
	return net_bind_addr(fd, &a, e);
}

/* A port that was named may be in TIME_WAIT of the last run; any other is found at connect. */
static int bind_tcp(int fd, const struct net_sock_opts *o, int family, struct weir_err *e)
{
	if (o->bind_port)
		net_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	else
		net_sock_set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	return net_bind_local(fd, o, family, e);
}

static int connect_within(int fd, const struct net_addr *to, int64_t timeout_ns)
{
	int rc;

	if (connect(fd, &to->sa, to->len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	rc = net_wait(fd, POLLOUT, clk_mono_ns() + timeout_ns, -1);
	return rc ? rc : -net_sock_get(fd, SOL_SOCKET, SO_ERROR);
}

int net_connect_tcp(const struct net_addr *to, const struct net_sock_opts *o,
		    const struct flow_spec *spec, int64_t timeout_ns, struct weir_err *e)
{
	int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct net_addr labelled = *to;
	int rc = 0;

	if (fd < 0)
		return err_os(e, errno, "cannot make a socket");
	if (o)
		rc = bind_tcp(fd, o, to->sa.sa_family, e);
	if (rc == 0 && spec)
		rc = net_tcp_apply(fd, spec, e);
	if (rc == 0 && spec && spec->flow_label)
		rc = net_apply_label(fd, &labelled, spec->flow_label, e);
	if (rc == 0) {
		rc = connect_within(fd, &labelled, timeout_ns);
		if (rc)
			connect_failed(-rc, to, e);
	}
	if (rc == 0)
		rc = net_set_blocking(fd, true);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* ---- options --------------------------------------------------------------- */

bool net_cc_available(const char *name)
{
	char list[512];
	size_t n = strlen(name);

	if (n == 0 ||
	    sys_sysctl_get("net.ipv4.tcp_available_congestion_control", list, sizeof(list)) < 0)
		return false;
	for (const char *p = list; *p;) {
		size_t word = strcspn(p, " \t\n");

		if (word == n && memcmp(p, name, n) == 0)
			return true;
		p += word;
		p += strspn(p, " \t\n");
	}
	return false;
}

int net_apply_tos(int fd, uint8_t tos)
{
	/* IPv6 sockets take both: they may carry IPv4-mapped peers. */
	int v4 = net_sock_set(fd, IPPROTO_IP, IP_TOS, tos);

	return sock_family(fd) == AF_INET6 ? net_sock_set(fd, IPPROTO_IPV6, IPV6_TCLASS, tos) : v4;
}

int net_apply_pacing(int fd, uint64_t bps)
{
	uint64_t bytes = bps / 8;

	return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes, sizeof(bytes)) ? -errno : 0;
}

int net_tcp_apply(int fd, const struct flow_spec *spec, struct weir_err *e)
{
	int window = spec->window > INT32_MAX / 2 ? INT32_MAX / 2 : (int)spec->window;
	int rc = 0;

	if (window) {
		rc = net_sock_set(fd, SOL_SOCKET, SO_SNDBUF, window);
		if (rc == 0)
			rc = net_sock_set(fd, SOL_SOCKET, SO_RCVBUF, window);
		if (rc)
			return err_os(e, -rc, "cannot set the window to %d bytes", window);
	}
	if (spec->mss && (rc = net_sock_set(fd, IPPROTO_TCP, TCP_MAXSEG, (int)spec->mss)))
		return err_os(e, -rc, "cannot set the MSS to %u", spec->mss);
	if (spec->nodelay && (rc = net_sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1)))
		return err_os(e, -rc, "cannot set TCP_NODELAY");
	if (spec->tos && (rc = net_apply_tos(fd, spec->tos)))
		return err_os(e, -rc, "cannot set the traffic class 0x%02x", spec->tos);
	if (spec->fq_rate_bps && (rc = net_apply_pacing(fd, spec->fq_rate_bps)))
		return err_os(e, -rc, "cannot set the pacing rate");
	/* A refusal is no error here: net_tcp_applied() says what is in use. */
	if (spec->cc[0] && net_cc_available(spec->cc))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, spec->cc,
				 (socklen_t)strlen(spec->cc));
	return 0;
}

void net_tcp_applied(int fd, const struct flow_spec *spec, struct net_applied *got)
{
	socklen_t len = sizeof(got->cc) - 1;

	*got = (struct net_applied){0};
	got->sndbuf = (uint64_t)net_sock_get(fd, SOL_SOCKET, SO_SNDBUF) / 2;
	got->rcvbuf = (uint64_t)net_sock_get(fd, SOL_SOCKET, SO_RCVBUF) / 2;
	got->mss = (uint32_t)net_sock_get(fd, IPPROTO_TCP, TCP_MAXSEG);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, got->cc, &len))
		got->cc[0] = 0;
	got->cc_refused = spec->cc[0] && strcmp(spec->cc, got->cc) != 0;
	got->window_short = got->sndbuf < spec->window || got->rcvbuf < spec->window;
}

void net_tcp_control_opts(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},  {SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 5}, {IPPROTO_TCP, TCP_KEEPINTVL, 2},
		{IPPROTO_TCP, TCP_KEEPCNT, 3},  {IPPROTO_TCP, TCP_USER_TIMEOUT, 10000},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		net_sock_set(fd, rows[i].level, rows[i].name, rows[i].value);
}
