/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir serve: answers iperf3 and weir clients until it is told to stop. Log lines go to standard
 * output, one a test; what people need to know once goes to standard error.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "host/host.h"
#include "serve/serve.h"
#include "sys/sys.h"

#define PSK_MAX         4096
#define LISTEN_FD_FIRST 3 /* of socket activation */

struct serve_opts {
	int64_t port, tests, max_flows, max_time_ns, grace_ns;
	char *bind, *psk_file, *user;
	bool v4, v6, public_mode, one_off;
	int log;
	struct opt_list allow;
};

static const char *const log_forms[] = {"text", "json", NULL};

#define F(field) offsetof(struct serve_opts, field)
/* clang-format off */
static const struct opt serve_rows[] = {
	{.name = "port", .letter = 'p', .type = OPT_INT, .offset = F(port), .metavar = "PORT", .help = "TCP port to listen on", .min = 1, .max = 65535, .fallback = "5201"},
	{.name = "bind", .letter = 'B', .type = OPT_STR, .offset = F(bind), .metavar = "ADDRESS", .help = "listen on this address only"},
	{.name = "version4", .letter = '4', .type = OPT_FLAG, .offset = F(v4), .help = "IPv4 only"},
	{.name = "version6", .letter = '6', .type = OPT_FLAG, .offset = F(v6), .help = "IPv6 only"},
	{.name = "allow", .type = OPT_LIST, .offset = F(allow), .metavar = "PREFIX", .help = "serve these addresses too, beside private and on-link ones (repeatable)"},
	{.name = "public", .type = OPT_FLAG, .offset = F(public_mode), .help = "serve everybody: 16 tests at once, 4 of one network, 32 flows, 60 s"},
	{.name = "one-off", .letter = '1', .type = OPT_FLAG, .offset = F(one_off), .help = "end after one test that ran"},
	{.name = "log", .type = OPT_ENUM, .offset = F(log), .metavar = "FORM", .help = "form of the log lines", .fallback = "text", .choices = log_forms},
	{.name = "psk-file", .type = OPT_STR, .offset = F(psk_file), .flags = OPT_FILE, .metavar = "FILE", .help = "file with the pre-shared key that weir clients must know (or WEIR_PSK)"},
	{.name = "user", .type = OPT_STR, .offset = F(user), .metavar = "USER", .help = "become USER once it listens; as root, weir or nobody by default"},
	{.name = "tests", .type = OPT_INT, .offset = F(tests), .metavar = "N", .help = "tests at once; 0 = 64 (16 with --public)", .max = 4096, .fallback = "0"},
	{.name = "max-flows", .type = OPT_INT, .offset = F(max_flows), .metavar = "N", .help = "flows of a test in each direction; 0 = 1024 (32 with --public)", .max = FLOW_MAX / 2, .fallback = "0"},
	{.name = "max-time", .type = OPT_TIME, .offset = F(max_time_ns), .metavar = "TIME", .help = "longest test, and no endless ones; 0 = any (60 with --public)", .fallback = "0"},
	{.name = "grace", .type = OPT_TIME, .offset = F(grace_ns), .metavar = "TIME", .help = "when told to stop, let running tests go on for this long", .fallback = "5"},
};
/* clang-format on */

/* ---- the log ---- */

/* A reader that does not read must not stop the server: lines are dropped, counted and owned up
 * to. A line fits into a pipe's guaranteed room. */
struct log {
	bool json;
	unsigned long lost;
};

static bool log_write(const char *text)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
	struct buf b = {0};
	bool ok;

	if (poll(&p, 1, 0) < 1 || !(p.revents & POLLOUT))
		return false;
	buf_puts(&b, text);
	buf_putc(&b, '\n');
	ok = cmd_flush(&b);
	buf_fini(&b);
	return ok;
}

static void on_log(void *arg, const char *line)
{
	struct log *l = arg;
	char lost[64];

	if (l->lost) {
		snprintf(lost, sizeof(lost), l->json ? "{\"lost_lines\":%lu}" : "%lu lines lost",
			 l->lost);
		if (log_write(lost))
			l->lost = 0;
	}
	l->lost += !log_write(line);
}

static void on_ready(void *arg, const char *where)
{
	(void)arg;
	fprintf(stderr, "weir %s serving iperf3 and weir clients on %s\n", weir_version, where);
}

/* ---- the configuration ---- */

static int parse_allow(const struct opt_list *l, struct net_prefix **out, struct weir_err *e)
{
	struct net_prefix *p = calloc(l->n + 1, sizeof(*p));
	int r = p ? 0 : err_os(e, ENOMEM, "--allow");

	for (size_t i = 0; r >= 0 && i < l->n; i++) {
		r = net_prefix_parse(l->v[i], &p[i], e);
		if (r < 0)
			err_wrap(e, "--allow");
	}
	*out = p;
	return r;
}

/* An empty key would open what somebody meant to close. */
static int read_psk(const char *file, char dst[PSK_MAX], struct weir_err *e)
{
	const char *env = getenv("WEIR_PSK");
	struct buf b = {0};
	int r = 0;

	if (file) {
		r = sys_read_file(file, PSK_MAX - 1, &b, e);
		if (r >= 0)
			snprintf(dst, PSK_MAX, "%.*s", b.data ? (int)strcspn(b.data, "\r\n") : 0,
				 b.data ? b.data : "");
		if (b.data)
			explicit_bzero(b.data, b.len);
		buf_fini(&b);
	} else if (env) {
		snprintf(dst, PSK_MAX, "%s", env);
	}
	if (r >= 0 && !dst[0] && (file || env))
		return err_set(e, WEIR_USAGE, EINVAL, "%s%s: the key is empty",
			       file ? "--psk-file " : "WEIR_PSK", file ? file : "");
	return r;
}

static bool env_is(const char *name, long value)
{
	const char *s = getenv(name);
	char *end;

	return s && *s && strtol(s, &end, 10) == value && !*end;
}

/* Socket activation (sd_listen_fds(3)): a listening socket as descriptor 3, if it is meant for
 * this process. */
static int activated_fd(struct weir_err *e)
{
	const char *n = getenv("LISTEN_FDS");
	int fd = -1;

	if (n && env_is("LISTEN_PID", getpid())) {
		if (!env_is("LISTEN_FDS", 1))
			return err_set(e, WEIR_USAGE, EINVAL,
				       "socket activation gives %.20s sockets, not 1", n);
		fd = LISTEN_FD_FIRST;
	}
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	return fd < 0 ? -ENOENT : fd;
}

static int check_activated(int fd, struct weir_err *e)
{
	int listens = 0;
	socklen_t n = sizeof(listens);

	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) || !listens)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "descriptor %d of socket activation is not a listening socket", fd);
	return 0;
}

static struct serve_cfg config(const struct serve_opts *o, const struct net_prefix *allow)
{
	return (struct serve_cfg){
		.bind_host = o->bind,
		.family = o->v4   ? AF_INET
			  : o->v6 ? AF_INET6
				  : AF_UNSPEC,
		.port = (uint16_t)o->port,
		.allow = allow,
		.n_allow = o->allow.n,
		.public_mode = o->public_mode,
		.one_off = o->one_off,
		.log_json = o->log == 1,
		.limits = {.tests = (size_t)o->tests,
			   .flows = (size_t)o->max_flows,
			   .duration_ns = o->max_time_ns},
		.user = o->user,
		.grace_ns = o->grace_ns,
		.log = on_log,
		.ready = on_ready,
	};
}

static int serve(const struct serve_opts *o, const struct net_prefix *allow, struct weir_err *e)
{
	struct serve_cfg cfg = config(o, allow);
	struct log log = {.json = cfg.log_json};
	char psk[PSK_MAX] = "";
	struct buf facts = {0};
	int r;

	if (o->v4 && o->v6)
		return err_set(e, WEIR_USAGE, EINVAL, "-4 and -6 exclude each other");
	cfg.listen_fd = activated_fd(e);
	r = cfg.listen_fd < 0 && cfg.listen_fd != -ENOENT ? cfg.listen_fd
							  : check_activated(cfg.listen_fd, e);
	if (r >= 0)
		r = read_psk(o->psk_file, psk, e);
	if (r >= 0) {
		host_facts(&facts, NULL);
		cfg.facts = facts.data;
		cfg.psk = psk[0] ? psk : NULL;
		cfg.stop_fd = cmd_stop_fd();
		cfg.arg = &log;
		r = serve_run(&cfg, e);
	}
	buf_fini(&facts);
	explicit_bzero(psk, sizeof(psk));
	return r;
}

static int run(void *cfg)
{
	const struct serve_opts *o = cfg;
	struct net_prefix *allow = NULL;
	struct weir_err e = {0};
	int r = parse_allow(&o->allow, &allow, &e);

	if (r >= 0)
		r = serve(o, allow, &e);
	free(allow);
	return r < 0 ? cmd_fail("serve", &e) : CMD_OK;
}

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "answer iperf3 and weir clients",
	.usage = "",
	.opts = serve_rows,
	.n_opts = ARRAY_LEN(serve_rows),
	.cfg_size = sizeof(struct serve_opts),
	.run = run,
};
