/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir calibrate: what this testbed shows where nothing changed. Whole A/A experiments one after
 * the other, both sides one configuration, the switch thrown all the same; what effects come out
 * is the least that can be believed of any other experiment here.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/try.h"

#define F(field) offsetof(struct try_opts, field)
/* clang-format off */
static const struct opt own_opts[] = {
	{.name = "experiments", .type = OPT_INT, .offset = F(experiments), .metavar = "N", .help = "A/A experiments; the floor is worth little with fewer than 12", .min = 2, .max = 1000, .fallback = "12"},
	{.name = "pairs", .type = OPT_INT, .offset = F(pairs), .metavar = "N", .help = "pairs of each experiment", .min = 2, .max = 1000, .fallback = "6"},
	{.name = "command", .type = OPT_LIST, .offset = F(command), .flags = OPT_POSITIONAL | OPT_REST, .metavar = "COMMAND", .help = "the measurement, such as: tcp HOST -t 2"},
};
/* clang-format on */

struct floor {
	double *effects; /* logs */
	size_t n;
	double ratio, largest;
};

static int find_floor(struct session *s, struct floor *f, struct weir_err *e)
{
	struct model_judge_cfg cfg = {0};
	size_t whole = session_next(s) / 2 / s->group;

	f->effects = calloc(whole + 1, sizeof(*f->effects));
	if (!f->effects)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (size_t i = 0; i < whole; i++) {
		struct model_judgement j;
		int rc = try_effect(&s->x, 0, 1, i * s->group, (i + 1) * s->group, &cfg, &j);

		if (rc < 0)
			return err_os(e, -rc, "judging");
		if (isnan(j.t.d) || isnan(j.effect))
			continue;
		f->effects[f->n++] = j.t.d;
		f->largest = fmax(f->largest, fabs(j.effect));
	}
	if (f->n < 2)
		return err_set(e, WEIR_LIMIT, ENODATA,
			       "two whole experiments with the metric at least, not %zu", f->n);
	f->ratio = expm1(model_noise_floor(f->effects, f->n));
	return 0;
}

static bool print_floor(const struct session *s, const struct floor *f)
{
	const char *metric = s->judge.primary ? s->judge.primary : "goodput";
	struct buf b = {0};
	struct jw w = jw_init(&b);
	bool ok;

	if (s->judge.json) {
		jw_obj(&w, NULL);
		jw_i64(&w, "schema", MODEL_SCHEMA);
		jw_str(&w, "type", "calibration");
		jw_str(&w, "metric", metric);
		jw_f64(&w, "noise_floor", f->ratio);
		jw_u64(&w, "experiments", f->n);
		jw_u64(&w, "pairs", s->group);
		jw_f64(&w, "largest", f->largest);
		jw_end_obj(&w);
		buf_putc(&b, '\n');
	} else {
		buf_printf(&b,
			   "Noise floor of %s: %.2g %%. Nothing changed, and %zu experiments of "
			   "%zu pairs showed\neffects of up to %.2g %%; a smaller difference than "
			   "the floor is not believed here.\n",
			   metric, 100 * f->ratio, f->n, s->group, 100 * f->largest);
		if (f->n < 12)
			buf_puts(&b, "With fewer than 12 experiments it is a rough figure.\n");
	}
	ok = cmd_flush(&b);
	buf_fini(&b);
	return ok;
}

static int finish(struct session *s, int end, struct weir_err *e)
{
	bool done = end == TRY_FINISHED;
	struct floor f = {0};
	bool written = true;
	int rc = find_floor(s, &f, e);

	if (rc >= 0) {
		struct model_verdict v = {.method = "calibrate-1",
					  .metric = s->judge.primary,
					  .outcome = VERDICT_NONE,
					  .effect = f.ratio,
					  .lo = 0,
					  .hi = f.largest};

		written = print_floor(s, &f);
		rc = record_close(s, &v, 1, done, e);
	}
	free(f.effects);
	return rc < 0 ? rc : done && written ? CMD_OK : CMD_FAILED;
}

static int run(void *cfg)
{
	struct try_opts *o = cfg;
	struct session s = {.o = o};
	struct weir_err e = {0};
	int rc;

	o->calibrate = true;
	rc = session_init(&s, o, &e);
	if (rc >= 0) {
		say_plan(&s);
		rc = session_run(&s, &e);
	}
	if (rc >= 0)
		rc = finish(&s, rc, &e);
	session_fini(&s);
	return rc < 0 ? cmd_fail("calibrate", &e) : rc;
}

static const struct cmd_more calibrate_more[] = {
	{"What is switched", try_factor_opts, &try_n_factor_opts, 0},
	{"Running", try_run_opts, &try_n_run_opts, 0},
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(judge.db)},
	{0},
};

const struct cmd cmd_calibrate = {
	.name = "calibrate",
	.summary = "find what this testbed shows where nothing changed",
	.usage = "-- COMMAND…",
	.opts = own_opts,
	.n_opts = ARRAY_LEN(own_opts),
	.cfg_size = sizeof(struct try_opts),
	.more = calibrate_more,
	.run = run,
};
