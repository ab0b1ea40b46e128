/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the store's files share. Three layers: sql.c knows SQLite and no run, row.c and
 * blob.c know runs and no SQLite, the rest joins them. Between the layers there is one
 * currency: struct val, a cell of a row.
 */
#ifndef WEIR_STORE_PRIV_H
#define WEIR_STORE_PRIV_H

#include "store/store.h"

#define STORE_APP_ID  0x57454952 /* "WEIR" */
#define STORE_VERSION 1          /* PRAGMA user_version */

#define STORE_CHUNK_ROWS 4096                /* rows of one chunk */
#define STORE_LOAD_MAX   ((size_t)256 << 20) /* bytes of cells that one load accepts */

/* ---- sql.c: a thin face on SQLite ------------------------------------------- */

enum val_type { VAL_NULL, VAL_INT, VAL_REAL, VAL_TEXT, VAL_BLOB };
struct val {
	enum val_type type;
	int64_t i;
	double f;
	const void *p; /* TEXT, BLOB: n bytes; TEXT is not terminated for sure */
	size_t n;
};
struct val store_val_null(void);
struct val store_val_int(int64_t i);
struct val store_val_real(double f);
struct val store_val_text(const char *s); /* NULL gives VAL_NULL */
struct val store_val_blob(const void *p, size_t n);

struct sql;
enum sql_flag { SQL_READ = 1, SQL_IMMUTABLE = 2 };
/* The file must exist (the caller makes it with its mode). Errors of all of these: -EBUSY
 * locked, -ENOSPC full, -EBADMSG damaged or no database, -EROFS, -EEXIST constraint, … */
int store_sql_open(const char *path, unsigned flags, int busy_ms, struct sql **out,
		   struct weir_err *e);
void store_sql_close(struct sql *q);
int store_sql_exec(struct sql *q, const char *script, struct weir_err *e);
/* One statement, kept prepared. Returns the number of rows that it changed. */
int store_sql_run(struct sql *q, const char *text, const struct val *v, size_t n,
		  struct weir_err *e);
/* A callback that returns non-zero ends the walk; that value is returned, else 0. */
typedef int store_sql_row_fn(const struct val *cells, size_t n, void *arg, struct weir_err *e);
int store_sql_query(struct sql *q, const char *text, const struct val *v, size_t n,
		    store_sql_row_fn *row, void *arg, struct weir_err *e);
/* The first cell of the first row as an integer: 1, or 0 when there is no row. */
int store_sql_int(struct sql *q, const char *text, const struct val *v, size_t n, int64_t *out,
		  struct weir_err *e);
bool store_sql_read_only(const struct sql *q); /* the file's mode, owner or disk say so */
int64_t store_sql_last_id(const struct sql *q);
/* Ends a transaction: commits when rc is 0 or more, else rolls back. Returns rc or the error. */
int store_sql_finish(struct sql *q, int rc, struct weir_err *e);

/* ---- open.c, schema.c ---------------------------------------------------------- */

struct store {
	char *path;
	struct sql *q;
	bool read_only;
	int64_t version; /* user_version as found */
	uint64_t cap_bytes;
	void (*headline)(const struct model_run *r, struct buf *b);
	/* Set once at open; tests shorten them before making a sink. */
	int busy_ms;
	int64_t period_ns; /* between transactions */
	int64_t close_ns;  /* how long a sink's close waits */
	size_t queue_max;  /* bytes not yet in the database before chunks are dropped */
};
/* Error for a change on a database that may only be read. */
int store_writable(const struct store *s, struct weir_err *e);
/* Opens another connection to the same file (a sink's thread has its own). */
int store_connect(const struct store *s, struct sql **out, struct weir_err *e);
/* Checks whose file this is, brings it to STORE_VERSION when `write`; gives the version. */
int store_schema_prepare(struct sql *q, const char *path, bool write, int64_t *version,
			 struct weir_err *e);

/* ---- load.c ---- */

/* The number of a run; owned: a living process writes it. */
int store_find(struct store *s, const char *id, int64_t *seq, bool *running, bool *owned,
	       struct weir_err *e);

/* ---- owner.c: which thread writes a run ------------------------------------------ */

#define STORE_OWNER_MAX 160
/* "boot-id pid-namespace tid start-time" of the calling thread; "" when /proc is not there. */
void store_owner_self(char dst[STORE_OWNER_MAX]);
/* False when that thread is surely gone. NULL or "": gone. */
bool store_owner_alive(const char *mark);
long store_owner_pid(const char *mark); /* the thread's number; 0 when it is no mark */

/* ---- blob.c: samples and histograms as bytes --------------------------------------- */

/*
 * A chunk is one axis' staged rows, columns in the model's own encoding:
 *   u8 version (1), uvarint rows, bytes axis, uvarint frames,
 *   a frame: uvarint columns, a column: bytes valid (0 or ceil(rows/8)), bytes values
 * where `bytes` is a uvarint length and that many bytes. Times and differences start from 0
 * in each chunk, so that a lost chunk costs its own rows only.
 */
void store_blob_put_chunk(struct buf *b, const struct model_run *stage, uint32_t axis);
/* Empties the staged rows of an axis. */
void store_blob_clear_stage(struct model_run *stage, uint32_t axis);
/* Appends a chunk's rows to axis of r; hostile bytes give -EBADMSG. */
int store_blob_get_chunk(struct model_run *r, uint32_t axis, const void *p, size_t n,
			 struct weir_err *e);
/* sum (high, low), min, max, buckets as (distance of lowest values, count); uvarints. */
void store_blob_put_hist(struct buf *b, const struct hist *h);
struct hist *store_blob_get_hist(const void *p, size_t n); /* NULL: not one, or out of memory */

/* ---- row.c: a run's constructs as rows ----------------------------------------------- */

enum col_kind {
	COL_INT,   /* int64_t */
	COL_INT32, /* int */
	COL_U32,
	COL_PART,  /* uint32_t index of a part; MODEL_NO_PART is NULL */
	COL_CLOCK, /* uint32_t index of a clock */
	COL_AXIS,  /* uint32_t index of an axis */
	COL_TIME,  /* int64_t; MODEL_NO_TIME is NULL */
	COL_REAL,  /* double; not finite is NULL */
	COL_BOOL,
	COL_ENUM,    /* a word of `names` */
	COL_WARN,    /* enum model_warn_code as its code */
	COL_TEXT,    /* const char *, may be NULL */
	COL_JSON,    /* the same, and one JSON value */
	COL_UUID,    /* char[MODEL_ID_LEN + 1] */
	COL_DIMS,    /* struct model_dims as a JSON object */
	COL_METRIC,  /* const struct model_metric * as its name (see put_metric) */
	COL_METRICS, /* of a frame: JSON array of the same */
	COL_LIST,    /* const char ** and a count at `more`: JSON array */
	COL_HIST,    /* struct hist * */
	COL_BLOB,    /* struct val */
};
struct col {
	const char *name;
	enum col_kind kind;
	size_t off, more;
	const char *const *names;
};
struct row_table {
	const char *name;
	const struct col *cols;
	size_t n;
};
extern const struct row_table store_row_tables[];

enum table_id {
	TABLE_RUN,
	TABLE_TAG,
	TABLE_PART,
	TABLE_CLOCK,
	TABLE_PAIR,
	TABLE_AXIS,
	TABLE_FRAME,
	TABLE_HIST,
	TABLE_SUMMARY,
	TABLE_EVENT,
	TABLE_VERDICT,
	TABLE_CHUNK,
	TABLE_MAX
};
struct row_pair { /* TABLE_PAIR */
	uint32_t clock;
	struct model_clock_pair at;
};
struct row_chunk { /* TABLE_CHUNK */
	uint32_t axis, rows;
	struct val data;
};
/* What the store keeps beside the run itself in TABLE_RUN. */
struct row_store {
	const char *owner, *headline;
	int64_t stored_ns;
};
#define ROW_EXTRA 3
extern const char *const store_row_extra[ROW_EXTRA]; /* the columns of that */
/* Appends a record: table, place n in the run's list, cells. Records go from the measuring
 * thread to the store's; they are read back with row_next. */
void store_row_put(struct buf *b, const struct model_run *r, enum table_id t, uint32_t n,
		   const void *obj);
void store_row_put_run(struct buf *b, const struct model_run *r, const struct row_store *x);
#define ROW_CELLS 48
/* 1 with the table and its cells (n first, but for TABLE_RUN), 0 at the end, -EBADMSG. */
int store_row_next(struct rd *rd, enum table_id *t, struct val cells[ROW_CELLS], size_t *n);
/* SQL: write takes the run's number first, then the cells; read takes the run's number. */
void store_row_sql_write(struct buf *b, enum table_id t);
void store_row_sql_read(struct buf *b, enum table_id t);
/* Adds a row as read (cells of store_row_sql_read) to the run; for TABLE_RUN fills the run. */
int store_row_add(struct model_run *r, enum table_id t, const struct val *cells, size_t n,
		  struct weir_err *e);

/* ---- enc.c: a growing run becomes records ----------------------------------------------- */

struct enc;
struct enc *store_enc_new(void);
void store_enc_free(struct enc *c);
/* Records so far; the caller takes or clears them. Chunks are apart: they may be dropped. */
struct buf *store_enc_rows(struct enc *c);
struct buf *store_enc_chunks(struct enc *c);
void store_enc_begin(struct enc *c, const struct model_run *r, const struct row_store *x);
/* False when the run is out of memory here: the tick is lost. */
bool store_enc_tick(struct enc *c, const struct model_run *r, const struct model_tick *t);
/* True when a chunk is full. */
bool store_enc_full(const struct enc *c);
/* Staged rows become chunk records, and what grew in the run becomes rows (none when r is NULL:
 * the run is gone). Returns the number of staged rows. */
uint64_t store_enc_flush(struct enc *c, const struct model_run *r);
/* Everything else, the run itself last. lost: samples that were dropped on the way. */
void store_enc_end(struct enc *c, const struct model_run *r, const struct row_store *x,
		   uint64_t lost);

/* ---- apply.c: records into the database --------------------------------------------------- */

struct apply;
struct apply *store_apply_new(struct sql *q); /* q is borrowed */
void store_apply_free(struct apply *a);
/* One transaction. All of it or nothing. */
int store_apply_records(struct apply *a, const struct buf *records, struct weir_err *e);
/* The same, after the run of that id is gone. */
int store_apply_instead(struct apply *a, const char *id, const struct buf *records,
			struct weir_err *e);
/* The run has no owner any more, and no end either. */
void store_apply_abandon(struct apply *a);

#endif
