/*
 * parallel.h
 *	  Judges the segments of a list, by parallel workers or here.
 */
#ifndef ACCEL_WAL_PARALLEL_H
#define ACCEL_WAL_PARALLEL_H

#include "host/throttle.h"
#include "wal/segment.h"

/* It is called in a memory context that is reset then. */
typedef void (*WalResultFn) (void *arg, const WalSegmentResult *result);

/*
 * Judges the names of a list in order, here and in up to workers parallel
 * workers.  What all of them read is bounded by throttle, unless it is NULL.
 */
extern void wal_parallel_judge(const WalDirectory *dir, WalRange range,
							   const WalNames *list, int workers,
							   Throttle *throttle, WalResultFn result,
							   void *arg);

#endif							/* ACCEL_WAL_PARALLEL_H */
