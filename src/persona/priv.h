/* SPDX-License-Identifier: BSD-2-Clause */
/* persona's private pieces: the rows, and what iperf3's two roles share. */
#ifndef WEIR_PERSONA_PRIV_H
#define WEIR_PERSONA_PRIV_H

#include <sys/types.h>

#include "format/format.h"
#include "measure/measure.h"
#include "persona/persona.h"

extern const struct persona persona_iperf3, persona_iperf, persona_nttcp, persona_ttcp;

/* ---- a measurement for another tool's client (plain.c) ----------------------------------- */

struct plain {
	const struct measure *m;
	void *cfg;
	struct opt_set set;
	struct weir_err *e;
	int rc; /* the first failure: what follows does nothing */
	struct measure_hooks hooks;
};
int plain_init(struct plain *p, const struct measure *m, struct weir_err *e);
void plain_want(struct plain *p, bool given, const char *name, const char *value);
void plain_want_number(struct plain *p, bool given, const char *name, uint64_t v);
void plain_want_ns(struct plain *p, bool given, const char *name, int64_t ns);
/* Runs it into the sink, which it closes, and the store; *run is the caller's. */
int plain_run(struct plain *p, struct sink *take_sink, bool keep, struct model_run **run);
void plain_fini(struct plain *p);
struct sink *plain_quiet(void); /* that prints nothing */
/* Bounce-back, kept likewise. */
int plain_bounce(const struct measure_bounce *b, struct weir_err *e);

/* ---- iperf3: the command line (iperf3_opts.c) -------------------------------------- */

enum i3_style { I3_STYLE_312, I3_STYLE_321 };
#define I3_RATE_PERIODS_MAX 1000

struct i3_cfg {
	/* either */
	int64_t port;
	char unit; /* of -f, or 0 */
	double interval_s;
	char *pidfile, *file, *bind, *bind_dev, *logfile, *timestamps; /* NULL = not given */
	int64_t cpu, server_cpu;                                       /* -1 = any */
	bool verbose, json, stream, full, forceflush, mptcp, v4, v6;
	int64_t debug, rcv_timeout_ms, snd_timeout_ms;
	bool keepalive, rcv_given;
	int64_t keep_idle, keep_interval, keep_count;
	int style;
	/* server */
	bool server, daemon, one_off, pkcs1;
	uint64_t limit_bps;
	int64_t limit_s, idle_s, max_duration_s, skew_s;
	char *key, *users;
	/* client */
	char *host, *cc, *title, *extra_data, *username, *public_key;
	bool udp, sctp, rate_given, time_given, reverse, bidir, nodelay, zerocopy, rx_trunc;
	bool server_output, wide, digits, dont_fragment, gsro;
	int64_t connect_timeout_ms, time_s, omit_s, parallel, cport, mss, tos, flow_label, burst;
	uint64_t rate_bps, fq_rate, bytes, blocks, len, window;
	/* weir's own */
	bool no_store;
	char *db;
	struct opt_list tags;
	bool help, version;
};
/* What is wrong, in iperf3's words; param: it goes with the usage. */
struct i3_error {
	bool param, told; /* told: getopt has said it already */
	char text[240];
};
/* 0, or -EINVAL with e. */
int i3_parse(struct i3_cfg *c, int argc, char **argv, struct i3_error *e);
void i3_cfg_fini(struct i3_cfg *c);
extern const struct opt_set i3_sets[];
extern const size_t i3_n_sets;
/* "%dev" at the end of a host goes to *dev. */
int i3_split_device(char **host, char **dev);
/* Suffixes K M G T; 1024 or 1000. False for what is no number (0 then). */
bool i3_number(const char *s, double base, double *v);

/* ---- where output goes (iperf3_out.c) ------------------------------------------------- */

struct i3_out {
	const struct i3_cfg *c;
	int fd;         /* standard output, or the log file */
	int err_fd;     /* standard error, or the log file */
	struct buf buf; /* what the writer has made */
	char system_info[400];
};
int i3_out_open(struct i3_out *o, const struct i3_cfg *c, struct i3_error *e);
void i3_out_close(struct i3_out *o);
void i3_out_flush(struct i3_out *o); /* o->buf */
void i3_out_prefix(void *arg, struct buf *b);
/* "iperf3: error - …" and what else goes there. */
void i3_complain(struct i3_out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
const char *i3_version(const struct i3_cfg *c);
void i3_system_info(char *dst, size_t cap);
struct sink *i3_writer(struct i3_out *o, struct buf *out);
/* With -V: who prints. */
void i3_banner(struct i3_out *o);
int i3_usage(const struct i3_cfg *c, int fd);
int i3_print_version(const struct i3_cfg *c);
/* Whoever asked for JSON reads JSON, whatever was wrong. */
void i3_error_document(struct i3_out *o, const char *text);
/* What went wrong before there was anything to do; the exit code. */
int i3_fail_early(struct i3_out *o, const char *text);
/* A wrong command line: iperf3's words, the usage, and what it was in ours (NULL = nothing more).
 * The exit code. */
#define I3_NO_SERVER_KEY \
	"you must specify a path to a valid RSA private key and a user credential file"
#define I3_NO_CLIENT_KEY "you must specify a username, password, and path to a valid RSA public key"
int i3_refuse(struct i3_out *o, const char *text, const char *more);

/* A stop signal: readable, then its number can be taken (0 = none came). */
int i3_stop_fd(void);
int i3_stop_signal(void);
bool i3_is_stopping(void);
void i3_stop_now(void); /* as if by a signal without a number */

/* ---- the roles -------------------------------------------------------------------------- */

struct i3_test { /* a session's side of struct format_iperf3_test */
	struct format_iperf3_test t;
	struct format_iperf3_flow *flows;
	char host[128], cookie[PROTO_COOKIE_LEN];
};
/* What both roles read off a session; host: as the user calls it, NULL = the peer's address. */
void i3_test_read(struct i3_test *t, const struct proto_session *s, const char *host);
void i3_test_flows(struct i3_test *t, const struct proto_session *s, const struct i3_cfg *c);
/* The first such event of a run (which may be NULL), or NULL. */
const struct model_event *i3_event(const struct model_run *run, enum model_warn_code code);
/* Why a stream could not be sent, in iperf3's words; false when that was not so. */
bool i3_send_failure(const struct model_run *run, char *dst, size_t cap);
/* iperf3's sentence for one of its error numbers, or NULL. */
const char *i3_error_words(int code);
void i3_test_fini(struct i3_test *t);
/* Timeouts and keepalive of the sockets. */
void i3_apply_sockets(const struct i3_cfg *c, const struct proto_session *s);
int i3_pin(int64_t cpu);
/* Writes the number of this process; refuses when another's lives. A descriptor for the end, by
 * which time the privileges to remove the file may be gone: then it is emptied. */
int i3_pidfile(const char *file, struct i3_error *e);
void i3_pidfile_end(const char *file, int fd);

int i3_client(const struct i3_cfg *c, struct i3_out *o);
int i3_server(const struct i3_cfg *c, struct i3_out *o);

#endif
