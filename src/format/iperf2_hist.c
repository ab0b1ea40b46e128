/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iperf 2's histograms stand in rows of their own with the interval's stamp: bins of so many
 * microseconds, and which bin holds 5, 95 and 99.7 % of the counts. The last of each kind counts.
 */
#include <string.h>

#include "format/iperf.h"
#include "format/rows.h"

#define BINS_MAX 400 /* "4:11,": four tokens each */

/* "( 5.00/95.00/99.7%=1/7/11, Outliers=0" : the index after the third bin. */
static size_t shares(const struct lex *l, size_t i, double *c)
{
	size_t end = match(
		l, i, "\\( # / # / # % = # / # / # ( , Outliers = # ( , obl/obu = # / # ) \\) )",
		c);

	if (!end)
		return 0;
	/* The largest, and when it was. */
	i = match(l, end, "\\( # ms / # \\)", c + 9);
	return i ? i : end;
}

size_t iperf_hist(const struct lex *l, size_t i, struct iperf_acc *a)
{
	double c[MATCH_CAPS] MATCH_OUT, s[MATCH_CAPS] MATCH_OUT;
	struct iperf_hist *h;
	size_t end = match(l, i,
			   "[ # ] # - # sec %w ( \\( f \\) ) - PDF : bin \\( w = #T \\) : cnt \\( "
			   "# \\) =",
			   c),
	       bins = end;

	if (!end)
		return 0;
	while (end < l->n && end < bins + 4 * BINS_MAX && !lex_is(l, end, "("))
		end++;
	s[9] = UNSET;
	end = shares(l, end, s);
	if (!end || a->n_hist == IPERF_HISTS)
		return bins;
	h = &a->hist[0];
	while (h < a->hist + a->n_hist &&
	       strcmp(h->name, rows_text(l, (size_t)c[3], (char[16]){0}, 16)))
		h++;
	a->n_hist += h == a->hist + a->n_hist;
	rows_text(l, (size_t)c[3], h->name, sizeof(h->name));
	h->count = c[5];
	for (size_t k = 0; k < 3; k++) {
		h->share[k] = s[k] / 100;
		h->s[k] = s[3 + k] * c[4];
	}
	h->bin = c[4];
	h->most = s[9] / 1e3;
	return end;
}

void iperf_hist_put(const struct iperf_acc *a, struct format_found *f)
{
	for (size_t i = 0; i < a->n_hist; i++) {
		const struct iperf_hist *h = &a->hist[i];

		found_ext(f, found_join(f, "ext.iperf.", h->name, ".count"), UNIT_NONE, STAT_VALUE,
			  DIMS_NONE, h->count, 1);
		found_ext(f, found_join(f, "ext.iperf.", h->name, ""), UNIT_SECOND, STAT_MAX,
			  DIMS_NONE, h->most, 1e-6);
		for (size_t k = 0; k < 3; k++)
			found_ext(f, found_name(f, "ext.iperf.%s.p%g", h->name, h->share[k] * 100),
				  UNIT_SECOND, STAT_VALUE, DIMS_NONE, h->s[k], h->bin);
	}
}
