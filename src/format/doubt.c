/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What makes a report doubtful is often not in the report: it was pasted before, the one above
 * ran three times as long, or the heading says other figures. Looked at when a report is told.
 */
#include <string.h>

#include "format/rows.h"

/* ---- pasted twice ---- */

/* Digits that somebody read off a counter or a clock: round numbers tell reports apart no better
 * than none. */
static int digits(double v)
{
	uint64_t u;
	int n = 0;

	v = fabs(v);
	if (!(v > 0) || v > 1e300)
		return 0;
	/* Nine digits of it as a whole number. */
	for (; v < 1e8; v *= v < 1 ? 1e8 : 10)
		;
	for (; v >= 1e9; v /= v >= 1e17 ? 1e8 : 10)
		;
	u = (uint64_t)(v + 0.5);
	while (u && u % 10 == 0)
		u /= 10;
	for (; u; u /= 10)
		n++;
	return n;
}

#define DIGITS_ENOUGH 16

static uint64_t bits(double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	return u;
}

/* A mark of all that was printed, for kinds that have no ports to go by. */
void doubt_mark(struct format_found *f)
{
	int all = 0;

	if (f->mark)
		return;
	for (const char *p = f->kind; *p; p++)
		found_mark(f, (uint8_t)*p);
	for (size_t i = 0; i < f->n_fig; i++) {
		const struct found_fig *g = &f->fig[i];

		if (g->state != MODEL_KNOWN || g->prov != MODEL_PRINTED)
			continue;
		found_mark(f, bits(g->value) ^ (uint64_t)g->stat);
		all += all < DIGITS_ENOUGH ? digits(g->value) : 0;
	}
	for (size_t i = 0; i < f->n_row && i < 64; i++)
		for (size_t k = 0; k < f->n_col; k++) {
			if (isnan(f->row[i].v[k]))
				continue;
			found_mark(f, bits(f->row[i].v[k]));
			all += all < DIGITS_ENOUGH ? digits(f->row[i].v[k]) : 0;
		}
	if (all < DIGITS_ENOUGH)
		f->mark = 0;
}

/* ---- what the heading says ---- */

static double rate_of(const struct format_found *f)
{
	double v = rows_value(f, "goodput", STAT_VALUE);

	return isnan(v) ? rows_value(f, "throughput.sent", STAT_VALUE) : v;
}

static const char *number(const char *s, double *v)
{
	double unit = 1;

	if (*s < '0' || *s > '9')
		return NULL;
	for (*v = 0; *s >= '0' && *s <= '9'; s++)
		*v = *v * 10 + (*s - '0');
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++)
			*v += (*s - '0') * (unit /= 10);
	return s;
}

/* "153/138mbps", "94 / 93 Mbits/sec": what two directions are said to give, in bit/s. */
static bool pair_at(const char *s, double v[2])
{
	static const struct {
		const char *unit;
		double bps;
	} units[] = {{"mbps", 1e6}, {"mbit", 1e6}, {"gbps", 1e9}, {"gbit", 1e9}, {"kbps", 1e3}};

	s = number(s, &v[0]);
	if (!s)
		return false;
	s += strspn(s, " ");
	s = *s == '/' ? s + 1 + strspn(s + 1, " ") : NULL;
	s = s ? number(s, &v[1]) : NULL;
	if (!s)
		return false;
	s += strspn(s, " ");
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (!strncasecmp(s, units[i].unit, 4)) {
			v[0] *= units[i].bps;
			v[1] *= units[i].bps;
			return true;
		}
	return false;
}

static void look_for_pair(struct doubt *d, const char *lead)
{
	double v[2];
	bool inside = false; /* of a number or a word */

	if (!strchr(lead, '/'))
		return;
	for (const char *p = lead; *p; p++) {
		if (!inside && pair_at(p, v)) {
			d->said[0] = v[0];
			d->said[1] = v[1];
			d->heard = 2;
		}
		inside = (*p >= '0' && *p <= '9') || *p == '.' || (*p | 32) >= 'a';
	}
}

static void check_pair(struct doubt *d, struct format_found *f)
{
	double rate = rate_of(f);

	if (!d->heard || isnan(rate))
		return;
	d->heard--;
	for (size_t i = 0; i < 2; i++)
		if (fabs(rate - d->said[i]) <= 0.02 * d->said[i])
			return;
	found_warn(f, WARN_LABEL, "the heading says %.4g and %.4g Mbit/s, the report %.4g",
		   d->said[0] / 1e6, d->said[1] / 1e6, rate / 1e6);
}

/* ---- how long ---- */

/* Rates of unequal times can be compared, counts cannot. */
static bool counts(const struct format_found *f)
{
	return rows_value(f, "tcp.retransmits", STAT_VALUE) > 0 ||
	       rows_value(f, "udp.lost", STAT_VALUE) > 0;
}

static void check_duration(struct doubt *d, struct format_found *f)
{
	double t = rows_value(f, "duration", STAT_VALUE), last = d->duration;
	bool same = d->kind && !strcmp(d->kind, f->kind) && !strcmp(d->what, f->what);

	if (isnan(t) || !counts(f)) {
		d->kind = NULL;
		return;
	}
	if (same && fmin(t, last) >= 1 && fmax(t, last) >= 1.5 * fmin(t, last))
		found_warn(f, WARN_DURATIONS, "%.4g s, and %.4g s in the report before", t, last);
	d->kind = f->kind;
	d->what = f->what;
	d->duration = t;
}

void doubt_check(struct doubt *d, struct format_found *f)
{
	if (f->lead)
		look_for_pair(d, f->lead);
	check_pair(d, f);
	check_duration(d, f);
}
