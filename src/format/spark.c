/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A series as one word: a cell a value, from 0 to the largest, so that a dip to half looks like
 * half. A long series is averaged into the cells there are.
 */
#include "format/priv.h"

#include <math.h>

#define LEVELS 8

static const char *const blocks[LEVELS] = {
	"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
	"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
};
static const char *const ascii[LEVELS] = {"_", ".", ",", "-", "=", "+", "*", "#"};

static double mean_of(const double *v, size_t n)
{
	double sum = 0;
	size_t known = 0;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			continue;
		sum += v[i];
		known++;
	}
	return known ? sum / (double)known : (double)NAN;
}

static double cell_value(const double *v, size_t n, size_t cells, size_t i)
{
	size_t from = i * n / cells, to = (i + 1) * n / cells;
	return mean_of(v + from, to - from);
}

void format_spark(struct buf *b, const double *v, size_t n, size_t width, bool unicode)
{
	const char *const *glyphs = unicode ? blocks : ascii;
	size_t cells = n < width ? n : width;
	double most = 0;
	for (size_t i = 0; i < cells; i++)
		most = fmax(most, cell_value(v, n, cells, i)); /* fmax passes over NAN */
	for (size_t i = 0; i < cells; i++) {
		double x = cell_value(v, n, cells, i);
		if (!isfinite(x)) {
			buf_putc(b, ' ');
			continue;
		}
		double level = most > 0 ? floor(x / most * LEVELS) : 0;
		buf_puts(b, glyphs[level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : (int)level]);
	}
}

bool format_run_spark(const struct model_run *r, int dir, struct buf *b, size_t width, bool unicode)
{
	const struct format_layout *l = format_layout(r->kind);
	struct format_group g;
	struct format_series s;
	if (!format_group_pick(r, dir, MODEL_RECEIVER, &g))
		return false;
	for (const char *const *m = l->spark; m && *m; m++) {
		if (!format_group_has(r, &g, *m) || format_series(r, &g, *m, &s) < 0)
			continue;
		bool enough = s.n >= 2;
		if (enough)
			format_spark(b, s.v, s.n, width, unicode);
		format_series_fini(&s);
		if (enough)
			return true;
	}
	return false;
}
