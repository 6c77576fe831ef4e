/*
 * relation_scan.h
 *	  Verifies relations on disk while the server works.
 *
 * A scan reads the files of a relation (never shared buffers), judges every
 * block and hands findings to a sink.  Suspicions are decided exactly, see
 * page/decide.c.  None of it raises an error for what it finds on disk.
 */
#ifndef ACCEL_PAGE_RELATION_SCAN_H
#define ACCEL_PAGE_RELATION_SCAN_H

#include "compat.h"

#include "utils/relcache.h"

#include "page/policy.h"
#include "page/sink.h"

typedef struct RelationScanOptions
{
	ForkNumber	fork;			/* InvalidForkNumber for all */
	BlockNumber first;			/* the range [first, end) of every fork */
	BlockNumber end;			/* InvalidBlockNumber for all that follow */
	bool		include_toast;	/* TOAST tables of tables */
	bool		include_indexes;	/* indexes of tables (and TOAST tables) */
} RelationScanOptions;

#define SCAN_OPTIONS_ALL \
	{InvalidForkNumber, 0, InvalidBlockNumber, false, false}

/*
 * Scans a relation with what options include, and recurses into partitioned
 * ones.  A relation without storage raises 42809, a missing one 42P01.  A
 * relation found by recursion that was dropped meanwhile is skipped.  Takes
 * AccessShareLock on one relation after the other and releases it.
 */
extern void scan_relation(Oid relid, const RelationScanOptions *options,
						  const ScanPolicy *policy, ScanSink *sink);

/*
 * Opens a relation that must have storage of its own, with AccessShareLock, or
 * raises ERROR 42P01 or 42809.
 */
extern Relation scan_open_relation(Oid relid);

/* Scans the forks of an open relation, nothing that belongs to it. */
extern void scan_forks(Relation rel, const RelationScanOptions *options,
					   const ScanPolicy *policy, ScanSink *sink);

/* One file of a fork. */
typedef struct SegmentInfo
{
	ForkNumber	fork;
	BlockNumber segment;
	int64		bytes;			/* -1 if missing or unreadable */
	PageStatus	status;			/* ok, size_mismatch, missing, partial_block,
								 * io_error */
	char		path[SCAN_PATH_SIZE];
} SegmentInfo;

typedef void (*SegmentCallback) (void *arg, const SegmentInfo *segment);

/* Every file of a relation, by fork and number. */
extern void scan_relation_segments(Oid relid, SegmentCallback callback,
								   void *arg);

#endif							/* ACCEL_PAGE_RELATION_SCAN_H */
