/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose file is this, and is its layout ours? A database that weir did not make is never
 * touched; an older one is brought forward step by step in one transaction; a newer one is
 * read as far as its tables are still there. A step is never edited once it was released.
 */
#include <errno.h>
#include <stdio.h>

#include "store/priv.h"

/*
 * Version 1. Every list of a run is a table (run, n, …), n its place in the list; `runs` is
 * the run itself, `seq` the order of storing. Words, not numbers, for enumerations. Blobs: see
 * blob.c. owner is set while a process writes the run.
 */
#define OF_RUN  "run INTEGER NOT NULL REFERENCES runs(seq) ON DELETE CASCADE, n INTEGER NOT NULL, "
#define KEY     ", PRIMARY KEY(run,n)) WITHOUT ROWID;"
#define KEY_BIG ", PRIMARY KEY(run,n));"
static const char version_1[] =
	"CREATE TABLE runs(seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	" id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, weir TEXT, title TEXT, start_ns INTEGER,"
	" outcome TEXT NOT NULL, request TEXT, protocol TEXT, error TEXT, limited TEXT,"
	" limited_code TEXT, near_name TEXT, near_tool TEXT, near_version TEXT, near_facts TEXT,"
	" far_name TEXT, far_tool TEXT, far_version TEXT, far_facts TEXT, source_file TEXT,"
	" source_sha256 TEXT, source_tool TEXT, source_version TEXT, source_from INTEGER,"
	" source_to INTEGER, source_line INTEGER, exp_id TEXT, exp_factors TEXT, exp_plan TEXT,"
	" exp_primary TEXT, exp_variant TEXT, exp_seed INTEGER, exp_block INTEGER,"
	" exp_position INTEGER, exp_margin REAL, owner TEXT, headline TEXT,"
	" stored_ns INTEGER NOT NULL);"
	"CREATE TABLE tags(" OF_RUN "k TEXT NOT NULL, v TEXT NOT NULL,"
	" PRIMARY KEY(run,k)) WITHOUT ROWID;"
	"CREATE INDEX tags_k ON tags(k,v);"
	"CREATE TABLE parts(" OF_RUN "parent INTEGER, kind TEXT NOT NULL, name TEXT, params TEXT,"
	" t0 INTEGER, t1 INTEGER, outcome TEXT NOT NULL" KEY "CREATE TABLE clocks(" OF_RUN
	"\"end\" TEXT NOT NULL, kind TEXT NOT NULL,"
	" offset_known INTEGER NOT NULL, offset_ns INTEGER NOT NULL,"
	" offset_err_ns INTEGER NOT NULL, method TEXT" KEY "CREATE TABLE clock_pairs(" OF_RUN
	"clock INTEGER NOT NULL, t INTEGER NOT NULL,"
	" real_ns INTEGER NOT NULL" KEY "CREATE TABLE axes(" OF_RUN
	"part INTEGER, clock INTEGER NOT NULL" KEY "CREATE TABLE frames(" OF_RUN
	"axis INTEGER NOT NULL, dims TEXT NOT NULL,"
	" metrics TEXT NOT NULL" KEY "CREATE TABLE hists(" OF_RUN
	"part INTEGER, metric TEXT NOT NULL, dims TEXT NOT NULL,"
	" exp10 INTEGER NOT NULL, data BLOB NOT NULL" KEY_BIG "CREATE TABLE summaries(" OF_RUN
	"part INTEGER, metric TEXT NOT NULL, dims TEXT NOT NULL,"
	" stat TEXT NOT NULL, state TEXT NOT NULL, bound TEXT NOT NULL, prov TEXT NOT NULL,"
	" value REAL, resolution REAL" KEY "CREATE TABLE events(" OF_RUN
	"part INTEGER, code TEXT NOT NULL, severity TEXT NOT NULL,"
	" subject TEXT NOT NULL, t INTEGER, text TEXT" KEY "CREATE TABLE verdicts(" OF_RUN
	"method TEXT, metric TEXT, advice TEXT,"
	" outcome TEXT NOT NULL, effect REAL, lo REAL, hi REAL, inputs TEXT NOT NULL,"
	" reasons TEXT NOT NULL" KEY "CREATE TABLE chunks(" OF_RUN
	"axis INTEGER NOT NULL, rows INTEGER NOT NULL,"
	" data BLOB NOT NULL" KEY_BIG;

static const char *const steps[STORE_VERSION] = {version_1}; /* [i]: from version i to i + 1 */

struct identity {
	int64_t app_id, version, objects, odd;
};

static int read_identity(struct sql *q, struct identity *id, struct weir_err *e)
{
	int rc = store_sql_int(q, "PRAGMA application_id", NULL, 0, &id->app_id, e);

	if (rc >= 0)
		rc = store_sql_int(q, "PRAGMA user_version", NULL, 0, &id->version, e);
	if (rc >= 0)
		rc = store_sql_int(q, "SELECT count(*) FROM sqlite_schema", NULL, 0, &id->objects,
				   e);
	/* weir makes plain tables and indexes only: anything else could run when read. */
	if (rc >= 0)
		rc = store_sql_int(q,
				   "SELECT count(*) FROM sqlite_schema WHERE type NOT IN"
				   " ('table','index') OR sql LIKE 'CREATE VIRTUAL%'",
				   NULL, 0, &id->odd, e);
	return rc < 0 ? rc : 0;
}

/* All of it at one moment: another weir may be making the tables. */
static int get_identity(struct sql *q, struct identity *id, struct weir_err *e)
{
	int rc = store_sql_exec(q, "BEGIN", e);

	return rc < 0 ? rc : store_sql_finish(q, read_identity(q, id, e), e);
}

static bool is_blank(const struct identity *id)
{
	return id->version == 0 && id->objects == 0 &&
	       (id->app_id == 0 || id->app_id == STORE_APP_ID);
}

static int check_identity(const struct identity *id, const char *path, struct weir_err *e)
{
	if (is_blank(id))
		return 0;
	if (id->app_id != STORE_APP_ID) {
		err_set(e, WEIR_DB, EBADMSG, "%s: a database of another program", path);
		err_hint(e, "name another file with --db; this one was not changed");
		return -EBADMSG;
	}
	if (id->odd || id->version < 0)
		return err_set(e, WEIR_DB, EBADMSG,
			       "%s: holds views, triggers or other things that weir never makes",
			       path);
	return 0;
}

/* Another weir may have done the same since: what counts is the version in the transaction. */
static int run_steps(struct sql *q, struct weir_err *e)
{
	char pragma[64];
	int64_t version = 0;
	int rc = store_sql_int(q, "PRAGMA user_version", NULL, 0, &version, e);

	if (rc < 0 || version >= STORE_VERSION)
		return rc < 0 ? rc : 0;
	for (rc = 0; version < STORE_VERSION && rc >= 0; version++)
		rc = store_sql_exec(q, steps[version], e);
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 STORE_APP_ID, STORE_VERSION);
	return rc < 0 ? rc : store_sql_exec(q, pragma, e);
}

static int migrate(struct sql *q, struct weir_err *e)
{
	int rc = store_sql_exec(q, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL", e);

	if (rc >= 0)
		rc = store_sql_exec(q, "BEGIN IMMEDIATE", e);
	if (rc >= 0)
		rc = store_sql_finish(q, run_steps(q, e), e);
	return rc;
}

int store_schema_prepare(struct sql *q, const char *path, bool write, int64_t *version,
			 struct weir_err *e)
{
	struct identity id = {0};
	int rc = get_identity(q, &id, e);

	if (rc >= 0)
		rc = check_identity(&id, path, e);
	if (rc >= 0 && write && id.version < STORE_VERSION) {
		rc = migrate(q, e);
		id.version = STORE_VERSION;
	}
	*version = id.version;
	return rc;
}
