/* SPDX-License-Identifier: BSD-2-Clause */
/* weir compare, private: what its files share. load makes sides, judge makes rows, print shows. */
#ifndef WEIR_CMD_COMPARE_H
#define WEIR_CMD_COMPARE_H

#include "cmd/cmd.h"
#include "cmd/floor.h"

struct compare_cfg {
	struct opt_list sides, varied, metrics;
	bool values, paired, split, json, markdown, paste;
	char *order, *primary, *baseline;
	double margin, floor;     /* ratio; floor 0 = not told */
	bool floor_sessions;      /* the floor that is told was taken across sessions */
	struct cmd_floors floors; /* what was calibrated */
	int better;               /* index in compare_betters */
	int64_t column;
	uint64_t ceiling;
	int fail_on, require;
	bool sequential; /* the experiment was looked at as it went */
	struct cmd_db_cfg db;
};
enum { BETTER_BY_METRIC, BETTER_HIGHER, BETTER_LOWER };
enum { FAIL_NEVER, FAIL_WORSE, FAIL_DIFFERENT };
enum { REQUIRE_NOTHING, REQUIRE_NOT_WORSE, REQUIRE_BETTER, REQUIRE_EQUIVALENT };

extern const char *const compare_fails[], *const compare_requires[];
/* An option's parser: "2%" and "2" are 0.02. */
int compare_percent(void *field, const char *arg, struct weir_err *e);

/* Stored or read runs, or bare values; never both. */
struct compare_side {
	char *name;
	char letter; /* 'A', 'B' … */
	struct model_run **runs;
	double *values; /* with --values */
	enum unit unit; /* of them, and the step of their last digit */
	double step;
	char word[24]; /* the unit, where it is none that is known */
	int64_t *places;
	size_t n;
};
struct compare_set {
	struct compare_side *v;
	size_t n;
};
/* All sides; the baseline, if any, first. */
int compare_load(const struct compare_cfg *c, struct compare_set *out, struct weir_err *e);
void compare_set_fini(struct compare_set *s);

/* One comparison: a metric of one side against the first. */
struct compare_row {
	char *metric; /* specification; NULL = bare values */
	enum unit unit;
	size_t b;        /* index of the side */
	double *xa, *xb; /* the values that were judged */
	size_t na, nb;
	size_t lacking[2];      /* runs of A and of B without the metric */
	bool primary;           /* it counts: by itself, or with others where none was declared */
	struct cmd_floor floor; /* that was applied */
	struct model_judgement j;
};
struct compare_rows {
	struct compare_row *v;
	size_t n;
	bool undeclared; /* several metrics count alike */
};
int compare_judge(const struct compare_cfg *c, const struct compare_set *s,
		  struct compare_rows *out, struct weir_err *e);
/* 0, or 3 where --fail-on or --require say so. */
int compare_exit(const struct compare_cfg *c, const struct compare_rows *rows);
void compare_rows_fini(struct compare_rows *r);

/* The metrics to compare, the primary first: those asked for, even where one side lacks them, else
 * the usual ones that all have. */
int compare_metrics(const struct compare_cfg *c, const struct compare_set *s, struct opt_list *l,
		    struct weir_err *e);
void compare_metrics_fini(struct opt_list *l);

/* ---- compare_column.c: a metric of a side ---- */

struct compare_column {
	double *x; /* of the runs that have the metric */
	int64_t *order, *block, *session;
	size_t n, lacking;
	double *lasted; /* seconds of the runs that say it */
	size_t n_lasted;
	double seconds, resolution; /* the median of those; 0 = unknown */
	double ceiling, most;       /* of the link for payload (0 = unknown); the largest value */
	size_t intervals, dead, stalled_runs, changed;
	enum unit unit;
	enum model_better better;
	bool ordered, blocked, sessions; /* known of all */
	bool mixed;                      /* several units */
};
/* metric NULL: bare values. runs: of both sides. 0 or -ENOMEM; fini in any case. */
int compare_column(struct compare_column *c, const struct compare_side *s, const char *metric,
		   size_t runs);
void compare_column_fini(struct compare_column *c);
/* The session that a run was made in (its boots, or its place where a person switches), as a
 * number; false when unknown. */
bool compare_session(const struct model_run *r, int64_t *session);

/* What differs between two sides and was not declared: "near.kernel: 6.1 | 6.6" a line, no
 * newline at the end. Returns how many; request members that change what is measured set *gate. */
size_t compare_differences(const struct compare_cfg *c, const struct compare_side *a,
			   const struct compare_side *b, struct buf *out, uint64_t *gate);

/* ---- compare_split.c: two configurations in one text ---- */

/* Judges and prints each pair of the text's reports into out; *code as compare_exit. */
int compare_split(const struct compare_cfg *c, struct buf *out, int *code, struct weir_err *e);

void compare_print(const struct compare_cfg *c, const struct compare_set *s,
		   const struct compare_rows *rows, struct buf *out);
void compare_json(const struct compare_cfg *c, const struct compare_set *s,
		  const struct compare_rows *rows, struct buf *out);

#endif
