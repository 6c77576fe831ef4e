/*
 * relation_scan.h
 *	  Verifies the blocks of relations on disk while the server works.
 *
 * A scan reads the files of a relation (never shared buffers), judges every
 * block and hands findings to a sink.  Suspicions are decided exactly, see
 * block_decide.c; none of it raises an error for what it finds on disk.
 */
#ifndef ACCEL_RELATION_SCAN_H
#define ACCEL_RELATION_SCAN_H

#include "compat.h"

#include "scan/sink.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* Blocks read at once: stays in a core's own cache. */
#define SCAN_PIECE_BLOCKS	16

typedef struct RelationScanOptions
{
	ForkNumber	fork;			/* InvalidForkNumber: all */
	BlockNumber first;			/* range [first, end) of every fork; end */
	BlockNumber end;			/* InvalidBlockNumber: all that follow */
	bool		include_toast;	/* TOAST tables of tables */
	bool		include_indexes;	/* indexes of tables (and TOAST tables) */
} RelationScanOptions;

#define SCAN_OPTIONS_ALL \
	{InvalidForkNumber, 0, InvalidBlockNumber, false, false}

/* One fork at work, as sink->range sees it. */
typedef struct ForkScan
{
	Relation	rel;			/* open and locked */
	ForkNumber	fork;
	bool		md;				/* files of the magnetic disk manager */
	bool		checksums;		/* stored checksums mean something */
	bool		test_lsn;		/* pages carry positions of the WAL */
	char		path[SCAN_PATH_SIZE];	/* of segment 0 */
} ForkScan;

/*
 * Scans a relation with what options include; partitioned ones recurse.  A
 * relation without storage raises 42809, a missing one 42P01; a relation
 * found by recursion that was dropped meanwhile is skipped.  Takes
 * AccessShareLock on one relation after the other and releases it.
 */
extern void scan_relation(Oid relid, const RelationScanOptions *options,
						  ScanSink *sink);

/*
 * Scans the blocks [first, end) of one fork, without looking at its segments'
 * sizes: the part of a worker.  Findings go to sink->finding, progress to
 * sink->batch; totals are added to *summary.  Blocks past the end of the fork
 * are not there, which is no finding.  With NoLock the caller's leader must
 * hold the relation's lock for as long as this runs (a worker that waited for
 * a lock queued behind a stranger's AccessExclusiveLock would deadlock with
 * its leader).  Returns false when the relation is gone.
 */
extern bool scan_relation_range(Oid relid, ForkNumber fork, BlockNumber first,
								BlockNumber end, LOCKMODE lockmode,
								ScanSink *sink, ForkSummary *summary);

/* Adds one part's totals to a fork's (elapsed: the longest). */
extern void fork_summary_add(ForkSummary *total, const ForkSummary *part);

/* Starts a summary of nothing. */
extern void fork_summary_init(ForkSummary *summary, Oid relid,
							  ForkNumber fork);

/* Counts a finding in a summary: status, message, findings. */
extern void fork_summary_note(ForkSummary *summary,
							  const PageFinding *finding);

/* One file of a fork. */
typedef struct SegmentInfo
{
	ForkNumber	fork;
	BlockNumber segment;
	int64		bytes;			/* -1: missing */
	PageStatus	status;			/* ok, short_segment, missing_segment,
								 * partial_block, io_error */
	char		path[SCAN_PATH_SIZE];
} SegmentInfo;

typedef void (*SegmentCallback) (void *arg, const SegmentInfo *segment);

/* Every file of a relation, by fork and number. */
extern void scan_relation_segments(Oid relid, SegmentCallback callback,
								   void *arg);

/*
 * Reads one block as it lies on disk, healthy or not, into page (BLCKSZ bytes).
 * A block past the end raises 22023, a read error its own SQLSTATE.
 */
extern void scan_read_block(Oid relid, ForkNumber fork, BlockNumber blkno,
							char *page);

#pragma GCC visibility pop

#endif							/* ACCEL_RELATION_SCAN_H */
