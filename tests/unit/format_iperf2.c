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
	format_iperf2_header(&b, &new, false);
	format_iperf2_header(&b, &old, true);
	format_iperf2_header(&b, &none, true);
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
		format_iperf2_header(&b, &o, false);
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
		cmocka_unit_test(csv_as_recorded),
		cmocka_unit_test(other_lines),
		cmocka_unit_test(its_own_reader_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
