/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A result for an issue or a page: a sentence with the goodput of each direction, a table of both
 * ends' views, and the warnings as a list.
 */
#include "format/priv.h"

#include <string.h>

static void escaped(struct buf *out, struct buf *w)
{
	safe_markdown(out, w->data && w->len ? w->data : "");
	buf_clear(w);
}

static void put_title(struct buf *out, const struct model_run *r, struct buf *w, bool unicode)
{
	buf_puts(out, "**weir ");
	format_foreign(w, r->kind, unicode);
	escaped(out, w);
	if (format_far_name(r, w, unicode)) {
		buf_putc(out, ' ');
		escaped(out, w);
	}
	buf_puts(out, "**");
	format_setting(r, w, true, unicode);
	if (w->len) {
		buf_puts(out, " (");
		escaped(out, w);
		buf_putc(out, ')');
	}
	buf_puts(out, "\n\n");
}

static void put_results(struct buf *out, const struct model_run *r, struct buf *w, bool unicode)
{
	unsigned dirs = format_dirs(r);
	const char *label = format_result_label(r);
	struct buf words = {0};
	for (int dir = MODEL_UP; label && dir <= MODEL_DOWN; dir++) {
		if (!(dirs & 1u << dir))
			continue;
		buf_clear(&words);
		format_result(r, dir, w, &words, unicode);
		buf_printf(out, "- %s %s **", label, format_dir_name(dir));
		escaped(out, w);
		buf_puts(out, "**");
		if (words.len) {
			buf_puts(out, " (");
			escaped(out, &words);
			buf_putc(out, ')');
		}
		buf_putc(out, '\n');
	}
	buf_fini(&words);
}

static void put_grid(struct buf *out, struct format_grid *g, bool there)
{
	if (there) {
		buf_putc(out, '\n');
		format_grid_markdown(g, out);
	}
	format_grid_fini(g);
}

static void put_grids(struct buf *out, const struct model_run *r, bool unicode)
{
	static const int order[] = {MODEL_UP, MODEL_DOWN, FORMAT_DIRLESS};
	unsigned dirs = format_dirs(r);
	struct format_grid g = {0};
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (order[i] < 0 || dirs & 1u << order[i])
			put_grid(out, &g, format_report_grid(r, order[i], &g, unicode));
	put_grid(out, &g, format_curve_grid(r, &g, unicode));
	if (!format_result_label(r))
		put_grid(out, &g, format_all_grid(r, &g, unicode));
}

static void put_item(struct buf *out, const char *label, const char *text)
{
	buf_printf(out, "- %s: ", label);
	safe_markdown(out, text);
	buf_putc(out, '\n');
}

static void put_event(void *arg, enum model_severity sev, const char *text)
{
	put_item(arg, format_severity(sev), text);
}

static void markdown_end(struct sink *s, const struct model_run *r)
{
	struct format_sink *f = (struct format_sink *)s;
	struct buf *out = f->out, w = {0};
	bool unicode = f->o.unicode;
	put_title(out, r, &w, unicode);
	put_results(out, r, &w, unicode);
	put_grids(out, r, unicode);
	buf_putc(out, '\n');
	if (r->limited)
		put_item(out, "limited by", r->limited);
	enum model_severity sev;
	if (format_outcome(r, &sev, &w, unicode) && w.data)
		put_item(out, format_severity(sev), w.data);
	format_events(r, unicode, put_event, out);
	buf_clear(&w);
	format_foreign(&w, r->id, unicode);
	put_item(out, "run", w.data ? w.data : "");
	buf_fini(&w);
}

struct sink *format_markdown(struct buf *out, const struct format_opts *o)
{
	struct format_sink *f = format_sink_new(0, out, o);
	if (!f)
		return NULL;
	f->sink.end = markdown_end;
	return &f->sink;
}
