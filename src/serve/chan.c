/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Front and child talk in whole messages over a SOCK_SEQPACKET pair. The front trusts nothing that
 * comes back: lengths are checked and descriptors in that direction are thrown away by the
 * kernel, because no room for them is offered.
 */
#include "serve/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define HEAD offsetof(struct serve_msg, text)

int serve_chan_pair(int fds[2])
{
	int room = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	/* As much as the kernel allows: bursts of data connections wait here. */
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return 0;
}

int serve_chan_send(int fd, const struct serve_msg *m, int pass_fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl = {0};
	struct iovec iov = {(void *)(uintptr_t)m, HEAD + m->len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (pass_fd >= 0) {
		mh.msg_control = ctl.room;
		mh.msg_controllen = sizeof(ctl.room);
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.align), &pass_fd, sizeof(int));
	}
	for (;;) {
		if (sendmsg(fd, &mh, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

static int taken_fd(struct msghdr *mh)
{
	const struct cmsghdr *c = mh->msg_controllen ? CMSG_FIRSTHDR(mh) : NULL;
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int serve_chan_recv(int fd, struct serve_msg *m, int *got_fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (got_fd) {
		*got_fd = -1;
		mh.msg_control = ctl.room;
		mh.msg_controllen = sizeof(ctl.room);
	}
	do
		n = recvmsg(fd, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : 0;
	if (got_fd)
		*got_fd = taken_fd(&mh);
	if ((size_t)n < HEAD || m->len > sizeof(m->text) || (size_t)n != HEAD + m->len) {
		if (got_fd && *got_fd >= 0)
			close(*got_fd);
		return -EPROTO;
	}
	return 1;
}
