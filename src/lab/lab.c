/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts in anonymous namespaces, joined by veths as a plan says. The problem: a lab must need no
 * clean-up, whatever happens to its maker. The idea: everything hangs on processes that the kernel
 * kills with us (the holders, the servers, the command); the wires and the addresses go with their
 * namespaces.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/priv.h"

#define SERVE_PORT   5201
#define READY_NS     (5 * NSEC_PER_SEC)
#define LOOK_NS      (2 * NSEC_PER_MSEC)
#define GRACE_NS     (5 * NSEC_PER_SEC)
#define REAP_MS      1000
#define PROC_NET_MAX (1U << 20)

/* ---- building ------------------------------------------------------------ */

struct build {
	struct lab *l;
	const struct lab_cfg *cfg;
	struct lab_plan plan;
	struct sys_nl *nl[LAB_NODES_MAX]; /* a socket in each node */
};

static void dev_name(const struct lab_wire_end *end, char dst[IF_NAMESIZE])
{
	snprintf(dst, IF_NAMESIZE, "eth%u", end->dev);
}

static void address(int family, unsigned net, unsigned host, char dst[40])
{
	if (family == AF_INET)
		snprintf(dst, 40, "198.18.%u.%u", net, host);
	else if (net)
		snprintf(dst, 40, "fd00:18:%x::%x", net, host);
	else
		snprintf(dst, 40, "fd00:18::%x", host);
}

static int add_addr(struct sys_nl *nl, const char *dev, int family, unsigned net, unsigned host,
		    struct weir_err *e)
{
	char text[40];
	uint8_t addr[16];

	address(family, net, host, text);
	if (inet_pton(family, text, addr) != 1)
		return err_set(e, WEIR_OS, EAFNOSUPPORT, "address %s", text);
	return sys_addr_add(nl, dev, family, addr, family == AF_INET ? 24 : 64, e);
}

static int add_way_out(struct sys_nl *nl, int family, unsigned net, unsigned gateway,
		       struct weir_err *e)
{
	static const uint8_t any[16];
	char text[40];
	uint8_t addr[16];

	address(family, net, gateway, text);
	if (!gateway || inet_pton(family, text, addr) != 1)
		return 0;
	return sys_route_add(nl, family, any, 0, addr, e);
}

static bool no_family(int ret)
{
	return ret == -EOPNOTSUPP || ret == -EAFNOSUPPORT || ret == -EACCES;
}

/* A kernel without IPv6 still makes a lab. */
static int add_family(struct sys_nl *nl, const char *dev, int family, const struct lab_wire *w,
		      const struct lab_wire_end *end, struct weir_err *e)
{
	int ret = add_addr(nl, dev, family, w->net, end->host, e);

	if (family == AF_INET6 && no_family(ret))
		return 0;
	return ret;
}

static int set_up_end(struct build *b, const struct lab_wire *w, const struct lab_wire_end *end,
		      struct weir_err *e)
{
	struct sys_nl *nl = b->nl[end->node];
	char dev[IF_NAMESIZE];
	int ret = 0;

	dev_name(end, dev);
	if (b->cfg->mtu)
		ret = sys_link_set_mtu(nl, dev, (int)b->cfg->mtu, e);
	if (ret == 0)
		ret = add_family(nl, dev, AF_INET, w, end, e);
	if (ret == 0)
		ret = add_family(nl, dev, AF_INET6, w, end, e);
	if (ret == 0)
		ret = sys_link_set_up(nl, dev, e);
	if (ret == 0)
		ret = lab_shape(nl, dev, b->cfg, end, e);
	return ret;
}

static int route_end(struct build *b, const struct lab_wire *w, const struct lab_wire_end *end,
		     struct weir_err *e)
{
	struct sys_nl *nl = b->nl[end->node];
	int ret = add_way_out(nl, AF_INET, w->net, end->gateway, e);

	if (ret == 0) /* none where there is no IPv6 */
		add_way_out(nl, AF_INET6, w->net, end->gateway, NULL);
	return ret;
}

/* The carrier comes up asynchronously; what is sent before is lost. */
static int await_running(struct sys_nl *nl, const char *dev, struct weir_err *e)
{
	int64_t until = clk_mono_ns() + READY_NS;
	struct sys_link link;

	for (;;) {
		int ret = sys_link_get(nl, dev, &link, e);
		if (ret < 0 || link.running)
			return ret;
		if (clk_mono_ns() > until)
			return err_set(e, WEIR_OS, ETIMEDOUT, "the link did not come up");
		clk_sleep_until(clk_mono_ns() + LOOK_NS);
	}
}

/* Both ends: what is sent before the carrier is there is lost. */
static int await_wire(struct build *b, const struct lab_wire *w, struct weir_err *e)
{
	char dev[IF_NAMESIZE];
	int ret = 0;

	for (size_t i = 0; i < 2 && ret == 0; i++) {
		dev_name(&w->end[i], dev);
		ret = await_running(b->nl[w->end[i].node], dev, e);
	}
	return ret;
}

static int join(struct build *b, const struct lab_wire *w, struct weir_err *e)
{
	char here[IF_NAMESIZE], there[IF_NAMESIZE];
	int ret;

	dev_name(&w->end[0], here);
	dev_name(&w->end[1], there);
	ret = sys_link_add_veth(b->nl[w->end[0].node], here, there,
				b->l->node[w->end[1].node].ns.net_fd, e);
	for (size_t i = 0; i < 2 && ret == 0; i++)
		ret = set_up_end(b, w, &w->end[i], e);
	if (ret == 0)
		ret = await_wire(b, w, e);
	for (size_t i = 0; i < 2 && ret == 0; i++)
		ret = route_end(b, w, &w->end[i], e);
	return ret;
}

static int make_node(struct build *b, size_t i, struct weir_err *e)
{
	struct lab_node *node = &b->l->node[i];
	int ret = sys_ns_new(&node->ns, i ? &b->l->node[0].ns : NULL, e);

	memcpy(node->name, b->plan.name[i], sizeof(node->name));
	if (ret == 0)
		b->l->n++;
	if (ret == 0)
		ret = sys_nl_open_in(&node->ns, &b->nl[i], e);
	if (ret == 0)
		ret = sys_link_set_up(b->nl[i], "lo", e);
	if (ret == 0 && b->plan.router[i]) {
		ret = sys_sysctl_set_in(&node->ns, "net.ipv4.ip_forward", "1", e);
		sys_sysctl_set_in(&node->ns, "net.ipv6.conf.all.forwarding", "1", NULL);
	}
	return ret;
}

/* A host's address is that of its first wire. */
static void note_addresses(const struct build *b)
{
	for (size_t i = b->plan.n_wires; i-- > 0;)
		for (size_t k = 0; k < 2; k++) {
			const struct lab_wire_end *end = &b->plan.wire[i].end[k];
			struct lab_node *node = &b->l->node[end->node];
			char text[40];
			address(AF_INET, b->plan.wire[i].net, end->host, text);
			snprintf(node->addr4, sizeof(node->addr4), "%.15s", text);
			address(AF_INET6, b->plan.wire[i].net, end->host, node->addr6);
		}
}

static int build(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e)
{
	struct build b = {.l = l, .cfg = cfg};
	int ret = 0;

	lab_plan_make(&b.plan, cfg);
	for (size_t i = 0; i < b.plan.n && ret == 0; i++)
		ret = make_node(&b, i, e);
	for (size_t i = 0; i < b.plan.n_wires && ret == 0; i++)
		ret = join(&b, &b.plan.wire[i], e);
	for (size_t i = 0; i < b.plan.n; i++)
		sys_nl_close(b.nl[i]);
	note_addresses(&b);
	l->near = &l->node[b.plan.near];
	l->far = &l->node[b.plan.far];
	return ret;
}

/* Those that others measure against: the far one, and all that stand beside it. */
static bool is_far(const struct lab *l, const struct lab_node *node)
{
	return node == l->far || (!strncmp(node->name, "right", 5) && node->name[5]);
}

/* ---- the server ---------------------------------------------------------- */

/* Whether a table in the form of /proc/net/tcp has a listener on the port. */
static bool has_listener(const char *table, unsigned port)
{
	const char *line = strchr(table, '\n');

	for (; line; line = strchr(line + 1, '\n')) {
		unsigned local_port, state;
		if (sscanf(line + 1, " %*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x", &local_port,
			   &state) == 2 &&
		    local_port == port && state == 0x0a)
			return true;
	}
	return false;
}

/* A look from outside: connecting would cost the server a slot. */
static bool listening(pid_t in_ns, unsigned port)
{
	static const char *const tables[] = {"tcp", "tcp6"};
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(tables) && !found; i++) {
		char path[64];
		struct buf b = {0};
		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)in_ns, tables[i]);
		if (sys_read_file(path, PROC_NET_MAX, &b, NULL) == 0 && b.data)
			found = has_listener(b.data, port);
		buf_fini(&b);
	}
	return found;
}

static int await_server(struct lab_node *node, struct weir_err *e)
{
	int64_t until = clk_mono_ns() + READY_NS;

	while (!listening(node->ns.holder, SERVE_PORT)) {
		int status = sys_child_wait(&node->server, 0);
		if (status >= 0) {
			err_set(e, WEIR_OS, ECHILD, "the lab's server ended with status %d",
				status);
			return err_hint(e, "`weir serve` with the same arguments says why");
		}
		if (clk_mono_ns() > until)
			return err_set(e, WEIR_OS, ETIMEDOUT,
				       "the lab's server did not listen on port %d within %lld s",
				       SERVE_PORT, READY_NS / NSEC_PER_SEC);
		clk_sleep_until(clk_mono_ns() + LOOK_NS);
	}
	return 0;
}

static int start_server(struct lab_node *node, const struct lab_cfg *cfg, struct weir_err *e)
{
	const unsigned flags = SYS_CHILD_DIE_WITH_PARENT | SYS_CHILD_NULL_IN | SYS_CHILD_QUIET |
			       SYS_CHILD_NEW_SESSION | SYS_CHILD_OWN_SYSFS;
	size_t n = 0;

	while (cfg->serve_args && cfg->serve_args[n])
		n++;
	char **argv = calloc(n + 3, sizeof(*argv));
	if (!argv)
		return err_os(e, ENOMEM, "starting the lab's server");
	argv[0] = (char *)(uintptr_t)cfg->serve_argv0;
	argv[1] = (char *)(uintptr_t) "serve";
	for (size_t i = 0; i < n; i++)
		argv[i + 2] = cfg->serve_args[i];
	int ret = sys_child_start(&node->server, argv, flags, NULL, node->ns.net_fd,
				  node->ns.user_fd, e);
	free(argv);
	return ret < 0 ? ret : await_server(node, e);
}

static int start_servers(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e)
{
	int ret = 0;

	for (size_t i = 0; i < l->n && ret == 0; i++)
		if (is_far(l, &l->node[i]))
			ret = start_server(&l->node[i], cfg, e);
	return ret;
}

/* ---- the lab ------------------------------------------------------------- */

int lab_start(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e)
{
	*l = (struct lab){.stop_fd = -1};
	for (size_t i = 0; i < LAB_NODES_MAX; i++) {
		l->node[i].ns = (struct sys_ns){.net_fd = -1, .user_fd = -1};
		l->node[i].server = (struct sys_child){.pidfd = -1, .out = -1};
	}
	int ret = build(l, cfg, e);
	if (ret == 0 && cfg->serve_argv0)
		ret = start_servers(l, cfg, e);
	if (ret < 0) {
		lab_stop(l);
		return err_wrap(e, "making the lab");
	}
	return 0;
}

void lab_stop(struct lab *l)
{
	for (size_t i = 0; i < LAB_NODES_MAX; i++)
		sys_child_stop(&l->node[i].server, GRACE_NS);
	for (size_t i = 0; i < LAB_NODES_MAX; i++)
		sys_ns_free(&l->node[i].ns);
	l->n = 0;
}

/* ---- a command in it ------------------------------------------------------ */

static int end_early(struct sys_child *c)
{
	kill(c->pid, SIGTERM);
	int status = sys_child_wait(c, GRACE_NS);
	if (status != -ETIMEDOUT)
		return status;
	sys_child_stop(c, 0);
	return 128 + SIGKILL;
}

/* Until the command ends; stop_fd becoming readable ends it early. */
static int wait_or_stop(struct sys_child *c, int stop_fd, struct lab_orphans *o)
{
	struct pollfd p[2] = {{.fd = c->pidfd, .events = POLLIN},
			      {.fd = stop_fd, .events = POLLIN}};

	if (stop_fd < 0 || c->pidfd < 0)
		return sys_child_wait(c, -1);
	while (!p[0].revents) {
		if (poll(p, 2, REAP_MS) < 0 && errno != EINTR)
			return -errno;
		lab_orphans_reap(o, c->pid);
		if (p[1].revents)
			return end_early(c);
	}
	return sys_child_wait(c, -1);
}

#define ENV_MAX (LAB_NODES_MAX + 6)
struct environment {
	char text[ENV_MAX][LAB_HOSTS_MAX * 17 + 20];
	const char *v[ENV_MAX + 1];
	size_t n;
};

static char *next_text(struct environment *env)
{
	env->v[env->n] = env->text[env->n];
	return env->text[env->n++];
}

static void put_pid(struct environment *env, const char *before, const char *name,
		    const char *after, pid_t pid)
{
	char *s = next_text(env), upper[12];
	size_t i = 0;

	for (; name[i] && i + 1 < sizeof(upper); i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	upper[i] = '\0';
	snprintf(s, sizeof(env->text[0]), "WEIR_LAB_%s%s%s=%d", before, upper, after, (int)pid);
}

static void make_environment(const struct lab *l, struct environment *env)
{
	const size_t cap = sizeof(env->text[0]);

	env->n = 0;
	snprintf(next_text(env), cap, "WEIR_LAB_PEER=%s", l->far->addr4);
	snprintf(next_text(env), cap, "WEIR_LAB_PEER6=%s", l->far->addr6);
	put_pid(env, "", "near", "_PID", l->near->ns.holder);
	put_pid(env, "", "far", "_PID", l->far->ns.holder);
	for (size_t i = 0; i < l->n; i++)
		put_pid(env, "PID_", l->node[i].name, "", l->node[i].ns.holder);
	char *peers = next_text(env);
	int at = snprintf(peers, cap, "WEIR_LAB_PEERS=");
	for (size_t i = 0; i < l->n; i++)
		if (is_far(l, &l->node[i]))
			at += snprintf(peers + at, cap - (size_t)at, "%s%s",
				       peers[at - 1] == '=' ? "" : " ", l->node[i].addr4);
	env->v[env->n] = NULL;
}

int lab_run(struct lab *l, char *const argv[], struct weir_err *e)
{
	const unsigned flags = SYS_CHILD_DIE_WITH_PARENT | SYS_CHILD_OWN_SYSFS;
	struct environment env;
	struct lab_orphans orphans;
	struct sys_child c;

	make_environment(l, &env);
	lab_orphans_take(&orphans);
	int ret =
		sys_child_start(&c, argv, flags, env.v, l->near->ns.net_fd, l->near->ns.user_fd, e);
	if (ret == 0) {
		ret = wait_or_stop(&c, l->stop_fd, &orphans);
		sys_child_stop(&c, 0);
	}
	lab_orphans_end(&orphans);
	return ret;
}
