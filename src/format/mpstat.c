/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpstat, as text and as JSON. A time may be followed by AM or PM and by a zone, so a row is the
 * processor and as many numbers as the head has names. What begins and ends at one time is the mean
 * since boot.
 */
#include <stdlib.h>
#include <string.h>

#include "format/cpu.h"

#define COLS 16
#define LEAD 5 /* tokens between the time and the processor */

struct mpstat {
	const struct lex *l;
	struct format_found *f;
	const char *col[COLS];
	size_t n;
	double head_time, time; /* of day */
	int64_t sample, cpu;    /* latest */
	bool boot, average, over;
};

/* Does what was seen last come after this, or was it the same? Then another report has begun. Twelve
 * hours and midnight go back further than any other clock. */
static bool again(const struct mpstat *m, double t, int64_t cpu)
{
	if (t < 0)
		return m->average && cpu <= m->cpu;
	if (m->average || (t == m->time && cpu <= m->cpu))
		return true;
	return t < m->time && t > m->time - 11 * 3600;
}

/* "CPU %usr %nice …": index after it. */
static size_t columns(struct mpstat *m, size_t i)
{
	size_t n = 0;

	if (!lex_is(m->l, i, "CPU"))
		return 0;
	for (i++; n < COLS; n++) {
		size_t at = i + lex_is(m->l, i, "%");

		if (!cpu_metric(m->l, at) && !(n && lex_is(m->l, at, "intr/s")))
			break;
		m->col[n] = cpu_metric(m->l, at);
		i = at + 1;
	}
	if (n < 4)
		return 0;
	m->n = n;
	return i;
}

static size_t clock_of(const struct lex *l, size_t i, double *t)
{
	double c[MATCH_CAPS];
	size_t end = match(l, i, "# : # : #", c);

	if (end)
		*t = c[0] * 3600 + c[1] * 60 + c[2];
	return end;
}

/* n shares from token i on; all or none. */
static size_t shares(struct mpstat *m, size_t i, int64_t cpu, int64_t sample)
{
	double v[COLS], step[COLS];

	for (size_t k = 0; k < m->n; k++) {
		size_t used = lex_decimal(m->l, i, &v[k]);

		if (!used || (i + used >= m->l->n && m->l->text[m->l->len - 1] != '\n' &&
			      m->l->tok[i].decimals < 2))
			return 0;
		step[k] = used == 3 ? 0.01 : found_resolution(&m->l->tok[i], 1);
		i += used;
	}
	for (size_t k = 0; k < m->n; k++)
		if (m->col[k])
			cpu_put(m->f, m->col[k], cpu, sample, v[k], step[k]);
	return i;
}

/* What a line begins with: a time, or "Average:". */
static size_t begin(struct mpstat *m, size_t i, double *t)
{
	size_t end = clock_of(m->l, i, t);

	if (!end && lex_is(m->l, i, "Average") && lex_is(m->l, i + 1, ":")) {
		*t = -1;
		end = i + 2;
	}
	return end;
}

static size_t sample(struct mpstat *m, size_t i, double t, int64_t cpu)
{
	if (t >= 0 && t != m->time) {
		m->time = t;
		m->sample++;
	}
	m->average = t < 0;
	m->cpu = cpu;
	m->boot = m->boot || (t >= 0 && t == m->head_time);
	return shares(m, i, cpu, t < 0 ? -1 : m->sample);
}

static size_t line(struct mpstat *m, size_t i)
{
	double t;
	size_t at = begin(m, i, &t), end;

	for (size_t k = at; at && k < at + LEAD && k < m->l->n; k++) {
		bool all = lex_is(m->l, k, "all");

		int64_t cpu;

		if (t >= 0 && m->average && lex_is(m->l, k, "CPU")) {
			m->over = true;
			return 0;
		}
		end = columns(m, k);
		if (end) {
			m->head_time = t;
			return end;
		}
		if (!m->n || (!all && !lex_num(m->l, k)))
			continue;
		cpu = all ? CPU_ALL : (int64_t)m->l->tok[k].num;
		m->over = again(m, t, cpu);
		return m->over ? 0 : sample(m, k + 1, t, cpu);
	}
	return 0;
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct mpstat m = {.l = l, .f = f, .sample = -1, .head_time = -2, .time = -2};
	size_t k = i, last = i;

	f->what = "mpstat";
	m.cpu = CPU_ALL - 1;
	while (k < l->n && k <= last + 40) {
		size_t end = line(&m, k);

		if (m.over)
			break;
		last = end ? end : last;
		k = end ? end : k + 1;
	}
	if (m.boot && m.sample == 0)
		found_warn(f, WARN_UNAVAILABLE, "the mean since boot, not of a test");
	else
		cpu_judge(f);
	return last > i ? last : i + 1;
}

static bool sniff(const struct lex *l, size_t i)
{
	struct mpstat m = {.l = l};
	double t;
	size_t at = begin(&m, i, &t);

	for (size_t k = at; at && k < at + LEAD; k++)
		if (columns(&m, k))
			return true;
	return false;
}

const struct reader reader_mpstat = {"mpstat", "0123456789A", sniff, parse};

/* ---- JSON ---- */

static size_t json_parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct json_scan s = json_scan(l, i);
	int64_t cpu = -2, sample = -1;
	char text[16];

	f->what = "mpstat";
	while (json_next(&s)) {
		const char *metric;

		if (s.what != JSON_VALUE || s.last || s.key.to != s.key.from + 1)
			continue;
		if (s.string && json_is(&s, &s.key, "timestamp"))
			sample++;
		if (json_is(&s, &s.key, "cpu")) {
			json_text(&s, s.from, s.to, text, sizeof(text));
			cpu = strcmp(text, "all") ? strtol(text, NULL, 10) : CPU_ALL;
			continue;
		}
		metric = s.number && cpu >= CPU_ALL && s.depth > 5 ? cpu_metric(l, s.key.from)
								   : NULL;
		if (metric)
			cpu_put(f, metric, cpu, sample, s.num, 0.01);
	}
	cpu_judge(f);
	return json_ended(&s, i, f);
}

static bool json_sniff(const struct lex *l, size_t i)
{
	return json_key_at(l, i + 1, "sysstat");
}

const struct reader reader_mpstat_json = {"mpstat-json", "{", json_sniff, json_parse};
