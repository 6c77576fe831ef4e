/*
 * backup.h
 *	  The command that verifies a base backup.
 */
#ifndef ACCEL_PROGRAM_BACKUP_H
#define ACCEL_PROGRAM_BACKUP_H

#include "program/options.h"

/* Returns the exit status. */
extern int	backup_command(const Options *options);

#endif							/* ACCEL_PROGRAM_BACKUP_H */
