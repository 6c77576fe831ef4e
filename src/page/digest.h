/*
 * digest.h
 *	  Digests of rows of blocks, put together from pages or from parts.
 */
#ifndef ACCEL_PAGE_DIGEST_H
#define ACCEL_PAGE_DIGEST_H

#include "access/xlogdefs.h"
#include "common/relpath.h"
#include "storage/block.h"
#include "utils/relcache.h"

#include "page/mask.h"

typedef struct PageDigestOptions
{
	int32		blocks_per_row; /* 0 if no digests are asked for */
	bool		masked;
	bool		exact;			/* only of forks that page_mask_exact() names,
								 * and never of a page half written */
} PageDigestOptions;

/* Are digests of the fork asked for? */
#define PAGE_DIGESTS_WANTED(options, rel, fork) \
	((options)->blocks_per_row > 0 && \
	 (!(options)->exact || page_mask_exact(rel, fork)))

/*
 * A row, or the part of it that one process has seen.  It is flat, since it is
 * sent.
 */
typedef struct DigestRow
{
	int64		first;			/* block of the whole row, -1 if there is none */
	int64		start;			/* the first that this is about */
	int64		next;			/* the block that must come next */
	XLogRecPtr	lsn;			/* the newest */
	uint32		crc;
	uint32		left_out;		/* pages since the last one that was not */
	bool		broken;			/* a block cannot be trusted, or is missing */
	bool		empty;			/* all pages so far were left out */
} DigestRow;

typedef struct PageDigests PageDigests;
struct PageDigests
{
	/* takes each row when it ends, those of pages left out alone included */
	void		(*emit) (PageDigests *digests, const DigestRow *row);
	void	   *arg;			/* of put() */

	PageDigestOptions options;
	int64		from;			/* the first block to come */
	DigestRow	row;			/* at work */
	PageMask	mask;			/* if masked */
};

/* Returns the digest of one page. */
extern uint32 page_digest(const char *page);

/* Raises ERROR 0A000 where there can be no mask. */
extern void page_digests_init(PageDigests *digests,
							  const PageDigestOptions *options, Relation rel,
							  ForkNumber fork, int64 from);

/*
 * Takes, in block order, a page that is ok or new, or a block without a
 * digest.
 */
extern void page_digests_page(PageDigests *digests, BlockNumber blkno,
							  const char *page);
extern void page_digests_broken(PageDigests *digests, BlockNumber blkno);

/* The row at work gets no digest. */
extern void page_digests_spoil(PageDigests *digests);

/* Takes what another process has made of its blocks. */
extern void page_digests_part(PageDigests *digests, const DigestRow *part);

/* Puts the last row. */
extern void page_digests_end(PageDigests *digests);

#endif							/* ACCEL_PAGE_DIGEST_H */
