/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir tcp HOST`: options with iperf3's letters become a flow plan for each direction wanted,
 * and each plan one session with whatever answers at HOST. All of it is one run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "measure/priv.h"

#define INTERVAL_MIN_NS (10 * NSEC_PER_MSEC)

struct tcp_cfg {
	char *host, *proto, *bind, *bind_dev, *cc, *title;
	int64_t port, parallel, mss, cport, tos, workers;
	int64_t time_ns, omit_ns, interval_ns, timeout_ns;
	uint64_t bytes, blocks, len, window, fq_rate;
	struct measure_rate rate;
	bool reverse, bidir, each_way, nodelay, v4, v6, sendfile, msg_zerocopy, rx_trunc, pin;
};

/* ---- options ---------------------------------------------------------------------- */

#define F(field) offsetof(struct tcp_cfg, field)
/* clang-format off */
static const struct opt opts[] = {
	{.name = "host", .type = OPT_STR, .offset = F(host), .flags = OPT_POSITIONAL | OPT_REQUIRED, .metavar = "HOST", .help = "the other end: a name or address where weir serve or iperf3 -s runs"},
	{.name = "port", .letter = 'p', .type = OPT_INT, .offset = F(port), .metavar = "N", .help = "the server's port", .min = 1, .max = 65535, .fallback = "5201"},
	{.name = "time", .letter = 't', .type = OPT_TIME, .offset = F(time_ns), .metavar = "TIME", .help = "measure for this long", .max = 86400 * NSEC_PER_SEC, .fallback = "10s"},
	{.name = "bytes", .letter = 'n', .type = OPT_SIZE, .offset = F(bytes), .metavar = "SIZE", .help = "end when this much was sent in all, instead of by time"},
	{.name = "blocks", .letter = 'k', .type = OPT_COUNT, .offset = F(blocks), .metavar = "N", .help = "end when this many blocks were sent in all"},
	{.name = "parallel", .letter = 'P', .type = OPT_INT, .offset = F(parallel), .metavar = "N", .help = "flows per direction", .min = 1, .max = FLOW_MAX / 2, .fallback = "1"},
	{.name = "reverse", .letter = 'R', .type = OPT_FLAG, .offset = F(reverse), .help = "the other end sends"},
	{.name = "bidir", .type = OPT_FLAG, .offset = F(bidir), .help = "both directions at the same time"},
	{.name = "each-way", .type = OPT_FLAG, .offset = F(each_way), .help = "one direction, then the other"},
	{.name = "bitrate", .letter = 'b', .type = OPT_FUNC, .offset = F(rate), .metavar = "RATE[/N]", .help = "pace each flow at this rate (in bursts of N blocks)", .func = measure_parse_rate, .func_json = measure_rate_json},
	{.name = "fq-rate", .type = OPT_RATE, .offset = F(fq_rate), .metavar = "RATE", .help = "let the kernel pace each flow (SO_MAX_PACING_RATE)"},
	{.name = "window", .letter = 'w', .type = OPT_SIZE, .offset = F(window), .metavar = "SIZE", .help = "socket buffers of both ends; without it the kernel tunes them", .max = 512LL << 20},
	{.name = "length", .letter = 'l', .type = OPT_SIZE, .offset = F(len), .metavar = "SIZE", .help = "bytes of one write or read", .max = 1LL << 20},
	{.name = "set-mss", .letter = 'M', .type = OPT_INT, .offset = F(mss), .metavar = "N", .help = "maximum segment size", .min = 0, .max = 32767},
	{.name = "no-delay", .letter = 'N', .type = OPT_FLAG, .offset = F(nodelay), .help = "send small writes at once (TCP_NODELAY)"},
	{.name = "congestion", .letter = 'C', .type = OPT_STR, .offset = F(cc), .metavar = "ALGO", .help = "congestion control of both ends, such as cubic or bbr"},
	{.name = "tos", .letter = 'S', .type = OPT_FUNC, .offset = F(tos), .metavar = "N", .help = "the traffic class byte", .func = measure_parse_tos, .func_json = measure_tos_json},
	{.name = "dscp", .type = OPT_FUNC, .offset = F(tos), .metavar = "CODE", .help = "the traffic class by code point: ef, af41, cs1, le, 0 to 63", .func = measure_parse_dscp, .func_json = measure_tos_json},
	{.name = "ipv4", .letter = '4', .type = OPT_FLAG, .offset = F(v4), .help = "IPv4 only"},
	{.name = "ipv6", .letter = '6', .type = OPT_FLAG, .offset = F(v6), .help = "IPv6 only"},
	{.name = "bind", .letter = 'B', .type = OPT_STR, .offset = F(bind), .metavar = "ADDR", .help = "local address"},
	{.name = "bind-dev", .type = OPT_STR, .offset = F(bind_dev), .metavar = "DEV", .help = "local interface (SO_BINDTODEVICE)"},
	{.name = "cport", .type = OPT_INT, .offset = F(cport), .metavar = "N", .help = "first local port of the data connections", .min = 0, .max = 65535},
	{.name = "omit", .letter = 'O', .type = OPT_TIME, .offset = F(omit_ns), .metavar = "TIME", .help = "warm up for this long first; kept, not counted", .max = 600 * NSEC_PER_SEC},
	{.name = "interval", .letter = 'i', .type = OPT_TIME, .offset = F(interval_ns), .metavar = "TIME", .help = "length of an interval; 0 = only start and end", .max = 3600 * NSEC_PER_SEC, .fallback = "1s"},
	{.name = "zerocopy", .letter = 'Z', .type = OPT_FLAG, .offset = F(sendfile), .help = "send with sendfile()"},
	{.name = "msg-zerocopy", .type = OPT_FLAG, .offset = F(msg_zerocopy), .help = "send with MSG_ZEROCOPY; says how much was copied after all"},
	{.name = "skip-rx-copy", .type = OPT_FLAG, .offset = F(rx_trunc), .help = "receive without copying (MSG_TRUNC); recorded in the result"},
	{.name = "title", .letter = 'T', .type = OPT_STR, .offset = F(title), .metavar = "TEXT", .help = "a title for both ends' reports"},
	{.name = "proto", .type = OPT_STR, .offset = F(proto), .metavar = "NAME", .help = "speak only this protocol: weir or iperf3"},
	{.name = "connect-timeout", .type = OPT_TIME, .offset = F(timeout_ns), .metavar = "TIME", .help = "give up when nothing useful answered by then", .min = NSEC_PER_MSEC, .max = 600 * NSEC_PER_SEC, .fallback = "5s"},
	{.name = "workers", .type = OPT_INT, .offset = F(workers), .metavar = "N", .help = "worker threads; by itself as many as flows or CPUs, whichever is less", .min = 0, .max = 1024},
	{.name = "pin", .type = OPT_FLAG, .offset = F(pin), .help = "bind each worker to a CPU of its own"},
};
/* clang-format on */

static int clash(struct weir_err *e, const char *a, const char *b)
{
	return err_set(e, WEIR_USAGE, EINVAL, "--%s and --%s exclude each other", a, b);
}

static int tcp_check(const void *cfg, struct weir_err *e)
{
	const struct tcp_cfg *c = cfg;
	const struct {
		bool a, b;
		const char *name_a, *name_b;
	} pairs[] = {
		{c->reverse, c->bidir, "reverse", "bidir"},
		{c->reverse, c->each_way, "reverse", "each-way"},
		{c->bidir, c->each_way, "bidir", "each-way"},
		{c->bytes > 0, c->blocks > 0, "bytes", "blocks"},
		{c->v4, c->v6, "ipv4", "ipv6"},
		{c->sendfile, c->msg_zerocopy, "zerocopy", "msg-zerocopy"},
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (pairs[i].a && pairs[i].b)
			return clash(e, pairs[i].name_a, pairs[i].name_b);
	}
	if (c->cc && strlen(c->cc) >= sizeof(((struct flow_spec *)0)->cc))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--congestion: \"%.40s\" is not a congestion control; see "
			       "net.ipv4.tcp_available_congestion_control",
			       c->cc);
	if (c->cc && !net_cc_available(c->cc))
		return err_set(e, WEIR_USAGE, ENOENT,
			       "--congestion: \"%.40s\" is not available on this host; see "
			       "net.ipv4.tcp_available_congestion_control, or modprobe tcp_%.15s",
			       c->cc, c->cc);
	if (c->proto && !proto_find(c->proto))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--proto: \"%.40s\" is not known; use weir or iperf3", c->proto);
	if (c->interval_ns && c->interval_ns < INTERVAL_MIN_NS)
		return err_set(e, WEIR_USAGE, ERANGE,
			       "--interval: %.3g ms is too short: sampling would disturb the test; "
			       "use 0 or 10ms to 1h",
			       (double)c->interval_ns / 1e6);
	return measure_check_cport(c->cport, c->bidir ? 2 * c->parallel : c->parallel, e);
}

/* ---- request to plan ---------------------------------------------------------------- */

static struct flow_spec spec_of(const struct tcp_cfg *c)
{
	struct flow_spec s = {
		.transport = NET_TCP,
		.rate_bps = c->rate.bps,
		.burst = c->rate.burst,
		.len = (uint32_t)c->len,
		.window = c->window,
		.mss = (uint32_t)c->mss,
		.tos = (uint8_t)c->tos,
		.nodelay = c->nodelay,
		.rx_trunc = c->rx_trunc,
		.fq_rate_bps = c->fq_rate,
		.tx = c->sendfile       ? NET_TX_SENDFILE
		      : c->msg_zerocopy ? NET_TX_ZEROCOPY
					: NET_TX_WRITE,
	};

	if (c->cc)
		snprintf(s.cc, sizeof(s.cc), "%s", c->cc);
	return s;
}

static int make_plan(const struct tcp_cfg *c, bool up, bool down, struct flow_plan *p,
		     struct weir_err *e)
{
	struct flow_spec spec = spec_of(c);
	size_t n = (size_t)c->parallel;
	int rc = flow_plan_init(p, &spec, up ? n : 0, down ? n : 0);

	if (rc < 0)
		return err_set(e, WEIR_OS, -rc, "no memory for %zu flows", n);
	p->omit_ns = c->omit_ns;
	p->bytes = c->bytes;
	p->blocks = c->blocks;
	p->duration_ns = c->bytes || c->blocks ? 0 : c->time_ns;
	p->interval_ns = c->interval_ns;
	p->probe = FLOW_PROBE_CTL_RTT;
	if (c->title)
		snprintf(p->title, sizeof(p->title), "%s", c->title);
	rc = flow_plan_check(p, e);
	if (rc < 0)
		flow_plan_fini(p);
	return rc;
}

static void note_request(struct model_run *run, const struct tcp_cfg *c)
{
	struct tcp_cfg copy = *c;

	measure_note_request(run,
			     &(struct opt_set){.rows = opts, .n = ARRAY_LEN(opts), .cfg = &copy});
	run->title = model_run_str(run, c->title);
	run->host[MODEL_FAR].name = model_run_str(run, c->host);
}

static struct measure_client client_of(const struct tcp_cfg *c)
{
	return (struct measure_client){.host = c->host,
				       .proto = c->proto,
				       .bind = c->bind,
				       .bind_dev = c->bind_dev,
				       .family = c->v4   ? AF_INET
						 : c->v6 ? AF_INET6
							 : AF_UNSPEC,
				       .port = c->port,
				       .cport = c->cport,
				       .workers = c->workers,
				       .timeout_ns = c->timeout_ns,
				       .pin = c->pin};
}

/* ---- the measurement ------------------------------------------------------------------- */

/* The directions of each session, in order. */
struct leg {
	bool up, down;
	const char *name;
};

static size_t legs_of(const struct tcp_cfg *c, struct leg out[2])
{
	if (c->each_way) {
		out[0] = (struct leg){true, false, "load-up"};
		out[1] = (struct leg){false, true, "load-down"};
		return 2;
	}
	out[0] = (struct leg){!c->reverse, c->reverse || c->bidir, "load"};
	return 1;
}

static bool cut_short(const struct model_run *run)
{
	return run->outcome != OUTCOME_COMPLETE;
}

static int tcp_run(struct measure_ctx *ctx, const void *cfg, struct weir_err *e)
{
	const struct tcp_cfg *c = cfg;
	const struct measure_client client = client_of(c);
	int64_t start_ns = clk_mono_ns();
	struct leg legs[2];
	size_t n = legs_of(c, legs);
	int rc = 0;

	ctx->run = measure_run_new("tcp", NULL, ctx->tags, ctx->n_tags);
	if (!ctx->run)
		return err_set(e, WEIR_OS, ENOMEM, "no memory for a run");
	note_request(ctx->run, c);
	measure_set_experiment(ctx->run, ctx->exp);
	for (size_t i = 0; i < n && rc >= 0 && !(i && cut_short(ctx->run)); i++) {
		struct flow_plan plan;

		rc = make_plan(c, legs[i].up, legs[i].down, &plan, e);
		if (rc < 0)
			break;
		rc = measure_client_run(ctx, &client, &plan, legs[i].name, start_ns, e);
		flow_plan_fini(&plan);
	}
	if (rc < 0) {
		ctx->run->outcome = OUTCOME_FAILED;
		ctx->run->error = e ? model_run_str(ctx->run, e->msg) : NULL;
		if (!ctx->run->n_parts)
			return rc;
	}
	measure_note_short(ctx);
	measure_note_rate(ctx, (double)c->rate.bps * (double)c->parallel);
	host_judge(ctx->run);
	ctx->sink->end(ctx->sink, ctx->run);
	return rc;
}

const struct measure measure_tcp = {
	.name = "tcp",
	.summary = "how fast is this path? TCP goodput, retransmits, RTT, CPU of both ends",
	.positional = "HOST",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.cfg_size = sizeof(struct tcp_cfg),
	.check = tcp_check,
	.run = tcp_run,
};
