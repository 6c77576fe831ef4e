/*
 * wal.c
 *	  The WAL of a recovery, as it is found and as the server gets it.
 *
 * WAL may lie in several folders, as archives and pg_wal.  Links bring its
 * files into one, which is then read like any archive.  The server finds the
 * filtered WAL in its pg_wal, and asks nobody for more.  It ends where the
 * target is, in zeros, so that recovery ends there by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/end.h"
#include "host/print.h"
#include "recover/output.h"
#include "recover/path.h"
#include "recover/skeleton.h"
#include "recover/wal.h"

/* ---- links ---- */

typedef struct Linking
{
	Recover    *ctx;
	const char *folder;			/* absolute */
	bool		inner;			/* it is one of segments, in another */
	bool		failed;
} Linking;

static bool link_folder(Recover *ctx, const char *folder, bool inner);

/* Is it a file that the recovery may need? */
static bool
is_needed(const Recover *ctx, const char *file)
{
	WalName		name;
	uint32_t	size = ctx->control.wal_segment_size;

	if (wal_timelines_file(file) != 0)
		return true;
	return wal_name_parse(file, &name) &&
		(name.kind == WAL_KIND_SEGMENT || name.kind == WAL_KIND_PARTIAL) &&
		wal_name_segno(&name, size) >= ctx->start / size;
}

static void
on_file(void *arg, const char *name)
{
	Linking    *linking = arg;
	Recover    *ctx = linking->ctx;
	char	   *from;
	char	   *to;

	if (linking->failed)
		return;
	from = host_print("%s/%s", linking->folder, name);
	to = host_print("%s/%s", ctx->links, name);
	if (!linking->inner && wal_name_is_folder(name))
		linking->failed = !link_folder(ctx, from, true);
	else if (is_needed(ctx, name) && symlink(from, to) != 0 && errno != EEXIST)
		linking->failed = !recover_fail_file(ctx, "make", to);
	host_free(from);
	host_free(to);
}

static bool
link_folder(Recover *ctx, const char *folder, bool inner)
{
	char		absolute[PATH_MAX];
	Linking		linking = {ctx, absolute, inner, false};

	if (realpath(folder, absolute) == NULL ||
		!host_list(absolute, on_file, &linking))
		return recover_fail_file(ctx, "read", folder);
	return !linking.failed;
}

/*
 * A folder with archive_status is a pg_wal, which ends within a segment.  So
 * do the links then.
 */
static bool
link_status(Recover *ctx, const char *folder)
{
	char	   *from = host_print("%s/archive_status", folder);
	char	   *to = host_print("%s/archive_status", ctx->links);
	struct stat status;
	bool		made = stat(from, &status) != 0 || recover_make_folder(to) ||
		recover_fail_file(ctx, "make", to);

	host_free(from);
	host_free(to);
	return made;
}

bool
recover_wal_link(Recover *ctx)
{
	char	   *own = host_print("%s/pg_wal", ctx->backup);
	struct stat status;
	bool		linked = true;

	for (size_t i = 0; linked && i < ctx->nwal; i++)
		linked = link_status(ctx, ctx->wal[i]) &&
			link_folder(ctx, ctx->wal[i], false);
	if (linked && stat(own, &status) == 0)
		linked = link_status(ctx, own) && link_folder(ctx, own, false);
	host_free(own);
	return linked;
}

/* ---- reading ---- */

/* A pass over the WAL. */
typedef struct Pass
{
	Recover    *ctx;
	WalDirectory dir;
	WalPath		path;			/* whose WAL it is */
	RecoverFilter *filter;
	RecoverOutput *output;		/* NULL if nothing may change */
	BackupEnd	backup_end;
	bool		failed;
} Pass;

bool
recover_wal_open(Recover *ctx, const char *folder, bool direct,
				 WalDirectory *dir)
{
	if (wal_directory_open(dir, folder, "", direct, NULL) != WAL_DIRECTORY_OK)
		return recover_fail_file(ctx, "read", folder);
	dir->limits.server.system = ctx->control.system;
	dir->limits.server.page_size = ctx->control.wal_block_size;
	dir->limits.segment_size = ctx->control.wal_segment_size;
	return true;
}

static bool
open_pass(Pass *pass, const char *folder, bool direct)
{
	Recover    *ctx = pass->ctx;

	if (!recover_wal_open(ctx, folder, direct, &pass->dir))
		return false;
	pass->path = wal_list_path(&pass->dir, ctx->timeline);
	pass->filter->block_size = ctx->control.block_size;
	pass->backup_end.start = ctx->start;
	return true;
}

static bool
on_record(void *arg, const WalBlockRecord *record)
{
	Pass	   *pass = arg;
	RecoverRewrite rewrite;
	WalLsn		at = record->lsn;
	const char *why = recover_filter_record(pass->filter, record, &rewrite);

	backup_end_record(&pass->backup_end, record->lsn, record->end,
					  record->bytes, record->present);
	if (why != NULL)
		pass->failed = !recover_fail(pass->ctx, "cannot filter the record at " WAL_LSN_FORMAT ": %s",
									 WAL_LSN_ARGS(record->lsn), why);
	else if (rewrite.bytes == NULL)
		return true;
	else if (pass->output == NULL)
		pass->failed = !recover_fail(pass->ctx, "the record at " WAL_LSN_FORMAT " was not filtered as it must be",
									 WAL_LSN_ARGS(record->lsn));
	else if (!recover_output_put(pass->output, &at, rewrite.bytes, rewrite.count) ||
			 !recover_output_put(pass->output, &at, NULL, record->len - rewrite.count))
		pass->failed = !recover_fail_file(pass->ctx, "copy WAL segment", pass->output->failed);
	return !pass->failed;
}

bool
recover_wal_fail_gap(Recover *ctx, const WalBlockGap *gap, const char *more)
{
	char		segment[WAL_NAME_SIZE];
	char		why[WAL_MESSAGE_SIZE];

	wal_name_print(&gap->segment, segment);
	wal_trouble_words(&gap->verdict, gap->status, why);
	return recover_fail(ctx, "WAL has a gap from " WAL_LSN_FORMAT " on, in segment %s: %s%s",
						WAL_LSN_ARGS(gap->begin), segment, why, more);
}

static void
on_gap(void *arg, const WalBlockGap *gap)
{
	Pass	   *pass = arg;

	if (!pass->failed)
		pass->failed = !recover_wal_fail_gap(pass->ctx, gap, "");
}

/* Walks the records from the start to an end, and sets where they end. */
static bool
walk(Pass *pass, WalLsn to, WalLsn *end)
{
	WalBlockWalk options = {0};
	WalBlockWalkEnd found;

	options.dir = &pass->dir;
	options.from = pass->ctx->start;
	options.to = to;
	options.timeline = pass->path.timeline;
	options.system = pass->ctx->control.system;
	options.record = on_record;
	options.gap = on_gap;
	options.arg = pass;
	wal_block_walk(&options, &found);
	*end = found.end;
	return !pass->failed;
}

/* ---- writing ---- */

/* The newest timeline must be one that the backup's goes on to. */
static bool
check_timeline(Pass *pass)
{
	Recover    *ctx = pass->ctx;
	uint32_t	wrote = wal_path_at(&pass->path, ctx->start);

	if (pass->path.timeline == ctx->start_timeline ||
		wrote == ctx->start_timeline)
		return true;
	return recover_fail(ctx, "the WAL is of timeline %u, which is not known to follow timeline %u of the backup",
						pass->path.timeline, ctx->start_timeline);
}

/* The server reads the history of a timeline from its file, as text. */
static bool
write_history(Pass *pass)
{
	Recover    *ctx = pass->ctx;
	char	   *path;
	FILE	   *file;
	bool		written;

	if (pass->path.timeline == ctx->start_timeline)
		return true;
	path = host_print("%s/pg_wal/%08X.history", ctx->data, pass->path.timeline);
	file = fopen(path, "we");
	written = file != NULL;
	for (int i = 0; written && i < pass->path.nancestors; i++)
		fprintf(file, "%u\t" WAL_LSN_FORMAT "\tswitch\n", pass->path.ancestors[i].timeline,
				WAL_LSN_ARGS(pass->path.ancestors[i].end));
	written = written && fclose(file) == 0;
	if (!written)
		recover_fail_file(ctx, "write", path);
	host_free(path);
	return written;
}

static bool
check_list(Recover *ctx, const WalNames *list)
{
	char		name[WAL_NAME_SIZE];

	for (size_t i = 0; i < list->count; i++)
		if (list->names[i].kind == WAL_KIND_MISSING)
		{
			wal_name_print(&list->names[i], name);
			return recover_fail(ctx, "WAL segment %s is in none of the folders", name);
		}
	return true;
}

/* Is the end of the WAL one that the backup can be recovered to? */
static bool
check_end(Pass *pass)
{
	Recover    *ctx = pass->ctx;

	if (ctx->target != WAL_LSN_MAX && ctx->end == ctx->start)
		return recover_fail(ctx, "the target is before the backup's start at " WAL_LSN_FORMAT,
							WAL_LSN_ARGS(ctx->start));
	if (ctx->is_cluster)
		return true;			/* its pages are not used */
	if (pass->backup_end.end == 0 && ctx->control.min_recovery == 0)
		return recover_fail(ctx, "the WAL ends at " WAL_LSN_FORMAT ", before the end of the backup",
							WAL_LSN_ARGS(ctx->end));
	if (ctx->end < ctx->control.min_recovery)
		return recover_fail(ctx, "the WAL ends at " WAL_LSN_FORMAT ", before the end of the backup at " WAL_LSN_FORMAT,
							WAL_LSN_ARGS(ctx->end), WAL_LSN_ARGS(ctx->control.min_recovery));
	return true;
}

static bool
write_all(Pass *pass, const WalNames *list)
{
	Recover    *ctx = pass->ctx;
	char	   *folder = host_print("%s/pg_wal", ctx->data);
	RecoverOutput output = {&pass->dir, list, ctx->control.wal_block_size, folder};
	bool		written;

	recover_output_begin(&output);
	pass->output = &output;
	written = walk(pass, ctx->target, &ctx->end) && check_end(pass);
	if (written && !recover_output_end(&output, ctx->end))
		written = recover_fail_file(ctx, "copy WAL segment", output.failed);
	recover_output_free(&output);
	host_free(folder);
	return written && write_history(pass);
}

bool
recover_wal_write(Recover *ctx)
{
	Pass		pass = {.ctx = ctx,.filter = &ctx->filter};
	WalRange	range = {ctx->start, ctx->target};
	WalNames	list;
	bool		written;

	if (!open_pass(&pass, ctx->links, ctx->direct) || !check_timeline(&pass))
		return false;
	ctx->timeline = pass.path.timeline;
	wal_list_range(&pass.dir, range, ctx->timeline, false, &list);
	written = check_list(ctx, &list) && recover_skeleton_space(ctx, list.count) &&
		write_all(&pass, &list);
	ctx->restart.end = ctx->end;
	ctx->restart.end_timeline = wal_path_at(&pass.path, ctx->end - 1);
	host_free(list.names);
	return written;
}

/* ---- checking ---- */

static bool
check_block(Recover *ctx, const RecoverFilter *again, const WalBlockTag *tag)
{
	const RecoverBlock *block = recover_set_find(&ctx->filter.blocks, tag);
	const RecoverBlock *other = recover_set_find(&again->blocks, tag);

	/* what ended storage was taken out */
	if (!block->restored || (other->restored && block->last == other->last))
		return true;
	return recover_fail(ctx, "the filtered WAL says " WAL_LSN_FORMAT " of block %u, and the WAL says " WAL_LSN_FORMAT,
						WAL_LSN_ARGS(other->last), tag->block,
						WAL_LSN_ARGS(block->last));
}

bool
recover_wal_check(Recover *ctx)
{
	RecoverFilter again = {.database = ctx->database,.relations = ctx->filter.relations};
	Pass		pass = {.ctx = ctx,.filter = &again};
	char	   *folder = host_print("%s/pg_wal", ctx->data);
	WalLsn		end;
	bool		same = open_pass(&pass, folder, false);

	for (size_t i = 0; i < ctx->nwanted; i++)
		recover_filter_want(&again, &ctx->wanted[i].tag);
	same = same && walk(&pass, WAL_LSN_MAX, &end);
	if (same && end != ctx->end)
		same = recover_fail(ctx, "the filtered WAL ends at " WAL_LSN_FORMAT ", not at " WAL_LSN_FORMAT,
							WAL_LSN_ARGS(end), WAL_LSN_ARGS(ctx->end));
	for (size_t i = 0; same && i < ctx->nwanted; i++)
		same = check_block(ctx, &again, &ctx->wanted[i].tag);
	again.relations = (RecoverSet)
	{
		0
	};
	recover_filter_end(&again);
	host_free(folder);
	return same;
}
