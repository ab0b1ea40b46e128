/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's command: its client on weir's measurements, its server on weir's server, each test in a
 * process of its own. What is printed goes line by line as in the version that was asked for.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "persona/iperf.h"
#include "serve/serve.h"

#define VERSION "iperf version 2.1.8 (12 August 2022) pthreads"
#define OLD     "iperf version 2.0.5 (08 Jul 2010) pthreads"

struct format_iperf2_opts i2_format(const struct i2_cfg *c, bool server)
{
	return (struct format_iperf2_opts){.v205 = c->v205,
					   .csv = c->csv != NULL,
					   .server = server,
					   .enhanced = i2_enhanced(c) || (server && c->trip),
					   .hide = c->hide,
					   .unit = c->unit};
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

/* What is told of how it sends. */
static void put_sending(struct buf *b, const struct i2_cfg *c, bool udp)
{
	unsigned len = c->n_len ? (unsigned)c->n_len : c->bb ? 100 : 1470;
	double rate = c->rate_bps ? (double)c->rate_bps : I2_UDP_RATE;

	if (i2_enhanced(c))
		i2_settings(b, c, udp, false);
	if (!udp || c->iso)
		return;
	if (c->v205)
		buf_printf(b, "Sending %u byte datagrams\n", len);
	else
		buf_printf(b, "Sending %u byte datagrams, IPG target: %.2f us (kalman adjust)\n",
			   len, len * 8e6 / rate);
}

static void put_amount(struct buf *b, const struct i2_cfg *c, double bytes, bool bits)
{
	struct format_iperf2_opts o = i2_format(c, false);

	o.unit = 0;
	if (bits)
		format_iperf2_bits(b, bytes, &o);
	else
		format_iperf2_size(b, bytes, &o);
}

static void put_bounce(struct buf *b, const struct i2_cfg *c, unsigned len)
{
	if (c->bb_period_ns)
		buf_printf(b, "Bursting: %4u Byte writes %lld times every %.2f second(s)\n", len,
			   (long long)c->n_bb, (double)c->bb_period_ns * 1e-9);
	buf_printf(b, "Bounce-back test (size= %u Byte) (server hold req=%lld usecs%s)\n", len,
		   (long long)c->n_bb_hold_us, c->bb_no_quickack ? "" : " & tcp_quickack");
}

static void put_reading(struct buf *b, const struct i2_cfg *c, bool udp)
{
	double len = c->n_len ? (double)c->n_len : udp ? 1470 : I2_LEN;

	buf_puts(b, "Read buffer size: ");
	put_amount(b, c, len, false);
	buf_puts(b, " (Dist bin width=");
	put_amount(b, c, floor(len / 8), false);
	buf_puts(b, ")\n");
	if (c->hist)
		buf_printf(b,
			   "Enabled receive histograms bin-width=%.3f ms, bins=%u (clients "
			   "should use --trip-times)\n",
			   (double)c->hist_bin_ns * 1e-6, c->hist_bins);
}

void i2_settings(struct buf *b, const struct i2_cfg *c, bool udp, bool server)
{
	unsigned len = c->n_len ? (unsigned)c->n_len : c->bb ? 100 : I2_LEN;

	if (server) {
		put_reading(b, c, udp);
		return;
	}
	if (!udp)
		buf_printf(b, "Write buffer size: %4u Byte%s\n", len,
			   c->write_times ? " (writetimer-enabled)" : "");
	if (c->bb)
		put_bounce(b, c, len);
	if (c->bursts) {
		buf_puts(b, "Bursting: ");
		put_amount(b, c, (double)c->n_burst, false);
		buf_printf(b, " every %.2f second(s)\n", (double)c->burst_period_ns * 1e-9);
	}
	if (c->n_fq_rate && !udp) {
		buf_puts(b, "fair-queue socket pacing set to ");
		put_amount(b, c, (double)c->n_fq_rate, true);
		buf_puts(b, "/s\n");
	}
	if (c->iso) {
		buf_printf(b, "Isochronous: %.2f frames/sec mean=", c->iso_fps);
		put_amount(b, c, c->iso_mean, true);
		buf_puts(b, "/s, stddev=");
		put_amount(b, c, c->iso_stdev, true);
		buf_printf(b, "/s, Period/IPG=%.2f/0.000 ms\n", 1e3 / c->iso_fps);
	}
	buf_printf(b, "TOS set to 0x%x %s\n", (unsigned)c->n_tos,
		   (c->nodelay || c->bb) && !udp ? "and nodelay (Nagle off)" : "(Nagle on)");
	if (c->near_weight > 0)
		buf_printf(b,
			   "TCP near-congestion delay weight set to %.4f (use "
			   "--near-congestion=<value> to change)\n",
			   c->near_weight);
}

void i2_banner(struct buf *b, const struct i2_cfg *c, const char *first, bool udp, bool server)
{
	if (c->csv || i2_without(c, 'S'))
		return;
	buf_printf(b, I2_RULE "\n%s\n", first);
	if (!server)
		put_sending(b, c, udp);
	else if (udp && c->v205)
		buf_printf(b, "Receiving %u byte datagrams\n",
			   c->n_len ? (unsigned)c->n_len : 1470);
	else if (i2_enhanced(c) || c->hist)
		i2_settings(b, c, udp, true);
	put_window(b, c, udp, server);
	buf_puts(b, I2_RULE "\n");
}

/* ---- server -------------------------------------------------------------------------------- */

struct server {
	const struct i2_cfg *c;
	_Atomic int *next_id; /* shared by the tests' processes */
};

/* A test's process has one. */
struct test {
	struct i2_report *r;
	serve_put *put;
	void *put_arg;
	bool trip;
};

static void flush_test(struct i2_report *r)
{
	const struct test *t = r->arg;

	if (r->out.len)
		t->put(t->put_arg, 0, r->out.data, r->out.len);
	buf_clear(&r->out);
}

static void on_plan(void *arg, struct flow_plan *p)
{
	const struct i2_report *r = arg;

	if (r->c->interval_ns)
		p->interval_ns = r->c->interval_ns;
	for (size_t i = 0; i < p->n; i++) {
		struct flow_spec *f = &p->flows[i];

		if (f->dir != NET_UP)
			continue;
		if (f->transport == NET_UDP && (r->c->enhanced || r->c->hist || f->timed))
			f->timed = NET_TIMED_WAY;
		else if (!f->len)
			f->len = r->c->n_len ? (uint32_t)r->c->n_len : I2_LEN;
		f->hist_bins = f->timed ? r->c->hist_bins : 0;
		f->hist_bin_ns = r->c->hist_bin_ns;
	}
}

static void *test_begin(void *arg, struct measure_serve *m, serve_put *put, void *put_arg)
{
	const struct server *sv = arg;
	struct test *t = calloc(1, sizeof(*t));
	struct i2_report *r = i2_report_new(sv->c, true);

	if (!t || !r) {
		free(t);
		if (r)
			i2_report_free(r);
		return NULL;
	}
	*t = (struct test){.r = r, .put = put, .put_arg = put_arg};
	r->arg = t;
	r->flush = flush_test;
	r->first_id = atomic_fetch_add(sv->next_id, 1);
	i2_report_hooks(r, m->hooks);
	m->proto->iperf2 = &r->iperf2;
	m->hooks->sink = &r->sink;
	m->hooks->plan = on_plan;
	return t;
}

static void test_end(void *thing, const struct model_run *run, int rc, const struct weir_err *e)
{
	struct test *t = thing;
	char line[300];
	int n;

	if (rc >= 0 && run) {
		t->r->real0 = (double)run->start_real_ns * 1e-9;
		i2_rows(t->r, run, NULL);
	} else if (rc < 0) {
		n = snprintf(line, sizeof(line), "iperf: [drop] %.250s\n", e->msg);
		t->put(t->put_arg, 1, line, (size_t)n);
	}
	i2_report_free(t->r);
	free(t);
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
		int n = snprintf(first, sizeof(first), "Server listening on %s port %d",
				 udp ? "UDP" : "TCP", (int)sv->c->n_port);

		if (i2_enhanced(sv->c) || sv->c->hist)
			snprintf(first + n, sizeof(first) - (size_t)n, " with pid %d",
				 (int)getpid());
		i2_banner(&b, sv->c, first, udp, true);
	}
	i2_flush(&b);
	buf_fini(&b);
}

/* A membership of a group is the interface's: the sockets that are bound to it get what comes. */
static int join(const struct i2_cfg *c, struct weir_err *e)
{
	struct group_source_req src = {0};
	struct group_req req = {0};
	struct net_addr a, from;
	int fd, level, rc;

	if (!c->bind || net_resolve(c->bind, 0, AF_UNSPEC, &a, 1, NULL) < 1 || !i2_is_group(&a))
		return 0;
	level = a.sa.sa_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
	fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_os(e, errno, "a socket for the group");
	memcpy(&req.gr_group, &a.ss, sizeof(req.gr_group));
	src.gsr_group = req.gr_group;
	if (c->ssm && net_resolve(c->ssm, 0, a.sa.sa_family, &from, 1, e) < 1) {
		close(fd);
		return -EINVAL;
	}
	if (c->ssm)
		memcpy(&src.gsr_source, &from.ss, sizeof(src.gsr_source));
	rc = c->ssm ? setsockopt(fd, level, MCAST_JOIN_SOURCE_GROUP, &src, sizeof(src))
		    : setsockopt(fd, level, MCAST_JOIN_GROUP, &req, sizeof(req));
	if (rc < 0) {
		err_os(e, errno, "joining the group %.60s", c->bind);
		close(fd);
		return -EIO;
	}
	return fd;
}

static void put_permit_key(const struct i2_cfg *c)
{
	if (c->key && *c->key)
		printf("Permit key is '%s'\n", c->key);
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
				.exclusive = c->single,
				.limits = {.duration_ns = c->time ? c->time_ns : 0},
				.listen_fd = -1,
				.stop_fd = i3_stop_fd(),
				.facts = "{}",
				.log = on_log,
				.ready = on_ready,
				.words = &words,
				.arg = &sv};
	struct weir_err e = {0};
	int rc, group = join(c, &e);

	if (group < 0) {
		fprintf(stderr, "iperf: %s\n", e.msg);
		return 1;
	}
	put_permit_key(c);
	/* As open as iperf is. */
	if (net_prefix_parse("0.0.0.0/0", &any[0], &e) < 0 ||
	    net_prefix_parse("::/0", &any[1], &e) < 0)
		return 1;
	sv.next_id = mmap(NULL, sizeof(*sv.next_id), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sv.next_id == MAP_FAILED)
		return 1;
	atomic_init(sv.next_id, c->v205 ? I2_FIRST_FD + 1 : 1);
	rc = serve_run(&cfg, &e);
	if (rc < 0)
		fprintf(stderr, "iperf: %s\n", e.msg);
	munmap(sv.next_id, sizeof(*sv.next_id));
	if (group > 0)
		close(group);
	return rc < 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* Everything that is printed goes there from now on. */
static bool into_file(const struct i2_cfg *c)
{
	if (!c->output)
		return true;
	printf("Output from stdout and stderr will be redirected to file %s\n", c->output);
	if (freopen(c->output, "w", stdout) && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
		return true;
	fprintf(stderr, "iperf: %.200s: %s\n", c->output, strerror(errno));
	return false;
}

static bool into_background(const struct i2_cfg *c)
{
	if (!c->daemon)
		return true;
	printf("Running Iperf Server as a daemon\n");
	fflush(stdout);
	if (daemon(1, c->output != NULL) == 0)
		return true;
	fprintf(stderr, "iperf: -D: %s\n", strerror(errno));
	return false;
}

static void ask_for_realtime(const struct i2_cfg *c)
{
	struct sched_param p = {.sched_priority = 1};

	if (c->realtime && sched_setscheduler(0, SCHED_RR, &p) < 0)
		fprintf(stderr, "iperf: -z: %s\n", strerror(errno));
}

static int act(struct i2_cfg *c)
{
	if (!into_file(c) || !into_background(c))
		return 1;
	ask_for_realtime(c);
	if (c->server)
		return i2_server(c);
	return c->connect_only ? i2_connect_only(c) : c->bb ? i2_bounce(c) : i2_client(c);
}

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
		rc = act(&c);
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
