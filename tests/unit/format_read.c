/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading pasted text: the front, tokens, patterns, places and blocks; iperf3's recordings read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"

/* ---- the front ---- */

/* `mark`: a word of the result, and where it begins in what came in. */
static const struct {
	const char *in;
	size_t n; /* 0 = strlen */
	const char *out, *mark;
	size_t at;
} fronts[] = {
	{"plain 1.5 text\n", 0, "plain 1.5 text\n", "1.5", 6},
	{"> > a\n>b\n>> c\n", 0, "a\nb\nc\n", "c", 12},
	{"a\r\nb\rc", 0, "a\nb\nc", "c", 5},
	{"\033[1;31mred\033[0m \033]0;title\007x", 0, "red x", "x", 25},
	{"Content-Transfer-Encoding: quoted-printable\n9=\n3.2 =3D=20\n", 0,
	 "Content-Transfer-Encoding: quoted-printable\n93.2 = \n", "3.2", 47},
	{"=C2=A0x =3D y\n", 0, " x = y\n", "y", 12},
	{"====\na = b\n", 0, "====\na = b\n", "b", 9},
	{"&gt;&nbsp;[ &#53;]<br>x &amp;lt; <b>y</b> <READ ME>", 0, "[ 5]\nx < y <READ ME>", "y",
	 36},
	{"\xff\xfe"
	 "9\0"
	 "4\0\n\0x\0",
	 10, "94\nx", "x", 8},
	{"1\xc2\xa0"
	 "234 \xe2\x88\x92"
	 "5",
	 0, "1 234 -5", "5", 10},
	{"Nov 30 12:00:00 host iperf3[7]: [  5] x\n2026-11-30T12:00:00.123Z y\n# 8: z\n", 0,
	 "[  5] x\ny\nz\n", "z", 72},
};

static void the_front_undoes_mail_and_web(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fronts); i++) {
		struct demail d = {0};
		size_t n = fronts[i].n ? fronts[i].n : strlen(fronts[i].in);
		const char *mark;

		assert_int_equal(demail_run(&d, fronts[i].in, n, true), 0);
		assert_string_equal(d.text, fronts[i].out);
		mark = strrchr(d.text, *fronts[i].mark);
		mark = strlen(fronts[i].mark) > 1 ? strstr(d.text, fronts[i].mark) : mark;
		assert_non_null(mark);
		assert_int_equal(demail_offset(&d, (size_t)(mark - d.text)), fronts[i].at);
		demail_fini(&d);
	}
}

/* ---- tokens and patterns ---- */

static const struct {
	const char *text, *pattern;
	size_t used; /* tokens; 0 = no match */
	double cap[4];
} patterns[] = {
	{"0.00-10.04 sec", "# - # sec", 4, {0, 10.04}},
	{"28K/1346 us", "# K / # us", 5, {28, 1346}},
	{"-1K x", "-# K", 3, {-1}},
	{"112 MBytes x", "# %B", 2, {112, 1048576}},
	{"938 Mbits/sec x", "# %R", 2, {938, 1e6}},
	{"160 KBytes/sec x", "# %R", 2, {160, 8192}},
	{"7 apples x", "# %R", 0, {0}},
	{"a c x", "a ( b # ) c", 2, {UNSET}},
	{"a b 4 c x", "a ( b # ) c", 4, {4}},
	{"( 0.57 % ) x", "\\( # \\% \\)", 4, {0.57}},
	{"5.924e+06 x", "#", 1, {5.924e6}},
	{"10.0.0.1 x", "#", 0, {0}},
	{"x 94", "x #", 0, {0}}, /* digits may be missing */
	{"!6.11 `7` x", "# #", 2, {6.11, 7}},
};

static void patterns_go_by_tokens(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		struct lex l = {0};
		double c[MATCH_CAPS] = {0};

		assert_int_equal(lex_run(&l, patterns[i].text, strlen(patterns[i].text)), 0);
		assert_int_equal(match(&l, 0, patterns[i].pattern, c), patterns[i].used);
		for (size_t k = 0; k < 4 && patterns[i].used; k++)
			assert_true(isnan(patterns[i].cap[k]) ? isnan(c[k])
							      : fabs(c[k] - patterns[i].cap[k]) <
									1e-9 * (1 + fabs(c[k])));
		lex_fini(&l);
	}
}

/* ---- places and blocks ---- */

static const char row[] = "[  3]  0.0-10.0 sec  12.0 MBytes  10.1 Mbits/sec\n";

struct told {
	size_t found, skipped;
	uint64_t at, line, skip_line, last;
};

static int told_found(void *arg, const struct format_found *f)
{
	struct told *t = arg;

	assert_true(f->from >= t->last && f->to > f->from);
	t->found++;
	t->at = f->from;
	t->line = f->line;
	t->last = f->to;
	return 0;
}

static int told_skipped(void *arg, const struct format_skip *s)
{
	struct told *t = arg;

	assert_true(s->from >= t->last && s->to > s->from);
	t->skipped++;
	t->skip_line = s->line;
	t->last = s->to;
	return 0;
}

static void everything_has_its_place(void **state)
{
	struct told t = {0};
	struct format_reading r = {.found = told_found, .skipped = told_skipped, .arg = &t};
	struct format_read_sum sum;
	struct buf b = {0};

	(void)state;
	buf_printf(&b, "> one\n> two\n> %s> three\n", row);
	assert_int_equal(format_read_string(b.data, b.len, &r, &sum, NULL), 0);
	assert_int_equal(t.found, 1);
	assert_int_equal(t.at, 14);
	assert_int_equal(t.line, 3);
	assert_int_equal(t.skipped, 2);
	assert_int_equal(t.skip_line, 4);
	assert_int_equal(sum.bytes, b.len);
	buf_fini(&b);
}

/* Reports over the ends of blocks are neither lost nor told twice. */
static void blocks_do_not_show(void **state)
{
	struct told t = {0};
	struct format_reading r = {.found = told_found, .skipped = told_skipped, .arg = &t};
	struct buf b = {0};
	size_t n = 40000;

	(void)state;
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "[  3]  0.0-10.0 sec  %zu.0 MBytes  9.9 Mbits/sec\n%s", 10 + i % 7,
			   i % 3 ? "" : "some words between them\n");
	assert_true(b.len > (2u << 20));
	assert_int_equal(format_read_string(b.data, b.len, &r, NULL, NULL), 0);
	assert_int_equal(t.found, n);
	assert_int_equal(t.line, 1 + (n - 1) + (n + 2) / 3 - (n % 3 == 1));
	buf_fini(&b);
}

/* ---- recordings ---- */

static double member(const struct js *end, const char *object, const char *key)
{
	double v = UNSET;

	js_f64(js_get(js_get(end, object), key), &v);
	return v;
}

struct sums {
	double sent, got; /* of the whole, forward */
	int dir;
	size_t n;
};

static int take_sums(void *arg, const struct format_found *f)
{
	struct sums *s = arg;

	s->n++;
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		if (g->dims.has >> DIM_FLOW & 1 || g->state != MODEL_KNOWN ||
		    g->dims.v[DIM_DIR] != s->dir)
			continue;
		if (!strcmp(g->metric, "throughput.sent"))
			s->sent = g->value;
		if (!strcmp(g->metric, "goodput"))
			s->got = g->value;
	}
	return 0;
}

static void check_recording(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);
	size_t n = f ? fread(text, 1, (1 << 20) - 1, f) : 0;
	struct js_doc *doc;
	const struct js *end, *start;
	int64_t reverse = 0;
	struct sums s = {.sent = UNSET, .got = UNSET};
	struct format_reading r = {.found = take_sums, .arg = &s};
	double sent, got;

	assert_non_null(f);
	fclose(f);
	assert_int_equal(js_parse(text, n, &js_limits_file, &doc, NULL), 0);
	end = js_get(js_root(doc), "end");
	start = js_get(js_get(js_root(doc), "start"), "test_start");
	js_i64(js_get(start, "reverse"), &reverse);
	s.dir = reverse ? MODEL_DOWN : MODEL_UP;
	assert_int_equal(format_read_string(text, n, &r, NULL, NULL), 0);
	assert_int_equal(s.n, 1);
	sent = member(end, "sum_sent", "bits_per_second");
	got = member(end, "sum_received", "bits_per_second");
	if (member(end, "sum_sent", "bytes") > 0)
		assert_true(fabs(s.sent - sent) <= 1e-9 * sent);
	if (member(end, "sum_received", "bytes") > 0)
		assert_true(fabs(s.got - got) <= 1e-9 * got);
	js_free(doc);
	free(text);
}

/* ---- what is doubtful beside the rest of the text ---- */

static int on_doubt(void *arg, const struct format_found *f)
{
	struct buf *b = arg;

	buf_printf(b, "%s", f->kind);
	for (size_t i = 0; i < f->n_warn; i++)
		buf_printf(b, " %s", model_warn(f->warn[i].code)->code);
	buf_puts(b, "\n");
	return 0;
}

#define RUN(seconds, mbytes, mbits, retr)                                       \
	"[ ID] Interval Transfer Bandwidth Retr\n"                              \
	"[ 4] 0.00-" seconds " sec " mbytes " MBytes " mbits " Mbits/sec " retr \
	" sender\n[ 4] 0.00-" seconds " sec " mbytes " MBytes " mbits " Mbits/sec receiver\n"

static void doubts_of_the_text_around(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"Before:\n" RUN("10.00", "50.0", "41.9", "197") "After:\n" RUN("30.00", "171",
										"47.8", "272"),
		 "iperf3\niperf3 unequal-duration\n"},
		/* Without counts unequal times can be compared. */
		{"Before:\n" RUN("10.00", "50.0", "41.9", "0") "After:\n" RUN("30.00", "171",
									      "47.8", "0"),
		 "iperf3\niperf3\n"},
		{"* stock (42/41mbps tx/rx)\n" RUN("10.00", "50.0", "41.9", "0"), "iperf3\n"},
		{"* stock (142/141 Mbits/sec)\n" RUN("10.00", "50.0", "41.9", "0"),
		 "iperf3 label-mismatch\n"},
		{"3 packets transmitted, 3 received, 0% packet loss, time 2047ms\n"
		 "rtt min/avg/max/mdev = 12.813/18.217/21.309/3.331 ms\nand again\n"
		 "3 packets transmitted, 3 received, 0% packet loss, time 2047ms\n"
		 "rtt min/avg/max/mdev = 12.813/18.217/21.309/3.331 ms\n",
		 "ping\nping duplicate-paste\n"},
		/* Two short counts may well be the same. */
		{"1 packets transmitted, 0 received, 100% packet loss, time 0ms\n\n"
		 "1 packets transmitted, 0 received, 100% packet loss, time 0ms\n",
		 "ping\nping\n"},
		{"{\"version\": 9, \"metadata\": {\"NAME\": \"rrul\", \"LENGTH\": 60}, "
		 "\"results\": {\"Ping (ms) ICMP\": [1.5, 2.5]}, \"x_values\": [0, 1]}\n",
		 "flent-data unknown-version\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf b = {0};
		struct format_reading r = {.found = on_doubt, .arg = &b};

		assert_int_equal(
			format_read_string(cases[i].text, strlen(cases[i].text), &r, NULL, NULL),
			0);
		assert_string_equal(b.data ? b.data : "", cases[i].want);
		buf_fini(&b);
	}
}

static void recordings_are_read_back(void **state)
{
	DIR *d = opendir(TEST_DATA "/iperf3/json");
	struct dirent *e;
	size_t n = 0;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[512];

		if (!strstr(e->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/iperf3/json/%s", TEST_DATA, e->d_name);
		check_recording(path);
		n++;
	}
	closedir(d);
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_front_undoes_mail_and_web),
		cmocka_unit_test(patterns_go_by_tokens),
		cmocka_unit_test(everything_has_its_place),
		cmocka_unit_test(blocks_do_not_show),
		cmocka_unit_test(doubts_of_the_text_around),
		cmocka_unit_test(recordings_are_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
