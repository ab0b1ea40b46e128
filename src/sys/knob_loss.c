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
