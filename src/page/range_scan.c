/*
 * range_scan.c
 *	  Verifies the blocks of one range of a fork.
 *
 * Blocks are read in pieces and judged in batches, and the few that look
 * broken are decided by page/decide.c.
 */
#include "compat.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "page/decide.h"
#include "page/fork_reader.h"
#include "page/judge.h"
#include "page/map_witness.h"
#include "page/range_scan.h"

/* Empty reads before the end of a file until it is taken seriously. */
#define SHORT_READS		4

typedef struct RangeScan
{
	const Fork *fork;
	const ScanPolicy *policy;
	ScanSink   *sink;
	ForkSummary *summary;
	ForkReader	reader;
	MapWitness	witness;
	PageRules	rules;
	BlockDecision *decision;	/* 8 kB and more, so not on the stack */
	int			short_reads;	/* in a row, at the same block */
} RangeScan;

static BlockNumber scan_piece(RangeScan *scan, BlockNumber blkno,
							  BlockNumber end);
static void wait_turn(RangeScan *scan, uint32 nblocks);
static BlockNumber read_failed(RangeScan *scan, BlockNumber blkno,
							   BlockNumber limit);
static void judge_piece(RangeScan *scan, BlockNumber blkno, uint32 nblocks);
static void judge_batch(RangeScan *scan, BlockNumber blkno, uint32 nblocks,
						const char *pages);
static void count_healthy(RangeScan *scan, BlockNumber blkno,
						  const char *page, PageStatus status);
static bool is_settled(RangeScan *scan, BlockNumber blkno,
					   const char **page);
static bool ask_map(RangeScan *scan, BlockNumber blkno);
static void judge_zeros(RangeScan *scan, BlockNumber blkno, const char *page);
static void judge_mark(RangeScan *scan, BlockNumber blkno, const char *page);
static void recheck_mark(RangeScan *scan, BlockNumber blkno);
static void recheck_block(RangeScan *scan, BlockNumber blkno,
						  bool initialized);
static void settle_block(RangeScan *scan, BlockNumber blkno,
						 PageStatus status);
static void report_write_back(RangeScan *scan);
static void report_block(RangeScan *scan, BlockNumber blkno,
						 PageStatus status);

BlockNumber
range_scan(const Fork *fork, BlockNumber first, BlockNumber end,
		   const ScanPolicy *policy, ScanSink *sink, ForkSummary *summary)
{
	RangeScan	scan;
	BlockNumber blkno = first;

	memset(&scan, 0, sizeof(scan));
	scan.fork = fork;
	scan.policy = policy;
	scan.sink = sink;
	scan.summary = summary;
	scan.decision = palloc(sizeof(BlockDecision));
	scan.rules.checksums = fork->checksums;
	scan.rules.kind = fork->kind;
	scan.rules.horizon = fork->test_lsn ? block_horizon() :
		InvalidXLogRecPtr;
	if (policy->direct)
		fork_reader_init_direct(&scan.reader, fork, policy->piece_blocks);
	else
		fork_reader_init(&scan.reader, fork);
	scan.reader.throttle = policy->throttle;
	map_witness_init(&scan.witness, fork);
	scan.witness.tidy = policy->direct;
	while (blkno < end)
	{
		CHECK_FOR_INTERRUPTS();
		blkno = scan_piece(&scan, blkno, end);
		if (sink->enough && sink->enough(sink))
			break;
	}
	map_witness_close(&scan.witness);
	fork_reader_close(&scan.reader);
	pfree(scan.decision);
	return blkno;
}

/* The first block of the next segment, if it can hold one of the range. */
static BlockNumber
next_segment(const RangeScan *scan, BlockNumber blkno, BlockNumber end)
{
	uint64		next = ((uint64) blkno / RELSEG_SIZE + 1) * RELSEG_SIZE;

	return scan->fork->md ? (BlockNumber) Min(next, end) : end;
}

/* Reads and judges a piece, and returns the block to go on with. */
static BlockNumber
scan_piece(RangeScan *scan, BlockNumber blkno, BlockNumber end)
{
	BlockNumber limit = next_segment(scan, blkno, end);
	uint32		wanted = Min(scan->policy->piece_blocks, limit - blkno);
	uint32		got;

	if (!fork_reader_open(&scan->reader, blkno))
	{
		if (scan->reader.error != ENOENT)
			report_block(scan, blkno, PAGE_IO_ERROR);
		return limit;			/* none of its blocks can be had */
	}
	wait_turn(scan, wanted);
	got = fork_reader_scan(&scan->reader, blkno, wanted);
	if (got > 0)
	{
		scan->short_reads = 0;
		scan->summary->bytes += (int64) got * BLCKSZ;
		judge_piece(scan, blkno, got);
	}
	if (scan->reader.write_back != 0)
		report_write_back(scan);
	if (scan->sink->progress)
		scan->sink->progress(scan->sink, got);
	return got == wanted ? blkno + got :
		read_failed(scan, blkno + got, limit);
}

/*
 * Waits before every read, since a block that is read again for a verdict
 * counts, too.
 */
static void
wait_turn(RangeScan *scan, uint32 nblocks)
{
	if (scan->policy->throttle)
		throttle_wait(scan->policy->throttle, nblocks * BLCKSZ);
}

/*
 * The read of a block that was there when sizes were sampled failed or came
 * back empty.  Returns the block to go on with.
 */
static BlockNumber
read_failed(RangeScan *scan, BlockNumber blkno, BlockNumber limit)
{
	ForkReader *reader = &scan->reader;
	int			error = reader->error;

	if ((error == 0 || !scan->fork->md) &&
		blkno >= fork_reader_segment_end(reader))
		return limit;			/* truncated meanwhile, which is legal */
	if (error == 0 && ++scan->short_reads < SHORT_READS)
		return blkno;
	scan->short_reads = 0;

	/* the block alone is read, since a piece fails for any of its blocks */
	wait_turn(scan, 1);
	if (fork_reader_scan(reader, blkno, 1) == 1)
		judge_piece(scan, blkno, 1);
	else if (scan->policy->direct && reader->error != 0)
		recheck_block(scan, blkno, false);
	else
	{
		if (reader->error == 0)
			strlcpy(reader->message, "could not read the block: the file ends before it, although its size says otherwise",
					sizeof(reader->message));
		report_block(scan, blkno, PAGE_IO_ERROR);
	}
	return blkno + 1;
}

static void
judge_piece(RangeScan *scan, BlockNumber blkno, uint32 nblocks)
{
	const char *pages = scan->reader.buffer;

	map_witness_forget(&scan->witness);
	for (uint32 done = 0; done < nblocks; done += SCAN_PIECE_BLOCKS)
		judge_batch(scan, blkno + done, Min(nblocks - done, SCAN_PIECE_BLOCKS),
					pages + (size_t) done * BLCKSZ);
}

static void
judge_batch(RangeScan *scan, BlockNumber blkno, uint32 nblocks,
			const char *pages)
{
	PageVerdict verdicts[SCAN_PIECE_BLOCKS];

	page_judge_batch(pages, nblocks, blkno, &scan->rules, verdicts);
	for (uint32 i = 0; i < nblocks; i++)
	{
		const char *page = pages + (size_t) i * BLCKSZ;

		block_judge_lsn(page, blkno + i, &scan->rules, &verdicts[i]);
		if (verdicts[i].status == PAGE_OK)
			judge_mark(scan, blkno + i, page);
		else if (verdicts[i].status == PAGE_NEW)
			judge_zeros(scan, blkno + i, page);
		else
			recheck_block(scan, blkno + i, false);
	}
}

static void
count_healthy(RangeScan *scan, BlockNumber blkno, const char *page,
			  PageStatus status)
{
	if (status == PAGE_NEW)
	{
		scan->summary->new_pages++;
		scan->summary->unwritten += block_is_unwritten(scan->fork, blkno);
	}
	else if (scan->fork->checksums)
		scan->summary->verified++;
	else
		scan->summary->unverifiable++;
	if (scan->sink->page && is_settled(scan, blkno, &page))
		scan->sink->page(scan->sink, blkno, page);
}

/*
 * Without a checksum nothing tells a page that was half written when it was
 * read.  Where that matters, the page is read again while nobody can be writing
 * it.  Returns false if there is none any more.
 */
static bool
is_settled(RangeScan *scan, BlockNumber blkno, const char **page)
{
	BlockDecision *decision = scan->decision;

	if (scan->fork->checksums || !scan->sink->digest.exact ||
		*page == decision->image.data)
		return true;
	wait_turn(scan, 1);
	block_decide(&scan->reader, blkno, &scan->rules, decision);
	*page = decision->image.data;
	return decision->fate == BLOCK_JUDGED &&
		(decision->verdict.status == PAGE_OK ||
		 decision->verdict.status == PAGE_NEW);
}

/* Was the page initialized, as far as the visibility map knows? */
static bool
ask_map(RangeScan *scan, BlockNumber blkno)
{
	if (map_witness_must_read(&scan->witness, blkno))
		wait_turn(scan, 1);
	return map_witness_initialized(&scan->witness, blkno);
}

/*
 * Zeros on the device may lie below a page.  A page cache that would have to
 * ask the device has none.
 */
static bool
cache_has_page(RangeScan *scan, BlockNumber blkno)
{
	char	   *page = scan->decision->image.data;
	uint32		nread;

	return fork_reader_is_cached(&scan->reader, blkno) &&
		fork_reader_read_cached(&scan->reader, blkno, page, &nread) &&
		nread == 1 && !page_is_zero(page);
}

/*
 * Zeros are new, unless the visibility map knows better, or the page cache has
 * a page above what the device has.
 */
static void
judge_zeros(RangeScan *scan, BlockNumber blkno, const char *page)
{
	if (ask_map(scan, blkno))
		recheck_block(scan, blkno, true);
	else if (scan->policy->direct && cache_has_page(scan, blkno))
		recheck_block(scan, blkno, false);
	else
		count_healthy(scan, blkno, page, PAGE_NEW);
}

/* A page that is bad may be so in the page cache alone. */
static void
ask_device(RangeScan *scan, BlockNumber blkno)
{
	wait_turn(scan, 1);
	block_ask_device(&scan->reader, blkno, &scan->rules, scan->decision);
}

/*
 * Is a page broken that looked so?  "initialized" tells that the map said so
 * before.  If only this read finds zeros, the map is asked and the block read
 * once more.  The map must come first, see map_witness.c.
 */
static void
recheck_block(RangeScan *scan, BlockNumber blkno, bool initialized)
{
	BlockDecision *decision = scan->decision;
	PageStatus	status;

	wait_turn(scan, 1);
	block_decide(&scan->reader, blkno, &scan->rules, decision);
	if (!initialized && decision->fate == BLOCK_JUDGED &&
		decision->verdict.status == PAGE_NEW && ask_map(scan, blkno))
	{
		recheck_block(scan, blkno, true);
		return;
	}
	scan->summary->retried++;
	if (decision->fate == BLOCK_GONE)
		return;
	status = block_decision_status(decision, initialized);
	if (decision->fate == BLOCK_JUDGED && !scan->policy->direct &&
		status != PAGE_OK && status != PAGE_NEW)
	{
		ask_device(scan, blkno);
		status = block_decision_status(decision, initialized);
	}
	if (status == PAGE_ZEROED && fork_moved(scan->fork))
		return;					/* a sequence that has another file by now */
	settle_block(scan, blkno, status);
}

static bool
ask_mark(RangeScan *scan, BlockNumber blkno)
{
	if (map_witness_must_read(&scan->witness, blkno))
		wait_turn(scan, 1);
	return map_witness_marked(&scan->witness, blkno);
}

/* Does the map call a sound page all-visible that is not marked so? */
static void
judge_mark(RangeScan *scan, BlockNumber blkno, const char *page)
{
	if (!PageIsAllVisible((Page) page) &&
		map_witness_seems_marked(&scan->witness, blkno) &&
		ask_mark(scan, blkno))
		recheck_mark(scan, blkno);
	else
		count_healthy(scan, blkno, page, PAGE_OK);
}

static bool
unmarked_since(const BlockDecision *decision, XLogRecPtr lsn)
{
	return decision->fate == BLOCK_JUDGED &&
		decision->verdict.status == PAGE_OK &&
		page_unmarked_since(block_page(decision), lsn);
}

/* Asks the page, the map, and the page again, see map_witness.c. */
static bool
contradicts_map(RangeScan *scan, BlockNumber blkno)
{
	BlockDecision *decision = scan->decision;
	XLogRecPtr	lsn;

	wait_turn(scan, 1);
	block_decide_cached(&scan->reader, blkno, &scan->rules, decision);
	lsn = PageGetLSN((Page) block_page(decision));
	if (!unmarked_since(decision, lsn))
		return false;
	map_witness_forget(&scan->witness);
	if (!ask_mark(scan, blkno))
		return false;
	wait_turn(scan, 1);
	block_decide_cached(&scan->reader, blkno, &scan->rules, decision);
	return unmarked_since(decision, lsn);
}

static void
recheck_mark(RangeScan *scan, BlockNumber blkno)
{
	bool		contradicts = contradicts_map(scan, blkno);

	if (scan->decision->fate != BLOCK_GONE)
		settle_block(scan, blkno, contradicts ? PAGE_MAP_MISMATCH :
					 block_decision_status(scan->decision, false));
}

static void
settle_block(RangeScan *scan, BlockNumber blkno, PageStatus status)
{
	if (status == PAGE_OK || status == PAGE_NEW)
		count_healthy(scan, blkno, scan->decision->image.data, status);
	else
		report_block(scan, blkno, status);
}

/*
 * The kernel says this of the file, once, and not of which pages.  It counts
 * them as written all the same.
 */
static void
report_write_back(RangeScan *scan)
{
	ForkReader *reader = &scan->reader;
	PageFinding finding;

	page_finding_init(&finding, RelationGetRelid(scan->fork->rel),
					  scan->fork->fork, PAGE_IO_ERROR);
	fork_segment_path(scan->fork, reader->segment, finding.path);
	snprintf(finding.message, sizeof(finding.message),
			 "a write-back of the page cache failed: %s; the device can be read, but some of its pages may be older than those that the server wrote",
			 strerror(reader->write_back));
	reader->write_back = 0;
	fork_summary_note(scan->summary, &finding);
	if (scan->sink->finding)
		scan->sink->finding(scan->sink, &finding);
}

static void
report_block(RangeScan *scan, BlockNumber blkno, PageStatus status)
{
	PageFinding finding;

	page_finding_init(&finding, RelationGetRelid(scan->fork->rel),
					  scan->fork->fork, status);
	finding.blkno = blkno;
	fork_segment_path(scan->fork, blkno / RELSEG_SIZE, finding.path);
	finding.file_offset = (int64) (blkno % RELSEG_SIZE) * BLCKSZ;
	if (status == PAGE_IO_ERROR)
		strlcpy(finding.message, scan->reader.message,
				sizeof(finding.message));
	else
	{
		finding.retries = scan->decision->retries;
		finding.buffer_state = scan->decision->buffer_state;
		page_finding_describe(&finding, &scan->decision->verdict,
							  scan->decision->image.data, &scan->rules,
							  scan->decision->copy);
		page_finding_note_place(&finding, scan->decision->good_lsn);
	}
	page_finding_note_fork(&finding);
	scan->summary->bad++;
	fork_summary_note(scan->summary, &finding);
	if (scan->sink->finding)
		scan->sink->finding(scan->sink, &finding);
}
