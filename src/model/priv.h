/* SPDX-License-Identifier: BSD-2-Clause */
/* model, private: what the room's sources share. */
#ifndef WEIR_MODEL_PRIV_H
#define WEIR_MODEL_PRIV_H

#include "model/model.h"

#include <errno.h>

#define MODEL_TIME_MAX  (INT64_MAX / 4) /* bound of times, so that differences never overflow */
#define MODEL_EXT_MAX   4096            /* ext.* metrics, and interned strings, a run */
#define MODEL_NAME_MAX  64              /* bytes of a metric's name */
#define MODEL_CELL_MAX  12              /* bytes that one encoded value takes at most */
#define MODEL_HISTS_MAX 4096            /* read from a file: each is tens of kilobytes */

/* Distinct strings in order of arrival; the hashes make a look-up one scan of integers. */
struct model_symbols {
	const char **v;
	uint32_t *hash;
	size_t n;
};
struct model_chunk; /* of the arena */
struct model_priv {
	struct model_chunk *chunks;
	struct model_symbols strings, ext_names;
	struct model_metric **ext; /* by index in ext_names */
	bool cap_told;
};

/* ---- run.c ---- */
void *model_alloc(struct model_run *r, size_t n); /* zeroed, from the arena */
/* Room for item n of an array that starts at 4 and doubles. 0 or -ENOMEM. */
int model_grow(void *array, size_t n, size_t size);
/* -1 if absent. */
int64_t model_symbol_find(const struct model_symbols *s, const char *name);
bool model_name_ok(const char *name); /* [a-z0-9_.]+ of up to MODEL_NAME_MAX */
/* As model_run_metric, but any well-formed name and with all of the metric's columns. */
const struct model_metric *model_metric_make(struct model_run *r, const struct model_metric *m);

/* ---- append.c ---- */
/* As model_add_frame, but without rows for what the axis has already. */
int model_frame_new(struct model_run *r, uint32_t axis, const struct model_dims *dims,
		    const struct model_metric *const *metrics, size_t n);
/* One row of an axis; one value of a column (v NULL = none). 0, -ENOSPC, -EINVAL. */
int model_axis_put(struct model_run *r, struct model_axis *a, int64_t t0, int64_t t1,
		   unsigned flags);
int model_col_put(struct model_run *r, struct model_col *c, size_t row, const union model_value *v);

/* ---- cursor.c ---- */
#define MODEL_SCALES 4
extern const double model_scales[MODEL_SCALES]; /* of F64, see struct model_col */
struct model_axis_read {
	struct rd rd;
	size_t row;
	int64_t last_t1;
};
struct model_col_read {
	struct rd rd;
	int64_t last;
};
void model_axis_read_init(struct model_axis_read *ar, const struct model_axis *a);
bool model_axis_next(struct model_axis_read *ar, const struct model_axis *a, int64_t *t0,
		     int64_t *t1, unsigned *flags);
void model_col_read_init(struct model_col_read *cr, const struct model_col *c);
/* The value in the next row; false if it has none. */
bool model_col_next(struct model_col_read *cr, const struct model_col *c, size_t row,
		    union model_value *v);

#endif
