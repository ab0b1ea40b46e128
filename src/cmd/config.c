/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options in a file, for what a service manager starts: the rows of the command line's table are
 * the file's too, so there is nothing to learn and nothing to keep in step.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "sys/sys.h"

#define FILE_MAX ((size_t)256 << 10)

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

/* A name alone sets a flag. */
static int one_line(char *line, const struct opt_set *sets, size_t n, struct weir_err *e)
{
	char *eq, *name = trim(line), *value = NULL;

	if (!*name || *name == '#')
		return 0;
	eq = strchr(name, '=');
	if (eq) {
		*eq = '\0';
		value = trim(eq + 1);
		name = trim(name);
	}
	if (!strcmp(name, "config"))
		return err_set(e, WEIR_USAGE, EINVAL, "config: a file cannot name another one");
	return opt_set_value(sets, n, name, value, e);
}

int cmd_config_file(const char *file, const struct opt_set *sets, size_t n, struct weir_err *e)
{
	struct buf b = {0};
	char name[SAFE_MAX];
	unsigned number = 0;
	int rc = sys_read_file(file, FILE_MAX, &b, e);
	char *line, *rest = b.data;

	if (rc < 0)
		err_wrap(e, "--config");
	safe_str(name, sizeof(name), file, strlen(file));
	while (rc >= 0 && rest && (line = strsep(&rest, "\n"))) {
		number++;
		rc = one_line(line, sets, n, e);
		if (rc < 0)
			err_wrap(e, "%.120s:%u", name, number);
	}
	if (b.data)
		explicit_bzero(b.data, b.len);
	buf_fini(&b);
	return rc < 0 ? rc : 0;
}
