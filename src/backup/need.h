/*
 * need.h
 *	  Up to where a backup without a manifest needs WAL, and whether it has it.
 */
#ifndef ACCEL_BACKUP_NEED_H
#define ACCEL_BACKUP_NEED_H

#include "backup/meta.h"
#include "backup/wal.h"

/* The page with the newest LSN among those that are in order. */
typedef struct BackupNewest
{
	const char *path;			/* NULL if there is none */
	int64_t		blkno;
	WalLsn		lsn;
} BackupNewest;

/*
 * Sets the end of the one range of an opened directory of WAL, or WAL_LSN_MAX
 * if all WAL is needed that there is.  Sets wal->cut if WAL is missing after
 * the last.
 */
extern void backup_need_settle(BackupWal *wal, ManifestRange *range,
							   const BackupMeta *meta,
							   const BackupNewest *newest, BackupSink *sink);

#endif							/* ACCEL_BACKUP_NEED_H */
