/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine: flows dealt to workers, started at one moment, stopped in the order that keeps
 * the figures true (senders, then the end of the stream, then the drain). The control thread
 * speaks in flags and wakes; the workers answer through counters and two event descriptors.
 */
#include "net/priv.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* The largest block of a flow without a length. */
#define TX_MIN         (512 << 10)
#define DRAIN_LOOK_NS  (2 * NSEC_PER_MSEC)
#define DRAIN_QUIET_NS (200 * NSEC_PER_MSEC)

/* ---- making ---------------------------------------------------------------- */

static void signal_fd(int fd)
{
	uint64_t one = 1;

	while (fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int net_engine_new(const struct net_engine_cfg *cfg, struct net_engine **out, struct weir_err *e)
{
	struct net_engine *en = aligned_alloc(NET_CACHE_LINE, sizeof(*en));

	*out = NULL;
	if (!en)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	memset(en, 0, sizeof(*en));
	en->cfg = *cfg;
	en->limit_goal = cfg->limit_bytes ? cfg->limit_bytes : cfg->limit_blocks;
	en->limit_in_blocks = !cfg->limit_bytes && cfg->limit_blocks;
	en->file_fd = -1;
	en->go_fd = eventfd(0, EFD_CLOEXEC);
	en->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	en->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (en->go_fd < 0 || en->done_fd < 0 || en->event_fd < 0) {
		int rc = err_os(e, errno, "cannot make an event descriptor");

		net_engine_free(en);
		return rc;
	}
	*out = en;
	return 0;
}

static int grow(struct net_engine *en)
{
	size_t cap = en->cap ? 2 * en->cap : 16;
	struct net_flow **p;

	if (en->n < en->cap)
		return 0;
	p = realloc(en->flows, cap * sizeof(struct net_flow *));
	if (!p)
		return -ENOMEM;
	en->flows = p;
	en->cap = cap;
	return 0;
}

static int check_flow(const struct net_engine *en, const struct flow_spec *spec, struct weir_err *e)
{
	if (en->prepared)
		return err_set(e, WEIR_USAGE, EBUSY, "the engine already runs");
	if (spec->transport == NET_UDP && spec->len &&
	    (spec->len < NET_UDP_LEN_MIN || spec->len > NET_UDP_LEN_MAX))
		return err_set(e, WEIR_USAGE, ERANGE, "a UDP datagram carries %d to %d bytes",
			       NET_UDP_LEN_MIN, NET_UDP_LEN_MAX);
	if (en->n >= FLOW_MAX)
		return err_set(e, WEIR_LIMIT, E2BIG, "more than %d flows", FLOW_MAX);
	return 0;
}

static int flow_append(struct net_engine *en, int fd, const struct flow_spec *spec, bool sender)
{
	struct net_flow *f;

	if (grow(en))
		return -ENOMEM;
	f = aligned_alloc(NET_CACHE_LINE, sizeof(*f));
	if (!f)
		return -ENOMEM;
	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->spec = *spec;
	if (spec->transport == NET_UDP && !spec->len)
		f->spec.len = NET_UDP_LEN;
	f->sender = sender;
	if (spec->transport == NET_UDP && net_udp_new(f)) {
		net_udp_free(f);
		net_timing_free(f);
		free(f);
		return -ENOMEM;
	}
	en->n_senders += sender;
	en->flows[en->n] = f;
	en->has_udp |= f->udp != NULL;
	return (int)en->n++;
}

int net_engine_add(struct net_engine *en, int take_fd, const struct flow_spec *spec, bool sender,
		   struct weir_err *e)
{
	int rc = check_flow(en, spec, e);

	if (rc == 0) {
		rc = flow_append(en, take_fd, spec, sender);
		if (rc < 0)
			err_os(e, -rc, "cannot add a flow");
	}
	if (rc < 0)
		close(take_fd);
	return rc;
}

/* ---- preparing --------------------------------------------------------------- */

static int make_file(struct net_engine *en)
{
	int fd = memfd_create("weir", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	en->file_fd = fd;
	for (size_t done = 0; done < en->tx_size;) {
		ssize_t n = write(fd, en->tx + done, en->tx_size - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* One buffer for all senders: random, so that nothing on the path compresses it. */
static int make_tx(struct net_engine *en)
{
	bool file = false;
	bool digits = false;

	en->tx_size = TX_MIN;
	for (size_t i = 0; i < en->n; i++) {
		if (en->flows[i]->spec.len > en->tx_size)
			en->tx_size = en->flows[i]->spec.len;
		file |= en->flows[i]->sender && en->flows[i]->spec.tx == NET_TX_SENDFILE;
		digits |= en->flows[i]->spec.digits;
	}
	en->tx = malloc(en->tx_size);
	if (!en->tx)
		return -ENOMEM;
	net_payload_fill(en->tx, en->tx_size, digits);
	return file ? make_file(en) : 0;
}

static unsigned worker_count(const struct net_engine *en)
{
	size_t n = en->cfg.workers ? en->cfg.workers : net_allowed_cpus(NULL, 0);

	for (size_t i = 0; i < en->n; i++)
		if (en->flows[i]->sender && en->flows[i]->spec.bursts)
			return (unsigned)en->n; /* it waits for itself alone */
	return (unsigned)(n < en->n ? n : en->n);
}

static int worker_init(struct net_engine *en, unsigned index)
{
	struct net_worker *w = &en->workers[index];
	size_t rx = 0;
	int rc = 0;

	w->flows = calloc(en->n / en->n_workers + 1, sizeof(struct net_flow *));
	if (!w->flows)
		return -ENOMEM;
	for (size_t i = index; i < en->n; i += en->n_workers) {
		size_t size = net_flow_rx_size(en->flows[i]);

		w->flows[w->n++] = en->flows[i];
		rx = size > rx ? size : rx;
	}
	rc = net_udp_io_new(w->flows, w->n, &w->udp);
	for (size_t i = 0; i < w->n && rc == 0; i++)
		rc = net_flow_prepare(en, w->flows[i], w->n == 1);
	if (rc)
		return rc;
	if (rx && !(w->rx = malloc(rx)))
		return -ENOMEM;
	return w->n > 1 ? net_worker_multi_prepare(w) : 0;
}

static void *worker_main(void *arg)
{
	struct net_worker *w = arg;
	struct pollfd go = {.fd = w->en->go_fd, .events = POLLIN};

	while (poll(&go, 1, -1) < 1)
		;
	if (net_flag(
		    &w->en->gone)) { /* even if it is told to stop already: something may have come */
		if (w->n == 1)
			net_worker_single(w);
		else
			net_worker_multi(w);
	}
	atomic_store(&w->cpu_final_ns, clk_thread_cpu_ns());
	return NULL;
}

int64_t net_worker_cpu_ns(const struct net_worker *w)
{
	int64_t final = atomic_load(&w->cpu_final_ns);
	struct timespec ts;

	if (final >= 0)
		return final;
	if (clock_gettime(w->clock, &ts) == 0)
		return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
	final = atomic_load(&w->cpu_final_ns); /* it has just ended */
	return final >= 0 ? final : 0;
}

static int worker_cpu(const struct net_engine *en, unsigned index)
{
	int allowed[CPU_SETSIZE];
	size_t n;

	if (en->cfg.n_cpus)
		return en->cfg.cpus[index % en->cfg.n_cpus];
	if (!en->cfg.pin)
		return -1;
	n = net_allowed_cpus(allowed, CPU_SETSIZE);
	return allowed[index % n];
}

static int check_cpus(const struct net_engine *en, struct weir_err *e)
{
	int allowed[CPU_SETSIZE];
	size_t n = net_allowed_cpus(allowed, CPU_SETSIZE);

	for (size_t i = 0; i < en->cfg.n_cpus; i++) {
		bool ok = false;

		for (size_t k = 0; k < n; k++)
			ok |= allowed[k] == en->cfg.cpus[i];
		if (!ok)
			return err_set(e, WEIR_USAGE, EINVAL, "CPU %d is not one we may run on",
				       en->cfg.cpus[i]);
	}
	return 0;
}

static int workers_start(struct net_engine *en)
{
	for (unsigned i = 0; i < en->n_workers; i++) {
		struct net_worker *w = &en->workers[i];
		char name[24];
		int rc;

		snprintf(name, sizeof(name), "weir-w%u", i);
		rc = net_thread_start(&w->thread, name, worker_cpu(en, i), worker_main, w);
		if (rc)
			return rc;
		w->started = true;
		rc = pthread_getcpuclockid(w->thread, &w->clock);
		if (rc)
			return -rc;
	}
	return 0;
}

int net_engine_prepare(struct net_engine *en, struct weir_err *e)
{
	int rc;

	if (en->n == 0)
		return err_set(e, WEIR_USAGE, EINVAL, "no flows");
	rc = check_cpus(en, e);
	if (rc)
		return rc;
	en->prepared = true;
	en->n_workers = worker_count(en);
	en->open_flows = en->n;
	en->running_senders = en->n_senders;
	if (en->limit_in_blocks && en->n_senders == 0) { /* a receiver only sees bytes */
		size_t len = en->flows[0]->spec.len ? en->flows[0]->spec.len : 128 << 10;

		en->limit_goal *= len;
		en->limit_in_blocks = false;
	}
	if (!en->cfg.limit_later)
		net_engine_limit(en);
	en->workers = calloc(en->n_workers, sizeof(*en->workers));
	if (!en->workers)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	for (unsigned i = 0; i < en->n_workers; i++)
		en->workers[i] = (struct net_worker){.en = en,
						     .cpu_final_ns = -1,
						     .wake_fd = -1,
						     .epoll_fd = -1,
						     .timer_fd = -1};
	rc = en->n_senders ? make_tx(en) : 0;
	for (unsigned i = 0; i < en->n_workers && rc == 0; i++)
		rc = worker_init(en, i);
	if (rc == 0)
		rc = workers_start(en);
	return rc ? err_os(e, -rc, "cannot prepare the flows") : 0;
}

/* ---- running ------------------------------------------------------------------- */

void net_engine_limit(struct net_engine *en)
{
	atomic_store(&en->limit_left, en->limit_goal);
	atomic_store_explicit(&en->limit, en->limit_goal, memory_order_release);
}

void net_engine_go(struct net_engine *en)
{
	en->gone = true;
	signal_fd(en->go_fd);
}

int net_engine_done_fd(const struct net_engine *en)
{
	return en->done_fd;
}

static void set_done(struct net_engine *en)
{
	if (!atomic_exchange(&en->done, true))
		signal_fd(en->done_fd);
}

void net_engine_event(struct net_engine *en)
{
	signal_fd(en->event_fd);
}

void net_engine_flow_ended(struct net_engine *en)
{
	if (atomic_fetch_sub(&en->open_flows, 1) == 1)
		set_done(en);
	net_engine_event(en);
}

void net_engine_moved(struct net_engine *en, uint64_t n)
{
	uint64_t before = atomic_fetch_add_explicit(&en->limit_moved, n, memory_order_relaxed);

	if (before < en->limit_goal && before + n >= en->limit_goal)
		set_done(en);
}

static void wake_all(struct net_engine *en)
{
	for (unsigned i = 0; i < en->n_workers; i++)
		signal_fd(en->workers[i].wake_fd);
}

static void await_event(struct net_engine *en, int64_t deadline_ns)
{
	uint64_t n;

	if (net_wait_readable(en->event_fd, deadline_ns, -1) == 0)
		while (read(en->event_fd, &n, sizeof(n)) < 0 && errno == EINTR)
			;
}

void net_engine_stop_senders(struct net_engine *en)
{
	atomic_store(&en->tx_stop, true);
	if (!en->gone || en->stopped)
		return;
	wake_all(en);
	while (atomic_load(&en->running_senders))
		await_event(en, clk_mono_ns() + NET_SLICE_NS);
}

void net_engine_finish_senders(struct net_engine *en)
{
	net_engine_stop_senders(en);
	for (size_t i = 0; i < en->n; i++)
		if (en->flows[i]->sender)
			shutdown(en->flows[i]->fd, SHUT_WR);
}

void net_engine_finish(struct net_engine *en)
{
	net_engine_stop_senders(en);
	for (size_t i = 0; i < en->n; i++)
		if (!en->flows[i]->udp)
			shutdown(en->flows[i]->fd, SHUT_WR);
}

/* A UDP flow has no end of its own: all of them together have been silent. */
struct quiet {
	uint64_t bytes;
	int64_t since_ns;
};

static bool is_quiet(const struct net_engine *en, struct quiet *q)
{
	int64_t now = clk_mono_ns();
	uint64_t bytes = 0;

	for (size_t i = 0; i < en->n; i++)
		if (en->flows[i]->udp && !en->flows[i]->sender)
			bytes += net_count(&en->flows[i]->c.bytes);
	if (q->since_ns == 0 || bytes != q->bytes)
		*q = (struct quiet){bytes, now};
	return now - q->since_ns >= DRAIN_QUIET_NS;
}

static bool drained(const struct net_engine *en, const uint64_t *want, bool quiet)
{
	for (size_t i = 0; i < en->n; i++) {
		const struct net_flow *f = en->flows[i];

		if (f->sender ||
		    atomic_load_explicit(&f->c.state, memory_order_acquire) != NET_FLOW_OPEN)
			continue;
		if (f->udp && quiet)
			continue;
		if (!want || net_count(&f->c.bytes) < want[i])
			return false;
	}
	return true;
}

void net_engine_drain(struct net_engine *en, const uint64_t *want, int64_t deadline_ns)
{
	struct quiet q = {0};
	bool look = want || en->has_udp;
	int one = 1;

	atomic_store(&en->draining, true);
	for (size_t i = 0; i < en->n; i++)
		if (!en->flows[i]->sender)
			setsockopt(en->flows[i]->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	while (!drained(en, want, is_quiet(en, &q))) {
		int64_t now = clk_mono_ns(), next = look ? now + DRAIN_LOOK_NS : deadline_ns;

		if (now >= deadline_ns)
			return;
		await_event(en, next < deadline_ns ? next : deadline_ns);
	}
}

void net_engine_stop(struct net_engine *en)
{
	if (en->stopped)
		return;
	en->stopped = true;
	atomic_store(&en->tx_stop, true);
	atomic_store(&en->quit, true);
	signal_fd(en->go_fd);
	wake_all(en);
	for (size_t i = 0; i < en->n; i++)
		if (!en->flows[i]->sender)
			shutdown(en->flows[i]->fd, SHUT_RD); /* ends a recv() at once */
	for (unsigned i = 0; i < en->n_workers; i++)
		if (en->workers[i].started)
			pthread_join(en->workers[i].thread, NULL);
}

/* ---- freeing --------------------------------------------------------------------- */

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void worker_fini(struct net_worker *w)
{
	close_fd(w->wake_fd);
	close_fd(w->epoll_fd);
	close_fd(w->timer_fd);
	free(w->flows);
	free(w->due);
	free(w->rx);
	net_udp_io_free(w->udp);
}

void net_engine_close(struct net_engine *en)
{
	for (size_t i = 0; i < en->n; i++) {
		close_fd(en->flows[i]->fd);
		en->flows[i]->fd = -1;
	}
}

void net_engine_free(struct net_engine *en)
{
	if (!en)
		return;
	net_engine_stop(en);
	for (unsigned i = 0; en->workers && i < en->n_workers; i++)
		worker_fini(&en->workers[i]);
	for (size_t i = 0; i < en->n; i++) {
		close_fd(en->flows[i]->fd);
		net_udp_free(en->flows[i]);
		net_timing_free(en->flows[i]);
		free(en->flows[i]);
	}
	close_fd(en->go_fd);
	close_fd(en->done_fd);
	close_fd(en->event_fd);
	close_fd(en->file_fd);
	free(en->workers);
	free(en->flows);
	free(en->tx);
	free(en);
}

/* ---- reading ----------------------------------------------------------------------- */

size_t net_engine_flows(const struct net_engine *en)
{
	return en->n;
}

int net_engine_fd(const struct net_engine *en, size_t flow)
{
	return flow < en->n ? en->flows[flow]->fd : -1;
}

unsigned net_engine_workers(const struct net_engine *en)
{
	return en->n_workers;
}

void net_engine_sample(const struct net_engine *en, size_t flow, struct net_flow_sample *s)
{
	net_flow_counters(en->flows[flow], s);
	net_flow_info(en->flows[flow], s);
}

uint64_t net_engine_bytes(const struct net_engine *en)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < en->n; i++)
		sum += net_count(&en->flows[i]->c.bytes);
	return sum;
}
