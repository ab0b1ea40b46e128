/* SPDX-License-Identifier: BSD-2-Clause */
/* The store of a build without SQLite: it says so. */
#include <errno.h>

#include "store/store.h"

static int without(struct weir_err *e)
{
	return err_set(e, WEIR_MISSING, ENOTSUP, "built without SQLite: runs are not stored");
}

bool store_supported(void)
{
	return false;
}

int store_open(const struct store_cfg *cfg, struct store **out, struct weir_err *e)
{
	(void)cfg;
	*out = NULL;
	return without(e);
}

void store_close(struct store *s)
{
	(void)s;
}

bool store_read_only(const struct store *s)
{
	(void)s;
	return true;
}

struct sink *store_sink(struct store *s)
{
	(void)s;
	return NULL;
}

int store_list(struct store *s, const struct store_filter *f,
	       int (*cb)(const struct store_entry *, void *), void *arg, struct weir_err *e)
{
	(void)s, (void)f, (void)cb, (void)arg;
	return without(e);
}

int store_resolve(struct store *s, const char *what, char id[MODEL_ID_LEN + 1], struct weir_err *e)
{
	(void)s, (void)what, (void)id;
	return without(e);
}

int store_load(struct store *s, const char *id, struct model_run **out, struct weir_err *e)
{
	(void)s, (void)id;
	*out = NULL;
	return without(e);
}

int store_put(struct store *s, const struct model_run *r, struct weir_err *e)
{
	(void)s, (void)r;
	return without(e);
}

int store_replace(struct store *s, const struct model_run *r, struct weir_err *e)
{
	(void)s, (void)r;
	return without(e);
}

int store_claim(struct store *s, const char *id, struct weir_err *e)
{
	(void)s, (void)id;
	return without(e);
}

int store_release(struct store *s, const char *id, struct weir_err *e)
{
	(void)s, (void)id;
	return without(e);
}

int store_remove(struct store *s, const char *id, struct weir_err *e)
{
	(void)s, (void)id;
	return without(e);
}

int store_remove_older(struct store *s, int64_t before_real_ns, bool tagged, struct weir_err *e)
{
	(void)s, (void)before_real_ns, (void)tagged;
	return without(e);
}

int store_tag(struct store *s, const char *id, const char *k, const char *v, struct weir_err *e)
{
	(void)s, (void)id, (void)k, (void)v;
	return without(e);
}

int store_untag(struct store *s, const char *id, const char *k, struct weir_err *e)
{
	(void)s, (void)id, (void)k;
	return without(e);
}

int store_trim(struct store *s, struct weir_err *e)
{
	(void)s;
	return without(e);
}
