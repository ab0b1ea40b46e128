/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir watch: every counter of this host that moves, whoever's traffic it is; or of another one, over
 * ssh. Readings are taken on absolute deadlines, and what they cost is said.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/observe.h"
#include "host/host.h"
#include "sys/sys.h"
#include "ui/ui.h"

struct watch_cfg {
	bool once, json_stream, interrupts, tcp;
	int64_t interval, count;
	char *iface, *observe;
};

#define F(field) offsetof(struct watch_cfg, field)
/* clang-format off */
static const struct opt watch_opts[] = {
	{.name = "interval", .letter = 'i', .type = OPT_TIME, .offset = F(interval), .metavar = "TIME", .help = "time between two readings", .min = 10000000, .max = 3600000000000, .fallback = "1"},
	{.name = "interface", .type = OPT_STR, .offset = F(iface), .metavar = "NAME", .help = "only this interface's counters"},
	{.name = "once", .type = OPT_FLAG, .offset = F(once), .help = "one interval, all of it, then end"},
	{.name = "count", .letter = 'n', .type = OPT_INT, .offset = F(count), .metavar = "N", .help = "end after so many intervals; 0 = go on", .max = 1000000000},
	{.name = "json-stream", .type = OPT_FLAG, .offset = F(json_stream), .help = "one JSON object an interval"},
	{.name = "interrupts", .type = OPT_FLAG, .offset = F(interrupts), .help = "/proc/interrupts as well, which is dear where there are many processors"},
	{.name = "tcp", .type = OPT_FLAG, .offset = F(tcp), .help = "the TCP connections that move most as well, with what holds each back"},
	{.name = "observe", .type = OPT_STR, .offset = F(observe), .metavar = "HOST", .help = "another host, by ssh: its /proc is read, nothing is installed there"},
};
/* clang-format on */

struct watcher {
	const struct watch_cfg *c;
	struct host_set *set;
	struct host_reading r[2];
	struct observe *far;
	struct sys_nl *diag; /* --tcp */
	struct host_tcps tcps[2];
	int64_t start_ns, start_cpu_ns;
	int irq_time;
	char what[SAFE_MAX];
};

#define TCPS_SHOWN 10

static int read_all(struct watcher *w, size_t k, struct weir_err *e)
{
	int rc = host_set_read(w->set, &w->r[k & 1], e);

	return rc >= 0 && w->diag ? host_tcps_read(w->diag, &w->tcps[k & 1], e) : rc;
}

static int open_set(struct watcher *w, struct weir_err *e)
{
	struct host_set_cfg cfg = {.groups = HOST_ALL, .iface = w->c->iface};
	int rc = 0;

	if (!w->c->interrupts)
		cfg.groups &= ~HOST_BIT(HOST_IRQ);
	if (w->c->observe) {
		cfg.fetch = observe_fetch;
		rc = observe_new(w->c->observe, &w->far, e);
		cfg.arg = w->far;
	}
	if (rc >= 0)
		rc = host_set_new(&cfg, &w->set, e);
	if (rc >= 0 && w->far)
		rc = observe_start(w->far, w->set, e);
	if (rc >= 0 && w->c->tcp)
		rc = sys_nl_open_proto(NETLINK_SOCK_DIAG, &w->diag, e);
	safe_str(w->what, sizeof(w->what), w->far ? w->c->observe : "this host",
		 strlen(w->far ? w->c->observe : "this host"));
	return rc;
}

static bool show(struct watcher *w, size_t k)
{
	bool screen = !w->c->once && cmd_terminal(STDOUT_FILENO);
	int64_t elapsed = clk_mono_ns() - w->start_ns;
	struct ui_watch u = {.what = w->what,
			     .set = w->set,
			     .from = &w->r[!(k & 1)],
			     .to = &w->r[k & 1],
			     .irq_time = w->irq_time,
			     .rows = screen ? ui_rows(STDOUT_FILENO) : 0,
			     .columns = screen ? ui_columns(STDOUT_FILENO) : 0};
	struct host_tcp tcps[TCPS_SHOWN];
	struct buf b = {0};
	bool ok;

	u.tcps = tcps;
	u.n_tcps = w->diag ? host_tcps_moved(&w->tcps[!(k & 1)], &w->tcps[k & 1], tcps, TCPS_SHOWN)
			   : 0;
	u.cost = elapsed > 0 ? (double)(clk_process_cpu_ns() - w->start_cpu_ns) / (double)elapsed
			     : 0;
	if (w->c->json_stream) {
		ui_watch_json(&u, &b);
	} else {
		if (screen)
			buf_puts(&b, "\033[H\033[J");
		ui_watch(&u, &b);
		if (!screen && !w->c->once)
			buf_putc(&b, '\n');
	}
	ok = cmd_flush(&b);
	buf_fini(&b);
	return ok;
}

/* False: told to stop. */
static bool wait_until(int stop_fd, int64_t deadline_ns)
{
	struct pollfd p = {.fd = stop_fd, .events = POLLIN};
	int64_t left;

	while ((left = deadline_ns - clk_mono_ns()) > 0) {
		struct timespec ts = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};

		if (ppoll(&p, 1, &ts, NULL) > 0)
			return false;
	}
	return true;
}

/* A reading that has no interface of the name: a page without it would look like one that is idle. */
static int check_interface(const struct watcher *w, struct weir_err *e)
{
	for (size_t i = 0; i < host_set_n(w->set); i++) {
		const struct host_key *k = host_set_key(w->set, i);

		if (!w->c->iface || (k->group == HOST_IFACE && !strcmp(k->of, w->c->iface)))
			return 0;
	}
	return err_set(e, WEIR_OS, ENODEV, "no interface '%.64s'", w->c->iface);
}

static int watch(struct watcher *w, struct weir_err *e)
{
	int64_t count = w->c->once ? 1 : w->c->count, due, now;
	int stop = cmd_stop_fd(), rc = read_all(w, 0, e);

	if (rc >= 0 && !host_set_n(w->set))
		rc = err_set(e, WEIR_PEER, ENODATA, "%s: no counters came", w->what);
	if (rc >= 0 && w->c->iface)
		rc = check_interface(w, e);
	w->start_ns = w->r[0].t_ns;
	w->irq_time = rc >= 0 ? host_set_irq_time(w->set, &w->r[0]) : -1;
	w->start_cpu_ns = clk_process_cpu_ns();
	due = w->start_ns + w->c->interval;
	for (int64_t k = 1; rc >= 0 && (!count || k <= count); k++) {
		if (!wait_until(stop, due))
			break;
		rc = read_all(w, (size_t)k, e);
		if (rc >= 0 && !show(w, (size_t)k))
			return -EIO; /* which it has said */
		/* After a pause one that is a while to come, not all that were missed. */
		now = clk_mono_ns() + w->c->interval / 2;
		due += w->c->interval;
		if (due < now)
			due += (now - due) / w->c->interval * w->c->interval + w->c->interval;
	}
	return rc;
}

static int run(void *cfg)
{
	struct watcher w = {.c = cfg};
	struct weir_err e = {0};
	int rc = 0;

	if (w.c->tcp && w.c->observe)
		rc = err_set(&e, WEIR_USAGE, EINVAL,
			     "--tcp: of this host only, not with --observe");
	if (rc >= 0)
		rc = open_set(&w, &e);

	if (rc >= 0)
		rc = watch(&w, &e);
	host_set_free(w.set);
	observe_free(w.far);
	host_reading_fini(&w.r[0]);
	host_reading_fini(&w.r[1]);
	free(w.tcps[0].v);
	free(w.tcps[1].v);
	sys_nl_close(w.diag);
	if (rc < 0 && !e.msg[0])
		return CMD_FAILED;
	return rc < 0 ? cmd_fail("watch", &e) : CMD_OK;
}

const struct cmd cmd_watch = {
	.name = "watch",
	.summary = "what this machine, or one in the middle, is doing",
	.usage = "",
	.opts = watch_opts,
	.n_opts = ARRAY_LEN(watch_opts),
	.cfg_size = sizeof(struct watch_cfg),
	.run = run,
};
