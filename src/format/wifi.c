/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rate table for people: the rates that are in use first, how often they get through, what share
 * of all attempts they are; then what stands out, each with the figure behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

#define RATES_MAX 256
#define BAR       10

enum column { TP, PROB, OK, ALL, AIRTIME, N_COLUMNS };
static const char *const columns[N_COLUMNS] = {"tp", "prob", "success", "attempts", "airtime"};

struct rate {
	char name[40];
	double v[N_COLUMNS];
};
struct table {
	const struct format_found *f;
	const struct format_opts *o;
	struct buf *b;
	struct rate r[RATES_MAX];
	size_t n;
	double ok, all, air; /* air: seconds of airtime; NaN = not known of all */
};

static struct rate *rate_of(struct table *t, const char *name, size_t n)
{
	struct rate *r;

	for (size_t i = t->n; i-- > 0;) /* a rate's figures stand together */
		if (strlen(t->r[i].name) == n && !memcmp(t->r[i].name, name, n))
			return &t->r[i];
	if (t->n == RATES_MAX || n >= sizeof(t->r[0].name))
		return NULL;
	r = &t->r[t->n++];
	memcpy(r->name, name, n);
	r->name[n] = '\0';
	for (size_t k = 0; k < N_COLUMNS; k++)
		r->v[k] = UNSET;
	return r;
}

/* "ext.rc.ht20_lgi_mcs4.prob": the last dot is before the column. */
static void take(struct table *t, const struct found_fig *g)
{
	const char *name = g->metric + 7, *dot;

	if (strncmp(g->metric, "ext.rc.", 7) != 0 || !(dot = strrchr(name, '.')))
		return;
	for (size_t k = 0; k < N_COLUMNS; k++)
		if (!strcmp(dot + 1, columns[k])) {
			struct rate *r = rate_of(t, name, (size_t)(dot - name));

			if (r)
				r->v[k] = g->value;
		}
}

/* The flags under which the table has a rate: "A P". */
static void flags_of(const struct table *t, const struct rate *r, char dst[16])
{
	size_t n = 0;

	for (size_t i = 0; i < t->f->n_param && n + 1 < 16; i++) {
		const char *v = t->f->param[i].value;
		size_t len = strlen(v), have = strlen(r->name);
		char want[40];

		if (strlen(t->f->param[i].key) != 1 || len >= sizeof(want))
			continue;
		for (size_t k = 0; k <= len; k++) /* MCS9/2 is mcs9_2 in names */
			want[k] = v[k] == '/' ? '_' : v[k] >= 'A' && v[k] <= 'Z' ? v[k] + 32 : v[k];
		if (have > len && r->name[have - len - 1] == '_' &&
		    !strcmp(r->name + have - len, want))
			dst[n++] = t->f->param[i].key[0];
	}
	dst[n] = '\0';
}

/* Red to green by success on a terminal, else only the bar. */
static void bar(const struct table *t, double p)
{
	static const int shades[] = {196, 202, 208, 214, 220, 190, 154, 118, 82, 46};
	int full = (int)(p * BAR + 0.5);

	if (t->o->colour)
		buf_printf(t->b, "\x1b[38;5;%dm", shades[full ? full - 1 : 0]);
	for (int i = 0; i < BAR; i++)
		buf_puts(t->b, i < full ? (t->o->unicode ? "\xe2\x96\x88" : "#")
					: (t->o->unicode ? "\xc2\xb7" : "."));
	if (t->o->colour)
		buf_puts(t->b, "\x1b[0m");
}

/* Seconds on the air of all its attempts, by the time of a frame that the table has. */
static double air_of(const struct rate *r)
{
	double each = r->v[AIRTIME];

	return r->v[ALL] > 0 ? each * r->v[ALL] : 0;
}

static int by_attempts(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	return (x->v[ALL] < y->v[ALL]) - (x->v[ALL] > y->v[ALL]);
}

static void print(struct table *t)
{
	char use[16];

	buf_printf(t->b, "%-18s %-6s %-10s %8s %8s %8s %9s %9s\n", "rate", "in use", "success", "",
		   "of tries", "airtime", "attempts", "expected");
	for (size_t i = 0; i < t->n; i++) {
		const struct rate *r = &t->r[i];
		double p = r->v[ALL] > 0 ? r->v[OK] / r->v[ALL] : UNSET;

		flags_of(t, r, use);
		if (!(r->v[ALL] > 0) && !use[0])
			continue;
		buf_printf(t->b, "%-18s %-6s ", r->name, use);
		if (isnan(p))
			buf_printf(t->b, "%-10s %8s", "untried", "");
		else
			bar(t, p), buf_printf(t->b, " %6.1f %%", p * 100);
		buf_printf(t->b, " %6.1f %%", t->all > 0 ? r->v[ALL] / t->all * 100 : 0);
		if (t->air > 0)
			buf_printf(t->b, " %6.1f %%", air_of(r) / t->air * 100);
		else
			buf_printf(t->b, " %8s", "");
		buf_printf(t->b, " %9.0f", r->v[ALL]);
		if (r->v[TP] > 0)
			buf_printf(t->b, " %4.1f Mb/s", r->v[TP] / 1e6);
		buf_puts(t->b, "\n");
	}
}

/* ---- advice: a rule, and the figure behind it ---- */

static bool starts(const char *s, const char *p)
{
	return !strncmp(s, p, strlen(p));
}

static double share(const struct table *t, bool (*of)(const struct rate *r))
{
	double n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += of(&t->r[i]) && t->r[i].v[ALL] > 0 ? t->r[i].v[ALL] : 0;
	return t->all > 0 ? n / t->all : 0;
}

static bool is_legacy(const struct rate *r)
{
	return starts(r->name, "cck") || starts(r->name, "ofdm") || starts(r->name, "legacy");
}

static bool is_wide(const struct rate *r)
{
	return strstr(r->name, "40_") || strstr(r->name, "80_") || strstr(r->name, "160_");
}

static bool has(const struct table *t, bool (*of)(const struct rate *r))
{
	for (size_t i = 0; i < t->n; i++)
		if (of(&t->r[i]))
			return true;
	return false;
}

static bool is_newer(const struct rate *r)
{
	return !is_legacy(r);
}

static void advise(const struct table *t)
{
	double lost = t->all > 0 ? 1 - t->ok / t->all : 0, legacy = share(t, is_legacy), wide;
	size_t never = 0;

	if (lost > 0.3)
		buf_printf(t->b, "advice: retries eat airtime: %.0f %% of the attempts failed\n",
			   lost * 100);
	if (legacy > 0.1 && has(t, is_newer))
		buf_printf(t->b, "advice: legacy rates: %.0f %% of the attempts\n", legacy * 100);
	wide = share(t, is_wide);
	if (has(t, is_wide) && wide < 0.1 && t->all > 100)
		buf_printf(t->b, "advice: the wide channel is unused: %.0f %% of the attempts\n",
			   wide * 100);
	for (size_t i = 0; i < t->n; i++)
		never += t->r[i].v[ALL] == 0;
	if (t->n >= 8 && never * 2 > t->n && t->all > 1000)
		buf_printf(t->b, "advice: sampling is stuck: %zu of %zu rates were never tried\n",
			   never, t->n);
}

/* ---- a station ---- */

static double figure(const struct format_found *f, const char *metric, int64_t step)
{
	for (size_t i = 0; i < f->n_fig; i++)
		if (!strcmp(f->fig[i].metric, metric) &&
		    (step < 0 || f->fig[i].dims.v[DIM_STEP] == step))
			return f->fig[i].value;
	return UNSET;
}

/* What drivers have in debugfs whose firmware chooses the rates. */
static const struct format_wifi_source sources[] = {
	{"ath11k/htt_stats", false, "ath11k: the firmware's counters, by number in htt_stats_type"},
	{"ath12k/htt_stats", false, "ath12k: the same"},
	{"htt_peer_stats", true,
	 "ath11k, ath12k: rates of this peer, as the firmware counted them"},
	{"tx_stats", true, "ath10k, ath11k, ath12k: frames by rate, after ext_tx_stats was set"},
	{"ath10k/fw_stats", false, "ath10k: the firmware's counters and each peer's rate"},
	{"mt76/tx_stats", false, "mt76: aggregates, their retries and errors"},
	{"rs_data", true, "iwlwifi: what rates the firmware may use, and the last one"},
	{"rtw88/phy_info", false, "rtw88: the rate in use and its masks"},
	{"rtw89/phy_info", false, "rtw89: rates by peer, signal of each chain"},
};

const struct format_wifi_source *format_wifi_source(size_t i)
{
	return i < ARRAY_LEN(sources) ? &sources[i] : NULL;
}

static void advise_chains(const struct format_wifi *w, struct buf *b)
{
	double best = w->chain_dbm[0];

	for (size_t k = 0; k < w->n_chains; k++)
		best = fmax(best, w->chain_dbm[k]);
	for (size_t k = 0; k < w->n_chains; k++)
		if (best - w->chain_dbm[k] >= 15)
			buf_printf(b,
				   "advice: a chain is as good as dead: %g dBm, another %g dBm\n",
				   w->chain_dbm[k], best);
}

void format_wifi_advise(const struct format_wifi *w, struct buf *b)
{
	advise_chains(w, b);
	if (w->retry_share > 0.3)
		buf_printf(b, "advice: retries eat airtime: %.0f for each 100 frames\n",
			   w->retry_share * 100);
	if (w->tx_bps > 0 && !*w->gen)
		buf_printf(b, "advice: a legacy rate: %.1f Mbit/s\n", w->tx_bps / 1e6);
	if (*w->gen && w->channel_mhz >= 40 && w->rate_mhz < w->channel_mhz)
		buf_printf(b, "advice: %d MHz unused: the channel has %d MHz, the rate in use %d\n",
			   w->channel_mhz - w->rate_mhz, w->channel_mhz, w->rate_mhz);
}

bool format_wifi_by_firmware(const char *gen)
{
	return !strcmp(gen, "HE") || !strcmp(gen, "EHT");
}

static void station(const struct format_found *f, struct buf *b)
{
	const char *gen = format_found_param(f, "gen");
	struct format_wifi w = {.gen = gen ? gen : "",
				.tx_bps = figure(f, "ext.station.tx_bitrate", -1),
				.retry_share = figure(f, "ext.station.retry_share", -1)};

	format_found_text(f, b, false);
	while (w.n_chains < ARRAY_LEN(w.chain_dbm)) {
		double v = figure(f, "ext.station.signal_chain_dbm", (int64_t)w.n_chains);

		if (isnan(v))
			break;
		w.chain_dbm[w.n_chains++] = v;
	}
	format_wifi_advise(&w, b);
	if (!format_wifi_by_firmware(w.gen))
		return;
	buf_printf(
		b,
		"advice: %s: firmware chooses the rates, and there is no rc_stats; in debugfs:\n",
		w.gen);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		buf_printf(b, "  %s%s (%s)\n", sources[i].of_station ? "stations/*/" : "",
			   sources[i].file, sources[i].what);
}

bool format_found_wifi(const struct format_found *f, const struct format_opts *o, struct buf *b)
{
	struct table *t;

	if (!strcmp(f->kind, "station") || !strcmp(f->kind, "fw_stats")) {
		station(f, b);
		return true;
	}
	if (strcmp(f->what, "minstrel") != 0)
		return false;
	t = calloc(1, sizeof(*t));
	if (!t)
		return false;
	t->f = f;
	t->o = o;
	t->b = b;
	for (size_t i = 0; i < f->n_fig; i++)
		take(t, &f->fig[i]);
	for (size_t i = 0; i < t->n; i++) {
		t->ok += t->r[i].v[ALL] > 0 ? t->r[i].v[OK] : 0;
		t->all += t->r[i].v[ALL] > 0 ? t->r[i].v[ALL] : 0;
		t->air += air_of(&t->r[i]); /* NaN when a tried rate has none */
	}
	qsort(t->r, t->n, sizeof(t->r[0]), by_attempts);
	buf_printf(b, "%s, line %llu%s\n", f->kind, (unsigned long long)f->line,
		   f->partial ? " (cut off)" : "");
	print(t);
	for (size_t i = 0; i < f->n_warn; i++)
		buf_printf(b, "warning: %s\n", f->warn[i].text);
	if (!found_warned(f, WARN_UNAVAILABLE)) /* then the counters tell nothing */
		advise(t);
	free(t);
	return true;
}
