/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stored run becomes a run again: its row, then each list in the order in which later ones
 * refer to earlier ones, samples last. One read transaction, so a run that is being written
 * is seen as of one moment. What one file can make us hold is bounded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

struct loading {
	struct model_run *r;
	enum table_id t;
	size_t bytes;
};

static int add_row(const struct val *cells, size_t n, void *arg, struct weir_err *e)
{
	struct loading *l = arg;

	for (size_t i = 0; i < n; i++)
		l->bytes += sizeof(*cells) + cells[i].n;
	if (l->bytes > STORE_LOAD_MAX)
		return err_set(e, WEIR_LIMIT, EFBIG, "a stored run of over %zu MiB",
			       STORE_LOAD_MAX >> 20);
	return store_row_add(l->r, l->t, cells, n, e);
}

static int load_table(struct sql *q, struct loading *l, int64_t seq, struct weir_err *e)
{
	struct val v = store_val_int(seq);
	struct buf text = {0};
	int rc;

	store_row_sql_read(&text, l->t);
	rc = text.failed ? err_set(e, WEIR_OS, ENOMEM, "out of memory")
			 : store_sql_query(q, text.data, &v, 1, add_row, l, e);
	buf_fini(&text);
	return rc;
}

static int load_tables(struct store *s, struct model_run *r, int64_t seq, struct weir_err *e)
{
	static const enum table_id order[] = {
		TABLE_RUN,   TABLE_TAG,  TABLE_PART,    TABLE_CLOCK, TABLE_PAIR,    TABLE_AXIS,
		TABLE_FRAME, TABLE_HIST, TABLE_SUMMARY, TABLE_EVENT, TABLE_VERDICT, TABLE_CHUNK,
	};
	struct loading l = {.r = r};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(order) && rc >= 0; i++) {
		l.t = order[i];
		rc = load_table(s->q, &l, seq, e);
	}
	if (rc >= 0 && !r->kind)
		rc = err_set(e, WEIR_DB, EBADMSG, "a run without a kind");
	return rc;
}

/* ---- a run that was cut off ---- */

/* Until when there are samples of a part; MODEL_NO_TIME if there are none. */
static int64_t last_sample(const struct model_run *r, uint32_t part)
{
	int64_t t = MODEL_NO_TIME;

	for (size_t i = 0; i < r->n_axes; i++) {
		const struct model_axis *a = r->axes[i];

		if (a->part == part && a->n && a->last_t1 > t)
			t = a->last_t1;
	}
	return t;
}

static int mark_cut_off(struct model_run *r)
{
	r->outcome = OUTCOME_PARTIAL;
	for (size_t i = 0; i < r->n_parts; i++) {
		struct model_part *p = &r->parts[i];

		if (p->outcome == OUTCOME_RUNNING)
			model_end_part(r, (uint32_t)i, last_sample(r, (uint32_t)i),
				       OUTCOME_PARTIAL);
	}
	return model_add_event(r, MODEL_NO_PART, WARN_INCOMPLETE, NULL, MODEL_NO_TIME, NULL);
}

/* ---- which ---- */

struct found {
	int64_t seq;
	bool running, owned;
};

static int take_found(const struct val *cells, size_t n, void *arg, struct weir_err *e)
{
	struct found *f = arg;
	(void)n;
	(void)e;
	f->seq = cells[0].i;
	f->running = cells[1].i != 0;
	f->owned = f->running && cells[2].type == VAL_TEXT && store_owner_alive(cells[2].p);
	return 1;
}

int store_find(struct store *s, const char *id, int64_t *seq, bool *running, bool *owned,
	       struct weir_err *e)
{
	struct val v = store_val_text(id);
	struct found f = {0};
	int rc = store_sql_query(s->q, "SELECT seq, outcome='running', owner FROM runs WHERE id=?",
				 &v, 1, take_found, &f, e);

	if (rc == 0)
		return err_set(e, WEIR_DB, ENOENT, "no run %.36s in %s", id, s->path);
	*seq = f.seq;
	*running = f.running;
	*owned = f.owned;
	return rc < 0 ? rc : 0;
}

static int load_one(struct store *s, const char *id, struct model_run *r, struct weir_err *e)
{
	bool running = false, owned = false;
	int64_t seq = 0;
	int rc = store_find(s, id, &seq, &running, &owned, e);

	if (rc >= 0)
		rc = load_tables(s, r, seq, e);
	if (rc >= 0 && running && !owned && mark_cut_off(r) < 0)
		rc = err_set(e, WEIR_OS, ENOMEM, "out of memory");
	return rc;
}

int store_load(struct store *s, const char *id, struct model_run **out, struct weir_err *e)
{
	static const uint8_t no_id[10];
	struct model_run *r = model_run_new("", MODEL_NO_TIME, no_id);
	int rc;

	*out = NULL;
	if (!r)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	rc = store_sql_exec(s->q, "BEGIN", e);
	if (rc >= 0)
		rc = store_sql_finish(s->q, load_one(s, id, r, e), e);
	if (rc < 0) {
		model_run_free(r);
		r = NULL;
	}
	*out = r;
	return rc < 0 ? rc : 0;
}

/* ---- the other way, at once ---- */

static int put_ticks(struct enc *c, const struct model_run *r, uint32_t axis, struct buf *all)
{
	struct model_cursor *cur = model_cursor_new(r, axis);
	const struct model_tick *t;
	bool ok = cur != NULL;

	while (ok && model_cursor_next(cur, &t) > 0) {
		ok = store_enc_tick(c, r, t);
		if (!store_enc_full(c))
			continue;
		store_enc_flush(c, r);
		buf_put(all, store_enc_rows(c)->data, store_enc_rows(c)->len);
		buf_put(all, store_enc_chunks(c)->data, store_enc_chunks(c)->len);
		buf_clear(store_enc_rows(c));
		buf_clear(store_enc_chunks(c));
	}
	model_cursor_free(cur);
	return ok ? 0 : -ENOMEM;
}

static int put_all(const struct store *s, struct enc *c, const struct model_run *r, struct buf *all)
{
	struct row_store x = {.stored_ns = clk_real_ns()};
	struct buf headline = {0};
	int rc = 0;

	if (s->headline)
		s->headline(r, &headline);
	x.headline = headline.len && !headline.failed ? headline.data : r->title;
	store_enc_begin(c, r, &x);
	for (size_t i = 0; i < r->n_axes && !rc; i++)
		rc = put_ticks(c, r, (uint32_t)i, all);
	store_enc_flush(c, r);
	buf_put(all, store_enc_rows(c)->data, store_enc_rows(c)->len);
	buf_put(all, store_enc_chunks(c)->data, store_enc_chunks(c)->len);
	buf_clear(store_enc_rows(c));
	store_enc_end(c, r, &x, 0);
	buf_put(all, store_enc_rows(c)->data, store_enc_rows(c)->len);
	buf_fini(&headline);
	return all->failed || store_enc_rows(c)->failed ? -ENOMEM : rc;
}

static int put(struct store *s, const struct model_run *r, const char *instead, struct weir_err *e)
{
	struct enc *c = store_enc_new();
	struct apply *a = store_apply_new(s->q);
	struct buf all = {0};
	int rc = store_writable(s, e);

	if (rc >= 0 && (!c || !a || put_all(s, c, r, &all) < 0))
		rc = err_set(e, WEIR_OS, ENOMEM, "out of memory");
	if (rc >= 0)
		rc = store_apply_instead(a, instead, &all, e);
	buf_fini(&all);
	store_apply_free(a);
	store_enc_free(c);
	return rc < 0 ? rc : 0;
}

int store_put(struct store *s, const struct model_run *r, struct weir_err *e)
{
	return put(s, r, NULL, e);
}

int store_replace(struct store *s, const struct model_run *r, struct weir_err *e)
{
	return put(s, r, r->id, e);
}
