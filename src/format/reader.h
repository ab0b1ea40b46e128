/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the readers of pasted text share: the front that undoes mail and web, the lexer with its
 * patterns, the report that a reader fills, and the table of readers.
 */
#ifndef WEIR_FORMAT_READER_H
#define WEIR_FORMAT_READER_H

#include <math.h>
#include <string.h>

#include "format/format.h"

#define UNSET ((double)NAN) /* no value */

/* ---- demail.c: text as it was before mail and web -------------------------- */

struct demail_step { /* from here on, out bytes come from in bytes one by one */
	uint32_t out, in;
};
struct demail_layer {
	struct buf text;
	struct demail_step *map;
	size_t n, cap, in_len; /* steps; bytes that it was made of */
};
#define DEMAIL_LAYERS 7
struct demail {
	struct demail_layer layer[DEMAIL_LAYERS];
	size_t n;              /* layers in use */
	int wide;              /* 0 = bytes, 1 = UTF-16 LE, 2 = BE; kept over blocks */
	bool quoted_printable; /* kept over blocks */
	const char *text;      /* the result */
	size_t len;
};
/* Undoes one block (at most 1 GiB). `first` = the text begins here. 0 or -ENOMEM. */
int demail_run(struct demail *d, const char *raw, size_t n, bool first);
/* Where in the block that byte of the result came from. */
size_t demail_offset(const struct demail *d, size_t at);
void demail_fini(struct demail *d);

/* ---- lex.c: tokens ----------------------------------------------------------- */

enum lex_type { LEX_WORD, LEX_NUM, LEX_PUNCT };
/* A line begins before it; a blank or a line; the text ends with it, so digits may be missing. */
enum { LEX_LINE = 1, LEX_SPACE = 2, LEX_CUT = 4 };
struct lex_tok {
	double num;
	uint32_t off, len;
	uint8_t type, flags, decimals;
	uint8_t row; /* what iperf's readers know of a row that begins here; 0 = nothing yet */
};
struct lex {
	const char *text;
	size_t len;
	struct lex_tok *tok;
	size_t n, cap;
	uint8_t kinds[256]; /* of characters */
};
int lex_run(struct lex *l, const char *text, size_t n); /* 0 or -ENOMEM */
void lex_fini(struct lex *l);
static inline const char *lex_text(const struct lex *l, size_t i)
{
	return l->text + l->tok[i].off;
}
/* False past the end. Words are compared with their case; most differ in their first character. */
static inline bool lex_starts(const struct lex *l, size_t i, const char *prefix)
{
	size_t n;

	if (i >= l->n || *lex_text(l, i) != *prefix)
		return false;
	n = strlen(prefix);
	return l->tok[i].len >= n && !memcmp(lex_text(l, i), prefix, n);
}
static inline bool lex_is(const struct lex *l, size_t i, const char *word)
{
	size_t n;

	if (i >= l->n || *lex_text(l, i) != *word)
		return false;
	n = strlen(word);
	return l->tok[i].len == n && !memcmp(lex_text(l, i), word, n);
}
/* A whole number, none that was cut off. */
static inline bool lex_num(const struct lex *l, size_t i)
{
	return i < l->n && l->tok[i].type == LEX_NUM && !(l->tok[i].flags & LEX_CUT);
}
static inline bool lex_line(const struct lex *l, size_t i) /* first of its line; also the end */
{
	return i >= l->n || l->tok[i].flags & LEX_LINE;
}

/* ---- match.c: patterns over tokens -------------------------------------------- */

/*
 * A pattern is elements with one blank between them; white space and lines of the text do not count.
 *   word      that token; a|b = one of them; \( \) \# \% as such
 *   #         a number, captured; -# also with a minus; #, also with a decimal comma
 *   #T #B #R  a number and its unit of time, bytes, rate: captured in seconds, bytes, bit/s
 *   %B %R     a unit of bytes, of rate: captures what it is worth in bytes, in bit/s
 *   %w        any word: captures its index; %t any token
 *   ( … )     may be absent: its captures are NaN then
 *   ^         the next token begins a line
 * Returns the index after it, or 0. cap has room for MATCH_CAPS.
 */
#define MATCH_CAPS 16
/* For captures that many tokens are tried with: a match writes all that its pattern has, and clearing
 * them each time costs more than most tries. */
#define MATCH_OUT __attribute__((uninitialized))
/* Most patterns that are tried do not even begin: their first word tells. */
static inline bool match_may(const struct lex *l, size_t at, const char *p)
{
	char c = at < l->n ? *lex_text(l, at) : '\0';

	switch (c ? *p : '(') {
	case '(':
	case '%':
	case '^':
	case '\\':
	case '-':
		return true;
	case '#':
		return l->tok[at].type == LEX_NUM || l->tok[at].flags & LEX_CUT;
	}
	for (size_t n = l->tok[at].len, k = 0;; k = 0) { /* its words */
		while (k < n && p[k] == lex_text(l, at)[k])
			k++;
		if (k == n && (!p[k] || p[k] == ' ' || p[k] == '|'))
			return true;
		while (*p && *p != ' ' && *p != '|')
			p++;
		if (*p++ != '|')
			return false;
	}
}

/* What is left of it when match_may() holds; tok = the tokens of the captures, or NULL. */
size_t match_run(const struct lex *l, size_t at, const char *pattern, double *cap, uint32_t *tok);
static inline size_t match(const struct lex *l, size_t at, const char *pattern, double *cap)
{
	return match_may(l, at, pattern) ? match_run(l, at, pattern, cap, NULL) : 0;
}
/* The same; *cut tells that the text ended inside of it. */
size_t match_cut(const struct lex *l, size_t at, const char *pattern, double *cap, bool *cut);
/* The same; tok = the tokens of the captures. */
size_t match_toks(const struct lex *l, size_t at, const char *pattern, double *cap, uint32_t *tok);
/* A number with a decimal comma or point: tokens used, 0 = none. */
size_t lex_decimal(const struct lex *l, size_t i, double *v);
double match_time_unit(const char *s, size_t n); /* in seconds; NaN when it is none */
/* "KBytes" 1024, "Mbits/sec" 1e6 …; NaN when it is none. */
double match_bytes_unit(const char *s, size_t n);
double match_rate_unit(const char *s, size_t n);

/* ---- json_scan.c: JSON as people paste it --------------------------------------- */

/*
 * JSON that is cut off at either end, has remarks, trailing commas, "-nan" or "5.9e 06", keys
 * twice: every value is told with its key, in order, for as long as it looks like JSON.
 */
#define JSON_LEVELS 32
struct json_key {
	uint32_t from, to; /* tokens of the key; from == to = none */
	bool array;
};
enum json_what { JSON_OPEN, JSON_CLOSE, JSON_VALUE };
struct json_scan {
	const struct lex *l;
	size_t i; /* the next token; at the end, the one after the document */
	struct json_key level[JSON_LEVELS];
	size_t depth;         /* open objects and arrays; level[depth - 1] is the innermost */
	bool begun, fragment; /* fragment: it began inside */
	bool cut;             /* it ended inside */
	/* the event: an OPEN's level is there already, a CLOSE's not any more */
	enum json_what what;
	struct json_key key;
	double num;                /* of a VALUE: the number; true 1, false 0; else NaN */
	uint32_t from, to;         /* its tokens, without quotes */
	bool string, number, last; /* last: the text ends with it, so it may be cut */
};
struct json_scan json_scan(const struct lex *l, size_t i);
bool json_next(struct json_scan *s); /* false at the end */
bool json_is(const struct json_scan *s, const struct json_key *k, const char *name);
/* The text of tokens [from, to), at most cap - 1 bytes. */
void json_text(const struct json_scan *s, uint32_t from, uint32_t to, char *dst, size_t cap);
/* The document is over: whether it was cut off goes into the report. The index after it. */
struct format_found;
size_t json_ended(const struct json_scan *s, size_t from, struct format_found *f);
/* Does `"name" :` stand at token i? */
bool json_key_at(const struct lex *l, size_t i, const char *name);

/* ---- found.c: the report that a reader fills --------------------------------- */

struct found_fig {
	const char *metric;
	enum unit unit; /* of ext.* metrics */
	enum model_stat stat;
	struct model_dims dims;
	enum model_state state;
	enum model_prov prov;
	double value, resolution;
};
#define FOUND_COLS 8
struct found_row {
	int64_t t0, t1; /* ns */
	unsigned flags; /* enum model_row_flag */
	int flow, dir, view;
	double v[FOUND_COLS]; /* NaN = none */
};
struct found_warn {
	enum model_warn_code code;
	char *text;
};
struct format_found {
	const char *kind;     /* the reader's name */
	const char *what;     /* kind of run: "tcp", "udp"; else the reader's name */
	const char *protocol; /* "iperf2"; NULL = none */
	char tool[32], version[32];
	uint64_t from, to, line; /* where in the text: bytes, and the line of the first */
	size_t first, last;      /* tokens of the block */
	double start_s;          /* since 1970; 0 = unknown */
	bool partial;            /* cut off */
	uint64_t mark; /* of its figures and ports: a second paste has the same; 0 = none */
	struct found_fig *fig;
	size_t n_fig, cap_fig;
	const char *col[FOUND_COLS]; /* metrics of the interval rows */
	size_t n_col;
	struct found_row *row;
	size_t n_row, cap_row;
	struct found_warn *warn;
	size_t n_warn, cap_warn;
	size_t n_param;
	char *title;               /* the heading above it, or NULL */
	struct found_names *names; /* what found_name keeps */
	char *lead;  /* the text between the report before and this one (its end), or NULL */
	bool failed; /* out of memory */
	struct {
		char key[16], value[96];
	} param[8];
};
void found_init(struct format_found *f, const char *kind);
/* An empty one again, which keeps its room. */
void found_reset(struct format_found *f, const char *kind);
void found_fini(struct format_found *f);
/* dir, view: -1 = none; flow: -1 = the total. */
struct model_dims found_dims(int dir, int view, int64_t flow);
void found_fig(struct format_found *f, const char *metric, enum model_stat stat,
	       struct model_dims dims, double value, double resolution);
/* The last figure's provenance, when it is not what was printed. */
void found_prov(struct format_found *f, enum model_prov prov);
/* A figure that the report has a place for, but no value. */
void found_unknown(struct format_found *f, const char *metric, struct model_dims dims);
/* ext.NAME with a unit of its own; `name` must outlive the report (a literal). */
void found_ext(struct format_found *f, const char *name, enum unit unit, enum model_stat stat,
	       struct model_dims dims, double value, double resolution);
/*
 * A metric's name of text of the report, "ext." and whatever else is no letter, digit or dot is
 * "_"; lives as long as the report. Never NULL.
 */
const char *found_name(struct format_found *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same of three strings one after the other, for tables of many names. */
const char *found_join(struct format_found *f, const char *a, const char *b, const char *c);
/* The row to fill (values NaN), or a spare one when out of memory. */
struct found_row *found_row(struct format_found *f, double t0_s, double t1_s);
void found_warn(struct format_found *f, enum model_warn_code code, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
bool found_warned(const struct format_found *f, enum model_warn_code code);
void found_param(struct format_found *f, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);
void found_mark(struct format_found *f, uint64_t value); /* mixes it in */
/* Half a unit of the last printed digit of a number in units of `scale`. */
double found_resolution(const struct lex_tok *t, double scale);
/* Says so when both ends' rates are what Ethernet carries at most; NaN = not known. */
/* The rate that each sender was told, beside what it sent. */
void found_intended(struct format_found *f, double bps);
void found_check_line(struct format_found *f, double sent, double got);
/*
 * rate x time = bytes, within the rounding of all three; a mismatch is a warning. Each resolution is
 * the step of its figure.
 */
void found_check_rate(struct format_found *f, double bytes, double bytes_step, double seconds,
		      double seconds_step, double bps, double bps_step);

/* ---- doubt.c: what about a report is doubtful beside what else is in the text ------ */

struct doubt {
	const char *kind, *what; /* of the report before that had a rate */
	double duration;
	double said[2]; /* rates in a heading, bit/s; for so many reports more: */
	int heard;
};
void doubt_mark(struct format_found *f); /* of its figures, where the reader made none */
void doubt_check(struct doubt *d, struct format_found *f);

/* ---- read.c: the readers -------------------------------------------------------- */

struct reader {
	const char *kind;
	/* What the tokens begin with that it wants to be asked about: characters; or, with blanks between,
	 * one or two characters each. */
	const char *first;
	/* May a report begin at token i? Looks at a bounded number of tokens. */
	bool (*sniff)(const struct lex *l, size_t i);
	/*
	 * Reads one report from token i on; returns the index after its last token, which is over i.
	 * A report without figures is none. What it steps over it may not look at again.
	 */
	size_t (*parse)(const struct lex *l, size_t i, struct format_found *f);
};
const struct reader *reader_at(size_t i); /* NULL past the end */

extern const struct reader reader_iperf2, reader_iperf3, reader_iperf3_json, reader_nttcp,
	reader_ttcp, reader_nuttcp, reader_netperf;
extern const struct reader reader_ping, reader_fping, reader_mtr, reader_mtr_json, reader_tc,
	reader_tc_json, reader_irtt, reader_irtt_json, reader_routeros, reader_ethtool,
	reader_softnet, reader_top, reader_mpstat, reader_mpstat_json, reader_vmstat,
	reader_rc_stats, reader_rc_stats_csv, reader_station, reader_fw_stats, reader_flent,
	reader_flent_json, reader_ipgen, reader_ipgen_json, reader_lmbench;
extern const struct reader reader_weir, reader_weir_csv;

#endif
