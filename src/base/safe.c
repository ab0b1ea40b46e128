/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Titles, versions, host names and SSIDs come from strangers and end on a terminal, in a
 * table or in a file name. One pass makes any bytes printable; the encoders for
 * single formats stand on top of it.
 */
#include "base/priv.h"

#include <string.h>

struct utf8_form {
	uint8_t mask, lead;
	uint32_t lowest; /* below it the sequence is overlong */
};
static const struct utf8_form forms[] = {
	{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

size_t safe_utf8(const char *s, size_t n, uint32_t *cp)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t len = 1;
	while (len <= 4 && n && (p[0] & forms[len - 1].mask) != forms[len - 1].lead)
		len++;
	if (len > 4 || len > n)
		return 0;
	uint32_t c = p[0] & (uint8_t)~forms[len - 1].mask;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	*cp = c;
	bool surrogate = c >= 0xd800 && c <= 0xdfff;
	return c < forms[len - 1].lowest || c > 0x10ffff || surrogate ? 0 : len;
}

bool safe_is_utf8(const char *s, size_t n)
{
	uint32_t cp;
	for (size_t i = 0, len; i < n; i += len)
		if (!(len = safe_utf8(s + i, n - i, &cp)))
			return false;
	return true;
}

/* Code points that move the cursor or reorder what follows. */
static const struct {
	uint32_t first, last;
} unsafe[] = {
	{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
	{0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff},
};

static bool printable(uint32_t cp)
{
	if (cp >= 0x20 && cp < 0x7f)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(unsafe); i++)
		if (cp >= unsafe[i].first && cp <= unsafe[i].last)
			return false;
	return true;
}

/* The next unit of src as output bytes: itself, or its first byte as \xNN. */
static size_t next_unit(const char *src, size_t n, char out[4], size_t *used)
{
	static const char hex[] = "0123456789abcdef";
	uint32_t cp;
	size_t len = safe_utf8(src, n, &cp);
	if (len && printable(cp)) {
		memcpy(out, src, len);
		return *used = len;
	}
	uint8_t c = (uint8_t)*src;
	*used = 1;
	memcpy(out, (char[]){'\\', 'x', hex[c >> 4], hex[c & 15]}, 4);
	return 4;
}

size_t safe_str(char *dst, size_t cap, const char *src, size_t n)
{
	if (!cap)
		return 0;
	size_t limit = cap - 1 < SAFE_MAX ? cap - 1 : SAFE_MAX;
	size_t len = 0, cut = 0, used;
	for (size_t i = 0; i < n; i += used) {
		char unit[4];
		size_t out = next_unit(src + i, n - i, unit, &used);
		if (len + out > limit) {
			size_t dots = limit - cut < 3 ? limit - cut : 3;
			memcpy(dst + cut, "...", dots);
			len = cut + dots;
			break;
		}
		memcpy(dst + len, unit, out);
		len += out;
		if (len + 3 <= limit)
			cut = len; /* the last place where "..." still fits */
	}
	dst[len] = '\0';
	return len;
}

void safe_put(struct buf *b, const char *src, size_t n)
{
	char tmp[SAFE_MAX + 1];
	buf_put(b, tmp, safe_str(tmp, sizeof(tmp), src, n));
}

void safe_csv(struct buf *b, const char *src)
{
	char tmp[SAFE_MAX + 1];
	safe_str(tmp, sizeof(tmp), src, strlen(src));
	bool formula = tmp[0] && strchr("=+-@", tmp[0]);
	bool quote = strpbrk(tmp, ",\"") != NULL;
	if (quote)
		buf_putc(b, '"');
	if (formula)
		buf_putc(b, '\'');
	for (const char *p = tmp; *p; p++) {
		if (*p == '"')
			buf_putc(b, '"');
		buf_putc(b, *p);
	}
	if (quote)
		buf_putc(b, '"');
}

void safe_filename(struct buf *b, const char *src)
{
	static const char ok[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	if (!*src)
		buf_putc(b, '_');
	for (size_t i = 0; src[i] && i < SAFE_MAX / 2; i++) {
		bool keep = strchr(ok, src[i]) && !(i == 0 && src[i] == '.');
		buf_putc(b, keep ? src[i] : '_');
	}
}

void safe_markdown(struct buf *b, const char *src)
{
	char tmp[SAFE_MAX + 1];
	safe_str(tmp, sizeof(tmp), src, strlen(src));
	for (const char *p = tmp; *p; p++) {
		if (*p == '<')
			buf_puts(b, "&lt;");
		else if (*p == '>')
			buf_puts(b, "&gt;");
		else if (*p == '&')
			buf_puts(b, "&amp;");
		else {
			if (strchr("|\\`*_[]", *p))
				buf_putc(b, '\\');
			buf_putc(b, *p);
		}
	}
}
