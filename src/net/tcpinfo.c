/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP_INFO at the length the kernel gives. glibc's struct is an old short one and cannot be
 * included beside the kernel's header, hence a layout of our own.
 */
#include "net/net.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

int net_tcp_info_get(int fd, struct net_tcp_info *i)
{
	socklen_t len = sizeof(*i);

	memset(i, 0, sizeof(*i));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, i, &len))
		return -errno;
	return (int)len;
}
