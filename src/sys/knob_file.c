/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knobs that are files: sysctls, sysfs, procfs; and the kernel's command line and configuration,
 * which are only read. The problem: /sys shows the namespace that mounted it, which need not be
 * ours. The idea: an interface is known by index, permanent address and driver, never by its name
 * alone, and a file of an interface is touched only where /sys agrees.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sys/priv.h"

#define NET "/sys/class/net/%s/"

/*
 * A copy of another machine's tree may hold links to what is ours, and pipes that nobody writes to;
 * what is not there leads nowhere.
 */
static bool beneath(const char *root, const char *path)
{
	char *top = realpath(root, NULL), *real = realpath(path, NULL);
	size_t n = top ? strlen(top) : 0;
	struct stat st;
	bool ok = !real || (top && !strncmp(real, top, n) && (real[n] == '/' || n == 1));

	if (real && stat(real, &st) == 0 && S_ISFIFO(st.st_mode))
		ok = false;

	free(top);
	free(real);
	return ok;
}

/* The two arguments in the places of the two %s. */
bool sys_path(char dst[SYS_PATH_CAP], const char *root, const char *path, const char *of,
	      const char *part)
{
	const char *args[2] = {of, part};
	size_t next = 0;
	struct buf b = {.max = SYS_PATH_CAP};

	buf_puts(&b, root ? root : "");
	for (const char *s = path; *s; s++) {
		if (s[0] == '%' && s[1] == 's' && next < ARRAY_LEN(args)) {
			buf_puts(&b, args[next++]);
			s++;
		} else {
			buf_putc(&b, *s);
		}
	}
	bool ok = !b.failed && b.len < SYS_PATH_CAP;
	if (ok)
		memcpy(dst, b.data, b.len + 1);
	buf_fini(&b);
	return ok && (!root || beneath(root, dst));
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

/* A folder that stands for / has no kernel to ask: what its files say must do. */
static int id_of_files(const char *root, const char *name, struct sys_iface_id *id,
		       struct weir_err *e)
{
	char path[SYS_PATH_CAP], text[PATH_MAX];
	unsigned m[6];
	int64_t index;

	if (!sys_path(path, root, NET "ifindex", name, "") || sys_read_i64(path, &index) < 0)
		return err_set(e, WEIR_OS, ENODEV, "no interface '%s' in %.100s", name, root);
	id->index = (int)index;
	if (sys_path(path, root, NET "address", name, "") &&
	    sys_read_attr(path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) == 6)
		for (size_t i = 0; i < 6; i++)
			id->mac[i] = id->perm_mac[i] = (uint8_t)m[i];
	ssize_t n = sys_path(path, root, NET "device/driver", name, "")
			    ? readlink(path, text, sizeof(text) - 1)
			    : -1;
	text[n < 0 ? 0 : n] = '\0';
	const char *slash = strrchr(text, '/');
	snprintf(id->driver, sizeof(id->driver), "%.31s", slash ? slash + 1 : "");
	return 0;
}

int sys_iface_id(const char *root, const char *name, struct sys_iface_id *id, struct weir_err *e)
{
	struct sys_nl *nl = NULL;
	struct sys_link l = {0};

	*id = (struct sys_iface_id){0};
	if (root)
		return id_of_files(root, name, id, e);
	int ret = sys_nl_open(&nl, e);
	if (ret == 0)
		ret = sys_link_get(nl, name, &l, e);
	sys_nl_close(nl);
	if (ret < 0)
		return ret;
	id->index = l.index;
	memcpy(id->mac, l.mac, sizeof(id->mac));
	if (l.has_perm_mac)
		memcpy(id->perm_mac, l.perm_mac, sizeof(id->perm_mac));
	read_driver(name, id->driver, sizeof(id->driver));
	return 0;
}

static bool name_in_root(const char *root, int index, char name[IF_NAMESIZE])
{
	char path[SYS_PATH_CAP];
	bool found = false;
	DIR *d = sys_path(path, root, "/sys/class/net", "", "") ? opendir(path) : NULL;

	for (struct dirent *ent; d && !found && (ent = readdir(d));) {
		int64_t v;
		if (ent->d_name[0] == '.' || strlen(ent->d_name) >= IF_NAMESIZE ||
		    !sys_path(path, root, NET "ifindex", ent->d_name, "") ||
		    sys_read_i64(path, &v) < 0 || v != index)
			continue;
		snprintf(name, IF_NAMESIZE, "%.15s", ent->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

bool sys_iface_find(const char *root, const struct sys_iface_id *want, char name[IF_NAMESIZE])
{
	struct sys_iface_id id;

	if (root ? !name_in_root(root, want->index, name)
		 : !if_indextoname((unsigned)want->index, name))
		return false;
	if (sys_iface_id(root, name, &id, NULL) < 0)
		return false;
	return id.index == want->index && !strcmp(id.driver, want->driver) &&
	       !memcmp(id.perm_mac, want->perm_mac, sizeof(id.perm_mac));
}

static int check_sysfs(const char *name, struct weir_err *e)
{
	struct sys_iface_id id;
	char path[SYS_PATH_CAP], have[32] = "", want[32];
	int64_t index = 0;
	int ret = sys_iface_id(NULL, name, &id, e);

	if (ret < 0)
		return ret;
	if (sys_path(path, NULL, NET "ifindex", name, ""))
		sys_read_i64(path, &index);
	if (sys_path(path, NULL, NET "address", name, ""))
		sys_read_attr(path, have, sizeof(have));
	snprintf(want, sizeof(want), "%02x:%02x:%02x:%02x:%02x:%02x", id.mac[0], id.mac[1],
		 id.mac[2], id.mac[3], id.mac[4], id.mac[5]);
	if (index == id.index && (!strcmp(have, want) || !have[0]))
		return 0;
	return err_set(e, WEIR_OS, EXDEV, "/sys shows another network namespace's interfaces");
}

/* ---- files --------------------------------------------------------------- */

static int file_path(const struct sys_ref *r, char path[SYS_PATH_CAP], struct weir_err *e)
{
	struct sys_parts p;
	int ret = 0;

	sys_ref_parts(r, &p);
	if (r->knob->scope == SYS_IFACE && !r->root)
		ret = check_sysfs(p.of, e);
	if (ret < 0)
		return ret;
	return sys_path(path, r->root, r->knob->path, p.of, p.part)
		       ? 0
		       : err_set(e, WEIR_USAGE, ENAMETOOLONG,
				 "%s: too long, a pipe, or its path leads out of --root",
				 r->knob->name);
}

static ssize_t file_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char path[SYS_PATH_CAP], name[SYS_REF_TEXT];
	int ret = file_path(r, path, e);
	ssize_t n = ret < 0 ? ret : sys_read_attr(path, dst, cap);

	sys_ref_text(r, name);
	if (ret == 0 && n < 0)
		return err_os(e, (int)-n, "reading %s", name);
	return n;
}

static int file_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	char path[SYS_PATH_CAP];
	int ret = file_path(r, path, e);

	return ret < 0 ? ret : sys_write_attr(path, canon, e);
}
const struct sys_door sys_door_file = {file_get, file_set};

/* ---- sysctls ------------------------------------------------------------- */

/* Names are the table's: below a folder that stands for / they are paths as they are. */
static bool sysctl_path(const struct sys_ref *r, char path[SYS_PATH_CAP])
{
	char name[128];

	snprintf(name, sizeof(name), "/proc/sys/%.100s", r->knob->path);
	for (char *s = name; *s; s++)
		if (*s == '.')
			*s = '/';
	return sys_path(path, r->root, name, "", "");
}

static ssize_t sysctl_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char path[SYS_PATH_CAP];
	ssize_t n = r->root ? (sysctl_path(r, path) ? sys_read_attr(path, dst, cap) : -ENAMETOOLONG)
			    : sys_sysctl_get(r->knob->path, dst, cap);

	return n < 0 ? err_os(e, (int)-n, "reading %s", r->knob->name) : n;
}

static int sysctl_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	char path[SYS_PATH_CAP];

	if (!r->root)
		return sys_sysctl_set(r->knob->path, canon, e);
	return sysctl_path(r, path) ? sys_write_attr(path, canon, e) : -ENAMETOOLONG;
}
const struct sys_door sys_door_sysctl = {sysctl_get, sysctl_set};

/* ---- command line, configuration ----------------------------------------- */

static ssize_t put(char *dst, size_t cap, const char *s, size_t n)
{
	if (n >= cap)
		n = cap - 1;
	memcpy(dst, s, n);
	dst[n] = '\0';
	return (ssize_t)n;
}

/* The last one counts; "on" where it stands alone, "default" where it does not stand at all. */
static ssize_t boot_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char path[SYS_PATH_CAP], line[4096];
	size_t n = strlen(r->knob->path);
	ssize_t len = sys_path(path, r->root, "/proc/cmdline", "", "")
			      ? sys_read_attr(path, line, sizeof(line))
			      : -ENAMETOOLONG;

	if (len < 0)
		return err_os(e, (int)-len, "reading the kernel's command line");
	put(dst, cap, "default", 7);
	for (const char *s = line; *s; s += strspn(s, " ")) {
		size_t word = strcspn(s, " ");
		if (!strncmp(s, r->knob->path, n) && (s[n] == '=' || word == n))
			put(dst, cap, s[n] == '=' ? s + n + 1 : "on",
			    s[n] == '=' ? word - n - 1 : 2);
		s += word;
	}
	return (ssize_t)strlen(dst);
}

static ssize_t build_get(const struct sys_ref *r, char *dst, size_t cap, struct weir_err *e)
{
	char path[SYS_PATH_CAP];
	struct utsname u;
	struct buf b = {0};
	size_t n = strlen(r->knob->path);
	ssize_t ret = -ENOENT;

	if (uname(&u) < 0 || !sys_path(path, r->root, "/boot/config-%s", u.release, ""))
		return -ENOENT;
	if (sys_read_file(path, 4U << 20, &b, NULL) < 0 || !b.data)
		goto out;
	ret = put(dst, cap, "no", 2);
	for (const char *s = b.data; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
		if (!strncmp(s, r->knob->path, n) && s[n] == '=')
			ret = put(dst, cap, s + n + 1, strcspn(s + n + 1, "\n"));
out:
	buf_fini(&b);
	return ret < 0 ? err_set(e, WEIR_MISSING, ENOENT, "the kernel's configuration is not known")
		       : ret;
}

static int no_set(const struct sys_ref *r, const char *canon, struct weir_err *e)
{
	(void)canon;
	return err_set(e, WEIR_USAGE, EINVAL, "%s is not changed at run time", r->knob->name);
}
const struct sys_door sys_door_boot = {boot_get, no_set};
const struct sys_door sys_door_build = {build_get, no_set};
