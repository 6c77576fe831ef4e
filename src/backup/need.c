/*
 * need.c
 *	  Up to where a backup without a manifest needs WAL, and whether it has it.
 *
 * With a backup_label, recovery goes on to the record that ends the backup.
 * One that was taken from a standby has none, and there the minimum recovery
 * point of pg_control says it.  Without a label, recovery goes as far as there
 * is WAL.  That must be as far as pg_control says, and as the newest page,
 * since WAL is on disk before any page that it changed.
 */
#include <string.h>

#include "backup/end.h"
#include "backup/need.h"
#include "host/host.h"
#include "host/print.h"
#include "wal/block_walk.h"

#define LABEL_FILE		"backup_label"

/* What was read of the WAL. */
typedef struct Read
{
	BackupEnd	marks;
	WalLsn		end;			/* after the last record */
	bool		whole;			/* no record is missing before it */
} Read;

static bool
on_record(void *arg, const WalBlockRecord *record)
{
	Read	   *read = arg;

	return backup_end_record(&read->marks, record->lsn, record->end,
							 record->bytes, record->present);
}

static void
read_wal(const BackupWal *wal, const ManifestRange *range, Read *read)
{
	WalBlockWalk walk = {&wal->dir, range->start, WAL_LSN_MAX,
	range->timeline, wal->dir.limits.server.system};
	uint32_t	size = wal->dir.limits.segment_size;
	WalBlockWalkEnd end;

	walk.throttle = wal->throttle;
	walk.record = on_record;
	walk.arg = read;
	wal_block_walk(&walk, &end);
	read->end = end.records == 0 ? range->start : end.end;
	read->whole = end.gaps == 0;
	/* what follows such a record is the next segment */
	if (end.records > 0 && read->marks.switched)
		read->end += (size - read->end % size) % size;
}

static void
report_cut(BackupWal *wal, const Read *read, WalLsn needed, BackupSink *sink)
{
	wal->cut = true;
	if (needed == WAL_LSN_MAX)
		backup_sink_file(sink, wal->shown, BACKUP_MISSING,
						 "WAL ends at %X/%X, before the end of the backup; it is missing, or the backup was not finished",
						 WAL_LSN_ARGS(read->end));
	else
		backup_sink_file(sink, wal->shown, BACKUP_MISSING,
						 "WAL ends at %X/%X, but pg_control needs it up to %X/%X",
						 WAL_LSN_ARGS(read->end), WAL_LSN_ARGS(needed));
}

/* ---- with a label ---- */

static void
check_checkpoint(const Read *read, BackupSink *sink)
{
	if (!read->marks.has_checkpoint && read->whole &&
		read->end > read->marks.checkpoint)
		backup_sink_file(sink, LABEL_FILE, BACKUP_BAD_FORMAT,
						 "CHECKPOINT LOCATION is not that of a checkpoint that begins at START WAL LOCATION");
}

static void
settle_by_label(BackupWal *wal, ManifestRange *range, const BackupMeta *meta,
				const Read *read, BackupSink *sink)
{
	WalLsn		consistent = meta->has_control ? meta->control.min_recovery : 0;

	check_checkpoint(read, sink);
	if (meta->label.from_standby)
	{
		/* else pg_control is not that of a standby, which is said elsewhere */
		if (consistent > range->start)
			range->end = consistent;
	}
	else if (read->marks.end != 0)
		range->end = read->marks.end > consistent ? read->marks.end : consistent;
	else
		report_cut(wal, read, WAL_LSN_MAX, sink);
}

/* ---- without one ---- */

static void
settle_by_control(BackupWal *wal, const BackupMeta *meta, const Read *read,
				  BackupSink *sink)
{
	WalLsn		needed = meta->control.checkpoint + 1;

	if (needed < meta->control.min_recovery)
		needed = meta->control.min_recovery;
	if (read->end < needed)
		report_cut(wal, read, needed, sink);
	if (read->marks.end != 0 && !meta->bad_label)
		backup_sink_file(sink, LABEL_FILE, BACKUP_UNDECIDED,
						 "not there, and a backup that began at %X/%X ended at %X/%X: if this is that backup, changes are lost; a snapshot of all files at one moment needs no label",
						 WAL_LSN_ARGS(read->marks.began),
						 WAL_LSN_ARGS(read->marks.end));
}

static void
check_newest(BackupWal *wal, const ManifestRange *range, const Read *read,
			 const BackupNewest *newest, BackupSink *sink)
{
	BackupFinding finding = {newest->path, newest->blkno,
	backup_status_name(BACKUP_LSN_IN_FUTURE)};
	WalLsn		end = range->end == WAL_LSN_MAX ? read->end : range->end;

	if (newest->path == NULL || wal->cut || !read->whole || newest->lsn <= end)
		return;
	finding.lsn = newest->lsn;
	finding.message = host_print("LSN is after the end of the WAL, %X/%X: WAL is missing, or the page is of another cluster",
								 WAL_LSN_ARGS(end));
	backup_sink_emit(sink, &finding);
	wal->cut = range->end == WAL_LSN_MAX;
}

void
backup_need_settle(BackupWal *wal, ManifestRange *range,
				   const BackupMeta *meta, const BackupNewest *newest,
				   BackupSink *sink)
{
	Read	   *read = host_alloc(sizeof(Read));

	memset(read, 0, sizeof(*read));
	if (meta->has_label)
	{
		read->marks.start = meta->label.start;
		read->marks.checkpoint = meta->label.checkpoint;
	}
	read_wal(wal, range, read);
	if (meta->has_label)
		settle_by_label(wal, range, meta, read, sink);
	else
		settle_by_control(wal, meta, read, sink);
	check_newest(wal, range, read, newest, sink);
	host_free(read);
}
