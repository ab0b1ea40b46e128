/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Anybody can open connections and stay silent. They live in a fixed table, and within it in
 * groups by address prefix: when the table is full the oldest of the most crowded prefix goes, so
 * a flood pays for itself and a newcomer from elsewhere always finds a place. The table is not
 * copied into the children: they never see other clients' cookies.
 */
#include "serve/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int serve_pool_init(struct serve_pool *p, size_t cap)
{
	*p = (struct serve_pool){.cap = cap, .map_bytes = cap * sizeof(*p->conns)};
	p->conns = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (p->conns == MAP_FAILED) {
		p->conns = NULL;
		return -ENOMEM;
	}
	p->groups = calloc(cap, sizeof(*p->groups));
	if (!p->groups || madvise(p->conns, p->map_bytes, MADV_DONTFORK))
		return -ENOMEM;
	for (size_t i = cap; i--;) {
		p->conns[i].fd = -1;
		p->conns[i].newer = p->free_conns;
		p->free_conns = &p->conns[i];
		p->groups[i].next = p->free_groups;
		p->free_groups = &p->groups[i];
	}
	clk_random(&p->seed, sizeof(p->seed));
	return 0;
}

void serve_pool_fini(struct serve_pool *p)
{
	if (p->conns)
		munmap(p->conns, p->map_bytes);
	free(p->groups);
	*p = (struct serve_pool){0};
}

/* Seeded, so that nobody outside can choose prefixes that collide. */
static struct serve_group **chain(struct serve_pool *p, uint64_t prefix)
{
	uint64_t x = (prefix ^ p->seed) * 0x9e3779b97f4a7c15U;

	x = (x ^ x >> 32) * (p->seed | 1);
	return &p->hash[(x >> 32) % SERVE_HASH];
}

static struct serve_group *group_of(struct serve_pool *p, uint64_t prefix)
{
	struct serve_group **head = chain(p, prefix), *g;

	for (g = *head; g && g->prefix != prefix; g = g->next)
		;
	if (g)
		return g;
	g = p->free_groups;
	p->free_groups = g->next;
	*g = (struct serve_group){.prefix = prefix, .next = *head};
	return *head = g;
}

static void group_free(struct serve_pool *p, struct serve_group *g)
{
	struct serve_group **at = chain(p, g->prefix);

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	*g = (struct serve_group){.next = p->free_groups};
	p->free_groups = g;
}

struct serve_conn *serve_pool_add(struct serve_pool *p, uint64_t prefix)
{
	struct serve_conn *c = p->free_conns;
	struct serve_group *g;

	if (!c)
		return NULL;
	p->free_conns = c->newer;
	g = group_of(p, prefix);
	*c = (struct serve_conn){.fd = -1, .group = g, .older = g->newest};
	*(g->newest ? &g->newest->newer : &g->oldest) = c;
	g->newest = c;
	g->n++;
	p->n++;
	return c;
}

void serve_pool_del(struct serve_pool *p, struct serve_conn *c)
{
	struct serve_group *g = c->group;

	*(c->older ? &c->older->newer : &g->oldest) = c->newer;
	*(c->newer ? &c->newer->older : &g->newest) = c->older;
	if (!--g->n)
		group_free(p, g);
	*c = (struct serve_conn){.fd = -1, .newer = p->free_conns};
	p->free_conns = c;
	p->n--;
}

struct serve_conn *serve_pool_victim(const struct serve_pool *p)
{
	const struct serve_group *best = NULL;

	for (size_t i = 0; i < p->cap; i++) {
		const struct serve_group *g = &p->groups[i];

		if (g->n && (!best || g->n > best->n ||
			     (g->n == best->n && g->oldest->seq < best->oldest->seq)))
			best = g;
	}
	return best ? best->oldest : NULL;
}
