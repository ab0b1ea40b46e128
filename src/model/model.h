/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model: what a result is. One run with its parts, clocks, frames, histograms, summaries,
 * events, experiment and verdict; the tables of metrics, dimensions and warnings; the sink
 * that a measurement emits into; JSON and NDJSON of all of it. Pure: no clock is read, no
 * file or socket opened.
 *
 * Everything inside a run lives and dies with it (model_run_free). Intervals are half-open
 * int64 nanoseconds since the run's start on a named clock. Values are in base units;
 * "unknown" is a state, never 0 or NaN.
 */
#ifndef WEIR_MODEL_H
#define WEIR_MODEL_H

#include "base/base.h"

#define MODEL_SCHEMA  1 /* JSON schema number: additive within a major */
#define MODEL_NO_TIME INT64_MIN
#define MODEL_NO_PART UINT32_MAX
#define MODEL_ID_LEN  36 /* UUID text */

/* ---- tables: metric.c, dim.c, warn.c ----------------------------------- */

enum model_kind { MODEL_COUNTER, MODEL_GAUGE, MODEL_RATE }; /* counters are stored as deltas */
enum model_better { MODEL_HIGHER, MODEL_LOWER, MODEL_NEITHER };
enum model_col_type { MODEL_U64, MODEL_I64, MODEL_F64 };

struct model_metric {
	const char *name; /* "goodput", "tcp.rtt", "ext.rx_dropped" */
	enum unit unit;
	enum model_kind kind;
	enum model_better better;
	enum model_col_type type; /* how columns of it are stored */
	const char *help;
	double resolution; /* smallest step that its source tells, base unit; 0 = not stated */
};
/* By name; NULL if not in the table (see model_run_metric for ext.*). */
const struct model_metric *model_metric(const char *name);
const struct model_metric *model_metric_at(size_t i); /* NULL past the end */

enum model_dim_type { MODEL_DIM_INT, MODEL_DIM_ENUM, MODEL_DIM_STR };
enum model_dim_id {
	DIM_FLOW,  /* int: 0-based, in plan order */
	DIM_DIR,   /* enum up, down (up = initiator to responder) */
	DIM_VIEW,  /* enum sender, receiver, device */
	DIM_END,   /* enum near, far (near = the end that made the run) */
	DIM_SIZE,  /* int: bytes */
	DIM_CPU,   /* int */
	DIM_QUEUE, /* int */
	DIM_CLASS, /* str */
	DIM_IFACE, /* str */
	DIM_STEP,  /* int: rate step, trial */
	DIM_MAX
};
enum { MODEL_UP = 0, MODEL_DOWN = 1 };
enum { MODEL_SENDER = 0, MODEL_RECEIVER = 1, MODEL_DEVICE = 2 };
enum { MODEL_NEAR = 0, MODEL_FAR = 1 };
struct model_dim {
	const char *name;
	enum model_dim_type type;
	const char *const *values; /* ENUM: NULL-terminated */
	const char *help;
};
const struct model_dim *model_dim(enum model_dim_id id);
int model_dim_find(const char *name); /* id, or -ENOENT */

/* A set of dimension values. `has` is a bit per id. A DIM_STR value is an index into the
 * run's string table (model_run_intern). */
struct model_dims {
	uint32_t has;
	int64_t v[DIM_MAX];
};
#define DIMS_NONE ((struct model_dims){0})
struct model_dims model_dims_with(struct model_dims d, enum model_dim_id id, int64_t v);
bool model_dims_equal(const struct model_dims *a, const struct model_dims *b);
/* True when every dimension in `want` has the same value in `d`. */
bool model_dims_match(const struct model_dims *d, const struct model_dims *want);

enum model_severity { MODEL_NOTE, MODEL_WARN, MODEL_ERROR };
enum model_warn_code {
	WARN_OVERLAP,         /* tests overlapped on the server */
	WARN_LATE_SAMPLE,     /* the sampler was over 10 % late */
	WARN_INTERRUPTED,     /* ended by a signal */
	WARN_PEER_GONE,       /* the peer vanished or closed early */
	WARN_PEER_TERMINATED, /* the peer ended the test */
	WARN_RECV_GT_SENT,    /* the peer reports more received than sent */
	WARN_CC_FALLBACK,     /* the congestion control in use is not the one asked for */
	WARN_WINDOW_SHORT,    /* the socket buffer is smaller than asked for */
	WARN_MSS_DIFFERS,
	WARN_ZC_COPIED,  /* zero-copy completions say that data was copied */
	WARN_RX_TRUNC,   /* MSG_TRUNC: the receiver did not copy data */
	WARN_MEMORY_CAP, /* samples dropped: the run's memory cap */
	WARN_SHORT_RUN,  /* measured period under 1 s */
	WARN_CLOCK_STEPPED,
	WARN_SENDER_ONLY, /* only the sender's figures are known */
	WARN_PEER_FIGURE, /* a figure as told by the peer is implausible */
	WARN_NOT_STORED,  /* the run could not be stored */
	WARN_INCOMPLETE,  /* a run that was cut off (kill, power) */
	WARN_RATE_SHORT,  /* a paced sender did not reach its rate */
	WARN_FEWER_FLOWS, /* fewer flows than asked for */
	WARN_STALL,       /* intervals without a byte */
	WARN_CAP,         /* a server limit changed the request */
	WARN_FRAGMENTED,  /* datagrams larger than the path MTU */
	WARN_SOCKET_DROPS,
	WARN_SEND_REFUSED, /* ENOBUFS, or no room for long */
	WARN_SEND_FAILED,
	WARN_FOREIGN,       /* datagrams of no test */
	WARN_LOAD_DEFAULT,  /* neither -b nor --find-rate */
	WARN_UNCONFIRMED,   /* a search ended early */
	WARN_TRUNCATED,     /* from here on: of reports that were read */
	WARN_DUPLICATE,     /* the same report was pasted twice */
	WARN_LABEL,         /* a human label says otherwise than the figures */
	WARN_DURATIONS,     /* rows that belong together last differently long */
	WARN_STUB,          /* an interval of almost no length was left out */
	WARN_NONSTATIONARY, /* the rate changed within the run */
	WARN_LINE_RATE,     /* the link is the limit */
	WARN_CPU_BOUND,     /* a processor is the limit */
	WARN_RATE_LIMITED,  /* the sender was told a rate */
	WARN_VERSION,       /* a form of the report that no known version prints */
	WARN_MISSING_SIDE,  /* which end the figures are of is not known, or an end has none */
	WARN_MISMATCH,      /* figures of the report contradict each other */
	WARN_UNAVAILABLE,   /* a figure is printed, but cannot be one */
	WARN_UNREACHABLE,   /* sends ended in ICMP errors */
	WARN_PEER_FOUND,    /* by its own first bytes, not by the greeting or --proto */
	WARN_OTHER,         /* read from a newer version's file; the text has its code */
	WARN_MAX
};
struct model_warn {
	const char *code; /* "overlap", "late-sample" … */
	enum model_severity severity;
	const char *text; /* general wording; the event's own text adds the case */
};
const struct model_warn *model_warn(enum model_warn_code c);
int model_warn_find(const char *code); /* code, or -ENOENT */

/* ---- the run ----------------------------------------------------------- */

enum model_state { MODEL_KNOWN, MODEL_UNKNOWN, MODEL_NA };
enum model_bound { MODEL_EQ, MODEL_GE, MODEL_LE };
enum model_prov {
	MODEL_MEASURED, /* by this weir */
	MODEL_TOLD,     /* by the peer, over the wire */
	MODEL_PRINTED,  /* read from a report */
	MODEL_DERIVED,
	MODEL_PARTIAL,
	MODEL_SENDER_ONLY,
};
enum model_stat {
	STAT_VALUE,
	STAT_MEAN,
	STAT_MIN,
	STAT_MAX,
	STAT_STDDEV,
	STAT_SUM,
	STAT_P50,
	STAT_P90,
	STAT_P95,
	STAT_P99,
	STAT_P999,
	STAT_CV,
	STAT_COUNT,
	STAT_NUM
};
const char *model_stat_name(enum model_stat s);

enum model_part_kind { PART_PHASE, PART_TRIAL, PART_BENCHMARK, PART_REPORT };
enum model_outcome { OUTCOME_COMPLETE, OUTCOME_PARTIAL, OUTCOME_FAILED, OUTCOME_RUNNING };

struct model_part {
	uint32_t id, parent; /* id = index; parent may be MODEL_NO_PART */
	enum model_part_kind kind;
	const char *name;   /* "omit", "load", "idle" … */
	const char *params; /* JSON object text or NULL */
	int64_t t0, t1;     /* t1 may be MODEL_NO_TIME while running */
	enum model_outcome outcome;
};

enum model_clock_kind {
	CLOCK_KIND_MONO,
	CLOCK_KIND_RAW,
	CLOCK_KIND_TSC,
	CLOCK_KIND_PHC,
	CLOCK_KIND_VIRTUAL
};
struct model_clock_pair {
	int64_t t;       /* on this clock, ns since the run's start */
	int64_t real_ns; /* CLOCK_REALTIME at that moment */
};
struct model_clock {
	uint32_t id;
	int end; /* MODEL_NEAR, MODEL_FAR */
	enum model_clock_kind kind;
	bool offset_known;
	int64_t offset_ns;     /* add to a time on this clock to get clock 0's */
	int64_t offset_err_ns; /* half-width */
	const char *method;    /* "ping-pong, best of 8", … or NULL */
	struct model_clock_pair *pairs;
	size_t n_pairs;
};

/* One time axis: rows of [t0, t1). Shared by all frames that one tick filled. */
enum model_row_flag { ROW_SHORT = 1, ROW_OMITTED = 2, ROW_LATE = 4 };
struct model_axis {
	uint32_t id, part, clock;
	size_t n;
	struct buf enc; /* per row: svarint t0 - previous t1, uvarint length, u8 flags */
	int64_t last_t1;
	uint32_t *frames; /* ids of its frames, in order */
	size_t n_frames;
};
/*
 * One column, only of the rows that have a value.
 *   U64  uvarint
 *   I64  svarint of the difference to the last value
 *   F64  uvarint of (zigzag(difference) << 2 | s), where the value is a whole number of
 *        1 (s = 1), 1e-6 (s = 2) or 1e-9 (s = 3) and the difference is to the last such number;
 *        else 0 and 8 bytes little-endian. So seconds are best made as us / 1e6.
 * Read with a cursor. A U64 above INT64_MAX and an F64 that is not finite are no values.
 */
struct model_col {
	const struct model_metric *metric;
	struct buf enc;
	struct buf valid; /* a bit a row; empty while every row has a value */
	int64_t last;     /* I64: the last value; F64: the last whole number */
};
#define MODEL_COLS_MAX 64 /* columns a frame */
struct model_frame {
	uint32_t id, axis;
	struct model_dims dims;
	struct model_col *cols;
	size_t n_cols, n_rows;
};
struct model_hist {
	uint32_t part;
	const struct model_metric *metric;
	struct model_dims dims;
	int exp10; /* values are in 10^exp10 of the metric's unit */
	struct hist *h;
};
struct model_summary {
	uint32_t part;
	const struct model_metric *metric;
	struct model_dims dims;
	enum model_stat stat;
	enum model_state state;
	enum model_bound bound;
	enum model_prov prov;
	double value;      /* base unit; meaningless unless state is KNOWN */
	double resolution; /* smallest step that is known; 0 = not stated */
};
struct model_event {
	uint32_t part;
	enum model_warn_code code;
	enum model_severity severity;
	struct model_dims subject;
	int64_t t;        /* or MODEL_NO_TIME */
	const char *text; /* for people; may be NULL; already safe */
};
struct model_kv {
	const char *k, *v;
};
struct model_host {                 /* facts of one end, as far as known */
	const char *facts;          /* JSON object text ({"kernel":…}), NULL = unknown */
	const char *name;           /* host name or address, NULL = unknown */
	const char *tool, *version; /* of the program at that end; NULL = unknown */
};
struct model_source { /* when the run was read from a file */
	const char *file, *sha256, *tool, *version;
	int64_t span_from, span_to, line; /* bytes; -1 = unknown */
};
struct model_experiment {
	const char *id, *factors, *plan, *primary, *variant; /* NULL = none */
	int64_t seed, block, position;
	double margin;
};
enum model_verdict_outcome {
	VERDICT_BETTER,
	VERDICT_WORSE,
	VERDICT_NEGLIGIBLE,
	VERDICT_EQUIVALENT,
	VERDICT_INCONCLUSIVE,
	VERDICT_NONE,
	/* Unordered runs of one session a side differ; the change may not be why. */
	VERDICT_SESSIONS
};
struct model_verdict {
	const char **inputs; /* run ids */
	size_t n_inputs;
	const char *method, *metric, *advice;
	enum model_verdict_outcome outcome;
	double effect, lo, hi; /* ratio minus 1 */
	const char **reasons;
	size_t n_reasons;
};

struct model_run {
	char id[MODEL_ID_LEN + 1];
	const char *kind;      /* "tcp" … the row of format/layout.c */
	const char *weir;      /* version that made it */
	const char *title;     /* headline words or NULL */
	int64_t start_real_ns; /* MODEL_NO_TIME = unknown */
	enum model_outcome outcome;
	const char *request;         /* JSON object text, secrets redacted */
	const char *protocol;        /* "weir", "iperf3" … or NULL */
	const char *error;           /* why it failed, or NULL */
	const char *limited;         /* text, or NULL = not known; JSON "limited_by" */
	const char *limited_code;    /* the rule, or NULL */
	struct model_host host[2];   /* MODEL_NEAR, MODEL_FAR */
	struct model_source source;  /* file NULL = measured */
	struct model_experiment exp; /* id NULL = none */
	struct model_kv *tags;
	size_t n_tags;
	struct model_part *parts;
	size_t n_parts;
	struct model_clock *clocks;
	size_t n_clocks;
	struct model_axis **axes;
	size_t n_axes;
	struct model_frame **frames;
	size_t n_frames;
	struct model_hist *hists;
	size_t n_hists;
	struct model_summary *sums;
	size_t n_sums;
	struct model_event *events;
	size_t n_events;
	struct model_verdict *verdicts;
	size_t n_verdicts;
	size_t mem_bytes, mem_cap; /* samples; cap default MODEL_MEM_CAP */
	struct model_priv *priv;   /* arena, string table, ext metrics */
};
#define MODEL_MEM_CAP ((size_t)64 << 20)

/* The enumerations' words in JSON, in the order of the enumeration, ended by NULL (names.c). */
extern const char *const model_kind_names[];
extern const char *const model_better_names[];
extern const char *const model_col_names[];
extern const char *const model_severity_names[];
extern const char *const model_state_names[];
extern const char *const model_bound_names[];
extern const char *const model_prov_names[];
extern const char *const model_stat_names[];
extern const char *const model_part_kind_names[];
extern const char *const model_outcome_names[];
extern const char *const model_clock_kind_names[];
extern const char *const model_verdict_names[];
int model_name_find(const char *const *names, const char *name); /* value, or -ENOENT */

/* start_real_ns makes the UUIDv7 time; rnd supplies its 10 random bytes (pure: no getrandom). */
struct model_run *model_run_new(const char *kind, int64_t start_real_ns, const uint8_t rnd[10]);
void model_run_free(struct model_run *r);
/* Copies into the run's arena; NULL stays NULL. */
const char *model_run_str(struct model_run *r, const char *s);
const char *model_run_strn(struct model_run *r, const char *s, size_t n);
int64_t model_run_intern(struct model_run *r, const char *s);         /* for DIM_STR */
const char *model_run_interned(const struct model_run *r, int64_t i); /* NULL if out of range */
/* Table metric, or an ext.* one made for this run; NULL if neither (or out of memory). */
const struct model_metric *model_run_metric(struct model_run *r, const char *name, enum unit unit,
					    enum model_col_type type);

/* All adders return the new index, or -ENOMEM (-EINVAL for a frame with a metric twice or too many
 * columns). A frame that comes when its axis has rows has no values there. A tag's key is unique:
 * the last value stays. */
int model_add_part(struct model_run *r, enum model_part_kind kind, uint32_t parent,
		   const char *name, int64_t t0);
void model_end_part(struct model_run *r, uint32_t part, int64_t t1, enum model_outcome o);
int model_add_clock(struct model_run *r, int end, enum model_clock_kind kind);
int model_add_clock_pair(struct model_run *r, uint32_t clock, int64_t t, int64_t real_ns);
int model_add_axis(struct model_run *r, uint32_t part, uint32_t clock);
int model_add_frame(struct model_run *r, uint32_t axis, const struct model_dims *dims,
		    const struct model_metric *const *metrics, size_t n);
int model_add_hist(struct model_run *r, uint32_t part, const struct model_metric *m,
		   const struct model_dims *dims, int exp10, struct hist *take_h);
int model_add_summary(struct model_run *r, const struct model_summary *s);
/* Also -ENOSPC: over MODEL_EVENTS_MAX events, or as many notes as half of it: what is worse than a
 * note still finds room after them. */
#define MODEL_EVENTS_MAX 8192
int model_add_event(struct model_run *r, uint32_t part, enum model_warn_code code,
		    const struct model_dims *subject, int64_t t, const char *text);
int model_add_tag(struct model_run *r, const char *k, const char *v);
int model_add_verdict(struct model_run *r, const struct model_verdict *v);

/* Lookup: the first summary that matches (dims: every one in `want`); NULL if none or not KNOWN
 * when known_only. */
const struct model_summary *model_find(const struct model_run *r, const char *metric,
				       enum model_stat stat, const struct model_dims *want,
				       bool known_only);
/* "goodput", "goodput:down", "tcp.rtt:p99", "goodput:flow=3": metric[:word]…, a word being the
 * value of an enumerated dimension, dim=value or a statistic; for --assert and compare. Only known
 * summaries. Preferred: VALUE, then MEAN; no dimensions beside those asked for; the receiver's
 * view, the near end. When only the direction would tell two apart, that is an error. */
const struct model_summary *model_find_spec(const struct model_run *r, const char *spec,
					    struct weir_err *e);

/* ---- samples ------------------------------------------------------------ */

union model_value {
	uint64_t u;
	int64_t i;
	double f;
};
/* One frame's row in a tick: values in column order; bit i of valid = column i has a value. */
struct model_row {
	uint32_t frame;
	const union model_value *v;
	uint64_t valid; /* up to 64 columns a frame */
};
struct model_tick {
	uint32_t axis;
	int64_t t0, t1;
	unsigned flags;               /* enum model_row_flag */
	const struct model_row *rows; /* one for each frame of the axis, in frame order */
	size_t n_rows;
};
/* Appends to axis and frames. -ENOSPC at the memory cap (an event was added, once). */
int model_append(struct model_run *r, const struct model_tick *t);

/* Walks stored ticks of one axis in order; void once the run grows. */
struct model_cursor;
struct model_cursor *model_cursor_new(const struct model_run *r, uint32_t axis);
int model_cursor_next(struct model_cursor *c, const struct model_tick **t); /* 1, 0 at the end */
void model_cursor_free(struct model_cursor *c);

/* ---- sink ---------------------------------------------------------------- */

/*
 * What a measurement emits into. The run is the same object all along and grows: at begin
 * it has kind, request, hosts and parts as far as known; sample follows model_append; end has
 * summaries. Calls come from one thread. A sink never fails the measurement: it keeps its
 * own error and gives it in close.
 */
struct sink {
	void (*begin)(struct sink *s, const struct model_run *r);
	void (*sample)(struct sink *s, const struct model_run *r, const struct model_tick *t);
	void (*event)(struct sink *s, const struct model_run *r, const struct model_event *e);
	void (*end)(struct sink *s, const struct model_run *r);
	/* Frees the sink. 0, or the sink's own first error. */
	int (*close)(struct sink *s, struct weir_err *e);
};
/* Fan-out: several sinks behind one; close closes all (the first error wins). The array is
 * copied; a NULL function of a sink is skipped. NULL when out of memory (the caller keeps all). */
struct sink *sink_tee(struct sink **take_sinks, size_t n);
/* begin, then samples of all axes (by t1 on clock 0) and events merged by time, events without
 * a time, then end. 0 or -ENOMEM. */
int model_replay(const struct model_run *r, struct sink *s);

/* ---- JSON (codec.c, ndjson.c) --------------------------------------------- */

/* The whole run as one object. */
void model_to_json(const struct model_run *r, struct buf *b);
int model_from_json(const struct js *v, struct model_run **out, struct weir_err *e);
/*
 * NDJSON: one object a line, {"type":"run"|"part"|"clock"|"axis"|"frame"|"tick"|"event"|
 * "summary"|"hist"|"verdict"|"end", …}. The writer is a sink onto b (the owner flushes b);
 * the reader takes lines one at a time, also of a run that is still going.
 */
struct sink *model_ndjson_sink(struct buf *b);
struct model_ndjson_reader;
struct model_ndjson_reader *model_ndjson_reader_new(void);
/* Feeds one line (no newline). 0, or a negative errno with e. */
int model_ndjson_line(struct model_ndjson_reader *rd, const char *line, size_t n,
		      struct weir_err *e);
/* The run so far; complete only after "end". The reader keeps ownership until _take. */
struct model_run *model_ndjson_run(struct model_ndjson_reader *rd);
struct model_run *model_ndjson_take(struct model_ndjson_reader *rd);
void model_ndjson_reader_free(struct model_ndjson_reader *rd);
/* Replaces host names, addresses, MACs and paths in place, consistently within the run. */
void model_anonymise(struct model_run *r);

/* ---- statistics: dist.c, rng.c, stats.c, rank.c, perm.c, series.c, steady.c ------------- */

struct model_stats {
	size_t n;
	double mean, stddev, min, max, median;
};
/* stddev with n - 1 (0 for n < 2); all 0 for n = 0; median NaN when out of memory. */
struct model_stats model_stats(const double *x, size_t n);

/* Distributions; a quantile is NaN outside 0 < p < 1. Relative error under 1e-9. */
double model_norm_cdf(double z);
double model_norm_quantile(double p);
double model_t_cdf(double t, double df);
double model_t_quantile(double p, double df); /* Student's t, 0 < p < 1, df >= 1; error < 1e-8 */
double model_f_cdf(double f, double df1, double df2);
double model_f_quantile(double p, double df1, double df2);

/* PCG32 (O'Neill 2014), so that a verdict is the same wherever it is computed. */
struct model_rng {
	uint64_t state, inc;
};
void model_rng_seed(struct model_rng *r, uint64_t seed, uint64_t stream);
uint32_t model_rng_u32(struct model_rng *r);
uint32_t model_rng_below(struct model_rng *r, uint32_t n); /* 0..n-1, unbiased; n > 0 */
double model_rng_unit(struct model_rng *r);                /* (0, 1) */
double model_rng_normal(struct model_rng *r);

/* An estimate with its standard error, on whatever scale the values have. */
struct model_t {
	double d, se, df; /* df 0 = no spread is known (one value a side) */
};
struct model_t model_welch(const double *a, size_t na, const double *b, size_t nb);
struct model_t model_one_sample(const double *d, size_t n);
double model_t_p(const struct model_t *t); /* two-sided, of d = 0; NaN when df is 0 */
/* Schuirmann's two one-sided tests of |d| < limit: the larger p. */
double model_tost_p(const struct model_t *t, double limit);
/* Half the width of the interval at that confidence; NaN when df is 0. */
double model_t_half(const struct model_t *t, double conf);

/* Permutation of the difference of means: exact up to MODEL_PERM_EXACT arrangements, else
 * MODEL_PERM_SAMPLES random ones, fewer with over a thousand runs. p NaN when out of memory. */
#define MODEL_PERM_EXACT   200000
#define MODEL_PERM_SAMPLES 100000
struct model_perm {
	double p;
	bool exact;
	double least; /* the smallest p that this design can reach */
};
struct model_perm model_perm_two(const double *a, size_t na, const double *b, size_t nb,
				 struct model_rng *rng);
struct model_perm model_perm_signs(const double *d, size_t n, struct model_rng *rng);

/* Mann-Whitney U of b over a, mid-ranks; two-sided p, exact without ties up to 20 a side. */
struct model_rank {
	double stat, p;
	bool exact;
};
struct model_rank model_mann_whitney(const double *a, size_t na, const double *b, size_t nb);
/* Kendall's S of x against its place: tau-a in stat; two-sided p, exact for n <= 10 without ties. */
struct model_rank model_kendall(const double *x, size_t n);
/* The median of all b_j - a_i (Hodges and Lehmann 1963), in (na + nb) log (na + nb) steps; NaN when
 * out of memory. */
double model_hodges_lehmann(const double *a, size_t na, const double *b, size_t nb);
/* Modified z over 3.5 (Iglewicz and Hoaglin): marks each, returns how many. mark may be NULL. */
size_t model_outliers(const double *x, size_t n, bool *mark);
/* Fisher's exact test of ka in na against kb in nb, two-sided: all tables at most as likely. */
double model_fisher(size_t ka, size_t na, size_t kb, size_t nb);
/* Holm's adjusted p in place; NaN stays, and is no test. `more` = tests beside these. */
void model_holm(double *p, size_t n, size_t more);

double model_autocorr(const double *x, size_t n);    /* lag 1 */
double model_n_effective(const double *x, size_t n); /* AR(1), 1..n */
/* Pettitt 1979: the most likely change. at = first index after it. */
struct model_change {
	double k, p; /* p as Pettitt's approximation, at most 1 */
	size_t at;
	bool found; /* p of the rule below is under alpha */
};
/* The p that decides is that of the effective size, from the autocorrelation within the two
 * segments (a sawtooth is no change). alpha is the caller's: 0.05 / number of runs. */
struct model_change model_pettitt(const double *x, size_t n, double alpha);

/*
 * Whether the mean of a run says what it was like: its intervals without a byte, and whether its
 * level changed half-way. Of the bytes in one direction (-1 = the first that there is), as the
 * receiver counted them or else the sender, in intervals of 100 ms at least; neither omitted
 * ones nor a short last one. alpha: see model_pettitt. A run without samples is all 0.
 */
struct model_steady {
	size_t intervals, stalled;
	bool changed;
};
struct model_steady model_steady(const struct model_run *r, int dir, double alpha);

/* ---- verdict: effect.c, power.c, verdict.c, reason.c, wording.c ---------------- */

/* What qualifies a verdict or forbids it. A set of them is a bit mask (MODEL_R). */
enum model_reason {
	/* gates: no verdict */
	REASON_MISSING_SIDE,
	REASON_NEGATIVE,
	REASON_NOT_A_NUMBER,
	REASON_SAME_DATA,
	REASON_SAME_RUN, /* the caller's: both sides come from one run */
	REASON_UNITS,    /* the caller's */
	REASON_REQUEST,  /* the caller's: direction, streams, protocol or block size differ */
	REASON_DURATION, /* over 20 % apart */
	REASON_SHORT,    /* under 1 s */
	REASON_STALLED,  /* over 5 % of the intervals without a byte */
	REASON_DRIFT,    /* unordered runs that drift */
	REASON_MEMORY,
	/* why it is inconclusive */
	REASON_FEW_RUNS,
	REASON_INTERVALS,
	REASON_PERMUTATION,
	REASON_FLOOR,
	REASON_HOLM,
	REASON_FEW_BLOCKS,
	/* qualifiers */
	REASON_FLOOR_OVER_MARGIN,
	REASON_SESSIONS,   /* unordered, one session a side */
	REASON_SOME_DRIFT, /* of one side, or slight */
	REASON_CHANGE_POINT,
	REASON_SOME_STALLS,
	REASON_LINE_RATE,
	REASON_BOUND_BY_LINE, /* only the better side: the ratio is a lower bound */
	REASON_OUTLIER,
	REASON_ZERO_VARIANCE,
	REASON_ZEROS,
	REASON_ALL_ZERO,  /* of one side: no ratio */
	REASON_UNBLOCKED, /* runs that no block holds were left out of the difference */
	REASON_BETTER_ASSUMED,
	REASON_NUM
};
#define MODEL_R(reason)    (UINT64_C(1) << (reason))
#define MODEL_REASON_GATES (MODEL_R(REASON_FEW_RUNS) - 1)
struct model_reason_row {
	const char *code; /* "few-runs", stable */
	const char *text; /* a clause for people */
};
const struct model_reason_row *model_reason(enum model_reason r);

/* How the runs were arranged, which decides what is compared with what. */
enum model_design {
	DESIGN_AUTO,      /* blocks if given or if one sequence alternates; else unordered */
	DESIGN_UNORDERED, /* Welch; `order` counts within a side */
	DESIGN_PAIRED,    /* a[i] with b[i] */
	DESIGN_BLOCKED,   /* by `block` or `order` */
	DESIGN_SESSIONS,  /* only as an answer: the session is the unit */
};
extern const char *const model_design_names[];

struct model_side {
	const char *name;
	const double *x; /* one value a run */
	size_t n;
	const int64_t *block;   /* of each run, or NULL */
	const int64_t *order;   /* place in time, over both sides or within this one; or NULL */
	const int64_t *session; /* boot, connection; or NULL = unknown */
	bool intervals;         /* values are intervals of one run */
	double seconds;         /* measured time of a run; 0 = unknown */
	double ceiling;         /* line rate of this side; 0 = the configuration's */
	double stalled;         /* share of intervals without a byte */
	size_t stalled_runs;    /* runs that have one */
	size_t changed;         /* runs with a change point inside */
};
struct model_judge_cfg {
	enum model_better better;
	double margin;       /* equivalence: ratio in (1/(1+margin), 1+margin); 0 = MODEL_MARGIN */
	double floor;        /* noise floor of this testbed, as ratio - 1; 0 = unknown */
	size_t floor_n;      /* A/A effects behind it; 0 = 12 */
	bool floor_sessions; /* they were taken across sessions */
	enum model_design design;
	bool sequential;   /* looked at after every block: all at 3.5 % in place of 5 % */
	double ceiling;    /* line rate in the metric's unit; 0 = unknown */
	double resolution; /* smallest step of a value; 0 = unknown */
	uint64_t found;    /* reasons that the caller knows of */
	uint64_t seed;     /* of sampled permutations */
};
#define MODEL_MARGIN 0.02

/* What a detectable effect follows from. */
enum model_perm_of {
	MODEL_PERM_OF_PAIRS,  /* signs of the differences */
	MODEL_PERM_OF_BLOCKS, /* labels within blocks of more than two */
	MODEL_PERM_OF_SIDES,  /* runs, or sessions, between the sides */
	MODEL_PERM_OF_RUNS,   /* runs, where the units are fewer than four sessions a side */
};
struct model_power {
	enum model_perm_of of;
	size_t units;   /* pairs, blocks, sessions or runs of the smaller side */
	double se, df;  /* of the estimate */
	double least_p; /* of the permutation */
	double floor;   /* log; 0 = unknown */
	double alpha;
	size_t tests; /* that share alpha; 0 = 1 */
};

struct model_judgement {
	enum model_verdict_outcome outcome;
	uint64_t reasons; /* MODEL_R mask */
	enum model_design design;
	enum model_better better;
	size_t n_a, n_b;     /* runs */
	size_t units;        /* blocks, sessions of the smaller side, or runs of it */
	double a, b;         /* geometric means (of value + shift, minus shift) */
	double effect;       /* b / a - 1; NaN without a verdict, infinite where all of a is 0 */
	double lo, hi, conf; /* interval of it; NaN when the spread is unknown */
	struct model_t t;    /* on the log scale */
	double noise;        /* run-to-run s.d. of the logs; NaN when unknown */
	double p_t, p_adj;   /* p_adj = after Holm */
	struct model_perm perm;
	double p_eq, p_mw;
	struct model_t eq;          /* t with the floor's variance in it, for equivalence */
	size_t stalled[2];          /* runs of A and of B with an interval without a byte */
	double p_stalled;           /* Fisher's exact test of these; NaN when there are none */
	double robust;              /* Hodges-Lehmann, ratio - 1 */
	double margin, floor;       /* as applied */
	size_t floor_n;             /* A/A effects behind it; 0 = 12 */
	size_t tests;               /* that share the 5 %: 1, or as many as Holm was told of */
	struct model_power power;   /* what the next three rest on */
	double mde, mde_lo, mde_hi; /* detectable with this rule; hi may be infinite */
	double explain; /* run-to-run noise, as s.d. of the logs, at which the effect is chance */
	size_t need;    /* pairs that would settle it at the noise seen; 0 = unknown or settled */
	double settle6, settle12; /* noise up to which 6 and 12 pairs would settle this effect */
	size_t outliers;
};
/* Never fails: what cannot be judged is VERDICT_NONE with its reasons. */
void model_judge(const struct model_judge_cfg *cfg, const struct model_side *a,
		 const struct model_side *b, struct model_judgement *out);

/* Non-inferiority: the outcome is one that shows it (better, equivalent, negligible), each of which
 * has the worse end of its interval within the margin. What is inconclusive does not. */
bool model_not_worse(const struct model_judgement *j);

/*
 * Several metrics, or several sides against one: Holm on the t p-values. The primary (an index,
 * or -1) is tested by itself; the others among themselves. `more` = tests made beside these.
 */
void model_judge_family(struct model_judgement *j, size_t n, int primary, size_t more);

/* One to three sentences, without an end of line. metric may be NULL (bare values). */
void model_judgement_text(const struct model_judgement *j, const char *metric, const char *name_a,
			  const char *name_b, struct buf *b);
/* The outcome in a few words: "better", "equivalent within ±2 %", "no verdict". */
void model_judgement_word(const struct model_judgement *j, struct buf *b);
/* Outcome, effect, interval, n, margin, reasons …: members of the object that w is in. */
void model_judgement_json(const struct model_judgement *j, struct jw *w);

/* ---- planning (power.c); effects and noise on the log scale -------------------- */

/* The noise floor from A/A effects (logs): t(.975, n) times their rms. NaN for n = 0. */
double model_noise_floor(const double *aa, size_t n);
struct model_noise {
	double sd;      /* of the differences of pairs; of the runs in model_mde_two */
	double floor;   /* 0 = unknown */
	size_t floor_n; /* A/A effects behind it; 0 = 12 */
	double alpha;
	size_t tests; /* that share alpha (Holm); 0 = 1 */
};
/*
 * The smallest effect that the whole rule (interval, permutation, floor) finds with about 80 %
 * power. Infinite under 6 pairs.
 */
double model_mde_pairs(size_t pairs, const struct model_noise *noise);
double model_mde_two(size_t na, size_t nb, const struct model_noise *noise);
/* Pairs that detect an effect, and pairs that show equivalence within a limit if there is no
 * effect; 0 when more than MODEL_PAIRS_MAX, or where the floor forbids it. */
#define MODEL_PAIRS_MAX 10000
size_t model_pairs_to_detect(double effect, const struct model_noise *noise);
size_t model_pairs_to_equal(double limit, const struct model_noise *noise);

#endif
