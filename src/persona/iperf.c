/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's command: its client on weir's measurements, its server on weir's server, each test in a
 * process of its own. What is printed goes line by line as in the version that was asked for.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "persona/iperf.h"
#include "serve/serve.h"

#define RULE     "------------------------------------------------------------"
#define VERSION  "iperf version 2.1.8 (12 August 2022) pthreads"
#define OLD      "iperf version 2.0.5 (08 Jul 2010) pthreads"
#define FLOWS    256
#define UDP_RATE 1048576 /* bit/s, of both versions */
#define FIRST_FD 3       /* 2.0.5's numbers are descriptors; a server's own listener is 3 */

struct format_iperf2_opts i2_format(const struct i2_cfg *c, bool server)
{
	return (struct format_iperf2_opts){
		.v205 = c->v205, .csv = c->csv != NULL, .server = server, .unit = c->unit};
}

void i2_flush(struct buf *b)
{
	if (b->len)
		fwrite(b->data, 1, b->len, stdout);
	fflush(stdout);
	buf_clear(b);
}

static int sock_int(int fd, int level, int name)
{
	int v = 0;
	socklen_t n = sizeof(v);

	return getsockopt(fd, level, name, &v, &n) ? 0 : v;
}

/* What a socket gets before it is anything. */
static int buffer_size(const struct i2_cfg *c, bool udp, bool server)
{
	int fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0), v = (int)c->n_window, got;
	int name = server ? SO_RCVBUF : SO_SNDBUF;

	if (fd < 0)
		return 0;
	if (c->n_window)
		setsockopt(fd, SOL_SOCKET, name, &v, sizeof(v));
	got = sock_int(fd, SOL_SOCKET, name);
	close(fd);
	return got;
}

static void put_window(struct buf *b, const struct i2_cfg *c, bool udp, bool server)
{
	const struct format_iperf2_opts o = i2_format(c, server);
	int got = buffer_size(c, udp, server);

	buf_printf(b, "%s: ", udp ? "UDP buffer size" : "TCP window size");
	format_iperf2_size(b, got, &o);
	if (!c->n_window) {
		buf_puts(b, " (default)");
	} else if ((uint64_t)got != c->n_window) {
		buf_puts(b, " (WARNING: requested ");
		format_iperf2_size(b, (double)c->n_window, &o);
		buf_putc(b, ')');
	}
	buf_putc(b, '\n');
}

void i2_banner(struct buf *b, const struct i2_cfg *c, const char *first, bool udp, bool server)
{
	unsigned len = c->n_len ? (unsigned)c->n_len : 1470;
	double rate = c->rate_bps ? (double)c->rate_bps : UDP_RATE;

	if (c->csv)
		return;
	buf_printf(b, RULE "\n%s\n", first);
	if (udp && !server && c->v205)
		buf_printf(b, "Sending %u byte datagrams\n", len);
	else if (udp && !server)
		buf_printf(b, "Sending %u byte datagrams, IPG target: %.2f us (kalman adjust)\n",
			   len, len * 8e6 / rate);
	else if (udp && c->v205)
		buf_printf(b, "Receiving %u byte datagrams\n", len);
	put_window(b, c, udp, server);
	buf_puts(b, RULE "\n");
}

void i2_flow(struct format_iperf2_flow *f, int fd, int id)
{
	struct net_tcp_info info;
	int len = net_tcp_info_get(fd, &info);

	*f = (struct format_iperf2_flow){.id = id};
	net_sock_end(fd, NET_END_LOCAL, f->local_host, sizeof(f->local_host), &f->local_port);
	net_sock_end(fd, NET_END_PEER, f->remote_host, sizeof(f->remote_host), &f->remote_port);
	if (len <= 0 || !NET_HAS((size_t)len, rtt_us))
		return;
	f->mss = info.snd_mss;
	f->cwnd = info.snd_cwnd;
	f->rtt_us = info.rtt_us;
}

/* ---- what both roles print ---------------------------------------------------------------- */

struct report {
	const struct i2_cfg *c;
	struct format_iperf2_opts o;
	struct buf out;
	struct format_iperf2_flow flow[FLOWS];
	size_t n, up; /* flows; of them up */
	bool server, udp, headed;
	int first_id;
	double real0; /* of the run's time 0, s */
	void (*flush)(struct report *r);
	serve_put *put;
	void *put_arg;
	struct sink sink;
	struct proto_iperf2 iperf2;
};

static const char *mode_of(const struct report *r)
{
	bool down = r->n > r->up;

	return !down ? "" : r->up ? " (full-duplex)" : " (reverse)";
}

static void on_opened(void *arg, struct proto_session *s)
{
	struct report *r = arg;
	size_t streams;

	r->n = s->plan->n < FLOWS ? s->plan->n : FLOWS;
	r->up = flow_plan_count(s->plan, NET_UP);
	r->udp = s->plan->flows[0].transport == NET_UDP;
	streams = r->up ? r->up : r->n;
	for (size_t i = 0; i < r->n; i++) {
		struct format_iperf2_flow *f = &r->flow[i];

		i2_flow(f, s->fds[i], r->first_id + (int)(i % streams));
		/* The direction that is not the usual one of this end. */
		f->star = i >= r->up && (!r->server || r->up);
		if (i < streams)
			format_iperf2_connected(&r->out, &r->o, f, mode_of(r));
		if (i < streams && r->c->print_mss && !r->udp && !r->o.csv)
			buf_printf(&r->out, "[%3d] MSS size %u bytes\n", f->id, f->mss);
	}
	r->flush(r);
}

static bool sends(const struct report *r, size_t i)
{
	return (i < r->up) != r->server;
}

static void put_header(struct report *r, bool datagrams)
{
	if (!r->headed)
		format_iperf2_header(&r->out, &r->o, datagrams);
	r->headed = true;
}

static void add(struct format_iperf2_row *sum, const struct format_iperf2_row *r)
{
	if (sum->t1 <= 0)
		*sum = *r;
	else {
		sum->bytes += r->bytes;
		sum->lost += r->lost;
		sum->total += r->total;
		sum->reordered += r->reordered;
		sum->t0 = r->t0 < sum->t0 ? r->t0 : sum->t0;
		sum->t1 = r->t1 > sum->t1 ? r->t1 : sum->t1;
	}
}

/* Rows of all flows, and their sum. tick NULL: of the whole. */
static void put_rows(struct report *r, const struct model_run *run, const struct model_tick *t)
{
	struct format_iperf2_row row, sum = {0};

	for (size_t i = 0; i < r->n; i++) {
		int dir = i < r->up ? MODEL_UP : MODEL_DOWN;
		int64_t flow = -1;
		bool got;

		if ((i < r->up ? r->up : r->n - r->up) > 1)
			flow = (int64_t)i;
		got = t ? format_iperf2_tick(run, t, dir, sends(r, i), flow, &row)
			: format_iperf2_total(run, dir, sends(r, i), flow, &row);

		if (!got)
			continue;
		row.when = r->real0 + row.t1;
		put_header(r, row.datagrams);
		format_iperf2_row(&r->out, &r->o, &r->flow[i], &row);
		if (!t && r->udp && !r->server && !r->o.csv)
			buf_printf(&r->out, "[%3d] Sent %.0f datagrams\n", r->flow[i].id,
				   row.total);
		add(&sum, &row);
	}
	if (r->n > 1 && sum.t1 > 0)
		format_iperf2_row(&r->out, &r->o, NULL, &sum);
	r->flush(r);
}

static void on_begin(struct sink *s, const struct model_run *run)
{
	struct report *r = (struct report *)(void *)((char *)s - offsetof(struct report, sink));

	r->real0 = (double)run->start_real_ns * 1e-9;
}

static void on_sample(struct sink *s, const struct model_run *run, const struct model_tick *t)
{
	struct report *r = (struct report *)(void *)((char *)s - offsetof(struct report, sink));

	/* The rest of the last interval is in the whole. */
	if (r->c->interval_ns && t->t1 - t->t0 >= r->c->interval_ns * 9 / 10)
		put_rows(r, run, t);
}

static void on_event(struct sink *s, const struct model_run *run, const struct model_event *ev)
{
	(void)s, (void)run, (void)ev;
}

static void on_end(struct sink *s, const struct model_run *run)
{
	(void)s, (void)run;
}

static int on_close(struct sink *s, struct weir_err *e)
{
	(void)s, (void)e;
	return 0;
}

static void report_init(struct report *r, const struct i2_cfg *c, bool server)
{
	*r = (struct report){.c = c, .o = i2_format(c, server), .server = server};
	r->sink = (struct sink){on_begin, on_sample, on_event, on_end, on_close};
	r->iperf2 = (struct proto_iperf2){
		.old = c->v205, .plain = c->compat, .key = c->key, .opened = on_opened, .arg = r};
}

/* ---- client -------------------------------------------------------------------------------- */

static void flush_client(struct report *r)
{
	i2_flush(&r->out);
}

static void put_told(struct report *r, const struct model_run *run)
{
	struct format_iperf2_row row;

	for (size_t i = 0; r->udp && i < r->up; i++) {
		if (!format_iperf2_total(run, MODEL_UP, false, r->up > 1 ? (int64_t)i : -1, &row))
			continue;
		row.told = true;
		row.when = r->real0 + row.t1;
		if (r->o.csv && !r->o.v205) /* 2.1 has no such line */
			continue;
		if (!r->o.csv)
			buf_printf(&r->out, "[%3d] Server Report:\n", r->flow[i].id);
		if (!r->o.v205)
			format_iperf2_header(&r->out, &r->o, true);
		format_iperf2_row(&r->out, &r->o, &r->flow[i], &row);
	}
}

static void put_missing(struct report *r, const struct model_run *run)
{
	i2_flush(&r->out);
	for (size_t i = 0; i < run->n_events; i++) {
		if (run->events[i].code == WARN_MISSING_SIDE && run->events[i].text)
			fprintf(stderr, "[%3d] WARNING: %s\n", r->flow[0].id, run->events[i].text);
	}
}

static void wishes(struct plain *p, const struct i2_cfg *c)
{
	plain_want(p, true, "host", c->host);
	plain_want(p, true, "proto", "iperf2");
	plain_want_number(p, true, "port", (uint64_t)c->n_port);
	plain_want_ns(p, !c->n_bytes, "time", c->time_ns);
	plain_want_number(p, c->n_bytes > 0, "bytes", c->n_bytes * (uint64_t)c->n_parallel);
	plain_want_ns(p, true, "interval", c->interval_ns);
	plain_want_number(p, true, "parallel", (uint64_t)c->n_parallel);
	plain_want_number(p, c->n_len > 0, "length", c->n_len);
	plain_want_number(p, c->n_window > 0, "window", c->n_window);
	plain_want_number(p, c->n_tos > 0, "tos", (uint64_t)c->n_tos);
	plain_want_number(p, c->udp || c->rate_bps, "bitrate",
			  c->rate_bps ? c->rate_bps : UDP_RATE);
	plain_want(p, c->bind != NULL, "bind", c->bind);
	plain_want(p, c->v6, "ipv6", "true");
	plain_want(p, c->reverse, "reverse", "true");
	plain_want(p, c->duplex, "bidir", "true");
	if (c->udp)
		return;
	plain_want_number(p, c->n_mss > 0, "set-mss", (uint64_t)c->n_mss);
	plain_want_number(p, c->n_fq_rate > 0, "fq-rate", c->n_fq_rate);
	plain_want(p, c->nodelay, "no-delay", "true");
	plain_want(p, c->cc != NULL, "congestion", c->cc);
}

int i2_client(const struct i2_cfg *c)
{
	struct report *r = malloc(sizeof(*r));
	struct weir_err e = {0};
	struct model_run *run = NULL;
	struct plain p = {0};
	char first[200], host[SAFE_MAX];
	int rc;

	if (!r)
		return 1;
	report_init(r, c, false);
	r->flush = flush_client;
	r->first_id = c->v205 ? FIRST_FD : 1;
	rc = plain_init(&p, c->udp ? &measure_udp : &measure_tcp, &e);
	if (rc >= 0)
		wishes(&p, c);
	safe_str(host, sizeof(host), c->host, strlen(c->host));
	snprintf(first, sizeof(first), "Client connecting to %.100s, %s port %d", host,
		 c->udp ? "UDP" : "TCP", (int)c->n_port);
	i2_banner(&r->out, c, first, c->udp, false);
	i2_flush(&r->out);
	p.hooks.iperf2 = &r->iperf2;
	rc = plain_run(&p, &r->sink, true, &run);
	if (rc < 0) {
		fprintf(stderr, "iperf: %s\n", e.msg);
	} else {
		r->real0 = (double)run->start_real_ns * 1e-9;
		put_rows(r, run, NULL);
		put_told(r, run);
		put_missing(r, run);
	}
	model_run_free(run);
	plain_fini(&p);
	buf_fini(&r->out);
	free(r);
	return rc < 0;
}

/* ---- server -------------------------------------------------------------------------------- */

struct server {
	const struct i2_cfg *c;
	_Atomic int *next_id; /* shared by the tests' processes */
};

static void flush_test(struct report *r)
{
	if (r->out.len)
		r->put(r->put_arg, 0, r->out.data, r->out.len);
	buf_clear(&r->out);
}

static void on_plan(void *arg, struct flow_plan *p)
{
	const struct report *r = arg;

	if (r->c->interval_ns)
		p->interval_ns = r->c->interval_ns;
}

static void *test_begin(void *arg, struct measure_serve *m, serve_put *put, void *put_arg)
{
	const struct server *sv = arg;
	struct report *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	report_init(r, sv->c, true);
	r->put = put;
	r->put_arg = put_arg;
	r->flush = flush_test;
	r->first_id = atomic_fetch_add(sv->next_id, 1);
	m->proto->iperf2 = &r->iperf2;
	m->hooks->sink = &r->sink;
	m->hooks->plan = on_plan;
	m->hooks->arg = r;
	return r;
}

static void test_end(void *thing, const struct model_run *run, int rc, const struct weir_err *e)
{
	struct report *r = thing;
	char line[300];
	int n;

	if (rc >= 0 && run) {
		r->real0 = (double)run->start_real_ns * 1e-9;
		put_rows(r, run, NULL);
	} else if (rc < 0) {
		n = snprintf(line, sizeof(line), "iperf: [drop] %.250s\n", e->msg);
		r->put(r->put_arg, 1, line, (size_t)n);
	}
	buf_fini(&r->out);
	free(r);
}

static void test_text(void *arg, size_t slot, int stream, const char *text, size_t n)
{
	(void)arg, (void)slot;
	fwrite(text, 1, n, stream ? stderr : stdout);
	fflush(stream ? stderr : stdout);
}

static void on_log(void *arg, const char *line)
{
	(void)arg, (void)line; /* the reports say it all */
}

static void on_ready(void *arg, const char *where)
{
	const struct server *sv = arg;
	struct buf b = {0};
	char first[80];

	(void)where;
	for (int udp = 0; udp < 2; udp++) {
		snprintf(first, sizeof(first), "Server listening on %s port %d",
			 udp ? "UDP" : "TCP", (int)sv->c->n_port);
		i2_banner(&b, sv->c, first, udp, true);
	}
	i2_flush(&b);
	buf_fini(&b);
}

int i2_server(const struct i2_cfg *c)
{
	struct server sv = {.c = c};
	struct net_prefix any[2];
	struct serve_words words = {
		.arg = &sv, .begin = test_begin, .end = test_end, .text = test_text};
	struct serve_cfg cfg = {.bind_host = c->bind,
				.family = c->v6 ? AF_INET6 : AF_UNSPEC,
				.port = (uint16_t)c->n_port,
				.only = proto_find("iperf2"),
				.allow = any,
				.n_allow = 2,
				.listen_fd = -1,
				.stop_fd = i3_stop_fd(),
				.facts = "{}",
				.log = on_log,
				.ready = on_ready,
				.words = &words,
				.arg = &sv};
	struct weir_err e = {0};
	int rc;

	/* As open as iperf is. */
	if (net_prefix_parse("0.0.0.0/0", &any[0], &e) < 0 ||
	    net_prefix_parse("::/0", &any[1], &e) < 0)
		return 1;
	sv.next_id = mmap(NULL, sizeof(*sv.next_id), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sv.next_id == MAP_FAILED)
		return 1;
	atomic_init(sv.next_id, c->v205 ? FIRST_FD + 1 : 1);
	rc = serve_run(&cfg, &e);
	if (rc < 0)
		fprintf(stderr, "iperf: %s\n", e.msg);
	munmap(sv.next_id, sizeof(*sv.next_id));
	return rc < 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int run(int argc, char **argv)
{
	struct i2_cfg c;
	struct buf b = {0};
	char err[300] = "";
	int rc = i2_parse(&c, argc, argv, err, sizeof(err));

	if (rc < 0) {
		fprintf(stderr, "iperf: %s\nTry `iperf --help' for more information.\n", err);
		rc = 1;
	} else if (c.help) {
		i2_usage(&b);
		i2_flush(&b);
	} else if (c.version) {
		printf("%s (weir %s)\n", c.v205 ? OLD : VERSION, weir_version);
	} else {
		rc = c.server ? i2_server(&c) : i2_client(&c);
	}
	buf_fini(&b);
	i2_cfg_fini(&c);
	return rc;
}

const struct persona persona_iperf = {
	.name = "iperf",
	.summary = "iperf 2's command line and reports, client and server",
	.sets = i2_sets,
	.n_sets = I2_SETS,
	.run = run,
};
