/*
 * images.h
 *	  The command that finds lost writes by the WAL alone.
 */
#ifndef ACCEL_PROGRAM_IMAGES_H
#define ACCEL_PROGRAM_IMAGES_H

#include "program/options.h"

extern int	images_command(const Options *options);

#endif							/* ACCEL_PROGRAM_IMAGES_H */
