/*
 * segment.h
 *	  The command that verifies files of WAL, each alone.
 */
#ifndef ACCEL_PROGRAM_SEGMENT_H
#define ACCEL_PROGRAM_SEGMENT_H

#include "program/options.h"

/* Returns the exit status. */
extern int	segment_command(const Options *options);

#endif							/* ACCEL_PROGRAM_SEGMENT_H */
