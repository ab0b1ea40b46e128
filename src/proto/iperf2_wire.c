/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's bytes. It negotiates nothing: a client's wishes stand in the first bytes of its data,
 * in one form up to 2.0.12 and in another since, and any stream of bytes is data as well. So a
 * header is one only when all of it is as a header is.
 */
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/priv.h"

/* The first word; then 2.1's 16 bits. */
#define F_VERSION1    (1U << 31)
#define F_EXTEND      (1U << 30)
#define F_KEY         (1U << 28)
#define F_WIDE        (1U << 27)
#define F_VERSION2    (1U << 26)
#define F_DETECT      (1U << 25)
#define F_BOUNCEBACK  (1U << 23)
#define F_LENGTH      (1U << 16)
#define F_LENGTH_MASK 0x1feU
#define F_NOW         1U
#define U_ISOCH       0x0001U
#define U_NO_END      0x0008U
#define U_TRIP        0x0010U
#define U_PPS         0x0080U
#define U_FQ          0x0200U
#define U_STARTS_AT   0x1000U
#define U_PERIODIC    0x2000U
#define U_QUICK_ACK   0x8000U
#define F_UDP         (1U << 29)
#define U_REVERSE     0x0400U
#define U_DUPLEX      0x0800U

#define THREADS_MAX         65535
#define TIME_UNIT_NS        (10 * NSEC_PER_MSEC)
#define VERSION_U           0x00020001U /* 2.1.8, as whose form this is */
#define VERSION_L           0x00080003U
#define KEY_MIN             4
#define KEY_MAX             128
#define ACK_TYPE            2
#define UDP_PLAIN           76U /* as its length is told, from a datagram's begin; */
#define UDP_WITH_START      108U
#define UDP_START_AT        (108 - 16)
#define IPERF2_HEADER_START 80

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* ---- what a client wishes ---------------------------------------------------------- */

/* The 24 bytes that both forms begin with; false when they are none. */
static bool read_first(const uint8_t *p, struct iperf2_hello *h)
{
	int32_t amount = (int32_t)get32(p + 20);

	h->threads = get32(p + 4);
	h->len = get32(p + 12);
	h->window = get32(p + 16);
	if (h->threads < 1 || h->threads > THREADS_MAX || get32(p + 8) > UINT16_MAX)
		return false;
	h->port = (uint16_t)get32(p + 8);
	if (amount < 0)
		h->time_ns = -(int64_t)amount * TIME_UNIT_NS;
	else
		h->bytes = (uint32_t)amount;
	return true;
}

/* 2.1's next 36 bytes. */
static void read_second(const uint8_t *p, struct iperf2_hello *h)
{
	uint32_t upper = get16(p + 8);

	h->newer = true;
	h->reverse = upper & U_REVERSE;
	h->full_duplex = upper & U_DUPLEX;
	h->trip_times = upper & U_TRIP;
	h->isochronous = upper & U_ISOCH;
	h->no_end = upper & U_NO_END;
	h->quick_ack = upper & U_QUICK_ACK;
	h->periodic = upper & U_PERIODIC;
	h->version_u = get32(p + 12);
	h->version_l = get32(p + 16);
	h->tos = (uint8_t)get16(p + 22);
	h->rate_bps = get32(p + 24) | (uint64_t)get32(p + 28) >> 8 << 32;
	if (upper & U_PPS)
		h->rate_bps = 0;
}

static size_t plain(struct iperf2_hello *h)
{
	*h = (struct iperf2_hello){0};
	return 0;
}

static size_t read_old(const uint8_t *p, size_t n, uint32_t flags, struct iperf2_hello *h)
{
	if (n < IPERF2_HEADER_OLD)
		return IPERF2_HEADER_OLD - n;
	if (!read_first(p, h) || !h->port || (!h->time_ns && !h->bytes))
		return plain(h);
	h->header = true;
	h->dual = flags & F_VERSION1;
	h->now = flags & F_NOW;
	h->skip = IPERF2_HEADER_OLD;
	return 0;
}

static size_t read_key(const uint8_t *p, size_t n, uint32_t at, struct iperf2_hello *h)
{
	if (n < at)
		return at - n;
	h->key_len = get16(p + at - 2);
	if (h->key_len < KEY_MIN || h->key_len > KEY_MAX) {
		h->key_len = 0; /* no server has such a key */
		return 0;
	}
	if (n < at + h->key_len)
		return at + h->key_len - n;
	h->key = p + at;
	return 0;
}

static size_t read_newer(const uint8_t *p, size_t n, uint32_t flags, struct iperf2_hello *h)
{
	uint32_t len = (flags & F_LENGTH_MASK) >> 1;

	if (!(flags & F_LENGTH) || len < IPERF2_HEADER)
		return plain(h);
	if (n < IPERF2_HEADER)
		return IPERF2_HEADER - n;
	if (!read_first(p, h) || get32(p + 24) || get32(p + 28))
		return plain(h);
	read_second(p + 24, h);
	h->header = true;
	h->dual = flags & F_VERSION1;
	h->now = flags & F_NOW;
	h->peer_detect = flags & F_DETECT;
	return flags & F_KEY ? read_key(p, n, len, h) : 0;
}

size_t iperf2_tcp_read(const uint8_t *p, size_t n, struct iperf2_hello *h)
{
	uint32_t flags;

	*h = (struct iperf2_hello){0};
	if (n < 4)
		return 4 - n;
	flags = get32(p);
	if (flags == F_BOUNCEBACK) {
		h->header = h->bounceback = true;
		return 0;
	}
	if (flags & F_EXTEND)
		return read_newer(p, n, flags, h);
	if (!(flags & ~(F_VERSION1 | F_NOW)))
		return read_old(p, n, flags, h);
	return 0;
}

bool iperf2_udp_read(const uint8_t *p, size_t n, struct iperf2_hello *h)
{
	const uint32_t newer = F_EXTEND | F_WIDE;

	*h = (struct iperf2_hello){0};
	if (n < NET_UDP_LEN_MIN || get32(p) > INT32_MAX)
		return false;
	if (n >= 40 && (get32(p + 16) & newer) == newer && !get32(p + 12)) {
		h->wide = true;
		h->header = read_first(p + 16, h);
		if (n >= 76)
			read_second(p + 40, h);
	} else if (n >= 12 + IPERF2_HEADER_OLD) {
		h->header = read_first(p + 12, h) && h->port;
		h->dual = h->header && get32(p + 12) & F_VERSION1;
		if (h->header)
			h->rate_bps = h->window;
	}
	h->from_zero = !h->wide || !get32(p);
	return true;
}

static void put_first(uint8_t *p, const struct iperf2_hello *h)
{
	put32(p + 4, h->threads);
	put32(p + 8, h->port);
	put32(p + 12, h->len);
	put32(p + 16, h->window);
	put32(p + 20, h->time_ns ? (uint32_t) - (h->time_ns / TIME_UNIT_NS)
				 : (uint32_t)(h->bytes & INT32_MAX));
}

static uint32_t upper_of(const struct iperf2_hello *h)
{
	return (h->reverse ? U_REVERSE : 0U) | (h->full_duplex ? U_DUPLEX : 0U) |
	       (h->trip_times ? U_TRIP : 0U) | (h->isochronous ? U_ISOCH : 0U) |
	       (h->no_end ? U_NO_END : 0U) | (h->quick_ack ? U_QUICK_ACK : 0U) |
	       (h->periodic ? U_PERIODIC : 0U) | (h->starts_at ? U_STARTS_AT : 0U) |
	       (h->fq_rate_bps ? U_FQ : 0U);
}

static void put_second(uint8_t *p, const struct iperf2_hello *h)
{
	put32(p + 8, upper_of(h) << 16);
	put32(p + 12, VERSION_U);
	put32(p + 16, VERSION_L);
	put32(p + 20, h->tos);
	put32(p + 24, (uint32_t)h->rate_bps);
	put32(p + 28, (uint32_t)(h->rate_bps >> 32) << 8);
}

/* Its time, and the pacing that the kernel does, in bytes. */
static void put_start(uint8_t *p, const struct iperf2_hello *h)
{
	put32(p + 4, (uint32_t)(h->start_real_ns / NSEC_PER_SEC));
	put32(p + 8, (uint32_t)(h->start_real_ns % NSEC_PER_SEC / NSEC_PER_USEC));
	put32(p + 12, (uint32_t)(h->fq_rate_bps / 8));
	put32(p + 16, (uint32_t)(h->fq_rate_bps / 8 >> 32));
}

static void put_micro(uint8_t *p, double v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)((v - (uint32_t)v) * 1e6));
}

static bool has_start(const struct iperf2_hello *h)
{
	return h->trip_times || h->isochronous || h->starts_at || h->fq_rate_bps || h->periodic;
}

static uint32_t put_newer(uint8_t *p, const struct iperf2_hello *h, size_t *len)
{
	uint32_t flags = F_EXTEND | (h->reverse || h->full_duplex ? F_VERSION2 : 0U);

	put_second(p + IPERF2_HEADER_OLD, h);
	if (has_start(h)) {
		put_start(p + IPERF2_HEADER, h);
		*len = IPERF2_HEADER_START;
	}
	if (h->periodic) {
		put_micro(p + IPERF2_HEADER_START, h->bursts_hz);
		put32(p + IPERF2_HEADER_START + 8, (uint32_t)h->burst_bytes);
		*len = IPERF2_HEADER_START + 12;
	}
	if (h->key_len) {
		flags |= F_KEY;
		p[*len + 1] = (uint8_t)h->key_len;
		*len += 2;
	}
	flags |= F_LENGTH | (uint32_t)*len << 1;
	if (h->key_len)
		memcpy(p + *len, h->key, h->key_len);
	*len += h->key_len;
	return flags;
}

size_t iperf2_tcp_put(const struct iperf2_hello *h, uint8_t dst[IPERF2_FIRST_MAX])
{
	uint32_t flags = h->dual ? F_VERSION1 | (h->now ? F_NOW : 0U) : 0U;
	size_t len = h->newer ? IPERF2_HEADER : IPERF2_HEADER_OLD;

	memset(dst, 0, IPERF2_FIRST_MAX);
	put_first(dst, h);
	if (h->newer)
		flags |= put_newer(dst, h, &len);
	put32(dst, flags);
	return len;
}

size_t iperf2_udp_put(const struct iperf2_hello *h, uint8_t dst[IPERF2_UDP_HEADER])
{
	uint32_t len = has_start(h) ? UDP_WITH_START : UDP_PLAIN;

	memset(dst, 0, IPERF2_UDP_HEADER);
	put_first(dst, h);
	put_second(dst + IPERF2_HEADER_OLD, h);
	if (has_start(h))
		put_start(dst + UDP_START_AT, h);
	put32(dst, F_EXTEND | F_WIDE | F_LENGTH | len << 1 |
			   (h->reverse || h->full_duplex ? F_VERSION2 : 0U) |
			   (upper_of(h) ? F_UDP : 0U));
	return IPERF2_UDP_HEADER;
}

/* ---- what a server says --------------------------------------------------------------- */

static void put_seconds(uint8_t *p, double s)
{
	int64_t us = s > 0 ? (int64_t)(s * 1e6 + 0.5) : 0;

	put32(p, (uint32_t)(us / 1000000));
	put32(p + 4, (uint32_t)(us % 1000000));
}

/* Min, max, sum, mean; the sum of squares in us, twice; counts. */
static void put_ways(uint8_t *p, const struct iperf2_report *r)
{
	double m2 = r->stdev * r->stdev * (r->n > 1 ? r->n - 1 : 0) * 1e12;

	put_seconds(p, r->min);
	put_seconds(p + 8, r->max);
	put_seconds(p + 16, r->mean * r->n);
	put_seconds(p + 24, r->mean);
	put_seconds(p + 32, m2);
	put_seconds(p + 40, m2);
	put32(p + 48, (uint32_t)r->n);
	put32(p + 52, (uint32_t)r->pps);
	put32(p + 56, 1);
}

static double get_seconds(const uint8_t *p)
{
	return (double)get32(p) + (double)get32(p + 4) * 1e-6;
}

size_t iperf2_report_put(const struct iperf2_report *r, bool newer, uint64_t number, size_t most,
			 uint8_t dst[IPERF2_REPORT_MAX])
{
	size_t at = newer ? 16 : 12, len = newer ? IPERF2_REPORT_MAX : 52;
	uint8_t *p = dst + at;

	memset(dst, 0, IPERF2_REPORT_MAX);
	if (!newer)
		put32(dst, (uint32_t)0 - (uint32_t)number);
	put32(p, F_VERSION1 | (newer ? F_WIDE : 0U));
	put32(p + 4, (uint32_t)(r->bytes >> 32));
	put32(p + 8, (uint32_t)r->bytes);
	put_seconds(p + 12, r->seconds);
	put32(p + 20, (uint32_t)r->lost);
	put32(p + 24, (uint32_t)r->reordered);
	put32(p + 28, (uint32_t)r->datagrams);
	put_seconds(p + 32, r->jitter);
	if (newer && r->timed) {
		put32(p, F_VERSION1 | F_WIDE | F_EXTEND);
		put_ways(p + 40, r);
	}
	if (newer) {
		put32(p + 100, (uint32_t)(r->lost >> 32));
		put32(p + 104, (uint32_t)(r->reordered >> 32));
		put32(p + 108, (uint32_t)(r->datagrams >> 32));
	}
	return len < most ? len : most;
}

/* Of a peer: what is no time is none. */
static void get_ways(const uint8_t *p, struct iperf2_report *r)
{
	r->min = get_seconds(p);
	r->max = get_seconds(p + 8);
	r->mean = get_seconds(p + 24);
	r->n = get32(p + 48);
	r->pps = get32(p + 52);
	r->stdev = r->n > 1 ? sqrt(get_seconds(p + 32) * 1e-12 / (r->n - 1)) : 0;
	r->timed = r->n > 0;
}

bool iperf2_report_get(const uint8_t *p, size_t n, struct iperf2_report *r)
{
	size_t at = n >= 52 && get32(p + 12) & F_VERSION1 ? 12 : 16;

	*r = (struct iperf2_report){0};
	if (n < at + 40 || !(get32(p + at) & F_VERSION1))
		return false;
	n -= at;
	p += at;
	r->bytes = (uint64_t)get32(p + 4) << 32 | get32(p + 8);
	r->seconds = get_seconds(p + 12);
	r->lost = get32(p + 20);
	r->reordered = get32(p + 24);
	r->datagrams = get32(p + 28);
	r->jitter = get_seconds(p + 32);
	if (get32(p) & F_EXTEND && n >= 100)
		get_ways(p + 40, r);
	if (get32(p) & F_WIDE && n >= 112) {
		r->lost |= (uint64_t)get32(p + 100) << 32;
		r->reordered |= (uint64_t)get32(p + 104) << 32;
		r->datagrams |= (uint64_t)get32(p + 108) << 32;
	}
	return true;
}

void iperf2_version(uint32_t u, uint32_t l, char *dst, size_t cap)
{
	if (u || l)
		snprintf(dst, cap, "%u.%u.%u", u >> 16, u & 0xffff, l >> 16);
	else
		snprintf(dst, cap, "%s", "");
}

size_t iperf2_ack_put(uint8_t dst[IPERF2_ACK])
{
	memset(dst, 0, IPERF2_ACK);
	put32(dst, ACK_TYPE);
	put32(dst + 4, IPERF2_ACK);
	put32(dst + 12, VERSION_U);
	put32(dst + 16, VERSION_L);
	return IPERF2_ACK;
}

bool iperf2_ack_get(const uint8_t *p, size_t n, char *version, size_t cap)
{
	if (n < IPERF2_ACK || get32(p) != ACK_TYPE || get32(p + 4) < IPERF2_ACK)
		return false;
	iperf2_version(get32(p + 12), get32(p + 16), version, cap);
	return true;
}
