/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine's UDP costs, without a protocol, a store or a report around it: one end sends,
 * the other receives, each prints one line. With -B the same calls in a bare loop: the bound of
 * what the engine can reach. `watch` times any tool's datagrams where they arrive.
 *
 *   udp_loop recv [-p PORT] [options]
 *   udp_loop send HOST [-p PORT] [options]
 *   udp_loop watch DEV [-p PORT] [-t SECONDS] -b RATE [-l LEN]   (needs CAP_NET_RAW)
 *   options: -t SECONDS  -l LEN  -b RATE  -N (no offload)  -S (spin)  -T (MSG_TRUNC)
 *            -u DATAGRAMS (a burst)  -w WINDOW  -A CPU  -B (bare)
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/net.h"

#define BATCH 64

struct args {
	const char *mode, *host;
	bool bare;
	uint16_t port;
	int64_t time_ns;
	int cpu;
	struct flow_spec spec;
};

struct result {
	uint64_t bytes, datagrams, calls;
	double seconds;
	struct net_udp_sample udp;
	struct net_udp_pacing pace;
	struct hist *gaps, *errors;
};

static int fail(const struct weir_err *e)
{
	fprintf(stderr, "udp_loop: %s%s%s\n", e->msg, e->hint[0] ? "; " : "", e->hint);
	return 1;
}

static bool sends(const struct args *a)
{
	return strcmp(a->mode, "send") == 0;
}

/* ---- sockets -------------------------------------------------------------------- */

static int accept_one(const struct args *a, struct weir_err *e)
{
	int listener = net_listen_udp(NULL, a->port, e), fd = -1, rc;
	struct net_dgram d;
	char hello[8];

	if (listener < 0)
		return listener;
	rc = net_wait_readable(listener, clk_mono_ns() + 10 * NSEC_PER_SEC, -1);
	if (rc == 0 && net_udp_recv(listener, hello, sizeof(hello), &d) == 4)
		fd = net_pair_udp(&d.to, &d.from, NULL, &a->spec, e);
	if (fd >= 0)
		net_udp_reply(listener, &d, "6789", 4);
	else if (rc)
		err_os(e, -rc, "no hello came");
	close(listener);
	return fd;
}

static int connect_one(const struct args *a, struct weir_err *e)
{
	struct net_addr to;
	int rc = net_resolve(a->host, a->port, AF_UNSPEC, &to, 1, e), fd;
	char answer[8];

	if (rc < 0)
		return rc;
	fd = net_connect_udp(&to, NULL, &a->spec, e);
	if (fd < 0)
		return fd;
	if (send(fd, "9876", 4, 0) != 4 ||
	    net_wait_readable(fd, clk_mono_ns() + 5 * NSEC_PER_SEC, -1) ||
	    recv(fd, answer, sizeof(answer), 0) != 4)
		return err_set(e, WEIR_PEER, ETIMEDOUT, "the other end does not answer");
	return fd;
}

/* ---- the bare loop ------------------------------------------------------------------ */

static void bare_send(const struct args *a, int fd, uint8_t *buf, struct result *r)
{
	unsigned n = NET_UDP_LEN_MAX / a->spec.len < BATCH ? NET_UDP_LEN_MAX / a->spec.len : BATCH;
	int64_t start = clk_mono_ns(), end = start + a->time_ns;
	struct mmsghdr msg[BATCH] = {0};
	struct iovec iov[BATCH];
	int segment = (int)a->spec.len;

	for (unsigned i = 0; i < n; i++) {
		iov[i] = (struct iovec){buf + (size_t)i * a->spec.len, a->spec.len};
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	if (!a->spec.no_offload)
		setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	while (clk_mono_ns() < end) {
		ssize_t put = a->spec.no_offload ? sendmmsg(fd, msg, n, 0)
						 : send(fd, buf, n * a->spec.len, 0);
		unsigned done = put < 0 ? 0 : a->spec.no_offload ? (unsigned)put : n;

		r->datagrams += done;
	}
	r->bytes = r->datagrams * a->spec.len;
	r->seconds = (double)(clk_mono_ns() - start) * 1e-9;
}

static void bare_recv(const struct args *a, int fd, uint8_t *buf, struct result *r)
{
	struct timeval tv = {.tv_usec = 300000};
	struct mmsghdr msg[BATCH] = {0};
	struct iovec iov[BATCH];
	int on = 1;

	for (unsigned i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){buf + (size_t)i * a->spec.len, a->spec.len};
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	if (!a->spec.no_offload)
		setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	for (;;) {
		ssize_t got = a->spec.no_offload ? recvmmsg(fd, msg, BATCH, MSG_WAITFORONE, NULL)
						 : recv(fd, buf, 65536, 0);

		if (got < 0 && r->datagrams)
			return;
		if (got < 0)
			continue;
		r->datagrams += a->spec.no_offload ? (unsigned)got : (unsigned)got / a->spec.len;
		r->bytes = r->datagrams * a->spec.len;
		if (tv.tv_usec && !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
			tv.tv_usec = 0;
	}
}

static void bare(const struct args *a, int fd, struct result *r)
{
	uint8_t *buf = malloc((size_t)BATCH * 65536);

	if (!buf)
		return;
	clk_random(buf, 65536);
	if (sends(a))
		bare_send(a, fd, buf, r);
	else
		bare_recv(a, fd, buf, r);
	free(buf);
	close(fd);
}

/* ---- the engine ----------------------------------------------------------------------- */

static void await_end(struct net_engine *en, const struct args *a)
{
	struct net_flow_sample s = {0};

	if (!sends(a))
		while (s.bytes == 0) {
			clk_sleep_until(clk_mono_ns() + 20 * NSEC_PER_MSEC);
			net_engine_sample(en, 0, &s);
		}
	clk_sleep_until(clk_mono_ns() + a->time_ns);
	net_engine_finish_senders(en);
	if (!sends(a))
		net_engine_drain(en, NULL, clk_mono_ns() + 10 * NSEC_PER_SEC);
}

static int engine(const struct args *a, int fd, struct result *r, struct weir_err *e)
{
	struct net_engine_cfg cfg = {.cpus = &a->cpu, .n_cpus = a->cpu >= 0, .pin = a->cpu >= 0};
	struct net_flow_sample s;
	struct net_engine *en;
	int64_t start;
	int rc = net_engine_new(&cfg, &en, e);

	if (rc == 0)
		rc = net_engine_add(en, fd, &a->spec, sends(a), e);
	if (rc == 0)
		rc = net_engine_prepare(en, e);
	if (rc == 0) {
		start = clk_mono_ns();
		net_engine_go(en);
		await_end(en, a);
		r->seconds = (double)(clk_mono_ns() - start) * 1e-9;
		net_engine_stop(en);
		net_engine_sample(en, 0, &s);
		r->bytes = s.bytes;
		r->datagrams = s.blocks;
		r->calls = s.calls;
		r->udp = s.udp;
		if (sends(a))
			net_engine_udp_pacing(en, 0, &r->pace, r->gaps, r->errors);
	}
	net_engine_free(en);
	return rc;
}

/* ---- the watcher ------------------------------------------------------------------------ */

/* The arrival, by the kernel, of the next datagram to the port; 0 at the end. */
static int64_t next_arrival(int fd, const struct args *a, int64_t end_ns)
{
	_Alignas(struct cmsghdr) char ctl[128];
	uint8_t head[28];

	while (net_wait_readable(fd, end_ns, -1) == 0) {
		struct iovec iov = {head, sizeof(head)};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = ctl,
				   .msg_controllen = sizeof(ctl)};
		ssize_t n = recvmsg(fd, &m, MSG_TRUNC);
		struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
		struct timespec ts;

		if (!c || n != (ssize_t)a->spec.len + 28 || head[9] != IPPROTO_UDP ||
		    (head[22] << 8 | head[23]) != a->port)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
	}
	return 0;
}

static int watch(const struct args *a, struct result *r, struct weir_err *e)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_IP),
				 .sll_ifindex = (int)if_nametoindex(a->host)};
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), on = 1, big = 64 << 20;
	int64_t gap_ns = (int64_t)(a->spec.len * 8ULL * NSEC_PER_SEC / a->spec.rate_bps);
	int64_t end = clk_mono_ns() + a->time_ns, last = 0, now;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return err_os(e, errno, "cannot watch %s", a->host);
	for (; (now = next_arrival(fd, a, end)); last = now) {
		r->datagrams++;
		if (!last)
			continue;
		hist_record(r->gaps, now > last ? (uint64_t)(now - last) : 0);
		hist_record(r->errors, (uint64_t)llabs(now - last - gap_ns));
	}
	r->bytes = r->datagrams * a->spec.len;
	r->seconds = (double)a->time_ns * 1e-9;
	close(fd);
	return 0;
}

/* ---- main -------------------------------------------------------------------------------- */

static void print(const struct args *a, const struct result *r)
{
	struct rusage ru;
	const struct net_udp_sample *u = &r->udp;

	getrusage(RUSAGE_SELF, &ru);
	printf("%s datagrams=%llu bytes=%llu seconds=%.6f cpu=%.6f calls=%llu", a->mode,
	       (unsigned long long)r->datagrams, (unsigned long long)r->bytes, r->seconds,
	       (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e-6,
	       (unsigned long long)r->calls);
	printf(" gso=%d gro=%d intended=%llu refused=%llu lost=%llu reordered=%llu drops=%llu "
	       "foreign=%llu jitter_us=%.1f",
	       u->gso, u->gro, (unsigned long long)u->intended, (unsigned long long)u->refused,
	       (unsigned long long)u->lost, (unsigned long long)u->reordered,
	       (unsigned long long)u->sock_drops, (unsigned long long)u->foreign,
	       (double)u->jitter_ns * 1e-3);
	if (hist_count(r->errors))
		printf(" gap_p1_us=%.1f gap_p50_us=%.1f error_p50_us=%.1f error_p90_us=%.1f "
		       "error_p99_us=%.1f burst_max=%u",
		       (double)hist_quantile(r->gaps, 0.01) * 1e-3,
		       (double)hist_quantile(r->gaps, 0.5) * 1e-3,
		       (double)hist_quantile(r->errors, 0.5) * 1e-3,
		       (double)hist_quantile(r->errors, 0.9) * 1e-3,
		       (double)hist_quantile(r->errors, 0.99) * 1e-3, r->pace.burst_max);
	printf("\n");
}

static int parse(int argc, char **argv, struct args *a, struct weir_err *e)
{
	uint64_t v = 0;
	int c, rc = 0;

	while (rc == 0 && (c = getopt(argc, argv, "p:t:l:b:u:w:A:NSTB")) != -1) {
		if (c == 'N')
			a->spec.no_offload = true;
		else if (c == 'S')
			a->spec.spin = true;
		else if (c == 'T')
			a->spec.rx_trunc = true;
		else if (c == 'B')
			a->bare = true;
		else if (c == 't')
			rc = unit_parse_time(optarg, &a->time_ns, e);
		else if (c == 'b')
			rc = unit_parse_rate(optarg, &a->spec.rate_bps, e);
		else if (c == 'w')
			rc = unit_parse_size(optarg, &a->spec.window, e);
		else if (c == '?')
			rc = err_set(e, WEIR_USAGE, EINVAL, "see the head of bench/udp_loop.c");
		else
			rc = unit_parse_size(optarg, &v, e);
		if (c == 'p')
			a->port = (uint16_t)v;
		else if (c == 'l')
			a->spec.len = (uint32_t)v;
		else if (c == 'u')
			a->spec.burst = (uint32_t)v;
		else if (c == 'A')
			a->cpu = (int)v;
	}
	return rc;
}

static int run(const struct args *a, struct result *r, struct weir_err *e)
{
	int fd;

	if (strcmp(a->mode, "watch") == 0)
		return watch(a, r, e);
	fd = sends(a) ? connect_one(a, e) : accept_one(a, e);
	if (fd < 0)
		return fd;
	if (!a->bare)
		return engine(a, fd, r, e);
	if (a->cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((unsigned)a->cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	bare(a, fd, r);
	return 0;
}

int main(int argc, char **argv)
{
	struct args a = {.port = 5999,
			 .time_ns = 2 * NSEC_PER_SEC,
			 .cpu = -1,
			 .spec = {.transport = NET_UDP, .len = NET_UDP_LEN}};
	struct result r = {.gaps = hist_new(), .errors = hist_new()};
	struct weir_err e = {0};
	int used = 2, rc;

	a.mode = argc > 1 ? argv[1] : "";
	if (strcmp(a.mode, "send") == 0 || strcmp(a.mode, "watch") == 0)
		a.host = argc > used ? argv[used++] : NULL;
	if (!r.gaps || !r.errors || (!a.host && strcmp(a.mode, "recv"))) {
		fprintf(stderr, "usage: see the head of bench/udp_loop.c\n");
		return 2;
	}
	rc = parse(argc - used + 1, argv + used - 1, &a, &e);
	if (rc == 0)
		rc = run(&a, &r, &e);
	if (rc < 0)
		return fail(&e);
	print(&a, &r);
	hist_free(r.gaps);
	hist_free(r.errors);
	return 0;
}
