/*
 * parallel.h
 *	  The segments of a list judged, by parallel workers or here.
 */
#ifndef ACCEL_WAL_PARALLEL_H
#define ACCEL_WAL_PARALLEL_H

#include "host/throttle.h"
#include "wal/segment.h"

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

#endif							/* ACCEL_WAL_PARALLEL_H */
