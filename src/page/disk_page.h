/*
 * disk_page.h
 *	  Reads one page of a relation as it lies on disk.
 */
#ifndef ACCEL_PAGE_DISK_PAGE_H
#define ACCEL_PAGE_DISK_PAGE_H

#include "common/relpath.h"
#include "storage/block.h"

#include "page/decide.h"

/*
 * Reads one block, healthy or not, into page (BLCKSZ bytes).  A block past the
 * end raises 22023, a read error its own SQLSTATE.
 */
extern void disk_page_read(Oid relid, ForkNumber fork, BlockNumber blkno,
						   char *page);

/* Raises what became of a block that was not judged, as above. */
extern void disk_page_failed(const ForkReader *reader, BlockNumber blkno,
							 BlockFate fate);

#endif							/* ACCEL_PAGE_DISK_PAGE_H */
