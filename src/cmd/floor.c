/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which calibration speaks for a run: the newest between the same two hosts, by the same kind of
 * measurement. Noise belongs to a testbed and a metric; another peer is another testbed, and how
 * well a datagram sender keeps its rate says nothing of TCP.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/floor.h"

#define LOOK_AT 50 /* calibrations; older ones say little */

struct ids {
	char v[LOOK_AT][MODEL_ID_LEN + 1];
	size_t n;
};

static int take_id(const struct store_entry *en, void *arg)
{
	struct ids *l = arg;

	if (en->outcome == OUTCOME_COMPLETE && l->n < LOOK_AT)
		memcpy(l->v[l->n++], en->id, sizeof(en->id));
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool same_hosts(const struct model_run *a, const struct model_run *b)
{
	return same_text(a->host[MODEL_FAR].name, b->host[MODEL_FAR].name) &&
	       (!a->host[MODEL_NEAR].name || !b->host[MODEL_NEAR].name ||
		same_text(a->host[MODEL_NEAR].name, b->host[MODEL_NEAR].name));
}

/* Of a calibration without its command nobody can tell. */
static bool same_kind(const struct model_run *calibration, const struct model_run *r)
{
	static const struct js_limits limits = {.max_bytes = 1 << 20, .max_depth = 32};
	const char *plan = calibration->exp.plan, *kind;
	struct js_doc *doc = NULL;
	bool same = true;

	if (!plan || js_parse(plan, strlen(plan), &limits, &doc, NULL))
		return true;
	kind = js_str(js_at(js_get(js_root(doc), "command"), 0), NULL);
	same = !kind || same_text(kind, r->kind);
	js_free(doc);
	return same;
}

static const char *tag_of(const struct model_run *r, const char *key)
{
	for (size_t i = 0; i < r->n_tags; i++) {
		if (!strcmp(r->tags[i].k, key))
			return r->tags[i].v;
	}
	return "";
}

static bool has_exactly(const struct cmd_floors *l, const char *metric)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->v[i].metric, metric))
			return true;
	}
	return false;
}

static void take_floors(struct cmd_floors *l, const struct model_run *r)
{
	for (size_t i = 0; i < r->n_verdicts && l->n < FLOORS_MAX; i++) {
		const struct model_verdict *v = &r->verdicts[i];
		/* A metric that nobody named is goodput. */
		const char *metric = v->metric ? v->metric : "goodput";
		struct cmd_floor *f = &l->v[l->n];

		if (!same_text(v->method, FLOOR_METHOD) || !(v->effect > 0) ||
		    strlen(metric) >= sizeof(f->metric) || has_exactly(l, metric))
			continue;
		*f = (struct cmd_floor){.ratio = v->effect,
					.n = strtoul(tag_of(r, FLOOR_EFFECTS), NULL, 10),
					.sessions = !strcmp(tag_of(r, FLOOR_SESSIONS), "yes"),
					.when_ns = r->start_real_ns};
		memcpy(f->metric, metric, strlen(metric) + 1);
		l->n++;
	}
}

int cmd_floor_find(struct store *s, const struct model_run *like, struct cmd_floors *out)
{
	struct store_filter f = {.kind = "calibration",
				 .since_real_ns = MODEL_NO_TIME,
				 .until_real_ns = MODEL_NO_TIME,
				 .limit = LOOK_AT};
	struct ids ids = {.n = 0};
	int rc;

	*out = (struct cmd_floors){0};
	if (!like)
		return 0;
	rc = store_list(s, &f, take_id, &ids, NULL);
	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		struct model_run *r;

		rc = store_load(s, ids.v[i], &r, NULL);
		if (rc < 0)
			break;
		if (same_hosts(r, like) && same_kind(r, like))
			take_floors(out, r);
		model_run_free(r);
	}
	return rc < 0 ? rc : (int)out->n;
}

/* Without the direction at its end: where there is one only it need not be said. */
static size_t stem(const char *metric)
{
	size_t n = strlen(metric);

	if (n > 3 && !strcmp(metric + n - 3, ":up"))
		return n - 3;
	return n > 5 && !strcmp(metric + n - 5, ":down") ? n - 5 : n;
}

static bool same_metric(const char *a, const char *b)
{
	size_t n = stem(a);

	if (a[n] && b[stem(b)])
		return !strcmp(a, b);
	return n == stem(b) && !strncmp(a, b, n);
}

const struct cmd_floor *cmd_floor_of(const struct cmd_floors *l, const char *metric)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->v[i].metric, metric))
			return &l->v[i];
	}
	for (size_t i = 0; i < l->n; i++) {
		if (same_metric(l->v[i].metric, metric))
			return &l->v[i];
	}
	return NULL;
}
