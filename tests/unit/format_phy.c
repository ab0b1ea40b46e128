/* SPDX-License-Identifier: BSD-2-Clause */
/* Wi-Fi's rates against the tables of the standards, and the rate table of a report for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "format/format.h"

static double rate(int std, int width, int gi_ns, int streams, int mcs)
{
	struct format_phy p;

	assert_int_equal(format_phy_rate(std, width, gi_ns, streams, mcs, &p), 0);
	return round(p.bps / 1e5) / 10;
}

static void rates_of_the_standards(void **state)
{
	struct format_phy p;

	(void)state;
	assert_true(rate(FORMAT_PHY_N, 20, 800, 1, 7) == 65.0);
	assert_true(rate(FORMAT_PHY_N, 20, 400, 1, 7) == 72.2);
	assert_true(rate(FORMAT_PHY_N, 40, 400, 4, 7) == 600.0);
	assert_true(rate(FORMAT_PHY_N, 40, 400, 1, 7) == 150.0);
	assert_true(rate(FORMAT_PHY_AC, 20, 800, 3, 9) == 260.0);
	assert_true(rate(FORMAT_PHY_AC, 80, 400, 1, 9) == 433.3);
	assert_true(rate(FORMAT_PHY_AC, 160, 400, 8, 9) == 6933.3);
	assert_true(rate(FORMAT_PHY_AX, 20, 800, 1, 0) == 8.6);
	assert_true(rate(FORMAT_PHY_AX, 80, 800, 1, 11) == 600.5);
	assert_true(rate(FORMAT_PHY_AX, 80, 3200, 2, 11) == 1020.8);
	assert_true(rate(FORMAT_PHY_AX, 160, 800, 8, 11) == 9607.8);
	assert_true(rate(FORMAT_PHY_BE, 320, 800, 1, 13) == 2882.4);
	assert_int_equal(format_phy_rate(FORMAT_PHY_N, 20, 800, 2, 7, &p), 0);
	assert_int_equal(p.index, 15);
	assert_string_equal(p.modulation, "64-QAM");
}

/* 802.11ac leaves out ten combinations with up to eight streams. */
static void what_ac_leaves_out(void **state)
{
	struct format_phy p;
	int out = 0, w;

	(void)state;
	for (size_t i = 0; (w = format_phy_width(FORMAT_PHY_AC, i)) > 0; i++)
		for (int streams = 1; streams <= 8; streams++)
			for (int mcs = 0; mcs < 10; mcs++)
				out += format_phy_rate(FORMAT_PHY_AC, w, 800, streams, mcs, &p) ==
				       -ENOENT;
	assert_int_equal(out, 10);
	assert_int_equal(format_phy_rate(FORMAT_PHY_AC, 20, 800, 1, 9, &p), -ENOENT);
	assert_int_equal(p.index, 9);
}

static void what_no_standard_has(void **state)
{
	struct format_phy p;

	(void)state;
	assert_int_equal(format_phy_rate(FORMAT_PHY_N, 80, 800, 1, 0, &p), -EINVAL);
	assert_int_equal(format_phy_rate(FORMAT_PHY_N, 20, 1600, 1, 0, &p), -EINVAL);
	assert_int_equal(format_phy_rate(FORMAT_PHY_N, 20, 800, 5, 0, &p), -EINVAL);
	assert_int_equal(format_phy_rate(FORMAT_PHY_AX, 20, 800, 1, 12, &p), -EINVAL);
}

/* ---- a table for people ---- */

static int shown(void *arg, const struct format_found *f)
{
	struct format_opts o = {0};

	assert_true(format_found_wifi(f, &o, arg));
	return 0;
}

static void a_table_with_advice(void **state)
{
	static const char text[] = "HT40  LGI  1  A   P   MCS4     4     246    25.4      22.4     "
				   " 79.5       5     0 "
				   "0         100   1000\n"
				   "HT40  LGI  1          MCS5     5     185    30.7      19.7     "
				   " 57.7       5     8 "
				   "9          20   200\n"
				   "OFDM       1           6.0M  272    1640     5.2       3.1     "
				   " 53.8       3     0 "
				   "0            0   800\n";
	struct buf b = {0};
	struct format_reading r = {.found = shown, .arg = &b};
	struct weir_err e = {0};

	(void)state;
	assert_int_equal(format_read_string(text, sizeof(text) - 1, &r, NULL, &e), 0);
	assert_non_null(strstr(b.data, "ht40_lgi_mcs4      AP     #.........   10.0 %   50.0 %"));
	assert_non_null(strstr(b.data, "retries eat airtime: 94 % of the attempts failed"));
	assert_non_null(strstr(b.data, "legacy rates: 40 % of the attempts"));
	assert_null(strstr(b.data, "\x1b["));
	buf_fini(&b);
}

/* ---- advice: each rule where it holds, and just where it does not ---- */

struct attempts {
	const char *mode;
	int ok, all;
};

/* A table of n rates, as text; what weir says about it. */
static void advise(struct buf *b, const struct attempts *a, size_t n)
{
	struct buf text = {0};
	struct format_reading r = {.found = shown, .arg = b};
	struct weir_err e = {0};

	buf_clear(b);
	for (size_t i = 0; i < n; i++)
		buf_printf(&text,
			   "%s     %2zu     246    25.4      22.4       79.5       5     0 0  %d   "
			   "%d\n",
			   a[i].mode, i, a[i].ok, a[i].all);
	assert_int_equal(format_read_string(text.data, text.len, &r, NULL, &e), 0);
	assert_true(b->len > 0);
	buf_fini(&text);
}

static void advice_on_tables(void **state)
{
	struct attempts t[] = {
		{"HT20  LGI  1  A   P   MCS0", 75, 100}, {"HT20  LGI  1          MCS1", 0, 0},
		{"HT20  LGI  1          MCS2", 0, 0},    {"HT20  LGI  1          MCS3", 0, 0},
		{"HT20  LGI  1          MCS4", 0, 0},    {"HT20  LGI  1          MCS5", 10, 10},
		{"HT40  LGI  1          MCS4", 20, 20},  {"HT40  LGI  1          MCS5", 80, 80}};
	struct buf b = {0};

	(void)state;
	advise(&b, t, 8); /* 88 % get through, half of them at 40 MHz, few attempts */
	assert_null(strstr(b.data, "advice:"));
	t[0].ok = 0;
	advise(&b, t, 8); /* 100 of 210 lost */
	assert_non_null(
		strstr(b.data, "advice: retries eat airtime: 48 % of the attempts failed\n"));
	t[0] = (struct attempts){t[0].mode, 1900, 2000};
	advise(&b, t, 8); /* 100 of 2110 at 40 MHz; four of eight never tried are not over half */
	assert_non_null(
		strstr(b.data, "advice: the wide channel is unused: 5 % of the attempts\n"));
	assert_null(strstr(b.data, "stuck"));
	assert_null(strstr(b.data, "retries"));
	t[5].ok = t[5].all = 0;
	advise(&b, t, 8);
	assert_non_null(
		strstr(b.data, "advice: sampling is stuck: 5 of 8 rates were never tried\n"));
	assert_null(strstr(b.data, "legacy"));
	buf_fini(&b);
}

static void advice_on_stations(void **state)
{
	struct format_wifi w = {.gen = "HT",
				.tx_bps = 65e6,
				.retry_share = 0.3,
				.channel_mhz = 40,
				.rate_mhz = 40,
				.chain_dbm = {-64, -50},
				.n_chains = 2};
	struct buf b = {0};

	(void)state;
	format_wifi_advise(&w, &b);
	assert_int_equal(b.len, 0);
	w.chain_dbm[0] = -65;
	w.chain_dbm[2] = -52;
	w.n_chains = 3;
	format_wifi_advise(&w, &b);
	assert_string_equal(b.data,
			    "advice: a chain is as good as dead: -65 dBm, another -50 dBm\n");
	w.n_chains = 0;
	w.retry_share = 0.31;
	buf_clear(&b);
	format_wifi_advise(&w, &b);
	assert_string_equal(b.data, "advice: retries eat airtime: 31 for each 100 frames\n");
	w.retry_share = 0;
	w.rate_mhz = 20;
	buf_clear(&b);
	format_wifi_advise(&w, &b);
	assert_string_equal(b.data,
			    "advice: 20 MHz unused: the channel has 40 MHz, the rate in use 20\n");
	w.gen = "";
	w.tx_bps = 11e6;
	buf_clear(&b);
	format_wifi_advise(&w, &b);
	assert_string_equal(b.data, "advice: a legacy rate: 11.0 Mbit/s\n");
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_of_the_standards), cmocka_unit_test(what_ac_leaves_out),
		cmocka_unit_test(what_no_standard_has),   cmocka_unit_test(a_table_with_advice),
		cmocka_unit_test(advice_on_tables),       cmocka_unit_test(advice_on_stations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
