/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving: many datagrams a call, by UDP_GRO or by recvmmsg(), and every one of them judged by
 * its own number. The call blocks; nothing here spins.
 */
#include "net/priv.h"

#include <endian.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#define HELLO_BYTES     4 /* without a token; never data (security 14) */
#define HEAD_START_MS   1000
#define TRANSIT_MAX     (1LL << 50) /* a foreign clock is no reason to overflow */
#define GRO_FEW         2           /* messages a call while each carries many datagrams */
#define GATHER_NS       (100 * NSEC_PER_USEC) /* a wake-up costs as much as several datagrams */
#define GATHER_MOST_NS  NSEC_PER_MSEC         /* where the kernel keeps the times of arrival */
#define GATHER_LEAST_NS (20 * NSEC_PER_USEC)
#define GATHER_SLACK_NS (50 * NSEC_PER_USEC) /* of the kernel's timers */
#define GATHER_SHARE    8                    /* of the buffer, at the rate they come at */
#define DATAGRAM_EXTRA  768                  /* what one costs the buffer beside twice its bytes */
#define REST_CALLS      4096                 /* more than a socket holds, less than a flood sends */
#define KERNEL_TIME_MAX 2000000000ULL        /* bit/s; above it the time stamps cost too much */

int net_udp_rx_prepare(struct net_flow *f)
{
	struct net_udp *u = f->udp;
	/* The headers lie all over a batch: who copies them alone takes datagrams one by one. */
	bool gro = !f->spec.no_offload && !f->spec.rx_trunc &&
		   net_sock_set(f->fd, IPPROTO_UDP, UDP_GRO, 1) == 0;

	atomic_store(&u->c.gro, gro);
	u->rcvbuf = (uint64_t)net_sock_get(f->fd, SOL_SOCKET, SO_RCVBUF);
	if (net_sock_get(f->fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6)
		net_sock_set(f->fd, IPPROTO_IPV6, IPV6_RECVFRAGSIZE, 1);
	else
		net_sock_set(f->fd, IPPROTO_IP, IP_RECVFRAGSIZE, 1);
	if (f->spec.rate_bps && f->spec.rate_bps < KERNEL_TIME_MAX)
		u->kernel_time = net_sock_set(f->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) == 0;
	return 0;
}

/* ---- one datagram ------------------------------------------------------------ */

static uint32_t be32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static uint64_t be64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* RFC 3550, 6.4.1 and A.8, in ns. */
static void take_jitter(struct net_udp *u, const uint8_t *head, int64_t arrival_ns)
{
	int64_t sent = be32_at(head) * NSEC_PER_SEC + be32_at(head + 4) * NSEC_PER_USEC;
	int64_t transit = arrival_ns - sent, d = transit - u->transit_ns;

	u->transit_ns = transit;
	if (!u->transit_known) {
		u->transit_known = true;
		return;
	}
	d = d < 0 ? -d : d;
	d = d > TRANSIT_MAX ? TRANSIT_MAX : d;
	u->jitter16 += (uint64_t)d - ((u->jitter16 + 8) >> 4);
}

/* Security 14. What has really come counts too: who told no rate may have any. */
static uint64_t plausible(const struct net_udp *u, int64_t arrival_ns)
{
	int64_t ms = (arrival_ns - u->born_ns) / NSEC_PER_MSEC + HEAD_START_MS;
	uint64_t by_time = (ms > 0 ? (uint64_t)ms : 0) * u->pps_max / 1000;
	uint64_t by_count = seqwin_counts(u->win)->received * NET_UDP_MARGIN;

	return (by_time > by_count ? by_time : by_count) + u->window;
}

static bool is_hello(const uint8_t *p, uint32_t n)
{
	return n == HELLO_BYTES || (n == NET_UDP_HELLO_MAX &&
				    !memcmp(p, NET_UDP_HELLO_MARK, sizeof(NET_UDP_HELLO_MARK) - 1));
}

static void take_hello(struct net_udp *u, const uint8_t *p, uint32_t n)
{
	uint32_t count = atomic_load_explicit(&u->c.hellos, memory_order_relaxed) + 1;

	for (uint32_t i = 0; i < n / 4; i++) {
		uint32_t word;

		memcpy(&word, p + (size_t)i * 4, sizeof(word));
		atomic_store_explicit(&u->c.hello[i], word, memory_order_relaxed);
	}
	atomic_store_explicit(&u->c.hello_len, n, memory_order_relaxed);
	atomic_store_explicit(&u->c.hellos, count, memory_order_release);
}

/* ---- iperf 2, and senders without numbers ----------------------------------------- */

/*
 * The number that an end carries, or 0: it is negative. 2.0.13's is the number with its upper bit
 * set; taken for a negative one it would be far beyond what can have been sent.
 */
static uint64_t end_number(const struct net_udp *u, const uint8_t *p, uint64_t most)
{
	uint64_t low = be32_at(p), high = u->head == NET_UDP_HDR_MAX ? be32_at(p + 12) : 0;
	uint64_t number = high << 32 | low, masked = low & INT32_MAX;

	if (high >> 31)
		number = (uint64_t)0 - number;
	else if (u->head != NET_UDP_HDR_MAX && low >> 31)
		number = (uint32_t)0 - (uint32_t)low;
	else if (low <= INT32_MAX || number <= most)
		return 0;
	return number > most && masked <= most ? masked : number;
}

static void take_iperf2(struct net_udp *u, bool from_zero, const uint8_t *p, uint32_t n,
			uint64_t most, enum seq_kind *kind)
{
	uint64_t number = be32_at(p), end = end_number(u, p, most);

	if (u->head == NET_UDP_HDR_MAX)
		number |= (uint64_t)be32_at(p + 12) << 32;
	if (!end) {
		*kind = seqwin_put(u->win, number, n, most);
		return;
	}
	u->fins += end <= most;
	if (end > most || u->fin) /* impossible, or the end once more */
		return;
	u->fin = end;
	if (!from_zero) /* numbered like the others, and one of them */
		*kind = seqwin_put(u->win, end, n, most);
}

static void take_bare(struct net_udp *u, uint32_t n, uint64_t most)
{
	if (n > HELLO_BYTES)
		seqwin_put(u->win, ++u->bare, n, most);
	else if (++u->fins > 1 && !u->fin) /* the first one was the beginning */
		u->fin = u->bare ? u->bare : 1;
}

/* SEQ_FOREIGN where it is no data, too. */
static enum seq_kind take_one(struct net_udp *u, const struct flow_spec *spec, const uint8_t *p,
			      uint32_t n, uint64_t most)
{
	enum seq_kind kind = SEQ_FOREIGN;

	if (spec->udp_form == NET_UDP_BARE)
		take_bare(u, n, most);
	else if (spec->udp_form == NET_UDP_IPERF3 && is_hello(p, n))
		take_hello(u, p, n);
	else if (n < u->head)
		u->short_ones++;
	else if (spec->udp_form == NET_UDP_IPERF2)
		take_iperf2(u, spec->udp_from_zero, p, n, most, &kind);
	else
		kind = seqwin_put(u->win, u->head == 12 ? be32_at(p + 8) : be64_at(p + 8), n, most);
	return kind;
}

/* A GRO message is cut where the sender cut it. */
static void take_message(struct net_udp *u, const struct flow_spec *spec, const uint8_t *p,
			 uint32_t n, uint32_t cut, int64_t arrival_ns, uint64_t most)
{
	uint32_t time_at = spec->udp_form == NET_UDP_IPERF2 ? 4 : 0;

	for (uint32_t at = 0; at < n; at += cut) {
		enum seq_kind kind = take_one(u, spec, p + at, n - at < cut ? n - at : cut, most);

		if (kind == SEQ_FOREIGN || kind == SEQ_HELD)
			continue;
		take_jitter(u, p + at + time_at, arrival_ns);
		if (u->timed)
			net_timing_add(u->timed, u->transit_ns + clk_real_ns() - clk_mono_ns());
	}
}

/* ---- publishing ------------------------------------------------------------------ */

static void put(_Atomic uint64_t *c, uint64_t v)
{
	atomic_store_explicit(c, v, memory_order_relaxed);
}

static void publish(struct net_udp *u)
{
	const struct seq_counts *s = seqwin_counts(u->win);

	put(&u->c.received, s->received);
	put(&u->c.highest, s->highest);
	put(&u->c.lost, s->lost);
	put(&u->c.reordered, s->reordered);
	put(&u->c.duplicates, s->duplicates);
	put(&u->c.late, s->late);
	put(&u->c.foreign, s->foreign + u->short_ones);
	put(&u->c.jitter_ns, u->jitter16 / 16);
	put(&u->c.fin, u->fin);
	put(&u->c.fins, u->fins);
}

/* What the window counts, for readers. Bytes since the last time. */
uint64_t net_udp_counted(struct net_flow *f)
{
	const struct seq_counts *s = seqwin_counts(f->udp->win);
	uint64_t before = net_count(&f->c.bytes);

	publish(f->udp);
	put(&f->c.blocks, s->received);
	put(&f->c.bytes, s->bytes);
	return s->bytes - before;
}

static void moved(struct net_engine *en, struct net_flow *f)
{
	uint64_t bytes = net_udp_counted(f);

	if (bytes && f->spec.udp_form != NET_UDP_IPERF3)
		atomic_store_explicit(&f->c.last_ns, f->udp->read_ns, memory_order_relaxed);
	if (en->n_senders == 0 && bytes && net_limit(en))
		net_engine_moved(en, bytes);
}

/* ---- calls ------------------------------------------------------------------------------ */

struct extras {
	uint32_t fragment; /* bytes of the largest fragment; 0 = it came whole */
	uint32_t cut;      /* bytes of each datagram of a GRO message; 0 = it is one */
	int64_t realtime;  /* when the kernel got it; 0 = it did not say */
};

static bool is_fragment_size(const struct cmsghdr *c)
{
	return (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVFRAGSIZE) ||
	       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVFRAGSIZE);
}

static struct extras read_extras(struct msghdr *m)
{
	struct extras x = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			int size;

			memcpy(&size, CMSG_DATA(c), sizeof(size));
			x.cut = size > 0 ? (uint32_t)size : 0;
		} else if (is_fragment_size(c)) {
			int size;

			memcpy(&size, CMSG_DATA(c), sizeof(size));
			x.fragment = size > 0 ? (uint32_t)size : 0;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec ts;

			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
			x.realtime = ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
		}
	}
	return x;
}

/* While messages carry many datagrams few fill the cache; single ones are taken by the dozen. */
static unsigned messages_a_call(const struct net_udp *u)
{
	return u->batches ? GRO_FEW : NET_UDP_BATCH_MAX;
}

static void offer(const struct net_flow *f, struct net_udp_io *io, unsigned n)
{
	bool gro = net_flag(&f->udp->c.gro);
	bool short_ones = f->spec.rx_trunc || f->spec.len < NET_UDP_HELLO_MAX;
	size_t len = gro ? io->rx_slot : short_ones ? NET_UDP_HELLO_MAX : f->spec.len;

	for (unsigned i = 0; i < n; i++) {
		struct msghdr *m = &io->msg[i].msg_hdr;

		io->iov[i] = (struct iovec){io->rx + i * io->rx_slot, len};
		m->msg_control = &io->ctl[i];
		m->msg_controllen = sizeof(io->ctl[i]);
	}
}

/* A router on the way cut it, or its sender did. */
static void note_fragments(struct net_udp *u, uint32_t size)
{
	net_count_add(&u->c.fragmented, 1);
	if (size > atomic_load_explicit(&u->c.fragment_max, memory_order_relaxed))
		atomic_store_explicit(&u->c.fragment_max, size, memory_order_relaxed);
}

static void take_messages(struct net_udp *u, const struct flow_spec *spec, struct net_udp_io *io,
			  unsigned n)
{
	int64_t now = clk_mono_ns(), skew = u->kernel_time ? clk_real_ns() - now : 0;
	uint64_t most = plausible(u, now);
	uint32_t cut = 0;

	u->read_ns = now;
	for (unsigned i = 0; i < n; i++) {
		uint32_t len = io->msg[i].msg_len;
		struct extras x = {0};

		u->gathered_cost += 2ULL * len + DATAGRAM_EXTRA;
		if (io->msg[i].msg_hdr.msg_controllen)
			x = read_extras(&io->msg[i].msg_hdr);
		cut = x.cut && x.cut < len ? x.cut : 0;
		if (x.fragment)
			note_fragments(u, x.fragment);
		take_message(u, spec, io->iov[i].iov_base, len,
			     cut   ? cut
			     : len ? len
				   : 1,
			     x.realtime ? x.realtime - skew : now, most);
	}
	u->batches = cut;
}

/* ICMP errors for what the socket sent earlier (the hello) are no end of a receiver. */
static enum net_step failed(struct net_engine *en, struct net_flow *f, int code)
{
	if (code == EAGAIN)
		return NET_STEP_BLOCKED;
	if (code == EINTR || code == EMSGSIZE || net_udp_is_unreachable(code))
		return NET_STEP_MORE;
	return net_flow_end(en, f, NET_FLOW_ERROR, code);
}

enum net_step net_udp_recv_some(struct net_engine *en, struct net_flow *f)
{
	struct net_udp *u = f->udp;
	unsigned want = messages_a_call(u);
	int flags = MSG_WAITFORONE | (f->spec.rx_trunc || !net_flag(&u->c.gro) ? MSG_TRUNC : 0);
	int n;

	flags |= net_flag(&en->quit) ? MSG_DONTWAIT : 0;

	offer(f, u->io, want);
	n = recvmmsg(f->fd, u->io->msg, want, flags, NULL);
	if (n < 0)
		return failed(en, f, errno);
	if (net_flag(&en->quit) && u->io->msg[0].msg_len == 0) /* our own shutdown() */
		return net_flow_end(en, f, NET_FLOW_OPEN, 0);
	net_count_add(&f->c.calls, 1);
	take_messages(u, &f->spec, u->io, (unsigned)n);
	moved(en, f);
	if (u->fin && !u->fin_told) { /* what it overtook is still taken */
		u->fin_told = true;
		net_engine_flow_ended(en);
	}
	return (unsigned)n < want ? NET_STEP_BLOCKED : NET_STEP_MORE;
}

int64_t net_udp_gather_ns(const struct net_udp *u, int64_t since_ns)
{
	int64_t most = u->kernel_time ? GATHER_MOST_NS : GATHER_NS, ns;

	if (since_ns >= 2 * most || !u->gathered_cost)
		return 0;
	ns = (int64_t)((double)u->rcvbuf / GATHER_SHARE * (double)since_ns /
		       (double)u->gathered_cost) -
	     GATHER_SLACK_NS;
	return ns > most ? most : ns < GATHER_LEAST_NS ? 0 : ns;
}

void net_udp_rx_preload(struct net_engine *en, struct net_flow *f, const uint8_t *p, uint32_t n,
			int64_t arrival_ns)
{
	f->udp->read_ns = arrival_ns;
	if (!n)
		return;
	take_message(f->udp, &f->spec, p, n, n, arrival_ns, plausible(f->udp, arrival_ns));
	moved(en, f);
}

/*
 * The socket is empty. Where they come closely, a little sleep lets many come for one wake-up: the
 * kernel keeps their times of arrival, and where it does not, they come so closely that these say
 * nothing.
 */
void net_udp_gather(struct net_flow *f)
{
	struct net_udp *u = f->udp;
	int64_t ns = net_udp_gather_ns(u, u->read_ns - u->gathered_ns);

	u->gathered_ns = u->read_ns;
	u->gathered_cost = 0;
	if (ns)
		clk_sleep_until(u->read_ns + ns);
}

/* A worker that had no processor when it was told to stop: what its socket holds is not lost. */
void net_udp_take_rest(struct net_engine *en, struct net_flow *f)
{
	for (int i = 0; i < REST_CALLS && !f->ended; i++)
		if (net_udp_recv_some(en, f) != NET_STEP_MORE)
			return;
}
