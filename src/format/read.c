/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports lie anywhere in a text. It is brought back and cut into tokens a block at a time; at each
 * token those readers are asked that want its first character; who says yes reads on from there. A
 * report that reaches a block's end is read again with the next block behind it, so memory follows
 * the largest report and time the length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

#define FIRST    ((size_t)1 << 16) /* most texts are mails */
#define BLOCK    ((size_t)1 << 20)
#define LARGEST  ((size_t)64 << 20) /* a longer report is skipped */
#define LOOK     96                 /* tokens that a sniff may look at */
#define LEAD_MAX 2048
#define TWOS     1024
#define MARKS    ((size_t)1 << 16)

static const struct reader *const readers[] = {
	&reader_iperf2,     &reader_iperf3,    &reader_iperf3_json,  &reader_nttcp,
	&reader_ttcp,       &reader_nuttcp,    &reader_netperf,      &reader_ping,
	&reader_fping,      &reader_mtr,       &reader_tc,           &reader_tc_json,
	&reader_irtt,       &reader_irtt_json, &reader_routeros,     &reader_ethtool,
	&reader_softnet,    &reader_top,       &reader_mpstat,       &reader_mpstat_json,
	&reader_vmstat,     &reader_rc_stats,  &reader_rc_stats_csv, &reader_station,
	&reader_fw_stats,   &reader_flent,     &reader_flent_json,   &reader_ipgen,
	&reader_ipgen_json, &reader_lmbench,   &reader_mtr_json,     &reader_weir,
	&reader_weir_csv,
};

const struct reader *reader_at(size_t i)
{
	return i < ARRAY_LEN(readers) ? readers[i] : NULL;
}

const char *format_reader_name(size_t i)
{
	return i < ARRAY_LEN(readers) ? readers[i]->kind : NULL;
}

struct reading {
	const struct format_reading *r;
	struct demail d;
	struct lex l;
	char *raw;
	size_t len, cap, want; /* bytes there, room, bytes to have before a block is read */
	size_t used;           /* of raw: the block */
	uint64_t base, line;   /* of raw[0] in the text */
	bool first, end;
	uint64_t by_first[256]; /* readers that want that character */
	uint64_t by_two[TWOS];  /* and those that want these two */
	struct {                /* what is skipped up to now, as one piece */
		uint64_t from, to, line;
		char text[256];
		size_t n;
		bool open;
		const char *why;
	} skip;
	struct doubt doubt;
	struct format_found f; /* the report that is read */
	uint64_t *marks;
	size_t n_marks;
	struct format_read_sum sum;
};

/* ---- blocks ---- */

static int fill(struct reading *g)
{
	if (g->cap < g->want) {
		char *p = realloc(g->raw, g->want);

		if (!p)
			return -ENOMEM;
		g->raw = p;
		g->cap = g->want;
	}
	while (!g->end && g->len < g->want) {
		int64_t n = g->r->pull(g->r->arg, g->raw + g->len, g->want - g->len);

		if (n < 0)
			return (int)n;
		g->end = n == 0;
		g->len += (size_t)n;
	}
	return 0;
}

/* A block ends at a line's end where there is one, else between words; never inside a soft break. */
static size_t cut(const struct reading *g)
{
	size_t n = g->len, least = g->len / 2;

	if (g->end)
		return n;
	for (; n > least; n--)
		if (g->raw[n - 1] == '\n' && !(n > 2 && memchr(g->raw + n - 3, '=', 2)))
			break;
	if (n == least)
		for (n = g->len; n > least && g->raw[n - 1] != ' '; n--)
			;
	if (n == least)
		n = g->len;
	if (g->d.wide) /* the other half of a character */
		n = g->d.wide == 1 && n < g->len ? (n + 1) & ~(size_t)1 : n & ~(size_t)1;
	return n;
}

static size_t raw_offset(const struct reading *g, size_t tok)
{
	return tok < g->l.n ? demail_offset(&g->d, g->l.tok[tok].off) : g->used;
}

static size_t raw_end(const struct reading *g, size_t tok) /* of the token before */
{
	const struct lex_tok *t = &g->l.tok[tok - 1];

	return demail_offset(&g->d, t->off + t->len - 1) + 1;
}

static uint64_t count_lines(const char *s, size_t n)
{
	const char *p = s, *end = s + n;
	uint64_t lines = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		lines++;
		p++;
	}
	return lines;
}

/* ---- what is told ---- */

static int flush_skip(struct reading *g)
{
	struct format_skip s = {.from = g->skip.from,
				.to = g->skip.to,
				.line = g->skip.line,
				.text = g->skip.text,
				.n = g->skip.n,
				.why = g->skip.why};

	if (!g->skip.open)
		return 0;
	g->skip.open = false;
	g->sum.skipped += s.to - s.from;
	return g->r->skipped ? g->r->skipped(g->r->arg, &s) : 0;
}

/* Tokens [a, b) are nobody's. `line` is that of raw byte `seen`, which comes before. */
static void skip(struct reading *g, size_t a, size_t b, size_t *seen, const char *why)
{
	size_t from, to;

	if (a >= b)
		return;
	from = raw_offset(g, a);
	to = raw_end(g, b);
	if (!g->skip.open) {
		const struct lex_tok *t = &g->l.tok[a], *u = &g->l.tok[b - 1];
		size_t n = u->off + u->len - t->off;

		g->line += count_lines(g->raw + *seen, from - *seen);
		*seen = from;
		g->skip.open = true;
		g->skip.from = g->base + from;
		g->skip.line = g->line;
		g->skip.n = n < sizeof(g->skip.text) ? n : sizeof(g->skip.text);
		memcpy(g->skip.text, lex_text(&g->l, a), g->skip.n);
		g->skip.why = why;
	}
	g->skip.to = g->base + to;
}

static bool marked(struct reading *g, uint64_t mark)
{
	size_t i = mark & (MARKS - 1);

	if (!g->marks && mark)
		g->marks = calloc(MARKS, sizeof(*g->marks));
	if (!g->marks || !mark)
		return false;
	while (g->marks[i] && g->marks[i] != mark)
		i = (i + 1) & (MARKS - 1);
	if (g->marks[i])
		return true;
	if (g->n_marks < MARKS / 2) {
		g->marks[i] = mark;
		g->n_marks++;
	}
	return false;
}

/* The text before token i that belongs to no report, at most LEAD_MAX bytes of it. */
static char *lead(const struct reading *g, size_t a, size_t i)
{
	const struct lex_tok *t;
	size_t from, to;

	if (a >= i || i > g->l.n)
		return NULL;
	t = &g->l.tok[i - 1];
	to = t->off + t->len;
	from = g->l.tok[a].off;
	from = to - from > LEAD_MAX ? to - LEAD_MAX : from;
	return strndup(g->l.text + from, to - from);
}

static bool is_ruler(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr("-=_*~#+. \t", s[i]))
			return false;
	return true;
}

static bool is_mark(char c)
{
	return c == '#' || c == '$' || c == '%' || c == '>';
}

/* A command that somebody typed is no heading. */
static bool is_prompt(const char *s, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (s[i + 1] == ' ' && is_mark(s[i]) && (i == 0 || s[i - 1] != ' '))
			return true;
	return (n && s[n - 1] == '{') || memmem(s, n, ":/#", 3);
}

/*
 * The last line of prose in it. What stands on a line of a report, before it or behind, is no heading
 * of one, unless the text has lost its lines: head and tail tell whether the first and the last line
 * are whole.
 */
static char *title(const char *lead, bool head, bool tail)
{
	const char *end = lead + strlen(lead);

	while (end > lead) {
		const char *nl = memrchr(lead, '\n', (size_t)(end - lead));
		const char *line = nl ? nl + 1 : lead;
		size_t n = (size_t)(end - line), blanks = 0;
		bool whole = (head || nl) && tail;

		while (blanks < n && (line[blanks] == ' ' || line[blanks] == '\t'))
			blanks++;
		if (whole && blanks < n && n < 200 && !is_ruler(line, n) &&
		    !is_prompt(line + blanks, n - blanks))
			return strndup(line + blanks, n - blanks);
		end = nl ? nl : lead;
		tail = true;
	}
	return NULL;
}

/* Does nothing tell where lines ended? */
static bool lost_lines(const struct reading *g)
{
	return !memchr(g->l.text, '\n', g->l.len < 4096 ? g->l.len : 4096);
}

static int tell(struct reading *g, struct format_found *f, size_t skipped_from, size_t i,
		size_t end, size_t *seen)
{
	size_t from = raw_offset(g, i);
	bool lost = lost_lines(g);
	int rc;

	skip(g, skipped_from, i, seen, NULL);
	rc = flush_skip(g);
	g->line += count_lines(g->raw + *seen, from - *seen);
	*seen = from;
	f->line = g->line;
	f->from = g->base + from;
	f->to = g->base + raw_end(g, end);
	f->lead = lead(g, skipped_from, i);
	f->title = f->lead ? title(f->lead, lost || lex_line(&g->l, skipped_from),
				   lost || lex_line(&g->l, i))
			   : NULL;
	doubt_mark(f);
	if (marked(g, f->mark))
		found_warn(f, WARN_DUPLICATE, "the same figures are above");
	doubt_check(&g->doubt, f);
	g->sum.reports++;
	if (f->failed)
		return -ENOMEM;
	return rc < 0 || !g->r->found ? rc : g->r->found(g->r->arg, f);
}

/* ---- one block ---- */

static size_t two(const char *s)
{
	return ((uint8_t)s[0] * 32u + (uint8_t)s[1]) % TWOS;
}

static void learn(struct reading *g, const char *first, uint64_t bit)
{
	bool apart = strchr(first, ' ');

	for (const char *c = first; *c; c++) {
		if (*c == ' ')
			continue;
		if (apart && c[1] && c[1] != ' ')
			g->by_two[two(c++)] |= bit;
		else
			g->by_first[(uint8_t)*c] |= bit;
	}
}

static const struct reader *who(const struct reading *g, size_t i)
{
	const char *s = lex_text(&g->l, i);
	uint64_t mask = g->by_first[(uint8_t)*s] | (g->l.tok[i].len > 1 ? g->by_two[two(s)] : 0);

	for (; mask; mask &= mask - 1) {
		const struct reader *rd = readers[__builtin_ctzll(mask)];

		if (rd->sniff(&g->l, i))
			return rd;
	}
	return NULL;
}

/* Reads the block; *carry = the token at which the next one has to begin. */
static int block(struct reading *g, bool last, size_t *carry, size_t *seen)
{
	size_t i = 0, nobody = 0, n = g->l.n;
	int rc = 0;

	while (i < n && rc >= 0) {
		const struct reader *rd = who(g, i);
		struct format_found *f = &g->f;
		size_t end;

		if (!rd) {
			i++;
			continue;
		}
		found_reset(f, rd->kind);
		end = rd->parse(&g->l, i, f);
		if (end <= i || end > n)
			end = i + 1;
		if (!last && end + LOOK >= n)
			break;
		if (f->n_fig || f->n_row || f->n_warn || f->failed) {
			rc = tell(g, f, nobody, i, end, seen);
			nobody = end;
		}
		i = end;
	}
	if (i >= n && !last)
		i = n > LOOK ? n - LOOK : 0;
	if (i < nobody)
		i = nobody;
	skip(g, nobody, i, seen, NULL);
	*carry = i;
	return rc;
}

/* Moves on to raw byte `at`; a block that could not move at all grows instead. */
static int advance(struct reading *g, size_t at, size_t seen)
{
	if (!at && g->want < LARGEST) {
		g->want *= 2;
		return 0;
	}
	if (!at) { /* one report of 64 MiB */
		size_t none = 0;

		skip(g, 0, g->l.n, &none, "a report over 64 MiB");
		seen = none;
		at = g->used;
	}
	g->line += count_lines(g->raw + seen, at - seen);
	g->base += at;
	g->len -= at;
	memmove(g->raw, g->raw + at, g->len);
	g->first = false;
	/* By doubling here too: a long report behind a line of prose is read twice at the most. */
	g->want = g->want < BLOCK ? 2 * g->want : g->len < BLOCK ? BLOCK : g->want;
	return 0;
}

static int all(struct reading *g)
{
	int rc = 0;

	for (bool last = false; !last && rc >= 0;) {
		size_t carry = 0, seen = 0;

		rc = fill(g);
		if (rc < 0)
			return rc;
		g->used = cut(g);
		last = g->end && g->used == g->len;
		rc = demail_run(&g->d, g->raw, g->used, g->first);
		rc = rc < 0 ? rc : lex_run(&g->l, g->d.text, g->d.len);
		rc = rc < 0 ? rc : block(g, last, &carry, &seen);
		if (rc >= 0)
			rc = advance(g,
				     last             ? g->used
				     : carry < g->l.n ? raw_offset(g, carry)
						      : g->used,
				     seen);
	}
	return rc < 0 ? rc : flush_skip(g);
}

int format_read_text(const struct format_reading *r, struct format_read_sum *sum,
		     struct weir_err *e)
{
	struct reading g = {.r = r, .want = FIRST, .line = 1, .first = true};
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		learn(&g, readers[i]->first, UINT64_C(1) << i);
	rc = all(&g);
	g.sum.bytes = g.base;
	g.sum.lines = g.line;
	if (sum)
		*sum = g.sum;
	found_fini(&g.f);
	demail_fini(&g.d);
	lex_fini(&g.l);
	free(g.raw);
	free(g.marks);
	if (rc == -ENOMEM)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	return rc;
}

/* ---- text in memory ---- */

struct string {
	const char *p;
	size_t n;
	const struct format_reading *r;
};

static int64_t pull_string(void *arg, char *dst, size_t cap)
{
	struct string *s = arg;
	size_t n = s->n < cap ? s->n : cap;

	memcpy(dst, s->p, n);
	s->p += n;
	s->n -= n;
	return (int64_t)n;
}

static int string_found(void *arg, const struct format_found *f)
{
	const struct format_reading *r = ((struct string *)arg)->r;

	return r->found ? r->found(r->arg, f) : 0;
}

static int string_skipped(void *arg, const struct format_skip *s)
{
	const struct format_reading *r = ((struct string *)arg)->r;

	return r->skipped ? r->skipped(r->arg, s) : 0;
}

int format_read_string(const char *text, size_t n, const struct format_reading *r,
		       struct format_read_sum *sum, struct weir_err *e)
{
	struct string s = {text, n, r};
	struct format_reading inner = {pull_string, string_found, string_skipped, &s};

	return format_read_text(&inner, sum, e);
}
