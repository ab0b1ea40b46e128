/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The undo journal (security 17, 18). The problem: whatever weir changes for an experiment must
 * come back, also after SIGKILL, and must never overwrite what somebody else has set since.
 * The idea: write down {knob, old, new} durably, then change; put back newest first, and only
 * where the present value is the new one. The file is the only memory: owner, guardian and a
 * later weir all do the same from it, one at a time under the directory's lock.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/priv.h"

struct sys_journal {
	const char *root;
	int dir, fd;
	char name[40];
	char boot[SYS_BOOT_CAP];
	pid_t guard; /* 0 = none */
	int guard_fd;
};

/* ---- keys ---------------------------------------------------------------- */

static int read_boot(char boot[SYS_BOOT_CAP], struct weir_err *e)
{
	ssize_t n = sys_read_attr("/proc/sys/kernel/random/boot_id", boot, SYS_BOOT_CAP);

	return n < 0 ? err_os(e, (int)-n, "reading the boot id") : 0;
}

/* The cookie of the thread's network namespace, unique within a boot. */
static uint64_t netns_cookie(void)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool have = fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0;

	if (fd >= 0)
		close(fd);
	/* Before Linux 5.14 the inode must do: it may be used again, a cookie never is. */
	if (!have && stat("/proc/thread-self/ns/net", &st) == 0)
		cookie = st.st_ino;
	return cookie;
}

static bool same_target(const struct sys_entry *a, const struct sys_entry *b)
{
	if (a->knob != b->knob || strcmp(a->boot, b->boot))
		return false;
	if (a->knob->scope != SYS_HOST && a->netns != b->netns)
		return false;
	/* An interface is known by its number, whatever its name was then. */
	const char *x = a->arg, *y = b->arg;
	if (a->knob->scope == SYS_IFACE) {
		if (a->iface.index != b->iface.index)
			return false;
		x += strcspn(x, ":");
		y += strcspn(y, ":");
	}
	return !strcmp(x, y);
}

/* ---- undoing ------------------------------------------------------------- */

enum fate { RESTORED, UNCHANGED, CHANGED_SINCE, VOID_BOOT, FAILED };

struct undo {
	int fd;
	struct sys_doc doc;
	const char *boot, *root;
	struct sys_replay *r;
	struct weir_err *e; /* the first failure */
	bool failed;
};

/* What the entry is about, by its present name; false when an interface is gone. */
static bool find_target(const struct sys_entry *t, const char *root, struct sys_ref *ref)
{
	char name[IF_NAMESIZE];

	*ref = (struct sys_ref){.knob = t->knob, .root = root};
	memcpy(ref->arg, t->arg, sizeof(ref->arg));
	if (t->knob->scope != SYS_IFACE)
		return true;
	if (!sys_iface_find(root, &t->iface, name))
		return false;
	int n = snprintf(ref->arg, sizeof(ref->arg), "%s%s", name, t->arg + strcspn(t->arg, ":"));
	return n > 0 && (size_t)n < sizeof(ref->arg);
}

static enum fate restore(const struct sys_entry *t, const char *boot, const char *root,
			 struct weir_err *e)
{
	char present[SYS_VALUE_CAP];
	struct sys_ref ref;

	if (strcmp(t->boot, boot))
		return VOID_BOOT;
	if (t->knob->scope != SYS_HOST && t->netns != netns_cookie()) {
		err_set(e, WEIR_OS, EXDEV, "%s was changed in another network namespace",
			t->knob->name);
		err_hint(e, "`weir set --restore` in there puts it back; remove the file, if that "
			    "namespace is gone");
		return FAILED;
	}
	if (!find_target(t, root, &ref))
		return CHANGED_SINCE;
	if (sys_knob_get(&ref, present, sizeof(present), e) < 0)
		return FAILED;
	if (sys_knob_same(t->knob, t->old, present))
		return UNCHANGED;
	if (!sys_knob_same(t->knob, t->now, present))
		return CHANGED_SINCE;
	if (sys_knob_check(&ref, t->old, e) < 0 || sys_knob_set(&ref, t->old, e) < 0)
		return FAILED;
	return RESTORED;
}

static void count(struct sys_replay *r, enum fate fate)
{
	r->restored += fate == RESTORED;
	r->changed_since += fate == CHANGED_SINCE;
	r->void_boot += fate == VOID_BOOT;
	r->failed += fate == FAILED;
}

/* A later change of the same thing could not be undone: the earlier ones wait for it. */
static bool blocked(const struct undo *u, size_t i)
{
	for (size_t k = i + 1; k < u->doc.n; k++)
		if (!u->doc.v[k].ended && same_target(&u->doc.v[k], &u->doc.v[i]))
			return true;
	return false;
}

static void undo_one(struct undo *u, size_t i)
{
	struct sys_entry *t = &u->doc.v[i];
	struct weir_err e = {0};
	struct buf b = {0};
	enum fate fate = FAILED;

	if (blocked(u, i))
		err_set(&e, WEIR_OS, EBUSY, "%s: a later change is still there", t->knob->name);
	else
		fate = restore(t, u->boot, u->root, &e);
	count(u->r, fate);
	t->ended = fate != FAILED;
	if (t->ended) {
		sys_doc_put_end(&b, t->seq);
		/* Lost, it is only found undone once more. */
		sys_jfile_append(u->fd, &b, NULL);
		buf_fini(&b);
	} else if (!u->failed) {
		u->failed = true;
		if (u->e)
			*u->e = e;
	}
}

/* Undoes all that is open in the file; the caller has the lock. Entries left, or -errno. */
static int undo_file(int fd, const char *boot, const char *root, struct sys_replay *r,
		     struct weir_err *e)
{
	struct undo u = {.fd = fd, .boot = boot, .root = root, .r = r, .e = e};
	int ret = sys_jfile_load(fd, &u.doc, e);

	if (ret < 0)
		return ret;
	if (ftruncate(fd, (off_t)u.doc.whole_len) < 0) {
		ret = err_os(e, errno, "writing the journal");
		goto out;
	}
	for (size_t i = u.doc.n; i-- > 0;)
		if (!u.doc.v[i].ended)
			undo_one(&u, i);
	r->failed += u.doc.bad;
	ret = (int)sys_doc_open(&u.doc) + (int)u.doc.bad;
	if (u.doc.bad && !u.failed) {
		err_set(e, WEIR_FORMAT, EBADMSG, "%u %s that weir did not write", u.doc.bad,
			u.doc.bad == 1 ? "line" : "lines");
		err_hint(e,
			 "remove the file, if nothing in it tells of a change that still stands");
	}
	if (ret == 0 && ftruncate(fd, 0) < 0)
		ret = err_os(e, errno, "writing the journal");
out:
	sys_doc_fini(&u.doc);
	return ret;
}

/* ---- recovery ------------------------------------------------------------ */

static void count_failed(struct sys_replay *r, const struct weir_err *new_e, struct weir_err *e)
{
	if (!r->failed++ && e)
		*e = *new_e;
}

static void count_busy(int fd, struct sys_replay *r)
{
	struct sys_doc d;

	if (sys_jfile_load(fd, &d, NULL) == 0)
		r->busy += (unsigned)sys_doc_open(&d);
	sys_doc_fini(&d);
}

struct recovery {
	char boot[SYS_BOOT_CAP];
	const char *dir, *root;
	struct sys_replay *r;
	struct weir_err *e;
};

static void recover_file(int dir, const char *name, const struct recovery *c)
{
	struct sys_replay *r = c->r;
	struct weir_err here = {0};
	unsigned failed_before = r->failed;
	char safe[SAFE_MAX + 1];
	int fd = sys_jfile_open(dir, name, &here);

	if (fd < 0) {
		count_failed(r, &here, c->e);
		return;
	}
	if (!sys_jfile_own(fd)) {
		count_busy(fd, r);
	} else {
		int left = undo_file(fd, c->boot, c->root, r, &here);
		if (left == 0)
			unlinkat(dir, name, 0);
		if (left < 0)
			r->failed++;
		if (left && !failed_before && c->e) {
			*c->e = here;
			safe_str(safe, sizeof(safe), name, strlen(name));
			err_wrap(c->e, "%s/%s", c->dir, safe);
		}
	}
	close(fd);
}

typedef int (*journal_cb)(int dir, const char *name, void *arg);

static int each_journal(int dir, journal_cb cb, void *arg, struct weir_err *e)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		int error = errno;
		if (own >= 0)
			close(own);
		return err_os(e, error, "reading the journal's directory");
	}
	for (struct dirent *ent; ret == 0 && (ent = readdir(d));)
		if (sys_jdir_is_journal(ent->d_name))
			ret = cb(dir, ent->d_name, arg);
	closedir(d);
	return ret;
}

static int recover_cb(int dir, const char *name, void *arg)
{
	recover_file(dir, name, arg);
	return 0;
}

int sys_journal_recover(const char *dir, const char *root, struct sys_replay *r, struct weir_err *e)
{
	struct recovery c = {.dir = dir ? dir : SYS_OWN_DIR, .root = root, .r = r, .e = e};
	int lock = -1, ret;

	*r = (struct sys_replay){0};
	int fd = sys_own_dir(dir, false, e);
	if (fd == -ENOENT)
		return 0; /* nobody has ever changed anything */
	if (fd < 0)
		return fd;
	ret = read_boot(c.boot, e);
	if (ret == 0)
		ret = lock = sys_jdir_lock(fd, e);
	if (ret >= 0)
		ret = each_journal(fd, recover_cb, &c, e);
	if (lock >= 0)
		close(lock);
	close(fd);
	return ret == 0 && r->failed ? err_wrap(e, "not everything could be put back") : ret;
}

/* ---- changing ------------------------------------------------------------ */

int sys_journal_open(const char *dir, const char *root, struct sys_journal **out,
		     struct weir_err *e)
{
	struct sys_journal *j = calloc(1, sizeof(*j));
	int lock = -1, ret;

	if (!j)
		return err_os(e, ENOMEM, "opening the journal");
	j->root = root;
	j->fd = j->guard_fd = -1;
	ret = j->dir = sys_own_dir(dir, true, e);
	if (ret >= 0)
		ret = read_boot(j->boot, e);
	if (ret >= 0)
		ret = lock = sys_jdir_lock(j->dir, e);
	if (ret >= 0)
		ret = j->fd = sys_jfile_create(j->dir, j->name, e);
	if (lock >= 0)
		close(lock);
	if (ret >= 0) {
		*out = j;
		return 0;
	}
	if (j->dir >= 0)
		close(j->dir);
	free(j);
	return ret;
}

struct conflict {
	const struct sys_journal *own;
	const struct sys_entry *entry;
	int64_t owner;
	bool dead;
};

/* Two journals with a change of one thing could not both be undone in the right order. */
static int conflict_cb(int dir, const char *name, void *arg)
{
	struct conflict *c = arg;
	struct sys_doc d = {0};
	int ret = 0;

	if (!strcmp(name, c->own->name))
		return 0;
	int fd = sys_jfile_open(dir, name, NULL);
	if (fd < 0)
		return 0;
	if (sys_jfile_load(fd, &d, NULL) == 0)
		for (size_t i = 0; i < d.n && !ret; i++)
			if (!d.v[i].ended && same_target(&d.v[i], c->entry))
				ret = -EBUSY;
	c->owner = d.owner;
	c->dead = ret && sys_jfile_own(fd); /* released by the close */
	sys_doc_fini(&d);
	close(fd);
	return ret;
}

static int check_conflict(const struct sys_journal *j, const struct sys_entry *t,
			  const struct sys_ref *ref, struct weir_err *e)
{
	struct conflict c = {.own = j, .entry = t};
	char name[SYS_REF_TEXT];
	int ret = each_journal(j->dir, conflict_cb, &c, e);

	sys_ref_text(ref, name);
	if (ret != -EBUSY)
		return ret;
	if (c.dead) {
		err_set(e, WEIR_OS, EBUSY, "a weir that is gone (process %lld) has changed %s",
			(long long)c.owner, name);
		return err_hint(e, "`weir set --restore` puts its changes back");
	}
	err_set(e, WEIR_OS, EBUSY, "another weir, process %lld, has changed %s", (long long)c.owner,
		name);
	return err_hint(e, "its changes are put back when it ends");
}

static int fill_entry(const struct sys_journal *j, struct sys_entry *t, const struct sys_doc *doc,
		      const struct sys_ref *ref, const char *value, struct weir_err *e)
{
	struct sys_parts p;
	int ret = sys_knob_check(ref, value, e);

	if (ret < 0)
		return ret;
	t->seq = doc->n ? doc->v[doc->n - 1].seq + 1 : 1;
	t->netns = netns_cookie();
	memcpy(t->boot, j->boot, sizeof(t->boot));
	memcpy(t->arg, ref->arg, sizeof(t->arg));
	sys_knob_canon(t->knob, value, t->now);
	sys_ref_parts(ref, &p);
	if (t->knob->scope == SYS_IFACE)
		ret = sys_iface_id(j->root, p.of, &t->iface, e);
	if (ret < 0)
		return ret;
	ssize_t n = sys_knob_get(ref, t->old, sizeof(t->old), e);
	return n < 0 ? (int)n : 0;
}

static int append_entry(const struct sys_journal *j, const struct sys_doc *doc,
			const struct sys_entry *t, struct weir_err *e)
{
	struct buf b = {0};

	if (doc->n >= SYS_JOURNAL_MAX_N || doc->bad)
		return err_set(e, WEIR_LIMIT, ENOSPC, "the journal is full or damaged");
	if (ftruncate(j->fd, (off_t)doc->whole_len) < 0)
		return err_os(e, errno, "writing the journal");
	if (doc->whole_len == 0) {
		buf_puts(&b, sys_doc_header);
		sys_doc_put_owner(&b, getpid());
	}
	sys_doc_put_entry(&b, t);
	int ret = sys_jfile_append(j->fd, &b, e);
	buf_fini(&b);
	return ret;
}

/* The change failed: what has been set of it goes back, and its entry ends when that is so. */
static void take_back(const struct sys_journal *j, const struct sys_entry *t,
		      const struct sys_ref *ref)
{
	char present[SYS_VALUE_CAP];
	struct buf b = {0};

	if (sys_knob_get(ref, present, sizeof(present), NULL) < 0)
		return;
	if (!sys_knob_same(t->knob, t->old, present) && sys_knob_set(ref, t->old, NULL) < 0)
		return;
	sys_doc_put_end(&b, t->seq);
	sys_jfile_append(j->fd, &b, NULL);
	buf_fini(&b);
}

bool sys_journal_guard_gone(const struct sys_journal *j)
{
	struct pollfd p = {.fd = j->guard_fd, .events = POLLIN};

	return j->guard && poll(&p, 1, 0) == 1;
}

static int set_locked(struct sys_journal *j, struct sys_entry *t, const struct sys_ref *ref,
		      const char *value, struct weir_err *e)
{
	struct sys_doc doc = {0};
	int ret = sys_jfile_load(j->fd, &doc, e);

	if (ret == 0)
		ret = fill_entry(j, t, &doc, ref, value, e);
	if (ret == 0)
		ret = check_conflict(j, t, ref, e);
	if (ret == 0)
		ret = sys_knob_along(ref, t->old, t->now, e);
	/* Also where there is nothing to change: nobody else may change it meanwhile. */
	if (ret == 0)
		ret = append_entry(j, &doc, t, e);
	if (ret < 0 || sys_knob_same(t->knob, t->now, t->old))
		goto out;
	ret = sys_knob_set(ref, t->now, e);
	if (ret < 0)
		take_back(j, t, ref);
out:
	sys_doc_fini(&doc);
	return ret;
}

int sys_journal_set(struct sys_journal *j, const struct sys_ref *to, const char *value,
		    struct weir_err *e)
{
	struct sys_ref ref = *to;
	struct sys_entry t = {.knob = ref.knob};
	int ret;

	ref.root = j->root;
	int lock = sys_jdir_lock(j->dir, e);
	if (lock < 0)
		return lock;
	if (sys_journal_guard_gone(j))
		ret = err_set(e, WEIR_LIMIT, ETIMEDOUT,
			      "the changes were undone: the time is up, or nobody answers");
	else
		ret = set_locked(j, &t, &ref, value, e);
	close(lock);
	return ret;
}

/* Who stopped it may have stopped it while it had the lock. */
static void wake_guard(const struct sys_journal *j)
{
	if (j->guard)
		kill(j->guard, SIGCONT);
}

int sys_journal_undo(struct sys_journal *j, struct sys_replay *r, struct weir_err *e)
{
	wake_guard(j);
	int lock = sys_jdir_lock(j->dir, e);

	*r = (struct sys_replay){0};
	if (lock < 0)
		return lock;
	int left = undo_file(j->fd, j->boot, j->root, r, e);
	close(lock);
	if (left > 0)
		return err_wrap(e, "not everything could be put back");
	return left;
}

/* ---- the guardian -------------------------------------------------------- */

#define DISMISSED 'd'

#define LOOK_NS    NSEC_PER_SEC
#define CUT_OFF_NS (11 * NSEC_PER_SEC) /* weir itself looks too, and is a second faster */

/* True when dismissed; false when weir is gone, time is up, or nobody answers. */
static bool await_dismissal(int fd, int64_t until_ns, const struct sys_contact *of)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct sys_contact who = {0};
	char c = 0;

	if (of)
		who = *of;
	for (;;) {
		int64_t now = clk_mono_ns(), left = until_ns - now;
		if (left <= 0 || (of && sys_contact_lost(&who, now, CUT_OFF_NS)))
			return false;
		if (of && left > LOOK_NS)
			left = LOOK_NS;
		struct timespec ts = {.tv_sec = left / NSEC_PER_SEC,
				      .tv_nsec = left % NSEC_PER_SEC};
		if (ppoll(&p, 1, &ts, NULL) == 1)
			return read(fd, &c, 1) == 1 && c == DISMISSED;
	}
}

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static _Noreturn void guard(const struct sys_journal *j, int fd, int64_t until_ns,
			    const struct sys_contact *who)
{
	int keep[3] = {j->dir, j->fd, fd};
	struct sys_replay r = {0};
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "weir-guardian");
	qsort(keep, ARRAY_LEN(keep), sizeof(keep[0]), ascending);
	sys_only_keep(keep, ARRAY_LEN(keep));
	if (await_dismissal(fd, until_ns, who))
		_exit(0);
	int lock = sys_jdir_lock(j->dir, NULL);
	int left = undo_file(j->fd, j->boot, j->root, &r, NULL);
	/* When weir is gone, nobody else will remove the file. */
	if (left == 0 && send(fd, "u", 1, MSG_NOSIGNAL) < 0)
		unlinkat(j->dir, j->name, 0);
	close(fd); /* before the lock: sys_journal_set sees it */
	if (lock >= 0)
		close(lock);
	_exit(left != 0);
}

static void dismiss(struct sys_journal *j)
{
	if (!j->guard)
		return;
	send(j->guard_fd, &(char){DISMISSED}, 1, MSG_NOSIGNAL);
	close(j->guard_fd);
	wake_guard(j);
	while (waitpid(j->guard, NULL, 0) < 0 && errno == EINTR)
		;
	j->guard = 0;
	j->guard_fd = -1;
}

int sys_journal_guard(struct sys_journal *j, int64_t max_ns, const struct sys_contact *who,
		      struct weir_err *e)
{
	int p[2];
	int64_t until_ns = clk_mono_ns() + max_ns;

	dismiss(j);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return err_os(e, errno, "starting the guardian");
	pid_t pid = fork();
	if (pid == 0) {
		close(p[0]);
		guard(j, p[1], until_ns, who);
	}
	int error = errno;
	close(p[1]);
	if (pid < 0) {
		close(p[0]);
		return err_os(e, error, "starting the guardian");
	}
	j->guard = pid;
	j->guard_fd = p[0];
	return 0;
}

void sys_journal_close(struct sys_journal *j)
{
	struct sys_replay r;

	if (!j)
		return;
	int ret = sys_journal_undo(j, &r, NULL);
	dismiss(j);
	if (ret == 0)
		unlinkat(j->dir, j->name, 0);
	close(j->fd);
	close(j->dir);
	free(j);
}
