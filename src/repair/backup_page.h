/*
 * backup_page.h
 *	  The page of a block in a base backup, and which WAL the backup needs.
 */
#ifndef ACCEL_REPAIR_BACKUP_PAGE_H
#define ACCEL_REPAIR_BACKUP_PAGE_H

#include "page/fork.h"
#include "wal/format.h"

typedef struct BackupPage
{
	PGAlignedBlock page;
	WalLsn		start;			/* of the WAL that the backup needs */
	WalLsn		end;
	uint32		timeline;
	char		wal[MAXPGPATH]; /* the backup's own pg_wal */
} BackupPage;

/*
 * Reads the page of a block from a plain backup in the directory root.  Returns
 * false, with the reason in words, if the backup has none that its manifest
 * proves.
 */
extern bool backup_page_read(BackupPage *result, const char *root,
							 const Fork *fork, BlockNumber blkno,
							 char words[SCAN_MESSAGE_SIZE]);

#endif							/* ACCEL_REPAIR_BACKUP_PAGE_H */
