/* SPDX-License-Identifier: BSD-2-Clause */
/* The sequence window: what came, what is lost, what came twice, late or from elsewhere. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct script {
	const char *numbers;
	uint64_t lost, reordered, duplicates;
	uint64_t sent, lost_finally; /* after the sender's count */
};

static void feed(struct seqwin *w, const char *numbers)
{
	char *end;

	for (const char *p = numbers; *p; p = end)
		assert_int_not_equal(seqwin_put(w, strtoull(p, &end, 10), 1000), SEQ_FOREIGN);
}

static void scripted_senders_are_counted_exactly(void **state)
{
	static const struct script rows[] = {
		{"1 2 3 4 5", 0, 0, 0, 5, 0},
		{"1 2 3 5 4 6", 0, 1, 0, 6, 0},
		{"1 3 4 5 5 6", 1, 0, 1, 6, 1},    /* a duplicate hides no loss */
		{"1 2 3 4 5 6 7", 0, 0, 0, 10, 3}, /* tail loss */
		{"", 0, 0, 0, 4, 4},               /* all of it */
		{"5", 4, 0, 0, 5, 4},              /* loss at the head */
		{"3 1 2", 0, 2, 0, 3, 0},          /* the first one overtaken */
		{"1 1 1 1", 0, 0, 3, 1, 0},
		{"1 3 2 2 3 5", 1, 1, 2, 6, 2},
		{"1 2 4 8 16 32 63", 56, 0, 0, 64, 57},
		{"1 63 2 62 3 61", 57, 4, 0, 63, 57},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (unsigned bits = 32; bits <= 64; bits += 32) {
			struct seqwin *w = seqwin_new(1, bits, 64);
			const struct seq_counts *c = seqwin_counts(w);

			feed(w, rows[i].numbers);
			assert_int_equal(c->lost, rows[i].lost);
			assert_int_equal(c->reordered, rows[i].reordered);
			assert_int_equal(c->duplicates, rows[i].duplicates);
			assert_int_equal(c->late, 0);
			assert_int_equal(seqwin_final(w, rows[i].sent), 0);
			assert_int_equal(c->highest, rows[i].sent);
			assert_int_equal(c->lost, rows[i].lost_finally);
			seqwin_free(w);
		}
	}
}

static void says_what_each_number_was(void **state)
{
	static const struct {
		uint64_t number;
		enum seq_kind kind;
	} rows[] = {
		{0, SEQ_FOREIGN},
		{1, SEQ_NEW},
		{1, SEQ_DUPLICATE},
		{3, SEQ_NEW},
		{2, SEQ_REORDERED},
		{2, SEQ_DUPLICATE},
		{500, SEQ_NEW},
		{501, SEQ_FOREIGN},
		{436, SEQ_LATE},
		{437, SEQ_REORDERED},
		{3, SEQ_LATE},
		{0, SEQ_FOREIGN},
		{UINT32_MAX, SEQ_FOREIGN},
		{0x7fffffff, SEQ_FOREIGN},
		{0x80000100, SEQ_FOREIGN},
	};
	struct seqwin *w = seqwin_new(1, 32, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(seqwin_put(w, rows[i].number, 500), rows[i].kind);
	assert_int_equal(seqwin_counts(w)->foreign, 6);
	assert_int_equal(seqwin_counts(w)->late, 2);
	assert_int_equal(seqwin_counts(w)->received, 9);
	assert_int_equal(seqwin_counts(w)->lost, 500 - 5);
	assert_int_equal(seqwin_final(w, 499), -ERANGE);
	assert_int_equal(seqwin_counts(w)->highest, 500);
	seqwin_free(w);
}

/* Each number of `n` in pairs swapped, every tenth missing, every seventh twice. */
static void walk(uint64_t first, unsigned bits, uint64_t n)
{
	struct seqwin *w = seqwin_new(first, bits, 256);
	uint64_t lost = 0, twice = 0, swapped = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i ^ 1, number = first + at;

		if (bits == 32)
			number = (uint32_t)number;
		if (at % 10 == 9) {
			lost++;
			continue;
		}
		assert_int_not_equal(seqwin_put(w, number, n), SEQ_FOREIGN);
		swapped += at % 2 == 0 && (at + 1) % 10 != 9;
		if (at % 7 == 6) {
			assert_int_equal(seqwin_put(w, number, n), SEQ_DUPLICATE);
			twice++;
		}
	}
	assert_int_equal(seqwin_final(w, n), 0);
	assert_int_equal(seqwin_counts(w)->lost, lost);
	assert_int_equal(seqwin_counts(w)->duplicates, twice);
	assert_int_equal(seqwin_counts(w)->reordered, swapped);
	assert_int_equal(seqwin_counts(w)->late + seqwin_counts(w)->foreign, 0);
	seqwin_free(w);
}

static void counters_may_wrap(void **state)
{
	(void)state;
	walk(1, 32, 10000);
	walk(1, 64, 10000);
	walk(0, 32, 10000);
	walk(UINT32_MAX - 4999, 32, 10000); /* wraps in the middle */
	walk(UINT32_MAX, 32, 1000);
	walk(UINT32_MAX - 4999, 64, 10000); /* no wrap here */
	walk(UINT64_MAX - 4999, 64, 10000);
}

/* Through 2^32 in strides as large as a jump may be. */
static void positions_go_on_past_the_wrap(void **state)
{
	struct seqwin *w = seqwin_new(1, 32, 64);
	uint64_t pos = 1, n = 0;

	(void)state;
	for (; pos < 3ULL << 32; pos += 0x7fffffff, n++)
		assert_int_equal(seqwin_put(w, (uint32_t)pos, UINT64_MAX), SEQ_NEW);
	assert_int_equal(seqwin_counts(w)->highest, pos - 0x7fffffff);
	assert_int_equal(seqwin_counts(w)->lost, pos - 0x7fffffff - n);
	seqwin_free(w);
}

static void huge_numbers_move_nothing(void **state)
{
	struct seqwin *w = seqwin_new(1, 64, 1024);

	(void)state;
	assert_int_equal(seqwin_put(w, 1, 100), SEQ_NEW);
	assert_int_equal(seqwin_put(w, (1ULL << 63) + 5, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, (1ULL << 63) - 5, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, UINT64_MAX, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, 101, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, 2, 0), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, 100, 100), SEQ_NEW);
	assert_int_equal(seqwin_counts(w)->foreign, 5);
	assert_int_equal(seqwin_counts(w)->received, 2);
	assert_int_equal(seqwin_counts(w)->lost, 98);
	seqwin_free(w);
}

/* Against a table of everything: random jumps, all within the window. */
static void agrees_with_a_full_table(void **state)
{
	enum { N = 20000, WINDOW = 512 };
	static uint8_t seen[N + 1];
	struct seqwin *w = seqwin_new(1, 32, WINDOW);
	uint64_t top = 0, twice = 0, came = 0, x = 88172645463325252ULL;

	(void)state;
	memset(seen, 0, sizeof(seen));
	while (top < N - WINDOW) {
		uint64_t pos;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		pos = top + 1 + x % 8 + (x % 97 == 0 ? 300 : 0);
		if (x % 3 && top > WINDOW)
			pos = top - (x >> 20) % WINDOW;
		twice += seen[pos];
		came += !seen[pos];
		seen[pos] = 1;
		top = pos > top ? pos : top;
		assert_int_not_equal(seqwin_put(w, pos, N), SEQ_FOREIGN);
	}
	assert_int_equal(seqwin_counts(w)->duplicates, twice);
	assert_int_equal(seqwin_counts(w)->lost, top - came);
	assert_int_equal(seqwin_counts(w)->late, 0);
	seqwin_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripted_senders_are_counted_exactly),
		cmocka_unit_test(says_what_each_number_was),
		cmocka_unit_test(counters_may_wrap),
		cmocka_unit_test(positions_go_on_past_the_wrap),
		cmocka_unit_test(huge_numbers_move_nothing),
		cmocka_unit_test(agrees_with_a_full_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
