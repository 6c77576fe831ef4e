/*
 * pick.h
 *	  Some files of a backup, plain or in archives, proven by its manifest.
 */
#ifndef ACCEL_BACKUP_PICK_H
#define ACCEL_BACKUP_PICK_H

#include "backup/spool.h"
#include "manifest/json.h"

#define BACKUP_PICK_WORDS	1024

/* One of these files, and what becomes of it. */
typedef struct BackupPick
{
	/* the caller's */
	int64_t		entry;			/* of the manifest's list */
	void		(*piece) (void *arg, int64_t offset, const char *piece,
						  size_t bytes);
	void	   *arg;

	/* found */
	char		why_not[BACKUP_PICK_WORDS]; /* it is proven, "" if it is */
} BackupPick;

typedef struct BackupPicking
{
	const char *root;			/* the backup's directory */
	BackupManifest *manifest;	/* whose status is OK.  Its list's "ignored"
								 * and "found" are set anew */
	uint32_t	tablespace;		/* of those that are not in the data directory */
	BackupSpool *spool;			/* where WAL in archives goes */
	BackupPick *picks;
	int			count;
} BackupPicking;

/*
 * Reads these files.  Each goes to its callback in pieces of whole blocks, but
 * for the last one, and is proven if every byte of it went into the manifest's
 * checksum.  One that is not may have gone there, too.
 */
extern void backup_pick_read(BackupPicking *picking);

#endif							/* ACCEL_BACKUP_PICK_H */
