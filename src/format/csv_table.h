/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of weir's CSV, and the words in them: for its writer and its reader. */
#ifndef WEIR_FORMAT_CSV_TABLE_H
#define WEIR_FORMAT_CSV_TABLE_H

#include "model/model.h"

enum csv_col {
	CSV_ROW,
	CSV_RUN,
	CSV_KIND,
	CSV_PART,
	CSV_PART_NAME,
	CSV_T0,
	CSV_T1,
	CSV_DIMS, /* one each */
	CSV_METRIC = CSV_DIMS + DIM_MAX,
	CSV_STAT,
	CSV_VALUE,
	CSV_UNIT,
	CSV_MARK,
	CSV_COLS
};
static const char *const csv_first[] = {"row", "run", "kind", "part", "part_name", "t0_s", "t1_s"};
static const char *const csv_last[] = {"metric", "stat", "value", "unit", "mark"};

#define CSV_SAMPLE  "sample"
#define CSV_SUMMARY "summary"
#define CSV_EVENT   "event"
#define CSV_UNKNOWN "unknown"
#define CSV_NA      "n/a"

/* The mark of a figure's provenance. */
static const char *const csv_provs[] = {
	[MODEL_MEASURED] = "",       [MODEL_TOLD] = "told",
	[MODEL_PRINTED] = "printed", [MODEL_DERIVED] = "derived",
	[MODEL_PARTIAL] = "partial", [MODEL_SENDER_ONLY] = "sender-only",
};

#endif
