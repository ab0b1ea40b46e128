/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP flows over loopback: every datagram counted, with offloads and without, few and many. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <endian.h>

#include "net/priv.h"
#include "net_udp.h"

static const struct flow_spec plain = {.transport = NET_UDP};

/* ---- counts ------------------------------------------------------------------ */

static void expect_all(const struct upair *p, uint64_t n_each, uint32_t len)
{
	for (size_t i = 0; i < p->n; i++) {
		struct net_flow_sample t = upair_sample(p->tx, i), r = upair_sample(p->rx, i);

		if (n_each)
			assert_int_equal(t.udp.sent, n_each);
		assert_int_equal(t.blocks, t.udp.sent);
		assert_int_equal(t.bytes, t.udp.sent * len);
		assert_int_equal(net_engine_udp_final(p->rx, i, t.udp.sent), 0);
		r = upair_sample(p->rx, i);
		assert_int_equal(r.udp.received + r.udp.lost, t.udp.sent);
		assert_int_equal(r.udp.highest, t.udp.sent);
		assert_int_equal(r.blocks, r.udp.received);
		assert_int_equal(r.bytes, r.udp.received * len);
		assert_int_equal(r.udp.lost, 0);
		assert_int_equal(r.udp.reordered + r.udp.duplicates + r.udp.late + r.udp.foreign,
				 0);
		assert_int_equal(r.udp.sock_drops, 0);
	}
}

/* Late or not, no more leave at once than were asked for. */
static void expect_no_bursts(const struct upair *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct net_udp_pacing pace;

		assert_int_equal(net_engine_udp_pacing(p->tx, i, &pace, NULL, NULL), 0);
		assert_in_range(pace.burst_max, pace.bursts > 0, pace.burst_asked);
	}
}

/* At a rate that nothing loses: what was sent is there, to the last datagram. */
static void run_counted(const struct flow_spec *spec, size_t flows, unsigned workers,
			uint64_t blocks)
{
	struct net_engine_cfg cfg = {.workers = workers, .limit_blocks = blocks};
	struct upair p;
	uint64_t sum = 0;

	upair_open(&p, &cfg, spec, flows);
	upair_go(&p);
	upair_finish_limit(&p);
	for (size_t i = 0; i < flows; i++)
		sum += upair_sample(p.tx, i).udp.sent;
	assert_int_equal(sum, blocks);
	expect_all(&p, 0, spec->len ? spec->len : NET_UDP_LEN);
	expect_no_bursts(&p);
	upair_free(&p);
}

static void every_length_and_counter(void **state)
{
	static const uint32_t lens[] = {16, 17, 1000, 1448, 1472, 9000, 65507};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		for (int bits = 0; bits < 4; bits++) {
			struct flow_spec spec = {.transport = NET_UDP,
						 .len = lens[i],
						 .rate_bps = lens[i] * 8ULL * 2000,
						 .counters_64bit = bits & 1,
						 .no_offload = bits & 2};

			run_counted(&spec, 1, 1, 60);
		}
	}
}

static void several_flows_and_workers(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 20000000};

	(void)state;
	run_counted(&spec, 3, 1, 300);
	run_counted(&spec, 3, 3, 300);
	run_counted(&spec, 7, 2, 700);
	spec.no_offload = true;
	run_counted(&spec, 7, 2, 700);
	spec.rx_trunc = true;
	run_counted(&spec, 2, 1, 200);
	run_counted(&spec, 2, 2, 200);
}

static void asked_bursts(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 100000000, .burst = 10};

	(void)state;
	run_counted(&spec, 1, 1, 500);
	run_counted(&spec, 2, 1, 500);
	spec.burst = 100; /* more than one call takes */
	run_counted(&spec, 1, 1, 500);
	spec.no_offload = true;
	run_counted(&spec, 1, 1, 500);
}

static void byte_limits_are_whole_datagrams(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 50000000, .len = 1000};
	struct net_engine_cfg cfg = {.limit_bytes = 123456};
	struct upair p;

	(void)state;
	upair_open(&p, &cfg, &spec, 1);
	upair_go(&p);
	upair_finish_limit(&p);
	expect_all(&p, 124, 1000);
	upair_free(&p);
}

/* As fast as it goes: what is missing was dropped at the socket, and nothing is counted twice. */
static void unlimited_adds_up(void **state)
{
	(void)state;
	for (int offload = 0; offload < 2; offload++) {
		struct flow_spec spec = {.transport = NET_UDP, .no_offload = !offload};
		struct net_engine_cfg cfg = {.limit_blocks = 20000};
		int64_t host_drops = net_udp_host_drops();
		struct net_flow_sample t, r;
		struct upair p;

		upair_open(&p, &cfg, &spec, 1);
		upair_go(&p);
		upair_finish_limit(&p);
		t = upair_sample(p.tx, 0);
		assert_int_equal(t.udp.sent, 20000);
		assert_int_equal(t.udp.intended, 20000);
		assert_int_equal(net_engine_udp_final(p.rx, 0, 20000), 0);
		r = upair_sample(p.rx, 0);
		assert_int_equal(r.udp.received + r.udp.lost, 20000);
		assert_int_equal(r.bytes, r.udp.received * NET_UDP_LEN);
		assert_int_equal(r.udp.duplicates + r.udp.late + r.udp.foreign, 0);
		assert_int_equal(r.udp.lost > 0, r.udp.sock_drops > 0);
		assert_true(net_udp_host_drops() - host_drops >= (int64_t)r.udp.sock_drops);
		assert_int_equal(t.udp.gso, offload && net_udp_has_gso());
		assert_int_equal(r.udp.gro, offload && net_udp_has_gro());
		if (t.udp.gso)
			assert_true(t.calls < 20000 / 40);
		upair_free(&p);
	}
}

/* ---- pacing ---------------------------------------------------------------------- */

static void run_for(struct upair *p, int64_t ns)
{
	upair_go(p);
	assert_int_equal(clk_sleep_until(clk_mono_ns() + ns), 0);
	upair_finish(p);
}

static void paces_and_says_how_well(void **state)
{
	struct net_engine_cfg cfg = {0};
	struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 11584000}; /* 1,000 a second */
	struct hist *gaps = hist_new(), *errors = hist_new();
	struct net_udp_pacing pace;
	struct net_flow_sample t, r;
	struct upair p;

	(void)state;
	upair_open(&p, &cfg, &spec, 1);
	run_for(&p, NSEC_PER_SEC / 2);
	t = upair_sample(p.tx, 0);
	assert_int_equal(net_engine_udp_pacing(p.tx, 0, &pace, gaps, errors), 0);
	assert_int_equal(pace.gap_ns, NSEC_PER_MSEC);
	assert_int_equal(pace.burst_asked, 1);
	assert_int_equal(pace.bursts, t.udp.sent);
	assert_int_equal(hist_count(gaps), t.udp.sent - 1);
	assert_int_equal(hist_count(errors), t.udp.sent - 1);
	assert_in_range(t.udp.intended, 300, 1500);
	assert_in_range(t.udp.sent + t.udp.skipped + 200, t.udp.intended, t.udp.intended + 200);
	assert_true(hist_mean(gaps) > 900e3);
	assert_true(pace.burst_max == 1);
	expect_all(&p, 0, NET_UDP_LEN);
	r = upair_sample(p.rx, 0);
	assert_true(r.udp.jitter_ns > 0 && r.udp.jitter_ns < 200 * NSEC_PER_MSEC);
	hist_free(gaps);
	hist_free(errors);
	upair_free(&p);
}

/* Nothing that the machine can do: intended and offered load are told apart. */
static void a_rate_that_cannot_be_kept(void **state)
{
	struct net_engine_cfg cfg = {0};
	struct flow_spec spec = {
		.transport = NET_UDP, .rate_bps = 10000000000000, .no_offload = true, .len = 64};
	struct net_flow_sample t;
	struct upair p;

	(void)state;
	upair_open(&p, &cfg, &spec, 1);
	run_for(&p, 300 * NSEC_PER_MSEC);
	t = upair_sample(p.tx, 0);
	assert_true(t.udp.intended > 4 * t.udp.sent);
	assert_true(t.udp.skipped > 0);
	assert_true(t.udp.sent + t.udp.skipped <= t.udp.intended);
	upair_free(&p);
}

/* A sender in thought: slots of 10 us, and a stall of a hundred slots on the way. */
static void send_in_thought(int64_t call_ns)
{
	enum { GAP = 10000, STALL = 100 * GAP, SLOTS = 5000 };
	struct net_udp u = {.len = 1250, .burst = 1, .gap_ns = GAP, .call_ns = call_ns};
	struct net_flow f = {.udp = &u, .sender = true, .paced = true};
	int64_t end = 0, before;

	slot_init(&u.slot, 0, 10000, NSEC_PER_SEC, 100 * NSEC_PER_MSEC);
	for (int i = 0; i < SLOTS; i++) {
		before = end;
		u.began_ns = f.due_ns > end ? f.due_ns : end;
		end = u.began_ns + call_ns + (i == 100 ? STALL : 0);
		assert_true(i == 0 || end - before >= GAP / 4); /* never a burst */
		u.last_ns = end;
		u.burst_left = 0;
		assert_true(net_udp_pace(&f, end));
	}
	assert_in_range(end, (SLOTS - 1) * GAP,
			(SLOTS + 33) * GAP); /* as far behind as it may stay */
	assert_int_equal(u.slot.skipped, 0);
}

static void long_calls_cost_no_rate(void **state)
{
	(void)state;
	send_in_thought(100);
	send_in_thought(3000);
	send_in_thought(7000);
	send_in_thought(9500);
}

/* Of each hundred wake-ups `rare` are so much later; what they make of the time before a due time. */
static void expect_lead(int64_t gap, int64_t late, unsigned rare, int64_t later, int64_t from,
			int64_t to)
{
	struct net_udp u = {.gap_ns = gap * 1000};
	int64_t least = INT64_MAX, most = 0;

	for (unsigned i = 0; i < 60000; i++) {
		net_udp_learn_lead(&u, (i % 100 < rare ? later : late) * 1000);
		if (i < 30000)
			continue;
		least = u.lead_ns < least ? u.lead_ns : least;
		most = u.lead_ns > most ? u.lead_ns : most;
	}
	assert_true(least >= from * 1000);
	assert_true(most <= to * 1000);
}

/* Most wake-ups are in time, nearly all within 32 us of it, and the share of time spun is bounded. */
static void waking_up_early_enough(void **state)
{
	(void)state;
	expect_lead(116, 10, 0, 0, 9, 11);
	expect_lead(116, 25, 1, 40, 24, 27); /* not far enough from the others to pay for it */
	expect_lead(1000, 25, 1, 90, 52, 69);
	expect_lead(116, 25, 3, 200, 67, 73); /* five eighths of the gap */
	expect_lead(1000, 25, 3, 200, 75, 80);
	expect_lead(116, 25, 3, 1000, 23, 29); /* the machine is busy: no lead helps */
	expect_lead(116, 0, 0, 0, 0, 0);
}

static void many_flows(void **state)
{
	struct net_engine_cfg cfg = {.workers = 2};
	struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 116000}; /* ten a second each */
	struct upair p;

	(void)state;
	upair_open(&p, &cfg, &spec, 1000);
	run_for(&p, 300 * NSEC_PER_MSEC);
	expect_all(&p, 0, NET_UDP_LEN);
	for (size_t i = 0; i < 1000; i++)
		assert_in_range(upair_sample(p.tx, i).udp.sent, 1, 20);
	upair_free(&p);
}

/* ---- scripted senders -------------------------------------------------------------- */

struct scripted {
	struct net_engine *en;
	int fd;
	uint32_t len;
	bool wide;
};

static void scripted_prepare(struct scripted *s, const struct flow_spec *spec)
{
	struct net_engine_cfg cfg = {0};
	int fds[2];

	s->len = spec->len;
	s->wide = spec->counters_64bit;
	upair_connect(spec, fds);
	s->fd = fds[0];
	assert_int_equal(net_engine_new(&cfg, &s->en, NULL), 0);
	assert_int_equal(net_engine_add(s->en, fds[1], spec, false, NULL), 0);
	assert_int_equal(net_engine_prepare(s->en, NULL), 0);
}

static void scripted_open(struct scripted *s, const struct flow_spec *spec)
{
	scripted_prepare(s, spec);
	net_engine_go(s->en);
}

static size_t datagram(uint8_t *p, const struct scripted *s, uint64_t number, uint32_t usec)
{
	uint64_t be64 = htobe64(number);
	uint32_t be32 = htobe32((uint32_t)number), time[2] = {htobe32(7), htobe32(usec)};

	memset(p, 0, s->len);
	memcpy(p, time, sizeof(time));
	memcpy(p + 8, s->wide ? (void *)&be64 : (void *)&be32, s->wide ? 8 : 4);
	return s->len;
}

static void scripted_send(const struct scripted *s, uint64_t number)
{
	uint8_t buf[2048];
	size_t n = datagram(buf, s, number, 0);

	assert_int_equal(send(s->fd, buf, n, 0), n);
}

static struct net_udp_sample scripted_end(struct scripted *s, uint64_t sent)
{
	struct net_udp_sample u;

	net_engine_drain(s->en, NULL, later());
	net_engine_stop(s->en);
	if (sent)
		assert_int_equal(net_engine_udp_final(s->en, 0, sent), 0);
	u = upair_sample(s->en, 0).udp;
	net_engine_free(s->en);
	close(s->fd);
	return u;
}

static void a_duplicate_hides_no_loss(void **state)
{
	static const uint64_t numbers[] = {1, 3, 4, 5, 5, 6, 9, 8, 0x7fffffff, (1ULL << 63) + 5};

	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		struct flow_spec spec = {.transport = NET_UDP,
					 .len = 64,
					 .counters_64bit = wide,
					 .rate_bps = 1000000};
		struct scripted s;
		struct net_udp_sample u;

		scripted_open(&s, &spec);
		for (size_t i = 0; i < ARRAY_LEN(numbers) - !wide; i++)
			scripted_send(&s, numbers[i]);
		u = scripted_end(&s, 12);
		assert_int_equal(u.received, 8);
		assert_int_equal(u.duplicates, 1);
		assert_int_equal(u.reordered, 1);
		assert_int_equal(u.foreign, 1 + wide);
		assert_int_equal(u.highest, 12);
		assert_int_equal(u.lost, 5); /* 2, 7, 10, 11, 12 */
	}
}

/* The engine's window, put where the counter is about to wrap: 2^32 datagrams would take a while. */
static void the_counter_wraps_on_the_wire(void **state)
{
	enum { BEFORE = 95, CAME = 200, SENT = 205 };
	struct flow_spec spec = {.transport = NET_UDP, .len = 64, .rate_bps = 1000000};
	const uint64_t first = (1ULL << 32) - BEFORE;

	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		struct net_udp_sample u;
		struct net_udp *flow;
		struct scripted s;

		spec.counters_64bit = wide;
		scripted_prepare(&s, &spec);
		flow = s.en->flows[0]->udp;
		seqwin_free(flow->win);
		flow->win = seqwin_new(first, wide ? 64 : 32, (uint32_t)flow->window);
		assert_non_null(flow->win);
		net_engine_go(s.en);
		/* Of ten: the fifth and sixth swapped, the eighth lost, the last one doubled. */
		for (uint64_t i = 0; i < CAME; i++) {
			uint64_t k = i % 10;

			if (k == 7)
				continue;
			scripted_send(&s, first + (k == 4 ? i + 1 : k == 5 ? i - 1 : i));
			if (k == 9)
				scripted_send(&s, first + i);
		}
		u = scripted_end(&s, SENT);
		assert_int_equal(u.highest, SENT);
		assert_int_equal(u.duplicates, CAME / 10);
		assert_int_equal(u.reordered, CAME / 10);
		assert_int_equal(u.lost, CAME / 10 + SENT - CAME);
		assert_int_equal(u.received, CAME);
		assert_int_equal(u.foreign + u.late, 0);
	}
}

static void hellos_and_scraps_are_no_data(void **state)
{
	static const char native[] = NET_UDP_HELLO_MARK "\1\2\3\4\0\0\0\2\0\0\0\3wxyz";

	(void)state;
	for (int trunc = 0; trunc < 2; trunc++) {
		struct flow_spec spec = {
			.transport = NET_UDP, .len = trunc ? 64 : 16, .rx_trunc = trunc};
		struct scripted s;
		struct net_udp_sample u;

		scripted_open(&s, &spec);
		scripted_send(&s, 1);
		assert_int_equal(send(s.fd, "9876", 4, 0), 4);
		assert_int_equal(send(s.fd, "", 0, 0), 0);
		assert_int_equal(send(s.fd, "12345678901", 11, 0), 11);
		assert_int_equal(send(s.fd, native, 20, 0), 20);
		scripted_send(&s, 2);
		u = scripted_end(&s, 2);
		assert_int_equal(u.received, 2);
		assert_int_equal(u.lost, 0);
		assert_int_equal(u.foreign, 1);
		assert_int_equal(u.hellos, 2);
		assert_int_equal(u.gro, !trunc && net_udp_has_gro()); /* it would copy all */
		assert_int_equal(u.hello_len, 20);
		assert_memory_equal(u.hello, native, 20);
	}
}

/* They are in the socket when the engine is told to stop, whether or not a worker saw them. */
static void what_came_before_the_stop_is_counted(void **state)
{
	(void)state;
	for (unsigned flows = 1; flows <= 2; flows++) {
		struct flow_spec spec = {.transport = NET_UDP, .len = 64};
		struct net_engine_cfg cfg = {.workers = 1};
		struct net_engine *en;
		int fds[2][2];

		assert_int_equal(net_engine_new(&cfg, &en, NULL), 0);
		for (unsigned i = 0; i < flows; i++) {
			upair_connect(&spec, fds[i]);
			assert_int_equal(net_engine_add(en, fds[i][1], &spec, false, NULL), (int)i);
		}
		assert_int_equal(net_engine_prepare(en, NULL), 0);
		for (uint64_t number = 1; number <= 100; number++) {
			struct scripted s = {.fd = fds[number % flows][0], .len = spec.len};

			scripted_send(&s, (number - 1) / flows + 1);
		}
		net_engine_go(en);
		net_engine_stop(en);
		for (unsigned i = 0; i < flows; i++) {
			assert_int_equal(upair_sample(en, i).udp.received, 100 / flows);
			assert_int_equal(upair_sample(en, i).udp.lost, 0);
			close(fds[i][0]);
		}
		net_engine_free(en);
	}
}

/* ---- a relay that loses, doubles and swaps ------------------------------------------- */

struct relay {
	int from, to;
	uint64_t lost, twice, swapped;
};

static void forward(struct relay *r, const uint8_t *p, size_t n, int times)
{
	for (int i = 0; i < times; i++)
		assert_int_equal(send(r->to, p, n, 0), n);
	r->lost += times == 0;
	r->twice += times == 2;
}

/* All of `n` datagrams, in pairs: every fifth pair is swapped, and so on by number. */
static void relay_run(struct relay *r, uint64_t n, size_t len)
{
	uint8_t pair[2][2048];

	for (uint64_t i = 0; i < n; i += 2) {
		bool swap = i / 2 % 5 == 4;

		for (int k = 0; k < 2; k++) {
			assert_int_equal(net_wait_readable(r->from, later(), -1), 0);
			assert_int_equal(recv(r->from, pair[k ^ swap], 2048, 0), len);
		}
		r->swapped += swap;
		if (swap) { /* both must arrive, or nothing was overtaken */
			forward(r, pair[0], len, 1);
			forward(r, pair[1], len, 1);
			continue;
		}
		forward(r, pair[0], len, i % 7 == 0 ? 0 : i % 11 == 0 ? 2 : 1);
		forward(r, pair[1], len, i % 13 == 0 ? 2 : i >= n - 6 ? 0 : 1);
	}
}

static void a_lossy_relay_is_counted_exactly(void **state)
{
	enum { N = 600 };
	struct flow_spec spec = {.transport = NET_UDP, .len = 200, .rate_bps = 1600000};
	struct net_engine_cfg cfg = {.limit_blocks = N}, none = {0};
	int a[2], b[2];
	struct relay r = {0};
	struct net_udp_sample u;
	struct upair p = {.n = 1};

	(void)state;
	upair_connect(&spec, a);
	upair_connect(&spec, b);
	r.from = a[1];
	r.to = b[0];
	assert_int_equal(net_engine_new(&cfg, &p.tx, NULL), 0);
	assert_int_equal(net_engine_new(&none, &p.rx, NULL), 0);
	assert_int_equal(net_engine_add(p.tx, a[0], &spec, true, NULL), 0);
	assert_int_equal(net_engine_add(p.rx, b[1], &spec, false, NULL), 0);
	upair_go(&p);
	relay_run(&r, N, spec.len);
	net_engine_drain(p.rx, NULL, later());
	net_engine_stop(p.tx);
	net_engine_stop(p.rx);
	assert_int_equal(net_engine_udp_final(p.rx, 0, N), 0);
	u = upair_sample(p.rx, 0).udp;
	assert_true(r.lost > 20 && r.twice > 20 && r.swapped > 20);
	assert_int_equal(u.lost, r.lost);
	assert_int_equal(u.duplicates, r.twice);
	assert_int_equal(u.reordered, r.swapped);
	assert_int_equal(u.received, N - r.lost + r.twice);
	assert_int_equal(net_engine_udp_final(p.rx, 0, 10), -ERANGE);
	assert_int_equal(upair_sample(p.rx, 0).udp.lost, r.lost);
	upair_free(&p);
	close(r.from);
	close(r.to);
}

/* Two ms apart, but every other stamp says that it left 4 ms later: J goes towards 4 ms. */
static void jitter_is_that_of_rfc_3550(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .len = 64, .rate_bps = 1000000};
	int64_t start, expected = 0;
	struct scripted s;
	uint8_t buf[64];

	(void)state;
	scripted_open(&s, &spec);
	start = clk_mono_ns();
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t usec = i * 2000 + (i % 2 ? 4000 : 0);

		clk_sleep_until(start + i * 2 * NSEC_PER_MSEC);
		assert_int_equal(send(s.fd, buf, datagram(buf, &s, i + 1, usec), 0), 64);
		if (i)
			expected += (4 * NSEC_PER_MSEC - expected) / 16;
	}
	assert_in_range(scripted_end(&s, 60).jitter_ns, expected - NSEC_PER_MSEC,
			expected + 8 * NSEC_PER_MSEC);
}

/* ---- ends ------------------------------------------------------------------------------ */

static void a_peer_that_is_gone_ends_the_sending(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 1000000};
	struct net_engine_cfg cfg = {0};
	struct net_engine *en;
	struct net_flow_sample t;
	int fds[2];

	(void)state;
	upair_connect(&spec, fds);
	close(fds[1]);
	assert_int_equal(net_engine_new(&cfg, &en, NULL), 0);
	assert_int_equal(net_engine_add(en, fds[0], &spec, true, NULL), 0);
	assert_int_equal(net_engine_prepare(en, NULL), 0);
	net_engine_go(en);
	assert_int_equal(net_wait_readable(net_engine_done_fd(en), later(), -1), 0);
	net_engine_stop(en);
	t = upair_sample(en, 0);
	assert_int_equal(t.state, NET_FLOW_ERROR);
	assert_int_equal(t.error, ECONNREFUSED);
	assert_true(t.udp.unreachable >= 2);
	assert_int_equal(t.udp.unreachable_code, ECONNREFUSED);
	assert_int_equal(t.udp.refused, 0);
	net_engine_free(en);
}

static void refuses_what_is_no_datagram(void **state)
{
	static const uint32_t lens[] = {1, 15, 65508};
	struct net_engine_cfg cfg = {0};
	struct net_engine *en;

	(void)state;
	assert_int_equal(net_engine_new(&cfg, &en, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct flow_spec spec = {.transport = NET_UDP, .len = lens[i]};
		struct flow_plan plan;
		int fds[2];

		upair_connect(&plain, fds);
		assert_int_equal(net_engine_add(en, fds[0], &spec, true, NULL), -ERANGE);
		close(fds[1]);
		assert_int_equal(flow_plan_init(&plan, &spec, 1, 0), 0);
		assert_int_equal(flow_plan_check(&plan, NULL), -ERANGE);
		flow_plan_fini(&plan);
	}
	net_engine_free(en);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_and_counter),
		cmocka_unit_test(several_flows_and_workers),
		cmocka_unit_test(asked_bursts),
		cmocka_unit_test(byte_limits_are_whole_datagrams),
		cmocka_unit_test(unlimited_adds_up),
		cmocka_unit_test(paces_and_says_how_well),
		cmocka_unit_test(a_rate_that_cannot_be_kept),
		cmocka_unit_test(long_calls_cost_no_rate),
		cmocka_unit_test(waking_up_early_enough),
		cmocka_unit_test(many_flows),
		cmocka_unit_test(a_duplicate_hides_no_loss),
		cmocka_unit_test(the_counter_wraps_on_the_wire),
		cmocka_unit_test(hellos_and_scraps_are_no_data),
		cmocka_unit_test(what_came_before_the_stop_is_counted),
		cmocka_unit_test(a_lossy_relay_is_counted_exactly),
		cmocka_unit_test(jitter_is_that_of_rfc_3550),
		cmocka_unit_test(a_peer_that_is_gone_ends_the_sending),
		cmocka_unit_test(refuses_what_is_no_datagram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
