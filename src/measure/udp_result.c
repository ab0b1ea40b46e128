/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP's figures: what was sent, what came, what did not, and how evenly. They are taken after the
 * last datagram, not at the end of the period, because what is still on its way is not lost; rates
 * stay those of the period. Sender and receiver are never mixed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/priv.h"

#define BITS       8.0
#define IP_HEADERS 48 /* IPv6's and UDP's; IPv4's are less */

/* One direction of this end, over its flows; differences to the start of the period. */
struct udp_total {
	size_t flows;
	bool sender, gso, gro;
	double sent, intended, skipped, refused, unreachable, unsent;
	int unreachable_code;
	uint32_t fragment_max;
	double fragmented;
	double received, expected, lost, reordered, duplicates, late, foreign, drops;
	double jitter, intended_bits;
	uint32_t len, batch, path_payload;
	int64_t host_drops;           /* -1 = not known, or not of a single flow */
	uint64_t rcvbuf, rcvbuf_wish; /* of the flow that was cut most */
};

static double grown(uint64_t to, uint64_t from)
{
	return to > from ? (double)(to - from) : 0;
}

static void add(struct udp_total *t, const struct net_udp_sample *a, const struct net_udp_sample *b,
		const struct measure_flow *f)
{
	if (!t->flows++ || f->applied.rcvbuf < t->rcvbuf) {
		t->rcvbuf = f->applied.rcvbuf;
		t->rcvbuf_wish = f->applied.rcvbuf_wish;
	}
	t->sender = f->sender;
	t->len = f->len;
	t->gso |= b->gso;
	t->gro |= b->gro;
	t->batch = b->gso_batch > t->batch ? b->gso_batch : t->batch;
	if (b->path_payload && (!t->path_payload || b->path_payload < t->path_payload))
		t->path_payload = b->path_payload;
	t->sent += grown(b->sent, a->sent);
	t->intended += grown(b->intended, a->intended);
	t->intended_bits += grown(b->intended, a->intended) * f->len * BITS;
	t->skipped += grown(b->skipped, a->skipped);
	t->refused += grown(b->refused, a->refused);
	t->unreachable += grown(b->unreachable, a->unreachable);
	if (b->unreachable_code)
		t->unreachable_code = b->unreachable_code;
	t->fragmented += grown(b->fragmented, a->fragmented);
	if (b->fragment_max > t->fragment_max)
		t->fragment_max = b->fragment_max;
	t->received += grown(b->received, a->received);
	t->expected += grown(b->highest, a->highest);
	t->lost += grown(b->lost, a->lost);
	t->reordered += grown(b->reordered, a->reordered);
	t->duplicates += grown(b->duplicates, a->duplicates);
	t->late += grown(b->late, a->late);
	t->foreign += grown(b->foreign, a->foreign);
	t->drops += grown(b->sock_drops, a->sock_drops);
	t->jitter += (double)b->jitter_ns * 1e-9;
}

static struct udp_total total_of(const struct measure_totals *mt, const struct measure_flow *flows,
				 size_t n, int dir)
{
	struct udp_total t = {.host_drops = mt->host_drops};

	for (size_t i = 0; i < n; i++) {
		if (flows[i].dir != dir || !flows[i].udp)
			continue;
		add(&t, &mt->from->s[i].udp, &mt->final[i].udp, &flows[i]);
		t.unsent += mt->to->s[i].udp.unsent; /* when the time was up */
	}
	return t;
}

struct row {
	const char *metric;
	double v;
	bool known;
};

static void put_rows(struct model_run *run, uint32_t part, struct model_dims d,
		     const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].known)
			measure_value(run, part, rows[i].metric, d, STAT_VALUE, MODEL_MEASURED,
				      rows[i].v);
	}
}

static void put_sender(struct model_run *run, const struct measure_totals *mt, struct model_dims d,
		       const struct udp_total *t)
{
	const struct row rows[] = {
		{"udp.datagrams", t->sent, true},
		{"udp.intended", t->intended, true},
		{"load.intended", t->intended_bits / mt->seconds, mt->seconds > 0},
		{"udp.skipped", t->skipped, true},
		{"udp.refused", t->refused, true},
		{"udp.unreachable", t->unreachable, true},
		{"udp.unsent", t->unsent, true},
		{"udp.size", t->len, true},
		{"udp.path_payload", t->path_payload, t->path_payload > 0},
		{"udp.batch", t->batch, t->gso},
	};

	put_rows(run, mt->part, d, rows, ARRAY_LEN(rows));
}

static void put_receiver(struct model_run *run, uint32_t part, struct model_dims d,
			 const struct udp_total *t)
{
	const struct row rows[] = {
		{"udp.datagrams", t->received, true},
		{"udp.lost", t->lost, true},
		{"udp.loss", t->lost / t->expected, t->expected > 0},
		{"udp.reordered", t->reordered, true},
		{"udp.duplicates", t->duplicates, true},
		{"udp.late", t->late, true},
		{"udp.fragmented", t->fragmented, true},
		{"udp.foreign", t->foreign, true},
		{"udp.socket_drops", t->drops, true},
		{"udp.host_drops", (double)t->host_drops, t->host_drops >= 0},
		{"udp.jitter", t->jitter / (double)t->flows, t->received > 1},
	};

	put_rows(run, part, d, rows, ARRAY_LEN(rows));
	/* A batch that UDP_GRO put together and the socket dropped counts once. */
	for (size_t i = run->n_sums; t->gro && t->drops > 0 && i-- > 0;) {
		if (strcmp(run->sums[i].metric->name, "udp.socket_drops") != 0)
			continue;
		run->sums[i].bound = MODEL_GE;
		break;
	}
}

static void put_total(struct model_run *run, const struct measure_totals *mt, struct model_dims d,
		      const struct udp_total *t)
{
	if (t->sender)
		put_sender(run, mt, d, t);
	else
		put_receiver(run, mt->part, d, t);
}

void measure_udp_near(struct model_run *run, const struct measure_totals *mt,
		      const struct measure_flow *flows, size_t n)
{
	size_t per_dir[2] = {0, 0};

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct udp_total t = total_of(mt, flows, n, dir);

		per_dir[dir] = t.flows;
		if (t.flows)
			put_total(run, mt, measure_view_dims(dir, t.sender, MODEL_NEAR), &t);
	}
	for (size_t i = 0; i < n; i++) {
		struct model_dims d = measure_view_dims(flows[i].dir, flows[i].sender, MODEL_NEAR);
		struct udp_total t = {.host_drops = -1};

		if (!flows[i].udp || per_dir[flows[i].dir] < 2)
			continue;
		add(&t, &mt->from->s[i].udp, &mt->final[i].udp, &flows[i]);
		put_total(run, mt, model_dims_with(d, DIM_FLOW, (int64_t)i), &t);
	}
}

/* ---- the other end's -------------------------------------------------------------- */

/* iperf3's receiver tells the highest number, which counts the lost. */
static void told_rows(struct model_run *run, uint32_t part, struct model_dims d, bool sender,
		      double packets, double lost, double jitter)
{
	const struct row rows[] = {
		{"udp.datagrams", sender ? packets : packets - lost, true},
		{"udp.lost", lost, !sender},
		{"udp.loss", lost / packets, !sender && packets > 0},
		{"udp.jitter", jitter, !sender},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].known)
			measure_value(run, part, rows[i].metric, d, STAT_VALUE, MODEL_TOLD,
				      rows[i].v);
	}
}

#define UNREAD_S     0.1
#define UNREAD_LEAST 16

/* What the peer tells of the period alone. Before 3.14 iperf3 counts from the start and does not say
 * what it omitted: then this end's count at that moment serves, and no loss at all is none. */
struct told {
	double packets, lost;
	bool known;
};

/* An iperf3 receiver knows of none after the highest number that came. Of what this end sent beyond
 * that, it may not have read the last tenth of a second before it stopped; more than that was lost. */
static double tail_of(const struct measure_totals *mt, const struct measure_flow *f, size_t i,
		      const struct proto_flow_result *r)
{
	const struct net_udp_sample *from = &mt->from->s[i].udp;
	const struct net_udp_sample *end = mt->final ? &mt->final[i].udp : &mt->to->s[i].udp;
	double tail = (double)end->sent - (double)r->packets, unread;

	if (!f->sender || !r->udp)
		return 0;
	unread = mt->seconds > 0 ? (double)(end->sent - from->sent) / mt->seconds * UNREAD_S : 0;
	return tail > (unread > UNREAD_LEAST ? unread : UNREAD_LEAST) ? tail : 0;
}

static struct told told_period(const struct measure_totals *mt, const struct measure_flow *f,
			       size_t i, const struct proto_flow_result *r)
{
	const struct net_udp_sample *base = &mt->from->s[i].udp;
	bool silent = mt->omitted && r->omitted_packets < 0;
	int64_t packets = r->omitted_packets, lost = r->omitted_lost;
	double tail = tail_of(mt, f, i, r);

	if (silent)
		packets = (int64_t)(f->sender ? base->sent : base->highest);
	return (struct told){.packets = (double)(r->packets - (packets > 0 ? packets : 0)) + tail,
			     .lost = (double)(r->lost - (lost > 0 ? lost : 0)) + tail,
			     .known = r->udp && (!silent || !r->lost) && packets <= r->packets};
}

static void told_flows(struct model_run *run, const struct measure_totals *mt, int dir,
		       const struct measure_flow *flows, size_t n, const struct proto_result *r)
{
	for (size_t i = 0; i < n && i < r->n; i++) {
		struct model_dims d = measure_view_dims(dir, !flows[i].sender, MODEL_FAR);
		struct told t = told_period(mt, &flows[i], i, &r->flows[i]);

		if (flows[i].dir == dir && flows[i].udp)
			told_rows(run, mt->part, model_dims_with(d, DIM_FLOW, (int64_t)i),
				  !flows[i].sender, t.packets, t.lost, r->flows[i].jitter);
	}
}

void measure_udp_told(struct model_run *run, const struct measure_totals *mt,
		      const struct measure_flow *flows, size_t n, const struct proto_result *r)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		double packets = 0, lost = 0, jitter = 0;
		bool sender = false, known = true;
		size_t count = 0;

		for (size_t i = 0; i < n && i < r->n; i++) {
			struct told t = told_period(mt, &flows[i], i, &r->flows[i]);

			if (flows[i].dir != dir || !flows[i].udp)
				continue;
			sender = !flows[i].sender;
			known &= t.known;
			packets += t.packets;
			lost += t.lost;
			jitter += r->flows[i].jitter;
			count++;
		}
		if (!count || !known)
			continue;
		told_rows(run, mt->part, measure_view_dims(dir, sender, MODEL_FAR), sender, packets,
			  lost, jitter / (double)count);
		if (count > 1)
			told_flows(run, mt, dir, flows, n, r);
	}
}

void measure_udp_wire(const struct measure_totals *mt, const struct measure_flow *f, size_t i,
		      struct proto_flow_result *out)
{
	const struct net_udp_sample *a = &mt->from->s[i].udp;
	const struct net_udp_sample *b = mt->final ? &mt->final[i].udp : &mt->to->s[i].udp;

	/* The peer compares with all that it sent, not with what had come when the time was up. */
	if (mt->final && !f->sender)
		out->bytes = mt->final[i].bytes - mt->from->s[i].bytes;
	out->udp = true;
	out->ended = !f->sender && b->fin;
	out->packets = (int64_t)(f->sender ? b->sent : b->highest);
	out->omitted_packets = (int64_t)(f->sender ? a->sent : a->highest);
	out->lost = (int64_t)b->lost;
	out->reordered = (int64_t)b->reordered;
	out->omitted_lost = (int64_t)(a->lost < b->lost ? a->lost : b->lost);
	out->jitter = f->sender ? 0 : (double)b->jitter_ns * 1e-9;
}

/* ---- how evenly it was sent -------------------------------------------------------- */

static void put_pacing(struct model_run *run, const struct measure_totals *mt, int dir,
		       const struct net_udp_pacing *p, struct hist *take_gaps,
		       struct hist *take_errors)
{
	struct model_dims d = measure_view_dims(dir, true, MODEL_NEAR);

	measure_add_rtt(run, mt->part, "udp.gap", &d, take_gaps);
	if (p->gap_ns)
		measure_add_rtt(run, mt->part, "udp.gap_error", &d, take_errors);
	else
		hist_free(take_errors);
	if (p->burst_max)
		measure_value(run, mt->part, "udp.burst_max", d, STAT_VALUE, MODEL_MEASURED,
			      p->burst_max);
}

void measure_udp_pacing(struct model_run *run, const struct measure_totals *mt,
			const struct measure_flow *flows, size_t n, const struct net_engine *en)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct hist *gaps = hist_new(), *errors = hist_new();
		struct net_udp_pacing all = {0}, p;
		bool any = false;

		for (size_t i = 0; gaps && errors && i < n; i++) {
			if (flows[i].dir != dir || !flows[i].sender || !flows[i].udp ||
			    net_engine_udp_pacing(en, i, &p, gaps, errors) < 0)
				continue;
			any = true;
			all.gap_ns = p.gap_ns;
			if (p.burst_max > all.burst_max)
				all.burst_max = p.burst_max;
		}
		if (any) {
			put_pacing(run, mt, dir, &all, gaps, errors);
			continue;
		}
		hist_free(gaps);
		hist_free(errors);
	}
}

/* ---- what went wrong ---------------------------------------------------------------- */

static const char *dir_word(int dir)
{
	return dir == MODEL_UP ? "up" : "down";
}

static void unreachable_event(struct model_run *run, struct sink *sink, uint32_t part, int dir,
			      const struct udp_total *t)
{
	bool own = t->unreachable_code == EPERM, closed = t->unreachable_code == ECONNREFUSED;

	measure_event(run, sink, part, WARN_UNREACHABLE, MODEL_NO_TIME, "%s: %.0f sends: %s (%s)",
		      dir_word(dir), t->unreachable,
		      own      ? "a filter of the sender's own host"
		      : closed ? "nothing has the far end's port any more"
			       : "a router or firewall on the way cannot or will not pass them on",
		      strerror(t->unreachable_code));
}

static void sender_events(struct model_run *run, struct sink *sink, uint32_t part, int dir,
			  const struct udp_total *t, const struct flow_spec *spec)
{
	if (t->path_payload && t->len > t->path_payload)
		measure_event(run, sink, part, WARN_FRAGMENTED, MODEL_NO_TIME,
			      "%s: %u bytes each, the path takes %u: %s; -l %u avoids it",
			      dir_word(dir), t->len, t->path_payload,
			      spec->dont_fragment ? "they cannot leave with --dont-fragment"
						  : "each leaves in several IP fragments, and one "
						    "lost fragment loses all",
			      t->path_payload);
	if (t->unreachable > 0)
		unreachable_event(run, sink, part, dir, t);
	if (t->refused > 0)
		measure_event(run, sink, part, WARN_SEND_REFUSED, MODEL_NO_TIME,
			      "%s: %.0f sends found no room", dir_word(dir), t->refused);
}

/* Without privileges a larger -w is no remedy: the kernel gives what its own bound allows. */
static void drops_event(struct model_run *run, struct sink *sink, uint32_t part, int dir,
			const struct udp_total *t)
{
	bool others = (double)t->host_drops > t->drops;
	char remedy[192] = "a larger -w";

	if (t->rcvbuf < t->rcvbuf_wish)
		snprintf(remedy, sizeof(remedy),
			 "its buffer is %.4g kB, all that net.core.rmem_max of that host allows: "
			 "sysctl net.core.rmem_max=%llu there",
			 (double)t->rcvbuf * 1e-3, (unsigned long long)t->rcvbuf_wish);
	measure_event(run, sink, part, WARN_SOCKET_DROPS, MODEL_NO_TIME,
		      "%s: %s%.0f of %.0f lost%s; %s, or a lower rate", dir_word(dir),
		      t->gro ? "at least " : "", t->drops, t->lost,
		      others ? ", and other sockets of that host dropped, too" : "", remedy);
}

static void receiver_events(struct model_run *run, struct sink *sink, uint32_t part, int dir,
			    const struct udp_total *t)
{
	if (t->drops > 0)
		drops_event(run, sink, part, dir, t);
	if (t->fragmented > 0)
		measure_event(run, sink, part, WARN_FRAGMENTED, MODEL_NO_TIME,
			      "%s: %.0f of %.0f came in fragments, none larger than %u bytes; "
			      "-l %u avoids it",
			      dir_word(dir), t->fragmented, t->received, t->fragment_max,
			      t->fragment_max > IP_HEADERS ? t->fragment_max - IP_HEADERS : 16);
	if (t->foreign > 0)
		measure_event(run, sink, part, WARN_FOREIGN, MODEL_NO_TIME, "%s: %.0f",
			      dir_word(dir), t->foreign);
}

static const struct flow_spec *spec_of(const struct flow_plan *plan, int dir)
{
	for (size_t i = 0; i < plan->n; i++) {
		if ((plan->flows[i].dir == NET_UP) == (dir == MODEL_UP))
			return &plan->flows[i];
	}
	return &plan->flows[0];
}

static void failed_flow(struct model_run *run, struct sink *sink, const struct measure_totals *mt,
			const struct measure_flow *flows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!flows[i].sender || mt->final[i].state != NET_FLOW_ERROR)
			continue;
		measure_event(run, sink, mt->part, WARN_SEND_FAILED, MODEL_NO_TIME, "flow %zu: %s",
			      i, strerror(mt->final[i].error));
		return;
	}
}

void measure_udp_events(struct model_run *run, struct sink *sink, const struct measure_totals *mt,
			const struct measure_flow *flows, size_t n, const struct flow_plan *plan)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct udp_total t = total_of(mt, flows, n, dir);

		if (t.flows && t.sender)
			sender_events(run, sink, mt->part, dir, &t, spec_of(plan, dir));
		else if (t.flows)
			receiver_events(run, sink, mt->part, dir, &t);
	}
	failed_flow(run, sink, mt, flows, n);
}
