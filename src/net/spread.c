/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long things took: count, sum, squares, extremes and, where asked for, a histogram. The worker
 * is the only writer; a reader that asks for the extremes of an interval says when one begins.
 */
#include "net/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int net_timing_new(struct net_flow *f)
{
	struct net_timing *t;

	if (!f->spec.timed)
		return 0;
	t = calloc(1, sizeof(*t));
	if (t && f->spec.hist_bins)
		t->hist = calloc(f->spec.hist_bins + 1UL, sizeof(*t->hist));
	f->timing = t;
	return t && (t->hist || !f->spec.hist_bins) ? 0 : -ENOMEM;
}

void net_timing_free(struct net_flow *f)
{
	if (f->timing)
		free(f->timing->hist);
	free(f->timing);
	f->timing = NULL;
}

static double load(const _Atomic uint64_t *c)
{
	uint64_t bits = net_count(c);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void store(_Atomic uint64_t *c, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	atomic_store_explicit(c, bits, memory_order_relaxed);
}

static void widen(struct net_extremes *x, double v, bool first)
{
	if (first || v < load(&x->min))
		store(&x->min, v);
	if (first || v > load(&x->max))
		store(&x->max, v);
}

static void to_hist(struct net_flow *f, int64_t ns)
{
	int64_t bin = ns > 0 && f->spec.hist_bin_ns ? (ns - 1) / f->spec.hist_bin_ns : 0;

	net_count_add(&f->timing->hist[bin < f->spec.hist_bins ? bin : f->spec.hist_bins], 1);
}

void net_timing_add(struct net_flow *f, int64_t ns)
{
	struct net_timing *t = f->timing;
	double v = (double)ns * 1e-9;
	uint32_t asked = atomic_load_explicit(&t->asked, memory_order_acquire);

	widen(&t->all, v, net_count(&t->n) == 0);
	widen(&t->lately, v, asked != t->seen || net_count(&t->n) == 0);
	t->seen = asked;
	store(&t->sum, load(&t->sum) + v);
	store(&t->squares, load(&t->squares) + v * v);
	if (t->hist)
		to_hist(f, ns);
	net_count_add(&t->n, 1);
}

void net_timing_read(const struct net_flow *f, struct net_flow_sample *s)
{
	struct net_timing *t = f->timing;

	if (!t)
		return;
	s->spread = (struct net_spread){.n = net_count(&t->n),
					.sum = load(&t->sum),
					.squares = load(&t->squares),
					.min = load(&t->all.min),
					.max = load(&t->all.max),
					.lately_min = load(&t->lately.min),
					.lately_max = load(&t->lately.max)};
	s->hist = t->hist;
}

void net_timing_interval(const struct net_flow *f)
{
	if (f->timing)
		atomic_fetch_add_explicit(&f->timing->asked, 1, memory_order_release);
}
