/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iw station dump, a station a report (its address is not kept), and ath10k's fw_stats, which is
 * labels and values.
 */
#include <ctype.h>
#include <string.h>

#include "format/rows.h"

#define GAP   24
#define LABEL 12 /* tokens */

#define PLAIN   UNIT_NONE, 1, STAT_VALUE, 0
#define BYTES   UNIT_BYTE, 1, STAT_VALUE, 0
#define MBIT    UNIT_BPS, 1e6, STAT_VALUE, 0
#define TIME(s) UNIT_SECOND, s, STAT_VALUE, 0

static const struct rows_pat lines[] = {
	{"inactive time : # ms", {{"ext.station.inactive", TIME(1e-3)}}},
	{"rx bytes : #", {{"ext.station.rx_bytes", BYTES}}},
	{"rx packets : #", {{"ext.station.rx_packets", PLAIN}}},
	{"tx bytes : #", {{"ext.station.tx_bytes", BYTES}}},
	{"tx packets : #", {{"ext.station.tx_packets", PLAIN}}},
	{"tx retries : #", {{"ext.station.tx_retries", PLAIN}}},
	{"tx failed : #", {{"ext.station.tx_failed", PLAIN}}},
	{"beacon loss : #", {{"ext.station.beacon_loss", PLAIN}}},
	{"beacon rx : #", {{"ext.station.beacon_rx", PLAIN}}},
	{"rx drop misc : #", {{"ext.station.rx_drop_misc", PLAIN}}},
	{"beacon signal avg : -# dBm", {{"ext.station.beacon_signal_dbm", PLAIN}}},
	{"tx duration : # us", {{"ext.station.tx_duration", TIME(1e-6)}}},
	{"rx duration : # us", {{"ext.station.rx_duration", TIME(1e-6)}}},
	{"airtime weight : #", {ROWS_NONE}},
	{"expected throughput : # Mbps", {{"ext.station.expected_throughput", MBIT}}},
	{"connected time : # seconds", {{"ext.station.connected", TIME(1)}}},
	{"last ack signal : -# dBm", {{"ext.station.ack_signal_dbm", PLAIN}}},
	{"avg ack signal : -# dBm", {{"ext.station.ack_signal_avg_dbm", PLAIN}}},
	{"authorized|authenticated|associated|preamble|MFP : %w", {ROWS_NONE}},
	{"WMM/WME : %w", {ROWS_NONE}},
	{"TDLS peer : %w", {ROWS_NONE}},
	{"DTIM period : #", {ROWS_NONE}},
	{"beacon interval : #", {ROWS_NONE}},
	{"short slot time : %w", {ROWS_NONE}},
	{"short preamble : %w", {ROWS_NONE}},
};

/* "signal: -29 [-30, -31] dBm": the whole, and each chain. */
static size_t signal_of(const struct lex *l, size_t i, struct format_found *f)
{
	static const struct {
		const char *head, *metric;
	} rows[] = {{"signal avg : -#", "ext.station.signal_avg_dbm"},
		    {"signal : -#", "ext.station.signal_dbm"}};
	double c[MATCH_CAPS];

	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		size_t end = match(l, i, rows[k].head, c), chain = 0, next;

		if (!end)
			continue;
		found_ext(f, rows[k].metric, UNIT_NONE, STAT_VALUE, DIMS_NONE, c[0], 1);
		if (lex_is(l, end, "["))
			end++;
		while (chain < 8 && (next = match(l, end, "-# ( , )", c)) > 0) {
			if (k == 1)
				found_ext(f, "ext.station.signal_chain_dbm", UNIT_NONE, STAT_VALUE,
					  model_dims_with(DIMS_NONE, DIM_STEP, (int64_t)chain),
					  c[0], 1);
			chain++;
			end = next;
		}
		end += lex_is(l, end, "]");
		return lex_is(l, end, "dBm") ? end + 1 : end;
	}
	return 0;
}

/* What a rate is made of beside its MCS; HE and EHT print the guard interval's number. */
static size_t rate_part(const struct lex *l, size_t i, bool tx, struct format_found *f)
{
	static const double guard_s[] = {0.8e-6, 1.6e-6, 3.2e-6};
	double c[MATCH_CAPS];
	size_t end = match(l, i, "VHT-NSS|HE-NSS|EHT-NSS #", c);

	if (end) {
		found_ext(f, tx ? "ext.station.tx_streams" : "ext.station.rx_streams", UNIT_NONE,
			  STAT_VALUE, DIMS_NONE, c[0], 1);
		return end;
	}
	end = match(l, i, "# MHz", c);
	if (end) {
		found_ext(f, tx ? "ext.station.tx_width_mhz" : "ext.station.rx_width_mhz",
			  UNIT_NONE, STAT_VALUE, DIMS_NONE, c[0], 1);
		return end;
	}
	end = match(l, i, "short GI", c);
	c[1] = end ? 0.4e-6 : UNSET;
	if (!end && (end = match(l, i, "HE-GI|EHT-GI #", c)) > 0)
		c[1] = c[0] >= 0 && c[0] < 3 ? guard_s[(int)c[0]] : UNSET;
	found_ext(f, tx ? "ext.station.tx_guard" : "ext.station.rx_guard", UNIT_SECOND, STAT_VALUE,
		  DIMS_NONE, c[1], 0);
	return end ? end : match(l, i, "HE-DCM #", c);
}

/* "tx bitrate: 866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2" */
static size_t bitrate(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS];
	size_t end = match(l, i, "tx|rx bitrate : # MBit/s", c), next;
	bool tx = lex_is(l, i, "tx");

	if (!end)
		return 0;
	found_ext(f, tx ? "ext.station.tx_bitrate" : "ext.station.rx_bitrate", UNIT_BPS, STAT_VALUE,
		  DIMS_NONE, c[0] * 1e6, 1e5);
	for (size_t k = 0; k < 8; k++) {
		next = match(l, end, "MCS|VHT-MCS|HE-MCS|EHT-MCS #", c);
		if (next && tx)
			found_param(f, "gen", "%.*s",
				    lex_is(l, end, "MCS") ? 2 : (int)strcspn(lex_text(l, end), "-"),
				    lex_is(l, end, "MCS") ? "HT" : lex_text(l, end));
		if (next)
			found_ext(f, tx ? "ext.station.tx_mcs" : "ext.station.rx_mcs", UNIT_NONE,
				  STAT_VALUE, DIMS_NONE, c[0], 1);
		next = next ? next : rate_part(l, end, tx, f);
		if (!next)
			break;
		end = next;
	}
	return end;
}

static bool is_station(const struct lex *l, size_t i)
{
	if (!lex_is(l, i, "Station") || !lex_line(l, i))
		return false;
	for (size_t k = i + 1; k < i + 20 && k < l->n; k++)
		if (match(l, k, "\\( on", &(double){0}))
			return true;
	return false;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t k = i + 1, last = i + 1;
	double packets, retries;

	f->what = "station";
	while (k < l->n && !lex_is(l, k, ")"))
		k++;
	last = k < l->n ? k + 1 : last;
	for (k = last; k < l->n && k <= last + GAP && !is_station(l, k);) {
		size_t end = signal_of(l, k, f);

		end = end ? end : bitrate(l, k, f);
		end = end ? end : rows_match(l, k, lines, ARRAY_LEN(lines), f, DIMS_NONE);
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	packets = rows_value(f, "ext.station.tx_packets", STAT_VALUE);
	retries = rows_value(f, "ext.station.tx_retries", STAT_VALUE);
	if (packets > 0 && retries >= 0) {
		found_ext(f, "ext.station.retry_share", UNIT_RATIO, STAT_VALUE, DIMS_NONE,
			  retries / packets, 0);
		found_prov(f, MODEL_DERIVED);
	}
	return last;
}

const struct reader reader_station = {"station", "S", is_station, parse};

/* ---- ath10k ---- */

static bool fw_head(const struct lex *l, size_t i)
{
	return match(l, i, "ath10k PDEV|VDEV|PEER ( TX|RX|extd|beacon ) stats", &(double){0});
}

/* The label of tokens [a, b) as part of a metric's name. */
static bool label(const struct lex *l, size_t a, size_t b, char *dst, size_t cap)
{
	size_t n = 0;

	for (size_t k = a; k < b; k++) {
		if (lex_is(l, k, "address"))
			return false;
		if (l->tok[k].type == LEX_PUNCT)
			continue;
		if (n && n + 1 < cap)
			dst[n++] = '_';
		for (size_t c = 0; c < l->tok[k].len && n + 1 < cap; c++)
			dst[n++] = (char)tolower((unsigned char)lex_text(l, k)[c]);
	}
	dst[n] = '\0';
	return n > 0;
}

/* "Label of words   -102" up to the end of the line. */
static size_t fw_row(const struct lex *l, size_t i, int64_t step, struct format_found *f)
{
	char name[64];
	double v;
	size_t end;

	for (size_t k = i + 1; k < i + LABEL && k < l->n && !lex_line(l, k); k++) {
		end = match(l, k, "-#", &v);
		if (!end || !lex_line(l, end) || !label(l, i, k, name, sizeof(name)))
			continue;
		found_ext(f, found_join(f, "ext.ath10k.", name, ""), UNIT_NONE, STAT_VALUE,
			  step < 0 ? DIMS_NONE : model_dims_with(DIMS_NONE, DIM_STEP, step), v, 1);
		return end;
	}
	return 0;
}

static size_t fw_parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t k = i, last = i;
	int64_t peer = -1;

	f->what = "ath10k";
	while (k < l->n && k <= last + 120) {
		size_t end = 0;

		if (f->n_fig && match(l, k, "ath10k PDEV stats", &(double){0}))
			break; /* the file begins with it: it was read again */
		if (fw_head(l, k)) {
			end = k + 3;
			peer = lex_is(l, k + 1, "PDEV") ? -1 : 0;
		} else if (lex_line(l, k) && l->tok[k].type == LEX_WORD) {
			peer += peer >= 0 && match(l, k, "Peer MAC address", &(double){0}) ? 1 : 0;
			end = fw_row(l, k, peer, f);
		}
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	return last;
}

const struct reader reader_fw_stats = {"fw_stats", "a", fw_head, fw_parse};
