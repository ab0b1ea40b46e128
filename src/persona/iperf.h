/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sources of `weir iperf` share: its command line. */
#ifndef WEIR_PERSONA_IPERF_H
#define WEIR_PERSONA_IPERF_H

#include "persona/priv.h"

enum i2_congest { I2_CONGEST_NONE, I2_CONGEST_BOTH, I2_CONGEST_UP, I2_CONGEST_DOWN };
struct i2_cfg {
	/* as they were typed; NULL = not given */
	char *host, *bind, *cc, *fmt, *key, *csv, *style, *output, *exclude, *file, *ttl, *ssm;
	char *time, *bytes, *len, *window, *rate, *interval, *port, *parallel, *mss, *tos, *fq_rate;
	char *listen, *hist, *txdelay, *txstart, *iso, *ipg, *burst_size, *burst_period, *near;
	char *connect_only, *connect_retries, *ignored;
	char *bb, *bb_congest, *bb_hold, *bb_period, *bb_txdelay;
	bool server, udp, nodelay, print_mss, reverse, duplex, compat, v6, help, version;
	bool enhanced, daemon, stdin_too, dual, trade, trip, no_fin, quickack, write_times,
		sum_only;
	bool hide, realtime, single, bb_no_quickack, incr_dstport;
	bool nothing;
	/* read */
	bool v205;
	int64_t time_ns, interval_ns, txdelay_ns, bb_period_ns, bb_txdelay_ns, burst_period_ns,
		ipg_ns;
	double txstart_s, rate_stdev, iso_fps, iso_mean, iso_stdev,
		near_weight; /* bit/s or bytes */
	uint64_t n_bytes, n_len, n_window, rate_bps, n_fq_rate, n_burst;
	int64_t n_port, n_parallel, n_mss, n_tos, n_listen, n_ttl, n_connects, n_retries;
	int64_t n_bb, n_bb_hold_us, n_bb_load;
	bool iso_packets, bursts;
	bool beside; /* a load beside --bounceback */
	enum i2_congest congest;
	int64_t hist_bin_ns;
	uint32_t hist_bins;
	double hist_lower, hist_upper;
	char unit;
};
/* 0, or -EINVAL with a line in err. */
int i2_parse(struct i2_cfg *c, int argc, char **argv, char *err, size_t cap);
void i2_cfg_fini(struct i2_cfg *c);
void i2_usage(struct buf *b);
extern const struct opt_set i2_sets[];
#define I2_SETS 4

int i2_client(const struct i2_cfg *c);
int i2_server(const struct i2_cfg *c);
int i2_bounce(const struct i2_cfg *c);
int i2_connect_only(const struct i2_cfg *c);

struct format_iperf2_opts i2_format(const struct i2_cfg *c, bool server);
/* "------" and what stands between two of them. */
void i2_banner(struct buf *b, const struct i2_cfg *c, const char *first, bool udp, bool server);
/* Both ends of a socket; id: as the version counts. */
void i2_flow(struct format_iperf2_flow *f, int fd, int id);
void i2_device(struct format_iperf2_flow *f, int fd); /* by which it reaches its peer */
void i2_flush(struct buf *b);
bool i2_is_group(const struct net_addr *a); /* multicast */

/* ---- what is printed (iperf_report.c) --------------------------------------------------- */

#define I2_FLOWS    256
#define I2_UDP_RATE 1048576 /* bit/s, of both versions */
#define I2_FIRST_FD 3       /* 2.0.5's numbers are descriptors; a server's own listener is 3 */
#define I2_LEN      131072

struct i2_report {
	const struct i2_cfg *c;
	struct format_iperf2_opts o;
	struct buf out;
	struct format_iperf2_flow flow[I2_FLOWS];
	char label[I2_FLOWS][160];
	size_t n, up; /* flows; of them up */
	bool server, udp, trip, ticked;
	int header; /* the form whose heading was printed last; -1 = none */
	int first_id;
	double real0;                         /* of the run's time 0, s */
	struct net_flow_sample *now, *before; /* at the last tick, and at the one before */
	uint64_t *hist[2];                    /* of flow 0: now and before; NULL = none */
	int64_t connect_ns[I2_FLOWS];
	struct iperf2_report told[I2_FLOWS];
	void (*flush)(struct i2_report *r);
	void *arg;
	struct sink sink;
	struct proto_iperf2 iperf2;
};
#define I2_RULE "------------------------------------------------------------"
struct i2_report *i2_report_new(const struct i2_cfg *c, bool server);
void i2_report_free(struct i2_report *r);
void i2_report_hooks(struct i2_report *r, struct measure_hooks *h);
/* The hook of struct proto_iperf2. */
void i2_opened(void *arg, struct proto_session *s);
/* Rows of all flows and their sum; t NULL: of the whole. */
void i2_rows(struct i2_report *r, const struct model_run *run, const struct model_tick *t);
void i2_put_header(struct i2_report *r, enum format_iperf2_form form);
bool i2_without(const struct i2_cfg *c, char what); /* of -x */
/* "[ CT] …": of n connections. */
void i2_connect_times(struct buf *b, const int64_t *ns, size_t n, size_t failed);
/* The banner's lines of -e. */
void i2_settings(struct buf *b, const struct i2_cfg *c, bool udp, bool server);
/* With -e, and where what is asked for has only such rows. */
bool i2_enhanced(const struct i2_cfg *c);
void i2_host(const struct i2_cfg *c, char *dst, size_t cap);
/* Whatever bursts -b, --isochronous, --burst-size … need of the flows. */
struct i2_shape {
	struct net_bursts bursts;
	uint8_t head[IPERF2_FIRST_MAX];
};
void i2_shape(const struct i2_cfg *c, struct i2_shape *s, struct flow_plan *p);

#endif
