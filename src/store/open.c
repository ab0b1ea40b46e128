/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a path to an open store. The file and its folder are made for the user alone before
 * SQLite sees them; its companions (-wal, -shm) take the file's mode.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/priv.h"

#define BUSY_MS   2000
#define PERIOD_NS NSEC_PER_SEC
#define CLOSE_NS  (10 * NSEC_PER_SEC)
#define QUEUE_MAX ((size_t)8 << 20)

bool store_supported(void)
{
	return true;
}

/* Every missing folder above the file; those that exist keep their mode. */
static int make_folders(const char *path, struct weir_err *e)
{
	char *p = strdup(path);
	int rc = 0;

	if (!p)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (char *slash = strchr(p + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(p, 0700) < 0 && errno != EEXIST && access(p, X_OK) < 0)
			rc = err_os(e, errno, "making the folder %s", p);
		*slash = '/';
	}
	free(p);
	return rc;
}

static int make_file(const char *path, struct weir_err *e)
{
	int rc = make_folders(path, e);
	int fd;

	if (rc < 0)
		return rc;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno != EEXIST)
		return err_os(e, errno, "making the database %s", path);
	if (fd >= 0)
		close(fd);
	return 0;
}

static int check_file(const char *path, struct weir_err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_os(e, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, WEIR_DB, EINVAL, "%s: not a regular file", path);
	return 0;
}

static int configure(struct sql *q, struct weir_err *e)
{
	return store_sql_exec(q, "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL", e);
}

int store_connect(const struct store *s, struct sql **out, struct weir_err *e)
{
	int rc = store_sql_open(s->path, 0, s->busy_ms, out, e);

	if (rc >= 0)
		rc = configure(*out, e);
	if (rc < 0) {
		store_sql_close(*out);
		*out = NULL;
	}
	return rc;
}

static int open_write(struct store *s, struct weir_err *e)
{
	int rc = make_file(s->path, e);

	if (rc >= 0)
		rc = check_file(s->path, e);
	if (rc >= 0)
		rc = store_connect(s, &s->q, e);
	if (rc >= 0)
		rc = store_schema_prepare(s->q, s->path, true, &s->version, e);
	if (rc >= 0 && (s->version > STORE_VERSION || store_sql_read_only(s->q))) {
		s->read_only = true;
		rc = store_sql_exec(s->q, "PRAGMA query_only=ON", e);
	}
	return rc;
}

/* quick_check says one row "ok", or what is wrong. */
static int is_ok(const struct val *cells, size_t n, void *arg, struct weir_err *e)
{
	const struct store *s = arg;

	if (n && cells[0].type == VAL_TEXT && cells[0].n == 2 && !memcmp(cells[0].p, "ok", 2))
		return 1;
	return err_set(e, WEIR_DB, EBADMSG, "%s: the database is damaged", s->path);
}

/* The file may be anybody's: the tables that lists stand on are checked first. Where it may be
 * written, the last reader can tidy up -wal and -shm; a reader without that right leaves them. */
static int open_read(struct store *s, unsigned flags, struct weir_err *e)
{
	int rc = store_sql_open(s->path, flags, s->busy_ms, &s->q, e);

	if (rc >= 0)
		rc = store_sql_exec(s->q, "PRAGMA query_only=ON", e);
	if (rc >= 0)
		rc = store_schema_prepare(s->q, s->path, false, &s->version, e);
	if (rc >= 0 && s->version > 0)
		rc = store_sql_query(s->q, "PRAGMA quick_check(runs)", NULL, 0, is_ok, s, e);
	if (rc >= 0 && s->version > 0)
		rc = store_sql_query(s->q, "PRAGMA quick_check(tags)", NULL, 0, is_ok, s, e);
	return rc;
}

/* A database on a medium or in a folder that cannot be written has no room for -shm. */
static int open_any_read(struct store *s, struct weir_err *e)
{
	int rc = check_file(s->path, e);
	struct buf wal = {0};

	if (rc >= 0)
		rc = open_read(s, 0, e);
	if (rc == -EROFS || rc == -EACCES || rc == -ENOENT) {
		buf_printf(&wal, "%s-wal", s->path);
		if (!wal.failed && access(wal.data, F_OK) < 0 && access(s->path, R_OK) == 0) {
			store_sql_close(s->q);
			rc = open_read(s, SQL_READ | SQL_IMMUTABLE, e);
		}
		buf_fini(&wal);
	}
	return rc;
}

/* An older layout is brought forward first, which needs the right to write. */
static int open_read_migrated(struct store *s, struct weir_err *e)
{
	int rc = open_any_read(s, e);

	if (rc < 0 || s->version >= STORE_VERSION)
		return rc;
	store_sql_close(s->q);
	s->q = NULL;
	rc = open_write(s, e);
	return rc < 0 ? rc : store_sql_exec(s->q, "PRAGMA query_only=ON", e);
}

int store_open(const struct store_cfg *cfg, struct store **out, struct weir_err *e)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s || !(s->path = strdup(cfg->path))) {
		free(s);
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	}
	s->cap_bytes = cfg->cap_bytes;
	s->headline = cfg->headline;
	s->busy_ms = BUSY_MS;
	s->period_ns = PERIOD_NS;
	s->close_ns = CLOSE_NS;
	s->queue_max = QUEUE_MAX;
	s->read_only = cfg->mode == STORE_READ;
	rc = cfg->mode == STORE_READ ? open_read_migrated(s, e) : open_write(s, e);
	if (rc < 0) {
		store_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_sql_close(s->q);
	free(s->path);
	free(s);
}

bool store_read_only(const struct store *s)
{
	return s->read_only;
}

int store_writable(const struct store *s, struct weir_err *e)
{
	if (!s->read_only)
		return 0;
	if (s->version > STORE_VERSION) {
		err_set(e, WEIR_DB, EROFS,
			"%s: made by a newer weir (layout %lld, this one knows %d): only read",
			s->path, (long long)s->version, STORE_VERSION);
		err_hint(e, "use the newer weir, or another file with --db");
		return -EROFS;
	}
	return err_set(e, WEIR_DB, EROFS, "%s: may only be read", s->path);
}
