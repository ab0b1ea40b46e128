/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One session with whatever answers at a host, as a part of a run: dial, run, and make the far
 * end's own report a part of ours.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "measure/priv.h"

#define BUSY_TRIES   5
#define BUSY_WAIT_MS 300
#define SHORT_RUN_S  1.0
#define RATE_REACHED 0.95

struct far_reader {
	struct model_ndjson_reader *rd;
	bool broken;
	struct weir_err err;
};

static void far_line(void *arg, const char *line, size_t n)
{
	struct far_reader *f = arg;

	if (!f->broken && model_ndjson_line(f->rd, line, n, &f->err) < 0)
		f->broken = true;
}

static void note_peer(struct model_run *run, const struct proto_session *ps)
{
	struct model_host *far = &run->host[MODEL_FAR];

	run->protocol = ps->proto->name;
	far->tool = model_run_str(run, ps->peer.tool);
	far->version = ps->peer.version[0] ? model_run_str(run, ps->peer.version) : NULL;
	far->facts = ps->facts[0] ? model_run_str(run, ps->facts) : NULL;
}

static void merge_far(struct measure_ctx *ctx, struct far_reader *f, struct proto_session *ps)
{
	const struct model_run *far = model_ndjson_run(f->rd);
	uint32_t part = (uint32_t)ctx->run->n_parts - 1;

	if (f->broken)
		measure_event(ctx->run, ctx->sink, part, WARN_PEER_FIGURE, MODEL_NO_TIME,
			      "the far end's own report is not readable: %s", f->err.msg);
	if (ps->lines_cut)
		measure_event(ctx->run, ctx->sink, part, WARN_MEMORY_CAP, MODEL_NO_TIME,
			      "the end of the far end's own report");
	if (far && ctx->run->n_parts)
		measure_merge_far(ctx->run, ctx->sink, far, part, ps);
}

/* How a server says that it is not ready: in words, by no listener, or by closing at once. */
static bool not_ready(int rc)
{
	return rc == -EBUSY || rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -EPIPE;
}

/* A server that has just ended one test may need a moment before the next. */
static int dial(struct proto_session *ps, const char *force, bool again, struct weir_err *e)
{
	int rc = proto_dial(ps, force, e);

	for (int i = 0; again && i < BUSY_TRIES && not_ready(rc); i++) {
		struct pollfd p = {.fd = ps->stop_fd, .events = POLLIN};

		if (poll(&p, 1, BUSY_WAIT_MS) > 0)
			break;
		if (e)
			*e = (struct weir_err){0};
		rc = proto_dial(ps, force, e);
	}
	return rc;
}

int measure_client_run(struct measure_ctx *ctx, const struct measure_client *c,
		       struct flow_plan *plan, const char *name, int64_t start_ns,
		       struct weir_err *e)
{
	bool first = !ctx->run->n_parts;
	bool again = !first || (ctx->exp && ctx->exp->position > 0);
	struct far_reader far = {.rd = model_ndjson_reader_new()};
	struct net_sock_opts sock = {
		.bind_host = c->bind, .bind_dev = c->bind_dev, .family = c->family};
	struct proto_session ps = {.role = PROTO_CLIENT,
				   .ctl_fd = -1,
				   .stop_fd = ctx->stop_fd,
				   .plan = plan,
				   .host = c->host,
				   .port = (uint16_t)c->port,
				   .sock = &sock,
				   .timeout_ns = c->timeout_ns,
				   .cport = (uint16_t)c->cport,
				   .psk = ctx->psk,
				   .login = ctx->login,
				   .extra = ctx->hooks ? ctx->hooks->extra : NULL,
				   .iperf2 = ctx->hooks ? ctx->hooks->iperf2 : NULL,
				   .nttcp = ctx->hooks ? ctx->hooks->nttcp : NULL,
				   .on_line = far_line,
				   .arg = &far};
	struct measure_session ms = {.proto = &ps,
				     .run = ctx->run,
				     .sink = ctx->sink,
				     .stop_fd = ctx->stop_fd,
				     .run_start_ns = start_ns,
				     .workers = (unsigned)c->workers,
				     .trial = c->trial,
				     .begun = !first,
				     .far = far.rd,
				     .hooks = ctx->hooks,
				     .pin = c->pin};
	int rc = far.rd ? 0 : -ENOMEM;

	if (ctx->hooks && ctx->hooks->plan)
		ctx->hooks->plan(ctx->hooks->arg, plan);
	if (rc >= 0)
		rc = dial(&ps, c->proto ? c->proto : first ? NULL : ctx->run->protocol, again, e);
	if (rc < 0)
		goto out;
	note_peer(ctx->run, &ps);
	if (first)
		measure_note_link(ctx->run, ps.ctl_fd >= 0 ? ps.ctl_fd : ps.fds[0]);
	rc = measure_session_run(&ms, name, e);
	if (rc >= 0 && ps.found[0])
		measure_event(ctx->run, ctx->sink, (uint32_t)ctx->run->n_parts - 1, WARN_PEER_FOUND,
			      MODEL_NO_TIME, "%s", ps.found);
	if (rc >= 0 && ps.proto->data_ends) /* it may have told who it is */
		note_peer(ctx->run, &ps);
	if (rc >= 0 && ps.proto->lines)
		merge_far(ctx, &far, &ps);
	ps.proto->close(&ps);
out:
	proto_session_fini(&ps);
	model_ndjson_reader_free(far.rd);
	return rc;
}

void measure_note_request(struct model_run *run, const struct opt_set *set)
{
	struct buf b = {0};
	struct jw w = jw_init(&b);

	jw_obj(&w, NULL);
	opt_to_json(set, 1, &w);
	jw_end_obj(&w);
	if (b.len && !b.failed)
		run->request = model_run_str(run, b.data);
	buf_fini(&b);
}

void measure_note_rate(struct measure_ctx *ctx, double want)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN && want > 0; dir++) {
		struct model_dims d = model_dims_with(DIMS_NONE, DIM_DIR, dir);
		const struct model_summary *s =
			model_find(ctx->run, "throughput.sent", STAT_VALUE, &d, true);
		char got[32], asked[32];

		if (!s || s->value >= want * RATE_REACHED)
			continue;
		unit_format(got, sizeof(got), s->value, UNIT_BPS, 3);
		unit_format(asked, sizeof(asked), want, UNIT_BPS, 3);
		measure_event(ctx->run, ctx->sink, s->part, WARN_RATE_SHORT, MODEL_NO_TIME,
			      "%s: %s of %s", dir == MODEL_UP ? "up" : "down", got, asked);
	}
}

void measure_note_short(struct measure_ctx *ctx)
{
	const struct model_summary *s = model_find(ctx->run, "duration", STAT_VALUE, NULL, true);

	if (s && s->value < SHORT_RUN_S)
		measure_event(ctx->run, ctx->sink, s->part, WARN_SHORT_RUN, MODEL_NO_TIME, "%.2f s",
			      s->value);
}
