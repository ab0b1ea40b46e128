/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thousand flows with twenty metrics each, every second, must fit into a few megabytes.
 * Columns are byte streams of differences (see struct model_col), buffers grow by half, and a
 * tick first makes room everywhere and is only then written, so it is there whole or not.
 */
#include "model/priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- room ---- */

/* Room for `need` more bytes and a NUL; sizes are such that malloc wastes nothing. */
static int make_room(struct model_run *r, struct buf *b, size_t need)
{
	if (b->cap - b->len > need)
		return 0;
	size_t want = b->len + need + 1;
	if (want < b->cap + b->cap / 2)
		want = b->cap + b->cap / 2;
	size_t cap = ((want + 7) & ~(size_t)15) + 8;
	if (r->mem_bytes + (cap - b->cap) > r->mem_cap)
		return -ENOSPC;
	char *p = realloc(b->data, cap);
	if (!p)
		return -ENOSPC;
	r->mem_bytes += cap - b->cap;
	b->data = p;
	b->cap = cap;
	return 0;
}

static int valid_room(struct model_run *r, struct model_col *c, size_t row, bool has)
{
	if (has && !c->valid.len)
		return 0;
	return make_room(r, &c->valid, row / 8 + 1 - c->valid.len);
}

/* ---- values ---- */

bool model_is_value(const struct model_col *c, const union model_value *v)
{
	switch (c->metric->type) {
	case MODEL_U64:
		return v->u <= INT64_MAX;
	case MODEL_F64:
		return isfinite(v->f);
	default:
		return true;
	}
}

/* v as a whole number of 1/scale, when that is exact. */
static bool whole(double v, double scale, int64_t *n)
{
	double x = nearbyint(v * scale);
	if (!(fabs(x) < 0x1p53) || x / scale != v)
		return false;
	*n = (int64_t)x;
	return true;
}

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? ~0ULL : 0);
}

static void put_f64(struct model_col *c, double v)
{
	uint8_t raw[8];
	uint64_t bits;
	for (unsigned s = 1; s < MODEL_SCALES; s++) {
		int64_t n;
		if (!whole(v, model_scales[s], &n))
			continue;
		buf_uvarint(&c->enc, zigzag(n - c->last) << 2 | s);
		c->last = n;
		return;
	}
	memcpy(&bits, &v, sizeof(bits));
	for (int i = 0; i < 8; i++)
		raw[i] = (uint8_t)(bits >> 8 * i);
	buf_uvarint(&c->enc, 0);
	buf_put(&c->enc, raw, sizeof(raw));
}

static void put_value(struct model_col *c, const union model_value *v)
{
	switch (c->metric->type) {
	case MODEL_U64:
		buf_uvarint(&c->enc, v->u);
		break;
	case MODEL_I64:
		buf_svarint(&c->enc, (int64_t)((uint64_t)v->i - (uint64_t)c->last));
		c->last = v->i;
		break;
	case MODEL_F64:
		put_f64(c, v->f + 0.0); /* no negative zero */
		break;
	}
}

/* The first row without a value writes the bits of all before it. */
static void put_valid(struct model_col *c, size_t row, bool has)
{
	if (has && !c->valid.len)
		return;
	if (!c->valid.len) {
		buf_repeat(&c->valid, '\xff', row / 8);
		if (row % 8)
			buf_putc(&c->valid, (char)((1U << row % 8) - 1));
	}
	if (row / 8 >= c->valid.len)
		buf_putc(&c->valid, 0);
	if (has)
		c->valid.data[row / 8] |= (char)(1U << row % 8);
}

static int col_room(struct model_run *r, struct model_col *c, size_t row, bool has)
{
	int rc = valid_room(r, c, row, has);
	return rc || !has ? rc : make_room(r, &c->enc, MODEL_CELL_MAX);
}

static void col_write(struct model_col *c, size_t row, const union model_value *v)
{
	put_valid(c, row, v != NULL);
	if (v)
		put_value(c, v);
}

int model_col_put(struct model_run *r, struct model_col *c, size_t row, const union model_value *v)
{
	if (v && !model_is_value(c, v))
		v = NULL;
	int rc = col_room(r, c, row, v != NULL);
	if (!rc)
		col_write(c, row, v);
	return rc;
}

/* ---- axes and frames ---- */

static int check_times(int64_t t0, int64_t t1)
{
	bool ok = t0 >= -MODEL_TIME_MAX && t1 <= MODEL_TIME_MAX && t0 <= t1;
	return ok ? 0 : -EINVAL;
}

static int axis_room(struct model_run *r, struct model_axis *a)
{
	return make_room(r, &a->enc, 24);
}

static void axis_write(struct model_axis *a, int64_t t0, int64_t t1, unsigned flags)
{
	buf_svarint(&a->enc, t0 - a->last_t1);
	buf_uvarint(&a->enc, (uint64_t)(t1 - t0));
	buf_putc(&a->enc, (char)(uint8_t)flags);
	a->last_t1 = t1;
	a->n++;
}

int model_axis_put(struct model_run *r, struct model_axis *a, int64_t t0, int64_t t1,
		   unsigned flags)
{
	int rc = check_times(t0, t1);
	if (!rc)
		rc = axis_room(r, a);
	if (!rc)
		axis_write(a, t0, t1, flags);
	return rc;
}

int model_add_axis(struct model_run *r, uint32_t part, uint32_t clock)
{
	struct model_axis *a = calloc(1, sizeof(*a));
	if (!a || model_grow(&r->axes, r->n_axes, sizeof(void *))) {
		free(a);
		return -ENOMEM;
	}
	a->id = (uint32_t)r->n_axes;
	a->part = part;
	a->clock = clock;
	r->axes[r->n_axes++] = a;
	return (int)a->id;
}

static bool columns_ok(const struct model_metric *const *metrics, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (metrics[i] == metrics[k])
				return false;
		}
	}
	return n <= MODEL_COLS_MAX;
}

static struct model_frame *frame_alloc(const struct model_dims *dims,
				       const struct model_metric *const *metrics, size_t n)
{
	struct model_frame *f = calloc(1, sizeof(*f));
	struct model_col *cols = calloc(n ? n : 1, sizeof(*cols));
	if (!f || !cols) {
		free(f);
		free(cols);
		return NULL;
	}
	if (dims)
		f->dims = *dims;
	f->cols = cols;
	f->n_cols = n;
	for (size_t i = 0; i < n; i++)
		cols[i].metric = metrics[i];
	return f;
}

int model_frame_new(struct model_run *r, uint32_t axis, const struct model_dims *dims,
		    const struct model_metric *const *metrics, size_t n)
{
	size_t cost = sizeof(struct model_frame) + n * sizeof(struct model_col);
	struct model_axis *a = r->axes[axis];
	if (!columns_ok(metrics, n))
		return -EINVAL;
	if (r->mem_bytes + cost > r->mem_cap ||
	    model_grow(&r->frames, r->n_frames, sizeof(void *)) ||
	    model_grow(&a->frames, a->n_frames, sizeof(*a->frames)))
		return -ENOMEM;
	struct model_frame *f = frame_alloc(dims, metrics, n);
	if (!f)
		return -ENOMEM;
	f->id = (uint32_t)r->n_frames;
	f->axis = axis;
	r->mem_bytes += cost;
	r->frames[r->n_frames++] = f;
	a->frames[a->n_frames++] = f->id;
	return (int)f->id;
}

/* A frame that comes late has no values in the rows before it. */
static int fill_back(struct model_run *r, struct model_frame *f, size_t rows)
{
	for (size_t i = 0; rows && i < f->n_cols; i++) {
		if (make_room(r, &f->cols[i].valid, (rows + 7) / 8))
			return -ENOMEM;
		buf_repeat(&f->cols[i].valid, 0, (rows + 7) / 8);
	}
	f->n_rows = rows;
	return 0;
}

int model_add_frame(struct model_run *r, uint32_t axis, const struct model_dims *dims,
		    const struct model_metric *const *metrics, size_t n)
{
	int id = model_frame_new(r, axis, dims, metrics, n);
	if (id < 0)
		return id;
	int rc = fill_back(r, r->frames[id], r->axes[axis]->n);
	return rc ? rc : id;
}

/* ---- ticks ---- */

static const union model_value *cell(const struct model_frame *f, const struct model_row *row,
				     size_t col)
{
	if (!row || !(row->valid >> col & 1) || !model_is_value(&f->cols[col], &row->v[col]))
		return NULL;
	return &row->v[col];
}

/* The frame's row in the tick, NULL if it has none; rows come in frame order. */
static const struct model_row *row_of(const struct model_tick *t, uint32_t frame, size_t *at)
{
	return *at < t->n_rows && t->rows[*at].frame == frame ? &t->rows[(*at)++] : NULL;
}

static int tick_room(struct model_run *r, const struct model_axis *a, const struct model_tick *t)
{
	size_t at = 0;
	for (size_t i = 0; i < a->n_frames; i++) {
		struct model_frame *f = r->frames[a->frames[i]];
		const struct model_row *row = row_of(t, f->id, &at);
		for (size_t k = 0; k < f->n_cols; k++) {
			if (col_room(r, &f->cols[k], f->n_rows, cell(f, row, k) != NULL))
				return -ENOSPC;
		}
	}
	return at == t->n_rows ? 0 : -EINVAL;
}

static void tick_write(struct model_run *r, const struct model_axis *a, const struct model_tick *t)
{
	size_t at = 0;
	for (size_t i = 0; i < a->n_frames; i++) {
		struct model_frame *f = r->frames[a->frames[i]];
		const struct model_row *row = row_of(t, f->id, &at);
		for (size_t k = 0; k < f->n_cols; k++)
			col_write(&f->cols[k], f->n_rows, cell(f, row, k));
		f->n_rows++;
	}
}

int model_append(struct model_run *r, const struct model_tick *t)
{
	if (t->axis >= r->n_axes)
		return -EINVAL;
	struct model_axis *a = r->axes[t->axis];
	int rc = check_times(t->t0, t->t1);
	if (!rc)
		rc = axis_room(r, a);
	if (!rc)
		rc = tick_room(r, a, t);
	if (rc == -ENOSPC && !r->priv->cap_told) {
		r->priv->cap_told = true;
		model_add_event(r, a->part, WARN_MEMORY_CAP, NULL, t->t0, NULL);
	}
	if (rc)
		return rc;
	tick_write(r, a, t);
	axis_write(a, t->t0, t->t1, t->flags);
	return 0;
}
