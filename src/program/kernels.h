/*
 * kernels.h
 *	  The command that shows and tests the kernels.
 */
#ifndef ACCEL_PROGRAM_KERNELS_H
#define ACCEL_PROGRAM_KERNELS_H

/* Returns the exit status. */
extern int	kernels_command(void);

#endif							/* ACCEL_PROGRAM_KERNELS_H */
