/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server's half of a test: the same session as the client's, with a sink that is the wire.
 * A native client gets this end's run line by line as it grows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
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

/* A borrowed sink, whose close() is not ours to call. */
struct lent_sink {
	struct sink sink;
	struct sink *to;
};

static void lent_begin(struct sink *s, const struct model_run *r)
{
	struct sink *to = ((struct lent_sink *)s)->to;

	to->begin(to, r);
}

static void lent_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	struct sink *to = ((struct lent_sink *)s)->to;

	to->sample(to, r, t);
}

static void lent_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	struct sink *to = ((struct lent_sink *)s)->to;

	to->event(to, r, ev);
}

static void lent_end(struct sink *s, const struct model_run *r)
{
	struct sink *to = ((struct lent_sink *)s)->to;

	to->end(to, r);
}

static int lent_close(struct sink *s, struct weir_err *e)
{
	(void)e;
	free(s);
	return 0;
}

static struct sink *lent_new(struct sink *to)
{
	struct lent_sink *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->sink = (struct sink){lent_begin, lent_sample, lent_event, lent_end, lent_close};
	l->to = to;
	return &l->sink;
}

/* A native client's wire, the caller's own sink, both, or none. */
static int open_sink(const struct measure_serve *m, struct model_run *run, struct sink **out)
{
	struct sink *sinks[2];
	size_t n = 0;

	*out = NULL;
	if (m->proto->proto->lines) {
		sinks[n] = wire_new(m->proto, run);
		n += sinks[n] != NULL;
		if (!n)
			return -ENOMEM;
	}
	if (m->hooks && m->hooks->sink) {
		sinks[n] = lent_new(m->hooks->sink);
		n += sinks[n] != NULL;
	}
	*out = n > 1 ? sink_tee(sinks, n) : n ? sinks[0] : NULL;
	if (n > 1 && !*out) { /* the wire alone must do */
		free(sinks[1]);
		*out = sinks[0];
	}
	return 0;
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
				     .hooks = m->hooks,
				     .idle_ns = m->idle_ns ? m->idle_ns : IDLE_NS};
	int rc;

	ps->extra = m->hooks ? m->hooks->extra : NULL;
	rc = ps->proto->accept(ps, m->limits, e);

	if (rc < 0)
		return rc;
	name_hosts(run, ps);
	if (ps->plan->n && ps->plan->flows[0].transport == NET_UDP)
		run->kind = "udp";
	if (m->hooks && m->hooks->plan)
		m->hooks->plan(m->hooks->arg, ps->plan);
	rc = ps->proto->streams(ps, e);
	if (rc < 0)
		return rc;
	rc = open_sink(m, run, &ms.sink);
	if (rc >= 0)
		rc = measure_session_run(&ms, "load", e);
	if (ms.sink)
		ms.sink->close(ms.sink, NULL);
	return rc;
}

/* They live as long as the run. */
static void read_facts(struct measure_serve *m, struct model_run *run)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	char iface[IF_NAMESIZE];
	struct buf b = {0};
	bool known = getpeername(m->proto->ctl_fd, (struct sockaddr *)&ss, &len) >= 0 &&
		     host_iface_to((const struct sockaddr *)&ss, iface);

	host_facts_told(&b, known ? iface : NULL, m->facts == MEASURE_FACTS_ALL);
	if (!b.failed && b.len < sizeof(m->proto->facts)) {
		run->host[MODEL_NEAR].facts = model_run_str(run, b.data);
		m->proto->server_facts = run->host[MODEL_NEAR].facts;
	}
	buf_fini(&b);
}

int measure_serve_run(struct measure_serve *m, struct model_run **out, struct weir_err *e)
{
	struct model_run *run = measure_run_new("tcp", m->proto->server_facts, NULL, 0);
	int rc;

	if (!run)
		return err_set(e, WEIR_OS, ENOMEM, "no memory for a run");
	if (m->facts != MEASURE_FACTS_GIVEN && !strcmp(m->proto->proto->name, "weir"))
		read_facts(m, run);
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
