/* SPDX-License-Identifier: BSD-2-Clause */
/* The front's parts by themselves: deadlines, the pending table, admission, messages, lines. */
#include <stdarg.h>
#include <stddef.h>

#include "serve_util.h"

/* ---- deadlines ---- */

static void deadlines_come_in_order(void **state)
{
	enum { N = 500 };
	struct serve_timer t[N] = {0}, *due;
	struct serve_heap h;
	uint32_t x = 1;
	int64_t last = 0;
	int n = 0;

	(void)state;
	assert_int_equal(serve_heap_init(&h, N), 0);
	assert_int_equal(serve_heap_wait_ms(&h, 0), -1);
	for (int i = 0; i < N * 3; i++) { /* each is set, moved and moved again */
		x = x * 1664525 + 1013904223;
		serve_heap_set(&h, &t[i % N], 1 + (int64_t)(x >> 8));
	}
	for (int i = 0; i < N; i += 5)
		serve_heap_del(&h, &t[i]);
	serve_heap_del(&h, &t[0]); /* twice does no harm */
	assert_null(serve_heap_due(&h, 0));
	while ((due = serve_heap_due(&h, INT64_MAX))) {
		assert_true(due->at >= last && due->pos == 0);
		last = due->at;
		n++;
	}
	assert_int_equal(n, N - N / 5);
	serve_heap_fini(&h);
}

static void a_wait_is_rounded_up(void **state)
{
	struct serve_timer t = {0};
	struct serve_heap h;

	(void)state;
	assert_int_equal(serve_heap_init(&h, 1), 0);
	serve_heap_set(&h, &t, 5 * NSEC_PER_MSEC + 1);
	assert_int_equal(serve_heap_wait_ms(&h, 0), 6);
	assert_int_equal(serve_heap_wait_ms(&h, 5 * NSEC_PER_MSEC), 1);
	assert_int_equal(serve_heap_wait_ms(&h, 9 * NSEC_PER_MSEC), 0);
	serve_heap_fini(&h);
}

/* ---- the pending table ---- */

static struct serve_conn *add(struct serve_pool *p, uint64_t prefix, uint64_t seq)
{
	struct serve_conn *c = serve_pool_add(p, prefix);

	if (c)
		c->seq = seq;
	return c;
}

static void the_crowded_prefix_pays(void **state)
{
	struct serve_pool p;
	struct serve_conn *first_of_2;

	(void)state;
	assert_int_equal(serve_pool_init(&p, 6), 0);
	assert_null(serve_pool_victim(&p));
	assert_non_null(add(&p, 1, 1));
	first_of_2 = add(&p, 2, 2);
	assert_int_equal(serve_pool_victim(&p)->seq, 1); /* equal crowds: the oldest of all */
	for (uint64_t i = 3; i <= 6; i++)
		assert_non_null(add(&p, i == 6 ? 3 : 2, i));
	assert_null(add(&p, 4, 7));
	assert_ptr_equal(serve_pool_victim(&p), first_of_2);
	serve_pool_del(&p, first_of_2);
	assert_int_equal(serve_pool_victim(&p)->seq, 3);
	assert_non_null(add(&p, 4, 7));
	assert_int_equal(p.n, 6);
	serve_pool_fini(&p);
}

static void the_table_can_be_used_up_again_and_again(void **state)
{
	enum { N = 64 };
	struct serve_conn *c[N];
	struct serve_pool p;

	(void)state;
	assert_int_equal(serve_pool_init(&p, N), 0);
	for (int round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < N; i++)
			assert_non_null(c[i] = add(&p, i % (uint64_t)(round + 1) << 32, i));
		assert_null(serve_pool_add(&p, 0));
		for (int i = 0; i < N; i++)
			serve_pool_del(&p, c[(i * 37 + round) % N]);
		assert_int_equal(p.n, 0);
		assert_null(serve_pool_victim(&p));
	}
	serve_pool_fini(&p);
}

/* ---- admission ---- */

static struct net_addr address(const char *text)
{
	struct net_addr a = {.len = sizeof(a.in4)};

	a.in4.sin_family = AF_INET;
	if (inet_pton(AF_INET, text, &a.in4.sin_addr) == 1)
		return a;
	a = (struct net_addr){.len = sizeof(a.in6)};
	a.in6.sin6_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, text, &a.in6.sin6_addr), 1);
	return a;
}

static bool admits(struct serve_admit *a, const char *peer)
{
	struct net_addr addr = address(peer);

	return serve_admit_peer(a, &addr, clk_mono_ns());
}

static void near_peers_are_served(void **state)
{
	static const char *const near[] = {
		"127.0.0.1", "10.1.2.3", "192.168.7.1", "172.16.0.1", "169.254.1.1",
		"::1",       "fe80::1",  "fd00:18::1",  "198.18.0.1", "198.19.255.254"};
	static const char *const far[] = {"192.0.2.1", "203.0.113.9", "172.32.0.1", "198.20.0.1",
					  "2001:db8::1"};
	struct serve_admit a = {0}, all = {.everyone = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(near); i++)
		assert_true(admits(&a, near[i]));
	for (size_t i = 0; i < ARRAY_LEN(far); i++) {
		assert_false(admits(&a, far[i]));
		assert_true(admits(&all, far[i]));
	}
	assert_true(a.n_onlink > 0); /* the kernel was asked, and has at least the loopback */
}

static void named_peers_are_served(void **state)
{
	struct net_prefix allow[2];
	struct serve_admit a = {.allow = allow, .n_allow = 2};

	(void)state;
	assert_int_equal(net_prefix_parse("203.0.113.0/24", &allow[0], NULL), 0);
	assert_int_equal(net_prefix_parse("2001:db8::/32", &allow[1], NULL), 0);
	assert_true(admits(&a, "203.0.113.9"));
	assert_true(admits(&a, "2001:db8:1::5"));
	assert_false(admits(&a, "203.0.114.9"));
	assert_false(admits(&a, "2001:db9::5"));
}

static void prefixes_are_32_and_64_bits(void **state)
{
	struct net_addr a = address("192.0.2.1"), b = address("192.0.2.2");
	struct net_addr c = address("2001:db8:0:1::1"), d = address("2001:db8:0:1:ffff::2"),
			e = address("2001:db8:0:2::1");

	(void)state;
	assert_true(serve_prefix_of(&a) != serve_prefix_of(&b));
	assert_true(serve_prefix_of(&c) == serve_prefix_of(&d));
	assert_true(serve_prefix_of(&c) != serve_prefix_of(&e));
}

static void lines_are_rate_limited(void **state)
{
	struct serve_rate r = {0};
	uint64_t missed = 9;

	(void)state;
	assert_true(serve_rate_ok(&r, 100, 50, &missed));
	assert_int_equal(missed, 0);
	assert_false(serve_rate_ok(&r, 120, 50, &missed));
	assert_false(serve_rate_ok(&r, 149, 50, &missed));
	assert_true(serve_rate_ok(&r, 150, 50, &missed));
	assert_int_equal(missed, 2);
}

static void public_mode_has_bounds(void **state)
{
	struct serve_limits l = {.tests = 3}, home = {0}, once = {0};

	(void)state;
	serve_limits_fill(&l, true, false);
	assert_int_equal(l.tests, 3); /* what was asked for stays */
	assert_int_equal(l.per_prefix, 4);
	assert_int_equal(l.flows, 32);
	assert_int_equal(l.duration_ns, 60 * NSEC_PER_SEC);
	serve_limits_fill(&home, false, false);
	assert_int_equal(home.tests, 64);
	assert_int_equal(home.per_prefix, 0);
	assert_int_equal(home.flows, 1024);
	assert_int_equal(home.duration_ns, 0);
	assert_int_equal(home.pending, 2048);
	serve_limits_fill(&once, false, true);
	assert_int_equal(once.tests, 1);
}

static void cookies_fit_into_the_table(void **state)
{
	const struct proto *p;
	size_t n = 0;

	(void)state;
	for (; (p = proto_at(n)); n++) {
		assert_true(p->pre_bytes <= SERVE_PRE_MAX);
		assert_true(p->no_cookie || p->pre_bytes >= PROTO_COOKIE_LEN);
	}
	assert_true(n > 0);
}

/* ---- messages ---- */

static void messages_are_checked(void **state)
{
	struct serve_msg m = {.type = SERVE_MSG_RESULT, .len = 5, .a = 7, .text = "hello"}, got;
	int fds[2], passed[2], fd = -1;
	char c = 0;

	(void)state;
	assert_int_equal(serve_chan_pair(fds), 0);
	assert_int_equal(serve_chan_recv(fds[0], &got, NULL), -EAGAIN);
	assert_int_equal(serve_chan_send(fds[1], &m, -1), 0);
	assert_int_equal(serve_chan_recv(fds[0], &got, NULL), 1);
	assert_int_equal(got.a, 7);
	assert_memory_equal(got.text, "hello", 5);

	assert_int_equal(pipe2(passed, O_CLOEXEC), 0);
	assert_int_equal(serve_chan_send(fds[0], &m, passed[0]), 0);
	assert_int_equal(serve_chan_recv(fds[1], &got, &fd), 1);
	assert_int_equal(write(passed[1], "y", 1), 1);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, 'y');

	assert_int_equal(send(fds[1], "short", 5, 0), 5);
	assert_int_equal(serve_chan_recv(fds[0], &got, NULL), -EPROTO);
	m.len = 4000; /* says more than it has */
	assert_int_equal(send(fds[1], &m, 100, 0), 100);
	assert_int_equal(serve_chan_recv(fds[0], &got, NULL), -EPROTO);
	close(fds[1]);
	assert_int_equal(serve_chan_recv(fds[0], &got, NULL), 0);
	close(fds[0]);
	close(fd);
	close(passed[0]);
	close(passed[1]);
}

struct feed_world {
	struct serve_feed feed;
	int chan[2], stop[2], ctl[2];
};

static void feed_open(struct feed_world *w)
{
	assert_int_equal(serve_chan_pair(w->chan), 0);
	assert_int_equal(pipe2(w->stop, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, w->ctl), 0);
	w->feed = (struct serve_feed){.chan = w->chan[1], .stop = w->stop[0], .ctl = w->ctl[0]};
}

static void feed_close(struct feed_world *w)
{
	const int fds[] = {w->chan[0], w->chan[1], w->stop[0], w->stop[1], w->ctl[0], w->ctl[1]};

	serve_feed_fini(&w->feed);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

static void a_feed_waits_no_longer_than_it_must(void **state)
{
	struct serve_msg m = {.type = SERVE_MSG_DATA, .a = 1};
	struct feed_world w;

	(void)state;
	feed_open(&w);
	assert_int_equal(serve_feed_expect(&w.feed, 100000), -E2BIG);
	assert_int_equal(serve_feed_take(&w.feed, soon(100)), -ENOENT); /* nothing is expected */
	assert_int_equal(serve_feed_expect(&w.feed, 2), 0);
	assert_int_equal(serve_chan_send(w.chan[0], &m, w.ctl[1]), 0);
	assert_int_equal(serve_feed_take(&w.feed, soon(20)), -ETIMEDOUT);
	assert_int_equal(write(w.stop[1], "x", 1), 1);
	assert_int_equal(serve_feed_take(&w.feed, soon(10000)), -ECANCELED);
	feed_close(&w);

	feed_open(&w);
	assert_int_equal(serve_feed_expect(&w.feed, 1), 0);
	assert_int_equal(shutdown(w.ctl[1], SHUT_RDWR), 0); /* the client has gone */
	assert_int_equal(serve_feed_take(&w.feed, soon(10000)), -EPIPE);
	feed_close(&w);

	feed_open(&w);
	assert_int_equal(serve_feed_expect(&w.feed, 1), 0);
	assert_int_equal(serve_chan_send(w.chan[0], &m, -1), 0); /* a descriptor is missing */
	assert_int_equal(serve_feed_take(&w.feed, soon(10000)), -EPROTO);
	feed_close(&w);
}

/* ---- log lines ---- */

static void add_value(struct model_run *run, const char *metric, int dir, double v)
{
	struct model_summary s = {.part = 0,
				  .metric = model_metric(metric),
				  .dims = model_dims_with(DIMS_NONE, DIM_DIR, dir),
				  .stat = STAT_VALUE,
				  .state = MODEL_KNOWN,
				  .value = v};

	assert_non_null(s.metric);
	assert_true(model_add_summary(run, &s) >= 0);
}

static struct model_run *some_run(void)
{
	static const uint8_t rnd[10] = {1};
	struct model_run *run = model_run_new("tcp", 0, rnd);

	assert_non_null(run);
	assert_int_equal(model_add_part(run, PART_PHASE, MODEL_NO_PART, "load", 0), 0);
	model_end_part(run, 0, 10 * NSEC_PER_SEC, OUTCOME_COMPLETE);
	add_value(run, "goodput", MODEL_DOWN, 943e6);
	add_value(run, "throughput.sent", MODEL_DOWN, 944e6);
	add_value(run, "tcp.retransmits", MODEL_DOWN, 12);
	add_value(run, "flows", MODEL_DOWN, 4);
	for (int i = 0; i < 2; i++)
		assert_true(model_add_event(run, 0, WARN_OVERLAP, NULL, MODEL_NO_TIME, NULL) >= 0);
	return run;
}

static void a_line_tells_the_test(void **state)
{
	struct net_addr peer = address("198.18.0.1");
	const struct proto_peer who = {"iperf3", "3.12"};
	struct model_run *run = some_run();
	struct serve_line l = {
		.peer = &peer, .protocol = "iperf3", .who = &who, .outcome = "done", .run = run};
	struct buf b = {0};
	struct js_doc *doc;
	const struct js *down;
	double goodput = 0;

	(void)state;
	peer.in4.sin_port = htons(4711);
	serve_line_put(&b, &l, false);
	assert_non_null(strstr(b.data, "Z 198.18.0.1:4711 iperf3 3.12 done, down 943 Mbit/s in 4 "
				       "flows (12 retransmits), 10.0 s; warnings: overlap"));
	assert_true(serve_line_ok(b.data, b.len));
	buf_clear(&b);
	serve_line_put(&b, &l, true);
	assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &doc, NULL), 0);
	down = js_get(js_root(doc), "down");
	assert_true(js_f64(js_get(down, "goodput"), &goodput));
	assert_true(goodput > 942e6 && goodput < 944e6);
	assert_null(js_get(js_root(doc), "up"));
	assert_int_equal(js_len(js_get(js_root(doc), "warnings")), 1);
	js_free(doc);
	buf_fini(&b);
	model_run_free(run);
}

static void a_foreign_line_is_checked(void **state)
{
	(void)state;
	assert_true(serve_line_ok("2026 f\xc3\xbcr", 9));
	assert_false(serve_line_ok("", 0));
	assert_false(serve_line_ok("a\nb", 3));
	assert_false(serve_line_ok("a\x1b[2J", 5));
	assert_false(serve_line_ok("a\x7f", 2));
	assert_false(serve_line_ok("a\xff", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines_come_in_order),
		cmocka_unit_test(a_wait_is_rounded_up),
		cmocka_unit_test(the_crowded_prefix_pays),
		cmocka_unit_test(the_table_can_be_used_up_again_and_again),
		cmocka_unit_test(near_peers_are_served),
		cmocka_unit_test(named_peers_are_served),
		cmocka_unit_test(prefixes_are_32_and_64_bits),
		cmocka_unit_test(lines_are_rate_limited),
		cmocka_unit_test(public_mode_has_bounds),
		cmocka_unit_test(cookies_fit_into_the_table),
		cmocka_unit_test(messages_are_checked),
		cmocka_unit_test(a_feed_waits_no_longer_than_it_must),
		cmocka_unit_test(a_line_tells_the_test),
		cmocka_unit_test(a_foreign_line_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
