/*
 * fetch.h
 *	  The command that gives the first sound copy of a file of WAL.
 */
#ifndef ACCEL_PROGRAM_FETCH_H
#define ACCEL_PROGRAM_FETCH_H

#include "program/options.h"

/* Returns the exit status. */
extern int	fetch_command(const Options *options);

#endif							/* ACCEL_PROGRAM_FETCH_H */
