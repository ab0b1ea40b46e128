/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples and histograms as bytes. Writing copies the model's columns as they stand; reading
 * trusts nothing: every length is checked against what is left, every time against its range,
 * and a column must hold exactly the values that its rows need. The encoding is that of
 * struct model_col as of chunk version 1; a change there is a new version here.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/priv.h"

#define CHUNK_VERSION 1
#define TIME_MAX      (INT64_MAX / 4)

static void put_bytes(struct buf *b, const struct buf *from)
{
	buf_uvarint(b, from->len);
	buf_put(b, from->data, from->len);
}

void store_blob_put_chunk(struct buf *b, const struct model_run *stage, uint32_t axis)
{
	const struct model_axis *a = stage->axes[axis];

	buf_putc(b, CHUNK_VERSION);
	buf_uvarint(b, a->n);
	put_bytes(b, &a->enc);
	buf_uvarint(b, a->n_frames);
	for (size_t i = 0; i < a->n_frames; i++) {
		const struct model_frame *f = stage->frames[a->frames[i]];

		buf_uvarint(b, f->n_cols);
		for (size_t k = 0; k < f->n_cols; k++) {
			put_bytes(b, &f->cols[k].valid);
			put_bytes(b, &f->cols[k].enc);
		}
	}
}

void store_blob_clear_stage(struct model_run *stage, uint32_t axis)
{
	struct model_axis *a = stage->axes[axis];

	a->n = 0;
	a->last_t1 = 0;
	buf_clear(&a->enc);
	for (size_t i = 0; i < a->n_frames; i++) {
		struct model_frame *f = stage->frames[a->frames[i]];

		f->n_rows = 0;
		for (size_t k = 0; k < f->n_cols; k++) {
			buf_clear(&f->cols[k].valid);
			buf_clear(&f->cols[k].enc);
			f->cols[k].last = 0;
		}
	}
}

/* ---- reading ---- */

struct col_in {
	struct rd values;
	const uint8_t *valid; /* NULL: every row has a value */
	int64_t last;
};
struct chunk_in {
	const struct model_run *r;
	const struct model_axis *axis;
	size_t n_frames, n_rows;
	struct rd times;
	int64_t last_t1;
	struct col_in *cols;    /* of all frames, one after the other */
	union model_value *v;   /* the same order */
	struct model_row *rows; /* a frame each */
	bool bad;
};

static struct rd get_bytes(struct rd *rd, size_t *n)
{
	uint64_t len = rd_uvarint(rd);
	const void *p = len <= rd_left(rd) ? rd_bytes(rd, len) : NULL;

	if (!p && len)
		rd->bad = true;
	*n = p ? len : 0;
	return rd_init(p ? p : rd->end, *n);
}

static bool open_column(struct chunk_in *c, struct rd *rd, struct col_in *col)
{
	size_t n_valid, n_values;
	struct rd valid = get_bytes(rd, &n_valid);

	col->values = get_bytes(rd, &n_values);
	col->valid = n_valid ? valid.p : NULL;
	return !rd->bad && (!n_valid || n_valid == (c->n_rows + 7) / 8);
}

/* The axis may have got frames since: the chunk has the first ones. */
static bool open_frames(struct chunk_in *c, struct rd *rd)
{
	size_t at = 0;

	if (rd_uvarint(rd) != c->n_frames)
		return false;
	for (size_t i = 0; i < c->n_frames; i++) {
		const struct model_frame *f = c->r->frames[c->axis->frames[i]];

		if (rd_uvarint(rd) != f->n_cols)
			return false;
		c->rows[i] = (struct model_row){.frame = f->id, .v = c->v + at};
		for (size_t k = 0; k < f->n_cols; k++, at++) {
			if (!open_column(c, rd, &c->cols[at]))
				return false;
		}
	}
	return !rd->bad && rd_left(rd) == 0;
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static double get_f64(struct col_in *c)
{
	static const double scale[] = {0, 1, 1e6, 1e9};
	uint64_t u = rd_uvarint(&c->values);

	if (!(u & 3))
		return rd_f64(&c->values);
	c->last = wrap_add(c->last, (int64_t)(u >> 3) ^ -(int64_t)(u >> 2 & 1));
	return (double)c->last / scale[u & 3];
}

static union model_value get_value(struct col_in *c, enum model_col_type type)
{
	union model_value v = {0};

	switch (type) {
	case MODEL_U64:
		v.u = rd_uvarint(&c->values);
		break;
	case MODEL_I64:
		c->last = wrap_add(c->last, rd_svarint(&c->values));
		v.i = c->last;
		break;
	case MODEL_F64:
		v.f = get_f64(c);
		break;
	}
	return v;
}

static void get_row(struct chunk_in *c, size_t row)
{
	size_t at = 0;

	for (size_t i = 0; i < c->n_frames; i++) {
		const struct model_frame *f = c->r->frames[c->axis->frames[i]];

		c->rows[i].valid = 0;
		for (size_t k = 0; k < f->n_cols; k++, at++) {
			struct col_in *col = &c->cols[at];

			if (col->valid && !(col->valid[row / 8] >> row % 8 & 1))
				continue;
			c->v[at] = get_value(col, f->cols[k].metric->type);
			c->bad |= col->values.bad;
			c->rows[i].valid |= 1ULL << k;
		}
	}
}

/* Times beyond the range stop the walk before anything is added to them. */
static bool get_time(struct chunk_in *c, struct model_tick *t)
{
	int64_t gap = rd_svarint(&c->times);
	uint64_t len = rd_uvarint(&c->times);

	t->flags = rd_u8(&c->times);
	if (c->times.bad || gap < -TIME_MAX || gap > TIME_MAX || len > TIME_MAX)
		return false;
	t->t0 = c->last_t1 + gap;
	t->t1 = t->t0 + (int64_t)len;
	c->last_t1 = t->t1;
	return t->t0 >= -TIME_MAX && t->t1 <= TIME_MAX;
}

static bool columns_done(const struct chunk_in *c, size_t n_cols)
{
	for (size_t i = 0; i < n_cols; i++) {
		if (rd_left(&c->cols[i].values))
			return false;
	}
	return rd_left(&c->times) == 0;
}

/* -ENOSPC is the run's own memory cap, which the model has noted: what is there stays. */
static int add_rows(struct chunk_in *c, struct model_run *r, size_t n_cols)
{
	struct model_tick t = {.axis = c->axis->id, .rows = c->rows, .n_rows = c->n_frames};
	int rc = 0;

	for (size_t i = 0; i < c->n_rows && !rc; i++) {
		if (!get_time(c, &t))
			return -EBADMSG;
		get_row(c, i);
		if (c->bad)
			return -EBADMSG;
		rc = model_append(r, &t);
	}
	if (rc == -EINVAL || (!rc && !columns_done(c, n_cols)))
		return -EBADMSG;
	return rc;
}

static size_t count_columns(const struct chunk_in *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_frames; i++)
		n += c->r->frames[c->axis->frames[i]]->n_cols;
	return n;
}

static int get_chunk(struct model_run *r, struct chunk_in *c, struct rd *rd)
{
	size_t n, n_cols;
	int rc = -EBADMSG;

	if (rd_u8(rd) != CHUNK_VERSION)
		return rc;
	c->n_rows = rd_uvarint(rd);
	c->times = get_bytes(rd, &n);
	struct rd peek = *rd;
	uint64_t n_frames = rd_uvarint(&peek);
	if (rd->bad || c->n_rows > STORE_CHUNK_ROWS || n_frames > c->axis->n_frames)
		return rc;
	c->n_frames = n_frames;
	n_cols = count_columns(c);
	c->cols = calloc(n_cols + 1, sizeof(*c->cols));
	c->v = calloc(n_cols + 1, sizeof(*c->v));
	c->rows = calloc(c->n_frames + 1, sizeof(*c->rows));
	if (!c->cols || !c->v || !c->rows)
		rc = -ENOMEM;
	else if (open_frames(c, rd))
		rc = add_rows(c, r, n_cols);
	free(c->cols);
	free(c->v);
	free(c->rows);
	return rc;
}

int store_blob_get_chunk(struct model_run *r, uint32_t axis, const void *p, size_t n,
			 struct weir_err *e)
{
	struct rd rd = rd_init(p, n);
	struct chunk_in c = {.r = r};
	int rc;

	if (axis >= r->n_axes)
		return err_set(e, WEIR_DB, EBADMSG, "samples of an axis that is not there");
	c.axis = r->axes[axis];
	rc = get_chunk(r, &c, &rd);
	if (rc == -EBADMSG)
		err_set(e, WEIR_DB, EBADMSG, "a block of samples is damaged");
	return rc;
}

/* ---- histograms ---- */

void store_blob_put_hist(struct buf *b, const struct hist *h)
{
	uint64_t hi, lo, low, n, last = 0;
	uint32_t it = 0;

	hist_sum(h, &hi, &lo);
	buf_uvarint(b, hi);
	buf_uvarint(b, lo);
	buf_uvarint(b, hist_min(h));
	buf_uvarint(b, hist_max(h));
	while (hist_next(h, &it, &low, &n)) {
		buf_uvarint(b, low - last);
		buf_uvarint(b, n);
		last = low;
	}
}

struct hist *store_blob_get_hist(const void *p, size_t n)
{
	struct rd rd = rd_init(p, n);
	uint64_t hi = rd_uvarint(&rd), lo = rd_uvarint(&rd);
	uint64_t min = rd_uvarint(&rd), max = rd_uvarint(&rd);
	uint64_t low = 0, total = 0;
	struct hist *h = hist_new();

	while (h && !rd.bad && rd_left(&rd)) {
		uint64_t gap = rd_uvarint(&rd), count = rd_uvarint(&rd);

		rd.bad |= gap > INT64_MAX - low || count > INT64_MAX - total;
		if (rd.bad)
			break;
		low += gap;
		total += count;
		hist_record_n(h, low, count);
	}
	if (h && rd.bad) {
		hist_free(h);
		return NULL;
	}
	if (h)
		hist_set_exact(h, hi, lo, min, max);
	return h;
}
