/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir plan: how many runs does an answer take? From the noise of runs that exist, or from a
 * figure for it, the pairs at which the rule of weir try finds an effect of the size asked for,
 * and those at which it can show that there is none.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare.h"
#include "try/try.h"

#define ALPHA 0.05

struct plan_cfg {
	double detect, cv, margin, floor;
	char *from, *primary;
	int64_t time_ns;
	bool json;
	struct cmd_db_cfg db;
};
#define F(field) offsetof(struct plan_cfg, field)
/* clang-format off */
static const struct opt plan_opts[] = {
	{.name = "detect", .type = OPT_FUNC, .offset = F(detect), .metavar = "PERCENT", .help = "the effect that shall be found", .func = compare_percent, .fallback = "2%"},
	{.name = "from", .type = OPT_STR, .offset = F(from), .metavar = "RUNS", .help = "take the noise from these: runs joined by commas, tag:KEY=VALUE, or a result file"},
	{.name = "cv", .type = OPT_FUNC, .offset = F(cv), .metavar = "PERCENT", .help = "the noise from run to run: standard deviation by mean", .func = compare_percent},
	{.name = "margin", .type = OPT_FUNC, .offset = F(margin), .metavar = "PERCENT", .help = "a difference that does not matter, for equivalence", .func = compare_percent, .fallback = "2%"},
	{.name = "noise-floor", .type = OPT_FUNC, .offset = F(floor), .metavar = "PERCENT", .help = "what this testbed shows where nothing changed (default with --from: the last weir calibrate)", .func = compare_percent},
	{.name = "primary", .type = OPT_STR, .offset = F(primary), .metavar = "METRIC", .help = "the metric of --from that counts; default: goodput"},
	{.name = "time", .letter = 't', .type = OPT_TIME, .offset = F(time_ns), .metavar = "TIME", .help = "of one run, to say how long it takes (default with --from: theirs)", .max = 86400 * NSEC_PER_SEC},
	{.name = "json", .letter = 'J', .type = OPT_FLAG, .offset = F(json), .help = "one JSON document"},
};
/* clang-format on */

struct noise {
	double sd;      /* of the logs, from run to run */
	double floor;   /* ratio */
	size_t floor_n; /* A/A effects behind it; 0 = told */
	double seconds; /* of one run; 0 = unknown */
	size_t n;       /* runs behind it; 0 = told */
};

/* ---- from runs ---- */

static const char *variant_of(const struct model_run *r)
{
	return r->exp.variant ? r->exp.variant : "";
}

/* Runs of one configuration vary among themselves only. */
static void pool(const struct compare_side *s, const double *x, struct noise *out)
{
	double squares = 0, df = 0;

	for (size_t i = 0; i < s->n; i++) {
		double sum = 0;
		size_t n = 0;

		for (size_t k = 0; k < s->n; k++) {
			if (!isnan(x[k]) &&
			    !strcmp(variant_of(s->runs[i]), variant_of(s->runs[k]))) {
				sum += x[k];
				n++;
			}
		}
		if (isnan(x[i]) || n < 2)
			continue;
		squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
		df += ((double)n - 1) / (double)n;
		out->n++;
	}
	out->sd = df > 0 ? sqrt(squares / df) : (double)NAN;
}

static int take_noise(const struct plan_cfg *c, const struct compare_side *s, struct noise *out,
		      struct weir_err *e)
{
	double *x = calloc(s->n + 1, sizeof(*x));

	if (!x)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (size_t i = 0; i < s->n; i++) {
		const struct model_summary *t = model_find_spec(s->runs[i], "duration", NULL);
		double v;

		x[i] = try_value(s->runs[i], c->primary, &v) && v > 0 ? log(v) : (double)NAN;
		out->seconds = t && t->value > out->seconds ? t->value : out->seconds;
	}
	pool(s, x, out);
	free(x);
	if (!isnan(out->sd))
		return 0;
	err_set(e, WEIR_USAGE, ENODATA, "--from: two runs of one configuration at least, with %s",
		c->primary ? c->primary : "a goodput");
	return err_hint(e, "--primary names another metric; --cv gives the noise itself");
}

static int noise_of_runs(const struct plan_cfg *c, struct noise *out, struct weir_err *e)
{
	char *sides[] = {c->from, c->from, NULL};
	struct compare_cfg load = {.sides = {sides, 2}, .db = c->db};
	struct compare_set set = {0};
	const char *metric = c->primary ? c->primary : "goodput";
	const struct cmd_floor *floor = NULL;
	struct cmd_floors floors = {0};
	struct store *st = NULL;
	int rc = compare_load(&load, &set, e);

	if (rc < 0)
		return rc;
	rc = take_noise(c, &set.v[0], out, e);
	if (rc >= 0 && !(out->floor > 0) && cmd_db_open(&c->db, STORE_READ, &st, NULL) >= 0 && st &&
	    cmd_floor_find(st, set.v[0].runs[0], &floors) > 0)
		floor = cmd_floor_of(&floors, metric);
	if (floor) {
		out->floor = floor->ratio;
		out->floor_n = floor->n;
	}
	store_close(st);
	compare_set_fini(&set);
	return rc;
}

/* ---- answer ---- */

static struct model_noise of_pairs(const struct noise *n)
{
	return (struct model_noise){.sd = M_SQRT2 * n->sd,
				    .floor = log1p(n->floor),
				    .floor_n = n->floor_n,
				    .alpha = ALPHA};
}

static void put_pairs(const struct noise *n, size_t pairs, const char *what, struct buf *b)
{
	double minutes = n->seconds * 2 * (double)pairs / 60;

	if (!pairs) {
		buf_printf(b, "%s: over %d pairs; quieten the testbed first\n", what,
			   MODEL_PAIRS_MAX);
		return;
	}
	buf_printf(b, "%s: %zu pairs (%zu runs", what, pairs, 2 * pairs);
	if (n->seconds > 0 && minutes < 120)
		buf_printf(b, ", %.0f min", ceil(minutes));
	else if (n->seconds > 0)
		buf_printf(b, ", %.1f h", minutes / 60);
	buf_puts(b, ")\n");
}

static void print_text(const struct plan_cfg *c, const struct noise *n, size_t detect, size_t equal,
		       struct buf *b)
{
	struct model_noise pair = of_pairs(n), quiet = pair;
	char what[80];

	quiet.floor = 0;
	buf_printf(b, "Noise from run to run: %.2g %%", 100 * sqrt(expm1(n->sd * n->sd)));
	if (n->n)
		buf_printf(b, " (from %zu runs)", n->n);
	if (n->floor > 0)
		buf_printf(b, "; noise floor: %.2g %%", 100 * n->floor);
	buf_putc(b, '\n');
	snprintf(what, sizeof(what), "To find an effect of %.3g %%", 100 * c->detect);
	if (n->floor > 0 && c->detect <= n->floor)
		buf_printf(b, "%s: no number of runs does it, it is below the noise floor\n", what);
	else
		put_pairs(n, detect, what, b);
	snprintf(what, sizeof(what), "To show equivalence within %.3g %%", 100 * c->margin);
	if (!equal && model_pairs_to_equal(log1p(c->margin), &quiet))
		buf_printf(b, "%s: no number of runs does it, the noise floor is too wide\n", what);
	else
		put_pairs(n, equal, what, b);
	for (size_t pairs = 6; pairs <= 12; pairs += 6)
		buf_printf(b, "%2zu pairs%s find: %.2g %%\n", pairs,
			   pairs == 6 ? " (--quick)" : " (default)",
			   100 * expm1(model_mde_pairs(pairs, &pair)));
	if (detect)
		buf_printf(b, "weir try --pairs %zu …\n", detect);
}

/* None is null: no number of pairs does it. */
static void put_count(struct jw *w, const char *key, size_t pairs)
{
	if (pairs)
		jw_u64(w, key, pairs);
	else
		jw_null(w, key);
}

static void print_json(const struct plan_cfg *c, const struct noise *n, size_t detect, size_t equal,
		       struct buf *b)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	jw_i64(&w, "schema", MODEL_SCHEMA);
	jw_str(&w, "type", "plan");
	jw_f64(&w, "noise", sqrt(expm1(n->sd * n->sd)));
	jw_f64(&w, "noise_floor", n->floor > 0 ? n->floor : (double)NAN);
	jw_f64(&w, "detect", c->detect);
	jw_f64(&w, "margin", c->margin);
	put_count(&w, "pairs_to_detect", detect);
	put_count(&w, "pairs_to_equivalence", equal);
	jw_f64(&w, "seconds_a_run", n->seconds > 0 ? n->seconds : (double)NAN);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

static int run(void *cfg)
{
	const struct plan_cfg *c = cfg;
	struct noise n = {.floor = c->floor};
	struct weir_err e = {0};
	struct buf b = {0};
	int rc = 0;

	if ((c->cv > 0) == (c->from != NULL)) {
		err_set(&e, WEIR_USAGE, EINVAL, "--from RUNS or --cv PERCENT: one of them");
		err_hint(&e, "such as: weir plan --detect 1%% --cv 2%%");
		return cmd_fail("plan", &e);
	}
	n.sd = sqrt(log1p(c->cv * c->cv));
	if (c->from)
		rc = noise_of_runs(c, &n, &e);
	if (rc < 0)
		return cmd_fail("plan", &e);
	if (c->time_ns)
		n.seconds = (double)c->time_ns / 1e9;
	struct model_noise pair = of_pairs(&n);
	size_t detect = model_pairs_to_detect(log1p(c->detect), &pair);
	size_t equal = model_pairs_to_equal(log1p(c->margin), &pair);
	(c->json ? print_json : print_text)(c, &n, detect, equal, &b);
	rc = cmd_flush(&b) ? CMD_OK : CMD_FAILED;
	buf_fini(&b);
	return rc;
}

static const struct cmd_more plan_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_plan = {
	.name = "plan",
	.summary = "how many runs an answer takes",
	.usage = "",
	.opts = plan_opts,
	.n_opts = ARRAY_LEN(plan_opts),
	.cfg_size = sizeof(struct plan_cfg),
	.more = plan_more,
	.run = run,
};
