/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine costs, without a protocol, a store or a report around it: one end sends, the
 * other receives, each prints one line. With -B the same calls are made in a bare loop: the
 * bound of what the engine can reach.
 *
 *   tcp_loop recv [-p PORT] [-P FLOWS] [options]
 *   tcp_loop send HOST [-p PORT] [-P FLOWS] [-t SECONDS] [options]
 *   options: -l LEN  -w WINDOW  -b RATE (each flow)  -T (MSG_TRUNC)  -A CPU  -B (bare)
 *            -W WORKERS  -i SECONDS (interval bounds)  -x write|sendfile|zerocopy  -C CC
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/net.h"

struct args {
	bool send, bare;
	const char *host;
	uint16_t port;
	size_t flows;
	int64_t time_ns, interval_ns;
	int cpu;
	unsigned workers;
	struct flow_spec spec;
};

struct result {
	uint64_t bytes, zc_sent, zc_done, zc_copied;
	double seconds, worst_bound; /* the largest |interval / wanted - 1| */
	unsigned ticks, late;
};

static int fail(const struct weir_err *e)
{
	fprintf(stderr, "tcp_loop: %s%s%s\n", e->msg, e->hint[0] ? "; " : "", e->hint);
	return 1;
}

/* ---- sockets ---------------------------------------------------------------- */

static int accept_one(int listener, const struct args *a, struct weir_err *e)
{
	int fd, rc = net_wait_readable(listener, clk_mono_ns() + 10 * NSEC_PER_SEC, -1);

	if (rc)
		return err_os(e, -rc, "no connection came");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return err_os(e, errno, "accept");
	rc = net_tcp_apply(fd, &a->spec, e);
	return rc ? rc : fd;
}

static int connect_one(const struct args *a, struct weir_err *e)
{
	struct net_addr to;
	int rc = net_resolve(a->host, a->port, AF_UNSPEC, &to, 1, e);

	return rc < 0 ? rc : net_connect_tcp(&to, NULL, &a->spec, 5 * NSEC_PER_SEC, e);
}

static int open_all(const struct args *a, int *fds, struct weir_err *e)
{
	int listener = a->send ? -1 : net_listen_tcp(NULL, a->port, 1024, e);

	if (!a->send && listener < 0)
		return listener;
	for (size_t i = 0; i < a->flows; i++) {
		fds[i] = a->send ? connect_one(a, e) : accept_one(listener, a, e);
		if (fds[i] < 0)
			return fds[i];
	}
	return listener < 0 ? 0 : close(listener);
}

/* ---- the bare loop -------------------------------------------------------------- */

static void bare(const struct args *a, int fd, struct result *r)
{
	size_t len = a->spec.len ? a->spec.len : a->send ? 512 << 10 : 128 << 10;
	int lowat = 512 << 10, unsent = 256 << 10,
	    flags = a->send            ? MSG_NOSIGNAL
		    : a->spec.rx_trunc ? MSG_TRUNC
				       : 0;
	int64_t start = clk_mono_ns(), end = start + a->time_ns;
	char *buf = malloc(len);
	ssize_t n = 1;

	if (!buf)
		return;
	if (a->send)
		clk_random(buf, len);
	if (a->send)
		setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	else
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat));
	while (n > 0 && (!a->send || clk_mono_ns() < end)) {
		n = a->send ? send(fd, buf, len, flags) : recv(fd, buf, len, flags);
		r->bytes += n > 0 ? (uint64_t)n : 0;
	}
	r->seconds = (double)(clk_mono_ns() - start) * 1e-9;
	free(buf);
	close(fd);
}

/* ---- the engine -------------------------------------------------------------------- */

static void take_ticks(struct net_sampler *s, const struct args *a, struct result *r)
{
	struct net_tick *t;

	for (; (t = net_sampler_next(s)); net_tick_free(t)) {
		double off = (double)(t->t1 - t->t0) / (double)a->interval_ns - 1;

		if (t->cut)
			continue;
		r->ticks++;
		r->late += t->late;
		off = off < 0 ? -off : off;
		r->worst_bound = off > r->worst_bound ? off : r->worst_bound;
	}
}

static void wait_end(struct net_engine *en, struct net_sampler *s, const struct args *a,
		     struct result *r, int64_t end_ns)
{
	struct pollfd p[2] = {{.fd = net_engine_done_fd(en), .events = POLLIN},
			      {.fd = net_sampler_fd(s), .events = POLLIN}};

	while (!p[0].revents) {
		int64_t left = (end_ns - clk_mono_ns()) / NSEC_PER_MSEC;

		if (left <= 0 || poll(p, 2, (int)left) < 0)
			break;
		take_ticks(s, a, r);
	}
}

static void sum_up(struct net_engine *en, struct result *r)
{
	for (size_t i = 0; i < net_engine_flows(en); i++) {
		struct net_flow_sample s;

		net_engine_sample(en, i, &s);
		r->bytes += s.bytes;
		r->zc_sent += s.zc_sent;
		r->zc_done += s.zc_done;
		r->zc_copied += s.zc_copied;
	}
}

static int engine(const struct args *a, const int *fds, struct result *r, struct weir_err *e)
{
	struct net_engine_cfg cfg = {
		.workers = a->workers, .cpus = &a->cpu, .n_cpus = a->cpu >= 0, .pin = a->cpu >= 0};
	int64_t start, far = 3600 * NSEC_PER_SEC;
	struct net_sampler *s = NULL;
	struct net_engine *en;
	int rc = net_engine_new(&cfg, &en, e);

	for (size_t i = 0; i < a->flows && rc >= 0; i++)
		rc = net_engine_add(en, fds[i], &a->spec, a->send, e);
	if (rc >= 0)
		rc = net_engine_prepare(en, e);
	if (rc >= 0)
		rc = net_sampler_new(en, a->interval_ns, &s, e);
	start = clk_mono_ns();
	if (rc >= 0)
		rc = net_sampler_start(s, start, e);
	if (rc >= 0) {
		net_engine_go(en);
		wait_end(en, s, a, r, start + (a->send ? a->time_ns : far));
		net_engine_finish_senders(en);
		r->seconds = (double)(clk_mono_ns() - start) * 1e-9;
		net_engine_stop(en);
		sum_up(en, r);
	}
	net_sampler_free(s);
	net_engine_free(en);
	return rc;
}

/* ---- main ------------------------------------------------------------------------------ */

static void print(const struct args *a, const struct result *r)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	printf("%s bytes=%llu seconds=%.6f mbit=%.1f cpu=%.6f maxrss_kib=%ld",
	       a->send ? "send" : "recv", (unsigned long long)r->bytes, r->seconds,
	       (double)r->bytes * 8e-6 / r->seconds,
	       (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e-6,
	       ru.ru_maxrss);
	if (a->interval_ns)
		printf(" ticks=%u late=%u worst_bound=%.4f", r->ticks, r->late, r->worst_bound);
	if (r->zc_sent)
		printf(" zc_sent=%llu zc_done=%llu zc_copied=%llu", (unsigned long long)r->zc_sent,
		       (unsigned long long)r->zc_done, (unsigned long long)r->zc_copied);
	printf("\n");
}

static void set_tx(struct flow_spec *s, const char *name)
{
	s->tx = strcmp(name, "sendfile") == 0   ? NET_TX_SENDFILE
		: strcmp(name, "zerocopy") == 0 ? NET_TX_ZEROCOPY
						: NET_TX_WRITE;
}

static int parse(int argc, char **argv, struct args *a, struct weir_err *e)
{
	uint64_t v = 0;
	int c, rc = 0;

	while (rc == 0 && (c = getopt(argc, argv, "p:P:t:i:l:w:b:A:W:x:C:TB")) != -1) {
		if (c == 'T')
			a->spec.rx_trunc = true;
		else if (c == 'B')
			a->bare = true;
		else if (c == 'x')
			set_tx(&a->spec, optarg);
		else if (c == 'C')
			snprintf(a->spec.cc, sizeof(a->spec.cc), "%s", optarg);
		else if (c == 't')
			rc = unit_parse_time(optarg, &a->time_ns, e);
		else if (c == 'i')
			rc = unit_parse_time(optarg, &a->interval_ns, e);
		else if (c == 'b')
			rc = unit_parse_rate(optarg, &a->spec.rate_bps, e);
		else if (c == 'w')
			rc = unit_parse_size(optarg, &a->spec.window, e);
		else if (c == '?')
			rc = err_set(e, WEIR_USAGE, EINVAL, "see the head of bench/tcp_loop.c");
		else
			rc = unit_parse_size(optarg, &v, e);
		if (c == 'p')
			a->port = (uint16_t)v;
		else if (c == 'P')
			a->flows = v;
		else if (c == 'l')
			a->spec.len = (uint32_t)v;
		else if (c == 'A')
			a->cpu = (int)v;
		else if (c == 'W')
			a->workers = (unsigned)v;
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct args a = {.port = 5999, .flows = 1, .time_ns = 2 * NSEC_PER_SEC, .cpu = -1};
	struct weir_err e = {0};
	struct result r = {0};
	int rc, *fds, used;

	if (argc < 2 || (strcmp(argv[1], "send") && strcmp(argv[1], "recv"))) {
		fprintf(stderr, "usage: see the head of bench/tcp_loop.c\n");
		return 2;
	}
	a.send = strcmp(argv[1], "send") == 0;
	if (a.send && argc < 3)
		return 2;
	a.host = a.send ? argv[2] : NULL;
	used = a.send ? 2 : 1;
	rc = parse(argc - used, argv + used, &a, &e);
	fds = calloc(a.flows + 1, sizeof(*fds));
	if (rc || !fds)
		return fail(&e);
	rc = open_all(&a, fds, &e);
	if (rc < 0)
		return fail(&e);
	if (a.bare && a.cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((unsigned)a.cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	if (a.bare)
		bare(&a, fds[0], &r);
	else
		rc = engine(&a, fds, &r, &e);
	free(fds);
	if (rc < 0)
		return fail(&e);
	print(&a, &r);
	return 0;
}
