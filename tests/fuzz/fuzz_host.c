/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts of /proc as a hostile kernel, container or copied folder could have them. The first byte
 * chooses the parser; what comes out as JSON must be JSON.
 */
#include <string.h>

#include "fuzz.h"
#include "host/priv.h"

static void check_json(const struct buf *b)
{
	struct js_doc *d;

	/* A name twice is one name's fault, not the writer's. */
	if (js_parse(b->data, b->len, &js_limits_file, &d, NULL) == 0)
		js_free(d);
	FUZZ_CHECK(!b->failed && b->data[0] == '{' && b->data[b->len - 1] == '}');
}

static void put(void (*parser)(struct jw *w, const char *text), const char *text)
{
	struct buf b = {0};
	struct jw w = jw_init(&b);

	jw_obj(&w, NULL);
	parser(&w, text);
	jw_end_obj(&w);
	check_json(&b);
	buf_fini(&b);
}

/* Of a host that is asked by ssh. */
static void answer(const char *text, size_t n)
{
	struct buf b = {0};

	FUZZ_CHECK(host_facts_answered(&b, text, n, NULL, NULL) >= 0);
	check_json(&b);
	buf_fini(&b);
}

static void small(const char *text)
{
	static const char *const words[] = {"eth0", "virtio0", NULL};
	char value[HOST_TEXT_MAX];
	double share;
	int irqs[8];

	FUZZ_CHECK(host_irqs_of(text, words, irqs, ARRAY_LEN(irqs)) <= ARRAY_LEN(irqs));
	host_chosen(text, value, sizeof(value));
	host_cpuinfo(text, "model name", value, sizeof(value));
	host_cache_bytes(text);
	host_irq_accounted(text);
	if (host_steal_share(text, &share))
		FUZZ_CHECK(share >= 0 && share <= 1);
}

static void pressure(struct host_table *t, const char *text)
{
	host_parse_pressure(t, text, "cpu");
}

static void schedstat(struct host_table *t, const char *text)
{
	host_parse_schedstat(t, HOST_THREAD, -1, text, "1");
}

/* The same text again finds each row again. */
static void counters(char which, const char *text)
{
	void (*const parsers[])(struct host_table * t, const char *text) = {host_parse_stat,
									    host_parse_softirqs,
									    host_parse_interrupts,
									    host_parse_softnet,
									    host_parse_snmp,
									    host_parse_snmp6,
									    host_parse_dev,
									    pressure,
									    schedstat,
									    host_parse_statistics,
									    host_parse_qdiscs,
									    host_parse_ksoftirqd};
	struct host_table t = {0};
	size_t n;

	host_table_begin(&t);
	parsers[which - '0'](&t, text);
	n = t.n;
	host_table_begin(&t);
	parsers[which - '0'](&t, text);
	FUZZ_CHECK(t.n == n && n <= HOST_KEYS_MAX);
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(t.seen[i] == t.round && t.keys[i].cpu < 8192);
		FUZZ_CHECK(t.keys[i].n_name < HOST_KEY_NAME && t.keys[i].n_of < HOST_KEY_OF);
	}
	host_table_fini(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = n ? strndup((const char *)data + 1, n - 1) : NULL;

	if (!text)
		return 0;
	if (data[0] == 'a')
		answer((const char *)data + 1, n - 1);
	else if (data[0] == 'c')
		put(host_cmdline_put, text);
	else if (data[0] == 'm')
		put(host_modules_put, text);
	else if (data[0] >= '0' && data[0] <= ';')
		counters((char)data[0], text);
	else
		small(text);
	free(text);
	return 0;
}
