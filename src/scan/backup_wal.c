/*
 * backup_wal.c
 *	  The WAL that a backup needs to become consistent.
 */
#include "compat.h"

#include "access/xlog_internal.h"
#include "miscadmin.h"

#include "scan/backup_wal.h"
#include "scan/wal_parallel.h"
#include "verify/wal_version.h"

typedef struct Judging
{
	BackupWal  *wal;
	BackupSink *sink;
} Judging;

static void
put_segment(Judging *judging, const WalSegmentResult *result)
{
	char		words[WAL_MESSAGE_SIZE] = "";
	char		name[WAL_NAME_SIZE];
	char	   *path;
	BackupFinding finding = {NULL, -1, wal_status_name(result->status)};

	wal_name_print(&result->name, name);
	path = psprintf("%s/%s", judging->wal->shown, name);
	if (result->message.reason != WAL_REASON_NONE)
		wal_verdict_words(&result->message, words);
	finding.path = path;
	finding.lsn = result->counts.errors > 0 ? result->counts.first_error :
		result->has_position ? result->start_lsn : InvalidXLogRecPtr;
	finding.message = words[0] == '\0' ? NULL : words;
	backup_sink_put(judging->sink, &finding);
	pfree(path);
}

static void
put_result(void *arg, const WalSegmentResult *result)
{
	Judging    *judging = arg;

	judging->wal->records += (int64) result->counts.records;
	if (result->status == WAL_OK || result->status == WAL_OK_SWITCHED ||
		result->status == WAL_OK_END_OF_WAL)
		return;
	judging->wal->whole = false;
	put_segment(judging, result);
}

/* WAL of another cluster than this server's is held against its own facts. */
static void
set_identity(WalDirectory *dir, const BackupWal *wal)
{
	const WalVersion *version = NULL;

	if (wal->system == 0 || dir->limits.server.system == wal->system)
		return;
	dir->limits.server.system = wal->system;
	for (size_t n = 0; (version = wal_version_at(n)) != NULL; n++)
		if (wal->version != NULL && strcmp(version->name, wal->version) == 0)
			dir->limits.server.magic = version->magic;
}

void
backup_wal_verify(BackupWal *wal, BackupSink *sink)
{
	Judging		judging = {wal, sink};
	WalDirectory dir;
	WalDirectoryResult opened = wal_directory_open(&dir, wal->path, XLOGDIR,
												   NULL);

	wal->whole = opened == WAL_DIRECTORY_OK && wal->nranges > 0;
	if (opened == WAL_DIRECTORY_NONE)
		backup_sink_file(sink, wal->shown, BACKUP_IO_ERROR,
						 "not a directory");
	else if (opened == WAL_DIRECTORY_FAILED)
		backup_sink_file(sink, wal->shown, errno == ENOENT ?
						 BACKUP_MISSING : BACKUP_IO_ERROR,
						 "could not open directory: %s", strerror(errno));
	if (opened != WAL_DIRECTORY_OK)
		return;
	set_identity(&dir, wal);
	for (int i = 0; i < wal->nranges; i++)
	{
		const ManifestRange *asked = &wal->ranges[i];
		WalRange	range = {asked->start, asked->end};
		WalNames	list;

		if (range.begin >= range.end)
			continue;
		wal_list_range(&dir, range, asked->timeline, &list);
		wal_parallel_judge(&dir, range, &list, wal->workers, put_result,
						   &judging);
	}
}
