/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of a host that is looked at from elsewhere, in the texts that a shell there prints: files of
 * sysfs with their names before them, tc's own page, kernel threads by name. Here the same comes by
 * netlink and by descriptors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define CPU_MAX 8192

static const char *next(const char *p)
{
	p += strcspn(p, "\n");
	return *p ? p + 1 : p;
}

/* Digits alone, which a blank or the line's end follows. */
static bool number(const char *s, uint64_t *v)
{
	char *end;

	if (*s < '0' || *s > '9' || strspn(s, "0123456789") > 20)
		return false;
	*v = strtoull(s, &end, 10);
	return !*end || strchr(" \t\r\n,)bp", *end);
}

/* Names as netlink's here: what a driver counts as an error is of a kind of its own. */
static const char *name_of(const char *file, size_t n)
{
	static const struct {
		const char *file, *name;
	} known[] = {{"rx_missed_errors", "rx_missed"}, {"rx_fifo_errors", "rx_fifo"}};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (n == strlen(known[i].file) && !memcmp(file, known[i].file, n))
			return known[i].name;
	}
	return NULL;
}

void host_parse_statistics(struct host_table *t, const char *text)
{
	static const char net[] = "/sys/class/net/", dir[] = "/statistics/", speed[] = "/speed:";

	for (const char *p = text; *p; p = next(p)) {
		const char *iface = p + sizeof(net) - 1, *file, *name;
		size_t n, n_file;
		uint64_t v;

		if (strncmp(p, net, sizeof(net) - 1) != 0)
			continue;
		n = strcspn(iface, "/\n");
		file = iface + n;
		if (!strncmp(file, speed, sizeof(speed) - 1) &&
		    number(file + sizeof(speed) - 1, &v))
			host_table_put(t, HOST_IFACE, -1, iface, n, "speed_mbps", 10, 0, v);
		if (!n || strncmp(file, dir, sizeof(dir) - 1) != 0)
			continue;
		file += sizeof(dir) - 1;
		n_file = strcspn(file, ":\n");
		if (file[n_file] != ':' || !n_file || !number(file + n_file + 1, &v))
			continue;
		name = name_of(file, n_file);
		if (name)
			n_file = strlen(name);
		host_table_put(t, HOST_IFACE, -1, iface, n, name ? name : file, n_file, 64, v);
	}
}

/* The number behind a word of the line; false: none. */
static bool after(const char *line, const char *word, uint64_t *v)
{
	size_t n = strcspn(line, "\n"), len = strlen(word);

	for (size_t i = 0; i + len < n; i++) {
		if (!strncmp(line + i, word, len) && number(line + i + len, v))
			return true;
	}
	return false;
}

/*
 * "qdisc tbf 8001: dev eth0 root refcnt 2 …", then
 * " Sent 1 bytes 2 pkt (dropped 3, overlimits 4 requeues 5)" and " backlog 0b 0p requeues 0".
 */
void host_parse_qdiscs(struct host_table *t, const char *text)
{
	static const struct {
		const char *word, *name;
		unsigned bits;
	} rows[] = {{" bytes ", "packets", 64},
		    {"(dropped ", "drops", 32},
		    {"overlimits ", "overlimits", 32},
		    {"requeues ", "requeues", 32}};
	char kind[16], handle[12], dev[17], parent[16], of[HOST_KEY_OF + 48] = "";
	int n = 0;

	for (const char *p = text; *p; p = next(p)) {
		if (!strncmp(p, "qdisc ", 6)) {
			int got = sscanf(p, "qdisc %15s %11s dev %16s parent %15s", kind, handle,
					 dev, parent);

			n = got >= 3 ? snprintf(of, sizeof(of), "%s %s %s", dev, kind,
						got == 4 ? parent : "root")
				     : 0;
			continue;
		}
		for (size_t i = 0; n && i < ARRAY_LEN(rows) && !strncmp(p, " Sent ", 6); i++) {
			uint64_t v;

			if (after(p, rows[i].word, &v))
				host_table_put(t, HOST_QDISC, -1, of, (size_t)n, rows[i].name,
					       strlen(rows[i].name), rows[i].bits, v);
		}
	}
}

void host_parse_ksoftirqd(struct host_table *t, const char *text)
{
	static const char name[] = "ksoftirqd/";

	for (const char *p = text; *p; p = next(p)) {
		const char *q = p + sizeof(name) - 1;
		uint64_t cpu;

		if (strncmp(p, name, sizeof(name) - 1) != 0 || !number(q, &cpu) || cpu >= CPU_MAX)
			continue;
		q += strspn(q, "0123456789");
		host_parse_schedstat(t, HOST_KSOFTIRQD, (int)cpu, q, "");
	}
}
