/* SPDX-License-Identifier: BSD-2-Clause */
/* fping's summary lines: a host is a report. */
#include "format/rows.h"

static const struct rows_pat times = {"( , outage \\( ms \\) = # ) ( , ) min/avg/max = # / # / #",
				      {ROWS_NONE,
				       {"probe.rtt", UNIT_NONE, 1e-3, STAT_MIN, 0},
				       {"probe.rtt", UNIT_NONE, 1e-3, STAT_MEAN, 0},
				       {"probe.rtt", UNIT_NONE, 1e-3, STAT_MAX, 0}}};

static const char counts[] = "xmt/rcv / \\% loss|return = # / # / # \\%";

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS];
	size_t end = match(l, i, counts, c), more;

	if (!end)
		return i + 1;
	f->what = "ping";
	found_fig(f, "probe.sent", STAT_VALUE, DIMS_NONE, c[0], 1);
	found_fig(f, "probe.received", STAT_VALUE, DIMS_NONE, c[1], 1);
	if (c[0] > 0) {
		found_fig(f, "probe.loss", STAT_VALUE, DIMS_NONE, fmax(1 - c[1] / c[0], 0), 0);
		found_prov(f, MODEL_DERIVED);
	}
	if (c[1] > c[0])
		found_fig(f, "probe.duplicates", STAT_VALUE, DIMS_NONE, c[1] - c[0], 1);
	else if (c[0] > 0 && fabs((1 - c[1] / c[0]) * 100 - c[2]) > 1.01 &&
		 fabs(c[1] / c[0] * 100 - c[2]) > 1.01)
		found_warn(f, WARN_MISMATCH, "%g of %g is not %g %%", c[1], c[0], c[2]);
	more = rows_match(l, end, &times, 1, f, DIMS_NONE);
	return more ? more : end;
}

static bool sniff(const struct lex *l, size_t i)
{
	return lex_is(l, i, "xmt/rcv") && match(l, i, counts, (double[MATCH_CAPS]){0});
}

const struct reader reader_fping = {"fping", "x", sniff, parse};
