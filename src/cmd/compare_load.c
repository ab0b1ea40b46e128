/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sides of a comparison, from wherever people have them: stored runs, a query over tags, files
 * that a reader knows, or bare numbers. Each becomes a named list of runs or of values.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/compare.h"
#include "cmd/runs.h"

static int no_memory(struct weir_err *e)
{
	return err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

/* "tag:kernel=6.1" or "tag:kernel" */
static int load_query(struct cmd_runs *l, struct store *st, const char *query, struct weir_err *e)
{
	char *k = strdup(query), *eq = k ? strchr(k, '=') : NULL;
	size_t before = l->n;
	int rc;

	if (!k)
		return no_memory(e);
	if (eq)
		*eq = '\0';
	rc = cmd_runs_tagged(st, k, eq ? eq + 1 : NULL, l, e);
	if (rc >= 0 && l->n == before)
		rc = err_set(e, WEIR_DB, ENOENT, "no complete run has the tag %s", query);
	free(k);
	return rc;
}

static int need_store(const struct compare_cfg *c, struct store **st, const char *what,
		      struct weir_err *e)
{
	int rc = *st ? 0 : cmd_db_open(&c->db, STORE_READ, st, e);

	if (rc >= 0 && !*st)
		rc = err_set(e, WEIR_DB, ENOENT, "%s: no such file, and no runs are stored", what);
	return rc;
}

static int load_file(struct cmd_runs *l, const char *path, struct weir_err *e)
{
	int rc = cmd_runs_file(path, l, e);

	if (rc == -ENOMSG)
		err_hint(e, "bare numbers need --values");
	return rc;
}

static int load_word(const struct compare_cfg *c, struct cmd_runs *l, struct store **st,
		     const char *word, struct weir_err *e)
{
	struct model_run *r;
	int rc;

	if (!strcmp(word, "-") || access(word, F_OK) == 0)
		return load_file(l, word, e);
	rc = need_store(c, st, word, e);
	if (rc >= 0 && !strncmp(word, "tag:", 4))
		return load_query(l, *st, word + 4, e);
	if (rc >= 0)
		rc = cmd_db_load(*st, word, &r, e);
	if (rc >= 0 && cmd_runs_add(l, r) < 0)
		rc = no_memory(e);
	return rc;
}

/* Runs of one side are joined by commas, unless a file has that very name. */
static int load_words(const struct compare_cfg *c, const char *name, struct cmd_runs *l,
		      struct store **st, struct weir_err *e)
{
	char *words, *save = NULL;
	int rc = 0;

	if (access(name, F_OK) == 0)
		return load_file(l, name, e);
	words = strdup(name);
	if (!words)
		return no_memory(e);
	for (char *w = strtok_r(words, ",", &save); w && rc >= 0; w = strtok_r(NULL, ",", &save))
		rc = load_word(c, l, st, w, e);
	free(words);
	return rc;
}

/* A run that counts twice makes the noise look smaller than it is. */
static int check_once(const struct cmd_runs *l, const char *name, struct weir_err *e)
{
	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (!strcmp(l->v[i]->id, l->v[k]->id))
				return err_set(e, WEIR_USAGE, EEXIST,
					       "%.80s: run %s is in it twice", name,
					       l->v[i]->id + MODEL_ID_LEN - 8);
		}
	}
	return 0;
}

static int load_runs(const struct compare_cfg *c, struct compare_side *s, struct store **st,
		     struct weir_err *e)
{
	struct cmd_runs l = {0};
	int rc = load_words(c, s->name, &l, st, e);

	if (rc >= 0)
		rc = check_once(&l, s->name, e);
	s->runs = l.v;
	s->n = l.n;
	return rc;
}

/* ---- bare values ---- */

static int load_values(const struct compare_cfg *c, struct compare_side *s, struct weir_err *e)
{
	struct format_numbers v = {0};
	struct buf b = {0};
	int rc = cmd_runs_text(s->name, &b, e);

	if (rc >= 0) {
		rc = format_values(b.data, b.len, c->column, &v, e);
		if (rc < 0)
			err_wrap(e, "%s", s->name);
	}
	s->values = v.v;
	s->n = v.n;
	s->unit = v.unit;
	s->step = v.step;
	memcpy(s->word, v.word, sizeof(s->word));
	buf_fini(&b);
	return rc;
}

/* --order ABBA…: the k-th A of it is the k-th value of A. */
static int set_order(const struct compare_cfg *c, struct compare_set *set, struct weir_err *e)
{
	int64_t *places[2];
	size_t used[2] = {0};

	if (!c->values)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--order goes with --values: runs have their own times");
	if (set->n != 2)
		return err_set(e, WEIR_USAGE, EINVAL, "--order is for two sides");
	for (int k = 0; k < 2; k++) {
		places[k] = set->v[k].places = calloc(set->v[k].n + 1, sizeof(int64_t));
		if (!places[k])
			return no_memory(e);
	}
	for (size_t i = 0; c->order[i]; i++) {
		int k = c->order[i] == 'A' || c->order[i] == 'a' ? 0 : 1;

		if (!strchr("AaBb", c->order[i]))
			return err_set(e, WEIR_USAGE, EINVAL, "--order: only A and B, not \"%c\"",
				       c->order[i] >= ' ' && c->order[i] <= '~' ? c->order[i]
										: '?');
		if (used[k] < set->v[k].n)
			places[k][used[k]] = (int64_t)i;
		used[k]++;
	}
	for (int k = 0; k < 2; k++) {
		if (used[k] != set->v[k].n)
			return err_set(e, WEIR_USAGE, EINVAL,
				       "--order names %zu run%s of %c, %s has %zu", used[k],
				       used[k] == 1 ? "" : "s", "AB"[k], set -> v[k].name,
				       set->v[k].n);
	}
	return 0;
}

/* ---- all sides ---- */

static int check_counts(const struct compare_cfg *c, const struct compare_set *set,
			struct weir_err *e)
{
	if (set->n < 2) {
		err_set(e, WEIR_USAGE, EINVAL, "two sides are needed, not %zu", set->n);
		return err_hint(e, "such as: weir compare last-1 last");
	}
	if (c->paired && c->order)
		return err_set(e, WEIR_USAGE, EINVAL, "--paired and --order: one of them");
	return 0;
}

/* How often standard input is asked for; only the first would get anything. */
static int check_stdin(const struct compare_set *set, struct weir_err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		n += set->v[i].name && !strcmp(set->v[i].name, "-");
	return n > 1 ? err_set(e, WEIR_USAGE, EINVAL, "standard input (-) is one side, not %zu", n)
		     : 0;
}

static int check_pairs(const struct compare_set *set, struct weir_err *e)
{
	for (size_t i = 1; i < set->n; i++) {
		if (set->v[i].n != set->v[0].n)
			return err_set(e, WEIR_USAGE, EINVAL,
				       "--paired: %s has %zu run%s and %s has %zu", set->v[0].name,
				       set->v[0].n, set->v[0].n == 1 ? "" : "s", set->v[i].name,
				       set->v[i].n);
	}
	return 0;
}

static int name_side(struct compare_set *set, const char *name, struct weir_err *e)
{
	struct compare_side *s = &set->v[set->n];

	s->letter = (char)('A' + (set->n < 26 ? set->n : 25));
	s->name = strdup(name);
	if (!s->name)
		return no_memory(e);
	set->n++;
	return 0;
}

/* A baseline that is also among the sides is not compared with itself. */
static int name_sides(const struct compare_cfg *c, struct compare_set *set, struct weir_err *e)
{
	int rc = c->baseline ? name_side(set, c->baseline, e) : 0;

	for (size_t i = 0; i < c->sides.n && rc >= 0; i++) {
		if (!c->baseline || strcmp(c->baseline, c->sides.v[i]) != 0)
			rc = name_side(set, c->sides.v[i], e);
	}
	return rc;
}

int compare_load(const struct compare_cfg *c, struct compare_set *out, struct weir_err *e)
{
	struct store *st = NULL;
	int rc;

	*out = (struct compare_set){.v = calloc(c->sides.n + 2, sizeof(*out->v))};
	if (!out->v)
		return no_memory(e);
	rc = name_sides(c, out, e);
	if (rc >= 0)
		rc = check_counts(c, out, e);
	if (rc >= 0)
		rc = check_stdin(out, e);
	for (size_t i = 0; i < out->n && rc >= 0; i++)
		rc = c->values ? load_values(c, &out->v[i], e) : load_runs(c, &out->v[i], &st, e);
	if (rc >= 0 && c->order)
		rc = set_order(c, out, e);
	if (rc >= 0 && c->paired)
		rc = check_pairs(out, e);
	store_close(st);
	if (rc < 0)
		compare_set_fini(out);
	return rc;
}

void compare_set_fini(struct compare_set *s)
{
	for (size_t i = 0; s->v && i < s->n; i++) {
		struct compare_side *d = &s->v[i];

		for (size_t k = 0; d->runs && k < d->n; k++)
			model_run_free(d->runs[k]);
		free(d->runs);
		free(d->values);
		free(d->places);
		free(d->name);
	}
	free(s->v);
	*s = (struct compare_set){0};
}
