/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket counts its own drops; the host counts those of all its sockets. The two side by side
 * say whether others overflowed beside ours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"
#include "sys/sys.h"

#define SNMP6_MAX (64U << 10)

/* IPv6's counters have a file and a form of their own: a name and a value a line. */
static int v6_drops(int64_t *v)
{
	static const char name[] = "Udp6RcvbufErrors";
	struct buf b = {0};
	int rc = sys_read_file("/proc/thread-self/net/snmp6", SNMP6_MAX, &b, NULL);
	const char *at = rc < 0 || !b.data ? NULL : strstr(b.data, name);

	if (at)
		*v = strtoll(at + sizeof(name) - 1, NULL, 10);
	buf_fini(&b);
	return at ? 0 : -ENOENT;
}

int64_t net_udp_host_drops(void)
{
	int64_t v4 = 0, v6 = 0;
	int rc4 = sys_snmp_get("Udp", "RcvbufErrors", &v4), rc6 = v6_drops(&v6);

	return rc4 < 0 && rc6 < 0 ? -1 : v4 + v6;
}
