/*
 * backup_page.h
 *	  The page of a block in a base backup, and which WAL the backup needs.
 */
#ifndef ACCEL_REPAIR_BACKUP_PAGE_H
#define ACCEL_REPAIR_BACKUP_PAGE_H

#include "backup/spool.h"
#include "page/fork.h"
#include "wal/format.h"

#define BACKUP_PAGE_WORDS	1024

/* A backup, and those that it is incremental to. */
typedef struct BackupNames
{
	const char *root;			/* its directory */
	int			nprior;
	const char *const *prior;	/* the full one first */
} BackupNames;

/* The WAL that a backup needs. */
typedef struct BackupRange
{
	const char *root;			/* of the backup */
	WalLsn		start;
	WalLsn		end;
	uint32		timeline;
	char		wal[MAXPGPATH]; /* its own pg_wal */
	BackupSpool *spool;			/* which holds that, or NULL */
} BackupRange;

typedef struct BackupPage
{
	PGAlignedBlock page;

	/*
	 * Of the backups that say what the page is, the last one first.  The page
	 * was read by the one that is last here.
	 */
	int			count;
	BackupRange *ranges;
} BackupPage;

/*
 * Reads the page of a block from a backup in any form that verify_backup()
 * reads.  Returns false, with the reason in words, if the backup has none that
 * its manifest proves.
 */
extern bool backup_page_read(BackupPage *result, const BackupNames *names,
							 const Fork *fork, BlockNumber blkno,
							 char words[BACKUP_PAGE_WORDS]);

/* Removes what of archives was kept. */
extern void backup_page_end(BackupPage *result);

#endif							/* ACCEL_REPAIR_BACKUP_PAGE_H */
