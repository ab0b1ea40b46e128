/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nttcp: rows to the character, requests as they were recorded and as nobody should send them, the
 * dialogue of a verbose server, and both roles against each other.
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

/* ---- rows ------------------------------------------------------------------------------- */

static void put(char *dst, size_t cap, const char *format, const struct nttcp_row *r)
{
	struct buf b = {0};

	assert_int_equal(r ? nttcp_row_put(&b, format, r) : nttcp_title_put(&b, format), 0);
	snprintf(dst, cap, "%s", b.data ? b.data : "");
	buf_fini(&b);
}

/* Rows that people posted, from what must have been measured. */
static void posted_rows(void **state)
{
	static const struct {
		struct nttcp_row r;
		const char *text;
	} cases[] = {
		{{.bytes = 33554432, .calls = 2048, .real_s = 11.168059, .cpu_s = 0.313953},
		 " 33554432   11.17    0.31     24.0360    855.0180    2048    183.38    6523.3"},
		{{.bytes = 33554432, .calls = 22540, .real_s = 11.194419, .cpu_s = 1.043841},
		 " 33554432   11.19    1.04     23.9794    257.1612   22540   2013.50   21593.3"},
		{{.bytes = 8388608, .calls = 2048, .real_s = 4.725843, .cpu_s = 4.599301},
		 "  8388608    4.73    4.60     14.2004     14.5911    2048    433.36     445.3"},
		{{.bytes = 8388608, .calls = 6145, .real_s = 4.726493, .cpu_s = 0.03},
		 "  8388608    4.73    0.03     14.1984   2236.9621    6145   1300.12  204833.3"},
		/* Nothing is divided by nothing. */
		{{.bytes = 1000, .calls = 1, .real_s = 0, .cpu_s = 0},
		 "     1000    0.00    0.00    800.0000    800.0000       1 100000.00  100000.0"},
	};
	char text[600];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put(text, sizeof(text), NTTCP_FORMAT, &cases[i].r);
		assert_string_equal(text, cases[i].text);
	}
	put(text, sizeof(text), NTTCP_FORMAT, NULL);
	assert_string_equal(
		text, "     Bytes  Real s   CPU s Real-MBit/s  CPU-MBit/s   Calls  Real-C/s   "
		      "CPU-C/s");
}

static void formats(void **state)
{
	const struct nttcp_row r = {.bytes = 8388608,
				    .buffers = 2048,
				    .len = 4096,
				    .calls = 2050,
				    .real_s = 0.5,
				    .cpu_s = 0.25};
	static const struct {
		const char *format, *row, *title;
	} cases[] = {
		{"bytes=%10b t=%6.3rt rate=%.1rbr end", "bytes=   8388608 t= 0.500 rate=134.2 end",
		 "            Bytes   Real s      Real-MBit/s"},
		{"%l/%n/%c", "4096/2048/2050", " Length Buffers Calls"},
		{"%ct%8.1ccr", "0.250000  8200.0", " CPU s CPU-C/s"},
		{"", "", ""},
		{"%30.30rt", "0.500000000000000000000000000000", "                         Real s"},
	};
	static const char *const bad[] = {"%",   "%s",      "%n%", "%31b", "%.31rt", "%-5b",
					  "%*b", "%99999b", "%x",  "%1$b", "%hhn%q", "%.b%.z"};
	char text[600], longest[NTTCP_ROW_MAX + 8];
	struct buf b = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put(text, sizeof(text), cases[i].format, &r);
		assert_string_equal(text, cases[i].row);
		put(text, sizeof(text), cases[i].format, NULL);
		assert_string_equal(text, cases[i].title);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(nttcp_row_put(&b, bad[i], &r), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(nttcp_row_put(&b, longest, &r), -EINVAL);
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

/* ---- requests ------------------------------------------------------------------------- */

static void requests(void **state)
{
	static const struct {
		const char *line;
		int rc;
		struct nttcp_request q;
	} cases[] = {
		{"nttcp@-r@-l4096@-n2048@-f@" NTTCP_FORMAT "@-N1",
		 0,
		 {.receives = true, .len = 4096, .n = 2048, .number = 1}},
		{"nttcp@-t@-l8192@-n8192@-v@-f@" NTTCP_FORMAT "@-N2",
		 0,
		 {.verbose = true, .len = 8192, .n = 8192, .number = 2}},
		{"nttcp@-r@-l1472@-n500@-u@-f@" NTTCP_FORMAT "@-g1000@-N1",
		 0,
		 {.receives = true,
		  .udp = true,
		  .len = 1472,
		  .n = 500,
		  .number = 1,
		  .gap_ns = NSEC_PER_MSEC}},
		/* Later ones win: what was typed behind the host. */
		{"nttcp@-r@-l8192@-n2048@-f@" NTTCP_FORMAT "@-N1@-l1000@-w32",
		 0,
		 {.receives = true, .len = 1000, .n = 2048, .number = 1, .window = 32 << 10}},
		{"nttcp@-r@-w@64@-D",
		 0,
		 {.receives = true,
		  .nodelay = true,
		  .len = 4096,
		  .n = 2048,
		  .number = 1,
		  .window = 64 << 10}},
		{.line = "nttcp@-r@-R10000001@-N1", .rc = -ERANGE},
		{.line = "nttcp@-r@-R0@-N1", .rc = -ERANGE},
		{.line = "nttcp@-r@-c@-s", .rc = -EOPNOTSUPP},
		{.line = "nttcp@-r@-m239.0.0.1:5000", .rc = -EOPNOTSUPP},
		{.line = "nttcp@-r@-l0", .rc = -ERANGE},
		{.line = "nttcp@-r@-l100000000", .rc = -ERANGE},
		{.line = "nttcp@-r@-n-1", .rc = -ERANGE},
		{.line = "nttcp@-r@-n18446744073709551615", .rc = -ERANGE},
		{.line = "nttcp@-r@-f@%s%n", .rc = -EINVAL},
		{.line = "nttcp@-r@-l", .rc = -EPROTO},
		{.line = "nttcp@file", .rc = -EPROTO},
		{.line = "nttcp@-r@@", .rc = -EPROTO},
		{.line = "nttcp", .rc = -EPROTO},
		{.line = "", .rc = -EPROTO},
	};
	struct nttcp_request q;
	struct weir_err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct nttcp_request *w = &cases[i].q;

		assert_int_equal(nttcp_request_read(cases[i].line, strlen(cases[i].line), &q, &e),
				 cases[i].rc);
		if (cases[i].rc)
			continue;
		assert_int_equal(q.receives, w->receives);
		assert_int_equal(q.udp, w->udp);
		assert_int_equal(q.nodelay, w->nodelay);
		assert_int_equal(q.verbose, w->verbose);
		assert_int_equal(q.len, w->len);
		assert_int_equal(q.n, w->n);
		assert_int_equal(q.number, w->number);
		assert_int_equal(q.window, w->window);
		assert_int_equal(q.gap_ns, w->gap_ns);
		assert_string_equal(q.format, NTTCP_FORMAT);
	}
	assert_int_equal(nttcp_request_read("x@-fa\\@b%b", 10, &q, &e), 0);
	assert_string_equal(q.format, "a@b%b");
	assert_int_equal(nttcp_request_read("x@-r\0@-u", 8, &q, &e), -EMSGSIZE);
}

/* ---- both roles --------------------------------------------------------------------------- */

struct far {
	const char *proto;
	int listener, rc;
	struct proto_session s;
	struct model_run *run;
	struct weir_err e;
};

static void *serve_one(void *arg)
{
	struct far *f = arg;
	struct proto_limits lim = {0};
	struct measure_serve m = {.proto = &f->s, .limits = &lim, .stop_fd = -1, .workers = 1};

	f->s = (struct proto_session){.proto = proto_find(f->proto),
				      .role = PROTO_SERVER,
				      .stop_fd = -1,
				      .server_facts = "{}"};
	f->s.ctl_fd = accept(f->listener, NULL, NULL);
	f->s.peer_addr.len = sizeof(f->s.peer_addr.ss);
	getpeername(f->s.ctl_fd, &f->s.peer_addr.sa, &f->s.peer_addr.len);
	f->rc = measure_serve_run(&m, &f->run, &f->e);
	proto_session_fini(&f->s);
	return NULL;
}

static uint16_t listen_here(struct far *f)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(f->listener, 4), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

static void none(struct sink *s, const struct model_run *r)
{
	(void)s, (void)r;
}
static void none_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	(void)s, (void)r, (void)t;
}
static void none_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	(void)s, (void)r, (void)ev;
}

static uint64_t bytes_of(const struct model_run *r, int dir, int view)
{
	struct model_dims d =
		model_dims_with(model_dims_with(DIMS_NONE, DIM_DIR, dir), DIM_VIEW, view);
	const struct model_summary *s = model_find(r, "bytes", STAT_VALUE, &d, true);

	return s ? (uint64_t)s->value : 0;
}

static void both_as(const char *proto, const struct measure *m, const char *const *opts, size_t n,
		    struct proto_nttcp *mine, int dir, uint64_t want)
{
	struct sink sink = {none, none_sample, none_event, none, NULL};
	struct measure_hooks hooks = {.nttcp = mine};
	struct measure_ctx ctx = {.sink = &sink, .stop_fd = -1, .hooks = &hooks};
	void *cfg = calloc(1, m->cfg_size);
	struct opt_set set = {.rows = m->opts, .n = m->n_opts, .cfg = cfg};
	struct weir_err e = {0};
	struct far far = {.proto = proto};
	char port[8];
	pthread_t t;

	snprintf(port, sizeof(port), "%u", listen_here(&far));
	assert_int_equal(opt_defaults(&set, 1, &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "host", "127.0.0.1", &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "port", port, &e), 0);
	assert_int_equal(opt_set_value(&set, 1, "proto", proto, &e), 0);
	for (size_t i = 0; i + 1 < n; i += 2)
		assert_int_equal(opt_set_value(&set, 1, opts[i], opts[i + 1], &e), 0);
	assert_int_equal(pthread_create(&t, NULL, serve_one, &far), 0);
	if (m->run(&ctx, cfg, &e) < 0)
		print_message("%s\n", e.msg);
	pthread_join(t, NULL);
	assert_int_equal(far.rc, 0);
	assert_int_equal(ctx.run->outcome, OUTCOME_COMPLETE);
	assert_int_equal(bytes_of(ctx.run, dir, MODEL_SENDER), want);
	if (!strcmp(proto, "nttcp")) /* ttcp tells nothing */
		assert_int_equal(bytes_of(ctx.run, dir, MODEL_RECEIVER), want);
	assert_int_equal(bytes_of(far.run, dir, dir == MODEL_UP ? MODEL_RECEIVER : MODEL_SENDER),
			 want);
	assert_string_equal(far.run->host[MODEL_FAR].tool, proto);
	close(far.listener);
	model_run_free(far.run);
	model_run_free(ctx.run);
	opt_fini(&set, 1);
	free(cfg);
}

static void both(const struct measure *m, const char *const *opts, size_t n,
		 struct proto_nttcp *mine, int dir, uint64_t want)
{
	both_as("nttcp", m, opts, n, mine, dir, want);
}

static void ttcp(void **state)
{
	static const char *const up[] = {"blocks", "100", "length", "4096"};
	struct proto_nttcp words = {0};

	(void)state;
	both_as("ttcp", &measure_tcp, up, 4, &words, MODEL_UP, 409600);
	assert_int_equal(words.mine.bytes, 409600);
	assert_int_equal(words.mine.buffers, 100);
	assert_true(words.mine.calls >= 1 && words.mine.real_s > 0);
}

/* What was recorded, but for the figure. */
static void pid_rates(void **state)
{
	static const char request[] = "nttcp@-r@-l4096@-n2048@-f@" NTTCP_FORMAT "@-R1000@-N1\n";
	struct far far = {.proto = "nttcp"};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char got[256] = "", end;
	unsigned long long rate = 0;
	size_t n = 0;
	pthread_t t;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), used = 0;

	(void)state;
	a.sin_port = htons(listen_here(&far));
	assert_int_equal(pthread_create(&t, NULL, serve_one, &far), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	while (n + 1 < sizeof(got) && read(fd, got + n, 1) == 1)
		n++;
	assert_int_equal(sscanf(got,
				"dataport: 5038\nnttcp-1: pid-rate (from 1000 calls): %llu/s%c%n",
				&rate, &end, &used),
			 2);
	assert_int_equal(used, (int)n);
	assert_int_equal(end, '\n');
	assert_true(rate > 0);
	close(fd);
	pthread_join(t, NULL);
	assert_int_equal(far.rc, -ECANCELED);
	close(far.listener);
	model_run_free(far.run);
}

static void to_and_fro(void **state)
{
	static const char *const up[] = {"blocks", "100", "length", "4096"};
	static const char *const down[] = {"blocks", "100", "length", "4096", "reverse", "true"};
	static const char *const udp[] = {"blocks", "50", "length", "1000", "bitrate", "20M"};
	struct proto_nttcp words = {.format = NTTCP_FORMAT, .verbose = true, .number = 7};

	(void)state;
	both(&measure_tcp, up, 4, NULL, MODEL_UP, 409600);
	both(&measure_tcp, down, 6, NULL, MODEL_DOWN, 409600);
	both(&measure_udp, udp, 6, NULL, MODEL_UP, 50000);
	/* With nttcp's own format and its words: what was recorded, where it is fixed. */
	both(&measure_tcp, up, 4, &words, MODEL_UP, 409600);
	assert_int_equal(words.mine.bytes, 409600);
	assert_true(words.mine.calls >= 1 && words.mine.real_s > 0);
	assert_non_null(strstr(words.greeting.data, "nttcp-7: Pid="));
	assert_non_null(strstr(words.greeting.data,
			       "nttcp-7: Optionline=\"nttcp@-r@-l4096@-n100@-v@-f@" NTTCP_FORMAT
			       "@-N7\"\n"));
	assert_non_null(strstr(words.greeting.data, "\ndataport: 5"));
	assert_non_null(strstr(words.said.data, "nttcp-7: accept from 127.0.0.1\n"));
	assert_non_null(strstr(words.said.data, "nttcp-7: buflen=4096, bufcnt=100, dataport=5"));
	assert_non_null(
		strstr(words.said.data, "/tcp\n\nnttcp-7: received 409600 bytes\n7   409600 "));
	assert_non_null(strstr(words.said.data, "\nnttcp-7: exiting\n\n"));
	buf_fini(&words.greeting);
	buf_fini(&words.said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posted_rows), cmocka_unit_test(formats),
		cmocka_unit_test(requests),    cmocka_unit_test(to_and_fro),
		cmocka_unit_test(ttcp),        cmocka_unit_test(pid_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
