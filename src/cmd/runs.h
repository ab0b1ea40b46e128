/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of runs, from files and from the store. */
#ifndef WEIR_CMD_RUNS_H
#define WEIR_CMD_RUNS_H

#include "cmd/cmd.h"

struct cmd_runs {
	struct model_run **v;
	size_t n;
};
int cmd_runs_add(struct cmd_runs *l, struct model_run *take); /* 0 or -ENOMEM (and it is freed) */
/* All runs of a file ("-": standard input), in its order. */
int cmd_runs_file(const char *path, struct cmd_runs *l, struct weir_err *e);
/* The same of a file's text, which a NUL ends. */
int cmd_runs_memory(const char *path, const struct buf *b, struct cmd_runs *l, struct weir_err *e);
/* All complete runs with that tag (value NULL: any), oldest first. */
int cmd_runs_tagged(struct store *s, const char *key, const char *value, struct cmd_runs *l,
		    struct weir_err *e);
void cmd_runs_fini(struct cmd_runs *l);

/* A whole file of at most 64 MiB ("-": standard input), with a NUL behind its end. */
int cmd_runs_text(const char *path, struct buf *b, struct weir_err *e);

#endif
