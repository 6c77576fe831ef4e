/*
 * fork_scan.h
 *	  Verifies one fork, its segments and their blocks.
 */
#ifndef ACCEL_PAGE_FORK_SCAN_H
#define ACCEL_PAGE_FORK_SCAN_H

#include "page/fork.h"
#include "page/policy.h"
#include "page/sink.h"

/*
 * Verifies the blocks [first, end) of a fork, and the segments that hold or
 * should hold them.  An end of InvalidBlockNumber stands for all that follow.
 * A fork that need not exist and does not is passed over.  Returns false if
 * the sink ended it early, or if storage transforms its pages.
 */
extern bool fork_scan(Fork *fork, BlockNumber first, BlockNumber end,
					  const ScanPolicy *policy, ScanSink *sink);

#endif							/* ACCEL_PAGE_FORK_SCAN_H */
