/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arms that a person switches: another kernel, another card, another cable. The problem: one
 * forgets, days later, at the tenth boot. The idea: the boot's id must be new and the kernel the
 * one that this arm had before; what facts cannot tell, --changed does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try.h"
#include "host/host.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char *tag_of(const struct model_run *r, const char *key)
{
	for (size_t i = 0; i < r->n_tags; i++) {
		if (!strcmp(r->tags[i].k, key))
			return r->tags[i].v;
	}
	return "";
}

/* The member of a facts object, "" when unknown. */
static void fact(const char *facts, const char *key, char *dst, size_t cap)
{
	struct js_doc *doc = NULL;
	const char *v = NULL;

	if (facts && js_parse(facts, strlen(facts), &js_limits_file, &doc, NULL) >= 0)
		v = js_str(js_get(js_root(doc), key), NULL);
	snprintf(dst, cap, "%s", v ? v : "");
	js_free(doc);
}

static const struct model_run *last_run(const struct session *s)
{
	size_t i = session_next(s);

	return i && s->x.runs ? s->x.runs[i - 1] : NULL;
}

/* The kernel that an arm had in its first run. */
static bool kernel_of(const struct session *s, size_t variant, char *dst, size_t cap)
{
	for (size_t i = 0; s->x.runs && i < session_next(s); i++) {
		if (try_variant_at(&s->design, i) != variant)
			continue;
		fact(s->x.runs[i]->host[MODEL_NEAR].facts, "kernel", dst, cap);
		return dst[0];
	}
	return false;
}

static int check_kernel(const struct session *s, size_t variant, const char *now,
			struct weir_err *e)
{
	struct buf name = {0};
	char had[128];
	int rc = 0;

	try_variant_name(&s->design, variant, &name);
	if (kernel_of(s, variant, had, sizeof(had)) && strcmp(had, now) != 0)
		rc = err_set(e, WEIR_USAGE, EINVAL, "%s had kernel %.60s, and this is %.60s",
			     name.data ? name.data : "?", had, now);
	buf_fini(&name);
	return rc;
}

int hand_check(struct session *s, struct weir_err *e)
{
	char boot[64] = "", now[128];
	struct buf facts = {0};
	const struct model_run *last = last_run(s);
	bool begun;
	int rc = 0;

	sys_read_attr(BOOT_ID, boot, sizeof(boot));
	boot[8] = '\0';
	buf_printf(&s->boot, "boot=%s", boot);
	s->tags[1] = s->boot.data;
	host_facts(&facts, NULL);
	fact(facts.data, "kernel", now, sizeof(now));
	buf_fini(&facts);
	if (s->boot.failed)
		return err_set(e, WEIR_OS, ENOMEM, "out of memory");
	if (s->o->changed || !last)
		return 0;
	rc = check_kernel(s, try_variant_at(&s->design, session_next(s)), now, e);
	begun = session_next(s) % try_each(&s->design); /* the turn goes on in its boot */
	if (rc >= 0 && !begun && !strcmp(tag_of(last, "boot"), boot))
		rc = err_set(e, WEIR_USAGE, EINVAL,
			     "this is still the boot of the last run (kernel %.60s)", now);
	if (rc < 0)
		err_hint(e, "switch first; --changed says that the arm is there, whatever it looks "
			    "like");
	return rc;
}

int session_by_hand(struct session *s,
		    int (*finish)(struct session *s, int end, struct weir_err *e),
		    struct weir_err *e)
{
	int rc = 0;

	if (s->resumed && session_next(s) < try_slots(&s->x)) {
		rc = hand_check(s, e);
		if (rc >= 0)
			rc = session_run(s, e);
		if (rc < 0)
			return rc;
	}
	if (session_next(s) == try_slots(&s->x))
		return finish(s, TRY_FINISHED, e);
	say_next_arm(s);
	return rc == TRY_FAILED || rc == TRY_STOPPED ? CMD_FAILED : CMD_OK;
}
