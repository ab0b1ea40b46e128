/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect so far, on the primary metric: for the line of progress, for the width at which
 * `--runs auto` ends, and for the effects of a calibration. One level against the first, within
 * blocks, over all levels of another factor.
 */
#include <errno.h>
#include <stdlib.h>

#include "try/try.h"

/* Where both directions have a figure, the one that goes up is meant unless said otherwise. */
bool try_value(const struct model_run *r, const char *spec, double *v)
{
	const struct model_summary *s = model_find_spec(r, spec ? spec : "goodput", NULL);

	if (!s && !spec)
		s = model_find_spec(r, "goodput:up", NULL);
	if (!s || s->state != MODEL_KNOWN)
		return false;
	*v = s->value;
	return true;
}

struct values {
	double *x;
	int64_t *block;
	size_t n;
};

static int gather(const struct try_exp *x, size_t factor, size_t level, size_t from, size_t to,
		  struct values *v)
{
	const struct try_design *d = x->design;
	size_t n = try_variants(d);

	v->n = 0;
	v->x = calloc((to - from) * n + 1, sizeof(*v->x));
	v->block = calloc((to - from) * n + 1, sizeof(*v->block));
	if (!v->x || !v->block)
		return -ENOMEM;
	for (size_t i = from * n; i < to * n; i++) {
		size_t variant = try_variant_at(d, i);
		size_t is = d->same ? variant : try_level(d, variant, factor);

		if (is != level || !x->runs[i] ||
		    !try_value(x->runs[i], x->exp.primary, &v->x[v->n]))
			continue;
		v->block[v->n++] = (int64_t)(i / n);
	}
	return 0;
}

int try_effect(const struct try_exp *x, size_t factor, size_t b, size_t from, size_t to,
	       const struct model_judge_cfg *cfg, struct model_judgement *out)
{
	struct model_judge_cfg mine = *cfg;
	struct values va = {0}, vb = {0};
	int rc = gather(x, factor, 0, from, to, &va);

	if (rc >= 0)
		rc = gather(x, factor, b, from, to, &vb);
	if (rc >= 0) {
		struct model_side a = {.x = va.x, .n = va.n, .block = va.block};
		struct model_side c = {.x = vb.x, .n = vb.n, .block = vb.block};

		mine.design = DESIGN_BLOCKED;
		model_judge(&mine, &a, &c, out);
	}
	free(va.x);
	free(va.block);
	free(vb.x);
	free(vb.block);
	return rc;
}
