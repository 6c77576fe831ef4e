/*
 * sink.h
 *	  Where scans of relations put what they find.
 *
 * Findings and summaries are flat: no pointer inside, so a worker may send them
 * to its leader as bytes.
 */
#ifndef ACCEL_SINK_H
#define ACCEL_SINK_H

#include "access/xlogdefs.h"
#include "common/relpath.h"
#include "storage/block.h"

#include "verify/finding.h"

#pragma GCC visibility push(hidden)

/* What shared buffers held of a block when its verdict was reached. */
typedef enum BlockBufferState
{
	BLOCK_BUFFER_UNKNOWN,		/* not looked at: NULL in SQL */
	BLOCK_BUFFER_UNCACHED,
	BLOCK_BUFFER_INVALID,		/* a buffer is there, but its read failed or
								 * goes on */
	BLOCK_BUFFER_CLEAN,
	BLOCK_BUFFER_DIRTY
} BlockBufferState;

#define SCAN_PATH_SIZE		128 /* the longest path of a segment takes 90 */
#define SCAN_MESSAGE_SIZE	256

/* One finding; negative or Invalid means "none" (NULL in SQL). */
typedef struct PageFinding
{
	Oid			relid;
	ForkNumber	fork;			/* InvalidForkNumber: the relation as a whole */
	int64		blkno;			/* absolute; -1: none */
	int64		file_offset;	/* bytes within path; -1: none */
	PageStatus	status;
	int32		stored;			/* -1: none */
	int32		computed;		/* -1: none */
	bool		has_lsn;
	XLogRecPtr	lsn;
	int32		retries;		/* reads of this block beyond the first */
	BlockBufferState buffer_state;
	char		path[SCAN_PATH_SIZE];	/* of the segment; "": none */
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
	int64		bad;			/* blocks with a finding */
	int64		unverifiable;	/* nothing bad seen, but no checksum to trust */
	int64		retried;		/* blocks read again before a verdict */
	int64		bytes;			/* read */
	int64		findings;		/* all, those about segments included */
	double		elapsed;		/* seconds */
	PageStatus	status;			/* of the first finding that is worst */
	char		message[SCAN_MESSAGE_SIZE];
} ForkSummary;

typedef struct ScanSink ScanSink;
struct ForkScan;

/*
 * The callbacks of a scan; embed this in a larger struct to carry state.  Any
 * of them may be NULL.  They may raise errors (a cancel, say): no buffer lock
 * is held when they are called, and files and pins are the transaction's.
 */
struct ScanSink
{
	/* a finding, in block order within a fork */
	void		(*finding) (ScanSink *sink, const PageFinding *finding);

	/* a fork begins: blocks_total is set in summary->blocks */
	void		(*fork_begin) (ScanSink *sink, const ForkSummary *summary);

	/* most blocks to read at once; 0: SCAN_PIECE_BLOCKS */
	uint32		piece_blocks;

	/*
	 * Before every piece is read, its bytes: throttling (it may sleep,
	 * looking at interrupts).  A block read again for a verdict is a piece.
	 */
	void		(*before) (ScanSink *sink, int64 bytes);

	/* after every piece read: progress (blocks of this call, and bytes) */
	void		(*batch) (ScanSink *sink, const ForkSummary *sofar,
						  int64 blocks, int64 bytes);

	/* every page that is ok or new, in block order: aligned to 8 bytes */
	void		(*page) (ScanSink *sink, BlockNumber blkno, const char *page);

	/* a fork ends */
	void		(*fork_end) (ScanSink *sink, const ForkSummary *summary);

	/*
	 * Replaces the scan of the blocks [first, end) of a fork (by workers,
	 * each of which calls scan_relation_range() for a part): hands findings
	 * to sink->finding in block order and adds to *summary.  NULL: scanned
	 * here.
	 */
	void		(*range) (ScanSink *sink, const struct ForkScan *fork,
						  BlockNumber first, BlockNumber end,
						  ForkSummary *summary);
};

/* A finding without a place. */
extern void page_finding_init(PageFinding *finding, Oid relid,
							  ForkNumber fork, PageStatus status);

/* "uncached", "invalid", "clean", "dirty"; NULL for unknown */
extern const char *block_buffer_state_name(BlockBufferState state);

#pragma GCC visibility pop

#endif							/* ACCEL_SINK_H */
