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

#endif
