/* SPDX-License-Identifier: BSD-2-Clause */
/* All that a text holds: several runs in every arrangement, and bare numbers. */
#include "format_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct taken {
	char ids[8][MODEL_ID_LEN + 1];
	size_t n, stop_at;
};

static int take(struct model_run *r, void *arg)
{
	struct taken *t = arg;

	if (t->n < ARRAY_LEN(t->ids))
		memcpy(t->ids[t->n], r->id, sizeof(r->id));
	t->n++;
	model_run_free(r);
	return t->n == t->stop_at ? -ECANCELED : 0;
}

static int read_text(const char *text, struct taken *t, struct weir_err *e)
{
	struct format_take how = {take, t};

	*e = (struct weir_err){0};
	t->n = 0;
	return format_read_all(text, strlen(text), &how, e);
}

/* Two runs in one form each. */
struct pieces {
	struct buf json[2], lines[2];
	char ids[2][MODEL_ID_LEN + 1];
};

static void make(struct pieces *p)
{
	for (uint8_t i = 0; i < 2; i++) {
		const uint8_t rnd[10] = {i};
		struct model_run *r = model_run_new("tcp", 1700000000 * NSEC_PER_SEC, rnd);
		struct sink *s = model_ndjson_sink(&p->lines[i]);

		r->outcome = OUTCOME_COMPLETE;
		r->title = "braces } and ] and \\\" in a text";
		memcpy(p->ids[i], r->id, sizeof(r->id));
		model_to_json(r, &p->json[i]);
		model_replay(r, s);
		assert_int_equal(s->close(s, NULL), 0);
		model_run_free(r);
	}
}

static void fini(struct pieces *p)
{
	for (int i = 0; i < 2; i++) {
		buf_fini(&p->json[i]);
		buf_fini(&p->lines[i]);
	}
}

static const char *str(struct buf *b)
{
	buf_putc(b, '\0');
	b->len--;
	return b->data;
}

static void every_arrangement(void **state)
{
	static const char *const forms[] = {
		"J0",   "L0",     "J0\nJ1", "J0J1", "L0L1", "[J0,J1]", " [ J0 ]\nJ1\n",
		"L0J1", "J0\nL1", "L0[J1]",
	};
	struct pieces p = {0};
	struct taken t = {0};
	struct weir_err e;

	(void)state;
	make(&p);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct buf b = {0};
		int want = 0;

		for (const char *f = forms[i]; *f; f++) {
			struct buf *from = *f == 'J' ? p.json : p.lines;

			if (*f != 'J' && *f != 'L') {
				buf_putc(&b, *f);
				continue;
			}
			f++;
			buf_put(&b, from[*f - '0'].data, from[*f - '0'].len);
			want++;
		}
		if (read_text(str(&b), &t, &e) != want)
			fail_msg("%s: %zu runs: %s", forms[i], t.n, e.msg);
		for (int k = 0; k < want; k++)
			assert_string_equal(t.ids[k], p.ids[k]);
		buf_fini(&b);
	}
	fini(&p);
}

static void what_is_wrong_is_told(void **state)
{
	struct pieces p = {0};
	struct taken t = {0};
	struct weir_err e;
	struct buf b = {0};

	(void)state;
	make(&p);
	buf_printf(&b, "%s\n{\"schema\":1}", str(&p.json[0]));
	assert_true(read_text(str(&b), &t, &e) < 0);
	assert_int_equal(t.n, 1);
	assert_true(!strncmp(e.msg, "run 2: ", 7));
	buf_clear(&b);
	buf_printf(&b, "%s\n%.*s", str(&p.json[0]), 40, str(&p.json[1])); /* cut off */
	assert_true(read_text(str(&b), &t, &e) < 0);
	t.stop_at = 1;
	assert_int_equal(read_text(str(&p.json[0]), &t, &e), -ECANCELED);
	t.stop_at = 0;
	assert_int_equal(read_text("[]", &t, &e), -ENOMSG);
	assert_int_equal(read_text("", &t, &e), -ENOMSG);
	assert_int_equal(read_text(" \n", &t, &e), -ENOMSG);
	assert_int_equal(read_text("931\n918\n", &t, &e), -ENOMSG);
	assert_true(read_text("[1]", &t, &e) < 0 && e.msg[0]);
	assert_true(read_text("}", &t, &e) < 0 && e.msg[0]);
	buf_fini(&b);
	fini(&p);
}

/* Twice as much takes twice as long, also where nothing is closed. */
static void hostile_text_is_linear(void **state)
{
	struct taken t = {0};
	struct weir_err e;
	struct buf b = {0};

	(void)state;
	buf_repeat(&b, '[', 1 << 20);
	assert_true(read_text(str(&b), &t, &e) < 0);
	buf_clear(&b);
	buf_repeat(&b, '{', 1 << 20);
	assert_true(read_text(str(&b), &t, &e) < 0);
	assert_int_equal(t.n, 0);
	buf_fini(&b);
}

/* ---- bare numbers ---- */

static void numbers_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t column;
		size_t n;
		double first, last;
	} rows[] = {
		{"931\n918", 1, 2, 931, 918},
		{"# x\n\n  \n 1e3 \r\n-0.5\r\n", 1, 2, 1000, -0.5},
		{"a 1,x\nb;2\n", 2, 2, 1, 2},
		{" ,a\t7\n", 2, 1, 7, 7},
		{"", 1, 0, 0, 0},
		{"#1\n", 1, 0, 0, 0},
	};
	struct weir_err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double *v;
		size_t n;

		assert_int_equal(format_values(rows[i].text, strlen(rows[i].text), rows[i].column,
					       &v, &n, &e),
				 0);
		assert_int_equal(n, rows[i].n);
		if (n) {
			assert_true(v[0] == rows[i].first);
			assert_true(v[n - 1] == rows[i].last);
		}
		free(v);
	}
}

static void what_is_no_number_is_refused(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		int64_t column;
		const char *msg;
	} rows[] = {
		{"931\nfast\n", 9, 1, "line 2: \"fast\" is not a number"},
		{"1\n1 2 x\n", 8, 3, "line 1: \"\" is not a number"},
		{"nan\n", 4, 1, "line 1: \"nan\" is not a number"},
		{"1e999\n", 6, 1, "line 1: \"1e999\" is not a number"},
		{"12x\n", 4, 1, "line 1: \"12x\" is not a number"},
		{"1\0\n", 3, 1, "line 1: \"1\\x00\" is not a number"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct weir_err e = {0};
		double *v;
		size_t n;

		assert_true(format_values(rows[i].text, rows[i].n, rows[i].column, &v, &n, &e) < 0);
		assert_string_equal(e.msg, rows[i].msg);
		assert_true(!v && !n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_arrangement),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(hostile_text_is_linear),
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(what_is_no_number_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
