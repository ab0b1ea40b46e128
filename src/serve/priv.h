/* SPDX-License-Identifier: BSD-2-Clause */
/* serve's private pieces: deadlines, pending connections, admission, the channel, the child. */
#ifndef WEIR_SERVE_PRIV_H
#define WEIR_SERVE_PRIV_H

#include "measure/measure.h"
#include "serve/serve.h"

#define SERVE_PRE_MAX  64   /* bytes kept of a connection that is not told yet */
#define SERVE_LINE_MAX 4096 /* bytes of a log line */

/* ---- deadlines (heap.c) --------------------------------------------------- */

enum serve_timer_kind {
	SERVE_T_CONN,
	SERVE_T_TEST,
	SERVE_T_ACCEPT,
	SERVE_T_STOP,
	SERVE_T_UDP,
	SERVE_T_MAX
};
struct serve_timer {
	int64_t at;
	size_t pos; /* place in the heap from 1; 0 = not in it */
	enum serve_timer_kind kind;
};
struct serve_heap {
	struct serve_timer **v;
	size_t n, cap;
};
int serve_heap_init(struct serve_heap *h, size_t cap);
void serve_heap_fini(struct serve_heap *h);
/* Adds or moves. Room for every timer is there from the start: never fails. */
void serve_heap_set(struct serve_heap *h, struct serve_timer *t, int64_t at);
void serve_heap_del(struct serve_heap *h, struct serve_timer *t);
/* Takes out the first that is due, or NULL. */
struct serve_timer *serve_heap_due(struct serve_heap *h, int64_t now);
/* For epoll_wait(): until the first deadline, rounded up; -1 without one. */
int serve_heap_wait_ms(const struct serve_heap *h, int64_t now);

/* ---- connections without a test (pool.c) ------------------------------------ */

enum serve_conn_state {
	SERVE_CONN_FREE,
	SERVE_CONN_READ,   /* bytes are missing */
	SERVE_CONN_READY,  /* complete, but waits for a child: tried again */
	SERVE_CONN_QUEUED, /* complete, and waits for its turn (exclusive) */
	SERVE_CONN_DRAIN,  /* answered `ff`; what still comes is thrown away */
};
struct serve_group;
struct serve_conn {
	struct serve_timer timer;
	int64_t deadline_ns; /* of a complete cookie */
	uint64_t seq;        /* accept number: roles follow it */
	struct serve_group *group;
	struct serve_conn *older, *newer; /* within the group */
	int fd;
	enum serve_conn_state state;
	size_t have;
	uint8_t buf[SERVE_PRE_MAX];
	struct net_addr peer;
	const struct proto *own; /* its port is that protocol's; NULL = told by its bytes */
};
_Static_assert(sizeof(struct serve_conn) <= 512, "a silent connection costs at most 512 bytes");

/* A fixed table; a group is the connections of one /32 or /64, oldest first. */
struct serve_group {
	uint64_t prefix;
	size_t n;
	struct serve_conn *oldest, *newest;
	struct serve_group *next; /* hash chain, or free list */
};
#define SERVE_HASH 1024
struct serve_pool {
	struct serve_conn *conns;
	struct serve_group *groups, *free_groups;
	struct serve_conn *free_conns; /* linked by newer */
	size_t cap, n, map_bytes;
	uint64_t seed;
	struct serve_group *hash[SERVE_HASH];
};
int serve_pool_init(struct serve_pool *p, size_t cap);
void serve_pool_fini(struct serve_pool *p);
/* NULL when full: take serve_pool_victim() out first. */
struct serve_conn *serve_pool_add(struct serve_pool *p, uint64_t prefix);
void serve_pool_del(struct serve_pool *p, struct serve_conn *c);
/* The oldest connection of the prefix that holds the most. */
struct serve_conn *serve_pool_victim(const struct serve_pool *p);

/* ---- who is served (admit.c) -------------------------------------------------- */

/* The /32 or /64 of an unmapped address as one number. */
uint64_t serve_prefix_of(const struct net_addr *a);
#define SERVE_ONLINK_MAX 64
struct serve_admit {
	const struct net_prefix *allow, *deny;
	size_t n_allow, n_deny;
	bool everyone;
	struct net_prefix onlink[SERVE_ONLINK_MAX];
	size_t n_onlink;
	int64_t read_ns; /* when the kernel was last asked for the on-link prefixes; 0 = never */
};
bool serve_admit_peer(struct serve_admit *a, const struct net_addr *peer, int64_t now_ns);
bool serve_admit_denies(const struct serve_admit *a, const struct net_addr *peer);
/* Served to everybody with --public; a native client is then served as iperf3's. */
bool serve_proto_is_public(const struct proto *p);
/* One line a period; *missed is how many were kept back before this one. */
struct serve_rate {
	int64_t next_ns;
	uint64_t missed;
};
bool serve_rate_ok(struct serve_rate *r, int64_t now_ns, int64_t period_ns, uint64_t *missed);
/* Zeros become defaults; --public's own bounds. */
void serve_limits_fill(struct serve_limits *l, bool public_mode, bool one_off);

/* ---- the channel between front and child (chan.c) ------------------------------- */

enum serve_msg_type {
	SERVE_MSG_DATA,   /* front: a data connection; a = accept number; carries the descriptor */
	SERVE_MSG_EXPECT, /* child: a = data connections expected, 0 = no more */
	SERVE_MSG_HELLOS, /* child: a = UDP flows expected; text: the token of its hellos, if any */
	SERVE_MSG_TURN,   /* front: a = 1: the hellos may come; 0: there is no UDP, or no more */
	SERVE_MSG_RESULT, /* child: the log line */
	SERVE_MSG_AGAIN,  /* child: text: struct serve_again */
	SERVE_MSG_OVER,   /* child: its load is over */
	SERVE_MSG_WORDS,  /* child: a piece of another tool's report; a = stream */
};
struct serve_msg {
	uint32_t type, len; /* len: bytes of text */
	uint64_t a;
	char text[SERVE_LINE_MAX];
};
int serve_chan_pair(int fds[2]); /* front's end does not block */
/* -EAGAIN when a front's end is full. pass_fd -1 = none. */
int serve_chan_send(int fd, const struct serve_msg *m, int pass_fd);
/* 1, 0 at the end, -EAGAIN, -EPROTO for what is no message. got_fd NULL: descriptors are refused. */
int serve_chan_recv(int fd, struct serve_msg *m, int *got_fd);

/* A hello on a running test's flow: its ends, and what it was. */
struct serve_again {
	struct net_addr from, to;
	uint8_t hello[PROTO_HELLO_MAX];
	uint32_t n;
};

/* ---- the child's end: data connections in accept order (feed.c) ------------------ */

struct serve_feed {
	int chan, ctl, stop; /* borrowed */
	struct serve_feed_item {
		uint64_t seq;
		int fd;
	} * items;
	size_t expect, got, next;
	bool udp; /* sockets are handed out as they come */
	int nice; /* once the test is admitted */
};
/* proto_session's callbacks; arg is the feed. */
int serve_feed_expect(void *arg, size_t n);
int serve_feed_expect_udp(void *arg, size_t n, const uint8_t *token, int64_t deadline_ns);
void serve_feed_again(void *arg, int fd, const uint8_t *hello, size_t n);
void serve_feed_over(void *arg);
int serve_feed_take(void *arg, int64_t deadline_ns);
void serve_feed_fini(struct serve_feed *f);

/* ---- the child (child.c) ----------------------------------------------------------- */

struct serve_job {
	const struct serve_cfg *cfg;
	const struct proto *proto;
	int ctl, chan, stop; /* owned by the child process */
	int nice;
	char cookie[PROTO_COOKIE_LEN];
	struct proto_limits limits;
	unsigned workers;
	const _Atomic int *overlap;
	const struct proto_early *early; /* a UDP flow's without a control connection */
	size_t n_early;
	int64_t began_ns;
};
/* Runs in the child and returns its exit status. */
typedef int serve_body(const struct serve_job *job);
serve_body serve_child_body;
#define SERVE_EXIT_LOGIN    2 /* its client was refused for want of a login */
#define SERVE_EXIT_UNPROVED 3 /* a datagram or a few bytes, which anybody can have sent */

/* proto_extra's output: text; arg is the proto_session (report.c). */
bool serve_report(void *arg, const struct proto_result *mine, struct buf *b);

/* ---- a process of its own (settle.c) ---- */

/* Signals, descriptors and the parent's death; keep: descriptors that stay open beside 0 to 2. */
int serve_child_settle(pid_t parent, int null_fd, const int *keep, size_t n);
/* This thread is run before others. Returns its usual niceness, for serve_usual(). */
int serve_prompt(void);
void serve_usual(int nice);

/* ---- log lines (line.c) ----------------------------------------------------------------- */

struct serve_line {
	const struct net_addr *peer;
	const char *protocol;         /* or NULL */
	const struct proto_peer *who; /* or NULL */
	const char *outcome;          /* "done", "failed", "refused" … */
	const char *why;              /* safe text or NULL */
	const struct model_run *run;  /* or NULL */
};
void serve_line_put(struct buf *b, const struct serve_line *l, bool json);
/* Of the server itself, not of a peer. */
void serve_note_put(struct buf *b, const char *what, const char *why, bool json);
/* What a child handed in is one line of printable UTF-8. */
bool serve_line_ok(const char *s, size_t n);

/* ---- running tests (test.c) -------------------------------------------------------------------- */

enum serve_udp_state {
	SERVE_UDP_NONE,
	SERVE_UDP_WAITS, /* another test of the same address is being set up */
	SERVE_UDP_OPEN,  /* its hellos may come */
};
struct serve_front;
struct serve_test {
	struct serve_timer timer; /* a child that hangs; then: one that is not reaped yet */
	pid_t pid;                /* 0 = a free slot */
	int chan;                 /* -1 once the child has closed it */
	const struct proto *proto;
	char cookie[PROTO_COOKIE_LEN];
	uint64_t prefix, window; /* bytes of the memory budget */
	int64_t start_ns;
	struct net_addr peer, local; /* of the control connection */
	size_t expect, given;        /* data connections */
	size_t flows;                /* data connections of its latest phase */
	enum serve_udp_state udp;
	uint64_t turn;     /* who waits longest is next */
	int64_t udp_until; /* its hellos may hold up others until then */
	bool datagrams;    /* begun by a datagram that nobody vouches for */
	bool has_token;    /* else hellos are told by address alone */
	uint8_t token[PROTO_TOKEN_LEN];
	bool began;    /* it expected some */
	bool over;     /* it loads nothing any more */
	bool complete; /* and got them all */
	bool logged;
	struct serve_again
		*again;     /* a hello for another test, once this one's sockets are closed */
	const char *killed; /* why the front ended it, or NULL */
};
struct serve_tests {
	struct serve_test *v;
	size_t cap, n;
	bool beside;          /* the last slot is for a flow of datagrams */
	_Atomic int *overlap; /* one a slot, shared with the children */
	uint64_t window_floor, window_free;
};
int serve_tests_init(struct serve_tests *ts, const struct serve_limits *lim);
void serve_tests_fini(struct serve_tests *ts);
struct serve_test *serve_tests_find(const struct serve_tests *ts, const void *cookie);
size_t serve_tests_of_datagrams(const struct serve_tests *ts);
size_t serve_tests_in_band(const struct serve_tests *ts,
			   const uint64_t *prefix); /* or NULL = any */
/* Places that are taken. Where there is one, flows of datagrams run beside it: a forged one must not
 * keep it from anybody. */
size_t serve_tests_taken(const struct serve_tests *ts);
size_t serve_tests_of_prefix(const struct serve_tests *ts, uint64_t prefix);
bool serve_tests_unsettled(const struct serve_tests *ts); /* some wait for data connections */
bool serve_tests_ending(const struct serve_tests *ts);    /* some have handed in their result */
/* Who begins a test, by a connection or by a UDP flow. */
struct serve_start {
	const struct proto *proto;
	int fd;
	struct net_addr peer;
	uint64_t prefix;
	const void *cookie;              /* PROTO_COOKIE_LEN bytes, or NULL */
	const struct proto_early *early; /* of a UDP flow: what came before fd was there */
	size_t n_early;
};
/* Forks a child that takes fd; 0 or -errno. fd is still the caller's. */
int serve_test_start(struct serve_front *f, const struct serve_start *s);
/* 0: the child has a copy; -EAGAIN: its channel is full; -ENOENT: it expects no more. */
int serve_test_give(struct serve_front *f, struct serve_test *t, uint64_t seq, int fd);
void serve_test_event(struct serve_front *f, struct serve_test *t);
void serve_test_expired(struct serve_front *f, struct serve_test *t);
void serve_tests_kill(struct serve_front *f, const char *why);

/* ---- the front (front.c, conn.c) ----------------------------------------------------------- */

enum serve_stage { SERVE_RUNS, SERVE_FINISHES, SERVE_STOPS, SERVE_KILLS, SERVE_DONE };
enum serve_source {
	SERVE_S_LISTENER,
	SERVE_S_STOP,
	SERVE_S_CONN,
	SERVE_S_TEST,
	SERVE_S_UDP,
	SERVE_S_STATUS,
	SERVE_S_MAX
};
#define SERVE_UDP_MAX 2 /* a socket a family */
struct serve_door {
	const struct proto *proto; /* NULL = told by the cookie */
	int listener;
	int udp[SERVE_UDP_MAX]; /* where hellos and first datagrams come in; -1 = none */
};
#define SERVE_DOORS_MAX (1 + SERVE_OTHERS_MAX)
struct serve_front {
	const struct serve_cfg *cfg;
	struct serve_limits lim;
	serve_body *body;
	int usual_nice;
	int ep, null, reserve; /* reserve: given up to accept and refuse at EMFILE */
	struct serve_door doors[SERVE_DOORS_MAX]; /* the main one first */
	size_t n_doors;
	int stop_pipe[2]; /* children see its end */
	struct serve_heap heap;
	struct serve_pool pool;
	struct serve_tests tests;
	struct serve_admit admit;
	struct serve_rate refusals;
	struct serve_timer accept_timer, stop_timer, udp_timer;
	uint64_t seq;
	int64_t start_ns;
	uint64_t ended, refused; /* tests; peers */
	size_t queued;
	enum serve_stage stage;
};
int serve_watch(struct serve_front *f, int fd, uint32_t events, enum serve_source kind, size_t i);
void serve_log(struct serve_front *f, const struct serve_line *l);
void serve_log_refusal(struct serve_front *f, const struct net_addr *peer, const struct proto *p,
		       const char *why);
void serve_ended(struct serve_front *f, bool ran); /* a test's slot is free again */
void serve_conn_take(struct serve_front *f, int take_fd, const struct net_addr *peer,
		     const struct proto *own);
/* NULL: it may be served, there is room. Else why not. */
const char *serve_objection(struct serve_front *f, const struct net_addr *peer, char *dst,
			    size_t cap);
const char *serve_no_room(struct serve_front *f, const struct proto *proto, uint64_t prefix,
			  char *dst, size_t cap);
/* Places for protocols without a control connection. */
size_t serve_in_band_room(const struct serve_front *f);
void serve_conn_event(struct serve_front *f, struct serve_conn *c);
void serve_conn_expired(struct serve_front *f, struct serve_conn *c);
void serve_conn_close(struct serve_front *f, struct serve_conn *c);
void serve_queue_step(struct serve_front *f); /* who is next has his turn when there is room */
void serve_queue_refuse(struct serve_front *f, const char *why);
/* One answer (status.c). */
void serve_status_event(struct serve_front *f);
void serve_status_put(const struct serve_front *f, struct buf *b);

/* ---- UDP flows' hellos (hello.c) ---- */

/* Beside a TCP listener: the same addresses and port. How many sockets; none is no failure. */
size_t serve_udp_open(int listener, int fds[SERVE_UDP_MAX], struct weir_err *e);
void serve_udp_event(struct serve_front *f, size_t i); /* i: of the main door's */

/* ---- UDP flows without a hello (datagram.c) ---- */

void serve_datagram_event(struct serve_front *f, size_t door, size_t i);
/* A child wants n UDP flows; whose turn it is hears so. */
void serve_udp_expect(struct serve_front *f, struct serve_test *t, const struct serve_msg *m);
void serve_udp_done(struct serve_front *f, struct serve_test *t);
void serve_udp_expired(struct serve_front *f);
/* A running test's flow got a hello. True: it is for another test, which waits for it: t must end. */
bool serve_udp_again(struct serve_front *f, struct serve_test *t, const struct serve_msg *m);
/* t's sockets are closed. Takes `take_again`, which may be NULL. */
void serve_udp_retry(struct serve_front *f, struct serve_again *take_again);
bool serve_udp_is_served(const struct serve_front *f);

/* Serves on take_listener (closed at the end) with the privileges and the promptness it has. */
int serve_front(const struct serve_cfg *cfg, int take_listener, int usual_nice, serve_body *body,
		struct weir_err *e);
/* The same, with doors for cfg->others; -1 = that one is closed. */
int serve_front_doors(const struct serve_cfg *cfg, const int take_listeners[SERVE_DOORS_MAX],
		      int usual_nice, serve_body *body, struct weir_err *e);

#endif
