/* SPDX-License-Identifier: BSD-2-Clause */
/* The noise floor that `weir calibrate` found for this testbed. */
#ifndef WEIR_CMD_FLOOR_H
#define WEIR_CMD_FLOOR_H

#include "cmd/cmd.h"

struct cmd_floor {
	double ratio;    /* 0.016 = 1.6 %; 0 = unknown */
	int64_t when_ns; /* CLOCK_REALTIME of the calibration */
};
/* The newest calibration between the hosts of that run, for that metric (NULL = the calibration's
 * own). 1, 0 when there is none, or a negative errno. */
int cmd_floor_find(struct store *s, const struct model_run *like, const char *metric,
		   struct cmd_floor *out);
/* "Noise floor of this testbed: …", nothing when it is unknown. */
void cmd_floor_say(const struct cmd_floor *f, struct buf *b);

#endif
