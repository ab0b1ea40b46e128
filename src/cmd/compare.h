/* SPDX-License-Identifier: BSD-2-Clause */
/* weir compare, private: what its files share. load makes sides, judge makes rows, print shows. */
#ifndef WEIR_CMD_COMPARE_H
#define WEIR_CMD_COMPARE_H

#include "cmd/cmd.h"

struct compare_cfg {
	struct opt_list sides, varied, metrics;
	bool values, paired, json, markdown, paste;
	char *order, *primary, *baseline;
	double margin, floor; /* ratio; floor 0 = unknown */
	int better;           /* index in compare_betters */
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
	bool primary;
	struct model_judgement j;
};
struct compare_rows {
	struct compare_row *v;
	size_t n;
};
int compare_judge(const struct compare_cfg *c, const struct compare_set *s,
		  struct compare_rows *out, struct weir_err *e);
/* 0, or 3 where --fail-on or --require say so. */
int compare_exit(const struct compare_cfg *c, const struct compare_rows *rows);
void compare_rows_fini(struct compare_rows *r);

/* What differs between two sides and was not declared: "near.kernel: 6.1 | 6.6" a line, no
 * newline at the end. Returns how many; request members that change what is measured set *gate. */
size_t compare_differences(const struct compare_cfg *c, const struct compare_side *a,
			   const struct compare_side *b, struct buf *out, uint64_t *gate);

void compare_print(const struct compare_cfg *c, const struct compare_set *s,
		   const struct compare_rows *rows, struct buf *out);
void compare_json(const struct compare_cfg *c, const struct compare_set *s,
		  const struct compare_rows *rows, struct buf *out);

#endif
