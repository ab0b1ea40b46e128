/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts of this machine that explain a figure later: kernel, processor, memory, clock source,
 * congestion control, and the interface towards the peer. A fact that cannot be read is left
 * out; none is guessed.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/priv.h"

#define CPUINFO_MAX (64 << 10)
#define TEXT_MAX    128

static void put_text(struct jw *w, const char *key, const char *text)
{
	char safe[TEXT_MAX];

	if (safe_str(safe, sizeof(safe), text, strlen(text)))
		jw_str(w, key, safe);
}

static void put_attr(struct jw *w, const char *key, const char *path)
{
	char text[TEXT_MAX];

	if (sys_read_attr(path, text, sizeof(text)) > 0)
		put_text(w, key, text);
}

/* The first "model name" of /proc/cpuinfo; other machines than x86 name it differently. */
static void put_cpu(struct jw *w)
{
	static const char *const keys[] = {"model name", "Model", "Hardware", "cpu model", "cpu"};
	struct buf b = {0};

	if (sys_read_file("/proc/cpuinfo", CPUINFO_MAX, &b, NULL) < 0 || !b.data)
		goto out;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t n = strlen(keys[i]);

		for (char *p = b.data; p; p = strchr(p, '\n')) {
			char *colon;

			p += *p == '\n';
			if (strncmp(p, keys[i], n) != 0 || !strchr("\t :", p[n]))
				continue;
			colon = p + strcspn(p, ":\n");
			if (*colon != ':' || colon[1] != ' ')
				continue;
			colon[2 + strcspn(colon + 2, "\n")] = '\0';
			put_text(w, "cpu", colon + 2);
			goto out;
		}
	}
out:
	buf_fini(&b);
}

static void put_virt(struct jw *w)
{
	char text[TEXT_MAX];

	if (sys_read_attr("/sys/hypervisor/type", text, sizeof(text)) > 0)
		put_text(w, "virt", text);
	else if (sys_read_attr("/sys/class/dmi/id/product_name", text, sizeof(text)) > 0)
		put_text(w, "product", text);
}

static void put_iface(struct jw *w, const char *iface)
{
	struct sys_nl *nl;
	struct sys_link link;
	char path[TEXT_MAX];
	int64_t mbps;

	if (sys_nl_open(&nl, NULL) < 0)
		return;
	if (sys_link_get(nl, iface, &link, NULL) >= 0) {
		put_text(w, "iface", link.name);
		jw_i64(w, "mtu", link.mtu);
		put_text(w, "qdisc", link.qdisc);
		put_text(w, "driver", link.kind);
		snprintf(path, sizeof(path), "/sys/class/net/%s/speed", link.name);
		if (sys_read_i64(path, &mbps) >= 0 && mbps > 0)
			jw_i64(w, "speed_bps", mbps * 1000000);
	}
	sys_nl_close(nl);
}

static void put_few(struct jw *w, const char *iface)
{
	struct utsname u;
	struct sysinfo si;
	char cc[TEXT_MAX];

	if (uname(&u) == 0) {
		put_text(w, "host", u.nodename);
		put_text(w, "kernel", u.release);
		put_text(w, "machine", u.machine);
	}
	put_attr(w, "boot", "/proc/sys/kernel/random/boot_id");
	put_cpu(w);
	jw_i64(w, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	if (sysinfo(&si) == 0)
		jw_u64(w, "memory_bytes", (uint64_t)si.totalram * si.mem_unit);
	put_virt(w);
	put_attr(w, "clocksource",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (sys_sysctl_get("net.ipv4.tcp_congestion_control", cc, sizeof(cc)) > 0)
		put_text(w, "congestion_control", cc);
	if (iface)
		put_iface(w, iface);
}

void host_facts(struct buf *b, const char *iface)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	put_few(&w, iface);
	jw_end_obj(&w);
}

/* Of a copy of another machine's files. */
static void put_few_copied(struct jw *w, const struct host_root *r)
{
	host_put_file(w, r, "host", "/proc/sys/kernel/hostname");
	host_put_file(w, r, "kernel", "/proc/sys/kernel/osrelease");
	host_put_file(w, r, "boot", "/proc/sys/kernel/random/boot_id");
	host_put_file(w, r, "product", "/sys/class/dmi/id/product_name");
	host_put_file(w, r, "clocksource",
		      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

/* The name that a distribution has for itself. */
static void put_distribution(struct jw *w, const struct host_root *r)
{
	static const char *const keys[] = {"PRETTY_NAME=", "OPENWRT_RELEASE="};
	char text[4096], name[TEXT_MAX] = "";

	host_read(r, text, sizeof(text), "/etc/os-release");
	for (size_t i = 0; i < ARRAY_LEN(keys) && !name[0]; i++) {
		const char *p = strstr(text, keys[i]);

		if (!p || (p > text && p[-1] != '\n'))
			continue;
		p += strlen(keys[i]);
		p += *p == '"';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, "\"\n"), p);
	}
	host_put(w, "distribution", name);
}

void host_facts_told(struct buf *b, const char *iface, bool all)
{
	const struct host_root r = {.fd = -1};
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	put_few(&w, iface);
	host_facts_cpu(&w, &r);
	host_facts_memory(&w, &r);
	if (iface)
		host_facts_ifaces(&w, &r, iface);
	host_facts_sysctl(&w, &r);
	if (all) {
		host_facts_boot(&w, &r);
		host_facts_modules(&w, &r);
		host_facts_netfilter(&w, &r);
		host_facts_services(&w, &r);
	}
	jw_end_obj(&w);
}

static int put_whole(struct buf *b, const struct host_root *r, const char *iface,
		     struct weir_err *e)
{
	struct jw w = jw_init(b);

	jw_obj(&w, NULL);
	if (host_root_is_copy(r))
		put_few_copied(&w, r);
	else
		put_few(&w, iface);
	put_distribution(&w, r);
	host_facts_boot(&w, r);
	host_facts_cpu(&w, r);
	host_facts_memory(&w, r);
	host_facts_ifaces(&w, r, iface);
	host_facts_sysctl(&w, r);
	host_facts_modules(&w, r);
	host_facts_netfilter(&w, r);
	host_facts_services(&w, r);
	jw_end_obj(&w);
	return b->failed ? err_set(e, WEIR_OS, ENOMEM, "out of memory") : 0;
}

int host_facts_whole(struct buf *b, const char *root, const char *iface, struct weir_err *e)
{
	struct host_root r;
	int rc = host_root_open(root, &r, e);

	if (rc < 0)
		return rc;
	rc = put_whole(b, &r, iface, e);
	host_root_close(&r);
	return rc;
}

int host_facts_answered(struct buf *b, const char *answer, size_t n, const char *iface,
			struct weir_err *e)
{
	struct host_root r = {.fd = -1};
	struct host_texts *texts;
	int rc = host_texts_new(answer, n, &texts);

	if (rc < 0)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	r.texts = texts;
	rc = put_whole(b, &r, iface, e);
	host_texts_free(texts);
	return rc;
}

/* An IPv4 address may come as IPv6 (::ffff:a.b.c.d). */
static const void *address_of(const struct sockaddr *sa, int *family)
{
	const struct sockaddr_in6 *six = (const void *)sa;

	*family = sa->sa_family;
	if (sa->sa_family == AF_INET)
		return &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
	if (sa->sa_family != AF_INET6)
		return NULL;
	if (!IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return &six->sin6_addr;
	*family = AF_INET;
	return &six->sin6_addr.s6_addr[12];
}

bool host_iface_to(const struct sockaddr *peer, char name[IF_NAMESIZE])
{
	const struct sockaddr_in6 *six = (const void *)peer;
	unsigned scope = peer->sa_family == AF_INET6 ? six->sin6_scope_id : 0;
	struct sys_route route = {.oif = (int)scope};
	struct sys_nl *nl;
	int family;
	const void *dst = address_of(peer, &family);

	if (!dst)
		return false;
	if (!scope) {
		if (sys_nl_open(&nl, NULL) < 0)
			return false;
		if (sys_route_get(nl, family, dst, &route, NULL) < 0)
			route.oif = 0;
		sys_nl_close(nl);
	}
	return route.oif > 0 && if_indextoname((unsigned)route.oif, name);
}
