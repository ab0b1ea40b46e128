/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender that knows what it sends: bursts of a given or drawn size, at a period or one after the
 * other, each with its time and number in it, each write timed, or each followed by a rest. One
 * flow a worker, blocking calls; TCP and UDP differ only in how a piece leaves. And the other end of
 * TCP's bursts: where one ends, how long it took.
 */
#include "net/priv.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REDRAW_NS     (100 * NSEC_PER_MSEC) /* a rate that varies keeps this long */
#define CATCH_UP_NS   (100 * NSEC_PER_MSEC)
#define NAP_NS        (50 * NSEC_PER_USEC)
#define SLICE_NS      (5 * NSEC_PER_MSEC) /* deaf no longer: the rest of a period is idle */
#define BURST_MAX     (1U << 30)
#define CLOCKS_NS     (600 * NSEC_PER_SEC) /* clocks further apart say nothing */
#define F_EXTEND      0x40000000U
#define F_LENGTH      0x00010000U
#define F_LENGTH_MASK 0x1feU

/* iperf 2's header of a burst: where its words are. */
enum { H_FLAGS = 0, H_START = 12, H_WRITE = 20, H_PERIOD = 40, H_ID = 44, H_SIZE = 48, H_SUM = 52 };
enum { U_PERIOD = 76, U_START = 80, U_BEFORE = 88, U_ID = 92, U_SIZE = 96, U_LEFT = 100 };

struct sender {
	struct net_engine *en;
	struct net_flow *f;
	const struct net_bursts *b;
	uint8_t *buf; /* a piece */
	uint32_t len;
	uint64_t rng[2];
	int64_t start_ns, start_real_ns, drawn_ns;
	double rate; /* now, bit/s; 0 = none */
	uint64_t sent, id;
};

/* ---- chance ----------------------------------------------------------------------------- */

static double uniform(struct sender *s) /* ]0, 1[ */
{
	uint64_t a = s->rng[0], b = s->rng[1];

	s->rng[0] = b;
	a ^= a << 23;
	a ^= a >> 18 ^ b ^ b >> 5;
	s->rng[1] = a;
	return ((double)((a + b) >> 12) + 0.5) / 4503599627370496.0;
}

static double normal(struct sender *s)
{
	return sqrt(-2 * log(uniform(s))) * cos(2 * M_PI * uniform(s));
}

/* Log-normal, of this mean and deviation. */
static double draw(struct sender *s, double mean, double stdev)
{
	double var;

	if (!(stdev > 0) || !(mean > 0))
		return mean;
	var = log1p(stdev * stdev / (mean * mean));
	return exp(log(mean) - var / 2 + sqrt(var) * normal(s));
}

/* ---- what is in a piece ------------------------------------------------------------------- */

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static void put_time(uint8_t *p, int64_t ns)
{
	put32(p, (uint32_t)(ns / NSEC_PER_SEC));
	put32(p + 4, (uint32_t)(ns % NSEC_PER_SEC / NSEC_PER_USEC));
}

static void stamp_burst(const struct sender *s, uint32_t size)
{
	put_time(s->buf + H_START, s->start_real_ns);
	put_time(s->buf + H_WRITE, clk_real_ns());
	if (s->b->period_ns)
		put32(s->buf + H_PERIOD, (uint32_t)(s->b->period_ns / NSEC_PER_USEC));
	put32(s->buf + H_ID, (uint32_t)s->id);
	put32(s->buf + H_SIZE, size);
	put32(s->buf + H_SUM, (uint32_t)s->sent + size);
}

static void stamp_datagram(const struct sender *s, uint32_t n, uint32_t size, uint32_t left)
{
	uint64_t number = s->f->udp->sent + (s->f->spec.udp_from_zero ? 0 : 1);
	uint32_t head = s->f->udp->head, extra = s->f->spec.udp_head_len;
	uint8_t *p = s->buf;

	put32(p, (uint32_t)number);
	put_time(p + 4, clk_real_ns());
	if (head == NET_UDP_HDR_MAX)
		put32(p + 12, (uint32_t)(number >> 32));
	if (s->f->spec.udp_head && n > head)
		memcpy(p + head, s->f->spec.udp_head, extra < n - head ? extra : n - head);
	if (!s->b->stamp || n < U_LEFT + 4)
		return;
	put32(p + U_PERIOD, (uint32_t)(s->b->period_ns / NSEC_PER_USEC));
	put_time(p + U_START, s->start_real_ns);
	put32(p + U_BEFORE, (uint32_t)s->id - 1);
	put32(p + U_ID, (uint32_t)s->id);
	put32(p + U_SIZE, size);
	put32(p + U_LEFT, left);
}

/* ---- waiting ------------------------------------------------------------------------------- */

static void sleep_until(const struct net_engine *en, int64_t due_ns)
{
	int64_t now;

	while ((now = clk_mono_ns()) < due_ns && !net_flag(&en->tx_stop)) {
		int64_t limit = now + SLICE_NS;

		clk_sleep_until(due_ns < limit ? due_ns : limit);
	}
}

/* The time that n bytes take at the rate; a rate that varies is drawn anew. */
static void pace(struct sender *s, uint32_t n)
{
	struct net_flow *f = s->f;
	int64_t now = clk_mono_ns();

	if (!f->spec.rate_bps || s->b->period_ns)
		return;
	if (s->b->rate_stdev > 0 && now - s->drawn_ns >= REDRAW_NS) {
		s->drawn_ns = now;
		s->rate = draw(s, (double)f->spec.rate_bps, s->b->rate_stdev);
	}
	if (s->rate > 1)
		f->due_ns += (int64_t)(n * 8e9 / s->rate);
	if (f->due_ns < now - CATCH_UP_NS)
		f->due_ns = now - CATCH_UP_NS;
	sleep_until(s->en, f->due_ns);
}

/* A share of the round trip after each piece. */
static void rest(struct sender *s)
{
	struct net_tcp_info info;

	if (s->b->rtt_weight > 0 && net_tcp_info_get(s->f->fd, &info) > 0)
		sleep_until(s->en, clk_mono_ns() + (int64_t)(s->b->rtt_weight * 1e3 * info.rtt_us));
}

/* ---- a piece leaves --------------------------------------------------------------------------- */

/* How much of n may still go; whole datagrams. */
static uint32_t allowed(struct sender *s, uint32_t n)
{
	uint64_t most = s->f->spec.bytes;

	if (most && most - s->sent < n)
		return s->f->udp ? (most > s->sent ? n : 0) : (uint32_t)(most - s->sent);
	return n;
}

static bool failed(struct sender *s, int code)
{
	if (code == EAGAIN || code == EINTR)
		return false;
	if (s->f->udp && (code == ENOBUFS || net_udp_is_unreachable(code))) {
		net_udp_reap(s->f);
		net_count_add(&s->f->udp->c.refused, 1);
		clk_sleep_until(clk_mono_ns() + NAP_NS);
		return false;
	}
	net_flow_end(s->en, s->f, NET_FLOW_ERROR, code);
	return true;
}

static void count(struct sender *s, uint32_t n)
{
	net_count_add(&s->f->c.calls, 1);
	net_count_add(&s->f->c.bytes, n);
	s->sent += n;
	if (s->f->udp)
		s->f->udp->sent++;
	if (s->f->udp || !s->b->period_ns)
		net_count_add(&s->f->c.blocks, 1);
}

/* All n bytes of the buffer; false when the flow is over. */
static bool put(struct sender *s, uint32_t n)
{
	struct net_flow *f = s->f;
	int64_t began = f->timing ? clk_mono_ns() : 0;
	uint32_t done = 0;

	while (done < n && !net_flag(&s->en->tx_stop)) {
		ssize_t got = send(f->fd, s->buf + done, n - done, MSG_NOSIGNAL);

		if (got < 0 && failed(s, errno))
			return false;
		done += got > 0 ? (uint32_t)got : 0;
	}
	if (done)
		count(s, done);
	if (done && f->timing)
		net_timing_add(f, clk_mono_ns() - began);
	return done == n;
}

static bool put_burst(struct sender *s, uint32_t size)
{
	uint32_t left = size;

	while (left) {
		uint32_t n = left < s->len ? left : s->len, may;

		if (s->f->udp && n < NET_UDP_LEN_MIN)
			n = NET_UDP_LEN_MIN; /* the last one has room for its number */
		may = allowed(s, n);
		if (!may) {
			net_flow_end(s->en, s->f, NET_FLOW_OPEN, 0);
			return false;
		}
		if (s->f->udp)
			stamp_datagram(s, may, size, left);
		else if (s->b->stamp && left == size)
			stamp_burst(s, size);
		if (!put(s, may))
			return false;
		if (!s->f->udp && s->b->stamp && left == size) /* it is payload again */
			net_payload_fill(s->buf, NET_BURST_HEAD, true);
		left -= n < left ? n : left;
		pace(s, may);
		rest(s);
	}
	return true;
}

/* ---- the loop ------------------------------------------------------------------------------------ */

static uint32_t next_size(struct sender *s)
{
	uint32_t least = s->f->udp ? NET_UDP_LEN_MIN : NET_BURST_HEAD;
	double v = s->b->mean > 0 ? draw(s, s->b->mean, s->b->stdev) : s->len;

	if (!(v > least))
		return least;
	return v < BURST_MAX ? (uint32_t)v : BURST_MAX;
}

/* A burst whose time had gone by before it could begin is missed; one that began late has slipped. */
static void await_turn(struct sender *s)
{
	int64_t period = s->b->period_ns, now = clk_mono_ns(), due;
	uint64_t turn;

	if (!period)
		return;
	turn = now > s->start_ns ? (uint64_t)((now - s->start_ns) / period) : 0;
	if (turn > s->id) {
		net_count_add(&s->f->c.missed, turn - s->id);
		s->id = turn;
	}
	due = s->start_ns + (int64_t)s->id * period;
	if (s->id && now > due)
		net_count_add(&s->f->c.slips, 1);
	sleep_until(s->en, due);
}

static bool begin(struct sender *s)
{
	const struct net_flow *f = s->f;

	s->len = f->spec.len;
	s->buf = malloc(s->len > NET_BURST_HEAD ? s->len : NET_BURST_HEAD);
	if (!s->buf)
		return false;
	net_payload_fill(s->buf, s->len, true);
	if (s->b->head)
		memcpy(s->buf, s->b->head, NET_BURST_HEAD);
	clk_random(s->rng, sizeof(s->rng));
	s->rng[0] |= 1;
	s->rate = (double)f->spec.rate_bps;
	s->start_ns = clk_mono_ns();
	s->start_real_ns = clk_real_ns();
	return true;
}

void net_bursts_send(struct net_engine *en, struct net_flow *f)
{
	struct sender s = {.en = en, .f = f, .b = f->spec.bursts};

	if (!begin(&s)) {
		net_flow_end(en, f, NET_FLOW_ERROR, ENOMEM);
		return;
	}
	f->due_ns = s.start_ns;
	while (!net_flag(&en->tx_stop)) {
		await_turn(&s);
		if (net_flag(&en->tx_stop))
			break;
		s.id++;
		if (s.b->head && !f->udp)
			memcpy(s.buf, s.b->head, NET_BURST_HEAD);
		if (!put_burst(&s, next_size(&s)))
			break;
		net_count_add(&f->c.frames, 1);
	}
	free(s.buf);
	net_flow_leave(en, f);
}

/* ---- the other end -------------------------------------------------------------------------------- */

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* iperf 2's own first bytes look alike, and tell their length. */
static bool take_hello(struct net_burst_rx *r)
{
	uint32_t flags = get32(r->head), len = (flags & F_LENGTH_MASK) >> 1;

	if (r->begun || !(flags & F_LENGTH) || len < NET_BURST_HEAD || get32(r->head + H_SIZE))
		return false;
	r->skip = len - NET_BURST_HEAD;
	r->filled = 0;
	return true;
}

/* Of a peer's: what cannot be one ends the looking, not the flow. */
static bool take_head(struct net_burst_rx *r)
{
	uint32_t size = get32(r->head + H_SIZE);
	int64_t write = get32(r->head + H_WRITE) * NSEC_PER_SEC +
			get32(r->head + H_WRITE + 4) * NSEC_PER_USEC;
	int64_t apart = clk_real_ns() - write;

	if (!(get32(r->head) & F_EXTEND) || size < NET_BURST_HEAD || size > BURST_MAX ||
	    apart > CLOCKS_NS || apart < -CLOCKS_NS)
		return false;
	r->write_ns = write;
	r->left = size - NET_BURST_HEAD;
	return true;
}

void net_bursts_read(struct net_flow *f, const uint8_t *p, size_t n)
{
	struct net_burst_rx *r = &f->burst_rx;

	while (n && !r->off) {
		size_t room = r->skip                      ? r->skip
			      : r->filled < NET_BURST_HEAD ? NET_BURST_HEAD - r->filled
							   : r->left;
		size_t got = room < n ? room : n;

		if (r->skip) {
			r->skip -= (uint32_t)got;
		} else if (r->filled < NET_BURST_HEAD) {
			memcpy(r->head + r->filled, p, got);
			r->filled += (uint32_t)got;
			if (r->filled == NET_BURST_HEAD)
				r->off = !take_hello(r) && !take_head(r);
			r->begun = r->begun || !r->filled || r->filled == NET_BURST_HEAD;
		} else {
			r->left -= (uint32_t)got;
		}
		if (!r->off && r->filled == NET_BURST_HEAD && !r->left) {
			net_timing_add(f, clk_real_ns() - r->write_ns);
			r->filled = 0;
		}
		p += got;
		n -= got;
	}
}
