/*
 * wal_parallel.h
 *	  The segments of a list judged, by parallel workers or here.
 */
#ifndef WAL_PARALLEL_H
#define WAL_PARALLEL_H

#include "scan/throttle.h"
#include "scan/wal_segment.h"

#pragma GCC visibility push(hidden)

/* Called in a memory context that is reset then. */
typedef void (*WalResultFn) (void *arg, const WalSegmentResult *result);

/*
 * Judges the names of a list in order, here and in up to workers parallel
 * workers.  throttle bounds what all of them read; NULL: no bound.
 */
extern void wal_parallel_judge(const WalDirectory *dir, WalRange range,
							   const WalNames *list, int workers,
							   Throttle *throttle, WalResultFn result,
							   void *arg);

#pragma GCC visibility pop

#endif							/* WAL_PARALLEL_H */
