/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of wire protocols, the cookie that opens each of them, and what a session owns.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/priv.h"

/* On one port, the order of sniffing: a native cookie would do as iperf3's, so native is asked first. */
static const struct proto *const protos[] = {
	&proto_weir, &proto_iperf3, &proto_iperf2, &proto_nttcp, &proto_ttcp,
};

const struct proto *proto_at(size_t i)
{
	return i < ARRAY_LEN(protos) ? protos[i] : NULL;
}

const struct proto *proto_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(protos); i++)
		if (!strcmp(protos[i]->name, name))
			return protos[i];
	return NULL;
}

#define NATIVE_MARK     "WEIR/1;"
#define NATIVE_MARK_LEN (sizeof(NATIVE_MARK) - 1)

bool proto_cookie_is_native(const char cookie[PROTO_COOKIE_LEN])
{
	return !memcmp(cookie, NATIVE_MARK, NATIVE_MARK_LEN) && !cookie[PROTO_COOKIE_LEN - 1];
}

/* iperf3's alphabet, 5 bits a letter. */
void proto_cookie_random(char *dst, size_t n)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t r[PROTO_COOKIE_LEN];

	clk_random(r, n);
	for (size_t i = 0; i < n; i++)
		dst[i] = alphabet[r[i] & 31];
}

void proto_cookie_new(char cookie[PROTO_COOKIE_LEN])
{
	memcpy(cookie, NATIVE_MARK, NATIVE_MARK_LEN);
	proto_cookie_random(cookie + NATIVE_MARK_LEN, PROTO_COOKIE_LEN - 1 - NATIVE_MARK_LEN);
	cookie[PROTO_COOKIE_LEN - 1] = 0;
}

void proto_result_fini(struct proto_result *r)
{
	free(r->flows);
	*r = (struct proto_result){0};
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void proto_session_fini(struct proto_session *s)
{
	if (s->proto && s->state)
		s->proto->close(s);
	close_fd(&s->ctl_fd);
	for (size_t i = 0; i < s->n_fds; i++)
		close_fd(&s->fds[i]);
	free(s->fds);
	s->fds = NULL;
	s->n_fds = 0;
	if (s->role == PROTO_SERVER && s->plan) {
		flow_plan_fini(s->plan);
		free(s->plan);
		s->plan = NULL;
	}
}
