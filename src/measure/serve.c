/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server's half of a test: the same session as the client's, with a sink that is the wire.
 * A native client gets this end's run line by line as it grows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/priv.h"

#define IDLE_NS (120 * NSEC_PER_SEC)

/* Lines of the run, sent as soon as they are whole. */
struct wire_sink {
	struct sink sink;
	struct sink *lines;
	struct buf buf;
	struct proto_session *ps;
	struct model_run *run;
	size_t too_long; /* lines left out */
	bool broken;
};

static void wire_flush(struct wire_sink *w)
{
	size_t done = 0;
	char *nl;

	while (!w->broken && (nl = memchr(w->buf.data + done, '\n', w->buf.len - done))) {
		size_t n = (size_t)(nl - (w->buf.data + done));

		int rc = w->ps->proto->line(w->ps, w->buf.data + done, n, NULL);

		if (rc == -EMSGSIZE)
			w->too_long++;
		else if (rc < 0)
			w->broken = true;
		done += n + 1;
	}
	if (w->broken)
		done = w->buf.len;
	buf_drop(&w->buf, done);
}

static void wire_begin(struct sink *s, const struct model_run *r)
{
	struct wire_sink *w = (struct wire_sink *)s;

	w->lines->begin(w->lines, r);
	wire_flush(w);
}

static void wire_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct wire_sink *w = (struct wire_sink *)s;

	w->lines->sample(w->lines, r, t);
	wire_flush(w);
}

static void wire_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	struct wire_sink *w = (struct wire_sink *)s;

	w->lines->event(w->lines, r, ev);
	wire_flush(w);
}

static void wire_end(struct sink *s, const struct model_run *r)
{
	struct wire_sink *w = (struct wire_sink *)s;

	if (w->too_long)
		measure_event(w->run, s, (uint32_t)r->n_parts - 1, WARN_MEMORY_CAP, MODEL_NO_TIME,
			      "%zu lines were too long to be sent", w->too_long);
	w->lines->end(w->lines, r);
	wire_flush(w);
}

static int wire_close(struct sink *s, struct weir_err *e)
{
	struct wire_sink *w = (struct wire_sink *)s;
	int rc = w->lines ? w->lines->close(w->lines, e) : 0;

	buf_fini(&w->buf);
	free(w);
	return rc;
}

static struct sink *wire_new(struct proto_session *ps, struct model_run *run)
{
	struct wire_sink *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->sink = (struct sink){wire_begin, wire_sample, wire_event, wire_end, wire_close};
	w->ps = ps;
	w->run = run;
	w->lines = model_ndjson_sink(&w->buf);
	if (!w->lines) {
		free(w);
		return NULL;
	}
	return &w->sink;
}

static void name_hosts(struct model_run *run, const struct proto_session *ps)
{
	char text[64];

	net_addr_text(&ps->peer_addr, text, sizeof(text));
	run->host[MODEL_FAR].name = model_run_str(run, text);
	net_addr_text(&ps->local_addr, text, sizeof(text));
	run->host[MODEL_NEAR].name = model_run_str(run, text);
	run->host[MODEL_FAR].tool = model_run_str(run, ps->peer.tool);
	run->host[MODEL_FAR].version =
		ps->peer.version[0] ? model_run_str(run, ps->peer.version) : NULL;
	run->protocol = ps->proto->name;
	if (ps->facts[0])
		run->host[MODEL_FAR].facts = model_run_str(run, ps->facts);
	if (ps->plan && ps->plan->title[0])
		run->title = model_run_str(run, ps->plan->title);
}

static int serve_test(struct measure_serve *m, struct model_run *run, struct weir_err *e)
{
	struct proto_session *ps = m->proto;
	struct measure_session ms = {.proto = ps,
				     .run = run,
				     .stop_fd = m->stop_fd,
				     .run_start_ns = clk_mono_ns(),
				     .workers = m->workers,
				     .pin = m->pin,
				     .overlap = m->overlap,
				     .idle_ns = m->idle_ns ? m->idle_ns : IDLE_NS};
	int rc = ps->proto->accept(ps, m->limits, e);

	if (rc < 0)
		return rc;
	name_hosts(run, ps);
	if (ps->plan->n && ps->plan->flows[0].transport == NET_UDP)
		run->kind = "udp";
	rc = ps->proto->streams(ps, e);
	if (rc < 0)
		return rc;
	if (ps->proto->lines) {
		ms.sink = wire_new(ps, run);
		if (!ms.sink)
			return -ENOMEM;
	}
	rc = measure_session_run(&ms, "load", e);
	if (ms.sink)
		ms.sink->close(ms.sink, NULL);
	return rc;
}

int measure_serve_run(struct measure_serve *m, struct model_run **out, struct weir_err *e)
{
	struct model_run *run = measure_run_new("tcp", m->proto->server_facts, NULL, 0);
	int rc;

	if (!run)
		return err_set(e, WEIR_OS, ENOMEM, "no memory for a run");
	rc = serve_test(m, run, e);
	if (rc < 0) {
		run->outcome = OUTCOME_FAILED;
		if (e)
			run->error = model_run_str(run, e->msg);
		m->proto->proto->say(m->proto, PROTO_SAY_FAILED);
	}
	m->proto->proto->close(m->proto);
	*out = run;
	return rc;
}
