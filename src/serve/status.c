/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is being served, for the one who runs the server: a socket that only its owner can reach and
 * that reads nothing. One connection gets one answer, of a bounded size, at once or not at all, so
 * that asking can neither hold the front up nor make it keep anything.
 */
#include "serve/priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)96 << 10) /* below what a socket takes at once */
#define SHOWN_MAX  256                /* tests, and clients that wait */
#define ASK_NS     (2 * NSEC_PER_SEC)
#define PREFIX     "serve-"
#define SUFFIX     ".sock"

/* ---- the answer ---- */

static double seconds_since(int64_t ns)
{
	int64_t ms = (clk_mono_ns() - ns) / NSEC_PER_MSEC;

	return (double)ms / 1e3;
}

static const char *stage_of(const struct serve_test *t)
{
	if (t->logged || t->chan < 0)
		return "ending";
	if (t->complete)
		return "running";
	return t->began ? "connecting" : "starting";
}

static void put_peer(struct jw *w, const struct net_addr *peer)
{
	char text[80];

	net_addr_text(peer, text, sizeof(text));
	jw_str(w, "peer", text);
	jw_i64(w, "port", net_addr_port(peer));
}

static void put_tests(const struct serve_front *f, struct jw *w)
{
	size_t shown = 0;

	jw_arr(w, "tests");
	for (size_t i = 0; i < f->tests.cap && shown < SHOWN_MAX; i++) {
		const struct serve_test *t = &f->tests.v[i];

		if (!t->pid)
			continue;
		shown++;
		jw_obj(w, NULL);
		put_peer(w, &t->peer);
		jw_str(w, "protocol", t->proto->name);
		jw_str(w, "stage", stage_of(t));
		jw_f64(w, "seconds", seconds_since(t->start_ns));
		jw_u64(w, "flows", t->flows);
		jw_i64(w, "pid", t->pid);
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

static int by_arrival(const void *a, const void *b)
{
	const struct serve_conn *const *x = a, *const *y = b;

	return ((*x)->seq > (*y)->seq) - ((*x)->seq < (*y)->seq);
}

static void put_waiting(const struct serve_front *f, struct jw *w)
{
	const struct serve_conn *v[SHOWN_MAX] = {NULL};
	size_t n = 0;

	for (size_t i = 0; f->queued && i < f->pool.cap && n < SHOWN_MAX; i++) {
		if (f->pool.conns[i].state == SERVE_CONN_QUEUED)
			v[n++] = &f->pool.conns[i];
	}
	qsort(v, n, sizeof(struct serve_conn *), by_arrival);
	jw_arr(w, "waiting");
	for (size_t i = 0; i < n; i++) {
		jw_obj(w, NULL);
		put_peer(w, &v[i]->peer);
		jw_f64(w, "seconds", seconds_since(v[i]->deadline_ns - f->lim.queue_ns));
		jw_end_obj(w);
	}
	jw_end_arr(w);
}

void serve_status_put(const struct serve_front *f, struct buf *b)
{
	struct net_addr a = {.len = sizeof(a.ss)};
	struct jw w = jw_init(b);
	char where[80] = "";

	if (f->doors[0].listener >= 0 && !getsockname(f->doors[0].listener, &a.sa, &a.len))
		net_addr_port_text(&a, where, sizeof(where));
	jw_obj(&w, NULL);
	jw_str(&w, "version", weir_version);
	jw_i64(&w, "pid", getpid());
	jw_str(&w, "listens", where[0] ? where : NULL);
	jw_bool(&w, "stopping", f->stage != SERVE_RUNS);
	jw_f64(&w, "seconds", seconds_since(f->start_ns));
	jw_u64(&w, "tests_now", f->tests.n);
	jw_u64(&w, "tests_at_once", f->lim.tests);
	jw_u64(&w, "tests_ended", f->ended);
	jw_u64(&w, "refused", f->refused);
	jw_u64(&w, "waiting_now", f->queued);
	jw_u64(&w, "pending", f->pool.n - f->queued);
	put_tests(f, &w);
	put_waiting(f, &w);
	jw_end_obj(&w);
	buf_putc(b, '\n');
}

void serve_status_event(struct serve_front *f)
{
	int fd = accept4(f->cfg->status_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct buf b = {.max = ANSWER_MAX};
	ssize_t n;

	if (fd < 0)
		return;
	serve_status_put(f, &b);
	n = b.failed ? 0 : send(fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n; /* who asked may have gone: nobody is owed anything */
	buf_fini(&b);
	close(fd);
}

/* ---- the socket ---- */

static int address(struct sockaddr_un *a, const char *dir, const char *name, struct weir_err *e)
{
	int n;

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(a->sun_path))
		return err_set(e, WEIR_USAGE, ENAMETOOLONG, "%.160s: the path is too long", dir);
	return 0;
}

static int own_address(struct sockaddr_un *a, const char *dir, struct weir_err *e)
{
	char name[64];

	snprintf(name, sizeof(name), PREFIX "%d" SUFFIX, getpid());
	return address(a, dir, name, e);
}

/* What others can write to is not believed. */
static int own_folder(const char *dir, struct weir_err *e)
{
	struct stat st;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_os(e, errno, "making %.160s", dir);
	if (lstat(dir, &st) < 0)
		return err_os(e, errno, "%.160s", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return err_set(e, WEIR_OS, EPERM, "%.160s is not a folder of yours alone", dir);
	return 0;
}

void serve_status_unlink(const char *dir)
{
	struct sockaddr_un a;

	if (own_address(&a, dir, NULL) == 0)
		unlink(a.sun_path);
}

/* ---- who asks ---- */

static int read_answer(int fd, struct buf *b)
{
	int64_t end = clk_mono_ns() + ASK_NS;
	char chunk[4096];

	for (;;) {
		int r = net_wait_readable(fd, end, -1);
		ssize_t n = r < 0 ? r : recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

		if (r < 0)
			return r;
		if (!n)
			return b->failed ? -EMSGSIZE : 0;
		if (n > 0)
			buf_put(b, chunk, (size_t)n);
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

/* A socket that was left behind is taken away: nobody listens there again. */
static int connect_to(const struct sockaddr_un *a)
{
	int r, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)a, sizeof(*a)))
		return fd;
	r = -errno;
	if (r == -ECONNREFUSED)
		unlink(a->sun_path);
	close(fd);
	return r;
}

/* 1 for an answer, 0 when nobody is there any more. */
static int ask_one(const char *dir, const char *name, struct buf *b, struct weir_err *e)
{
	struct sockaddr_un a;
	int fd, r = address(&a, dir, name, e);

	if (r < 0)
		return r;
	fd = connect_to(&a);
	if (fd == -ECONNREFUSED || fd == -ENOENT)
		return 0;
	if (fd < 0)
		return err_os(e, -fd, "%.160s", a.sun_path);
	r = read_answer(fd, b);
	close(fd);
	return r < 0 ? err_os(e, -r, "%.160s", a.sun_path) : 1;
}

static bool is_ours(const char *name)
{
	size_t n = strlen(name), head = sizeof(PREFIX) - 1, tail = sizeof(SUFFIX) - 1;

	return n > head + tail && !memcmp(name, PREFIX, head) &&
	       !memcmp(name + n - tail, SUFFIX, tail);
}

/* A server that gave up its privileges cannot take its socket away: the next one does. */
static void sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *at;

	while (d && (at = readdir(d))) {
		struct sockaddr_un a;

		int fd = is_ours(at->d_name) && !address(&a, dir, at->d_name, NULL) ? connect_to(&a)
										    : -ENOENT;

		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

int serve_status_listen(const char *dir, struct weir_err *e)
{
	struct sockaddr_un a;
	int fd, r = own_folder(dir, e);

	if (r >= 0)
		sweep(dir);
	if (r >= 0)
		r = own_address(&a, dir, e);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_os(e, errno, "socket");
	unlink(a.sun_path); /* of a process that had this number before */
	/* The mode before anybody can connect: what the folder's mode forbids anyway. */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chmod(a.sun_path, 0600) < 0 || listen(fd, 8) < 0) {
		r = err_os(e, errno, "%.160s", a.sun_path);
		close(fd);
		return r;
	}
	return fd;
}

int serve_status_ask(const char *dir, void (*each)(void *arg, const char *json, size_t n),
		     void *arg, struct weir_err *e)
{
	DIR *d = opendir(dir);
	struct dirent *at;
	int r = 0, found = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_os(e, errno, "%.160s", dir);
	while (r >= 0 && (at = readdir(d))) {
		struct buf b = {.max = ANSWER_MAX};

		if (!is_ours(at->d_name))
			continue;
		r = ask_one(dir, at->d_name, &b, e);
		if (r > 0)
			each(arg, b.data, b.len);
		found += r > 0;
		buf_fini(&b);
	}
	closedir(d);
	return r < 0 ? r : found;
}
