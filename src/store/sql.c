/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only file that knows SQLite. Every connection is opened the way a database from
 * elsewhere must be: defensive, untrusted schema, bounded lengths, no attached files; what
 * SQLite says becomes an errno and one sentence.
 */
#include <errno.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

#define STMT_MAX   32
#define CELL_BYTES (64 << 20)

struct sql {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *kept[STMT_MAX];
	size_t n_kept;
};

struct val store_val_null(void)
{
	return (struct val){.type = VAL_NULL};
}

struct val store_val_int(int64_t i)
{
	return (struct val){.type = VAL_INT, .i = i};
}

struct val store_val_real(double f)
{
	return (struct val){.type = VAL_REAL, .f = f};
}

struct val store_val_text(const char *s)
{
	return s ? (struct val){.type = VAL_TEXT, .p = s, .n = strlen(s)} : store_val_null();
}

struct val store_val_blob(const void *p, size_t n)
{
	return (struct val){.type = VAL_BLOB, .p = p, .n = n};
}

static const struct {
	int sqlite, code;
	const char *text, *hint;
} errors[] = {
	{SQLITE_BUSY, EBUSY, "locked by another process", "try again when it has finished"},
	{SQLITE_LOCKED, EBUSY, "locked", "try again"},
	{SQLITE_FULL, ENOSPC, "the disk is full", "free some space, or use --db elsewhere"},
	{SQLITE_CORRUPT, EBADMSG, "the database is damaged", "move it away to start a new one"},
	{SQLITE_NOTADB, EBADMSG, "not a database", "name another file with --db"},
	{SQLITE_READONLY, EROFS, "may not be written", "use --db elsewhere"},
	{SQLITE_CONSTRAINT, EEXIST, "is there already, or refers to a run that is gone", ""},
	{SQLITE_NOMEM, ENOMEM, "out of memory", ""},
	{SQLITE_TOOBIG, EFBIG, "a value is too long", ""},
	{SQLITE_PERM, EACCES, "permission denied", ""},
	{SQLITE_INTERRUPT, EINTR, "interrupted", ""},
};

/* The first error of a call, told as people need it. */
static int fail(const struct sql *q, int rc, struct weir_err *e)
{
	int os = sqlite3_system_errno(q->db);
	int ret;

	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		if ((rc & 0xff) != errors[i].sqlite)
			continue;
		err_set(e, WEIR_DB, errors[i].code, "%s: %s", q->path, errors[i].text);
		if (errors[i].hint[0])
			err_hint(e, "%s", errors[i].hint);
		return -errors[i].code;
	}
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_IOERR) {
		ret = os ? os : EIO;
		return err_set(e, WEIR_DB, ret, "%s: %s", q->path, strerror(ret));
	}
	return err_set(e, WEIR_DB, EIO, "%s: %s", q->path, sqlite3_errmsg(q->db));
}

/* Nothing in the file may make SQLite run or read more than tables (security 23). */
static int harden(struct sql *q, struct weir_err *e)
{
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, CELL_BYTES);
	sqlite3_limit(q->db, SQLITE_LIMIT_ATTACHED, 0);
	return store_sql_exec(q, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", e);
}

/* file:PATH?immutable=1 with what is special in a URI escaped. */
static char *uri_of(const char *path, unsigned flags)
{
	struct buf b = {0};

	buf_puts(&b, "file:");
	for (const char *c = path; *c; c++) {
		if (strchr("?#%", *c))
			buf_printf(&b, "%%%02x", (unsigned char)*c);
		else
			buf_putc(&b, *c);
	}
	if (flags & SQL_IMMUTABLE)
		buf_puts(&b, "?immutable=1");
	if (b.failed)
		buf_fini(&b);
	return buf_take(&b);
}

int store_sql_open(const char *path, unsigned flags, int busy_ms, struct sql **out,
		   struct weir_err *e)
{
	struct sql *q = calloc(1, sizeof(*q));
	char *uri = uri_of(path, flags);
	int how = (flags & SQL_READ) ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	int rc = -ENOMEM;

	if (!q || !uri || !(q->path = strdup(path)))
		goto out;
	rc = sqlite3_open_v2(uri, &q->db, how | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK) {
		rc = fail(q, rc, e);
		goto out;
	}
	sqlite3_extended_result_codes(q->db, 1);
	sqlite3_busy_timeout(q->db, busy_ms);
	rc = harden(q, e);
out:
	free(uri);
	if (rc < 0) {
		store_sql_close(q);
		q = NULL;
	}
	*out = q;
	return rc;
}

void store_sql_close(struct sql *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n_kept; i++)
		sqlite3_finalize(q->kept[i]);
	sqlite3_close(q->db);
	free(q->path);
	free(q);
}

/* A change of the journal mode does not go through the busy handler, so wait here too. */
int store_sql_exec(struct sql *q, const char *script, struct weir_err *e)
{
	int rc = sqlite3_exec(q->db, script, NULL, NULL, NULL);

	for (int i = 0; i < 100 && (rc & 0xff) == SQLITE_BUSY && strstr(script, "journal_mode");
	     i++) {
		poll(NULL, 0, 10);
		rc = sqlite3_exec(q->db, script, NULL, NULL, NULL);
	}
	return rc == SQLITE_OK ? 0 : fail(q, rc, e);
}

static int bind_one(sqlite3_stmt *st, int i, const struct val *v)
{
	switch (v->type) {
	case VAL_INT:
		return sqlite3_bind_int64(st, i, v->i);
	case VAL_REAL:
		return sqlite3_bind_double(st, i, v->f);
	case VAL_TEXT:
		return sqlite3_bind_text64(st, i, v->p, v->n, SQLITE_STATIC, SQLITE_UTF8);
	case VAL_BLOB:
		return sqlite3_bind_blob64(st, i, v->n ? v->p : "", v->n, SQLITE_STATIC);
	case VAL_NULL:
		break;
	}
	return sqlite3_bind_null(st, i);
}

static int bind_all(sqlite3_stmt *st, const struct val *v, size_t n)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = bind_one(st, (int)i + 1, &v[i]);
	return rc;
}

static struct val cell_of(sqlite3_stmt *st, int i)
{
	switch (sqlite3_column_type(st, i)) {
	case SQLITE_INTEGER:
		return store_val_int(sqlite3_column_int64(st, i));
	case SQLITE_FLOAT:
		return store_val_real(sqlite3_column_double(st, i));
	case SQLITE_TEXT:
		return (struct val){.type = VAL_TEXT,
				    .p = sqlite3_column_text(st, i),
				    .n = (size_t)sqlite3_column_bytes(st, i)};
	case SQLITE_BLOB:
		return store_val_blob(sqlite3_column_blob(st, i),
				      (size_t)sqlite3_column_bytes(st, i));
	default:
		return store_val_null();
	}
}

static int prepare(struct sql *q, const char *text, unsigned flags, sqlite3_stmt **st)
{
	int rc = sqlite3_prepare_v3(q->db, text, -1, flags, st, NULL);

	if (rc == SQLITE_OK && !*st)
		rc = SQLITE_MISUSE;
	return rc;
}

/* Statements of writers repeat for each row: kept, found again by their text. */
static int prepare_kept(struct sql *q, const char *text, sqlite3_stmt **st)
{
	int rc;

	for (size_t i = 0; i < q->n_kept; i++) {
		*st = q->kept[i];
		if (strcmp(sqlite3_sql(*st), text) == 0)
			return SQLITE_OK;
	}
	rc = prepare(q, text, SQLITE_PREPARE_PERSISTENT, st);
	if (rc != SQLITE_OK)
		return rc;
	if (q->n_kept == STMT_MAX)
		sqlite3_finalize(q->kept[--q->n_kept]);
	q->kept[q->n_kept++] = *st;
	return rc;
}

int store_sql_run(struct sql *q, const char *text, const struct val *v, size_t n,
		  struct weir_err *e)
{
	sqlite3_stmt *st = NULL;
	int rc = prepare_kept(q, text, &st);

	if (rc == SQLITE_OK)
		rc = bind_all(st, v, n);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fail(q, rc, e);
	if (st) {
		sqlite3_reset(st);
		sqlite3_clear_bindings(st);
	}
	return rc < 0 ? rc : sqlite3_changes(q->db);
}

int store_sql_query(struct sql *q, const char *text, const struct val *v, size_t n,
		    store_sql_row_fn *row, void *arg, struct weir_err *e)
{
	struct val cells[ROW_CELLS] = {0};
	sqlite3_stmt *st = NULL;
	int rc = prepare(q, text, 0, &st);
	int cols = 0, ret = 0;

	if (rc == SQLITE_OK)
		rc = bind_all(st, v, n);
	if (rc == SQLITE_OK)
		cols = sqlite3_column_count(st);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW && cols <= ROW_CELLS) {
		for (int i = 0; i < cols; i++)
			cells[i] = cell_of(st, i);
		ret = row(cells, (size_t)cols, arg, e);
		rc = ret ? SQLITE_DONE : SQLITE_OK;
	}
	if (rc != SQLITE_DONE && rc != SQLITE_OK)
		ret = fail(q, rc, e);
	sqlite3_finalize(st);
	return ret;
}

static int take_int(const struct val *cells, size_t n, void *arg, struct weir_err *e)
{
	(void)e;
	*(int64_t *)arg = n && cells[0].type == VAL_INT ? cells[0].i : 0;
	return 1;
}

int store_sql_int(struct sql *q, const char *text, const struct val *v, size_t n, int64_t *out,
		  struct weir_err *e)
{
	return store_sql_query(q, text, v, n, take_int, out, e);
}

bool store_sql_read_only(const struct sql *q)
{
	return sqlite3_db_readonly(q->db, "main") == 1;
}

int64_t store_sql_last_id(const struct sql *q)
{
	return sqlite3_last_insert_rowid(q->db);
}

int store_sql_finish(struct sql *q, int rc, struct weir_err *e)
{
	int done = rc < 0 ? 0 : store_sql_exec(q, "COMMIT", e);

	if (done < 0)
		rc = done;
	if (rc < 0 && !sqlite3_get_autocommit(q->db))
		store_sql_exec(q, "ROLLBACK", NULL);
	return rc;
}
