/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of bare numbers: whatever is accepted is finite, at most one value a line, and judged in
 * words without a NaN in them.
 */
#include "format/format.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

static size_t lines_of(const char *text, size_t n)
{
	size_t lines = 1;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

/* The two halves of the values as sides of a comparison. */
static void judge(const double *x, size_t n)
{
	struct model_side a = {.x = x, .n = n / 2}, b = {.x = x + n / 2, .n = n - n / 2};
	struct model_judgement j;
	struct buf text = {0};

	if (n > 40)
		return;
	model_judge(&(struct model_judge_cfg){0}, &a, &b, &j);
	model_judgement_text(&j, NULL, NULL, NULL, &text);
	FUZZ_CHECK(text.failed || (text.data && !strstr(text.data, "nan")));
	FUZZ_CHECK(j.outcome == VERDICT_NONE || !isnan(j.effect));
	buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int64_t column = 1; column <= 3; column++) {
		char *text = malloc(size + 1); /* its own block: one byte too far is seen */
		struct weir_err e = {0};
		struct format_numbers v;

		if (!text)
			return 0;
		memcpy(text, data, size);
		if (format_values(text, size, column, &v, &e) < 0) {
			FUZZ_CHECK(!v.v && !v.n && e.code && e.msg[0] && !strchr(e.msg, '\n'));
		} else {
			FUZZ_CHECK(v.n <= lines_of(text, size));
			for (size_t i = 0; i < v.n; i++)
				FUZZ_CHECK(isfinite(v.v[i]));
			judge(v.v, v.n);
		}
		free(v.v);
		free(text);
	}
	return 0;
}
