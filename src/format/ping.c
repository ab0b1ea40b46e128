/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ping has one form everywhere but on Windows, where only the order of the figures is the same in
 * every language. Answers become intervals; of several to one probe the first is the one that counts.
 */
#include <string.h>

#include "format/rows.h"

#define GAP     300 /* unknown tokens to step over: dumps of ICMP errors */
#define ADDRESS 24  /* tokens between "bytes from" and the number */
#define HEAD    48

struct ping {
	const struct lex *l;
	struct format_found *f;
	size_t last;       /* after the last token that is ping's */
	size_t n_rtt;      /* answers */
	size_t n_error;    /* ICMP errors */
	size_t n_refused;  /* those of Windows, which counts them as received */
	double seq, first; /* latest and first number answered */
	bool head, windows, done;
	double sent, received, time_s;
};

/* ---- answers ---- */

static void answer(struct ping *p, double seq, double rtt)
{
	struct format_found *f = p->f;
	struct found_row *r;

	/* Numbers that do not rise are answers to a probe that had one (broadcast, duplicates). */
	if (p->n_rtt && seq <= p->seq && seq > p->seq - 30000)
		return;
	r = found_row(f, p->n_rtt ? seq - p->first : 0, p->n_rtt ? seq - p->first + 1 : 1);
	if (!r)
		return;
	if (!p->n_rtt)
		p->first = seq;
	p->seq = seq;
	p->n_rtt++;
	f->col[0] = "probe.rtt";
	f->n_col = 1;
	r->v[0] = rtt;
}

/* "64 bytes from ADDRESS: icmp_seq=1 ttl=64 time=0.280 ms" */
static size_t unix_answer(struct ping *p, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t at = match(p->l, i, "# bytes from", c), end = 0;

	if (!at)
		return 0;
	for (size_t k = at; k < p->l->n && k < at + ADDRESS; k++) {
		if (match(p->l, k, "# bytes from", c))
			break;
		end = match(p->l, k, "icmp_seq|seq|icmp_req = # ( , ) ( ttl|hlim = # ) ( , ) time",
			    c);
		if (end)
			break;
	}
	if (!end) {
		p->n_error++; /* an ICMP error, or cut off */
		return at;
	}
	at = match(p->l, end, "=|< #T", c + 2);
	if (!at)
		return 0;
	answer(p, c[0], c[2]);
	return match(p->l, at, "\\( DUP \\)", c + 3) ? at + 3 : at;
}

/* "…=32 time=49ms TTL=43"; under a millisecond has no value. "time<1ms" of an IPv6 answer, in any language */
static size_t windows_answer(const struct lex *l, size_t i, double *rtt)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t end = match(l, i, "= # %w =|< # %w TTL = #", c);

	if (end) {
		*rtt = lex_is(l, i + 3, "<") ? UNSET : c[2] * 1e-3;
		return end;
	}
	end = match(l, i, ": %w =|< # ms", c);
	if (!end || !lex_line(l, end))
		return 0;
	*rtt = lex_is(l, i + 2, "<") ? UNSET : c[1] * 1e-3;
	return end;
}

/* "Reply from 10.0.0.9: Destination host unreachable." in any language: a text, but no figures */
static size_t windows_error(const struct lex *l, size_t i)
{
	size_t k = i + 1;

	if (!lex_is(l, i, ":") || lex_line(l, i) || k >= l->n || l->tok[k].type != LEX_WORD ||
	    l->tok[k].flags != LEX_SPACE || lex_line(l, i - (i > 0)))
		return 0;
	if (!(memchr(lex_text(l, i - 1), '.', l->tok[i - 1].len) || lex_is(l, i - 2, ":") ||
	      *lex_text(l, i - 1) & 0x80)) /* an address; or a word of a script without blanks */
		return 0;
	for (; k < l->n && k < i + 16; k++) {
		const struct lex_tok *t = &l->tok[k];
		bool wide = *lex_text(l, k - 1) & 0x80;

		if (lex_line(l, k) && wide)
			return k;
		if (lex_is(l, k, "."))
			return k + 1;
		if (t->type != LEX_WORD && !lex_is(l, k, "'"))
			return 0;
		if (t->len > 3 && !memcmp(lex_text(l, k) + t->len - 3, "\xe3\x80\x82", 3))
			return k + 1; /* an ideographic full stop */
	}
	return 0;
}

/* Errors before the first answer, which is where the report was found. */
static size_t errors_before(const struct lex *l, size_t i)
{
	size_t n = 0;

	for (size_t k = i; k-- > 2 && k + 96 > i && !lex_is(l, k, "=") && !lex_is(l, k, "%");)
		n += windows_error(l, k) > 0;
	return n;
}

/* ---- summaries ---- */

static const struct rows_out rtt_out[] = {
	{"probe.rtt", UNIT_NONE, 1, STAT_MIN, 0},
	{"probe.rtt", UNIT_NONE, 1, STAT_MEAN, 0},
	{"probe.rtt", UNIT_NONE, 1, STAT_MAX, 0},
	{"probe.rtt", UNIT_NONE, 1, STAT_STDDEV, 0},
};

static void counts(struct ping *p, double sent, double received, double loss_pct)
{
	struct model_dims none = DIMS_NONE;

	p->sent = sent;
	p->received = received;
	found_fig(p->f, "probe.sent", STAT_VALUE, none, sent, 1);
	found_fig(p->f, "probe.received", STAT_VALUE, none, received, 1);
	if (!(sent > 0))
		return;
	found_fig(p->f, "probe.loss", STAT_VALUE, none, fmax(1 - received / sent, 0), 0);
	found_prov(p->f, MODEL_DERIVED);
	if (fabs(fmax(1 - received / sent, 0) * 100 - loss_pct) > 1.01)
		found_warn(p->f, WARN_MISMATCH, "%g of %g is not %g %% of loss", received, sent,
			   loss_pct);
}

static size_t unix_counts(struct ping *p, size_t i)
{
	static const char *const more[] = {", ( + ) # duplicates",
					   ", ( + ) # corrupted",
					   ", ( + ) # errors",
					   ", # \\% packet|loss ( loss )",
					   ", time #T",
					   ", # packets out of wait time",
					   NULL};
	double c[MATCH_CAPS], loss = UNSET, dup = 0;
	size_t end = match(p->l, i, "# packets transmitted , # ( packets ) received", c);

	if (!end)
		return 0;
	for (size_t k = 0; more[k]; k++) {
		size_t next = match(p->l, end, more[k], c + 2);

		if (!next)
			continue;
		end = next;
		dup = k == 0 ? c[2] : dup;
		loss = k == 3 ? c[2] : loss;
		p->time_s = k == 4 ? c[2] : p->time_s;
	}
	if (isnan(loss))
		return 0; /* cut off within */
	if (p->time_s > 0)
		found_fig(p->f, "duration", STAT_VALUE, DIMS_NONE, p->time_s, 1e-3);
	counts(p, c[0], c[1], loss);
	if (dup > 0) {
		found_fig(p->f, "probe.duplicates", STAT_VALUE, DIMS_NONE, dup, 1);
		found_warn(p->f, WARN_MISMATCH,
			   "the summary's times are those of %g duplicates too", dup);
	}
	return end;
}

static size_t unix_rtt(struct ping *p, size_t i)
{
	double c[MATCH_CAPS] MATCH_OUT, unit;
	uint32_t tok[MATCH_CAPS] MATCH_OUT;
	size_t end = match_toks(p->l, i, "rtt|round-trip ( \\( ms \\) ) %w = #, / #, / #, ( / #, )",
				c, tok);

	if (!end || !lex_starts(p->l, (size_t)c[0], "min/avg/max"))
		return 0;
	unit = end < p->l->n ? match_time_unit(lex_text(p->l, end), p->l->tok[end].len) : UNSET;
	if (end < p->l->n && p->l->tok[end].flags & LEX_CUT && lex_is(p->l, end, "m"))
		return 0; /* of "ms" */
	if (isnan(unit) && !lex_is(p->l, i + 1, "("))
		return 0;
	for (int k = 0; k < 4; k++) {
		struct rows_out o = rtt_out[k];

		o.scale = isnan(unit) ? 1e-3 : unit;
		rows_fig(p->f, p->l, tok[k + 1], &o, c[k + 1], DIMS_NONE);
	}
	end += !isnan(unit);
	return match(p->l, end, ", pipe #", c) ? end + 3 : end;
}

/* The next "= NUMBER" within a few words; *v its value. Index after it, 0 = none. */
static size_t equals(const struct lex *l, size_t i, double *v)
{
	for (size_t k = i; k < i + 8 && k + 1 < l->n; k++)
		if (lex_is(l, k, "=")) {
			*v = l->tok[k + 1].num;
			return lex_num(l, k + 1) ? k + 2 : 0;
		}
	return 0;
}

/* "= 4, … = 4, … = 0 (0% …)" */
static size_t windows_counts(const struct lex *l, size_t i, double v[4])
{
	size_t k = i;

	if (!lex_is(l, i, "=") || !lex_num(l, i + 1))
		return 0;
	for (int n = 0; n < 3; n++) {
		k = equals(l, k, &v[n]);
		if (!k || (v[n] != (double)(long)v[n]))
			return 0;
	}
	if (!lex_is(l, k, "(") || v[1] + v[2] != v[0])
		return 0;
	for (size_t e = k + 1; e < k + 6; e++)
		if (lex_num(l, e) && lex_is(l, e + 1, "%")) {
			v[3] = l->tok[e].num;
			return e + 2;
		}
	return 0;
}

/* "… = 46 ms, … = 57 ms, … = 50 ms": least, most, mean (cut to whole ones) */
static size_t windows_rtt(struct ping *p, size_t i)
{
	static const enum model_stat stat[] = {STAT_MIN, STAT_MAX, STAT_MEAN};
	double v[3];
	size_t k = i, start = i;

	while (start < p->l->n && start < i + 24 && !lex_is(p->l, start, "="))
		start++;
	k = start;
	for (int n = 0; n < 3; n++) {
		k = equals(p->l, k, &v[n]);
		if (!k)
			return 0;
		if (k < p->l->n && p->l->tok[k].type == LEX_WORD && !lex_line(p->l, k))
			k++; /* ms, in its language */
	}
	if (v[0] > v[2] || v[2] > v[1])
		return 0;
	for (int n = 0; n < 3; n++)
		found_fig(p->f, "probe.rtt", stat[n], DIMS_NONE, v[n] * 1e-3, 1e-3);
	return k;
}

static size_t windows_end(struct ping *p, size_t i)
{
	double v[4];
	size_t end = windows_counts(p->l, i, v), rtt;

	if (!end)
		return 0;
	rtt = windows_rtt(p, end);
	p->windows = p->done = true;
	if (!rtt && v[1] > 0 && !p->n_rtt) {
		counts(p, v[0], 0, 100);
		found_warn(p->f, WARN_MISMATCH, "%g received are ICMP errors: no answer has a time",
			   v[1]);
		return end;
	}
	if (p->n_refused && p->n_rtt + (double)p->n_refused <= v[1]) {
		double got = v[1] - (double)p->n_refused;

		counts(p, v[0], got, v[0] > 0 ? (1 - got / v[0]) * 100 : 0);
		found_warn(p->f, WARN_MISMATCH, "%zu of %g received are ICMP errors", p->n_refused,
			   v[1]);
	} else {
		counts(p, v[0], v[1], v[3]);
	}
	p->f->partial = !rtt && v[1] > 0;
	return rtt ? rtt : end;
}

/* ---- the report ---- */

static size_t head(const struct lex *l, size_t i)
{
	if (lex_is(l, i, "PING") || lex_is(l, i, "PING6")) {
		for (size_t k = i + 1; k < i + HEAD && k < l->n; k++)
			if (lex_is(l, k, "bytes"))
				return k + 1;
	}
	if (lex_is(l, i, "Pinging"))
		for (size_t k = i + 1; k < i + HEAD && k < l->n; k++)
			if (lex_is(l, k, "bytes"))
				return k + 1;
	return 0;
}

static size_t known(struct ping *p, size_t i)
{
	static const char *const lines[] = {"Request timeout for icmp_seq #",
					    "no answer yet for icmp_seq = #", "Request timed out",
					    "%w statistics - - -", NULL};
	double c[MATCH_CAPS] MATCH_OUT;
	size_t end;

	switch (p->l->tok[i].type) {
	case LEX_NUM:
		end = unix_answer(p, i);
		return end ? end : unix_counts(p, i);
	case LEX_WORD:
		end = unix_rtt(p, i);
		p->done = p->done || end;
		for (size_t k = 0; lines[k] && !end; k++)
			end = match(p->l, i, lines[k], c);
		return end;
	default:
		end = lex_is(p->l, i, "=") || lex_is(p->l, i, ":") ? windows_answer(p->l, i, &c[0])
								   : 0;
		if (end) {
			answer(p, p->n_rtt ? p->seq + 1 : 0, c[0]);
			return end;
		}
		end = windows_error(p->l, i);
		p->n_refused += end > 0;
		return end ? end : windows_end(p, i);
	}
}

/* A summary is known by its end only: probes are as far apart as it says. */
static void spread(struct ping *p)
{
	double step = p->sent > 1 && p->time_s > 0 ? p->time_s / (p->sent - 1) : 1;

	for (size_t i = 0; i < p->f->n_row; i++) {
		p->f->row[i].t0 = (int64_t)((double)p->f->row[i].t0 * step);
		p->f->row[i].t1 = (int64_t)((double)p->f->row[i].t1 * step);
	}
}

static size_t parse(const struct lex *l, size_t i, struct format_found *f)
{
	struct ping p = {.l = l, .f = f, .last = i + 1, .sent = UNSET};
	size_t k = head(l, i);

	p.head = k;
	p.n_refused = k || !lex_is(l, i, "=") ? 0 : errors_before(l, i);
	for (k = k ? k : i; k < l->n && k <= p.last + GAP && !p.done;) {
		size_t end;

		if (k > i && head(l, k))
			break;
		if (!isnan(p.sent) &&
		    (k > p.last + 12 ||
		     match(l, k, "# bytes|packets from|transmitted", &(double){0})))
			break;
		end = known(&p, k);
		p.last = end ? end : p.last;
		k = end ? end : k + 1;
	}
	f->what = "ping";
	spread(&p);
	if (isnan(p.sent) && p.n_rtt) {
		f->partial = true;
		found_warn(f, WARN_TRUNCATED, "no summary");
	}
	return p.last;
}

/* In a comment or a string of a program it is only quoted. */
static bool in_source(const struct lex *l, size_t i)
{
	return i && !lex_line(l, i) && (lex_is(l, i - 1, "*") || lex_is(l, i - 1, "\""));
}

static bool sniff(const struct lex *l, size_t i)
{
	double c[4], v[MATCH_CAPS] MATCH_OUT;

	switch (*lex_text(l, i)) {
	case '=':
		return match(l, i, "= # %w =|< # %w TTL = #", v) || windows_counts(l, i, c);
	case 'P':
		return head(l, i);
	case 'p':
		return match(l, i, "ping|ping6 statistics - - -", v);
	default:
		return lex_num(l, i) && !in_source(l, i) &&
		       (lex_is(l, i + 1, "bytes") || lex_is(l, i + 1, "packets")) &&
		       (match(l, i, "# bytes from", v) ||
			match(l, i, "# packets transmitted , # ( packets ) received", v));
	}
}

const struct reader reader_ping = {"ping", "=Pp0123456789", sniff, parse};
