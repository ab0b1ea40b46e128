/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP sockets. Many clients share one port, so a server needs to know to which of its addresses a
 * datagram came, answers from that one, and makes a connected socket for each flow. What the
 * kernel offers is asked by trying, never by its version.
 */
#include "net/priv.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#define RCVBUF_WISH (32 << 20) /* some ms of a fast sender without a processor */
#define HEADERS_V4  28
#define HEADERS_V6  48
#define SKIP_MAX    64 /* errors of earlier sends in a row */
#define TRY_NS      (200 * NSEC_PER_MSEC)

/* ---- what the kernel has --------------------------------------------------- */

static bool try_option(int name, int value)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && net_sock_set(fd, IPPROTO_UDP, name, value) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

bool net_udp_has_gso(void)
{
	return try_option(UDP_SEGMENT, NET_UDP_LEN);
}

bool net_udp_has_gro(void)
{
	return try_option(UDP_GRO, 1);
}

/* ---- making ------------------------------------------------------------------ */

static int udp_socket(int family, int flags, struct weir_err *e)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);

	return fd < 0 ? err_os(e, errno, "cannot make a UDP socket") : fd;
}

static int tell_destination(int fd, int family)
{
	if (family == AF_INET6)
		return net_sock_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	return net_sock_set(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

/* A datagram to ourselves, of a size that is never data: does this socket get it? */
static bool hears(int fd)
{
	struct net_addr at = {.len = sizeof(at.ss)};
	uint32_t said, heard = 0;
	int from = -1;

	clk_random(&said, sizeof(said));
	if (getsockname(fd, &at.sa, &at.len) == 0) /* "any" means this host */
		from = socket(at.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (from < 0)
		return false;
	if (sendto(from, &said, sizeof(said), MSG_DONTWAIT, &at.sa, at.len) == sizeof(said) &&
	    net_wait_readable(fd, clk_mono_ns() + TRY_NS, -1) == 0 &&
	    recv(fd, &heard, sizeof(heard), MSG_DONTWAIT) < 0)
		heard = 0;
	close(from);
	return heard == said;
}

/*
 * Of the sockets that share a port and are not connected, the first one gets everything: the
 * listener. Else a flow's socket, between bind and connect, would take in others' hellos. Where a
 * flow of an earlier server is the first one, that would be wrong: so it is tried.
 */
static void first_takes_all(int fd)
{
	struct sock_filter first[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog prog = {.len = ARRAY_LEN(first), .filter = first};
	int none = 0;

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog));
	if (!hears(fd))
		setsockopt(fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &none, sizeof(none));
}

int net_listen_udp(const struct net_sock_opts *o, uint16_t port, struct weir_err *e)
{
	int family = o && o->family != AF_UNSPEC ? o->family : AF_INET, fd, rc;
	struct net_addr a = net_any_addr(family, port);

	if (o && o->bind_host) {
		rc = net_resolve(o->bind_host, port, o->family, &a, 1, e);
		if (rc < 0)
			return rc;
	}
	fd = udp_socket(a.sa.sa_family, SOCK_NONBLOCK, e);
	if (fd < 0)
		return fd;
	if (a.sa.sa_family == AF_INET6)
		net_sock_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	rc = o && o->alone ? 0 : net_sock_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (rc == 0)
		rc = tell_destination(fd, a.sa.sa_family);
	if (rc)
		err_os(e, -rc, "cannot prepare the UDP port %u", port);
	else
		rc = net_bind_dev(fd, o ? o->bind_dev : NULL, e);
	if (rc == 0)
		rc = net_bind_addr(fd, &a, e);
	if (rc == 0 && !(o && o->alone))
		first_takes_all(fd);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int connect_to(int fd, const struct net_addr *to, struct weir_err *e)
{
	char text[128];
	int code;

	if (connect(fd, &to->sa, to->len) == 0)
		return 0;
	code = errno;
	net_addr_port_text(to, text, sizeof(text));
	return err_os(e, code, "cannot send to %s", text);
}

int net_connect_udp(const struct net_addr *to, const struct net_sock_opts *o,
		    const struct flow_spec *spec, struct weir_err *e)
{
	struct net_addr labelled = *to;
	int fd = udp_socket(to->sa.sa_family, 0, e), rc = 0;

	if (fd < 0)
		return fd;
	if (o)
		rc = net_bind_local(fd, o, to->sa.sa_family, e);
	if (rc == 0 && spec)
		rc = net_udp_apply(fd, spec, e);
	if (rc == 0 && spec && spec->flow_label)
		rc = net_apply_label(fd, &labelled, spec->flow_label, e);
	if (rc == 0)
		rc = connect_to(fd, &labelled, e);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int pair_at(const struct net_addr *local, const struct net_addr *peer,
		   const struct net_sock_opts *o, const struct flow_spec *spec, struct weir_err *e)
{
	int family = peer->sa.sa_family, fd = udp_socket(family, 0, e), rc;

	if (fd < 0)
		return fd;
	if (family == AF_INET6)
		net_sock_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	rc = net_sock_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (rc)
		err_os(e, -rc, "cannot share the UDP port %u", net_addr_port(local));
	if (rc == 0)
		rc = net_bind_dev(fd, o ? o->bind_dev : NULL, e);
	if (rc == 0 && spec)
		rc = net_udp_apply(fd, spec, e);
	if (rc == 0)
		rc = net_bind_addr(fd, local, e);
	if (rc == 0)
		rc = connect_to(fd, peer, e);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static bool is_at(int fd, const struct net_addr *local)
{
	struct net_addr a = {.len = sizeof(a.ss)};

	return getsockname(fd, &a.sa, &a.len) == 0 && net_addr_same_host(&a, local);
}

/* Beside the listener first, where only that one is heard; then the route to the peer chooses the
 * address, which is the wrong one on some hosts with several. */
int net_pair_udp(const struct net_addr *local, const struct net_addr *peer,
		 const struct net_sock_opts *o, const struct flow_spec *spec, struct weir_err *e)
{
	struct net_addr any = net_any_addr(peer->sa.sa_family, net_addr_port(local));
	int fd = o && o->everywhere ? pair_at(&any, peer, o, spec, NULL) : -1;

	if (fd >= 0 && is_at(fd, local))
		return fd;
	if (fd >= 0)
		close(fd);
	return pair_at(local, peer, o, spec, e);
}

/* ---- options -------------------------------------------------------------------- */

/* Who may go beyond net.core.rmem_max and wmem_max does; everybody else gets that much. */
static int buffer(int fd, int forced, int name, int bytes)
{
	return net_sock_set(fd, SOL_SOCKET, forced, bytes) == 0
		       ? 0
		       : net_sock_set(fd, SOL_SOCKET, name, bytes);
}

/* Without a wish the receiver's is large: a short queue is its loss. */
static int apply_buffers(int fd, uint64_t window)
{
	int bytes = window > INT32_MAX / 2 ? INT32_MAX / 2 : (int)window, rc;

	if (!window) {
		buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, RCVBUF_WISH);
		return 0;
	}
	rc = buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
	return rc ? rc : buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

static int forbid_fragments(int fd)
{
	if (net_sock_get(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6)
		return net_sock_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	return net_sock_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
}

int net_udp_apply(int fd, const struct flow_spec *spec, struct weir_err *e)
{
	int rc = apply_buffers(fd, spec->window);

	if (rc)
		return err_os(e, -rc, "cannot set the socket buffers to %llu bytes",
			      (unsigned long long)spec->window);
	if (spec->tos && (rc = net_apply_tos(fd, spec->tos)))
		return err_os(e, -rc, "cannot set the traffic class 0x%02x", spec->tos);
	if (spec->dont_fragment && (rc = forbid_fragments(fd)))
		return err_os(e, -rc, "cannot forbid fragmentation");
	if (spec->fq_rate_bps && (rc = net_apply_pacing(fd, spec->fq_rate_bps)))
		return err_os(e, -rc, "cannot set the pacing rate");
	return 0;
}

void net_udp_applied(int fd, const struct flow_spec *spec, struct net_applied *got)
{
	*got = (struct net_applied){0};
	got->sndbuf = (uint64_t)net_sock_get(fd, SOL_SOCKET, SO_SNDBUF) / 2;
	got->rcvbuf = (uint64_t)net_sock_get(fd, SOL_SOCKET, SO_RCVBUF) / 2;
	got->window_short = got->sndbuf < spec->window || got->rcvbuf < spec->window;
	got->rcvbuf_wish = spec->window ? spec->window : RCVBUF_WISH;
}

uint32_t net_udp_path_payload(int fd)
{
	bool v6 = net_sock_get(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6;
	int headers = v6 ? HEADERS_V6 : HEADERS_V4;
	int mtu = v6 ? net_sock_get(fd, IPPROTO_IPV6, IPV6_MTU)
		     : net_sock_get(fd, IPPROTO_IP, IP_MTU);

	return mtu > headers ? (uint32_t)(mtu - headers) : 0;
}

/* ---- single datagrams --------------------------------------------------------------- */

static uint16_t local_port(int fd)
{
	struct net_addr a = {.len = sizeof(a.ss)};

	return getsockname(fd, &a.sa, &a.len) ? 0 : net_addr_port(&a);
}

static void take_destination(struct net_dgram *d, const struct cmsghdr *c, uint16_t port)
{
	if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		d->to = net_any_addr(AF_INET, port);
		d->to.in4.sin_addr = info.ipi_addr;
		d->group = info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
	} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		d->to = net_any_addr(AF_INET6, port);
		d->to.in6.sin6_addr = info.ipi6_addr;
		d->group = IN6_IS_ADDR_MULTICAST(&info.ipi6_addr);
		if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
			d->to.in6.sin6_scope_id = info.ipi6_ifindex;
	}
}

static bool of_an_earlier_send(int code)
{
	return code == ECONNREFUSED || code == EHOSTUNREACH || code == ENETUNREACH ||
	       code == EMSGSIZE || code == EINTR;
}

ssize_t net_udp_recv(int fd, void *buf, size_t cap, struct net_dgram *d)
{
	_Alignas(struct cmsghdr) char ctl[128];
	struct iovec iov = {.iov_base = buf, .iov_len = cap};
	struct msghdr m = {
		.msg_name = &d->from.ss, .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl};
	ssize_t n = -1;

	for (int i = 0; i < SKIP_MAX && n < 0; i++) {
		m.msg_namelen = sizeof(d->from.ss);
		m.msg_controllen = sizeof(ctl);
		n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && !of_an_earlier_send(errno))
			return -errno;
	}
	if (n < 0)
		return -EAGAIN;
	d->arrival_ns = clk_mono_ns();
	d->from.len = m.msg_namelen;
	d->to.len = 0;
	d->group = false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		take_destination(d, c, local_port(fd));
	return n;
}

static void put_source(struct msghdr *m, void *ctl, const struct net_addr *from)
{
	struct in_pktinfo v4 = {.ipi_spec_dst = from->in4.sin_addr};
	struct in6_pktinfo v6 = {.ipi6_addr = from->in6.sin6_addr,
				 .ipi6_ifindex = from->in6.sin6_scope_id};
	bool is_v6 = from->sa.sa_family == AF_INET6;
	size_t size = is_v6 ? sizeof(v6) : sizeof(v4);
	struct cmsghdr *c;

	m->msg_control = ctl;
	m->msg_controllen = CMSG_SPACE(size);
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = is_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
	c->cmsg_type = is_v6 ? IPV6_PKTINFO : IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), is_v6 ? (void *)&v6 : (void *)&v4, size);
}

ssize_t net_udp_reply(int fd, const struct net_dgram *d, const void *data, size_t n)
{
	_Alignas(struct cmsghdr) char ctl[64] = {0};
	struct net_addr to = d->from;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = n};
	struct msghdr m = {
		.msg_name = &to.ss, .msg_namelen = to.len, .msg_iov = &iov, .msg_iovlen = 1};
	ssize_t put;

	if (d->to.len)
		put_source(&m, ctl, &d->to);
	put = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return put < 0 ? -errno : put;
}
