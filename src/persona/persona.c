/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of tools that weir can stand in for. */
#include <string.h>

#include "persona/priv.h"

static const struct persona *const rows[] = {&persona_iperf3, &persona_iperf, &persona_nttcp,
					     &persona_ttcp};

const struct persona *persona_at(size_t i)
{
	return i < ARRAY_LEN(rows) ? rows[i] : NULL;
}

const struct persona *persona_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!strcmp(rows[i]->name, name))
			return rows[i];
	}
	return NULL;
}

const struct persona *persona_of(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 ? persona_find(slash ? slash + 1 : argv0) : NULL;
}
