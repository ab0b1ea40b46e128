/* SPDX-License-Identifier: BSD-2-Clause */
/* A session over loopback whose other end does as the test wants: it falls silent, or it loses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/priv.h"

static int fake_start(struct proto_session *s, struct weir_err *e)
{
	(void)s;
	(void)e;
	return 0;
}
static int fake_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	(void)s;
	(void)e;
	*ev = PROTO_EV_NONE;
	return 0;
}
static void fake_say(struct proto_session *s, enum proto_say what)
{
	*(enum proto_say *)s->arg = what;
}
static const struct proto fake = {
	.name = "fake", .start = fake_start, .on_control = fake_control, .say = fake_say};

struct test {
	struct flow_plan plan;
	struct model_run *run;
	int ctl[2], data[2], fds[1], stop[2];
	enum proto_say said;
	struct proto_session ps;
};

/* A connection over loopback: fds[0] is the session's. */
static void connect_data(int fds[2])
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	struct net_addr at = {.len = sizeof(at.ss)};
	int listener = net_listen_tcp(&o, 0, 8, NULL);

	assert_true(listener >= 0);
	assert_int_equal(getsockname(listener, &at.sa, &at.len), 0);
	fds[1] = net_connect_tcp(&at, NULL, NULL, 5 * NSEC_PER_SEC, NULL);
	assert_true(fds[1] >= 0);
	fds[0] = accept(listener, NULL, NULL);
	assert_true(fds[0] >= 0);
	close(listener);
}

static void open_test(struct test *t, enum net_dir dir)
{
	static const uint8_t rnd[10] = {0};
	struct flow_spec spec = {.transport = NET_TCP};
	bool up = dir == NET_UP;

	*t = (struct test){.said = PROTO_SAY_BUSY};
	assert_int_equal(flow_plan_init(&t->plan, &spec, up, !up), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, t->ctl), 0);
	assert_int_equal(pipe(t->stop), 0);
	connect_data(t->data);
	t->fds[0] = t->data[0];
	t->run = model_run_new("tcp", 1, rnd);
	assert_non_null(t->run);
	t->ps = (struct proto_session){.proto = &fake,
				       .role = PROTO_SERVER,
				       .ctl_fd = t->ctl[0],
				       .stop_fd = -1,
				       .plan = &t->plan,
				       .fds = t->fds,
				       .n_fds = 1,
				       .arg = &t->said};
}

static void close_test(struct test *t)
{
	flow_plan_fini(&t->plan);
	model_run_free(t->run);
	close(t->ctl[0]);
	close(t->ctl[1]);
	close(t->stop[0]);
	close(t->stop[1]);
	close(t->data[1]); /* the other one was the engine's */
}

/* An endless test whose peer is there, and neither sends nor reads. */
static void a_silent_client_is_given_up(void **state)
{
	(void)state;
	for (int dir = NET_UP; dir <= NET_DOWN; dir++) {
		int64_t start = clk_mono_ns();
		const char *gone = "";
		struct measure_session ms;
		struct test t;

		open_test(&t, dir);
		t.plan.omit_ns = dir == NET_UP ? 10 * NSEC_PER_SEC : 0;
		assert_int_equal(send(t.data[1], "abc", 3, 0), 3);
		ms = (struct measure_session){.proto = &t.ps,
					      .run = t.run,
					      .stop_fd = t.stop[0],
					      .run_start_ns = start,
					      .idle_ns = 300 * NSEC_PER_MSEC};
		assert_int_equal(measure_session_run(&ms, "load", NULL), 0);
		assert_true(clk_mono_ns() - start >= ms.idle_ns);
		assert_true(clk_mono_ns() - start < 8 * NSEC_PER_SEC);
		assert_int_equal(t.run->outcome, OUTCOME_PARTIAL);
		for (size_t i = 0; i < t.run->n_events; i++) {
			if (t.run->events[i].code == WARN_PEER_GONE)
				gone = t.run->events[i].text;
		}
		assert_non_null(strstr(gone, "no data for 0."));
		assert_int_equal(t.said, PROTO_SAY_FAILED);
		close_test(&t);
	}
}

/* ---- UDP: a scripted sender that says at the end how many it sent ---- */

struct scripted {
	enum proto_say said;
	int64_t sent, came; /* what the sender tells; what a receiver can know */
};

static int end_control(struct proto_session *s, enum proto_event *ev, struct weir_err *e)
{
	char b;

	(void)e;
	*ev = recv(s->ctl_fd, &b, 1, 0) == 1 ? PROTO_EV_END : PROTO_EV_GONE;
	return 0;
}
static int tell_sent(struct proto_session *s, const struct proto_result *mine,
		     struct proto_result *theirs, struct weir_err *e)
{
	const struct scripted *x = s->arg;

	(void)e;
	assert_int_equal(mine->flows[0].packets, x->came);
	theirs->flows = calloc(1, sizeof(*theirs->flows));
	assert_non_null(theirs->flows);
	theirs->n = 1;
	theirs->flows[0] = (struct proto_flow_result){.udp = true, .packets = x->sent};
	return 0;
}
static const struct proto scripted = {.name = "scripted",
				      .start = fake_start,
				      .on_control = end_control,
				      .exchange = tell_sent,
				      .say = fake_say};

static void udp_data(int fds[2], const struct flow_spec *spec)
{
	struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	struct net_addr at = {.len = sizeof(at.ss)}, from = {.len = sizeof(from.ss)};

	fds[0] = net_listen_udp(&o, 0, NULL);
	assert_true(fds[0] >= 0);
	assert_int_equal(getsockname(fds[0], &at.sa, &at.len), 0);
	fds[1] = net_connect_udp(&at, NULL, spec, NULL);
	assert_true(fds[1] >= 0);
	assert_int_equal(getsockname(fds[1], &from.sa, &from.len), 0);
	assert_int_equal(connect(fds[0], &from.sa, from.len), 0);
}

static void send_number(int fd, uint32_t number, size_t len)
{
	uint32_t head[3] = {htonl(1), htonl(number), htonl(number)};
	char p[1500] = {0};

	memcpy(p, head, sizeof(head));
	assert_int_equal(send(fd, p, len, 0), len);
}

static double value(const struct model_run *r, const char *metric)
{
	const struct model_summary *s = model_find(r, metric, STAT_VALUE, NULL, true);

	assert_non_null(s);
	return s ? s->value : -1;
}

static void open_udp_test(struct test *t, const struct flow_spec *spec)
{
	open_test(t, NET_UP);
	close(t->data[0]);
	close(t->data[1]);
	flow_plan_fini(&t->plan);
	assert_int_equal(flow_plan_init(&t->plan, spec, 1, 0), 0);
	udp_data(t->data, spec);
	t->fds[0] = t->data[0];
	t->ps.proto = &scripted;
}

static void run_udp_test(struct test *t, int64_t sent, int64_t came)
{
	struct scripted x = {.sent = sent, .came = came};
	struct measure_session ms = {.proto = &t->ps,
				     .run = t->run,
				     .stop_fd = t->stop[0],
				     .run_start_ns = clk_mono_ns()};

	t->ps.arg = &x;
	assert_int_equal(send(t->ctl[1], "E", 1, 0), 1);
	assert_int_equal(measure_session_run(&ms, "load", NULL), 0);
	assert_int_equal(t->run->outcome, OUTCOME_COMPLETE);
}

static const char *event_text(const struct model_run *r, enum model_warn_code code)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (r->events[i].code == code)
			return r->events[i].text;
	return NULL;
}

/* The tail that never came is lost, a doubled datagram hides nothing, the clock has a name. */
static void a_udp_session_ends_with_the_senders_count(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .len = 1000, .rate_bps = 1000000};
	struct test t;

	(void)state;
	open_udp_test(&t, &spec);
	for (uint32_t i = 1; i <= 51; i++) {
		if (i == 7 || i == 8)
			continue;
		send_number(t.data[1], i, spec.len);
		if (i == 9)
			send_number(t.data[1], i, spec.len);
	}
	run_udp_test(&t, 60, 51);
	assert_true(value(t.run, "udp.lost") == 60 - 49);
	assert_true(value(t.run, "udp.duplicates") == 1);
	assert_true(value(t.run, "udp.datagrams") == 50);
	assert_true(value(t.run, "udp.socket_drops") == 0);
	assert_true(value(t.run, "udp.host_drops") >= 0);
	assert_non_null(strstr(t.run->parts[0].params, "\"jitter_clock\":\"SO_TIMESTAMPNS\""));
	assert_null(event_text(t.run, WARN_PEER_FIGURE));
	assert_null(event_text(t.run, WARN_RECV_GT_SENT));
	close_test(&t);
}

/* Without a rate any number may be true: one that nothing bears out moves nothing all the same. */
static void a_forged_number_at_no_rate(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .len = 1000};
	struct test t;

	(void)state;
	open_udp_test(&t, &spec);
	for (uint32_t i = 1; i <= 40; i++) {
		send_number(t.data[1], i, spec.len);
		if (i == 20)
			send_number(t.data[1], 10000000, spec.len);
	}
	run_udp_test(&t, 50, 40);
	assert_true(value(t.run, "udp.lost") == 10);
	assert_true(value(t.run, "udp.datagrams") == 40);
	assert_true(value(t.run, "udp.foreign") == 1);
	assert_non_null(event_text(t.run, WARN_FOREIGN));
	assert_null(event_text(t.run, WARN_PEER_FIGURE));
	close_test(&t);
}

/* A number that is near enough to be believed, and a count that cannot be true. */
static void a_count_below_what_came_is_told(void **state)
{
	static const struct {
		uint32_t forged;
		int64_t sent;
		double lost, datagrams;
		const char *says;
	} rows[] = {
		{90, 50, 10, 40,
		 "counts 50 datagrams, but number 90 came: what is beyond was left"},
		{0, 30, 0, 40, "counts 30 datagrams, but number 40 came: the loss is by what came"},
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		struct flow_spec spec = {.transport = NET_UDP, .len = 1000};
		struct test t;

		open_udp_test(&t, &spec);
		for (uint32_t i = 1; i <= 40; i++) {
			send_number(t.data[1], i, spec.len);
			if (i == 30 && rows[k].forged)
				send_number(t.data[1], rows[k].forged, spec.len);
		}
		run_udp_test(&t, rows[k].sent, rows[k].forged ? rows[k].forged : 40);
		assert_true(value(t.run, "udp.lost") == rows[k].lost);
		assert_true(value(t.run, "udp.datagrams") == rows[k].datagrams);
		assert_non_null(event_text(t.run, WARN_PEER_FIGURE));
		assert_non_null(strstr(event_text(t.run, WARN_PEER_FIGURE), rows[k].says));
		if (rows[k].forged)
			assert_null(event_text(t.run, WARN_RECV_GT_SENT));
		else
			assert_non_null(strstr(event_text(t.run, WARN_RECV_GT_SENT),
					       "40 datagrams received of 30 sent"));
		close_test(&t);
	}
}

/* Where nothing was agreed, a server's longest time is an end, not the beginning of a grace of 40 s. */
static void the_longest_time_ends_it(void **state)
{
	static const struct proto endless = {.name = "endless",
					     .start = fake_start,
					     .on_control = fake_control,
					     .exchange = tell_sent,
					     .say = fake_say,
					     .data_ends = true};
	struct flow_spec spec = {.transport = NET_UDP, .len = 1000, .rate_bps = 1000000};
	struct scripted x = {.sent = 20, .came = 20};
	struct measure_session ms;
	int64_t began = clk_mono_ns();
	struct test t;

	(void)state;
	open_udp_test(&t, &spec);
	t.plan.duration_ns = 100 * NSEC_PER_MSEC;
	t.ps.proto = &endless;
	t.ps.arg = &x;
	for (uint32_t i = 1; i <= 20; i++)
		send_number(t.data[1], i, spec.len);
	ms = (struct measure_session){
		.proto = &t.ps, .run = t.run, .stop_fd = t.stop[0], .run_start_ns = began};
	assert_int_equal(measure_session_run(&ms, "load", NULL), 0);
	assert_in_range(clk_mono_ns() - began, 100 * NSEC_PER_MSEC, 30 * NSEC_PER_SEC);
	assert_true(value(t.run, "udp.datagrams") == 20);
	assert_true(value(t.run, "udp.lost") == 0);
	close_test(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_client_is_given_up),
		cmocka_unit_test(a_udp_session_ends_with_the_senders_count),
		cmocka_unit_test(a_forged_number_at_no_rate),
		cmocka_unit_test(a_count_below_what_came_is_told),
		cmocka_unit_test(the_longest_time_ends_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
