/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `weir tcp` and `weir udp` have in common: who is measured, for how long, in which directions,
 * over which addresses. A measurement's cfg has a struct measure_load named `l`, and its table of
 * options takes the rows from here, F(field) being the offset of a field of its cfg.
 */
#ifndef WEIR_MEASURE_LOAD_H
#define WEIR_MEASURE_LOAD_H

#include "measure/priv.h"

struct measure_load {
	char *host, *proto, *bind, *bind_dev, *title;
	int64_t port, parallel, cport, tos, workers;
	int64_t time_ns, omit_ns, interval_ns, timeout_ns;
	uint64_t bytes, blocks, len, window;
	struct measure_rate rate;
	bool reverse, bidir, v4, v6, rx_trunc, pin, time_given;
};

/* clang-format off */
#define LOAD_OPTS_PEER \
	{.name = "host", .type = OPT_STR, .offset = F(l.host), .flags = OPT_POSITIONAL | OPT_REQUIRED, .metavar = "HOST", .help = "the other end: a name or address where weir serve or iperf3 -s runs"}, \
	{.name = "port", .letter = 'p', .type = OPT_INT, .offset = F(l.port), .metavar = "N", .help = "the server's port; 0 = its protocol's own: 5201, of iperf2 5001, of nttcp 5037", .min = 0, .max = 65535, .fallback = "0"}

#define LOAD_OPTS_EXTENT(unit) \
	{.name = "time", .letter = 't', .type = OPT_TIME, .offset = F(l.time_ns), .given = F(l.time_given), .metavar = "TIME", .help = "measure for this long", .max = 86400 * NSEC_PER_SEC, .fallback = "10s"}, \
	{.name = "bytes", .letter = 'n', .type = OPT_SIZE, .offset = F(l.bytes), .metavar = "SIZE", .help = "end when this much was sent in all, instead of by time"}, \
	{.name = "blocks", .letter = 'k', .type = OPT_COUNT, .offset = F(l.blocks), .metavar = "N", .help = "end when this many " unit " were sent in all"}, \
	{.name = "parallel", .letter = 'P', .type = OPT_INT, .offset = F(l.parallel), .metavar = "N", .help = "flows per direction", .min = 1, .max = FLOW_MAX / 2, .fallback = "1"}, \
	{.name = "reverse", .letter = 'R', .type = OPT_FLAG, .offset = F(l.reverse), .help = "the other end sends"}, \
	{.name = "bidir", .type = OPT_FLAG, .offset = F(l.bidir), .help = "both directions at the same time"}

#define LOAD_OPTS_PATH \
	{.name = "tos", .letter = 'S', .type = OPT_FUNC, .offset = F(l.tos), .metavar = "N", .help = "the traffic class byte", .func = measure_parse_tos, .func_json = measure_tos_json}, \
	{.name = "dscp", .type = OPT_FUNC, .offset = F(l.tos), .metavar = "CODE", .help = "the traffic class by code point: ef, af41, cs1, le, 0 to 63", .func = measure_parse_dscp, .func_json = measure_tos_json}, \
	{.name = "ipv4", .letter = '4', .type = OPT_FLAG, .offset = F(l.v4), .help = "IPv4 only"}, \
	{.name = "ipv6", .letter = '6', .type = OPT_FLAG, .offset = F(l.v6), .help = "IPv6 only"}, \
	{.name = "bind", .letter = 'B', .type = OPT_STR, .offset = F(l.bind), .metavar = "ADDR", .help = "local address"}, \
	{.name = "bind-dev", .type = OPT_STR, .offset = F(l.bind_dev), .metavar = "DEV", .help = "local interface (SO_BINDTODEVICE)"}, \
	{.name = "cport", .type = OPT_INT, .offset = F(l.cport), .metavar = "N", .help = "first local port of the flows", .min = 0, .max = 65535}

#define LOAD_OPTS_PHASES \
	{.name = "omit", .letter = 'O', .type = OPT_TIME, .offset = F(l.omit_ns), .metavar = "TIME", .help = "warm up for this long first; kept, not counted", .max = 600 * NSEC_PER_SEC}, \
	{.name = "interval", .letter = 'i', .type = OPT_TIME, .offset = F(l.interval_ns), .metavar = "TIME", .help = "length of an interval; 0 = only start and end", .max = 3600 * NSEC_PER_SEC, .fallback = "1s"}

#define LOAD_OPTS_REST \
	{.name = "title", .letter = 'T', .type = OPT_STR, .offset = F(l.title), .metavar = "TEXT", .help = "a title for both ends' reports"}, \
	{.name = "proto", .type = OPT_STR, .offset = F(l.proto), .metavar = "NAME", .help = "speak only this protocol: weir, iperf3, iperf2, nttcp or ttcp"}, \
	{.name = "connect-timeout", .type = OPT_TIME, .offset = F(l.timeout_ns), .metavar = "TIME", .help = "give up when nothing useful answered by then", .min = NSEC_PER_MSEC, .max = 600 * NSEC_PER_SEC, .fallback = "5s"}, \
	{.name = "workers", .type = OPT_INT, .offset = F(l.workers), .metavar = "N", .help = "worker threads; by itself as many as flows or CPUs, whichever is less", .min = 0, .max = 1024}, \
	{.name = "pin", .type = OPT_FLAG, .offset = F(l.pin), .help = "bind each worker to a CPU of its own"}
/* clang-format on */

/* Two options that cannot be given together. */
struct measure_clash {
	bool a, b;
	const char *name_a, *name_b;
};
int measure_check_clashes(const struct measure_clash *pairs, size_t n, struct weir_err *e);
/* What holds for every load. */
int measure_load_check(const struct measure_load *l, struct weir_err *e);
/* n flows like spec in each direction wanted; the caller frees the plan. */
int measure_load_plan(const struct measure_load *l, const struct flow_spec *spec, bool up,
		      bool down, struct flow_plan *p, struct weir_err *e);
struct measure_client measure_load_client(const struct measure_load *l);

#endif
