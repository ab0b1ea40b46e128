/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verdict in words that an expert would sign. "Not significant" is never "no difference":
 * what is inconclusive says what these runs could have seen, the noise that would explain what
 * was seen, and how many pairs would settle it.
 */
#include "model/priv.h"

#include <math.h>
#include <string.h>

/* Per cent with as many digits as are worth something. */
static void percent(struct buf *b, double ratio, bool sign)
{
	double p = 100 * ratio;
	int digits = fabs(p) < 0.995 ? 2 : fabs(p) < 99.5 ? 1 : 0;

	buf_printf(b, sign ? "%+.*f %%" : "%.*f %%", digits, p);
}

static double as_cv(double sd)
{
	return sqrt(expm1(sd * sd));
}

/* A noise; over 100 % the figure says no more. */
static void noise(struct buf *b, double sd)
{
	if (as_cv(sd) > 1)
		buf_puts(b, "over ");
	percent(b, fmin(1, as_cv(sd)), false);
}

static bool has(const struct model_judgement *j, enum model_reason r)
{
	return j->reasons & MODEL_R(r);
}

/* ---- a few words ---- */

void model_judgement_word(const struct model_judgement *j, struct buf *b)
{
	switch (j->outcome) {
	case VERDICT_NEGLIGIBLE:
		buf_puts(b, "different but negligible");
		break;
	case VERDICT_EQUIVALENT:
		buf_printf(b, "equivalent within ±%.3g %%", 100 * j->margin);
		break;
	case VERDICT_NONE:
		buf_puts(b, "no verdict");
		break;
	case VERDICT_SESSIONS:
		buf_puts(b, "differs between these sessions");
		break;
	default:
		buf_puts(b, model_verdict_names[j->outcome]);
	}
}

/* ---- sentences ---- */

struct words {
	const struct model_judgement *j;
	const char *metric, *a, *b;
	struct buf *out;
};

static void interval(const struct words *w)
{
	if (isnan(w->j->lo))
		return;
	buf_printf(w->out, "%.3g %% interval ", 100 * w->j->conf);
	percent(w->out, w->j->lo, true);
	buf_puts(w->out, " to ");
	percent(w->out, w->j->hi, true);
	buf_puts(w->out, "; ");
}

static void count(const struct words *w)
{
	const struct model_judgement *j = w->j;

	switch (j->design) {
	case DESIGN_PAIRED:
	case DESIGN_BLOCKED:
		buf_printf(w->out, "%zu %s", j->units,
			   j->n_a == j->units && j->n_b == j->units ? "pairs" : "blocks");
		break;
	case DESIGN_SESSIONS:
		buf_printf(w->out, "%zu and %zu runs, compared by session", j->n_a, j->n_b);
		break;
	default:
		if (j->n_a == 1 && j->n_b == 1)
			buf_puts(w->out, "one run each");
		else
			buf_printf(w->out, "%zu and %zu runs", j->n_a, j->n_b);
	}
}

/* The second opinion, where there is a first. */
static void permutation(const struct words *w)
{
	const struct model_judgement *j = w->j;

	if (!(j->t.df > 0) || isnan(j->perm.p) || has(j, REASON_FEW_RUNS) ||
	    has(j, REASON_INTERVALS))
		return;
	buf_puts(w->out, "; permutation p ");
	if (j->perm.p < 0.0001)
		buf_puts(w->out, "< 0.0001");
	else
		buf_printf(w->out, "= %.2g", j->perm.p);
}

/* "tcp.retransmits of B is above zero, and of A zero in every run (12 pairs)" */
static void seen_from_nothing(const struct words *w)
{
	const char *of = w->metric ? "of " : "";

	if (w->metric)
		buf_printf(w->out, "%s of ", w->metric);
	buf_printf(w->out, "%s is above zero, and %s%s zero in every run (", w->b, of, w->a);
	count(w);
	permutation(w);
	buf_putc(w->out, ')');
}

/* "goodput of B is 3.0 % higher than of A (95 % interval +1.1 % to +4.9 %; 6 and 5 runs; permutation
 * p = 0.0065)" */
static void seen(const struct words *w)
{
	struct buf *o = w->out;
	double e = w->j->effect;

	if (isinf(e)) {
		seen_from_nothing(w);
		return;
	}
	if (w->metric)
		buf_printf(o, "%s of ", w->metric);
	buf_puts(o, w->b);
	buf_puts(o, " is ");
	percent(o, fabs(e), false);
	buf_printf(o, " %s than %s%s (", e < 0 ? "lower" : "higher", w->metric ? "of " : "", w->a);
	interval(w);
	count(w);
	permutation(w);
	buf_putc(o, ')');
}

static void noise_explains(const struct words *w)
{
	const struct model_judgement *j = w->j;

	if (!(j->explain > 5e-5)) /* nothing to explain */
		return;
	buf_puts(w->out, " Run-to-run noise of ");
	noise(w->out, j->explain);
	buf_puts(w->out, " would explain it");
	if (j->noise > 0) {
		buf_puts(w->out, "; these runs have ");
		noise(w->out, j->noise);
	}
	buf_putc(w->out, '.');
}

static void detectable(const struct words *w)
{
	const struct model_judgement *j = w->j;

	if (!isfinite(j->mde)) {
		if (!isnan(j->mde))
			buf_puts(w->out, " So few runs cannot show a difference of any size.");
		return;
	}
	buf_puts(w->out, " These runs could have shown a difference of ");
	percent(w->out, j->mde, false);
	buf_puts(w->out, " (");
	percent(w->out, j->mde_lo, false);
	buf_puts(w->out, " to ");
	if (isfinite(j->mde_hi))
		percent(w->out, j->mde_hi, false);
	else
		buf_puts(w->out, "any");
	buf_puts(w->out, ") or more.");
}

/* One run each: how quiet the testbed must be for a standard experiment to see this effect. */
static void settle_unknown(const struct words *w)
{
	const struct model_judgement *j = w->j;

	if (!(j->settle6 > 5e-5)) {
		buf_puts(w->out, " The noise is unknown; `weir try --pairs 12` would show it.");
		return;
	}
	buf_puts(w->out,
		 " The noise is unknown: `weir try --pairs 12` would settle an effect of this "
		 "size if it is below ");
	percent(w->out, fmin(1, as_cv(j->settle12)), false);
	buf_puts(w->out, ", `weir try --quick` (6 pairs) if below ");
	percent(w->out, fmin(1, as_cv(j->settle6)), false);
	buf_putc(w->out, '.');
}

/* Equivalence could be shown, if it were not for the floor. */
static bool floor_forbids(const struct model_judgement *j)
{
	struct model_noise n = {.sd = M_SQRT2 * j->noise,
				.floor = log1p(j->floor),
				.floor_n = j->floor_n,
				.alpha = model_alpha(j)};
	bool with = model_pairs_to_equal(log1p(j->margin), &n);

	n.floor = 0;
	return !with && model_pairs_to_equal(log1p(j->margin), &n);
}

static void settle(const struct words *w)
{
	const struct model_judgement *j = w->j;
	bool small = fabs(j->t.d) <= log1p(j->margin);

	if (j->need) {
		buf_printf(w->out, " To settle %s: `weir try --pairs %zu`.",
			   small ? "it within the margin" : "an effect of this size", j->need);
	} else if (isnan(j->noise)) {
		settle_unknown(w);
	} else if (fmax(fabs(j->t.d), log1p(j->margin)) <= log1p(j->floor)) {
		buf_puts(w->out, " No number of runs lifts it above the noise floor of ");
		percent(w->out, j->floor, false);
		buf_putc(w->out, '.');
	} else if (small && floor_forbids(j)) {
		buf_puts(w->out, " No number of runs is likely to show equivalence above a noise "
				 "floor of ");
		percent(w->out, j->floor, false);
		buf_putc(w->out, '.');
	} else {
		buf_printf(w->out, " Over %d pairs would be needed: quieten the testbed first.",
			   MODEL_PAIRS_MAX);
	}
}

/* What the sentence has said already, or what does not matter to it, is no note. */
static bool is_worth_a_note(const struct model_judgement *j, enum model_reason r)
{
	if (r == REASON_SESSIONS)
		return j->outcome != VERDICT_SESSIONS && !has(j, REASON_FEW_RUNS) &&
		       !has(j, REASON_INTERVALS);
	if (r == REASON_FLOOR_OVER_MARGIN)
		return j->outcome == VERDICT_INCONCLUSIVE;
	if (r == REASON_FEW_BLOCKS)
		return !has(j, REASON_FEW_RUNS) && !has(j, REASON_INTERVALS);
	if (r == REASON_SOME_STALLS)
		return isnan(j->p_stalled);
	if (r == REASON_ZEROS)
		return !has(j, REASON_ALL_ZERO);
	return r != REASON_OUTLIER;
}

/* Reasons of a range, as clauses after a colon or a semicolon. */
static void clauses(const struct words *w, enum model_reason from, enum model_reason to,
		    const char *before)
{
	for (int r = from; r < (int)to; r++) {
		if (!has(w->j, (enum model_reason)r) ||
		    !is_worth_a_note(w->j, (enum model_reason)r))
			continue;
		buf_printf(w->out, "%s%s", before, model_reason((enum model_reason)r)->text);
		before = "; ";
	}
}

static void outlier(const struct words *w)
{
	if (!has(w->j, REASON_OUTLIER))
		return;
	buf_printf(w->out, " %zu run%s far off the others", w->j->outliers,
		   w->j->outliers == 1 ? " stands" : "s stand");
	if (!isnan(w->j->robust)) {
		buf_puts(w->out, "; the robust estimate is ");
		percent(w->out, w->j->robust, true);
	}
	buf_putc(w->out, '.');
}

/* Where a mean says nothing, the count of runs that stood still does. */
static void stalls(const struct words *w)
{
	const struct model_judgement *j = w->j;

	if (isnan(j->p_stalled))
		return;
	buf_printf(w->out,
		   " %zu of the %zu runs of %s and %zu of the %zu of %s stood still for a while",
		   j->stalled[0], j->n_a, w->a, j->stalled[1], j->n_b, w->b);
	buf_printf(w->out, " (Fisher's p = %.2g).", j->p_stalled);
}

static void qualify(const struct words *w)
{
	outlier(w);
	stalls(w);
	size_t at = w->out->len;

	clauses(w, REASON_FLOOR_OVER_MARGIN, REASON_NUM, " Note: ");
	if (w->out->len > at)
		buf_putc(w->out, '.');
}

static void no_verdict(const struct words *w)
{
	buf_puts(w->out, "No verdict");
	clauses(w, (enum model_reason)0, REASON_FEW_RUNS, ": ");
	buf_putc(w->out, '.');
	stalls(w);
}

static void inconclusive(const struct words *w)
{
	buf_puts(w->out, "Inconclusive: ");
	seen(w);
	clauses(w, REASON_FEW_RUNS, REASON_FLOOR_OVER_MARGIN, ", but ");
	buf_putc(w->out, '.');
	noise_explains(w);
	if (!has(w->j, REASON_FEW_RUNS) && !has(w->j, REASON_INTERVALS))
		detectable(w);
	settle(w);
}

static void decided(const struct words *w)
{
	const struct model_judgement *j = w->j;
	size_t at = w->out->len;

	model_judgement_word(j, w->out);
	if (w->out->len > at) /* a sentence begins with a capital letter */
		w->out->data[at] = (char)(w->out->data[at] - 'a' + 'A');
	buf_puts(w->out, ": ");
	seen(w);
	if (j->outcome == VERDICT_NEGLIGIBLE)
		buf_printf(w->out, ", which is real and within ±%.3g %%", 100 * j->margin);
	if (j->outcome == VERDICT_SESSIONS)
		buf_puts(w->out, ". Whether the change did it or the session cannot be told: "
				 "interleave them (`weir try`), or measure each side in several "
				 "sessions");
	buf_putc(w->out, '.');
	if (j->outcome == VERDICT_EQUIVALENT && j->p_t < model_alpha(j))
		buf_puts(w->out, " A difference may be there, but not one of that size.");
}

void model_judgement_text(const struct model_judgement *j, const char *metric, const char *name_a,
			  const char *name_b, struct buf *b)
{
	struct words w = {j, metric, name_a ? name_a : "A", name_b ? name_b : "B", b};

	if (j->outcome == VERDICT_NONE)
		no_verdict(&w);
	else if (j->outcome == VERDICT_INCONCLUSIVE)
		inconclusive(&w);
	else
		decided(&w);
	if (j->outcome != VERDICT_NONE)
		qualify(&w);
}

/* ---- JSON ---- */

static void json_p(const struct model_judgement *j, struct jw *w)
{
	jw_obj(w, "p");
	jw_f64(w, "t", j->p_t);
	jw_f64(w, "adjusted", j->p_adj);
	jw_f64(w, "permutation", j->perm.p);
	jw_bool(w, "permutation_exact", j->perm.exact);
	jw_f64(w, "equivalence", j->p_eq);
	jw_f64(w, "mann_whitney", j->p_mw);
	jw_f64(w, "stalls", j->p_stalled);
	jw_end_obj(w);
}

static void json_codes(const struct model_judgement *j, struct jw *w)
{
	jw_arr(w, "reasons");
	for (int r = 0; r < REASON_NUM; r++) {
		if (has(j, (enum model_reason)r))
			jw_str(w, NULL, model_reason((enum model_reason)r)->code);
	}
	jw_end_arr(w);
}

void model_judgement_json(const struct model_judgement *j, struct jw *w)
{
	jw_str(w, "outcome", model_verdict_names[j->outcome]);
	jw_f64(w, "effect", j->effect);
	jw_arr(w, "interval");
	jw_f64(w, NULL, j->lo);
	jw_f64(w, NULL, j->hi);
	jw_end_arr(w);
	jw_f64(w, "confidence", j->conf);
	jw_arr(w, "n");
	jw_u64(w, NULL, j->n_a);
	jw_u64(w, NULL, j->n_b);
	jw_end_arr(w);
	jw_str(w, "design", model_design_names[j->design]);
	jw_u64(w, "units", j->units);
	jw_f64(w, "a", j->a);
	jw_f64(w, "b", j->b);
	jw_f64(w, "margin", j->margin);
	jw_f64(w, "noise_floor", j->floor > 0 ? j->floor : (double)NAN);
	jw_f64(w, "noise", as_cv(j->noise));
	jw_f64(w, "robust", j->robust);
	jw_arr(w, "stalled_runs");
	jw_u64(w, NULL, j->stalled[0]);
	jw_u64(w, NULL, j->stalled[1]);
	jw_end_arr(w);
	json_p(j, w);
	jw_f64(w, "detectable", j->mde);
	jw_arr(w, "detectable_range");
	jw_f64(w, NULL, j->mde_lo);
	jw_f64(w, NULL, j->mde_hi);
	jw_end_arr(w);
	jw_f64(w, "explained_by_noise", as_cv(j->explain));
	if (j->need)
		jw_u64(w, "pairs_needed", j->need);
	else
		jw_null(w, "pairs_needed");
	json_codes(j, w);
}
