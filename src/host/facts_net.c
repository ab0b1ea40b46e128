/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interfaces: what the driver tells, what the kernel set, which processor serves which queue.
 * Counters are no facts and are not here. A sysfs that belongs to another network namespace is not
 * believed: it has another interface's index under the same name.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define NET           "/sys/class/net"
#define IFACES_MAX    64
#define IRQS_MAX      128
#define INTERRUPT_MAX (1U << 20)

/* ---- parsers -------------------------------------------------------------------- */

bool host_has_word(const char *line, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; len && i + len <= n; i++) {
		if ((i && isalnum((unsigned char)line[i - 1])) || strncmp(line + i, word, len) != 0)
			continue;
		if (i + len == n || !isdigit((unsigned char)line[i + len]))
			return true;
	}
	return false;
}

size_t host_irqs_of(const char *text, const char *const *words, int *irqs, size_t cap)
{
	size_t found = 0, n;

	for (const char *p = text; *p && found < cap; p += n + (p[n] == '\n')) {
		size_t blank = strspn(p, " "), digits = strspn(p + blank, "0123456789");
		size_t name = blank + digits;

		n = strcspn(p, "\n");
		if (!digits || digits > 6 || p[name] != ':')
			continue;
		for (const char *const *w = words; *w; w++) {
			if (host_has_word(p + name, n - name, *w)) {
				irqs[found++] = (int)strtol(p + blank, NULL, 10);
				break;
			}
		}
	}
	return found;
}

/* ---- of sysfs ------------------------------------------------------------------- */

static void put_leaf(struct jw *w, const struct host_root *r, const char *iface, const char *key)
{
	char path[128];

	snprintf(path, sizeof(path), NET "/%s/%s", iface, key);
	host_put_i64(w, r, key, path);
}

/* One value of all queues, or the distinct ones in a row. */
static void put_queues(struct jw *w, const struct host_root *r, const char *iface, const char *key,
		       const char *prefix, const char *leaf)
{
	char text[HOST_TEXT_MAX], **names;
	struct buf b = {0};
	int n = host_list(r, &names, NET "/%s/queues", iface);
	bool any = false;

	for (int i = 0; i < n; i++) {
		if (strncmp(names[i], prefix, strlen(prefix)) != 0 ||
		    host_read(r, text, sizeof(text), NET "/%s/queues/%s/%s", iface, names[i],
			      leaf) <= 0)
			continue;
		any = true;
		if ((b.len && strstr(b.data, text)) || b.len > HOST_TEXT_MAX / 2)
			continue;
		buf_printf(&b, "%s%s", b.len ? " " : "", text);
	}
	host_list_free(names, n);
	if (any && !b.failed)
		host_put(w, key, b.data);
	buf_fini(&b);
}

static int64_t count_queues(const struct host_root *r, const char *iface, const char *prefix)
{
	char **names;
	int64_t found = 0;
	int n = host_list(r, &names, NET "/%s/queues", iface);

	for (int i = 0; i < n; i++)
		found += !strncmp(names[i], prefix, strlen(prefix));
	host_list_free(names, n);
	return found;
}

static void put_irqs(struct jw *w, const struct host_root *r, const char *iface,
		     const char *interrupts)
{
	char device[HOST_TEXT_MAX] = "", cpus[HOST_TEXT_MAX], key[16];
	const char *words[] = {iface, device, NULL};
	int irqs[IRQS_MAX];
	size_t n;

	if (!host_link_name(r, device, sizeof(device), NET "/%s/device", iface))
		words[1] = NULL;
	n = host_irqs_of(interrupts, words, irqs, IRQS_MAX);
	if (!n)
		return;
	jw_obj(w, "irqs");
	for (size_t i = 0; i < n; i++) {
		if (host_read(r, cpus, sizeof(cpus), "/proc/irq/%d/effective_affinity_list",
			      irqs[i]) <= 0 &&
		    host_read(r, cpus, sizeof(cpus), "/proc/irq/%d/smp_affinity_list", irqs[i]) <=
			    0)
			continue;
		snprintf(key, sizeof(key), "%d", irqs[i]);
		host_put(w, key, cpus);
	}
	jw_end_obj(w);
}

static void put_sysfs(struct jw *w, const struct host_root *r, const char *iface,
		      const char *interrupts)
{
	put_leaf(w, r, iface, "tx_queue_len");
	put_leaf(w, r, iface, "gro_flush_timeout");
	put_leaf(w, r, iface, "napi_defer_hard_irqs");
	put_leaf(w, r, iface, "threaded");
	jw_i64(w, "rx_queues", count_queues(r, iface, "rx-"));
	jw_i64(w, "tx_queues", count_queues(r, iface, "tx-"));
	put_queues(w, r, iface, "rps_cpus", "rx-", "rps_cpus");
	put_queues(w, r, iface, "rps_flow_cnt", "rx-", "rps_flow_cnt");
	put_queues(w, r, iface, "xps_cpus", "tx-", "xps_cpus");
	put_queues(w, r, iface, "bql_limit_max", "tx-", "byte_queue_limits/limit_max");
	put_irqs(w, r, iface, interrupts);
}

/* ---- of the driver -------------------------------------------------------------- */

static void put_feature(void *arg, const char *name, bool on)
{
	static const char *const shown[] = {
		"rx-checksum",
		"tx-checksum-ip-generic",
		"tx-checksum-ipv4",
		"tx-checksum-ipv6",
		"tx-scatter-gather",
		"tx-tcp-segmentation",
		"tx-tcp6-segmentation",
		"tx-generic-segmentation",
		"tx-udp-segmentation",
		"tx-gso-partial",
		"tx-gso-list",
		"rx-gro",
		"rx-gro-hw",
		"rx-gro-list",
		"rx-udp-gro-forwarding",
		"rx-lro",
		"rx-hashing",
		"rx-ntuple-filter",
		"rx-vlan-hw-parse",
		"tx-vlan-hw-insert",
		"hw-tc-offload",
		"tx-nocache-copy",
		"tls-hw-tx-offload",
		"tls-hw-rx-offload",
		"macsec-hw-offload",
		"esp-hw-offload",
		"loopback",
	};

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		if (!strcmp(name, shown[i]))
			jw_bool(arg, name, on);
	}
}

static void put_rss(struct jw *w, const struct sys_driver *d)
{
	static const char *const flows[] = SYS_RSS_FLOWS;

	if (d->rss_size || d->rss_key[0] || d->rss_fields[0][0]) {
		jw_obj(w, "rss");
		if (d->rss_size) {
			jw_u64(w, "table", d->rss_size);
			jw_u64(w, "queues", d->rss_queues);
			jw_u64(w, "most", d->rss_most);
			jw_u64(w, "least", d->rss_least);
		}
		if (d->rss_hash)
			jw_str(w, "hash", d->rss_hash);
		if (d->rss_key[0])
			jw_str(w, "key_digest", d->rss_key);
		for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
			if (d->rss_fields[i][0])
				jw_str(w, flows[i], d->rss_fields[i]);
		}
		jw_end_obj(w);
	}
	if (d->has_rules)
		jw_u64(w, "ntuple_rules", d->rules);
	if (d->fec)
		jw_str(w, "fec", d->fec);
}

static void put_rings(struct jw *w, const struct sys_driver *d)
{
	if (d->has_rings) {
		jw_obj(w, "rings");
		jw_u64(w, "rx", d->rx_ring);
		jw_u64(w, "tx", d->tx_ring);
		jw_u64(w, "rx_max", d->rx_ring_max);
		jw_u64(w, "tx_max", d->tx_ring_max);
		jw_end_obj(w);
	}
	if (d->has_coalesce) {
		jw_obj(w, "coalescing");
		jw_u64(w, "rx_usecs", d->rx_usecs);
		jw_u64(w, "rx_frames", d->rx_frames);
		jw_u64(w, "tx_usecs", d->tx_usecs);
		jw_u64(w, "tx_frames", d->tx_frames);
		jw_bool(w, "adaptive_rx", d->adaptive_rx);
		jw_bool(w, "adaptive_tx", d->adaptive_tx);
		jw_end_obj(w);
	}
	if (d->has_channels) {
		jw_obj(w, "channels");
		jw_u64(w, "rx", d->rx_channels);
		jw_u64(w, "tx", d->tx_channels);
		jw_u64(w, "combined", d->combined);
		jw_u64(w, "combined_max", d->combined_max);
		jw_end_obj(w);
	}
	put_rss(w, d);
	if (d->has_pause) {
		jw_obj(w, "pause");
		jw_bool(w, "autoneg", d->pause_autoneg);
		jw_bool(w, "rx", d->pause_rx);
		jw_bool(w, "tx", d->pause_tx);
		jw_end_obj(w);
	}
	if (d->has_eee)
		jw_bool(w, "eee", d->eee);
}

static void put_driver(struct jw *w, const char *iface)
{
	struct sys_driver d;

	if (sys_driver_get(iface, &d) < 0)
		return;
	host_put(w, "driver", d.driver);
	host_put(w, "driver_version", d.version);
	host_put(w, "firmware", d.firmware);
	host_put(w, "bus", d.bus);
	if (d.speed_bps > 0)
		jw_i64(w, "speed_bps", d.speed_bps);
	else
		jw_null(w, "speed_bps");
	host_put(w, "duplex", d.duplex == 1 ? "full" : d.duplex == 0 ? "half" : NULL);
	put_rings(w, &d);
	jw_obj(w, "offloads");
	sys_driver_features(iface, put_feature, w);
	jw_end_obj(w);
}

/* ---- of netlink ----------------------------------------------------------------- */

struct qdiscs {
	struct {
		char kind[16];
		uint32_t parent;
		unsigned n;
	} v[16];
	size_t n;
};

/* Those of a queue each are alike and are counted: "mq fq_codel x4". */
static bool is_counted(const struct qdiscs *l, const struct sys_qdisc *q, size_t i)
{
	return !strcmp(l->v[i].kind, q->kind) && !strncmp(l->v[0].kind, "mq", 2);
}

static int note_qdisc(const struct sys_qdisc *q, void *arg)
{
	struct qdiscs *l = arg;

	for (size_t i = 0; i < l->n; i++) {
		if (is_counted(l, q, i)) {
			l->v[i].n++;
			return 0;
		}
	}
	if (l->n < ARRAY_LEN(l->v)) {
		memcpy(l->v[l->n].kind, q->kind, sizeof(q->kind));
		l->v[l->n].parent = q->parent;
		l->v[l->n++].n = 1;
	}
	return 0;
}

/* The tree in the kernel's order, each below a class by its number: "htb pfifo@10 fq_codel@20". The
 * first half of a class's name is its discipline's, and often of the kernel's own choice. */
static void put_qdiscs(struct jw *w, struct sys_nl *nl, int index)
{
	struct qdiscs l = {.n = 0};
	struct buf b = {0};

	if (sys_qdiscs(nl, index, note_qdisc, &l, NULL) < 0) {
		jw_null(w, "qdiscs");
		return;
	}
	for (size_t i = 0; i < l.n; i++) {
		buf_printf(&b, "%s%s", i ? " " : "", l.v[i].kind);
		if (l.v[i].n > 1)
			buf_printf(&b, " x%u", l.v[i].n);
		else if (i && l.v[i].parent != UINT32_MAX && strncmp(l.v[0].kind, "mq", 2) != 0)
			buf_printf(&b, "@%x", l.v[i].parent & 0xffff);
	}
	host_put(w, "qdiscs", b.data);
	buf_fini(&b);
}

/* The root with its parameters, where it is one that weir has words for. */
static void put_qdisc(struct jw *w, const char *iface)
{
	char name[IF_NAMESIZE + 16], text[SYS_VALUE_CAP];
	struct sys_ref r = {0};
	int n = snprintf(name, sizeof(name), "iface:%s.qdisc", iface);

	if (sys_ref_parse(&r, name, (size_t)n, NULL) >= 0 &&
	    sys_knob_get(&r, text, sizeof(text), NULL) >= 0 && strcmp(text, "default") != 0)
		host_put(w, "qdisc", text);
}

static void put_rate(struct jw *w, const char *key, const struct sys_wifi_rate *r)
{
	if (r->bps)
		jw_u64(w, key, r->bps);
}

/* Of the one station that a station's access point is. */
static void put_signal(struct jw *w, const struct sys_wifi_station *s)
{
	int dbm = s->signal_avg_dbm ? s->signal_avg_dbm : s->signal_dbm;

	if (dbm)
		jw_i64(w, "signal_dbm", dbm);
	put_rate(w, "tx_rate_bps", &s->tx);
	put_rate(w, "rx_rate_bps", &s->rx);
}

static void put_survey(struct jw *w, const struct sys_wifi_survey *s)
{
	if (s->known && s->has_noise)
		jw_i64(w, "noise_dbm", s->noise_dbm);
	if (s->known && s->has_time && s->time_ms && s->busy_ms <= s->time_ms)
		jw_f64(w, "busy_share", (double)s->busy_ms / (double)s->time_ms);
}

/* State is a fact here: a link of the same name is another one on another channel. */
static void put_wifi(struct jw *w, const char *iface)
{
	struct sys_wifi *f = calloc(1, sizeof(*f));

	if (!f || sys_wifi_get(iface, f, NULL) < 0)
		goto out;
	jw_obj(w, "wifi");
	host_put(w, "type", f->type);
	if (f->freq_mhz)
		jw_i64(w, "frequency_mhz", f->freq_mhz);
	if (f->width_mhz)
		jw_i64(w, "width_mhz", f->width_mhz);
	if (f->has_power)
		jw_f64(w, "power_dbm", f->power_dbm);
	jw_u64(w, "stations", f->n);
	if (f->n == 1)
		put_signal(w, &f->station[0]);
	put_survey(w, &f->survey);
	jw_end_obj(w);
out:
	free(f);
}

struct links {
	struct sys_link v[IFACES_MAX];
	size_t n;
	const char *only;
};

static int keep_link(const struct sys_link *l, void *arg)
{
	struct links *all = arg;

	if ((all->only ? !strcmp(l->name, all->only) : strcmp(l->name, "lo") != 0) &&
	    all->n < IFACES_MAX)
		all->v[all->n++] = *l;
	return 0;
}

static void put_link(struct jw *w, struct sys_nl *nl, const struct links *all,
		     const struct sys_link *l)
{
	char safe[HOST_TEXT_MAX];
	const char *master = NULL;

	for (size_t i = 0; i < all->n; i++) {
		if (l->master && all->v[i].index == l->master)
			master = all->v[i].name;
	}
	safe_str(safe, sizeof(safe), l->kind, strlen(l->kind));
	if (l->kind[0])
		jw_str(w, "kind", safe);
	if (l->master)
		host_put(w, "master", master);
	jw_bool(w, "up", l->up && l->running);
	jw_i64(w, "mtu", l->mtu);
	jw_u64(w, "gso_max_bytes", l->gso_max_size);
	jw_u64(w, "gro_max_bytes", l->gro_max_size);
	put_qdiscs(w, nl, l->index);
	put_qdisc(w, l->name);
}

static bool is_same_interface(const struct host_root *r, const struct sys_link *l)
{
	int64_t index;

	return host_read_i64(r, &index, NET "/%s/ifindex", l->name) >= 0 && index == l->index;
}

static void put_live(struct jw *w, const struct host_root *r, const char *only,
		     const char *interrupts)
{
	struct links *all = calloc(1, sizeof(*all));
	struct sys_nl *nl = NULL;
	char key[HOST_TEXT_MAX];

	if (!all || sys_nl_open(&nl, NULL) < 0)
		goto out;
	all->only = only;
	sys_links(nl, keep_link, all, NULL);
	for (size_t i = 0; i < all->n; i++) {
		const struct sys_link *l = &all->v[i];

		safe_str(key, sizeof(key), l->name, strlen(l->name));
		jw_obj(w, key);
		put_link(w, nl, all, l);
		put_driver(w, l->name);
		put_wifi(w, l->name);
		if (is_same_interface(r, l))
			put_sysfs(w, r, l->name, interrupts);
		jw_end_obj(w);
	}
out:
	sys_nl_close(nl);
	free(all);
}

/* Of a copy: what its sysfs has. */
static void put_copied(struct jw *w, const struct host_root *r, const char *only,
		       const char *interrupts)
{
	char key[HOST_TEXT_MAX], driver[HOST_TEXT_MAX], **names;
	int n = host_list(r, &names, NET);

	for (int i = 0; i < n && i < IFACES_MAX; i++) {
		int64_t mbps;

		if (only ? strcmp(names[i], only) != 0 : !strcmp(names[i], "lo"))
			continue;
		safe_str(key, sizeof(key), names[i], strlen(names[i]));
		jw_obj(w, key);
		put_leaf(w, r, names[i], "mtu");
		host_put(
			w, "driver",
			host_link_name(r, driver, sizeof(driver), NET "/%s/device/driver", names[i])
				? driver
				: NULL);
		if (host_read_i64(r, &mbps, NET "/%s/speed", names[i]) >= 0 && mbps > 0 &&
		    mbps < 100000000)
			jw_i64(w, "speed_bps", mbps * 1000000);
		else
			jw_null(w, "speed_bps");
		put_sysfs(w, r, names[i], interrupts);
		jw_end_obj(w);
	}
	host_list_free(names, n);
}

void host_facts_ifaces(struct jw *w, const struct host_root *r, const char *only)
{
	char *interrupts = malloc(INTERRUPT_MAX);

	jw_obj(w, "interfaces");
	if (interrupts) {
		host_read(r, interrupts, INTERRUPT_MAX, "/proc/interrupts");
		if (host_root_is_copy(r))
			put_copied(w, r, only, interrupts);
		else
			put_live(w, r, only, interrupts);
	}
	jw_end_obj(w);
	free(interrupts);
}

int64_t host_iface_speed(const char *iface)
{
	struct sys_driver d;
	struct sys_link l;
	struct sys_nl *nl;
	int rc;

	if (sys_nl_open(&nl, NULL) < 0)
		return 0;
	rc = sys_link_get(nl, iface, &l, NULL);
	sys_nl_close(nl);
	if (rc < 0 || l.kind[0] || sys_driver_get(iface, &d) < 0)
		return 0;
	return d.speed_bps;
}
