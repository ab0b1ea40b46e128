/* SPDX-License-Identifier: BSD-2-Clause */
/* An experiment or a calibration for people. */
#ifndef WEIR_CMD_SHOW_EXP_H
#define WEIR_CMD_SHOW_EXP_H

#include "cmd/cmd.h"

/* Whether a stored run is the record of one. */
bool show_is_exp(const struct model_run *r);
/* What was planned, how far it is, its verdicts and its runs, which are looked up in s. */
int show_exp(struct store *s, const struct model_run *r, struct buf *b, struct weir_err *e);

#endif
