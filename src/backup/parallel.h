/*
 * parallel.h
 *	  Reads the files of a backup here and in parallel workers.
 */
#ifndef ACCEL_BACKUP_PARALLEL_H
#define ACCEL_BACKUP_PARALLEL_H

#include "backup/files.h"

/* As backup_files_verify(), with workers. */
extern void backup_parallel_verify(const BackupList *list,
								   const BackupFileOptions *options,
								   BackupFileFindingFn finding, void *arg,
								   BackupFileTotals *totals);

#endif							/* ACCEL_BACKUP_PARALLEL_H */
