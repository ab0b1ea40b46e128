/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which calibration speaks for a run: the newest between the same two hosts. Noise belongs to a
 * testbed; another peer is another testbed.
 */
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

/* A metric that nobody named is goodput. */
static bool same_metric(const struct model_verdict *v, const char *metric)
{
	return same_text(v->metric ? v->metric : "goodput", metric ? metric : "goodput");
}

static bool take_floor(const struct model_run *r, const struct model_run *like, const char *metric,
		       struct cmd_floor *out)
{
	if (!same_hosts(r, like) || !r->n_verdicts || !same_metric(&r->verdicts[0], metric))
		return false;
	*out = (struct cmd_floor){r->verdicts[0].effect, r->start_real_ns};
	return out->ratio > 0;
}

int cmd_floor_find(struct store *s, const struct model_run *like, const char *metric,
		   struct cmd_floor *out)
{
	struct store_filter f = {.kind = "calibration",
				 .since_real_ns = MODEL_NO_TIME,
				 .until_real_ns = MODEL_NO_TIME,
				 .limit = LOOK_AT};
	struct ids ids = {.n = 0};
	int found = 0, rc;

	*out = (struct cmd_floor){0};
	if (!like)
		return 0;
	rc = store_list(s, &f, take_id, &ids, NULL);
	for (size_t i = 0; i < ids.n && rc >= 0 && !found; i++) {
		struct model_run *r;

		rc = store_load(s, ids.v[i], &r, NULL);
		if (rc < 0)
			break;
		found = take_floor(r, like, metric, out);
		model_run_free(r);
	}
	return rc < 0 ? rc : found;
}

void cmd_floor_say(const struct cmd_floor *f, struct buf *b)
{
	char when[24];

	if (!(f->ratio > 0))
		return;
	clk_format_utc(when, sizeof(when), f->when_ns);
	buf_printf(b, "Noise floor of this testbed: %.2g %% (weir calibrate of %.10s).\n",
		   100 * f->ratio, when);
}
