/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same quantity must have one name, one unit and one direction in every measurement, report
 * and store. One row a metric; whoever needs another adds a row.
 */
#include "model/model.h"

#include <string.h>

#define COUNTER(name, unit, better, type, help)                                         \
	{                                                                               \
		name, UNIT_##unit, MODEL_COUNTER, MODEL_##better, MODEL_##type, help, 0 \
	}
#define GAUGE(name, unit, better, type, help)                                         \
	{                                                                             \
		name, UNIT_##unit, MODEL_GAUGE, MODEL_##better, MODEL_##type, help, 0 \
	}
/* A gauge that its source tells in whole steps: the kernel's round-trip times are microseconds. */
#define STEPS(name, step, unit, better, type, help)                                      \
	{                                                                                \
		name, UNIT_##unit, MODEL_GAUGE, MODEL_##better, MODEL_##type, help, step \
	}
#define RATE(name, unit, better, type, help)                                         \
	{                                                                            \
		name, UNIT_##unit, MODEL_RATE, MODEL_##better, MODEL_##type, help, 0 \
	}

/* clang-format off */
static const struct model_metric metrics[] = {
	RATE("goodput", BPS, HIGHER, F64, "application bytes received over time"),
	RATE("throughput.sent", BPS, HIGHER, F64, "application bytes handed to the sender's kernel over time"),
	COUNTER("bytes", BYTE, HIGHER, U64, "application bytes"),
	GAUGE("duration", SECOND, NEITHER, F64, "length of the measured period"),
	GAUGE("flows", NONE, NEITHER, I64, "flows that carried the load"),
	GAUGE("jain", RATIO, HIGHER, F64, "Jain's fairness index over the flows' goodput"),

	COUNTER("tcp.retransmits", NONE, LOWER, U64, "segments sent again"),
	GAUGE("tcp.retransmit_share", RATIO, LOWER, F64, "segments sent again as share of all data segments sent"),
	COUNTER("tcp.segments", NONE, NEITHER, U64, "data segments sent"),
	STEPS("tcp.rtt", 1e-6, SECOND, LOWER, F64, "smoothed round-trip time of the connection"),
	STEPS("tcp.rtt_idle", 1e-6, SECOND, LOWER, F64, "round-trip time before the load"),
	STEPS("tcp.rtt_loaded", 1e-6, SECOND, LOWER, F64, "round-trip time under load"),
	STEPS("tcp.rttvar", 1e-6, SECOND, LOWER, F64, "variation of the round-trip time, as TCP smooths it"),
	STEPS("tcp.min_rtt", 1e-6, SECOND, LOWER, F64, "smallest round-trip time that TCP has seen lately"),
	GAUGE("tcp.cwnd", BYTE, NEITHER, I64, "congestion window"),
	GAUGE("tcp.ssthresh", BYTE, NEITHER, I64, "slow-start threshold"),
	GAUGE("tcp.snd_wnd", BYTE, NEITHER, I64, "window that the receiver offers"),
	GAUGE("tcp.mss", BYTE, NEITHER, I64, "maximum segment size for sending"),
	GAUGE("tcp.pmtu", BYTE, NEITHER, I64, "path MTU as the kernel knows it"),
	RATE("tcp.delivery_rate", BPS, HIGHER, F64, "latest delivery rate by the kernel's estimate"),
	RATE("tcp.pacing_rate", BPS, NEITHER, F64, "rate at which TCP paces its segments"),
	GAUGE("tcp.reordering", NONE, LOWER, I64, "segments of reordering that TCP tolerates"),
	COUNTER("tcp.reord_seen", NONE, LOWER, U64, "reordering events seen"),
	GAUGE("tcp.lost", NONE, LOWER, I64, "segments that TCP holds for lost at the moment"),
	COUNTER("tcp.delivered", NONE, HIGHER, U64, "data segments delivered, retransmissions included"),
	COUNTER("tcp.delivered_ce", NONE, LOWER, U64, "data segments delivered with a congestion mark"),
	COUNTER("tcp.busy_time", SECOND, NEITHER, F64, "time with data to send"),
	COUNTER("tcp.rwnd_limited", SECOND, LOWER, F64, "time held back by the receiver's window"),
	COUNTER("tcp.sndbuf_limited", SECOND, LOWER, F64, "time held back by the send buffer"),
	COUNTER("tcp.bytes_acked", BYTE, HIGHER, U64, "bytes acknowledged"),
	COUNTER("tcp.bytes_retrans", BYTE, LOWER, U64, "bytes sent again"),
	GAUGE("tcp.notsent", BYTE, NEITHER, I64, "bytes in the send buffer that were never sent"),

	COUNTER("udp.datagrams", NONE, HIGHER, U64, "datagrams sent, or received (duplicates too)"),
	COUNTER("udp.intended", NONE, NEITHER, U64, "datagrams that the sender's schedule asked for"),
	COUNTER("udp.skipped", NONE, LOWER, U64, "datagrams of the schedule that were given up: the sender was too far behind"),
	COUNTER("udp.refused", NONE, LOWER, U64, "sends that the sender's kernel had no room for"),
	COUNTER("udp.unreachable", NONE, LOWER, U64, "sends that an ICMP error of an earlier datagram, or this host's own filter, refused"),
	GAUGE("udp.unsent", BYTE, LOWER, I64, "what still waited in the sender's own host when the time was up, as its kernel counts"),
	COUNTER("udp.lost", NONE, LOWER, I64, "datagrams that never came; a late one of an earlier interval counts back"),
	GAUGE("udp.loss", RATIO, LOWER, F64, "datagrams lost as share of those sent"),
	COUNTER("udp.duplicates", NONE, LOWER, U64, "datagrams that came more than once"),
	COUNTER("udp.reordered", NONE, LOWER, U64, "datagrams that came after one that was sent later"),
	COUNTER("udp.late", NONE, LOWER, U64, "datagrams so late that nobody knows whether for the first time; counted as lost"),
	COUNTER("udp.fragmented", NONE, LOWER, U64, "datagrams that came in several IP fragments"),
	COUNTER("udp.foreign", NONE, LOWER, U64, "datagrams that are not of this test"),
	COUNTER("udp.socket_drops", NONE, LOWER, U64, "datagrams dropped at the receiver's socket, whose buffer was full"),
	COUNTER("udp.host_drops", NONE, LOWER, U64, "datagrams dropped at any socket of the receiver's host (RcvbufErrors of its network namespace)"),
	GAUGE("udp.jitter", SECOND, LOWER, F64, "variation of the transit time (RFC 3550)"),
	GAUGE("udp.size", BYTE, NEITHER, I64, "payload of a datagram"),
	GAUGE("udp.path_payload", BYTE, NEITHER, I64, "largest payload that the path takes in one piece, as the kernel knows"),
	GAUGE("udp.gap", SECOND, NEITHER, F64, "time between two bursts of the sender"),
	GAUGE("udp.gap_error", SECOND, LOWER, F64, "how far a gap between bursts was from the one intended"),
	GAUGE("udp.burst_max", NONE, LOWER, I64, "most datagrams that left at once"),
	GAUGE("udp.batch", NONE, NEITHER, I64, "most datagrams in one system call (UDP_SEGMENT)"),
	GAUGE("load.intended", BPS, NEITHER, F64, "rate of application bytes that was asked of the sender"),
	GAUGE("rate.offered", BPS, NEITHER, F64, "rate of a trial, over all its flows"),
	GAUGE("rate.found", BPS, HIGHER, F64, "highest rate at which the loss stayed within the bound"),
	GAUGE("rate.failed", BPS, HIGHER, F64, "lowest rate at which it did not"),

	RATE("rr.rate", NONE, HIGHER, F64, "exchanges of a request and a response a second"),
	GAUGE("rr.latency", SECOND, LOWER, F64, "time of an exchange"),

	GAUGE("ctl.rtt", SECOND, LOWER, F64, "round trip of a message on the control connection"),

	GAUGE("probe.rtt", SECOND, LOWER, F64, "round trip of a probe (ping, irtt …)"),
	GAUGE("probe.owd", SECOND, LOWER, F64, "one-way delay of a probe, by two clocks"),
	GAUGE("probe.ipdv", SECOND, LOWER, F64, "difference of the delays of two probes in a row"),
	COUNTER("probe.sent", NONE, NEITHER, U64, "probes sent"),
	COUNTER("probe.received", NONE, HIGHER, U64, "probes that were answered"),
	COUNTER("probe.duplicates", NONE, LOWER, U64, "answers beyond the first of a probe"),
	COUNTER("probe.late", NONE, LOWER, U64, "probes that came after one that was sent later"),
	GAUGE("probe.loss", RATIO, LOWER, F64, "probes without an answer as share of those sent"),

	GAUGE("rfc2544.pps", PPS, HIGHER, F64, "highest frame rate within the tolerated loss"),
	GAUGE("rfc2544.bps", BPS, HIGHER, F64, "bits of the frames at that rate"),
	GAUGE("rfc2544.share", RATIO, HIGHER, F64, "that rate as share of the line's"),

	GAUGE("cpu.total", RATIO, LOWER, F64, "processor time of the test, of one core"),
	GAUGE("cpu.user", RATIO, LOWER, F64, "processor time in the program, of one core"),
	GAUGE("cpu.system", RATIO, LOWER, F64, "processor time in the kernel for the program, of one core"),
	COUNTER("cpu.seconds", SECOND, LOWER, F64, "processor seconds of the test"),
	GAUGE("cpu.per_gb", SECOND, LOWER, F64, "processor seconds a gigabyte (1e9 bytes) of application data"),
	GAUGE("cpu.core_max", RATIO, LOWER, F64, "busy share of the busiest core"),
	GAUGE("cpu.thread_max", RATIO, LOWER, F64, "busy share of the busiest worker thread"),
	GAUGE("cpu.softirq", RATIO, LOWER, F64, "processor time in software interrupts, of one core"),
	GAUGE("cpu.core_kernel", RATIO, LOWER, F64, "share of its time that the core with the most of it spent in the kernel: system calls and interrupts"),
	GAUGE("cpu.core_softirq", RATIO, LOWER, F64, "share of its time that the core with the most of it spent in software interrupts"),
	GAUGE("cpu.core_steal", RATIO, LOWER, F64, "share of its time that the worst core waited for the virtual machine's host"),
	GAUGE("cpu.irq", RATIO, LOWER, F64, "processor time in hardware interrupts, of one core; unknown where the kernel does not account it"),
	GAUGE("sched.want", RATIO, NEITHER, F64, "share of the time that the test's busiest thread ran or waited for a core"),
	GAUGE("sched.wait", RATIO, LOWER, F64, "share of the time that this thread waited for a core"),
	GAUGE("cpu.ksoftirqd", RATIO, LOWER, F64, "processor time of the busiest ksoftirqd thread, of one core"),
	GAUGE("irq.core_share", RATIO, LOWER, F64, "share of the interface's interrupts that one core took"),
	COUNTER("sched.switches", NONE, LOWER, U64, "context switches of the whole host"),
	GAUGE("psi.cpu", RATIO, LOWER, F64, "share of the time that some task of the host waited for a core"),

	COUNTER("softnet.dropped", NONE, LOWER, U64, "packets dropped as a core's backlog was full (netdev_max_backlog)"),
	COUNTER("softnet.squeezed", NONE, LOWER, U64, "receive rounds that ended with work left (netdev_budget)"),
	GAUGE("softnet.core_share", RATIO, LOWER, F64, "share of the host's packets that one core took"),
	COUNTER("softnet.packets", NONE, NEITHER, U64, "packets that receive rounds of the whole host took"),
	GAUGE("softnet.batch", NONE, HIGHER, F64, "packets that a receive round (NET_RX) took, on average"),
	COUNTER("ip.packets", NONE, NEITHER, U64, "packets that passed the IP layer of the network namespace, batches as one"),
	GAUGE("nf.rules", NONE, LOWER, U64, "packet filter rules of the network namespace"),
	GAUGE("link.utilisation", RATIO, NEITHER, F64, "rate on the interface as share of its speed, the busier direction"),
	COUNTER("link.rx_missed", NONE, LOWER, U64, "packets that the interface had no receive buffer for"),
	COUNTER("link.tx_dropped", NONE, LOWER, U64, "packets dropped by the interface on sending"),
	COUNTER("link.errors", NONE, LOWER, U64, "packets that were damaged or could not be sent"),
	COUNTER("qdisc.drops", NONE, LOWER, U64, "packets dropped by the interface's queue disciplines"),
	COUNTER("qdisc.overlimits", NONE, NEITHER, U64, "times that a queue discipline held a packet back"),
	COUNTER("qdisc.requeues", NONE, LOWER, U64, "times that the driver had no room"),
	COUNTER("tcp.timeouts", NONE, LOWER, U64, "retransmission timeouts in the network namespace"),
	COUNTER("tcp.dsacks", NONE, LOWER, U64, "segments that came although they were sent again, as the receivers reported"),
	COUNTER("tcp.zero_windows", NONE, LOWER, U64, "times that a receiver of the network namespace closed its window"),
	COUNTER("tcp.memory_drops", NONE, LOWER, U64, "times that TCP gave up data or room for want of buffer memory"),
	COUNTER("tcp.listen_drops", NONE, LOWER, U64, "connections dropped as a listener's queue was full"),
	COUNTER("udp.sndbuf_errors", NONE, LOWER, U64, "datagrams that the sending host had no buffer for"),

	COUNTER("zc.completions", NONE, NEITHER, U64, "zero-copy sends that the kernel reported complete"),
	COUNTER("zc.copied", NONE, LOWER, U64, "zero-copy sends that the kernel copied after all"),
	GAUGE("zc.copied_share", RATIO, LOWER, F64, "zero-copy completions that say the data was copied"),
	COUNTER("app.calls", NONE, LOWER, U64, "system calls made for sending and receiving"),
	GAUGE("window.snd", BYTE, NEITHER, I64, "send buffer in use by the kernel's account"),
	GAUGE("window.rcv", BYTE, NEITHER, I64, "receive buffer in use by the kernel's account"),
};
/* clang-format on */

const struct model_metric *model_metric(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	}
	return NULL;
}

const struct model_metric *model_metric_at(size_t i)
{
	return i < ARRAY_LEN(metrics) ? &metrics[i] : NULL;
}
