/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounce-back against a server of the test's own: what is sent, what is counted, what a server that
 * does not answer becomes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/measure.h"

#define LEN 100

struct server {
	int listener;
	struct net_addr at;
	unsigned answers; /* then it closes; 0 = all */
	uint8_t first[LEN], last[LEN];
	unsigned got;
	pthread_t thread;
};

static void put_now(uint8_t *p)
{
	int64_t now = clk_real_ns();
	uint32_t w[2] = {htonl((uint32_t)(now / NSEC_PER_SEC)),
			 htonl((uint32_t)(now % NSEC_PER_SEC / NSEC_PER_USEC))};

	memcpy(p, w, sizeof(w));
}

static void *serve(void *arg)
{
	struct server *s = arg;
	int64_t deadline = clk_mono_ns() + 30 * NSEC_PER_SEC;
	uint8_t p[LEN];
	int fd = net_wait_readable(s->listener, deadline, -1) == 0 ? accept(s->listener, NULL, NULL)
								   : -1;

	while (fd >= 0 && net_read_full(fd, p, LEN, deadline, -1) == 0) {
		memcpy(s->got ? s->last : s->first, p, LEN);
		s->got++;
		if (s->answers && s->got > s->answers)
			break;
		put_now(p + 28);
		put_now(p + 36);
		if (net_write_full(fd, p, LEN, deadline, -1) < 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void start(struct server *s, unsigned answers)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};

	*s = (struct server){.answers = answers};
	s->listener = net_listen_tcp(&o, 0, 4, NULL);
	assert_true(s->listener >= 0);
	s->at.len = sizeof(s->at.ss);
	assert_int_equal(getsockname(s->listener, &s->at.sa, &s->at.len), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct server *s)
{
	pthread_join(s->thread, NULL);
	close(s->listener);
}

struct seen {
	unsigned bounced, intervals;
	struct measure_bounces whole;
};

static void on_bounced(void *arg, int64_t took_ns)
{
	((struct seen *)arg)->bounced++;
	assert_true(took_ns > 0);
}

static void on_interval(void *arg, const struct measure_bounces *m, bool whole)
{
	struct seen *s = arg;

	s->intervals += !whole;
	if (whole)
		s->whole = *m;
}

static void nothing(struct sink *s, const struct model_run *r)
{
	(void)s, (void)r;
}

static struct sink none = {.begin = nothing, .end = nothing};

static int bounce(struct server *s, struct seen *seen, struct measure_ctx *ctx, struct weir_err *e)
{
	const struct measure_bounce b = {.host = "127.0.0.1",
					 .port = net_addr_port(&s->at),
					 .family = AF_INET,
					 .len = LEN,
					 .burst = 10,
					 .period_ns = 50 * NSEC_PER_MSEC,
					 .duration_ns = 120 * NSEC_PER_MSEC,
					 .interval_ns = 40 * NSEC_PER_MSEC,
					 .hold_us = 1500,
					 .quick_ack = true,
					 .clocks = true,
					 .bounced = on_bounced,
					 .interval = on_interval,
					 .arg = seen};

	*ctx = (struct measure_ctx){.sink = &none, .stop_fd = -1};
	return measure_bounce_run(ctx, &b, e);
}

static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ntohl(v);
}

static void whole_bursts_are_counted(void **state)
{
	struct seen seen = {0};
	struct measure_ctx ctx;
	struct server s;

	(void)state;
	start(&s, 0);
	assert_int_equal(bounce(&s, &seen, &ctx, NULL), 0);
	stop(&s);
	assert_true(seen.bounced >= 10 && seen.bounced % 10 == 0);
	assert_int_equal(s.got, seen.bounced + 1); /* and the end */
	assert_int_equal(seen.whole.rtt.n, seen.bounced);
	assert_int_equal(seen.whole.to.n, seen.bounced);
	assert_int_equal(seen.whole.bytes, 2ULL * LEN * seen.bounced);
	assert_true(seen.intervals >= 2);
	assert_true(seen.whole.rtt.min <= seen.whole.rtt.max);
	assert_int_equal(word(s.first), 0x00800000);
	assert_int_equal(word(s.first + 4), LEN);
	assert_int_equal(word(s.first + 8), 1);
	assert_int_equal(word(s.first + 12) >> 16, 0xc000); /* quick ack, clocks */
	assert_int_equal(word(s.first + 28), 0xffffffff);
	assert_int_equal(word(s.first + 44), 1500);
	assert_int_equal(word(s.last + 12) >> 16, 0xd000); /* and stop */
	assert_string_equal(ctx.run->kind, "rr");
	assert_non_null(model_find(ctx.run, "rr.rate", STAT_VALUE, NULL, true));
	model_run_free(ctx.run);
}

static void a_server_that_closes_is_told(void **state)
{
	struct seen seen = {0};
	struct measure_ctx ctx;
	struct weir_err e = {0};
	struct server s;

	(void)state;
	start(&s, 3);
	assert_true(bounce(&s, &seen, &ctx, &e) < 0);
	stop(&s);
	assert_int_equal(seen.bounced, 3);
	assert_non_null(strstr(e.msg, "message 4 did not come back"));
	assert_int_equal(ctx.run->outcome, OUTCOME_FAILED);
	model_run_free(ctx.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_bursts_are_counted),
		cmocka_unit_test(a_server_that_closes_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
