/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * irtt's table of delays and its JSON. Cells carry their own units, and the median may be missing,
 * so a row is told by how many times follow its name.
 */
#include <string.h>

#include "format/rows.h"

#define GAP 40

static const struct {
	const char *name, *metric;
	int dir; /* 0 = none, else 1 + MODEL_UP … */
} delays[] = {
	{"send IPDV", "probe.ipdv", 1 + MODEL_UP},
	{"receive IPDV", "probe.ipdv", 1 + MODEL_DOWN},
	{"send delay", "probe.owd", 1 + MODEL_UP},
	{"receive delay", "probe.owd", 1 + MODEL_DOWN},
	{"IPDV \\( jitter \\)", "probe.ipdv", 0},
	{"RTT", "probe.rtt", 0},
	{"send call time", "ext.irtt.send_call", 0},
	{"timer error", "ext.irtt.timer_error", 0},
	{"server proc . time", "ext.irtt.server_time", 0},
};

#define VALUE(metric, unit, scale, dir)                     \
	{                                                   \
		metric, UNIT_##unit, scale, STAT_VALUE, dir \
	}
static const struct rows_pat lines[] = {
	{"packets sent/received : # / # ( \\( # \\% loss \\) )",
	 {VALUE("probe.sent", NONE, 1, 0), VALUE("probe.received", NONE, 1, 0)}},
	{"server packets received : # / # \\( # \\% / # \\% loss up/down \\)",
	 {VALUE("ext.irtt.server_received", NONE, 1, 0), ROWS_NONE,
	  VALUE("ext.irtt.loss", RATIO, 0.01, 1 + MODEL_UP),
	  VALUE("ext.irtt.loss", RATIO, 0.01, 1 + MODEL_DOWN)}},
	{"late \\( out-of-order \\) pkts : # \\( # \\% \\)",
	 {VALUE("probe.late", NONE, 1, 0), VALUE("ext.irtt.late_share", RATIO, 0.01, 0)}},
	{"duplicates : # ( \\( # \\% \\) )", {VALUE("probe.duplicates", NONE, 1, 0)}},
	{"duplicate packets : # ( \\( # \\% \\) )", {VALUE("probe.duplicates", NONE, 1, 0)}},
	{"bytes sent/received : # / #",
	 {VALUE("ext.irtt.bytes", BYTE, 1, 1 + MODEL_UP),
	  VALUE("ext.irtt.bytes", BYTE, 1, 1 + MODEL_DOWN)}},
	{"send/receive rate : #R / #R",
	 {VALUE("ext.irtt.rate", BPS, 1, 1 + MODEL_UP),
	  VALUE("ext.irtt.rate", BPS, 1, 1 + MODEL_DOWN)}},
	{"packet length : # bytes", {VALUE("udp.size", BYTE, 1, 0)}},
	{"timer stats : # / # \\( # \\% \\) missed , # \\% error",
	 {VALUE("ext.irtt.timer_misses", NONE, 1, 0), VALUE("ext.irtt.timers", NONE, 1, 0)}},
};

/* ---- text ---- */

static const enum model_stat with_median[] = {STAT_MIN, STAT_MEAN, STAT_P50, STAT_MAX, STAT_STDDEV};
static const enum model_stat without[] = {STAT_MIN, STAT_MEAN, STAT_MAX, STAT_STDDEV};

/* The times of a row from token i on. */
static size_t cells(const struct lex *l, size_t i, struct format_found *f, size_t d)
{
	double c[MATCH_CAPS];
	uint32_t tok[MATCH_CAPS];
	size_t end = match_toks(l, i, "#T #T #T #T #T", c, tok), n = end ? 5 : 4;

	end = end ? end : match_toks(l, i, "#T #T #T #T", c, tok);
	if (!end)
		return 0;
	for (size_t k = 0; k < n; k++) {
		struct rows_out o = {delays[d].metric, UNIT_SECOND, 1,
				     n == 5 ? with_median[k] : without[k], delays[d].dir};

		if (k == 0 && c[0] > c[1] * 1.001) {
			found_warn(f, WARN_MISMATCH, "a minimum of %g s is over the mean", c[0]);
			continue;
		}
		rows_fig(f, l, tok[k], &o, c[k], DIMS_NONE);
	}
	return end;
}

static size_t line(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS], seconds;
	size_t end, at;

	for (size_t d = 0; d < ARRAY_LEN(delays); d++) {
		at = match(l, i, delays[d].name, c);
		end = at ? cells(l, at, f, d) : 0;
		if (end)
			return end;
	}
	at = match(l, i, "duration :", c);
	end = at ? rows_duration(l, at, &seconds) : 0;
	if (end) {
		found_fig(f, "duration", STAT_VALUE, DIMS_NONE, seconds, 0);
		end += at;
		at = match(l, end, "\\( wait #T \\)", c);
		return at ? at : end;
	}
	return rows_match(l, i, lines, ARRAY_LEN(lines), f, DIMS_NONE);
}

static void loss(struct format_found *f)
{
	double sent = rows_value(f, "probe.sent", STAT_VALUE);
	double got = rows_value(f, "probe.received", STAT_VALUE);

	if (sent > 0 && got >= 0) {
		found_fig(f, "probe.loss", STAT_VALUE, DIMS_NONE, fmax(1 - got / sent, 0), 0);
		found_prov(f, MODEL_DERIVED);
	}
}

static bool head(const struct lex *l, size_t i)
{
	return match(l, i, "Min Mean Median Max Stddev", &(double){0});
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t k = head(l, i) ? i + 5 : i, last = k;

	f->what = "irtt";
	while (k < l->n && k <= last + GAP && !head(l, k)) {
		size_t end = line(l, k, f);

		last = end ? end : last;
		k = end ? end : k + 1;
	}
	loss(f);
	if (isnan(rows_value(f, "probe.sent", STAT_VALUE)) && f->n_fig) {
		f->partial = true;
		found_warn(f, WARN_TRUNCATED, "no count of packets");
	}
	return last > i ? last : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];

	return head(l, i) || match(l, i, "RTT #T #T #T #T", c);
}

const struct reader reader_irtt = {"irtt", "MR", sniff, parse};

/* ---- JSON: nanoseconds ---- */

#define STATS(parent, metric, dir)                                              \
	{parent, "min", {metric, UNIT_SECOND, 1e-9, STAT_MIN, dir}},            \
		{parent, "mean", {metric, UNIT_SECOND, 1e-9, STAT_MEAN, dir}},  \
		{parent, "median", {metric, UNIT_SECOND, 1e-9, STAT_P50, dir}}, \
		{parent, "max", {metric, UNIT_SECOND, 1e-9, STAT_MAX, dir}},    \
	{                                                                       \
		parent, "stddev",                                               \
		{                                                               \
			metric, UNIT_SECOND, 1e-9, STAT_STDDEV, dir             \
		}                                                               \
	}
static const struct rows_json keys[] = {
	STATS("rtt", "probe.rtt", 0),
	STATS("send_delay", "probe.owd", 1 + MODEL_UP),
	STATS("receive_delay", "probe.owd", 1 + MODEL_DOWN),
	STATS("ipdv_round_trip", "probe.ipdv", 0),
	STATS("ipdv_send", "probe.ipdv", 1 + MODEL_UP),
	STATS("ipdv_receive", "probe.ipdv", 1 + MODEL_DOWN),
	STATS("send_call", "ext.irtt.send_call", 0),
	STATS("timer_error", "ext.irtt.timer_error", 0),
	STATS("server_processing_time", "ext.irtt.server_time", 0),
	{"stats", "packets_sent", VALUE("probe.sent", NONE, 1, 0)},
	{"stats", "packets_received", VALUE("probe.received", NONE, 1, 0)},
	{"stats", "duplicates", VALUE("probe.duplicates", NONE, 1, 0)},
	{"stats", "late_packets", VALUE("probe.late", NONE, 1, 0)},
	{"stats", "server_packets_received", VALUE("ext.irtt.server_received", NONE, 1, 0)},
	{"stats", "upstream_loss_percent", VALUE("ext.irtt.loss", RATIO, 0.01, 1 + MODEL_UP)},
	{"stats", "downstream_loss_percent", VALUE("ext.irtt.loss", RATIO, 0.01, 1 + MODEL_DOWN)},
	{"stats", "bytes_sent", VALUE("ext.irtt.bytes", BYTE, 1, 1 + MODEL_UP)},
	{"stats", "bytes_received", VALUE("ext.irtt.bytes", BYTE, 1, 1 + MODEL_DOWN)},
	{"stats", "duration", VALUE("duration", SECOND, 1e-9, 0)},
	{"send_rate", "bps", VALUE("ext.irtt.rate", BPS, 1, 1 + MODEL_UP)},
	{"receive_rate", "bps", VALUE("ext.irtt.rate", BPS, 1, 1 + MODEL_DOWN)},
};

static size_t json_parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct json_scan s = json_scan(l, i);

	f->what = "irtt";
	while (json_next(&s)) {
		if (s.what != JSON_VALUE)
			continue;
		if (s.string && rows_json_is(&s, "version", "irtt"))
			json_text(&s, s.from, s.to, f->version, sizeof(f->version));
		rows_json(&s, keys, ARRAY_LEN(keys), f, DIMS_NONE);
	}
	loss(f);
	return json_ended(&s, i, f);
}

static bool json_sniff(const struct lex *l, size_t i)
{
	return json_key_at(l, i + 1, "version") && lex_is(l, i + 5, "{") &&
	       json_key_at(l, i + 6, "irtt");
}

const struct reader reader_irtt_json = {"irtt-json", "{", json_sniff, json_parse};
