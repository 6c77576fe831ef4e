/*
 * owner.h
 *	  Finds out which cluster an archive is of.
 */
#ifndef ACCEL_PROGRAM_OWNER_H
#define ACCEL_PROGRAM_OWNER_H

#include "wal/segment.h"

/*
 * Returns the server that the sound segments are of, of those with this system
 * identifier and this magic number, where they are not 0.  What is not known is
 * as it was in dir.
 */
extern HostServer owner_find(const WalDirectory *dir, uint64_t system,
							 uint16_t magic);

#endif							/* ACCEL_PROGRAM_OWNER_H */
