/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * persona: other tools' command lines, onto weir's measurements, with those tools' output and exit
 * codes. One row each in persona.c.
 */
#ifndef WEIR_PERSONA_H
#define WEIR_PERSONA_H

#include "base/base.h"

#define PERSONA_SETS_MAX 4

struct persona {
	const char *name;    /* the tool's program */
	const char *summary; /* one line */
	/* Its options, for documents: no configuration behind them. */
	const struct opt_set *sets;
	size_t n_sets;
	int (*run)(int argc, char **argv); /* argv[0] is the tool's name; its exit code */
};
const struct persona *persona_find(const char *name);
const struct persona *persona_at(size_t i); /* NULL past the end */
/* The one that a program file of this name (argv[0]) stands for, or NULL. */
const struct persona *persona_of(const char *argv0);

#endif
