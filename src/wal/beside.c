/*
 * beside.c
 *	  Judges what a restore needs beside the segments of an archive, which is
 *	  history files, and backup files that agree with themselves.
 *
 * The segments of a timeline prove that it exists.  Without its history a
 * restore ends before them, or does not begin.  They also prove where it
 * began.  Pages before that place are of an ancestor, those from there on are
 * its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "wal/backups.h"
#include "wal/beside.h"
#include "wal/source.h"

typedef struct Beside
{
	const WalDirectory *dir;
	WalFile		file;
	WalNames	names;			/* files that are there, then those wanted */
} Beside;

/* ---- names ---- */

static void
add_file(void *arg, const char *file_name)
{
	Beside	   *ctx = arg;
	WalName		name;

	if (wal_name_parse_beside(file_name, &name))
		wal_names_add(&ctx->names, &name);
}

/* Is the directory a folder of segments?  Histories lie above it then. */
static bool
is_folder(const WalDirectory *dir)
{
	const char *slash = strrchr(dir->path, '/');

	return wal_name_is_folder(slash == NULL ? dir->path : slash + 1);
}

static bool
has_history(const Beside *ctx, size_t count, uint32_t timeline)
{
	for (size_t i = 0; i < count; i++)
		if (ctx->names.names[i].kind == WAL_KIND_HISTORY &&
			ctx->names.names[i].timeline == timeline)
			return true;
	return false;
}

/* The segments are in the order of their timelines. */
static void
add_missing_histories(Beside *ctx)
{
	const WalNames *files = &wal_directory_listing(ctx->dir)->files;
	size_t		count = ctx->names.count;
	WalName		wanted = {0};

	wanted.kind = WAL_KIND_HISTORY;
	for (size_t i = 0; i < files->count; i++)
	{
		host_interrupts();
		if (files->names[i].timeline == wanted.timeline)
			continue;
		wanted.timeline = files->names[i].timeline;
		if (wanted.timeline > 1 && !has_history(ctx, count, wanted.timeline))
			wal_names_add(&ctx->names, &wanted);
	}
}

static int
compare_names(const void *a, const void *b)
{
	return wal_name_compare(a, b);
}

static void
list(Beside *ctx)
{
	if (!host_list(ctx->dir->path, add_file, ctx))
		return;
	if (!is_folder(ctx->dir))
		add_missing_histories(ctx);
	if (ctx->names.count > 1)
		qsort(ctx->names.names, ctx->names.count, sizeof(WalName),
			  compare_names);
}

/* ---- history files ---- */

/* The server copies the parent's file, and adds the parent. */
static bool
continues(const WalLineage *lineage, const WalLineage *parent)
{
	if (parent->nancestors != lineage->nancestors - 1)
		return false;
	for (int i = 0; i < parent->nancestors; i++)
		if (parent->ancestors[i].timeline != lineage->ancestors[i].timeline ||
			parent->ancestors[i].end != lineage->ancestors[i].end)
			return false;
	return true;
}

static void
check_parent(Beside *ctx, const WalLineage *lineage, WalVerdict *verdict)
{
	uint32_t	timeline = lineage->ancestors[lineage->nancestors - 1].timeline;
	WalLineage	parent;

	if (timeline > 1 &&
		wal_timelines_history(&parent, &ctx->file, ctx->dir->path,
							  timeline).reason == WAL_REASON_NONE)
	{
		if (!continues(lineage, &parent))
		{
			verdict->reason = WAL_REASON_HISTORY_PARENT;
			verdict->value = timeline;
		}
		host_free(parent.ancestors);
	}
}

/* Returns the lowest file of a timeline, NULL if there is none. */
static const WalName *
first_of(const WalDirectory *dir, uint32_t timeline)
{
	const WalNames *files = &wal_directory_listing(dir)->files;

	for (size_t i = 0; i < files->count; i++)
		if (files->names[i].timeline == timeline)
			return &files->names[i];
	return NULL;
}

static bool
is_ancestor(const WalLineage *lineage, uint32_t timeline)
{
	for (int i = 0; i < lineage->nancestors; i++)
		if (lineage->ancestors[i].timeline == timeline)
			return true;
	return false;
}

/*
 * A page that is an ancestor's begins before the switch point, one of the
 * timeline's own not before it.  There are no others.
 */
static bool
contradicts(const WalLineage *lineage, const uint8_t *page, WalLsn at)
{
	WalLsn		begin = lineage->ancestors[lineage->nancestors - 1].end;
	uint32_t	timeline = wal_load32(page + WAL_PAGE_TLI);
	bool		own = timeline == lineage->timeline;

	return wal_load64(page + WAL_PAGE_ADDR) == at &&
		timeline <= lineage->timeline &&
		(own ? at < begin : at >= begin || !is_ancestor(lineage, timeline));
}

/* Returns how many pages of a piece contradict, the first one in *verdict. */
static uint64_t
check_piece(const WalLineage *lineage, const uint8_t *piece, size_t len,
			uint32_t page_size, WalLsn at, WalVerdict *verdict)
{
	uint64_t	count = 0;

	for (size_t i = 0; i + page_size <= len; i += page_size)
	{
		if (!contradicts(lineage, piece + i, at + i))
			continue;
		count++;
		if (verdict->expected != 0)
			continue;
		verdict->expected = at + i;
		verdict->more = wal_load32(piece + i + WAL_PAGE_TLI);
	}
	return count;
}

/*
 * In the segment of the switch point, one page alone may be the one that is
 * damaged.
 */
static void
check_pages(Beside *ctx, const WalLineage *lineage, WalLsn at,
			WalVerdict *verdict)
{
	WalSource	source = wal_source_file(&ctx->file, host_alloc(WAL_PIECE_BYTES));
	WalLsn		begin = lineage->ancestors[lineage->nancestors - 1].end;
	uint64_t	size = ctx->dir->limits.segment_size;
	uint64_t	offset = 0;
	uint64_t	count = 0;
	WalVerdict	found = {0};
	size_t		len;

	do
	{
		const uint8_t *piece = wal_source_piece(&source, offset,
												WAL_PIECE_BYTES, &len);

		host_interrupts();
		count += check_piece(lineage, piece, len,
							 ctx->dir->limits.server.page_size, at + offset,
							 &found);
		offset += len;
	} while (len == WAL_PIECE_BYTES && offset < size);
	host_free(source.buffer);
	if (count <= (begin / size == at / size ? 1 : 0))
		return;
	*verdict = found;
	verdict->reason = WAL_REASON_HISTORY_POINT;
	verdict->value = begin;
}

/* Does the timeline begin where its lowest segment says? */
static void
check_begin(Beside *ctx, const WalLineage *lineage, WalVerdict *verdict)
{
	const WalName *name = first_of(ctx->dir, lineage->timeline);
	WalLsn		begin = lineage->ancestors[lineage->nancestors - 1].end;
	uint32_t	size = ctx->dir->limits.segment_size;
	char	   *path;
	WalLsn		at;

	if (name == NULL || !wal_name_possible(name, size))
		return;
	at = wal_name_segno(name, size) * size;
	if (begin / size > at / size)
	{
		verdict->reason = WAL_REASON_HISTORY_SWITCH;
		verdict->value = begin;
		verdict->expected = at;
		return;
	}
	path = wal_directory_file(ctx->dir, name);
	if (wal_file_open(&ctx->file, path, wal_name_format(name)) == FILE_SCAN_OK)
	{
		check_pages(ctx, lineage, at, verdict);
		wal_file_close(&ctx->file);
	}
	host_free(path);
}

static WalStatus
status_of(const WalVerdict *verdict)
{
	switch (verdict->reason)
	{
		case WAL_REASON_NONE:
			return WAL_OK;
		case WAL_REASON_HISTORY_MISSING:
			return WAL_MISSING;
		case WAL_REASON_FILE_READ:
			return WAL_IO_ERROR;
		case WAL_REASON_FILE_OPEN:
			return wal_status_of_open((int) verdict->value);
		case WAL_REASON_FILE_IRREGULAR:
		case WAL_REASON_FILE_LONG:
			return WAL_NOT_VERIFIABLE;
		default:
			return wal_reason_unreadable(verdict->reason) ?
				WAL_NOT_VERIFIABLE : WAL_CORRUPT;
	}
}

static WalVerdict
judge_history(Beside *ctx, const WalName *name)
{
	WalLineage	lineage;
	WalVerdict	verdict = wal_timelines_history(&lineage, &ctx->file,
												ctx->dir->path, name->timeline);

	/* it was listed, under a name of what is not read here */
	if (verdict.reason == WAL_REASON_HISTORY_MISSING &&
		wal_name_format(name) > DECODE_LAST_READ)
	{
		verdict.reason = WAL_REASON_FILE_COMPRESSED;
		verdict.value = wal_name_format(name);
	}
	if (verdict.reason == WAL_REASON_NONE)
		check_parent(ctx, &lineage, &verdict);
	if (verdict.reason == WAL_REASON_NONE)
		check_begin(ctx, &lineage, &verdict);
	host_free(lineage.ancestors);
	return verdict;
}

/* ---- all of them ---- */

static void
put(const WalName *name, WalVerdict verdict, WalBesideFn row, void *arg)
{
	WalSegmentResult result;

	memset(&result, 0, sizeof(result));
	result.name = *name;
	result.message = verdict;
	result.status = status_of(&verdict);
	row(arg, &result);
}

static void
judge_histories(Beside *ctx, WalBesideFn row, void *arg)
{
	list(ctx);
	for (size_t i = 0; i < ctx->names.count; i++)
	{
		host_interrupts();
		if (ctx->names.names[i].kind == WAL_KIND_HISTORY)
			put(&ctx->names.names[i], judge_history(ctx, &ctx->names.names[i]),
				row, arg);
	}
}

static void
judge_backups(const WalDirectory *dir, WalBesideFn row, void *arg)
{
	WalBackups	backups = wal_backups_read(dir);

	for (size_t i = 0; i < backups.count; i++)
		put(&backups.items[i].name, backups.items[i].verdict, row, arg);
	host_free(backups.items);
}

void
wal_beside_judge(const WalDirectory *dir, struct Throttle *throttle,
				 WalBesideFn row, void *arg)
{
	Beside	   *ctx;

	if (dir->limits.pg_wal)
		return;
	ctx = host_alloc(sizeof(Beside));
	memset(ctx, 0, sizeof(*ctx));
	ctx->dir = dir;
	wal_file_init(&ctx->file, dir->limits.direct);
	wal_file_throttle(&ctx->file, throttle);
	judge_histories(ctx, row, arg);
	wal_file_end(&ctx->file);
	host_free(ctx->names.names);
	host_free(ctx);
	judge_backups(dir, row, arg);
}

/* ---- one of them, alone ---- */

/* Its name fits its text by one segment size at most. */
static WalVerdict
judge_backup_alone(WalFile *file, const char *directory, const WalName *name)
{
	WalDirectory dir = {directory};
	WalBackup	backup = {0};

	backup.name = *name;
	for (uint32_t size = WAL_SEGMENT_MIN; size <= WAL_SEGMENT_MAX; size *= 2)
	{
		dir.limits.segment_size = size;
		wal_backup_read(&backup, file, &dir);
		if (backup.verdict.reason != WAL_REASON_BACKUP_START &&
			backup.verdict.reason != WAL_REASON_BACKUP_STOP)
			break;
	}
	return backup.verdict;
}

static void
keep_result(void *arg, const WalSegmentResult *result)
{
	*(WalSegmentResult *) arg = *result;
}

void
wal_beside_judge_alone(const char *directory, const WalName *name,
					   bool direct, WalSegmentResult *result)
{
	WalFile    *file = host_alloc(sizeof(WalFile));
	WalLineage	lineage = {0};
	WalVerdict	verdict;

	wal_file_init(file, direct);
	if (name->kind == WAL_KIND_HISTORY)
		verdict = wal_timelines_history(&lineage, file, directory, name->timeline);
	else
		verdict = judge_backup_alone(file, directory, name);
	put(name, verdict, keep_result, result);
	host_free(lineage.ancestors);
	wal_file_end(file);
	host_free(file);
}
