/*
 * scan_run.h
 *	  A run of scans, with workers, the bound on the rate and progress.
 */
#ifndef ACCEL_PAGE_SCAN_RUN_H
#define ACCEL_PAGE_SCAN_RUN_H

#include "host/crew.h"
#include "page/policy.h"
#include "page/relation_scan.h"
#include "page/sink.h"

typedef struct ScanRun
{
	ScanSink	sink;			/* shows progress, hands on to output */
	ScanSink   *output;			/* the caller's */
	ScanPolicy	policy;
	Throttle	throttle;		/* shared by all workers */
	bool		warned;			/* that checksums are disabled */
} ScanRun;

/*
 * Begins a run whose findings, pages and summaries go to output.  Checks both
 * numbers (ERROR 22023), max_rate in kB/s, 0 for none.  A direct one reads
 * past the page cache.  Its progress is shown until scan_run_end() or the end
 * of the current memory context.
 */
extern void scan_run_begin(ScanRun *run, ScanSink *output, int workers,
						   int max_rate, bool direct);
extern void scan_run_end(ScanRun *run);

/* scan_relation() as a part of the run. */
extern void scan_run_relation(ScanRun *run, Oid relid,
							  const RelationScanOptions *options);

/* What another process has scanned, without findings, as if it were here. */
extern void scan_run_forks(ScanRun *run, const ForkSummary *forks, int count);

/* From now on a crew helps, or helps no longer (NULL). */
extern void scan_run_set_crew(ScanRun *run, Crew *crew);

/* Counts a finding of the caller's own, and hands it to output. */
extern void scan_run_finding(ScanRun *run, const PageFinding *finding);

/*
 * To be asked at the end of each fork.  Returns true once per run, after a
 * WARNING, when checksums are disabled and pages were seen all the same.
 */
extern bool scan_run_checksums_off(ScanRun *run, const ForkSummary *summary);

#endif							/* ACCEL_PAGE_SCAN_RUN_H */
