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
#define ROWS_MAX  112
#define OPT_FIRST 256
#define KEY_CHARS 24

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
	{.name = "permit-key", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(key), .metavar = "KEY", .help = "an access token, sent in clear"},
	{.name = "tos", .letter = 'S', .type = OPT_STR, .offset = F(tos), .metavar = "N", .help = "the traffic class byte"},
	{.name = "enhanced", .letter = 'e', .type = OPT_FLAG, .offset = F(enhanced), .help = "more columns: writes, retransmits, window, round trip, reads, latency"},
	{.name = "output", .letter = 'o', .type = OPT_STR, .offset = F(output), .metavar = "FILE", .help = "print into that file"},
	{.name = "hide-ips", .type = OPT_FLAG, .offset = F(hide), .help = "print no more of IPv4 addresses than the last number"},
	{.name = "sum-only", .type = OPT_FLAG, .offset = F(sum_only), .help = "print rows of sums alone"},
	{.name = "realtime", .letter = 'z', .type = OPT_FLAG, .offset = F(realtime), .help = "ask for the realtime scheduler"},
	{.name = "reportexclude", .letter = 'x', .type = OPT_STR, .offset = F(exclude), .metavar = "CDMSV", .help = "print no connections, data, multicast, settings, server reports"},
	{.name = "trip-times", .type = OPT_FLAG, .offset = F(trip), .help = "one-way times by both clocks, which have to agree"},
	{.name = "histograms", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(hist), .metavar = "W[u|m],BINS[,LO[,HI]]", .help = "histograms of latencies; of writes with --tcp-write-times"},
	{.name = "udp-histogram", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(hist), .metavar = "W,BINS", .help = "the same"},
	{.name = "time", .letter = 't', .type = OPT_STR, .offset = F(time), .metavar = "S", .help = "seconds to send (10); of a server: its tests' longest"},
	{.name = "ssm-host", .letter = 'H', .type = OPT_STR, .offset = F(ssm), .metavar = "HOST", .help = "server, with -B GROUP: the only source of the group"},
	{.name = "NUM_REPORT_STRUCTS", .type = OPT_STR, .offset = F(ignored), .metavar = "N", .help = "accepted; there is no such ring"},
	{.name = "help", .letter = 'h', .type = OPT_FLAG, .offset = F(help), .help = "this text"},
	{.name = "version", .letter = 'v', .type = OPT_FLAG, .offset = F(version), .help = "which one this is"},
	{.name = "style", .type = OPT_STR, .offset = F(style), .metavar = "2.0.5|2.1", .help = "weir's own: whose forms (2.1)"},
};
static const struct opt server_rows[] = {
	{.name = "daemon", .letter = 'D', .type = OPT_FLAG, .offset = F(daemon), .help = "go on in the background"},
	{.name = "singleclient", .letter = '1', .type = OPT_FLAG, .offset = F(single), .help = "one test at a time"},
};
static const struct opt client_rows[] = {
	{.name = "bandwidth", .letter = 'b', .type = OPT_STR, .offset = F(rate), .metavar = "N[KMG][,DEV]|Npps", .help = "rate of a stream, bit/s or packets/s, with its deviation; UDP: 1M"},
	{.name = "num", .letter = 'n', .type = OPT_STR, .offset = F(bytes), .metavar = "N[KM]", .help = "bytes to send in each stream, instead of a time"},
	{.name = "parallel", .letter = 'P', .type = OPT_STR, .offset = F(parallel), .metavar = "N", .help = "streams"},
	{.name = "reverse", .letter = 'R', .type = OPT_FLAG, .offset = F(reverse), .help = "the server sends"},
	{.name = "full-duplex", .type = OPT_FLAG, .offset = F(duplex), .help = "both ways on one connection"},
	{.name = "dualtest", .letter = 'd', .type = OPT_FLAG, .offset = F(dual), .help = "both ways at once: the server connects back"},
	{.name = "tradeoff", .letter = 'r', .type = OPT_FLAG, .offset = F(trade), .help = "one way, then the other: the server connects back (TCP)"},
	{.name = "listenport", .letter = 'L', .type = OPT_STR, .offset = F(listen), .metavar = "N", .help = "where the server connects back to (the port of -p)"},
	{.name = "fileinput", .letter = 'F', .type = OPT_STR, .offset = F(file), .metavar = "FILE", .help = "send that file (TCP)"},
	{.name = "stdin", .letter = 'I', .type = OPT_FLAG, .offset = F(stdin_too), .help = "send what standard input has, a file or a pipe (TCP)"},
	{.name = "ttl", .letter = 'T', .type = OPT_STR, .offset = F(ttl), .metavar = "N", .help = "hops of a multicast datagram (1)"},
	{.name = "linux-congestion", .letter = 'Z', .type = OPT_STR, .offset = F(cc), .metavar = "ALGO", .help = "congestion control"},
	{.name = "tcp-congestion", .type = OPT_STR, .offset = F(cc), .metavar = "ALGO", .help = "the same"},
	{.name = "fq-rate", .type = OPT_STR, .offset = F(fq_rate), .metavar = "N[KMG]", .help = "pacing by the kernel"},
	{.name = "peer-detect", .letter = 'X', .type = OPT_FLAG, .offset = F(nothing), .help = "always so: the server's version is in the run"},
	{.name = "txdelay-time", .type = OPT_STR, .offset = F(txdelay), .metavar = "S", .help = "wait so long after connecting"},
	{.name = "txstart-time", .type = OPT_STR, .offset = F(txstart), .metavar = "S", .help = "begin then, seconds since 1970"},
	{.name = "isochronous", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(iso), .metavar = "FPS:MEAN[,DEV]", .help = "frames of a drawn size so often (60:20m,0)"},
	{.name = "ipg", .type = OPT_STR, .offset = F(ipg), .metavar = "S", .help = "UDP: seconds between datagrams"},
	{.name = "burst-size", .type = OPT_STR, .offset = F(burst_size), .metavar = "N[KM]", .help = "TCP: bursts of so many bytes (1M)"},
	{.name = "burst-period", .type = OPT_STR, .offset = F(burst_period), .metavar = "S", .help = "so often (1)"},
	{.name = "near-congestion", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(near), .metavar = "W", .help = "TCP: after each write rest for this share of the round trip (0.5)"},
	{.name = "tcp-write-times", .type = OPT_FLAG, .offset = F(write_times), .help = "time each write"},
	{.name = "tcp-quickack", .type = OPT_FLAG, .offset = F(quickack), .help = "ask for acknowledgements without delay"},
	{.name = "no-udp-fin", .type = OPT_FLAG, .offset = F(no_fin), .help = "neither an end nor a report"},
	{.name = "no-connect-sync", .type = OPT_FLAG, .offset = F(nothing), .help = "accepted; streams begin together always"},
	{.name = "connect-only", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(connect_only), .metavar = "N", .help = "TCP: connect N times (0 = for -t) and measure that"},
	{.name = "connect-retries", .type = OPT_STR, .offset = F(connect_retries), .metavar = "N", .help = "try again to connect, a second apart"},
	{.name = "incr-dstport", .type = OPT_FLAG, .offset = F(incr_dstport), .help = "each stream of -P to the next port"},
	{.name = "bounceback", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(bb), .metavar = "N", .help = "TCP: bursts of N (10) messages of -l bytes (100) that come back"},
	{.name = "bounceback-congest", .type = OPT_STR, .flags = OPT_OPTARG, .offset = F(bb_congest), .metavar = "up|down|bidir[,N]", .help = "with a load of N streams beside it"},
	{.name = "bounceback-hold", .type = OPT_STR, .offset = F(bb_hold), .metavar = "MS", .help = "the server keeps each so long"},
	{.name = "bounceback-period", .type = OPT_STR, .offset = F(bb_period), .metavar = "S", .help = "a burst so often (1; 0 = at once)"},
	{.name = "bounceback-no-quickack", .type = OPT_FLAG, .offset = F(bb_no_quickack), .help = "let acknowledgements wait"},
	{.name = "bounceback-txdelay", .type = OPT_STR, .offset = F(bb_txdelay), .metavar = "S", .help = "begin so long after the load"},
};
/* Not here, and why. */
static const struct opt absent_rows[] = {
	{.name = "single_udp", .letter = 'U', .type = OPT_FLAG, .help = "flows have a process each"},
	{.name = "tcp-write-prefetch", .type = OPT_STR, .metavar = "N", .help = "weir chooses TCP_NOTSENT_LOWAT by the rate"},
	{.name = "udp-l2checks", .type = OPT_FLAG, .help = "raw sockets are not here"},
	{.name = "l2checks", .type = OPT_FLAG, .help = "raw sockets are not here"},
	{.name = "tap-dev", .type = OPT_STR, .metavar = "DEV", .help = "raw sockets are not here"},
	{.name = "permit-key-timeout", .type = OPT_STR, .metavar = "S", .help = "a key holds as long as its server"},
	{.name = "tcp-rx-window-clamp", .type = OPT_STR, .metavar = "N", .help = "the server's -w bounds its window"},
	{.name = "tos-override", .type = OPT_STR, .metavar = "N", .help = "what a server sends has its client's class"},
	{.name = "sum-dstip", .type = OPT_FLAG, .help = "a server's tests are summed by nobody"},
	{.name = "incr-dstip", .type = OPT_FLAG, .help = "one server a run"},
	{.name = "incr-srcip", .type = OPT_FLAG, .help = "one local address a run"},
	{.name = "incr-srcport", .type = OPT_FLAG, .help = "local ports are the kernel's choice"},
	{.name = "local-only", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "X", .help = "SO_DONTROUTE is not here: -B ADDR%DEV of the link"},
	{.name = "working-load", .type = OPT_STR, .flags = OPT_OPTARG, .metavar = "HOW", .help = "of later versions: --bounceback-congest"},
	{.name = "ignore-shutdown", .type = OPT_FLAG, .help = "the end is always waited for"},
	{.name = "suggest_win_size", .letter = 'W', .type = OPT_FLAG, .help = "the kernel tunes the window"},
	{.name = "remove", .type = OPT_FLAG, .help = "a service of Windows"},
};
/* clang-format on */

enum set { SET_BOTH, SET_SERVER, SET_CLIENT, SET_ABSENT };
const struct opt_set i2_sets[I2_SETS] = {
	[SET_BOTH] = {.title = "Server or client", .rows = both_rows, .n = ARRAY_LEN(both_rows)},
	[SET_SERVER] = {.title = "Server", .rows = server_rows, .n = ARRAY_LEN(server_rows)},
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

/* "1000pps" needs the length. "10m,1m": and its deviation. */
static bool set_rate(struct i2_cfg *c)
{
	size_t n = c->rate ? strcspn(c->rate, ",") : 0;
	char text[64];
	double v;

	if (!c->rate)
		return true;
	if (n >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, c->rate);
	if (c->rate[n] && !number(c->rate + n + 1, c->v205, false, &c->rate_stdev))
		return false;
	if (n < 4 || strcmp(text + n - 3, "pps") != 0)
		return set_u64(text, c->v205, false, &c->rate_bps);
	text[n - 3] = '\0';
	if (!number(text, c->v205, false, &v))
		return false;
	c->rate_bps = (uint64_t)(v * 8 * (double)(c->n_len ? c->n_len : 1470));
	return true;
}

static const struct {
	const char *name;
	uint8_t tos;
} classes[] = {
	{"af11", 40},       {"af12", 48},   {"af13", 56},   {"af21", 72},     {"af22", 80},
	{"af23", 88},       {"af31", 104},  {"af32", 112},  {"af33", 120},    {"af41", 136},
	{"af42", 144},      {"af43", 152},  {"cs0", 0},     {"cs1", 32},      {"cs2", 64},
	{"cs3", 96},        {"cs4", 128},   {"cs5", 160},   {"cs6", 192},     {"cs7", 224},
	{"ef", 184},        {"le", 4},      {"nqb", 180},   {"nqb2", 4},      {"ac_be", 0},
	{"ac_bk", 32},      {"ac_vi", 160}, {"ac_vo", 192}, {"lowdelay", 16}, {"throughput", 8},
	{"reliability", 4}, {"none", 0},
};

static bool set_tos(struct i2_cfg *c)
{
	for (size_t i = 0; c->tos && i < ARRAY_LEN(classes); i++) {
		if (!strcasecmp(classes[i].name, c->tos)) {
			c->n_tos = classes[i].tos;
			return true;
		}
	}
	return set_int(c->tos, 0, 255, &c->n_tos);
}

/* "0.5s" of --histograms is "500m" there: u is microseconds, m milliseconds and what it is without. */
static bool set_hist(struct i2_cfg *c)
{
	char *end;
	double v;

	if (!c->hist)
		return true;
	c->hist_bin_ns = 100 * NSEC_PER_USEC;
	c->hist_bins = 10000;
	if (!*c->hist)
		return true;
	v = strtod(c->hist, &end);
	c->hist_bin_ns = (int64_t)(v * (*end == 'u' ? 1e3 : 1e6));
	end += *end == 'u' || *end == 'm';
	if (*end == ',')
		c->hist_bins = (uint32_t)strtoul(end + 1, &end, 10);
	if (*end == ',')
		c->hist_lower = strtod(end + 1, &end);
	if (*end == ',')
		c->hist_upper = strtod(end + 1, &end);
	return !*end && c->hist_bin_ns >= NSEC_PER_USEC && c->hist_bins >= 1 &&
	       c->hist_bins <= 1000000;
}

/* "60:20m,1m", "2:25p": the amount of a second, or datagrams of a frame. */
static bool set_iso(struct i2_cfg *c)
{
	char text[64], *mean, *dev;
	size_t n;

	if (!c->iso)
		return true;
	if (snprintf(text, sizeof(text), "%s", *c->iso ? c->iso : "60:20m,0") >= (int)sizeof(text))
		return false;
	mean = strchr(text, ':');
	if (!mean)
		return false;
	*mean++ = '\0';
	dev = strchr(mean, ',');
	if (dev)
		*dev++ = '\0';
	n = strlen(mean);
	c->iso_packets = n > 1 && mean[n - 1] == 'p';
	if (c->iso_packets)
		mean[n - 1] = '\0';
	return number(text, false, false, &c->iso_fps) && c->iso_fps >= 0.01 &&
	       c->iso_fps <= 10000 && number(mean, false, false, &c->iso_mean) && c->iso_mean > 0 &&
	       (!dev || number(dev, false, false, &c->iso_stdev));
}

static bool set_congest(struct i2_cfg *c)
{
	static const char *const names[] = {"", "bidir", "up", "down"};
	const char *s = c->bb_congest;
	size_t n;

	if (!s)
		return true;
	c->congest = I2_CONGEST_BOTH;
	c->n_bb_load = 1;
	n = strcspn(s, ",");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && !strncmp(names[i], s, n))
			c->congest = i == 2   ? I2_CONGEST_UP
				     : i == 3 ? I2_CONGEST_DOWN
					      : I2_CONGEST_BOTH;
	return !s[n] || set_int(s + n + 1, 1, 64, &c->n_bb_load);
}

/* Optional values: "" takes what stands already. */
static const char *given(const char *s)
{
	return s && *s ? s : NULL;
}

static bool set_hold(struct i2_cfg *c)
{
	int64_t ms_as_s = 0;

	if (!set_seconds(c->bb_hold, &ms_as_s)) /* milliseconds */
		return false;
	c->n_bb_hold_us = ms_as_s / NSEC_PER_SEC * 1000 + ms_as_s % NSEC_PER_SEC / 1000000;
	return c->n_bb_hold_us <= 10000000;
}

static bool set_double(const char *s, double lo, double hi, double *v)
{
	char *end;

	if (!s)
		return true;
	*v = strtod(s, &end);
	return end != s && !*end && *v >= lo && *v <= hi;
}

static const char *read_more(struct i2_cfg *c)
{
	if (c->near)
		c->near_weight = 0.5;
	if (c->iso && !set_iso(c))
		return "--isochronous";
	if (!set_hist(c))
		return "--histograms";
	if (!set_int(c->listen, 1, 65535, &c->n_listen))
		return "-L";
	if (!set_int(c->ttl, 0, 255, &c->n_ttl))
		return "-T";
	if (!set_seconds(c->txdelay, &c->txdelay_ns))
		return "--txdelay-time";
	if (!set_double(c->txstart, 1, 1e11, &c->txstart_s))
		return "--txstart-time";
	if (!set_double(given(c->near), 0, 1000, &c->near_weight))
		return "--near-congestion";
	if (!set_u64(c->burst_size, c->v205, true, &c->n_burst))
		return "--burst-size";
	if (!set_seconds(c->burst_period, &c->burst_period_ns))
		return "--burst-period";
	if (!set_seconds(c->ipg, &c->ipg_ns))
		return "--ipg";
	if (!set_int(given(c->connect_only), 0, 1000000, &c->n_connects))
		return "--connect-only";
	if (!set_int(c->connect_retries, 0, 1000, &c->n_retries))
		return "--connect-retries";
	if (!set_int(given(c->bb), 1, 1000000, &c->n_bb))
		return "--bounceback";
	if (!set_congest(c))
		return "--bounceback-congest";
	if (!set_hold(c))
		return "--bounceback-hold";
	if (!set_seconds(given(c->bb_period), &c->bb_period_ns))
		return "--bounceback-period";
	if (!set_seconds(c->bb_txdelay, &c->bb_txdelay_ns))
		return "--bounceback-txdelay";
	return NULL;
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
	if (!set_tos(c))
		return "-S";
	if (c->fmt && (strlen(c->fmt) != 1 || !strchr("kmgtaKMGTA", *c->fmt)))
		return "-f";
	c->unit = c->fmt ? *c->fmt : 0;
	return read_more(c);
}

/* A server that was given none makes one. */
static void make_key(struct i2_cfg *c)
{
	static const char chars[] = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
	uint8_t rnd[KEY_CHARS];
	char *key = malloc(KEY_CHARS + 1);

	if (!key)
		return; /* an empty one: told by check() */
	clk_random(rnd, sizeof(rnd));
	for (size_t i = 0; i < KEY_CHARS; i++)
		key[i] = chars[rnd[i] % (sizeof(chars) - 1)];
	key[KEY_CHARS] = '\0';
	free(c->key);
	c->key = key;
}

/* What follows from what was asked for. */
static void complete(struct i2_cfg *c)
{
	if (c->server && c->key && !*c->key)
		make_key(c);
	if (c->n_burst || c->burst_period)
		c->bursts = true;
	if (c->bursts && !c->n_burst)
		c->n_burst = 1 << 20;
	if (c->ipg_ns && c->udp && !c->iso)
		c->rate_bps =
			(uint64_t)((double)(c->n_len ? c->n_len : 1470) * 8e9 / (double)c->ipg_ns);
	if (!c->n_listen)
		c->n_listen = c->n_port;
	if (c->iso || c->bb)
		c->enhanced = true;
}

/* ---- the line ------------------------------------------------------------------------------- */

static const char *check_modes(const struct i2_cfg *c)
{
	if ((c->reverse || c->duplex) && (c->dual || c->trade))
		return "-d and -r have connections of their own: neither -R nor --full-duplex";
	if (c->dual && c->trade)
		return "-d and -r exclude each other";
	if (c->udp && c->trade)
		return "-r is of TCP here: -R after a first run";
	if (c->udp && c->dual && c->n_parallel > 1)
		return "-d with -u has one stream: all would come to the one port of -L";
	if (c->udp && (c->file || c->stdin_too))
		return "-F and -I are of TCP here";
	if (c->udp && (c->bb || c->connect_only || c->write_times || c->near || c->bursts))
		return "--bounceback, --connect-only, --tcp-write-times, --near-congestion and "
		       "--burst-size are of TCP";
	if (c->compat && (c->reverse || c->duplex || c->dual || c->trade || c->trip || c->iso ||
			  c->bb || c->bursts))
		return "-C sends nothing but data: it has no modes";
	if ((c->reverse || c->duplex) && (c->iso || c->bursts || c->write_times || c->near))
		return "shapes of what is sent are a client's own: neither -R nor --full-duplex";
	if (c->v205 && (c->iso || c->bursts || c->bb || c->trip || c->enhanced))
		return "2.0.5 has none of --trip-times, --isochronous, --burst-size, --bounceback, "
		       "-e";
	if (c->sum_only && c->n_parallel < 2 && !c->server)
		return "--sum-only needs -P";
	return NULL;
}

static const char *check(const struct i2_cfg *c)
{
	if (c->server == (c->host != NULL))
		return "either -c HOST or -s";
	if (c->csv && strcmp(c->csv, "C") != 0 && strcmp(c->csv, "c") != 0)
		return "-y: C is the only style";
	if (c->reverse && c->duplex)
		return "-R and --full-duplex exclude each other";
	if (c->v205 && (c->reverse || c->duplex))
		return "2.0.5 has neither -R nor --full-duplex";
	if (c->udp && c->n_len && (c->n_len < NET_UDP_LEN_MIN || c->n_len > NET_UDP_LEN_MAX))
		return "-l: a datagram has 16 to 65507 bytes";
	if (c->key && !*c->key)
		return "--permit-key: a client needs the server's";
	if (c->key && (strlen(c->key) < 4 || strlen(c->key) > 128))
		return "--permit-key: 4 to 128 characters";
	if (c->ssm && !c->bind)
		return "-H is of a multicast group: -B GROUP";
	if (c->bursts && c->n_burst < (c->n_len ? c->n_len : I2_LEN))
		return "--burst-size: at least one write (-l)";
	return check_modes(c);
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
	*text = strdup(arg ? arg : "");
	return *text ? 0 : -ENOMEM;
}

/* Its value is optional, but not only behind "=". */
static bool takes_next(const struct opt *o)
{
	return !strcmp(o->name, "permit-key");
}

int i2_parse(struct i2_cfg *c, int argc, char **argv, char *err, size_t cap)
{
	struct option longs[ROWS_MAX + 1];
	const struct opt *of[ROWS_MAX + 1] = {0};
	char letters[2 * ROWS_MAX + 2];
	const char *bad;
	int got, rc = 0;

	*c = (struct i2_cfg){.time_ns = 10 * NSEC_PER_SEC,
			     .n_port = 5001,
			     .n_parallel = 1,
			     .n_ttl = 1,
			     .n_bb = 10,
			     .bb_period_ns = NSEC_PER_SEC,
			     .burst_period_ns = NSEC_PER_SEC,
			     .hist_lower = 5,
			     .hist_upper = 95};
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
		if (o->flags & OPT_OPTARG && !optarg && takes_next(o) && argv[optind] &&
		    argv[optind][0] != '-')
			optarg = argv[optind++];
		rc = take(c, o, optarg, err, cap);
	}
	if (rc < 0 || c->help || c->version)
		return rc;
	bad = read_values(c);
	if (!bad)
		complete(c);
	if (bad)
		snprintf(err, cap, "%s: not such a value", bad);
	else if ((bad = check(c)))
		snprintf(err, cap, "%s", bad);
	return bad ? -EINVAL : 0;
}

/* Some rows share a field. */
void i2_cfg_fini(struct i2_cfg *c)
{
	for (size_t s = 0; s < SET_ABSENT; s++) {
		for (size_t i = 0; i < i2_sets[s].n; i++) {
			char **text = (char **)(void *)((char *)c + i2_sets[s].rows[i].offset);

			if (i2_sets[s].rows[i].type != OPT_STR)
				continue;
			free(*text);
			*text = NULL;
		}
	}
}

void i2_usage(struct buf *b)
{
	buf_puts(
		b,
		"Usage: iperf [-s|-c host] [options]\n       iperf [-h|--help] [-v|--version]\n\n");
	opt_help(b, i2_sets, I2_SETS);
	buf_printf(b, "\nThis is weir %s standing in for iperf 2.\n", weir_version);
}
