/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our struct net_tcp_info against the kernel's own header, field by field. This file includes
 * linux/tcp.h and therefore not netinet/tcp.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <unistd.h>

#include "net/net.h"

#define SAME(ours, theirs)                                                                     \
	{                                                                                      \
#ours, offsetof(struct net_tcp_info, ours), offsetof(struct tcp_info, theirs), \
			sizeof(((struct net_tcp_info *)0)->ours),                              \
			sizeof(((struct tcp_info *)0)->theirs)                                 \
	}

static const struct {
	const char *name;
	size_t our_offset, their_offset, our_size, their_size;
} fields[] = {
	SAME(state, tcpi_state),
	SAME(ca_state, tcpi_ca_state),
	SAME(retransmits, tcpi_retransmits),
	SAME(probes, tcpi_probes),
	SAME(backoff, tcpi_backoff),
	SAME(options, tcpi_options),
	SAME(rto, tcpi_rto),
	SAME(ato, tcpi_ato),
	SAME(snd_mss, tcpi_snd_mss),
	SAME(rcv_mss, tcpi_rcv_mss),
	SAME(unacked, tcpi_unacked),
	SAME(sacked, tcpi_sacked),
	SAME(lost, tcpi_lost),
	SAME(retrans, tcpi_retrans),
	SAME(fackets, tcpi_fackets),
	SAME(last_data_sent, tcpi_last_data_sent),
	SAME(last_ack_sent, tcpi_last_ack_sent),
	SAME(last_data_recv, tcpi_last_data_recv),
	SAME(last_ack_recv, tcpi_last_ack_recv),
	SAME(pmtu, tcpi_pmtu),
	SAME(rcv_ssthresh, tcpi_rcv_ssthresh),
	SAME(rtt_us, tcpi_rtt),
	SAME(rttvar_us, tcpi_rttvar),
	SAME(snd_ssthresh, tcpi_snd_ssthresh),
	SAME(snd_cwnd, tcpi_snd_cwnd),
	SAME(advmss, tcpi_advmss),
	SAME(reordering, tcpi_reordering),
	SAME(rcv_rtt_us, tcpi_rcv_rtt),
	SAME(rcv_space, tcpi_rcv_space),
	SAME(total_retrans, tcpi_total_retrans),
	SAME(pacing_rate, tcpi_pacing_rate),
	SAME(max_pacing_rate, tcpi_max_pacing_rate),
	SAME(bytes_acked, tcpi_bytes_acked),
	SAME(bytes_received, tcpi_bytes_received),
	SAME(segs_out, tcpi_segs_out),
	SAME(segs_in, tcpi_segs_in),
	SAME(notsent_bytes, tcpi_notsent_bytes),
	SAME(min_rtt_us, tcpi_min_rtt),
	SAME(data_segs_in, tcpi_data_segs_in),
	SAME(data_segs_out, tcpi_data_segs_out),
	SAME(delivery_rate, tcpi_delivery_rate),
	SAME(busy_time_us, tcpi_busy_time),
	SAME(rwnd_limited_us, tcpi_rwnd_limited),
	SAME(sndbuf_limited_us, tcpi_sndbuf_limited),
	SAME(delivered, tcpi_delivered),
	SAME(delivered_ce, tcpi_delivered_ce),
	SAME(bytes_sent, tcpi_bytes_sent),
	SAME(bytes_retrans, tcpi_bytes_retrans),
	SAME(dsack_dups, tcpi_dsack_dups),
	SAME(reord_seen, tcpi_reord_seen),
	SAME(rcv_ooopack, tcpi_rcv_ooopack),
	SAME(snd_wnd, tcpi_snd_wnd),
};

static void has_the_kernels_layout(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (fields[i].our_offset != fields[i].their_offset ||
		    fields[i].our_size != fields[i].their_size)
			fail_msg("%s: %zu+%zu here, %zu+%zu there", fields[i].name,
				 fields[i].our_offset, fields[i].our_size, fields[i].their_offset,
				 fields[i].their_size);
	/* Newer than the header at hand; from the kernel's own order of fields. */
	assert_int_equal(offsetof(struct net_tcp_info, rcv_wnd), 232);
	assert_int_equal(offsetof(struct net_tcp_info, rehash), 236);
	assert_int_equal(offsetof(struct net_tcp_info, total_rto), 240);
	assert_int_equal(offsetof(struct net_tcp_info, total_rto_recoveries), 242);
	assert_int_equal(offsetof(struct net_tcp_info, total_rto_time), 244);
	assert_int_equal(sizeof(struct net_tcp_info), 248);
}

static void connected_pair(int pair[2])
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	int listener = net_listen_tcp(&o, 0, 1, NULL);
	struct net_addr to = {.len = sizeof(to.ss)};

	assert_true(listener >= 0);
	assert_int_equal(getsockname(listener, &to.sa, &to.len), 0);
	pair[0] = net_connect_tcp(&to, NULL, NULL, NSEC_PER_SEC, NULL);
	assert_true(pair[0] >= 0);
	assert_int_equal(net_wait_readable(listener, clk_mono_ns() + NSEC_PER_SEC, -1), 0);
	pair[1] = accept(listener, NULL, NULL);
	assert_true(pair[1] >= 0);
	close(listener);
}

static void reads_a_live_connection(void **state)
{
	struct net_tcp_info tx, rx;
	char data[1000] = {0};
	int pair[2], len;

	(void)state;
	connected_pair(pair);
	assert_int_equal(net_write_full(pair[0], data, sizeof(data), INT64_MAX, -1), 0);
	assert_int_equal(net_read_full(pair[1], data, sizeof(data), INT64_MAX, -1), 0);
	len = net_tcp_info_get(pair[0], &tx);
	assert_true(NET_HAS((size_t)len, bytes_received));
	assert_true(net_tcp_info_get(pair[1], &rx) == len);
	assert_int_equal(tx.state, 1); /* ESTABLISHED */
	assert_int_equal(rx.bytes_received, sizeof(data));
	if (NET_HAS((size_t)len, bytes_sent))
		assert_int_equal(tx.bytes_sent, sizeof(data));
	assert_in_range(tx.snd_mss, 88, 65535);
	close(pair[0]);
	close(pair[1]);
}

static void knows_nothing_of_other_sockets(void **state)
{
	struct net_tcp_info i = {.rto = 5};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	assert_true(net_tcp_info_get(fd, &i) < 0);
	assert_int_equal(i.rto, 0);
	assert_int_equal(net_tcp_info_get(-1, &i), -EBADF);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_kernels_layout),
		cmocka_unit_test(reads_a_live_connection),
		cmocka_unit_test(knows_nothing_of_other_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
