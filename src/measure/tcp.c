/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir tcp HOST`: options with iperf3's letters become a flow plan for each direction wanted,
 * and each plan one session with whatever answers at HOST. All of it is one run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "measure/load.h"

struct tcp_cfg {
	struct measure_load l;
	char *cc;
	int64_t mss;
	uint64_t fq_rate;
	bool each_way, nodelay, sendfile, msg_zerocopy;
};

/* ---- options ---------------------------------------------------------------------- */

#define F(field) offsetof(struct tcp_cfg, field)
/* clang-format off */
static const struct opt opts[] = {
	LOAD_OPTS_PEER,
	LOAD_OPTS_EXTENT("blocks"),
	{.name = "each-way", .type = OPT_FLAG, .offset = F(each_way), .help = "one direction, then the other"},
	{.name = "bitrate", .letter = 'b', .type = OPT_FUNC, .offset = F(l.rate), .metavar = "RATE[/N]", .help = "pace each flow at this rate (in bursts of N blocks)", .func = measure_parse_rate, .func_json = measure_rate_json},
	{.name = "fq-rate", .type = OPT_RATE, .offset = F(fq_rate), .metavar = "RATE", .help = "let the kernel pace each flow (SO_MAX_PACING_RATE)"},
	{.name = "window", .letter = 'w', .type = OPT_SIZE, .offset = F(l.window), .metavar = "SIZE", .help = "socket buffers of both ends; without it the kernel tunes them", .max = 512LL << 20},
	{.name = "length", .letter = 'l', .type = OPT_SIZE, .offset = F(l.len), .metavar = "SIZE", .help = "bytes of one write or read", .max = 1LL << 20},
	{.name = "set-mss", .letter = 'M', .type = OPT_INT, .offset = F(mss), .metavar = "N", .help = "maximum segment size", .min = 0, .max = 32767},
	{.name = "no-delay", .letter = 'N', .type = OPT_FLAG, .offset = F(nodelay), .help = "send small writes at once (TCP_NODELAY)"},
	{.name = "congestion", .letter = 'C', .type = OPT_STR, .offset = F(cc), .metavar = "ALGO", .help = "congestion control of both ends, such as cubic or bbr"},
	LOAD_OPTS_PATH,
	LOAD_OPTS_PHASES,
	{.name = "zerocopy", .letter = 'Z', .type = OPT_FLAG, .offset = F(sendfile), .help = "send with sendfile()"},
	{.name = "msg-zerocopy", .type = OPT_FLAG, .offset = F(msg_zerocopy), .help = "send with MSG_ZEROCOPY; says how much was copied after all"},
	{.name = "skip-rx-copy", .type = OPT_FLAG, .offset = F(l.rx_trunc), .help = "receive without copying (MSG_TRUNC); recorded in the result"},
	LOAD_OPTS_REST,
};
/* clang-format on */

static int check_congestion(const char *cc, struct weir_err *e)
{
	if (cc && strlen(cc) >= sizeof(((struct flow_spec *)0)->cc))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--congestion: \"%.40s\" is not a congestion control; see "
			       "net.ipv4.tcp_available_congestion_control",
			       cc);
	if (cc && !net_cc_available(cc))
		return err_set(e, WEIR_USAGE, ENOENT,
			       "--congestion: \"%.40s\" is not available on this host; see "
			       "net.ipv4.tcp_available_congestion_control, or modprobe tcp_%.15s",
			       cc, cc);
	return 0;
}

static int tcp_check(const void *cfg, struct weir_err *e)
{
	const struct tcp_cfg *c = cfg;
	const struct measure_clash pairs[] = {
		{c->l.reverse, c->each_way, "reverse", "each-way"},
		{c->l.bidir, c->each_way, "bidir", "each-way"},
		{c->sendfile, c->msg_zerocopy, "zerocopy", "msg-zerocopy"},
	};
	int rc = measure_check_clashes(pairs, ARRAY_LEN(pairs), e);

	if (rc >= 0)
		rc = check_congestion(c->cc, e);
	return rc < 0 ? rc : measure_load_check(&c->l, e);
}

/* ---- request to plan ---------------------------------------------------------------- */

static struct flow_spec spec_of(const struct tcp_cfg *c)
{
	struct flow_spec s = {
		.transport = NET_TCP,
		.rate_bps = c->l.rate.bps,
		.burst = c->l.rate.burst,
		.len = (uint32_t)c->l.len,
		.window = c->l.window,
		.mss = (uint32_t)c->mss,
		.tos = (uint8_t)c->l.tos,
		.nodelay = c->nodelay,
		.rx_trunc = c->l.rx_trunc,
		.fq_rate_bps = c->fq_rate,
		.tx = c->sendfile       ? NET_TX_SENDFILE
		      : c->msg_zerocopy ? NET_TX_ZEROCOPY
					: NET_TX_WRITE,
	};

	if (c->cc)
		snprintf(s.cc, sizeof(s.cc), "%s", c->cc);
	return s;
}

static void note_request(struct model_run *run, const struct tcp_cfg *c)
{
	struct tcp_cfg copy = *c;

	measure_note_request(run,
			     &(struct opt_set){.rows = opts, .n = ARRAY_LEN(opts), .cfg = &copy});
	run->title = model_run_str(run, c->l.title);
	run->host[MODEL_FAR].name = model_run_str(run, c->l.host);
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
	out[0] = (struct leg){!c->l.reverse, c->l.reverse || c->l.bidir, "load"};
	return 1;
}

static bool cut_short(const struct model_run *run)
{
	return run->outcome != OUTCOME_COMPLETE;
}

static int tcp_run(struct measure_ctx *ctx, const void *cfg, struct weir_err *e)
{
	const struct tcp_cfg *c = cfg;
	const struct flow_spec spec = spec_of(c);
	const struct measure_client client = measure_load_client(&c->l);
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

		rc = measure_load_plan(&c->l, &spec, legs[i].up, legs[i].down, &plan, e);
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
	measure_note_rate(ctx, (double)c->l.rate.bps * (double)c->l.parallel);
	host_judge(ctx->run);
	ctx->sink->end(ctx->sink, ctx->run);
	return rc;
}

const struct measure measure_tcp = {
	.name = "tcp",
	.summary = "how fast is this path: goodput, retransmits, RTT and CPU of both",
	.positional = "HOST",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.cfg_size = sizeof(struct tcp_cfg),
	.check = tcp_check,
	.run = tcp_run,
};
