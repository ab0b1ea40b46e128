/* SPDX-License-Identifier: BSD-2-Clause */
/* The version, in one object file, so that a new one rebuilds nothing else. */
#include "base/base.h"
#include "config.h"

const char weir_version[] = WEIR_VERSION;
