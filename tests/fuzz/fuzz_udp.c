/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams as strangers send them: each is read as a hello and by a receiving flow, whose counts
 * must add up whatever came. The first byte chooses the flow; then each datagram has a byte that
 * says how long it is.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "net/priv.h"
#include "proto/proto.h"

#define DATAGRAMS_MAX 64

struct receiver {
	struct net_engine *en;
	struct net_flow f;
	struct net_udp_io *io;
	int from;
	uint64_t sent; /* datagrams that are not empty */
};

#define HELD_MAX 16 /* leaps that may wait for their like */

static void open_receiver(struct receiver *r, uint8_t kind)
{
	struct net_flow *const flows[] = {&r->f};
	struct net_engine_cfg cfg = {0};
	int pair[2];

	memset(r, 0, sizeof(*r));
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	FUZZ_CHECK(net_engine_new(&cfg, &r->en, NULL) == 0);
	r->from = pair[1];
	r->f.fd = pair[0];
	r->f.spec = (struct flow_spec){.transport = NET_UDP,
				       .len = kind & 1 ? 16 : 200,
				       .counters_64bit = kind & 2,
				       .rx_trunc = kind & 4,
				       .no_offload = true, /* GRO is for real sockets */
				       .rate_bps = kind & 16 ? 1000000 : 0};
	FUZZ_CHECK(net_udp_new(&r->f) == 0);
	FUZZ_CHECK(net_udp_io_new(flows, 1, &r->io) == 0);
	FUZZ_CHECK(net_udp_rx_prepare(&r->f) == 0);
}

static void close_receiver(struct receiver *r)
{
	net_udp_free(&r->f);
	net_udp_io_free(r->io);
	net_engine_free(r->en);
	close(r->f.fd);
	close(r->from);
}

/* Is it a hello to both who may meet it? */
static bool hello(const uint8_t *p, size_t n)
{
	struct proto_hello h;

	if (!proto_hello_read(p, n, &h))
		return false;
	FUZZ_CHECK(n == 4 || (n == PROTO_HELLO_MAX && h.token == p + 4));
	FUZZ_CHECK(sizeof(h.answer) <= n); /* nothing grows on its way back */
	return true;
}

static void one(struct receiver *r, const uint8_t *p, size_t n)
{
	struct net_flow_sample a = {0}, b = {0};
	bool is_hello = hello(p, n);
	uint64_t counted;

	net_udp_counters(&r->f, &a);
	FUZZ_CHECK(send(r->from, p, n, 0) == (ssize_t)n);
	FUZZ_CHECK(net_udp_recv_some(r->en, &r->f) == NET_STEP_BLOCKED);
	net_udp_counters(&r->f, &b);
	FUZZ_CHECK(!is_hello || b.udp.hellos == a.udp.hellos + 1);
	FUZZ_CHECK(b.udp.hellos == a.udp.hellos ||
		   (b.udp.hello_len == n && !memcmp(b.udp.hello, p, n)));
	r->sent += n > 0;
	counted = b.udp.received + b.udp.foreign + b.udp.hellos;
	FUZZ_CHECK(counted <= r->sent && counted + HELD_MAX >= r->sent);
	FUZZ_CHECK(b.udp.lost + b.udp.received - b.udp.duplicates - b.udp.late == b.udp.highest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p = data + 1, *end = data + size;
	struct receiver r;

	if (size < 1)
		return 0;
	open_receiver(&r, data[0]);
	for (int i = 0; i < DATAGRAMS_MAX && p < end; i++) {
		size_t n = *p++;

		n = n < (size_t)(end - p) ? n : (size_t)(end - p);
		one(&r, p, n);
		p += n;
	}
	close_receiver(&r);
	return 0;
}
