/*
 * recover.c
 *	  Gives pages of blocks back, by the redo of a server of the same version.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/read.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/label.h"
#include "manifest/names.h"
#include "recover/keeper.h"
#include "recover/path.h"
#include "recover/proof.h"
#include "recover/recover.h"
#include "recover/restart.h"
#include "recover/skeleton.h"
#include "recover/tables.h"
#include "recover/wal.h"

#define LABEL_BYTES		8192
#define LOG_BYTES		65536

/* ---- the backup ---- */

static bool
check_cluster(Recover *ctx)
{
	if (!file_scan_exists(ctx->backup, "PG_VERSION"))
		return recover_fail(ctx, "\"%s\" is no data directory", ctx->backup);
	if (file_scan_exists(ctx->backup, "backup_label"))
		return recover_fail(ctx, "\"%s\" has a backup_label: name it by --backup", ctx->backup);
	return true;
}

/* If the folder is a backup in archives, says how to extract it. */
static bool
refuse_archives(Recover *ctx)
{
	static const struct
	{
		const char *name;
		const char *begin;		/* of the command, and what follows the name */
		const char *end;
	}			archives[] =
	{
		{"base.tar", "tar -C NEW -xf", ""},
		{"base.tar.gz", "tar -C NEW -xzf", ""},
		{"base.tar.lz4", "lz4 -dc", " | tar -C NEW -xf -"},
		{"base.tar.zst", "zstd -dc", " | tar -C NEW -xf -"}
	};

	for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++)
		if (file_scan_exists(ctx->backup, archives[i].name))
		{
			recover_fail(ctx, "\"%s\" is a backup of archives: extract it by \"mkdir -m 700 NEW && %s '%s/%s'%s\", and give --backup=NEW",
						 ctx->backup, archives[i].begin, ctx->backup,
						 archives[i].name, archives[i].end);
			return true;
		}
	return false;
}

/* Says what the folder is, if it is not what it must be. */
static bool
check_kind(Recover *ctx)
{
	if (ctx->is_cluster)
		return check_cluster(ctx);
	if (file_scan_exists(ctx->backup, "PG_VERSION") && file_scan_exists(ctx->backup, "backup_label"))
		return true;
	if (refuse_archives(ctx))
		return false;
	if (file_scan_exists(ctx->backup, "PG_VERSION"))
		return recover_fail(ctx, "\"%s\" has no backup_label: it is no base backup, or was started already", ctx->backup);
	return recover_fail(ctx, "\"%s\" is no base backup", ctx->backup);
}

/*
 * Reads at most size - 1 bytes of a text of the backup.  Unlike
 * recover_read_text(), which the keeper calls, it may end by a signal.
 */
static bool
read_text(const Recover *ctx, const char *path, char *words, size_t size)
{
	FileWindow *window = ctx->direct ? file_window_new(NULL) : NULL;
	FileScan	scan;
	ssize_t		got = -1;
	int			why;

	if (file_scan_open_direct(&scan, path, window) == FILE_SCAN_OK)
	{
		got = file_scan_read(&scan, words, size - 1, 0);
		why = errno;
		file_scan_close(&scan);
		errno = why;
	}
	words[got > 0 ? got : 0] = '\0';
	file_window_free(window);
	return got >= 0;
}

static bool
read_label(Recover *ctx)
{
	char	   *path = host_print("%s/backup_label", ctx->backup);
	char	   *words = host_alloc(LABEL_BYTES);
	BackupLabel label;
	bool		valid = false;

	if (!read_text(ctx, path, words, LABEL_BYTES))
		recover_fail_file(ctx, "read", path);
	else if (!backup_label_read(words, &label))
		recover_fail(ctx, "\"%s\" is not valid", path);
	else if (label.previous_start != 0)
		recover_fail(ctx, "\"%s\" is an incremental backup: combine it with those before it, the full one first, by \"pg_combinebackup -o NEW FULL ... '%s'\", and give --backup=NEW",
					 ctx->backup, ctx->backup);
	else
	{
		ctx->start = label.start;
		ctx->start_timeline = label.timeline;
		valid = true;
	}
	host_free(path);
	host_free(words);
	return valid;
}

static bool
read_control(Recover *ctx)
{
	char	   *path = host_print("%s/PG_VERSION", ctx->backup);
	char		version[16] = "";

	if (read_text(ctx, path, version, sizeof(version)))
		ctx->major = (uint32_t) strtoul(version, NULL, 10);
	host_free(path);
	if (ctx->major < 15 || ctx->major > 19)
		return recover_fail(ctx, "\"%s\" is of version %u, and versions 15 to 19 are supported", ctx->backup, ctx->major);
	if (!cluster_read_control(ctx->backup, ctx->direct, &ctx->control))
		return recover_fail(ctx, "pg_control of \"%s\" is not valid", ctx->backup);
	if (ctx->control.checksum_version == 0)
		return recover_fail(ctx, "the cluster has no data checksums, by which pages are proven");
	return true;
}

/* ---- what is asked for ---- */

static bool
check_wanted(Recover *ctx, RecoverWanted *wanted)
{
	BackupRelationFile file;
	const char *name = strrchr(wanted->path, '/');
	char	   *path;
	char	   *init;
	bool		valid;

	if (!backup_relation_file(wanted->path, &file) ||
		strchr(name, '.') != NULL)
		return recover_fail(ctx, "\"%s\" is no path as pg_relation_filepath() gives it", wanted->path);
	if (file.fork != BACKUP_FORK_MAIN)
		return recover_fail(ctx, "\"%s\" is not of a main fork: VACUUM makes maps anew", wanted->path);
	wanted->tag = (WalBlockTag)
	{
		file.tablespace, file.database, file.number, WAL_FORK_MAIN, wanted->tag.block
	};
	path = recover_skeleton_file(ctx, &wanted->tag, 0);
	valid = strcmp(path + strlen(ctx->data) + 1, wanted->path) == 0 ||
		recover_fail(ctx, "\"%s\" is no path of this version", wanted->path);
	host_free(path);
	init = host_print("%s_init", wanted->path);
	if (valid && file_scan_exists(ctx->backup, init))
		valid = recover_fail(ctx, "\"%s\" is unlogged, so that WAL has nothing of it", wanted->path);
	host_free(init);
	return valid;
}

/* Must be made anew, so that nothing is mixed up. */
static bool
check_output(Recover *ctx, const RecoverWanted *wanted)
{
	char	   *path = recover_proof_path(ctx, wanted);
	struct stat status;
	bool		free_path = lstat(path, &status) != 0 ||
		recover_fail(ctx, "\"%s\" exists already", path);

	host_free(path);
	return free_path;
}

static bool
check_all_wanted(Recover *ctx)
{
	for (size_t i = 0; i < ctx->nwanted; i++)
	{
		RecoverWanted *wanted = &ctx->wanted[i];

		if (!check_wanted(ctx, wanted) || !check_output(ctx, wanted))
			return false;
		if (recover_set_find(&ctx->filter.blocks, &wanted->tag) != NULL)
			return recover_fail(ctx, "block %u of \"%s\" is named twice",
								wanted->tag.block, wanted->path);
		recover_filter_want(&ctx->filter, &wanted->tag);
	}
	return true;
}

static bool
check_server(Recover *ctx, const char *postgres)
{
	unsigned	major = recover_server_major(postgres);

	if (major == 0)
		return recover_fail(ctx, "\"%s\" is no server that can be run here", postgres);
	if (major != ctx->major)
		return recover_fail(ctx, "the %s is of version %u, and \"%s\" is of version %u",
							ctx->is_cluster ? "cluster" : "backup", ctx->major, postgres, major);
	return true;
}

/* ---- where it is made ---- */

/* Is the folder a data directory, or does it lie in one? */
static bool
check_out(Recover *ctx, char *folder)
{
	for (char *slash = folder + strlen(folder); slash != NULL;
		 slash = strrchr(folder, '/'))
	{
		char	   *control;
		struct stat status;
		bool		is_data;

		*slash = '\0';
		control = host_print("%s/global/pg_control", folder);
		is_data = stat(control, &status) == 0;
		host_free(control);
		if (is_data)
			return recover_fail(ctx, "\"%s\" is a data directory, or lies in one", ctx->out);
	}
	return true;
}

/* Finds the folder, or that of those above it which is there. */
static bool
find_existing(const char *path, char absolute[PATH_MAX])
{
	char	   *copy = host_print("%s", path);
	bool		found;

	while (!(found = realpath(copy, absolute) != NULL) && errno == ENOENT)
	{
		char	   *slash = strrchr(copy, '/');

		strcpy(slash == NULL || slash == copy ? copy : slash,
			   slash == NULL ? "." : slash == copy ? "/" : "");
	}
	host_free(copy);
	return found;
}

static bool
make_scratch(Recover *ctx, const char *postgres)
{
	char		absolute[PATH_MAX];

	if (!find_existing(ctx->out, absolute))
		return recover_fail_file(ctx, "look at", ctx->out);
	if (!check_out(ctx, absolute))
		return false;
	if (!recover_make_folder(ctx->out) || realpath(ctx->out, absolute) == NULL)
		return recover_fail_file(ctx, "make", ctx->out);
	ctx->out = host_print("%s", absolute);
	ctx->scratch = host_print("%s/recover.XXXXXX", ctx->out);
	if (!recover_keeper_begin(ctx->keeper, ctx->scratch, postgres))
		return recover_fail_file(ctx, "write to", ctx->out);
	ctx->links = host_print("%s/wal", ctx->scratch);
	ctx->data = host_print("%s/data", ctx->scratch);
	return true;
}

/* ---- the server ---- */

/* Finds the last line of the log that says why it failed. */
static const char *
last_failure(char *log)
{
	const char *found = NULL;

	for (char *line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (strstr(line, "FATAL:") != NULL || strstr(line, "PANIC:") != NULL)
			found = line;
	return found != NULL ? found : "it says nothing";
}

static bool
report_server(Recover *ctx)
{
	char	   *path = host_print("%s/log", ctx->scratch);
	char	   *log = host_alloc(LOG_BYTES);

	if (!recover_read_text(path, log, LOG_BYTES))
		log[0] = '\0';
	recover_fail(ctx, "the server could not recover: %s", last_failure(log));
	host_free(path);
	host_free(log);
	return false;
}

/* The server must have written all pages, at the end of the WAL or later. */
static bool
run_server(Recover *ctx)
{
	ClusterControl control;
	int			status;

	if (!recover_keeper_run(ctx->keeper, &status))
		return recover_fail(ctx, "the process that keeps the server has ended");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return report_server(ctx);
	if (!cluster_read_control(ctx->data, false, &control) ||
		control.state != CLUSTER_STATE_SHUTDOWNED ||
		control.checkpoint < ctx->end)
		return recover_fail(ctx, "the server did not recover up to " WAL_LSN_FORMAT, WAL_LSN_ARGS(ctx->end));
	return true;
}

/* ---- the whole ---- */

static void
say_size(Recover *ctx)
{
	char		line[256];

	char		what[128];

	if (ctx->database != 0)
		snprintf(what, sizeof(what), "%zu relations and the catalogs of database %u",
				 ctx->filter.relations.count, ctx->database);
	else
		snprintf(what, sizeof(what), "%zu blocks are tracked, %zu of them wanted",
				 ctx->filter.blocks.count, ctx->nwanted);
	snprintf(line, sizeof(line), "%s; WAL up to " WAL_LSN_FORMAT ": %llu records are kept, %llu taken out",
			 what, WAL_LSN_ARGS(ctx->end), (unsigned long long) ctx->filter.kept,
			 (unsigned long long) ctx->filter.cleared);
	ctx->say(line);
}

static bool
check_what(Recover *ctx)
{
	return ctx->database != 0 ? recover_tables_check(ctx) :
		check_all_wanted(ctx);
}

static bool
make_relations(Recover *ctx)
{
	return ctx->database != 0 ? recover_tables_copy(ctx) :
		recover_skeleton_relations(ctx);
}

static bool
prepare(Recover *ctx)
{
	return check_what(ctx) &&
		(recover_make_folder(ctx->links) || recover_fail_file(ctx, "make", ctx->links)) &&
		recover_skeleton_make(ctx) && recover_wal_link(ctx) &&
		(!ctx->is_cluster || recover_restart_find(ctx, ctx->links)) &&
		recover_wal_write(ctx) && recover_wal_check(ctx) &&
		(!ctx->is_cluster || recover_restart_write(ctx)) &&
		make_relations(ctx);
}

/* Does it in the folder. */
static bool
recover_in_scratch(Recover *ctx)
{
	if (!prepare(ctx))
		return false;
	say_size(ctx);
	if (ctx->database != 0)
		return run_server(ctx) && recover_tables_finish(ctx);
	if (recover_proof_expect(ctx) == 0)
		return true;
	return run_server(ctx) && recover_proof_write(ctx);
}

bool
recover_run(Recover *ctx)
{
	RecoverKeeper keeper;
	char	   *postgres = host_print("%s/postgres", ctx->bindir);
	bool		done;

	ctx->keeper = &keeper;
	if (!check_kind(ctx) || !read_control(ctx) ||
		(!ctx->is_cluster && !read_label(ctx)) || !check_server(ctx, postgres) || !make_scratch(ctx, postgres))
		return false;
	done = recover_in_scratch(ctx);
	recover_keeper_end(&keeper);
	recover_filter_end(&ctx->filter);
	host_free(postgres);
	return done;
}
