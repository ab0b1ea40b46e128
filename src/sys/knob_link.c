/* SPDX-License-Identifier: BSD-2-Clause */
/* Knobs behind rtnetlink: attributes of a link, and its root queue discipline. */
#include <errno.h>
#include <inttypes.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "sys/priv.h"

#define DEFAULT_KIND "net.core.default_qdisc"

static int no_kernel(const struct sys_ref *r, struct weir_err *e)
{
	return err_set(e, WEIR_MISSING, EOPNOTSUPP, "%s is not a file: not below %.100s",
		       r->knob->name, r->root);
}

struct look {
	uint16_t attr;
	bool found;
	uint32_t v;
};

static int take_attr(const struct nlmsghdr *nlh, void *arg)
{
	struct look *l = arg;
	struct nl_attrs a;

	if (nlh->nlmsg_type != RTM_NEWLINK)
		return 0;
	nl_parse(&a, nlh, sizeof(struct ifinfomsg));
	l->found = a.at[l->attr] != NULL;
	l->v = nl_u32(a.at[l->attr]);
	return 0;
}

static int link_talk(const struct sys_ref *r, struct look *l, const uint32_t *set,
		     struct weir_err *e)
{
	struct sys_nl *nl = NULL;
	struct sys_parts p;
	struct nl_req req;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = sys_nl_open(&nl, e);
	int index = ret < 0 ? ret : nl_index(nl, p.of, e);
	if (index >= 0) {
		struct ifinfomsg *ifi =
			nl_req(&req, set ? RTM_NEWLINK : RTM_GETLINK, 0, sizeof(*ifi));
		ifi->ifi_index = index;
		if (set)
			nl_put_u32(&req, r->knob->attr, *set);
		ret = nl_talk(nl, &req, set ? NULL : take_attr, l,
			      set ? "setting a link's attribute" : "reading a link", e);
	}
	sys_nl_close(nl);
	return index < 0 ? index : ret;
}

static ssize_t link_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	struct look l = {.attr = r->knob->attr};
	int ret = link_talk(r, &l, NULL, e);

	if (ret < 0)
		return ret;
	if (!l.found)
		return err_set(e, WEIR_MISSING, ENOENT, "this kernel has no %s", r->knob->name);
	return snprintf(dst, cap, "%" PRIu32, l.v);
}

static int link_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	int64_t v;

	if (sys_parse_i64(canon, &v) < 0)
		return -EINVAL;
	return link_talk(r, NULL, &(uint32_t){(uint32_t)v}, e);
}
const struct sys_door sys_door_link = {link_get, link_set};

static ssize_t qdisc_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char text[SYS_VALUE_CAP];
	struct sys_nl *nl = NULL;
	struct sys_parts p;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = sys_nl_open(&nl, e);
	if (ret == 0)
		ret = sys_qdisc_text(nl, p.of, text, e);
	sys_nl_close(nl);
	return ret < 0 ? ret : snprintf(dst, cap, "%s", text);
}

/* It would not come back as it was; not every namespace can know. */
static int check_default(const struct sys_ref *r, const char *text, struct weir_err *e)
{
	char kind[SYS_VALUE_CAP];

	if (!sys_tc_is_default(text) || sys_sysctl_get(DEFAULT_KIND, kind, sizeof(kind)) <= 0 ||
	    sys_tc_default_of(text, kind))
		return 0;
	err_set(e, WEIR_LIMIT, EBUSY,
		"the queue discipline that %s had by %s would come back as %s", r->arg, text, kind);
	return err_hint(e, "set " DEFAULT_KIND "=%s before it, or %s after it",
			strrchr(text, ' ') + 1, kind);
}

/* One request, so that there is no moment between: who dies there leaves the old one or the new. */
static int qdisc_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	char now[SYS_VALUE_CAP];
	struct sys_nl *nl = NULL;
	struct sys_parts p;

	sys_ref_parts(r, &p);
	if (r->root)
		return no_kernel(r, e);
	int ret = sys_nl_open(&nl, e);
	if (ret == 0)
		ret = sys_qdisc_text(nl, p.of, now, e); /* refuses what it could not put back */
	if (ret == 0)
		ret = check_default(r, sys_tc_is_default(now) ? now : canon, e);
	if (ret == 0)
		ret = !sys_tc_is_default(canon) ? sys_qdisc_set(nl, p.of, 0, 0, canon, e)
						: sys_qdisc_default(nl, p.of, e);
	sys_nl_close(nl);
	return ret;
}
const struct sys_door sys_door_qdisc = {qdisc_get, qdisc_set};
