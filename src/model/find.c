/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * People name a figure in a word or two ("goodput:down"), and must get the one they mean or
 * be told why not. A specification becomes a metric, dimensions and a statistic; the best of
 * the summaries that match is the one that says least beyond what was asked.
 */
#include "model/priv.h"

#include <stdlib.h>
#include <string.h>

const struct model_summary *model_find(const struct model_run *r, const char *metric,
				       enum model_stat stat, const struct model_dims *want,
				       bool known_only)
{
	for (size_t i = 0; i < r->n_sums; i++) {
		const struct model_summary *s = &r->sums[i];
		if (s->stat != stat || (known_only && s->state != MODEL_KNOWN) ||
		    (want && !model_dims_match(&s->dims, want)) ||
		    strcmp(s->metric->name, metric) != 0)
			continue;
		return s;
	}
	return NULL;
}

/* ---- the words ---- */

struct spec {
	char text[256]; /* cut into words */
	const char *metric;
	struct model_dims dims;
	int stat; /* -1 = not said */
};

static int enum_value(const struct model_dim *d, const char *value)
{
	return d->values ? model_name_find(d->values, value) : -ENOENT;
}

/* "down": the value of an enumerated dimension. Those are distinct over all dimensions. */
static bool bare_value(struct spec *s, const char *word)
{
	for (int id = 0; id < DIM_MAX; id++) {
		int v = enum_value(model_dim(id), word);
		if (v < 0)
			continue;
		s->dims = model_dims_with(s->dims, id, v);
		return true;
	}
	return false;
}

static bool int_value(const char *value, int64_t *v)
{
	char *end;
	errno = 0;
	*v = strtoll(value, &end, 10);
	return *value && !*end && !errno;
}

/* "flow=3" */
static bool named_value(const struct model_run *r, struct spec *s, char *word)
{
	char *eq = strchr(word, '=');
	int64_t v = -1;
	if (!eq)
		return false;
	*eq = '\0';
	int id = model_dim_find(word);
	*eq = '=';
	if (id < 0)
		return false;
	const struct model_dim *d = model_dim(id);
	if (d->type == MODEL_DIM_INT && !int_value(eq + 1, &v))
		return false;
	if (d->type == MODEL_DIM_ENUM && (v = enum_value(d, eq + 1)) < 0)
		return false;
	if (d->type == MODEL_DIM_STR)
		v = model_symbol_find(&r->priv->strings, eq + 1);
	s->dims = model_dims_with(s->dims, id, v);
	return true;
}

static int parse_word(const struct model_run *r, struct spec *s, char *word, struct weir_err *e)
{
	int stat = model_name_find(model_stat_names, word);
	char safe[SAFE_MAX + 1];
	if (stat >= 0)
		s->stat = stat;
	if (stat >= 0 || bare_value(s, word) || named_value(r, s, word))
		return 0;
	safe_str(safe, sizeof(safe), word, strlen(word));
	err_set(e, WEIR_USAGE, EINVAL, "'%s' is neither a dimension's value nor a statistic", safe);
	return err_hint(e, "such as up, down, receiver, far, flow=3, mean, p99");
}

static bool has_metric(const struct model_run *r, const char *name)
{
	return model_metric(name) || model_symbol_find(&r->priv->ext_names, name) >= 0;
}

static int parse_spec(const struct model_run *r, struct spec *s, const char *text,
		      struct weir_err *e)
{
	char safe[SAFE_MAX + 1], *save = NULL;
	size_t n = strlen(text);
	int rc = 0;
	*s = (struct spec){.stat = -1};
	s->metric = s->text;
	safe_str(safe, sizeof(safe), text, n);
	if (!n || n >= sizeof(s->text))
		return err_set(e, WEIR_USAGE, EINVAL, "'%s' is no metric", safe);
	memcpy(s->text, text, n + 1);
	s->metric = strtok_r(s->text, ":", &save);
	if (!s->metric || !has_metric(r, s->metric))
		return err_set(e, WEIR_USAGE, ENOENT, "there is no metric '%s'", safe);
	for (char *w = strtok_r(NULL, ":", &save); w && !rc; w = strtok_r(NULL, ":", &save))
		rc = parse_word(r, s, w, e);
	return rc;
}

/* ---- the choice ---- */

static int stat_cost(const struct spec *s, const struct model_summary *sum)
{
	if (s->stat >= 0)
		return sum->stat == (enum model_stat)s->stat ? 0 : -1;
	if (sum->stat == STAT_VALUE)
		return 0;
	return sum->stat == STAT_MEAN ? 1 : -1;
}

/* What the summary says beyond the question: a slice costs most, the usual view nothing. */
static int dims_cost(const struct spec *s, const struct model_dims *d)
{
	uint32_t more = d->has & ~s->dims.has;
	int cost = 0;
	for (int id = 0; id < DIM_MAX; id++) {
		if (!(more >> id & 1))
			continue;
		if (id == DIM_VIEW)
			cost += d->v[id] == MODEL_RECEIVER ? 0 : 2;
		else if (id == DIM_END)
			cost += d->v[id] == MODEL_NEAR ? 0 : 2;
		else
			cost += id == DIM_DIR ? 4 : 16;
	}
	return cost;
}

/* -1: does not match. */
static int cost_of(const struct spec *s, const struct model_summary *sum)
{
	int stat = stat_cost(s, sum);
	if (stat < 0 || strcmp(sum->metric->name, s->metric) != 0 ||
	    !model_dims_match(&sum->dims, &s->dims))
		return -1;
	return stat + dims_cost(s, &sum->dims);
}

static bool only_dir_differs(const struct model_dims *a, const struct model_dims *b)
{
	struct model_dims c = *b;
	uint32_t dir = 1U << DIM_DIR;
	if (!(a->has & dir) || !(b->has & dir) || a->v[DIM_DIR] == b->v[DIM_DIR])
		return false;
	c.v[DIM_DIR] = a->v[DIM_DIR];
	return model_dims_equal(a, &c);
}

struct choice {
	const struct model_summary *best, *other; /* other: as good, in the other direction */
	bool unknown;                             /* there is one without a value */
	int cost;
};

static void consider(struct choice *c, const struct spec *s, const struct model_summary *sum)
{
	int cost = cost_of(s, sum);
	if (cost < 0)
		return;
	if (sum->state != MODEL_KNOWN) {
		c->unknown = true;
	} else if (!c->best || cost < c->cost) {
		c->best = sum;
		c->other = NULL;
		c->cost = cost;
	} else if (cost == c->cost && only_dir_differs(&c->best->dims, &sum->dims)) {
		c->other = sum;
	}
}

const struct model_summary *model_find_spec(const struct model_run *r, const char *text,
					    struct weir_err *e)
{
	struct spec s;
	struct choice c = {0};
	if (parse_spec(r, &s, text, e))
		return NULL;
	for (size_t i = 0; i < r->n_sums; i++)
		consider(&c, &s, &r->sums[i]);
	if (c.best && !c.other)
		return c.best;
	char safe[SAFE_MAX + 1];
	safe_str(safe, sizeof(safe), text, strlen(text));
	if (c.best) {
		err_set(e, WEIR_USAGE, EINVAL, "'%s' is known in both directions", safe);
		err_hint(e, "say %s:up or %s:down", s.metric, s.metric);
	} else {
		err_set(e, WEIR_USAGE, ENOENT, "'%s' is %s in this run", safe,
			c.unknown ? "unknown" : "absent");
	}
	return NULL;
}
