/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's client on weir's measurements: the flags become a request by name, and what no request has
 * (bursts, timing, ends of single flows, a port where the server connects back) is put into the plan.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "persona/iperf.h"

#define RETRY_NS NSEC_PER_SEC

struct client {
	struct i2_report *r;
	struct i2_shape shape;
	struct iperf2_hello wish;
	struct measure_hooks hooks;
	int file_fd, listen_fd;
	bool back; /* the second half of -r */
};

/* ---- shapes -------------------------------------------------------------------------------- */

void i2_shape(const struct i2_cfg *c, struct i2_shape *s, struct flow_plan *p)
{
	bool stamp = c->iso || c->bursts || (c->trip && !c->udp);

	if (!(stamp || c->rate_stdev > 0 || c->near_weight > 0 || c->write_times))
		return;
	s->bursts = (struct net_bursts){.rate_stdev = c->rate_stdev,
					.rtt_weight = c->near_weight,
					.stamp = stamp,
					.head = stamp && !c->udp ? s->head : NULL};
	if (c->iso) {
		double len = c->n_len ? (double)c->n_len : 1470;

		s->bursts.period_ns = (int64_t)(1e9 / c->iso_fps);
		s->bursts.mean = c->iso_packets ? c->iso_mean * len : c->iso_mean / 8 / c->iso_fps;
		s->bursts.stdev =
			c->iso_packets ? c->iso_stdev * len : c->iso_stdev / 8 / c->iso_fps;
	} else if (c->bursts) {
		s->bursts.period_ns = c->burst_period_ns;
		s->bursts.mean = (double)c->n_burst;
	}
	for (size_t i = 0; i < p->n; i++) {
		struct flow_spec *f = &p->flows[i];

		if (f->dir != NET_UP)
			continue;
		f->bursts = &s->bursts;
		if (!f->len)
			f->len = c->udp ? 1470 : I2_LEN;
		if (c->write_times)
			f->timed = NET_TIMED_WRITES;
	}
}

/* What the flags add to 2.1's header; false: nothing. */
static bool wish_of(const struct i2_cfg *c, bool no_end, struct iperf2_hello *h)
{
	*h = (struct iperf2_hello){.newer = true,
				   .port = (uint16_t)c->n_listen,
				   .dual = c->dual || c->trade,
				   .now = c->dual,
				   .trip_times = c->trip,
				   .isochronous = c->iso != NULL,
				   .periodic = c->bursts,
				   .quick_ack = c->quickack,
				   .no_end = no_end,
				   .peer_detect = false,
				   .starts_at = c->txstart_s > 0,
				   .start_real_ns = (int64_t)(c->txstart_s * 1e9),
				   .fq_rate_bps = c->udp ? 0 : c->n_fq_rate};
	if (c->bursts) {
		h->bursts_hz = 1e9 / (double)c->burst_period_ns;
		h->burst_bytes = (double)c->n_burst;
	}
	return !c->v205 && (h->dual || h->trip_times || h->isochronous || h->periodic ||
			    h->quick_ack || h->starts_at || h->fq_rate_bps || h->no_end);
}

/* The last word on the plan: what a request has no name for. */
static void on_plan(void *arg, struct flow_plan *p)
{
	struct client *k = ((struct i2_report *)arg)->arg;
	const struct i2_cfg *c = k->r->c;

	for (size_t i = 0; i < p->n; i++) {
		struct flow_spec *f = &p->flows[i];

		if (c->n_bytes && f->dir == NET_UP)
			f->bytes = c->n_bytes;
		if (c->n_bytes && f->dir == NET_DOWN)
			f->bytes = c->n_bytes; /* told to the server */
		if (c->enhanced && !f->len && !c->udp)
			f->len = I2_LEN;
		if (f->dir == NET_UP)
			f->file_fd = k->file_fd;
		if (f->dir == NET_DOWN && (c->trip || (c->udp && c->enhanced))) {
			f->timed = c->udp ? NET_TIMED_WAY : NET_TIMED_BURSTS;
			f->hist_bins = c->hist_bins;
			f->hist_bin_ns = c->hist_bin_ns;
		}
		if (f->dir == NET_UP && c->write_times) {
			f->hist_bins = c->hist_bins;
			f->hist_bin_ns = c->hist_bin_ns;
		}
	}
	if (c->n_bytes || c->file || c->stdin_too)
		p->duration_ns = c->n_bytes || !c->time ? 0 : c->time_ns;
	if (c->n_bytes)
		p->bytes = 0;
	i2_shape(c, &k->shape, p);
	if (k->shape.bursts.head) {
		struct iperf2_hello h = k->wish;

		h.threads = (uint32_t)c->n_parallel;
		iperf2_tcp_put(&h, k->shape.head);
	}
}

/* ---- before the first byte ------------------------------------------------------------------- */

bool i2_is_group(const struct net_addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return IN_MULTICAST(ntohl(a->in4.sin_addr.s_addr));
	return a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&a->in6.sin6_addr);
}

static void set_ttl(int fd, bool v6, int ttl)
{
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &ttl, sizeof(ttl));
	else
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof(ttl));
}

/* Local, with its zone where that is wanted. */
static void put_time(struct buf *b, int64_t real_ns, bool zone)
{
	time_t t = (time_t)(real_ns / NSEC_PER_SEC);
	struct tm tm;
	char text[64];

	localtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	buf_puts(b, text);
	if (zone)
		buf_printf(b, " (%s)\n", tm.tm_zone);
}

static void put_start(struct i2_report *r, int64_t wait_ns)
{
	int64_t now = clk_real_ns();

	for (size_t i = 0; i < r->n && !r->o.csv && !r->c->sum_only; i++) {
		format_iperf2_id(&r->out, &r->flow[i]);
		buf_printf(&r->out, " Client traffic to start in %lld seconds at ",
			   (long long)((wait_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC));
		put_time(&r->out, now + wait_ns, false);
		buf_puts(&r->out, " current time is ");
		put_time(&r->out, now, true);
	}
	i2_flush(&r->out);
}

static void wait_for_start(struct i2_report *r)
{
	const struct i2_cfg *c = r->c;
	int64_t until = clk_mono_ns() + c->txdelay_ns;

	if (c->txstart_s > 0)
		until = clk_mono_ns() + (int64_t)(c->txstart_s * 1e9) - clk_real_ns();
	if (until > clk_mono_ns() && (c->txdelay || c->txstart))
		put_start(r, until - clk_mono_ns());
	while (clk_mono_ns() < until && !i3_is_stopping()) {
		int64_t soon = clk_mono_ns() + 100 * NSEC_PER_MSEC;

		clk_sleep_until(until < soon ? until : soon);
	}
}

static void on_opened(void *arg, struct proto_session *s)
{
	struct client *k = ((struct i2_report *)arg)->arg;
	bool v6 = s->peer_addr.sa.sa_family == AF_INET6;
	const int on = 1;

	for (size_t i = 0; i < s->n_fds && i2_is_group(&s->peer_addr); i++)
		set_ttl(s->fds[i], v6, (int)k->r->c->n_ttl);
	for (size_t i = 0; i < s->n_fds && k->r->c->quickack && !k->r->c->udp; i++)
		setsockopt(s->fds[i], IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	i2_opened(arg, s);
	if (!k->back)
		wait_for_start(k->r);
}

static int open_file(const struct i2_cfg *c)
{
	if (c->stdin_too)
		return dup(STDIN_FILENO);
	return c->file ? open(c->file, O_RDONLY | O_CLOEXEC) : 0;
}

/* -d, -r: where the server connects back to. */
static int open_listener(const struct i2_cfg *c, struct weir_err *e)
{
	struct net_sock_opts o = {.bind_host = c->bind, .family = c->v6 ? AF_INET6 : AF_UNSPEC};

	return net_listen_tcp(&o, (uint16_t)c->n_listen, (int)c->n_parallel, e);
}

/* ---- what is printed after it ------------------------------------------------------------------ */

static void take_told(const struct iperf2_report *t, struct format_iperf2_row *row)
{
	if (!t->timed)
		return;
	row->form = IPERF2_LATENCY;
	row->latency = (struct format_iperf2_spread){t->n, t->mean, t->min, t->max, t->stdev};
	row->pps = row->got = t->pps;
}

static void put_told(struct i2_report *r, const struct model_run *run)
{
	struct format_iperf2_row row;

	if (i2_without(r->c, 'V') || r->c->sum_only || r->iperf2.no_end)
		return;
	for (size_t i = 0; r->udp && i < r->up; i++) {
		if (!format_iperf2_total(run, MODEL_UP, false, r->up > 1 ? (int64_t)i : -1, &row))
			continue;
		row.told = true;
		row.when = r->real0 + row.t1;
		if (r->o.csv && !r->o.v205) /* 2.1 has no such line */
			continue;
		if (!r->o.csv) {
			format_iperf2_id(&r->out, &r->flow[i]);
			buf_puts(&r->out, " Server Report:\n");
		}
		take_told(&r->told[i], &row);
		if (!r->o.v205) {
			r->header = row.form == IPERF2_PLAIN ? -1 : r->header;
			i2_put_header(r, row.form == IPERF2_PLAIN ? IPERF2_DATAGRAMS : row.form);
		}
		format_iperf2_row(&r->out, &r->o, &r->flow[i], &row);
	}
}

static void put_missing(struct i2_report *r, const struct model_run *run)
{
	i2_flush(&r->out);
	for (size_t i = 0; i < run->n_events && !r->iperf2.no_end; i++) {
		if (run->events[i].code == WARN_MISSING_SIDE && run->events[i].text)
			fprintf(stderr, "[%3d] WARNING: %s\n", r->flow[0].id, run->events[i].text);
	}
}

static void put_whole(struct i2_report *r, const struct model_run *run)
{
	r->real0 = (double)run->start_real_ns * 1e-9;
	i2_rows(r, run, NULL);
	put_told(r, run);
	if (i2_enhanced(r->c) && r->c->n_parallel > 1 && !r->udp && !r->o.csv && !r->c->sum_only)
		i2_connect_times(&r->out, r->connect_ns, (size_t)r->c->n_parallel, 0);
	put_missing(r, run);
}

/* ---- the run ------------------------------------------------------------------------------------ */

static void wishes(struct plain *p, const struct i2_cfg *c, const struct client *k)
{
	plain_want(p, true, "host", c->host);
	plain_want(p, true, "proto", "iperf2");
	plain_want_number(p, true, "port", (uint64_t)c->n_port);
	plain_want_ns(p, c->time_ns > 0, "time", c->time_ns);
	plain_want_ns(p, !c->time_ns, "time", 86400 * NSEC_PER_SEC); /* "-t 0": for ever */
	plain_want_ns(p, true, "interval", c->interval_ns);
	plain_want_number(p, true, "parallel", (uint64_t)c->n_parallel);
	plain_want_number(p, c->n_len > 0, "length", c->n_len);
	plain_want_number(p, c->n_window > 0, "window", c->n_window);
	plain_want_number(p, c->n_tos > 0, "tos", (uint64_t)c->n_tos);
	plain_want_number(p, (c->udp || c->rate_bps) && !c->iso, "bitrate",
			  c->rate_bps ? c->rate_bps : I2_UDP_RATE);
	plain_want(p, c->bind != NULL, "bind", c->bind);
	plain_want(p, c->v6, "ipv6", "true");
	plain_want(p, c->reverse || k->back, "reverse", "true");
	plain_want(p, c->duplex || c->dual, "bidir", "true");
	plain_want_number(p, c->udp && c->iso, "bitrate", 0);
	if (c->udp)
		return;
	plain_want_number(p, c->n_mss > 0, "set-mss", (uint64_t)c->n_mss);
	plain_want_number(p, c->n_fq_rate > 0, "fq-rate", c->n_fq_rate);
	plain_want(p, c->nodelay, "no-delay", "true");
	plain_want(p, c->cc != NULL, "congestion", c->cc);
}

static int run_once(struct client *k, struct model_run **run, struct weir_err *e)
{
	const struct i2_cfg *c = k->r->c;
	struct plain p = {0};
	int rc = plain_init(&p, c->udp ? &measure_udp : &measure_tcp, e);

	if (rc >= 0)
		wishes(&p, c, k);
	i2_report_hooks(k->r, &p.hooks);
	p.hooks.plan = on_plan;
	rc = plain_run(&p, &k->r->sink, true, run);
	plain_fini(&p);
	return rc;
}

static int run_client(struct client *k, struct weir_err *e)
{
	const struct i2_cfg *c = k->r->c;
	struct model_run *run = NULL;
	int rc = run_once(k, &run, e);

	for (int64_t i = 0; rc == -ECONNREFUSED && i < c->n_retries && !i3_is_stopping(); i++) {
		model_run_free(run);
		run = NULL;
		*e = (struct weir_err){0};
		clk_sleep_until(clk_mono_ns() + RETRY_NS);
		rc = run_once(k, &run, e);
	}
	if (rc >= 0)
		put_whole(k->r, run);
	model_run_free(run);
	if (rc < 0 || !c->trade)
		return rc;
	run = NULL; /* -r: the other half */
	k->back = true;
	k->r->first_id += (int)c->n_parallel;
	k->r->header = -1;
	k->r->iperf2.back_only = true;
	rc = run_once(k, &run, e);
	if (rc >= 0)
		put_whole(k->r, run);
	model_run_free(run);
	return rc;
}

static void flush_client(struct i2_report *r)
{
	i2_flush(&r->out);
}

void i2_host(const struct i2_cfg *c, char *dst, size_t cap)
{
	if (c->hide)
		snprintf(dst, cap, "(**hidden**)");
	else
		safe_str(dst, cap, c->host, strlen(c->host));
}

static void put_banners(struct i2_report *r)
{
	const struct i2_cfg *c = r->c;
	char first[240], host[SAFE_MAX];
	int n;

	i2_host(c, host, sizeof(host));
	n = snprintf(first, sizeof(first), "Client connecting to %.100s, %s port %d", host,
		     c->udp ? "UDP" : "TCP", (int)c->n_port);
	if (i2_enhanced(c))
		snprintf(first + n, sizeof(first) - (size_t)n, " with pid %d (%d flows)",
			 (int)getpid(), (int)c->n_parallel);
	i2_banner(&r->out, c, first, c->udp, false);
	if (c->dual || c->trade) {
		snprintf(first, sizeof(first), "Server listening on TCP port %d", (int)c->n_listen);
		i2_banner(&r->out, c, first, false, true);
	}
	i2_flush(&r->out);
}

static int open_all(struct client *k, struct weir_err *e)
{
	const struct i2_cfg *c = k->r->c;

	k->file_fd = open_file(c);
	if (k->file_fd < 0)
		return err_os(e, errno, "%.100s", c->file ? c->file : "standard input");
	if (c->dual || c->trade) {
		k->listen_fd = open_listener(c, e);
		if (k->listen_fd < 0)
			return k->listen_fd;
	}
	k->r->iperf2.listen_fd = k->listen_fd;
	return 0;
}

/* To a group nothing is asked back. */
static bool to_group(const struct i2_cfg *c)
{
	struct net_addr a;

	return c->udp && net_resolve(c->host, (uint16_t)c->n_port, AF_UNSPEC, &a, 1, NULL) > 0 &&
	       i2_is_group(&a);
}

int i2_client(const struct i2_cfg *c)
{
	struct client k = {.r = i2_report_new(c, false)};
	struct weir_err e = {0};
	int rc;

	if (!k.r)
		return 1;
	k.r->arg = &k;
	k.r->flush = flush_client;
	k.r->first_id = c->v205 ? I2_FIRST_FD : c->beside ? 2 : 1;
	k.r->iperf2.opened = on_opened;
	k.r->iperf2.no_end = c->no_fin || to_group(c);
	if (wish_of(c, k.r->iperf2.no_end, &k.wish))
		k.r->iperf2.wish = &k.wish;
	put_banners(k.r);
	rc = open_all(&k, &e);
	if (rc >= 0)
		rc = run_client(&k, &e);
	if (rc < 0)
		fprintf(stderr, "iperf: %s\n", e.msg);
	if (k.listen_fd > 0)
		close(k.listen_fd);
	if (k.file_fd > 0)
		close(k.file_fd);
	i2_report_free(k.r);
	return rc < 0;
}

/* ---- --connect-only ------------------------------------------------------------------------------ */

static int connect_once(const struct i2_cfg *c, const struct net_addr *to, int64_t *took,
			struct weir_err *e)
{
	struct net_sock_opts o = {.bind_host = c->bind, .family = to->sa.sa_family};
	struct flow_spec spec = {.window = c->n_window, .mss = (uint32_t)c->n_mss};
	struct format_iperf2_opts form = i2_format(c, false);
	struct format_iperf2_flow f;
	struct buf b = {0};
	int64_t began = clk_mono_ns();
	int fd = net_connect_tcp(to, &o, &spec, 5 * NSEC_PER_SEC, e);

	if (fd < 0)
		return fd;
	*took = clk_mono_ns() - began;
	i2_flow(&f, fd, 1);
	f.sock = 0;
	f.connect_ms = (double)*took * 1e-6;
	f.when = (double)clk_real_ns() * 1e-9;
	form.enhanced = true;
	format_iperf2_connected(&b, &form, &f, "");
	i2_flush(&b);
	buf_fini(&b);
	close(fd);
	return 0;
}

int i2_connect_only(const struct i2_cfg *c)
{
	int64_t end = clk_mono_ns() + c->time_ns, took[I2_FLOWS], next = clk_mono_ns();
	char first[240], host[SAFE_MAX];
	struct weir_err e = {0};
	struct buf b = {0};
	struct net_addr to;
	size_t n = 0, failed = 0;
	bool by_time = !c->n_connects;

	i2_host(c, host, sizeof(host));
	snprintf(first, sizeof(first), "Client connecting to %.100s, TCP port %d", host,
		 (int)c->n_port);
	buf_printf(&b, I2_RULE "\n%s\nTCP three-way-handshake (3WHS) only\n" I2_RULE "\n", first);
	i2_flush(&b);
	if (net_resolve(c->host, (uint16_t)c->n_port, c->v6 ? AF_INET6 : AF_UNSPEC, &to, 1, &e) <
	    1) {
		fprintf(stderr, "iperf: %s\n", e.msg);
		return 1;
	}
	for (int64_t i = 0;
	     (by_time ? clk_mono_ns() < end : i < c->n_connects) && !i3_is_stopping(); i++) {
		int rc = connect_once(c, &to, &took[n % I2_FLOWS], &e);

		n += rc >= 0;
		failed += rc < 0;
		if (rc < 0)
			fprintf(stderr, "iperf: %s\n", e.msg);
		next += c->interval_ns ? c->interval_ns : by_time ? NSEC_PER_SEC : 0;
		if (by_time || c->interval_ns)
			clk_sleep_until(next);
	}
	i2_connect_times(&b, took, n < I2_FLOWS ? n : I2_FLOWS, failed);
	i2_flush(&b);
	buf_fini(&b);
	return failed > 0;
}
