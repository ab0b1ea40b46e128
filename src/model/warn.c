/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may be wrong with a result is a code, never a text that somebody has to match. One row a
 * code; the event adds the case.
 */
#include "model/model.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
static const struct model_warn warns[WARN_MAX] = {
	[WARN_OVERLAP] = {"overlap", MODEL_WARN, "other tests ran on the server at the same time"},
	[WARN_LATE_SAMPLE] = {"late-sample", MODEL_NOTE, "an interval is over 10 % longer than asked for"},
	[WARN_INTERRUPTED] = {"interrupted", MODEL_WARN, "the test was interrupted"},
	[WARN_PEER_GONE] = {"peer-gone", MODEL_ERROR, "the peer vanished or closed early"},
	[WARN_PEER_TERMINATED] = {"peer-terminated", MODEL_WARN, "the peer ended the test"},
	[WARN_RECV_GT_SENT] = {"received-more-than-sent", MODEL_WARN, "the peer reports more received than was sent"},
	[WARN_CC_FALLBACK] = {"cc-fallback", MODEL_WARN, "the congestion control in use is not the one asked for"},
	[WARN_WINDOW_SHORT] = {"window-short", MODEL_WARN, "the socket buffer is smaller than asked for"},
	[WARN_MSS_DIFFERS] = {"mss-differs", MODEL_WARN, "the segment size in use is not the one asked for"},
	[WARN_ZC_COPIED] = {"zero-copy-copied", MODEL_NOTE, "the kernel copied data of zero-copy sends"},
	[WARN_RX_TRUNC] = {"receive-truncated", MODEL_NOTE, "the receiver counted data without copying it"},
	[WARN_MEMORY_CAP] = {"memory-cap", MODEL_WARN, "samples were dropped: the run's memory limit"},
	[WARN_SHORT_RUN] = {"short-run", MODEL_WARN, "the measured period is under one second"},
	[WARN_CLOCK_STEPPED] = {"clock-stepped", MODEL_WARN, "the clock was stepped during the test"},
	[WARN_SENDER_ONLY] = {"sender-only", MODEL_WARN, "only the sender's figures are known"},
	[WARN_PEER_FIGURE] = {"peer-figure", MODEL_WARN, "a figure told by the peer is implausible"},
	[WARN_NOT_STORED] = {"not-stored", MODEL_WARN, "the run could not be stored"},
	[WARN_INCOMPLETE] = {"incomplete", MODEL_WARN, "the run was cut off"},
	[WARN_RATE_SHORT] = {"rate-short", MODEL_WARN, "the sender did not reach its rate"},
	[WARN_FEWER_FLOWS] = {"fewer-flows", MODEL_WARN, "fewer flows ran than were asked for"},
	[WARN_STALL] = {"stall", MODEL_WARN, "intervals without a byte"},
	[WARN_CAP] = {"server-limit", MODEL_NOTE, "a limit of the server changed the request"},
	[WARN_FRAGMENTED] = {"fragmented", MODEL_WARN, "datagrams are larger than the path takes in one piece"},
	[WARN_SOCKET_DROPS] = {"socket-drops", MODEL_WARN, "datagrams were dropped at the receiver's socket, not on the path"},
	[WARN_SEND_REFUSED] = {"send-refused", MODEL_WARN, "the sender's queue was full"},
	[WARN_SEND_FAILED] = {"send-failed", MODEL_WARN, "a flow could not send to its end"},
	[WARN_FOREIGN] = {"foreign", MODEL_NOTE, "datagrams that are not of this test came and were left out"},
	[WARN_LOAD_DEFAULT] = {"load-default", MODEL_NOTE, "the offered load was the default; capacity was not measured"},
	[WARN_UNCONFIRMED] = {"unconfirmed", MODEL_WARN, "the search ended before its result was confirmed"},
	[WARN_TRUNCATED] = {"truncated", MODEL_WARN, "the report is cut off"},
	[WARN_DUPLICATE] = {"duplicate-paste", MODEL_WARN, "the same report was pasted before: it is no measurement of its own"},
	[WARN_LABEL] = {"label-mismatch", MODEL_WARN, "a label says otherwise than the figures"},
	[WARN_DURATIONS] = {"unequal-duration", MODEL_WARN, "rows that belong together last differently long"},
	[WARN_STUB] = {"stub-interval", MODEL_NOTE, "an interval of almost no length was left out"},
	[WARN_NONSTATIONARY] = {"nonstationary", MODEL_WARN, "the rate changed within the run: its mean says little"},
	[WARN_LINE_RATE] = {"line-rate", MODEL_NOTE, "the rate is what the link can carry at most"},
	[WARN_CPU_BOUND] = {"cpu-bound", MODEL_WARN, "a processor was fully used: it may be the limit"},
	[WARN_RATE_LIMITED] = {"rate-limited", MODEL_NOTE, "the sender was told a rate: capacity was not measured"},
	[WARN_VERSION] = {"unknown-version", MODEL_NOTE, "no known version of the tool prints this form"},
	[WARN_MISSING_SIDE] = {"missing-side", MODEL_WARN, "one end's figures are missing"},
	[WARN_MISMATCH] = {"mismatch", MODEL_WARN, "figures of the report contradict each other"},
	[WARN_UNAVAILABLE] = {"unavailable", MODEL_NOTE, "a figure is printed that cannot be one"},
	[WARN_UNREACHABLE] = {"unreachable", MODEL_WARN, "something refuses the datagrams: errors came back by ICMP"},
	[WARN_PEER_FOUND] = {"peer-found", MODEL_NOTE, "who is at the far end was found out by asking"},
	[WARN_OTHER] = {"other", MODEL_WARN, "a warning that this version does not know"},
};
/* clang-format on */

const struct model_warn *model_warn(enum model_warn_code c)
{
	return (unsigned)c < WARN_MAX ? &warns[c] : NULL;
}

int model_warn_find(const char *code)
{
	for (int i = 0; i < WARN_MAX; i++) {
		if (!strcmp(warns[i].code, code))
			return i;
	}
	return -ENOENT;
}
