/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RouterOS's bandwidth-test. Its current, its 10-second and its total average may be far apart, and
 * its lost packets are those of the last second only; so only the totals are rates of the test.
 */
#include <string.h>

#include "format/rows.h"

#define GAP 12

static const struct rows_pat lines[] = {
	{"tx-current : #R", {{"ext.routeros.current", UNIT_BPS, 1, STAT_VALUE, 1 + MODEL_UP}}},
	{"rx-current : #R", {{"ext.routeros.current", UNIT_BPS, 1, STAT_VALUE, 1 + MODEL_DOWN}}},
	{"tx-10-second-average : #R",
	 {{"ext.routeros.average_10s", UNIT_BPS, 1, STAT_VALUE, 1 + MODEL_UP}}},
	{"rx-10-second-average : #R",
	 {{"ext.routeros.average_10s", UNIT_BPS, 1, STAT_VALUE, 1 + MODEL_DOWN}}},
	{"lost-packets : #", {{"ext.routeros.lost_last_second", UNIT_NONE, 1, STAT_VALUE, 0}}},
	{"random-data : no|yes", {ROWS_NONE}},
	{"connection-count : #", {{"ext.routeros.connections", UNIT_NONE, 1, STAT_VALUE, 0}}},
	{"tx-size : #", {{"ext.routeros.size", UNIT_BYTE, 1, STAT_VALUE, 1 + MODEL_UP}}},
	{"rx-size : #", {{"ext.routeros.size", UNIT_BYTE, 1, STAT_VALUE, 1 + MODEL_DOWN}}},
};
static const struct {
	const char *pattern, *metric;
	int end;
} loads[] = {{"local-cpu-load : # \\%", "ext.routeros.cpu_load", MODEL_NEAR},
	     {"remote-cpu-load : # \\%", "ext.routeros.cpu_load", MODEL_FAR}};

static double figure(const struct format_found *f, const char *metric, int dir)
{
	for (size_t i = 0; i < f->n_fig; i++)
		if (!strcmp(f->fig[i].metric, metric) && f->fig[i].dims.v[DIM_DIR] == dir &&
		    f->fig[i].dims.has & 1u << DIM_DIR)
			return f->fig[i].value;
	return UNSET;
}

static size_t total(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t end = match(l, i, "tx-total-average : #R", c);

	if (end) {
		found_fig(f, "throughput.sent", STAT_VALUE, found_dims(MODEL_UP, MODEL_SENDER, -1),
			  c[0], found_resolution(&l->tok[end - 2], c[0] / l->tok[end - 2].num));
		return end;
	}
	end = match(l, i, "rx-total-average : #R", c);
	if (end)
		found_fig(f, "goodput", STAT_VALUE, found_dims(MODEL_DOWN, MODEL_RECEIVER, -1),
			  c[0], found_resolution(&l->tok[end - 2], c[0] / l->tok[end - 2].num));
	return end;
}

static size_t load(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT;

	for (size_t k = 0; k < ARRAY_LEN(loads); k++) {
		size_t end = match(l, i, loads[k].pattern, c);

		if (!end)
			continue;
		found_ext(f, loads[k].metric, UNIT_RATIO, STAT_VALUE,
			  model_dims_with(DIMS_NONE, DIM_END, loads[k].end), c[0] / 100, 0.01);
		if (c[0] >= 95)
			found_warn(f, WARN_CPU_BOUND, "a router's load is %g %%", c[0]);
		return end;
	}
	return 0;
}

static size_t line(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT, seconds;
	char word[16];
	size_t end = match(l, i, "status : %w ( testing )", c), used;

	if (end) {
		if (lex_is(l, (size_t)c[0], "running"))
			found_warn(f, WARN_INCOMPLETE, "the test was still running");
		return end;
	}
	end = match(l, i, "direction : %w", c);
	if (end) {
		found_param(f, "direction", "%s", rows_text(l, (size_t)c[0], word, sizeof(word)));
		return end;
	}
	end = match(l, i, "duration :", c);
	used = end ? rows_duration(l, end, &seconds) : 0;
	if (used) {
		found_fig(f, "duration", STAT_VALUE, DIMS_NONE, seconds, 1);
		return end + used;
	}
	end = total(l, i, f);
	end = end ? end : load(l, i, f);
	return end ? end : rows_match(l, i, lines, ARRAY_LEN(lines), f, DIMS_NONE);
}

/* Loss of the last second, and a rate that is not the same all the time. */
static void judge(struct format_found *f)
{
	double lost = rows_value(f, "ext.routeros.lost_last_second", STAT_VALUE);
	double rx = figure(f, "ext.routeros.current", MODEL_DOWN);
	double size = figure(f, "ext.routeros.size", MODEL_DOWN);

	if (lost > 0 && rx > 0 && size > 0) {
		found_ext(f, "ext.routeros.loss_last_second", UNIT_RATIO, STAT_VALUE, DIMS_NONE,
			  lost / (lost + rx / 8 / size), 0);
		found_prov(f, MODEL_DERIVED);
	}
	for (int dir = MODEL_UP; dir <= MODEL_DOWN; dir++) {
		double now = figure(f, "ext.routeros.current", dir);
		double all = figure(f, dir == MODEL_UP ? "throughput.sent" : "goodput", dir);

		if (now > 0 && all > 0 && fmax(now / all, all / now) > 1.3)
			found_warn(f, WARN_NONSTATIONARY, "%.4g bit/s now, %.4g on average", now,
				   all);
	}
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	size_t k = i, last = i;

	f->what = "bandwidth-test";
	while (k < l->n && k <= last + GAP) {
		size_t end = k > i && lex_is(l, k, "status") ? l->n + 1 : line(l, k, f);

		if (end > l->n)
			break;
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	judge(f);
	return last > i ? last : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t end = match(l, i, "status : done testing", c);

	end = end ? end : match(l, i, "status : running|connecting", c);
	if (end)
		return lex_is(l, end, "duration");
	return match(l, i, "tx-current|rx-current : #R tx-10-second-average|rx-10-second-average",
		     c);
}

const struct reader reader_routeros = {"routeros", "st tx rx", sniff, parse};
