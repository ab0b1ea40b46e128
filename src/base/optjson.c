/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON form of a request: every option that differs from its default, in base units, and
 * back. A secret leaves as "***", which is not read back as a value.
 */
#include "base/priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int wrong_type(const struct opt *o, const char *right, struct weir_err *e)
{
	return opt_blame(o, "", err_set(e, WEIR_USAGE, EINVAL, "the value should be %s", right), e);
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
	opt_write_value(text, r->o->type, i);
	int rc = opt_check_range(r->o, i, text, e);
	if (rc)
		return opt_blame(r->o, "", rc, e);
	*(int64_t *)r->field = i;
	opt_mark_given(r, true);
	return 0;
}

static int list_from_json(const struct opt_ref *r, const struct js *v, struct weir_err *e)
{
	int rc = 0;
	opt_list_clear(r->field);
	for (size_t i = 0; !rc && i < js_len(v); i++) {
		const char *s = js_str(js_at(v, i), NULL);
		rc = s ? opt_assign(r, "", s, e) : wrong_type(r->o, "an array of strings", e);
	}
	return rc;
}

/* A row's own parser gets text, so structure reaches it as compact JSON. */
static int func_from_json(const struct opt_ref *r, const struct js *v, struct weir_err *e)
{
	struct buf text = {0};
	js_dump(v, &text);
	char *s = buf_take(&text);
	int rc = s ? opt_assign(r, "", s, e) : err_os(e, ENOMEM, "an option");
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
		return opt_assign(r, "", s, e);
	if (type == JS_BOOL && r->o->type == OPT_FLAG) {
		js_bool(v, r->field);
		return 0;
	}
	if ((type == JS_INT || type == JS_REAL) && opt_is_number(r->o))
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
		if (opt_find(sets, n, key, strlen(key), &r))
			rc = row_from_json(&r, v, e);
		else
			rc = opt_unknown(sets, n, "", key, strlen(key), e);
	}
	return rc;
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
		if (r.o->type != OPT_FUNC && opt_is_fallback(r.o, r.field))
			continue;
		if (r.o->flags & OPT_SECRET)
			jw_str(w, r.o->name, "***");
		else
			row_to_json(r.o, r.field, w);
	}
}
