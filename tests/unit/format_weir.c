/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What weir writes for people and as CSV it reads back: each run of the forms' tests through each
 * writer and the readers has the figures that the form shows, within the printed rounding.
 */
#include "format_runs.h"

#include <math.h>

#include "format/priv.h"
#include "format/reader.h"

struct back {
	struct model_run *run;
	size_t reports, rows, omitted, skipped;
	unsigned warnings; /* bit by code, of the first 32 */
	double first[FOUND_COLS];
	const char *what;
};

static int on_found(void *arg, const struct format_found *f)
{
	static const uint8_t rnd[10] = {1};
	struct back *b = arg;

	if (strncmp(f->kind, "weir", 4) != 0)
		print_message("%s at line %d\n", f->kind, (int)f->line);
	assert_true(!strcmp(f->kind, "weir") || !strcmp(f->kind, "weir-csv"));
	b->what = f->what;
	b->rows += f->n_row;
	for (size_t i = 0; i < f->n_row; i++)
		b->omitted += (f->row[i].flags & ROW_OMITTED) != 0;
	for (size_t i = 0; i < f->n_warn; i++)
		if (f->warn[i].code < 32)
			b->warnings |= 1u << f->warn[i].code;
	for (size_t i = 0; f->n_row && i < FOUND_COLS; i++)
		b->first[i] = f->row[0].v[i];
	if (!b->reports++)
		b->run = format_found_run(f, rnd);
	return 0;
}

static struct back read_back(const struct model_run *r, const char *form,
			     const struct format_opts *o)
{
	struct back b = {0};
	struct format_reading reading = {.found = on_found, .arg = &b};
	char *text = written(r, form, o);
	struct weir_err e = {0};

	assert_int_equal(format_read_string(text, strlen(text), &reading, NULL, &e), 0);
	if (b.reports != 1)
		print_message("%s: %zu reports in\n%s", form, b.reports, text);
	assert_int_equal(b.reports, 1);
	assert_non_null(b.run);
	free(text);
	return b;
}

/* ---- the forms for people ---- */

static void same_figure(const struct model_run *r, const struct back *b, const char *form,
			const struct format_key *k, int digits, size_t *n)
{
	struct format_fig want = format_fig(r, k), got = format_fig(b->run, k);
	struct buf x = {0}, y = {0};

	if (!want.ended && k->view == MODEL_RECEIVER)
		want.metric = NULL; /* of both ends: said once, at the left */
	if (!got.ended && k->view == MODEL_RECEIVER)
		got.metric = NULL;
	if (!format_known(&want)) {
		assert_false(format_known(&got));
		return;
	}
	format_fig_put(&x, &want, digits, true);
	format_fig_put(&y, &got, digits, true);
	if (strcmp(x.data, y.data) != 0)
		print_message("%s: %s stat %d dir %d view %d\n", form, k->metric, (int)k->stat,
			      k->dir, k->view);
	assert_string_equal(y.data, x.data);
	buf_fini(&x);
	buf_fini(&y);
	++*n;
}

/* What the table of both views has, and the result of each direction. */
static size_t same_tables(const struct model_run *r, const struct back *b, const char *form)
{
	const struct format_layout *y = format_layout(r->kind);
	unsigned dirs = format_dirs(r);
	size_t n = 0;

	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		struct format_key k = {y->headline, STAT_VALUE, dir,      MODEL_RECEIVER,
				       FORMAT_ANY,  -1,         dirs == 3};

		if (!(dirs & 1u << dir))
			continue;
		same_figure(r, b, form, &k, 3, &n);
		k.metric = "duration";
		same_figure(r, b, form, &k, 4, &n);
		for (size_t i = 0; i < y->n_table; i++)
			for (k.view = 0; k.view < 2; k.view++) {
				const struct format_col *c = &y->table[i];

				if (c->view >= 0 && c->view != k.view)
					continue;
				k.metric = c->metric;
				k.stat = c->stat;
				same_figure(r, b, form, &k, c->digits, &n);
			}
	}
	return n;
}

/* Datagrams both ways: the receiver's loss and jitter, a round-trip time of the receiver alone. */
static struct model_run *run_udp(void)
{
	struct model_run *r = new_run("udp", "{\"host\":\"198.18.0.2\",\"rate\":100000000}");
	struct model_dims near = dims_of(MODEL_UP, MODEL_SENDER, MODEL_NEAR);
	struct model_dims far = dims_of(MODEL_UP, MODEL_RECEIVER, MODEL_FAR);
	uint32_t part = (uint32_t)model_add_part(r, PART_PHASE, MODEL_NO_PART, "load", 0);

	far_iperf3(r);
	model_end_part(r, part, 10 * NSEC_PER_SEC, OUTCOME_COMPLETE);
	put_sum(r, part, "goodput", far, STAT_VALUE, MODEL_TOLD, 98.76543e6);
	put_sum(r, part, "duration", far, STAT_VALUE, MODEL_TOLD, 10.0004);
	put_sum(r, part, "bytes", far, STAT_VALUE, MODEL_TOLD, 123456789);
	put_sum(r, part, "bytes", near, STAT_VALUE, MODEL_MEASURED, 125000000);
	put_sum(r, part, "load.intended", near, STAT_VALUE, MODEL_MEASURED, 100e6);
	put_sum(r, part, "throughput.sent", near, STAT_VALUE, MODEL_MEASURED, 99.999e6);
	put_sum(r, part, "udp.datagrams", near, STAT_VALUE, MODEL_MEASURED, 86325);
	put_sum(r, part, "udp.datagrams", far, STAT_VALUE, MODEL_TOLD, 1234567);
	put_sum(r, part, "udp.size", near, STAT_VALUE, MODEL_MEASURED, 1448);
	put_sum(r, part, "udp.lost", far, STAT_VALUE, MODEL_TOLD, 1065);
	put_sum(r, part, "udp.loss", far, STAT_VALUE, MODEL_TOLD, 1065 / 86325.0);
	put_sum(r, part, "udp.reordered", far, STAT_VALUE, MODEL_TOLD, 0);
	put_sum(r, part, "udp.jitter", far, STAT_VALUE, MODEL_TOLD, 12.34e-6);
	put_sum(r, part, "udp.gap_error", near, STAT_P50, MODEL_MEASURED, 1.5e-6);
	put_sum(r, part, "udp.gap_error", near, STAT_P99, MODEL_MEASURED, 32e-6);
	put_sum(r, part, "udp.gap_error", near, STAT_MAX, MODEL_MEASURED, 0.0012);
	put_sum(r, part, "udp.burst_max", near, STAT_VALUE, MODEL_MEASURED, 7);
	put_sum(r, part, "tcp.rtt_idle", far, STAT_VALUE, MODEL_TOLD, 0.0127);
	return r;
}

static const struct format_opts people[] = {
	{.width = 80},
	{.width = 80, .intervals = true},
	{.width = 80, .intervals = true, .unicode = true},
	{.width = 52},
	{.width = 200, .colour = true, .unicode = true, .live_rows = true},
};
static const char *const forms[] = {"text", "paste", "markdown"};

static void figures_survive_the_forms_for_people(void **state)
{
	struct model_run *(*const runs[])(void) = {run_up, run_bidir, run_each_way, run_udp};
	static const size_t least[] = {17, 9, 6, 17};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		for (size_t k = 0; k < ARRAY_LEN(forms) * ARRAY_LEN(people); k++) {
			const char *form = forms[k % ARRAY_LEN(forms)];
			struct model_run *r = runs[i]();
			struct back b = read_back(r, form, &people[k / ARRAY_LEN(forms)]);

			assert_string_equal(b.what, r->kind);
			assert_true(same_tables(r, &b, form) >= least[i]);
			model_run_free(b.run);
			model_run_free(r);
		}
}

static void intervals_survive_text(void **state)
{
	static const char *const by_flow[] = {"flow", NULL};
	struct format_opts o = {.width = 80, .intervals = true};
	struct model_run *r = run_up();
	struct back b = read_back(r, "text", &o);

	(void)state;
	assert_int_equal(b.rows, 12);
	assert_int_equal(b.omitted, 1);
	assert_true(isnan(b.first[0])); /* the sender's rows say nothing of goodput */
	assert_float_equal(b.first[1], 9.38e9, 1);
	assert_float_equal(b.first[2], 0, 0);
	assert_float_equal(b.first[3], 0.0003, 1e-12);
	assert_float_equal(b.first[4], 1.2e6, 1e-3);
	assert_int_equal(b.warnings, 1u << WARN_LATE_SAMPLE | 1u << WARN_OVERLAP);
	model_run_free(b.run);
	model_run_free(r);
	r = run_bidir();
	o.row_dims = by_flow;
	b = read_back(r, "text", &o);
	assert_int_equal(b.rows, 4 * 6);
	assert_true(isnan(b.first[0]));
	assert_float_equal(b.first[1], 464e6, 1);
	model_run_free(b.run);
	model_run_free(r);
}

static void a_kind_without_a_table_survives(void **state)
{
	const struct format_opts o = {.width = 80};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct model_run *r = run_other();
		struct back b = read_back(r, forms[i], &o);

		assert_int_equal(b.run->n_sums, 1); /* an interface's name is not kept */
		assert_string_equal(b.run->sums[0].metric->name, "cpu.seconds");
		assert_int_equal(b.run->sums[0].stat, STAT_MEAN);
		assert_int_equal(b.run->sums[0].dims.v[DIM_SIZE], 4096);
		assert_float_equal(b.run->sums[0].value, 0.00125, 1e-12);
		model_run_free(b.run);
		model_run_free(r);
	}
}

/* ---- a search ---- */

static struct model_run *run_search(void)
{
	struct model_run *r = new_run("find-rate", "{\"host\":\"198.18.0.2\"}");
	struct model_dims rx = dims_of(MODEL_UP, MODEL_RECEIVER, MODEL_FAR);

	for (int i = 0; i < 3; i++) {
		uint32_t part = (uint32_t)model_add_part(r, PART_TRIAL, MODEL_NO_PART, "trial",
							 i * NSEC_PER_SEC);
		struct model_dims s = model_dims_with(DIMS_NONE, DIM_STEP, i);
		struct model_dims tx = dims_of(MODEL_UP, MODEL_SENDER, MODEL_NEAR);

		put_sum(r, part, "rate.offered", s, STAT_VALUE, MODEL_MEASURED, 1e8 * (i + 1));
		tx = model_dims_with(tx, DIM_STEP, i);
		put_sum(r, part, "throughput.sent", tx, STAT_VALUE, MODEL_MEASURED,
			9.9e7 * (i + 1));
		tx = model_dims_with(rx, DIM_STEP, i);
		put_sum(r, part, "goodput", tx, STAT_VALUE, MODEL_TOLD, 9.8e7 * (i + 1));
		put_sum(r, part, "udp.loss", tx, STAT_VALUE, MODEL_TOLD, 0.01 * i);
	}
	put_sum(r, 0, "rate.found", rx, STAT_VALUE, MODEL_MEASURED, 2.5e8);
	return r;
}

static void trials_survive(void **state)
{
	static const char *const metrics[] = {"rate.offered", "throughput.sent", "goodput",
					      "udp.loss"};
	const struct format_opts o = {.width = 80};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct model_run *r = run_search();
		struct back b = read_back(r, forms[i], &o);

		assert_true(same_tables(r, &b, forms[i]) >= 1);
		for (int step = 0; step < 3; step++)
			for (size_t k = 0; k < ARRAY_LEN(metrics); k++) {
				struct model_dims d = model_dims_with(DIMS_NONE, DIM_STEP, step);
				const struct model_summary *x, *y;

				x = model_find(r, metrics[k], STAT_VALUE, &d, true);
				y = model_find(b.run, metrics[k], STAT_VALUE, &d, true);
				assert_non_null(x);
				assert_non_null(y);
				assert_true(fabs(x->value - y->value) <= 1e-9 * x->value);
			}
		model_run_free(b.run);
		model_run_free(r);
	}
}

/* ---- CSV ---- */

static bool has_names(const struct model_dims *d)
{
	return d->has >> DIM_CLASS & 1 || d->has >> DIM_IFACE & 1;
}

static bool has_summary(const struct model_run *r, const struct model_summary *s)
{
	for (size_t i = 0; i < r->n_sums; i++)
		if (r->sums[i].metric == s->metric && r->sums[i].stat == s->stat &&
		    model_dims_equal(&r->sums[i].dims, &s->dims) && r->sums[i].state == s->state &&
		    memcmp(&r->sums[i].value, &s->value, sizeof(s->value)) == 0)
			return true;
	return false;
}

static void csv_is_exact(void **state)
{
	struct model_run *(*const runs[])(void) = {run_up,     run_bidir, run_each_way, run_udp,
						   run_search, run_other, run_hostile};
	const struct format_opts o = {.width = 80};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct model_run *r = runs[i]();
		struct back b = read_back(r, "csv", &o);

		for (size_t k = 0; k < r->n_sums; k++)
			if (!has_names(&r->sums[k].dims))
				assert_true(has_summary(b.run, &r->sums[k]));
		if (runs[i] == run_up)
			assert_int_equal(b.rows, 12);
		if (runs[i] == run_bidir)
			assert_int_equal(b.rows, 4 * 4);
		model_run_free(b.run);
		model_run_free(r);
	}
}

/* ---- what is foreign ---- */

static void strings_from_elsewhere_make_no_figures(void **state)
{
	const struct format_opts o = {.width = 80, .intervals = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct model_run *r = run_hostile();
		struct back b = read_back(r, forms[i], &o);

		for (size_t k = 0; k < b.run->n_sums; k++)
			assert_null(strstr(b.run->sums[k].metric->name, "ext."));
		model_run_free(b.run);
		model_run_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_survive_the_forms_for_people),
		cmocka_unit_test(intervals_survive_text),
		cmocka_unit_test(a_kind_without_a_table_survives),
		cmocka_unit_test(trials_survive),
		cmocka_unit_test(csv_is_exact),
		cmocka_unit_test(strings_from_elsewhere_make_no_figures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
