/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jansson reads JSON well but refuses what real peers send (18446744073709551615 for -1,
 * nan, \u0000, bytes that are no UTF-8), and lets a stranger choose depth and size. One
 * linear pass over the text enforces the bounds and rewrites such tokens; what the
 * library then sees is harmless, and its own grammar check stays the only one.
 */
#include "base/priv.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX     512     /* characters of one number */
#define CONTAINERS_MAX 1000000 /* about 200 bytes of memory each, for 2 bytes of text */
#define VALUES_MAX     8000000 /* about 40 bytes each */
#define DEPTH_MAX      1024    /* js_dump() recurses */

struct js_doc {
	json_t *root;
};

const struct js_limits js_limits_file = {.max_bytes = 64 << 20, .max_depth = 64};
const struct js_limits js_limits_params = {.max_bytes = 8 << 10, .max_depth = 16, .lenient = true};

/* ---- the pre-pass --------------------------------------------------------- */

struct scan {
	const char *text, *p, *end;
	struct buf out;
	const struct js_limits *lim;
	int depth;
	uint32_t containers, values;
	struct weir_err *e;
};

static size_t left(const struct scan *s)
{
	return (size_t)(s->end - s->p);
}

static int bad(const struct scan *s, const char *what)
{
	enum weir_domain domain = s->lim->lenient ? WEIR_PEER : WEIR_FORMAT;
	return err_set(s->e, domain, EINVAL, "JSON, byte %zu: %s", (size_t)(s->p - s->text), what);
}

static int over(const struct scan *s, const char *what)
{
	return err_set(s->e, WEIR_LIMIT, EMSGSIZE, "JSON, byte %zu: %s", (size_t)(s->p - s->text),
		       what);
}

static void copy(struct scan *s, size_t n)
{
	n = n < left(s) ? n : left(s);
	buf_put(&s->out, s->p, n);
	s->p += n;
}

/* Writes something else for the next n bytes, where that is allowed. */
static int replace(struct scan *s, size_t n, const char *with, const char *what)
{
	if (!s->lim->lenient)
		return bad(s, what);
	buf_puts(&s->out, with);
	s->p += n;
	return 0;
}

/* The code unit of a \uXXXX at p, or -1. */
static int unicode_escape(const char *p, size_t n)
{
	int v = 0;
	if (n < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		static const char hex[] = "0123456789abcdef0123456789ABCDEF";
		const char *at = p[i] ? strchr(hex, p[i]) : NULL;
		if (!at)
			return -1;
		v = v << 4 | (int)((at - hex) & 15);
	}
	return v;
}

static int clean_escape(struct scan *s)
{
	int unit = unicode_escape(s->p, left(s));
	if (unit == 0)
		return replace(s, 6, "\\ufffd", "\\u0000 in a string");
	if (unit >= 0xd800 && unit <= 0xdfff) {
		int low = unicode_escape(s->p + 6, left(s) - 6);
		if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
			return replace(s, 6, "\\ufffd", "half a surrogate pair in a string");
		copy(s, 12);
		return 0;
	}
	copy(s, unit < 0 ? 2 : 6);
	return 0;
}

static int clean_control(struct scan *s)
{
	unsigned c = (unsigned char)*s->p;
	if (!s->lim->lenient)
		return bad(s, "a control character in a string");
	buf_puts(&s->out, c ? c & 0x10 ? "\\u001" : "\\u000" : "\\ufff");
	buf_putc(&s->out, c ? "0123456789abcdef"[c & 15] : 'd');
	s->p++;
	return 0;
}

static int clean_utf8(struct scan *s)
{
	uint32_t cp;
	size_t len = safe_utf8(s->p, left(s), &cp);
	if (!len)
		return replace(s, 1, "\xef\xbf\xbd", "not UTF-8");
	copy(s, len);
	return 0;
}

static int clean_string(struct scan *s)
{
	int rc = 0;
	copy(s, 1);
	while (!rc && s->p < s->end) {
		const char *run = s->p;
		while (run < s->end && *run != '"' && *run != '\\' && (unsigned char)*run >= 0x20 &&
		       (unsigned char)*run < 0x80)
			run++;
		copy(s, (size_t)(run - s->p));
		if (s->p == s->end)
			break;
		if (*s->p == '"') {
			copy(s, 1);
			break;
		}
		if (*s->p == '\\')
			rc = clean_escape(s);
		else
			rc = (unsigned char)*s->p < 0x20 ? clean_control(s) : clean_utf8(s);
	}
	return rc;
}

static size_t span(const struct scan *s, const char *set)
{
	size_t n = 0;
	while (s->p + n < s->end && s->p[n] && strchr(set, s->p[n]))
		n++;
	return n;
}

static bool overflows(const char *number)
{
	return isinf(strtod(number, NULL));
}

static bool fits_int64(const char *integer)
{
	errno = 0;
	(void)strtoll(integer, NULL, 10);
	return errno != ERANGE;
}

static int clean_number(struct scan *s)
{
	char tmp[NUMBER_MAX + 1];
	size_t n = span(s, "0123456789+-.eE");
	if (n > NUMBER_MAX)
		return replace(s, n, "null", "a number of too many characters");
	if (n < 19 && !memchr(s->p, 'e', n) && !memchr(s->p, 'E', n)) {
		copy(s, n);
		return 0;
	}
	memcpy(tmp, s->p, n);
	tmp[n] = '\0';
	if (overflows(tmp))
		return replace(s, n, "null", "a number out of range");
	if (strpbrk(tmp, ".eE") || fits_int64(tmp)) {
		copy(s, n);
		return 0;
	}
	if (!strcmp(tmp, "18446744073709551615"))
		return replace(s, n, "-1", "a number out of range");
	int rc = replace(s, 0, "", "a number out of range");
	copy(s, n);
	buf_puts(&s->out, ".0"); /* as a real it keeps its magnitude */
	return rc;
}

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static int clean_word(struct scan *s)
{
	static const char *const not_numbers[] = {"nan", "inf", "infinity"};
	size_t sign = *s->p == '-', n = sign;
	while (s->p + n < s->end && is_letter(s->p[n]))
		n++;
	for (size_t i = 0; i < ARRAY_LEN(not_numbers); i++)
		if (n - sign == strlen(not_numbers[i]) &&
		    !strncasecmp(s->p + sign, not_numbers[i], n - sign))
			return replace(s, n, "null", "a value that is not a number");
	copy(s, n);
	return 0;
}

static int clean_open(struct scan *s)
{
	if (++s->depth > s->lim->max_depth || s->depth > DEPTH_MAX)
		return over(s, "nested too deeply");
	if (++s->containers > CONTAINERS_MAX)
		return over(s, "too many arrays and objects");
	copy(s, 1);
	return 0;
}

static int clean_token(struct scan *s)
{
	char c = *s->p;
	if (c == '"')
		return clean_string(s);
	if (c == '{' || c == '[')
		return clean_open(s);
	if (is_letter(c) || (c == '-' && left(s) > 1 && is_letter(s->p[1])))
		return clean_word(s);
	if (c == '-' || (c >= '0' && c <= '9'))
		return clean_number(s);
	s->depth -= c == '}' || c == ']';
	if (c == ',' && ++s->values > VALUES_MAX)
		return over(s, "too many values");
	copy(s, 1);
	return 0;
}

static int clean(struct scan *s)
{
	int rc = 0;
	if (left(s) > s->lim->max_bytes)
		return err_set(s->e, WEIR_LIMIT, EMSGSIZE,
			       "JSON of %zu bytes; at most %zu are read", left(s),
			       s->lim->max_bytes);
	s->out.max = s->lim->max_bytes * 6 + 64; /* a control character becomes six bytes */
	buf_reserve(&s->out, left(s) + 16);
	while (!rc && s->p < s->end)
		rc = clean_token(s);
	if (!rc && s->out.failed)
		rc = err_set(s->e, WEIR_OS, ENOMEM, "no memory for %zu bytes of JSON",
			     (size_t)(s->end - s->text));
	return rc;
}

/* ---- reading -------------------------------------------------------------- */

static int load(const struct scan *s, struct js_doc *d)
{
	json_error_t je;
	d->root = json_loadb(s->out.data, s->out.len, JSON_DECODE_ANY, &je);
	if (d->root)
		return 0;
	char text[160];
	safe_str(text, sizeof(text), je.text, strlen(je.text));
	return err_set(s->e, s->lim->lenient ? WEIR_PEER : WEIR_FORMAT, EINVAL, "JSON, line %d: %s",
		       je.line, text);
}

int js_parse(const char *text, size_t n, const struct js_limits *lim, struct js_doc **out,
	     struct weir_err *e)
{
	struct scan s = {.text = text, .p = text, .end = text + n, .lim = lim, .e = e};
	struct js_doc *d = calloc(1, sizeof(*d));
	*out = NULL;
	if (!d)
		return err_os(e, ENOMEM, "JSON");
	int rc = clean(&s);
	if (!rc)
		rc = load(&s, d);
	buf_fini(&s.out);
	if (rc)
		free(d);
	else
		*out = d;
	return rc;
}

void js_free(struct js_doc *d)
{
	if (d)
		json_decref(d->root);
	free(d);
}

/* A struct js is a json_t under another name: nobody else sees the library. */
static const json_t *in(const struct js *v)
{
	return (const json_t *)(const void *)v;
}

static const struct js *outside(const json_t *v)
{
	return (const struct js *)(const void *)v;
}

/* jansson's iterators want a json_t that they do not write to. */
static json_t *writable(const struct js *v)
{
	return (json_t *)(uintptr_t)v;
}

const struct js *js_root(const struct js_doc *d)
{
	return d ? outside(d->root) : NULL;
}

enum js_type js_type(const struct js *v)
{
	static const enum js_type types[] = {
		[JSON_OBJECT] = JS_OBJ,  [JSON_ARRAY] = JS_ARR, [JSON_STRING] = JS_STR,
		[JSON_INTEGER] = JS_INT, [JSON_REAL] = JS_REAL, [JSON_TRUE] = JS_BOOL,
		[JSON_FALSE] = JS_BOOL,  [JSON_NULL] = JS_NULL};
	return v ? types[json_typeof(in(v))] : JS_NONE;
}

const struct js *js_get(const struct js *obj, const char *key)
{
	return obj ? outside(json_object_get(in(obj), key)) : NULL;
}

const struct js *js_geti(const struct js *obj, const char *key)
{
	const struct js *v = js_get(obj, key);
	void *it = NULL;
	const char *k;
	if (v)
		return v;
	while (js_each(obj, &it, &k, &v))
		if (!strcasecmp(k, key))
			return v;
	return NULL;
}

size_t js_len(const struct js *arr_or_obj)
{
	const json_t *v = in(arr_or_obj);
	return json_is_object(v) ? json_object_size(v) : json_array_size(v);
}

const struct js *js_at(const struct js *arr, size_t i)
{
	return outside(json_array_get(in(arr), i));
}

bool js_each(const struct js *obj, void **it, const char **key, const struct js **val)
{
	json_t *o = writable(obj);
	*it = *it ? json_object_iter_next(o, *it) : json_object_iter(o);
	if (!*it)
		return false;
	*key = json_object_iter_key(*it);
	*val = outside(json_object_iter_value(*it));
	return true;
}

bool js_i64(const struct js *v, int64_t *out)
{
	if (json_is_integer(in(v))) {
		*out = json_integer_value(in(v));
		return true;
	}
	const double limit = 9223372036854775808.0; /* 2^63 */
	double d = json_real_value(in(v));
	if (!json_is_real(in(v)) || d != trunc(d) || d < -limit || d >= limit)
		return false;
	*out = (int64_t)d;
	return true;
}

bool js_f64(const struct js *v, double *out)
{
	if (!json_is_number(in(v)))
		return false;
	*out = json_number_value(in(v));
	return true;
}

bool js_bool(const struct js *v, bool *out)
{
	if (!json_is_boolean(in(v)))
		return false;
	*out = json_is_true(in(v));
	return true;
}

const char *js_str(const struct js *v, size_t *n)
{
	const char *s = json_string_value(in(v));
	if (s && n)
		*n = json_string_length(in(v));
	return s;
}

/* ---- writing a value back -------------------------------------------------- */

static void dump_array(const struct js *v, struct buf *b)
{
	for (size_t i = 0; i < js_len(v); i++) {
		if (i)
			buf_putc(b, ',');
		js_dump(js_at(v, i), b);
	}
}

static void dump_object(const struct js *v, struct buf *b)
{
	void *it = NULL;
	const char *key;
	const struct js *member;
	for (bool more = false; js_each(v, &it, &key, &member); more = true) {
		if (more)
			buf_putc(b, ',');
		jw_put_string(b, key, strlen(key));
		buf_putc(b, ':');
		js_dump(member, b);
	}
}

static void dump_scalar(const struct js *v, struct buf *b)
{
	struct jw w = jw_init(b);
	if (json_is_string(in(v)))
		jw_put_string(b, json_string_value(in(v)), json_string_length(in(v)));
	else if (json_is_integer(in(v)))
		jw_i64(&w, NULL, json_integer_value(in(v)));
	else if (json_is_real(in(v)))
		jw_put_f64(b, json_real_value(in(v)));
	else if (json_is_boolean(in(v)))
		jw_bool(&w, NULL, json_is_true(in(v)));
	else
		jw_null(&w, NULL);
}

void js_dump(const struct js *v, struct buf *b)
{
	enum js_type type = js_type(v);
	if (type != JS_ARR && type != JS_OBJ) {
		dump_scalar(v, b);
		return;
	}
	buf_putc(b, type == JS_ARR ? '[' : '{');
	if (type == JS_ARR)
		dump_array(v, b);
	else
		dump_object(v, b);
	buf_putc(b, type == JS_ARR ? ']' : '}');
}
