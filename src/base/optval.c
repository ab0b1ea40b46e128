/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One option's value: from text in the option's own syntax into its field, with its
 * range, and a complaint that says what would be right. One assigner a type.
 */
#include "base/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
void opt_write_value(char dst[32], enum opt_type type, int64_t v)
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
	opt_write_value(low, o->type, min);
	opt_write_value(high, o->type, max);
	if (max == INT64_MAX)
		snprintf(dst, 96, "%s or more", low);
	else
		snprintf(dst, 96, "%s to %s", low, high);
}

static void quote(char dst[64], const char *value)
{
	safe_str(dst, 64, value, strlen(value));
}

int opt_check_range(const struct opt *o, int64_t v, const char *value, struct weir_err *e)
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
		rc = opt_check_range(o, v, value ? value : "nothing", e);
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

void opt_list_clear(struct opt_list *l)
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

size_t opt_field_size(const struct opt *o)
{
	return types[o->type].size;
}

bool opt_is_number(const struct opt *o)
{
	return types[o->type].assign == assign_number;
}

const char *opt_metavar(const struct opt *o)
{
	return o->metavar ? o->metavar : "VALUE";
}

/* Names the option in front of a complaint; a secret's complaint must not show its value. */
int opt_blame(const struct opt *o, const char *dashes, int rc, struct weir_err *e)
{
	if (!e)
		return rc;
	if (o->flags & OPT_SECRET)
		err_set(e, WEIR_USAGE, -rc, "the value is not valid");
	if (o->flags & OPT_POSITIONAL)
		err_wrap(e, "%s", opt_metavar(o));
	else
		err_wrap(e, "%s%s", dashes, o->name);
	if (e->domain != WEIR_OS)
		e->domain = WEIR_USAGE;
	return rc;
}

int opt_assign(const struct opt_ref *r, const char *dashes, const char *value, struct weir_err *e)
{
	if (e)
		e->code = 0;
	int rc = types[r->o->type].assign(r->o, r->field, value, e);
	opt_mark_given(r, !rc);
	return rc ? opt_blame(r->o, dashes, rc, e) : 0;
}

void opt_mark_given(const struct opt_ref *r, bool given)
{
	if (r->o->given)
		*(bool *)((char *)r->field - r->o->offset + r->o->given) = given;
}

bool opt_is_fallback(const struct opt *o, const void *field)
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
