/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir read: other tools' reports in text that people pasted, found and shown with their place;
 * what nobody understands is shown as skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

struct read_cfg {
	struct opt_list files;
	bool json, csv, intervals, quiet;
};

#define F(field) offsetof(struct read_cfg, field)
/* clang-format off */
static const struct opt read_opts[] = {
	{.name = "file", .type = OPT_LIST, .offset = F(files), .flags = OPT_POSITIONAL | OPT_FILE, .metavar = "FILE", .help = "text with reports in it; - is standard input (the default)"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document for each file"},
	{.name = "csv", .type = OPT_FLAG, .offset = F(csv), .help = "one figure a line"},
	{.name = "intervals", .letter = 'i', .type = OPT_FLAG, .offset = F(intervals), .help = "show intervals as well"},
	{.name = "quiet", .letter = 'q', .type = OPT_FLAG, .offset = F(quiet), .help = "say nothing of what was skipped"},
};
/* clang-format on */

struct reading {
	const struct read_cfg *c;
	struct buf out;
	struct jw w;
	struct buf skipped; /* JSON of it, for the end of the document */
	struct jw ws;
	size_t reports;
	bool failed;
};

static int flush(struct reading *g)
{
	if (g->out.len < 65536)
		return 0;
	g->failed = !cmd_flush(&g->out);
	return g->failed ? -EIO : 0;
}

static int on_found(void *arg, const struct format_found *f)
{
	struct reading *g = arg;

	if (g->c->json)
		format_found_json(f, &g->w, NULL);
	else if (g->c->csv)
		format_found_csv(f, &g->out, !g->reports);
	else
		format_found_text(f, &g->out, g->c->intervals);
	g->reports++;
	return flush(g);
}

static int on_skipped(void *arg, const struct format_skip *s)
{
	struct reading *g = arg;
	struct buf b = {0};
	size_t n = strcspn(s->text, "\n");

	n = n < s->n ? n : s->n;
	safe_put(&b, s->text, n < 60 ? n : 60);
	if (g->c->json) {
		jw_obj(&g->ws, NULL);
		jw_u64(&g->ws, "from", s->from);
		jw_u64(&g->ws, "to", s->to);
		jw_u64(&g->ws, "line", s->line);
		jw_str(&g->ws, "text", b.data ? b.data : "");
		if (s->why)
			jw_str(&g->ws, "why", s->why);
		jw_end_obj(&g->ws);
	} else if (!g->c->csv && !g->c->quiet) {
		buf_printf(&g->out, "skipped, line %llu, %llu bytes: %s%s\n",
			   (unsigned long long)s->line, (unsigned long long)(s->to - s->from),
			   s->why   ? s->why
			   : b.data ? b.data
				    : "",
			   n > 60 ? "..." : "");
	}
	buf_fini(&b);
	return flush(g);
}

static int read_one(const struct read_cfg *c, const char *path, struct weir_err *e)
{
	struct reading g = {.c = c};
	struct format_read_sum sum;
	int rc;

	g.w = jw_init(&g.out);
	g.ws = jw_init(&g.skipped);
	if (c->json) {
		cmd_json_reports(&g.w, path);
		jw_arr(&g.ws, NULL);
	}
	rc = cmd_read_file(path, on_found, on_skipped, &g, &sum, e);
	if (rc >= 0 && c->json) {
		jw_end_arr(&g.ws);
		jw_end_arr(&g.w);
		if (!c->quiet)
			jw_raw(&g.w, "skipped", g.skipped.data, g.skipped.len);
		jw_u64(&g.w, "bytes", sum.bytes);
		jw_end_obj(&g.w);
		buf_putc(&g.out, '\n');
	}
	if (rc >= 0 && (g.failed || !cmd_flush(&g.out)))
		rc = err_set(e, WEIR_OS, EIO, "the output was not written");
	if (rc >= 0 && !g.reports)
		rc = err_set(e, WEIR_FORMAT, ENOENT, "%s: no report that a reader knows", path);
	buf_fini(&g.out);
	buf_fini(&g.skipped);
	return rc;
}

static int run(void *cfg)
{
	const struct read_cfg *c = cfg;
	struct weir_err e = {0};
	int rc = 0;

	if (c->json && c->csv)
		rc = err_set(&e, WEIR_USAGE, EINVAL, "--json and --csv: one of them");
	if (rc >= 0 && !c->files.n)
		rc = read_one(c, "-", &e);
	for (size_t i = 0; i < c->files.n && rc >= 0; i++)
		rc = read_one(c, c->files.v[i], &e);
	return rc < 0 ? cmd_fail("read", &e) : CMD_OK;
}

const struct cmd cmd_read = {
	.name = "read",
	.summary = "find other tools' reports in a text and show their figures",
	.usage = "[FILE…]",
	.opts = read_opts,
	.n_opts = ARRAY_LEN(read_opts),
	.cfg_size = sizeof(struct read_cfg),
	.run = run,
};
