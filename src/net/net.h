/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * net: sockets, the flow plan, workers, pacing and the sampler. It fills plain sample
 * structs; only measure/ turns them into metrics.
 *
 * Threads: one control thread (the caller), one sampler thread, W workers. Workers never
 * lock, allocate or call back; their counters are single-writer, cache-line aligned,
 * relaxed atomics. Bytes count when the call returns.
 */
#ifndef WEIR_NET_H
#define WEIR_NET_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/base.h"

/* ---- the flow plan (plan.c) ----------------------------------------------- */

/*
 * The only language between commands, personas, measurements and protocols: what flows,
 * in which direction, how, until when. `up` is initiator to responder, whoever that is here.
 */
enum net_dir { NET_UP = 0, NET_DOWN = 1 };
enum net_transport { NET_TCP, NET_UDP };
/*
 * What a datagram begins with: time and number (iperf3's, and ours); number, time, and with
 * counters_64bit the number's upper half, a negative number being the end (iperf 2); nothing, but 4
 * bytes or less are the beginning and the end (ttcp, nttcp).
 */
enum net_udp_form { NET_UDP_IPERF3, NET_UDP_IPERF2, NET_UDP_BARE };
enum net_tx { NET_TX_WRITE, NET_TX_SENDFILE, NET_TX_ZEROCOPY };

/* What is timed of a flow: a datagram's way (a receiver of UDP), by the sender's clock and ours; a
 * write (struct net_bursts); a burst from its first write to its last byte (a receiver of TCP). */
enum net_timed { NET_TIMED_NOTHING, NET_TIMED_WAY, NET_TIMED_WRITES, NET_TIMED_BURSTS };

/*
 * A sender of bursts (bursts.c), in iperf 2's form. Its engine has a worker a flow; flow_spec.len is the
 * most that one write takes.
 */
#define NET_BURST_HEAD 56
struct net_bursts {
	int64_t period_ns;  /* from one to the next; 0 = at once */
	double mean, stdev; /* bytes of a burst, log-normal; 0 = one write */
	double rate_stdev;  /* of flow_spec.rate_bps, log-normal, drawn ten times a second */
	double rtt_weight;  /* rest after each write for this share of the round trip */
	bool stamp;         /* each burst tells its time, number and size */
	const uint8_t
		*head; /* TCP: NET_BURST_HEAD bytes, what the stamps are written over; or NULL */
};

struct flow_spec {
	enum net_dir dir;
	enum net_transport transport;
	uint64_t rate_bps; /* target of this flow; 0 = unlimited */
	uint32_t burst;    /* blocks per burst of a paced flow; 0 = by itself */
	uint32_t len;      /* bytes a write or read; 0 = default for the mode */
	uint64_t window;   /* SO_SNDBUF and SO_RCVBUF, bytes; 0 = the kernel's auto-tuning */
	uint32_t mss;      /* 0 = the path's */
	uint8_t tos;       /* the whole traffic class byte */
	bool nodelay;
	bool rx_trunc; /* receive with MSG_TRUNC: no copy (recorded) */
	enum net_tx tx;
	char cc[16];          /* congestion control; "" = default */
	uint64_t fq_rate_bps; /* SO_MAX_PACING_RATE; 0 = none */
	uint32_t flow_label;  /* IPv6, 1 to 0xfffff; 0 = the kernel's own */
	bool note_last;       /* TCP: when the last bytes came is kept */
	bool digits;          /* a payload of "0123456789…", else random bytes */
	uint64_t bytes;       /* this flow's own end, when it sends; 0 = none */
	enum net_timed timed;
	uint32_t timed_skip; /* NET_TIMED_BURSTS: bytes before the first one */
	int64_t hist_bin_ns; /* of what is timed: a histogram of so many bins this wide, and one */
	uint32_t hist_bins;  /* more for what is beyond; 0 = none */
	const struct net_bursts *bursts; /* sender; borrowed; or NULL */
	int file_fd; /* TCP: send this file from its start, or write there what comes; 0 = none;
		      * borrowed */

	/* UDP: len is the payload of every datagram, 16 to 65,507 (0 = NET_UDP_LEN); burst counts
	 * datagrams; rx_trunc copies only the headers. */
	bool counters_64bit; /* iperf3's 16-byte header instead of its 12-byte one */
	bool no_offload;     /* neither UDP_SEGMENT nor UDP_GRO */
	bool dont_fragment;
	bool spin; /* a paced sender spins the last stretch to its due time, for precision */
	enum net_udp_form udp_form;
	bool udp_from_zero; /* NET_UDP_IPERF2: the first number is 0 */
	const void
		*udp_head; /* NET_UDP_IPERF2, sender: follows number and time in each datagram; */
	uint32_t udp_head_len; /* borrowed, at most NET_UDP_HEAD_MAX bytes */
};
#define NET_UDP_LEN     1448
#define NET_UDP_LEN_MIN 16
#define NET_UDP_LEN_MAX 65507
/* A flow begins with a hello of 4 bytes, or with this mark and a token. Neither is ever data. */
#define NET_UDP_HELLO_MARK "WUDP"
#define NET_UDP_HELLO_MAX  20
#define NET_UDP_HEAD_MAX   160

enum flow_probe { FLOW_PROBE_NONE, FLOW_PROBE_CTL_RTT }; /* round trips on the control connection */

struct flow_plan {
	struct flow_spec *flows; /* all up flows first, then all down flows */
	size_t n;
	int64_t omit_ns;        /* warm-up, in a part of its own */
	int64_t duration_ns;    /* after the omit; 0 = ended by bytes, blocks or a signal */
	uint64_t bytes, blocks; /* ended when all flows together moved this much; 0 = off */
	int64_t interval_ns;    /* sampling; 0 = start and end only */
	enum flow_probe probe;
	char title[256]; /* foreign text on a server */
};
#define FLOW_MAX 4096
/* n copies of *spec in each wanted direction. */
int flow_plan_init(struct flow_plan *p, const struct flow_spec *spec, size_t n_up, size_t n_down);
void flow_plan_fini(struct flow_plan *p);
int flow_plan_copy(struct flow_plan *dst, const struct flow_plan *src);
size_t flow_plan_count(const struct flow_plan *p, enum net_dir dir);
/* Ranges and contradictions; names the field. */
int flow_plan_check(const struct flow_plan *p, struct weir_err *e);

/* ---- addresses (addr.c) ----------------------------------------------------- */

struct net_addr {
	socklen_t len;
	union {
		struct sockaddr sa;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	};
};
/* host may be a name, an address, "[v6]", "v6%dev"; family AF_UNSPEC/AF_INET/AF_INET6. Up to
 * max addresses in resolver order; count or -errno. */
int net_resolve(const char *host, uint16_t port, int family, struct net_addr *out, int max,
		struct weir_err *e);
void net_addr_text(const struct net_addr *a, char *dst, size_t cap);      /* "192.0.2.1" */
void net_addr_port_text(const struct net_addr *a, char *dst, size_t cap); /* "192.0.2.1:5201" */
uint16_t net_addr_port(const struct net_addr *a);
/* IPv4-mapped IPv6 becomes IPv4. */
void net_addr_unmap(struct net_addr *a);
/* One end of a socket in words, IPv4 as IPv4; what it has not is left as it was. */
enum net_sock_which { NET_END_LOCAL, NET_END_PEER };
void net_sock_end(int fd, enum net_sock_which which, char *host, size_t cap, uint16_t *port);
bool net_addr_same_host(const struct net_addr *a, const struct net_addr *b);

struct net_prefix {
	int family;
	uint8_t addr[16];
	int len;
};
int net_prefix_parse(const char *s, struct net_prefix *p, struct weir_err *e);
bool net_prefix_match(const struct net_prefix *p, const struct net_addr *a);
/* Loopback, RFC 1918, unique-local, link-local, 198.18.0.0/15 (security 5). Not 100.64.0.0/10: that
 * is all the customers of a provider. On-link
 * is asked of the kernel by the caller. */
bool net_addr_is_private(const struct net_addr *a);

/* ---- sockets (sock.c, tcp.c, tcpinfo.c) ---------------------------------------- */

struct net_sock_opts {
	const char *bind_host; /* local address or NULL */
	const char *bind_dev;  /* SO_BINDTODEVICE or NULL */
	uint16_t bind_port;    /* 0 = any */
	int family;
	bool everywhere; /* net_pair_udp(): the listener has all local addresses */
	bool alone;      /* net_listen_udp(): the port is shared with nobody */
};
/* A non-blocking, close-on-exec listener on the port: V6ONLY off when host is NULL and family
 * AF_UNSPEC and IPv6 exists. */
int net_listen_tcp(const struct net_sock_opts *o, uint16_t port, int backlog, struct weir_err *e);
/* Connects within timeout_ns; applies the flow's socket options first (may be NULL). A blocking
 * socket. The error says refused, unreachable, timed out ("no answer: a firewall that
 * drops?"), and to whom. */
int net_connect_tcp(const struct net_addr *to, const struct net_sock_opts *o,
		    const struct flow_spec *spec, int64_t timeout_ns, struct weir_err *e);
/* Options of a data socket, after accept or before connect. What the kernel did is in *got. */
struct net_applied {
	uint64_t sndbuf, rcvbuf; /* as the kernel counts them, halved to usable bytes */
	uint32_t mss;
	char cc[16]; /* really in use */
	bool cc_refused, window_short;
	uint64_t
		rcvbuf_wish; /* UDP: what was asked of the kernel, which gives net.core.rmem_max at most */
};
int net_tcp_apply(int fd, const struct flow_spec *spec, struct weir_err *e);
void net_tcp_applied(int fd, const struct flow_spec *spec, struct net_applied *got);
/* Only names of tcp_available_congestion_control are ever set (security 7). */
bool net_cc_available(const char *name);
/* Control connections: NODELAY, keepalive 5/2/3, TCP_USER_TIMEOUT 10 s (security 4). */
void net_tcp_control_opts(int fd);
/* Whole reads and writes with an absolute CLOCK_MONOTONIC deadline; stop_fd (-1 = none) readable
 * ends them with -ECANCELED. 0, -ETIMEDOUT, -EPIPE (peer closed) or -errno. */
int net_read_full(int fd, void *p, size_t n, int64_t deadline_ns, int stop_fd);
int net_write_full(int fd, const void *p, size_t n, int64_t deadline_ns, int stop_fd);
int net_wait_readable(int fd, int64_t deadline_ns, int stop_fd);
/* shutdown(WR), drain up to 1 s so that unread bytes do not reset what was sent, close. */
void net_close_gently(int fd, int64_t drain_ns);

/* ---- UDP sockets (udp_sock.c) ---- */

/*
 * SO_REUSEPORT only: with SO_REUSEADDR any local user could take our datagrams (security 13).
 *
 * A listener is non-blocking, of one family (V6ONLY: one socket a family, security 12) and tells
 * to which local address a datagram came. o->family AF_UNSPEC without bind_host means IPv4.
 */
int net_listen_udp(const struct net_sock_opts *o, uint16_t port, struct weir_err *e);
/* A client's data socket: the flow's options (may be NULL), connected. Nothing is sent. */
int net_connect_udp(const struct net_addr *to, const struct net_sock_opts *o,
		    const struct flow_spec *spec, struct weir_err *e);
/*
 * A server's data socket: bound to the address and port that the peer's hello came to (`local`,
 * from net_udp_recv), connected to the peer. Until it is connected the listener gets what comes, as
 * the first of its port; where the kernel cannot arrange that, the new socket may have taken other peers'
 * datagrams: take all with net_udp_recv() until -EAGAIN and hand each back to whom it belongs
 * (from != peer), before net_engine_add(). The peer sends no data until it has an answer.
 */
int net_pair_udp(const struct net_addr *local, const struct net_addr *peer,
		 const struct net_sock_opts *o, const struct flow_spec *spec, struct weir_err *e);
struct net_dgram {
	struct net_addr from;
	struct net_addr to; /* where it came to, with our port; the address is unset (len 0) when
			     * the kernel did not say */
	bool group;         /* it came to a broadcast or multicast address: never to be answered */
	int64_t arrival_ns; /* CLOCK_MONOTONIC */
};
/* One datagram without waiting: its whole length (which may exceed cap), -EAGAIN or -errno. Errors
 * that earlier sends left behind (ECONNREFUSED) are skipped. */
ssize_t net_udp_recv(int fd, void *buf, size_t cap, struct net_dgram *d);
/* Answers from the address that the datagram came to (a multi-homed server's only right one). */
ssize_t net_udp_reply(int fd, const struct net_dgram *d, const void *data, size_t n);
/* SO_SNDBUF and SO_RCVBUF, traffic class, DF, SO_MAX_PACING_RATE; what holds: net_udp_applied(). */
int net_udp_apply(int fd, const struct flow_spec *spec, struct weir_err *e);
void net_udp_applied(int fd, const struct flow_spec *spec, struct net_applied *got);
/* The largest payload that leaves unfragmented on a connected socket's path, as far as the kernel
 * knows now; 0 = unknown. */
uint32_t net_udp_path_payload(int fd);
/* Datagrams that all sockets of this network namespace have dropped so far because their buffers
 * were full (RcvbufErrors, both families); -1 = the kernel does not say. */
int64_t net_udp_host_drops(void);
/* What this kernel has, asked by trying on a socket of its own. */
bool net_udp_has_gso(void), net_udp_has_gro(void);

/* The kernel's struct tcp_info at whatever length it returns: fields past `len` are unknown.
 * Own layout, checked against linux/tcp.h by a test. */
struct net_tcp_info {
	uint8_t state, ca_state, retransmits, probes, backoff, options, wscale, app_limited;
	uint32_t rto, ato, snd_mss, rcv_mss;
	uint32_t unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt_us, rttvar_us, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt_us, rcv_space;
	uint32_t total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in;
	uint32_t notsent_bytes, min_rtt_us, data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_time_us, rwnd_limited_us, sndbuf_limited_us;
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;
	uint32_t dsack_dups, reord_seen, rcv_ooopack, snd_wnd, rcv_wnd, rehash;
	uint16_t total_rto, total_rto_recoveries;
	uint32_t total_rto_time;
};
#define NET_HAS(len, field) \
	((len) >= offsetof(struct net_tcp_info, field) + sizeof(((struct net_tcp_info *)0)->field))
/* Length filled, or -errno. The struct is zeroed first. */
int net_tcp_info_get(int fd, struct net_tcp_info *i);

/* ---- engine (engine.c, worker_*.c) ------------------------------------------- */

struct net_engine;
struct net_engine_cfg {
	unsigned workers; /* 0 = max(1, min(flows, allowed CPUs)) */
	bool pin;         /* bind worker i to the i-th allowed CPU */
	const int *cpus;  /* explicit CPUs for pinning, or NULL */
	size_t n_cpus;
	uint64_t limit_bytes, limit_blocks; /* exact over all flows that this end sends (or, when
					 * it sends none, reached when received); whole datagrams */
	bool limit_later;                   /* unlimited until net_engine_limit() */
};
int net_engine_new(const struct net_engine_cfg *cfg, struct net_engine **out, struct weir_err *e);
/* Takes the socket, also when it fails; a UDP socket is connected. Flow index in order of adding,
 * or -errno. */
int net_engine_add(struct net_engine *en, int take_fd, const struct flow_spec *spec, bool sender,
		   struct weir_err *e);
int net_engine_prepare(struct net_engine *en, struct weir_err *e); /* threads up, waiting */
void net_engine_go(struct net_engine *en);                         /* data flows from here */
void net_engine_limit(struct net_engine *en); /* the limit counts from here; once, any time */
/* Readable when the byte or block limit was reached, or every flow has ended by itself. */
int net_engine_done_fd(const struct net_engine *en);
/* Senders stop (their sockets stay open); returns when the last send call has returned. */
void net_engine_stop_senders(struct net_engine *en);
/* shutdown(SHUT_WR) on sender sockets: the receivers see the end after the last byte. */
void net_engine_finish_senders(struct net_engine *en);
/* The same on all TCP sockets: who ends a connection first is the one whose port is not free for a
 * while afterwards. */
void net_engine_finish(struct net_engine *en);
/* Waits until every receiving flow saw the end, has `want` bytes (NULL = end only), or the
 * deadline passes. A UDP flow has no end: it has `want` bytes, or was silent for 200 ms. */
void net_engine_drain(struct net_engine *en, const uint64_t *want, int64_t deadline_ns);
void net_engine_stop(struct net_engine *en);  /* everything; joins; sockets stay open to read */
void net_engine_close(struct net_engine *en); /* after stop: closes the sockets; counters stay */
void net_engine_free(struct net_engine *en);  /* closes the sockets */
size_t net_engine_flows(const struct net_engine *en);
int net_engine_fd(const struct net_engine *en, size_t flow);
unsigned net_engine_workers(const struct net_engine *en);

enum net_flow_state { NET_FLOW_OPEN, NET_FLOW_EOF, NET_FLOW_ERROR };

/* UDP's own counters, cumulative; those of the other role are 0. */
struct net_udp_sample {
	bool gso, gro;      /* in use on this flow */
	uint32_t gso_batch; /* most datagrams that one send call may carry */

	uint64_t sent;        /* datagrams that the kernel took */
	uint64_t intended;    /* datagrams due by the schedule so far; unpaced: equal to sent */
	uint64_t skipped;     /* of those, given up because the sender was too far behind */
	uint64_t refused;     /* send calls that ended in ENOBUFS or found no room for 100 ms */
	uint64_t unreachable; /* send calls that ended in an ICMP error of an earlier datagram's */
	int unreachable_code; /* errno of the latest of these */
	uint32_t unsent; /* bytes, as the kernel counts them, that wait in this host to leave */

	uint64_t received;   /* datagrams of this flow, duplicates and late ones too */
	uint64_t highest;    /* the highest number: count sent as far as a receiver can know */
	uint64_t lost;       /* numbers up to `highest` that are missing: falls when one comes after
			      * all; after net_engine_udp_final() up to the sender's count */
	uint64_t reordered;  /* came after a higher number, for the first time */
	uint64_t duplicates; /* numbers that were there already */
	uint64_t late;       /* older than the window: first or again, nobody knows; still lost */
	uint64_t fragmented; /* of those received, that came in several IP fragments */
	uint32_t fragment_max; /* the largest of these fragments, bytes of IP */
	uint64_t fin;     /* the number that the sender's end carried: how many it sent; 0 = none */
	uint64_t fins;    /* ends that came so far */
	uint64_t foreign; /* no number of this test, or too short: in no other count.
			      * Hellos are not even that */
	uint32_t hellos;  /* so far: 4 bytes, or a mark and a token */
	uint32_t hello_len; /* of the latest */
	uint8_t hello[NET_UDP_HELLO_MAX];
	int64_t jitter_ns;     /* RFC 3550, 6.4.1: the running value */
	bool kernel_time;      /* it is of the kernel's times of arrival, else of our reading */
	uint64_t sock_drops;   /* the kernel dropped them at this socket (SK_MEMINFO_DROPS, which is
			      * SO_RXQ_OVFL's counter); with GRO a batch counts once */
	uint32_t path_payload; /* of a sender: net_udp_path_payload() */
};
/* What was timed, s: count, sum, squares and extremes since go; the extremes since the last tick. */
struct net_spread {
	uint64_t n;
	double sum, squares, min, max, lately_min, lately_max;
};
#define NET_READS 8
struct net_flow_sample {                      /* cumulative since go */
	uint64_t bytes, calls, blocks;        /* UDP blocks: datagrams */
	uint64_t zc_sent, zc_done, zc_copied; /* MSG_ZEROCOPY calls, completions, "copied" ones */
	int64_t last_ns; /* TCP, received under a limit; UDP, iperf 2's and bare: CLOCK_MONOTONIC of the last bytes */
	enum net_flow_state state;
	int error;                      /* errno of NET_FLOW_ERROR */
	uint64_t reads[NET_READS];      /* TCP, received: calls by eighths of flow_spec.len */
	uint64_t frames, missed, slips; /* net_bursts: begun, left out, begun late */
	struct net_spread spread;       /* flow_spec.timed */
	const _Atomic uint64_t *hist;   /* its bins, as long as the engine lives; or NULL */
	int info_len;                   /* bytes of info that the kernel gave; 0 = none */
	struct net_tcp_info info;
	struct net_udp_sample udp; /* UDP flows only */
};
/* From any thread. */
void net_engine_sample(const struct net_engine *en, size_t flow, struct net_flow_sample *s);

uint64_t net_engine_bytes(const struct net_engine *en); /* of all flows; no system call */

/* ---- UDP: what only the control thread does (udp.c) ---- */

/* A receiving flow's sender says how many it sent: what is missing at the tail is lost too. After
 * net_engine_stop(); -ERANGE where higher numbers came, see seqwin_final(). */
int net_engine_udp_final(struct net_engine *en, size_t flow, uint64_t sent);
/* A datagram that came to another socket before this flow's was there; before net_engine_go(). */
int net_engine_udp_preload(struct net_engine *en, size_t flow, const void *p, uint32_t n,
			   int64_t arrival_ns);
/* How well a sending flow kept its schedule; after net_engine_stop(). */
struct net_udp_pacing {
	uint64_t bursts;      /* sends of one due time each */
	uint32_t burst_asked; /* datagrams a due time */
	uint32_t burst_max;   /* most datagrams within a fourth of their due time distance */
	int64_t gap_ns;       /* the distance of due times; 0 = unpaced */
};
/* Adds the gaps between bursts, and how far each was from gap_ns, in ns, to the histograms (each
 * may be NULL; resolution 3 %). Unpaced: gaps between send calls. */
int net_engine_udp_pacing(const struct net_engine *en, size_t flow, struct net_udp_pacing *p,
			  struct hist *gaps, struct hist *errors);

/* ---- sampler (sampler.c) ------------------------------------------------------- */

struct net_cpu_sample { /* ns since net_sampler_new; worker and process clocks of this end */
	int64_t process_ns, user_ns, system_ns;
	int64_t worker_max_ns; /* sum of each interval's busiest worker thread */
};
struct net_tick {
	int64_t t0, t1; /* CLOCK_MONOTONIC of the reading before and of this one */
	bool late;      /* over 10 % of the interval after its deadline */
	bool cut;       /* ended early by net_sampler_cut (phase end) */
	struct net_cpu_sample cpu;
	size_t n;
	struct net_flow_sample s[]; /* flow order, all read at t1 */
};
struct net_sampler;
/* Absolute deadlines start_ns + k * interval_ns; interval_ns 0 = only cuts. The first tick's t0 is
 * the time of the reading that _new makes. */
int net_sampler_new(struct net_engine *en, int64_t interval_ns, struct net_sampler **out,
		    struct weir_err *e);
int net_sampler_start(struct net_sampler *s, int64_t start_ns, struct weir_err *e);
int net_sampler_fd(const struct net_sampler *s);          /* readable: ticks are waiting */
struct net_tick *net_sampler_next(struct net_sampler *s); /* NULL when none; net_tick_free */
void net_tick_free(struct net_tick *t);
/* A reading now, as the last of the current interval; deadlines restart from it. Returns its t1. */
int64_t net_sampler_cut(struct net_sampler *s);
/* A cut is expected at mono_ns: the deadline next to it is left out, so that no interval of nothing
 * comes before the end. Forgotten at the next cut. */
void net_sampler_until(struct net_sampler *s, int64_t mono_ns);
void net_sampler_stop(struct net_sampler *s); /* joins; ticks can still be taken */
void net_sampler_free(struct net_sampler *s);

#endif
