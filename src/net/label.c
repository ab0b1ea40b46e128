/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IPv6 flow labels. The kernel sends only labels that a socket has leased, and takes the one to use
 * from the address that is connected to. Its header clashes with libc's, so the request's layout
 * is told here.
 */
#include "net/priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define FLOWLABEL_MGR 32 /* IPV6_FLOWLABEL_MGR */
#define FLOWINFO_SEND 33 /* IPV6_FLOWINFO_SEND */
#define LEASE_GET     0
#define LEASE_SHARED  255
#define LEASE_CREATE  1
#define LABEL_MASK    0xfffffU

struct label_request { /* struct in6_flowlabel_req of linux/in6.h */
	struct in6_addr dst;
	uint32_t label; /* big-endian */
	uint8_t action, share;
	uint16_t flags, expires, linger;
	uint32_t pad;
};

int net_apply_label(int fd, struct net_addr *to, uint32_t label, struct weir_err *e)
{
	struct label_request r = {.label = htonl(label & LABEL_MASK),
				  .action = LEASE_GET,
				  .share = LEASE_SHARED,
				  .flags = LEASE_CREATE};

	if (to->sa.sa_family != AF_INET6)
		return err_set(e, WEIR_USAGE, EAFNOSUPPORT, "a flow label needs IPv6");
	r.dst = to->in6.sin6_addr;
	if (setsockopt(fd, IPPROTO_IPV6, FLOWLABEL_MGR, &r, sizeof(r)))
		return err_os(e, errno, "cannot lease the flow label 0x%05x", label);
	if (net_sock_set(fd, IPPROTO_IPV6, FLOWINFO_SEND, 1))
		return err_os(e, errno, "cannot send flow labels");
	to->in6.sin6_flowinfo = r.label;
	return 0;
}
