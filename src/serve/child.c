/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One admitted test in a process of its own. Whatever its peer does to it, nothing else is within
 * its reach: no listener, no other test's sockets, no standard output; what it found goes to the
 * front as one checked line.
 */
#include "serve/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONTROL_QUEUE (128 << 10) /* the kernel doubles it: 256 KiB wait at most */

/* A terminal's or a service manager's signals go to the whole group, but only the front ends
 * tests, after their grace. */
static void settle_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all gaps between the descriptors that stay. */
static int close_others(const int *keep, size_t n)
{
	int sorted[8], from = STDERR_FILENO + 1;

	if (n > ARRAY_LEN(sorted))
		return -EINVAL;
	memcpy(sorted, keep, n * sizeof(*keep));
	qsort(sorted, n, sizeof(*sorted), by_number);
	for (size_t i = 0; i < n; i++) {
		if (sorted[i] > from && syscall(SYS_close_range, from, sorted[i] - 1, 0))
			return -errno;
		from = sorted[i] + 1;
	}
	return syscall(SYS_close_range, from, ~0U, 0) ? -errno : 0;
}

int serve_child_settle(pid_t parent, int null_fd, const int *keep, size_t n)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		return -ESRCH;
	settle_signals();
	if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0)
		return -errno;
	return close_others(keep, n);
}

static void session_open(struct proto_session *s, const struct serve_job *job,
			 struct serve_feed *feed)
{
	int queue = CONTROL_QUEUE;

	*s = (struct proto_session){
		.proto = job->proto,
		.role = PROTO_SERVER,
		.ctl_fd = job->ctl,
		.stop_fd = job->stop,
		.psk = job->cfg->psk,
		.server_facts = job->cfg->facts,
		.take_data = serve_feed_take,
		.expect_data = serve_feed_expect,
		.arg = feed,
	};
	memcpy(s->cookie, job->cookie, sizeof(s->cookie));
	s->peer_addr.len = s->local_addr.len = sizeof(s->peer_addr.ss);
	getpeername(job->ctl, &s->peer_addr.sa, &s->peer_addr.len);
	getsockname(job->ctl, &s->local_addr.sa, &s->local_addr.len);
	net_addr_unmap(&s->peer_addr);
	net_addr_unmap(&s->local_addr);
	fcntl(job->ctl, F_SETFL, 0);
	net_tcp_control_opts(job->ctl);
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

int serve_child_body(const struct serve_job *job)
{
	struct serve_feed feed = {.chan = job->chan, .ctl = job->ctl, .stop = job->stop};
	struct proto_session s;
	struct measure_serve m = {.proto = &s,
				  .limits = &job->limits,
				  .workers = job->workers,
				  .stop_fd = job->stop,
				  .overlap = job->overlap};
	struct weir_err e = {0};
	struct model_run *run = NULL;
	struct net_addr peer;
	int r;

	session_open(&s, job, &feed);
	peer = s.peer_addr;
	r = measure_serve_run(&m, &run, &e);
	hand_in(job, &(struct serve_line){.peer = &peer,
					  .protocol = job->proto->name,
					  .who = &s.peer,
					  .outcome = outcome_of(r, run),
					  .why = e.msg,
					  .run = run});
	serve_feed_fini(&feed);
	model_run_free(run);
	proto_session_fini(&s);
	return r < 0;
}
