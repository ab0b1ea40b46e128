/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's bounce-back: bursts of small messages over TCP that the server sends back, each timed
 * here. One connection, one message under way at a time; the run is one of exchanges ("rr").
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/priv.h"

#define CONNECT_NS  (5 * NSEC_PER_SEC)
#define ANSWER_NS   (10 * NSEC_PER_SEC) /* beyond the hold */
#define F_BOUNCE    0x00800000U
#define F_QUICK_ACK 0x80000000U
#define F_CLOCKS    0x40000000U
#define F_STOP      0x10000000U

enum {
	M_FLAGS = 0,
	M_LEN = 4,
	M_ID = 8,
	M_MODE = 12,
	M_SENT = 20,
	M_GOT = 28,
	M_BACK = 36,
	M_HOLD = 44,
	M_END = 60
};

struct bouncer {
	const struct measure_bounce *b;
	struct measure_ctx *ctx;
	int fd;
	uint8_t *msg, *back;
	uint32_t id, part;
	int64_t begin_ns, next_ns; /* of the interval; when it ends */
	struct hist *h;
	struct measure_bounces now, all;
};

/* ---- a message ------------------------------------------------------------------------------ */

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static int64_t time_at(const uint8_t *p)
{
	uint32_t w[2];

	memcpy(w, p, sizeof(w));
	return be32toh(w[0]) * NSEC_PER_SEC + be32toh(w[1]) * NSEC_PER_USEC;
}

static void fill(struct bouncer *k, bool stop)
{
	const struct measure_bounce *b = k->b;
	int64_t now = clk_real_ns();

	put32(k->msg + M_FLAGS, F_BOUNCE);
	put32(k->msg + M_LEN, b->len);
	put32(k->msg + M_ID, ++k->id);
	put32(k->msg + M_MODE, (b->quick_ack ? F_QUICK_ACK : 0) | (b->clocks ? F_CLOCKS : 0) |
				       (stop ? F_STOP : 0) | b->tos);
	put32(k->msg + M_SENT, (uint32_t)(now / NSEC_PER_SEC));
	put32(k->msg + M_SENT + 4, (uint32_t)(now % NSEC_PER_SEC / NSEC_PER_USEC));
	put32(k->msg + M_HOLD, (uint32_t)b->hold_us);
}

static void add(struct net_spread *s, double v)
{
	s->min = !s->n || v < s->min ? v : s->min;
	s->max = !s->n || v > s->max ? v : s->max;
	s->sum += v;
	s->squares += v * v;
	s->n++;
}

static void note(struct bouncer *k, struct measure_bounces *m, double rtt)
{
	double to = (double)(time_at(k->back + M_GOT) - time_at(k->back + M_SENT)) * 1e-9;
	double from = (double)(clk_real_ns() - time_at(k->back + M_BACK)) * 1e-9;

	m->bytes += 2 * k->b->len;
	add(&m->rtt, rtt);
	if (!k->b->clocks)
		return;
	add(&m->to, to);
	add(&m->from, from);
	add(&m->apart, fabs(to - from));
}

static int bounce_once(struct bouncer *k, struct weir_err *e)
{
	const int on = 1;
	int64_t began, deadline, took;
	int ret;

	fill(k, false);
	began = clk_mono_ns();
	deadline = began + ANSWER_NS + k->b->hold_us * NSEC_PER_USEC;
	ret = net_write_full(k->fd, k->msg, k->b->len, deadline, k->ctx->stop_fd);
	if (ret == 0)
		ret = net_read_full(k->fd, k->back, k->b->len, deadline, k->ctx->stop_fd);
	if (ret < 0)
		return ret == -ECANCELED
			       ? ret
			       : err_set(e, WEIR_PEER, -ret,
					 "message %u did not come back: %s; does the server know "
					 "bounce-back (iperf 2.1.3 and later)?",
					 k->id, strerror(-ret));
	took = clk_mono_ns() - began;
	if (k->b->quick_ack)
		setsockopt(k->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
	note(k, &k->now, (double)took * 1e-9);
	note(k, &k->all, (double)took * 1e-9);
	hist_record(k->h, (uint64_t)took);
	if (k->b->bounced)
		k->b->bounced(k->b->arg, took);
	return 0;
}

/* ---- the time ---------------------------------------------------------------------------------- */

static void tell(struct bouncer *k, struct measure_bounces *m, int64_t from_ns, int64_t to_ns,
		 bool whole)
{
	m->t0 = (double)(from_ns - k->begin_ns) * 1e-9;
	m->t1 = (double)(to_ns - k->begin_ns) * 1e-9;
	m->info_len = net_tcp_info_get(k->fd, &m->info);
	if (k->b->interval)
		k->b->interval(k->b->arg, m, whole);
}

/* Intervals end on time, also while nothing is under way. */
static void close_intervals(struct bouncer *k, int64_t now)
{
	while (k->b->interval_ns && now >= k->next_ns) {
		tell(k, &k->now, k->next_ns - k->b->interval_ns, k->next_ns, false);
		k->now = (struct measure_bounces){0};
		k->next_ns += k->b->interval_ns;
	}
}

static int sleep_until(struct bouncer *k, int64_t due_ns)
{
	int64_t now;
	int ret = 0;

	while (ret == 0 && (now = clk_mono_ns()) < due_ns) {
		int64_t until = k->b->interval_ns && k->next_ns < due_ns ? k->next_ns : due_ns;

		ret = net_wait_readable(k->ctx->stop_fd, until, -1) == 0 ? -ECANCELED : 0;
		close_intervals(k, clk_mono_ns());
	}
	return ret;
}

static int bounce_all(struct bouncer *k, struct weir_err *e)
{
	const struct measure_bounce *b = k->b;
	int64_t end = k->begin_ns + b->duration_ns, due = k->begin_ns;
	int ret = 0;

	while (ret == 0 && clk_mono_ns() < end) {
		for (uint64_t i = 0; ret == 0 && i < (b->period_ns ? b->burst : 1); i++)
			ret = bounce_once(k, e);
		close_intervals(k, clk_mono_ns());
		due += b->period_ns;
		if (ret == 0 && b->period_ns)
			ret = sleep_until(k, due < end ? due : end);
	}
	return ret == -ECANCELED ? 0 : ret;
}

/* ---- the run -------------------------------------------------------------------------------------- */

static int open_it(struct bouncer *k, struct weir_err *e)
{
	const struct measure_bounce *b = k->b;
	struct net_sock_opts o = {.bind_host = b->bind, .family = b->family};
	struct flow_spec spec = {.nodelay = true, .tos = b->tos, .window = b->window};
	struct net_addr to;
	int64_t began;
	int ret = net_resolve(b->host, b->port, b->family, &to, 1, e);

	if (ret < 0)
		return ret;
	began = clk_mono_ns();
	k->fd = net_connect_tcp(&to, &o, &spec, CONNECT_NS, e);
	if (k->fd < 0)
		return k->fd;
	if (b->opened)
		b->opened(b->arg, k->fd, clk_mono_ns() - began);
	return 0;
}

static int record(struct bouncer *k, int64_t now)
{
	struct model_run *run = k->ctx->run;
	struct model_dims none = DIMS_NONE;
	double seconds = (double)(now - k->begin_ns) * 1e-9;
	struct hist *h = k->h;

	k->h = NULL;
	if (seconds > 0)
		measure_value(run, k->part, "duration", none, STAT_VALUE, MODEL_MEASURED, seconds);
	if (seconds > 0)
		measure_value(run, k->part, "rr.rate", none, STAT_VALUE, MODEL_MEASURED,
			      (double)k->all.rtt.n / seconds);
	return measure_add_rtt(run, k->part, "rr.latency", &none, h);
}

static int prepare(struct bouncer *k, struct weir_err *e)
{
	struct measure_ctx *ctx = k->ctx;
	int part;

	k->msg = malloc(k->b->len);
	k->back = malloc(k->b->len);
	k->h = hist_new();
	ctx->run = measure_run_new("rr", NULL, ctx->tags, ctx->n_tags);
	if (!k->msg || !k->back || !k->h || !ctx->run)
		return err_os(e, ENOMEM, "bounce-back");
	memset(k->msg, 0xff, k->b->len);
	memset(k->msg + M_END, 'Z', k->b->len - M_END);
	ctx->run->protocol = "iperf2";
	ctx->run->host[MODEL_FAR].name = model_run_str(ctx->run, k->b->host);
	part = model_add_part(ctx->run, PART_PHASE, MODEL_NO_PART, "load", 0);
	k->part = (uint32_t)part;
	return part < 0 ? err_os(e, -part, "a run") : 0;
}

int measure_bounce_run(struct measure_ctx *ctx, const struct measure_bounce *b, struct weir_err *e)
{
	struct bouncer k = {.b = b, .ctx = ctx, .fd = -1};
	int64_t now;
	int ret = prepare(&k, e);

	if (ret >= 0)
		ret = open_it(&k, e);
	if (ret < 0)
		goto out;
	ctx->sink->begin(ctx->sink, ctx->run);
	k.begin_ns = clk_mono_ns();
	k.next_ns = k.begin_ns + b->interval_ns;
	ret = bounce_all(&k, e);
	now = clk_mono_ns();
	if (ret < 0)
		goto out;
	tell(&k, &k.all, k.begin_ns, now, true);
	fill(&k, true);
	net_write_full(k.fd, k.msg, b->len, now + NSEC_PER_SEC, -1);
	ret = record(&k, now);
	ctx->sink->end(ctx->sink, ctx->run);
out:
	if (ret < 0 && ctx->run)
		ctx->run->outcome = OUTCOME_FAILED;
	if (k.fd >= 0)
		net_close_gently(k.fd, NSEC_PER_SEC);
	free(k.msg);
	free(k.back);
	hist_free(k.h);
	return ret;
}
