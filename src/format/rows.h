/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of patterns whose numbers are figures: what most readers of short reports are made of. */
#ifndef WEIR_FORMAT_ROWS_H
#define WEIR_FORMAT_ROWS_H

#include "format/reader.h"

struct rows_out {           /* of one capture; metric NULL = it is none */
	const char *metric; /* a literal; "ext.…" with its unit */
	enum unit unit;
	double scale; /* 0 = 1 */
	enum model_stat stat;
	int dir; /* 0 = none, else 1 + MODEL_UP … */
};
/* A capture that is no figure. */
#define ROWS_NONE                                 \
	{                                         \
		NULL, UNIT_NONE, 0, STAT_VALUE, 0 \
	}
struct rows_pat {
	const char *pattern;
	struct rows_out out[8];
};

/* Matches one of the patterns at token i: index after it, and its figures; 0 = none. */
size_t rows_match(const struct lex *l, size_t i, const struct rows_pat *p, size_t n,
		  struct format_found *f, struct model_dims dims);
/*
 * Goes on with patterns that may stand in any order, with at most `gap` other tokens between; ends
 * before a token that `stop` says yes to. Returns the index after the last that matched, or i.
 */
size_t rows_all(const struct lex *l, size_t i, const struct rows_pat *p, size_t n,
		struct format_found *f, struct model_dims dims, size_t gap,
		bool (*stop)(const struct lex *l, size_t i));
/* One figure of a token that is a number: value x scale, with its resolution. */
void rows_fig(struct format_found *f, const struct lex *l, size_t i, const struct rows_out *o,
	      double value, struct model_dims dims);
/* Figures of JSON: a value by its key and that of the object around it (NULL = any). */
struct rows_json {
	const char *parent, *key;
	struct rows_out out;
};
/* The value that the scan has just told, if it is in the table. */
bool rows_json(const struct json_scan *s, const struct rows_json *t, size_t n,
	       struct format_found *f, struct model_dims dims);
/* Is it the value of `key` in `parent` (NULL = any)? */
bool rows_json_is(const struct json_scan *s, const char *parent, const char *key);
/* "1m0s", "241.5ms", "6m53s": tokens used, 0 = none. */
size_t rows_duration(const struct lex *l, size_t i, double *seconds);
/* Value of figure `metric`, `stat` of the report so far; NaN = none. */
double rows_value(const struct format_found *f, const char *metric, enum model_stat stat);
/* The text of a token, at most cap - 1 bytes of it; returns dst. */
char *rows_text(const struct lex *l, size_t i, char *dst, size_t cap);

#endif
