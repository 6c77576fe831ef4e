/*
 * backups.h
 *	  The command that verifies all base backups below a directory.
 */
#ifndef ACCEL_PROGRAM_BACKUPS_H
#define ACCEL_PROGRAM_BACKUPS_H

#include "program/options.h"

/* Returns the exit status. */
extern int	backups_command(const Options *options);

#endif							/* ACCEL_PROGRAM_BACKUPS_H */
