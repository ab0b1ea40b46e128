/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of cells with a width each, filled row by row and printed as padded text or as a Markdown
 * table. Cells hold final text.
 */
#include "format/priv.h"

#include <stdlib.h>
#include <string.h>

#define GAP 3 /* blanks between columns */

void format_grid_init(struct format_grid *g, size_t cols)
{
	*g = (struct format_grid){.cols = cols};
}

void format_grid_fini(struct format_grid *g)
{
	buf_fini(&g->text);
	free(g->at);
	*g = (struct format_grid){0};
}

static bool make_room(struct format_grid *g)
{
	if (g->n < g->cap)
		return true;
	size_t cap = g->cap ? 2 * g->cap : 64;
	size_t *at = realloc(g->at, cap * sizeof(*at));
	if (!at)
		return false;
	g->at = at;
	g->cap = cap;
	return true;
}

void format_grid_cell(struct format_grid *g, const char *text)
{
	if (g->failed || !make_room(g)) {
		g->failed = true;
		return;
	}
	g->at[g->n++] = g->text.len;
	buf_put(&g->text, text, strlen(text) + 1);
	g->failed = g->text.failed;
}

void format_grid_row(struct format_grid *g, const char *first)
{
	while (!g->failed && g->n % g->cols)
		format_grid_cell(g, "");
	format_grid_cell(g, first);
}

size_t format_grid_rows(const struct format_grid *g)
{
	return g->failed ? 0 : (g->n + g->cols - 1) / g->cols;
}

const char *format_grid_at(const struct format_grid *g, size_t row, size_t col)
{
	size_t i = row * g->cols + col;
	return i < g->n && col < g->cols ? g->text.data + g->at[i] : "";
}

/* Is the cell the last of its row that says something? */
static bool is_last(const struct format_grid *g, size_t row, size_t col)
{
	for (size_t c = col + 1; c < g->cols; c++)
		if (*format_grid_at(g, row, c))
			return false;
	return true;
}

static size_t columns_at(const struct format_grid *g, size_t row, size_t col)
{
	const char *s = format_grid_at(g, row, col);
	return format_columns(s, strlen(s));
}

/* A row's last cell does not widen its column: it may run over what is empty. */
static size_t col_width(const struct format_grid *g, size_t col)
{
	size_t most = 0;
	for (size_t row = 0; row < format_grid_rows(g); row++) {
		size_t n = columns_at(g, row, col);
		bool over = col > 0 && col + 1 < g->cols && is_last(g, row, col);
		if (!over && n > most)
			most = n;
	}
	return most;
}

static void put_row(const struct format_grid *g, struct buf *b, size_t row, const size_t *widths,
		    size_t width)
{
	struct buf line = {0};
	size_t used = 0, col = 0;
	for (; !is_last(g, row, col); col++) {
		size_t n = columns_at(g, row, col);
		size_t pad = (widths[col] > n ? widths[col] - n : 0) + (col ? GAP : 1);
		buf_puts(&line, format_grid_at(g, row, col));
		buf_repeat(&line, ' ', pad);
		used += n + pad;
	}
	const char *last = format_grid_at(g, row, col);
	if (used + 8 > width) /* too narrow to wrap: a long line is the lesser evil */
		width = SIZE_MAX;
	format_wrap(b, line.data ? line.data : "", used, last, width);
	b->failed = b->failed || line.failed;
	buf_fini(&line);
}

void format_grid_text(const struct format_grid *g, struct buf *b, size_t label, size_t width)
{
	size_t *widths = calloc(g->cols, sizeof(*widths));
	if (!widths) {
		b->failed = true;
		return;
	}
	for (size_t col = 0; col < g->cols; col++)
		widths[col] = col_width(g, col);
	if (widths[0] + 1 < label)
		widths[0] = label - 1;
	for (size_t row = 0; row < format_grid_rows(g); row++)
		put_row(g, b, row, widths, width);
	free(widths);
}

/* Cells are already safe text; here only the characters that Markdown reads. */
void format_grid_markdown(const struct format_grid *g, struct buf *b)
{
	for (size_t row = 0; row < format_grid_rows(g); row++) {
		buf_putc(b, '|');
		for (size_t col = 0; col < g->cols; col++) {
			buf_putc(b, ' ');
			safe_markdown(b, format_grid_at(g, row, col));
			buf_puts(b, " |");
		}
		buf_putc(b, '\n');
		for (size_t col = 0; row == 0 && col <= g->cols; col++)
			buf_puts(b, col < g->cols ? "| --- " : "|\n");
	}
}
