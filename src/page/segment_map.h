/*
 * segment_map.h
 *	  Which files a fork consists of, and what is wrong with their sizes.
 */
#ifndef ACCEL_PAGE_SEGMENT_MAP_H
#define ACCEL_PAGE_SEGMENT_MAP_H

#include "page/fork.h"

#define SEGMENT_MISSING		(-1)
#define SEGMENT_UNREADABLE	(-2)	/* no regular file, or stat() failed */

/*
 * The sizes of segments 0 to count - 1 (at least 1).  The last one exists or
 * should.  If the fork does not exist, all are missing.
 */
typedef struct SegmentMap
{
	BlockNumber count;
	BlockNumber allocated;
	int64	   *bytes;			/* or SEGMENT_... */
	BlockNumber least;			/* blocks that there must be */
	bool		tail_written;	/* the part of a block after the last one is
								 * that of a page */
} SegmentMap;

/*
 * Samples the sizes of the files that the fork has now.  What looks wrong is
 * sampled again until it is certain that no extension under way explains it.
 */
extern void segment_map_sample(SegmentMap *map, Fork *fork);
extern void segment_map_free(SegmentMap *map);

/* Blocks in segment i, those that its number leaves room for. */
extern BlockNumber segment_map_blocks(const SegmentMap *map, BlockNumber i);

/* ok, missing, size_mismatch, partial_block, ok_partial_tail, io_error */
extern PageStatus segment_map_status(const SegmentMap *map, BlockNumber i);

/* Does the fork have a file at all? */
extern bool segment_map_exists(const SegmentMap *map);

/* What is wrong about segment i, in words. */
extern void segment_map_explain(const SegmentMap *map, BlockNumber i,
								char *dst, size_t size);

#endif							/* ACCEL_PAGE_SEGMENT_MAP_H */
