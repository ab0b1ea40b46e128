/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's --bounceback: rows of what comes back, and with --bounceback-congest a load beside it in
 * a thread of its own.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "persona/iperf.h"

#define LEN     100
#define LEN_MIN 64 /* what a server of 2.1.8 reads before it looks */
#define BINS    10000
#define BIN_NS  (100 * NSEC_PER_USEC)

struct bounce {
	const struct i2_cfg *c;
	struct format_iperf2_opts o;
	struct format_iperf2_flow flow;
	struct buf out;
	bool headed;
	uint64_t bin[BINS + 1];
	struct i2_cfg load;
	pthread_t thread;
	int load_rc;
};

static void on_opened(void *arg, int fd, int64_t connect_ns)
{
	struct bounce *b = arg;
	char mode[120];

	i2_flow(&b->flow, fd, 1);
	i2_device(&b->flow, fd);
	b->flow.connect_ms = (double)connect_ns * 1e-6;
	b->flow.when = (double)clk_real_ns() * 1e-9;
	snprintf(mode, sizeof(mode), " (bb %slen/hold=%llu/%lld)%s",
		 b->c->bb_no_quickack ? "" : "w/quickack ",
		 (unsigned long long)(b->c->n_len ? b->c->n_len : LEN),
		 (long long)b->c->n_bb_hold_us, b->c->trip ? " (trip-times)" : "");
	format_iperf2_connected(&b->out, &b->o, &b->flow, mode);
	i2_flush(&b->out);
}

static void on_bounced(void *arg, int64_t took_ns)
{
	struct bounce *b = arg;
	int64_t bin = (took_ns - 1) / BIN_NS;

	b->bin[bin < BINS ? bin : BINS]++;
}

static struct format_iperf2_spread spread(const struct net_spread *s)
{
	double n = (double)s->n, mean = s->n ? s->sum / n : 0;
	double var = s->n > 1 ? (s->squares - s->sum * mean) / (n - 1) : 0;

	return (struct format_iperf2_spread){.n = n,
					     .mean = mean,
					     .min = s->min,
					     .max = s->max,
					     .stdev = var > 0 ? sqrt(var) : 0};
}

static void put_ways(struct bounce *b, const struct measure_bounces *m)
{
	struct format_iperf2_spread to = spread(&m->to), from = spread(&m->from),
				    apart = spread(&m->apart), rtt = spread(&m->rtt);

	format_iperf2_id(&b->out, &b->flow);
	buf_printf(&b->out,
		   " %.4f-%.4f sec  OWD Delays (ms) Cnt=%.0f To=%.3f/%.3f/%.3f/%.3f "
		   "From=%.3f/%.3f/%.3f/%.3f Asymmetry=%.3f/%.3f/%.3f/%.3f    %.0f rps\n",
		   m->t0, m->t1, to.n, to.mean * 1e3, to.min * 1e3, to.max * 1e3, to.stdev * 1e3,
		   from.mean * 1e3, from.min * 1e3, from.max * 1e3, from.stdev * 1e3,
		   apart.mean * 1e3, apart.min * 1e3, apart.max * 1e3, apart.stdev * 1e3,
		   rtt.mean > 0 ? 1 / rtt.mean : 0);
}

static void on_interval(void *arg, const struct measure_bounces *m, bool whole)
{
	const struct format_iperf2_hist h = {.n = BINS, .bin_ns = BIN_NS, .lower = 5, .upper = 95};
	struct bounce *b = arg;
	struct format_iperf2_hist filled = h;
	struct format_iperf2_row row = {.t0 = m->t0,
					.t1 = m->t1,
					.bytes = (double)m->bytes,
					.when = (double)clk_real_ns() * 1e-9,
					.form = IPERF2_BOUNCES,
					.retr = m->info.total_retrans,
					.cwnd = (double)m->info.snd_cwnd * m->info.snd_mss,
					.rtt_us = m->info.rtt_us,
					.latency = spread(&m->rtt)};

	filled.bin = b->bin;
	filled.above = b->bin[BINS];
	if (!b->headed)
		format_iperf2_header(&b->out, &b->o, IPERF2_BOUNCES);
	b->headed = true;
	format_iperf2_row(&b->out, &b->o, &b->flow, &row);
	if (whole && b->c->trip && !b->o.csv)
		put_ways(b, m);
	if (whole && !b->o.csv && m->rtt.n)
		format_iperf2_pdf(&b->out, &b->flow, &row, "BB8", true, &filled);
	i2_flush(&b->out);
}

static char load_says[] = "S"; /* no banner of its own */

static void *run_load(void *arg)
{
	struct bounce *b = arg;

	b->load_rc = i2_client(&b->load);
	return NULL;
}

/* The same server, for as long; what is sent is best effort, and as much as it goes. */
static bool start_load(struct bounce *b)
{
	const struct i2_cfg *c = b->c;

	b->load = *c;
	b->load.bb = NULL;
	b->load.enhanced = true;
	b->load.exclude = load_says;
	b->load.beside = true;
	b->load.duplex = c->congest == I2_CONGEST_BOTH;
	b->load.reverse = c->congest == I2_CONGEST_DOWN;
	b->load.trip = false;
	b->load.n_len = 0;
	b->load.n_tos = 0;
	b->load.n_parallel = c->n_bb_load;
	return pthread_create(&b->thread, NULL, run_load, b) == 0;
}

static void put_banner(struct bounce *b)
{
	char first[240], host[SAFE_MAX];
	struct buf out = {0};

	i2_host(b->c, host, sizeof(host));
	snprintf(first, sizeof(first),
		 "Client connecting to %.100s, TCP port %d with pid %d (1 flows)", host,
		 (int)b->c->n_port, (int)getpid());
	i2_banner(&out, b->c, first, false, false);
	i2_flush(&out);
	buf_fini(&out);
}

static int bounce(struct bounce *b, struct weir_err *e)
{
	const struct i2_cfg *c = b->c;
	const struct measure_bounce m = {.host = c->host,
					 .bind = c->bind,
					 .port = (uint16_t)c->n_port,
					 .family = c->v6 ? AF_INET6 : AF_UNSPEC,
					 .len = c->n_len ? (uint32_t)c->n_len : LEN,
					 .burst = (uint64_t)c->n_bb,
					 .period_ns = c->bb_period_ns,
					 .duration_ns = c->time_ns,
					 .interval_ns = c->interval_ns,
					 .hold_us = c->n_bb_hold_us,
					 .window = c->n_window,
					 .tos = (uint8_t)c->n_tos,
					 .quick_ack = !c->bb_no_quickack,
					 .clocks = c->trip,
					 .opened = on_opened,
					 .interval = on_interval,
					 .bounced = on_bounced,
					 .arg = b};

	if (m.len < LEN_MIN || m.len > 1 << 20)
		return err_set(e, WEIR_USAGE, ERANGE, "--bounceback: -l is from %d bytes to 1 MiB",
			       LEN_MIN);
	return plain_bounce(&m, e);
}

int i2_bounce(const struct i2_cfg *c)
{
	struct bounce *b = calloc(1, sizeof(*b));
	struct weir_err e = {0};
	bool load;
	int rc;

	if (!b)
		return 1;
	b->c = c;
	b->o = i2_format(c, false);
	put_banner(b);
	load = c->congest && start_load(b);
	if (load && c->bb_txdelay_ns)
		clk_sleep_until(clk_mono_ns() + c->bb_txdelay_ns);
	rc = bounce(b, &e);
	if (rc < 0)
		fprintf(stderr, "iperf: %s\n", e.msg);
	if (load)
		pthread_join(b->thread, NULL);
	rc = rc < 0 || b->load_rc;
	buf_fini(&b->out);
	free(b);
	return rc;
}
