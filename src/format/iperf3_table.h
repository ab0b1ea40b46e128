/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of iperf3's text: headings, rows and their columns, units and number widths. It is told
 * once, here; who writes such text and who reads it both go by these tables.
 */
#ifndef WEIR_FORMAT_IPERF3_TABLE_H
#define WEIR_FORMAT_IPERF3_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Every row begins with an id, in a test of both directions a role, and these three; what follows
 * differs. */
#define IPERF3_ID       "[%3d]"
#define IPERF3_SUM      "[SUM]"
#define IPERF3_ROLE     "[%s-%c]"
#define IPERF3_TIME     " %6.2f-%-6.2f sec"
#define IPERF3_TRANSFER "  %s"
#define IPERF3_BITRATE  "  %s/sec"

enum iperf3_field {
	IPERF3_F_NONE,
	IPERF3_F_RETR,   /* retransmits: 3 columns */
	IPERF3_F_CWND,   /* a quantity of bytes */
	IPERF3_F_COUNT,  /* datagrams */
	IPERF3_F_JITTER, /* "0.039 ms" */
	IPERF3_F_LOST,   /* "0/763 (0%)" */
	IPERF3_F_MARK,   /* "", "(omitted)", "sender", "receiver" */
};
/* How a field is written, and the pattern (reader.h) that reads it; a quantity has its own number. */
static const struct iperf3_form {
	uint8_t width, decimals;
	const char *unit, *pattern;
} iperf3_forms[] = {
	[IPERF3_F_NONE] = {0, 0, "", NULL},        [IPERF3_F_RETR] = {3, 0, "", "#"},
	[IPERF3_F_CWND] = {0, 0, "", "# %B"},      [IPERF3_F_COUNT] = {0, 0, "", "#"},
	[IPERF3_F_JITTER] = {5, 3, " ms", "# ms"}, [IPERF3_F_LOST] = {0, 0, "", "-# / -#"},
	[IPERF3_F_MARK] = {0, 0, "", NULL},
};
/* The same of what stands in front; older versions and other tongues of the tool have more forms. */
#define IPERF3_READS_ROLE "[ TX-C|TX-S|RX-C|RX-S ]"
#define IPERF3_READS_TIME "# - # sec|secs|s"

struct iperf3_col {
	uint8_t field;
	uint8_t gap; /* blanks in front of it */
};
#define IPERF3_COLS 3

enum iperf3_row {
	IPERF3_TCP_SENDS,
	IPERF3_TCP_SENDS_SUM,
	IPERF3_TCP_RECEIVES,
	IPERF3_UDP_SENDS,
	IPERF3_UDP_SENDS_BIDIR,
	IPERF3_UDP_RECEIVES,
	IPERF3_TCP_SENT, /* summaries */
	IPERF3_TCP_SENT_321,
	IPERF3_TCP_SENT_SUM,
	IPERF3_TCP_RECEIVED,
	IPERF3_UDP_ENDED,
	IPERF3_ROWS
};
static const struct iperf3_col iperf3_rows[IPERF3_ROWS][IPERF3_COLS] = {
	[IPERF3_TCP_SENDS] = {{IPERF3_F_RETR, 2}, {IPERF3_F_CWND, 3}, {IPERF3_F_MARK, 7}},
	[IPERF3_TCP_SENDS_SUM] = {{IPERF3_F_RETR, 2}, {IPERF3_F_MARK, 13}},
	[IPERF3_TCP_RECEIVES] = {{IPERF3_F_MARK, 18}},
	[IPERF3_UDP_SENDS] = {{IPERF3_F_COUNT, 2}, {IPERF3_F_MARK, 2}},
	[IPERF3_UDP_SENDS_BIDIR] = {{IPERF3_F_COUNT, 12}, {IPERF3_F_MARK, 2}},
	[IPERF3_UDP_RECEIVES] = {{IPERF3_F_JITTER, 2}, {IPERF3_F_LOST, 2}, {IPERF3_F_MARK, 2}},
	[IPERF3_TCP_SENT] = {{IPERF3_F_RETR, 2}, {IPERF3_F_MARK, 13}},
	[IPERF3_TCP_SENT_321] = {{IPERF3_F_RETR, 2}, {IPERF3_F_MARK, 12}},
	[IPERF3_TCP_SENT_SUM] = {{IPERF3_F_RETR, 2}, {IPERF3_F_MARK, 13}},
	[IPERF3_TCP_RECEIVED] = {{IPERF3_F_MARK, 18}},
	[IPERF3_UDP_ENDED] = {{IPERF3_F_JITTER, 2}, {IPERF3_F_LOST, 2}, {IPERF3_F_MARK, 2}},
};

/* "[ ID]" or "[ ID][Role]", then IPERF3_HEAD, then one of these. */
#define IPERF3_HEAD_ID    "[ ID]"
#define IPERF3_HEAD_BIDIR "[ ID][Role]"
#define IPERF3_HEAD       " Interval           Transfer     Bitrate"
enum iperf3_head {
	IPERF3_HEAD_TCP_SENDS,
	IPERF3_HEAD_TCP_SUMMARY,
	IPERF3_HEAD_RECEIVES,
	IPERF3_HEAD_UDP_SENDS,
	IPERF3_HEAD_UDP,
	IPERF3_HEADS
};
static const char *const iperf3_heads[IPERF3_HEADS] = {
	[IPERF3_HEAD_TCP_SENDS] = "         Retr  Cwnd",
	[IPERF3_HEAD_TCP_SUMMARY] = "         Retr",
	[IPERF3_HEAD_RECEIVES] = "",
	[IPERF3_HEAD_UDP_SENDS] = "         Total Datagrams",
	[IPERF3_HEAD_UDP] = "         Jitter    Lost/Total Datagrams",
};

#define IPERF3_RULE "- - - - - - - - - - - - - - - - - - - - - - - - -"

/* ---- quantities: number, blank, unit; the number in four columns ---- */

#define IPERF3_BITS_BASE  1000
#define IPERF3_BYTES_BASE 1024
/* -f's letter: small for bits, capital for bytes. */
static const struct iperf3_unit {
	char letter;
	uint8_t power; /* of the base */
	const char *bits, *bytes;
} iperf3_units[] = {
	{0, 0, "bits", "Bytes"},     {'k', 1, "Kbits", "KBytes"}, {'m', 2, "Mbits", "MBytes"},
	{'g', 3, "Gbits", "GBytes"}, {'t', 4, "Tbits", "TBytes"},
};
/* Digits after the point, by the number's size. */
static const struct iperf3_width {
	double below;
	int decimals;
} iperf3_widths[] = {{9.995, 2}, {99.95, 1}, {1e300, 0}};

static const char *const iperf3_marks[] = {"", "(omitted)", "sender", "receiver"};
enum iperf3_mark { IPERF3_PLAIN, IPERF3_OMITTED, IPERF3_SENDER, IPERF3_RECEIVER };

#endif
