/*
 * build.h
 *	  Which sources this library was made of.
 */
#ifndef ACCEL_HOST_BUILD_H
#define ACCEL_HOST_BUILD_H

#pragma GCC visibility push(hidden)

/* Compared by leader and workers, as it stands in shared memory. */
#define BUILD_BYTES		32

extern const char accel_build[BUILD_BYTES];

#pragma GCC visibility pop

#endif							/* ACCEL_HOST_BUILD_H */
