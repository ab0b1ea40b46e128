/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening UDP flows: hellos of every form, lost answers, and what silence is taken for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include "proto_util.h"

#include "proto/priv.h"

static void hellos_and_answers(void **state)
{
	static const struct {
		const char *hello, *answer;
	} pairs[] = {{"9876", "6789"},
		     {"6789", "9876"},
		     {"\x15\xcd\x5b\x07", "\xb1\x68\xde\x3a"},
		     {"\x07\x5b\xcd\x15", "\x3a\xde\x68\xb1"}};
	struct proto_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const uint8_t *p = (const uint8_t *)pairs[i].hello;

		assert_true(proto_hello_read(p, 4, &h));
		assert_memory_equal(h.answer, pairs[i].answer, 4);
		assert_null(h.token);
		for (size_t n = 0; n < 4; n++)
			assert_false(proto_hello_read(p, n, &h));
	}
	assert_false(proto_hello_read((const uint8_t *)"98765", 5, &h));
	assert_false(proto_hello_read((const uint8_t *)"XXXX", 4, &h));
	assert_false(proto_hello_read((const uint8_t *)"WUDP", 4, &h));
}

/* Every single bit counts. */
static void nearly_a_hello(void **state)
{
	struct proto_hello h;
	uint8_t p[] = {'9', '8', '7', '6'};

	(void)state;
	for (int bit = 0; bit < 32; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(proto_hello_read(p, 4, &h));
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(proto_hello_read(p, 4, &h));
}

static void native_hello(void **state)
{
	uint8_t p[PROTO_HELLO_MAX + 1] = "WUDP0123456789abcdef";
	struct proto_hello h;

	(void)state;
	assert_true(proto_hello_read(p, 20, &h));
	assert_memory_equal(h.token, "0123456789abcdef", PROTO_TOKEN_LEN);
	assert_memory_equal(h.answer, "wudp", 4);
	assert_true(sizeof(h.answer) <= 20);
	assert_false(proto_hello_read(p, 19, &h));
	assert_false(proto_hello_read(p, 21, &h));
	p[0] = 'w';
	assert_false(proto_hello_read(p, 20, &h));
}

/* ---- both roles ---------------------------------------------------------------------- */

static void make_udp(struct duo *d)
{
	for (size_t i = 0; i < d->plan.n; i++) {
		d->plan.flows[i].transport = NET_UDP;
		d->plan.flows[i].len = 1200;
		d->plan.flows[i].rate_bps = 1000000;
	}
}

/* What the client writes on its flow i arrives at flow i. */
static void assert_order(struct duo *d)
{
	size_t n = d->plan.n;

	for (uint8_t i = 0; i < n; i++)
		assert_int_equal(send(d->client.fds[i], &i, 1, MSG_NOSIGNAL), 1);
	for (uint8_t i = 0; i < n; i++) {
		uint8_t got = 99;

		assert_int_equal(
			net_wait_readable(d->server.fds[i], clk_mono_ns() + NSEC_PER_SEC, -1), 0);
		assert_int_equal(recv(d->server.fds[i], &got, 1, MSG_DONTWAIT), 1);
		assert_int_equal(got, i);
	}
}

static void roles_agree(void **state)
{
	static const struct {
		const char *proto;
		size_t up, down;
	} shapes[] = {{"iperf3", 1, 0}, {"iperf3", 0, 1}, {"iperf3", 4, 4}, {"iperf3", 128, 0},
		      {"weir", 1, 0},   {"weir", 0, 3},   {"weir", 2, 5}};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
		struct duo d;

		duo_init(&d, shapes[k].proto, shapes[k].up, shapes[k].down);
		make_udp(&d);
		d.plan.flows[0].counters_64bit = shapes[k].up + shapes[k].down == 1;
		duo_run(&d);
		assert_string_equal(d.client_err.msg, "");
		assert_int_equal(d.client_ret, 0);
		assert_int_equal(d.server_ret, 0);
		assert_int_equal(d.server.plan->n, d.plan.n);
		for (size_t i = 0; i < d.plan.n; i++) {
			assert_int_equal(d.server.plan->flows[i].transport, NET_UDP);
			assert_int_equal(d.server.plan->flows[i].len, 1200);
			assert_int_equal(d.server.plan->flows[i].counters_64bit,
					 d.plan.flows[i].counters_64bit);
		}
		assert_order(&d);
		duo_fini(&d);
	}
}

/* Without a length, both ends send what fits into a segment. */
static void lengths_by_default(void **state)
{
	static const char *const protos[] = {"iperf3", "weir"};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(protos); k++) {
		struct duo d;

		duo_init(&d, protos[k], 1, 0);
		make_udp(&d);
		d.plan.flows[0].len = 0;
		duo_run(&d);
		assert_int_equal(d.client_ret, 0);
		assert_int_equal(d.plan.flows[0].len, NET_UDP_LEN);
		assert_int_equal(d.server.plan->flows[0].len, NET_UDP_LEN);
		duo_fini(&d);
	}
}

static void a_lost_answer_is_asked_for_again(void **state)
{
	struct duo d;

	(void)state;
	duo_init(&d, "weir", 2, 1);
	make_udp(&d);
	d.lose_answers = 3;
	duo_run(&d);
	assert_string_equal(d.client_err.msg, "");
	assert_int_equal(d.client_ret, 0);
	assert_int_equal(d.server_ret, 0);
	assert_order(&d);
	duo_fini(&d);
}

static void without_udp_it_is_refused(void **state)
{
	static const char *const protos[] = {"iperf3", "weir"};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(protos); k++) {
		struct duo d;

		duo_init(&d, protos[k], 1, 0);
		make_udp(&d);
		d.limits.no_udp = true;
		duo_run(&d);
		assert_true(d.client_ret < 0 && d.server_ret < 0);
		assert_int_equal(d.server.n_fds, 0);
		duo_fini(&d);
	}
}

static void towards_a_client_there_is_a_limit(void **state)
{
	struct duo d;

	(void)state;
	duo_init(&d, "iperf3", 0, 4);
	make_udp(&d);
	for (size_t i = 0; i < d.plan.n; i++)
		d.plan.flows[i].rate_bps = 0;
	d.limits.udp_down_bps = 100000000;
	duo_run(&d);
	assert_int_equal(d.client_ret, 0);
	for (size_t i = 0; i < d.plan.n; i++)
		assert_int_equal(d.server.plan->flows[i].rate_bps,
				 25000000ULL * d.plan.flows[i].len / (d.plan.flows[i].len + 48));
	duo_fini(&d);
	duo_init(&d, "iperf3", 0, 4);
	make_udp(&d);
	d.limits.udp_down_bps = 3999999;
	duo_run(&d);
	assert_true(d.client_ret < 0);
	assert_non_null(strstr(d.client_err.msg, "bit rate is over"));
	duo_fini(&d);
	duo_init(&d, "weir", 0, 4);
	make_udp(&d);
	d.limits.udp_down_bps = 2000000;
	duo_run(&d);
	assert_int_equal(d.client_ret, 0);
	assert_int_equal(d.plan.flows[3].rate_bps,
			 500000ULL * d.plan.flows[3].len / (d.plan.flows[3].len + 48));
	assert_non_null(strstr(d.client.lowered, "bit/s a flow"));
	duo_fini(&d);
}

/* 16 bytes of payload are 64 with IPv6's headers. */
static void the_limit_counts_headers(void **state)
{
	static const struct {
		uint32_t len;
		uint64_t share;
	} rows[] = {{16, 25000000}, {1200, 96153846}, {65507, 96193776}};
	struct proto_limits lim = {.udp_down_bps = 100000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct flow_spec spec = {.transport = NET_UDP, .len = rows[i].len};
		struct flow_plan p;

		assert_int_equal(flow_plan_init(&p, &spec, 1, 1), 0);
		assert_int_equal(proto_udp_down_share(&p, &lim), rows[i].share);
		flow_plan_fini(&p);
		assert_int_equal(flow_plan_init(&p, &spec, 1, 0), 0);
		assert_int_equal(proto_udp_down_share(&p, &lim), 0);
		flow_plan_fini(&p);
	}
}

static void cut_iperf3(void **state)
{
	(void)state;
	duo_cut_everywhere("iperf3", 0, make_udp);
	duo_cut_everywhere("iperf3", 1, make_udp);
}

static void cut_weir(void **state)
{
	(void)state;
	duo_cut_everywhere("weir", 0, make_udp);
	duo_cut_everywhere("weir", 1, make_udp);
}

/* ---- a client and a silent or odd other end --------------------------------------------- */

struct scene {
	struct flow_plan plan;
	struct proto_session s;
	int ctl, udp; /* the other end's */
};

static void scene_open(struct scene *x, bool down, bool listens)
{
	struct flow_spec spec = {.transport = NET_UDP, .len = 100};
	struct net_addr a;
	int listener = duo_listen(&a), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(flow_plan_init(&x->plan, &spec, !down, down), 0);
	assert_int_equal(connect(fd, &a.sa, a.len), 0);
	x->ctl = accept(listener, NULL, NULL);
	assert_true(x->ctl >= 0);
	close(listener);
	x->udp = -1;
	if (listens)
		x->udp = net_listen_udp(&(struct net_sock_opts){.bind_host = "127.0.0.1"},
					net_addr_port(&a), NULL);
	assert_int_equal(x->udp >= 0, listens);
	x->s = (struct proto_session){.proto = proto_find("iperf3"),
				      .role = PROTO_CLIENT,
				      .ctl_fd = fd,
				      .stop_fd = -1,
				      .plan = &x->plan,
				      .peer_addr = a,
				      .port = net_addr_port(&a),
				      .timeout_ns = 300 * NSEC_PER_MSEC};
	assert_int_equal(proto_fds_new(&x->s, 1, NULL), 0);
}

static void scene_close(struct scene *x)
{
	proto_session_fini(&x->s);
	flow_plan_fini(&x->plan);
	close(x->ctl);
	if (x->udp >= 0)
		close(x->udp);
}

static void a_closed_port(void **state)
{
	struct weir_err e = {0};
	struct scene x;

	(void)state;
	scene_open(&x, false, false);
	assert_int_equal(proto_udp_open(&x.s, 0, NULL, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.msg, "UDP port is closed"));
	scene_close(&x);
}

static void a_firewall_is_not_a_dead_server(void **state)
{
	struct weir_err e = {0};
	struct scene x;

	(void)state;
	scene_open(&x, false, true);
	assert_int_equal(proto_udp_open(&x.s, 0, NULL, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "control connection is alive"));
	assert_non_null(strstr(e.hint, "firewall"));
	scene_close(&x);
}

/* A server that starts the test has the hello: only its answer is missing. */
static void answers_are_dropped(void **state)
{
	struct weir_err e = {0};
	struct scene x;

	(void)state;
	scene_open(&x, true, true);
	assert_int_equal(send(x.ctl, "\x01\x02", 2, 0), 2);
	assert_int_equal(proto_udp_open(&x.s, 0, NULL, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "its answer is dropped"));
	scene_close(&x);
}

static void the_server_leaves(void **state)
{
	struct weir_err e = {0};
	struct scene x;

	(void)state;
	scene_open(&x, false, true);
	shutdown(x.ctl, SHUT_WR);
	assert_int_equal(proto_udp_open(&x.s, 0, NULL, &e), -EPIPE);
	assert_non_null(strstr(e.msg, "closed the control connection"));
	scene_close(&x);
}

struct answer {
	int udp;
	const uint8_t *p;
	const size_t *lens;
	size_t n;
	unsigned hellos;
};

/* Takes one hello, says the datagrams one after the other. */
static void *answer(void *arg)
{
	struct answer *a = arg;
	uint8_t b[64];
	struct net_dgram d;

	if (net_wait_readable(a->udp, clk_mono_ns() + 5 * NSEC_PER_SEC, -1) < 0)
		return NULL;
	a->hellos += net_udp_recv(a->udp, b, sizeof(b), &d) == 4;
	for (size_t i = 0; i < a->n; i++) {
		net_udp_reply(a->udp, &d, a->p, a->lens[i]);
		a->p += a->lens[i];
	}
	return NULL;
}

static int open_with(struct scene *x, struct answer *a)
{
	pthread_t t;
	int ret;

	a->udp = x->udp;
	assert_int_equal(pthread_create(&t, NULL, answer, a), 0);
	ret = proto_udp_open(&x->s, 0, NULL, NULL);
	pthread_join(t, NULL);
	return ret;
}

/* Both of iperf3's answers, whatever byte order its host has; noise before it is skipped. */
static void answers_of_all_versions(void **state)
{
	static const char *const said[] = {"6789", "9876", "\xb1\x68\xde\x3a", "\x3a\xde\x68\xb1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		const size_t lens[] = {7, 4};
		uint8_t text[12] = "garbage";
		struct answer a = {.p = text, .lens = lens, .n = 2};
		struct scene x;

		memcpy(text + 7, said[i], 4);
		scene_open(&x, false, true);
		assert_int_equal(open_with(&x, &a), 0);
		assert_int_equal(a.hellos, 1);
		assert_int_equal(recv(x.udp, text, 4, MSG_DONTWAIT), -1); /* once a socket */
		scene_close(&x);
	}
}

/* -R: data that overtook the answer says the same, and is not lost. */
static void early_data_stays(void **state)
{
	const size_t lens[] = {100, 4};
	uint8_t text[104] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1}, got[200];
	struct answer a = {.p = text, .lens = lens, .n = 2};
	struct scene x;

	(void)state;
	memcpy(text + 100, "6789", 4);
	scene_open(&x, true, true);
	assert_int_equal(open_with(&x, &a), 0);
	assert_int_equal(recv(x.s.fds[0], got, sizeof(got), 0), 100);
	assert_memory_equal(got, text, 100);
	scene_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hellos_and_answers),
		cmocka_unit_test(nearly_a_hello),
		cmocka_unit_test(native_hello),
		cmocka_unit_test(roles_agree),
		cmocka_unit_test(lengths_by_default),
		cmocka_unit_test(a_lost_answer_is_asked_for_again),
		cmocka_unit_test(without_udp_it_is_refused),
		cmocka_unit_test(towards_a_client_there_is_a_limit),
		cmocka_unit_test(the_limit_counts_headers),
		cmocka_unit_test(cut_iperf3),
		cmocka_unit_test(cut_weir),
		cmocka_unit_test(a_closed_port),
		cmocka_unit_test(a_firewall_is_not_a_dead_server),
		cmocka_unit_test(answers_are_dropped),
		cmocka_unit_test(the_server_leaves),
		cmocka_unit_test(answers_of_all_versions),
		cmocka_unit_test(early_data_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
