/* SPDX-License-Identifier: BSD-2-Clause */
/* base, private: what two of the room's sources share. */
#ifndef WEIR_BASE_PRIV_H
#define WEIR_BASE_PRIV_H

#include "base/base.h"

/* Bytes of the well-formed UTF-8 sequence at s (its code point in *cp), 0 if malformed. */
size_t safe_utf8(const char *s, size_t n, uint32_t *cp);
/* A JSON string with quotes: what jw_strn() writes, without key and comma. */
void jw_put_string(struct buf *b, const char *s, size_t n);
/* A JSON number, or null for NaN and the infinities. */
void jw_put_f64(struct buf *b, double v);

/* A walk over the rows of all sets, in order; start with {0}. */
struct opt_ref {
	size_t set, row, count;
	size_t index; /* of this row among all */
	const struct opt *o;
	void *field; /* NULL when the set has no config struct */
};
bool opt_next(const struct opt_set *sets, size_t n, struct opt_ref *r);
bool opt_find(const struct opt_set *sets, size_t n, const char *name, size_t len,
	      struct opt_ref *r);
/* The error for a name that no row has, with the nearest that one has. */
int opt_unknown(const struct opt_set *sets, size_t n, const char *dashes, const char *name,
		size_t len, struct weir_err *e);

/* value is NULL when the option stands alone. dashes: how the user wrote it, "--" or "". */
int opt_assign(const struct opt_ref *r, const char *dashes, const char *value, struct weir_err *e);
/* Puts the option's name in front of the error; returns rc. */
int opt_blame(const struct opt *o, const char *dashes, int rc, struct weir_err *e);
int opt_check_range(const struct opt *o, int64_t v, const char *value, struct weir_err *e);
/* v as a user would write it for such an option. */
void opt_write_value(char dst[32], enum opt_type type, int64_t v);
bool opt_is_fallback(const struct opt *o, const void *field);
bool opt_is_number(const struct opt *o);
void opt_mark_given(const struct opt_ref *r, bool given);
size_t opt_field_size(const struct opt *o); /* 0 for STR, LIST, FUNC */
const char *opt_metavar(const struct opt *o);
void opt_list_clear(struct opt_list *l);

#endif
