/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside try/: one run as a process. */
#ifndef WEIR_TRY_PRIV_H
#define WEIR_TRY_PRIV_H

#include "try/try.h"

/* Runs the variant of a place (SIZE_MAX = warm-up, which is not stored). 0 with the run; -ECANCELED
 * stopped; -EAGAIN failed in a way that may pass; else the command itself is refused. */
int try_run(const struct try_exp *x, size_t slot, size_t variant, struct model_run **out,
	    struct weir_err *e);
/* Waits; -ECANCELED when stop_fd becomes readable. */
int try_sleep(const struct try_exp *x, int64_t ns);

#endif
