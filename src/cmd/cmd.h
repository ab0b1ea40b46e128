/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd: the command table and what all commands share. Only rooms of this level print, exit,
 * read the environment and handle signals.
 */
#ifndef WEIR_CMD_H
#define WEIR_CMD_H

#include "base/base.h"
#include "format/format.h"
#include "measure/measure.h"
#include "model/model.h"
#include "store/store.h"

enum cmd_exit { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2, CMD_VERDICT = 3, CMD_SKIPPED = 77 };

struct cmd_more { /* a shared option set inside a command's config struct */
	const char *title;
	const struct opt *rows;
	const size_t *n; /* points at the table's count */
	size_t offset;   /* of its config within the command's */
};

/* A command that is not a measurement: one file, one row in main.c. */
struct cmd {
	const char *name;
	const char *summary; /* one line */
	const char *usage;   /* "ID…" – what follows the options */
	const struct opt *opts;
	size_t n_opts, cfg_size;
	const struct cmd_more *more; /* ended by a row without rows; may be NULL */
	size_t config;         /* offset of the name of a file with options (char *); 0 = none */
	int (*run)(void *cfg); /* returns an exit code; options are parsed, defaults set */
};
extern const struct cmd cmd_list, cmd_show, cmd_compare, cmd_export, cmd_rm, cmd_tag, cmd_lab,
	cmd_serve, cmd_completion, cmd_aliases, cmd_try, cmd_calibrate, cmd_plan, cmd_read,
	cmd_import, cmd_wifi, cmd_facts, cmd_knobs, cmd_set, cmd_watch;

/* Tables for documentation and completion: commands and measurements in one order. */
struct cmd_row {
	const struct cmd *cmd;         /* either */
	const struct measure *measure; /* or */
};
const struct cmd_row *cmd_row_at(size_t i); /* NULL past the end */
const char *cmd_row_name(const struct cmd_row *r);
const char *cmd_row_summary(const struct cmd_row *r);
const char *cmd_row_usage(const struct cmd_row *r);
/* The option sets of a row onto one config block (NULL for documentation); count. */
#define CMD_SETS_MAX 6
size_t cmd_row_sets(const struct cmd_row *r, void *cfg, struct opt_set out[CMD_SETS_MAX]);

/* Runs a measurement with its and the common options: stores, prints, repeats, asserts (run.c). */
int cmd_measure(const struct measure *m, void *cfg);
size_t cmd_measure_sets(const struct measure *m, void *cfg, struct opt_set out[CMD_SETS_MAX]);
size_t cmd_measure_cfg_size(const struct measure *m);

/* Prints "weir CMD: <message>" and the hint on standard error; returns the exit code for it. */
int cmd_fail(const char *cmd, const struct weir_err *e);
/* All of b to standard output; false when that failed, which is said. A reader that went away
 * (EPIPE) has enough: no failure. Clears b. */
bool cmd_flush(struct buf *b);
int cmd_printed(void); /* the exit code after output by stdio: CMD_FAILED when it was not written */
bool cmd_terminal(int fd); /* it understands escapes: TERM is set, and not dumb */
bool cmd_colour(int fd);   /* the same, and NO_COLOR is unset */
bool cmd_unicode(void);    /* the locale is UTF-8 */
/* A descriptor that becomes readable on SIGINT, SIGTERM, SIGHUP; a second SIGINT kills. */
int cmd_stop_fd(void);

/* ---- words that never wait (say.c) ---- */

int cmd_say_open(void); /* the same place as standard error; close it unless it is STDERR_FILENO */
void cmd_say(int fd, const char *fmt, ...)
	PRINTF_LIKE(2, 3); /* up to 1 KiB, a second at the most */
bool cmd_knock(int fd);    /* a byte that terminals ignore; false when it did not go */

/* Where the undo journal is: NULL = its default place (root), else the caller frees. root: a folder
 * that stands for /, or NULL. */
char *cmd_journal_dir(const char *root);

/* ---- logins and option files (login.c, config.c) ---- */

/* A client's login from its options; *out NULL and 0 when there is none. Without a password file
 * the environment's IPERF3_PASSWORD. */
struct cmd_login {
	char *user, *key, *password_file;
	bool pkcs1;
};
int cmd_login_client(const struct cmd_login *c, struct proto_login **out, struct weir_err *e);
/* A server's. */
int cmd_login_server(const char *key, const char *users, int64_t skew_ns, bool pkcs1,
		     struct proto_login **out, struct weir_err *e);
/* The first line of a file that holds a secret, at most cap - 1 bytes. */
int cmd_read_secret(const char *file, char *dst, size_t cap, struct weir_err *e);
/* "name = value" lines, names as the long options; an error names file and line. */
int cmd_config_file(const char *file, const struct opt_set *sets, size_t n, struct weir_err *e);

/* "KEY=VALUE" of a tag as it may be (tag.c). */
int cmd_tag_check(const char *text, struct weir_err *e);

/* ---- text that people pasted (read_file.c) ---- */

/* Every report of a file ("-" = standard input); see format_read_text. */
int cmd_read_file(const char *path, int (*on_found)(void *arg, const struct format_found *f),
		  int (*on_skipped)(void *arg, const struct format_skip *s), void *arg,
		  struct format_read_sum *sum, struct weir_err *e);

/* Opens the document of a file's reports: an object, its "reports" an array. file may be NULL. */
void cmd_json_reports(struct jw *w, const char *file);

/* ---- weir wifi DEV (wifi_dev.c) ---- */

struct cmd_wifi_dev {
	const char *dev, *station; /* station: its address, or NULL = all */
	const char *root;          /* what stands before /sys; "" = this machine */
	int64_t watch_ns;          /* again after so long; 0 = once */
	bool json;
};
int cmd_wifi_dev(const struct cmd_wifi_dev *c, struct weir_err *e);

/* ---- the store's place (db.c) ---- */
struct cmd_db_cfg {
	char *db;
};
extern const struct opt cmd_db_opts[];
extern const size_t cmd_db_n_opts;
/* --db, WEIR_DB, $XDG_STATE_HOME/weir/runs.db, ~/.local/state/weir/runs.db; caller frees. */
char *cmd_db_path(const struct cmd_db_cfg *c);
/* Opens for reading; *out NULL and 0 when the file does not exist. */
int cmd_db_open(const struct cmd_db_cfg *c, enum store_mode mode, struct store **out,
		struct weir_err *e);
/* Says on standard error that nothing is stored there yet. */
void cmd_db_none(const struct cmd_db_cfg *c);
/* The run that `what` names (see store_resolve); the caller frees it. */
int cmd_db_load(struct store *s, const char *what, struct model_run **out, struct weir_err *e);
/* A stored run through a form's writer onto b. */
int cmd_render(const struct model_run *r, const char *form, const struct format_opts *o,
	       struct buf *b, struct weir_err *e);
/* Options for what goes to standard output, as its terminal and the locale are. */
struct format_opts cmd_format_opts(void);

#endif
