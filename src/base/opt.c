/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command's options are rows of a table. This file walks a command line by those rows;
 * every complaint names the option, what was given and what would be right.
 */
#include "base/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 64 /* longer ones are not compared for a suggestion */

bool opt_next(const struct opt_set *sets, size_t n, struct opt_ref *r)
{
	while (r->set < n && r->row >= sets[r->set].n) {
		r->set++;
		r->row = 0;
	}
	if (r->set >= n)
		return false;
	const struct opt_set *s = &sets[r->set];
	r->o = &s->rows[r->row++];
	r->index = r->count++;
	r->field = s->cfg ? (char *)s->cfg + r->o->offset : NULL;
	return true;
}

int opt_defaults(const struct opt_set *sets, size_t n, struct weir_err *e)
{
	int rc = 0;
	for (struct opt_ref r = {0}; !rc && opt_next(sets, n, &r);) {
		if (r.o->type == OPT_STR)
			*(char **)r.field = NULL;
		else if (r.o->type == OPT_LIST)
			*(struct opt_list *)r.field = (struct opt_list){0};
		else
			memset(r.field, 0, opt_field_size(r.o));
		if (r.o->fallback)
			rc = opt_assign(&r, "--", r.o->fallback, e);
		opt_mark_given(&r, false);
	}
	return rc;
}

void opt_fini(const struct opt_set *sets, size_t n)
{
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (r.o->type == OPT_LIST)
			opt_list_clear(r.field);
		if (r.o->type != OPT_STR)
			continue;
		free(*(char **)r.field);
		*(char **)r.field = NULL;
	}
}

/* ---- finding a row ----------------------------------------------------------- */

bool opt_find(const struct opt_set *sets, size_t n, const char *name, size_t len, struct opt_ref *r)
{
	*r = (struct opt_ref){0};
	while (opt_next(sets, n, r))
		if (!strncmp(r->o->name, name, len) && !r->o->name[len])
			return true;
	return false;
}

static bool find_letter(const struct opt_set *sets, size_t n, char letter, struct opt_ref *r)
{
	*r = (struct opt_ref){0};
	while (opt_next(sets, n, r))
		if (r->o->letter == letter)
			return true;
	return false;
}

/* Levenshtein distance, one row at a time; both under NAME_MAX_LEN. */
static unsigned distance(const char *a, size_t la, const char *b, size_t lb)
{
	unsigned row[NAME_MAX_LEN + 1];
	for (unsigned j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 0; i < la; i++) {
		unsigned diagonal = row[0];
		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < lb; j++) {
			unsigned best = diagonal + (a[i] != b[j]);
			diagonal = row[j + 1];
			best = row[j] + 1 < best ? row[j] + 1 : best;
			row[j + 1] = diagonal + 1 < best ? diagonal + 1 : best;
		}
	}
	return row[lb];
}

static const char *nearest(const struct opt_set *sets, size_t n, const char *name, size_t len)
{
	const char *found = NULL;
	unsigned best = len < 4 ? 2 : 3; /* nearer than so many edits */
	if (len < 2 || len > NAME_MAX_LEN)
		return NULL;
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		size_t full = strlen(r.o->name);
		if (full > NAME_MAX_LEN || r.o->flags & (OPT_HIDDEN | OPT_POSITIONAL))
			continue;
		bool begins = !strncmp(r.o->name, name, len);
		unsigned d = begins ? 0 : distance(name, len, r.o->name, full);
		if (d < best || (begins && !found)) {
			best = d;
			found = r.o->name;
		}
	}
	return found;
}

int opt_unknown(const struct opt_set *sets, size_t n, const char *dashes, const char *name,
		size_t len, struct weir_err *e)
{
	char text[64];
	safe_str(text, sizeof(text), name, len);
	const char *other = nearest(sets, n, name, len);
	if (other)
		return err_set(e, WEIR_USAGE, EINVAL, "%s%s: no such option; did you mean %s%s?",
			       dashes, text, dashes, other);
	int rc = err_set(e, WEIR_USAGE, EINVAL, "%s%s: no such option", dashes, text);
	if (e && *dashes)
		err_hint(e, "--help lists the options");
	return rc;
}

/* ---- the command line ---------------------------------------------------------- */

struct parse {
	const struct opt_set *sets;
	size_t n;
	bool *seen; /* by row, over all sets */
	int argc, i;
	char *const *argv;
	struct weir_err *e;
};

static int take(struct parse *p, const struct opt_ref *r, const char *dashes, const char *value)
{
	if (r->o->type == OPT_LIST && !p->seen[r->index])
		opt_list_clear(r->field); /* what is given replaces the default */
	p->seen[r->index] = true;
	return opt_assign(r, dashes, value, p->e);
}

static bool stands_alone(const struct opt *o)
{
	return o->type == OPT_FLAG || o->flags & OPT_OPTARG;
}

/* The option's value: attached, or the next word. */
static int take_with_value(struct parse *p, const struct opt_ref *r, const char *attached)
{
	if (attached || stands_alone(r->o))
		return take(p, r, "--", attached);
	if (p->i + 1 < p->argc)
		return take(p, r, "--", p->argv[++p->i]);
	return err_set(p->e, WEIR_USAGE, EINVAL, "--%s: the value %s is missing", r->o->name,
		       opt_metavar(r->o));
}

static int asked_for_help(struct parse *p)
{
	return err_set(p->e, WEIR_USAGE, ECANCELED, "help was asked for");
}

static int parse_long(struct parse *p, const char *name)
{
	struct opt_ref r;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	if (opt_find(p->sets, p->n, name, len, &r) && !(r.o->flags & OPT_POSITIONAL))
		return take_with_value(p, &r, eq ? eq + 1 : NULL);
	if (!strcmp(name, "help"))
		return asked_for_help(p);
	if (len > 3 && !memcmp(name, "no-", 3) && opt_find(p->sets, p->n, name + 3, len - 3, &r) &&
	    r.o->type == OPT_FLAG)
		return eq ? err_set(p->e, WEIR_USAGE, EINVAL, "--no-%s takes no value", r.o->name)
			  : take(p, &r, "--", "false");
	return opt_unknown(p->sets, p->n, "--", name, len, p->e);
}

static int parse_letters(struct parse *p, const char *s)
{
	int rc = 0;
	for (; !rc && *s; s++) {
		struct opt_ref r;
		if (!find_letter(p->sets, p->n, *s, &r))
			return *s == 'h' ? asked_for_help(p)
					 : opt_unknown(p->sets, p->n, "-", s, 1, p->e);
		if (!stands_alone(r.o))
			return take_with_value(p, &r, s[1] ? s + 1 : NULL);
		rc = take(p, &r, "--", NULL);
	}
	return rc;
}

/* The row that the next positional belongs to. After "--" an OPT_REST row comes first, unless
 * a required one before it still waits. */
static bool next_place(struct parse *p, bool dashes, struct opt_ref *found)
{
	bool any = false;
	for (struct opt_ref r = {0}; opt_next(p->sets, p->n, &r);) {
		bool open = !p->seen[r.index] || r.o->type == OPT_LIST;
		if (!(r.o->flags & OPT_POSITIONAL) || !open)
			continue;
		bool rest = dashes && r.o->flags & OPT_REST;
		if (!any || rest)
			*found = r;
		any = true;
		if (!dashes || rest || r.o->flags & OPT_REQUIRED)
			break;
	}
	return any;
}

static int parse_positional(struct parse *p, bool dashes)
{
	struct opt_ref r;
	char text[64];
	if (!next_place(p, dashes, &r)) {
		safe_str(text, sizeof(text), p->argv[p->i], strlen(p->argv[p->i]));
		return err_set(p->e, WEIR_USAGE, EINVAL, "\"%s\" is one argument too many", text);
	}
	int rc = take(p, &r, "", p->argv[p->i]);
	while (!rc && r.o->flags & OPT_REST && p->i + 1 < p->argc)
		rc = take(p, &r, "", p->argv[++p->i]);
	return rc;
}

static int check_required(struct parse *p)
{
	for (struct opt_ref r = {0}; opt_next(p->sets, p->n, &r);) {
		if (p->seen[r.index] || !(r.o->flags & OPT_REQUIRED))
			continue;
		bool place = r.o->flags & OPT_POSITIONAL;
		return err_set(p->e, WEIR_USAGE, EINVAL, "%s%s is missing: %s", place ? "" : "--",
			       place ? opt_metavar(r.o) : r.o->name, r.o->help);
	}
	return 0;
}

static int parse_words(struct parse *p)
{
	int rc = 0;
	bool dashes = false;
	for (p->i = 1; !rc && p->i < p->argc; p->i++) {
		const char *a = p->argv[p->i];
		if (dashes || a[0] != '-' || !a[1])
			rc = parse_positional(p, dashes);
		else if (a[1] != '-')
			rc = parse_letters(p, a + 1);
		else if (a[2])
			rc = parse_long(p, a + 2);
		else
			dashes = true;
	}
	return rc ? rc : check_required(p);
}

int opt_parse(const struct opt_set *sets, size_t n, int argc, char *const *argv, struct weir_err *e)
{
	size_t rows = 0;
	for (size_t i = 0; i < n; i++)
		rows += sets[i].n;
	struct parse p = {.sets = sets, .n = n, .argc = argc, .argv = argv, .e = e};
	p.seen = calloc(rows + 1, sizeof(*p.seen));
	int rc = p.seen ? parse_words(&p) : err_os(e, ENOMEM, "options");
	free(p.seen);
	return rc;
}

/* ---- key=value -------------------------------------------------------------- */

int opt_set_value(const struct opt_set *sets, size_t n, const char *name, const char *value,
		  struct weir_err *e)
{
	struct opt_ref r;
	if (!opt_find(sets, n, name, strlen(name), &r))
		return opt_unknown(sets, n, "", name, strlen(name), e);
	if (value || stands_alone(r.o))
		return opt_assign(&r, "", value, e);
	return err_set(e, WEIR_USAGE, EINVAL, "%s: the value %s is missing", name,
		       opt_metavar(r.o));
}
