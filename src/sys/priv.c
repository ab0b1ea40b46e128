/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Privileges. The problem: a drop that half works is worse than none, because nobody looks
 * again. The idea: each drop is read back from the kernel, and anything left is an error
 * (security 16).
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/priv.h"
#include "sys/sys.h"

struct cap_sets {
	struct __user_cap_data_struct word[_LINUX_CAPABILITY_U32S_3];
};

static int cap_call(long call, struct cap_sets *s)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(call, &h, s->word) < 0 ? -errno : 0;
}

bool sys_cap_have(int cap)
{
	struct cap_sets s = {0};

	if (cap < 0 || cap >= 64 || cap_call(SYS_capget, &s) < 0)
		return false;
	return s.word[cap / 32].effective >> (cap % 32) & 1;
}

static bool caps_empty(void)
{
	struct cap_sets s = {0};

	if (cap_call(SYS_capget, &s) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(s.word); i++)
		if (s.word[i].effective || s.word[i].permitted || s.word[i].inheritable)
			return false;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* So that an exec as user 0 gains nothing either. Without CAP_SETPCAP nothing is to gain. */
static int drop_bounding(struct weir_err *e)
{
	if (!sys_cap_have(CAP_SETPCAP))
		return 0;
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 ||
		    prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0)
			return err_set(e, WEIR_OS, EPERM, "capability %d stays in the bounding set",
				       cap);
	}
	return 0;
}

int sys_cap_drop(struct weir_err *e)
{
	struct cap_sets none = {0};
	int ret = drop_bounding(e);

	if (ret < 0)
		return ret;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_os(e, errno, "giving up new privileges");
	ret = cap_call(SYS_capset, &none);
	if (ret < 0)
		return err_os(e, -ret, "dropping capabilities");
	if (!caps_empty())
		return err_set(e, WEIR_OS, EPERM, "capabilities were not dropped");
	return 0;
}

static bool ids_are(uid_t uid, gid_t gid)
{
	uid_t r, eu, su;
	gid_t g, eg, sg;

	return getresuid(&r, &eu, &su) == 0 && getresgid(&g, &eg, &sg) == 0 && r == uid &&
	       eu == uid && su == uid && g == gid && eg == gid && sg == gid;
}

/* No way back, and no group of the old user left. */
static bool ids_final(uid_t uid, gid_t gid)
{
	return ids_are(uid, gid) && getgroups(0, NULL) == 0 && setuid(0) < 0;
}

int sys_priv_drop(uid_t uid, gid_t gid, struct weir_err *e)
{
	if (uid == 0 || gid == 0)
		return err_set(e, WEIR_USAGE, EINVAL, "dropping privileges to root is no drop");
	if (ids_are(uid, gid) && !sys_cap_have(CAP_SETGID))
		return sys_cap_drop(e); /* that user already: its own groups are its own */
	/* First, while it can be: another user has not the capability for it. */
	int deathsig = 0, ret = drop_bounding(e);
	pid_t parent = getppid();
	if (ret < 0)
		return ret;
	prctl(PR_GET_PDEATHSIG, &deathsig);
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_os(e, errno, "becoming user %u group %u", (unsigned)uid, (unsigned)gid);
	/* A change of user clears it. */
	if (deathsig && sys_die_with_parent(parent) < 0)
		return err_os(e, errno, "the parent is gone");
	ret = sys_cap_drop(e);
	if (ret == 0 && !ids_final(uid, gid))
		return err_set(e, WEIR_OS, EPERM, "the user was not changed for good");
	return ret;
}

int sys_user_lookup(const char *name, uid_t *uid, gid_t *gid, struct weir_err *e)
{
	struct passwd pw, *found = NULL;
	size_t cap = 16384;
	char *buf = malloc(cap);
	char safe[SAFE_MAX + 1];
	int error = buf ? getpwnam_r(name, &pw, buf, cap, &found) : ENOMEM;

	if (found) {
		*uid = pw.pw_uid;
		*gid = pw.pw_gid;
	}
	free(buf);
	if (found)
		return 0;
	safe_str(safe, sizeof(safe), name, strlen(name));
	if (error)
		return err_os(e, error, "looking up user '%s'", safe);
	return err_set(e, WEIR_USAGE, ENOENT, "no user '%s'", safe);
}
