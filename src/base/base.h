/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base: what every room stands on. Errors, buffers, the bounded reader, safe
 * printing, clocks, options, units, the histogram and JSON.
 *
 * Conventions: functions return 0 or a count, or a negative errno; what a user
 * may see also fills a struct weir_err (which may be NULL). In this room the
 * prefix is the module's name (err_, buf_, rd_, js_, jw_, opt_, unit_, hist_,
 * clk_, safe_, seqwin_, slot_); in every other room it is the room's.
 */
#ifndef WEIR_BASE_H
#define WEIR_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a)      (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NSEC_PER_SEC      1000000000LL
#define NSEC_PER_MSEC     1000000LL
#define NSEC_PER_USEC     1000LL

extern const char weir_version[]; /* "0.1.0"; set by the build */

/* ---- errors (err.c) ---------------------------------------------------- */

enum weir_domain {
	WEIR_OS,      /* the kernel refused: code is its errno */
	WEIR_USAGE,   /* the command line or a request is wrong: exit 2 */
	WEIR_PEER,    /* the other end broke its protocol or said no */
	WEIR_FORMAT,  /* a file is not what it claims to be */
	WEIR_DB,      /* the store */
	WEIR_LIMIT,   /* a bound of ours was reached */
	WEIR_MISSING, /* a privilege or kernel feature is absent: exit 77 */
};

struct weir_err {
	int code; /* positive errno; 0 = no error */
	enum weir_domain domain;
	char msg[240];  /* one line, no newline, foreign text already safe */
	char hint[160]; /* what would be right or what to try; may be "" */
};

/* Each returns -code, so `return err_set(...)` ends a function. e may be NULL; err_wrap and
 * err_hint, which then know no code, return -EIO. */
int err_set(struct weir_err *e, enum weir_domain domain, int code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* errno as WEIR_OS: "<text>: <strerror>". Returns -errno_value. */
int err_os(struct weir_err *e, int errno_value, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Prefixes the message ("<text>: <old message>"); returns -code. */
int err_wrap(struct weir_err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sets the hint; returns -code. */
int err_hint(struct weir_err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- buffers (buf.c) --------------------------------------------------- */

/*
 * A growing byte buffer with an upper bound. A failed growth sets `failed`
 * (sticky) instead of returning an error from each call: check it once at the
 * end. `data` is always NUL-terminated when not NULL.
 */
struct buf {
	char *data;
	size_t len, cap;
	size_t max;  /* 0 = BUF_MAX_DEFAULT */
	bool failed; /* out of memory or over max; contents are cut */
};
#define BUF_MAX_DEFAULT ((size_t)256 << 20)

void buf_fini(struct buf *b);
void buf_clear(struct buf *b);                /* keeps the memory */
bool buf_reserve(struct buf *b, size_t more); /* false and failed on refusal */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
void buf_repeat(struct buf *b, char c, size_t n);
void buf_drop(struct buf *b, size_t n); /* removes n bytes at the front */
char *buf_take(struct buf *b); /* the caller frees; b is empty again; NULL if it had failed */
/* Varints: 7 bits a byte, little end first; zigzag for signed. */
void buf_uvarint(struct buf *b, uint64_t v);
void buf_svarint(struct buf *b, int64_t v);

/* ---- bounded reader (rd.c) --------------------------------------------- */

/*
 * Reads never pass `end`: a short read sets `bad` (sticky) and gives zero.
 * Every byte from a peer or a file goes through one of these or js_parse().
 */
struct rd {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct rd rd_init(const void *p, size_t n)
{
	return (struct rd){.p = p, .end = n ? (const uint8_t *)p + n : p};
}
static inline size_t rd_left(const struct rd *r)
{
	return (size_t)(r->end - r->p);
}
uint8_t rd_u8(struct rd *r);
uint16_t rd_be16(struct rd *r);
uint32_t rd_be32(struct rd *r);
uint64_t rd_be64(struct rd *r);
uint64_t rd_uvarint(struct rd *r);
int64_t rd_svarint(struct rd *r);
double rd_f64(struct rd *r);                  /* 8 bytes, little-endian IEEE */
const void *rd_bytes(struct rd *r, size_t n); /* NULL when short */

/* ---- safe printing (safe.c) -------------------------------------------- */

#define SAFE_MAX 256
/*
 * The one routine for text that came from elsewhere (security 22): C0, C1, DEL,
 * bidirectional marks and malformed UTF-8 become \xNN, cut at SAFE_MAX output bytes (a cut
 * ends in "..."). dst is always terminated; returns its length.
 */
size_t safe_str(char *dst, size_t cap, const char *src, size_t n);
void safe_put(struct buf *b, const char *src, size_t n);
bool safe_is_utf8(const char *s, size_t n);
/* Encoders on top of it, for one field each. */
void safe_csv(struct buf *b, const char *src);      /* RFC 4180; leading = + - @ gets a ' */
void safe_filename(struct buf *b, const char *src); /* [A-Za-z0-9._-], never leading . */
void safe_markdown(struct buf *b, const char *src); /* | \ ` < > & * _ [ ] escaped */

/* ---- SHA-256 (sha256.c) ------------------------------------------------- */

#define SHA256_LEN 32
void sha256(const void *data, size_t n, uint8_t out[SHA256_LEN]);

/* ---- clocks (clk.c) ---------------------------------------------------- */

int64_t clk_mono_ns(void); /* CLOCK_MONOTONIC */
int64_t clk_real_ns(void); /* CLOCK_REALTIME */
int64_t clk_process_cpu_ns(void);
int64_t clk_thread_cpu_ns(void);
/* Sleeps until the absolute CLOCK_MONOTONIC time; 0, or -EINTR on a signal. */
int clk_sleep_until(int64_t mono_ns);
/* "2026-11-30T15:57:46Z" from CLOCK_REALTIME ns; needs cap >= 21. */
void clk_format_utc(char *dst, size_t cap, int64_t real_ns);
/* RFC 3339 ("2026-11-30", "2026-11-30T15:57", with Z or +hh:mm), "today",
 * "yesterday", or an age such as "2h", "3d" before now_real_ns. */
int clk_parse_when(const char *s, int64_t now_real_ns, int64_t *real_ns, struct weir_err *e);
/* n bytes from getrandom(2); aborts the program only if the kernel has none. */
void clk_random(void *p, size_t n);

/* ---- units (unit.c) ---------------------------------------------------- */

enum unit {            /* base units of all stored values */
	    UNIT_NONE, /* a plain number, a count */
	    UNIT_SECOND,
	    UNIT_BPS, /* bit/s */
	    UNIT_BYTE,
	    UNIT_PPS,   /* packet/s */
	    UNIT_RATIO, /* 0..1, shown as per cent */
};

/* "200M", "1.5Gbit", "64KiB", "900kbit/s", "0": bit/s; k M G T are 1000-based,
 * Ki Mi Gi 1024-based; B or byte(s) multiplies by 8. */
int unit_parse_rate(const char *s, uint64_t *bps, struct weir_err *e);
/* Bytes: bare K M G T are 1024-based (as iperf3's -n -l -w), KB MB 1000-based,
 * KiB MiB 1024-based. */
int unit_parse_size(const char *s, uint64_t *bytes, struct weir_err *e);
/* "10", "1.5s", "500ms", "2m", "100us", "1h": nanoseconds; a bare number is seconds. */
int unit_parse_time(const char *s, int64_t *ns, struct weir_err *e);
/* A plain count with K M G T of 1000 or none. */
int unit_parse_count(const char *s, uint64_t *n, struct weir_err *e);
/* "943 Mbit/s", "1.25 GB" (1000-based; binary = false) or "1.17 GiB", "1.23 ms",
 * "4.5 %", "12.3 kpps". digits = significant digits (<= 3 unless more are known). */
void unit_format(char *dst, size_t cap, double value, enum unit u, int digits);
/* The same with number and unit apart (for columns): dst gets the number; returns the unit text. */
const char *unit_format_split(char *dst, size_t cap, double value, enum unit u, int digits);
/* A value in the given unit's own syntax ("900M" for bps, "5ms", "3%"): used by --assert. */
int unit_parse(const char *s, enum unit u, double *value, struct weir_err *e);
const char *unit_name(enum unit u); /* "s", "bit/s", "byte", "packet/s", "ratio", "" */
int unit_from_name(const char *s, enum unit *u);

/* ---- histogram (hist.c) ------------------------------------------------ */

/*
 * Log-linear, k = 7 sub-bucket bits: worst relative error 0.39 %, exact below 256,
 * range 0..2^63-1, HIST_BUCKETS counters. Exact sum, min and max. Merges by addition.
 * Values are integers in 10^exp10 of the metric's base unit (ns: exp10 = -9).
 */
#define HIST_K       7
#define HIST_BUCKETS ((64 - HIST_K) << HIST_K)
struct hist;
struct hist *hist_new(void); /* NULL when out of memory */
void hist_free(struct hist *h);
void hist_record(struct hist *h, uint64_t v);
void hist_record_n(struct hist *h, uint64_t v, uint64_t n);
void hist_merge(struct hist *into, const struct hist *from);
uint64_t hist_count(const struct hist *h);
uint64_t hist_min(const struct hist *h), hist_max(const struct hist *h);
double hist_mean(const struct hist *h);
void hist_sum(const struct hist *h, uint64_t *hi, uint64_t *lo); /* exact, 128 bits */
void hist_set_exact(struct hist *h, uint64_t sum_hi, uint64_t sum_lo, uint64_t min, uint64_t max);
uint64_t hist_quantile(const struct hist *h, double q); /* mid of the bucket, clamped to min..max */
/* Walks non-empty buckets: *it from 0; false at the end. lo is the bucket's lowest value. */
bool hist_next(const struct hist *h, uint32_t *it, uint64_t *lo, uint64_t *n);

/* ---- sequence window (seqwin.c) ---------------------------------------- */

/*
 * Which numbers of a stream came, exactly: one bit for each of the last `window` numbers, so a
 * duplicate hides no loss, and who comes after a higher one is no loss. One that is older than the
 * window is `late` and stays lost. Positions are numbers minus the first one, plus 1: 1, 2, …; they
 * survive the counter's wrap. One far ahead of all others is held aside until others bear it out: a
 * single forged number moves nothing.
 */
enum seq_kind {
	SEQ_NEW,       /* higher than all before */
	SEQ_REORDERED, /* after a higher one, for the first time */
	SEQ_DUPLICATE,
	SEQ_LATE,   /* older than the window: cannot be told from a duplicate, stays lost */
	SEQ_HELD,   /* far ahead: in no count yet */
	SEQ_FOREIGN /* before the first, or beyond what can have been sent: counts nowhere else */
};
struct seq_counts {
	uint64_t received; /* all but foreign, and those held aside now */
	uint64_t bytes;    /* of these */
	uint64_t highest;  /* position; after seqwin_final() the count of the sender */
	uint64_t lost;     /* positions 1..highest that are missing now */
	uint64_t reordered, duplicates, late, foreign;
};
struct seqwin;
/* bits: 32 or 64, the counter's width. window: rounded up to a power of two, at least 64. */
struct seqwin *seqwin_new(uint64_t first, unsigned bits, uint32_t window);
void seqwin_free(struct seqwin *w);
/* `most`: the highest position that can have been sent by now. */
enum seq_kind seqwin_put(struct seqwin *w, uint64_t number, uint32_t bytes, uint64_t most);
/*
 * The sender's count: the tail is lost too, and what is held aside is received or foreign. -ERANGE
 * when higher positions came: a few of them are left out as foreign (but for `bytes`); where they are
 * many, or more than a window ahead, nothing changes.
 */
int seqwin_final(struct seqwin *w, uint64_t sent);
const struct seq_counts *seqwin_counts(const struct seqwin *w);

/* ---- slot grid (slot.c) ------------------------------------------------ */

/*
 * Sending at a rate: slot k is due at start + k * bits / rate, computed anew each time, so nothing
 * adds up. Who is behind catches up at a third above the rate, never back to back, and gives up
 * what is more than catch_up_ns old. Time is an argument.
 */
struct slot {
	int64_t start_ns, catch_up_ns;
	int64_t last_ns; /* when the last slot was taken */
	uint64_t bits, rate_bps;
	uint64_t next;    /* the next slot */
	uint64_t skipped; /* slots given up */
};
void slot_init(struct slot *s, int64_t start_ns, uint64_t bits, uint64_t rate_bps,
	       int64_t catch_up_ns);
int64_t slot_period_ns(const struct slot *s); /* rounded */
/* When the next slot may be taken. */
int64_t slot_due_ns(const struct slot *s);
bool slot_behind(const struct slot *s); /* that is later than the grid says */
/* How long the next slot was due already when the last one was taken; <= 0: it was not. */
int64_t slot_lag_ns(const struct slot *s);
/* The next slot is taken; those that are too old are given up. */
void slot_take(struct slot *s, int64_t now_ns);
/* Slots whose time has come, from the first one on. */
uint64_t slot_count(const struct slot *s, int64_t now_ns);

/* ---- JSON (json.c, jw.c) ----------------------------------------------- */

/*
 * Reading: jansson behind one bounded pre-pass (security 15): size, depth,
 * 18446744073709551615 as -1, out-of-range and NaN/Infinity numbers, \u0000 and
 * bad UTF-8 are made harmless before the library sees them. A struct js is a borrowed
 * view into its document.
 */
struct js_doc;
struct js;
struct js_limits {
	size_t max_bytes; /* refuse longer input */
	int max_depth;    /* refuse deeper nesting */
	bool lenient;     /* peers: u64 -1, NaN, \u0000, bad UTF-8 repaired, not refused */
};
extern const struct js_limits js_limits_file;   /* 64 MiB, depth 64, strict */
extern const struct js_limits js_limits_params; /* 8 KiB, depth 16, lenient */
int js_parse(const char *text, size_t n, const struct js_limits *lim, struct js_doc **out,
	     struct weir_err *e);
void js_free(struct js_doc *d);
const struct js *js_root(const struct js_doc *d);
enum js_type { JS_NONE, JS_NULL, JS_BOOL, JS_INT, JS_REAL, JS_STR, JS_ARR, JS_OBJ };
enum js_type js_type(const struct js *v);                        /* NULL gives JS_NONE */
const struct js *js_get(const struct js *obj, const char *key);  /* exact; NULL if absent */
const struct js *js_geti(const struct js *obj, const char *key); /* case-insensitive */
size_t js_len(const struct js *arr_or_obj);
const struct js *js_at(const struct js *arr, size_t i);
/* Object walk: *it = NULL to start; false at the end. */
bool js_each(const struct js *obj, void **it, const char **key, const struct js **val);
/* Typed reads: true only when v has the type (an integral real counts as int when exact). */
bool js_i64(const struct js *v, int64_t *out);
bool js_f64(const struct js *v, double *out);
bool js_bool(const struct js *v, bool *out);
const char *js_str(const struct js *v, size_t *n); /* NULL if not a string */
/* Compact text of a value appended to b (for keeping a foreign sub-document). */
void js_dump(const struct js *v, struct buf *b);

/*
 * Writing: a stream onto a buffer, never a tree. key is NULL inside arrays and at the top.
 * Strings must not be trusted: bad UTF-8 becomes U+FFFD, controls \u00XX. NaN and
 * infinities are written as null.
 */
#define JW_DEPTH 32
struct jw {
	struct buf *out;
	uint8_t depth;
	bool more[JW_DEPTH]; /* a comma is due at this depth */
};
static inline struct jw jw_init(struct buf *out)
{
	return (struct jw){.out = out};
}
void jw_obj(struct jw *w, const char *key); /* { */
void jw_end_obj(struct jw *w);
void jw_arr(struct jw *w, const char *key); /* [ */
void jw_end_arr(struct jw *w);
void jw_i64(struct jw *w, const char *key, int64_t v);
void jw_u64(struct jw *w, const char *key, uint64_t v);
void jw_f64(struct jw *w, const char *key, double v); /* shortest that reads back equal */
void jw_bool(struct jw *w, const char *key, bool v);
void jw_null(struct jw *w, const char *key);
void jw_str(struct jw *w, const char *key, const char *s); /* NULL gives null */
void jw_strn(struct jw *w, const char *key, const char *s, size_t n);
void jw_raw(struct jw *w, const char *key, const char *json, size_t n); /* already valid JSON */

/* ---- options (opt.c parse, optdoc.c help, man, completion) -------------- */

enum opt_type {
	OPT_FLAG,  /* bool: set to true; --no-NAME sets false */
	OPT_INT,   /* int64_t, [min, max] */
	OPT_SIZE,  /* uint64_t bytes */
	OPT_RATE,  /* uint64_t bit/s */
	OPT_TIME,  /* int64_t ns */
	OPT_COUNT, /* uint64_t */
	OPT_STR,   /* char * (owned by the config; opt_fini frees) */
	OPT_ENUM,  /* int: index into choices */
	OPT_LIST,  /* struct opt_list: repeatable strings */
	OPT_FUNC,  /* the row's own parser */
};
enum opt_flag {
	OPT_SECRET = 1,     /* redacted in JSON, help echo, process title, store, logs */
	OPT_POSITIONAL = 2, /* taken by place, in table order; no letter */
	OPT_REQUIRED = 4,
	OPT_HIDDEN = 8, /* works, not in help */
	/* The argument is optional (only as --name=value); without it ENUM takes its second
	 * choice, numbers their min, STR "", FUNC gets NULL. */
	OPT_OPTARG = 16,
	OPT_REST = 32, /* OPT_LIST positional that takes all that is left, also after -- */
	OPT_FILE = 64, /* completion offers file names */
};
struct opt_list {
	char **v; /* v[n] is NULL, so that it can be an argv; NULL when empty */
	size_t n;
};
struct opt {
	const char *name; /* long name without dashes */
	char letter;      /* 0 = none */
	enum opt_type type;
	size_t offset;        /* into the config struct */
	unsigned flags;       /* enum opt_flag */
	const char *metavar;  /* NULL for flags */
	const char *help;     /* one line, lower case start, no full stop; never NULL */
	int64_t min, max;     /* for INT, SIZE, RATE, TIME (ns), COUNT; both 0 = any >= 0 */
	const char *fallback; /* the default, as text in the option's own syntax; NULL = zero */
	const char *const *choices;                                    /* ENUM: NULL-terminated */
	int (*func)(void *field, const char *arg, struct weir_err *e); /* FUNC */
	void (*func_json)(struct jw *w, const char *key, const void *field); /* FUNC; may be NULL */
	size_t given; /* offset of a bool: whether it was given; 0 = nobody asks */
};
/* One table onto one config struct; a command gives an array of these (its own + common). */
struct opt_set {
	const char *title; /* heading in help and man page */
	const struct opt *rows;
	size_t n;
	void *cfg; /* NULL when only documentation is made */
};
/* All fields to their fallbacks; earlier values are not freed. FUNC fields without a fallback
 * are left alone. */
int opt_defaults(const struct opt_set *sets, size_t n, struct weir_err *e);
/* argv[0] is skipped. Long, short (bundled), --name=value, "--", positionals anywhere.
 * An error names the option, the value and what would be right (domain USAGE). `-h`/`--help`
 * gives -ECANCELED with code ECANCELED: the caller prints opt_help(). */
int opt_parse(const struct opt_set *sets, size_t n, int argc, char *const *argv,
	      struct weir_err *e);
/* One option by its long name, from key=value or a JSON member. */
int opt_set_value(const struct opt_set *sets, size_t n, const char *name, const char *value,
		  struct weir_err *e);
int opt_from_json(const struct opt_set *sets, size_t n, const struct js *obj, struct weir_err *e);
/* Members for every option that differs from its fallback, in base units; SECRET as "***". */
void opt_to_json(const struct opt_set *sets, size_t n, struct jw *w);
void opt_fini(const struct opt_set *sets, size_t n);
/* Documentation from the same rows. opt_usage() gives "[options] HOST [FILE...]". */
void opt_usage(struct buf *b, const struct opt_set *sets, size_t n);
void opt_help(struct buf *b, const struct opt_set *sets, size_t n);
void opt_man(struct buf *b, const struct opt_set *sets, size_t n); /* scdoc section */
/* For completion: command "name" with its sets; emit the case arm of one command. The bash
 * arm returns with COMPREPLY, or leaves the options in $opts (see optdoc.c). */
void opt_complete_bash(struct buf *b, const char *cmd, const struct opt_set *sets, size_t n);
void opt_complete_zsh(struct buf *b, const char *cmd, const char *what, const struct opt_set *sets,
		      size_t n);

#endif
