/* SPDX-License-Identifier: BSD-2-Clause */
/* All that a text holds: several runs in every arrangement, and bare numbers. */
#include "format_runs.h"

#include <errno.h>
#include <stdio.h>
#include <math.h>
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
		double first, last, step;
		enum unit unit;
	} rows[] = {
		{"931\n918", 1, 2, 931, 918, 1, UNIT_NONE},
		{"# x\n\n  \n 1e3 \r\n-0.5\r\n", 1, 2, 1000, -0.5, 0.1, UNIT_NONE},
		{"a 1,x\nb;2\n", 2, 2, 1, 2, 1, UNIT_NONE},
		{" ,a\t7\n", 2, 1, 7, 7, 1, UNIT_NONE},
		{"", 1, 0, 0, 0, 0, UNIT_NONE},
		{"#1\n", 1, 0, 0, 0, 0, UNIT_NONE},
		/* commas part what the column asked for needs them for */
		{"1,931,x\n2,918.25,y\n", 2, 2, 931, 918.25, 0.01, UNIT_NONE},
		{"931, 5\n918, 6\n", 1, 2, 931, 918, 1, UNIT_NONE},
		/* the step is that of the finest: 0.5 may have been printed as short as it goes */
		{"0.5\n0.125\n", 1, 2, 0.5, 0.125, 0.001, UNIT_NONE},
		{"1.25e3\n", 1, 1, 1250, 1250, 10, UNIT_NONE},
		/* units behind */
		{"931 Mbits/sec\n1.2 Gbits/sec\n", 1, 2, 931e6, 1.2e9, 1e6, UNIT_BPS},
		{"a 5 ms\nb 700 us\n", 2, 2, 5e-3, 700e-6, 1e-6, UNIT_SECOND},
		{"5 %\n", 1, 1, 0.05, 0.05, 0.01, UNIT_RATIO},
		{"12 req/s\n14 req/s\n", 1, 2, 12, 14, 1, UNIT_NONE},
		{"12 B\n14 B\n", 1, 2, 12, 14, 1, UNIT_NONE},
		{"12 cubic\n14 bbr\n", 1, 2, 12, 14, 1, UNIT_NONE},
	};
	struct weir_err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct format_numbers o;

		assert_int_equal(
			format_values(rows[i].text, strlen(rows[i].text), rows[i].column, &o, &e),
			0);
		assert_int_equal(o.n, rows[i].n);
		if (o.n) {
			assert_true(fabs(o.v[0] / rows[i].first - 1) < 1e-12);
			assert_true(fabs(o.v[o.n - 1] / rows[i].last - 1) < 1e-12);
			assert_true(fabs(o.step / rows[i].step - 1) < 1e-9);
		}
		assert_int_equal(o.unit, rows[i].unit);
		free(o.v);
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
		{"0x10\n", 5, 1, "line 1: \"0x10\" is not a number"},
		{"931M\n", 5, 1, "line 1: \"931M\" is not a number"},
		{"1,000\n", 6, 1,
		 "line 1: \"1,000\" is not a number without doubt: its comma may be a decimal "
		 "point, or "
		 "group digits"},
		{"1\nx 9,5\n", 8, 2, "line 1: \"\" is not a number"},
		{"x 1\nx 9,5\n", 10, 2,
		 "line 2: \"9,5\" is not a number without doubt: its comma may be a decimal point, "
		 "or "
		 "group digits"},
		{"9 ms\n9\n", 7, 1, "line 2: another unit than in the lines before"},
		{"9 ms\n9 Mbit/s\n", 14, 1, "line 2: another unit than in the lines before"},
		{"9 req/s\n9 kreq/s\n", 17, 1, "line 2: another unit than in the lines before"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct weir_err e = {0};
		struct format_numbers o;

		assert_true(format_values(rows[i].text, rows[i].n, rows[i].column, &o, &e) < 0);
		assert_string_equal(e.msg, rows[i].msg);
		assert_true(!o.v && !o.n);
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
