/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns, units and digits of iperf 2, as its writer has them and as its reader's tests read back. */
#ifndef WEIR_FORMAT_IPERF2_TABLE_H
#define WEIR_FORMAT_IPERF2_TABLE_H

#include <math.h>

#define IPERF2_HEADER_TCP "[ ID] Interval       Transfer     Bandwidth"
#define IPERF2_HEADER_UDP IPERF2_HEADER_TCP "        Jitter   Lost/Total Datagrams"

#define IPERF2_BITS_BASE  1000.0
#define IPERF2_BYTES_BASE 1024.0

static const struct {
	char letter;
	const char *prefix;
} iperf2_units[] = {{0, ""}, {'k', "K"}, {'m', "M"}, {'g', "G"}, {'t', "T"}, {'p', "P"}};

/* The first is 2.1's alone. */
static const struct {
	double below;
	int decimals;
} iperf2_widths[] = {{0.9995, 3}, {9.995, 2}, {99.95, 1}, {(double)INFINITY, 0}};

#endif
