/* SPDX-License-Identifier: BSD-2-Clause */
/* The noise floors that `weir calibrate` found for this testbed, one a metric. */
#ifndef WEIR_CMD_FLOOR_H
#define WEIR_CMD_FLOOR_H

#include "cmd/cmd.h"

#define FLOOR_METHOD   "calibrate-1"
#define FLOOR_EFFECTS  "effects"         /* tags of the record of a calibration */
#define FLOOR_SESSIONS "across-sessions" /* both sides of each effect are from other sessions */

struct cmd_floor {
	char metric[64];
	double ratio;    /* 0.016 = 1.6 %; 0 = unknown */
	size_t n;        /* A/A effects behind it; 0 = unknown */
	bool sessions;   /* they were taken across sessions */
	int64_t when_ns; /* CLOCK_REALTIME of the calibration; 0 = told by the user */
};
#define FLOORS_MAX 24
struct cmd_floors {
	struct cmd_floor v[FLOORS_MAX];
	size_t n;
};
/* Of each metric the newest calibration between the hosts of that run. Number of metrics, or a
 * negative errno. */
int cmd_floor_find(struct store *s, const struct model_run *like, struct cmd_floors *out);
/* NULL when it was not calibrated. */
const struct cmd_floor *cmd_floor_of(const struct cmd_floors *l, const char *metric);

#endif
