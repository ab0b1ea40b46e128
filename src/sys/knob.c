/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knobs: the settings that weir may change and knows how to put back. The problem: a value from
 * a command line or a journal must be one that this knob can have, in one spelling only, and
 * must reach the thing that is meant. The idea: a table of scope, type and range; a value has
 * one canonical form, which is what the kernel prints again; an interface is known by index,
 * permanent address and driver, never by its name alone.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/priv.h"
#include "sys/sys.h"

#define TEXT_MAX     64  /* a value that is a word */
#define PATH_CAP     128 /* of an interface attribute */
#define TRIPLE       3
#define CC_AVAILABLE "net.ipv4.tcp_available_congestion_control"

static const struct sys_knob knobs[] = {
	{"net.ipv4.tcp_congestion_control", "net.ipv4.tcp_congestion_control", SYS_NETNS, "str", 0,
	 0, true, "congestion control of new TCP connections"},
	{"net.ipv4.tcp_rmem", "net.ipv4.tcp_rmem", SYS_NETNS, "triple", 1, INT32_MAX, true,
	 "TCP receive buffers: least, first, most"},
	{"net.ipv4.tcp_wmem", "net.ipv4.tcp_wmem", SYS_NETNS, "triple", 1, INT32_MAX, true,
	 "TCP send buffers: least, first, most"},
	{"net.ipv4.tcp_ecn", "net.ipv4.tcp_ecn", SYS_NETNS, "int", 0, 5, true,
	 "explicit congestion notification of new TCP connections"},
	{"net.ipv4.ip_default_ttl", "net.ipv4.ip_default_ttl", SYS_NETNS, "int", 1, 255, true,
	 "hop limit of IPv4 packets sent"},
	{"net.core.rmem_max", "net.core.rmem_max", SYS_HOST, "int", 2048, INT32_MAX, true,
	 "largest receive buffer that a program may ask for"},
	{"net.core.wmem_max", "net.core.wmem_max", SYS_HOST, "int", 2048, INT32_MAX, true,
	 "largest send buffer that a program may ask for"},
	{"net.core.default_qdisc", "net.core.default_qdisc", SYS_HOST, "str", 0, 0, true,
	 "queue discipline that new interfaces get"},
	{"net.core.netdev_budget", "net.core.netdev_budget", SYS_HOST, "int", 1, INT32_MAX, true,
	 "packets that one receive softirq may take"},
	{"net.core.netdev_budget_usecs", "net.core.netdev_budget_usecs", SYS_HOST, "int", 1,
	 INT32_MAX, true, "microseconds that one receive softirq may take"},
	{"iface.mtu", "/sys/class/net/%s/mtu", SYS_IFACE, "int", 68, 65535, true,
	 "largest packet of the interface"},
	{"iface.tx_queue_len", "/sys/class/net/%s/tx_queue_len", SYS_IFACE, "int", 0, 1000000, true,
	 "packets that the interface's default queue holds"},
	{"iface.gro_flush_timeout", "/sys/class/net/%s/gro_flush_timeout", SYS_IFACE, "int", 0,
	 NSEC_PER_SEC, true, "nanoseconds that received packets may wait to be merged"},
};

const struct sys_knob *sys_knob_at(size_t i)
{
	return i < ARRAY_LEN(knobs) ? &knobs[i] : NULL;
}

const struct sys_knob *sys_knob(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(knobs); i++)
		if (!strcmp(knobs[i].name, name))
			return &knobs[i];
	return NULL;
}

/* ---- values -------------------------------------------------------------- */

/* Up to want integers between blanks; the count, or -EINVAL. */
static int split_ints(const char *s, int64_t *v, int want)
{
	int n = 0;

	for (;;) {
		char word[24];
		s += strspn(s, " \t");
		size_t len = strcspn(s, " \t");
		if (len == 0)
			return n;
		if (n == want || len >= sizeof(word))
			return -EINVAL;
		memcpy(word, s, len);
		word[len] = '\0';
		if (sys_parse_i64(word, &v[n++]) < 0)
			return -EINVAL;
		s += len;
	}
}

static int canon_ints(const struct sys_knob *k, const char *value, int want, char *dst)
{
	int64_t v[TRIPLE];
	int n = 0;

	if (split_ints(value, v, want) != want)
		return -EINVAL;
	for (int i = 0; i < want; i++) {
		if (v[i] < k->min || v[i] > k->max || (i && v[i] < v[i - 1]))
			return -ERANGE;
		n += snprintf(dst + n, (size_t)(SYS_VALUE_CAP - n), "%s%" PRId64, i ? " " : "",
			      v[i]);
	}
	return 0;
}

static int canon_word(const char *value, char *dst)
{
	size_t n = strlen(value);

	if (n == 0 || n >= TEXT_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)value[i]) && value[i] != '_' && value[i] != '-')
			return -EINVAL;
	memcpy(dst, value, n + 1);
	return 0;
}

int sys_knob_canon(const struct sys_knob *k, const char *value, char dst[SYS_VALUE_CAP])
{
	if (!strcmp(k->type, "str"))
		return canon_word(value, dst);
	return canon_ints(k, value, strcmp(k->type, "triple") ? 1 : TRIPLE, dst);
}

static bool good_ifname(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	if (n == 0 || n >= IF_NAMESIZE || !strcmp(s, ".") || !strcmp(s, "..") || !strcmp(s, "lo"))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]) || s[i] == '/' || s[i] == ':')
			return false;
	return true;
}

bool sys_knob_arg_ok(const struct sys_knob *k, const char *arg)
{
	return k->scope == SYS_IFACE ? good_ifname(arg) : !arg || !arg[0];
}

static int bad_value(const struct sys_knob *k, const char *value, struct weir_err *e)
{
	char safe[SAFE_MAX + 1];

	safe_str(safe, sizeof(safe), value, strlen(value));
	err_set(e, WEIR_USAGE, EINVAL, "%s cannot be '%.80s'", k->name, safe);
	if (!strcmp(k->type, "str"))
		return err_hint(e, "it is one word of letters, digits, _ and -");
	return err_hint(e, "it is %s from %" PRId64 " to %" PRId64,
			strcmp(k->type, "triple") ? "a whole number" : "three ascending numbers",
			k->min, k->max);
}

/* Writing an unknown name would load a kernel module. */
static bool cc_available(const char *name)
{
	char list[512];
	size_t n = strlen(name);

	if (sys_sysctl_get(CC_AVAILABLE, list, sizeof(list)) < 0)
		return false;
	for (const char *s = list; (s = strstr(s, name)); s += n)
		if ((s == list || s[-1] == ' ') && (s[n] == ' ' || s[n] == '\0'))
			return true;
	return false;
}

int sys_knob_check(const struct sys_knob *k, const char *arg, const char *value, struct weir_err *e)
{
	char canon[SYS_VALUE_CAP], safe[SAFE_MAX + 1];

	if (!sys_knob_arg_ok(k, arg)) {
		safe_str(safe, sizeof(safe), arg ? arg : "", arg ? strlen(arg) : 0);
		return err_set(e, WEIR_USAGE, EINVAL, "%s %s, not '%s'", k->name,
			       k->scope == SYS_IFACE ? "needs an interface" : "takes no argument",
			       safe);
	}
	if (sys_knob_canon(k, value, canon) < 0)
		return bad_value(k, value, e);
	if (!strcmp(k->name, "net.ipv4.tcp_congestion_control") && !cc_available(canon)) {
		err_set(e, WEIR_USAGE, ENOENT, "no congestion control '%s' is loaded", canon);
		return err_hint(e, "see " CC_AVAILABLE);
	}
	return 0;
}

/* ---- interfaces ---------------------------------------------------------- */

static void read_driver(const char *name, char *dst, size_t cap)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {.ifr_data = (void *)&info};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	dst[0] = '\0';
	if (fd < 0)
		return;
	memcpy(ifr.ifr_name, name, strnlen(name, IF_NAMESIZE - 1));
	if (ioctl(fd, SIOCETHTOOL, &ifr) == 0)
		snprintf(dst, cap, "%.*s", (int)cap - 1, info.driver);
	close(fd);
}

int sys_iface_id(const char *name, struct sys_iface_id *id, struct weir_err *e)
{
	struct sys_nl *nl = NULL;
	struct sys_link l = {0};
	int ret = sys_nl_open(&nl, e);

	*id = (struct sys_iface_id){0};
	if (ret == 0)
		ret = sys_link_get(nl, name, &l, e);
	sys_nl_close(nl);
	if (ret < 0)
		return ret;
	id->index = l.index;
	memcpy(id->mac, l.mac, sizeof(id->mac));
	memcpy(id->perm_mac, l.has_perm_mac ? l.perm_mac : l.mac, sizeof(id->perm_mac));
	read_driver(name, id->driver, sizeof(id->driver));
	return 0;
}

static void iface_path(const char *pattern, const char *name, char dst[PATH_CAP])
{
	const char *hole = strstr(pattern, "%s");

	snprintf(dst, PATH_CAP, "%.*s%s%s", (int)(hole - pattern), pattern, name, hole + 2);
}

/*
 * sysfs shows the namespace that mounted it, which need not be ours: an interface of the same
 * name elsewhere must not be touched.
 */
static int check_sysfs(const char *name, struct weir_err *e)
{
	struct sys_iface_id id;
	char path[PATH_CAP], have[32], want[32];
	int64_t index = 0;
	int ret = sys_iface_id(name, &id, e);

	if (ret < 0)
		return ret;
	iface_path("/sys/class/net/%s/ifindex", name, path);
	sys_read_i64(path, &index);
	iface_path("/sys/class/net/%s/address", name, path);
	sys_read_attr(path, have, sizeof(have));
	snprintf(want, sizeof(want), "%02x:%02x:%02x:%02x:%02x:%02x", id.mac[0], id.mac[1],
		 id.mac[2], id.mac[3], id.mac[4], id.mac[5]);
	if (index == id.index && !strcmp(have, want))
		return 0;
	return err_set(e, WEIR_OS, EXDEV, "/sys shows another network namespace's interfaces");
}

/* ---- reading and writing ------------------------------------------------- */

ssize_t sys_knob_get(const struct sys_knob *k, const char *arg, char *dst, size_t cap,
		     struct weir_err *e)
{
	char path[PATH_CAP], raw[SYS_VALUE_CAP], canon[SYS_VALUE_CAP];
	ssize_t n;

	if (!sys_knob_arg_ok(k, arg))
		return err_set(e, WEIR_USAGE, EINVAL, "%s: wrong interface", k->name);
	if (k->scope == SYS_IFACE) {
		int ret = check_sysfs(arg, e);
		if (ret < 0)
			return ret;
		iface_path(k->path, arg, path);
		n = sys_read_attr(path, raw, sizeof(raw));
	} else {
		n = sys_sysctl_get(k->path, raw, sizeof(raw));
	}
	if (n < 0)
		return err_os(e, (int)-n, "reading %s", k->name);
	if (sys_knob_canon(k, raw, canon) < 0)
		return err_set(e, WEIR_OS, ERANGE, "%s has a value that weir could not put back",
			       k->name);
	n = snprintf(dst, cap, "%s", canon);
	return (size_t)n < cap ? n : err_set(e, WEIR_LIMIT, EFBIG, "reading %s", k->name);
}

/* Host-wide settings changed from a container would outlive its journal. */
static bool in_initial_namespaces(void)
{
	const ino_t initial_pid = 0xEFFFFFFCU, initial_user = 0xEFFFFFFDU; /* fixed by the ABI */
	struct stat pid, user;

	return stat("/proc/self/ns/pid", &pid) == 0 && stat("/proc/self/ns/user", &user) == 0 &&
	       pid.st_ino == initial_pid && user.st_ino == initial_user;
}

int sys_knob_set(const struct sys_knob *k, const char *arg, const char *canon, struct weir_err *e)
{
	char path[PATH_CAP], now[SYS_VALUE_CAP];
	int ret;

	if (k->scope == SYS_HOST && !in_initial_namespaces())
		return err_set(e, WEIR_MISSING, EPERM,
			       "%s is host-wide and is not changed from a container", k->name);
	if (k->scope == SYS_IFACE) {
		ret = check_sysfs(arg, e);
		if (ret < 0)
			return ret;
		iface_path(k->path, arg, path);
		ret = sys_write_attr(path, canon, e);
	} else {
		ret = sys_sysctl_set(k->path, canon, e);
	}
	if (ret < 0)
		return ret;
	ssize_t n = sys_knob_get(k, arg, now, sizeof(now), e);
	if (n < 0)
		return (int)n;
	if (strcmp(now, canon))
		return err_set(e, WEIR_OS, EIO, "%s was set to '%s' but is '%s'", k->name, canon,
			       now);
	return 0;
}
