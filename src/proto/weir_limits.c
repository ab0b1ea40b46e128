/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a server's limits make of a request, and the same change of the plan at both ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/weir.h"

#define RATE_MIN_BPS 1000 /* the least that a flow can be paced to */

static void keep_flows(struct flow_plan *p, size_t up, size_t down)
{
	size_t had = flow_plan_count(p, NET_UP);

	memmove(p->flows + up, p->flows + had, down * sizeof(*p->flows));
	p->n = up + down;
}

static bool wants_more(const struct flow_spec *f, uint64_t rate_bps)
{
	return rate_bps && (!f->rate_bps || f->rate_bps > rate_bps);
}

/* Of two bounds that may be absent (0). */
static uint64_t least(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Both ends make the same of a request this way; `lowered` says what it was. */
int weir_apply_ok(struct proto_session *s, const struct weir_ok *ok, struct weir_err *e)
{
	struct flow_plan *p = s->plan;
	size_t up = flow_plan_count(p, NET_UP), down = flow_plan_count(p, NET_DOWN);
	struct buf b = {.max = sizeof(s->lowered)};
	uint64_t paced = 0;

	if (ok->up > up || ok->down > down || ok->duration_ns > p->duration_ns ||
	    ok->up + ok->down == 0 || (p->duration_ns && !ok->duration_ns))
		return err_set(e, WEIR_PEER, EPROTO, "more was agreed to than was asked for");
	if (ok->up + ok->down < up + down)
		buf_printf(&b, "%zu of %zu flows, ", (size_t)(ok->up + ok->down), up + down);
	if (ok->duration_ns < p->duration_ns)
		buf_printf(&b, "%.3g s of %.3g s, ", (double)ok->duration_ns * 1e-9,
			   (double)p->duration_ns * 1e-9);
	keep_flows(p, ok->up, ok->down);
	p->duration_ns = ok->duration_ns;
	for (size_t i = 0; i < p->n; i++) {
		struct flow_spec *f = &p->flows[i];
		bool udp_down = f->dir == NET_DOWN && f->transport == NET_UDP;
		uint64_t most = udp_down ? least(ok->rate_bps, ok->udp_down_bps) : ok->rate_bps;

		if (!wants_more(f, most))
			continue;
		f->rate_bps = paced = most;
	}
	if (paced)
		buf_printf(&b, "at most %llu bit/s a flow, ", (unsigned long long)paced);
	if (b.len > 2 && !b.failed)
		snprintf(s->lowered, sizeof(s->lowered), "%.*s", (int)(b.len - 2), b.data);
	buf_fini(&b);
	return 0;
}

/* What cannot be lowered is refused. */
int weir_check_limits(const struct flow_plan *p, const struct proto_limits *lim, struct weir_err *e)
{
	uint64_t windows = 0;

	for (size_t i = 0; i < p->n; i++) {
		windows += p->flows[i].window;
		if (p->flows[i].transport == NET_UDP && lim->no_udp)
			return err_set(e, WEIR_LIMIT, EOPNOTSUPP, "UDP is not served here");
		if (p->flows[i].transport != p->flows[0].transport)
			return err_set(e, WEIR_LIMIT, EOPNOTSUPP,
				       "TCP and UDP in one test are not served");
		if (lim->no_high_dscp && p->flows[i].tos >= 0xc0)
			return err_set(e, WEIR_LIMIT, EDQUOT,
				       "this server does not take DSCP CS6 and CS7");
	}
	if (lim->window_total && windows > lim->window_total)
		return err_set(e, WEIR_LIMIT, EDQUOT,
			       "windows of %llu bytes in all, this server takes %llu",
			       (unsigned long long)windows, (unsigned long long)lim->window_total);
	if (lim->duration_ns && !p->duration_ns)
		return err_set(e, WEIR_LIMIT, EDQUOT,
			       "this server takes no test without a duration (at most %lld s)",
			       (long long)(lim->duration_ns / NSEC_PER_SEC));
	if (lim->duration_ns && p->omit_ns >= lim->duration_ns)
		return err_set(e, WEIR_LIMIT, EDQUOT, "this server takes at most %lld s",
			       (long long)(lim->duration_ns / NSEC_PER_SEC));
	return 0;
}

struct weir_ok weir_agree(const struct flow_plan *p, const struct proto_limits *lim)
{
	struct weir_ok ok = {.up = flow_plan_count(p, NET_UP),
			     .down = flow_plan_count(p, NET_DOWN),
			     .duration_ns = p->duration_ns};

	if (lim->flows && ok.up > lim->flows)
		ok.up = lim->flows;
	if (lim->flows && ok.down > lim->flows)
		ok.down = lim->flows;
	if (lim->duration_ns && p->duration_ns > lim->duration_ns - p->omit_ns)
		ok.duration_ns = lim->duration_ns - p->omit_ns;
	if (lim->rate_bps)
		ok.rate_bps = lim->rate_bps / (ok.up + ok.down);
	if (lim->rate_bps && ok.rate_bps < RATE_MIN_BPS)
		ok.rate_bps = RATE_MIN_BPS;
	if (!proto_has_udp(p))
		return ok;
	weir_token_new(ok.udp_token);
	ok.udp_down_bps = proto_udp_down_share(p, lim);
	if (ok.down < flow_plan_count(p, NET_DOWN)) /* fewer share it */
		ok.udp_down_bps =
			ok.down ? ok.udp_down_bps * flow_plan_count(p, NET_DOWN) / ok.down : 0;
	return ok;
}
