/*
 * readers.h
 *	  Reads the files of a backup, in forked processes or here.
 */
#ifndef ACCEL_PROGRAM_READERS_H
#define ACCEL_PROGRAM_READERS_H

#include "backup/files.h"

/* As backup_files_verify(), with as many processes as options->workers says. */
extern void readers_verify(const BackupList *list,
						   const BackupFileOptions *options,
						   BackupFileFindingFn finding, void *arg,
						   BackupFileTotals *totals);

#endif							/* ACCEL_PROGRAM_READERS_H */
