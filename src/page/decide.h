/*
 * decide.h
 *	  Decides exactly whether a block that looked broken is broken.
 */
#ifndef ACCEL_PAGE_DECIDE_H
#define ACCEL_PAGE_DECIDE_H

#include "storage/buf.h"

#include "page/fork_reader.h"
#include "page/judge.h"

typedef enum BlockFate
{
	BLOCK_JUDGED,				/* the verdict holds */
	BLOCK_UNREADABLE,			/* reader->error and message tell why */
	BLOCK_GONE					/* past the end of the file, truncated */
} BlockFate;

/* Where a page is bad. */
typedef enum BlockPlace
{
	BLOCK_ON_DISK,				/* wherever it was read */
	BLOCK_ON_DEVICE,			/* the page cache holds a good one */
	BLOCK_IN_PAGE_CACHE			/* the device holds a good one */
} BlockPlace;

typedef struct BlockDecision
{
	BlockFate	fate;
	BlockPlace	place;
	XLogRecPtr	good_lsn;		/* of the good page at the other place */
	PageVerdict verdict;		/* of the disk image */
	BlockBufferState buffer_state;
	BlockCopy	copy;
	bool		write_to_come;	/* a dirty buffer holds a page, not zeros */
	bool		mark_lost;		/* a clean buffer's page is marked
								 * all-visible, the disk's is not */
	bool		older;			/* the disk's good page is, than that of a
								 * clean buffer; block_judge_age() sets it */
	int			retries;		/* reads made here */
	PGAlignedBlock image;		/* as read from disk */
	PGAlignedBlock cached;		/* what a valid buffer held, if clean or dirty */
	PGAlignedBlock before;		/* for the reads that have to agree, and the
								 * page cache's page above a bad one */
} BlockDecision;

/* Did a valid buffer hold the block? */
#define BLOCK_IS_CACHED(decision) \
	((decision)->buffer_state == BLOCK_BUFFER_CLEAN || \
	 (decision)->buffer_state == BLOCK_BUFFER_DIRTY)

/* The page of a judged block, as the server has it. */
static inline const char *
block_page(const BlockDecision *decision)
{
	return BLOCK_IS_CACHED(decision) ? decision->cached.data :
		decision->image.data;
}

/*
 * Reads a block of the reader's open segment again while nobody can be writing
 * it, and judges it.  rules->horizon is brought up to date where needed.  A
 * direct reader compares a bad page of the device with the page cache, and a
 * strict one compares every page.
 */
extern void block_decide(ForkReader *reader, BlockNumber blkno,
						 PageRules *rules, BlockDecision *decision);

/* The same of what the server reads, whatever the reader. */
extern void block_decide_cached(ForkReader *reader, BlockNumber blkno,
								PageRules *rules, BlockDecision *decision);

/*
 * As block_decide(), and returns a valid buffer that holds the block, pinned
 * and locked exclusively, for UnlockReleaseBuffer(), or InvalidBuffer if there
 * is none.
 */
extern Buffer block_decide_and_hold(ForkReader *reader, BlockNumber blkno,
									PageRules *rules,
									BlockDecision *decision);

/*
 * Asks the device about a block that was decided to be bad, so it may be the
 * page cache's page alone.  If so, sets the decision's place.  If it is found
 * to be good by now, that is the decision, unless a buffer held it.
 */
extern void block_ask_device(ForkReader *reader, BlockNumber blkno,
							 PageRules *rules, BlockDecision *decision);

/*
 * Finds out whether the disk's page, which is good, is older than that of a
 * clean buffer, and then what the buffer's is worth.
 */
extern void block_judge_age(BlockDecision *decision, BlockNumber blkno,
							PageRules *rules);

/* Has the device a good page, which is another one than the page cache's? */
static inline bool
block_is_other_on_device(const BlockDecision *decision)
{
	return decision->place == BLOCK_ON_DEVICE &&
		decision->verdict.status == PAGE_OK;
}

/*
 * The status of a decided block that is not gone.  "initialized" tells that
 * the visibility map said so before the decision, see map_witness.c.
 */
extern PageStatus block_decision_status(const BlockDecision *decision,
										bool initialized);

/* Does a dirty buffer, not written yet, hold a block of zeros on disk? */
extern bool block_is_unwritten(const Fork *fork, BlockNumber blkno);

/*
 * Judges a page that was read before now by the present end of the WAL when it
 * seems to lie beyond rules->horizon.
 */
extern void block_judge_lsn(const char *page, BlockNumber blkno,
							PageRules *rules, PageVerdict *verdict);

/* No page can be newer than this LSN, which moves on. */
extern XLogRecPtr block_horizon(void);

#endif							/* ACCEL_PAGE_DECIDE_H */
