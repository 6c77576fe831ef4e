/*
 * recover.h
 *	  The command that gives pages of blocks back.
 */
#ifndef ACCEL_PROGRAM_RECOVER_H
#define ACCEL_PROGRAM_RECOVER_H

#include "program/options.h"

/* Returns the exit status. */
extern int	recover_command(const Options *options);

#endif							/* ACCEL_PROGRAM_RECOVER_H */
