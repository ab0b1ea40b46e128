/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever shows, stores or judges samples wants rows; they are stored as columns. A cursor
 * holds a reader a column and gives the same ticks that were appended, in order.
 */
#include "model/priv.h"

#include <stdlib.h>

const double model_scales[MODEL_SCALES] = {0, 1, 1e6, 1e9};

static struct rd reader(const struct buf *b)
{
	return rd_init(b->data ? b->data : "", b->len);
}

void model_axis_read_init(struct model_axis_read *ar, const struct model_axis *a)
{
	*ar = (struct model_axis_read){.rd = reader(&a->enc)};
}

bool model_axis_next(struct model_axis_read *ar, const struct model_axis *a, int64_t *t0,
		     int64_t *t1, unsigned *flags)
{
	if (ar->row >= a->n)
		return false;
	ar->row++;
	*t0 = ar->last_t1 + rd_svarint(&ar->rd);
	*t1 = *t0 + (int64_t)rd_uvarint(&ar->rd);
	*flags = rd_u8(&ar->rd);
	ar->last_t1 = *t1;
	return true;
}

void model_col_read_init(struct model_col_read *cr, const struct model_col *c)
{
	*cr = (struct model_col_read){.rd = reader(&c->enc)};
}

static double next_f64(struct model_col_read *cr)
{
	uint64_t u = rd_uvarint(&cr->rd);
	unsigned s = u & 3;
	if (!s)
		return rd_f64(&cr->rd);
	u >>= 2;
	cr->last += (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
	return (double)cr->last / model_scales[s];
}

bool model_col_next(struct model_col_read *cr, const struct model_col *c, size_t row,
		    union model_value *v)
{
	if (c->valid.len && !((uint8_t)c->valid.data[row / 8] >> row % 8 & 1))
		return false;
	switch (c->metric->type) {
	case MODEL_U64:
		v->u = rd_uvarint(&cr->rd);
		break;
	case MODEL_I64:
		cr->last = (int64_t)((uint64_t)cr->last + (uint64_t)rd_svarint(&cr->rd));
		v->i = cr->last;
		break;
	case MODEL_F64:
		v->f = next_f64(cr);
		break;
	}
	return true;
}

struct model_cursor {
	const struct model_run *r;
	const struct model_axis *axis;
	struct model_axis_read ar;
	struct model_tick tick;
	struct model_row *rows;
	union model_value *values;   /* of all columns, frame after frame */
	struct model_col_read *cols; /* the same order */
};

static size_t count_cols(const struct model_run *r, const struct model_axis *a)
{
	size_t n = 0;
	for (size_t i = 0; i < a->n_frames; i++)
		n += r->frames[a->frames[i]]->n_cols;
	return n;
}

static void start_frames(struct model_cursor *c)
{
	size_t at = 0;
	for (size_t i = 0; i < c->axis->n_frames; i++) {
		const struct model_frame *f = c->r->frames[c->axis->frames[i]];
		c->rows[i] = (struct model_row){.frame = f->id, .v = c->values + at};
		for (size_t k = 0; k < f->n_cols; k++)
			model_col_read_init(&c->cols[at++], &f->cols[k]);
	}
}

struct model_cursor *model_cursor_new(const struct model_run *r, uint32_t axis)
{
	struct model_cursor *c = axis < r->n_axes ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return NULL;
	const struct model_axis *a = r->axes[axis];
	size_t n = count_cols(r, a);
	c->r = r;
	c->axis = a;
	c->rows = calloc(a->n_frames + 1, sizeof(*c->rows));
	c->values = calloc(n + 1, sizeof(*c->values));
	c->cols = calloc(n + 1, sizeof(*c->cols));
	if (!c->rows || !c->values || !c->cols) {
		model_cursor_free(c);
		return NULL;
	}
	c->tick = (struct model_tick){.axis = axis, .rows = c->rows, .n_rows = a->n_frames};
	model_axis_read_init(&c->ar, a);
	start_frames(c);
	return c;
}

static void read_rows(struct model_cursor *c, size_t row)
{
	size_t at = 0;
	for (size_t i = 0; i < c->axis->n_frames; i++) {
		const struct model_frame *f = c->r->frames[c->axis->frames[i]];
		uint64_t valid = 0;
		for (size_t k = 0; k < f->n_cols; k++, at++) {
			if (model_col_next(&c->cols[at], &f->cols[k], row, &c->values[at]))
				valid |= 1ULL << k;
		}
		c->rows[i].valid = valid;
	}
}

int model_cursor_next(struct model_cursor *c, const struct model_tick **t)
{
	size_t row = c->ar.row;
	if (!model_axis_next(&c->ar, c->axis, &c->tick.t0, &c->tick.t1, &c->tick.flags))
		return 0;
	read_rows(c, row);
	*t = &c->tick;
	return 1;
}

void model_cursor_free(struct model_cursor *c)
{
	if (!c)
		return;
	free(c->rows);
	free(c->values);
	free(c->cols);
	free(c);
}
