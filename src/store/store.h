/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store: runs in SQLite. Rows for runs, parts, tags, summaries, events; samples as column
 * chunks (up to 4,096 rows or a second), one transaction a second on a thread of its own.
 * Several weirs may use one file at once. A SIGKILL leaves an incomplete run with what it
 * had; a full disk or a locked database costs the stored copy, never the printed result.
 */
#ifndef WEIR_STORE_H
#define WEIR_STORE_H

#include "base/base.h"
#include "model/model.h"

struct store;
enum store_mode { STORE_WRITE, STORE_READ };
struct store_cfg {
	const char *path; /* resolved by the caller (option, WEIR_DB, XDG state) */
	enum store_mode mode;
	uint64_t cap_bytes; /* 0 = none; oldest untagged complete runs go first */
	/* What lists say about a run, kept with it at its end; NULL = its title. */
	void (*headline)(const struct model_run *r, struct buf *b);
};
bool store_supported(void); /* built with SQLite */
/* Makes the folder 0700 and the file 0600; checks application id and user_version, migrates
 * an older one in one transaction; a newer one opens read-only. A foreign file is refused. */
int store_open(const struct store_cfg *cfg, struct store **out, struct weir_err *e);
void store_close(struct store *s);
bool store_read_only(const struct store *s);

/* A sink that stores one run; its close waits for the last transaction (bounded: 10 s) and
 * gives the error, if any. The store must outlive it. */
struct sink *store_sink(struct store *s);

struct store_filter {
	const char *kind;            /* NULL = any */
	const char *host;            /* substring of either end's name */
	const struct model_kv *tags; /* all must match; v NULL = any value */
	size_t n_tags;
	int64_t since_real_ns, until_real_ns; /* MODEL_NO_TIME = open */
	int64_t limit;                        /* 0 = all; newest first */
};
struct store_entry {
	char id[MODEL_ID_LEN + 1];
	const char *kind, *near, *far, *headline, *protocol; /* may be NULL */
	const char *tags;                                    /* "key=value" lines, or NULL */
	int64_t start_real_ns;
	enum model_outcome outcome; /* OUTCOME_RUNNING with a dead owner is given as PARTIAL */
};
int store_list(struct store *s, const struct store_filter *f,
	       int (*cb)(const struct store_entry *, void *), void *arg, struct weir_err *e);
/* "last", "last-1", "last:tcp", a full id, or a unique prefix or suffix of at least 4 characters. */
int store_resolve(struct store *s, const char *what, char id[MODEL_ID_LEN + 1], struct weir_err *e);
int store_load(struct store *s, const char *id, struct model_run **out, struct weir_err *e);
/* A whole run at once (imports). */
int store_put(struct store *s, const struct model_run *r, struct weir_err *e);
/* The same, in the place of the stored run of that id if there is one: a kill leaves either whole. */
int store_replace(struct store *s, const struct model_run *r, struct weir_err *e);
/*
 * A stored run that is to be gone on with is this thread's: listed as running, and neither claimed
 * nor removed by another, until store_release, store_replace, or the thread's end. -EBUSY with
 * the process that has it; a claim by the same thread again is none.
 */
int store_claim(struct store *s, const char *id, struct weir_err *e);
/* Gives a claimed run back as partial; nothing when it is not this thread's. */
int store_release(struct store *s, const char *id, struct weir_err *e);
int store_remove(struct store *s, const char *id, struct weir_err *e);
/* Number removed; tagged ones stay unless `tagged`. */
int store_remove_older(struct store *s, int64_t before_real_ns, bool tagged, struct weir_err *e);
int store_tag(struct store *s, const char *id, const char *k, const char *v, struct weir_err *e);
int store_untag(struct store *s, const char *id, const char *k, struct weir_err *e);
/* Removes the oldest untagged complete runs until under the cap; number removed. */
int store_trim(struct store *s, struct weir_err *e);

#endif
