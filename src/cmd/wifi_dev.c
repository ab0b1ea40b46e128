/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir wifi DEV: what the driver tells over nl80211, and the rate table that minstrel keeps in debugfs.
 * Both come from beneath one root, so that a tree and kept messages can stand in for a radio.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sys/sys.h"

#define MESSAGES_MAX ((size_t)4 << 20)
#define PATH_CAP     512
#define MAC_CAP      18

static const char *const gens[] = {"", "HT", "VHT", "HE", "EHT"}; /* enum sys_wifi_gen */

struct reading {
	const struct cmd_wifi_dev *c;
	struct sys_wifi w;
	bool told;                   /* w holds what a driver told */
	struct sys_wifi_survey last; /* the reading before; for shares of the time between */
	char phy[PATH_CAP];          /* its directory in debugfs; "" = none */
	struct format_opts o;
	struct buf b;
	struct jw j;
	size_t shown; /* stations */
};

/* ---- debugfs ---- */

static void find_phy(struct reading *g)
{
	char dir[PATH_CAP], path[2 * PATH_CAP];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/sys/kernel/debug/ieee80211", g->c->root);
	d = opendir(dir);
	g->phy[0] = '\0';
	while (d && !g->phy[0] && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s/netdev:%s", dir, e->d_name, g->c->dev);
		if (e->d_name[0] != '.' && !access(path, F_OK))
			snprintf(g->phy, sizeof(g->phy), "%.400s/%.100s", dir, e->d_name);
	}
	if (d)
		closedir(d);
}

static void station_path(const struct reading *g, const char *mac, const char *file,
			 char dst[2 * PATH_CAP])
{
	snprintf(dst, 2 * PATH_CAP, "%s/netdev:%s/stations/%s/%s", g->phy, g->c->dev, mac, file);
}

struct tables {
	struct reading *g;
	size_t n;
};

static int on_table(void *arg, const struct format_found *f)
{
	struct tables *t = arg;
	struct buf b = {0};

	if (format_found_wifi(f, &t->g->o, &b)) {
		t->n++;
		if (t->g->c->json)
			format_found_json(f, &t->g->j, NULL);
		else
			buf_put(&t->g->b, b.data, b.len);
	}
	buf_fini(&b);
	return 0;
}

/* The rate table of a station; how many there were. */
static size_t rate_tables(struct reading *g, const char *mac)
{
	static const char *const files[] = {"rc_stats", "rc_stats_csv"};
	struct tables t = {.g = g};
	char path[2 * PATH_CAP];

	for (size_t i = 0; i < ARRAY_LEN(files) && g->phy[0] && !t.n; i++) {
		station_path(g, mac, files[i], path);
		if (!access(path, R_OK))
			cmd_read_file(path, on_table, NULL, &t, NULL, NULL);
	}
	return t.n;
}

/* Where else this driver tells of its rates. */
static void other_sources(struct reading *g, const char *mac, const char *gen)
{
	const struct format_wifi_source *s;
	char path[2 * PATH_CAP];
	size_t n = 0;

	buf_printf(&g->b, "advice: %s: firmware chooses the rates, and there is no rate table",
		   *gen ? gen : "legacy");
	for (size_t i = 0; (s = format_wifi_source(i)); i++) {
		if (s->of_station)
			station_path(g, mac, s->file, path);
		else
			snprintf(path, sizeof(path), "%s/%s", g->phy, s->file);
		if (!g->phy[0] || access(path, F_OK) != 0)
			continue;
		buf_puts(&g->b, n ? "\n  " : "; the driver has instead\n  ");
		safe_put(&g->b, path, strlen(path));
		buf_printf(&g->b, " (%s)", s->what);
		n++;
	}
	buf_puts(&g->b, n ? "\n" : "; the driver has nothing instead that weir knows\n");
}

/* ---- text ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole * 100 : 0;
}

/* The survey's times since the reading before, or since the driver came up. */
static struct sys_wifi_survey between(const struct reading *g)
{
	struct sys_wifi_survey s = g->w.survey;

	if (!g->last.has_time || s.time_ms <= g->last.time_ms || s.busy_ms < g->last.busy_ms ||
	    s.rx_ms < g->last.rx_ms || s.tx_ms < g->last.tx_ms)
		return s;
	s.time_ms -= g->last.time_ms;
	s.busy_ms -= g->last.busy_ms;
	s.rx_ms -= g->last.rx_ms;
	s.tx_ms -= g->last.tx_ms;
	return s;
}

static void device_text(struct reading *g)
{
	const struct sys_wifi *w = &g->w;
	struct sys_wifi_survey s = between(g);
	int channel = sys_wifi_channel(w->freq_mhz);

	buf_printf(&g->b, "%s: phy%d, %s", w->name, w->phy, w->type);
	if (channel)
		buf_printf(&g->b, ", channel %d", channel);
	if (w->freq_mhz)
		buf_printf(&g->b, ", %d MHz", w->freq_mhz);
	if (w->width_mhz)
		buf_printf(&g->b, ", %d MHz wide", w->width_mhz);
	if (w->has_power)
		buf_printf(&g->b, ", %g dBm", w->power_dbm);
	buf_puts(&g->b, "\n");
	if (s.has_noise)
		buf_printf(&g->b, "  noise %d dBm\n", s.noise_dbm);
	if (s.has_time)
		buf_printf(&g->b, "  busy %.1f %% of %.1f s (receiving %.1f %%, sending %.1f %%)\n",
			   share(s.busy_ms, s.time_ms), (double)s.time_ms / 1e3,
			   share(s.rx_ms, s.time_ms), share(s.tx_ms, s.time_ms));
}

static void rate_text(struct buf *b, const char *what, const struct sys_wifi_rate *r)
{
	if (!r->bps)
		return;
	buf_printf(b, "  %s %.1f Mbit/s", what, (double)r->bps / 1e6);
	if (r->gen == SYS_WIFI_LEGACY)
		buf_puts(b, ", legacy");
	else
		buf_printf(b, ", %s-MCS %d, %d stream%s, %d MHz", gens[r->gen], r->mcs, r->streams,
			   r->streams == 1 ? "" : "s", r->width_mhz);
	if (r->gi_ns > 0)
		buf_printf(b, ", guard %.1f us", r->gi_ns / 1e3);
	buf_puts(b, "\n");
}

static void station_text(struct reading *g, const struct sys_wifi_station *s)
{
	if (s->signal_dbm) {
		buf_printf(&g->b, "  signal %d dBm", s->signal_dbm);
		if (g->w.survey.has_noise)
			buf_printf(&g->b, ", %d dB over noise",
				   s->signal_dbm - g->w.survey.noise_dbm);
		for (size_t i = 0; i < s->n_chains; i++)
			buf_printf(&g->b, "%s%d", i ? ", " : "; chains ", s->chain_dbm[i]);
		buf_puts(&g->b, "\n");
	}
	rate_text(&g->b, "sends at", &s->tx);
	rate_text(&g->b, "receives at", &s->rx);
	buf_printf(&g->b, "  %llu frames sent", (unsigned long long)s->tx_packets);
	if (s->has_retries)
		buf_printf(&g->b, ", %llu retries (%.1f for each 100), %llu failed",
			   (unsigned long long)s->tx_retries, share(s->tx_retries, s->tx_packets),
			   (unsigned long long)s->tx_failed);
	if (s->has_expected)
		buf_printf(&g->b, "; expected throughput %.1f Mbit/s",
			   (double)s->expected_bps / 1e6);
	buf_puts(&g->b, "\n");
}

static void station_advice(struct reading *g, const struct sys_wifi_station *s)
{
	struct format_wifi f = {.gen = gens[s->tx.gen],
				.tx_bps = (double)s->tx.bps,
				.channel_mhz = g->w.width_mhz,
				.rate_mhz = s->tx.width_mhz,
				.n_chains = s->n_chains};

	if (s->has_retries && s->tx_packets)
		f.retry_share = (double)s->tx_retries / (double)s->tx_packets;
	for (size_t i = 0; i < s->n_chains; i++)
		f.chain_dbm[i] = s->chain_dbm[i];
	format_wifi_advise(&f, &g->b);
}

/* ---- JSON ---- */

static void device_json(struct reading *g)
{
	const struct sys_wifi *w = &g->w;
	struct sys_wifi_survey s = between(g);

	jw_str(&g->j, "device", w->name);
	jw_i64(&g->j, "phy", w->phy);
	jw_str(&g->j, "type", w->type);
	if (sys_wifi_channel(w->freq_mhz))
		jw_i64(&g->j, "channel", sys_wifi_channel(w->freq_mhz));
	if (w->freq_mhz)
		jw_i64(&g->j, "frequency_mhz", w->freq_mhz);
	if (w->width_mhz)
		jw_i64(&g->j, "width_mhz", w->width_mhz);
	if (w->has_power)
		jw_f64(&g->j, "power_dbm", w->power_dbm);
	if (s.has_noise)
		jw_i64(&g->j, "noise_dbm", s.noise_dbm);
	if (s.has_time && s.time_ms) {
		jw_f64(&g->j, "busy", share(s.busy_ms, s.time_ms) / 100);
		jw_f64(&g->j, "receiving", share(s.rx_ms, s.time_ms) / 100);
		jw_f64(&g->j, "sending", share(s.tx_ms, s.time_ms) / 100);
	}
}

static void rate_json(struct jw *j, const char *key, const struct sys_wifi_rate *r)
{
	if (!r->bps)
		return;
	jw_obj(j, key);
	jw_u64(j, "bits_per_second", r->bps);
	if (r->gen != SYS_WIFI_LEGACY) {
		jw_str(j, "mode", gens[r->gen]);
		jw_i64(j, "mcs", r->mcs);
		jw_i64(j, "streams", r->streams);
		jw_i64(j, "width_mhz", r->width_mhz);
	}
	if (r->gi_ns > 0)
		jw_f64(j, "gi_us", r->gi_ns / 1e3);
	jw_end_obj(j);
}

static void station_json(struct jw *j, const struct sys_wifi_station *s)
{
	if (s->signal_dbm)
		jw_i64(j, "signal_dbm", s->signal_dbm);
	jw_arr(j, "chains_dbm");
	for (size_t i = 0; i < s->n_chains; i++)
		jw_i64(j, NULL, s->chain_dbm[i]);
	jw_end_arr(j);
	rate_json(j, "tx", &s->tx);
	rate_json(j, "rx", &s->rx);
	jw_u64(j, "tx_packets", s->tx_packets);
	if (s->has_retries) {
		jw_u64(j, "tx_retries", s->tx_retries);
		jw_u64(j, "tx_failed", s->tx_failed);
	}
	if (s->has_expected)
		jw_u64(j, "expected_bits_per_second", s->expected_bps);
}

/* ---- a station ---- */

static void show_station(struct reading *g, const char *mac, const struct sys_wifi_station *s)
{
	const char *gen = s ? gens[s->tx.gen] : "";
	size_t tables;

	if (g->c->station && strcasecmp(g->c->station, mac) != 0)
		return;
	g->shown++;
	if (g->c->json) {
		jw_obj(&g->j, NULL);
		jw_str(&g->j, "mac", mac);
		if (s)
			station_json(&g->j, s);
		jw_arr(&g->j, "tables");
		rate_tables(g, mac);
		jw_end_arr(&g->j);
		jw_end_obj(&g->j);
		return;
	}
	buf_printf(&g->b, "\nstation %s\n", mac);
	if (s)
		station_text(g, s);
	tables = rate_tables(g, mac);
	if (s)
		station_advice(g, s);
	if (!tables && s && format_wifi_by_firmware(gen))
		other_sources(g, mac, gen);
	else if (!tables)
		buf_printf(&g->b, "no rate table: %s\n",
			   g->phy[0] ? "the driver or its firmware chooses the rates"
				     : "debugfs is not mounted, or not for this user");
}

static void mac_text(const uint8_t m[6], char dst[MAC_CAP])
{
	snprintf(dst, MAC_CAP, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static bool is_mac(const char *s)
{
	for (size_t i = 0; i < MAC_CAP - 1; i++)
		if (!s[i] || (i % 3 == 2 ? s[i] != ':' : !strchr("0123456789abcdefABCDEF", s[i])))
			return false;
	return !s[MAC_CAP - 1];
}

/* Stations of debugfs, where no driver tells of them. */
static void debugfs_stations(struct reading *g)
{
	char path[2 * PATH_CAP];
	struct dirent **v = NULL;
	int n;

	station_path(g, "", "", path);
	n = g->phy[0] ? scandir(path, &v, NULL, alphasort) : 0;
	for (int i = 0; i < n; i++) {
		if (is_mac(v[i]->d_name))
			show_station(g, v[i]->d_name, NULL);
		free(v[i]);
	}
	free(v);
}

static void show(struct reading *g)
{
	char mac[MAC_CAP];

	g->shown = 0;
	if (g->c->json) {
		g->j = jw_init(&g->b);
		jw_obj(&g->j, NULL);
		jw_i64(&g->j, "schema", MODEL_SCHEMA);
		if (g->told)
			device_json(g);
		jw_arr(&g->j, "stations");
	} else if (g->told) {
		device_text(g);
	}
	for (size_t i = 0; i < g->w.n && g->told; i++) {
		mac_text(g->w.station[i].mac, mac);
		show_station(g, mac, &g->w.station[i]);
	}
	if (!g->told)
		debugfs_stations(g);
	if (g->c->json) {
		jw_end_arr(&g->j);
		jw_end_obj(&g->j);
		buf_putc(&g->b, '\n');
	}
}

/* ---- readings ---- */

/* Messages that somebody kept, for the decoder; 4 bytes more can be read behind them. */
static int kept(struct reading *g, const char *path, struct weir_err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc = -ENOMEM;
	char *p = fd < 0 ? NULL : calloc(1, MESSAGES_MAX + 4);
	ssize_t n = p ? read(fd, p, MESSAGES_MAX) : -1;

	if (n >= 0)
		rc = sys_wifi_decode(p, (size_t)n, g->c->dev, &g->w, e);
	else
		rc = err_os(e, errno, "%s", path);
	free(p);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int take(struct reading *g, struct weir_err *e)
{
	char path[PATH_CAP];
	int rc;

	g->last = g->w.survey;
	find_phy(g);
	if (!*g->c->root) {
		rc = sys_wifi_get(g->c->dev, &g->w, e);
	} else {
		snprintf(path, sizeof(path), "%s/nl80211", g->c->root);
		if (access(path, F_OK) != 0 && g->phy[0])
			return 0; /* debugfs alone */
		rc = kept(g, path, e);
	}
	g->told = rc >= 0;
	return rc;
}

/* False when it is time to end. */
static bool wait_for(int stop, int64_t ns)
{
	struct pollfd p = {.fd = stop, .events = POLLIN};

	return poll(&p, 1, (int)(ns / NSEC_PER_MSEC)) == 0;
}

int cmd_wifi_dev(const struct cmd_wifi_dev *c, struct weir_err *e)
{
	struct reading *g = calloc(1, sizeof(*g));
	bool screen = c->watch_ns && !c->json && cmd_terminal(STDOUT_FILENO), again = true;
	int stop = c->watch_ns ? cmd_stop_fd() : -1, rc = 0;

	if (!g)
		return err_os(e, ENOMEM, "%s", c->dev);
	g->c = c;
	g->o = cmd_format_opts();
	for (; again && rc >= 0; again = c->watch_ns && rc >= 0 && wait_for(stop, c->watch_ns)) {
		rc = take(g, e);
		if (rc < 0)
			break;
		buf_puts(&g->b, screen ? "\x1b[H\x1b[J" : "");
		show(g);
		if (c->station && !g->shown)
			rc = err_set(e, WEIR_OS, ENOENT, "%s has no station %s", c->dev,
				     c->station);
		else if (!cmd_flush(&g->b))
			rc = err_set(e, WEIR_OS, EIO, "the output was not written");
		buf_clear(&g->b);
	}
	buf_fini(&g->b);
	free(g);
	return rc;
}
