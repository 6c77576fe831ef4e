/*
 * scan_run.c
 *	  The sink of a run: workers, the bound on the rate, progress.
 */
#include "compat.h"

#include "utils/snapmgr.h"

#include "scan/parallel_scan.h"
#include "scan/progress.h"
#include "scan/scan_run.h"

static void run_before(ScanSink *sink, int64 bytes);
static void run_fork_begin(ScanSink *sink, const ForkSummary *summary);
static void run_batch(ScanSink *sink, const ForkSummary *sofar, int64 blocks,
					  int64 bytes);
static void run_range(ScanSink *sink, const ForkScan *fork, BlockNumber first,
					  BlockNumber end, ForkSummary *summary);

void
scan_run_init(ScanRun *run, int workers, int max_rate)
{
	run->workers = parallel_scan_workers(workers);
	throttle_init(&run->throttle, max_rate, BLCKSZ,
				  SCAN_PIECE_BLOCKS * BLCKSZ);
	run->sink.piece_blocks = run->throttle.max_piece / BLCKSZ;
	run->sink.fork_begin = run_fork_begin;
	run->sink.batch = run_batch;
	if (max_rate > 0)
		run->sink.before = run_before;
	if (workers > 0)
		run->sink.range = run_range;
	progress_begin();
}

static void
run_before(ScanSink *sink, int64 bytes)
{
	throttle_wait(&((ScanRun *) sink)->throttle, (uint32) bytes);
}

static void
run_fork_begin(ScanSink *sink, const ForkSummary *summary)
{
	InvalidateCatalogSnapshot();	/* would hold back vacuum for hours */
	progress_fork(summary);
}

static void
run_batch(ScanSink *sink, const ForkSummary *sofar, int64 blocks, int64 bytes)
{
	progress_blocks(blocks);
}

static void
run_range(ScanSink *sink, const ForkScan *fork, BlockNumber first,
		  BlockNumber end, ForkSummary *summary)
{
	ScanRun    *run = (ScanRun *) sink;

	parallel_scan_range(sink, fork, first, end, run->workers, &run->throttle,
						summary);
}
