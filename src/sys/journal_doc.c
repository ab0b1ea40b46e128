/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of an undo journal. The problem: it is read back with privileges after a crash, by
 * a later weir, and may be cut or planted. The idea: two kinds of lines ("set" with typed
 * fields, "end" with a number), fields between tabs with every odd byte as \xNN, and every
 * field checked by what it stands for; a line that weir would not have written is counted,
 * never used.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/priv.h"

#define BOOT_LEN 36

const char sys_doc_header[] = "weir-journal 1\n";

/* ---- writing ------------------------------------------------------------- */

static void put_field(struct buf *b, const char *s)
{
	buf_putc(b, '\t');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c > 0x20 && c < 0x7f && c != '\\')
			buf_putc(b, *s);
		else
			buf_printf(b, "\\x%02x", c);
	}
}

void sys_doc_put_entry(struct buf *b, const struct sys_entry *e)
{
	const uint8_t *m = e->iface.perm_mac;

	buf_printf(b, "set\t%" PRIu32, e->seq);
	put_field(b, e->boot);
	buf_printf(b, "\t%" PRIu64, e->netns);
	put_field(b, e->knob->name);
	put_field(b, e->arg);
	buf_printf(b, "\t%d\t%02x%02x%02x%02x%02x%02x", e->iface.index, m[0], m[1], m[2], m[3],
		   m[4], m[5]);
	put_field(b, e->iface.driver);
	put_field(b, e->old);
	put_field(b, e->now);
	buf_putc(b, '\n');
}

void sys_doc_put_end(struct buf *b, uint32_t seq)
{
	buf_printf(b, "end\t%" PRIu32 "\n", seq);
}

/* Whom to ask, when his change is in somebody's way. */
void sys_doc_put_owner(struct buf *b, int64_t pid)
{
	buf_printf(b, "own\t%" PRId64 "\n", pid);
}

/* ---- reading ------------------------------------------------------------- */

struct line {
	const char *p, *end;
	bool bad;
};

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of a field, its escape undone; sets bad on anything put_field() does not write. */
static char take_byte(struct line *l)
{
	char c = *l->p++;

	if (c != '\\') {
		l->bad |= c <= 0x20 || c >= 0x7f;
		return c;
	}
	if (l->end - l->p < 3 || l->p[0] != 'x' || hex(l->p[1]) < 0 || hex(l->p[2]) < 0) {
		l->bad = true;
		return 0;
	}
	int v = hex(l->p[1]) * 16 + hex(l->p[2]);
	l->p += 3;
	l->bad |= v == 0;
	return (char)v;
}

/* The next field into dst; an absent or too long one sets bad. */
static void take_field(struct line *l, char *dst, size_t cap)
{
	size_t n = 0;

	while (!l->bad && l->p < l->end && *l->p != '\t') {
		char c = take_byte(l);
		if (n + 1 < cap)
			dst[n++] = c;
		else
			l->bad = true;
	}
	dst[n] = '\0';
	if (l->p < l->end)
		l->p++;
	else
		l->end = NULL; /* the line has no further field */
}

static bool next_field(struct line *l, char *dst, size_t cap)
{
	dst[0] = '\0';
	if (!l->end)
		l->bad = true;
	if (!l->bad)
		take_field(l, dst, cap);
	return !l->bad;
}

static uint64_t next_u64(struct line *l, uint64_t max)
{
	char text[24], *end;

	if (!next_field(l, text, sizeof(text)) || !isdigit((unsigned char)text[0])) {
		l->bad = true;
		return 0;
	}
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);
	if (errno || *end || v > max)
		l->bad = true;
	return v;
}

static void next_mac(struct line *l, uint8_t mac[6])
{
	char text[16];

	if (!next_field(l, text, sizeof(text)) || strlen(text) != 12) {
		l->bad = true;
		return;
	}
	for (size_t i = 0; i < 6; i++) {
		int hi = hex(text[i * 2]), lo = hex(text[i * 2 + 1]);
		l->bad |= hi < 0 || lo < 0;
		mac[i] = (uint8_t)((unsigned)hi << 4 | (unsigned)lo);
	}
}

static bool good_boot(const char *s)
{
	for (size_t i = 0; i < strlen(s); i++)
		if (hex(s[i]) < 0 && s[i] != '-')
			return false;
	return strlen(s) == BOOT_LEN;
}

/* A value in its canonical form and no other. */
static void next_value(struct line *l, const struct sys_knob *k, char dst[SYS_VALUE_CAP])
{
	char text[SYS_VALUE_CAP];

	if (!next_field(l, text, sizeof(text)) || sys_knob_canon(k, text, dst) < 0 ||
	    strcmp(text, dst))
		l->bad = true;
}

static bool read_set(struct line *l, struct sys_entry *e)
{
	char name[64];

	*e = (struct sys_entry){.seq = (uint32_t)next_u64(l, UINT32_MAX)};
	next_field(l, e->boot, sizeof(e->boot));
	e->netns = next_u64(l, UINT64_MAX);
	next_field(l, name, sizeof(name));
	next_field(l, e->arg, sizeof(e->arg));
	e->iface.index = (int)next_u64(l, INT32_MAX);
	next_mac(l, e->iface.perm_mac);
	next_field(l, e->iface.driver, sizeof(e->iface.driver));
	e->knob = l->bad ? NULL : sys_knob(name);
	if (!e->knob || e->knob->revert != SYS_RUNTIME || !good_boot(e->boot) ||
	    !sys_knob_arg_ok(e->knob, e->arg))
		return false;
	next_value(l, e->knob, e->old);
	next_value(l, e->knob, e->now);
	return !l->bad && !l->end;
}

static int by_seq(const void *key, const void *entry)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct sys_entry *)entry)->seq;

	return a < b ? -1 : a > b;
}

static bool take_end(struct line *l, struct sys_doc *d)
{
	uint32_t seq = (uint32_t)next_u64(l, UINT32_MAX);
	struct sys_entry *e =
		d->n && !l->bad ? bsearch(&seq, d->v, d->n, sizeof(*d->v), by_seq) : NULL;

	if (!e || l->end)
		return false;
	e->ended = true;
	return true;
}

static bool take_set(struct line *l, struct sys_doc *d)
{
	struct sys_entry e;

	if (!read_set(l, &e) || d->n == SYS_JOURNAL_MAX_N)
		return false;
	if (d->n && e.seq <= d->v[d->n - 1].seq)
		return false;
	d->v[d->n++] = e;
	return true;
}

static bool take_owner(struct line *l, struct sys_doc *d)
{
	uint64_t pid = next_u64(l, INT32_MAX);

	if (l->bad || l->end || d->owner || d->n || !pid)
		return false;
	d->owner = (int64_t)pid;
	return true;
}

static bool take_line(struct line *l, struct sys_doc *d)
{
	char kind[8];

	next_field(l, kind, sizeof(kind));
	if (!strcmp(kind, "set"))
		return take_set(l, d);
	if (!strcmp(kind, "own"))
		return take_owner(l, d);
	return !strcmp(kind, "end") && take_end(l, d);
}

static size_t count_lines(const char *text, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

int sys_doc_parse(const char *text, size_t n, struct sys_doc *d)
{
	const char *p = text, *end = text + n;
	const size_t header_len = strlen(sys_doc_header);
	size_t cap = count_lines(text, n);

	*d = (struct sys_doc){0};
	if (n > SYS_JOURNAL_MAX)
		return -EFBIG;
	if (cap > SYS_JOURNAL_MAX_N)
		cap = SYS_JOURNAL_MAX_N;
	d->v = calloc(cap + 1, sizeof(*d->v));
	if (!d->v)
		return -ENOMEM;
	if (n >= header_len && !memcmp(p, sys_doc_header, header_len)) {
		p += header_len;
	} else if (cap) { /* of another version, or no journal: nothing in it is used */
		d->bad = 1;
		d->whole_len = n;
		return 0;
	} /* else a header that was cut: an empty journal */
	for (const char *nl; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		struct line l = {.p = p, .end = nl};
		d->bad += !take_line(&l, d);
	}
	d->whole_len = (size_t)(p - text);
	return 0;
}

void sys_doc_fini(struct sys_doc *d)
{
	free(d->v);
	*d = (struct sys_doc){0};
}

size_t sys_doc_open(const struct sys_doc *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += !d->v[i].ended;
	return n;
}
