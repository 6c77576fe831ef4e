/*
 * fork_scan.c
 *	  Verifies one fork, its segments and their blocks.
 *
 * The sizes of the segments are sampled, and what is there falls into extents
 * (rows of blocks without a gap).  They are scanned in order, and what is
 * wrong about the segments is reported in between.
 *
 * At the first page that is not valid storage is asked whether it transforms
 * pages, see fork_transform.c.  Then the fork has that finding alone.
 */
#include "compat.h"

#include "portability/instr_time.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "page/fork_scan.h"
#include "page/fork_transform.h"
#include "page/parallel_scan.h"
#include "page/range_scan.h"
#include "page/segment_map.h"

typedef struct ForkScan
{
	ScanSink	sink;			/* first, of its blocks */
	const Fork *fork;
	BlockNumber first;			/* what was asked for, [first, end) */
	BlockNumber end;
	const ScanPolicy *policy;
	ScanSink   *output;
	SegmentMap	map;
	ForkSummary summary;
	PageDigests digests;		/* of what is read here, if asked for */
	bool		asked;			/* if storage transforms the pages */
	bool		transformed;
} ForkScan;

/* A row of blocks without a gap. */
typedef struct Extent
{
	BlockNumber first;
	BlockNumber end;
	BlockNumber count;
} Extent;

static void init_sink(ForkScan *scan);
static void scan_fork(ForkScan *scan);
static Extent clip(const ForkScan *scan, BlockNumber first, BlockNumber end);
static void scan_extents(ForkScan *scan);
static bool scan_extent(ForkScan *scan, Extent extent);
static void count_blocks(ForkScan *scan);
static void report_segment(ForkScan *scan, BlockNumber segment);
static void report(ForkScan *scan, const PageFinding *finding);
static void report_transformed(ForkScan *scan);
static void note_finding(ScanSink *sink, const PageFinding *finding);
static void note_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void digest_page(ScanSink *sink, BlockNumber blkno, const char *page);
static void note_row(PageDigests *digests, const DigestRow *row);
static void note_part(ScanSink *sink, const DigestRow *part);
static void note_progress(ScanSink *sink, int64 blocks);
static bool note_enough(ScanSink *sink);

bool
fork_scan(Fork *fork, BlockNumber first, BlockNumber end,
		  const ScanPolicy *policy, ScanSink *sink)
{
	ForkScan	scan;

	memset(&scan, 0, sizeof(scan));
	scan.fork = fork;
	scan.first = first;
	scan.end = end;
	scan.policy = policy;
	scan.output = sink;
	init_sink(&scan);
	if (!fork->md && !smgrexists(RelationGetSmgr(fork->rel), fork->fork))
		return true;
	segment_map_sample(&scan.map, fork);
	scan.summary.next = InvalidBlockNumber;
	if (segment_map_exists(&scan.map) || fork_required(fork))
		scan_fork(&scan);
	segment_map_free(&scan.map);
	return scan.summary.next == InvalidBlockNumber && !scan.transformed;
}

static void
init_sink(ForkScan *scan)
{
	ScanSink   *sink = &scan->sink;

	sink->finding = note_finding;
	sink->page = scan->output->page ? note_page : NULL;
	sink->digest = scan->output->digest;
	if (sink->page == NULL &&
		PAGE_DIGESTS_WANTED(&sink->digest, scan->fork->rel, scan->fork->fork))
	{
		page_digests_init(&scan->digests, &sink->digest, scan->fork->rel,
						  scan->fork->fork, scan->first);
		scan->digests.emit = note_row;
		scan->digests.arg = scan;
		sink->page = digest_page;
	}
	sink->part = note_part;
	sink->progress = note_progress;
	sink->enough = note_enough;
}

static void
scan_fork(ForkScan *scan)
{
	const Fork *fork = scan->fork;
	ForkSummary *summary = &scan->summary;
	instr_time	start;
	instr_time	elapsed;

	fork_summary_init(summary, RelationGetRelid(fork->rel), fork->fork);
	count_blocks(scan);
	if (scan->output->fork_begin)
		scan->output->fork_begin(scan->output, summary);
	INSTR_TIME_SET_CURRENT(start);
	scan_extents(scan);
	if (scan->transformed)
		report_transformed(scan);
	if (summary->next != InvalidBlockNumber)
	{
		scan->end = summary->next;
		count_blocks(scan);
	}
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	summary->elapsed = INSTR_TIME_GET_DOUBLE(elapsed);
	if (!fork->checksums && summary->status == PAGE_OK)
		fork_summary_checksums_off(summary);
	fork_summary_note_unwritten(summary);
	if (scan->output->fork_end)
		scan->output->fork_end(scan->output, summary);
}

static void
count_blocks(ForkScan *scan)
{
	scan->summary.blocks = 0;
	for (BlockNumber i = 0; i < scan->map.count; i++)
	{
		BlockNumber base = i * RELSEG_SIZE;

		scan->summary.blocks += clip(scan, base, base +
									 segment_map_blocks(&scan->map, i)).count;
	}
}

/* The part of [first, end) that was asked for. */
static Extent
clip(const ForkScan *scan, BlockNumber first, BlockNumber end)
{
	Extent		extent;

	extent.first = Max(first, scan->first);
	extent.end = Min(end, scan->end);
	extent.count = extent.end > extent.first ? extent.end - extent.first : 0;
	return extent;
}

/*
 * Scans what is there and reports what is wrong about segments, in the order
 * of blocks.  A segment after one that is short or missing is scanned, too,
 * since its blocks are hidden from the server, not from whoever repairs it.
 */
static void
scan_extents(ForkScan *scan)
{
	const SegmentMap *map = &scan->map;
	BlockNumber first = 0;
	BlockNumber end = 0;

	for (BlockNumber i = 0; i < map->count; i++)
	{
		BlockNumber base = i * RELSEG_SIZE;
		PageStatus	status = segment_map_status(map, i);

		if (end != base)
			first = base;
		end = base + segment_map_blocks(map, i);
		if (i + 1 < map->count && status == PAGE_OK &&
			end - base == RELSEG_SIZE)
			continue;			/* goes on in the next segment */
		if (!scan_extent(scan, clip(scan, first, end)) || scan->transformed)
			return;
		if (status != PAGE_OK && status != PAGE_PARTIAL_TAIL &&
			end >= scan->first &&
			(end < scan->end || scan->end == InvalidBlockNumber))
			report_segment(scan, i);
		first = end;
	}
}

/* Returns false if it was ended early. */
static bool
scan_extent(ForkScan *scan, Extent extent)
{
	BlockNumber next;

	if (extent.count == 0)
		return true;
	if (scan->policy->workers > 0)
		next = parallel_scan(scan->fork, extent.first, extent.end, scan->policy,
							 &scan->sink, &scan->summary);
	else
		next = range_scan(scan->fork, extent.first, extent.end, scan->policy,
						  &scan->sink, &scan->summary);
	if (scan->digests.emit)
		page_digests_end(&scan->digests);
	if (next < extent.end)
		scan->summary.next = next;
	return next >= extent.end;
}

static void
report_segment(ForkScan *scan, BlockNumber segment)
{
	const Fork *fork = scan->fork;
	const SegmentMap *map = &scan->map;
	BlockNumber blocks = segment_map_blocks(map, segment);
	PageFinding finding;

	page_finding_init(&finding, RelationGetRelid(fork->rel), fork->fork,
					  segment_map_status(map, segment));
	finding.blkno = (int64) segment * RELSEG_SIZE + blocks;
	if (map->bytes[segment] >= 0)
		finding.file_offset = (int64) blocks * BLCKSZ;
	fork_segment_path(fork, segment, finding.path);
	segment_map_explain(map, segment, finding.message,
						sizeof(finding.message));
	page_finding_note_fork(&finding);
	fork_summary_note(&scan->summary, &finding);
	report(scan, &finding);
}

static void
report(ForkScan *scan, const PageFinding *finding)
{
	if (scan->output->finding)
		scan->output->finding(scan->output, finding);
}

/* Nothing of what was read counts, but that it was read. */
static void
report_transformed(ForkScan *scan)
{
	ForkSummary *summary = &scan->summary;
	int64		bytes = summary->bytes;
	PageFinding finding;

	fork_summary_init(summary, RelationGetRelid(scan->fork->rel),
					  scan->fork->fork);
	summary->bytes = bytes;
	page_finding_not_verifiable(&finding, summary->relid, summary->fork,
								FORK_TRANSFORMED_WORDS);
	fork_summary_note(summary, &finding);
	report(scan, &finding);
}

/* ---------------------------------------------------------------- *
 *		What is read of its blocks
 * ---------------------------------------------------------------- */

static bool
is_of_page(const PageFinding *finding)
{
	return finding->blkno >= 0 && finding->status != PAGE_IO_ERROR &&
		finding->status != PAGE_ZEROED;
}

static void
note_finding(ScanSink *sink, const PageFinding *finding)
{
	ForkScan   *scan = (ForkScan *) sink;

	if (!scan->asked && is_of_page(finding))
	{
		scan->asked = true;
		scan->transformed = fork_is_transformed(scan->fork,
												(BlockNumber) finding->blkno,
												scan->policy->throttle);
	}
	if (!scan->transformed)
		report(scan, finding);
}

static void
note_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	ScanSink   *output = ((ForkScan *) sink)->output;

	output->page(output, blkno, page);
}

static void
digest_page(ScanSink *sink, BlockNumber blkno, const char *page)
{
	page_digests_page(&((ForkScan *) sink)->digests, blkno, page);
}

static void
note_row(PageDigests *digests, const DigestRow *row)
{
	note_part(&((ForkScan *) digests->arg)->sink, row);
}

static void
note_part(ScanSink *sink, const DigestRow *part)
{
	ScanSink   *output = ((ForkScan *) sink)->output;

	output->part(output, part);
}

static void
note_progress(ScanSink *sink, int64 blocks)
{
	ScanSink   *output = ((ForkScan *) sink)->output;

	if (output->progress)
		output->progress(output, blocks);
}

static bool
note_enough(ScanSink *sink)
{
	ForkScan   *scan = (ForkScan *) sink;

	return scan->transformed ||
		(scan->output->enough && scan->output->enough(scan->output));
}
