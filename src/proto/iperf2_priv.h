/* SPDX-License-Identifier: BSD-2-Clause */
/* What iperf 2's two roles share (iperf2.c, iperf2_server.c). */
#ifndef WEIR_PROTO_IPERF2_PRIV_H
#define WEIR_PROTO_IPERF2_PRIV_H

#include "proto/priv.h"

struct iperf2_state {
	int *fd; /* the data sockets once more: the engine closes its own */
	size_t n;
	bool newer;
	uint32_t len;                   /* UDP: of the datagram that is answered */
	struct net_bursts bursts;       /* what a client that wants times is sent */
	uint8_t head[IPERF2_FIRST_MAX]; /* of a connection, or what is in each datagram */
};

int iperf2_state_new(struct proto_session *s, size_t n, struct weir_err *e);
void iperf2_tell_opened(struct proto_session *s);

int iperf2_server_accept(struct proto_session *s, const struct proto_limits *lim,
			 struct weir_err *e);
int iperf2_server_streams(struct proto_session *s, struct weir_err *e);
void iperf2_server_end(struct proto_session *s, const struct proto_result *mine);

#endif
