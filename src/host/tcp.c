/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections at two moments, and which of them moved most in between. A connection is known again by
 * its cookie; one that came or went has no interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/priv.h"

#define TCPS_MAX 8192

static int keep(const struct sys_tcp *t, void *arg)
{
	struct host_tcps *l = arg;

	if (l->n < TCPS_MAX)
		l->v[l->n++] = *t;
	return 0;
}

static int by_cookie(const void *a, const void *b)
{
	const struct sys_tcp *x = a, *y = b;

	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

int host_tcps_read(struct sys_nl *diag, struct host_tcps *l, struct weir_err *e)
{
	int rc;

	if (!l->v)
		l->v = calloc(TCPS_MAX, sizeof(*l->v));
	if (!l->v)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	l->n = 0;
	rc = sys_tcps(diag, keep, l, e);
	qsort(l->v, l->n, sizeof(*l->v), by_cookie);
	return rc < 0 ? rc : 0;
}

static uint64_t grown(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct host_tcp *x = a, *y = b;
	uint64_t m = x->sent + x->received, n = y->sent + y->received;

	return m > n ? -1 : m < n;
}

size_t host_tcps_moved(const struct host_tcps *from, const struct host_tcps *to,
		       struct host_tcp *out, size_t cap)
{
	struct host_tcp *all = calloc(to->n ? to->n : 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all && i < to->n; i++) {
		const struct sys_tcp *b = &to->v[i];
		const struct sys_tcp *a =
			from->n ? bsearch(b, from->v, from->n, sizeof(*b), by_cookie) : NULL;

		if (!a ||
		    (b->bytes_acked == a->bytes_acked && b->bytes_received == a->bytes_received))
			continue;
		all[n++] =
			(struct host_tcp){.now = b,
					  .sent = grown(b->bytes_acked, a->bytes_acked),
					  .received = grown(b->bytes_received, a->bytes_received),
					  .retrans = grown(b->retrans, a->retrans),
					  .busy_us = grown(b->busy_us, a->busy_us),
					  .rwnd_us = grown(b->rwnd_us, a->rwnd_us),
					  .sndbuf_us = grown(b->sndbuf_us, a->sndbuf_us)};
	}
	if (all)
		qsort(all, n, sizeof(*all), by_bytes);
	for (size_t i = 0; i < n && i < cap; i++)
		out[i] = all[i];
	free(all);
	return n < cap ? n : cap;
}
