/*
 * heal.h
 *	  Writes a good page of shared buffers over its damaged block on disk.
 */
#ifndef ACCEL_REPAIR_HEAL_H
#define ACCEL_REPAIR_HEAL_H

#include "page/finding.h"

typedef enum HealStatus
{
	HEAL_HEALED,				/* written, and good when it was read again */
	HEAL_HEALTHY,				/* nothing to do, nothing done */
	HEAL_NO_GOOD_COPY,			/* nothing to do it with, nothing done */
	HEAL_NOT_HEALED,			/* written, and not as written when read again */
	HEAL_NOT_VERIFIABLE			/* nothing is known, nothing done */
} HealStatus;

typedef struct HealResult
{
	HealStatus	status;
	BlockCopy	copy;			/* what shared buffers hold, if of use */
	char		message[SCAN_MESSAGE_SIZE];
} HealResult;

/* "healed", "healthy", "no_good_copy", "not_healed", "not_verifiable" */
extern const char *heal_status_name(HealStatus status);

/*
 * Heals a block.  Keeps RowExclusiveLock on the relation until the end of the
 * transaction.  With allow_unproven, a page that is sane but not proven by its
 * checksum will do.  A relation without storage raises 42809, a missing one
 * 42P01, a block past the end 22023, a read or write that fails its own
 * SQLSTATE.  The caller must be allowed to write.
 */
extern void heal_block(Oid relid, ForkNumber fork, BlockNumber blkno,
					   bool allow_unproven, HealResult *result);

#endif							/* ACCEL_REPAIR_HEAL_H */
