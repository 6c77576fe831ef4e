/*
 * range_scan.h
 *	  Verifies the blocks of one range of a fork.
 */
#ifndef ACCEL_PAGE_RANGE_SCAN_H
#define ACCEL_PAGE_RANGE_SCAN_H

#include "page/fork.h"
#include "page/policy.h"
#include "page/sink.h"

/*
 * Verifies the blocks [first, end) here, without workers and without looking
 * at the sizes of segments.  The output is finding, page and progress, and
 * totals are added to *summary.  Blocks past the end of the fork are not
 * there, which is no finding.  Returns the block that comes next, which is
 * before end if it was enough.
 */
extern BlockNumber range_scan(const Fork *fork, BlockNumber first, BlockNumber end,
							  const ScanPolicy *policy, ScanSink *sink,
							  ForkSummary *summary);

#endif							/* ACCEL_PAGE_RANGE_SCAN_H */
