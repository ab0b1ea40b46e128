/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sources of proto/ share: the field tables, bounded reading of the control
 * connection, and the keyed hash. Not for other rooms.
 */
#ifndef WEIR_PROTO_PRIV_H
#define WEIR_PROTO_PRIV_H

#include "proto/proto.h"

extern const struct proto proto_weir, proto_iperf3, proto_iperf2, proto_nttcp, proto_ttcp;

/* ---- field tables (fields.c) ------------------------------------------------ */

/*
 * One row a JSON member, for encoding, decoding and checking. A member that is absent leaves the
 * field as it was: the caller sets the defaults first.
 */
enum pf_type {
	PF_TRUE, /* bool, written as true */
	PF_ONE,  /* bool, written as the number 1 */
	PF_INT,  /* int64_t */
	PF_UINT, /* unsigned of `size` bytes */
	PF_REAL, /* double */
	PF_STR,  /* char[size], cut */
	PF_NAME, /* char[size]; a longer one counts as a wrong type */
	PF_ENUM, /* enum of 4 bytes, written as names[value] */
};
enum pf_flag {
	PF_ALWAYS = 1,   /* written even when zero or empty */
	PF_REQUIRED = 2, /* reading fails without it */
};
struct proto_field {
	const char *key;
	enum pf_type type;
	unsigned flags;
	size_t offset, size;
	int64_t min, max;  /* PF_INT, PF_UINT, PF_REAL */
	const char *since; /* the first version of the tool that sends it */
	int code;          /* iperf3's number for "out of range"; lenient, 0: as good as absent */
	const char *const *names;
};
#define PF_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)

enum pf_mode {
	PF_LENIENT, /* keys in any case, a member of a wrong type is as good as absent */
	PF_STRICT,  /* exact keys, a wrong type is an error */
};
void proto_fields_put(struct jw *w, const struct proto_field *f, size_t n, const void *base);
/* 0, or -EINVAL (wrong type or absent) or -ERANGE with *bad = the row. */
int proto_fields_get(const struct js *obj, const struct proto_field *f, size_t n, void *base,
		     enum pf_mode mode, const struct proto_field **bad);

/* n letters of iperf3's cookie alphabet, 5 random bits each; at most PROTO_COOKIE_LEN. */
void proto_cookie_random(char *dst, size_t n);

/* ---- bounded reading (io.c) --------------------------------------------------- */

/* Longest silence of a peer that owes an answer: timeout_ns, or 10 s. */
int64_t proto_idle_ns(const struct proto_session *s);
/* The end of one whole exchange: three times that from now. */
int64_t proto_deadline(const struct proto_session *s);
/* n bytes of the control connection; each wait at most proto_idle_ns, all by deadline_ns. */
int proto_read(struct proto_session *s, void *p, size_t n, int64_t deadline_ns, int stop_fd);
/* Text for an error of proto_read: who was silent, or closed, while `what`. */
int proto_read_err(const struct proto_session *s, int err, const char *what, struct weir_err *e);
/* "host:port" of the far end, safe to print. */
void proto_peer_name(const struct proto_session *s, char *dst, size_t cap);
/* s->fds gets n entries of -1. */
int proto_fds_new(struct proto_session *s, size_t n, struct weir_err *e);
/* Client: data connection i, its cookie and n_tail bytes of the protocol's own sent. */
#define PROTO_TAIL_MAX 8
int proto_data_open(struct proto_session *s, size_t i, const void *tail, size_t n_tail,
		    struct weir_err *e);
/* The local port of flow i into o, from s->cport. */
int proto_cport(const struct proto_session *s, size_t i, struct net_sock_opts *o,
		struct weir_err *e);
/* Server: until when all data connections must be there. */
int64_t proto_streams_deadline(const struct proto_session *s);
/* Server: the next data connection, given up when the control connection dies. */
int proto_data_take(struct proto_session *s, int64_t deadline_ns, struct weir_err *e);
/* What fits now, without waiting and without SIGPIPE. */
void proto_say_bytes(int fd, const void *p, size_t n);

/* ---- the client's way in (probe.c, probe_own.c) --------------------------------------- */

#define PROTO_ADDRS_MAX 16
int64_t proto_dial_timeout(const struct proto_session *s);
/* Of s->host and s->port: how many, or -errno. */
int proto_addrs(const struct proto_session *s, struct net_addr addrs[PROTO_ADDRS_MAX],
		struct weir_err *e);
/* s->ctl_fd, to the first address that takes it. spec: it is a data connection. */
int proto_open_control(struct proto_session *s, const struct flow_spec *spec, struct weir_err *e);
/* The protocol whose own port it is, or NULL. */
const struct proto *proto_own_port(uint16_t port);
/* Connects as p, which has no greeting. */
int proto_dial_own(struct proto_session *s, const struct proto *p, struct weir_err *e);
/* The same; by UDP only when p has answered. */
int proto_ask_own(struct proto_session *s, const struct proto *p, struct weir_err *e);
/* weir's and iperf3's greeting ended with `ret`, and why is in e: does another answer? given: on
 * that port alone. */
int proto_ask_others(struct proto_session *s, int ret, bool given, struct weir_err *e);

/* ---- UDP flows (udp.c) --------------------------------------------------------------- */

bool proto_has_udp(const struct flow_plan *p);
/* Of limits.udp_down_bps, what is left to the payload of each of the UDP flows down; 0 = any. */
uint64_t proto_udp_down_share(const struct flow_plan *p, const struct proto_limits *lim);
/* UDP flows without a length get that of the control connection's segments. */
void proto_udp_lengths(const struct proto_session *s, struct flow_plan *p);
/* Client: flow i's socket, its hello answered. token NULL: iperf3's hello. */
int proto_udp_open(struct proto_session *s, size_t i, const uint8_t *token, struct weir_err *e);
/* Server: hellos that come again on sockets that are paired already get their answer again. */
void proto_udp_answer(const struct proto_session *s);
/* Server: the next n flows of the plan are expected, by TCP or by UDP. */
int proto_expect(struct proto_session *s, const uint8_t *token, struct weir_err *e);
/* Server: flow i's options on the socket that was taken for it. */
int proto_apply(int fd, const struct flow_spec *spec, struct weir_err *e);

/* ---- digests, keyed hash, RSA (crypto.c) ----------------------------------------- */

#define PROTO_SHA1    20
#define PROTO_SHA256  32
#define PROTO_RSA_MAX 1024 /* bytes of a modulus */
#define PROTO_MAC_HEX 65   /* 64 digits and a NUL */
struct proto_part {
	const char *p;
	size_t n;
};
bool proto_has_crypto(void);
/* All of these: 0, or -ENOTSUP when built without libcrypto. */
int proto_sha1(const struct proto_part *parts, size_t n_parts, uint8_t out[PROTO_SHA1]);
int proto_sha256(const struct proto_part *parts, size_t n_parts, uint8_t out[PROTO_SHA256]);
int proto_hmac(const void *key, size_t n_key, const void *p, size_t n, uint8_t out[PROTO_SHA256]);
/* HMAC-SHA256 over the parts, each followed by a NUL. */
int proto_psk_mac(const char *psk, const struct proto_part *parts, size_t n_parts,
		  char hex[PROTO_MAC_HEX]);
/* Takes the same time whatever differs. */
bool proto_psk_same(const char *a, const char *b, size_t n);

struct proto_rsa;
int proto_rsa_new(const void *pem, size_t n, bool private, struct proto_rsa **out,
		  struct weir_err *e);
void proto_rsa_free(struct proto_rsa *k);
size_t proto_rsa_bytes(const struct proto_rsa *k);
/* Public: out has the key's size. -EINVAL when n does not fit. */
int proto_rsa_encrypt(const struct proto_rsa *k, bool pkcs1, const void *p, size_t n, uint8_t *out);
/* Private: a block of the key's size to another, padding and all. */
int proto_rsa_raw(const struct proto_rsa *k, const uint8_t *in, uint8_t *out);
/* A secret that belongs to the private key. */
int proto_rsa_secret(const struct proto_rsa *k, uint8_t out[PROTO_SHA256]);

/* Padding (unpad.c): em, what proto_rsa_raw gave for `cipher`, becomes the message of *len bytes;
 * one made up from the secret when the padding is wrong, told by nothing. */
int proto_unpad(bool pkcs1, const uint8_t secret[PROTO_SHA256], const uint8_t *cipher, uint8_t *em,
		size_t n, size_t *len);

/* ---- base64 without line ends (iperf3_auth.c) ------------------------------------- */

/* "" and a failed buffer when it does not fit. */
void proto_base64(const uint8_t *p, size_t n, struct buf *out);
/* Bytes, or -EINVAL for what is not canonical or longer than cap. */
ssize_t proto_unbase64(const char *s, uint8_t *out, size_t cap);

/* ---- iperf3 ---------------------------------------------------------------------- */

#define IPERF3_FLOWS_MAX   128
#define IPERF3_SECONDS_MAX 86400
#define IPERF3_PARAMS_MAX  8192
#define IPERF3_LEN_DEFAULT 131072
#define IPERF3_TOKEN_MAX   ((PROTO_RSA_MAX + 2) / 3 * 4 + 1)

enum iperf3_error { /* the numbers of iperf3 that this end sends */
		    IPERF3_E_DURATION = 5,
		    IPERF3_E_STREAMS = 6,
		    IPERF3_E_BLOCK = 7,
		    IPERF3_E_BUFFER = 8,
		    IPERF3_E_MSS = 10,
		    IPERF3_E_OMIT = 12,
		    IPERF3_E_BURST = 15,
		    IPERF3_E_END = 16,
		    IPERF3_E_UDP_BLOCK = 20,
		    IPERF3_E_TOS = 21,
		    IPERF3_E_DIRECTIONS = 25,
		    IPERF3_E_RATE = 27,
		    IPERF3_E_DURATION_LIMIT = 37,
		    IPERF3_E_INIT = 101,
		    IPERF3_E_PARAMS = 114,
		    IPERF3_E_RESULTS = 117,
		    IPERF3_E_PROTOCOL = 131,
		    IPERF3_E_AUTH = 142,
		    IPERF3_E_ACCEPT = 204,
};

struct iperf3_params {
	bool tcp, udp, sctp, nodelay, reverse, bidirectional;
	bool get_server_output, udp_counters_64bit, zerocopy, skip_rx_copy, dont_fragment;
	bool repeating_payload;
	int64_t omit, time, num, blockcount, mss, parallel, window, len, bandwidth, fqrate;
	int64_t pacing_timer, burst, tos, flowlabel;
	char title[256], congestion[16], client_version[64];
	char authtoken[IPERF3_TOKEN_MAX];
};
/* The text of the parameters that carry this plan, or an error that says why none can. */
int iperf3_params_put(const struct flow_plan *p, struct buf *out, struct weir_err *e);
/* The same with a login's token (NULL = none). */
int iperf3_params_put_token(const struct flow_plan *p, const char *token, struct buf *out,
			    struct weir_err *e);
/* Client: the token of this moment. */
int iperf3_auth_token(const struct proto_login *l, int64_t now_s, struct buf *out,
		      struct weir_err *e);
/* Server: 0 or -EACCES (e says why, for the log alone), each after the same time. */
int iperf3_auth_check(const struct proto_login *l, const char *token, struct weir_err *e);
/* 0, or a negative errno with the number that iperf3 has for it in *code. */
int iperf3_params_get(const char *text, size_t n, struct iperf3_params *out, int *code,
		      struct weir_err *e);
int iperf3_params_plan(const struct iperf3_params *p, struct flow_plan *plan, int *code,
		       struct weir_err *e);
/* sender: this end sends the flows of that direction. */
int iperf3_results_put(const struct flow_plan *p, enum net_dir sender, const struct proto_result *r,
		       struct buf *out);
int iperf3_results_get(const char *text, size_t n, size_t flows, struct proto_result *r,
		       struct weir_err *e);
/* Stream number on the wire of flow i: 1, 3, 4, 5, … */
int64_t iperf3_stream_id(size_t i);
/* iperf3's error number in own words; never NULL. */
const char *iperf3_error_text(int code);
/* What the tables do not have (iperf3_extra.c): members added to a message that is an object, and
 * taken from one. A report that does not fit is left out. */
/* A message that was sent or taken, without the login's token; x may be NULL. */
void iperf3_extra_tell(const struct proto_extra *x, const char *what, const char *text, size_t n);
void iperf3_extra_put_params(const struct proto_extra *x, struct buf *b);
void iperf3_extra_get_params(struct proto_extra *x, const char *text, size_t n);
void iperf3_extra_put_results(const struct proto_extra *x, const struct proto_result *mine,
			      struct buf *b);
void iperf3_extra_get_results(struct proto_extra *x, const char *text, size_t n);
extern const struct proto_field iperf3_param_fields[];
extern const size_t iperf3_n_param_fields;

#endif
