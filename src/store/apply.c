/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of one run into the database, a transaction at a time. The first one makes the run's
 * row and learns its number; a transaction that fails has changed nothing and can be repeated.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/priv.h"

struct apply {
	struct sql *q;
	int64_t seq; /* of the run; 0 = not there yet */
	struct buf text[TABLE_MAX];
};

struct apply *store_apply_new(struct sql *q)
{
	struct apply *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->q = q;
	for (int t = 0; t < TABLE_MAX; t++)
		store_row_sql_write(&a->text[t], (enum table_id)t);
	return a;
}

void store_apply_free(struct apply *a)
{
	if (!a)
		return;
	for (int t = 0; t < TABLE_MAX; t++)
		buf_fini(&a->text[t]);
	free(a);
}

/* Somebody may have removed the run: it must not come back in pieces. */
static int check_there(struct apply *a, struct weir_err *e)
{
	struct val seq = store_val_int(a->seq);
	int64_t one;
	int rc = store_sql_int(a->q, "SELECT 1 FROM runs WHERE seq=?", &seq, 1, &one, e);

	if (rc == 0)
		rc = err_set(e, WEIR_DB, ENOENT, "the run was removed from the store meanwhile");
	return rc;
}

static int write_row(struct apply *a, enum table_id t, struct val *cells, size_t n, int64_t *seq,
		     struct weir_err *e)
{
	int rc;

	if (a->text[t].failed)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	cells[0] = *seq ? store_val_int(*seq) : store_val_null();
	rc = store_sql_run(a->q, a->text[t].data, cells, n + 1, e);
	if (rc >= 0 && t == TABLE_RUN && !*seq)
		*seq = store_sql_last_id(a->q);
	return rc;
}

static int write_rows(struct apply *a, const struct buf *records, int64_t *seq, struct weir_err *e)
{
	struct val cells[ROW_CELLS + 1];
	struct rd rd = rd_init(records->data, records->len);
	enum table_id t;
	size_t n;
	int rc = a->seq ? check_there(a, e) : 0;

	while (rc >= 0 && (rc = store_row_next(&rd, &t, cells + 1, &n)) > 0)
		rc = write_row(a, t, cells, n, seq, e);
	return rc;
}

static int replace_rows(struct apply *a, const char *id, const struct buf *records, int64_t *seq,
			struct weir_err *e)
{
	struct val v = store_val_text(id);
	int rc = id ? store_sql_run(a->q, "DELETE FROM runs WHERE id=?", &v, 1, e) : 0;

	return rc < 0 ? rc : write_rows(a, records, seq, e);
}

int store_apply_instead(struct apply *a, const char *id, const struct buf *records,
			struct weir_err *e)
{
	int64_t seq = a->seq;
	int rc = store_sql_exec(a->q, "BEGIN IMMEDIATE", e);

	if (rc >= 0)
		rc = store_sql_finish(a->q, replace_rows(a, id, records, &seq, e), e);
	if (rc >= 0)
		a->seq = seq;
	return rc;
}

int store_apply_records(struct apply *a, const struct buf *records, struct weir_err *e)
{
	return store_apply_instead(a, NULL, records, e);
}

void store_apply_abandon(struct apply *a)
{
	struct val seq = store_val_int(a->seq);

	if (a->seq)
		store_sql_run(a->q, "UPDATE runs SET owner=NULL WHERE seq=?", &seq, 1, NULL);
}
