/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue disciplines over netlink: their counters, and a token bucket for a known rate. */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "sys/priv.h"
#include "sys/sys.h"

struct qdisc_walk {
	int index;
	int (*cb)(const struct sys_qdisc *, void *);
	void *arg;
};

static void read_qdisc_stats(struct sys_qdisc *q, const struct nlattr *stats2)
{
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct nl_attrs a;

	nl_parse_nest(&a, stats2);
	nl_copy_upto(a.at[TCA_STATS_BASIC], &basic, sizeof(basic));
	nl_copy_upto(a.at[TCA_STATS_QUEUE], &queue, sizeof(queue));
	q->bytes = basic.bytes;
	/* The 32-bit count wraps within an hour at 1 Mpps; newer kernels give 64 bits as well. */
	q->packets = a.at[TCA_STATS_PKT64] ? nl_u64(a.at[TCA_STATS_PKT64]) : basic.packets;
	q->drops = queue.drops;
	q->overlimits = queue.overlimits;
	q->requeues = queue.requeues;
	q->qlen = queue.qlen;
	q->backlog = queue.backlog;
}

static int each_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *m = nl_header(nlh, sizeof(*m));
	struct qdisc_walk *w = arg;
	struct nl_attrs a;

	if (!m || nlh->nlmsg_type != RTM_NEWQDISC || (w->index && m->tcm_ifindex != w->index))
		return 0;
	struct sys_qdisc q = {
		.index = m->tcm_ifindex, .handle = m->tcm_handle, .parent = m->tcm_parent};
	nl_parse(&a, nlh, sizeof(*m));
	nl_str(a.at[TCA_KIND], q.kind, sizeof(q.kind));
	read_qdisc_stats(&q, a.at[TCA_STATS2]);
	return w->cb(&q, w->arg);
}

int sys_qdiscs(struct sys_nl *nl, int index, int (*cb)(const struct sys_qdisc *, void *), void *arg,
	       struct weir_err *e)
{
	struct qdisc_walk w = {.index = index, .cb = cb, .arg = arg};
	struct nl_req r;

	nl_req(&r, RTM_GETQDISC, NLM_F_DUMP, sizeof(struct tcmsg));
	return nl_talk(nl, &r, each_qdisc, &w, "listing queue disciplines", e);
}

int sys_qdisc_add_tbf(struct sys_nl *nl, const char *name, uint64_t rate_bps, uint32_t burst_bytes,
		      uint32_t limit_bytes, struct weir_err *e)
{
	uint64_t bytes_per_s = rate_bps / 8;
	struct tc_tbf_qopt opt = {.limit = limit_bytes};
	struct nl_req r;
	int index = nl_index(nl, name, e);

	if (index < 0)
		return index;
	/* An Ethernet link layer spares us the kernel's old rate table. */
	opt.rate.linklayer = TC_LINKLAYER_ETHERNET;
	opt.rate.rate = bytes_per_s > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes_per_s;
	struct tcmsg *m = nl_req(&r, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->tcm_ifindex = index;
	m->tcm_parent = TC_H_ROOT;
	m->tcm_handle = TC_H_MAKE(1U << 16, 0);
	nl_put_str(&r, TCA_KIND, "tbf");
	struct nlattr *options = nl_nest(&r, TCA_OPTIONS);
	nl_put(&r, TCA_TBF_PARMS, &opt, sizeof(opt));
	nl_put_u32(&r, TCA_TBF_BURST, burst_bytes);
	if (bytes_per_s > UINT32_MAX)
		nl_put_u64(&r, TCA_TBF_RATE64, bytes_per_s);
	nl_nest_end(&r, options);
	int ret = nl_talk(nl, &r, NULL, NULL, "adding a token bucket", e);
	return ret == -ENOENT ? err_set(e, WEIR_MISSING, EOPNOTSUPP,
					"the kernel has no token bucket (CONFIG_NET_SCH_TBF)")
			      : ret;
}
