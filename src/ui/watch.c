/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two readings of a host's counters as a page: processors, interfaces, and then every other counter
 * that moved, as a rate. What stood still is not shown.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "ui/ui.h"

#define ROWS_DEFAULT 24

int ui_rows(int fd)
{
	struct winsize ws;

	return ioctl(fd, TIOCGWINSZ, &ws) < 0 || !ws.ws_row ? ROWS_DEFAULT : ws.ws_row;
}

struct page {
	const struct ui_watch *w;
	struct buf *b;
	double seconds;
};

static bool moved(const struct ui_watch *w, size_t i, uint64_t *d)
{
	return host_delta(w->set, i, w->from, w->to, d) && *d && host_set_key(w->set, i)->bits;
}

static double rate_of(const struct page *p, enum host_group g, int cpu, const char *of,
		      const char *name, bool *known)
{
	const struct ui_watch *w = p->w;
	uint64_t d;

	for (size_t i = 0; i < host_set_n(w->set); i++) {
		const struct host_key *k = host_set_key(w->set, i);

		if (k->group == g && k->cpu == cpu && !strcmp(k->name, name) &&
		    !strcmp(k->of, of) && host_delta(w->set, i, w->from, w->to, &d)) {
			*known = true;
			return (double)d / p->seconds;
		}
	}
	*known = false;
	return 0;
}

/* Columns of a processor: user with nice, idle with waiting for disks. */
static const struct share {
	const char *head, *names[2];
} shares[] = {{"user", {"user", "nice"}}, {"system", {"system"}}, {"softirq", {"softirq"}},
	      {"irq", {"irq"}},           {"steal", {"steal"}},   {"idle", {"idle", "iowait"}}};

static void put_share(const struct page *p, int cpu, const struct share *s, double all)
{
	bool known, hidden = !strcmp(s->head, "irq") && p->w->irq_time != 1, second;
	double v = rate_of(p, HOST_CPU, cpu, "", s->names[0], &known);

	if (s->names[1])
		v += rate_of(p, HOST_CPU, cpu, "", s->names[1], &second);
	if (known && !hidden && all > 0)
		buf_printf(p->b, " %6.1f%%", v / all * 100);
	else
		buf_puts(p->b, "       -");
}

static double idle_of(const struct page *p, int cpu)
{
	bool known;

	return rate_of(p, HOST_CPU, cpu, "", "idle", &known);
}

static void put_count(const struct page *p, enum host_group g, int cpu, const char *of,
		      const char *name, int width)
{
	char text[32];
	bool known;
	double v = rate_of(p, g, cpu, of, name, &known);

	unit_format(text, sizeof(text), v, UNIT_NONE, 3);
	buf_printf(p->b, " %*s", width, known ? text : "-");
}

static const char *const cpu_names[] = {"user", "nice",  "system", "softirq",
					"irq",  "steal", "iowait", "idle"};

static void put_cpu(const struct page *p, int cpu)
{
	double all = 0;
	bool known;

	for (size_t n = 0; n < ARRAY_LEN(cpu_names); n++)
		all += rate_of(p, HOST_CPU, cpu, "", cpu_names[n], &known);
	buf_printf(p->b, "%-3d", cpu);
	for (size_t n = 0; n < ARRAY_LEN(shares); n++)
		put_share(p, cpu, &shares[n], all);
	put_count(p, HOST_SOFTIRQ, cpu, "", "NET_RX", 7);
	put_count(p, HOST_SOFTNET, cpu, "", "processed", 7);
	put_count(p, HOST_SOFTNET, cpu, "", "dropped", 6);
	put_count(p, HOST_SOFTNET, cpu, "", "squeezed", 5);
	buf_putc(p->b, '\n');
}

/* Whether fewer than `room` of all processors are busier; of two alike the first. */
static bool is_among_busiest(const struct page *p, size_t at, size_t room)
{
	const struct ui_watch *w = p->w;
	double idle = idle_of(p, host_set_key(w->set, at)->cpu);
	size_t busier = 0;

	for (size_t i = 0; i < host_set_n(w->set) && busier < room; i++) {
		const struct host_key *k = host_set_key(w->set, i);
		double other;

		if (k->group != HOST_CPU || strcmp(k->name, "user") != 0 || i == at)
			continue;
		other = idle_of(p, k->cpu);
		busier += other < idle || (i < at && other <= idle);
	}
	return busier < room;
}

static void put_cpus(const struct page *p, size_t room)
{
	const struct ui_watch *w = p->w;
	size_t left_out = 0;

	buf_puts(p->b, "cpu");
	for (size_t n = 0; n < ARRAY_LEN(shares); n++)
		buf_printf(p->b, "%8s", shares[n].head);
	buf_puts(p->b, "  rounds    pkts   drop  sqzd\n"); /* a second each */
	for (size_t i = 0; i < host_set_n(w->set); i++) {
		const struct host_key *k = host_set_key(w->set, i);

		if (k->group != HOST_CPU || strcmp(k->name, "user") != 0)
			continue;
		if (room && !is_among_busiest(p, i, room))
			left_out++;
		else
			put_cpu(p, k->cpu);
	}
	if (left_out)
		buf_printf(p->b, "and %zu that were less busy\n", left_out);
	if (w->irq_time == 0)
		buf_puts(p->b, "irq: not accounted by this kernel (CONFIG_IRQ_TIME_ACCOUNTING)\n");
}

static void put_bits(const struct page *p, const char *of, const char *name)
{
	char text[32];
	bool known;
	double v = rate_of(p, HOST_IFACE, -1, of, name, &known);

	unit_format(text, sizeof(text), v * 8, UNIT_BPS, 3);
	buf_printf(p->b, " %12s", known ? text : "-");
}

static void put_ifaces(const struct page *p)
{
	char safe[HOST_KEY_OF + 4];

	buf_printf(p->b, "\n%-12s%13s%13s%10s%10s%9s%9s\n", "interface", "rx", "tx", "rx pkt/s",
		   "tx pkt/s", "rx drop", "tx drop");
	for (size_t i = 0; i < host_set_n(p->w->set); i++) {
		const struct host_key *k = host_set_key(p->w->set, i);
		bool known;

		if (k->group != HOST_IFACE || strcmp(k->name, "rx_bytes") != 0)
			continue;
		if (rate_of(p, HOST_IFACE, -1, k->of, "rx_packets", &known) <= 0 &&
		    rate_of(p, HOST_IFACE, -1, k->of, "tx_packets", &known) <= 0)
			continue;
		safe_str(safe, sizeof(safe), k->of, strlen(k->of));
		buf_printf(p->b, "%-12s", safe);
		put_bits(p, k->of, "rx_bytes");
		put_bits(p, k->of, "tx_bytes");
		put_count(p, HOST_IFACE, -1, k->of, "rx_packets", 9);
		put_count(p, HOST_IFACE, -1, k->of, "tx_packets", 9);
		put_count(p, HOST_IFACE, -1, k->of, "rx_dropped", 8);
		put_count(p, HOST_IFACE, -1, k->of, "tx_dropped", 8);
		buf_putc(p->b, '\n');
	}
}

static void address(const struct sys_tcp *t, const uint8_t *addr, uint16_t port, char dst[64])
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(t->family, addr, text, sizeof(text));
	snprintf(dst, 64, t->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

static double share_of(uint64_t part_us, uint64_t of_us)
{
	return of_us ? (double)part_us / (double)of_us : 0;
}

static void put_tcps(const struct page *p)
{
	char local[64], peer[64], in[32], out[32], rtt[32];

	if (p->w->n_tcps)
		buf_puts(p->b,
			 "\nTCP connection                                   out           in   "
			 "   rtt   retr  busy  rwnd sndbuf\n");
	for (size_t i = 0; i < p->w->n_tcps; i++) {
		const struct host_tcp *t = &p->w->tcps[i];
		size_t from = p->b->len;

		address(t->now, t->now->local, t->now->local_port, local);
		address(t->now, t->now->peer, t->now->peer_port, peer);
		unit_format(out, sizeof(out), (double)t->sent * 8 / p->seconds, UNIT_BPS, 3);
		unit_format(in, sizeof(in), (double)t->received * 8 / p->seconds, UNIT_BPS, 3);
		unit_format(rtt, sizeof(rtt), t->now->rtt_us * 1e-6, UNIT_SECOND, 3);
		buf_printf(p->b, "%s %s", local, peer);
		while (p->b->len - from < 42)
			buf_putc(p->b, ' ');
		buf_printf(p->b, " %12s %12s %8s %5llu %4.0f%% %4.0f%% %5.0f%%\n", out, in, rtt,
			   (unsigned long long)t->retrans,
			   100 * (double)t->busy_us * 1e-6 / p->seconds,
			   100 * share_of(t->rwnd_us, t->busy_us),
			   100 * share_of(t->sndbuf_us, t->busy_us));
	}
}

static void put_tcps_json(const struct ui_watch *w, struct jw *j)
{
	char text[64];

	jw_arr(j, "tcp");
	for (size_t i = 0; i < w->n_tcps; i++) {
		const struct host_tcp *t = &w->tcps[i];

		jw_obj(j, NULL);
		address(t->now, t->now->local, t->now->local_port, text);
		jw_str(j, "local", text);
		address(t->now, t->now->peer, t->now->peer_port, text);
		jw_str(j, "peer", text);
		jw_u64(j, "bytes_acked", t->sent);
		jw_u64(j, "bytes_received", t->received);
		jw_u64(j, "retransmits", t->retrans);
		jw_f64(j, "rtt", t->now->rtt_us * 1e-6);
		jw_u64(j, "cwnd", (uint64_t)t->now->cwnd * t->now->mss);
		jw_f64(j, "busy", (double)t->busy_us * 1e-6);
		jw_f64(j, "rwnd_limited", (double)t->rwnd_us * 1e-6);
		jw_f64(j, "sndbuf_limited", (double)t->sndbuf_us * 1e-6);
		jw_end_obj(j);
	}
	jw_end_arr(j);
}

/* What the tables above have shown already. */
static bool is_shown(const struct host_key *k)
{
	static const char *const iface[] = {"rx_bytes", "tx_bytes", "rx_packets", "tx_packets"};

	if (k->group == HOST_CPU || k->group == HOST_SOFTNET)
		return true;
	for (size_t i = 0; k->group == HOST_IFACE && i < ARRAY_LEN(iface); i++) {
		if (!strcmp(k->name, iface[i]))
			return true;
	}
	return k->group == HOST_SOFTIRQ && !strcmp(k->name, "NET_RX");
}

static bool is_time(const struct host_key *k)
{
	return k->group == HOST_PRESSURE ||
	       (k->group == HOST_THREAD && strcmp(k->name, "slices") != 0);
}

static void put_moved(const struct page *p, const struct host_key *k, uint64_t d)
{
	int width = p->w->columns > 30 && p->w->columns < 69 ? p->w->columns - 13 : 56;
	char of[HOST_KEY_OF * 4], name[HOST_KEY_NAME * 4], what[400], value[48], cpu[24] = "";

	safe_str(of, sizeof(of), k->of, strlen(k->of));
	safe_str(name, sizeof(name), k->name, strlen(k->name));
	if (k->cpu >= 0)
		snprintf(cpu, sizeof(cpu), " cpu%d", k->cpu);
	snprintf(what, sizeof(what), "%s%s%s%s %s", host_group_names[k->group], of[0] ? " " : "",
		 of, cpu, name);
	if (is_time(k)) {
		snprintf(value, sizeof(value), "%.1f %%", (double)d / p->seconds / 1e7);
	} else {
		unit_format(value, sizeof(value), (double)d / p->seconds, UNIT_NONE, 3);
		snprintf(value + strlen(value), sizeof(value) - strlen(value), "/s");
	}
	buf_printf(p->b, "%-*.*s %12s\n", width, width, what, value);
}

static void put_others(const struct page *p, size_t room)
{
	size_t shown = 0, more = 0;
	uint64_t d;

	buf_puts(p->b, "\nwhat else moved\n");
	for (size_t i = 0; i < host_set_n(p->w->set); i++) {
		const struct host_key *k = host_set_key(p->w->set, i);

		if (is_shown(k) || !moved(p->w, i, &d))
			continue;
		if (room && shown >= room) {
			more++;
			continue;
		}
		put_moved(p, k, d);
		shown++;
	}
	if (more)
		buf_printf(p->b, "and %zu more (--once shows all)\n", more);
}

static size_t lines_of(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* A screen scrolls where a page has a line or a column too many; its text is one byte a column, but for
 * continuations in UTF-8. */
static void fit(struct buf *b, size_t from, size_t rows, size_t columns)
{
	size_t to = from, row = 0, column = 0;

	for (size_t i = from; i < b->len && row < rows; i++) {
		bool end = b->data[i] == '\n', more = ((unsigned char)b->data[i] & 0xc0) == 0x80;

		column += !end && !more;
		if (end || !columns || column <= columns)
			b->data[to++] = b->data[i];
		if (end) {
			column = 0;
			row++;
		}
	}
	if (row == rows && to > from)
		to--; /* the last line's end would scroll */
	b->len = to;
}

void ui_watch(const struct ui_watch *w, struct buf *b)
{
	struct page p = {.w = w, .b = b};
	size_t from = lines_of(b), start = b->len, used;

	p.seconds = (double)(w->to->t_ns - w->from->t_ns) * 1e-9;
	if (p.seconds <= 0)
		return;
	buf_printf(b, "%s  %.3g s, own cost %.3f %% of a core\n", w->what, p.seconds,
		   w->cost * 100);
	put_cpus(&p, w->rows > 0 ? (size_t)w->rows / 3 + 1 : 0);
	put_ifaces(&p);
	put_tcps(&p);
	used = lines_of(b) - from + 3;
	put_others(&p, w->rows ? (size_t)w->rows > used ? (size_t)w->rows - used : 1 : 0);
	if (w->rows > 0)
		fit(b, start, (size_t)w->rows, w->columns > 0 ? (size_t)w->columns : 0);
}

void ui_watch_json(const struct ui_watch *w, struct buf *b)
{
	struct jw j = jw_init(b);
	double seconds = (double)(w->to->t_ns - w->from->t_ns) * 1e-9;
	uint64_t d;

	if (seconds <= 0)
		return;
	jw_obj(&j, NULL);
	jw_str(&j, "type", "counters");
	jw_i64(&j, "schema", MODEL_SCHEMA);
	jw_str(&j, "of", w->what);
	jw_f64(&j, "seconds", seconds);
	jw_f64(&j, "own_cost", w->cost);
	jw_str(&j, "irq_time",
	       w->irq_time == 0   ? "not accounted"
	       : w->irq_time == 1 ? "accounted"
				  : NULL);
	jw_arr(&j, "moved");
	for (size_t i = 0; i < host_set_n(w->set); i++) {
		const struct host_key *k = host_set_key(w->set, i);

		if (!moved(w, i, &d) ||
		    (k->group == HOST_CPU && w->irq_time != 1 && !strcmp(k->name, "irq")))
			continue;
		jw_obj(&j, NULL);
		jw_str(&j, "group", host_group_names[k->group]);
		if (k->of[0])
			jw_str(&j, "of", k->of);
		if (k->cpu >= 0)
			jw_i64(&j, "cpu", k->cpu);
		jw_str(&j, "name", k->name);
		jw_u64(&j, "delta", d);
		jw_f64(&j, "rate",
		       (double)d / seconds * (is_time(k) || k->group == HOST_CPU ? 1e-9 : 1));
		jw_end_obj(&j);
	}
	jw_end_arr(&j);
	if (w->n_tcps)
		put_tcps_json(w, &j);
	jw_end_obj(&j);
	buf_putc(b, '\n');
}
