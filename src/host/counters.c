/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts of counters (/proc/stat, softirqs, softnet_stat, snmp, netstat, snmp6, dev, pressure,
 * interrupts, schedstat) as rows of {group, processor, of what, name, value}. A text comes again
 * and again in the same form, so each row is looked for where it was the last time; any other text
 * costs time, never more than a bounded number of rows.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

/* ---- the table ------------------------------------------------------------------- */

static bool same(const struct host_key *a, const struct host_key *b)
{
	return a->group == b->group && a->cpu == b->cpu && a->n_name == b->n_name &&
	       a->n_of == b->n_of && !memcmp(a->name, b->name, a->n_name) &&
	       !memcmp(a->of, b->of, a->n_of);
}

static bool grow(struct host_table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 256;
	void *p = reallocarray(t->keys, cap, sizeof(*t->keys));

	if (!p)
		return false;
	t->keys = p;
	p = reallocarray(t->v, cap, sizeof(*t->v));
	if (!p)
		return false;
	t->v = p;
	p = reallocarray(t->seen, cap, sizeof(*t->seen));
	if (!p)
		return false;
	t->seen = p;
	t->cap = cap;
	return true;
}

static size_t add_key(struct host_table *t, const struct host_key *k)
{
	if (t->n >= HOST_KEYS_MAX || (t->n == t->cap && !grow(t)))
		return SIZE_MAX;
	t->keys[t->n] = *k;
	t->seen[t->n] = 0;
	return t->n++;
}

/* Where it is, or where it is put now; SIZE_MAX where there is no room. A first round finds no row
 * that was there before; later ones look for few. */
static size_t place_of(struct host_table *t, const struct host_key *k)
{
	size_t i = t->at;

	if (i < t->n && same(&t->keys[i], k))
		return i;
	if (t->round > 1 && t->misses >= HOST_MISSES_MAX)
		return SIZE_MAX;
	t->misses += t->round > 1;
	for (i = t->round > 1 ? 0 : t->n; i < t->n; i++) {
		if (same(&t->keys[i], k))
			return i;
	}
	return add_key(t, k);
}

void host_table_put(struct host_table *t, enum host_group g, int cpu, const char *of, size_t n_of,
		    const char *name, size_t n_name, unsigned bits, uint64_t v)
{
	struct host_key k = {.group = g, .cpu = cpu, .bits = (uint8_t)bits};
	size_t i;

	k.n_of = (uint8_t)(n_of < HOST_KEY_OF ? n_of : HOST_KEY_OF - 1);
	k.n_name = (uint8_t)(n_name < HOST_KEY_NAME ? n_name : HOST_KEY_NAME - 1);
	memcpy(k.of, of, k.n_of);
	memcpy(k.name, name, k.n_name);
	i = place_of(t, &k);
	if (i == SIZE_MAX)
		return;
	t->v[i] = v;
	t->seen[i] = t->round;
	t->at = i + 1;
}

void host_table_begin(struct host_table *t)
{
	t->round++;
	t->at = 0;
	t->misses = 0;
}

void host_table_fini(struct host_table *t)
{
	free(t->keys);
	free(t->v);
	free(t->seen);
	*t = (struct host_table){0};
}

/* ---- words of a line ---------------------------------------------------------------- */

struct line {
	const char *p, *end;
};

static bool next_line(const char **text, struct line *l)
{
	if (!**text)
		return false;
	l->p = *text;
	l->end = l->p + strcspn(l->p, "\n");
	*text = l->end + (*l->end == '\n');
	return true;
}

static bool next_word(struct line *l, const char **word, size_t *n)
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
	*word = l->p;
	while (l->p < l->end && *l->p != ' ' && *l->p != '\t')
		l->p++;
	*n = (size_t)(l->p - *word);
	return *n > 0;
}

/* Decimal digits alone; false else, or beyond 64 bits. */
static bool to_u64(const char *s, size_t n, uint64_t *v)
{
	uint64_t x = 0;

	if (!n || n > 20)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned d = (unsigned)(s[i] - '0');

		if (d > 9 || x > (UINT64_MAX - d) / 10)
			return false;
		x = x * 10 + d;
	}
	*v = x;
	return true;
}

static bool next_u64(struct line *l, uint64_t *v)
{
	const char *w;
	size_t n;

	return next_word(l, &w, &n) && to_u64(w, n, v);
}

static bool next_hex(struct line *l, uint64_t *v)
{
	const char *w;
	size_t n;

	if (!next_word(l, &w, &n) || n > 16)
		return false;
	*v = 0;
	for (size_t i = 0; i < n; i++) {
		int c = tolower((unsigned char)w[i]);

		if (!isxdigit(c))
			return false;
		*v = *v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

#define CPU_MAX                       8192
#define PUT(t, g, cpu, name, bits, v) host_table_put(t, g, cpu, "", 0, name, strlen(name), bits, v)

/* ---- the texts ---------------------------------------------------------------------- */

/* Ticks are hundredths of a second, whatever the kernel's own clock. */
#define TICK_NS 10000000ULL

static void put_cpu_times(struct host_table *t, struct line *l, int cpu)
{
	static const char *const names[] = {"user",   "nice", "system",  "idle",
					    "iowait", "irq",  "softirq", "steal"};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_LEN(names) && next_u64(l, &v); i++)
		PUT(t, HOST_CPU, cpu, names[i], 64, v < UINT64_MAX / TICK_NS ? v * TICK_NS : 0);
}

void host_parse_stat(struct host_table *t, const char *text)
{
	static const char *const sums[] = {"intr", "ctxt", "processes"};
	const char *w;
	struct line l;
	uint64_t v;
	size_t n;

	while (next_line(&text, &l)) {
		if (!next_word(&l, &w, &n))
			continue;
		if (n > 3 && n < 8 && !memcmp(w, "cpu", 3) && to_u64(w + 3, n - 3, &v) &&
		    v < CPU_MAX)
			put_cpu_times(t, &l, (int)v);
		for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
			if (n == strlen(sums[i]) && !memcmp(w, sums[i], n) && next_u64(&l, &v))
				PUT(t, HOST_KERNEL, -1, sums[i], 64, v);
		}
	}
}

/* "CPU0 CPU2": the processors of a table's columns. */
static size_t columns(struct line *l, int cpus[CPU_MAX])
{
	const char *w;
	size_t n, count = 0;
	uint64_t v;

	while (count < CPU_MAX && next_word(l, &w, &n)) {
		if (n < 4 || memcmp(w, "CPU", 3) != 0 || !to_u64(w + 3, n - 3, &v) || v >= CPU_MAX)
			break;
		cpus[count++] = (int)v;
	}
	return count;
}

/* A name and a count for each processor a line. */
static void parse_columns(struct host_table *t, const char *text, enum host_group g,
			  void (*row)(struct host_table *t, enum host_group g, const char *name,
				      size_t n_name, const int *cpus, const uint64_t *v, size_t n,
				      struct line *rest))
{
	int *cpus = malloc(CPU_MAX * sizeof(*cpus));
	uint64_t *v = malloc(CPU_MAX * sizeof(*v));
	const char *name;
	struct line l;
	size_t n_name, n_cpus = 0;

	if (cpus && v && next_line(&text, &l))
		n_cpus = columns(&l, cpus);
	while (n_cpus && next_line(&text, &l)) {
		size_t n = 0;

		if (!next_word(&l, &name, &n_name) || name[n_name - 1] != ':')
			continue;
		while (n < n_cpus) {
			struct line before = l;

			if (!next_u64(&l, &v[n])) {
				l = before;
				break;
			}
			n++;
		}
		row(t, g, name, n_name - 1, cpus, v, n, &l);
	}
	free(cpus);
	free(v);
}

static void put_softirq(struct host_table *t, enum host_group g, const char *name, size_t n_name,
			const int *cpus, const uint64_t *v, size_t n, struct line *rest)
{
	(void)rest;
	for (size_t i = 0; i < n; i++)
		host_table_put(t, g, cpus[i], "", 0, name, n_name, 32, v[i]);
}

void host_parse_softirqs(struct host_table *t, const char *text)
{
	parse_columns(t, text, HOST_SOFTIRQ, put_softirq);
}

/* The last word is who it is of ("eth0-rx-0"); names like LOC are their own. */
static void put_interrupt(struct host_table *t, enum host_group g, const char *name, size_t n_name,
			  const int *cpus, const uint64_t *v, size_t n, struct line *rest)
{
	const char *last = "", *w;
	size_t n_last = 0, n_w;

	while (isdigit((unsigned char)*name) && next_word(rest, &w, &n_w)) {
		last = w;
		n_last = n_w;
	}
	for (size_t i = 0; i < n; i++) {
		if (v[i]) /* most are of one processor */
			host_table_put(t, g, cpus[i], last, n_last, name, n_name, 32, v[i]);
	}
}

void host_parse_interrupts(struct host_table *t, const char *text)
{
	parse_columns(t, text, HOST_IRQ, put_interrupt);
}

/* A line a processor; the thirteenth word says which, where it is there. */
void host_parse_softnet(struct host_table *t, const char *text)
{
	static const struct {
		size_t at;
		const char *name;
	} rows[] = {
		{0, "processed"}, {1, "dropped"}, {2, "squeezed"}, {9, "rps"}, {10, "flow_limit"}};
	struct line l;

	for (int line = 0; next_line(&text, &l) && line < CPU_MAX; line++) {
		uint64_t v[16];
		size_t n = 0;
		int cpu = line;

		while (n < ARRAY_LEN(v) && next_hex(&l, &v[n]))
			n++;
		if (n >= 13 && v[12] < CPU_MAX)
			cpu = (int)v[12];
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			if (rows[i].at < n)
				PUT(t, HOST_SOFTNET, cpu, rows[i].name, 32, v[rows[i].at]);
		}
	}
}

/* What rises and falls. */
static bool is_gauge(const char *name, size_t n)
{
	static const char *const names[] = {"CurrEstab", "RtoAlgorithm", "RtoMin",    "RtoMax",
					    "MaxConn",   "Forwarding",   "DefaultTTL"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (n == strlen(names[i]) && !memcmp(name, names[i], n))
			return true;
	}
	return false;
}

/* Pairs of lines: the names of a group, then its values. */
void host_parse_snmp(struct host_table *t, const char *text)
{
	const char *g, *g2, *name, *value;
	size_t n_g, n_g2, n_name, n_value;
	struct line names, values;
	uint64_t v;

	while (next_line(&text, &names) && next_line(&text, &values)) {
		if (!next_word(&names, &g, &n_g) || !next_word(&values, &g2, &n_g2) ||
		    n_g != n_g2 || n_g < 2 || memcmp(g, g2, n_g) != 0)
			return;
		while (next_word(&names, &name, &n_name) && next_word(&values, &value, &n_value)) {
			if (to_u64(value, n_value, &v)) /* or -1: not limited */
				host_table_put(t, HOST_SNMP, -1, g, n_g - 1, name, n_name,
					       is_gauge(name, n_name) ? 0 : 64, v);
		}
	}
}

void host_parse_snmp6(struct host_table *t, const char *text)
{
	const char *name;
	struct line l;
	size_t n;
	uint64_t v;

	while (next_line(&text, &l)) {
		if (next_word(&l, &name, &n) && next_u64(&l, &v))
			host_table_put(t, HOST_SNMP, -1, "6", 1, name, n, 64, v);
	}
}

static const char *const dev_names[] = {
	"rx_bytes",      "rx_packets",    "rx_errors",  "rx_dropped",   "rx_fifo",   "rx_frame",
	"rx_compressed", "rx_multicast",  "tx_bytes",   "tx_packets",   "tx_errors", "tx_dropped",
	"tx_fifo",       "tx_collisions", "tx_carrier", "tx_compressed"};

void host_parse_dev(struct host_table *t, const char *text)
{
	struct line l;
	uint64_t v;

	while (next_line(&text, &l)) {
		const char *name = l.p + strspn(l.p, " "),
			   *colon = memchr(l.p, ':', (size_t)(l.end - l.p));

		if (!colon || colon <= name || memchr(name, '|', (size_t)(colon - name)))
			continue;
		l.p = colon + 1;
		for (size_t i = 0; i < ARRAY_LEN(dev_names) && next_u64(&l, &v); i++)
			host_table_put(t, HOST_IFACE, -1, name, (size_t)(colon - name),
				       dev_names[i], strlen(dev_names[i]), 64, v);
	}
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" in microseconds. */
void host_parse_pressure(struct host_table *t, const char *text, const char *what)
{
	const char *kind, *w;
	size_t n_kind, n;
	struct line l;
	uint64_t v;

	while (next_line(&text, &l)) {
		if (!next_word(&l, &kind, &n_kind))
			continue;
		while (next_word(&l, &w, &n)) {
			if (n > 6 && !memcmp(w, "total=", 6) && to_u64(w + 6, n - 6, &v) &&
			    v < UINT64_MAX / 1000)
				host_table_put(t, HOST_PRESSURE, -1, what, strlen(what), kind,
					       n_kind, 64, v * 1000);
		}
	}
}

void host_parse_schedstat(struct host_table *t, enum host_group g, int cpu, const char *text,
			  const char *of)
{
	static const char *const names[] = {"run", "wait", "slices"};
	struct line l = {text, text + strcspn(text, "\n")};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_LEN(names) && next_u64(&l, &v); i++)
		host_table_put(t, g, cpu, of, strlen(of), names[i], strlen(names[i]), 64, v);
}
