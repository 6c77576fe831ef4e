/*
 * mask.h
 *	  Pages without what may differ between primary and standby.
 */
#ifndef ACCEL_PAGE_MASK_H
#define ACCEL_PAGE_MASK_H

#include "common/relpath.h"
#include "storage/block.h"
#include "utils/relcache.h"

typedef struct PageMask
{
	void		(*mask) (char *page, BlockNumber blkno);
	char	   *copy;
	bool		map;			/* pages of a visibility map */
	bool		beyond;			/* the last mask may have written beyond its
								 * page */
} PageMask;

/*
 * Makes the mask for one fork of a relation, or raises ERROR 0A000 where there
 * can be none.
 */
extern void page_mask_init(PageMask *mask, Relation rel, ForkNumber fork);

/*
 * Counts up when the mask of the same server comes to hide something else, as
 * digests of two masks cannot be compared.
 */
#define PAGE_MASK_REVISION	1

/*
 * Are pages of the fork that have the same LSN equal under the mask, in all
 * copies of one history?  That is so for main forks of permanent relations
 * whose access method is of core.
 */
extern bool page_mask_exact(Relation rel, ForkNumber fork);

/*
 * Does a page that is ok or new hold nothing at all?  A standby may have no
 * such block, since extending a relation by new pages, or its visibility map
 * by an empty one, is not written to the WAL.
 */
extern bool page_mask_empty(const PageMask *mask, const char *page);

/*
 * A masked copy of a page (BLCKSZ bytes, valid until the next call), NULL when
 * the page's header does not allow it.
 */
extern const char *page_mask_apply(PageMask *mask, const char *page,
								   BlockNumber blkno);

#endif							/* ACCEL_PAGE_MASK_H */
