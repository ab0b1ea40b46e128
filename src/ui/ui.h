/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ui: what only a terminal sees: the progress line while a measurement runs.
 */
#ifndef WEIR_UI_H
#define WEIR_UI_H

#include "base/base.h"
#include "model/model.h"

/* One line on fd (standard error), redrawn in place and wiped at the end. total_ns 0 = unknown. */
struct sink *ui_progress(int fd, int64_t total_ns, bool unicode);
int ui_columns(int fd); /* 80 when unknown */

#endif
