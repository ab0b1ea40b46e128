/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format: every report form. A writer is a sink onto an output buffer; the owner writes the buffer out
 * after each call, so live text, `show` and `export` are one code path. layout.c has one
 * row per run kind: headline, tables, interval columns, plots. format.c is the table of forms.
 */
#ifndef WEIR_FORMAT_H
#define WEIR_FORMAT_H

#include "base/base.h"
#include "model/model.h"

struct format_opts {
	bool colour;                 /* ANSI colours */
	bool unicode;                /* sparkline and box characters, else ASCII */
	bool quiet;                  /* only the result's headline */
	bool intervals;              /* interval rows (live and in show) */
	bool live_rows;              /* rows as they come; else a sparkline at the end */
	int width;                   /* columns; 0 = 80 */
	const char *const *row_dims; /* unused by most forms */
};

struct format {
	const char *name; /* "text", "json", "ndjson", "csv", "paste", "markdown" */
	const char *what; /* one line */
	const char *mime, *ext;
	struct sink *(*writer)(struct buf *out, const struct format_opts *o);
	/* Reading: how sure (0..100) that the first bytes are this form; NULL = write only. */
	int (*probe)(const char *head, size_t n);
	int (*read)(const char *text, size_t n, struct model_run **out, struct weir_err *e);
};
const struct format *format_find(const char *name);
const struct format *format_at(size_t i);

/* ---- layout.c: what a kind's report shows ------------------------------------ */

struct format_col { /* of interval rows and summary tables */
	const char *metric;
	enum model_stat stat;
	const char *head; /* "Goodput", "Retr" */
	int width, digits;
	int view; /* MODEL_SENDER, MODEL_RECEIVER, or -1 = whichever has it */
	/* Columns of one head in a row share a cell: "of $ segments"; NULL = the bare value. */
	const char *phrase;
};
struct format_layout {
	const char *kind;
	const char *headline; /* metric of the headline, one a direction */
	const struct format_col *interval;
	size_t n_interval;
	const struct format_col *table; /* both ends' views, a row per direction and end */
	size_t n_table;
	const char *const *spark; /* metrics drawn as sparklines; NULL-terminated */
};
const struct format_layout *format_layout(const char *kind); /* a generic row for unknown kinds */

/* One line for lists and --repeat: "943 Mbit/s up, 12 retransmits, RTT 0.4 to 3.1 ms". */
void format_headline(const struct model_run *r, struct buf *b);
/* Several runs side by side (`show A B C --table`): one row a metric, one column a run. */
void format_table(const struct model_run *const *runs, size_t n, const struct format_opts *o,
		  struct buf *b);
/* After --repeat N: a line a run was printed; this is their spread (median, range, s.d. in %). */
void format_spread(const struct model_run *const *runs, size_t n, const struct format_opts *o,
		   struct buf *b);

#endif
