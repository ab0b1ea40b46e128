/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knobs that programs of the system turn: modules, services, the radio. The problem: these programs
 * run as root on words that people and journals gave. The idea: absolute paths, arguments that are
 * checked already, no shell; services from a list of those that do no more than disturb; a module
 * goes only where nothing holds it and nothing is lost with it.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/priv.h"

#define PATIENCE_NS (60 * NSEC_PER_SEC)
#define ARGS_MAX    12
#define OUTPUT_MAX  16384

/* ---- programs ------------------------------------------------------------ */

static const char *const places[] = {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"};

static bool find_program(const struct sys_ref *r, const char *name, char path[SYS_PATH_CAP])
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char file[64];
		snprintf(file, sizeof(file), "%s%s", places[i], name);
		if (sys_path(path, r->root, file, "", "") && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void drain(int fd, struct buf *out)
{
	char chunk[1024];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno != EINTR)
			return;
		if (n > 0 && out && out->len < OUTPUT_MAX)
			buf_put(out, chunk, (size_t)n);
	}
}

/* Runs argv, what it prints into out; its exit status or -errno. */
static int run(char *const argv[], struct buf *out, struct weir_err *e)
{
	struct sys_child c;
	int ret = sys_child_start(&c, argv,
				  SYS_CHILD_NULL_IN | SYS_CHILD_QUIET | SYS_CHILD_NEW_SESSION |
					  (out ? SYS_CHILD_PIPE_OUT : 0U),
				  NULL, -1, -1, e);
	if (ret < 0)
		return ret;
	if (out)
		drain(c.out, out);
	ret = sys_child_wait(&c, PATIENCE_NS);
	sys_child_stop(&c, NSEC_PER_SEC);
	return ret == -ETIMEDOUT ? err_set(e, WEIR_OS, ETIMEDOUT, "%.100s did not end", argv[0])
				 : ret;
}

#define WORD(s) ((char *)(uintptr_t)(s))

static int run_tool(const struct sys_ref *r, const char *name, const char *const args[],
		    struct buf *out, struct weir_err *e)
{
	char path[SYS_PATH_CAP], *argv[ARGS_MAX + 2] = {path};

	if (!find_program(r, name, path))
		return err_set(e, WEIR_MISSING, ENOENT, "%s is not installed", name);
	for (size_t i = 0; args[i] && i < ARGS_MAX; i++)
		argv[i + 1] = WORD(args[i]);
	return run(argv, out, e);
}

static int done(int status, const struct sys_ref *r, struct weir_err *e)
{
	char name[SYS_REF_TEXT];

	sys_ref_text(r, name);
	return status > 0 ? err_set(e, WEIR_OS, EIO, "%s: exit status %d", name, status) : status;
}

/* ---- modules ------------------------------------------------------------- */

/* Unloading them loses what reloading does not bring back: rules, tables, connections, links. */
static const char *const keepers[] = {
	"ip_tables",
	"ip6_tables",
	"iptable_",
	"ip6table_",
	"arptable",
	"ebtable",
	"nf_tables",
	"nft_",
	"nf_nat",
	"nf_conntrack",
	"ip_set",
	"ip_vs",
	"bridge",
	"bonding",
	"8021q",
	"team",
	"tun",
	"veth",
	"dummy",
	"vxlan",
	"wireguard",
	"sch_",
	"cls_",
	"act_",
	"openvswitch",
	"xfrm",
	"ipsec",
	"macvlan",
	/* what makes interfaces of no device: they, their addresses and their routes just go */
	"macvtap",
	"macsec",
	"ipvlan",
	"ipvtap",
	"vrf",
	"ifb",
	"sit",
	"ipip",
	"ip_gre",
	"ip6_gre",
	"ip_vti",
	"ip6_vti",
	"ip6_tunnel",
	"ip_tunnel",
	"geneve",
	"bareudp",
	"gtp",
	"amt",
	"hsr",
	"batman_adv",
	"l2tp",
	"ppp",
	"pptp",
	"nlmon",
	"vcan",
	"vxcan",
};

/* The kernel's spelling: '-' and '_' are one. */
static void module_name(const struct sys_ref *r, char dst[SYS_ARG_CAP])
{
	struct sys_parts p;

	sys_ref_parts(r, &p);
	memcpy(dst, p.of, sizeof(p.of));
	for (char *s = dst; *s; s++)
		if (*s == '-')
			*s = '_';
}

/* The line of /proc/modules: its use count, -ENOENT when it is not loaded. */
static int use_count(const struct sys_ref *r, const char *name, struct weir_err *e)
{
	char path[SYS_PATH_CAP];
	struct buf b = {0};
	int used = -ENOENT;
	size_t n = strlen(name);
	int ret = sys_path(path, r->root, "/proc/modules", "", "")
			  ? sys_read_file(path, 1U << 20, &b, NULL)
			  : -ENAMETOOLONG;

	for (const char *s = ret < 0 ? NULL : b.data; s && *s;
	     s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		if (!strncmp(s, name, n) && s[n] == ' ')
			sscanf(s + n, " %*s %d", &used);
	buf_fini(&b);
	if (ret < 0)
		return err_set(e, WEIR_MISSING, EOPNOTSUPP, "this kernel has no modules");
	return used;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* " name=value" of each parameter that can be read. */
static int put_params(const struct sys_ref *r, const char *module, struct buf *b,
		      struct weir_err *e)
{
	char path[SYS_PATH_CAP], file[SYS_PATH_CAP], value[SYS_VALUE_CAP];
	struct dirent **list = NULL;
	int n = sys_path(path, r->root, "/sys/module/%s/parameters", module, "")
			? scandir(path, &list, not_hidden, by_name)
			: -1;
	int ret = 0;

	for (int i = 0; i < n; i++) {
		if (snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name) <
			    (int)sizeof(file) &&
		    sys_read_attr(file, value, sizeof(value)) > 0)
			buf_printf(b, " %s=%s", list[i]->d_name, value);
		else if (access(file, R_OK) == 0 && sys_read_attr(file, value, sizeof(value)) < 0)
			ret = -ERANGE;
		free(list[i]);
	}
	free(list);
	return ret < 0 ? err_set(e, WEIR_LIMIT, ERANGE, "the parameters of %s do not fit", module)
		       : 0;
}

static ssize_t module_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char name[SYS_ARG_CAP];
	struct buf b = {0};

	module_name(r, name);
	int used = use_count(r, name, e), ret = 0;
	if (used == -EOPNOTSUPP)
		return used;
	buf_puts(&b, used < 0 ? "no" : "yes");
	if (used >= 0)
		ret = put_params(r, name, &b, e);
	if (ret == 0 && (b.failed || b.len >= cap))
		ret = err_set(e, WEIR_LIMIT, ERANGE, "the parameters of %s do not fit", name);
	if (ret == 0)
		ret = snprintf(dst, cap, "%s", b.data);
	buf_fini(&b);
	return ret;
}

/* An interface that the module drives goes with it, and its routes and addresses too. */
static bool drives_iface(const struct sys_ref *r, const char *module)
{
	char path[SYS_PATH_CAP], link[PATH_MAX];
	struct dirent **list = NULL;
	bool found = false;
	int n = sys_path(path, r->root, "/sys/class/net", "", "")
			? scandir(path, &list, not_hidden, NULL)
			: -1;

	for (int i = 0; i < n; i++) {
		ssize_t len = sys_path(path, r->root, "/sys/class/net/%s/device/driver/module",
				       list[i]->d_name, "")
				      ? readlink(path, link, sizeof(link) - 1)
				      : -1;
		link[len < 0 ? 0 : len] = '\0';
		const char *slash = strrchr(link, '/');
		found |= slash && !strcmp(slash + 1, module);
		free(list[i]);
	}
	free(list);
	return found;
}

static int same_kind(const struct sys_link *l, void *arg)
{
	return !strcmp(l->kind, arg);
}

/* A kind of link that is called as its module is: the kernel counts no use of it. */
static bool makes_links(const struct sys_ref *r, char *module)
{
	struct sys_nl *nl = NULL;
	bool found = !r->root && sys_nl_open(&nl, NULL) == 0 &&
		     sys_links(nl, same_kind, module, NULL) == 1;

	sys_nl_close(nl);
	return found;
}

static bool is_mounted(const struct sys_ref *r, const char *module)
{
	char path[SYS_PATH_CAP], type[64];
	struct buf b = {0};
	bool found = false;

	if (sys_path(path, r->root, "/proc/mounts", "", ""))
		sys_read_file(path, 1U << 20, &b, NULL);
	for (const char *s = b.data; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		found |= sscanf(s, "%*s %*s %63s", type) == 1 && !strcmp(type, module);
	buf_fini(&b);
	return found;
}

/* Loaded again they are what the kernel makes of them. */
static const struct {
	const char *module, *file, *normal;
} defaults[] = {
	{"br_netfilter", "bridge-nf-call-iptables", "1"},
	{"br_netfilter", "bridge-nf-call-ip6tables", "1"},
	{"br_netfilter", "bridge-nf-call-arptables", "1"},
	{"br_netfilter", "bridge-nf-filter-vlan-tagged", "0"},
	{"br_netfilter", "bridge-nf-filter-pppoe-tagged", "0"},
	{"br_netfilter", "bridge-nf-pass-vlan-input-dev", "0"},
};

static int check_defaults(const struct sys_ref *r, const char *name, struct weir_err *e)
{
	char path[SYS_PATH_CAP], now[32];

	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		if (strcmp(defaults[i].module, name) != 0 ||
		    !sys_path(path, r->root, "/proc/sys/net/bridge/%s", defaults[i].file, "") ||
		    sys_read_attr(path, now, sizeof(now)) < 0 || !strcmp(now, defaults[i].normal))
			continue;
		err_set(e, WEIR_LIMIT, EBUSY,
			"the module %s would come back with another net.bridge.%s", name,
			defaults[i].file);
		return err_hint(e, "it is %.30s, not %s: set that instead, or save it by hand", now,
				defaults[i].normal);
	}
	return 0;
}

static int check_unload(const struct sys_ref *r, char *name, struct weir_err *e)
{
	int used = use_count(r, name, e);

	if (used > 0)
		return err_set(e, WEIR_LIMIT, EBUSY, "the module %s is in use", name);
	for (size_t i = 0; i < ARRAY_LEN(keepers); i++)
		if (!strncmp(name, keepers[i], strlen(keepers[i]))) {
			err_set(e, WEIR_LIMIT, EBUSY,
				"the module %s holds tables or links that reloading does not bring "
				"back",
				name);
			return err_hint(e, "save and unload them by hand; `weir try --by-hand`");
		}
	if (drives_iface(r, name) || makes_links(r, name))
		return err_set(e, WEIR_LIMIT, EBUSY, "the module %s drives an interface", name);
	if (is_mounted(r, name))
		return err_set(e, WEIR_LIMIT, EBUSY, "the module %s carries a mount", name);
	int ret = check_defaults(r, name, e);
	return ret < 0 ? ret : used == -ENOENT ? 0 : used;
}

static int module_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	const char *args[ARGS_MAX + 1] = {NULL};
	char name[SYS_ARG_CAP], words[SYS_VALUE_CAP], *save = NULL;
	size_t n = 0;

	module_name(r, name);
	if (!strcmp(canon, "no")) {
		int ret = check_unload(r, name, e);
		return ret < 0 ? ret
			       : done(run_tool(r, "rmmod", /* it alone, not what it stood on */
					       (const char *const[]){name, NULL}, NULL, e),
				      r, e);
	}
	args[n++] = name;
	snprintf(words, sizeof(words), "%s", canon);
	strtok_r(words, " ", &save); /* "yes" */
	for (char *w; n < ARGS_MAX && (w = strtok_r(NULL, " ", &save));)
		args[n++] = w;
	return done(run_tool(r, "modprobe", args, NULL, e), r, e);
}
const struct sys_door sys_door_module = {module_get, module_set};

/* ---- services ------------------------------------------------------------ */

static const char *const services[] = {
	"irqbalance",
	"tuned",
	"power-profiles-daemon",
	"thermald",
	"cron",
	"crond",
	"anacron",
	"atd",
	"NetworkManager",
	"firewalld",
	"bluetooth",
	"cups",
	"avahi-daemon",
	"ModemManager",
	"packagekit",
	"unattended-upgrades",
	"snapd",
	"ksmtuned",
	"collectd",
	"snmpd",
	"telegraf",
	"netdata",
	"prometheus-node-exporter",
	"ntopng",
	"sqm",
	"qosify",
	"statistics",
	"vnstat",
	"luci_statistics",
	"display-manager",
};

const char *sys_service_at(size_t i)
{
	return i < ARRAY_LEN(services) ? services[i] : NULL;
}

bool sys_service_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(services); i++)
		if (!strcmp(services[i], name))
			return true;
	return false;
}

static bool exists(const struct sys_ref *r, const char *path, const char *of)
{
	char file[SYS_PATH_CAP];

	return sys_path(file, r->root, path, of, "") && access(file, F_OK) == 0;
}

/* systemd, or scripts: OpenWrt's answer "running", others "status". */
static int service_do(const struct sys_ref *r, const char *name, const char *what,
		      struct weir_err *e)
{
	char script[SYS_PATH_CAP];

	if (exists(r, "/run/systemd/system", ""))
		return run_tool(r, "systemctl",
				strcmp(what, "ask")
					? (const char *const[]){what, name, NULL}
					: (const char *const[]){"is-active", "--quiet", name, NULL},
				NULL, e);
	if (!sys_path(script, r->root, "/etc/init.d/%s", name, "") || access(script, X_OK) < 0)
		return err_set(e, WEIR_MISSING, ENOENT, "there is no service %s", name);
	if (!strcmp(what, "ask"))
		what = exists(r, "/etc/rc.common", "") ? "running" : "status";
	return run((char *const[]){script, WORD(what), NULL}, NULL, e);
}

static bool has_unit(const struct sys_ref *r, const char *name)
{
	static const char *const folders[] = {"/etc/systemd/system/%s.service",
					      "/lib/systemd/system/%s.service",
					      "/usr/lib/systemd/system/%s.service"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (exists(r, folders[i], name))
			return true;
	return exists(r, "/etc/init.d/%s", name);
}

static ssize_t service_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	struct sys_parts p;

	sys_ref_parts(r, &p);
	if (!has_unit(r, p.of))
		return err_set(e, WEIR_MISSING, ENOENT, "there is no service %s", p.of);
	int status = service_do(r, p.of, "ask", e);
	return status < 0 ? status : snprintf(dst, cap, "%s", status ? "stopped" : "running");
}

static int service_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	struct sys_parts p;

	sys_ref_parts(r, &p);
	return done(service_do(r, p.of, strcmp(canon, "running") ? "stop" : "start", e), r, e);
}
const struct sys_door sys_door_service = {service_get, service_set};

/* ---- the radio ------------------------------------------------------------ */

static bool power_is_on(const char *text, char *dst, size_t cap)
{
	const char *s = strstr(text, "Power save: ");

	if (s)
		snprintf(dst, cap, "%s", !strncmp(s + 12, "on", 2) ? "on" : "off");
	return s != NULL;
}

static bool power_sent(const char *text, char *dst, size_t cap)
{
	const char *s = strstr(text, "txpower ");
	unsigned whole, part;

	if (!s || sscanf(s, "txpower %3u.%2u dBm", &whole, &part) != 2)
		return false;
	snprintf(dst, cap, "%u", whole * 100 + part);
	return true;
}

static ssize_t wifi_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	const bool nap = !strcmp(r->knob->path, "power_save");
	struct sys_parts p;
	struct buf b = {0};
	ssize_t ret;

	sys_ref_parts(r, &p);
	if (!exists(r, "/sys/class/net/%s/phy80211", p.of) &&
	    !exists(r, "/sys/class/net/%s/wireless", p.of))
		return err_set(e, WEIR_MISSING, EOPNOTSUPP, "%s is no radio", p.of);
	ret = nap ? run_tool(r, "iw", (const char *const[]){"dev", p.of, "get", "power_save", NULL},
			     &b, e)
		  : run_tool(r, "iw", (const char *const[]){"dev", p.of, "info", NULL}, &b, e);
	if (ret > 0 ||
	    (ret == 0 && !(nap ? power_is_on : power_sent)(b.data ? b.data : "", dst, cap)))
		ret = err_set(e, WEIR_OS, EIO, "iw does not tell %s of %s", r->knob->path, p.of);
	buf_fini(&b);
	return ret < 0 ? ret : (ssize_t)strlen(dst);
}

static int wifi_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	const bool nap = !strcmp(r->knob->path, "power_save");
	struct sys_parts p;

	sys_ref_parts(r, &p);
	return done(
		nap ? run_tool(r, "iw",
			       (const char *const[]){"dev", p.of, "set", "power_save", canon, NULL},
			       NULL, e)
		    : run_tool(r, "iw",
			       (const char *const[]){"dev", p.of, "set", "txpower", "fixed", canon,
						     NULL},
			       NULL, e),
		r, e);
}
const struct sys_door sys_door_wifi = {wifi_get, wifi_set};
