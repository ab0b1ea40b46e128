/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's bytes as 2.0.5 and 2.1.8 were seen to send them, cut and altered anywhere; and both
 * roles against each other over loopback.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "measure/measure.h"
#include "proto/priv.h"

static size_t bytes_of(const char *hex, uint8_t *p)
{
	size_t n = 0;
	unsigned v;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &v), 1);
		p[n++] = (uint8_t)v;
		hex++;
	}
	return n;
}

/* ---- TCP -------------------------------------------------------------------------------- */

#define V1_205   "00000000 00000001 00001389 00000000 00000000 ffffff9c"
#define V1_205_D "80000001 00000001 00001389 00000000 00000000 ffffff9c"
#define V2(first, upper, version)                                                                  \
	first " 00000001 00001389 00000000 00000000 ffffff9c 00000000 00000000 " upper " " version \
	      " 00000000 00000000 00000000 00000000"
#define V218 "00020001 00080003"

static const struct {
	const char *hex;
	bool header, newer, dual, now, reverse, duplex, bounceback, detect;
	uint32_t skip;
	size_t key_len;
} seen[] = {
	{V1_205, .header = true, .skip = 24},
	{V1_205_D, .header = true, .dual = true, .now = true, .skip = 24},
	{"80000000 00000001 00001389 00000000 00000000 ffffff9c", .header = true, .dual = true,
	 .skip = 24},
	{V2("40010078", "00000000", V218), .header = true, .newer = true},
	{V2("c0010079", "00000000", V218), .header = true, .newer = true, .dual = true,
	 .now = true},
	{V2("44010078", "04000000", V218), .header = true, .newer = true, .reverse = true},
	{V2("44010078", "08000000", V218), .header = true, .newer = true, .duplex = true},
	{V2("46010078", "00000000", V218), .header = true, .newer = true, .detect = true},
	{V2("5001007c", "00000000", V218) " 0006 736573616d65", .header = true, .newer = true,
	 .key_len = 6},
	{"00800000", .header = true, .bounceback = true},
	/* Data: digits, zeros, letters that look like a flag, a length that cannot be. */
	{"30313233 34353637 38393031 32333435 36373839 30313233", .header = false},
	{"00000000 00000000 00000000 00000000 00000000 00000000", .header = false},
	{"00000000 34353637 38393031 32333435 36373839 30313233", .header = false},
	{"48656c6c 6f2c2077 6f726c64 210a0000 00000000 00000000", .header = false},
	{"ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff"
	 " ffffffff ffffffff ffffffff ffffffff ffffffff",
	 .header = false},
	{V2("40010010", "00000000", V218), .header = false},
};

static void first_bytes_seen(void **state)
{
	uint8_t p[IPERF2_FIRST_MAX];
	struct iperf2_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		size_t n = bytes_of(seen[i].hex, p);

		assert_int_equal(iperf2_tcp_read(p, n, &h), 0);
		assert_int_equal(h.header, seen[i].header);
		assert_int_equal(h.newer, seen[i].newer);
		assert_int_equal(h.dual, seen[i].dual);
		assert_int_equal(h.now, seen[i].now);
		assert_int_equal(h.reverse, seen[i].reverse);
		assert_int_equal(h.full_duplex, seen[i].duplex);
		assert_int_equal(h.bounceback, seen[i].bounceback);
		assert_int_equal(h.peer_detect, seen[i].detect);
		assert_int_equal(h.skip, seen[i].skip);
		assert_int_equal(h.key_len, seen[i].key_len);
		if (h.header && !h.bounceback) {
			assert_int_equal(h.time_ns, NSEC_PER_SEC);
			assert_int_equal(h.port, 5001);
		}
	}
}

/* What is said in 2.1's form is said as 2.1.8 was seen to say it. */
static void first_bytes_said(void **state)
{
	static const struct {
		struct iperf2_hello h;
		const char *hex;
	} said[] = {
		{{.trip_times = true, .start_real_ns = 1796088405LL * NSEC_PER_SEC + 563596000},
		 "400100a0 00000001 00001389 00000000 00000000 ffffffec 00000000 00000000 00100000"
		 " 00020001 00080003 00000000 00000000 00000000 00000000 00000000 6b0e2255 0008998c"
		 " 00000000 00000000"},
		{{.periodic = true, .bursts_hz = 10, .burst_bytes = 204800},
		 "400100b8 00000001 00001389 00000000 00000000 ffffffec 00000000 00000000 20000000"
		 " 00020001 00080003 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
		 " 00000000 00000000 0000000a 00000000 00032000"},
		{{.quick_ack = true, .tos = 0xb8},
		 "40010078 00000001 00001389 00000000 00000000 ffffffec 00000000 00000000 80000000"
		 " 00020001 00080003 000000b8 00000000 00000000 00000000"},
		{{.trip_times = true,
		  .start_real_ns = 1796088405LL * NSEC_PER_SEC + 563596000,
		  .key = (const uint8_t *)"sesame",
		  .key_len = 6},
		 "500100a4 00000001 00001389 00000000 00000000 ffffffec 00000000 00000000 00100000"
		 " 00020001 00080003 00000000 00000000 00000000 00000000 00000000 6b0e2255 0008998c"
		 " 00000000 00000000 0006 736573616d65"},
	};
	uint8_t want[IPERF2_FIRST_MAX], got[IPERF2_FIRST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		struct iperf2_hello h = said[i].h, back;
		size_t n = bytes_of(said[i].hex, want);

		h.newer = true;
		h.threads = 1;
		h.port = 5001;
		h.time_ns = 200 * NSEC_PER_MSEC;
		assert_int_equal(iperf2_tcp_put(&h, got), n);
		assert_memory_equal(got, want, n);
		assert_int_equal(iperf2_tcp_read(got, n, &back), 0);
		assert_int_equal(back.trip_times, h.trip_times);
		assert_int_equal(back.periodic, h.periodic);
		assert_int_equal(back.key_len, h.key_len);
	}
}

static void datagrams_said(void **state)
{
	const struct iperf2_hello h = {.newer = true,
				       .threads = 1,
				       .port = 5001,
				       .time_ns = 300 * NSEC_PER_MSEC,
				       .rate_bps = 1000000,
				       .reverse = true};
	uint8_t want[64], got[16 + IPERF2_UDP_HEADER] = {0, 0, 0, 1};
	struct iperf2_hello back;
	size_t n =
		bytes_of("6c010098 00000001 00001389 00000000 00000000 ffffffe2 00000000 00000000"
			 " 04000000 00020001 00080003 00000000 000f4240 00000000",
			 want);

	(void)state;
	assert_int_equal(iperf2_udp_put(&h, got + 16), IPERF2_UDP_HEADER);
	assert_memory_equal(got + 16, want, n);
	assert_true(iperf2_udp_read(got, sizeof(got), &back));
	assert_true(back.reverse && back.wide && !back.from_zero);
	assert_int_equal(back.rate_bps, 1000000);
}

/* What a server timed arrives as it was said. */
static void ways_are_told(void **state)
{
	const struct iperf2_report r = {.bytes = 5003880,
					.datagrams = 3404,
					.seconds = 2.0017,
					.timed = true,
					.n = 3404,
					.min = 0.000002,
					.max = 0.000097,
					.mean = 0.000006,
					.stdev = 0.000005,
					.pps = 1700};
	uint8_t p[IPERF2_REPORT_MAX];
	struct iperf2_report back;

	(void)state;
	assert_int_equal(iperf2_report_put(&r, true, 3404, sizeof(p), p), IPERF2_REPORT_MAX);
	assert_true(iperf2_report_get(p, sizeof(p), &back));
	assert_true(back.timed);
	assert_float_equal(back.min, r.min, 1e-9);
	assert_float_equal(back.max, r.max, 1e-9);
	assert_float_equal(back.mean, r.mean, 1e-9);
	assert_float_equal(back.stdev, r.stdev, 1e-7);
	assert_float_equal(back.n, r.n, 0);
}

/* Of a header that is not whole, exactly as much is asked for as there is. */
static void first_bytes_cut(void **state)
{
	uint8_t p[IPERF2_FIRST_MAX];
	struct iperf2_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		size_t n = bytes_of(seen[i].hex, p), have = 0, more;

		while ((more = iperf2_tcp_read(p, have, &h))) {
			assert_true(have + more <= n);
			have += more;
		}
		assert_int_equal(h.header, seen[i].header);
	}
}

static void first_bytes_made(void **state)
{
	const struct iperf2_hello wishes[] = {
		{.threads = 3, .port = 5001, .time_ns = 2 * NSEC_PER_SEC, .skip = 24},
		{.threads = 1, .port = 5002, .bytes = 1000000, .dual = true, .skip = 24},
		{.newer = true,
		 .threads = 1,
		 .port = 5001,
		 .time_ns = NSEC_PER_SEC,
		 .rate_bps = 123456789012,
		 .tos = 0xb8,
		 .reverse = true},
		{.newer = true,
		 .threads = 9,
		 .port = 1,
		 .bytes = 7,
		 .full_duplex = true,
		 .key = (const uint8_t *)"opensesame",
		 .key_len = 10},
	};
	uint8_t p[IPERF2_FIRST_MAX], same[IPERF2_FIRST_MAX];
	struct iperf2_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
		const struct iperf2_hello *w = &wishes[i];
		size_t n = iperf2_tcp_put(w, p);

		assert_int_equal(iperf2_tcp_read(p, n, &h), 0);
		assert_int_equal(h.threads, w->threads);
		assert_int_equal(h.port, w->port);
		assert_int_equal(h.time_ns, w->time_ns);
		assert_int_equal(h.bytes, w->bytes);
		assert_int_equal(h.rate_bps, w->rate_bps);
		assert_int_equal(h.tos, w->tos);
		assert_int_equal(h.reverse, w->reverse);
		assert_int_equal(h.full_duplex, w->full_duplex);
		assert_int_equal(h.dual, w->dual);
		assert_int_equal(h.skip, w->skip);
		assert_int_equal(h.key_len, w->key_len);
		if (w->key_len)
			assert_memory_equal(h.key, w->key, w->key_len);
	}
	/* As iperf itself says it. */
	h = (struct iperf2_hello){.threads = 1, .port = 5001, .time_ns = NSEC_PER_SEC};
	assert_int_equal(iperf2_tcp_put(&h, p), bytes_of(V1_205, same));
	assert_memory_equal(p, same, 24);
	h.newer = h.reverse = true;
	assert_int_equal(iperf2_tcp_put(&h, p), bytes_of(V2("44010078", "04000000", V218), same));
	assert_memory_equal(p, same, 60);
}

/* ---- UDP --------------------------------------------------------------------------------- */

static void first_datagrams(void **state)
{
	uint8_t p[256] = {0};
	struct iperf2_hello h;
	size_t n =
		bytes_of("00000000 6b0d801a 0003eb96 00000000 00000001 00001389 00000000 00100000 "
			 "ffffff38",
			 p);

	(void)state;
	assert_true(iperf2_udp_read(p, n, &h));
	assert_true(h.header && h.from_zero && !h.wide);
	assert_int_equal(h.rate_bps, 1 << 20);
	assert_int_equal(h.time_ns, 2 * NSEC_PER_SEC);
	p[0] = 0x80; /* an end begins nothing */
	assert_false(iperf2_udp_read(p, n, &h));
	p[0] = 0;
	assert_false(iperf2_udp_read(p, 12, &h)); /* nor do too few bytes */
	assert_true(iperf2_udp_read(p, 16, &h) && !h.header);
	n = bytes_of("00000001 6b0d795f 000a0eef 00000000 48010098 00000001 00001389 00000000 "
		     "00000000 ffffff38 00000000 00000000 00000000 00020001 00080003 00000000 "
		     "00100000 00000000 00000000",
		     p);
	assert_true(iperf2_udp_read(p, n, &h));
	assert_true(h.header && h.wide && !h.from_zero);
	assert_int_equal(h.rate_bps, 1 << 20);
	assert_int_equal(h.version_u, 0x20001);
}

static void reports(void **state)
{
	const struct iperf2_report r = {.bytes = 0x100000001ULL,
					.lost = 3,
					.reordered = 2,
					.datagrams = 500,
					.seconds = 2.016845,
					.jitter = 0.000174};
	uint8_t p[IPERF2_REPORT_MAX], seen205[64];
	struct iperf2_report got;

	(void)state;
	for (int newer = 0; newer < 2; newer++) {
		assert_int_equal(iperf2_report_put(&r, newer, 500, 1470, p), newer ? 128 : 52);
		assert_true(iperf2_report_get(p, newer ? 128 : 52, &got));
		assert_int_equal(got.bytes, r.bytes);
		assert_int_equal(got.lost, 3);
		assert_int_equal(got.reordered, 2);
		assert_int_equal(got.datagrams, 500);
		assert_int_equal(got.seconds * 1e6 + 0.5, 2016845);
		assert_int_equal(got.jitter * 1e6 + 0.5, 174);
		for (size_t n = 0; n < (newer ? 56U : 52U); n++)
			assert_false(iperf2_report_get(p, n, &got));
		/* Never longer than what is answered (security 1). */
		assert_int_equal(iperf2_report_put(&r, newer, 500, 16, p), 16);
	}
	bytes_of("ffffff4c 6b0d801c 00043512 80000000 00000000 00040998 00000002 000041cd 00000000 "
		 "00000000 000000b4 00000000 00000009",
		 seen205);
	assert_true(iperf2_report_get(seen205, 52, &got));
	assert_int_equal(got.bytes, 264600);
	assert_int_equal(got.datagrams, 180);
	assert_int_equal(got.lost, 0);
}

/* ---- a receiver ----------------------------------------------------------------------- */

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

struct receiver {
	struct net_engine *en;
	struct flow_spec spec;
};

static void receiver_open(struct receiver *r, bool wide, bool from_zero)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	close(fds[1]);
	r->spec = (struct flow_spec){.transport = NET_UDP,
				     .len = 64,
				     .counters_64bit = wide,
				     .udp_form = NET_UDP_IPERF2,
				     .udp_from_zero = from_zero};
	assert_int_equal(net_engine_new(&(struct net_engine_cfg){0}, &r->en, NULL), 0);
	assert_int_equal(net_engine_add(r->en, fds[0], &r->spec, false, NULL), 0);
}

static struct net_flow_sample given(struct receiver *r, const int64_t *ids, size_t n)
{
	struct net_flow_sample s;
	uint8_t p[64] = {0};

	for (size_t i = 0; i < n; i++) {
		put32(p, (uint32_t)ids[i]);
		put32(p + 4, (uint32_t)i);
		put32(p + 12, (uint32_t)((uint64_t)ids[i] >> 32));
		net_engine_udp_preload(r->en, 0, p, sizeof(p), clk_mono_ns());
	}
	net_engine_stop(r->en);
	net_engine_sample(r->en, 0, &s);
	if (s.udp.fin) {
		assert_int_equal(net_engine_udp_final(r->en, 0, s.udp.fin), 0);
		net_engine_sample(r->en, 0, &s);
	}
	return s;
}

/* Each version's numbering, without a loss and with one; nothing is lost that was not. */
static void no_false_loss(void **state)
{
	static const struct {
		bool wide, from_zero;
		int64_t ids[8];
		size_t n;
		uint64_t fin, received, lost;
	} cases[] = {
		/* 2.0.5: from 0; the end carries how many */
		{false, true, {0, 1, 2, 3, -4}, 5, 4, 4, 0},
		{false, true, {0, 1, 3, -4}, 4, 4, 3, 1},
		{false, true, {0, 1, 2, -4}, 4, 4, 3, 1},
		{false, true, {0, 1, 2, 3, -4, -4, -4}, 7, 4, 4, 0},
		{false, true, {0, 2, 1, 3, -4}, 5, 4, 4, 0},
		/* 2.1.8: from 1; the end is one of them, and comes again with other numbers */
		{true, false, {1, 2, 3, -4}, 4, 4, 4, 0},
		{true, false, {1, 3, -4, -5, -6}, 5, 4, 3, 1},
		/* 2.0.13a: the number with its upper bit set */
		{false, true, {0, 1, 2, 3, 4LL | 0x80000000LL}, 5, 4, 4, 0},
		{true, false, {1, 2, 3, 4LL | 0x80000000LL}, 4, 4, 4, 0},
		/* no end */
		{true, false, {1, 2, 4}, 3, 0, 3, 1},
		/* an end that cannot be */
		{false, true, {0, 1, 2, -99999999}, 4, 0, 3, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct receiver r;
		struct net_flow_sample s;

		receiver_open(&r, cases[i].wide, cases[i].from_zero);
		s = given(&r, cases[i].ids, cases[i].n);
		assert_int_equal(s.udp.fin, cases[i].fin);
		assert_int_equal(s.udp.received, cases[i].received);
		assert_int_equal(s.udp.lost, cases[i].lost);
		assert_int_equal(s.udp.duplicates, 0);
		assert_int_equal(s.bytes, cases[i].received * 64);
		net_engine_free(r.en);
	}
}

/* ---- both roles ------------------------------------------------------------------------- */

static int listener(int type, uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_true(type == SOCK_DGRAM || listen(fd, 8) == 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

struct end {
	int fd;
	struct proto_iperf2 iperf2;
	struct proto_session s;
	struct model_run *run;
	struct weir_err e;
	int rc;
};

static void *serve_one(void *arg)
{
	struct end *x = arg;
	struct proto_limits lim = {0};
	struct measure_serve m = {.proto = &x->s, .limits = &lim, .stop_fd = -1, .workers = 1};
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	uint8_t first[2048];
	struct proto_early early = {.p = first};
	int type = 0;
	socklen_t len = sizeof(type);

	getsockopt(x->fd, SOL_SOCKET, SO_TYPE, &type, &len);
	x->s = (struct proto_session){.proto = proto_find("iperf2"),
				      .role = PROTO_SERVER,
				      .stop_fd = -1,
				      .iperf2 = &x->iperf2,
				      .server_facts = "{}"};
	if (type == SOCK_DGRAM) {
		early.n = (uint32_t)recvfrom(x->fd, first, sizeof(first), 0, (struct sockaddr *)&a,
					     &n);
		early.arrival_ns = clk_mono_ns();
		x->rc = connect(x->fd, (struct sockaddr *)&a, n);
		x->s.ctl_fd = dup(x->fd);
		x->s.early = &early;
		x->s.n_early = 1;
	} else {
		x->s.ctl_fd = accept(x->fd, NULL, NULL);
	}
	x->rc = measure_serve_run(&m, &x->run, &x->e);
	proto_session_fini(&x->s);
	return NULL;
}

static uint64_t sum_bytes(const struct model_run *r, int dir, int view)
{
	struct model_dims d =
		model_dims_with(model_dims_with(DIMS_NONE, DIM_DIR, dir), DIM_VIEW, view);
	const struct model_summary *s = model_find(r, "bytes", STAT_VALUE, &d, true);

	return s ? (uint64_t)s->value : 0;
}

static void quiet_run(struct sink *s, const struct model_run *r)
{
	(void)s, (void)r;
}
static void quiet_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	(void)s, (void)r, (void)t;
}
static void quiet_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	(void)s, (void)r, (void)ev;
}

static void run_both(struct end *far, const struct measure *m, const char *const *opts, size_t n,
		     const struct proto_iperf2 *mine, struct measure_ctx *ctx, int type)
{
	static struct sink sink = {quiet_run, quiet_sample, quiet_event, quiet_run, NULL};
	struct measure_hooks hooks = {.iperf2 = mine};
	void *cfg = calloc(1, m->cfg_size);
	struct opt_set set = {.rows = m->opts, .n = m->n_opts, .cfg = cfg};
	struct weir_err e = {0};
	char port[8];
	uint16_t p;
	pthread_t t;

	far->fd = listener(type, &p);
	snprintf(port, sizeof(port), "%u", p);
	assert_int_equal(opt_defaults(&set, 1, &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "host", "127.0.0.1", &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "port", port, &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "proto", "iperf2", &e), 0);
	for (size_t i = 0; i + 1 < n; i += 2)
		assert_int_equal(opt_set_value(&set, 1, opts[i], opts[i + 1], &e), 0);
	assert_int_equal(pthread_create(&t, NULL, serve_one, far), 0);
	*ctx = (struct measure_ctx){.sink = &sink, .stop_fd = -1, .hooks = &hooks};
	if (m->run(ctx, cfg, &e) < 0)
		print_message("%s\n", e.msg);
	pthread_join(t, NULL);
	close(far->fd);
	opt_fini(&set, 1);
	free(cfg);
}

static void end_fini(struct end *far, struct measure_ctx *ctx)
{
	model_run_free(far->run);
	model_run_free(ctx->run);
}

/* Every byte that was sent came; of 2.0.5's header none counts, 2.1's is data as iperf has it. */
static void tcp_up(void **state)
{
	static const char *const opts[] = {"bytes", "3000000"};

	(void)state;
	for (int old = 0; old < 2; old++) {
		struct proto_iperf2 mine = {.old = old};
		struct end far = {0};
		struct measure_ctx ctx;

		run_both(&far, &measure_tcp, opts, 2, &mine, &ctx, SOCK_STREAM);
		assert_int_equal(far.rc, 0);
		assert_int_equal(ctx.run->outcome, OUTCOME_COMPLETE);
		assert_int_equal(sum_bytes(ctx.run, MODEL_UP, MODEL_SENDER), 3000000);
		assert_int_equal(sum_bytes(far.run, MODEL_UP, MODEL_RECEIVER),
				 old ? 3000000 : 3000060);
		assert_string_equal(far.run->host[MODEL_FAR].tool, "iperf");
		end_fini(&far, &ctx);
	}
}

static void tcp_down(void **state)
{
	static const char *const opts[] = {"bytes", "2000000", "reverse", "true"};
	struct end far = {0};
	struct measure_ctx ctx;

	(void)state;
	run_both(&far, &measure_tcp, opts, 4, NULL, &ctx, SOCK_STREAM);
	assert_int_equal(far.rc, 0);
	assert_int_equal(ctx.run->outcome, OUTCOME_COMPLETE);
	assert_int_equal(sum_bytes(ctx.run, MODEL_DOWN, MODEL_RECEIVER), 2000000);
	end_fini(&far, &ctx);
}

static void keys(void **state)
{
	static const char *const opts[] = {"bytes", "200000"};
	static const struct {
		const char *near, *far;
		int rc;
	} cases[] = {{"sesame", "sesame", 0},
		     {"sesame", "simsim", -EACCES},
		     {NULL, "sesame", -EACCES},
		     {"sesame", NULL, -EACCES}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proto_iperf2 mine = {.key = cases[i].near};
		struct end far = {.iperf2 = {.key = cases[i].far}};
		struct measure_ctx ctx;

		run_both(&far, &measure_tcp, opts, 2, &mine, &ctx, SOCK_STREAM);
		assert_int_equal(far.rc, cases[i].rc);
		end_fini(&far, &ctx);
	}
}

static void udp_up(void **state)
{
	static const char *const opts[] = {"bytes", "147000", "bitrate", "20M"};
	struct end far = {0};
	struct measure_ctx ctx;
	struct model_dims d = model_dims_with(model_dims_with(DIMS_NONE, DIM_DIR, MODEL_UP),
					      DIM_VIEW, MODEL_RECEIVER);
	const struct model_summary *lost;

	(void)state;
	run_both(&far, &measure_udp, opts, 4, NULL, &ctx, SOCK_DGRAM);
	assert_int_equal(far.rc, 0);
	assert_int_equal(ctx.run->outcome, OUTCOME_COMPLETE);
	assert_int_equal(sum_bytes(ctx.run, MODEL_UP, MODEL_SENDER), 147000);
	assert_int_equal(sum_bytes(ctx.run, MODEL_UP, MODEL_RECEIVER), 147000);
	lost = model_find(ctx.run, "udp.lost", STAT_VALUE, &d, true);
	assert_non_null(lost);
	assert_int_equal(lost->value, 0);
	end_fini(&far, &ctx);
}

/* ---- -d: the server connects back ---- */

#define BACK_BYTES 123456

struct caller {
	int fd;
	struct iperf2_hello h;
	uint64_t got;
};

/* Reads what is wanted, connects to where it is told to, and sends there. */
static void *call_back(void *arg)
{
	static const uint8_t zeros[BACK_BYTES];
	struct caller *c = arg;
	int64_t deadline = clk_mono_ns() + 30 * NSEC_PER_SEC;
	struct net_addr to = {.len = sizeof(to.ss)};
	uint8_t p[4096];
	int fd = accept(c->fd, NULL, NULL), back;
	ssize_t n;

	getpeername(fd, &to.sa, &to.len);
	if (net_read_full(fd, p, IPERF2_HEADER, deadline, -1) == 0)
		iperf2_tcp_read(p, IPERF2_HEADER, &c->h);
	to.in4.sin_port = htons(c->h.port);
	back = net_connect_tcp(&to, NULL, NULL, 10 * NSEC_PER_SEC, NULL);
	if (back >= 0) {
		net_write_full(back, zeros, sizeof(zeros), deadline, -1);
		close(back);
	}
	while ((n = read(fd, p, sizeof(p))) > 0)
		c->got += (uint64_t)n;
	close(fd);
	return NULL;
}

static void a_server_connects_back(void **state)
{
	static struct sink sink = {quiet_run, quiet_sample, quiet_event, quiet_run, NULL};
	struct iperf2_hello wish = {.dual = true, .now = true};
	struct proto_iperf2 mine = {.wish = &wish};
	struct measure_hooks hooks = {.iperf2 = &mine};
	struct measure_ctx ctx = {.sink = &sink, .stop_fd = -1, .hooks = &hooks};
	void *cfg = calloc(1, measure_tcp.cfg_size);
	struct opt_set set = {.rows = measure_tcp.opts, .n = measure_tcp.n_opts, .cfg = cfg};
	struct weir_err e = {0};
	struct caller c = {0};
	char port[8];
	uint16_t p;
	pthread_t t;

	(void)state;
	c.fd = listener(SOCK_STREAM, &p);
	mine.listen_fd = listener(SOCK_STREAM, &wish.port);
	snprintf(port, sizeof(port), "%u", p);
	assert_int_equal(pthread_create(&t, NULL, call_back, &c), 0);
	assert_int_equal(opt_defaults(&set, 1, &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "host", "127.0.0.1", &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "port", port, &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "proto", "iperf2", &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "bidir", "true", &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "time", "200ms", &e), 0);
	assert_int_equal(measure_tcp.run(&ctx, cfg, &e), 0);
	pthread_join(t, NULL);
	assert_true(c.h.dual && c.h.now && !c.h.full_duplex && !c.h.reverse);
	assert_int_equal(c.h.port, wish.port);
	assert_int_equal(sum_bytes(ctx.run, MODEL_DOWN, MODEL_RECEIVER), BACK_BYTES);
	assert_true(c.got > 0);
	assert_int_equal(sum_bytes(ctx.run, MODEL_UP, MODEL_SENDER), c.got);
	model_run_free(ctx.run);
	opt_fini(&set, 1);
	free(cfg);
	close(c.fd);
	close(mine.listen_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_bytes_seen), cmocka_unit_test(first_bytes_said),
		cmocka_unit_test(datagrams_said),   cmocka_unit_test(ways_are_told),
		cmocka_unit_test(first_bytes_cut),  cmocka_unit_test(first_bytes_made),
		cmocka_unit_test(first_datagrams),  cmocka_unit_test(reports),
		cmocka_unit_test(no_false_loss),    cmocka_unit_test(tcp_up),
		cmocka_unit_test(tcp_down),         cmocka_unit_test(keys),
		cmocka_unit_test(udp_up),           cmocka_unit_test(a_server_connects_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
