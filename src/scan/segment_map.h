/*
 * segment_map.h
 *	  Which files a fork consists of, and what is wrong with their sizes.
 */
#ifndef ACCEL_SEGMENT_MAP_H
#define ACCEL_SEGMENT_MAP_H

#include "scan/fork.h"

#pragma GCC visibility push(hidden)

#define SEGMENT_MISSING		(-1)
#define SEGMENT_UNREADABLE	(-2)	/* no regular file, or stat() failed */

/*
 * The sizes of segments 0 to count - 1 (at least 1).  The last one exists,
 * unless the fork does not: then count is 1 and it is missing.
 */
typedef struct SegmentMap
{
	BlockNumber count;
	BlockNumber allocated;
	int64	   *bytes;			/* or SEGMENT_... */
} SegmentMap;

/*
 * Samples the sizes of the files that the fork has now.  What looks wrong is
 * sampled again until it is certain that no extension under way explains it.
 */
extern void segment_map_sample(SegmentMap *map, Fork *fork);
extern void segment_map_free(SegmentMap *map);

/* Blocks in segment i, those that its number leaves room for. */
extern BlockNumber segment_map_blocks(const SegmentMap *map, BlockNumber i);

/* ok, missing_segment, short_segment, partial_block, io_error */
extern PageStatus segment_map_status(const SegmentMap *map, BlockNumber i);

/* Does the fork have a file at all? */
extern bool segment_map_exists(const SegmentMap *map);

/* What is wrong about segment i, in words. */
extern void segment_map_explain(const SegmentMap *map, BlockNumber i,
								char *dst, size_t size);

#pragma GCC visibility pop

#endif							/* ACCEL_SEGMENT_MAP_H */
