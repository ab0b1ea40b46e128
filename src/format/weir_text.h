/* SPDX-License-Identifier: BSD-2-Clause */
/* Values in weir's own reports for people, for the reader of these. */
#ifndef WEIR_FORMAT_WEIR_TEXT_H
#define WEIR_FORMAT_WEIR_TEXT_H

#include "format/reader.h"

struct weir_val {
	double v, step; /* in base units; the step of its last digit */
	enum model_state state;
};
/* "9.38 Gbit/s", "unknown", ">= 12": index after it, or 0. A bound is no value: NaN. */
size_t weir_value(const struct lex *l, size_t i, enum unit u, struct weir_val *o);
size_t weir_stars(const struct lex *l, size_t i); /* behind Markdown's stress marks */
size_t weir_bar(const struct lex *l, size_t i);   /* behind a table's bar, if there is one */

#endif
