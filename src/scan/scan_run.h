/*
 * scan_run.h
 *	  The sink of a run: workers, the bound on the rate, progress.
 */
#ifndef ACCEL_SCAN_RUN_H
#define ACCEL_SCAN_RUN_H

#include "scan/sink.h"
#include "scan/throttle.h"

#pragma GCC visibility push(hidden)

/* Embed it first in a larger struct; finding, page and fork_end stay free. */
typedef struct ScanRun
{
	ScanSink	sink;
	int			workers;		/* that share each fork; 0: none */
	Throttle	throttle;		/* shared by all of them */
} ScanRun;

/*
 * Checks both numbers (ERROR 22023), max_rate in kB/s, 0 for none; shows the
 * run's progress until progress_end() or the end of the current memory
 * context.  Whoever sets sink.finding calls progress_finding() there.
 */
extern void scan_run_init(ScanRun *run, int workers, int max_rate);

#pragma GCC visibility pop

#endif							/* ACCEL_SCAN_RUN_H */
