/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine: exact limits, every way to send, orderly ends, peers that vanish, few and many. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <poll.h>
#include <sys/resource.h>

#include "net_pair.h"

static const struct flow_spec plain = {.transport = NET_TCP};

/* Runs to the limit and ends; every byte that was sent has arrived. */
static uint64_t run_to_limit(const struct net_engine_cfg *cfg, const struct flow_spec *specs,
			     size_t n_specs, size_t n)
{
	struct pair p;
	uint64_t sent;

	pair_open(&p, cfg, specs, n_specs, n);
	pair_go(&p);
	pair_await_done(p.tx);
	pair_finish(&p);
	sent = pair_bytes(p.tx);
	assert_int_equal(pair_bytes(p.rx), sent);
	for (size_t i = 0; i < n; i++) {
		struct net_flow_sample s;

		net_engine_sample(p.rx, i, &s);
		assert_int_equal(s.state, NET_FLOW_EOF);
		net_engine_sample(p.tx, i, &s);
		assert_int_equal(s.state, NET_FLOW_OPEN);
		assert_true(s.info_len > 0);
	}
	pair_free(&p);
	return sent;
}

static void sends_exactly_the_bytes(void **state)
{
	static const uint64_t sizes[] = {1, 1448, 131072, 262145, 50000001};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (unsigned workers = 1; workers <= 3; workers++) {
			struct net_engine_cfg cfg = {.workers = workers, .limit_bytes = sizes[i]};

			assert_int_equal(run_to_limit(&cfg, &plain, 1, 1), sizes[i]);
			assert_int_equal(run_to_limit(&cfg, &plain, 1, 5), sizes[i]);
		}
	}
}

static void sends_exactly_the_blocks(void **state)
{
	struct flow_spec spec = {.len = 1000};

	(void)state;
	for (size_t flows = 1; flows <= 7; flows += 3) {
		struct net_engine_cfg cfg = {.workers = 2, .limit_blocks = 777};

		assert_int_equal(run_to_limit(&cfg, &spec, 1, flows), 777000);
		assert_int_equal(run_to_limit(&cfg, &plain, 1, flows), 777ULL * (128 << 10));
	}
}

/* Without a limit at first; then that much more, and what was under way. */
static void counts_from_later_on(void **state)
{
	(void)state;
	for (size_t flows = 1; flows <= 5; flows += 4) {
		struct net_engine_cfg cfg = {
			.workers = 2, .limit_bytes = 100000, .limit_later = true};
		struct pollfd done = {.events = POLLIN};
		uint64_t before, after;
		struct pair p;

		pair_open(&p, &cfg, &plain, 1, flows);
		done.fd = net_engine_done_fd(p.tx);
		pair_go(&p);
		while ((before = pair_bytes(p.rx)) < 50 * cfg.limit_bytes)
			assert_int_equal(poll(&done, 1, 0), 0);
		before = pair_bytes(p.tx);
		net_engine_limit(p.tx);
		pair_await_done(p.tx);
		pair_finish(&p);
		after = pair_bytes(p.tx);
		assert_true(after >= before + cfg.limit_bytes);
		assert_int_equal(pair_bytes(p.rx), after);
		pair_free(&p);
	}
}

static void sends_every_way(void **state)
{
	static const struct flow_spec specs[] = {
		{.tx = NET_TX_WRITE},
		{.tx = NET_TX_SENDFILE},
		{.tx = NET_TX_ZEROCOPY},
		{.rx_trunc = true},
		{.len = 100},
		{.len = 3 << 20},
		{.len = 3 << 20, .tx = NET_TX_SENDFILE},
		{.nodelay = true, .len = 1},
		{.window = 4096},
		{.window = 65536, .tx = NET_TX_ZEROCOPY},
	};
	struct net_engine_cfg cfg = {.workers = 2, .limit_bytes = 3000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		/* Small pieces are slow. */
		cfg.limit_bytes = specs[i].len == 1 || specs[i].window == 4096 ? 20000 : 3000000;
		assert_int_equal(run_to_limit(&cfg, &specs[i], 1, 1), cfg.limit_bytes);
		assert_int_equal(run_to_limit(&cfg, &specs[i], 1, 4), cfg.limit_bytes);
	}
	cfg.limit_bytes = 20000000;
	assert_int_equal(run_to_limit(&cfg, specs, 4, 8), cfg.limit_bytes);
}

/* At full speed the low-water mark is on; a small window must not stall below it. */
static void never_stalls_on_a_small_window(void **state)
{
	static const struct flow_spec specs[] = {
		{.window = 32768}, {.window = 131072}, {.window = 524288}, {0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct net_engine_cfg cfg = {.workers = 1, .limit_bytes = 300000000};

		assert_int_equal(run_to_limit(&cfg, &specs[i], 1, 1), cfg.limit_bytes);
	}
}

static void counts_zerocopy_completions(void **state)
{
	struct flow_spec spec = {.tx = NET_TX_ZEROCOPY, .len = 65536};
	struct net_engine_cfg cfg = {.workers = 1, .limit_bytes = 64 << 20};

	(void)state;
	for (size_t flows = 1; flows <= 2; flows++) {
		uint64_t sent = 0;
		struct pair p;

		pair_open(&p, &cfg, &spec, 1, flows);
		pair_go(&p);
		pair_await_done(p.tx);
		net_engine_finish_senders(p.tx);
		net_engine_drain(p.rx, NULL, later());
		for (size_t i = 0; i < flows; i++) {
			struct net_flow_sample s;

			do /* the last acknowledgements are on their way */
				net_engine_sample(p.tx, i, &s);
			while (s.zc_done < s.zc_sent && clk_mono_ns() < later());
			assert_int_equal(s.zc_done, s.zc_sent);
			assert_true(s.zc_copied <= s.zc_done);
			assert_true(s.zc_sent <= s.calls);
			sent += s.zc_sent;
		}
		pair_finish(&p);
		pair_free(&p);
		if (sent == 0)
			skip(); /* a kernel without SO_ZEROCOPY */
	}
}

static void a_receiver_ends_by_what_arrives(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2}, rx = {.workers = 2, .limit_bytes = 5000000};
	struct pair p;

	(void)state;
	pair_open_both(&p, &cfg, &rx, &plain, 1, 3);
	pair_go(&p);
	pair_await_done(p.rx);
	assert_true(pair_bytes(p.rx) >= rx.limit_bytes);
	pair_finish(&p);
	assert_int_equal(pair_bytes(p.rx), pair_bytes(p.tx));
	pair_free(&p);
}

/* One engine that sends and receives, as a bidirectional test does. */
static void carries_both_directions(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct net_engine_cfg cfg = {.workers = workers, .limit_bytes = 4000000};
		struct net_engine *en[2];
		struct net_addr at;
		int listener = pair_listener(&at), fds[2];
		struct net_flow_sample near, far;

		for (int i = 0; i < 2; i++)
			assert_int_equal(net_engine_new(&cfg, &en[i], NULL), 0);
		for (int dir = 0; dir < 2; dir++) {
			pair_connect(listener, &at, &plain, fds);
			net_engine_add(en[0], fds[0], &plain, dir == 0, NULL);
			net_engine_add(en[1], fds[1], &plain, dir == 1, NULL);
		}
		close(listener);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(net_engine_prepare(en[i], NULL), 0);
			net_engine_go(en[i]);
		}
		for (int i = 0; i < 2; i++) {
			pair_await_done(en[i]);
			net_engine_finish_senders(en[i]);
		}
		for (int i = 0; i < 2; i++)
			net_engine_drain(en[i], NULL, later());
		for (size_t dir = 0; dir < 2; dir++) {
			net_engine_sample(en[0], dir, &near);
			net_engine_sample(en[1], dir, &far);
			assert_int_equal(near.bytes, cfg.limit_bytes);
			assert_int_equal(far.bytes, cfg.limit_bytes);
		}
		net_engine_free(en[0]);
		net_engine_free(en[1]);
	}
}

/* ---- ends --------------------------------------------------------------------- */

static void sees_a_peer_that_resets(void **state)
{
	struct linger hard = {1, 0};

	(void)state;
	for (size_t flows = 1; flows <= 2; flows++) {
		struct net_engine_cfg cfg = {.workers = 1};
		struct flow_spec spec = {.tx = NET_TX_SENDFILE}; /* whose SIGPIPE must not kill */
		struct net_flow_sample s;
		struct net_engine *en;
		struct net_addr at;
		int listener = pair_listener(&at), fds[2], peers[2];

		assert_int_equal(net_engine_new(&cfg, &en, NULL), 0);
		for (size_t i = 0; i < flows; i++) {
			pair_connect(listener, &at, &spec, fds);
			peers[i] = fds[1];
			net_engine_add(en, fds[0], &spec, true, NULL);
		}
		assert_int_equal(net_engine_prepare(en, NULL), 0);
		net_engine_go(en);
		for (size_t i = 0; i < flows; i++) {
			setsockopt(peers[i], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
			close(peers[i]);
		}
		pair_await_done(en);
		for (size_t i = 0; i < flows; i++) {
			net_engine_sample(en, i, &s);
			assert_int_equal(s.state, NET_FLOW_ERROR);
			assert_true(s.error == ECONNRESET || s.error == EPIPE);
		}
		net_engine_stop_senders(en);
		net_engine_free(en);
		close(listener);
	}
}

/* A peer that never reads: the senders still stop within their slice. */
static void stops_senders_that_are_stuck(void **state)
{
	(void)state;
	for (size_t flows = 1; flows <= 2; flows++) {
		struct net_engine_cfg cfg = {.workers = 1};
		struct flow_spec spec = {.window = 8192};
		struct net_flow_sample s;
		int64_t start;
		struct pair p;

		pair_open(&p, &cfg, &spec, 1, flows);
		assert_int_equal(net_engine_prepare(p.tx, NULL), 0);
		net_engine_go(p.tx);
		do
			net_engine_sample(p.tx, flows - 1, &s);
		while (s.bytes == 0);
		start = clk_mono_ns();
		net_engine_stop_senders(p.tx);
		assert_in_range(clk_mono_ns() - start, 0, 5 * NSEC_PER_SEC);
		s.bytes = pair_bytes(p.tx);
		net_engine_stop_senders(p.tx); /* twice is once */
		assert_int_equal(pair_bytes(p.tx), s.bytes);
		pair_free(&p);
	}
}

static void drains_what_is_wanted(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2, .limit_bytes = 1000000};
	uint64_t want[3] = {0};
	int64_t start;
	struct pair p;

	(void)state;
	pair_open(&p, &cfg, &plain, 1, 3);
	pair_go(&p);
	pair_await_done(p.tx);
	net_engine_stop_senders(p.tx); /* no end of stream: the sockets stay open */
	for (size_t i = 0; i < 3; i++) {
		struct net_flow_sample s;

		net_engine_sample(p.tx, i, &s);
		want[i] = s.bytes;
	}
	net_engine_drain(p.rx, want, later());
	assert_int_equal(pair_bytes(p.rx), 1000000);
	want[0]++; /* never comes */
	start = clk_mono_ns();
	net_engine_drain(p.rx, want, start + 20 * NSEC_PER_MSEC);
	assert_true(clk_mono_ns() - start >= 20 * NSEC_PER_MSEC);
	net_engine_stop(p.rx);
	for (size_t i = 0; i < 3; i++) {
		struct net_flow_sample s;

		net_engine_sample(p.rx, i, &s);
		assert_int_equal(s.state, NET_FLOW_OPEN); /* our own stop is no end of theirs */
	}
	pair_free(&p);
}

static void may_end_at_any_time(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2};
	struct pair p;

	(void)state;
	pair_open(&p, &cfg, &plain, 1, 3); /* never prepared */
	net_engine_stop_senders(p.tx);
	pair_free(&p);
	pair_open(&p, &cfg, &plain, 1, 3); /* prepared, never started */
	assert_int_equal(net_engine_prepare(p.tx, NULL), 0);
	net_engine_finish_senders(p.tx);
	pair_free(&p);
	pair_open(&p, &cfg, &plain, 1, 3); /* running, not stopped */
	pair_go(&p);
	pair_free(&p);
	pair_open(&p, &cfg, &plain, 1, 3); /* the receiver goes first */
	pair_go(&p);
	net_engine_stop(p.rx);
	net_engine_stop(p.rx);
	net_engine_free(p.rx);
	pair_await_done(p.tx);
	net_engine_free(p.tx);
}

/* ---- limits of the interface ------------------------------------------------------ */

static void refuses_what_it_cannot(void **state)
{
	struct net_engine_cfg cfg = {.n_cpus = 1, .cpus = (int[]){4095}};
	struct weir_err e = {0};
	struct net_engine *en;

	(void)state;
	assert_int_equal(net_engine_new(&cfg, &en, NULL), 0);
	assert_int_equal(net_engine_prepare(en, &e), -EINVAL);
	assert_int_equal(net_engine_add(en, socket(AF_INET, SOCK_STREAM, 0), &plain, true, &e), 0);
	assert_int_equal(net_engine_prepare(en, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "4095"));
	assert_int_equal(net_engine_fd(en, 1), -1);
	net_engine_free(en);
	net_engine_free(NULL);
}

static void pins_its_workers(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2, .pin = true, .limit_bytes = 100000};

	(void)state;
	assert_int_equal(run_to_limit(&cfg, &plain, 1, 3), 100000);
}

/* ---- many ----------------------------------------------------------------------------- */

#define MANY 300

static void starves_no_flow(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2};
	struct rlimit rl;
	size_t waiting;
	struct pair p;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	if (rl.rlim_max < 2 * MANY + 64)
		skip(); /* too few file descriptors allowed */
	pair_open(&p, &cfg, &plain, 1, MANY);
	assert_int_equal(net_engine_flows(p.tx), MANY);
	pair_go(&p);
	do {
		waiting = 0;
		for (size_t i = 0; i < MANY; i++) {
			struct net_flow_sample s;

			net_engine_sample(p.rx, i, &s);
			waiting += s.bytes < 100000;
		}
	} while (waiting);
	pair_finish(&p);
	assert_int_equal(pair_bytes(p.rx), pair_bytes(p.tx));
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_exactly_the_bytes),
		cmocka_unit_test(sends_exactly_the_blocks),
		cmocka_unit_test(counts_from_later_on),
		cmocka_unit_test(sends_every_way),
		cmocka_unit_test(never_stalls_on_a_small_window),
		cmocka_unit_test(counts_zerocopy_completions),
		cmocka_unit_test(a_receiver_ends_by_what_arrives),
		cmocka_unit_test(carries_both_directions),
		cmocka_unit_test(sees_a_peer_that_resets),
		cmocka_unit_test(stops_senders_that_are_stuck),
		cmocka_unit_test(drains_what_is_wanted),
		cmocka_unit_test(may_end_at_any_time),
		cmocka_unit_test(refuses_what_it_cannot),
		cmocka_unit_test(pins_its_workers),
		cmocka_unit_test(starves_no_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
