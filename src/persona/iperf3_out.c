/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an iperf3's words go: standard output and error, or both into one log file; with the time
 * and the title in front, and the usage made from the option rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "persona/priv.h"
#include "sys/sys.h"

const char *i3_version(const struct i3_cfg *c)
{
	return c->style == I3_STYLE_321 ? "iperf 3.21" : "iperf 3.12";
}

void i3_system_info(char *dst, size_t cap)
{
	struct utsname u;

	if (uname(&u) < 0) {
		dst[0] = '\0';
		return;
	}
	snprintf(dst, cap, "%s %s %s %s %s", u.sysname, u.nodename, u.release, u.version,
		 u.machine);
}

int i3_out_open(struct i3_out *o, const struct i3_cfg *c, struct i3_error *e)
{
	*o = (struct i3_out){.c = c, .fd = STDOUT_FILENO, .err_fd = STDERR_FILENO};
	i3_system_info(o->system_info, sizeof(o->system_info));
	if (!c->logfile)
		return 0;
	o->fd = open(c->logfile, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (o->fd < 0) {
		o->fd = STDOUT_FILENO;
		snprintf(e->text, sizeof(e->text), "unable to open log file: %s", strerror(errno));
		return -EINVAL;
	}
	/* A file of JSON is a document: words about it go elsewhere. */
	o->err_fd = c->json ? STDERR_FILENO : o->fd;
	return 0;
}

void i3_out_close(struct i3_out *o)
{
	i3_out_flush(o);
	buf_fini(&o->buf);
	if (o->fd != STDOUT_FILENO)
		close(o->fd);
}

void i3_out_flush(struct i3_out *o)
{
	if (o->buf.len)
		sys_write_all(o->fd, o->buf.data, o->buf.len);
	buf_clear(&o->buf);
}

void i3_out_prefix(void *arg, struct buf *b)
{
	const struct i3_cfg *c = ((struct i3_out *)arg)->c;
	char text[128];
	/* The user's own format: the compiler cannot look at it. */
	size_t (*const put)(char *, size_t, const char *, const struct tm *) = strftime;
	time_t now = time(NULL);
	struct tm tm;

	if (c->timestamps && localtime_r(&now, &tm) && put(text, sizeof(text), c->timestamps, &tm))
		buf_puts(b, text);
	if (c->title && !c->server)
		buf_printf(b, "%s:  ", c->title);
}

void i3_complain(struct i3_out *o, const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;

	i3_out_flush(o);
	if (o->c->timestamps && o->c->logfile)
		i3_out_prefix(o, &b);
	buf_puts(&b, "iperf3: ");
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	buf_putc(&b, '\n');
	sys_write_all(o->err_fd, b.data, b.len);
	buf_fini(&b);
}

struct sink *i3_writer(struct i3_out *o, struct buf *out)
{
	const struct i3_cfg *c = o->c;
	struct format_iperf3_opts fo = {.mode = c->stream ? FORMAT_IPERF3_STREAM
						: c->json ? FORMAT_IPERF3_JSON
							  : FORMAT_IPERF3_TEXT,
					.v321 = c->style == I3_STYLE_321,
					.full = c->full,
					.server = c->server,
					.verbose = c->verbose,
					.unit = c->unit,
					.version = i3_version(c),
					.system_info = o->system_info,
					.title = c->server ? NULL : c->title,
					.extra_data = c->server ? NULL : c->extra_data,
					.debug = c->debug > 0,
					.prefix = i3_out_prefix,
					.arg = o};

	return format_iperf3_new(out, &fo);
}

void i3_banner(struct i3_out *o)
{
	const char *const lines[] = {i3_version(o->c), o->system_info};

	for (size_t i = 0; o->c->verbose && !o->c->json && i < ARRAY_LEN(lines); i++) {
		i3_out_prefix(o, &o->buf);
		buf_printf(&o->buf, "%s\n", lines[i]);
	}
	i3_out_flush(o);
}

/* ---- usage and version --------------------------------------------------------------------- */

static void put_usage_head(struct buf *b)
{
	buf_puts(b, "Usage: iperf3 [-s|-c host] [options]\n"
		    "       iperf3 [-h|--help] [-v|--version]\n");
}

int i3_usage(const struct i3_cfg *c, int fd)
{
	struct buf b = {0};
	bool ok;

	put_usage_head(&b);
	if (!c || c->style == I3_STYLE_312 || c->help) {
		opt_help(&b, i3_sets, i3_n_sets);
		buf_printf(&b, "\nThis is weir %s standing in for iperf3.\n", weir_version);
	}
	ok = !b.failed && sys_write_all(fd, b.data, b.len) == 0;
	buf_fini(&b);
	return ok ? 0 : 1;
}

int i3_print_version(const struct i3_cfg *c)
{
	char info[400];

	i3_system_info(info, sizeof(info));
	printf("%s (weir %s)\n%s\nOptional features available: CPU affinity setting, IPv6 flow "
	       "label, TCP congestion algorithm setting, sendfile / zerocopy, socket pacing, "
	       "authentication, bind to device, support IPv4 don't fragment\n",
	       i3_version(c), weir_version, info);
	return fflush(stdout) ? 1 : 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

static int stop_pipe[2] = {-1, -1};

static void on_stop(int sig)
{
	int saved = errno;
	unsigned char c = (unsigned char)sig;

	(void)!write(stop_pipe[1], &c, 1);
	errno = saved;
}

int i3_stop_fd(void)
{
	/* Reset after the first: a second one kills in the ordinary way. */
	struct sigaction sa = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	if (stop_pipe[0] >= 0)
		return stop_pipe[0];
	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &sa, NULL);
	return stop_pipe[0];
}

bool i3_is_stopping(void)
{
	struct pollfd p = {.fd = stop_pipe[0], .events = POLLIN};

	return p.fd >= 0 && poll(&p, 1, 0) > 0;
}

void i3_stop_now(void)
{
	(void)!write(stop_pipe[1], "", 1);
}

int i3_stop_signal(void)
{
	unsigned char c = 0;

	return stop_pipe[0] >= 0 && read(stop_pipe[0], &c, 1) == 1 ? c : 0;
}
