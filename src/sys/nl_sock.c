/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TCP connections of the network namespace with what TCP tells of each (inet_diag), whoever's they
 * are. No privilege is needed.
 */
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <string.h>

#include "sys/priv.h"

#define ESTABLISHED 1

struct walk {
	int (*cb)(const struct sys_tcp *, void *);
	void *arg;
};

/* Older kernels give a shorter struct: what is missing is 0. */
static void read_info(struct sys_tcp *t, const struct nlattr *a)
{
	struct tcp_info i;

	nl_copy_upto(a, &i, sizeof(i));
	t->rtt_us = i.tcpi_rtt;
	t->min_rtt_us = i.tcpi_min_rtt;
	t->cwnd = i.tcpi_snd_cwnd;
	t->mss = i.tcpi_snd_mss;
	t->retrans = i.tcpi_total_retrans;
	t->bytes_acked = i.tcpi_bytes_acked;
	t->bytes_received = i.tcpi_bytes_received;
	t->busy_us = i.tcpi_busy_time;
	t->rwnd_us = i.tcpi_rwnd_limited;
	t->sndbuf_us = i.tcpi_sndbuf_limited;
}

static int each(const struct nlmsghdr *nlh, void *arg)
{
	const struct inet_diag_msg *m = nl_header(nlh, sizeof(*m));
	struct walk *w = arg;
	struct sys_tcp t = {0};
	struct nl_attrs a;

	if (!m)
		return 0;
	nl_parse(&a, nlh, sizeof(*m));
	t.family = m->idiag_family;
	t.cookie = (uint64_t)m->id.idiag_cookie[1] << 32 | m->id.idiag_cookie[0];
	t.local_port = ntohs(m->id.idiag_sport);
	t.peer_port = ntohs(m->id.idiag_dport);
	memcpy(t.local, m->id.idiag_src, sizeof(t.local));
	memcpy(t.peer, m->id.idiag_dst, sizeof(t.peer));
	read_info(&t, a.at[INET_DIAG_INFO]);
	return w->cb(&t, w->arg);
}

int sys_tcps(struct sys_nl *diag, int (*cb)(const struct sys_tcp *, void *), void *arg,
	     struct weir_err *e)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	struct walk w = {.cb = cb, .arg = arg};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(families) && rc == 0; i++) {
		struct nl_req r;
		struct inet_diag_req_v2 *q =
			nl_req(&r, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*q));

		q->sdiag_family = families[i];
		q->sdiag_protocol = IPPROTO_TCP;
		q->idiag_ext = 1U << (INET_DIAG_INFO - 1);
		q->idiag_states = 1U << ESTABLISHED;
		rc = nl_talk(diag, &r, each, &w, "listing TCP connections", e);
	}
	return rc;
}
