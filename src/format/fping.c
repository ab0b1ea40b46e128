/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fping: a host is a report, by its summary line, its answers (-c) or a line with all times (-C); the
 * statistics of -s are one of all hosts.
 */
#include "format/rows.h"

static const struct rows_pat times = {"( , outage \\( ms \\) = # ) ( , ) min/avg/max = # / # / #",
				      {ROWS_NONE,
				       {"probe.rtt", UNIT_NONE, 1e-3, STAT_MIN, 0},
				       {"probe.rtt", UNIT_NONE, 1e-3, STAT_MEAN, 0},
				       {"probe.rtt", UNIT_NONE, 1e-3, STAT_MAX, 0}}};

static const char counts[] = "xmt/rcv / \\% loss|return = # / # / # \\%";

static const struct rows_pat statistics[] = {
	{"# ICMP Echos sent", {{"probe.sent", UNIT_NONE, 1, STAT_VALUE, 0}}},
	{"# ICMP Echo Replies received", {{"probe.received", UNIT_NONE, 1, STAT_VALUE, 0}}},
	{"#T \\( min round trip time \\)", {{"probe.rtt", UNIT_NONE, 1, STAT_MIN, 0}}},
	{"#T \\( avg round trip time \\)", {{"probe.rtt", UNIT_NONE, 1, STAT_MEAN, 0}}},
	{"#T \\( max round trip time \\)", {{"probe.rtt", UNIT_NONE, 1, STAT_MAX, 0}}},
	{"#T \\( elapsed real time \\)", {{"duration", UNIT_NONE, 1, STAT_VALUE, 0}}},
};
static const char targets[] = "targets # alive # unreachable # unknown addresses";
static const char reply[] = ": \\[ # \\] , # bytes , #T \\( # avg , # \\% loss \\)";
static const char timeout[] = ": \\[ # \\] , timed out \\( %t avg , # \\% loss \\)";

static void put_loss(struct format_found *f, double sent, double received)
{
	if (!(sent > 0))
		return;
	found_fig(f, "probe.loss", STAT_VALUE, DIMS_NONE, fmax(1 - received / sent, 0), 0);
	found_prov(f, MODEL_DERIVED);
}

static void put_row(struct format_found *f, double number, double rtt)
{
	struct found_row *r = found_row(f, number, number + 1);

	if (!r)
		return;
	f->col[0] = "probe.rtt";
	f->n_col = 1;
	r->v[0] = rtt;
}

static size_t summary(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT, s[MATCH_CAPS] MATCH_OUT;
	size_t end = match(l, i, counts, c), more;

	if (!end)
		return i + 1;
	found_fig(f, "probe.sent", STAT_VALUE, DIMS_NONE, c[0], 1);
	found_fig(f, "probe.received", STAT_VALUE, DIMS_NONE, c[1], 1);
	put_loss(f, c[0], c[1]);
	if (c[1] > c[0])
		found_fig(f, "probe.duplicates", STAT_VALUE, DIMS_NONE, c[1] - c[0], 1);
	else if (c[0] > 0 && fabs((1 - c[1] / c[0]) * 100 - c[2]) > 1.01 &&
		 fabs(c[1] / c[0] * 100 - c[2]) > 1.01)
		found_warn(f, WARN_MISMATCH, "%g of %g is not %g %%", c[1], c[0], c[2]);
	more = rows_match(l, end, &times, 1, f, DIMS_NONE);
	end = more ? more : end;
	/* The statistics of the only host are the same again, but for the time. */
	if (!lex_is(l, end, "1") || !match(l, end + 1, targets, s))
		return end;
	for (size_t k = end, last = end; k < l->n && k < last + 24; k = more ? more : k + 1) {
		struct format_found spare;

		found_init(&spare, "fping");
		more = rows_match(l, k, statistics, ARRAY_LEN(statistics), &spare, DIMS_NONE);
		if (more && spare.n_fig && !strcmp(spare.fig[0].metric, "duration"))
			found_fig(f, "duration", STAT_VALUE, DIMS_NONE, spare.fig[0].value,
				  spare.fig[0].resolution);
		found_fini(&spare);
		last = more ? more : last;
		end = last;
	}
	return end;
}

static size_t all_hosts(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t end = match(l, i, targets, c);

	end = rows_all(l, end, statistics, ARRAY_LEN(statistics), f, DIMS_NONE, 16, NULL);
	put_loss(f, rows_value(f, "probe.sent", STAT_VALUE),
		 rows_value(f, "probe.received", STAT_VALUE));
	return end;
}

/* ---- -c: a line for each answer; those of several hosts take turns ---- */

#define HOSTS 8
#define NAME  24 /* tokens of one */

/* The host's name before the colon at i: its first token; i when there is none. */
static size_t name_of(const struct lex *l, size_t i)
{
	size_t k = i;

	if (!i || !(l->tok[i].flags & LEX_SPACE))
		return i;
	do
		k--;
	while (k > 0 && i - k < NAME && !(l->tok[k].flags & LEX_SPACE));
	return k;
}

static bool same_name(const struct lex *l, size_t a, size_t b)
{
	size_t ea = a, eb = b;

	for (; !lex_is(l, ea, ":") || !(l->tok[ea].flags & LEX_SPACE); ea++, eb++)
		if (eb >= l->n || l->tok[ea].len != l->tok[eb].len ||
		    memcmp(lex_text(l, ea), lex_text(l, eb), l->tok[ea].len) != 0)
			return false;
	return lex_is(l, eb, ":");
}

/* Which of the hosts seen it is; HOSTS = one too many. */
static size_t host(const struct lex *l, size_t name, size_t *names, size_t *n)
{
	size_t k = 0;

	while (k < *n && !same_name(l, names[k], name))
		k++;
	if (k == *n && k < HOSTS)
		names[(*n)++] = name;
	return k;
}

static void flows(struct format_found *f, size_t hosts)
{
	for (size_t i = 0; i < f->n_row && hosts < 2; i++)
		f->row[i].flow = -1;
}

static size_t answers(const struct lex *l, size_t i, struct format_found *f)
{
	size_t names[HOSTS], n = 0, last = i, e, next;
	double c[MATCH_CAPS] MATCH_OUT;

	for (size_t k = i; k < l->n && k < last + NAME;) {
		bool late = false;

		e = lex_is(l, k, ":") ? match(l, k, reply, c) : 0;
		if (!e && lex_is(l, k, ":") && (e = match(l, k, timeout, c)))
			late = true;
		if (e) {
			put_row(f, c[0], late ? UNSET : c[2]);
			if (f->n_row)
				f->row[f->n_row - 1].flow = (int)host(l, name_of(l, k), names, &n);
			last = e;
		} else if (lex_is(l, k, "xmt/rcv")) {
			break;
		}
		k = e ? e : k + 1;
	}
	flows(f, n);
	next = last;
	while (next < l->n && next < last + NAME && !lex_is(l, next, "xmt/rcv"))
		next++;
	if (n == 1 && lex_is(l, next, "xmt/rcv") && match(l, next, counts, c))
		return summary(l, next, f);
	f->partial = n == 1;
	if (n == 1)
		found_warn(f, WARN_TRUNCATED, "no summary");
	return last;
}

/* ---- -C: all times of a host in a line, "-" = no answer ---- */

/* The end of the times from i on, or 0 when they are none. */
static size_t all_times(const struct lex *l, size_t i, size_t *n, size_t *lost)
{
	size_t k = i;

	for (*n = *lost = 0; k < l->n && (k == i || !lex_line(l, k)); k++, ++*n) {
		const struct lex_tok *t = &l->tok[k];

		if (!(t->flags & LEX_SPACE) || *n > 100000)
			return 0;
		*lost += lex_is(l, k, "-");
		if (!lex_is(l, k, "-") &&
		    (!lex_num(l, k) || t->decimals > 3 || (!t->decimals && t->num < 100)))
			return 0;
	}
	return *n >= 2 ? k : 0;
}

/* A load average looks the same: an address, a lost one or the command says that it is fping's. */
static bool is_times(const struct lex *l, size_t i)
{
	size_t name = name_of(l, i), n, lost;

	if (name == i || !lex_line(l, name) || !all_times(l, i + 1, &n, &lost))
		return false;
	if (lost || name + 1 < i || memchr(lex_text(l, name), '.', l->tok[name].len))
		return true;
	for (size_t k = name; k-- > 0 && k + 64 > name;)
		if (lex_is(l, k, "fping"))
			return true;
	return false;
}

static size_t one_line(const struct lex *l, size_t i, struct format_found *f)
{
	double min = (double)INFINITY, max = 0, sum = 0;
	size_t n, lost, end = all_times(l, i + 1, &n, &lost);
	const struct lex_tok *t = &l->tok[i + 1];

	for (size_t k = 0; k < n; k++) {
		double v = lex_is(l, i + 1 + k, "-") ? UNSET : t[k].num;

		put_row(f, (double)k, v * 1e-3);
		min = fmin(min, v);
		max = fmax(max, v);
		sum += isnan(v) ? 0 : v;
	}
	found_fig(f, "probe.sent", STAT_VALUE, DIMS_NONE, (double)n, 1);
	found_prov(f, MODEL_DERIVED);
	found_fig(f, "probe.received", STAT_VALUE, DIMS_NONE, (double)(n - lost), 1);
	found_prov(f, MODEL_DERIVED);
	put_loss(f, (double)n, (double)(n - lost));
	if (lost == n)
		return end;
	found_fig(f, "probe.rtt", STAT_MIN, DIMS_NONE, min * 1e-3, 0);
	found_prov(f, MODEL_DERIVED);
	found_fig(f, "probe.rtt", STAT_MEAN, DIMS_NONE, sum / (double)(n - lost) * 1e-3, 0);
	found_prov(f, MODEL_DERIVED);
	found_fig(f, "probe.rtt", STAT_MAX, DIMS_NONE, max * 1e-3, 0);
	found_prov(f, MODEL_DERIVED);
	return end;
}

/* ---- the report ---- */

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	double c[MATCH_CAPS] MATCH_OUT;

	f->what = "ping";
	if (lex_is(l, i, "xmt/rcv"))
		return summary(l, i, f);
	if (lex_is(l, i, "targets"))
		return all_hosts(l, i, f);
	if (match(l, i, reply, c) || match(l, i, timeout, c))
		return answers(l, i, f);
	return one_line(l, i, f);
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;

	if (lex_is(l, i, "xmt/rcv"))
		return match(l, i, counts, c);
	if (lex_is(l, i, "targets"))
		return match(l, i, targets, c);
	if (!lex_is(l, i, ":") || !(l->tok[i].flags & LEX_SPACE))
		return false;
	if (lex_is(l, i + 1, "["))
		return match(l, i, reply, c) || match(l, i, timeout, c);
	return (lex_is(l, i + 1, "-") || lex_num(l, i + 1)) && is_times(l, i);
}

const struct reader reader_fping = {"fping", "x ta :", sniff, parse};
