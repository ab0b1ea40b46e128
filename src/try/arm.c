/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration is switched on before every run, also when it is on already: only then does
 * each run of either side begin alike. Kernel settings go through the undo journal; a user's
 * commands are run as they are, and undone only by the user's own command.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "try/try.h"

#define COMMAND_MAX_NS (60 * NSEC_PER_SEC)
#define GRACE_NS       (2 * NSEC_PER_SEC)

struct try_arm {
	struct try_arm_cfg cfg;
	struct sys_journal *journal;
	bool switched; /* a command of the user has run */
};

static bool has_kind(const struct try_design *d, enum try_kind k)
{
	for (size_t i = 0; i < d->n_factors; i++) {
		if (d->factors[i].kind == k)
			return true;
	}
	return false;
}

static int open_journal(struct try_arm *a, struct weir_err *e)
{
	struct sys_replay left;
	int rc = sys_journal_open(a->cfg.journal_dir, NULL, &a->journal, e);

	if (rc >= 0)
		rc = sys_journal_recover(a->cfg.journal_dir, NULL, &left, e);
	if (rc >= 0)
		rc = sys_journal_guard(a->journal, a->cfg.guard_ns, NULL, e);
	return rc < 0 ? err_wrap(e, "what is varied could not be undone") : 0;
}

int try_arm_open(const struct try_arm_cfg *cfg, struct try_arm **out, struct weir_err *e)
{
	struct try_arm *a = calloc(1, sizeof(*a));
	int rc = 0;

	*out = NULL;
	if (!a)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	a->cfg = *cfg;
	if (has_kind(cfg->design, TRY_KNOB))
		rc = open_journal(a, e);
	if (rc < 0) {
		sys_journal_close(a->journal);
		free(a);
		return rc;
	}
	*out = a;
	return 0;
}

/* What it prints goes to standard error: standard output is for results. */
static int run_command(struct try_arm *a, const char *command, struct weir_err *e)
{
	char *here[] = {(char[]){"/bin/sh"}, (char[]){"-c"},  (char[]){"exec >&2; eval \"$1\""},
			(char[]){"sh"},      strdup(command), NULL};
	char *there[] = {(char[]){"/bin/sh"},
			 (char[]){"-c"},
			 (char[]){"exec \"$@\" >&2"},
			 (char[]){"sh"},
			 (char[]){"ssh"},
			 (char[]){"-oBatchMode=yes"},
			 (char[]){"-oConnectTimeout=10"},
			 (char[]){"--"},
			 a->cfg.ssh ? strdup(a->cfg.ssh) : NULL,
			 here[4],
			 NULL};
	int64_t most = a->cfg.command_max_ns ? a->cfg.command_max_ns : COMMAND_MAX_NS;
	char safe[96];
	struct sys_child c;
	int rc = -ENOMEM;

	safe_str(safe, sizeof(safe), command, strlen(command));
	if (!here[4] || (a->cfg.ssh && !there[8])) {
		err_set(e, WEIR_OS, ENOMEM, "out of memory");
		goto out;
	}
	a->switched = true;
	rc = sys_child_start(&c, a->cfg.ssh ? there : here,
			     SYS_CHILD_NULL_IN | SYS_CHILD_NEW_SESSION, NULL, -1, -1, e);
	if (rc < 0)
		goto out;
	rc = sys_child_wait(&c, most);
	sys_child_stop(&c, GRACE_NS);
	if (rc == -ETIMEDOUT)
		err_set(e, WEIR_LIMIT, ETIMEDOUT, "no end after %lld s: %s",
			(long long)(most / NSEC_PER_SEC), safe);
	else if (rc)
		rc = err_set(e, WEIR_OS, EIO, "exit status %d of: %s", rc, safe);
out:
	free(there[8]);
	free(here[4]);
	return rc;
}

static int set_factor(struct try_arm *a, const struct try_factor *f, size_t level,
		      struct weir_err *e)
{
	switch (f->kind) {
	case TRY_KNOB:
		return sys_journal_set(a->journal, &f->ref, f->levels[level], e);
	case TRY_SHELL:
		return run_command(a, f->commands[level], e);
	default: /* the command line's, or a person's */
		return 0;
	}
}

int try_arm_set(struct try_arm *a, size_t variant, struct weir_err *e)
{
	const struct try_design *d = a->cfg.design;
	int rc = 0;

	for (size_t i = 0; i < d->n_factors && rc >= 0; i++) {
		const struct try_factor *f = &d->factors[i];

		if (d->same)
			rc = set_factor(a, f, f->n_levels - 1, e);
		if (rc >= 0)
			rc = set_factor(a, f, try_level(d, variant, i), e);
	}
	return rc;
}

int try_arm_close(struct try_arm *a, struct weir_err *e)
{
	struct sys_replay r = {0};
	int rc = 0, undo;

	if (!a)
		return 0;
	if (a->journal)
		rc = sys_journal_undo(a->journal, &r, e);
	sys_journal_close(a->journal);
	if (a->cfg.undo && a->switched) {
		undo = run_command(a, a->cfg.undo, rc < 0 ? NULL : e);
		rc = rc < 0 ? rc : undo;
	}
	free(a);
	return rc < 0 ? rc : 0;
}
