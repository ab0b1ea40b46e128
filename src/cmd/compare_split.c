/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mail with two configurations in it: the same reports twice, under two headings. The reports' kinds
 * tell where the second half begins, the headings what the halves are; each report of the first is
 * compared with its like of the second.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"
#include "cmd/runs.h"

struct report {
	struct model_run *run;
	char *key; /* kind and role: reports with the same one are alike */
	char *title, *lead;
	uint64_t line;
};
struct split {
	struct report *v;
	size_t n, at; /* the first report of B */
	char *name[2];
};

/* ---- reading ---- */

static int take(void *arg, const struct format_found *f)
{
	struct split *s = arg;
	struct report *v = reallocarray(s->v, s->n + 1, sizeof(*v)), *r;
	const char *role = format_found_param(f, "role");
	const char *lead = format_found_lead(f), *title = format_found_title(f);
	uint8_t rnd[10] = {(uint8_t)s->n, (uint8_t)(s->n >> 8)};
	struct buf key = {0};

	if (!v)
		return -ENOMEM;
	s->v = v;
	r = &v[s->n++];
	buf_printf(&key, "%s%s%s", format_found_kind(f), role ? " " : "", role ? role : "");
	*r = (struct report){.run = format_found_run(f, rnd),
			     .key = buf_take(&key),
			     .title = title ? strdup(title) : NULL,
			     .lead = strdup(lead ? lead : ""),
			     .line = format_found_line(f)};
	return r->run && r->key && r->lead ? 0 : -ENOMEM;
}

static void fini(struct split *s)
{
	for (size_t i = 0; i < s->n; i++) {
		model_run_free(s->v[i].run);
		free(s->v[i].key);
		free(s->v[i].title);
		free(s->v[i].lead);
	}
	free(s->v);
	free(s->name[0]);
	free(s->name[1]);
}

/* ---- where B begins ---- */

static bool halves(const struct split *s)
{
	size_t k = s->n / 2;

	if (s->n < 2 || s->n % 2)
		return false;
	for (size_t i = 0; i < k; i++)
		if (strcmp(s->v[i].key, s->v[i + k].key) != 0)
			return false;
	return true;
}

/*
 * The only report, beside the first, that has a heading; 0 = there is none, or more. `alike`: only
 * those count that are like the first, as B begins as A does.
 */
static size_t one_heading(const struct split *s, bool alike)
{
	size_t found = 0;

	for (size_t i = 1; i < s->n; i++) {
		if (!s->v[i].title || (alike && strcmp(s->v[i].key, s->v[0].key) != 0))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

static int find_parts(struct split *s, const char *file, struct weir_err *e)
{
	s->at = one_heading(s, false);
	if (!s->at && halves(s))
		s->at = s->n / 2;
	if (!s->at)
		s->at = one_heading(s, true);
	if (s->at)
		return 0;
	err_set(e, WEIR_FORMAT, EINVAL, "%s: its %zu report%s cannot be told apart into two parts",
		file, s->n, s->n == 1 ? "" : "s");
	return err_hint(e, "headings tell the parts; or give them as two files");
}

/* ---- what the halves are called ---- */

static bool is_prose(const char *s, size_t n)
{
	size_t letters = 0, skip = strspn(s, " \t");

	for (size_t i = 0; i < n; i++)
		letters += isalpha((unsigned char)s[i]) != 0;
	if (letters < 3 || n > 200 || skip >= n)
		return false;
	/* neither a command nor a header of the mail */
	return !memmem(s, n, "$ ", 2) && !memmem(s, n, ":/#", 3) && !memmem(s, n, "~#", 2) &&
	       strncmp(s + skip, "# ", 2) != 0 && !memmem(s, n, "Content-", 8);
}

/* The next line of prose from *p on; NULL at the end. */
static const char *prose(const char **p, size_t *n)
{
	while (**p) {
		const char *line = *p, *nl = strchr(line, '\n');

		*n = nl ? (size_t)(nl - line) : strlen(line);
		*p = nl ? nl + 1 : line + *n;
		if (is_prose(line, *n))
			return line;
	}
	return NULL;
}

/* How many words of b stand in a too. */
static size_t alike(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t n = 0, len;

	for (size_t i = 0; i < n_b; i += len ? len : 1) {
		for (len = 0; i + len < n_b && isalnum((unsigned char)b[i + len]); len++)
			;
		n += len > 2 && memmem(a, n_a, b + i, len) != NULL;
	}
	return n;
}

/* B's heading is the first line of prose above it; A's the line above A that is most like it. */
static void find_names(struct split *s)
{
	const char *p = s->v[s->at].lead, *b, *line;
	size_t n_b = 0, n, best = 0;

	b = prose(&p, &n_b);
	s->name[1] = b ? strndup(b, n_b) : strdup("the second part");
	p = s->v[0].lead;
	while ((line = prose(&p, &n))) {
		size_t same = b ? alike(line, n, b, n_b) : 1;

		if (same < best)
			continue;
		best = same;
		free(s->name[0]);
		s->name[0] = strndup(line, n);
	}
	if (!s->name[0])
		s->name[0] = strdup("the first part");
}

/* ---- pairs ---- */

/* Lends the runs of one key that follow each other without a heading between them. */
static int side(const struct split *s, size_t from, size_t end, const char *key, int which,
		struct compare_side *out)
{
	out->runs = calloc(end - from + 1, sizeof(struct model_run *));
	out->name = s->name[which] ? strdup(s->name[which]) : NULL;
	out->letter = (char)('A' + which);
	for (size_t i = from; out->runs && i < end && !strcmp(s->v[i].key, key); i++) {
		if (i > from && s->v[i].title)
			break;
		out->runs[out->n++] = s->v[i].run;
	}
	return out->runs && out->name ? 0 : -ENOMEM;
}

struct sized { /* one value of each frame size */
	const char *metric;
	double *v[2];
	size_t n;
};

static const struct model_summary *of_size(const struct model_run *r, const char *metric,
					   int64_t size)
{
	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *m = &r->sums[i];

		if (m->dims.has == 1u << DIM_SIZE && m->dims.v[DIM_SIZE] == size &&
		    !strcmp(m->metric->name, metric) && m->state == MODEL_KNOWN)
			return m;
	}
	return NULL;
}

/* The first metric that both have over sizes. */
static int find_sizes(const struct model_run *a, const struct model_run *b, struct sized *z)
{
	*z = (struct sized){0};
	for (int k = 0; k < 2; k++)
		z->v[k] = calloc(a->n_sums + 1, sizeof(double));
	if (!z->v[0] || !z->v[1])
		return -ENOMEM;
	for (size_t i = 0; i < a->n_sums; i++) {
		const struct model_summary *m = &a->sums[i], *o;

		if (m->dims.has != 1u << DIM_SIZE || m->state != MODEL_KNOWN ||
		    m->metric->better != MODEL_HIGHER ||
		    (z->metric && strcmp(z->metric, m->metric->name) != 0))
			continue;
		o = of_size(b, m->metric->name, m->dims.v[DIM_SIZE]);
		if (!o)
			continue;
		z->metric = m->metric->name;
		z->v[0][z->n] = m->value;
		z->v[1][z->n++] = o->value;
	}
	return 0;
}

struct pair {
	struct compare_cfg c;
	struct compare_set set;
	struct compare_side v[2];
	struct compare_rows rows;
	const char *what;
};

static void lend_sizes(struct pair *p, struct sized *z)
{
	p->c.values = p->c.paired = true;
	p->c.better = BETTER_HIGHER;
	p->what = z->metric;
	for (int k = 0; k < 2; k++) {
		free(p->v[k].runs);
		p->v[k].runs = NULL;
		p->v[k].values = z->v[k];
		p->v[k].n = z->n;
		z->v[k] = NULL;
	}
}

static int make_pair(const struct split *s, size_t i, struct pair *p, size_t *used)
{
	size_t k = s->n == 2 * s->at ? s->at + i : s->at;
	struct sized z = {0};
	int rc;

	while (k < s->n && strcmp(s->v[k].key, s->v[i].key) != 0)
		k++;
	p->set = (struct compare_set){p->v, 2};
	rc = side(s, i, s->at, s->v[i].key, 0, &p->v[0]);
	rc = rc < 0 ? rc : side(s, k, s->n, s->v[i].key, 1, &p->v[1]);
	*used = p->v[0].n ? p->v[0].n : 1;
	if (rc >= 0 && p->v[1].n)
		rc = find_sizes(p->v[0].runs[0], p->v[1].runs[0], &z);
	if (rc >= 0 && z.n > 1)
		lend_sizes(p, &z);
	free(z.v[0]);
	free(z.v[1]);
	return rc;
}

static void pair_fini(struct pair *p)
{
	compare_rows_fini(&p->rows);
	for (int k = 0; k < 2; k++) {
		free(p->v[k].runs); /* the runs are lent */
		free(p->v[k].values);
		free(p->v[k].name);
	}
}

/* ---- output ---- */

static void put_head(const struct compare_cfg *c, const struct split *s, struct buf *out)
{
	struct jw w = jw_init(out);

	if (!c->json) {
		buf_printf(out, "two configurations in %s\n", c->sides.v[0]);
		for (int k = 0; k < 2; k++) {
			size_t n = k ? s->n - s->at : s->at;

			buf_printf(out, "  %c  %zu report%s from line %llu on: ", "AB"[k], n,
				   n == 1 ? "" : "s", (unsigned long long)s->v[k ? s->at : 0].line);
			safe_put(out, s->name[k], strlen(s->name[k]));
			buf_putc(out, '\n');
		}
		return;
	}
	buf_puts(out, "{\"file\":");
	jw_str(&w, NULL, c->sides.v[0]);
	for (int k = 0; k < 2; k++) {
		buf_printf(out, ",\"%c\":", "ab"[k]);
		w = jw_init(out);
		jw_obj(&w, NULL);
		jw_str(&w, "heading", s->name[k]);
		jw_u64(&w, "line", s->v[k ? s->at : 0].line);
		jw_u64(&w, "reports", k ? s->n - s->at : s->at);
		jw_end_obj(&w);
	}
	buf_puts(out, ",\"pairs\":[");
}

static void put_pair(const struct compare_cfg *c, const struct report *r, const struct pair *p,
		     bool first, struct buf *out)
{
	if (c->json) {
		buf_printf(out, "%s{\"kind\":\"%s\",\"comparison\":", first ? "" : ",", r->key);
		compare_json(&p->c, &p->set, &p->rows, out);
		buf_putc(out, '}');
		return;
	}
	buf_printf(out, "\n== %s", r->key);
	if (p->what)
		buf_printf(out, ", %s paired over sizes", p->what);
	if (r->title) {
		buf_puts(out, ": ");
		safe_put(out, r->title, strlen(r->title));
	}
	buf_putc(out, '\n');
	compare_print(&p->c, &p->set, &p->rows, out);
}

static int judge_all(const struct compare_cfg *c, const struct split *s, struct buf *out, int *code,
		     struct weir_err *e)
{
	bool first = true;
	size_t used;
	int rc = 0;

	for (size_t i = 0; i < s->at && rc >= 0; i += used) {
		struct pair p = {.c = *c};
		struct weir_err why = {0};

		rc = make_pair(s, i, &p, &used);
		if (rc >= 0 && p.v[1].n && compare_judge(&p.c, &p.set, &p.rows, &why) >= 0) {
			int one = compare_exit(&p.c, &p.rows);

			put_pair(c, &s->v[i], &p, first, out);
			first = false;
			*code = *code ? *code : one;
		}
		pair_fini(&p);
	}
	if (rc >= 0 && first)
		rc = err_set(e, WEIR_FORMAT, ENOENT, "the parts have no metric in common");
	return rc;
}

int compare_split(const struct compare_cfg *c, struct buf *out, int *code, struct weir_err *e)
{
	struct split s = {0};
	int rc = 0;

	if (c->sides.n != 1 || c->values || c->baseline)
		return err_set(e, WEIR_USAGE, EINVAL, "--split takes one file");
	rc = cmd_read_file(c->sides.v[0], take, NULL, &s, NULL, e);
	if (rc >= 0)
		rc = find_parts(&s, c->sides.v[0], e);
	if (rc >= 0) {
		find_names(&s);
		put_head(c, &s, out);
		rc = judge_all(c, &s, out, code, e);
		if (c->json)
			buf_puts(out, "]}\n");
	}
	fini(&s);
	return rc < 0 ? rc : 0;
}
