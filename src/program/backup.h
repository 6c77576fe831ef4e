/*
 * backup.h
 *	  The command that verifies a base backup.
 */
#ifndef ACCEL_PROGRAM_BACKUP_H
#define ACCEL_PROGRAM_BACKUP_H

#include "backup/run.h"
#include "program/options.h"
#include "program/output.h"

/* Returns how to read a backup, that in the first operand. */
extern BackupOptions backup_options(const Options *options);

/* How much of a backup was read is shown, if that is wanted. */
extern void backup_progress_begin(BackupProgress *progress, Output *output);
extern void backup_progress_end(Output *output);

/* Returns the exit status. */
extern int	backup_command(const Options *options);

#endif							/* ACCEL_PROGRAM_BACKUP_H */
