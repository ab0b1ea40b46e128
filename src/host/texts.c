/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts of a host that a shell elsewhere tells: what its files say, with their names, as one answer, which
 * then stands for its /proc, /sys and /etc. The answer is foreign: a name in it is only a name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define ENTRIES_MAX 20000

struct entry {
	char *path, *text;
};
struct host_texts {
	struct entry *v;
	size_t n;
	char *all; /* what the entries point into */
};

/* ---- asking ------------------------------------------------------------------------- */

/* Files of several lines, each a text of its own after the first, which has all others. */
static const char *const whole[] = {"/proc/cpuinfo",
				    "/proc/meminfo",
				    "/proc/stat",
				    "/proc/modules",
				    "/proc/interrupts",
				    "/etc/os-release",
				    "/proc/cmdline",
				    "/proc/net/ip_tables_names",
				    "/proc/net/ip6_tables_names"};

#define CPU "/sys/devices/system/cpu/"
#define NET "/sys/class/net/*/"
#define SYS "/proc/sys/"
static const char ask_lines[] =
	"grep -Hs . " SYS "kernel/* " SYS "kernel/random/boot_id " SYS "vm/swappiness " SYS
	"net/core/* " SYS "net/ipv4/* " SYS "net/ipv4/conf/all/* " SYS
	"net/ipv4/conf/default/* " SYS "net/ipv6/conf/all/* " SYS "net/bridge/* " SYS
	"net/netfilter/* "
	"/sys/class/dmi/id/product_name /sys/devices/system/node/online "
	"/sys/devices/system/clocksource/clocksource0/*_clocksource "
	"/sys/kernel/mm/transparent_hugepage/enabled " CPU "* " CPU "smt/control " CPU
	"cpufreq/boost " CPU "intel_pstate/no_turbo " CPU "vulnerabilities/* " CPU "cpuidle/* " CPU
	"cpu0/cache/index*/* " CPU "cpu0/topology/core_cpus_list " CPU "cpu0/cpuidle/*/name " CPU
	"cpu0/cpuidle/*/disable " CPU "cpu*/cpufreq/scaling_* " NET "mtu " NET "speed " NET
	"tx_queue_len " NET "gro_flush_timeout " NET "napi_defer_hard_irqs " NET "threaded " NET
	"queues/*/rps_cpus " NET "queues/*/rps_flow_cnt " NET "queues/*/xps_cpus " NET
	"queues/*/byte_queue_limits/limit_max /proc/irq/*/effective_affinity_list "
	"/proc/irq/*/smp_affinity_list /etc/openwrt_release "
	"/sys/fs/cgroup/system.slice/*.service/cgroup.procs "
	"/sys/fs/cgroup/systemd/system.slice/*.service/cgroup.procs; "
	"for d in " NET "device " NET
	"device/driver; do [ -L $d ] && echo $d:$(readlink $d); done; "
	"for s in /etc/rc.d/S*; do [ -e $s ] && echo $s:yes; done";

void host_facts_ask(struct buf *b)
{
	buf_printf(b, " { %s; } 2>/dev/null; printf '\\000';", ask_lines);
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		buf_printf(b, " cat %s 2>/dev/null; printf '\\000';", whole[i]);
}

size_t host_facts_answers(void)
{
	return 1 + ARRAY_LEN(whole);
}

/* ---- what came ------------------------------------------------------------------------ */

static bool add(struct host_texts *t, char *path, char *text)
{
	if (t->n >= ENTRIES_MAX)
		return false;
	t->v[t->n++] = (struct entry){path, text};
	return true;
}

/* "path:text" lines. */
static void add_lines(struct host_texts *t, char *p)
{
	char *save = NULL;

	for (char *line = strtok_r(p, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');

		if (line[0] != '/' || !colon)
			continue;
		*colon = '\0';
		if (!add(t, line, colon + 1))
			return;
	}
}

static void take(struct host_texts *t, size_t n)
{
	char *p = t->all, *end = t->all + n;
	char *next = p + strlen(p) + 1;

	add_lines(t, p);
	for (size_t i = 0; i < ARRAY_LEN(whole) && next < end; i++) {
		p = next;
		next = p + strlen(p) + 1;
		if (*p)
			add(t, (char *)(uintptr_t)whole[i], p);
	}
}

int host_texts_new(const char *answer, size_t n, struct host_texts **out)
{
	struct host_texts *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (t) {
		t->all = malloc(n + 1);
		t->v = calloc(ENTRIES_MAX, sizeof(*t->v));
	}
	if (!t || !t->all || !t->v) {
		host_texts_free(t);
		return -ENOMEM;
	}
	memcpy(t->all, answer, n);
	t->all[n] = '\0';
	take(t, n);
	*out = t;
	return 0;
}

void host_texts_free(struct host_texts *t)
{
	if (!t)
		return;
	free(t->all);
	free(t->v);
	free(t);
}

const char *host_texts_get(const struct host_texts *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!strcmp(t->v[i].path, path))
			return t->v[i].text;
	}
	return NULL;
}

static bool is_listed(char *const *names, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	}
	return false;
}

size_t host_texts_list(const struct host_texts *t, const char *dir, char **names, size_t cap)
{
	size_t n = 0, len = strlen(dir);

	for (size_t i = 0; i < t->n && n < cap; i++) {
		const char *name = t->v[i].path + len + 1;
		size_t k;

		if (strncmp(t->v[i].path, dir, len) != 0 || t->v[i].path[len] != '/')
			continue;
		k = strcspn(name, "/");
		if (k && !is_listed(names, n, name, k) && (names[n] = strndup(name, k)))
			n++;
	}
	return n;
}
