/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker with one flow: blocking calls, the fewest moving parts. Socket timeouts bound how
 * long it is deaf to the control thread's flags.
 */
#include "net/priv.h"

static void sleep_towards(int64_t due_ns, int64_t now_ns)
{
	int64_t limit = now_ns + NET_SLICE_NS;

	clk_sleep_until(due_ns < limit ? due_ns : limit);
}

static void send_paced(struct net_engine *en, struct net_flow *f)
{
	while (!net_flag(&en->tx_stop)) {
		int64_t now = clk_mono_ns();

		if (now < f->due_ns) {
			sleep_towards(f->due_ns, now);
			continue;
		}
		do {
			if (net_flow_send(en, f) == NET_STEP_ENDED)
				return;
		} while (!net_flow_pace(f, now) && !net_flag(&en->tx_stop));
	}
}

static void send_freely(struct net_engine *en, struct net_flow *f)
{
	while (!net_flag(&en->tx_stop)) {
		if (net_flow_send(en, f) == NET_STEP_ENDED)
			return;
		if (net_flow_tune_due(f))
			net_flow_tune(en, f, clk_mono_ns());
	}
}

static void receive(struct net_engine *en, struct net_flow *f, void *buf)
{
	while (!net_flag(&en->quit)) {
		enum net_step step = net_flow_recv(en, f, buf);

		if (step == NET_STEP_ENDED)
			return;
		if (net_flow_tune_due(f) || (f->lowat && step == NET_STEP_BLOCKED))
			net_flow_tune(en, f, clk_mono_ns());
	}
}

void net_worker_single(struct net_worker *w)
{
	struct net_flow *f = w->flows[0];

	net_flow_begin(f, clk_mono_ns());
	if (f->sender && f->spec.bursts) {
		net_bursts_send(w->en, f);
		return;
	}
	if (f->udp) {
		net_udp_single(w->en, f);
		return;
	}
	if (!f->sender) {
		receive(w->en, f, w->rx);
		return;
	}
	if (f->paced)
		send_paced(w->en, f);
	else
		send_freely(w->en, f);
	net_flow_leave(w->en, f);
	if (f->zerocopy)
		net_flow_zc_await(w->en, f);
}
