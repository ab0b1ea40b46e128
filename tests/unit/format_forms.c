/* SPDX-License-Identifier: BSD-2-Clause */
/* Every form against its golden file, and the properties that all of them must keep. */
#include "format_runs.h"

static const struct format_opts plain = {.intervals = true, .live_rows = true};
static const struct format_opts fancy = {.intervals = true, .unicode = true, .colour = true};

static const struct golden_case {
	const char *file;
	struct model_run *(*make)(void);
	const char *form;
	struct format_opts opts;
} cases[] = {
	{"up.txt", run_up, "text", {.intervals = true, .live_rows = true, .unicode = true}},
	{"up-show.txt", run_up, "text", {0}},
	{"up-quiet.txt", run_up, "text", {.quiet = true}},
	{"up-narrow.txt", run_up, "text", {.width = 50}},
	{"up.paste", run_up, "paste", {0}},
	{"up.md", run_up, "markdown", {.unicode = true}},
	{"up.csv", run_up, "csv", {0}},
	{"bidir.txt", run_bidir, "text", {.intervals = true, .live_rows = true}},
	{"bidir.paste", run_bidir, "paste", {0}},
	{"bidir.md", run_bidir, "markdown", {0}},
	{"each-way.txt", run_each_way, "text", {.intervals = true, .live_rows = true}},
	{"each-way-spark.txt", run_each_way, "text", {.unicode = true, .width = 60}},
	{"failed.txt", run_failed, "text", {0}},
	{"failed.paste", run_failed, "paste", {0}},
	{"other.txt", run_other, "text", {0}},
	{"other.md", run_other, "markdown", {0}},
	{"hostile.txt", run_hostile, "text", {.intervals = true}},
	{"hostile.paste", run_hostile, "paste", {0}},
	{"hostile.md", run_hostile, "markdown", {0}},
};

static void forms_match_their_golden_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct model_run *r = cases[i].make();
		char *text = written(r, cases[i].form, &cases[i].opts);
		golden(cases[i].file, text);
		free(text);
		model_run_free(r);
	}
}

static int write_again(struct model_run *take, void *arg)
{
	char **again = arg;

	*again = written(take, "json", &plain);
	model_run_free(take);
	return 0;
}

/* Every form that has a reader gives the same run back. */
static void forms_that_are_read_lose_nothing(void **state)
{
	static struct model_run *(*const makes[])(void) = {run_up, run_bidir, run_each_way,
							   run_failed, run_other};
	size_t n = 0;

	(void)state;
	for (size_t f = 0; format_at(f); f++)
		for (size_t i = 0; i < ARRAY_LEN(makes) && format_at(f)->read; i++) {
			struct model_run *r = makes[i]();
			char *text = written(r, format_at(f)->name, &plain), *again = NULL;
			char *want = written(r, "json", &plain);
			struct format_take take = {.run = write_again, .arg = &again};

			assert_int_equal(format_read_all(text, strlen(text), &take, NULL), 1);
			assert_string_equal(again, want);
			free(text);
			free(again);
			free(want);
			model_run_free(r);
			n++;
		}
	assert_int_equal(n, 2 * ARRAY_LEN(makes));
}

static void a_cut_run_is_told_from_its_samples(void **state)
{
	(void)state;
	struct model_run *down = run_cut(MODEL_DOWN), *up = run_cut(MODEL_UP);
	char *text = written(down, "text", &plain);
	golden("cut-down.txt", text);
	assert_non_null(strstr(text, "incomplete"));
	free(text);
	text = written(up, "text", &plain);
	golden("cut-up.txt", text); /* the receiver's figure is not made up */
	assert_non_null(strstr(text, "unknown"));
	free(text);
	model_run_free(down);
	model_run_free(up);
}

static void flow_rows_on_request(void **state)
{
	(void)state;
	static const char *const dims[] = {"flow", NULL};
	struct format_opts o = {.intervals = true, .row_dims = dims};
	struct model_run *r = run_bidir();
	char *text = written(r, "text", &o);
	golden("bidir-flows.txt", text);
	free(text);
	model_run_free(r);
}

static void colour_only_when_asked(void **state)
{
	(void)state;
	struct model_run *r = run_up();
	char *with = written(r, "text", &fancy), *without = written(r, "text", &plain);
	assert_non_null(strstr(with, "\033[1m9.38 Gbit/s\033[0m"));
	assert_non_null(strstr(with, "\033[33mwarning"));
	assert_null(strchr(without, '\033'));
	free(with);
	free(without);
	model_run_free(r);
}

static struct model_run *(*const makers[])(void) = {run_up, run_bidir, run_failed, run_other,
						    run_hostile};

static void nothing_foreign_reaches_the_terminal(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		struct model_run *r = makers[i]();
		for (size_t k = 0; format_at(k); k++) {
			char *text = written(r, format_at(k)->name, &plain);
			for (const unsigned char *p = (unsigned char *)text; *p; p++)
				assert_true(*p == '\n' || (*p >= 0x20 && *p != 0x7f));
			assert_true(safe_is_utf8(text, strlen(text)));
			size_t n = strlen(text);
			assert_true(n == 0 || text[n - 1] == '\n');
			free(text);
		}
		model_run_free(r);
	}
}

static void paste_is_72_columns_of_ascii(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		struct model_run *r = makers[i]();
		char *text = written(r, "paste", NULL);
		for (char *p = text; *p; p += strcspn(p, "\n") + 1) {
			assert_true(strcspn(p, "\n") <= 72);
			assert_true(p[0] != '\n');
		}
		for (char *p = text; *p; p++)
			assert_false(*p & 0x80);
		free(text);
		model_run_free(r);
	}
}

static size_t fields(const char *line)
{
	size_t n = 1;
	bool quoted = false;
	for (; *line && (quoted || *line != '\n'); line++) {
		if (*line == '"')
			quoted = !quoted;
		n += *line == ',' && !quoted;
	}
	return n;
}

static void csv_has_one_shape(void **state)
{
	(void)state;
	struct model_run *r = run_hostile();
	char *text = written(r, "csv", NULL);
	size_t n = fields(text);
	assert_int_equal(n, 7 + DIM_MAX + 5);
	for (char *p = text; *p; p += strcspn(p, "\n") + 1)
		assert_int_equal(fields(p), n);
	assert_null(strstr(text, ",=1+2")); /* no cell begins a formula */
	assert_null(strstr(text, ",\"=1+2"));
	assert_non_null(strstr(text, "'=1+2"));
	free(text);
	model_run_free(r);
}

static struct model_run *read_back(const struct format *f, const char *text)
{
	struct model_run *r = NULL;
	struct weir_err e = {0};
	assert_true(f->probe(text, strlen(text)) > 50);
	if (f->read(text, strlen(text), &r, &e))
		fail_msg("%s: %s", f->name, e.msg);
	assert_non_null(r);
	return r;
}

/* Every form that can be read gives the run that was written. */
static void forms_read_back(void **state)
{
	(void)state;
	for (size_t k = 0; format_at(k); k++) {
		const struct format *f = format_at(k);
		assert_true(!f->probe == !f->read);
		for (size_t i = 0; f->read && i < ARRAY_LEN(makers); i++) {
			struct model_run *r = makers[i]();
			char *text = written(r, f->name, NULL);
			struct model_run *back = read_back(f, text);
			char *a = written(r, "json", NULL), *b = written(back, "json", NULL);
			if (makers[i] != run_hostile) /* bad UTF-8 is repaired */
				assert_string_equal(a, b);
			free(a);
			free(b);
			free(text);
			model_run_free(r);
			model_run_free(back);
		}
	}
}

static void a_wrong_file_is_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"",        "{}",
					    "[1]",     "{\"type\":\"tick\"}\n",
					    "hello\n", "{\"schema\":99,\"type\":\"run\"}"};
	for (size_t k = 0; format_at(k); k++) {
		const struct format *f = format_at(k);
		for (size_t i = 0; f->read && i < ARRAY_LEN(wrong); i++) {
			struct model_run *r = NULL;
			struct weir_err e = {0};
			assert_true(f->read(wrong[i], strlen(wrong[i]), &r, &e) < 0);
			assert_null(r);
			assert_int_not_equal(e.code, 0);
		}
	}
	assert_int_equal(format_find("json")->probe("hello", 5), 0);
	assert_int_equal(format_find("ndjson")->probe("{\"schema\":1", 11), 0);
	assert_null(format_find("xml"));
}

/* Cut at every byte, NDJSON still gives the whole lines; nothing crashes. */
static void ndjson_cut_anywhere(void **state)
{
	(void)state;
	const struct format *f = format_find("ndjson");
	struct model_run *r = run_cut(MODEL_DOWN);
	char *text = written(r, "ndjson", NULL);
	size_t n = strlen(text), whole = strcspn(text, "\n") + 1;
	for (size_t cut = 0; cut < n; cut++) {
		struct model_run *back = NULL;
		int rc = f->read(text, cut, &back, NULL);
		assert_true(cut >= whole ? rc == 0 : cut + 1 < whole ? rc < 0 : true);
		if (!rc) {
			char *shown = written(back, "text", &plain);
			assert_non_null(strstr(shown, "incomplete"));
			free(shown);
		}
		model_run_free(back);
	}
	free(text);
	model_run_free(r);
}

static void a_full_buffer_is_an_error(void **state)
{
	(void)state;
	struct model_run *r = run_up();
	for (size_t k = 0; format_at(k); k++) {
		struct buf b = {.max = 64};
		struct weir_err e = {0};
		struct sink *s = format_at(k)->writer(&b, NULL);
		model_replay(r, s);
		int rc = s->close(s, &e);
		assert_true(b.failed);
		if (strcmp(format_at(k)->name, "ndjson") != 0) /* the model's own sink */
			assert_true(rc < 0 && e.code);
		buf_fini(&b);
	}
	model_run_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_match_their_golden_files),
		cmocka_unit_test(forms_that_are_read_lose_nothing),
		cmocka_unit_test(a_cut_run_is_told_from_its_samples),
		cmocka_unit_test(flow_rows_on_request),
		cmocka_unit_test(colour_only_when_asked),
		cmocka_unit_test(nothing_foreign_reaches_the_terminal),
		cmocka_unit_test(paste_is_72_columns_of_ascii),
		cmocka_unit_test(csv_has_one_shape),
		cmocka_unit_test(forms_read_back),
		cmocka_unit_test(a_wrong_file_is_refused),
		cmocka_unit_test(ndjson_cut_anywhere),
		cmocka_unit_test(a_full_buffer_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
