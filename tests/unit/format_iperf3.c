/* SPDX-License-Identifier: BSD-2-Clause */
/* iperf3's text and JSON from runs made in code: to the blank, and against recordings. */
#include "format/reader.h"
#include "format_runs.h"

#include <dirent.h>
#include <math.h>

#include "format/iperf.h"
#include "format/iperf3.h"
#include "format/iperf3_table.h"

/* ---- numbers ----------------------------------------------------------------------------- */

static void quantities(void **state)
{
	(void)state;
	static const struct {
		double v;
		bool bits;
		char letter;
		const char *want;
	} cases[] = {
		{0, true, 0, "0.00 bits"},          {0, false, 0, "0.00 Bytes"},
		{9.994e9, true, 0, "9.99 Gbits"},   {9.996e9, true, 0, "10.0 Gbits"},
		{99.94e6, true, 0, "99.9 Mbits"},   {99.96e6, true, 0, " 100 Mbits"},
		{999.6e6, true, 0, "1000 Mbits"},   {1.5e15, true, 0, "1500 Tbits"},
		{131072, false, 0, " 128 KBytes"},  {1023.9 * 1024, false, 0, "1024 KBytes"},
		{1 << 20, false, 0, "1.00 MBytes"}, {8142e6, true, 'm', "8142 Mbits"},
		{8142e6, true, 'g', "8.14 Gbits"},  {8388608, true, 'M', "1.00 MBytes"},
		{8192, true, 'K', "1.00 KBytes"},   {1e6, true, 't', "0.00 Tbits"},
	};
	char got[32];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		i3_quantity(got, sizeof(got), cases[i].v, cases[i].bits, cases[i].letter);
		assert_string_equal(got, cases[i].want);
	}
}

/* What is written with a unit is read as that much. */
static void units_read_back(void **state)
{
	(void)state;
	double bytes = 1, bits = 1;

	for (size_t i = 0; i < ARRAY_LEN(iperf3_units); i++) {
		char rate[32];

		snprintf(rate, sizeof(rate), "%s/sec", iperf3_units[i].bits);
		assert_true(match_rate_unit(rate, strlen(rate)) == bits);
		snprintf(rate, sizeof(rate), "%s/sec", iperf3_units[i].bytes);
		assert_true(match_rate_unit(rate, strlen(rate)) == 8 * bytes);
		assert_true(match_bytes_unit(iperf3_units[i].bytes,
					     strlen(iperf3_units[i].bytes)) == bytes);
		bytes *= IPERF3_BYTES_BASE;
		bits *= IPERF3_BITS_BASE;
	}
}

/* ---- layout of JSON ---------------------------------------------------------------------------- */

/* Without what stands between its parts. */
static void squeeze(const char *s, struct buf *b)
{
	bool text = false;

	for (; *s; s++) {
		if (*s == '"' && s[-1] != '\\')
			text = !text;
		if (text || !strchr(" \t\n", *s))
			buf_putc(b, *s);
	}
}

static char *file_text(const char *path)
{
	FILE *f = fopen(path, "re");
	struct buf b = {0};
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		buf_putc(&b, (char)c);
	fclose(f);
	return buf_take(&b);
}

/* Every recorded document, squeezed and laid out again, is what it was. */
static void layout_is_theirs(void **state)
{
	(void)state;
	DIR *d = opendir(TEST_DATA "/iperf3/json");
	struct dirent *e;
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		struct buf compact = {0}, again = {0};
		char path[512], *text;

		if (!strstr(e->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), TEST_DATA "/iperf3/json/%s", e->d_name);
		text = file_text(path);
		squeeze(text, &compact);
		i3_json_pretty(&again, compact.data, compact.len);
		buf_putc(&again, '\n');
		assert_string_equal(again.data, text);
		free(text);
		buf_fini(&compact);
		buf_fini(&again);
		n++;
	}
	closedir(d);
	assert_true(n >= 40);
}

static void layout_of_broken(void **state)
{
	(void)state;
	static const char *const texts[] = {"{", "}", "]]]", "\"", "\"\\", "{\"a\":[", "[[[[,,,::"};
	struct buf b = {0};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		buf_clear(&b);
		i3_json_pretty(&b, texts[i], strlen(texts[i]));
		assert_false(b.failed);
	}
	buf_fini(&b);
}

/* ---- a run ------------------------------------------------------------------------------------- */

static const struct format_iperf3_flow flows[4] = {
	{5, "198.18.0.1", "198.18.0.2", 40001, 5201},
	{7, "198.18.0.1", "198.18.0.2", 40002, 5201},
	{9, "198.18.0.1", "198.18.0.2", 40003, 5201},
	{11, "198.18.0.1", "198.18.0.2", 40004, 5201},
};

static struct format_iperf3_test test_of(size_t n, int64_t streams, bool udp)
{
	return (struct format_iperf3_test){.host = "198.18.0.2",
					   .port = 5201,
					   .cookie = "abcdefghijklmnopqrstuvwxyz234567abcd",
					   .real_ns = START_NS,
					   .udp = udp,
					   .bidir = streams * 2 == (int64_t)n,
					   .streams = streams,
					   .blksize = 131072,
					   .duration_s = 10,
					   .mss_now = 1448,
					   .interval_s = 1,
					   .flows = flows,
					   .n = n};
}

static char *printed(const struct model_run *r, const struct format_iperf3_opts *o,
		     const struct format_iperf3_test *t, bool done)
{
	struct buf b = {0};
	struct sink *s = format_iperf3_new(&b, o);

	assert_non_null(s);
	format_iperf3_greeted(s, t);
	format_iperf3_opened(s, t);
	assert_int_equal(model_replay(r, s), 0);
	format_iperf3_report(s, r);
	format_iperf3_finish(s, done);
	assert_int_equal(s->close(s, NULL), 0);
	return buf_take(&b);
}

static void has_line(const char *text, const char *line)
{
	for (const char *at = strstr(text, line); at; at = strstr(at + 1, line)) {
		if ((at == text || at[-1] == '\n') && at[strlen(line)] == '\n')
			return;
	}
	fail_msg("no line \"%s\" in:\n%s", line, text);
}

/* The first row from t0 on that `said` so, as the reader has it; all: how many there are. */
static struct iperf_row row_of(const char *text, double t0, enum iperf_said said, size_t *all)
{
	struct iperf_row r, found = {.t0 = -1};
	struct lex l = {0};

	*all = 0;
	assert_int_equal(lex_run(&l, text, strlen(text)), 0);
	for (size_t i = 0, e; i < l.n; i = e ? e : i + 1) {
		e = lex_is(&l, i, "[") ? iperf_row_read(&l, i, &r) : 0;
		*all += e > 0;
		if (e && found.t0 < 0 && r.t0 >= t0 && r.said == said)
			found = r;
	}
	lex_fini(&l);
	assert_true(found.t0 >= t0);
	return found;
}

static void rows_read_back(void **state)
{
	(void)state;
	struct model_run *r = run_up();
	struct format_iperf3_opts o = {.version = "iperf 3.12", .system_info = "Linux x"};
	struct format_iperf3_test t = test_of(1, 1, false);
	char *text = printed(r, &o, &t, true);
	struct iperf_row row;
	size_t n;

	row = row_of(text, 3, SAID_NOTHING, &n);
	assert_true(n > 10);
	assert_true(row.id == 5 && fabs(row.bps - 7.51e9) < 1e6 && row.bytes == 895.0 * (1 << 20));
	assert_true(row.retr == 3 && row.cwnd == 1.14 * (1 << 20) && !row.omitted);
	assert_true(row_of(text, 0, SAID_NOTHING, &n).omitted);
	row = row_of(text, 0, SAID_SENDER, &n);
	assert_true(row.retr == 12 && isnan(row.cwnd));
	row = row_of(text, 0, SAID_RECEIVER, &n);
	assert_true(isnan(row.retr) && fabs(row.bps - 9.38e9) < 1e6);
	free(text);
	model_run_free(r);
}

static void tcp_with_warm_up(void **state)
{
	(void)state;
	struct model_run *r = run_up();
	struct format_iperf3_opts o = {.version = "iperf 3.12", .system_info = "Linux x"};
	struct format_iperf3_test t = test_of(1, 1, false);
	char *text = printed(r, &o, &t, true);

	has_line(text, "Connecting to host 198.18.0.2, port 5201");
	has_line(text, "[  5] local 198.18.0.1 port 40001 connected to 198.18.0.2 port 5201");
	has_line(text, "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd");
	has_line(text,
		 "[  5]   0.00-1.00   sec  1.09 GBytes  9.38 Gbits/sec    0   1.14 MBytes     "
		 "  (omitted)");
	has_line(text,
		 "[  5]   0.00-1.00   sec  1.09 GBytes  9.38 Gbits/sec    0   1.14 MBytes     "
		 "  ");
	has_line(text,
		 "[  5]   3.00-4.00   sec   895 MBytes  7.51 Gbits/sec    3   1.14 MBytes     "
		 "  ");
	has_line(text,
		 "[  5]  10.00-10.20  sec   224 MBytes  9.38 Gbits/sec    0   1.14 MBytes     "
		 "  ");
	has_line(text, "- - - - - - - - - - - - - - - - - - - - - - - - -");
	has_line(text, "[ ID] Interval           Transfer     Bitrate         Retr");
	has_line(text,
		 "[  5]   0.00-10.20  sec  11.1 GBytes  9.39 Gbits/sec   12             sender");
	has_line(text, "[  5]   0.00-10.20  sec  11.1 GBytes  9.38 Gbits/sec                  "
		       "receiver");
	has_line(text, "iperf Done.");
	free(text);
	o.v321 = true;
	text = printed(r, &o, &t, true);
	has_line(text,
		 "[  5]   0.00-10.20  sec  11.1 GBytes  9.39 Gbits/sec   12            sender");
	free(text);
	model_run_free(r);
}

static void both_directions(void **state)
{
	(void)state;
	struct model_run *r = run_bidir();
	struct format_iperf3_opts o = {.version = "iperf 3.12", .system_info = "Linux x"};
	struct format_iperf3_test t = test_of(4, 2, false);
	char *text = printed(r, &o, &t, true);

	has_line(text, "[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd");
	has_line(text, "[  5][TX-C]   0.00-1.00   sec  55.3 MBytes   464 Mbits/sec    0   1.14 "
		       "MBytes       ");
	has_line(text, "[SUM][TX-C]   0.00-1.00   sec   111 MBytes   928 Mbits/sec    0            "
		       " ");
	has_line(text, "[  9][RX-C]   0.00-1.00   sec  52.5 MBytes   440 Mbits/sec                "
		       "  ");
	has_line(text, "[SUM][RX-C]   0.00-1.00   sec   105 MBytes   880 Mbits/sec                "
		       "  ");
	free(text);
	model_run_free(r);
}

/* ---- UDP: what is lost at the end, and what came twice ------------------------------------------------ */

static struct model_run *udp_run(double sent, double received, double lost, bool told)
{
	struct model_run *r = new_run("udp", NULL);
	struct model_dims tx = dims_of(MODEL_UP, MODEL_SENDER, MODEL_NEAR);
	struct model_dims rx = dims_of(MODEL_UP, MODEL_RECEIVER, MODEL_FAR);
	uint32_t part = (uint32_t)model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0);

	model_end_part(r, part, NSEC_PER_SEC, OUTCOME_COMPLETE);
	put_sum(r, part, "bytes", tx, STAT_VALUE, MODEL_MEASURED, sent * 1000);
	put_sum(r, part, "duration", tx, STAT_VALUE, MODEL_MEASURED, 1);
	put_sum(r, part, "udp.datagrams", tx, STAT_VALUE, MODEL_MEASURED, sent);
	put_sum(r, part, "bytes", rx, STAT_VALUE, MODEL_TOLD, received * 1000);
	put_sum(r, part, "duration", rx, STAT_VALUE, MODEL_TOLD, 1);
	if (told) {
		put_sum(r, part, "udp.datagrams", rx, STAT_VALUE, MODEL_TOLD, received);
		put_sum(r, part, "udp.lost", rx, STAT_VALUE, MODEL_TOLD, lost);
		put_sum(r, part, "udp.jitter", rx, STAT_VALUE, MODEL_TOLD, 0.000039);
	}
	return r;
}

static void tail_loss(void **state)
{
	(void)state;
	static const struct {
		double sent, received, lost;
		bool told;
		const char *row;
	} cases[] = {
		/* The receiver saw numbers up to 97 and missed 2 of them; 3 came after. */
		{100, 95, 2, true, "0.039 ms  5/100 (5%)  receiver"},
		{100, 100, 0, true, "0.039 ms  0/100 (0%)  receiver"},
		{187500, 187499, 1, true, "0.039 ms  1/187500 (0.00053%)  receiver"},
		{100, 0, 0, false, "0.000 ms  Unknown/100  receiver"},
	};
	struct format_iperf3_opts o = {.version = "iperf 3.12", .system_info = "Linux x"};
	struct format_iperf3_test t = test_of(1, 1, true);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct model_run *r =
			udp_run(cases[i].sent, cases[i].received, cases[i].lost, cases[i].told);
		char *text = printed(r, &o, &t, true);

		if (!strstr(text, cases[i].row))
			fail_msg("no \"%s\" in:\n%s", cases[i].row, text);
		free(text);
		model_run_free(r);
	}
}

static double number_at(const struct js *v, const char *a, const char *b)
{
	double got = -1;

	assert_true(js_f64(js_get(js_get(js_get(v, "end"), a), b), &got));
	return got;
}

static void udp_document(void **state)
{
	(void)state;
	struct model_run *r = udp_run(100, 95, 2, true);
	struct format_iperf3_opts o = {.mode = FORMAT_IPERF3_JSON,
				       .version = "iperf 3.12",
				       .system_info = "Linux \"x\"\x1b"};
	struct format_iperf3_test t = test_of(1, 1, true);
	char *text = printed(r, &o, &t, true);
	struct js_doc *doc;

	assert_int_equal(js_parse(text, strlen(text), &js_limits_file, &doc, NULL), 0);
	assert_true(fabs(number_at(js_root(doc), "sum", "lost_packets") - 5) < 1e-9);
	assert_true(fabs(number_at(js_root(doc), "sum", "packets") - 100) < 1e-9);
	assert_true(fabs(number_at(js_root(doc), "sum_sent", "lost_packets")) < 1e-9);
	assert_true(fabs(number_at(js_root(doc), "sum_received", "lost_percent") - 5) < 1e-9);
	assert_true(fabs(number_at(js_root(doc), "sum_received", "bytes") - 95000) < 1e-9);
	js_free(doc);
	free(text);
	model_run_free(r);
}

/* ---- what is written is read ------------------------------------------------------------------------- */

static struct model_run *run_udp(void)
{
	return udp_run(100, 95, 2, true);
}

struct figure {
	const char *metric;
	int dir, view;
	double value;
};
struct read_back {
	const struct figure *want;
	double tolerance;
	size_t reports;
};

static int figures_are_there(void *arg, const struct format_found *f)
{
	struct read_back *b = arg;

	b->reports++;
	for (const struct figure *w = b->want; w->metric; w++) {
		bool found = false;

		for (size_t i = 0; i < f->n_fig && !found; i++) {
			const struct found_fig *g = &f->fig[i];

			found = !strcmp(g->metric, w->metric) && !(g->dims.has >> DIM_FLOW & 1) &&
				g->dims.v[DIM_DIR] == w->dir && g->dims.v[DIM_VIEW] == w->view &&
				fabs(g->value - w->value) <= b->tolerance * w->value;
		}
		if (!found)
			fail_msg("%s: no %s of %g", f->kind, w->metric, w->value);
	}
	assert_false(f->partial);
	return 0;
}

/* Both styles, all forms: rates within the three digits of text, exact in JSON. */
static void what_is_written_is_read(void **state)
{
	static const struct figure up[] = {{"throughput.sent", MODEL_UP, MODEL_SENDER, 9.39e9},
					   {"goodput", MODEL_UP, MODEL_RECEIVER, 9.38e9},
					   {"tcp.retransmits", MODEL_UP, MODEL_SENDER, 12},
					   {NULL, 0, 0, 0}};
	/* What its flows hold; the fixture has no more of them. */
	static const struct figure bidir[] = {{"goodput", MODEL_DOWN, MODEL_RECEIVER, 836.6e6},
					      {NULL, 0, 0, 0}};
	static const struct figure udp[] = {{"udp.lost", MODEL_UP, MODEL_RECEIVER, 5},
					    {"udp.loss", MODEL_UP, MODEL_RECEIVER, 0.05},
					    {NULL, 0, 0, 0}};
	static const struct {
		struct model_run *(*make)(void);
		const struct figure *want;
		size_t n;
		int64_t streams;
		bool udp;
	} runs[] = {{run_up, up, 1, 1, false},
		    {run_bidir, bidir, 4, 2, false},
		    {run_udp, udp, 1, 1, true}};
	static const struct {
		enum format_iperf3_mode mode;
		double tolerance;
	} modes[] = {{FORMAT_IPERF3_TEXT, 0.006},
		     {FORMAT_IPERF3_JSON, 0.002},
		     {FORMAT_IPERF3_STREAM, 0.002}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs) * ARRAY_LEN(modes) * 2; i++) {
		size_t k = i / 2 % ARRAY_LEN(modes), r = i / 2 / ARRAY_LEN(modes);
		struct format_iperf3_opts o = {.mode = modes[k].mode,
					       .v321 = i % 2,
					       .version = i % 2 ? "iperf 3.21" : "iperf 3.12",
					       .system_info = "Linux x"};
		struct format_iperf3_test t = test_of(runs[r].n, runs[r].streams, runs[r].udp);
		struct model_run *run = runs[r].make();
		char *text = printed(run, &o, &t, true);
		struct read_back b = {.want = runs[r].want, .tolerance = modes[k].tolerance};
		struct format_reading how = {.found = figures_are_there, .arg = &b};

		assert_int_equal(format_read_string(text, strlen(text), &how, NULL, NULL), 0);
		assert_int_equal(b.reports, 1);
		free(text);
		model_run_free(run);
	}
}

/* ---- what failed -------------------------------------------------------------------------------------- */

/* Nothing was reached: still one document, one event after another. */
static void failed_early(void **state)
{
	(void)state;
	static const enum format_iperf3_mode modes[] = {FORMAT_IPERF3_JSON, FORMAT_IPERF3_STREAM};

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct format_iperf3_opts o = {
			.mode = modes[i], .version = "iperf 3.12", .system_info = "Linux x"};
		struct buf b = {0};
		struct sink *s = format_iperf3_new(&b, &o);
		struct js_doc *doc;

		format_iperf3_error(s, "it was \"refused\"\n");
		format_iperf3_error(s, "and more");
		format_iperf3_finish(s, false);
		s->close(s, NULL);
		for (const char *p = b.data; modes[i] == FORMAT_IPERF3_STREAM && *p;) {
			size_t n = strcspn(p, "\n");

			assert_int_equal(js_parse(p, n, &js_limits_file, &doc, NULL), 0);
			js_free(doc);
			p += n + 1;
		}
		if (modes[i] == FORMAT_IPERF3_JSON) {
			assert_int_equal(js_parse(b.data, b.len, &js_limits_file, &doc, NULL), 0);
			assert_string_equal(js_str(js_get(js_root(doc), "error"), NULL),
					    "it was \"refused\"\n");
			js_free(doc);
		}
		buf_fini(&b);
	}
}

static void server_words_are_safe(void **state)
{
	(void)state;
	struct format_iperf3_opts o = {.version = "iperf 3.12", .system_info = "Linux x"};
	struct buf b = {0};
	struct sink *s = format_iperf3_new(&b, &o);
	static const char text[] = "[  5] one\n\x1b[2Jtwo\n";

	format_iperf3_server_output(s, text, sizeof(text) - 1, false);
	assert_string_equal(b.data, "\nServer output:\n[  5] one\n\\x1b[2Jtwo\n\n");
	s->close(s, NULL);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities),       cmocka_unit_test(units_read_back),
		cmocka_unit_test(rows_read_back),   cmocka_unit_test(layout_is_theirs),
		cmocka_unit_test(layout_of_broken), cmocka_unit_test(tcp_with_warm_up),
		cmocka_unit_test(both_directions),  cmocka_unit_test(tail_loss),
		cmocka_unit_test(udp_document),     cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(failed_early),     cmocka_unit_test(server_words_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
