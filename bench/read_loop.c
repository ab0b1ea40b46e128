/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What reading pasted text costs: megabytes a second over a log of many reports, milliseconds for a
 * mail, and whether twice the text takes twice the time, also where it is written to annoy a reader.
 *
 *   read_loop [MAIL…] [-l FILE…]   beside the built-in texts also these: each once, and each as a log that
 *                                  has it over and over
 */
#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char report[] =
	"$ iperf3 -c 198.18.0.2 -t 4\n"
	"Connecting to host 198.18.0.2, port 5201\n"
	"[  5] local 198.18.0.1 port 41002 connected to 198.18.0.2 port 5201\n"
	"[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
	"[  5]   0.00-1.00   sec  64.2 MBytes   538 Mbits/sec    3    361 KBytes\n"
	"[  5]   1.00-2.00   sec  65.0 MBytes   545 Mbits/sec    0    402 KBytes\n"
	"[  5]   2.00-3.00   sec  63.8 MBytes   535 Mbits/sec    1    310 KBytes\n"
	"[  5]   3.00-4.00   sec  64.6 MBytes   542 Mbits/sec    0    388 KBytes\n"
	"- - - - - - - - - - - - - - - - - - - - - - - - -\n"
	"[ ID] Interval           Transfer     Bitrate         Retr\n"
	"[  5]   0.00-4.00   sec   258 MBytes   540 Mbits/sec    4             sender\n"
	"[  5]   0.00-4.01   sec   257 MBytes   538 Mbits/sec                  receiver\n"
	"\n"
	"iperf Done.\n"
	"and then somebody wrote a line about what it might mean\n\n";

static const struct {
	const char *name, *unit;
} texts[] = {
	{"many iperf3 reports", report},
	{"one row for ever", "[  5] 0.00-1.00 sec 1.00 MBytes 8.39 Mbits/sec 0 1.00 KBytes\n"},
	{"brackets", "[ 5] [ 5] [ ID] [SUM] "},
	{"open braces", "{\"start\":{\"streams\":[{\"bytes\":1,"},
	{"entities", "&amp;amp;amp;gt; &lt;br&gt; <br <br <td"},
	{"soft breaks", "a=\n=3D=20=\n>> =C2=A0 "},
	{"marks and escapes", "> > > \033[1m\033[0;1;2;3;4;5m\r> # 8: "},
	{"nttcp heads", "Bytes Real s CPU s Real-MBit/s CPU-MBit/s Calls Real-C/s CPU-C/s l 1 "},
	{"netperf banners", "MIGRATED TCP STREAM TEST from a to b 1 2 3 THROUGHPUT=1 "},
	{"numbers", "1 2 3 4.5 6.78 9e9 - 20230101010101,1,2,3,4,5,6,7,8,9 "},
	{"prose", "the quick brown fox jumps over the lazy dog. Then it sleeps,\nand so on\n"},
};

struct repeat {
	const char *unit;
	size_t n, at, left;
};

static int64_t pull(void *arg, char *dst, size_t cap)
{
	struct repeat *r = arg;
	size_t n = 0;

	while (n < cap && r->left) {
		size_t k = r->n - r->at;

		k = k < cap - n ? k : cap - n;
		k = k < r->left ? k : r->left;
		memcpy(dst + n, r->unit + r->at, k);
		r->at = (r->at + k) % r->n;
		r->left -= k;
		n += k;
	}
	return (int64_t)n;
}

static int count(void *arg, const struct format_found *f)
{
	(void)f;
	++*(size_t *)arg;
	return 0;
}

static size_t found;
static int count_found(void *arg, const struct format_found *f)
{
	(void)arg;
	return count(&found, f);
}

/* Processor seconds for that many bytes of it; the best of three. */
static double seconds(const char *unit, size_t len, size_t bytes)
{
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		struct repeat r = {.unit = unit, .n = len, .left = bytes};
		struct format_reading how = {.pull = pull, .found = count_found, .arg = &r};
		int64_t t0 = clk_thread_cpu_ns();
		double s;

		found = 0;
		if (format_read_text(&how, NULL, NULL) < 0)
			return -1;
		s = (double)(clk_thread_cpu_ns() - t0) / 1e9;
		best = s < best ? s : best;
	}
	return best;
}

static void row(const char *name, const char *unit, size_t len, size_t n)
{
	double one = seconds(unit, len, n), two = seconds(unit, len, 2 * n);

	printf("%-32s %10.1f %12.2f %10zu\n", name, (double)(2 * n) / 1e6 / two, two / one, found);
}

/* Logs of one report over and over: what there is for each kind. */
static void time_logs(char **path, size_t n)
{
	static char text[1u << 20];

	for (size_t i = 0; i < n; i++) {
		const char *name = strrchr(path[i], '/');
		FILE *f = fopen(path[i], "rb");
		size_t len = f ? fread(text, 1, sizeof(text) - 2, f) : 0;

		if (f)
			fclose(f);
		memcpy(text + len, "\n\n", 2);
		if (len)
			row(name ? name + 1 : path[i], text, len + 2, (size_t)4 << 20);
	}
}

static void time_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = malloc(64u << 20);
	size_t n = f && text ? fread(text, 1, 64u << 20, f) : 0, reports = 0;
	struct format_reading how = {.found = count, .arg = &reports};
	int64_t t0 = clk_thread_cpu_ns();

	format_read_string(text ? text : "", n, &how, NULL, NULL);
	printf("%-32s %8zu bytes %8.3f ms %6zu reports\n", path, n,
	       (double)(clk_thread_cpu_ns() - t0) / 1e6, reports);
	if (f)
		fclose(f);
	free(text);
}

int main(int argc, char **argv)
{
	size_t n = (size_t)8 << 20;
	struct rusage ru;

	printf("%-32s %10s %12s %10s\n", "text", "MB/s", "T(2n)/T(n)", "reports");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		row(texts[i].name, texts[i].unit, strlen(texts[i].unit), n);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-l")) {
			time_logs(argv + i + 1, (size_t)(argc - i - 1));
			break;
		}
		time_file(argv[i]);
	}
	getrusage(RUSAGE_SELF, &ru);
	printf("most memory: %.1f MB\n", (double)ru.ru_maxrss / 1024);
	return 0;
}
