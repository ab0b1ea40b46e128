/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker with several flows: level-triggered epoll over non-blocking sockets, a byte quota a
 * visit so that no flow starves the others. Paced flows wait in a heap for their due time and
 * ask epoll only when the kernel would not take a block.
 */
#include "net/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define VISIT_BYTES (256 << 10)
#define VISIT_CALLS 64
#define EVENTS      64

/* ---- the heap of due times ----------------------------------------------- */

static void heap_swap(struct net_worker *w, size_t i, size_t j)
{
	struct net_flow *t = w->due[i];

	w->due[i] = w->due[j];
	w->due[j] = t;
}

static void heap_push(struct net_worker *w, struct net_flow *f)
{
	size_t i = w->n_due++;

	for (w->due[i] = f; i && w->due[(i - 1) / 2]->due_ns > f->due_ns; i = (i - 1) / 2)
		heap_swap(w, i, (i - 1) / 2);
}

static struct net_flow *heap_pop(struct net_worker *w)
{
	struct net_flow *top = w->due[0];
	size_t i = 0, child;

	w->due[0] = w->due[--w->n_due];
	while ((child = 2 * i + 1) < w->n_due) {
		if (child + 1 < w->n_due && w->due[child + 1]->due_ns < w->due[child]->due_ns)
			child++;
		if (w->due[i]->due_ns <= w->due[child]->due_ns)
			break;
		heap_swap(w, i, child);
		i = child;
	}
	return top;
}

/* ---- registrations --------------------------------------------------------- */

static int epoll_put(struct net_worker *w, int op, int fd, uint32_t events, void *ptr)
{
	struct epoll_event ev = {.events = events, .data.ptr = ptr};

	return epoll_ctl(w->epoll_fd, op, fd, &ev) ? -errno : 0;
}

static void arm(struct net_worker *w, struct net_flow *f, bool on)
{
	if (f->armed == on)
		return;
	f->armed = on;
	epoll_put(w, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, f->fd, f->sender ? EPOLLOUT : EPOLLIN, f);
}

static void retire(struct net_worker *w, struct net_flow *f)
{
	arm(w, f, false);
	w->live--;
}

int net_worker_multi_prepare(struct net_worker *w)
{
	int rc;

	w->due = calloc(w->n, sizeof(*w->due));
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!w->due)
		return -ENOMEM;
	if (w->epoll_fd < 0 || w->timer_fd < 0 || w->wake_fd < 0)
		return -errno;
	rc = epoll_put(w, EPOLL_CTL_ADD, w->timer_fd, EPOLLIN, &w->timer_fd);
	return rc ? rc : epoll_put(w, EPOLL_CTL_ADD, w->wake_fd, EPOLLIN, &w->wake_fd);
}

/* ---- visits ------------------------------------------------------------------ */

static enum net_step visit_receiver(struct net_worker *w, struct net_flow *f)
{
	uint64_t end = net_count(&f->c.bytes) + VISIT_BYTES;
	enum net_step step = NET_STEP_MORE;

	for (int i = 0; i < VISIT_CALLS && step == NET_STEP_MORE; i++) {
		if (net_count(&f->c.bytes) >= end)
			break;
		step = net_flow_recv(w->en, f, w->rx);
	}
	return step;
}

static enum net_step visit_sender(struct net_worker *w, struct net_flow *f)
{
	uint64_t end = net_count(&f->c.bytes) + VISIT_BYTES;
	enum net_step step = NET_STEP_MORE;

	for (int i = 0; i < VISIT_CALLS && step == NET_STEP_MORE; i++) {
		if (net_count(&f->c.bytes) >= end)
			break;
		step = net_flow_send(w->en, f);
	}
	return step;
}

/* Sends what is due; then waits for the next due time, or for room. */
static void visit_paced(struct net_worker *w, struct net_flow *f, int64_t now_ns)
{
	enum net_step step;

	do {
		step = net_flow_send(w->en, f);
		if (step == NET_STEP_ENDED) {
			retire(w, f);
			return;
		}
		if (step == NET_STEP_BLOCKED) {
			arm(w, f, true);
			return;
		}
	} while (!net_flow_pace(f, now_ns));
	arm(w, f, false);
	heap_push(w, f);
}

static void visit(struct net_worker *w, struct net_flow *f, uint32_t events, int64_t now_ns)
{
	enum net_step step;

	if (f->ended)
		return;
	if (f->zerocopy && (events & EPOLLERR))
		net_flow_zc_reap(f);
	if (f->udp && f->sender && (events & EPOLLERR))
		net_udp_reap(f);
	if (f->sender && net_flag(&w->en->tx_stop))
		return; /* senders_stop() is next */
	if (f->paced) {
		visit_paced(w, f, now_ns);
		return;
	}
	step = f->sender ? visit_sender(w, f) : visit_receiver(w, f);
	if (step == NET_STEP_ENDED)
		retire(w, f);
}

static void visit_due(struct net_worker *w, int64_t now_ns)
{
	while (w->n_due && w->due[0]->due_ns <= now_ns && !net_flag(&w->en->tx_stop))
		visit_paced(w, heap_pop(w), now_ns);
}

/* ---- the loop ------------------------------------------------------------------ */

static void senders_stop(struct net_worker *w)
{
	w->senders_left = true;
	w->n_due = 0;
	for (size_t i = 0; i < w->n; i++) {
		struct net_flow *f = w->flows[i];

		if (!f->sender)
			continue;
		arm(w, f, false);
		net_flow_leave(w->en, f);
		if (!f->ended) {
			f->ended = true;
			w->live--;
		}
	}
}

/* Ten times a second: rates, and completions of senders that have stopped. */
static void look_after(struct net_worker *w, int64_t now_ns)
{
	for (size_t i = 0; i < w->n; i++) {
		struct net_flow *f = w->flows[i];

		if (f->zerocopy)
			net_flow_zc_reap(f);
		if (!f->ended)
			net_flow_tune(w->en, f, now_ns);
	}
}

static void set_timer(struct net_worker *w)
{
	int64_t due = w->n_due ? w->due[0]->due_ns : 0;
	struct itimerspec its = {.it_value = {due / NSEC_PER_SEC, due % NSEC_PER_SEC}};

	if (due == w->timer_ns)
		return;
	w->timer_ns = due;
	timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &its, NULL);
}

static void begin(struct net_worker *w, int64_t now_ns)
{
	bool on_time = false;

	w->live = w->n;
	for (size_t i = 0; i < w->n; i++) {
		struct net_flow *f = w->flows[i];

		net_flow_begin(f, now_ns + f->gap_ns * (int64_t)i / (int64_t)w->n);
		on_time |= f->udp && f->paced;
		if (f->paced) /* not all at once */
			heap_push(w, f);
		else
			arm(w, f, true);
	}
	if (on_time)
		net_thread_short_slice();
}

static void take_event(struct net_worker *w, const struct epoll_event *ev, int64_t now_ns)
{
	uint64_t n;

	if (ev->data.ptr != &w->timer_fd && ev->data.ptr != &w->wake_fd) {
		visit(w, ev->data.ptr, ev->events, now_ns);
		return;
	}
	if (read(*(int *)ev->data.ptr, &n, sizeof(n)) > 0 && ev->data.ptr == &w->timer_fd)
		w->timer_ns = 0;
}

void net_worker_multi(struct net_worker *w)
{
	struct epoll_event ev[EVENTS];
	int64_t now = clk_mono_ns(), looked = now;

	begin(w, now);
	while (w->live && !net_flag(&w->en->quit)) {
		int n;

		set_timer(w);
		n = epoll_wait(w->epoll_fd, ev, EVENTS, NET_SLICE_NS / NSEC_PER_MSEC);
		now = clk_mono_ns();
		for (int i = 0; i < n; i++)
			take_event(w, &ev[i], now);
		visit_due(w, now);
		if (net_flag(&w->en->tx_stop) && !w->senders_left)
			senders_stop(w);
		if (now - looked >= NET_SLICE_NS) {
			look_after(w, now);
			looked = now;
		}
	}
	if (!w->senders_left)
		senders_stop(w);
	for (size_t i = 0; i < w->n; i++) {
		struct net_flow *f = w->flows[i];

		if (f->udp && !f->sender)
			net_udp_take_rest(w->en, f);
		if (f->zerocopy)
			net_flow_zc_await(w->en, f);
	}
}
