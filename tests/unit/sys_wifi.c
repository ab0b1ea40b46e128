/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nl80211 messages, built here attribute by attribute as linux/nl80211.h has them. tests/data/wifi/tree/nl80211
 * has the same bytes, for the command; WEIR_WRITE=1 writes them there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/nl80211.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/priv.h"

#define FAMILY 0x1c /* as a kernel gives one out */

static void put_u8(struct nl_req *r, uint16_t type, int v)
{
	uint8_t u = (uint8_t)v;

	nl_put(r, type, &u, sizeof(u));
}

static void put_u16(struct nl_req *r, uint16_t type, uint16_t v)
{
	nl_put(r, type, &v, sizeof(v));
}

static void start(struct nl_req *r, uint8_t cmd, uint32_t index)
{
	struct genlmsghdr *g = nl_req(r, FAMILY, NLM_F_MULTI, sizeof(*g));

	g->cmd = cmd;
	g->version = 1;
	if (index)
		nl_put_u32(r, NL80211_ATTR_IFINDEX, index);
}

static void end(struct buf *b, const struct nl_req *r)
{
	buf_put(b, (const char *)r->nlh, NLMSG_ALIGN(r->nlh->nlmsg_len));
}

static void device(struct buf *b, const char *name, uint32_t index, uint32_t width)
{
	struct nl_req r = {.nlh = NULL}; /* all zero: padding too */

	start(&r, NL80211_CMD_NEW_INTERFACE, index);
	nl_put_str(&r, NL80211_ATTR_IFNAME, name);
	nl_put_u32(&r, NL80211_ATTR_WIPHY, 0);
	nl_put_u32(&r, NL80211_ATTR_IFTYPE, NL80211_IFTYPE_AP);
	nl_put_u32(&r, NL80211_ATTR_WIPHY_FREQ, 5180);
	nl_put_u32(&r, NL80211_ATTR_CHANNEL_WIDTH, width);
	nl_put_u32(&r, NL80211_ATTR_CENTER_FREQ1, 5210);
	nl_put_u32(&r, NL80211_ATTR_WIPHY_TX_POWER_LEVEL, 2250);
	end(b, &r);
}

/* Sends VHT-MCS 9 over two streams of 40 MHz, hears HT-MCS 7; one of its chains is deaf. */
static void station_a(struct buf *b, uint32_t index)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x0a};
	struct nlattr *info, *nest;
	struct nl_req r = {.nlh = NULL}; /* all zero: padding too */

	start(&r, NL80211_CMD_NEW_STATION, index);
	nl_put(&r, NL80211_ATTR_MAC, mac, sizeof(mac));
	info = nl_nest(&r, NL80211_ATTR_STA_INFO);
	nl_put_u32(&r, NL80211_STA_INFO_INACTIVE_TIME, 20);
	nl_put_u64(&r, NL80211_STA_INFO_RX_BYTES64, UINT64_C(5000000000));
	nl_put_u64(&r, NL80211_STA_INFO_TX_BYTES64, 7000);
	put_u8(&r, NL80211_STA_INFO_SIGNAL, -52);
	put_u8(&r, NL80211_STA_INFO_SIGNAL_AVG, -53);
	nest = nl_nest(&r, NL80211_STA_INFO_CHAIN_SIGNAL);
	put_u8(&r, 0, -52);
	put_u8(&r, 1, -80);
	nl_nest_end(&r, nest);
	nest = nl_nest(&r, NL80211_STA_INFO_TX_BITRATE);
	put_u16(&r, NL80211_RATE_INFO_BITRATE, 4000);
	nl_put_u32(&r, NL80211_RATE_INFO_BITRATE32, 4000);
	put_u8(&r, NL80211_RATE_INFO_VHT_MCS, 9);
	put_u8(&r, NL80211_RATE_INFO_VHT_NSS, 2);
	nl_put(&r, NL80211_RATE_INFO_40_MHZ_WIDTH, "", 0);
	nl_put(&r, NL80211_RATE_INFO_SHORT_GI, "", 0);
	nl_nest_end(&r, nest);
	nest = nl_nest(&r, NL80211_STA_INFO_RX_BITRATE);
	put_u16(&r, NL80211_RATE_INFO_BITRATE, 650);
	put_u8(&r, NL80211_RATE_INFO_MCS, 7);
	nl_nest_end(&r, nest);
	nl_put_u32(&r, NL80211_STA_INFO_TX_PACKETS, 1000);
	nl_put_u32(&r, NL80211_STA_INFO_TX_RETRIES, 450);
	nl_put_u32(&r, NL80211_STA_INFO_TX_FAILED, 3);
	nl_put_u32(&r, NL80211_STA_INFO_EXPECTED_THROUGHPUT, 250500);
	nl_nest_end(&r, info);
	end(b, &r);
}

/* HE over 80 MHz, and a driver that counts no retries. */
static void station_b(struct buf *b, uint32_t index)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x0b};
	struct nlattr *info, *nest;
	struct nl_req r = {.nlh = NULL}; /* all zero: padding too */

	start(&r, NL80211_CMD_NEW_STATION, index);
	nl_put(&r, NL80211_ATTR_MAC, mac, sizeof(mac));
	info = nl_nest(&r, NL80211_ATTR_STA_INFO);
	nest = nl_nest(&r, NL80211_STA_INFO_TX_BITRATE);
	nl_put_u32(&r, NL80211_RATE_INFO_BITRATE32, 12010);
	put_u8(&r, NL80211_RATE_INFO_HE_MCS, 11);
	put_u8(&r, NL80211_RATE_INFO_HE_NSS, 2);
	put_u8(&r, NL80211_RATE_INFO_HE_GI, NL80211_RATE_INFO_HE_GI_0_8);
	nl_put(&r, NL80211_RATE_INFO_80_MHZ_WIDTH, "", 0);
	nl_nest_end(&r, nest);
	nl_put_u32(&r, NL80211_STA_INFO_TX_PACKETS, 42);
	nl_nest_end(&r, info);
	end(b, &r);
}

static void survey(struct buf *b, uint32_t index, uint32_t mhz, bool in_use)
{
	struct nlattr *info;
	struct nl_req r = {.nlh = NULL}; /* all zero: padding too */

	start(&r, NL80211_CMD_NEW_SURVEY_RESULTS, index);
	info = nl_nest(&r, NL80211_ATTR_SURVEY_INFO);
	nl_put_u32(&r, NL80211_SURVEY_INFO_FREQUENCY, mhz);
	put_u8(&r, NL80211_SURVEY_INFO_NOISE, in_use ? -92 : -101);
	if (in_use)
		nl_put(&r, NL80211_SURVEY_INFO_IN_USE, "", 0);
	nl_put_u64(&r, NL80211_SURVEY_INFO_TIME, 20000);
	nl_put_u64(&r, NL80211_SURVEY_INFO_TIME_BUSY, 5000);
	nl_put_u64(&r, NL80211_SURVEY_INFO_TIME_RX, 3000);
	nl_put_u64(&r, NL80211_SURVEY_INFO_TIME_TX, 1000);
	nl_nest_end(&r, info);
	end(b, &r);
}

static void all(struct buf *b)
{
	device(b, "wlan0", 5, NL80211_CHAN_WIDTH_80);
	device(b, "wlan1", 6, NL80211_CHAN_WIDTH_20);
	station_a(b, 5);
	station_b(b, 5);
	station_b(b, 6);
	survey(b, 5, 5200, false);
	survey(b, 5, 5180, true);
	survey(b, 6, 2412, true);
}

static struct sys_wifi *decoded(const struct buf *b, size_t n, const char *name, int want)
{
	struct sys_wifi *w = malloc(sizeof(*w));
	char *copy = calloc(1, n + 4); /* so that a sanitizer sees a byte too far */
	struct weir_err e = {0};

	assert_non_null(w);
	assert_non_null(copy);
	memcpy(copy, b->data, n);
	assert_int_equal(sys_wifi_decode(copy, n, name, w, &e), want);
	free(copy);
	return w;
}

static void a_device(void **state)
{
	struct buf b = {0};
	struct sys_wifi *w;

	(void)state;
	all(&b);
	w = decoded(&b, b.len, "wlan0", 0);
	assert_string_equal(w->type, "AP");
	assert_int_equal(w->freq_mhz, 5180);
	assert_int_equal(sys_wifi_channel(w->freq_mhz), 36);
	assert_int_equal(w->width_mhz, 80);
	assert_true(w->has_power && w->power_dbm == 22.5);
	assert_true(w->survey.known && w->survey.has_noise && w->survey.has_time);
	assert_int_equal(w->survey.noise_dbm, -92);
	assert_int_equal(w->survey.busy_ms, 5000);
	assert_int_equal(w->survey.time_ms, 20000);
	assert_int_equal(w->n, 2);
	free(w);
	w = decoded(&b, b.len, "wlan1", 0);
	assert_int_equal(w->n, 1);
	assert_int_equal(w->width_mhz, 20);
	free(w);
	free(decoded(&b, b.len, "wlan2", -ENODEV));
	buf_fini(&b);
}

static void stations(void **state)
{
	struct buf b = {0};
	struct sys_wifi *w;
	const struct sys_wifi_station *s;

	(void)state;
	all(&b);
	w = decoded(&b, b.len, "wlan0", 0);
	s = &w->station[0];
	assert_int_equal(s->mac[5], 0x0a);
	assert_int_equal(s->signal_dbm, -52);
	assert_int_equal(s->n_chains, 2);
	assert_int_equal(s->chain_dbm[1], -80);
	assert_int_equal(s->tx.gen, SYS_WIFI_VHT);
	assert_int_equal(s->tx.bps, 400000000);
	assert_int_equal(s->tx.mcs, 9);
	assert_int_equal(s->tx.streams, 2);
	assert_int_equal(s->tx.width_mhz, 40);
	assert_int_equal(s->tx.gi_ns, 400);
	assert_int_equal(s->rx.gen, SYS_WIFI_HT);
	assert_int_equal(s->rx.bps, 65000000);
	assert_int_equal(s->rx.streams, 1);
	assert_int_equal(s->rx_bytes, 5000000000);
	assert_true(s->has_retries && s->tx_retries == 450 && s->tx_failed == 3);
	assert_int_equal(s->expected_bps, 250500000);
	s = &w->station[1];
	assert_int_equal(s->tx.gen, SYS_WIFI_HE);
	assert_int_equal(s->tx.bps, 1201000000);
	assert_int_equal(s->tx.gi_ns, 800);
	assert_int_equal(s->rx.bps, 0);
	assert_true(!s->has_retries && s->signal_dbm == 0);
	free(w);
	buf_fini(&b);
}

static void cut_anywhere(void **state)
{
	struct buf b = {0};

	(void)state;
	all(&b);
	for (size_t n = 0; n < b.len; n++) {
		struct sys_wifi *w = malloc(sizeof(*w));
		char *copy = calloc(1, n + 4);

		assert_true(w && copy);
		memcpy(copy, b.data, n);
		sys_wifi_decode(copy, n, "wlan0", w, NULL);
		assert_true(w->n <= 2);
		free(copy);
		free(w);
	}
	buf_fini(&b);
}

static void channels(void **state)
{
	static const int want[][2] = {{2412, 1}, {2472, 13},  {2484, 14}, {5180, 36}, {5825, 165},
				      {5955, 1}, {7115, 233}, {0, 0},     {900, 0},   {60480, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(sys_wifi_channel(want[i][0]), want[i][1]);
}

static void kept_bytes(void **state)
{
	static const char path[] = TEST_DATA "/wifi/tree/nl80211";
	char have[8192];
	struct buf b = {0};
	FILE *f;
	size_t n;

	(void)state;
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
		print_message("kept messages are little-endian\n");
		skip();
	}
	all(&b);
	if (getenv("WEIR_WRITE")) {
		f = fopen(path, "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
		fclose(f);
	}
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(have, 1, sizeof(have), f);
	fclose(f);
	assert_int_equal(n, b.len);
	assert_memory_equal(have, b.data, n);
	buf_fini(&b);
}

static void this_kernel(void **state)
{
	struct sys_wifi *w = malloc(sizeof(*w));
	struct weir_err e = {0};
	int rc;

	(void)state;
	assert_non_null(w);
	rc = sys_wifi_get("no-such-radio", w, &e);
	free(w);
	if (rc == -ENOENT || e.domain == WEIR_MISSING) {
		print_message("skip: %s\n", e.msg);
		skip();
	}
	assert_int_equal(rc, -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device),     cmocka_unit_test(stations),
		cmocka_unit_test(cut_anywhere), cmocka_unit_test(channels),
		cmocka_unit_test(kept_bytes),   cmocka_unit_test(this_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
