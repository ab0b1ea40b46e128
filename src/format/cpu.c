/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shares of processor time as top (procps and BusyBox) prints them, and what the programs of the
 * list take. The mean of many cores hides one that is full; its ksoftirqd does not.
 */
#include <string.h>

#include "format/cpu.h"

#define GAP       60
#define FULL      0.9 /* of one core */
#define IDLE_LEFT 0.02

/* ---- shared ---- */

static const struct {
	const char *word, *metric;
} words[] = {
	{"us", "ext.cpu.user"},      {"usr", "ext.cpu.user"},         {"user", "ext.cpu.user"},
	{"sy", "ext.cpu.system"},    {"sys", "ext.cpu.system"},       {"system", "ext.cpu.system"},
	{"ni", "ext.cpu.nice"},      {"nic", "ext.cpu.nice"},         {"nice", "ext.cpu.nice"},
	{"id", "ext.cpu.idle"},      {"idle", "ext.cpu.idle"},        {"wa", "ext.cpu.iowait"},
	{"io", "ext.cpu.iowait"},    {"iowait", "ext.cpu.iowait"},    {"hi", "ext.cpu.irq"},
	{"irq", "ext.cpu.irq"},      {"si", "ext.cpu.softirq"},       {"sirq", "ext.cpu.softirq"},
	{"soft", "ext.cpu.softirq"}, {"st", "ext.cpu.steal"},         {"steal", "ext.cpu.steal"},
	{"guest", "ext.cpu.guest"},  {"gnice", "ext.cpu.guest_nice"},
};

const char *cpu_metric(const struct lex *l, size_t i)
{
	char c = i < l->n ? *lex_text(l, i) : '\0';

	for (size_t k = 0; k < ARRAY_LEN(words); k++)
		if (*words[k].word == c && lex_is(l, i, words[k].word))
			return words[k].metric;
	return NULL;
}

void cpu_put(struct format_found *f, const char *metric, int64_t cpu, int64_t sample, double pct,
	     double resolution)
{
	struct model_dims d = DIMS_NONE;

	if (cpu >= 0)
		d = model_dims_with(d, DIM_CPU, cpu);
	if (sample >= 0)
		d = model_dims_with(d, DIM_STEP, sample);
	found_ext(f, metric, UNIT_RATIO, STAT_VALUE, d, pct / 100, resolution / 100);
}

void cpu_judge(struct format_found *f)
{
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		if (strcmp(g->metric, "ext.cpu.idle") != 0 || g->value >= IDLE_LEFT)
			continue;
		found_warn(f, WARN_CPU_BOUND, "a processor is idle %.3g %% of the time",
			   g->value * 100);
		return;
	}
}

/* ---- top ---- */

/* "%Cpu(s):", "%Cpu0 :", "Cpu(s):", "CPU:", "CPU0:"; *cpu the number or CPU_ALL. */
static size_t label(const struct lex *l, size_t i, int64_t *cpu)
{
	size_t k = i + lex_is(l, i, "%");
	const char *s = k < l->n ? lex_text(l, k) : "";
	size_t n = k < l->n ? l->tok[k].len : 0;

	*cpu = CPU_ALL;
	if (n < 3 || n > 8 || (memcmp(s, "Cpu", 3) != 0 && memcmp(s, "CPU", 3) != 0))
		return 0;
	for (size_t c = 3; c < n; c++) {
		if (s[c] < '0' || s[c] > '9')
			return 0;
		*cpu = (*cpu < 0 ? 0 : *cpu * 10) + (s[c] - '0');
	}
	k++;
	if (lex_is(l, k, "(") && lex_is(l, k + 1, "s") && lex_is(l, k + 2, ")"))
		k += 3;
	return lex_is(l, k, ":") ? k + 1 : 0;
}

/* "4,2 us, 10,4 sy, …", "0.0% usr 0.0% sys …" */
static size_t shares(const struct lex *l, size_t i, int64_t cpu, struct format_found *f)
{
	size_t last = i;

	for (size_t k = i; k < l->n;) {
		double v;
		size_t used = lex_decimal(l, k, &v), unit = k + used;
		const char *m;

		if (!used)
			break;
		unit += lex_is(l, unit, "%");
		m = cpu_metric(l, unit);
		if (!m) {
			if (unit + 1 >= l->n) {
				f->partial = true;
				found_warn(f, WARN_TRUNCATED, "a share has lost its name");
				return unit;
			}
			break;
		}
		cpu_put(f, m, cpu, -1, v, used == 3 ? 0.1 : found_resolution(&l->tok[k], 1));
		last = k = unit + 1;
		k += lex_is(l, k, ",");
	}
	return last;
}

struct busy {
	double most, ksoftirqd;
	char name[32];
};

/* "S 93.2 0.0 43:47.43 ksoftirqd/0": state, %CPU, %MEM, TIME+, COMMAND */
static size_t process(const struct lex *l, size_t i, struct busy *b)
{
	double c[MATCH_CAPS];
	char name[sizeof(b->name)];
	size_t end = match(l, i, "R|S|D|I|T|Z|t #, #, # : # %w", c);

	end = end ? end : match(l, i, "R|S|D|I|T|Z|t #, #, # : # %t %w", c);
	if (!end) { /* BusyBox: %VSZ %CPU COMMAND */
		end = match(l, i, "# \\% # \\% ( [ ) %w", c);
		c[0] = c[1];
	}
	if (!end)
		return 0;
	rows_text(l, end - 1, name, sizeof(name));
	if (c[0] > b->ksoftirqd && !strncmp(name, "ksoftirqd", 9))
		b->ksoftirqd = c[0];
	if (c[0] > b->most) {
		b->most = c[0];
		memcpy(b->name, name, sizeof(name));
	}
	return end;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct busy b = {0};
	size_t k = i, last = i, end;
	int64_t cpu, before = CPU_ALL - 1;
	bool list = false;

	f->what = "top";
	while (k < l->n && k <= last + GAP) {
		if (k > i && lex_is(l, k, "top") && lex_is(l, k + 1, "-"))
			break;
		end = label(l, k, &cpu);
		if (end && cpu <= before) /* the next screen */
			break;
		before = end ? cpu : before;
		end = end ? shares(l, end, cpu, f) : 0;
		if (!end)
			end = process(l, k, &b);
		if (!end && !list &&
		    (end = match(l, k, "PID ( PPID ) USER ( STAT VSZ \\% VSZ \\% CPU COMMAND )",
				 &(double){0}))) {
			list = true;
		}
		if (!end && !list)
			end = match(l, k, "MiB|KiB Mem|Swap :", &(double){0});
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	if (b.ksoftirqd > 0)
		found_ext(f, "ext.cpu.ksoftirqd", UNIT_RATIO, STAT_VALUE, DIMS_NONE,
			  b.ksoftirqd / 100, 0.001);
	if (b.most > 0) {
		found_ext(f, "ext.cpu.process_max", UNIT_RATIO, STAT_VALUE, DIMS_NONE, b.most / 100,
			  0.001);
		if (b.most / 100 >= FULL)
			found_warn(f, WARN_CPU_BOUND, "%.*s takes %g %% of a core", 24, b.name,
				   b.most);
	}
	if (!found_warned(f, WARN_CPU_BOUND))
		cpu_judge(f);
	return last > i ? last : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	int64_t cpu;
	size_t at = label(l, i, &cpu), used, unit;
	double v;

	if (lex_is(l, i, "top"))
		return match(l, i, "top - # : # : # up", (double[MATCH_CAPS]){0});
	if (!at)
		return false;
	used = lex_decimal(l, at, &v);
	unit = at + used + lex_is(l, at + used, "%");
	return used && cpu_metric(l, unit);
}

const struct reader reader_top = {"top", "% C cp to", sniff, parse};
