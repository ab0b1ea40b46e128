/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of host share among themselves. */
#ifndef WEIR_HOST_PRIV_H
#define WEIR_HOST_PRIV_H

#include "host/host.h"

/* ---- files (root.c) ------------------------------------------------------- */

struct host_texts;
struct host_root {
	int fd; /* of the folder that stands for /; -1 = the machine itself */
	const struct host_texts *texts; /* or these stand for it */
};
/* Of an answer to host_facts_ask() (texts.c). */
int host_texts_new(const char *answer, size_t n, struct host_texts **out);
void host_texts_free(struct host_texts *t);
const char *host_texts_get(const struct host_texts *t, const char *path); /* NULL: not there */
size_t host_texts_list(const struct host_texts *t, const char *dir, char **names, size_t cap);
int host_root_open(const char *dir, struct host_root *r, struct weir_err *e);
void host_root_close(struct host_root *r);
static inline bool host_root_is_copy(const struct host_root *r)
{
	return r->fd >= 0 || r->texts;
}
/* The first cap - 1 bytes, without newlines and NULs at the end. Length or -errno. */
ssize_t host_read(const struct host_root *r, char *dst, size_t cap, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
int host_read_i64(const struct host_root *r, int64_t *v, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Names in a folder, sorted with numbers as numbers, no hidden ones: count or -errno. */
#define HOST_LIST_MAX 1024
int host_list(const struct host_root *r, char ***names, const char *fmt, ...) PRINTF_LIKE(3, 4);
void host_list_free(char **names, int n);
/* The last name of a link's target. */
bool host_link_name(const struct host_root *r, char *dst, size_t cap, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* ---- facts (facts_*.c) ----------------------------------------------------- */

#define HOST_TEXT_MAX    128
#define HOST_CPUINFO_MAX (64U << 10)
#define HOST_STAT_MAX    (256U << 10)
/* What is not known is null, which is not the same as absent: this machine was asked. */
void host_put(struct jw *w, const char *key, const char *text); /* NULL or "" = unknown */
void host_put_file(struct jw *w, const struct host_root *r, const char *key, const char *path);
void host_put_i64(struct jw *w, const struct host_root *r, const char *key, const char *path);

void host_facts_cpu(struct jw *w, const struct host_root *r);
void host_facts_memory(struct jw *w, const struct host_root *r);
void host_facts_ifaces(struct jw *w, const struct host_root *r, const char *only);
void host_facts_sysctl(struct jw *w, const struct host_root *r);
void host_facts_modules(struct jw *w, const struct host_root *r);
void host_facts_netfilter(struct jw *w, const struct host_root *r);
void host_facts_services(struct jw *w, const struct host_root *r);
void host_facts_boot(struct jw *w, const struct host_root *r);

/* The words of a kernel command line that change a measurement, as members; the rest is counted. */
void host_cmdline_put(struct jw *w, const char *text);
/* Whether a word is in a line, set off by what is no letter or digit before and no digit after. */
bool host_has_word(const char *line, size_t n, const char *word);
/* /proc/interrupts: the numbers of the lines whose name has one of the words (NULL-terminated) in it,
 * set off by what is no letter or digit before and no digit after. Count, at most cap. */
size_t host_irqs_of(const char *text, const char *const *words, int *irqs, size_t cap);
/* /proc/modules. */
void host_modules_put(struct jw *w, const char *text);
/* "[always] madvise never": the chosen one; false when there is none. */
bool host_chosen(const char *text, char *dst, size_t cap);
/* The first value of "key : value" lines. */
bool host_cpuinfo(const char *text, const char *key, char *dst, size_t cap);
/* "32K", "1024K", "8M" of a cache's size; 0 = unknown. */
uint64_t host_cache_bytes(const char *text);
/* /proc/stat: whether hard interrupts have a time of their own: 1, 0, or -1 when it does not tell. */
int host_irq_accounted(const char *stat);
/* So many interrupts take longer than a tick: a sum of 0 means that nobody sums. */
#define HOST_MANY_IRQS 100000
bool host_steal_share(const char *stat, double *share); /* of all time since boot */

/* Whether a driver's counter is of packets that found no receive buffer (figures.c). */
bool host_is_ring(const char *name);

/* ---- texts of counters (counters.c) ----------------------------------------- */

#define HOST_KEYS_MAX   32768
#define HOST_MISSES_MAX 4096 /* rows of a round that are not where they were */
struct host_table {
	struct host_key *keys;
	uint64_t *v;
	uint32_t *seen; /* the round in which each had a value last */
	size_t n, cap, at, misses;
	uint32_t round;
};
void host_table_begin(struct host_table *t); /* a new round */
void host_table_put(struct host_table *t, enum host_group g, int cpu, const char *of, size_t n_of,
		    const char *name, size_t n_name, unsigned bits, uint64_t v);
void host_table_fini(struct host_table *t);

void host_parse_stat(struct host_table *t, const char *text);
void host_parse_softirqs(struct host_table *t, const char *text);
void host_parse_interrupts(struct host_table *t, const char *text);
void host_parse_softnet(struct host_table *t, const char *text);
void host_parse_snmp(struct host_table *t, const char *text); /* and netstat */
void host_parse_snmp6(struct host_table *t, const char *text);
/* "/sys/class/net/eth0/statistics/rx_bytes:12" and "/sys/class/net/eth0/speed:1000". */
void host_parse_statistics(struct host_table *t, const char *text);
void host_parse_qdiscs(struct host_table *t, const char *text);    /* tc -s qdisc */
void host_parse_ksoftirqd(struct host_table *t, const char *text); /* "ksoftirqd/0 1 2 3" */
void host_parse_dev(struct host_table *t, const char *text);
void host_parse_pressure(struct host_table *t, const char *text, const char *what);
void host_parse_schedstat(struct host_table *t, enum host_group g, int cpu, const char *text,
			  const char *of);

#endif
