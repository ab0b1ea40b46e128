/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mail and web take reports apart: soft breaks inside numbers, entities, quote marks, escapes. The
 * text is brought back in layers, each of which undoes one of them and keeps a map, so that any
 * byte of the result can be shown at its place in what was pasted. A layer that has nothing to
 * undo is not made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

/* ---- layers ---- */

static void step(struct demail_layer *y, size_t in)
{
	struct demail_step *s = y->n ? &y->map[y->n - 1] : NULL;

	if (s && y->text.len - s->out == in - s->in)
		return;
	if (!y->map || y->n == y->cap) {
		size_t cap = y->cap ? 2 * y->cap : 64;
		void *v = reallocarray(y->map, cap, sizeof(*y->map));

		if (!v) {
			y->text.failed = true;
			return;
		}
		y->map = v;
		y->cap = cap;
	}
	y->map[y->n++] = (struct demail_step){(uint32_t)y->text.len, (uint32_t)in};
}

/* n bytes as they are. */
static void keep(struct demail_layer *y, const char *s, size_t at, size_t n)
{
	if (!n)
		return;
	step(y, at);
	buf_put(&y->text, s + at, n);
}

/* Other bytes in the place of those at `at`. */
static void put(struct demail_layer *y, size_t at, const char *s, size_t n)
{
	step(y, at);
	buf_put(&y->text, s, n);
}

static size_t put_utf8(struct demail_layer *y, size_t at, uint32_t c)
{
	char u[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1)
		u[0] = (char)c;
	for (size_t i = n; n > 1 && i-- > 1; c >>= 6)
		u[i] = (char)(0x80 | (c & 0x3f));
	if (n > 1)
		u[0] = (char)((0xf00 >> n & 0xff) | c);
	put(y, at, u, n);
	return n;
}

static size_t layer_offset(const struct demail_layer *y, size_t at)
{
	size_t lo = 0, hi = y->n, limit;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (y->map[mid].out <= at)
			lo = mid;
		else
			hi = mid;
	}
	if (!y->n)
		return at;
	/* What one byte became several has its place, and none behind it. */
	limit = lo + 1 < y->n ? y->map[lo + 1].in : y->in_len;
	at = y->map[lo].in + (at - y->map[lo].out);
	return at >= limit && limit > y->map[lo].in ? limit - 1 : at;
}

/* ---- UTF-16 ---- */

/* A byte order mark, or text of which every second byte is nothing. */
static int find_wide(const char *s, size_t n)
{
	size_t odd = 0, even = 0, look = n < 256 ? n : 256;

	if (n >= 2 && (uint8_t)s[0] == 0xff && (uint8_t)s[1] == 0xfe)
		return 1;
	if (n >= 2 && (uint8_t)s[0] == 0xfe && (uint8_t)s[1] == 0xff)
		return 2;
	for (size_t i = 0; i < look; i++) {
		odd += !s[i] && i % 2;
		even += !s[i] && i % 2 == 0;
	}
	if (look >= 8 && odd > look / 4 && !even)
		return 1;
	return look >= 8 && even > look / 4 && !odd ? 2 : 0;
}

static void undo_wide(struct demail_layer *y, const char *s, size_t n, int wide)
{
	const uint8_t *p = (const uint8_t *)s;
	uint32_t high = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		uint32_t c =
			wide == 1 ? p[i] | (uint32_t)p[i + 1] << 8 : p[i + 1] | (uint32_t)p[i] << 8;

		if (c >= 0xd800 && c < 0xdc00) {
			high = c;
			continue;
		}
		if (c >= 0xdc00 && c < 0xe000)
			c = high ? 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00) : 0xfffd;
		high = 0;
		if (c && c != 0xfeff)
			put_utf8(y, i, c);
	}
}

/* ---- quoted-printable ---- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How long a soft break is at s[i] = '='; 0 = it is none. */
static size_t soft_break(const char *s, size_t n, size_t i)
{
	size_t k = i + 1;

	while (k < n && (s[k] == ' ' || s[k] == '\t') && k - i < 8)
		k++;
	if (k + 1 < n && s[k] == '\r' && s[k + 1] == '\n')
		return k + 2 - i;
	return k < n && s[k] == '\n' ? k + 1 - i : 0;
}

/* Lines that end in "=" after some 70 characters, or escapes of "=" and blanks; rulers do not count. */
static bool find_quoted_printable(const char *s, size_t n, bool header)
{
	const char *end = s + n, *p = s, *line = s;
	int signs = 0;

	if (header && memmem(s, n < 8192 ? n : 8192, "quoted-printable", 16))
		return true;
	while (signs < 2 && (p = memchr(p, '=', (size_t)(end - p)))) {
		size_t i = (size_t)(p - s);
		bool ruler = (i && s[i - 1] == '=') || (i + 1 < n && s[i + 1] == '=');

		if (!ruler && soft_break(s, n, i)) {
			const char *nl = memrchr(line, '\n', (size_t)(p - line));

			line = nl ? nl + 1 : line;
			signs += p - line >= 60 && p - line < 100 ? 2 : 0;
		} else if (!ruler && i + 3 <= n &&
			   (!memcmp(p, "=3D", 3) || !memcmp(p, "=C2", 3) || !memcmp(p, "=E2", 3) ||
			    (!memcmp(p, "=20", 3) &&
			     (i + 3 == n || s[i + 3] == '\n' || s[i + 3] == '\r')))) {
			signs++;
		}
		p++;
	}
	return signs >= 2;
}

/* A soft break of quoted text that was quoted again has the quote mark after it. */
static size_t skip_marks(const char *s, size_t n, size_t i)
{
	size_t from = i;

	while (i < n && (s[i] == '>' || (s[i] == ' ' && i > from && s[i - 1] == '>')))
		i++;
	return i;
}

static void undo_quoted_printable(struct demail_layer *y, const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		const char *p = memchr(s + i, '=', n - i);
		size_t at = p ? (size_t)(p - s) : n, soft;

		int high, low;

		keep(y, s, i, at - i);
		if (!p)
			break;
		high = at + 2 < n ? hex(s[at + 1]) : -1;
		low = at + 2 < n ? hex(s[at + 2]) : -1;
		soft = soft_break(s, n, at);
		if (soft && !(at && s[at - 1] == '=' && at > 1 && s[at - 2] == '=')) {
			i = skip_marks(s, n, at + soft);
		} else if (high >= 0 && low >= 0) {
			char c = (char)(high << 4 | low);

			put(y, at, &c, 1);
			i = at + 3;
		} else {
			keep(y, s, at, 1);
			i = at + 1;
		}
	}
}

/* ---- HTML ---- */

static const struct {
	const char *name, *text;
} entities[] = {
	{"gt", ">"},    {"lt", "<"},    {"amp", "&"},      {"quot", "\""},  {"apos", "'"},
	{"nbsp", " "},  {"ensp", " "},  {"emsp", " "},     {"thinsp", " "}, {"ndash", "-"},
	{"minus", "-"}, {"mdash", "-"}, {"hellip", "..."}, {"micro", "u"},  {"plusmn", "+/-"},
	{"shy", ""},    {"zwnj", ""},   {"times", "x"},
};
/* What a tag becomes; others are not tags, as <READ ME> is none. */
static const struct {
	const char *name, *text;
} tags[] = {
	{"br", "\n"},   {"p", "\n"},    {"div", "\n"},  {"pre", "\n"},   {"tr", "\n"},
	{"li", "\n"},   {"ul", "\n"},   {"ol", "\n"},   {"table", "\n"}, {"blockquote", "\n"},
	{"html", "\n"}, {"body", "\n"}, {"head", "\n"}, {"h1", "\n"},    {"h2", "\n"},
	{"h3", "\n"},   {"hr", "\n"},   {"td", " "},    {"th", " "},     {"span", ""},
	{"font", ""},   {"b", ""},      {"i", ""},      {"u", ""},       {"tt", ""},
	{"em", ""},     {"strong", ""}, {"code", ""},   {"a", ""},       {"tbody", ""},
	{"thead", ""},  {"wbr", ""},    {"samp", ""},   {"kbd", ""},     {"center", "\n"},
};

static size_t numeric_entity(struct demail_layer *y, const char *s, size_t n, size_t at, size_t i)
{
	bool x = i < n && (s[i] == 'x' || s[i] == 'X');
	uint32_t c = 0;
	size_t from = i += x;

	for (; i < n && i - from < 8 && hex(s[i]) >= 0 && (x || hex(s[i]) < 10); i++)
		c = c * (x ? 16 : 10) + (uint32_t)hex(s[i]);
	if (i == from || i >= n || s[i] != ';' || c > 0x10ffff || !c)
		return 0;
	put_utf8(y, at, c == 0xa0 ? ' ' : c);
	return i + 1 - at;
}

/* How many bytes an entity has at s[at] = '&'; 0 = none. "&amp;gt;" was escaped twice. */
static size_t entity(struct demail_layer *y, const char *s, size_t n, size_t at)
{
	size_t i = at + 1;

	while (i + 4 <= n && !memcmp(s + i, "amp;", 4) && i - at < 32)
		i += 4;
	if (i < n && s[i] == '#')
		return numeric_entity(y, s, n, at, i + 1);
	for (size_t k = 0; k < ARRAY_LEN(entities); k++) {
		size_t len = strlen(entities[k].name);

		if (i + len < n && !memcmp(s + i, entities[k].name, len) && s[i + len] == ';') {
			put(y, at, entities[k].text, strlen(entities[k].text));
			return i + len + 1 - at;
		}
	}
	if (i == at + 1)
		return 0;
	put(y, at, "&", 1);
	return i - at;
}

static size_t tag(struct demail_layer *y, const char *s, size_t n, size_t at)
{
	size_t i = at + 1, from, len;
	const char *end;

	i += i < n && s[i] == '/';
	for (from = i; i < n && i - from < 12; i++)
		if (!((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z') && !(i > from && hex(s[i]) >= 0))
			break;
	len = i - from;
	if (!len || i >= n || !strchr(" \t\r\n/>", s[i]))
		return 0;
	end = memchr(s + i, '>', n - i < 256 ? n - i : 256);
	for (size_t k = 0; end && k < ARRAY_LEN(tags); k++) {
		if (strlen(tags[k].name) == len && !strncasecmp(tags[k].name, s + from, len)) {
			put(y, at, tags[k].text, strlen(tags[k].text));
			return (size_t)(end + 1 - s) - at;
		}
	}
	return 0;
}

static size_t seek(const char *s, size_t n, size_t i, char c)
{
	const char *p = memchr(s + i, c, n - i);

	return p ? (size_t)(p - s) : n;
}

/* True when something was undone. */
static bool undo_html(struct demail_layer *y, const char *s, size_t n)
{
	size_t from = 0, amp = seek(s, n, 0, '&'), less = seek(s, n, 0, '<'), i;
	bool any = false;

	while ((i = amp < less ? amp : less) < n) {
		size_t used = 0;

		keep(y, s, from, i - from);
		used = s[i] == '&' ? entity(y, s, n, i) : tag(y, s, n, i);
		any = any || used;
		from = i + used;
		i += used ? used : 1;
		amp = amp < i ? seek(s, n, i, '&') : amp;
		less = less < i ? seek(s, n, i, '<') : less;
	}
	keep(y, s, from, n - from);
	return any;
}

/* ---- lines: quote marks, log prefixes, escapes, blanks of all kinds ---- */

static size_t blanks(const char *s, size_t n, size_t i)
{
	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	return i;
}

/* '9' a digit, 'a' a letter, '_' blanks, others themselves; the length, or 0. */
static size_t shape(const char *s, size_t n, size_t i, const char *p)
{
	size_t from = i;

	for (; *p; p++) {
		if (*p == '_') {
			size_t k = blanks(s, n, i);

			if (k == i)
				return 0;
			i = k;
			continue;
		}
		if (i >= n)
			return 0;
		if (*p == '9'   ? s[i] < '0' || s[i] > '9'
		    : *p == 'a' ? (s[i] | 32) < 'a' || (s[i] | 32) > 'z'
				: s[i] != *p)
			return 0;
		i++;
	}
	return i - from;
}

/* "host program[123]: " after a syslog time. */
static size_t log_name(const char *s, size_t n, size_t i)
{
	size_t from = i, words = 0;

	for (; i < n && s[i] != '\n' && i - from < 120; i++) {
		words += s[i] == ' ';
		if (s[i] == ':' && i + 1 < n && s[i + 1] == ' ' && words == 1)
			return i + 2 - from;
		if (words > 1)
			break;
	}
	return 0;
}

/* How long a prefix of a logger is at a line's begin: syslog, ISO 8601, kernel, "# 8: ". */
static size_t log_prefix(const char *s, size_t n, size_t i)
{
	static const char *const iso[] = {"9999-99-99T99:99:99", "9999-99-99 99:99:99"};
	size_t k, from = i;

	if (i + 5 > n)
		return 0;
	if ((s[i] | 32) >= 'a') { /* a month */
		k = s[i + 3] == ' ' ? shape(s, n, i, "aaa_99 99:99:99 ") : 0;
		if (!k && s[i + 3] == ' ')
			k = shape(s, n, i, "aaa_9 99:99:99 ");
		return k ? k + log_name(s, n, i + k) : 0;
	}
	for (size_t f = 0; s[i + 4] == '-' && f < ARRAY_LEN(iso); f++) {
		k = shape(s, n, i, iso[f]);
		if (!k)
			continue;
		i += k;
		while (i < n && i - from < 40 && strchr(".,:+-Z0123456789", s[i]))
			i++;
		i = blanks(s, n, i);
		return i - from + (f ? 0 : log_name(s, n, i));
	}
	if (i < n && s[i] == '[') { /* "[   12.345678] " */
		k = blanks(s, n, i + 1);
		while (k < n && k - i < 20 && s[k] >= '0' && s[k] <= '9')
			k++;
		if (shape(s, n, k, ".999999] "))
			return k + 9 - i;
	}
	if (shape(s, n, i, "# 9: ") || shape(s, n, i, "# 99: "))
		return (size_t)((char *)memchr(s + i, ':', n - i) - s) + 2 - i;
	return 0;
}

static size_t line_prefix(const char *s, size_t n, size_t i)
{
	size_t k, from = i;

	for (;;) {
		k = blanks(s, n, i);
		if (k >= n || s[k] != '>')
			break;
		i = k + 1;
		i += i < n && s[i] == ' ';
	}
	k = blanks(s, n, i);
	k += log_prefix(s, n, k);
	return (k > blanks(s, n, i) ? k : i) - from;
}

/* An escape sequence of a terminal at s[i] = ESC. */
static size_t escape(const char *s, size_t n, size_t i)
{
	size_t from = i++;

	if (i < n && s[i] == '[') {
		for (i++; i < n && i - from < 64 && s[i] >= 0x20 && s[i] < 0x40; i++)
			;
		return i < n && s[i] != '\n' ? i + 1 - from : i - from;
	}
	if (i < n && s[i] == ']') {
		for (; i < n && i - from < 512 && s[i] != 7 && s[i] != '\n'; i++)
			;
		return i < n && s[i] == 7 ? i + 1 - from : i - from;
	}
	return i < n && s[i] > ' ' ? 2 : 1;
}

/* Multibyte characters that tools never print but mailers do. Latin-1's blank is a lone 0xa0. */
static const struct {
	const char *in, *out;
} glyphs[] = {
	{"\xc2\xa0", " "},     {"\xe2\x80\xaf", " "},  {"\xe3\x80\x80", " "}, {"\xe2\x80\x8b", ""},
	{"\xe2\x80\x8c", ""},  {"\xe2\x80\x8e", ""},   {"\xe2\x80\x8f", ""},  {"\xef\xbb\xbf", ""},
	{"\xe2\x88\x92", "-"}, {"\xe2\x80\x93", "-"},  {"\xe2\x80\x94", "-"}, {"\xe2\x80\x90", "-"},
	{"\xe2\x80\x91", "-"}, {"\xe2\x80\xa8", "\n"}, {"\xc2\xad", ""},      {"\xe2\x80\x82", " "},
	{"\xe2\x80\x83", " "}, {"\xe2\x80\x89", " "},  {"\xe2\x80\x8a", " "}, {"\xe2\x81\x84", "/"},
};

static size_t glyph(struct demail_layer *y, const char *s, size_t n, size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(glyphs); k++) {
		size_t len;

		if (*glyphs[k].in != s[i])
			continue;
		len = strlen(glyphs[k].in);
		if (i + len <= n && !memcmp(s + i, glyphs[k].in, len)) {
			put(y, i, glyphs[k].out, strlen(glyphs[k].out));
			return len;
		}
	}
	if ((uint8_t)s[i] != 0xa0)
		return 0;
	put(y, i, " ", 1);
	return 1;
}

/* Length of a whole multibyte character, so that its later bytes are not looked at. */
static size_t char_len(const char *s, size_t n, size_t i)
{
	uint8_t c = (uint8_t)s[i];
	size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1, k = 1;

	while (k < len && i + k < n && ((uint8_t)s[i + k] & 0xc0) == 0x80)
		k++;
	return k == len ? len : 1;
}

/* Bytes that need a look: below blank but \t and \n, and above ASCII. */
static bool odd(char c)
{
	uint8_t u = (uint8_t)c;

	return u >= 0x7f || (u < 0x20 && u != '\t' && u != '\n');
}

/* The length of a character that no mailer makes of another, or 0. */
static size_t stays(const char *s, size_t n, size_t i)
{
	uint8_t c = (uint8_t)s[i];

	return c >= 0xc3 && c != 0xe2 && c != 0xe3 && c != 0xef ? char_len(s, n, i) : 0;
}

static size_t odd_byte(struct demail_layer *y, const char *s, size_t n, size_t i)
{
	size_t used;

	switch (s[i]) {
	case '\r':
		if (i + 1 < n && s[i + 1] == '\n')
			return 1;
		put(y, i, "\n", 1); /* a progress line that was drawn again */
		return 1;
	case 27:
		return escape(s, n, i);
	default:
		if ((uint8_t)s[i] < 0x80)
			return 1;
		used = glyph(y, s, n, i);
		if (used)
			return used;
		used = char_len(s, n, i);
		keep(y, s, i, used);
		return used;
	}
}

/* Where the first odd byte of a line is, or its end; lines are short and most have none. */
static size_t plain_run(const char *s, size_t i, size_t n)
{
	for (; i + 16 <= n; i += 16) {
		unsigned any = 0;

		for (size_t k = 0; k < 16; k++)
			any |= odd(s[i + k]);
		if (any)
			break;
	}
	while (i < n && !odd(s[i]))
		i++;
	return i;
}

/* What stays as it is goes over in one piece, however many lines it has. */
static void undo_lines(struct demail_layer *y, const char *s, size_t n)
{
	size_t i = 0, from = 0;

	while (i < n) {
		size_t prefix = line_prefix(s, n, i);
		const char *nl;
		size_t end;

		if (prefix) {
			keep(y, s, from, i - from);
			i += prefix;
			from = i;
		}
		nl = memchr(s + i, '\n', n - i);
		end = nl ? (size_t)(nl - s) : n;
		while ((i = plain_run(s, i, end)) < end) {
			size_t whole = stays(s, n, i);

			i += whole;
			if (whole)
				continue;
			keep(y, s, from, i - from);
			i += odd_byte(y, s, n, i);
			from = i;
		}
		i += i < n;
	}
	keep(y, s, from, n - from);
}

/* ---- all of them ---- */

static struct demail_layer *next(struct demail *d)
{
	struct demail_layer *y = &d->layer[d->n];

	buf_clear(&y->text);
	y->text.max = (size_t)1 << 30;
	y->in_len = d->len;
	y->n = 0;
	return y;
}

static void take(struct demail *d, struct demail_layer *y)
{
	buf_puts(&y->text, ""); /* ends it */
	d->text = y->text.data ? y->text.data : "";
	d->len = y->text.len;
	d->n++;
}

int demail_run(struct demail *d, const char *raw, size_t n, bool first)
{
	struct demail_layer *y;

	d->n = 0;
	d->text = raw;
	d->len = n;
	if (first)
		d->wide = find_wide(raw, n);
	if (d->wide) {
		y = next(d);
		undo_wide(y, d->text, d->len, d->wide);
		take(d, y);
	}
	d->quoted_printable = d->quoted_printable || find_quoted_printable(d->text, d->len, true);
	for (int k = 0; k < 2 && d->quoted_printable; k++) {
		if (k && !find_quoted_printable(d->text, d->len, false))
			break; /* encoded once, as it should be */
		y = next(d);
		undo_quoted_printable(y, d->text, d->len);
		take(d, y);
	}
	for (int k = 0; k < 3 && (memchr(d->text, '&', d->len) || memchr(d->text, '<', d->len));
	     k++) {
		y = next(d);
		if (!undo_html(y, d->text, d->len))
			break;
		take(d, y);
	}
	y = next(d);
	undo_lines(y, d->text, d->len);
	take(d, y);
	for (size_t i = 0; i < d->n; i++)
		if (d->layer[i].text.failed)
			return -ENOMEM;
	return 0;
}

size_t demail_offset(const struct demail *d, size_t at)
{
	for (size_t i = d->n; i > 0; i--)
		at = layer_offset(&d->layer[i - 1], at);
	return at;
}

void demail_fini(struct demail *d)
{
	for (size_t i = 0; i < DEMAIL_LAYERS; i++) {
		buf_fini(&d->layer[i].text);
		free(d->layer[i].map);
	}
	*d = (struct demail){0};
}
