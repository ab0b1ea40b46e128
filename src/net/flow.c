/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One flow's calls. Every send is of a block that was taken from the limit first, so the total
 * over all flows is exact without a lock. The size of calls and the receive low-water mark
 * follow the measured rate: large pieces make a fast path cheap, and would make a slow one look
 * as if it came in lumps.
 */
#include "net/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define LEN_DEFAULT   (128 << 10)
#define LEN_FAST      (512 << 10)
#define LEN_SLOW      (16 << 10)
#define LEN_TRUNC     (1 << 20) /* nothing is copied: the size costs nothing */
#define LEN_PACED_MIN 1448
#define LEN_PACED_MAX (256 << 10)
#define LOWAT_FAST    (512 << 10)
#define UNSENT_MIN    (256 << 10) /* TCP_NOTSENT_LOWAT: what waits is still in the cache … */
#define UNSENT_NS     (100 * NSEC_PER_USEC) /* … yet lasts until this thread runs again */
#define UNSENT_MAX    (4 << 20)
#define FAST_BPS      1000000000ULL
#define PACED_NS      (10 * NSEC_PER_MSEC)  /* a paced block's time, where the bounds allow */
#define CATCH_UP_NS   (100 * NSEC_PER_MSEC) /* a paced flow makes good at most this much */
#define CHECK_BYTES   (1 << 20)             /* between two looks at the clock */
#define ZC_OPEN_MAX   1024
#define ZC_REAP_EVERY 16

/* ---- preparation -------------------------------------------------------- */

static uint32_t paced_len(const struct flow_spec *s)
{
	uint64_t n = s->rate_bps / 8 * PACED_NS / NSEC_PER_SEC;

	return n < LEN_PACED_MIN ? LEN_PACED_MIN : n > LEN_PACED_MAX ? LEN_PACED_MAX : (uint32_t)n;
}

static uint32_t first_len(const struct net_flow *f)
{
	if (f->spec.len)
		return f->spec.len;
	if (!f->sender)
		return f->spec.rx_trunc ? LEN_TRUNC : LEN_DEFAULT;
	return f->paced ? paced_len(&f->spec) : LEN_DEFAULT;
}

size_t net_flow_rx_size(const struct net_flow *f)
{
	return f->sender || f->udp ? 0 : first_len(f);
}

static int set_timeouts(int fd)
{
	struct timeval tv = {.tv_usec = NET_SLICE_NS / NSEC_PER_USEC};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)))
		return -errno;
	return 0;
}

/* A quarter of what the kernel counts is half of what it can hold. */
static uint32_t lowat_bound(const struct net_flow *f)
{
	int rcvbuf = 0;
	socklen_t len = sizeof(rcvbuf);

	if (!f->spec.window)
		return LOWAT_FAST;
	if (getsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &len))
		return 0;
	return rcvbuf / 4 > LOWAT_FAST ? LOWAT_FAST : (uint32_t)rcvbuf / 4;
}

/*
 * Without it the socket takes megabytes that are out of the processor's cache when they are
 * sent; it does not bound what is in flight.
 */
static void set_unsent(struct net_flow *f, uint64_t bps)
{
	uint64_t n = bps / 8 * UNSENT_NS / NSEC_PER_SEC;
	uint32_t bytes = n < UNSENT_MIN ? UNSENT_MIN : n > UNSENT_MAX ? UNSENT_MAX : (uint32_t)n;

	if (bytes <= f->unsent)
		return;
	f->unsent = bytes;
	setsockopt(f->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

/* The kernel smooths what the schedule releases; the headroom leaves the average to us. */
static void pace_in_kernel(const struct net_flow *f)
{
	uint64_t bytes = f->spec.rate_bps / 8 + f->spec.rate_bps / 32 + 10000;

	if (!f->spec.fq_rate_bps)
		setsockopt(f->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes, sizeof(bytes));
}

int net_flow_prepare(struct net_engine *en, struct net_flow *f, bool blocking)
{
	int on = 1, rc;

	(void)en;
	f->burst_rx.skip = f->spec.timed_skip;
	if (f->spec.bursts && f->sender && !blocking)
		return -EINVAL; /* it has to have a worker of its own */
	rc = net_timing_new(f);
	if (rc)
		return rc;
	if (f->udp && !f->sender && f->timing)
		f->udp->timed = f;
	if (f->udp) {
		rc = set_timeouts(f->fd);
		rc = rc ? rc : net_set_blocking(f->fd, blocking);
		if (rc == 0)
			rc = f->sender ? net_udp_tx_prepare(f) : net_udp_rx_prepare(f);
		return rc;
	}
	f->paced = f->sender && f->spec.rate_bps;
	f->len = first_len(f);
	f->check_bytes = CHECK_BYTES;
	if (f->paced) {
		f->gap_ns = (int64_t)(f->len * 8ULL * NSEC_PER_SEC / f->spec.rate_bps);
		f->burst_left = f->spec.burst;
		pace_in_kernel(f);
	}
	if (!f->sender && !f->spec.rate_bps)
		f->lowat_max = lowat_bound(f);
	if (f->sender)
		set_unsent(f, 0);
	if (f->sender && f->spec.tx == NET_TX_ZEROCOPY)
		f->zerocopy = setsockopt(f->fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) == 0;
	rc = blocking ? set_timeouts(f->fd) : 0;
	return rc ? rc : net_set_blocking(f->fd, blocking);
}

void net_flow_begin(struct net_flow *f, int64_t now_ns)
{
	if (f->udp) {
		net_udp_tx_begin(f, now_ns);
		return;
	}
	f->due_ns = now_ns + f->gap_ns / 2; /* a rate from the first moment on, without bias */
	f->tuned_ns = now_ns;
}

/* ---- the end of a flow ---------------------------------------------------- */

void net_flow_leave(struct net_engine *en, struct net_flow *f)
{
	if (f->left || !f->sender)
		return;
	f->left = true;
	if (atomic_fetch_sub(&en->running_senders, 1) == 1)
		net_engine_event(en);
}

enum net_step net_flow_end(struct net_engine *en, struct net_flow *f, enum net_flow_state state,
			   int error)
{
	if (f->ended)
		return NET_STEP_ENDED;
	f->ended = true;
	atomic_store_explicit(&f->c.error, error, memory_order_relaxed);
	atomic_store_explicit(&f->c.state, (int)state, memory_order_release);
	net_flow_leave(en, f);
	net_engine_flow_ended(en);
	return NET_STEP_ENDED;
}

static enum net_step call_failed(struct net_engine *en, struct net_flow *f, int code)
{
	if (code == EAGAIN)
		return NET_STEP_BLOCKED;
	return code == EINTR ? NET_STEP_MORE : net_flow_end(en, f, NET_FLOW_ERROR, code);
}

/* ---- MSG_ZEROCOPY ----------------------------------------------------------- */

static uint64_t zc_open(const struct net_flow *f)
{
	return net_count(&f->c.zc_sent) - net_count(&f->c.zc_done);
}

static void zc_note(struct net_flow *f, const struct sock_extended_err *ee)
{
	uint32_t n = ee->ee_data - ee->ee_info + 1; /* a range, inclusive, may wrap */

	if (ee->ee_origin != SO_EE_ORIGIN_ZEROCOPY || ee->ee_errno)
		return;
	net_count_add(&f->c.zc_done, n);
	if (ee->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		net_count_add(&f->c.zc_copied, n);
}

void net_flow_zc_reap(struct net_flow *f)
{
	for (;;) {
		_Alignas(struct cmsghdr) char ctl[128];
		struct msghdr m = {.msg_control = ctl, .msg_controllen = sizeof(ctl)};

		if (recvmsg(f->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
			if ((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
			    (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR))
				zc_note(f, (const struct sock_extended_err *)CMSG_DATA(c));
	}
}

void net_flow_zc_await(const struct net_engine *en, struct net_flow *f)
{
	struct pollfd p = {.fd = f->fd};

	net_flow_zc_reap(f);
	while (zc_open(f) && !net_flag(&en->quit)) {
		uint64_t before = zc_open(f);

		poll(&p, 1, NET_SLICE_NS / NSEC_PER_MSEC);
		net_flow_zc_reap(f);
		if ((p.revents & POLLHUP) && zc_open(f) == before)
			return;
	}
}

static ssize_t send_zerocopy(struct net_engine *en, struct net_flow *f, size_t n)
{
	ssize_t put = -1;

	if (net_count(&f->c.calls) % ZC_REAP_EVERY == 0)
		net_flow_zc_reap(f);
	if (zc_open(f) < ZC_OPEN_MAX) {
		put = send(f->fd, en->tx, n, MSG_NOSIGNAL | MSG_ZEROCOPY);
		if (put > 0)
			net_count_add(&f->c.zc_sent, 1);
		if (put >= 0 || errno != ENOBUFS)
			return put;
	}
	net_flow_zc_reap(f); /* too many are open: this one is copied */
	return send(f->fd, en->tx, n, MSG_NOSIGNAL);
}

/* ---- sending ------------------------------------------------------------------ */

/* A pipe has no place to send from. */
static ssize_t send_file(struct net_flow *f, size_t n)
{
	ssize_t put = sendfile(f->fd, f->spec.file_fd, &f->file_at, n);

	if (put < 0 && (errno == ESPIPE || errno == EINVAL))
		put = splice(f->spec.file_fd, NULL, f->fd, NULL, n, SPLICE_F_MORE);
	return put;
}

static ssize_t send_call(struct net_engine *en, struct net_flow *f, size_t n)
{
	off_t start = 0;

	if (f->spec.file_fd)
		return send_file(f, n);
	if (f->spec.tx == NET_TX_SENDFILE)
		return sendfile(f->fd, en->file_fd, &start, n);
	if (f->zerocopy)
		return send_zerocopy(en, f, n);
	return send(f->fd, en->tx, n, MSG_NOSIGNAL);
}

uint64_t net_engine_take(struct net_engine *en, uint64_t want)
{
	uint64_t left = atomic_load_explicit(&en->limit_left, memory_order_relaxed), got;

	do {
		got = want < left ? want : left;
		if (got == 0)
			return 0;
	} while (!atomic_compare_exchange_weak(&en->limit_left, &left, left - got));
	return got;
}

static uint64_t next_block(struct net_engine *en, struct net_flow *f)
{
	uint64_t sent = net_count(&f->c.bytes), most = f->spec.bytes;

	f->counts = net_limit(en) > 0;
	if (!f->counts)
		return most && most - sent < f->len ? most - sent : f->len;
	if (en->limit_in_blocks)
		return net_engine_take(en, 1) ? f->len : 0;
	return net_engine_take(en, f->len);
}

enum net_step net_flow_send(struct net_engine *en, struct net_flow *f)
{
	ssize_t put;

	if (f->udp)
		return net_udp_send(en, f);
	if (f->pending == 0) {
		f->pending = next_block(en, f);
		if (f->pending == 0) /* the limit is reached: the socket stays open */
			return net_flow_end(en, f, NET_FLOW_OPEN, 0);
	}
	put = send_call(en, f, f->pending);
	if (put < 0)
		return call_failed(en, f, errno);
	if (put == 0 && f->spec.file_fd) /* the file has ended */
		return net_flow_end(en, f, NET_FLOW_OPEN, 0);
	net_count_add(&f->c.calls, 1);
	net_count_add(&f->c.bytes, (uint64_t)put);
	f->pending -= (uint64_t)put;
	if (f->pending == 0)
		net_count_add(&f->c.blocks, 1);
	if (f->counts && (!en->limit_in_blocks || f->pending == 0))
		net_engine_moved(en, en->limit_in_blocks ? 1 : (uint64_t)put);
	return NET_STEP_MORE;
}

bool net_flow_pace(struct net_flow *f, int64_t now_ns)
{
	if (f->udp)
		return net_udp_pace(f, now_ns);
	if (f->pending)
		return false;
	f->due_ns += f->gap_ns;
	if (f->due_ns < now_ns - CATCH_UP_NS)
		f->due_ns = now_ns - CATCH_UP_NS;
	if (f->spec.burst && --f->burst_left)
		return false;
	f->burst_left = f->spec.burst;
	return true;
}

/* ---- receiving ------------------------------------------------------------------ */

void net_flow_lowat(struct net_engine *en, struct net_flow *f, uint32_t bytes)
{
	int value = bytes ? (int)bytes : 1;

	if (bytes == f->lowat)
		return;
	if (setsockopt(f->fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value)))
		return;
	f->lowat = bytes;
	if (bytes && net_flag(&en->draining)) /* it came in between */
		net_flow_lowat(en, f, 0);
}

/* The last bytes before a limit must not wait below the mark. */
static void count_towards_limit(struct net_engine *en, struct net_flow *f, uint64_t got)
{
	net_engine_moved(en, got);
	if (f->lowat && net_count(&en->limit_moved) + 8 * LOWAT_FAST > en->limit_goal) {
		net_flow_lowat(en, f, 0);
		f->lowat_max = 0;
	}
}

static bool to_file(struct net_flow *f, const char *p, size_t n)
{
	while (n) {
		ssize_t put = pwrite(f->spec.file_fd, p, n, f->file_at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		f->file_at += put;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

enum net_step net_flow_recv(struct net_engine *en, struct net_flow *f, void *buf)
{
	ssize_t got;

	if (f->udp)
		return net_udp_recv_some(en, f);
	got = recv(f->fd, buf, f->len, f->spec.rx_trunc ? MSG_TRUNC : 0);
	if (got < 0)
		return call_failed(en, f, errno);
	if (got == 0) /* our own shutdown() also ends here */
		return net_flow_end(en, f, net_flag(&en->quit) ? NET_FLOW_OPEN : NET_FLOW_EOF, 0);
	if (f->spec.file_fd && !to_file(f, buf, (size_t)got))
		return net_flow_end(en, f, NET_FLOW_ERROR, errno);
	net_count_add(&f->c.calls, 1);
	net_count_add(&f->c.bytes, (uint64_t)got);
	net_count_add(&f->c.reads[((size_t)got - 1) * NET_READS / f->len], 1);
	if (f->timing)
		net_bursts_read(f, buf, (size_t)got);
	if (en->limit_goal || f->spec.note_last)
		atomic_store_explicit(&f->c.last_ns, clk_mono_ns(), memory_order_relaxed);
	if (en->n_senders == 0 && net_limit(en))
		count_towards_limit(en, f, (uint64_t)got);
	return (size_t)got < f->len && !f->lowat ? NET_STEP_BLOCKED : NET_STEP_MORE;
}

/* ---- fitting to the rate ------------------------------------------------------------ */

bool net_flow_tune_due(struct net_flow *f)
{
	uint64_t bytes = net_count(&f->c.bytes);

	if (bytes < f->check_bytes)
		return false;
	f->check_bytes = bytes + CHECK_BYTES;
	return true;
}

static uint32_t fitting_len(uint64_t bps)
{
	uint64_t n = bps / 8 * PACED_NS / NSEC_PER_SEC;
	uint32_t len = LEN_SLOW;

	if (bps >= FAST_BPS)
		return LEN_FAST;
	while (len < LEN_DEFAULT && len * 2 <= n)
		len *= 2;
	return len;
}

void net_flow_tune(struct net_engine *en, struct net_flow *f, int64_t now_ns)
{
	int64_t ns = now_ns - f->tuned_ns;
	uint64_t bytes = net_count(&f->c.bytes), bps;

	if (f->udp) {
		net_udp_look_after(f, now_ns);
		return;
	}
	if (ns < NET_SLICE_NS * 9 / 10)
		return;
	bps = (bytes - f->tuned_bytes) * 8 * 1000 / (uint64_t)(ns / NSEC_PER_MSEC);
	f->tuned_ns = now_ns;
	f->tuned_bytes = bytes;
	if (f->sender)
		set_unsent(f, bps);
	if (f->sender && !f->paced && !f->spec.len && !en->limit_in_blocks)
		f->len = fitting_len(bps);
	if (f->sender || !f->lowat_max || net_flag(&en->draining))
		return;
	if (bps >= FAST_BPS)
		net_flow_lowat(en, f, f->lowat_max);
	else if (bps < FAST_BPS / 2)
		net_flow_lowat(en, f, 0);
}

/* ---- reading from other threads --------------------------------------------------- */

void net_flow_counters(const struct net_flow *f, struct net_flow_sample *s)
{
	const struct net_counters *c = &f->c;

	*s = (struct net_flow_sample){
		.bytes = net_count(&c->bytes),
		.calls = net_count(&c->calls),
		.blocks = net_count(&c->blocks),
		.zc_sent = net_count(&c->zc_sent),
		.zc_done = net_count(&c->zc_done),
		.zc_copied = net_count(&c->zc_copied),
		.last_ns = atomic_load_explicit(&c->last_ns, memory_order_relaxed),
		.state = (enum net_flow_state)atomic_load_explicit(&c->state, memory_order_acquire),
		.error = atomic_load_explicit(&c->error, memory_order_relaxed),
		.frames = net_count(&c->frames),
		.missed = net_count(&c->missed),
		.slips = net_count(&c->slips),
	};
	for (size_t i = 0; i < NET_READS; i++)
		s->reads[i] = net_count(&c->reads[i]);
	net_timing_read(f, s);
	if (f->udp)
		net_udp_counters(f, s);
	else if (!f->sender)
		s->blocks = s->bytes / (f->spec.len ? f->spec.len : LEN_DEFAULT);
}

void net_flow_info(const struct net_flow *f, struct net_flow_sample *s)
{
	int n;

	if (f->udp) {
		net_udp_info(f, &s->udp);
		return;
	}
	n = net_tcp_info_get(f->fd, &s->info);
	s->info_len = n < 0 ? 0 : n;
}
