/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UDP flow: its memory, what other threads read of it, and what the control thread does to it
 * (the sender's count). The worker is the only writer of its state until it has been joined.
 */
#include "net/priv.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define HEAD_32        12
#define HEAD_64        16
#define LEAST_WINDOW   1024
#define LARGEST_WINDOW (128 << 10)
#define PPS_UNLIMITED  20000000 /* more than a link of 10 Gbit/s carries */
#define GRO_SLOT       (64 << 10)
#define RX_ALIGN       64

/* ---- memory -------------------------------------------------------------------- */

static int new_sender(struct net_udp *u)
{
	u->gaps = calloc(1, sizeof(*u->gaps));
	u->errors = calloc(1, sizeof(*u->errors));
	return u->gaps && u->errors ? 0 : -ENOMEM;
}

static uint64_t plausible_pps(const struct flow_spec *s)
{
	uint64_t pps = s->rate_bps / (8ULL * s->len) * NET_UDP_MARGIN + NET_UDP_MARGIN;

	return s->rate_bps && pps < PPS_UNLIMITED ? pps : PPS_UNLIMITED;
}

static int new_receiver(struct net_udp *u, const struct flow_spec *s)
{
	u->pps_max = plausible_pps(s);
	u->window = u->pps_max < LEAST_WINDOW     ? LEAST_WINDOW
		    : u->pps_max > LARGEST_WINDOW ? LARGEST_WINDOW
						  : u->pps_max;
	u->win = seqwin_new(s->udp_from_zero ? 0 : 1,
			    s->counters_64bit || s->udp_form == NET_UDP_BARE ? 64 : 32,
			    (uint32_t)u->window);
	return u->win ? 0 : -ENOMEM;
}

int net_udp_new(struct net_flow *f)
{
	struct net_udp *u = aligned_alloc(NET_CACHE_LINE, sizeof(*u));

	if (!u)
		return -ENOMEM;
	memset(u, 0, sizeof(*u));
	u->len = f->spec.len;
	u->head = f->spec.counters_64bit ? HEAD_64 : HEAD_32;
	if (f->spec.udp_form == NET_UDP_BARE)
		u->head = 0;
	u->born_ns = clk_mono_ns();
	f->udp = u;
	return f->sender ? new_sender(u) : new_receiver(u, &f->spec);
}

void net_udp_free(struct net_flow *f)
{
	struct net_udp *u = f->udp;

	if (!u)
		return;
	seqwin_free(u->win);
	free(u->gaps);
	free(u->errors);
	free(u);
	f->udp = NULL;
}

/* ---- what a worker's flows share --------------------------------------------------- */

/* Only touched pages cost memory: with GRO each of the batch's slots holds a whole one. */
static size_t rx_slot(const struct net_flow *f)
{
	size_t len = f->spec.len < NET_UDP_LEN ? NET_UDP_LEN : f->spec.len;

	if (!f->spec.no_offload)
		return GRO_SLOT;
	return (len + RX_ALIGN) / RX_ALIGN * RX_ALIGN;
}

static int io_alloc(struct net_udp_io *io, size_t tx, size_t rx, bool digits)
{
	io->msg = calloc(NET_UDP_BATCH_MAX, sizeof(*io->msg));
	io->iov = calloc(NET_UDP_BATCH_MAX, sizeof(*io->iov));
	io->ctl = calloc(NET_UDP_BATCH_MAX, sizeof(*io->ctl));
	if (tx)
		io->tx = aligned_alloc(RX_ALIGN, (tx + RX_ALIGN - 1) / RX_ALIGN * RX_ALIGN);
	if (rx)
		io->rx = aligned_alloc(RX_ALIGN, rx * NET_UDP_BATCH_MAX);
	io->rx_slot = rx;
	if (!io->msg || !io->iov || !io->ctl || (tx && !io->tx) || (rx && !io->rx))
		return -ENOMEM;
	if (tx)
		net_payload_fill(io->tx, tx, digits);
	for (size_t i = 0; i < NET_UDP_BATCH_MAX; i++) {
		io->msg[i].msg_hdr.msg_iov = &io->iov[i];
		io->msg[i].msg_hdr.msg_iovlen = 1;
	}
	return 0;
}

int net_udp_io_new(struct net_flow *const *flows, size_t n, struct net_udp_io **out)
{
	struct net_udp_io *io;
	size_t tx = 0, rx = 0;
	bool any = false, digits = false;

	for (size_t i = 0; i < n; i++) {
		size_t *size = flows[i]->sender ? &tx : &rx, want;

		if (!flows[i]->udp)
			continue;
		any = true;
		digits |= flows[i]->spec.digits;
		want = flows[i]->sender ? net_udp_tx_size(flows[i]) : rx_slot(flows[i]);
		*size = want > *size ? want : *size;
	}
	if (!any)
		return 0;
	io = calloc(1, sizeof(*io));
	if (!io)
		return -ENOMEM;
	*out = io;
	for (size_t i = 0; i < n; i++)
		if (flows[i]->udp)
			flows[i]->udp->io = io;
	return io_alloc(io, tx, rx, digits);
}

void net_udp_io_free(struct net_udp_io *io)
{
	if (!io)
		return;
	free(io->tx);
	free(io->rx);
	free(io->msg);
	free(io->iov);
	free(io->ctl);
	free(io);
}

/* ---- the worker with one flow ------------------------------------------------------- */

void net_udp_single(struct net_engine *en, struct net_flow *f)
{
	if (f->sender) {
		net_udp_send_all(en, f);
		return;
	}
	net_thread_short_slice();
	while (!net_flag(&en->quit)) {
		enum net_step step = net_udp_recv_some(en, f);

		if (step == NET_STEP_ENDED)
			return;
		if (step == NET_STEP_BLOCKED)
			net_udp_gather(f);
	}
	net_udp_take_rest(en, f);
}

void net_udp_look_after(struct net_flow *f, int64_t now_ns)
{
	if (f->sender)
		net_udp_intend(f, now_ns);
}

/* ---- other threads -------------------------------------------------------------------- */

static void latest_hello(const struct net_udp_counters *c, struct net_udp_sample *s)
{
	s->hellos = atomic_load_explicit(&c->hellos, memory_order_acquire);
	s->hello_len = atomic_load_explicit(&c->hello_len, memory_order_relaxed);
	for (size_t i = 0; i < ARRAY_LEN(c->hello); i++) {
		uint32_t word = atomic_load_explicit(&c->hello[i], memory_order_relaxed);

		memcpy(s->hello + i * sizeof(word), &word, sizeof(word));
	}
}

void net_udp_counters(const struct net_flow *f, struct net_flow_sample *s)
{
	const struct net_udp_counters *c = &f->udp->c;

	s->udp = (struct net_udp_sample){
		.gso = net_flag(&c->gso),
		.gro = net_flag(&c->gro),
		.gso_batch = f->sender ? f->udp->batch : 0,
		.sent = f->sender ? s->blocks : 0,
		.intended = net_count(&c->intended),
		.skipped = net_count(&c->skipped),
		.refused = net_count(&c->refused),
		.unreachable = net_count(&c->unreachable),
		.unreachable_code =
			atomic_load_explicit(&c->unreachable_code, memory_order_relaxed),
		.received = net_count(&c->received),
		.highest = net_count(&c->highest),
		.lost = net_count(&c->lost),
		.reordered = net_count(&c->reordered),
		.duplicates = net_count(&c->duplicates),
		.late = net_count(&c->late),
		.fragmented = net_count(&c->fragmented),
		.fragment_max = atomic_load_explicit(&c->fragment_max, memory_order_relaxed),
		.foreign = net_count(&c->foreign),
		.jitter_ns = (int64_t)net_count(&c->jitter_ns),
		.fin = net_count(&c->fin),
		.fins = net_count(&c->fins),
	};
	s->udp.kernel_time = f->udp->kernel_time;
	latest_hello(c, &s->udp);
	if (f->sender && s->udp.intended < s->udp.sent)
		s->udp.intended = s->udp.sent;
}

static uint64_t socket_drops(int fd)
{
	uint32_t mem[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(mem);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) ? 0 : mem[SK_MEMINFO_DROPS];
}

void net_udp_info(const struct net_flow *f, struct net_udp_sample *s)
{
	int unsent;

	if (!f->sender) {
		s->sock_drops = socket_drops(f->fd);
		return;
	}
	s->path_payload = net_udp_path_payload(f->fd);
	s->unsent = ioctl(f->fd, SIOCOUTQ, &unsent) || unsent < 0 ? 0 : (uint32_t)unsent;
}

/* ---- the control thread ----------------------------------------------------------------- */

static struct net_flow *udp_flow(const struct net_engine *en, size_t flow, bool sender)
{
	struct net_flow *f = flow < en->n ? en->flows[flow] : NULL;

	return f && f->udp && f->sender == sender ? f : NULL;
}

int net_engine_udp_final(struct net_engine *en, size_t flow, uint64_t sent)
{
	struct net_flow *f = udp_flow(en, flow, false);
	int rc;

	if (!f || !en->stopped)
		return -EINVAL;
	rc = seqwin_final(f->udp->win, sent);
	net_udp_counted(f);
	return rc;
}

int net_engine_udp_preload(struct net_engine *en, size_t flow, const void *p, uint32_t n,
			   int64_t arrival_ns)
{
	struct net_flow *f = udp_flow(en, flow, false);

	if (!f || en->gone)
		return -EINVAL;
	net_udp_rx_preload(en, f, p, n, arrival_ns);
	return 0;
}

int net_engine_udp_pacing(const struct net_engine *en, size_t flow, struct net_udp_pacing *p,
			  struct hist *gaps, struct hist *errors)
{
	const struct net_flow *f = udp_flow(en, flow, true);
	int rc = 0;

	if (!f || !en->stopped)
		return -EINVAL;
	*p = (struct net_udp_pacing){
		.bursts = f->udp->bursts,
		.burst_asked = f->udp->burst,
		.burst_max = f->udp->run_max,
		.gap_ns = f->udp->gap_ns,
	};
	if (gaps)
		rc = net_gaps_into(f->udp->gaps, gaps);
	if (errors && rc == 0)
		rc = net_gaps_into(f->udp->errors, errors);
	return rc;
}
