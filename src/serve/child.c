/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One admitted test: the session that a client runs too, with the front as the source of its data
 * connections; what it found goes to the front as one line.
 */
#include "serve/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>

#define CONTROL_QUEUE (128 << 10) /* the kernel doubles it: 256 KiB wait at most */

static void session_open(struct proto_session *s, const struct serve_job *job,
			 struct serve_feed *feed)
{
	const int queue = CONTROL_QUEUE, off = 0;

	*s = (struct proto_session){
		.proto = job->proto,
		.role = PROTO_SERVER,
		.ctl_fd = job->ctl,
		.stop_fd = job->stop,
		.psk = job->cfg->psk,
		.login = job->cfg->login,
		.server_facts = job->cfg->facts,
		.take_data = serve_feed_take,
		.expect_data = serve_feed_expect,
		.expect_udp = serve_feed_expect_udp,
		.hello_again = serve_feed_again,
		.load_over = serve_feed_over,
		.arg = feed,
		.iperf2 = job->cfg->iperf2,
		.early = job->early,
		.n_early = job->n_early,
		.began_ns = job->proto->in_band ? job->began_ns : 0,
	};
	memcpy(s->cookie, job->cookie, sizeof(s->cookie));
	s->peer_addr.len = s->local_addr.len = sizeof(s->peer_addr.ss);
	getpeername(job->ctl, &s->peer_addr.sa, &s->peer_addr.len);
	getsockname(job->ctl, &s->local_addr.sa, &s->local_addr.len);
	net_addr_unmap(&s->peer_addr);
	net_addr_unmap(&s->local_addr);
	fcntl(job->ctl, F_SETFL, 0);
	if (!job->n_early)
		net_tcp_control_opts(job->ctl);
	if (job->proto->in_band) /* it is the data's: its queue and delays are the data's */
		setsockopt(job->ctl, IPPROTO_TCP, TCP_NODELAY, &off, sizeof(off));
	else
		setsockopt(job->ctl, SOL_SOCKET, SO_SNDBUF, &queue, sizeof(queue));
}

static const char *outcome_of(int result, const struct model_run *run)
{
	if (result < 0)
		return "failed";
	return run && run->outcome != OUTCOME_COMPLETE ? "cut short" : "done";
}

static void hand_in(const struct serve_job *job, const struct serve_line *line)
{
	struct serve_msg m = {.type = SERVE_MSG_RESULT};
	struct buf b = {.max = sizeof(m.text)};

	serve_line_put(&b, line, job->cfg->log_json);
	if (!b.failed && b.len < sizeof(m.text)) {
		m.len = (uint32_t)b.len;
		memcpy(m.text, b.data, b.len);
	}
	serve_chan_send(job->chan, &m, -1);
	buf_fini(&b);
}

static void put_words(void *put_arg, int stream, const char *text, size_t n)
{
	const struct serve_job *job = put_arg;

	while (n) {
		struct serve_msg m = {.type = SERVE_MSG_WORDS, .a = (uint64_t)stream};

		m.len = (uint32_t)(n < sizeof(m.text) ? n : sizeof(m.text));
		memcpy(m.text, text, m.len);
		serve_chan_send(job->chan, &m, -1);
		text += m.len;
		n -= m.len;
	}
}

#define IN_BAND_IDLE_NS (10 * NSEC_PER_SEC) /* nobody is there who would say that it goes on */
#define RATE_PERIOD_NS  (5 * NSEC_PER_SEC)  /* iperf3's own */
#define RATE_SLACK      20                  /* a twentieth over the rate is no offence yet */

/* A server for this protocol alone waits for a connection as the tool's own does. */
static bool is_brief(const struct serve_job *job)
{
	return job->n_early || (job->proto->in_band && !job->cfg->only);
}

int serve_child_body(const struct serve_job *job)
{
	const uint64_t most = job->limits.rate_bps;
	const struct serve_words *words = job->cfg->words;
	struct serve_job own = *job;
	void *thing;
	struct serve_feed feed = {
		.chan = job->chan, .ctl = job->ctl, .stop = job->stop, .nice = job->nice};
	struct proto_session s;
	struct proto_extra extra = {.output = serve_report, .arg = &s};
	struct measure_hooks hooks = {
		.extra = &extra, .most_bps = most + most / RATE_SLACK, .most_ns = RATE_PERIOD_NS};
	struct measure_serve m = {.proto = &s,
				  .facts = (enum measure_facts)job->cfg->facts_told,
				  .hooks = &hooks,
				  .limits = &job->limits,
				  .workers = job->workers,
				  .stop_fd = job->stop,
				  .idle_ns = is_brief(job) ? IN_BAND_IDLE_NS : 0,
				  .overlap = job->overlap};
	struct weir_err e = {0};
	struct model_run *run = NULL;
	struct net_addr peer;
	int r;

	session_open(&s, job, &feed);
	peer = s.peer_addr;
	thing = words ? words->begin(words->arg, &m, put_words, &own) : NULL;
	r = measure_serve_run(&m, &run, &e);
	if (thing)
		words->end(thing, run, r, &e);
	hand_in(job, &(struct serve_line){.peer = &peer,
					  .protocol = job->proto->name,
					  .who = &s.peer,
					  .outcome = outcome_of(r, run),
					  .why = e.msg,
					  .run = run});
	serve_feed_fini(&feed);
	model_run_free(run);
	proto_session_fini(&s);
	if (r >= 0)
		return is_brief(job) && !s.proved ? SERVE_EXIT_UNPROVED : 0;
	return e.code == EACCES ? SERVE_EXIT_LOGIN : 1;
}
