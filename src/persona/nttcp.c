/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nttcp's command line: this end's options, a host, and behind it options of the other end alone. Its
 * rows are made of what weir has measured.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host.h"
#include "persona/priv.h"
#include "serve/serve.h"
#include "sys/sys.h"

#define PORT      5037
#define LINES     30 /* characters of a line of the other end's, as nttcp cuts it */
#define WORDS     64
#define ANSWER_NS (10 * NSEC_PER_SEC)
#define REMOTES   1000

enum { EXIT_USAGE = 1, EXIT_ACCEPT = 9, EXIT_CONNECT = 10, EXIT_PORT = 15 };

struct cfg {
	bool transmit, title, udp, nodelay, daemon, verbose, version, help, l_given, n_given;
	int64_t port, len, count, total, gap_us, window_kib, pid_calls;
	const char *format, *host, *absent;
	char remote[REMOTES];
};

/* Of documents alone: the letters are getopt's. */
/* clang-format off */
static const struct opt rows[] = {
	{.name = "transmit", .letter = 't', .type = OPT_FLAG, .help = "this end sends (the default)"},
	{.name = "receive", .letter = 'r', .type = OPT_FLAG, .help = "the other end sends"},
	{.name = "title", .letter = 'T', .type = OPT_FLAG, .help = "a line with the columns' names"},
	{.name = "buflen", .letter = 'l', .type = OPT_INT, .metavar = "N", .help = "bytes of a buffer (4096)"},
	{.name = "bufcnt", .letter = 'n', .type = OPT_INT, .metavar = "N", .help = "buffers (2048)"},
	{.name = "total", .letter = 'x', .type = OPT_INT, .metavar = "N", .help = "bytes in all: the other of -l and -n follows"},
	{.name = "udp", .letter = 'u', .type = OPT_FLAG, .help = "UDP"},
	{.name = "gap", .letter = 'g', .type = OPT_INT, .metavar = "US", .help = "microseconds between datagrams"},
	{.name = "nodelay", .letter = 'D', .type = OPT_FLAG, .help = "TCP_NODELAY at the sender"},
	{.name = "debug", .letter = 'd', .type = OPT_FLAG, .help = "SO_DEBUG: no effect here"},
	{.name = "window", .letter = 'w', .type = OPT_INT, .metavar = "KIB", .help = "socket buffers of this end"},
	{.name = "format", .letter = 'f', .type = OPT_STR, .metavar = "FORMAT", .help = "of the rows: %[width][.precision]TAG; see weir-nttcp(1)"},
	{.name = "port", .letter = 'p', .type = OPT_INT, .metavar = "N", .help = "control port (5037)"},
	{.name = "daemon", .letter = 'i', .type = OPT_FLAG, .help = "serve; from inetd by itself"},
	{.name = "verbose", .letter = 'v', .type = OPT_FLAG, .help = "more words"},
	{.name = "version", .letter = 'V', .type = OPT_FLAG, .help = "which one this is"},
	{.name = "compare", .letter = 'c', .type = OPT_FLAG, .help = "not here: the pattern is nttcp's own"},
	{.name = "stream", .letter = 's', .type = OPT_FLAG, .help = "not here: the same"},
	{.name = "seed", .letter = 'S', .type = OPT_STR, .metavar = "TEXT", .help = "not here: the same"},
	{.name = "pid-rate", .letter = 'R', .type = OPT_INT, .metavar = "N", .help = "time N getpid() at both ends, send nothing"},
	{.name = "multicast", .letter = 'm', .type = OPT_STR, .metavar = "IP:PORT", .help = "not here"},
};
/* clang-format on */
static const struct opt_set sets[] = {{.title = "Options", .rows = rows, .n = ARRAY_LEN(rows)}};
static const char letters[] = "+:trTl:n:x:ug:Ddw:f:p:ivVcsS:R:m:N:?";

static void usage(FILE *to)
{
	fputs("Usage: nttcp [local options] host [remote options]\n"
	      "       nttcp -i [-p port] [-v]\n",
	      to);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fprintf(to, "\t-%c %-8s %s\n", rows[i].letter,
			rows[i].metavar ? rows[i].metavar : "", rows[i].help);
	fprintf(to, "This is weir %s standing in for nttcp.\n", weir_version);
}

static bool number(const char *s, int64_t max, int64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoll(s, &end, 10);
	return !errno && end != s && !*end && *v >= 0 && *v <= max;
}

static bool take(struct cfg *c, int opt, const char *arg)
{
	switch (opt) {
	case 't':
	case 'r':
		c->transmit = opt == 't';
		return true;
	case 'T':
		return c->title = true;
	case 'u':
		return c->udp = true;
	case 'D':
		return c->nodelay = true;
	case 'd':
	case 'N':
		return true;
	case 'i':
		return c->daemon = true;
	case 'v':
		return c->verbose = true;
	case 'V':
		return c->version = true;
	case 'l':
		return c->l_given = number(arg, 99999999, &c->len) && c->len;
	case 'n':
		return c->n_given = number(arg, 999999999, &c->count) && c->count;
	case 'x':
		return number(arg, INT64_MAX, &c->total);
	case 'g':
		return number(arg, 9999999, &c->gap_us);
	case 'w':
		return number(arg, 1 << 20, &c->window_kib);
	case 'p':
		return number(arg, 65535, &c->port) && c->port;
	case 'f':
		c->format = arg;
		return true;
	case 'R':
		return number(arg, 999999999, &c->pid_calls) && c->pid_calls;
	default:
		c->absent = opt == 'm'
				    ? "-m: multicast is not here"
				    : "-c, -s, -S: the pattern is nttcp's own, and not known here";
		return true;
	}
}

static bool take_words(struct cfg *c, int argc, char **argv)
{
	int got;

	optind = 0; /* GNU: from the start */
	opterr = 0;
	while ((got = getopt(argc, argv, letters)) != -1) {
		if (got == '?' || got == ':') {
			c->help = optopt == '?' || !optopt;
			return c->help;
		}
		if (!take(c, got, optarg))
			return false;
	}
	return true;
}

/* What is typed behind the host, and $NTTCP_REM_OPT, as words of the request. */
static void add_remote(struct cfg *c, const char *word)
{
	size_t n = strlen(c->remote);

	if (n + 2 < sizeof(c->remote))
		c->remote[n++] = '@';
	for (; *word && n + 3 < sizeof(c->remote); word++) {
		if (*word == '@')
			c->remote[n++] = '\\';
		c->remote[n++] = *word;
	}
	c->remote[n] = '\0';
}

static int split(char *text, char *out[WORDS])
{
	char *keep;
	int n = 1;

	out[0] = (char *)(uintptr_t) "nttcp";
	for (char *w = strtok_r(text, " \t", &keep); w && n < WORDS - 1;
	     w = strtok_r(NULL, " \t", &keep))
		out[n++] = w;
	out[n] = NULL;
	return n;
}

static bool from_environment(struct cfg *c, char **local, char **remote)
{
	const char *l = getenv("NTTCP_LOC_OPT"), *r = getenv("NTTCP_REM_OPT");
	char *words[WORDS];
	bool ok = true;
	int n;

	if (r && (*remote = strdup(r))) {
		n = split(*remote, words);
		for (int i = 1; i < n; i++)
			add_remote(c, words[i]);
	}
	if (l && (*local = strdup(l))) {
		n = split(*local, words);
		ok = take_words(c, n, words);
	}
	return ok;
}

static bool parse(struct cfg *c, int argc, char **argv)
{
	if (!take_words(c, argc, argv))
		return false;
	if (optind < argc)
		c->host = argv[optind++];
	for (; optind < argc; optind++)
		add_remote(c, argv[optind]);
	if (c->total && c->n_given && !c->l_given)
		c->len = c->total / c->count;
	else if (c->total)
		c->count = c->total / c->len;
	return c->help || c->version || c->daemon || (c->host && c->len > 0 && c->count > 0);
}

/* ---- client ---------------------------------------------------------------------------- */

/* The words before the data, each with who said it. */
static void print_greeting(const struct cfg *c, const struct buf *b)
{
	const char *at = b->data;

	while (at && *at) {
		size_t n = strcspn(at, "\n");

		printf("nttcp-l: from %s: \"%s\" (=%.*s)\n", c->host, c->host,
		       (int)(n < LINES ? n : LINES), at);
		at += n + (at[n] == '\n');
	}
}

static const struct model_summary *near_cpu(const struct model_run *run, const char *metric)
{
	const struct model_dims d = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);
	const struct model_summary *s = model_find(run, metric, STAT_VALUE, &d, false);

	return s && s->state == MODEL_KNOWN ? s : NULL;
}

/*
 * What the rows' CPU seconds are: the clocks of threads. A kernel that accounts the time of
 * interrupts keeps it out of them; another counts it in whichever thread was interrupted.
 */
static void print_cpu(const struct model_run *run, const struct nttcp_row *mine)
{
	const struct model_summary *soft = near_cpu(run, "cpu.softirq");
	bool apart = near_cpu(run, "cpu.irq") != NULL;

	printf("nttcp-l: CPU: %.6f s of its threads; software interrupts of the whole host "
	       "meanwhile: ",
	       mine->cpu_s);
	if (soft)
		printf("%.2f s, %s\n", soft->value * mine->real_s,
		       apart ? "apart from it"
			     : "by ticks; some of it may be in the threads' time");
	else
		puts("not known");
}

static void print_result(const struct cfg *c, const struct proto_nttcp *w,
			 const struct model_run *run)
{
	struct buf b = {0};
	char text[SAFE_MAX];

	if (c->verbose)
		printf("nttcp-l: buflen=%lld, bufcnt=%lld\nnttcp-l: %s %llu bytes\n",
		       (long long)c->len, (long long)c->count,
		       c->transmit ? "transmitted" : "received", (unsigned long long)w->mine.bytes);
	if (c->title) {
		nttcp_title_put(&b, c->format);
		buf_putc(&b, '\n');
	}
	buf_putc(&b, 'l');
	nttcp_row_put(&b, c->format, &w->mine);
	buf_putc(&b, '\n');
	fputs(b.data ? b.data : "", stdout);
	buf_fini(&b);
	if (c->verbose)
		print_cpu(run, &w->mine);
	if (c->verbose)
		puts("nttcp-l: try to get outstanding messages from 1 remote clients");
	for (const char *at = w->said.data; at && *at;) {
		size_t n = strcspn(at, "\n");

		safe_str(text, sizeof(text), at, n);
		puts(text);
		at += n + (at[n] == '\n');
	}
}

static int exit_of(const struct weir_err *e)
{
	if (e->code == ETIMEDOUT && strstr(e->msg, "data connection"))
		return EXIT_ACCEPT;
	if (e->code == EPROTO || e->code == EPIPE)
		return EXIT_PORT;
	return e->domain == WEIR_USAGE ? EXIT_USAGE : EXIT_CONNECT;
}

static void want_rate(struct plain *p, const struct cfg *c)
{
	if (c->udp)
		plain_want_number(p, true, "bitrate",
				  c->gap_us ? (uint64_t)c->len * 8 * 1000000 / (uint64_t)c->gap_us
					    : 0);
}

static int client(const struct cfg *c)
{
	struct proto_nttcp words = {.format = c->format,
				    .remote_opts = c->remote[0] ? c->remote : NULL,
				    .verbose = c->verbose,
				    .gap_ns = c->gap_us * NSEC_PER_USEC,
				    .number = 1};
	struct weir_err e = {0};
	struct sink *sink = plain_quiet();
	struct model_run *run = NULL;
	struct plain p;
	int rc = sink ? plain_init(&p, c->udp ? &measure_udp : &measure_tcp, &e) : -ENOMEM;

	if (rc < 0)
		return EXIT_USAGE;
	if (c->verbose)
		printf("nttcp-l: nttcp, version 1.47\nnttcp-l: Pid=%d\n", (int)getpid());
	plain_want(&p, true, "host", c->host);
	plain_want(&p, true, "proto", "nttcp");
	plain_want_number(&p, true, "port", (uint64_t)c->port);
	plain_want_number(&p, true, "blocks", (uint64_t)c->count);
	plain_want_number(&p, true, "length", (uint64_t)c->len);
	plain_want(&p, true, "interval", "0");
	plain_want(&p, !c->transmit, "reverse", "true");
	plain_want(&p, c->nodelay && !c->udp, "no-delay", "true");
	plain_want_number(&p, c->window_kib && !c->udp, "window", (uint64_t)c->window_kib << 10);
	want_rate(&p, c);
	p.hooks.nttcp = &words;
	rc = plain_run(&p, sink, true, &run);
	if (c->verbose)
		print_greeting(c, &words.greeting);
	if (rc >= 0)
		print_result(c, &words, run);
	else
		fprintf(stderr, "nttcp-l: %s\n", e.msg);
	rc = rc < 0 ? exit_of(&e) : fflush(stdout) ? EXIT_USAGE : 0;
	model_run_free(run);
	buf_fini(&words.said);
	buf_fini(&words.greeting);
	plain_fini(&p);
	return rc;
}

/* ---- -R ------------------------------------------------------------------------------------ */

static int dial(const struct cfg *c, struct weir_err *e)
{
	struct net_addr to;
	int rc = net_resolve(c->host, (uint16_t)c->port, AF_UNSPEC, &to, 1, e);

	return rc < 0 ? rc : net_connect_tcp(&to, NULL, NULL, ANSWER_NS, e);
}

/* What the other end says, but for the port, on which nothing will be sent. */
static void print_said(int fd)
{
	int64_t deadline = clk_mono_ns() + ANSWER_NS;
	char line[SAFE_MAX / 4], text[SAFE_MAX];
	size_t n = 0;

	while (net_read_full(fd, line + n, 1, deadline, i3_stop_fd()) == 0) {
		if (line[n] != '\n' && n + 1 < sizeof(line)) {
			n++;
			continue;
		}
		safe_str(text, sizeof(text), line, n);
		if (strncmp(text, "dataport:", 9) != 0)
			puts(text);
		n = 0;
	}
}

/* Only the rate of system calls is asked for: no data, and no run to keep. */
static int pid_rate(const struct cfg *c)
{
	struct buf b = {0};
	struct weir_err e = {0};
	int fd = dial(c, &e), rc;

	if (fd < 0) {
		fprintf(stderr, "nttcp-l: %s\n", e.msg);
		return EXIT_CONNECT;
	}
	buf_printf(&b, "nttcp@-r@-l%lld@-n%lld@-f@%s@-R%lld@-N1%s\n", (long long)c->len,
		   (long long)c->count, c->format, (long long)c->pid_calls, c->remote);
	rc = b.failed ? -ENOMEM
		      : net_write_full(fd, b.data, b.len, clk_mono_ns() + ANSWER_NS, i3_stop_fd());
	buf_fini(&b);
	buf_puts(&b, "nttcp-l: ");
	nttcp_pid_rate(&b, (uint64_t)c->pid_calls);
	fputs(b.data ? b.data : "", stdout);
	buf_fini(&b);
	if (rc == 0)
		print_said(fd);
	close(fd);
	return rc < 0 || fflush(stdout) ? EXIT_CONNECT : 0;
}

/* ---- server ------------------------------------------------------------------------------ */

static void on_log(void *arg, const char *line)
{
	const struct cfg *c = arg;

	if (!c->verbose)
		return;
	puts(line);
	fflush(stdout);
}

static int serve(const struct cfg *c)
{
	struct cfg own = *c;
	const struct serve_cfg cfg = {.port = (uint16_t)c->port,
				      .only = proto_find("nttcp"),
				      .listen_fd = -1,
				      .stop_fd = i3_stop_fd(),
				      .facts = "{}",
				      .log = on_log,
				      .arg = &own};
	struct weir_err e = {0};

	if (serve_run(&cfg, &e) >= 0)
		return 0;
	fprintf(stderr, "nttcp: service-socket: bind:: %s\n", e.msg);
	return EXIT_USAGE;
}

/* From inetd, descriptor 0 is the control connection. */
static bool from_inetd(struct net_addr *peer)
{
	peer->len = sizeof(peer->ss);
	return getpeername(0, &peer->sa, &peer->len) == 0 && peer->sa.sa_family != AF_UNIX;
}

static int serve_one(const struct net_addr *peer)
{
	struct proto_session s = {.proto = proto_find("nttcp"),
				  .role = PROTO_SERVER,
				  .ctl_fd = 0,
				  .stop_fd = i3_stop_fd(),
				  .server_facts = "{}",
				  .peer_addr = *peer};
	const struct proto_limits lim = {0};
	struct measure_serve m = {.proto = &s, .limits = &lim, .stop_fd = s.stop_fd};
	struct model_run *run = NULL;
	struct weir_err e = {0};
	uid_t uid;
	gid_t gid;
	int rc = 0;

	net_addr_unmap(&s.peer_addr);
	s.local_addr.len = sizeof(s.local_addr.ss);
	getsockname(0, &s.local_addr.sa, &s.local_addr.len);
	if (geteuid() == 0)
		rc = sys_user_lookup("nobody", &uid, &gid, &e) >= 0 ? sys_priv_drop(uid, gid, &e)
								    : -ENOENT;
	if (rc >= 0)
		rc = measure_serve_run(&m, &run, &e);
	proto_session_fini(&s);
	model_run_free(run);
	return rc < 0;
}

static int run(int argc, char **argv)
{
	struct cfg c = {
		.transmit = true, .port = PORT, .len = 4096, .count = 2048, .format = NTTCP_FORMAT};
	char *local = NULL, *remote = NULL;
	struct net_addr peer;
	struct buf b = {0};
	int rc;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (!from_environment(&c, &local, &remote) ||
	    (!parse(&c, argc, argv) && !from_inetd(&peer))) {
		usage(stderr);
		rc = EXIT_USAGE;
	} else if (c.help) {
		usage(stdout);
		rc = EXIT_USAGE;
	} else if (c.version) {
		printf("nttcp version 1.47  (weir %s)\n", weir_version);
		rc = 0;
	} else if (c.absent) {
		fprintf(stderr, "nttcp: %s\n", c.absent);
		rc = EXIT_USAGE;
	} else if (nttcp_row_put(&b, c.format, &(struct nttcp_row){0}) < 0) {
		fprintf(stderr, "nttcp: -f: \"%.80s\"\n", c.format);
		rc = EXIT_USAGE;
	} else if (!c.host && !c.daemon && from_inetd(&peer)) {
		rc = serve_one(&peer);
	} else {
		rc = c.daemon ? serve(&c) : c.pid_calls ? pid_rate(&c) : client(&c);
	}
	buf_fini(&b);
	free(local);
	free(remote);
	return rc;
}

const struct persona persona_nttcp = {
	.name = "nttcp",
	.summary = "nttcp's command line and rows, client and daemon",
	.sets = sets,
	.n_sets = ARRAY_LEN(sets),
	.run = run,
};
