/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampler: a set of counters that is read again and again. Its sources are a table; files stay
 * open and are read from their start, so a reading costs what the kernel takes to make the text,
 * and that is measured and told.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/priv.h"

#define TEXT_MAX      (1U << 20) /* of one file */
#define THREADS_MAX   256
#define KSOFTIRQD_MAX 128
#define DRIVERS_MAX   32
#define LINKS_MAX     64

const char *const host_group_names[HOST_GROUPS] = {
	[HOST_CPU] = "cpu",         [HOST_KERNEL] = "kernel", [HOST_SOFTIRQ] = "softirq",
	[HOST_SOFTNET] = "softnet", [HOST_IRQ] = "irq",       [HOST_PRESSURE] = "pressure",
	[HOST_SNMP] = "snmp",       [HOST_IFACE] = "iface",   [HOST_DRIVER] = "driver",
	[HOST_QDISC] = "qdisc",     [HOST_THREAD] = "thread", [HOST_KSOFTIRQD] = "ksoftirqd",
};

static void pressure_cpu(struct host_table *t, const char *text)
{
	host_parse_pressure(t, text, "cpu");
}

static void pressure_io(struct host_table *t, const char *text)
{
	host_parse_pressure(t, text, "io");
}

static void pressure_memory(struct host_table *t, const char *text)
{
	host_parse_pressure(t, text, "memory");
}

static void pressure_irq(struct host_table *t, const char *text)
{
	host_parse_pressure(t, text, "irq");
}

/* The thread's own namespace: /proc/net is that of the first thread. */
#define NET_OWN "/proc/thread-self/net/"
#define NET_FAR "/proc/net/"

/* What no one file has is asked of programs that every shell finds; without them there is nothing. */
#define KSOFTIRQD                                                                                \
	"for p in /proc/[0-9]*; do read -r c <$p/comm && case $c in ksoftirqd/*) echo $c $(cat " \
	"$p/schedstat);; esac; done"
#define NIC_FILES "grep -s . /sys/class/net/*/statistics/* /sys/class/net/*/speed"
#define QDISCS    "tc -s qdisc"

/* clang-format off */
static const struct file_source {
	unsigned groups;
	const char *here, *elsewhere; /* a path, or a command */
	void (*parse)(struct host_table *t, const char *text);
} files[] = {
	{HOST_BIT(HOST_CPU) | HOST_BIT(HOST_KERNEL), "/proc/stat", "/proc/stat", host_parse_stat},
	{HOST_BIT(HOST_SOFTIRQ), "/proc/softirqs", "/proc/softirqs", host_parse_softirqs},
	{HOST_BIT(HOST_SOFTNET), NET_OWN "softnet_stat", NET_FAR "softnet_stat", host_parse_softnet},
	{HOST_BIT(HOST_IRQ), "/proc/interrupts", "/proc/interrupts", host_parse_interrupts},
	{HOST_BIT(HOST_PRESSURE), "/proc/pressure/cpu", "/proc/pressure/cpu", pressure_cpu},
	{HOST_BIT(HOST_PRESSURE), "/proc/pressure/io", "/proc/pressure/io", pressure_io},
	{HOST_BIT(HOST_PRESSURE), "/proc/pressure/memory", "/proc/pressure/memory", pressure_memory},
	{HOST_BIT(HOST_PRESSURE), "/proc/pressure/irq", "/proc/pressure/irq", pressure_irq},
	{HOST_BIT(HOST_SNMP), NET_OWN "snmp", NET_FAR "snmp", host_parse_snmp},
	{HOST_BIT(HOST_SNMP), NET_OWN "netstat", NET_FAR "netstat", host_parse_snmp},
	{HOST_BIT(HOST_SNMP), NET_OWN "snmp6", NET_FAR "snmp6", host_parse_snmp6},
	{HOST_BIT(HOST_IFACE), NULL, NIC_FILES, host_parse_statistics}, /* here by netlink */
	{HOST_BIT(HOST_QDISC), NULL, QDISCS, host_parse_qdiscs},
	{HOST_BIT(HOST_KSOFTIRQD), NULL, KSOFTIRQD, host_parse_ksoftirqd},
};
/* clang-format on */
#define N_FILES ARRAY_LEN(files)

struct host_set {
	struct host_set_cfg cfg;
	char iface[IF_NAMESIZE];
	struct host_table table;
	int fd[N_FILES]; /* -1 = not read */
	char *text;
	struct sys_nl *nl;
	struct {
		char name[16]; /* thread id */
		int fd;
	} threads[THREADS_MAX];
	size_t n_threads;
	struct {
		int cpu, fd;
	} ksoftirqd[KSOFTIRQD_MAX];
	size_t n_ksoftirqd;
	struct {
		char iface[IF_NAMESIZE];
		struct sys_driver_stats *stats;
	} drivers[DRIVERS_MAX];
	size_t n_drivers;
	struct { /* of the last reading of the interfaces */
		int index;
		char name[IF_NAMESIZE];
	} links[LINKS_MAX];
	size_t n_links;
	struct buf fetched;
	int64_t cost_ns;
};

static bool wants(const struct host_set *s, enum host_group g)
{
	return s->cfg.groups & HOST_BIT(g);
}

/* ---- opening ------------------------------------------------------------------------ */

static void open_files(struct host_set *s)
{
	for (size_t i = 0; i < N_FILES; i++) {
		s->fd[i] = -1;
		if (!s->cfg.fetch && files[i].here && files[i].groups & s->cfg.groups)
			s->fd[i] = open(files[i].here, O_RDONLY | O_CLOEXEC);
	}
}

/* Kernel threads are known by their names only; those of another process's namespace are not seen. */
static void open_ksoftirqd(struct host_set *s, const char *pid)
{
	static const char name[] = "ksoftirqd/";
	char path[64], comm[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%.12s/comm", pid);
	if (sys_read_attr(path, comm, sizeof(comm)) <= 0 ||
	    strncmp(comm, name, sizeof(name) - 1) != 0)
		return;
	snprintf(path, sizeof(path), "/proc/%.12s/schedstat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	s->ksoftirqd[s->n_ksoftirqd].cpu = (int)strtol(comm + sizeof(name) - 1, NULL, 10);
	s->ksoftirqd[s->n_ksoftirqd++].fd = fd;
}

static void find_ksoftirqd(struct host_set *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && s->n_ksoftirqd < KSOFTIRQD_MAX && (d = readdir(dir))) {
		if (isdigit((unsigned char)d->d_name[0]))
			open_ksoftirqd(s, d->d_name);
	}
	if (dir)
		closedir(dir);
}

static int open_driver(const struct sys_link *l, void *arg)
{
	struct host_set *s = arg;
	struct sys_driver_stats *d;

	if ((s->cfg.iface && strcmp(l->name, s->cfg.iface) != 0) || s->n_drivers == DRIVERS_MAX ||
	    sys_driver_stats_open(l->name, &d) < 0)
		return 0;
	s->drivers[s->n_drivers].stats = d;
	memcpy(s->drivers[s->n_drivers++].iface, l->name, sizeof(l->name));
	return 0;
}

int host_set_new(const struct host_set_cfg *cfg, struct host_set **out, struct weir_err *e)
{
	struct host_set *s = calloc(1, sizeof(*s));
	bool netlink = !cfg->fetch && cfg->groups & (HOST_BIT(HOST_IFACE) | HOST_BIT(HOST_QDISC) |
						     HOST_BIT(HOST_DRIVER));

	*out = NULL;
	if (!s)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	s->cfg = *cfg;
	if (cfg->iface) {
		snprintf(s->iface, sizeof(s->iface), "%s", cfg->iface);
		s->cfg.iface = s->iface;
	}
	open_files(s);
	s->text = malloc(TEXT_MAX);
	if (!s->text) {
		host_set_free(s);
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	}
	if (!cfg->fetch && wants(s, HOST_KSOFTIRQD))
		find_ksoftirqd(s);
	if (netlink && sys_nl_open(&s->nl, NULL) >= 0 && wants(s, HOST_DRIVER))
		sys_links(s->nl, open_driver, s, NULL);
	*out = s;
	return 0;
}

void host_set_free(struct host_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < N_FILES; i++) {
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	}
	for (size_t i = 0; i < s->n_threads; i++)
		close(s->threads[i].fd);
	for (size_t i = 0; i < s->n_ksoftirqd; i++)
		close(s->ksoftirqd[i].fd);
	for (size_t i = 0; i < s->n_drivers; i++)
		sys_driver_stats_close(s->drivers[i].stats);
	sys_nl_close(s->nl);
	host_table_fini(&s->table);
	buf_fini(&s->fetched);
	free(s->text);
	free(s);
}

const char *host_set_path(const struct host_set *s, size_t i)
{
	for (size_t k = 0; k < N_FILES; k++) {
		if (!(files[k].groups & s->cfg.groups))
			continue;
		if (!i--)
			return s->cfg.fetch ? files[k].elsewhere : files[k].here;
	}
	return NULL;
}

static void open_thread(struct host_set *s, const char *tid)
{
	char path[64];
	int fd;

	if (s->n_threads == THREADS_MAX || strlen(tid) >= sizeof(s->threads[0].name))
		return;
	snprintf(path, sizeof(path), "/proc/self/task/%.15s/schedstat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	s->threads[s->n_threads].fd = fd;
	snprintf(s->threads[s->n_threads++].name, sizeof(s->threads[0].name), "%s", tid);
}

void host_set_threads(struct host_set *s)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;

	for (size_t i = 0; i < s->n_threads; i++)
		close(s->threads[i].fd);
	s->n_threads = 0;
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] != '.')
			open_thread(s, d->d_name);
	}
	if (dir)
		closedir(dir);
}

/* ---- one reading ---------------------------------------------------------------------- */

static const char *read_text(int fd, char *text, size_t cap)
{
	size_t n = 0;
	ssize_t k;

	while (n < cap - 1) {
		k = pread(fd, text + n, cap - 1 - n, (off_t)n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return NULL;
		if (k == 0)
			break;
		n += (size_t)k;
	}
	text[n] = '\0';
	return text;
}

static void read_files(struct host_set *s)
{
	for (size_t i = 0; i < N_FILES; i++) {
		const char *text = s->fd[i] < 0 ? NULL : read_text(s->fd[i], s->text, TEXT_MAX);

		if (text)
			files[i].parse(&s->table, text);
	}
	for (size_t i = 0; i < s->n_threads; i++) {
		const char *text = read_text(s->threads[i].fd, s->text, TEXT_MAX);

		if (text && *text)
			host_parse_schedstat(&s->table, HOST_THREAD, -1, text, s->threads[i].name);
	}
	for (size_t i = 0; i < s->n_ksoftirqd; i++) {
		const char *text = read_text(s->ksoftirqd[i].fd, s->text, TEXT_MAX);

		if (text && *text)
			host_parse_schedstat(&s->table, HOST_KSOFTIRQD, s->ksoftirqd[i].cpu, text,
					     "");
	}
}

static int read_link(const struct sys_link *l, void *arg)
{
	struct host_set *s = arg;
	const struct sys_link_stats *k = &l->stats;
	const struct {
		const char *name;
		uint64_t v;
	} rows[] = {{"rx_bytes", k->rx_bytes},   {"rx_packets", k->rx_packets},
		    {"rx_errors", k->rx_errors}, {"rx_dropped", k->rx_dropped},
		    {"rx_missed", k->rx_missed}, {"rx_nohandler", k->rx_nohandler},
		    {"tx_bytes", k->tx_bytes},   {"tx_packets", k->tx_packets},
		    {"tx_errors", k->tx_errors}, {"tx_dropped", k->tx_dropped}};

	if (s->n_links < LINKS_MAX) {
		s->links[s->n_links].index = l->index;
		memcpy(s->links[s->n_links++].name, l->name, sizeof(l->name));
	}
	if (s->cfg.iface && strcmp(l->name, s->cfg.iface) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		host_table_put(&s->table, HOST_IFACE, -1, l->name, strlen(l->name), rows[i].name,
			       strlen(rows[i].name), 64, rows[i].v);
	return 0;
}

static void name_link(const struct host_set *s, int index, char name[IF_NAMESIZE])
{
	for (size_t i = 0; i < s->n_links; i++) {
		if (s->links[i].index == index) {
			memcpy(name, s->links[i].name, IF_NAMESIZE);
			return;
		}
	}
	if (!if_indextoname((unsigned)index, name))
		name[0] = '\0';
}

struct qdisc_walk {
	struct host_set *s;
	int index; /* of the last interface that was named */
	char iface[IF_NAMESIZE];
};

static int read_qdisc(const struct sys_qdisc *q, void *arg)
{
	struct qdisc_walk *w = arg;
	char of[HOST_KEY_OF + 32];
	const struct {
		const char *name;
		unsigned bits;
		uint64_t v;
	} rows[] = {{"packets", 64, q->packets},       {"drops", 32, q->drops},
		    {"overlimits", 32, q->overlimits}, {"requeues", 32, q->requeues},
		    {"backlog", 0, q->backlog},        {"qlen", 0, q->qlen}};
	int n;

	if (q->index != w->index) {
		w->index = q->index;
		name_link(w->s, q->index, w->iface);
	}
	if (!w->iface[0] || (w->s->cfg.iface && strcmp(w->iface, w->s->cfg.iface) != 0))
		return 0;
	n = snprintf(of, sizeof(of), "%s %s %x:%x", w->iface, q->kind,
		     q->parent == UINT32_MAX ? q->handle >> 16 : q->parent >> 16,
		     q->parent == UINT32_MAX ? 0 : q->parent & 0xffff);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		host_table_put(&w->s->table, HOST_QDISC, -1, of, (size_t)n, rows[i].name,
			       strlen(rows[i].name), rows[i].bits, rows[i].v);
	return 0;
}

static void read_driver(struct host_set *s, const char *iface, struct sys_driver_stats *d)
{
	const uint64_t *v = sys_driver_stats_read(d);
	char name[SYS_STAT_NAME];

	for (size_t i = 0; v && i < sys_driver_stats_n(d); i++) {
		sys_driver_stats_name(d, i, name);
		host_table_put(&s->table, HOST_DRIVER, -1, iface, strlen(iface), name, strlen(name),
			       64, v[i]);
	}
}

static void read_kernel(struct host_set *s)
{
	struct qdisc_walk w = {.s = s};

	s->n_links = 0;
	if (s->nl && wants(s, HOST_IFACE))
		sys_links(s->nl, read_link, s, NULL);
	if (s->nl && wants(s, HOST_QDISC))
		sys_qdiscs(s->nl, 0, read_qdisc, &w, NULL);
	for (size_t i = 0; i < s->n_drivers; i++)
		read_driver(s, s->drivers[i].iface, s->drivers[i].stats);
}

static int read_fetched(struct host_set *s, struct weir_err *e)
{
	const char *p;
	int rc;

	buf_clear(&s->fetched);
	rc = s->cfg.fetch(s->cfg.arg, &s->fetched, e);
	if (rc < 0)
		return rc;
	p = s->fetched.data;
	for (size_t i = 0; p && i < N_FILES; i++) {
		if (!(files[i].groups & s->cfg.groups))
			continue;
		if (p >= s->fetched.data + s->fetched.len)
			break;
		files[i].parse(&s->table, p);
		p += strlen(p) + 1;
	}
	return 0;
}

static int keep(const struct host_set *s, struct host_reading *r)
{
	const struct host_table *t = &s->table;
	uint64_t *v = reallocarray(r->v, t->n ? t->n : 1, sizeof(*v));
	uint8_t *has = v ? realloc(r->has, t->n ? t->n : 1) : NULL;

	if (v)
		r->v = v;
	if (!has)
		return -ENOMEM;
	r->has = has;
	r->n = t->n;
	for (size_t i = 0; i < t->n; i++) {
		v[i] = t->v[i];
		has[i] = t->seen[i] == t->round;
	}
	return 0;
}

int host_set_read(struct host_set *s, struct host_reading *r, struct weir_err *e)
{
	int64_t cpu = clk_thread_cpu_ns();
	int rc = 0;

	host_table_begin(&s->table);
	r->t_ns = clk_mono_ns();
	if (s->cfg.fetch) {
		rc = read_fetched(s, e);
	} else {
		read_files(s);
		read_kernel(s);
	}
	if (rc >= 0 && keep(s, r) < 0)
		rc = err_set(e, WEIR_OS, ENOMEM, "out of memory");
	s->cost_ns += clk_thread_cpu_ns() - cpu;
	return rc;
}

void host_reading_fini(struct host_reading *r)
{
	free(r->v);
	free(r->has);
	*r = (struct host_reading){0};
}

size_t host_set_n(const struct host_set *s)
{
	return s->table.n;
}

const struct host_key *host_set_key(const struct host_set *s, size_t i)
{
	return &s->table.keys[i];
}

bool host_delta(const struct host_set *s, size_t i, const struct host_reading *a,
		const struct host_reading *b, uint64_t *d)
{
	const struct host_key *k = &s->table.keys[i];

	if (i >= b->n || !b->has[i])
		return false;
	if (!k->bits) {
		*d = b->v[i];
		return true;
	}
	if (i >= a->n || !a->has[i])
		return false;
	if (b->v[i] < a->v[i] && k->bits != 32)
		return false; /* made anew, or idle time that went back */
	*d = k->bits == 32 ? (uint32_t)(b->v[i] - a->v[i]) : b->v[i] - a->v[i];
	return true;
}

int host_set_irq_time(const struct host_set *s, const struct host_reading *r)
{
	uint64_t intr = 0;

	for (size_t i = 0; i < r->n && i < s->table.n; i++) {
		const struct host_key *k = &s->table.keys[i];

		if (!r->has[i])
			continue;
		if (k->group == HOST_CPU && !strcmp(k->name, "irq") && r->v[i])
			return 1;
		if (k->group == HOST_KERNEL && !strcmp(k->name, "intr"))
			intr = r->v[i];
	}
	return intr > HOST_MANY_IRQS ? 0 : -1;
}

int64_t host_set_cost_ns(const struct host_set *s)
{
	return s->cost_ns;
}
