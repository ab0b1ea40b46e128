/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What needs privileges is done first and once: the listener. Then they are given up, checked,
 * and only then does anything that a stranger sent get read.
 */
#include "serve/priv.h"

#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG 1024

/* The default user "weir", else nobody. */
static int default_user(uid_t *uid, gid_t *gid, struct weir_err *e)
{
	if (sys_user_lookup("weir", uid, gid, NULL) >= 0)
		return 0;
	return sys_user_lookup("nobody", uid, gid, e);
}

/* In a user namespace that has only our own number, there is nobody else to become. */
static bool is_mapped(const char *path, unsigned long id)
{
	unsigned long from, outside, n;
	bool found = false;
	FILE *map = fopen(path, "re");

	if (!map)
		return true;
	while (!found && fscanf(map, "%lu %lu %lu", &from, &outside, &n) == 3)
		found = id >= from && id - from < n;
	fclose(map);
	return found;
}

static int drop_privileges(const struct serve_cfg *cfg, struct weir_err *e)
{
	uid_t uid = 0;
	gid_t gid = 0;
	int r;

	if (geteuid() != 0 && !cfg->user)
		return sys_cap_drop(e);
	r = cfg->user ? sys_user_lookup(cfg->user, &uid, &gid, e) : default_user(&uid, &gid, e);
	if (r < 0)
		return r;
	if (uid == geteuid() || (!cfg->user && (!is_mapped("/proc/self/uid_map", uid) ||
						!is_mapped("/proc/self/gid_map", gid))))
		return sys_cap_drop(e);
	return sys_priv_drop(uid, gid, e);
}

static void warn_port(const struct serve_cfg *cfg, const char *name, const char *why)
{
	struct buf b = {0};
	char what[64];

	snprintf(what, sizeof(what), "%s is not served", name);
	serve_note_put(&b, what, why, cfg->log_json && !cfg->warn);
	if (!b.failed)
		(cfg->warn ? cfg->warn : cfg->log)(cfg->arg, b.data);
	buf_fini(&b);
}

/* A port that somebody else has is no reason not to serve the others. */
static void open_others(const struct serve_cfg *cfg, int fds[SERVE_DOORS_MAX])
{
	const struct net_sock_opts o = {
		.bind_host = cfg->bind_host, .bind_dev = cfg->bind_dev, .family = cfg->family};

	for (size_t i = 0; i < cfg->n_others; i++) {
		const struct serve_port *p = &cfg->others[i];
		struct weir_err e = {0};

		fds[1 + i] = net_listen_tcp(&o, p->port, BACKLOG, &e);
		if (fds[1 + i] >= 0)
			continue;
		warn_port(cfg, p->proto->name, e.msg);
	}
}

static int open_listener(const struct serve_cfg *cfg, struct weir_err *e)
{
	struct net_sock_opts o = {
		.bind_host = cfg->bind_host, .bind_dev = cfg->bind_dev, .family = cfg->family};

	if (cfg->listen_fd < 0)
		return net_listen_tcp(&o, cfg->port, BACKLOG, e);
	if (fcntl(cfg->listen_fd, F_SETFL, O_NONBLOCK) ||
	    fcntl(cfg->listen_fd, F_SETFD, FD_CLOEXEC))
		return err_os(e, errno, "the inherited listening socket");
	return cfg->listen_fd;
}

/* Thousands of silent connections must not cost the tests their descriptors. */
static void raise_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* "[::]:5201, iperf2 on 5001, nttcp on 5037" */
static void say_ready(const struct serve_cfg *cfg, const int fds[SERVE_DOORS_MAX])
{
	struct net_addr a = {.len = sizeof(a.ss)};
	char where[80];
	struct buf b = {0};

	if (!cfg->ready || getsockname(fds[0], &a.sa, &a.len))
		return;
	net_addr_port_text(&a, where, sizeof(where));
	buf_puts(&b, where);
	for (size_t i = 0; i < cfg->n_others; i++)
		if (fds[1 + i] >= 0)
			buf_printf(&b, ", %s on %u", cfg->others[i].proto->name,
				   cfg->others[i].port);
	if (!b.failed)
		cfg->ready(cfg->arg, b.data);
	buf_fini(&b);
}

int serve_run(const struct serve_cfg *cfg, struct weir_err *e)
{
	int fds[SERVE_DOORS_MAX] = {-1, -1, -1, -1};
	int r, nice, listener = open_listener(cfg, e);

	if (listener < 0)
		return listener;
	fds[0] = listener;
	open_others(cfg, fds);
	raise_descriptors();
	nice = serve_prompt();
	r = drop_privileges(cfg, e);
	if (r >= 0) {
		say_ready(cfg, fds);
		r = serve_front_doors(cfg, fds, nice, serve_child_body, e);
	} else {
		for (size_t i = 0; i < ARRAY_LEN(fds); i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	serve_usual(nice);
	return r;
}
