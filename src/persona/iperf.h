/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sources of `weir iperf` share: its command line. */
#ifndef WEIR_PERSONA_IPERF_H
#define WEIR_PERSONA_IPERF_H

#include "persona/priv.h"

struct i2_cfg {
	/* as they were typed; NULL = not given */
	char *host, *bind, *cc, *fmt, *key, *csv, *style;
	char *time, *bytes, *len, *window, *rate, *interval, *port, *parallel, *mss, *tos, *fq_rate;
	bool server, udp, nodelay, print_mss, reverse, duplex, compat, v6, help, version;
	bool nothing;
	/* read */
	bool v205;
	int64_t time_ns, interval_ns;
	uint64_t n_bytes, n_len, n_window, rate_bps, n_fq_rate;
	int64_t n_port, n_parallel, n_mss, n_tos;
	char unit;
};
/* 0, or -EINVAL with a line in err. */
int i2_parse(struct i2_cfg *c, int argc, char **argv, char *err, size_t cap);
void i2_cfg_fini(struct i2_cfg *c);
void i2_usage(struct buf *b);
extern const struct opt_set i2_sets[];
#define I2_SETS 3

int i2_client(const struct i2_cfg *c);
int i2_server(const struct i2_cfg *c);
struct format_iperf2_opts i2_format(const struct i2_cfg *c, bool server);
/* "------" and what stands between two of them. */
void i2_banner(struct buf *b, const struct i2_cfg *c, const char *first, bool udp, bool server);
/* Both ends of a socket; id: as the version counts. */
void i2_flow(struct format_iperf2_flow *f, int fd, int id);
void i2_flush(struct buf *b);

#endif
