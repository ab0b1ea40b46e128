/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir udp HOST`: datagrams at a rate, and what became of them; with --find-rate many short
 * trials, to find the highest rate that loses no more than it may. A rate that nobody asked for
 * measures no capacity, and the first line says so.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "measure/load.h"

#define DEFAULT_BPS 1000000

#define LOSS_DEFAULT    0.001
#define FIND_LO_BPS     100e3
#define FIND_HI_BPS     100e9
#define FIND_START_BPS  10e6
#define FIND_RESOLUTION 0.02
#define FIND_CONFIRM    2
#define FIND_TRIALS     40
#define FIND_REACHED    0.95 /* of the rate, or the sender gave out */
#define FIND_WHOLE      0.99 /* of the rate is the rate, else only what was sent counts */
#define FIND_LATE_S     0.01 /* with a round trip: how much later may be received than sent */
#define FIND_LONGER     4    /* times, when more did: a growing queue grows on */

struct udp_cfg {
	struct measure_load l;
	int64_t trial_ns;
	double loss;
	bool wide, dont_fragment, no_offload, spin, find, loss_given, trial_given;
};

/* ---- options ---------------------------------------------------------------------- */

static int parse_loss(void *field, const char *arg, struct weir_err *e)
{
	double v;
	int rc = unit_parse(arg, UNIT_RATIO, &v, e);

	if (rc < 0)
		return rc;
	if (v < 0 || v >= 1)
		return err_set(e, WEIR_USAGE, ERANGE, "\"%.40s\" is not from 0 to under 100 %%",
			       arg);
	*(double *)field = v;
	return 0;
}

static void loss_json(struct jw *w, const char *key, const void *field)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g%%", *(const double *)field * 100);
	if (fabs(*(const double *)field - LOSS_DEFAULT) > 1e-9)
		jw_str(w, key, text);
}

#define F(field) offsetof(struct udp_cfg, field)
/* clang-format off */
static const struct opt opts[] = {
	LOAD_OPTS_PEER,
	{.name = "bitrate", .letter = 'b', .type = OPT_FUNC, .offset = F(l.rate), .metavar = "RATE[/N]", .help = "offered load of each flow, in bursts of N datagrams; 0 = as fast as it goes, 1M without this option", .func = measure_parse_rate, .func_json = measure_rate_json},
	{.name = "find-rate", .type = OPT_FLAG, .offset = F(find), .help = "search for the highest rate within --loss (-b: the highest to try)"},
	{.name = "loss", .type = OPT_FUNC, .offset = F(loss), .metavar = "SHARE", .help = "with --find-rate: the loss that is still good", .func = parse_loss, .func_json = loss_json, .fallback = "0.1%", .given = F(loss_given)},
	{.name = "trial-time", .type = OPT_TIME, .offset = F(trial_ns), .metavar = "TIME", .help = "with --find-rate: length of each trial", .min = 100 * NSEC_PER_MSEC, .max = 600 * NSEC_PER_SEC, .fallback = "1s", .given = F(trial_given)},
	{.name = "length", .letter = 'l', .type = OPT_SIZE, .offset = F(l.len), .metavar = "SIZE", .help = "payload of every datagram, 16 to 65507; by itself what fits the path in one piece", .max = NET_UDP_LEN_MAX},
	LOAD_OPTS_EXTENT("datagrams"),
	{.name = "window", .letter = 'w', .type = OPT_SIZE, .offset = F(l.window), .metavar = "SIZE", .help = "socket buffers of both ends", .max = 512LL << 20},
	LOAD_OPTS_PATH,
	LOAD_OPTS_PHASES,
	{.name = "udp-counters-64bit", .type = OPT_FLAG, .offset = F(wide), .help = "64-bit sequence numbers, for more than 4 thousand million datagrams"},
	{.name = "dont-fragment", .type = OPT_FLAG, .offset = F(dont_fragment), .help = "forbid IP fragments: larger datagrams cannot leave"},
	{.name = "no-offload", .type = OPT_FLAG, .offset = F(no_offload), .help = "neither UDP_SEGMENT nor UDP_GRO: a datagram a packet in the whole kernel"},
	{.name = "spin", .type = OPT_FLAG, .offset = F(spin), .help = "spin the last stretch to each due time: evener, for a core of its own"},
	{.name = "skip-rx-copy", .type = OPT_FLAG, .offset = F(l.rx_trunc), .help = "receive the headers only, and so without UDP_GRO; recorded in the result"},
	LOAD_OPTS_REST,
};
/* clang-format on */

static int udp_check(const void *cfg, struct weir_err *e)
{
	const struct udp_cfg *c = cfg;
	const struct measure_clash pairs[] = {
		{c->find, c->l.bytes > 0, "find-rate", "bytes"},
		{c->find, c->l.blocks > 0, "find-rate", "blocks"},
		{c->find, c->l.omit_ns > 0, "find-rate", "omit"},
		{c->find, c->l.time_given, "find-rate", "time"},
	};
	int rc = measure_check_clashes(pairs, ARRAY_LEN(pairs), e);

	if (rc < 0 && c->find && c->l.time_given)
		err_hint(e, "--trial-time is the length of each trial");
	if (rc < 0)
		return rc;
	if (!c->find && (c->loss_given || c->trial_given))
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--%s is of the search: it goes with --find-rate",
			       c->loss_given ? "loss" : "trial-time");
	if (c->l.len && c->l.len < NET_UDP_LEN_MIN)
		return err_set(e, WEIR_USAGE, ERANGE,
			       "--length: %llu bytes have no room for a number and a time; use %d "
			       "to %d",
			       (unsigned long long)c->l.len, NET_UDP_LEN_MIN, NET_UDP_LEN_MAX);
	return measure_load_check(&c->l, e);
}

/* ---- request to plan ---------------------------------------------------------------- */

static struct flow_spec spec_of(const struct udp_cfg *c, uint64_t rate_bps)
{
	return (struct flow_spec){
		.transport = NET_UDP,
		.rate_bps = rate_bps,
		.burst = rate_bps ? c->l.rate.burst : 0,
		.len = (uint32_t)c->l.len,
		.window = c->l.window,
		.tos = (uint8_t)c->l.tos,
		.rx_trunc = c->l.rx_trunc,
		.counters_64bit = c->wide,
		.no_offload = c->no_offload,
		.dont_fragment = c->dont_fragment,
		.spin = c->spin,
	};
}

static bool by_default(const struct udp_cfg *c)
{
	return !c->find && !c->l.rate.given;
}

/* The title is the first line: what the figure is worth comes before everything else. */
static void note_request(struct model_run *run, const struct udp_cfg *c)
{
	static const char note[] = "offered load 1 Mbit/s (default); capacity not measured: use -b "
				   "or --find-rate";
	struct udp_cfg copy = *c;
	char title[512];

	measure_note_request(run,
			     &(struct opt_set){.rows = opts, .n = ARRAY_LEN(opts), .cfg = &copy});
	snprintf(title, sizeof(title), "%s%s%s", by_default(c) ? note : "",
		 by_default(c) && c->l.title ? "; " : "", c->l.title ? c->l.title : "");
	run->title = title[0] ? model_run_str(run, title) : NULL;
	run->host[MODEL_FAR].name = model_run_str(run, c->l.host);
}

/* ---- one rate ------------------------------------------------------------------------- */

static int run_at(struct measure_ctx *ctx, const struct udp_cfg *c, uint64_t rate_bps,
		  const char *name, int64_t start_ns, struct weir_err *e)
{
	const struct flow_spec spec = spec_of(c, rate_bps);
	struct measure_client client = measure_load_client(&c->l);
	struct flow_plan plan;
	int rc = measure_load_plan(&c->l, &spec, !c->l.reverse, c->l.reverse || c->l.bidir, &plan,
				   e);

	if (rc < 0)
		return rc;
	client.trial = c->find;
	if (c->find) {
		plan.duration_ns = c->trial_ns;
		if (c->trial_ns < plan.interval_ns)
			plan.interval_ns = c->trial_ns;
	}
	rc = measure_client_run(ctx, &client, &plan, name, start_ns, e);
	flow_plan_fini(&plan);
	return rc;
}

/* A datagram or two that were not due any more are no shortfall. */
static void note_rate(struct measure_ctx *ctx, const struct udp_cfg *c, double bps)
{
	const struct model_summary *len = model_find(ctx->run, "udp.size", STAT_VALUE, NULL, true);
	const struct model_summary *t = model_find(ctx->run, "duration", STAT_VALUE, NULL, true);
	double flows = (double)c->l.parallel, want = bps * flows;

	if (len && t && t->value > 0)
		want -= 2 * len->value * 8 / t->value * flows;
	measure_note_rate(ctx, want);
}

static int run_load(struct measure_ctx *ctx, const struct udp_cfg *c, int64_t start_ns,
		    struct weir_err *e)
{
	uint64_t bps = c->l.rate.given ? c->l.rate.bps : DEFAULT_BPS;
	int rc = run_at(ctx, c, bps, "load", start_ns, e);

	if (!ctx->run->n_parts)
		return rc;
	if (by_default(c))
		measure_event(ctx->run, ctx->sink, (uint32_t)ctx->run->n_parts - 1,
			      WARN_LOAD_DEFAULT, MODEL_NO_TIME, "use -b or --find-rate");
	measure_note_short(ctx);
	note_rate(ctx, c, (double)bps);
	host_judge(ctx->run);
	return rc;
}

/* ---- the search ------------------------------------------------------------------------- */

static const struct model_summary *sum_of(const struct model_run *run, uint32_t part,
					  const char *metric, int dir, int view)
{
	struct model_dims want = model_dims_with(DIMS_NONE, DIM_DIR, dir);
	const struct model_summary *best = NULL;

	want = model_dims_with(want, DIM_VIEW, view);
	for (size_t i = 0; i < run->n_sums; i++) {
		const struct model_summary *s = &run->sums[i];

		if (s->part != part || s->state != MODEL_KNOWN || s->stat != STAT_VALUE ||
		    strcmp(s->metric->name, metric) != 0 || !model_dims_match(&s->dims, &want) ||
		    s->dims.has & 1U << DIM_FLOW)
			continue;
		if (!best || s->prov == MODEL_MEASURED)
			best = s;
	}
	return best;
}

static double value_of(const struct model_run *run, uint32_t part, const char *metric, int dir,
		       int view, double without)
{
	const struct model_summary *s = sum_of(run, part, metric, dir, view);

	return s ? s->value : without;
}

/* At the receiver's socket; with UDP_GRO a batch of the sender's that was dropped counts once. */
static double dropped(const struct model_run *run, uint32_t part, int dir)
{
	const struct model_summary *s = sum_of(run, part, "udp.socket_drops", dir, MODEL_RECEIVER);
	double batch = 1;

	if (s && s->bound == MODEL_GE)
		batch = value_of(run, part, "udp.batch", dir, MODEL_SENDER, 1);
	return s ? s->value * batch : 0;
}

static double idle_rtt(const struct model_run *run, uint32_t part)
{
	for (size_t i = 0; i < run->n_sums; i++) {
		if (run->sums[i].part == part && run->sums[i].state == MODEL_KNOWN &&
		    !strcmp(run->sums[i].metric->name, "tcp.rtt_idle"))
			return run->sums[i].value;
	}
	return 0;
}

struct trial {
	enum measure_trial what;
	double loss; /* < 0: the far end did not say */
	double late; /* seconds by which less came in the trial's time than was sent */
};

/*
 * Before a queue on the way is full, it loses nothing: then less comes in the trial's time than was
 * sent. In seconds: how much longer, at this pace, all of it would take. What is on its way at the
 * end is a round trip's at most: the receiver's time begins before the first datagram can be there.
 */
static double late_by(const struct model_run *run, uint32_t part, int dir, double slack,
		      double bound)
{
	double came = value_of(run, part, "goodput", dir, MODEL_RECEIVER, -1);
	double sent = value_of(run, part, "throughput.sent", dir, MODEL_SENDER, 0);
	double t = value_of(run, part, "duration", dir, MODEL_SENDER, 0);

	if (came < 0 || sent <= 0 || t <= 0)
		return 0;
	return t * (1 - (came + slack) / sent - bound) - idle_rtt(run, part);
}

/* The sender's host had not sent them yet: a good part of what did not come in time. */
static bool is_unsent(const struct model_run *run, uint32_t part, int dir, double late)
{
	double sent = value_of(run, part, "throughput.sent", dir, MODEL_SENDER, 0);

	return value_of(run, part, "udp.unsent", dir, MODEL_SENDER, 0) * 8 * 4 > sent * late;
}

/* One direction of a trial. */
static struct trial judge_dir(const struct model_run *run, uint32_t part, int dir, double want,
			      double bound)
{
	double lost = value_of(run, part, "udp.lost", dir, MODEL_RECEIVER, 0);
	double sent = value_of(run, part, "throughput.sent", dir, MODEL_SENDER, 0);
	double slack = 2 * 8 * value_of(run, part, "udp.size", dir, MODEL_SENDER, 0) /
		       value_of(run, part, "duration", dir, MODEL_SENDER, 1);
	struct trial t = {.what = MEASURE_TRIAL_PASS,
			  .loss = value_of(run, part, "udp.loss", dir, MODEL_RECEIVER, -1),
			  .late = late_by(run, part, dir, slack, bound)};

	if (sent + slack < want * FIND_REACHED) /* says nothing of path and receiver at this rate */
		t.what = MEASURE_TRIAL_SENDER;
	else if (t.loss > bound)
		t.what = dropped(run, part, dir) * 2 > lost ? MEASURE_TRIAL_RECEIVER
							    : MEASURE_TRIAL_PATH;
	else if (t.late > FIND_LATE_S)
		t.what = is_unsent(run, part, dir, t.late) ? MEASURE_TRIAL_SENDER
							   : MEASURE_TRIAL_QUEUE;
	return t;
}

/* The worst of the directions. */
static int judge_trial(const struct udp_cfg *c, const struct model_run *run, uint32_t part,
		       double rate, struct trial *t, struct weir_err *e)
{
	double want = rate * (double)c->l.parallel;

	*t = (struct trial){.what = MEASURE_TRIAL_PASS};
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct trial mine;

		if (dir == MODEL_UP ? c->l.reverse : !c->l.reverse && !c->l.bidir)
			continue;
		mine = judge_dir(run, part, dir, want, c->loss);
		if (mine.loss < 0)
			return err_set(
				e, WEIR_PEER, ENODATA,
				"the far end did not say what it lost: nothing to search by");
		if (t->what == MEASURE_TRIAL_PASS ||
		    (mine.what != MEASURE_TRIAL_PASS && mine.loss > t->loss))
			t->what = mine.what;
		t->loss = mine.loss > t->loss ? mine.loss : t->loss;
		t->late = mine.late > t->late ? mine.late : t->late;
	}
	return 0;
}

/* The trial's figures are those of one step of the curve, not the run's. */
static void mark_step(struct model_run *run, size_t sums_before, unsigned step)
{
	for (size_t i = sums_before; i < run->n_sums; i++)
		run->sums[i].dims = model_dims_with(run->sums[i].dims, DIM_STEP, step);
}

static int run_trial(struct measure_ctx *ctx, const struct udp_cfg *c, double rate, unsigned *step,
		     int64_t start_ns, struct trial *t, struct weir_err *e)
{
	size_t before = ctx->run->n_sums;
	int rc = run_at(ctx, c, (uint64_t)rate, "trial", start_ns, e);

	if (rc < 0)
		return rc;
	rc = judge_trial(c, ctx->run, (uint32_t)ctx->run->n_parts - 1, rate, t, e);
	measure_value(ctx->run, (uint32_t)ctx->run->n_parts - 1, "rate.offered", DIMS_NONE,
		      STAT_VALUE, MODEL_MEASURED, rate * (double)c->l.parallel);
	mark_step(ctx->run, before, (*step)++);
	return rc;
}

/*
 * A sender may have been held up by something else: it has a second chance. So may a receiver; but a
 * queue that grows is longer after a longer trial, and is full one day.
 */
static int try_rate(struct measure_ctx *ctx, const struct udp_cfg *c, double rate, unsigned *step,
		    int64_t start_ns, struct trial *t, struct weir_err *e)
{
	struct udp_cfg longer = *c;
	int rc = run_trial(ctx, c, rate, step, start_ns, t, e);
	double late = t->late;

	if (rc < 0 || ctx->run->outcome != OUTCOME_COMPLETE)
		return rc;
	if (t->what == MEASURE_TRIAL_SENDER)
		return run_trial(ctx, c, rate, step, start_ns, t, e);
	if (t->what != MEASURE_TRIAL_QUEUE)
		return rc;
	longer.trial_ns *= FIND_LONGER;
	rc = run_trial(ctx, &longer, rate, step, start_ns, t, e);
	if (t->what == MEASURE_TRIAL_QUEUE && t->late < late * FIND_LONGER / 2)
		t->what = MEASURE_TRIAL_PASS;
	return rc;
}

static const struct {
	const char *code, *what;
} limits[] = {
	[MEASURE_TRIAL_PASS] = {NULL, "nothing: the highest rate that was to be tried passed"},
	[MEASURE_TRIAL_PATH] = {"udp-path", "the path, or what cannot be seen of the far end"},
	[MEASURE_TRIAL_QUEUE] = {"udp-queue", "a queue, on the path or before the receiver: it "
					      "grew all the time, as less came than was sent"},
	[MEASURE_TRIAL_RECEIVER] = {"udp-receiver", "the receiver: its socket's buffer overflowed"},
	[MEASURE_TRIAL_SENDER] = {"udp-sender", "the sender: it did not reach the rate"},
};

static void note_limit(struct model_run *run, const struct measure_search *s, double flows,
		       double loss)
{
	char rate[32], text[SAFE_MAX];

	if (s->fail <= 0)
		return;
	unit_format(rate, sizeof(rate), s->fail * flows, UNIT_BPS, 3);
	if (s->limit == MEASURE_TRIAL_SENDER)
		snprintf(text, sizeof(text), "%s of %s", limits[s->limit].what, rate);
	else if (s->limit == MEASURE_TRIAL_QUEUE)
		snprintf(text, sizeof(text), "%s, at %s", limits[s->limit].what, rate);
	else
		snprintf(text, sizeof(text), "%s; %.3g %% lost at %s", limits[s->limit].what,
			 loss * 100, rate);
	run->limited = model_run_str(run, text);
	run->limited_code = limits[s->limit].code;
}

/* Directions of the result: those that were loaded. */
static void note_found(struct measure_ctx *ctx, const struct udp_cfg *c,
		       const struct measure_search *s, double sent)
{
	uint32_t part = (uint32_t)ctx->run->n_parts - 1;
	double flows = (double)c->l.parallel;

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		bool near = dir == MODEL_DOWN;
		struct model_dims d = measure_view_dims(dir, false, near ? MODEL_NEAR : MODEL_FAR);
		int i;

		if (dir == MODEL_UP ? c->l.reverse : !c->l.reverse && !c->l.bidir)
			continue;
		i = measure_value(ctx->run, part, "rate.found", d, STAT_VALUE, MODEL_MEASURED,
				  sent < s->pass * flows * FIND_WHOLE ? sent : s->pass * flows);
		if (i < 0)
			continue;
		if (s->nothing || s->pass <= 0)
			ctx->run->sums[i].state = MODEL_UNKNOWN;
		if (s->fail <= 0 ||
		    s->limit == MEASURE_TRIAL_SENDER) /* nobody knows what is above */
			ctx->run->sums[i].bound = MODEL_GE;
		if (s->fail > 0)
			measure_value(ctx->run, part, "rate.failed", d, STAT_VALUE, MODEL_MEASURED,
				      s->fail * flows);
	}
	if (!s->found)
		measure_event(ctx->run, ctx->sink, part, WARN_UNCONFIRMED, MODEL_NO_TIME,
			      !s->nothing                        ? "%u trials"
			      : s->limit == MEASURE_TRIAL_SENDER ? "the sender did not reach even "
								   "the lowest rate"
								 : "even the lowest rate was too "
								   "much",
			      s->trials);
}

/* The least that left the sender in the trials that passed at the highest rate, over its flows. */
static double sent_in(const struct measure_ctx *ctx, const struct udp_cfg *c, double sent)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		double mine = value_of(ctx->run, (uint32_t)ctx->run->n_parts - 1, "throughput.sent",
				       dir, MODEL_SENDER, HUGE_VAL);

		if (dir == MODEL_UP ? !c->l.reverse : c->l.reverse || c->l.bidir)
			sent = mine < sent ? mine : sent;
	}
	return sent;
}

static int run_search(struct measure_ctx *ctx, const struct udp_cfg *c, int64_t start_ns,
		      struct weir_err *e)
{
	const struct measure_search_cfg cfg = {
		.lo = FIND_LO_BPS,
		.hi = c->l.rate.bps ? (double)c->l.rate.bps : FIND_HI_BPS,
		.start = FIND_START_BPS,
		.resolution = FIND_RESOLUTION,
		.confirm = FIND_CONFIRM,
		.max_trials = FIND_TRIALS,
	};
	struct measure_search s;
	double rate, loss[FIND_TRIALS] = {0}, sent = HUGE_VAL;
	unsigned step = 0;
	int rc = 0;

	measure_search_init(&s, &cfg);
	while (rc >= 0 && measure_search_next(&s, &rate)) {
		double pass = s.pass;
		struct trial t = {0};

		rc = try_rate(ctx, c, rate, &step, start_ns, &t, e);
		if (rc < 0 || ctx->run->outcome != OUTCOME_COMPLETE)
			break;
		loss[s.trials] = t.loss;
		measure_search_told(&s, t.what);
		if (t.what == MEASURE_TRIAL_PASS)
			sent = sent_in(ctx, c, s.pass > pass ? HUGE_VAL : sent);
	}
	if (!ctx->run->n_parts)
		return rc;
	note_found(ctx, c, &s, sent);
	note_limit(ctx->run, &s, (double)c->l.parallel, loss[s.fail_at]);
	return rc;
}

/* ---- the measurement ------------------------------------------------------------------- */

static int udp_run(struct measure_ctx *ctx, const void *cfg, struct weir_err *e)
{
	const struct udp_cfg *c = cfg;
	int64_t start_ns = clk_mono_ns();
	int rc;

	ctx->run = measure_run_new(c->find ? "find-rate" : "udp", NULL, ctx->tags, ctx->n_tags);
	if (!ctx->run)
		return err_set(e, WEIR_OS, ENOMEM, "no memory for a run");
	note_request(ctx->run, c);
	measure_set_experiment(ctx->run, ctx->exp);
	rc = c->find ? run_search(ctx, c, start_ns, e) : run_load(ctx, c, start_ns, e);
	if (rc < 0) {
		ctx->run->outcome = OUTCOME_FAILED;
		ctx->run->error = e ? model_run_str(ctx->run, e->msg) : NULL;
		if (!ctx->run->n_parts)
			return rc;
	}
	ctx->sink->end(ctx->sink, ctx->run);
	return rc;
}

const struct measure measure_udp = {
	.name = "udp",
	.summary = "what becomes of datagrams at a rate; the highest without loss",
	.positional = "HOST",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.cfg_size = sizeof(struct udp_cfg),
	.check = udp_check,
	.run = udp_run,
};
