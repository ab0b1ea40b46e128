/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sides of a comparison, from wherever people have them: stored runs, a query over tags, files
 * that a reader knows, or bare numbers. Each becomes a named list of runs or of values.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/compare.h"

#define FILE_MAX   ((size_t)64 << 20)
#define VALUES_MAX ((size_t)1 << 20)

static int no_memory(struct weir_err *e)
{
	return err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

/* ---- files ---- */

static int read_all(const char *path, struct buf *b, struct weir_err *e)
{
	bool in = !strcmp(path, "-");
	int fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 0;
	int rc = 0;

	if (fd < 0)
		return err_os(e, errno, "%s", path);
	b->max = FILE_MAX;
	while (buf_reserve(b, 65536)) {
		n = read(fd, b->data + b->len, 65536);
		if (n <= 0 && !(n < 0 && errno == EINTR))
			break;
		b->len += n > 0 ? (size_t)n : 0;
	}
	if (b->failed)
		rc = err_set(e, WEIR_LIMIT, EFBIG, "%s is over 64 MiB", path);
	else if (n < 0)
		rc = err_os(e, errno, "reading %s", path);
	if (!in)
		close(fd);
	return rc;
}

static int add_run(struct compare_side *s, struct model_run *take, struct weir_err *e)
{
	struct model_run **v = reallocarray(s->runs, s->n + 1, sizeof(struct model_run *));

	if (!v) {
		model_run_free(take);
		return no_memory(e);
	}
	s->runs = v;
	v[s->n++] = take;
	return 0;
}

/* The reader that is surest of the first bytes. */
static const struct format *reader_of(const struct buf *b)
{
	const struct format *best = NULL, *f;
	int most = 0;

	for (size_t i = 0; (f = format_at(i)); i++) {
		int sure = f->probe && f->read ? f->probe(b->data, b->len) : 0;

		if (sure > most) {
			most = sure;
			best = f;
		}
	}
	return best;
}

static int load_file(struct compare_side *s, const char *path, struct weir_err *e)
{
	const struct format *f;
	struct buf b = {0};
	struct model_run *r;
	int rc = read_all(path, &b, e);

	if (rc >= 0) {
		buf_putc(&b, '\0'); /* readers and probes may look for the end of a text */
		b.len -= b.len > 0;
		f = reader_of(&b);
		if (!f) {
			rc = err_set(e, WEIR_FORMAT, EINVAL, "%s: no reader knows this", path);
			err_hint(e, "bare numbers need --values");
		} else {
			rc = f->read(b.data, b.len, &r, e);
			rc = rc < 0 ? err_wrap(e, "%s", path) : add_run(s, r, e);
		}
	}
	buf_fini(&b);
	return rc;
}

/* ---- the store ---- */

struct ids {
	char (*v)[MODEL_ID_LEN + 1];
	size_t n;
};

static int take_id(const struct store_entry *en, void *arg)
{
	struct ids *l = arg;
	void *v = reallocarray(l->v, l->n + 1, sizeof(*l->v));

	if (!v)
		return -ENOMEM;
	l->v = v;
	if (en->outcome == OUTCOME_COMPLETE)
		memcpy(l->v[l->n++], en->id, sizeof(en->id));
	return 0;
}

/* "tag:kernel=6.1" or "tag:kernel": the complete runs, oldest first. */
static int load_query(struct compare_side *s, struct store *st, const char *query,
		      struct weir_err *e)
{
	char *k = strdup(query), *eq = k ? strchr(k, '=') : NULL;
	struct model_kv tag = {k, eq ? eq + 1 : NULL};
	struct store_filter f = {.tags = &tag,
				 .n_tags = 1,
				 .since_real_ns = MODEL_NO_TIME,
				 .until_real_ns = MODEL_NO_TIME};
	struct ids ids = {0};
	int rc;

	if (!k)
		return no_memory(e);
	if (eq)
		*eq = '\0';
	rc = store_list(st, &f, take_id, &ids, e);
	for (size_t i = ids.n; i > 0 && rc >= 0; i--) {
		struct model_run *r;

		rc = store_load(st, ids.v[i - 1], &r, e);
		rc = rc < 0 ? rc : add_run(s, r, e);
	}
	if (rc >= 0 && !ids.n)
		rc = err_set(e, WEIR_DB, ENOENT, "no complete run has the tag %s", query);
	free(ids.v);
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

static int load_word(const struct compare_cfg *c, struct compare_side *s, struct store **st,
		     const char *word, struct weir_err *e)
{
	struct model_run *r;
	int rc;

	if (!strcmp(word, "-") || access(word, F_OK) == 0)
		return load_file(s, word, e);
	rc = need_store(c, st, word, e);
	if (rc >= 0 && !strncmp(word, "tag:", 4))
		return load_query(s, *st, word + 4, e);
	if (rc >= 0)
		rc = cmd_db_load(*st, word, &r, e);
	return rc < 0 ? rc : add_run(s, r, e);
}

/* Runs of one side are joined by commas, unless a file has that very name. */
static int load_runs(const struct compare_cfg *c, struct compare_side *s, struct store **st,
		     struct weir_err *e)
{
	char *words, *save = NULL;
	int rc = 0;

	if (access(s->name, F_OK) == 0)
		return load_file(s, s->name, e);
	words = strdup(s->name);
	if (!words)
		return no_memory(e);
	for (char *w = strtok_r(words, ",", &save); w && rc >= 0; w = strtok_r(NULL, ",", &save))
		rc = load_word(c, s, st, w, e);
	free(words);
	return rc;
}

/* ---- bare values ---- */

/* The field of a line; NULL when there is none. */
static char *field_of(char *line, int64_t column)
{
	char *save = NULL, *f = strtok_r(line, " \t,;\r", &save);

	for (int64_t i = 1; f && i < column; i++)
		f = strtok_r(NULL, " \t,;\r", &save);
	return f;
}

static int take_value(struct compare_side *s, char *line, int64_t column, size_t number,
		      struct weir_err *e)
{
	char first = line[strspn(line, " \t\r")], *f, *end, safe[64];
	double *v, x;

	if (first == '#' || !first)
		return 0;
	f = field_of(line, column);
	x = f ? strtod(f, &end) : 0;
	if (!f || end == f || *end || !isfinite(x)) {
		safe_str(safe, sizeof(safe), f ? f : "", f ? strlen(f) : 0);
		return err_set(e, WEIR_FORMAT, EINVAL, "line %zu: \"%s\" is not a number", number,
			       safe);
	}
	if (s->n >= VALUES_MAX)
		return err_set(e, WEIR_LIMIT, EFBIG, "over a million values");
	v = reallocarray(s->values, s->n + 1, sizeof(*v));
	if (!v)
		return no_memory(e);
	s->values = v;
	v[s->n++] = x;
	return 0;
}

static int load_values(const struct compare_cfg *c, struct compare_side *s, struct weir_err *e)
{
	struct buf b = {0};
	int rc = read_all(s->name, &b, e);
	char *rest = b.data;
	size_t number = 0;

	if (rc >= 0) {
		buf_putc(&b, '\n'); /* also ends the last line */
		rest = b.data;
		rc = b.failed ? no_memory(e) : 0;
	}
	while (rc >= 0 && rest && *rest) {
		char *line = strsep(&rest, "\n");

		rc = take_value(s, line, c->column, ++number, e);
	}
	if (rc < 0 && number)
		err_wrap(e, "%s", s->name);
	buf_fini(&b);
	return rc;
}

/* --order ABBA…: the k-th A of it is the k-th value of A. */
static int set_order(const struct compare_cfg *c, struct compare_set *set, struct weir_err *e)
{
	int64_t *places[2];
	size_t used[2] = {0};

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
				       "--order names %zu runs of %c, %s has %zu", used[k], "AB"[k],
				       set -> v[k].name, set->v[k].n);
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

static int check_pairs(const struct compare_set *set, struct weir_err *e)
{
	for (size_t i = 1; i < set->n; i++) {
		if (set->v[i].n != set->v[0].n)
			return err_set(e, WEIR_USAGE, EINVAL,
				       "--paired: %s has %zu runs and %s has %zu", set->v[0].name,
				       set->v[0].n, set->v[i].name, set->v[i].n);
	}
	return 0;
}

int compare_load(const struct compare_cfg *c, struct compare_set *out, struct weir_err *e)
{
	size_t base = c->baseline ? 1 : 0;
	struct store *st = NULL;
	int rc;

	*out = (struct compare_set){.n = base + c->sides.n};
	out->v = calloc(out->n + 1, sizeof(*out->v));
	if (!out->v)
		return no_memory(e);
	rc = check_counts(c, out, e);
	for (size_t i = 0; i < out->n && rc >= 0; i++) {
		struct compare_side *s = &out->v[i];

		s->letter = (char)('A' + (i < 26 ? i : 25));
		s->name = strdup(i < base ? c->baseline : c->sides.v[i - base]);
		if (!s->name)
			rc = no_memory(e);
		else
			rc = c->values ? load_values(c, s, e) : load_runs(c, s, &st, e);
	}
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
