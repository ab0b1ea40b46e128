/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command's options are rows of a table. This file turns text into the fields of a config
 * struct by those rows, from a command line, key=value or JSON, and back into JSON; every
 * complaint names the option, what was given and what would be right.
 */
#include "base/priv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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

/* ---- values in an option's own syntax -------------------------------------- */

struct scale {
	char text[4];
	int64_t by;
};
static const struct scale time_scales[] = {{"d", 86400 * NSEC_PER_SEC},
					   {"h", 3600 * NSEC_PER_SEC},
					   {"m", 60 * NSEC_PER_SEC},
					   {"s", NSEC_PER_SEC},
					   {"ms", NSEC_PER_MSEC},
					   {"us", NSEC_PER_USEC},
					   {"ns", 1}};
static const struct scale size_scales[] = {
	{"T", 1LL << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}};
static const struct scale count_scales[] = {
	{"T", 1000000000000}, {"G", 1000000000}, {"M", 1000000}, {"k", 1000}, {"", 1}};
static const struct scale plain_scales[] = {{"", 1}};

static const struct scale *scales_of(enum opt_type type)
{
	switch (type) {
	case OPT_TIME:
		return time_scales;
	case OPT_SIZE:
		return size_scales;
	case OPT_RATE:
	case OPT_COUNT:
		return count_scales;
	default:
		return plain_scales;
	}
}

/* As a user would write it: the largest prefix that leaves a whole number. */
static void write_value(char dst[32], enum opt_type type, int64_t v)
{
	const struct scale *s = scales_of(type);
	while (s->by > 1 && (v == 0 || v % s->by))
		s++;
	snprintf(dst, 32, "%lld%s", (long long)(v / s->by), v ? s->text : "");
}

static void limits_of(const struct opt *o, int64_t *min, int64_t *max)
{
	*min = o->min;
	*max = o->max ? o->max : o->min >= 0 ? INT64_MAX : 0;
}

/* "1 to 128" or "1 or more" */
static void write_range(char dst[96], const struct opt *o)
{
	char low[32], high[32];
	int64_t min, max;
	limits_of(o, &min, &max);
	write_value(low, o->type, min);
	write_value(high, o->type, max);
	if (max == INT64_MAX)
		snprintf(dst, 96, "%s or more", low);
	else
		snprintf(dst, 96, "%s to %s", low, high);
}

static void quote(char dst[64], const char *value)
{
	safe_str(dst, 64, value, strlen(value));
}

static int check_range(const struct opt *o, int64_t v, const char *value, struct weir_err *e)
{
	char text[64], range[96];
	int64_t min, max;
	limits_of(o, &min, &max);
	if (v >= min && v <= max)
		return 0;
	quote(text, value);
	write_range(range, o);
	return err_set(e, WEIR_USAGE, ERANGE, "%s is out of range; use %s", text, range);
}

static int parse_int(const struct opt *o, const char *s, int64_t *v, struct weir_err *e)
{
	const char *digits = s + (*s == '-');
	bool hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
	char *end = NULL, text[64], range[96];
	errno = 0;
	if (*digits >= '0' && *digits <= '9')
		*v = strtoll(s, &end, hex ? 16 : 10);
	if (end && !*end && !errno)
		return 0;
	quote(text, s);
	write_range(range, o);
	return err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is not a whole number; use %s", text, range);
}

static int parse_number(const struct opt *o, const char *s, int64_t *v, struct weir_err *e)
{
	uint64_t u = 0;
	int rc;
	if (o->type == OPT_INT)
		return parse_int(o, s, v, e);
	if (o->type == OPT_TIME)
		return unit_parse_time(s, v, e);
	if (o->type == OPT_SIZE)
		rc = unit_parse_size(s, &u, e);
	else if (o->type == OPT_RATE)
		rc = unit_parse_rate(s, &u, e);
	else
		rc = unit_parse_count(s, &u, e);
	*v = (int64_t)u; /* the unit parsers give no more than INT64_MAX */
	return rc;
}

/* ---- one assigner a type ----------------------------------------------------- */

/* value is NULL when the option stands alone (a flag, or OPT_OPTARG). */
typedef int assign_fn(const struct opt *o, void *field, const char *value, struct weir_err *e);

static int assign_flag(const struct opt *o, void *field, const char *value, struct weir_err *e)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
	(void)o;
	for (size_t i = 0; value && i < ARRAY_LEN(words); i++)
		if (!strcmp(value, words[i])) {
			*(bool *)field = i & 1;
			return 0;
		}
	*(bool *)field = true;
	if (!value)
		return 0;
	char text[64];
	quote(text, value);
	return err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is neither yes nor no", text);
}

static int assign_number(const struct opt *o, void *field, const char *value, struct weir_err *e)
{
	int64_t v = o->min;
	int rc = value ? parse_number(o, value, &v, e) : 0;
	if (!rc)
		rc = check_range(o, v, value ? value : "nothing", e);
	if (!rc)
		*(int64_t *)field = v;
	return rc;
}

static int assign_str(const struct opt *o, void *field, const char *value, struct weir_err *e)
{
	(void)o;
	char *copy = strdup(value ? value : "");
	if (!copy)
		return err_os(e, ENOMEM, "an option");
	free(*(char **)field);
	*(char **)field = copy;
	return 0;
}

static int not_a_choice(const struct opt *o, const char *value, struct weir_err *e)
{
	char text[64];
	struct buf all = {.max = 128};
	quote(text, value);
	for (size_t i = 0; o->choices[i]; i++)
		buf_printf(&all, "%s%s", i ? ", " : "", o->choices[i]);
	int rc = err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is not known; use %s%s", text,
			 all.data ? all.data : "", all.failed ? ", ..." : "");
	buf_fini(&all);
	return rc;
}

static int assign_enum(const struct opt *o, void *field, const char *value, struct weir_err *e)
{
	int i = 0;
	if (!value)
		i = 1; /* the first choice is what absence means: off, auto */
	else
		while (o->choices[i] && strcmp(o->choices[i], value) != 0)
			i++;
	if (!o->choices[i])
		return not_a_choice(o, value ? value : "", e);
	*(int *)field = i;
	return 0;
}

static void list_clear(struct opt_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct opt_list){0};
}

/* v is kept with a NULL at its end, so that it can be an argv; room doubles. */
static int assign_list(const struct opt *o, void *field, const char *value, struct weir_err *e)
{
	(void)o;
	struct opt_list *l = field;
	size_t need = l->n + 2;
	bool full = !l->v || (need & (need - 1)) == 0;
	char **v = full ? realloc(l->v, 2 * need * sizeof(*v)) : l->v;
	if (v)
		l->v = v;
	char *copy = v ? strdup(value ? value : "") : NULL;
	if (!copy)
		return err_os(e, ENOMEM, "an option");
	v[l->n++] = copy;
	v[l->n] = NULL;
	return 0;
}

static int assign_func(const struct opt *o, void *field, const char *value, struct weir_err *e)
{
	int rc = o->func(field, value, e);
	if (!rc || !e || e->code)
		return rc;
	char text[64];
	quote(text, value ? value : "");
	return err_set(e, WEIR_USAGE, -rc, "\"%s\" is not valid", text);
}

static const struct {
	assign_fn *assign;
	size_t size; /* of the field, where it is a plain value */
} types[] = {
	[OPT_FLAG] = {assign_flag, sizeof(bool)},
	[OPT_INT] = {assign_number, sizeof(int64_t)},
	[OPT_SIZE] = {assign_number, sizeof(int64_t)},
	[OPT_RATE] = {assign_number, sizeof(int64_t)},
	[OPT_TIME] = {assign_number, sizeof(int64_t)},
	[OPT_COUNT] = {assign_number, sizeof(int64_t)},
	[OPT_STR] = {assign_str, 0},
	[OPT_ENUM] = {assign_enum, sizeof(int)},
	[OPT_LIST] = {assign_list, 0},
	[OPT_FUNC] = {assign_func, 0},
};

static const char *metavar_of(const struct opt *o)
{
	return o->metavar ? o->metavar : "VALUE";
}

/* Names the option in front of a complaint; a secret's complaint must not show its value. */
static int blame(const struct opt *o, const char *dashes, int rc, struct weir_err *e)
{
	if (!e)
		return rc;
	if (o->flags & OPT_SECRET)
		err_set(e, WEIR_USAGE, -rc, "the value is not valid");
	if (o->flags & OPT_POSITIONAL)
		err_wrap(e, "%s", metavar_of(o));
	else
		err_wrap(e, "%s%s", dashes, o->name);
	if (e->domain != WEIR_OS)
		e->domain = WEIR_USAGE;
	return rc;
}

static int assign(const struct opt_ref *r, const char *dashes, const char *value,
		  struct weir_err *e)
{
	if (e)
		e->code = 0;
	int rc = types[r->o->type].assign(r->o, r->field, value, e);
	return rc ? blame(r->o, dashes, rc, e) : 0;
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
			memset(r.field, 0, types[r.o->type].size);
		if (r.o->fallback)
			rc = assign(&r, "--", r.o->fallback, e);
	}
	return rc;
}

void opt_fini(const struct opt_set *sets, size_t n)
{
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (r.o->type == OPT_LIST)
			list_clear(r.field);
		if (r.o->type != OPT_STR)
			continue;
		free(*(char **)r.field);
		*(char **)r.field = NULL;
	}
}

/* ---- finding a row ----------------------------------------------------------- */

static bool find_name(const struct opt_set *sets, size_t n, const char *name, size_t len,
		      struct opt_ref *r)
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
	unsigned best = 2 + (unsigned)len / 5;
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

static int unknown(const struct opt_set *sets, size_t n, const char *dashes, const char *name,
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
		list_clear(r->field); /* what is given replaces the default */
	p->seen[r->index] = true;
	return assign(r, dashes, value, p->e);
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
	return err_set(p->e, WEIR_USAGE, EINVAL, "--%s: %s is missing", r->o->name,
		       metavar_of(r->o));
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
	if (find_name(p->sets, p->n, name, len, &r) && !(r.o->flags & OPT_POSITIONAL))
		return take_with_value(p, &r, eq ? eq + 1 : NULL);
	if (!strcmp(name, "help"))
		return asked_for_help(p);
	if (len > 3 && !memcmp(name, "no-", 3) && !eq &&
	    find_name(p->sets, p->n, name + 3, len - 3, &r) && r.o->type == OPT_FLAG)
		return take(p, &r, "--", "false");
	return unknown(p->sets, p->n, "--", name, len, p->e);
}

static int parse_letters(struct parse *p, const char *s)
{
	int rc = 0;
	for (; !rc && *s; s++) {
		struct opt_ref r;
		if (!find_letter(p->sets, p->n, *s, &r))
			return *s == 'h' ? asked_for_help(p)
					 : unknown(p->sets, p->n, "-", s, 1, p->e);
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
		quote(text, p->argv[p->i]);
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
			       place ? metavar_of(r.o) : r.o->name, r.o->help);
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

/* ---- key=value and JSON ------------------------------------------------------- */

int opt_set_value(const struct opt_set *sets, size_t n, const char *name, const char *value,
		  struct weir_err *e)
{
	struct opt_ref r;
	if (!find_name(sets, n, name, strlen(name), &r))
		return unknown(sets, n, "", name, strlen(name), e);
	if (value || stands_alone(r.o))
		return assign(&r, "", value, e);
	return err_set(e, WEIR_USAGE, EINVAL, "%s: %s is missing", name, metavar_of(r.o));
}

static int wrong_type(const struct opt *o, const char *right, struct weir_err *e)
{
	return blame(o, "", err_set(e, WEIR_USAGE, EINVAL, "the value should be %s", right), e);
}

static int number_from_json(const struct opt_ref *r, const struct js *v, struct weir_err *e)
{
	const double most = 9.2e9; /* seconds in an int64 of nanoseconds */
	int64_t i;
	double d;
	char text[40];
	if (r->o->type == OPT_TIME && js_f64(v, &d) && fabs(d) < most)
		i = llround(d * 1e9);
	else if (r->o->type == OPT_TIME || !js_i64(v, &i))
		return wrong_type(r->o, "a number in range", e);
	write_value(text, r->o->type, i);
	int rc = check_range(r->o, i, text, e);
	if (rc)
		return blame(r->o, "", rc, e);
	*(int64_t *)r->field = i;
	return 0;
}

static int list_from_json(const struct opt_ref *r, const struct js *v, struct weir_err *e)
{
	int rc = 0;
	list_clear(r->field);
	for (size_t i = 0; !rc && i < js_len(v); i++) {
		const char *s = js_str(js_at(v, i), NULL);
		rc = s ? assign(r, "", s, e) : wrong_type(r->o, "an array of strings", e);
	}
	return rc;
}

/* A row's own parser gets text, so structure reaches it as compact JSON. */
static int func_from_json(const struct opt_ref *r, const struct js *v, struct weir_err *e)
{
	struct buf text = {0};
	js_dump(v, &text);
	char *s = buf_take(&text);
	int rc = s ? assign(r, "", s, e) : err_os(e, ENOMEM, "an option");
	free(s);
	return rc;
}

static int row_from_json(const struct opt_ref *r, const struct js *v, struct weir_err *e)
{
	enum js_type type = js_type(v);
	const char *s = js_str(v, NULL);
	if (type == JS_NULL || (s && r->o->flags & OPT_SECRET && !strcmp(s, "***")))
		return 0; /* not given, or redacted by opt_to_json() */
	if (s)
		return assign(r, "", s, e);
	if (type == JS_BOOL && r->o->type == OPT_FLAG) {
		js_bool(v, r->field);
		return 0;
	}
	if ((type == JS_INT || type == JS_REAL) && types[r->o->type].assign == assign_number)
		return number_from_json(r, v, e);
	if (type == JS_ARR && r->o->type == OPT_LIST)
		return list_from_json(r, v, e);
	if (r->o->type == OPT_FUNC)
		return func_from_json(r, v, e);
	return wrong_type(r->o, r->o->type == OPT_FLAG ? "true or false" : "text", e);
}

int opt_from_json(const struct opt_set *sets, size_t n, const struct js *obj, struct weir_err *e)
{
	void *it = NULL;
	const char *key;
	const struct js *v;
	int rc = 0;
	if (js_type(obj) != JS_OBJ)
		return err_set(e, WEIR_USAGE, EINVAL, "the options are not a JSON object");
	while (!rc && js_each(obj, &it, &key, &v)) {
		struct opt_ref r;
		if (find_name(sets, n, key, strlen(key), &r))
			rc = row_from_json(&r, v, e);
		else
			rc = unknown(sets, n, "", key, strlen(key), e);
	}
	return rc;
}

static bool is_fallback(const struct opt *o, const void *field)
{
	union {
		int64_t number;
		int choice;
		bool flag;
	} usual = {0};
	if (o->type == OPT_STR) {
		const char *s = *(char *const *)field;
		return s && o->fallback ? !strcmp(s, o->fallback) : !s && !o->fallback;
	}
	if (o->type == OPT_LIST) {
		const struct opt_list *l = field;
		return o->fallback ? l->n == 1 && !strcmp(l->v[0], o->fallback) : !l->n;
	}
	if (o->fallback && types[o->type].assign(o, &usual, o->fallback, NULL))
		return false;
	return !memcmp(&usual, field, types[o->type].size);
}

static void list_to_json(struct jw *w, const char *key, const struct opt_list *l)
{
	jw_arr(w, key);
	for (size_t i = 0; i < l->n; i++)
		jw_str(w, NULL, l->v[i]);
	jw_end_arr(w);
}

static void row_to_json(const struct opt *o, const void *field, struct jw *w)
{
	switch (o->type) {
	case OPT_FLAG:
		jw_bool(w, o->name, *(const bool *)field);
		break;
	case OPT_STR:
		jw_str(w, o->name, *(char *const *)field);
		break;
	case OPT_ENUM:
		jw_str(w, o->name, o->choices[*(const int *)field]);
		break;
	case OPT_LIST:
		list_to_json(w, o->name, field);
		break;
	case OPT_TIME:
		jw_f64(w, o->name, (double)*(const int64_t *)field / 1e9);
		break;
	case OPT_FUNC:
		if (o->func_json)
			o->func_json(w, o->name, field);
		break;
	case OPT_INT:
	case OPT_SIZE:
	case OPT_RATE:
	case OPT_COUNT:
		jw_i64(w, o->name, *(const int64_t *)field);
		break;
	}
}

void opt_to_json(const struct opt_set *sets, size_t n, struct jw *w)
{
	for (struct opt_ref r = {0}; opt_next(sets, n, &r);) {
		if (r.o->type != OPT_FUNC && is_fallback(r.o, r.field))
			continue;
		if (r.o->flags & OPT_SECRET)
			jw_str(w, r.o->name, "***");
		else
			row_to_json(r.o, r.field, w);
	}
}
