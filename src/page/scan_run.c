/*
 * scan_run.c
 *	  A run of scans, with workers, the bound on the rate and progress.
 *
 * The run's sink stands between the scans and the caller's output.  What must
 * not be forgotten of each finding, fork and piece is done here.
 */
#include "compat.h"

#include "utils/snapmgr.h"

#include "host/direct.h"
#include "host/parallel.h"
#include "page/progress.h"
#include "page/scan_run.h"

static void run_fork_begin(ScanSink *sink, const ForkSummary *summary);
static void run_finding(ScanSink *sink, const PageFinding *finding);
static void run_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void run_part(ScanSink *sink, const DigestRow *part);
static void run_progress(ScanSink *sink, int64 blocks);
static bool run_enough(ScanSink *sink);
static void run_fork_end(ScanSink *sink, const ForkSummary *summary);

void
scan_run_begin(ScanRun *run, ScanSink *output, int workers, int max_rate,
			   bool direct)
{
	Size		most = direct ? DIRECT_PIECE_OF(max_rate) : SCAN_PIECE_BLOCKS * BLCKSZ;

	memset(run, 0, sizeof(*run));
	run->output = output;
	run->policy.workers = parallel_workers(workers);
	run->policy.direct = direct;
	throttle_init(&run->throttle, max_rate, BLCKSZ, (uint32) most);
	run->policy.piece_blocks = run->throttle.pace.max_piece / BLCKSZ;
	if (max_rate > 0)
		run->policy.throttle = &run->throttle;
	run->sink.fork_begin = run_fork_begin;
	run->sink.finding = run_finding;
	if (output->page)
		run->sink.page = run_page;
	run->sink.digest = output->digest;
	run->sink.part = run_part;
	run->sink.progress = run_progress;
	if (output->enough)
		run->sink.enough = run_enough;
	run->sink.fork_end = run_fork_end;
	progress_begin();
}

void
scan_run_end(ScanRun *run)
{
	progress_end();
}

void
scan_run_relation(ScanRun *run, Oid relid, const RelationScanOptions *options)
{
	scan_relation(relid, options, &run->policy, &run->sink);
}

void
scan_run_forks(ScanRun *run, const ForkSummary *forks, int count)
{
	for (int i = 0; i < count; i++)
	{
		run_fork_begin(&run->sink, &forks[i]);
		run_progress(&run->sink, forks[i].blocks);
		run_fork_end(&run->sink, &forks[i]);
	}
}

/* All keep to one bound, and it is kept to afterwards. */
void
scan_run_set_crew(ScanRun *run, Crew *crew)
{
	if (run->policy.throttle)
	{
		if (crew == NULL)
			throttle_copy(&run->throttle, run->policy.throttle);
		run->policy.throttle = crew ? crew_throttle(crew) : &run->throttle;
	}
	run->policy.crew = crew;
}

void
scan_run_finding(ScanRun *run, const PageFinding *finding)
{
	run_finding(&run->sink, finding);
}

/*
 * No row means clean, which blocks whose checksums mean nothing are not.  So
 * that is said beside the rows.
 */
bool
scan_run_checksums_off(ScanRun *run, const ForkSummary *summary)
{
	if (run->warned || summary->unverifiable == 0)
		return false;
	run->warned = true;
	ereport(WARNING,
			(errmsg("data checksums are disabled in this cluster"),
			 errdetail("Only page headers and segments are verified."),
			 errhint("To enable them, stop the server and run \"pg_checksums --enable\".")));
	return true;
}

static void
run_fork_begin(ScanSink *sink, const ForkSummary *summary)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	InvalidateCatalogSnapshot();	/* would hold back vacuum for hours */
	progress_fork(summary);
	if (output->fork_begin)
		output->fork_begin(output, summary);
}

static void
run_finding(ScanSink *sink, const PageFinding *finding)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	progress_finding();
	if (output->finding)
		output->finding(output, finding);
}

static void
run_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	output->page(output, blkno, page);
}

static void
run_part(ScanSink *sink, const DigestRow *part)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	output->part(output, part);
}

static void
run_progress(ScanSink *sink, int64 blocks)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	progress_blocks(blocks);
	if (output->progress)
		output->progress(output, blocks);
}

static bool
run_enough(ScanSink *sink)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	return output->enough(output);
}

static void
run_fork_end(ScanSink *sink, const ForkSummary *summary)
{
	ScanSink   *output = ((ScanRun *) sink)->output;

	if (output->fork_end)
		output->fork_end(output, summary);
}
