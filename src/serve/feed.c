/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which data connection is which flow follows from the order in which they were accepted, but
 * their cookies may become complete in any order. So all of them are gathered first, sorted by
 * the number that the front gave at accept(), and only then handed out. UDP flows are opened one
 * after the other and handed out as they come.
 */
#include "serve/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int prepare(struct serve_feed *f, size_t n, bool udp)
{
	if (n > (size_t)2 * FLOW_MAX)
		return -E2BIG;
	serve_usual(f->nice);
	if (!n)
		return 0;
	serve_feed_fini(f);
	f->items = calloc(n, sizeof(*f->items));
	if (!f->items)
		return -ENOMEM;
	f->expect = n;
	f->udp = udp;
	return 0;
}

int serve_feed_expect(void *arg, size_t n)
{
	struct serve_feed *f = arg;
	struct serve_msg m = {.type = SERVE_MSG_EXPECT, .a = n};
	int r = prepare(f, n, false);

	return r < 0 ? r : serve_chan_send(f->chan, &m, -1);
}

/* The client may give up or die while the others are waited for. */
static int wait_one(const struct serve_feed *f, int64_t deadline_ns)
{
	struct pollfd p[3] = {
		{.fd = f->chan, .events = POLLIN},
		{.fd = f->stop, .events = POLLIN},
		{.fd = f->ctl, .events = POLLRDHUP},
	};
	int64_t left = (deadline_ns - clk_mono_ns() + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	int n = poll(p, ARRAY_LEN(p), left < 0 ? 0 : left > 60000 ? 60000 : (int)left);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		return left > 60000 ? 0 : -ETIMEDOUT;
	if (p[1].revents)
		return -ECANCELED;
	return p[0].revents ? 1 : -EPIPE;
}

static int gather_one(struct serve_feed *f, int64_t deadline_ns)
{
	struct serve_msg m;
	int fd, r = wait_one(f, deadline_ns);

	if (r <= 0)
		return r;
	r = serve_chan_recv(f->chan, &m, &fd);
	if (r <= 0)
		return r == 0 ? -EPIPE : r;
	if (m.type == SERVE_MSG_TURN && f->udp) /* others waited for too long */
		return -ETIME;
	if (m.type != SERVE_MSG_DATA || fd < 0)
		return -EPROTO;
	f->items[f->got++] = (struct serve_feed_item){m.a, fd};
	return 0;
}

/* Behind one address, one test after the other is set up: the front says when. */
int serve_feed_expect_udp(void *arg, size_t n, const uint8_t *token, int64_t deadline_ns)
{
	struct serve_feed *f = arg;
	struct serve_msg m = {.type = SERVE_MSG_HELLOS, .a = n};
	int r = prepare(f, n, true);

	if (r < 0)
		return r;
	if (token) {
		m.len = PROTO_TOKEN_LEN;
		memcpy(m.text, token, PROTO_TOKEN_LEN);
	}
	r = serve_chan_send(f->chan, &m, -1);
	while (r == 0)
		r = wait_one(f, deadline_ns);
	if (r < 0)
		return r;
	r = serve_chan_recv(f->chan, &m, NULL);
	if (r <= 0)
		return r == 0 ? -EPIPE : r;
	if (m.type != SERVE_MSG_TURN)
		return -EPROTO;
	return m.a ? 0 : -EOPNOTSUPP;
}

void serve_feed_again(void *arg, int fd, const uint8_t *hello, size_t n)
{
	const struct serve_feed *f = arg;
	struct serve_msg m = {.type = SERVE_MSG_AGAIN, .len = sizeof(struct serve_again)};
	struct serve_again a = {.n = (uint32_t)n};

	_Static_assert(sizeof(a) <= sizeof(m.text), "it fits");
	a.from.len = a.to.len = sizeof(a.from.ss);
	if (n > sizeof(a.hello) || getpeername(fd, &a.from.sa, &a.from.len) ||
	    getsockname(fd, &a.to.sa, &a.to.len))
		return;
	memcpy(a.hello, hello, n);
	memcpy(m.text, &a, sizeof(a));
	serve_chan_send(f->chan, &m, -1);
}

void serve_feed_over(void *arg)
{
	const struct serve_feed *f = arg;
	struct serve_msg m = {.type = SERVE_MSG_OVER};

	serve_chan_send(f->chan, &m, -1);
}

static int by_seq(const void *a, const void *b)
{
	const struct serve_feed_item *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int gather_all(struct serve_feed *f, int64_t deadline_ns)
{
	if (f->got == f->expect)
		return 0;
	while (f->got < f->expect) {
		int r = gather_one(f, deadline_ns);

		if (r < 0)
			return r;
	}
	qsort(f->items, f->got, sizeof(*f->items), by_seq);
	return 0;
}

int serve_feed_take(void *arg, int64_t deadline_ns)
{
	struct serve_feed *f = arg;
	int fd, r = 0;

	if (!f->udp)
		r = gather_all(f, deadline_ns);
	while (r == 0 && f->udp && f->next == f->got && f->got < f->expect)
		r = gather_one(f, deadline_ns);
	if (r < 0)
		return r;
	if (f->next >= f->got)
		return -ENOENT;
	fd = f->items[f->next].fd;
	f->next++;
	fcntl(fd, F_SETFL, 0);
	return fd;
}

void serve_feed_fini(struct serve_feed *f)
{
	for (size_t i = f->next; i < f->got; i++)
		close(f->items[i].fd);
	free(f->items);
	f->items = NULL;
	f->expect = f->got = f->next = 0;
	f->udp = false;
}
