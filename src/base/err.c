/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An error travels upwards as a value: a negative errno for the program, one line
 * for people. Each level may prefix what it was doing; only cmd/ prints.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Whatever a caller forgot to make safe must not reach a terminal as a control. */
static void tidy(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

/* A caller that passed no struct weir_err still has to see a failure. */
static int code_of(const struct weir_err *e)
{
	return e && e->code ? -e->code : -EIO;
}

int err_set(struct weir_err *e, enum weir_domain domain, int code, const char *fmt, ...)
{
	if (!e)
		return -code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	tidy(e->msg);
	e->code = code;
	e->domain = domain;
	e->hint[0] = '\0';
	return -code;
}

int err_os(struct weir_err *e, int errno_value, const char *fmt, ...)
{
	if (!e)
		return -errno_value;
	char text[sizeof(e->msg)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, WEIR_OS, errno_value, "%s: %s", text, strerror(errno_value));
}

int err_wrap(struct weir_err *e, const char *fmt, ...)
{
	if (!e)
		return code_of(e);
	char old[sizeof(e->msg)];
	memcpy(old, e->msg, sizeof(old));
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(e->msg))
		snprintf(e->msg + n, sizeof(e->msg) - (size_t)n, ": %s", old);
	tidy(e->msg);
	return code_of(e);
}

int err_hint(struct weir_err *e, const char *fmt, ...)
{
	if (!e)
		return code_of(e);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	tidy(e->hint);
	return code_of(e);
}
