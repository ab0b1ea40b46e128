/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests share a host but nothing else: each is a child process that is found by its cookie, gets
 * its data connections over a channel, and is judged only by what the front itself knows. The
 * front survives whatever becomes of it and always writes its line.
 */
#include "serve/priv.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETUP_NS   (90 * NSEC_PER_SEC) /* parameters and data connections: their own limits first */
#define OVERDUE_NS (60 * NSEC_PER_SEC) /* beyond the longest test that the limits allow */
#define ENDING_NS  (10 * NSEC_PER_SEC) /* from the result to the end of the process */
#define REAP_NS    NSEC_PER_MSEC
#define MSGS_MAX   16 /* of one child at a visit */

#define PUBLIC_UDP_BPS 100000000 /* towards a client that anybody may be */

int serve_tests_init(struct serve_tests *ts, const struct serve_limits *lim)
{
	*ts = (struct serve_tests){.cap = lim->tests + (lim->tests == 1),
				   .beside = lim->tests == 1};
	ts->window_free = lim->memory_bytes / 2;
	ts->window_floor = lim->memory_bytes / 2 / ts->cap;
	ts->v = calloc(ts->cap, sizeof(*ts->v));
	ts->overlap = mmap(NULL, ts->cap * sizeof(*ts->overlap), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ts->overlap == MAP_FAILED)
		ts->overlap = NULL;
	if (!ts->v || !ts->overlap)
		return -ENOMEM;
	for (size_t i = 0; i < ts->cap; i++)
		ts->v[i].chan = -1;
	return 0;
}

void serve_tests_fini(struct serve_tests *ts)
{
	for (size_t i = 0; ts->v && i < ts->cap; i++) {
		free(ts->v[i].again);
		if (ts->v[i].chan >= 0)
			close(ts->v[i].chan);
	}
	if (ts->overlap)
		munmap(ts->overlap, ts->cap * sizeof(*ts->overlap));
	free(ts->v);
	*ts = (struct serve_tests){0};
}

struct serve_test *serve_tests_find(const struct serve_tests *ts, const void *cookie)
{
	for (size_t i = 0; i < ts->cap; i++) {
		if (ts->v[i].pid && !memcmp(ts->v[i].cookie, cookie, PROTO_COOKIE_LEN))
			return &ts->v[i];
	}
	return NULL;
}

size_t serve_tests_of_datagrams(const struct serve_tests *ts)
{
	size_t n = 0;

	for (size_t i = 0; i < ts->cap; i++)
		n += ts->v[i].pid && ts->v[i].datagrams;
	return n;
}

size_t serve_tests_in_band(const struct serve_tests *ts, const uint64_t *prefix)
{
	size_t n = 0;

	for (size_t i = 0; i < ts->cap; i++)
		n += ts->v[i].pid && ts->v[i].proto->in_band &&
		     (!prefix || ts->v[i].prefix == *prefix);
	return n;
}

size_t serve_tests_taken(const struct serve_tests *ts)
{
	return ts->n - (ts->beside ? serve_tests_of_datagrams(ts) : 0);
}

size_t serve_tests_of_prefix(const struct serve_tests *ts, uint64_t prefix)
{
	size_t n = 0;

	for (size_t i = 0; i < ts->cap; i++)
		n += ts->v[i].pid && ts->v[i].prefix == prefix;
	return n;
}

bool serve_tests_unsettled(const struct serve_tests *ts)
{
	for (size_t i = 0; i < ts->cap; i++) {
		if (ts->v[i].pid && ts->v[i].chan >= 0 && !ts->v[i].complete)
			return true;
	}
	return false;
}

bool serve_tests_ending(const struct serve_tests *ts)
{
	for (size_t i = 0; i < ts->cap; i++) {
		if (ts->v[i].pid && (ts->v[i].logged || ts->v[i].chan < 0))
			return true;
	}
	return false;
}

/* ---- the start ---- */

static struct serve_test *free_slot(const struct serve_tests *ts)
{
	for (size_t i = 0; i < ts->cap; i++) {
		if (!ts->v[i].pid)
			return &ts->v[i];
	}
	return NULL;
}

/* Half of what is left beside everybody's floor: one test alone may be large, the sum is bounded. */
static uint64_t window_take(struct serve_tests *ts)
{
	uint64_t extra = ts->window_free / 2;

	ts->window_free -= extra;
	return ts->window_floor + extra;
}

static void window_return(struct serve_tests *ts, uint64_t window)
{
	ts->window_free += window - ts->window_floor;
}

/* Processors shared evenly; alone, the engine decides. */
static unsigned workers_for(size_t tests)
{
	cpu_set_t set;
	unsigned n;

	if (tests < 2 || sched_getaffinity(0, sizeof(set), &set))
		return 0;
	n = (unsigned)CPU_COUNT(&set) / (unsigned)tests;
	return n ? n : 1;
}

static struct serve_job job_of(const struct serve_front *f, const struct serve_test *t,
			       const struct serve_start *s, int chan)
{
	struct serve_job job = {
		.cfg = f->cfg,
		.proto = t->proto,
		.ctl = s->fd,
		.early = s->early,
		.n_early = s->n_early,
		.began_ns = s->n_early ? s->early[0].arrival_ns : t->start_ns,
		.chan = chan,
		.stop = f->stop_pipe[0],
		.nice = f->usual_nice,
		.limits = {.flows = f->lim.flows,
			   .duration_ns = f->lim.duration_ns,
			   .rate_bps = f->lim.rate_bps,
			   .window_total = t->window,
			   .udp_down_bps = f->cfg->public_mode ? PUBLIC_UDP_BPS : 0,
			   .no_udp = !serve_udp_is_served(f),
			   .no_high_dscp = f->cfg->public_mode},
		.workers = workers_for(f->tests.n),
		.overlap = &f->tests.overlap[t - f->tests.v],
	};

	memcpy(job.cookie, t->cookie, sizeof(job.cookie));
	return job;
}

static _Noreturn void become_child(const struct serve_front *f, const struct serve_test *t,
				   const struct serve_start *s, pid_t parent, int chan)
{
	struct serve_job job = job_of(f, t, s, chan);
	const int keep[] = {job.ctl, job.chan, job.stop};

	/* Other clients' cookies are none of its business. */
	explicit_bzero(f->tests.v, f->tests.cap * sizeof(*f->tests.v));
	mprotect(f->tests.overlap, f->tests.cap * sizeof(*f->tests.overlap), PROT_READ);
	if (serve_child_settle(parent, f->null, keep, ARRAY_LEN(keep)))
		_exit(126);
	_exit(f->body(&job));
}

static void slot_free(struct serve_front *f, struct serve_test *t)
{
	const struct serve_words *w = f->cfg->words;

	if (w)
		w->text(w->arg, (size_t)(t - f->tests.v), 0, "", 0);
	serve_heap_del(&f->heap, &t->timer);
	serve_udp_done(f, t);
	window_return(&f->tests, t->window);
	*t = (struct serve_test){.chan = -1};
	f->tests.n--;
}

static void mark_overlap(struct serve_tests *ts, struct serve_test *t)
{
	for (size_t i = 0; i < ts->cap; i++) {
		if (&ts->v[i] == t || !ts->v[i].pid || !ts->v[i].began || ts->v[i].over ||
		    ts->v[i].chan < 0)
			continue;
		ts->overlap[i] = 1;
		ts->overlap[t - ts->v] = 1;
	}
}

static void run_timer(struct serve_front *f, struct serve_test *t)
{
	serve_heap_del(&f->heap, &t->timer);
	if (f->lim.duration_ns)
		serve_heap_set(&f->heap, &t->timer,
			       clk_mono_ns() + f->lim.duration_ns + OVERDUE_NS);
}

/* Nothing else of it will come to the front. */
static void is_whole(struct serve_front *f, struct serve_test *t)
{
	t->began = t->complete = true;
	t->flows = 1;
	mark_overlap(&f->tests, t);
	run_timer(f, t);
}

int serve_test_start(struct serve_front *f, const struct serve_start *s)
{
	struct serve_test *t = free_slot(&f->tests);
	const struct serve_start own = *s; /* the child has no copy of the tables around it */
	pid_t parent = getpid();
	int fds[2], r;

	if (!t)
		return -EBUSY;
	r = serve_chan_pair(fds);
	if (r < 0)
		return r;
	*t = (struct serve_test){.timer.kind = SERVE_T_TEST,
				 .chan = fds[0],
				 .proto = s->proto,
				 .prefix = s->prefix,
				 .window = window_take(&f->tests),
				 .start_ns = clk_mono_ns(),
				 .datagrams = s->n_early > 0,
				 .peer = s->peer};
	if (s->cookie)
		memcpy(t->cookie, s->cookie, sizeof(t->cookie));
	t->local.len = sizeof(t->local.ss);
	if (getsockname(s->fd, &t->local.sa, &t->local.len))
		t->local.len = 0;
	net_addr_unmap(&t->local);
	f->tests.overlap[t - f->tests.v] = 0;
	f->tests.n++;
	r = serve_watch(f, t->chan, EPOLLIN, SERVE_S_TEST, (size_t)(t - f->tests.v));
	t->pid = r < 0 ? -1 : fork();
	if (t->pid == 0)
		become_child(f, t, &own, parent, fds[1]);
	close(fds[1]);
	if (t->pid < 0) {
		r = r < 0 ? r : -errno;
		close(fds[0]);
		slot_free(f, t);
		return r;
	}
	serve_heap_set(&f->heap, &t->timer, clk_mono_ns() + SETUP_NS);
	if (s->proto->data_ends)
		is_whole(f, t);
	return 0;
}

/* ---- what the child says ---- */

static void kill_test(struct serve_test *t, const char *why)
{
	if (!t->killed)
		t->killed = why;
	kill(t->pid, SIGKILL);
}

static void expects(struct serve_front *f, struct serve_test *t, uint64_t n)
{
	t->expect = n < (size_t)2 * FLOW_MAX ? n : (size_t)2 * FLOW_MAX;
	t->given = 0;
	t->flows = n ? t->expect : t->flows;
	if (!n)
		serve_udp_done(f, t);
	if (n && !t->began) {
		t->began = true;
		mark_overlap(&f->tests, t);
	}
}

static void expects_udp(struct serve_front *f, struct serve_test *t, const struct serve_msg *m)
{
	expects(f, t, m->a);
	serve_udp_expect(f, t, m);
}

static void has_result(struct serve_front *f, struct serve_test *t, struct serve_msg *m)
{
	if (t->logged || m->len >= sizeof(m->text) || !serve_line_ok(m->text, m->len))
		return;
	m->text[m->len] = '\0';
	f->cfg->log(f->cfg->arg, m->text);
	t->logged = t->over = true;
	serve_heap_set(&f->heap, &t->timer, clk_mono_ns() + ENDING_NS);
}

/* A child is not trusted: what would move a terminal's cursor is no text. */
static void has_words(struct serve_front *f, const struct serve_test *t, struct serve_msg *m)
{
	const struct serve_words *w = f->cfg->words;

	for (size_t i = 0; i < m->len; i++) {
		unsigned char c = (unsigned char)m->text[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			m->text[i] = '?';
	}
	if (w && m->len)
		w->text(w->arg, (size_t)(t - f->tests.v), m->a != 0, m->text, m->len);
}

static void log_death(struct serve_front *f, struct serve_test *t, int status)
{
	char why[96] = "its process ended without a result";

	if (t->killed)
		snprintf(why, sizeof(why), "%s", t->killed);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "its process died: signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	serve_log(f, &(struct serve_line){.peer = &t->peer,
					  .protocol = t->proto->name,
					  .outcome = "failed",
					  .why = why});
}

/* The channel is closed; the process is at its end, but perhaps not quite. */
static void reap(struct serve_front *f, struct serve_test *t)
{
	int status = 0;
	struct serve_again *again = t->again;
	bool ran = t->complete, tried;

	if (waitpid(t->pid, &status, WNOHANG) == 0) {
		serve_heap_set(&f->heap, &t->timer, clk_mono_ns() + REAP_NS);
		return;
	}
	tried = f->cfg->one_any && !(WIFEXITED(status) && WEXITSTATUS(status) == SERVE_EXIT_LOGIN);
	if (t->datagrams || (WIFEXITED(status) && WEXITSTATUS(status) == SERVE_EXIT_UNPROVED))
		ran = tried = WIFEXITED(status) && !WEXITSTATUS(status);
	if (!t->logged)
		log_death(f, t, status);
	slot_free(f, t);
	f->ended++;
	serve_udp_retry(f, again);
	serve_ended(f, ran || tried);
}

static void channel_closed(struct serve_front *f, struct serve_test *t)
{
	epoll_ctl(f->ep, EPOLL_CTL_DEL, t->chan, NULL);
	close(t->chan);
	t->chan = -1;
	reap(f, t);
}

void serve_test_event(struct serve_front *f, struct serve_test *t)
{
	struct serve_msg m;

	for (int i = 0; i < MSGS_MAX && t->pid && t->chan >= 0; i++) {
		int r = serve_chan_recv(t->chan, &m, NULL);

		if (r == -EAGAIN)
			return;
		if (r <= 0)
			channel_closed(f, t);
		else if (m.type == SERVE_MSG_EXPECT)
			expects(f, t, m.a);
		else if (m.type == SERVE_MSG_HELLOS)
			expects_udp(f, t, &m);
		else if (m.type == SERVE_MSG_OVER)
			t->over = true;
		else if (m.type == SERVE_MSG_RESULT)
			has_result(f, t, &m);
		else if (m.type == SERVE_MSG_WORDS)
			has_words(f, t, &m);
		else if (m.type == SERVE_MSG_AGAIN && serve_udp_again(f, t, &m))
			kill_test(t, "its peer has begun another test from the same port");
	}
}

/* ---- what the front does to it ---- */

int serve_test_give(struct serve_front *f, struct serve_test *t, uint64_t seq, int fd)
{
	struct serve_msg m = {.type = SERVE_MSG_DATA, .a = seq};
	int r;

	/* What it expects was said before the client was told, but may not have been read. */
	serve_test_event(f, t);
	if (!t->pid || t->chan < 0 || t->given >= t->expect)
		return -ENOENT;
	r = serve_chan_send(t->chan, &m, fd);
	if (r == -ETOOMANYREFS)
		return -EAGAIN;
	if (r < 0)
		return r;
	if (++t->given == t->expect) {
		t->complete = true;
		serve_udp_done(f, t);
		run_timer(f, t);
	}
	return 0;
}

void serve_test_expired(struct serve_front *f, struct serve_test *t)
{
	if (t->chan < 0)
		reap(f, t);
	else
		kill_test(t, "it did not end in time");
}

void serve_tests_kill(struct serve_front *f, const char *why)
{
	for (size_t i = 0; i < f->tests.cap; i++) {
		if (f->tests.v[i].pid)
			kill_test(&f->tests.v[i], why);
	}
}
