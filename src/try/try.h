/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * try: an experiment as an expert would run it. What is varied (factors), in which order (the
 * plan, from a seed alone), how a configuration is switched on and undone (arms), and the loop
 * that runs each measurement as a process of its own. It judges nothing but the width of an
 * interval; the verdict is the model's.
 */
#ifndef WEIR_TRY_H
#define WEIR_TRY_H

#include "base/base.h"
#include "model/model.h"
#include "sys/sys.h"

/* ---- what is varied (factor.c) ------------------------------------------ */

enum try_kind {
	TRY_OPTION, /* an option of the measurement, by its long name */
	TRY_KNOB,   /* a kernel setting, through the undo journal */
	TRY_SHELL,  /* commands of the user */
	TRY_HAND,   /* a person boots or plugs */
};
#define TRY_FACTORS_MAX  2
#define TRY_LEVELS_MAX   8
#define TRY_VARIANTS_MAX (TRY_LEVELS_MAX * TRY_LEVELS_MAX)

struct try_factor {
	enum try_kind kind;
	char *name;                     /* "congestion", "net.ipv4.tcp_rmem", "arm" */
	struct sys_ref ref;             /* TRY_KNOB */
	char *levels[TRY_LEVELS_MAX];   /* a value, or an arm's name */
	char *commands[TRY_LEVELS_MAX]; /* TRY_SHELL */
	size_t n_levels;
};
/* "tcp.congestion=cubic,bbr" (command.option), or a knob as `weir knobs` names it. Values of
 * knobs are checked; options are the caller's to check. command = the measurement's name. */
int try_factor_parse(struct try_factor *f, const char *text, const char *command,
		     struct weir_err *e);
/* Arms: names "stock,patched" (NULL = A,B,…), commands (NULL = by hand). */
int try_factor_arms(struct try_factor *f, const char *names, const char *const *commands,
		    size_t n_commands, struct weir_err *e);
void try_factor_fini(struct try_factor *f);

/* ---- the order (plan.c) ---------------------------------------------------- */

struct try_design {
	struct try_factor factors[TRY_FACTORS_MAX];
	size_t n_factors;
	bool same; /* A/A: two variants that are one configuration, switched all the same */
	uint64_t seed;
	size_t blocks; /* pairs, or whole sets of variants */
	size_t each;   /* runs of a variant in a row, where a switch is dear; 0 = 1 */
};
size_t try_variants(const struct try_design *d);
size_t try_each(const struct try_design *d);
size_t try_block(const struct try_design *d); /* runs of a whole block */
size_t try_level(const struct try_design *d, size_t variant, size_t factor);
/* "cubic", "cubic+1M"; A/A: "A1", "A2". */
void try_variant_name(const struct try_design *d, size_t variant, struct buf *b);
/* Two variants: a coin for each pair. More: a random order, then its mirror. */
void try_order(const struct try_design *d, size_t block, size_t out[TRY_VARIANTS_MAX]);
/* The variant of the i-th run. */
size_t try_variant_at(const struct try_design *d, size_t i);
/* The words of a run: the command with its options changed. NULL-terminated, the caller frees the
 * array with try_words_free. NULL when out of memory. */
char **try_words(const struct try_design *d, size_t variant, char *const *command, size_t n);
void try_words_free(char **words);

/* What is varied as JSON text, and whether text says the same (commands included). */
void try_design_json(const struct try_design *d, struct buf *b);
/* Factors from a stored text. Only options and arms by hand: what would change the machine must
 * come from the person (-EPERM). */
int try_design_read(struct try_design *d, const char *json, struct weir_err *e);
void try_design_fini(struct try_design *d);

/* ---- switching (arm.c) --------------------------------------------------------- */

struct try_arm_cfg {
	const struct try_design *design;
	const char *ssh;         /* where shell commands run: user@host; NULL = here */
	const char *undo;        /* shell command at the end, or NULL */
	const char *journal_dir; /* NULL = /run/weir */
	int64_t guard_ns;        /* knobs are put back after this long in any case */
	int64_t command_max_ns;  /* a command that takes longer has failed; 0 = 60 s */
};
struct try_arm;
int try_arm_open(const struct try_arm_cfg *cfg, struct try_arm **out, struct weir_err *e);
/* All factors to the variant's levels. A/A: to another level first, then to the first. */
int try_arm_set(struct try_arm *a, size_t variant, struct weir_err *e);
/* Puts knobs back, runs undo. NULL is nothing. */
int try_arm_close(struct try_arm *a, struct weir_err *e);

/* ---- running (run.c, loop.c) ---------------------------------------------------- */

struct try_exp {
	struct try_design *design;
	const char *program;  /* weir itself */
	char *const *command; /* "tcp", "HOST", … */
	size_t n_command;
	const char *db;              /* NULL = the runs are not stored */
	const char *const *tags;     /* "key=value", NULL-terminated; may be NULL */
	struct model_experiment exp; /* id, factors, plan, primary, margin: as runs shall have it */
	int64_t settle_ns;           /* between the switch and the run */
	int64_t run_max_ns;          /* a run that takes longer has failed */
	int64_t until_ns;  /* CLOCK_MONOTONIC: no block that would end later; 0 = no limit */
	int64_t expect_ns; /* of a run, before one was made; 0 = unknown */
	size_t warmup;     /* runs that are thrown away first */
	size_t most;       /* runs this time, then it pauses; 0 = all */
	int stop_fd;
	/* state */
	struct model_run **runs; /* a slot for each run of the plan; NULL = not yet */
	size_t failed;           /* runs that were repeated, by this process */
	size_t failed_before;    /* and by those that were cut short before it */
	size_t timed;            /* runs behind spent_ns */
	int64_t spent_ns;        /* switch, settle and run */
};
#define TRY_REPEATS_MAX 3 /* failures of one place in the plan */
#define TRY_FAILED_MAX  12
size_t try_slots(const struct try_exp *x);
size_t try_done(const struct try_exp *x);
/* Puts a finished run where the plan has it; false (and not taken) when it is none of the plan's,
 * is not whole, or the place is taken. */
bool try_take(struct try_exp *x, struct model_run *take);
bool try_is_whole(const struct model_run *r);

enum try_end {
	TRY_FINISHED,
	TRY_ENOUGH,      /* the watcher said so */
	TRY_STOPPED,     /* stop_fd */
	TRY_OUT_OF_TIME, /* until_ns */
	TRY_PAUSED,      /* `most` runs were made */
	TRY_FAILED,      /* too many failures; e has the last */
};
struct try_watch {
	void (*before)(void *arg, const struct try_exp *x, size_t slot);
	/* r NULL: it failed, and why. */
	void (*after)(void *arg, const struct try_exp *x, size_t slot, const struct model_run *r,
		      const struct weir_err *why);
	bool (*enough)(void *arg, const struct try_exp *x, size_t blocks);
	void *arg;
};
/* All places that are still empty, in order. An enum try_end, or a negative errno when going on
 * makes no sense (the command line is refused, a privilege is missing). */
int try_loop(struct try_exp *x, struct try_arm *arm, const struct try_watch *w, struct weir_err *e);
void try_exp_fini(struct try_exp *x); /* the runs */

/* ---- the primary metric (effect.c) ------------------------------------------------ */

/* A run's value; false when unknown. spec NULL: goodput, of one direction if need be. */
bool try_value(const struct model_run *r, const char *spec, double *v);
/* Level `b` of a factor against its first in a metric (see try_value), over whole blocks
 * from..to. */
struct try_span {
	size_t factor, b, from, to;
	const char *metric;
};
int try_effect(const struct try_exp *x, const struct try_span *span,
	       const struct model_judge_cfg *cfg, struct model_judgement *out);

#endif
