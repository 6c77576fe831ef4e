/*
 * parallel_scan.h
 *	  One fork shared by parallel workers, block ranges in order.
 */
#ifndef ACCEL_PARALLEL_SCAN_H
#define ACCEL_PARALLEL_SCAN_H

#include "scan/fork.h"
#include "scan/policy.h"
#include "scan/sink.h"

#pragma GCC visibility push(hidden)

/* The most workers that one scan may ask for. */
#define PARALLEL_SCAN_MAX_WORKERS	1024

/*
 * Checks a number of workers: ERROR 22023.  Returns what of it the server may
 * have at all: each that is asked for takes 64 kB of shared memory.
 */
extern int	parallel_scan_workers(int workers);

/*
 * Does the work of range_scan() with up to policy->workers parallel workers.
 * Few blocks, no free worker, or being a worker oneself: scanned here.  The
 * caller holds the relation's lock.
 */
extern void parallel_scan(const Fork *fork, BlockNumber first, BlockNumber end,
						  const ScanPolicy *policy, ScanSink *sink,
						  ForkSummary *summary);

/*
 * The file that this code was loaded from, for workers to load: the name in
 * SQL may have been found by a search path.
 */
extern const char *parallel_scan_library(void);

#pragma GCC visibility pop

#endif							/* ACCEL_PARALLEL_SCAN_H */
