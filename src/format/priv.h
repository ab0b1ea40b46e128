/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the report forms share: one figure of a run (known, unknown, told), series over
 * ticks, words and wrapping, and a grid of cells that text and Markdown both print.
 */
#ifndef WEIR_FORMAT_PRIV_H
#define WEIR_FORMAT_PRIV_H

#include "format/format.h"

#define FORMAT_ANY     (-1) /* of dir, view, end: any value or none */
#define FORMAT_DIRLESS (-2) /* of dir: only figures of no direction */
#define FORMAT_LABEL   12   /* columns of the words at the left */

/* ---- figure.c: one figure ------------------------------------------------- */

struct format_key {
	const char *metric;
	enum model_stat stat;
	int dir;       /* or FORMAT_ANY, FORMAT_DIRLESS */
	int view;      /* or FORMAT_ANY */
	int end;       /* or FORMAT_ANY; with a dir and a view it follows from them */
	int64_t flow;  /* -1 = the total */
	bool directed; /* a figure of no direction does not count, unless its part has only one */
};
struct format_fig {
	const struct model_metric *metric; /* NULL = the run says nothing about it */
	enum model_stat stat;
	enum model_state state;
	enum model_bound bound;
	enum model_prov prov;
	bool ended; /* it belongs to one view or end */
	double value, resolution;
};
/* From the summaries, else (totals and rates of counters) derived from the samples. */
struct format_fig format_fig(const struct model_run *r, const struct format_key *k);
bool format_known(const struct format_fig *f);
/* "9.38 Gbit/s", ">= 12", "unknown", "n/a"; never more digits than known. */
void format_fig_put(struct buf *b, const struct format_fig *f, int digits, bool unicode);
void format_value_put(struct buf *b, double v, const struct model_metric *m, int digits,
		      bool unicode);
unsigned format_dirs(const struct model_run *r); /* bit 0 up, bit 1 down */
unsigned format_part_dirs(const struct model_run *r, uint32_t part);
const char *format_dir_name(int dir);   /* "up", "down", "" */
int format_view_end(int dir, int view); /* whose the view is: MODEL_NEAR, MODEL_FAR */
/* How many flows a direction has; *first is the lowest number. */
int64_t format_flows(const struct model_run *r, int dir, int64_t *first);
bool format_incomplete(const struct model_run *r);

/* ---- series.c: ticks ------------------------------------------------------- */

struct format_group {
	int dir, view, end; /* FORMAT_ANY = any */
	int64_t flow;       /* -1 = all, summed */
};
/* The frames to show for a direction: want_view if there are any, the near end first. */
bool format_group_pick(const struct model_run *r, int dir, int want_view, struct format_group *g);
bool format_group_on_axis(const struct model_run *r, const struct format_group *g, uint32_t axis);
/* Do frames of the group carry the metric, or what it is derived from? */
bool format_group_has(const struct model_run *r, const struct format_group *g, const char *metric);
/* Of one tick over the group's flows: counters and bytes are summed, other gauges averaged,
 * rates derived. False when nothing is known. */
bool format_tick_value(const struct model_run *r, const struct model_tick *t,
		       const struct format_group *g, const char *metric, double *v);
struct format_series {
	double *v; /* a value a tick; NAN = unknown; without omitted and short rows */
	size_t n, cap;
	double sum, seconds; /* over all rows that are not omitted */
	size_t rows;         /* of them, with a value */
};
int format_series(const struct model_run *r, const struct format_group *g, const char *metric,
		  struct format_series *out);
void format_series_fini(struct format_series *s);

/* ---- words.c: text ----------------------------------------------------------- */

/* Text from elsewhere: safe, and without `unicode` in ASCII. NULL gives "unknown". */
void format_foreign(struct buf *b, const char *s, bool unicode);
/* Our own text: in ASCII without `unicode`. */
void format_words(struct buf *b, const char *s, bool unicode);
size_t format_columns(const char *s, size_t n); /* code points */
/* "label      text…" in lines of at most `width` columns, each ended by \n. */
void format_wrap(struct buf *b, const char *label, size_t indent, const char *text, size_t width);
/* Members of a JSON object: "time 10, parallel 4, reverse"; skip = a member to leave out. */
void format_json_words(struct buf *b, const char *json, const char *const *skip, bool unicode);
/* A string member of a JSON object; false if it is not there. */
bool format_json_member(struct buf *b, const char *json, const char *key, bool unicode);
bool format_json_true(const char *json, const char *key); /* a member that is true */
void format_interval(struct buf *b, int64_t t0, int64_t t1, int64_t origin); /* "0-1 s" */

/* ---- grid.c: rows of cells ------------------------------------------------------ */

struct format_grid {
	size_t cols, n; /* cells a row; cells so far */
	struct buf text;
	size_t *at; /* a cell's place in text */
	size_t cap;
	bool failed;
};
void format_grid_init(struct format_grid *g, size_t cols);
void format_grid_fini(struct format_grid *g);
void format_grid_cell(struct format_grid *g, const char *text); /* next cell, row by row */
void format_grid_row(struct format_grid *g, const char *first); /* a row's first cell; the row
								 * before is filled up */
const char *format_grid_at(const struct format_grid *g, size_t row, size_t col);
size_t format_grid_rows(const struct format_grid *g);
/* Columns padded; a row with one value may run over the columns at its right. */
void format_grid_text(const struct format_grid *g, struct buf *b, size_t label, size_t width);
void format_grid_markdown(const struct format_grid *g, struct buf *b);

/* ---- report.c: what all report forms say ------------------------------------------ */

/* "198.18.0.2", the far end; false when not known. */
bool format_far_name(const struct model_run *r, struct buf *b, bool unicode);
void format_tool(const struct model_host *h, struct buf *b, bool unicode); /* "iperf3 3.12" */
/* "iperf3 3.12 at the far end; 1 flow up; time 10" */
void format_setting(const struct model_run *r, struct buf *b, bool with_title, bool unicode);
/* The headline of a direction: value and the words in brackets, apart. */
void format_result(const struct model_run *r, int dir, struct buf *value, struct buf *words,
		   bool unicode);
const char *format_result_label(const struct model_run *r);
/* Both ends' views of a direction (FORMAT_DIRLESS: of the hosts); false when there is none. */
bool format_report_grid(const struct model_run *r, int dir, struct format_grid *g, bool unicode);
/* A row a flow, for 2 to FORMAT_FLOWS_MAX flows; false when there is none. */
#define FORMAT_FLOWS_MAX 8
#define FORMAT_FLOW_COLS 3
struct format_flow_col {
	const char *metric, *head;
	int view;
};
const struct format_flow_col *format_flow_col(size_t i); /* NULL past the end */
bool format_flow_grid(const struct model_run *r, int dir, struct format_grid *g, bool unicode);
/* curve.c: a line a trial of a search; false when there is none. */
const struct format_flow_col *format_curve_col(size_t i); /* of its columns; NULL past the end */
bool format_curve_grid(const struct model_run *r, struct format_grid *g, bool unicode);
/* Calls put for each kind of event once, most severe first: "warning", "code: text (3 times)". */
void format_events(const struct model_run *r, bool unicode,
		   void (*put)(void *arg, enum model_severity sev, const char *text), void *arg);
const char *format_severity(enum model_severity s);
/* Why the run is not whole ("incomplete: …", "failed: …"), or false. */
bool format_outcome(const struct model_run *r, enum model_severity *sev, struct buf *b,
		    bool unicode);
/* A dimension's value as raw text (names are foreign). */
void format_dim_put(struct buf *b, const struct model_run *r, const struct model_dims *d, int id);
/* Summaries that the kind's table does not show, for kinds without a row. */
bool format_all_grid(const struct model_run *r, struct format_grid *g, bool unicode);

/* ---- spark.c ------------------------------------------------------------------------ */

/* From 0 to the largest value; at most `width` cells; unknown is a blank. */
void format_spark(struct buf *b, const double *v, size_t n, size_t width, bool unicode);
/* The headline metric of a direction; false when there are fewer than two values. */
bool format_run_spark(const struct model_run *r, int dir, struct buf *b, size_t width,
		      bool unicode);

/* ---- sinks --------------------------------------------------------------------------- */

struct format_sink {
	struct sink sink;
	struct buf *out;
	struct format_opts o;
};
/* A sink of `size` bytes (0 = this struct) that does nothing yet; NULL when out of memory. */
struct format_sink *format_sink_new(size_t size, struct buf *out, const struct format_opts *o);

struct sink *format_text(struct buf *out, const struct format_opts *o);
struct sink *format_json(struct buf *out, const struct format_opts *o);
struct sink *format_ndjson(struct buf *out, const struct format_opts *o);
struct sink *format_csv(struct buf *out, const struct format_opts *o);
struct sink *format_paste(struct buf *out, const struct format_opts *o);
struct sink *format_markdown(struct buf *out, const struct format_opts *o);
int format_json_probe(const char *head, size_t n);
int format_json_read(const char *text, size_t n, struct model_run **out, struct weir_err *e);
int format_ndjson_probe(const char *head, size_t n);
int format_ndjson_read(const char *text, size_t n, struct model_run **out, struct weir_err *e);

#endif
