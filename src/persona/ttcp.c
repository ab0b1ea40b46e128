/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ttcp's command line and its lines: -t sends, -r receives, -s a pattern to nowhere. Without -s what
 * is sent comes from standard input and what is received goes to standard output, in a loop here;
 * everything else is one of weir's measurements.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "persona/priv.h"
#include "sys/sys.h"

#define PORT         5001
#define LEN_LEAST    5 /* of datagrams: shorter ones are the beginning and the end */
#define MARK_LEN     4
#define MARKS        4
#define CONNECT_NS   (10 * NSEC_PER_SEC)
#define SECONDS_MIN  1e-6
#define UNIT_LETTERS "kKmMgG"

struct cfg {
	bool transmit, receive, udp, sink, nodelay, verbose, help;
	int64_t len, count, port, sockbuf, align, offset;
	char unit;
	const char *host;
};

struct figures {
	uint64_t bytes, calls;
	double real_s, user_s, system_s;
	long maxrss, minflt, majflt, nvcsw, nivcsw;
};

/* Of documents alone: the letters are getopt's. */
/* clang-format off */
static const struct opt rows[] = {
	{.name = "transmit", .letter = 't', .type = OPT_FLAG, .help = "send to the host"},
	{.name = "receive", .letter = 'r', .type = OPT_FLAG, .help = "receive from whoever connects"},
	{.name = "sink", .letter = 's', .type = OPT_FLAG, .help = "send a pattern, drop what comes; without it standard input and output"},
	{.name = "udp", .letter = 'u', .type = OPT_FLAG, .help = "UDP"},
	{.name = "length", .letter = 'l', .type = OPT_INT, .metavar = "N", .help = "bytes of a buffer (8192)"},
	{.name = "count", .letter = 'n', .type = OPT_INT, .metavar = "N", .help = "buffers that -t -s sends (2048)"},
	{.name = "port", .letter = 'p', .type = OPT_INT, .metavar = "N", .help = "port (5001)"},
	{.name = "sockbuf", .letter = 'b', .type = OPT_INT, .metavar = "N", .help = "socket buffers, bytes"},
	{.name = "nodelay", .letter = 'D', .type = OPT_FLAG, .help = "TCP_NODELAY at the sender"},
	{.name = "format", .letter = 'f', .type = OPT_STR, .metavar = "UNIT", .help = "of the rate: k m g bits, K M G bytes, all of 1024 (K)"},
	{.name = "verbose", .letter = 'v', .type = OPT_FLAG, .help = "bytes a CPU second, too"},
	{.name = "align", .letter = 'A', .type = OPT_INT, .metavar = "N", .help = "printed only: buffers here are aligned to pages (16384)"},
	{.name = "offset", .letter = 'O', .type = OPT_INT, .metavar = "N", .help = "printed only (0)"},
	{.name = "blocks", .letter = 'B', .type = OPT_FLAG, .help = "no effect: what is received is not cut into blocks"},
	{.name = "touch", .letter = 'T', .type = OPT_FLAG, .help = "no effect: received data is copied, not looked at"},
	{.name = "debug", .letter = 'd', .type = OPT_FLAG, .help = "SO_DEBUG: no effect here"},
};
/* clang-format on */
static const struct opt_set sets[] = {{.title = "Options", .rows = rows, .n = ARRAY_LEN(rows)}};
static const char letters[] = "+:trsul:n:p:b:Df:vA:O:BTdh";

static void usage(FILE *to)
{
	fputs("Usage: ttcp -t [-options] host [ < in ]\n"
	      "       ttcp -r [-options] [ > out ]\n",
	      to);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fprintf(to, "\t-%c %-5s %s\n", rows[i].letter,
			rows[i].metavar ? rows[i].metavar : "", rows[i].help);
	fprintf(to, "This is weir %s standing in for ttcp.\n", weir_version);
}

static bool number(const char *s, int64_t least, int64_t most, int64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoll(s, &end, 10);
	return !errno && end != s && !*end && *v >= least && *v <= most;
}

static bool take(struct cfg *c, int opt, const char *arg)
{
	switch (opt) {
	case 't':
		return c->transmit = true;
	case 'r':
		return c->receive = true;
	case 's':
		return c->sink = true;
	case 'u':
		return c->udp = true;
	case 'D':
		return c->nodelay = true;
	case 'v':
		return c->verbose = true;
	case 'h':
		return c->help = true;
	case 'l':
		return number(arg, 1, 1 << 20, &c->len);
	case 'n':
		return number(arg, 1, INT64_MAX, &c->count);
	case 'p':
		return number(arg, 1, 65535, &c->port);
	case 'b':
		return number(arg, 1, INT32_MAX, &c->sockbuf);
	case 'A':
		return number(arg, 1, 1 << 20, &c->align);
	case 'O':
		return number(arg, 0, 1 << 20, &c->offset);
	case 'f':
		c->unit = arg[0];
		return arg[0] && !arg[1] && strchr(UNIT_LETTERS, arg[0]);
	default:
		return strchr("BTd", opt) != NULL;
	}
}

static bool parse(struct cfg *c, int argc, char **argv)
{
	int got;

	optind = 0; /* GNU: from the start */
	opterr = 0;
	while ((got = getopt(argc, argv, letters)) != -1)
		if (!take(c, got, optarg))
			return false;
	if (optind < argc)
		c->host = argv[optind++];
	if (c->udp && c->len < LEN_LEAST)
		c->len = LEN_LEAST;
	return c->help ||
	       (optind == argc && c->transmit != c->receive && c->transmit == (c->host != NULL));
}

/* ---- lines -------------------------------------------------------------------------------- */

static char side(const struct cfg *c)
{
	return c->transmit ? 't' : 'r';
}

/* Where standard output is the data's, words go beside it. */
static FILE *words(const struct cfg *c)
{
	return c->receive && !c->sink ? stderr : stdout;
}

static void print_head(const struct cfg *c)
{
	FILE *to = words(c);

	fprintf(to, "ttcp-%c: buflen=%lld, nbuf=%lld, align=%lld/%lld, port=%lld", side(c),
		(long long)c->len, (long long)c->count, (long long)c->align, (long long)c->offset,
		(long long)c->port);
	if (c->sockbuf)
		fprintf(to, ", sockbufsize=%lld", (long long)c->sockbuf);
	fprintf(to, "  %s", c->udp ? "udp" : "tcp");
	if (c->transmit)
		fprintf(to, "  -> %s", c->host);
	fprintf(to, "\nttcp-%c: socket\n", side(c));
	fflush(to);
}

static void print_rate(FILE *to, const struct cfg *c, double bytes_per_s)
{
	static const char *const names[] = {"Kbit", "KB", "Mbit", "MB", "Gbit", "GB"};
	size_t i = (size_t)(strchr(UNIT_LETTERS, c->unit) - UNIT_LETTERS);

	for (size_t k = 0; k <= i; k += 2)
		bytes_per_s /= 1024;
	fprintf(to, "%.2f %s", bytes_per_s * (i % 2 ? 1 : 8), names[i]);
}

static void print_result(const struct cfg *c, const struct figures *f)
{
	FILE *to = words(c);
	double real = f->real_s > SECONDS_MIN ? f->real_s : SECONDS_MIN;
	double cpu = f->user_s + f->system_s;
	unsigned long long bytes = f->bytes, calls = f->calls;

	fprintf(to, "ttcp-%c: %llu bytes in %.2f real seconds = ", side(c), bytes, real);
	print_rate(to, c, (double)bytes / real);
	fputs("/sec +++\n", to);
	if (c->verbose) {
		fprintf(to, "ttcp-%c: %llu bytes in %.2f CPU seconds = ", side(c), bytes, cpu);
		print_rate(to, c, (double)bytes / (cpu > SECONDS_MIN ? cpu : SECONDS_MIN));
		fputs("/cpu sec\n", to);
	}
	fprintf(to, "ttcp-%c: %llu I/O calls, msec/call = %.2f, calls/sec = %.2f\n", side(c), calls,
		1000 * real / (double)(calls ? calls : 1), (double)calls / real);
	fprintf(to,
		"ttcp-%c: %.1fuser %.1fsys %d:%02dreal %.0f%% 0i+0d %ldmaxrss %ld+%ldpf "
		"%ld+%ldcsw\n",
		side(c), f->user_s, f->system_s, (int)real / 60, (int)real % 60, 100 * cpu / real,
		f->maxrss, f->majflt, f->minflt, f->nvcsw, f->nivcsw);
	fflush(to);
}

static int complain(const struct cfg *c, const char *text)
{
	fprintf(stderr, "ttcp-%c: %s\n", side(c), text);
	return 1;
}

static void note_accept(const struct cfg *c, const struct net_addr *from)
{
	struct net_addr plain = *from;
	char text[64];

	net_addr_unmap(&plain);
	net_addr_text(&plain, text, sizeof(text));
	fprintf(words(c), "ttcp-r: accept from %s\n", text);
	fflush(words(c));
}

/* ---- what the process has used -------------------------------------------------------------- */

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void use_since(const struct rusage *a, struct figures *f)
{
	struct rusage b;

	getrusage(RUSAGE_SELF, &b);
	f->user_s = seconds(&b.ru_utime) - seconds(&a->ru_utime);
	f->system_s = seconds(&b.ru_stime) - seconds(&a->ru_stime);
	f->maxrss = b.ru_maxrss;
	f->minflt = b.ru_minflt - a->ru_minflt;
	f->majflt = b.ru_majflt - a->ru_majflt;
	f->nvcsw = b.ru_nvcsw - a->ru_nvcsw;
	f->nivcsw = b.ru_nivcsw - a->ru_nivcsw;
}

/* The session's clocks are those of its threads, from the first byte on. */
static void take_row(const struct nttcp_row *r, struct figures *f)
{
	f->bytes = r->bytes;
	f->calls = r->calls;
	f->real_s = r->real_s;
	f->user_s = r->user_s;
	f->system_s = r->system_s;
}

/* ---- standard input and output ------------------------------------------------------------- */

/* Datagrams: from the first short one to the second. */
static int copy_in(const struct cfg *c, int fd, struct figures *f)
{
	size_t cap = c->udp ? NET_UDP_LEN_MAX : (size_t)c->len;
	char *p = malloc(cap);
	unsigned marks = 0;
	ssize_t n = p ? 1 : -1;

	while (n > 0 && marks < 2) {
		n = read(fd, p, cap);
		f->calls++;
		if (n > 0 && c->udp && n <= MARK_LEN) {
			marks++;
			continue;
		}
		if (n > 0 && sys_write_all(STDOUT_FILENO, p, (size_t)n) < 0)
			n = -1;
		f->bytes += n > 0 ? (uint64_t)n : 0;
	}
	free(p);
	return n < 0 ? -1 : 0;
}

static int copy_out(const struct cfg *c, int fd, struct figures *f)
{
	static const char mark[MARK_LEN];
	char *p = malloc((size_t)c->len);
	ssize_t n = p ? 1 : -1;

	if (c->udp && n > 0)
		n = send(fd, mark, sizeof(mark), MSG_NOSIGNAL);
	while (n > 0) {
		n = read(STDIN_FILENO, p, (size_t)c->len);
		if (n <= 0)
			break;
		if (sys_write_all(fd, p, (size_t)n) < 0)
			n = -1;
		f->calls++;
		f->bytes += n > 0 ? (uint64_t)n : 0;
	}
	for (int i = 0; c->udp && i < MARKS + 1; i++)
		send(fd, mark, sizeof(mark), MSG_NOSIGNAL);
	free(p);
	return n < 0 ? -1 : 0;
}

static int copy(const struct cfg *c, int fd, struct figures *f)
{
	struct rusage before;
	int64_t start = clk_mono_ns();
	int rc;

	getrusage(RUSAGE_SELF, &before);
	rc = c->transmit ? copy_out(c, fd, f) : copy_in(c, fd, f);
	f->real_s = (double)(clk_mono_ns() - start) * 1e-9;
	use_since(&before, f);
	return rc < 0 ? complain(c, strerror(errno)) : 0;
}

/* ---- -t ------------------------------------------------------------------------------------ */

static int dial(const struct cfg *c, struct weir_err *e)
{
	const struct flow_spec spec = {.transport = c->udp ? NET_UDP : NET_TCP,
				       .len = (uint32_t)c->len,
				       .nodelay = c->nodelay,
				       .window = (uint64_t)c->sockbuf};
	struct net_addr to;
	int rc = net_resolve(c->host, (uint16_t)c->port, AF_UNSPEC, &to, 1, e);

	if (rc < 0)
		return rc;
	return c->udp ? net_connect_udp(&to, NULL, &spec, e)
		      : net_connect_tcp(&to, NULL, &spec, CONNECT_NS, e);
}

static int send_input(const struct cfg *c, struct figures *f)
{
	struct weir_err e = {0};
	int fd = dial(c, &e), rc;

	if (fd < 0)
		return complain(c, e.msg);
	if (!c->udp)
		puts("ttcp-t: connect");
	fcntl(fd, F_SETFL, 0); /* blocking */
	rc = copy(c, fd, f);
	close(fd);
	return rc;
}

static int send_pattern(const struct cfg *c, struct figures *f)
{
	struct proto_nttcp row = {0};
	struct weir_err e = {0};
	struct sink *sink = plain_quiet();
	struct model_run *run = NULL;
	struct rusage before;
	struct plain p;
	int rc = sink ? plain_init(&p, c->udp ? &measure_udp : &measure_tcp, &e) : -ENOMEM;

	if (rc < 0)
		return complain(c, e.msg);
	getrusage(RUSAGE_SELF, &before);
	plain_want(&p, true, "host", c->host);
	plain_want(&p, true, "proto", "ttcp");
	plain_want_number(&p, true, "port", (uint64_t)c->port);
	plain_want_number(&p, true, "blocks", (uint64_t)c->count);
	plain_want_number(&p, true, "length", (uint64_t)c->len);
	plain_want(&p, true, "interval", "0");
	plain_want(&p, c->udp, "bitrate", "0");
	plain_want(&p, c->nodelay && !c->udp, "no-delay", "true");
	plain_want_number(&p, c->sockbuf > 0, "window", (uint64_t)c->sockbuf);
	p.hooks.nttcp = &row;
	rc = plain_run(&p, sink, true, &run);
	if (rc >= 0) {
		if (!c->udp)
			puts("ttcp-t: connect");
		use_since(&before, f);
		take_row(&row.mine, f);
	} else {
		complain(c, e.msg);
	}
	model_run_free(run);
	plain_fini(&p);
	return rc < 0;
}

/* ---- -r ------------------------------------------------------------------------------------- */

/* The connection of whoever comes first, or a socket that is connected to who sends. */
static int await_peer(const struct cfg *c, struct net_addr *from, struct weir_err *e)
{
	const struct net_sock_opts o = {.family = AF_UNSPEC};
	int fd = c->udp ? net_listen_udp(&o, (uint16_t)c->port, e)
			: net_listen_tcp(&o, (uint16_t)c->port, 1, e);
	char byte;
	int data = -1;

	if (fd < 0)
		return fd;
	while (data < 0 && net_wait_readable(fd, INT64_MAX, i3_stop_fd()) == 0) {
		from->len = sizeof(from->ss);
		if (!c->udp)
			data = accept4(fd, &from->sa, &from->len, SOCK_CLOEXEC);
		else if (recvfrom(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, &from->sa, &from->len) >=
			 0)
			data = connect(fd, &from->sa, from->len) ? -1 : fd;
	}
	if (data != fd)
		close(fd);
	return data < 0 ? err_set(e, WEIR_OS, ECANCELED, "stopped") : data;
}

static int sink_data(const struct cfg *c, int fd, const struct net_addr *from, struct figures *f)
{
	struct proto_nttcp row = {0};
	struct proto_session s = {.proto = proto_find("ttcp"),
				  .role = PROTO_SERVER,
				  .ctl_fd = fd,
				  .stop_fd = i3_stop_fd(),
				  .server_facts = "{}",
				  .began_ns = clk_mono_ns(),
				  .nttcp = &row,
				  .peer_addr = *from};
	const struct proto_limits lim = {0};
	struct measure_serve m = {.proto = &s, .limits = &lim, .stop_fd = s.stop_fd};
	struct model_run *run = NULL;
	struct weir_err e = {0};
	struct rusage before;
	int rc;

	getrusage(RUSAGE_SELF, &before);
	net_addr_unmap(&s.peer_addr);
	s.local_addr.len = sizeof(s.local_addr.ss);
	getsockname(fd, &s.local_addr.sa, &s.local_addr.len);
	rc = measure_serve_run(&m, &run, &e);
	use_since(&before, f);
	take_row(&row.mine, f);
	proto_session_fini(&s);
	model_run_free(run);
	return rc < 0 ? complain(c, e.msg) : 0;
}

static int receive(const struct cfg *c, struct figures *f)
{
	const int size = (int)c->sockbuf;
	struct weir_err e = {0};
	struct net_addr from;
	int fd = await_peer(c, &from, &e), rc;

	if (fd < 0)
		return complain(c, e.msg);
	if (!c->udp)
		note_accept(c, &from);
	if (c->sockbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (c->sink)
		return sink_data(c, fd, &from, f);
	fcntl(fd, F_SETFL, 0); /* blocking */
	rc = copy(c, fd, f);
	close(fd);
	return rc;
}

static int run(int argc, char **argv)
{
	struct cfg c = {.len = 8192, .count = 2048, .port = PORT, .align = 16384, .unit = 'K'};
	struct figures f = {0};
	int rc;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (!parse(&c, argc, argv) || c.help) {
		usage(stderr);
		return 1;
	}
	print_head(&c);
	rc = c.receive ? receive(&c, &f) : c.sink ? send_pattern(&c, &f) : send_input(&c, &f);
	if (rc == 0)
		print_result(&c, &f);
	return rc;
}

const struct persona persona_ttcp = {
	.name = "ttcp",
	.summary = "ttcp's command line and lines, both ends",
	.sets = sets,
	.n_sets = ARRAY_LEN(sets),
	.run = run,
};
