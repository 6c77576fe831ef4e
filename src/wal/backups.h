/*
 * backups.h
 *	  Reads the backup files in an archive, which tell what WAL a base backup
 *	  needs.
 */
#ifndef ACCEL_WAL_BACKUPS_H
#define ACCEL_WAL_BACKUPS_H

#include "wal/directory.h"
#include "wal/file.h"

typedef struct WalBackup
{
	WalName		name;
	WalVerdict	verdict;		/* what follows is known if it has no reason */
	WalLsn		start;
	WalLsn		stop;
} WalBackup;

typedef struct WalBackups
{
	WalBackup  *items;
	size_t		count;
} WalBackups;

/* Reads one, which has its name.  The file must be made ready, and is closed. */
extern void wal_backup_read(WalBackup *backup, WalFile *file,
							const WalDirectory *dir);

/* Reads the backup files of a directory and of its folders of segments. */
extern WalBackups wal_backups_read(const WalDirectory *dir);

/*
 * Are the segments between two gone by design?  Then the first is the last one
 * of a backup, the second the first one of another, and no backup is between
 * them.  An archive looks like this if it keeps older backups without the WAL
 * from one to the next.
 */
extern bool wal_backups_between(const WalBackups *backups,
								uint32_t segment_size, const WalName *before,
								const WalName *after);

#endif							/* ACCEL_WAL_BACKUPS_H */
