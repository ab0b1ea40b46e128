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
		assert_int_not_equal(seqwin_put(w, strtoull(p, &end, 10), 1, 1000), SEQ_FOREIGN);
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
		{500, SEQ_HELD},
		{501, SEQ_FOREIGN},
		{500, SEQ_HELD}, /* twice the same bears out nothing */
		{4, SEQ_NEW},
		{499, SEQ_REORDERED},
		{499, SEQ_DUPLICATE},
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
		assert_int_equal(seqwin_put(w, rows[i].number, 1, 500), rows[i].kind);
	assert_int_equal(seqwin_counts(w)->foreign, 6);
	assert_int_equal(seqwin_counts(w)->late, 2);
	assert_int_equal(seqwin_counts(w)->received, 13);
	assert_int_equal(seqwin_counts(w)->bytes, 13);
	assert_int_equal(seqwin_counts(w)->duplicates, 4);
	assert_int_equal(seqwin_counts(w)->lost, 500 - 7);
	assert_int_equal(seqwin_final(w, 498), -ERANGE); /* both beyond it came: it is wrong */
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
		assert_int_not_equal(seqwin_put(w, number, 1, n), SEQ_FOREIGN);
		swapped += at % 2 == 0 && (at + 1) % 10 != 9;
		if (at % 7 == 6) {
			assert_int_equal(seqwin_put(w, number, 1, n), SEQ_DUPLICATE);
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

/* Through 2^32 in strides as large as nearly all lost. */
static void positions_go_on_past_the_wrap(void **state)
{
	enum { STRIDE = 0x1fffffff };
	struct seqwin *w = seqwin_new(1, 32, 64);
	uint64_t pos = 1, n = 0;

	(void)state;
	for (; pos < 3ULL << 32; pos += STRIDE, n++)
		assert_int_equal(seqwin_put(w, (uint32_t)pos, 1, UINT64_MAX),
				 n == 0 || n > 3 ? SEQ_NEW : SEQ_HELD);
	assert_int_equal(seqwin_counts(w)->highest, pos - STRIDE);
	assert_int_equal(seqwin_counts(w)->lost, pos - STRIDE - n);
	seqwin_free(w);
}

static void huge_numbers_move_nothing(void **state)
{
	struct seqwin *w = seqwin_new(1, 64, 1024);

	(void)state;
	assert_int_equal(seqwin_put(w, 1, 1, 100), SEQ_NEW);
	assert_int_equal(seqwin_put(w, (1ULL << 63) + 5, 1, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, (1ULL << 63) - 5, 1, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, UINT64_MAX, 1, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, 101, 1, 100), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, 2, 1, 0), SEQ_FOREIGN);
	assert_int_equal(seqwin_put(w, 100, 1, 100), SEQ_HELD);
	assert_int_equal(seqwin_final(w, 100), 0);
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
		assert_int_not_equal(seqwin_put(w, pos, 1, N), SEQ_FOREIGN);
	}
	assert_int_equal(seqwin_final(w, top), 0);
	assert_int_equal(seqwin_counts(w)->duplicates, twice);
	assert_int_equal(seqwin_counts(w)->lost, top - came);
	assert_int_equal(seqwin_counts(w)->late, 0);
	seqwin_free(w);
}

/* ---- leaps ------------------------------------------------------------------------ */

enum { MOST = 20000000 }; /* what a second without a rate may have sent */

static void put_range(struct seqwin *w, uint64_t from, uint64_t to, uint64_t step)
{
	for (uint64_t n = from; n <= to; n += step)
		seqwin_put(w, n, 100, MOST);
}

static void expect(struct seqwin *w, uint64_t sent, uint64_t lost, uint64_t foreign)
{
	const struct seq_counts *c = seqwin_counts(w);

	assert_int_equal(seqwin_final(w, sent), 0);
	assert_int_equal(c->highest, sent);
	assert_int_equal(c->lost, lost);
	assert_int_equal(c->foreign, foreign);
	assert_int_equal(c->received - c->duplicates, sent - lost);
	assert_int_equal(c->bytes, c->received * 100);
	seqwin_free(w);
}

/* Wherever it comes, and twice, too; a few at random, too. */
static void forged_numbers_ruin_nothing(void **state)
{
	static const uint64_t forged[] = {200, 4000, 131072, 131073, 1000000, MOST};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forged); i++) {
		for (uint64_t at = 0; at <= 100; at += 50) {
			struct seqwin *w = seqwin_new(1, 32, 131072);

			put_range(w, 1, at, 1);
			for (unsigned k = 0; k < 2; k++)
				assert_int_equal(seqwin_put(w, forged[i], 100, MOST), SEQ_HELD);
			put_range(w, at + 1, 110, 1);
			assert_int_equal(seqwin_counts(w)->lost, 0);
			assert_int_equal(seqwin_counts(w)->highest, 110);
			expect(w, 110, 0, 2);
		}
	}
}

static void forgeries_all_the_time(void **state)
{
	struct seqwin *w = seqwin_new(1, 64, 131072);
	uint64_t x = 88172645463325252ULL, n = 0, came = 0;

	(void)state;
	for (uint64_t at = 1; at <= 20000; at++) {
		if (at < 10000 || at >= 15000) {
			seqwin_put(w, at, 100, MOST);
			came++;
		}
		if (at % 50)
			continue;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		seqwin_put(w, 1000000 + x % (MOST - 1000000), 100, MOST);
		n++;
		if (at > 10000 && at < 15000) /* nothing else came between: not too many */
			at += 2500;
	}
	expect(w, 20000, 20000 - came, n);
}

/* Losses in a row of any length, at the head, amid, and before the last ones. */
static void long_losses_are_exact(void **state)
{
	static const uint64_t lost[] = {1, 63, 64, 65, 1000, 5000, 131071, 131072, 500000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		for (uint64_t before = 0; before <= 500; before += 250) {
			for (uint64_t after = 1; after <= 3; after++) {
				struct seqwin *w = seqwin_new(1, 32, 131072);
				uint64_t sent = before + lost[i] + after;

				put_range(w, 1, before, 1);
				put_range(w, before + lost[i] + 1, sent, 1);
				if (after > 1)
					assert_int_equal(seqwin_counts(w)->lost, lost[i]);
				expect(w, sent, lost[i], 0);
			}
		}
	}
}

/* The first after it overtook the last before it, or those after it came in disorder. */
static void disorder_around_a_loss(void **state)
{
	static const uint64_t orders[][6] = {
		{1, 2, 5001, 3, 5002, 5003},
		{1, 2, 3, 5003, 5001, 5002},
		{1, 5002, 2, 3, 5001, 5003},
	};
	static const uint64_t overtaken[] = {1, 2, 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct seqwin *w = seqwin_new(1, 32, 131072);

		for (size_t k = 0; k < 6; k++)
			seqwin_put(w, orders[i][k], 100, MOST);
		assert_int_equal(seqwin_counts(w)->lost, 4997);
		assert_int_equal(seqwin_counts(w)->reordered, overtaken[i]);
		expect(w, 5003, 4997, 0);
	}
}

/* One datagram came long before its turn: those that it overtook came after a higher one. */
static void one_far_too_early(void **state)
{
	struct seqwin *w = seqwin_new(1, 32, 131072);

	(void)state;
	put_range(w, 1, 100, 1);
	assert_int_equal(seqwin_put(w, 500, 100, MOST), SEQ_HELD);
	put_range(w, 101, 499, 1);
	assert_int_equal(seqwin_counts(w)->reordered, 0);
	put_range(w, 501, 600, 1);
	assert_int_equal(seqwin_counts(w)->reordered, 399);
	expect(w, 600, 0, 0);
}

/* Nearly all are lost, and a few forged numbers come between. */
static void what_trickles_through_is_exact(void **state)
{
	static const uint64_t steps[] = {65, 100, 1000, 30000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct seqwin *w = seqwin_new(1, 32, 131072);
		uint64_t sent = 400 * steps[i], x = 88172645463325252ULL, came = 0;

		for (uint64_t at = 1; at <= sent; at += steps[i] / 2 + x % steps[i]) {
			assert_int_not_equal(seqwin_put(w, at, 100, MOST), SEQ_FOREIGN);
			came++;
			if (came == 2 || came == 50)
				seqwin_put(w, MOST - 1000 * came, 100, MOST);
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		assert_in_range(seqwin_counts(w)->highest, sent / 2, sent);
		expect(w, sent, sent - came, 2);
	}
}

static void a_count_that_is_disproved(void **state)
{
	struct seqwin *w = seqwin_new(1, 32, 1024);

	(void)state;
	put_range(w, 1, 100, 1);
	assert_int_equal(seqwin_put(w, 150, 100, MOST), SEQ_NEW); /* too near to be told apart */
	put_range(w, 101, 110, 1);
	assert_int_equal(seqwin_counts(w)->lost, 39);
	assert_int_equal(seqwin_final(w, 110), -ERANGE);
	assert_int_equal(seqwin_counts(w)->lost, 0);
	assert_int_equal(seqwin_counts(w)->highest, 110);
	assert_int_equal(seqwin_counts(w)->received, 110);
	assert_int_equal(seqwin_counts(w)->foreign, 1);
	assert_int_equal(seqwin_final(w, 10), -ERANGE); /* so many are not forged */
	assert_int_equal(seqwin_counts(w)->highest, 110);
	assert_int_equal(seqwin_counts(w)->received, 110);
	put_range(w, 5001, 7000, 1);
	assert_int_equal(seqwin_final(w, 110), -ERANGE); /* more than a window ago */
	assert_int_equal(seqwin_counts(w)->highest, 7000);
	assert_int_equal(seqwin_counts(w)->lost, 4890);
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
		cmocka_unit_test(forged_numbers_ruin_nothing),
		cmocka_unit_test(forgeries_all_the_time),
		cmocka_unit_test(long_losses_are_exact),
		cmocka_unit_test(disorder_around_a_loss),
		cmocka_unit_test(one_far_too_early),
		cmocka_unit_test(what_trickles_through_is_exact),
		cmocka_unit_test(a_count_that_is_disproved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
