/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3 -s on weir's server: any number of clients, each test in a process of its own, where
 * its report is made. The front prints: the report of one test as it grows, those of tests at the
 * same time each as one block when it has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "host/host.h"
#include "persona/priv.h"
#include "serve/serve.h"

#define WHOLE_NS   (7 * 86400 * NSEC_PER_SEC) /* -i 0: one interval, at the end */
#define RULE       "-----------------------------------------------------------"
#define SLOTS      64                  /* weir's own default of tests at once */
#define HELD_MAX   ((size_t)16 << 20)  /* of a report that waits for its turn */
#define OUTPUT_MAX ((size_t)512 << 10) /* of a report for the client */
#define GRACE_NS   NSEC_PER_MSEC       /* a signal ends the tests at once, as there */

/* With -1 a server that nobody comes to ends; a test that runs holds that up. */
static volatile sig_atomic_t is_busy;

struct server {
	const struct i3_cfg *c;
	struct i3_out *o;
	struct buf held[SLOTS];
	bool busy[SLOTS];
	bool cut;   /* a test that ran when it was stopped has said so */
	int live;   /* the slot that prints as it goes; -1 = none */
	unsigned n; /* tests listened for */
};

/* ---- in a test's process ------------------------------------------------------------------- */

struct report {
	const struct i3_cfg *c;
	struct i3_out out; /* its buffer is what the writer makes */
	struct sink sink, *writer;
	struct i3_test test;
	struct proto_extra extra;
	struct measure_hooks hooks;
	char title[256];
	const struct model_run *run; /* seen last */
	struct buf kept;             /* for the client */
	serve_put *put;
	void *put_arg;
	int file_fd;
	bool reported;
};

static void bring(struct report *r)
{
	struct buf *b = &r->out.buf;

	if (b->len && r->extra.get_server_output && r->kept.len < OUTPUT_MAX)
		buf_put(&r->kept, b->data, b->len);
	if (b->len)
		r->put(r->put_arg, 0, b->data, b->len);
	buf_clear(b);
}

/* Who reads JSON reads all of it there. */
static void complain(struct report *r, const char *text)
{
	char line[300];
	int n = snprintf(line, sizeof(line), "iperf3: %s\n", text);

	bring(r);
	if (r->c->json)
		return;
	r->put(r->put_arg, 1, line, (size_t)(n < (int)sizeof(line) ? n : (int)sizeof(line) - 1));
}

static void on_plan(void *arg, struct flow_plan *p)
{
	struct report *r = arg;

	p->interval_ns = r->c->interval_s > 0 ? (int64_t)(r->c->interval_s * 1e9) : WHOLE_NS;
	if (r->c->file)
		r->file_fd = open(r->c->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	for (size_t i = 0; r->file_fd > 0 && i < p->n; i++) {
		if (p->flows[i].transport == NET_TCP && p->flows[i].dir == NET_UP)
			p->flows[i].file_fd = r->file_fd;
	}
}

static void on_greeted(void *arg, struct proto_session *s)
{
	struct report *r = arg;

	if (i3_pin(r->extra.server_affinity) < 0)
		complain(r, "warning - unable to set CPU affinity");
	i3_test_read(&r->test, s, NULL);
	snprintf(r->title, sizeof(r->title), "%s", s->plan->title);
	r->test.t.title = r->title;
	r->test.t.extra_data = r->extra.extra_data;
	r->test.t.file = r->c->file;
	format_iperf3_greeted(r->writer, &r->test.t);
	bring(r);
}

static void on_opened(void *arg, struct proto_session *s)
{
	struct report *r = arg;

	i3_test_flows(&r->test, s, r->c);
	r->test.t.interval_s = r->c->interval_s;
	i3_apply_sockets(r->c, s);
	format_iperf3_opened(r->writer, &r->test.t);
	bring(r);
}

static void on_message(void *arg, const char *what, const char *json, size_t n)
{
	struct report *r = arg;

	format_iperf3_message(r->writer, what, json, n);
	bring(r);
}

static void put_report(struct report *r, const struct model_run *run)
{
	/* A document is made anew: by the end more is known. */
	if ((r->reported && !r->c->json) || !run)
		return;
	r->reported = true;
	format_iperf3_report(r->writer, run);
	bring(r);
}

/* The client wants it with the results, before the run is whole: what it said it sent is known. */
static bool on_output(void *arg, const struct proto_result *mine, struct buf *b)
{
	struct report *r = arg;

	for (size_t i = 0; i < mine->n; i++) {
		const struct proto_flow_result *f = &mine->flows[i];
		int64_t skip = f->omitted_packets > 0 ? f->omitted_packets : 0;
		int64_t lost = f->omitted_lost > 0 ? f->omitted_lost : 0;

		if (f->udp)
			format_iperf3_counts(r->writer, i, (double)(f->packets - skip),
					     (double)(f->lost - lost));
	}
	put_report(r, r->run);
	if (r->c->json)
		format_iperf3_document(r->writer, b);
	else
		buf_put(b, r->kept.data, r->kept.len);
	return r->c->json;
}

static void sink_none(struct sink *s, const struct model_run *run)
{
	struct report *r = (struct report *)((char *)s - offsetof(struct report, sink));

	r->run = run;
}

static void sink_event(struct sink *s, const struct model_run *run, const struct model_event *ev)
{
	(void)s, (void)run, (void)ev;
}

static void sink_sample(struct sink *s, const struct model_run *run, const struct model_tick *t)
{
	struct report *r = (struct report *)((char *)s - offsetof(struct report, sink));

	r->run = run;
	r->writer->sample(r->writer, run, t);
	bring(r);
}

static void *begin(void *arg, struct measure_serve *m, serve_put *put, void *put_arg)
{
	const struct server *s = arg;
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct report){.c = s->c, .put = put, .put_arg = put_arg};
	r->out = (struct i3_out){.c = s->c, .fd = -1, .err_fd = -1};
	i3_system_info(r->out.system_info, sizeof(r->out.system_info));
	r->writer = i3_writer(&r->out, &r->out.buf);
	if (!r->writer) {
		free(r);
		return NULL;
	}
	r->sink = (struct sink){sink_none, sink_sample, sink_event, sink_none, NULL};
	r->extra = (struct proto_extra){.arg = r,
					.greeted = on_greeted,
					.opened = on_opened,
					.message = on_message,
					.output = on_output,
					.server_affinity = -1};
	r->hooks = (struct measure_hooks){.arg = r,
					  .extra = &r->extra,
					  .plan = on_plan,
					  .sink = &r->sink,
					  .idle_ns = r->c->rcv_timeout_ms * NSEC_PER_MSEC,
					  .most_bps = r->c->limit_bps,
					  .most_ns = r->c->limit_s * NSEC_PER_SEC};
	m->hooks = &r->hooks;
	return r;
}

static const char gone[] = "the client has unexpectedly closed the connection";

/* NULL: the front says it, once. */
static const char *why_ended(const struct report *r, const struct model_run *run,
			     const struct weir_err *e)
{
	const char *words = i3_error_words(r->extra.error_code);

	if (i3_event(run, WARN_PEER_TERMINATED))
		return "the client has terminated";
	if (i3_event(run, WARN_INTERRUPTED) || e->code == ECANCELED)
		return NULL;
	if (r->hooks.too_much)
		return "total required bandwidth is larger than server limit";
	if (r->hooks.idle)
		return "idle timeout for receiving data";
	if (!e->code || e->code == EPIPE || e->code == ECONNRESET)
		return gone;
	return words ? words : e->msg;
}

static void say_why(struct report *r, const struct model_run *run, const struct weir_err *e)
{
	const char *why = why_ended(r, run, e);
	bool plain = why == gone || i3_event(run, WARN_PEER_TERMINATED);
	char text[280];

	snprintf(text, sizeof(text), "%s%s", plain ? "" : "error - ", why ? why : "");
	if (why)
		complain(r, text);
	format_iperf3_error(r->writer, why ? text : "interrupt - the server has terminated");
}

static void end(void *thing, const struct model_run *run, int rc, const struct weir_err *e)
{
	struct report *r = thing;
	bool whole = rc >= 0 && run && run->outcome == OUTCOME_COMPLETE;
	char failure[200] = "error - ";

	/* Of a client that is gone iperf3 has no summary; a document has what there was. */
	if (r->c->json ? run && run->n_parts
		       : whole || (rc >= 0 && !r->hooks.too_much && why_ended(r, run, e) != gone))
		put_report(r, run);
	if (!whole) {
		say_why(r, run, e);
	} else if (i3_send_failure(run, failure + 8, sizeof(failure) - 8)) {
		complain(r, failure);
		format_iperf3_error(r->writer, failure);
	}
	if (r->c->json)
		format_iperf3_finish(r->writer, false);
	bring(r);
	if (r->file_fd > 0)
		close(r->file_fd);
	i3_test_fini(&r->test);
	r->writer->close(r->writer, NULL);
	buf_fini(&r->out.buf);
	buf_fini(&r->kept);
	free(r);
}

/* ---- in the front --------------------------------------------------------------------------- */

static void put_banner(struct server *s)
{
	struct buf *b = &s->o->buf;

	if (s->c->json)
		return;
	i3_out_prefix(s->o, b);
	buf_printf(b, "%s\n", RULE);
	i3_out_prefix(s->o, b);
	buf_printf(b, "Server listening on %lld (test #%u)\n", (long long)s->c->port, ++s->n);
	i3_out_prefix(s->o, b);
	buf_printf(b, "%s\n", RULE);
	i3_out_flush(s->o);
}

static size_t running(const struct server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < SLOTS; i++)
		n += s->busy[i];
	return n;
}

static void release(struct server *s, size_t slot)
{
	buf_put(&s->o->buf, s->held[slot].data, s->held[slot].len);
	i3_out_flush(s->o);
	buf_fini(&s->held[slot]);
	s->held[slot] = (struct buf){0};
}

static void test_ended(struct server *s, size_t slot)
{
	bool spoke = s->busy[slot];

	s->cut |= spoke && i3_is_stopping();
	s->busy[slot] = false;
	is_busy = running(s) > 0;
	if (s->live == (int)slot)
		s->live = -1;
	release(s, slot);
	if (spoke && !running(s) && !s->c->one_off && !i3_is_stopping())
		put_banner(s);
}

static void on_text(void *arg, size_t slot, int stream, const char *text, size_t n)
{
	struct server *s = arg;

	if (slot >= SLOTS)
		return;
	if (!n) {
		test_ended(s, slot);
		return;
	}
	s->busy[slot] = true;
	is_busy = 1;
	if (stream) {
		(void)!write(s->o->err_fd, text, n);
		return;
	}
	if (s->live < 0 && !s->held[slot].len)
		s->live = (int)slot;
	if (s->live == (int)slot || s->held[slot].len < HELD_MAX)
		buf_put(&s->held[slot], text, n);
	if (s->live == (int)slot)
		release(s, slot);
}

static void on_log(void *arg, const char *line)
{
	struct server *s = arg;

	if (s->c->debug)
		i3_complain(s->o, "%s", line);
}

/* The kernel's own list of addresses: one that anybody can reach. */
static bool on_public_address(const struct i3_cfg *c, char *text, size_t cap)
{
	struct ifaddrs *list = NULL;
	bool found = false;

	if (c->bind) {
		struct net_addr a;

		if (net_resolve(c->bind, 0, AF_UNSPEC, &a, 1, NULL) < 1)
			return false;
		net_addr_text(&a, text, cap);
		return !net_addr_is_private(&a);
	}
	if (getifaddrs(&list))
		return false;
	for (struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
		int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
		struct net_addr a = {.len = family == AF_INET ? sizeof(a.in4) : sizeof(a.in6)};

		if (family != AF_INET && family != AF_INET6)
			continue;
		memcpy(&a.ss, i->ifa_addr, a.len);
		net_addr_text(&a, text, cap);
		found = !net_addr_is_private(&a);
	}
	freeifaddrs(list);
	return found;
}

static void on_ready(void *arg, const char *where)
{
	struct server *s = arg;
	char address[64];

	(void)where;
	if (on_public_address(s->c, address, sizeof(address)))
		i3_complain(
			s->o,
			"warning - %s is a public address: anybody can start tests here, of any "
			"length and rate (weir serve --public has limits)",
			address);
	put_banner(s);
}

/* ---- the server ----------------------------------------------------------------------------------- */

static void on_alarm(int sig)
{
	(void)sig;
	if (is_busy)
		alarm(1);
	else
		i3_stop_now();
}

static int stop_fd(const struct i3_cfg *c)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	int fd = i3_stop_fd();

	if (c->one_off && c->idle_s > 0) {
		sigaction(SIGALRM, &sa, NULL);
		alarm((unsigned)c->idle_s);
	}
	return fd;
}

static int become_daemon(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = null < 0 ? -1 : fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		_exit(0);
	setsid();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close(null);
	return 0;
}

static int serve(struct server *s, const struct proto_login *login, struct weir_err *e)
{
	static const struct net_prefix everybody[] = {{.family = AF_INET}, {.family = AF_INET6}};
	const struct i3_cfg *c = s->c;
	struct serve_words words = {.arg = s, .begin = begin, .end = end, .text = on_text};
	struct serve_cfg cfg = {.bind_host = c->bind,
				.bind_dev = c->bind_dev,
				.family = c->v4   ? AF_INET
					  : c->v6 ? AF_INET6
						  : AF_UNSPEC,
				.port = (uint16_t)c->port,
				.allow = everybody,
				.n_allow = ARRAY_LEN(everybody),
				.one_off = c->one_off,
				.one_any = true,
				.limits = {.tests = SLOTS,
					   .rate_bps = c->limit_bps,
					   .duration_ns = c->max_duration_s * NSEC_PER_SEC},
				.login = login,
				/* A file belongs to who started us. */
				.user = c->file && geteuid() == 0 ? "root" : NULL,
				.grace_ns = GRACE_NS,
				.stop_fd = stop_fd(c),
				.listen_fd = -1,
				.log = on_log,
				.ready = on_ready,
				.words = &words,
				.arg = s};
	struct buf facts = {0};
	int rc;

	host_facts(&facts, NULL);
	cfg.facts = facts.data;
	rc = serve_run(&cfg, e);
	buf_fini(&facts);
	return rc;
}

/* In one document a test, or one of its own where there was no test. */
static void say(struct server *s, const char *text)
{
	if (!s->c->json)
		i3_complain(s->o, "%s", text);
	else if (!s->cut)
		i3_error_document(s->o, text);
}

static int stopped(struct server *s)
{
	bool new = s->c->style == I3_STYLE_321;
	int sig = i3_stop_signal(), n;
	char text[120];

	if (!sig)
		return 0;
	n = snprintf(text, sizeof(text), "interrupt - the server has terminated");
	if (new)
		snprintf(text + n, sizeof(text) - (size_t)n, " by signal %s(%d)", strsignal(sig),
			 sig);
	say(s, text);
	return new ? 0 : 1;
}

static int no_listener(struct server *s, const struct weir_err *e)
{
	char text[300];

	if (e->domain == WEIR_OS)
		snprintf(text, sizeof(text), "error - unable to start listener for connections: %s",
			 e->code == ENOENT ? "Name or service not known" : strerror(e->code));
	else
		snprintf(text, sizeof(text), "error - %s", e->msg);
	say(s, text);
	if (e->domain == WEIR_OS)
		i3_complain(s->o, "exiting");
	return 1;
}

int i3_server(const struct i3_cfg *c, struct i3_out *o)
{
	struct server s = {.c = c, .o = o, .live = -1};
	struct proto_login *login = NULL;
	struct weir_err e = {0};
	struct i3_error early = {0};
	int rc, pid_fd = -1;

	if (cmd_login_server(c->key, c->users, c->skew_s * NSEC_PER_SEC, c->pkcs1, &login, &e) < 0)
		return i3_refuse(o, I3_NO_SERVER_KEY, e.msg);
	rc = c->daemon ? become_daemon() : 0;
	if (rc < 0)
		snprintf(early.text, sizeof(early.text), "unable to become a daemon: %s",
			 strerror(-rc));
	if (rc >= 0 && c->pidfile)
		rc = pid_fd = i3_pidfile(c->pidfile, &early);
	if (rc < 0) {
		rc = i3_fail_early(o, early.text);
	} else {
		i3_banner(o);
		rc = serve(&s, login, &e);
		i3_pidfile_end(c->pidfile, pid_fd);
		rc = rc < 0 ? no_listener(&s, &e) : stopped(&s);
	}
	for (size_t i = 0; i < SLOTS; i++)
		buf_fini(&s.held[i]);
	proto_login_free(login);
	return rc;
}
