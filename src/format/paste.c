/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result for a mail: ASCII, no line over 72 columns, and self-contained, so that a reader who
 * has only the mail can judge it: both ends' programs and kernels, what was asked for, both
 * ends' views, what was wrong.
 */
#include "format/priv.h"

#include <string.h>

#define PASTE_WIDTH 72

static void line(struct buf *out, const char *label, struct buf *words)
{
	format_wrap(out, label, FORMAT_LABEL, words->data && words->len ? words->data : "unknown",
		    PASTE_WIDTH);
	buf_clear(words);
}

static void put_title(struct buf *out, const struct model_run *r, struct buf *w)
{
	char when[32] = "at an unknown time";
	if (r->start_real_ns != MODEL_NO_TIME)
		clk_format_utc(when, sizeof(when), r->start_real_ns);
	format_foreign(w, r->weir ? r->weir : weir_version, false);
	buf_puts(w, ": ");
	format_foreign(w, r->kind, false);
	if (r->host[MODEL_FAR].name || r->host[MODEL_FAR].tool) {
		buf_puts(w, " to ");
		if (!format_far_name(r, w, false))
			buf_puts(w, "an unknown host");
	}
	buf_printf(w, ", %s", when);
	line(out, "weir", w);
}

/* "this end    host-a: weir 0.1.0, Linux 6.1.0" */
static void put_host(struct buf *out, const struct model_run *r, int end, struct buf *w)
{
	const struct model_host *h = &r->host[end];
	if (h->name) {
		format_foreign(w, h->name, false);
		buf_puts(w, ": ");
	}
	format_tool(h, w, false);
	buf_puts(w, ", kernel ");
	if (!format_json_member(w, h->facts, "kernel", false))
		buf_puts(w, "unknown");
	line(out, end == MODEL_NEAR ? "this end" : "far end", w);
}

static void put_request(struct buf *out, const struct model_run *r, struct buf *w)
{
	format_json_words(w, r->request, NULL, false);
	if (!w->len)
		buf_puts(w, r->request ? "nothing but the defaults" : "unknown");
	line(out, "asked for", w);
	if (!r->title)
		return;
	format_foreign(w, r->title, false);
	line(out, "title", w);
}

static void put_results(struct buf *out, const struct model_run *r, struct buf *w)
{
	unsigned dirs = format_dirs(r);
	struct buf words = {0};
	for (int dir = MODEL_UP; dir <= MODEL_DOWN && format_result_label(r); dir++) {
		if (!(dirs & 1u << dir))
			continue;
		buf_printf(w, "%s ", format_dir_name(dir));
		buf_clear(&words);
		format_result(r, dir, w, &words, false);
		if (words.len)
			buf_printf(w, " (%s)", words.data);
		line(out, format_result_label(r), w);
		if (format_run_spark(r, dir, w, PASTE_WIDTH - FORMAT_LABEL, false))
			line(out, "over time", w);
		buf_clear(w);
	}
	buf_fini(&words);
}

static void put_grid(struct buf *out, struct format_grid *g, bool there)
{
	if (there)
		format_grid_text(g, out, FORMAT_LABEL, PASTE_WIDTH);
	format_grid_fini(g);
}

static void put_grids(struct buf *out, const struct model_run *r)
{
	static const int order[] = {MODEL_UP, MODEL_DOWN, FORMAT_DIRLESS};
	unsigned dirs = format_dirs(r);
	struct format_grid g = {0};
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (order[i] < 0 || dirs & 1u << order[i])
			put_grid(out, &g, format_report_grid(r, order[i], &g, false));
	put_grid(out, &g, format_curve_grid(r, &g, false));
	if (!format_result_label(r))
		put_grid(out, &g, format_all_grid(r, &g, false));
}

static void put_event(void *arg, enum model_severity sev, const char *text)
{
	format_wrap(arg, format_severity(sev), FORMAT_LABEL, text, PASTE_WIDTH);
}

static void paste_end(struct sink *s, const struct model_run *r)
{
	struct buf *out = ((struct format_sink *)s)->out, w = {0};
	put_title(out, r, &w);
	put_host(out, r, MODEL_NEAR, &w);
	put_host(out, r, MODEL_FAR, &w);
	put_request(out, r, &w);
	put_results(out, r, &w);
	put_grids(out, r);
	if (r->limited) {
		format_foreign(&w, r->limited, false);
		line(out, "limited by", &w);
	}
	enum model_severity sev;
	if (format_outcome(r, &sev, &w, false))
		line(out, format_severity(sev), &w);
	format_events(r, false, put_event, out);
	format_foreign(&w, r->id, false);
	line(out, "run", &w);
	buf_fini(&w);
}

struct sink *format_paste(struct buf *out, const struct format_opts *o)
{
	struct format_sink *f = format_sink_new(0, out, o);
	if (!f)
		return NULL;
	f->sink.end = paste_end;
	return &f->sink;
}
