/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knobs behind ethtool's netlink: numbers and switches in one attribute of a message, bits by name
 * in a set, and the table of receive queues (still an ioctl). The idea: a row names message and
 * attribute; the kernel leaves what is not in a request as it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/priv.h"

#define CARRIER_NS (5 * NSEC_PER_SEC)
#define LOOK_NS    (5 * NSEC_PER_MSEC)

/* ---- talking ------------------------------------------------------------- */

static int take_family(const struct nlmsghdr *nlh, void *arg)
{
	struct nl_attrs a;

	nl_parse(&a, nlh, sizeof(struct genlmsghdr));
	nl_copy(a.at[CTRL_ATTR_FAMILY_ID], arg, sizeof(uint16_t));
	return 0;
}

static int open_family(struct sys_nl **nl, uint16_t *id, struct weir_err *e)
{
	struct nl_req r;
	int ret = sys_nl_open_proto(NETLINK_GENERIC, nl, e);

	if (ret < 0)
		return ret;
	struct genlmsghdr *g = nl_req(&r, GENL_ID_CTRL, 0, sizeof(*g));
	g->cmd = CTRL_CMD_GETFAMILY;
	g->version = 1;
	nl_put_str(&r, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
	*id = 0;
	ret = nl_talk(*nl, &r, take_family, id, "looking for ethtool's netlink", NULL);
	if (ret < 0 || !*id)
		return err_set(e, WEIR_MISSING, EOPNOTSUPP,
			       "this kernel has no CONFIG_ETHTOOL_NETLINK");
	return 0;
}

static void start(struct nl_req *r, uint16_t family, uint8_t cmd, const char *iface)
{
	struct genlmsghdr *g = nl_req(r, family, 0, sizeof(*g));

	g->cmd = cmd;
	g->version = ETHTOOL_GENL_VERSION;
	/* The header is the first attribute of every message. */
	struct nlattr *h = nl_nest(r, ETHTOOL_A_COALESCE_HEADER);
	nl_put_str(r, ETHTOOL_A_HEADER_DEV_NAME, iface);
	nl_nest_end(r, h);
}

static int no_kernel(const struct sys_ref *r, struct weir_err *e)
{
	return err_set(e, WEIR_MISSING, EOPNOTSUPP, "%s is not a file: not below %.100s",
		       r->knob->name, r->root);
}

/* ---- numbers and switches ------------------------------------------------ */

struct answer {
	const struct sys_knob *k;
	bool found;
	uint32_t v;
};

static int take_value(const struct nlmsghdr *nlh, void *arg)
{
	struct answer *w = arg;
	struct nl_attrs a;

	nl_parse(&a, nlh, sizeof(struct genlmsghdr));
	const struct nlattr *at = a.at[w->k->attr];
	if (!at)
		return 0;
	w->found = true;
	w->v = w->k->width == 1 ? nl_u8(at) : nl_u32(at);
	return 0;
}

/* The n-th of words. */
static ssize_t word_at(const char *words, uint32_t n, char *dst, size_t cap)
{
	for (; n && *words; n--) {
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	size_t len = strcspn(words, " ");
	return len && len < cap ? snprintf(dst, cap, "%.*s", (int)len, words) : -ERANGE;
}

static uint32_t word_index(const char *words, const char *word)
{
	char now[32];
	uint32_t i = 0;

	while (word_at(words, i, now, sizeof(now)) > 0 && strcmp(now, word) != 0)
		i++;
	return i;
}

static ssize_t value_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	struct answer w = {.k = r->knob};
	struct sys_nl *nl = NULL;
	struct sys_parts p;
	struct nl_req req;
	uint16_t family;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = open_family(&nl, &family, e);
	if (ret == 0) {
		start(&req, family, (uint8_t)r->knob->msg, p.of);
		ret = nl_talk(nl, &req, take_value, &w, r->knob->name, e);
	}
	sys_nl_close(nl);
	if (ret < 0)
		return ret;
	if (!w.found)
		return err_set(e, WEIR_MISSING, EOPNOTSUPP, "%s has no %s", p.of, r->knob->name);
	if (r->knob->type == SYS_CHOICE)
		return word_at(r->knob->words, w.v, dst, cap);
	return snprintf(dst, cap, "%" PRIu32, w.v);
}

/* Rings, queues, pause frames and speed take the link down for a moment. */
static void await_carrier(const char *iface, bool ran)
{
	int64_t until = clk_mono_ns() + CARRIER_NS;
	struct sys_link l = {0};
	struct sys_nl *nl = NULL;

	if (!ran || sys_nl_open(&nl, NULL) < 0)
		return;
	while (sys_link_get(nl, iface, &l, NULL) == 0 && !l.running && clk_mono_ns() < until)
		clk_sleep_until(clk_mono_ns() + LOOK_NS);
	sys_nl_close(nl);
}

static bool is_running(const char *iface)
{
	struct sys_link l = {0};
	struct sys_nl *nl = NULL;

	if (sys_nl_open(&nl, NULL) == 0)
		sys_link_get(nl, iface, &l, NULL);
	sys_nl_close(nl);
	return l.running;
}

static void put_value(struct nl_req *req, const struct sys_knob *k, const char *canon)
{
	int64_t v = 0;

	if (k->type == SYS_CHOICE)
		v = word_index(k->words, canon);
	else
		sys_parse_i64(canon, &v);
	if (k->width == 1)
		nl_put(req, k->attr, &(uint8_t){(uint8_t)v}, 1);
	else
		nl_put_u32(req, k->attr, (uint32_t)v);
}

static int value_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	struct sys_nl *nl = NULL;
	struct sys_parts p;
	struct nl_req req;
	uint16_t family;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	bool ran = is_running(p.of);
	int ret = open_family(&nl, &family, e);
	if (ret == 0) {
		/* Each message that sets is the one after the message that gets. */
		start(&req, family, (uint8_t)(r->knob->msg + 1), p.of);
		put_value(&req, r->knob, canon);
		ret = nl_talk(nl, &req, NULL, NULL, r->knob->name, e);
	}
	sys_nl_close(nl);
	if (ret == 0)
		await_carrier(p.of, ran);
	return ret;
}
const struct sys_door sys_door_ethtool = {value_get, value_set};

/* ---- bits ---------------------------------------------------------------- */

#define NAME_CAP 64
struct bits {
	struct bit {
		char name[NAME_CAP];
		bool on;
	} * v;
	size_t n, cap;
};

static int take_bit(const struct nlattr *attr, void *arg)
{
	struct bits *b = arg;
	struct nl_attrs a;

	if (b->n == b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 64;
		struct bit *v = realloc(b->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		b->v = v;
		b->cap = cap;
	}
	nl_parse_nest(&a, attr);
	nl_str(a.at[ETHTOOL_A_BITSET_BIT_NAME], b->v[b->n].name, NAME_CAP);
	b->v[b->n].on = a.at[ETHTOOL_A_BITSET_BIT_VALUE] != NULL;
	b->n += b->v[b->n].name[0] != '\0';
	return 0;
}

static int read_bits(struct bits *b, const struct nlattr *bitset)
{
	struct nl_attrs a;

	nl_parse_nest(&a, bitset);
	return nl_each(a.at[ETHTOOL_A_BITSET_BITS], take_bit, b);
}

struct sets {
	const struct sys_knob *k;
	struct bits all, on, wanted;
};

/* Features tell what can be changed, what is on and what is wished apart; flags tell all in one. */
static int take_sets(const struct nlmsghdr *nlh, void *arg)
{
	struct sets *s = arg;
	struct nl_attrs a;

	nl_parse(&a, nlh, sizeof(struct genlmsghdr));
	if (s->k->msg == ETHTOOL_MSG_PRIVFLAGS_GET)
		return read_bits(&s->all, a.at[ETHTOOL_A_PRIVFLAGS_FLAGS]);
	int ret = read_bits(&s->all, a.at[ETHTOOL_A_FEATURES_HW]);
	if (ret == 0)
		ret = read_bits(&s->on, a.at[ETHTOOL_A_FEATURES_ACTIVE]);
	return ret < 0 ? ret : read_bits(&s->wanted, a.at[ETHTOOL_A_FEATURES_WANTED]);
}

static bool has_bit(const struct bits *b, const char *name)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->v[i].name, name))
			return true;
	return false;
}

static void free_sets(struct sets *s)
{
	free(s->all.v);
	free(s->on.v);
	free(s->wanted.v);
}

static int read_sets(struct sets *s, const char *iface, struct weir_err *e)
{
	struct sys_nl *nl = NULL;
	struct nl_req req;
	uint16_t family;
	int ret = open_family(&nl, &family, e);

	if (ret == 0) {
		start(&req, family, (uint8_t)s->k->msg, iface);
		ret = nl_talk(nl, &req, take_sets, s, s->k->name, e);
	}
	sys_nl_close(nl);
	return ret;
}

int sys_bits_each(const struct sys_knob *k, const char *iface,
		  int (*cb)(const char *name, bool on, void *arg), void *arg, struct weir_err *e)
{
	const bool flags = k->msg == ETHTOOL_MSG_PRIVFLAGS_GET;
	struct sets s = {.k = k};
	int ret = read_sets(&s, iface, e);

	for (size_t i = 0; ret == 0 && i < s.all.n; i++) {
		const struct bit *b = &s.all.v[i];
		if (flags || b->on) /* else it is fixed */
			ret = cb(b->name, flags ? b->on : has_bit(&s.on, b->name), arg);
	}
	free_sets(&s);
	return ret;
}

struct wanted {
	const char *name;
	int on; /* -1 = there is none of this name */
};

static int look_at(const char *name, bool on, void *arg)
{
	struct wanted *w = arg;

	if (!strcmp(name, w->name))
		w->on = on;
	return 0;
}

static ssize_t bit_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	struct sys_parts p;
	struct wanted w = {.name = p.part, .on = -1};

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = sys_bits_each(r->knob, p.of, look_at, &w, e);
	if (ret < 0)
		return ret;
	if (w.on < 0)
		return err_set(e, WEIR_MISSING, EOPNOTSUPP, "%s has no %.60s that can be changed",
			       p.of, p.part);
	return snprintf(dst, cap, "%s", w.on ? "on" : "off");
}

static int bit_send(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	const bool flags = r->knob->msg == ETHTOOL_MSG_PRIVFLAGS_GET;
	struct sys_nl *nl = NULL;
	struct sys_parts p;
	struct nl_req req;
	uint16_t family;

	sys_ref_parts(r, &p);
	int ret = open_family(&nl, &family, e);
	if (ret == 0) {
		start(&req, family, (uint8_t)(r->knob->msg + 1), p.of);
		struct nlattr *set = nl_nest(&req, flags ? ETHTOOL_A_PRIVFLAGS_FLAGS
							 : ETHTOOL_A_FEATURES_WANTED);
		struct nlattr *bits = nl_nest(&req, ETHTOOL_A_BITSET_BITS);
		struct nlattr *bit = nl_nest(&req, ETHTOOL_A_BITSET_BITS_BIT);
		nl_put_str(&req, ETHTOOL_A_BITSET_BIT_NAME, p.part);
		if (!strcmp(canon, "on"))
			nl_put(&req, ETHTOOL_A_BITSET_BIT_VALUE, NULL, 0);
		nl_nest_end(&req, bit);
		nl_nest_end(&req, bits);
		nl_nest_end(&req, set);
		ret = nl_talk(nl, &req, NULL, NULL, r->knob->name, e);
	}
	sys_nl_close(nl);
	return ret;
}

/* What is wished, which is not on where another feature that it needs is off. */
static bool is_wished(const struct sys_knob *k, const struct sys_parts *p)
{
	struct sets s = {.k = k};
	bool wished = read_sets(&s, p->of, NULL) == 0 && has_bit(&s.wanted, p->part);

	free_sets(&s);
	return wished;
}

/*
 * A wish that is not granted stays with the kernel, which would grant it later: it is withdrawn,
 * unless it was there before.
 */
static int bit_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	struct sys_parts p;
	char now[8];

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	bool wished = is_wished(r->knob, &p);
	int ret = bit_send(r, canon, e);
	if (ret < 0 || bit_get(r, now, sizeof(now), NULL) < 0 || !strcmp(now, canon))
		return ret;
	bit_send(r, wished ? "on" : "off", NULL);
	return err_set(e, WEIR_OS, EBUSY, "%s does not turn %.60s %s: it depends on another", p.of,
		       p.part, canon);
}
const struct sys_door sys_door_bit = {bit_get, bit_set};

/* ---- the table of receive queues ------------------------------------------ */

#define RSS_MAX 4096
struct rss { /* struct ethtool_rxfh_indir with room */
	uint32_t cmd, size, entry[RSS_MAX];
};

static int rss_ioctl(const char *iface, struct rss *t)
{
	struct ifreq ifr = {.ifr_data = (void *)t};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	memcpy(ifr.ifr_name, iface, strnlen(iface, IF_NAMESIZE - 1));
	ret = ioctl(fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int rss_read(const char *iface, struct rss *t, struct weir_err *e)
{
	*t = (struct rss){.cmd = ETHTOOL_GRXFHINDIR};
	int ret = rss_ioctl(iface, t);

	if (ret == 0) {
		*t = (struct rss){.cmd = ETHTOOL_GRXFHINDIR, .size = t->size};
		ret = t->size && t->size <= RSS_MAX ? rss_ioctl(iface, t) : -EOPNOTSUPP;
	}
	return ret < 0 ? err_os(e, -ret, "reading the receive queues' table of %s", iface) : 0;
}

/* Even over the first n queues; another table could not be put back. */
static ssize_t rss_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	struct sys_parts p;
	struct rss t;
	uint32_t n = 0;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = rss_read(p.of, &t, e);
	if (ret < 0)
		return ret;
	for (uint32_t i = 0; i < t.size; i++)
		n = t.entry[i] >= n ? t.entry[i] + 1 : n;
	for (uint32_t i = 0; i < t.size; i++)
		if (t.entry[i] != i % n)
			return err_set(e, WEIR_LIMIT, ERANGE, "%s spreads packets unevenly", p.of);
	return snprintf(dst, cap, "%" PRIu32, n);
}

static int rss_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	struct sys_parts p;
	struct rss t;
	int64_t n = 0;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = rss_read(p.of, &t, e);
	if (ret < 0 || sys_parse_i64(canon, &n) < 0 || n < 1)
		return ret < 0 ? ret : -EINVAL;
	t.cmd = ETHTOOL_SRXFHINDIR;
	for (uint32_t i = 0; i < t.size; i++)
		t.entry[i] = i % (uint32_t)n;
	ret = rss_ioctl(p.of, &t);
	return ret < 0 ? err_os(e, -ret, "setting the receive queues' table of %s", p.of) : 0;
}
const struct sys_door sys_door_rss = {rss_get, rss_set};
