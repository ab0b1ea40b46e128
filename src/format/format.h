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
	bool goes_on;                /* CSV: an earlier run wrote the head */
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

/* ---- many.c, values.c: all that a text holds ---------------------------------------- */

struct format_take {
	/* Owns the run; a negative return ends the reading. */
	int (*run)(struct model_run *take, void *arg);
	void *arg;
};
/* Runs in their order: JSON documents one after the other or in an array, lines of several runs,
 * else the one run of the reader that is surest. Their number, or a negative errno (that of `take`,
 * or with e): -ENOMSG where no reader knows the text or no run is in it. The text is ended by a
 * NUL behind n. */
int format_read_all(const char *text, size_t n, const struct format_take *take, struct weir_err *e);
/* Is it something that weir writes, rather than text with other tools' reports? */
bool format_is_ours(const char *text, size_t n);
/* Bare numbers, one a line or the column-th (1…) field of each, fields separated by blanks, semicolons
 * or commas; lines that begin with # are comments. A comma between digits in the field itself is
 * refused: it may be a decimal point, or group digits. A unit in the field behind is taken into
 * account, and must be of one kind in all lines. */
struct format_numbers {
	double *v; /* in base units; the caller's to free; NULL for none */
	size_t n;
	double step;    /* of the last digit of the finest; 0 = there are none */
	enum unit unit; /* UNIT_NONE also where the word is not known */
	char word[24];  /* "req/s", a rate of an unknown unit; "" = none */
};
int format_values(const char *text, size_t n, int64_t column, struct format_numbers *out,
		  struct weir_err *e);

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

/* ---- phy.c, wifi.c: what Wi-Fi's rates are, and what a report says of them ---------- */

enum format_phy_std { FORMAT_PHY_N, FORMAT_PHY_AC, FORMAT_PHY_AX, FORMAT_PHY_BE };
struct format_phy {
	const char *modulation;
	int num, den; /* coding rate */
	int index;    /* MCS index; of n over all streams */
	double bps;
};
/* -EINVAL: the standard has no such; -ENOENT: it leaves this combination out (index is set). */
int format_phy_rate(int std, int width, int gi_ns, int streams, int mcs, struct format_phy *out);
int format_phy_width(int std, size_t i); /* MHz; 0 past the end */
int format_phy_gi(int std, size_t i);    /* ns, the usual one first; 0 past the end */
int format_phy_streams(int std);         /* most */
int format_phy_schemes(int std);         /* of modulation and coding, from 0 */
const char *format_phy_name(int std);    /* "802.11ax" */

/* ---- read.c: other tools' reports in text that people pasted -------------------- */

/*
 * A text may hold many reports of many kinds with prose between them, and mail and web may have
 * taken it apart. Each report is told in order and lives for the call; what no reader understands is
 * told as skipped. The text is read in blocks: memory is bounded by the largest report.
 */
struct format_found;
struct format_skip {
	uint64_t from, to, line; /* bytes of the text; the line of the first */
	const char *text;        /* its beginning, as it is: print it by safe_put only */
	size_t n;
	const char *why; /* NULL = nobody knows it */
};
struct format_reading {
	/* The next bytes into dst; 0 at the end, or a negative errno. */
	int64_t (*pull)(void *arg, char *dst, size_t cap);
	/* Either may be NULL; a negative value ends the reading and is its result. */
	int (*found)(void *arg, const struct format_found *f);
	int (*skipped)(void *arg, const struct format_skip *s);
	void *arg;
};
struct format_read_sum {
	uint64_t bytes, lines, skipped, reports;
};
int format_read_text(const struct format_reading *r, struct format_read_sum *sum,
		     struct weir_err *e);
/* The same for text in memory (r->pull is not used). */
int format_read_string(const char *text, size_t n, const struct format_reading *r,
		       struct format_read_sum *sum, struct weir_err *e);
/* pasted.c: each report as a run, for whoever wants runs; see format_read_all, which calls it. */
int format_read_pasted(const char *text, size_t n, const struct format_take *take,
		       struct weir_err *e);
const char *format_reader_name(size_t i); /* kinds that are read; NULL past the end */

/* found.c: a report as a part of a run. */
const char *format_found_kind(const struct format_found *f); /* "iperf3" */
uint64_t format_found_line(const struct format_found *f);
/* The last line of prose above it, and the text since the report before (its end); or NULL. Both as
 * they are: print them by safe_put only. */
const char *format_found_title(const struct format_found *f);
const char *format_found_lead(const struct format_found *f);
const char *format_found_param(const struct format_found *f, const char *key); /* or NULL */
/* Adds a part of it with its figures, intervals and warnings: index of the part, or -ENOMEM. */
int format_found_add(const struct format_found *f, struct model_run *r);
/* A run of this report alone. rnd makes its id. NULL when out of memory. */
struct model_run *format_found_run(const struct format_found *f, const uint8_t rnd[10]);
/* A run that reports are joined into, its id made of the first 10 bytes of `hash`; kind and start
 * are the first report's. format_found_join adds a report as a part, without its heading unless
 * `text`; 1, or 0 for a second paste, which is not added. */
struct model_run *format_found_head(const struct format_found *first, const uint8_t *hash);
int format_found_join(const struct format_found *f, struct model_run *r, bool text);
/* An object with kind, tool, span, metrics, intervals, warnings: stable keys. */
void format_found_json(const struct format_found *f, struct jw *w, const char *key);
/* For people: a line, its figures, its warnings. */
void format_found_text(const struct format_found *f, struct buf *b, bool intervals);
/* Lines "kind,line,from,to,metric,stat,dims,value,unit,state,provenance". */
void format_found_csv(const struct format_found *f, struct buf *b, bool head);

/*
 * gunzip.c: a text that may be gzipped, as one to pull. -EFBIG over 64 MiB in, 256 MiB out or a ratio
 * of 100; -EILSEQ when it is damaged; -ENOTSUP where zlib was not there.
 */
struct format_gunzip;
struct format_gunzip *format_gunzip_new(int64_t (*pull)(void *arg, char *dst, size_t cap),
					void *arg);
int64_t format_gunzip_pull(void *arg, char *dst, size_t cap);
void format_gunzip_free(struct format_gunzip *g);

/* What a driver tells of a peer, for the rules of advice; NaN or 0 = not known. */
struct format_wifi {
	const char *
		gen; /* of the rate that it sends with: "HT", "VHT", "HE", "EHT", "" = none of them */
	double tx_bps, retry_share;
	int channel_mhz, rate_mhz;
	double chain_dbm[8];
	size_t n_chains;
};
void format_wifi_advise(const struct format_wifi *w, struct buf *b); /* a line each */
bool format_wifi_by_firmware(const char *gen); /* minstrel does not choose such rates */
/* Where drivers tell of such rates in debugfs, beneath the phy or the station; NULL past the end. */
struct format_wifi_source {
	const char *file;
	bool of_station;
	const char *what;
};
const struct format_wifi_source *format_wifi_source(size_t i);
/* A report of Wi-Fi as a table with advice; false when it is of something else. */
bool format_found_wifi(const struct format_found *f, const struct format_opts *o, struct buf *b);

/* ---- iperf2_write.c: what iperf 2 prints, line by line --------------------------------- */

struct format_iperf2_opts {
	bool v205, csv, server; /* 2.0.5's form, or 2.1's */
	bool enhanced;          /* -e */
	bool hide;              /* --hide-ips */
	char unit;              /* of -f, or 0 */
};
struct format_iperf2_flow {
	int id;
	bool star;         /* "[ *1]" */
	const char *label; /* in the place of an id, as "SUM-2", "FD1", "key(1)"; or NULL */
	char local_host[64], remote_host[64];
	uint16_t local_port, remote_port;
	unsigned cwnd, mss, rtt_us; /* 0 = not TCP */
	/* With -e: "%dev", the descriptor, the version of the peer, when it connected. */
	char dev[32], peer[32];
	int sock;
	unsigned tos;
	bool quick_ack;
	double connect_ms; /* 0 = not known */
	double when;       /* s since 1970; 0 = not told */
};
/* Which columns a row has. Those of the first kind are of every version. */
enum format_iperf2_form {
	IPERF2_PLAIN,
	IPERF2_DATAGRAMS,
	IPERF2_WRITES,      /* -e: TCP, sends */
	IPERF2_WRITE_TIMES, /* --tcp-write-times */
	IPERF2_READS,       /* -e: TCP, receives */
	IPERF2_BURSTS,      /* the same with --trip-times */
	IPERF2_SENDS,       /* -e: UDP, sends */
	IPERF2_LATENCY,     /* -e: UDP, receives */
	IPERF2_FRAMES,      /* --isochronous: UDP, sends */
	IPERF2_FRAMES_TCP,
	IPERF2_BOUNCES, /* --bounceback */
	IPERF2_FORMS,
};
#define IPERF2_DIST 8
struct format_iperf2_spread { /* s */
	double n, mean, min, max, stdev;
};
struct format_iperf2_row {
	double t0, t1, bytes; /* s */
	double when;          /* s since 1970, CSV */
	enum format_iperf2_form form;
	bool datagrams; /* these are known */
	bool told;      /* by the other end */
	double jitter_s, lost, total, reordered;
	/* of the -e forms */
	double calls, errors, retr, cwnd, rtt_us, rttvar_us;
	double dist[IPERF2_DIST]; /* reads by eighths of the buffer */
	double pps, got, progress;
	double burst_size;
	double frames, missed, slips;
	struct format_iperf2_spread latency; /* of datagrams, bursts, writes, bounces */
};
void format_iperf2_size(struct buf *b, double bytes, const struct format_iperf2_opts *o);
void format_iperf2_bits(struct buf *b, double bits, const struct format_iperf2_opts *o);
void format_iperf2_connected(struct buf *b, const struct format_iperf2_opts *o,
			     const struct format_iperf2_flow *f, const char *mode);
void format_iperf2_header(struct buf *b, const struct format_iperf2_opts *o,
			  enum format_iperf2_form form);
/* The label of a stream's rows: "[  1]". */
void format_iperf2_id(struct buf *b, const struct format_iperf2_flow *f);
/* A histogram's line, below a row: bins from 1 on, ns wide; name as "T8", last: of the whole. */
struct format_iperf2_hist {
	const uint64_t *bin;
	size_t n;
	uint64_t above; /* beyond the last bin */
	int64_t bin_ns;
	double lower, upper; /* shares in percent, as 5 and 95 */
};
void format_iperf2_pdf(struct buf *b, const struct format_iperf2_flow *f,
		       const struct format_iperf2_row *r, const char *name, bool last,
		       const struct format_iperf2_hist *h);
/* flow NULL: the sum. */
void format_iperf2_row(struct buf *b, const struct format_iperf2_opts *o,
		       const struct format_iperf2_flow *f, const struct format_iperf2_row *r);
/* flow -1 = all. False when the run does not know. */
bool format_iperf2_tick(const struct model_run *run, const struct model_tick *t, int dir,
			bool sender, int64_t flow, struct format_iperf2_row *r);
bool format_iperf2_total(const struct model_run *run, int dir, bool sender, int64_t flow,
			 struct format_iperf2_row *r);

/* ---- iperf3.c: what iperf3 prints, line by line or key by key --------------------- */

enum format_iperf3_mode { FORMAT_IPERF3_TEXT, FORMAT_IPERF3_JSON, FORMAT_IPERF3_STREAM };
struct format_iperf3_opts { /* borrowed strings */
	enum format_iperf3_mode mode;
	bool v321; /* as 3.21 where it differs from 3.12 */
	bool full; /* STREAM: the whole document after the last event */
	bool server, verbose, debug;
	char unit; /* of rates, as -f has it; 0 = whichever fits */
	const char *version, *system_info;
	const char *title, *extra_data; /* of a client, in JSON; or NULL */
	/* What goes before each line of text; may be NULL. */
	void (*prefix)(void *arg, struct buf *out);
	void *arg;
};
struct format_iperf3_flow {
	int socket; /* the number in front of its rows */
	char local_host[64], remote_host[64];
	uint16_t local_port, remote_port;
};
/* What the run does not hold, or not so early. */
struct format_iperf3_test {
	const char *host; /* connecting to; a server: accepted from */
	uint16_t port;
	const char *cookie;
	const char *title, *extra_data; /* or NULL; a server's JSON */
	int64_t real_ns;
	bool udp, reverse, bidir;
	int64_t streams, blksize, omit_s, duration_s, tos, mss; /* mss: asked for */
	int64_t mss_now; /* of the control connection; a server: 0 */
	uint64_t bytes, blocks, rate, fq_rate, window, sndbuf, rcvbuf;
	int64_t data_mss; /* of the first TCP flow */
	char cc[16];      /* its congestion control */
	double interval_s;
	const char *file; /* of -F, or NULL */
	uint64_t file_size;
	const struct format_iperf3_flow *flows; /* plan order; copied with the rest */
	size_t n;
};
/* A sink for the samples; the rest is told by these, in this order. NULL when out of memory. */
struct sink *format_iperf3_new(struct buf *out, const struct format_iperf3_opts *o);
void format_iperf3_greeted(struct sink *s, const struct format_iperf3_test *t);
void format_iperf3_opened(struct sink *s, const struct format_iperf3_test *t);
/* With debug: a message between the ends; JSON modes say nothing. */
void format_iperf3_message(struct sink *s, const char *what, const char *json, size_t n);
/* A server's receiver: what the client says it sent, before the run has it. */
void format_iperf3_counts(struct sink *s, size_t flow, double packets, double lost);
/* The summary, of whatever is known so far. */
void format_iperf3_report(struct sink *s, const struct model_run *r);
/* The server's own report, as it came. */
void format_iperf3_server_output(struct sink *s, const char *text, size_t n, bool json);
void format_iperf3_error(struct sink *s, const char *text); /* JSON only: the first stays */
void format_iperf3_finish(struct sink *s, bool done);       /* "iperf Done.", or the document */
/* So far, as one JSON object (a server's, for its client). */
void format_iperf3_document(struct sink *s, struct buf *b);

#endif
