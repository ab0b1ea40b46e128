/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The native protocol. Every line of the input is read as each message that it may be; then the
 * whole input is what a peer says to a running session, whose role the first byte chooses.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "proto/weir.h"

static void request_again(const struct flow_plan *p, const struct weir_request *r)
{
	struct weir_request other;
	struct flow_plan plan;
	struct js_doc *doc;
	const char *m;
	struct buf b = {0}, second = {0};

	if (weir_request_put(r, p, NULL, &b, NULL) == 0) {
		FUZZ_CHECK(weir_msg_parse(b.data, b.len, &doc, &m, NULL) == 0);
		FUZZ_CHECK(weir_request_get(js_root(doc), &other, &plan, NULL) == 0);
		FUZZ_CHECK(plan.n == p->n && plan.duration_ns == p->duration_ns);
		FUZZ_CHECK(weir_request_put(&other, &plan, NULL, &second, NULL) == 0);
		FUZZ_CHECK(second.len == b.len && !memcmp(second.data, b.data, b.len));
		flow_plan_fini(&plan);
		js_free(doc);
	}
	buf_fini(&b);
	buf_fini(&second);
}

static void read_request(const struct js *root)
{
	struct weir_request r;
	struct flow_plan plan;
	struct weir_err e = {0};

	if (weir_request_get(root, &r, &plan, &e) == 0) {
		FUZZ_CHECK(plan.n > 0 && plan.n <= FLOW_MAX && weir_nonce_ok(r.nonce));
		request_again(&plan, &r);
	} else {
		FUZZ_CHECK(e.msg[0]);
	}
	flow_plan_fini(&plan);
}

static void read_others(const struct js *root)
{
	struct proto_flow_result flows[3];
	struct proto_result r = {.flows = flows, .n = ARRAY_LEN(flows)};
	struct weir_hello hello;
	struct weir_ping ping;
	struct weir_err e = {0};
	struct weir_go go;
	struct weir_ok ok;
	char facts[256];

	if (weir_hello_get(root, &hello, NULL) == 0)
		FUZZ_CHECK(weir_nonce_ok(hello.nonce));
	if (weir_ok_get(root, &ok, NULL) == 0)
		FUZZ_CHECK(ok.up <= FLOW_MAX && ok.down <= FLOW_MAX && ok.duration_ns >= 0);
	weir_ping_get(root, &ping);
	weir_go_get(root, &go);
	weir_result_get(root, &r);
	weir_flows_get(root, &r);
	weir_facts_get(root, facts, sizeof(facts));
	FUZZ_CHECK(memchr(facts, 0, sizeof(facts)));
	FUZZ_CHECK(weir_error_get(root, &e) < 0 && e.code > 0);
}

static void read_line(const char *line, size_t n)
{
	struct js_doc *doc = NULL;
	const char *m = NULL;

	if (weir_line_kind(line, n) != WEIR_LINE_CONTROL ||
	    weir_msg_parse(line, n, &doc, &m, NULL) < 0)
		return;
	FUZZ_CHECK(m);
	read_request(js_root(doc));
	read_others(js_root(doc));
	js_free(doc);
}

static int no_data(void *arg, int64_t deadline_ns)
{
	(void)arg;
	(void)deadline_ns;
	return -ECONNABORTED;
}

static int expect(void *arg, size_t n)
{
	(void)arg;
	(void)n;
	return 0;
}

static void run_server(struct proto_session *s)
{
	struct proto_limits lim = {.flows = 3, .duration_ns = NSEC_PER_SEC, .rate_bps = 100000};
	struct proto_flow_result flow = {0};
	struct proto_result mine = {.flows = &flow, .n = 1}, theirs = {0};
	enum proto_event ev;

	if (s->proto->accept(s, &lim, NULL) < 0)
		return;
	FUZZ_CHECK(s->plan->n > 0 && s->plan->n <= 6);
	FUZZ_CHECK(s->plan->duration_ns > 0 && s->plan->duration_ns <= NSEC_PER_SEC);
	s->proto->streams(s, NULL);
	if (s->proto->start(s, NULL) < 0)
		return;
	s->proto->on_control(s, &ev, NULL);
	if (ev == PROTO_EV_END && s->proto->exchange(s, &mine, &theirs, NULL) == 0)
		FUZZ_CHECK(theirs.n == s->plan->n);
	proto_result_fini(&theirs);
}

static void run_client(struct proto_session *s)
{
	struct flow_spec spec = {0};
	struct flow_plan plan;
	enum proto_event ev = PROTO_EV_NONE;
	struct weir_err e = {0};

	FUZZ_CHECK(flow_plan_init(&plan, &spec, 2, 0) == 0);
	plan.duration_ns = NSEC_PER_SEC;
	s->plan = &plan;
	s->peer_addr.ss.ss_family = AF_UNIX; /* nothing is ever connected */
	FUZZ_CHECK(s->proto->connect(s, &e) < 0 && e.msg[0]);
	s->proto->on_control(s, &ev, &e);
	FUZZ_CHECK(plan.n <= 2);
	flow_plan_fini(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proto_session s = {.proto = proto_find("weir"), .stop_fd = -1};
	const char *p = (const char *)data, *end = p + size, *nl;
	int pair[2];

	if (size < 1 || size > WEIR_LINE_MAX)
		return 0;
	s.role = data[0] & 1 ? PROTO_CLIENT : PROTO_SERVER;
	for (const char *at = ++p; at < end; at = nl + 1) {
		nl = memchr(at, '\n', (size_t)(end - at));
		nl = nl ? nl : end;
		read_line(at, (size_t)(nl - at));
	}
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	FUZZ_CHECK(send(pair[1], p, size - 1, MSG_DONTWAIT) == (ssize_t)size - 1);
	shutdown(pair[1], SHUT_WR);
	s.ctl_fd = pair[0];
	s.timeout_ns = NSEC_PER_SEC;
	s.take_data = no_data;
	s.expect_data = expect;
	if (s.role == PROTO_SERVER)
		run_server(&s);
	else
		run_client(&s);
	close(pair[1]);
	proto_session_fini(&s);
	return 0;
}
