/* SPDX-License-Identifier: BSD-2-Clause */
/* weir try and weir calibrate, private: what their files share. */
#ifndef WEIR_CMD_TRY_H
#define WEIR_CMD_TRY_H

#include "cmd/cmd.h"
#include "cmd/compare.h"
#include "try/try.h"

struct try_opts {
	struct opt_list vary, command;
	char *a, *b, *undo, *arms, *on, *resume, *runs;
	bool by_hand, quick, changed;
	double precision;
	int64_t pairs, each, warmup, settle_ns, max_ns;
	uint64_t seed;
	struct compare_cfg judge; /* primary, margin, floor, form, exit code */
	/* calibrate */
	bool calibrate;
	int64_t experiments;
};
extern const struct opt try_factor_opts[], try_hand_opts[], try_run_opts[];
extern const size_t try_n_factor_opts, try_n_hand_opts, try_n_run_opts;

struct session {
	const struct try_opts *o;
	struct compare_cfg judge; /* as told, or as the resumed experiment had it */
	char *primary;            /* owned: the resumed experiment's */
	char **metrics;           /* owned, with borrowed words: likewise */
	struct try_design design;
	struct try_exp x;
	struct try_arm *arm;
	struct store *store;
	char id[MODEL_ID_LEN + 1]; /* the experiment's, and of its record in the store */
	char *db, *ssh, *journal_dir;
	char **command; /* borrowed from the options or owned, see plan_doc */
	size_t n_command;
	struct js_doc *plan_doc; /* of a resumed experiment */
	struct buf factors, plan, tag, boot;
	const char *tags[3];
	bool automatic, by_hand, resumed;
	bool claimed;    /* the record is this process' */
	bool dirty;      /* a line of progress stands without its end */
	int64_t run_ns;  /* of one run, by its options; 0 = unknown */
	int64_t time_ns; /* of which are measured: the shortest */
	int64_t longest_ns;
	int64_t settle_ns; /* as told, or as the resumed experiment had it */
	double precision;
	size_t group;   /* calibrate: pairs of one A/A experiment */
	size_t effects; /* calibrate, at its end: A/A effects behind the floor … */
	bool across;    /* … and whether they are between sessions */
};

/* ---- try_setup.c: from options to an experiment, new or resumed ---- */
int session_init(struct session *s, const struct try_opts *o, struct weir_err *e);
void session_fini(struct session *s);

/* ---- try_store.c: its record ---- */
#define TRY_TAG        "experiment"
#define TRY_FAILED_TAG "failed" /* runs that were repeated */
#define TRY_METHOD     "try-1"
/* A run of kind "experiment" or "calibration" that stands for the whole. */
int record_open(struct session *s, struct weir_err *e);
/* It is this process' from now on, or -EBUSY. */
int record_claim(struct session *s, struct weir_err *e);
void record_release(struct session *s);
/* Kept at once: what is counted survives a kill. */
void record_failure(struct session *s);
/* v may be NULL; done = not to be resumed. */
int record_close(struct session *s, const struct model_verdict *v, size_t n, bool done,
		 struct weir_err *e);
/* Which one is meant (what may be ""): its id, factors, plan and seed. */
int record_find(struct session *s, const char *what, struct model_run **out, struct weir_err *e);
int record_take_runs(struct session *s, struct weir_err *e);

/* ---- try_say.c: before, during ---- */
void say_plan(struct session *s);
void say_next_arm(struct session *s);
struct try_watch say_watch(struct session *s);
void say_end_line(struct session *s);

/* ---- try_hand.c ---- */
/* Whether this machine can be the arm whose turn it is. */
int hand_check(struct session *s, struct weir_err *e);

/* ---- try.c ---- */
/* The loop with its arms opened and undone; how it ended, or a negative errno. */
int session_run(struct session *s, struct weir_err *e);
/* The place whose turn it is. */
size_t session_next(const struct session *s);
/* Arms by hand: the runs of the turn that it is, if any, then whose turn is next; in the end
 * finish. An exit code, or a negative errno. */
int session_by_hand(struct session *s,
		    int (*finish)(struct session *s, int end, struct weir_err *e),
		    struct weir_err *e);

#endif
