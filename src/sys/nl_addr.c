/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and routes over netlink. */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/priv.h"
#include "sys/sys.h"

static size_t addr_len(int family)
{
	return family == AF_INET6 ? 16 : 4;
}

static int check_prefix(int family, int prefix_len, struct weir_err *e)
{
	int bits = (int)addr_len(family) * 8;

	if ((family == AF_INET || family == AF_INET6) && prefix_len >= 0 && prefix_len <= bits)
		return 0;
	return err_set(e, WEIR_USAGE, EINVAL, "a prefix length must be 0 to %d, not %d", bits,
		       prefix_len);
}

/* ---- addresses ----------------------------------------------------------- */

struct addr_walk {
	int (*cb)(const struct sys_addr *, void *);
	void *arg;
};

static int each_addr(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *m = nl_header(nlh, sizeof(*m));
	struct addr_walk *w = arg;
	struct nl_attrs a;

	if (!m || nlh->nlmsg_type != RTM_NEWADDR)
		return 0;
	if (m->ifa_family != AF_INET && m->ifa_family != AF_INET6)
		return 0;
	struct sys_addr out = {.index = (int)m->ifa_index,
			       .family = m->ifa_family,
			       .prefix_len = m->ifa_prefixlen,
			       .scope = m->ifa_scope};
	nl_parse(&a, nlh, sizeof(*m));
	/* On a point-to-point link IFA_ADDRESS is the other end. */
	const struct nlattr *own = a.at[IFA_LOCAL] ? a.at[IFA_LOCAL] : a.at[IFA_ADDRESS];
	return nl_copy(own, out.addr, addr_len(out.family)) ? w->cb(&out, w->arg) : 0;
}

int sys_addrs(struct sys_nl *nl, int (*cb)(const struct sys_addr *, void *), void *arg,
	      struct weir_err *e)
{
	struct addr_walk w = {.cb = cb, .arg = arg};
	struct nl_req r;

	nl_req(&r, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	return nl_talk(nl, &r, each_addr, &w, "listing addresses", e);
}

int sys_addr_add(struct sys_nl *nl, const char *name, int family, const void *addr, int prefix_len,
		 struct weir_err *e)
{
	struct nl_req r;
	int ret = check_prefix(family, prefix_len, e);
	int index = ret < 0 ? ret : nl_index(nl, name, e);

	if (index < 0)
		return index;
	struct ifaddrmsg *m = nl_req(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->ifa_family = (uint8_t)family;
	m->ifa_prefixlen = (uint8_t)prefix_len;
	m->ifa_index = (unsigned)index;
	if (family == AF_INET6) /* usable at once: nobody else is on a link that we made */
		m->ifa_flags = IFA_F_NODAD;
	nl_put(&r, IFA_LOCAL, addr, addr_len(family));
	nl_put(&r, IFA_ADDRESS, addr, addr_len(family));
	return nl_talk(nl, &r, NULL, NULL, "adding an address", e);
}

/* ---- routes -------------------------------------------------------------- */

static int take_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *m = nl_header(nlh, sizeof(*m));
	struct sys_route *out = arg;
	struct nl_attrs a, metrics;

	if (!m || nlh->nlmsg_type != RTM_NEWROUTE)
		return 0;
	nl_parse(&a, nlh, sizeof(*m));
	nl_parse_nest(&metrics, a.at[RTA_METRICS]);
	size_t n = addr_len(m->rtm_family);
	out->family = m->rtm_family;
	out->oif = (int)nl_u32(a.at[RTA_OIF]);
	out->has_gateway = nl_copy(a.at[RTA_GATEWAY], out->gateway, n);
	out->has_src = nl_copy(a.at[RTA_PREFSRC], out->src, n);
	out->mtu = nl_u32(metrics.at[RTAX_MTU]);
	out->advmss = nl_u32(metrics.at[RTAX_ADVMSS]);
	return 0;
}

int sys_route_get(struct sys_nl *nl, int family, const void *dst, struct sys_route *out,
		  struct weir_err *e)
{
	struct nl_req r;
	int ret = check_prefix(family, 0, e);

	if (ret < 0)
		return ret;
	*out = (struct sys_route){0};
	struct rtmsg *m = nl_req(&r, RTM_GETROUTE, 0, sizeof(*m));
	m->rtm_family = (uint8_t)family;
	m->rtm_dst_len = (uint8_t)(addr_len(family) * 8);
	nl_put(&r, RTA_DST, dst, addr_len(family));
	return nl_talk(nl, &r, take_route, out, "looking up the route", e);
}

int sys_route_add(struct sys_nl *nl, int family, const void *dst, int prefix_len,
		  const void *gateway, struct weir_err *e)
{
	struct nl_req r;
	int ret = check_prefix(family, prefix_len, e);

	if (ret < 0)
		return ret;
	struct rtmsg *m = nl_req(&r, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->rtm_family = (uint8_t)family;
	m->rtm_dst_len = (uint8_t)prefix_len;
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_type = RTN_UNICAST;
	m->rtm_scope = RT_SCOPE_UNIVERSE;
	if (prefix_len > 0)
		nl_put(&r, RTA_DST, dst, addr_len(family));
	nl_put(&r, RTA_GATEWAY, gateway, addr_len(family));
	return nl_talk(nl, &r, NULL, NULL, "adding a route", e);
}
