/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes on for hours or days over many processes (an experiment) must be gone on with by one
 * at a time. The record of it is claimed as a run that is being written is owned: by the mark of
 * the thread, so that a kill gives it free without anybody's help.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/priv.h"

struct held {
	int64_t seq;
	bool running;
	char owner[STORE_OWNER_MAX];
};

static int take_held(const struct val *c, size_t n, void *arg, struct weir_err *e)
{
	struct held *h = arg;

	(void)n;
	(void)e;
	h->seq = c[0].i;
	h->running = c[1].i != 0;
	if (c[2].type == VAL_TEXT && c[2].n < sizeof(h->owner))
		memcpy(h->owner, c[2].p, c[2].n);
	return 1;
}

static int claim(struct store *s, const char *id, struct weir_err *e)
{
	struct val v[2] = {store_val_text(id)};
	struct held h = {0};
	char self[STORE_OWNER_MAX];
	int rc = store_sql_query(s->q, "SELECT seq, outcome='running', owner FROM runs WHERE id=?",
				 v, 1, take_held, &h, e);

	if (rc <= 0)
		return rc < 0 ? rc : err_set(e, WEIR_DB, ENOENT, "no run %.36s in %s", id, s->path);
	store_owner_self(self);
	if (h.running && strcmp(h.owner, self) != 0 && store_owner_alive(h.owner))
		return err_set(e, WEIR_DB, EBUSY, "process %ld is at it", store_owner_pid(h.owner));
	v[0] = store_val_text(self);
	v[1] = store_val_int(h.seq);
	return store_sql_run(s->q, "UPDATE runs SET outcome='running', owner=? WHERE seq=?", v, 2,
			     e);
}

static int begin(struct store *s, struct weir_err *e)
{
	int rc = store_writable(s, e);

	return rc < 0 ? rc : store_sql_exec(s->q, "BEGIN IMMEDIATE", e);
}

int store_claim(struct store *s, const char *id, struct weir_err *e)
{
	int rc = begin(s, e);

	if (rc >= 0)
		rc = store_sql_finish(s->q, claim(s, id, e), e);
	return rc < 0 ? rc : 0;
}

int store_release(struct store *s, const char *id, struct weir_err *e)
{
	char self[STORE_OWNER_MAX];
	struct val v[2] = {store_val_text(id)};
	int rc = store_writable(s, e);

	store_owner_self(self);
	v[1] = store_val_text(self);
	if (rc >= 0)
		rc = store_sql_run(s->q,
				   "UPDATE runs SET outcome='partial', owner=NULL"
				   " WHERE id=? AND owner=? AND outcome='running'",
				   v, 2, e);
	return rc < 0 ? rc : 0;
}
