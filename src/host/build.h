/*
 * build.h
 *	  Which sources this library was made of.
 */
#ifndef ACCEL_HOST_BUILD_H
#define ACCEL_HOST_BUILD_H

/* Compared by leader and workers, as it stands in shared memory. */
#define BUILD_BYTES		32

extern const char accel_build[BUILD_BYTES];

#endif							/* ACCEL_HOST_BUILD_H */
