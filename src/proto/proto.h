/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proto: wire protocols, one file each, behind one struct. A protocol carries a flow_plan to the
 * other end, opens the data sockets, says when data may flow, and exchanges results. It
 * moves no data and measures nothing. Client and server are two roles of one session.
 *
 * The order, driven by measure/session.c:
 *   client: connect, [engine takes fds], start, … on_control …, end, exchange, close
 *   server: accept (plan known), streams, [engine takes fds], start, … on_control until
 *           PROTO_EV_END …, exchange, close
 */
#ifndef WEIR_PROTO_H
#define WEIR_PROTO_H

#include "base/base.h"
#include "net/net.h"

#define PROTO_PORT             5201
#define PROTO_COOKIE_LEN       37 /* 36 characters and a NUL: iperf3's, and ours on the same port */
#define PROTO_TOKEN_LEN        16 /* of a native UDP hello */
#define PROTO_HELLO_MAX        20 /* bytes of the longest UDP hello */
#define PROTO_ANSWER_LEN       4
#define PROTO_RESULTS_BASE     ((size_t)1 << 20)
#define PROTO_RESULTS_PER_FLOW ((size_t)1 << 10)

enum proto_udp { PROTO_UDP_NEVER, PROTO_UDP_VOUCHED, PROTO_UDP_SYMMETRIC };
enum proto_sniff { PROTO_SNIFF_NO, PROTO_SNIFF_MORE, PROTO_SNIFF_YES };
enum proto_role { PROTO_CLIENT, PROTO_SERVER };

struct proto_flow_result {
	uint64_t bytes;
	int64_t retransmits; /* -1 = unknown */
	double seconds;      /* measured period at that end; 0 = unknown */
	/* UDP, of the whole stream: a sender's own count, or the highest number that a receiver
	 * has seen; datagrams missing below that. */
	bool udp;   /* these are known */
	bool ended; /* its sender has said so */
	int64_t packets, lost;
	int64_t omitted_packets, omitted_lost; /* of these, in the warm-up; -1 = not told */
	double jitter;                         /* s */
	int64_t reordered;
	uint64_t calls; /* of this end's kernel, to move them; 0 = not told */
};
struct proto_result {
	double cpu_total, cpu_user, cpu_system; /* ratio of one core; < 0 = unknown */
	char cc[32];                            /* "" = unknown */
	struct proto_flow_result *flows;        /* plan order */
	size_t n;
};
void proto_result_fini(struct proto_result *r);

struct proto_peer {       /* safe text */
	char tool[16];    /* "weir", "iperf3" */
	char version[32]; /* "" = unknown */
};

enum proto_event {
	PROTO_EV_NONE,       /* nothing for the session (a line was passed on, a ping answered) */
	PROTO_EV_END,        /* the client ended the test (server role) */
	PROTO_EV_TERMINATED, /* the peer was stopped by a signal */
	PROTO_EV_ERROR,      /* the peer reported an error: e is filled */
	PROTO_EV_GONE,       /* the control connection is dead */
};

enum proto_say {
	PROTO_SAY_BUSY,
	PROTO_SAY_REFUSED,
	PROTO_SAY_STOPPED,
	PROTO_SAY_FAILED,
	PROTO_SAY_RATE, /* it moved more than the server allows */
};

struct proto_limits {          /* of a server; 0 = none */
	size_t flows;          /* per direction */
	int64_t duration_ns;   /* omit + duration; also forbids endless tests */
	uint64_t rate_bps;     /* per test */
	uint64_t window_total; /* sum of windows over flows */
	uint64_t
		udp_down_bps; /* UDP towards the client, per test, with the headers of IP and UDP */
	bool no_udp;          /* there is no UDP socket to serve it */
	bool no_high_dscp;    /* CS6 and CS7 refused (--public) */
};

/*
 * iperf3's login (iperf3_auth.c). A server's is made before its tests' processes: they share the
 * turn for RSA operations and the tokens that were used. NULL users: a client's.
 */
struct proto_login;
struct proto_login_cfg {
	bool pkcs1;                  /* PKCS#1 v1.5, as iperf3 before 3.17; else OAEP, never both */
	const char *key, *key_name;  /* PEM text, private at a server; where it is from */
	const char *user, *password; /* client */
	const char *users, *users_name; /* server: lines "name,hash" */
	int64_t skew_ns;                /* server: how far the clocks may differ */
};
int proto_login_new(const struct proto_login_cfg *c, struct proto_login **out, struct weir_err *e);
void proto_login_free(struct proto_login *l);

struct proto;
struct proto_session;
/* What only iperf3's dialogue carries, for the drop-in of that tool; functions may be NULL. */
struct proto_extra {
	void *arg;
	/* Client: the server has answered. Server: the request is known. */
	void (*greeted)(void *arg, struct proto_session *s);
	/* All data sockets are there, in s->fds. */
	void (*opened)(void *arg, struct proto_session *s);
	/* A JSON message that was sent or taken; the other end's is foreign text. */
	void (*message)(void *arg, const char *what, const char *json, size_t n);
	/* The client's wishes; at a server, what its client wished. */
	bool get_server_output;
	int server_affinity;  /* CPU of the server's process; -1 = any */
	char extra_data[256]; /* foreign text on a server */
	/* Server: its own report for the client, onto b; true: it is one JSON object. */
	bool (*output)(void *arg, const struct proto_result *mine, struct buf *b);
	/* Client: the server's report. The owner frees it. */
	struct buf server_output;
	bool server_output_json;
	int error_code; /* iperf3's number of the error that the server sent; 0 = none */
	int error_errno;
};

struct proto_session {
	const struct proto *proto;
	enum proto_role role;
	int ctl_fd;
	int stop_fd; /* readable: give up (a signal); -1 = none */
	char cookie[PROTO_COOKIE_LEN];
	struct flow_plan *plan; /* client: given, borrowed; server: made by accept, owned */
	int *fds;               /* data sockets, plan order; -1 once the engine took one */
	size_t n_fds;
	struct proto_peer peer;
	struct net_addr peer_addr, local_addr;
	int64_t connect_ns; /* how long the control connect() took: a first idle RTT */
	char facts[16384];  /* JSON object: facts of the far end ("" = none) */
	bool clock_known;   /* native: offset of the far monotonic clock */
	int64_t clock_offset_ns, clock_error_ns; /* far + offset = near */
	const char *psk;                         /* pre-shared key, or NULL */
	const struct proto_login *login;         /* iperf3's; NULL = none is given or asked for */
	/* client */
	const char *host;
	uint16_t port;
	const struct net_sock_opts *sock;
	int64_t timeout_ns; /* connect and answer */
	uint16_t cport;     /* first local data port; 0 = any */
	/* server: next data socket of this test in accept order, waits until the deadline; -errno */
	int (*take_data)(void *arg, int64_t deadline_ns);
	/* server: tells the front that n data sockets are expected (0 = no more) */
	int (*expect_data)(void *arg, size_t n);
	/* server: the same for n UDP flows. token NULL: hellos are told apart by address alone, and
	 * the call waits for this test's turn among those of the same address, until the deadline.
	 * Their sockets are connected and answered when they come. NULL = no UDP here. */
	int (*expect_udp)(void *arg, size_t n, const uint8_t *token, int64_t deadline_ns);
	/* server: a hello came again on a flow's socket: its peer may have begun another test. May
	 * be NULL. */
	void (*hello_again)(void *arg, int fd, const uint8_t *hello, size_t n);
	/* server: the load is over, what follows are words; before the client hears of it. May be
	 * NULL. */
	void (*load_over)(void *arg);
	const char *server_facts; /* JSON object of this host for the peer, or NULL; both roles */
	/* both, native only: a line of the far end's run (NDJSON without newline) */
	void (*on_line)(void *arg, const char *line, size_t n);
	void *arg;
	char lowered[160]; /* native, both roles: what the server's limits cut; "" = nothing */
	const uint64_t *far_sent; /* native server, from PROTO_EV_END on: bytes that the client
				   * sent on each flow, plan order; NULL = not told */
	const struct proto_result *far_result; /* the whole of what it sent; NULL = not told */
	bool lines_cut;                        /* native: lines over the bound were left out */
	bool error_told;                       /* server: the peer has heard what failed */
	struct proto_extra *extra;             /* iperf3's; NULL = nobody cares */
	const struct proto_iperf2 *iperf2;     /* or NULL */
	struct proto_nttcp *nttcp;             /* or NULL */
	/* server, a UDP flow without a control connection (ctl_fd is its socket): the datagrams that
	 * came before the socket was there; borrowed */
	const struct proto_early *early;
	size_t n_early;
	bool proved; /* server, no control connection: there was more than anybody may have sent */
	int64_t began_ns; /* server, no control connection: when the first data was there; 0 = not known */
	char missing[160]; /* why the far end tells nothing; "" = it does, or never would */
	char found[160];   /* client: how it was found out who answers; "" = by the greeting */
	void *state;       /* the protocol's own; freed by ->close */
};

/* What only iperf 2's command line has. */
struct proto_iperf2 {
	bool old;   /* client: as 2.0.5 says it, not 2.1 */
	bool plain; /* client: nothing but data (-C) */
	/* Client: what else it says (trip_times … burst_bytes below); its own clock is set when it
	 * is said. UDP is then numbered as 2.1 does. */
	const struct iperf2_hello *wish; /* or NULL */
	bool no_end;     /* client, UDP: one end, no report; so to a multicast group */
	bool next_ports; /* client: flow i goes to the i-th port from there */
	bool back_only;  /* client: nothing is opened, the server connects (-r, its second half) */
	int listen_fd;   /* client: where flows down come in: -d, -r; 0 = none */
	int64_t *connect_ns;        /* client, set: how long each took; or NULL */
	struct iperf2_report *told; /* UDP; client: set, each flow's; server: what of the first
	                              * flow it timed, which is told then; or NULL */
	size_t cap;                 /* of these two */
	const char
		*key; /* access token that clients must send, or NULL (security: sent in clear) */
	void (*opened)(void *arg,
		       struct proto_session *s); /* the data sockets are in s->fds; or NULL */
	void *arg;
};
/* What only nttcp's command line has, and what it prints; of ttcp's `mine` alone. */
struct nttcp_row {
	uint64_t bytes, buffers, len, calls;
	double real_s, cpu_s;
	double user_s, system_s; /* ttcp's */
};
struct proto_nttcp {
	const char *format;      /* of the far end's row; NULL = one that can be read exactly */
	const char *remote_opts; /* "@-l1000@-w32", or NULL */
	bool verbose;
	unsigned number;       /* of the far end; 0 = 1 */
	int64_t gap_ns;        /* UDP: between datagrams */
	struct nttcp_row mine; /* set: this end's figures */
	struct buf greeting;   /* set: its words before the data; the owner frees */
	struct buf said;       /* set: those after it; the owner frees */
};
#define NTTCP_FORMAT  "%9b%8.2rt%8.2ct%12.4rbr%12.4cbr%8c%10.2rcr%10.1ccr"
#define NTTCP_ROW_MAX 512
/* 0, or -EINVAL for a format that has no such tag or is too long. */
int nttcp_row_put(struct buf *b, const char *format, const struct nttcp_row *r);
int nttcp_title_put(struct buf *b, const char *format);
/* The request of a client, without its newline: allowed options only. */
struct nttcp_request {
	bool receives, udp, nodelay, verbose; /* receives: the one that reads it does */
	uint32_t len;
	uint64_t n;
	uint64_t window;
	int64_t gap_ns;
	uint64_t pid_calls; /* -R: no test, so many getpid() are timed */
	unsigned number;
	char format[NTTCP_ROW_MAX];
};
/* "pid-rate (from 1000000 calls): 5458068/s": how fast this host makes system calls. */
void nttcp_pid_rate(struct buf *b, uint64_t calls);
int nttcp_request_read(const char *line, size_t n, struct nttcp_request *out, struct weir_err *e);

struct proto_early {
	const uint8_t *p;
	uint32_t n;
	int64_t arrival_ns;
};

struct proto {
	const char *name;
	const char *what;
	uint16_t port;
	bool no_cookie;    /* on a port of its own, without weir's and iperf3's greeting */
	bool in_band;      /* no control connection */
	bool data_ends;    /* nothing is said of the end: that of the data is the test's */
	bool speaks_first; /* the server speaks before it has read anything */
	size_t pre_bytes;  /* needed to tell it and to admit, at most 512 */
	int64_t pre_deadline_ns;
	enum proto_udp udp;
	bool lines; /* carries lines of the far end's run */
	enum proto_sniff (*sniff)(const uint8_t *p, size_t n);
	/* Client: speaks on ctl_fd after the cookie was sent and its first answer byte seen. */
	int (*connect)(struct proto_session *s, struct weir_err *e);
	/* Server: reads the request; fills plan. limits are the server's; a request over them is
	 * answered in the protocol's own words and refused, or lowered where the protocol can say so. */
	int (*accept)(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e);
	int (*streams)(struct proto_session *s, struct weir_err *e);
	int (*start)(struct proto_session *s, struct weir_err *e);
	int (*on_control)(struct proto_session *s, enum proto_event *ev, struct weir_err *e);
	int (*line)(struct proto_session *s, const char *line, size_t n, struct weir_err *e);
	/* Native: one round trip on the control connection; the answer comes through on_control and
	 * is taken with pong: its round-trip ns, or -EAGAIN. NULL where the protocol has none. */
	int (*ping)(struct proto_session *s);
	int64_t (*pong)(struct proto_session *s);
	int (*end)(struct proto_session *s, const struct proto_result *mine, struct weir_err *e);
	int (*exchange)(struct proto_session *s, const struct proto_result *mine,
			struct proto_result *theirs, struct weir_err *e);
	/* In the protocol's own words: busy (test limit), refused (not admitted), stopped (signal). */
	void (*say)(struct proto_session *s, enum proto_say what);
	void (*close)(struct proto_session *s);
};

/*
 * The first datagram of a UDP flow (udp.c): one of iperf3's four values of 4 bytes, or the native
 * mark with the token of a test. An answer is never longer than the hello.
 */
struct proto_hello {
	uint8_t answer[PROTO_ANSWER_LEN]; /* in the client's own form */
	const uint8_t *token;             /* PROTO_TOKEN_LEN bytes of the datagram, or NULL */
};
bool proto_hello_read(const uint8_t *p, size_t n, struct proto_hello *h);

const struct proto *proto_find(const char *name);
const struct proto *proto_at(size_t i); /* table order is the order of sniffing */

/*
 * iperf 2 (iperf2_wire.c): the first bytes of a TCP connection, the first datagram of a UDP flow, and
 * the server's report. Pure: bytes in, values out.
 */
#define IPERF2_HEADER_OLD 24
#define IPERF2_HEADER     60
#define IPERF2_FIRST_MAX  256 /* with a key */
struct iperf2_hello {
	bool header, newer; /* there is one; it is 2.1's */
	bool dual, now;     /* 2.0.5's -d, -r: a connection back, at once or afterwards */
	bool reverse, full_duplex, bounceback, peer_detect;
	bool wide;      /* UDP: 64-bit numbers */
	bool from_zero; /* UDP: the first number is 0 */
	uint32_t skip;  /* TCP: bytes that are header and no data */
	uint32_t threads, len, window;
	uint16_t port;
	int64_t time_ns; /* 0 = by bytes */
	uint64_t bytes, rate_bps;
	uint8_t tos;
	bool trip_times, isochronous, no_end, quick_ack, periodic, starts_at;
	int64_t start_real_ns; /* trip_times: when it was sent; starts_at: the first data */
	uint64_t fq_rate_bps;
	double bursts_hz, burst_bytes; /* periodic */
	const uint8_t *key;
	size_t key_len;
	uint32_t version_u, version_l; /* 0 = not told */
};
/* Bytes still needed to tell; 0: h is whole. Never fails: what is no header is data. */
size_t iperf2_tcp_read(const uint8_t *p, size_t n, struct iperf2_hello *h);
/* False: no datagram that begins a flow. */
bool iperf2_udp_read(const uint8_t *p, size_t n, struct iperf2_hello *h);
size_t iperf2_tcp_put(const struct iperf2_hello *h, uint8_t dst[IPERF2_FIRST_MAX]);
/* What stands behind the numbers and the time of each datagram: 2.1's. */
#define IPERF2_UDP_HEADER 144
size_t iperf2_udp_put(const struct iperf2_hello *h, uint8_t dst[IPERF2_UDP_HEADER]);
#define IPERF2_REPORT_MAX 128
struct iperf2_report {
	uint64_t bytes, lost, reordered, datagrams;
	double seconds, jitter;          /* s */
	bool timed;                      /* the rest is known */
	double n, min, max, mean, stdev; /* of the ways, s */
	double pps;
};
/* Not more than `most` bytes, as long as the end that is answered. */
size_t iperf2_report_put(const struct iperf2_report *r, bool newer, uint64_t number, size_t most,
			 uint8_t dst[IPERF2_REPORT_MAX]);
bool iperf2_report_get(const uint8_t *p, size_t n, struct iperf2_report *r);
/* The server's word to a 2.1 client: "2.1.8", or "" when it is none. */
#define IPERF2_ACK 28
size_t iperf2_ack_put(uint8_t dst[IPERF2_ACK]);
bool iperf2_ack_get(const uint8_t *p, size_t n, char *version, size_t cap);
void iperf2_version(uint32_t u, uint32_t l, char *dst, size_t cap);

/*
 * The client's way in (probe.c): connects to s->host:port, sends a 37-byte cookie
 * ("WEIR/1;" + 145 random bits, which iperf3 takes as its own), and tells by the first bytes that
 * come back which protocol answers; force NULL = either. Then s->proto is set and its connect
 * was called. A peer that is neither is named (web server, SSH, iperf 2, silent, busy).
 */
int proto_dial(struct proto_session *s, const char *force, struct weir_err *e);
bool proto_cookie_is_native(const char cookie[PROTO_COOKIE_LEN]);
void proto_cookie_new(char cookie[PROTO_COOKIE_LEN]);
/* Closes what the session still holds (control and untaken data sockets); s itself is the caller's. */
void proto_session_fini(struct proto_session *s);

#endif
