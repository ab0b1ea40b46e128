/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a topology is made of: hosts, and wires between them. The idea: a topology is a list of wires
 * with an address at each end and what each end does to what it sends (narrow: rate and queue; long:
 * delay and loss); building is the same for all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/priv.h"

/* ---- lists ---------------------------------------------------------------- */

static size_t add_node(struct lab_plan *p, const char *name, unsigned number)
{
	if (number)
		snprintf(p->name[p->n], sizeof(p->name[0]), "%s%u", name, number % 100);
	else
		snprintf(p->name[p->n], sizeof(p->name[0]), "%s", name);
	return p->n++;
}

static struct lab_wire *add_wire(struct lab_plan *p, size_t a, size_t b, unsigned net)
{
	struct lab_wire *w = &p->wire[p->n_wires++];

	*w = (struct lab_wire){.net = net, .end = {{.node = a}, {.node = b}}};
	return w;
}

static void plan_pair(struct lab_plan *p)
{
	size_t near = add_node(p, "near", 0), far = add_node(p, "far", 0);
	struct lab_wire *w = add_wire(p, near, far, 0);

	w->end[0] = (struct lab_wire_end){
		.node = near, .dev = 0, .host = 1, .narrow = true, .is_long = true};
	w->end[1] = (struct lab_wire_end){
		.node = far, .dev = 0, .host = 2, .narrow = true, .is_long = true};
	p->near = near;
	p->far = far;
}

/* A host behind a router; its way to everywhere is that router. */
static void wire_host(struct lab_plan *p, size_t host, size_t router, unsigned dev, unsigned net,
		      bool narrow)
{
	struct lab_wire *w = add_wire(p, host, router, net);

	w->end[0] = (struct lab_wire_end){
		.node = host, .dev = 0, .host = 1, .gateway = LAB_GATEWAY, .is_long = true};
	w->end[1] = (struct lab_wire_end){
		.node = router, .dev = dev, .host = LAB_GATEWAY, .narrow = narrow};
}

static void plan_router(struct lab_plan *p)
{
	size_t near = add_node(p, "near", 0), router = add_node(p, "router", 0);
	size_t far = add_node(p, "far", 0);

	wire_host(p, near, router, 0, 1, true);
	wire_host(p, far, router, 1, 2, true);
	p->router[router] = true;
	p->near = near;
	p->far = far;
}

static void plan_dumbbell(struct lab_plan *p, unsigned hosts)
{
	size_t left = add_node(p, "left", 0), right = add_node(p, "right", 0);
	struct lab_wire *w = add_wire(p, left, right, 0);

	w->end[0] = (struct lab_wire_end){
		.node = left, .dev = 0, .host = 1, .gateway = 2, .narrow = true};
	w->end[1] = (struct lab_wire_end){
		.node = right, .dev = 0, .host = 2, .gateway = 1, .narrow = true};
	p->router[left] = p->router[right] = true;
	for (unsigned i = 1; i <= hosts; i++) {
		size_t l = add_node(p, "left", i), r = add_node(p, "right", i);
		wire_host(p, l, left, i, i, false);
		wire_host(p, r, right, i, 100 + i, false);
		p->near = i == 1 ? l : p->near;
		p->far = i == 1 ? r : p->far;
	}
}

void lab_plan_make(struct lab_plan *p, const struct lab_cfg *cfg)
{
	*p = (struct lab_plan){0};
	if (cfg->topology == LAB_PAIR)
		plan_pair(p);
	else if (cfg->topology == LAB_ROUTER)
		plan_router(p);
	else
		plan_dumbbell(p, cfg->hosts ? cfg->hosts : 1);
}

int lab_topology_parse(const char *text, struct lab_cfg *cfg, struct weir_err *e)
{
	char *end = NULL;

	cfg->hosts = 1;
	if (!strcmp(text, "pair") || !strcmp(text, "router")) {
		cfg->topology = strcmp(text, "pair") ? LAB_ROUTER : LAB_PAIR;
		return 0;
	}
	if (!strncmp(text, "dumbbell:", 9)) {
		unsigned long n = strtoul(text + 9, &end, 10);
		cfg->topology = LAB_DUMBBELL;
		cfg->hosts = (unsigned)n;
		if (text[9] >= '0' && text[9] <= '9' && !*end && n >= 1 && n <= LAB_HOSTS_MAX)
			return 0;
	}
	return err_set(e, WEIR_USAGE, EINVAL,
		       "--topology: \"%.40s\" is not pair, router or dumbbell:N (N up to %d)", text,
		       LAB_HOSTS_MAX);
}

/* ---- what an end does to what it sends ------------------------------------- */

#define QUEUE_MS    50
#define BURST_MS    2
#define BURST_MIN   16384
#define FLIGHT_MIN  1000
#define FLIGHT_MAX  1000000
#define PACKET_BITS 4000 /* small ones count too */

static void tbf_text(const struct lab_cfg *cfg, char *dst, size_t cap)
{
	uint64_t per_ms = cfg->rate_bps / 8 / 1000;
	uint64_t burst = per_ms * BURST_MS, limit = per_ms * QUEUE_MS;

	if (burst < BURST_MIN)
		burst = BURST_MIN;
	if (burst > UINT32_MAX / 4)
		burst = UINT32_MAX / 4;
	limit += burst;
	if (limit > UINT32_MAX / 2)
		limit = UINT32_MAX / 2;
	snprintf(dst, cap, "tbf rate %llubit burst %llub limit %llub",
		 (unsigned long long)cfg->rate_bps, (unsigned long long)burst,
		 (unsigned long long)limit);
}

/* netem holds what is on its way: it must not be what limits. */
static void netem_text(const struct lab_cfg *cfg, char *dst, size_t cap)
{
	double flight = cfg->rate_bps
				? (double)cfg->rate_bps * (double)cfg->delay_ns / 1e9 / PACKET_BITS
				: FLIGHT_MAX;

	flight = flight < FLIGHT_MIN ? FLIGHT_MIN : flight > FLIGHT_MAX ? FLIGHT_MAX : flight;
	snprintf(dst, cap, "netem limit %.0f delay %lldns loss %.4f%%", flight,
		 (long long)cfg->delay_ns, cfg->loss_ppm / 1e4);
}

/* Each stage is the child of the one before: delay, then rate, then the queue. */
int lab_shape(struct sys_nl *nl, const char *dev, const struct lab_cfg *cfg,
	      const struct lab_wire_end *end, struct weir_err *e)
{
	char text[128];
	uint32_t parent = 0, handle = 1U << 16;
	int ret = 0;

	if (end->is_long && (cfg->delay_ns || cfg->loss_ppm)) {
		netem_text(cfg, text, sizeof(text));
		ret = sys_qdisc_set(nl, dev, parent, handle, text, e);
		if (ret == -EOPNOTSUPP)
			err_hint(e, "--delay and --loss need it");
		parent = handle | 1;
		handle += 1U << 16;
	}
	if (ret == 0 && end->narrow && cfg->rate_bps) {
		tbf_text(cfg, text, sizeof(text));
		ret = sys_qdisc_set(nl, dev, parent, handle, text, e);
		if (ret == -EOPNOTSUPP)
			err_hint(e, "--rate needs it");
		parent = handle | 1;
		handle += 1U << 16;
	}
	if (ret == 0 && end->narrow && cfg->queue) {
		ret = sys_qdisc_set(nl, dev, parent, handle, cfg->queue, e);
		if (ret == -EOPNOTSUPP)
			err_hint(e, "--queue asks for it; pfifo and bfifo are in most kernels");
	}
	return ret;
}
