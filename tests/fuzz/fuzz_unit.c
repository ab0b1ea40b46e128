/* SPDX-License-Identifier: BSD-2-Clause */
/* Quantities and dates as text: no crash, what is parsed is in range and can be printed. */
#include "base/base.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

static void try_integers(const char *s)
{
	struct weir_err e = {0};
	uint64_t u;
	int64_t i;
	if (!unit_parse_rate(s, &u, &e))
		FUZZ_CHECK(u <= INT64_MAX);
	if (!unit_parse_size(s, &u, &e))
		FUZZ_CHECK(u <= INT64_MAX);
	if (!unit_parse_count(s, &u, &e))
		FUZZ_CHECK(u <= INT64_MAX);
	if (!unit_parse_time(s, &i, &e))
		FUZZ_CHECK(i >= 0);
	if (clk_parse_when(s, 1800000000 * NSEC_PER_SEC, &i, &e))
		FUZZ_CHECK(e.code && e.msg[0] && !strchr(e.msg, '\n'));
}

static void try_value(const char *s, enum unit u)
{
	char text[64], number[64];
	double v;
	if (unit_parse(s, u, &v, NULL))
		return;
	FUZZ_CHECK(isfinite(v));
	for (int digits = 1; digits <= 6; digits++) {
		unit_format(text, sizeof(text), v, u, digits);
		unit_format_split(number, sizeof(number), v, u, digits);
		FUZZ_CHECK(number[0] && !strncmp(text, number, strlen(number)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1); /* its own block: one byte too far is seen */
	if (!s || size > 255) {
		free(s);
		return 0;
	}
	memcpy(s, data, size);
	s[size] = '\0';
	try_integers(s);
	for (int u = UNIT_NONE; u <= UNIT_RATIO; u++)
		try_value(s, (enum unit)u);
	free(s);
	return 0;
}
