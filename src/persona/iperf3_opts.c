/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf3's command line. A row is a flag with its place, its range and its words for a value out of
 * it; the row's table says who may use it. Parsing is getopt_long's, whose habits (joined letters,
 * shortened names, options after operands) scripts lean on.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "persona/priv.h"

#define F(field)       offsetof(struct i3_cfg, field)
#define TIMEOUT_MAX_MS 86400000
#define MSS_MAX        32767

/* Of OPT_FUNC rows. `field` is the whole configuration. */
static int set_format(void *field, const char *arg, struct weir_err *e);
static int set_affinity(void *field, const char *arg, struct weir_err *e);
static int set_rate(void *field, const char *arg, struct weir_err *e);
static int set_limit(void *field, const char *arg, struct weir_err *e);
static int set_interval(void *field, const char *arg, struct weir_err *e);
static int set_tos(void *field, const char *arg, struct weir_err *e);
static int set_dscp(void *field, const char *arg, struct weir_err *e);
static int set_keepalive(void *field, const char *arg, struct weir_err *e);
static int set_debug(void *field, const char *arg, struct weir_err *e);
static int set_rcv_timeout(void *field, const char *arg, struct weir_err *e);
static int set_time(void *field, const char *arg, struct weir_err *e);
static int set_style(void *field, const char *arg, struct weir_err *e);
static int set_absent(void *field, const char *arg, struct weir_err *e);
static int set_nothing(void *field, const char *arg, struct weir_err *e);
static int set_v4(void *field, const char *arg, struct weir_err *e);
static int set_v6(void *field, const char *arg, struct weir_err *e);

/* clang-format off */
static const struct opt both_rows[] = {
	{.name = "port", .letter = 'p', .type = OPT_INT, .offset = F(port), .metavar = "N", .help = "the server's port", .min = 1, .max = 65535, .fallback = "5201"},
	{.name = "format", .letter = 'f', .type = OPT_FUNC, .metavar = "k|m|g|t|K|M|G|T", .help = "unit of rates: bits (small letter) or bytes (capital)", .func = set_format},
	{.name = "interval", .letter = 'i', .type = OPT_FUNC, .metavar = "S", .help = "seconds between reports, 0.1 to 60; 0 = none", .func = set_interval},
	{.name = "pidfile", .letter = 'I', .type = OPT_STR, .offset = F(pidfile), .metavar = "FILE", .help = "write the number of this process there"},
	{.name = "file", .letter = 'F', .type = OPT_STR, .offset = F(file), .metavar = "FILE", .help = "send this file, or write there what comes (TCP)"},
	{.name = "affinity", .letter = 'A', .type = OPT_FUNC, .metavar = "N[,M]", .help = "run on CPU N; the server on its CPU M for this test", .func = set_affinity},
	{.name = "bind", .letter = 'B', .type = OPT_STR, .offset = F(bind), .metavar = "HOST[%DEV]", .help = "local address"},
	{.name = "bind-dev", .type = OPT_STR, .offset = F(bind_dev), .metavar = "DEV", .help = "local interface (SO_BINDTODEVICE)"},
	{.name = "verbose", .letter = 'V', .type = OPT_FLAG, .offset = F(verbose), .help = "more text"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document at the end"},
	{.name = "json-stream", .type = OPT_FLAG, .offset = F(stream), .help = "a JSON event a line, as things happen"},
	{.name = "json-stream-full-output", .type = OPT_FLAG, .offset = F(full), .help = "the same, and the whole document at the end"},
	{.name = "logfile", .type = OPT_STR, .offset = F(logfile), .metavar = "FILE", .help = "append all output to this file"},
	{.name = "forceflush", .type = OPT_FLAG, .offset = F(forceflush), .help = "flush output at every interval (always so here)"},
	{.name = "timestamps", .type = OPT_STR, .offset = F(timestamps), .flags = OPT_OPTARG, .metavar = "FORMAT", .help = "the time in front of each line, as strftime(3) has it"},
	{.name = "rcv-timeout", .type = OPT_FUNC, .metavar = "MS", .help = "give up when nothing comes for so long (120000)", .func = set_rcv_timeout},
	{.name = "snd-timeout", .type = OPT_INT, .offset = F(snd_timeout_ms), .metavar = "MS", .help = "give up when nothing is acknowledged for so long (TCP_USER_TIMEOUT)", .min = 0, .max = TIMEOUT_MAX_MS},
	{.name = "cntl-ka", .type = OPT_FUNC, .flags = OPT_OPTARG, .metavar = "IDLE/INTERVAL/COUNT", .help = "TCP keepalive of the control connection", .func = set_keepalive},
	{.name = "mptcp", .letter = 'm', .type = OPT_FLAG, .offset = F(mptcp), .help = "not here: flows are plain TCP"},
	{.name = "debug", .letter = 'd', .type = OPT_FUNC, .flags = OPT_OPTARG, .metavar = "LEVEL", .help = "what is said on standard error (1 to 4)", .func = set_debug},
	{.name = "version4", .letter = '4', .type = OPT_FUNC, .help = "IPv4 only", .func = set_v4},
	{.name = "version6", .letter = '6', .type = OPT_FUNC, .help = "IPv6 only", .func = set_v6},
	{.name = "version", .letter = 'v', .type = OPT_FLAG, .offset = F(version), .help = "say which version this stands for"},
	{.name = "help", .letter = 'h', .type = OPT_FLAG, .offset = F(help), .help = "say this"},
};
static const struct opt server_rows[] = {
	{.name = "server", .letter = 's', .type = OPT_FLAG, .offset = F(server), .help = "be a server"},
	{.name = "daemon", .letter = 'D', .type = OPT_FLAG, .offset = F(daemon), .help = "in the background"},
	{.name = "one-off", .letter = '1', .type = OPT_FLAG, .offset = F(one_off), .help = "one test, then exit"},
	{.name = "server-bitrate-limit", .type = OPT_FUNC, .metavar = "RATE[/S]", .help = "refuse tests that ask for more; end those that move more, on average over S seconds (5)", .func = set_limit},
	{.name = "idle-timeout", .type = OPT_INT, .offset = F(idle_s), .metavar = "S", .help = "with -1: exit when no client came for so long; else nothing can be stuck", .min = 1, .max = 86400},
	{.name = "server-max-duration", .type = OPT_INT, .offset = F(max_duration_s), .metavar = "S", .help = "refuse longer tests, and endless ones", .min = 0, .max = 86400},
	{.name = "rsa-private-key-path", .type = OPT_STR, .offset = F(key), .metavar = "FILE", .help = "clients must log in: this server's key (PEM)"},
	{.name = "authorized-users-path", .type = OPT_STR, .offset = F(users), .metavar = "FILE", .help = "who may: lines NAME,HASH"},
	{.name = "time-skew-threshold", .type = OPT_INT, .offset = F(skew_s), .metavar = "S", .help = "how far a login's clock may differ", .min = 1, .max = 3600, .fallback = "10"},
	{.name = "use-pkcs1-padding", .type = OPT_FLAG, .offset = F(pkcs1), .help = "logins as iperf3 before 3.17 has them (a client may use it too)"},
};
static const struct opt client_rows[] = {
	{.name = "client", .letter = 'c', .type = OPT_STR, .offset = F(host), .metavar = "HOST[%DEV]", .help = "be a client of that server"},
	{.name = "sctp", .type = OPT_FLAG, .offset = F(sctp), .help = "not here: TCP and UDP only"},
	{.name = "xbind", .letter = 'X', .type = OPT_FUNC, .metavar = "NAME", .help = "not here: of SCTP", .func = set_absent},
	{.name = "nstreams", .type = OPT_FUNC, .metavar = "N", .help = "not here: of SCTP", .func = set_absent},
	{.name = "udp", .letter = 'u', .type = OPT_FLAG, .offset = F(udp), .help = "UDP instead of TCP"},
	{.name = "connect-timeout", .type = OPT_INT, .offset = F(connect_timeout_ms), .metavar = "MS", .help = "give up when the server does not answer by then", .min = 0, .max = TIMEOUT_MAX_MS},
	{.name = "bitrate", .letter = 'b', .type = OPT_FUNC, .metavar = "RATE[/N]", .help = "rate of each stream (in bursts of N blocks); 0 = as fast as it goes; UDP without it: 1M", .func = set_rate},
	{.name = "bandwidth", .type = OPT_FUNC, .flags = OPT_HIDDEN, .metavar = "RATE[/N]", .help = "older name of --bitrate", .func = set_rate},
	{.name = "pacing-timer", .type = OPT_FUNC, .metavar = "US", .help = "for old servers; no effect: each block has its due time here", .func = set_nothing},
	{.name = "fq-rate", .type = OPT_RATE, .offset = F(fq_rate), .metavar = "RATE", .help = "let the kernel pace each stream (SO_MAX_PACING_RATE)"},
	{.name = "no-fq-socket-pacing", .type = OPT_FUNC, .flags = OPT_HIDDEN, .help = "no kernel pacing", .func = set_nothing},
	{.name = "time", .letter = 't', .type = OPT_FUNC, .metavar = "S", .help = "seconds to run (10; 0 = until it is stopped)", .func = set_time},
	{.name = "bytes", .letter = 'n', .type = OPT_SIZE, .offset = F(bytes), .metavar = "N", .help = "end when so many bytes were sent in all, to the byte"},
	{.name = "blockcount", .letter = 'k', .type = OPT_SIZE, .offset = F(blocks), .metavar = "N", .help = "end when so many blocks were sent in all"},
	{.name = "length", .letter = 'l', .type = OPT_SIZE, .offset = F(len), .metavar = "N", .help = "bytes of a write, a read, a datagram", .max = 1048576},
	{.name = "cport", .type = OPT_INT, .offset = F(cport), .metavar = "N", .help = "first local port of the streams", .min = 1, .max = 65535},
	{.name = "parallel", .letter = 'P', .type = OPT_INT, .offset = F(parallel), .metavar = "N", .help = "streams in each direction", .min = INT32_MIN, .max = 128, .fallback = "1"},
	{.name = "reverse", .letter = 'R', .type = OPT_FLAG, .offset = F(reverse), .help = "the server sends"},
	{.name = "bidir", .type = OPT_FLAG, .offset = F(bidir), .help = "both directions at once"},
	{.name = "window", .letter = 'w', .type = OPT_SIZE, .offset = F(window), .metavar = "N", .help = "socket buffers", .max = 512 << 20},
	{.name = "congestion", .letter = 'C', .type = OPT_STR, .offset = F(cc), .metavar = "ALGO", .help = "congestion control"},
	{.name = "linux-congestion", .type = OPT_STR, .offset = F(cc), .flags = OPT_HIDDEN, .metavar = "ALGO", .help = "older name of --congestion"},
	{.name = "set-mss", .letter = 'M', .type = OPT_INT, .offset = F(mss), .metavar = "N", .help = "maximum segment size", .min = 0, .max = INT32_MAX},
	{.name = "no-delay", .letter = 'N', .type = OPT_FLAG, .offset = F(nodelay), .help = "TCP_NODELAY"},
	{.name = "tos", .letter = 'S', .type = OPT_FUNC, .metavar = "N", .help = "the traffic class byte: 52, 064, 0x34", .func = set_tos},
	{.name = "dscp", .type = OPT_FUNC, .metavar = "N|NAME", .help = "the traffic class by code point: 0 to 63, ef, af41, cs1, …", .func = set_dscp},
	{.name = "flowlabel", .letter = 'L', .type = OPT_INT, .offset = F(flow_label), .metavar = "N", .help = "IPv6 flow label", .min = 1, .max = 0xfffff},
	{.name = "zerocopy", .letter = 'Z', .type = OPT_FLAG, .offset = F(zerocopy), .help = "send with sendfile()"},
	{.name = "skip-rx-copy", .type = OPT_FLAG, .offset = F(rx_trunc), .help = "receive without copying (MSG_TRUNC)"},
	{.name = "omit", .letter = 'O', .type = OPT_INT, .offset = F(omit_s), .metavar = "S", .help = "seconds of warm-up that do not count", .min = 0, .max = 600},
	{.name = "title", .letter = 'T', .type = OPT_STR, .offset = F(title), .metavar = "TEXT", .help = "in front of each line"},
	{.name = "extra-data", .type = OPT_STR, .offset = F(extra_data), .metavar = "TEXT", .help = "into the JSON of both ends"},
	{.name = "get-server-output", .type = OPT_FLAG, .offset = F(server_output), .help = "the server's own report too"},
	{.name = "udp-counters-64bit", .type = OPT_FLAG, .offset = F(wide), .help = "64-bit sequence numbers"},
	{.name = "gsro", .type = OPT_FLAG, .offset = F(gsro), .help = "UDP batches in the kernel: always so here, where the path takes them"},
	{.name = "repeating-payload", .type = OPT_FLAG, .offset = F(digits), .help = "digits as payload, not random bytes"},
	{.name = "dont-fragment", .type = OPT_FLAG, .offset = F(dont_fragment), .help = "forbid IP fragments"},
	{.name = "username", .type = OPT_STR, .offset = F(username), .metavar = "NAME", .help = "log in as; the password is asked for, or in IPERF3_PASSWORD"},
	{.name = "rsa-public-key-path", .type = OPT_STR, .offset = F(public_key), .metavar = "FILE", .help = "the server's public key (PEM)"},
};
static const struct opt weir_rows[] = {
	{.name = "style", .type = OPT_FUNC, .metavar = "3.12|3.21", .help = "print as this version where they differ (3.12)", .func = set_style},
	{.name = "tag", .type = OPT_LIST, .offset = F(tags), .metavar = "KEY=VALUE", .help = "mark the stored run, to be found again"},
	{.name = "db", .type = OPT_STR, .offset = F(db), .metavar = "FILE", .help = "the database of runs"},
	{.name = "no-store", .type = OPT_FLAG, .offset = F(no_store), .help = "do not keep the run"},
};
/* clang-format on */

enum role { ROLE_BOTH, ROLE_SERVER, ROLE_CLIENT, ROLE_WEIR };
const struct opt_set i3_sets[] = {
	[ROLE_BOTH] = {.title = "Server or client", .rows = both_rows, .n = ARRAY_LEN(both_rows)},
	[ROLE_SERVER] = {.title = "Server", .rows = server_rows, .n = ARRAY_LEN(server_rows)},
	[ROLE_CLIENT] = {.title = "Client", .rows = client_rows, .n = ARRAY_LEN(client_rows)},
	[ROLE_WEIR] = {.title = "Weir's own", .rows = weir_rows, .n = ARRAY_LEN(weir_rows)},
};
const size_t i3_n_sets = ARRAY_LEN(i3_sets);

/* A value out of its range, in the words that scripts look for. */
static const struct {
	const char *option, *text;
} range_words[] = {
	{"port", "port number must be between 1 and 65535 inclusive"},
	{"cport", "port number must be between 1 and 65535 inclusive"},
	{"time", "test duration too long (maximum = 86400 seconds)"},
	{"parallel", "number of parallel streams too large (maximum = 128)"},
	{"length", "block size too large (maximum = 1048576 bytes)"},
	{"window", "socket buffer size too large (maximum = 536870912 bytes)"},
	{"omit", "bogus value for --omit"},
	{"interval", "invalid report interval (min = 0.1, max = 60 seconds)"},
	{"bitrate", "invalid burst count (maximum = 1000)"},
	{"bandwidth", "invalid burst count (maximum = 1000)"},
	{"tos", "bad TOS value (must be between 0 and 255 inclusive)"},
	{"dscp", "bad TOS value (must be between 0 and 255 inclusive)"},
	{"flowlabel", "unable to set IPv6 flow label"},
	{"affinity", "unable to set CPU affinity: "},
	{"format", "bad format specifier (valid formats are in the set [kmgtKMGT])"},
	{"rcv-timeout", "receive timeout value is incorrect or not in range: "},
	{"snd-timeout", "send timeout value is incorrect or not in range: "},
	{"idle-timeout", "idle timeout parameter is not positive or larger than allowed limit"},
	{"server-max-duration", "duration is not in range (maximum = 86400 seconds)"},
	{"time-skew-threshold", "skew threshold must be a positive number"},
	{"server-bitrate-limit", "bitrate limit: averaging interval must be 0.1 to 1000 seconds"},
	{"cntl-ka", "control connection keepalive: IDLE must be over INTERVAL * COUNT"},
	{"style", "--style is 3.12 or 3.21"},
};

static const char *words_of(const struct opt *o)
{
	for (size_t i = 0; i < ARRAY_LEN(range_words); i++) {
		if (!strcmp(range_words[i].option, o->name))
			return range_words[i].text;
	}
	return "";
}

/* ---- values ------------------------------------------------------------------------------ */

bool i3_number(const char *s, double base, double *v)
{
	static const char suffixes[] = "kmgt";
	char *end;
	const char *at;

	*v = strtod(s, &end);
	if (end == s)
		return false;
	at = *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
	for (const char *p = suffixes; at && p <= at; p++)
		*v *= base;
	return true;
}

static uint64_t whole(const char *s, double base)
{
	double v;

	return i3_number(s, base, &v) && v > 0 ? (v < 9e18 ? (uint64_t)v : INT64_MAX) : 0;
}

static int set_format(void *field, const char *arg, struct weir_err *e)
{
	(void)e;
	if (!arg[0] || !strchr("kmgtKMGT", arg[0]))
		return -ERANGE;
	((struct i3_cfg *)field)->unit = arg[0];
	return 0;
}

static int set_interval(void *field, const char *arg, struct weir_err *e)
{
	double v = atof(arg);

	(void)e;
	if (v < 0 || v > 60 || (v > 0 && v < 0.1))
		return -ERANGE;
	((struct i3_cfg *)field)->interval_s = v;
	return 0;
}

static int cpu_of(const char *s, char **end)
{
	long v = strtol(s, end, 10);

	return *end == s || v < 0 || v > 1023 ? -1 : (int)v;
}

static int set_affinity(void *field, const char *arg, struct weir_err *e)
{
	struct i3_cfg *c = field;
	char *end;

	(void)e;
	c->cpu = cpu_of(arg, &end);
	if (c->cpu < 0 || (*end && *end != ',' && *end != '/'))
		return -ERANGE;
	if (*end)
		c->server_cpu = cpu_of(end + 1, &end);
	return *end || c->server_cpu < -1 ? -ERANGE : 0;
}

static int set_rate(void *field, const char *arg, struct weir_err *e)
{
	struct i3_cfg *c = field;
	const char *slash = strchr(arg, '/');

	(void)e;
	c->rate_given = true;
	c->rate_bps = whole(arg, 1000);
	c->burst = slash ? atoi(slash + 1) : 0;
	return slash && (c->burst < 1 || c->burst > 1000) ? -ERANGE : 0;
}

static int set_limit(void *field, const char *arg, struct weir_err *e)
{
	struct i3_cfg *c = field;
	const char *slash = strchr(arg, '/');

	(void)e;
	c->limit_bps = whole(arg, 1000);
	c->limit_s = slash ? atoi(slash + 1) : 5;
	return c->limit_s < 1 || c->limit_s > I3_RATE_PERIODS_MAX ? -ERANGE : 0;
}

static int set_tos(void *field, const char *arg, struct weir_err *e)
{
	char *end;
	long v = strtol(arg, &end, 0);

	(void)e;
	if (end == arg || *end || v < 0 || v > 255)
		return -ERANGE;
	((struct i3_cfg *)field)->tos = v;
	return 0;
}

static int set_dscp(void *field, const char *arg, struct weir_err *e)
{
	static const struct {
		const char *name;
		int tos;
	} names[] = {
		{"af11", 10 << 2}, {"af12", 12 << 2},     {"af13", 14 << 2},  {"af21", 18 << 2},
		{"af22", 20 << 2}, {"af23", 22 << 2},     {"af31", 26 << 2},  {"af32", 28 << 2},
		{"af33", 30 << 2}, {"af41", 34 << 2},     {"af42", 36 << 2},  {"af43", 38 << 2},
		{"cs0", 0},        {"cs1", 8 << 2},       {"cs2", 16 << 2},   {"cs3", 24 << 2},
		{"cs4", 32 << 2},  {"cs5", 40 << 2},      {"cs6", 48 << 2},   {"cs7", 56 << 2},
		{"ef", 46 << 2},   {"va", 44 << 2},       {"lowdelay", 0x10}, {"throughput", 0x08},
		{"le", 1 << 2},    {"reliability", 0x04},
	};
	char *end;
	long v;

	(void)e;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strcasecmp(names[i].name, arg)) {
			((struct i3_cfg *)field)->tos = names[i].tos;
			return 0;
		}
	}
	v = strtol(arg, &end, 0);
	if (end == arg || *end || v < 0 || v > 63)
		return -ERANGE;
	((struct i3_cfg *)field)->tos = v << 2;
	return 0;
}

static int set_keepalive(void *field, const char *arg, struct weir_err *e)
{
	struct i3_cfg *c = field;
	int64_t *const at[] = {&c->keep_idle, &c->keep_interval, &c->keep_count};

	(void)e;
	c->keepalive = true;
	for (size_t i = 0; arg && i < ARRAY_LEN(at); i++) {
		*at[i] = atoi(arg);
		arg = strchr(arg, '/');
		arg = arg ? arg + 1 : NULL;
	}
	return c->keep_idle && c->keep_interval * c->keep_count >= c->keep_idle ? -ERANGE : 0;
}

static int set_debug(void *field, const char *arg, struct weir_err *e)
{
	int level = arg ? atoi(arg) : 4;

	(void)e;
	((struct i3_cfg *)field)->debug = level < 1 || level > 4 ? 4 : level;
	return 0;
}

static int set_rcv_timeout(void *field, const char *arg, struct weir_err *e)
{
	struct i3_cfg *c = field;

	(void)e;
	c->rcv_given = true;
	c->rcv_timeout_ms = atoi(arg);
	return c->rcv_timeout_ms < 100 || c->rcv_timeout_ms > TIMEOUT_MAX_MS ? -ERANGE : 0;
}

static int set_time(void *field, const char *arg, struct weir_err *e)
{
	struct i3_cfg *c = field;

	(void)e;
	c->time_given = true;
	c->time_s = atoi(arg);
	return c->time_s < 0 || c->time_s > 86400 ? -ERANGE : 0;
}

static int set_style(void *field, const char *arg, struct weir_err *e)
{
	bool old = !strcmp(arg, "3.12");

	(void)e;
	((struct i3_cfg *)field)->style = old ? I3_STYLE_312 : I3_STYLE_321;
	return old || !strcmp(arg, "3.21") ? 0 : -ERANGE;
}

static int set_absent(void *field, const char *arg, struct weir_err *e)
{
	(void)field, (void)arg, (void)e;
	return -ENOTSUP;
}

static int set_nothing(void *field, const char *arg, struct weir_err *e)
{
	(void)field, (void)arg, (void)e;
	return 0;
}

static int set_family(struct i3_cfg *c, bool v6)
{
	c->v4 = !v6;
	c->v6 = v6;
	return 0;
}

/* The last one holds. */
static int set_v4(void *field, const char *arg, struct weir_err *e)
{
	(void)arg, (void)e;
	return set_family(field, false);
}

static int set_v6(void *field, const char *arg, struct weir_err *e)
{
	(void)arg, (void)e;
	return set_family(field, true);
}

static int set_text(char **at, const char *arg)
{
	free(*at);
	*at = strdup(arg ? arg : "");
	return *at ? 0 : -ENOMEM;
}

static int add_text(struct opt_list *l, const char *arg)
{
	char **v = realloc(l->v, (l->n + 2) * sizeof(char *));

	if (!v)
		return -ENOMEM;
	l->v = v;
	v[l->n] = strdup(arg);
	v[l->n + 1] = NULL;
	return v[l->n++] ? 0 : -ENOMEM;
}

static int set_whole(const struct opt *o, uint64_t *at, const char *arg, double base)
{
	*at = whole(arg, base);
	return o->max && *at > (uint64_t)o->max ? -ERANGE : 0;
}

static int set_value(struct i3_cfg *c, const struct opt *o, const char *arg)
{
	void *at = (char *)c + o->offset;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_INT:
		*(int64_t *)at = atoi(arg);
		return *(int64_t *)at < o->min || *(int64_t *)at > o->max ? -ERANGE : 0;
	case OPT_SIZE:
		return set_whole(o, at, arg, 1024);
	case OPT_RATE:
		return set_whole(o, at, arg, 1000);
	case OPT_STR:
		return set_text(at, arg);
	case OPT_LIST:
		return add_text(at, arg);
	default:
		return o->func(c, arg, NULL);
	}
}

/* ---- the line --------------------------------------------------------------------------------- */

static int fail(struct i3_error *e, const char *text)
{
	e->param = true;
	snprintf(e->text, sizeof(e->text), "%s", text);
	return -EINVAL;
}

static int value_failed(const struct opt *o, int rc, struct i3_error *e)
{
	if (rc == -ENOTSUP) {
		e->param = true;
		snprintf(e->text, sizeof(e->text), "--%s: %s", o->name, o->help);
		return -EINVAL;
	}
	fail(e, rc == -ENOMEM ? "out of memory" : words_of(o));
	if (!e->text[0])
		snprintf(e->text, sizeof(e->text), "--%s: out of its range", o->name);
	return -EINVAL;
}

struct names { /* for getopt_long: its value is 256 times the set, plus the row, from 256 on */
	struct option long_names[128];
	char letters[256];
	int of_letter[128];
};

static int takes(const struct opt *o)
{
	if (o->flags & OPT_OPTARG)
		return optional_argument;
	return o->metavar ? required_argument : no_argument;
}

static void add_letter(struct names *n, const struct opt *o, int value)
{
	size_t at = strlen(n->letters);

	n->of_letter[(int)o->letter] = value;
	/* An optional argument has only the long form: "-d" may be followed by letters. */
	snprintf(n->letters + at, sizeof(n->letters) - at, "%c%s", o->letter,
		 takes(o) == required_argument ? ":" : "");
}

static void make_names(struct names *n)
{
	size_t k = 0;

	*n = (struct names){0};
	for (size_t s = 0; s < i3_n_sets; s++) {
		for (size_t i = 0; i < i3_sets[s].n && k + 1 < ARRAY_LEN(n->long_names); i++) {
			const struct opt *o = &i3_sets[s].rows[i];
			int value = (int)(256 * (s + 1) + i);

			n->long_names[k++] = (struct option){o->name, takes(o), NULL, value};
			if (o->letter)
				add_letter(n, o, value);
		}
	}
}

struct seen {
	bool server_only, client_only;
};

static void note_role(struct seen *seen, enum role role, const struct opt *o)
{
	/* What 3.17 to 3.19 took from a client too is taken. */
	if (role == ROLE_SERVER && o->letter != 's' && strcmp(o->name, "use-pkcs1-padding") != 0)
		seen->server_only = true;
	if (role == ROLE_CLIENT && o->letter != 'c')
		seen->client_only = true;
}

static int take(struct i3_cfg *c, const struct names *n, int got, struct seen *seen,
		struct i3_error *e)
{
	int value = got < 128 ? n->of_letter[got & 127] : got, rc;
	const struct opt *o;

	if (got == '?' || value < 256) {
		e->told = true;
		return -EINVAL;
	}
	o = &i3_sets[value / 256 - 1].rows[value % 256];
	note_role(seen, (enum role)(value / 256 - 1), o);
	rc = set_value(c, o, optarg);
	return rc < 0 ? value_failed(o, rc, e) : 0;
}

static int parse_line(struct i3_cfg *c, int argc, char **argv, struct seen *seen,
		      struct i3_error *e)
{
	struct i3_error rest;
	struct names n;
	int got, rc = 0;

	make_names(&n);
	optind = 0; /* GNU: from the start, whatever was parsed before */
	while (rc >= 0 && (got = getopt_long(argc, argv, n.letters, n.long_names, NULL)) != -1)
		rc = take(c, &n, got, seen, e);
	/* How it is to be said may stand behind what was wrong. */
	opterr = 0;
	while (rc < 0 && (got = getopt_long(argc, argv, n.letters, n.long_names, NULL)) != -1)
		take(c, &n, got, seen, &rest);
	opterr = 1;
	return rc;
}

int i3_split_device(char **host, char **dev)
{
	char *percent = *host ? strrchr(*host, '%') : NULL;

	if (!percent)
		return 0;
	/* "fe80::1%eth0" is an address and its zone. */
	if (memchr(*host, ':', (size_t)(percent - *host)))
		return 0;
	*percent = '\0';
	return set_text(dev, percent + 1);
}

static void fill_in(struct i3_cfg *c)
{
	c->stream |= c->full;
	c->json |= c->stream;
	c->omit_s = c->omit_s < 0 ? 0 : c->omit_s;
	c->parallel = c->parallel < 1 ? 1 : c->parallel;
	if (c->timestamps && !c->timestamps[0])
		set_text(&c->timestamps, "%c ");
	i3_split_device(&c->host, &c->bind_dev);
	i3_split_device(&c->bind, &c->bind_dev);
	if (c->udp && !c->rate_given)
		c->rate_bps = 1 << 20;
}

static int check(const struct i3_cfg *c, const struct seen *seen, struct i3_error *e)
{
	const struct {
		bool bad;
		const char *text;
	} rules[] = {
		{c->mptcp, "--mptcp: not here: flows are plain TCP"},
		{c->sctp, "--sctp: not here: TCP and UDP only"},
		{c->server && c->host, "cannot be both server and client"},
		{!c->server && !c->host, "must either be a client (-c) or server (-s)"},
		{c->server && seen->client_only,
		 "some option you are trying to set is client only"},
		{c->host && seen->server_only, "some option you are trying to set is server only"},
		{c->reverse && c->bidir, "cannot be both reverse and bidirectional"},
		{(c->bytes > 0) + (c->blocks > 0) + c->time_given > 1,
		 "only one test end condition (-t, -n, -k) may be specified"},
		{c->udp && c->len && (c->len < 16 || c->len > 65507),
		 "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"},
		{c->udp && c->file, "-F sends a file by TCP only"},
		{c->host && c->rcv_given && !c->reverse && !c->bidir,
		 "client receive timeout is valid only in receiving mode: "},
		{!c->username != !c->public_key, I3_NO_CLIENT_KEY},
		{!c->key != !c->users, I3_NO_SERVER_KEY},
		{c->style == I3_STYLE_312 && c->omit_s > 60, "bogus value for --omit"},
		{c->style == I3_STYLE_312 && c->mss > 9216,
		 "TCP MSS too large (maximum = 9216 bytes)"},
		{c->mss > MSS_MAX, "TCP MSS too large (maximum = 32767 bytes)"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (rules[i].bad)
			return fail(e, rules[i].text);
	}
	return 0;
}

int i3_parse(struct i3_cfg *c, int argc, char **argv, struct i3_error *e)
{
	struct seen seen = {0};
	int rc;

	*c = (struct i3_cfg){.port = 5201,
			     .interval_s = 1,
			     .cpu = -1,
			     .server_cpu = -1,
			     .rcv_timeout_ms = 120000,
			     .limit_s = 5,
			     .skew_s = 10,
			     .time_s = 10,
			     .parallel = 1};
	*e = (struct i3_error){0};
	rc = parse_line(c, argc, argv, &seen, e);
	fill_in(c);
	if (rc < 0 || c->help || c->version)
		return rc;
	return check(c, &seen, e);
}

void i3_cfg_fini(struct i3_cfg *c)
{
	for (size_t s = 0; s < i3_n_sets; s++) {
		for (size_t i = 0; i < i3_sets[s].n; i++) {
			const struct opt *o = &i3_sets[s].rows[i];
			char **at = (char **)(void *)((char *)c + o->offset);

			if (o->type != OPT_STR)
				continue;
			free(*at);
			*at = NULL; /* two rows may have one place */
		}
	}
	for (size_t i = 0; i < c->tags.n; i++)
		free(c->tags.v[i]);
	free(c->tags.v);
}
