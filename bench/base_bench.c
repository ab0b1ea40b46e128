/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the innermost calls of base cost: one line each, nanoseconds per operation. With a
 * name and a count only that one runs, so that callgrind can count its instructions, which
 * are the same on a busy machine.
 *
 *   base_bench [NAME [COUNT]]
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 4096 /* a power of two; latencies from 1 us to 1 s */

struct bench {
	uint64_t values[VALUES];
	struct hist *hist;
	struct buf out;
};

static void hist_records(struct bench *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		hist_record(b->hist, b->values[i % VALUES]);
}

static void uvarints(struct bench *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (i % VALUES == 0)
			buf_clear(&b->out);
		buf_uvarint(&b->out, b->values[i % VALUES]);
	}
}

/* One flow's interval as a line of NDJSON, as a sampler tick writes it. */
static void ticks(struct bench *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = b->values[i % VALUES];
		struct jw w = jw_init(&b->out);
		buf_clear(&b->out);
		jw_obj(&w, NULL);
		jw_str(&w, "type", "frame");
		jw_u64(&w, "part", 3);
		jw_u64(&w, "t0", i * 1000000000);
		jw_u64(&w, "t1", (i + 1) * 1000000000);
		jw_str(&w, "dir", "up");
		jw_u64(&w, "bytes", v);
		jw_u64(&w, "retransmits", v & 7);
		jw_f64(&w, "rtt", (double)v * 1e-9);
		jw_f64(&w, "goodput", (double)v * 8);
		jw_end_obj(&w);
		buf_putc(&b->out, '\n');
	}
}

static void parses(struct bench *b, uint64_t n)
{
	static const char text[] =
		"{\"tcp\":true,\"omit\":0,\"time\":10,\"num\":0,\"parallel\":4,"
		"\"len\":131072,\"pacing_timer\":1000,\"client_version\":\"3.12\"}";
	(void)b;
	for (uint64_t i = 0; i < n; i++) {
		struct js_doc *d;
		if (!js_parse(text, sizeof(text) - 1, &js_limits_params, &d, NULL))
			js_free(d);
	}
}

static const struct {
	const char *name;
	void (*run)(struct bench *b, uint64_t n);
	uint64_t count;
} rows[] = {
	{"hist_record", hist_records, 20000000},
	{"buf_uvarint", uvarints, 20000000},
	{"jw_tick", ticks, 300000},
	{"js_parse", parses, 100000},
};

static bool setup(struct bench *b)
{
	uint64_t x = 88172645463325252ULL; /* xorshift: the same values in each run */
	b->hist = hist_new();
	for (size_t i = 0; i < VALUES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		b->values[i] = 1000 + (x >> (34 + x % 20));
	}
	return b->hist;
}

/* The best of five: what disturbs a run only makes it slower. */
static void measure(struct bench *b, size_t row, uint64_t count, int times)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < times; i++) {
		int64_t t0 = clk_thread_cpu_ns();
		rows[row].run(b, count);
		int64_t t = clk_thread_cpu_ns() - t0;
		best = t < best ? t : best;
	}
	printf("%-12s %10.2f ns/op\n", rows[row].name, (double)best / (double)count);
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	bool any = false;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	if (!setup(&b))
		return EXIT_FAILURE;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (argc > 1 && strcmp(argv[1], rows[i].name) != 0)
			continue;
		any = true;
		measure(&b, i, count ? count : rows[i].count, count ? 1 : 5);
	}
	if (!any)
		fprintf(stderr, "%s: no such benchmark\n", argv[1]);
	hist_free(b.hist);
	buf_fini(&b.out);
	return any ? EXIT_SUCCESS : 2;
}
