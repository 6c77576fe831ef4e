/*
 * backup.h
 *	  The command that verifies a base backup.
 */
#ifndef ACCEL_PROGRAM_BACKUP_H
#define ACCEL_PROGRAM_BACKUP_H

#include "backup/run.h"
#include "program/options.h"

/* Returns how to read a backup, that in the first operand. */
extern BackupOptions backup_options(const Options *options);

/* Returns the exit status. */
extern int	backup_command(const Options *options);

#endif							/* ACCEL_PROGRAM_BACKUP_H */
