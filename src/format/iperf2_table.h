/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of iperf 2's text: headings, rows and their columns, units and number widths. It is told
 * once, here; who writes such text and who reads it both go by it.
 */
#ifndef WEIR_FORMAT_IPERF2_TABLE_H
#define WEIR_FORMAT_IPERF2_TABLE_H

#include <math.h>

#include "format/format.h"

#define IPERF2_HEADER_TCP "[ ID] Interval       Transfer     Bandwidth"
#define IPERF2_HEADER_UDP IPERF2_HEADER_TCP "        Jitter   Lost/Total Datagrams"
#define IPERF2_WIDE       "[ ID] Interval            Transfer    Bandwidth"
#define IPERF2_WIDE_UDP   "[ ID] Interval            Transfer     Bandwidth"

/* Of 2.1: the heading of a row's columns. */
static const char *const iperf2_headers[IPERF2_FORMS] = {
	[IPERF2_PLAIN] = IPERF2_HEADER_TCP,
	[IPERF2_DATAGRAMS] = IPERF2_HEADER_UDP,
	[IPERF2_WRITES] = IPERF2_WIDE "       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr",
	[IPERF2_WRITE_TIMES] = IPERF2_WIDE "       Write/Err  Rtry     Cwnd/RTT        NetPwr  "
					   "write-times avg/min/max/stdev (cnt)",
	[IPERF2_READS] = IPERF2_WIDE "       Reads=Dist",
	[IPERF2_BURSTS] = IPERF2_WIDE "    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  "
				      "Reads=Dist",
	[IPERF2_SENDS] = IPERF2_WIDE_UDP "      Write/Err  PPS",
	[IPERF2_LATENCY] = IPERF2_WIDE_UDP "        Jitter   Lost/Total  Latency "
					   "avg/min/max/stdev PPS  Rx/inP  NetPwr",
	[IPERF2_FRAMES] = IPERF2_WIDE_UDP "      Write/Err  PPS  isoch:tx/miss/slip",
	[IPERF2_FRAMES_TCP] = IPERF2_WIDE_UDP "      Write/Err  Rtry     Cwnd/RTT     "
					      "isoch:tx/miss/slip  NetPwr",
	[IPERF2_BOUNCES] =
		IPERF2_WIDE "         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS",
};

/*
 * What stands in a row, as it is printed, and as a pattern (reader.h) that reads it. A row begins with
 * its interval and two amounts; the tail is told by its shape alone.
 */
#define IPERF2_PUT_TIME     " %.4f-%.4f sec"
#define IPERF2_PUT_TIME_205 " %4.1f-%4.1f sec"
#define IPERF2_READS_TIME   "# - # sec|secs|s"

#define IPERF2_PUT_CALLS   "  %.0f/%.0f"
#define IPERF2_READS_CALLS "# / #"

#define IPERF2_PUT_RETR   "%*.0f"
#define IPERF2_RETR       11 /* columns; */
#define IPERF2_RETR_SUM   10
#define IPERF2_RETR_ISO   9
#define IPERF2_PUT_CWND   " %8.0fK/%.0f"
#define IPERF2_PUT_RTTVAR "(%.0f)"
#define IPERF2_READS_CWND "# K ( / # ( \\( # \\) ) ( us ) )"

#define IPERF2_PUT_PPS   " %8.0f pps"
#define IPERF2_READS_PPS "# pps"

#define IPERF2_PUT_LATENCY   " %.3f/%.3f/%.3f/%.3f ms"
#define IPERF2_READS_LATENCY "-# / -# / -# / -# ms ( -# pps )"
#define IPERF2_PUT_PROGRESS  " %.0f pps %.0f/%.0f(0) pkts"

#define IPERF2_PUT_ORDER   "  %.0f datagrams received out-of-order"
#define IPERF2_READS_ORDER "# datagrams received"

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
