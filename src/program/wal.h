/*
 * wal.h
 *	  The command that verifies a WAL archive.
 */
#ifndef ACCEL_PROGRAM_WAL_H
#define ACCEL_PROGRAM_WAL_H

#include "program/options.h"

/* Returns the exit status. */
extern int	wal_command(const Options *options);

#endif							/* ACCEL_PROGRAM_WAL_H */
