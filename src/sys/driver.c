/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an interface's driver tells of itself (SIOCETHTOOL): names and versions, link, rings,
 * coalescing, channels, pause frames, receive hashing, offloads, and its own counters. Each
 * question may be refused by itself; reading needs no privilege.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/sys.h"

#define STRINGS_MAX 4096 /* names of one kind that are looked at */
#define RSS_MAX     4096

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static int ask(int fd, const char *iface, void *question)
{
	struct ifreq r = {0};

	if (strlen(iface) >= sizeof(r.ifr_name))
		return -EINVAL;
	memcpy(r.ifr_name, iface, strlen(iface));
	r.ifr_data = question;
	return ioctl(fd, SIOCETHTOOL, &r) < 0 ? -errno : 0;
}

static void copy_text(char *dst, size_t cap, const char *src, size_t n)
{
	safe_str(dst, cap, src, strnlen(src, n));
}

static void ask_info(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_drvinfo q = {.cmd = ETHTOOL_GDRVINFO};

	if (ask(fd, iface, &q) < 0)
		return;
	copy_text(d->driver, sizeof(d->driver), q.driver, sizeof(q.driver));
	copy_text(d->version, sizeof(d->version), q.version, sizeof(q.version));
	copy_text(d->firmware, sizeof(d->firmware), q.fw_version, sizeof(q.fw_version));
	copy_text(d->bus, sizeof(d->bus), q.bus_info, sizeof(q.bus_info));
}

#define MASK_WORDS_MAX 127

static void read_link(const struct ethtool_link_settings *q, struct sys_driver *d)
{
	if (q->speed && q->speed != (uint32_t)SPEED_UNKNOWN)
		d->speed_bps = (int64_t)q->speed * 1000000;
	d->duplex = q->duplex == DUPLEX_FULL ? 1 : q->duplex == DUPLEX_HALF ? 0 : -1;
	d->autoneg = q->autoneg == AUTONEG_ENABLE;
}

/* The kernel answers how many words of masks it has, and wants them said. */
static void ask_link(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_link_settings *q =
		calloc(1, sizeof(*q) + (size_t)3 * MASK_WORDS_MAX * sizeof(uint32_t));

	if (!q)
		return;
	q->cmd = ETHTOOL_GLINKSETTINGS;
	if (ask(fd, iface, q) >= 0 && q->link_mode_masks_nwords < 0 &&
	    q->link_mode_masks_nwords >= -MASK_WORDS_MAX) {
		q->link_mode_masks_nwords = (int8_t)-q->link_mode_masks_nwords;
		q->cmd = ETHTOOL_GLINKSETTINGS;
		if (ask(fd, iface, q) >= 0)
			read_link(q, d);
	}
	free(q);
}

static void ask_rings(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_ringparam q = {.cmd = ETHTOOL_GRINGPARAM};

	d->has_rings = ask(fd, iface, &q) >= 0;
	d->rx_ring = q.rx_pending;
	d->tx_ring = q.tx_pending;
	d->rx_ring_max = q.rx_max_pending;
	d->tx_ring_max = q.tx_max_pending;
}

static void ask_coalesce(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_coalesce q = {.cmd = ETHTOOL_GCOALESCE};

	d->has_coalesce = ask(fd, iface, &q) >= 0;
	d->rx_usecs = q.rx_coalesce_usecs;
	d->rx_frames = q.rx_max_coalesced_frames;
	d->tx_usecs = q.tx_coalesce_usecs;
	d->tx_frames = q.tx_max_coalesced_frames;
	d->adaptive_rx = q.use_adaptive_rx_coalesce != 0;
	d->adaptive_tx = q.use_adaptive_tx_coalesce != 0;
}

static void ask_channels(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_channels q = {.cmd = ETHTOOL_GCHANNELS};

	d->has_channels = ask(fd, iface, &q) >= 0;
	d->rx_channels = q.rx_count;
	d->tx_channels = q.tx_count;
	d->combined = q.combined_count;
	d->combined_max = q.max_combined;
}

static void ask_pause(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_pauseparam p = {.cmd = ETHTOOL_GPAUSEPARAM};
	struct ethtool_eee e = {.cmd = ETHTOOL_GEEE};

	d->has_pause = ask(fd, iface, &p) >= 0;
	d->pause_autoneg = p.autoneg != 0;
	d->pause_rx = p.rx_pause != 0;
	d->pause_tx = p.tx_pause != 0;
	d->has_eee = ask(fd, iface, &e) >= 0;
	d->eee = e.eee_enabled != 0;
}

#define QUEUES_MAX 1024
/* How many queues the indirection table names, and how evenly. */
static void read_table(const struct ethtool_rxfh_indir *q, struct sys_driver *d)
{
	uint32_t n[QUEUES_MAX] = {0};

	d->rss_size = q->size;
	for (uint32_t i = 0; i < q->size; i++) {
		if (q->ring_index[i] >= QUEUES_MAX)
			continue;
		n[q->ring_index[i]]++;
		if (q->ring_index[i] + 1 > d->rss_queues)
			d->rss_queues = q->ring_index[i] + 1;
	}
	d->rss_least = q->size;
	for (uint32_t i = 0; i < d->rss_queues; i++) {
		d->rss_most = n[i] > d->rss_most ? n[i] : d->rss_most;
		d->rss_least = n[i] < d->rss_least ? n[i] : d->rss_least;
	}
}

static void ask_rss(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_rxfh_indir *q = calloc(1, sizeof(*q) + RSS_MAX * sizeof(uint32_t));
	uint32_t n;

	if (!q)
		return;
	q->cmd = ETHTOOL_GRXFHINDIR;
	if (ask(fd, iface, q) < 0 || !q->size || q->size > RSS_MAX)
		goto out;
	n = q->size;
	if (ask(fd, iface, q) >= 0 && q->size <= n)
		read_table(q, d);
out:
	free(q);
}

#define KEY_MAX 256
/* Many drivers make the key anew at each boot; that it is another one is all that can be said. */
static void ask_rss_hash(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_rxfh *q = calloc(1, sizeof(*q) + RSS_MAX * sizeof(uint32_t) + KEY_MAX);
	uint8_t hash[SHA256_LEN];

	if (!q)
		return;
	q->cmd = ETHTOOL_GRSSH; /* sizes first */
	if (ask(fd, iface, q) < 0 || q->indir_size > RSS_MAX || q->key_size > KEY_MAX)
		goto out;
	q->cmd = ETHTOOL_GRSSH;
	if (ask(fd, iface, q) < 0 || q->indir_size > RSS_MAX || q->key_size > KEY_MAX)
		goto out;
	d->rss_hash = q->hfunc == 1   ? "toeplitz"
		      : q->hfunc == 2 ? "xor"
		      : q->hfunc == 4 ? "crc32"
				      : NULL;
	if (q->key_size) {
		sha256((const uint8_t *)&q->rss_config[q->indir_size], q->key_size, hash);
		for (size_t i = 0; i < 8; i++)
			snprintf(d->rss_key + 2 * i, 3, "%02x", hash[i]);
	}
out:
	free(q);
}

/* Which fields of a packet are hashed (ethtool -n IF rx-flow-hash tcp4). */
static void ask_rss_fields(int fd, const char *iface, struct sys_driver *d)
{
	static const uint32_t flows[] = {TCP_V4_FLOW, UDP_V4_FLOW, TCP_V6_FLOW, UDP_V6_FLOW};
	static const struct {
		uint64_t bit;
		const char *word;
	} fields[] = {{RXH_L2DA, "mac"},         {RXH_VLAN, "vlan"},     {RXH_L3_PROTO, "proto"},
		      {RXH_IP_SRC, "src-ip"},    {RXH_IP_DST, "dst-ip"}, {RXH_L4_B_0_1, "src-port"},
		      {RXH_L4_B_2_3, "dst-port"}};

	_Static_assert(ARRAY_LEN(flows) == ARRAY_LEN(d->rss_fields), "a text a flow");
	for (size_t i = 0; i < ARRAY_LEN(flows); i++) {
		struct ethtool_rxnfc q = {.cmd = ETHTOOL_GRXFH, .flow_type = flows[i]};
		size_t n = 0, cap = sizeof(d->rss_fields[i]);

		if (ask(fd, iface, &q) < 0)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(fields) && n < cap; k++) {
			if (q.data & fields[k].bit)
				n += (size_t)snprintf(d->rss_fields[i] + n, cap - n, "%s%s",
						      n ? " " : "", fields[k].word);
		}
	}
}

static void ask_rules(int fd, const char *iface, struct sys_driver *d)
{
	struct ethtool_rxnfc q = {.cmd = ETHTOOL_GRXCLSRLCNT};

	d->has_rules = ask(fd, iface, &q) >= 0;
	d->rules = q.rule_cnt;
}

static void ask_fec(int fd, const char *iface, struct sys_driver *d)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} kinds[] = {{ETHTOOL_FEC_RS, "rs"},
		     {ETHTOOL_FEC_BASER, "baser"},
		     {ETHTOOL_FEC_LLRS, "llrs"},
		     {ETHTOOL_FEC_OFF, "off"},
		     {ETHTOOL_FEC_AUTO, "auto"}};
	struct ethtool_fecparam q = {.cmd = ETHTOOL_GFECPARAM};

	if (ask(fd, iface, &q) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds) && !d->fec; i++) {
		if (q.active_fec & kinds[i].bit)
			d->fec = kinds[i].word;
	}
}

int sys_driver_get(const char *iface, struct sys_driver *d)
{
	int fd = open_socket();

	*d = (struct sys_driver){.duplex = -1};
	if (fd < 0)
		return fd;
	ask_info(fd, iface, d);
	ask_link(fd, iface, d);
	ask_rings(fd, iface, d);
	ask_coalesce(fd, iface, d);
	ask_channels(fd, iface, d);
	ask_pause(fd, iface, d);
	ask_rss(fd, iface, d);
	ask_rss_hash(fd, iface, d);
	ask_rss_fields(fd, iface, d);
	ask_rules(fd, iface, d);
	ask_fec(fd, iface, d);
	close(fd);
	return 0;
}

/* ---- names of strings ------------------------------------------------------------- */

static uint32_t string_count(int fd, const char *iface, uint32_t set)
{
	struct ethtool_sset_info *q = calloc(1, sizeof(*q) + sizeof(uint32_t));
	uint32_t n = 0;

	if (!q)
		return 0;
	q->cmd = ETHTOOL_GSSET_INFO;
	q->sset_mask = 1ULL << set;
	if (ask(fd, iface, q) >= 0 && q->sset_mask & 1ULL << set)
		n = q->data[0];
	free(q);
	return n <= STRINGS_MAX ? n : 0;
}

/* The names of a set, ETH_GSTRING_LEN each; NULL when there are none. */
static struct ethtool_gstrings *strings(int fd, const char *iface, uint32_t set)
{
	uint32_t n = string_count(fd, iface, set);
	struct ethtool_gstrings *s = n ? calloc(1, sizeof(*s) + (size_t)n * ETH_GSTRING_LEN) : NULL;

	if (!s)
		return NULL;
	s->cmd = ETHTOOL_GSTRINGS;
	s->string_set = set;
	s->len = n;
	if (ask(fd, iface, s) < 0 || s->len != n) {
		free(s);
		return NULL;
	}
	return s;
}

static void string_at(const struct ethtool_gstrings *s, uint32_t i, char dst[ETH_GSTRING_LEN + 1])
{
	copy_text(dst, ETH_GSTRING_LEN + 1, (const char *)s->data + (size_t)i * ETH_GSTRING_LEN,
		  ETH_GSTRING_LEN);
}

int sys_driver_features(const char *iface, void (*cb)(void *arg, const char *name, bool on),
			void *arg)
{
	int fd = open_socket();
	struct ethtool_gstrings *s = fd < 0 ? NULL : strings(fd, iface, ETH_SS_FEATURES);
	uint32_t blocks = s ? (s->len + 31) / 32 : 0;
	struct ethtool_gfeatures *f =
		s ? calloc(1, sizeof(*f) + blocks * sizeof(f->features[0])) : NULL;
	int rc = -EOPNOTSUPP;

	if (f) {
		f->cmd = ETHTOOL_GFEATURES;
		f->size = blocks;
		rc = ask(fd, iface, f);
	}
	for (uint32_t i = 0; rc >= 0 && i < s->len && i / 32 < f->size; i++) {
		const struct ethtool_get_features_block *b = &f->features[i / 32];
		char name[ETH_GSTRING_LEN + 1];

		string_at(s, i, name);
		if (name[0] && (b->available | b->active | b->never_changed) & 1U << i % 32)
			cb(arg, name, b->active & 1U << i % 32);
	}
	free(f);
	free(s);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- the driver's counters --------------------------------------------------------- */

struct sys_driver_stats {
	int fd;
	char iface[IF_NAMESIZE];
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
};

int sys_driver_stats_open(const char *iface, struct sys_driver_stats **out)
{
	struct sys_driver_stats *d = strlen(iface) < IF_NAMESIZE ? calloc(1, sizeof(*d)) : NULL;
	int rc = -ENOMEM;

	*out = NULL;
	if (!d)
		return rc;
	memcpy(d->iface, iface, strlen(iface));
	d->fd = open_socket();
	if (d->fd < 0) {
		rc = d->fd;
		free(d);
		return rc;
	}
	d->names = strings(d->fd, iface, ETH_SS_STATS);
	rc = d->names ? -ENOMEM : -EOPNOTSUPP;
	if (d->names)
		d->values = calloc(1, sizeof(*d->values) + d->names->len * sizeof(uint64_t));
	if (!d->values) {
		sys_driver_stats_close(d);
		return rc;
	}
	*out = d;
	return 0;
}

size_t sys_driver_stats_n(const struct sys_driver_stats *d)
{
	return d->names->len;
}

void sys_driver_stats_name(const struct sys_driver_stats *d, size_t i, char dst[SYS_STAT_NAME])
{
	string_at(d->names, (uint32_t)i, dst);
}

const uint64_t *sys_driver_stats_read(struct sys_driver_stats *d)
{
	int rc;

	d->values->cmd = ETHTOOL_GSTATS;
	d->values->n_stats = d->names->len;
	rc = ask(d->fd, d->iface, d->values);
	/* Another count means other names: it is to be opened again. */
	return rc >= 0 && d->values->n_stats == d->names->len ? (const uint64_t *)d->values->data
							      : NULL;
}

void sys_driver_stats_close(struct sys_driver_stats *d)
{
	if (!d)
		return;
	close(d->fd);
	free(d->names);
	free(d->values);
	free(d);
}
