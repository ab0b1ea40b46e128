/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread, one epoll, no timer and no parser: it accepts, tells by the first bytes, admits and
 * hands on. All that strangers can make it hold is in fixed tables, all that it waits for has a
 * deadline, so nobody's silence is anybody else's wait.
 */
#include "serve/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ACCEPTS_MAX  64 /* at a visit, then the others have their turn */
#define PAUSE_NS     (100 * NSEC_PER_MSEC)
#define REFUSALS_NS  (10 * NSEC_PER_SEC)
#define LAST_WORD_NS (5 * NSEC_PER_SEC) /* for tests that were told to stop */
#define KILL_NS      NSEC_PER_SEC

int serve_watch(struct serve_front *f, int fd, uint32_t events, enum serve_source kind, size_t i)
{
	struct epoll_event ev = {.events = events, .data.u64 = (uint64_t)kind << 32 | i};

	return epoll_ctl(f->ep, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* ---- the log ---- */

void serve_log(struct serve_front *f, const struct serve_line *l)
{
	struct buf b = {.max = SERVE_LINE_MAX};

	serve_line_put(&b, l, f->cfg->log_json);
	if (!b.failed)
		f->cfg->log(f->cfg->arg, b.data);
	buf_fini(&b);
}

/* TCP is served all the same. */
static void log_no_udp(struct serve_front *f, const char *why)
{
	struct buf b = {.max = SERVE_LINE_MAX};

	serve_note_put(&b, "UDP is not served", why, f->cfg->log_json);
	if (!b.failed)
		f->cfg->log(f->cfg->arg, b.data);
	buf_fini(&b);
}

void serve_log_refusal(struct serve_front *f, const struct net_addr *peer, const struct proto *p,
		       const char *why)
{
	struct buf b = {.max = 512};
	uint64_t missed;

	f->refused++;
	if (!serve_rate_ok(&f->refusals, clk_mono_ns(), REFUSALS_NS, &missed))
		return;
	buf_puts(&b, why);
	if (missed)
		buf_printf(&b, " (and %llu before)", (unsigned long long)missed);
	serve_log(f, &(struct serve_line){.peer = peer,
					  .protocol = p ? p->name : NULL,
					  .outcome = "refused",
					  .why = b.data});
	buf_fini(&b);
}

/* ---- accepting ---- */

static void listen_for(struct serve_front *f, uint32_t events)
{
	for (size_t i = 0; i < f->n_doors; i++) {
		struct epoll_event ev = {.events = events,
					 .data.u64 = (uint64_t)SERVE_S_LISTENER << 32 | i};

		if (f->doors[i].listener >= 0)
			epoll_ctl(f->ep, EPOLL_CTL_MOD, f->doors[i].listener, &ev);
	}
}

static void pause_accept(struct serve_front *f)
{
	listen_for(f, 0);
	serve_heap_set(&f->heap, &f->accept_timer, clk_mono_ns() + PAUSE_NS);
}

/* Without a free descriptor the queue would stay and wake us for ever: the reserved one takes a
 * connection out of it, so that at least one client hears why. */
static void refuse_one(struct serve_front *f, const struct serve_door *door)
{
	struct net_addr a = {.len = sizeof(a.ss)};
	int fd;

	close(f->reserve);
	fd = accept4(door->listener, &a.sa, &a.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		if (!door->proto)
			send(fd, "\xff", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
		net_addr_unmap(&a);
		serve_log_refusal(f, &a, NULL, "no file descriptor is free");
	}
	f->reserve = fcntl(f->null, F_DUPFD_CLOEXEC, 0);
}

/* False: no more at this visit. Errors of single connections are skipped. */
static bool accept_one(struct serve_front *f, const struct serve_door *door)
{
	struct net_addr a = {.len = sizeof(a.ss)};
	int fd = accept4(door->listener, &a.sa, &a.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		net_addr_unmap(&a);
		serve_conn_take(f, fd, &a, door->proto);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE)
		refuse_one(f, door);
	else if (errno != ENOBUFS && errno != ENOMEM)
		return errno != EAGAIN;
	pause_accept(f);
	return false;
}

static void on_listener(struct serve_front *f, size_t i)
{
	for (int n = 0; n < ACCEPTS_MAX && f->doors[i].listener >= 0; n++) {
		if (!accept_one(f, &f->doors[i]))
			return;
	}
}

/* ---- the end ---- */

static void unwatch(struct serve_front *f, int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(f->ep, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

static void stop_listening(struct serve_front *f)
{
	serve_heap_del(&f->heap, &f->accept_timer);
	for (size_t i = 0; i < f->n_doors; i++) {
		unwatch(f, &f->doors[i].listener);
		for (size_t k = 0; k < SERVE_UDP_MAX; k++)
			unwatch(f, &f->doors[i].udp[k]);
	}
}

static void check_end(struct serve_front *f)
{
	if (f->stage == SERVE_RUNS)
		return;
	/* Tests that are being set up still get their data connections. */
	if (!serve_tests_unsettled(&f->tests))
		stop_listening(f);
	if (!f->tests.n)
		f->stage = SERVE_DONE;
}

void serve_ended(struct serve_front *f, bool ran)
{
	if (ran && f->cfg->one_off)
		f->stage = SERVE_DONE;
}

static void on_stop(struct serve_front *f, size_t i)
{
	(void)i;
	epoll_ctl(f->ep, EPOLL_CTL_DEL, f->cfg->stop_fd, NULL);
	if (f->stage != SERVE_RUNS)
		return;
	serve_queue_refuse(f, "the server is about to stop");
	f->stage = SERVE_FINISHES;
	serve_heap_set(&f->heap, &f->stop_timer, clk_mono_ns() + f->cfg->grace_ns);
}

/* A byte and the end: whichever a child looks for, and no child can take the end from others. */
static void tell_children(struct serve_front *f)
{
	ssize_t n = write(f->stop_pipe[1], "", 1);

	(void)n;
	close(f->stop_pipe[1]);
	f->stop_pipe[1] = -1;
}

static void stop_expired(struct serve_front *f, struct serve_timer *t)
{
	int64_t now = clk_mono_ns();

	f->stage++;
	if (f->stage == SERVE_STOPS) {
		stop_listening(f);
		tell_children(f);
		serve_heap_set(&f->heap, t, now + LAST_WORD_NS);
	} else if (f->stage == SERVE_KILLS) {
		serve_tests_kill(f, "the server was stopped");
		serve_heap_set(&f->heap, t, now + KILL_NS);
	}
}

/* ---- the loop ---- */

#define OWNER(t, type) ((struct type *)(void *)((char *)(t)-offsetof(struct type, timer)))

static void conn_expired(struct serve_front *f, struct serve_timer *t)
{
	serve_conn_expired(f, OWNER(t, serve_conn));
}

static void test_expired(struct serve_front *f, struct serve_timer *t)
{
	serve_test_expired(f, OWNER(t, serve_test));
}

static void accept_expired(struct serve_front *f, struct serve_timer *t)
{
	(void)t;
	if (f->reserve < 0)
		f->reserve = fcntl(f->null, F_DUPFD_CLOEXEC, 0);
	if (f->reserve < 0)
		pause_accept(f);
	else
		listen_for(f, EPOLLIN);
}

static void udp_expired(struct serve_front *f, struct serve_timer *t)
{
	(void)t;
	serve_udp_expired(f);
}

static void (*const expired[SERVE_T_MAX])(struct serve_front *, struct serve_timer *) = {
	[SERVE_T_CONN] = conn_expired,     [SERVE_T_TEST] = test_expired,
	[SERVE_T_ACCEPT] = accept_expired, [SERVE_T_STOP] = stop_expired,
	[SERVE_T_UDP] = udp_expired,
};

static void on_conn(struct serve_front *f, size_t i)
{
	serve_conn_event(f, &f->pool.conns[i]);
}

static void on_test(struct serve_front *f, size_t i)
{
	serve_test_event(f, &f->tests.v[i]);
}

static void on_status(struct serve_front *f, size_t i)
{
	(void)i;
	serve_status_event(f);
}

static void on_udp(struct serve_front *f, size_t i)
{
	size_t door = i / SERVE_UDP_MAX;

	if (f->doors[door].proto)
		serve_datagram_event(f, door, i % SERVE_UDP_MAX);
	else
		serve_udp_event(f, i);
}

static void (*const sources[SERVE_S_MAX])(struct serve_front *, size_t) = {
	[SERVE_S_LISTENER] = on_listener, [SERVE_S_STOP] = on_stop,     [SERVE_S_CONN] = on_conn,
	[SERVE_S_TEST] = on_test,         [SERVE_S_STATUS] = on_status, [SERVE_S_UDP] = on_udp,
};

static int run(struct serve_front *f)
{
	struct epoll_event ev[64];

	while (f->stage != SERVE_DONE) {
		int64_t now = clk_mono_ns();
		struct serve_timer *t;
		int n = epoll_wait(f->ep, ev, ARRAY_LEN(ev), serve_heap_wait_ms(&f->heap, now));

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			sources[ev[i].data.u64 >> 32](f, (uint32_t)ev[i].data.u64);
		now = clk_mono_ns();
		while ((t = serve_heap_due(&f->heap, now)))
			expired[t->kind](f, t);
		serve_queue_step(f);
		check_end(f);
	}
	return 0;
}

static int open_fds(struct serve_front *f)
{
	f->ep = epoll_create1(EPOLL_CLOEXEC);
	f->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	f->reserve = fcntl(f->null, F_DUPFD_CLOEXEC, 0);
	if (f->ep < 0 || f->null < 0 || f->reserve < 0 || pipe2(f->stop_pipe, O_CLOEXEC))
		return -errno;
	return 0;
}

static int watch_door(struct serve_front *f, size_t i)
{
	const struct serve_door *d = &f->doors[i];
	int r = d->listener < 0 ? 0 : serve_watch(f, d->listener, EPOLLIN, SERVE_S_LISTENER, i);

	for (size_t k = 0; r >= 0 && k < SERVE_UDP_MAX; k++) {
		if (d->udp[k] >= 0)
			r = serve_watch(f, d->udp[k], EPOLLIN, SERVE_S_UDP, i * SERVE_UDP_MAX + k);
	}
	return r;
}

static int front_init(struct serve_front *f)
{
	int r = open_fds(f);

	if (r >= 0)
		r = serve_heap_init(&f->heap, f->lim.pending + f->lim.tests + 4);
	if (r >= 0)
		r = serve_pool_init(&f->pool, f->lim.pending);
	if (r >= 0)
		r = serve_tests_init(&f->tests, &f->lim);
	for (size_t i = 0; r >= 0 && i < f->n_doors; i++)
		r = watch_door(f, i);
	if (r >= 0 && f->cfg->stop_fd >= 0)
		r = serve_watch(f, f->cfg->stop_fd, EPOLLIN, SERVE_S_STOP, 0);
	if (r >= 0 && f->cfg->status_fd > 0)
		r = serve_watch(f, f->cfg->status_fd, EPOLLIN, SERVE_S_STATUS, 0);
	return r;
}

static void front_fini(struct serve_front *f)
{
	const int fds[] = {f->ep, f->null, f->reserve, f->stop_pipe[0], f->stop_pipe[1]};

	serve_tests_kill(f, "the server has ended");
	stop_listening(f);
	for (size_t i = 0; f->pool.conns && i < f->pool.cap; i++) {
		if (f->pool.conns[i].state != SERVE_CONN_FREE)
			serve_conn_close(f, &f->pool.conns[i]);
	}
	serve_tests_fini(&f->tests);
	serve_pool_fini(&f->pool);
	serve_heap_fini(&f->heap);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

/* UDP beside TCP where the protocol has both. */
static void open_doors(struct serve_front *f, const int take_listeners[SERVE_DOORS_MAX])
{
	f->n_doors = 1 + f->cfg->n_others;
	for (size_t i = 0; i < f->n_doors; i++) {
		struct serve_door *d = &f->doors[i];
		struct weir_err e = {0};

		*d = (struct serve_door){
			.proto = i ? f->cfg->others[i - 1].proto : f->cfg->only,
			.listener = take_listeners[i],
			.udp = {-1, -1},
		};
		if (d->listener < 0 || (d->proto && !d->proto->in_band))
			continue;
		if (!serve_udp_open(d->listener, d->udp, &e))
			log_no_udp(f, e.msg);
	}
}

int serve_front(const struct serve_cfg *cfg, int take_listener, int usual_nice, serve_body *body,
		struct weir_err *e)
{
	const int listeners[SERVE_DOORS_MAX] = {take_listener, -1, -1, -1};

	return serve_front_doors(cfg, listeners, usual_nice, body, e);
}

int serve_front_doors(const struct serve_cfg *cfg, const int take_listeners[SERVE_DOORS_MAX],
		      int usual_nice, serve_body *body, struct weir_err *e)
{
	struct serve_front f = {
		.cfg = cfg,
		.lim = cfg->limits,
		.body = body,
		.usual_nice = usual_nice,
		.ep = -1,
		.null = -1,
		.reserve = -1,
		.stop_pipe = {-1, -1},
		.start_ns = clk_mono_ns(),
		.admit = {.allow = cfg->allow,
			  .n_allow = cfg->n_allow,
			  .deny = cfg->deny,
			  .n_deny = cfg->n_deny,
			  .everyone = cfg->public_mode},
		.accept_timer.kind = SERVE_T_ACCEPT,
		.stop_timer.kind = SERVE_T_STOP,
		.udp_timer.kind = SERVE_T_UDP,
	};
	int r;

	serve_limits_fill(&f.lim, cfg->public_mode, cfg->one_off || cfg->exclusive);
	open_doors(&f, take_listeners);
	r = front_init(&f);
	if (r >= 0)
		r = run(&f);
	if (r < 0)
		err_os(e, -r, "serving");
	front_fini(&f);
	return r;
}
