/*
 * cluster.h
 *	  The command that verifies the files of a data directory.
 */
#ifndef ACCEL_PROGRAM_CLUSTER_H
#define ACCEL_PROGRAM_CLUSTER_H

#include "program/options.h"

/* Returns the exit status. */
extern int	cluster_command(const Options *options);

#endif							/* ACCEL_PROGRAM_CLUSTER_H */
