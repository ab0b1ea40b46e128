/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes that take something else with them. The problem: the kernel makes what stands on an
 * interface as small as it, and forgets the settings of queues that go away; putting the knob back
 * brings neither. The idea: look before the change, and refuse it where something would be lost.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "sys/priv.h"

/* ---- what stands on an interface ------------------------------------------ */

struct upper {
	int below; /* index */
	int64_t mtu;
	char name[IF_NAMESIZE];
};

static int look_above(const struct sys_link *l, void *arg)
{
	struct upper *u = arg;

	/* A veth's other end is no upper device. */
	if (l->link != u->below || l->index == u->below || l->mtu <= u->mtu ||
	    !strcmp(l->kind, "veth"))
		return 0;
	memcpy(u->name, l->name, sizeof(u->name));
	return 1;
}

static int mtu_loss(const struct sys_ref *r, int64_t v, struct weir_err *e)
{
	struct upper u = {.mtu = v};
	struct sys_nl *nl = NULL;
	int ret = sys_nl_open(&nl, e);

	if (ret == 0)
		ret = u.below = nl_index(nl, r->arg, e);
	if (ret > 0)
		ret = sys_links(nl, look_above, &u, e);
	sys_nl_close(nl);
	if (ret <= 0)
		return ret;
	err_set(e, WEIR_LIMIT, EBUSY,
		"an MTU of %d would make %s smaller for good, which stands on %s", (int)v, u.name,
		r->arg);
	return err_hint(e, "what stands on it goes first: weir set iface:%s.mtu=%d iface:%s.mtu=%d",
			u.name, (int)v, r->arg, (int)v);
}

/* ---- queues --------------------------------------------------------------- */

#define QUEUES_MAX 4096

/* Drivers fill XPS themselves; receive packet steering is always somebody's. */
static int queue_loss(const struct sys_ref *r, int64_t v, struct weir_err *e)
{
	static const char *const files[] = {"/sys/class/net/%s/queues/rx-%s/rps_cpus",
					    "/sys/class/net/%s/queues/rx-%s/rps_flow_cnt"};
	char path[SYS_PATH_CAP], text[SYS_VALUE_CAP], queue[16];

	for (int64_t q = v; q < QUEUES_MAX; q++) {
		snprintf(queue, sizeof(queue), "%d", (int)q);
		for (size_t i = 0; i < ARRAY_LEN(files); i++) {
			if (!sys_path(path, NULL, files[i], r->arg, queue) ||
			    sys_read_attr(path, text, sizeof(text)) < 0)
				return 0; /* no such queue */
			if (strspn(text, "0,") == strlen(text))
				continue;
			err_set(e, WEIR_LIMIT, EBUSY,
				"receive queue %s of %s would lose its packet steering (%s)", queue,
				r->arg, strrchr(path, '/') + 1);
			return err_hint(e, "set it to 0 first: weir set iface:%s.%s:%s=0 …", r->arg,
					strrchr(path, '/') + 1, queue);
		}
	}
	return 0;
}

static const struct loss {
	const char *knob;
	int (*look)(const struct sys_ref *r, int64_t v, struct weir_err *e);
} losses[] = {
	{"iface.mtu", mtu_loss},
	{"iface.channels-rx", queue_loss},
	{"iface.channels-combined", queue_loss},
};

int sys_knob_loss(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	int64_t v;

	for (size_t i = 0; i < ARRAY_LEN(losses); i++)
		if (!strcmp(losses[i].knob, r->knob->name) && !r->root &&
		    sys_parse_i64(canon, &v) == 0)
			return losses[i].look(r, v, e);
	return 0;
}

/* ---- values that follow another's ------------------------------------------- */

static int along(const char *what, int64_t from, int64_t to, struct weir_err *e)
{
	return err_set(e, WEIR_LIMIT, EBUSY,
		       "the kernel sets %s with it, which is %d and would be left at %d", what,
		       (int)from, (int)to);
}

/* Also what a router has advertised. */
static int mtu_along(const struct sys_ref *r, int64_t old, int64_t v, struct weir_err *e)
{
	char name[64], text[32];
	int64_t mtu6;

	(void)v;
	snprintf(name, sizeof(name), "net/ipv6/conf/%.15s/mtu", r->arg);
	if (sys_sysctl_get(name, text, sizeof(text)) < 0 || sys_parse_i64(text, &mtu6) < 0 ||
	    mtu6 == old)
		return 0;
	along(name, mtu6, old, e);
	return err_hint(e, "make it %d first: echo %d >/proc/sys/%s", (int)old, (int)old, name);
}

/* Up to the size that IPv4 had alone once, it is both families' size. */
#define LEGACY_SIZE 65536
static int size_along(const struct sys_ref *r, int64_t old, int64_t v, struct weir_err *e)
{
	char name[24], text[SYS_VALUE_CAP];
	int64_t v4, after;

	snprintf(name, sizeof(name), "iface.%.3s_ipv4_max_size", r->knob->name + strlen("iface."));
	struct sys_ref ipv4 = {.knob = sys_knob(name)};
	memcpy(ipv4.arg, r->arg, sizeof(ipv4.arg));
	if (!ipv4.knob || sys_knob_get(&ipv4, text, sizeof(text), NULL) < 0 ||
	    sys_parse_i64(text, &v4) < 0)
		return 0; /* a kernel that has one size */
	after = old <= LEGACY_SIZE ? old : v <= LEGACY_SIZE ? v : v4;
	if (after == v4)
		return 0;
	along(name, v4, after, e);
	return err_hint(e, "before it: iface:%.15s%s=%d", r->arg, name + strlen("iface"),
			(int)after);
}

static const struct follower {
	const char *knob;
	int (*look)(const struct sys_ref *r, int64_t old, int64_t v, struct weir_err *e);
} followers[] = {
	{"iface.mtu", mtu_along},
	{"iface.gso_max_size", size_along},
	{"iface.gro_max_size", size_along},
};

int sys_knob_along(const struct sys_ref *r, const char *old, const char *canon, struct weir_err *e)
{
	int64_t from, v;

	for (size_t i = 0; i < ARRAY_LEN(followers); i++)
		if (!strcmp(followers[i].knob, r->knob->name) && !r->root &&
		    sys_parse_i64(old, &from) == 0 && sys_parse_i64(canon, &v) == 0 && from != v)
			return followers[i].look(r, from, v, e);
	return 0;
}
