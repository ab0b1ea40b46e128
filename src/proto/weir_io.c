/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines over the native control connection. A client that has to wait for room to send keeps
 * reading meanwhile, so two ends that both have much to say cannot block each other. A server
 * does not: what it had read would no longer wake whoever polls its socket. Every queue has a
 * bound, in bytes and in time.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "proto/weir.h"

#define READ_CHUNK ((size_t)64 << 10)
#define IN_MAX     ((size_t)512 << 10)

/* Held unread while sending: a whole line at least. */
static size_t in_max(const struct weir_io *io)
{
	return IN_MAX + (io->runs ? WEIR_TICK_MAX : 0);
}

/* The longest that this line may be. */
static size_t line_max(const char *line, size_t n, bool runs)
{
	return runs && weir_line_kind(line, n) == WEIR_LINE_RUN ? WEIR_TICK_MAX : WEIR_LINE_MAX;
}

void weir_io_init(struct weir_io *io, int fd, bool runs)
{
	*io = (struct weir_io){.fd = fd, .runs = runs};
	io->in.max = in_max(io) + READ_CHUNK;
	io->out.max = WEIR_QUEUE_MAX + WEIR_TICK_MAX + WEIR_LINE_MAX;
}

void weir_io_fini(struct weir_io *io)
{
	buf_fini(&io->in);
	buf_fini(&io->out);
}

static void drop_used(struct weir_io *io)
{
	if (!io->used)
		return;
	buf_drop(&io->in, io->used);
	io->seen -= io->used;
	io->used = 0;
}

int weir_io_fill(struct weir_io *io)
{
	ssize_t n;

	drop_used(io);
	if (io->in.len >= in_max(io))
		return -EAGAIN;
	if (!buf_reserve(&io->in, READ_CHUNK))
		return -ENOMEM;
	n = recv(io->fd, io->in.data + io->in.len, READ_CHUNK, MSG_DONTWAIT);
	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	io->in.len += (size_t)n;
	io->in.data[io->in.len] = 0;
	return (int)n;
}

int weir_io_line(struct weir_io *io, const char **line, size_t *n)
{
	const char *start, *nl;

	if (!io->in.data)
		return -EAGAIN;
	start = io->in.data + io->used;
	nl = memchr(io->in.data + io->seen, '\n', io->in.len - io->seen);
	if (!nl) {
		io->seen = io->in.len;
		*n = io->in.len - io->used;
		return *n > line_max(start, *n, io->runs) ? -EMSGSIZE : -EAGAIN;
	}
	*line = start;
	*n = (size_t)(nl - start);
	io->used = io->seen = (size_t)(nl - io->in.data) + 1;
	if (*n > line_max(start, *n, io->runs))
		return -EMSGSIZE;
	if (*n && start[*n - 1] == '\r')
		--*n;
	return 0;
}

static int send_some(struct weir_io *io)
{
	ssize_t n;

	if (!io->out.len)
		return 0;
	n = send(io->fd, io->out.data, io->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	buf_drop(&io->out, (size_t)n);
	return 0;
}

static int wait_io(const struct weir_io *io, short events, int64_t deadline_ns, int stop_fd)
{
	struct pollfd p[2] = {{.fd = io->fd, .events = events}, {.fd = stop_fd, .events = POLLIN}};
	int64_t left = deadline_ns - clk_mono_ns();
	struct timespec ts;

	if (left <= 0)
		return -ETIMEDOUT;
	ts.tv_sec = left / NSEC_PER_SEC;
	ts.tv_nsec = left % NSEC_PER_SEC;
	if (ppoll(p, 2, &ts, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[1].revents)
		return -ECANCELED;
	return p[0].revents;
}

/* Sends until at most `rest` bytes are queued. */
static int send_down_to(struct weir_io *io, size_t rest, int64_t deadline_ns)
{
	for (;;) {
		/* With a full input nothing is read, so its readiness must not wake either. */
		bool reads = io->meanwhile && io->in.len - io->used < in_max(io);
		int ret = send_some(io);

		if (ret < 0 || io->out.len <= rest)
			return ret;
		ret = wait_io(io, reads ? POLLIN | POLLOUT : POLLOUT, deadline_ns, -1);
		if (ret < 0)
			return ret;
		if (!reads || !(ret & (POLLIN | POLLHUP)))
			continue;
		ret = weir_io_fill(io);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		io->meanwhile(io->arg);
	}
}

int weir_io_flush(struct weir_io *io, int64_t deadline_ns)
{
	return send_down_to(io, 0, deadline_ns);
}

int weir_io_put(struct weir_io *io, const char *line, size_t n)
{
	if (n > line_max(line, n, true))
		return -EMSGSIZE;
	buf_put(&io->out, line, n);
	buf_putc(&io->out, '\n');
	if (io->out.failed)
		return -ENOBUFS;
	return send_down_to(io, WEIR_QUEUE_MAX, clk_mono_ns() + WEIR_SEND_NS);
}

int weir_io_wait(struct weir_io *io, const char **line, size_t *n, int64_t deadline_ns, int stop_fd)
{
	for (;;) {
		int ret = weir_io_line(io, line, n);

		if (ret != -EAGAIN)
			return ret;
		ret = send_some(io);
		if (ret < 0)
			return ret;
		ret = weir_io_fill(io);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		if (ret > 0)
			continue;
		ret = wait_io(io, io->out.len ? POLLIN | POLLOUT : POLLIN, deadline_ns, stop_fd);
		if (ret < 0)
			return ret;
	}
}
