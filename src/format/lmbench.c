/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lmbench: its result file, its summary, and bw_mem alone. Cells of a summary may be empty, so a row
 * is cut where the line of dashes says; a row of one machine is a step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/rows.h"

#define GAP          120
#define US           UNIT_SECOND, 1e-6, STAT_VALUE, 0
#define MB           UNIT_BPS, 8e6, STAT_VALUE, 0 /* a megabyte is 10^6 bytes there */
#define FIELDS       24
#define LINE_MAX_LEN 200
#define IDLE         14 /* lines without a table before the summary ends */

/* ---- the result file ---- */

static const struct rows_pat lines[] = {
	{"Simple syscall : # microseconds", {{"ext.lmbench.syscall", US}}},
	{"Simple read : # microseconds", {{"ext.lmbench.read", US}}},
	{"Simple write : # microseconds", {{"ext.lmbench.write", US}}},
	{"Simple stat : # microseconds", {{"ext.lmbench.stat", US}}},
	{"Simple fstat : # microseconds", {{"ext.lmbench.fstat", US}}},
	{"Simple open/close : # microseconds", {{"ext.lmbench.open_close", US}}},
	{"Select on 10 fd ' s : # microseconds", {{"ext.lmbench.select_10", US}}},
	{"Select on 100 fd ' s : # microseconds", {{"ext.lmbench.select_100", US}}},
	{"Select on 250 fd ' s : # microseconds", {{"ext.lmbench.select_250", US}}},
	{"Select on 500 fd ' s : # microseconds", {{"ext.lmbench.select_500", US}}},
	{"Select on 10 tcp fd ' s : # microseconds", {{"ext.lmbench.select_tcp_10", US}}},
	{"Select on 100 tcp fd ' s : # microseconds", {{"ext.lmbench.select_tcp_100", US}}},
	{"Select on 250 tcp fd ' s : # microseconds", {{"ext.lmbench.select_tcp_250", US}}},
	{"Select on 500 tcp fd ' s : # microseconds", {{"ext.lmbench.select_tcp_500", US}}},
	{"Signal handler installation : # microseconds", {{"ext.lmbench.signal_install", US}}},
	{"Signal handler overhead : # microseconds", {{"ext.lmbench.signal_overhead", US}}},
	{"Protection fault : # microseconds", {{"ext.lmbench.protection_fault", US}}},
	{"Pipe latency : # microseconds", {{"ext.lmbench.pipe_latency", US}}},
	{"AF_UNIX sock stream latency : # microseconds", {{"ext.lmbench.unix_latency", US}}},
	{"Process fork + exit : # microseconds", {{"ext.lmbench.fork_exit", US}}},
	{"Process fork + execve : # microseconds", {{"ext.lmbench.fork_execve", US}}},
	{"Process fork + / bin/sh - c : # microseconds", {{"ext.lmbench.fork_sh", US}}},
	{"Pagefaults on / %t : # microseconds", {{"ext.lmbench.page_fault", US}}},
	{"UDP latency using %t : # microseconds", {{"ext.lmbench.udp_latency", US}}},
	{"TCP latency using %t : # microseconds", {{"ext.lmbench.tcp_latency", US}}},
	{"RPC/udp latency using %t : # microseconds", {{"ext.lmbench.rpc_udp_latency", US}}},
	{"RPC/tcp latency using %t : # microseconds", {{"ext.lmbench.rpc_tcp_latency", US}}},
	{"TCP/IP connection cost to %t : # microseconds", {{"ext.lmbench.tcp_connect", US}}},
	{"AF_UNIX sock stream bandwidth : # MB/sec", {{"ext.lmbench.unix_bandwidth", MB}}},
	{"Pipe bandwidth : # MB/sec", {{"ext.lmbench.pipe_bandwidth", MB}}},
	{"[ MHZ : # MHz", {{"ext.lmbench.clock", UNIT_NONE, 1e6, STAT_VALUE, 0}}},
};

/* "[…]" of the file's head. */
static size_t bracket(const struct lex *l, size_t i)
{
	if (!lex_is(l, i, "[") || !lex_line(l, i))
		return 0;
	for (size_t k = i + 1; k < i + 256 && k < l->n; k++)
		if (lex_is(l, k, "]") && lex_line(l, k + 1))
			return k + 1;
	return 0;
}

struct table {
	const char *metric; /* of the rows to come, or NULL */
	bool on;
};

/* "10.485760 4676.97 MB/sec": megabytes, and how fast they went. */
static size_t pair(const struct lex *l, size_t i, const struct table *t, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT;
	uint32_t tok[MATCH_CAPS] MATCH_OUT;
	struct rows_out o = {t->metric, MB};
	size_t end = t->on && lex_line(l, i) ? match_toks(l, i, "# # ( MB/sec )", c, tok) : 0;

	if (!end || !lex_line(l, end))
		return 0;
	rows_fig(f, l, tok[1], &o, c[1],
		 model_dims_with(DIMS_NONE, DIM_SIZE, (int64_t)llround(c[0] * 1e6)));
	return end;
}

/* A title with a quote before it, or the one of the sockets. */
static size_t title(const struct lex *l, size_t i, struct table *t, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT;
	char text[48];
	size_t n = 0, k;

	if (match(l, i, "Socket bandwidth using", c)) {
		*t = (struct table){"ext.lmbench.tcp_bandwidth", true};
		return i + 4;
	}
	if (!lex_is(l, i, "\"") || !lex_line(l, i))
		return 0;
	*t = (struct table){0};
	for (k = i + 1; k < l->n && k < i + 8 && !lex_line(l, k) && l->tok[k].type == LEX_WORD;
	     k++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", n ? "_" : "",
				      (int)(l->tok[k].len < 16 ? l->tok[k].len : 16),
				      lex_text(l, k));
		if (n >= sizeof(text))
			return 0;
		t->on = t->on || lex_is(l, k, "bandwidth");
	}
	if (t->on)
		t->metric = found_join(f, "ext.lmbench.", text, "");
	return t->on ? k : 0;
}

static size_t raw(const struct lex *l, size_t i, struct format_found *f)
{
	size_t k = i, last = i;
	struct table t = {0};

	while (k < l->n && k <= last + GAP) {
		size_t end = rows_match(l, k, lines, ARRAY_LEN(lines), f, DIMS_NONE);

		t.on = t.on && !end;
		end = end ? end : title(l, k, &t, f);
		end = end ? end : pair(l, k, &t, f);
		if (!end && k > i && lex_is(l, k, "[") && lex_starts(l, k + 1, "lmbench"))
			break;
		end = end ? end : bracket(l, k);
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	return last;
}

/* ---- bw_mem ---- */

static size_t bw_mem(const struct lex *l, size_t i, struct format_found *f)
{
	static const char *const ops[] = {"rd",  "wr",  "rdwr",  "cp",   "frd",
					  "fwr", "fcp", "bzero", "bcopy"};
	double c[MATCH_CAPS] MATCH_OUT;
	uint32_t tok[MATCH_CAPS] MATCH_OUT;
	struct rows_out o = {NULL, MB};
	size_t end = match_toks(l, i, "%w ^ # #", c, tok), k = 0;
	bool ours = false;

	while (k < ARRAY_LEN(ops) && !lex_is(l, i, ops[k]))
		k++;
	if (!end || k == ARRAY_LEN(ops) || !lex_line(l, end))
		return 0;
	for (size_t b = i; b-- > 0 && i - b < 12 && !ours;)
		ours = l->tok[b].len >= 6 &&
		       !memcmp(lex_text(l, b) + l->tok[b].len - 6, "bw_mem", 6);
	if (!ours)
		return 0;
	if (!f)
		return end;
	o.metric = found_join(f, "ext.lmbench.bw_mem.", ops[k], "");
	rows_fig(f, l, tok[2], &o, c[2],
		 model_dims_with(DIMS_NONE, DIM_SIZE, (int64_t)llround(c[1] * 1e6)));
	return end;
}

/* ---- the summary ---- */

static const struct section {
	const char *title;
	enum unit unit;
	double scale;
	const char *prefix, *columns[16];
} sections[] = {
	{"Processor, Processes",
	 UNIT_SECOND,
	 1e-6,
	 "",
	 {"mhz", "null_call", "null_io", "stat", "open_close", "select_tcp", "signal_install",
	  "signal_handle", "fork", "exec", "sh"}},
	{"Context switching",
	 UNIT_SECOND,
	 1e-6,
	 "ctxsw_",
	 {"2p_0k", "2p_16k", "2p_64k", "8p_16k", "8p_64k", "16p_16k", "16p_64k"}},
	{"*Local* Communication latencies",
	 UNIT_SECOND,
	 1e-6,
	 "local_latency_",
	 {"ctxsw_2p_0k", "pipe", "unix", "udp", "rpc_udp", "tcp", "rpc_tcp", "tcp_conn"}},
	{"*Remote* Communication latencies",
	 UNIT_SECOND,
	 1e-6,
	 "remote_latency_",
	 {"udp", "rpc_udp", "tcp", "rpc_tcp", "tcp_conn"}},
	{"File & VM system latencies",
	 UNIT_SECOND,
	 1e-6,
	 "file_",
	 {"create_0k", "delete_0k", "create_10k", "delete_10k", "mmap", "protection_fault",
	  "page_fault", "select_100fd"}},
	{"*Local* Communication bandwidths",
	 UNIT_BPS,
	 8e6,
	 "local_bandwidth_",
	 {"pipe", "unix", "tcp", "file_reread", "mmap_reread", "bcopy_libc", "bcopy_hand",
	  "mem_read", "mem_write"}},
};

/* A line that is too long for a table is none, and is not looked through. */
static size_t line_end(const struct lex *l, size_t at)
{
	size_t most = l->len - at < LINE_MAX_LEN ? l->len - at : LINE_MAX_LEN;
	const char *nl = at < l->len ? memchr(l->text + at, '\n', most) : NULL;

	return nl ? (size_t)(nl - l->text) : at + most;
}

/* Where the fields of a line of dashes end; how many. */
static size_t ruler(const char *s, size_t n, size_t *ends)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (!strchr("- \t\r", s[i]))
			return 0;
		if (s[i] == '-' && (i + 1 == n || s[i + 1] != '-')) {
			if (k == FIELDS)
				return 0;
			ends[k++] = i + 1;
		}
	}
	return k > 3 ? k : 0;
}

/* "11.K", "753.4K", "194.": NaN = empty. */
static double cell(const char *s, size_t n)
{
	char text[24], *end;
	double v;

	while (n && (*s == ' ' || *s == '\t'))
		s++, n--;
	if (!n || n >= sizeof(text))
		return UNSET;
	memcpy(text, s, n);
	text[n] = '\0';
	v = strtod(text, &end);
	if (end == text || *text == 'n' || *text == 'i')
		return UNSET;
	v *= *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : 1;
	end += *end == 'K' || *end == 'M';
	return strspn(end, " \t\r") == strlen(end) ? v : UNSET;
}

static size_t n_columns(const struct section *s)
{
	size_t n = 0;

	while (n < ARRAY_LEN(s->columns) && s->columns[n])
		n++;
	return n;
}

/* A row of a machine; false when it is none. */
static bool row(struct format_found *f, const struct section *s, const char *p, size_t n,
		const size_t *ends, size_t fields, int64_t step, bool cut)
{
	bool any = false;

	for (size_t k = 2; k < fields && ends[k - 1] < n; k++) {
		size_t from = ends[k - 1], to = ends[k] < n ? ends[k] : n;
		double v = cell(p + from, to - from);
		const char *name = s->columns[k - 2];
		bool mhz = !strcmp(name, "mhz");

		if (isnan(v) || (cut && to == n)) /* its last digits may be missing */
			continue;
		any = true;
		found_ext(f, found_join(f, "ext.lmbench.", s->prefix, name),
			  mhz ? UNIT_NONE : s->unit, STAT_VALUE,
			  model_dims_with(DIMS_NONE, DIM_STEP, step), v * (mhz ? 1e6 : s->scale),
			  0);
	}
	return any;
}

static const struct section *section(const char *s, size_t n)
{
	size_t skip = strspn(s, " \t") < n ? strspn(s, " \t") : 0;

	for (size_t k = 0; k < ARRAY_LEN(sections); k++) {
		size_t len = strlen(sections[k].title);

		if (n - skip >= len && !memcmp(s + skip, sections[k].title, len))
			return &sections[k];
	}
	return NULL;
}

/* Rows lie between the second ruler and an empty line. */
static size_t summary(const struct lex *l, size_t i, struct format_found *f)
{
	const struct section *s = NULL;
	size_t at = l->tok[i].off, ends[FIELDS], fields = 0, last = at, idle = 0;
	int64_t step = 0;

	while (at && last - at < LINE_MAX_LEN && l->text[at - 1] != '\n')
		at--;
	while (at < l->len && idle < IDLE) {
		size_t end = line_end(l, at), n = end - at, k;
		const char *p = l->text + at;
		const struct section *next = n < LINE_MAX_LEN ? section(p, n) : NULL;

		idle++;
		if (f->n_fig && n < LINE_MAX_LEN && memmem(p, n, "L M B E N C H", 13))
			break; /* another summary */
		if (next) {
			s = next;
			fields = 0;
			last = end;
		} else if (s && n < LINE_MAX_LEN && (k = ruler(p, n, ends)) != 0) {
			fields = k;
			step = 0;
			last = end;
			if (k != n_columns(s) + 2) {
				found_warn(f, WARN_VERSION, "%s has %zu columns", s->title, k);
				s = NULL;
			}
		} else if (s && fields && n < LINE_MAX_LEN && !memchr(p, '~', n) &&
			   row(f, s, p, n, ends, fields, step, end == l->len)) {
			step++;
			idle = 0;
			last = end;
		}
		at = end + 1;
	}
	while (i < l->n && l->tok[i].off < last)
		i++;
	return i;
}

static bool summary_at(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;

	return match(l, i, "L M B E N C H # %t # S U M M A R Y", c) ||
	       match(l, i, "L M B E N C H # . # S U M M A R Y", c) ||
	       match(l, i, "L M B E N C H # S U M M A R Y", c) ||
	       match(l, i, "Processor , Processes - times in microseconds", c);
}

/* ---- the reader ---- */

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t end;

	f->what = "lmbench";
	if (summary_at(l, i))
		end = summary(l, i, f);
	else
		end = bw_mem(l, i, f);
	end = end > i ? end : raw(l, i, f);
	return end > i ? end : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;

	switch (*lex_text(l, i)) {
	case '[':
		return lex_starts(l, i + 1, "lmbench") && lex_line(l, i);
	case 'S':
		return match(l, i, "Simple syscall : # microseconds", c);
	case 'L':
	case 'P':
		return summary_at(l, i);
	default:
		return bw_mem(l, i, NULL);
	}
}

const struct reader reader_lmbench = {"lmbench", "[ Si L P rd wr cp fr fw fc bz bc", sniff, parse};
