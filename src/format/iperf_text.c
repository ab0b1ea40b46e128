/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text around the rows of iperf 2 and iperf3: who is client, which protocol, where one report
 * ends and the next begins. Phrases are rows of a table; a report ends where a phrase or a row cannot
 * belong to it any more, or after so much text that says nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "format/iperf.h"

/* Tokens without meaning inside a report: before a result, after one, around a ruler. */
#define GAP       300
#define GAP_AFTER 100
#define NEAR      12
#define ROWS_MAX  (1u << 20)

enum phrase_effect {
	STARTS_CLIENT,
	STARTS_SERVER,
	IS_CLIENT,
	IS_SERVER,
	REVERSE,
	REVERSED,
	ENDS,
	SAYS_SENT,
	SAYS_RECEIVED,
	IS_UDP,
	IS_TCP,
	FULL_DUPLEX,
	TAKES_CPU,
	TAKES_WINDOW,
	TAKES_STREAMS,
	OUR_RESULTS,
	THEIR_RESULTS,
	RESULT_CPU,
	RESULT_BYTES,
	BREAKS_OFF,
	NOTHING,
};
static const struct phrase {
	const char *pattern;
	int gen; /* 0 = both */
	enum phrase_effect effect;
} phrases[] = {
	{"Client connecting to", 2, STARTS_CLIENT},
	{"Server listening on TCP|UDP", 2, STARTS_SERVER},
	{"Connecting to host", 3, STARTS_CLIENT},
	{"Server listening on #", 3, STARTS_SERVER},
	{"Accepted connection from", 3, IS_SERVER},
	{"Reverse mode , remote host", 3, REVERSE},
	{"mode = tcp-client", 2, STARTS_CLIENT},
	{"mode = tcp-server", 2, STARTS_SERVER},
	{"mode = udp-client", 2, STARTS_CLIENT},
	{"mode = udp-server", 2, STARTS_SERVER},
	{"iperf Done .", 3, ENDS},
	{"iperf3 : interrupt|error - ( the client|server has terminated )", 3, BREAKS_OFF},
	{"iperf exit", 2, ENDS},
	{"^ Sent ^", 3, SAYS_SENT},
	{"^ Received ^", 3, SAYS_RECEIVED},
	{"UDP port #", 2, IS_UDP},
	{"TCP port #", 2, IS_TCP},
	{"protocol : UDP", 3, IS_UDP},
	{"protocol : TCP", 3, IS_TCP},
	{"Total Datagrams", 0, IS_UDP},
	{"Lost/Total Datagrams", 0, IS_UDP},
	{"Bandwidth|Bitrate Retr|Retransmits", 3, IS_TCP},
	{"\\( full-duplex \\)", 2, FULL_DUPLEX},
	{"\\( reverse \\)", 2, REVERSED},
	{"local/sender # % \\( # % u / # % s \\) , remote/receiver # %", 3, TAKES_CPU},
	{"local/receiver # % \\( # % u / # % s \\) , remote/sender # %", 3, TAKES_CPU},
	{"TCP window size : # %B ( \\( WARNING : requested # %B )", 2, TAKES_WINDOW},
	{"UDP buffer size : # %B ( \\( WARNING : requested # %B )", 2, TAKES_WINDOW},
	{"# streams ,", 3, TAKES_STREAMS},
	{"send_results {", 3, OUR_RESULTS},
	{"get_results {", 3, THEIR_RESULTS},
	{"\" cpu_util_total \" : #", 3, RESULT_CPU},
	{"\" bytes \" : #", 3, RESULT_BYTES},
	{"\" %w \" : -#|\"|[", 3, NOTHING},
	{"Cookie :", 3, NOTHING},
	{"Starting Test", 3, NOTHING},
	{"Interval Transfer", 0, NOTHING},
	{"Sending # byte datagrams", 2, NOTHING},
	{"Receiving # byte datagrams", 2, NOTHING},
	{"Write buffer size", 2, NOTHING},
	{"- - - -", 0, NOTHING},
};

/* Which phrases a token may begin is learned once a report: a bit each, by its first character. */
#define PHRASE_KEY(c) ((uint8_t)(c) % IPERF_PHRASE_KEYS)

static void learn_phrases(struct iperf_acc *a)
{
	_Static_assert(ARRAY_LEN(phrases) <= 64, "a bit each");
	for (size_t k = 0; k < ARRAY_LEN(phrases); k++) {
		const char *s = phrases[k].pattern;
		uint64_t bit = UINT64_C(1) << k;

		if (phrases[k].gen && phrases[k].gen != a->gen)
			continue;
		if (*s == '#')
			a->phrase_num |= bit;
		else
			a->phrase[PHRASE_KEY(s[*s == '\\' ? 1 : *s == '^' ? 2 : 0])] |= bit;
	}
}

/* A phrase that begins with this token; NULL when there is none. */
static const struct phrase *phrase(const struct lex *l, size_t i, const struct iperf_acc *a,
				   double *cap, size_t *end)
{
	uint64_t mask =
		l->tok[i].type == LEX_NUM ? a->phrase_num : a->phrase[PHRASE_KEY(*lex_text(l, i))];

	for (; mask; mask &= mask - 1) {
		const struct phrase *p = &phrases[__builtin_ctzll(mask)];

		*end = match(l, i, p->pattern, cap);
		if (*end)
			return p;
	}
	return NULL;
}

/* ---- commands ---- */

/* "-b 100M" in bit/s. */
static double told_rate(const struct lex *l, size_t i)
{
	double scale = 1;

	if (!lex_num(l, i))
		return UNSET;
	if (i + 1 < l->n && !(l->tok[i + 1].flags & LEX_SPACE) && l->tok[i + 1].len == 1)
		switch (*lex_text(l, i + 1) | 32) {
		case 'k':
			scale = 1e3;
			break;
		case 'm':
			scale = 1e6;
			break;
		case 'g':
			scale = 1e9;
			break;
		}
	return l->tok[i].num * scale;
}

/* The options of "iperf3 -c host -R -b 100M" that say what was measured; the index after it. */
static size_t command(const struct lex *l, size_t i, struct iperf_acc *a)
{
	size_t from = i++;

	for (; i < l->n && i - from < 64 && !lex_is(l, i, "["); i++) {
		bool option =
			lex_is(l, i, "-") && i + 1 < l->n && !(l->tok[i + 1].flags & LEX_SPACE);

		if (i > from + 1 && (lex_starts(l, i, "iperf") || (lex_line(l, i) && !option)))
			break;
		if (!option)
			continue;
		i++;
		a->client = a->client || lex_is(l, i, "c");
		a->server = a->server || lex_is(l, i, "s");
		a->udp = a->udp || lex_is(l, i, "u");
		a->reverse = a->reverse || lex_is(l, i, "R") || lex_is(l, i, "reverse");
		if (lex_is(l, i, "b"))
			a->rate_told = told_rate(l, i + 1);
		else if (lex_starts(l, i, "b") && l->tok[i].len > 1 && isnan(a->rate_told))
			a->rate_told = 0; /* "-b100M": some rate */
		if (lex_is(l, i, "P") && lex_num(l, i + 1))
			a->streams = l->tok[i + 1].num;
	}
	a->server = a->server && !a->client;
	return i;
}

static bool is_command(const struct lex *l, size_t i, int gen)
{
	size_t k = i + 1;

	if (gen == 3 ? !lex_is(l, i, "iperf3")
		     : !lex_is(l, i, "iperf") && !lex_is(l, i, "iperf.exe"))
		return false;
	return lex_is(l, k, "-") && k + 1 < l->n && !(l->tok[k + 1].flags & LEX_SPACE) &&
	       !lex_line(l, k);
}

/* ---- bracketed lines that are no rows ---- */

static bool add_conn(struct iperf_acc *a, const struct lex *l, size_t i, size_t *end)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e = match(l, i, "[ ( * ) # ] local", c), k;
	struct iperf_conn *n;

	if (!e)
		return false;
	for (k = e; k < l->n && k - e < 12 && !lex_is(l, k, "port"); k++)
		;
	*end = e;
	if (!lex_num(l, k + 1) || a->n_conn == IPERF_CONNS)
		return true;
	n = &a->conn[a->n_conn++];
	*n = (struct iperf_conn){.id = (int)fmin(c[0], 1e6), .lport = (unsigned)l->tok[k + 1].num};
	*end = k + 2;
	for (e = k + 2; e < l->n && e - k < 16 && !lex_is(l, e, "port") && !lex_is(l, e, "["); e++)
		;
	if (lex_is(l, e, "port") && lex_num(l, e + 1)) {
		n->rport = (unsigned)l->tok[e + 1].num;
		*end = e + 2;
	}
	if (!a->client && !a->server) { /* nothing else says so: the usual port is the server's */
		a->server = n->lport == 5001 || n->lport == 5201;
		a->client = !a->server && (n->rport == 5001 || n->rport == 5201);
	}
	e = match(l, *end, "\\( ct = # ms \\)", c);
	if (e) {
		a->connect_s = c[0] / 1e3;
		*end = e;
	}
	return true;
}

static size_t bracket(const struct lex *l, size_t i, struct iperf_acc *a)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e;

	if (add_conn(a, l, i, &e))
		return e;
	if ((e = match(l, i, "[ # ] Sent # datagrams", c))) {
		if (!a->sent_sum)
			a->sent = (isnan(a->sent) ? 0 : a->sent) + c[1];
		a->sent_n++;
		a->udp = true;
		return e;
	}
	if ((e = match(l, i, "[ SUM ] Sent # datagrams", c))) {
		a->sent = c[0];
		a->sent_sum = true;
		return e;
	}
	if ((e = match(l, i, "[ # ] Server Report :", c))) {
		a->next = SAID_RECEIVER;
		a->next_id = (int)fmin(c[0], 1e6);
		a->next_remote = true;
		return e;
	}
	if ((e = match(l, i, "[ ID ] ( [ Role ] ) Interval", c)))
		return e - 1;
	return iperf_hist(l, i, a);
}

/* ---- where a report ends ---- */

static struct iperf_flow *flow_of(struct iperf_acc *a, const struct iperf_row *r)
{
	size_t i = 0;

	while (i < a->n_flow &&
	       (a->flow[i].id != r->id || a->flow[i].star != r->star || a->flow[i].role != r->role))
		i++;
	if (i == IPERF_CONNS)
		return &a->flow[i - 1];
	if (i == a->n_flow) {
		a->flow[a->n_flow++] =
			(struct iperf_flow){.id = r->id, .star = r->star, .role = r->role};
		for (size_t k = 0; k < i; k++)
			a->flow[i].twin = a->flow[i].twin || a->flow[k].id == r->id;
	}
	return &a->flow[i];
}

/* A row that cannot belong to the report any more: its stream has one like it, or begins anew. */
bool iperf_again(struct iperf_acc *a, const struct iperf_row *r)
{
	const struct iperf_flow *fl = flow_of(a, r);
	const struct iperf_side *s = &fl->side[r->said];

	/* An interval that is earlier than the one before it. */
	if (r->said == SAID_NOTHING && s->n && !s->whole && r->t0 > 0 && r->t1 < s->t1 &&
	    !s->omitted)
		return true;
	if (a->gen == 3) {
		if (r->said != SAID_NOTHING)
			return s->n > 0;
		return r->t0 <= 0 && ((s->n && !s->omitted && s->t1 > 0) || a->finals);
	}
	if (!s->n || !s->whole || r->t0 > 0)
		return r->said == SAID_RECEIVER && s->n && r->t0 <= 0;
	/* "-i 1 -t 1" prints its one interval and the same as the result; "-i 1" the first of many. */
	return !(s->n == 1 && fabs(s->t1 - r->t1) <= 0.05 * r->t1 &&
		 fabs(s->bytes - r->bytes) <= 0.05 * r->bytes);
}

static bool starts_anew(const struct lex *l, size_t i, const struct iperf_acc *a,
			const struct phrase *p)
{
	double c[MATCH_CAPS] MATCH_OUT;

	if (!a->n)
		return false;
	if (p)
		return p->effect == STARTS_CLIENT || p->effect == STARTS_SERVER ||
		       (a->gen == 3 && p->effect == IS_SERVER);
	if (is_command(l, i, a->gen))
		return true;
	if (a->gen == 3)
		return match(l, i, "[ ID ]", c) && a->finals;
	return match(l, i, "[ # ] local", c) && a->finals;
}

/* ---- the loop ---- */

static void take_phrase(struct iperf_acc *a, const struct phrase *p, const double *c)
{
	switch (p->effect) {
	case STARTS_CLIENT:
	case IS_CLIENT:
		a->client = true;
		a->server = false;
		break;
	case STARTS_SERVER:
	case IS_SERVER:
		a->server = !a->client;
		break;
	case REVERSE:
		a->reverse = a->client = true;
		break;
	case REVERSED:
		a->reverse = true;
		break;
	case SAYS_SENT:
	case SAYS_RECEIVED:
		a->next = p->effect == SAYS_SENT ? SAID_SENDER : SAID_RECEIVER;
		a->next_id = IPERF_NONE;
		break;
	case IS_UDP:
		a->udp = true;
		break;
	case IS_TCP:
		a->tcp = true;
		break;
	case FULL_DUPLEX:
		a->full_duplex = true;
		break;
	case TAKES_CPU:
		a->cpu_local = c[0] / 100;
		a->cpu_remote = c[3] / 100;
		break;
	case TAKES_WINDOW:
		a->window = c[0] * c[1];
		a->window_asked = c[2] * c[3];
		break;
	case TAKES_STREAMS:
		a->streams = c[0];
		break;
	case OUR_RESULTS:
	case THEIR_RESULTS:
		a->results = p->effect == OUR_RESULTS ? 1 : 2;
		break;
	case RESULT_CPU:
		if (a->results)
			*(a->results == 1 ? &a->cpu_local : &a->cpu_remote) = c[0] / 100;
		break;
	case RESULT_BYTES:
		if (a->results)
			a->result_bytes[a->results - 1] += c[0];
		break;
	case BREAKS_OFF:
		a->broken = a->n > 0;
		break;
	case ENDS:
	case NOTHING:
		break;
	}
}

/* iperf 2 does not say so: the row over all of it that comes last is the result. */
static void note_row(struct iperf_acc *a, struct iperf_row *r)
{
	struct iperf_side *s = &flow_of(a, r)->side[r->said];
	bool first = !s->n;

	r->summary = a->gen == 3 ? r->said != SAID_NOTHING
				 : r->t0 <= 0 && (first || r->t1 >= s->t1 - r->t_step);
	if (a->gen == 2 && !first && s->whole && a->row[s->last].summary) {
		a->row[s->last].summary = false; /* it was the first interval */
		a->finals--;
	}
	a->finals += r->summary;
	s->n++;
	s->last = a->n;
	s->t1 = r->t1;
	s->bytes = r->bytes;
	s->omitted = r->omitted;
	s->whole = r->summary;
}

void iperf_add_row(struct iperf_acc *a, struct iperf_row *r)
{
	if (r->said == SAID_NOTHING && a->next != SAID_NOTHING &&
	    (a->next_id == IPERF_NONE || a->next_id == r->id)) {
		r->said = a->next;
		a->next = SAID_NOTHING;
	}
	if (a->n == a->cap) {
		size_t cap = a->cap ? 2 * a->cap : 32;
		void *v = cap <= ROWS_MAX ? reallocarray(a->row, cap, sizeof(*a->row)) : NULL;

		if (!v) {
			a->failed = true;
			return;
		}
		a->row = v;
		a->cap = cap;
	}
	a->udp = a->udp || !isnan(r->jitter);
	a->cut = a->cut || r->cut;
	if (isnan(r->reordered))
		note_row(a, r);
	a->row[a->n++] = *r;
}

/* "sender" that a mailer put on a line of its own, away from its row. */
static bool late_word(const struct lex *l, size_t i, struct iperf_acc *a)
{
	struct iperf_row *r = a->n ? &a->row[a->n - 1] : NULL;

	if (!r || r->said != SAID_NOTHING || a->gen != 3 ||
	    !(lex_is(l, i, "sender") || lex_is(l, i, "receiver")))
		return false;
	r->said = lex_is(l, i, "sender") ? SAID_SENDER : SAID_RECEIVER;
	note_row(a, r);
	return true;
}

/* Reads what is at i; its end, 0 = means nothing, SIZE_MAX = belongs to the next report. */
static size_t item(const struct lex *l, size_t i, size_t known, struct iperf_acc *a, bool *last)
{
	struct iperf_row r MATCH_OUT;
	const struct phrase *p;
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e;

	if (a->gen == 2 && iperf_csv_sniff(l, i))
		return SIZE_MAX;
	e = lex_is(l, i, "[") || (lex_num(l, i) && lex_is(l, i + 1, "-")) ? iperf_row_read(l, i, &r)
									  : 0;
	if (e && r.id == IPERF_NONE && a->gen == 3)
		e = 0;
	if (e && r.id == IPERF_BOTH) {
		a->full_duplex = true;
		return e;
	}
	if (e) {
		struct iperf_row probe = r;

		if (a->next != SAID_NOTHING && (a->next_id == IPERF_NONE || a->next_id == r.id))
			probe.said = a->next;
		if (isnan(r.reordered) && iperf_again(a, &probe))
			return SIZE_MAX;
		iperf_add_row(a, &r);
		return e;
	}
	p = phrase(l, i, a, c, &e);
	if (starts_anew(l, i, a, p))
		return SIZE_MAX;
	if (p) {
		take_phrase(a, p, c);
		*last = p->effect == ENDS;
		/* A ruler somewhere else belongs to somebody else. */
		return p->effect != NOTHING || i < known + NEAR ? e : 0;
	}
	if (is_command(l, i, a->gen))
		return command(l, i, a);
	if (lex_is(l, i, "["))
		return bracket(l, i, a);
	return late_word(l, i, a) ? i + 1 : 0;
}

void iperf_acc_init(struct iperf_acc *a, int gen)
{
	memset(a, 0, offsetof(struct iperf_acc, conn));
	a->gen = gen;
	a->rate_told = a->streams = a->sent = UNSET;
	a->cpu_local = a->cpu_remote = a->connect_s = a->window = a->window_asked = UNSET;
	a->next_id = IPERF_NONE;
	learn_phrases(a);
}

/* -d and -r: one connection goes to the port that another came in at. The first is the client's;
 * what the others carry is the other direction, as a star says where versions print it. */
static void mark_dual(struct iperf_acc *a)
{
	const struct iperf_conn *first = &a->conn[0];
	bool in = false, out = false;

	for (size_t i = 1; i < a->n_conn && a->gen == 2; i++) {
		out = out || a->conn[i].lport == first->rport; /* we are the client */
		in = in || a->conn[i].rport == first->lport;
	}
	if (in == out)
		return;
	a->client = out;
	a->server = in;
	for (size_t i = 1; i < a->n_conn; i++) {
		if (out ? a->conn[i].lport != first->rport : a->conn[i].rport != first->lport)
			continue;
		for (size_t k = 0; k < a->n; k++)
			a->row[k].star = a->row[k].star || a->row[k].id == a->conn[i].id;
		for (size_t k = 0; k < a->n_flow; k++)
			a->flow[k].star = a->flow[k].star || a->flow[k].id == a->conn[i].id;
	}
}

size_t iperf_text(const struct lex *l, size_t i, struct format_found *f, int gen)
{
	struct iperf_acc *a = malloc(sizeof(*a));
	size_t known = i + 1;
	bool last = false;

	if (!a) {
		f->failed = true;
		return i + 1;
	}
	iperf_acc_init(a, gen);
	while (i < l->n && i < known + (a->finals ? GAP_AFTER : GAP) && !last && !a->failed) {
		size_t e = item(l, i, known, a, &last);

		if (e == SIZE_MAX || (e && !a->n && i > known + 200))
			break; /* what came long before the first row is not its preamble */
		i = e ? e : i + 1;
		known = e ? e : known;
	}
	f->failed = f->failed || a->failed;
	mark_dual(a);
	if (a->n)
		iperf_make(a, f);
	free(a->row);
	free(a);
	return known;
}

/* ---- where one begins ---- */

/* A row's generation: iperf 2 has one or four digits, or a tail that iperf3 has not. 0 = no row. */
static int look_gen(const struct lex *l, size_t i)
{
	struct iperf_row r MATCH_OUT;

	if (!iperf_row_read(l, i, &r))
		return 0;
	if (r.said != SAID_NOTHING && r.id == IPERF_NONE)
		return 3; /* its front was cut off */
	if (r.id == IPERF_NONE || r.star || (r.t_decimals != 2 && r.t_decimals != 0) ||
	    !isnan(r.writes) || !isnan(r.reordered))
		return 2;
	return 3;
}

/* Both generations ask, and whoever looks for a row behind a header: a row is looked at once. */
static int row_gen(const struct lex *l, size_t i)
{
	uint8_t *known = &l->tok[i].row;

	if (!*known)
		*known = (uint8_t)(1 + look_gen(l, i));
	return *known - 1;
}

/* May "[" be the first token of something of theirs? */
static bool bracket_may(const struct lex *l, size_t i)
{
	static const char *const behind[] = {"ID", "SUM", "*"};

	for (size_t k = 0; k < ARRAY_LEN(behind); k++)
		if (lex_is(l, i + 1, behind[k]))
			return true;
	return lex_num(l, i + 1) || lex_starts(l, i + 1, "FD");
}

bool iperf_sniff(const struct lex *l, size_t i, int gen)
{
	double c[MATCH_CAPS] MATCH_OUT;
	size_t e;

	if (is_command(l, i, gen))
		return true;
	if (lex_num(l, i))
		return gen == 2 && lex_is(l, i + 1, "-") && row_gen(l, i) == 2;
	if (lex_is(l, i, "[")) {
		if (!bracket_may(l, i))
			return false;
		if (match(l, i, "[ # ] local", c)) {
			for (e = i; e < l->n && e < i + 16; e++)
				if (lex_is(l, e, "connected"))
					return lex_is(l, e + 1, gen == 2 ? "with" : "to");
			return false;
		}
		if (!match(l, i, "[ ID ]", c))
			return row_gen(l, i) == gen;
		for (e = i + 3; e < l->n && e < i + 40; e++)
			if (lex_is(l, e, "[") && row_gen(l, e))
				return row_gen(l, e) == gen;
		return false;
	}
	for (size_t k = 0; k < ARRAY_LEN(phrases); k++)
		if (phrases[k].gen == gen &&
		    (phrases[k].effect == STARTS_CLIENT || phrases[k].effect == STARTS_SERVER ||
		     phrases[k].effect == IS_SERVER) &&
		    match(l, i, phrases[k].pattern, c))
			return true;
	return false;
}
