/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nttcp's table: a row of the local end ("l") and one of each remote end ("1" …). A row is told by the
 * digits behind its points, since mailers put header and rows on one line.
 */
#include <string.h>

#include "format/reader.h"

enum { BYTES, REAL_S, CPU_S, REAL_RATE, CPU_RATE, CALLS, REAL_CALLS, CPU_CALLS, FIELDS };
static const uint8_t decimals[FIELDS] = {0, 2, 2, 4, 4, 0, 2, 1};
static const char header[] = "Bytes Real s CPU s Real-MBit/s CPU-MBit/s Calls Real-C/s CPU-C/s";

struct row {
	int end; /* 0 = local, else the number of the remote one */
	double v[FIELDS];
	size_t n;
};

#define BYTES_WIDE 9 /* digits that leave no blank before them: "l134217728" */

/* The index of the row's second field, and its end and bytes; or 0. */
static size_t row_head(const struct lex *l, size_t i, struct row *r)
{
	const char *s = i < l->n ? lex_text(l, i) : "";
	size_t len = i < l->n ? l->tok[i].len : 0;

	if (*s != 'l' && !(lex_num(l, i) && *s >= '1' && *s <= '9'))
		return 0;
	r->end = *s == 'l' ? 0 : *s - '0';
	if (len == 1) {
		if (!lex_num(l, i + 1) || l->tok[i + 1].decimals)
			return 0;
		r->v[BYTES] = l->tok[i + 1].num;
		return i + 2;
	}
	if (len <= BYTES_WIDE || len > 18)
		return 0;
	r->v[BYTES] = 0;
	for (size_t k = 1; k < len; k++) {
		if (s[k] < '0' || s[k] > '9')
			return 0;
		r->v[BYTES] = r->v[BYTES] * 10 + (s[k] - '0');
	}
	return i + 1;
}

/* The index after it, or 0. A row that the text's end cuts off keeps what is whole. */
static size_t read_row(const struct lex *l, size_t i, struct row *r)
{
	size_t k = row_head(l, i, r);

	if (!k)
		return 0;
	for (r->n = REAL_S; r->n < FIELDS; r->n++, k++) {
		if (!lex_num(l, k) || l->tok[k].decimals != decimals[r->n])
			break;
		r->v[r->n] = l->tok[k].num;
	}
	if (r->n == FIELDS || (r->n > REAL_RATE && k + 1 >= l->n))
		return r->n == FIELDS ? k : l->n;
	return 0;
}

/* What -v says between the rows: "nttcp-1: received 67108864 bytes". */
static size_t skip_talk(const struct lex *l, size_t i)
{
	size_t from = i;

	while (lex_starts(l, i, "nttcp") && i < from + 128)
		for (i++; !lex_line(l, i) && i < from + 128; i++)
			;
	return i;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];
	struct row r;

	return match(l, i, header, c) || read_row(l, i, &r);
}

static void put_row(struct format_found *f, const struct row *r)
{
	bool sends = r->end == 0;
	struct model_dims d = found_dims(MODEL_UP, sends ? MODEL_SENDER : MODEL_RECEIVER,
					 r->end > 1 ? r->end - 1 : -1);
	struct model_dims e = model_dims_with(DIMS_NONE, DIM_END, sends ? MODEL_NEAR : MODEL_FAR);
	double seconds = r->v[REAL_S], cpu = r->v[CPU_S];

	found_fig(f, sends ? "throughput.sent" : "goodput", STAT_VALUE, d, r->v[REAL_RATE] * 1e6,
		  100);
	found_fig(f, "bytes", STAT_VALUE, d, r->v[BYTES], 1);
	found_ext(f, "ext.nttcp.seconds", UNIT_SECOND, STAT_VALUE, e, seconds, 0.01);
	found_fig(f, "cpu.seconds", STAT_VALUE, e, cpu, 0.01);
	found_fig(f, "cpu.total", STAT_VALUE, e, seconds > 0 ? cpu / seconds : UNSET,
		  seconds > 0 ? 0.01 / seconds : 0);
	found_prov(f, MODEL_DERIVED);
	if (r->n > CPU_RATE)
		found_ext(f, "ext.nttcp.cpu_rate", UNIT_BPS, STAT_VALUE, e, r->v[CPU_RATE] * 1e6,
			  100);
	if (r->n > CALLS)
		found_fig(f, "app.calls", STAT_VALUE, e, r->v[CALLS], 1);
	if (r->n > REAL_CALLS)
		found_ext(f, "ext.nttcp.call_rate", UNIT_NONE, STAT_VALUE, e, r->v[REAL_CALLS],
			  0.01);
	if (r->n > CPU_CALLS)
		found_ext(f, "ext.nttcp.cpu_call_rate", UNIT_NONE, STAT_VALUE, e, r->v[CPU_CALLS],
			  0.1);
	found_check_rate(f, r->v[BYTES], 1, seconds, 0.01, r->v[REAL_RATE] * 1e6, 100);
	found_mark(f, (uint64_t)(r->v[REAL_RATE] * 1e4) ^ (uint64_t)r->v[BYTES] << 20);
	if (seconds > 0 && cpu / seconds > 0.95)
		found_warn(f, WARN_CPU_BOUND, "%.0f %% of the %s end's", cpu / seconds * 100,
			   sends ? "local" : "remote");
	if (r->n < FIELDS)
		found_warn(f, WARN_TRUNCATED, "the last row is not whole");
}

static double rate(const struct row *r, size_t n, int end)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].end == end)
			return r[i].v[REAL_RATE] * 1e6;
	return UNSET;
}

static void judge(struct format_found *f, const struct row *r, size_t n)
{
	double sent = rate(r, n, 0), got = rate(r, n, 1);

	if (!isnan(sent) && isnan(got))
		found_warn(f, WARN_SENDER_ONLY, "the remote end's row is missing");
	if (isnan(sent))
		found_warn(f, WARN_MISSING_SIDE, "the local end's row is missing");
	found_check_line(f, sent, got);
	if (n && r[0].v[REAL_S] < 1)
		found_warn(f, WARN_SHORT_RUN, "%.2f s", r[0].v[REAL_S]);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS];
	struct row r[16];
	size_t n = 0, e = match(l, i, header, c);

	i = e ? e : i;
	while (n < ARRAY_LEN(r) && (e = read_row(l, n ? skip_talk(l, i) : i, &r[n])) &&
	       (!n || r[n].end > r[n - 1].end)) {
		i = e;
		n++;
	}
	for (size_t k = 0; k < n; k++)
		put_row(f, &r[k]);
	if (n) {
		judge(f, r, n);
	}
	f->what = "tcp";
	f->protocol = "nttcp";
	memcpy(f->tool, "nttcp", 6);
	f->n_col = 0;
	f->partial = found_warned(f, WARN_TRUNCATED);
	return n ? i : i + !e;
}

const struct reader reader_nttcp = {"nttcp", "Bl123456789", sniff, parse};
