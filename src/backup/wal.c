/*
 * wal.c
 *	  The WAL that a backup needs to become consistent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backup/wal.h"
#include "host/host.h"
#include "host/print.h"
#include "wal/block_walk.h"
#include "wal/list.h"
#include "wal/version.h"

typedef struct Judging
{
	BackupWal  *wal;
	BackupSink *sink;
	WalLsn		end;			/* of the range, WAL_LSN_MAX if unknown */
} Judging;

static char *
path_of(const Judging *judging, const WalSegmentResult *result)
{
	char		name[WAL_NAME_SIZE];

	wal_name_print(&result->name, name);
	return host_print("%s/%s", judging->wal->shown, name);
}

/*
 * What is no WAL may be encrypted in an archive, but not in a pg_wal.  A file
 * that is no finding by itself is not the segment that the backup needs.
 */
static const char *
status_of(const Judging *judging, const WalSegmentResult *result)
{
	if (judging->wal->own &&
		result->message.reason == WAL_REASON_FILE_UNREADABLE)
		return wal_status_name(WAL_CORRUPT);
	if (result->status != WAL_NOT_VERIFIABLE &&
		!wal_status_is_finding(result->status))
		return wal_status_name(WAL_MISSING);
	return wal_status_name(result->status);
}

static void
emit_segment(Judging *judging, const WalSegmentResult *result)
{
	char		words[WAL_MESSAGE_SIZE] = "";
	char	   *path = path_of(judging, result);
	BackupFinding finding = {NULL, -1, status_of(judging, result)};

	if (result->message.reason != WAL_REASON_NONE)
		wal_verdict_words(&result->message, words);
	finding.path = path;
	finding.lsn = result->counts.errors > 0 ? result->counts.first_error :
		result->has_position ? result->start_lsn : 0;
	finding.message = words[0] == '\0' ? NULL : words;
	backup_sink_emit(judging->sink, &finding);
	host_free(path);
}

/*
 * Recovery stops where the WAL ends.  Before the end of the backup, that is an
 * error.  Where a record goes on in another segment, that one is the finding.
 */
static bool
ends_early(const Judging *judging, const WalSegmentResult *result)
{
	uint32_t	size = judging->wal->dir.limits.segment_size;

	return result->status == WAL_OK_END_OF_WAL &&
		judging->end != WAL_LSN_MAX && result->end_lsn < judging->end &&
		(result->counts.tail_bytes == 0 ||
		 judging->end - result->start_lsn <= size);
}

static void
report_early_end(Judging *judging, const WalSegmentResult *result)
{
	BackupFinding finding = {path_of(judging, result), -1,
	backup_status_name(BACKUP_MISSING)};
	char		words[128];

	snprintf(words, sizeof(words),
			 "WAL ends at %X/%X, but the backup needs it up to %X/%X",
			 WAL_LSN_ARGS(result->end_lsn), WAL_LSN_ARGS(judging->end));
	finding.lsn = result->end_lsn;
	finding.message = words;
	backup_sink_emit(judging->sink, &finding);
}

/* The server reads its own pg_wal, and only what it has named itself. */
static bool
is_misplaced(const Judging *judging, const WalName *name)
{
	return judging->wal->own && name->kind != WAL_KIND_MISSING &&
		(name->suffix != 0 || name->has_digest || name->in_folder);
}

static void
report_misplaced(Judging *judging, const WalSegmentResult *result)
{
	backup_sink_file(judging->sink, path_of(judging, result),
					 BACKUP_BAD_FORMAT,
					 "only an archive may have WAL in this form: the server does not read it");
}

/*
 * A server has files after the end of its WAL that it will write to.  They are
 * older WAL under a new name, or zeros.  The judge of segments says so only if
 * no newer WAL follows.  Where the end is known, such a file before it is a
 * finding.
 */
static bool
is_for_later(const Judging *judging, const WalSegmentResult *result)
{
	return judging->wal->own && judging->end == WAL_LSN_MAX &&
		(result->status == WAL_OK_RECYCLED || result->status == WAL_OK_UNUSED);
}

static void
emit_result(void *arg, const WalSegmentResult *result)
{
	Judging    *judging = arg;

	judging->wal->records += (int64_t) result->counts.records;
	judging->wal->copies += (int64_t) result->counts.copies;
	if (is_misplaced(judging, &result->name))
		report_misplaced(judging, result);
	if (ends_early(judging, result))
		report_early_end(judging, result);
	else if (result->status != WAL_OK && result->status != WAL_OK_SWITCHED &&
			 result->status != WAL_OK_END_OF_WAL &&
			 !is_for_later(judging, result))
		emit_segment(judging, result);
}

/* Returns 0, which is any, if it is not known. */
static uint16_t
magic_of(const BackupWal *wal)
{
	const WalVersion *version;

	if (wal->magic != 0 || wal->version == NULL)
		return wal->magic;
	for (size_t n = 0; (version = wal_version_at(n)) != NULL; n++)
		if (strcmp(version->name, wal->version) == 0)
			return version->magic;
	return 0;
}

/* WAL of another cluster than this server's is held against its own facts. */
static void
set_identity(WalDirectory *dir, const BackupWal *wal)
{
	if (wal->system == 0 && wal->identify != NULL)
		wal->identify(wal->arg, dir);
	if (wal->system == 0 || dir->limits.server.system == wal->system)
		return;
	dir->limits.server.system = wal->system;
	dir->limits.server.magic = magic_of(wal);
	if (wal_power_of_two(wal->page_size, WAL_PAGE_MIN, WAL_PAGE_MAX))
		dir->limits.server.page_size = wal->page_size;
}

void
backup_wal_open(BackupWal *wal, BackupSink *sink)
{
	WalDirectoryResult result = wal_directory_open(&wal->dir, wal->path,
												   "pg_wal", wal->direct, NULL);

	wal->opened = result == WAL_DIRECTORY_OK;
	if (wal->opened)
		set_identity(&wal->dir, wal);
	else if (result == WAL_DIRECTORY_NONE)
		backup_sink_file(sink, wal->shown, BACKUP_IO_ERROR,
						 "not a directory");
	else
		backup_sink_file(sink, wal->shown, errno == ENOENT ?
						 BACKUP_MISSING : BACKUP_IO_ERROR,
						 "could not open directory: %s", strerror(errno));
}

void
backup_wal_verify(BackupWal *wal, BackupSink *sink)
{
	Judging		judging = {wal, sink};

	for (int i = 0; wal->opened && i < wal->nranges; i++)
	{
		const ManifestRange *asked = &wal->ranges[i];
		WalRange	range = {asked->start, asked->end};
		WalNames	list;

		if (range.begin >= range.end)
			continue;
		judging.end = range.end;
		wal_list_range(&wal->dir, range, asked->timeline, false, &list);
		wal->judge(&wal->dir, range, &list, wal->workers, wal->throttle,
				   emit_result, &judging);
	}
}

/* ---- what the WAL makes of pages ---- */

/* Without suspects it is copies of databases that are looked for, in all WAL. */
static bool
goes_on(const BackupFates *fates)
{
	return fates->count == 0 || fates->open > 0;
}

static bool
on_record(void *arg, const WalBlockRecord *record)
{
	BackupFates *fates = arg;

	if (fates->count > 0 || record->bytes[WAL_REC_RMID] == WAL_RMGR_DATABASE)
		backup_fates_record(fates, record->lsn, record->bytes, record->present);
	return goes_on(fates);
}

static void
on_gap(void *arg, const WalBlockGap *gap)
{
	(void) gap;
	backup_fates_gap(arg);
}

/*
 * Returns true if all of the range was walked, or no page is left to decide.
 */
static bool
walk_range(BackupWal *wal, const ManifestRange *range, BackupFates *fates)
{
	WalBlockWalk walk = {&wal->dir, range->start, range->end,
	range->timeline, wal->dir.limits.server.system};
	WalBlockWalkEnd end;

	walk.throttle = wal->throttle;
	walk.record = on_record;
	walk.gap = on_gap;
	walk.arg = fates;
	wal_block_walk(&walk, &end);
	return end.records > 0;
}

static void
walk_ranges(BackupWal *wal, BackupFates *fates)
{
	if (!wal->opened || wal->nranges == 0)
		backup_fates_gap(fates);
	for (int i = 0; i < wal->nranges && goes_on(fates); i++)
		if (!walk_range(wal, &wal->ranges[i], fates))
			backup_fates_gap(fates);
	if (wal->cut)
		backup_fates_gap(fates);
	backup_fates_end(fates);
}

void
backup_wal_decide(BackupWal *wal, BackupSuspect *suspects, size_t count)
{
	BackupFates *fates = host_alloc(sizeof(BackupFates));

	backup_fates_begin(fates, suspects, count, wal->block_size);
	walk_ranges(wal, fates);
	host_free(fates);
}

static bool
is_among(const BackupFolder *folders, size_t count, BackupFolder folder)
{
	for (size_t i = 0; i < count; i++)
		if (folders[i].tablespace == folder.tablespace &&
			folders[i].database == folder.database)
			return true;
	return false;
}

size_t
backup_wal_sources(BackupWal *wal, BackupFolder sources[BACKUP_COPIES_MAX])
{
	BackupFates *fates;
	size_t		count = 0;

	if (wal->copies == 0)
		return 0;
	fates = host_alloc(sizeof(BackupFates));
	backup_fates_begin(fates, NULL, 0, wal->block_size);
	walk_ranges(wal, fates);
	for (uint32_t i = 0; i < fates->ncopies && !fates->crowded; i++)
		if (fates->copies[i].live && !is_among(sources, count, fates->copies[i].source))
			sources[count++] = fates->copies[i].source;
	host_free(fates);
	return count;
}
