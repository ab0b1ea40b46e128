/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which runs are there, and which one is meant. "Newest" is the order of storing, so that the
 * first line of a list, `last` and a file read a minute ago are the same run.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/priv.h"

#define ARGS_MAX 64

/* ---- lists ---- */

struct query {
	struct buf text;
	struct val args[ARGS_MAX];
	size_t n;
};

static void add(struct query *q, const char *text, struct val v)
{
	buf_puts(&q->text, text);
	if (q->n < ARGS_MAX)
		q->args[q->n++] = v;
	else
		q->text.failed = true;
}

static void add_host(struct query *q, const char *host)
{
	add(q, " AND (instr(lower(coalesce(near_name,'')),lower(?))>0", store_val_text(host));
	add(q, " OR instr(lower(coalesce(far_name,'')),lower(?))>0)", store_val_text(host));
}

static void add_tag(struct query *q, const struct model_kv *kv)
{
	add(q, " AND EXISTS (SELECT 1 FROM tags t WHERE t.run=runs.seq AND t.k=?",
	    store_val_text(kv->k));
	if (kv->v)
		add(q, " AND t.v=?", store_val_text(kv->v));
	buf_putc(&q->text, ')');
}

static void make_query(struct query *q, const struct store_filter *f)
{
	buf_puts(&q->text,
		 "SELECT id,kind,near_name,far_name,headline,protocol,start_ns,outcome,"
		 "owner,(SELECT group_concat(k||'='||v,char(10)) FROM (SELECT k,v FROM tags"
		 " WHERE run=runs.seq ORDER BY n,k)) FROM runs WHERE 1");
	if (f->kind)
		add(q, " AND kind=?", store_val_text(f->kind));
	if (f->host)
		add_host(q, f->host);
	for (size_t i = 0; i < f->n_tags; i++)
		add_tag(q, &f->tags[i]);
	if (f->since_real_ns != MODEL_NO_TIME)
		add(q, " AND start_ns>=?", store_val_int(f->since_real_ns));
	if (f->until_real_ns != MODEL_NO_TIME)
		add(q, " AND start_ns<?", store_val_int(f->until_real_ns));
	add(q, " ORDER BY seq DESC LIMIT ?", store_val_int(f->limit > 0 ? f->limit : -1));
}

struct walk {
	int (*cb)(const struct store_entry *, void *);
	void *arg;
};

static const char *text_of(const struct val *v)
{
	return v->type == VAL_TEXT ? v->p : NULL;
}

/* The file may hold anything there. */
static void copy_id(char id[MODEL_ID_LEN + 1], const struct val *v)
{
	const char *s = text_of(v);
	size_t n = 0;

	for (; s && s[n] && n < MODEL_ID_LEN; n++)
		id[n] = isxdigit((unsigned char)s[n]) || s[n] == '-' ? s[n] : '?';
	id[n] = '\0';
}

static enum model_outcome outcome_of(const struct val *outcome, const struct val *owner)
{
	const char *s = text_of(outcome);
	int o = s ? model_name_find(model_outcome_names, s) : -ENOENT;

	if (o < 0 || (o == OUTCOME_RUNNING && !store_owner_alive(text_of(owner))))
		return OUTCOME_PARTIAL;
	return (enum model_outcome)o;
}

static int give_entry(const struct val *c, size_t n, void *arg, struct weir_err *e)
{
	const struct walk *w = arg;
	struct store_entry en = {
		.kind = text_of(&c[1]),
		.near = text_of(&c[2]),
		.far = text_of(&c[3]),
		.headline = text_of(&c[4]),
		.protocol = text_of(&c[5]),
		.start_real_ns = c[6].type == VAL_INT ? c[6].i : MODEL_NO_TIME,
		.outcome = outcome_of(&c[7], &c[8]),
		.tags = text_of(&c[9]),
	};

	(void)n;
	(void)e;
	copy_id(en.id, &c[0]);
	return w->cb(&en, w->arg);
}

int store_list(struct store *s, const struct store_filter *f,
	       int (*cb)(const struct store_entry *, void *), void *arg, struct weir_err *e)
{
	struct walk w = {cb, arg};
	struct query q = {0};
	int rc;

	make_query(&q, f);
	rc = q.text.failed ? err_set(e, WEIR_LIMIT, E2BIG, "too many filters")
			   : store_sql_query(s->q, q.text.data, q.args, q.n, give_entry, &w, e);
	buf_fini(&q.text);
	return rc;
}

/* ---- which one ---- */

struct ids {
	char id[MODEL_ID_LEN + 1];
	int n;
};

static int take_id(const struct val *c, size_t n, void *arg, struct weir_err *e)
{
	struct ids *ids = arg;

	(void)n;
	(void)e;
	copy_id(ids->id, &c[0]);
	ids->n++;
	return 0;
}

/* last[-N][:kind] */
static int resolve_last(struct store *s, const char *what, struct ids *ids, struct weir_err *e)
{
	char *end = NULL;
	const char *p = what + strlen("last");
	long back = *p == '-' ? strtol(p + 1, &end, 10) : 0;
	const char *kind = end ? end : p;
	struct val v[2];
	int rc;

	if ((*kind && *kind != ':') || back < 0 || (end && end == p + 1))
		return err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is not last, last-N or last:KIND",
			       what);
	v[0] = store_val_text(*kind ? kind + 1 : NULL);
	v[1] = store_val_int(back);
	rc = store_sql_query(s->q,
			     "SELECT id FROM runs WHERE ?1 IS NULL OR kind=?1"
			     " ORDER BY seq DESC LIMIT 1 OFFSET ?2",
			     v, 2, take_id, ids, e);
	if (rc >= 0 && !ids->n)
		rc = err_set(e, WEIR_DB, ENOENT, "no such run is stored: %s", what);
	return rc;
}

static bool lower_hex(char *dst, size_t cap, const char *s)
{
	size_t n = 0;

	for (; s[n] && n + 1 < cap; n++) {
		if (!isxdigit((unsigned char)s[n]) && s[n] != '-')
			return false;
		dst[n] = (char)tolower((unsigned char)s[n]);
	}
	dst[n] = '\0';
	return !s[n] && n >= 4;
}

static int resolve_part(struct store *s, const char *what, struct ids *ids, struct weir_err *e)
{
	char part[MODEL_ID_LEN + 1], safe[64];
	struct val v[2];
	int rc;

	safe_str(safe, sizeof(safe), what, strlen(what));
	if (!lower_hex(part, sizeof(part), what)) {
		err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is not a run", safe);
		err_hint(e, "a run is last, last-N, last:KIND, or 4 or more characters of an id");
		return -EINVAL;
	}
	v[0] = store_val_text(part);
	v[1] = store_val_int((int64_t)strlen(part));
	rc = store_sql_query(
		s->q, "SELECT id FROM runs WHERE substr(id,1,?2)=?1 OR substr(id,-?2)=?1 LIMIT 2",
		v, 2, take_id, ids, e);
	if (rc >= 0 && !ids->n)
		return err_set(e, WEIR_DB, ENOENT, "no run %s is stored", safe);
	if (rc >= 0 && ids->n > 1) {
		err_set(e, WEIR_USAGE, ENOTUNIQ, "%s: several runs match", safe);
		err_hint(e, "give more characters of the id");
		return -ENOTUNIQ;
	}
	return rc;
}

int store_resolve(struct store *s, const char *what, char id[MODEL_ID_LEN + 1], struct weir_err *e)
{
	struct ids ids = {0};
	int rc = strncmp(what, "last", 4) == 0 ? resolve_last(s, what, &ids, e)
					       : resolve_part(s, what, &ids, e);

	memcpy(id, ids.id, sizeof(ids.id));
	return rc < 0 ? rc : 0;
}
