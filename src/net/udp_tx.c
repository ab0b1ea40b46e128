/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending: a batch of whole datagrams a call, by UDP_SEGMENT or by sendmmsg(). A paced flow keeps
 * to its slots: it sleeps until as long before a slot as waking up usually takes. Numbers are used
 * up only by what the kernel took.
 */
#include "net/priv.h"

#include <endian.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/prctl.h>

#define BATCH_BYTES  (64 << 10)
#define CATCH_UP_NS  (100 * NSEC_PER_MSEC)
#define SLOT_MIN_NS  (50 * NSEC_PER_USEC) /* of a burst that is chosen here; below, we spin */
#define SPIN_NS      (50 * NSEC_PER_USEC)
#define LEAD_STEP_NS 250
#define TAIL_STEP_NS 50
#define TAIL_ODDS    199                  /* to one: how many wake-ups are no later than … */
#define TAIL_NS      (32 * NSEC_PER_USEC) /* … this after the due time */
#define LEAD_MAX_NS  (80 * NSEC_PER_USEC)
#define NAP_NS       (50 * NSEC_PER_USEC)
#define TOO_BIG_MAX  4
#define REFUSALS     3                  /* ECONNREFUSED, over at least a second (security 4) */
#define REFUSALS_NS  (5 * NSEC_PER_SEC) /* an older one says nothing */

/* ---- preparation ---------------------------------------------------------------- */

static uint32_t batch_of(const struct flow_spec *s)
{
	uint32_t n = NET_UDP_LEN_MAX / s->len;

	return n > NET_UDP_BATCH_MAX ? NET_UDP_BATCH_MAX : n;
}

size_t net_udp_tx_size(const struct net_flow *f)
{
	return (size_t)batch_of(&f->spec) * f->spec.len;
}

/* As few as give the timer time between two slots, and at most one call's. */
static uint32_t burst_of(const struct flow_spec *s)
{
	uint64_t n = SLOT_MIN_NS * s->rate_bps / (s->len * 8ULL * NSEC_PER_SEC) + 1;

	if (s->burst)
		return s->burst;
	return n < batch_of(s) ? (uint32_t)n : batch_of(s);
}

/* Segments must fit the path; the kernel refuses to cut fragments from them. */
static bool try_gso(const struct net_flow *f)
{
	if (f->spec.no_offload || f->udp->batch < 2 || net_udp_path_payload(f->fd) < f->spec.len)
		return false;
	return net_sock_set(f->fd, IPPROTO_UDP, UDP_SEGMENT, (int)f->spec.len) == 0;
}

/* Without it a queue of this host that is full looks like a success. */
static void ask_for_errors(int fd)
{
	if (net_sock_get(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6)
		net_sock_set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	else
		net_sock_set(fd, IPPROTO_IP, IP_RECVERR, 1);
}

int net_udp_tx_prepare(struct net_flow *f)
{
	struct net_udp *u = f->udp;

	f->paced = f->spec.rate_bps != 0;
	u->batch = batch_of(&f->spec);
	if (f->paced) {
		u->burst = burst_of(&f->spec);
		u->batch = u->burst < u->batch ? u->burst : u->batch;
		slot_init(&u->slot, 0, 8ULL * u->len * u->burst, f->spec.rate_bps, CATCH_UP_NS);
		u->gap_ns = slot_period_ns(&u->slot);
		f->gap_ns = u->gap_ns;
		u->spin = f->spec.spin || u->gap_ns < SLOT_MIN_NS;
	}
	u->gso = try_gso(f);
	atomic_store(&u->c.gso, u->gso);
	ask_for_errors(f->fd);
	return 0;
}

void net_udp_tx_begin(struct net_flow *f, int64_t now_ns)
{
	struct net_udp *u = f->udp;

	if (!f->sender)
		return;
	u->began_ns = u->last_ns = now_ns;
	u->burst_left = u->burst;
	u->slot.start_ns = now_ns + u->gap_ns / 2; /* a rate from the first moment on */
	f->due_ns = f->paced ? slot_due_ns(&u->slot) : now_ns;
}

/* ---- headers --------------------------------------------------------------------- */

/* iperf 2: the number first, and a header of the flow's own after the time. */
static void stamp_iperf2(const struct net_flow *f, uint32_t n, int64_t now_ns)
{
	const struct net_udp *u = f->udp;
	uint32_t room = u->len - u->head;
	uint32_t extra = f->spec.udp_head_len < room ? f->spec.udp_head_len : room;
	uint32_t head[4] = {0, htobe32((uint32_t)(now_ns / NSEC_PER_SEC)),
			    htobe32((uint32_t)(now_ns % NSEC_PER_SEC / NSEC_PER_USEC)), 0};

	for (uint32_t i = 0; i < n; i++) {
		uint64_t number = u->sent + i + (f->spec.udp_from_zero ? 0 : 1);
		uint8_t *p = u->io->tx + (size_t)i * u->len;

		head[0] = htobe32((uint32_t)number);
		head[3] = htobe32((uint32_t)(number >> 32));
		memcpy(p, head, u->head);
		if (extra)
			memcpy(p + u->head, f->spec.udp_head, extra);
	}
}

static void stamp(const struct net_flow *f, uint32_t n, int64_t now_ns)
{
	const struct net_udp *u = f->udp;
	uint32_t time[2] = {htobe32((uint32_t)(now_ns / NSEC_PER_SEC)),
			    htobe32((uint32_t)(now_ns % NSEC_PER_SEC / NSEC_PER_USEC))};
	bool wide = u->head == NET_UDP_HDR_MAX;

	if (f->spec.udp_form == NET_UDP_BARE)
		return;
	if (f->spec.udp_form == NET_UDP_IPERF2) {
		stamp_iperf2(f, n, clk_real_ns());
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t number = u->sent + 1 + i, be64 = htobe64(number);
		uint32_t be32 = htobe32((uint32_t)number);
		uint8_t *p = u->io->tx + (size_t)i * u->len;

		memcpy(p, time, sizeof(time));
		memcpy(p + sizeof(time), wide ? (void *)&be64 : (void *)&be32, wide ? 8 : 4);
	}
}

/* ---- calls ------------------------------------------------------------------------- */

static int send_many(const struct net_flow *f, uint32_t n)
{
	struct net_udp_io *io = f->udp->io;

	for (uint32_t i = 0; i < n; i++) {
		io->iov[i] = (struct iovec){io->tx + (size_t)i * f->udp->len, f->udp->len};
		io->msg[i].msg_hdr.msg_control = NULL;
		io->msg[i].msg_hdr.msg_controllen = 0;
	}
	return sendmmsg(f->fd, io->msg, n, MSG_NOSIGNAL);
}

/* Datagrams that the kernel took, or -1. */
static int send_call(const struct net_flow *f, uint32_t n)
{
	const struct net_udp *u = f->udp;

	if (n > 1 && !u->gso)
		return send_many(f, n);
	return send(f->fd, u->io->tx, (size_t)n * u->len, MSG_NOSIGNAL) < 0 ? -1 : (int)n;
}

void net_udp_reap(const struct net_flow *f)
{
	char byte, ctl[256];
	struct iovec iov = {&byte, sizeof(byte)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	for (int i = 0; i < NET_UDP_BATCH_MAX; i++) {
		m.msg_control = ctl;
		m.msg_controllen = sizeof(ctl);
		if (recvmsg(f->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
	}
}

/* ---- what a refusal means -------------------------------------------------------------- */

static enum net_step refused(struct net_flow *f, enum net_step step)
{
	net_count_add(&f->udp->c.refused, 1);
	return step;
}

/* An ICMP error for an earlier datagram, or this host's own filter. This one did not leave. */
static enum net_step unreachable(struct net_flow *f, int code)
{
	struct net_udp *u = f->udp;

	net_count_add(&u->c.unreachable, 1);
	atomic_store_explicit(&u->c.unreachable_code, code, memory_order_relaxed);
	u->burst_left = 0; /* a paced flow's slot is over */
	return f->paced ? NET_STEP_MORE : NET_STEP_BLOCKED;
}

static enum net_step gone(struct net_engine *en, struct net_flow *f)
{
	struct net_udp *u = f->udp;
	int64_t now = clk_mono_ns();

	if (u->refusals == 0 || now - u->refused_ns > REFUSALS_NS) {
		u->refusals = 0;
		u->refusal_ns = now;
	}
	u->refused_ns = now;
	if (++u->refusals >= REFUSALS && now - u->refusal_ns >= NSEC_PER_SEC)
		return net_flow_end(en, f, NET_FLOW_ERROR, ECONNREFUSED);
	return unreachable(f, ECONNREFUSED);
}

/* What Linux makes of ICMP's "unreachable" (IPv4 and IPv6), and of a filter of this host. */
bool net_udp_is_unreachable(int code)
{
	static const int codes[] = {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENONET,
				    ENOPROTOOPT,  EACCES,       EPERM,       EPROTO};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (codes[i] == code)
			return true;
	}
	return false;
}

/* The path or the device cannot do it after all: one by one. */
static enum net_step without_gso(struct net_flow *f)
{
	f->udp->gso = false;
	atomic_store(&f->udp->c.gso, false);
	net_sock_set(f->fd, IPPROTO_UDP, UDP_SEGMENT, 0);
	return NET_STEP_MORE;
}

static enum net_step failed(struct net_engine *en, struct net_flow *f, int code)
{
	struct net_udp *u = f->udp;

	net_udp_reap(f);
	if (code == EINTR)
		return NET_STEP_MORE;
	if (code == EAGAIN)
		return refused(f, NET_STEP_BLOCKED);
	if (u->gso && (code == EINVAL || code == EMSGSIZE || code == EIO))
		return without_gso(f);
	/* A router's word on the path's MTU comes as the next call's error; the kernel has learned. */
	if (code == EMSGSIZE && u->too_big++ < TOO_BIG_MAX)
		return NET_STEP_MORE;
	if (code == ECONNREFUSED)
		return gone(en, f);
	if (net_udp_is_unreachable(code))
		return unreachable(f, code);
	if (code == ENOBUFS) {
		u->burst_left = 0; /* a paced flow's slot is over */
		return refused(f, f->paced ? NET_STEP_MORE : NET_STEP_BLOCKED);
	}
	return net_flow_end(en, f, NET_FLOW_ERROR, code);
}

/* ---- a batch --------------------------------------------------------------------------- */

static uint32_t taken_for(struct net_engine *en, struct net_flow *f, uint32_t want)
{
	uint32_t len = f->udp->len;

	uint64_t left = f->spec.bytes > f->c.bytes ? f->spec.bytes - f->c.bytes : 0;

	f->counts = net_limit(en) > 0;
	if (!f->counts && f->spec.bytes && left < (uint64_t)want * len)
		return (uint32_t)((left + len - 1) / len);
	if (!f->counts)
		return want;
	if (en->limit_in_blocks)
		return (uint32_t)net_engine_take(en, want);
	return (uint32_t)((net_engine_take(en, (uint64_t)want * len) + len - 1) / len);
}

/* How well the schedule was kept: after the call the datagrams are the kernel's. */
static void note_gap(struct net_flow *f, uint32_t n, int64_t now_ns)
{
	struct net_udp *u = f->udp;
	int64_t gap = now_ns - u->last_ns;
	bool starts = !f->paced || u->burst_left == u->burst;

	u->run = !starts || (f->paced && u->bursts && gap < u->gap_ns / 4) ? u->run + n : n;
	u->run_max = u->run > u->run_max ? u->run : u->run_max;
	if (!starts)
		return;
	if (u->bursts++) {
		net_gaps_add(u->gaps, gap);
		net_gaps_add(u->errors, gap > u->gap_ns ? gap - u->gap_ns : u->gap_ns - gap);
	}
	u->last_ns = now_ns;
}

static void sent(struct net_engine *en, struct net_flow *f, uint32_t n, int64_t began_ns)
{
	struct net_udp *u = f->udp;
	uint64_t bytes = (uint64_t)n * u->len;
	int64_t now = clk_mono_ns();

	u->call_ns += (now - began_ns > u->call_ns ? 1 : -1) * (u->gap_ns / 64);
	note_gap(f, n, now);
	u->sent += n;
	u->too_big = 0;
	f->pending -= n;
	if (f->paced)
		u->burst_left -= n;
	net_count_add(&f->c.calls, 1);
	net_count_add(&f->c.bytes, bytes);
	net_count_add(&f->c.blocks, n);
	if (f->counts)
		net_engine_moved(en, en->limit_in_blocks ? n : bytes);
}

enum net_step net_udp_send(struct net_engine *en, struct net_flow *f)
{
	struct net_udp *u = f->udp;
	uint32_t want = f->paced && u->burst_left < u->batch ? u->burst_left : u->batch;
	int64_t began;
	int n;

	if (f->pending == 0) {
		f->pending = taken_for(en, f, want);
		if (f->pending == 0) /* the limit is reached: the socket stays open */
			return net_flow_end(en, f, NET_FLOW_OPEN, 0);
	}
	want = f->pending < want ? (uint32_t)f->pending : want;
	began = clk_mono_ns();
	if (u->burst_left == u->burst)
		u->began_ns = began;
	stamp(f, want, began);
	n = send_call(f, want);
	if (n < 0)
		return failed(en, f, errno);
	sent(en, f, (uint32_t)n, began);
	return NET_STEP_MORE;
}

/* ---- the schedule ------------------------------------------------------------------------ */

void net_udp_intend(struct net_flow *f, int64_t now_ns)
{
	struct net_udp *u = f->udp;

	if (!f->paced)
		return;
	atomic_store_explicit(&u->c.intended, slot_count(&u->slot, now_ns) * u->burst,
			      memory_order_relaxed);
	atomic_store_explicit(&u->c.skipped, u->slot.skipped * u->burst, memory_order_relaxed);
}

/*
 * What leaves, leaves at a call's end: one that was held up must not have the next at its heels, so
 * slots are counted from there. But calls that always take most of a slot must not add up.
 */
static int64_t slot_taken_ns(const struct net_udp *u)
{
	int64_t part = u->gap_ns / 16, credit = u->call_ns - 10 * part;

	credit = credit < part ? part : credit > 6 * part ? 6 * part : credit;
	return u->last_ns - credit > u->began_ns ? u->last_ns - credit : u->began_ns;
}

bool net_udp_pace(struct net_flow *f, int64_t now_ns)
{
	struct net_udp *u = f->udp;

	if (u->burst_left)
		return false;
	slot_take(&u->slot, slot_taken_ns(u));
	net_udp_intend(f, now_ns);
	f->due_ns = slot_due_ns(&u->slot);
	u->burst_left = u->burst;
	return true;
}

/* ---- the worker with one flow ---------------------------------------------------------------- */

static int64_t within(int64_t ns, int64_t most)
{
	return ns < 0 ? 0 : ns > most ? most : ns;
}

/*
 * As long before the due time as gets three wake-ups of four there in time, or longer, if more than a few
 * would be far too late. What is spun meanwhile is processor time: it has a bound. Who had no time to
 * sleep (0) tries again.
 */
void net_udp_learn_lead(struct net_udp *u, int64_t late_ns)
{
	int64_t most = u->gap_ns * 5 / 8;

	most = most > LEAD_MAX_NS || u->spin ? LEAD_MAX_NS : most;
	u->usual_ns += late_ns > u->usual_ns ? 3 * LEAD_STEP_NS : -LEAD_STEP_NS;
	if (late_ns <= 3 * most) /* a thread that waits for its turn is no matter of waking up */
		u->tail_ns +=
			late_ns > u->tail_ns + TAIL_NS ? TAIL_ODDS * TAIL_STEP_NS : -TAIL_STEP_NS;
	u->usual_ns = within(u->usual_ns, most);
	u->tail_ns = within(u->tail_ns, most);
	u->lead_ns = u->usual_ns > u->tail_ns ? u->usual_ns : u->tail_ns;
}

static int64_t sleep_until(const struct net_engine *en, int64_t wake_ns)
{
	int64_t now = clk_mono_ns();

	while (now < wake_ns && !net_flag(&en->tx_stop)) {
		int64_t limit = now + NET_SLICE_NS;

		clk_sleep_until(wake_ns < limit ? wake_ns : limit);
		now = clk_mono_ns();
	}
	return now;
}

static void spin_until(const struct net_engine *en, int64_t ns)
{
	while (clk_mono_ns() < ns && !net_flag(&en->tx_stop))
		;
}

/*
 * Asleep until as long before the due time as waking up takes, mostly; what is left is a short
 * spin. Who is a little behind sleeps, too: a thread that spins on a busy machine has used up its
 * turn when it matters. Who is far behind keeps the processor while it has it.
 */
static void await_asleep(const struct net_engine *en, struct net_flow *f)
{
	struct net_udp *u = f->udp;
	int64_t wake = f->due_ns - u->lead_ns, first = u->slot.last_ns + u->gap_ns * 5 / 16;

	if (slot_lag_ns(&u->slot) <= 0) {
		net_udp_learn_lead(u, clk_mono_ns() < wake ? sleep_until(en, wake) - wake : 0);
		spin_until(en, f->due_ns);
	} else if (f->due_ns <= first) {
		spin_until(en, first);
	} else {
		sleep_until(en, wake > first ? wake : first);
		spin_until(en, f->due_ns);
	}
}

static void await_awake(const struct net_engine *en, struct net_flow *f)
{
	struct net_udp *u = f->udp;
	int64_t wake = f->due_ns - u->lead_ns - SPIN_NS;

	if (clk_mono_ns() < wake)
		net_udp_learn_lead(u, sleep_until(en, wake) - wake);
	spin_until(en, f->due_ns);
}

static void send_paced(struct net_engine *en, struct net_flow *f)
{
	struct net_udp *u = f->udp;

	while (!net_flag(&en->tx_stop)) {
		if (u->spin)
			await_awake(en, f);
		else
			await_asleep(en, f);
		do {
			if (net_flag(&en->tx_stop) || net_udp_send(en, f) == NET_STEP_ENDED)
				return;
		} while (u->burst_left);
		net_udp_pace(f, u->last_ns);
	}
}

static void send_freely(struct net_engine *en, struct net_flow *f)
{
	while (!net_flag(&en->tx_stop)) {
		enum net_step step = net_udp_send(en, f);

		if (step == NET_STEP_ENDED)
			return;
		if (step == NET_STEP_BLOCKED) /* a full queue of this host does not wake us */
			clk_sleep_until(clk_mono_ns() + NAP_NS);
	}
}

void net_udp_send_all(struct net_engine *en, struct net_flow *f)
{
	if (f->paced) {
		prctl(PR_SET_TIMERSLACK, 1UL);
		net_thread_short_slice();
		send_paced(en, f);
	} else {
		send_freely(en, f);
	}
	net_udp_intend(f, clk_mono_ns());
	net_flow_leave(en, f);
}
