/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's command line: every flag of 2.1.8's help is a row, and one that is not here says why in
 * its row. Numbers are read as the version reads them: 2.0.5 turns the suffix's letter as it likes,
 * 2.1 takes K for 1024 and k for 1000.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persona/iperf.h"

#define F(field)  offsetof(struct i2_cfg, field)
#define ROWS_MAX  96
#define OPT_FIRST 256

/* clang-format off */
static const struct opt both_rows[] = {
	{.name = "client", .letter = 'c', .type = OPT_STR, .offset = F(host), .metavar = "HOST", .help = "be a client of that server"},
	{.name = "server", .letter = 's', .type = OPT_FLAG, .offset = F(server), .help = "be a server, of TCP and UDP"},
	{.name = "udp", .letter = 'u', .type = OPT_FLAG, .offset = F(udp), .help = "UDP (a client's; a server takes both)"},
	{.name = "port", .letter = 'p', .type = OPT_STR, .offset = F(port), .metavar = "N", .help = "port (5001)"},
	{.name = "format", .letter = 'f', .type = OPT_STR, .offset = F(fmt), .metavar = "k|m|g|a|K|M|G|A", .help = "unit of reports: bits (small) or bytes (capital)"},
	{.name = "interval", .letter = 'i', .type = OPT_STR, .offset = F(interval), .metavar = "S", .help = "seconds between reports"},
	{.name = "len", .letter = 'l', .type = OPT_STR, .offset = F(len), .metavar = "N[KM]", .help = "bytes of a write, of a datagram"},
	{.name = "print_mss", .letter = 'm', .type = OPT_FLAG, .offset = F(print_mss), .help = "print the segment size"},
	{.name = "window", .letter = 'w', .type = OPT_STR, .offset = F(window), .metavar = "N[KM]", .help = "socket buffers"},
	{.name = "bind", .letter = 'B', .type = OPT_STR, .offset = F(bind), .metavar = "HOST", .help = "local address"},
	{.name = "compatibility", .letter = 'C', .type = OPT_FLAG, .offset = F(compat), .help = "client: send data alone, no header"},
	{.name = "mss", .letter = 'M', .type = OPT_STR, .offset = F(mss), .metavar = "N", .help = "maximum segment size"},
	{.name = "nodelay", .letter = 'N', .type = OPT_FLAG, .offset = F(nodelay), .help = "TCP_NODELAY"},
	{.name = "ipv6_domain", .letter = 'V', .type = OPT_FLAG, .offset = F(v6), .help = "IPv6"},
	{.name = "reportstyle", .letter = 'y', .type = OPT_STR, .offset = F(csv), .metavar = "C", .help = "comma-separated values"},
	{.name = "permit-key", .type = OPT_STR, .offset = F(key), .metavar = "KEY", .help = "an access token, sent in clear"},
	{.name = "tos", .letter = 'S', .type = OPT_STR, .offset = F(tos), .metavar = "N", .help = "the traffic class byte"},
	{.name = "enhanced", .letter = 'e', .type = OPT_FLAG, .offset = F(nothing), .help = "accepted; the rows stay plain (see weir show)"},
	{.name = "help", .letter = 'h', .type = OPT_FLAG, .offset = F(help), .help = "this text"},
	{.name = "version", .letter = 'v', .type = OPT_FLAG, .offset = F(version), .help = "which one this is"},
	{.name = "style", .type = OPT_STR, .offset = F(style), .metavar = "2.0.5|2.1", .help = "weir's own: whose forms (2.1)"},
};
static const struct opt client_rows[] = {
	{.name = "bandwidth", .letter = 'b', .type = OPT_STR, .offset = F(rate), .metavar = "N[KMG]|Npps", .help = "rate of a stream, bit/s or packets/s; UDP: 1M"},
	{.name = "num", .letter = 'n', .type = OPT_STR, .offset = F(bytes), .metavar = "N[KM]", .help = "bytes to send in each stream, instead of a time"},
	{.name = "time", .letter = 't', .type = OPT_STR, .offset = F(time), .metavar = "S", .help = "seconds to send (10)"},
	{.name = "parallel", .letter = 'P', .type = OPT_STR, .offset = F(parallel), .metavar = "N", .help = "streams"},
	{.name = "reverse", .letter = 'R', .type = OPT_FLAG, .offset = F(reverse), .help = "the server sends (TCP)"},
	{.name = "full-duplex", .type = OPT_FLAG, .offset = F(duplex), .help = "both ways on one connection (TCP)"},
	{.name = "linux-congestion", .letter = 'Z', .type = OPT_STR, .offset = F(cc), .metavar = "ALGO", .help = "congestion control"},
	{.name = "fq-rate", .type = OPT_STR, .offset = F(fq_rate), .metavar = "N[KMG]", .help = "pacing by the kernel"},
	{.name = "peer-detect", .letter = 'X', .type = OPT_FLAG, .offset = F(nothing), .help = "always so: the server's version is in the run"},
};
/* Not here, and why. */
static const struct opt absent_rows[] = {
	{.name = "dualtest", .letter = 'd', .type = OPT_FLAG, .help = "a server of weir's calls nobody: --full-duplex instead"},
	{.name = "tradeoff", .letter = 'r', .type = OPT_FLAG, .help = "a server of weir's calls nobody: a second run with -R instead"},
	{.name = "listenport", .letter = 'L', .type = OPT_STR, .metavar = "N", .help = "of -d and -r"},
	{.name = "daemon", .letter = 'D', .type = OPT_FLAG, .help = "weir serve under a service manager instead"},
	{.name = "fileinput", .letter = 'F', .type = OPT_STR, .metavar = "FILE", .help = "a file as payload is weir iperf3's"},
	{.name = "stdin", .letter = 'I', .type = OPT_FLAG, .help = "standard input as payload is not here"},
	{.name = "ttl", .letter = 'T', .type = OPT_STR, .metavar = "N", .help = "multicast is not here"},
	{.name = "ssm-host", .letter = 'H', .type = OPT_STR, .metavar = "HOST", .help = "multicast is not here"},
	{.name = "single_udp", .letter = 'U', .type = OPT_FLAG, .help = "flows have a process each"},
	{.name = "reportexclude", .letter = 'x', .type = OPT_STR, .metavar = "CDMSV", .help = "reports are whole"},
	{.name = "output", .letter = 'o', .type = OPT_STR, .metavar = "FILE", .help = "the shell's > does it"},
	{.name = "trip-times", .type = OPT_FLAG, .help = "one-way times need clocks that nobody vouches for: weir tcp against weir serve"},
	{.name = "txstart-time", .type = OPT_STR, .metavar = "S", .help = "a start at a given time is not here"},
	{.name = "txdelay-time", .type = OPT_STR, .metavar = "S", .help = "a late start is not here: sleep before it"},
	{.name = "histograms", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "SPEC", .help = "of --trip-times"},
	{.name = "bounceback", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "N", .help = "responsiveness: weir tcp shows round trips under load"},
	{.name = "bounceback-congest", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "HOW", .help = "of --bounceback"},
	{.name = "bounceback-hold", .type = OPT_STR, .metavar = "MS", .help = "of --bounceback"},
	{.name = "bounceback-period", .type = OPT_STR, .metavar = "S", .help = "of --bounceback"},
	{.name = "bounceback-no-quickack", .type = OPT_FLAG, .help = "of --bounceback"},
	{.name = "bounceback-txdelay", .type = OPT_STR, .metavar = "S", .help = "of --bounceback"},
	{.name = "isochronous", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "SPEC", .help = "bursts at a frame rate are not here"},
	{.name = "ipg", .type = OPT_STR, .metavar = "MS", .help = "of --isochronous; -b Npps spaces datagrams"},
	{.name = "burst-size", .type = OPT_STR, .metavar = "N", .help = "periodic bursts are not here"},
	{.name = "burst-period", .type = OPT_STR, .metavar = "S", .help = "periodic bursts are not here"},
	{.name = "near-congestion", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "W", .help = "writes that wait for the round trip are not here"},
	{.name = "tcp-write-prefetch", .type = OPT_STR, .metavar = "N", .help = "weir chooses TCP_NOTSENT_LOWAT by the rate"},
	{.name = "no-connect-sync", .type = OPT_FLAG, .help = "streams begin together always"},
	{.name = "no-udp-fin", .type = OPT_FLAG, .help = "without an end there is no report"},
	{.name = "udp-l2checks", .type = OPT_FLAG, .help = "raw sockets are not here"},
	{.name = "tap-dev", .type = OPT_STR, .metavar = "DEV", .help = "raw sockets are not here"},
	{.name = "permit-key-timeout", .type = OPT_STR, .metavar = "S", .help = "a key holds as long as its server"},
	{.name = "sum-dstip", .type = OPT_FLAG, .help = "each flow has its own rows"},
	{.name = "sum-only", .type = OPT_FLAG, .help = "each flow has its own rows"},
	{.name = "incr-dstip", .type = OPT_FLAG, .help = "one address a run"},
	{.name = "incr-dstport", .type = OPT_FLAG, .help = "one port a run"},
	{.name = "incr-srcip", .type = OPT_FLAG, .help = "one address a run"},
	{.name = "hide-ips", .type = OPT_FLAG, .help = "weir export --anonymise does it"},
	{.name = "realtime", .letter = 'z', .type = OPT_FLAG, .help = "chrt(1) does it"},
	{.name = "connect-only", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "N", .help = "connection set-up alone is not measured here"},
	{.name = "connect-retries", .type = OPT_STR, .metavar = "N", .help = "the shell's loop does it"},
	{.name = "local-only", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "X", .help = "SO_DONTROUTE is not here"},
	{.name = "working-load", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "HOW", .help = "of --bounceback"},
	{.name = "ignore-shutdown", .type = OPT_FLAG, .help = "the end is always waited for"},
	{.name = "suggest_win_size", .letter = 'W', .type = OPT_FLAG, .help = "the kernel tunes the window"},
};
/* clang-format on */

enum set { SET_BOTH, SET_CLIENT, SET_ABSENT };
const struct opt_set i2_sets[I2_SETS] = {
	[SET_BOTH] = {.title = "Server or client", .rows = both_rows, .n = ARRAY_LEN(both_rows)},
	[SET_CLIENT] = {.title = "Client", .rows = client_rows, .n = ARRAY_LEN(client_rows)},
	[SET_ABSENT] = {.title = "Not here, and why",
			.rows = absent_rows,
			.n = ARRAY_LEN(absent_rows)},
};

/* ---- numbers ------------------------------------------------------------------------------- */

/* up: 2.0.5 takes the letter as a capital, or as a small one. */
static bool number(const char *s, bool v205, bool up, double *v)
{
	static const char powers[] = "kmgt";
	const char *at = NULL;
	char *end;
	double base;
	int letter;

	*v = strtod(s, &end);
	if (end == s || !(*v >= 0) || !isfinite(*v))
		return false;
	letter = (unsigned char)*end;
	if (letter && end[1])
		return false;
	if (v205)
		letter = up ? toupper(letter) : tolower(letter);
	base = isupper(letter) ? 1024 : 1000;
	if (letter && !(at = strchr(powers, tolower(letter))))
		return false;
	for (ptrdiff_t i = 0; at && i <= at - powers; i++)
		*v *= base;
	return *v < 1e18;
}

static bool set_u64(const char *s, bool v205, bool up, uint64_t *out)
{
	double v;

	if (!s)
		return true;
	if (!number(s, v205, up, &v))
		return false;
	*out = (uint64_t)v;
	return true;
}

static bool set_seconds(const char *s, int64_t *ns)
{
	char *end;
	double v;

	if (!s)
		return true;
	v = strtod(s, &end);
	if (end == s || *end || !(v >= 0 && v <= 86400))
		return false;
	*ns = (int64_t)(v * 1e9 + 0.5);
	return true;
}

static bool set_int(const char *s, int64_t min, int64_t max, int64_t *out)
{
	char *end;

	if (!s)
		return true;
	*out = strtoll(s, &end, 0);
	return end != s && !*end && *out >= min && *out <= max;
}

/* "1000pps" needs the length. */
static bool set_rate(struct i2_cfg *c)
{
	size_t n = c->rate ? strlen(c->rate) : 0;
	char text[64];
	double v;

	if (n < 4 || strcmp(c->rate + n - 3, "pps") != 0)
		return set_u64(c->rate, c->v205, false, &c->rate_bps);
	snprintf(text, sizeof(text), "%.*s", (int)(n - 3), c->rate);
	if (!number(text, c->v205, false, &v))
		return false;
	c->rate_bps = (uint64_t)(v * 8 * (double)(c->n_len ? c->n_len : 1470));
	return true;
}

static const char *read_values(struct i2_cfg *c)
{
	if (c->style && strcmp(c->style, "2.0.5") != 0 && strcmp(c->style, "2.1") != 0)
		return "--style";
	c->v205 = c->style && !strcmp(c->style, "2.0.5");
	if (!set_u64(c->len, c->v205, true, &c->n_len))
		return "-l";
	if (!set_u64(c->bytes, c->v205, true, &c->n_bytes))
		return "-n";
	if (!set_u64(c->window, c->v205, true, &c->n_window))
		return "-w";
	if (!set_rate(c))
		return "-b";
	if (!set_u64(c->fq_rate, c->v205, false, &c->n_fq_rate))
		return "--fq-rate";
	if (!set_seconds(c->time, &c->time_ns))
		return "-t";
	if (!set_seconds(c->interval, &c->interval_ns))
		return "-i";
	if (!set_int(c->port, 1, 65535, &c->n_port))
		return "-p";
	if (!set_int(c->parallel, 1, 128, &c->n_parallel))
		return "-P";
	if (!set_int(c->mss, 1, 32767, &c->n_mss))
		return "-M";
	if (!set_int(c->tos, 0, 255, &c->n_tos))
		return "-S";
	if (c->fmt && (strlen(c->fmt) != 1 || !strchr("kmgtaKMGTA", *c->fmt)))
		return "-f";
	c->unit = c->fmt ? *c->fmt : 0;
	return NULL;
}

/* ---- the line ------------------------------------------------------------------------------- */

static const char *check(const struct i2_cfg *c)
{
	if (c->server == (c->host != NULL))
		return "either -c HOST or -s";
	if (c->csv && strcmp(c->csv, "C") != 0 && strcmp(c->csv, "c") != 0)
		return "-y: C is the only style";
	if (c->udp && (c->reverse || c->duplex))
		return "UDP towards a client is not asked for: one forged datagram would start it";
	if (c->reverse && c->duplex)
		return "-R and --full-duplex exclude each other";
	if (c->v205 && (c->reverse || c->duplex))
		return "2.0.5 has neither -R nor --full-duplex";
	if (c->udp && c->n_len && (c->n_len < NET_UDP_LEN_MIN || c->n_len > NET_UDP_LEN_MAX))
		return "-l: a datagram has 16 to 65507 bytes";
	if (c->key && (strlen(c->key) < 4 || strlen(c->key) > 128))
		return "--permit-key: 4 to 128 characters";
	return NULL;
}

static void make_names(struct option *longs, const struct opt **of, char *letters)
{
	size_t n = 0, k = 0;

	letters[k++] = ':';
	for (size_t s = 0; s < I2_SETS; s++) {
		for (size_t i = 0; i < i2_sets[s].n; i++, n++) {
			const struct opt *o = &i2_sets[s].rows[i];
			int arg = o->type == OPT_FLAG     ? no_argument
				  : o->flags & OPT_OPTARG ? optional_argument
							  : required_argument;

			longs[n] = (struct option){o->name, arg, NULL, OPT_FIRST + (int)n};
			of[n] = o;
			if (!o->letter)
				continue;
			letters[k++] = o->letter;
			if (arg == required_argument)
				letters[k++] = ':';
		}
	}
	letters[k] = '\0';
	longs[n] = (struct option){0};
}

static const struct opt *row_of(const struct opt *const *of, int got)
{
	if (got >= OPT_FIRST)
		return of[got - OPT_FIRST];
	for (size_t i = 0; i < ROWS_MAX && of[i]; i++)
		if (of[i]->letter == got)
			return of[i];
	return NULL;
}

static bool is_absent(const struct opt *o)
{
	return o >= absent_rows && o < absent_rows + ARRAY_LEN(absent_rows);
}

static int take(struct i2_cfg *c, const struct opt *o, const char *arg, char *err, size_t cap)
{
	void *field = (char *)c + o->offset;
	char **text = field;

	if (is_absent(o)) {
		snprintf(err, cap, "--%s is not here: %s", o->name, o->help);
		return -EINVAL;
	}
	if (o->type == OPT_FLAG) {
		*(bool *)field = true;
		return 0;
	}
	free(*text);
	*text = strdup(arg);
	return *text ? 0 : -ENOMEM;
}

int i2_parse(struct i2_cfg *c, int argc, char **argv, char *err, size_t cap)
{
	struct option longs[ROWS_MAX + 1];
	const struct opt *of[ROWS_MAX + 1] = {0};
	char letters[2 * ROWS_MAX + 2];
	const char *bad;
	int got, rc = 0;

	*c = (struct i2_cfg){.time_ns = 10 * NSEC_PER_SEC, .n_port = 5001, .n_parallel = 1};
	make_names(longs, of, letters);
	optind = 0; /* GNU: from the start */
	opterr = 0;
	while (rc == 0 && (got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct opt *o = got == '?' || got == ':' ? NULL : row_of(of, got);

		if (!o) {
			snprintf(err, cap, "unrecognized option or missing argument: %.60s",
				 argv[optind > 1 ? optind - 1 : 1]);
			return -EINVAL;
		}
		rc = take(c, o, optarg, err, cap);
	}
	if (rc < 0 || c->help || c->version)
		return rc;
	if ((bad = read_values(c)))
		snprintf(err, cap, "%s: not such a value", bad);
	else if ((bad = check(c)))
		snprintf(err, cap, "%s", bad);
	return bad ? -EINVAL : 0;
}

void i2_cfg_fini(struct i2_cfg *c)
{
	for (size_t s = 0; s < SET_ABSENT; s++)
		for (size_t i = 0; i < i2_sets[s].n; i++)
			if (i2_sets[s].rows[i].type == OPT_STR)
				free(*(char **)(void *)((char *)c + i2_sets[s].rows[i].offset));
}

void i2_usage(struct buf *b)
{
	buf_puts(
		b,
		"Usage: iperf [-s|-c host] [options]\n       iperf [-h|--help] [-v|--version]\n\n");
	opt_help(b, i2_sets, I2_SETS);
	buf_printf(b, "\nThis is weir %s standing in for iperf 2.\n", weir_version);
}
