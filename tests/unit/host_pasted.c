/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other tools' reports are judged by the same rules as weir's own runs, where there is enough in them:
 * a load with what its program says, counters before and after, shares of processors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"
#include "host/host.h"

#define IPERF3                                                                           \
	"[ ID] Interval           Transfer     Bitrate         Retr\n"                   \
	"[  5]   0.00-10.00  sec   300 MBytes   252 Mbits/sec    4             sender\n" \
	"[  5]   0.00-10.04  sec   299 MBytes   250 Mbits/sec                  receiver\n\n"

#define MPSTAT                                                                                     \
	"12:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice" \
	"   %idle\n"
#define ROW(at, cpu, sys, soft, steal, idle)                                             \
	at "     " cpu "    1.00    0.00   " sys "    0.00    0.00   " soft "    " steal \
	   "    0.00    0.00   " idle "\n"
#define SOFTNET(dropped, squeezed)                                                           \
	"00353fc3 " dropped " " squeezed                                                     \
	" 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 " \
	"00000000\n"                                                                         \
	"00000013 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "  \
	"00000000 00000000 00000000 00000001\n\n"

static const struct {
	const char *text, *code, *says;
} rows[] = {
	{IPERF3, NULL, NULL},
	{"[ ID] Interval           Transfer     Bitrate         Retr\n"
	 "[  5]   0.00-10.00  sec   300 MBytes   252 Mbits/sec  2300             sender\n"
	 "[  5]   0.00-10.04  sec   299 MBytes   250 Mbits/sec                  receiver\n",
	 "network-loss", "1.05 %"},
	{"[  5]   0.00-10.00  sec  1.10 GBytes   943 Mbits/sec    0             sender\n"
	 "[  5]   0.00-10.04  sec  1.10 GBytes   941 Mbits/sec                  receiver\n",
	 "link-rate", "941 Mbit/s"},
	{"$ iperf3 -c h -b 20M\n"
	 "[  5]   0.00-10.00  sec  23.8 MBytes  20.0 Mbits/sec    0             sender\n"
	 "[  5]   0.00-10.04  sec  23.8 MBytes  19.9 Mbits/sec                  receiver\n",
	 "asked-rate", "20.0 Mbit/s"},
	{IPERF3 MPSTAT ROW("12:00:02", "all", "10.00", "46.00", "0.00", "43.00")
		 ROW("12:00:02", "  0", "10.00", " 2.00", "0.00", "87.00")
			 ROW("12:00:02", "  1", " 3.00", "95.00", "0.00", " 1.00"),
	 "softirq-core", "one core of the observed host: 95 % in software interrupts"},
	{MPSTAT ROW("12:00:02", "  0", "10.00", " 2.00", "0.00", "87.00")
		 ROW("12:00:02", "  1", "97.00", " 1.00", "0.00", " 1.00"),
	 "middle", "99 % busy"},
	{MPSTAT ROW("12:00:02", "  0", "70.00", " 2.00", "25.00", " 2.00"), "host-contention",
	 "refused 25 % of a core"},
	{"before\n" SOFTNET("00000010", "00000001") IPERF3
	 "after\n" SOFTNET("00000990", "00000001"),
	 "backlog", "its backlog was full for 2432 packets"},
	/* Since boot is of no test; a counter that stands still drops nothing. */
	{SOFTNET("00000990", "00000001"), NULL, NULL},
	{SOFTNET("00000990", "00000001") IPERF3 SOFTNET("00000990", "00000001"), NULL, NULL},
	{"NIC statistics:\n     rx_packets: 100\n     rx_no_buffer_count: 7\n"
	 "     rx_missed_errors: 7\n\n" IPERF3 "NIC statistics:\n     rx_packets: 200000\n"
	 "     rx_no_buffer_count: 907\n     rx_missed_errors: 707\n\n",
	 "nic-ring", "no buffer for 900 packets"},
};

struct into {
	struct model_run *run;
};

static int join(void *arg, const struct format_found *f)
{
	static const uint8_t hash[SHA256_LEN];
	struct into *to = arg;

	if (!to->run)
		to->run = format_found_head(f, hash);
	assert_non_null(to->run);
	return format_found_join(f, to->run, false) < 0 ? -1 : 0;
}

/* As `weir import` does: a text is a run. */
static struct model_run *read_text(const char *text)
{
	struct into to = {0};
	struct format_reading reading = {.found = join, .arg = &to};

	assert_true(format_read_string(text, strlen(text), &reading, NULL, NULL) >= 0);
	assert_non_null(to.run);
	host_judge_read(to.run);
	return to.run;
}

static void by_the_same_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct model_run *r = read_text(rows[i].text);
		const char *code = r->limited_code ? r->limited_code : "none";

		if (strcmp(code, rows[i].code ? rows[i].code : "none") != 0)
			fail_msg("%zu: %s (%s), not %s", i, code, r->limited ? r->limited : "",
				 rows[i].code ? rows[i].code : "none");
		if (rows[i].says && !strstr(r->limited, rows[i].says))
			fail_msg("%zu: %s", i, r->limited);
		model_run_free(r);
	}
}

/* Which of two loads the counters belong to, nobody says. */
static void not_enough(void **state)
{
	struct model_run *r = read_text(
		IPERF3
		"\n\n[  5]   0.00-10.00  sec   200 MBytes   168 Mbits/sec    0             sender\n"
		"[  5]   0.00-10.04  sec   199 MBytes   166 Mbits/sec                  "
		"receiver\n\n" MPSTAT ROW("12:00:02", "  0", "97.00", " 1.00", "0.00", " 1.00"));

	(void)state;
	assert_null(r->limited);
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_same_rules),
		cmocka_unit_test(not_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
