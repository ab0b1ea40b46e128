/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words on standard error that never wait. The problem: a terminal or pipe that nobody reads holds
 * up who writes to it, and with it what must be put back. The idea: a way of our own to the same
 * terminal, which does not block; what does not fit within a second is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define PATIENCE_MS 1000

/* The flag is of the open file, which others share: it is opened again. Never a plain file, whose
 * place to write would be another. */
int cmd_say_open(void)
{
	struct stat st;
	int fd = -1;

	if (fstat(STDERR_FILENO, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
		fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? STDERR_FILENO : fd;
}

static bool writable(int fd, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, wait_ms) == 1 && (p.revents & POLLOUT);
}

void cmd_say(int fd, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	for (int at = 0; at < n && writable(fd, PATIENCE_MS);) {
		ssize_t put = write(fd, text + at, (size_t)(n - at));
		if (put < 0 && errno != EINTR)
			return;
		at += put > 0 ? (int)put : 0;
	}
}

bool cmd_knock(int fd)
{
	return writable(fd, 0) && write(fd, "", 1) == 1;
}
