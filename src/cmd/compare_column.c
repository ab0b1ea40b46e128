/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One metric of one side as the rule wants it: a value a run, and what else the runs tell that the
 * rule asks for: their order, their blocks, their sessions, how long they were, whether they
 * stood still or changed their level, and what their link can carry at most.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"

#define FRAME_EXTRA 38 /* of Ethernet: preamble, header, checksum, gap */
#define TCP_HEADERS 52 /* IPv4, TCP with time stamps */
#define UDP_HEADERS 28
#define OVER_LINE   1.03 /* who is faster than the link does not go through it */
#define ALPHA       0.05

/* ---- facts of a host ---- */

static struct js_doc *facts_of(const struct model_run *r, int end)
{
	const char *text = r->host[end].facts;
	struct js_doc *d = NULL;

	if (text && js_parse(text, strlen(text), &js_limits_file, &d, NULL) < 0)
		return NULL;
	return d;
}

/* ---- sessions ---- */

/* FNV-1a: a name becomes a number that is the same on both sides. */
static int64_t number_of(const struct buf *b)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < b->len; i++)
		h = (h ^ (uint8_t)b->data[i]) * UINT64_C(0x100000001b3);
	return (int64_t)(h >> 1);
}

/* Arms by hand: a person switched before each place of the plan, whatever it was that was switched. */
static bool put_place(const struct model_run *r, struct buf *b)
{
	struct js_doc *d = NULL;
	bool by_hand = false;
	int64_t each = 1;

	if (!r->exp.id || !r->exp.plan || r->exp.position < 0 ||
	    js_parse(r->exp.plan, strlen(r->exp.plan), &js_limits_file, &d, NULL) < 0)
		return false;
	js_bool(js_get(js_root(d), "by_hand"), &by_hand);
	js_i64(js_get(js_root(d), "each"), &each);
	js_free(d);
	if (by_hand)
		buf_printf(b, "%s/%" PRId64, r->exp.id, r->exp.position / (each > 0 ? each : 1));
	return by_hand;
}

/* Else the boots of both ends; the far one's as far as it is known. */
static bool put_boots(const struct model_run *r, struct buf *b)
{
	bool known = false;

	for (int end = 0; end < 2; end++) {
		struct js_doc *d = facts_of(r, end);
		const char *boot = d ? js_str(js_get(js_root(d), "boot"), NULL) : NULL;

		known = known || (end == MODEL_NEAR && boot);
		buf_printf(b, "%s|", boot ? boot : "");
		js_free(d);
	}
	return known;
}

bool compare_session(const struct model_run *r, int64_t *session)
{
	struct buf name = {0};
	bool known = put_place(r, &name) || put_boots(r, &name);

	*session = known && !name.failed ? number_of(&name) : 0;
	known = known && !name.failed;
	buf_fini(&name);
	return known;
}

/* ---- the link ---- */

/* Only what has a wire: the speed that a veth or a tunnel tells is a fancy. */
static bool has_wire(const struct js *facts)
{
	static const char *const kinds[] = {"vlan", "bond", "team"};
	const char *kind = js_str(js_get(facts, "driver"), NULL);

	for (size_t i = 0; kind && i < ARRAY_LEN(kinds); i++) {
		if (!strcmp(kind, kinds[i]))
			return true;
	}
	return !kind;
}

static double speed_of(const struct model_run *r, int64_t *mtu)
{
	double least = 0;

	for (int end = 0; end < 2; end++) {
		struct js_doc *d = facts_of(r, end);
		int64_t speed = 0;

		if (d && has_wire(js_root(d)) && js_i64(js_get(js_root(d), "speed_bps"), &speed) &&
		    speed > 0 && (!(least > 0) || (double)speed < least)) {
			least = (double)speed;
			js_i64(js_get(js_root(d), "mtu"), mtu);
		}
		js_free(d);
	}
	return least;
}

/* What of the link's rate is payload; 0 when the link's rate is unknown. */
static double ceiling_of(const struct model_run *r)
{
	const struct model_summary *mss = model_find_spec(r, "tcp.mss", NULL);
	const struct model_summary *size = model_find_spec(r, "udp.size", NULL);
	int64_t mtu = 1500;
	double speed = speed_of(r, &mtu);
	double headers = size ? UDP_HEADERS : TCP_HEADERS;
	double payload = size ? size->value : mss ? mss->value : (double)mtu - headers;

	return speed > 0 && payload > 0 ? speed * payload / (payload + headers + FRAME_EXTRA) : 0;
}

/* ---- a column ---- */

void compare_column_fini(struct compare_column *c)
{
	free(c->x);
	free(c->order);
	free(c->block);
	free(c->session);
	free(c->lasted);
}

static void take_steady(struct compare_column *c, const struct model_run *r,
			const struct model_summary *s, double alpha)
{
	int dir = s->dims.has & 1U << DIM_DIR ? (int)s->dims.v[DIM_DIR] : -1;
	struct model_steady steady = model_steady(r, dir, alpha);

	c->intervals += steady.intervals;
	c->dead += steady.stalled;
	c->stalled_runs += steady.stalled > 0;
	c->changed += steady.changed;
}

static void take_run(struct compare_column *c, const struct model_run *r, const char *metric,
		     double alpha)
{
	const struct model_summary *s = model_find_spec(r, metric, NULL);
	const struct model_summary *t = model_find_spec(r, "duration", NULL);

	if (!s) {
		c->lacking++;
		return;
	}
	c->mixed = c->mixed || (c->n && c->unit != s->metric->unit);
	c->ordered = c->ordered && r->start_real_ns != MODEL_NO_TIME;
	c->blocked = c->blocked && r->exp.id != NULL;
	c->sessions = compare_session(r, &c->session[c->n]) && c->sessions;
	c->order[c->n] = r->start_real_ns;
	c->block[c->n] = r->exp.block;
	c->unit = s->metric->unit;
	c->better = s->metric->better;
	c->resolution = fmax(c->resolution, fmax(s->resolution, s->metric->resolution));
	if (t && t->value > 0)
		c->lasted[c->n_lasted++] = t->value;
	if (c->unit == UNIT_BPS) {
		double ceiling = ceiling_of(r);
		c->ceiling = c->n ? fmin(c->ceiling, ceiling) : ceiling;
		c->most = fmax(c->most, s->value);
	}
	take_steady(c, r, s, alpha);
	c->x[c->n++] = s->value;
}

static bool have_room(struct compare_column *c, size_t n)
{
	c->x = calloc(n + 1, sizeof(*c->x));
	c->order = calloc(n + 1, sizeof(*c->order));
	c->block = calloc(n + 1, sizeof(*c->block));
	c->session = calloc(n + 1, sizeof(*c->session));
	c->lasted = calloc(n + 1, sizeof(*c->lasted));
	return c->x && c->order && c->block && c->session && c->lasted;
}

int compare_column(struct compare_column *c, const struct compare_side *s, const char *metric,
		   size_t runs)
{
	*c = (struct compare_column){.ordered = metric || s->places,
				     .blocked = metric != NULL,
				     .sessions = metric != NULL,
				     .unit = metric ? UNIT_NONE : s->unit,
				     .resolution = metric ? 0 : s->step,
				     .better = !metric && s->unit == UNIT_SECOND ? MODEL_LOWER
										 : MODEL_HIGHER};
	if (!have_room(c, s->n))
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		if (metric) {
			take_run(c, s->runs[i], metric, ALPHA / (double)runs);
			continue;
		}
		c->order[i] = s->places ? s->places[i] : 0;
		c->x[c->n++] = s->values[i];
	}
	/* One run that a busy machine held up is not a longer measurement. */
	c->seconds = model_stats(c->lasted, c->n_lasted).median;
	if (c->most > OVER_LINE * c->ceiling)
		c->ceiling = 0;
	return 0;
}
