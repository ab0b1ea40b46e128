/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pair: two hosts joined by a veth, each in an anonymous namespace. The problem: a lab must
 * need no clean-up, whatever happens to its maker. The idea: everything hangs on processes that
 * the kernel kills with us (the holders, the server, the command); the veth and the addresses
 * go with their namespaces.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"

#define SERVE_PORT      5201
#define READY_NS        (5 * NSEC_PER_SEC)
#define LOOK_NS         (2 * NSEC_PER_MSEC)
#define GRACE_NS        (5 * NSEC_PER_SEC)
#define LINK            "eth0"
#define PROC_NET_MAX    (1U << 20)
#define SHAPE_QUEUE_MS  50
#define SHAPE_BURST_MS  2
#define SHAPE_BURST_MIN 16384

/* ---- building ------------------------------------------------------------ */

struct end {
	const char *addr4, *addr6;
};
static const struct end near_end = {"198.18.0.1", "fd00:18::1"};
static const struct end far_end = {"198.18.0.2", "fd00:18::2"};

static int add_addr(struct sys_nl *nl, int family, const char *text, int prefix_len,
		    struct weir_err *e)
{
	uint8_t addr[16];

	if (inet_pton(family, text, addr) != 1)
		return err_set(e, WEIR_OS, EAFNOSUPPORT, "address %s", text);
	return sys_addr_add(nl, LINK, family, addr, prefix_len, e);
}

/* A kernel without IPv6 still makes a lab. */
static int add_addrs(struct sys_nl *nl, const struct end *end, struct weir_err *e)
{
	int ret = add_addr(nl, AF_INET, end->addr4, 24, e);

	if (ret == 0)
		ret = add_addr(nl, AF_INET6, end->addr6, 64, e);
	return ret == -EOPNOTSUPP || ret == -EAFNOSUPPORT || ret == -EACCES ? 0 : ret;
}

static int shape(struct sys_nl *nl, uint64_t rate_bps, struct weir_err *e)
{
	uint64_t per_ms = rate_bps / 8 / 1000;
	uint64_t burst = per_ms * SHAPE_BURST_MS, limit = per_ms * SHAPE_QUEUE_MS;

	if (burst < SHAPE_BURST_MIN)
		burst = SHAPE_BURST_MIN;
	if (burst > UINT32_MAX / 4)
		burst = UINT32_MAX / 4;
	limit += burst;
	if (limit > UINT32_MAX / 2)
		limit = UINT32_MAX / 2;
	return sys_qdisc_add_tbf(nl, LINK, rate_bps, (uint32_t)burst, (uint32_t)limit, e);
}

static int set_up_end(struct sys_nl *nl, const struct lab_cfg *cfg, const struct end *end,
		      struct weir_err *e)
{
	int ret = sys_link_set_up(nl, "lo", e);

	if (ret == 0 && cfg->mtu)
		ret = sys_link_set_mtu(nl, LINK, (int)cfg->mtu, e);
	if (ret == 0)
		ret = add_addrs(nl, end, e);
	if (ret == 0)
		ret = sys_link_set_up(nl, LINK, e);
	if (ret == 0 && cfg->rate_bps)
		ret = shape(nl, cfg->rate_bps, e);
	return ret;
}

/* The carrier comes up asynchronously; what is sent before is lost. */
static int await_running(struct sys_nl *nl, struct weir_err *e)
{
	int64_t until = clk_mono_ns() + READY_NS;
	struct sys_link link;

	for (;;) {
		int ret = sys_link_get(nl, LINK, &link, e);
		if (ret < 0 || link.running)
			return ret;
		if (clk_mono_ns() > until)
			return err_set(e, WEIR_OS, ETIMEDOUT, "the link did not come up");
		clk_sleep_until(clk_mono_ns() + LOOK_NS);
	}
}

static int join(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e)
{
	struct sys_nl *near_nl = NULL, *far_nl = NULL;
	int ret = sys_nl_open_in(&l->near, &near_nl, e);

	if (ret == 0)
		ret = sys_nl_open_in(&l->far, &far_nl, e);
	if (ret == 0)
		ret = sys_link_add_veth(near_nl, LINK, LINK, l->far.net_fd, e);
	if (ret == 0)
		ret = set_up_end(near_nl, cfg, &near_end, e);
	if (ret == 0)
		ret = set_up_end(far_nl, cfg, &far_end, e);
	if (ret == 0)
		ret = await_running(near_nl, e);
	if (ret == 0)
		ret = await_running(far_nl, e);
	sys_nl_close(near_nl);
	sys_nl_close(far_nl);
	return ret;
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

static int await_server(struct lab *l, struct weir_err *e)
{
	int64_t until = clk_mono_ns() + READY_NS;

	while (!listening(l->far.holder, SERVE_PORT)) {
		int status = sys_child_wait(&l->server, 0);
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

static int start_server(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e)
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
	int ret = sys_child_start(&l->server, argv, flags, NULL, l->far.net_fd, l->far.user_fd, e);
	free(argv);
	return ret < 0 ? ret : await_server(l, e);
}

/* ---- the lab ------------------------------------------------------------- */

int lab_pair_start(struct lab *l, const struct lab_cfg *cfg, struct weir_err *e)
{
	int ret;

	*l = (struct lab){.near = {.net_fd = -1, .user_fd = -1},
			  .far = {.net_fd = -1, .user_fd = -1},
			  .server = {.pidfd = -1, .out = -1},
			  .stop_fd = -1};
	snprintf(l->peer4, sizeof(l->peer4), "%s", far_end.addr4);
	snprintf(l->peer6, sizeof(l->peer6), "%s", far_end.addr6);
	ret = sys_ns_new(&l->near, NULL, e);
	if (ret == 0)
		ret = sys_ns_new(&l->far, &l->near, e);
	if (ret == 0)
		ret = join(l, cfg, e);
	if (ret == 0 && cfg->serve_argv0)
		ret = start_server(l, cfg, e);
	if (ret < 0) {
		lab_stop(l);
		return err_wrap(e, "making the lab");
	}
	return 0;
}

void lab_stop(struct lab *l)
{
	sys_child_stop(&l->server, GRACE_NS);
	sys_ns_free(&l->near);
	sys_ns_free(&l->far);
}

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
static int wait_or_stop(struct sys_child *c, int stop_fd)
{
	struct pollfd p[2] = {{.fd = c->pidfd, .events = POLLIN},
			      {.fd = stop_fd, .events = POLLIN}};

	if (stop_fd < 0 || c->pidfd < 0)
		return sys_child_wait(c, -1);
	while (!p[0].revents) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return end_early(c);
	}
	return sys_child_wait(c, -1);
}

int lab_run(struct lab *l, char *const argv[], struct weir_err *e)
{
	const unsigned flags = SYS_CHILD_DIE_WITH_PARENT | SYS_CHILD_OWN_SYSFS;
	char peer4[48], peer6[64], near_pid[40], far_pid[40];
	const char *env[] = {peer4, peer6, near_pid, far_pid, NULL};
	struct sys_child c;

	snprintf(peer4, sizeof(peer4), "WEIR_LAB_PEER=%s", l->peer4);
	snprintf(peer6, sizeof(peer6), "WEIR_LAB_PEER6=%s", l->peer6);
	snprintf(near_pid, sizeof(near_pid), "WEIR_LAB_NEAR_PID=%d", (int)l->near.holder);
	snprintf(far_pid, sizeof(far_pid), "WEIR_LAB_FAR_PID=%d", (int)l->far.holder);
	int ret = sys_child_start(&c, argv, flags, env, l->near.net_fd, l->near.user_fd, e);
	if (ret < 0)
		return ret;
	ret = wait_or_stop(&c, l->stop_fd);
	sys_child_stop(&c, 0);
	return ret;
}
