/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's first bytes, first datagrams and reports as strangers send them, and what a receiving
 * flow makes of any numbers: what is asked for is bounded, what was read can be written, counts add
 * up. Each datagram of a flow is 16 bytes of the input.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "proto/proto.h"

static void first_bytes(const uint8_t *p, size_t n)
{
	uint8_t again[IPERF2_FIRST_MAX];
	struct iperf2_hello h, same;
	size_t more = iperf2_tcp_read(p, n, &h);

	FUZZ_CHECK(n + more <= IPERF2_FIRST_MAX || !more);
	if (more || !h.header || h.bounceback || !h.newer)
		return;
	FUZZ_CHECK(h.key_len <= 128 && (!h.key || h.key + h.key_len <= p + n));
	FUZZ_CHECK(iperf2_tcp_read(again, iperf2_tcp_put(&h, again), &same) == 0);
	FUZZ_CHECK(same.time_ns == h.time_ns && same.threads == h.threads);
	FUZZ_CHECK(same.reverse == h.reverse && same.key_len == h.key_len);
}

static void words(const uint8_t *p, size_t n)
{
	uint8_t out[IPERF2_REPORT_MAX];
	struct iperf2_report r;
	struct iperf2_hello h;
	char version[32];

	iperf2_udp_read(p, n, &h);
	iperf2_ack_get(p, n, version, sizeof(version));
	if (iperf2_report_get(p, n, &r))
		FUZZ_CHECK(iperf2_report_put(&r, true, 1, n, out) <= n);
}

static void flow(const uint8_t *p, size_t n, bool wide, bool from_zero)
{
	const struct flow_spec spec = {.transport = NET_UDP,
				       .len = 16,
				       .counters_64bit = wide,
				       .udp_form = NET_UDP_IPERF2,
				       .udp_from_zero = from_zero};
	struct net_flow_sample s;
	struct net_engine *en;
	int pair[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	close(pair[1]);
	FUZZ_CHECK(net_engine_new(&(struct net_engine_cfg){0}, &en, NULL) == 0);
	FUZZ_CHECK(net_engine_add(en, pair[0], &spec, false, NULL) == 0);
	for (size_t i = 0; i + 16 <= n; i += 16)
		net_engine_udp_preload(en, 0, p + i, 16, clk_mono_ns());
	net_engine_stop(en);
	net_engine_sample(en, 0, &s);
	if (s.udp.fin)
		net_engine_udp_final(en, 0, s.udp.fin);
	net_engine_sample(en, 0, &s);
	FUZZ_CHECK(s.udp.received <= n / 16 && s.bytes <= n);
	FUZZ_CHECK(s.udp.lost <= s.udp.highest);
	FUZZ_CHECK(s.udp.received - s.udp.duplicates - s.udp.late <= s.udp.highest);
	net_engine_free(en);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	first_bytes(data + 1, size - 1);
	words(data + 1, size - 1);
	flow(data + 1, size - 1, data[0] & 1, data[0] & 2);
	return 0;
}
