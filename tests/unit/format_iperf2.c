/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf 2's lines as they were recorded of 2.0.5 and 2.1.8, made of raw values, and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "format/iperf2_table.h"

static const struct format_iperf2_flow near = {.id = 3,
					       .local_host = "10.77.0.1",
					       .local_port = 40542,
					       .remote_host = "10.77.0.2",
					       .remote_port = 5001},
				       one = {.id = 1,
					      .local_host = "10.77.0.1",
					      .local_port = 41228,
					      .remote_host = "10.77.0.2",
					      .remote_port = 5001,
					      .cwnd = 14,
					      .mss = 1448,
					      .rtt_us = 27},
				       star = {.id = 1, .star = true};

#define MIB 1048576.0
static const struct {
	struct format_iperf2_opts o;
	const struct format_iperf2_flow *f;
	struct format_iperf2_row r;
	const char *line;
} rows[] = {
	{{.v205 = true},
	 &near,
	 {.t1 = 2.013, .bytes = 895 * MIB},
	 "[  3]  0.0- 2.0 sec   895 MBytes  3.73 Gbits/sec\n"},
	{{.v205 = true},
	 NULL,
	 {.t1 = 1.005, .bytes = 1235 * MIB},
	 "[SUM]  0.0- 1.0 sec  1.21 GBytes  10.3 Gbits/sec\n"},
	{{.v205 = true},
	 &near,
	 {.t1 = 2,
	  .bytes = 1701 * 1470,
	  .datagrams = true,
	  .jitter_s = 0.000009,
	  .total = 1701,
	  .reordered = 1},
	 "[  3]  0.0- 2.0 sec  2.38 MBytes  10.0 Mbits/sec   0.009 ms    0/ 1701 (0%)\n"
	 "[  3]  0.0- 2.0 sec  1 datagrams received out-of-order\n"},
	{{.v205 = true},
	 &near,
	 {.t0 = 9, .t1 = 10, .bytes = 0},
	 "[  3]  9.0-10.0 sec  0.00 Bytes  0.00 bits/sec\n"},
	{{0},
	 &one,
	 {.t1 = 1, .bytes = 742 * MIB},
	 "[  1] 0.0000-1.0000 sec   742 MBytes  6.22 Gbits/sec\n"},
	{{0},
	 &star,
	 {.t1 = 2.0021, .bytes = 1370 * MIB},
	 "[ *1] 0.0000-2.0021 sec  1.34 GBytes  5.74 Gbits/sec\n"},
	{{0},
	 &one,
	 {.t1 = 1.9972,
	  .bytes = 894 * 1470,
	  .datagrams = true,
	  .jitter_s = 0.000002,
	  .lost = 1,
	  .total = 895},
	 "[  1] 0.0000-1.9972 sec  1.25 MBytes  5.26 Mbits/sec   0.002 ms 1/895 (0.11%)\n"},
	{{0},
	 NULL,
	 {.t1 = 2.0015, .bytes = 1790 * 1470, .datagrams = true, .total = 1790},
	 "[SUM] 0.0000-2.0015 sec  2.51 MBytes  10.5 Mbits/sec   0/1790 (0%)\n"},
	{{0},
	 &one,
	 {.t1 = 1, .bytes = 0},
	 "[  1] 0.0000-1.0000 sec  0.000 Bytes  0.000 bits/sec\n"},
	{{.unit = 'k'},
	 &one,
	 {.t1 = 1, .bytes = MIB},
	 "[  1] 0.0000-1.0000 sec  1024 KBytes  8389 Kbits/sec\n"},
	{{.unit = 'M'},
	 &one,
	 {.t1 = 1, .bytes = MIB},
	 "[  1] 0.0000-1.0000 sec  1.00 MBytes  1.00 MBytes/sec\n"},
};

/* Of -e and the modes that have rows of their own, as 2.1.8 printed them (the last figures of NetPwr
 * are of what was rounded). */
static const struct format_iperf2_flow fd1 = {.label = "FD1"}, sum2 = {.label = "SUM-2"};
static const struct {
	const struct format_iperf2_flow *f;
	struct format_iperf2_row r;
	const char *line;
} wide_rows[] = {
	{&one,
	 {.form = IPERF2_WRITES,
	  .t1 = 0.2,
	  .bytes = 1445 * 131072.0,
	  .calls = 1445,
	  .cwnd = 895 * 1024,
	  .rtt_us = 119,
	  .rttvar_us = 18},
	 "[  1] 0.0000-0.2000 sec   181 MBytes  7.58 Gbits/sec  1445/0          0      "
	 "895K/119(18) "
	 "us  7957943\n"},
	{NULL,
	 {.form = IPERF2_WRITES, .t1 = 0.2, .bytes = 2143 * 131072.0, .calls = 2143},
	 "[SUM] 0.0000-0.2000 sec   268 MBytes  11.2 Gbits/sec  2143/0         0\n"},
	{&one,
	 {.form = IPERF2_READS,
	  .t1 = 1,
	  .bytes = 1002 * MIB,
	  .calls = 8084,
	  .dist = {19, 2, 4, 70, 13, 3, 0, 7973}},
	 "[  1] 0.0000-1.0000 sec  1002 MBytes  8.41 Gbits/sec  8084=19:2:4:70:13:3:0:7973\n"},
	{&one,
	 {.form = IPERF2_BURSTS,
	  .t1 = 1,
	  .bytes = 9253 * 131072.0,
	  .calls = 9309,
	  .dist = {17, 9, 6, 32, 20, 2, 5, 9218},
	  .burst_size = 131072,
	  .latency = {9253, 0.003986, 0.000111, 0.015149, 0.001261}},
	 "[  1] 0.0000-1.0000 sec  1.13 GBytes  9.70 Gbits/sec  3.986/0.111/15.149/1.261 ms "
	 "(9253/131072) 4.61 MByte 304267  9309=17:9:6:32:20:2:5:9218\n"},
	{&one,
	 {.form = IPERF2_WRITE_TIMES,
	  .t1 = 0.2,
	  .bytes = 1306 * 131072.0,
	  .calls = 1306,
	  .retr = 37,
	  .cwnd = 2046 * 1024,
	  .rtt_us = 1138,
	  .latency = {1306, 0.000144, 0.000013, 0.011145, 0.0007}},
	 "[  1] 0.0000-0.2000 sec   163 MBytes  6.85 Gbits/sec  1306/0         37     2046K/1138 "
	 "us  "
	 "752109  0.144/0.013/11.145/0.700 ms (1306)\n"},
	{&one,
	 {.form = IPERF2_SENDS, .t1 = 1, .bytes = 1702 * 1470.0, .calls = 1699, .pps = 1702},
	 "[  1] 0.0000-1.0000 sec  2.39 MBytes  20.0 Mbits/sec  1699/0     1702 pps\n"},
	{&one,
	 {.form = IPERF2_LATENCY,
	  .t1 = 2.0017,
	  .bytes = 3404 * 1470.0,
	  .datagrams = true,
	  .jitter_s = 0.000003,
	  .total = 3404,
	  .latency = {3404, 0.000006, 0.000002, 0.000097, 0.000005},
	  .pps = 1701,
	  .got = 3404},
	 "[  1] 0.0000-2.0017 sec  4.77 MBytes  20.0 Mbits/sec   0.003 ms 0/3404 (0%) "
	 "0.006/0.002/0.097/0.005 ms 1701 pps 3404/0(0) pkts 416636\n"},
	{&one,
	 {.form = IPERF2_FRAMES, .t1 = 0.5002, .bytes = 131072, .pps = 188, .frames = 11},
	 "[  1] 0.0000-0.5002 sec   128 KBytes  2.10 Mbits/sec  0/0      188 pps   11/0/0\n"},
	{&one,
	 {.form = IPERF2_FRAMES_TCP,
	  .t1 = 0.2,
	  .bytes = 51300,
	  .calls = 4,
	  .cwnd = 872 * 1024,
	  .rtt_us = 3494,
	  .frames = 5},
	 "[  1] 0.0000-0.2000 sec  50.1 KBytes  2.05 Mbits/sec  4/0        0      872K/3494 us     "
	 "   "
	 "  5/0/0        73.41\n"},
	{&one,
	 {.form = IPERF2_BOUNCES,
	  .t1 = 1,
	  .bytes = 2000,
	  .cwnd = 28 * 1024,
	  .rtt_us = 23,
	  .latency = {10, 0.0000686, 0.000029, 0.000404, 0.000118}},
	 "[  1] 0.0000-1.0000 sec  1.95 KBytes  16.0 Kbits/sec    10=0.069/0.029/0.404/0.118 ms    "
	 "0 "
	 "  28K/23 us    14577 rps\n"},
	{&fd1,
	 {.t1 = 0.3077, .bytes = 427 * MIB},
	 "[FD1] 0.0000-0.3077 sec   427 MBytes  11.6 Gbits/sec\n"},
	{&sum2,
	 {.t1 = 0.2, .bytes = 362 * MIB},
	 "[SUM-2] 0.0000-0.2000 sec   362 MBytes  15.2 Gbits/sec\n"},
};

static const struct {
	struct format_iperf2_opts o;
	const struct format_iperf2_flow *f;
	struct format_iperf2_row r;
	const char *line; /* behind the time */
} csv[] = {
	{{.v205 = true, .csv = true},
	 &near,
	 {.t1 = 1, .bytes = 891682816},
	 ",10.77.0.1,40542,10.77.0.2,5001,3,0.0-1.0,891682816,7133462528\n"},
	{{.v205 = true, .csv = true},
	 &near,
	 {.t1 = 1.00206,
	  .bytes = 1252440,
	  .datagrams = true,
	  .told = true,
	  .jitter_s = 0.000015,
	  .total = 851,
	  .reordered = 1},
	 ",10.77.0.2,5001,10.77.0.1,40542,3,0.0-1.0,1252440,9998922,0.015,0,851,0.000,1\n"},
	{{.csv = true},
	 &one,
	 {.t0 = 1,
	  .t1 = 2,
	  .bytes = 1311240,
	  .datagrams = true,
	  .jitter_s = 0.000002,
	  .lost = 9,
	  .total = 892},
	 ",10.77.0.1,41228,10.77.0.2,5001,1,1.0-2.0,1311240,10489920,0.002,9,892,1.009,0\n"},
	/* The client first, at its server, too. */
	{{.csv = true, .server = true},
	 &one,
	 {.t1 = 2, .bytes = 250},
	 ",10.77.0.2,5001,10.77.0.1,41228,1,0.0-2.0,250,1000\n"},
	{{.csv = true},
	 NULL,
	 {.t1 = 1, .bytes = 125},
	 ",0.0.0.0,0,0.0.0.0,0,-1,0.0-1.0,125,1000\n"},
};

static void lines_as_recorded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = {0};

		format_iperf2_row(&b, &rows[i].o, rows[i].f, &rows[i].r);
		assert_string_equal(b.data, rows[i].line);
		buf_fini(&b);
	}
}

static void wide_lines_as_recorded(void **state)
{
	const struct format_iperf2_opts o = {.enhanced = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wide_rows); i++) {
		struct buf b = {0};

		format_iperf2_row(&b, &o, wide_rows[i].f, &wide_rows[i].r);
		assert_string_equal(b.data, wide_rows[i].line);
		buf_fini(&b);
	}
}

static void a_histogram_has_its_shares(void **state)
{
	uint64_t bin[1000] = {[21] = 2, [23] = 1};
	const struct format_iperf2_hist h = {
		.bin = bin, .n = 1000, .bin_ns = 100000, .lower = 5, .upper = 95};
	const struct format_iperf2_row r = {.t1 = 1.016};
	struct buf b = {0};

	(void)state;
	format_iperf2_pdf(&b, &one, &r, "BB8", true, &h);
	assert_string_equal(b.data,
			    "[  1] 0.0000-1.0160 sec BB8(f)-PDF: bin(w=100us):cnt(3)=22:2,24:1 "
			    "(5.00/95.00/99.7%=22/24/24,Outliers=0,obl/obu=0/0)\n");
	buf_fini(&b);
}

/* The time is that of the row, never of 1970. */
static void csv_as_recorded(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < ARRAY_LEN(csv); i++) {
		struct format_iperf2_row r = csv[i].r;
		struct buf b = {0};

		r.when = 1796000000;
		format_iperf2_row(&b, &csv[i].o, csv[i].f, &r);
		assert_memory_equal(b.data, "20261130", 8);
		assert_string_equal(b.data + 14, csv[i].line);
		buf_fini(&b);
	}
}

static void other_lines(void **state)
{
	const struct format_iperf2_opts old = {.v205 = true}, new = {0}, none = {.csv = true};
	struct buf b = {0};

	(void)state;
	format_iperf2_connected(&b, &old, &near, "");
	format_iperf2_connected(&b, &new, &one, " (reverse)");
	format_iperf2_connected(&b, &none, &one, "");
	format_iperf2_header(&b, &new, IPERF2_PLAIN);
	format_iperf2_header(&b, &old, IPERF2_DATAGRAMS);
	format_iperf2_header(&b, &none, IPERF2_DATAGRAMS);
	format_iperf2_size(&b, 131072, &old);
	buf_putc(&b, '\n');
	format_iperf2_size(&b, 2080374, &old);
	assert_string_equal(
		b.data,
		"[  3] local 10.77.0.1 port 40542 connected with 10.77.0.2 port 5001\n"
		"[  1] local 10.77.0.1 port 41228 connected with 10.77.0.2 port 5001 (reverse) "
		"(icwnd/mss/irtt=14/1448/27)\n"
		"[ ID] Interval       Transfer     Bandwidth\n"
		"[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
		" 128 KByte\n1.98 MByte");
	buf_fini(&b);
}

/* What -e adds, and what --hide-ips takes away. */
static void connections_as_recorded(void **state)
{
	const struct format_iperf2_opts e = {.enhanced = true, .hide = true};
	struct format_iperf2_flow f = one;
	struct buf b = {0};

	(void)state;
	setenv("TZ", "UTC", 1);
	memcpy(f.dev, "%lo", 4);
	f.sock = 3;
	f.tos = 0xb8;
	f.connect_ms = 0.12;
	f.when = 1796088846;
	memcpy(f.peer, "2.1.8", 6);
	format_iperf2_connected(&b, &e, &f, "");
	assert_string_equal(b.data,
			    "[  1] local *.*.*.1%lo port 41228 connected with *.*.*.2 port 5001 "
			    "(sock=3) (tos rx=0xb8) (peer 2.1.8) (icwnd/mss/irtt=14/1448/27) "
			    "(ct=0.12 ms) on 2026-12-01 01:34:06 (UTC)\n");
	buf_fini(&b);
}

/* ---- read back ---- */

struct got {
	size_t n;
	double bps;
};

static int take(struct model_run *take_run, void *arg)
{
	struct got *g = arg;

	for (size_t i = 0; i < take_run->n_sums; i++) {
		const struct model_summary *s = &take_run->sums[i];

		if (s->metric && (!strcmp(s->metric->name, "throughput.sent") ||
				  !strcmp(s->metric->name, "goodput")))
			g->bps = s->value;
	}
	g->n++;
	model_run_free(take_run);
	return 0;
}

static void its_own_reader_reads_it(void **state)
{
	(void)state;
	for (int v205 = 0; v205 < 2; v205++) {
		const struct format_iperf2_opts o = {.v205 = v205};
		const struct format_iperf2_row r = {.t1 = 10, .bytes = 1.25e9};
		struct got got = {0};
		struct format_take t = {.run = take, .arg = &got};
		struct buf b = {0};

		buf_puts(&b, "------------------------------------------------------------\n"
			     "Client connecting to 10.77.0.2, TCP port 5001\n");
		format_iperf2_connected(&b, &o, &near, "");
		format_iperf2_header(&b, &o, IPERF2_PLAIN);
		format_iperf2_row(&b, &o, &near, &r);
		assert_true(format_read_all(b.data, b.len, &t, NULL) >= 0);
		assert_int_equal(got.n, 1);
		assert_true(fabs(got.bps - 1e9) < 1e7);
		buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_as_recorded),
		cmocka_unit_test(wide_lines_as_recorded),
		cmocka_unit_test(a_histogram_has_its_shares),
		cmocka_unit_test(csv_as_recorded),
		cmocka_unit_test(other_lines),
		cmocka_unit_test(connections_as_recorded),
		cmocka_unit_test(its_own_reader_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
