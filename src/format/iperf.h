/* SPDX-License-Identifier: BSD-2-Clause */
/* What the readers of iperf 2 and iperf3 text share: their rows, and what is made of them. */
#ifndef WEIR_FORMAT_IPERF_H
#define WEIR_FORMAT_IPERF_H

#include "format/reader.h"

/* Ids that are no stream's; both = the two directions of one connection, added up. */
enum { IPERF_BOTH = -3, IPERF_SUM = -2, IPERF_NONE = -1 };
enum iperf_said { SAID_NOTHING, SAID_SENDER, SAID_RECEIVER };
struct iperf_row {
	int id;
	bool star; /* "[ *1]": the other direction of one socket */
	char role; /* 'T' or 'R' of "[TX-C]", 'S' or 'C' in role_end; 0 = none */
	char role_end;
	enum iperf_said said;
	bool omitted, cut, summary;
	uint8_t t_decimals;
	double t0, t1, t_step;
	double bytes, bytes_step, bps, bps_step; /* NaN = not there */
	double retr, cwnd, rtt, jitter, lost, total, datagrams, writes, netpwr, reordered, pps;
	double latency[4]; /* mean, least, most, deviation: seconds */
};
/* A row "[id] a-b sec …" at token i: the index after it, or 0. */
size_t iperf_row_read(const struct lex *l, size_t i, struct iperf_row *r);

struct iperf_conn {
	int id;
	unsigned lport, rport;
};
/* What was seen of one stream, by who said it. */
struct iperf_side {
	size_t n, last; /* rows; index of the last */
	double t1, bytes;
	bool omitted, whole; /* the last one; it is over all of the run */
};
struct iperf_flow {
	int id;
	bool star, twin; /* twin: the same connection is above, the other way */
	char role;
	struct iperf_side side[3];
};
/* A histogram of iperf 2: what bins hold three shares of the counts. */
#define IPERF_HISTS 8
struct iperf_hist {
	char name[16];
	double count, bin, share[3], s[3], most; /* bin, s, most: seconds */
};
#define IPERF_CONNS       256
#define IPERF_PHRASE_KEYS 32
struct iperf_acc {
	int gen; /* 2 or 3 */
	struct iperf_row *row;
	size_t n, cap;
	size_t n_conn;
	size_t n_flow, finals, n_hist;
	bool client, server, reverse, udp, tcp, full_duplex;
	double rate_told; /* -b, in bit/s; NaN = none */
	double streams;   /* -P */
	double sent;      /* datagrams that the client sent, over sent_n streams */
	size_t sent_n;
	bool sent_sum; /* it is what was printed as their sum */
	double cpu_local, cpu_remote, connect_s, window, window_asked;
	int results; /* whose debug output this is: 1 = ours, 2 = the other end's */
	double result_bytes[2];
	enum iperf_said next; /* of the row that follows */
	int next_id;          /* of which stream; IPERF_NONE = any */
	bool next_remote;     /* it is the other end's report */
	bool no_view;         /* which end wrote a row is not known */
	bool failed, cut;
	bool broken; /* interrupted, or without its control connection: no results were exchanged */
	/* Which phrases may begin with a number, with a character: a bit each. */
	uint64_t phrase_num, phrase[IPERF_PHRASE_KEYS];
	/* The first n_conn and n_flow of these. */
	struct iperf_conn conn[IPERF_CONNS];
	struct iperf_hist hist[IPERF_HISTS];
	struct iperf_flow flow[IPERF_CONNS];
};
void iperf_acc_init(struct iperf_acc *a, int gen);
/* Does the row belong to another report than those before it? */
bool iperf_again(struct iperf_acc *a, const struct iperf_row *r);
void iperf_add_row(struct iperf_acc *a, struct iperf_row *r);
/* Makes figures of the rows. */
void iperf_make(struct iperf_acc *a, struct format_found *f);
/* Reads one report's text from token i on. */
size_t iperf_text(const struct lex *l, size_t i, struct format_found *f, int gen);
/* Does a row or a header of that generation begin at i? */
bool iperf_sniff(const struct lex *l, size_t i, int gen);

/* A histogram's row at i: the index after it, or 0; and those of a report as figures. */
size_t iperf_hist(const struct lex *l, size_t i, struct iperf_acc *a);
void iperf_hist_put(const struct iperf_acc *a, struct format_found *f);

bool iperf_csv_sniff(const struct lex *l, size_t i);
size_t iperf_csv(const struct lex *l, size_t i, struct format_found *f);

#endif
