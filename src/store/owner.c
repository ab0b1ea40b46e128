/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run that is being written and a run whose weir was killed look the same in the file. The
 * writer's mark tells them apart: boot, pid namespace, thread and start time name one thread for
 * ever; it lives while /proc shows that number with that start time. It is the writing thread
 * and not its process: when a full disk ends the writing, nothing can be written to say so, and
 * a server would go on for months. From another pid namespace of the same boot nothing can be
 * seen, and the owner counts as alive.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/priv.h"

struct mark {
	char boot[40], ns[40];
	long pid;
	unsigned long long start;
};

static bool read_file(const char *path, char *dst, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, dst, cap - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	dst[n] = '\0';
	return true;
}

/* Field 22 of stat; the name in field 2 may hold anything, so count from its last ')'. */
static bool start_of(long pid, unsigned long long *start)
{
	char path[40], text[1024];
	char *p;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (!read_file(path, text, sizeof(text)) || !(p = strrchr(text, ')')))
		return false;
	for (int field = 2; field < 22 && p; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	if (!p)
		return false;
	*start = strtoull(p, NULL, 10);
	return true;
}

static bool mark_here(struct mark *m)
{
	ssize_t n = readlink("/proc/self/ns/pid", m->ns, sizeof(m->ns) - 1);

	if (n <= 0 || !read_file("/proc/sys/kernel/random/boot_id", m->boot, sizeof(m->boot)))
		return false;
	m->ns[n] = '\0';
	m->boot[strcspn(m->boot, "\n")] = '\0';
	m->pid = gettid();
	return start_of(m->pid, &m->start);
}

void store_owner_self(char dst[STORE_OWNER_MAX])
{
	struct mark m = {0};

	dst[0] = '\0';
	if (mark_here(&m))
		snprintf(dst, STORE_OWNER_MAX, "%s %s %ld %llu", m.boot, m.ns, m.pid, m.start);
}

bool store_owner_alive(const char *mark)
{
	struct mark m = {0}, here = {0};
	unsigned long long start;

	if (!mark || sscanf(mark, "%39s %39s %ld %llu", m.boot, m.ns, &m.pid, &m.start) != 4)
		return false;
	if (!mark_here(&here))
		return true;
	if (strcmp(m.boot, here.boot) != 0)
		return false;
	if (strcmp(m.ns, here.ns) != 0)
		return true;
	return start_of(m.pid, &start) && start == m.start;
}

long store_owner_pid(const char *mark)
{
	struct mark m = {0};

	return mark && sscanf(mark, "%39s %39s %ld", m.boot, m.ns, &m.pid) == 3 ? m.pid : 0;
}
