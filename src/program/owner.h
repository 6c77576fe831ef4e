/*
 * owner.h
 *	  Opens an archive, and finds out which cluster it is of.
 */
#ifndef ACCEL_PROGRAM_OWNER_H
#define ACCEL_PROGRAM_OWNER_H

#include "program/options.h"
#include "wal/segment.h"

/* Opens a directory of WAL, or ends the program. */
extern void owner_open(WalDirectory *dir, const char *path,
					   const Options *options);

/*
 * Returns the server that the sound segments are of, of those with this system
 * identifier and this magic number, where they are not 0.  What is not known is
 * as it was in dir.
 */
extern HostServer owner_find(const WalDirectory *dir, uint64_t system,
							 uint16_t magic);

/* From now on the directory is of this server. */
extern void owner_set(WalDirectory *dir, const HostServer *owner);

#endif							/* ACCEL_PROGRAM_OWNER_H */
