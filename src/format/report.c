/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every report for people says, apart from how it looks: the setting, the result of each
 * direction, both ends' views as a grid, the events. Text, paste and Markdown differ only
 * in dress.
 */
#include "format/priv.h"

#include <math.h>
#include <string.h>

static struct format_fig fig_of(const struct model_run *r, const char *metric, int dir, int view)
{
	struct format_key k = {metric, STAT_VALUE, dir, view, FORMAT_ANY, -1, false};
	return format_fig(r, &k);
}

bool format_far_name(const struct model_run *r, struct buf *b, bool unicode)
{
	if (!r->host[MODEL_FAR].name)
		return format_json_member(b, r->request, "host", unicode);
	format_foreign(b, r->host[MODEL_FAR].name, unicode);
	return true;
}

void format_tool(const struct model_host *h, struct buf *b, bool unicode)
{
	format_foreign(b, h->tool ? h->tool : "unknown program", unicode);
	if (!h->version)
		return;
	buf_putc(b, ' ');
	format_foreign(b, h->version, unicode);
}

static void separate(struct buf *b, size_t start, const char *by)
{
	if (b->len > start)
		buf_puts(b, by);
}

static void flows_words(const struct model_run *r, struct buf *b, size_t start)
{
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		int64_t first, n = format_flows(r, dir, &first);
		if (!n)
			continue;
		separate(b, start, ", ");
		buf_printf(b, "%lld flow%s %s", (long long)n, n == 1 ? "" : "s",
			   format_dir_name(dir));
	}
}

/* Members of a request that the far end's name, the flows and the title say. */
static const char *const told_by_flows[] = {"host", "parallel", "reverse", "bidir", "title", NULL};

void format_setting(const struct model_run *r, struct buf *b, bool with_title, bool unicode)
{
	const struct model_host *far = &r->host[MODEL_FAR];
	size_t start = b->len;
	if (far->tool) {
		format_tool(far, b, unicode);
		buf_puts(b, " at the far end");
	}
	if (r->source.file) {
		separate(b, start, ", ");
		buf_puts(b, "read from ");
		format_foreign(b, r->source.file, unicode);
	}
	flows_words(r, b, start);
	size_t before = b->len;
	separate(b, start, "; ");
	size_t words = b->len;
	format_json_words(b, r->request, told_by_flows, unicode);
	if (b->len == words && b->data) /* nothing was asked for: no separator either */
		b->data[b->len = before] = '\0';
	if (r->title && with_title) {
		separate(b, start, "; ");
		format_foreign(b, r->title, unicode);
	}
}

const char *format_result_label(const struct model_run *r)
{
	return format_layout(r->kind)->headline;
}

/* ", 10.00 s, 11.7 GB" of one view, as far as known. */
static void extent_words(const struct model_run *r, int dir, int view, struct buf *b, bool unicode)
{
	static const struct {
		const char *metric;
		int digits;
	} parts[] = {{"duration", 4}, {"bytes", 3}};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct format_fig f = fig_of(r, parts[i].metric, dir, view);
		if (!format_known(&f))
			continue;
		buf_puts(b, ", ");
		format_fig_put(b, &f, parts[i].digits, unicode);
	}
}

static const char *prov_words(enum model_prov p)
{
	static const char *const words[] = {
		[MODEL_MEASURED] = "receiver's",
		[MODEL_TOLD] = "receiver's, as told",
		[MODEL_PRINTED] = "receiver's",
		[MODEL_DERIVED] = "receiver's, from its samples",
		[MODEL_PARTIAL] = "receiver's, from the samples so far",
		[MODEL_SENDER_ONLY] = "sender's; the receiver's is unknown",
	};
	return (unsigned)p < ARRAY_LEN(words) ? words[p] : "receiver's";
}

void format_result(const struct model_run *r, int dir, struct buf *value, struct buf *words,
		   bool unicode)
{
	const char *metric = format_result_label(r);
	struct format_fig f = fig_of(r, metric, dir, MODEL_RECEIVER);
	format_fig_put(value, &f, 3, unicode);
	if (format_known(&f)) {
		buf_puts(words, prov_words(f.prov));
		extent_words(r, dir, MODEL_RECEIVER, words, unicode);
		return;
	}
	struct format_fig sent = fig_of(r, "throughput.sent", dir, MODEL_SENDER);
	if (!format_known(&sent))
		return;
	buf_puts(words, "only the sender's rate is known: ");
	format_fig_put(words, &sent, 3, unicode);
	extent_words(r, dir, MODEL_SENDER, words, unicode);
}

/* ---- the grid of both views ------------------------------------------------ */

struct grid_ctx {
	const struct model_run *r;
	int dir;
	bool directed, unicode;
	size_t told[2], known[2]; /* figures a column */
};

static bool both_dirs(const struct model_run *r)
{
	return format_dirs(r) == 3;
}

static bool col_in_cell(const struct grid_ctx *x, const struct format_col *c, int cell)
{
	return x->dir == FORMAT_DIRLESS || c->view == FORMAT_ANY || c->view == cell;
}

static struct format_fig cell_fig(const struct grid_ctx *x, const struct format_col *c, int cell)
{
	bool dirless = x->dir == FORMAT_DIRLESS;
	struct format_key k = {.metric = c->metric,
			       .stat = c->stat,
			       .dir = x->dir,
			       .view = dirless ? FORMAT_ANY : cell,
			       .end = dirless ? cell : FORMAT_ANY,
			       .flow = -1,
			       .directed = x->directed};
	struct format_fig f = format_fig(x->r, &k);
	bool anywhere = dirless || c->view == FORMAT_ANY;
	if (!f.ended && cell == 1 && anywhere)
		f.metric = NULL; /* of both ends: said once, at the left */
	return f;
}

/* "of $ segments" with the value in the place of $. */
static void phrase_put(const struct grid_ctx *x, struct buf *b, const struct format_col *c,
		       const struct format_fig *f)
{
	const char *phrase = c->phrase ? c->phrase : "$";
	for (; *phrase; phrase++) {
		if (*phrase == '$')
			format_fig_put(b, f, c->digits, x->unicode);
		else
			buf_putc(b, *phrase);
	}
}

static bool repeated(const struct format_col *cols, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(cols[k].metric, cols[i].metric) && cols[k].stat == cols[i].stat)
			return true;
	return false;
}

static void cell_put(struct grid_ctx *x, const struct format_col *cols, size_t n, int cell,
		     bool mark, struct buf *b)
{
	size_t start = b->len;
	bool unknown = false;
	for (size_t i = 0; i < n; i++) {
		if (!col_in_cell(x, &cols[i], cell) ||
		    (x->dir == FORMAT_DIRLESS && repeated(cols, i)))
			continue;
		struct format_fig f = cell_fig(x, &cols[i], cell);
		if (!format_known(&f)) {
			unknown |= f.metric || cols[i].view == cell;
			continue;
		}
		separate(b, start, " ");
		phrase_put(x, b, &cols[i], &f);
		bool told = f.prov == MODEL_TOLD;
		x->known[cell]++;
		x->told[cell] += told;
		if (told && mark)
			buf_puts(b, " (told)");
	}
	if (b->len > start && b->data[b->len - 1] == ',')
		b->data[--b->len] = '\0'; /* phrases of a list end in a comma */
	if (b->len == start && unknown)
		buf_puts(b, "unknown");
}

static size_t same_head(const struct format_layout *l, size_t i)
{
	size_t n = 1;
	while (i + n < l->n_table && !strcmp(l->table[i].head, l->table[i + n].head))
		n++;
	return n;
}

/* Does any view have a figure of this line, or say that it is unknown? */
static bool line_exists(const struct grid_ctx *x, const struct format_col *cols, size_t n)
{
	for (int cell = 0; cell < 2; cell++)
		for (size_t i = 0; i < n; i++)
			if (col_in_cell(x, &cols[i], cell) && cell_fig(x, &cols[i], cell).metric)
				return true;
	return false;
}

static bool put_lines(struct grid_ctx *x, const bool mark[2], struct format_grid *g)
{
	const struct format_layout *l = format_layout(x->r->kind);
	bool any = false;
	for (size_t i = 0, n; i < l->n_table; i += n) {
		n = same_head(l, i);
		if (!line_exists(x, l->table + i, n))
			continue;
		any = true;
		if (g)
			format_grid_row(g, l->table[i].head);
		for (int cell = 0; cell < 2; cell++) {
			struct buf b = {0};
			cell_put(x, l->table + i, n, cell, mark[cell], &b);
			if (g)
				format_grid_cell(g, b.data ? b.data : "");
			buf_fini(&b);
		}
	}
	return any;
}

/* The word of an end in the last part of this direction: what holds for a load and is no figure. */
static bool part_word(const struct grid_ctx *x, int cell, const char *const keys[2], struct buf *b)
{
	const struct model_run *r = x->r;
	bool any = x->dir < 0 || !x->directed;
	int end = x->dir == FORMAT_DIRLESS ? cell : format_view_end(x->dir, cell);

	for (size_t i = r->n_parts; i-- > 0;)
		if ((any || format_part_dirs(r, (uint32_t)i) & 1u << x->dir) &&
		    format_json_member(b, r->parts[i].params, keys[end], x->unicode))
			return true;
	return false;
}

/* Both directions were measured, in parts of their own. */
static bool one_after_the_other(const struct model_run *r)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if (format_part_dirs(r, (uint32_t)i) == 3)
			return false;
	return both_dirs(r);
}

static void word_line(const struct grid_ctx *x, const char *head, const char *const keys[2],
		      const char *without, struct format_grid *g)
{
	struct buf cells[2] = {0};
	bool near = part_word(x, 0, keys, &cells[0]), far = part_word(x, 1, keys, &cells[1]);

	if (near || far)
		format_grid_row(g, head);
	for (int cell = 0; cell < 2; cell++) {
		if (near || far)
			format_grid_cell(g, cells[cell].data ? cells[cell].data : without);
		buf_fini(&cells[cell]);
	}
}

static void word_lines(const struct grid_ctx *x, struct format_grid *g)
{
	static const struct {
		const char *head, *keys[2], *without;
	} lines[] = {{"congestion", {"congestion", "congestion_far"}, "unknown"},
		     {"offload", {"offload", "offload_far"}, "unknown"},
		     {"jitter clock", {"jitter_clock", "jitter_clock_far"}, ""}};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		word_line(x, lines[i].head, lines[i].keys, lines[i].without, g);
}

static void grid_head(const struct grid_ctx *x, const bool all_told[2], struct format_grid *g)
{
	static const char *const views[2][2] = {{"sender", "sender, as told"},
						{"receiver", "receiver, as told"}};
	static const char *const ends[2][2] = {{"this end", "this end"},
					       {"far end", "far end, as told"}};
	bool dirless = x->dir == FORMAT_DIRLESS;
	format_grid_row(g, x->directed ? format_dir_name(x->dir) : "");
	for (int cell = 0; cell < 2; cell++)
		format_grid_cell(g, (dirless ? ends : views)[cell][all_told[cell]]);
}

bool format_report_grid(const struct model_run *r, int dir, struct format_grid *g, bool unicode)
{
	struct grid_ctx x = {r, dir, both_dirs(r), unicode, {0}, {0}};
	const bool none[2] = {false, false};
	bool mark[2], all_told[2];
	format_grid_init(g, 3);
	if (dir == FORMAT_DIRLESS && !x.directed)
		return false; /* one direction: its grid has these figures */
	x.directed = x.directed && dir != FORMAT_DIRLESS;
	if (!put_lines(&x, none, NULL)) /* the first pass only counts */
		return false;
	for (int cell = 0; cell < 2; cell++) {
		all_told[cell] = x.known[cell] && x.told[cell] == x.known[cell];
		mark[cell] = x.told[cell] && !all_told[cell];
	}
	grid_head(&x, all_told, g);
	put_lines(&x, mark, g);
	if (one_after_the_other(r) ? dir >= 0 : dir == FORMAT_DIRLESS || !both_dirs(r))
		word_lines(&x, g);
	return true;
}

/* ---- flows ------------------------------------------------------------------ */

static const struct format_flow_col flow_cols[FORMAT_FLOW_COLS] = {
	{"goodput", "goodput", MODEL_RECEIVER},
	{"throughput.sent", "sent", MODEL_SENDER},
	{"tcp.retransmits", "retransmits", MODEL_SENDER},
};

const struct format_flow_col *format_flow_col(size_t i)
{
	return i < ARRAY_LEN(flow_cols) ? &flow_cols[i] : NULL;
}

static struct format_fig flow_fig(const struct model_run *r, int dir, int64_t flow, size_t col)
{
	struct format_key k = {flow_cols[col].metric,
			       STAT_VALUE,
			       dir,
			       flow_cols[col].view,
			       FORMAT_ANY,
			       flow,
			       false};
	return format_fig(r, &k);
}

/* Which columns any flow has. */
static unsigned flow_shape(const struct model_run *r, int dir, int64_t first, int64_t n)
{
	unsigned shape = 0;
	for (size_t i = 0; i < ARRAY_LEN(flow_cols); i++)
		for (int64_t flow = first; flow < first + n; flow++)
			if (flow_fig(r, dir, flow, i).metric)
				shape |= 1u << i;
	return shape;
}

static void flow_row(const struct model_run *r, int dir, int64_t flow, unsigned shape,
		     struct format_grid *g, bool unicode)
{
	struct buf b = {0};
	buf_printf(&b, "%lld", (long long)flow);
	format_grid_row(g, b.data ? b.data : "");
	for (size_t i = 0; i < ARRAY_LEN(flow_cols); i++) {
		if (!(shape & 1u << i))
			continue;
		struct format_fig f = flow_fig(r, dir, flow, i);
		buf_clear(&b);
		format_fig_put(&b, &f, 3, unicode);
		format_grid_cell(g, b.data ? b.data : "");
	}
	buf_fini(&b);
}

bool format_flow_grid(const struct model_run *r, int dir, struct format_grid *g, bool unicode)
{
	int64_t first, n = format_flows(r, dir, &first);
	unsigned shape = n >= 2 && n <= FORMAT_FLOWS_MAX ? flow_shape(r, dir, first, n) : 0;
	size_t cols = 1;
	for (size_t i = 0; i < ARRAY_LEN(flow_cols); i++)
		cols += shape >> i & 1;
	format_grid_init(g, cols);
	if (!shape)
		return false;
	format_grid_row(g, both_dirs(r) ? (dir == MODEL_UP ? "flow up" : "flow down") : "flow");
	for (size_t i = 0; i < ARRAY_LEN(flow_cols); i++)
		if (shape & 1u << i)
			format_grid_cell(g, flow_cols[i].head);
	for (int64_t flow = first; flow < first + n; flow++)
		flow_row(r, dir, flow, shape, g, unicode);
	return true;
}

/* ---- kinds without a table ---------------------------------------------------- */

static void dims_words(const struct model_run *r, const struct model_dims *d, struct buf *b,
		       bool unicode)
{
	for (int id = 0; id < DIM_MAX; id++) {
		const struct model_dim *dim = model_dim(id);
		if (!(d->has & (1u << id)))
			continue;
		buf_putc(b, ' ');
		if (dim->type != MODEL_DIM_ENUM)
			buf_printf(b, "%s=", dim->name);
		if (dim->type == MODEL_DIM_STR)
			format_foreign(b, model_run_interned(r, d->v[id]), unicode);
		else
			format_dim_put(b, r, d, id);
	}
}

void format_dim_put(struct buf *b, const struct model_run *r, const struct model_dims *d, int id)
{
	const struct model_dim *dim = model_dim(id);
	int64_t n = 0;
	if (dim->type == MODEL_DIM_STR) {
		const char *s = model_run_interned(r, d->v[id]);
		buf_puts(b, s ? s : "");
		return;
	}
	while (dim->type == MODEL_DIM_ENUM && dim->values[n] && n < d->v[id])
		n++;
	if (dim->type == MODEL_DIM_ENUM && d->v[id] >= 0 && dim->values[n])
		buf_puts(b, dim->values[n]);
	else
		buf_printf(b, "%lld", (long long)d->v[id]);
}

bool format_all_grid(const struct model_run *r, struct format_grid *g, bool unicode)
{
	struct buf b = {0};
	format_grid_init(g, 2);
	format_grid_row(g, "figure");
	format_grid_cell(g, "value");
	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *s = &r->sums[i];
		struct format_fig f = {s->metric, s->stat, s->state, s->bound,
				       s->prov,   false,   s->value, s->resolution};
		buf_clear(&b);
		format_foreign(&b, s->metric->name, unicode);
		if (s->stat != STAT_VALUE)
			buf_printf(&b, " %s", model_stat_name(s->stat));
		dims_words(r, &s->dims, &b, unicode);
		format_grid_row(g, b.data ? b.data : "");
		buf_clear(&b);
		if (format_known(&f) && !isfinite(f.value))
			f.state = MODEL_UNKNOWN;
		format_fig_put(&b, &f, 3, unicode);
		if (f.prov == MODEL_TOLD)
			buf_puts(&b, " (told)");
		format_grid_cell(g, b.data ? b.data : "");
	}
	buf_fini(&b);
	return r->n_sums > 0;
}
