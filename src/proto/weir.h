/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sources of the native protocol share: lines, messages, the session's state.
 */
#ifndef WEIR_PROTO_WEIR_H
#define WEIR_PROTO_WEIR_H

#include "proto/priv.h"

/* ---- native: lines (weir_io.c) ------------------------------------------------------ */

#define WEIR_LINE_MAX  ((size_t)64 << 10)
#define WEIR_TICK_MAX  ((size_t)1 << 20) /* a line of a run: an interval of 4096 flows */
#define WEIR_QUEUE_MAX ((size_t)256 << 10)
#define WEIR_RUN_MAX   ((size_t)64 << 20)
#define WEIR_SEND_NS   (10 * NSEC_PER_SEC)

struct weir_io {
	int fd;
	struct buf in, out;
	size_t used; /* bytes of `in` already given away as lines */
	size_t seen; /* bytes of `in` searched for a newline */
	bool runs;   /* lines of a run may come, which are longer */
	/* Client: called when something was read while waiting to send; NULL: nothing is read. */
	void (*meanwhile)(void *arg);
	void *arg;
};
void weir_io_init(struct weir_io *io, int fd, bool runs);
void weir_io_fini(struct weir_io *io);
/* Reads what is there: bytes, -EAGAIN, -EPIPE at the end, or -errno. */
int weir_io_fill(struct weir_io *io);
/* The next whole line already read (valid until the next call), else -EAGAIN; -EMSGSIZE. */
int weir_io_line(struct weir_io *io, const char **line, size_t *n);
/* Waits for one. */
int weir_io_wait(struct weir_io *io, const char **line, size_t *n, int64_t deadline_ns,
		 int stop_fd);
/* Queues line + newline and sends what goes; waits (at most 10 s) only over the queue's bound. */
int weir_io_put(struct weir_io *io, const char *line, size_t n);
/* Sends all. */
int weir_io_flush(struct weir_io *io, int64_t deadline_ns);

/* ---- native: messages (weir_json.c) --------------------------------------------------- */

enum weir_line_kind { WEIR_LINE_BLANK, WEIR_LINE_RUN, WEIR_LINE_CONTROL, WEIR_LINE_ALIEN };
enum weir_line_kind weir_line_kind(const char *line, size_t n);
/* A control line as a document; *m = its name. */
int weir_msg_parse(const char *line, size_t n, struct js_doc **doc, const char **m,
		   struct weir_err *e);

#define WEIR_NONCE_LEN 32 /* hex digits */
struct weir_hello {
	int64_t proto;
	char version[32], nonce[WEIR_NONCE_LEN + 1];
	bool auth, udp;
};
void weir_nonce_new(char nonce[WEIR_NONCE_LEN + 1]);
bool weir_nonce_ok(const char *nonce);
void weir_hello_put(const struct weir_hello *h, struct buf *out);
int weir_hello_get(const struct js *msg, struct weir_hello *h, struct weir_err *e);

struct weir_request {
	char version[32], nonce[WEIR_NONCE_LEN + 1];
};
int weir_request_put(const struct weir_request *r, const struct flow_plan *p, const char *facts,
		     struct buf *out, struct weir_err *e);
/* plan is made; the caller frees it also after an error. */
int weir_request_get(const struct js *msg, struct weir_request *r, struct flow_plan *p,
		     struct weir_err *e);

struct weir_ok {                                   /* what holds, after the server's limits */
	uint64_t up, down, rate_bps, udp_down_bps; /* rates: of each flow */
	int64_t duration_ns;
	char udp_token[2 * PROTO_TOKEN_LEN + 1]; /* hex; "" without UDP flows */
};
void weir_token_new(char hex[2 * PROTO_TOKEN_LEN + 1]);
int weir_token_bytes(const char *hex, uint8_t token[PROTO_TOKEN_LEN]);
void weir_ok_put(const struct weir_ok *ok, const char *facts, struct buf *out);
int weir_ok_get(const struct js *msg, struct weir_ok *ok, struct weir_err *e);
/* facts member as compact text, "" when absent or too long. */
void weir_facts_get(const struct js *msg, char *dst, size_t cap);

void weir_error_put(const char *code, const char *msg, const char *hint, struct buf *out);
int weir_error_get(const struct js *msg, struct weir_err *e); /* a negative errno, always */
const char *weir_error_code(int err);

struct weir_ping {
	int64_t id, now_ns;
};
void weir_ping_put(const char *m, const struct weir_ping *p, struct buf *out);
int weir_ping_get(const struct js *msg, struct weir_ping *p);
struct weir_go {
	int64_t offset_ns,
		error_ns; /* far + offset = near, as the server sees it; error < 0 = none */
};
void weir_go_put(const struct weir_go *g, struct buf *out);
int weir_go_get(const struct js *msg, struct weir_go *g);

/* Results go as one "result" line and "flows" lines of a chunk each. */
#define WEIR_CHUNK 256
void weir_result_put(const struct proto_result *r, struct buf *out);
void weir_flows_put(const char *m, const struct proto_result *r, size_t first, struct buf *out);
int weir_result_get(const struct js *msg, struct proto_result *r);
/* Flows of one line into r (plan order, r->n set before); bytes of flows never named stay 0. */
int weir_flows_get(const struct js *msg, struct proto_result *r);
extern const struct proto_field weir_spec_fields[];
extern const size_t weir_n_spec_fields;

/* ---- native: the session (weir_msg.c) ---- */

#define WEIR_PINGS 64 /* outstanding, and answers not yet taken */

struct weir_state {
	struct weir_io io;
	size_t control_bytes, run_bytes;
	bool told; /* this end has reported its error */
	struct weir_ok ok;
	char near_nonce[WEIR_NONCE_LEN + 1], far_nonce[WEIR_NONCE_LEN + 1];
	int64_t ping_id, sent_ns[WEIR_PINGS];
	int64_t rtt_ns[WEIR_PINGS], pong_now_ns;
	size_t n_pongs, taken;        /* answers ever; of these taken */
	struct proto_result far_sent; /* server: from the client's "sent" lines */
	uint64_t *far_bytes;
};

struct weir_msg {
	struct js_doc *doc; /* NULL: dealt with already */
	const struct js *root;
	const char *name;
	const char *line; /* its bytes, until the next read */
	size_t n;
};

int weir_state_new(struct proto_session *s, struct weir_err *e);
struct weir_state *weir_state_of(const struct proto_session *s);
/* Queues the line, frees b. */
int weir_put(struct proto_session *s, struct buf *b, struct weir_err *e);
int weir_put_name(struct proto_session *s, const char *m, struct weir_err *e);
int weir_flush(struct proto_session *s, struct weir_err *e);
/* Tells the peer why; returns ret. */
int weir_put_error(struct proto_session *s, int ret, const struct weir_err *e);
void weir_msg_free(struct weir_msg *m);
bool weir_msg_is(const struct weir_msg *m, const char *name);
int weir_take(struct proto_session *s, struct weir_msg *m, struct weir_err *e);
int weir_peer_failed(const struct proto_session *s, const struct weir_msg *m, struct weir_err *e);
int weir_next(struct proto_session *s, int64_t deadline_ns, int stop_fd, struct weir_msg *m,
	      const char *what, struct weir_err *e);
int weir_want(struct proto_session *s, const char *name, int64_t deadline_ns, int stop_fd,
	      struct weir_msg *m, const char *what, struct weir_err *e);
int weir_put_proven(struct proto_session *s, struct buf *line, struct weir_err *e);
int weir_check_proof(struct proto_session *s, const struct buf *line, int64_t deadline_ns,
		     struct weir_err *e);

/* ---- native: limits (weir_limits.c) and the two roles ---- */

int weir_check_limits(const struct flow_plan *p, const struct proto_limits *lim,
		      struct weir_err *e);
struct weir_ok weir_agree(const struct flow_plan *p, const struct proto_limits *lim);
int weir_apply_ok(struct proto_session *s, const struct weir_ok *ok, struct weir_err *e);

int weir_connect(struct proto_session *s, struct weir_err *e);
int weir_client_start(struct proto_session *s, struct weir_err *e);
int weir_ping(struct proto_session *s);
int64_t weir_pong(struct proto_session *s);
int weir_accept(struct proto_session *s, const struct proto_limits *lim, struct weir_err *e);
int weir_streams(struct proto_session *s, struct weir_err *e);
int weir_server_start(struct proto_session *s, struct weir_err *e);

#endif
