/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which configuration runs when. The problem: what drifts (warmth, neighbours, time of day) must
 * hit all configurations alike, and nobody may choose the order. The idea: the order follows from
 * a seed and the block's number alone, so that it need not be stored to be resumed. Two
 * configurations: a coin for each pair. More: a random order, then the same backwards, so that a
 * linear drift cancels over two blocks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "try/try.h"

size_t try_variants(const struct try_design *d)
{
	size_t n = 1;

	if (d->same)
		return 2;
	for (size_t i = 0; i < d->n_factors; i++)
		n *= d->factors[i].n_levels;
	return n;
}

size_t try_each(const struct try_design *d)
{
	return d->each ? d->each : 1;
}

size_t try_block(const struct try_design *d)
{
	return try_variants(d) * try_each(d);
}

/* The last factor runs fastest. A/A: both variants are the first level. */
size_t try_level(const struct try_design *d, size_t variant, size_t factor)
{
	if (d->same)
		return 0;
	for (size_t i = d->n_factors; i-- > factor + 1;)
		variant /= d->factors[i].n_levels;
	return variant % d->factors[factor].n_levels;
}

void try_variant_name(const struct try_design *d, size_t variant, struct buf *b)
{
	if (d->same) {
		buf_printf(b, "A%zu", variant + 1);
		return;
	}
	for (size_t i = 0; i < d->n_factors; i++) {
		buf_puts(b, i ? "+" : "");
		buf_puts(b, d->factors[i].levels[try_level(d, variant, i)]);
	}
}

static void swap(size_t *a, size_t *b)
{
	size_t t = *a;

	*a = *b;
	*b = t;
}

void try_order(const struct try_design *d, size_t block, size_t out[TRY_VARIANTS_MAX])
{
	size_t n = try_variants(d);
	bool mirrored = n > 2 && block % 2;
	struct model_rng rng;

	model_rng_seed(&rng, d->seed, n > 2 ? block / 2 : block);
	for (size_t i = 0; i < n; i++)
		out[i] = i;
	for (size_t i = n; i-- > 1;)
		swap(&out[i], &out[model_rng_below(&rng, (uint32_t)i + 1)]);
	for (size_t i = 0; mirrored && i < n / 2; i++)
		swap(&out[i], &out[n - 1 - i]);
}

size_t try_variant_at(const struct try_design *d, size_t i)
{
	size_t order[TRY_VARIANTS_MAX], n = try_block(d);

	try_order(d, i / n, order);
	return order[i % n / try_each(d)];
}

/* ---- the words of a run ---- */

struct words {
	char **v;
	size_t n;
	bool failed;
};

static void add_word(struct words *w, const char *s)
{
	char *copy = strdup(s);

	if (copy)
		w->v[w->n++] = copy;
	else
		w->failed = true;
}

/* The last one counts, so that a level wins over the command's own. */
static void add_options(struct words *w, const struct try_design *d, size_t variant)
{
	for (size_t i = 0; i < d->n_factors; i++) {
		const struct try_factor *f = &d->factors[i];
		struct buf b = {0};

		if (f->kind != TRY_OPTION)
			continue;
		buf_printf(&b, "--%s=%s", f->name, f->levels[try_level(d, variant, i)]);
		if (b.data && !b.failed)
			add_word(w, b.data);
		else
			w->failed = true;
		buf_fini(&b);
	}
}

/* After "--" an option would be a plain word. */
char **try_words(const struct try_design *d, size_t variant, char *const *command, size_t n)
{
	struct words w = {.v = calloc(n + TRY_FACTORS_MAX + 1, sizeof(char *))};
	size_t i = 0;

	if (!w.v)
		return NULL;
	for (; i < n && strcmp(command[i], "--") != 0; i++)
		add_word(&w, command[i]);
	add_options(&w, d, variant);
	for (; i < n; i++)
		add_word(&w, command[i]);
	if (w.failed) {
		try_words_free(w.v);
		return NULL;
	}
	return w.v;
}

void try_words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* ---- as text ---- */

static const char *const kind_names[] = {"option", "knob", "shell", "hand", NULL};

static void factor_json(const struct try_factor *f, struct jw *w)
{
	jw_obj(w, NULL);
	jw_str(w, "kind", kind_names[f->kind]);
	jw_str(w, "name", f->name);
	jw_arr(w, "levels");
	for (size_t i = 0; i < f->n_levels; i++)
		jw_str(w, NULL, f->levels[i]);
	jw_end_arr(w);
	if (f->kind == TRY_SHELL) {
		jw_arr(w, "commands");
		for (size_t i = 0; i < f->n_levels; i++)
			jw_str(w, NULL, f->commands[i]);
		jw_end_arr(w);
	}
	jw_end_obj(w);
}

void try_design_json(const struct try_design *d, struct buf *b)
{
	struct jw w = jw_init(b);

	jw_arr(&w, NULL);
	for (size_t i = 0; i < d->n_factors; i++)
		factor_json(&d->factors[i], &w);
	jw_end_arr(&w);
}

static int bad_text(struct weir_err *e)
{
	return err_set(e, WEIR_FORMAT, EBADMSG, "the stored experiment is not readable");
}

static bool plain_name(const char *s)
{
	return s && *s && s[0] != '-' && !strpbrk(s, "= \t\n");
}

static int read_factor(struct try_factor *f, const struct js *v, struct weir_err *e)
{
	const char *kind = js_str(js_get(v, "kind"), NULL), *name = js_str(js_get(v, "name"), NULL);
	const struct js *levels = js_get(v, "levels");
	int k = kind ? model_name_find(kind_names, kind) : -ENOENT;

	if (k < 0 || !plain_name(name) || js_type(levels) != JS_ARR || js_len(levels) < 2 ||
	    js_len(levels) > TRY_LEVELS_MAX)
		return bad_text(e);
	if (k == TRY_KNOB || k == TRY_SHELL) {
		err_set(e, WEIR_USAGE, EPERM,
			"what this experiment changes must be said again: nothing is run or set "
			"from a database");
		return err_hint(e, "repeat --vary, --a and --b, and the command after --");
	}
	f->kind = (enum try_kind)k;
	f->name = strdup(name);
	for (size_t i = 0; i < js_len(levels); i++) {
		const char *s = js_str(js_at(levels, i), NULL);

		f->levels[f->n_levels] = strdup(s ? s : "");
		if (!f->levels[f->n_levels++])
			return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	}
	return f->name ? 0 : err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

int try_design_read(struct try_design *d, const char *json, struct weir_err *e)
{
	struct js_doc *doc = NULL;
	int rc = js_parse(json, strlen(json), &js_limits_file, &doc, e);
	const struct js *root = rc < 0 ? NULL : js_root(doc);

	if (rc >= 0 && (js_type(root) != JS_ARR || js_len(root) > TRY_FACTORS_MAX))
		rc = bad_text(e);
	for (size_t i = 0; rc >= 0 && i < js_len(root); i++)
		rc = read_factor(&d->factors[d->n_factors++], js_at(root, i), e);
	js_free(doc);
	if (rc < 0)
		try_design_fini(d);
	return rc;
}

void try_design_fini(struct try_design *d)
{
	for (size_t i = 0; i < d->n_factors; i++)
		try_factor_fini(&d->factors[i]);
	d->n_factors = 0;
}
