/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows on their way to the database. The measuring thread must not wait for a disk, so it
 * writes what a row will hold into a plain buffer; the store's thread reads it back there.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "store/priv.h"

static void put_cell(struct buf *b, const struct val *v)
{
	buf_putc(b, (char)v->type);
	switch (v->type) {
	case VAL_INT:
		buf_svarint(b, v->i);
		break;
	case VAL_REAL:
		buf_put(b, &v->f, sizeof(v->f));
		break;
	case VAL_TEXT:
	case VAL_BLOB:
		buf_uvarint(b, v->n);
		buf_put(b, v->p, v->n);
		break;
	case VAL_NULL:
		break;
	}
}

static bool get_cell(struct rd *rd, struct val *v)
{
	uint8_t type = rd_u8(rd);
	const void *p;

	*v = (struct val){.type = (enum val_type)type};
	switch (type) {
	case VAL_INT:
		v->i = rd_svarint(rd);
		break;
	case VAL_REAL:
		p = rd_bytes(rd, sizeof(v->f));
		if (p)
			memcpy(&v->f, p, sizeof(v->f));
		break;
	case VAL_TEXT:
	case VAL_BLOB:
		v->n = rd_uvarint(rd);
		v->p = rd_bytes(rd, v->n);
		break;
	default:
		break;
	}
	return !rd->bad && type <= VAL_BLOB;
}

static void put_dims(struct buf *b, const struct model_run *r, const struct model_dims *d)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	for (int i = 0; i < DIM_MAX; i++) {
		const struct model_dim *dim = model_dim((enum model_dim_id)i);

		if (!(d->has & 1U << i))
			continue;
		if (dim->type == MODEL_DIM_INT)
			jw_i64(&w, dim->name, d->v[i]);
		else if (dim->type == MODEL_DIM_ENUM)
			jw_str(&w, dim->name, dim->values[d->v[i]]);
		else
			jw_str(&w, dim->name, model_run_interned(r, d->v[i]));
	}
	jw_end_obj(&w);
}

/* A metric of the table is its name; another one says what it is: name:unit:type. */
static void put_metric(struct buf *b, const struct model_metric *m)
{
	buf_puts(b, m->name);
	if (!model_metric(m->name))
		buf_printf(b, ":%s:%s", unit_name(m->unit), model_col_names[m->type]);
}

static void put_metrics(struct buf *b, const struct model_frame *f)
{
	struct jw w = jw_init(b);
	struct buf name = {0};

	jw_arr(&w, NULL);
	for (size_t i = 0; i < f->n_cols; i++) {
		buf_clear(&name);
		put_metric(&name, f->cols[i].metric);
		jw_strn(&w, NULL, name.data, name.len);
	}
	jw_end_arr(&w);
	buf_fini(&name);
}

static void put_list(struct buf *b, const char *const *v, size_t n)
{
	struct jw w = jw_init(b);

	jw_arr(&w, NULL);
	for (size_t i = 0; i < n; i++)
		jw_str(&w, NULL, v[i]);
	jw_end_arr(&w);
}

#define FIELD(type, c, obj) (*(type const *)(const void *)((const char *)(obj) + (c)->off))

/* Cells that are made rather than copied; tmp holds their bytes. */
static struct val made_cell(const struct model_run *r, const struct col *c, const void *obj,
			    struct buf *tmp)
{
	switch (c->kind) {
	case COL_DIMS:
		put_dims(tmp, r, &FIELD(struct model_dims, c, obj));
		break;
	case COL_METRIC:
		put_metric(tmp, FIELD(struct model_metric *, c, obj));
		break;
	case COL_METRICS:
		put_metrics(tmp, obj);
		break;
	case COL_LIST:
		put_list(tmp, FIELD(char const **, c, obj),
			 *(const size_t *)((const char *)obj + c->more));
		break;
	case COL_HIST:
		store_blob_put_hist(tmp, FIELD(struct hist *, c, obj));
		return store_val_blob(tmp->data, tmp->len);
	default:
		return store_val_null();
	}
	return (struct val){.type = VAL_TEXT, .p = tmp->data, .n = tmp->len};
}

static struct val int_or_null(int64_t v, int64_t none)
{
	return v == none ? store_val_null() : store_val_int(v);
}

static struct val cell_of(const struct model_run *r, const struct col *c, const void *obj,
			  struct buf *tmp)
{
	double f;

	switch (c->kind) {
	case COL_INT:
		return store_val_int(FIELD(int64_t, c, obj));
	case COL_TIME:
		return int_or_null(FIELD(int64_t, c, obj), MODEL_NO_TIME);
	case COL_INT32:
		return store_val_int(FIELD(int, c, obj));
	case COL_U32:
	case COL_CLOCK:
	case COL_AXIS:
		return store_val_int(FIELD(uint32_t, c, obj));
	case COL_PART:
		return int_or_null(FIELD(uint32_t, c, obj), MODEL_NO_PART);
	case COL_REAL:
		f = FIELD(double, c, obj);
		return isfinite(f) ? store_val_real(f) : store_val_null();
	case COL_BOOL:
		return store_val_int(FIELD(bool, c, obj));
	case COL_ENUM:
		return store_val_text(c->names[FIELD(unsigned, c, obj)]);
	case COL_WARN:
		return store_val_text(model_warn(FIELD(enum model_warn_code, c, obj))->code);
	case COL_TEXT:
	case COL_JSON:
		return store_val_text(FIELD(char *, c, obj));
	case COL_UUID:
		return store_val_text((const char *)obj + c->off);
	case COL_BLOB:
		return FIELD(struct val, c, obj);
	default:
		return made_cell(r, c, obj, tmp);
	}
}

static void put_cells(struct buf *b, const struct model_run *r, enum table_id t, const void *obj)
{
	struct buf tmp = {0};

	for (size_t i = 0; i < store_row_tables[t].n; i++) {
		struct val v = cell_of(r, &store_row_tables[t].cols[i], obj, &tmp);

		put_cell(b, &v);
		buf_clear(&tmp);
	}
	if (tmp.failed)
		b->failed = true;
	buf_fini(&tmp);
}

void store_row_put(struct buf *b, const struct model_run *r, enum table_id t, uint32_t n,
		   const void *obj)
{
	struct val place = store_val_int(n);

	buf_putc(b, (char)t);
	put_cell(b, &place);
	put_cells(b, r, t, obj);
}

void store_row_put_run(struct buf *b, const struct model_run *r, const struct row_store *x)
{
	struct val extra[] = {store_val_text(x->owner), store_val_text(x->headline),
			      store_val_int(x->stored_ns)};

	_Static_assert(ARRAY_LEN(extra) == ROW_EXTRA, "a cell for each column");
	buf_putc(b, TABLE_RUN);
	put_cells(b, r, TABLE_RUN, r);
	for (size_t i = 0; i < ARRAY_LEN(extra); i++)
		put_cell(b, &extra[i]);
}

int store_row_next(struct rd *rd, enum table_id *t, struct val cells[ROW_CELLS], size_t *n)
{
	uint8_t id;

	if (!rd_left(rd))
		return 0;
	id = rd_u8(rd);
	if (id >= TABLE_MAX)
		return -EBADMSG;
	*t = (enum table_id)id;
	*n = store_row_tables[id].n + (id == TABLE_RUN ? ROW_EXTRA : 1);
	for (size_t i = 0; i < *n; i++) {
		if (!get_cell(rd, &cells[i]))
			return -EBADMSG;
	}
	return 1;
}
