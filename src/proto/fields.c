/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message is one table of rows; this walks it. Whoever adds a key adds a row, and what is
 * written, read and checked cannot drift apart.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "proto/priv.h"

static uint64_t load_uint(const void *p, size_t size)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1:
		memcpy(&u8, p, 1);
		return u8;
	case 2:
		memcpy(&u16, p, 2);
		return u16;
	case 4:
		memcpy(&u32, p, 4);
		return u32;
	default:
		memcpy(&u64, p, 8);
		return u64;
	}
}

static void store_uint(void *p, size_t size, uint64_t v)
{
	uint8_t u8 = (uint8_t)v;
	uint16_t u16 = (uint16_t)v;
	uint32_t u32 = (uint32_t)v;

	switch (size) {
	case 1:
		memcpy(p, &u8, 1);
		break;
	case 2:
		memcpy(p, &u16, 2);
		break;
	case 4:
		memcpy(p, &u32, 4);
		break;
	default:
		memcpy(p, &v, 8);
		break;
	}
}

static bool is_zero(const struct proto_field *f, const void *p)
{
	switch (f->type) {
	case PF_TRUE:
	case PF_ONE:
		return !*(const bool *)p;
	case PF_INT:
		return *(const int64_t *)p == 0;
	case PF_REAL:
		return fpclassify(*(const double *)p) == FP_ZERO;
	case PF_STR:
	case PF_NAME:
		return *(const char *)p == 0;
	default:
		return load_uint(p, f->size) == 0;
	}
}

static void put_one(struct jw *w, const struct proto_field *f, const void *p)
{
	switch (f->type) {
	case PF_TRUE:
		jw_bool(w, f->key, *(const bool *)p);
		break;
	case PF_ONE:
		jw_i64(w, f->key, *(const bool *)p);
		break;
	case PF_INT:
		jw_i64(w, f->key, *(const int64_t *)p);
		break;
	case PF_UINT:
		jw_u64(w, f->key, load_uint(p, f->size));
		break;
	case PF_REAL:
		jw_f64(w, f->key, *(const double *)p);
		break;
	case PF_STR:
	case PF_NAME:
		jw_str(w, f->key, p);
		break;
	case PF_ENUM:
		jw_str(w, f->key, f->names[load_uint(p, f->size)]);
		break;
	}
}

void proto_fields_put(struct jw *w, const struct proto_field *f, size_t n, const void *base)
{
	for (size_t i = 0; i < n; i++) {
		const void *p = (const char *)base + f[i].offset;

		if ((f[i].flags & PF_ALWAYS) || !is_zero(&f[i], p))
			put_one(w, &f[i], p);
	}
}

static bool get_real(const struct js *v, double *out)
{
	int64_t i;

	if (js_i64(v, &i))
		*out = (double)i;
	else if (!js_f64(v, out))
		return false;
	return isfinite(*out);
}

/* A fraction where a whole number belongs is cut, as iperf3 does. */
static bool get_int(const struct js *v, int64_t *out)
{
	double d;

	if (js_i64(v, out))
		return true;
	if (!js_f64(v, &d) || !isfinite(d) || fabs(d) >= 9.2e18)
		return false;
	*out = (int64_t)d;
	return true;
}

static int get_flag(const struct js *v, void *p)
{
	int64_t i;
	bool b;

	if (js_i64(v, &i))
		b = i != 0;
	else if (!js_bool(v, &b))
		return -EINVAL;
	*(bool *)p = b;
	return 0;
}

static int get_number(const struct proto_field *f, const struct js *v, void *p)
{
	int64_t i;

	if (!get_int(v, &i))
		return -EINVAL;
	if (i < f->min || i > f->max)
		return -ERANGE;
	store_uint(p, f->type == PF_INT ? 8 : f->size, (uint64_t)i);
	return 0;
}

static int get_double(const struct proto_field *f, const struct js *v, void *p)
{
	double d;

	if (!get_real(v, &d))
		return -EINVAL;
	if (d < (double)f->min || d > (double)f->max)
		return -ERANGE;
	memcpy(p, &d, sizeof(d));
	return 0;
}

static int get_text(const struct proto_field *f, const struct js *v, char *p)
{
	size_t n;
	const char *s = js_str(v, &n);

	if (!s || (f->type == PF_NAME && n >= f->size))
		return -EINVAL;
	if (n >= f->size)
		n = f->size - 1;
	memcpy(p, s, n);
	p[n] = 0;
	return 0;
}

static int get_enum(const struct proto_field *f, const struct js *v, void *p)
{
	const char *s = js_str(v, NULL);

	if (!s)
		return -EINVAL;
	for (size_t i = 0; f->names[i]; i++) {
		if (!strcmp(s, f->names[i])) {
			store_uint(p, f->size, i);
			return 0;
		}
	}
	return -ERANGE;
}

static int get_one(const struct proto_field *f, const struct js *v, void *p)
{
	switch (f->type) {
	case PF_TRUE:
	case PF_ONE:
		return get_flag(v, p);
	case PF_INT:
	case PF_UINT:
		return get_number(f, v, p);
	case PF_REAL:
		return get_double(f, v, p);
	case PF_STR:
	case PF_NAME:
		return get_text(f, v, p);
	case PF_ENUM:
		return get_enum(f, v, p);
	}
	return -EINVAL;
}

int proto_fields_get(const struct js *obj, const struct proto_field *f, size_t n, void *base,
		     enum pf_mode mode, const struct proto_field **bad)
{
	for (size_t i = 0; i < n; i++) {
		const struct js *v =
			mode == PF_STRICT ? js_get(obj, f[i].key) : js_geti(obj, f[i].key);
		int ret = v ? get_one(&f[i], v, (char *)base + f[i].offset) : -ENOENT;

		if (ret == -ENOENT || (mode == PF_LENIENT && (ret == -EINVAL || !f[i].code)))
			ret = ret < 0 && (f[i].flags & PF_REQUIRED) ? -EINVAL : 0;
		if (ret < 0) {
			if (bad)
				*bad = &f[i];
			return ret;
		}
	}
	return 0;
}
