/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs side by side: a row a figure, a column a run, in blocks as wide as the page. The figures
 * are those of the kinds' own tables; a row is there when any run knows it.
 */
#include "format/priv.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX   200
#define SUMS_MAX   1000 /* looked at for rows, of a kind without a table */
#define LABEL_COLS 28
#define RUN_COLS   23
#define SHORT_ID   8 /* of a UUIDv7's random end: what the list shows and `show` takes */

struct table_row {
	struct format_key key;
	char label[80];
};
struct table {
	const struct model_run *const *runs;
	size_t n_runs, n;
	struct table_row row[ROWS_MAX];
};

static void make_label(struct table_row *row)
{
	static const char *const views[] = {"", " sender", " receiver", " device"};
	static const char *const ends[] = {"", " this end", " far end"};
	const struct format_key *k = &row->key;
	bool stat = k->stat != STAT_VALUE;
	int view = k->view >= 0 && k->view <= MODEL_DEVICE ? k->view + 1 : 0;
	int end = k->end >= 0 && k->end <= MODEL_FAR ? k->end + 1 : 0;
	safe_str(row->label, 40, k->metric, strlen(k->metric));
	size_t n = strlen(row->label);
	snprintf(row->label + n, sizeof(row->label) - n, "%s%s%s%s%s%s", stat ? " " : "",
		 stat ? model_stat_name(k->stat) : "", k->dir >= 0 ? " " : "",
		 format_dir_name(k->dir), views[view], ends[end]);
}

static bool has_row(const struct table *t, const struct table_row *row)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->row[i].label, row->label))
			return true;
	return false;
}

static void add_key(struct table *t, const struct format_key *k)
{
	struct table_row row = {.key = *k};
	bool known = false;
	make_label(&row);
	if (t->n == ROWS_MAX || has_row(t, &row))
		return;
	for (size_t i = 0; i < t->n_runs && !known; i++) {
		struct format_fig f = format_fig(t->runs[i], k);
		known = format_known(&f) && ((k->view < 0 && k->end < 0) || f.ended);
	}
	if (known)
		t->row[t->n++] = row;
}

/* A column of a kind's table: of each direction's views, and of the hosts. */
static void add_col(struct table *t, const struct format_col *c)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++)
		for (int view = MODEL_SENDER; view <= MODEL_RECEIVER; view++) {
			struct format_key k = {c->metric, c->stat, dir, view, FORMAT_ANY, -1, true};
			if (c->view == FORMAT_ANY || c->view == view)
				add_key(t, &k);
		}
	for (int end = MODEL_NEAR; end <= MODEL_FAR; end++) {
		struct format_key k = {c->metric, c->stat, FORMAT_DIRLESS, FORMAT_ANY,
				       end,       -1,      false};
		add_key(t, &k);
	}
}

static void add_headline(struct table *t, const char *metric)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct format_key k = {metric,     STAT_VALUE, dir, MODEL_RECEIVER,
				       FORMAT_ANY, -1,         true};
		add_key(t, &k);
	}
}

static int dim_or_any(const struct model_dims *d, enum model_dim_id id)
{
	return d->has & (1u << id) ? (int)d->v[id] : FORMAT_ANY;
}

static void add_summaries(struct table *t, const struct model_run *r)
{
	for (size_t i = 0; i < r->n_sums && i < SUMS_MAX; i++) {
		const struct model_summary *s = &r->sums[i];
		struct format_key k = {s->metric->name,
				       s->stat,
				       dim_or_any(&s->dims, DIM_DIR),
				       dim_or_any(&s->dims, DIM_VIEW),
				       dim_or_any(&s->dims, DIM_END),
				       -1,
				       false};
		add_key(t, &k);
	}
}

static void add_kind(struct table *t, const struct model_run *r)
{
	const struct format_layout *l = format_layout(r->kind);
	if (l->headline)
		add_headline(t, l->headline);
	for (size_t i = 0; i < l->n_table; i++)
		if (!l->headline || strcmp(l->table[i].metric, l->headline) != 0)
			add_col(t, &l->table[i]);
	if (!l->headline)
		add_summaries(t, r);
}

/* ---- cells ----------------------------------------------------------------- */

static void put_id(const struct model_run *r, struct buf *b, bool unicode)
{
	char id[SHORT_ID + 1];
	size_t n = strlen(r->id);
	snprintf(id, sizeof(id), "%s", r->id + (n > SHORT_ID ? n - SHORT_ID : 0));
	format_foreign(b, id, unicode);
}

static void put_kind(const struct model_run *r, struct buf *b, bool unicode)
{
	format_foreign(b, r->kind, unicode);
}

static void put_started(const struct model_run *r, struct buf *b, bool unicode)
{
	char when[32] = "unknown";
	(void)unicode;
	if (r->start_real_ns != MODEL_NO_TIME)
		clk_format_utc(when, sizeof(when), r->start_real_ns);
	buf_puts(b, when);
}

static void put_tags(const struct model_run *r, struct buf *b, bool unicode)
{
	for (size_t i = 0; i < r->n_tags; i++) {
		if (i)
			buf_putc(b, ' ');
		format_foreign(b, r->tags[i].k, unicode);
		buf_putc(b, '=');
		format_foreign(b, r->tags[i].v, unicode);
	}
}

static void put_outcome(const struct model_run *r, struct buf *b, bool unicode)
{
	static const char *const words[] = {"complete", "ended early", "failed", "incomplete"};
	(void)unicode;
	buf_puts(b, (unsigned)r->outcome < ARRAY_LEN(words) ? words[r->outcome] : "unknown");
}

static void put_far(const struct model_run *r, struct buf *b, bool unicode)
{
	if (!format_far_name(r, b, unicode))
		buf_puts(b, "unknown");
}

static const struct {
	const char *label;
	void (*put)(const struct model_run *r, struct buf *b, bool unicode);
} facts[] = {{"run", put_id},      {"kind", put_kind}, {"started", put_started},
	     {"far end", put_far}, {"tags", put_tags}, {"outcome", put_outcome}};

/* A direction that a run did not measure is left empty: nothing of it is unknown. */
static void put_fig(const struct table_row *row, const struct model_run *r, struct buf *b,
		    bool unicode)
{
	struct format_fig f = format_fig(r, &row->key);
	bool measured = row->key.dir < 0 || format_dirs(r) & 1u << row->key.dir;
	if ((row->key.view >= 0 || row->key.end >= 0) && !f.ended)
		f.metric = NULL;
	if (!f.metric && (!measured || row->key.dir == FORMAT_DIRLESS))
		return;
	format_fig_put(b, &f, 3, unicode);
	if (format_known(&f) && f.prov == MODEL_TOLD)
		buf_puts(b, " (told)");
}

static void add_cell(struct format_grid *g, struct buf *cell)
{
	format_grid_cell(g, cell->data && cell->len ? cell->data : "");
	buf_clear(cell);
}

static bool row_used(const struct table_row *row, const struct table *t, size_t from, size_t to)
{
	struct buf cell = {0};
	for (size_t k = from; k < to; k++)
		put_fig(row, t->runs[k], &cell, false);
	bool used = cell.len > 0;
	buf_fini(&cell);
	return used;
}

/* Columns from..to of all rows that say something there. */
static void put_block(const struct table *t, size_t from, size_t to, const struct format_opts *o,
		      struct buf *b)
{
	struct format_grid g;
	struct buf cell = {0};
	format_grid_init(&g, to - from + 1);
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		format_grid_row(&g, facts[i].label);
		for (size_t k = from; k < to; k++) {
			facts[i].put(t->runs[k], &cell, o->unicode);
			add_cell(&g, &cell);
		}
	}
	for (size_t i = 0; i < t->n; i++) {
		if (!row_used(&t->row[i], t, from, to))
			continue;
		format_grid_row(&g, t->row[i].label);
		for (size_t k = from; k < to; k++) {
			put_fig(&t->row[i], t->runs[k], &cell, o->unicode);
			add_cell(&g, &cell);
		}
	}
	format_grid_text(&g, b, FORMAT_LABEL, SIZE_MAX);
	buf_fini(&cell);
	format_grid_fini(&g);
}

void format_table(const struct model_run *const *runs, size_t n, const struct format_opts *o,
		  struct buf *b)
{
	static const struct format_opts plain = {0};
	const struct format_opts *opts = o ? o : &plain;
	struct table t = {.runs = runs, .n_runs = n};
	size_t width = opts->width > 0 ? (size_t)opts->width : 80;
	size_t step = width > LABEL_COLS + RUN_COLS ? (width - LABEL_COLS) / RUN_COLS : 1;
	for (size_t i = 0; i < n; i++)
		add_kind(&t, runs[i]);
	for (size_t from = 0; from < n; from += step) {
		if (from)
			buf_putc(b, '\n');
		put_block(&t, from, from + step < n ? from + step : n, opts, b);
	}
}
