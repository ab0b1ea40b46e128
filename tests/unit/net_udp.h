/* SPDX-License-Identifier: BSD-2-Clause */
/* Two engines joined by UDP over loopback, as a server's front joins them: a hello, a socket of
 * its own for the flow. */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "net_pair.h"

struct upair {
	struct net_engine *tx, *rx;
	size_t n;
};

/* fds[0] is the client's, fds[1] the server's. */
static inline void upair_connect(const struct flow_spec *spec, int fds[2])
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	struct net_addr at = {.len = sizeof(at.ss)};
	struct net_dgram d;
	char hello[8];
	int listener = net_listen_udp(&o, 0, NULL);

	assert_true(listener >= 0);
	assert_int_equal(getsockname(listener, &at.sa, &at.len), 0);
	fds[0] = net_connect_udp(&at, NULL, spec, NULL);
	assert_true(fds[0] >= 0);
	assert_int_equal(send(fds[0], "9876", 4, 0), 4);
	assert_int_equal(net_wait_readable(listener, later(), -1), 0);
	assert_int_equal(net_udp_recv(listener, hello, sizeof(hello), &d), 4);
	fds[1] = net_pair_udp(&d.to, &d.from, NULL, spec, NULL);
	assert_true(fds[1] >= 0);
	close(listener);
}

static inline void upair_open(struct upair *p, const struct net_engine_cfg *tx,
			      const struct flow_spec *spec, size_t n)
{
	struct net_engine_cfg rx = {.workers = tx->workers};

	p->n = n;
	assert_int_equal(net_engine_new(tx, &p->tx, NULL), 0);
	assert_int_equal(net_engine_new(&rx, &p->rx, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		int fds[2];

		upair_connect(spec, fds);
		assert_int_equal(net_engine_add(p->tx, fds[0], spec, true, NULL), (int)i);
		assert_int_equal(net_engine_add(p->rx, fds[1], spec, false, NULL), (int)i);
	}
}

static inline void upair_go(struct upair *p)
{
	assert_int_equal(net_engine_prepare(p->tx, NULL), 0);
	assert_int_equal(net_engine_prepare(p->rx, NULL), 0);
	net_engine_go(p->rx);
	net_engine_go(p->tx);
}

static inline struct net_flow_sample upair_sample(const struct net_engine *en, size_t i)
{
	struct net_flow_sample s;

	net_engine_sample(en, i, &s);
	return s;
}

static inline void upair_finish(struct upair *p)
{
	uint64_t *want = calloc(p->n, sizeof(*want));

	assert_non_null(want);
	net_engine_finish_senders(p->tx);
	for (size_t i = 0; i < p->n; i++)
		want[i] = upair_sample(p->tx, i).bytes;
	net_engine_drain(p->rx, want, later());
	free(want);
	net_engine_stop(p->rx);
	net_engine_stop(p->tx);
}

/* Until the limit is reached. */
static inline void upair_finish_limit(struct upair *p)
{
	pair_await_done(p->tx);
	upair_finish(p);
}

static inline void upair_free(struct upair *p)
{
	net_engine_free(p->tx);
	net_engine_free(p->rx);
}

#endif
