/*
 * image.h
 *	  The page that redo makes of a WAL record.
 */
#ifndef ACCEL_REPAIR_IMAGE_H
#define ACCEL_REPAIR_IMAGE_H

#include "compat.h"

#include "wal/block_image.h"
#include "wal/block_walk.h"

/*
 * Makes the page (BLCKSZ bytes) of a block reference that has an image, as it
 * is after redo of the decoded record, with LSN and checksum.
 */
extern WalImageResult redo_image(const WalBlockRecord *record,
								 const WalBlockRef *ref, char *page);

/*
 * Does the same for a sequence, whose record holds all of it.  Returns false
 * if the record is of another kind.
 */
extern bool redo_sequence(const WalBlockRecord *record,
						  const WalBlocks *blocks, char *page);

#endif							/* ACCEL_REPAIR_IMAGE_H */
