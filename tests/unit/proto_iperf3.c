/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf3's dialogue: both roles against each other, cut anywhere, and against odd peers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include "proto_util.h"

#include "proto/priv.h"

static void roles_agree(void **state)
{
	static const struct {
		size_t up, down;
	} shapes[] = {{1, 0}, {0, 1}, {1, 1}, {4, 0}, {0, 3}, {5, 5}, {128, 0}, {128, 128}};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
		size_t up = shapes[k].up, down = shapes[k].down;
		struct duo d;

		duo_init(&d, "iperf3", up, down);
		d.plan.flows[0].nodelay = false;
		duo_run(&d);
		assert_int_equal(d.client_ret, 0);
		assert_int_equal(d.server_ret, 0);
		assert_true(d.server_saw_end);
		assert_int_equal(d.server.plan->n, up + down);
		assert_int_equal(flow_plan_count(d.server.plan, NET_UP), up);
		assert_int_equal(d.server.plan->duration_ns, 3 * NSEC_PER_SEC);
		assert_string_equal(d.server.peer.tool, "weir");
		assert_string_equal(d.server.peer.version, weir_version);
		assert_int_equal(d.client.n_fds, up + down);
		assert_int_equal(d.client_got.n, up + down);
		for (size_t i = 0; i < up + down; i++) {
			bool client_sends = i < up;

			assert_true(d.client.fds[i] >= 0);
			assert_int_equal(d.client_got.flows[i].bytes, 5000 + i);
			assert_int_equal(d.server_got.flows[i].bytes, 1000 + i);
			assert_int_equal(d.server_got.flows[i].retransmits,
					 client_sends ? (int)i : -1);
			assert_int_equal(d.client_got.flows[i].retransmits,
					 client_sends ? -1 : (int)i);
		}
		assert_float_equal(d.client_got.cpu_total, 0.5, 1e-9);
		assert_float_equal(d.server_got.cpu_system, 0.125, 1e-9);
		assert_string_equal(d.client_got.cc, "cubic");
		duo_fini(&d);
	}
}

/* Roles follow accept order: what the client wrote on its flow i arrives at flow i. */
static void flows_keep_their_order(void **state)
{
	struct duo d;

	(void)state;
	duo_init(&d, "iperf3", 6, 6);
	duo_run(&d);
	assert_int_equal(d.server_ret, 0);
	for (uint8_t i = 0; i < 12; i++)
		assert_int_equal(send(d.client.fds[i], &i, 1, MSG_NOSIGNAL), 1);
	for (uint8_t i = 0; i < 12; i++) {
		uint8_t got = 99;
		int64_t deadline = clk_mono_ns() + NSEC_PER_SEC;

		assert_int_equal(net_read_full(d.server.fds[i], &got, 1, deadline, -1), 0);
		assert_int_equal(got, i);
	}
	duo_fini(&d);
}

static void cut_client_to_server(void **state)
{
	(void)state;
	duo_cut_everywhere("iperf3", 0, NULL);
}

static void cut_server_to_client(void **state)
{
	(void)state;
	duo_cut_everywhere("iperf3", 1, NULL);
}

static void stalled(void **state)
{
	(void)state;
	duo_stall_at("iperf3", 0, 97, NULL);
	duo_stall_at("iperf3", 1, 97, NULL);
}

/* ---- a client against scripted servers ------------------------------------------------ */

struct script {
	const char *bytes;
	size_t n;
	int err;
	const char *says; /* in the message */
};
#define SCRIPT(text, err, says)                   \
	{                                         \
		text, sizeof(text) - 1, err, says \
	}

/* The whole of a server's words at once, then the end: coalesced as far as can be. */
static int client_reads(const char *bytes, size_t n, struct weir_err *e, enum proto_event *ev)
{
	struct duo d;
	struct net_addr addr;
	struct proto_result mine, theirs = {0};
	struct proto_session *s = &d.client;
	int ret;

	duo_init(&d, "iperf3", 1, 0);
	d.timeout_ns = 300 * NSEC_PER_MSEC;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, d.ctl[0]), 0);
	d.listen_fd = duo_listen(&addr);
	duo_session(&d, s, PROTO_CLIENT);
	s->plan = &d.plan;
	s->peer_addr = addr;
	assert_int_equal(send(d.ctl[0][1], bytes, n, 0), n);
	shutdown(d.ctl[0][1], SHUT_WR);
	*ev = PROTO_EV_NONE;
	ret = s->proto->connect(s, e);
	if (ret == 0)
		ret = s->proto->start(s, e);
	if (ret == 0) {
		mine = duo_result(1, 7);
		ret = s->proto->end(s, &mine, e);
		if (ret == 0)
			ret = s->proto->exchange(s, &mine, &theirs, e);
		if (ret == 0)
			ret = (int)theirs.flows[0].bytes;
		proto_result_fini(&mine);
	}
	s->proto->on_control(s, ev, ret < 0 ? NULL : e);
	proto_result_fini(&theirs);
	s->proto->close(s);
	close(d.ctl[0][1]);
	close(d.listen_fd);
	duo_fini(&d);
	return ret;
}

static void client_and_errors(void **state)
{
	static const struct script scripts[] = {
		SCRIPT("\xff", EBUSY, "busy"),
		SCRIPT("\x09\xff", EBUSY, "busy"),
		SCRIPT("\x09\x0a\xff", EBUSY, "busy"),
		SCRIPT("\xfe\0\0\0\x72\0\0\0\0", EREMOTEIO, "did not accept the parameters"),
		SCRIPT("\x09\xfe\0\0\0\x05\0\0\0\0", EREMOTEIO, "duration"),
		SCRIPT("\x09\xfe\0\0\0\x25\0\0\0\0", EREMOTEIO, "iperf3 error 37"),
		SCRIPT("\x09\x0a\xfe\0\0\0\xcc\0\0\0\x18", EREMOTEIO, "Too many open files"),
		SCRIPT("\x09\xfe\0\0\0\x8e", EREMOTEIO, "login"), /* 3.12: no errno */
		SCRIPT("\x09\xfe\0\0", EREMOTEIO, "reported an error"),
		SCRIPT("\x09\xfe\xff\xff\xff\xff\xff\xff\xff\xff", EREMOTEIO, "iperf3 error -1"),
		SCRIPT("\x09\x0a\x0b", ECONNABORTED, "stopped"),
		SCRIPT("\x09\x0a\x01\x0b", ECONNABORTED, "stopped"),
		SCRIPT("\x09\x0a\x01\x02\x0b", ECONNABORTED, "stopped"),
		SCRIPT("\x09\x0a\x01\x02\x0d\0\0\0\0", EMSGSIZE, "0 bytes"),
		SCRIPT("\x09\x0a\x01\x02\x0d\xff\xff\xff\xff", EMSGSIZE, "4294967295 bytes"),
		SCRIPT("\x09\x0a\x01\x02\x0d\0\0\0\x02{}", EPROTO, "streams"),
		SCRIPT("\x09\x0a\x01\x02\x0d\0\0\0\x02[]", EPROTO, "streams"),
		SCRIPT("\x09\x42", EPROTO, "0x42"),
		SCRIPT("\x09", EPIPE, "closed"),
		SCRIPT("", EPIPE, "closed"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct weir_err e = {0};
		enum proto_event ev;
		int ret = client_reads(scripts[i].bytes, scripts[i].n, &e, &ev);

		assert_int_equal(ret, -scripts[i].err);
		assert_int_equal(e.domain, WEIR_PEER);
		assert_non_null(strstr(e.msg, scripts[i].says));
	}
}

static void client_and_coalesced_bytes(void **state)
{
	static const char json[] = "{\"streams\":[{\"id\":1,\"bytes\":4242}]}";
	struct buf b = {0};
	struct weir_err e = {0};
	enum proto_event ev;

	(void)state;
	buf_put(&b, "\x09\x0a\x01\x02\x0d\0\0\0", 8);
	buf_putc(&b, (char)(sizeof(json) - 1));
	buf_puts(&b, json);
	buf_put(&b, "\x0e\xfe\0\0\0\xcd\0\0\0\0", 10); /* an error after all is said */
	assert_int_equal(client_reads(b.data, b.len, &e, &ev), 4242);
	assert_int_equal(ev, PROTO_EV_ERROR);
	assert_non_null(strstr(e.msg, "iperf3 error 205"));
	buf_clear(&b);
	buf_put(&b, "\x09\x0a\x01\x02\x0d\0\0\0", 8);
	buf_putc(&b, (char)(sizeof(json) - 1));
	buf_puts(&b, json); /* no 0e: the results count nevertheless */
	assert_int_equal(client_reads(b.data, b.len, &e, &ev), 4242);
	buf_fini(&b);
}

/* ---- a server against scripted clients --------------------------------------------------- */

static int no_data(void *arg, int64_t deadline_ns)
{
	(void)arg;
	return clk_sleep_until(deadline_ns) < 0 ? -EINTR : -ETIMEDOUT;
}

/* What the server answers after its 09, in hex. */
static int server_answers(const char *json, size_t n, uint32_t len, const struct proto_limits *lim,
			  char *hex, size_t cap)
{
	struct duo d;
	struct proto_session *s = &d.server;
	struct weir_err e = {0};
	uint8_t head[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
			   (uint8_t)len},
		got[64];
	ssize_t r;
	int ret;

	duo_init(&d, "iperf3", 1, 0);
	d.timeout_ns = 50 * NSEC_PER_MSEC;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, d.ctl[1]), 0);
	duo_session(&d, s, PROTO_SERVER);
	s->take_data = no_data;
	assert_int_equal(send(d.ctl[1][1], head, 4, 0), 4);
	if (n)
		assert_int_equal(send(d.ctl[1][1], json, n, 0), n);
	shutdown(d.ctl[1][1], SHUT_WR);
	ret = s->proto->accept(s, lim, &e);
	assert_true(ret == 0 || e.msg[0]);
	r = recv(d.ctl[1][1], got, sizeof(got), MSG_DONTWAIT);
	assert_true(r >= 1 && got[0] == 9);
	*hex = 0;
	for (ssize_t i = 1; i < r && strlen(hex) + 3 < cap; i++)
		sprintf(hex + strlen(hex), "%02x", got[i]);
	s->proto->close(s);
	close(d.ctl[1][1]);
	d.client.ctl_fd = -1;
	duo_fini(&d);
	return ret;
}

static void server_and_parameters(void **state)
{
	static const struct {
		const char *json, *hex; /* "" = accepted */
	} cases[] = {
		{"{\"tcp\":true,\"time\":1}", ""},
		{"{}", ""},
		{"{\"tcp\":1,\"title\":5,\"time\":\"x\",\"parallel\":true}", ""},
		{"{\"unknown\":{\"a\":[1,2,3]},\"TIME\":2,\"mss\":1400}", ""},
		{"{\"congestion\":\"nosuch\",\"authtoken\":\"AAAA\"}", ""},
		{"{\"time\":18446744073709551615}", "fe0000000500000000"},
		{"{\"time\":86401}", "fe0000000500000000"},
		{"{\"time\":1e999}", ""},
		{"{\"time\":NaN}", ""},
		{"{\"parallel\":129}", "fe0000000600000000"},
		{"{\"parallel\":0}", "fe0000000600000000"},
		{"{\"len\":2000000}", "fe0000000700000000"},
		{"{\"window\":1073741824}", "fe0000000800000000"},
		{"{\"omit\":601}", "fe0000000c00000000"},
		{"{\"TOS\":256}", "fe0000001500000000"},
		{"{\"num\":1,\"blockcount\":1}", "fe0000001000000000"},
		{"{\"reverse\":true,\"bidirectional\":true}", "fe0000001900000000"},
		{"{\"udp\":true,\"len\":15}", "fe0000001400000000"},
		{"{\"udp\":true,\"len\":65508}", "fe0000001400000000"},
		{"{\"sctp\":true}", "fe0000008300000000"},
		{"not json", "fe0000007200000000"},
		{"[1]", "fe0000007200000000"},
		{"{\"a\":[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]}", "fe0000007200000000"},
	};
	struct proto_limits none = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t n = strlen(cases[i].json);
		char hex[64];
		int ret = server_answers(cases[i].json, n, (uint32_t)n, &none, hex, sizeof(hex));

		if (strcmp(hex, cases[i].hex) != 0)
			print_message("%s\n", cases[i].json);
		assert_string_equal(hex, cases[i].hex);
		assert_int_equal(ret == 0, !*cases[i].hex);
	}
}

static void server_and_lengths(void **state)
{
	static const uint32_t lens[] = {0, 8193, 0x0d0a0d0a, 0x7fffffff, 0x80000000, 0xffffffff};
	struct proto_limits none = {0};
	char hex[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		assert_true(server_answers("{}", 2, lens[i], &none, hex, sizeof(hex)) < 0);
		assert_string_equal(hex, "fe0000007200000000");
	}
}

static void server_limits(void **state)
{
	static const struct {
		struct proto_limits lim;
		const char *json, *hex;
	} cases[] = {
		{{.flows = 4}, "{\"parallel\":4}", ""},
		{{.flows = 4}, "{\"parallel\":5}", "fe0000000600000000"},
		{{.duration_ns = 60 * NSEC_PER_SEC}, "{\"time\":60}", ""},
		{{.duration_ns = 60 * NSEC_PER_SEC},
		 "{\"time\":59,\"omit\":2}",
		 "fe0000002500000000"},
		{{.duration_ns = 60 * NSEC_PER_SEC}, "{\"time\":0}", "fe0000002500000000"},
		{{.rate_bps = 1000000}, "{\"bandwidth\":500000,\"parallel\":2}", ""},
		{{.rate_bps = 1000000},
		 "{\"bandwidth\":500001,\"parallel\":2}",
		 "fe0000001b00000000"},
		{{.window_total = 1000000},
		 "{\"window\":500001,\"parallel\":2}",
		 "fe0000000800000000"},
		{{.no_high_dscp = true}, "{\"TOS\":191}", ""},
		{{.no_high_dscp = true}, "{\"TOS\":192}", "fe0000001500000000"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t n = strlen(cases[i].json);
		char hex[64];

		server_answers(cases[i].json, n, (uint32_t)n, &cases[i].lim, hex, sizeof(hex));
		if (strcmp(hex, cases[i].hex) != 0)
			print_message("%s\n", cases[i].json);
		assert_string_equal(hex, cases[i].hex);
	}
}

static void client_refuses_what_iperf3_cannot(void **state)
{
	static const struct {
		size_t up, down;
		int64_t duration_ns, omit_ns;
		const char *says;
	} cases[] = {
		{129, 0, NSEC_PER_SEC, 0, "at most 128 per direction"},
		{0, 200, NSEC_PER_SEC, 0, "at most 128 per direction"},
		{2, 1, NSEC_PER_SEC, 0, "as many each way"},
		{1, 0, 86401 * NSEC_PER_SEC, 0, "at most 86400 s"},
		{1, 0, NSEC_PER_SEC, NSEC_PER_SEC / 2, "whole seconds"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct flow_spec spec = {.transport = NET_TCP};
		struct weir_err e = {0};
		struct flow_plan p;
		struct buf b = {0};

		assert_int_equal(flow_plan_init(&p, &spec, cases[i].up, cases[i].down), 0);
		p.duration_ns = cases[i].duration_ns;
		p.omit_ns = cases[i].omit_ns;
		assert_true(iperf3_params_put(&p, &b, &e) < 0);
		assert_non_null(strstr(e.msg, cases[i].says));
		flow_plan_fini(&p);
		buf_fini(&b);
	}
}

static void says(void **state)
{
	static const struct {
		enum proto_role role;
		enum proto_say what;
		const char *bytes;
		size_t n;
	} cases[] = {
		{PROTO_SERVER, PROTO_SAY_BUSY, "\xff", 1},
		{PROTO_SERVER, PROTO_SAY_REFUSED, "\xfe\0\0\0\x8e\0\0\0\0", 9},
		{PROTO_SERVER, PROTO_SAY_STOPPED, "\x0b", 1},
		{PROTO_SERVER, PROTO_SAY_FAILED, "\xfe\0\0\0\x65\0\0\0\0", 9},
		{PROTO_CLIENT, PROTO_SAY_STOPPED, "\x0c", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proto_session s = {.role = cases[i].role};
		char got[16];
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		s.ctl_fd = pair[0];
		proto_find("iperf3")->say(&s, cases[i].what);
		assert_int_equal(recv(pair[1], got, sizeof(got), MSG_DONTWAIT), cases[i].n);
		assert_memory_equal(got, cases[i].bytes, cases[i].n);
		close(pair[0]);
		close(pair[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_agree),
		cmocka_unit_test(flows_keep_their_order),
		cmocka_unit_test(client_and_errors),
		cmocka_unit_test(client_and_coalesced_bytes),
		cmocka_unit_test(server_and_parameters),
		cmocka_unit_test(server_and_lengths),
		cmocka_unit_test(server_limits),
		cmocka_unit_test(client_refuses_what_iperf3_cannot),
		cmocka_unit_test(says),
		cmocka_unit_test(cut_client_to_server),
		cmocka_unit_test(cut_server_to_client),
		cmocka_unit_test(stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
