/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir serve: answers weir, iperf3, iperf 2 and nttcp clients until it is told to stop. Log lines go to standard
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

#define PSK_MAX         4096
#define LISTEN_FD_FIRST 3 /* of socket activation */

struct serve_opts {
	int64_t port, iperf2_port, nttcp_port, tests, per_network, max_flows, max_time_ns, grace_ns,
		pending, pending_ns, queue, queue_ns, skew_ns;
	uint64_t max_rate, memory;
	char *bind, *psk_file, *user, *config, *key, *users, *runtime_dir;
	bool iperf2, nttcp, v4, v6, public_mode, one_off, exclusive, pkcs1, status, json;
	int log, facts;
	struct opt_list allow, deny;
};

static const char *const log_forms[] = {"text", "json", NULL};
static const char *const facts_told[] = {"few", "set", "all", NULL}; /* enum measure_facts */

#define F(field) offsetof(struct serve_opts, field)
/* clang-format off */
static const struct opt serve_rows[] = {
	{.name = "port", .letter = 'p', .type = OPT_INT, .offset = F(port), .metavar = "PORT", .help = "TCP port to listen on", .min = 1, .max = 65535, .fallback = "5201"},
	{.name = "iperf2-port", .type = OPT_INT, .offset = F(iperf2_port), .metavar = "PORT", .help = "TCP and UDP port for iperf 2 and plain streams (ttcp, netcat); 0 = none; none with --public or logins", .max = 65535, .fallback = "5001"},
	{.name = "iperf2", .type = OPT_FLAG, .offset = F(iperf2), .help = "answer iperf 2", .fallback = "true"},
	{.name = "nttcp-port", .type = OPT_INT, .offset = F(nttcp_port), .metavar = "PORT", .help = "control port for nttcp (data ports from 5038 on); 0 = none; none with --public or logins", .max = 65535, .fallback = "5037"},
	{.name = "nttcp", .type = OPT_FLAG, .offset = F(nttcp), .help = "answer nttcp", .fallback = "true"},
	{.name = "bind", .letter = 'B', .type = OPT_STR, .offset = F(bind), .metavar = "ADDRESS", .help = "listen on this address only"},
	{.name = "version4", .letter = '4', .type = OPT_FLAG, .offset = F(v4), .help = "IPv4 only"},
	{.name = "version6", .letter = '6', .type = OPT_FLAG, .offset = F(v6), .help = "IPv6 only"},
	{.name = "allow", .type = OPT_LIST, .offset = F(allow), .metavar = "PREFIX", .help = "serve these addresses too, beside private and on-link ones"},
	{.name = "deny", .type = OPT_LIST, .offset = F(deny), .metavar = "PREFIX", .help = "never serve these addresses, whatever --allow and --public say"},
	{.name = "public", .type = OPT_FLAG, .offset = F(public_mode), .help = "serve everybody: 16 tests at once, 4 of one network, 32 flows, 60 s"},
	{.name = "facts", .type = OPT_ENUM, .offset = F(facts), .metavar = "WHICH", .help = "what native clients are told of this host, and store: few (kernel, processor, memory), set (also how it is set: the interface towards them, sysctls, governor), all (also modules, services, packet filters)", .fallback = "set", .choices = facts_told},
	{.name = "exclusive", .type = OPT_FLAG, .offset = F(exclusive), .help = "one test at a time; other clients wait for their turn, in order of arrival"},
	{.name = "one-off", .letter = '1', .type = OPT_FLAG, .offset = F(one_off), .help = "end after one test that ran"},
	{.name = "log", .type = OPT_ENUM, .offset = F(log), .metavar = "FORM", .help = "form of the log lines", .fallback = "text", .choices = log_forms},
	{.name = "psk-file", .type = OPT_STR, .offset = F(psk_file), .flags = OPT_FILE, .metavar = "FILE", .help = "file with the pre-shared key that weir clients must know (or WEIR_PSK); iperf3 clients are served without"},
	{.name = "user", .type = OPT_STR, .offset = F(user), .metavar = "USER", .help = "become USER once it listens; as root, weir or nobody by default"},
	{.name = "tests", .type = OPT_INT, .offset = F(tests), .metavar = "N", .help = "tests at once; 0 = 64 (16 with --public)", .max = 4096, .fallback = "0"},
	{.name = "per-network", .type = OPT_INT, .offset = F(per_network), .metavar = "N", .help = "tests at once of one IPv4 address or IPv6 /64; 0 = any (4 with --public)", .max = 4096, .fallback = "0"},
	{.name = "max-flows", .type = OPT_INT, .offset = F(max_flows), .metavar = "N", .help = "flows of a test in each direction; 0 = 1024 (32 with --public)", .max = FLOW_MAX / 2, .fallback = "0"},
	{.name = "max-time", .type = OPT_TIME, .offset = F(max_time_ns), .metavar = "TIME", .help = "longest test, and no endless ones; 0 = any (60 with --public)", .fallback = "0"},
	{.name = "max-rate", .type = OPT_RATE, .offset = F(max_rate), .metavar = "RATE", .help = "a test's rate, all flows and both directions together: clients that ask for more are refused or slowed, a test that moves more over 5 s is ended; 0 = any", .fallback = "0"},
	{.name = "memory", .type = OPT_SIZE, .offset = F(memory), .metavar = "SIZE", .help = "for the windows that clients ask for, all tests together; 0 = 1G", .fallback = "0"},
	{.name = "pending", .type = OPT_INT, .offset = F(pending), .metavar = "N", .help = "connections that have not said yet what they are; 0 = 2048", .max = 65536, .fallback = "0"},
	{.name = "pending-time", .type = OPT_TIME, .offset = F(pending_ns), .metavar = "TIME", .help = "how long they have for it; 0 = 10 s", .max = 600 * NSEC_PER_SEC, .fallback = "0"},
	{.name = "queue", .type = OPT_INT, .offset = F(queue), .metavar = "N", .help = "clients that wait with --exclusive; 0 = 16", .max = 4096, .fallback = "0"},
	{.name = "queue-time", .type = OPT_TIME, .offset = F(queue_ns), .metavar = "TIME", .help = "how long they wait at most; 0 = 10 minutes", .fallback = "0"},
	{.name = "rsa-private-key-path", .type = OPT_STR, .offset = F(key), .flags = OPT_FILE, .metavar = "FILE", .help = "iperf3 clients must log in: this server's private key (PEM)"},
	{.name = "authorized-users-path", .type = OPT_STR, .offset = F(users), .flags = OPT_FILE, .metavar = "FILE", .help = "who may: lines NAME,HASH as iperf3 has them; read once at the start"},
	{.name = "time-skew-threshold", .type = OPT_TIME, .offset = F(skew_ns), .metavar = "TIME", .help = "how far a login's clock may differ", .max = 3600 * NSEC_PER_SEC, .fallback = "10"},
	{.name = "use-pkcs1-padding", .type = OPT_FLAG, .offset = F(pkcs1), .help = "logins of iperf3 before 3.17, and only those"},
	{.name = "grace", .type = OPT_TIME, .offset = F(grace_ns), .metavar = "TIME", .help = "when told to stop, let running tests go on for this long", .fallback = "5"},
	{.name = "config", .type = OPT_STR, .offset = F(config), .flags = OPT_FILE, .metavar = "FILE", .help = "lines NAME = VALUE with these options' names; the command line goes first"},
	{.name = "runtime-dir", .type = OPT_STR, .offset = F(runtime_dir), .flags = OPT_FILE, .metavar = "DIR", .help = "folder for the socket that --status asks; /run/weir-serve as root, else $XDG_RUNTIME_DIR/weir"},
	{.name = "status", .type = OPT_FLAG, .offset = F(status), .help = "ask the running server who is being served, and end"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "the answer to --status as JSON"},
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

static void on_warn(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "weir: %s\n", text);
}

static void on_ready(void *arg, const char *where)
{
	(void)arg;
	fprintf(stderr, "weir %s serving iperf3 and weir clients on %s\n", weir_version, where);
}

/* ---- the configuration ---- */

static int parse_prefixes(const char *option, const struct opt_list *l, struct net_prefix **out,
			  struct weir_err *e)
{
	struct net_prefix *p = calloc(l->n + 1, sizeof(*p));
	int r = p ? 0 : err_os(e, ENOMEM, "--%s", option);

	for (size_t i = 0; r >= 0 && i < l->n; i++) {
		r = net_prefix_parse(l->v[i], &p[i], e);
		if (r < 0)
			err_wrap(e, "--%s", option);
	}
	*out = p;
	return r;
}

/* An empty key would open what somebody meant to close. */
static int read_psk(const char *file, char dst[PSK_MAX], struct weir_err *e)
{
	const char *env = getenv("WEIR_PSK");
	int r = 0;

	if (file)
		r = cmd_read_secret(file, dst, PSK_MAX, e);
	else if (env && strlen(env) >= PSK_MAX)
		r = err_set(e, WEIR_USAGE, E2BIG, "WEIR_PSK: the key has more than %d bytes",
			    PSK_MAX - 1);
	else if (env)
		memcpy(dst, env, strlen(env) + 1);
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

static struct serve_cfg config(const struct serve_opts *o)
{
	return (struct serve_cfg){
		.bind_host = o->bind,
		.family = o->v4   ? AF_INET
			  : o->v6 ? AF_INET6
				  : AF_UNSPEC,
		.port = (uint16_t)o->port,
		.n_allow = o->allow.n,
		.n_deny = o->deny.n,
		.public_mode = o->public_mode,
		.one_off = o->one_off,
		.exclusive = o->exclusive,
		.facts_told = o->facts,
		.log_json = o->log == 1,
		.limits = {.tests = (size_t)o->tests,
			   .per_prefix = (size_t)o->per_network,
			   .flows = (size_t)o->max_flows,
			   .duration_ns = o->max_time_ns,
			   .rate_bps = o->max_rate,
			   .pending = (size_t)o->pending,
			   .pending_ns = o->pending_ns,
			   .memory_bytes = o->memory,
			   .queue = (size_t)o->queue,
			   .queue_ns = o->queue_ns},
		.user = o->user,
		.grace_ns = o->grace_ns,
		.log = on_log,
		.warn = on_warn,
		.ready = on_ready,
	};
}

/* Whom anybody may be, and whoever must log in, gets neither. */
static void add_others(const struct serve_opts *o, struct serve_cfg *cfg)
{
	const struct {
		const char *name;
		int64_t port;
	} rows[] = {{"iperf2", o->iperf2 ? o->iperf2_port : 0},
		    {"nttcp", o->nttcp ? o->nttcp_port : 0}};

	for (size_t i = 0; i < ARRAY_LEN(rows) && !o->public_mode && !o->key; i++) {
		if (rows[i].port)
			cfg->others[cfg->n_others++] = (struct serve_port){proto_find(rows[i].name),
									   (uint16_t)rows[i].port};
	}
}

static int check(const struct serve_opts *o, struct weir_err *e)
{
	if (o->v4 && o->v6)
		return err_set(e, WEIR_USAGE, EINVAL, "-4 and -6 exclude each other");
	if (o->exclusive && o->tests > 1)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--exclusive: one test at a time, so --tests %lld is no use",
			       (long long)o->tests);
	return 0;
}

/* ---- the runtime folder ---- */

/* A service manager's, the system's, the user's; NULL when there is none. The caller frees. */
static char *runtime_dir(const struct serve_opts *o)
{
	const char *managed = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
	struct buf b = {0};

	if (o->runtime_dir)
		buf_puts(&b, o->runtime_dir);
	else if (managed && managed[0] == '/')
		buf_put(&b, managed, strcspn(managed, ":"));
	else if (geteuid() == 0)
		buf_puts(&b, "/run/weir-serve");
	else if (user && user[0] == '/')
		buf_printf(&b, "%s/weir", user);
	else
		return NULL;
	return buf_take(&b);
}

/* Only a folder that somebody named must work: a server without --status still serves. */
static int open_status(const struct serve_opts *o, const char *dir, int *fd, struct weir_err *e)
{
	struct weir_err mine = {0};
	int r = dir ? serve_status_listen(dir, &mine) : -ENOENT;

	*fd = r < 0 ? 0 : r;
	if (r >= 0 || !o->runtime_dir)
		return 0;
	if (e)
		*e = mine;
	return err_wrap(e, "--runtime-dir");
}

/* ---- asking a running server ---- */

struct asked {
	bool json;
	size_t n;
	struct buf out;
};

static double number(const struct js *o, const char *key)
{
	double v = 0;

	js_f64(js_get(o, key), &v);
	return v;
}

static const char *text(const struct js *o, const char *key, char dst[SAFE_MAX])
{
	size_t n = 0;
	const char *s = js_str(js_get(o, key), &n);

	safe_str(dst, SAFE_MAX, s ? s : "", s ? n : 0);
	return dst;
}

static void print_peers(struct buf *b, const struct js *list, bool waiting)
{
	char peer[SAFE_MAX], proto[SAFE_MAX], stage[SAFE_MAX];

	for (size_t i = 0; i < js_len(list); i++) {
		const struct js *t = js_at(list, i);

		buf_printf(b, "  %-40s port %5.0f  ", text(t, "peer", peer), number(t, "port"));
		if (waiting)
			buf_printf(b, "waits for its turn, %.1f s\n", number(t, "seconds"));
		else
			buf_printf(b, "%s, %s, %.1f s, %.0f data connections\n",
				   text(t, "protocol", proto), text(t, "stage", stage),
				   number(t, "seconds"), number(t, "flows"));
	}
}

static void print_server(struct buf *b, const struct js *s)
{
	char version[SAFE_MAX], where[SAFE_MAX];
	bool stopping = false;

	js_bool(js_get(s, "stopping"), &stopping);
	buf_printf(b, "weir %s, process %.0f, on %s for %.0f s%s\n", text(s, "version", version),
		   number(s, "pid"), text(s, "listens", where), number(s, "seconds"),
		   stopping ? ", is about to stop" : "");
	buf_printf(b,
		   "  %.0f of %.0f tests, %.0f clients wait, %.0f connections not told yet; "
		   "%.0f tests ended, %.0f peers refused\n",
		   number(s, "tests_now"), number(s, "tests_at_once"), number(s, "waiting_now"),
		   number(s, "pending"), number(s, "tests_ended"), number(s, "refused"));
	print_peers(b, js_get(s, "tests"), false);
	print_peers(b, js_get(s, "waiting"), true);
}

static void on_answer(void *arg, const char *json, size_t n)
{
	struct asked *a = arg;
	struct js_doc *doc = NULL;

	if (js_parse(json, n, &js_limits_file, &doc, NULL) < 0)
		return;
	if (a->json) {
		buf_puts(&a->out, a->n ? "," : "");
		js_dump(js_root(doc), &a->out);
	} else {
		print_server(&a->out, js_root(doc));
	}
	a->n++;
	js_free(doc);
}

static int show_status(const struct serve_opts *o, struct weir_err *e)
{
	struct asked a = {.json = o->json};
	char *dir = runtime_dir(o);
	int r = 0;

	if (!dir) {
		err_set(e, WEIR_USAGE, ENOENT, "no folder to look for servers in");
		return err_hint(e, "--runtime-dir DIR, or XDG_RUNTIME_DIR in the environment");
	}
	if (o->json)
		buf_puts(&a.out, "{\"servers\":[");
	r = serve_status_ask(dir, on_answer, &a, e);
	if (r >= 0 && o->json)
		buf_puts(&a.out, "]}\n");
	if (r >= 0 && (a.n || o->json) && !cmd_flush(&a.out))
		r = err_set(e, WEIR_OS, EIO, "the output was not written");
	if (r >= 0 && !a.n)
		r = err_set(e, WEIR_OS, ENOENT, "no server of this user runs (%.120s)", dir);
	buf_fini(&a.out);
	free(dir);
	return r < 0 ? r : 0;
}

/* ---- serving ---- */

/* What is read here needs the privileges that the server is about to give up. */
static int with_secrets(const struct serve_opts *o, struct serve_cfg *cfg, struct weir_err *e)
{
	struct proto_login *login = NULL;
	char psk[PSK_MAX] = "";
	struct buf facts = {0};
	int r = read_psk(o->psk_file, psk, e);

	if (r >= 0)
		r = cmd_login_server(o->key, o->users, o->skew_ns, o->pkcs1, &login, e);
	if (r >= 0) {
		host_facts(&facts, NULL);
		cfg->facts = facts.data;
		cfg->psk = psk[0] ? psk : NULL;
		cfg->login = login;
		r = serve_run(cfg, e);
	}
	buf_fini(&facts);
	proto_login_free(login);
	explicit_bzero(psk, sizeof(psk));
	return r;
}

static int serve(const struct serve_opts *o, struct serve_cfg *cfg, struct weir_err *e)
{
	char *dir = runtime_dir(o);
	int r = activated_fd(e);

	cfg->listen_fd = r;
	r = r < 0 && r != -ENOENT ? r : check_activated(r, e);
	if (r >= 0)
		r = open_status(o, dir, &cfg->status_fd, e);
	if (r >= 0) {
		cfg->stop_fd = cmd_stop_fd();
		r = with_secrets(o, cfg, e);
	}
	if (cfg->status_fd > 0) {
		close(cfg->status_fd);
		serve_status_unlink(dir);
	}
	free(dir);
	return r;
}

static int run(void *opts)
{
	const struct serve_opts *o = opts;
	struct net_prefix *allow = NULL, *deny = NULL;
	struct serve_cfg cfg = config(o);
	struct log log = {.json = cfg.log_json};
	struct weir_err e = {0};
	int r = check(o, &e);

	if (r >= 0)
		r = parse_prefixes("allow", &o->allow, &allow, &e);
	if (r >= 0)
		r = parse_prefixes("deny", &o->deny, &deny, &e);
	cfg.allow = allow;
	cfg.deny = deny;
	cfg.arg = &log;
	add_others(o, &cfg);
	if (r >= 0)
		r = o->status ? show_status(o, &e) : serve(o, &cfg, &e);
	free(allow);
	free(deny);
	return r < 0 ? cmd_fail("serve", &e) : CMD_OK;
}

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "answer weir, iperf3, iperf 2 and nttcp clients",
	.usage = "",
	.opts = serve_rows,
	.n_opts = ARRAY_LEN(serve_rows),
	.cfg_size = sizeof(struct serve_opts),
	.config = F(config),
	.run = run,
};
