/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a verdict is what it is, as codes: what forbids one (no verdict), what leaves it open, what
 * qualifies it. One row a code; the text is a clause that a sentence can end in.
 */
#include "model/model.h"

/* clang-format off */
static const struct model_reason_row rows[REASON_NUM] = {
	[REASON_MISSING_SIDE] = {"missing-side", "one side has no values"},
	[REASON_NEGATIVE] = {"negative", "a value is negative, and an effect is a ratio"},
	[REASON_NOT_A_NUMBER] = {"not-a-number", "a value is not a number"},
	[REASON_SAME_DATA] = {"same-data", "both sides are the same values in the same order: one was pasted twice"},
	[REASON_SAME_RUN] = {"same-run", "both sides come from one run"},
	[REASON_UNITS] = {"units", "the sides have different units"},
	[REASON_REQUEST] = {"request", "the sides did not measure the same: direction, flows, protocol or block size differ"},
	[REASON_DURATION] = {"duration", "the runs of one side are over 20 % longer"},
	[REASON_SHORT] = {"short", "the runs are shorter than one second"},
	[REASON_STALLED] = {"stalled", "over 5 % of the intervals had no byte: a mean says nothing, compare the stalls"},
	[REASON_DRIFT] = {"drift", "the runs drift and their order does not balance it: interleave the sides"},
	[REASON_MEMORY] = {"memory", "out of memory"},
	[REASON_FEW_RUNS] = {"few-runs", "a side has fewer than four runs"},
	[REASON_INTERVALS] = {"intervals", "intervals of one run are one run"},
	[REASON_PERMUTATION] = {"permutation", "relabelling the runs gives as much too often"},
	[REASON_FLOOR] = {"below-floor", "the effect is below this testbed's noise floor"},
	[REASON_HOLM] = {"several-metrics", "it does not stand among the number of metrics compared"},
	[REASON_FEW_BLOCKS] = {"few-blocks", "with so few blocks no order of the runs could be surprising enough"},
	[REASON_FLOOR_OVER_MARGIN] = {"floor-over-margin", "the noise floor is above the margin: equivalence within it cannot be shown here"},
	[REASON_SESSIONS] = {"one-session", "each side was measured in one session as far as is known, and sessions of identical code differ by 1 to 3 %"},
	[REASON_SOME_DRIFT] = {"some-drift", "the runs of a side drift"},
	[REASON_CHANGE_POINT] = {"change-point", "some runs change their level half-way"},
	[REASON_SOME_STALLS] = {"stalls", "some intervals had no byte"},
	[REASON_LINE_RATE] = {"line-rate", "both sides are at the link's ceiling, which hides differences"},
	[REASON_BOUND_BY_LINE] = {"bound-by-line", "the faster side is at the link's ceiling: the effect may be larger"},
	[REASON_OUTLIER] = {"outlier", "a run stands far off the others"},
	[REASON_ZERO_VARIANCE] = {"zero-variance", "the runs of a side do not differ at all: the figures may be rounded"},
	[REASON_ZEROS] = {"zeros", "some values are zero: half of the smallest other value was added to all"},
	[REASON_ALL_ZERO] = {"all-zero", "one side is zero in every run: there is no ratio"},
	[REASON_UNBLOCKED] = {"unblocked", "some runs have no partner and were left out of the difference"},
	[REASON_BETTER_ASSUMED] = {"better-assumed", "higher is taken to be better"},
};
/* clang-format on */

const struct model_reason_row *model_reason(enum model_reason r)
{
	return (unsigned)r < REASON_NUM ? &rows[r] : NULL;
}
