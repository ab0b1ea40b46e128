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
	int64_t *block, *place; /* place: runs in a row of one switch are one unit */
	size_t n;
};

static int gather(const struct try_exp *x, const struct try_span *span, size_t level,
		  struct values *v)
{
	const struct try_design *d = x->design;
	size_t n = try_block(d), from = span->from * n, to = span->to * n;

	v->n = 0;
	v->x = calloc(to - from + 1, sizeof(*v->x));
	v->block = calloc(to - from + 1, sizeof(*v->block));
	v->place = calloc(to - from + 1, sizeof(*v->place));
	if (!v->x || !v->block || !v->place)
		return -ENOMEM;
	for (size_t i = from; i < to; i++) {
		size_t variant = try_variant_at(d, i);
		size_t is = d->same ? variant : try_level(d, variant, span->factor);

		if (is != level || !x->runs[i] || !try_value(x->runs[i], span->metric, &v->x[v->n]))
			continue;
		v->place[v->n] = (int64_t)(i / try_each(d));
		v->block[v->n++] = (int64_t)(i / n);
	}
	return 0;
}

static struct model_side side_of(const struct values *v, const struct try_design *d)
{
	return (struct model_side){.x = v->x,
				   .n = v->n,
				   .block = v->block,
				   .session = try_each(d) > 1 ? v->place : NULL};
}

static void values_fini(struct values *v)
{
	free(v->x);
	free(v->block);
	free(v->place);
}

int try_effect(const struct try_exp *x, const struct try_span *span,
	       const struct model_judge_cfg *cfg, struct model_judgement *out)
{
	struct model_judge_cfg mine = *cfg;
	struct values va = {0}, vb = {0};
	int rc = gather(x, span, 0, &va);

	if (rc >= 0)
		rc = gather(x, span, span->b, &vb);
	if (rc >= 0) {
		struct model_side a = side_of(&va, x->design), b = side_of(&vb, x->design);

		mine.design = DESIGN_BLOCKED;
		model_judge(&mine, &a, &b, out);
	}
	values_fini(&va);
	values_fini(&vb);
	return rc;
}
