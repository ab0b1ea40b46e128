/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3 -c: the command line becomes the options of `weir tcp` or `weir udp`, by name, and so the
 * run is the same as theirs, stored where theirs are. What goes beyond their options (a file as
 * payload, a label, what the dialogue alone carries) reaches the plan and the sockets by hooks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "persona/priv.h"

#define TIMEOUT_NS (30 * NSEC_PER_SEC)
#define STORE_CAP  ((uint64_t)1 << 30)

struct client {
	const struct i3_cfg *c;
	struct i3_out *o;
	struct sink *writer;
	struct i3_test test;
	struct proto_extra extra;
	struct measure_hooks hooks;
	struct store *store;
	struct model_kv *tags;
	struct proto_login *login;
	int file_fd; /* 0 = none */
	uint64_t file_size;
	bool no_key, dialled, greeted, opened;
};

/* ---- the request ------------------------------------------------------------------------- */

/* The measurement's configuration, filled by its own rows. */
struct request {
	const struct measure *m;
	void *cfg;
	struct opt_set set;
	struct weir_err *e;
	int rc;
};

static void want(struct request *r, bool given, const char *name, const char *value)
{
	if (given && r->rc >= 0)
		r->rc = opt_set_value(&r->set, 1, name, value, r->e);
}

static void want_number(struct request *r, bool given, const char *name, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	want(r, given, name, text);
}

static void want_rate(struct request *r, const struct i3_cfg *c)
{
	char text[64];

	if (c->burst)
		snprintf(text, sizeof(text), "%llu/%lld", (unsigned long long)c->rate_bps,
			 (long long)c->burst);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)c->rate_bps);
	want(r, c->udp || c->rate_bps, "bitrate", text);
}

static void want_times(struct request *r, const struct i3_cfg *c)
{
	char text[32];

	/* A file ends the test by its end. */
	want_number(r, !c->bytes && !c->blocks, "time",
		    c->file && !c->reverse && !c->time_given ? 0 : (uint64_t)c->time_s);
	want_number(r, c->omit_s > 0, "omit", (uint64_t)c->omit_s);
	snprintf(text, sizeof(text), "%.3fs", c->interval_s);
	want(r, true, "interval", text);
	snprintf(text, sizeof(text), "%lldms",
		 (long long)(c->connect_timeout_ms ? c->connect_timeout_ms
						   : TIMEOUT_NS / NSEC_PER_MSEC));
	want(r, true, "connect-timeout", text);
}

static void want_transport(struct request *r, const struct i3_cfg *c)
{
	if (c->udp) {
		want(r, c->wide, "udp-counters-64bit", "true");
		want(r, c->dont_fragment, "dont-fragment", "true");
		return;
	}
	want_number(r, c->fq_rate > 0, "fq-rate", c->fq_rate);
	want_number(r, c->mss > 0, "set-mss", (uint64_t)c->mss);
	want(r, c->nodelay, "no-delay", "true");
	want(r, c->cc != NULL, "congestion", c->cc);
	want(r, c->zerocopy, "zerocopy", "true");
}

static int make_request(struct request *r, const struct client *k, struct weir_err *e)
{
	const struct i3_cfg *c = k->c;

	*r = (struct request){.m = c->udp ? &measure_udp : &measure_tcp, .e = e};
	r->cfg = calloc(1, r->m->cfg_size);
	if (!r->cfg)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	r->set = (struct opt_set){.rows = r->m->opts, .n = r->m->n_opts, .cfg = r->cfg};
	r->rc = opt_defaults(&r->set, 1, e);
	want(r, true, "host", c->host);
	want(r, true, "proto", "iperf3");
	want_number(r, true, "port", (uint64_t)c->port);
	want_times(r, c);
	want_number(r, c->bytes > 0, "bytes", c->bytes);
	want_number(r, c->blocks > 0, "blocks", c->blocks);
	/* A block of nobody's choice: as the other tool has it, where blocks count. */
	want_number(r, c->len || (c->blocks && !c->udp), "length", c->len ? c->len : 131072);
	want_number(r, true, "parallel", (uint64_t)c->parallel);
	want(r, c->reverse, "reverse", "true");
	want(r, c->bidir, "bidir", "true");
	want_rate(r, c);
	want_number(r, c->window > 0, "window", c->window);
	want_number(r, c->tos > 0, "tos", (uint64_t)c->tos);
	want(r, c->v4, "ipv4", "true");
	want(r, c->v6, "ipv6", "true");
	want(r, c->bind != NULL, "bind", c->bind);
	want(r, c->bind_dev != NULL, "bind-dev", c->bind_dev);
	want_number(r, c->cport > 0, "cport", (uint64_t)c->cport);
	want(r, c->rx_trunc, "skip-rx-copy", "true");
	want(r, c->title != NULL, "title", c->title);
	want_transport(r, c);
	if (r->rc >= 0 && r->m->check)
		r->rc = r->m->check(r->cfg, e);
	return r->rc;
}

static void request_fini(struct request *r)
{
	if (r->cfg)
		opt_fini(&r->set, 1);
	free(r->cfg);
}

/* ---- hooks --------------------------------------------------------------------------------- */

static void on_plan(void *arg, struct flow_plan *p)
{
	const struct client *k = arg;

	for (size_t i = 0; i < p->n; i++) {
		struct flow_spec *f = &p->flows[i];

		f->flow_label = (uint32_t)k->c->flow_label;
		f->digits = k->c->digits;
		f->fq_rate_bps = k->c->fq_rate;
		if (f->dir == (k->c->reverse ? NET_DOWN : NET_UP))
			f->file_fd = k->file_fd;
	}
}

static void on_message(void *arg, const char *what, const char *json, size_t n)
{
	struct client *k = arg;

	format_iperf3_message(k->writer, what, json, n);
	i3_out_flush(k->o);
}

static void warn_of_fragments(const struct client *k)
{
	const struct format_iperf3_test *t = &k->test.t;

	if (t->udp && t->mss_now > 0 && t->blksize > t->mss_now)
		dprintf(k->o->err_fd,
			"warning: UDP block size %lld exceeds TCP MSS %lld, may result in "
			"fragmentation / drops\n",
			(long long)t->blksize, (long long)t->mss_now);
}

static void on_greeted(void *arg, struct proto_session *s)
{
	struct client *k = arg;

	i3_test_read(&k->test, s, k->c->host);
	k->test.t.file = k->c->file;
	k->test.t.file_size = k->file_size;
	k->greeted = true;
	warn_of_fragments(k);
	format_iperf3_greeted(k->writer, &k->test.t);
	i3_out_flush(k->o);
}

static void on_opened(void *arg, struct proto_session *s)
{
	struct client *k = arg;

	i3_test_flows(&k->test, s, k->c);
	i3_apply_sockets(k->c, s);
	k->opened = true;
	format_iperf3_opened(k->writer, &k->test.t);
	i3_out_flush(k->o);
}

/* The writer among the run's sinks; it outlives them. */
struct live_sink {
	struct sink sink;
	struct client *k;
};

static void live_none(struct sink *s, const struct model_run *r)
{
	(void)s, (void)r;
}

static void live_event(struct sink *s, const struct model_run *r, const struct model_event *ev)
{
	const struct client *k = ((struct live_sink *)s)->k;
	const struct model_warn *w = model_warn(ev->code);

	(void)r;
	if (k->c->debug)
		i3_complain(k->o, "%s%s%s", w->text, ev->text ? ": " : "",
			    ev->text ? ev->text : "");
}

static void live_sample(struct sink *s, const struct model_run *r, const struct model_tick *t)
{
	const struct client *k = ((struct live_sink *)s)->k;

	k->writer->sample(k->writer, r, t);
	i3_out_flush(k->o);
}

static int live_close(struct sink *s, struct weir_err *e)
{
	(void)e;
	free(s);
	return 0;
}

static struct sink *live_new(struct client *k)
{
	struct live_sink *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->sink = (struct sink){live_none, live_sample, live_event, live_none, live_close};
	l->k = k;
	return &l->sink;
}

/* ---- what is opened before ------------------------------------------------------------------- */

/* The result matters more than its stored copy, and a script's standard error is not ours. */
static void note_not_stored(const struct client *k, const struct weir_err *e)
{
	if (k->c->debug || k->c->verbose)
		fprintf(stderr, "weir: the run is not stored: %s\n", e->msg);
}

static void open_store(struct client *k)
{
	struct cmd_db_cfg db = {.db = k->c->db};
	struct store_cfg cfg = {
		.mode = STORE_WRITE, .cap_bytes = STORE_CAP, .headline = format_headline};
	struct weir_err e = {0};
	char *path;

	if (k->c->no_store || !store_supported())
		return;
	path = cmd_db_path(&db);
	cfg.path = path;
	if (path && store_open(&cfg, &k->store, &e) < 0)
		note_not_stored(k, &e);
	free(path);
}

static int read_tags(struct client *k, struct weir_err *e)
{
	const struct opt_list *l = &k->c->tags;

	k->tags = calloc(l->n ? l->n : 1, sizeof(*k->tags));
	for (size_t i = 0; k->tags && i < l->n; i++) {
		char *eq = strchr(l->v[i], '=');

		if (cmd_tag_check(l->v[i], e) < 0)
			return err_wrap(e, "--tag");
		*eq = '\0';
		k->tags[i] = (struct model_kv){.k = l->v[i], .v = eq + 1};
	}
	return k->tags ? 0 : -ENOMEM;
}

static int open_file(struct client *k, struct weir_err *e)
{
	struct stat st;
	int fd;

	if (!k->c->file)
		return 0;
	fd = k->c->reverse ? open(k->c->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
			   : open(k->c->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_os(e, errno, "unable to open -F file");
	k->file_fd = fd;
	if (!k->c->reverse && !fstat(fd, &st))
		k->file_size = (uint64_t)st.st_size;
	return 0;
}

/* Who has put no password into the environment is asked for it. */
static int open_login(struct client *k, struct weir_err *e)
{
	struct cmd_login login = {
		.user = k->c->username, .key = k->c->public_key, .pkcs1 = k->c->pkcs1};
	char *typed;

	if (!k->c->username)
		return 0;
	if (!getenv("IPERF3_PASSWORD") && !access(k->c->public_key, R_OK)) {
		typed = getpass("Password: ");
		if (!typed)
			return err_set(e, WEIR_USAGE, EINVAL, "there is no password");
		setenv("IPERF3_PASSWORD", typed, 1);
		explicit_bzero(typed, strlen(typed));
	}
	return cmd_login_client(&login, &k->login, e);
}

static int prepare(struct client *k, struct weir_err *e)
{
	int rc = read_tags(k, e);

	if (rc >= 0 && k->c->cc && !net_cc_available(k->c->cc))
		rc = err_set(e, WEIR_USAGE, ENOENT,
			     "unable to set TCP_CONGESTION: Supplied congestion control algorithm "
			     "not supported on this host");
	if (rc >= 0)
		rc = open_file(k, e);
	if (rc >= 0) {
		rc = open_login(k, e);
		k->no_key = rc < 0;
	}
	if (rc >= 0)
		open_store(k);
	k->extra = (struct proto_extra){.arg = k,
					.greeted = on_greeted,
					.opened = on_opened,
					.message = on_message,
					.get_server_output = k->c->server_output,
					.server_affinity = (int)k->c->server_cpu};
	if (k->c->extra_data)
		snprintf(k->extra.extra_data, sizeof(k->extra.extra_data), "%s", k->c->extra_data);
	k->hooks = (struct measure_hooks){.arg = k,
					  .extra = &k->extra,
					  .plan = on_plan,
					  .idle_ns = k->c->rcv_timeout_ms * NSEC_PER_MSEC};
	return rc;
}

static void client_fini(struct client *k)
{
	if (k->file_fd)
		close(k->file_fd);
	proto_login_free(k->login);
	store_close(k->store);
	free(k->tags);
	buf_fini(&k->extra.server_output);
	i3_test_fini(&k->test);
	if (k->writer)
		k->writer->close(k->writer, NULL);
}

/* ---- how it ended -------------------------------------------------------------------------------- */

static void connect_error(const struct client *k, const struct weir_err *e, char *dst, size_t cap)
{
	/* What getaddrinfo(3) could not find has an errno here. */
	const char *why = e->code == ENOENT         ? "Name or service not known"
			  : e->code == EAGAIN       ? "Temporary failure in name resolution"
			  : e->code == EAFNOSUPPORT ? "Address family for hostname not supported"
						    : strerror(e->code);

	snprintf(dst, cap, "unable to connect to server%s: %s",
		 k->c->style == I3_STYLE_321
			 ? " - server may have stopped running or use a different port, firewall "
			   "issue, etc."
			 : "",
		 why);
}

/* What connecting a stream ends with; everything else is the dialogue's. */
static bool is_of_stream(const struct client *k, int code)
{
	static const int codes[] = {ECONNREFUSED, EADDRINUSE,  EADDRNOTAVAIL, EACCES,
				    EHOSTUNREACH, ENETUNREACH, ETIMEDOUT,     EPERM};

	for (size_t i = 0; k->greeted && !k->opened && i < ARRAY_LEN(codes); i++) {
		if (codes[i] == code)
			return true;
	}
	return false;
}

/* What it was, in the words that scripts know; where iperf3 has none, in ours. */
static void describe(const struct client *k, const struct weir_err *e, char *dst, size_t cap)
{
	const char *told = i3_error_words(k->extra.error_code);

	if (told)
		snprintf(dst, cap, "%s", told);
	else if (e->code == EBUSY)
		snprintf(dst, cap, "the server is busy running a test. try again later");
	else if (k->hooks.idle)
		snprintf(dst, cap, "idle timeout for receiving data");
	else if (k->greeted && (e->code == EPIPE || e->code == ECONNRESET))
		snprintf(dst, cap, "control socket has closed unexpectedly");
	else if (e->code == ECONNABORTED)
		snprintf(dst, cap, "the server has terminated");
	else if (k->dialled && !k->greeted && e->domain == WEIR_OS)
		connect_error(k, e, dst, cap);
	else if (k->c->flow_label && e->code == EAFNOSUPPORT)
		snprintf(dst, cap, "unable to set IPv6 flow label");
	else if (is_of_stream(k, e->code))
		snprintf(dst, cap, "unable to connect stream: %s", strerror(e->code));
	else
		snprintf(dst, cap, "%s", e->msg);
}

/* With -J all is in the document; and 3.12 takes what it says there for success. */
static int complain(struct client *k, const char *text)
{
	bool new = k->c->style == I3_STYLE_321 || k->c->stream;

	format_iperf3_error(k->writer, text);
	if (!k->c->json)
		i3_complain(k->o, "error - %s", text);
	return k->c->json && !new ? 0 : 1;
}

static int interrupted(struct client *k)
{
	bool new = k->c->style == I3_STYLE_321;
	int sig = i3_stop_signal(), n;
	char text[120];

	n = snprintf(text, sizeof(text), "interrupt - the client has terminated");
	if (new)
		snprintf(text + n, sizeof(text) - (size_t)n, " by signal %s(%d)", strsignal(sig),
			 sig);
	format_iperf3_error(k->writer, text);
	if (!k->c->json)
		i3_complain(k->o, "%s", text);
	return new ? 0 : 1;
}

/* A run that was cut short has its figures all the same. */
static int ended_early(struct client *k, const struct model_run *run)
{
	struct weir_err e = {.code = EPIPE, .domain = WEIR_PEER};
	bool stopped = i3_event(run, WARN_INTERRUPTED), told = i3_event(run, WARN_PEER_TERMINATED);
	char text[240];

	if (stopped || told || k->c->json)
		format_iperf3_report(k->writer, run);
	i3_out_flush(k->o);
	if (stopped)
		return interrupted(k);
	e.code = told ? ECONNABORTED : EPIPE;
	describe(k, &e, text, sizeof(text));
	return complain(k, text);
}

static int finished(struct client *k, const struct model_run *run)
{
	char failure[200];
	bool whole = run->outcome == OUTCOME_COMPLETE;
	int status = 0;

	if (i3_send_failure(run, failure, sizeof(failure))) {
		if (k->c->json)
			format_iperf3_report(k->writer, run);
		status = complain(k, failure);
		whole = false;
	} else if (whole) {
		format_iperf3_report(k->writer, run);
		format_iperf3_server_output(k->writer, k->extra.server_output.data,
					    k->extra.server_output.len,
					    k->extra.server_output_json);
	} else {
		status = ended_early(k, run);
	}
	format_iperf3_finish(k->writer, whole);
	i3_out_flush(k->o);
	return status;
}

static int failed(struct client *k, const struct weir_err *e)
{
	char text[240];
	int status;

	if (e->code == ECANCELED) {
		status = interrupted(k);
	} else {
		describe(k, e, text, sizeof(text));
		status = complain(k, text);
	}
	format_iperf3_finish(k->writer, false);
	i3_out_flush(k->o);
	return status;
}

/* ---- the test -------------------------------------------------------------------------------------- */

static struct sink *sinks_of(struct client *k)
{
	struct sink *sinks[2] = {live_new(k)};
	size_t n = sinks[0] != NULL;

	if (n && k->store) {
		sinks[n] = store_sink(k->store);
		n += sinks[n] != NULL;
	}
	return n ? sink_tee(sinks, n) : NULL;
}

static int measure(struct client *k, const struct request *r, struct weir_err *e)
{
	struct measure_ctx ctx = {.sink = sinks_of(k),
				  .stop_fd = i3_stop_fd(),
				  .tags = k->tags,
				  .n_tags = k->c->tags.n,
				  .login = k->login,
				  .hooks = &k->hooks};
	struct weir_err stored = {0};
	int rc, status;

	if (!ctx.sink)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	k->dialled = true;
	rc = r->m->run(&ctx, r->cfg, e);
	status = rc < 0 ? failed(k, e) : finished(k, ctx.run);
	if (ctx.sink->close(ctx.sink, &stored) < 0)
		note_not_stored(k, &stored);
	else if (k->store && !store_read_only(k->store))
		store_trim(k->store, NULL);
	model_run_free(ctx.run);
	return status;
}

int i3_client(const struct i3_cfg *c, struct i3_out *o)
{
	struct client k = {.c = c, .o = o, .writer = i3_writer(o, &o->buf)};
	struct request r = {0};
	struct weir_err e = {0};
	struct i3_error pid = {0};
	int rc = k.writer ? prepare(&k, &e) : -ENOMEM, pid_fd = -1;

	if (rc >= 0 && c->pidfile)
		rc = pid_fd = i3_pidfile(c->pidfile, &pid);
	if (rc >= 0) {
		i3_banner(o);
		rc = make_request(&r, &k, &e);
	}
	if (rc >= 0)
		rc = measure(&k, &r, &e);
	else if (pid.text[0])
		rc = i3_fail_early(o, pid.text);
	else if (k.no_key)
		rc = i3_refuse(o, I3_NO_CLIENT_KEY, e.msg);
	else if (k.writer)
		rc = failed(&k, &e);
	i3_pidfile_end(c->pidfile, pid_fd);
	request_fini(&r);
	client_fini(&k);
	return rc < 0 ? 1 : rc;
}
