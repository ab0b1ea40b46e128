/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of /proc/net/snmp and netstat: pairs of lines, the names of a group and then its
 * values in the same order. Read by name, because each kernel has its own set.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sys/priv.h"
#include "sys/sys.h"

#define SNMP_MAX (256U << 10)

/* The line that starts with "group:", from at; NULL when there is none. */
static const char *find_group(const char *at, const char *group)
{
	size_t n = strlen(group);

	while (at && !(strncmp(at, group, n) == 0 && at[n] == ':')) {
		at = strchr(at, '\n');
		if (at)
			at++;
	}
	return at;
}

/* The place of a word after the first of a line; 0 = not there. */
static size_t word_place(const char *line, const char *word)
{
	size_t len = strcspn(line, "\n"), n = strlen(word), place = 0;
	const char *end = line + len;

	while (line < end) {
		size_t w = strcspn(line, " \n");
		if (place && w == n && memcmp(line, word, n) == 0)
			return place;
		line += w;
		line += line < end && *line == ' ';
		place++;
	}
	return 0;
}

static int word_at(const char *line, size_t place, int64_t *v)
{
	char text[32];

	for (; place; place--) {
		line += strcspn(line, " \n");
		if (*line != ' ')
			return -EBADMSG;
		line++;
	}
	size_t n = strcspn(line, " \n");
	if (n == 0 || n >= sizeof(text))
		return -EBADMSG;
	memcpy(text, line, n);
	text[n] = '\0';
	return sys_parse_i64(text, v);
}

int sys_snmp_parse(const char *text, const char *group, const char *name, int64_t *v)
{
	const char *names = find_group(text, group);
	size_t place = names ? word_place(names, name) : 0;

	if (!place)
		return -ENOENT;
	const char *values = strchr(names, '\n');
	values = values ? find_group(values + 1, group) : NULL;
	return values ? word_at(values, place, v) : -EBADMSG;
}

int sys_snmp_get(const char *group, const char *name, int64_t *v)
{
	/* The thread's own namespace: /proc/net is that of the first thread. */
	static const char *const files[] = {"/proc/thread-self/net/snmp",
					    "/proc/thread-self/net/netstat"};
	int ret = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(files) && ret == -ENOENT; i++) {
		struct buf b = {0};
		ret = sys_read_file(files[i], SNMP_MAX, &b, NULL);
		if (ret == 0)
			ret = b.data ? sys_snmp_parse(b.data, group, name, v) : -ENOENT;
		buf_fini(&b);
	}
	return ret;
}
