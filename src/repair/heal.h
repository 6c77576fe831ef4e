/*
 * heal.h
 *	  Writes a good page of shared buffers over its damaged block on disk.
 */
#ifndef ACCEL_REPAIR_HEAL_H
#define ACCEL_REPAIR_HEAL_H

#include "page/finding.h"

typedef struct HealResult
{
	HealStatus	status;
	BlockCopy	copy;			/* what shared buffers hold, if of use */
	char		message[SCAN_MESSAGE_SIZE];
} HealResult;

/*
 * Heals a block.  Keeps RowExclusiveLock on the relation until the end of the
 * transaction.  With allow_unproven, a page that is sane but not proven by its
 * checksum will do.  With direct, the device's page is healed below the page
 * cache, and read back.  A relation without storage raises 42809, a missing one
 * 42P01, a block past the end 22023, a read or write that fails its own
 * SQLSTATE.  The caller must be allowed to write.
 */
extern void heal_block(Oid relid, ForkNumber fork, BlockNumber blkno,
					   bool allow_unproven, bool direct,
					   HealResult *result);

#endif							/* ACCEL_REPAIR_HEAL_H */
