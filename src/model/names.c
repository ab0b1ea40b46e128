/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words that enumerations have in JSON, in the store and in reports. Order is that of the
 * enumerations in model.h; each list ends in NULL.
 */
#include "model/model.h"

#include <errno.h>
#include <string.h>

const char *const model_kind_names[] = {"counter", "gauge", "rate", NULL};
const char *const model_better_names[] = {"higher", "lower", "neither", NULL};
const char *const model_col_names[] = {"u64", "i64", "f64", NULL};
const char *const model_severity_names[] = {"note", "warning", "error", NULL};
const char *const model_state_names[] = {"known", "unknown", "n/a", NULL};
const char *const model_bound_names[] = {"eq", "ge", "le", NULL};
const char *const model_prov_names[] = {"measured", "told",        "printed", "derived",
					"partial",  "sender-only", NULL};
const char *const model_stat_names[] = {"value", "mean", "min", "max",  "stddev", "sum",   "p50",
					"p90",   "p95",  "p99", "p999", "cv",     "count", NULL};
const char *const model_part_kind_names[] = {"phase", "trial", "benchmark", "report", NULL};
const char *const model_outcome_names[] = {"complete", "partial", "failed", "running", NULL};
const char *const model_clock_kind_names[] = {"mono", "raw", "tsc", "phc", "virtual", NULL};
const char *const model_verdict_names[] = {"better",
					   "worse",
					   "negligible",
					   "equivalent",
					   "inconclusive",
					   "none",
					   "differs-between-sessions",
					   NULL};
const char *const model_design_names[] = {"auto",    "unordered", "paired",
					  "blocked", "sessions",  NULL};

const char *model_stat_name(enum model_stat s)
{
	return (unsigned)s < STAT_NUM ? model_stat_names[s] : NULL;
}

int model_name_find(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -ENOENT;
}
