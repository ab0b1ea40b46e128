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
	size_t text_bytes; /* in chunks */
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
/* The new index, or -1: out of memory or over MODEL_EXT_MAX. */
int64_t model_symbol_add(struct model_run *r, struct model_symbols *s, const char *name);
void model_symbol_rename(struct model_symbols *s, size_t i, const char *name); /* borrowed */
void model_symbols_fini(struct model_symbols *s);
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

bool model_is_value(const struct model_col *c, const union model_value *v);

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

/* ---- fields.c: one table an object, for both ways ---- */
enum model_field_type {
	FIELD_STR,  /* const char *, absent when NULL */
	FIELD_JSON, /* the text of an object, absent when NULL */
	FIELD_ENUM, /* an int-sized enumeration with its names */
	FIELD_UNIT,
	FIELD_INDEX, /* uint32_t, absent when MODEL_NO_PART */
	FIELD_TIME,  /* int64_t ns, absent when MODEL_NO_TIME */
	FIELD_COUNT, /* int64_t, absent when negative */
	FIELD_I64,
	FIELD_INT, /* int, -99..99 */
	FIELD_F64,
	FIELD_STEP, /* double, absent when 0 */
};
struct model_field {
	const char *key;
	enum model_field_type type;
	size_t offset;
	const char *const *names; /* ENUM */
	bool required;
};
struct model_fields {
	const struct model_field *v;
	size_t n;
};
extern const struct model_fields model_head_fields, model_host_fields, model_source_fields,
	model_exp_fields, model_part_fields, model_clock_fields, model_axis_fields,
	model_frame_fields, model_hist_fields, model_summary_fields, model_event_fields,
	model_verdict_fields, model_metric_fields;

struct model_dec { /* decoding: into which run, and where we are, for messages */
	struct model_run *r;
	struct weir_err *e;
	const char *what;
	size_t at;
};
int model_dec_bad(const struct model_dec *d, const char *key, const char *why);
int model_dec_limit(const struct model_dec *d);
void model_enc_raw(struct jw *w, const char *key,
		   const char *json); /* compact; left out if it is no JSON */
void model_enc_fields(struct jw *w, const struct model_fields *f, const void *from);
/* Absent and null members leave `to` as it is. */
int model_dec_fields(const struct model_dec *d, const struct js *o, const struct model_fields *f,
		     void *to);

/* ---- enc.c, dec.c: what a run is made of ---- */
enum model_list {
	LIST_METRIC,
	LIST_PART,
	LIST_CLOCK,
	LIST_AXIS,
	LIST_FRAME,
	LIST_EVENT,
	LIST_HIST,
	LIST_SUMMARY,
	LIST_VERDICT,
	LIST_NUM
};
struct model_list_name {
	const char *one, *many; /* the "type" of a line, the key in the document */
};
extern const struct model_list_name model_list_names[LIST_NUM];
size_t model_list_len(const struct model_run *r, enum model_list list);
/* Members of item i, within an open object. lines: NDJSON, where ticks carry the samples. */
void model_enc_item(struct jw *w, const struct model_run *r, enum model_list list, size_t i,
		    bool lines);
void model_enc_head(struct jw *w, const struct model_run *r);
void model_enc_event(struct jw *w, const struct model_run *r, const struct model_event *ev);
void model_enc_value(struct jw *w, const struct model_col *c, const union model_value *v);

/* Schema, id and kind make it. */
int model_dec_run(const struct js *o, struct model_run **out, struct weir_err *e);
int model_dec_head(const struct model_dec *d, const struct js *o);
int model_dec_tag(const struct model_dec *d, const char *k, const char *v);
int model_dec_item(const struct model_dec *d, enum model_list list, const struct js *o);
/* 1 a value, 0 null, -EINVAL. */
int model_dec_value(const struct model_col *c, const struct js *v, union model_value *out);

/* ---- effect.c ---- */
/* Both sides on the log scale, arranged by their design. */
struct model_effect {
	enum model_design design;
	double *a, *b; /* logs of the runs (of value + shift); of sessions in DESIGN_SESSIONS */
	size_t na, nb;
	double *d; /* block differences, or NULL */
	size_t nd;
	double shift;     /* 0 unless a value is 0 */
	bool zero[2];     /* a side is 0 in every run */
	size_t left_out;  /* runs that are in no block */
	bool one_session; /* not known to be free of a session's effect */
	double per_unit;  /* variance of t.d is noise^2 times this */
	struct model_t t;
	double noise;
	struct model_perm perm;
	enum model_perm_of perm_of;
};
/* 0 or -ENOMEM. All values are finite and >= 0, neither side is empty. */
int model_effect_init(struct model_effect *f, const struct model_judge_cfg *cfg,
		      const struct model_side *a, const struct model_side *b);
void model_effect_fini(struct model_effect *f);

/* ---- perm.c ---- */
/* Shuffles the labels within each block; side[i] is 0 or 1, runs of a block are neighbours and
 * starts[] holds nb + 1 bounds. Sampled. */
struct model_perm model_perm_blocks(const double *x, const uint8_t *side, const size_t *starts,
				    size_t nb, struct model_rng *rng);

/* ---- power.c ---- */
/* The detectable effect: infinite where no effect is large enough for the permutation. */
double model_mde(const struct model_power *p);
/* The variance that n A/A effects showed enters the test of equivalence too. floor: log. */
struct model_t model_with_floor(const struct model_t *t, double floor, size_t n);

/* ---- verdict.c ---- */
void model_decide(struct model_judgement *j);
/* The detectable effect anew, where j->tests share the 5 %. */
void model_set_power(struct model_judgement *j);
double model_alpha(const struct model_judgement *j);

#endif
