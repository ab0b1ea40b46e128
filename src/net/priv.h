/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net, private: the engine's parts. The engine belongs to the control thread; a worker owns the
 * lower half of its flows; counters have one writer and any number of readers; the flags of
 * struct net_engine are how the control thread speaks to the workers.
 */
#ifndef WEIR_NET_PRIV_H
#define WEIR_NET_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "net/net.h"

#define NET_CACHE_LINE 64
#define NET_SLICE_NS   (100 * NSEC_PER_MSEC) /* no call of a worker blocks longer */

/* ---- sock.c ---- */
int net_set_blocking(int fd, bool blocking);
/* Until events (POLLIN, POLLOUT) or an error: 0, -ETIMEDOUT, -ECANCELED or -errno. */
int net_wait(int fd, short events, int64_t deadline_ns, int stop_fd);

/* ---- tcp.c: what every socket needs ---- */
int net_sock_set(int fd, int level, int name, int value); /* 0 or -errno */
int net_sock_get(int fd, int level, int name);            /* 0 when refused */
int net_bind_dev(int fd, const char *dev, struct weir_err *e);
int net_bind_addr(int fd, const struct net_addr *a, struct weir_err *e);
/* The device, address and port that the options name, if they name any. */
int net_bind_local(int fd, const struct net_sock_opts *o, int family, struct weir_err *e);
struct net_addr net_any_addr(int family, uint16_t port);
int net_apply_tos(int fd, uint8_t tos);
int net_apply_pacing(int fd, uint64_t bps);

/* ---- thread.c ---- */
/* A named thread with a small stack and all signals blocked; cpu -1 = anywhere. */
int net_thread_start(pthread_t *t, const char *name, int cpu, void *(*fn)(void *), void *arg);
void net_thread_short_slice(void); /* of the calling thread: to be on time */
/* CPUs this thread may run on, at most max of them listed (out may be NULL); at least 1. */
size_t net_allowed_cpus(int *out, size_t max);

/* ---- flow.c ---- */

struct net_counters {
	_Alignas(NET_CACHE_LINE) _Atomic uint64_t bytes;
	_Atomic uint64_t calls, blocks, zc_sent, zc_done, zc_copied;
	_Atomic uint64_t reads[NET_READS], frames, missed, slips;
	_Atomic int64_t last_ns;
	_Atomic int state, error;
};

/* Doubles as their bits. */
struct net_extremes {
	_Atomic uint64_t min, max;
};
struct net_timing {
	_Atomic uint64_t n, sum, squares;
	struct net_extremes all, lately;
	_Atomic uint32_t asked; /* intervals that a reader began */
	uint32_t seen;
	_Atomic uint64_t *hist;
};
/* Of a receiver of bursts. */
struct net_burst_rx {
	uint8_t head[NET_BURST_HEAD];
	uint32_t filled, left, skip;
	int64_t write_ns;
	bool begun; /* the first was looked at: it may be what the other end says first */
	bool off;   /* what came is no burst */
};

struct net_flow {
	struct net_counters c;

	/* Set before the threads start, then constant. */
	_Alignas(NET_CACHE_LINE) int fd;
	struct net_udp *udp; /* NULL: a TCP flow */
	bool sender;
	bool paced;
	struct net_timing *timing; /* or NULL */
	struct flow_spec spec;
	int64_t gap_ns; /* a paced block's share of time */

	/* The worker's own. */
	uint32_t len;     /* bytes asked of a call now */
	uint64_t pending; /* of the block being sent */
	bool counts;      /* that block was taken from the limit */
	bool ended;       /* nothing more will be done for it */
	bool left;        /* no longer among the running senders */
	bool armed;       /* its epoll registration asks for events */
	bool zerocopy;
	uint32_t lowat, lowat_max; /* SO_RCVLOWAT now, and what the buffer allows */
	uint32_t unsent;           /* TCP_NOTSENT_LOWAT */
	uint32_t burst_left;
	off_t file_at;    /* of spec.file_fd */
	int64_t due_ns;   /* of the next paced block */
	int64_t tuned_ns; /* when the rate was last measured */
	uint64_t tuned_bytes, check_bytes;
	struct net_burst_rx burst_rx;
};

enum net_step { NET_STEP_MORE, NET_STEP_BLOCKED, NET_STEP_ENDED };

struct net_engine;
int net_flow_prepare(struct net_engine *en, struct net_flow *f, bool blocking);
void net_flow_begin(struct net_flow *f, int64_t now_ns);
/* One call each. BLOCKED: the kernel took or gave nothing for now. */
enum net_step net_flow_send(struct net_engine *en, struct net_flow *f);
enum net_step net_flow_recv(struct net_engine *en, struct net_flow *f, void *buf);
/* The due time after a paced block, with bounded catch-up. False while a burst goes on. */
bool net_flow_pace(struct net_flow *f, int64_t now_ns);
/* Measures the rate and fits the size of calls and the low-water mark to it. */
void net_flow_tune(struct net_engine *en, struct net_flow *f, int64_t now_ns);
bool net_flow_tune_due(struct net_flow *f);
void net_flow_lowat(struct net_engine *en, struct net_flow *f, uint32_t bytes);
size_t net_flow_rx_size(const struct net_flow *f);
void net_flow_leave(struct net_engine *en, struct net_flow *f);
enum net_step net_flow_end(struct net_engine *en, struct net_flow *f, enum net_flow_state state,
			   int error);
/* How much of want may still be sent, over all flows; only with a limit. */
uint64_t net_engine_take(struct net_engine *en, uint64_t want);
void net_flow_zc_reap(struct net_flow *f);
/* Completions come with the peer's acknowledgements, after the last send: until quit. */
void net_flow_zc_await(const struct net_engine *en, struct net_flow *f);
void net_flow_counters(const struct net_flow *f, struct net_flow_sample *s);
void net_flow_info(const struct net_flow *f, struct net_flow_sample *s);

static inline uint64_t net_count(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}
static inline void net_count_add(_Atomic uint64_t *c, uint64_t n) /* by the one writer */
{
	atomic_store_explicit(c, net_count(c) + n, memory_order_relaxed);
}

/* ---- udp_gaps.c ---- */

/* A small histogram of nanoseconds: a thousand flows have two each. */
#define NET_GAPS_K       5
#define NET_GAPS_MAX     ((1LL << 36) - 1)
#define NET_GAPS_BUCKETS ((36 - NET_GAPS_K + 1) << NET_GAPS_K)
struct net_gaps {
	uint64_t sum, min, max, n;
	uint32_t bucket[NET_GAPS_BUCKETS];
};
void net_gaps_add(struct net_gaps *g, int64_t ns);
int net_gaps_into(const struct net_gaps *g, struct hist *h);

/* ---- spread.c ---- */

int net_timing_new(struct net_flow *f); /* also when it fails: net_timing_free() */
void net_timing_free(struct net_flow *f);
void net_timing_add(struct net_flow *f, int64_t ns);
void net_timing_read(const struct net_flow *f, struct net_flow_sample *s);
void net_timing_interval(const struct net_flow *f); /* one begins */

/* ---- bursts.c ---- */

void net_bursts_send(struct net_engine *en, struct net_flow *f); /* until it is stopped */
void net_bursts_read(struct net_flow *f, const uint8_t *p, size_t n);

/* ---- payload.c ---- */

void net_payload_fill(void *p, size_t n, bool digits);

/* ---- label.c ---- */

/* Before connecting an IPv6 socket to *to, which then carries the label. */
int net_apply_label(int fd, struct net_addr *to, uint32_t label, struct weir_err *e);

/* ---- udp.c, udp_tx.c, udp_rx.c ---- */

#define NET_UDP_BATCH_MAX 64 /* UDP_MAX_SEGMENTS of older kernels, too */
#define NET_UDP_HDR_MAX   16
#define NET_UDP_MARGIN    4 /* a sender that catches up, clocks that differ */

/* What one worker sends from and receives into, shared by its flows. */
union net_udp_ctl {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(struct timespec)) + 2 * CMSG_SPACE(sizeof(int))];
};
struct net_udp_io {
	uint8_t *tx, *rx;
	size_t rx_slot;      /* bytes of each of the batch's places in rx */
	struct mmsghdr *msg; /* NET_UDP_BATCH_MAX of each */
	struct iovec *iov;
	union net_udp_ctl *ctl;
};

struct net_udp_counters {
	_Alignas(NET_CACHE_LINE) _Atomic uint64_t intended, skipped, refused, unreachable;
	_Atomic uint64_t received, highest, lost, reordered, duplicates, late, foreign;
	_Atomic uint64_t jitter_ns, fragmented, fin, fins;
	_Atomic uint32_t fragment_max;
	_Atomic int unreachable_code;
	_Atomic uint32_t hellos, hello_len;
	_Atomic uint32_t hello[NET_UDP_HELLO_MAX / 4]; /* a reader may see two ones mixed */
	atomic_bool gso, gro;
};

struct net_udp {
	struct net_udp_counters c;

	/* Constant once prepared. */
	_Alignas(NET_CACHE_LINE) struct net_udp_io *io;
	uint32_t len, head; /* bytes of a datagram, of its header */
	uint32_t batch;     /* most datagrams a send call */
	uint32_t burst;     /* datagrams a slot; unpaced: any number */
	int64_t born_ns, gap_ns;
	uint64_t pps_max, window; /* of a receiver: what is plausible */
	bool kernel_time, spin;

	/* A sender's. */
	uint64_t sent;
	struct slot slot;
	struct net_gaps *gaps, *errors;
	int64_t began_ns, last_ns; /* the latest burst's first call: its beginning, its end */
	int64_t call_ns;           /* half take longer: one that was held up says little */
	int64_t usual_ns, tail_ns,
		lead_ns; /* before a due time it wakes up, in time for most, for nearly all */
	int64_t refusal_ns, refused_ns; /* the first of the refusals, the last */
	uint32_t burst_left, run, run_max, refusals;
	uint32_t too_big; /* refusals in a row because of the size */
	uint64_t bursts;
	bool gso;

	/* A receiver's. */
	struct seqwin *win;
	int64_t transit_ns, read_ns, gathered_ns;
	uint64_t rcvbuf, gathered_cost; /* bytes of the buffer: in all, used since it was empty */
	uint64_t jitter16;              /* times 16, as in RFC 3550, A.8 */
	struct net_flow *timed;         /* each datagram's way is, too; or NULL */
	bool transit_known, batches;
	uint64_t short_ones, bare; /* bare: datagrams without a number so far */
	uint64_t fin, fins;
	bool fin_told;
};

int net_udp_new(struct net_flow *f); /* also when it fails: net_udp_free() */
void net_udp_free(struct net_flow *f);
int net_udp_io_new(struct net_flow *const *flows, size_t n, struct net_udp_io **out);
void net_udp_io_free(struct net_udp_io *io);
void net_udp_counters(const struct net_flow *f, struct net_flow_sample *s);
void net_udp_info(const struct net_flow *f, struct net_udp_sample *u);
void net_udp_single(struct net_engine *en, struct net_flow *f);
/* Ten times a second by a worker with several flows. */
void net_udp_look_after(struct net_flow *f, int64_t now_ns);

size_t net_udp_tx_size(const struct net_flow *f); /* of net_udp_io's tx */
int net_udp_tx_prepare(struct net_flow *f);
void net_udp_tx_begin(struct net_flow *f, int64_t now_ns);
void net_udp_send_all(struct net_engine *en, struct net_flow *f); /* until it is stopped */
enum net_step net_udp_send(struct net_engine *en, struct net_flow *f);
/* The due time after a burst. False while the burst goes on. */
bool net_udp_pace(struct net_flow *f, int64_t now_ns);
void net_udp_intend(struct net_flow *f, int64_t now_ns);
/* A wake-up was so late (0: there was no time to sleep): how long before the next due time to wake up. */
void net_udp_learn_lead(struct net_udp *u, int64_t late_ns);
void net_udp_reap(const struct net_flow *f); /* the error queue */
bool net_udp_is_unreachable(int code);

int net_udp_rx_prepare(struct net_flow *f);
enum net_step net_udp_recv_some(struct net_engine *en, struct net_flow *f);
void net_udp_take_rest(struct net_engine *en, struct net_flow *f);
void net_udp_gather(struct net_flow *f);
/* How long to let more come when the socket, empty now, was empty `since_ns` ago: no longer than is
 * no risk at the pace at which they came; 0: not closely. */
int64_t net_udp_gather_ns(const struct net_udp *u, int64_t since_ns);
uint64_t net_udp_counted(struct net_flow *f);
void net_udp_rx_preload(struct net_engine *en, struct net_flow *f, const uint8_t *p, uint32_t n,
			int64_t arrival_ns);

/* ---- worker_single.c, worker_multi.c ---- */

struct net_worker {
	struct net_engine *en;
	pthread_t thread;
	bool started;
	clockid_t clock;
	_Atomic int64_t cpu_final_ns; /* -1 while it runs */
	struct net_flow **flows;
	size_t n, live;
	void *rx;
	struct net_udp_io *udp; /* NULL without UDP flows */
	int wake_fd, epoll_fd, timer_fd;
	struct net_flow **due; /* a heap by due_ns: paced flows that wait for their time */
	size_t n_due;
	int64_t timer_ns; /* what timer_fd is set to */
	bool senders_left;
};

void net_worker_single(struct net_worker *w);
int net_worker_multi_prepare(struct net_worker *w);
void net_worker_multi(struct net_worker *w);
int64_t net_worker_cpu_ns(const struct net_worker *w);

/* ---- engine.c ---- */

struct net_engine {
	struct net_engine_cfg cfg;
	struct net_flow **flows;
	size_t n, cap, n_senders;
	struct net_worker *workers;
	unsigned n_workers;
	bool prepared, stopped, has_udp;
	atomic_bool gone;
	char *tx; /* what everybody sends */
	size_t tx_size;
	int file_fd; /* the same bytes for sendfile, -1 when unused */
	int go_fd, done_fd, event_fd;

	/* The limit: in blocks or bytes. Senders take before they send. */
	uint64_t limit_goal;
	bool limit_in_blocks;
	_Atomic uint64_t limit; /* the goal, once it counts */
	_Alignas(NET_CACHE_LINE) _Atomic uint64_t limit_left;
	_Atomic uint64_t limit_moved;
	_Atomic size_t open_flows, running_senders;

	_Alignas(NET_CACHE_LINE) atomic_bool tx_stop;
	atomic_bool draining, quit, done;
};

/* From workers. A flow has ended: perhaps the last one. */
void net_engine_flow_ended(struct net_engine *en);
/* Something moved that counts towards the limit. */
void net_engine_moved(struct net_engine *en, uint64_t n);
void net_engine_event(struct net_engine *en);

static inline uint64_t net_limit(const struct net_engine *en)
{
	return atomic_load_explicit(&en->limit, memory_order_acquire);
}
static inline bool net_flag(const atomic_bool *b)
{
	return atomic_load_explicit(b, memory_order_acquire);
}

#endif
