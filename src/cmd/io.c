/* SPDX-License-Identifier: BSD-2-Clause */
/* What every command needs of the terminal and the process: errors, output, colour, signals. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sys/sys.h"

int cmd_fail(const char *cmd, const struct weir_err *e)
{
	fflush(stdout);
	fprintf(stderr, "weir%s%s: %s\n", cmd ? " " : "", cmd ? cmd : "", e->msg);
	if (e->hint[0])
		fprintf(stderr, "  %s\n", e->hint);
	switch (e->domain) {
	case WEIR_USAGE:
		return CMD_USAGE;
	case WEIR_MISSING:
		return CMD_SKIPPED;
	default:
		return CMD_FAILED;
	}
}

bool cmd_flush(struct buf *b)
{
	int rc = b->failed ? -ENOMEM : sys_write_all(STDOUT_FILENO, b->data, b->len);

	buf_clear(b);
	if (rc == 0 || rc == -EPIPE) /* the reader has enough */
		return true;
	fprintf(stderr, "weir: writing the output: %s\n", strerror(-rc));
	return false;
}

int cmd_printed(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return CMD_OK;
	if (errno == EPIPE)
		return CMD_OK;
	fprintf(stderr, "weir: writing the output: %s\n", strerror(errno));
	return CMD_FAILED;
}

bool cmd_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

bool cmd_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return cmd_terminal(fd) && !(no && no[0]);
}

bool cmd_unicode(void)
{
	setlocale(LC_CTYPE, "");
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* The write end for the handler: a handler has no other way to be told. */
static int stop_pipe[2] = {-1, -1};

static void on_stop(int sig)
{
	int saved = errno;

	(void)sig;
	(void)!write(stop_pipe[1], "x", 1);
	errno = saved;
}

int cmd_stop_fd(void)
{
	/* Reset after the first: a second Ctrl-C kills in the ordinary way. */
	struct sigaction sa = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

	if (stop_pipe[0] >= 0)
		return stop_pipe[0];
	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	return stop_pipe[0];
}

char *cmd_journal_dir(const char *root)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct buf dir = {0};

	if (root) {
		buf_printf(&dir, "%s/run", root);
		if (dir.data)
			mkdir(dir.data, 0755); /* what is wrong with it, the journal says */
		buf_puts(&dir, "/weir");
	} else if ((geteuid() != 0 || access("/run", W_OK) < 0) && runtime && runtime[0] == '/') {
		buf_printf(&dir, "%s/weir", runtime);
	}
	return dir.len ? buf_take(&dir) : NULL;
}
