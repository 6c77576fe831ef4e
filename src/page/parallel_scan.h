/*
 * parallel_scan.h
 *	  The blocks of a range shared with parallel workers.
 */
#ifndef ACCEL_PAGE_PARALLEL_SCAN_H
#define ACCEL_PAGE_PARALLEL_SCAN_H

#include "host/crew.h"
#include "page/fork.h"
#include "page/policy.h"
#include "page/sink.h"

/*
 * Does the work of range_scan() with up to policy->workers parallel workers,
 * as many as pay.  The caller holds the relation's lock.
 */
extern BlockNumber parallel_scan(const Fork *fork, BlockNumber first, BlockNumber end,
								 const ScanPolicy *policy, ScanSink *sink,
								 ForkSummary *summary);

/* Does, in a worker of a crew (policy->crew), what falls to it of the same. */
extern void parallel_scan_job(CrewMember *member, const void *description);

#endif							/* ACCEL_PAGE_PARALLEL_SCAN_H */
