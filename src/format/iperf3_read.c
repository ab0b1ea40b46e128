/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf3's text, from its betas to 3.21 and its forks; the rows are shared with iperf 2. */
#include "format/iperf.h"

static bool sniff(const struct lex *l, size_t i)
{
	return iperf_sniff(l, i, 3);
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	return iperf_text(l, i, f, 3);
}

const struct reader reader_iperf3 = {"iperf3", "[ Ac Co Se Re ip", sniff, parse};
