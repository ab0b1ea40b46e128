/* SPDX-License-Identifier: BSD-2-Clause */
/* What top, mpstat and vmstat call a processor's time. */
#ifndef WEIR_FORMAT_CPU_H
#define WEIR_FORMAT_CPU_H

#include "format/rows.h"

#define CPU_ALL (-1) /* the mean of all */

/* "us", "usr", "idle" …: the metric, or NULL. */
const char *cpu_metric(const struct lex *l, size_t i);
/* A share in per cent; sample < 0 = the only one. */
void cpu_put(struct format_found *f, const char *metric, int64_t cpu, int64_t sample, double pct,
	     double resolution);
/* Says so when a processor was never idle. */
void cpu_judge(struct format_found *f);

#endif
