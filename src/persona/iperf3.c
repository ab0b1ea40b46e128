/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's command, and what its two roles have in common: what they read off a session, the
 * options of sockets, the file with the process's number.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "persona/priv.h"

/* ---- off a session -------------------------------------------------------------------------- */

static int64_t sock_int(int fd, int level, int name)
{
	int v = 0;
	socklen_t n = sizeof(v);

	return getsockopt(fd, level, name, &v, &n) ? 0 : v;
}

void i3_test_read(struct i3_test *t, const struct proto_session *s, const char *host)
{
	const struct flow_plan *p = s->plan;
	const struct flow_spec *f = &p->flows[0];
	size_t up = flow_plan_count(p, NET_UP);
	bool udp = f->transport == NET_UDP;

	memcpy(t->cookie, s->cookie, sizeof(t->cookie));
	t->cookie[sizeof(t->cookie) - 1] = '\0';
	if (host)
		snprintf(t->host, sizeof(t->host), "%s", host);
	else
		net_addr_text(&s->peer_addr, t->host, sizeof(t->host));
	t->t = (struct format_iperf3_test){
		.host = t->host,
		.port = host ? s->port : net_addr_port(&s->peer_addr),
		.cookie = t->cookie,
		.real_ns = clk_real_ns(),
		.udp = udp,
		.reverse = !up,
		.bidir = up && up < p->n,
		.streams = (int64_t)(up && up < p->n ? p->n / 2 : p->n),
		.blksize = f->len ? f->len : 131072,
		.omit_s = p->omit_ns / NSEC_PER_SEC,
		.duration_s = p->duration_ns / NSEC_PER_SEC,
		.tos = f->tos,
		.mss = f->mss,
		.mss_now =
			s->role == PROTO_CLIENT ? sock_int(s->ctl_fd, IPPROTO_TCP, TCP_MAXSEG) : 0,
		.bytes = p->bytes,
		.blocks = p->blocks,
		.rate = f->rate_bps,
		.fq_rate = f->fq_rate_bps,
		.window = f->window,
		.interval_s = (double)p->interval_ns * 1e-9,
	};
}

static void ends_of(int fd, struct format_iperf3_flow *f)
{
	net_sock_end(fd, NET_END_LOCAL, f->local_host, sizeof(f->local_host), &f->local_port);
	net_sock_end(fd, NET_END_PEER, f->remote_host, sizeof(f->remote_host), &f->remote_port);
}

/* iperf3 numbers its rows by descriptors. Scripts look for the ones that it usually has. */
static int usual_number(const struct i3_cfg *c, size_t i)
{
	return (c->style == I3_STYLE_321 && !c->server ? 4 : 5) + 2 * (int)i;
}

void i3_test_flows(struct i3_test *t, const struct proto_session *s, const struct i3_cfg *c)
{
	socklen_t n = sizeof(t->t.cc);

	free(t->flows);
	t->flows = calloc(s->n_fds ? s->n_fds : 1, sizeof(*t->flows));
	t->t.flows = t->flows;
	t->t.n = t->flows ? s->n_fds : 0;
	for (size_t i = 0; i < t->t.n; i++) {
		ends_of(s->fds[i], &t->flows[i]);
		t->flows[i].socket = usual_number(c, i);
	}
	if (!t->t.n)
		return;
	t->t.sndbuf = (uint64_t)sock_int(s->fds[0], SOL_SOCKET, SO_SNDBUF);
	t->t.rcvbuf = (uint64_t)sock_int(s->fds[0], SOL_SOCKET, SO_RCVBUF);
	if (t->t.udp)
		return;
	t->t.data_mss = sock_int(s->fds[0], IPPROTO_TCP, TCP_MAXSEG);
	if (getsockopt(s->fds[0], IPPROTO_TCP, TCP_CONGESTION, t->t.cc, &n))
		t->t.cc[0] = '\0';
	t->t.cc[sizeof(t->t.cc) - 1] = '\0';
}

const struct model_event *i3_event(const struct model_run *run, enum model_warn_code code)
{
	for (size_t i = 0; run && i < run->n_events; i++) {
		if (run->events[i].code == code)
			return &run->events[i];
	}
	return NULL;
}

bool i3_send_failure(const struct model_run *run, char *dst, size_t cap)
{
	const struct model_event *ev = i3_event(run, WARN_SEND_FAILED);
	const char *why = ev && ev->text ? strstr(ev->text, ": ") : NULL;

	if (ev)
		snprintf(dst, cap, "unable to write to stream socket%s", why ? why : "");
	return ev;
}

/* What servers tell by number, in the words that a client has for it. */
const char *i3_error_words(int code)
{
	static const struct {
		int code;
		const char *text;
	} words[] = {
		{6, "number of parallel streams too large (maximum = 128)"},
		{7, "block size too large (maximum = 1048576 bytes)"},
		{27, "total required bandwidth is larger than server limit"},
		{37, "client's requested duration exceeds the server's maximum permitted limit"},
		{114, "unable to receive parameters from client"},
		{119, "the client has terminated"},
		{120, "the server has terminated"},
		{121, "the server is busy running a test. try again later"},
		{127, "unable to set IPv6 flow label"},
		{134, "unable to set TCP_CONGESTION: Supplied congestion control algorithm not "
		      "supported on this host"},
		{141, "socket buffer size not set correctly"},
		{142, "test authorization failed"},
		{144, "idle timeout for receiving data"},
		{160, "server test duration expired"},
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i].code == code)
			return words[i].text;
	}
	return NULL;
}

void i3_test_fini(struct i3_test *t)
{
	free(t->flows);
	t->flows = NULL;
}

/* ---- sockets, CPUs, the process's number ----------------------------------------------------- */

static void set_tcp(int fd, int name, int64_t value)
{
	int v = (int)value;

	if (value > 0)
		setsockopt(fd, IPPROTO_TCP, name, &v, sizeof(v));
}

void i3_apply_sockets(const struct i3_cfg *c, const struct proto_session *s)
{
	bool tcp = s->plan->n && s->plan->flows[0].transport == NET_TCP;

	if (c->keepalive) {
		set_tcp(s->ctl_fd, TCP_KEEPIDLE, c->keep_idle);
		set_tcp(s->ctl_fd, TCP_KEEPINTVL, c->keep_interval);
		set_tcp(s->ctl_fd, TCP_KEEPCNT, c->keep_count);
	}
	set_tcp(s->ctl_fd, TCP_USER_TIMEOUT, c->snd_timeout_ms);
	for (size_t i = 0; tcp && i < s->n_fds; i++)
		set_tcp(s->fds[i], TCP_USER_TIMEOUT, c->snd_timeout_ms);
}

int i3_pin(int64_t cpu)
{
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return cpu < 0 ? 0 : -EINVAL;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static pid_t pid_in(const char *file)
{
	char text[32] = "";
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (pid_t)atol(text) : 0;
}

int i3_pidfile(const char *file, struct i3_error *e)
{
	pid_t other = pid_in(file);
	char text[32];
	int fd, n;

	if (other > 0 && other != getpid() && (!kill(other, 0) || errno == EPERM)) {
		snprintf(e->text, sizeof(e->text),
			 "another instance of iperf3 appears to be running (%.100s: %d)", file,
			 (int)other);
		return -EEXIST;
	}
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (fd < 0 || write(fd, text, (size_t)n) != n) {
		snprintf(e->text, sizeof(e->text), "unable to write PID file: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -EIO;
	}
	return fd;
}

void i3_pidfile_end(const char *file, int fd)
{
	if (fd < 0)
		return;
	if (unlink(file))
		(void)!ftruncate(fd, 0);
	close(fd);
}

/* ---- the command ------------------------------------------------------------------------------- */

void i3_error_document(struct i3_out *o, const char *text)
{
	struct sink *w = o->c->json ? i3_writer(o, &o->buf) : NULL;

	if (!w)
		return;
	format_iperf3_error(w, text);
	format_iperf3_finish(w, false);
	w->close(w, NULL);
	i3_out_flush(o);
}

int i3_fail_early(struct i3_out *o, const char *text)
{
	i3_complain(o, "error - %s", text);
	i3_error_document(o, text);
	return 1;
}

int i3_refuse(struct i3_out *o, const char *text, const char *more)
{
	bool new = o->c->style == I3_STYLE_321;

	if (more)
		i3_complain(o, "%s", more);
	i3_complain(o, "parameter error - %s\n", text);
	if (o->c->json)
		i3_error_document(o, text);
	else
		i3_usage(o->c, new ? STDERR_FILENO : STDOUT_FILENO);
	return 1;
}

static int refuse(const struct i3_cfg *c, const struct i3_error *e)
{
	struct i3_out o = {.c = c, .fd = STDOUT_FILENO, .err_fd = STDERR_FILENO};

	i3_system_info(o.system_info, sizeof(o.system_info));
	if (e->told) {
		i3_usage(NULL, STDERR_FILENO);
		i3_error_document(&o, "unrecognized option");
	} else {
		i3_refuse(&o, e->text, NULL);
	}
	i3_out_close(&o);
	return 1;
}

static int run_role(const struct i3_cfg *c)
{
	struct i3_error e = {0};
	struct i3_out o;
	int rc = i3_out_open(&o, c, &e), status;

	if (rc >= 0 && c->cpu >= 0 && i3_pin(c->cpu) < 0) {
		snprintf(e.text, sizeof(e.text), "unable to set CPU affinity: %s", strerror(errno));
		rc = -EINVAL;
	}
	if (rc < 0) {
		status = i3_fail_early(&o, e.text);
		if (c->server)
			i3_complain(&o, "exiting");
	} else {
		status = c->server ? i3_server(c, &o) : i3_client(c, &o);
	}
	i3_out_close(&o);
	return status;
}

static int run(int argc, char **argv)
{
	struct i3_cfg c;
	struct i3_error e;
	int rc = i3_parse(&c, argc, argv, &e), status;

	if (rc < 0)
		status = refuse(&c, &e);
	else if (c.help)
		status = i3_usage(&c, STDOUT_FILENO);
	else if (c.version)
		status = i3_print_version(&c);
	else
		status = run_role(&c);
	i3_cfg_fini(&c);
	return status;
}

const struct persona persona_iperf3 = {
	.name = "iperf3",
	.summary = "iperf3's command line, text and JSON, client and server",
	.sets = i3_sets,
	.n_sets = 4,
	.run = run,
};
