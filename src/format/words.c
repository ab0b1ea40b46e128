/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words around figures. Everything from elsewhere goes through the safe printer first, then,
 * where only ASCII may leave, through a small table of replacements. Lines are wrapped
 * at a width counted in characters.
 */
#include "format/priv.h"

#include <math.h>
#include <stdio.h>
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

static void value_words(struct buf *b, const struct js *v, bool unicode)
{
	struct buf text = {.max = 1 << 20};
	const char *s = js_str(v, NULL);
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
	value_words(b, v, unicode);
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
