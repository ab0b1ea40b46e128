/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole reads and writes on stream sockets. A peer may send a byte a second or nothing at all,
 * so every wait has an absolute deadline and ends at once when the caller's stop descriptor
 * becomes readable.
 */
#include "net/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MAX_NS (3600 * NSEC_PER_SEC)

int net_set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);
	int want = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;

	if (flags < 0)
		return -errno;
	return want == flags || fcntl(fd, F_SETFL, want) == 0 ? 0 : -errno;
}

int net_wait(int fd, short events, int64_t deadline_ns, int stop_fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = events}, {.fd = stop_fd, .events = POLLIN}};

	for (;;) {
		int64_t left = deadline_ns - clk_mono_ns();
		struct timespec ts;
		int n;

		left = left < 0 ? 0 : left > WAIT_MAX_NS ? WAIT_MAX_NS : left;
		ts.tv_sec = left / NSEC_PER_SEC;
		ts.tv_nsec = left % NSEC_PER_SEC;
		n = ppoll(p, 2, &ts, NULL);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[1].revents)
			return -ECANCELED;
		if (n > 0)
			return 0;
		if (clk_mono_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

int net_wait_readable(int fd, int64_t deadline_ns, int stop_fd)
{
	return net_wait(fd, POLLIN, deadline_ns, stop_fd);
}

int net_read_full(int fd, void *p, size_t n, int64_t deadline_ns, int stop_fd)
{
	char *at = p;

	while (n) {
		ssize_t got = recv(fd, at, n, MSG_DONTWAIT);

		if (got == 0)
			return -EPIPE;
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		} else if (errno == EAGAIN) {
			int rc = net_wait(fd, POLLIN, deadline_ns, stop_fd);

			if (rc)
				return rc;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

int net_write_full(int fd, const void *p, size_t n, int64_t deadline_ns, int stop_fd)
{
	const char *at = p;

	while (n) {
		ssize_t put = send(fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (put >= 0) {
			at += put;
			n -= (size_t)put;
		} else if (errno == EAGAIN) {
			int rc = net_wait(fd, POLLOUT, deadline_ns, stop_fd);

			if (rc)
				return rc;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

void net_close_gently(int fd, int64_t drain_ns)
{
	int64_t deadline = clk_mono_ns() + drain_ns;
	char waste[4096];

	if (fd < 0)
		return;
	if (shutdown(fd, SHUT_WR) == 0)
		while (net_read_full(fd, waste, sizeof(waste), deadline, -1) == 0 &&
		       clk_mono_ns() < deadline)
			;
	close(fd);
}
