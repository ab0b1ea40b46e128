/* SPDX-License-Identifier: BSD-2-Clause */
/* weir tag: marks by which a run is found again and kept when old ones go. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"

struct tag_cfg {
	char *run;
	struct opt_list set, remove;
	struct cmd_db_cfg db;
};

#define F(field) offsetof(struct tag_cfg, field)
/* clang-format off */
static const struct opt tag_opts[] = {
	{.name = "run", .type = OPT_STR, .offset = F(run), .flags = OPT_POSITIONAL | OPT_REQUIRED, .metavar = "RUN", .help = "last, last-1, last:tcp, or 4 or more characters of an id"},
	{.name = "set", .type = OPT_LIST, .offset = F(set), .flags = OPT_POSITIONAL, .metavar = "KEY=VALUE", .help = "tags to set; without any the present ones are shown"},
	{.name = "remove", .type = OPT_LIST, .offset = F(remove), .metavar = "KEY", .help = "take this tag away"},
};
/* clang-format on */

#define KEY_MAX   64
#define VALUE_MAX 256

/* A key is a word that needs no quotes anywhere. */
int cmd_tag_check(const char *text, struct weir_err *e)
{
	static const char key_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789._-";
	size_t n = strcspn(text, "=");
	char safe[96];

	safe_str(safe, sizeof(safe), text, strlen(text));
	if (!n || text[n] != '=')
		return err_set(e, WEIR_USAGE, EINVAL, "\"%s\" is not KEY=VALUE", safe);
	if (n > KEY_MAX || strspn(text, key_chars) != n)
		return err_set(e, WEIR_USAGE, EINVAL,
			       "\"%s\": a key is 1 to %d letters, digits or . _ -", safe, KEY_MAX);
	if (strlen(text + n + 1) > VALUE_MAX)
		return err_set(e, WEIR_USAGE, E2BIG, "\"%s\": a value has at most %d bytes", safe,
			       VALUE_MAX);
	return 0;
}

static int check(const struct tag_cfg *c, struct weir_err *e)
{
	int rc = 0;

	for (size_t i = 0; i < c->set.n && rc >= 0; i++)
		rc = cmd_tag_check(c->set.v[i], e);
	return rc;
}

static int change(const struct tag_cfg *c, struct store *s, const char *id, struct weir_err *e)
{
	int rc = 0;

	for (size_t i = 0; i < c->remove.n && rc >= 0; i++)
		rc = store_untag(s, id, c->remove.v[i], e);
	for (size_t i = 0; i < c->set.n && rc >= 0; i++) {
		char *eq = strchr(c->set.v[i], '=');

		*eq = '\0';
		rc = store_tag(s, id, c->set.v[i], eq + 1, e);
	}
	return rc;
}

static int print_tags(struct store *s, const char *id, struct weir_err *e)
{
	struct model_run *r;
	struct buf b = {0};
	int rc = store_load(s, id, &r, e);
	bool ok;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->n_tags; i++) {
		safe_put(&b, r->tags[i].k, strlen(r->tags[i].k));
		buf_putc(&b, '=');
		safe_put(&b, r->tags[i].v, strlen(r->tags[i].v));
		buf_putc(&b, '\n');
	}
	ok = cmd_flush(&b);
	buf_fini(&b);
	model_run_free(r);
	return ok ? 0 : err_set(e, WEIR_OS, EIO, "the output was not written");
}

static int run(void *cfg)
{
	const struct tag_cfg *c = cfg;
	bool changes = c->set.n || c->remove.n;
	struct store *s = NULL;
	struct weir_err e = {0};
	char id[MODEL_ID_LEN + 1];
	int rc = check(c, &e);

	if (rc >= 0)
		rc = cmd_db_open(&c->db, changes ? STORE_WRITE : STORE_READ, &s, &e);
	if (rc >= 0 && !s) {
		cmd_db_none(&c->db);
		return CMD_FAILED;
	}
	if (rc >= 0)
		rc = store_resolve(s, c->run, id, &e);
	if (rc >= 0)
		rc = change(c, s, id, &e);
	if (rc >= 0)
		rc = print_tags(s, id, &e);
	store_close(s);
	return rc < 0 ? cmd_fail("tag", &e) : CMD_OK;
}

static const struct cmd_more tag_more[] = {
	{"Store", cmd_db_opts, &cmd_db_n_opts, F(db)},
	{0},
};

const struct cmd cmd_tag = {
	.name = "tag",
	.summary = "set, remove or show a stored run's tags",
	.usage = "RUN [KEY=VALUE…]",
	.opts = tag_opts,
	.n_opts = ARRAY_LEN(tag_opts),
	.cfg_size = sizeof(struct tag_cfg),
	.more = tag_more,
	.run = run,
};
