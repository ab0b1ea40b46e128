/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir wifi rates: the rates of a standard, computed, and a goodput's share of them. weir wifi FILE:
 * the rate tables and stations of a text, with what stands out. weir wifi DEV is in wifi_dev.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define COLUMNS_MAX 20

struct wifi_cfg {
	struct opt_list what;
	int std, gi;
	int64_t width, streams;
	uint64_t goodput;
	char *root;
	int64_t watch;
	bool json, csv;
};

#define F(field) offsetof(struct wifi_cfg, field)
static const char *const stds[] = {"n", "ac", "ax", "be", NULL};
static const char *const gis[] = {"all", "0.4", "0.8", "1.6", "3.2", NULL};
static const int gi_ns[] = {0, 400, 800, 1600, 3200};
/* clang-format off */
static const struct opt wifi_opts[] = {
	{.name = "what", .type = OPT_LIST, .offset = F(what), .flags = OPT_POSITIONAL | OPT_FILE, .metavar = "rates|FILE|DEV", .help = "rates: the table of a standard; text with rate tables, - is standard input; or a device and a station of it"},
	{.name = "std", .type = OPT_ENUM, .offset = F(std), .metavar = "STD", .help = "the standard", .choices = stds, .fallback = "ax"},
	{.name = "width", .type = OPT_INT, .offset = F(width), .metavar = "MHZ", .help = "only this channel width", .max = 320},
	{.name = "gi", .type = OPT_ENUM, .offset = F(gi), .metavar = "US", .help = "only this guard interval, in microseconds", .choices = gis, .fallback = "all"},
	{.name = "streams", .type = OPT_INT, .offset = F(streams), .metavar = "N", .help = "spatial streams", .min = 1, .max = 8, .fallback = "1"},
	{.name = "goodput", .type = OPT_RATE, .offset = F(goodput), .metavar = "RATE", .help = "show this measured goodput's share of each rate"},
	{.name = "watch", .letter = 'w', .type = OPT_TIME, .offset = F(watch), .metavar = "TIME", .help = "read the device again each TIME", .min = 100 * NSEC_PER_MSEC, .max = 3600 * NSEC_PER_SEC},
	{.name = "root", .type = OPT_STR, .offset = F(root), .flags = OPT_FILE, .metavar = "DIR", .help = "read DIR/sys/kernel/debug, and nl80211 messages of DIR/nl80211, instead of this machine's"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document"},
	{.name = "csv", .type = OPT_FLAG, .offset = F(csv), .help = "one rate a line"},
};
/* clang-format on */

/* ---- rates ---- */

struct column {
	int width, gi;
};

static size_t columns_of(const struct wifi_cfg *c, struct column *col)
{
	size_t n = 0;
	int w, gi;

	for (size_t i = 0; (w = format_phy_width(c->std, i)) > 0; i++)
		for (size_t k = 0; (gi = format_phy_gi(c->std, k)) > 0; k++)
			if ((!c->width || c->width == w) && (!c->gi || gi_ns[c->gi] == gi) &&
			    n < COLUMNS_MAX)
				col[n++] = (struct column){w, gi};
	return n;
}

static void json_rate(struct jw *w, const struct wifi_cfg *c, const struct column *k,
		      const struct format_phy *p)
{
	char coding[16];

	snprintf(coding, sizeof(coding), "%d/%d", p->num, p->den);
	jw_obj(w, NULL);
	jw_i64(w, "index", p->index);
	jw_str(w, "modulation", p->modulation);
	jw_str(w, "coding", coding);
	jw_i64(w, "streams", c->streams);
	jw_i64(w, "width_mhz", k->width);
	jw_f64(w, "gi_us", k->gi / 1000.0);
	jw_f64(w, "bits_per_second", p->bps);
	if (c->goodput)
		jw_f64(w, "share", (double)c->goodput / p->bps);
	jw_end_obj(w);
}

static void csv_rate(struct buf *b, const struct wifi_cfg *c, const struct column *k,
		     const struct format_phy *p)
{
	buf_printf(b, "%d,%s,%d/%d,%d,%d,%.1f,%.0f", p->index, p->modulation, p->num, p->den,
		   (int)c->streams, k->width, k->gi / 1000.0, p->bps);
	if (c->goodput)
		buf_printf(b, ",%.4f", (double)c->goodput / p->bps);
	buf_puts(b, "\n");
}

static void each_rate(const struct wifi_cfg *c, const struct column *col, size_t n, struct buf *b,
		      struct jw *w)
{
	for (size_t k = 0; k < n; k++)
		for (int mcs = 0; mcs < format_phy_schemes(c->std); mcs++) {
			struct format_phy p;

			if (format_phy_rate(c->std, col[k].width, col[k].gi, (int)c->streams, mcs,
					    &p) < 0)
				continue;
			if (w)
				json_rate(w, c, &col[k], &p);
			else
				csv_rate(b, c, &col[k], &p);
		}
}

static void cell(struct buf *b, const struct wifi_cfg *c, const struct column *k, int mcs)
{
	struct format_phy p;
	char text[24] = "-";

	if (format_phy_rate(c->std, k->width, k->gi, (int)c->streams, mcs, &p) >= 0)
		snprintf(text, sizeof(text), c->goodput ? "%.1f %3.0f%%" : "%.1f", p.bps / 1e6,
			 (double)c->goodput / p.bps * 100);
	buf_printf(b, c->goodput ? " %13s" : " %8s", text);
}

/* A block a width: the guard intervals beside each other. */
static void text_rates(const struct wifi_cfg *c, const struct column *col, size_t n, struct buf *b)
{
	struct format_phy p;

	buf_printf(b, "%s, %d stream%s, Mbit/s", format_phy_name(c->std), (int)c->streams,
		   c->streams == 1 ? "" : "s");
	if (c->goodput)
		buf_printf(b, "; the share of a rate that %.1f Mbit/s are",
			   (double)c->goodput / 1e6);
	buf_puts(b, "\n");
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from; to < n && col[to].width == col[from].width; to++)
			;
		buf_printf(b, "\n%d MHz\n%5s  %-9s %-6s", col[from].width, "index", "modulation",
			   "coding");
		for (size_t k = from; k < to; k++)
			buf_printf(b, c->goodput ? "  GI %4.1f us   " : " %5.1f us",
				   col[k].gi / 1000.0);
		buf_puts(b, "\n");
		for (int mcs = 0; mcs < format_phy_schemes(c->std); mcs++) {
			format_phy_rate(c->std, col[from].width, col[from].gi, (int)c->streams, mcs,
					&p);
			buf_printf(b, "%5d  %-10s %d/%d   ", p.index, p.modulation, p.num, p.den);
			for (size_t k = from; k < to; k++)
				cell(b, c, &col[k], mcs);
			buf_puts(b, "\n");
		}
	}
}

static int rates(const struct wifi_cfg *c, struct weir_err *e)
{
	struct column col[COLUMNS_MAX];
	size_t n = columns_of(c, col);
	struct buf b = {0};
	struct jw w = jw_init(&b);
	bool ok;

	if (c->streams > format_phy_streams(c->std))
		return err_set(e, WEIR_USAGE, EINVAL, "--streams: %s has at most %d",
			       format_phy_name(c->std), format_phy_streams(c->std));
	if (!n)
		return err_set(e, WEIR_USAGE, EINVAL, "%s has no such width or guard interval",
			       format_phy_name(c->std));
	if (c->json) {
		jw_obj(&w, NULL);
		jw_i64(&w, "schema", MODEL_SCHEMA);
		jw_str(&w, "standard", format_phy_name(c->std));
		jw_arr(&w, "rates");
		each_rate(c, col, n, NULL, &w);
		jw_end_arr(&w);
		jw_end_obj(&w);
		buf_putc(&b, '\n');
	} else if (c->csv) {
		buf_printf(&b,
			   "index,modulation,coding,streams,width_mhz,gi_us,bits_per_second%s\n",
			   c->goodput ? ",share" : "");
		each_rate(c, col, n, &b, NULL);
	} else {
		text_rates(c, col, n, &b);
	}
	ok = cmd_flush(&b);
	buf_fini(&b);
	return ok ? 0 : err_set(e, WEIR_OS, EIO, "the output was not written");
}

/* ---- FILE ---- */

struct shown {
	struct format_opts o;
	struct buf b;
	struct jw w;
	bool json;
	size_t n;
};

static int on_found(void *arg, const struct format_found *f)
{
	struct shown *s = arg;
	struct buf b = {0};
	bool wifi = format_found_wifi(f, &s->o, &b);

	if (wifi && s->json) {
		format_found_json(f, &s->w, NULL);
	} else if (wifi) {
		if (s->n)
			buf_putc(&s->b, '\n');
		buf_put(&s->b, b.data, b.len);
	}
	s->n += wifi;
	buf_fini(&b);
	return 0;
}

static int file(const struct wifi_cfg *c, const char *path, struct weir_err *e)
{
	struct shown s = {.o = cmd_format_opts(), .json = c->json};
	int rc;

	s.w = jw_init(&s.b);
	if (c->json)
		cmd_json_reports(&s.w, NULL);
	rc = cmd_read_file(path, on_found, NULL, &s, NULL, e);
	if (c->json) {
		jw_end_arr(&s.w);
		jw_end_obj(&s.w);
		buf_putc(&s.b, '\n');
	}
	if (rc >= 0 && !cmd_flush(&s.b))
		rc = err_set(e, WEIR_OS, EIO, "the output was not written");
	if (rc >= 0 && !s.n)
		rc = err_set(e, WEIR_FORMAT, ENOENT, "%s: no rate table and no station", path);
	buf_fini(&s.b);
	return rc;
}

/* What no file has as its name, but an interface. */
static bool is_device(const struct wifi_cfg *c)
{
	const char *name = c->what.n ? c->what.v[0] : "-";
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%.40s", name);
	return c->what.n && (c->root || (!strchr(name, '/') && access(name, F_OK) != 0 &&
					 access(path, F_OK) == 0));
}

static int run(void *cfg)
{
	const struct wifi_cfg *c = cfg;
	struct weir_err e = {0};
	int rc = 0;
	bool dev = is_device(c);

	if (c->json && c->csv)
		rc = err_set(&e, WEIR_USAGE, EINVAL, "--json and --csv: one of them");
	else if (!c->what.n)
		rc = err_set(&e, WEIR_USAGE, EINVAL, "what? `rates`, a file or a device");
	else if (!dev && (c->root || c->watch))
		rc = err_set(&e, WEIR_USAGE, EINVAL, "--root and --watch are of a device");
	else if (dev && (c->what.n > 2 || c->csv))
		rc = err_set(&e, WEIR_USAGE, EINVAL, "a device and one station, and no --csv");
	else if (dev)
		rc = cmd_wifi_dev(&(struct cmd_wifi_dev){c->what.v[0],
							 c->what.n > 1 ? c->what.v[1] : NULL,
							 c->root ? c->root : "", c->watch, c->json},
				  &e);
	else if (!strcmp(c->what.v[0], "rates"))
		rc = rates(c, &e);
	else
		for (size_t i = 0; i < c->what.n && rc >= 0; i++)
			rc = file(c, c->what.v[i], &e);
	return rc < 0 ? cmd_fail("wifi", &e) : CMD_OK;
}

const struct cmd cmd_wifi = {
	.name = "wifi",
	.summary = "the rates of Wi-Fi: of a standard, of a rate table, of a device",
	.usage = "rates | FILE… | DEV [STATION]",
	.opts = wifi_opts,
	.n_opts = ARRAY_LEN(wifi_opts),
	.cfg_size = sizeof(struct wifi_cfg),
	.run = run,
};
