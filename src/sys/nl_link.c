/* SPDX-License-Identifier: BSD-2-Clause */
/* Links over netlink: listing with statistics, making a veth pair, setting up and MTU. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>

#include "sys/priv.h"
#include "sys/sys.h"

static void read_stats(struct sys_link_stats *s, const struct nlattr *a)
{
	struct rtnl_link_stats64 k;

	nl_copy_upto(a, &k, sizeof(k));
	*s = (struct sys_link_stats){.rx_packets = k.rx_packets,
				     .tx_packets = k.tx_packets,
				     .rx_bytes = k.rx_bytes,
				     .tx_bytes = k.tx_bytes,
				     .rx_errors = k.rx_errors,
				     .tx_errors = k.tx_errors,
				     .rx_dropped = k.rx_dropped,
				     .tx_dropped = k.tx_dropped,
				     .rx_missed = k.rx_missed_errors,
				     .rx_nohandler = k.rx_nohandler};
}

static bool read_link(struct sys_link *l, const struct nlmsghdr *nlh)
{
	const struct ifinfomsg *ifi = nl_header(nlh, sizeof(*ifi));
	struct nl_attrs a, info;

	*l = (struct sys_link){0};
	if (!ifi || nlh->nlmsg_type != RTM_NEWLINK)
		return false;
	nl_parse(&a, nlh, sizeof(*ifi));
	nl_parse_nest(&info, a.at[IFLA_LINKINFO]);
	l->index = ifi->ifi_index;
	l->up = ifi->ifi_flags & IFF_UP;
	l->running = ifi->ifi_flags & IFF_RUNNING;
	l->mtu = (int)nl_u32(a.at[IFLA_MTU]);
	l->master = (int)nl_u32(a.at[IFLA_MASTER]);
	l->link = (int)nl_u32(a.at[IFLA_LINK]);
	l->gso_max_size = nl_u32(a.at[IFLA_GSO_MAX_SIZE]);
	l->gro_max_size = nl_u32(a.at[IFLA_GRO_MAX_SIZE]);
	l->tx_queues = nl_u32(a.at[IFLA_NUM_TX_QUEUES]);
	l->rx_queues = nl_u32(a.at[IFLA_NUM_RX_QUEUES]);
	l->has_mac = nl_copy(a.at[IFLA_ADDRESS], l->mac, sizeof(l->mac));
	l->has_perm_mac = nl_copy(a.at[IFLA_PERM_ADDRESS], l->perm_mac, sizeof(l->perm_mac));
	nl_str(a.at[IFLA_IFNAME], l->name, sizeof(l->name));
	nl_str(a.at[IFLA_QDISC], l->qdisc, sizeof(l->qdisc));
	nl_str(info.at[IFLA_INFO_KIND], l->kind, sizeof(l->kind));
	read_stats(&l->stats, a.at[IFLA_STATS64]);
	return true;
}

struct link_walk {
	int (*cb)(const struct sys_link *, void *);
	void *arg;
};

static int each_link(const struct nlmsghdr *nlh, void *arg)
{
	struct link_walk *w = arg;
	struct sys_link l;

	return read_link(&l, nlh) ? w->cb(&l, w->arg) : 0;
}

int sys_links(struct sys_nl *nl, int (*cb)(const struct sys_link *, void *), void *arg,
	      struct weir_err *e)
{
	struct link_walk w = {.cb = cb, .arg = arg};
	struct nl_req r;

	nl_req(&r, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
	return nl_talk(nl, &r, each_link, &w, "listing interfaces", e);
}

static int one_link(const struct nlmsghdr *nlh, void *arg)
{
	read_link(arg, nlh);
	return 0;
}

static int check_name(const char *name, struct weir_err *e)
{
	size_t n = strlen(name);
	char safe[SAFE_MAX + 1];

	if (n > 0 && n < IF_NAMESIZE)
		return 0;
	safe_str(safe, sizeof(safe), name, n);
	return err_set(e, WEIR_USAGE, EINVAL, "interface name '%s' must be 1 to %d bytes", safe,
		       IF_NAMESIZE - 1);
}

int sys_link_get(struct sys_nl *nl, const char *name, struct sys_link *out, struct weir_err *e)
{
	struct nl_req r;
	int ret = check_name(name, e);

	if (ret < 0)
		return ret;
	*out = (struct sys_link){0};
	nl_req(&r, RTM_GETLINK, 0, sizeof(struct ifinfomsg));
	nl_put_str(&r, IFLA_IFNAME, name);
	ret = nl_talk(nl, &r, one_link, out, "looking up the interface", e);
	if (ret == -ENODEV) {
		char safe[SAFE_MAX + 1];
		safe_str(safe, sizeof(safe), name, strlen(name));
		return err_set(e, WEIR_OS, ENODEV, "no interface '%s'", safe);
	}
	return ret;
}

int nl_index(struct sys_nl *nl, const char *name, struct weir_err *e)
{
	struct sys_link l;
	int ret = sys_link_get(nl, name, &l, e);

	return ret < 0 ? ret : l.index;
}

int sys_link_add_veth(struct sys_nl *nl, const char *name, const char *peer, int peer_netns_fd,
		      struct weir_err *e)
{
	struct nl_req r;
	int ret = check_name(name, e);

	if (ret == 0)
		ret = check_name(peer, e);
	if (ret < 0)
		return ret;
	nl_req(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	nl_put_str(&r, IFLA_IFNAME, name);
	struct nlattr *info = nl_nest(&r, IFLA_LINKINFO);
	nl_put_str(&r, IFLA_INFO_KIND, "veth");
	struct nlattr *data = nl_nest(&r, IFLA_INFO_DATA);
	struct nlattr *other = nl_nest(&r, VETH_INFO_PEER);
	nl_put_header(&r, sizeof(struct ifinfomsg));
	nl_put_str(&r, IFLA_IFNAME, peer);
	if (peer_netns_fd >= 0)
		nl_put_u32(&r, IFLA_NET_NS_FD, (uint32_t)peer_netns_fd);
	nl_nest_end(&r, other);
	nl_nest_end(&r, data);
	nl_nest_end(&r, info);
	ret = nl_talk(nl, &r, NULL, NULL, "making a veth pair", e);
	return ret == -EOPNOTSUPP ? err_set(e, WEIR_MISSING, EOPNOTSUPP,
					    "the kernel has no veth (CONFIG_VETH)")
				  : ret;
}

static struct ifinfomsg *change_link(struct nl_req *r, int index)
{
	struct ifinfomsg *ifi = nl_req(r, RTM_NEWLINK, 0, sizeof(*ifi));

	ifi->ifi_index = index;
	return ifi;
}

int sys_link_set_up(struct sys_nl *nl, const char *name, struct weir_err *e)
{
	struct nl_req r;
	struct ifinfomsg *ifi;
	int index = nl_index(nl, name, e);

	if (index < 0)
		return index;
	ifi = change_link(&r, index);
	ifi->ifi_flags = ifi->ifi_change = IFF_UP;
	return nl_talk(nl, &r, NULL, NULL, "setting an interface up", e);
}

int sys_link_set_mtu(struct sys_nl *nl, const char *name, int mtu, struct weir_err *e)
{
	struct nl_req r;
	int index = nl_index(nl, name, e);

	if (index < 0)
		return index;
	change_link(&r, index);
	nl_put_u32(&r, IFLA_MTU, (uint32_t)mtu);
	return nl_talk(nl, &r, NULL, NULL, "setting an MTU", e);
}
