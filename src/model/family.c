/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who compares forty metrics finds two differences in nothing. One metric may be declared the
 * primary one beforehand, and is tested by itself; the others share their 5 % by Holm's method.
 * On the t p-values: with few blocks no permutation p could ever pass it.
 */
#include "model/priv.h"

#include <math.h>
#include <stdlib.h>

static bool is_tested(const struct model_judgement *j)
{
	return !(j->reasons & MODEL_REASON_GATES) && !isnan(j->p_t);
}

void model_judge_family(struct model_judgement *j, size_t n, int primary, size_t more)
{
	double *p = n ? calloc(n, sizeof(*p)) : NULL;
	size_t tests = 0;

	for (size_t i = 0; i < n; i++) {
		bool shares = (int)i != primary && is_tested(&j[i]);
		tests += shares;
		if (p)
			p[i] = shares ? j[i].p_t : (double)NAN;
	}
	if (p)
		model_holm(p, n, more);
	for (size_t i = 0; i < n; i++) {
		if ((int)i == primary || !is_tested(&j[i]))
			continue;
		j[i].p_adj = p ? p[i] : fmin(1, j[i].p_t * (double)(tests + more));
		j[i].tests = tests + more;
		model_set_power(&j[i]);
		model_decide(&j[i]);
	}
	free(p);
}
