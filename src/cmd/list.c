/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir list: which runs are stored, newest first. The id's last eight characters are what the
 * other commands take; the first ones of runs made in a row are all the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/ui.h"

#define ID_SHOWN 8
#define GAP      2 /* blanks between columns */

struct list_cfg {
	char *kind, *host, *since, *until;
	struct opt_list tags;
	int64_t limit;
	bool json;
	struct cmd_db_cfg db;
};

#define F(field) offsetof(struct list_cfg, field)
/* clang-format off */
static const struct opt list_opts[] = {
	{.name = "kind", .letter = 'k', .type = OPT_STR, .offset = F(kind), .metavar = "KIND", .help = "only runs of this kind, such as tcp"},
	{.name = "tag", .letter = 't', .type = OPT_LIST, .offset = F(tags), .metavar = "KEY[=VALUE]", .help = "only runs with this tag (repeatable: all must match)"},
	{.name = "host", .type = OPT_STR, .offset = F(host), .metavar = "TEXT", .help = "only runs with TEXT in the name of either end"},
	{.name = "since", .type = OPT_STR, .offset = F(since), .metavar = "WHEN", .help = "only runs from then on: 2026-11-30, 2026-11-30T15:57Z, today, yesterday, 2h, 3d"},
	{.name = "until", .type = OPT_STR, .offset = F(until), .metavar = "WHEN", .help = "only runs before then"},
	{.name = "limit", .letter = 'n', .type = OPT_INT, .offset = F(limit), .metavar = "N", .help = "at most the N newest; 0 = all", .max = INT32_MAX, .fallback = "30"},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document"},
};
/* clang-format on */

/* ---- the filter ---- */

struct filter {
	struct store_filter f;
	struct model_kv *tags;
};

static int parse_when(const char *option, const char *text, int64_t *out, struct weir_err *e)
{
	int rc = text ? clk_parse_when(text, clk_real_ns(), out, e) : 0;

	return rc < 0 ? err_wrap(e, "--%s", option) : 0;
}

static int make_filter(const struct list_cfg *c, struct filter *f, struct weir_err *e)
{
	int rc;

	f->f = (struct store_filter){.kind = c->kind,
				     .host = c->host,
				     .n_tags = c->tags.n,
				     .since_real_ns = MODEL_NO_TIME,
				     .until_real_ns = MODEL_NO_TIME,
				     .limit = c->limit ? c->limit + 1 : 0};
	f->f.tags = f->tags = calloc(c->tags.n + 1, sizeof(*f->tags));
	if (!f->tags)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (size_t i = 0; i < c->tags.n; i++) {
		char *eq = strchr(c->tags.v[i], '=');

		if (eq)
			*eq++ = '\0';
		f->tags[i] = (struct model_kv){c->tags.v[i], eq};
	}
	rc = parse_when("since", c->since, &f->f.since_real_ns, e);
	return rc < 0 ? rc : parse_when("until", c->until, &f->f.until_real_ns, e);
}

static bool is_filtered(const struct list_cfg *c)
{
	return c->kind || c->host || c->since || c->until || c->tags.n;
}

/* ---- what is there ---- */

struct row {
	char id[MODEL_ID_LEN + 1];
	char *kind, *near, *far, *headline, *tags, *protocol;
	int64_t start;
	enum model_outcome outcome;
};
struct rows {
	struct row *v;
	size_t n;
};

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static int take_entry(const struct store_entry *en, void *arg)
{
	struct rows *l = arg;
	struct row *v = reallocarray(l->v, l->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	l->v = v;
	v[l->n] = (struct row){.kind = copy(en->kind),
			       .near = copy(en->near),
			       .far = copy(en->far),
			       .headline = copy(en->headline),
			       .tags = copy(en->tags),
			       .protocol = copy(en->protocol),
			       .start = en->start_real_ns,
			       .outcome = en->outcome};
	memcpy(v[l->n].id, en->id, sizeof(en->id));
	l->n++;
	return 0;
}

static void rows_fini(struct rows *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].kind);
		free(l->v[i].near);
		free(l->v[i].far);
		free(l->v[i].headline);
		free(l->v[i].tags);
		free(l->v[i].protocol);
	}
	free(l->v);
}

/* A run that was cut off has no headline with it; what it had until then makes one. */
static void make_headline(struct store *s, struct row *row)
{
	struct model_run *r = NULL;
	struct buf b = {0};

	if (row->headline || row->outcome == OUTCOME_RUNNING ||
	    store_load(s, row->id, &r, NULL) < 0)
		return;
	format_headline(r, &b);
	row->headline = buf_take(&b);
	model_run_free(r);
}

/* ---- as a table ---- */

enum { COL_ID, COL_TIME, COL_KIND, COL_PEER, COL_LINE, COL_TAGS, COLS };
static const char *const heads[COLS] = {"Run", "Started", "Kind", "Peer", "Result", "Tags"};

static void put_cell(struct buf *b, const char *s)
{
	safe_put(b, s ? s : "-", s ? strlen(s) : 1);
}

static void put_time(struct buf *b, int64_t real_ns)
{
	char text[24];

	if (real_ns == MODEL_NO_TIME) {
		buf_putc(b, '-');
		return;
	}
	clk_format_utc(text, sizeof(text), real_ns);
	buf_printf(b, "%.10s %.5sZ", text, text + 11);
}

static void put_line(struct buf *b, const struct row *row)
{
	if (row->outcome != OUTCOME_COMPLETE)
		buf_printf(b, "(%s) ", model_outcome_names[row->outcome]);
	put_cell(b, row->headline);
}

static void put_tags(struct buf *b, const char *tags)
{
	const char *end;

	for (const char *p = tags; p && *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\n");
		if (p != tags)
			buf_putc(b, ' ');
		safe_put(b, p, (size_t)(end - p));
	}
}

static void make_cell(struct buf *b, const struct row *row, int col)
{
	size_t n = strlen(row->id);

	switch (col) {
	case COL_ID:
		buf_puts(b, row->id + (n > ID_SHOWN ? n - ID_SHOWN : 0));
		break;
	case COL_TIME:
		put_time(b, row->start);
		break;
	case COL_KIND:
		put_cell(b, row->kind);
		break;
	case COL_PEER:
		put_cell(b, row->far);
		break;
	case COL_LINE:
		put_line(b, row);
		break;
	case COL_TAGS:
		put_tags(b, row->tags);
		break;
	}
}

/* Columns on a terminal: bytes that do not continue a character. */
static size_t width_of(const char *s, size_t n)
{
	size_t w = 0;

	for (size_t i = 0; i < n; i++)
		w += ((unsigned char)s[i] & 0xc0) != 0x80;
	return w;
}

static void measure_cells(const struct rows *l, size_t width[COLS])
{
	struct buf b = {0};

	for (int c = 0; c < COLS; c++) {
		width[c] = strlen(heads[c]);
		for (size_t i = 0; i < l->n; i++) {
			buf_clear(&b);
			make_cell(&b, &l->v[i], c);
			size_t w = width_of(b.data ? b.data : "", b.len);
			width[c] = w > width[c] ? w : width[c];
		}
	}
	buf_fini(&b);
}

/* On a terminal the result gives way, then the tags: one run is one line. */
static void fit(size_t width[COLS], size_t room)
{
	static const struct {
		int col;
		size_t least;
	} gives[] = {{COL_LINE, 24}, {COL_TAGS, 4}, {COL_PEER, 8}, {COL_LINE, 8}};
	size_t all = 0;

	for (int c = 0; c < COLS; c++)
		all += width[c] + (c ? GAP : 0);
	for (size_t i = 0; i < ARRAY_LEN(gives) && all > room; i++) {
		size_t *w = &width[gives[i].col], least = gives[i].least, over = all - room;
		size_t less = *w <= least ? 0 : over < *w - least ? over : *w - least;

		*w -= less;
		all -= less;
	}
}

/* The cell that begins at `from`, as wide as its column. */
static void end_cell(struct buf *b, size_t from, size_t width)
{
	size_t w = width_of(b->data + from, b->len - from), cut = w > width ? w - width + 2 : 0;

	while (cut && b->len > from)
		cut -= (b->data[--b->len] & 0xc0) != 0x80;
	if (w > width)
		buf_puts(b, "..");
	buf_repeat(b, ' ', (width > w ? width - w : 0) + GAP);
}

/* No blanks at a line's end. */
static void end_line(struct buf *b)
{
	while (b->len && b->data[b->len - 1] == ' ')
		b->len--;
	buf_putc(b, '\n');
}

static void put_table(struct buf *b, const struct rows *l, size_t room)
{
	size_t width[COLS], from;

	measure_cells(l, width);
	fit(width, room);
	for (int c = 0; c < COLS; c++) {
		from = b->len;
		buf_puts(b, heads[c]);
		end_cell(b, from, width[c]);
	}
	end_line(b);
	for (size_t i = 0; i < l->n && !b->failed; i++) {
		for (int c = 0; c < COLS; c++) {
			from = b->len;
			make_cell(b, &l->v[i], c);
			if (b->failed)
				return;
			end_cell(b, from, width[c]);
		}
		end_line(b);
	}
}

/* ---- as JSON ---- */

static void put_json_tags(struct jw *w, const char *tags)
{
	const char *end;

	jw_obj(w, "tags");
	for (const char *p = tags; p && *p; p = *end ? end + 1 : end) {
		char key[SAFE_MAX];
		size_t n = strcspn(p, "=\n");

		end = p + strcspn(p, "\n");
		snprintf(key, sizeof(key), "%.*s", (int)n, p);
		if (p[n] == '=')
			jw_strn(w, key, p + n + 1, (size_t)(end - p) - n - 1);
	}
	jw_end_obj(w);
}

static void put_json_row(struct jw *w, const struct row *row)
{
	jw_obj(w, NULL);
	jw_str(w, "id", row->id);
	jw_str(w, "kind", row->kind);
	if (row->start != MODEL_NO_TIME)
		jw_i64(w, "start_real_ns", row->start);
	jw_str(w, "outcome", model_outcome_names[row->outcome]);
	jw_str(w, "near", row->near);
	jw_str(w, "far", row->far);
	jw_str(w, "protocol", row->protocol);
	jw_str(w, "headline", row->headline);
	put_json_tags(w, row->tags);
	jw_end_obj(w);
}

static void put_json(struct buf *b, const struct rows *l)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	jw_i64(&w, "schema", MODEL_SCHEMA);
	jw_arr(&w, "runs");
	for (size_t i = 0; i < l->n; i++)
		put_json_row(&w, &l->v[i]);
	jw_end_arr(&w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

/* ---- the command ---- */

static void say_rest(const struct list_cfg *c, const struct rows *l, bool more, bool no_db)
{
	if (no_db || (!l->n && !is_filtered(c)))
		cmd_db_none(&c->db);
	else if (!l->n)
		fprintf(stderr, "no stored run matches\n");
	else if (more)
		fprintf(stderr, "older ones are not shown (--limit 0 shows all)\n");
}

static int print_rows(const struct list_cfg *c, struct store *s, struct rows *l)
{
	bool more = c->limit && l->n > (size_t)c->limit;
	struct rows shown = {l->v, more ? (size_t)c->limit : l->n};
	struct buf b = {0};
	bool ok;

	for (size_t i = 0; s && i < shown.n; i++)
		make_headline(s, &l->v[i]);
	if (c->json)
		put_json(&b, &shown);
	else if (shown.n)
		put_table(&b, &shown,
			  cmd_terminal(STDOUT_FILENO) ? (size_t)ui_columns(STDOUT_FILENO)
						      : SIZE_MAX);
	ok = cmd_flush(&b);
	buf_fini(&b);
	say_rest(c, &shown, more, !s);
	return ok ? CMD_OK : CMD_FAILED;
}

static int run(void *cfg)
{
	const struct list_cfg *c = cfg;
	struct filter f = {0};
	struct rows l = {0};
	struct store *s = NULL;
	struct weir_err e = {0};
	int rc = make_filter(c, &f, &e);

	if (rc >= 0)
		rc = cmd_db_open(&c->db, STORE_READ, &s, &e);
	if (rc >= 0 && s)
		rc = store_list(s, &f.f, take_entry, &l, &e);
	if (rc == -ENOMEM)
		err_set(&e, WEIR_OS, ENOMEM, "out of memory");
	rc = rc < 0 ? cmd_fail("list", &e) : print_rows(c, s, &l);
	rows_fini(&l);
	free(f.tags);
	store_close(s);
	return rc;
}

static const struct cmd_more list_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_list = {
	.name = "list",
	.summary = "list the stored runs",
	.usage = "",
	.opts = list_opts,
	.n_opts = ARRAY_LEN(list_opts),
	.cfg_size = sizeof(struct list_cfg),
	.more = list_more,
	.run = run,
};
