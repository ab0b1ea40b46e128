/* SPDX-License-Identifier: BSD-2-Clause */
/* The native protocol: both roles against each other, keys, limits, cut anywhere, odd peers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include "proto_util.h"

#include "proto/weir.h"

static void roles_agree(void **state)
{
	static const struct {
		size_t up, down;
	} shapes[] = {{1, 0}, {0, 1}, {3, 2}, {1, 7}, {300, 300}};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
		size_t up = shapes[k].up, down = shapes[k].down;
		struct duo d;

		duo_init(&d, "weir", up, down);
		d.plan.omit_ns = 123456789;
		d.plan.probe = FLOW_PROBE_CTL_RTT;
		snprintf(d.plan.title, sizeof(d.plan.title), "t");
		d.client_facts = "{\"kernel\":\"6.1\"}";
		d.server_facts = "{\"cpu\":\"x\",\"n\":2}";
		duo_run(&d);
		assert_int_equal(d.client_ret, 0);
		assert_int_equal(d.server_ret, 0);
		assert_true(d.server_saw_end);
		assert_int_equal(d.server.plan->n, up + down);
		assert_int_equal(flow_plan_count(d.server.plan, NET_DOWN), down);
		assert_int_equal(d.server.plan->omit_ns, 123456789);
		assert_int_equal(d.server.plan->probe, FLOW_PROBE_CTL_RTT);
		assert_string_equal(d.server.plan->title, "t");
		assert_string_equal(d.server.peer.tool, "weir");
		assert_string_equal(d.client.peer.version, weir_version);
		assert_string_equal(d.server.facts, "{\"kernel\":\"6.1\"}");
		assert_string_equal(d.client.facts, "{\"cpu\":\"x\",\"n\":2}");
		assert_string_equal(d.client.lowered, "");
		for (size_t i = 0; i < up + down; i++) {
			assert_int_equal(d.client_got.flows[i].bytes, 5000 + i);
			assert_int_equal(d.server_got.flows[i].bytes, 1000 + i);
			assert_int_equal(d.server_got.flows[i].retransmits, (int)i);
			assert_float_equal(d.server_got.flows[i].seconds, 1.5, 0);
		}
		assert_int_equal(d.told_sent, up ? 1000 : 0);
		assert_float_equal(d.client_got.cpu_user, 0.25, 0);
		assert_string_equal(d.server_got.cc, "cubic");
		duo_fini(&d);
	}
}

/* Unlike flows, each with every field of its own. */
static void the_whole_plan_travels(void **state)
{
	struct duo d;

	(void)state;
	duo_init(&d, "weir", 2, 1);
	d.plan.flows[0] = (struct flow_spec){.dir = NET_UP,
					     .rate_bps = 5000000,
					     .burst = 3,
					     .len = 1000,
					     .window = 65536,
					     .mss = 1200,
					     .tos = 0x28,
					     .nodelay = true,
					     .rx_trunc = true,
					     .tx = NET_TX_ZEROCOPY,
					     .cc = "reno",
					     .fq_rate_bps = 1000000};
	d.plan.flows[1].tos = 1;
	d.plan.duration_ns = 0;
	d.plan.bytes = (uint64_t)1 << 40;
	duo_run(&d);
	assert_int_equal(d.server_ret, 0);
	assert_int_equal(d.server.plan->bytes, (uint64_t)1 << 40);
	assert_int_equal(d.server.plan->duration_ns, 0);
	for (size_t i = 0; i < 3; i++) {
		const struct flow_spec *a = &d.plan.flows[i], *b = &d.server.plan->flows[i];

		assert_int_equal(a->dir, b->dir);
		assert_int_equal(a->rate_bps, b->rate_bps);
		assert_int_equal(a->burst, b->burst);
		assert_int_equal(a->len, b->len);
		assert_int_equal(a->window, b->window);
		assert_int_equal(a->mss, b->mss);
		assert_int_equal(a->tos, b->tos);
		assert_int_equal(a->nodelay, b->nodelay);
		assert_int_equal(a->rx_trunc, b->rx_trunc);
		assert_int_equal(a->tx, b->tx);
		assert_string_equal(a->cc, b->cc);
		assert_int_equal(a->fq_rate_bps, b->fq_rate_bps);
	}
	duo_fini(&d);
}

static void lines_pings_clocks(void **state)
{
	struct duo d;
	struct buf want = {0};

	(void)state;
	duo_init(&d, "weir", 1, 1);
	d.lines = 100;
	d.pings = 5;
	duo_run(&d);
	assert_int_equal(d.client_ret, 0);
	assert_int_equal(d.server_ret, 0);
	assert_int_equal(d.rtts, 5);
	for (size_t i = 0; i < 100; i++)
		buf_printf(&want, "{\"type\":\"tick\",\"k\":%zu}\n", i);
	assert_string_equal(d.client_lines.data, want.data);
	/* One machine, one clock: the offset is within the error that is claimed for it. */
	assert_true(d.client.clock_known && d.server.clock_known);
	assert_true(llabs(d.client.clock_offset_ns) <= d.client.clock_error_ns);
	assert_int_equal(d.server.clock_offset_ns, -d.client.clock_offset_ns);
	assert_int_equal(d.server.clock_error_ns, d.client.clock_error_ns);
	buf_fini(&want);
	duo_fini(&d);
}

static void keys(void **state)
{
	static const struct {
		const char *client, *server, *says;
		int client_ret, server_ret;
	} cases[] = {
		{"secret", "secret", "", 0, 0},
		{"secret", "other", "not the same", -EACCES, -EACCES},
		{NULL, "secret", "wants a pre-shared key", -EACCES, -EPIPE},
		{"secret", NULL, "has no pre-shared key", -EACCES, -EPIPE},
	};
	char hex[PROTO_MAC_HEX];

	(void)state;
	if (proto_psk_mac("k", NULL, 0, hex) == -ENOTSUP) {
		print_message("skipped: built without libcrypto\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct duo d;

		duo_init(&d, "weir", 1, 0);
		d.client_psk = cases[i].client;
		d.server_psk = cases[i].server;
		duo_run(&d);
		assert_int_equal(d.client_ret, cases[i].client_ret);
		assert_int_equal(d.server_ret, cases[i].server_ret);
		assert_non_null(strstr(d.client_err.msg, cases[i].says));
		duo_fini(&d);
	}
}

static void limits_lower(void **state)
{
	struct duo d;

	(void)state;
	duo_init(&d, "weir", 6, 3);
	d.plan.duration_ns = 100 * NSEC_PER_SEC;
	d.plan.flows[0].rate_bps = 1000;
	d.plan.flows[1].tos = 7; /* unlike the others: which ones stay can be told */
	d.limits = (struct proto_limits){
		.flows = 2, .duration_ns = 10 * NSEC_PER_SEC, .rate_bps = 40000};
	d.plan.omit_ns = NSEC_PER_SEC;
	duo_run(&d);
	assert_int_equal(d.client_ret, 0);
	assert_int_equal(d.server_ret, 0);
	for (int end = 0; end < 2; end++) {
		const struct flow_plan *p = end ? d.server.plan : &d.plan;

		assert_int_equal(p->n, 4);
		assert_int_equal(flow_plan_count(p, NET_UP), 2);
		assert_int_equal(p->flows[1].tos, 7);
		assert_int_equal(p->flows[2].dir, NET_DOWN);
		assert_int_equal(p->duration_ns, 9 * NSEC_PER_SEC);
		assert_int_equal(p->flows[0].rate_bps, 1000);
		assert_int_equal(p->flows[3].rate_bps, 10000);
	}
	assert_string_equal(d.client.lowered,
			    "4 of 9 flows, 9 s of 100 s, at most 10000 bit/s a flow");
	assert_string_equal(d.server.lowered, d.client.lowered);
	duo_fini(&d);
}

static void limits_refuse(void **state)
{
	static const struct {
		struct proto_limits lim;
		struct flow_spec spec;
		int64_t duration_ns;
		const char *says;
	} cases[] = {
		{{.no_high_dscp = true}, {.tos = 0xc0}, NSEC_PER_SEC, "CS6"},
		{{.window_total = 100000}, {.window = 60000}, NSEC_PER_SEC, "windows of 120000"},
		{{.duration_ns = NSEC_PER_SEC}, {0}, 0, "without a duration"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct duo d;

		duo_init(&d, "weir", 2, 0);
		d.plan.flows[0] = d.plan.flows[1] = cases[i].spec;
		d.plan.duration_ns = cases[i].duration_ns;
		d.limits = cases[i].lim;
		duo_run(&d);
		assert_int_equal(d.client_ret, -EDQUOT);
		assert_int_equal(d.server_ret, -EDQUOT);
		assert_non_null(strstr(d.client_err.msg, cases[i].says));
		duo_fini(&d);
	}
}

static void with_lines(struct duo *d)
{
	d->lines = 2;
	d->pings = 2;
}

static void cut_client_to_server(void **state)
{
	(void)state;
	duo_cut_everywhere("weir", 0, with_lines);
}

static void cut_server_to_client(void **state)
{
	(void)state;
	duo_cut_everywhere("weir", 1, with_lines);
}

static void stalled(void **state)
{
	(void)state;
	duo_stall_at("weir", 0, 331, with_lines);
	duo_stall_at("weir", 1, 331, with_lines);
}

/* ---- against scripted peers ----------------------------------------------------------- */

#define NONCE "00112233445566778899aabbccddeeff"
#define HELLO "{\"m\":\"hello\",\"proto\":1,\"version\":\"9\",\"nonce\":\"" NONCE "\"}\n"

static int role_reads(enum proto_role role, const char *bytes, struct weir_err *e)
{
	struct duo d;
	struct net_addr addr;
	struct proto_session *s = role == PROTO_CLIENT ? &d.client : &d.server;
	size_t n = strlen(bytes);
	int ret;

	duo_init(&d, "weir", 1, 0);
	d.timeout_ns = 300 * NSEC_PER_MSEC;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, d.ctl[role]), 0);
	d.listen_fd = duo_listen(&addr);
	duo_session(&d, s, role);
	(role == PROTO_CLIENT ? &d.server : &d.client)->ctl_fd = -1;
	if (role == PROTO_CLIENT)
		s->plan = &d.plan;
	s->peer_addr = addr;
	assert_int_equal(send(d.ctl[role][1], bytes, n, 0), n);
	shutdown(d.ctl[role][1], SHUT_WR);
	ret = role == PROTO_CLIENT ? s->proto->connect(s, e) : s->proto->accept(s, &d.limits, e);
	if (ret == 0)
		ret = s->proto->start(s, e);
	s->proto->close(s);
	close(d.ctl[role][1]);
	close(d.listen_fd);
	duo_fini(&d);
	return ret;
}

static void odd_servers(void **state)
{
	static const struct {
		const char *bytes, *says;
		int err;
	} cases[] = {
		{"", "closed", EPIPE},
		{"HTTP/1.1 400 Bad Request\r\n", "no message", EPROTO},
		{"{\"m\":\"error\",\"code\":\"busy\",\"msg\":\"full\"}\n", "full", EBUSY},
		{"{\"m\":\"error\",\"code\":5,\"msg\":{}}\n", "reported an error", EREMOTEIO},
		{"{\"m\":\"error\",\"msg\":\"a\\u001b[31mb\"}\n", "\\x1b[31mb", EREMOTEIO},
		{"{\"m\":\"stopped\"}\n", "stopped", ECONNABORTED},
		{"{\"m\":\"hello\"}\n", "proto of the greeting", EPROTO},
		{"{\"m\":\"hello\",\"proto\":\"1\"}\n", "proto of the greeting", EPROTO},
		{"{\"m\":\"hello\",\"proto\":1,\"version\":\"9\",\"nonce\":\"zz\"}\n", "nonce",
		 EPROTO},
		{"{\"m\":\"hello\",\"proto\":1,\"version\":\"9\",\"nonce\":\"" NONCE "00\"}\n",
		 "nonce", EPROTO},
		{"{\"m\":\"hello\",", "closed", EPIPE},
		{"{\"m\":\"\n", "premature", EINVAL},
		{HELLO "{\"m\":\"ok\"}\n", "flows_up", EPROTO},
		{HELLO "{\"m\":\"ok\",\"flows_up\":2,\"flows_down\":0,\"duration_ns\":1}\n",
		 "more was agreed", EPROTO},
		{HELLO "{\"m\":\"ok\",\"flows_up\":0,\"flows_down\":0,\"duration_ns\":1}\n",
		 "more was agreed", EPROTO},
		{HELLO "{\"m\":\"ok\",\"flows_up\":1,\"flows_down\":0,\"duration_ns\":0}\n",
		 "more was agreed", EPROTO},
		{HELLO "{\"m\":\"ok\",\"flows_up\":-1,\"flows_down\":0,\"duration_ns\":1}\n",
		 "flows_up", ERANGE},
		{HELLO "{\"m\":\"later\",\"x\":[1]}\n\r\n{\"m\":\"error\",\"code\":\"limit\","
		       "\"msg\":\"m\"}\n",
		 ": m", EDQUOT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct weir_err e = {0};
		int ret = role_reads(PROTO_CLIENT, cases[i].bytes, &e);

		if (ret != -cases[i].err || !strstr(e.msg, cases[i].says))
			print_message("%s -> %d %s\n", cases[i].bytes, ret, e.msg);
		assert_non_null(strstr(e.msg, cases[i].says));
		if (*cases[i].says)
			assert_int_equal(ret, -cases[i].err);
		assert_true(ret < 0);
	}
}

#define REQ  "{\"m\":\"request\",\"version\":\"9\",\"nonce\":\"" NONCE "\","
#define FLOW "{\"dir\":\"up\"}"

static void odd_clients(void **state)
{
	static const struct {
		const char *bytes, *says;
		int err;
	} cases[] = {
		{"{\"m\":\"request\"}\n", "version of the request", EPROTO},
		{REQ "\"plan\":5}\n", "without a plan", EPROTO},
		{REQ "\"plan\":{}}\n", "without flows", EPROTO},
		{REQ "\"plan\":{\"flows\":{}}}\n", "without flows", EPROTO},
		{REQ "\"plan\":{\"flows\":[5]}}\n", "dir of the flow", EPROTO},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"left\"}]}}\n", "dir of the flow", ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"n\":4097}]}}\n", "4096", ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"n\":4096}," FLOW "]}}\n", "4096",
		 ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"n\":0}]}}\n", "4096", ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"n\":\"1\"}]}}\n", "n of a flow",
		 EPROTO},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"len\":-1}]}}\n", "len of the flow",
		 ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"len\":4294967296}]}}\n",
		 "len of the flow", ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"tos\":256}]}}\n", "tos of the flow",
		 ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"cc\":\"0123456789abcdef\"}]}}\n",
		 "cc of the flow", EPROTO},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"up\",\"rate_bps\":1e999}]}}\n",
		 "rate_bps of the flow", EPROTO},
		{REQ "\"plan\":{\"flows\":[" FLOW ",{\"dir\":\"up\",\"transport\":\"udp\"}]}}\n",
		 "TCP and UDP in one test", EOPNOTSUPP},
		{REQ "\"plan\":{\"duration_ns\":NaN,\"flows\":[" FLOW "]}}\n",
		 "duration_ns of the plan", EPROTO},
		{REQ "\"plan\":{\"duration_ns\":-5,\"flows\":[" FLOW "]}}\n",
		 "duration_ns of the plan", ERANGE},
		{REQ "\"plan\":{\"flows\":[{\"dir\":\"down\"}," FLOW "]}}\n", "up flows come",
		 EINVAL},
		{REQ "\"plan\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}\n", "", EINVAL},
		{"GET / HTTP/1.0\r\n", "no message", EPROTO},
		{REQ "\"plan\":{\"flows\":[" FLOW "]}}\n", "closed", EPIPE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct weir_err e = {0};
		int ret = role_reads(PROTO_SERVER, cases[i].bytes, &e);

		if (ret >= 0 || !strstr(e.msg, cases[i].says))
			print_message("%s -> %d %s\n", cases[i].bytes, ret, e.msg);
		assert_non_null(strstr(e.msg, cases[i].says));
		if (*cases[i].says)
			assert_int_equal(ret, -cases[i].err);
		assert_true(ret < 0);
	}
}

static void long_lines(void **state)
{
	static const size_t lens[] = {WEIR_LINE_MAX - 16, WEIR_LINE_MAX + 1, 3 * WEIR_LINE_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct weir_err e = {0};
		struct buf b = {0};
		int ret;

		buf_puts(&b, "{\"m\":\"x\",\"y\":\"");
		buf_repeat(&b, 'y', lens[i] - b.len);
		buf_puts(&b, "\"}\n");
		ret = role_reads(PROTO_SERVER, b.data, &e);
		assert_int_equal(ret, lens[i] > WEIR_LINE_MAX ? -EMSGSIZE : -EPIPE);
		buf_fini(&b);
	}
}

/* What many flows fill a line with arrives; of a run, and at a client, alone. */
static void long_run_lines(void **state)
{
	static const struct {
		const char *begin;
		size_t len;
		bool runs, ok;
	} cases[] = {
		{"{\"type\":\"tick\",\"x\":\"", WEIR_TICK_MAX, true, true},
		{"{\"type\":\"tick\",\"x\":\"", WEIR_TICK_MAX + 1, true, false},
		{"{\"type\":\"tick\",\"x\":\"", WEIR_LINE_MAX + 1, false, false},
		{"{\"m\":\"x\",\"y\":\"", WEIR_LINE_MAX + 1, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct weir_io tx, rx;
		struct buf b = {0};
		const char *line;
		size_t n = 0;
		int pair[2], ret = -EAGAIN;

		buf_puts(&b, cases[i].begin);
		buf_repeat(&b, 'y', cases[i].len - b.len);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		weir_io_init(&tx, pair[0], false);
		weir_io_init(&rx, pair[1], cases[i].runs);
		buf_put(&tx.out, b.data, b.len);
		buf_putc(&tx.out, '\n');
		for (int k = 0; k < 1000 && ret == -EAGAIN; k++) {
			weir_io_flush(&tx, clk_mono_ns());
			weir_io_fill(&rx);
			ret = weir_io_line(&rx, &line, &n);
		}
		assert_int_equal(ret, cases[i].ok ? 0 : -EMSGSIZE);
		if (cases[i].ok)
			assert_int_equal(n, cases[i].len);
		if (cases[i].runs)
			assert_int_equal(weir_io_put(&tx, b.data, b.len) == -EMSGSIZE,
					 !cases[i].ok);
		weir_io_fini(&tx);
		weir_io_fini(&rx);
		close(pair[0]);
		close(pair[1]);
		buf_fini(&b);
	}
}

/* A client that reads nothing holds the server for the queue's bound, then it is given up. */
static void the_queue_is_bounded(void **state)
{
	struct weir_io io;
	char line[1024];
	size_t put = 0;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	weir_io_init(&io, pair[0], false);
	memset(line, 'x', sizeof(line));
	while (io.out.len + sizeof(line) < WEIR_QUEUE_MAX) {
		int64_t start = clk_mono_ns();

		assert_int_equal(weir_io_put(&io, line, sizeof(line)), 0);
		assert_true(clk_mono_ns() - start < NSEC_PER_SEC);
		put += sizeof(line) + 1;
	}
	assert_int_equal(weir_io_flush(&io, clk_mono_ns() + 20 * NSEC_PER_MSEC), -ETIMEDOUT);
	assert_true(put < 16 * WEIR_QUEUE_MAX);
	weir_io_fini(&io);
	close(pair[0]);
	close(pair[1]);
}

#define MANY 200

static int read_many(struct weir_io *io)
{
	const char *line;
	size_t n = 0;
	int ret = 0;

	for (int i = 0; ret == 0 && i < MANY; i++)
		ret = weir_io_wait(io, &line, &n, clk_mono_ns() + 5 * NSEC_PER_SEC, -1);
	return ret == 0 && n == 1024 ? 0 : -EPROTO;
}

static void *other_end(void *arg)
{
	struct weir_io *io = arg;
	int ret = weir_io_flush(io, clk_mono_ns() + 5 * NSEC_PER_SEC);

	if (ret == 0)
		ret = read_many(io);
	return ret ? arg : NULL;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Two ends with more to say than the sockets hold do not wait for each other. */
static void two_full_senders(void **state)
{
	struct weir_io io[2];
	char line[1024];
	int pair[2], small = 4096;
	pthread_t other;
	void *failed;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
				 0);
		weir_io_init(&io[i], pair[i], false);
		io[i].meanwhile = i == 0 ? nothing : NULL;
		for (int k = 0; k < MANY; k++)
			assert_int_equal(weir_io_put(&io[i], line, sizeof(line)), 0);
	}
	assert_int_equal(pthread_create(&other, NULL, other_end, &io[1]), 0);
	assert_int_equal(weir_io_flush(&io[0], clk_mono_ns() + 5 * NSEC_PER_SEC), 0);
	assert_int_equal(read_many(&io[0]), 0);
	pthread_join(other, &failed);
	assert_null(failed);
	for (int i = 0; i < 2; i++) {
		weir_io_fini(&io[i]);
		close(pair[i]);
	}
}

static void says(void **state)
{
	static const struct {
		enum proto_say what;
		const char *has;
		int err;
	} cases[] = {
		{PROTO_SAY_BUSY, "as many", EBUSY},
		{PROTO_SAY_REFUSED, "does not serve", EPERM},
		{PROTO_SAY_FAILED, "failed", EREMOTEIO},
		{PROTO_SAY_STOPPED, "stopped", ECONNABORTED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proto_session s = {.role = PROTO_SERVER};
		struct weir_err e = {0};
		char got[512] = "";
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		s.ctl_fd = pair[0];
		proto_find("weir")->say(&s, cases[i].what);
		assert_true(recv(pair[1], got, sizeof(got) - 1, MSG_DONTWAIT) > 0);
		assert_int_equal(role_reads(PROTO_CLIENT, got, &e), -cases[i].err);
		assert_non_null(strstr(e.msg, cases[i].has));
		close(pair[0]);
		close(pair[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_agree),
		cmocka_unit_test(the_whole_plan_travels),
		cmocka_unit_test(lines_pings_clocks),
		cmocka_unit_test(keys),
		cmocka_unit_test(limits_lower),
		cmocka_unit_test(limits_refuse),
		cmocka_unit_test(odd_servers),
		cmocka_unit_test(odd_clients),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(long_run_lines),
		cmocka_unit_test(the_queue_is_bounded),
		cmocka_unit_test(two_full_senders),
		cmocka_unit_test(says),
		cmocka_unit_test(cut_client_to_server),
		cmocka_unit_test(cut_server_to_client),
		cmocka_unit_test(stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
