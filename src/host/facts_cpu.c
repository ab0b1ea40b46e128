/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor and how it is run: topology, caches, clock, idle states, mitigations, and what the
 * kernel was told at boot. Two machines that "are the same" differ here first.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define CPU "/sys/devices/system/cpu"

/* ---- parsers -------------------------------------------------------------------- */

bool host_chosen(const char *text, char *dst, size_t cap)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close || close == open + 1)
		return false;
	snprintf(dst, cap, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

bool host_cpuinfo(const char *text, const char *key, char *dst, size_t cap)
{
	size_t n = strlen(key);

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		const char *v = p + n;

		if (strncmp(p, key, n) != 0)
			continue;
		v += strspn(v, "\t ");
		if (*v != ':')
			continue;
		v += 1 + strspn(v + 1, "\t ");
		snprintf(dst, cap, "%.*s", (int)strcspn(v, "\n"), v);
		return dst[0];
	}
	return false;
}

uint64_t host_cache_bytes(const char *text)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 10);

	if (end == text || v > UINT32_MAX)
		return 0;
	if (*end == 'K')
		return v << 10;
	return *end == 'M' ? v << 20 : *end == 'G' ? v << 30 : *end ? 0 : v;
}

int host_irq_accounted(const char *stat)
{
	unsigned long long v[7] = {0}, intr = 0;
	const char *line = strstr(stat, "\nintr ");

	if (sscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6]) != 7 ||
	    !line || sscanf(line, "\nintr %llu", &intr) != 1)
		return -1;
	if (v[5] > 0)
		return 1;
	return intr > HOST_MANY_IRQS ? 0 : -1;
}

/* Words whose names end in '.' or '*' stand for all that begin so. */
static const char *const cmdline_words[] = {
	"mitigations",
	"isolcpus",
	"nohz",
	"nohz_full",
	"rcu_nocbs",
	"rcu_nocb_poll",
	"nosmt",
	"maxcpus",
	"nr_cpus",
	"idle",
	"intel_idle.*",
	"processor.*",
	"cpuidle.*",
	"cpufreq.*",
	"intel_pstate",
	"amd_pstate",
	"intel_iommu",
	"amd_iommu",
	"iommu",
	"iommu.*",
	"preempt",
	"threadirqs",
	"irqaffinity",
	"hugepages",
	"hugepagesz",
	"default_hugepagesz",
	"transparent_hugepage",
	"psi",
	"tsc",
	"clocksource",
	"nowatchdog",
	"nmi_watchdog",
	"skew_tick",
	"spectre_v2",
	"spectre_v2_user",
	"spec_store_bypass_disable",
	"l1tf",
	"mds",
	"tsx",
	"tsx_async_abort",
	"kvm.*",
	"pti",
	"nopti",
	"nospectre_v1",
	"nospectre_v2",
	"retbleed",
	"srbds",
	"mmio_stale_data",
	"audit",
	"selinux",
	"apparmor",
	"lsm",
	"ipv6.*",
	"pcie_aspm",
	"pci",
	"noibrs",
	"noibpb",
	"kpti",
	"numa_balancing",
	"mce",
	"highres",
	"isolated_cpus",
	"workqueue.*",
	"nosoftlockup",
	"thash_entries",
	"uhash_entries",
	"rhash_entries",
	"haltpoll",
};

static bool is_word(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(cmdline_words); i++) {
		size_t len = strlen(cmdline_words[i]);
		bool all = cmdline_words[i][len - 1] == '*';

		if (all ? n > len - 1 && !strncmp(name, cmdline_words[i], len - 1)
			: n == len && !strncmp(name, cmdline_words[i], n))
			return true;
	}
	return false;
}

#define WORDS_MAX 64

void host_cmdline_put(struct jw *w, const char *text)
{
	int64_t others = 0, known = 0;

	jw_obj(w, "cmdline");
	for (const char *p = text + strspn(text, " \n\t"); *p; p += strspn(p, " \n\t")) {
		size_t n = strcspn(p, " \n\t"), name = strcspn(p, "= \n\t");
		char key[64], value[HOST_TEXT_MAX];

		if (!is_word(p, name) || name >= sizeof(key) || known >= WORDS_MAX) {
			others++;
		} else {
			known++;
			snprintf(key, sizeof(key), "%.*s", (int)name, p);
			safe_str(value, sizeof(value), p + name + 1, n > name ? n - name - 1 : 0);
			if (n > name)
				jw_str(w, key, value);
			else
				jw_bool(w, key, true);
		}
		p += n;
	}
	/* Others may tell secrets and names of disks. */
	jw_i64(w, "others", others);
	jw_end_obj(w);
}

/* ---- writing -------------------------------------------------------------------- */

void host_put(struct jw *w, const char *key, const char *text)
{
	char safe[HOST_TEXT_MAX];

	if (text && *text && safe_str(safe, sizeof(safe), text, strlen(text)))
		jw_str(w, key, safe);
	else
		jw_null(w, key);
}

void host_put_file(struct jw *w, const struct host_root *r, const char *key, const char *path)
{
	char text[HOST_TEXT_MAX];

	host_put(w, key, host_read(r, text, sizeof(text), "%s", path) > 0 ? text : NULL);
}

void host_put_i64(struct jw *w, const struct host_root *r, const char *key, const char *path)
{
	int64_t v;

	if (host_read_i64(r, &v, "%s", path) >= 0)
		jw_i64(w, key, v);
	else
		jw_null(w, key);
}

static void put_model(struct jw *w, const struct host_root *r)
{
	static const char *const keys[] = {"model name", "Model",       "Hardware",
					   "cpu model",  "system type", "cpu"};
	char value[HOST_TEXT_MAX], *text = calloc(1, HOST_CPUINFO_MAX);
	bool found = false;

	if (text && host_read(r, text, HOST_CPUINFO_MAX, "/proc/cpuinfo") > 0) {
		for (size_t i = 0; i < ARRAY_LEN(keys) && !found; i++)
			found = host_cpuinfo(text, keys[i], value, sizeof(value));
	}
	host_put(w, "model", found ? value : NULL);
	found = text && host_cpuinfo(text, "microcode", value, sizeof(value));
	host_put(w, "microcode", found ? value : NULL);
	if (text && text[0])
		jw_bool(w, "virtual", strstr(text, " hypervisor") != NULL);
	else
		jw_null(w, "virtual");
	free(text);
}

static void put_caches(struct jw *w, const struct host_root *r)
{
	char level[8], type[32], size[32], shared[64], key[32];

	if (host_read(r, level, sizeof(level), CPU "/cpu0/cache/index0/level") <= 0) {
		jw_null(w, "caches");
		return;
	}
	jw_obj(w, "caches");
	for (int i = 0; i < 8; i++) {
		if (host_read(r, level, sizeof(level), CPU "/cpu0/cache/index%d/level", i) <= 0 ||
		    host_read(r, type, sizeof(type), CPU "/cpu0/cache/index%d/type", i) <= 0 ||
		    host_read(r, size, sizeof(size), CPU "/cpu0/cache/index%d/size", i) <= 0 ||
		    !host_cache_bytes(size))
			continue;
		snprintf(key, sizeof(key), "L%.2s%s_bytes", level,
			 !strcmp(type, "Data")          ? "d"
			 : !strcmp(type, "Instruction") ? "i"
							: "");
		jw_u64(w, key, host_cache_bytes(size));
		if (host_read(r, shared, sizeof(shared), CPU "/cpu0/cache/index%d/shared_cpu_list",
			      i) > 0) {
			snprintf(key, sizeof(key), "L%.2s%s_cpus", level,
				 !strcmp(type, "Data")          ? "d"
				 : !strcmp(type, "Instruction") ? "i"
								: "");
			host_put(w, key, shared);
		}
	}
	jw_end_obj(w);
}

/* What all processors have, or "mixed". */
static void put_common(struct jw *w, const struct host_root *r, const char *key, const char *leaf)
{
	char text[HOST_TEXT_MAX], first[HOST_TEXT_MAX] = "", **names;
	int n = host_list(r, &names, CPU);

	for (int i = 0; i < n; i++) {
		if (strncmp(names[i], "cpu", 3) != 0 || !isdigit((unsigned char)names[i][3]) ||
		    host_read(r, text, sizeof(text), CPU "/%s/%s", names[i], leaf) <= 0)
			continue;
		if (!first[0])
			memcpy(first, text, sizeof(first));
		else if (strcmp(first, text) != 0)
			snprintf(first, sizeof(first), "mixed");
	}
	host_list_free(names, n);
	host_put(w, key, first);
}

static void put_idle(struct jw *w, const struct host_root *r)
{
	char name[32], **states;
	struct buf b = {0};
	int64_t off;
	int n = host_list(r, &states, CPU "/cpu0/cpuidle");

	for (int i = 0; i < n; i++) {
		if (host_read(r, name, sizeof(name), CPU "/cpu0/cpuidle/%s/name", states[i]) <= 0)
			continue;
		buf_printf(&b, "%s%s", b.len ? " " : "", name);
		if (host_read_i64(r, &off, CPU "/cpu0/cpuidle/%s/disable", states[i]) >= 0 && off)
			buf_puts(&b, "(off)");
	}
	host_list_free(states, n);
	host_put_file(w, r, "idle_driver", CPU "/cpuidle/current_driver");
	host_put_file(w, r, "idle_governor", CPU "/cpuidle/current_governor");
	host_put(w, "idle_states", b.failed ? NULL : b.data);
	buf_fini(&b);
}

/* What of the time since boot the host of this virtual machine gave to others. */
bool host_steal_share(const char *stat, double *share)
{
	unsigned long long v[8] = {0}, sum = 0;

	if (sscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) != 8)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		if (v[i] > UINT64_MAX / ARRAY_LEN(v))
			return false;
		sum += v[i];
	}
	*share = sum ? (double)v[7] / (double)sum : 0;
	return true;
}

static void put_accounts(struct jw *w, const struct host_root *r)
{
	static const char *const words[] = {"not accounted (CONFIG_IRQ_TIME_ACCOUNTING)",
					    "accounted"};
	char *text = malloc(HOST_STAT_MAX), share_text[16];
	int known = -1;
	double share;

	if (text && host_read(r, text, HOST_STAT_MAX, "/proc/stat") > 0)
		known = host_irq_accounted(text);
	host_put(w, "irq_time", known < 0 ? NULL : words[known]);
	if (text && host_steal_share(text, &share)) {
		snprintf(share_text, sizeof(share_text), "%.1f %%", share * 100);
		jw_str(w, "steal_since_boot", share_text);
	} else {
		jw_null(w, "steal_since_boot");
	}
	free(text);
}

static void put_mitigations(struct jw *w, const struct host_root *r)
{
	char text[HOST_TEXT_MAX], **names;
	int n = host_list(r, &names, CPU "/vulnerabilities");

	if (n < 0) { /* not the same as none */
		jw_null(w, "mitigations");
		return;
	}
	jw_obj(w, "mitigations");
	for (int i = 0; i < n; i++) {
		if (host_read(r, text, sizeof(text), CPU "/vulnerabilities/%s", names[i]) > 0 &&
		    strcmp(text, "Not affected") != 0)
			host_put(w, names[i], text);
	}
	jw_end_obj(w);
	host_list_free(names, n);
}

void host_facts_cpu(struct jw *w, const struct host_root *r)
{
	jw_obj(w, "processor");
	put_model(w, r);
	host_put_file(w, r, "online", CPU "/online");
	host_put_file(w, r, "isolated", CPU "/isolated");
	host_put_file(w, r, "nohz_full", CPU "/nohz_full");
	host_put_file(w, r, "smt", CPU "/smt/control");
	host_put_file(w, r, "numa_nodes", "/sys/devices/system/node/online");
	host_put_file(w, r, "core0_cpus", CPU "/cpu0/topology/core_cpus_list");
	host_put_file(w, r, "freq_driver", CPU "/cpu0/cpufreq/scaling_driver");
	put_common(w, r, "governor", "cpufreq/scaling_governor");
	put_common(w, r, "freq_min_khz", "cpufreq/scaling_min_freq");
	put_common(w, r, "freq_max_khz", "cpufreq/scaling_max_freq");
	put_common(w, r, "energy_preference", "cpufreq/energy_performance_preference");
	host_put_file(w, r, "boost", CPU "/cpufreq/boost");
	host_put_file(w, r, "no_turbo", CPU "/intel_pstate/no_turbo");
	put_idle(w, r);
	put_accounts(w, r);
	put_caches(w, r);
	jw_end_obj(w);
	put_mitigations(w, r);
}

static void put_chosen(struct jw *w, const struct host_root *r, const char *key, const char *path)
{
	char text[HOST_TEXT_MAX], word[HOST_TEXT_MAX];

	if (host_read(r, text, sizeof(text), "%s", path) > 0 &&
	    host_chosen(text, word, sizeof(word)))
		host_put(w, key, word);
	else
		jw_null(w, key);
}

void host_facts_memory(struct jw *w, const struct host_root *r)
{
	static const struct {
		const char *line, *key;
		uint64_t per;
	} rows[] = {{"MemTotal", "total_bytes", 1024},
		    {"SwapTotal", "swap_bytes", 1024},
		    {"HugePages_Total", "huge_pages", 1},
		    {"Hugepagesize", "huge_page_bytes", 1024}};
	char text[8192], value[64], *end;

	jw_obj(w, "memory");
	host_read(r, text, sizeof(text), "/proc/meminfo");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t v = host_cpuinfo(text, rows[i].line, value, sizeof(value))
				     ? strtoull(value, &end, 10)
				     : UINT64_MAX;

		if (v < UINT64_MAX / rows[i].per)
			jw_u64(w, rows[i].key, v * rows[i].per);
		else
			jw_null(w, rows[i].key);
	}
	put_chosen(w, r, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	jw_end_obj(w);
}

void host_facts_boot(struct jw *w, const struct host_root *r)
{
	char text[4096];

	if (host_read(r, text, sizeof(text), "/proc/cmdline") >= 0)
		host_cmdline_put(w, text);
	else
		jw_null(w, "cmdline");
	put_chosen(w, r, "preemption", "/sys/kernel/debug/sched/preempt");
	host_put_file(w, r, "build", "/proc/sys/kernel/version");
	host_put_file(w, r, "clocksources",
		      "/sys/devices/system/clocksource/clocksource0/available_clocksource");
}

int host_irq_time(void)
{
	struct host_root machine = {.fd = -1};
	char *text = malloc(HOST_STAT_MAX);
	int known = -1;

	if (text && host_read(&machine, text, HOST_STAT_MAX, "/proc/stat") > 0)
		known = host_irq_accounted(text);
	free(text);
	return known;
}
