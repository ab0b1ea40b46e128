/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A knob of one thing: named, checked, read, set. The problem: a name or a value from a command
 * line or a journal must reach the thing that is meant and no other. The idea: a name is taken
 * apart by the row that it names, each part is checked by what it stands for, and a value is set
 * only in the row's canonical spelling and read back.
 */
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/priv.h"

#define CC_AVAILABLE "net.ipv4.tcp_available_congestion_control"

/* ---- names --------------------------------------------------------------- */

static bool good_ifname(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n >= IF_NAMESIZE || !strcmp(s, ".") || !strcmp(s, "..") || !strcmp(s, "lo"))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]) || s[i] == '/' || s[i] == ':')
			return false;
	return true;
}

static bool good_number(const char *s)
{
	size_t n = strlen(s);

	return n && n < 7 && strspn(s, "0123456789") == n && (n == 1 || s[0] != '0');
}

static bool good_word(const char *s, const char *more)
{
	size_t n = strlen(s);

	if (n == 0 || n >= 64 || s[0] == '-' || s[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(more, s[i]))
			return false;
	return true;
}

static bool has_class(const struct sys_knob *k, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(k->name, name, n) && k->name[n] == '.';
}

static bool takes_arg(const struct sys_knob *k)
{
	return k->scope == SYS_IFACE || has_class(k, "cpu") || has_class(k, "irq") ||
	       has_class(k, "module") || has_class(k, "service");
}

static bool good_of(const struct sys_knob *k, const char *of)
{
	if (k->scope == SYS_IFACE)
		return good_ifname(of);
	if (has_class(k, "cpu") || has_class(k, "irq"))
		return good_number(of);
	if (has_class(k, "module"))
		return good_word(of, "_-");
	return has_class(k, "service") ? sys_service_known(of) : !of[0];
}

static bool good_part(const struct sys_knob *k, const char *part)
{
	switch (k->part) {
	case SYS_WHOLE:
		return !part[0];
	case SYS_BIT:
		return good_word(part, "_-.:+/ ");
	case SYS_PARAM:
		return good_word(part, "_");
	default:
		return good_number(part);
	}
}

void sys_ref_parts(const struct sys_ref *r, struct sys_parts *p)
{
	size_t n = strcspn(r->arg, ":");

	memcpy(p->of, r->arg, n);
	p->of[n] = '\0';
	snprintf(p->part, sizeof(p->part), "%s", r->arg[n] ? r->arg + n + 1 : "");
}

bool sys_knob_arg_ok(const struct sys_knob *k, const char *arg)
{
	struct sys_ref r = {.knob = k};
	struct sys_parts p;

	if (!arg)
		arg = "";
	if (strlen(arg) >= sizeof(r.arg))
		return false;
	memcpy(r.arg, arg, strlen(arg) + 1);
	sys_ref_parts(&r, &p);
	return good_of(k, p.of) && good_part(k, p.part) &&
	       (k->part == SYS_WHOLE) == !strchr(arg, ':');
}

/* "iface.mtu" of eth0 is iface:eth0.mtu; a sysctl is itself. */
void sys_ref_text(const struct sys_ref *r, char dst[SYS_REF_TEXT])
{
	const char *name = r->knob->name, *dot = strchr(name, '.');
	struct sys_parts p;

	sys_ref_parts(r, &p);
	if (r->knob->via == SYS_VIA_SYSCTL)
		snprintf(dst, SYS_REF_TEXT, "sysctl:%s", name);
	else if (!takes_arg(r->knob))
		snprintf(dst, SYS_REF_TEXT, "%.*s:%s", (int)(dot - name), name, dot + 1);
	else
		snprintf(dst, SYS_REF_TEXT, "%.*s:%.60s%s%s%.60s", (int)(dot - name), name, p.of,
			 dot, p.part[0] ? ":" : "", p.part);
}

/* What people say, and what the kernel calls it. */
static const struct {
	const char *knob, *feature;
} features[] = {
	{"tso", "tx-tcp-segmentation"},
	{"tso6", "tx-tcp6-segmentation"},
	{"gso", "tx-generic-segmentation"},
	{"gro", "rx-gro"},
	{"lro", "rx-lro"},
	{"sg", "tx-scatter-gather"},
	{"rx-csum", "rx-checksum"},
	{"tx-csum", "tx-checksum-ip-generic"},
	{"ntuple", "rx-ntuple-filter"},
	{"rxhash", "rx-hashing"},
};

static int unknown(const char *text, size_t n, struct weir_err *e)
{
	char safe[SAFE_MAX + 1];

	safe_str(safe, sizeof(safe), text, n);
	err_set(e, WEIR_USAGE, ENOENT, "weir does not know how to change and undo %.100s", safe);
	return err_hint(e, "`weir knobs` lists what it knows");
}

/* OF.KNOB[:PART] of a class; a device's name may hold dots (eth0.5), a knob's does not. */
static bool parse_arg(struct sys_ref *r, const char *class, size_t class_len, const char *s,
		      size_t n)
{
	const char *colon = memchr(s, ':', n);
	size_t head = colon ? (size_t)(colon - s) : n;
	const char *dot = memrchr(s, '.', head);
	const char *part = colon ? colon + 1 : "";
	size_t part_len = colon ? n - head - 1 : 0;
	char name[64], what[40];

	if (!dot || dot == s || (size_t)(s + head - dot) > sizeof(what))
		return false;
	snprintf(what, sizeof(what), "%.*s", (int)(s + head - dot - 1), dot + 1);
	for (size_t i = 0; i < ARRAY_LEN(features); i++)
		if (!strcmp(features[i].knob, what) && !colon) {
			part = features[i].feature;
			part_len = strlen(part);
			snprintf(what, sizeof(what), "feature");
		}
	snprintf(name, sizeof(name), "%.*s.%s", (int)class_len, class, what);
	r->knob = sys_knob(name);
	if (!r->knob || (size_t)(dot - s) + 1 + part_len >= sizeof(r->arg))
		return false;
	snprintf(r->arg, sizeof(r->arg), "%.*s%s%.*s", (int)(dot - s), s, part_len ? ":" : "",
		 (int)part_len, part);
	return takes_arg(r->knob);
}

/* A name as it is, without an argument. */
static bool parse_plain(struct sys_ref *r, const char *s, size_t n)
{
	char name[80];

	if (n >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)n, s);
	for (char *c = name; *c; c++)
		if (*c == ':')
			*c = '.';
	r->knob = sys_knob(name);
	return r->knob && !takes_arg(r->knob);
}

int sys_ref_parse(struct sys_ref *r, const char *text, size_t n, struct weir_err *e)
{
	const char *root = r->root, *colon = memchr(text, ':', n);
	size_t head = colon ? (size_t)(colon - text) : 0;
	bool ok;

	*r = (struct sys_ref){.root = root};
	if (head == 6 && !memcmp(text, "sysctl", 6))
		ok = parse_plain(r, colon + 1, n - head - 1) && r->knob->via == SYS_VIA_SYSCTL;
	else if (!colon || !parse_arg(r, text, head, colon + 1, n - head - 1))
		ok = parse_plain(r, text, n);
	else
		ok = true;
	if (!ok)
		return unknown(text, n, e);
	if (!sys_knob_arg_ok(r->knob, r->arg)) {
		unknown(text, n, e);
		return r->knob->via == SYS_VIA_SERVICE
			       ? err_hint(e,
					  "only services that do no more than disturb are stopped")
			       : err_hint(e, "what it is of is not named as it should be");
	}
	return 0;
}

const char *sys_knob_needs(const struct sys_knob *k)
{
	if (k->revert == SYS_REBOOT)
		return "the boot loader";
	if (k->revert == SYS_REBUILD)
		return "another kernel";
	return k->scope == SYS_HOST ? "root" : "CAP_NET_ADMIN";
}

/* ---- checking ------------------------------------------------------------ */

/* Writing an unknown name would load a kernel module. */
static int check_cc(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	char list[512];

	if (strcmp(r->knob->name, "net.ipv4.tcp_congestion_control") != 0 || r->root)
		return 0;
	if (sys_sysctl_get(CC_AVAILABLE, list, sizeof(list)) >= 0 && sys_has_word(list, canon))
		return 0;
	err_set(e, WEIR_USAGE, ENOENT, "no congestion control '%s' is loaded", canon);
	return err_hint(e, "see " CC_AVAILABLE);
}

static bool has_ipv6(const char *iface)
{
	struct buf b = {0};
	bool found = false;
	char name[IF_NAMESIZE];

	sys_read_file("/proc/net/if_inet6", 1U << 20, &b, NULL);
	for (const char *s = b.data; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		found |= sscanf(s, "%*s %*s %*s %*s %*s %15s", name) == 1 && !strcmp(name, iface);
	buf_fini(&b);
	return found;
}

/* The kernel takes IPv6 from an interface that is too small for it, and does not give it back. */
static int check_mtu(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	const int64_t least = 1280;
	int64_t v = 0;

	if (strcmp(r->knob->name, "iface.mtu") != 0 || r->root || sys_parse_i64(canon, &v) < 0 ||
	    v >= least || !has_ipv6(r->arg))
		return 0;
	err_set(e, WEIR_USAGE, EINVAL,
		"an MTU below %d would take the IPv6 addresses of %s away for good", (int)least,
		r->arg);
	return err_hint(e, "remove them first, if that is meant");
}

bool sys_knob_writable(const struct sys_ref *r)
{
	char path[SYS_PATH_CAP];
	struct sys_parts p;
	struct stat st;

	if (r->knob->part != SYS_PARAM)
		return true;
	sys_ref_parts(r, &p);
	return !sys_path(path, r->root, r->knob->path, p.of, p.part) || stat(path, &st) < 0 ||
	       st.st_mode & S_IWUSR;
}

static int check_revert(const struct sys_ref *r, struct weir_err *e)
{
	const struct sys_knob *k = r->knob;
	char name[SYS_REF_TEXT];

	sys_ref_text(r, name);
	if (!sys_knob_writable(r)) {
		err_set(e, WEIR_USAGE, EINVAL, "%s is read-only while the module is loaded", name);
		return err_hint(e, "it is said when the module is loaded: modprobe");
	}
	if (k->revert == SYS_RUNTIME)
		return 0;
	err_set(e, WEIR_USAGE, EINVAL, "%s needs a %s", k->path,
		k->revert == SYS_REBOOT ? "reboot with it on the kernel's command line"
					: "kernel that is built so");
	return err_hint(e, "`weir try --by-hand` measures both sides of a reboot");
}

int sys_knob_check(const struct sys_ref *r, const char *value, struct weir_err *e)
{
	const struct sys_knob *k = r->knob;
	char canon[SYS_VALUE_CAP], safe[SAFE_MAX + 1];

	if (!sys_knob_arg_ok(k, r->arg)) {
		safe_str(safe, sizeof(safe), r->arg, strlen(r->arg));
		return err_set(e, WEIR_USAGE, EINVAL, "%s %s, not '%.80s'", k->name,
			       takes_arg(k) ? "needs what it is of" : "takes no argument", safe);
	}
	int ret = check_revert(r, e);
	if (ret == 0 && k->type == SYS_TC)
		ret = sys_tc_canon(value, canon, e);
	else if (ret == 0 && sys_knob_canon(k, value, canon) < 0)
		ret = sys_knob_bad_value(r, value, e);
	if (ret == 0)
		ret = check_cc(r, canon, e);
	return ret < 0 ? ret : check_mtu(r, canon, e);
}

/* ---- reading and writing ------------------------------------------------- */

static const struct sys_door *const doors[] = {
	[SYS_VIA_SYSCTL] = &sys_door_sysctl,   [SYS_VIA_FILE] = &sys_door_file,
	[SYS_VIA_LINK] = &sys_door_link,       [SYS_VIA_ETHTOOL] = &sys_door_ethtool,
	[SYS_VIA_FEATURE] = &sys_door_bit,     [SYS_VIA_RSS] = &sys_door_rss,
	[SYS_VIA_QDISC] = &sys_door_qdisc,     [SYS_VIA_MODULE] = &sys_door_module,
	[SYS_VIA_SERVICE] = &sys_door_service, [SYS_VIA_WIFI] = &sys_door_wifi,
	[SYS_VIA_BOOT] = &sys_door_boot,       [SYS_VIA_BUILD] = &sys_door_build,
};

/* Host-wide settings changed from a container would outlive its journal. */
bool sys_on_machine(void)
{
	const ino_t initial_pid = 0xEFFFFFFCU, initial_user = 0xEFFFFFFDU; /* fixed by the ABI */
	struct stat pid, user;

	return stat("/proc/self/ns/pid", &pid) == 0 && stat("/proc/self/ns/user", &user) == 0 &&
	       pid.st_ino == initial_pid && user.st_ino == initial_user;
}

/* What is missing, named: a privilege, or the thing itself. */
static int refused(const struct sys_ref *r, int ret, struct weir_err *e)
{
	const bool host = r->knob->scope == SYS_HOST;

	if (e && (ret == -EACCES || ret == -EPERM || ret == -EROFS)) {
		e->domain = WEIR_MISSING;
		err_hint(e, "it needs %s%s", sys_knob_needs(r->knob),
			 host ? ", in the machine's own namespaces" : "");
	}
	if (e && (ret == -ENOENT || ret == -EOPNOTSUPP)) {
		e->domain = WEIR_MISSING;
		err_hint(e, "%s",
			 r->knob->scope == SYS_IFACE ? "this interface has no such thing"
			 : has_class(r->knob, "cpu") || has_class(r->knob, "irq")
				 ? "there is no such number here, or it has no such thing"
			 : host && !r->root && !sys_on_machine() ? "a container does not see it"
			 : host ? "this kernel has no such thing, or only outside of "
				  "network namespaces"
				: "this kernel has no such thing");
	}
	return ret;
}

ssize_t sys_knob_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char raw[SYS_VALUE_CAP], canon[SYS_VALUE_CAP], name[SYS_REF_TEXT];
	ssize_t n;

	sys_ref_text(r, name);
	if (!sys_knob_arg_ok(r->knob, r->arg))
		return err_set(e, WEIR_USAGE, EINVAL, "%s: not of this", r->knob->name);
	n = doors[r->knob->via]->get(r, raw, sizeof(raw), e);
	if (n < 0)
		return refused(r, (int)n, e);
	if (sys_knob_canon(r->knob, raw, canon) < 0)
		return err_set(e, WEIR_OS, ERANGE, "%s has a value that weir could not put back",
			       name);
	n = snprintf(dst, cap, "%s", canon);
	return (size_t)n < cap ? n : err_set(e, WEIR_LIMIT, EFBIG, "reading %s", name);
}

int sys_knob_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	char now[SYS_VALUE_CAP], name[SYS_REF_TEXT];
	int ret;

	sys_ref_text(r, name);
	if (r->knob->scope == SYS_HOST && !r->root && !sys_on_machine())
		return err_set(e, WEIR_MISSING, EPERM,
			       "%s is host-wide and is not changed from a container", name);
	ret = sys_knob_loss(r, canon, e);
	if (ret < 0)
		return ret;
	ret = doors[r->knob->via]->set(r, canon, e);
	if (ret < 0)
		return refused(r, ret, e);
	ssize_t n = sys_knob_get(r, now, sizeof(now), e);
	if (n < 0)
		return (int)n;
	if (!sys_knob_same(r->knob, canon, now))
		return err_set(e, WEIR_OS, EIO, "%s was set to '%.60s' but is '%.60s'", name, canon,
			       now);
	return 0;
}
