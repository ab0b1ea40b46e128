/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs go and get tags. A run that a living process writes is never taken away under it; rows
 * of all tables go with the run's own (foreign keys), and the file gives the space back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

struct seqs {
	int64_t *v;
	size_t n;
};

static int take_idle(const struct val *c, size_t n, void *arg, struct weir_err *e)
{
	struct seqs *l = arg;
	int64_t *v;

	(void)n;
	if (c[1].i && c[2].type == VAL_TEXT && store_owner_alive(c[2].p))
		return 0;
	v = reallocarray(l->v, l->n + 1, sizeof(*v));
	if (!v)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	l->v = v;
	v[l->n++] = c[0].i;
	return 0;
}

static int delete_run(struct store *s, int64_t seq, struct weir_err *e)
{
	struct val v = store_val_int(seq);

	return store_sql_run(s->q, "DELETE FROM runs WHERE seq=?", &v, 1, e);
}

static int give_back(struct store *s, int rc, struct weir_err *e)
{
	int given = rc > 0 ? store_sql_exec(s->q, "PRAGMA incremental_vacuum", e) : 0;

	/* The runs are gone; space that another process holds on to is given back next time. */
	return given < 0 && given != -EBUSY ? given : rc;
}

static int begin(struct store *s, struct weir_err *e)
{
	int rc = store_writable(s, e);

	return rc < 0 ? rc : store_sql_exec(s->q, "BEGIN IMMEDIATE", e);
}

static int remove_one(struct store *s, const char *id, struct weir_err *e)
{
	bool running, owned;
	int64_t seq;
	int rc = store_find(s, id, &seq, &running, &owned, e);

	if (rc >= 0 && owned)
		rc = err_set(e, WEIR_DB, EBUSY, "run %.36s is still being measured", id);
	return rc < 0 ? rc : delete_run(s, seq, e);
}

int store_remove(struct store *s, const char *id, struct weir_err *e)
{
	int rc = begin(s, e);

	if (rc >= 0)
		rc = store_sql_finish(s->q, remove_one(s, id, e), e);
	rc = give_back(s, rc, e);
	return rc < 0 ? rc : 0;
}

static int remove_older(struct store *s, int64_t before, bool tagged, struct weir_err *e)
{
	struct val v[] = {store_val_int(before), store_val_int(tagged)};
	struct seqs l = {0};
	int rc = store_sql_query(s->q,
				 "SELECT seq, outcome='running', owner FROM runs WHERE"
				 " coalesce(start_ns,stored_ns)<? AND"
				 " (? OR NOT EXISTS (SELECT 1 FROM tags WHERE run=seq))",
				 v, 2, take_idle, &l, e);

	for (size_t i = 0; i < l.n && rc >= 0; i++)
		rc = delete_run(s, l.v[i], e);
	free(l.v);
	return rc < 0 ? rc : (int)l.n;
}

int store_remove_older(struct store *s, int64_t before_real_ns, bool tagged, struct weir_err *e)
{
	int rc = begin(s, e);

	if (rc >= 0)
		rc = store_sql_finish(s->q, remove_older(s, before_real_ns, tagged, e), e);
	return give_back(s, rc, e);
}

/* ---- the cap ---- */

static int used_bytes(struct store *s, uint64_t *bytes, struct weir_err *e)
{
	int64_t pages = 0, unused = 0, size = 0;
	int rc = store_sql_int(s->q, "PRAGMA page_count", NULL, 0, &pages, e);

	if (rc >= 0)
		rc = store_sql_int(s->q, "PRAGMA freelist_count", NULL, 0, &unused, e);
	if (rc >= 0)
		rc = store_sql_int(s->q, "PRAGMA page_size", NULL, 0, &size, e);
	*bytes = pages > unused ? (uint64_t)(pages - unused) * (uint64_t)size : 0;
	return rc;
}

/* The newest run stays even when it alone is over the cap: it was just paid for. */
static int trim(struct store *s, struct weir_err *e)
{
	struct seqs l = {0};
	uint64_t used = 0;
	size_t i = 0;
	int rc = store_sql_query(s->q,
				 "SELECT seq, outcome='running', owner FROM runs WHERE"
				 " seq<(SELECT max(seq) FROM runs) AND"
				 " NOT EXISTS (SELECT 1 FROM tags WHERE run=seq) ORDER BY seq",
				 NULL, 0, take_idle, &l, e);

	if (rc >= 0)
		rc = used_bytes(s, &used, e);
	while (rc >= 0 && used > s->cap_bytes && i < l.n) {
		rc = delete_run(s, l.v[i++], e);
		if (rc >= 0)
			rc = used_bytes(s, &used, e);
	}
	free(l.v);
	return rc < 0 ? rc : (int)i;
}

int store_trim(struct store *s, struct weir_err *e)
{
	uint64_t used = 0;
	int rc = s->cap_bytes ? used_bytes(s, &used, e) : 0;

	if (rc < 0 || used <= s->cap_bytes)
		return rc < 0 ? rc : 0;
	rc = begin(s, e);
	if (rc >= 0)
		rc = store_sql_finish(s->q, trim(s, e), e);
	return give_back(s, rc, e);
}

/* ---- tags ---- */

static int change_tag(struct store *s, const char *id, const char *k, const char *v,
		      struct weir_err *e)
{
	struct val cells[3] = {store_val_null(), store_val_text(k), store_val_text(v)};
	bool running, owned;
	int64_t seq;
	int rc = store_find(s, id, &seq, &running, &owned, e);

	if (rc < 0)
		return rc;
	cells[0] = store_val_int(seq);
	if (!v)
		return store_sql_run(s->q, "DELETE FROM tags WHERE run=? AND k=?", cells, 2, e);
	return store_sql_run(s->q,
			     "INSERT INTO tags(run,n,k,v) SELECT ?1,"
			     " coalesce((SELECT max(n)+1 FROM tags WHERE run=?1),0),?2,?3 WHERE 1"
			     " ON CONFLICT(run,k) DO UPDATE SET v=excluded.v",
			     cells, 3, e);
}

static int tag(struct store *s, const char *id, const char *k, const char *v, struct weir_err *e)
{
	int rc;

	if (!*k || strchr(k, '='))
		return err_set(e, WEIR_USAGE, EINVAL, "a tag is key=value; \"%s\" is no key", k);
	rc = begin(s, e);
	return rc < 0 ? rc : store_sql_finish(s->q, change_tag(s, id, k, v, e), e);
}

int store_tag(struct store *s, const char *id, const char *k, const char *v, struct weir_err *e)
{
	int rc = tag(s, id, k, v, e);

	return rc < 0 ? rc : 0;
}

int store_untag(struct store *s, const char *id, const char *k, struct weir_err *e)
{
	int rc = tag(s, id, k, NULL, e);

	if (rc == 0)
		rc = err_set(e, WEIR_DB, ENOENT, "run %.8s has no tag %s", id, k);
	return rc < 0 ? rc : 0;
}
