/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What knobs there are here: each row times the things that it can be of. The idea: a walk over
 * the table that asks each kind of row for its things (interfaces, queues, bits, processors …), and
 * a filter on the whole name before anything is read.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/priv.h"

struct walk {
	const char *root, *pattern;
	int (*cb)(const struct sys_ref *r, void *arg);
	void *arg;
	const struct sys_knob *k;
	const char *of;
};

static bool matches(const char *pattern, const char *text)
{
	if (!pattern)
		return true;
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, 0) == 0 ||
		       (!strncmp(text, "sysctl:", 7) && fnmatch(pattern, text + 7, 0) == 0);
	return strstr(text, pattern) != NULL;
}

static int give(const struct walk *w, const char *of, const char *part)
{
	struct sys_ref r = {.knob = w->k, .root = w->root};
	char text[SYS_REF_TEXT];
	int n = snprintf(r.arg, sizeof(r.arg), "%s%s%s", of, part[0] ? ":" : "", part);

	if (n < 0 || (size_t)n >= sizeof(r.arg) || !sys_knob_arg_ok(w->k, r.arg))
		return 0;
	sys_ref_text(&r, text);
	return matches(w->pattern, text) ? w->cb(&r, w->arg) : 0;
}

static int in_order(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Names in a folder that begin with prefix (cut off); digits: followed by a number alone. */
static int each_name(struct walk *w, const char *folder, const char *of, const char *prefix,
		     bool digits, int (*cb)(struct walk *w, const char *name))
{
	char path[SYS_PATH_CAP];
	struct dirent **list = NULL;
	size_t n = strlen(prefix);
	int count =
		sys_path(path, w->root, folder, of, "") ? scandir(path, &list, NULL, in_order) : 0;
	int ret = 0;

	for (int i = 0; i < count; i++) {
		const char *name = list[i]->d_name;
		bool ok = name[0] != '.' && !strncmp(name, prefix, n) && name[n];
		if (ok && digits)
			ok = strspn(name + n, "0123456789") == strlen(name + n);
		if (ok && ret == 0)
			ret = cb(w, name + n);
		free(list[i]);
	}
	free(list);
	return ret;
}

static int whole(struct walk *w, const char *of)
{
	return give(w, of, "");
}

static int part(struct walk *w, const char *name)
{
	return give(w, w->of, name);
}

static int bit(const char *name, bool on, void *arg)
{
	(void)on;
	return part(arg, name);
}

/* ---- interfaces ---------------------------------------------------------- */

static int of_iface(struct walk *w, const char *name)
{
	w->of = name;
	switch (w->k->part) {
	case SYS_RX_QUEUE:
		return each_name(w, "/sys/class/net/%s/queues", name, "rx-", true, part);
	case SYS_TX_QUEUE:
		return each_name(w, "/sys/class/net/%s/queues", name, "tx-", true, part);
	case SYS_BIT:
		if (!w->root)
			sys_bits_each(w->k, name, bit, w, NULL); /* some have none */
		return 0;
	default:
		return give(w, name, "");
	}
}

#define IFACES_MAX 256
struct ifaces {
	char name[IFACES_MAX][IF_NAMESIZE];
	size_t n;
};

static int take_iface(const struct sys_link *l, void *arg)
{
	struct ifaces *t = arg;

	if (t->n < IFACES_MAX)
		memcpy(t->name[t->n++], l->name, IF_NAMESIZE);
	return 0;
}

/* Of the thread's namespace, whatever /sys shows. */
static int each_iface(struct walk *w, const struct ifaces *t)
{
	int ret = 0;

	if (w->root)
		return each_name(w, "/sys/class/net", "", "", false, of_iface);
	for (size_t i = 0; i < t->n && ret == 0; i++)
		ret = of_iface(w, t->name[i]);
	return ret;
}

/* ---- the machine ---------------------------------------------------------- */

static int of_cpu(struct walk *w, const char *name)
{
	w->of = name;
	if (w->k->part == SYS_STATE)
		return each_name(w, "/sys/devices/system/cpu/cpu%s/cpuidle", name, "state", true,
				 part);
	return give(w, name, "");
}

static int of_module(struct walk *w, const char *name)
{
	w->of = name;
	if (w->k->part == SYS_PARAM)
		return each_name(w, "/sys/module/%s/parameters", name, "", false, part);
	return give(w, name, "");
}

static int each_service(struct walk *w)
{
	const char *name;
	int ret = 0;

	for (size_t i = 0; ret == 0 && (name = sys_service_at(i)); i++)
		ret = give(w, name, "");
	return ret;
}

static bool of_class(const struct sys_knob *k, const char *class)
{
	size_t n = strlen(class);

	return !strncmp(k->name, class, n) && k->name[n] == '.';
}

static int walk_row(struct walk *w, const struct ifaces *ifaces)
{
	if (w->k->scope == SYS_IFACE)
		return each_iface(w, ifaces);
	if (of_class(w->k, "cpu"))
		return each_name(w, "/sys/devices/system/cpu", "", "cpu", true, of_cpu);
	if (of_class(w->k, "irq")) /* hundreds: only when they are asked for */
		return w->pattern ? each_name(w, "/proc/irq", "", "", true, whole) : 0;
	if (of_class(w->k, "module"))
		return w->pattern ? each_name(w, "/sys/module", "", "", false, of_module) : 0;
	if (of_class(w->k, "service"))
		return each_service(w);
	return give(w, "", "");
}

int sys_knob_list(const char *root, const char *pattern,
		  int (*cb)(const struct sys_ref *r, void *arg), void *arg, struct weir_err *e)
{
	struct walk w = {.root = root, .pattern = pattern, .cb = cb, .arg = arg};
	struct ifaces *ifaces = calloc(1, sizeof(*ifaces));
	struct sys_nl *nl = NULL;
	int ret = 0;

	if (!ifaces)
		return err_os(e, ENOMEM, "listing knobs");
	if (!root && sys_nl_open(&nl, NULL) == 0)
		sys_links(nl, take_iface, ifaces, NULL);
	sys_nl_close(nl);
	for (size_t i = 0; ret == 0 && (w.k = sys_knob_at(i)); i++)
		ret = walk_row(&w, ifaces);
	free(ifaces);
	return ret;
}
