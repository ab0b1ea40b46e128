/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf 2, versions 1.7 to 2.2 and its clones: text, and CSV of 9, 14 and more fields. */
#include "format/iperf.h"

static bool sniff(const struct lex *l, size_t i)
{
	return iperf_csv_sniff(l, i) || iperf_sniff(l, i, 2);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	return iperf_csv_sniff(l, i) ? iperf_csv(l, i, f) : iperf_text(l, i, f, 2);
}

const struct reader reader_iperf2 = {"iperf2", "[ Cl Se ip mo 0 1 2 3 4 5 6 7 8 9", sniff, parse};
