/* SPDX-License-Identifier: BSD-2-Clause */
/* proto_dial against peers that are not what was hoped for: each is named. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include "proto_util.h"

enum act { ACT_ANSWER, ACT_ECHO, ACT_RESET, ACT_AFTER_LINE };

struct fake {
	int listen_fd;
	enum act act;
	const char *bytes;
	size_t n;
	char got[64];
	size_t n_got;
};

static void *fake_run(void *arg)
{
	struct fake *f = arg;
	struct linger now = {.l_onoff = 1};
	int64_t deadline = clk_mono_ns() + 5 * NSEC_PER_SEC;
	char waste[64];
	int fd = accept(f->listen_fd, NULL, NULL);

	if (fd < 0)
		return arg;
	if (net_read_full(fd, f->got, PROTO_COOKIE_LEN, deadline, -1) == 0)
		f->n_got = PROTO_COOKIE_LEN;
	if (f->act == ACT_AFTER_LINE) /* a web server: silent until a line is whole */
		net_read_full(fd, waste, 2, deadline, -1);
	if (f->act == ACT_ECHO)
		net_write_full(fd, f->got, f->n_got, deadline, -1);
	if (f->n)
		net_write_full(fd, f->bytes, f->n, deadline, -1);
	if (f->act == ACT_RESET)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	else if (f->bytes)
		while (net_read_full(fd, waste, 1, deadline, -1) == 0)
			;
	close(fd);
	return NULL;
}

static int dial(struct fake *f, const char *force, const char *psk, struct weir_err *e)
{
	struct flow_spec spec = {0};
	struct flow_plan plan;
	struct proto_session s = {.plan = &plan,
				  .host = "127.0.0.1",
				  .psk = psk,
				  .stop_fd = -1,
				  .timeout_ns = 150 * NSEC_PER_MSEC};
	struct net_addr addr;
	pthread_t t;
	int ret;

	assert_int_equal(flow_plan_init(&plan, &spec, 1, 0), 0);
	plan.duration_ns = NSEC_PER_SEC;
	f->listen_fd = duo_listen(&addr);
	s.port = net_addr_port(&addr);
	assert_int_equal(pthread_create(&t, NULL, fake_run, f), 0);
	ret = proto_dial(&s, force, e);
	assert_true(ret < 0);
	assert_int_equal(s.ctl_fd, -1);
	assert_null(s.state);
	assert_null(s.fds);
	pthread_join(t, NULL);
	close(f->listen_fd);
	flow_plan_fini(&plan);
	return ret;
}

#define BYTES(text) text, sizeof(text) - 1

static void named_peers(void **state)
{
	static const struct {
		enum act act;
		const char *bytes;
		size_t n;
		const char *force;
		int err;
		const char *says;
	} cases[] = {
		{ACT_ANSWER, BYTES("HTTP/1.1 400 Bad Request\r\n"), NULL, EPROTO, "HTTP"},
		{ACT_AFTER_LINE, BYTES("HTTP/1.1 400 Bad Request\r\n"), NULL, EPROTO, "HTTP"},
		{ACT_AFTER_LINE, BYTES("<!DOCTYPE HTML>"), NULL, EPROTO, "HTTP"},
		{ACT_ANSWER, BYTES("SSH-2.0-OpenSSH_9.2p1\r\n"), NULL, EPROTO, "SSH"},
		{ACT_ANSWER, BYTES("\x15\x03\x01\x00\x02\x02\x46"), NULL, EPROTO, "TLS"},
		{ACT_ANSWER, BYTES("220 mail ESMTP\r\n"), NULL, EPROTO, "mail or FTP"},
		{ACT_ANSWER, BYTES("\xff\xfd\x18\xff\xfd\x20"), NULL, EPROTO, "telnet"},
		{ACT_ANSWER, BYTES("\x1b[2Jhello"), NULL, EPROTO, "\\x1b[2Jhello"},
		{ACT_ECHO, BYTES(""), NULL, EPROTO, "echo"},
		{ACT_ANSWER, BYTES(""), NULL, ETIMEDOUT, "iperf 2"},
		{ACT_ANSWER, NULL, 0, NULL, ECONNRESET, "closes it at once"},
		{ACT_RESET, NULL, 0, NULL, ECONNRESET, "closes it at once"},
		{ACT_ANSWER, BYTES("\xff"), NULL, EBUSY, "busy"},
		{ACT_AFTER_LINE, BYTES("\x09"), NULL, EBUSY, "too late"},
		{ACT_ANSWER, BYTES("\xfe\0\0\0\x8e\0\0\0\0"), NULL, EREMOTEIO, "login"},
		{ACT_ANSWER, BYTES("\x09\xff"), NULL, EBUSY, "busy"},
		{ACT_ANSWER, BYTES("\x09"), "weir", EPROTONOSUPPORT, "speaks iperf3, not weir"},
		{ACT_ANSWER, BYTES("{\"m\":\"hello\"}\n"), "iperf3", EPROTONOSUPPORT,
		 "speaks weir, not iperf3"},
		{ACT_ANSWER, BYTES("{\"m\":\"error\",\"code\":\"busy\",\"msg\":\"full\"}\n"), NULL,
		 EBUSY, "full"},
		{ACT_ANSWER, BYTES("{\"some\":\"json\"}\n"), NULL, EPROTO, "no message"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fake f = {.act = cases[i].act, .bytes = cases[i].bytes, .n = cases[i].n};
		struct weir_err e = {0};
		int64_t start = clk_mono_ns();
		int ret = dial(&f, cases[i].force, NULL, &e);

		if (ret != -cases[i].err || !strstr(e.msg, cases[i].says))
			print_message("case %zu: %d %s\n", i, ret, e.msg);
		assert_non_null(strstr(e.msg, cases[i].says));
		assert_int_equal(ret, -cases[i].err);
		assert_int_equal(f.n_got, PROTO_COOKIE_LEN);
		assert_int_equal(proto_cookie_is_native(f.got),
				 !cases[i].force || strcmp(cases[i].force, "iperf3") != 0);
		assert_true(clk_mono_ns() - start < 2 * NSEC_PER_SEC);
	}
}

static void a_key_is_proved_or_no_test(void **state)
{
	struct fake plain = {.act = ACT_ANSWER, .bytes = "\x09", .n = 1};
	struct fake busy = {.act = ACT_ANSWER, .bytes = "\xff", .n = 1};
	struct weir_err e = {0};

	(void)state;
	assert_int_equal(dial(&plain, NULL, "key", &e), -EACCES);
	assert_non_null(strstr(e.msg, "speaks iperf3, which cannot prove the pre-shared key"));
	e = (struct weir_err){0};
	assert_int_equal(dial(&busy, NULL, "key", &e), -EBUSY);
}

static void nobody(void **state)
{
	struct net_addr addr;
	struct proto_session s = {.host = "127.0.0.1", .stop_fd = -1};
	struct weir_err e = {0};

	(void)state;
	close(duo_listen(&addr));
	s.port = net_addr_port(&addr);
	assert_int_equal(proto_dial(&s, NULL, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.msg, "refuses"));
	assert_int_equal(proto_dial(&s, "nosuch", &e), -EINVAL);
	assert_int_equal(e.domain, WEIR_USAGE);
}

static void stopped(void **state)
{
	struct net_addr addr;
	struct proto_session s = {.host = "127.0.0.1"};
	struct weir_err e = {0};
	int listen_fd = duo_listen(&addr), pair[2];

	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	s.stop_fd = pair[0];
	s.port = net_addr_port(&addr);
	assert_int_equal(proto_dial(&s, NULL, &e), -ECANCELED);
	close(pair[0]);
	close(pair[1]);
	close(listen_fd);
}

/* ---- who answers by datagrams, or to a request alone ----------------------------------- */

/* An iperf 2 server of UDP that answers ends, or only listens. */
struct udp_peer {
	int fd, quit[2];
	atomic_bool answers;
	unsigned data, ends;
	pthread_t thread;
};

static void *udp_peer_run(void *arg)
{
	struct udp_peer *u = arg;
	struct pollfd p[2] = {{.fd = u->fd, .events = POLLIN},
			      {.fd = u->quit[0], .events = POLLIN}};
	const struct iperf2_report r = {.bytes = 256, .datagrams = 1, .seconds = 0.02};

	while (poll(p, 2, -1) > 0 && (p[0].revents || !p[1].revents)) {
		struct net_addr from = {.len = sizeof(from.ss)};
		uint8_t b[2048], out[IPERF2_REPORT_MAX];
		ssize_t n = recvfrom(u->fd, b, sizeof(b), 0, &from.sa, &from.len);

		if (n < 4)
			continue;
		if (!(b[0] & 0x80)) {
			u->data++;
			continue;
		}
		u->ends++;
		if (u->answers)
			sendto(u->fd, out, iperf2_report_put(&r, false, 1, (size_t)n, out), 0,
			       &from.sa, from.len);
	}
	return NULL;
}

static void udp_peer_start(struct udp_peer *u, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	u->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(u->fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(u->fd);
		print_message("UDP port %u is another program's\n", port);
		skip();
	}
	assert_int_equal(pipe(u->quit), 0);
	assert_int_equal(pthread_create(&u->thread, NULL, udp_peer_run, u), 0);
}

static void udp_peer_stop(struct udp_peer *u)
{
	assert_int_equal(write(u->quit[1], "x", 1), 1);
	pthread_join(u->thread, NULL);
	close(u->quit[0]);
	close(u->quit[1]);
	close(u->fd);
}

static int dial_udp(uint16_t port, const char *force, struct proto_session *s,
		    struct flow_plan *plan, struct weir_err *e)
{
	const struct flow_spec spec = {.transport = NET_UDP, .rate_bps = 1000000, .len = 200};

	assert_int_equal(flow_plan_init(plan, &spec, 1, 0), 0);
	plan->duration_ns = NSEC_PER_SEC;
	*s = (struct proto_session){.plan = plan,
				    .host = "127.0.0.1",
				    .port = port,
				    .stop_fd = -1,
				    .timeout_ns = 5 * NSEC_PER_SEC};
	return proto_dial(s, force, e);
}

static void hang_up(struct proto_session *s, struct flow_plan *plan)
{
	if (s->state)
		s->proto->close(s);
	proto_session_fini(s);
	flow_plan_fini(plan);
}

/* Nobody has the port by TCP: a report of one datagram tells that iperf 2 has it by UDP. */
static void iperf2_by_udp(void **state)
{
	struct udp_peer u = {.answers = true};
	struct proto_session s;
	struct flow_plan plan;
	struct weir_err e = {0};
	struct net_addr addr;

	(void)state;
	close(duo_listen(&addr));
	udp_peer_start(&u, net_addr_port(&addr));
	assert_int_equal(dial_udp(net_addr_port(&addr), NULL, &s, &plan, &e), 0);
	assert_string_equal(s.proto->name, "iperf2");
	assert_non_null(strstr(s.found, "iperf2 answers there"));
	assert_int_equal(s.n_fds, 1);
	hang_up(&s, &plan);
	udp_peer_stop(&u);
	assert_int_equal(u.data, 1);
	assert_true(u.ends >= 1);
}

static void silence_is_no_answer(void **state)
{
	struct udp_peer u = {.answers = false};
	struct proto_session s;
	struct flow_plan plan;
	struct weir_err e = {0};
	struct net_addr addr;
	int64_t start = clk_mono_ns();

	(void)state;
	close(duo_listen(&addr));
	udp_peer_start(&u, net_addr_port(&addr));
	assert_int_equal(dial_udp(net_addr_port(&addr), NULL, &s, &plan, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.msg, "refuses"));
	assert_int_equal(s.n_fds, 0); /* nothing is tested */
	assert_true(clk_mono_ns() - start < 30 * NSEC_PER_SEC);
	hang_up(&s, &plan);
	udp_peer_stop(&u);
	assert_int_equal(u.data, 1);
	assert_int_equal(u.ends, 4);
}

/* Without a port: weir's and iperf3's, then iperf 2's own, then nttcp's. */
static void in_order(void **state)
{
	struct udp_peer u = {.answers = true};
	struct proto_session s;
	struct flow_plan plan;
	struct weir_err e = {0};

	(void)state;
	udp_peer_start(&u, 5001);
	assert_int_equal(dial_udp(0, NULL, &s, &plan, &e), 0);
	assert_string_equal(s.proto->name, "iperf2");
	assert_int_equal(s.port, 5001);
	assert_non_null(strstr(s.found, "port 5001, nobody on 5201"));
	hang_up(&s, &plan);
	u.answers = false;
	assert_int_equal(dial_udp(5001, NULL, &s, &plan, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "nothing was tested"));
	hang_up(&s, &plan);
	e = (struct weir_err){0};
	assert_int_equal(dial_udp(0, NULL, &s, &plan, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.hint, "UDP 5001: no answer"));
	assert_non_null(strstr(e.hint, "TCP 5037: refused"));
	hang_up(&s, &plan);
	udp_peer_stop(&u);
	assert_int_equal(dial_udp(0, NULL, &s, &plan, &e), -ECONNREFUSED);
	assert_non_null(strstr(e.hint, "UDP 5001: refused"));
	hang_up(&s, &plan);
}

struct nttcp_peer {
	int listen_fd, data_fd;
	uint16_t data_port;
	char request[256];
};

/* As nttcp does: to a greeting that is no request of its own it has no port. */
static void *nttcp_peer_run(void *arg)
{
	struct nttcp_peer *n = arg;
	int64_t deadline = clk_mono_ns() + 30 * NSEC_PER_SEC;
	int fd = accept(n->listen_fd, NULL, NULL);
	char line[64];
	int len;

	net_write_full(fd, "dataport: -1\n", 13, deadline, -1);
	while (net_read_full(fd, line, 1, deadline, -1) == 0)
		;
	close(fd);
	fd = accept(n->listen_fd, NULL, NULL);
	for (size_t i = 0; i + 1 < sizeof(n->request); i++) {
		if (net_read_full(fd, n->request + i, 1, deadline, -1) < 0 || n->request[i] == '\n')
			break;
	}
	len = snprintf(line, sizeof(line), "dataport: %u\n", n->data_port);
	net_write_full(fd, line, (size_t)len, deadline, -1);
	close(accept(n->data_fd, NULL, NULL));
	close(fd);
	return NULL;
}

static void nttcp_anywhere(void **state)
{
	const struct net_sock_opts o = {.bind_host = "127.0.0.1", .family = AF_INET};
	const struct flow_spec spec = {.transport = NET_TCP};
	struct nttcp_peer n = {.data_fd = -1};
	struct flow_plan plan;
	struct net_addr addr;
	struct weir_err e = {0};
	struct proto_session s = {
		.plan = &plan, .host = "127.0.0.1", .stop_fd = -1, .timeout_ns = 5 * NSEC_PER_SEC};
	pthread_t t;

	(void)state;
	for (n.data_port = 5038; n.data_fd < 0 && n.data_port < 20000; n.data_port++)
		n.data_fd = net_listen_tcp(&o, n.data_port, 4, NULL);
	n.data_port--;
	assert_true(n.data_fd >= 0);
	n.listen_fd = duo_listen(&addr);
	s.port = net_addr_port(&addr);
	assert_int_equal(flow_plan_init(&plan, &spec, 1, 0), 0);
	plan.duration_ns = NSEC_PER_SEC;
	assert_int_equal(pthread_create(&t, NULL, nttcp_peer_run, &n), 0);
	assert_int_equal(proto_dial(&s, NULL, &e), 0);
	assert_string_equal(s.proto->name, "nttcp");
	assert_non_null(strstr(s.found, "nttcp answers there"));
	assert_memory_equal(n.request, "nttcp@-r@", 9);
	hang_up(&s, &plan);
	pthread_join(t, NULL);
	close(n.data_fd);
	close(n.listen_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_peers),   cmocka_unit_test(a_key_is_proved_or_no_test),
		cmocka_unit_test(nobody),        cmocka_unit_test(stopped),
		cmocka_unit_test(iperf2_by_udp), cmocka_unit_test(silence_is_no_answer),
		cmocka_unit_test(in_order),      cmocka_unit_test(nttcp_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
