/*
 * files.h
 *	  Reads the files of a backup once for sizes, checksums and pages.
 */
#ifndef ACCEL_BACKUP_FILES_H
#define ACCEL_BACKUP_FILES_H

#include "backup/judge.h"
#include "backup/progress.h"
#include "backup/stored.h"
#include "host/file_scan.h"

typedef struct BackupFileOptions
{
	const char *root;
	BackupJudgeRules judge;
	int			workers;
	struct Throttle *throttle;	/* NULL if no bound */
	bool		direct;			/* read past the page cache */
	const BackupProgress *progress; /* NULL if nobody asks */
	const BackupWatch *watch;	/* NULL if there is none, as with workers */
} BackupFileOptions;

typedef void (*BackupFileFindingFn) (void *arg,
									 const BackupFileFinding *finding);

/*
 * Reads all files of a list that are not ignored, largest first.  Reports what
 * is found in the order in which it was asked for.  A page that is not in order
 * has the status of its verdict.
 */
typedef void (*BackupFilesFn) (const BackupList *list,
							   const BackupFileOptions *options,
							   BackupFileFindingFn finding, void *arg,
							   BackupFileTotals *totals);

/* Does so here, without workers. */
extern void backup_files_verify(const BackupList *list,
								const BackupFileOptions *options,
								BackupFileFindingFn finding, void *arg,
								BackupFileTotals *totals);

/* What one file after the other is read with, for those who share a list. */
typedef struct BackupFileReader
{
	const BackupList *list;
	const BackupFileOptions *options;
	BackupFileFindingFn finding;
	void	   *arg;
	char	   *buffer;			/* BACKUP_PIECE_BYTES, aligned */
	FileWindow *window;			/* for reads past the page cache, else NULL */
	StoredReader *stored;		/* if the list's files are, else NULL */
} BackupFileReader;

extern void backup_files_begin(BackupFileReader *reader,
							   const BackupList *list,
							   const BackupFileOptions *options,
							   BackupFileFindingFn finding, void *arg);

/* Reads a file of the list.  Sets totals to those of this file. */
extern void backup_files_read(BackupFileReader *reader, uint32_t entry,
							  BackupFileTotals *totals);
extern void backup_files_end(BackupFileReader *reader);

#endif							/* ACCEL_BACKUP_FILES_H */
