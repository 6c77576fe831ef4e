/*
 * build.c
 *	  A checksum, by make, of the sources that this library was made of.
 *
 * A worker loads the library from its file, where an upgrade may have put
 * another one since the leader loaded its own.  Nothing but their beginning says
 * what lies in the memory that they share.
 */
#include "compat.h"

#include "host/build.h"

#ifndef ACCEL_BUILD
#define ACCEL_BUILD "unknown"
#endif

const char	accel_build[BUILD_BYTES] = ACCEL_BUILD;
