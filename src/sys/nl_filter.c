/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many packet filter rules this network namespace has: of nftables by netlink, of the older
 * tables by a socket option. Their number is what a packet may have to pass; their contents are
 * nobody's business here. Reading needs CAP_NET_ADMIN.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/priv.h"

/* After net/if.h and netinet/in.h, which define some of the same. */
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#define RULES_MAX 1000000

static int count_message(const struct nlmsghdr *nlh, void *arg)
{
	uint32_t *n = arg;

	(void)nlh;
	++*n;
	return *n >= RULES_MAX;
}

static int count_nft(struct sys_nl *nl, uint16_t msg, uint32_t *n)
{
	struct nl_req r;

	*n = 0;
	nl_req(&r, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | msg), NLM_F_DUMP,
	       sizeof(struct nfgenmsg));
	return nl_talk(nl, &r, count_message, n, "counting packet filter rules", NULL);
}

/* Packets come into a chain by a hook, or from another chain. */
static int count_hook(const struct nlmsghdr *nlh, void *arg)
{
	struct nl_attrs a;
	uint32_t *n = arg;

	nl_parse(&a, nlh, sizeof(struct nfgenmsg));
	*n += a.at[NFTA_CHAIN_HOOK] != NULL;
	return 0;
}

static int count_hooks(struct sys_nl *nl, uint32_t *n)
{
	struct nl_req r;

	*n = 0;
	nl_req(&r, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, NLM_F_DUMP,
	       sizeof(struct nfgenmsg));
	return nl_talk(nl, &r, count_hook, n, "counting packet filter hooks", NULL);
}

int sys_nft_count(struct sys_filter_count *c)
{
	struct sys_nl *nl;
	int rc = sys_nl_open_proto(NETLINK_NETFILTER, &nl, NULL);

	*c = (struct sys_filter_count){0};
	if (rc < 0)
		return rc;
	rc = count_nft(nl, NFT_MSG_GETTABLE, &c->tables);
	if (rc >= 0)
		rc = count_nft(nl, NFT_MSG_GETCHAIN, &c->chains);
	if (rc >= 0)
		rc = count_hooks(nl, &c->hooks);
	if (rc >= 0)
		rc = count_nft(nl, NFT_MSG_GETRULE, &c->rules);
	sys_nl_close(nl);
	return rc < 0 ? rc : 0;
}

/* A chain that has a hook ends in a policy, and a table in an entry of its own. */
static uint32_t own_entries(const struct ipt_getinfo *i)
{
	uint32_t n = (uint32_t)__builtin_popcount(i->valid_hooks) + 1;

	return i->num_entries > n ? i->num_entries - n : 0;
}

int sys_iptables_count(int family, const char *table, uint32_t *rules)
{
	struct ipt_getinfo info = {0};
	socklen_t len = sizeof(info);
	int fd, rc;

	_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one layout");
	if (strlen(table) >= sizeof(info.name))
		return -EINVAL;
	fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd < 0)
		return -errno;
	memcpy(info.name, table, strlen(table));
	rc = family == AF_INET6 ? getsockopt(fd, IPPROTO_IPV6, IP6T_SO_GET_INFO, &info, &len)
				: getsockopt(fd, IPPROTO_IP, IPT_SO_GET_INFO, &info, &len);
	rc = rc < 0 ? -errno : 0;
	close(fd);
	if (rc >= 0)
		*rules = own_entries(&info);
	return rc;
}
