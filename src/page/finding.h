/*
 * finding.h
 *	  Findings about relations and the totals of a fork.
 *
 * Both are flat, without a pointer inside, so a worker may send them to its
 * leader as bytes.
 */
#ifndef ACCEL_PAGE_FINDING_H
#define ACCEL_PAGE_FINDING_H

#include "access/xlogdefs.h"
#include "common/relpath.h"
#include "storage/block.h"

#include "page/judge.h"
#include "page/status.h"

/* What shared buffers held of a block when its verdict was reached. */
typedef enum BlockBufferState
{
	BLOCK_BUFFER_UNKNOWN,		/* not looked at, NULL in SQL */
	BLOCK_BUFFER_UNCACHED,
	BLOCK_BUFFER_INVALID,		/* a buffer is there, but its read failed or
								 * goes on */
	BLOCK_BUFFER_CLEAN,
	BLOCK_BUFFER_DIRTY
} BlockBufferState;

/* A valid buffer over the block, as far as it can be trusted. */
typedef enum BlockCopy
{
	BLOCK_COPY_NONE,			/* none, or no better than the disk image */
	BLOCK_COPY_SANE,			/* header and LSN sane, differs from disk */
	BLOCK_COPY_PROVEN			/* its checksum matches */
} BlockCopy;

#define SCAN_PATH_SIZE		128 /* the longest path of a segment takes 90 */
#define SCAN_MESSAGE_SIZE	256

/* One finding, where negative or Invalid means "none" (NULL in SQL). */
typedef struct PageFinding
{
	Oid			relid;
	ForkNumber	fork;			/* InvalidForkNumber for the relation as a
								 * whole */
	int64		blkno;			/* absolute, -1 if none */
	int64		file_offset;	/* bytes within path, -1 if none */
	PageStatus	status;
	int32		stored;			/* -1 if none */
	int32		computed;		/* -1 if none */
	bool		has_lsn;
	XLogRecPtr	lsn;
	int32		retries;		/* reads of this block beyond the first */
	BlockBufferState buffer_state;
	BlockCopy	copy;			/* what shared buffers hold, if of use */
	char		path[SCAN_PATH_SIZE];	/* of the segment, "" if none */
	char		message[SCAN_MESSAGE_SIZE];
} PageFinding;

/*
 * One fork's (or one range's) totals.  blocks = verified + new_pages + bad +
 * unverifiable + those that vanished by truncation.
 */
typedef struct ForkSummary
{
	Oid			relid;
	ForkNumber	fork;
	int64		blocks;			/* in range when the scan began */
	int64		verified;		/* judged and healthy */
	int64		new_pages;		/* all zero */
	int64		unwritten;		/* of these, in shared buffers only so far */
	int64		bad;			/* blocks with a finding */
	int64		unverifiable;	/* nothing bad seen, but no checksum to trust */
	int64		retried;		/* blocks read again before a verdict */
	int64		bytes;			/* read */
	int64		findings;		/* all, those about segments included */
	double		elapsed;		/* seconds */
	BlockNumber next;			/* where to go on, invalid if it was not ended
								 * early */
	PageStatus	status;			/* of the first finding */
	char		message[SCAN_MESSAGE_SIZE];
} ForkSummary;

/* "uncached", "invalid", "clean", "dirty", or NULL for unknown */
extern const char *block_buffer_state_name(BlockBufferState state);

/* A finding without a place. */
extern void page_finding_init(PageFinding *finding, Oid relid,
							  ForkNumber fork, PageStatus status);

/* The same, not_verifiable, with the reason. */
extern void page_finding_not_verifiable(PageFinding *finding, Oid relid,
										ForkNumber fork, const char *why);

/* The finding of no relation that checksums are disabled. */
extern void page_finding_checksums_off(PageFinding *finding);

/* Puts the verdict on a page (BLCKSZ bytes) into its finding, with words. */
extern void page_finding_describe(PageFinding *finding,
								  const PageVerdict *verdict,
								  const char *page, const PageRules *rules,
								  BlockCopy copy);

/*
 * Says of a page that is bad at one place where the good one is, and its LSN.
 */
extern void page_finding_note_place(PageFinding *finding, XLogRecPtr good);

/* Says of a free space or visibility map that the server heals it itself. */
extern void page_finding_note_fork(PageFinding *finding);

/* Starts a summary of nothing. */
extern void fork_summary_init(ForkSummary *summary, Oid relid,
							  ForkNumber fork);

/* Counts a finding in the status, message and findings of a summary. */
extern void fork_summary_note(ForkSummary *summary,
							  const PageFinding *finding);

/* Gives a summary without findings the status that checksums are disabled. */
extern void fork_summary_checksums_off(ForkSummary *summary);

/* Says how many blocks are not on disk yet, if any. */
extern void fork_summary_note_unwritten(ForkSummary *summary);

/* Adds one part's totals to a fork's, of elapsed the longest. */
extern void fork_summary_add(ForkSummary *total, const ForkSummary *part);

#endif							/* ACCEL_PAGE_FINDING_H */
