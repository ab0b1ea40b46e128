/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A front in a process of its own, on a loopback port, with a stand-in for the child's session: it
 * takes as many data connections as the client names, writes each one's place on it, and then
 * does what the client's next byte says.
 */
#ifndef TEST_SERVE_UTIL_H
#define TEST_SERVE_UTIL_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#include "serve/priv.h"

struct server {
	pid_t pid;
	uint16_t port, other; /* other: of the first of cfg.others */
	int log, stop;        /* read end of its log; write end of its stop descriptor */
};

static inline int64_t soon(int64_t ms)
{
	return clk_mono_ns() + ms * NSEC_PER_MSEC;
}

/* ---- the stand-in ---- */

#define STAND_IN_WAIT_NS (10 * NSEC_PER_SEC)

/* More than this means UDP flows, as the next byte says; TOKEN: told by the cookie's letters. */
#define STAND_IN_TCP_MAX 253
#define STAND_IN_UDP     254
#define STAND_IN_TOKEN   255

static inline int stand_in_expect(struct serve_feed *feed, uint8_t kind, uint8_t n,
				  const char *cookie)
{
	const uint8_t *token = kind == STAND_IN_TOKEN ? (const uint8_t *)cookie : NULL;

	if (kind <= STAND_IN_TCP_MAX)
		return serve_feed_expect(feed, n);
	return serve_feed_expect_udp(feed, n, token, clk_mono_ns() + STAND_IN_WAIT_NS);
}

static inline int stand_in_streams(struct serve_feed *feed, uint8_t kind, uint8_t n,
				   const char *cookie)
{
	if (stand_in_expect(feed, kind, n, cookie) < 0 ||
	    send(feed->ctl, "\x0a", 1, MSG_NOSIGNAL) != 1)
		return -1;
	for (uint8_t i = 0; i < n; i++) {
		int fd = serve_feed_take(feed, clk_mono_ns() + STAND_IN_WAIT_NS);

		/* Left open: the client reads its place from it. */
		if (fd < 0 || send(fd, &i, 1, MSG_NOSIGNAL) != 1)
			return -1;
	}
	return send(feed->ctl, "\x01", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static inline void stand_in_result(const struct serve_job *job, const char *text)
{
	struct serve_msg m = {.type = SERVE_MSG_RESULT};

	m.len = (uint32_t)snprintf(m.text, sizeof(m.text), "%s overlap=%d", text, *job->overlap);
	serve_chan_send(job->chan, &m, -1);
}

static inline int stand_in(const struct serve_job *job)
{
	struct serve_feed feed = {.chan = job->chan, .ctl = job->ctl, .stop = job->stop};
	int64_t end = clk_mono_ns() + 60 * NSEC_PER_SEC;
	uint8_t kind = 0, n, what = 0;
	int r;

	fcntl(job->ctl, F_SETFL, 0);
	if (send(job->ctl, "\x09", 1, MSG_NOSIGNAL) != 1 ||
	    net_read_full(job->ctl, &kind, 1, end, job->stop) < 0)
		return 1;
	n = kind;
	if (kind > STAND_IN_TCP_MAX && net_read_full(job->ctl, &n, 1, end, job->stop) < 0)
		return 1;
	if (n && stand_in_streams(&feed, kind, n, job->cookie) < 0) {
		stand_in_result(job, "no streams");
		return 1;
	}
	r = net_read_full(job->ctl, &what, 1, end, job->stop);
	if (what == 'S')
		raise(SIGSEGV);
	if (what == 'B') { /* a hostile child's line */
		struct serve_msg m = {.type = SERVE_MSG_RESULT, .len = 5, .text = "a\x1b[2J"};

		serve_chan_send(job->chan, &m, -1);
		return 0;
	}
	stand_in_result(job, r == -ECANCELED ? "stopped" : "finished");
	return 0;
}

/* ---- the server ---- */

static inline void log_to_pipe(void *arg, const char *line)
{
	dprintf(*(int *)arg, "%s\n", line);
}

static inline int loopback_listener(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4096), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static inline void server_start_body(struct server *s, const struct serve_cfg *with,
				     serve_body *body)
{
	int log[2], stop[2], listener = loopback_listener(&s->port);
	int listeners[SERVE_DOORS_MAX] = {listener, -1, -1, -1};

	if (with->n_others)
		listeners[1] = loopback_listener(&s->other);
	assert_int_equal(pipe2(log, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		struct serve_cfg cfg = *with;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(log[0]);
		close(stop[1]);
		cfg.stop_fd = stop[0];
		cfg.log = log_to_pipe;
		cfg.arg = &log[1];
		_exit(serve_front_doors(&cfg, listeners, serve_prompt(), body, NULL) < 0);
	}
	close(listener);
	if (listeners[1] >= 0)
		close(listeners[1]);
	close(log[1]);
	close(stop[0]);
	s->log = log[0];
	s->stop = stop[1];
}

static inline void server_start(struct server *s, const struct serve_cfg *with)
{
	server_start_body(s, with, stand_in);
}

/* Waits for its end. */
static inline int server_status(struct server *s)
{
	int status = -1;

	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	close(s->log);
	close(s->stop);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int server_stop(struct server *s)
{
	assert_int_equal(write(s->stop, "x", 1), 1);
	return server_status(s);
}

/* The next log line, or a failure after 10 s. */
static inline const char *server_line(const struct server *s, char *dst, size_t cap)
{
	struct pollfd p = {.fd = s->log, .events = POLLIN};
	size_t n = 0;

	while (n + 1 < cap) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_int_equal(read(s->log, dst + n, 1), 1);
		if (dst[n++] == '\n')
			break;
	}
	dst[n] = '\0';
	return dst;
}

/* Open descriptors, and how many of them are sockets: an idle front has its listener
 * and the socket for hellos. */
static inline size_t server_fds(const struct server *s, size_t *sockets)
{
	char path[64], link[64];
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", s->pid);
	d = opendir(path);
	assert_non_null(d);
	*sockets = 0;
	for (struct dirent *at; (at = readdir(d));) {
		ssize_t len = readlinkat(dirfd(d), at->d_name, link, sizeof(link));

		n += len > 0;
		*sockets += len > 7 && !memcmp(link, "socket:", 7);
	}
	closedir(d);
	return n;
}

/* Everything that has a deadline is gone by then. Returns the number of descriptors. */
static inline size_t server_idle(const struct server *s)
{
	int64_t end = soon(20000);
	size_t sockets, n;

	while ((n = server_fds(s, &sockets)), sockets > 2 && clk_mono_ns() < end)
		poll(NULL, 0, 10);
	assert_int_equal(sockets, 2);
	return n;
}

static inline long server_rss_kib(const struct server *s)
{
	char path[64], line[128];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", s->pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %ld", &kib);
	fclose(f);
	return kib;
}

/* ---- clients ---- */

static inline int client_from(const struct server *s, const char *source)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(s->port)}, from = to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	from.sin_port = 0;
	if (source) {
		assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
		assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	}
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static inline void cookie_of(char cookie[PROTO_COOKIE_LEN], unsigned n)
{
	memset(cookie, 'a', PROTO_COOKIE_LEN - 1);
	cookie[PROTO_COOKIE_LEN - 1] = '\0';
	for (int i = 0; n; n /= 26)
		cookie[i++] = (char)('a' + n % 26);
}

static inline void put(int fd, const void *p, size_t n)
{
	assert_int_equal(net_write_full(fd, p, n, soon(10000), -1), 0);
}

/* The next byte, or a failure after 10 s. */
static inline int get(int fd)
{
	uint8_t b = 0;

	assert_int_equal(net_read_full(fd, &b, 1, soon(10000), -1), 0);
	return b;
}

static inline void assert_eof(int fd)
{
	uint8_t b;

	assert_int_equal(net_read_full(fd, &b, 1, soon(10000), -1), -EPIPE);
}

/* The bytes, then the end, never a reset. */
static inline void assert_told(int fd, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(get(fd), (uint8_t)bytes[i]);
	assert_eof(fd);
	close(fd);
}

#define assert_refused(fd)  assert_told(fd, "\xff", 1)
#define assert_stopping(fd) assert_told(fd, "\x0b", 1)
/* iperf3's number 142: not authorised */
#define assert_denied(fd) assert_told(fd, "\xfe\0\0\0\x8e\0\0\0\0", 9)

static inline int client_cookie(const struct server *s, unsigned n)
{
	char cookie[PROTO_COOKIE_LEN];
	int fd = client_from(s, NULL);

	cookie_of(cookie, n);
	put(fd, cookie, sizeof(cookie));
	return fd;
}

/* An admitted test that has asked for n data connections. */
static inline int client_test(const struct server *s, unsigned cookie, uint8_t n)
{
	int fd = client_cookie(s, cookie);

	assert_int_equal(get(fd), 0x09);
	put(fd, &n, 1);
	if (n)
		assert_int_equal(get(fd), 0x0a);
	return fd;
}

#endif
