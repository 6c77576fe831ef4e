/*
 * backup_files.h
 *	  The files of a backup read once: sizes, checksums, pages.
 */
#ifndef BACKUP_FILES_H
#define BACKUP_FILES_H

#include "scan/backup_list.h"
#include "scan/throttle.h"
#include "verify/backup_status.h"
#include "verify/page.h"

#pragma GCC visibility push(hidden)

/* What a file or a page of it is found to be; flat. */
typedef struct BackupFileFinding
{
	uint32		entry;			/* of the list */
	BackupStatus status;
	int			error;			/* errno, with io_error; 0: not regular */
	int64		offset;			/* of an error in the file; -1: at open */
	int64		size;			/* found */
	uint8		digest[MANIFEST_DIGEST_MAX];	/* found */
	int64		blkno;			/* absolute; -1: the file as a whole */
	PageVerdict page;
} BackupFileFinding;

typedef struct BackupFileTotals
{
	int64		files;
	int64		bytes;			/* read */
	int64		pages;			/* judged */
} BackupFileTotals;

typedef struct BackupFileOptions
{
	const char *root;
	bool		pages;			/* judge them, by these rules: */
	PageRules	rules;
	uint32		segment_blocks; /* of a relation's file */
	int			workers;
	Throttle   *throttle;
} BackupFileOptions;

/*
 * Reads all files of a list that are not ignored, largest first, here and in
 * parallel workers; tells what is found in the order in which it was asked for.
 * A page that is not in order has the status of its verdict.
 */
extern void backup_files_verify(const BackupList *list,
								const BackupFileOptions *options,
								void (*finding) (void *arg,
												 const BackupFileFinding *finding),
								void *arg, BackupFileTotals *totals);

#pragma GCC visibility pop

#endif							/* BACKUP_FILES_H */
