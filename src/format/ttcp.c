/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ttcp: each line says its role ("ttcp-t:", "ttcp-r:"); the one with bytes, seconds and rate is the
 * result, two more tell calls and processor time. KB is 1024 bytes, Mb 10^6 bits.
 */
#include <string.h>

#include "format/reader.h"

static bool role(const struct lex *l, size_t i, char want)
{
	return (lex_is(l, i, "ttcp-t") && want != 'r') || (lex_is(l, i, "ttcp-r") && want != 't');
}

static const char result[] =
	"%w : # bytes in # real seconds = # KB/sec ( + + + ) ( \\( # Mb/sec \\) )";

static bool sniff(const struct lex *l, size_t i)
{
	return role(l, i, 0) && lex_is(l, i + 1, ":");
}

static void put_result(struct format_found *f, const struct lex *l, size_t i, const double *c,
		       bool sends)
{
	struct model_dims d = found_dims(MODEL_UP, sends ? MODEL_SENDER : MODEL_RECEIVER, -1);
	double bps = c[3] * 1024 * 8, step = found_resolution(&l->tok[i + 9], 8192);
	double seconds_step = found_resolution(&l->tok[i + 5], 1);

	if (!isnan(c[4])) /* the same again in Mb */
		found_check_rate(f, bps / 8 * c[2], 0, c[2], 0, c[4] * 1e6, step + c[4] * 10);
	found_fig(f, sends ? "throughput.sent" : "goodput", STAT_VALUE, d, bps, step);
	found_fig(f, "bytes", STAT_VALUE, d, c[1], 1);
	/* No duration that could be compared: it is what so many bytes took. */
	found_ext(f, "ext.ttcp.seconds", UNIT_SECOND, STAT_VALUE, DIMS_NONE, c[2], seconds_step);
	found_check_rate(f, c[1], 1, c[2], seconds_step, bps, step);
	found_mark(f, (uint64_t)c[1] ^ (uint64_t)(c[3] * 1e2) << 20);
	if (c[2] < 1)
		found_warn(f, WARN_SHORT_RUN, "%.3g s", c[2]);
	if (sends)
		found_warn(f, WARN_SENDER_ONLY, "what arrived is not in the report");
}

/* Lines after the result; the index after one, or 0. */
static size_t more(struct format_found *f, const struct lex *l, size_t i)
{
	double c[MATCH_CAPS];
	size_t e = match(l, i, "%w : # I/O calls , msec/call = # , calls/sec = #", c);
	struct model_dims near = model_dims_with(DIMS_NONE, DIM_END, MODEL_NEAR);

	if (e) {
		found_fig(f, "app.calls", STAT_VALUE, near, c[1], 1);
		return e;
	}
	e = match(l, i, "%w : # user # sys # : # real # %", c);
	if (!e)
		return 0;
	found_fig(f, "cpu.seconds", STAT_VALUE, near, c[1] + c[2], 0.1);
	found_prov(f, MODEL_DERIVED);
	found_fig(f, "cpu.total", STAT_VALUE, near, c[5] / 100, 0.01);
	if (c[5] >= 95)
		found_warn(f, WARN_CPU_BOUND, "%.0f %%", c[5]);
	return e;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	char side = role(l, i, 't') ? 't' : 'r';
	size_t known = i + 2, done = 0;
	double c[MATCH_CAPS];
	bool cut;

	for (; i < l->n && i < known + 80; i++) {
		size_t e;

		if (!role(l, i, 0) || !lex_is(l, i + 1, ":"))
			continue;
		if (!role(l, i, side) || (done && match(l, i, "%w : buflen", c)))
			break;
		e = match_cut(l, i, result, c, &cut);
		if (e && done)
			break;
		if (e) {
			put_result(f, l, i, c, side == 't');
			if (cut && isnan(c[4]) && l->n - i < 20 && lex_is(l, e, "("))
				found_warn(f, WARN_TRUNCATED, "the last row is not whole");
			done = e;
		} else if (done) {
			e = more(f, l, i);
		}
		known = e ? e : i + 2;
		i = known - 1;
	}
	f->what = "tcp";
	f->protocol = "ttcp";
	memcpy(f->tool, "ttcp", 5);
	found_param(f, "role", "%s", side == 't' ? "sender" : "receiver");
	return known;
}

const struct reader reader_ttcp = {"ttcp", "t", sniff, parse};
