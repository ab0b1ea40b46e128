/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue disciplines in tc's words: "tbf rate 10mbit burst 16kb limit 64kb". The problem: what is
 * changed must come back as it was, and tc's printout is not what tc takes. The idea: a table of
 * the options of each kind {word, unit, place in the kernel's message}, read in all four ways: from
 * words, to words, to the kernel, from the kernel. A discipline with an option that the table does
 * not have is not touched.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/priv.h"

/* ---- units --------------------------------------------------------------- */

enum unit_kind { COUNT, BYTES, RATE, USEC, NSEC, PPM, ONOFF };
struct suffix {
	enum unit_kind unit;
	const char *text;
	uint64_t times;
};
/* The first that divides a value is its spelling. */
static const struct suffix suffixes[] = {
	{COUNT, "", 1},
	{ONOFF, "", 1},
	{BYTES, "gb", 1ULL << 30},
	{BYTES, "mb", 1 << 20},
	{BYTES, "kb", 1 << 10},
	{BYTES, "b", 1},
	{BYTES, "g", 1ULL << 30},
	{BYTES, "m", 1 << 20},
	{BYTES, "k", 1 << 10},
	{BYTES, "", 1},
	{RATE, "gbit", 1000000000},
	{RATE, "mbit", 1000000},
	{RATE, "kbit", 1000},
	{RATE, "bit", 1},
	{RATE, "gbps", 8000000000},
	{RATE, "mbps", 8000000},
	{RATE, "kbps", 8000},
	{RATE, "bps", 8},
	{RATE, "", 1},
	{USEC, "s", 1000000},
	{USEC, "ms", 1000},
	{USEC, "us", 1},
	{USEC, "", 1},
	{NSEC, "s", 1000000000},
	{NSEC, "ms", 1000000},
	{NSEC, "us", 1000},
	{NSEC, "ns", 1},
	{NSEC, "", 1000},
	{PPM, "%", 10000},
};

static int read_quantity(const char *word, enum unit_kind unit, uint64_t *v)
{
	char *end;
	double x;

	if (!isdigit((unsigned char)word[0]))
		return -EINVAL;
	x = strtod(word, &end);
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (suffixes[i].unit != unit || strcasecmp(end, suffixes[i].text) != 0)
			continue;
		x *= (double)suffixes[i].times;
		if (!(x >= 0) || x > 1e15 || (unit == ONOFF && x > 1) ||
		    (unit == PPM && x > 1000000))
			return -ERANGE;
		*v = (uint64_t)llround(x);
		return 0;
	}
	return -EINVAL;
}

static void put_quantity(struct buf *b, enum unit_kind unit, uint64_t v)
{
	if (unit == PPM) {
		buf_printf(b, "%.7g%%", (double)v / 10000);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (suffixes[i].unit == unit && v % suffixes[i].times == 0 &&
		    (v || suffixes[i].times == 1)) {
			buf_printf(b, "%" PRIu64 "%s", v / suffixes[i].times, suffixes[i].text);
			return;
		}
}

/* ---- kinds --------------------------------------------------------------- */

enum place {
	AS_ATTR,  /* a u32 attribute, in the value's own unit (a rate: bytes per second) */
	AS_LIMIT, /* all of the options: one u32 */
	AS_TBF_RATE,
	AS_TBF_BURST,
	AS_TBF_LIMIT,
	AS_NETEM_LIMIT,
	AS_NETEM_DELAY,
	AS_NETEM_LOSS,
	AS_CAKE_RATE, /* u64, bytes per second */
};
struct key {
	const char *kind, *word; /* word NULL: the kind has no options */
	enum unit_kind unit;
	enum place place;
	uint16_t attr;
	bool needed;
	bool unread; /* more options than the table has: set in a lab, never changed elsewhere */
};
static const struct key keys[] = {
	{"pfifo", "limit", COUNT, AS_LIMIT, 0, true, false},
	{"bfifo", "limit", BYTES, AS_LIMIT, 0, true, false},
	{"pfifo_fast", NULL, COUNT, AS_ATTR, 0, false, false},
	{"noqueue", NULL, COUNT, AS_ATTR, 0, false, false},
	{"mq", NULL, COUNT, AS_ATTR, 0, false, false},
	{"tbf", "rate", RATE, AS_TBF_RATE, 0, true, false},
	{"tbf", "burst", BYTES, AS_TBF_BURST, 0, true, false},
	{"tbf", "limit", BYTES, AS_TBF_LIMIT, 0, true, false},
	{"netem", "limit", COUNT, AS_NETEM_LIMIT, 0, false, false},
	{"netem", "delay", NSEC, AS_NETEM_DELAY, 0, false, false},
	{"netem", "loss", PPM, AS_NETEM_LOSS, 0, false, false},
	{"cake", "bandwidth", RATE, AS_CAKE_RATE, TCA_CAKE_BASE_RATE64, false, true},
	{"codel", "limit", COUNT, AS_ATTR, TCA_CODEL_LIMIT, false, false},
	{"codel", "target", USEC, AS_ATTR, TCA_CODEL_TARGET, false, false},
	{"codel", "interval", USEC, AS_ATTR, TCA_CODEL_INTERVAL, false, false},
	{"codel", "ce_threshold", USEC, AS_ATTR, TCA_CODEL_CE_THRESHOLD, false, false},
	{"codel", "ecn", ONOFF, AS_ATTR, TCA_CODEL_ECN, false, false},
	{"fq_codel", "limit", COUNT, AS_ATTR, TCA_FQ_CODEL_LIMIT, false, false},
	{"fq_codel", "flows", COUNT, AS_ATTR, TCA_FQ_CODEL_FLOWS, false, false},
	{"fq_codel", "quantum", COUNT, AS_ATTR, TCA_FQ_CODEL_QUANTUM, false, false},
	{"fq_codel", "target", USEC, AS_ATTR, TCA_FQ_CODEL_TARGET, false, false},
	{"fq_codel", "interval", USEC, AS_ATTR, TCA_FQ_CODEL_INTERVAL, false, false},
	{"fq_codel", "ce_threshold", USEC, AS_ATTR, TCA_FQ_CODEL_CE_THRESHOLD, false, false},
	{"fq_codel", "memory_limit", BYTES, AS_ATTR, TCA_FQ_CODEL_MEMORY_LIMIT, false, false},
	{"fq_codel", "drop_batch", COUNT, AS_ATTR, TCA_FQ_CODEL_DROP_BATCH_SIZE, false, false},
	{"fq_codel", "ecn", ONOFF, AS_ATTR, TCA_FQ_CODEL_ECN, false, false},
	{"fq", "limit", COUNT, AS_ATTR, TCA_FQ_PLIMIT, false, false},
	{"fq", "flow_limit", COUNT, AS_ATTR, TCA_FQ_FLOW_PLIMIT, false, false},
	{"fq", "quantum", BYTES, AS_ATTR, TCA_FQ_QUANTUM, false, false},
	{"fq", "initial_quantum", BYTES, AS_ATTR, TCA_FQ_INITIAL_QUANTUM, false, false},
	{"fq", "pacing", ONOFF, AS_ATTR, TCA_FQ_RATE_ENABLE, false, false},
	{"fq", "maxrate", RATE, AS_ATTR, TCA_FQ_FLOW_MAX_RATE, false, false},
	{"fq", "refill_delay", USEC, AS_ATTR, TCA_FQ_FLOW_REFILL_DELAY, false, false},
};

/* Options that weir does not set: with another value than this one a discipline is left alone. */
static const struct {
	const char *kind;
	uint16_t attr;
	uint32_t normal;
} fixed[] = {
	{"fq", TCA_FQ_BUCKETS_LOG, 10},
	{"fq", TCA_FQ_ORPHAN_MASK, 1023},
	{"fq", TCA_FQ_LOW_RATE_THRESHOLD, 550000 / 8},
	{"fq", TCA_FQ_CE_THRESHOLD, (uint32_t)(UINT64_MAX / 1000)}, /* none */
	{"fq", TCA_FQ_TIMER_SLACK, 10000},
	{"fq_codel", TCA_FQ_CODEL_CE_THRESHOLD_MASK, 0},
	{"fq_codel", TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR, 0},
};

#define SPEC_MAX 12
struct spec {
	char kind[16];
	size_t n;
	const struct key *key[SPEC_MAX]; /* in the table's order */
	uint64_t v[SPEC_MAX];
};

static const struct key *find_key(const char *kind, const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i].kind, kind) &&
		    (!word || (keys[i].word && !strcmp(keys[i].word, word))))
			return &keys[i];
	return NULL;
}

static bool add_value(struct spec *s, const struct key *k, uint64_t v)
{
	size_t at = s->n;

	for (size_t i = 0; i < s->n; i++)
		if (s->key[i] == k)
			return false;
	if (s->n == SPEC_MAX)
		return false;
	for (; at && s->key[at - 1] > k; at--) {
		s->key[at] = s->key[at - 1];
		s->v[at] = s->v[at - 1];
	}
	s->key[at] = k;
	s->v[at] = v;
	s->n++;
	return true;
}

static const uint64_t *value_of(const struct spec *s, const char *word)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->key[i]->word, word))
			return &s->v[i];
	return NULL;
}

/* ---- words --------------------------------------------------------------- */

static size_t next_word(const char **s, char *dst, size_t cap)
{
	*s += strspn(*s, " \t");
	size_t n = strcspn(*s, " \t");

	if (n >= cap)
		return 0;
	memcpy(dst, *s, n);
	dst[n] = '\0';
	*s += n;
	return n;
}

static int bad(struct weir_err *e, const char *what, const char *word)
{
	char safe[64];

	safe_str(safe, sizeof(safe), word, strlen(word));
	err_set(e, WEIR_USAGE, EINVAL, "queue discipline: %s '%s'", what, safe);
	return err_hint(e, "such as: pfifo limit 100; tbf rate 10mbit burst 16kb limit 64kb");
}

/* What the kernel keeps in 32 bits would be cut. */
static bool too_large(const struct key *k, uint64_t v)
{
	if (k->place == AS_TBF_RATE || k->place == AS_CAKE_RATE || k->place == AS_NETEM_DELAY)
		return false;
	return (k->unit == RATE ? v / 8 : v) > UINT32_MAX;
}

static int read_option(struct spec *s, const char **text, const char *word, struct weir_err *e)
{
	const struct key *k = find_key(s->kind, word);
	char value[32];
	uint64_t v = 0;

	if (!k)
		return bad(e, "no such option", word);
	if (!next_word(text, value, sizeof(value)) || read_quantity(value, k->unit, &v) < 0)
		return bad(e, "no such value of", word);
	if (k->unit == RATE)
		v -= v % 8; /* the kernel counts bytes */
	if (too_large(k, v))
		return bad(e, "too large a value of", word);
	return add_value(s, k, v) ? 0 : bad(e, "said twice:", word);
}

static int read_spec(struct spec *s, const char *text, struct weir_err *e)
{
	char word[24];
	int ret = 0;

	*s = (struct spec){0};
	if (!next_word(&text, s->kind, sizeof(s->kind)) || !find_key(s->kind, NULL))
		return bad(e, "weir knows no", s->kind);
	while (ret == 0 && text[strspn(text, " \t")])
		ret = next_word(&text, word, sizeof(word)) ? read_option(s, &text, word, e)
							   : bad(e, "no such option", "");
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i].kind, s->kind) && keys[i].needed && !value_of(s, keys[i].word))
			return bad(e, "it needs", keys[i].word);
	return ret;
}

static int put_spec(const struct spec *s, char dst[SYS_VALUE_CAP])
{
	struct buf b = {.max = SYS_VALUE_CAP};

	buf_puts(&b, s->kind);
	for (size_t i = 0; i < s->n; i++) {
		buf_printf(&b, " %s ", s->key[i]->word);
		put_quantity(&b, s->key[i]->unit, s->v[i]);
	}
	int ret = b.failed || b.len >= SYS_VALUE_CAP ? -EFBIG : 0;
	if (ret == 0)
		memcpy(dst, b.data, b.len + 1);
	buf_fini(&b);
	return ret;
}

bool sys_tc_is_default(const char *text)
{
	const size_t n = strlen(SYS_TC_DEFAULT);

	return !strncmp(text, SYS_TC_DEFAULT, n) && (!text[n] || text[n] == ' ');
}

/* "default", and what it was: "default pfifo_fast", "default mq fq_codel". */
static int canon_default(const char *value, char dst[SYS_VALUE_CAP], struct weir_err *e)
{
	char kind[16];
	size_t n = strlen(SYS_TC_DEFAULT), kinds = 0;
	const char *s = value + n;

	memcpy(dst, SYS_TC_DEFAULT, n + 1);
	while (s[strspn(s, " \t")]) {
		if (!next_word(&s, kind, sizeof(kind)) || ++kinds > 2 ||
		    strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(kind))
			return bad(e, "no such", value);
		n += (size_t)snprintf(dst + n, SYS_VALUE_CAP - n, " %s", kind);
	}
	return 0;
}

/* Whether what the kernel gives by itself is what it was, when it makes leaves of this kind. */
bool sys_tc_default_of(const char *text, const char *leaf)
{
	const char *last = strrchr(text, ' ');

	return !last || !strcmp(last + 1, "noqueue") || !strcmp(last + 1, leaf);
}

int sys_tc_canon(const char *value, char dst[SYS_VALUE_CAP], struct weir_err *e)
{
	struct spec s;

	if (sys_tc_is_default(value))
		return canon_default(value, dst, e);
	int ret = read_spec(&s, value, e);
	const struct key *k = ret < 0 ? NULL : find_key(s.kind, NULL);
	if (k && k->unread)
		return bad(e, "weir could not put back", s.kind);
	return ret < 0 ? ret : put_spec(&s, dst);
}

/* The kernel keeps times, not sizes, of some: they come back rounded. */
static bool near(const struct key *k, uint64_t a, uint64_t b)
{
	uint64_t diff = a > b ? a - b : b - a;

	return diff == 0 || ((k->place == AS_TBF_BURST || k->unit == PPM || k->unit == USEC) &&
			     diff <= a / 500 + 64);
}

bool sys_tc_same(const char *want, const char *have)
{
	struct spec w, h;

	if (!strcmp(want, have))
		return true;
	/* An interface that was never up has none yet. */
	if (!strcmp(want, SYS_TC_DEFAULT) || !strcmp(have, SYS_TC_DEFAULT))
		return sys_tc_is_default(want) && sys_tc_is_default(have);
	if (read_spec(&w, want, NULL) < 0 || read_spec(&h, have, NULL) < 0 ||
	    strcmp(w.kind, h.kind) != 0)
		return false;
	for (size_t i = 0; i < w.n; i++) {
		const uint64_t *v = value_of(&h, w.key[i]->word);
		if (!v || !near(w.key[i], w.v[i], *v))
			return false;
	}
	return true;
}

/* ---- to the kernel ------------------------------------------------------- */

static uint32_t cut32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static uint64_t at_or(const struct spec *s, const char *word, uint64_t otherwise)
{
	const uint64_t *v = value_of(s, word);

	return v ? *v : otherwise;
}

static void put_tbf(struct nl_req *r, const struct spec *s)
{
	uint64_t bytes_per_s = at_or(s, "rate", 0) / 8;
	struct tc_tbf_qopt opt = {.limit = cut32(at_or(s, "limit", 0))};

	/* An Ethernet link layer spares us the kernel's old rate table. */
	opt.rate.linklayer = TC_LINKLAYER_ETHERNET;
	opt.rate.rate = cut32(bytes_per_s);
	nl_put(r, TCA_TBF_PARMS, &opt, sizeof(opt));
	nl_put_u32(r, TCA_TBF_BURST, cut32(at_or(s, "burst", 0)));
	if (bytes_per_s > UINT32_MAX)
		nl_put_u64(r, TCA_TBF_RATE64, bytes_per_s);
}

#define NETEM_LIMIT 1000
#define MILLION     1000000U
static void put_netem(struct nl_req *r, const struct spec *s)
{
	struct tc_netem_qopt opt = {.limit = cut32(at_or(s, "limit", NETEM_LIMIT)),
				    .loss = cut32(at_or(s, "loss", 0) * UINT32_MAX / MILLION)};

	memcpy(nl_put_header(r, sizeof(opt)), &opt, sizeof(opt));
	nl_put_u64(r, TCA_NETEM_LATENCY64, at_or(s, "delay", 0));
}

static void put_options(struct nl_req *r, const struct spec *s)
{
	const struct key *k = find_key(s->kind, NULL);

	if (!k || !k->word)
		return;
	if (k->place == AS_LIMIT) {
		nl_put_u32(r, TCA_OPTIONS, cut32(at_or(s, "limit", 0)));
		return;
	}
	struct nlattr *options = nl_nest(r, TCA_OPTIONS);
	if (!strcmp(s->kind, "tbf"))
		put_tbf(r, s);
	else if (!strcmp(s->kind, "netem"))
		put_netem(r, s);
	for (size_t i = 0; i < s->n; i++) {
		if (s->key[i]->place == AS_CAKE_RATE)
			nl_put_u64(r, s->key[i]->attr, s->v[i] / 8);
		if (s->key[i]->place == AS_ATTR)
			nl_put_u32(r, s->key[i]->attr,
				   cut32(s->key[i]->unit == RATE ? s->v[i] / 8 : s->v[i]));
	}
	nl_nest_end(r, options);
}

static int no_kind(const char *kind, struct weir_err *e)
{
	char upper[16];
	size_t i = 0;

	for (; kind[i] && i + 1 < sizeof(upper); i++)
		upper[i] = (char)toupper((unsigned char)kind[i]);
	upper[i] = '\0';
	return err_set(e, WEIR_MISSING, EOPNOTSUPP, "this kernel has no %s (CONFIG_NET_SCH_%s)",
		       kind, strstr(kind, "fifo") ? "FIFO" : upper);
}

int sys_qdisc_set(struct sys_nl *nl, const char *name, uint32_t parent, uint32_t handle,
		  const char *text, struct weir_err *e)
{
	struct spec s;
	struct nl_req r;
	int ret = read_spec(&s, text, e), index = ret < 0 ? ret : nl_index(nl, name, e);

	if (index < 0)
		return index;
	struct tcmsg *m = nl_req(&r, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*m));
	m->tcm_ifindex = index;
	m->tcm_parent = parent ? parent : TC_H_ROOT;
	m->tcm_handle = handle;
	nl_put_str(&r, TCA_KIND, s.kind);
	put_options(&r, &s);
	ret = nl_talk(nl, &r, NULL, NULL, "setting a queue discipline", e);
	return ret == -ENOENT ? no_kind(s.kind, e) : ret;
}

int sys_qdisc_default(struct sys_nl *nl, const char *name, struct weir_err *e)
{
	struct nl_req r;
	int index = nl_index(nl, name, e);

	if (index < 0)
		return index;
	struct tcmsg *m = nl_req(&r, RTM_DELQDISC, 0, sizeof(*m));
	m->tcm_ifindex = index;
	m->tcm_parent = TC_H_ROOT;
	int ret = nl_talk(nl, &r, NULL, NULL, "removing a queue discipline", e);
	return ret == -ENOENT || ret == -EINVAL ? 0 : ret; /* it is the default already */
}

/* ---- from the kernel ----------------------------------------------------- */

struct root {
	int index;
	char text[SYS_VALUE_CAP];
	uint32_t handle;
	unsigned others; /* disciplines below the root that somebody made */
	bool unknown;    /* of a kind or with an option that the table has not */
	char kind[16], leaf[16];
};

/* A link layer that sends whole cells is another rate on the wire. */
static bool has_cells(const struct tc_ratespec *r)
{
	int layer = r->linklayer & TC_LINKLAYER_MASK;

	return layer != TC_LINKLAYER_UNAWARE && layer != TC_LINKLAYER_ETHERNET;
}

static bool take_tbf(struct spec *s, const struct nlattr *options)
{
	struct tc_tbf_qopt opt;
	struct nl_attrs a;
	uint64_t bytes_per_s;

	nl_parse_nest(&a, options);
	if (!nl_copy(a.at[TCA_TBF_PARMS], &opt, sizeof(opt)) || opt.peakrate.rate ||
	    opt.rate.overhead || opt.rate.mpu || has_cells(&opt.rate))
		return false;
	bytes_per_s = a.at[TCA_TBF_RATE64] ? nl_u64(a.at[TCA_TBF_RATE64]) : opt.rate.rate;
	/* The burst is told as the time that it takes, in ticks of 64 ns. */
	double burst = (double)opt.buffer * 64 / 1e9 * (double)bytes_per_s;
	return add_value(s, find_key("tbf", "rate"), bytes_per_s * 8) &&
	       add_value(s, find_key("tbf", "burst"), (uint64_t)llround(burst)) &&
	       add_value(s, find_key("tbf", "limit"), opt.limit);
}

static bool take_netem(struct spec *s, const struct nlattr *options)
{
	struct tc_netem_qopt opt;
	struct nl_attrs a;

	if (!nl_copy(options, &opt, sizeof(opt)) || opt.gap || opt.duplicate || opt.jitter)
		return false;
	nl_parse_after(&a, options, sizeof(opt));
	if (a.at[TCA_NETEM_RATE] || a.at[TCA_NETEM_LOSS] || a.at[TCA_NETEM_SLOT])
		return false;
	return add_value(s, find_key("netem", "limit"), opt.limit) &&
	       add_value(s, find_key("netem", "delay"), nl_u64(a.at[TCA_NETEM_LATENCY64])) &&
	       add_value(s, find_key("netem", "loss"),
			 ((uint64_t)opt.loss * MILLION + UINT32_MAX / 2) / UINT32_MAX);
}

static bool take_attrs(struct spec *s, const struct nlattr *options)
{
	struct nl_attrs a;

	nl_parse_nest(&a, options);
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (!strcmp(fixed[i].kind, s->kind) && a.at[fixed[i].attr] &&
		    nl_u32(a.at[fixed[i].attr]) != fixed[i].normal)
			return false;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct key *k = &keys[i];
		if (strcmp(k->kind, s->kind) != 0 || !k->word || !a.at[k->attr])
			continue;
		uint64_t v = nl_u32(a.at[k->attr]);
		if (k->unit == RATE && v == UINT32_MAX)
			continue; /* no limit, which is what leaving it out means */
		if (!add_value(s, k, k->unit == RATE ? v * 8 : v))
			return false;
	}
	return true;
}

static bool take_options(struct spec *s, const struct nlattr *options)
{
	const struct key *k = find_key(s->kind, NULL);

	if (!k || k->unread)
		return false;
	if (k->place == AS_LIMIT)
		return add_value(s, k, nl_u32(options));
	if (k->place == AS_TBF_RATE)
		return take_tbf(s, options);
	if (k->place == AS_NETEM_LIMIT)
		return take_netem(s, options);
	return take_attrs(s, options);
}

static int take_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *m = nl_header(nlh, sizeof(*m));
	struct root *root = arg;
	struct nl_attrs a;
	struct spec s = {0};

	if (!m || nlh->nlmsg_type != RTM_NEWQDISC || m->tcm_ifindex != root->index)
		return 0;
	nl_parse(&a, nlh, sizeof(*m));
	nl_str(a.at[TCA_KIND], s.kind, sizeof(s.kind));
	if (m->tcm_parent != TC_H_ROOT) {
		/* The kernel's own below tbf and mq have no number. */
		root->others += m->tcm_handle != 0 && m->tcm_parent != TC_H_INGRESS;
		if (!m->tcm_handle)
			snprintf(root->leaf, sizeof(root->leaf), "%s", s.kind);
		return 0;
	}
	root->handle = m->tcm_handle;
	snprintf(root->kind, sizeof(root->kind), "%s", s.kind);
	if (m->tcm_handle)
		root->unknown =
			!take_options(&s, a.at[TCA_OPTIONS]) || put_spec(&s, root->text) < 0;
	return 0;
}

static int count_filter(const struct nlmsghdr *nlh, void *arg)
{
	*(unsigned *)arg += nlh->nlmsg_type == RTM_NEWTFILTER;
	return 0;
}

static unsigned count_filters(struct sys_nl *nl, const struct root *root)
{
	struct nl_req r;
	unsigned n = 0;
	struct tcmsg *m = nl_req(&r, RTM_GETTFILTER, NLM_F_DUMP, sizeof(*m));

	m->tcm_ifindex = root->index;
	m->tcm_parent = TC_H_ROOT;
	nl_talk(nl, &r, count_filter, &n, "listing filters", NULL);
	return n;
}

int sys_qdisc_text(struct sys_nl *nl, const char *name, char dst[SYS_VALUE_CAP], struct weir_err *e)
{
	struct root root = {.index = nl_index(nl, name, e)};
	struct nl_req r;
	int ret;

	if (root.index < 0)
		return root.index;
	nl_req(&r, RTM_GETQDISC, NLM_F_DUMP, sizeof(struct tcmsg));
	ret = nl_talk(nl, &r, take_qdisc, &root, "listing queue disciplines", e);
	if (ret < 0)
		return ret;
	if (root.others || count_filters(nl, &root))
		return err_set(e, WEIR_LIMIT, EBUSY,
			       "the queue discipline %s has classes or filters: it is left alone",
			       root.kind);
	if (root.unknown)
		return err_set(e, WEIR_LIMIT, ERANGE,
			       "the queue discipline %s has options that weir could not put back",
			       root.kind);
	if (root.handle)
		snprintf(dst, SYS_VALUE_CAP, "%s", root.text);
	else
		snprintf(dst, SYS_VALUE_CAP, SYS_TC_DEFAULT "%s%s%s%s", root.kind[0] ? " " : "",
			 root.kind, root.leaf[0] ? " " : "", root.leaf);
	return 0;
}
