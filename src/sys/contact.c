/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the other end of a TCP connection still answers. The problem: a change of an interface
 * may cut off the person who made it, and sshd notices hours later. The idea: the kernel's table of
 * connections says when what was sent is sent again and again; a connection of which that is so for
 * some seconds has nobody at its other end, also when the kernel then gives it up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/priv.h"

#define TABLE_MAX (8U << 20)

/* "PEER PORT LOCAL PORT", as sshd says it. */
bool sys_contact_init(struct sys_contact *c, const char *ssh_connection)
{
	char peer[64], local[64];
	uint8_t v4[4];

	*c = (struct sys_contact){0};
	if (!ssh_connection || sscanf(ssh_connection, "%63s %5hu %63s %5hu", peer, &c->peer_port,
				      local, &c->local_port) != 4)
		return false;
	peer[strcspn(peer, "%")] = '\0';
	if (inet_pton(AF_INET, peer, v4) == 1) { /* as the kernel maps it */
		c->peer[10] = c->peer[11] = 0xff;
		memcpy(c->peer + 12, v4, 4);
		return true;
	}
	return inet_pton(AF_INET6, peer, c->peer) == 1;
}

#define GENERATIONS 32
#define ENVIRON_MAX (256U << 10)

static int parent_of(int pid)
{
	char path[32], text[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (sys_read_attr(path, text, sizeof(text)) < 0)
		return 0;
	/* The name before it may hold anything, ')' too. */
	const char *s = strrchr(text, ')');
	return s && sscanf(s + 1, " %*c %d", &pid) == 1 ? pid : 0;
}

static bool of_process(struct sys_contact *c, int pid)
{
	static const char name[] = "SSH_CONNECTION=";
	char path[32];
	struct buf b = {0};
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	sys_read_file(path, ENVIRON_MAX, &b, NULL);
	for (size_t i = 0; !found && i < b.len; i += strlen(b.data + i) + 1)
		if (!strncmp(b.data + i, name, sizeof(name) - 1))
			found = sys_contact_init(c, b.data + i + sizeof(name) - 1);
	buf_fini(&b);
	return found;
}

bool sys_contact_of_parents(struct sys_contact *c)
{
	int pid = getppid();

	for (int i = 0; i < GENERATIONS && pid > 1; i++, pid = parent_of(pid))
		if (of_process(c, pid))
			return true;
	*c = (struct sys_contact){0};
	return false;
}

/* Words of the host's byte order in hexadecimal. */
static bool read_address(const char *hex, uint8_t dst[16])
{
	size_t n = strlen(hex);
	size_t words = n / 8;
	uint32_t w;

	memset(dst, 0, 16);
	if (n != 8 && n != 32)
		return false;
	for (size_t i = 0; i < words; i++) {
		if (sscanf(hex + i * 8, "%8x", &w) != 1)
			return false;
		memcpy(dst + (words == 1 ? 12 : i * 4), &w, 4);
	}
	if (words == 1)
		dst[10] = dst[11] = 0xff;
	return true;
}

/* The row of the connection in a table in the form of /proc/net/tcp: how often it sends again. */
static int find_row(const char *table, const struct sys_contact *c, unsigned *again)
{
	for (const char *s = strchr(table, '\n'); s; s = strchr(s + 1, '\n')) {
		char remote[40];
		unsigned lport, rport, state;
		uint8_t peer[16];
		if (sscanf(s + 1,
			   " %*u: %*[0-9A-Fa-f]:%4x %39[0-9A-Fa-f]:%4x %2x %*x:%*x %*x:%*x %8x",
			   &lport, remote, &rport, &state, again) == 5 &&
		    lport == c->local_port && rport == c->peer_port && read_address(remote, peer) &&
		    !memcmp(peer, c->peer, 16))
			return 1;
	}
	return 0;
}

bool sys_contact_judge(struct sys_contact *c, const char *table4, const char *table6,
		       int64_t now_ns, int64_t limit_ns)
{
	unsigned again = 0;
	bool there = find_row(table4, c, &again) || find_row(table6, c, &again);

	c->seen |= there;
	if (!c->seen) /* another namespace's, or none at all: nothing can be said */
		return false;
	/* Ended while it still answered: who left did so by himself, and a screen may go on. */
	if (there ? !again : !c->silent_since_ns) {
		c->silent_since_ns = 0;
		return false;
	}
	if (!c->silent_since_ns)
		c->silent_since_ns = now_ns;
	return now_ns - c->silent_since_ns >= limit_ns;
}

bool sys_contact_lost(struct sys_contact *c, int64_t now_ns, int64_t limit_ns)
{
	struct buf b4 = {0}, b6 = {0};

	sys_read_file("/proc/net/tcp", TABLE_MAX, &b4, NULL);
	sys_read_file("/proc/net/tcp6", TABLE_MAX, &b6, NULL);
	bool lost = sys_contact_judge(c, b4.data ? b4.data : "", b6.data ? b6.data : "", now_ns,
				      limit_ns);
	buf_fini(&b4);
	buf_fini(&b6);
	return lost;
}
