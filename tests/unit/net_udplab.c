/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP between two hosts of a lab: a path with an MTU and a queue of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/wait.h>

#include "lab/lab.h"
#include "net_udp.h"

/* ---- sockets of both hosts ------------------------------------------------------- */

struct ends {
	const char *host;
	uint16_t port;
	const struct flow_spec *spec;
};

static int listen_here(const struct ends *at)
{
	struct net_sock_opts o = {.bind_host = at->host};

	return net_listen_udp(&o, at->port, NULL);
}

static int connect_here(const struct ends *at)
{
	struct net_addr to;

	if (net_resolve(at->host, at->port, AF_UNSPEC, &to, 1, NULL) != 1)
		return -EINVAL;
	return net_connect_udp(&to, NULL, at->spec, NULL);
}

struct passing {
	struct msghdr m;
	struct iovec iov;
	char byte;
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(sizeof(int))];
};

static struct msghdr *passing(struct passing *p)
{
	*p = (struct passing){.iov = {&p->byte, 1}};
	p->m = (struct msghdr){.msg_iov = &p->iov,
			       .msg_iovlen = 1,
			       .msg_control = p->ctl,
			       .msg_controllen = sizeof(p->ctl)};
	return &p->m;
}

static void pass_fd(int via, int fd)
{
	struct passing p;
	struct cmsghdr *c = CMSG_FIRSTHDR(passing(&p));

	if (!c)
		return;
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS,
			      .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(via, &p.m, 0);
}

/* A socket that fn makes in the namespace: by a child, as only a single thread may go there. */
static int in_host(const struct sys_ns *ns, int (*fn)(const struct ends *), const struct ends *at)
{
	int via[2], fd = -1, status;
	const struct cmsghdr *c;
	struct passing p;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, via), 0);
	child = fork();
	if (child == 0) {
		if (sys_ns_enter(ns, NULL) < 0 || (fd = fn(at)) < 0)
			_exit(1);
		pass_fd(via[1], fd);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(recvmsg(via[0], passing(&p), 0), 1);
	c = CMSG_FIRSTHDR(&p.m);
	assert_non_null(c);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	close(via[0]);
	close(via[1]);
	return fd;
}

/* The far end's socket is connected where it is: a socket keeps its namespace. */
static void lab_connect(const struct lab *l, const char *host, const struct flow_spec *spec,
			int fds[2])
{
	struct ends at = {.host = host, .spec = spec};
	struct net_addr bound = {.len = sizeof(bound.ss)};
	struct net_dgram d;
	char hello[8];

	fds[1] = in_host(&l->far->ns, listen_here, &at);
	assert_int_equal(getsockname(fds[1], &bound.sa, &bound.len), 0);
	at.port = net_addr_port(&bound);
	fds[0] = in_host(&l->near->ns, connect_here, &at);
	assert_int_equal(send(fds[0], "9876", 4, 0), 4);
	assert_int_equal(net_wait_readable(fds[1], later(), -1), 0);
	assert_int_equal(net_udp_recv(fds[1], hello, sizeof(hello), &d), 4);
	assert_int_equal(connect(fds[1], &d.from.sa, d.from.len), 0);
	assert_int_equal(net_udp_apply(fds[1], spec, NULL), 0);
}

static void lab_open(struct upair *p, const struct lab *l, const char *host,
		     const struct net_engine_cfg *tx, const struct flow_spec *spec, size_t n)
{
	struct net_engine_cfg rx = {0};

	p->n = n;
	assert_int_equal(net_engine_new(tx, &p->tx, NULL), 0);
	assert_int_equal(net_engine_new(&rx, &p->rx, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		int fds[2];

		lab_connect(l, host, spec, fds);
		assert_int_equal(net_engine_add(p->tx, fds[0], spec, true, NULL), (int)i);
		assert_int_equal(net_engine_add(p->rx, fds[1], spec, false, NULL), (int)i);
	}
}

/* ---- the labs ----------------------------------------------------------------------- */

static int start(void **state, uint64_t rate_bps)
{
	static struct lab l;
	struct lab_cfg cfg = {.rate_bps = rate_bps};
	struct weir_err e = {0};

	*state = NULL;
	if (!sys_ns_available(&e) || lab_start(&l, &cfg, &e) < 0)
		print_message("no lab: %s; %s\n", e.msg, e.hint);
	else
		*state = &l;
	return 0;
}

static int start_free(void **state)
{
	return start(state, 0);
}

static int start_narrow(void **state)
{
	return start(state, 20000000);
}

static int stop(void **state)
{
	if (*state)
		lab_stop(*state);
	return 0;
}

/* ---- tests ----------------------------------------------------------------------------- */

struct way {
	const char *host;
	uint32_t len, payload;
	bool no_offload;
};

static void run_way(const struct lab *l, const struct way *w)
{
	struct flow_spec spec = {.transport = NET_UDP,
				 .len = w->len,
				 .rate_bps = w->len * 8ULL * 4000,
				 .burst = 8,
				 .no_offload = w->no_offload};
	struct net_engine_cfg cfg = {.limit_blocks = 400};
	struct net_udp_sample t, r;
	struct upair p;

	lab_open(&p, l, w->host, &cfg, &spec, 1);
	upair_go(&p);
	upair_finish_limit(&p);
	t = upair_sample(p.tx, 0).udp;
	assert_int_equal(net_engine_udp_final(p.rx, 0, t.sent), 0);
	r = upair_sample(p.rx, 0).udp;
	assert_int_equal(t.sent, 400);
	assert_int_equal(t.path_payload, w->payload);
	assert_int_equal(t.gso, !w->no_offload && w->len <= w->payload && net_udp_has_gso());
	assert_int_equal(r.received, 400);
	assert_int_equal(r.lost + r.reordered + r.duplicates + r.late + r.foreign, 0);
	assert_true(r.jitter_ns < 50 * NSEC_PER_MSEC);
	upair_free(&p);
}

static void all_arrive_at_a_low_rate(void **state)
{
	static const struct way ways[] = {
		{"198.18.0.2", 16, 1472, false},   {"198.18.0.2", 1472, 1472, false},
		{"198.18.0.2", 1448, 1472, true},  {"198.18.0.2", 4000, 1472, false},
		{"fd00:18::2", 1448, 1452, false}, {"fd00:18::2", 1500, 1452, false},
	};

	if (!*state)
		skip();
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		run_way(*state, &ways[i]);
}

static void what_must_not_be_fragmented_is_refused(void **state)
{
	struct flow_spec spec = {.transport = NET_UDP, .len = 1473, .dont_fragment = true};
	struct net_engine_cfg cfg = {0};
	struct net_flow_sample t;
	struct upair p;

	if (!*state)
		skip();
	for (int offload = 0; offload < 2; offload++) {
		spec.no_offload = !offload;
		lab_open(&p, *state, "198.18.0.2", &cfg, &spec, 1);
		upair_go(&p);
		pair_await_done(p.tx);
		net_engine_stop(p.tx);
		t = upair_sample(p.tx, 0);
		assert_int_equal(t.state, NET_FLOW_ERROR);
		assert_int_equal(t.error, EMSGSIZE);
		assert_int_equal(t.udp.sent, 0);
		upair_free(&p);
	}
}

/* This host's queue is full: that is told by the sender, and nothing is lost on the path. */
static void a_full_queue_of_this_host_is_no_loss(void **state)
{
	enum { FLOWS = 8 };
	struct flow_spec spec = {
		.transport = NET_UDP, .no_offload = true, .rate_bps = 20000000, .window = 4 << 20};
	struct net_engine_cfg cfg = {.workers = 2, .limit_blocks = 4000};
	uint64_t refused = 0, received = 0;
	struct upair p;

	if (!*state)
		skip();
	lab_open(&p, *state, "198.18.0.2", &cfg, &spec, FLOWS);
	upair_go(&p);
	upair_finish_limit(&p);
	for (size_t i = 0; i < FLOWS; i++) {
		struct net_udp_sample t = upair_sample(p.tx, i).udp;

		assert_int_equal(net_engine_udp_final(p.rx, i, t.sent), 0);
		assert_int_equal(upair_sample(p.rx, i).udp.lost, 0);
		refused += t.refused;
		received += upair_sample(p.rx, i).udp.received;
	}
	assert_int_equal(received, 4000);
	assert_true(refused > 0);
	upair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_arrive_at_a_low_rate, start_free, stop),
		cmocka_unit_test_setup_teardown(what_must_not_be_fragmented_is_refused, start_free,
						stop),
		cmocka_unit_test_setup_teardown(a_full_queue_of_this_host_is_no_loss, start_narrow,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
