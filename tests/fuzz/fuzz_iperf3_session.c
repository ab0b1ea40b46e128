/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole conversation in iperf3's protocol: the input is all that a peer says on the control
 * connection, and then its end, so that no deadline ever passes. The first byte chooses the role,
 * whether the test is UDP's, and whether a client is at its end already.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "proto/proto.h"

#define SAID_MAX (64U << 10)

/* One that never was connected will do: nothing is sent on it. */
static int some_data(void *arg, int64_t deadline_ns)
{
	const struct proto_session *s = arg;
	bool udp = s->plan->flows[0].transport == NET_UDP;
	int fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);

	(void)deadline_ns;
	return fd < 0 ? -errno : fd;
}

static int expect(void *arg, size_t n)
{
	(void)arg;
	FUZZ_CHECK(n <= 6);
	return 0;
}

static int expect_udp(void *arg, size_t n, const uint8_t *token, int64_t deadline_ns)
{
	(void)deadline_ns;
	FUZZ_CHECK(!token);
	return expect(arg, n);
}

/* A connection on which the peer has said all this; closed on its side, or not yet. Its side. */
static int said(struct proto_session *s, const uint8_t *p, size_t n, bool closed)
{
	int pair[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	FUZZ_CHECK(send(pair[1], p, n, MSG_DONTWAIT) == (ssize_t)n);
	if (closed)
		shutdown(pair[1], SHUT_WR);
	s->ctl_fd = pair[0];
	return pair[1];
}

/* What accept() left unread is said on a connection that is alive while streams are awaited. */
static int still_alive(struct proto_session *s)
{
	static uint8_t rest[SAID_MAX];
	ssize_t n = recv(s->ctl_fd, rest, sizeof(rest), MSG_DONTWAIT);

	close(s->ctl_fd);
	return said(s, rest, n > 0 ? (size_t)n : 0, false);
}

static int begin(struct proto_session *s, struct weir_err *e)
{
	int peer = still_alive(s), ret = s->proto->streams(s, e);

	if (ret == 0)
		ret = s->proto->start(s, e);
	shutdown(peer, SHUT_WR);
	s->arg = (void *)(intptr_t)peer;
	return ret;
}

static void run_server(struct proto_session *s)
{
	struct proto_limits lim = {.flows = 3, .duration_ns = NSEC_PER_SEC, .rate_bps = 100000};
	struct proto_flow_result flows[6] = {0};
	struct proto_result mine = {.flows = flows}, theirs = {0};
	enum proto_event ev = PROTO_EV_NONE;
	struct weir_err e = {0};

	if (s->proto->accept(s, &lim, &e) < 0) {
		FUZZ_CHECK(e.msg[0]);
		return;
	}
	FUZZ_CHECK(s->plan->n > 0 && s->plan->n <= ARRAY_LEN(flows));
	FUZZ_CHECK(s->plan->omit_ns + s->plan->duration_ns <= NSEC_PER_SEC);
	mine.n = s->plan->n;
	if (begin(s, &e) == 0 && s->proto->on_control(s, &ev, &e) == 0 && ev == PROTO_EV_END &&
	    s->proto->exchange(s, &mine, &theirs, &e) == 0)
		FUZZ_CHECK(theirs.n == s->plan->n);
	proto_result_fini(&theirs);
	close((int)(intptr_t)s->arg);
}

static void run_client(struct proto_session *s, bool udp, bool at_the_end)
{
	struct flow_spec spec = {.transport = udp ? NET_UDP : NET_TCP, .len = 1000};
	struct proto_flow_result flow = {0};
	struct proto_result mine = {.flows = &flow, .n = 1}, theirs = {0};
	enum proto_event ev = PROTO_EV_NONE;
	struct flow_plan plan;
	struct weir_err e = {0};

	FUZZ_CHECK(flow_plan_init(&plan, &spec, 1, 0) == 0);
	plan.duration_ns = NSEC_PER_SEC;
	s->plan = &plan;
	s->peer_addr.ss.ss_family = AF_UNIX; /* nothing is ever connected */
	if (!at_the_end) {
		FUZZ_CHECK(s->proto->connect(s, &e) < 0 && e.msg[0]);
		s->proto->on_control(s, &ev, &e);
	}
	if (s->proto->exchange(s, &mine, &theirs, &e) == 0)
		FUZZ_CHECK(theirs.n <= 1);
	proto_result_fini(&theirs);
	flow_plan_fini(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_session s = {.proto = proto_find("iperf3"),
				  .stop_fd = -1,
				  .timeout_ns = NSEC_PER_SEC,
				  .take_data = some_data,
				  .expect_data = expect,
				  .expect_udp = expect_udp};
	int peer;

	if (size < 1 || size > SAID_MAX)
		return 0;
	s.role = data[0] & 1 ? PROTO_CLIENT : PROTO_SERVER;
	peer = said(&s, data + 1, size - 1, true);
	s.arg = &s;
	if (s.role == PROTO_SERVER)
		run_server(&s);
	else
		run_client(&s, data[0] & 2, data[0] & 4);
	close(peer);
	proto_session_fini(&s);
	return 0;
}
