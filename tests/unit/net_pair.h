/* SPDX-License-Identifier: BSD-2-Clause */
/* Two engines joined over loopback: what the engine's tests have in common. */
#ifndef NET_PAIR_H
#define NET_PAIR_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/net.h"

struct pair {
	struct net_engine *tx, *rx;
	size_t n;
};

static inline int64_t later(void)
{
	return clk_mono_ns() + 30 * NSEC_PER_SEC;
}

static inline int pair_listener(struct net_addr *at)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	int fd = net_listen_tcp(&o, 0, 128, NULL);

	assert_true(fd >= 0);
	at->len = sizeof(at->ss);
	assert_int_equal(getsockname(fd, &at->sa, &at->len), 0);
	return fd;
}

/* One connection; both ends with the flow's options. */
static inline void pair_connect(int listener, const struct net_addr *at,
				const struct flow_spec *spec, int fds[2])
{
	fds[0] = net_connect_tcp(at, NULL, spec, 10 * NSEC_PER_SEC, NULL);
	assert_true(fds[0] >= 0);
	assert_int_equal(net_wait_readable(listener, later(), -1), 0);
	fds[1] = accept(listener, NULL, NULL);
	assert_true(fds[1] >= 0);
	assert_int_equal(net_tcp_apply(fds[1], spec, NULL), 0);
}

/* Engines with flows, not prepared. */
static inline void pair_open_both(struct pair *p, const struct net_engine_cfg *tx,
				  const struct net_engine_cfg *rx, const struct flow_spec *specs,
				  size_t n_specs, size_t n)
{
	struct net_addr at;
	int listener = pair_listener(&at);

	p->n = n;
	assert_int_equal(net_engine_new(tx, &p->tx, NULL), 0);
	assert_int_equal(net_engine_new(rx, &p->rx, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		const struct flow_spec *spec = &specs[i % n_specs];
		int fds[2];

		pair_connect(listener, &at, spec, fds);
		assert_int_equal(net_engine_add(p->tx, fds[0], spec, true, NULL), (int)i);
		assert_int_equal(net_engine_add(p->rx, fds[1], spec, false, NULL), (int)i);
	}
	close(listener);
}

static inline void pair_open(struct pair *p, const struct net_engine_cfg *tx,
			     const struct flow_spec *specs, size_t n_specs, size_t n)
{
	struct net_engine_cfg rx = {.workers = tx->workers};

	pair_open_both(p, tx, &rx, specs, n_specs, n);
}

static inline void pair_go(struct pair *p)
{
	assert_int_equal(net_engine_prepare(p->tx, NULL), 0);
	assert_int_equal(net_engine_prepare(p->rx, NULL), 0);
	net_engine_go(p->rx);
	net_engine_go(p->tx);
}

static inline void pair_await_done(const struct net_engine *en)
{
	assert_int_equal(net_wait_readable(net_engine_done_fd(en), later(), -1), 0);
}

/* The orderly end: senders, the stream's end, the drain, both engines. */
static inline void pair_finish(struct pair *p)
{
	net_engine_finish_senders(p->tx);
	net_engine_drain(p->rx, NULL, later());
	net_engine_stop(p->rx);
	net_engine_stop(p->tx);
}

static inline void pair_free(struct pair *p)
{
	net_engine_free(p->tx);
	net_engine_free(p->rx);
}

static inline uint64_t pair_bytes(const struct net_engine *en)
{
	struct net_flow_sample s;
	uint64_t sum = 0;

	for (size_t i = 0; i < net_engine_flows(en); i++) {
		net_engine_sample(en, i, &s);
		sum += s.bytes;
	}
	return sum;
}

#endif
