/* SPDX-License-Identifier: BSD-2-Clause */
/* net, private: what several of the room's sources share. */
#ifndef WEIR_NET_PRIV_H
#define WEIR_NET_PRIV_H

#include "net/net.h"

/* ---- sock.c ---- */
int net_set_blocking(int fd, bool blocking);
/* Until events (POLLIN, POLLOUT) or an error: 0, -ETIMEDOUT, -ECANCELED or -errno. */
int net_wait(int fd, short events, int64_t deadline_ns, int stop_fd);

#endif
