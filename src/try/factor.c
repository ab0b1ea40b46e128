/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an experiment varies, from the words of a command line. A value that the kernel would
 * refuse is refused here, before an hour of measuring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "try/try.h"

static int no_memory(struct weir_err *e)
{
	return err_set(e, WEIR_OS, ENOMEM, "out of memory");
}

static int add_level(struct try_factor *f, const char *s, size_t n, struct weir_err *e)
{
	if (!n)
		return err_set(e, WEIR_USAGE, EINVAL, "%s: a level is empty", f->name);
	for (size_t i = 0; i < f->n_levels; i++) {
		if (strlen(f->levels[i]) == n && !memcmp(f->levels[i], s, n))
			return err_set(e, WEIR_USAGE, EEXIST, "%s: %.60s is there twice", f->name,
				       f->levels[i]);
	}
	if (f->n_levels == TRY_LEVELS_MAX)
		return err_set(e, WEIR_USAGE, E2BIG, "%s: over %d levels", f->name, TRY_LEVELS_MAX);
	f->levels[f->n_levels] = strndup(s, n);
	return f->levels[f->n_levels++] ? 0 : no_memory(e);
}

static int add_levels(struct try_factor *f, const char *s, struct weir_err *e)
{
	int rc = 0;

	for (;;) {
		size_t n = strcspn(s, ",");

		rc = add_level(f, s, n, e);
		if (rc < 0 || !s[n])
			break;
		s += n + 1;
	}
	if (rc >= 0 && f->n_levels < 2)
		return err_set(e, WEIR_USAGE, EINVAL, "%s: two levels at least, such as %s=%s,…",
			       f->name, f->name, f->levels[0]);
	return rc;
}

/* ---- options ---- */

static int set_option(struct try_factor *f, const char *key, size_t n, const char *command,
		      struct weir_err *e)
{
	const char *dot = memchr(key, '.', n);
	size_t head = dot ? (size_t)(dot - key) : 0;

	if (dot && (head != strlen(command) || memcmp(key, command, head) != 0)) {
		err_set(e, WEIR_USAGE, EINVAL, "--vary: the command is %s, not %.*s", command,
			(int)(head < 40 ? head : 40), key);
		return err_hint(e, "a kernel setting is sysctl:NAME=… or iface:DEV.NAME=…");
	}
	f->kind = TRY_OPTION;
	f->name = dot ? strndup(dot + 1, n - head - 1) : strndup(key, n);
	return f->name ? 0 : no_memory(e);
}

/* ---- knobs ---- */

/* A name with a class (sysctl:, iface:, cpu: …) is a knob's; so is a sysctl's own. */
static bool is_knob(const char *text, size_t n)
{
	return memchr(text, ':', n) || (n > 4 && !strncmp(text, "net.", 4));
}

static int set_knob(struct try_factor *f, const char *key, size_t n, struct weir_err *e)
{
	size_t skip = !strncmp(key, "sysctl:", 7) ? 7 : !strncmp(key, "iface:", 6) ? 6 : 0;
	int rc = sys_ref_parse(&f->ref, key, n, e);

	f->kind = TRY_KNOB;
	f->name = strndup(key + skip, n - skip);
	if (!f->name)
		return no_memory(e);
	if (rc < 0) {
		err_wrap(e, "--vary");
		return err_hint(e,
				"`weir knobs` lists what it knows; or --a and --b with commands, "
				"and --undo");
	}
	return 0;
}

static int check_knob(const struct try_factor *f, struct weir_err *e)
{
	int rc = 0;

	for (size_t i = 0; i < f->n_levels && rc >= 0; i++)
		rc = sys_knob_check(&f->ref, f->levels[i], e);
	return rc < 0 ? err_wrap(e, "--vary") : 0;
}

int try_factor_parse(struct try_factor *f, const char *text, const char *command,
		     struct weir_err *e)
{
	const char *eq = strchr(text, '=');
	int rc;

	*f = (struct try_factor){0};
	if (!eq || eq == text) {
		err_set(e, WEIR_USAGE, EINVAL, "--vary: \"%.60s\" is not NAME=VALUE,VALUE", text);
		return err_hint(e, "such as %s.window=256K,1M", command);
	}
	if (is_knob(text, (size_t)(eq - text)))
		rc = set_knob(f, text, (size_t)(eq - text), e);
	else
		rc = set_option(f, text, (size_t)(eq - text), command, e);
	if (rc >= 0)
		rc = add_levels(f, eq + 1, e);
	if (rc >= 0 && f->kind == TRY_KNOB)
		rc = check_knob(f, e);
	if (rc < 0)
		try_factor_fini(f);
	return rc;
}

/* ---- arms ---- */

static int name_arms(struct try_factor *f, size_t n, struct weir_err *e)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc >= 0; i++) {
		char letter = (char)('A' + i);

		rc = add_level(f, &letter, 1, e);
	}
	return rc;
}

static int take_commands(struct try_factor *f, const char *const *commands, size_t n,
			 struct weir_err *e)
{
	if (f->n_levels != n)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "--arms names %zu, and there are %zu commands", f->n_levels, n);
	for (size_t i = 0; i < n; i++) {
		f->commands[i] = strdup(commands[i]);
		if (!f->commands[i])
			return no_memory(e);
	}
	return 0;
}

int try_factor_arms(struct try_factor *f, const char *names, const char *const *commands,
		    size_t n_commands, struct weir_err *e)
{
	int rc = 0;

	*f = (struct try_factor){.kind = commands ? TRY_SHELL : TRY_HAND, .name = strdup("arm")};
	if (!f->name)
		rc = no_memory(e);
	else
		rc = names ? add_levels(f, names, e) : name_arms(f, n_commands, e);
	if (rc >= 0 && commands)
		rc = take_commands(f, commands, n_commands, e);
	if (rc < 0)
		try_factor_fini(f);
	return rc;
}

void try_factor_fini(struct try_factor *f)
{
	for (size_t i = 0; i < f->n_levels; i++) {
		free(f->levels[i]);
		free(f->commands[i]);
	}
	free(f->name);
	*f = (struct try_factor){0};
}
