/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words around figures. Everything from elsewhere goes through the safe printer first, then,
 * where only ASCII may leave, through a small table of replacements. Lines are wrapped
 * at a width counted in characters.
 */
#include "format/priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 64 /* of a request, in words */

static const struct {
	const char *utf8, *ascii;
} ascii_for[] = {
	{"\xc2\xb5", "u"},      {"\xce\xbc", "u"},      {"\xc2\xa0", " "},
	{"\xe2\x80\x93", "-"},  {"\xe2\x80\x94", "-"},  {"\xe2\x80\xa6", "..."},
	{"\xe2\x89\xa5", ">="}, {"\xe2\x89\xa4", "<="}, {"\xe2\x80\x99", "'"},
	{"\xe2\x80\x9c", "\""}, {"\xe2\x80\x9d", "\""}, {"\xc3\x97", "x"},
};

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t unit_len(const char *s)
{
	size_t n = 1;
	while (continues(s[n]))
		n++;
	return n;
}

static const char *ascii_of(const char *s, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(ascii_for); i++)
		if (strlen(ascii_for[i].utf8) == n && !memcmp(ascii_for[i].utf8, s, n))
			return ascii_for[i].ascii;
	return "?";
}

void format_words(struct buf *b, const char *s, bool unicode)
{
	if (unicode) {
		buf_puts(b, s);
		return;
	}
	for (size_t n; *s; s += n) {
		n = unit_len(s);
		if (*s & 0x80)
			buf_puts(b, ascii_of(s, n));
		else
			buf_putc(b, *s);
	}
}

void format_foreign(struct buf *b, const char *s, bool unicode)
{
	char text[SAFE_MAX + 1];
	if (!s) {
		buf_puts(b, "unknown");
		return;
	}
	safe_str(text, sizeof(text), s, strlen(s));
	format_words(b, text, unicode);
}

size_t format_columns(const char *s, size_t n)
{
	size_t cols = 0;
	for (size_t i = 0; i < n; i++)
		cols += !continues(s[i]);
	return cols;
}

/* Bytes of the next line: whole words, or part of one that is longer than a line. */
static size_t take_line(const char *s, size_t room)
{
	size_t i = 0, cols = 0, last = 0;
	while (s[i] && cols < room) {
		if (s[i] == ' ')
			last = i;
		i += unit_len(s + i);
		cols++;
	}
	if (!s[i] || s[i] == ' ')
		return i;
	return last ? last : i;
}

void format_wrap(struct buf *b, const char *label, size_t indent, const char *text, size_t width)
{
	size_t used = format_columns(label, strlen(label));
	size_t room = width > indent + 8 ? width - indent : 8;
	buf_puts(b, label);
	if (used > indent)
		buf_putc(b, ' ');
	do {
		while (*text == ' ')
			text++;
		size_t n = take_line(text, room);
		if (n)
			buf_repeat(b, ' ', used < indent ? indent - used : 0);
		size_t shown = n;
		while (shown && text[shown - 1] == ' ')
			shown--;
		buf_put(b, text, shown);
		buf_putc(b, '\n');
		text += n;
		used = 0;
	} while (text[strspn(text, " ")]);
}

static struct js_doc *parse(const char *json)
{
	struct js_doc *d = NULL;
	if (json && js_parse(json, strlen(json), &js_limits_file, &d, NULL) < 0)
		return NULL;
	return d;
}

/* Values of requests that have a unit: options of that name, in base units. */
static const struct {
	const char *key;
	enum unit unit;
} units_of[] = {
	{"time", UNIT_SECOND},     {"omit", UNIT_SECOND},
	{"interval", UNIT_SECOND}, {"connect-timeout", UNIT_SECOND},
	{"bitrate", UNIT_BPS},     {"fq-rate", UNIT_BPS},
	{"bytes", UNIT_BYTE},      {"length", UNIT_BYTE},
	{"window", UNIT_BYTE},
};

static enum unit unit_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(units_of); i++)
		if (!strcmp(units_of[i].key, key))
			return units_of[i].unit;
	return UNIT_NONE;
}

/* As options are typed: whole binary sizes, no more digits than there are, nothing to wrap at. */
static void quantity(struct buf *b, double v, enum unit unit)
{
	static const char *const thousands[] = {"", "k", "M", "G", "T"};
	static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double step = unit == UNIT_BYTE ? 1024 : 1000;
	size_t i = 0;
	while (unit != UNIT_SECOND && i < 4 && v >= step &&
	       (unit != UNIT_BYTE || fmod(v, step) == 0)) {
		v /= step;
		i++;
	}
	buf_printf(b, "%.10g%s%s", v, unit == UNIT_BYTE ? binary[i] : thousands[i],
		   unit == UNIT_BYTE  ? ""
		   : unit == UNIT_BPS ? "bit/s"
				      : "s");
}

/* Rates are texts, as they may tell a burst too: "100000000/10". */
static bool unit_words(struct buf *b, const struct js *v, enum unit unit)
{
	const char *s = js_str(v, NULL);
	char *end;
	double d;
	if (unit == UNIT_NONE)
		return false;
	if (!s)
		return js_f64(v, &d) && (quantity(b, d, unit), true);
	d = strtod(s, &end);
	if (end == s || (*end && *end != '/'))
		return false;
	quantity(b, d, unit);
	if (*end)
		buf_printf(b, " in bursts of %lu", strtoul(end + 1, NULL, 10));
	return true;
}

static void value_words(struct buf *b, const char *key, const struct js *v, bool unicode)
{
	struct buf text = {.max = 1 << 20};
	const char *s = js_str(v, NULL);
	if (unit_words(b, v, unit_of(key)))
		return;
	if (!s) {
		js_dump(v, &text);
		s = text.data;
	}
	format_foreign(b, s ? s : "?", unicode);
	buf_fini(&text);
}

static void member_words(struct buf *b, const char *key, const struct js *v, bool unicode)
{
	bool flag;
	bool is_flag = js_bool(v, &flag);
	if (is_flag && !flag)
		buf_puts(b, "no-");
	format_foreign(b, key, unicode);
	if (is_flag)
		return;
	buf_putc(b, ' ');
	value_words(b, key, v, unicode);
}

static bool listed(const char *const *list, const char *key)
{
	for (; list && *list; list++)
		if (!strcmp(*list, key))
			return true;
	return false;
}

void format_json_words(struct buf *b, const char *json, const char *const *skip, bool unicode)
{
	struct js_doc *d = parse(json);
	const struct js *v;
	const char *key;
	void *it = NULL;
	size_t start = b->len, n = 0;
	if (!d)
		return;
	while (js_each(js_root(d), &it, &key, &v)) {
		if (listed(skip, key))
			continue;
		if (b->len > start)
			buf_puts(b, ", ");
		if (n++ == MEMBERS_MAX) {
			buf_puts(b, "...");
			break;
		}
		member_words(b, key, v, unicode);
	}
	js_free(d);
}

bool format_json_member(struct buf *b, const char *json, const char *key, bool unicode)
{
	struct js_doc *d = parse(json);
	const char *s = d ? js_str(js_get(js_root(d), key), NULL) : NULL;
	if (s)
		format_foreign(b, s, unicode);
	js_free(d);
	return s != NULL;
}

bool format_json_true(const char *json, const char *key)
{
	struct js_doc *d = parse(json);
	bool yes = false;
	if (d)
		js_bool(js_get(js_root(d), key), &yes);
	js_free(d);
	return yes;
}

/* As few decimals as name both ends to a hundredth of the interval. */
void format_interval(struct buf *b, int64_t t0, int64_t t1, int64_t origin)
{
	double a = ((double)t0 - (double)origin) / 1e9, z = ((double)t1 - (double)origin) / 1e9;
	double slack = fabs(z - a) / 50, step = 1;
	int decimals = 0;
	while (decimals < 3 && (fabs(a - round(a / step) * step) > slack ||
				fabs(z - round(z / step) * step) > slack)) {
		decimals++;
		step /= 10;
	}
	buf_printf(b, "%.*f-%.*f s", decimals, fabs(a) < step / 2 ? 0 : a, decimals, z);
}
