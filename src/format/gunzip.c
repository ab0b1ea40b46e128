/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flent keeps its data gzipped. What is gzip is told by its first bytes; what it unfolds to is bounded,
 * because a kilobyte may claim to be a gigabyte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "format/format.h"

#define IN_MAX    ((uint64_t)64 << 20)
#define OUT_MAX   ((uint64_t)256 << 20)
#define RATIO_MAX 100
#define SLACK     ((uint64_t)1 << 16) /* that a short text may be over the ratio */

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

struct format_gunzip {
	int64_t (*pull)(void *arg, char *dst, size_t cap);
	void *arg;
	unsigned char buf[65536];
	size_t at, n; /* of buf */
	bool begun, packed, ended;
	uint64_t in, out;
#ifdef HAVE_ZLIB
	z_stream z;
#endif
};

struct format_gunzip *format_gunzip_new(int64_t (*pull)(void *arg, char *dst, size_t cap),
					void *arg)
{
	struct format_gunzip *g = calloc(1, sizeof(*g));

	if (g) {
		g->pull = pull;
		g->arg = arg;
	}
	return g;
}

static int fill(struct format_gunzip *g)
{
	int64_t n = g->pull(g->arg, (char *)g->buf + g->n, sizeof(g->buf) - g->n);

	if (n < 0)
		return (int)n;
	g->ended = n == 0;
	g->n += (size_t)n;
	g->in += (uint64_t)n;
	return 0;
}

#ifdef HAVE_ZLIB
static int start(struct format_gunzip *g)
{
	return inflateInit2(&g->z, 15 + 16) == Z_OK ? 0 : -ENOMEM;
}

/* A file that is cut off gives what there is of it. */
static int64_t unfold(struct format_gunzip *g, char *dst, size_t cap)
{
	int rc = Z_OK;

	g->z.next_out = (unsigned char *)dst;
	g->z.avail_out = (unsigned)(cap < 1u << 30 ? cap : 1u << 30);
	while (g->z.next_out == (unsigned char *)dst && rc == Z_OK) {
		if (g->at == g->n && !g->ended) {
			int err;

			g->at = g->n = 0;
			err = fill(g);
			if (err < 0)
				return err;
		}
		if (g->at == g->n)
			return 0;
		g->z.next_in = g->buf + g->at;
		g->z.avail_in = (unsigned)(g->n - g->at);
		rc = inflate(&g->z, Z_NO_FLUSH);
		g->at = g->n - g->z.avail_in;
	}
	g->out += (uint64_t)((char *)g->z.next_out - dst);
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return -EILSEQ;
	if (g->in > IN_MAX || g->out > OUT_MAX || g->out > g->in * RATIO_MAX + SLACK)
		return -EFBIG;
	return (char *)g->z.next_out - dst;
}

static void stop(struct format_gunzip *g)
{
	if (g->packed)
		inflateEnd(&g->z);
}
#else
static int start(struct format_gunzip *g)
{
	(void)g;
	return -ENOTSUP;
}

static int64_t unfold(struct format_gunzip *g, char *dst, size_t cap)
{
	(void)g;
	(void)dst;
	(void)cap;
	return -ENOTSUP;
}

static void stop(struct format_gunzip *g)
{
	(void)g;
}
#endif

static int begin(struct format_gunzip *g)
{
	int rc = 0;

	while (g->n < 2 && !g->ended && rc == 0)
		rc = fill(g);
	g->begun = true;
	if (rc < 0 || g->n < 2 || g->buf[0] != 0x1f || g->buf[1] != 0x8b)
		return rc;
	rc = start(g);
	g->packed = rc == 0;
	return rc;
}

int64_t format_gunzip_pull(void *arg, char *dst, size_t cap)
{
	struct format_gunzip *g = arg;
	size_t n;
	int rc = g->begun ? 0 : begin(g);

	if (rc < 0)
		return rc;
	if (g->packed)
		return unfold(g, dst, cap);
	n = g->n - g->at;
	if (!n)
		return g->ended ? 0 : g->pull(g->arg, dst, cap);
	n = n < cap ? n : cap;
	memcpy(dst, g->buf + g->at, n);
	g->at += n;
	return (int64_t)n;
}

void format_gunzip_free(struct format_gunzip *g)
{
	if (g)
		stop(g);
	free(g);
}
