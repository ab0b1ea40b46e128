/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every sample of the corpus yields the figures that a person read in it. What is expected is in
 * tests/data/readers/<kind>.expect; the samples are other people's text and are read where
 * WEIR_CORPUS says. A sample whose kind has no reader yet is named and counted.
 *
 *   = FILE REPORTS           what follows is of that sample; own/… is beside the .expect file
 *   NUMBER METRIC[:WORD]… VALUE|unknown [TOLERANCE]
 *                            a figure of a report (from 0); words: up down sender receiver device
 *                            near far flow=N size=N …, a statistic. All figures of a metric have
 *                            to be there, unless the file says "NUMBER METRIC …" with more.
 *   NUMBER ~METRIC[:WORD]… VALUE…   the intervals, in order (no flow said: those of the whole)
 *   NUMBER !CODE…            all warnings of that report, and no others
 *   NUMBER @PREFIX           how the text of its span begins
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

struct want {
	char file[128];
	size_t reports;
	char *lines; /* its text */
};
struct check {
	const struct want *w;
	const char *text;
	size_t n; /* reports seen */
	size_t bad;
};

static const char *corpus(void)
{
	return getenv("WEIR_CORPUS");
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *s = NULL;
	long size;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	s = calloc(1, (size_t)size + 1);
	if (s)
		*n = fread(s, 1, (size_t)size, f);
	fclose(f);
	return s;
}

/* ---- one figure ---- */

static bool word_of(const char *word, struct model_dims *d, enum model_stat *stat)
{
	const char *eq = strchr(word, '=');

	for (int i = 0; i < DIM_MAX; i++) {
		const struct model_dim *m = model_dim((enum model_dim_id)i);

		if (eq && strlen(m->name) == (size_t)(eq - word) &&
		    !strncmp(m->name, word, (size_t)(eq - word))) {
			*d = model_dims_with(*d, (enum model_dim_id)i, atoll(eq + 1));
			return true;
		}
		for (int k = 0; m->type == MODEL_DIM_ENUM && m->values[k]; k++)
			if (!strcmp(m->values[k], word)) {
				*d = model_dims_with(*d, (enum model_dim_id)i, k);
				return true;
			}
	}
	for (int s = 0; s < STAT_NUM; s++)
		if (!strcmp(model_stat_name((enum model_stat)s), word)) {
			*stat = (enum model_stat)s;
			return true;
		}
	return false;
}

static bool spec(char *s, struct model_dims *d, enum model_stat *stat)
{
	char *save = NULL;

	*d = DIMS_NONE;
	*stat = STAT_VALUE;
	strtok_r(s, ":", &save);
	for (char *w = strtok_r(NULL, ":", &save); w; w = strtok_r(NULL, ":", &save))
		if (!word_of(w, d, stat)) {
			fprintf(stderr, "unknown word %s\n", w);
			return false;
		}
	return true;
}

static bool near(double got, double want, double tol)
{
	return fabs(got - want) <= tol * fmax(fabs(want), 1e-12) + 1e-12;
}

/* Same flow (or none), and all dimensions that are asked for. */
static bool fits(const struct model_dims *got, const struct model_dims *want)
{
	return ((got->has ^ want->has) >> DIM_FLOW & 1) == 0 && model_dims_match(got, want);
}

static void complain(struct check *c, size_t i, const char *what, const char *line)
{
	fprintf(stderr, "%s: report %zu: %s: %s\n", c->w->file, i, what, line);
	c->bad++;
}

static void check_figure(struct check *c, const struct format_found *f, char *metric, char *rest,
			 const char *line)
{
	struct model_dims d;
	enum model_stat stat;
	char *end;
	bool unknown = !strncmp(rest, "unknown", 7);
	double want = unknown ? 0 : strtod(rest, &end), tol = 1e-6;

	if (!spec(metric, &d, &stat)) {
		complain(c, c->n, "what is", line);
		return;
	}
	if (!unknown && *end)
		tol = strtod(end, NULL) > 0 ? strtod(end, NULL) : tol;
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		if (strcmp(g->metric, metric) != 0 || g->stat != stat || !fits(&g->dims, &d))
			continue;
		if (unknown ? g->state == MODEL_UNKNOWN
			    : g->state == MODEL_KNOWN && near(g->value, want, tol))
			return;
	}
	complain(c, c->n, "not found", line);
}

static void check_series(struct check *c, const struct format_found *f, char *metric, char *rest,
			 const char *line)
{
	struct model_dims d;
	enum model_stat stat;
	size_t col = 0;

	if (!spec(metric, &d, &stat)) {
		complain(c, c->n, "what is", line);
		return;
	}
	while (col < f->n_col && strcmp(f->col[col], metric) != 0)
		col++;
	for (size_t i = 0; i < f->n_row && col < f->n_col; i++) {
		struct model_dims got = found_dims(f->row[i].dir, f->row[i].view, f->row[i].flow);
		char *end;
		double want;

		if (!fits(&got, &d) || isnan(f->row[i].v[col]) || f->row[i].flags & ROW_OMITTED)
			continue;
		want = strtod(rest, &end);
		if (end == rest || !near(f->row[i].v[col], want, 1e-6)) {
			fprintf(stderr, "interval %zu is %.9g\n", i, f->row[i].v[col]);
			complain(c, c->n, "another interval", line);
			return;
		}
		rest = end;
	}
	if (rest[strspn(rest, " ")])
		complain(c, c->n, "intervals are missing", line);
}

static void check_warnings(struct check *c, const struct format_found *f, const char *codes,
			   const char *line)
{
	char have[512] = " ", want[512], word[64];

	for (size_t i = 0; i < f->n_warn; i++) {
		snprintf(word, sizeof(word), " %s ", model_warn(f->warn[i].code)->code);
		if (!strstr(have, word))
			snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s ", word + 1);
		have[strlen(have) - 1] = ' ';
		if (have[strlen(have) - 2] == ' ')
			have[strlen(have) - 1] = '\0';
	}
	snprintf(want, sizeof(want), " %s ", codes);
	for (size_t i = 0; i < f->n_warn; i++) {
		snprintf(word, sizeof(word), " %s ", model_warn(f->warn[i].code)->code);
		if (!strstr(want, word)) {
			complain(c, c->n, "unexpected warning", word);
			return;
		}
	}
	for (char *save = NULL, *w = strtok_r(want, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		snprintf(word, sizeof(word), " %s ", w);
		if (!strstr(have, word))
			complain(c, c->n, "warning is missing", line);
	}
}

/* As many figures of a metric as are listed. */
static void check_closed(struct check *c, const struct format_found *f)
{
	for (size_t i = 0; i < f->n_fig; i++) {
		size_t have = 0, listed = 0, len = strlen(f->fig[i].metric);
		bool open = false;

		for (size_t k = 0; k < f->n_fig; k++)
			have += !strcmp(f->fig[k].metric, f->fig[i].metric);
		for (const char *p = c->w->lines; p && *p;
		     p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
			char *m;

			if (strtoul(p, &m, 10) != c->n || m == p || *m != ' ' ||
			    strncmp(m + 1, f->fig[i].metric, len) != 0 ||
			    (m[1 + len] != ' ' && m[1 + len] != ':'))
				continue;
			listed++;
			open = open || !strncmp(m + 1 + len, " ...", 4);
		}
		if (listed && !open && listed != have) {
			complain(c, c->n, "more or fewer figures than listed", f->fig[i].metric);
			return;
		}
	}
}

static int on_found(void *arg, const struct format_found *f)
{
	struct check *c = arg;
	char *copy = strdup(c->w->lines), *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *rest, shown[256], *metric;

		snprintf(shown, sizeof(shown), "%s", line);
		if (strtoul(line, &rest, 10) != c->n || rest == line || *rest != ' ')
			continue;
		metric = rest + 1;
		rest = metric + strcspn(metric, " ");
		if (*rest)
			*rest++ = '\0';
		if (*metric == '!')
			check_warnings(c, f, strchr(shown, '!') + 1, shown);
		else if (*metric == '@')
			c->bad += strncmp(c->text + f->from, metric + 1, strlen(metric + 1)) != 0;
		else if (*metric == '~')
			check_series(c, f, metric + 1, rest, shown);
		else if (strncmp(rest, "...", 3) != 0)
			check_figure(c, f, metric, rest, shown);
	}
	free(copy);
	check_closed(c, f);
	c->n++;
	return 0;
}

/* ---- the expectations ---- */

struct wants {
	struct want *v;
	size_t n;
};

static void add_file(struct wants *all, const char *path)
{
	size_t n = 0;
	char *text = slurp(path, &n), *p = text;

	assert_non_null(text);
	while (p && (p = strstr(p, "= "))) {
		struct want *w;
		char *end;

		if (p != text && p[-1] != '\n') {
			p++;
			continue;
		}
		all->v = realloc(all->v, (all->n + 1) * sizeof(*all->v));
		w = &all->v[all->n++];
		*w = (struct want){0};
		assert_int_equal(sscanf(p, "= %127s %zu", w->file, &w->reports), 2);
		p = strchr(p, '\n');
		end = p ? strstr(p, "\n= ") : NULL;
		w->lines = p ? strndup(p + 1, end ? (size_t)(end - p) : strlen(p)) : strdup("");
		p = end ? end + 1 : NULL;
	}
	free(text);
}

static struct wants load(void)
{
	struct wants all = {0};
	DIR *d = opendir(TEST_DATA "/readers");
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[512];

		if (!strstr(e->d_name, ".expect"))
			continue;
		snprintf(path, sizeof(path), "%s/readers/%s", TEST_DATA, e->d_name);
		add_file(&all, path);
	}
	closedir(d);
	return all;
}

static const struct want *find(const struct wants *all, const char *file)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->v[i].file, file))
			return &all->v[i];
	return NULL;
}

/* A sample of ours: what the corpus has none of. */
static bool own(const struct want *w)
{
	return !strncmp(w->file, "own/", 4);
}

/* Number of mistakes in one sample. */
static size_t check_sample(const struct want *w)
{
	char path[1024];
	size_t n = 0;
	struct check c = {.w = w};
	struct format_reading r = {.found = on_found, .arg = &c};
	struct weir_err e = {0};
	char *text;

	snprintf(path, sizeof(path), "%s/%s", own(w) ? TEST_DATA "/readers" : corpus(), w->file);
	text = slurp(path, &n);
	if (!text) {
		fprintf(stderr, "%s: not in the corpus\n", w->file);
		return 1;
	}
	c.text = text;
	assert_int_equal(format_read_string(text, n, &r, NULL, &e), 0);
	if (c.n != w->reports) {
		fprintf(stderr, "%s: %zu reports, not %zu\n", w->file, c.n, w->reports);
		c.bad++;
	}
	free(text);
	return c.bad;
}

static void every_sample(void **state)
{
	struct wants all;
	char path[1024], *index, *save = NULL;
	size_t n = 0, bad = 0, open = 0, done = 0;

	(void)state;
	if (!corpus()) {
		print_message("WEIR_CORPUS is not set: the corpus is not here\n");
		skip();
	}
	all = load();
	snprintf(path, sizeof(path), "%s/INDEX.tsv", corpus());
	index = slurp(path, &n);
	assert_non_null(index);
	for (char *line = strtok_r(index, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const struct want *w;

		line[strcspn(line, "\t")] = '\0';
		if (*line == '#' || !strchr(line, '/'))
			continue;
		w = find(&all, line);
		if (!w) {
			print_message("no reader yet: %s\n", line);
			open++;
			continue;
		}
		done++;
		bad += check_sample(w);
	}
	print_message("%zu samples checked, %zu without a reader\n", done, open);
	free(index);
	for (size_t i = 0; i < all.n; i++)
		free(all.v[i].lines);
	free(all.v);
	assert_int_equal(bad, 0);
}

static void every_own_sample(void **state)
{
	struct wants all = load();
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < all.n; i++) {
		bad += own(&all.v[i]) ? check_sample(&all.v[i]) : 0;
		free(all.v[i].lines);
	}
	free(all.v);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_own_sample),
		cmocka_unit_test(every_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
