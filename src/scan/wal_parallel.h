/*
 * wal_parallel.h
 *	  The segments of a list judged, by parallel workers or here.
 */
#ifndef WAL_PARALLEL_H
#define WAL_PARALLEL_H

#include "scan/wal_scan.h"

#pragma GCC visibility push(hidden)

/* Called in the memory context of a segment, which is reset then. */
typedef void (*WalResultFn) (void *arg, const WalSegmentResult *result);

/*
 * Judges the entries of a list in order, here and in up to workers parallel
 * workers.  Few segments, no free worker, or parallel mode already: all here.
 */
extern void wal_scan_entries(WalScan *scan, const WalList *list, int workers,
							 WalResultFn result, void *arg);

#pragma GCC visibility pop

#endif							/* WAL_PARALLEL_H */
