/*
 * files.h
 *	  Reads the files of a backup once for sizes, checksums and pages.
 */
#ifndef ACCEL_BACKUP_FILES_H
#define ACCEL_BACKUP_FILES_H

#include "backup/judge.h"
#include "host/throttle.h"

typedef struct BackupFileOptions
{
	const char *root;
	BackupJudgeRules judge;
	int			workers;
	Throttle   *throttle;
	bool		direct;			/* read past the page cache */
	const BackupWatch *watch;	/* NULL if there is none, as with workers */
} BackupFileOptions;

/*
 * Reads all files of a list that are not ignored, largest first, here and in
 * parallel workers.  Reports what is found in the order in which it was asked
 * for.  A page that is not in order has the status of its verdict.
 */
extern void backup_files_verify(const BackupList *list,
								const BackupFileOptions *options,
								void (*finding) (void *arg,
												 const BackupFileFinding *finding),
								void *arg, BackupFileTotals *totals);

#endif							/* ACCEL_BACKUP_FILES_H */
